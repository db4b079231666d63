"""The fastest speed along a path under linear constraints, by reachability on a grid (TOPP-RA).

With x = ṡ² and u = s̈ = x′/2, limits of torque, velocity and acceleration are rows α u + β x ≤ γ. On each interval of
the grid u is constant, so that x at its end is x + 2hu. Backwards from the end: which x can still reach the next set, a
linear program of two unknowns. Forwards from the start: the largest u that stays in those sets, a program of one. Both
are solved in closed form. Points where a row's α vanishes need no care. Taking the largest u each time is best as the
grid gets finer; on a coarse one a smaller x now may allow a larger one later, by a little.  Pham and Pham 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.trajectories.checks import Array

ZERO = 1e-12  # of what it is made of: a coefficient below that is rounding
SLACK = 1e-9  # of a row's right side, and of x
SMALL = 1e-3  # [1/s²] x below that counts as this much where rounding is judged


@dataclass(frozen=True, eq=False)
class Rows:
    """α u + β x ≤ γ on each interval, (intervals, rows) each; `ceiling` (intervals + 1,) of x; `step` (intervals,)
    h."""

    alpha: Array
    beta: Array
    gamma: Array
    ceiling: Array
    step: Array


class Infeasible(Exception):
    """No x on this interval, counted from the start."""

    def __init__(self, interval: int) -> None:
        self.interval = interval


def span(alpha: Array, beta: Array, gamma: Array, top: float) -> tuple[float, float] | None:
    """The x of [0, top] for which some u satisfies all rows; None if none does.

    Each row with α > 0 bounds u from above and each with α < 0 from below; u exists where no lower bound exceeds an
    upper one. So every such pair, with u eliminated, is a row in x alone (Fourier and Motzkin)."""
    above, below = alpha > 0, alpha < 0
    free = ~(above | below)
    ap, bp, gp = alpha[above, None], beta[above, None], gamma[above, None]
    al, bl, gl = -alpha[None, below], beta[None, below], gamma[None, below]
    slope = np.concatenate([beta[free], (al * bp + ap * bl).reshape(-1)])
    right = np.concatenate([gamma[free], (al * gp + ap * gl).reshape(-1)])
    size = np.concatenate([np.abs(beta[free]), (al * np.abs(bp) + ap * np.abs(bl)).reshape(-1)])
    weight = np.concatenate([np.abs(gamma[free]), (al * np.abs(gp) + ap * np.abs(gl)).reshape(-1)])
    up, down = slope > ZERO * size, slope < -ZERO * size
    if (right[~(up | down)] < -SLACK * weight[~(up | down)]).any():
        return None
    high = min(float((right[up] / slope[up]).min(initial=np.inf)), top)
    low = max(float((right[down] / slope[down]).max(initial=-np.inf)), 0.0)
    if low > high + SLACK * max(low, SMALL):
        return None
    high = max(high, 0.0)
    return min(low, high), high


def controllable(rows: Rows, end: tuple[float, float]) -> tuple[Array, Array]:
    """The smallest and the largest x at each point of the grid from which the end can be reached."""
    count = len(rows.step)
    low, high = np.zeros(count + 1), np.zeros(count + 1)
    low[count], high[count] = end
    for i in range(count - 1, -1, -1):
        h = 2.0 * rows.step[i]
        finite = np.isfinite(high[i + 1])
        more = ([h, -h], [1.0, -1.0], [high[i + 1], -low[i + 1]]) if finite else ([-h], [-1.0], [-low[i + 1]])
        alpha, beta, gamma = (
            np.concatenate([own[i], extra])
            for own, extra in zip((rows.alpha, rows.beta, rows.gamma), more, strict=True)
        )
        found = span(alpha, beta, gamma, float(rows.ceiling[i]))
        if found is None:
            raise Infeasible(i)
        low[i], high[i] = found
    return low, high


def fastest(rows: Rows, low: Array, high: Array, start: float) -> Array:
    """The largest x at each point of the grid, from the start on, within the controllable sets."""
    count = len(rows.step)
    x = np.zeros(count + 1)
    x[0] = start
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(count):
            above = rows.alpha[i] > 0
            bound = (rows.gamma[i, above] - rows.beta[i, above] * x[i]) / rows.alpha[i, above]
            u = float(bound.min(initial=np.inf))
            x[i + 1] = min(max(x[i] + 2 * rows.step[i] * u, low[i + 1]), high[i + 1])
    return x
