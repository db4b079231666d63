"""A ball in its socket: the body turns about any axis through the joint's origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert.joints.joint import Free
from dalembert.spatial import Motion, Pose, quaternion
from dalembert.spatial.vector import IDENTITY, ZERO, Scalar, matmul


@final
@dataclass(frozen=True)
class Spherical(Free):
    """q is a unit quaternion (x, y, z, w), v the angular velocity in the body's axes. The axis means nothing."""

    kind = "spherical"
    nq, nv = 4, 3
    units = ("rad", "rad", "rad")
    position_units = ("", "", "", "")
    position_names = ("_qx", "_qy", "_qz", "_qw")
    rate_names = ("_wx", "_wy", "_wz")
    effort_names = ("_nx", "_ny", "_nz")
    neutral = (0.0, 0.0, 0.0, 1.0)
    symbols = (("q",),) * 4
    quaternion = 0

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        return Pose(matmul(placement.R, quaternion.rotation_matrix(q)), placement.p)

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        return tuple(Motion(ZERO, e) for e in IDENTITY)

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(quaternion.rate(q, v))

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(quaternion.unit(quaternion.product(q, quaternion.exp(step))))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(quaternion.log(quaternion.product(quaternion.inverse(q0), q1)))

    def normalize(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(quaternion.unit(q))
