"""Derivatives of a loss of rollouts in starts, controls, gains and parameters: a compiled adjoint, B rollouts at once.

`rollout_gradient` takes the words of `rollouts`, a loss and the names to differentiate by. `rollout_function` is the
rollout as a function of arrays, f(x0, controls, parameters) → states, with its pull-back: what JAX and PyTorch are
given (`interchange`), and with the derivatives of all states, which least squares want.
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
from dalembert.law import read_law
from dalembert.simulation.batch import BatchRequest, Value, carry_out, read_request
from dalembert.simulation.fixed_step import LOOPS, list_names
from dalembert.simulation.loop import DISTURBANCE
from dalembert.simulation.measures import Measures, finish_measures
from dalembert.simulation.options import Sensors
from dalembert.simulation.plan import Plan, Same

TILES = 4  # vectors of rollouts that go back together: what they need stays in the cache
STEP = 1e-100  # of the complex step by which what finishes a measure is differentiated
STARTS = ("q0", "qd0", "x0")


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
    """`loss` (B,), and its derivatives by name: q0, qd0, x0 (B, n), a parameter (B,), one that moves (B, steps).
    last (B, states): the ends of the rollouts. diverged_at (B,): the step after which the state was not finite, −1
    where none; loss and derivatives are NaN there."""

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
        return f"<Gradient of {len(self)} rollouts by {', '.join(self.gradient)}; {diverged}>"


def rollout_gradient(
    system: object,
    controller: object = None,
    q0: Value | None = None,
    qd0: Value | None = None,
    *,
    loss: Wanted,
    of: Sequence[str] | str,
    duration: float,
    dt: float,
    method: str = "rk4",
    x0: Value | None = None,
    reference: object = None,
    parameters: Mapping[str, Value] | None = None,
    disturbances: Mapping[str, Value] | None = None,
    payload: Sequence[float] | bool | None = None,
    friction: bool | str | None = None,
    sensors: Sensors | None = None,
    torque_limits: object = None,
    error: Mapping[str, object] | None = None,
    number: int | None = None,
    seed: int | None = None,
) -> Gradient:
    """The loss of B rollouts and its derivatives by the names in `of`, for the price of five to nine rollouts,
    however many names.

    `loss`: measures by name, with weights if a mapping, {"rms_error": 1.0, "rms_torque": 1e-3}, or a `Loss` over
    scalars. `of`: "q0", "qd0" or "x0"; gains, parameters of the system (`flow_parameters`: "link1:m", …, whose values
    are the system's own unless given), inputs by name, disturbances. The other words are those of `rollouts`. Memory
    grows with the root of the steps. A rollout gives the same bits alone and in any batch."""
    names = (of,) if isinstance(of, str) else tuple(of)
    if not names:
        raise InputError("of= names what to differentiate by: 'q0', a gain, a parameter, an input")
    given = _with_own(system, parameters, names)
    rows = {} if isinstance(loss, Loss) else _weights(loss)
    if error is not None and not rows:
        raise InputError("error= says what measures of errors compare, and the loss is none: leave it out")
    asked = read_request(
        *(system, controller, (q0, qd0, x0), duration, dt, method, reference, given, disturbances, payload, friction),
        *(sensors, torque_limits, Measures(tuple(rows), error), None, "final", number, seed),
    )
    _check_traced(asked)
    places = {name: _find_column(asked.plan, name) for name in names}
    weigh = _LossOfStates(asked, loss) if isinstance(loss, Loss) else _LossOfMeasures(asked, rows)
    moving = any(name in (c.name for c in asked.plan.moving) for name in places.values())
    parts = [
        _pull_back(asked.plan, first, count, asked.cut(first, count), weigh, moving)
        for first, count in _chunks(asked.plan, asked.number)
    ]
    values = np.concatenate([part.loss for part in parts])
    found = {name: np.concatenate([part.by_name[place] for part in parts]) for name, place in places.items()}
    last = np.concatenate([part.pulled.last[:, : asked.plan.n] for part in parts])
    diverged = np.concatenate([part.pulled.diverged for part in parts])
    asked.warn_of_divergence(diverged)
    if asked.contacts is not None:  # the loop that is differentiated does not look at them
        start, kept = (q0, qd0, x0), (Measures(), None, "final", number, seed)
        acting = (given, disturbances, payload, friction, sensors, torque_limits)
        words = (system, controller, start, duration, dt, method, reference, *acting, *kept)
        carry_out(read_request(*words, watched=True)).warn_of_contacts()
    return Gradient(values, found, asked.states, last, diverged)


def _check_traced(asked: BatchRequest) -> None:
    if asked.plan.asks is not None:
        raise InputError("a law with a memory of its own has no derivative here: only laws that are traced have")


def _with_own(system: object, parameters: Mapping[str, Value] | None, names: Sequence[str]) -> dict[str, Value]:
    """What is given, and the system's own values of parameters that are named and not given."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InputError(f"parameters is a dictionary of names and values, got {type(parameters).__name__}")
    given = dict(parameters or {})
    own: Mapping[str, float | None] = getattr(system, "flow_parameters", {})
    for name in names:
        if name in own and name not in given:
            value = own[name]
            if value is None:
                raise InputError(f"{name!r} has no value: give one, parameters={{{name!r}: …}}")
            given[name] = value
    return given


def _find_column(plan: Plan, name: str) -> str:
    """The column that a user's name means."""
    known = [c.name for c in (*plan.initial, *plan.held, *plan.moving) if c.name not in ("rest", "z")]
    for found in (name, f"{name}{DISTURBANCE}"):
        if found in known:
            return found
    if name in STARTS:
        why = f"give {name}=, or differentiate by {known[0]}"
        why = "of what checks or makes its own, the whole state: differentiate by x0" if known[0] == "x0" else why
        raise InputError(f"{name} is not what these rollouts begin with: {why}")
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

    def __init__(self, asked: BatchRequest, weights: Mapping[str, float]) -> None:
        self.asked, self.weights = asked, weights
        self.first = len(asked.states) - len(asked.measures)
        self.T = asked.plan.steps * asked.plan.dt

    def _finished(self, values: NDArray[np.inexact[Any]]) -> NDArray[np.inexact[Any]]:
        """(B, measures)."""
        found = finish_measures(self.asked.measures, values, self.T)  # type: ignore[arg-type]
        return np.stack([w * found[name] for name, w in self.weights.items()], -1)

    def value(self, last: Array) -> Array:
        return self._finished(last[:, self.first : len(self.asked.states)]).sum(-1).real

    def end(self, last: Array) -> Array:
        """Each measure has its own entry of the state, so that one complex step does for all."""
        at = slice(self.first, len(self.asked.states))
        weights = np.zeros_like(last)
        weights[:, at] = self._finished(last[:, at] + 1j * STEP).imag / STEP
        return weights


class _LossOfStates:
    """A `Loss`, as kernels of its value and slope."""

    def __init__(self, asked: BatchRequest, loss: Loss) -> None:
        self.plan, n = asked.plan, len(asked.states)
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
        ends = self.final(last[:, : self.plan.n]) if self.final is not None else 0.0
        return np.asarray(ends + self.sum)

    def end(self, last: Array) -> Array:
        self.sum = 0.0
        weights = np.zeros_like(last)
        if self.final is not None:
            weights[:, : self.plan.n] = self.final.derivative("x")(last[:, : self.plan.n])
        return weights

    @property
    def along(self) -> Callable[[int, Array], Array] | None:
        return self._along if self.running is not None else None

    def _along(self, first: int, x: Array) -> Array:
        assert self.running is not None
        dt, n = self.plan.dt, self.plan.n
        t = dt * np.arange(first, first + x.shape[1])
        weights = np.zeros(x.shape)
        weights[..., :n] = dt * self._slope(t, x[..., :n])
        self.sum = self.sum + dt * self.running(t, x[..., :n]).sum(-1)
        return weights

    @cached_property
    def _slope(self) -> Kernel:
        assert self.running is not None
        return self.running.derivative("x")


def _weights(loss: object) -> dict[str, float]:
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
    plan: Plan,
    first: int,
    count: int,
    cut: dict[str, Array],
    weigh: _LossOfMeasures | _LossOfStates | _LossOfRows,
    moving: bool,
) -> _Part:
    """The derivatives of rollouts first, …, by the columns of the plan, through how they begin."""
    x, p, u, row = _blocks(plan, first, count, cut)
    with np.errstate(all="ignore"):  # what is not finite is told as a rollout that diverged
        begun = x if row is None else np.asarray(plan.begin(row))  # type: ignore[misc]
    judged = np.concatenate((begun, np.zeros((count, 1))), -1) if plan.judged else begun
    adjoint = _adjoint(Same(plan.loop))
    found = adjoint.pull_back(judged, u, p, plan.steps, plan.dt, weigh.end, weigh.along, moving)
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
    for columns, bar in ((plan.initial, bar_x), (plan.held, bar_p)):
        at = 0
        for c in columns:
            part = bar[:, at : at + c.size]
            by_name[c.name] = part[:, 0] if c in plan.held else part
            at += c.size
    if bar_u is not None:
        by_name |= {c.name: bar_u[..., k] for k, c in enumerate(plan.moving)}
    return _Part(weigh.value(found.last), found, by_name)


