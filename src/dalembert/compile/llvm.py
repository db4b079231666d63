"""A program as LLVM IR, and IR as object code.

Every operation works on a vector of W states. The code is

    body(in, out)      straight line: W states, inputs and outputs as arrays of vectors
    gather, scatter    copy W states of one array to and from those vectors, any strides
    loop               what NumPy calls: tiles of W states; a lone state goes through a scalar body

so that only `body` grows with the robot. Long programs are cut into functions that pass values through
an array: code generation then grows linearly. No IR passes run (the graph is already clean) and no
fast-math: bits are the same at every width.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from dalembert.compile import trigonometry as trig
from dalembert.compile.lower import Program, Step
from dalembert.compile.operations import OPERATIONS

SPLIT_ABOVE = 10_000  # steps in one function; longer programs are cut
PIECE = 400  # steps per function then
# Doubles in one register; two registers per value would spill more than they hide (measured: 46 against
# 54 ns a state for Panda's inverse dynamics on AVX2).
WIDTHS = (("avx512f", 8), ("avx", 4))
SYMBOL = "dalembert_loop"
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Target:
    """The machine that code is made for."""

    triple: str
    cpu: str
    features: str
    width: int  # states per vector


@cache
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def host() -> Target:
    """This machine: vectors as wide as its registers allow."""
    llvm = _binding()
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    if features.get("avx512f"):
        flat += ",-prefer-256-bit"
    width = next((w for feature, w in WIDTHS if features.get(feature)), 2)
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), flat, width)


@cache
def _machine(target: Target) -> Any:
    llvm = _binding()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, jit=True
    )


# --------------------------------------------------------------------------------------- straight line
class _Writer:
    """Collects the IR of one function over vectors of `width` doubles."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        vector = width > 1
        self.V = f"<{width} x double>" if vector else "double"
        self.I = f"<{width} x i64>" if vector else "i64"
        self.B = f"<{width} x i1>" if vector else "i1"
        self.v = f"v{width}f64" if vector else "f64"
        self._count = 0

    def let(self, text: str) -> str:
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def number(self, x: float) -> str:
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return bits if self.width == 1 else "<" + ", ".join([f"double {bits}"] * self.width) + ">"

    def integer(self, x: int) -> str:
        return str(x) if self.width == 1 else "<" + ", ".join([f"i64 {x}"] * self.width) + ">"

    def operation(self, name: str, *operands: str) -> str:
        template = OPERATIONS[name].llvm
        assert template is not None
        return self.let(template.format(*operands, V=self.V, B=self.B, v=self.v))

    def load(self, array: str, index: int) -> str:
        at = self.let(f"getelementptr {self.V}, ptr {array}, i64 {index}")
        return self.let(f"load {self.V}, ptr {at}, align 8")

    def store(self, value: str, array: str, index: int) -> None:
        at = self.let(f"getelementptr {self.V}, ptr {array}, i64 {index}")
        self.do(f"store {self.V} {value}, ptr {at}, align 8")

    def sin_cos(self, x: str) -> tuple[str, str]:
        """The steps of `trigonometry.sin_cos`, without a branch."""
        V, I, B = self.V, self.I, self.B

        def fma(a: str, b: str, c: str) -> str:
            return self.operation("fma", a, b, c)

        n = self.number
        product = self.operation("multiply", x, n(trig.TWO_OVER_PI))
        shifted = self.operation("add", product, n(trig.MAGIC))
        k = self.let(f"bitcast {V} {shifted} to {I}")
        turns = self.operation("subtract", shifted, n(trig.MAGIC))
        # |x| ≤ LIMIT on the bits: a comparison of doubles would raise the "invalid" flag for NaN, and NumPy warn.
        bits = self.let(f"bitcast {V} {self.operation('absolute', x)} to {I}")
        limit = struct.unpack("<q", struct.pack("<d", trig.LIMIT))[0]
        inside = self.let(f"icmp sle {I} {bits}, {self.integer(limit)}")
        r = self.let(f"select {B} {inside}, {V} {x}, {V} {n(float('nan'))}")
        for part in trig.HALF_PI:
            r = fma(turns, n(-part), r)
        z = self.operation("multiply", r, r)
        s, c = n(trig.SIN[0]), n(trig.COS[0])
        for a in trig.SIN[1:]:
            s = fma(s, z, n(a))
        s = fma(self.operation("multiply", s, z), r, r)
        for a in trig.COS[1:]:
            c = fma(c, z, n(a))
        c = fma(self.operation("multiply", c, z), z, fma(z, n(-0.5), n(1.0)))
        bit = self.let(f"and {I} {k}, {self.integer(1)}")
        odd = self.let(f"icmp ne {I} {bit}, {self.integer(0)}")
        swapped_s = self.let(f"select {B} {odd}, {V} {c}, {V} {s}")
        swapped_c = self.let(f"select {B} {odd}, {V} {s}, {V} {c}")
        k_cos = self.let(f"add {I} {k}, {self.integer(1)}")
        return self._signed(swapped_s, k), self._signed(swapped_c, k_cos)

    def _signed(self, value: str, k: str) -> str:
        """value, negated where bit 1 of k is set: the bit moved into the sign's place."""
        bit = self.let(f"and {self.I} {k}, {self.integer(2)}")
        sign = self.let(f"shl {self.I} {bit}, {self.integer(62)}")
        bits = self.let(f"bitcast {self.V} {value} to {self.I}")
        flipped = self.let(f"xor {self.I} {bits}, {sign}")
        return self.let(f"bitcast {self.I} {flipped} to {self.V}")


