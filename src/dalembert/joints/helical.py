"""Turning about an axis and sliding along it at once, as a nut on a thread does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert import scalar
from dalembert.joints.joint import Joint
from dalembert.spatial import Inertia, Motion, Pose
from dalembert.spatial.rotation import about
from dalembert.spatial.vector import ZERO, Scalar, add, matmul, matvec, scale


@final
@dataclass(frozen=True)
class Helical(Joint):
    """`pitch` is the way along the axis per angle [m/rad]: the lead of a thread is 2π times it."""

    kind = "helical"
    units = ("rad",)
    symbols = (("s", "c", "q"),)
    turns = True
    periodic = False
    half_range = math.pi
    numbers = {"pitch": ("h", "m/rad")}

    pitch: Scalar

    @property
    def travel(self) -> float:
        return float(self.pitch)

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        R = matmul(placement.R, about(self.axis, scalar.cos(q[0]), scalar.sin(q[0])))
        return Pose(R, add(placement.p, scale(self.pitch * scalar.position(q[0]), matvec(placement.R, self.axis))))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        return (Motion(scale(self.pitch, self.axis), self.axis),)

    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """Neither the turn nor the way along the axis changes the second moment along it."""
        along = inertia.second_moments()
        keep = [k for k in range(3) if abs(self.axis[k]) == 1.0]
        S = tuple(tuple(x if i == j and i in keep else 0.0 for j, x in enumerate(row)) for i, row in enumerate(along))
        moved = Inertia.from_moments(0.0, ZERO, S)
        return inertia - moved, moved
