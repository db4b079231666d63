"""det J, computed where the Jacobian is sparse.

A determinant of all six rows does not depend on the frame that twists are expressed in, nor on their reference point:
the frame of a body in the middle of the chain gives entries with few joints in them. One of the three linear rows
does not depend on the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.algorithms import jacobians, joints, kinematics
from dalembert.algorithms.joints import Coordinates
from dalembert.errors import InputError
from dalembert.model.model import Frame, Model
from dalembert.spatial import Motion
from dalembert.spatial.vector import matvec_t
from dalembert.symbolic.polynomial import Polynomial, Ring

Matrix = list[list[Any]]
ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")


def jacobian_for_determinant(
    model: Model, ring: Ring, q: Coordinates, frame: Frame, rows: Sequence[int] | None
) -> tuple[Matrix, tuple[int, ...]]:
    """A square matrix whose determinant is that of the chosen rows of J, and these rows. Without a choice: all six of
    a six-joint arm, else the first n that do not vanish."""
    n = model.n
    if rows is None and n == 6 and not model.mimics and len(model.path(frame.body)) == 6:
        return _sparsest(model, q), tuple(range(6))
    J = [[ring.scalar(x) for x in row] for row in jacobians.jacobian(model, q, frame)]
    if rows is None:
        moving = [k for k in range(6) if any(J[k])]
        if len(moving) < n:
            raise InputError(
                f"J of {model.name!r} is 6×{n} with {len(moving)} rows that do not vanish: no {n} of them make a "
                "determinant; singularities of such an arm are those of J Jᵀ (Robot.singularities)"
            )
        rows = moving[:n]
    chosen = tuple(rows)
    if len(chosen) != n or len(set(chosen)) != n or not all(0 <= k < 6 for k in chosen):
        raise InputError(f"rows must be {n} different numbers from 0 (vx) to 5 (wz), got {list(rows)}")
    if chosen == (0, 1, 2):
        T = kinematics.world_poses(model, q, [frame.body])
        R = T[model.path(frame.body)[0]].R  # the first joint's angle drops out in its own axes
        columns = [matvec_t(R, [J[k][j] for k in range(3)]) for j in range(n)]
        return [[columns[j][k] for j in range(n)] for k in range(3)], chosen
    return [J[k] for k in chosen], chosen


def _sparsest(model: Model, q: Coordinates) -> Matrix:
    """The twists of all joints of a chain, in the frame of the body where they have the fewest terms."""
    T = joints.poses(model, q)
    best: tuple[int, Matrix] | None = None
    for middle in range(len(model.bodies)):
        columns = [_seen_from(model, T, j, middle).flat() for j in range(len(model.bodies))]
        size = sum(len(x) if isinstance(x, Polynomial) else x != 0 for column in columns for x in column)
        if best is None or size < best[0]:
            best = size, [list(row) for row in zip(*columns, strict=True)]
    assert best is not None
    return best[1]


def _seen_from(model: Model, T: Sequence[Any], j: int, middle: int) -> Motion:
    """The twist of joint j in the frame of the body `middle` of the chain."""
    motion = joints.subspace(model.bodies[j])
    for k in range(j + 1, middle + 1):
        motion = motion.to_child(T[k])
    for k in range(j, middle, -1):
        motion = motion.to_parent(T[k])
    return motion


def determinant(ring: Ring, A: Sequence[Sequence[Any]]) -> Polynomial:
    """det A by expansion along the line with the fewest entries."""
    n = len(A)
    if n == 0:
        return ring.constant(1)
    rows = [(sum(1 for x in A[i] if x), 0, i) for i in range(n)]
    columns = [(sum(1 for i in range(n) if A[i][j]), 1, j) for j in range(n)]
    _, transposed, k = min(rows + columns)
    B = [list(column) for column in zip(*A, strict=True)] if transposed else [list(row) for row in A]
    total: Any = ring.zero
    for j in range(n):
        if not B[k][j]:
            continue
        minor = [[B[i][b] for b in range(n) if b != j] for i in range(n) if i != k]
        term = B[k][j] * determinant(ring, minor)
        total = total + term if (k + j) % 2 == 0 else total - term
    return ring.scalar(total)
