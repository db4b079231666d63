"""Copying W states between an array of any strides and vectors, one lane per state.

`flat`: a state's elements lie next to one another. Four elements of four states move as a 4×4 block, transposed in
registers; what is left over moves one vector at a time.
`strided`: any strides of up to three core dimensions; one element at a time.
Lanes past the last state repeat it on the way in, and are not written on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.compile.kinds import Kind
from dalembert.compile.writer import Writer, function

BLOCK = 4


def copy_functions(width: int, kind: Kind) -> str:
    """gather and scatter, flat and strided, for vectors of this width."""
    flat = [_flat(width, kind, direction) for direction in ("gather", "scatter")]
    return "\n".join([*flat, _strided(width, kind, "gather"), _strided(width, kind, "scatter")])


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
    return function(
        f"{direction}_flat_{width}", "ptr %base, i64 %step, i64 %size, i64 %lanes, ptr %buffer", w.lines
    )


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


def _transposed(w: Writer, a: str, b: str, c: str, d: str) -> list[str]:
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
        groups.append(_transposed(w, *loaded))
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
        for lane, value in zip(lanes, _transposed(w, *four), strict=True):
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


def _scatter_one(w: Writer, rows: list[str]) -> None:
    at = w.let(f"getelementptr {w.V}, ptr %buffer, i64 %k")
    vector = w.let(f"load {w.V}, ptr {at}, align {w.kind.bytes}")
    for lane, row in enumerate(rows):
        x = vector if w.width == 1 else w.let(f"extractelement {w.V} {vector}, i32 {lane}")
        to = w.let(f"getelementptr {w.E}, ptr {row}, i64 %k")
        w.do(f"store {w.E} {x}, ptr {to}, align 1")


def _strided(W: int, kind: Kind, direction: str) -> str:
    """Four nested loops: lanes, then three core dimensions."""
    gather = direction == "gather"
    count = str(W) if gather else "%lanes"
    move = (
        f"  %value = load {kind.name}, ptr %outside, align 1\n  store {kind.name} %value, ptr %inside, align 1"
        if gather
        else f"  %value = load {kind.name}, ptr %inside, align 1\n  store {kind.name} %value, ptr %outside, align 1"
    )
    parameters = "ptr %base, i64 %step, ptr %shape, ptr %steps, i64 %lanes, ptr %buffer"
    return f"""define internal void @{direction}_strided_{W}({parameters}) nounwind {{
entry:
  %n0 = load i64, ptr %shape
  %q1 = getelementptr i64, ptr %shape, i64 1
  %n1 = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %shape, i64 2
  %n2 = load i64, ptr %q2
  %s0 = load i64, ptr %steps
  %r1 = getelementptr i64, ptr %steps, i64 1
  %s1 = load i64, ptr %r1
  %r2 = getelementptr i64, ptr %steps, i64 2
  %s2 = load i64, ptr %r2
  %last = sub i64 %lanes, 1
  br label %lane
lane:
  %l = phi i64 [0, %entry], [%lnext, %lend]
  %inrange = icmp slt i64 %l, %lanes
  %source = select i1 %inrange, i64 %l, i64 %last
  %o = mul i64 %source, %step
  %state = getelementptr i8, ptr %base, i64 %o
  br label %i0
i0:
  %a = phi i64 [0, %lane], [%anext, %aend]
  %ao = mul i64 %a, %s0
  %pa = getelementptr i8, ptr %state, i64 %ao
  br label %i1
i1:
  %b = phi i64 [0, %i0], [%bnext, %bend]
  %bo = mul i64 %b, %s1
  %pb = getelementptr i8, ptr %pa, i64 %bo
  %ab = mul i64 %a, %n1
  %row = add i64 %ab, %b
  %first = mul i64 %row, %n2
  br label %i2
i2:
  %c = phi i64 [0, %i1], [%cnext, %i2]
  %co = mul i64 %c, %s2
  %outside = getelementptr i8, ptr %pb, i64 %co
  %j = add i64 %first, %c
  %jw = mul i64 %j, {W}
  %k = add i64 %jw, %l
  %inside = getelementptr {kind.name}, ptr %buffer, i64 %k
{move}
  %cnext = add i64 %c, 1
  %cmore = icmp slt i64 %cnext, %n2
  br i1 %cmore, label %i2, label %bend
bend:
  %bnext = add i64 %b, 1
  %bmore = icmp slt i64 %bnext, %n1
  br i1 %bmore, label %i1, label %aend
aend:
  %anext = add i64 %a, 1
  %amore = icmp slt i64 %anext, %n0
  br i1 %amore, label %i0, label %lend
lend:
  %lnext = add i64 %l, 1
  %lmore = icmp slt i64 %lnext, {count}
  br i1 %lmore, label %lane, label %done
done:
  ret void
}}"""
