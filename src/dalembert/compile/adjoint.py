"""Derivatives of a whole rollout, made of the programs that it repeats: loops of the same kind, W rollouts at once.

Forward (`compile_tangent`): with the state goes its derivative along one direction of start and parameters.
Backward (`compile_adjoint`), for a loss L of the states x₀ … x_N of x ← step(t, x, u, p):

    λ_N = ∂L/∂x_N,   λ_k = ∂L/∂x_k + (∂step/∂x)ᵀ λ_{k+1},   ∂L/∂u_k = (∂step/∂u)ᵀ λ_{k+1},   ∂L/∂p = Σ (∂step/∂p)ᵀ λ_{k+1}

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


def compile_tangent(rollout: Rollout) -> Rollout:
    """The rollout of (x, ẋ) under (p, ṗ): after the numbers of x, p and each block of the step's own come their
    derivatives along one direction; inputs u are as they were, and nothing is observed."""
    rollout = without_observation(rollout)
    known: dict[tuple[Program, tuple[str, ...]], Program] = {}
    still = (*CLOCK, "u")
    sizes = {name: size if name in still else 2 * size for name, size in rollout.sizes}

    def tangent(program: Program, reads: tuple[str, ...], size: int) -> Program:
        def both(*blocks: Scalar) -> Block:
            given = [[b] if r in CLOCK else b if r in still else b[: len(b) // 2] for r, b in zip(reads, blocks)]
            moved = [(v, b[len(b) // 2 :]) for r, v, b in zip(reads, given, blocks) if r not in still]
            (made,) = replay(program, given)
            inputs, along = ([x for pair in moved for x in pair[k]] for k in range(2))
            return [*made, *(gradient.push_forward(inputs[0].graph, made, inputs, along) if inputs else [0.0] * size)]

        shapes = [() if r in CLOCK else (sizes[r],) for r in reads]
        return compile_function(both, shapes, [(2 * size,)], f"{rollout.name} along").program

    calls = []
    for program, reads, writes in rollout.calls:
        key = (program, reads)
        if key not in known:
            known[key] = tangent(program, reads, rollout.size[writes])
        calls.append((known[key], reads, writes))
    return Rollout(f"{rollout.name} along", tuple(sizes.items()), tuple(calls), False)


def compile_adjoint(rollout: Rollout) -> Rollout:
    """The step backward, as a rollout: its state is (λ, ∂L/∂p, ∂L/∂u of the step before), its input of step k
    (x_k, u_k, ∂L/∂x_k); it runs against time, so that its dt is −dt."""
    return _Backward(without_observation(rollout)).rollout()


class _Backward:
    """Writes the calls of a step backward. What the step writes has a block of its own for each time it is written,
    `versions`; a program that is called several times reads copies, in blocks that are the same each time."""

    def __init__(self, forward: Rollout) -> None:
        self.forward, self.size = forward, forward.size
        self.n, self.m, self.l = (self.size[name] for name in ("x", "u", "p"))
        self.sizes = {"x": self.n + self.l + self.m, "u": 2 * self.n + self.m, "p": self.l}
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
        return Rollout(f"{self.forward.name} backward", self._all_sizes(), tuple(_needed(self.calls)), False)

    def _all_sizes(self) -> tuple[tuple[str, int], ...]:
        return tuple({**self.sizes, "y": 0, "t": 1, "dt": 1, "new": self.sizes["x"]}.items())

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
        """λ, and what is added to ∂L/∂p."""
        n, m, l = self.n, self.m, self.l
        parts = [(self.sums.get(name, []), size) for name, size in (("x", n), ("p", l), ("u", m))]
        reads = tuple(dict.fromkeys(("x", "u", *(block for summands, _ in parts for block, _ in summands))))

        def finish(*blocks: Scalar) -> Block:
            now, feed = blocks[0], blocks[1]
            x, p, u = (_summed(summands, reads, blocks, size) for summands, size in parts)
            of_x = [a + b for a, b in zip(x, feed[n + m :], strict=True)]
            return [*of_x, *(a + b for a, b in zip(now[n : n + l], p, strict=True)), *u]

        self._add(("finish",), finish, reads, "new")


def _summed(summands: Sequence[tuple[str, int]], names: Sequence[str], blocks: Sequence[Scalar], size: int) -> Block:
    """The sum of parts of blocks, each `size` long from its place on."""
    known = dict(zip(names, blocks, strict=True))
    total: Block = [0.0] * size
    for name, at in summands:
        total = [a + b for a, b in zip(total, known[name][at : at + size], strict=True)]
    return total


def _needed(calls: Sequence[Listed]) -> list[Listed]:
    """The calls whose results are read: of the last stage, say, only the point is."""
    found: list[Listed] = []
    wanted = {"new"}
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
        return without_observation(self.of)

    @cached_property
    def backward(self) -> Rollout:
        return compile_adjoint(self.forward)

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
    ) -> Pulled:
        """The derivatives of a loss of B rollouts, x0 (B, n), u (B or 1, steps or 1, m), p (B, l), from t = 0.

        `end(x_N)` gives ∂L/∂x_N (B, n), `along(k, x)` ∂L/∂x of the states x (B, many, n) before steps k, k + 1, …, or
        None where there are none. Memory: 2 √steps states a rollout, and what ∂L/∂u takes."""
        loop, back = self.forward, self.backward
        n, m, l, B = loop.size["x"], loop.size["u"], loop.size["p"], len(x0)
        piece = min(PIECE * (math.isqrt(max(steps - 1, 0)) + 1), max(steps, 1))
        rows = -(-steps // piece)
        room = _Room(loop, B, piece), _Room(back, B, piece if wants_u else 1)
        feed, of_u = np.zeros((B, piece, 2 * n + m)), np.empty((B, steps, m)) if wants_u else None
        clock, held = np.array([0.0, dt]), u.shape[1] == 1
        u = np.broadcast_to(u, (len(u), max(steps, 1), m)) if held else u
        kept = np.empty((B, rows, n))
        last, mark = np.empty((B, n)), np.empty(B)
        with np.errstate(all="ignore"):  # what is not finite is told by `diverged`
            settings = np.array([0.0, steps, piece])
            loop.ufunc(x0, u, p, clock, settings, out=(kept, room[0].y[:, :rows], last, room[0].y_end, mark))
            state = np.concatenate((end(last), np.zeros((B, l + m))), -1)
            for first in range((rows - 1) * piece, -1, -piece):
                many = min(piece, steps - first)
                part, back_in_time = u[:, first : first + many], feed[:, :many]
                in_time = back_in_time[:, ::-1]
                settings = np.array([first, many, 1.0])
                loop.ufunc(kept[:, first // piece], part, p, clock, settings, out=room[0].out(many, in_time[..., :n]))
                if m and not (held and first + many < steps):
                    in_time[..., n : n + m] = part
                if along is not None and (weights := along(first, in_time[..., :n])) is not None:
                    in_time[..., n + m :] = weights
                settings = np.array([1.0 - first - many, many, 1.0 if wants_u else many])
                out = room[1].out(many if wants_u else 1)
                back.ufunc(state, back_in_time, p, -clock, settings, out=out)
                state = out[2].copy()
                if of_u is not None:
                    of_u[:, first] = state[:, n + l :]
                    of_u[:, first + 1 : first + many] = out[0][:, :0:-1, n + l :]
        return Pulled(state[:, :n], state[:, n : n + l], of_u, last, mark.astype(np.int64))


class _Room:
    """Arrays that B rollouts of a loop write to, so many rows at a time."""

    def __init__(self, loop: Rollout, B: int, rows: int) -> None:
        n, y = loop.size["x"], loop.size["y"]
        self.x, self.y = np.empty((B, rows, n)), np.empty((B, rows, y))
        self.x_end, self.y_end, self.mark = np.empty((B, n)), np.empty((B, y)), np.empty(B)

    def out(self, rows: int, x: Array | None = None) -> tuple[Array, ...]:
        return (self.x[:, :rows] if x is None else x, self.y[:, :rows], self.x_end, self.y_end, self.mark)
