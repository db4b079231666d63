"""The error of a kernel in float32 over a box of states: proved (`rounding`), and met on random states.

A box is cut where its bound is largest, for as many boxes as are allowed: along those inputs that make the bound of a
half as wide a box smallest, three at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, count, switch
from dalembert.compile.kernel import Kernel, single_ufunc
from dalembert.compile.kinds import SINGLE, SINGLE_UNFUSED
from dalembert.compile.rounding import Rounding
from dalembert.errors import InputError, unknown

Array = NDArray[np.float64]
POINTS = 16  # states at which a bound is computed, to know what a box's bound may come down to
NEAR = 1.1  # times that: as good as it gets
ALONG = 3  # inputs along which a box is cut at once
TOGETHER = 32  # boxes that are cut at once
BATCH = 100_000  # states at a time


@dataclass(frozen=True, eq=False)
class Float32Error:
    """|float32 − exact| ≤ bound for every state of float32 numbers within the box, for each element of each output.

    `bounds` has an array for each output, in its shape; `why` says what makes a bound infinite, or large by a choice
    that may go either way; `boxes` is how many were looked at."""

    kernel: Kernel
    lower: tuple[Array, ...]
    upper: tuple[Array, ...]
    bounds: tuple[Array, ...]
    boxes: int
    fused: bool
    why: tuple[str, ...]

    @property
    def bound(self) -> Any:
        """The array of a kernel with one output, a tuple of arrays of one with several."""
        return self.bounds if len(self.bounds) > 1 else self.bounds[0]

    def attained(self, samples: int = 100_000, seed: int = 0) -> Any:
        """The largest |float32 − double| of the machine code on so many random states of the box, as `bound` is."""
        rng = np.random.default_rng(count("seed", seed))
        single = compile_single(self.kernel, self.fused)
        worst = [np.zeros(shape) for shape in self.kernel.outputs]
        left = count("samples", samples, 1)
        while left > 0:
            size, left = min(left, BATCH), left - BATCH
            states = [_draw(rng, a, b, size) for a, b in zip(self.lower, self.upper, strict=True)]
            found, exact = single(*states), self.kernel.ufunc(*(x.astype(float) for x in states))
            pairs = zip(*((x,) if len(worst) == 1 else x for x in (found, exact)), strict=True)
            worst = [np.maximum(w, np.abs(a - b).max(axis=0)) for w, (a, b) in zip(worst, pairs, strict=True)]
        return tuple(worst) if len(worst) > 1 else worst[0]

    def __str__(self) -> str:
        steps = "with fused multiply–adds" if self.fused else "without fused multiply–adds"
        lines = [f"{self.kernel.name} in float32, {steps}: |float32 − exact| ({self.boxes:,} boxes)"]
        for name, a, b in zip(self.kernel.arguments, self.lower, self.upper, strict=True):
            lines.append(f"  for {name} from {_shown(a)} to {_shown(b)}")
        several = len(self.bounds) > 1
        lines += [f"  output {k} ≤ {_shown(b)}" if several else f"  ≤ {_shown(b)}" for k, b in enumerate(self.bounds)]
        return "\n".join(lines + [f"  {sentence}" for sentence in self.why])


def bound_error(kernel: Kernel, box: Mapping[str, Any], boxes: int, fused: bool) -> Float32Error:
    """What `Kernel.float32_error` gives."""
    sides = _sides(kernel, box)
    kind = SINGLE if switch("fused", fused) else SINGLE_UNFUSED
    analysis = Rounding(kernel.program, [prod(shape) for shape in kernel.inputs], kind)
    low, high = (np.concatenate([side.ravel() for side in row]) for row in zip(*sides, strict=True))
    search = _Search(analysis, low, high)
    search.run(count("boxes", boxes, 1))
    bounds, first = [], 0
    for shape in kernel.outputs:
        bounds.append(search.worst[first : first + prod(shape)].reshape(shape))
        first += prod(shape)
    lower, upper = zip(*sides, strict=True)
    return Float32Error(kernel, lower, upper, tuple(bounds), search.used, fused, search.explain())


class _Search:
    """The parts of a box, and the bound of every output on each."""

    def __init__(self, analysis: Rounding, low: Array, high: Array) -> None:
        self.analysis, self.whole, self.used = analysis, high - low, 1
        self.low, self.high = low[None], high[None]
        self.bound = analysis.bound(self.low, self.high)
        points = np.random.default_rng(0).uniform(low, high, (POINTS, len(low)))
        self.least = np.maximum(analysis.bound(points, points).max(axis=0), np.finfo(float).tiny)

    @property
    def worst(self) -> Array:
        return self.bound.max(axis=0)

    def _score(self, bound: Array) -> Array:
        """How far the bounds of boxes lie above what they may come down to, for the output where it is farthest."""
        hopeful = np.isfinite(self.least)
        with np.errstate(over="ignore", invalid="ignore"):  # of outputs that points leave exact, or without bound
            return (bound / self.least).max(axis=1, where=hopeful, initial=0.0)

    def run(self, most: int) -> None:
        movable = np.flatnonzero(self.whole > 0)
        along = min(ALONG, len(movable))
        price = len(movable) + (1 << along)
        while along and self.used + price <= most:
            score = self._score(self.bound)
            chosen = np.argsort(-score, kind="stable")[: min(TOGETHER, (most - self.used) // price)]
            chosen = chosen[(score[chosen] > NEAR) & (score[chosen] >= 0.9 * score[chosen[0]])]
            if not len(chosen):
                return
            self._cut(chosen, self._best(chosen, movable, along))
            self.used += price * len(chosen)

    def _best(self, chosen: NDArray[np.intp], movable: NDArray[np.intp], along: int) -> NDArray[np.intp]:
        """The inputs to cut each box along: those that help most; the widest, where none does."""
        low, high = (np.repeat(x[chosen], len(movable), axis=0) for x in (self.low, self.high))
        row, column = np.arange(len(low)), np.tile(movable, len(chosen))
        middle, quarter = 0.5 * (low + high)[row, column], 0.25 * (high - low)[row, column]
        low[row, column], high[row, column] = middle - quarter, middle + quarter
        score = self._score(self.analysis.bound(low, high)).reshape(len(chosen), -1)
        width = (self.high - self.low)[chosen][:, movable] / self.whole[movable]
        return movable[np.lexsort((-width, score))[:, :along]]

    def _cut(self, chosen: NDArray[np.intp], along: NDArray[np.intp]) -> None:
        low, high, known = self.low[chosen], self.high[chosen], self.bound[chosen]
        for column in along.T:
            row = np.arange(len(low))
            repeated = np.tile(column, len(low) // len(chosen))
            middle = 0.5 * (low + high)[row, repeated]
            low, high, known = (np.concatenate([x, x]) for x in (low, high, known))
            high[row, repeated] = low[row + len(row), repeated] = middle
        bound = np.minimum(self.analysis.bound(low, high), known)  # what holds for a box holds for its parts
        self.low, self.high, self.bound = (
            np.concatenate([np.delete(old, chosen, axis=0), new])
            for old, new in ((self.low, low), (self.high, high), (self.bound, bound))
        )

    def explain(self) -> tuple[str, ...]:
        """Sentences on the outputs' worst boxes; on what encloses them where several are as bad, in whatever order."""
        boxes: dict[tuple[int, ...], list[int]] = {}
        for k, bound in enumerate(self.bound.T):
            boxes.setdefault(tuple(np.flatnonzero(bound == bound.max()).tolist()), []).append(k)
        found = [
            self.analysis.explain(self.low[list(at)].min(axis=0), self.high[list(at)].max(axis=0), rows)
            for at, rows in boxes.items()
        ]
        return tuple(dict.fromkeys(sentence for sentences in found for sentence in sentences))


