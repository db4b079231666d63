"""Energies, center of mass, momentum."""

from __future__ import annotations

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force
from dalembert.spatial.vector import ZERO, Scalar, Vector, add, cross, dot, matvec, scale, sub


def kinetic_energy(model: Model, q: Coordinates, qd: Coordinates) -> Scalar:
    """K = Σ ½ 𝒱ᵢᵀ 𝒢ᵢ 𝒱ᵢ + ½ N² J_m q̇², [J].  [Poonawala] §4.1, [Fakhari 2]."""
    T = joints.poses(model, q)
    total: Scalar = 0.0
    rates = joints.rates(model, qd)
    for body, own, V in zip(model.bodies, model.columns, joints.twists(model, T, qd), strict=True):
        total = total + V.dot(body.inertia.momentum(V))
        for k in own:
            total = total + body.rotor_inertia * (rates[k] * rates[k])
    return 0.5 * total


def _mass_moment(model: Model, q: Coordinates) -> Vector:
    """Σ m_i c_i in world axes, moving bodies only: composites, as those of `composite`, from the leaves down."""
    T = joints.poses(model, q)
    m, h = ([getattr(b.inertia, of) for b in model.bodies] for of in "mh")
    total: Vector = ZERO
    for i in reversed(range(len(h))):
        parent, moment = model.parents[i], add(matvec(T[i].R, h[i]), scale(m[i], T[i].p))
        if parent >= 0:
            m[parent], h[parent] = m[parent] + m[i], add(h[parent], moment)
        else:
            total = add(total, moment)
    return total


def potential_energy(model: Model, q: Coordinates) -> Scalar:
    """P = −Σ m_i gᵀ c_i(q), [J], zero at the base frame's origin, moving bodies only."""
    return -dot(model.gravity, _mass_moment(model, q))


def center_of_mass(model: Model, q: Coordinates) -> Vector:
    """Center of mass of all moving bodies, in the base frame, [m]."""
    return scale(1.0 / sum(b.inertia.m for b in model.bodies), _mass_moment(model, q))


def momentum(model: Model, q: Coordinates, qd: Coordinates, about: str = "origin") -> Force:
    """Linear and angular momentum in world axes, the latter about the world's origin or the center of
    mass ("com").  [kg m/s], [kg m²/s]. Rotors do not take part: only their spin is modeled."""
    T = joints.poses(model, q)
    h = [b.inertia.momentum(V) for b, V in zip(model.bodies, joints.twists(model, T, qd), strict=True)]
    total = Force()
    for i in reversed(range(len(h))):
        parent = model.parents[i]
        carried = h[i].to_parent(T[i])
        if parent >= 0:
            h[parent] = h[parent] + carried
        else:
            total = total + carried
    if about == "origin":
        return total
    return Force(total.f, sub(total.n, cross(center_of_mass(model, q), total.f)))
