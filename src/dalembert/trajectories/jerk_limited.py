"""Jerk-limited motions between any two states, by ruckig (extra `traj`), read back as the piecewise cubics they are.

Only ruckig's motion from one state to another is used, which is computed here. Its motions through waypoints are not:
they are computed by a service elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, MissingExtraError
from dalembert.trajectories.checks import Array, bounds, choice, ends, vector
from dalembert.trajectories.piecewise import Piecewise, phases, stacked, within

if TYPE_CHECKING:
    from dalembert.robot import Robot

SYNCHRONizED = {"time": "Time", "path": "Phase", "none": "No"}
REASONS = {
    "ErrorInvalidInput": "the states at the ends do not keep the limits themselves",
    "ErrorZeroLimits": "a limit is zero",
    "ErrorTrajectoryDuration": "the motion would take too long",
    "ErrorPositionalLimits": "a limit of position is in the way",
}


def jerk_limited(
    start: Any,
    end: Any,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    *,
    start_velocity: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_velocity: Any = 0.0,
    end_acceleration: Any = 0.0,
    robot: Robot | None = None,
    synchronize: str = "time",
) -> Piecewise:
    """The fastest motion from one state to another under limits of velocity, acceleration and jerk.  Berscheid and
    Kröger 2021.

    A start beyond a limit is braked first. `synchronize`: "time" (all end together), "path" (on a straight line, where
    the states allow it), "none"."""
    a, b = ends(start, end)
    m = len(a)
    known = bounds(m, robot, velocity, acceleration, jerk)
    known.needed("velocity", "acceleration", "jerk")
    choice("synchronize", synchronize, tuple(SYNCHRONizED))
    rates = {
        "current_velocity": vector("start_velocity", start_velocity, m),
        "current_acceleration": vector("start_acceleration", start_acceleration, m),
        "target_velocity": vector("end_velocity", end_velocity, m),
        "target_acceleration": vector("end_acceleration", end_acceleration, m),
    }
    made = _calculated(a, b, rates, (known.velocity, known.acceleration, known.jerk), SYNCHRONizED[synchronize])
    if made.duration <= 0:
        raise InputError("start and end are the same state: there is nothing to move; set_point(x) stays there")
    parts = [_part(profiles, made.duration) for profiles in made.profiles[0]]
    return within(stacked(parts, known.names, known.units), known)


def _part(profile: Any, duration: float) -> tuple[Array, Array]:
    """The phases of one coordinate: what brakes it first, then seven of constant jerk, then rest or the last speed."""
    state = (
        (profile.brake.p[0], profile.brake.v[0], profile.brake.a[0])
        if profile.brake.duration > 0
        else (profile.p[0], profile.v[0], profile.a[0])
    )
    brake = profile.brake.duration > 0
    lengths = [*(profile.brake.t if brake else ()), *profile.t]
    jerks = [*(profile.brake.j if brake else ()), *profile.j]
    lengths.append(max(duration - sum(lengths), 0.0))
    jerks.append(0.0)
    lengths = [h if h > 1e-13 * duration else 0.0 for h in lengths]
    breaks, C = phases(lengths, jerks, 3, state)
    breaks[-1] = duration
    return breaks, C


def _calculated(a: Array, b: Array, rates: dict[str, Array], limits: tuple[Array, ...], synchronize: str) -> Any:
    try:
        import ruckig  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtraError("ruckig is not installed: pip install 'dalembert[traj]'") from None
    m = len(a)
    asked = ruckig.InputParameter(m)
    asked.current_position, asked.target_position = a.tolist(), b.tolist()
    for name, value in rates.items():
        setattr(asked, name, value.tolist())
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = (x.tolist() for x in limits)
    asked.synchronization = getattr(ruckig.Synchronization, synchronize)
    made = ruckig.Trajectory(m)
    try:
        result = ruckig.Ruckig(m).calculate(asked, made)
    except Exception as error:
        raise InputError(f"no jerk-limited motion between these states: {error}") from None
    word = str(result).rsplit(".", 1)[-1]
    if word not in ("Working", "Finished"):
        raise InputError(f"no jerk-limited motion between these states: {REASONS.get(word, word)}")
    return made
