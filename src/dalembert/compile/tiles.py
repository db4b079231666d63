"""Large results written from the lanes straight to where they belong, a cache line of every state at a time.

A kernel computes W states in the lanes of vectors; NumPy wants the elements of one state next to one another. Results
of many elements are cut into blocks of a cache line. The elements wait in an array of vectors, equal ones (the halves
of a symmetric matrix, the zeros between a tree's branches) once. When all are computed, the blocks are transposed in
registers and stored one after another, as memory likes it: stores in the order in which elements become known were
slower by a fifth, and asking for the memory beforehand gained nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from dalembert.compile.body import Emission, is_long, pieces, places_of
from dalembert.compile.kinds import Kind
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer, function

LINE = 64  # bytes of a cache line
LEAST = 64  # numbers a state from which on results are written by blocks


def by_blocks(sizes: Sequence[int], width: int, kind: Kind) -> bool:
    """Whether results of these sizes are written by blocks."""
    return width % 4 == 0 and sum(sizes) >= LEAST and min(sizes) >= _length(kind)


def _length(kind: Kind) -> int:
    """Elements of a block."""
    return LINE // kind.bytes


def body_by_blocks(
    program: Program, positions: Sequence[int], width: int, kind: Kind, name: str, how: Emission
) -> tuple[str, int]:
    """As `body.body`, constants included, with results where the caller wants them: name(in, wait, result, step, …), a
    pointer and the distance of two states [bytes] for each result, and room for vectors that wait, whose number is
    given too. For several lanes name_first gives the first state alone."""
    size = how.piece if is_long(program, how) else len(program.steps) + 1
    results = [f"%r{g}" for g in range(len(program.outputs))]
    parameters = ", ".join(f"ptr noalias {r}, i64 {r}_step" for r in results)
    parameters = f"ptr noalias %in, ptr noalias %wait, {parameters}"
    if width == 1:
        arrays = ["%in", *results]
        text, waiting = pieces(
            program, positions, width, kind, f"{name}_all", size, arrays, places_of(program, results)
        )
        numbers, rows = _constant_rows(program, kind)
        w = Writer(width, kind)
        _put_all(w, "put_constants", f"@{name}_numbers", name, rows)
        w.do(f"call void @{name}_all({', '.join(f'ptr {a}' for a in arrays)}, ptr %wait)")  # over the constants
        w.do("ret void")
        tables = [_table(f"{name}_numbers", f"[{_length(kind)} x {kind.name}]", numbers), *_tables(name, rows)]
        return "\n".join([*tables, text, function(name, parameters, w.lines)]), _room(waiting)
    text, waiting = pieces(program, positions, width, kind, f"{name}_all", size, ["%in"], {}, keep=True)
    constants = {k for group in program.outputs for k in group if program.steps[k].operation == "constant"}
    waiting.update((k, at) for at, k in enumerate(sorted(constants), _room(waiting)))
    rows = _waiting_rows(program, waiting, width, kind)
    functions = [text, *_tables(name, rows)]
    for suffix, put in (("", f"put_{width}"), ("_first", f"put_first_{width}")):
        w = Writer(width, kind)
        w.do(f"call void @{name}_all(ptr %in, ptr %wait)")
        for k in sorted(constants):
            w.store(w.number(program.steps[k].value), "%wait", waiting[k])
        _put_all(w, put, "%wait", name, rows)
        w.do("ret void")
        functions.append(function(name + suffix, parameters, w.lines))
    return "\n".join(functions), _room(waiting)


def _room(waiting: Mapping[int, int]) -> int:
    return max(waiting.values(), default=0) + 1


# The blocks of each result: for each a row of numbers [bytes], where its elements come from and where it goes.
Rows = list[list[list[int]]]


def _blocks(group: Sequence[int], length: int) -> Iterator[tuple[int, Sequence[int]]]:
    """Where the blocks of a result begin, and their steps; the last may share elements with the one before."""
    for first in range(0, len(group), length):
        start = min(first, len(group) - length)
        yield start, group[start : start + length]


def _waiting_rows(program: Program, waiting: Mapping[int, int], width: int, kind: Kind) -> Rows:
    vector = width * kind.bytes
    return [
        [[*(waiting[k] * vector for k in steps), first * kind.bytes] for first, steps in _blocks(group, _length(kind))]
        for group in program.outputs
    ]


def _constant_rows(program: Program, kind: Kind) -> tuple[list[str], Rows]:
    """Blocks that have constants, what else is in them being zero: the different ones, and where they go."""
    numbers: dict[str, int] = {}
    rows: Rows = []
    for group in program.outputs:
        rows.append([])
        for first, places in _blocks(group, _length(kind)):
            steps = [program.steps[k] for k in places]
            if any(step.operation == "constant" for step in steps):
                values = (step.value if step.operation == "constant" else 0.0 for step in steps)
                text = ", ".join(f"{kind.name} {kind.constant(x)}" for x in values)
                rows[-1].append([numbers.setdefault(f"[{text}]", len(numbers)) * LINE, first * kind.bytes])
    return list(numbers), rows


def _tables(name: str, rows: Rows) -> list[str]:
    def row_text(row: list[int]) -> str:
        return f"[{', '.join(f'i32 {x}' for x in row)}]"

    return [
        _table(f"{name}_blocks_{g}", f"[{len(own[0])} x i32]", [row_text(row) for row in own])
        for g, own in enumerate(rows)
        if own
    ]


def _table(name: str, kind: str, values: Sequence[str]) -> str:
    return (
        f"@{name} = internal constant [{len(values)} x {kind}] [{', '.join(f'{kind} {x}' for x in values)}], align 64"
    )


def _put_all(w: Writer, put: str, source: str, name: str, rows: Rows) -> None:
    for g, own in enumerate(rows):
        if own:
            table = f"ptr @{name}_blocks_{g}, i64 {len(own)}"
            w.do(f"call void @{put}(ptr {source}, {table}, ptr %r{g}, i64 %r{g}_step)")


def put_functions(width: int, kind: Kind) -> str:
    """put(source, table, count, result, step): so many blocks into a result, whose states are `step` bytes apart, from
    the array where W states wait; put_first, the first of them alone; for width 1, put_constants, from an array of
    constants."""
    length = _length(kind)
    if width == 1:
        return _put("put_constants", Writer(1, kind), 1, lambda w, at: [_loaded(w, at[0], length)])
    return "\n".join(
        [
            _put(f"put_{width}", Writer(width, kind), length, _transposed),
            _put(f"put_first_{width}", Writer(width, kind), length, _first_lane),
        ]
    )


def _put(name: str, w: Writer, sources: int, states: Callable[[Writer, list[str]], Iterable[str]]) -> str:
    """The loop over rows of so many sources and a place; `states` are the blocks, one for each state."""

    def word(row: str, place: int) -> str:
        at = w.let(f"getelementptr [{sources + 1} x i32], ptr %table, i64 {row}, i64 {place}")
        return w.let(f"zext i32 {w.let(f'load i32, ptr {at}')} to i64")

    w.label("entry")
    lanes = [w.let(f"mul i64 %step, {lane}") for lane in range(w.width)]
    with w.loop("%count") as row:
        place = w.let(f"getelementptr i8, ptr %result, i64 {word(row, sources)}")
        waiting = [w.let(f"getelementptr i8, ptr %source, i64 {word(row, k)}") for k in range(sources)]
        for lane, value in zip(lanes, states(w, waiting), strict=False):
            to = w.let(f"getelementptr i8, ptr {place}, i64 {lane}")
            w.do(f"store <{_length(w.kind)} x {w.E}> {value}, ptr {to}, align 1")
    w.do("ret void")
    parameters = "ptr noalias %source, ptr noalias %table, i64 %count, ptr noalias %result, i64 %step"
    return function(name, parameters, w.lines, noinline=True)


def _transposed(w: Writer, waiting: Sequence[str]) -> Iterator[str]:
    """The elements of each lane. Lanes are loaded in pairs, side by side: a load into one half of a register costs no
    shuffle, and one shuffle a lane is left."""
    length = len(waiting)
    for first in range(0, w.width, 2):
        pairs = [_loaded(w, w.let(f"getelementptr {w.E}, ptr {at}, i64 {first}"), 2) for at in waiting]
        even, odd = _joined(w, pairs[0::2]), _joined(w, pairs[1::2])
        for lane in (0, 1):
            yield _shuffled(w, even, odd, length, [x for k in range(lane, length, 2) for x in (k, length + k)])


def _first_lane(w: Writer, waiting: Sequence[str]) -> list[str]:
    block = "poison"
    for k, at in enumerate(waiting):
        x = w.let(f"load {w.E}, ptr {at}, align {w.kind.bytes}")
        block = w.let(f"insertelement <{len(waiting)} x {w.E}> {block}, {w.E} {x}, i32 {k}")
    return [block]


def _loaded(w: Writer, at: str, length: int) -> str:
    return w.let(f"load <{length} x {w.E}>, ptr {at}, align {w.kind.bytes}")


def _joined(w: Writer, parts: list[str]) -> str:
    """Vectors of two as one."""
    size = 2
    while len(parts) > 1:
        parts = [_shuffled(w, a, b, size, range(2 * size)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        size *= 2
    return parts[0]


def _shuffled(w: Writer, a: str, b: str, size: int, order: Sequence[int]) -> str:
    V = f"<{size} x {w.E}>"
    return w.let(f"shufflevector {V} {a}, {V} {b}, <{len(order)} x i32> <{', '.join(f'i32 {k}' for k in order)}>")
