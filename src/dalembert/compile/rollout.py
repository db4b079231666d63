"""A step repeated so and so often, for many rollouts at once: what a simulation needs, in one machine loop.

Each of the W lanes of a vector is a rollout of its own. A step is a sequence of calls, each of a traced function that
reads blocks of numbers and writes one; the last of them writes the new state:

    blocks   t [s], dt [s], x (state), u (input of this step), p (parameters of the rollout), and any others by name
    step     writes ← function(*reads), one call after another;  x ← new
    observe  y ← function(*reads), only where a state is kept

A function that is called several times in a step (the rate of a Runge–Kutta method) is compiled once. What a step
computes stays in the cache of the processor; memory is read for u and written for what is kept, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.caching import cached_property
from dalembert.compile import llvm, ufunc
from dalembert.compile.body import Emission, body, constants, has_constants, sin_cos_function
from dalembert.compile.copies import copy_functions, spread_function
from dalembert.compile.functions import fma
from dalembert.compile.interpret import interpret
from dalembert.compile.kernel import compile_function
from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer

Array = NDArray[np.float64]

SYMBOL = "dalembert_rollout"
CLOCK = ("t", "dt")  # blocks that hold one number, given as such; of the others functions get lists
LOOP_BLOCKS = ("t", "dt", "new", "t0", "mark")  # blocks of the loop itself, whose sizes no caller gives
SETTINGS = 3  # steps taken before, steps to take, and every how many-th state is kept
SHORT = 400  # operations: such functions wait for their own results more than for registers, and gain by two vectors
# Shorter functions than a kernel's: 82 against 100 ns a step for an arm of 7 joints under computed torque (1,267
# operations).
ROLLOUT = Emission(SYMBOL, longest=1_000)
EXPONENT = 0x7FF0000000000000  # all ones in a number that is infinite or NaN


@dataclass(frozen=True)
class Call:
    """writes ← function(*reads): blocks by name. No call may write what it reads."""

    function: Callable[..., Sequence[Any]]
    reads: tuple[str, ...]
    writes: str


def run(calls: Sequence[Call], blocks: Mapping[str, Any]) -> dict[str, Any]:
    """The blocks after one step, over any scalar: what the compiled loop repeats."""
    known = dict(blocks)
    for call in calls:
        known[call.writes] = list(call.function(*(known[name] for name in call.reads)))
    return known


@dataclass(frozen=True, repr=False)
class Rollout:
    """The compiled loop. `calls` are (program, blocks read, block written), the observation last if there is one."""

    name: str
    sizes: tuple[tuple[str, int], ...]  # every block and how many numbers it holds
    calls: tuple[tuple[Program, tuple[str, ...], str], ...]
    observed: bool

    @cached_property
    def size(self) -> dict[str, int]:
        return dict(self.sizes)

    @property
    def signature(self) -> str:
        """x0, u, p, clock (t0, dt), settings → kept x and y, last x and y, the step that diverged."""
        n, m, p, y = (self.size[name] or "zero" for name in ("x", "u", "p", "y"))
        given = f"({n}),(rows,{m}),({p}),(2),({SETTINGS})"
        return f"{given}->(kept,{n}),(kept,{y}),({n}),({y}),()"

    @cached_property
    def operations(self) -> int:
        """Arithmetic operations of one step, without the observation."""
        step = self.calls[: len(self.calls) - self.observed]
        return sum(program.operations for program, _, _ in step)

    @cached_property
    def text(self) -> str:
        """What determines the step."""
        seen: dict[Program, int] = {}
        listed = [(seen.setdefault(program, len(seen)), reads, writes) for program, reads, writes in self.calls]
        return repr((self.sizes, self.observed, listed, [program.text for program in seen]))

    @cached_property
    def width(self) -> int:
        """Rollouts in a tile."""
        longest = max(program.operations for program, _, _ in self.calls)
        return llvm.host().width * (2 if longest < SHORT else 1)

    @cached_property
    def ufunc(self) -> np.ufunc:
        key = (repr(ROLLOUT), str(self.width), self.text)
        linked = llvm.linked(lambda: module(self, self.width), (SYMBOL,), *key)
        return ufunc.make(linked.addresses[SYMBOL], self.signature, self.name, linked)

    def __reduce__(self) -> tuple[type[Rollout], tuple[object, ...]]:
        return (Rollout, (self.name, self.sizes, self.calls, self.observed))

    def __repr__(self) -> str:
        return f"<Rollout {self.name}: {self.size['x']} states, {self.operations} operations a step>"

    def __call__(
        self,
        x0: Array,
        u: Array,
        p: Array,
        steps: int,
        dt: ArrayLike,
        t0: ArrayLike = 0.0,
        every: int = 1,
        first: int = 0,
        out: tuple[Array, Array, Array, Array, Array] | None = None,
    ) -> tuple[Array, Array, Array, Array, Array]:
        """(kept x, kept y, last x, last y, diverged), for x0 (..., n), u (..., steps or 1, m) and p (..., l), with
        leading dimensions that broadcast.

        Before step k, at t = t0 + (first + k) dt, the state is kept if k is a multiple of `every`: row k / every; y
        belongs to that state, that time and the input of step k (of the last step, for the last state). `diverged` is
        the step, counted from t0, after which the state was not finite, or −1; from there on the state is NaN.
        `first` continues a run in pieces, with the same bits."""
        n, m, l, ny = (self.size[name] for name in ("x", "u", "p", "y"))
        x0, u, p = (np.asarray(a, float) for a in (x0, u, p))
        clock = np.stack(np.broadcast_arrays(np.asarray(t0, float), np.asarray(dt, float)), -1)
        rows = u.shape[-2] if u.ndim > 1 else 0
        if x0.shape[-1:] != (n,) or u.shape[-1:] != (m,) or p.shape[-1:] != (l,) or u.ndim < 2:
            raise ValueError(f"{self.name} takes x0 (…, {n}), u (…, steps, {m}) and p (…, {l})")
        if rows not in (1, steps) or steps < 0 or every < 1:
            raise ValueError(f"{rows} rows of inputs for {steps} steps, of which every {every} are kept")
        if rows == 0:  # no step is taken, and no input is known
            u, rows = np.zeros((1, m)), 1
        if rows == 1:
            u = np.broadcast_to(u, (*u.shape[:-2], max(steps, 1), m))
        if out is None:
            batch = np.broadcast_shapes(x0.shape[:-1], u.shape[:-2], p.shape[:-1], clock.shape[:-1])
            kept = -(-steps // every)
            shapes = ((kept, n), (kept, ny), (n,), (ny,), ())
            a, b, c, d, e = (np.empty((*batch, *shape)) for shape in shapes)
            out = (a, b, c, d, e)
        settings = np.array([first, steps, every], float)
        self.ufunc(x0, u, p, clock, settings, out=out)
        return out

    def interpret(
        self,
        x0: Sequence[float],
        u: ArrayLike,
        p: Sequence[float],
        steps: int,
        dt: float,
        t0: float = 0.0,
        kind: Kind = DOUBLE,
    ) -> Array:
        """The states of one rollout, (steps + 1, n), evaluated step by step in Python: the same bits as the code for
        a machine that computes in this kind of number."""
        u = np.broadcast_to(np.asarray(u, float), (steps, self.size["u"]))
        states = [[float(value) for value in x0]]
        known: dict[str, Any] = {"dt": [dt], "p": list(p)}
        for k in range(steps):
            known |= {"t": [fma(float(k), dt, t0, kind)], "x": states[-1], "u": u[k].tolist()}
            for program, reads, writes in self.calls[: len(self.calls) - self.observed]:
                (known[writes],) = interpret(program, [known[name] for name in reads], kind)
            states.append(known["new"])
        return np.array(states)


def compile_rollout(
    calls: Sequence[Call], sizes: Mapping[str, int], name: str = "rollout", observe: Call | None = None
) -> Rollout:
    """Trace the calls of a step. `sizes` gives how many numbers x, u, p and the blocks of the step's own hold; where
    `observe` is given, y too."""
    for block in LOOP_BLOCKS:
        if block in sizes:
            raise ValueError(f"{name} must not have a block of its own called {block!r}: the loop uses that name")
    full = {"u": 0, "p": 0, "y": 0, **sizes, "t": 1, "dt": 1, "new": sizes["x"]}
    listed = [*calls, *(() if observe is None else (observe,))]
    known: dict[tuple[Any, ...], Program] = {}
    traced = []
    for call in listed:
        if call.writes in call.reads or call.writes in ("t", "dt", "x", "u", "p"):
            raise ValueError(f"a call of {name} writes {call.writes!r}, which it may only read")
        for block in (*call.reads, call.writes):
            if block not in full:
                raise ValueError(f"a call of {name} uses the block {block!r}, whose size is not given")
        key = (call.function, call.reads, full[call.writes])
        if key not in known:
            shapes = [() if block in CLOCK else (full[block],) for block in call.reads]
            known[key] = compile_function(call.function, shapes, [(full[call.writes],)], name).program
        traced.append((known[key], call.reads, call.writes))
    if not any(call.writes == "new" for call in calls) or (observe is not None and observe.writes != "y"):
        raise ValueError(f"the step of {name} must write 'new', and what observes it 'y'")
    return Rollout(name, tuple(full.items()), tuple(traced), observe is not None)


def module(rollout: Rollout, width: int, kind: Kind = DOUBLE, how: Emission = ROLLOUT) -> str:
    """The IR: the functions on vectors, and the loop around them."""
    w = Writer(width, kind)
    loop = _Loop(rollout, width, kind)
    parts = [*w.declarations(), "declare ptr @malloc(i64)\ndeclare void @free(ptr)"]
    parts += [copy_functions(width, kind, 1), spread_function(width, kind), sin_cos_function(width, kind)]
    for (program, reads), name in loop.functions.items():
        parts.append(body(program, [loop.at[block] for block in reads], width, kind, name, how))
        if has_constants(program):
            parts.append(constants(program, width, kind, f"{name}_constants"))
    return "\n".join([*parts, loop.text(how)]) + "\n"


# The arrays of the ufunc, in the order of its signature: how many dimensions each has of its own.
_DIMENSIONS = {"x0": 1, "u": 2, "p": 1, "clock": 1, "settings": 1, "xs": 2, "ys": 2, "x_end": 1, "y_end": 1, "mark": 0}


class _Loop(Writer):
    """Writes the function that NumPy calls. All blocks of a tile lie in one record, %c, as vectors."""

    def __init__(self, rollout: Rollout, width: int, kind: Kind) -> None:
        super().__init__(width, kind)
        self.rollout, self.size = rollout, rollout.size
        self.at: dict[str, int] = {}
        total = 0
        for name, size in (*rollout.sizes, ("t0", 1), ("mark", 1)):
            if name != "dt":  # beside t0, as the clock has them
                self.at[name] = total
                total += size
            if name == "t0":
                self.at["dt"], total = total, total + 1
        self.total = total
        self.functions: dict[tuple[Program, tuple[str, ...]], str] = {}
        for program, reads, _ in rollout.calls:
            self.functions.setdefault((program, reads), f"call_{len(self.functions)}")

    def text(self, how: Emission) -> str:
        self.lines = [
            f"define void @{how.symbol}(ptr %args, ptr %dims, ptr %strides, ptr %data) nounwind "
            '"no-stack-arg-probe" {',
            "entry:",
        ]
        size = self.total * self.width
        heap = size * DOUBLE.bytes > how.stack
        record = f"call ptr @malloc(i64 {size * DOUBLE.bytes})" if heap else f"alloca [{size} x double], align 64"
        self.do(f"%c = {record}")
        for place in ("%shape", "%stride"):
            self.do(f"{place} = alloca i64")
        self.do("%frozen = alloca i64")
        self._arguments()
        self._cleared()
        self.do("br label %tiles")
        self.label("tiles")
        self.do("%i = phi i64 [0, %clear_end], [%i_next, %tile_end]")
        more = self.let("icmp slt i64 %i, %problems")
        self.do(f"br i1 {more}, label %tile, label %done")
        self.label("tile")
        left = self.let("sub i64 %problems, %i")
        partial = self.let(f"icmp slt i64 {left}, {self.width}")
        self.lanes = self.let(f"select i1 {partial}, i64 {left}, i64 {self.width}")
        self._tile()
        self.do(f"%i_next = add i64 %i, {self.width}")
        self.do("br label %tile_end")
        self.label("tile_end")
        self.do("br label %tiles")
        self.label("done")
        if heap:
            self.do("call void @free(ptr %c)")
        self.do("ret void")
        return "\n".join([*self.lines, "}"])

    # ------------------------------------------------------------------------------------------------ NumPy's arrays
    def _arguments(self) -> None:
        """Where each array begins, its stride over rollouts and those of its own dimensions; the settings."""
        self.base: dict[str, str] = {}
        self.over: dict[str, str] = {}
        self.own: dict[str, list[str]] = {}
        at = len(_DIMENSIONS)
        self.do("%problems = load i64, ptr %dims")
        for k, (name, dimensions) in enumerate(_DIMENSIONS.items()):
            self.base[name] = self.item("%args", k, "ptr")
            self.over[name] = self.item("%strides", k, "i64")
            self.own[name] = [self.item("%strides", at + d, "i64") for d in range(dimensions)]
            at += dimensions
        settings = []
        for k in range(SETTINGS):
            offset = self.let(f"mul i64 {self.own['settings'][0]}, {k}")
            at_k = self.let(f"getelementptr i8, ptr {self.base['settings']}, i64 {offset}")
            settings.append(self.let(f"fptosi double {self.let(f'load double, ptr {at_k}')} to i64"))
        self.first, self.steps, self.every = settings

    def _cleared(self) -> None:
        """Zeros everywhere: what no function writes is a number too."""
        with self.loop(self.total, name="clear") as k:
            self.store(self.number(0.0), "%c", k)

    def _copy(self, direction: str, array: str, block: str, count: int, row: str | None = None) -> None:
        """A block of the record from, or to, `count` numbers of each rollout's part of an array (of one row of it).
        Lanes without a rollout repeat the last one all the way, and write its numbers where it writes them."""
        if count == 0:
            return
        offset = self.let(f"mul i64 %i, {self.over[array]}")
        base = self.let(f"getelementptr i8, ptr {self.base[array]}, i64 {offset}")
        if row is not None:
            offset = self.let(f"mul i64 {row}, {self.own[array][0]}")
            base = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        buffer = self._block(block)
        stride = self.own[array][-1] if self.own[array] else str(DOUBLE.bytes)
        flat = self.let(f"icmp eq i64 {stride}, {DOUBLE.bytes}") if count > 1 else "true"
        self.count += 1
        label = f"c{self.count}"
        self.do(f"br i1 {flat}, label %{label}_flat, label %{label}_strided")
        self.label(f"{label}_flat")
        shared = f"i64 {self.lanes}, ptr {buffer}"
        over = self.over[array]
        if direction == "gather":  # the same for all rollouts: nothing to transpose
            common = self.let(f"icmp eq i64 {over}, 0")
            self.do(f"br i1 {common}, label %{label}_common, label %{label}_own")
            self.label(f"{label}_common")
            self.do(f"call void @spread_{self.width}(ptr {base}, i64 {count}, ptr {buffer})")
            self.do(f"br label %{label}_end")
            self.label(f"{label}_own")
        self.do(f"call void @{direction}_flat_{self.width}(ptr {base}, i64 {over}, i64 {count}, {shared})")
        self.do(f"br label %{label}_end")
        self.label(f"{label}_strided")
        self.do(f"store i64 {count}, ptr %shape")
        self.do(f"store i64 {stride}, ptr %stride")
        where = f"ptr {base}, i64 {over}, ptr %shape, ptr %stride"
        self.do(f"call void @{direction}_strided_1_{self.width}({where}, {shared})")
        self.do(f"br label %{label}_end")
        self.label(f"{label}_end")

    # ------------------------------------------------------------------------------------------------- one tile
    def _block(self, name: str, k: int = 0) -> str:
        return self.let(f"getelementptr {self.V}, ptr %c, i64 {self.at[name] + k}")

    def _tile(self) -> None:
        n, y = self.size["x"], self.size["y"]
        self._copy("gather", "x0", "x", n)
        self._copy("gather", "p", "p", self.size["p"])
        self._copy("gather", "clock", "t0", 2)
        self._copy("gather", "u", "u", self.size["u"], "0")
        self.store(self.number(-1.0), "%c", self.at["mark"])
        self.do("store i64 0, ptr %frozen")
        self._judge("x", self.first, "begun")
        self.do("br label %steps")
        self.label("steps")
        self.do("%k = phi i64 [0, %begun], [%k_next, %judged]")
        self.do("%row = phi i64 [0, %begun], [%row_next, %judged]")
        self.do("%wait = phi i64 [0, %begun], [%wait_next, %judged]")  # steps until a state is kept
        self._time()
        self.do(f"br i1 {self.let(f'icmp slt i64 %k, {self.steps}')}, label %step, label %ended")
        self.label("step")
        self._input()
        self.do(f"br i1 {self.let('icmp eq i64 %wait, 0')}, label %keep, label %pass")
        self.label("keep")
        self._observe()
        self._copy("scatter", "xs", "x", n, "%row")
        self._copy("scatter", "ys", "y", y, "%row")
        self.do("br label %kept")
        self.label("kept")
        self.do("%row_kept = add i64 %row, 1")
        self.do("br label %move")
        self.label("pass")
        self.do("br label %move")
        self.label("move")
        self.do("%row_next = phi i64 [%row_kept, %kept], [%row, %pass]")
        self.do(f"%wait_now = phi i64 [{self.every}, %kept], [%wait, %pass]")
        self.do("%wait_next = sub i64 %wait_now, 1")
        for program, reads, writes in self.rollout.calls[: len(self.rollout.calls) - self.rollout.observed]:
            self._call(program, reads, writes)
        self._judge("new", "%now", "judged")
        self.do("%k_next = add i64 %k, 1")
        self.do("br label %steps")
        self.label("ended")
        self._observe()
        self._copy("scatter", "x_end", "x", n)
        self._copy("scatter", "y_end", "y", y)
        self._copy("scatter", "mark", "mark", 1)

    def _time(self) -> None:
        """t = t0 + k dt, rounded once: no error adds up."""
        self.do(f"%now = add i64 %k, {self.first}")
        k = self.wide(self.let("sitofp i64 %now to double"))
        t = self.operation("fma", k, self.load("%c", self.at["dt"]), self.load("%c", self.at["t0"]))
        self.store(t, "%c", self.at["t"])

    def _input(self) -> None:
        """The inputs of this step, unless they are the same at all of them."""
        if self.size["u"]:
            moving = self.let(f"icmp ne i64 {self.own['u'][0]}, 0")
            self.do(f"br i1 {moving}, label %read, label %held")
            self.label("read")
            self._copy("gather", "u", "u", self.size["u"], "%k")
            self.do("br label %held")
            self.label("held")

    def _observe(self) -> None:
        if self.rollout.observed:
            self._call(*self.rollout.calls[-1])

    def _call(self, program: Program, reads: tuple[str, ...], writes: str) -> None:
        name, target = self.functions[program, reads], self._block(writes)
        if has_constants(program):
            self.do(f"call void @{name}_constants(ptr {target})")
        self.do(f"call void @{name}(ptr %c, ptr {target})")

    def _judge(self, source: str, step: str, label: str) -> None:
        """x ← the block, looked at: lanes whose state is not finite are marked with the step and stay NaN.

        On the bits (absolute value + one unit of the exponent is negative): comparing numbers takes as long, and would
        raise the "invalid" flag for NaN."""
        I, B, V = self.I, self.B, self.V
        seen = self.integer(0)
        for k in range(self.size["x"]):
            x = self.load("%c", self.at[source] + k)
            if source != "x":
                self.store(x, "%c", self.at["x"] + k)
            bits = self.let(f"and {I} {self.let(f'bitcast {V} {x} to {I}')}, {self.integer((1 << 63) - 1)}")
            seen = self.let(f"or {I} {seen}, {self.let(f'add {I} {bits}, {self.integer((1 << 63) - EXPONENT)}')}")
        bad = self.let(f"icmp slt {I} {seen}, {self.integer(0)}")
        some = self.let(f"icmp ne i{self.width} {self.let(f'bitcast {B} {bad} to i{self.width}')}, 0")
        before = self.let(f"icmp ne i64 {self.let('load i64, ptr %frozen')}, 0")
        self.do(f"br i1 {self.let(f'or i1 {some}, {before}')}, label %{label}_ill, label %{label}")
        self.label(f"{label}_ill")
        mark = self.load("%c", self.at["mark"])
        free = self.let(f"fcmp olt {V} {mark}, {self.number(0.0)}")
        now = self.wide(self.let(f"sitofp i64 {step} to double"))
        mark = self.let(f"select {B} {self.let(f'and {B} {bad}, {free}')}, {V} {now}, {V} {mark}")
        self.store(mark, "%c", self.at["mark"])
        stuck = self.let(f"fcmp oge {V} {mark}, {self.number(0.0)}")
        for k in range(self.size["x"]):
            place = self.at["x"] + k
            x = self.let(f"select {B} {stuck}, {V} {self.number(float('nan'))}, {V} {self.load('%c', place)}")
            self.store(x, "%c", place)
        self.do("store i64 1, ptr %frozen")
        self.do(f"br label %{label}")
        self.label(label)
