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
from dalembert.simulation.draws import Distribution, Noise
from dalembert.simulation.fixed_step import Ask, fill
from dalembert.simulation.results import Tree

SHORT_STEP = 1e-5  # of a step: by which poles are found


@dataclass(frozen=True, eq=False)
class Column:
    """`size` numbers of every rollout, called `name`: the same for all (an array), drawn (a distribution, noise), or
    cut from an array of all rollouts, which is not in the plan (None)."""

    name: str
    size: int
    value: Array | Distribution | Noise | None


@dataclass(frozen=True, eq=False)
class Plan:
    """`initial`, `held`, `moving`: the columns of x0 (count, n), of p (count, l) and of u (count, steps, m), in order;
    `shared` (steps + 1, k) is what follows in u, the same for all, its last row for the end.
    `started`: the states whose first values follow in p. `judged`: the method leaves a residual beside the state.
    `rows`: whether states are kept at all times, as they are ("all"), as moments ("statistics"), or only the last
    ("final"); of x and y together the `columns`. `begin`: (x, p, u) at t = 0 → x, where a law starts its own states by
    what it measures, or measures count from the start. `asks`: takes the samples of so many rollouts, every `hold`
    steps, of a law with a memory: such a plan stays in this process."""

    loop: Rollout
    initial: tuple[Column, ...]
    held: tuple[Column, ...]
    started: tuple[int, ...]
    moving: tuple[Column, ...]
    shared: Array | None
    judged: bool
    steps: int
    dt: float
    every: int
    seed: int
    rows: str
    columns: tuple[int, ...]
    begin: Kernel | None = None
    asks: Callable[[int], Ask] | None = None
    hold: int = 1

    @property
    def n(self) -> int:
        return self.loop.size["x"] - self.judged

    @property
    def kept(self) -> int:
        """Rows of a rollout, the last state included."""
        return -(-self.steps // self.every) + 1

    def needed(self) -> int:
        """Bytes that one rollout needs while it is computed."""
        width = self.loop.size["x"] + self.loop.size["y"]
        moments = 7 * self.kept * len(self.columns) if self.rows == "statistics" else 0
        noise = 12 if any(isinstance(c.value, Noise) for c in self.moving) else 2
        moving = noise * self.steps * sum(c.size for c in self.moving)
        moving += 0 if self.shared is None or not self.moving else self.shared.size
        return 8 * (width * (self.kept + 4) + len(self.columns) * self.kept + moments + moving + 64)

    def sent(self, count: int) -> int:
        """Bytes of what comes back from so many rollouts."""
        levels = 2 * count.bit_length() if self.rows == "statistics" else 0
        kept = self.kept * len(self.columns) * (count if self.rows == "all" else 5 * levels)
        return 8 * (count * (self.n + self.loop.size["y"] + 2) + kept) + 1000

    def values(self, column: Column, first: int, count: int, cut: dict[str, Array]) -> Array:
        """(count or 1, size), or (count or 1, steps) of what moves."""
        if isinstance(column.value, Distribution):
            return column.value.draw(self.seed, column.name, first, count).reshape(count, column.size)
        if isinstance(column.value, Noise):
            return column.value.draw(self.seed, column.name, first, count, self.steps, self.dt)
        return cut[column.name] if column.value is None else column.value

    def together(self, columns: tuple[Column, ...], first: int, count: int, cut: dict[str, Array]) -> Array:
        parts = [self.values(c, first, count, cut) for c in columns]
        return np.concatenate([np.zeros((count, 0)), *(np.broadcast_to(x, (count, x.shape[-1])) for x in parts)], -1)

    def inputs(self, first: int, count: int, cut: dict[str, Array]) -> tuple[Array, Array | None]:
        """u (count or 1, steps or 1, m), and with what is shared at the end, (count or 1, 1, m)."""
        moving = [self.values(c, first, count, cut) for c in self.moving]
        many = 1 if all(len(x) == 1 for x in moving) else count
        parts = [np.broadcast_to(x, (many, self.steps))[..., None] for x in moving]
        if self.shared is None:
            return (np.concatenate(parts, -1) if parts else np.zeros((1, 1, 0))), None
        k = self.shared.shape[1]
        u = np.concatenate([*parts, np.broadcast_to(self.shared[:-1], (many, self.steps, k))], -1)
        end = [part[:, -1:] for part in parts]
        return u, np.concatenate([*end, np.broadcast_to(self.shared[-1:], (many, 1, k))], -1)

    def start(self, first: int, count: int, cut: dict[str, Array]) -> tuple[Array, Array, Array, Array | None]:
        """x0, p, u and u at the end of rollouts first, …, as the loop takes them."""
        x0 = self.together(self.initial, first, count, cut)
        p = np.concatenate((self.together(self.held, first, count, cut), x0[:, list(self.started)]), -1)
        u, u_end = self.inputs(first, count, cut)
        if self.begin is not None:
            with np.errstate(all="ignore"):  # what is not finite is told as a rollout that diverged
                x0 = self.begin(np.concatenate((x0, p, np.broadcast_to(u[:, 0], (count, u.shape[-1]))), -1))
        if self.judged:
            x0 = np.concatenate((x0, np.zeros((count, 1))), -1)
        return x0, p, u, u_end

    def fastest_pole(self, index: int, cut: dict[str, Array], states: int) -> float:
        """The largest |λ| of ∂ẋ/∂x at the start of a rollout, of those that decay [1/s], of its first so many states;
        by differences of a short step. 0 where samples are taken."""
        if self.asks is not None or "begun" in self.loop.size:
            return 0.0
        x0, p, u, _ = self.start(index, 1, cut)
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

    def run(self, first: int, count: int, cut: dict[str, Array]) -> Piece:
        """Rollouts first, …, first + count − 1; `cut` holds their rows of the arrays that are not in the plan."""
        x0, p, u, u_end = self.start(first, count, cut)
        X = np.empty((count, self.kept, x0.shape[-1]))
        Y = np.empty((count, self.kept, self.loop.size["y"]))
        ask = None if self.asks is None else self.asks(count)
        diverged = fill(self.loop, x0, u, p, self.steps, self.dt, 0.0, self.every, X, Y, u_end, ask, self.hold)
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
                "a law with a memory of its own is asked in this process: leave out scheduler=, and give threads="
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
