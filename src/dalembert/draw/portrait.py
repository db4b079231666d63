"""Phase portraits: where the states of a system go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number
from dalembert.compile import Kernel, compile_function
from dalembert.draw.pyplot import COLORS, QUIET, pyplot, styled
from dalembert.errors import InputError, choose
from dalembert.flow import Flow
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation.fixed_step import Integration, integrate, refine
from dalembert.simulation.loop import close_loop
from dalembert.simulation.plant import read_system

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 25  # arrows along each axis
STEPS = 1200  # of a trajectory
FARTHER = 1.6  # times the window: a trajectory that has left it so far is not drawn on
NEAR = 0.005  # of the window: trajectories that stay so near to those in steps of twice the length are drawn


@styled
def phase_portrait(
    system: object,
    controller: object = None,
    *,
    states: tuple[str, str] | None = None,
    window: ArrayLike | None = None,
    starts: ArrayLike | None = None,
    at: ArrayLike | None = None,
    u: ArrayLike | None = None,
    reference: Reference | ArrayLike | None = None,
    duration: float = 5.0,
    friction: bool | None = None,
    units: tuple[str, str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """A matplotlib figure of two states of a system against each other: the field as arrows, and trajectories.

    `system`: what `simulate` takes; `controller`, a law or a controller, with its `reference`, closes the loop.
    `states`: two names, the first position and its rate if not given. `window`: ((x_low, x_high), (y_low, y_high)), ±π
    and ±2π if not given. `starts` (k, 2): where trajectories begin, a ring of eight if not given; () for none. `at`:
    the whole state whose other entries are held while the field is drawn, and where trajectories begin in them; zero if
    not given. `u`: the inputs, held; zero, and the law's own parameters, if not given. Of a system of more than two
    states the field is that slice, and trajectories leave it."""
    plant = read_system(system, {} if friction is None else {"friction": friction}, {})
    flow, gains = _closed(replace(plant, outputs=(), observe=None), controller, reference)
    first, second = _pair(flow, states)
    x_at = np.zeros(len(flow.states)) if at is None else array("at", at)
    usual = np.array([float(gains.get(name, 0.0)) for name in flow.inputs])
    given = usual if u is None else array("u", u)
    for name, value, wanted in (("at", x_at, len(flow.states)), ("u", given, len(flow.inputs))):
        if value.shape != (wanted,):
            raise InputError(f"{name} has shape {value.shape}; {flow.name!r} needs ({wanted},)")
    box = _window(window)
    until = number("the duration of the portrait", duration, "s", above=0.0)
    names = _named(flow, (first, second), units, plant.joints.units if plant.joints else ())
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(6.0, 4.6), layout="constrained")
    _field(ax, flow, first, second, x_at, given, box)
    _trajectories(ax, flow, first, second, x_at, given, box, _starts(starts, box), until)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    ax.set_title(f"phase portrait of {flow.name}" if title is None else title)
    return cast("Figure", ax.figure)


def _closed(flow: Flow, controller: object, reference: Reference | ArrayLike | None) -> tuple[Flow, Mapping[str, Any]]:
    """The closed loop, and the law's parameters by name, which are inputs of it."""
    if controller is None:
        if reference is not None:
            raise InputError("a reference is followed by a controller; there is none")
        return flow, {}
    made = controller if isinstance(controller, Law) else getattr(controller, "law", lambda: None)()
    if not isinstance(made, Law):
        raise InputError(f"controller must be a Law or what has one, got {type(controller).__name__}")
    whole = close_loop(flow, made, reference)
    return replace(whole, outputs=(), observe=None), made.parameters


def _pair(flow: Flow, states: tuple[str, str] | None) -> tuple[int, int]:
    if states is None:
        if len(flow.states) < 2:
            raise InputError(f"{flow.name!r} has one state; a portrait needs two")
        return 0, flow.positions if flow.positions else 1
    if len(states) != 2 or states[0] == states[1]:
        raise InputError(f"states must be two different names, got {states!r}")
    for name in states:
        choose(f"state of {flow.name!r}", name, flow.states)
    return flow.states.index(states[0]), flow.states.index(states[1])


def _window(window: ArrayLike | None) -> Array:
    box = np.array([[-np.pi, np.pi], [-2 * np.pi, 2 * np.pi]]) if window is None else array("window", window)
    if box.shape != (2, 2) or not (box[:, 0] < box[:, 1]).all():
        raise InputError("window must be ((x_low, x_high), (y_low, y_high)), each low below its high")
    return box


def _starts(starts: ArrayLike | None, box: Array) -> Array:
    if starts is None:
        angle = np.arange(8) * np.pi / 4 + 0.3
        return np.asarray(box.mean(1) + 0.36 * np.ptp(box, axis=1) * np.stack([np.cos(angle), np.sin(angle)], -1))
    found = array("starts", starts).reshape(-1, 2) if np.size(starts) else np.zeros((0, 2))
    return np.asarray(found)


