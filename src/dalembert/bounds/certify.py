"""The ladder: what is proved at once, then threshold after threshold by branch and bound, while there is time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.bounds.branch import Boxes, prove
from dalembert.bounds.functions import Box
from dalembert.bounds.quantities import Quantity, compile_test
from dalembert.bounds.result import Bound
from dalembert.bounds.taylor import Family
from dalembert.system import Jointed

GAPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
CHEAP = 0.3  # seconds: what may be spent on coming nearer than was asked
Watch = Callable[[str], None]


def find_extreme(robot: Jointed, quantity: Quantity, box: Box, seed: int) -> tuple[float, Array]:
    """The most extreme value met, and the state: q, or (q, q̇)."""
    n, sign = robot.n, quantity.sign
    inside = box.within(2.0)
    lower, upper = inside.lower, inside.upper
    repair = None
    if quantity.speeds:
        lower, upper = np.concatenate([lower, np.full(n, -1.0)]), np.concatenate([upper, np.full(n, 1.0)])
        repair = _unit(n, quantity.norm)
    value, state = find_largest(lambda z: sign * quantity.met(robot, z), lower, upper, seed, repair)
    return sign * value, state


def _unit(n: int, norm: float) -> Callable[[Array], Array]:
    """Speeds brought to length one; small ones to nought, so that corners of the ball are found."""

    def repair(z: Array) -> Array:
        z = z.copy()
        x = z[..., n:]
        if norm == 1.0:
            x[np.abs(x) < 0.02] = 0.0
        elif np.isinf(norm):
            x[np.abs(x) > 0.9] = np.sign(x[np.abs(x) > 0.9])
        size = np.linalg.norm(x, norm, axis=-1, keepdims=True)
        x[...] = np.where(size > 0, x / np.where(size > 0, size, 1.0), np.eye(n)[0])
        return z

    return repair


class Climb:
    """One quantity on its way: what is proved, what is met, which threshold is next."""

    def __init__(
        self,
        robot: Jointed,
        quantity: Quantity,
        family: Family,
        gap: float,
        best: tuple[float, Array],
        foreign: bool = False,
    ) -> None:
        """`best`: what is met, and where. `foreign`: states of this family are not the robot's (`tails`)."""
        start = time.perf_counter()
        self.robot, self.quantity, self.gap, self.foreign = robot, quantity, gap, foreign
        self.best, self.state = best
        self.proved, self.method, self.stopped = quantity.at_once(family), "sums of harmonics", ""
        self.boxes = 0
        self.functions, self.middle, self.radius, self.rest = quantity.tests(family, abs(self.best))
        self.tests: list[Any] = []
        self.open: list[Boxes] = []  # of the threshold that is being tried
        self.shares = sorted({*GAPS, gap} - {0.0}, reverse=True)
        self.proving = 0.0
        self.over = not np.isfinite(self.rest)
        self.seconds = time.perf_counter() - start

    @property
    def done(self) -> bool:
        """Whether the gap is reached, and to come nearer would take long."""
        reached = gap_of(self.quantity, self.proved, self.best)
        near = reached <= 1e-9 or (reached <= self.gap * (1 + 1e-9) and self.proving > CHEAP)
        return self.over or not self.shares or near

    def know(self, value: float, method: str) -> None:
        """Something proved elsewhere."""
        if value * self.quantity.sign < self.proved * self.quantity.sign:
            self.proved, self.method = value, method

    def step(self, until: float, watch: Watch | None = None) -> None:
        """Try the next threshold; when time is up, the next call goes on where this one stopped."""
        start = time.perf_counter()
        sign = self.quantity.sign
        goal = self.best * (1 + sign * self.shares[0])
        if goal * sign >= self.proved * sign or goal <= 0:
            self.shares.pop(0)
            return
        if not self.tests:
            count = enumerate(self.functions)
            self.tests = [compile_test(f, self.middle.shape[1], f"{self.quantity.name}_{i}") for i, f in count]
            start = time.perf_counter()  # compiling is not proving
        if watch is not None:
            watch(f"{self.quantity.symbol} {'≤' if sign > 0 else '≥'} {goal:.4g} {self.quantity.unit}?")
        # of the equations that are searched: the squares of the others are `rest`
        threshold = sign * goal if not self.rest else float(np.sqrt(max(goal**2 - self.rest, 0.0)))
        self.open = self.open or [(self.middle, self.radius)]
        outcome = prove(self.tests, self.open, threshold, until)
        self.boxes += outcome.boxes
        self.stopped = outcome.stopped
        self.proving += time.perf_counter() - start
        self.seconds += time.perf_counter() - start
        if outcome.stopped == "time was up":
            return
        self.open = []
        if outcome.proved:
            self.proved, self.method = goal, "branch and bound"
            self.shares.pop(0)
        elif outcome.where is not None and outcome.met > threshold:
            self._missed(outcome.where)
        else:
            self.over = True

    def _missed(self, where: Array) -> None:
        """A state above the threshold: the search had missed it, or what is bounded is more than what is met."""
        if not self.quantity.speeds and not self.foreign:
            value = float(self.quantity.met(self.robot, where[: self.robot.n]))
            if value * self.quantity.sign > self.best * self.quantity.sign:
                self.best, self.state = value, where[: self.robot.n]
                return
        self.over = True

    def bound(self) -> Bound:
        q = self.quantity
        return Bound.of(
            self.robot, q, self.proved, self.best, self.state, self.method, self.boxes, self.seconds, self.stopped
        )


