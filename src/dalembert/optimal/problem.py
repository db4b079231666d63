"""An optimal control problem as data: a system, a horizon, costs, limits; and its compiled parts.

    least  Σ ℓ(x_k, u_k) dt + ℓ_N(x_N),   x_{k+1} = f(x_k, u_k),   x_0 given,   u_low ≤ u ≤ u_high,
           x_low ≤ x ≤ x_high,   g(x_k, u_k) ≤ 0,   e(x_N) = 0

f is one step of the system's flow. The method depends on the limits:

- Limits of inputs alone are met exactly by the step of the solver.
- Limits of states and inequalities, and limits of inputs beside them, are met by an interior point method (`barrier`).
- The final condition e = 0 alone enters the cost by an augmented Lagrangian, ((λ + μ e)² − λ²) / (2 μ), with a
  multiplier λ for each row (Nocedal & Wright 2006, ch. 17).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array, number, switch
from dalembert.caching import cached_property
from dalembert.compile import Call, Kernel, compile_function, compile_rollout, gradient
from dalembert.compile.interpret import replay
from dalembert.compile.rollout import Rollout
from dalembert.compile.sweep import Layout, Sweep, compile_sweep
from dalembert.errors import InputError, choose, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.law import check_distinct
from dalembert.optimal.terms import (
    Cost,
    Positions,
    Slopes,
    argument_names,
    evaluate,
    expand,
    flatten,
    read_terms,
    total,
)
from dalembert.scalar import absolute, clip

if TYPE_CHECKING:
    from dalembert.optimal.result import Optimum

METHODS = ("semi-implicit-euler", "rk4")
WHOLE = 1e-6  # of a step, how far the horizon may be from a whole number of them
LARGEST_HORIZON = 100_000
GROUPS = ("t", "x", "q", "v", "u")
GIVEN = ("x0", "t0", "iterations", "tolerance", "accuracy", "progress")  # other arguments of solve


@dataclass(frozen=True, eq=False)
class OptimalControl:
    """See above.

    system: anything with a flow(), or a Flow. horizon, dt [s]: N = horizon / dt steps. running, terminal: costs, or
    lists of them, as `optimal.terms` says: functions of any of t, x, q, v, u and the parameters, by name. limits: of
    inputs and states, {name: (low, high)}; "u", "q" or "v" stand for all of them. inequalities: g ≤ 0 at every node
    (those of u not at the last), end: e = 0 at the last node, functions like costs. parameters: {name: value}, numbers
    or arrays of any shape, the same at all nodes, or with N + 1 rows where `moving` names them. method: one of METHODS.
    exact: residuals and dynamics with their second derivatives too (DDP): fewer, longer iterations.
    inputs: names of the inputs that are chosen (default: all that can be driven, of a robot those of `robot.driven`,
    which leaves a floating base out). Other inputs are parameters of that name, or 0 if they are driven."""

    system: object
    horizon: float
    dt: float
    running: Cost | Sequence[Cost] | None = None
    terminal: Cost | Sequence[Cost] | None = None
    limits: Mapping[str, object] | None = None
    inequalities: Cost | Sequence[Cost] | None = None
    end: Cost | Sequence[Cost] | None = None
    parameters: Mapping[str, ArrayLike] | None = None
    moving: Sequence[str] = ()
    method: str = "semi-implicit-euler"
    exact: bool = False
    inputs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.N  # noqa: B018 - refused here, not when it is solved
        for what in ("limits", "parameters"):
            given = getattr(self, what)
            if given is not None and not (isinstance(given, Mapping) and all(isinstance(k, str) for k in given)):
                raise InputError(
                    "wrong-type", what, given, problem=f"{what} is a dictionary of names and values, got {given!r:.60}"
                )
        for what in ("moving", "inputs"):
            names = getattr(self, what)
            if names is not None and (isinstance(names, str) or not isinstance(names, Collection)):
                raise InputError("wrong-type", what, names, problem=f"{what} is a list of names: {what}=[{names!r}]")
        choose("method", self.method, METHODS)
        switch("exact", self.exact)
        flow = self.flow
        if not self.chosen:
            raise InputError("missing", "inputs", problem=f"{flow.name!r} has no inputs: there is nothing to choose")
        if self.curved and flow.difference is None:
            raise InputError(
                "missing",
                "difference",
                problem=f"{flow.name!r} has positions on a manifold, and no difference(q0, q1) of them",
                remedy="Give it one.",
            )
        if flow.sample is not None:
            raise InputError(
                "unsupported",
                "system",
                problem=f"{flow.name!r} jumps between modes at its samples",
                remedy="Choose a smooth flow of it.",
            )
        self.values, self.bounds, self.fences  # noqa: B018
        if not (self.terms["running"] or self.terms["terminal"]):
            raise InputError(
                "missing",
                "running",
                problem="a problem without a cost has no best motion",
                remedy="Give running= or terminal=.",
            )
        self._check_parameters()

    # --------------------------------------------------------------------------------------------------- what is given
    @cached_property
    def N(self) -> int:
        """Steps."""
        T, h = number("horizon", self.horizon, "s", above=0.0), number("dt", self.dt, "s", above=0.0)
        steps = count_steps("horizon", T, h)
        if steps > LARGEST_HORIZON:
            raise InputError(
                "too-large", "dt", problem=f"{steps} steps are more than {LARGEST_HORIZON}", remedy="Take a longer dt."
            )
        return steps

    @cached_property
    def flow(self) -> Flow:
        if isinstance(self.system, Flow):
            return self.system
        make = getattr(self.system, "flow", None)
        flow = make() if callable(make) else None
        if not isinstance(flow, Flow):
            raise InputError(
                "wrong-type", "system", self.system, problem=f"a system has a flow(); got {type(self.system).__name__}"
            )
        return flow

    @property
    def curved(self) -> bool:
        """Whether positions lie on a manifold. States then are seen from a node's own positions q̄, which are numbers of
        the node (q̄ and that of the next): x = (d, v, …), q = q̄ ⊕ d; `center` moves q̄ there, so that d is small."""
        return self.flow.advance is not None

    @cached_property
    def n(self) -> int:
        """How many numbers a change of the state has."""
        return len(self.flow.states) - self.flow.nq + self.flow.nv

    @cached_property
    def m(self) -> int:
        return len(self.chosen)

    @property
    def lean(self) -> bool:
        """Whether x⁺ = (q + h v⁺, v⁺) and nothing else."""
        f = self.flow
        plain = self.method == "semi-implicit-euler" and f.settle is None and not self.curved
        return plain and 0 < f.nq == f.nv and 2 * f.nq == self.n

    def _check_parameters(self) -> None:
        """Refuse parameters that nothing would read, or that `solve` could not be given."""
        read = {name for what, terms in self.terms.items() for term in terms for name in argument_names(what, term)}
        for name in self.values:
            if name in GIVEN:
                raise InputError(
                    "conflict",
                    "parameters",
                    name,
                    problem=f"a parameter is called {name!r}, as an argument of solve is",
                    remedy="Choose another name.",
                )
            if name in self.chosen:
                raise InputError(
                    "conflict",
                    "parameters",
                    name,
                    problem=f"{name!r} is an input that is chosen, and parameters= gives it",
                    remedy="Leave it out, or name the others in inputs=.",
                )
            if name not in read and name not in self.rest:
                raise InputError(
                    "no-effect",
                    "parameters",
                    name,
                    problem=f"nothing reads the parameter {name!r}: no cost or limit has an argument of that name "
                    f"(without "
                    f"a default), and {self.flow.name!r} no such input; its inputs are "
                    f"{', '.join(self.flow.inputs)}",
                )

        for name in self.rest:
            if name not in self.flow.driven and name not in self.values:  # zero may be a mass that is none
                raise InputError(
                    "missing",
                    "parameters",
                    name,
                    problem=f"{self.flow.name!r} has an input {name!r} that is neither chosen nor given",
                    remedy=f"Say what it is, parameters={{{name!r}: …}}.",
                )

    @cached_property
    def values(self) -> dict[str, Array]:
        """The parameters, as they are at all nodes: (N + 1, *shape) each."""
        found = {}
        for name in self.moving:
            choose("parameter that is moving", name, self.parameters or {})
        for name, value in (self.parameters or {}).items():
            if name in GROUPS:
                raise InputError(
                    "conflict",
                    "parameters",
                    name,
                    problem=f"a parameter is called {name!r}, which every cost knows already",
                    remedy="Choose another name.",
                )
            x = array(name, value)
            if name in self.moving:
                if not x.ndim or len(x) != self.N + 1:
                    raise InputError(
                        "wrong-shape",
                        name,
                        x,
                        problem=f"{name} is moving: it needs {self.N + 1} rows, one per node; it has shape {x.shape}",
                    )
            else:
                x = np.broadcast_to(x, (self.N + 1, *x.shape))
            found[name] = x
        return found

    @cached_property
    def rest(self) -> tuple[str, ...]:
        """Inputs that are not chosen: parameters of that name, or zero."""
        return tuple(name for name in self.flow.inputs if name not in self.chosen)

    @cached_property
    def chosen(self) -> tuple[str, ...]:
        """The inputs that are chosen, u."""
        for name in self.inputs or ():
            choose(f"input of {self.flow.name!r}", name, self.flow.inputs)
        check_distinct("inputs that are chosen", tuple(self.inputs or ()))
        if self.inputs is not None:
            return tuple(self.inputs)
        names, joints = self.flow.driven, self.flow.joints
        drives = joints.driven if joints else None
        if drives is None or len(drives) != len(names) or not any(drives):
            return names
        return tuple(name for name, drive in zip(names, drives, strict=True) if drive)  # none moves a free base

    def _groups(self) -> dict[str, tuple[str, ...]]:
        f = self.flow
        return {"u": self.chosen, "q": f.states[: f.nq], "v": f.states[f.nq : f.nq + f.nv], "x": f.states}

    @cached_property
    def _limits(self) -> dict[str, tuple[float, float]]:
        """By the name of an input or a state."""
        found: dict[str, tuple[float, float]] = {}
        groups, known = self._groups(), (*self.chosen, *self.flow.states)
        for key, value in sorted((self.limits or {}).items(), key=lambda row: row[0] in known):  # names of one last
            if key not in known and key not in groups:
                raise unknown("input or state to limit", key, (*groups, *known))
            names = (key,) if key in known else groups[key]  # a state that is called x is itself, not all of them
            try:
                low, high = value if isinstance(value, tuple) else (-np.asarray(value, float), value)
                pair = [np.broadcast_to(np.asarray(x, float), len(names)).tolist() for x in (low, high)]
            except (TypeError, ValueError):
                raise InputError(
                    "wrong-value",
                    "limits",
                    value,
                    problem=f"limits of {key!r} are (low, high), or one number for both ways, each a number or "
                    f"{len(names)}; got {value!r:.60}",
                ) from None
            for name, a, b in zip(names, *pair, strict=True):
                if not a < b:
                    raise InputError(
                        "wrong-order",
                        "limits",
                        problem=f"the limits of {name!r} are {a:g} and {b:g}: the lower must be below the upper",
                    )
                found[name] = (a, b)
        return found

    @cached_property
    def bounds(self) -> Array:
        """(2, m): limits of the inputs."""
        return np.array([self._limits.get(name, (-np.inf, np.inf)) for name in self.chosen]).T.copy()

    @cached_property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.bounds).any())

    @cached_property
    def fences(self) -> list[tuple[float, int, float]]:
        """(sign, place in x, limit): sign · x ≤ sign · limit."""
        rows = [(self.flow.states.index(k), a, b) for k, (a, b) in self._limits.items() if k in self.flow.states]
        both = [((-1.0, j, a), (1.0, j, b)) for j, a, b in rows]
        return [row for pair in both for row in pair if np.isfinite(row[2])]

    @cached_property
    def input_fences(self) -> list[tuple[float, int, float]]:
        """The same of inputs, (sign, place in u, limit), where a node has other limits too: beside these they are kept
        by the same barrier; alone, by the step of the solver."""
        if not (self.fences or self.terms["inequalities"]):
            return []
        rows = [
            (sign, i, float(row[i])) for sign, row in zip((-1.0, 1.0), self.bounds, strict=True) for i in range(self.m)
        ]
        return [row for row in rows if np.isfinite(row[2])]

    @cached_property
    def terms(self) -> dict[str, list[Cost]]:
        known = [*GROUPS, *self.values]
        still = [k for k in known if k != "u"]
        return {
            "running": read_terms("running", self.running, known),
            "terminal": read_terms("terminal", self.terminal, still),
            "inequalities": read_terms("inequalities", self.inequalities, known),
            "end": read_terms("end", self.end, still),
        }

    # ----------------------------------------------------------------------------------------------- over any scalar
    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers of a node beyond (x, u): t, parameters, residuals of limits."""
        own = {"t": 1, **{name: prod(x.shape[1:]) for name, x in self.values.items()}}
        M, charts = self.multipliers, 2 * self.flow.nq * self.curved
        return {**own, "q̄": charts, "costate": self.n * self.exact, "√w": M, "r₀": M}

    @property
    def costates(self) -> slice:
        """Where the costates of the next node stand among the numbers of a node."""
        first = self.charts[1].stop
        return slice(first, first + self.n * self.exact)

    @cached_property
    def charts(self) -> tuple[slice, slice]:
        """Where q̄ of a node and of the next stand among the numbers of a node."""
        first, size = 1 + sum(prod(x.shape[1:]) for x in self.values.values()), self.flow.nq * self.curved
        return slice(first, first + size), slice(first + size, first + 2 * size)

    def whole_state(self, x: Scalars, p: Scalars) -> list[Scalar]:
        """The states themselves, from what they are beside q̄."""
        if not self.curved:
            return list(x)
        assert self.flow.advance is not None
        nv = self.flow.nv
        return [*self.flow.advance(p[self.charts[0]], x[:nv]), *x[nv:]]

    def center(self, x: Array, P: Array) -> None:
        """Move q̄ of all nodes, in P (..., N + 1, ·), to where x (..., N + 1, n) is: the same states, with d = 0."""
        if self.curved:
            here, after = self.charts
            P[..., here] = self.states(x, P)[..., : self.flow.nq]
            P[..., :-1, after] = P[..., 1:, here]
            x[..., : self.flow.nv] = 0.0

    def begin(self, X: Array, P: Array) -> Array:
        """x (..., N + 1, n) of whole states X, whose positions become q̄, in P."""
        if not self.curved:
            return X
        (here, after), nq, nv = self.charts, self.flow.nq, self.flow.nv
        P[..., here] = X[..., :nq]
        P[..., :-1, after] = X[..., 1:, :nq]
        return np.concatenate((np.zeros((*X.shape[:-1], nv)), X[..., nq:]), -1)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the parameters stand among the numbers of a node."""
        sizes = [prod(x.shape[1:]) for x in self.values.values()]
        return {name: slice(a, b) for name, (a, b) in zip(self.values, _cuts(1, *sizes), strict=True)}

    def _read(self, x: Scalars, u: Scalars, p: Scalars) -> dict[str, Any]:
        """What a cost may ask for, of whole states."""
        f = self.flow
        given: dict[str, Any] = {"x": Positions(x, f.nq, f.difference), "u": list(u), "t": p[0]}
        given["q"], given["v"] = Positions(x[: f.nq], f.nq, f.difference), list(x[f.nq : f.nq + f.nv])
        at = 1
        for name, value in self.values.items():
            size = prod(value.shape[1:])
            given[name] = list(p[at : at + size]) if value.ndim > 1 else p[at]
            at += size
        return given

    def whole(self, u: Scalars, p: Scalars) -> list[Scalar]:
        """All inputs of the flow, in its order."""
        given = {**self._read((), u, p), **dict(zip(self.chosen, u, strict=True))}
        return [given.get(name, 0.0) for name in self.flow.inputs]

    def step(self, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        """x⁺ = f(x, u)."""
        new = self.advance(self.whole_state(x, p), u, p)
        if not self.curved:
            return new
        assert self.flow.difference is not None
        nq = self.flow.nq
        return [*self.flow.difference(p[self.charts[1]], new[:nq]), *new[nq:]]

    def advance(self, x: Scalars, u: Scalars, p: Scalars, part: float = 1.0) -> list[Scalar]:
        """The same, of whole states; or a part of a step."""
        flow, h, t = self.flow, part * self.dt, p[0]
        w, nq, nv = self.whole(u, p), flow.nq, flow.nv
        q, rest = x[:nq], x[nq:]

        def go(d: Scalars) -> list[Scalar]:
            return _along(q, 1.0, d) if flow.advance is None else list(flow.advance(q, d))

        def rate(s: float, k: Scalars) -> list[Scalar]:
            """Of (d, …), h s along k from x."""
            d = [h * s * a for a in k[:nv]]
            found = flow.rate(t + s * h, [*go(d), *_along(rest, h * s, k[nv:])] if s else x, w)
            if flow.correct is None or not s:
                return found
            return [*flow.correct(d, found[:nv], 4), *found[nv:]]

        if self.method == "rk4":
            k1 = rate(0.0, [])
            k2 = rate(0.5, k1)
            k3 = rate(0.5, k2)
            k4 = rate(1.0, k3)
            k = [(b + 2.0 * c + 2.0 * d + e) / 6.0 for b, c, d, e in zip(k1, k2, k3, k4, strict=True)]
            new = [*go([h * a for a in k[:nv]]), *_along(rest, h, k[nv:])]
        else:
            k = flow.rate(t, x, w)
            moved = _along(rest, h, k[nv:])
            new = [*go([h * a for a in moved[:nv]]), *moved]
        return new if flow.settle is None else list(flow.settle(t + h, x, new, w))

    def _limited(self, x: Scalars, u: Scalars | None, p: Scalars) -> list[Scalar]:
        """g ≤ 0: limits of states, of inputs, then the user's; at the last node those that need no input."""
        x = self.whole_state(x, p)
        found: list[Scalar] = [sign * (x[j] - limit) for sign, j, limit in self.fences]
        found += [-1.0 if u is None else sign * (u[i] - limit) for sign, i, limit in self.input_fences]
        given = self._read(x, [0.0] * self.m if u is None else u, p)
        for term in self.terms["inequalities"]:
            values, residuals = evaluate("inequalities", [term], given)
            own = [*values, *residuals]
            found += [-1.0] * len(own) if u is None and "u" in argument_names("inequalities", term) else own
        return found

    def _ended(self, x: Scalars, p: Scalars) -> list[Scalar]:
        values, residuals = evaluate("end", self.terms["end"], self._read(self.whole_state(x, p), (), p))
        return [*values, *residuals]

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many inequalities a node has, and equalities the last one."""
        return len(self.limits_of_inputs), _count("end", self.terms["end"], self._sample)

    @property
    def _sample(self) -> dict[str, Any]:
        """Numbers of a node on which functions are tried."""
        p = [0.1] * (1 + sum(prod(v.shape[1:]) for v in self.values.values()))
        return self._read([0.3] * len(self.flow.states), [0.2] * self.m, p)

    @cached_property
    def limits_of_inputs(self) -> list[bool]:
        """Of each inequality of a node, whether inputs are in it: the others say nothing at the start, which is given,
        and hold at the last node too."""
        found = [False] * len(self.fences) + [True] * len(self.input_fences)
        for term in self.terms["inequalities"]:
            found += ["u" in argument_names("inequalities", term)] * _count("inequalities", [term], self._sample)
        return found

    @property
    def multipliers(self) -> int:
        """Multipliers of a node: of inequalities first, then those of the end (used at the last node alone)."""
        return sum(self.counts)

    @property
    def places_of_limits(self) -> tuple[slice, slice]:
        """Where √w and r₀ of the residuals √w g + r₀ of limits are among the numbers of a node: the last ones."""
        end, M = self.layout.p, self.multipliers
        return slice(end - 2 * M, end - M), slice(end - M, end)

    def write_end(self, P: Array, multipliers: Array, mu: Array) -> None:
        """Write √μ and λ/√μ of the final condition, of the residuals √μ e + λ/√μ, to the numbers P (B, N + 1, ·)."""
        weights, own = self.places_of_limits
        root, first = np.sqrt(mu)[:, None], self.counts[0]
        P[:, -1, weights][:, first:], P[:, -1, own][:, first:] = root, multipliers / root

    def _penalties(self, x: Scalars, u: Scalars | None, p: Scalars) -> list[Scalar]:
        """Return what limits add to the residuals, √w g + r₀: of a Newton step of the barrier, and at the end of the
        augmented Lagrangian, √μ e + λ/√μ (see `optimal.barrier`)."""
        M, count = self.multipliers, len(p)
        if not M:
            return []
        limits = [*self._limited(x, u, p), *(self._ended(x, p) if u is None else [])]
        return [p[count - 2 * M + i] * y + p[count - M + i] for i, y in enumerate(limits)]

    def cost(self, x: Scalars, u: Scalars | None, p: Scalars) -> tuple[list[Scalar], Slopes]:
        """(values, residuals) of a node, with penalties; of the last one without u."""
        kind, h = ("terminal", 1.0) if u is None else ("running", self.dt)
        values, residuals = evaluate(kind, self.terms[kind], self._read(self.whole_state(x, p), u or (), p))
        root = float(np.sqrt(h))
        residuals = residuals.scaled(root)
        residuals += self._penalties(x, u, p)
        return [h * v for v in values], residuals

    def _slopes(self, x: Scalars, u: Scalars, p: Scalars) -> tuple[list[Scalar], list[list[Scalar]]]:
        """(x⁺, ∂x⁺/∂(u, x)), the rows of v⁺ alone where lean: by the system's own derivatives where it has them."""
        graph, z, r, h = x[0].graph, [*u, *x], self.flow.nq, self.dt
        own = self._own_derivatives
        if own is not None and self.lean:
            D_q, D_v, D_u = (_square(block, r) for block in replay(own.program, [x[:r], x[r:], u]))
            rows = [
                [h * a for a in D_u[i]] + [h * a for a in D_q[i]] + [h * a + (i == j) for j, a in enumerate(D_v[i])]
                for i in range(r)
            ]
            return self.step(x, u, p), rows
        new = self.step(x, u, p)
        return new, gradient.jacobian(graph, new[r:] if self.lean else new, z)

    @cached_property
    def _own_derivatives(self) -> Kernel | None:
        """Closed formulas for ∂q̈ that a system may have, far cheaper than a derivative of its trace; looked at once,
        whether they are those of its flow."""
        make = getattr(self.system, "kernel", None)
        if not callable(make) or not self.lean or isinstance(self.system, Flow) or self.m != self.flow.nq:
            return None
        if self.chosen != self.flow.inputs:  # their columns are those of all inputs, in the flow's order
            return None
        try:
            kernel = make("forward_dynamics_derivatives")
        except (InputError, KeyError, TypeError, ValueError):
            return None
        r = self.flow.nq
        if not isinstance(kernel, Kernel) or kernel.inputs != ((r,),) * 3 or kernel.outputs != ((r, r),) * 3:
            return None
        rng = np.random.default_rng(0)
        q, v, tau = rng.uniform(-0.5, 0.5, (3, r))
        e, eps = rng.normal(size=3 * r), 1e-6

        def acceleration(s: float) -> Array:
            x, u = np.concatenate((q, v)) + s * e[: 2 * r], tau + s * e[2 * r :]
            return np.array(self.flow.rate(0.0, x.tolist(), u.tolist())[r:], float)

        along = (acceleration(eps) - acceleration(-eps)) / (2 * eps)
        told = sum(D @ part for D, part in zip(kernel(q, v, tau), np.split(e, 3), strict=True))
        return kernel if np.allclose(along, told, rtol=1e-5, atol=1e-5 * float(np.abs(along).max())) else None

    def solve(
        self,
        x0: ArrayLike,
        *,
        x: ArrayLike | None = None,
        u: ArrayLike | None = None,
        iterations: int = 1000,
        tolerance: float = 1e-6,
        accuracy: float = 1e-7,
        t0: float = 0.0,
        progress: Callable[[int, int], None] | None = None,
        **parameters: ArrayLike,
    ) -> Optimum:
        """The best motion from x0, near a guess.  x0 (..., n): a batch is solved in lanes, each as if alone.

        u: guess of the inputs, (..., N, m), or one row for all steps (default: inputs that hold the system at x0, or
        zero where none do).
        x: guess of the states (..., N + 1, n), which need not fit the inputs; of a system of second order its positions
        count, the rates follow from them. Without it the states that u leads to. tolerance: relative; it ends where a
        step promises no more than tolerance^1.5 of the cost, and states fit inputs to tolerance / 100. accuracy: of
        limits of states, inequalities and the end. progress(first, total) is called after each iteration. Parameters by
        name, in place of the problem's, (..., *shape). Ctrl-C ends it, with the best so far."""
        from dalembert.optimal.result import solve

        return solve(
            self,
            x0,
            x=x,
            u=u,
            iterations=iterations,
            tolerance=tolerance,
            accuracy=accuracy,
            t0=t0,
            progress=progress,
            parameters=parameters,
        )

    # ---------------------------------------------------------------------------------------------- compiled parts
    @cached_property
    def layout(self) -> Layout:
        return Layout(self.n, self.m, sum(self.sizes.values()), self.lean, self.bounded, self.exact)

    @cached_property
    def sweep(self) -> Sweep:
        """The backward pass."""
        y = self.layout

        def stage(x: Scalars, u: Scalars, following: Scalars, p: Scalars) -> tuple[Any, ...]:
            new, rows = self._slopes(x, u, p)
            gap = [a - b for a, b in zip(new, following, strict=True)]
            own = gap[self.n - y.rows :]
            F = [y.pad(row[: y.m], [*row[y.m :], e]) for row, e in zip(rows, own, strict=True)]
            values, residuals = self.cost(x, u, p)
            if self.exact:  # of residuals, r r'' beside r' r'ᵀ; of the dynamics, λ f''
                curved = [a * b for a, b in zip(p[self.costates], new, strict=True)]
                value, g, H = expand([total(values, residuals)], [], [*u, *x], curved)
            else:
                value, g, H = expand(values, residuals, [*u, *x], q_at=y.m)
            Hu = [y.pad(H[i][: y.m], [*H[i][y.m :], g[i]]) for i in range(y.m)]
            Hx = [y.pad_state([*row[y.m :], e]) for row, e in zip(H[y.m :], g[y.m :], strict=True)]
            sizes: Scalar = 0.0
            for e in gap:
                sizes = sizes + absolute(e)
            return F, Hu, [*Hx, y.pad_state([*g[y.m :], 0.0])], gap, [value, sizes]

        def terminal(x: Scalars, p: Scalars) -> tuple[Any, ...]:
            values, residuals = self.cost(x, None, p)
            exact = ([total(values, residuals)], []) if self.exact else (values, residuals)
            value, g, H = expand(*exact, list(x))
            rows = [y.pad_state([*row, e]) for row, e in zip(H, g, strict=True)]
            return [*rows, y.pad_state([*g, 0.0])], [value]

        return compile_sweep(stage, terminal, y, f"backward pass of {self.flow.name}")

    @cached_property
    def rollout(self) -> Rollout:
        """The forward pass: the state (x, cost, u of the step before), a row of the plan at each step, and (α, limits
        of u) as parameters."""
        y, n, m = self.layout, self.n, self.m

        def move(X: Scalars, row: Scalars, p: Scalars) -> list[Scalar]:
            K, at = row[: m * y.X], m * y.X
            x0, u0, gap, own = (row[a:b] for a, b in _cuts(at, n, m, n, y.p))
            x, alpha = X[:n], p[0]
            off = [a - b for a, b in zip(x, x0, strict=True)]
            u = []
            for i in range(m):
                change = alpha * K[i * y.X + n]
                for j in range(n):
                    change = change + K[i * y.X + j] * off[j]
                chosen = u0[i] + change
                u.append(clip(chosen, p[1 + i], p[1 + m + i]) if y.bounded else chosen)
            back = 1.0 - alpha
            new = [a - back * e for a, e in zip(self.step(x, u, own), gap, strict=True)]
            return [*new, X[n] + total(*self.cost(x, u, own)), *u]

        sizes = {"x": n + 1 + m, "u": y.plan, "p": 1 + 2 * m}
        return compile_rollout([Call(move, ("x", "u", "p"), "new")], sizes, f"forward pass of {self.flow.name}")

    @cached_property
    def last(self) -> Kernel:
        """(x, p) → the cost of the last node."""

        def end(x: Scalars, p: Scalars) -> Scalar:
            return total(*self.cost(x, None, p))

        p = self.layout.p
        return compile_function(end, [(self.n,), (p,)], [()], f"end of {self.flow.name}", arguments=("x", "p"))

    def _kernel(self, function: Callable[..., Any], count: int, name: str, inputs: bool = True) -> Kernel:
        shapes = [(self.n,), (self.m,), (self.layout.p,)] if inputs else [(self.n,), (self.layout.p,)]
        names = ("x", "u", "p") if inputs else ("x", "p")
        return compile_function(function, shapes, [(count,)], name, arguments=names)

    @cached_property
    def stepper(self) -> Kernel:
        """(x, u, p) → x⁺."""
        return self._kernel(self.step, self.n, "step")

    @cached_property
    def mover(self) -> Kernel:
        """(x, u, p) → x⁺, whole states."""
        if not self.curved:
            return self.stepper
        k, m, p = len(self.flow.states), self.m, self.layout.p
        return compile_function(self.advance, [(k,), (m,), (p,)], [(k,)], "step", arguments=("x", "u", "p"))

    @cached_property
    def observed(self) -> Kernel:
        """(whole state, u, p) → the outputs of the flow."""
        flow, observe = self.flow, self.flow.observe
        assert observe is not None

        def seen(x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
            return observe(p[0], x, self.whole(u, p))

        shapes = [(len(flow.states),), (self.m,), (self.layout.p,)]
        return compile_function(seen, shapes, [(len(flow.outputs),)], "outputs", arguments=("x", "u", "p"))

    @cached_property
    def half(self) -> Kernel:
        """(x, u, p) → whole states after half a step."""
        k, m, p = len(self.flow.states), self.m, self.layout.p

        def half(x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
            return self.advance(x, u, p, 0.5)

        return compile_function(half, [(k,), (m,), (p,)], [(k,)], "half a step", arguments=("x", "u", "p"))

    @cached_property
    def states(self) -> Callable[[Array, Array], Array]:
        """(x, p) → whole states."""
        if not self.curved:
            return lambda x, p: x
        return self._kernel(self.whole_state, len(self.flow.states), "states", inputs=False)

    @cached_property
    def apart(self) -> Callable[[Array, Array], Array]:
        """(whole state, another) → (d, …): what feedback is multiplied with."""
        if not self.curved:
            return lambda a, b: b - a
        k, f = len(self.flow.states), self.flow

        def apart(a: Scalars, b: Scalars) -> list[Scalar]:
            return Positions(b, f.nq, f.difference).minus(a)

        return compile_function(apart, [(k,), (k,)], [(self.n,)], "difference of states", arguments=("a", "b"))

    @cached_property
    def inequality(self) -> Kernel:
        return self._kernel(self._limited, self.counts[0], "inequalities")

    @cached_property
    def last_limits(self) -> Kernel:
        """(x, p) → (g, e) of the last node."""
        return self._kernel(
            lambda x, p: [*self._limited(x, None, p), *self._ended(x, p)], self.multipliers, "limits", inputs=False
        )

    @cached_property
    def plain(self) -> tuple[Kernel, Kernel]:
        """The costs without penalties: (x, u, p) → ℓ dt, (x, p) → ℓ_N."""

        def running(x: Scalars, u: Scalars, p: Scalars) -> Scalar:
            return self.dt * total(
                *evaluate("running", self.terms["running"], self._read(self.whole_state(x, p), u, p))
            )

        def terminal(x: Scalars, p: Scalars) -> Scalar:
            return total(*evaluate("terminal", self.terms["terminal"], self._read(self.whole_state(x, p), (), p)))

        a, b, p = (self.n,), (self.m,), (self.layout.p,)
        return (
            compile_function(running, [a, b, p], [()], "running cost", arguments=("x", "u", "p")),
            compile_function(terminal, [a, p], [()], "terminal cost", arguments=("x", "p")),
        )

    def parameters_at(self, t0: float = 0.0, batch: tuple[int, ...] = (), **changed: ArrayLike) -> Array:
        """(*batch, N + 1, p): the numbers of all nodes; parameters may be given anew, with leading dimensions of a
        batch."""
        P = np.zeros((*batch, self.N + 1, self.layout.p))
        P[..., 0] = t0 + self.dt * np.arange(self.N + 1)
        at = 1
        for name in changed:
            choose("parameter", name, self.values)
        for name, value in self.values.items():
            size = prod(value.shape[1:])
            if name in changed:
                core = value.shape if name in self.moving else value.shape[1:]
                x = array(name, changed[name])
                lead = x.shape[: x.ndim - len(core)]
                if x.shape[x.ndim - len(core) :] != core or lead not in ((), batch):
                    more = f", or {(*batch, *core)} for a batch" if batch else ""
                    raise InputError(
                        "wrong-shape", name, x, problem=f"{name} has shape {x.shape}; it must be {core}{more}"
                    )
                rows = x.reshape(*lead, *((self.N + 1,) if name in self.moving else (1,)), size)
            else:
                rows = value.reshape(self.N + 1, size)
            P[..., at : at + size] = rows
            at += size
        return P


def count_steps(what: str, T: float, h: float) -> int:
    """T / h, a whole number."""
    steps = round(T / h)
    if steps < 1 or abs(T / h - steps) > WHOLE * steps:
        raise InputError("out-of-range", what, problem=f"{what} of {T:g} s is no whole number of steps of {h:g} s")
    return steps


def _along(x: Scalars, h: Scalar, k: Scalars) -> list[Scalar]:
    return [a + h * b for a, b in zip(x, k, strict=True)]


def _square(flat: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    return [list(flat[i * n : (i + 1) * n]) for i in range(n)]


def _cuts(first: int, *sizes: int) -> list[tuple[int, int]]:
    ends = np.cumsum((first, *sizes)).tolist()
    return list(pairwise(ends))


def _count(what: str, terms: Sequence[Cost], given: dict[str, Any]) -> int:
    values, residuals = evaluate(what, terms, given)
    return len(flatten(values)) + len(residuals)
