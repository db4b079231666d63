"""A step repeated until it converges, for a queue of problems: what an iterative solver needs, in one machine loop.

Each of the W lanes of a vector works at its own problem. After every step the lanes that have converged, or used up
their steps, are served: the result is written, and the lane takes its next start or the next problem, while the others
go on. So no lane waits for another, and a problem's result does not depend on its neighbors.

    step(state, data) → (new state, measures),   measures (a, b, cost) of the state that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.caching import cached_property
from dalembert.compile import llvm, ufunc
from dalembert.compile.body import Emission, body, constants, sin_cos_function
from dalembert.compile.kernel import compile_function
from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.lower import Program
from dalembert.compile.writer import Lines, Writer

SYMBOL = "dalembert_search"
SEARCH = Emission(SYMBOL)
MEASURES = 3
SETTINGS = 6  # limits of the first two measures, steps per start, starts in the table; a step at which a start is given
# up if its cost is still above a limit
INFO = 3  # steps taken, starts used, converged (1) or not (0)
SHORT = 500  # operations: such steps wait for their own results more than for registers, and gain by two vectors
IDLE = -(1 << 60)  # the counter of a lane without a problem: it is never served again


@dataclass(frozen=True, repr=False)
class Search:
    """search(state, data, starts, settings) → (state, info), over leading dimensions.

    A problem begins at its own state and then at the rows of `starts`, so many steps at each; it ends as soon as the
    first two measures are below their limits, else with the state of least cost that any start ended at."""

    name: str
    program: Program
    n: int
    m: int

    @property
    def signature(self) -> str:
        return f"({self.n}),({self.m}),(starts,{self.n}),({SETTINGS})->({self.n}),({INFO})"

    @cached_property
    def text(self) -> str:
        """What determines the step."""
        return repr((self.n, self.m, self.program.text))

    @cached_property
    def ufunc(self) -> np.ufunc:
        width = llvm.host().width * (2 if self.program.operations < SHORT else 1)
        key = (str(width), self.text)
        linked = llvm.linked(lambda: module(self.program, self.n, self.m, width), (SYMBOL,), *key)
        return ufunc.make(linked.addresses[SYMBOL], self.signature, self.name, linked)

    def __call__(self, *arguments: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.ufunc(*arguments)

    def __reduce__(self) -> tuple[type[Search], tuple[object, ...]]:
        return (Search, (self.name, self.program, self.n, self.m))


def compile_search(step: Callable[..., Any], n: int, m: int, name: str) -> Search:
    """Trace step(state, data) → (new state, measures)."""
    kernel = compile_function(step, [(n,), (m,)], [(n,), (MEASURES,)], name, arguments=("state", "data"))
    return Search(name, kernel.program, n, m)


def module(program: Program, n: int, m: int, width: int, kind: Kind = DOUBLE, how: Emission = SEARCH) -> str:
    """The IR: the step on vectors, and the loop around it."""
    parts = [
        *Writer(width, kind).declarations(),
        body(program, [0, n, n + m], width, kind, f"body_{width}", how),
        constants(program, width, kind, f"constants_{width}"),
        sin_cos_function(width, kind),
        _loop(n, m, width, how.symbol),
    ]
    return "\n".join(parts) + "\n"


def _loop(n: int, m: int, width: int, symbol: str) -> str:
    """The functions assign (a lane takes the next problem), begin (its next start), finish (its result), serve, and
    the loop that NumPy calls. What they share lies in one record, %c."""
    record = _Record(n, m, width)
    return "\n".join((_assign(record), _begin(record), _finish(record), _serve(record), _main(record, symbol)))


class _Record:
    """Where everything lies, in 8-byte words: vectors first, so that they are aligned."""

    def __init__(self, n: int, m: int, width: int) -> None:
        self.n, self.m, self.width = n, m, width
        self.at: dict[str, int] = {}
        total = 0
        for name, size in (
            ("in", (n + m) * width),
            ("out", (n + MEASURES) * width),
            ("best_state", n * width),
            *((name, width) for name in ("steps", "problem", "start", "best", "taken")),
            ("next", width),
            ("active", width),
        ):
            self.at[name] = total
            total += size
        self.words = total


class _Lines(Lines):
    """IR of one function over the record %c and NumPy's %args, %steps."""

    def __init__(self, record: _Record, head: str) -> None:
        super().__init__([f"define internal {head} noinline nounwind {{", "entry:"])
        self.r = record

    def word(self, name: str, lane: str = "0", row: int = 0) -> str:
        """The address of a word: row `row` (of width numbers), in the lane."""
        k = self.let(f"add i64 {self.r.at[name] + row * self.r.width}, {lane}")
        return self.let(f"getelementptr i64, ptr %c, i64 {k}")

    def load(self, name: str, lane: str = "0", row: int = 0, kind: str = "i64") -> str:
        return self.let(f"load {kind}, ptr {self.word(name, lane, row)}")

    def store(self, value: str, name: str, lane: str = "0", row: int = 0, kind: str = "i64") -> None:
        self.do(f"store {kind} {value}, ptr {self.word(name, lane, row)}")

    def argument(self, k: int) -> str:
        return self.item("%args", k, "ptr")

    def stride(self, k: int) -> str:
        return self.item("%strides", k, "i64")

    def cell(self, base: str, *offsets: tuple[str, str]) -> str:
        for stride, index in offsets:
            base = self.let(f"getelementptr i8, ptr {base}, i64 {self.let(f'mul i64 {stride}, {index}')}")
        return base

    def text(self) -> str:
        return "\n".join([*self.lines, "}"])


