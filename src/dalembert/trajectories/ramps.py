"""Ramps from rest to rest: trapezoids of velocity, and S-curves, trapezoids of acceleration.

One coordinate over the distance 1 in closed form; several coordinates are synchronized in one of two ways. "path": all
share one law σ(t), x = a + (b − a) σ, so the motion is a straight line and the tightest limits of all set σ̇, σ̈, σ⃛.
"time": each moves by its own limits, the fast ones slowed down to end with the slowest; the line is not straight.

Jerk-limited motions between any two states are ruckig's (extra `traj`), read back as the piecewise cubics they are.
Only its motion from one state to another is used, which is computed here. Its motions through waypoints are not: they
are computed by a service elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.lazy import library
from dalembert.trajectories.limits import EQUAL, MotionLimits, choice, distinct, ends, read_limits, vector
from dalembert.trajectories.piecewise import Piecewise, keep_positions, phases, stack

if TYPE_CHECKING:
    from dalembert.robot import Robot

WAYS = ("path", "time")
Profile = tuple[Array, Array]  # breaks and coefficients of σ
SYNCHRONIZED = {"time": "Time", "path": "Phase", "none": "No"}
REASONS = {
    "ErrorInvalidInput": "the states at the ends do not keep the limits themselves",
    "ErrorZeroLimits": "a limit is zero",
    "ErrorTrajectoryDuration": "the motion would take too long",
    "ErrorPositionalLimits": "a limit of position is in the way",
}


def trapezoid(
    start: ArrayLike,
    end: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    *,
    robot: Robot | None = None,
    synchronize: str = "path",
) -> Piecewise:
    """Full acceleration, full speed, full deceleration: the fastest from rest to rest under limits of velocity v and
    acceleration a. Over a distance d in T = d/v + v/a, or 2√(d/a) where d < v²/a and full speed is never reached."""
    a, b = ends(start, end)
    known = read_limits(len(a), robot, velocity, acceleration)
    known.need("velocity", "acceleration")
    return _ramp(a, b, known, synchronize, lambda v, a, _: unit_trapezoid(v, a))


def s_curve(
    start: ArrayLike,
    end: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    *,
    robot: Robot | None = None,
    synchronize: str = "path",
) -> Piecewise:
    """The fastest from rest to rest under limits of velocity, acceleration and jerk, up to seven phases of constant
    jerk. `jerk_limited` begins and ends with any velocity and acceleration."""
    a, b = ends(start, end)
    known = read_limits(len(a), robot, velocity, acceleration, jerk)
    known.need("velocity", "acceleration", "jerk")
    return _ramp(a, b, known, synchronize, unit_s_curve)


def _ramp(
    a: Array, b: Array, known: MotionLimits, synchronize: str, unit: Callable[[float, float, float], Profile]
) -> Piecewise:
    choice("synchronize", synchronize, WAYS)
    distinct(a, b)
    d = b - a
    size = np.abs(d)
    moving = size > EQUAL * size.max()
    rates = [x[moving] / size[moving] for x in (known.velocity, known.acceleration, known.jerk)]
    if synchronize == "path":
        breaks, sigma = unit(*(float(x.min()) for x in rates))
        C = sigma * d
        C[:, 0] += a
        return keep_positions(Piecewise(breaks, C, known.names, known.units), known)
    own = iter([unit(*(float(x) for x in row)) for row in zip(*rates, strict=True)])
    profiles = [next(own) if moves else None for moves in moving]
    T = max(float(p[0][-1]) for p in profiles if p is not None)
    parts = [
        _place(p, T, float(x), float(y)) if p is not None else (np.array([0.0, T]), np.full((1, 1, 1), x))
        for p, x, y in zip(profiles, a, d, strict=True)
    ]
    return keep_positions(stack(parts, known.names, known.units), known)


def _place(profile: Profile, T: float, start: float, distance: float) -> Profile:
    """a + d σ, slowed down to last T."""
    breaks, sigma = profile
    factor = T / float(breaks[-1])
    C = distance * sigma * (factor ** -np.arange(sigma.shape[1]))[:, None]
    C[:, 0] += start
    breaks = breaks * factor
    breaks[-1] = T
    return breaks, C


def unit_trapezoid(v: float, a: float) -> Profile:
    """σ(t) from 0 to 1 with σ̇ ≤ v, |σ̈| ≤ a."""
    rise = min(v / a, float(np.sqrt(1.0 / a)))
    top = a * rise
    cruise = max(1.0 / top - rise, 0.0)
    return phases((rise, cruise if cruise > 1e-12 * rise else 0.0, rise), (a, 0.0, -a), 2, (0.0, 0.0))


def unit_s_curve(v: float, a: float, j: float) -> Profile:
    """σ(t) from 0 to 1 with σ̇ ≤ v, |σ̈| ≤ a, |σ⃛| ≤ j.

    A rise of length t_a to the speed v has jerk phases t_j = a/j, or √(v/j) where a is never reached, and takes up v
    t_a/2. Where two rises are longer than the way, v falls: σ̇² /a + σ̇ a/j = 1 while a is reached, else 2 j t_j³ =
    1."""
    ramp = a / j if v * j >= a * a else float(np.sqrt(v / j))
    rise = v / a + ramp if v * j >= a * a else 2.0 * ramp
    cruise = 1.0 / v - rise
    if cruise < 0.0:
        cruise = 0.0
        ramp = a / j
        rise = 0.5 * ramp + float(np.sqrt(0.25 * ramp * ramp + 1.0 / a))
        if rise < 2.0 * ramp:
            ramp = float(np.cbrt(0.5 / j))
            rise = 2.0 * ramp
    flat = max(rise - 2.0 * ramp, 0.0)
    flat, cruise = (x if x > 1e-12 * rise else 0.0 for x in (flat, cruise))
    durations = (ramp, flat, ramp, cruise, ramp, flat, ramp)
    return phases(durations, (j, 0.0, -j, 0.0, -j, 0.0, j), 3, (0.0, 0.0, 0.0))


# ------------------------------------------------------------------------------------------------ between any states
def jerk_limited(
    start: ArrayLike,
    end: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    *,
    start_velocity: ArrayLike = 0.0,
    start_acceleration: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    end_acceleration: ArrayLike = 0.0,
    robot: Robot | None = None,
    synchronize: str = "time",
) -> Piecewise:
    """The fastest motion from one state to another under limits of velocity, acceleration and jerk.  Berscheid and
    Kröger 2021.

    A start beyond a limit is braked first. `synchronize`: "time" (all end together), "path" (on a straight line, where
    the states allow it), "none"."""
    a, b = ends(start, end)
    m = len(a)
    known = read_limits(m, robot, velocity, acceleration, jerk)
    known.need("velocity", "acceleration", "jerk")
    choice("synchronize", synchronize, tuple(SYNCHRONIZED))
    rates = {
        "current_velocity": vector("start_velocity", start_velocity, m),
        "current_acceleration": vector("start_acceleration", start_acceleration, m),
        "target_velocity": vector("end_velocity", end_velocity, m),
        "target_acceleration": vector("end_acceleration", end_acceleration, m),
    }
    made = _calculate(a, b, rates, (known.velocity, known.acceleration, known.jerk), SYNCHRONIZED[synchronize])
    if made.duration <= 0:
        raise InputError(
            "conflict",
            "end",
            problem="`start` and `end` are the same state, so nothing moves",
            remedy="Use set_point(x) to stay there.",
        )
    parts = [_read_profile(profiles, made.duration) for profiles in made.profiles[0]]
    return keep_positions(stack(parts, known.names, known.units), known)


def _read_profile(profile: Any, duration: float) -> tuple[Array, Array]:
    """The phases of one coordinate: what brakes it first, then seven of constant jerk, then rest or the last speed."""
    brake = profile.brake.duration > 0
    first = profile.brake if brake else profile
    state = first.p[0], first.v[0], first.a[0]
    lengths = [*(profile.brake.t if brake else ()), *profile.t]
    jerks = [*(profile.brake.j if brake else ()), *profile.j]
    lengths.append(max(duration - sum(lengths), 0.0))
    jerks.append(0.0)
    lengths = [h if h > 1e-13 * duration else 0.0 for h in lengths]
    breaks, C = phases(lengths, jerks, 3, state)
    breaks[-1] = duration
    return breaks, C


def _calculate(a: Array, b: Array, rates: dict[str, Array], limits: tuple[Array, ...], synchronize: str) -> Any:
    ruckig = library("ruckig")
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
        raise InputError("infeasible", problem=f"no jerk-limited motion connects these states: {error}") from None
    word = str(result).rsplit(".", 1)[-1]
    if word not in ("Working", "Finished"):
        raise InputError(
            "infeasible", problem=f"no jerk-limited motion connects these states: {REASONS.get(word, word)}"
        )
    return made
