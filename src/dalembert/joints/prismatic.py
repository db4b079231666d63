"""Sliding along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert.joints.joint import Joint
from dalembert.spatial import Inertia, Motion, Pose
from dalembert.spatial.vector import ZERO, Scalar, add, matvec, scale


@final
@dataclass(frozen=True)
class Prismatic(Joint):
    kind = "prismatic"
    units = ("m",)
    symbols = (("q",),)
    turns = False
    periodic = False
    half_range = 1.0

    @property
    def travel(self) -> float:
        return 1.0

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        return Pose(placement.R, add(placement.p, scale(q[0], matvec(placement.R, self.axis))))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        return (Motion(self.axis, ZERO),)

    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """The body never turns against its parent: all second moments."""
        return Inertia(inertia.m, inertia.h), Inertia(0.0, ZERO, inertia.I)
