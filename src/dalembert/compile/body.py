"""A program as straight-line IR: body(in, out) on vectors of W states.

Long programs are cut into functions that pass values through an array: code generation then grows linearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dalembert.compile.kinds import Kind
from dalembert.compile.lower import Program, Step
from dalembert.compile.operations import OPERATIONS
from dalembert.compile.writer import Writer, function

STACK = 32 << 10  # bytes of a buffer that may lie there


@dataclass(frozen=True)
class Emission:
    """How the loop `symbol` is written. Functions of more than `longest` steps are cut into pieces of `piece` steps;
    buffers of up to `stack` bytes lie on the stack, larger ones on the heap. `lone`: code of their own for lone states,
    which Python may call directly."""

    symbol: str
    longest: int = 1_500
    piece: int = 250
    stack: int = STACK
    lone: bool = True


Place = tuple[str, int]  # an array, and a place in it


class _Body:
    """Writes steps of a program, remembering what each is called.

    `inputs` says where each argument begins: in which array, at which place. Sines and cosines of what the arguments
    alone determine (the joint angles) are computed beforehand, all in one small loop, and wait in the array %trig;
    `angles` says where."""

    def __init__(self, writer: Writer, program: Program, inputs: Sequence[Place], angles: Sequence[int]) -> None:
        self.w = writer
        self.program = program
        self.inputs = inputs
        self.angles = {x: k for k, x in enumerate(angles)}
        self.names: dict[int, str] = {}
        self.pairs: dict[int, tuple[str, str]] = {}

    def begin(self) -> None:
        """Compute the angles and call the loop."""
        w, count = self.w, len(self.angles)
        if not count:
            return
        aligned = f"align {64 if w.width > 1 else w.kind.bytes}"
        w.do(f"%trig = alloca [{2 * count} x {w.V}], {aligned}")
        together = self._together()
        if together is not None:
            array, first = together
            w.do(f"%angles = getelementptr {w.V}, ptr {array}, {w.index} {first}")
        else:
            w.do(f"%angles = alloca [{count} x {w.V}], {aligned}")
            for k in _before(self.program, self.angles):  # in order, so that no name is sought too deep
                self.name(k)
            for x, k in self.angles.items():
                w.store(self.name(x), "%angles", k)
        table = "" if w.table is None else f", ptr {w.table_at}"
        w.do(f"call void @sin_cos_{w.width}(ptr %angles, ptr %trig, {w.index} {count}{table})")

    def _together(self) -> Place | None:
        """Where the angles lie, if they lie there one after another as they are given."""
        steps = [self.program.steps[x] for x in self.angles]
        if not all(step.operation == "input" for step in steps):
            return None
        places = [(self.inputs[step.value[0]], step.value[1]) for step in steps]
        (array, offset), first = places[0]
        lie = [((array, offset), first + k) for k in range(len(steps))]
        return (array, offset + first) if places == lie else None

    def name(self, k: int) -> str:
        known = self.names.get(k)
        if known is None:
            step = self.program.steps[k]
            guards = step.operation == "where" and k in self.program.divisors
            known = self.names[k] = self._guard(step) if guards else self._write(step)
        return known

    def _guard(self, step: Step) -> str:
        """A choice that is divided by, made on the bits: x / where(c, y, 1) LLVM turns into where(c, x / y, x), and
        the division by a y that is not chosen would raise the processor's flags, and NumPy warn."""
        condition, a, b = (self.name(x) for x in step.operands)
        return self.w.select_bits(condition, a, b)

    def write(self, k: int, places: Sequence[Place]) -> None:
        """Write step k, and store it right away where it is an output: a value held for later costs a register."""
        if places or self.program.steps[k].operation != "input":  # inputs are loaded where they are used
            value = self.name(k)
            for array, place in places:
                self.w.store(value, array, place)

    def _write(self, step: Step) -> str:
        w = self.w
        if step.operation == "constant":
            return w.number(step.value)
        if step.operation == "input":
            argument, position = step.value
            array, first = self.inputs[argument]
            return w.load(array, first + position)
        if step.operation in ("sin", "cos"):
            (x,) = step.operands
            cos = step.operation == "cos"
            if x in self.angles:
                return w.load("%trig", 2 * self.angles[x] + cos)
            if x not in self.pairs:
                self.pairs[x] = w.sin_cos(self.name(x))
            return self.pairs[x][cos]
        if step.operation in ("exp", "log"):
            return getattr(w, step.operation)(self.name(step.operands[0]))
        operands = [self.name(x) for x in step.operands]
        for i, flipped in enumerate(step.flip):
            if flipped:
                operands[i] = w.operation("negate", operands[i])
        return w.operation(step.operation, *operands)


