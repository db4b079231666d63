"""Integration in steps of equal length: the whole run of a whole batch as one compiled loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, number
from dalembert.compile.rollout import Call, Rollout, compile_rollout
from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.driver import Ask, Driver
from dalembert.simulation.steps import METHODS, Method, Rates
from dalembert.simulation.stream import Clock, Wiring

LOOPS = 16  # compiled loops that are kept: each keeps its system, with all its kernels, alive
MOST_STEPS = 10**12  # of a run: a week and a half at a microsecond each
HALVINGS = 7  # of a step, at most, until half of it gives the same
WHOLE = 1e-9  # of a step: times that differ by less are the same
Asks = Callable[[Wiring, int], Ask]  # begins so many runs
R = TypeVar("R")


@dataclass(frozen=True)
class Integration:
    """What was kept of a run.

    t (rows,) [s];  x (..., rows, n), the states at those times;  y (..., rows, outputs), what the flow observes there.
    diverged_at (...): the step (from 0) after which the state was not finite, −1 where none; from there on x and y are
    NaN. residual (...): the largest residual of an iterated method in any step; zero for explicit ones."""

    t: Array
    x: Array
    y: Array
    diverged_at: NDArray[np.int64]
    residual: Array


def integrate(
    flow: Flow,
    x0: ArrayLike,
    dt: float,
    steps: int,
    u: ArrayLike | None = None,
    *,
    method: str = "rk4",
    every: int = 1,
    t0: float = 0.0,
    parameters: Mapping[str, ArrayLike] | None = None,
    iterations: int | None = None,
    asks: Asks | None = None,
) -> Integration:
    """`steps` steps of length dt [s] from x0 (..., n) at t0, by a method of `steps.METHODS`.

    u is the input of each step, held over it: (..., steps, m), or (..., 1, m) for inputs that never change, or (m,) for
    one that is the same for all; zero if not given. `parameters`: inputs by name that never change during a run but
    differ between runs, (...) each; u then holds the others. Leading dimensions broadcast.
    Kept are the states before steps 0, every, 2 every, … and the last one: memory is needed for these only. y of a
    kept state is observed with the input of the step that begins there (that ends there, for the last).
    `iterations`: evaluations per step of an implicit method. `asks`: takes the samples of the flow (`ClosedLoop.asks`).
    A run gives the same bits alone and in any batch."""
    check_flow(flow)
    check_method(flow, method, iterations)
    dt, t0 = read_seconds("dt", dt), 0.0 if t0 == 0.0 else number("t0", t0, "s")
    steps, every = count("steps", steps), count("every", every, 1)
    wiring, rollout = _compile_inputs(flow, method, tuple(parameters or ()), iterations, asks is not None)
    x, free = _read_rows("x0", x0, flow.states, f"the states of {flow.name!r}"), wiring.rows
    if flow.check is not None:
        flow.check(x)
    inputs, end = _inputs(flow, free, u, steps), None
    hold = 1 if flow.sample is None else whole_ratio("sample_time", flow.period or dt, "dt", dt)
    if wiring.flagged:
        inputs = _with_flags(inputs, wiring, steps, dt, hold)
        end = inputs[..., -1:, :] * np.append(np.ones(len(free)), 0.0)  # no sample is due there
    p = _parameters(parameters or {})
    try:
        batch = np.broadcast_shapes(x.shape[:-1], inputs.shape[:-2], p.shape[:-1])
    except ValueError:
        shapes = f"x0 {x.shape[:-1]}, u {inputs.shape[:-2]}, parameters {p.shape[:-1]}"
        raise InputError(f"the leading dimensions do not broadcast: {shapes}") from None
    kept, n = -(-steps // every), len(flow.states)
    judged = METHODS[method].iterated
    if judged:
        x = np.concatenate((x, np.zeros((*x.shape[:-1], 1))), -1)
    X = np.empty((*batch, kept + 1, n + judged))
    Y = np.empty((*batch, kept + 1, len(flow.outputs)))
    if asks is not None and len(batch) != 1:
        raise InputError(f"runs that are asked are given as rows, (B, …); here {batch}")
    ask = None if asks is None else asks(wiring, batch[0])
    steady, clock = inputs.shape[-2] == 1, Clock(steps * dt, dt, steps, every)

    def blocks(step: int, many: int) -> Array:
        if step == steps and end is not None:
            return end
        return inputs if steady else inputs[..., step : step + many, :]

    driver = Driver(rollout, clock, blocks, p, hold, ask, t0, end is not None)
    diverged = driver.fill(np.broadcast_to(x, (*batch, x.shape[-1])), X, Y)
    lost = X[..., -1, -1] if judged else np.zeros(batch)
    t = t0 + dt * np.append(np.arange(kept) * every, steps)
    return Integration(t, X[..., :n], Y, diverged, np.array(lost))


def refine(run: Callable[[int], R], agree: Callable[[R, R], NDArray[np.bool_]]) -> tuple[R, NDArray[np.bool_], int]:
    """(the finest run, which of its parts have converged, its refinement 2ᵏ): `run(refinement)` with ever shorter
    steps, until `agree(coarse, fine)` holds of every part or the step has been halved HALVINGS times."""
    coarse = run(1)
    for k in range(1, HALVINGS + 1):
        fine = run(2**k)
        same = agree(coarse, fine)
        if same.all():
            break
        coarse = fine
    return fine, same, 2**k


# ------------------------------------------------------------------------------------------------------ the loop
@lru_cache(maxsize=LOOPS)
def _compile_inputs(
    flow: Flow, method: str, held: tuple[str, ...], iterations: int | None, asked: bool = False
) -> tuple[Wiring, Rollout]:
    """The loop of a flow whose inputs are those of a run, if they are among the `held`, or else of a step."""
    for name in held:
        if name not in flow.inputs:
            raise unknown(f"input of {flow.name!r}", name, flow.inputs)
    rows = tuple(name for name in flow.inputs if name not in held)
    wiring = Wiring(held, rows, flagged=flow.sample is not None and not asked)
    return wiring, compile_loop(flow, method, wiring, iterations, asked)


@lru_cache(maxsize=LOOPS)
def compile_loop(
    flow: Flow, method: str = "rk4", wiring: Wiring | None = None, iterations: int | None = None, asked: bool = False
) -> Rollout:
    """The compiled loop of a flow and a method. `asked`: samples are taken between pieces, in Python, and not in the
    loop."""
    wires = Wiring(rows=flow.inputs) if wiring is None else wiring
    read, n, sample = wires.reader(flow), len(flow.states), None if asked else flow.sample

    def all_of(what: str, given: Sequence[Scalar], wanted: int, of: str) -> list[Scalar]:
        if len(given) != wanted:
            raise InputError(f"{what} of {flow.name!r} gives {len(given)} numbers for {wanted} {of}")
        return list(given)

    def rate(t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        return all_of("the rate", flow.rate(t, x, read(t, u, p)), rates.size, "states")

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        assert flow.settle is not None
        return all_of("what settles the state", flow.settle(t, before, x, read(t, u, p)), n, "states")

    def take(t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        """The state after a sample, where one is due; entries that a sample does not touch stay as they are."""
        assert sample is not None
        new = all_of("the sample", sample(t, x[:n], read(t, u, p)), n, "states")
        due = u[wires.size - 1] > 0.5
        return [*(a if a is b else where(due, a, b) for a, b in zip(new, x[:n], strict=True)), *x[n:]]

    def observe(t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        assert flow.observe is not None
        at = take(t, x, u, p) if sample is not None else x
        return all_of("what observes", flow.observe(t, at[:n], read(t, u, p)), len(flow.outputs), "outputs")

    settled = None if flow.settle is None else settle
    rates = Rates(n, flow.nq, rate, settled, flow.nv, flow.advance, flow.correct, flow.transport)
    row = METHODS[method]
    step = row.make(rates, **({"iterations": iterations} if iterations is not None else {}))
    sizes = {"x": n + step.judged, "u": wires.size, "p": len(wires.held), "y": len(flow.outputs), **step.sizes}
    calls = list(step.calls)
    if sample is not None:
        sizes["begun"] = sizes["x"]
        calls = [Call(c.function, tuple("begun" if r == "x" else r for r in c.reads), c.writes) for c in calls]
        calls.insert(0, Call(take, ("t", "x", "u", "p"), "begun"))
    seen = Call(observe, ("t", "x", "u", "p"), "y") if flow.observe is not None and flow.outputs else None
    return compile_rollout(calls, sizes, f"{flow.name} {method}", seen)


# ------------------------------------------------------------------------------------------------------- the input
def whole_steps(duration: float, dt: float) -> int:
    """The steps nearest to duration / dt, refused where no computer takes them."""
    if not duration / dt <= MOST_STEPS:
        raise InputError(
            f"duration = {duration:g} s in steps of dt = {dt:g} s are {duration / dt:.3g} steps, and no more than "
            f"{MOST_STEPS:.0e} are taken: a longer dt, or a shorter duration"
        )
    return max(round(duration / dt), 1)


def count_steps(duration: float, dt: float) -> tuple[int, float]:
    """Return the number of steps until `duration`, and the length of the last one [s] if it is shorter, else 0."""
    steps = whole_steps(duration, dt)
    if abs(steps * dt - duration) <= WHOLE * duration:
        return steps, 0.0
    whole = math.floor(duration / dt)
    return whole + 1, duration - whole * dt


def whole_ratio(name: str, value: float, unit_name: str, unit: float) -> int:
    """How often a unit of time goes into another; refused where it is no whole number."""
    whole = round(value / unit)
    if whole < 1 or abs(whole * unit - value) > WHOLE * value:
        raise InputError(f"{name} must be a whole multiple of {unit_name} = {unit:g} s, got {value:g} s")
    return whole


def check_flow(flow: Flow) -> None:
    if not isinstance(flow, Flow):
        raise InputError(f"a Flow is integrated, not a {type(flow).__name__}; flow() makes one of a system")
    if not all(isinstance(names, tuple) for names in (flow.states, flow.inputs, flow.outputs)):
        raise InputError(f"the states, inputs and outputs of {flow.name!r} must be tuples of names")
    if (flow.observe is None) != (not flow.outputs):
        raise InputError(f"{flow.name!r} must have outputs and what observes them, or neither")


def check_method(flow: Flow, method: str, iterations: object = None) -> Method:
    """A row of METHODS that can run a flow."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    row = METHODS[method]
    if row.mechanical and flow.transport is not None:
        raise InputError(f"{method} needs positions and their rates, and {flow.name!r} has momenta: implicit-midpoint")
    if row.mechanical and not 0 < flow.nq + flow.nv <= len(flow.states):
        raise InputError(f"{method} needs positions and their rates, and {flow.name!r} names none; take rk4")
    if iterations is not None:
        if not row.iterated:
            raise InputError(f"{method} does not iterate: iterations= is for implicit methods")
        count("iterations", iterations, 1)
    return row


