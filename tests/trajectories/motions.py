"""One motion of every kind, and what is checked of all of them."""

from __future__ import annotations

import numpy as np

import dalembert as dl
from dalembert import trajectories as tr


def all_motions() -> dict[str, tr.Trajectory]:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(6, 2))
    loop = np.vstack([points, points[:1]])
    poses = [dl.pose(rng.normal(size=3), rng.normal(size=3)) for _ in range(4)]
    line, via = tr.line(poses[0], poses[1]), tr.via(poses)
    t = np.array([0, 0.4, 0.5, 1.2, 2.0])
    table = rng.normal(size=(5, 2))
    circle = tr.circle([0.1, 0.2, 0.3], [0, 1, 1], dl.pose((0.5, 0.1, 0.2), (0.3, 0.2, 0.1)), orientation="turning")
    return {
        "cubic": tr.cubic([0, 1], [1, -3], 2.0, start_velocity=[1, 0], end_velocity=-0.5),
        "quintic": tr.quintic([0, 1], [1, 3], 1.5, start_velocity=[1, 0], end_acceleration=2),
        "septic": tr.septic([0, 1], [1, 3], 1.5, start_jerk=3, end_velocity=[0.1, 0.2]),
        "minimum jerk": tr.minimum_jerk([0, 0], [1, 2], velocity=1),
        "trapezoid": tr.trapezoid([0, 0, 5], [1, -2, 5], 1, [2, 3, 1]),
        "triangle": tr.trapezoid([0, 0], [0.1, -0.2], 1, [2, 3], synchronize="time"),
        "s-curve": tr.s_curve([0, 0, 1], [1, -2, 1], 1, [2, 3, 1], 8),
        "s-curve in time": tr.s_curve([0, 0], [0.01, -2], 1, [2, 3], 8, synchronize="time"),
        "natural": tr.spline(points, duration=3),
        "clamped": tr.spline(points, duration=3, ends="clamped", start_velocity=[1, 2]),
        "periodic": tr.spline(loop, ends="periodic", velocity=1.0),
        "natural quintic": tr.spline(points, degree=5, times=[0, 0.3, 1, 2, 2.5, 4]),
        "clamped quintic": tr.spline(points, degree=5, duration=3, ends="clamped", end_acceleration=[1, -1]),
        "periodic quintic": tr.spline(loop, degree=5, ends="periodic", duration=5, spacing="centripetal"),
        "linear table": tr.table(t, table, interpolation="linear"),
        "cubic table": tr.table(t, table, rng.normal(size=(5, 2))),
        "quintic table": tr.table(t, table, table, table, interpolation="quintic"),
        "set point": tr.set_point([1, 2]),
        "sines": tr.sines([[1, 2], [0.3, 0.1]], [1, 2.5], 0.2, [1, 1], duration=3),
        "fourier": tr.fourier(*rng.normal(size=(2, 5, 2)), 0.2, start="rest"),
        "joined": tr.sequence(
            tr.minimum_jerk([0, 0], [1, 2], 1.0), tr.set_point([1, 2], 0.5), tr.trapezoid([1, 2], [0, 0], 1, 2)
        ),
        "sequence": tr.sequence(tr.set_point(0.0, 0.5), tr.sines(1, 0.5, duration=2.0), corners=True),
        "line": line,
        "circle": circle,
        "via": via,
        "line in time": tr.along(line, tr.minimum_jerk(0, line.duration, 2)),
        "via in time": tr.along(via, tr.trapezoid(0, via.duration, 2, 5)),
    }


def inner(motion: tr.Trajectory, count: int = 60, away: float = 1e-4) -> np.ndarray:
    """Random times, none of them near a knot."""
    end = motion.duration if np.isfinite(motion.duration) else 2.5 * (getattr(motion, "period", None) or 1.0)
    t = np.random.default_rng(7).uniform(away, end - away, count)
    period = getattr(motion, "period", None) if not np.isfinite(motion.duration) else None
    knots = motion.knots[np.isfinite(motion.knots)]
    gap = np.abs((t if period is None else t % period)[:, None] - knots).min(axis=1, initial=np.inf)
    return t[gap > away]
