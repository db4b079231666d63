"""iLQR with multiple shooting (feasibility-driven DDP), for one problem or many.

An iteration is two machine loops: backward over the nodes (`compile.sweep`: derivatives and Riccati steps), forward
with x̂_{k+1} = f(x̂_k, û_k) − (1 − α) gap_k, û_k = u_k + α k_k + K_k (x̂_k − x_k): gaps shrink by 1 − α exactly
(Mastalli et al. 2020). A step is taken where the merit φ = J + ν Σ|gap| falls by a part of what the quadratic model
promises; of several lengths α = 1, ½, … the longest that does. They are computed one per lane, as many at once as there
are lanes; in a batch α = 1 first, one problem per lane: the same choice, the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from dalembert.caching import cached_property
from dalembert.flow import Array
from dalembert.optimal.problem import OptimalControl

LENGTHS = 8
ALPHA = tuple(0.5**k for k in range(LENGTHS))
SUFFICIENT = 1e-4  # of the promised decrease that must come
TRUSTED = 0.5  # of ν Σ|gap| that the merit may rely on
LEAST, MOST, FACTOR = 1e-9, 1e12, 10.0  # regularization of Q_uu
EASY, HARD = 1, 4  # up to which length, counted from the longest, it is relaxed, and from which it grows
ROUNDING = 1e-13  # of the cost, below which a promised decrease cannot be seen
NOTHING = 1e-9  # of the cost of the guess, and of 1: what is a cost of zero
CACHE = 1 << 20  # bytes of the plans of problems that are solved together
CONVERGED, STALLED, LIMIT, STOPPED, DIVERGED, VIOLATED, UNKEPT, TOO_LONG, UNSUSTAINED = (
    "converged",
    "no step makes it better",
    "the iterations are used up",
    "interrupted",
    "the cost is not finite",
    "limits are not kept",
    "no step brings it nearer to its limits",
    "dt is too long: a step and two of half its length lead far apart",
    "contacts cannot be sustained",
)


@dataclass
class Progress:
    """Where the solver stands with one problem."""

    cost: float = inf
    first: float = 0.0  # |cost| of the guess
    mu: float = 0.0
    nu: float = 0.0
    gap: float = inf
    gradient: float = inf
    promise: float = inf  # decrease of the cost that the model predicts
    iterations: int = 0
    before: int = 0  # iterations of earlier rounds of multipliers
    curved: bool = False  # costates are set, and with them second derivatives of the dynamics
    indefinite: bool = False  # they are to be cleared
    holding: bool = False  # inputs are held at limits by the solver
    relaxed: bool = False  # the regularization was taken away since the last step
    reason: str = ""
    history: list[tuple[float, float, float, float]] = field(default_factory=list)

    def judge(self, info: list[float], tolerance: float) -> bool:
        """Whether to go on with a step, after a backward pass; `reason` is set where it ends."""
        change, gradient, gap, good, cost = info
        self.cost, self.gap, self.gradient = cost, gap, gradient
        if not isfinite(cost + gap):
            self.reason = DIVERGED
            return False
        if not (good == 1.0 and isfinite(change)):
            if self.curved:  # without second derivatives of the dynamics it is positive more often
                self.curved, self.indefinite = False, True
                return False
            return self.stiffen()
        self.promise = -0.5 * change
        if not self.first:
            self.first = abs(cost)
        scale = self.scale
        if gap <= tolerance * 1e-2 and self.promise <= tolerance**1.5 * scale:
            if self.mu <= LEAST and not self.holding:
                self.reason = CONVERGED
            elif self.relaxed:
                self.reason = STALLED
            else:  # a small promise may be the regularization's, or of inputs that are held: without, once more
                self.mu, self.relaxed, self.holding = 0.0, True, False
            return False
        if gap > 0.0 and -self.promise > 0.0:
            self.nu = max(self.nu, -self.promise / ((1.0 - TRUSTED) * gap))
        return True

    @property
    def scale(self) -> float:
        """What small changes of the cost are measured by; not the cost alone, which may come down to zero."""
        return max(abs(self.cost), NOTHING * self.first, NOTHING)

    def stiffen(self) -> bool:
        """More regularization; the end where it is too much."""
        self.mu = max(self.mu * FACTOR, LEAST)
        if self.mu > MOST:
            self.reason = STALLED
        return False

    def accept(self, costs: list[float]) -> int | None:
        """The first of the lengths of which these are the costs that is good enough."""
        for k, cost in enumerate(costs):
            alpha = ALPHA[k]
            wanted = SUFFICIENT * alpha * (self.promise + self.nu * self.gap)
            if self.cost - cost + alpha * self.nu * self.gap >= wanted:
                return k
        return None

    def refused(self, tolerance: float) -> None:
        """No length was good enough."""
        seen = ROUNDING * self.scale
        if self.gap <= tolerance * 1e-2 and self.mu <= LEAST and self.promise <= seen:
            self.reason = CONVERGED
        else:
            self.stiffen()

    def again(self) -> None:
        """Begin anew: the cost is another."""
        self.before += self.iterations
        self.iterations, self.reason, self.mu, self.nu = 0, "", 0.0, 0.0

    def taken(self, k: int, cost: float, curved: bool) -> None:
        self.curved, self.relaxed = curved, False
        self.history.append((self.cost, self.gradient, self.gap, ALPHA[k]))
        self.cost = cost
        self.gap *= 1.0 - ALPHA[k]
        if k <= EASY:
            self.mu = self.mu / FACTOR if self.mu > LEAST else 0.0
        elif k >= HARD:
            self.mu = max(self.mu * FACTOR, LEAST)


class Engine:
    """The buffers of up to `size` problems, and one iteration of all of them."""

    def __init__(self, problem: OptimalControl, size: int = 1) -> None:
        self.problem, self.size = problem, size
        y, N = problem.layout, problem.N
        S = problem.n + 1 + problem.m
        self.xs, self.us = np.zeros((size, N + 1, problem.n)), np.zeros((size, N, problem.m))
        self.ps = np.zeros((size, N + 1, y.p))
        self.plan, self.info = np.zeros((size, N, y.plan)), np.zeros((size, 5))
        self.settings, self.held = np.zeros((size, 2)), np.zeros((size, N, problem.m))
        self.settings[:, 1] = problem.dt
        self.work = problem.sweep.work()
        self.bounds = np.ascontiguousarray(problem.bounds)
        self.step = np.empty((LENGTHS, 1 + 2 * problem.m))
        self.step[:, 0], self.step[:, 1:] = ALPHA, problem.bounds.reshape(-1)
        self.clock, self.counts = np.array([0.0, problem.dt]), np.array([0.0, N, 1.0])
        self.full = _Lanes(np.zeros((size, N + 1, S)), problem.n)

    @cached_property
    def lanes(self) -> _Lanes:
        """Room for all lengths of one problem."""
        return _Lanes(np.zeros((LENGTHS, *self.full.rows.shape[1:])), self.problem.n)

    @cached_property
    def parts(self) -> list[tuple[Array, _Lanes]]:
        """The lengths, as many at once as fill a vector, each with its room in `lanes`."""
        size = min(LENGTHS, self.problem.rollout.width)
        return [(self.step[k : k + size], self.lanes.part(k, k + size)) for k in range(0, LENGTHS, size)]

    def backward(self, count: int) -> None:
        given = (self.xs, self.us, self.ps, self.bounds, self.held, self.settings, self.work)
        out = (self.plan, self.info)
        if count < self.size:
            xs, us, ps, bounds, held, settings, work = given
            given = (xs[:count], us[:count], ps[:count], bounds, held[:count], settings[:count], work)
            out = (self.plan[:count], self.info[:count])
        self.problem.sweep.ufunc(*given, out=out)

    def forward_all(self, k: int) -> Iterator[list[float]]:
        """The costs of lengths of problem k, from the longest on: a vector of them, then more, then all."""
        costs: list[float] = []
        for step, room in self.parts:
            costs += self.forward_lanes(k, step, room, self.ps[k, -1]).tolist()
            yield costs

    def forward_lanes(self, k: int, step: Array, room: _Lanes, last: Array) -> Array:
        """Lengths of problem k (and limits of inputs), one row of `step` per lane; their costs."""
        problem = self.problem
        room.begin[:, : problem.n] = self.xs[k, 0]
        problem.rollout.ufunc(room.begin, self.plan[k], step, self.clock, self.counts, out=room.out)
        problem.last.ufunc(room.x[:, -1], last, out=room.last)
        room.last += room.spent
        return room.last

    def forward(self, rows: list[int]) -> list[float]:
        """The whole step of these problems, one problem per lane; their costs."""
        room, problem, count = self.full, self.problem, len(rows)
        every = rows == list(range(count))
        plan, x0, last = (
            (self.plan[:count], self.xs[:count, 0], self.ps[:count, -1])
            if every
            else (self.plan[rows], self.xs[rows, 0], self.ps[rows, -1])
        )
        if count < self.size:
            room = room.part(0, count)
        room.begin[:, : problem.n] = x0
        problem.rollout.ufunc(room.begin, plan, self.step[0], self.clock, self.counts, out=room.out)
        problem.last.ufunc(room.x[:, -1], last, out=room.last)
        room.last += room.spent
        return room.last.tolist()

    def _hold(self, k: int, chosen: int | None) -> None:
        """After a step that was cut short, inputs at a limit that its feedback drove against it are held there: the
        model took them as free, and promised what they cannot do. After a whole step they are free again."""
        if chosen == 0:
            self.held[k] = 0.0
            return
        u = self.lanes.u[0]
        at = [(u == limit) & (self.us[k] == limit) for limit in self.bounds]
        self.held[k] = at[1] * 1.0 - at[0]

    def take(self, rows: list[int], room: _Lanes, lanes: list[int]) -> None:
        """Problems move to what lanes found."""
        if self.problem.exact:
            self.ps[rows, :-1, self.problem.costates] = self.plan[rows, :, -self.problem.n :]
        if len(rows) == 1:
            self.xs[rows[0]], self.us[rows[0]] = room.x[lanes[0]], room.u[lanes[0]]
        elif rows == lanes == list(range(len(rows))):  # views are several times faster
            count = len(rows)
            self.xs[:count], self.us[:count] = room.x[:count], room.u[:count]
        else:
            self.xs[rows], self.us[rows] = room.x[lanes], room.u[lanes]
        if self.problem.curved:
            for k in rows:
                self.problem.center(self.xs[k], self.ps[k])

    def iterate(self, states: list[Progress], tolerance: float) -> None:
        """One iteration of the first problems, as many as there are states."""
        count = len(states)
        self.settings[:count, 0] = [state.mu for state in states]
        self.backward(count)
        going = []
        for k, (state, info) in enumerate(zip(states, self.info[:count].tolist(), strict=True)):
            state.iterations += 1
            if state.judge(info, tolerance):
                going.append(k)
                continue
            if self.problem.bounded and state.relaxed and not state.holding:
                self.held[k] = 0.0
            if state.indefinite:
                self.ps[k, :, self.problem.costates] = 0.0
                state.indefinite = False
        if count == 1:
            if going:
                self._choose(states[0], 0, tolerance)
            return
        if not going:
            return
        costs = self.forward(going)
        good = [states[k].accept([cost]) is not None for k, cost in zip(going, costs, strict=True)]
        rows, lanes = [k for k, g in zip(going, good, strict=True) if g], [j for j, g in enumerate(good) if g]
        if rows:
            self.take(rows, self.full, lanes)
            if self.problem.bounded:
                self.held[rows] = 0.0
                for k in rows:
                    states[k].holding = False
        for k, j in zip(rows, lanes, strict=True):
            states[k].taken(0, costs[j], self.problem.exact)
        for k, g in zip(going, good, strict=True):
            if not g:
                self._choose(states[k], k, tolerance)

    def _choose(self, state: Progress, k: int, tolerance: float) -> None:
        for costs in self.forward_all(k):
            chosen = state.accept(costs)
            if chosen is not None:
                break
        if self.problem.bounded:
            self._hold(k, chosen)
            state.holding = bool(self.held[k].any())
        if chosen is None:
            state.refused(tolerance)
        else:
            self.take([k], self.lanes, [chosen])
            state.taken(chosen, costs[chosen], self.problem.exact)


def chunk(problem: OptimalControl) -> int:
    """Problems that are solved together: as many as stay in the cache, but several for each lane."""
    return max(8, min(64, CACHE // (8 * problem.N * problem.layout.plan) // 8 * 8))


class _Lanes:
    """What the forward pass writes: a row (x, cost so far, u of the step before) of each node for each lane, and the
    whole cost of each."""

    def __init__(self, rows: Array, n: int) -> None:
        count, N = len(rows), rows.shape[1] - 1
        self.rows, self.n, self.begin, self.last = rows, n, np.zeros((count, rows.shape[2])), np.zeros(count)
        self.x, self.u, self.spent = rows[:, :, :n], rows[:, 1:, n + 1 :], rows[:, N, n]
        self.out = (rows[:, :N], np.zeros((count, N, 0)), rows[:, N], np.zeros((count, 0)), np.zeros(count))

    def part(self, first: int, end: int) -> _Lanes:
        """Some of the lanes."""
        return _Lanes(self.rows[first:end], self.n)


def run(
    engine: Engine, states: list[Progress], iterations: int, tolerance: float, tell: Callable[[], None] | None = None
) -> None:
    """Iterate the first problems of an engine until each of them has its reason; those that are done make room, and
    come back to their places at the end. An interrupt ends all of them, as they are."""
    total = len(states)
    order = list(range(total))  # which problem lies in each place; the first `active` are going on
    active = total
    try:
        with np.errstate(all="ignore"):
            while True:
                for k in reversed(range(active)):
                    state = states[order[k]]
                    if not state.reason and state.iterations >= iterations:
                        state.reason = LIMIT
                    if state.reason:
                        active -= 1
                        if k != active:
                            _swap(engine, k, active)
                            order[k], order[active] = order[active], order[k]
                if not active:
                    break
                engine.iterate([states[order[k]] for k in range(active)], tolerance)
                if tell is not None:
                    tell()
    except KeyboardInterrupt:
        for state in states:
            state.reason = state.reason or STOPPED
    if order != sorted(order):
        back = np.argsort(order)
        for a in (engine.xs, engine.us, engine.ps, engine.held):
            a[:total] = a[:total][back]


def _swap(engine: Engine, a: int, b: int) -> None:
    for x in (engine.xs, engine.us, engine.ps, engine.held):
        x[[a, b]] = x[[b, a]]
