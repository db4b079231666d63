"""Derivatives of a whole rollout, made of the programs that it repeats: loops of the same kind, W rollouts at once.

Forward (`compile_sensitivity`): with the state go its derivatives in the start and in parameters.
Backward (`compile_adjoint`), for a loss L of the states x₀ … x_N of x ← step(t, x, u, p):

    λ_N = ∂L/∂x_N,               λ_k = ∂L/∂x_k + (∂step/∂x)ᵀ λ_{k+1}
    ∂L/∂u_k = (∂step/∂u)ᵀ λ_{k+1},    ∂L/∂p = Σ_k (∂step/∂p)ᵀ λ_{k+1}

which gives the derivatives in all of start, inputs and parameters for the price of a few rollouts. A step is a sequence
of calls; backward it is taken again, then each call is pulled back, from the last to the first, by a program of its
own: one for all stages of a Runge–Kutta method. The states that it needs in reverse order are not kept but computed a
second time, √N at a time, from every √N-th (Griewank & Walther 2008, ch. 12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.compile import gradient
from dalembert.compile.interpret import replay
from dalembert.compile.kernel import compile_function
from dalembert.compile.lower import Program
from dalembert.compile.rollout import CLOCK, Rollout
from dalembert.scalar import Scalar

Array = NDArray[np.float64]
Block = list[Scalar]
PIECE = 2  # · √steps: states that are computed a second time at once
Weigh = Callable[[int, Array], Array | None]
Listed = tuple[Program, tuple[str, ...], str]


def without_observation(rollout: Rollout) -> Rollout:
    """The same steps, and nothing observed of them."""
    if not rollout.observed:
        return rollout
    sizes = tuple((name, 0 if name == "y" else size) for name, size in rollout.sizes)
    return Rollout(rollout.name, sizes, rollout.calls[:-1], False)


def compile_sensitivity(rollout: Rollout, places: Sequence[int]) -> Rollout:
    """The rollout of (x, ∂x/∂x₀, ∂x/∂p), p at these places: after the numbers of x and of each block of the step's own
    comes for each of them its row of derivatives, in the start and then in the parameters. A call hands these on by its
    Jacobian, which is computed once for all of them."""
    rollout = without_observation(rollout)
    still, count = (*CLOCK, "u", "p"), rollout.size["x"] + len(places)
    known: dict[tuple[Program, tuple[str, ...]], Program] = {}
    sizes = {name: size if name in still else (1 + count) * size for name, size in rollout.sizes}

    def moved(program: Program, reads: tuple[str, ...]) -> Program:
        def both(*blocks: Scalar) -> Block:
            given = [
                [b] if r in CLOCK else b if r in still else b[: rollout.size[r]]
                for r, b in zip(reads, blocks, strict=True)
            ]
            (made,) = replay(program, given)
            inputs: Block = []
            rows: list[dict[int, Scalar]] = []
            for r, own, b in zip(reads, given, blocks, strict=True):
                if r == "p":
                    inputs += [own[k] for k in places]
                    rows += [{rollout.size["x"] + j: 1.0} for j in range(len(places))]
                elif r not in still:
                    inputs += own
                    parts = (b[len(own) + i * count :][:count] for i in range(len(own)))
                    rows += [dict(enumerate(part)) for part in parts]
            J = gradient.jacobian(inputs[0].graph, made, inputs) if inputs else [[]] * len(made)
            return [*made, *(x for slopes in J for x in _row_times(slopes, rows, count))]

        shapes = [() if r in CLOCK else (sizes[r],) for r in reads]
        made = len(program.outputs[0])
        return compile_function(both, shapes, [((1 + count) * made,)], f"{rollout.name} sensitivity").program

    calls = []
    for program, reads, writes in rollout.calls:
        if (program, reads) not in known:
            known[program, reads] = moved(program, reads)
        calls.append((known[program, reads], reads, writes))
    return Rollout(f"{rollout.name} sensitivity", tuple(sizes.items()), tuple(calls), False)


def _row_times(slopes: Sequence[Scalar], rows: Sequence[dict[int, Scalar]], count: int) -> Block:
    """Σ slope · row, of rows that have some of so many entries."""
    total: Block = [0.0] * count
    for slope, row in zip(slopes, rows, strict=True):
        for j, x in row.items() if not isinstance(slope, float) or slope else ():
            total[j] = total[j] + slope * x
    return total


def compile_adjoint(rollout: Rollout, weighted: bool = True) -> Rollout:
    """The step backward, as a rollout: its state is (λ, ∂L/∂p), its input of step k (x_k, u_k [, ∂L/∂x_k, if states on
    the way are `weighted`]); ∂L/∂u of the step before is observed. It runs against time, so that its dt is −dt."""
    return _Backward(without_observation(rollout), weighted).rollout()


def _observing_inputs(rollout: Rollout) -> Rollout:
    """The same steps, with the inputs of each step observed beside its state: what the way back is fed with."""
    m, plain = rollout.size["u"], without_observation(rollout)
    copy = compile_function(list, [(m,)], [(m,)], f"{rollout.name} inputs").program
    sizes = tuple((name, m if name == "y" else size) for name, size in plain.sizes)
    return Rollout(plain.name, sizes, (*plain.calls, (copy, ("u",), "y")), True) if m else plain


class _Backward:
    """Writes the calls of a step backward. What the step writes has a block of its own for each time it is written,
    `versions`; a program that is called several times reads copies, in blocks that are the same each time."""

    def __init__(self, forward: Rollout, weighted: bool) -> None:
        self.forward, self.size, self.weighted = forward, forward.size, weighted
        self.n, self.m, self.l = (self.size[name] for name in ("x", "u", "p"))
        fed = self.n + self.m + self.n * weighted
        self.sizes = {"x": self.n + self.l, "u": fed, "p": self.l, "of_u": self.m, "y": self.m}
        self.calls: list[Listed] = []
        self.known: dict[tuple[object, ...], Program] = {}
        self.sums: dict[str, list[tuple[str, int]]] = {}  # where the summands of ∂L/∂(a block) lie: a block and a place

    def rollout(self) -> Rollout:
        step = self.forward.calls
        often = Counter((program, reads) for program, reads, _ in step)
        written = {writes for _, _, writes in step}
        versions: dict[str, str] = {}
        taken = []
        for i, (program, reads, writes) in enumerate(step):
            own = f"{writes}.{i}"
            shared = often[program, reads] > 1
            copies = {r: versions[r] for r in reads if shared and r in written}
            places = tuple(
                f"{r}.{list(often).index((program, reads))}c" if r in copies else versions.get(r, r) for r in reads
            )
            taken.append(
                (program, reads, places, copies, tuple(versions.get(r, r) for r in reads), own, writes, shared)
            )
            versions[writes] = own
            self.sizes[own] = self.size[writes]
            self._copy(copies, reads, places)
            self._add(("step", program, places), self._again(program, places), self._read(places), own)
        for item in reversed(taken):
            self._pull_back(*item)
        self._finish()
        self.sizes |= {"t": 1, "dt": 1, "new": self.sizes["x"]}
        self._add(("observe",), list, ("of_u",), "y")
        *calls, observe = self.calls
        steps = (*_needed(calls, ("new", "of_u")), *([observe] if self.m else []))
        return Rollout(f"{self.forward.name} backward", tuple(self.sizes.items()), steps, self.m > 0)

    # ------------------------------------------------------------------------------------------------- single calls
    def _read(self, places: Sequence[str]) -> tuple[str, ...]:
        """The blocks in which the arguments of a call lie: x and u of the step are parts of the loop's own input."""
        return tuple(dict.fromkeys("u" if place == "x" else place for place in places))

    def _arguments(self, places: Sequence[str], blocks: Sequence[Scalar]) -> list[Block]:
        n, known = self.n, dict(zip(self._read(places), blocks, strict=False))
        parts: dict[str, Callable[[], Block]] = {
            "t": lambda: [known["t"]],
            "dt": lambda: [-known["dt"]],
            "x": lambda: known["u"][:n],
            "u": lambda: known["u"][n : n + self.m],
        }
        return [parts[place]() if place in parts else known[place] for place in places]

    def _again(self, program: Program, places: tuple[str, ...]) -> Callable[..., Block]:
        return lambda *blocks: replay(program, self._arguments(places, blocks))[0]

    def _add(
        self, key: tuple[object, ...], function: Callable[..., Block], reads: tuple[str, ...], writes: str
    ) -> None:
        key = (*key, reads, self.sizes.get(writes))
        if key not in self.known:
            shapes = [() if r in CLOCK else (self.sizes[r],) for r in reads]
            size = self.sizes["x"] if writes == "new" else self.sizes[writes]
            self.known[key] = compile_function(function, shapes, [(size,)], f"{self.forward.name} backward").program
        self.calls.append((self.known[key], reads, writes))

    def _copy(self, copies: dict[str, str], reads: Sequence[str], places: Sequence[str]) -> None:
        for r, place in zip(reads, places, strict=True):
            if r in copies:
                self.sizes[place] = self.size[r]
                self._add(("copy", copies[r]), list, (copies[r],), place)

    def _pull_back(
        self,
        program: Program,
        reads: tuple[str, ...],
        places: tuple[str, ...],
        copies: dict[str, str],
        sources: tuple[str, ...],
        own: str,
        writes: str,
        shared: bool,
    ) -> None:
        summands = [("x", 0)] if writes == "new" else self.sums.get(own, [])
        if not summands:
            return
        self._copy(copies, reads, places)
        active = [k for k, r in enumerate(reads) if r not in CLOCK]
        given, size = self._read(places), self.size[writes]
        if shared:  # one program for all calls: the weights are summed beforehand
            weights = f"weights of {places}"
            self.sizes[weights] = size
            more = tuple(dict.fromkeys(block for block, _ in summands))
            self._add(("sum", tuple(summands)), lambda *b: _summed(summands, more, b, size), more, weights)
            summands = [(weights, 0)]
        more = tuple(dict.fromkeys(block for block, _ in summands))
        reading = (*given, *(block for block in more if block not in given))

        def pulled(*blocks: Scalar) -> Block:
            arguments = self._arguments(places, blocks)
            (made,) = replay(program, arguments)
            inputs = [x for k in active for x in arguments[k]]
            w = _summed(summands, reading, blocks, size)
            return gradient.pull_back(inputs[0].graph, made, w, inputs) if inputs else []

        back = f"{own} back"
        at = 0
        for k in active:
            self.sums.setdefault(sources[k], []).append((back, at))
            at += self.size[reads[k]]
        self.sizes[back] = at
        self._add(("back", program, places, tuple(summands)), pulled, reading, back)

    def _finish(self) -> None:
        """λ, what is added to ∂L/∂p, and ∂L/∂u."""
        n, m, l = self.n, self.m, self.l
        of_x, of_p, of_u = (self.sums.get(name, []) for name in ("x", "p", "u"))
        if self.weighted:
            of_x = [*of_x, ("u", n + m)]
        of_p = [*of_p, ("x", n)]
        reads = tuple(dict.fromkeys(block for block, _ in (*of_x, *of_p)))

        def finish(*blocks: Scalar) -> Block:
            return [*_summed(of_x, reads, blocks, n), *_summed(of_p, reads, blocks, l)]

        self._add(("finish",), finish, reads, "new")
        given = tuple(dict.fromkeys(block for block, _ in of_u))
        self._add(("inputs",), lambda *blocks: _summed(of_u, given, blocks, m), given, "of_u")


