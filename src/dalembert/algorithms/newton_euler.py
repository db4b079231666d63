"""Inverse dynamics by the recursion of Newton and Euler.

The recursion carries, per body, its angular velocity ω, the *classical* acceleration a of its frame's
origin, and the matrix K = S(ω̇) + S(ω)², which turns a body-fixed point r into the rest of its
acceleration, a + K r. No linear velocity is needed, and K serves every point of the body: the origins
of its children, its first moment, and its second moments, so that

    f = m a + K h,        n = h × a + ∫ r × (K r) dm.

That costs a fifth less than spatial accelerations, which carry v only to cancel it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force, Inertia
from dalembert.spatial.vector import ZERO, Matrix, Scalar, Vector, add, cross, matvec, matvec_t, scale, sub


@dataclass(frozen=True)
class Acceleration:
    """How a body accelerates, in its own axes: ω, ω̇ and the acceleration a of its origin."""

    w: Vector = ZERO
    wd: Vector = ZERO
    a: Vector = ZERO

    def matrix(self) -> Matrix:
        """K = S(ω̇) + S(ω)²."""
        (x, y, z), (xd, yd, zd) = self.w, self.wd
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return ((-(yy + zz), xy - zd, xz + yd), (xy + zd, -(xx + zz), yz - xd), (xz - yd, yz + xd, -(xx + yy)))


def body_force(inertia: Inertia, a: Vector, K: Matrix) -> Force:
    """The wrench at the body's origin that its acceleration asks for: f = m a + K h,
    n = h × a + ∫ r × (K r) dm, the latter being twice the axial vector of K Σ."""
    S = inertia.second_moments()
    h = inertia.h

    def KS(i: int, j: int) -> Scalar:
        return K[i][0] * S[0][j] + K[i][1] * S[1][j] + K[i][2] * S[2][j]

    turning = (KS(2, 1) - KS(1, 2), KS(0, 2) - KS(2, 0), KS(1, 0) - KS(0, 1))
    return Force(add(scale(inertia.m, a), matvec(K, h)), add(cross(h, a), turning))


def accelerations(
    model: Model, q: Coordinates, qd: Coordinates, qdd: Coordinates, base: Acceleration | None = None
) -> tuple[list[Acceleration], list[Matrix]]:
    """Each body's acceleration and its K. Gravity enters as an upward acceleration of the base."""
    ground = base or Acceleration()
    ground = Acceleration(ground.w, ground.wd, sub(ground.a, model.gravity))
    K0 = ground.matrix()
    T = joints.poses(model, q)
    rate, second = joints.rates(model, qd), joints.rates(model, qdd)
    A: list[Acceleration] = []
    K: list[Matrix] = []
    for i, body in enumerate(model.bodies):
        parent, K_p = (A[body.parent], K[body.parent]) if body.parent >= 0 else (ground, K0)
        R = T[i].R
        w, wd = matvec_t(R, parent.w), matvec_t(R, parent.wd)
        a = matvec_t(R, add(parent.a, matvec(K_p, T[i].p)))
        own, gain = joints.relative(model, i, rate), joints.relative(model, i, second)
        a = add(a, add(gain.v, add(scale(2.0, cross(w, own.v)), cross(own.w, own.v))))
        wd = add(wd, add(gain.w, cross(w, own.w)))
        w = add(w, own.w)
        A.append(Acceleration(w, wd, a))
        K.append(A[i].matrix())
    return A, K


def project(model: Model, q: Coordinates, F: list[Force]) -> list[Scalar]:
    """Torques of all joints' columns that balance a wrench on every body (in its own frame): the backward pass.
    The list is consumed: it ends as the wrench each joint transmits."""
    T = joints.poses(model, q)
    tau: list[list[Scalar]] = [[] for _ in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        tau[i] = [S.dot(F[i]) for S in joints.subspace(body)]
        if body.parent >= 0:
            F[body.parent] = F[body.parent] + F[i].to_parent(T[i])
    return [t for own in tau for t in own]


def body_forces(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    qdd: Coordinates,
    wrenches: Mapping[int, Force] | None = None,
    base: Acceleration | None = None,
) -> list[Force]:
    """Return the wrench that each joint must transmit to its body: what the motion requires, less the external wrench
    that acts on the body, at the origin of its frame."""
    A, K = accelerations(model, q, qd, qdd, base)
    F = [body_force(b.inertia, A[i].a, K[i]) for i, b in enumerate(model.bodies)]
    for i, wrench in (wrenches or {}).items():
        F[i] = F[i] - wrench
    return F


def joint_loads(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    qdd: Coordinates,
    wrenches: Mapping[int, Force] | None = None,
    base: Acceleration | None = None,
) -> list[Scalar]:
    """The torque that every joint transmits to its body, mimic joints included: inverse dynamics before rotor inertia
    and friction, which lie on the drive's side, and before it is gathered on the coordinates."""
    return project(model, q, body_forces(model, q, qd, qdd, wrenches, base))


def inverse_dynamics(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    qdd: Coordinates,
    wrenches: Mapping[int, Force] | None = None,
    base: Acceleration | None = None,
) -> list[Scalar]:
    """Return τ = M(q) q̈ + c(q, q̇) + g(q) − Σ Jᵀ F, rotor inertia included.

    `wrenches` act on the bodies, by index, at the origin of each body's frame and in its axes.
    `base` is the motion of the base, at rest if not given.
    """
    tau = joint_loads(model, q, qd, qdd, wrenches, base)
    second = joints.rates(model, qdd)
    rotors = [b.rotor_inertia for b in model.bodies for _ in range(b.joint.nv)]
    tau = [t + J * s for t, J, s in zip(tau, rotors, second, strict=True)]
    return joints.gather(model, tau)


def _zeros(model: Model) -> list[Scalar]:
    return [0.0] * model.nv


def gravity_torque(model: Model, q: Coordinates) -> list[Scalar]:
    """g(q): the recursion at rest. [Fakhari 2], method 2."""
    return inverse_dynamics(model, q, _zeros(model), _zeros(model))


def bias_torque(model: Model, q: Coordinates, qd: Coordinates) -> list[Scalar]:
    """h(q, q̇) = c(q, q̇) + g(q): the recursion without acceleration."""
    return inverse_dynamics(model, q, qd, _zeros(model))


def coriolis_torque(model: Model, q: Coordinates, qd: Coordinates) -> list[Scalar]:
    """c(q, q̇): the recursion without acceleration and without gravity."""
    floating = Acceleration(a=model.gravity)  # cancels the upward acceleration that stands for gravity
    return inverse_dynamics(model, q, qd, _zeros(model), base=floating)
