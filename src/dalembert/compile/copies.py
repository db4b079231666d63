"""Copying W states between an array of any strides and vectors, one lane per state.

`flat`: a state's elements lie next to one another. Four elements of four states move as a 4×4 block, transposed in
registers; what is left over moves one vector at a time.
`strided`: any strides of the core dimensions; one element at a time.
Lanes past the last state repeat it on the way in, and are not written on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.compile.kinds import Kind
from dalembert.compile.writer import Writer, function

BLOCK = 4


def copy_functions(width: int, kind: Kind, dimensions: int) -> str:
    """gather and scatter, flat and strided, for vectors of this width and so many core dimensions."""
    flat = [_flat(width, kind, direction) for direction in ("gather", "scatter")]
    return "\n".join([*flat, *(_strided(width, kind, direction, dimensions) for direction in ("gather", "scatter"))])


def spread_function(width: int, kind: Kind) -> str:
    """The same numbers, one after another, for every lane."""
    w = Writer(width, kind)
    w.label("entry")
    with w.loop("%size") as k:
        x = w.let(f"load {w.E}, ptr {w.let(f'getelementptr {w.E}, ptr %base, i64 {k}')}, align 1")
        w.store(w.wide(x), "%buffer", k)
    w.do("ret void")
    return function(f"spread_{width}", "ptr %base, i64 %size, ptr %buffer", w.lines)


def _flat(width: int, kind: Kind, direction: str) -> str:
    w = Writer(width, kind)
    w.lines.append("entry:")
    rows = _rows(w)
    moves = {"gather": (_gather_block, _gather_one), "scatter": (_scatter_block, _scatter_one)}
    block, one = moves[direction]
    # Whole blocks, then single elements; each loop may run zero times.
    w.do("br label %blocks")
    w.lines.append("blocks:")
    w.do("%j = phi i64 [0, %entry], [%j_next, %block]")
    w.do(f"%j_next = add i64 %j, {BLOCK}")
    fits = w.let("icmp sle i64 %j_next, %size") if width % BLOCK == 0 else "false"
    w.do(f"br i1 {fits}, label %block, label %singles")
    w.lines.append("block:")
    if width % BLOCK == 0:
        block(w, rows)
    w.do("br label %blocks")
    w.lines.append("singles:")
    w.do("%k = phi i64 [%j, %blocks], [%k_next, %single]")
    w.do("%k_next = add i64 %k, 1")
    left = w.let("icmp sle i64 %k_next, %size")
    w.do(f"br i1 {left}, label %single, label %done")
    w.lines.append("single:")
    one(w, rows)
    w.do("br label %singles")
    w.lines += ["done:", "  ret void"]
    return function(f"{direction}_flat_{width}", "ptr %base, i64 %step, i64 %size, i64 %lanes, ptr %buffer", w.lines)


def scatter_blocks(name: str, width: int, kind: Kind, blocks: Sequence[int]) -> str:
    """name(base, step, lanes, buffer): of flat states, the blocks of elements that begin at these places, whole."""
    w = Writer(width, kind)
    w.label("entry")
    rows = _rows(w)
    table = ", ".join(f"i64 {k}" for k in blocks)
    with w.loop(len(blocks), name="row") as row:
        w.do(f"%j = load i64, ptr {w.let(f'getelementptr i64, ptr @{name}_table, i64 {row}')}")
        if width % BLOCK == 0:
            _scatter_block(w, rows)
        for k in range(BLOCK if width % BLOCK else 0):
            _scatter_one(w, rows, w.let(f"add i64 %j, {k}"))
    w.do("ret void")
    head = f"@{name}_table = internal constant [{len(blocks)} x i64] [{table}]\n"
    return head + function(name, "ptr %base, i64 %step, i64 %lanes, ptr %buffer", w.lines)


def _rows(w: Writer) -> list[str]:
    """Where each lane's state begins; lanes past the last repeat it."""
    last = w.let("sub i64 %lanes, 1")
    rows = []
    for lane in range(w.width):
        there = w.let(f"icmp slt i64 {lane}, %lanes")
        state = w.let(f"select i1 {there}, i64 {lane}, i64 {last}")
        offset = w.let(f"mul i64 {state}, %step")
        rows.append(w.let(f"getelementptr i8, ptr %base, i64 {offset}"))
    return rows


