from dalembert.trajectories.combined import Along as Along, Certified as Certified, along as along, sequence as sequence
from dalembert.trajectories.harmonics import (
    Sines as Sines,
    fourier as fourier,
    random_fourier as random_fourier,
    sines as sines,
)
from dalembert.trajectories.joint_path import to_joints as to_joints
from dalembert.trajectories.paths import (
    PosePath as PosePath,
    arc as arc,
    circle as circle,
    line as line,
    poses as poses,
    screw as screw,
    via as via,
)
from dalembert.trajectories.piecewise import Piecewise as Piecewise
from dalembert.trajectories.polynomials import (
    blends as blends,
    cubic as cubic,
    minimum_jerk as minimum_jerk,
    quintic as quintic,
    septic as septic,
    set_point as set_point,
    spline as spline,
    table as table,
)
from dalembert.trajectories.ramps import jerk_limited as jerk_limited, s_curve as s_curve, trapezoid as trapezoid
from dalembert.trajectories.time_scaling import time_optimal as time_optimal
from dalembert.trajectories.trajectory import (
    Extremes as Extremes,
    SampledMotion as SampledMotion,
    Trajectory as Trajectory,
)
