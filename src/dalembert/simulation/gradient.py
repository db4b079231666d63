"""Derivatives of losses of runs in starts, inputs, gains and parameters: a compiled adjoint, B runs at once.

`find_gradient` is the work of `Experiment.gradient`. `RunFunction` is a run as a function of arrays with its pull-back:
JAX and PyTorch call it (`interchange`), and least squares use its derivatives of all states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.compile.adjoint import Adjoint, Pulled, compile_sensitivity, without_observation
from dalembert.compile.gradient import pull_back
from dalembert.compile.interpret import replay
from dalembert.compile.rollout import Rollout
from dalembert.errors import InputError, choose, unknown
from dalembert.flow import Array, Scalar, Scalars
from dalembert.simulation.fixed_step import LOOPS
from dalembert.simulation.measures import finish_measures
from dalembert.simulation.plan import Plan, Same
from dalembert.simulation.request import STARTS, Request
from dalembert.simulation.stream import Column, Cut

TILES = 4  # vectors of runs that go back together: what they need stays in the cache
STEP = 1e-100  # of the complex step by which what finishes a measure is differentiated


@dataclass(frozen=True)
class Loss:
    """L = Σ_k running(t_k, x_k) dt + final(x_N), over scalars, of the states x of the loop (the system's, then the
    controller's own) before each step, and at the end."""

    running: Callable[[Scalar, Scalars], Scalar] | None = None
    final: Callable[[Scalars], Scalar] | None = None

    def __post_init__(self) -> None:
        if self.running is None and self.final is None:
            raise InputError("a Loss has a running part, a final one, or both")


Wanted = str | Sequence[str] | Mapping[str, float] | Loss


@dataclass(frozen=True, eq=False, repr=False)
class Gradient:
    """A loss of B runs, and its derivatives.

    `loss` (B,). `gradient` by the names of `wrt`: q0, qd0, x0 (B, n), a parameter (B,), several of one name (B, k), one
    with a number per step (B, steps), several (B, steps, k). `last` (B, states): the ends of the runs. `diverged_at`
    (B,): the step after which the state was not finite, -1 where none; loss and derivatives are NaN there."""

    loss: Array
    gradient: dict[str, Array]
    states: tuple[str, ...]
    last: Array
    diverged_at: NDArray[np.int64]

    def __getitem__(self, name: str) -> Array:
        if name not in self.gradient:
            raise unknown("derivative", name, self.gradient)
        return self.gradient[name]

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        diverged = f"{int((self.diverged_at >= 0).sum())} diverged"
        return f"<Gradient of {len(self)} runs by {', '.join(self.gradient)}; {diverged}>"


def find_gradient(request: Request, loss: Wanted, wrt: Sequence[str]) -> Gradient:
    """Return the loss of B runs and its derivatives by the names in `wrt`."""
    assert request.plan is not None
    plan = replace(request.plan, stream=request.plan.stream.sampled())
    wanted = {name: _find_columns(request, name) for name in wrt}
    weigh = _LossOfStates(request, loss) if isinstance(loss, Loss) else _LossOfMeasures(request, read_weights(loss))
    moving = any(c.moves for columns in wanted.values() for c in columns)
    parts = [
        _pull_back(plan, first, count, request.cut(first, count), weigh, moving)
        for first, count in _chunks(plan, request.number)
    ]
    values = np.concatenate([part.loss for part in parts])
    found = {}
    for name, columns in wanted.items():
        bars = [np.concatenate([part.by_name[c.name] for part in parts]) for c in columns]
        one = bars[0] if len(bars) == 1 else np.stack(bars, -1)
        found[name] = one[:, 0] if one.shape[-1] == 1 and len(bars) == 1 and name not in STARTS else one
    last = np.concatenate([part.pulled.last[:, : plan.n] for part in parts])
    diverged = np.concatenate([part.pulled.diverged for part in parts])
    return Gradient(values, found, request.loop.flow.states, last, diverged)


def _find_columns(request: Request, name: str) -> tuple[Column, ...]:
    """The columns that a name of the user's means."""
    if name in request.names:
        return request.names[name]
    starts = {c.name: (c,) for c in request.initial if c.name in STARTS}
    if name in starts:
        return starts[name]
    known = [*starts, *request.names]
    if name in STARTS:
        why = f"give {name}=, or differentiate by {known[0]}"
        why = "of what checks or makes its own, the whole state: differentiate by x0" if known[0] == "x0" else why
        raise InputError(f"{name} is not what these runs begin with: {why}")
    raise unknown("name to differentiate by", name, known)


def _chunks(plan: Plan, total: int) -> list[tuple[int, int]]:
    size = TILES * plan.loop.width
    return [(first, min(size, total - first)) for first in range(0, total, size)]


@lru_cache(maxsize=LOOPS)
def _adjoint(loop: Same) -> Adjoint:
    return Adjoint(cast("Rollout", loop.it))


@lru_cache(maxsize=LOOPS)
def _unobserved(loop: Same) -> Rollout:
    return without_observation(cast("Rollout", loop.it))


@lru_cache(maxsize=LOOPS)
def _sensitivity(loop: Same, places: tuple[int, ...]) -> Rollout:
    return compile_sensitivity(cast("Rollout", loop.it), places)


@lru_cache(maxsize=LOOPS)
def _begin_back(begin: Same) -> Kernel:
    """(v, w) → Jᵀ w of how rollouts begin."""
    kernel = cast("Kernel", begin.it)

    def back(v: list[Scalar], w: list[Scalar]) -> list[Scalar]:
        return pull_back(v[0].graph, replay(kernel.program, [v])[0], w, v)

    return compile_function(back, [kernel.inputs[0], kernel.outputs[0]], [kernel.inputs[0]], f"{kernel.name} back")


# ----------------------------------------------------------------------------------------------------------- losses
class _LossOfMeasures:
    """Σ w · measure: a function of the last state alone."""

    along = None

    def __init__(self, asked: Request, weights: Mapping[str, float]) -> None:
        self.weights = weights
        self.states, self.measures = asked.loop.flow.states, asked.loop.measures
        self.first = len(self.states) - len(self.measures)
        self.T = asked.clock.duration

    def _finished(self, values: NDArray[np.inexact[Any]]) -> NDArray[np.inexact[Any]]:
        """(B, measures)."""
        found = finish_measures(self.measures, values, self.T)  # type: ignore[arg-type]
        return np.stack([w * found[name] for name, w in self.weights.items()], -1)

    def value(self, last: Array) -> Array:
        return self._finished(last[:, self.first : len(self.states)]).sum(-1).real

    def end(self, last: Array) -> Array:
        """Each measure has its own entry of the state, so that one complex step does for all."""
        at = slice(self.first, len(self.states))
        weights = np.zeros_like(last)
        weights[:, at] = self._finished(last[:, at] + 1j * STEP).imag / STEP
        return weights


class _LossOfStates:
    """A `Loss`, as kernels of its value and slope."""

    def __init__(self, asked: Request, loss: Loss) -> None:
        self.clock, n = asked.clock, len(asked.loop.flow.states)
        self.n = n
        shown = ("t", "x")
        try:
            self.final = loss.final and compile_function(loss.final, [(n,)], [()], "final loss", arguments=("x",))
            self.running = loss.running and compile_function(
                loss.running, [(), (n,)], [()], "running loss", arguments=shown
            )
        except (TypeError, AttributeError, IndexError, ValueError) as error:
            raise InputError(
                f"the loss cannot be traced: {error}; it is over scalars: + − · /, dalembert.scalar's sin, sqrt, where"
            ) from None
        self.sum = 0.0  # of the running part, filled on the way back

    def value(self, last: Array) -> Array:
        ends = self.final(last[:, : self.n]) if self.final is not None else 0.0
        return np.asarray(ends + self.sum)

    def end(self, last: Array) -> Array:
        self.sum = 0.0
        weights = np.zeros_like(last)
        if self.final is not None:
            weights[:, : self.n] = self.final.derivative("x")(last[:, : self.n])
        return weights

    @property
    def along(self) -> Callable[[int, Array], Array] | None:
        return self._along if self.running is not None else None

    def _along(self, first: int, x: Array) -> Array:
        assert self.running is not None
        dt, n = self.clock.dt, self.n
        t = dt * np.arange(first, first + x.shape[1])
        weights = np.zeros(x.shape)
        weights[..., :n] = dt * self._slope(t, x[..., :n])
        self.sum = self.sum + dt * self.running(t, x[..., :n]).sum(-1)
        return weights

    @cached_property
    def _slope(self) -> Kernel:
        assert self.running is not None
        return self.running.derivative("x")


def read_weights(loss: object) -> dict[str, float]:
    loss = (loss,) if isinstance(loss, str) else loss
    if not isinstance(loss, (Mapping, Sequence)) or not loss:
        raise InputError(
            "loss is the name of a measure, several of them with weights, {'rms_error': 1.0, …}, or a Loss; got "
            f"{type(loss).__name__}"
        )
    weights = dict(loss) if isinstance(loss, Mapping) else dict.fromkeys(loss, 1.0)
    for name, w in weights.items():
        if not isinstance(w, (int, float)) or not np.isfinite(w):
            raise InputError(f"the weight of {name!r} must be a finite number, got {w!r}")
    if "settling_time" in weights:
        raise InputError("settling_time jumps from step to step and has no slope: itae or itse ask for the same")
    return weights


# ------------------------------------------------------------------------------------------------------ there and back
@dataclass(frozen=True, eq=False)
class _Part:
    """Of a chunk: the loss, and its derivatives by the name of the column."""

    loss: Array
    pulled: Pulled
    by_name: dict[str, Array]


def _pull_back(
    plan: Plan, first: int, count: int, cut: Cut, weigh: _LossOfMeasures | _LossOfStates | _LossOfRows, moving: bool
) -> _Part:
    """The derivatives of runs first, …, by the columns of the plan, through how they begin."""
    stream, clock = plan.stream, plan.clock
    x, p = plan.given(first, count, cut)
    u = plan.inputs(first, count, cut)
    row = None if plan.begin is None else np.concatenate((x, p, np.broadcast_to(u[:, 0], (count, u.shape[-1]))), -1)
    with np.errstate(all="ignore"):  # what is not finite is a run that diverged
        begun = x if row is None else np.asarray(plan.begin(row))  # type: ignore[misc]
    judged = np.concatenate((begun, np.zeros((count, 1))), -1) if plan.judged else begun
    found = _through(plan, judged, u, p, weigh, moving)
    bar_x, bar_p, bar_u = found.x0[:, : plan.n].copy(), found.p.copy(), found.u
    if row is not None:
        with np.errstate(all="ignore"):
            back = np.asarray(_begin_back(Same(plan.begin))(row, bar_x))
        bar_x, of_p, of_u = np.split(back, [plan.n, plan.n + p.shape[1]], -1)
        bar_p = bar_p + of_p
        if bar_u is not None:
            bar_u[:, 0] += of_u
    held = p.shape[1] - len(plan.started)
    for k, place in enumerate(plan.started):
        bar_x[:, place] += bar_p[:, held + k]
    by_name: dict[str, Array] = {}
    at = 0
    for c in plan.initial:
        by_name[c.name] = bar_x[:, at : at + c.size]
        at += c.size
    w = stream.wiring
    for c in stream.held:
        part = bar_p[:, [w.held.index(name) for name in c.inputs]]
        by_name[c.name] = part.sum(-1, keepdims=True) if c.size < len(c.inputs) else part
    if bar_u is not None:
        by_name |= {c.name: bar_u[..., w.rows.index(c.inputs[0])] for c in stream.moving}
    assert clock.steps
    return _Part(weigh.value(found.last), found, by_name)


def _through(
    plan: Plan, x: Array, u: Array, p: Array, weigh: _LossOfMeasures | _LossOfStates | _LossOfRows, moving: bool
) -> Pulled:
    """There and back; the last step first on the way back, if it is shorter."""
    adjoint, clock = _adjoint(Same(plan.loop)), plan.clock
    if not clock.rest:
        return adjoint.pull_back(x, u, p, clock.steps, clock.dt, weigh.end, weigh.along, moving)
    whole, ends = clock.whole, [weigh.end]
    parts: list[Pulled] = []
    steady = u.shape[1] == 1
    along = weigh.along
    shifted = None if along is None else lambda first, states: along(first + whole, states)

    def last_step(state: Array) -> Array:
        part = u if steady else u[:, whole:]
        found = adjoint.pull_back(state, part, p, 1, clock.rest, ends[0], shifted, moving, whole * clock.dt)
        parts.append(found)
        return found.x0

    if not whole:
        last_step(x)
        return parts[0]
    main = adjoint.pull_back(x, u if steady else u[:, :whole], p, whole, clock.dt, last_step, along, moving)
    (end,) = parts
    of_u = None if main.u is None or end.u is None else np.concatenate((main.u, end.u), 1)
    diverged = np.where(main.diverged >= 0, main.diverged, np.where(end.diverged >= 0, end.diverged + whole, -1))
    return Pulled(main.x0, main.p + end.p, of_u, end.last, diverged)


# ---------------------------------------------------------------------------------------------- as a function of arrays
class _LossOfRows:
    """Weights of the kept states, (B, rows, states): every k-th, and the last."""

    def __init__(self, weights: Array, every: int) -> None:
        self.weights, self.every = weights, every

    def value(self, last: Array) -> Array:
        return np.zeros(len(last))

    def end(self, last: Array) -> Array:
        return _padded(self.weights[:, -1], last.shape[-1])

    def along(self, first: int, x: Array) -> Array:
        found = np.zeros(x.shape)
        skip = -first % self.every
        begin = (first + skip) // self.every
        many = len(range(skip, x.shape[1], self.every))
        found[:, skip :: self.every] = _padded(self.weights[:, begin : begin + many], x.shape[-1])
        return found


def _beside(a: Array, b: Array) -> Array:
    """(…, j), (…, k) → (…, j + k), leading dimensions broadcast."""
    batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in (a, b)], -1)


