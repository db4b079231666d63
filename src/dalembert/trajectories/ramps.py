"""Ramps from rest to rest: trapezoids of velocity, and S-curves, trapezoids of acceleration.

One coordinate over the distance 1 in closed form; several coordinates are synchronized in one of two ways. "path": all
share one law σ(t), x = a + (b − a) σ, so the motion is a straight line and the tightest limits of all set σ̇, σ̈, σ⃛.
"time": each moves by its own limits, the fast ones slowed down to end with the slowest; the line is not straight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.trajectories.checks import EQUAL, Array, Bounds, bounds, choice, distinct, ends
from dalembert.trajectories.piecewise import Piecewise, phases, stacked, within

if TYPE_CHECKING:
    from dalembert.robot import Robot

WAYS = ("path", "time")
Profile = tuple[Array, Array]  # breaks and coefficients of σ


def trapezoid(
    start: Any,
    end: Any,
    velocity: Any = None,
    acceleration: Any = None,
    *,
    robot: Robot | None = None,
    synchronize: str = "path",
) -> Piecewise:
    """Full acceleration, full speed, full deceleration: the fastest from rest to rest under limits of velocity v and
    acceleration a. Over a distance d in T = d/v + v/a, or 2√(d/a) where d < v²/a and full speed is never reached."""
    a, b = ends(start, end)
    known = bounds(len(a), robot, velocity, acceleration)
    known.needed("velocity", "acceleration")
    return _ramp(a, b, known, synchronize, lambda v, a, _: unit_trapezoid(v, a))


def s_curve(
    start: Any,
    end: Any,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    *,
    robot: Robot | None = None,
    synchronize: str = "path",
) -> Piecewise:
    """The fastest from rest to rest under limits of velocity, acceleration and jerk, up to seven phases of constant
    jerk. `jerk_limited` begins and ends with any velocity and acceleration."""
    a, b = ends(start, end)
    known = bounds(len(a), robot, velocity, acceleration, jerk)
    known.needed("velocity", "acceleration", "jerk")
    return _ramp(a, b, known, synchronize, unit_s_curve)


def _ramp(
    a: Array, b: Array, known: Bounds, synchronize: str, unit: Callable[[float, float, float], Profile]
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
        return within(Piecewise(breaks, C, known.names, known.units), known)
    own = iter([unit(*(float(x) for x in row)) for row in zip(*rates, strict=True)])
    profiles = [next(own) if moves else None for moves in moving]
    T = max(float(p[0][-1]) for p in profiles if p is not None)
    parts = [
        _placed(p, T, float(x), float(y)) if p is not None else (np.array([0.0, T]), np.full((1, 1, 1), x))
        for p, x, y in zip(profiles, a, d, strict=True)
    ]
    return within(stacked(parts, known.names, known.units), known)


def _placed(profile: Profile, T: float, start: float, distance: float) -> Profile:
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
