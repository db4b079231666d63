"""Sliding and turning in a plane, as a mobile base on a floor does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert import scalar
from dalembert.joints.joint import Free
from dalembert.spatial import Motion, Pose
from dalembert.spatial.rotation import about, basis, even_series
from dalembert.spatial.vector import ZERO, Scalar, add, matmul, matvec, scale


@final
@dataclass(frozen=True)
class Planar(Free):
    """q = (x, y, θ) in the plane across the axis: x and y along e₁ and e₂ of `rotation.basis(axis)` (about z: x and y)
    [m], θ about the axis [rad]. v = (v₁, v₂, ω) is the body's velocity in its own axes, so that q̇ ≠ v though there
    are as many of them."""

    kind = "planar"
    nq, nv = 3, 3
    units = ("m", "m", "rad")
    position_names = ("_x", "_y", "_angle")
    rate_names = ("_vx", "_vy", "_w")
    effort_names = ("_fx", "_fy", "_n")
    neutral = (0.0, 0.0, 0.0)
    symbols = (("q",), ("q",), ("s", "c"))

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        e1, e2, axis = basis(self.axis)
        moved = add(scale(q[0], e1), scale(q[1], e2))
        turned = matmul(placement.R, about(axis, scalar.cos(q[2]), scalar.sin(q[2])))
        return Pose(turned, add(placement.p, matvec(placement.R, moved)))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        e1, e2, axis = basis(self.axis)
        return (Motion(e1, ZERO), Motion(e2, ZERO), Motion(ZERO, axis))

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        c, s = scalar.cos(q[2]), scalar.sin(q[2])
        return (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """p⁺ = p + R(θ) V(φ) d with V = [[a, −b], [b, a]], a = sin φ/φ, b = (1 − cos φ)/φ."""
        a, second, _ = even_series(step[2] * step[2])
        b = second * step[2]
        x, y, turn = self.rates(q, (a * step[0] - b * step[1], b * step[0] + a * step[1], step[2]))
        return (q[0] + x, q[1] + y, q[2] + turn)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The turn is that of the angles, however many times round: θ is a number, not a direction."""
        turn = q1[2] - q0[2]
        a, second, _ = even_series(turn * turn)
        b = second * turn
        c, s = scalar.cos(q0[2]), scalar.sin(q0[2])
        dx, dy = q1[0] - q0[0], q1[1] - q0[1]
        x, y = c * dx + s * dy, c * dy - s * dx
        size = 1.0 / (a * a + b * b)
        return (size * (a * x + b * y), size * (a * y - b * x), turn)
