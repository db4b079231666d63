"""Integration in steps of equal length: the whole run of a whole batch as one compiled loop."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import plain_array
from dalembert.compile.rollout import Call, Rollout, compile_rollout
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.simulation.steps import METHODS, System

Array = NDArray[np.float64]
PIECE = 300_000_000  # operations in one call of the loop, a fifth of a second: an interrupt waits no longer
MOST_STEPS = 10**12  # of a run: a week and a half at a microsecond each
HALVINGS = 7  # of a step, at most, until half of it gives the same
R = TypeVar("R")


@dataclass(frozen=True)
class Trajectory:
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
) -> Trajectory:
    """`steps` steps of length dt [s] from x0 (..., n) at t0, by a method of `steps.METHODS`.

    u is the input of each step, held over it: (..., steps, m), or (..., 1, m) for inputs that never change, or (m,) for
    one that is the same for all; zero if not given. `parameters`: inputs by name that never change during a run but
    differ between runs, (...) each; u then holds the others. Leading dimensions broadcast.
    Kept are the states before steps 0, every, 2 every, … and the last one: memory is needed for these only. y of a
    kept state is observed with the input of the step that begins there (that ends there, for the last).
    `iterations`: evaluations per step of an implicit method. A run gives the same bits alone and in any batch."""
    dt, steps, every, t0, iterations = checked(flow, dt, steps, every, t0, method, iterations)
    held = tuple(parameters or ())
    for name in held:
        if name not in flow.inputs:
            raise unknown(f"input of {flow.name!r}", name, flow.inputs)
    rollout = rollout_of(flow, method, held, iterations)
    x = _numbers("x0", x0, (len(flow.states),), f"the states of {flow.name!r}, {_listed(flow.states)}")
    if flow.check is not None:
        flow.check(x)
    free = [name for name in flow.inputs if name not in held]
    inputs = _inputs(flow, free, u, steps)
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
    diverged = fill(rollout, x, inputs, p, steps, dt, t0, every, X, Y)
    lost = X[..., -1, -1] if judged else np.zeros(batch)
    t = t0 + dt * np.append(np.arange(kept) * every, steps)
    return Trajectory(t, X[..., :n], Y, diverged, np.array(lost))


def fill(
    rollout: Rollout, x: Array, u: Array, p: Array, steps: int, dt: float, t0: float, every: int, X: Array, Y: Array
) -> NDArray[np.int64]:
    """Fill X and Y, in pieces short enough to be interrupted between; the steps that diverged."""
    batch = X.shape[:-2]
    work = max(rollout.operations, 1) * max(math.prod(batch), 1)
    piece = max(PIECE // work, 1)
    piece = piece // every * every or piece
    between = np.empty((*batch, 1, X.shape[-1])), np.empty((*batch, 1, Y.shape[-1]))
    mark, found = np.empty(batch), np.full(batch, -1, np.int64)
    last_x, last_y = np.empty((*batch, X.shape[-1])), np.empty((*batch, Y.shape[-1]))
    varying = u.shape[-2] > 1
    first = 0
    while first < max(steps, 1):
        count = min(piece, steps - first) if piece >= every else min(piece, steps - first, every - first % every)
        rows = slice(first // every, -(-(first + count) // every))
        kept = (X[..., rows, :], Y[..., rows, :]) if first % every == 0 else between
        out = (*kept, last_x, last_y, mark)
        part = u[..., first : first + count, :] if varying else u
        with np.errstate(all="ignore"):  # what is not finite is told by `diverged_at`
            rollout(x, part, p, count, dt, t0, min(every, max(count, 1)), first, out)
        found = np.where((found < 0) & (mark >= 0), mark.astype(np.int64), found)
        x = last_x.copy()
        first += max(count, 1)
    X[..., -1, :], Y[..., -1, :] = last_x, last_y
    return found


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
@lru_cache(maxsize=64)
def rollout_of(flow: Flow, method: str = "rk4", held: tuple[str, ...] = (), iterations: int | None = None) -> Rollout:
    """The compiled loop of a flow and a method; inputs named in `held` are parameters of a run."""
    row = METHODS[method]
    system, observe = _system(flow, held)
    options = {"iterations": iterations} if iterations is not None else {}
    step = row.make(system, **options)
    n = system.n
    sizes = {
        "x": n + step.judged,
        "u": len(flow.inputs) - len(held),
        "p": len(held),
        "y": len(flow.outputs),
        **step.sizes,
    }
    call = None if observe is None else Call(observe, ("t", "x", "u", "p"), "y")
    return compile_rollout(step.calls, sizes, f"{flow.name} {method}", call)


def _system(flow: Flow, held: tuple[str, ...]) -> tuple[System, Callable[..., list[Scalar]] | None]:
    """The flow with its inputs in two groups: those of a step and those of a run."""
    free = [name for name in flow.inputs if name not in held]
    place = [(name in held, (held if name in held else free).index(name)) for name in flow.inputs]
    n = len(flow.states)

    def together(u: Scalars, p: Scalars) -> list[Scalar]:
        return [(p if constant else u)[k] for constant, k in place]

    def whole(what: str, given: Sequence[Scalar], wanted: int, of: str) -> list[Scalar]:
        if len(given) != wanted:
            raise InputError(f"{what} of {flow.name!r} gives {len(given)} numbers for {wanted} {of}")
        return list(given)

    def rate(t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        return whole("the rate", flow.rate(t, x, together(u, p)), n, "states")

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        assert flow.settle is not None
        return whole("what settles the state", flow.settle(t, before, x, together(u, p)), n, "states")

    def observe(t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        assert flow.observe is not None
        return whole("what observes", flow.observe(t, x[:n], together(u, p)), len(flow.outputs), "outputs")

    system = System(n, flow.positions, rate, None if flow.settle is None else settle)
    return system, observe if flow.observe is not None and flow.outputs else None


# ------------------------------------------------------------------------------------------------------- the input
def whole_steps(duration: float, dt: float) -> int:
    """The steps nearest to duration / dt, refused where no computer takes them."""
    if not duration / dt <= MOST_STEPS:
        raise InputError(
            f"duration = {duration:g} s in steps of dt = {dt:g} s are {duration / dt:.3g} steps, and no more than "
            f"{MOST_STEPS:.0e} are taken: a longer dt, or a shorter duration"
        )
    return max(round(duration / dt), 1)


def checked(
    flow: Flow, dt: Any, steps: Any, every: Any, t0: Any, method: str, iterations: Any
) -> tuple[float, int, int, float, int | None]:
    if not isinstance(flow, Flow):
        raise InputError(f"a Flow is integrated, not a {type(flow).__name__}; robot_flow makes one of a Robot")
    if not all(isinstance(names, tuple) for names in (flow.states, flow.inputs, flow.outputs)):
        raise InputError(f"the states, inputs and outputs of {flow.name!r} must be tuples of names")
    if (flow.observe is None) != (not flow.outputs):
        raise InputError(f"{flow.name!r} must have outputs and what observes them, or neither")
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if METHODS[method].mechanical and not 0 < 2 * flow.positions <= len(flow.states):
        raise InputError(f"{method} needs positions and their rates, and {flow.name!r} names none; take rk4")
    if iterations is not None:
        if not METHODS[method].iterated:
            raise InputError(f"{method} does not iterate: iterations= is for implicit methods")
        iterations = _count("iterations", iterations, 1)
    seconds = []
    for name, value in (("dt", dt), ("t0", t0)):
        try:
            seconds.append(float(value))
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a number of seconds, got {value!r}") from None
        if not math.isfinite(seconds[-1]):
            raise InputError(f"{name} must be a finite number of seconds, got {value!r}")
    if seconds[0] <= 0:
        raise InputError(f"dt must be positive, got {dt!r}")
    return seconds[0], _count("steps", steps, 0), _count("every", every, 1), seconds[1], iterations


def _count(name: str, value: Any, least: int) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}")
    return number


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "") if names else "of which there are none"


def _numbers(name: str, value: ArrayLike, core: tuple[int, ...], meaning: str) -> Array:
    """An array of finite numbers whose last dimensions are `core` (None in it: any)."""
    array = plain_array(value, name)
    if not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise InputError(f"{name} must be an array of numbers, got {value!r:.60}")
    array = np.asarray(array, float)
    if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
        wanted = ", ".join(str(d) for d in core)
        raise InputError(f"{name} has shape {array.shape}; it must end in {wanted}: {meaning}")
    if array.size and not (math.isfinite(array.min()) and math.isfinite(array.max())):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name} is {array[where]} at {where}: it must be finite")
    return array


def _inputs(flow: Flow, free: list[str], u: ArrayLike | None, steps: int) -> Array:
    """u as (..., steps or 1, m)."""
    m = len(free)
    if u is None:
        return np.zeros((1, m))
    array = _numbers("u", u, (m,), f"the inputs of {flow.name!r}, {_listed(free)}")
    if array.ndim == 1:
        return array[None]
    if array.shape[-2] not in (1, steps):
        raise InputError(
            f"u has {array.shape[-2]} rows for {steps} steps; it must be (…, steps, {m}), or (…, 1, {m}) or ({m},) for "
            "inputs that never change"
        )
    return array


def _parameters(parameters: Mapping[str, ArrayLike]) -> Array:
    """(..., l), one column each."""
    columns = [_numbers(f"parameter {name!r}", value, (), "") for name, value in parameters.items()]
    if not columns:
        return np.zeros(0)
    try:
        return np.stack(np.broadcast_arrays(*columns), -1)
    except ValueError:
        shapes = ", ".join(f"{name} {c.shape}" for name, c in zip(parameters, columns, strict=True))
        raise InputError(f"the parameters do not broadcast: {shapes}") from None
