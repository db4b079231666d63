"""The driver of compiled loops: pieces of steps, one after the other, of B runs or of one that is watched."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.compile.rollout import Rollout
from dalembert.flow import Array
from dalembert.simulation.record import (
    DIVERGED,
    EVENT,
    INTERRUPTED,
    STABLE,
    Fences,
    Record,
    rates_in,
    tell_bad_command,
    tell_bad_input,
    tell_divergence,
    tell_remedy,
)
from dalembert.simulation.stream import Clock, RunInputs

if TYPE_CHECKING:
    from dalembert.simulation.loop import ClosedLoop

Ask = Callable[[float, Array, Array, Array], Array]  # (t, x, u, p) → x after a sample

PIECE = 100_000_000  # operations in one call of the loop, a twentieth of a second: an interrupt waits no longer
ROWS = 20_000  # steps whose inputs are computed at once
BOUNCING = 16  # steps looked ahead after a bounce, which the next one may end
RUN_AWAY = 1.0  # [rad, m, rad/s, …] from the start: a state that moved less did not run away
TURN = math.pi  # [rad] a revolute joint that turns further in one step is not resolved by it


@dataclass(eq=False)
class Driver:
    """Runs a compiled loop in pieces short enough to be interrupted between.

    `blocks(step, steps)` returns the inputs u (..., steps or 1, m) of the loop, p (..., l) is constant. `ask` takes a
    sample every `hold` steps where the loop does not: (t, x, u, p) → x."""

    rollout: Rollout
    clock: Clock
    blocks: Callable[[int, int], Array]
    p: Array
    hold: int = 1
    ask: Ask | None = None
    t0: float = 0.0
    ends: bool = False  # whether the end is observed with other inputs than the last step

    def call(
        self, x: Array, u: Array, count: int, every: int, step: int, out: tuple[Array, ...] | None = None
    ) -> tuple[Array, ...]:
        """Take steps step, …, step + count − 1, all of one length, and return (kept x, kept y, x, y, mark): the mark is
        the step after which the state was not finite, or −1."""
        whole, given = self.clock.whole, (x, u, self.p, count)
        with np.errstate(all="ignore"):  # states that are not finite are found by the mark
            if not self.clock.rest or step < whole or (step == whole and not count):
                return self.rollout(*given, self.clock.dt, self.t0, every, step, out)  # type: ignore[arg-type]
            begin = self.t0 + whole * self.clock.dt
            made = self.rollout(*given, self.clock.rest, begin, 1, step - whole, out)  # type: ignore[arg-type]
            np.add(made[4], whole, out=made[4], where=made[4] >= 0)
            return made

    def limit(self, count: int, step: int) -> int:
        """Return how many of `count` steps from `step` on one call may take: all of them have one length, and a sample
        begins each piece where the driver takes them."""
        whole = self.clock.whole
        most = min(count, whole - step) if step < whole else 1
        return most if self.ask is None else min(most, self.hold - step % self.hold)

    def fill(self, x: Array, X: Array, Y: Array) -> NDArray[np.int64]:
        """Fill X and Y (..., rows, ·) with the kept states of runs that begin at x, and return the steps after which
        they diverged."""
        batch, total, every = X.shape[:-2], self.clock.steps, self.clock.every
        work = max(self.rollout.operations, 1) * max(math.prod(batch), 1)
        piece = max(PIECE // work, 1)
        piece = piece // every * every or piece
        between = np.empty((*batch, 1, X.shape[-1])), np.empty((*batch, 1, Y.shape[-1]))
        mark, found = np.empty(batch), np.full(batch, -1, np.int64)
        last_x, last_y = np.empty((*batch, X.shape[-1])), np.empty((*batch, Y.shape[-1]))
        step = 0
        while step < max(total, 1):
            many = min(piece, total - step) if piece >= every else min(piece, total - step, every - step % every)
            if total:
                many = self.limit(many, step)
            if self.ask is not None:  # from a kept row on by whole rows
                many = min(many, every - step % every) if step % every else many - max(many - every, 0) % every
            rows = slice(step // every, -(-(step + many) // every))
            kept = (X[..., rows, :], Y[..., rows, :]) if step % every == 0 else between
            u = self.blocks(step, many)
            if self.ask is not None and step % self.hold == 0 and total:
                x = self.ask(self.t0 + self.clock.start(step), x, u[..., 0, :], self.p)
            self.call(x, u, many, min(every, max(many, 1)), step, (*kept, last_x, last_y, mark))
            found = np.where((found < 0) & (mark >= 0), mark.astype(np.int64), found)
            x = last_x.copy()
            step += max(many, 1)
        if total and self.ends:
            rest = (X[..., :0, :], Y[..., :0, :], last_x, last_y, mark)
            self.call(x, self.blocks(total, 1), 0, 1, total, rest)
        X[..., -1, :], Y[..., -1, :] = last_x, last_y
        return found


@dataclass(eq=False, kw_only=True)
class RunDriver(Driver):
    """One run whose rows are kept in a record, with joint limits, and a sentence on how it ended.

    `sample` asks a law in Python: (t, X, inputs) → X after the sample. `watch` is given every row (t, X, Y), kept or
    not. With `judged` the state ends with the largest residual of an iterated method."""

    loop: ClosedLoop
    inputs: RunInputs
    judged: bool = False
    sample: Callable[[float, Array, Array], Array] | None = None
    fences: Fences | None = None
    watch: Callable[[Array, Array, Array], None] | None = None

    def _remedy(self) -> str:
        """What may be done about a run that diverged: a step that the loop's fastest pole at the start bears."""
        found = tell_remedy(self.dt, self.fastest_pole)
        return f"{found}, or solver='Radau'" if found else f"the step of {self.dt:g} s may be too long"

    @cached_property
    def fastest_pole(self) -> float:
        """The largest |λ| of ∂ẋ/∂x at the start, of those that decay [1/s], by differences."""
        if self.loop.plant.advance is not None:
            return 0.0
        n, X, U = self.loop.ends[1], np.array(self.begun), self.inputs.pick(0.0, self.blocks(0, 1)[0])

        def rate(at: Array) -> Array:
            return np.array(self.loop.rate(0.0, at.tolist(), U), float)[:n]

        moves = np.diag(1e-6 * np.maximum(1.0, np.abs(X)))[:n]
        try:
            poles = np.linalg.eigvals(np.array([(rate(X + d) - rate(X - d)) / (2 * d.max()) for d in moves]).T)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return 0.0
        return float(np.abs(poles[poles.real < 0]).max(initial=0.0))

    @property
    def dt(self) -> float:
        return self.clock.dt

    @property
    def n(self) -> int:
        return self.loop.plant.n

    def run(self, X0: Array, record: Record, progress: Callable[[float], None]) -> None:
        """Fill the record."""
        self.X, self.step, self.record = np.append(X0, 0.0) if self.judged else X0, 0, record
        self.most = ROWS  # steps of a piece, few where a joint lies at its limit
        self.begun, self.outside = X0.tolist(), np.zeros(self.n, bool)
        try:
            while self.step < self.clock.steps and not record.message:
                self._piece()
                progress(self.step / self.clock.steps)
        except KeyboardInterrupt:
            record.end(INTERRUPTED, f"interrupted at t = {self.step * self.dt:.6g} s")
        t, X, Y = self._row(sample=False)
        record.keep(np.array([t]), X[None], Y[None])
        if self.watch is not None:
            self.watch(np.array([t]), X[None], Y[None])
        if self.judged:
            record.residual = float(self.X[-1])
        fault = None if record.message else self._bad_input(t, X, Y)
        if fault:
            record.end(DIVERGED, fault)

    def _applied(self, Y: Array) -> Array:
        """The plant's inputs among what was observed."""
        first = len(self.loop.plant.outputs)
        return Y[..., first : first + len(self.loop.plant.inputs)]

    def _bad_input(self, t: float, X: Array, Y: Array) -> str | None:
        """The sentence of an input that is not finite, unless the state ran away before, in steps that are too long."""
        found = tell_bad_input(self.loop, t, self._applied(Y))
        if found is None or np.abs(X - self.begun).max() <= RUN_AWAY:
            return found
        if self.dt * self.fastest_pole <= STABLE and not self._fast(X, Y).any():
            return found
        return tell_divergence(self.loop.plant, t, X, Y, self._remedy())

    def _fast(self, X: Array, Y: Array) -> NDArray[np.bool_]:
        """Joints that turn further in one step than a step can resolve, (..., n)."""
        plant = self.loop.plant
        turning = np.array([unit == "rad" for unit in plant.joints.moving_units] if plant.joints else [], bool)
        if not turning.any():
            return np.zeros((*X.shape[:-1], 0), bool)
        n = len(turning)
        rates = X[..., n : 2 * n] if plant.velocities is None and plant.rates == plant.states[n : 2 * n] else None
        rates = rates_in(plant, X, Y) if rates is None else rates
        return (np.abs(rates) * self.dt > TURN) & turning

    # --------------------------------------------------------------------------------------------------- one piece
    def _count(self) -> int:
        left = self.clock.steps - self.step
        if self.sample is None:
            many = min(PIECE // max(self.rollout.operations, 1), ROWS)
            if self.fences is not None:
                return min(max(many, 1), left, self.most)
            if many < self.clock.every:  # rows far apart: pieces between them, so that an interrupt is heard
                return min(max(many, 1), self.clock.every - self.step % self.clock.every, left)
            return min(many // self.clock.every * self.clock.every, left)
        # To the next sample or kept row, so that each piece keeps its first row, or none.
        return min(*(grid - self.step % grid for grid in (self.hold, self.clock.every)), left)

    def _piece(self) -> None:
        count = self.limit(self._count(), self.step)
        constant = self.inputs.stream.wiring.size == 0
        blocks = self.blocks(self.step, 1 if constant else count)
        fault = self.inputs.find_fault(blocks, self.step)
        if fault is not None:  # up to there, and no further
            count = fault[0]
        if count and self.sample is not None and self.step % self.hold == 0 and not self._asked(blocks[0]):
            return
        if count:
            self._advance(blocks if constant else blocks[:count], count)
        if fault is not None and not self.record.message:
            self.record.end(DIVERGED, fault[1])

    def _asked(self, block: Array) -> bool:
        """The law asked in Python; False if what it says is not finite."""
        assert self.sample is not None
        n, t = self.loop.ends[-1], self.step * self.dt
        X = self.sample(t, self.X[:n], np.array(self.inputs.pick(t, block)))
        if not np.isfinite(X).all():
            self.record.end(DIVERGED, tell_bad_command(self.loop, t, X))
            return False
        self.X = np.concatenate((X, self.X[n:]))
        return True

    def _advance(self, blocks: Array, count: int) -> None:
        """`count` steps, and the rows they keep; limits are looked for after each step."""
        every = 1 if self.fences is not None or self.watch is not None else min(self.clock.every, count)
        X, Y, last, _, mark = self.call(self.X, blocks, count, every, self.step)
        t = np.asarray((self.step + np.arange(len(X)) * every) * self.dt, float)
        piece = _Piece(t, X, Y, last, blocks, count, every)
        if mark >= 0:
            self._diverged(piece, int(mark))
        elif not self._too_fast(piece) and not self._limits(piece):
            self._keep(piece, len(X))
            self.X, self.step = last, self.step + count

    def _keep(self, piece: _Piece, rows: int) -> None:
        kept = (self.step + np.arange(rows) * piece.every) % self.clock.every == 0
        if self.watch is not None and rows:
            self.watch(piece.t[:rows], piece.X[:rows, : self.loop.ends[-1]], piece.Y[:rows])
        self.record.keep(piece.t[:rows][kept], piece.X[:rows, : self.loop.ends[-1]][kept], piece.Y[:rows][kept])

    def _again(self, X: Array, blocks: Array, first: int, count: int) -> Array:
        """The state `count` steps after X at step `first`."""
        if count == 0:
            return X
        part = blocks if len(blocks) == 1 else blocks[first - self.step : first - self.step + count]
        return self.call(X, part, count, count, first)[2]

    def _row(self, sample: bool = True) -> tuple[float, Array, Array]:
        """The row of the state reached, observed with the inputs of the step that would begin there, or, without a
        `sample`, with the command still held."""
        blocks = self.blocks(self.step, 1)
        if self.inputs.stream.wiring.flagged and not sample:
            blocks[:, -1] = 0.0
        X, Y, *_ = self.call(self.X, blocks, 1, 1, self.step)
        return self.clock.start(self.step), X[0, : self.loop.ends[-1]], Y[0]

    # ----------------------------------------------------------------------------------------------- what ends a run
    def _diverged(self, piece: _Piece, mark: int) -> None:
        """Rows up to the last finite state, and the sentence."""
        row = (mark - self.step) // piece.every
        at = self.step + row * piece.every
        state = self._again(piece.X[row], piece.blocks, at, mark - at)
        self._keep(piece, row + (at < mark))  # the row at the very step is made by `run`
        self.X, self.step = state, mark
        time, last, seen = self._row()
        said = self._bad_input(time, last, seen) or self._next_input(last, mark)
        self.record.end(DIVERGED, said or tell_divergence(self.loop.plant, time, last, seen, self._remedy()))

    def _next_input(self, X: Array, step: int) -> str | None:
        """An input that is no number by the end of the step, though it was one at its beginning."""
        t = self.clock.start(step + 1)
        try:
            w = self.loop.applied(t, X.tolist(), self.inputs.pick(t, self.blocks(step, 1)[0]))
        except (ArithmeticError, ValueError):
            return None
        return tell_bad_input(self.loop, t, np.asarray(w, float))

    def _too_fast(self, piece: _Piece) -> bool:
        """Whether a joint turns further in one step than a step can resolve: then the run ends."""
        plant, found = self.loop.plant, self._fast(piece.X, piece.Y)
        if not found.any():
            return False
        fast = np.argwhere(found)
        row, joint = (int(k) for k in fast[0])
        rate = abs(rates_in(plant, piece.X[row], piece.Y[row])[joint])
        self._keep(piece, row)
        self.X, self.step = piece.X[row], self.step + row * piece.every
        name = plant.states[joint] if plant.velocities is None else plant.rates[joint]
        self.record.end(
            DIVERGED,
            f"diverged at t = {piece.t[row]:.6g} s in joint {name!r}: at {rate:.3g} rad/s it turns more "
            f"than half a turn in a step; {self._remedy()}",
        )
        return True

    def _limits(self, piece: _Piece) -> bool:
        """Limits reached in these rows, one a step; True where that ends the run."""
        if self.fences is None:
            return False
        states = np.concatenate((piece.X, piece.last[None]))
        out = self.fences.margin(states[:, : self.n]) < 0
        new = out & ~np.concatenate((self.outside[None], out[:-1]))
        for row, joint in np.argwhere(new).tolist():
            event = self.fences.event(self.clock.start(self.step + row), states[row, : self.n], joint)
            n = self.n
            gained = np.abs(states[row] - states[max(row - 1, 0)])[n : 2 * n]
            if self.fences.inertia is None or abs(states[row, n + joint]) > 2.0 * gained[joint]:
                self.record.events.append(event)
            if self.fences.stop or self.fences.inertia is not None:
                self._keep(piece, row)
                self.X, self.step = states[row], self.step + row
                if self.fences.stop:
                    self.record.end(EVENT, event.message)
                else:
                    self._bounce(gained)
                return True
        self.outside, self.most = out[-1], 2 * self.most
        return False

    def _bounce(self, gained: Array) -> None:
        """The state at a limit after the impact, its lost energy in the books."""
        assert self.fences is not None
        n = self.n
        q, qd, lost = self.fences.bounced(self.X[:n], self.X[n : 2 * n], gained)
        self.X = np.concatenate((q, qd, self.X[2 * n :]))
        if self.loop.supply is not None:
            self.X[self.loop.ends[4] - 1] += lost
        self.most = BOUNCING


@dataclass(frozen=True, eq=False)
class _Piece:
    """What one call of the loop gave: rows at times t, every so many steps, and the state after the last of `count`."""

    t: Array
    X: Array
    Y: Array
    last: Array
    blocks: Array
    count: int
    every: int
