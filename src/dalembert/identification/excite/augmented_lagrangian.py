"""A smooth function under many inequalities: augmented Lagrangian over L-BFGS, stopped by the clock.

L(z) = f(z) + Σ (max(0, λ + μ g(z))² − λ²)/2μ for g ≤ 0; λ ← max(0, λ + μ g).  Nocedal & Wright 2006, §17.4.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# z → (f, g) and what is needed to pull weights of f and of g back to z.
Evaluate = Callable[[Array], tuple[float, Array, Callable[[Array], Array]]]


@dataclass
class Clock:
    """The time there is: `deadline` on the clock of `time.perf_counter` [s]; evaluations are counted."""

    seconds: float
    began: float = field(default_factory=time.perf_counter)
    evaluations: int = 0

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds


class TimeUp(Exception):
    """Raised inside an evaluation to leave the minimizer; holds no message for users."""


@dataclass
class State:
    """Where the method stands: the point, the multipliers and the weight of the inequalities."""

    z: Array
    multipliers: Array
    weight: float = 10.0


GROWTH = 3.0  # of the weight per round in which violations did not shrink enough
HEAVIEST = 1e5
SHRINK = 0.25  # of violations per round: less is enough


def minimize_round(evaluate: Evaluate, state: State, clock: Clock, iterations: int) -> float:
    """One round: minimize L from the state's point, then update multipliers and weight. The largest violation is
    returned. Time that runs out leaves the best point of the round in the state and raises `TimeUp`."""
    minimize = _minimize()
    shape = state.z.shape
    best: dict[str, Any] = {"value": np.inf, "z": state.z}
    # What the round began with: a violation that does not shrink calls for more weight.
    before = float(np.maximum(evaluate(state.z)[1], 0.0).max(initial=0.0))

    def lagrangian(flat: Array) -> tuple[float, Array]:
        if clock.over:
            raise TimeUp
        clock.evaluations += 1
        z = flat.reshape(shape)
        f, g, pull = evaluate(z)
        push = np.maximum(0.0, state.multipliers + state.weight * g)
        value = f + float((push**2).sum() - (state.multipliers**2).sum()) / (2.0 * state.weight)
        if value < best["value"]:
            best.update(value=value, z=z.copy())
        return value, pull(push).reshape(-1)

    try:
        minimize(
            lagrangian,
            state.z.reshape(-1),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxcor": 30, "ftol": 1e-10, "gtol": 1e-7},
        )
    finally:
        state.z = best["z"]
    _, g, _ = evaluate(state.z)
    state.multipliers = np.maximum(0.0, state.multipliers + state.weight * g)
    worst = float(np.maximum(g, 0.0).max(initial=0.0))
    if worst > SHRINK * before:
        state.weight = min(GROWTH * state.weight, HEAVIEST)
    return worst


def _minimize() -> Any:
    from scipy.optimize import minimize

    return minimize
