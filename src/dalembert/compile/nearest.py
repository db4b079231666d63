"""The least distance among balls that moving frames carry, and between them and obstacles, in one machine loop.

Balls, their groups, the compared pairs and the obstacles are data: nothing is compiled again when they
change. W states go through at once. A group of balls lies in a larger ball, and so do clusters of a few of them; where
that is farther away, in all W states, than what was found so far, none of its balls is looked at.

Groups may have convex pieces (`separation`) besides: a pair of groups that both have some is decided by these.

    place(x) → (frames + 1, 12)       rotation row by row and origin of every frame, the last one at rest
    distance(row, point) → number     for each kind of obstacle: signed, changing by no more than the point moves
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.compile import llvm, separation
from dalembert.compile.body import Emission, body, constants, sin_cos_function
from dalembert.compile.copies import copy_functions
from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer

SYMBOL = "dalembert_nearest"
HOW = Emission(SYMBOL)
# Numbers of a ball: frame, center, radius; of a cluster besides: its first ball, and that after its last; of a group
# besides: its first cluster, and that after its last.
BALL, CLUSTER, GROUP = 5, 7, 9
MOST_BALLS = 40_000  # a pair of them is one whole number of 32 bits
Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class PieceTables:
    """Convex pieces as `separation` takes them: numbers (k, 5), corners (N, 3), the first corner of each (k + 1,), and
    of each pair of groups the first piece and the one after the last of both (p, 4)."""

    numbers: Numbers
    corners: Numbers
    first: NDArray[np.int64]
    ends: NDArray[np.int64]
    _tables: dict[str, tuple[Numbers, Numbers, NDArray[np.int64]]] = field(default_factory=dict)

    @staticmethod
    def none(pairs: int) -> PieceTables:
        return PieceTables(np.zeros((0, 5)), np.zeros((0, 3)), np.zeros(1, np.int64), np.zeros((pairs, 4), np.int64))

    def tables(self, kind: Kind) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
        """Numbers, corners by blocks, and the index, for a kind of number."""
        if kind.name not in self._tables:
            dtype = np.dtype(f"f{kind.bytes}")
            blocks, index = separation.corner_blocks(self.corners, self.first, llvm.width_for(llvm.host(), kind))
            self._tables[kind.name] = (np.ascontiguousarray(self.numbers, dtype), blocks.astype(dtype), index)
        return self._tables[kind.name]

    def compared(self, ends: NDArray[np.int64]) -> PieceTables:
        """The same for other pairs."""
        return PieceTables(self.numbers, self.corners, self.first, ends, self._tables)


@dataclass(frozen=True, eq=False)
class Nearest:
    """nearest(x, balls, clusters, groups, pairs, tables, limit, moving, change, both, pieces) → distance, which (B, 2).

    x (B, n); balls (s, 5); clusters (c, 7); groups (g, 9); pairs (p, 2) of groups; one table of rows for each kind of
    obstacle; the tables of pieces, and which of these each pair compares. The first distance is the least between balls
    or pieces of a pair of groups, the second the least between an obstacle and a ball of the first `moving` groups;
    `limit` where none is less, with which = −1. Else which is i · s + j of the two balls, −2 − k of the pieces of pair
    k, or o · s + i of obstacle (the tables one after another) and ball. Without `both` the first is looked for only
    where it is less than the second. `change` (B, 2, g + p), if given, makes of the distances d of every group, and of
    every pair, (d − c₀) c₁, c₁ > 0. Doubles, or float32 if x is."""

    place: Program
    n: int
    frames: int
    solids: tuple[tuple[int, Program], ...]  # columns of each table, and its distance
    _code: dict[str, tuple[Any, Any, int]] = field(default_factory=dict)

    def __call__(
        self,
        x: Numbers,
        balls: Numbers,
        clusters: Numbers,
        groups: Numbers,
        pairs: Numbers,
        tables: Sequence[Numbers],
        limit: float,
        moving: int,
        change: Numbers | None = None,
        both: bool = True,
        pieces: PieceTables | None = None,
    ) -> tuple[Numbers, NDArray[np.int64]]:
        kind = SINGLE if x.dtype == np.float32 else DOUBLE
        if len(balls) * sum(map(len, tables)) >= 2**31:  # which obstacle and ball it is takes more than 32 bits
            kind = DOUBLE
        function, _, width = self._compiled(kind)
        dtype, whole = np.dtype(f"f{kind.bytes}"), np.dtype(f"i{kind.bytes}")
        if len(balls) > MOST_BALLS:
            raise ValueError(f"{len(balls)} balls; at most {MOST_BALLS}")
        half = len(groups) + len(pairs)
        more = np.repeat([[0.0, 1.0]], half, axis=1) if change is None else change.reshape(len(x), -1)
        arrays = [np.ascontiguousarray(a, dtype) for a in (x, balls, clusters, groups, *tables, more)]
        meet = np.ascontiguousarray(pairs, np.int64)
        pieces = pieces or PieceTables.none(len(pairs))
        solid = pieces.tables(kind)
        ends = np.ascontiguousarray(pieces.ends, np.int64)
        own = np.zeros(separation.OWN + 2 * width, dtype)
        found, which = np.empty((len(x), 2), dtype), np.empty((len(x), 2), whole)
        centers = 3 * (len(balls) + len(clusters) + len(groups))
        words = (12 * (self.frames + 1) + centers + self.n + more.shape[1] + 40) * width * kind.bytes + 64
        scratch = np.empty(words, np.uint8)
        start = scratch.ctypes.data + (-scratch.ctypes.data) % 64
        bound = np.array([limit], dtype)
        record = np.array(
            [
                *(word for a in (*arrays, meet) for word in (a.ctypes.data, len(a))),
                found.ctypes.data,
                which.ctypes.data,
                bound.ctypes.data,
                start,
                moving,
                both,
                *(a.ctypes.data for a in (*solid, own, ends)),
                separation.machine(kind).addresses["separate"],
            ],
            np.int64,
        )
        if len(x):
            function(record.ctypes.data)
        return found, which.astype(np.int64)

    def _compiled(self, kind: Kind) -> tuple[Any, Any, int]:
        key = kind.name
        if key not in self._code:
            width = llvm.width_for(llvm.host(), kind)
            text = repr((self.n, self.frames, self.place.text, *((m, p.text) for m, p in self.solids)))
            linked = llvm.linked(lambda: self.module(width, kind), (SYMBOL,), key, str(width), text)
            call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(linked.addresses[SYMBOL])
            self._code[key] = (call, linked, width)
        return self._code[key]

    def module(self, width: int, kind: Kind) -> str:
        """The IR."""
        parts = [
            *Writer(width, kind).declarations(),
            copy_functions(width, kind, 1),
            body(self.place, [0, self.n], width, kind, "place", HOW),
            constants(self.place, width, kind, "rest"),
            sin_cos_function(width, kind),
        ]
        for k, (columns, program) in enumerate(self.solids):
            parts.append(body(program, [0, columns, columns + 3], width, kind, f"solid_{k}", HOW))
        parts.append(_Loop(self, width, kind).write())
        return "\n".join(parts) + "\n"

    def __reduce__(self) -> tuple[type[Nearest], tuple[object, ...]]:
        return (Nearest, (self.place, self.n, self.frames, self.solids))


class _Loop(Writer):
    """The function over the record: for tiles of W states, frames, centers, pairs of groups, obstacles."""

    def __init__(self, of: Nearest, width: int, kind: Kind) -> None:
        super().__init__(width, kind)
        self.of, self.block, self.labels = of, "entry", 0

    def write(self) -> str:
        of, w = self.of, self.width
        self.label("entry")
        words = iter(range(100))
        arrays = [
            (self.item("%record", next(words), "ptr"), self.item("%record", next(words), "i64"))
            for _ in range(4 + len(of.solids) + 2)
        ]
        (x, states), (balls, count), (clusters, few), (groups, group_count), *tables, (more, rows_of_more) = arrays[:-1]
        pairs, pair_count = arrays[-1]
        found, which, bound, scratch = (self.item("%record", next(words), "ptr") for _ in range(4))
        moving, both = (self.item("%record", next(words), "i64") for _ in range(2))
        self.solid = [self.item("%record", next(words), "ptr") for _ in range(4)]
        self.ends, self.separate = (self.item("%record", next(words), "ptr") for _ in range(2))
        both = self.let(f"icmp ne i64 {both}, 0")
        self.balls, self.clusters, self.groups, self.total = balls, clusters, groups, count
        limit = self.wide(self.let(f"load {self.E}, ptr {bound}"))
        room = (of.n, 12 * (of.frames + 1), 19, 1)  # in vectors; then the centers, then what distances lose
        first = [sum(room[:k]) for k in range(5)]
        places = [self.let(f"getelementptr {self.V}, ptr {scratch}, i64 {at}") for at in first]
        source, poses, self.row, self.result, self.at_balls = places
        self.poses = poses
        after = [self.let(f"mul i64 {rows}, 3") for rows in (count, few, group_count)]
        self.at_clusters = self.let(f"getelementptr {self.V}, ptr {self.at_balls}, i64 {after[0]}")
        self.at_groups = self.let(f"getelementptr {self.V}, ptr {self.at_clusters}, i64 {after[1]}")
        self.grow = self.let(f"getelementptr {self.V}, ptr {self.at_groups}, i64 {after[2]}")
        half = self.let(f"add i64 {group_count}, {pair_count}")
        self.scale = self.let(f"getelementptr {self.V}, ptr {self.grow}, i64 {half}")
        columns = self.let(f"shl i64 {half}, 1")
        self.group_count = group_count
        self.do(f"call void @rest(ptr {poses})")
        whole = f"i64 {columns}, i64 {w}, ptr {self.grow}"
        self.do(f"call void @gather_flat_{w}(ptr {more}, i64 0, {whole})")  # one row is that of all states
        varies = self.let(f"icmp ne i64 {rows_of_more}, 1")
        with self.repeat("0", states, w) as (tile, _):
            left = self.let(f"sub i64 {states}, {tile}")
            lanes = self.let(f"select i1 {self.let(f'icmp slt i64 {left}, {w}')}, i64 {left}, i64 {w}")
            base = self.let(f"getelementptr {self.E}, ptr {x}, i64 {self.let(f'mul i64 {tile}, {of.n}')}")
            step = of.n * self.kind.bytes
            self.do(f"call void @gather_flat_{w}(ptr {base}, i64 {step}, i64 {of.n}, i64 {lanes}, ptr {source})")
            self.do(f"call void @place(ptr {source}, ptr {poses})")
            with self.when(varies, ()):
                base = self.let(f"getelementptr {self.E}, ptr {more}, i64 {self.let(f'mul i64 {tile}, {columns}')}")
                step_by = self.let(f"mul i64 {columns}, {self.kind.bytes}")
                whole = f"i64 {columns}, i64 {lanes}, ptr {self.grow}"
                self.do(f"call void @gather_flat_{w}(ptr {base}, i64 {step_by}, {whole})")
            self._centers(balls, count, BALL, poses, self.at_balls)
            self._centers(clusters, few, CLUSTER, poses, self.at_clusters)
            self._centers(groups, group_count, GROUP, poses, self.at_groups)
            met, number = [limit, self.integer(-1)], "0"
            for k, (rows, size) in enumerate(tables):
                met = self._obstacles(k, rows, size, moving, number, met)
                number = self.let(f"add i64 {number}, {size}")
            bound_of_pairs = self.let(f"select i1 {both}, {self.V} {limit}, {self.V} {met[0]}")
            own = self._pairs(pairs, pair_count, (bound_of_pairs, self.integer(-1)))
            for array, pair, E, V in (
                (found, (own[0], met[0]), self.E, self.V),
                (which, (own[1], met[1]), None, self.I),
            ):
                element = E or f"i{self.kind.bits}"
                for place, values in enumerate(pair):
                    self.do(f"store {V} {values}, ptr {self.result}")
                    with self.repeat("0", lanes) as (lane, _):
                        one = self.let(
                            f"load {element}, ptr {self.let(f'getelementptr {element}, ptr {self.result}, i64 {lane}')}"
                        )
                        twice = self.let(f"shl i64 {self.let(f'add i64 {tile}, {lane}')}, 1")
                        index = self.let(f"add i64 {twice}, {place}")
                        to = self.let(f"getelementptr {element}, ptr {array}, i64 {index}")
                        self.do(f"store {element} {one}, ptr {to}")
        self.do("ret void")
        return "\n".join([f'define void @{SYMBOL}(ptr %record) nounwind "no-stack-arg-probe" {{', *self.lines, "}"])

    # ------------------------------------------------------------------------------------------------------ pieces
    @contextmanager
    def repeat(
        self, first: str, end: str, step: int = 1, carried: Sequence[tuple[str, str]] = ()
    ) -> Iterator[tuple[str, list[str]]]:
        """For k = first, first + step, … below end: yields k and a list of the carried values, (type, value) at first,
        which the body replaces by the new ones, and which after the loop holds the last."""
        self.labels += 1
        name, before = f"loop{self.labels}", self.block
        place = len(self.lines) + 2
        self.do(f"br label %{name}")
        self.label(name)
        self.block = name
        k, phis = f"%{name}_k", [f"%{name}_c{j}" for j in range(len(carried))]
        more = self.let(f"icmp slt i64 {k}, {end}")
        self.do(f"br i1 {more}, label %{name}_do, label %{name}_end")
        self.label(f"{name}_do")
        self.block = f"{name}_do"
        values = list(phis)
        yield k, values
        following = self.let(f"add i64 {k}, {step}")
        self.do(f"br label %{name}")
        heads = [f"  {k} = phi i64 [{first}, %{before}], [{following}, %{self.block}]"]
        for phi, (kind, value), new in zip(phis, carried, values, strict=True):
            heads.append(f"  {phi} = phi {kind} [{value}, %{before}], [{new}, %{self.block}]")
        self.lines[place:place] = heads
        self.label(f"{name}_end")
        self.block = f"{name}_end"
        values[:] = phis

    @contextmanager
    def when(self, condition: str, carried: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
        """Only if the condition holds: yields a list of the carried values, which the body replaces, and which
        afterwards holds what is to be used."""
        self.labels += 1
        name, before = f"if{self.labels}", self.block
        self.do(f"br i1 {condition}, label %{name}, label %{name}_end")
        self.label(name)
        self.block = name
        values = [value for _, value in carried]
        yield values
        self.do(f"br label %{name}_end")
        last = self.block
        self.label(f"{name}_end")
        self.block = f"{name}_end"
        values[:] = [
            self.let(f"phi {kind} [{new}, %{last}], [{value}, %{before}]")
            for (kind, value), new in zip(carried, values, strict=True)
        ]

    def number_at(self, table: str, columns: int, row: str, column: int) -> str:
        index = self.let(f"add i64 {self.let(f'mul i64 {row}, {columns}')}, {column}")
        return self.let(f"load {self.E}, ptr {self.let(f'getelementptr {self.E}, ptr {table}, i64 {index}')}")

    def whole_at(self, table: str, columns: int, row: str, column: int) -> str:
        return self.let(f"fptosi {self.E} {self.number_at(table, columns, row, column)} to i64")

    def point(self, centers: str, row: str) -> list[str]:
        first = self.let(f"mul i64 {row}, 3")
        return [self.load(centers, self.let(f"add i64 {first}, {k}")) for k in range(3)]

    def _centers(self, table: str, count: str, columns: int, poses: str, to: str) -> None:
        """p + R c of every ball."""
        with self.repeat("0", count) as (row, _):
            frame = self.whole_at(table, columns, row, 0)
            here = self.let(f"getelementptr {self.V}, ptr {poses}, i64 {self.let(f'mul i64 {frame}, 12')}")
            c = [self.wide(self.number_at(table, columns, row, 1 + k)) for k in range(3)]
            at = self.let(f"mul i64 {row}, 3")
            for k in range(3):
                value = self.load(here, 9 + k)
                for j in range(3):
                    value = self.operation("fma", self.load(here, 3 * k + j), c[j], value)
                self.store(value, to, self.let(f"add i64 {at}, {k}"))

    def _any_less(self, a: str, b: str) -> str:
        less = self.operation("less", a, b)
        bits = self.let(f"bitcast {self.B} {less} to i{self.width}") if self.width > 1 else less
        return self.let(f"icmp ne i{self.width} {bits}, 0")

    def _better(self, d: str, number: str, best: list[str]) -> list[str]:
        """The lesser distance and its number."""
        less = self.operation("less", d, best[0])
        cut = number if self.kind.bits == 64 else self.let(f"trunc i64 {number} to i32")
        one = self.let(f"insertelement {self.I} poison, i{self.kind.bits} {cut}, i32 0")
        all_lanes = self.let(f"shufflevector {self.I} {one}, {self.I} poison, <{self.width} x i32> zeroinitializer")
        chosen = self.let(f"select {self.B} {less}, {self.I} {all_lanes}, {self.I} {best[1]}")
        return [self.let(f"select {self.B} {less}, {self.V} {d}, {self.V} {best[0]}"), chosen]

    def _carried(self, best: Sequence[str]) -> list[tuple[str, str]]:
        return [(self.V, best[0]), (self.I, best[1])]

    def _apart(self, a: list[str], b: list[str], radii: str) -> str:
        """|a − b| − radii."""
        y = [self.operation("subtract", p, q) for p, q in zip(a, b, strict=True)]
        size = self.operation("multiply", y[0], y[0])
        for t in y[1:]:
            size = self.operation("fma", t, t, size)
        return self.operation("subtract", self.operation("sqrt", size), self.wide(radii))

    def _ends(self, table: str, columns: int, row: str, first: int) -> tuple[str, str]:
        return self.whole_at(table, columns, row, first), self.whole_at(table, columns, row, first + 1)

    def _between(self, one: tuple[str, int, str, str], other: tuple[str, int, str, str], place: str) -> str:
        """The distance of two balls, each by its table, the table's columns, the centers and the row."""
        (a, m, x, i), (b, n, y, j) = one, other
        radii = self.let(f"fadd {self.E} {self.number_at(a, m, i, 4)}, {self.number_at(b, n, j, 4)}")
        return self._changed(self._apart(self.point(x, i), self.point(y, j), radii), place)

    def _pairs(self, pairs: str, count: str, best: Sequence[str]) -> list[str]:
        group = (self.groups, GROUP, self.at_groups)
        with self.repeat("0", count, carried=self._carried(best)) as (p, now):
            twice = self.let(f"shl i64 {p}, 1")
            a, b = (
                self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr {pairs}, i64 {index}')}")
                for index in (twice, self.let(f"add i64 {twice}, 1"))
            )
            place = self.let(f"add i64 {self.group_count}, {p}")
            d = self._between((*group, a), (*group, b), place)
            ends = self.let(f"getelementptr i64, ptr {self.ends}, i64 {self.let(f'shl i64 {p}, 2')}")
            first, last = (self.item(ends, k, "i64") for k in range(2))
            solid = self.let(f"icmp slt i64 {first}, {last}")
            balls = self.let(f"xor i1 {solid}, true")
            with self.nearer(d, now) as pair:
                with self.when(solid, self._carried(pair)) as one:
                    one[:] = self._pieces((a, b), ends, p, self.operation("less", d, pair[0]), place, one)
                pair[:] = one
                with self.when(balls, self._carried(pair)) as some:
                    self._clusters(a, b, place, some)
                pair[:] = some
        return now

    def _clusters(self, a: str, b: str, place: str, best: list[str]) -> None:
        """The balls of two groups, by their clusters."""
        group, cluster = (self.groups, GROUP, self.at_groups), (self.clusters, CLUSTER, self.at_clusters)
        with self.every(self._ends(self.groups, GROUP, a, 7), best) as (i, one):
            d = self._between((*cluster, i), (*group, b), place)
            with self.nearer(d, one) as part, self.every(self._ends(self.groups, GROUP, b, 7), part) as (j, both):
                d = self._between((*cluster, i), (*cluster, j), place)
                with self.nearer(d, both) as few:
                    self._balls(self._ends(*cluster[:2], i, 5), self._ends(*cluster[:2], j, 5), place, few)

    def _pieces(
        self, links: tuple[str, str], ends: str, pair: str, near: str, place: str, best: Sequence[str]
    ) -> list[str]:
        """The distance of the pieces of two groups in the lanes in which these are near."""
        wanted = self.let(f"getelementptr {self.E}, ptr {self.solid[3]}, i64 {separation.OWN + self.width}")
        frames = [self.let(f"mul i64 {self.whole_at(self.groups, GROUP, row, 0)}, 12") for row in links]
        first, second = (self.let(f"getelementptr {self.V}, ptr {self.poses}, i64 {frame}") for frame in frames)
        before = self.operation("divide", best[0], self.load(self.scale, place))
        before = self.operation("add", before, self.load(self.grow, place))
        self.store(before, wanted, 0)
        w = self.width
        lanes = self.let(f"zext i{w} {self.let(f'bitcast {self.B} {near} to i{w}') if w > 1 else near} to i64")
        pointers = ", ".join(f"ptr {x}" for x in (*self.solid, ends, first, second))
        far = self.kind.constant(-separation.CONSTANTS["HUGE"])
        self.do(f"call void {self.separate}({pointers}, i64 {lanes}, ptr {wanted}, {self.E} {far})")
        after = self.load(wanted, 0)
        improved = self.operation("less", after, before)
        d = self.let(f"select {self.B} {improved}, {self.V} {self._changed(after, place)}, {self.V} {best[0]}")
        return self._better(d, self.let(f"sub i64 -2, {pair}"), list(best))

    def _balls(self, some: tuple[str, str], others: tuple[str, str], place: str, best: list[str]) -> None:
        ball = (self.balls, BALL, self.at_balls)
        with self.every(some, best) as (i, outer):
            number = self.let(f"mul i64 {i}, {self.total}")
            with self.every(others, outer) as (j, least):
                d = self._between((*ball, i), (*ball, j), place)
                least[:] = self._better(d, self.let(f"add i64 {number}, {j}"), least)

    @contextmanager
    def every(self, ends: tuple[str, str], best: list[str]) -> Iterator[tuple[str, list[str]]]:
        """For k from the first end to before the second: yields k and the best so far, which the body replaces."""
        with self.repeat(*ends, carried=self._carried(best)) as (k, values):
            yield k, values
        best[:] = values

    @contextmanager
    def nearer(self, d: str, best: list[str]) -> Iterator[list[str]]:
        """Only if d is less than the best in some state: yields the best, which the body replaces."""
        with self.when(self._any_less(d, best[0]), self._carried(best)) as values:
            yield values
        best[:] = values

    def _obstacles(self, k: int, rows: str, count: str, groups: str, number: str, best: Sequence[str]) -> list[str]:
        columns = self.of.solids[k][0]
        with self.repeat("0", count, carried=self._carried(best)) as (o, now):
            for j in range(columns):
                self.store(self.wide(self.number_at(rows, columns, o, j)), self.row, j)
            first = self.let(f"mul i64 {self.let(f'add i64 {number}, {o}')}, {self.total}")

            def away(table: str, size: int, centers: str, row: str, group: str) -> str:
                return self._changed(self._solid(k, columns, centers, row, self.number_at(table, size, row, 4)), group)

            with self.every(("0", groups), now) as (g, outer):
                d = away(self.groups, GROUP, self.at_groups, g, g)
                with (
                    self.nearer(d, outer) as whole,
                    self.every(self._ends(self.groups, GROUP, g, 7), whole) as (c, part),
                ):
                    d = away(self.clusters, CLUSTER, self.at_clusters, c, g)
                    ends = self._ends(self.clusters, CLUSTER, c, 5)
                    with self.nearer(d, part) as few, self.every(ends, few) as (i, least):
                        d = away(self.balls, BALL, self.at_balls, i, g)
                        least[:] = self._better(d, self.let(f"add i64 {first}, {i}"), least)
        return now

    def _changed(self, d: str, place: str) -> str:
        less = self.operation("subtract", d, self.load(self.grow, place))
        return self.operation("multiply", less, self.load(self.scale, place))

    def _solid(self, k: int, columns: int, centers: str, row: str, radius: str) -> str:
        for j, value in enumerate(self.point(centers, row)):
            self.store(value, self.row, columns + j)
        self.do(f"call void @solid_{k}(ptr {self.row}, ptr {self.result})")
        return self.operation("subtract", self.load(self.result, 0), self.wide(radius))
