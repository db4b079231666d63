"""The backward pass over the nodes of an optimal control problem: derivatives of a tile of nodes, then a Riccati step
at each, as one machine loop.

    stage      (x, u, x⁺, p) → F, H, gap, …   a traced function, one node per lane
    terminal   (x, p) → H                     the same at the last node
    step       Q = H + F̃ᵀ Ṽ F̃,  K̃ = −Q_uu⁻¹ Q_ux,  Ṽ ← Q_xx − Q_xu Q_uu⁻¹ Q_ux

All in homogeneous coordinates x̃ = (x, 1): gradients are the last column of Hessians, the gap of a node the last column
of F̃, the feedforward the last column of K̃, and twice the change that the model predicts the last entry of Ṽ. Rows of
matrices lie in vectors of eight numbers, u first and then x̃, each padded; a step is sums of rows times numbers, always
in the same order: the same bits for one problem and for many.

`lean`: with x⁺ = (q + h v⁺, v⁺) only the rows of v⁺ are given, and products are half as many: a quadratic form in
(q⁺, v⁺) is one in (q, v⁺), W_vv = h² A + h (B + Bᵀ) + D, W_qv = h A + B. `bounded`: limits of u by an active set, which
is repeated until it stays (Tassa, Mansard & Todorov 2014; Hintermüller, Ito & Kunisch 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.compile import llvm, ufunc
from dalembert.compile.body import Emission, body, sin_cos_function
from dalembert.compile.copies import BLOCK, copy_functions, scatter_blocks, transposed
from dalembert.compile.kernel import compile_function
from dalembert.compile.kinds import DOUBLE
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer, function

SYMBOL = "dalembert_sweep"
SWEEP = Emission(SYMBOL)
LANES = 8  # numbers in a vector of a row, on every machine
INFO = 5  # twice the predicted change, the largest |Q_u|, Σ|gap|, 1 if every Q_uu was positive definite, the cost
SETTINGS = 2  # what is added to the diagonal of Q_uu, and the step h
SETS = 20  # active sets that are tried at a node
ROWS, COLUMNS = 4, 3  # of a product, numbers and vectors, that are summed together: registers of 16, with 4 to spare
PANELS = 4  # of rows, at most, in which the upper triangle of a product is computed


def padded(count: int) -> int:
    return -(-count // LANES) * LANES


@dataclass(frozen=True)
class Layout:
    """Sizes: n states, m inputs, p parameters of a node; `lean` as above."""

    n: int
    m: int
    p: int
    lean: bool
    bounded: bool
    costates: bool = False

    @property
    def U(self) -> int:
        """Columns of u."""
        return padded(self.m)

    @property
    def X(self) -> int:
        """Columns of x̃."""
        return padded(self.n + 1)

    @property
    def Z(self) -> int:
        return self.U + self.X

    @property
    def rows(self) -> int:
        """Rows of F."""
        return self.n // 2 if self.lean else self.n

    @property
    def stage(self) -> list[tuple[int, ...]]:
        """What the stage gives: F, the rows of u and of x̃ of H, the gap, (cost, Σ|gap|)."""
        return [(self.rows, self.Z), (self.m, self.Z), (self.n + 1, self.X), (self.n,), (2,)]

    @property
    def terminal(self) -> list[tuple[int, ...]]:
        return [(self.n + 1, self.X), (1,)]

    @property
    def plan(self) -> int:
        """Numbers of a row of the plan: K̃ (m, X), x, u, gap, p, and, if wanted, the costate of the next node."""
        return self.m * self.X + (3 if self.costates else 2) * self.n + self.m + self.p

    @property
    def place_of_parameters(self) -> slice:
        """Where p stands in a row of the plan."""
        first = self.m * self.X + 2 * self.n + self.m
        return slice(first, first + self.p)

    def pad(self, u: Sequence[Any], x: Sequence[Any]) -> list[Any]:
        """A row over (u, x̃), padded."""
        return [*u, *[0.0] * (self.U - self.m), *self.pad_state(x)]

    def pad_state(self, x: Sequence[Any]) -> list[Any]:
        return [*x, *[0.0] * (self.X - len(x))]


@dataclass(frozen=True, repr=False)
class Sweep:
    """sweep(xs (N+1, n), us (N, m), ps (N+1, p), bounds (2, m), held (N, m), settings, work) → (plan (N, …), info),
    over leading dimensions. `held`: −1 or 1 where an input stays at its lower or upper limit whatever its gradient,
    else 0. `work` is room of its own, as work() makes it. The innermost dimension of every array must be contiguous."""

    name: str
    stage: Program
    terminal: Program
    layout: Layout

    @property
    def signature(self) -> str:
        y = self.layout
        given = f"(nodes,{y.n}),(steps,{y.m}),(nodes,{y.p}),(2,{y.m}),(steps,{y.m}),({SETTINGS}),({self.room})"
        return f"{given}->(steps,{y.plan}),({INFO})"

    @cached_property
    def room(self) -> int:
        return Places(self.layout, llvm.host().width).total

    @cached_property
    def text(self) -> str:
        return repr((self.layout, self.stage.text, self.terminal.text))

    @cached_property
    def ufunc(self) -> np.ufunc:
        width = llvm.host().width
        linked = llvm.linked(lambda: module(self, width), (SYMBOL,), str(width), self.text)
        return ufunc.make(linked.addresses[SYMBOL], self.signature, self.name, linked)

    def work(self) -> NDArray[np.float64]:
        """The room, with results that never change in it. Vectors lie within lines of the cache: half of them would
        cross one otherwise."""
        whole, width = np.zeros(self.room + LANES), llvm.host().width
        first = -whole.ctypes.data % (LANES * DOUBLE.bytes) // DOUBLE.bytes
        room, places = whole[first : first + self.room], Places(self.layout, width)
        for name, program in (("out", self.stage), ("end_out", self.terminal)):
            steps = [program.steps[k] for group in program.outputs for k in group]
            fixed = np.array([s.value if s.operation == "constant" else 0.0 for s in steps])
            room[places.at[name] :][: width * len(fixed)] = np.repeat(fixed, width)
            if program is self.stage:
                room[places.at["data"] :][: width * places.data].reshape(width, -1)[:, : len(fixed)] = fixed
        return room

    def __reduce__(self) -> tuple[type[Sweep], tuple[object, ...]]:
        return (Sweep, (self.name, self.stage, self.terminal, self.layout))


def compile_sweep(stage: Callable[..., Any], terminal: Callable[..., Any], layout: Layout, name: str) -> Sweep:
    """Trace stage(x, u, following, p) and terminal(x, p)."""
    n, m, p = layout.n, layout.m, layout.p
    made = compile_function(stage, [(n,), (m,), (n,), (p,)], layout.stage, name)
    end = compile_function(terminal, [(n,), (p,)], layout.terminal, f"end of {name}")
    return Sweep(name, made.program, end.program, layout)


def step_operations(layout: Layout) -> int:
    """Multiply–adds of one Riccati step, on vectors of eight numbers; beside them m³/6 on single ones, for Q_uu."""
    y, X, Z, r = layout, layout.X // LANES, layout.Z // LANES, layout.rows

    def upper(rows: int) -> int:
        return sum(X - i // LANES for i in range(rows))

    outer = r if y.lean else y.n + 1
    products = (outer + y.m) * r * Z + upper(y.n + 1) * r + (upper(r) * r if y.lean else 0)
    return products + upper(y.n + 1) * y.m + y.m * (y.m - 1) * X


class Places:
    """Where everything lies in the workspace, in numbers."""

    def __init__(self, y: Layout, width: int) -> None:
        size = [int(np.prod(shape)) for shape in y.stage]
        self.part = dict(zip(("F", "Hu", "Hx", "gap", "value"), np.cumsum([0, *size[:-1]]).tolist(), strict=True))
        self.data = padded(sum(size))
        end = padded(sum(int(np.prod(shape)) for shape in y.terminal))
        n, X, Z = y.n + 1, y.X, y.Z
        self.at: dict[str, int] = {}
        self.total = 0
        for name, count in (
            ("in", (2 * y.n + y.m + y.p) * width),
            ("out", sum(size) * width),
            ("end_out", end * width),
            ("data", self.data * width),
            ("end", end),
            ("V", X * X),
            ("Y", n * Z),
            ("Qu", y.m * Z),
            ("Qx", n * X),
            ("R", y.m * Z),
            ("S", y.m * Z),
            ("Wvv", n * X),
            ("Wqv", n * X),
            ("wv", padded(n)),
            *((name, padded(y.m)) for name in ("free", "w", "low", "high", "k")),
            ("t", X),
        ):
            self.at[name] = self.total
            self.total += padded(count) + LANES


def module(sweep: Sweep, width: int) -> str:
    """The IR."""
    y, places = sweep.layout, Places(sweep.layout, width)
    parts = ["declare double @llvm.fabs.f64(double)", "declare double @llvm.fma.f64(double, double, double)"]
    parts += Writer(LANES).declarations()
    for other in {width, BLOCK} - {LANES}:
        parts += Writer(other).declarations()
    parts += [copy_functions(width, DOUBLE, 1), sin_cos_function(width, DOUBLE)]
    offsets = [0, y.n, y.n + y.m, 2 * y.n + y.m]
    fixed = [sweep.stage.steps[k].operation == "constant" for group in sweep.stage.outputs for k in group]
    changing = [k for k in range(0, len(fixed), BLOCK) if not all(fixed[k : k + BLOCK])]
    parts.append(scatter_blocks("scatter_changing", width, DOUBLE, changing))
    for name, program, inputs in (("stage", sweep.stage, offsets), ("terminal", sweep.terminal, [0, y.n])):
        parts.append(body(program, inputs, width, DOUBLE, name, SWEEP))
    step = Step(y, places, width)
    parts.append(step.text())
    parts += [step.product(p) for p in step.products]
    parts.append(step.mirror())
    parts.append(_main(y, places, width))
    return "\n".join([*step.functions, *parts]) + "\n"


class Product(NamedTuple):
    """C_i ← start_i + Σ_k A_ik B_k, rows of so many columns, summed in the order of k. C, start: (name, stride of
    rows); A: (name, first, strides of i and k); B: (name, first, stride). upper: entries below the diagonal are not
    wanted."""

    name: str
    C: tuple[str, int]
    start: tuple[str, int] | None
    A: tuple[str, int, int, int]
    B: tuple[str, int, int]
    rows: int
    inner: int
    columns: int
    upper: bool = False


class Step(Writer):
    """Writes riccati(data, plan, u, held, bounds, settings, info, work): one node, from Ṽ of the next to its own, for a
    machine with so many numbers in a register: how much is held in registers depends on it, what is computed does
    not."""

    def __init__(self, y: Layout, places: Places, register: int = LANES, width: int = LANES) -> None:
        super().__init__(width)
        self.y, self.places, self.register = y, places, register
        self.functions: list[str] = []
        self.products: list[Product] = []

    # ------------------------------------------------------------------------------------------------- pieces of IR
    def ptr(self, base: str, offset: int) -> str:
        return self.let(f"getelementptr double, ptr {base}, i64 {offset}")

    def at(self, name: str, offset: int = 0) -> str:
        if name in self.places.part:
            return self.ptr("%data", self.places.part[name] + offset)
        return self.ptr("%work", self.places.at[name] + offset)

    def one(self, name: str, offset: int) -> str:
        """A number of a matrix."""
        return self.let(f"load double, ptr {self.at(name, offset)}")

    def put(self, value: str, name: str, offset: int) -> None:
        self.do(f"store double {value}, ptr {self.at(name, offset)}")

    def row(self, name: str, offset: int) -> str:
        return self.let(f"load {self.V}, ptr {self.at(name, offset)}, align 8")

    def put_row(self, value: str, name: str, offset: int) -> None:
        self.do(f"store {self.V} {value}, ptr {self.at(name, offset)}, align 8")

    def lane(self, vector: str, k: int) -> str:
        """Entry k of a vector, in all lanes."""
        where = ", ".join([f"i32 {k}"] * LANES)
        return self.let(f"shufflevector {self.V} {vector}, {self.V} poison, <{LANES} x i32> <{where}>")

    def mul_add(self, a: str, b: str, c: str) -> str:
        return self.let(f"call double @llvm.fma.f64(double {a}, double {b}, double {c})")

    @contextmanager
    def branch(self, condition: str, label: str) -> Any:
        """What follows, only where the condition holds."""
        self.do(f"br i1 {condition}, label %{label}, label %{label}_end")
        self.label(label)
        yield
        self.do(f"br label %{label}_end")
        self.label(f"{label}_end")

    def gemm(
        self,
        name: str,
        C: tuple[str, int],
        start: tuple[str, int] | None,
        A: tuple[str, int, int, int],
        B: tuple[str, int, int],
        rows: int,
        inner: int,
        columns: int,
        upper: bool = False,
    ) -> None:
        """A product as a function of its own, and its call."""
        self.products.append(Product(name, C, start, A, B, rows, inner, columns, upper))
        self.do(f"call void @{name}(ptr %data, ptr %work)")

    def product(self, product: Product) -> str:
        """A product as a function: blocks of ROWS rows and COLUMNS vectors, whose sums stay in registers. Of the upper
        triangle, panels of rows, each from its first column on."""
        name, C, start, A, B, rows, inner, columns, upper = product
        w = Step(self.y, self.places, width=self.register)
        W = w.width

        def block(i: str, count: int, left: int) -> None:
            def moved(name: str, stride: int) -> str:
                return w.let(f"getelementptr double, ptr {w.at(name)}, i64 {w.let(f'mul i64 {i}, {stride}')}")

            to, a, b = moved(*C), moved(A[0], A[2]), w.at(B[0], B[1])
            begin = moved(*start) if start else ""
            for first in range(left, columns, COLUMNS * W):
                part = range(first, min(first + COLUMNS * W, columns), W)
                sums = [
                    [w._vector_at(begin, r * start[1] + c) if start else w.number(0.0) for c in part]
                    for r in range(count)
                ]
                for k in range(inner):
                    row = [w._vector_at(b, k * B[2] + c) for c in part]
                    for r in range(count):
                        s = w.wide(w.let(f"load double, ptr {w.ptr(a, A[1] + r * A[2] + k * A[3])}"))
                        sums[r] = [w.operation("fma", s, x, t) for x, t in zip(row, sums[r], strict=True)]
                for r in range(count):
                    for c, value in zip(part, sums[r], strict=True):
                        w.do(f"store {w.V} {value}, ptr {w.ptr(to, r * C[1] + c)}, align 8")

        w.label("entry")
        before, step = "entry", max(ROWS, W)
        height = -(-rows // (PANELS * step)) * step if upper else rows
        for top in range(0, rows, height):
            left, count = top if upper else 0, min(height, rows - top)
            whole = count // ROWS * ROWS
            if whole:
                with w.loop(whole, ROWS, f"block{top}", before) as i:
                    block(w.let(f"add i64 {i}, {top}"), ROWS, left)
                before = f"block{top}_end"
            if count > whole:
                block(str(top + whole), count - whole, left)
        w.do("ret void")
        return function(name, "ptr %data, ptr %work", w.lines, noinline=True)

    def mirror(self) -> str:
        """The lower triangle of V, from the upper one, in blocks of four by four."""
        w, X, four = Step(self.y, self.places, width=BLOCK), self.y.X, range(BLOCK)
        w.label("entry")
        for top in range(0, self.y.n + 1, BLOCK):
            for left in range(top, self.y.n + 1, BLOCK):
                rows = [w.row("V", (top + k) * X + left) for k in four]
                turned = transposed(w, *rows)
                if left == top:
                    turned = [w.first_of(k, a, b) for k, a, b in zip(four, turned, rows, strict=True)]
                for k in four:
                    w.put_row(turned[k], "V", (left + k) * X + top)
        w.do("ret void")
        return function("mirror", "ptr %data, ptr %work", w.lines, noinline=True)

    def first_of(self, count: int, a: str, b: str) -> str:
        """So many entries of a vector, then those of another."""
        mask = ", ".join(f"i1 {int(k < count)}" for k in range(self.width))
        return self.let(f"select <{self.width} x i1> <{mask}>, {self.V} {a}, {self.V} {b}")

    def _vector_at(self, base: str, offset: int) -> str:
        return self.let(f"load {self.V}, ptr {self.ptr(base, offset)}, align 8")

    # ---------------------------------------------------------------------------------------------------- the step
    def text(self) -> str:
        y = self.y
        self.label("entry")
        for i in range(y.n if y.costates else 0):
            costate = self.ptr("%plan", y.m * y.X + 2 * y.n + y.m + y.p + i)
            self.do(f"store double {self.one('V', i * y.X + y.n)}, ptr {costate}")
        if y.lean:
            self._lean_products()
        else:
            self._products()
        self._solve("Qu")
        if y.bounded:
            self._bound()
        self._judge()
        self._update()
        self.do("ret void")
        head = "ptr %data, ptr %plan, ptr %u, ptr %held, ptr %bounds, ptr %settings, ptr %info, ptr %work"
        return function("riccati", head, self.lines, noinline=True)

    def _products(self) -> None:
        """Y = Ṽ F̃, whose last row is (0, …, 1); then Q."""
        y = self.y
        n, X, Z, one = y.n, y.X, y.Z, y.U + y.n
        for i in range(n + 1):  # what the last row of F̃ gives
            for c in range(0, Z, LANES):
                start = self.number(0.0)
                if c <= one < c + LANES:
                    value = self.one("V", i * X + n)
                    start = self.let(f"insertelement {self.V} {start}, double {value}, i64 {one - c}")
                self.put_row(start, "Y", i * Z + c)
        self.gemm("outer", ("Y", Z), ("Y", Z), ("V", 0, X, 1), ("F", 0, Z), n + 1, n, Z)
        self._rows_u()
        self.gemm("rows_x", ("Qx", X), ("Hx", X), ("F", y.U, 1, Z), ("Y", y.U, Z), n + 1, n, X, True)
        for c in range(0, X, LANES):
            total = self.operation("add", self.row("Qx", n * X + c), self.row("Y", n * Z + y.U + c))
            self.put_row(total, "Qx", n * X + c)

    def _lean_products(self) -> None:
        """The same from the rows G of v⁺: Y = W_vv G + W_vq S_q + w_v S_1, Q = H + Gᵀ Y + S_qᵀ (W_qv G + A S_q + …)."""
        y = self.y
        r, X, Z, one = y.rows, y.X, y.Z, y.n
        h = self.wide(self.let(f"load double, ptr {self.ptr('%settings', 1)}"))
        narrow = self.let(f"extractelement {self.V} {h}, i64 0")
        zero = self.number(0.0)
        for i in range(r):
            wv = self.mul_add(narrow, self.one("V", i * X + one), self.one("V", (r + i) * X + one))
            self.put(wv, "wv", i)
            for c in range(0, padded(r), LANES):
                A, B = self.row("V", i * X + c), self.row("V", i * X + r + c)
                T, D = self.row("V", (r + i) * X + c), self.row("V", (r + i) * X + r + c)
                qv, vq = self.operation("fma", h, A, B), self.operation("fma", h, A, T)
                self.put_row(qv, "Wqv", i * X + c)
                self.put_row(self.operation("fma", h, qv, self.operation("fma", h, T, D)), "Wvv", i * X + c)
                self._begin_row("Y", i * Z + y.U, c, vq, wv)
            for c in range(0, y.U, LANES):
                self.put_row(zero, "Y", i * Z + c)
            for c in range(padded(r), X, LANES):
                self._begin_row("Y", i * Z + y.U, c, zero, wv)
        self.gemm("outer", ("Y", Z), ("Y", Z), ("Wvv", 0, X, 1), ("F", 0, Z), r, r, Z)
        self._rows_u()
        self.gemm("rows_x", ("Qx", X), ("Hx", X), ("F", y.U, 1, Z), ("Y", y.U, Z), y.n + 1, r, X, True)
        for i in range(r):
            for c in range(0, X, LANES):
                own = self.row("V", i * X + c) if c < r else zero
                self._begin_row("Qx", i * X, c, own, self.one("V", i * X + one), self.row("Qx", i * X + c))
        self.gemm("rows_q", ("Qx", X), ("Qx", X), ("Wqv", 0, X, 1), ("F", y.U, Z), r, r, X, True)
        last = self.mul_add("1.0", self.one("V", one * X + one), self.one("Qx", one * X + one))
        for k in range(r):
            last = self.mul_add(self.one("wv", k), self.one("F", k * Z + y.U + one), last)
        self.put(last, "Qx", one * X + one)

    def _begin_row(self, name: str, offset: int, c: int, first: str, last: str, more: str | None = None) -> None:
        """Columns c, … of a row: entries of q from a vector, zeros of v, the entry of 1; added to what is there."""
        y = self.y
        value = self.first_of(y.rows - c, first, self.number(0.0))
        if c <= y.n < c + LANES:
            value = self.let(f"insertelement {self.V} {value}, double {last}, i64 {y.n - c}")
        self.put_row(value if more is None else self.operation("add", more, value), name, offset + c)

    def _rows_u(self) -> None:
        """The rows of Q of u, regularized, and Q_uu factorized: its numbers wait for each other, while the processor
        goes on to the rows of x̃."""
        y = self.y
        self.gemm("rows_u", ("Qu", y.Z), ("Hu", y.Z), ("F", 0, 1, y.Z), ("Y", 0, y.Z), y.m, y.rows, y.Z)
        mu = self.let("load double, ptr %settings")
        for i in range(y.m):
            c = i // LANES * LANES
            more = self.let(f"insertelement {self.V} {self.number(0.0)}, double {mu}, i64 {i - c}")
            self.put_row(self.operation("add", self.row("Qu", i * y.Z + c), more), "Qu", i * y.Z + c)
        self._say(self._factorize("Qu"))

    def _factorize(self, source: str) -> str:
        """Rᵀ D⁻¹ R = Q_uu, number by number: 1 / D and −S = −D⁻¹ R into the first columns of S. Given is whether every
        pivot was positive."""
        y = self.y
        w = Step(y, self.places)
        w.label("entry")
        good = "true"
        Q = {(i, j): w.one(source, i * y.Z + j) for i in range(y.m) for j in range(i, y.m)}
        for j in range(y.m):
            good = w.let(f"and i1 {good}, {w.let(f'fcmp ogt double {Q[j, j]}, 0.0')}")
            inverse = w.let(f"fdiv double 1.0, {Q[j, j]}")
            w.put(inverse, "S", j * y.Z + j)
            for i in range(j + 1, y.m):
                minus = w.let(f"fneg double {w.let(f'fmul double {Q[j, i]}, {inverse}')}")
                w.put(minus, "S", j * y.Z + i)
                Q |= {(i, c): w.mul_add(minus, Q[j, c], Q[i, c]) for c in range(i, y.m)}
        w.do(f"ret i1 {good}")
        head = f"define internal i1 @factorize_{source}(ptr %work) noinline nounwind {{"
        self.functions.append("\n".join([head, *w.lines, "}"]))
        self.do(f"%ok_{source} = call i1 @factorize_{source}(ptr %work)")
        return f"%ok_{source}"

    def _solve(self, source: str) -> None:
        """The columns of x̃ of R and −S, downwards; then K̃, upwards, into the plan."""
        y, rows = self.y, range(self.y.m)
        w = Step(y, self.places)
        w.label("entry")

        def factor(j: int, i: int) -> str:
            return w.wide(w.one("S", j * y.Z + i))

        for columns in self._chunks():
            R = [{c: w.row(source, j * y.Z + c) for c in columns} for j in rows]
            S = []
            for j in rows:
                inverse = w.operation("negate", factor(j, j))
                S.append({c: w.operation("multiply", R[j][c], inverse) for c in columns})
                for c in columns:
                    w.put_row(R[j][c], "R", j * y.Z + c)
                    w.put_row(S[j][c], "S", j * y.Z + c)
                for i in range(j + 1, y.m):
                    minus = factor(j, i)
                    R[i] = {c: w.operation("fma", minus, R[j][c], R[i][c]) for c in columns}
            for j in reversed(rows):
                for i in reversed(range(j + 1, y.m)):  # the one that is ready last comes last
                    minus = factor(j, i)
                    S[j] = {c: w.operation("fma", minus, S[i][c], S[j][c]) for c in columns}
                for c in columns:
                    w.do(f"store {w.V} {S[j][c]}, ptr {w.ptr('%plan', j * y.X + c - y.U)}, align 8")
        w.do("ret void")
        self.functions.append(function(f"solve_{source}", "ptr %work, ptr %plan", w.lines, noinline=True))
        self.do(f"call void @solve_{source}(ptr %work, ptr %plan)")

    def _chunks(self) -> list[range]:
        """The columns of x̃, as many together as registers hold of all rows."""
        y, registers = self.y, 32 if self.register >= LANES else 16
        size = max(1, registers * self.register // (y.m * LANES)) * LANES
        return [range(c, min(c + size, y.Z), LANES) for c in range(y.U, y.Z, size)]

    def _say(self, good: str) -> None:
        """Σ of info: not every Q_uu was positive definite."""
        flag = self.ptr("%info", 3)
        kept = self.let(f"load double, ptr {flag}")
        self.do(f"store double {self.let(f'select i1 {good}, double {kept}, double 0.0')}, ptr {flag}")

    def _bound(self) -> None:
        """The active set: an input that would leave its limits is held there, one that is held is let go where the
        gradient draws it inwards; until nothing changes."""
        y = self.y
        outside = "false"
        for i in range(y.m):
            u = self.let(f"load double, ptr {self.ptr('%u', i)}")
            low, high = (self.let(f"load double, ptr {self.ptr('%bounds', j * y.m + i)}") for j in range(2))
            low, high = (self.let(f"fsub double {x}, {u}") for x in (low, high))
            self.put(low, "low", i)
            self.put(high, "high", i)
            self.put("1.0", "free", i)
            self.put("0.0", "w", i)
            k = self._gain(i)
            self.put(k, "k", i)
            forced = self.let(f"load double, ptr {self.ptr('%held', i)}")
            kept = f"fcmp one double {forced}, 0.0"
            for condition in (f"fcmp olt double {k}, {low}", f"fcmp ogt double {k}, {high}", kept):
                outside = self.let(f"or i1 {outside}, {self.let(condition)}")
        with self.branch(outside, "limited"):
            self.do("br label %again")
            self.label("again")
            self.do("%set = phi i64 [0, %limited], [%set_next, %go_on]")
            changed = "false"
            found = []
            for i in range(y.m):
                k, low, high = (self.one(name, i) for name in ("k", "low", "high"))
                slope = self.one("Qu", i * y.Z + y.U + y.n)
                for j in range(y.m):
                    slope = self.mul_add(self.one("Qu", i * y.Z + j), self.one("k", j), slope)
                is_free = self.let(f"fcmp ogt double {self.one('free', i)}, 0.5")
                under = self.let(f"fcmp olt double {k}, {low}")
                over = self.let(f"fcmp ogt double {k}, {high}")
                at_low = self.let(f"fcmp ole double {k}, {low}")
                pushed = self.let(f"fcmp ogt double {slope}, 0.0")
                pulled = self.let(f"fcmp olt double {slope}, 0.0")
                stays = self.let(f"select i1 {at_low}, i1 {pushed}, i1 {pulled}")
                held_low = self.let(f"select i1 {is_free}, i1 {under}, i1 {self.let(f'and i1 {at_low}, {stays}')}")
                not_low = self.let(f"xor i1 {at_low}, true")
                held_high = self.let(f"select i1 {is_free}, i1 {over}, i1 {self.let(f'and i1 {not_low}, {stays}')}")
                forced = self.let(f"load double, ptr {self.ptr('%held', i)}")
                down, up = (self.let(f"fcmp {how} double {forced}, 0.0") for how in ("olt", "ogt"))
                held_low = self.let(f"select i1 {up}, i1 false, i1 {held_low}")
                held_high = self.let(f"select i1 {down}, i1 false, i1 {held_high}")
                held_low, held_high = self.let(f"or i1 {down}, {held_low}"), self.let(f"or i1 {up}, {held_high}")
                held = self.let(f"or i1 {held_low}, {held_high}")
                changed = self.let(f"or i1 {changed}, {self.let(f'icmp eq i1 {held}, {is_free}')}")
                w = self.let(f"select i1 {held_high}, double {high}, double 0.0")
                w = self.let(f"select i1 {held_low}, double {low}, double {w}")
                found.append((self.let(f"select i1 {held}, double 0.0, double 1.0"), w))
            self.do("%set_next = add i64 %set, 1")
            few = self.let(f"icmp slt i64 %set_next, {SETS}")
            more = self.let(f"and i1 {changed}, {few}")
            self.do(f"br i1 {more}, label %go_on, label %settled")
            self.label("go_on")
            for i, (free, w) in enumerate(found):
                self.put(free, "free", i)
                self.put(w, "w", i)
            self._condense()
            self._factorize("R")
            self._solve("R")
            for i in range(y.m):
                is_free = self.let(f"fcmp ogt double {self.one('free', i)}, 0.5")
                k = self.let(f"select i1 {is_free}, double {self._gain(i)}, double {self.one('w', i)}")
                self.put(k, "k", i)
            self.do("br label %again")
            self.label("settled")
            self._substitute()
            for i in range(y.m):
                self.do(f"store double {self.one('k', i)}, ptr {self.ptr('%plan', i * y.X + y.n)}")

    def _gain(self, i: int) -> str:
        return self.let(f"load double, ptr {self.ptr('%plan', i * self.y.X + self.y.n)}")

    def _condense(self) -> None:
        """R: the rows of Q_u of the free inputs, with those that are held put in; rows (0, 1, 0) of these."""
        y = self.y
        for i in range(y.m):
            free = self.one("free", i)
            wide = self.wide(free)
            slope = self.one("Qu", i * y.Z + y.U + y.n)
            for j in range(y.m):
                slope = self.mul_add(self.one("Qu", i * y.Z + j), self.one("w", j), slope)
            for c in range(0, y.Z, LANES):
                row = self.operation("multiply", self.row("Qu", i * y.Z + c), wide)
                if c < y.U:
                    row = self.operation("multiply", row, self.row("free", c))
                self.put_row(row, "R", i * y.Z + c)
            self.put(self.let(f"fmul double {slope}, {free}"), "R", i * y.Z + y.U + y.n)
            rest = self.let(f"fsub double 1.0, {free}")
            self.put(self.let(f"fadd double {self.one('R', i * y.Z + i)}, {rest}"), "R", i * y.Z + i)

    def _substitute(self) -> None:
        """The inputs that are held, put into Q_x: its last column."""
        y = self.y
        for c in range(0, y.X, LANES):
            total = self.number(0.0)
            for j in range(y.m):
                total = self.operation("fma", self.wide(self.one("w", j)), self.row("Qu", j * y.Z + y.U + c), total)
            self.put_row(total, "t", c)
        corner = self.one("t", y.n)
        for i in range(y.m):
            slope = "0.0"
            for j in range(y.m):
                slope = self.mul_add(self.one("Qu", i * y.Z + j), self.one("w", j), slope)
            corner = self.mul_add(self.one("w", i), slope, corner)
        for a in range(y.n + 1):
            place = a * y.X + y.n
            more = self.one("t", a)
            self.put(self.let(f"fadd double {self.one('Qx', place)}, {more}"), "Qx", place)
        place = y.n * y.X + y.n
        self.put(self.let(f"fadd double {self.one('Qx', place)}, {corner}"), "Qx", place)

    def _judge(self) -> None:
        """The largest |Q_u| of the free inputs; cost and gap are added up."""
        y = self.y
        place = self.ptr("%info", 1)
        largest = self.let(f"load double, ptr {place}")
        for i in range(y.m):
            g = self.let(f"call double @llvm.fabs.f64(double {self.one('Qu', i * y.Z + y.U + y.n)})")
            if y.bounded:
                g = self.let(f"fmul double {g}, {self.one('free', i)}")
            above = self.let(f"fcmp ogt double {g}, {largest}")
            largest = self.let(f"select i1 {above}, double {g}, double {largest}")
        self.do(f"store double {largest}, ptr {place}")
        for k, to in ((0, 4), (1, 2)):
            place = self.ptr("%info", to)
            total = self.let(f"fadd double {self.let(f'load double, ptr {place}')}, {self.one('value', k)}")
            self.do(f"store double {total}, ptr {place}")

    def _update(self) -> None:
        """Ṽ = Q_x̃x̃ − Rᵀ D⁻¹ R; the lower triangle is the upper one."""
        y = self.y
        self.gemm("value_of", ("V", y.X), ("Qx", y.X), ("S", y.U, 1, y.Z), ("R", y.U, y.Z), y.n + 1, y.m, y.X, True)
        self.do("call void @mirror(ptr %data, ptr %work)")


def _main(y: Layout, places: Places, width: int) -> str:
    """What NumPy calls."""
    w = Writer(width)
    w.lines = [f"define void @{SYMBOL}(ptr %args, ptr %dims, ptr %strides, ptr %data_) nounwind {{", "entry:"]
    names = ("xs", "us", "ps", "bounds", "held", "settings", "work", "plan", "info")
    base = {name: w.item("%args", k, "ptr") for k, name in enumerate(names)}
    over = {name: w.item("%strides", k, "i64") for k, name in enumerate(names)}
    first = {"xs": 9, "us": 11, "ps": 13, "held": 17, "plan": 21}
    along = {name: w.item("%strides", k, "i64") for name, k in first.items()}
    problems, nodes = w.item("%dims", 0, "i64"), w.item("%dims", 1, "i64")
    N = w.let(f"sub i64 {nodes}, 1")
    tiles = w.let(f"sdiv i64 {w.let(f'sub i64 {nodes}, 2')}, {width}")
    highest = w.let(f"mul i64 {tiles}, {width}")
    work = base["work"]

    def at(name: str) -> str:
        return w.let(f"getelementptr double, ptr {work}, i64 {places.at[name]}")

    def vector(name: str, k: int) -> str:
        return w.let(f"getelementptr {w.V}, ptr {at(name)}, i64 {k}")

    def moved(pointer: str, stride: str, k: str) -> str:
        return w.let(f"getelementptr i8, ptr {pointer}, i64 {w.let(f'mul i64 {stride}, {k}')}")

    def gather(pointer: str, stride: str, size: int, lanes: str, place: int) -> None:
        to = vector("in", place)
        w.do(f"call void @gather_flat_{width}(ptr {pointer}, i64 {stride}, i64 {size}, i64 {lanes}, ptr {to})")

    stride = places.data * DOUBLE.bytes
    w.do("br label %problems_head")
    w.label("problems_head")
    w.do("%i = phi i64 [0, %entry], [%i_next, %problem_end]")
    w.do(f"br i1 {w.let(f'icmp slt i64 %i, {problems}')}, label %problem, label %done")
    w.label("problem")
    here = {name: moved(base[name], over[name], "%i") for name in names if name != "work"}
    end = sum(int(np.prod(shape)) for shape in y.terminal)
    gather(moved(here["xs"], along["xs"], N), "0", y.n, "1", 0)
    gather(moved(here["ps"], along["ps"], N), "0", y.p, "1", y.n)
    w.do(f"call void @terminal(ptr {at('in')}, ptr {at('end_out')})")
    w.do(f"call void @scatter_flat_{width}(ptr {at('end')}, i64 0, i64 {end}, i64 1, ptr {at('end_out')})")
    w.do("br label %fill")
    w.label("fill")
    w.do("%j = phi i64 [0, %problem], [%j_next, %fill]")
    source, to = (w.let(f"getelementptr double, ptr {at(name)}, i64 %j") for name in ("end", "V"))
    w.do(f"store double {w.let(f'load double, ptr {source}')}, ptr {to}")
    w.do("%j_next = add i64 %j, 1")
    count = (y.n + 1) * y.X
    w.do(f"br i1 {w.let(f'icmp slt i64 %j_next, {count}')}, label %fill, label %filled")
    w.label("filled")
    value_at = w.let(f"getelementptr double, ptr {at('end')}, i64 {count}")
    for k, value in enumerate(("0.0", "0.0", "0.0", "1.0", w.let(f"load double, ptr {value_at}"))):
        to = w.let(f"getelementptr double, ptr {here['info']}, i64 {k}")
        w.do(f"store double {value}, ptr {to}")
    w.do("br label %tiles_head")
    w.label("tiles_head")
    w.do(f"%k = phi i64 [{highest}, %filled], [%k_next, %tile_end]")
    w.do(f"br i1 {w.let('icmp sge i64 %k, 0')}, label %tile, label %problem_end")
    w.label("tile")
    left = w.let(f"sub i64 {N}, %k")
    partial = w.let(f"icmp slt i64 {left}, {width}")
    lanes = w.let(f"select i1 {partial}, i64 {left}, i64 {width}")
    x_here = moved(here["xs"], along["xs"], "%k")
    gather(x_here, along["xs"], y.n, lanes, 0)
    gather(moved(here["us"], along["us"], "%k"), along["us"], y.m, lanes, y.n)
    gather(moved(x_here, along["xs"], "1"), along["xs"], y.n, lanes, y.n + y.m)
    gather(moved(here["ps"], along["ps"], "%k"), along["ps"], y.p, lanes, 2 * y.n + y.m)
    w.do(f"call void @stage(ptr {at('in')}, ptr {at('out')})")
    w.do(f"call void @scatter_changing(ptr {at('data')}, i64 {stride}, i64 {lanes}, ptr {at('out')})")
    w.do(f"%last = sub i64 {lanes}, 1")
    w.do("br label %nodes_head")
    w.label("nodes_head")
    w.do("%node = phi i64 [%last, %tile], [%node_next, %copied]")
    w.do("%at_node = add i64 %k, %node")
    data = moved(at("data"), str(stride), "%node")
    row = moved(here["plan"], along["plan"], "%at_node")
    u = moved(here["us"], along["us"], "%at_node")
    shared = f"ptr {here['bounds']}, ptr {here['settings']}, ptr {here['info']}, ptr {work}"
    held = moved(here["held"], along["held"], "%at_node")
    w.do(f"call void @riccati(ptr {data}, ptr {row}, ptr {u}, ptr {held}, {shared})")
    place = y.m * y.X
    x = moved(here["xs"], along["xs"], "%at_node")
    p = moved(here["ps"], along["ps"], "%at_node")
    gap = w.let(f"getelementptr double, ptr {data}, i64 {places.part['gap']}")
    for source, count in ((x, y.n), (u, y.m), (gap, y.n), (p, y.p)):
        to = w.let(f"getelementptr double, ptr {row}, i64 {place}")
        w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {count * DOUBLE.bytes}, i1 false)")
        place += count
    w.do("br label %copied")
    w.label("copied")
    w.do("%node_next = sub i64 %node, 1")
    w.do(f"br i1 {w.let('icmp sge i64 %node_next, 0')}, label %nodes_head, label %tile_end")
    w.label("tile_end")
    w.do(f"%k_next = sub i64 %k, {width}")
    w.do("br label %tiles_head")
    w.label("problem_end")
    corner = w.let(f"getelementptr double, ptr {at('V')}, i64 {y.n * y.X + y.n}")
    w.do(f"store double {w.let(f'load double, ptr {corner}')}, ptr {here['info']}")
    w.do("%i_next = add i64 %i, 1")
    w.do("br label %problems_head")
    w.label("done")
    w.do("ret void")
    return "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + "\n".join([*w.lines, "}"])
