"""What a chunk of a batch is computed from: a plan, which is the same for all, and a range of indices.

A plan holds no function of anyone's, only what was traced from them (`compile.rollout.Rollout`), numbers and
distributions: it pickles by what it is made from, and any process makes the same machine code, and the same bits, of
it.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dalembert.compile import Kernel
from dalembert.compile.rollout import Rollout
from dalembert.errors import InputError
from dalembert.flow import Array
from dalembert.simulation.driver import Ask, Driver
from dalembert.simulation.results import Tree
from dalembert.simulation.stream import Clock, Column, Cut, InputStream

SHORT_STEP = 1e-5  # of a step: by which poles are found


@dataclass(frozen=True, eq=False)
class Plan:
    """The part of a batch that is the same for all of its chunks.

    `initial`: the columns of x0 (count, n), in order. `stream`: the inputs, and the clock. `started`: the states whose
    first values are the last numbers of p. `judged`: the method leaves a residual beside the state. `rows`: whether
    states are kept at all times, as they are ("all"), as moments ("statistics"), or only the last ("final"); of x and y
    together the `columns`. `begin`: (x, p, u) at t = 0 → x, where a law starts its own states by what it measures, or
    measures count from the start. `asks`: takes the samples of so many runs of a law with a memory: such a plan stays
    in this process."""

    loop: Rollout
    initial: tuple[Column, ...]
    stream: InputStream
    started: tuple[int, ...]
    judged: bool
    rows: str
    columns: tuple[int, ...]
    begin: Kernel | None = None
    asks: Callable[[int], Ask] | None = None

    @property
    def clock(self) -> Clock:
        return self.stream.clock

    @property
    def steps(self) -> int:
        return self.clock.steps

    @property
    def dt(self) -> float:
        return self.clock.dt

    @property
    def n(self) -> int:
        return self.loop.size["x"] - self.judged

    @property
    def kept(self) -> int:
        """Rows of a run, the last state included."""
        return self.clock.rows

    def needed(self) -> int:
        """Bytes that one run needs while it is computed."""
        width = self.loop.size["x"] + self.loop.size["y"]
        moments = 7 * self.kept * len(self.columns) if self.rows == "statistics" else 0
        w = self.stream.wiring
        moving = (12 if self.stream.noise else 2) * self.steps * w.size if w.rows or w.moving or w.flagged else 0
        return 8 * (width * (self.kept + 4) + len(self.columns) * self.kept + moments + moving + 64)

    def sent(self, count: int) -> int:
        """Bytes of what comes back from so many runs."""
        levels = 2 * count.bit_length() if self.rows == "statistics" else 0
        kept = self.kept * len(self.columns) * (count if self.rows == "all" else 5 * levels)
        return 8 * (count * (self.n + self.loop.size["y"] + 2) + kept) + 1000

    def given(self, first: int, count: int, cut: Cut) -> tuple[Array, Array]:
        """Return (x0, p) of runs first, … before the loop begins, (count, ·)."""
        parts = [c.values(self.stream.seed, first, count, cut) for c in self.initial]
        x0 = np.concatenate([np.broadcast_to(x, (count, x.shape[-1])) for x in parts], -1)
        p = self.stream.p(first, count, cut)
        if self.started:
            p[:, -len(self.started) :] = x0[:, self.started]
        return x0, p

    def inputs(self, first: int, count: int, cut: Cut) -> Array:
        """Return u of all steps of runs first, …, (count or 1, steps or 1, size)."""
        return self.stream.blocks(0, self.steps if self.stream.wiring.size else 1, first, count, cut)

    def start(self, first: int, count: int, cut: Cut) -> tuple[Array, Array]:
        """Return (x0, p) of runs first, …, as the loop takes them."""
        x0, p = self.given(first, count, cut)
        if self.begin is not None:
            u = self.stream.blocks(0, 1, first, count, cut)[:, 0]
            with np.errstate(all="ignore"):  # a start that is not finite is a run that diverged
                x0 = self.begin(np.concatenate((x0, p, np.broadcast_to(u, (count, u.shape[-1]))), -1))
        if self.judged:
            x0 = np.concatenate((x0, np.zeros((count, 1))), -1)
        return x0, p

    def fastest_pole(self, index: int, cut: Cut, states: int) -> float:
        """The largest |λ| of ∂ẋ/∂x at the start of a rollout, of those that decay [1/s], of its first so many states;
        by differences of a short step. 0 where samples are taken."""
        if self.asks is not None or "begun" in self.loop.size:
            return 0.0
        x0, p = self.start(index, 1, cut)
        u = self.stream.blocks(0, 1, index, 1, cut)
        h = SHORT_STEP * self.dt
        moves = np.zeros((states, x0.shape[-1]))
        np.fill_diagonal(moves, 1e-6 * np.maximum(1.0, np.abs(x0[0, :states])))
        with np.errstate(all="ignore"):
            ends = [self.loop(x0 + sign * moves, u[:, :1], p, 1, h)[2][:, :states] for sign in (1.0, -1.0)]
        slopes = (ends[0] - ends[1]) / (2.0 * moves.max(axis=1))[:, None]
        if not np.isfinite(slopes).all():
            return 0.0
        poles = np.linalg.eigvals((slopes.T - np.eye(states)) / h)
        return float(np.abs(poles[poles.real < 0]).max(initial=0.0))

    def run(self, first: int, count: int, cut: Cut) -> Piece:
        """Runs first, …, first + count − 1; `cut` holds their rows of the arrays that are not in the plan."""
        x0, p = self.start(first, count, cut)
        X = np.empty((count, self.kept, x0.shape[-1]))
        Y = np.empty((count, self.kept, self.loop.size["y"]))
        ask = None if self.asks is None else self.asks(count)
        w = self.stream.wiring

        def blocks(step: int, steps: int) -> Array:
            return self.stream.blocks(step, steps if w.size else 1, first, count, cut)

        ends = w.flagged or bool(w.moving)
        driver = Driver(self.loop, self.clock, blocks, p, self.stream.hold, ask, 0.0, ends)
        diverged = driver.fill(x0, X, Y)
        residual = X[:, -1, -1].copy() if self.judged else np.zeros(count)
        last = np.concatenate((X[:, -1, : self.n], Y[:, -1]), -1)
        rows, tree = None, None
        if self.rows != "final":
            of_x = [k for k in self.columns if k < self.n]
            kept = np.concatenate((X[..., of_x], Y[..., [k - self.n for k in self.columns if k >= self.n]]), -1)
            if self.rows == "statistics":
                tree = Tree()
                tree.add_runs(first, kept)
            else:
                rows = kept
        return Piece(first, last, diverged, residual, rows, tree)


@dataclass(frozen=True, eq=False)
class Piece:
    """What came out for rollouts first, first + 1, …: the last x and y, the steps that diverged, residuals, and what is
    kept of all times."""

    first: int
    last: Array
    diverged: NDArray[np.int64]
    residual: Array
    rows: Array | None
    tree: Tree | None


@dataclass(frozen=True, eq=False)
class Same:
    """Something known by what it is, not by what it is like: the key of memos, so that a batch asked for again is
    neither traced nor packed again."""

    it: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


@dataclass(frozen=True, eq=False)
class Packed:
    """A plan as bytes: its loop, and the rest. Known by what is in them: a process unpacks, and compiles, a loop once,
    whatever plans it is in."""

    loop: bytes
    rest: bytes
    digest: str

    @staticmethod
    def of(plan: Plan) -> Packed:
        if plan.asks is not None:
            raise InputError(
                "a law with a memory of its own is asked in this process: leave out on=, and give threads="
            )
        loop, digest = _packed(Same(plan.loop))
        rest = pickle.dumps([getattr(plan, name) for name in _REST], protocol=5)
        return Packed(loop, rest, hashlib.sha256(digest + rest).hexdigest())

    def plan(self) -> Plan:
        if self.digest not in _plans:
            if len(_plans) >= 16:
                _plans.pop(next(iter(_plans)), None)
            values = pickle.loads(self.rest)
            _plans[self.digest] = Plan(_unpacked(self.loop), **dict(zip(_REST, values, strict=True)))
        return _plans[self.digest]


_REST = tuple(f.name for f in fields(Plan) if f.name not in ("loop", "asks"))
_plans: dict[str, Plan] = {}  # of this process, the last few


@lru_cache(maxsize=16)
def _packed(loop: Same) -> tuple[bytes, bytes]:
    data = pickle.dumps(loop.it, protocol=5)
    return data, hashlib.sha256(data).digest()


@lru_cache(maxsize=16)
def _unpacked(loop: bytes) -> Rollout:
    return pickle.loads(loop)  # made by `Packed.of`, by whoever asks for the batch


def work(packed: Packed, first: int, count: int, cut: bytes) -> bytes:
    """One task of a cluster. Arrays go as one piece of bytes each way: many small ones would cost the cluster more than
    what is computed."""
    return pickle.dumps(packed.plan().run(first, count, pickle.loads(cut)), protocol=5)
