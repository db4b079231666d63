"""The dynamics as a linear function of the inertial parameters: τ = Y(q, q̇, q̈) π."""

from __future__ import annotations

from collections.abc import Callable

from dalembert import scalar
from dalembert.algorithms import joints, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Body, Model
from dalembert.spatial import Force
from dalembert.spatial.vector import ZERO, Matrix, Scalar, Vector, dot

PER_BODY = 10
FRICTION = ("viscous", "coulomb")  # columns per joint, in this order


def _unit(k: int) -> Vector:
    return tuple(1.0 if i == k else 0.0 for i in range(3))


def _body_columns(A: newton_euler.Acceleration, K: Matrix) -> list[Force]:
    """The ten wrenches that the ten parameters, each set to one, ask for: what `body_force` gives, taken
    apart. h × a is a column for each component of h; I enters as I ω̇ + ω × I ω."""
    (x, y, z), (xd, yd, zd), (ax, ay, az) = A.w, A.wd, A.a
    columns = [Force(A.a, ZERO)]
    crosses = ((0.0, -az, ay), (az, 0.0, -ax), (-ay, ax, 0.0))
    columns += [Force(tuple(row[k] for row in K), crosses[k]) for k in range(3)]
    columns += [
        Force(ZERO, n)
        for n in (
            (xd, x * z, -(x * y)),  # I_xx
            (yd - x * z, xd + y * z, x * x - y * y),  # I_xy
            (zd + x * y, z * z - x * x, xd - y * z),  # I_xz
            (-(y * z), yd, x * y),  # I_yy
            (y * y - z * z, zd - x * y, yd + x * z),  # I_yz
            (y * z, -(x * z), zd),  # I_zz
        )
    ]
    return columns


def regressor(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    qdd: Coordinates,
    friction: bool = False,
    rotor: bool = False,
) -> list[list[Scalar]]:
    """Y(q, q̇, q̈), n × (10 per body [+ n rotor] [+ 2 n friction]), with Y π = M q̈ + c + g.

    π: per moving body (m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz) about the joint frame's origin; then,
    if asked, N² J_m per coordinate; then viscous and Coulomb coefficients per coordinate.
    Seeds 000 §5.3, 004.
    """
    A, K = newton_euler.accelerations(model, q, qd, qdd)
    T = joints.poses(model, q)
    Y: list[list[Scalar]] = [[0.0] * (PER_BODY * len(model.bodies)) for _ in range(model.n)]
    for i in range(len(model.bodies)):
        columns = _body_columns(A[i], K[i])
        k = i
        while True:
            body = model.bodies[k]
            row = Y[body.coordinate]
            for c, F in enumerate(columns):
                own = dot(F.n if body.kind == "revolute" else F.f, body.axis)
                at = PER_BODY * i + c
                row[at] = row[at] + body.multiplier * own
            if body.parent < 0:
                break
            columns = [F.to_parent(T[k]) for F in columns]
            k = body.parent
    if rotor:
        Y = _beside(Y, _diagonal(qdd))
    if friction:
        Y = _beside(Y, _diagonal(qd))
        Y = _beside(Y, _diagonal([scalar.sign(v) for v in qd]))
    return Y


def _diagonal(values: Coordinates) -> list[list[Scalar]]:
    return [[v if i == j else 0.0 for j in range(len(values))] for i, v in enumerate(values)]


def _beside(A: list[list[Scalar]], B: list[list[Scalar]]) -> list[list[Scalar]]:
    return [[*a, *b] for a, b in zip(A, B, strict=True)]


def parameters(model: Model, friction: bool = False, rotor: bool = False) -> list[float]:
    """π in the order of the regressor's columns. Asymmetric Coulomb friction has no linear column: its
    mean is given."""
    pi = [x for body in model.bodies for x in body.inertia.parameters()]
    if rotor:
        pi += _on_coordinates(model, lambda b: b.multiplier**2 * b.rotor_inertia)
    if friction:
        pi += _on_coordinates(model, lambda b: b.multiplier**2 * b.damping)
        pi += _on_coordinates(model, lambda b: abs(b.multiplier) * 0.5 * (b.coulomb[0] + b.coulomb[1]))
    return pi


def _on_coordinates(model: Model, value: Callable[[Body], float]) -> list[float]:
    """The sum over the joints of each coordinate, mimic joints included."""
    total = [0.0] * model.n
    for body in model.bodies:
        total[body.coordinate] += value(body)
    return total


def parameter_names(model: Model, friction: bool = False, rotor: bool = False) -> list[str]:
    """Names of the columns: "link:m", "link:mx", …, "joint:rotor", "joint:viscous", "joint:coulomb"."""
    inertial = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    names = [f"{body.name}:{p}" for body in model.bodies for p in inertial]
    extra = (("rotor",) if rotor else ()) + (FRICTION if friction else ())
    return names + [f"{c.name}:{kind}" for kind in extra for c in model.coordinates]