def _blocks(plan: Plan, first: int, count: int, cut: dict[str, Array]) -> tuple[Array, Array, Array, Array | None]:
    """x0 as given, p, u, and the row (x, p, u) of which `begin` makes the state, where there is one."""
    x = plan.together(plan.initial, first, count, cut)
    p = np.concatenate((plan.together(plan.held, first, count, cut), x[:, list(plan.started)]), -1)
    u, _ = plan.inputs(first, count, cut)
    if plan.begin is None:
        return x, p, u, None
    return x, p, u, np.concatenate((x, p, np.broadcast_to(u[:, 0], (count, u.shape[-1]))), -1)


# ---------------------------------------------------------------------------------------------- as a function of arrays
class _LossOfRows:
    """Weights of the kept states, (B, rows, states): every so many-th, and the end."""

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
class RolloutFunction:
    """x = f(x0, controls, parameters): the states (..., rows, states) before steps 0, every, 2 every, … and the last,
    for x0 (..., n), controls (..., steps, m) held over each step, parameters (..., l), named by `controls` and
    `parameters`; leading dimensions broadcast. `values` are the parameters if none are given. `states` names what is
    kept: the system's, then the controller's own. From where a rollout diverges on, states and derivatives are NaN."""

    asked: BatchRequest
    start: tuple[str, ...]
    controls: tuple[str, ...]
    parameters: tuple[str, ...]
    values: Array

    @property
    def plan(self) -> Plan:
        return self.asked.plan

    @property
    def states(self) -> tuple[str, ...]:
        return self.asked.states

    @cached_property
    def t(self) -> Array:
        """(rows,) [s]."""
        plan = self.plan
        return plan.dt * np.append(np.arange(plan.kept - 1) * plan.every, plan.steps)

    def __call__(
        self,
        x0: ArrayLike,
        controls: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        *,
        nan: bool = False,
    ) -> Array:
        """See above. With `nan`, numbers that are not finite are no mistake: states then are NaN, of that rollout."""
        batch, given = self._read(x0, controls, parameters, nan)
        total = len(given[0])
        made = [
            self.plan.run(first, count, self._cut(given, first, count)).rows
            for first, count in _chunks(self.plan, total)
        ]
        rows = np.concatenate([r for r in made if r is not None]) if made else np.zeros((0, *self._rows))
        return rows.reshape(*batch, *self._rows)

    def pull_back(
        self,
        weights: ArrayLike,
        x0: ArrayLike,
        controls: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        *,
        nan: bool = False,
    ) -> tuple[Array, Array, Array]:
        """The derivatives of Σ weights · states, weights (..., rows, states), in x0, controls and parameters, for every
        rollout: (..., n), (..., steps, m), (..., l)."""
        batch, given = self._read(x0, controls, parameters, nan)
        w = array("weights", weights, (..., *self._rows), nan=True)
        total = len(given[0])
        try:
            w = np.broadcast_to(w, (*batch, *self._rows)).reshape(total, *self._rows)
        except ValueError:
            raise InputError(
                f"weights has shape {w.shape}; it must be {(*batch, *self._rows)}, as the states"
            ) from None
        found = tuple(np.empty(g.shape) for g in given)
        for first, count in _chunks(self.plan, total):
            at = slice(first, first + count)
            loss = _LossOfRows(w[at], self.plan.every)
            cut = self._cut(given, first, count)
            part = _pull_back(self.plan, first, count, cut, loss, bool(self.controls)).by_name
            found[0][at] = part["x0"]
            for k, name in enumerate(self.controls):
                found[1][at, :, k] = part[name]
            for k, name in enumerate(self.parameters):
                found[2][at, k] = part[name]
        a, b, c = (f.reshape(*batch, *f.shape[1:]) for f in found)
        return a, b, c

    def sensitivity(
        self,
        x0: ArrayLike,
        controls: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        *,
        of: Sequence[str] = (),
    ) -> tuple[Array, Array]:
        """The states (..., rows, states), and their derivatives in x0 and in the parameters that are named, (..., rows,
        states, n + len(of)), in one rollout."""
        plan, n, many = self.plan, len(self.start), len(of)
        for name in of:
            choose("parameter of this rollout", name, self.parameters)
        held = [c.name for c in plan.held]
        x, u, p = self._of_loop(x0, controls, parameters)
        size = x.shape[-1]
        begin = np.concatenate((np.eye(size), np.zeros((size, many))), -1).reshape(-1)
        loop = _sensitivity(Same(plan.loop), tuple(held.index(name) for name in of))
        with np.errstate(all="ignore"):
            rows, _, last, _, _ = loop(_beside(x, begin), u, p, plan.steps, plan.dt, every=plan.every)
        both = np.concatenate((rows, last[..., None, :]), -2)
        slopes = both[..., size:].reshape(*both.shape[:-1], size, size + many)[..., : plan.n, :]
        return both[..., : plan.n], np.delete(slopes, np.s_[n:size], -1) if size > n else slopes

    def _of_loop(self, x0: object, controls: object, parameters: object) -> tuple[Array, Array, Array]:
        """Start, inputs and parameters as the loop takes them; refused where it begins with more than is given."""
        plan = self.plan
        if plan.begin is not None:
            raise InputError("sensitivity is of loops without measures and laws that start themselves")
        n, m, l, steps = len(self.start), len(self.controls), len(self.parameters), plan.steps
        x, given = array("x0", x0, (..., n)), self.values if parameters is None else parameters
        p = array("parameters", given, (..., l))
        u = array("controls", np.zeros((steps, 0)) if controls is None else controls, (..., steps, m))
        whole = np.zeros((*p.shape[:-1], len(plan.held)))
        for k, c in enumerate(plan.held):
            whole[..., k] = np.asarray(c.value)[0, 0] if isinstance(c.value, np.ndarray) else 0.0
        whole[..., [[c.name for c in plan.held].index(name) for name in self.parameters]] = p
        begin = [np.broadcast_to(c.value, (1, c.size))[0] for c in plan.initial[1:]]  # type: ignore[arg-type]
        rest = np.concatenate((*begin, np.zeros(int(plan.judged))))
        if plan.shared is not None:
            u = np.concatenate((u, np.broadcast_to(plan.shared[:-1], (*u.shape[:-1], plan.shared.shape[1]))), -1)
        return _beside(x, rest), u, whole

    @property
    def _rows(self) -> tuple[int, int]:
        return self.plan.kept, len(self.states)

    def _read(
        self, x0: object, controls: object, parameters: object, nan: bool = False
    ) -> tuple[tuple[int, ...], list[Array]]:
        """(leading dimensions, [x0, controls, parameters] with one)."""
        n, m, l, steps = len(self.start), len(self.controls), len(self.parameters), self.plan.steps
        if controls is None and m:
            raise InputError(f"give controls (…, {steps}, {m}): {list_names(self.controls)}")
        x = array("x0", x0, (..., n), meaning=list_names(self.start), nan=nan)
        u = array("controls", np.zeros((steps, 0)) if controls is None else controls, (..., steps, m), nan=nan)
        p = array("parameters", self.values if parameters is None else parameters, (..., l), nan=nan)
        try:
            batch = np.broadcast_shapes(x.shape[:-1], u.shape[:-2], p.shape[:-1])
        except ValueError:
            shapes = f"x0 {x.shape[:-1]}, controls {u.shape[:-2]}, parameters {p.shape[:-1]}"
            raise InputError(f"the leading dimensions do not broadcast: {shapes}") from None
        if self.asked.check is not None and not nan:
            self.asked.check(x)
        cores = ((n,), (steps, m), (l,))
        given = [
            np.broadcast_to(a, (*batch, *core)).reshape(-1 if np.prod(batch, dtype=int) else 0, *core)
            if np.prod(core, dtype=int)
            else np.zeros((int(np.prod(batch)), *core))
            for a, core in zip((x, u, p), cores, strict=True)
        ]
        return batch, given

    def _cut(self, given: Sequence[Array], first: int, count: int) -> dict[str, Array]:
        x, u, p = (a[first : first + count] for a in given)
        found = {"x0": x, **{name: u[..., k] for k, name in enumerate(self.controls)}}
        return found | {name: p[:, k : k + 1] for k, name in enumerate(self.parameters)}


