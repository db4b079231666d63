"""A loop run in steps of equal length: compiled pieces, one after the other, and what ends them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.compile.rollout import Call, Rollout, compile_rollout
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.simulation.feed import Feed
from dalembert.simulation.loop import Loop
from dalembert.simulation.record import (
    DIVERGED,
    EVENT,
    INTERRUPTED,
    Fences,
    Record,
    bad_input,
    blown,
    rates_of,
    said_by,
)
from dalembert.simulation.steps import METHODS, System
from dalembert.simulation.systems import Plant

Array = NDArray[np.float64]

PIECE = 100_000_000  # operations in one call of the loop, a twentieth of a second: an interrupt waits no longer
ROWS = 20_000  # steps whose inputs are worked out at once
BOUNCING = 16  # steps looked ahead after a bounce, which the next one may end
STABLE = 2.0  # |λ| dt up to which every method here keeps a decaying pole decaying
TURN = math.pi  # [rad] a revolute joint that turns further in one step is not resolved by it


def rollout_of(loop: Loop, feed: Feed, method: str, iterations: int | None, asked: bool) -> Rollout:
    """The compiled loop. `asked`: the law is asked between pieces, in Python, and not in the loop."""
    sampled = loop.sample is not None and not asked

    def rate(t: Scalar, X: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        return loop.rate(t, X, feed.pick(t, u), feed.noise_of(u), p)

    def settle(t: Scalar, before: Scalars, X: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        return loop.settle(t, before, X, feed.pick(t, u), feed.noise_of(u), p)

    def take(t: Scalar, X: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        n = loop.size
        return [*loop.take(t, X[:n], feed.pick(t, u), feed.noise_of(u), p, feed.due(u)), *X[n:]]

    def observe(t: Scalar, X: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        at = take(t, X, u, p) if sampled else X
        return loop.observe(t, at[: loop.size], feed.pick(t, u), feed.noise_of(u), p)

    system = System(loop.size, loop.flow.positions, rate, settle if loop.flow.settle is not None else None)
    step = METHODS[method].make(system, **({"iterations": iterations} if iterations is not None else {}))
    sizes = {
        "x": loop.size + step.judged,
        "u": feed.size,
        "p": len(loop.law.parameters) if loop.law else 0,
        "y": loop.observed,
        **step.sizes,
    }
    calls = list(step.calls)
    if sampled:
        sizes["begun"] = sizes["x"]
        calls = [Call(c.function, tuple("begun" if r == "x" else r for r in c.reads), c.writes) for c in calls]
        calls.insert(0, Call(take, ("t", "x", "u", "p"), "begun"))
    watched = Call(observe, ("t", "x", "u", "p"), "y") if loop.observed else None
    return compile_rollout(calls, sizes, f"{loop.flow.name} {method}", watched)


@dataclass(eq=False)
class Stepper:
    """One run: `steps` steps of dt from X0, of which every `every`-th state is kept, and the last. `ask` asks a law in
    Python: (t, X, signals, noise) → X after the sample."""

    plant: Plant
    loop: Loop
    feed: Feed
    rollout: Rollout
    parameters: Array
    dt: float
    steps: int
    every: int
    judged: bool
    ask: Callable[[float, Array, Array, Array], Array] | None = None
    fences: Fences | None = None

    def _remedy(self) -> str:
        """What may be done about a run that diverged: a step that the loop's fastest pole at the start bears."""
        fastest = self._fastest_pole()
        if self.dt * fastest <= STABLE:
            return f"the step of {self.dt:g} s may be too long"
        parts = next(n for n in (m * 10**k for k in range(300) for m in (1, 2, 5)) if n * STABLE >= self.dt * fastest)
        return (
            f"the fastest pole of the loop at the start is {-fastest:.3g} 1/s, and steps of {self.dt:g} s are too long "
            f"for it: take dt={self.dt / parts:.12g}, or method='Radau'"
        )

    def _fastest_pole(self) -> float:
        """The largest |λ| of ∂ẋ/∂x at the start, of those that decay [1/s], by differences."""
        block, p = self.feed.blocks(0, 1)[0].tolist(), self.parameters.tolist()
        s, noise = self.feed.pick(0.0, block), self.feed.noise_of(block)
        columns = []
        try:
            for k in range(self.loop.nx + self.loop.nz):
                h = 1e-6 * max(1.0, abs(self.begun[k]))
                sides = []
                for way in (h, -h):
                    X = list(self.begun)
                    X[k] += way
                    sides.append(np.array(self.loop.rate(0.0, X, s, noise, p), float))
                columns.append((sides[0] - sides[1]) / (2 * h))
            J = np.array(columns).T[: len(columns)]
            poles = np.linalg.eigvals(J)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return 0.0
        return float(np.abs(poles[poles.real < 0]).max(initial=0.0))

    def run(self, X0: Array, record: Record, progress: Callable[[float], None]) -> None:
        """Fill the record."""
        self.X, self.step, self.record = np.append(X0, 0.0) if self.judged else X0, 0, record
        self.most = ROWS  # steps of a piece, few where a joint lies at its limit
        self.begun, self.outside = X0.tolist(), np.zeros(self.plant.n, bool)
        try:
            while self.step < self.steps and not record.message:
                self._piece()
                progress(self.step / self.steps)
        except KeyboardInterrupt:
            record.end(INTERRUPTED, f"interrupted at t = {self.step * self.dt:.6g} s")
        t, X, Y = self._row(sample=False)
        record.keep(np.array([t]), X[None], Y[None])
        if self.judged:
            record.residual = float(self.X[-1])
        if not record.message and not np.isfinite(Y[len(self.loop.flow.outputs) :]).all():
            fault = bad_input(self.loop, t, Y)
            if fault:
                record.end(DIVERGED, fault)

    # --------------------------------------------------------------------------------------------------- one piece
    def _count(self) -> int:
        left = self.steps - self.step
        if self.ask is None:
            many = min(PIECE // max(self.rollout.operations, 1), ROWS)
            if self.fences is not None:
                return min(max(many, 1), left, self.most)
            if many < self.every:  # rows far apart: pieces between them, so that an interrupt is heard
                return min(max(many, 1), self.every - self.step % self.every, left)
            return min(many // self.every * self.every, left)
        # To the next sample or kept row, so that each piece keeps its first row, or none.
        return min(*(grid - self.step % grid for grid in (self.feed.hold, self.every)), left)

    def _piece(self) -> None:
        count = self._count()
        blocks = self.feed.blocks(self.step, 1 if self.feed.constant else count)
        fault = self.feed.fault(blocks, self.step)
        if fault is not None:  # up to there, and no further
            count = fault[0]
        if count and self.ask is not None and self.step % self.feed.hold == 0 and not self._asked(blocks[0]):
            return
        if count:
            self._advance(blocks if self.feed.constant else blocks[:count], count)
        if fault is not None and not self.record.message:
            self.record.end(DIVERGED, fault[1])

    def _asked(self, block: Array) -> bool:
        """The law asked in Python; False if what it says is not finite."""
        assert self.ask is not None
        n, t = self.loop.size, self.step * self.dt
        s, noise = block[: self.feed.width], np.asarray(self.feed.noise_of(block.tolist()))
        X = self.ask(t, self.X[:n], s, noise)
        if not np.isfinite(X).all():
            self.record.end(DIVERGED, said_by(self.loop, t, X))
            return False
        self.X = np.concatenate((X, self.X[n:]))
        return True

    def _advance(self, blocks: Array, count: int) -> None:
        """`count` steps, and the rows they keep; limits are looked for after each step."""
        every = 1 if self.fences is not None else min(self.every, count)
        with np.errstate(all="ignore"):
            X, Y, last, _, mark = self.rollout(self.X, blocks, self.parameters, count, self.dt, 0.0, every, self.step)
        t = np.asarray((self.step + np.arange(len(X)) * every) * self.dt, float)
        piece = _Piece(t, X, Y, last, blocks, count, every)
        if mark >= 0:
            self._diverged(piece, int(mark))
        elif not self._too_fast(piece) and not self._limits(piece):
            self._keep(piece, len(X))
            self.X, self.step = last, self.step + count

    def _keep(self, piece: _Piece, rows: int) -> None:
        kept = (self.step + np.arange(rows) * piece.every) % self.every == 0
        self.record.keep(piece.t[:rows][kept], piece.X[:rows, : self.loop.size][kept], piece.Y[:rows][kept])

    def _again(self, X: Array, blocks: Array, first: int, count: int) -> Array:
        """The state `count` steps after X at step `first`."""
        if count == 0:
            return X
        part = blocks if len(blocks) == 1 else blocks[first - self.step : first - self.step + count]
        with np.errstate(all="ignore"):
            return self.rollout(X, part, self.parameters, count, self.dt, 0.0, count, first)[2]

    def _row(self, sample: bool = True) -> tuple[float, Array, Array]:
        """The row of the state reached, observed with the inputs of the step that would begin there, or, without a
        `sample`, with the command still held."""
        blocks = self.feed.blocks(self.step, 1)
        if self.feed.flagged and not sample:
            blocks[:, -1] = 0.0
        with np.errstate(all="ignore"):
            X, Y, *_ = self.rollout(self.X, blocks, self.parameters, 1, self.dt, 0.0, 1, self.step)
        return self.step * self.dt, X[0, : self.loop.size], Y[0]

    # ----------------------------------------------------------------------------------------------- what ends a run
    def _diverged(self, piece: _Piece, mark: int) -> None:
        """Rows up to the last finite state, and the sentence."""
        row = (mark - self.step) // piece.every
        at = self.step + row * piece.every
        state = self._again(piece.X[row], piece.blocks, at, mark - at)
        self._keep(piece, row + (at < mark))  # the row at the very step is made by `run`
        self.X, self.step = state, mark
        time, last, seen = self._row()
        said = bad_input(self.loop, time, seen) or self._next_input(last, mark)
        self.record.end(DIVERGED, said or blown(self.plant, self.loop, time, last, seen, self._remedy()))

    def _next_input(self, X: Array, step: int) -> str | None:
        """An input that is no number by the end of the step, though it was one at its beginning."""
        block = self.feed.blocks(step, 1)[0].tolist()
        t = (step + 1) * self.dt
        p = self.parameters.tolist()
        try:
            w = self.loop.applied(t, X.tolist(), self.feed.pick(t, block), self.feed.noise_of(block), p)
        except (ArithmeticError, ValueError):
            return None
        row = np.concatenate((np.zeros(len(self.loop.flow.outputs)), np.asarray(w, float)))
        return bad_input(self.loop, t, row)

    def _too_fast(self, piece: _Piece) -> bool:
        """Whether a joint turns further in one step than a step can resolve: then the run ends."""
        turning = np.array([unit == "rad" for unit in self.plant.units], bool)
        if not turning.any():
            return False
        rates = np.abs(rates_of(self.plant)(piece.X, piece.Y))
        fast = np.argwhere((rates * self.dt > TURN) & turning)
        if not len(fast):
            return False
        row, joint = (int(k) for k in fast[0])
        self._keep(piece, row)
        self.X, self.step = piece.X[row], self.step + row * piece.every
        name = self.plant.flow.states[joint]
        self.record.end(
            DIVERGED,
            f"diverged at t = {piece.t[row]:.6g} s in joint {name!r}: at {rates[row, joint]:.3g} rad/s it turns more "
            f"than half a turn in a step; {self._remedy()}",
        )
        return True

    def _limits(self, piece: _Piece) -> bool:
        """Limits reached in these rows, one a step; True where that ends the run."""
        if self.fences is None:
            return False
        states = np.concatenate((piece.X, piece.last[None]))
        out = self.fences.margin(states[:, : self.plant.n]) < 0
        new = out & ~np.concatenate((self.outside[None], out[:-1]))
        for row, joint in np.argwhere(new).tolist():
            event = self.fences.event((self.step + row) * self.dt, states[row, : self.plant.n], joint)
            n = self.plant.n
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
        n = self.plant.n
        q, qd, lost = self.fences.bounced(self.X[:n], self.X[n : 2 * n], gained)
        self.X = np.concatenate((q, qd, self.X[2 * n :]))
        if self.loop.books:
            self.X[self.loop.size - 1] += lost
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


def check_method(plant: Plant, method: str, iterations: Any) -> None:
    row = METHODS[method]
    if row.mechanical and not 0 < 2 * plant.flow.positions <= len(plant.flow.states):
        raise InputError(f"{method} needs positions and their rates, and {plant.flow.name!r} names none; take rk4")
    if iterations is not None and not row.iterated:
        raise InputError(f"{method} does not iterate: iterations= is for implicit methods")