# The arrays of the ufunc: state, data, starts, settings, new state, info; their strides over problems come first,
# then those of their own dimensions: state 6, data 7, starts 8 and 9, settings 10, new state 11, info 12.
_SHARED = "ptr %c, ptr %args, ptr %strides"


def _assign(r: _Record) -> str:
    f = _Lines(r, f"void @assign({_SHARED}, i64 %lane, i64 %problems)")
    following = f.load("next")
    some = f.let(f"icmp slt i64 {following}, %problems")
    f.do(f"br i1 {some}, label %take, label %idle")
    f.label("take")
    f.store(f.let(f"add i64 {following}, 1"), "next")
    _loaded(f, following)
    f.store(following, "problem", "%lane")
    for name in ("start", "taken", "steps"):
        f.store("0", name, "%lane")
    f.store("0x7FF0000000000000", "best", "%lane", kind="double")
    for j in range(r.n):
        f.store(f.load("in", "%lane", j, "double"), "best_state", "%lane", j, "double")
    f.do("ret void")
    f.label("idle")  # it goes on computing: with numbers that are some problem's, so that it raises no alarm
    _loaded(f, "0")
    f.store("-1", "problem", "%lane")
    f.store(str(IDLE), "steps", "%lane")
    f.store(f.let(f"sub i64 {f.load('active')}, 1"), "active")
    f.do("ret void")
    return f.text()


def _loaded(f: _Lines, problem: str) -> None:
    """Copy the problem's state and data into the lane."""
    for k, rows, first, own in ((0, f.r.n, 0, 6), (1, f.r.m, f.r.n, 7)):
        base, stride = f.cell(f.argument(k), (f.stride(k), problem)), f.stride(own)
        for j in range(rows):
            value = f.let(f"load double, ptr {f.cell(base, (stride, str(j)))}")
            f.store(value, "in", "%lane", first + j, "double")


def _begin(r: _Record) -> str:
    """The lane's next start, a row of the table."""
    f = _Lines(r, f"void @begin({_SHARED}, i64 %lane, i64 %row)")
    problem = f.load("problem", "%lane")
    base = f.cell(f.argument(2), (f.stride(2), problem), (f.stride(8), "%row"))
    stride = f.stride(9)
    for j in range(r.n):
        f.store(f.let(f"load double, ptr {f.cell(base, (stride, str(j)))}"), "in", "%lane", j, "double")
    f.store("0", "steps", "%lane")
    f.store(f.let("add i64 %row, 1"), "start", "%lane")
    f.do("ret void")
    return f.text()


def _finish(r: _Record) -> str:
    """Write the state that lies in `best_state`, and what it took."""
    f = _Lines(r, f"void @finish({_SHARED}, i64 %lane, double %converged)")
    problem = f.load("problem", "%lane")
    base, stride = f.cell(f.argument(4), (f.stride(4), problem)), f.stride(11)
    for j in range(r.n):
        value = f.load("best_state", "%lane", j, "double")
        f.do(f"store double {value}, ptr {f.cell(base, (stride, str(j)))}")
    info, own = f.cell(f.argument(5), (f.stride(5), problem)), f.stride(12)
    taken = f.let(f"sitofp i64 {f.load('taken', '%lane')} to double")
    used = f.let(f"add i64 {f.load('start', '%lane')}, 1")
    starts = f.let(f"sitofp i64 {used} to double")
    for k, value in enumerate((taken, starts, "%converged")):
        f.do(f"store double {value}, ptr {f.cell(info, (own, str(k)))}")
    f.do("ret void")
    return f.text()


def _serve(r: _Record) -> str:
    """A lane whose start has ended, converged or not."""
    f = _Lines(r, f"void @serve({_SHARED}, i64 %lane, i64 %problems, i64 %starts, i1 %converged)")
    steps = f.load("steps", "%lane")
    f.store(f.let(f"add i64 {f.load('taken', '%lane')}, {steps}"), "taken", "%lane")
    cost, least = f.load("out", "%lane", r.n + 2, "double"), f.load("best", "%lane", kind="double")
    lower = f.let(f"fcmp olt double {cost}, {least}")
    f.do(f"br i1 {f.let(f'or i1 {lower}, %converged')}, label %keep, label %judge")
    f.label("keep")
    f.store(cost, "best", "%lane", kind="double")
    for j in range(r.n):
        f.store(f.load("in", "%lane", j, "double"), "best_state", "%lane", j, "double")
    f.do("br label %judge")
    f.label("judge")
    start = f.load("start", "%lane")
    more = f.let(f"icmp slt i64 {start}, %starts")
    again = f.let(f"and i1 {more}, {f.let('xor i1 %converged, true')}")
    f.do(f"br i1 {again}, label %next, label %end")
    f.label("next")
    f.do(f"call void @begin({_SHARED}, i64 %lane, i64 {start})")
    f.do("ret void")
    f.label("end")
    f.do(f"call void @finish({_SHARED}, i64 %lane, double {f.let('uitofp i1 %converged to double')})")
    f.do(f"call void @assign({_SHARED}, i64 %lane, i64 %problems)")
    f.do("ret void")
    return f.text()


