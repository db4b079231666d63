"""What a loop is fed: inputs by name, held over a run, over a step, or moving within it, and how they lie in blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, number
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.draws import Noise


# ------------------------------------------------------------------------------------------------------- over scalars
@dataclass(frozen=True)
class Wiring:
    """How the inputs of a flow reach a compiled loop, by name: `held` over a run, in block p; in block u `rows`, one
    number for each step, then `moving` ones at the `nodes`, the places within a step, as parts of it, at which the
    method looks, the times that part the nodes, and, if `flagged`, whether a sample is due."""

    held: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    nodes: tuple[float, ...] = (0.0,)
    flagged: bool = False

    @property
    def size(self) -> int:
        """Of block u."""
        return len(self.rows) + (len(self.moving) + 1) * len(self.nodes) - 1 + self.flagged

    def reader(self, flow: Flow) -> Callable[[Scalar, Scalars, Scalars], list[Scalar]]:
        """(t, u, p) → the flow's inputs at a node's time t."""
        a, w, d = len(self.rows), len(self.moving), len(self.nodes)
        places = {**{name: (1, k) for k, name in enumerate(self.held)}, **{n: (0, k) for k, n in enumerate(self.rows)}}
        places |= {name: (2, k) for k, name in enumerate(self.moving)}
        order = [places[name] for name in flow.inputs]

        def read(t: Scalar, u: Scalars, p: Scalars) -> list[Scalar]:
            found = list(u[a : a + w])
            for i in range(1, d):
                later = t > u[a + w * d + i - 1]
                found = [where(later, u[a + i * w + j], x) for j, x in enumerate(found)]
            blocks = (u, p, found)
            return [blocks[block][k] for block, k in order]

        return read

    def times(self, steps: NDArray[np.int64], dt: float) -> Array:
        """(steps, nodes) [s]."""
        return np.asarray((steps[:, None] + np.array(self.nodes)) * dt)

    def tail(self, steps: NDArray[np.int64], dt: float, hold: int) -> list[Array]:
        """What follows the inputs in block u, (steps, …) each."""
        nodes = np.array(self.nodes)
        parts = [np.asarray((steps[:, None] + (nodes[1:] + nodes[:-1]) / 2) * dt)]
        return [*parts, (steps % hold == 0)[:, None].astype(float)] if self.flagged else parts


def wire(flow: Flow, nodes: Sequence[float], rows: Sequence[str], moving: Sequence[str], flagged: bool) -> Wiring:
    """Inputs that are neither rows nor moving are held. `nodes` are those of the method."""
    held = tuple(name for name in flow.inputs if name not in rows and name not in moving)
    places = (0.0, *nodes, *((1.0,) if flow.settle else ())) if moving else (0.0,)
    found: list[float] = []
    for c in sorted(places):
        if not found or c - found[-1] > 1e-9:  # those that rounding alone tells apart are one
            found.append(c)
    in_order, within = (tuple(name for name in flow.inputs if name in names) for names in (rows, moving))
    return Wiring(held, in_order, within, tuple(found), flagged)


# ------------------------------------------------------------------------------------------------------------ signals
@dataclass(frozen=True, eq=False)
class Signal:
    """m numbers that may depend on time, for so many `inputs` of a loop; in sentences they are the `entries` of what
    the user calls `name`. `rows` (steps, m): one for each step, held over it; else `function(t)` of times (k,) gives
    (k, m)."""

    name: str
    entries: tuple[str, ...]
    inputs: tuple[str, ...]
    rows: Array | None = None
    function: Callable[[Array], Array] | None = None

    @property
    def still(self) -> bool:
        return self.rows is not None and len(self.rows) == 1

    def at(self, t: Array, step: NDArray[np.int64]) -> Array:
        """(..., m) at times t, which lie in these steps; after the last step its row goes on."""
        if self.function is not None:
            times, place = np.unique(t, return_inverse=True)
            return np.asarray(self.function(times)[place.reshape(t.shape)])
        assert self.rows is not None
        return np.asarray(self.rows[np.minimum(step, len(self.rows) - 1)])


def read_signal(name: str, value: object, entries: tuple[str, ...], inputs: tuple[str, ...], steps: int) -> Signal:
    """A signal as users give it: m numbers, m numbers for each step, or a function of t."""
    m = len(entries)
    meaning = f"{m} numbers ({', '.join(entries[:4])}{', …' if m > 4 else ''})"
    if callable(value):
        return Signal(name, entries, inputs, function=_one_by_one(name, value, m, meaning))
    try:
        rows = array(name, value, nan=True)
    except InputError as error:
        raise InputError(f"{error}; or give a function of t") from None
    if rows.shape == (m,):
        constant = [number(f"{name} of {entry!r}", x) for entry, x in zip(entries, rows, strict=True)]
        return Signal(name, entries, inputs, rows=np.array([constant]))
    if rows.shape != (steps, m) or not steps:
        raise InputError(
            f"{name} has shape {rows.shape}; it must be ({m},), {meaning}, or ({steps}, {m}), one row for each step, "
            "or a function of t"
        )
    return Signal(name, entries, inputs, rows=rows)


def _one_by_one(name: str, function: Callable[[float], object], m: int, meaning: str) -> Callable[[Array], Array]:
    def values(times: Array) -> Array:
        out = np.empty((len(times), m))
        for k, t in enumerate(times.tolist()):
            made = function(t)
            try:
                row = np.asarray(made, float)
            except (TypeError, ValueError):
                raise InputError(f"{name}(t) gives {made!r:.60} at t = {t:g} s; it must give {meaning}") from None
            if row.shape != (m,) and not (m == 1 and row.shape == ()):
                raise InputError(f"{name}(t) gives shape {row.shape} at t = {t:g} s; it must give {meaning}")
            out[k] = row
        return out

    return values


# --------------------------------------------------------------------------------------------------------- of one run
@dataclass(frozen=True, eq=False)
class Feed:
    """All inputs of one run of a flow, in steps of length dt: `signals`, what is `held` by name, sensor `noise` by
    name, drawn from `seed`; `hold` steps share a sample. `flagged`: the loop must be told when one is due."""

    flow: Flow
    dt: float
    signals: tuple[Signal, ...] = ()
    held: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, Noise] = field(default_factory=dict)
    seed: int = 0
    hold: int = 1
    flagged: bool = False
    nodes: tuple[float, ...] = (0.0,)  # of the method

    @cached_property
    def wiring(self) -> Wiring:
        moving = [name for s in self.signals if s.function is not None for name in s.inputs]
        rows = [name for s in self.signals if s.function is None and not s.still for name in s.inputs]
        return wire(self.flow, self.nodes, [*rows, *self.noise], moving, self.flagged)

    @cached_property
    def p(self) -> Array:
        """Block p."""
        values = dict(self.held)
        for s in self.signals:
            if s.rows is not None and s.still:
                values |= dict(zip(s.inputs, s.rows[0].tolist(), strict=True))
        return np.array([values.get(name, 0.0) for name in self.wiring.held], float)

    @cached_property
    def _read(self) -> Callable[[Scalar, Scalars, Scalars], list[Scalar]]:
        return self.wiring.reader(self.flow)

    def pick(self, t: float, block: Array) -> list[float]:
        """The flow's inputs at time t within the step of this block."""
        return self._read(t, block.tolist(), self.p.tolist())

    def draw(self, name: str, first: int, count: int) -> Array:
        """(count,): noise of samples first, …"""
        return self.noise[name].samples(self.seed, name, first, count)

    def _columns(self, times: Array, steps: NDArray[np.int64]) -> dict[str, Array]:
        """Of every signal that is not still, by the name of its input, (…) as times."""
        found: dict[str, Array] = {}
        for s in self.signals:
            if not s.still:
                found |= dict(zip(s.inputs, np.moveaxis(s.at(times, steps), -1, 0), strict=True))
        return found

    @cached_property
    def _usual(self) -> Array:
        """The flow's inputs, where they are held."""
        values = dict(zip(self.wiring.held, self.p.tolist(), strict=True))
        return np.array([values.get(name, 0.0) for name in self.flow.inputs], float)

    @cached_property
    def _drawn(self) -> dict[int, list[float]]:
        return {}  # of the last sample

    def inputs_at(self, t: float, step: int, sample: int) -> Array:
        """The flow's inputs at any time, of a given step and sample."""
        found = self._usual.copy()
        for name, x in self._columns(np.array([t]), np.array([step])).items():
            found[self.flow.inputs.index(name)] = x[0]
        if self.noise:
            if sample not in self._drawn:
                self._drawn.clear()
                self._drawn[sample] = [float(self.draw(name, sample, 1)[0]) for name in self.noise]
            found[[self.flow.inputs.index(name) for name in self.noise]] = self._drawn[sample]
        return found

    def blocks(self, first: int, count: int) -> Array:
        """Block u of steps first …, (count, size)."""
        w, steps = self.wiring, np.arange(first, first + count)
        times = w.times(steps, self.dt)
        known = self._columns(times, np.broadcast_to(steps[:, None], times.shape))
        samples = steps // self.hold
        for name in self.noise:
            drawn = self.draw(name, int(samples[0]), int(samples[-1] - samples[0]) + 1)
            known[name] = np.repeat(drawn[samples - samples[0]][:, None], len(w.nodes), 1)
        parts = [known[name][:, :1] for name in w.rows]
        parts += [known[name][:, k : k + 1] for k in range(len(w.nodes)) for name in w.moving]
        return np.concatenate([*parts, *w.tail(steps, self.dt, self.hold)], -1)

    def end(self, steps: int) -> Array:
        """The block with which the end is observed, (1, size): what is held over steps is that of the last one, and no
        sample is due."""
        block, held = self.blocks(steps, 1), len(self.wiring.rows)
        block[:, :held] = self.blocks(steps - 1, 1)[:, :held]
        if self.flagged:
            block[:, -1] = 0.0
        return block

    def fault(self, blocks: Array, first: int) -> tuple[int, str] | None:
        """The first step whose signals are not finite, and the sentence."""
        bad = np.argwhere(~np.isfinite(blocks))
        if not len(bad):
            return None
        k, column = (int(i) for i in bad[0])
        w = self.wiring
        if column < len(w.rows):
            name, node = w.rows[column], 0
        else:
            node, entry = divmod(column - len(w.rows), len(w.moving))
            name = w.moving[entry]
        return k, self.sentence(name, float(blocks[k, column]), (first + k + w.nodes[node]) * self.dt)

    def sentence(self, name: str, value: float, t: float) -> str:
        """Of an input that is not finite."""
        for s in self.signals:
            if name in s.inputs:
                return f"{s.name} of {s.entries[s.inputs.index(name)]!r} is {value} at t = {t:.6g} s"
        return f"{name!r} is {value} at t = {t:.6g} s"
