"""The memory of predictive control: the plans of some runs, moved on and made better at each sample.

What `optimal.c_export` writes as C for one run is this, for as many as there are lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError
from dalembert.flow import Array
from dalembert.optimal.barrier import Barrier
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.result import begin_plan, hold, solve
from dalembert.optimal.solver import ALPHA, STOPPED, Engine, Progress, run

if TYPE_CHECKING:
    from dalembert.optimal.predictive import PredictiveControl

WORSE = 2.0  # times the cost of the plan: a whole step that costs more is compared with shorter ones
EARLY = 1e-6  # of a node or a sample, by which it may be early
REGULAR, STIFFER, STIFFEST = 1e-6, 100.0, 1e12  # what is added to Q_uu at first, its factor, and the most
INSIDE, NEAR = 20, (1e-4, 1e-5)  # iterations of the barrier a sample, if not said; its tolerance and accuracy
FRESH = 100  # iterations, at most, before the first sample
PENALTY = 1e3  # μ of the final condition


class Memory:
    """The plans of some runs, and when they were made."""

    def __init__(self, owner: PredictiveControl, size: int, parameters: Mapping[str, ArrayLike] | None = None) -> None:
        self.owner, self.problem, self.size, self.given = owner, owner.problem, size, dict(parameters or {})
        self.time: float | None = None  # of the first node of the plan
        self.begun = self.last = 0.0  # when the run began, and when it was planned last
        self.now = np.zeros((size, owner.problem.m))  # the input that was found last
        self.samples = self.late = self.over = self.lost = 0
        self.wanted: Array | None = None  # the motion that is followed, as it is at this sample
        self.chosen: Array | None = None  # parameters that the law was given last
        self.seen = np.zeros((size, len(owner.problem.flow.states)))
        self.engine: Engine | None = None
        self.ends = np.zeros((size, owner.problem.counts[1]))  # multipliers of the end
        self.barrier = Barrier(owner.problem) if owner.problem.counts[0] else None
        self.iterations = owner.iterations or (1 if self.barrier is None else INSIDE)

    def ask(self, t: float, x: Array, r: Array | None = None, p: Array | None = None) -> Array:
        """u (count, m) for the states x (count, ·), what is wanted r (count, 3 nq) and parameters p (count, ·)."""
        begun = perf_counter()
        if not np.isfinite(x).all():  # a run that diverged must not cost the others time
            x = np.where(np.isfinite(x).all(1, keepdims=True), x, self.seen)
        self.seen = x
        self.wanted = r if self.owner.follows is not None else None
        other = p is not None and p.size > 0 and not (self.chosen is not None and np.array_equal(p, self.chosen))
        self.chosen = p.copy() if other and p is not None else self.chosen
        engine = self.engine
        if engine is None:
            engine = self.engine = Engine(self.problem, self.size)
        with np.errstate(all="ignore"):
            if self.time is None or t < self.last or t == self.begun:
                self._fresh(engine, t, x)
                self.begun = t
                self.now = engine.us[:, 0].copy()
            elif self.owner.rate is None or t - self.last > (1.0 - EARLY) * self.owner.sample_time:
                self.now = self._plan(engine, t, x, begun, other)
                self.samples += 1
                self.over += self.owner.budget is not None and perf_counter() - begun > self.owner.budget
            else:
                return self.now.copy()
            self.last = t
            return self.now.copy()

    def _plan(self, engine: Engine, t: float, x: Array, begun: float, other: bool) -> Array:
        self._move_on(engine, t, other)
        lost = self.lost
        for k in range(self.iterations if self.barrier is None else 1):
            if self.owner.budget is not None and perf_counter() - begun > self.owner.budget:
                self.late += 1
                if k == 0:
                    return self._feedback(engine, x)
                break
            if self.barrier is None:
                self._iterate(engine, x)
            else:
                self._inside(self.barrier, engine, x)
        self.lost = min(self.lost, lost + 1)
        return engine.us[:, 0].copy()

    def of_plant(self, moved: OptimalControl) -> Array:
        """(count, ·): the parameters of a plant that are the problem's, as they are at the first node."""
        assert self.engine is not None
        here, nodes = self.engine.ps[:, 0], np.zeros((self.size, moved.layout.p))
        places = self.problem.places
        for name, at in moved.places.items():
            nodes[:, at] = here[:, places[name]]
        return nodes

    def _parameters(self, t: float) -> Array:
        p = self.problem
        P = p.parameters_at(t, (self.size,), **self._given(t))
        if p.multipliers and self.barrier is None:
            p.write_end(P, self.ends, np.full(self.size, PENALTY))
        return P

    def _given(self, t: float) -> dict[str, ArrayLike]:
        """The parameters that are not the problem's own: those of the runs, and the targets at nodes from t on."""
        given, p = dict(self.given), self.problem
        if self.chosen is not None:
            given |= self.owner.read_parameters(self.chosen)
        if self.owner.follows is not None:
            given[self.owner.follows] = self._ahead()
        if self.owner.targets is not None:
            found = self.owner.targets(np.asarray(t + p.dt * np.arange(p.N + 1), float))
            if not isinstance(found, Mapping):
                raise InputError(
                    "wrong-type",
                    "targets",
                    problem=f"targets(t) must give parameters by name; it gives {type(found).__name__}",
                )
            given |= found
        return given

    def _ahead(self) -> Array:
        """(count, N + 1, ·): what is followed at the nodes, its acceleration held; as much of (x, ẋ, ẍ) as the
        parameter has."""
        p, r = self.problem, self.wanted
        assert r is not None and self.owner.follows is not None
        x, v, a = np.split(r[:, None], 3, -1)
        s = p.dt * np.arange(p.N + 1)[:, None]
        rows = np.concatenate((x + s * v + 0.5 * s * s * a, v + s * a, a + 0.0 * s), -1)
        core = p.values[self.owner.follows].shape
        return rows[..., : core[1]].reshape(self.size, *core)

    def _fresh(self, engine: Engine, t: float, x: Array) -> None:
        """Make the first plan, from the owner's guess or else from inputs that hold the system."""
        p, (guess, inputs) = self.problem, self.owner.first_plan
        if p.multipliers:
            found = solve(p, x, x=guess, u=inputs, t0=t, iterations=FRESH, parameters=self._given(t))
            self.ends = found.multipliers[:, -1, p.counts[0] :]
            engine.us[:], engine.ps[:] = found.u, self._parameters(t)
            engine.xs[:] = p.begin(found.x, engine.ps)
        else:
            engine.us[:] = hold(p, x)[:, None] if inputs is None else np.clip(inputs, *p.bounds)
            engine.ps[:] = self._parameters(t)
            begin_plan(p, engine, np.repeat(x[:, None], p.N + 1, 1), None if guess is None else guess[1:])
            run(engine, [Progress() for _ in range(self.size)], FRESH, 1e-4)
        engine.settings[:, 0], engine.held[:] = 0.0, 0.0
        if self.owner.budget is not None:
            engine.backward(self.size)  # whose feedback may be wanted before there is another
        self.time, self.samples, self.late, self.over, self.lost = t, 0, 0, 0, 0

    def _move_on(self, engine: Engine, t: float, other: bool) -> None:
        """The plan moved by the whole nodes that have passed; what is new repeats the last input. `other`: the law was
        given other parameters."""
        p = self.problem
        assert self.time is not None
        nodes = int((t - self.time) / p.dt + EARLY)
        passed = min(nodes, p.N)
        if passed:
            X, us, left = p.states(engine.xs, engine.ps), engine.us, p.N - passed
            X[:, : left + 1] = X[:, passed:].copy()
            us[:, :left] = us[:, passed:].copy()
            us[:, left:] = us[:, [left - 1]]
            if self.owner.budget is not None:
                engine.plan[:, :left] = engine.plan[:, passed:].copy()
            self._continue(engine, X, left)
            self.time += nodes * p.dt
            if p.exact:
                costates = engine.ps[..., p.costates]
                costates[:, :left], costates[:, left:] = costates[:, passed:].copy()[:, :left], 0.0
        if self.owner.targets is not None or self.owner.follows is not None or other:
            new, own = self._parameters(t), slice(p.charts[0].start, p.costates.stop)
            new[..., own] = engine.ps[..., own]
            engine.ps[:] = new
        else:
            engine.ps[..., 0] += t - engine.ps[0, 0, 0]

    def _continue(self, engine: Engine, X: Array, k: int) -> None:
        """Whole states X (count, N + 1, ·) are those of the plan, from node k on where the inputs lead."""
        p = self.problem
        for j in range(k, p.N):
            X[:, j + 1] = p.mover(X[:, j], engine.us[:, j], engine.ps[:, j])
        engine.xs[:] = p.begin(X, engine.ps)

    def _iterate(self, engine: Engine, x: Array) -> None:
        """One iteration about the plan, the forward pass from where the system is."""
        size = self.size
        self._backward(engine)
        before = engine.info[:size, 4].tolist()
        engine.xs[:, 0] = self._beside(engine, x)
        if size == 1:
            self._best(engine, 0, before[0], x[0])
            return
        costs = engine.forward(list(range(size)))
        good = [_fine(cost, old) for cost, old in zip(costs, before, strict=True)]
        rows = [k for k in range(size) if good[k]]
        if rows:
            engine.take(rows, engine.full, rows)
        for k in range(size):
            if not good[k]:
                self._best(engine, k, before[k], x[k])

    def _inside(self, barrier: Barrier, engine: Engine, x: Array) -> None:
        """Limits of states by the barrier, from the plan, one run after the other."""
        p = self.problem
        engine.xs[:, 0] = self._beside(engine, x)
        if p.lean:  # q⁺ = q + h v⁺ holds at every guess
            engine.xs[:, 1:, p.flow.nq :] = np.diff(engine.xs[..., : p.flow.nq], axis=1) / p.dt
        for k in range(self.size):
            state, own = Progress(), barrier.engine
            barrier.solve(engine.xs[k], engine.us[k], engine.ps[k], state, self.iterations, *NEAR, None, self.ends[k])
            if state.reason == STOPPED:
                raise KeyboardInterrupt
            if not (np.isfinite(own.xs).all() and np.isfinite(own.us).all()):
                self._hold(engine, k, x[k])
                continue
            engine.xs[k], engine.us[k], engine.plan[k] = own.xs[0], np.clip(own.us[0], *p.bounds), own.plan[0]
            engine.ps[k, :, p.charts[0].start : p.charts[1].stop] = own.ps[0, :, p.charts[0].start : p.charts[1].stop]
            self.ends[k] = barrier.y

    def _hold(self, engine: Engine, k: int, x: Array) -> None:
        """The plan of a run is what holds the system at x."""
        p, X = self.problem, np.repeat(x[None], self.problem.N + 1, 0)
        self.lost += 1
        engine.us[k] = hold(p, x)
        if p.lean:
            X[1:, p.flow.nq :] = 0.0
        engine.xs[k] = p.begin(X, engine.ps[k])

    def _backward(self, engine: Engine) -> None:
        """The backward pass, again where a Q_uu is not positive definite: without second derivatives of the dynamics,
        and with more regularization each time, which is taken back from sample to sample."""
        mu = engine.settings[:, 0]
        if mu.any():
            mu[:] = np.where(mu > REGULAR, mu / STIFFER, 0.0)
        engine.backward(self.size)
        while (engine.info[:, 3] != 1.0).any():
            bad = (engine.info[:, 3] != 1.0) & np.isfinite(engine.info[:, 2] + engine.info[:, 4]) & (mu < STIFFEST)
            if not bad.any():
                return
            mu[bad] = np.maximum(STIFFER * mu[bad], REGULAR)
            engine.ps[bad, :, self.problem.costates] = 0.0
            engine.backward(self.size)

    def _beside(self, engine: Engine, x: Array) -> Array:
        """(count, n): states as the first nodes see them."""
        p = self.problem
        if not p.curved:
            return x
        d = p.apart(p.states(engine.xs[:, 0], engine.ps[:, 0]), x)[:, : p.flow.nv]
        return np.concatenate((d, x[:, p.flow.nq :]), -1)

    def _best(self, engine: Engine, k: int, before: float, x: Array) -> None:
        """The whole step where it is fine, else the cheapest length; where none is finite, what holds the system."""
        for costs in engine.forward_all(k):
            if _fine(costs[0], before):
                lane = 0
                break
        else:
            finite = [j for j in range(len(ALPHA)) if isfinite(costs[j])]
            if not finite:
                self._hold(engine, k, x)
                return
            lane = min(finite, key=lambda j: costs[j])
        engine.take([k], engine.lanes, [lane])

    def _feedback(self, engine: Engine, x: Array) -> Array:
        p = self.problem
        K = engine.plan[:, 0, : p.m * p.layout.X].reshape(self.size, p.m, p.layout.X)[..., : p.n]
        off = p.apart(p.states(engine.xs[:, 0], engine.ps[:, 0]), x)
        u = engine.us[:, 0] + (K @ off[..., None])[..., 0]
        return np.asarray(np.clip(u, *p.bounds))


def _fine(cost: float, before: float) -> bool:
    return isfinite(cost) and cost <= WORSE * abs(before) + 1e-9