def _main(r: _Record, symbol: str) -> str:
    W, n = r.width, r.n
    V, I, B = f"<{W} x double>", f"<{W} x i64>", f"<{W} x i1>"
    f = _Lines(r, "")
    head = f"define void @{symbol}(ptr %args, ptr %dims, ptr %strides, ptr %data)"
    f.lines[0] = head + ' nounwind "no-stack-arg-probe" {'
    f.do(f"%c = alloca [{r.words} x i64], align 64")
    with f.loop(r.words, name="clear") as k:
        f.do(f"store i64 0, ptr {f.let(f'getelementptr i64, ptr %c, i64 {k}')}")
    problems = f.let("load i64, ptr %dims")
    f.do(f"br i1 {f.let(f'icmp sgt i64 {problems}, 0')}, label %some, label %done")
    f.label("some")
    settings, own = f.argument(3), f.stride(10)
    limit = [f.let(f"load double, ptr {f.cell(settings, (own, str(k)))}") for k in range(SETTINGS)]
    most, starts, halfway = (f.let(f"fptosi double {x} to i64") for x in limit[2:5])
    wide = [_splat(f, V, "double", x, W) for x in limit[:2]] + [_splat(f, I, "i64", most, W)]
    halt, tall = _splat(f, I, "i64", halfway, W), _splat(f, V, "double", limit[5], W)
    f.store(str(W), "active")
    for lane in range(W):
        f.do(f"call void @assign({_SHARED}, i64 {lane}, i64 {problems})")
    source, target = f.word("in"), f.word("out")
    f.do(f"call void @constants_{W}(ptr {target})")
    f.do("br label %check")
    f.label("check")
    busy = f.let(f"icmp sgt i64 {f.load('active')}, 0")
    f.do(f"br i1 {busy}, label %step, label %done")
    f.label("step")
    f.do(f"call void @body_{W}(ptr {source}, ptr {target})")
    below = [f.let(f"fcmp olt {V} {f.load('out', '0', n + k, V)}, {wide[k]}") for k in range(2)]
    converged = f.let(f"and {B} {below[0]}, {below[1]}")
    count = f.let(f"add {I} {f.load('steps', '0', 0, I)}, {_splat(f, I, 'i64', '1', W)}")
    f.store(count, "steps", kind=I)
    late = f.let(f"icmp sge {I} {count}, {wide[2]}")
    now = f.let(f"icmp eq {I} {count}, {halt}")
    high = f.let(f"fcmp ogt {V} {f.load('out', '0', n + 2, V)}, {tall}")
    hopeless = f.let(f"and {B} {now}, {high}")
    over = f.let(f"or {B} {f.let(f'or {B} {converged}, {late}')}, {hopeless}")
    working = f.let(f"icmp sge {I} {count}, {_splat(f, I, 'i64', '0', W)}")
    ended = f.let(f"and {B} {over}, {working}")
    for j in range(n):
        new = f.let(f"select {B} {ended}, {V} {f.load('in', '0', j, V)}, {V} {f.load('out', '0', j, V)}")
        f.store(new, "in", "0", j, V)
    bits = f.let(f"bitcast {B} {ended} to i{W}")
    f.do(f"br i1 {f.let(f'icmp eq i{W} {bits}, 0')}, label %step, label %lane0")
    for lane in range(W):
        f.label(f"lane{lane}")
        this = f.let(f"extractelement {B} {ended}, i64 {lane}")
        after = f"lane{lane + 1}" if lane + 1 < W else "check"
        f.do(f"br i1 {this}, label %serve{lane}, label %{after}")
        f.label(f"serve{lane}")
        good = f.let(f"extractelement {B} {converged}, i64 {lane}")
        f.do(f"call void @serve({_SHARED}, i64 {lane}, i64 {problems}, i64 {starts}, i1 {good})")
        f.do(f"br label %{after}")
    f.label("done")
    f.do("ret void")
    return f.text()


def _splat(f: _Lines, vector: str, kind: str, value: str, width: int) -> str:
    result = "poison"
    for lane in range(width):
        result = f.let(f"insertelement {vector} {result}, {kind} {value}, i64 {lane}")
    return result


def settings(
    limits: Sequence[float], steps: int, starts: int, halfway: int = 0, cost: float = 0.0
) -> NDArray[np.float64]:
    """The settings as the array that `Search` takes. At the step `halfway` (0: never) a start whose cost is above
    `cost` is given up."""
    return np.array([*limits, steps, starts, halfway, cost], float)
