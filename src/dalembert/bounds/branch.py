"""Branch and bound: a box is split until a threshold is proved on all its parts.

Depth first, many boxes at a time: what is open stays small. A part is split along the joint with the largest share in
what its bound has too much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array

CHUNK = 1 << 14  # boxes at a time
SMALLEST = 1e-7  # of a radius: a box that still fails there lies where the threshold is touched
Test = Callable[[Array, Array, float], tuple[Array, Array, Array]]  # (m, r, t) → bound, a value met, shares


@dataclass(frozen=True, eq=False)
class Outcome:
    """proved: value ≤ threshold on all boxes. Else `met` is the largest value seen, at `where`, if above."""

    proved: bool
    met: float
    where: Array | None
    boxes: int
    stopped: str


Boxes = tuple[Array, Array]  # middles and radii, (k, n) each


def prove(tests: Sequence[Test], stack: list[Boxes], threshold: float, until: float) -> Outcome:
    """Whether every one of the boxes on the stack stays at or below the threshold. `until` is a time of
    `time.perf_counter`; when it is up, the stack holds what is still open, to go on with. Tests are tried in order,
    each on what those before it left."""
    boxes, met, where = 0, -np.inf, None
    while stack:
        m, r = stack.pop()
        if len(m) > CHUNK:
            stack.append((m[CHUNK:], r[CHUNK:]))
            m, r = m[:CHUNK], r[:CHUNK]
        boxes += len(m)
        for test in tests:
            bound, value, share = test(m, r, threshold)
            k = int(np.argmax(np.where(np.isnan(value), -np.inf, value)))
            if value[k] > met:
                met, where = float(value[k]), m[k].copy()
            if met > threshold:
                return Outcome(False, met, where, boxes, "a state above was met")
            left = ~(bound <= threshold)  # NaN is left too
            m, r, share = m[left], r[left], share[left]
            if not len(m):
                break
        if len(m):
            i = np.argmax(np.where((r > 0) & np.isfinite(share), share, -1.0), axis=1)
            if float(r[np.arange(len(m)), i].min()) < SMALLEST:
                return Outcome(False, met, where, boxes, "boxes became too small")
            stack.append(split(m, r, i))
        if time.perf_counter() > until:
            return Outcome(False, met, where, boxes, "time was up")
    return Outcome(True, met, where, boxes, "proved")


def split(m: Array, r: Array, i: NDArray[np.intp]) -> Boxes:
    """Both halves of every box along i, a little larger than halves, so that rounding leaves no gap between them."""
    k = np.arange(len(m))
    h = 0.5 * r[k, i]
    first, second, half = m.copy(), m.copy(), r.copy()
    first[k, i] -= h
    second[k, i] += h
    half[k, i] = h + 1e-15 * (np.abs(m[k, i]) + h)
    return np.concatenate([first, second]), np.concatenate([half, half])