def _shuffle(w: Writer, a: str, b: str, size: int, order: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {k}" for k in order)
    V = f"<{size} x {w.E}>"
    return w.let(f"shufflevector {V} {a}, {V} {b}, <{len(order)} x i32> <{mask}>")


def transposed(w: Writer, a: str, b: str, c: str, d: str) -> list[str]:
    """The 4×4 transpose of four vectors of four."""
    low, high = (0, 4, 2, 6), (1, 5, 3, 7)
    ab, cd = ([_shuffle(w, x, y, 4, order) for order in (low, high)] for x, y in ((a, b), (c, d)))
    first, second = (0, 1, 4, 5), (2, 3, 6, 7)
    return [
        _shuffle(w, ab[0], cd[0], 4, first),
        _shuffle(w, ab[1], cd[1], 4, first),
        _shuffle(w, ab[0], cd[0], 4, second),
        _shuffle(w, ab[1], cd[1], 4, second),
    ]


def _gather_block(w: Writer, rows: list[str]) -> None:
    """Four elements of every lane, by groups of four lanes, joined into vectors over all lanes."""
    groups = []
    for first in range(0, w.width, BLOCK):
        at = [w.let(f"getelementptr {w.E}, ptr {row}, i64 %j") for row in rows[first : first + BLOCK]]
        loaded = [w.let(f"load <4 x {w.E}>, ptr {p}, align 1") for p in at]
        groups.append(transposed(w, *loaded))
    for k in range(BLOCK):
        parts, size = [group[k] for group in groups], BLOCK
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [_shuffle(w, a, b, size, range(2 * size)) for a, b in pairs]
            size *= 2
        index = w.let(f"add i64 %j, {k}")
        to = w.let(f"getelementptr {w.V}, ptr %buffer, i64 {index}")
        w.do(f"store {w.V} {parts[0]}, ptr {to}, align {w.kind.bytes}")


def _scatter_block(w: Writer, rows: list[str]) -> None:
    vectors = []
    for k in range(BLOCK):
        index = w.let(f"add i64 %j, {k}")
        at = w.let(f"getelementptr {w.V}, ptr %buffer, i64 {index}")
        vectors.append(w.let(f"load {w.V}, ptr {at}, align {w.kind.bytes}"))
    for first in range(0, w.width, BLOCK):
        lanes = range(first, first + BLOCK)
        four = vectors if w.width == BLOCK else [_shuffle(w, v, v, w.width, lanes) for v in vectors]
        for lane, value in zip(lanes, transposed(w, *four), strict=True):
            to = w.let(f"getelementptr {w.E}, ptr {rows[lane]}, i64 %j")
            w.do(f"store <4 x {w.E}> {value}, ptr {to}, align 1")


def _gather_one(w: Writer, rows: list[str]) -> None:
    vector = "poison"
    for lane, row in enumerate(rows):
        at = w.let(f"getelementptr {w.E}, ptr {row}, i64 %k")
        x = w.let(f"load {w.E}, ptr {at}, align 1")
        vector = x if w.width == 1 else w.let(f"insertelement {w.V} {vector}, {w.E} {x}, i32 {lane}")
    to = w.let(f"getelementptr {w.V}, ptr %buffer, i64 %k")
    w.do(f"store {w.V} {vector}, ptr {to}, align {w.kind.bytes}")


def _scatter_one(w: Writer, rows: list[str], place: str = "%k") -> None:
    at = w.let(f"getelementptr {w.V}, ptr %buffer, i64 {place}")
    vector = w.let(f"load {w.V}, ptr {at}, align {w.kind.bytes}")
    for lane, row in enumerate(rows):
        x = vector if w.width == 1 else w.let(f"extractelement {w.V} {vector}, i32 {lane}")
        to = w.let(f"getelementptr {w.E}, ptr {row}, i64 {place}")
        w.do(f"store {w.E} {x}, ptr {to}, align 1")


def _strided(width: int, kind: Kind, direction: str, dimensions: int) -> str:
    """Nested loops: lanes, then every core dimension, the last one innermost."""
    gather = direction == "gather"
    w = Writer(1, kind)
    w.lines.append("entry:")
    sizes, steps = (
        [w.let(f"load i64, ptr {w.let(f'getelementptr i64, ptr %{array}, i64 {d}')}") for d in range(dimensions)]
        for array in ("shape", "steps")
    )
    last = w.let("sub i64 %lanes, 1")
    w.do("br label %lane")
    w.lines.append("lane:")
    w.do("%l = phi i64 [0, %entry], [%l_next, %l_end]")
    state = w.let(f"select i1 {w.let('icmp slt i64 %l, %lanes')}, i64 %l, i64 {last}")
    pointer = w.let(f"getelementptr i8, ptr %base, i64 {w.let(f'mul i64 {state}, %step')}")
    flat = "0"
    before = "lane"
    for d in range(dimensions):  # down: one loop within the other
        w.do(f"br label %d{d}")
        w.lines.append(f"d{d}:")
        w.do(f"%i{d} = phi i64 [0, %{before}], [%i{d}_next, %e{d}]")
        pointer = w.let(f"getelementptr i8, ptr {pointer}, i64 {w.let(f'mul i64 %i{d}, {steps[d]}')}")
        flat = w.let(f"add i64 {w.let(f'mul i64 {flat}, {sizes[d]}')}, %i{d}")
        before = f"d{d}"
    inside = w.let(f"add i64 {w.let(f'mul i64 {flat}, {width}')}, %l")
    buffered = w.let(f"getelementptr {w.E}, ptr %buffer, i64 {inside}")
    source, target = (pointer, buffered) if gather else (buffered, pointer)
    value = w.let(f"load {w.E}, ptr {source}, align 1")
    w.do(f"store {w.E} {value}, ptr {target}, align 1")
    for d in reversed(range(dimensions)):  # and up again
        w.do(f"br label %e{d}")
        w.lines.append(f"e{d}:")
        w.do(f"%i{d}_next = add i64 %i{d}, 1")
        more = w.let(f"icmp slt i64 %i{d}_next, {sizes[d]}")
        w.do(f"br i1 {more}, label %d{d}, label %x{d}")
        w.lines.append(f"x{d}:")
    w.do("br label %l_end")
    w.lines.append("l_end:")
    w.do("%l_next = add i64 %l, 1")
    more = w.let(f"icmp slt i64 %l_next, {width if gather else '%lanes'}")
    w.do(f"br i1 {more}, label %lane, label %done")
    w.lines += ["done:", "  ret void"]
    parameters = "ptr %base, i64 %step, ptr %shape, ptr %steps, i64 %lanes, ptr %buffer"
    return function(f"{direction}_strided_{dimensions}_{width}", parameters, w.lines)