class _Body:
    """Writes steps of a program, remembering what each is called.

    Sines and cosines of what the arguments alone determine (the joint angles) are computed beforehand, all in one
    small loop, and wait in the array %trig; `angles` says where."""

    def __init__(self, writer: _Writer, program: Program, positions: Sequence[int]) -> None:
        self.w = writer
        self.program = program
        self.first_input = positions
        self.angles = {x: k for k, x in enumerate(_angles(program))}
        self.names: dict[int, str] = {}
        self.pairs: dict[int, tuple[str, str]] = {}

    def begin(self) -> None:
        """Compute the angles and call the loop."""
        w, count = self.w, len(self.angles)
        if not count:
            return
        w.do(f"%angles = alloca [{count} x {w.V}], align 64")
        w.do(f"%trig = alloca [{2 * count} x {w.V}], align 64")
        for x, k in self.angles.items():
            w.store(self.name(x), "%angles", k)
        w.do(f"call void @sin_cos_{w.width}(ptr %angles, ptr %trig, i64 {count})")

    def name(self, k: int) -> str:
        known = self.names.get(k)
        if known is None:
            known = self.names[k] = self._write(self.program.steps[k])
        return known

    def write(self, k: int, places: Sequence[int]) -> None:
        """Write step k, and store it right away where it is an output: a value held for later costs a register."""
        if places or self.program.steps[k].operation != "input":  # inputs are loaded where they are used
            value = self.name(k)
            for place in places:
                self.w.store(value, "%out", place)

    def _write(self, step: Step) -> str:
        w = self.w
        if step.operation == "constant":
            return w.number(step.value)
        if step.operation == "input":
            argument, position = step.value
            return w.load("%in", self.first_input[argument] + position)
        if step.operation in ("sin", "cos"):
            (x,) = step.operands
            cos = step.operation == "cos"
            if x in self.angles:
                return w.load("%trig", 2 * self.angles[x] + cos)
            if x not in self.pairs:
                self.pairs[x] = w.sin_cos(self.name(x))
            return self.pairs[x][cos]
        operands = [self.name(x) for x in step.operands]
        for i, flipped in enumerate(step.flip):
            if flipped:
                operands[i] = w.operation("negate", operands[i])
        return w.operation(step.operation, *operands)


def _angles(program: Program) -> list[int]:
    """The operands of sin and cos that need no other sin or cos."""
    late: set[int] = set()  # steps that depend on a sine
    found: dict[int, None] = {}
    for k, step in enumerate(program.steps):
        trigonometric = step.operation in ("sin", "cos")
        if trigonometric and step.operands[0] not in late:
            found[step.operands[0]] = None
        if trigonometric or any(x in late for x in step.operands):
            late.add(k)
    return list(found)