def climb_all(climbs: list[Climb], until: float, watch: Watch | None = None) -> None:
    """Thresholds in turns, with more time in every round, so that no quantity keeps the others waiting."""
    turn = 1.0
    while any(not c.done for c in climbs) and time.perf_counter() < until:
        for c in climbs:
            start = time.perf_counter()
            while not c.done and time.perf_counter() < min(until, start + turn):
                c.step(min(until, start + turn), watch)
        turn *= 2.0


def gap_of(quantity: Quantity, certified: float, met: float) -> float:
    if certified == met:
        return 0.0
    if met <= 0:
        return float("inf")
    return certified / met - 1 if quantity.side == "upper" else 1 - certified / met


# What is met, by samples and by local search. Nothing is proved here.
SAMPLES = 20_000
STARTS = 32
PROPOSALS = 16
STEPS = 150
CORNERS = 4096


def find_largest(
    value: Callable[[Array], Array],
    lower: Array,
    upper: Array,
    seed: int = 0,
    repair: Callable[[Array], Array] | None = None,
) -> tuple[float, Array]:
    """The largest value met and where, (n,), lower ≤ x ≤ upper. `repair` puts a proposal back where it belongs."""
    rng = np.random.default_rng(seed)
    n = len(lower)
    mend = repair or (lambda x: x)
    x = rng.uniform(lower, upper, (SAMPLES, n))
    moving = upper > lower
    corners = np.where(rng.random((CORNERS, n)) < 0.5, lower, upper)
    middles = np.where(rng.random((CORNERS, n)) < 0.5, corners, 0.5 * (lower + upper))
    x = mend(np.concatenate([x, corners, middles]))
    v = value(x)
    best = np.argsort(-v)[:STARTS]
    x, v = x[best], v[best]
    width = np.full(len(x), 0.25)
    for _ in range(STEPS):
        some = rng.random((len(x), PROPOSALS, n)) < 0.5
        step = rng.normal(size=(len(x), PROPOSALS, n)) * width[:, None, None] * (upper - lower) * (some & moving)
        trial = mend(np.clip(x[:, None] + step, lower, upper))
        w = value(trial.reshape(-1, n)).reshape(len(x), PROPOSALS)
        k = w.argmax(axis=1)
        rows = np.arange(len(x))
        up = w[rows, k] > v
        x[up], v[up] = trial[rows, k][up], w[rows, k][up]
        width = np.where(up, 1.1 * width, 0.8 * width)
    k = int(v.argmax())
    return float(v[k]), x[k]
