"""The inputs of a compiled loop by name: constant, one number per step, or functions of time, for one run or many."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, number
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.draws import Distribution, Noise

Cut = Mapping[str, Array]  # rows of the arrays that differ between runs, by the name of their column


@dataclass(frozen=True)
class Clock:
    """`steps` steps of `dt` [s] until `duration`, of which every `every`-th state is kept. If `rest` [s] is not 0, the
    last step is that short."""

    duration: float
    dt: float
    steps: int
    every: int = 1
    rest: float = 0.0

    @property
    def whole(self) -> int:
        """The number of steps of full length."""
        return self.steps - (self.rest > 0.0)

    @property
    def rows(self) -> int:
        """The number of kept states, the last one included."""
        return -(-self.steps // self.every) + 1

    @property
    def t(self) -> Array:
        """The times of the kept states, (rows,) [s]."""
        end = self.duration if self.rest else self.steps * self.dt
        return np.append(self.dt * (np.arange(self.rows - 1) * self.every), end)

    def start(self, step: int) -> float:
        """Return the time at which a step begins [s]."""
        return self.duration if self.rest and step > self.whole else step * self.dt

    def times(self, steps: NDArray[np.int64], places: Sequence[float]) -> Array:
        """Return the times at the given places within steps, parts of a step from 0 to 1, (steps, places) [s]."""
        parts = np.asarray(places, float)
        found = np.asarray((steps[:, None] + parts) * self.dt)
        if self.rest:
            found[steps == self.whole] = self.whole * self.dt + parts * self.rest
            found[steps > self.whole] = self.duration + parts * self.dt
        return found


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

    def tail(self, steps: NDArray[np.int64], clock: Clock, hold: int) -> list[Array]:
        """Return the columns that follow the inputs in block u, (steps, …) each."""
        nodes = np.array(self.nodes)
        parts = [clock.times(steps, (nodes[1:] + nodes[:-1]) / 2)]
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
    """m numbers that may depend on time, for the `inputs` of a loop; messages call them the `entries` of `name`.

    `rows` (1, m) is constant and `rows` (steps, m) has one row per step. `function(t)` of times (k,) returns (k, m),
    and `table` (steps + 1, nodes, m) holds its values."""

    name: str
    entries: tuple[str, ...]
    inputs: tuple[str, ...]
    rows: Array | None = None
    function: Callable[[Array], Array] | None = None
    table: Array | None = None

    @property
    def constant(self) -> bool:
        return self.rows is not None and len(self.rows) == 1

    @property
    def moves(self) -> bool:
        """Whether it changes within a step."""
        return self.rows is None

    def at(self, t: Array, steps: NDArray[np.int64]) -> Array:
        """Return the values at times t (steps, nodes) within these steps, (steps, nodes, m)."""
        if self.table is not None:
            return np.asarray(self.table[steps])
        if self.function is not None:
            times, place = np.unique(t, return_inverse=True)
            return np.asarray(self.function(times)[place.reshape(t.shape)])
        assert self.rows is not None
        return np.broadcast_to(self.rows[np.minimum(steps, len(self.rows) - 1)][:, None], (*t.shape, len(self.inputs)))


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


# ---------------------------------------------------------------------------------------------------------- of B runs
@dataclass(frozen=True, eq=False)
class Column:
    """`size` numbers of every run, called `name`: an array (1, size) that is the same for all runs, a distribution,
    noise, or None for rows of an array of all runs. `inputs` are the inputs of the loop that it sets: `size` of them,
    or several with the same number. A column that `moves` has one number per step."""

    name: str
    size: int
    value: Array | Distribution | Noise | None
    inputs: tuple[str, ...] = ()
    moves: bool = False

    def values(self, seed: int, first: int, count: int, cut: Cut) -> Array:
        """Return the numbers of runs first, …, (count or 1, size) or (count or 1, steps)."""
        if isinstance(self.value, Distribution):
            return self.value.draw(seed, self.name, first, count).reshape(count, self.size)
        assert not isinstance(self.value, Noise)
        return cut[self.name] if self.value is None else self.value


@dataclass(frozen=True, eq=False)
class InputStream:
    """All inputs of the runs of a loop: `signals` and `constants` are the same for all of them, `columns` differ, and
    sensor `noise` is drawn from `seed`. Samples are taken every `hold` steps."""

    wiring: Wiring
    clock: Clock
    signals: tuple[Signal, ...] = ()
    columns: tuple[Column, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, Noise] = field(default_factory=dict)
    seed: int = 0
    hold: int = 1

    @property
    def moving(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.moves)

    @property
    def held(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if not c.moves)

    @property
    def differs(self) -> bool:
        """Whether block u differs between runs."""
        return bool(self.noise) or any(c.value is None or isinstance(c.value, Noise) for c in self.moving)

    def sampled(self) -> InputStream:
        """Return the same inputs with functions of time evaluated for all steps, and once more after the end."""
        steps = np.arange(self.clock.steps + 1)
        times = self.clock.times(steps, self.wiring.nodes)
        signals = (replace(s, function=None, table=s.at(times, steps)) if s.moves else s for s in self.signals)
        return replace(self, signals=tuple(signals))

    @cached_property
    def _constants(self) -> Array:
        values = dict(self.constants)
        for s in self.signals:
            if s.rows is not None and s.constant:
                values |= dict(zip(s.inputs, s.rows[0].tolist(), strict=True))
        return np.array([values.get(name, 0.0) for name in self.wiring.held], float)

    def p(self, first: int, count: int, cut: Cut) -> Array:
        """Return block p of runs first, …, (count, l)."""
        found = np.empty((count, len(self.wiring.held)))
        found[:] = self._constants
        for c in self.held:
            found[:, [self.wiring.held.index(name) for name in c.inputs]] = c.values(self.seed, first, count, cut)
        return found

    def blocks(self, step: int, steps: int, first: int = 0, count: int = 1, cut: Cut | None = None) -> Array:
        """Return block u of steps step, … of runs first, …, (count or 1, steps, size). After the last step its inputs
        go on, and no sample is due."""
        w, total = self.wiring, max(self.clock.steps, 1)
        if w.size == 0:
            return np.zeros((1, steps, 0))
        each = np.arange(step, step + steps)
        times, within = self.clock.times(each, w.nodes), np.minimum(each, total - 1)
        known: dict[str, Array] = {}
        for s in self.signals:
            if not s.constant:
                known |= dict(zip(s.inputs, np.moveaxis(s.at(times, each), -1, 0)[:, None], strict=True))
        for c in self.moving:
            if isinstance(c.value, Noise):
                held = max(round(c.value.hold / self.clock.dt), 1) if c.value.hold else 1
                values = c.value.draw(self.seed, c.name, first, count, within // held)
            else:
                values = c.values(self.seed, first, count, cut or {})[:, within]
            known |= dict.fromkeys(c.inputs, values[..., None])
        for name, noise in self.noise.items():
            known[name] = noise.draw(self.seed, name, first, count, within // self.hold)[..., None]
        parts = [known[name][..., :1] for name in w.rows]
        parts += [known[name][..., k : k + 1] for k in range(len(w.nodes)) for name in w.moving]
        tail = w.tail(each, self.clock, self.hold)
        if w.flagged:
            tail[-1][each >= total] = 0.0
        many = count if self.differs else 1
        parts = [np.broadcast_to(x, (many, steps, x.shape[-1])) for x in (*parts, *tail)]
        return np.concatenate(parts, -1)


@dataclass(frozen=True, eq=False)
class RunInputs:
    """The inputs of run number `run` of a stream, for a loop as the `flow`."""

    stream: InputStream
    flow: Flow
    run: int = 0
    cut: Cut = field(default_factory=dict)

    @cached_property
    def p(self) -> Array:
        """Block p, (l,)."""
        return self.stream.p(self.run, 1, self.cut)[0]

    def blocks(self, step: int, steps: int) -> Array:
        """Return block u of steps step, …, (steps, size)."""
        return self.stream.blocks(step, steps, self.run, 1, self.cut)[0]

    @cached_property
    def _read(self) -> Callable[[Scalar, Scalars, Scalars], list[Scalar]]:
        return self.stream.wiring.reader(self.flow)

    def pick(self, t: float, block: Array) -> list[float]:
        """Return the flow's inputs at time t within the step of this block."""
        return self._read(t, block.tolist(), self.p.tolist())

    @cached_property
    def _constants(self) -> Array:
        values = dict(zip(self.stream.wiring.held, self.p.tolist(), strict=True))
        return np.array([values.get(name, 0.0) for name in self.flow.inputs], float)

    @cached_property
    def _drawn(self) -> dict[int, list[float]]:
        return {}  # of the last sample

    def at(self, t: float, step: int, sample: int) -> Array:
        """Return the flow's inputs at any time, of a given step and sample."""
        found, s = self._constants.copy(), self.stream
        for signal in s.signals:
            if not signal.constant:
                values = signal.at(np.array([[t]]), np.array([step]))[0, 0]
                found[[self.flow.inputs.index(name) for name in signal.inputs]] = values
        if s.noise:
            if sample not in self._drawn:
                self._drawn.clear()
                at = np.array([sample])
                drawn = [noise.draw(s.seed, name, self.run, 1, at)[0, 0] for name, noise in s.noise.items()]
                self._drawn[sample] = [float(x) for x in drawn]
            found[[self.flow.inputs.index(name) for name in s.noise]] = self._drawn[sample]
        return found

    def find_fault(self, blocks: Array, step: int) -> tuple[int, str] | None:
        """Return the first of these steps whose inputs are not finite, and a sentence."""
        if not blocks.size or math.isfinite(blocks.sum()):
            return None
        bad = np.argwhere(~np.isfinite(blocks))
        if not len(bad):
            return None
        k, column = (int(i) for i in bad[0])
        w = self.stream.wiring
        if column < len(w.rows):
            name, node = w.rows[column], 0
        else:
            node, entry = divmod(column - len(w.rows), len(w.moving))
            name = w.moving[entry]
        t = (step + k + w.nodes[node]) * self.stream.clock.dt
        return k, self.describe_fault(name, float(blocks[k, column]), t)

    def describe_fault(self, name: str, value: float, t: float) -> str:
        """Return the sentence about an input that is not finite."""
        for s in self.stream.signals:
            if name in s.inputs:
                return f"{s.name} of {s.entries[s.inputs.index(name)]!r} is {value} at t = {t:.6g} s"
        return f"{name!r} is {value} at t = {t:.6g} s"
