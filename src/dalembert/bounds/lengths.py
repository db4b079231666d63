"""Bounds from lengths alone: for any number of joints, at once, and wide.

Gravity is the gradient of U = −Σ g·(m_k p_k), so that the slope H = ∂g/∂q is made of second derivatives of positions.
Where joint i comes before joint j, ∂²p/∂q_i ∂q_j = z_i × (z_j × (p − o_j)) if both turn, z_i × z_j if the later one
slides, 0 if the earlier one does. Their lengths are at most the distance from joint j to the mass, which is at most the
sum of the lengths between: |H_ij| ≤ B_ij for every q, and |xᵀ H x| ≤ |x|ᵀ B |x|. M is bounded in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dalembert.algorithms import joints, kinematics
from dalembert.arguments import Array
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.spatial.vector import matvec

PARALLEL = 1e-12  # of unit axes: rounding of their cosines
ROUNDING = 1 + 1e-10  # sums of positive numbers, and the eigenvalues of a matrix of them


def slope(model: Model) -> Array:
    """(n, n): |∂g_i/∂q_j| ≤ this for all q within the limits of sliding joints."""
    thin = lean(model)
    return ROUNDING * float(np.linalg.norm(model.gravity)) * gather(thin, second_order(thin))


def gravity(model: Model) -> Array:
    """(n,): |g_i| ≤ this."""
    thin = lean(model)
    return ROUNDING * float(np.linalg.norm(model.gravity)) * gathered_rows(thin, first_order(thin))


def mass(model: Model) -> Array:
    """(n, n): |M_ij| ≤ this."""
    return ROUNDING * gather(model, inertial(model))


def spectral(B: Array) -> float:
    """‖A‖₂ of every A with |A_ij| ≤ B_ij, B symmetric, from above."""
    return ROUNDING * float(np.linalg.eigvalsh(B)[-1]) if np.isfinite(B).all() else math.inf


def least_rotor(model: Model) -> float:
    """λ_min(M) ≥ the smallest rotor inertia on a joint, if what the links add is not negative; else 0."""
    for body in model.bodies:
        I = body.inertia
        about = np.array(I.about_com() if I.m else I.I, float)
        if (
            I.m < 0
            or (not I.m and np.any(np.array(I.h, float)))
            or np.linalg.eigvalsh(about)[0] < -1e-12 * np.trace(about)
        ):
            return 0.0
    return min(rotors(model), default=0.0) * (1 - 1e-12)


# name of a quantity → its bound by lengths
_BY_LENGTHS: dict[str, Callable[[Model], float]] = {
    "mu1": least_rotor,
    "mu2": lambda m: spectral(mass(m)),
    "mass_norm": lambda m: ROUNDING * float(mass(m).sum(axis=0).max()),
    "gravity_1": lambda m: ROUNDING * float(gravity(m).sum()),
    "gravity_2": lambda m: ROUNDING * float(np.linalg.norm(gravity(m))),
    "gravity_inf": lambda m: float(gravity(m).max()),
    "gravity_slope": lambda m: spectral(slope(m)),
}


NAMES = tuple(_BY_LENGTHS)


def bound(model: Model, name: str) -> float | None:
    """The bound of a quantity, or None where lengths tell nothing of it."""
    found = _BY_LENGTHS.get(name)
    return None if found is None else found(model)


def _steps(model: Model) -> list[float]:
    """Per body, how far its frame can lie from its parent's: what is fixed, and what a slide adds."""
    out = []
    for body in model.bodies:
        length = float(np.linalg.norm(body.placement.p))
        if body.joint.travel:
            c = model.coordinates[body.coordinate]
            ends = [body.multiplier * x + body.offset for x in (c.lower, c.upper)]
            length += abs(body.joint.travel) * max(map(abs, ends))
        out.append(length)
    return out


def _distances(model: Model) -> list[dict[int, float]]:
    """For each body k and each j on its path: the largest distance from body j's origin to body k's."""
    step = _steps(model)
    out = []
    for k in range(len(model.bodies)):
        total = 0.0
        found: dict[int, float] = {}
        for j in reversed(model.path(k)):
            found[j] = total
            total += step[j]
        out.append(found)
    return out