def _padded(weights: Array, size: int) -> Array:
    """With zeros for what an implicit method keeps beside the state."""
    return np.concatenate((weights, np.zeros((*weights.shape[:-1], size - weights.shape[-1]))), -1)


@dataclass(frozen=True, eq=False)
class RunFunction:
    """A run as a function of arrays: states = f(*arrays), one array for each name in `of`.

    Attributes
    ----------
    of : tuple of str
        The names of the arguments.
    cores : tuple of tuple of int
        Their shapes in one run: (n,) for a start, () for one parameter, (k,) for several of one name, (steps,) or
        (steps, k) for inputs. Leading dimensions broadcast.
    states : tuple of str
        The names of the states, the system's and then the controller's own.
    t : ndarray, shape (rows,)
        The times of the kept states [s]: before steps 0, every, 2 every, … and the last.

    Notes
    -----
    f(*arrays) has shape (..., rows, states). From where a run diverges on, states and derivatives are NaN.
    """

    request: Request
    of: tuple[str, ...]
    cores: tuple[tuple[int, ...], ...]
    defaults: dict[str, Array]

    @property
    def plan(self) -> Plan:
        assert self.request.plan is not None
        return self.request.plan

    @property
    def states(self) -> tuple[str, ...]:
        return self.request.loop.flow.states

    @property
    def t(self) -> Array:
        return self.plan.clock.t

    @property
    def rows(self) -> tuple[int, int]:
        """The shape of the states of one run."""
        return self.plan.kept, len(self.states)

    def __call__(self, *arrays: ArrayLike, nan: bool = False) -> Array:
        """Return the states of the runs. With `nan`, arrays may hold numbers that are not finite: the states of these
        runs are NaN."""
        batch, given = self._read(arrays, nan)
        total = len(given[0])
        made = [
            self.plan.run(first, count, self._cut(given, first, count)).rows
            for first, count in _chunks(self.plan, total)
        ]
        rows = np.concatenate([r for r in made if r is not None]) if made else np.zeros((0, *self.rows))
        return rows.reshape(*batch, *self.rows)

    def pull_back(self, weights: ArrayLike, *arrays: ArrayLike, nan: bool = False) -> tuple[Array, ...]:
        """Return the derivatives of Σ weights · states, weights (..., rows, states), in every array, for every run."""
        batch, given = self._read(arrays, nan)
        w = array("weights", weights, (..., *self.rows), nan=True)
        total = len(given[0])
        try:
            w = np.broadcast_to(w, (*batch, *self.rows)).reshape(total, *self.rows)
        except ValueError:
            raise InputError("wrong-shape", "weights", w, expected=f"shape {(*batch, *self.rows)}") from None
        found = [np.empty(g.shape) for g in given]
        moving = any(c.moves for name in self.of if name not in STARTS for c in self.request.names[name])
        for first, count in _chunks(self.plan, total):
            at = slice(first, first + count)
            loss = _LossOfRows(w[at], self.plan.clock.every)
            part = _pull_back(self.plan, first, count, self._cut(given, first, count), loss, moving).by_name
            for bar, name, core in zip(found, self.of, self.cores, strict=True):
                columns = self.request.names.get(name)
                if columns is None:
                    place = self._start_place(name)
                    bar[at] = part["x0"][:, place]
                else:
                    bar[at] = np.stack([part[c.name].reshape(count, -1) for c in columns], -1).reshape(count, *core)
        return tuple(bar.reshape(*batch, *core) for bar, core in zip(found, self.cores, strict=True))

    def sensitivity(self, *arrays: ArrayLike, wrt: Sequence[str] = ()) -> tuple[Array, Array]:
        """Return the states (..., rows, states), and their derivatives in the start x0 and in the named parameters,
        (..., rows, states, n + len(wrt)), in one pass."""
        plan, n, many = self.plan, len(self.states) - self._own, len(wrt)
        if plan.begin is not None:
            raise InputError("sensitivity is of loops without measures and laws that start themselves")
        for name in wrt:
            choose("argument of this function", name, self.of)
        held = plan.stream.wiring.held
        batch, given = self._read(arrays, False)
        cut = self._cut(given, 0, len(given[0]))
        x, p = plan.start(0, len(given[0]), cut)
        u = plan.inputs(0, len(given[0]), cut)
        size = x.shape[-1]
        begin = np.concatenate((np.eye(size), np.zeros((size, many))), -1).reshape(-1)
        places = [held.index(self.request.names[name][0].inputs[0]) for name in wrt]
        loop = _sensitivity(Same(plan.loop), tuple(places))
        if plan.clock.rest:
            raise InputError("sensitivity is of whole numbers of steps: choose duration as a multiple of dt")
        with np.errstate(all="ignore"):
            rows, _, last, _, _ = loop(_beside(x, begin), u, p, plan.steps, plan.dt, every=plan.clock.every)
        both = np.concatenate((rows, last[..., None, :]), -2)
        both = both.reshape(*batch, *both.shape[1:])
        slopes = both[..., size:].reshape(*both.shape[:-1], size, size + many)[..., : plan.n, :]
        return both[..., : plan.n], np.delete(slopes, np.s_[n:size], -1) if size > n else slopes

    @property
    def _own(self) -> int:
        """How many numbers of the state are not the system's."""
        return len(self.states) - self.request.loop.nx

    def _start_place(self, name: str) -> slice:
        n, nx = self.request.plant.nq, self.request.loop.nx
        return {"q0": slice(0, n), "qd0": slice(n, n + self.request.plant.nv), "x0": slice(0, nx)}[name]

    def _read(self, arrays: Sequence[object], nan: bool) -> tuple[tuple[int, ...], list[Array]]:
        """(leading dimensions, the arrays with one)."""
        if len(arrays) != len(self.of):
            raise InputError("wrong-shape", expected=f"{len(self.of)} arrays: {', '.join(self.of)}", value=len(arrays))
        read = [
            array(name, a, (..., *core), nan=nan) for name, a, core in zip(self.of, arrays, self.cores, strict=True)
        ]
        try:
            batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(read, self.cores, strict=True)))
        except ValueError:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(self.of, read, strict=True))
            raise InputError(f"the leading dimensions do not broadcast: {shapes}") from None
        check = self.request.plant.check
        if check is not None and not nan and "x0" in self.of:
            check(read[self.of.index("x0")])
        total = int(np.prod(batch, dtype=int))
        return batch, [
            np.broadcast_to(a, (*batch, *c)).reshape(total, *c) for a, c in zip(read, self.cores, strict=True)
        ]

    def _cut(self, given: Sequence[Array], first: int, count: int) -> dict[str, Array]:
        parts = {name: a[first : first + count] for name, a in zip(self.of, given, strict=True)}
        x = np.empty((count, self.request.loop.nx))
        found: dict[str, Array] = {"x0": x}
        for name in ("x0", "q0", "qd0"):
            if name in parts or name in self.defaults:
                x[:, self._start_place(name)] = parts[name] if name in parts else self.defaults[name]
        for name, part in parts.items():
            columns = self.request.names.get(name, ())
            flat = part.reshape(count, -1) if columns and not columns[0].moves else part
            for k, c in enumerate(columns):
                found[c.name] = flat if not c.moves else part[..., k] if part.ndim == 3 else part
        return found


