"""What a joint does: where it puts its body, and how the body moves with it."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.joints.joint import combine
from dalembert.model import Body, Model
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import Scalar, Vector, add, cross, matvec, sub

Coordinates = Sequence[Scalar]


def positions(model: Model, q: Coordinates) -> list[Coordinates]:
    """Every joint's own positions, mimic joints included: multiplier · q[position] + offset where there is one."""
    return [
        (b.multiplier * q[b.position] + b.offset,) if b.joint.nq == 1 else q[b.position : b.position + b.joint.nq]
        for b in model.bodies
    ]


def rates(model: Model, qd: Coordinates) -> list[Scalar]:
    """The rates (or accelerations) of all joints' columns, mimic joints included, in the order of `model.columns`."""
    return [b.multiplier * qd[b.coordinate + k] for b in model.bodies for k in range(b.joint.nv)]


def gather(model: Model, tau: Coordinates) -> list[Scalar]:
    """Torques of all joints' columns collected on the coordinates: the transpose of `rates`."""
    total: list[Scalar] = [0.0] * model.nv
    for body, own in zip(model.bodies, model.columns, strict=True):
        for k, at in enumerate(own, body.coordinate):
            total[k] = total[k] + body.multiplier * tau[at]
    return total


def gather_matrix(model: Model, A: Sequence[Coordinates]) -> list[list[Scalar]]:
    """Gᵀ A G for a matrix over the joints' columns, G = ∂(joint rates)/∂q̇."""
    if not model.mimics:
        return [list(row) for row in A]
    rows = [gather(model, row) for row in A]
    columns = [gather(model, column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def pose(body: Body, x: Coordinates) -> Pose:
    """The body's frame in its parent's, the joint at its positions x."""
    return body.joint.pose(body.placement, x)


def subspace(body: Body) -> tuple[Motion, ...]:
    """S: the twists of the body against its parent at unit rates, in the body's frame, a column for each rate."""
    return body.joint.subspace(())  # constant in the body's frame for every kind of joint


def column(body: Body) -> Motion:
    """The one column of a joint of one coordinate."""
    (S,) = subspace(body)
    return S


def relative(model: Model, i: int, rate: Sequence[Scalar]) -> Motion:
    """S v: the twist of body i against its parent at these `rates` of all columns, in its frame."""
    own = model.columns[i]
    return combine(subspace(model.bodies[i]), rate[own.start : own.stop])


def twists_at(body: Body, T: Pose, p: Vector) -> tuple[Motion, ...]:
    """The same columns at the point p, in world axes, the body's frame being at T: z for a prismatic joint,
    z × (p − o) for a revolute one."""
    axes = [(matvec(T.R, S.v), matvec(T.R, S.w)) for S in subspace(body)]
    return tuple(Motion(add(v, cross(w, sub(p, T.p))), w) for v, w in axes)


def poses(model: Model, q: Coordinates) -> list[Pose]:
    """Each body's frame in its parent's."""
    return [pose(b, x) for b, x in zip(model.bodies, positions(model, q), strict=True)]


def _by_joint(model: Model, method: str, *vectors: Coordinates) -> list[Scalar]:
    """What a method of each independent joint gives for its parts of vectors of length nq or nv, in their order."""
    out: list[Scalar] = []
    for c in model.coordinates:
        at, rate = slice(c.position, c.position + c.joint.nq), slice(c.first, c.first + c.joint.nv)
        whole = VECTORS[method]
        out += getattr(c.joint, method)(*(x[at if of == "q" else rate] for of, x in zip(whole, vectors, strict=True)))
    return out


# The methods of joints that run over all of a model's, and what their arguments are: positions or tangent vectors.
VECTORS = {
    "integrate": "qv",
    "difference": "qq",
    "normalize": "q",
    "rates": "qv",
    "bracket": "vv",
    "coadjoint": "vv",
    "carry": "vv",
}


def integrate(model: Model, q: Coordinates, step: Coordinates) -> list[Scalar]:
    """q ⊕ d (nq): the positions reached along a tangent vector d (nv)."""
    return _by_joint(model, "integrate", q, step)


def difference(model: Model, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
    """d (nv) with q0 ⊕ d = q1."""
    return _by_joint(model, "difference", q0, q1)


def interpolate(model: Model, q0: Coordinates, q1: Coordinates, t: Scalar) -> list[Scalar]:
    """q0 ⊕ t (q1 ⊖ q0)."""
    return integrate(model, q0, [t * d for d in difference(model, q0, q1)])


def normalize(model: Model, q: Coordinates) -> list[Scalar]:
    """q with its quaternions brought to length one."""
    return _by_joint(model, "normalize", q)


def position_rates(model: Model, q: Coordinates, v: Coordinates) -> list[Scalar]:
    """q̇ (nq) at velocities v (nv)."""
    return _by_joint(model, "rates", q, v)


def drift(model: Model, v: Coordinates) -> list[list[Scalar]]:
    """D (nv×nv): the rate of a small tangent vector ε to a motion beside one of velocity v, at the same velocity, is
    D ε = [ε, v]. Zero where q̇ = v."""
    units = [[1.0 if i == j else 0.0 for i in range(model.nv)] for j in range(model.nv)]
    columns = [_by_joint(model, "bracket", unit, v) for unit in units]
    return [list(row) for row in zip(*columns, strict=True)]


# v ↦ Σ cₖ adᵏ(d) v, the inverse of the differential of exp: Bernoulli numbers over factorials, the sign of a body's v.
SERIES = {1: 0.5, 2: 1.0 / 12.0, 4: -1.0 / 720.0, 6: 1.0 / 30240.0}


def correct(model: Model, d: Coordinates, v: Coordinates, order: int) -> list[Scalar]:
    """The rate of d while q ⊕ d moves with velocity v: v + ½ [d, v] + ¹⁄₁₂ [d, [d, v]] − …, as far as a Runge–Kutta
    method of that order needs it, to order − 2  (Munthe-Kaas 1998; Hairer, Lubich & Wanner 2006, §IV.8)."""
    total, term = list(v), list(v)
    for k in range(1, max(1, order - 2) + 1 if order > 1 else 1):
        term = _by_joint(model, "bracket", d, term)
        if k in SERIES:
            total = [x + SERIES[k] * y for x, y in zip(total, term, strict=True)]
    return total


TERMS = 12  # of the average of a momentum: the next is below 1e-15 of it up to half a radian


def transport(model: Model, d: Coordinates, p: Coordinates) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """(ad_dᵀ p, Ad_exp(d)ᵀ p, ∫₀¹ Ad_exp(s d)ᵀ p ds) of momenta p (nv) along a tangent vector d: how they begin to
    turn, as they are seen from q ⊕ d, and their average on the way, Σ (ad_dᵀ)ᵏ p / (k + 1)!. (0, p, p) where q̇ = v."""
    average: list[Scalar] = list(p)
    for k in range(TERMS, 0, -1):  # Horner's rule
        turned = _by_joint(model, "coadjoint", d, average)
        average = [x + y / (k + 1) for x, y in zip(p, turned, strict=True)]
    return _by_joint(model, "coadjoint", d, p), _by_joint(model, "carry", d, p), average


def twists(model: Model, T: Sequence[Pose], qd: Coordinates) -> list[Motion]:
    """Each body's twist in its own frame, over a resting base. [Lagrange notes]: ω from Ṙ Rᵀ."""
    V: list[Motion] = []
    rate = rates(model, qd)
    for i, (body, T_i) in enumerate(zip(model.bodies, T, strict=True)):
        own = relative(model, i, rate)
        V.append(V[body.parent].to_child(T_i) + own if body.parent >= 0 else own)
    return V