def _moments(model: Model) -> list[dict[int, float]]:
    """For each body k and each j on its path: m times the largest distance from joint j to the mass."""
    return [
        {j: _product(body.inertia.m, d) + float(np.linalg.norm(body.inertia.h)) for j, d in reach.items()}
        for body, reach in zip(model.bodies, _distances(model), strict=True)
    ]


def _moment(model: Model, j: int, k: int, moment: float) -> float:
    """m |∂p/∂x_j| of body k at most, if m times its distance from joint j is at most `moment`."""
    joint = model.bodies[j].joint
    return (moment if joint.turns else 0.0) + abs(joint.travel) * model.bodies[k].inertia.m


def _product(m: float, d: float) -> float:
    return m * d if m else 0.0  # nothing, however far away


def _upright(model: Model) -> list[bool]:
    """Whether a joint turns about the vertical whatever the others do: gravity then never feels it."""
    T = kinematics.world_poses(model, [0.0] * model.n)
    axes = [np.array(matvec(T[i].R, body.joint.axis), float) for i, body in enumerate(model.bodies)]
    steady: list[bool] = []
    for i in range(len(model.bodies)):
        parallel = [
            not model.bodies[j].joint.turns or (steady[j] and np.abs(np.cross(axes[i], axes[j])).max() < PARALLEL)
            for j in model.path(i)[:-1]
        ]
        steady.append(all(parallel))
    down = np.array(model.gravity, float)
    return [
        body.joint.periodic and steady[i] and float(np.abs(np.cross(axes[i], down)).max()) < PARALLEL
        for i, body in enumerate(model.bodies)
    ]


def second_order(model: Model) -> Array:
    """Σ m |∂²p/∂x_i ∂x_j| over joints, of what gravity feels."""
    N = len(model.bodies)
    B = np.zeros((N, N))
    moments = _moments(model)
    for k in range(N):
        path = model.path(k)
        for a, i in enumerate(path):
            if not model.bodies[i].joint.turns:
                continue
            for j in path[a:]:
                B[i, j] += _moment(model, j, k, moments[k][j])
                B[j, i] = B[i, j]
    silent = _upright(model)
    B[silent, :] = B[:, silent] = 0.0
    return B


def first_order(model: Model) -> Array:
    """Σ m |∂p/∂x_i| over joints."""
    b = np.zeros(len(model.bodies))
    for k, found in enumerate(_moments(model)):
        for j, moment in found.items():
            b[j] += _moment(model, j, k, moment)
    b[_upright(model)] = 0.0
    return b


def inertial(model: Model) -> Array:
    """Σ m |∂p_c/∂x_i| |∂p_c/∂x_j| + the largest principal moment, over joints; rotors on the diagonal."""
    N = len(model.bodies)
    B = np.diag([body.rotor_inertia for body in model.bodies])
    reach = _distances(model)
    for k, body in enumerate(model.bodies):
        m = body.inertia.m
        away = float(np.linalg.norm(body.inertia.h)) / m if m else 0.0
        about = np.array(body.inertia.about_com() if m else body.inertia.I, float)
        turning = float(np.abs(np.linalg.eigvalsh(about)).max())  # some files have negative ones
        of = {j: model.bodies[j].joint for j in reach[k]}
        arm = {j: (d + away if of[j].turns else 0.0) + abs(of[j].travel) for j, d in reach[k].items()}
        for i in arm:
            for j in arm:
                both = of[i].turns and of[j].turns
                B[i, j] += (m * arm[i] * arm[j] if m else 0.0) + (turning if both else 0.0)
    return np.asarray(B[:N, :N])


def rotors(model: Model) -> list[float]:
    return [float(x) for x in joints.gather(model, [b.rotor_inertia * abs(b.multiplier) for b in model.bodies])]


def gather(model: Model, B: Array) -> Array:
    """|G|ᵀ B |G|: from joints to coordinates, mimic joints folded in."""
    G = np.zeros((len(model.bodies), model.n))
    for i, body in enumerate(model.bodies):
        G[i, body.coordinate] = abs(body.multiplier)
    with np.errstate(invalid="ignore"):
        folded = G.T @ B @ G
    return np.asarray(np.where(np.isnan(folded), np.inf, folded))


def gathered_rows(model: Model, b: Array) -> Array:
    out = np.zeros(model.n)
    for body, x in zip(model.bodies, b, strict=True):
        out[body.coordinate] += abs(body.multiplier) * x
    return out
