"""The function that NumPy calls for a generalized ufunc: tiles of W states, a lone state by itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dalembert.compile.body import Emission
from dalembert.compile.kinds import Kind
from dalembert.compile.writer import Lines, Writer, function

SYMBOL = "dalembert_loop"
FETCH_FROM = 16  # numbers per state: smaller results share cache lines and gain nothing
LINE = 64  # bytes of a cache line


def core_dimensions(*shapes: Sequence[tuple[int, ...]]) -> int:
    """The most core dimensions that an array of the kernel has; one at least."""
    return max((len(shape) for group in shapes for shape in group), default=1) or 1


def fetch_function(width: int) -> str:
    """Prefetch for writing `bytes` bytes of each of W states. Prefetching what is not there is harmless."""
    w = Writer(width)
    w.label("entry")
    rows = [w.let(f"getelementptr i8, ptr %base, i64 {w.let(f'mul i64 %step, {lane}')}") for lane in range(width)]
    with w.loop("%bytes", LINE) as at:
        for row in rows:
            p = w.let(f"getelementptr i8, ptr {row}, i64 {at}")
            w.do(f"call void @llvm.prefetch.p0(ptr {p}, i32 1, i32 3, i32 1)")
    w.do("ret void")
    return function(f"fetch_{width}", "ptr %base, i64 %step, i64 %bytes", w.lines)


class UfuncLoop(Lines):
    """Writes the function that NumPy calls."""

    def __init__(
        self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], kind: Kind, how: Emission
    ) -> None:
        super().__init__()
        self.kind, self.how = kind, how
        self.dimensions = core_dimensions(inputs, outputs)
        self.shapes = [*inputs, *outputs]
        self.inputs = len(inputs)
        self.heap: list[str] = []

    def write(self, width: int, lone: int) -> str:
        """The loop by tiles of `width` states; a lone state goes through the body of width `lone`."""
        arguments = len(self.shapes)
        total_in = sum(prod(s) for s in self.shapes[: self.inputs])
        total_out = sum(prod(s) for s in self.shapes[self.inputs :])
        self.lines.append(
            f"define void @{self.how.symbol}(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind "
            '"no-stack-arg-probe" {\nentry:'
        )
        for name, numbers in (("in", max(total_in, 1) * width), ("out", max(total_out, 1) * width)):
            self._buffer(name, numbers)
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
        self.do(f"call void @constants_{lone}(ptr %out)")
        self._tile(lone, "0", "1", "false" if lone == 1 else "true")
        self.do("br label %done")
        self.lines.append("done:")
        for name in self.heap:
            self.do(f"call void @free(ptr %{name})")
        self.do("ret void")
        return "\n".join([*self.lines, "}"])

    def _buffer(self, name: str, numbers: int) -> None:
        """Room for one tile: on the stack, or on the heap where it is large (threads may have small stacks)."""
        if numbers * self.kind.bytes <= self.how.stack:
            self.do(f"%{name} = alloca [{numbers} x {self.kind.name}], align 64")
        else:
            self.do(f"%{name} = call ptr @malloc(i64 {numbers * self.kind.bytes})")
            self.heap.append(name)

    def _layouts(self, arguments: int) -> None:
        """Per array: its core dimensions and strides (leading ones filled in), and whether it is flat."""
        self.layout: list[tuple[str, str, str]] = []
        at = arguments
        for shape in self.shapes:
            full = (1,) * (self.dimensions - len(shape)) + tuple(shape)
            sizes, strides = (self.let(f"alloca [{self.dimensions} x i64]") for _ in range(2))
            flat = "true"
            expected = self.kind.bytes
            own = [self.item("%steps", at + d, "i64") for d in range(len(shape))]
            at += len(shape)
            own = ["0"] * (self.dimensions - len(shape)) + own
            for d in reversed(range(self.dimensions)):
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
                self._fetch_ahead(width, first)
                self.do(f"call void @body_{width}(ptr %in, ptr %out)")
            direction = "gather" if k < self.inputs else "scatter"
            size = prod(shape)
            if size:
                buffer = self.let(
                    f"getelementptr {self.kind.name}, ptr %{'in' if direction == 'gather' else 'out'}, "
                    f"i64 {place[direction] * width}"
                )
                self._copy(direction, k, size, width, first, lanes, partial, buffer)
            place[direction] += size

    def _fetch_ahead(self, width: int, first: str) -> None:
        """Ask for the memory of this tile's results before computing them: the stores then find it in the cache
        instead of waiting for it."""
        for k in range(self.inputs, len(self.shapes)):
            size = prod(self.shapes[k])
            if width > 1 and size >= FETCH_FROM:
                offset = self.let(f"mul i64 {first}, {self.steps[k]}")
                base = self.let(f"getelementptr i8, ptr {self.pointers[k]}, i64 {offset}")
                self.do(f"call void @fetch_{width}(ptr {base}, i64 {self.steps[k]}, i64 {self.kind.bytes * size})")

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
            f"call void @{direction}_strided_{self.dimensions}_{width}(ptr {base}, i64 {self.steps[k]}, ptr {sizes}, "
            f"ptr {strides}, i64 {lanes}, ptr {buffer})"
        )
        self.do(f"br label %{label}_end")
        self.lines.append(f"{label}_end:")
