"""The momentum of the whole mechanism about its center of mass, as a linear function of the velocities.

h = A(q) v, linear first, world axes (Orin, Goswami & Lee 2013). A column of A is the momentum that everything a joint
carries has at unit rate; its own rate is İ^C S + I^C Ṡ, with İ^C = B^C + B^Cᵀ of `composite`. Rotors do not take part.
"""

from __future__ import annotations

from dalembert import scalar
from dalembert.algorithms import composite, energy, jacobians, joints, kinematics, linear
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force, Inertia, Pose
from dalembert.spatial.vector import Scalar, Vector, add, cross, dot, neg, scale, sub

Matrix = list[list[Scalar]]


def _assembled(model: Model, columns: list[list[Force]]) -> Matrix:
    """6×nv from the columns of each body, mimic joints folded into their masters."""
    A: list[list[Scalar]] = [[0.0] * 6 for _ in range(model.nv)]
    for body, own in zip(model.bodies, columns, strict=True):
        for k, column in enumerate(own, body.coordinate):
            A[k] = [a + body.multiplier * x for a, x in zip(A[k], column.flat(), strict=True)]
    return linear.transposed(A) if A else [[] for _ in range(6)]


def momentum_matrix(model: Model, q: Coordinates) -> Matrix:
    """A(q), 6×nv: the momentum (linear, angular about the center of mass) is A v."""
    T, I = kinematics.world_poses(model, q), composite.composites(model, joints.poses(model, q))
    c = energy.center_of_mass(model, q)
    return _assembled(
        model,
        [
            [_about(I[i].momentum(S).to_parent(T[i]), c) for S in joints.subspace(body)]
            for i, body in enumerate(model.bodies)
        ],
    )


def momentum_matrix_dot(model: Model, q: Coordinates, qd: Coordinates) -> Matrix:
    """Ȧ(q, v), 6×nv, along the motion."""
    T, local = kinematics.world_poses(model, q), joints.poses(model, q)
    V, I = joints.twists(model, local, qd), composite.composites(model, local)
    B = composite.velocity_factors(model, local, V)
    c = energy.center_of_mass(model, q)
    c_dot = linear.apply(jacobians.center_of_mass_jacobian(model, q), qd)
    columns: list[list[Force]] = []
    for i, body in enumerate(model.bodies):
        columns.append([])
        for S in joints.subspace(body):
            rate = B[i].apply(S) + B[i].apply_transposed(S) + I[i].momentum(V[i].cross(S))
            moved = _about(rate.to_parent(T[i]), c)
            carried = I[i].momentum(S).to_parent(T[i]).f
            columns[i].append(Force(moved.f, sub(moved.n, cross(tuple(c_dot), carried))))
    return _assembled(model, columns)


def _about(F: Force, c: Vector) -> Force:
    """A wrench or momentum at the world's origin, taken about the point c."""
    return Force(F.f, sub(F.n, cross(c, F.f)))


def inertia(model: Model, q: Coordinates) -> Matrix:
    """The 6×6 inertia of all bodies as one, about the center of mass in world axes: diag(m 1, I)."""
    T = kinematics.world_poses(model, q)
    total = Inertia()
    for i, body in enumerate(model.bodies):
        total = total + body.inertia.to_parent(T[i])
    whole = total.to_parent(Pose(p=neg(energy.center_of_mass(model, q))))
    m = whole.m
    rows = [[m if i == j else 0.0 for j in range(6)] for i in range(3)]
    return rows + [[0.0, 0.0, 0.0, *row] for row in whole.I]


def capture_point(model: Model, q: Coordinates, qd: Coordinates, height: Scalar) -> Vector:
    """Where a foot would have to stand on level ground at that height for the linear inverted pendulum to come to rest:
    c + ċ √(z/g), on the ground, z being how high the center of mass is above it  (Pratt et al. 2006)."""
    g = scalar.sqrt(dot(model.gravity, model.gravity))
    up = scale(-1.0 / g, model.gravity)
    c, c_dot = energy.center_of_mass(model, q), tuple(linear.apply(jacobians.center_of_mass_jacobian(model, q), qd))
    z = dot(up, c) - height
    ahead = scale(scalar.sqrt(z * (1.0 / g)), sub(c_dot, scale(dot(up, c_dot), up)))
    return add(sub(c, scale(z, up)), ahead)
