"""Polynomials to print: M of arms given by DH rows, straight from M = Σ m JᵀJ + JᵀIJ, and random ones."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from dalembert.symbolic.polynomial import Polynomial, Ring

AXES = {0: (0, 1), 90: (1, 0), -90: (-1, 0), 180: (0, -1)}
PUMA = [(90, 0, 0), (0, "a2", 0), (-90, "a3", "d3"), (90, 0, "d4"), (-90, 0, 0), (0, 0, 0)]
UR = [(90, 0, "d1"), (0, "a2", 0), (0, "a3", 0), (90, 0, "d4"), (-90, 0, "d5"), (0, 0, "d6")]
ELBOW = [(90, 0, "d1"), (0, "a2", 0), (0, "a3", 0)]
PLANAR = [(0, "l1", 0), (0, "l2", 0), (0, "l3", 0)]
# Centers of mass and inertias about them, in the joint's frame, that are not zero for a Puma.
PUMA_LINKS: list[tuple[str, tuple[Any, Any, Any], tuple[Any, Any, Any]]] = [
    ("m1", (0, 0, 0), (0, 0, "I1zz")),
    ("m2", ("x2", "y2", "z2"), ("I2xx", "I2yy", "I2zz")),
    ("m3", ("x3", "y3", "z3"), ("I3xx", "I3yy", "I3zz")),
    ("m4", (0, 0, "z4"), ("I4xx", "I4yy", "I4zz")),
    ("m5", (0, 0, 0), ("I5xx", "I5yy", "I5zz")),
    ("m6", (0, 0, "z6"), ("I6xx", "I6yy", "I6zz")),
]


def planar_links(n: int) -> list[Any]:
    return [(f"m{i}", (f"r{i}", 0, 0), (0, 0, f"I{i}")) for i in range(1, n + 1)]


def ring_of(rows: list[Any], links: list[Any] = ()) -> Ring:  # type: ignore[assignment]
    n = len(rows)
    words = [x for row in rows for x in row[1:]] + [x for m, r, I in links for x in (m, *r, *I)]
    parameters = sorted({x for x in words if isinstance(x, str)})
    return Ring(
        [(f"s{k}", f"c{k}") for k in range(1, n + 1)],
        parameters=[*parameters, "g"],
        rates=[f"qd{k}" for k in range(1, n + 1)],
        accelerations=[f"qdd{k}" for k in range(1, n + 1)],
    )


def value(ring: Ring, x: Any) -> Any:
    return ring[x] if isinstance(x, str) else ring.constant(x)


def dot(a: Any, b: Any) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def cross(a: Any, b: Any) -> Any:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def columns(ring: Ring, rows: list[Any]) -> Any:
    """For each joint frame k: [(ω_j, v_j) of joint j at its origin, in its axes, for j ≤ k]; the tip's offset after."""
    sa, ca, offset = 0, 1, [ring.zero] * 3
    below: list[Any] = []
    for k, (alpha, a, d) in enumerate(rows, 1):
        s, c = ring[f"s{k}"], ring[f"c{k}"]
        R = [[c, -s, ring.zero], [s * ca, c * ca, ring.constant(-sa)], [s * sa, c * sa, ring.constant(ca)]]
        transposed = list(zip(*R, strict=True))
        moved = [(w, [x + y for x, y in zip(v, cross(w, offset), strict=True)]) for w, v in below]
        below = [([dot(t, w) for t in transposed], [dot(t, v) for t in transposed]) for w, v in moved]
        below.append(([0.0, 0.0, ring.constant(1)], [0.0] * 3))
        yield below
        sa, ca = AXES[alpha]
        offset = [value(ring, a), ring.zero, value(ring, d)]
    yield offset


def mass_matrix(ring: Ring, rows: list[Any], links: list[Any]) -> dict[str, Polynomial]:
    n = len(rows)
    M = {(i, j): ring.zero for i in range(n) for j in range(i, n)}
    for below, (m, r, I) in zip(columns(ring, rows), links, strict=False):
        r, I = [value(ring, x) for x in r], [value(ring, x) for x in I]
        at_center = [(w, [x + y for x, y in zip(v, cross(w, r), strict=True)]) for w, v in below]
        for i, (wi, vi) in enumerate(at_center):
            for j, (wj, vj) in enumerate(at_center[i:], i):
                turning = dot([x * y for x, y in zip(I, wi, strict=True)], wj)
                M[i, j] = ring.scalar(M[i, j] + value(ring, m) * dot(vi, vj) + turning)
    return {f"M{i + 1}{j + 1}": p for (i, j), p in M.items()}


def jacobian(ring: Ring, rows: list[Any], tip: bool = True) -> list[list[Any]]:
    """Rows v, ω of the last link's tip or origin, in the last joint's axes."""
    *frames, offset = columns(ring, rows)
    offset = offset if tip else [ring.zero] * 3
    cols = [[*(x + y for x, y in zip(v, cross(w, offset), strict=True)), *w] for w, v in frames[-1]]
    return [list(row) for row in zip(*cols, strict=True)]


def determinant(A: list[list[Any]]) -> Any:
    if len(A) == 1:
        return A[0][0]
    total: Any = 0.0
    k = max(range(len(A)), key=lambda i: sum(x == 0 for x in A[i]))
    for j, x in enumerate(A[k]):
        if x != 0:
            minor = [[y for b, y in enumerate(row) if b != j] for i, row in enumerate(A) if i != k]
            total = total + x * determinant(minor) * (-1 if (k + j) % 2 else 1)
    return total


def random_ring() -> Ring:
    return Ring(
        [("s1", "c1"), ("s2", "c2"), ("q3",), ("s4", "c4")],
        angles=[("sa1", "ca1")],
        parameters=["m1", "l1", "I1zz"],
        rates=["qd1", "qd2"],
    )


GROUPS = [(0, 1)]


def random_polynomial(ring: Ring, seed: int, terms: int = 12) -> Polynomial:
    chance = random.Random(seed)
    total = ring.zero
    for _ in range(terms):
        part = ring.constant(Fraction(chance.randint(-6, 6), chance.choice((1, 1, 2, 3))))
        for _ in range(chance.randint(0, 5)):
            part = ring.scalar(part * ring[chance.choice(ring.names)])
        total = total + part
    return total


def random_point(ring: Ring, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """(values of the names of the ring, the same with q1, q2, … for the angles)."""
    import math

    chance = random.Random(seed)
    values = {name: chance.uniform(-1, 1) for name in ring.names}
    angles = {}
    for k, pair in enumerate((*ring.joints, *ring.angles), 1):
        if len(pair) == 2:
            angle = angles[f"q{k}"] = chance.uniform(-3, 3)
            values[pair[0]], values[pair[1]] = math.sin(angle), math.cos(angle)
    return values, values | angles