def _summed(summands: Sequence[tuple[str, int]], names: Sequence[str], blocks: Sequence[Scalar], size: int) -> Block:
    """The sum of parts of blocks, each `size` long from its place on."""
    known = dict(zip(names, blocks, strict=True))
    total: Block = [0.0] * size
    for name, at in summands:
        total = [a + b for a, b in zip(total, known[name][at : at + size], strict=True)]
    return total


def _needed(calls: Sequence[Listed], results: Sequence[str]) -> list[Listed]:
    """The calls whose results are read: of the last stage, say, only the point is."""
    found: list[Listed] = []
    wanted = set(results)
    for program, reads, writes in reversed(calls):
        if writes in wanted:
            wanted.discard(writes)
            wanted |= {reads[step.value[0]] for step in program.steps if step.operation == "input"}
            found.append((program, reads, writes))
    return found[::-1]


# --------------------------------------------------------------------------------------------------- there and back
@dataclass(frozen=True)
class Pulled:
    """∂L/∂x₀ (B, n), ∂L/∂p (B, l) and ∂L/∂u (B, steps, m), if asked for; x_N (B, n), and the step after which a rollout
    was not finite, or −1: its derivatives are NaN."""

    x0: Array
    p: Array
    u: Array | None
    last: Array
    diverged: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Adjoint:
    """A rollout and its step backward, compiled when first wanted."""

    of: Rollout

    @cached_property
    def forward(self) -> Rollout:
        return _observing_inputs(self.of)

    @cached_property
    def backward(self) -> Rollout:
        return compile_adjoint(self.of)

    @cached_property
    def unweighted(self) -> Rollout:
        return compile_adjoint(self.of, weighted=False)

    def pull_back(
        self,
        x0: Array,
        u: Array,
        p: Array,
        steps: int,
        dt: float,
        end: Callable[[Array], Array],
        along: Weigh | None = None,
        wants_u: bool = False,
        t0: float = 0.0,
    ) -> Pulled:
        """The derivatives of a loss of B rollouts, x0 (B, n), u (B or 1, steps or 1, m), p (B, l), from t0 [s].

        `end(x_N)` gives ∂L/∂x_N (B, n), `along(k, x)` ∂L/∂x of the states x (B, many, n) before steps k, k + 1, …, if
        the loss has any. Memory: some √steps states a rollout, and what ∂L/∂u takes."""
        loop, back = self.forward, self.unweighted if along is None else self.backward
        n, m, l, B = loop.size["x"], loop.size["u"], loop.size["p"], len(x0)
        piece = min(PIECE * (math.isqrt(max(steps - 1, 0)) + 1), max(steps, 1))
        rows = -(-steps // piece)
        feed, of_u = np.empty((B, piece, back.size["u"])), np.empty((B, steps, m)) if wants_u else None
        many_back = piece if wants_u else 1
        xs, ys = np.empty((B, many_back, n + l)), np.empty((B, many_back, m))
        ends = np.empty((B, n)), np.empty((B, m)), np.empty(B)
        clock, reverse = np.array([t0, dt]), np.array([t0 or -0.0, -dt])
        u = np.broadcast_to(u, (len(u), max(steps, 1), m)) if u.shape[1] == 1 else u
        kept, last, mark = np.empty((B, rows, n)), np.empty((B, n)), np.empty(B)
        with np.errstate(all="ignore"):  # what is not finite is told by `diverged`
            settings = np.array([0.0, steps, piece])
            loop.ufunc(x0, u, p, clock, settings, out=(kept, np.empty((B, rows, m)), last, ends[1], mark))
            state = np.concatenate((end(last), np.zeros((B, l))), -1)
            for first in range((rows - 1) * piece, -1, -piece):
                many = min(piece, steps - first)
                rest = feed[:, :many][:, ::-1]  # in the order of time
                settings = np.array([first, many, 1.0])
                out = (rest[..., :n], rest[..., n : n + m], *ends)
                loop.ufunc(kept[:, first // piece], u[:, first : first + many], p, clock, settings, out=out)
                if along is not None:
                    rest[..., n + m :] = along(first, rest[..., :n])
                settings = np.array([1.0 - first - many, many, 1.0 if wants_u else many])
                now, some = np.empty_like(state), many if wants_u else 1
                out = (xs[:, :some], ys[:, :some], now, ends[1], ends[2])
                back.ufunc(state, feed[:, :many], p, reverse, settings, out=out)
                state = now
                if of_u is not None:
                    of_u[:, first], of_u[:, first + 1 : first + many] = ends[1], ys[:, many - 1 : 0 : -1]
        return Pulled(state[:, :n], state[:, n:], of_u, last, mark.astype(np.int64))