def rollout_function(
    system: object,
    controller: object = None,
    *,
    duration: float,
    dt: float,
    method: str = "rk4",
    controls: Sequence[str] | str = (),
    parameters: Sequence[str] | str = (),
    fixed: Mapping[str, float] | None = None,
    reference: object = None,
    payload: Sequence[float] | bool | None = None,
    friction: bool | str | None = None,
    torque_limits: object = None,
    every: int = 1,
) -> RolloutFunction:
    """The rollout of a system, under a controller or not, as a function of arrays with derivatives.

    `controls` names inputs that are given for each step, "all" those that nobody drives otherwise; `parameters` inputs
    that are held: gains, parameters of the system, payload_mass; `fixed` others with their values. `every`: which
    states are kept. The other words are those of `rollouts`."""
    steps = max(round(duration / dt), 1) if dt and duration and np.isfinite(duration / dt) else 1
    law = read_law(controller)
    own: Mapping[str, float | None] = getattr(system, "flow_parameters", {})
    held = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    known = {**own, **(law.parameters if law is not None else {})}
    values = np.array([value if (value := known.get(name)) is not None else 0.0 for name in held], float)
    if isinstance(controls, str) and controls == "all":
        from dalembert.simulation.plant import read_system, words_for_names

        driven = read_system(system, words_for_names(system, held, payload), {}).driven
        controls = tuple(name for name in driven if law is None or name not in law.outputs)
    moving = (controls,) if isinstance(controls, str) else tuple(controls)
    for name in moving:
        if name in held:
            raise InputError(f"{name!r} is named as a control and as a parameter: it is one of them")
    given: dict[str, Value] = {**(fixed or {}), **{name: np.zeros((1, steps)) for name in moving}}
    given |= {name: np.array([value]) for name, value in zip(held, values, strict=True)}
    asked = read_request(
        *(system, controller, None, duration, dt, method, reference, given, None, payload, friction, None),
        *(torque_limits, Measures(), every, "all", 1, None),
    )
    _check_traced(asked)
    first = asked.plan.initial[0]
    free = set(moving) | set(held)
    plan = replace(
        asked.plan,
        loop=_unobserved(Same(asked.plan.loop)),
        initial=(replace(first, value=None), *asked.plan.initial[1:]),
        held=tuple(replace(c, value=None) if c.name in free else c for c in asked.plan.held),
        moving=tuple(replace(c, value=None) if c.name in free else c for c in asked.plan.moving),
        columns=tuple(range(len(asked.states))),
    )
    return RolloutFunction(replace(asked, plan=plan), asked.states[: first.size], moving, held, values)
