"""What is bounded, as functions of the positions of single joints: a table of names and algorithms.

A mimic joint is a joint here, not a share of a coordinate: in each joint's own position these functions are
trigonometric polynomials, whatever the factor by which it follows another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import composite, derivatives, newton_euler
from dalembert.model import Model
from dalembert.model.model import Coordinate
from dalembert.scalar import Scalar

Scalars = Sequence[Scalar]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Joints:
    """How the joints x follow the coordinates q: x_b = rate_b q[coordinate_b] + offset_b."""

    coordinate: tuple[int, ...]
    rate: tuple[float, ...]
    offset: tuple[float, ...]
    sliding: tuple[bool, ...]

    @staticmethod
    def of(model: Model) -> Joints:
        b = model.bodies
        return Joints(
            tuple(x.coordinate for x in b),
            tuple(x.multiplier for x in b),
            tuple(x.offset for x in b),
            tuple(not x.joint.turns for x in b),
        )

    def positions(self, q: Scalars) -> list[Scalar]:
        rows = zip(self.coordinate, self.rate, self.offset, strict=True)
        return [q[i] * rate + offset if (rate, offset) != (1.0, 0.0) else q[i] for i, rate, offset in rows]

    def rates(self, n: int) -> NDArray[np.float64]:
        """∂x/∂q, (joints, n)."""
        G = np.zeros((len(self.rate), n))
        G[np.arange(len(self.rate)), np.array(self.coordinate, int)] = self.rate
        return G


def unfolded(model: Model) -> Model:
    """The same tree with every joint a coordinate of its own."""
    bodies = tuple(replace(b, coordinate=i, position=i, multiplier=1.0, offset=0.0) for i, b in enumerate(model.bodies))
    own = (Coordinate(b.joint_name, b.joint, first=i, position=i) for i, b in enumerate(bodies))
    return replace(model, bodies=bodies, coordinates=tuple(own))


def pairs(n: int) -> list[Pair]:
    """The upper triangle, row by row."""
    return list(combinations_with_replacement(range(n), 2))


def symmetric(n: int, upper: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix of which `upper` is the upper triangle."""
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for (i, j), x in zip(pairs(n), upper, strict=True):
        A[i][j] = A[j][i] = x
    return A


def _mass(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(composite.mass_matrix(model, x), object)


def _gravity(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(newton_euler.gravity_torque(model, x), object)


def _slope(model: Model, x: Scalars) -> NDArray[np.object_]:
    """∂g/∂x."""
    rest = [0.0] * len(x)
    return np.array(derivatives.inverse_dynamics_derivatives(model, x, rest, rest)[0], object)


def _christoffel(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(composite.christoffel(model, x), object)


# name → (algorithm over the joints, its number of indices)
FUNCTIONS: dict[str, tuple[Callable[[Model, Scalars], Any], int]] = {
    "mass": (_mass, 2),
    "gravity": (_gravity, 1),
    "slope": (_slope, 2),
    "christoffel": (_christoffel, 3),
}


def entries(name: str, model: Model, x: Scalars) -> list[Scalar]:
    """The independent entries of a function of coordinates, for the joints' positions x: a vector; the upper triangle
    of a symmetric matrix; of Γ_ijk those with i ≤ j, k last."""
    algorithm, indices = FUNCTIONS[name]
    T = algorithm(unfolded(model), x)
    if model.mimics:
        G = np.array(Joints.of(model).rates(model.n).tolist(), object)
        for axis in range(indices):
            T = np.moveaxis(np.tensordot(T, G, axes=(axis, 0)), -1, axis)
    n = model.n
    if indices == 1:
        return list(T)
    if indices == 2:
        return [T[i, j] for i, j in pairs(n)]
    return [T[i, j, k] for i, j in pairs(n) for k in range(n)]
