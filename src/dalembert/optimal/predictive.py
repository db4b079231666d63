"""Predictive control: at each sample a step or few toward the best motion from the state that is measured, of which the
first input is applied.

The plan of the sample before, moved on by the time that has passed, is the guess; its feedback takes the measured state
in (the forward pass begins there), and one iteration with fresh derivatives is the usual work of a sample (Diehl, Bock
& Schlöder 2005, "real-time iteration"). The law has a loop and a memory of its own: it is asked at samples, on numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import composite, linear, newton_euler
from dalembert.arguments import array, count, need, number
from dalembert.caching import cached_property
from dalembert.control.conditions import HOLDS, UNKNOWN, Condition, Conditions, assumed, exact_model
from dalembert.control.controller import Controller, Wanted, check_robot, follows, read_wanted
from dalembert.errors import ContactWarning, DivergenceWarning, InputError, choose
from dalembert.flow import Array, Scalar, Scalars
from dalembert.law import Law, Tell
from dalembert.optimal.memory import Memory
from dalembert.optimal.problem import OptimalControl, count_steps
from dalembert.optimal.result import Optimum
from dalembert.optimal.solver import chunk
from dalembert.robot import Robot
from dalembert.scalar import absolute, sqrt, where

Targets = Callable[[Array], Mapping[str, ArrayLike]]
WANTED = "wanted"  # the parameter of `track`
NODES, NODE = 10, 0.01  # of `track`: how many, and how long [s]
CLOCK = "budget is of a clock, and what a batch computes must not depend on it: leave it out, and give iterations="
SLACK = 0.5**0.5  # the least damping of a regulator that is optimal


class Rollouts(NamedTuple):
    """Many runs under predictive control: t (K + 1,) [s], x (B, K + 1, n), u (B, K, m)."""

    t: Array
    x: Array
    u: Array

    @property
    def divergence(self) -> str:
        """How many runs diverged, and when the first did; empty if none did."""
        lost = np.asarray(~np.isfinite(self.x).all(-1))
        runs = np.flatnonzero(lost.any(-1))
        if not len(runs):
            return ""
        first = int(runs[np.argmax(lost[runs], -1).argmin()])
        when = f"rollout {first} first by t = {self.t[np.argmax(lost[first])]:.6g} s"
        return f"{len(runs)} of {len(self.x)} rollouts diverged, {when}"

    def __repr__(self) -> str:
        span = f"t = 0 … {self.t[-1]:.6g} s"
        return f"<Rollouts of {len(self.x)} runs, {len(self.t)} samples, {span}; {self.divergence or 'none diverged'}>"


@dataclass(frozen=True, eq=False)
class PredictiveControl(Controller):
    """u(t) = the first input of the best motion over the horizon from here, as far as `iterations` come toward it.

    rate [Hz]: how often it plans, its input held between; if not given, whenever it is asked. targets(t) gives
    parameters of the problem over its nodes at times t (N + 1,): those that are `moving` with N + 1 rows. follows: the
    moving parameter, (N + 1, nq), (N + 1, 2 nq) or (N + 1, 3 nq), that is what the reference of a run wants at the
    nodes, (x, ẋ, ẍ) as far as it goes, from that of the sample with ẍ held.
    guess: motion that the first plan starts from, an `Optimum` of the problem or states and inputs (x, u), (N + 1, n)
    and (N, m), either of which may be None. By default the plan starts from inputs that hold the start state: the
    torques against gravity, or of a robot on contacts those of `Constrained.balance`.
    budget [s]: no further iteration is begun after so much time; `late` counts the samples that it cut short, and
    without any iteration the plan's feedback acts, u_0 + K_0 (x − x_0). Limits of states and inequalities are held by
    the barrier, one run after the other, within `iterations` of it (20 if not given; of the plain step 1). Other
    parameters of the problem are parameters of the law, "goal[0]", …, which runs of a batch may have of their own."""

    problem: OptimalControl
    iterations: int | None = None
    rate: float | None = None
    targets: Targets | None = None
    budget: float | None = None
    follows: str | None = None
    guess: Optimum | tuple[ArrayLike | None, ArrayLike | None] | None = None

    equation: ClassVar[str] = "u = argmin Σ ℓ(x_k, u_k) dt + ℓ_N(x_N) at k = 0, from x_0 = x"
    source: ClassVar[str] = "Diehl, Bock & Schlöder 2005; Mayne, Rawlings, Rao & Scokaert 2000 for stability"
    drawn = ("Predictive control", "x_d", "u", "system", "x")

    def check_system(self) -> None:
        need(self.problem, OptimalControl, "PredictiveControl", "the problem it solves at each sample")
        if self.iterations is not None:
            count("iterations", self.iterations, 1)
        for name in ("rate", "budget"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), above=0.0)
        if self.targets is not None and not callable(self.targets):
            raise InputError(
                "wrong-type",
                "targets",
                self.targets,
                problem="targets is a function of the times of the nodes that gives parameters by name",
            )
        self.first_plan  # noqa: B018 - a guess that does not fit is refused here
        if self.follows is not None:
            p, nq = self.problem, self.problem.flow.nq
            if p.curved:
                raise InputError(
                    "unsupported",
                    "follows",
                    problem=f"the positions of {p.flow.name!r} lie on a manifold, and the rates of what is wanted are "
                    f"none "
                    "of theirs",
                    remedy="Give targets(t), the moving parameters at the nodes.",
                )
            if self.follows not in p.moving:
                raise InputError(
                    "wrong-value",
                    "follows",
                    self.follows,
                    problem=f"follows names a parameter of the problem that is moving, and {self.follows!r} is none; "
                    f"moving are: {', '.join(p.moving) or 'none'}",
                )
            shape = p.values[self.follows].shape
            if len(shape) != 2 or not nq or shape[1] not in (nq, 2 * nq, 3 * nq):
                raise InputError(
                    "wrong-shape",
                    "follows",
                    problem=f"{self.follows!r} follows a motion of {nq} positions: it has {p.N + 1} rows of {nq}, "
                    f"{2 * nq} or {3 * nq} numbers, and not the shape {shape}",
                )

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> PredictiveControl:
        """That follows a motion of the joints (`track`) within the robot's efforts."""
        return cls(track(robot, omega, zeta), follows=WANTED)

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.problem.system  # type: ignore[return-value]

    @cached_property
    def first_plan(self) -> tuple[Array | None, Array | None]:
        """The states (N + 1, n) and inputs (N, m) of `guess`, None where it has none."""
        p, guess = self.problem, self.guess
        if guess is None:
            return None, None
        if isinstance(guess, Optimum):
            guess = guess.x, guess.u
        if not isinstance(guess, tuple) or len(guess) != 2:
            raise InputError(
                "wrong-type",
                "guess",
                guess,
                problem=f"guess must be an Optimum, or states and inputs (x, u); got {type(guess).__name__}",
            )
        x, u = guess
        return (
            None if x is None else array("guess", x, (p.N + 1, len(p.flow.states))),
            None if u is None else array("guess", u, (p.N, p.m)),
        )

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
        kept = [
            assumed(
                "limits of states and inequalities can be kept from every state that is met",
                "where they cannot, the least of what breaks them is planned",
            )
        ]
        timely = [assumed("the budget leaves every sample its iterations", "`late` counts those that it cut short")]
        return self.claim(
            "the loop is stable about the goal, with the cost as its Lyapunov function",
            Condition(
                "the motion ends at the goal, or is priced for what follows",
                HOLDS if ends else UNKNOWN,
                why="" if ends else "neither terminal= nor end= is given: the horizon must be long",
            ),
            assumed(
                "the end costs at least what a controller would still spend from there, which keeps to the limits",
                "a terminal region; Mayne et al. 2000, A1 to A4",
            ),
            assumed("the iterations keep up with the state: the cost falls from sample to sample", "Diehl et al. 2005"),
            *(kept if p.multipliers else ()),
            *(timely if self.budget is not None else ()),
            exact_model(),
        )

    # -------------------------------------------------------------------------------------------------- as a law
    @cached_property
    def own_parameters(self) -> dict[str, float]:
        """Parameters of the problem that are neither moving nor inputs of the system, number by number."""
        p = self.problem
        found: dict[str, float] = {}
        for name, value in p.values.items():
            if name not in p.moving and name not in p.flow.inputs:
                for place in np.ndindex(value.shape[1:]):
                    entry = f"{name}[{','.join(map(str, place))}]" if place else name
                    found[entry] = float(value[(0, *place)])
        return found

    def read_parameters(self, values: Array) -> dict[str, ArrayLike]:
        """Those of some runs, (count, ·), by the names and in the shapes of the problem."""
        p, at = self.problem, 0
        found: dict[str, ArrayLike] = {}
        for name, value in p.values.items():
            if name not in p.moving and name not in p.flow.inputs:
                size = prod(value.shape[1:])
                found[name] = values[:, at : at + size].reshape(len(values), *value.shape[1:])
                at += size
        return found

    def make(self) -> Law:
        flow = self.problem.flow

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            if not all(isinstance(x, (int, float)) for x in (t, *y)):
                raise InputError(
                    "unsupported",
                    "t",
                    problem="predictive control is asked on numbers, not traced into another loop",
                    remedy="Simulate(…) and rollouts(…) run it, and c_files(…) exports it.",
                )
            rows = (np.array(x, float)[None] for x in (y, r, p))
            return self._memory.ask(float(t), *rows)[0].tolist()

        return Law(
            "predictive control",
            flow.states,
            () if self.follows is None else follows(flow.states[: flow.nq]),
            self.problem.chosen,
            act,
            parameters=self.own_parameters,
            memory=self.memory,
            report=self.report,
        )

    def memory(self, count: int) -> Tell:
        """So many runs begun at once, each as if alone, one problem per lane."""
        if self.budget is not None:
            raise InputError("conflict", "budget", problem=CLOCK)
        size = chunk(self.problem)
        parts = [(k, Memory(self, min(size, count - k))) for k in range(0, count, size)]

        def tell(t: float, y: Array, r: Array, p: Array) -> Array:
            rows = ((slice(k, k + part.size), part) for k, part in parts)
            return np.concatenate([part.ask(t, y[at], r[at], p[at]) for at, part in rows])

        return tell

    def report(self) -> str:
        """What there is to say of the last run: samples that were cut short, or overran, or had no finite step."""
        m = self._memory
        said = (
            (m.late, "stopped short of its iterations to keep its budget"),
            (m.over, "took longer than its budget all the same"),
            (m.lost, "found no step of finite cost and held the system"),
        )
        return "; ".join(f"predictive control {what} in {k} of {m.samples} samples" for k, what in said if k)

    def __call__(self, t: float, x: ArrayLike, reference: Wanted = None) -> Array:  # type: ignore[override]
        """u at time t in the state x, where it follows a `reference`; the memory goes on from the call before, unless
        time goes back, or stands still where it began: that is another run."""
        y = array("x", x, (len(self.problem.flow.states),), meaning="the state")
        return self._memory.ask(float(t), y[None], self._wanted(float(t), reference))[0]

    def _wanted(self, t: float, reference: Wanted) -> Array | None:
        """(1, 3 nq): what is wanted at t, where it follows a motion."""
        if self.follows is not None:
            return read_wanted(self.law(), reference, np.asarray(t))[None]
        if reference is not None:
            raise InputError(
                "conflict",
                "reference",
                problem="predictive control follows nothing, unless follows= names a parameter",
                remedy="Give no reference.",
            )
        return None

    def reset(self) -> None:
        """Forget the plan."""
        self._memory.time = None

    def c_files(
        self, x0: ArrayLike, name: str = "predictive", *, t0: float = 0.0, reference: Wanted = None
    ) -> dict[str, str]:
        """The controller as C99, NAME.c and NAME.h: its memory is a struct, its solver a loop of fixed length; no
        allocation, nothing but math.h. It begins with the plan that is best from x0 at t0 [s], found here; after that
        NAME_step(state, t, x, …, u) gives the same bits as this controller. Where it follows a motion, the plan is that
        of the `reference`, or of rest at x0, and NAME_step is given what is wanted at the nodes. After a sample in
        which no step has a finite cost, C holds a system with fewer inputs than rates with zero inputs."""
        from dalembert.optimal.c_export import c_files

        if self.problem.counts[0]:
            raise InputError(
                "unsupported",
                "limits",
                problem="limits of states and inequalities cannot be written as C",
                expected="limits of inputs alone",
                remedy="Add a cost that keeps the states inside instead.",
            )
        start = array("x0", x0, (len(self.problem.flow.states),), meaning="the state it begins in")
        memory, t, nq = Memory(self, 1), number("t0", t0, "s"), self.problem.flow.nq
        rest = start[:nq] if self.follows is not None and reference is None else reference
        memory.ask(t, start[None], self._wanted(t, rest))
        assert memory.engine is not None
        engine = memory.engine
        if not (np.isfinite(engine.xs).all() and np.isfinite(engine.us).all()):
            raise InputError(
                "infeasible",
                "x0",
                problem="no motion from x0 has a finite cost: there is nothing to begin with",
                remedy="Choose another x0.",
            )
        about = f"{self.problem.flow.name}; {self.equation}"
        plan = {"x": engine.xs[0], "u": engine.us[0], "p": engine.ps[0]}
        return c_files(self.problem, self.iterations or 1, plan, name, about)

    @cached_property
    def _memory(self) -> Memory:
        return Memory(self, 1)

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
        if self.follows is not None:
            raise InputError(
                "missing",
                "reference",
                problem="it follows a motion, which it has none of here: simulation.rollouts(…, reference=…) has",
            )
        if self.budget is not None:
            raise InputError("conflict", "budget", problem=CLOCK)
        p, size = self.problem, len(self.problem.flow.states)
        starts = array("x0", x0, (None, size), meaning="a start in each row")
        steps = count_steps("duration", number("duration", duration, "s", above=0.0), self.sample_time)
        parts = count("substeps", substeps, 1)
        h = self.sample_time / parts
        moved = _plant(p, p.system if plant is None else plant, h)
        if (moved.flow.states, moved.chosen) != (p.flow.states, p.chosen):
            raise InputError(
                "wrong-structure",
                "plant",
                problem="the plant must have the states and inputs of the problem's own system",
            )
        x, u = np.zeros((len(starts), steps + 1, size)), np.zeros((len(starts), steps, p.m))
        x[:, 0] = starts
        many, given = chunk(p), _for_each(p, len(starts), parameters or {})
        watched = _Watched(moved, (len(starts), steps * parts)) if moved.flow.contacts is not None else None
        for first in range(0, len(starts), many):
            rows = slice(first, min(first + many, len(starts)))
            own = {name: value[rows] for name, value in given.items()}
            memory = Memory(self, len(starts[rows]), own)
            for k in range(steps):
                u[rows, k] = memory.ask(k * self.sample_time, x[rows, k])
                here, nodes = x[rows, k], memory.of_plant(moved)
                for j in range(parts):
                    nodes[:, 0] = k * self.sample_time + j * h
                    if watched is not None:
                        watched.look(rows, k * parts + j, here, u[rows, k], nodes)
                    with np.errstate(all="ignore"):  # divergence is reported below
                        here = moved.mover(here, u[rows, k], nodes)
                x[rows, k + 1] = here
        if watched is not None:
            watched.warn()
        found = Rollouts(np.asarray(self.sample_time * np.arange(steps + 1), float), x, u)
        if found.divergence:
            warnings.warn(f"{found.divergence}. Their states are not finite.", DivergenceWarning, stacklevel=2)
        return found


