"""Torques of the joints themselves: friction of every law, and springs.

They oppose the motion, so a drive has to supply them: τ = M q̈ + h + friction(q, q̇). What depends on the load takes
the torque that the joint transmits, |L| with L from Newton–Euler before friction and rotor inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dalembert import scalar
from dalembert.algorithms import joints, linear, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.friction import equivalent, laws
from dalembert.model import Body, Model
from dalembert.spatial import Force
from dalembert.spatial.vector import Scalar

Wrenches = Mapping[int, Force] | None
# Rounds in which the signs of the loads settle. They change only where a load passes zero because friction brakes, so
# that the first guess, the signs without friction, is nearly always right; each round repairs what the last one missed.
ROUNDS = 3


def friction_torque(
    model: Model, q: Coordinates, qd: Coordinates, loads: Sequence[Scalar] | None = None
) -> list[Scalar]:
    """Σ f(q̇) + k (q − q_rest), all friction terms of each joint and its spring.  [Fakhari 2].

    `loads`: the torque each joint transmits, for terms that depend on it; those of the motion without acceleration if
    not given."""
    if loads is None:
        loads = [0.0] * columns(model)
        if model.friction_by_load:
            loads = newton_euler.joint_loads(model, q, qd, [0.0] * model.nv)
    tau = []
    rates = joints.rates(model, qd)
    for body, own, x in zip(model.bodies, model.columns, joints.positions(model, q), strict=True):
        for k in own:
            t: Scalar = 0.0
            for term in body.friction:
                t = t + laws.torque(term, rates[k], loads[k])
            if body.stiffness:
                t = t + body.stiffness * (x[0] - body.rest)
            tau.append(t)
    return joints.gather(model, tau)


def columns(model: Model) -> int:
    """How many columns all joints have, mimic joints included."""
    return sum(body.joint.nv for body in model.bodies)


def by_column(model: Model) -> list[Body]:
    """The body of each column of all joints."""
    return [body for body in model.bodies for _ in range(body.joint.nv)]


def slopes(model: Model, qd: Coordinates, loads: Sequence[Scalar]) -> list[Scalar]:
    """∂f/∂v of every joint's friction, at a given load."""
    out: list[Scalar] = []
    for body, v, load in zip(by_column(model), joints.rates(model, qd), loads, strict=True):
        total: Scalar = 0.0
        for term in body.friction:
            total = total + equivalent.slope(term, v, load)
        out.append(total)
    return out


def lost_parts(model: Model, qd: Coordinates, directions: Sequence[Scalar | None] | None = None) -> list[Scalar]:
    """μ σ(v) of every joint: the part of |load| that its friction adds, with the sign of the motion. `directions` are
    taken for that sign where they are given, joint by joint."""
    out: list[Scalar] = []
    for i, (body, v) in enumerate(zip(by_column(model), joints.rates(model, qd), strict=True)):
        along = None if directions is None else directions[i]
        total: Scalar = 0.0
        for term in body.friction:
            if laws.depends_on_load(term):
                sign = along if along is not None and laws.held(term) else laws.sign(term, v)
                total = total + term.values["load"] * sign
        out.append(total)
    return out


def load_matrix(model: Model, q: Coordinates) -> list[list[Scalar]]:
    """A with L = A q̈ + b: what each joint's columns transmit per unit of each acceleration, columns × nv."""
    floating = newton_euler.Acceleration(a=model.gravity)  # cancels gravity
    rest = [0.0] * model.nv
    found = [
        newton_euler.joint_loads(model, q, rest, [1.0 if i == j else 0.0 for i in range(model.nv)], base=floating)
        for j in range(model.nv)
    ]
    return linear.transposed(found)


def loaded_acceleration(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    tau: Coordinates,
    wrenches: Wrenches = None,
    base: newton_euler.Acceleration | None = None,
) -> list[Scalar]:
    """q̈ of M q̈ + h + f(q̇) + Σ μ |L(q̈)| σ = τ, where the load depends on the acceleration sought.

    With the signs of the loads known this is linear in q̈; they are guessed without load-dependent friction and
    repaired in a fixed number of rounds. The result is exact where the last round kept the signs."""
    A = load_matrix(model, q)
    b = newton_euler.joint_loads(model, q, qd, [0.0] * model.nv, wrenches, base)
    free = friction_torque(model, q, qd, [0.0] * columns(model))
    plain = [t - f for t, f in zip(tau, free, strict=True)]
    return solve_loaded(model, A, b, lost_parts(model, qd), plain, solve_column)[0]


def solve_loaded(
    model: Model,
    A: linear.Rows,
    b: Sequence[Scalar],
    parts: Sequence[Scalar],
    tau: Sequence[Scalar],
    solve: Callable[[linear.Rows, Sequence[Scalar]], list[Scalar]],
) -> tuple[list[Scalar], list[Scalar]]:
    """(q̈, L) with Gᵀ (L + parts |L|) + rotors = τ and L = A q̈ + b; `solve` gives q̈ of K q̈ = r."""
    factors: list[Scalar] = [1.0] * len(parts)
    qdd: list[Scalar] = []
    loads: list[Scalar] = []
    for _ in range(1 + ROUNDS):
        K = _generalized(model, A, factors)
        carried = joints.gather(model, [c * x for c, x in zip(factors, b, strict=True)])
        qdd = solve(K, [t - h for t, h in zip(tau, carried, strict=True)])
        loads = [linear.inner(row, qdd) + x for row, x in zip(A, b, strict=True)]
        factors = [1.0 + p * scalar.sign(x) for p, x in zip(parts, loads, strict=True)]
    return qdd, loads


def solve_column(K: linear.Rows, r: Sequence[Scalar]) -> list[Scalar]:
    """q̈ of K q̈ = r for a K that need not be symmetric."""
    return [x for (x,) in linear.solve(K, [[a] for a in r])]


def _generalized(model: Model, A: linear.Rows, factors: Sequence[Scalar]) -> list[list[Scalar]]:
    """Gᵀ diag(factors) A, and the rotors: M if all factors are one."""
    scaled = [[c * a for a in row] for c, row in zip(factors, A, strict=True)]
    K = linear.transposed([joints.gather(model, column) for column in zip(*scaled, strict=True)])
    for body in model.bodies:
        for c in range(body.coordinate, body.coordinate + body.joint.nv):
            K[c][c] = K[c][c] + body.multiplier * body.multiplier * body.rotor_inertia
    return K
