"""A shape whose density varies from point to point: its integrals by Gauss's rule, refined until they stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Sphere
from dalembert.errors import InputError
from dalembert.spatial import Inertia

Array = NDArray[np.float64]
Density = Callable[[Array, Array, Array], ArrayLike]

POINTS = (8, 16, 32, 64)  # in each direction
SETTLED, UNSETTLED = 1e-12, 1e-6
"""Relative change of the integrals from one rule to the next at which they are believed, and at the last, are not."""


def integrated(geometry: Geometry, density: Density) -> Inertia:
    """m = ∫ρ dV, h = ∫r ρ dV, I = ∫(r·r 1 − r rᵀ) ρ dV over the shape, in its frame, for ρ(x, y, z) [kg/m³] that takes
    and gives arrays. Exact for polynomials; a density that jumps inside the shape is refused."""
    before = _moments(geometry, density, POINTS[0])
    change = np.inf
    for n in POINTS[1:]:
        now = _moments(geometry, density, n)
        change = float(np.abs(now - before).max() / max(float(now.max()), np.finfo(float).tiny))
        before = now
        if change <= SETTLED:
            break
    if change > UNSETTLED:
        raise InputError(
            f"the integrals of this density still change by {change:.1g} of themselves with {POINTS[-1]} points in "
            "each direction: it is not smooth inside the shape. Where it jumps, cut the shape, and put the parts "
            "together with mass.compose"
        )
    size = _size(geometry)
    m, h, C = float(before[0, 0]), before[0, 1:] * size, before[1:, 1:] * size**2
    I = np.trace(C) * np.eye(3) - C
    return Inertia(m, tuple(h.tolist()), tuple(tuple(row) for row in I.tolist()))


def _moments(geometry: Geometry, density: Density, n: int) -> Array:
    """∫ (1, r)(1, r)ᵀ ρ dV, (4, 4), lengths in units of the shape's size so that all entries compare."""
    points, weights = _rule(geometry, n)
    try:
        rho = np.broadcast_to(np.asarray(density(*points.T), float), weights.shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            "the density is a function ρ(x, y, z) that takes three arrays and gives one, as NumPy's functions do: "
            f"{error}"
        ) from None
    if not (np.isfinite(rho) & (rho >= 0)).all():
        where = points[np.argmin(np.isfinite(rho) & (rho >= 0))]
        raise InputError(f"the density at {where.round(4).tolist()} is not a number ≥ 0")
    r = np.column_stack([np.ones(len(points)), points / _size(geometry)])
    return np.asarray(r.T @ (r * (weights * rho)[:, None]))


def _size(geometry: Geometry) -> float:
    match geometry:
        case Box(size):
            return max(size) or 1.0
        case Cylinder(radius, length) | Capsule(radius, length):
            return max(radius, length) or 1.0
        case Sphere(radius):
            return radius or 1.0
    raise AssertionError  # _rule has refused


def _rule(geometry: Geometry, n: int) -> tuple[Array, Array]:
    """(points (N, 3), weights (N,)) of the shape's volume."""
    match geometry:
        case Box((x, y, z)):
            (a, u), (b, v), (c, w) = (_line(-s / 2, s / 2, n) for s in (x, y, z))
            points = np.stack(np.meshgrid(a, b, c, indexing="ij"), axis=-1).reshape(-1, 3)
            return points, np.einsum("i,j,k->ijk", u, v, w).ravel()
        case Cylinder(radius, length):
            return _turned(_line(0.0, radius, n), _line(-length / 2, length / 2, n), n, ball=False)
        case Sphere(radius):
            return _turned(_line(0.0, radius, n), _line(-1.0, 1.0, n), n, ball=True)
        case Capsule(radius, length):
            points, weights = _rule(Cylinder(radius, length), n)
            up, half = _turned(_line(0.0, radius, n), _line(0.0, 1.0, n), n, ball=True)
            up[:, 2] += length / 2
            return np.concatenate([points, up, up * (1, 1, -1)]), np.concatenate([weights, half, half])
    raise InputError("a density that varies needs a box, cylinder, sphere or capsule; a mesh takes one density")


def _line(low: float, high: float, n: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(n)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * w


def _turned(radii: tuple[Array, Array], across: tuple[Array, Array], n: int, ball: bool) -> tuple[Array, Array]:
    """Around z: of a cylinder across is the height, dV = r dr dφ dz; of a ball the cosine u, dV = r² dr dφ du."""
    phi = 2 * np.pi * np.arange(2 * n) / (2 * n)
    r, f, u = np.meshgrid(radii[0], phi, across[0], indexing="ij")
    weights = np.einsum("i,k->ik", radii[1] * radii[0] ** (2 if ball else 1), across[1]) * (np.pi / n)
    rho, z = (r * np.sqrt(1 - u**2), r * u) if ball else (r, u)
    points = np.stack([rho * np.cos(f), rho * np.sin(f), z], axis=-1).reshape(-1, 3)
    return points, np.broadcast_to(weights[:, None, :], r.shape).ravel()
