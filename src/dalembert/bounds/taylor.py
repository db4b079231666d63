"""Functions over a small box: their value and derivatives in the middle, and what is left, proved.

For |q − m| ≤ r, f_o(q) = f_o(m) + Σ_i ∂_i f_o(m) (q_i − m_i) + remainder, |remainder| ≤ ½ Σ_ij sup|∂_i∂_j f_o| r_i r_j.
The second derivatives are bounded over the whole box once (`harmonics`). What rounding does to f and ∂f in the middle
is bounded once too (`rounding`) and added to the remainder, as are second derivatives too small to be worth a product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.bounds.box import Box
from dalembert.bounds.functions import Joints
from dalembert.bounds.harmonics import GRID, Sizes, sizes
from dalembert.bounds.rounding import Rounded, errors
from dalembert.compile.gradient import jacobian
from dalembert.compile.graph import Graph
from dalembert.compile.kernel import compile_function
from dalembert.compile.lower import lower
from dalembert.scalar import Scalar

Array = NDArray[np.float64]
MUTE = 2  # joints on which a function may well not depend: the first one, a last one
NEGLIGIBLE = 1e-10  # of the family's largest value: second derivatives that do less are added up beforehand


@dataclass(frozen=True)
class Expansion:
    """At the middle m of a box with radii r, all as scalars: values f_o, slopes ∂_i f_o, remainders ≥ 0."""

    value: list[Any]
    slope: list[list[Any]]
    remainder: list[Any]


@dataclass(frozen=True, eq=False)
class Family:
    """Functions of one name over one box, with what is known of them beforehand. slack (o): rounding and what was
    neglected."""

    n: int
    function: Callable[[Any], list[Any]]  # of coordinates
    box: Box
    sizes: Sizes
    slack: Array

    def expand(self, m: list[Any], r: list[Any]) -> Expansion:
        """The expansion about m, over scalars of a trace."""
        f = self.function(m)
        D = jacobian(m[0].graph, f, m)
        H = self._kept
        products: dict[tuple[int, int], Any] = {}
        left = []
        for o in range(len(f)):
            total: Any = float(self.slack[o])
            for i in range(self.n):
                for j in range(i, self.n):
                    h = float(H[i, j, o]) * (0.5 if i == j else 1.0)
                    if h:
                        if (i, j) not in products:
                            products[i, j] = r[i] * r[j]
                        total = total + h * products[i, j]
            left.append(total)
        return Expansion(f, D, left)

    @property
    def _kept(self) -> Array:
        return np.where(self._small, 0.0, self.sizes.bend)

    @property
    def _small(self) -> NDArray[np.bool_]:
        return _small(self.sizes, self.box.radius)


def _small(found: Sizes, radius: Array) -> NDArray[np.bool_]:
    R = np.where(np.isfinite(radius), radius, 0.0)
    effect = found.bend * R[:, None, None] * R[None, :, None]
    return np.asarray(effect <= NEGLIGIBLE * float(found.value.max(initial=0.0)))


def family(of_joints: Callable[[Any], list[Any]], joints: Joints, box: Box) -> Family | None:
    """What must be known of functions of the joints' positions before boxes are looked at; None where it cannot be
    had: too many joints, or a slide without limits."""
    m = len(joints.rate)
    count = len(of_joints([0.0] * m))
    if count * 5 ** max(m - MUTE, 0) > GRID:
        return None  # before it is traced, which takes long too
    kernel = compile_function(of_joints, [(m,)], [(count,)], "bounded")
    found = sizes(kernel, box, joints)
    if found is None:
        return None

    def of_coordinates(q: Sequence[Scalar]) -> list[Any]:
        return of_joints(joints.positions(q))

    return Family(box.n, of_coordinates, box, found, _rounding(of_coordinates, box, found))


def _rounding(function: Callable[[Any], list[Any]], box: Box, found: Sizes) -> Array:
    """(o,): |errors of f + Σ r_i errors of ∂_i f + neglected second derivatives| over the box."""
    graph = Graph()
    q = [graph.input(0, i) for i in range(box.n)]
    f = function(q)
    D = jacobian(graph, f, q)
    program = lower(graph, [f, [x for row in D for x in row]])
    radius = np.where(np.isfinite(box.radius), box.radius, 0.0)  # no function depends on an infinite slide
    far = [Rounded(float(abs(a) + r)) for a, r in zip(box.middle, radius, strict=True)]
    value, slope = errors(program, [far])
    neglected = np.where(_small(found, radius), found.bend, 0.0)
    left = 0.5 * np.einsum("ijo,i,j->o", neglected, radius, radius)
    return np.asarray(1.01 * (value + slope.reshape(len(f), -1) @ radius + left))