def track(robot: Robot, omega: float, zeta: float = 1.0, limits: Mapping[str, object] | None = None) -> OptimalControl:
    """The problem of following a motion of the joints: least ∫ ½ (ω⁴ |e|² + (4 ζ² − 2) ω² |ė|² + |a|²) dt, with
    a = M(q_d)⁻¹ (τ − τ_d), τ_d the torques of the motion itself, and what the regulator s² + 2 ζ ω s + ω² would still
    spend as the price of the end: near the motion the errors have these poles, and where torques reach their limits
    they are chosen knowing it. ζ below 1/√2 is no least of such a cost, and taken as that. limits: as in
    `OptimalControl`; the robot's efforts if not given. ω [rad/s] and ζ are parameters, and so is the motion, "wanted":
    (q, q̇, q̈) at the nodes."""
    check_robot(robot, "track")
    n, model, efforts = robot.n, robot.model, np.asarray(robot.limits.effort, float)

    def errors(q: Scalars, v: Scalars, wanted: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        return [a - b for a, b in zip(wanted, q, strict=False)], [a - b for a, b in zip(wanted[n:], v, strict=False)]

    def least(zeta: Scalar) -> Scalar:
        return where(zeta * zeta < 0.5, SLACK, zeta)

    def running(q: Scalars, v: Scalars, u: Scalars, wanted: Scalars, omega: Scalar, zeta: Scalar) -> list[Scalar]:
        e, rate = errors(q, v, wanted)
        own = newton_euler.inverse_dynamics(model, wanted[:n], wanted[n : 2 * n], wanted[2 * n :])
        more = [a - b for a, b in zip(u, own, strict=True)]
        a = linear.solve_ldl(composite.mass_matrix(model, wanted[:n]), more)
        z = least(zeta)
        stiffness, damping = omega * omega, sqrt(absolute(4.0 * z * z - 2.0)) * omega
        return [*(stiffness * x for x in e), *(damping * x for x in rate), *a]

    def terminal(q: Scalars, v: Scalars, wanted: Scalars, omega: Scalar, zeta: Scalar) -> list[Scalar]:
        """½ (2 ζ ω³ e² + 2 ω² e ė + 2 ζ ω ė²), as squares."""
        e, rate = errors(q, v, wanted)
        z = least(zeta)
        first, rest = sqrt(2.0 * z * omega) * omega, sqrt(omega * (4.0 * z * z - 1.0) / (2.0 * z))
        both = [first * (x + y / (2.0 * z * omega)) for x, y in zip(e, rate, strict=True)]
        return [*both, *(rest * y for y in rate)]

    own = {name: float(x) for name, x in zip(robot.flow().inputs, efforts, strict=False) if np.isfinite(x) and x > 0.0}
    tuned = {"omega": number("omega", omega, "rad/s", above=0.0), "zeta": number("zeta", zeta, above=0.0)}
    return OptimalControl(
        robot,
        NODES * NODE,
        NODE,
        running=running,
        terminal=terminal,
        limits=own if limits is None else limits,
        parameters={WANTED: np.zeros((NODES + 1, 3 * n)), **tuned},
        moving=[WANTED],
    )


class _Watched:
    """What the contacts of runs (B, rows) of a plant bear."""

    def __init__(self, plant: OptimalControl, size: tuple[int, int]) -> None:
        self.plant, self.t = plant, np.zeros(size[1])
        self.x = np.zeros((*size, len(plant.flow.states)))
        self.y = np.zeros((*size, len(plant.flow.outputs)))

    def look(self, runs: slice, row: int, x: Array, u: Array, p: Array) -> None:
        self.t[row] = p[0, 0]
        self.x[runs, row], self.y[runs, row] = x, self.plant.observed(x, u, p)

    def warn(self) -> None:
        contacts = self.plant.flow.contacts
        assert contacts is not None
        lost = [contacts.find_losses(self.t, x, y) for x, y in zip(self.x, self.y, strict=True)]
        runs = [k for k, found in enumerate(lost) if found]
        if runs:
            first = f"rollout {runs[0]}: {lost[runs[0]][0]}"
            text = f"contacts are lost in {len(runs)} of {len(lost)} rollouts; {first}"
            warnings.warn(f"{text}. Their motion is not the robot's from then on.", ContactWarning, stacklevel=3)


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
            raise InputError(
                "wrong-shape",
                name,
                x,
                problem=f"{name} has shape {x.shape}; it must be {core}, or {(count, *core)}, one for each run",
            )
        found[name] = np.broadcast_to(x, (count, *core))
    return found
