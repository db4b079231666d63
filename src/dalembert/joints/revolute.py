"""Turning about an axis. A joint that is "continuous" in files is this one without limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dalembert import scalar
from dalembert.joints.joint import Joint
from dalembert.spatial import Inertia, Motion, Pose
from dalembert.spatial.rotation import about
from dalembert.spatial.vector import ZERO, Scalar, matmul


@final
@dataclass(frozen=True)
class Revolute(Joint):
    kind = "revolute"
    units = ("rad",)
    symbols = (("s", "c"),)
    turns = True
    periodic = True
    half_range = math.pi

    @property
    def travel(self) -> float:
        return 0.0

    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        return Pose(matmul(placement.R, about(self.axis, scalar.cos(q[0]), scalar.sin(q[0]))), placement.p)

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        return (Motion(ZERO, self.axis),)

    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """Mass on the axis does not turn: m, and the first and second moment along the axis."""
        k = next(k for k in range(3) if abs(self.axis[k]) == 1.0)
        S = inertia.second_moments()
        along = [[S[k][k] if i == j == k else 0.0 for j in range(3)] for i in range(3)]
        rest = [[0.0 if i == j == k else S[i][j] for j in range(3)] for i in range(3)]
        h_along = tuple(x if i == k else 0.0 for i, x in enumerate(inertia.h))
        h_rest = tuple(0.0 if i == k else x for i, x in enumerate(inertia.h))
        return Inertia.from_moments(0.0, h_rest, rest), Inertia.from_moments(inertia.m, h_along, along)