def make_function(request: Request, of: Sequence[str], start: Mapping[str, ArrayLike | None]) -> RunFunction:
    """Return a request, whose columns are those of `of`, as a function of arrays."""
    assert request.plan is not None
    plant, plan = request.plant, request.plan
    defaults: dict[str, Array] = {}
    if "x0" in of and any(name in of for name in ("q0", "qd0")):
        raise InputError("x0 is the whole state: name it, or q0 and qd0")
    if any(name in of for name in ("q0", "qd0")) and (plant.start is not None or plant.check is not None):
        raise InputError(f"{plant.name!r} makes or checks its state: name x0, the whole of it")
    if "x0" not in of:
        for name, size in (("q0", plant.nq), ("qd0", plant.nv)):
            given = start.get(name)
            if name not in of and given is None and name == "q0" and start.get("x0") is None:
                raise InputError("missing", "q0", remedy="Give it, or name it (or x0) in of=.")
            if name not in of:
                defaults[name] = np.zeros(size) if given is None else array(name, given, (size,))
        if start.get("x0") is not None:
            defaults = {"x0": array("x0", start["x0"], (len(plant.states),))}
        elif len(plant.states) > plant.nq + plant.nv:
            defaults = {"x0": np.zeros(len(plant.states)), **defaults}
    cores: list[tuple[int, ...]] = []
    free: set[str] = set()
    for name in of:
        if name in STARTS:
            size = {"q0": plant.nq, "qd0": plant.nv, "x0": len(plant.states)}[name]
            cores.append((size,))
            continue
        columns = request.names[name]
        if columns[0].moves:
            cores.append((plan.steps,) if len(columns) == 1 else (plan.steps, len(columns)))
        else:
            (c,) = columns
            cores.append(() if len(c.inputs) == 1 else (c.size,))
        free |= {c.name for c in columns}
    stream = plan.stream.sampled()
    columns = tuple(replace(c, value=None) if c.name in free else c for c in stream.columns)
    plan = replace(
        plan,
        loop=_unobserved(Same(plan.loop)),
        initial=(replace(plan.initial[0], value=None), *plan.initial[1:]),
        stream=replace(stream, columns=columns),
        columns=tuple(range(len(request.loop.flow.states))),
    )
    return RunFunction(replace(request, plan=plan), tuple(of), tuple(cores), defaults)