def _angles(program: Program) -> list[int]:
    """The operands of sin and cos that need no other sin or cos; first those that are given, in their order."""
    late: set[int] = set()  # steps that depend on a sine
    found: dict[int, None] = {}
    for k, step in enumerate(program.steps):
        trigonometric = step.operation in ("sin", "cos")
        if trigonometric and step.operands[0] not in late:
            found[step.operands[0]] = None
        if trigonometric or any(x in late for x in step.operands):
            late.add(k)
    return sorted(
        found, key=lambda k: (0, *program.steps[k].value) if program.steps[k].operation == "input" else (1, k)
    )


def _before(program: Program, wanted: Iterable[int]) -> list[int]:
    """The steps that these take, themselves included, in order."""
    found: set[int] = set()
    stack = list(wanted)
    while stack:
        k = stack.pop()
        if k not in found:
            found.add(k)
            stack.extend(program.steps[k].operands)
    return sorted(found)


def sin_cos_function(width: int, kind: Kind) -> str:
    """sin and cos of an array of vectors, interleaved."""
    return sin_cos_loop(Writer(width, kind))


def sin_cos_loop(w: Writer) -> str:
    """The same, as a writer writes it."""
    w.label("entry")
    with w.loop("%count") as k:
        pair = w.sin_cos(w.load("%angles", k))
        to = w.let(f"getelementptr {w.V}, ptr %trig, {w.index} {w.let(f'shl {w.index} {k}, 1')}")
        for place, value in enumerate(pair):
            w.store(value, to, place)
    w.do("ret void")
    table = "" if w.table is None else ", ptr noalias %table"
    return function(f"sin_cos_{w.width}", f"ptr noalias %angles, ptr noalias %trig, {w.index} %count{table}", w.lines)


def places_of(program: Program, results: Sequence[str] = ()) -> dict[int, list[Place]]:
    """For each step that is an output, its places: in one array, or each group of outputs in an array of its own."""
    places: dict[int, list[Place]] = {}
    first = 0
    for number, group in enumerate(program.outputs):
        for j, k in enumerate(group):
            places.setdefault(k, []).append((results[number], j) if results else ("%out", first + j))
        first += len(group)
    return places


def has_constants(program: Program) -> bool:
    return any(program.steps[k].operation == "constant" for group in program.outputs for k in group)


def constants(program: Program, width: int, kind: Kind, name: str) -> str:
    """Fills the output buffer with the outputs that do not depend on the state, once per call: a loop over a table,
    in which the others are zero."""
    values = [0.0] * sum(len(group) for group in program.outputs)
    for k, places in places_of(program).items():
        if program.steps[k].operation == "constant":
            for _, p in places:
                values[p] = program.steps[k].value
    w = Writer(width, kind)
    if not has_constants(program):
        return function(name, "ptr noalias %out", ["  ret void"])
    table = ", ".join(f"{w.E} {kind.constant(x)}" for x in values)
    w.label("entry")
    with w.loop(len(values)) as place:
        at = w.let(f"getelementptr {w.E}, ptr @{name}_table, i64 {place}")
        w.store(w.wide(w.let(f"load {w.E}, ptr {at}")), "%out", place)
    w.do("ret void")
    head = f"@{name}_table = internal constant [{len(values)} x {w.E}] [{table}]\n"
    return head + function(name, "ptr noalias %out", w.lines)


def body(program: Program, positions: Sequence[int], width: int, kind: Kind, name: str, how: Emission) -> str:
    """The straight-line function, whole or in pieces: body(in, out), both arrays of vectors."""
    if is_long(program, how):
        given = ("%in", "%out")
        text, waiting = pieces(program, positions, width, kind, f"{name}_all", how.piece, given, places_of(program))
        w = Writer(width, kind)
        w.do(f"%wait = alloca [{max(waiting.values(), default=0) + 1} x {w.V}], align 64")
        w.do(f"call void @{name}_all(ptr %in, ptr %out, ptr %wait)")
        w.do("ret void")
        return text + "\n" + function(name, "ptr noalias %in, ptr noalias %out", w.lines)
    w = Writer(width, kind)
    body = _Body(w, program, _packed(positions), _angles(program))
    body.begin()
    places = places_of(program)
    for k, step in enumerate(program.steps):
        if step.operation != "constant":
            body.write(k, places.get(k, ()))
    w.do("ret void")
    return function(name, "ptr noalias %in, ptr noalias %out", w.lines)


def is_long(program: Program, how: Emission) -> bool:
    """Whether it is cut into pieces."""
    return program.operations + sum(len(group) for group in program.outputs) > how.longest


def _packed(positions: Sequence[int]) -> list[Place]:
    """Arguments one after another in one array."""
    return [("%in", position) for position in positions]


def write_step(w: Writer, program: Program, arguments: Sequence[str], results: Sequence[str]) -> int:
    """The lines of a function on one state, with an array for each argument and result, whole; how many sines are
    computed beforehand. A result with the name of an argument is written over it: each element is read before that."""
    angles = _angles(program)
    # One sine alone is computed in place: a function for it would cost more than it saves.
    body = _Body(w, program, [(f"%{a}", 0) for a in arguments], angles if len(angles) > 1 else ())
    body.begin()
    given = {
        (f"%{arguments[s.value[0]]}", s.value[1]): k for k, s in enumerate(program.steps) if s.operation == "input"
    }
    places = places_of(program, [f"%{r}" for r in results])
    for k, step in enumerate(program.steps):
        for place in places.get(k, ()):
            if place in given:
                body.name(given[place])
        if step.operation != "constant" or k in places:
            body.write(k, places.get(k, ()))
    w.do("ret void")
    return len(body.angles)


