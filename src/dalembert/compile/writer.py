"""Writes LLVM IR, one function at a time, over vectors of `width` numbers (or plain numbers)."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.operations import OPERATIONS
from dalembert.compile.trigonometry import TWO_OVER_PI


class Lines:
    """Collects the IR of one function; every value gets a name of its own."""

    def __init__(self, first: Sequence[str] = ()) -> None:
        self.lines: list[str] = list(first)
        self.count = 0

    def let(self, text: str) -> str:
        """The name of a new value."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")


class Writer(Lines):
    """Collects the IR of one function over vectors of `width` numbers of a kind."""

    def __init__(self, width: int, kind: Kind = DOUBLE) -> None:
        super().__init__()
        self.width, self.kind = width, kind
        self.E = kind.name
        self.V = self._vector(kind.name)
        self.I = self._vector(f"i{kind.bits}")
        self.B = self._vector("i1")
        self.v = f"v{width}f{kind.bits}" if width > 1 else f"f{kind.bits}"

    def _vector(self, element: str) -> str:
        return f"<{self.width} x {element}>" if self.width > 1 else element

    def _splat(self, element: str, value: str) -> str:
        return value if self.width == 1 else "<" + ", ".join([f"{element} {value}"] * self.width) + ">"

    def number(self, x: float) -> str:
        return self._splat(self.E, self.kind.constant(x))

    def integer(self, x: int) -> str:
        return self._splat(f"i{self.kind.bits}", str(x))

    def operation(self, name: str, *operands: str) -> str:
        template = OPERATIONS[name].llvm
        assert template is not None
        return self.let(template.format(*operands, V=self.V, B=self.B, v=self.v))

    def load(self, array: str, index: int) -> str:
        at = self.let(f"getelementptr {self.V}, ptr {array}, i64 {index}")
        return self.let(f"load {self.V}, ptr {at}, align {self.kind.bytes}")

    def store(self, value: str, array: str, index: int) -> None:
        at = self.let(f"getelementptr {self.V}, ptr {array}, i64 {index}")
        self.do(f"store {self.V} {value}, ptr {at}, align {self.kind.bytes}")

    def sin_cos(self, x: str) -> tuple[str, str]:
        """The steps of `trigonometry.sin_cos`, without a branch."""
        V, I, B = self.V, self.I, self.B

        def fma(a: str, b: str, c: str) -> str:
            return self.operation("fma", a, b, c)

        n, trig = self.number, self.kind.trigonometry
        product = self.operation("multiply", x, n(TWO_OVER_PI))
        shifted = self.operation("add", product, n(trig.magic))
        k = self.let(f"bitcast {V} {shifted} to {I}")
        turns = self.operation("subtract", shifted, n(trig.magic))
        # |x| ≤ limit on the bits: a comparison of numbers would raise the "invalid" flag for NaN, and NumPy warn.
        bits = self.let(f"bitcast {V} {self.operation('absolute', x)} to {I}")
        inside = self.let(f"icmp sle {I} {bits}, {self.integer(self.kind.as_integer(trig.limit))}")
        r = self.let(f"select {B} {inside}, {V} {x}, {V} {n(float('nan'))}")
        for part in trig.half_pi:
            r = fma(turns, n(-part), r)
        z = self.operation("multiply", r, r)
        s, c = n(trig.sin[0]), n(trig.cos[0])
        for a in trig.sin[1:]:
            s = fma(s, z, n(a))
        s = fma(self.operation("multiply", s, z), r, r)
        for a in trig.cos[1:]:
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
        sign = self.let(f"shl {self.I} {bit}, {self.integer(self.kind.bits - 2)}")
        bits = self.let(f"bitcast {self.V} {value} to {self.I}")
        flipped = self.let(f"xor {self.I} {bits}, {sign}")
        return self.let(f"bitcast {self.I} {flipped} to {self.V}")


def function(name: str, parameters: str, lines: list[str], noinline: bool = False) -> str:
    head = f"define internal void @{name}({parameters}) nounwind" + (" noinline" if noinline else "")
    return "\n".join([head + " {", *lines, "}"])