def read_seconds(name: str, value: object) -> float:
    """A positive number of seconds; a float, which it mostly is, without a detour."""
    return value if type(value) is float and 0.0 < value < math.inf else number(name, value, "s", above=0.0)


def _read_rows(name: str, value: ArrayLike, names: tuple[str, ...], meaning: str) -> Array:
    """(..., m) finite numbers, one per name; of doubles, which may be many, no copy is made."""
    plain = type(value) is np.ndarray and value.dtype == np.float64 and value.shape[-1:] == (len(names),)
    if plain and (not value.size or (math.isfinite(value.min()) and math.isfinite(value.max()))):  # type: ignore[union-attr]
        return value  # type: ignore[return-value]
    return array(name, value, (..., len(names)), meaning=f"{meaning}, {list_names(names)}")


def _inputs(flow: Flow, free: tuple[str, ...], u: ArrayLike | None, steps: int) -> Array:
    """u as (..., steps or 1, m)."""
    m = len(free)
    if u is None:
        return np.zeros((1, m))
    x = _read_rows("u", u, free, f"the inputs of {flow.name!r}")
    if x.ndim == 1:
        return x[None]
    if x.shape[-2] not in (1, steps):
        raise InputError(
            f"u has {x.shape[-2]} rows for {steps} steps; it must be (…, steps, {m}), or (…, 1, {m}) or ({m},) for "
            "inputs that never change"
        )
    return x


def _with_flags(u: Array, wiring: Wiring, steps: int, dt: float, hold: int) -> Array:
    """u (..., steps, m + 1): whether a sample is due after the inputs of each step."""
    flags = wiring.tail(np.arange(max(steps, 1)), Clock(steps * dt, dt, steps), hold)[-1]
    shape = (*u.shape[:-2], len(flags))
    return np.concatenate((np.broadcast_to(u, (*shape, u.shape[-1])), np.broadcast_to(flags, (*shape, 1))), -1)


def _parameters(parameters: Mapping[str, ArrayLike]) -> Array:
    """(..., l), one column each."""
    columns = [array(f"parameter {name!r}", value) for name, value in parameters.items()]
    try:
        return np.stack(np.broadcast_arrays(*columns), -1) if columns else np.zeros(0)
    except ValueError:
        shapes = ", ".join(f"{name} {c.shape}" for name, c in zip(parameters, columns, strict=True))
        raise InputError(f"the parameters do not broadcast: {shapes}") from None


def list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
