"""What stays bounded when a slide goes to infinity: the lower bounds on M.

In the position x of a slide M = A + x B + x² C, entry by entry. With s = 1/x and D the diagonal matrix that has s in
the rows where C grows, and 1 else, D M D is a polynomial in s, because M ⪰ 0 for all x leaves no room for other powers.
Where |x| ≥ 1, D ⪯ 1, so that λ_min(M) ≥ λ_min(D M D) and |M_ab| ≥ |(D M D)_ab|: a bound over |s| ≤ 1 is one over the
tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from dalembert.bounds.box import Box
from dalembert.bounds.functions import Joints, entries, pairs
from dalembert.model import Model
from dalembert.scalar import Scalar

Entries = Callable[[Sequence[Scalar]], list[Scalar]]  # of M, at the joints' positions
GROWS = 1e-9  # of the largest entry
ROUNDED = 1e-12  # of the largest entry: what is nought but for rounding


class NoTailError(Exception):
    """M does not grow with a slide in the way that this needs; told as not certified."""


def endless(model: Model, box: Box) -> list[int]:
    """The coordinates of slides without limits."""
    return [i for i in range(model.n) if not box.finite(i)]


def parts(model: Model, box: Box) -> Iterator[tuple[Entries, Joints, Box]]:
    """M over the whole range of endless slides, as functions over finite boxes: each slide near (|x| ≤ 1) or far."""
    slides = endless(model, box)
    joints = Joints.of(model)
    for far in product((False, True), repeat=len(slides)):
        gone = [i for i, f in zip(slides, far, strict=True) if f]
        lower, upper = box.lower.copy(), box.upper.copy()
        for i in slides:
            reach = (np.maximum(lower[i], -1.0), np.minimum(upper[i], 1.0))
            lower[i], upper[i] = reach if i not in gone else (-1.0 * (lower[i] < -1.0), 1.0 * (upper[i] > 1.0))
        if (upper[slides] < lower[slides]).any():
            continue  # nothing of it is near
        yield _far(model, joints, gone), joints, Box(lower, upper, box.sliding)


def _far(model: Model, joints: Joints, gone: list[int]) -> Entries:
    function: Entries = partial(entries, "mass", model)
    for i in gone:
        carried = [b for b, c in enumerate(joints.coordinate) if c == i]
        if len(carried) > 1 or joints.rate[carried[0]] != 1.0 or joints.offset[carried[0]] != 0.0:
            raise NoTailError(f"other joints follow {model.coordinates[i].name!r}, which has no limits")
        function = _scaled(function, carried[0], model.n)
    return function


def _scaled(function: Entries, j: int, n: int) -> Entries:
    """Entries of D M D as a function of the joints' positions, that of joint j replaced by s = 1/x.

    Which rows grow, and that no entry has a power it must not have, is seen at random positions."""
    rng = np.random.default_rng(0)
    # (A B C, entries)
    seen = np.abs([_powers(function, j, rng.normal(size=64).tolist()) for _ in range(8)]).max(axis=0)
    largest = float(seen.max()) or 1.0
    rows = [a for k, (a, b) in enumerate(pairs(n)) if a == b and seen[2, k] > GROWS * largest]
    scaled_rows = np.array([(a in rows) + (b in rows) for a, b in pairs(n)])
    odd = [seen[power, scaled_rows < power].max(initial=0.0) for power in (1, 2)]
    if max(odd) > ROUNDED * largest:
        raise NoTailError("M grows with a slide without limits otherwise than a rigid body's does")

    def scaled(x: Sequence[Scalar]) -> list[Scalar]:
        s = x[j]
        powers = [1.0, s, s * s]
        out = []
        for k, terms in zip(scaled_rows.tolist(), zip(*_powers(function, j, x), strict=True), strict=True):
            total: Scalar = 0.0
            for power in range(k + 1):
                total = total + terms[power] * powers[k - power]
            out.append(total)
        return out

    return scaled


def _powers(function: Entries, j: int, x: Sequence[Scalar]) -> tuple[list[Scalar], ...]:
    """A, B, C of A + x_j B + x_j² C, from three positions."""
    f = [function([p if i == j else y for i, y in enumerate(x)]) for p in (-1.0, 0.0, 1.0)]
    odd = [0.5 * (c - a) for a, c in zip(f[0], f[2], strict=True)]
    even = [0.5 * ((a - b) + (c - b)) for a, b, c in zip(*f, strict=True)]
    return f[1], odd, even