def _named(flow: Flow, pair: tuple[int, int], units: tuple[str, str] | None, known: tuple[str, ...]) -> list[str]:
    """Names with their units; [1] where nobody knows any."""
    of = {k: unit for k, unit in enumerate(known)} | {flow.positions + k: f"{unit}/s" for k, unit in enumerate(known)}
    given = [of.get(k, "") or "1" for k in pair] if units is None else list(units)
    return [f"{flow.states[k].replace('_', ' ')} [{unit}]" for k, unit in zip(pair, given, strict=True)]


@lru_cache(maxsize=32)
def _rate(flow: Flow) -> Kernel:
    n, m, rate = len(flow.states), len(flow.inputs), flow.plain_rate
    if m == 0:
        return compile_function(lambda x: rate(0.0, x, []), [(n,)], [(n,)], "field", arguments=("x",))
    shapes = [(n,), (m,)]
    return compile_function(lambda x, u: rate(0.0, x, u), shapes, [(n,)], "field", arguments=("x", "u"))


def _field(ax: Axes, flow: Flow, i: int, j: int, x_at: Array, u: Array, box: Array) -> None:
    """Arrows of equal length, as they are seen, along (ẋᵢ, ẋⱼ)."""
    a, b = np.meshgrid(*(np.linspace(low, high, GRID) for low, high in box))
    x = np.broadcast_to(x_at, (*a.shape, len(x_at))).copy()
    x[..., i], x[..., j] = a, b
    with np.errstate(all="ignore"):
        rate = np.asarray(_rate(flow)(x, u) if len(u) else _rate(flow)(x))
    seen = np.stack([rate[..., i], rate[..., j]], -1) / np.ptp(box, axis=1)
    size = np.linalg.norm(seen, axis=-1, keepdims=True)
    seen = np.where(np.isfinite(size) & (size > 0), seen / np.where(size > 0, size, 1.0), 0.0)
    moved = seen * np.ptp(box, axis=1) / GRID * 0.7
    as_they_are: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1}
    ax.quiver(a, b, moved[..., 0], moved[..., 1], **as_they_are, color=QUIET, width=0.0022, pivot="mid")


def _trajectories(
    ax: Axes, flow: Flow, i: int, j: int, x_at: Array, u: Array, box: Array, starts: Array, until: float
) -> None:
    if not len(starts):
        return
    x0 = np.broadcast_to(x_at, (len(starts), len(x_at))).copy()
    x0[:, i], x0[:, j] = starts.T
    middle, half = box.mean(1), 0.5 * np.ptp(box, axis=1)

    def run(finer: int) -> Integration:
        steps = STEPS * finer
        return integrate(flow, x0, until / steps, steps, u if len(u) else None, every=finer)

    def first(marked: NDArray[np.bool_]) -> Array:
        """(k,): rows before the first that is marked."""
        return np.where(marked.any(-1), marked.argmax(-1), marked.shape[-1])

    def compared(coarse: Integration, fine: Integration) -> tuple[Array, Array]:
        """(k,) each: rows until a path has left the window; rows for which half the step gives the same."""
        a, b = coarse.x[..., [i, j]], fine.x[..., [i, j]]
        with np.errstate(invalid="ignore"):
            left = first(~(np.abs(b - middle) <= FARTHER * half).all(-1))
            same = first(~(np.abs(a - b) <= NEAR * 2 * half).all(-1))
        return left, same

    shown = np.zeros(len(starts), int)

    def agree(coarse: Integration, fine: Integration) -> NDArray[np.bool_]:
        left, same = compared(coarse, fine)
        shown[:] = np.minimum(left, same)
        return same > np.minimum(left, STEPS)  # also where it leaves: an unstable integrator leaves anyhow

    found, resolved, finer = refine(run, agree)
    paths = found.x[..., [i, j]]
    for path, end in zip(paths, shown.tolist(), strict=True):
        ax.plot(*path[:end].T, color=COLORS[0], linestyle="-", lw=1.2)
    ax.plot(*starts.T, linestyle="none", marker="o", color=COLORS[1], markersize=4.5, label="start")
    ends = paths[shown == paths.shape[1], -1]
    ax.plot(*ends.T, linestyle="none", marker="s", color=COLORS[2], markersize=4.0, label=f"after {until:g} s")
    if not resolved.all():
        cut = paths[~resolved, np.maximum(shown[~resolved] - 1, 0)]
        words = f"lost: {until / STEPS / finer:.1g} s steps too long"
        ax.plot(*cut.T, linestyle="none", marker="x", color=COLORS[3], markersize=5.0, label=words)
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