def _sides(kernel: Kernel, box: Mapping[str, Any]) -> list[tuple[Array, Array]]:
    """(lower, upper) of every argument, in its shape."""
    if not isinstance(box, Mapping):
        raise InputError(
            "wrong-type",
            "box",
            box,
            expected=f"a dictionary of the arguments' ranges, {{{kernel.arguments[0]!r}: (lower, upper), …}}",
        )
    for name in box:
        if name not in kernel.arguments:
            raise unknown(f"argument of {kernel.name}", name, kernel.arguments)
    sides = []
    for name, shape in zip(kernel.arguments, kernel.inputs, strict=True):
        if name not in box:
            problem = f"the box must contain {name}, because {kernel.name} takes {', '.join(kernel.arguments)}"
            raise InputError("missing", f"box[{name!r}]", problem=problem)
        pair = box[name]
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            problem = f"the range of {name} must be a pair (lower, upper), got {pair!r:.60}"
            raise InputError("wrong-shape", f"box[{name!r}]", pair, problem=problem)
        ends = []
        for word, end in zip(("lower", "upper"), pair, strict=True):
            x = array(f"the {word} end of {name}", end, (), shape)
            ends.append(np.array(np.broadcast_to(x, shape)))
        if not np.all(ends[0] <= ends[1]):
            problem = f"the lower end of {name} is above its upper end"
            raise InputError("wrong-order", f"box[{name!r}]", pair, problem=problem)
        sides.append((ends[0], ends[1]))
    return sides


def compile_single(kernel: Kernel, fused: bool) -> np.ufunc:
    """The kernel over floats alone, for a machine with fused steps or for one without."""
    kind = SINGLE if fused else SINGLE_UNFUSED
    return single_ufunc(kernel.program, kernel.inputs, kernel.outputs, kernel.text, kernel.name, kind)


def _draw(rng: np.random.Generator, low: Array, high: Array, size: int) -> NDArray[np.float32]:
    """Random float32 numbers within a range, or next to it where none lies within."""
    x = rng.uniform(low, high, (size, *low.shape)).astype(np.float32)
    x = np.where(x > high, np.nextafter(x, np.float32(-np.inf)), x)
    return np.where(x < low, np.nextafter(x, np.float32(np.inf)), x)


def _shown(x: Array) -> str:
    return np.array2string(x, formatter={"float_kind": lambda v: f"{v:.3g}"}, separator=" ", max_line_width=200)
