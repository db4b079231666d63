"""Writes LLVM IR, one function at a time, over vectors of `width` numbers (or plain numbers)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dalembert.compile.functions import LOG2_E, TWO_OVER_PI
from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.operations import OPERATIONS


class Lines:
    """Collects the IR of one function; every value gets a name of its own. Places in arrays are counted in `index`."""

    def __init__(self, first: Sequence[str] = (), index: str = "i64") -> None:
        self.lines: list[str] = list(first)
        self.index = index
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

    def item(self, array: str, k: int, kind: str) -> str:
        """Word k of an array of pointers or whole numbers."""
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr i64, ptr {array}, i64 {k}')}")

    @contextmanager
    def loop(self, count: int | str, step: int = 1, name: str = "head", before: str = "entry") -> Iterator[str]:
        """Do what follows for 0, step, 2 step, … below `count`, the first whatever it is, after the block `before`;
        then go on after the label `name`_end."""
        k = f"%{name}_k"
        self.do(f"br label %{name}")
        self.label(name)
        self.do(f"{k} = phi {self.index} [0, %{before}], [{k}_next, %{name}]")
        yield k
        self.do(f"{k}_next = add {self.index} {k}, {step}")
        more = self.let(f"icmp slt {self.index} {k}_next, {count}")
        self.do(f"br i1 {more}, label %{name}, label %{name}_end")
        self.label(f"{name}_end")


class Writer(Lines):
    """Collects the IR of one function over vectors of `width` numbers of a kind. With `masks` a choice is made on the
    bits, for a machine on which LLVM would branch. With a `table`, constants are loaded from the array `table_at`: the
    table gets those that it lacks."""

    def __init__(
        self,
        width: int,
        kind: Kind = DOUBLE,
        index: str = "i64",
        masks: bool = False,
        table: dict[str, int] | None = None,
        table_at: str = "%table",
    ) -> None:
        super().__init__(index=index)
        self.width, self.kind, self.masks = width, kind, masks
        self.table, self.table_at = table, table_at
        self.E = kind.name
        self.V = self._vector(kind.name)
        self.I = self._vector(f"i{kind.bits}")
        self.B = self._vector("i1")
        self.v = f"v{width}f{kind.bits}" if width > 1 else f"f{kind.bits}"

    def declarations(self) -> list[str]:
        """The intrinsics that operations call."""
        V, v = self.V, self.v
        unary = [f"declare {V} @llvm.{name}.{v}({V})" for name in ("sqrt", "fabs")]
        return [f"declare {V} @llvm.fma.{v}({V}, {V}, {V})", *unary]

    def _vector(self, element: str) -> str:
        return f"<{self.width} x {element}>" if self.width > 1 else element

    def _splat(self, element: str, value: str) -> str:
        return value if self.width == 1 else "<" + ", ".join([f"{element} {value}"] * self.width) + ">"

    def number(self, x: float) -> str:
        text = self.kind.constant(x)
        if self.table is None or x == 0.0 or x != x:  # zero every machine has at hand
            return self._splat(self.E, text)
        place = self.table.setdefault(text, len(self.table))
        at = self.let(f"getelementptr {self.E}, ptr {self.table_at}, {self.index} {place}")
        return self.wide(self.let(f"load {self.E}, ptr {at}, align {self.kind.bytes}, !invariant.load !0"))

    def integer(self, x: int) -> str:
        return self._splat(f"i{self.kind.bits}", str(x))

    def operation(self, name: str, *operands: str) -> str:
        if name == "fma" and not self.kind.fused:
            return self.operation("add", self.operation("multiply", *operands[:2]), operands[2])
        if name == "where":
            return self._select(*operands)
        return self.let(OPERATIONS[name].llvm.format(*operands, V=self.V, B=self.B, v=self.v))

    def wide(self, x: str) -> str:
        """One number in all lanes."""
        if self.width == 1:
            return x
        one = self.let(f"insertelement {self.V} poison, {self.E} {x}, i32 0")
        return self.let(f"shufflevector {self.V} {one}, {self.V} poison, <{self.width} x i32> zeroinitializer")

    def load(self, array: str, index: int | str) -> str:
        at = self.let(f"getelementptr {self.V}, ptr {array}, {self.index} {index}")
        return self.let(f"load {self.V}, ptr {at}, align {self.kind.bytes}")

    def store(self, value: str, array: str, index: int | str) -> None:
        at = self.let(f"getelementptr {self.V}, ptr {array}, {self.index} {index}")
        self.do(f"store {self.V} {value}, ptr {at}, align {self.kind.bytes}")

    def sin_cos(self, x: str) -> tuple[str, str]:
        """The steps of `trigonometry.sin_cos`, without a branch."""
        V, I = self.V, self.I

        def fma(a: str, b: str, c: str) -> str:
            return self.operation("fma", a, b, c)

        n, trig = self.number, self.kind
        product = self.operation("multiply", x, n(TWO_OVER_PI))
        shifted = self.operation("add", product, n(trig.magic))
        k = self.let(f"bitcast {V} {shifted} to {I}")
        turns = self.operation("subtract", shifted, n(trig.magic))
        # |x| ≤ limit on the bits: a comparison of numbers would raise the "invalid" flag for NaN, and NumPy warn.
        bits = self.let(f"bitcast {V} {self.operation('absolute', x)} to {I}")
        inside = self.let(f"icmp sle {I} {bits}, {self.integer(self.kind.as_integer(trig.largest_angle))}")
        r = self._select(inside, x, n(float("nan")))
        for part in trig.half_pi:
            r = fma(turns, n(-part), r)
        z = self.operation("multiply", r, r)
        s = fma(self.operation("multiply", self._horner(trig.sin, z), z), r, r)
        c = self._horner(trig.cos, z)
        c = fma(self.operation("multiply", c, z), z, fma(z, n(-0.5), n(1.0)))
        bit = self.let(f"and {I} {k}, {self.integer(1)}")
        odd = self.let(f"icmp ne {I} {bit}, {self.integer(0)}")
        swapped_s, swapped_c = self._select(odd, c, s), self._select(odd, s, c)
        k_cos = self.let(f"add {I} {k}, {self.integer(1)}")
        return self._signed(swapped_s, k), self._signed(swapped_c, k_cos)

    def _signed(self, value: str, k: str) -> str:
        """value, negated where bit 1 of k is set: the bit moved into the sign's place."""
        bit = self.let(f"and {self.I} {k}, {self.integer(2)}")
        sign = self.let(f"shl {self.I} {bit}, {self.integer(self.kind.bits - 2)}")
        bits = self.let(f"bitcast {self.V} {value} to {self.I}")
        flipped = self.let(f"xor {self.I} {bits}, {sign}")
        return self.let(f"bitcast {self.I} {flipped} to {self.V}")

    def _horner(self, coefficients: Sequence[float], x: str) -> str:
        y = self.number(coefficients[0])
        for a in coefficients[1:]:
            y = self.operation("fma", y, x, self.number(a))
        return y

    def _as_integer(self, x: str) -> str:
        return self.let(f"bitcast {self.V} {x} to {self.I}")

    def _as_number(self, x: str) -> str:
        return self.let(f"bitcast {self.I} {x} to {self.V}")

    def _select(self, condition: str, a: str, b: str) -> str:
        if self.masks:
            return self.select_bits(condition, a, b)
        return self.let(f"select {self.B} {condition}, {self.V} {a}, {self.V} {b}")

    def select_bits(self, condition: str, a: str, b: str) -> str:
        bits = [self._as_integer(x) for x in (a, b)]
        if not self.masks:
            return self._as_number(self.let(f"select {self.B} {condition}, {self.I} {bits[0]}, {self.I} {bits[1]}"))
        mask = self.let(f"sext {self.B} {condition} to {self.I}")
        either = self.let(f"xor {self.I} {bits[0]}, {bits[1]}")
        return self._as_number(self.let(f"xor {self.I} {bits[1]}, {self.let(f'and {self.I} {either}, {mask}')}"))

    def _two_to(self, k: str) -> str:
        """2ᵏ of a whole k, made of its bits."""
        t = self.kind
        biased = self.let(f"add {self.I} {k}, {self.integer(t.bias)}")
        return self._as_number(self.let(f"shl {self.I} {biased}, {self.integer(t.mantissa)}"))

    def exp(self, x: str) -> str:
        """The steps of `exponential.exponential`, without a branch; comparisons on the bits, as for the sine."""
        I, n, i, t = self.I, self.number, self.integer, self.kind
        as_bits, op = self.kind.as_integer, self.operation
        bits = self._as_integer(op("absolute", x))
        sign = self.let(f"xor {I} {self._as_integer(x)}, {bits}")
        ends = self._as_number(self.let(f"or {I} {sign}, {i(as_bits(t.largest_exponent))}"))
        number = self.let(f"icmp sle {I} {bits}, {i(as_bits(float('inf')))}")
        beyond = self.let(f"icmp sgt {I} {bits}, {i(as_bits(t.largest_exponent))}")
        y = self._select(number, self._select(beyond, ends, x), x)
        shifted = op("fma", y, n(LOG2_E), n(t.magic))
        k = self.let(f"sub {I} {self._as_integer(shifted)}, {i(as_bits(t.magic))}")
        turns = op("subtract", shifted, n(t.magic))
        r = op("fma", turns, n(-t.ln2[1]), op("fma", turns, n(-t.ln2[0]), y))
        p = op("fma", op("multiply", r, r), self._horner(t.exp, r), r)
        p = op("add", p, n(1.0))
        half = self.let(f"ashr {I} {k}, {i(1)}")
        rest = self.let(f"sub {I} {k}, {half}")
        return op("multiply", op("multiply", p, self._two_to(half)), self._two_to(rest))

    def log(self, x: str) -> str:
        """The steps of `exponential.logarithm`, without a branch."""
        I, n, i, t = self.I, self.number, self.integer, self.kind
        as_bits, op = self.kind.as_integer, self.operation
        written = self._as_integer(x)
        low = self.let(f"icmp ult {I} {written}, {i(as_bits(t.smallest))}")
        bits = self._as_integer(op("multiply", x, self._select(low, n(2.0**t.lift), n(1.0))))
        above = self.let(f"sub {I} {bits}, {i(as_bits(t.half_root))}")
        e = self.let(f"ashr {I} {above}, {i(t.mantissa)}")
        scale = self.let(f"shl {I} {e}, {i(t.mantissa)}")
        f = op("subtract", self._as_number(self.let(f"sub {I} {bits}, {scale}")), n(1.0))
        shifted = self._as_number(self.let(f"add {I} {e}, {i(as_bits(t.magic))}"))
        exponent = op("subtract", shifted, n(t.magic))
        exponent = op("subtract", exponent, self._select(low, n(float(t.lift)), n(0.0)))
        s = op("divide", f, op("add", f, n(2.0)))
        z = op("multiply", s, s)
        h = op("multiply", op("multiply", n(0.5), f), f)
        inner = op("fma", self._horner(t.log, z), z, h)
        rest = op("fma", s, inner, op("multiply", exponent, n(t.ln2[1])))
        y = op("fma", exponent, n(t.ln2[0]), op("subtract", f, op("subtract", h, rest)))
        finite = self.let(f"icmp slt {I} {written}, {i(as_bits(float('inf')))}")
        positive = self.let(f"icmp sgt {I} {written}, {i(0)}")
        zero = self.let(f"icmp eq {I} {self._as_integer(op('absolute', x))}, {i(0)}")
        other = self._select(zero, n(float("-inf")), n(float("nan")))
        return self._select(positive, self._select(finite, y, x), other)


def function(name: str, parameters: str, lines: list[str], noinline: bool = False, linkage: str = "internal") -> str:
    head = f"define {linkage} void @{name}({parameters}) nounwind" + (" noinline" if noinline else "")
    return "\n".join([head + " {", *lines, "}"])
