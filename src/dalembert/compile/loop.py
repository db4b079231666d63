"""The function that NumPy calls for a generalized ufunc: tiles of W states, a lone state by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dalembert.compile.body import Emission
from dalembert.compile.kinds import Kind
from dalembert.compile.writer import Lines, Writer, function

SYMBOL = "dalembert_loop"
FETCH_FROM = 16  # numbers per state: smaller results share cache lines and gain nothing
FETCH_NEXT_FROM = 64  # numbers per state: the processor itself looks ahead far enough for fewer
LINE = 64  # bytes of a cache line


def core_dimensions(*shapes: Sequence[tuple[int, ...]]) -> int:
    """The most core dimensions that an array of the kernel has; one at least."""
    return max((len(shape) for group in shapes for shape in group), default=1) or 1


def fetch_function(width: int, name: str, write: int) -> str:
    """Prefetch `bytes` bytes of each of W states, to read or to write. Prefetching what is not there is harmless."""
    w = Writer(width)
    w.label("entry")
    rows = [w.let(f"getelementptr i8, ptr %base, i64 {w.let(f'mul i64 %step, {lane}')}") for lane in range(width)]
    with w.loop("%bytes", LINE) as at:
        for row in rows:
            p = w.let(f"getelementptr i8, ptr {row}, i64 {at}")
            w.do(f"call void @llvm.prefetch.p0(ptr {p}, i32 {write}, i32 3, i32 1)")
    w.do("ret void")
    return function(f"{name}_{width}", "ptr %base, i64 %step, i64 %bytes", w.lines)


class UfuncLoop(Lines):
    """Writes the function that NumPy calls. `placed`: the body of each width puts its results where they belong, while
    so many vectors wait: into the array itself where a state's elements lie side by side and no state of a tile is
    missing, else into a buffer, state by state, from which they are copied."""

    def __init__(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        kind: Kind,
        how: Emission,
        placed: Mapping[int, int],
    ) -> None:
        super().__init__()
        self.kind, self.how, self.placed = kind, how, placed
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
        states = self.let("load i64, ptr %dims")
        self.pointers = [self.item("%args", k, "ptr") for k in range(arguments)]
        self.steps = [self.item("%steps", k, "i64") for k in range(arguments)]
        self._layouts(arguments)
        self.flat = "true"
        for flat, _, _ in self.layout[self.inputs :]:
            self.flat = self.let(f"and i1 {self.flat}, {flat}")
        self._buffer("in", max(total_in, 1) * width)
        if self.placed:
            self.do("%lane_at = alloca i64")
            self._buffer("wait", max(self.placed[w] * w for w in self.placed))
            rest = self.let(f"icmp ne i64 0, {self.let(f'urem i64 {states}, {width}')}")
            several = self.let(f"and i1 {rest}, {self.let(f'icmp ne i64 {states}, 1')}")
            copied = self.let(f"or i1 {several}, {self.let(f'xor i1 {self.flat}, true')}")
            self._buffer("out", total_out * width, copied)
        else:
            self._buffer("out", max(total_out, 1) * width)
        one = self.let(f"icmp eq i64 {states}, 1")
        self.do(f"br i1 {one}, label %single, label %several")
        self.lines.append("several:")
        if not self.placed:
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
        if not self.placed:
            self.do(f"call void @constants_{lone}(ptr %out)")
        self._tile(lone, "0", "1", "false" if lone == 1 or self.placed else "true", "_first" if lone > 1 else "")
        self.do("br label %done")
        self.lines.append("done:")
        for name in self.heap:
            self.do(f"call void @free(ptr %{name}_heap)")
        self.do("ret void")
        return "\n".join([*self.lines, "}"])

    def _buffer(self, name: str, numbers: int, wanted: str = "true") -> None:
        """Room for one tile: on the stack, or on the heap where it is large (threads may have small stacks)."""
        size = numbers * self.kind.bytes
        if size <= self.how.stack:
            self.do(f"%{name} = alloca [{numbers} x {self.kind.name}], align 64")
        else:
            room = self.let(f"select i1 {wanted}, i64 {size + LINE}, i64 {LINE}")
            self.do(f"%{name}_heap = call ptr @malloc(i64 {room})")
            after = self.let(f"getelementptr i8, ptr %{name}_heap, i64 {LINE - 1}")
            self.do(f"%{name} = call ptr @llvm.ptrmask.p0.i64(ptr {after}, i64 {-LINE})")
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

    def _tile(self, width: int, first: str, lanes: str, partial: str, only: str = "") -> None:
        place = {"gather": 0, "scatter": 0}
        for k, shape in enumerate(self.shapes):
            if k == self.inputs and self.placed:
                self._placed_results(f"body_{width}{only}", width, first, lanes, partial)
                return
            if k == self.inputs:
                self._fetch_results(width, first)
                self._fetch_next(width, first)
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

    def _placed_results(self, body: str, width: int, first: str, lanes: str, partial: str) -> None:
        """Have a body put the results of a tile, and copy what it could not put into the arrays themselves."""
        whole = self.let(f"and i1 {self.flat}, {self.let(f'xor i1 {partial}, true')}")
        given, results, at = [], [], 0
        for k, shape in enumerate(self.shapes[self.inputs :], self.inputs):
            size = prod(shape) * self.kind.bytes
            offset = self.let(f"mul i64 {first}, {self.steps[k]}")
            base = self.let(f"getelementptr i8, ptr {self.pointers[k]}, i64 {offset}")
            buffer = self.let(f"getelementptr i8, ptr %out, i64 {at * width}")
            at += size
            results.append((k, base, buffer, size))
            given.append(f"ptr {self.let(f'select i1 {whole}, ptr {base}, ptr {buffer}')}")
            given.append(f"i64 {self.let(f'select i1 {whole}, i64 {self.steps[k]}, i64 {size}')}")
        self.do(f"call void @{body}(ptr %in, ptr %wait, {', '.join(given)})")
        self.count += 1
        label = f"lanes{self.count}"
        self.do("store i64 0, ptr %lane_at")
        self.do(f"br i1 {whole}, label %{label}_done, label %{label}")
        self.label(label)
        lane = self.let("load i64, ptr %lane_at")
        for k, base, buffer, size in results:
            to = self.let(f"getelementptr i8, ptr {base}, i64 {self.let(f'mul i64 {lane}, {self.steps[k]}')}")
            source = self.let(f"getelementptr i8, ptr {buffer}, i64 {self.let(f'mul i64 {lane}, {size}')}")
            flat, sizes, strides = self.layout[k]
            strided = f"@scatter_strided_{self.dimensions}_1(ptr {to}, i64 0, ptr {sizes}, ptr {strides}"
            self._choose(
                flat,
                f"@scatter_flat_1(ptr {to}, i64 0, i64 {size // self.kind.bytes}, i64 1, ptr {source})",
                f"{strided}, i64 1, ptr {source})",
            )
        self.do(f"store i64 {self.let(f'add i64 {lane}, 1')}, ptr %lane_at")
        more = self.let(f"icmp slt i64 {self.let('load i64, ptr %lane_at')}, {lanes}")
        self.do(f"br i1 {more}, label %{label}, label %{label}_done")
        self.label(f"{label}_done")

    def _choose(self, condition: str, one: str, other: str) -> None:
        """Call one function or the other."""
        self.count += 1
        label = f"c{self.count}"
        self.do(f"br i1 {condition}, label %{label}_flat, label %{label}_strided")
        for name, call in (("flat", one), ("strided", other)):
            self.label(f"{label}_{name}")
            self.do(f"call void {call}")
            self.do(f"br label %{label}_end")
        self.label(f"{label}_end")

    def _fetch_results(self, width: int, first: str) -> None:
        """Ask for the memory of this tile's results before computing them: the stores then find it in the cache
        instead of waiting for it."""
        for k in range(self.inputs, len(self.shapes)):
            if width > 1 and prod(self.shapes[k]) >= FETCH_FROM:
                self._fetch("fetch_to_write", k, width, first)

    def _fetch_next(self, width: int, first: str) -> None:
        """Ask for the arguments of the next tile while this one is computed."""
        sizes = [prod(shape) for shape in self.shapes[: self.inputs]]
        if width > 1 and sum(sizes) >= FETCH_NEXT_FROM:
            after = self.let(f"add i64 {first}, {width}")
            for k in range(self.inputs):
                self._fetch("fetch_to_read", k, width, after)

    def _fetch(self, name: str, k: int, width: int, first: str) -> None:
        base = self.let(
            f"getelementptr i8, ptr {self.pointers[k]}, i64 {self.let(f'mul i64 {first}, {self.steps[k]}')}"
        )
        size = self.kind.bytes * prod(self.shapes[k])
        self.do(f"call void @{name}_{width}(ptr {base}, i64 {self.steps[k]}, i64 {size})")

    def _copy(
        self, direction: str, k: int, size: int, width: int, first: str, lanes: str, partial: str, buffer: str
    ) -> None:
        flat, sizes, strides = self.layout[k]
        offset = self.let(f"mul i64 {first}, {self.steps[k]}")
        base = self.let(f"getelementptr i8, ptr {self.pointers[k]}, i64 {offset}")
        if direction == "scatter":  # the vector copy would write the lanes that are not there
            whole = self.let(f"xor i1 {partial}, true")
            flat = self.let(f"and i1 {flat}, {whole}")
        self._choose(
            flat,
            f"@{direction}_flat_{width}(ptr {base}, i64 {self.steps[k]}, i64 {size}, i64 {lanes}, ptr {buffer})",
            f"@{direction}_strided_{self.dimensions}_{width}(ptr {base}, i64 {self.steps[k]}, ptr {sizes}, "
            f"ptr {strides}, i64 {lanes}, ptr {buffer})",
        )
