"""Motions to follow: polynomials, ramps, splines, tables, Fourier series, paths in space, and the fastest along a path.

Each is a `Reference` that can also be drawn, sampled, written and asked for its extremes.
"""

from dalembert.trajectories.combined import Along, Certified, along, sequence
from dalembert.trajectories.joint_path import to_joints
from dalembert.trajectories.paths import PosePath, arc, circle, line, poses, screw, via
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.polynomials import blends, cubic, minimum_jerk, quintic, septic, set_point, spline, table
from dalembert.trajectories.ramps import jerk_limited, s_curve, trapezoid
from dalembert.trajectories.sines import Sines, fourier, random_fourier, sines
from dalembert.trajectories.time_optimal import time_optimal
from dalembert.trajectories.trajectory import Extremes, SampledMotion, Trajectory

__all__ = ["Along", "Certified", "Extremes", "Piecewise", "PosePath", "SampledMotion", "Sines", "Trajectory", "along"]
__all__ += ["arc", "blends", "circle", "cubic", "fourier", "jerk_limited", "line", "minimum_jerk", "poses", "quintic"]
__all__ += ["random_fourier", "s_curve", "screw", "septic", "sequence", "set_point", "sines", "spline", "table"]
__all__ += ["time_optimal", "to_joints", "trapezoid", "via"]
