"""Predictive control: at each sample a step or few toward the best motion from the state that is measured, of which the
first input is applied.

The plan of the sample before, moved on by the time that has passed, is the guess; its feedback takes the measured state
in (the forward pass begins there), and one iteration with fresh derivatives is the usual work of a sample (Diehl, Bock
& Schlöder 2005, "real-time iteration"). The law has a loop and a memory of its own: it is asked at samples, on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array, count, need, number
from dalembert.caching import cached_property
from dalembert.control.conditions import HOLDS, UNKNOWN, Condition, Conditions, assumed
from dalembert.control.controller import Controller
from dalembert.errors import InputError, choose
from dalembert.flow import Array, Scalar, Scalars
from dalembert.law import Law
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.result import balance, solve
from dalembert.optimal.solver import ALPHA, Engine, Progress, chunk, run
from dalembert.robot import Robot

Targets = Callable[[Array], Mapping[str, ArrayLike]]
WORSE = 2.0  # times the cost of the plan: a whole step that costs more is compared with shorter ones
EARLY = 1e-6  # of a node or a sample, by which it may be early
FRESH = 100  # iterations, at most, before the first sample


class Rollouts(NamedTuple):
    """Many runs under predictive control: t (K + 1,) [s], x (B, K + 1, n), u (B, K, m)."""

    t: Array
    x: Array
    u: Array


@dataclass(frozen=True, eq=False)
class PredictiveControl(Controller):
    """u(t) = the first input of the best motion over the horizon from here, as far as `iterations` come toward it.

    rate [Hz]: how often it plans, its input held between; if not given, whenever it is asked. targets(t) gives
    parameters of the problem over its nodes at times t (N + 1,): those that are `moving` with N + 1 rows. budget [s]:
    no further iteration is begun after so much time; `late` counts the samples that it cut short, and without any
    iteration the plan's feedback acts, u_0 + K_0 (x − x_0). Limits other than those of inputs are held as
    penalties, with the multipliers of the first solution, which move on with the plan until they are past."""

    problem: OptimalControl
    iterations: int = 1
    rate: float | None = None
    targets: Targets | None = None
    budget: float | None = None

    equation: ClassVar[str] = "u = argmin Σ ℓ(x_k, u_k) dt + ℓ_N(x_N) at k = 0, from x_0 = x"
    source: ClassVar[str] = "Diehl, Bock & Schlöder 2005; Mayne, Rawlings, Rao & Scokaert 2000 for stability"
    drawn = ("Predictive control", "x_d", "u", "system", "x")

    def check_system(self) -> None:
        need(self.problem, OptimalControl, "PredictiveControl", "the problem it solves at each sample")
        if self.problem.curved:
            raise InputError(
                "predictive control takes systems whose positions are a vector, and those of "
                f"{self.problem.flow.name!r} are none: solve the problem, whose result is a controller along its motion"
            )
        count("iterations", self.iterations, 1)
        for name in ("rate", "budget"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), above=0.0)
        if self.targets is not None and not callable(self.targets):
            raise InputError("targets is a function of the times of the nodes that gives parameters by name")

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.problem.system  # type: ignore[return-value]

    @property
    def sample_time(self) -> float:
        return self.problem.dt if self.rate is None else 1.0 / self.rate

    @property
    def late(self) -> int:
        """Samples of the last run that `budget` cut short."""
        return self._memory.late

    def conditions(self) -> Conditions:
        p = self.problem
        ends = bool(p.terms["terminal"] or p.terms["end"])
        return self.claim(
            "the loop is stable about the goal, with the cost as its Lyapunov function",
            Condition(
                "the motion ends at the goal, or is priced for what follows",
                HOLDS if ends else UNKNOWN,
                why="" if ends else "neither terminal= nor end= is given: the horizon must be long",
            ),
            assumed("the end costs at least what a controller would still spend from there (a terminal region)"),
            assumed("the iterations keep up with the state: the cost falls from sample to sample"),
        )

    def make(self) -> Law:
        flow = self.problem.flow

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            if not isinstance(t, (int, float)):
                raise InputError(
                    "predictive control is asked on numbers, not traced into another loop: simulate(…) runs it, and "
                    "its own rollouts(…) many at once"
                )
            return self._memory.ask(float(t), np.array(y, float)[None])[0].tolist()

        return Law("predictive control", flow.states, (), self.problem.chosen, act, asked=True)

    def __call__(self, t: float, x: ArrayLike) -> Array:  # type: ignore[override]
        """u at time t in the state x; the memory goes on from the call before, unless time goes back, or stands still
        where it began: that is another run."""
        y = array("x", x, (self.problem.n,), meaning="the state")
        return self._memory.ask(float(t), y[None])[0]

    def reset(self) -> None:
        """Forget the plan."""
        self._memory.time = None

    @cached_property
    def _memory(self) -> _Memory:
        return _Memory(self, 1)

    def rollouts(
        self,
        x0: ArrayLike,
        duration: float,
        *,
        plant: object = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        substeps: int = 1,
    ) -> Rollouts:
        """Many runs at once, each as if alone: from x0 (B, n), `duration` [s], asked every sample time, the system
        moved in so many `substeps` of the problem's method between. plant: another system of the same states and
        inputs. parameters: those of the problem, one for all runs or one for each (B, ·); where they are inputs of
        the plant, such as a load, it has them too."""
        p, starts = self.problem, array("x0", x0, (None, self.problem.n), meaning="a start in each row")
        steps = round(number("duration", duration, "s", above=0.0) / self.sample_time)
        parts = count("substeps", substeps, 1)
        h = self.sample_time / parts
        moved = _plant(p, p.system if plant is None else plant, h)
        if (moved.flow.states, moved.chosen) != (p.flow.states, p.chosen):
            raise InputError("the plant must have the states and inputs of the problem's own system")
        x, u = np.zeros((len(starts), steps + 1, p.n)), np.zeros((len(starts), steps, p.m))
        x[:, 0] = starts
        size, given = chunk(p), _for_each(p, len(starts), parameters or {})
        for first in range(0, len(starts), size):
            rows = slice(first, min(first + size, len(starts)))
            own = {name: value[rows] for name, value in given.items()}
            memory = _Memory(self, len(starts[rows]), own)
            for k in range(steps):
                u[rows, k] = memory.ask(k * self.sample_time, x[rows, k])
                here, nodes = x[rows, k], memory.of_plant(moved)
                for j in range(parts):
                    nodes[:, 0] = k * self.sample_time + j * h
                    here = moved.stepper(here, u[rows, k], nodes)
                x[rows, k + 1] = here
        return Rollouts(np.asarray(self.sample_time * np.arange(steps + 1), float), x, u)


def _plant(p: OptimalControl, system: object, h: float) -> OptimalControl:
    """What moves the plant by h; parameters of the problem that are inputs of it are its own."""
    make = getattr(system, "flow", None)
    flow = make() if callable(make) else system
    known: tuple[str, ...] = getattr(flow, "inputs", ())
    own = {name: value[0] for name, value in p.values.items() if name in known and name not in p.chosen}
    return OptimalControl(flow, h, h, running=lambda u: list(u), inputs=p.inputs, method=p.method, parameters=own)


def _for_each(p: OptimalControl, count: int, parameters: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Parameters with a row for each run."""
    found = {}
    for name, value in parameters.items():
        choose("parameter", name, p.values)
        core = p.values[name].shape if name in p.moving else p.values[name].shape[1:]
        x = array(name, value)
        if x.shape not in (core, (count, *core)):
            raise InputError(f"{name} has shape {x.shape}; it must be {core}, or {(count, *core)}, one for each run")
        found[name] = np.broadcast_to(x, (count, *core))
    return found