def _sin_cos_function(width: int) -> str:
    """sin and cos of an array of vectors, interleaved."""
    w = _Writer(width)
    w.lines = ["entry:", "  br label %head", "head:", "  %k = phi i64 [0, %entry], [%next, %head]"]
    at = w.let(f"getelementptr {w.V}, ptr %angles, i64 %k")
    pair = w.sin_cos(w.let(f"load {w.V}, ptr {at}, align 8"))
    place = w.let("shl i64 %k, 1")
    to = w.let(f"getelementptr {w.V}, ptr %trig, i64 {place}")
    for k, value in enumerate(pair):
        w.store(value, to, k)
    w.do("%next = add i64 %k, 1")
    w.do("%more = icmp slt i64 %next, %count")
    w.do("br i1 %more, label %head, label %done")
    w.lines += ["done:", "  ret void"]
    return _function(f"sin_cos_{width}", "ptr noalias %angles, ptr noalias %trig, i64 %count", w.lines)


def _places(program: Program) -> dict[int, list[int]]:
    """For each step that is an output, its places in the output buffer."""
    places: dict[int, list[int]] = {}
    for place, k in enumerate(k for group in program.outputs for k in group):
        places.setdefault(k, []).append(place)
    return places


def _constants(program: Program, width: int, name: str) -> str:
    """Writes the outputs that do not depend on the state: once per call, not once per tile."""
    w = _Writer(width)
    for k, places in _places(program).items():
        if program.steps[k].operation == "constant":
            for place in places:
                w.store(w.number(program.steps[k].value), "%out", place)
    w.do("ret void")
    return _function(name, "ptr noalias %out", w.lines)


def _body(program: Program, positions: Sequence[int], width: int, name: str) -> str:
    """The straight-line function, whole or in pieces."""
    if program.operations > SPLIT_ABOVE:
        return _pieces(program, positions, width, name)
    w = _Writer(width)
    body = _Body(w, program, positions)
    body.begin()
    places = _places(program)
    for k, step in enumerate(program.steps):
        if step.operation != "constant":
            body.write(k, places.get(k, ()))
    w.do("ret void")
    return _function(name, "ptr noalias %in, ptr noalias %out", w.lines)


def _function(name: str, parameters: str, lines: list[str], noinline: bool = False) -> str:
    head = f"define internal void @{name}({parameters}) nounwind" + (" noinline" if noinline else "")
    return "\n".join([head + " {", *lines, "}"])


