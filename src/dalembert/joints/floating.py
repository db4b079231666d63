"""No joint at all: the body moves freely, as a base that flies or walks does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert.joints.joint import Free
from dalembert.spatial import Motion, Pose, quaternion
from dalembert.spatial.vector import IDENTITY, ZERO, Scalar, add, matmul, matvec, matvec_t, sub


@final
@dataclass(frozen=True)
class Floating(Free):
    """q is the origin's position (x, y, z) [m] and a unit quaternion (x, y, z, w); v = (v, ω) is the body's twist, of
    its origin in its own axes. The axis means nothing."""

    kind = "floating"
    nq, nv = 7, 6
    units = ("m", "m", "m", "rad", "rad", "rad")
    position_units = ("m", "m", "m", "", "", "", "")
    position_names = ("_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw")
    rate_names = ("_vx", "_vy", "_vz", "_wx", "_wy", "_wz")
    effort_names = ("_fx", "_fy", "_fz", "_nx", "_ny", "_nz")
    neutral = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    symbols = (("q",),) * 7
    quaternion = 3

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        p = add(placement.p, matvec(placement.R, tuple(q[:3])))
        return Pose(matmul(placement.R, quaternion.rotation_matrix(q[3:])), p)

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        return (*(Motion(e, ZERO) for e in IDENTITY), *(Motion(ZERO, e) for e in IDENTITY))

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        R = quaternion.rotation_matrix(q[3:])
        return (*matvec(R, tuple(v[:3])), *quaternion.rate(q[3:], v[3:]))

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> tuple[Scalar, ...]:
        p, turn = quaternion.exp_pose(tuple(step[:3]), tuple(step[3:]))
        R = quaternion.rotation_matrix(q[3:])
        return (*add(tuple(q[:3]), matvec(R, p)), *quaternion.unit(quaternion.product(q[3:], turn)))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        p = matvec_t(quaternion.rotation_matrix(q0[3:]), sub(tuple(q1[:3]), tuple(q0[:3])))
        v, w = quaternion.log_pose(p, quaternion.product(quaternion.inverse(q0[3:]), q1[3:]))
        return (*v, *w)

    def normalize(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return (*q[:3], *quaternion.unit(q[3:]))
