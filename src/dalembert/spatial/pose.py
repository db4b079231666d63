"""Rigid placements T_ab = (R_ab, p_ab)."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.spatial import rotation
from dalembert.spatial.vector import IDENTITY, ZERO, Matrix, Vector, add, matmul, matvec, matvec_t, neg, transpose


@dataclass(frozen=True)
class Pose:
    """T_ab maps coordinates in b to coordinates in a: x_a = R x_b + p. `T_ac = T_ab @ T_bc`."""

    R: Matrix = IDENTITY
    p: Vector = ZERO

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(matmul(self.R, other.R), add(self.p, matvec(self.R, other.p)))

    def inverse(self) -> Pose:
        return Pose(transpose(self.R), neg(matvec_t(self.R, self.p)))

    def point(self, x: Vector) -> Vector:
        """Coordinates in a of the point with coordinates x in b."""
        return add(self.p, matvec(self.R, x))

    def matrix(self) -> Matrix:
        """The homogeneous 4×4 matrix."""
        return (*((*row, x) for row, x in zip(self.R, self.p, strict=True)), (0.0, 0.0, 0.0, 1.0))

    @staticmethod
    def from_origin(xyz: Vector, rpy: Vector) -> Pose:
        """URDF's origin element."""
        return Pose(rotation.from_rpy(rpy), tuple(xyz))


IDENTITY_POSE = Pose()