def _pieces(program: Program, positions: Sequence[int], width: int, name: str) -> str:
    """The same, cut every PIECE steps; what a later piece needs waits in an array, whose places are used
    again once their last reader is done."""
    steps = program.steps
    ready = ("constant", "input", "sin", "cos")
    angles = set(_angles(program))
    computed = [
        k
        for k, s in enumerate(steps)
        if s.operation not in ready or (s.operation in ("sin", "cos") and s.operands[0] not in angles)
    ]
    piece = {k: at // PIECE for at, k in enumerate(computed)}
    count = len(computed) // PIECE + 1
    slot, slots = _slots(program, piece, computed)
    places = _places(program)
    passed_on = [k for k in places if k not in piece and steps[k].operation != "constant"]
    functions = []
    parameters = "ptr noalias %in, ptr noalias %out, ptr noalias %wait, ptr noalias %trig"
    for p in range(count):
        w = _Writer(width)
        body = _WaitingBody(w, program, positions, piece, p, slot)
        for k in computed[p * PIECE : (p + 1) * PIECE] + (passed_on if p == 0 else []):
            body.write(k, places.get(k, ()))
            if k in slot:
                w.store(body.name(k), "%wait", slot[k])
        w.do("ret void")
        functions.append(_function(f"{name}_{p}", parameters, w.lines, noinline=True))
    w = _Writer(width)
    w.do(f"%wait = alloca [{max(slots, 1)} x {w.V}], align 64")
    start = _Body(w, program, positions)
    start.begin()
    trig = "%trig" if start.angles else "null"
    for p in range(count):
        w.do(f"call void @{name}_{p}(ptr %in, ptr %out, ptr %wait, ptr {trig})")
    w.do("ret void")
    functions.append(_function(name, "ptr noalias %in, ptr noalias %out", w.lines))
    return "\n".join(functions)


class _WaitingBody(_Body):
    """A body that takes what earlier pieces computed from the waiting array."""

    def __init__(
        self,
        writer: _Writer,
        program: Program,
        positions: Sequence[int],
        piece: dict[int, int],
        current: int,
        slot: dict[int, int],
    ) -> None:
        super().__init__(writer, program, positions)
        self.piece, self.current, self.slot = piece, current, slot

    def name(self, k: int) -> str:
        if k not in self.names and self.piece.get(k, self.current) != self.current:
            self.names[k] = self.w.load("%wait", self.slot[k])
        return super().name(k)


def _slots(
    program: Program, piece: dict[int, int], computed: list[int]
) -> tuple[dict[int, int], int]:
    """Which place of the waiting array each value that crosses a cut takes."""
    last: dict[int, int] = {}
    for k in computed:
        for x in program.steps[k].operands:
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
        if last.get(k, current) > current:
            if free:
                slot[k] = free.pop()
            else:
                slot[k], top = top, top + 1
            ending.setdefault(last[k], []).append(slot[k])
    return slot, top


# ------------------------------------------------------------------------------------------- the loop
def _copy_functions(width: int) -> str:
    """gather and scatter of one array, for W states.

    `flat`: each state's elements lie next to one another; W running pointers, one vector at a time.
    `strided`: any strides of up to three core dimensions; one element at a time.
    Lanes past the last state repeat it on the way in, and are not written on the way out.
    """
    W, V = width, f"<{width} x double>" if width > 1 else "double"
    rows = ["  %last = sub i64 %lanes, 1"]
    for lane in range(W):
        rows += [
            f"  %c{lane} = icmp slt i64 {lane}, %lanes",
            f"  %l{lane} = select i1 %c{lane}, i64 {lane}, i64 %last",
            f"  %o{lane} = mul i64 %l{lane}, %step",
            f"  %p{lane} = getelementptr i8, ptr %base, i64 %o{lane}",
        ]
    gather, scatter = [], []
    vector = "poison"
    for lane in range(W):
        gather += [
            f"  %a{lane} = getelementptr double, ptr %p{lane}, i64 %j",
            f"  %x{lane} = load double, ptr %a{lane}, align 1",
        ]
        if W > 1:
            gather.append(f"  %v{lane} = insertelement {V} {vector}, double %x{lane}, i32 {lane}")
            vector = f"%v{lane}"
            scatter.append(f"  %x{lane} = extractelement {V} %v, i32 {lane}")
        else:
            vector = "%x0"
            scatter.append("  %x0 = fadd double %v, 0x8000000000000000")
        scatter += [
            f"  %a{lane} = getelementptr double, ptr %p{lane}, i64 %j",
            f"  store double %x{lane}, ptr %a{lane}, align 1",
        ]
    if W == 1:
        scatter = [
            "  %a0 = getelementptr double, ptr %p0, i64 %j",
            "  store double %v, ptr %a0, align 1",
        ]
    at = f"  %at = getelementptr {V}, ptr %buffer, i64 %j"
    loop = "  br label %head\nhead:\n  %j = phi i64 [0, %entry], [%next, %head]"
    end = (
        "  %next = add i64 %j, 1\n  %more = icmp slt i64 %next, %size\n"
        "  br i1 %more, label %head, label %done\ndone:\n  ret void\n}"
    )
    arguments = "ptr %base, i64 %step, i64 %size, i64 %lanes, ptr %buffer"
    head = "define internal void @{name}({arguments}) nounwind {{\nentry:"
    text = [head.format(name=f"gather_flat_{W}", arguments=arguments), *rows, loop, *gather, at]
    text += [f"  store {V} {vector}, ptr %at, align 8", end]
    text += [head.format(name=f"scatter_flat_{W}", arguments=arguments), *rows, loop, at]
    text += [f"  %v = load {V}, ptr %at, align 8", *scatter, end]
    return "\n".join([*text, _strided(W, "gather"), _strided(W, "scatter")])


def _strided(W: int, direction: str) -> str:
    """Four nested loops: lanes, then three core dimensions."""
    gather = direction == "gather"
    count = str(W) if gather else "%lanes"
    move = (
        "  %value = load double, ptr %outside, align 1\n  store double %value, ptr %inside, align 8"
        if gather
        else "  %value = load double, ptr %inside, align 8\n  store double %value, ptr %outside, align 1"
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
  %inside = getelementptr double, ptr %buffer, i64 %k
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


class _Loop:
    """Writes the function that NumPy calls."""

    def __init__(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> None:
        self.shapes = [*inputs, *outputs]
        self.inputs = len(inputs)
        self.lines: list[str] = []
        self.count = 0

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def item(self, array: str, k: int, kind: str) -> str:
        at = self.let(f"getelementptr i64, ptr {array}, i64 {k}")
        return self.let(f"load {kind}, ptr {at}")

    def write(self, width: int) -> str:
        arguments = len(self.shapes)
        total_in = sum(prod(s) for s in self.shapes[: self.inputs])
        total_out = sum(prod(s) for s in self.shapes[self.inputs :])
        self.lines.append(
            f"define void @{SYMBOL}(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind "
            '"no-stack-arg-probe" {\nentry:'
        )
        self.do(f"%in = alloca [{max(total_in, 1) * width} x double], align 64")
        self.do(f"%out = alloca [{max(total_out, 1) * width} x double], align 64")
        states = self.let("load i64, ptr %dims")
        self.pointers = [self.item("%args", k, "ptr") for k in range(arguments)]
        self.steps = [self.item("%steps", k, "i64") for k in range(arguments)]
        self._layouts(arguments)
        one = self.let(f"icmp eq i64 {states}, 1")
        self.do(f"br i1 {one}, label %single, label %several")
        self.lines.append("several:")
        self.do(f"call void @constants_{width}(ptr %out)")
        self.do("br label %head")
        self.lines.append("head:")
        self.do("%i = phi i64 [0, %several], [%next, %tile_end]")
        more = self.let(f"icmp slt i64 %i, {states}")
        self.do(f"br i1 {more}, label %tile, label %done")
        self.lines.append("tile:")
        left = self.let(f"sub i64 {states}, %i")
        partial = self.let(f"icmp slt i64 {left}, {width}")
        lanes = self.let(f"select i1 {partial}, i64 {left}, i64 {width}")
        self._tile(width, "%i", lanes, partial)
        self.do(f"%next = add i64 %i, {width}")
        self.do("br label %tile_end")
        self.lines.append("tile_end:")
        self.do("br label %head")
        self.lines.append("single:")
        self.do("call void @constants_1(ptr %out)")
        self._tile(1, "0", "1", "false")
        self.do("br label %done")
        self.lines.append("done:")
        self.do("ret void")
        return "\n".join([*self.lines, "}"])

    def _layouts(self, arguments: int) -> None:
        """Per array: three core dimensions and strides (leading ones filled in), and whether it is flat."""
        self.layout: list[tuple[str, str, str]] = []
        at = arguments
        for shape in self.shapes:
            full = (1,) * (3 - len(shape)) + tuple(shape)
            sizes, strides = self.let("alloca [3 x i64]"), self.let("alloca [3 x i64]")
            flat = "true"
            expected = 8
            own = [self.item("%steps", at + d, "i64") for d in range(len(shape))]
            at += len(shape)
            own = ["0"] * (3 - len(shape)) + own
            for d in reversed(range(3)):
                for array, value in ((sizes, str(full[d])), (strides, own[d])):
                    p = self.let(f"getelementptr i64, ptr {array}, i64 {d}")
                    self.do(f"store i64 {value}, ptr {p}")
                if full[d] > 1:
                    same = self.let(f"icmp eq i64 {own[d]}, {expected}")
                    flat = self.let(f"and i1 {flat}, {same}")
                expected *= full[d]
            self.layout.append((flat, sizes, strides))

    def _tile(self, width: int, first: str, lanes: str, partial: str) -> None:
        place = {"gather": 0, "scatter": 0}
        for k, shape in enumerate(self.shapes):
            if k == self.inputs:
                self.do(f"call void @body_{width}(ptr %in, ptr %out)")
            direction = "gather" if k < self.inputs else "scatter"
            size = prod(shape)
            if size:
                buffer = self.let(
                    f"getelementptr double, ptr %{'in' if direction == 'gather' else 'out'}, "
                    f"i64 {place[direction] * width}"
                )
                self._copy(direction, k, size, width, first, lanes, partial, buffer)
            place[direction] += size

    def _copy(
        self, direction: str, k: int, size: int, width: int, first: str, lanes: str, partial: str, buffer: str
    ) -> None:
        flat, sizes, strides = self.layout[k]
        offset = self.let(f"mul i64 {first}, {self.steps[k]}")
        base = self.let(f"getelementptr i8, ptr {self.pointers[k]}, i64 {offset}")
        if direction == "scatter":  # the vector copy would write the lanes that are not there
            whole = self.let(f"xor i1 {partial}, true")
            flat = self.let(f"and i1 {flat}, {whole}")
        self.count += 1
        label = f"c{self.count}"
        self.do(f"br i1 {flat}, label %{label}_flat, label %{label}_strided")
        self.lines.append(f"{label}_flat:")
        self.do(
            f"call void @{direction}_flat_{width}(ptr {base}, i64 {self.steps[k]}, i64 {size}, "
            f"i64 {lanes}, ptr {buffer})"
        )
        self.do(f"br label %{label}_end")
        self.lines.append(f"{label}_strided:")
        self.do(
            f"call void @{direction}_strided_{width}(ptr {base}, i64 {self.steps[k]}, ptr {sizes}, "
            f"ptr {strides}, i64 {lanes}, ptr {buffer})"
        )
        self.do(f"br label %{label}_end")
        self.lines.append(f"{label}_end:")


def module(
    program: Program,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    width: int,
) -> str:
    """The whole IR of a kernel."""
    positions = [0]
    for shape in inputs:
        positions.append(positions[-1] + prod(shape))
    parts = []
    for w in sorted({1, width}):
        writer = _Writer(w)
        V, v = writer.V, writer.v
        parts.append(f"declare {V} @llvm.fma.{v}({V}, {V}, {V})")
        parts += [f"declare {V} @llvm.{name}.{v}({V})" for name in ("sqrt", "fabs")]
        parts.append(_body(program, positions, w, f"body_{w}"))
        parts.append(_constants(program, w, f"constants_{w}"))
        parts += [_copy_functions(w), _sin_cos_function(w)]
    parts.append(_Loop(inputs, outputs).write(width))
    return "\n".join(parts) + "\n"


def object_code(text: str, target: Target) -> bytes:
    """Machine code of a module. Verified first: a wrong signature would crash inside LLVM."""
    llvm = _binding()
    with _LOCK:
        parsed = llvm.parse_assembly(text)
        parsed.triple = target.triple
        parsed.verify()
        code: bytes = _machine(target).emit_object(parsed)
        return code


class Code:
    """Object code linked into this process; it stays as long as this object does."""

    def __init__(self, data: bytes, target: Target) -> None:
        llvm = _binding()
        with _LOCK:
            name = f"dalembert_{next(_COUNTER)}"
            builder = llvm.JITLibraryBuilder().add_object_img(data).export_symbol(SYMBOL)
            self._library = builder.link(_linker(target), name)
        self.address: int = self._library[SYMBOL]


@cache
def _linker(target: Target) -> Any:
    return _binding().create_lljit_compiler(_machine(target))


def _numbers() -> Iterator[int]:
    k = 0
    while True:
        yield k
        k += 1


_COUNTER = _numbers()