class _Memory:
    """The plans of some runs, and when they were made."""

    def __init__(self, owner: PredictiveControl, size: int, parameters: Mapping[str, ArrayLike] | None = None) -> None:
        self.owner, self.problem, self.size, self.given = owner, owner.problem, size, dict(parameters or {})
        self.time: float | None = None  # of the first node of the plan
        self.begun = self.last = 0.0  # when the run began, and when it was planned last
        self.now = np.zeros((size, owner.problem.m))  # the input that was found last
        self.late = 0
        self.engine: Engine | None = None
        self.multipliers: Array | None = None

    def ask(self, t: float, x: Array) -> Array:
        """u (count, m) for the states x (count, n)."""
        begun = perf_counter()
        engine = self.engine
        if engine is None:
            engine = self.engine = Engine(self.problem, self.size)
        with np.errstate(all="ignore"):
            if self.time is None or t < self.last or t == self.begun:
                self._fresh(engine, t, x)
                self.begun = t
                self.now = engine.us[:, 0].copy()
            elif self.owner.rate is None or t - self.last > (1.0 - EARLY) * self.owner.sample_time:
                self.now = self._plan(engine, t, x, begun)
            else:
                return self.now.copy()
            self.last = t
            return self.now.copy()

    def _plan(self, engine: Engine, t: float, x: Array, begun: float) -> Array:
        self._move_on(engine, t)
        for k in range(self.owner.iterations):
            if self.owner.budget is not None and perf_counter() - begun > self.owner.budget:
                self.late += 1
                if k == 0:
                    return self._feedback(engine, x)
                break
            self._iterate(engine, x)
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
        if p.multipliers:
            at = p.layout.p - 1 - p.multipliers
            P[..., at:] = self.multipliers if self.multipliers is not None else 0.0
        return P

    def _given(self, t: float) -> dict[str, ArrayLike]:
        """The parameters that are not the problem's own: those of the runs, and the targets at nodes from t on."""
        given, p = dict(self.given), self.problem
        if self.owner.targets is not None:
            found = self.owner.targets(np.asarray(t + p.dt * np.arange(p.N + 1), float))
            if not isinstance(found, Mapping):
                raise InputError(f"targets(t) must give parameters by name; it gives {type(found).__name__}")
            given |= found
        return given

    def _fresh(self, engine: Engine, t: float, x: Array) -> None:
        """The first plan, from what holds the system, iterated until it is as good as a plan gets."""
        p = self.problem
        if p.multipliers:
            found = solve(p, x, t0=t, iterations=FRESH, parameters=self._given(t))
            engine.xs[:], engine.us[:] = found.x, found.u
            self.multipliers = np.concatenate((found.multipliers, np.full((*found.multipliers.shape[:2], 1), 1e3)), -1)
            engine.ps[:] = self._parameters(t)
        else:
            engine.ps[:] = self._parameters(t)
            engine.us[:] = balance(p, x)[:, None]
            engine.xs[:, 0] = x
            for k in range(p.N):
                engine.xs[:, k + 1] = p.stepper(engine.xs[:, k], engine.us[:, k], engine.ps[:, k])
            run(engine, [Progress() for _ in range(self.size)], FRESH, 1e-4)
        engine.settings[:, 0], engine.held[:] = 0.0, 0.0
        if self.owner.budget is not None:
            engine.backward(self.size)  # whose feedback may be wanted before there is another
        self.time, self.late = t, 0

    def _move_on(self, engine: Engine, t: float) -> None:
        """The plan moved by the whole nodes that have passed; what is new repeats the last input."""
        p = self.problem
        assert self.time is not None
        nodes = int((t - self.time) / p.dt + EARLY)
        passed = min(nodes, p.N)
        if passed:
            xs, us, left = engine.xs, engine.us, p.N - passed
            xs[:, : left + 1] = xs[:, passed:].copy()
            us[:, :left] = us[:, passed:].copy()
            if self.owner.budget is not None:
                engine.plan[:, :left] = engine.plan[:, passed:].copy()
            for k in range(left, p.N):
                us[:, k] = us[:, k - 1]
                xs[:, k + 1] = p.stepper(xs[:, k], us[:, k], engine.ps[:, k])
            self.time += nodes * p.dt
            self._multipliers_on(engine, passed)
        if self.owner.targets is not None:
            engine.ps[:] = self._parameters(t)
        else:
            engine.ps[..., 0] += t - engine.ps[0, 0, 0]

    def _multipliers_on(self, engine: Engine, passed: int) -> None:
        """Multipliers of inequalities belong to times: those that are past are gone, and what is new has none."""
        own, first = self.multipliers, self.problem.counts[0]
        if own is None or not first:
            return
        own[:, :-passed, :first] = own[:, passed:, :first].copy()
        own[:, -passed:, :first] = 0.0
        at = self.problem.layout.p - 1 - self.problem.multipliers
        engine.ps[..., at:] = own

    def _iterate(self, engine: Engine, x: Array) -> None:
        """One iteration about the plan, the forward pass from where the system is."""
        size = self.size
        engine.backward(size)
        before = engine.info[:size, 4].tolist()
        engine.xs[:, 0] = x
        if size == 1:
            self._best(engine, 0, engine.forward_all(0), before[0])
            return
        costs = engine.forward(list(range(size)))
        good = [_fine(cost, old) for cost, old in zip(costs, before, strict=True)]
        rows = [k for k in range(size) if good[k]]
        if rows:
            engine.take(rows, engine.full, rows)
        for k in range(size):
            if not good[k]:
                self._best(engine, k, engine.forward_all(k), before[k])

    def _best(self, engine: Engine, k: int, costs: list[float], before: float) -> None:
        """The whole step where it is fine, else the cheapest length; where none is finite, what holds the system."""
        if _fine(costs[0], before):
            lane = 0
        else:
            finite = [j for j in range(len(ALPHA)) if isfinite(costs[j])]
            if not finite:
                engine.us[k] = balance(self.problem, engine.xs[k, 0])
                engine.xs[k, 1:] = engine.xs[k, 0]
                if self.problem.lean:
                    engine.xs[k, 1:, self.problem.flow.nq :] = 0.0
                return
            lane = min(finite, key=lambda j: costs[j])
        engine.take([k], engine.lanes, [lane])

    def _feedback(self, engine: Engine, x: Array) -> Array:
        p = self.problem
        K = engine.plan[:, 0, : p.m * p.layout.X].reshape(self.size, p.m, p.layout.X)[..., : p.n]
        u = engine.us[:, 0] + (K @ (x - engine.xs[:, 0])[..., None])[..., 0]
        return np.asarray(np.clip(u, *p.bounds))


def _fine(cost: float, before: float) -> bool:
    return isfinite(cost) and cost <= WORSE * abs(before) + 1e-9