def pieces(
    program: Program,
    positions: Sequence[int],
    width: int,
    kind: Kind,
    name: str,
    size: int,
    arrays: Sequence[str],
    places: Mapping[int, Sequence[Place]],
    keep: bool = False,
) -> tuple[str, dict[int, int]]:
    """name(*arrays, wait), cut every `size` steps; what a later piece needs waits in an array of vectors, whose places
    are used again once their last reader is done. To `keep` the outputs, they wait there until the end. Also given is
    the place of each step that waits."""
    steps, angles = program.steps, _angles(program)
    known = set(angles)
    wanted = {k for group in program.outputs for k in group if steps[k].operation != "constant"}
    computed = [k for k, step in enumerate(steps) if k in wanted or not _at_hand(step, known)]
    piece, cut = _cut(computed, places, size)
    slot = _slots(program, piece, computed, dict.fromkeys(wanted, len(cut)) if keep else {})
    parameters, given = (", ".join(f"ptr {of}{a}" for a in (*arrays, "%wait")) for of in ("noalias ", ""))
    functions = []
    for p, own in enumerate(cut):
        w = Writer(width, kind)
        body = _WaitingBody(w, program, _packed(positions), angles, piece, p, slot)
        for k in own:
            body.write(k, places.get(k, ()))
            if k in slot:
                w.store(body.name(k), "%wait", slot[k])
        w.do("ret void")
        functions.append(function(f"{name}_{p}", f"{parameters}, ptr noalias %trig", w.lines, noinline=True))
    w = Writer(width, kind)
    start = _Body(w, program, _packed(positions), angles)
    start.begin()
    for p in range(len(cut)):
        w.do(f"call void @{name}_{p}({given}, ptr {'%trig' if start.angles else 'null'})")
    w.do("ret void")
    functions.append(function(name, parameters, w.lines, noinline=True))
    return "\n".join(functions), slot


def _cut(
    computed: list[int], places: Mapping[int, Sequence[Place]], size: int
) -> tuple[dict[int, int], list[list[int]]]:
    """Which piece each step belongs to, and the steps of each piece: about `size` steps and stores."""
    piece: dict[int, int] = {}
    pieces: list[list[int]] = []
    filled = size
    for k in computed:
        if filled >= size:
            pieces.append([])
            filled = 0
        piece[k] = len(pieces) - 1
        pieces[-1].append(k)
        filled += 1 + len(places.get(k, ()))
    return piece, pieces


class _WaitingBody(_Body):
    """A body that takes what earlier pieces computed from the waiting array."""

    def __init__(
        self,
        writer: Writer,
        program: Program,
        inputs: Sequence[Place],
        angles: Sequence[int],
        piece: dict[int, int],
        current: int,
        slot: dict[int, int],
    ) -> None:
        super().__init__(writer, program, inputs, angles)
        self.piece, self.current, self.slot = piece, current, slot

    def name(self, k: int) -> str:
        if k not in self.names and self.piece.get(k, self.current) != self.current:
            self.names[k] = self.w.load("%wait", self.slot[k])
        return super().name(k)


def _at_hand(step: Step, angles: set[int]) -> bool:
    """Whether a step is written where it is used instead of waiting: loads, constants, and truth values, which do not
    fit into an array of numbers."""
    if step.operation in ("sin", "cos"):
        return step.operands[0] in angles
    return step.operation in ("constant", "input") or OPERATIONS[step.operation].truth


def _reads(program: Program, k: int) -> list[int]:
    """The numbers that writing step k takes, through truth values too."""
    found: list[int] = []
    for x in program.steps[k].operands:
        operation = OPERATIONS.get(program.steps[x].operation)
        found += program.steps[x].operands if operation is not None and operation.truth else (x,)
    return found


def _slots(program: Program, piece: dict[int, int], computed: list[int], until: dict[int, int]) -> dict[int, int]:
    """Which place of the waiting array each value takes that crosses a cut, or waits `until` a piece is done."""
    last = dict(until)
    for k in computed:
        for x in _reads(program, k):
            if x in piece:
                last[x] = max(last.get(x, 0), piece[k])
    slot: dict[int, int] = {}
    free: list[int] = []
    ending: dict[int, list[int]] = {}
    top = 0
    current = -1
    for k in computed:
        if piece[k] != current:
            current = piece[k]
            free.extend(ending.pop(current - 1, ()))
        if last.get(k, current) > current or k in until:
            if free:
                slot[k] = free.pop()
            else:
                slot[k], top = top, top + 1
            ending.setdefault(last[k], []).append(slot[k])
    return slot
