"""Signed distance of a point from each kind of obstacle, over any scalar: negative inside, where it is the depth.

Each takes a row of the kind's array (`world`) and a point x, and gives (distance, unit normal): the gradient of the
distance, which changes by no more than x moves. Where several directions are equally good, one of them.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.scalar import Scalar, absolute, maximum, minimum, sqrt, where
from dalembert.spatial.vector import Vector, add, dot, matvec, matvec_t, scale, sub

Distance = tuple[Scalar, Vector]
TINY = 1e-30  # [m] a length below which a direction is not asked for


def half_space(row: Vector, x: Vector) -> Distance:
    n = row[:3]
    return dot(n, x) - row[3], n


def sphere(row: Vector, x: Vector) -> Distance:
    length, n = _unit(sub(x, row[:3]))
    return length - row[3], n


def capsule(row: Vector, x: Vector) -> Distance:
    a, along = row[:3], sub(row[3:6], row[:3])
    y, size = sub(x, a), dot(along, along)
    t = dot(y, along) / where(size > TINY, size, 2.0)
    length, n = _unit(sub(y, scale(minimum(maximum(t, 0.0), 1.0), along)))
    return length - row[6], n


def box(row: Vector, x: Vector) -> Distance:
    R = (row[3:6], row[6:9], row[9:12])
    y = matvec_t(R, sub(x, row[:3]))
    e = [absolute(y[k]) - row[12 + k] for k in range(3)]
    d, n = _beyond(e)
    return d, matvec(R, [where(y[k] < 0.0, -n[k], n[k]) for k in range(3)])


def cylinder(row: Vector, x: Vector) -> Distance:
    u, y = row[3:6], sub(x, row[:3])
    t = dot(u, y)
    rho, across = _unit(sub(y, scale(t, u)))
    d, n = _beyond([absolute(t) - row[6], rho - row[7]])
    return d, add(scale(where(t < 0.0, -n[0], n[0]), u), scale(n[1], across))


SOLIDS: dict[str, Callable[[Vector, Vector], Distance]] = {
    "half_spaces": half_space,
    "spheres": sphere,
    "capsules": capsule,
    "boxes": box,
    "cylinders": cylinder,
}


def _unit(y: Vector) -> Distance:
    """|y| and y/|y|; x where y is zero."""
    size = dot(y, y)
    length = sqrt(size)
    some = size > TINY * TINY
    safe = where(some, length, 2.0)
    return length, (where(some, y[0] / safe, 1.0), where(some, y[1] / safe, 0.0), where(some, y[2] / safe, 0.0))


def _beyond(e: list[Scalar]) -> Distance:
    """Distance from where every e ≤ 0, and its gradient by e: |max(e, 0)| outside, the largest e inside."""
    over = [maximum(x, 0.0) for x in e]
    size = sum((x * x for x in over[1:]), over[0] * over[0])
    length, outside = sqrt(size), size > TINY * TINY
    safe = where(outside, length, 2.0)
    most = e[0]
    for x in e[1:]:
        most = maximum(most, x)
    n, taken = [], 0.0  # inside, the first of the largest
    for k, x in enumerate(e):
        own = where(x >= most, 1.0 - taken, 0.0)
        taken = taken + own
        n.append(where(outside, over[k] / safe, own))
    return length + minimum(most, 0.0), n
