"""The dynamics as a linear function of the inertial parameters: τ = Y(q, q̇, q̈) π."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert import scalar
from dalembert.algorithms import joints, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.errors import InputError, unknown
from dalembert.friction.laws import LAWS, Friction, Piece, pieces, sign
from dalembert.model import Body, Model
from dalembert.spatial import Force
from dalembert.spatial.vector import ZERO, Matrix, Scalar, Vector

PER_BODY = 10
INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
FRICTION = ("viscous", "coulomb")  # columns per joint, in this order, if none are named
# Every friction column there is: levels of `friction.laws`, for both directions together or for each.
SIDED = ("viscous", "coulomb", "stribeck", "power")
COLUMNS = (*(f"{name}{side}" for name in SIDED for side in ("", "+", "-")), "offset")


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
    friction: bool | Sequence[str] = False,
    rotor: bool = False,
) -> list[list[Scalar]]:
    """Y(q, q̇, q̈), n × (10 per body [+ n rotor] [+ n per friction column]), with Y π = M q̈ + c + g.

    π: per moving body (m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz) about the joint frame's origin; then,
    if asked, N² J_m per coordinate; then the friction columns, each for all coordinates: viscous and Coulomb, or those
    named. [Poonawala] §5.3, [Fakhari 2].
    """
    A, K = newton_euler.accelerations(model, q, qd, qdd)
    T = joints.poses(model, q)
    Y: list[list[Scalar]] = [[0.0] * (PER_BODY * len(model.bodies)) for _ in range(model.nv)]
    for i in range(len(model.bodies)):
        columns = _body_columns(A[i], K[i])
        k = i
        while True:
            body = model.bodies[k]
            for row, S in zip(Y[body.coordinate :], joints.subspace(body), strict=False):
                for c, F in enumerate(columns):
                    own = S.dot(F)
                    at = PER_BODY * i + c
                    row[at] = row[at] + body.multiplier * own
            if body.parent < 0:
                break
            columns = [F.to_parent(T[k]) for F in columns]
            k = body.parent
    if rotor:
        Y = _beside(Y, _diagonal(qdd))
    for column in friction_columns(friction):
        Y = _beside(Y, _diagonal([friction_shape(model, c, column, v) for c, v in enumerate(qd)]))
    return Y


def friction_columns(friction: object) -> tuple[str, ...]:
    """The names of the friction columns that were asked for: True means `FRICTION`."""
    if isinstance(friction, bool):
        return FRICTION if friction else ()
    names = (friction,) if isinstance(friction, str) else friction
    if not isinstance(names, (tuple, list)):
        raise InputError(
            "wrong-type",
            "friction",
            friction,
            problem=f"friction is True, False or names of columns, got {type(friction).__name__}",
        )
    columns = tuple(names)
    for name in columns:
        if name not in COLUMNS:
            raise unknown("friction column", name, COLUMNS)
        if columns.count(name) > 1 or (name[-1] in "+-" and name[:-1] in columns):
            raise InputError(
                "duplicate",
                "friction",
                name,
                problem=f"friction columns {name.rstrip('+-')!r} and {name!r} say the same",
                remedy="Keep one.",
            )
    return columns


def _split(column: str) -> tuple[str, str]:
    return (column[:-1], column[-1]) if column[-1] in "+-" else (column, "")


def _sources(model: Model, coordinate: int, name: str) -> list[tuple[Body, Friction, Piece]]:
    """What gives a coordinate friction of that column."""
    return [
        (body, term, piece)
        for body in model.bodies
        if body.coordinate <= coordinate < body.coordinate + body.joint.nv
        for term in body.friction
        for piece in pieces(term)
        if piece.column == name
    ]


def _key(body: Body, term: Friction, name: str) -> tuple[object, ...]:
    """What the shape of a column depends on, as the coordinate sees it."""
    ratio = abs(body.multiplier)
    smooth = (term.smooth, term.width and term.width / ratio)
    levels = LAWS[term.law].linear
    return smooth if name == "coulomb" else (smooth, ratio, tuple(x for x in term.parameters if x[0] not in levels))


def friction_shape(model: Model, coordinate: int, column: str, v: Scalar) -> Scalar:
    """What multiplies the level of that column. A joint without Stribeck or power friction has no shape for them, and a
    column of zeros."""
    name, side = _split(column)
    if name == "offset":
        return 1.0
    sources = _sources(model, coordinate, name)
    if name == "viscous":
        shape: Scalar = v
    elif not sources:
        shape = scalar.sign(v) if name == "coulomb" else 0.0
    else:
        if len({_key(body, term, name) for body, term, _ in sources}) > 1:
            joint = sources[0][0].joint_name
            raise InputError(
                "conflict",
                "friction",
                name,
                problem=f"joint {joint!r} has several {name!r} terms of different shape, which share no column of a "
                "regressor",
            )
        body, term, piece = sources[0]
        x = abs(body.multiplier) * v
        shape = piece.shape(x) * sign(term, x) if piece.dry else piece.shape(x)
    if not side:
        return shape
    return scalar.by_sign(v, shape, 0.0) if side == "+" else scalar.by_sign(v, 0.0, shape)


def _level(body: Body, column: str) -> float:
    """What a joint gives to the level of a column on its coordinate."""
    name, side = _split(column)
    m = body.multiplier
    plus, minus = body.friction_level(name)
    if name == "offset":
        return m * plus
    if m < 0:
        plus, minus = minus, plus
    factor = m * m if name == "viscous" else abs(m)
    return factor * {"+": plus, "-": minus, "": plus if plus == minus else 0.5 * (plus + minus)}[side]


def _diagonal(values: Coordinates) -> list[list[Scalar]]:
    return [[v if i == j else 0.0 for j in range(len(values))] for i, v in enumerate(values)]


def _beside(A: list[list[Scalar]], B: list[list[Scalar]]) -> list[list[Scalar]]:
    return [[*a, *b] for a, b in zip(A, B, strict=True)]


def parameters(model: Model, friction: bool | Sequence[str] = False, rotor: bool = False) -> list[float]:
    """π in the order of the regressor's columns. Where friction differs by direction and one column stands for both, it
    is their mean."""
    pi = [x for body in model.bodies for x in body.inertia.parameters()]
    if rotor:
        pi += _on_coordinates(model, lambda b: b.multiplier**2 * b.rotor_inertia)
    for column in friction_columns(friction):
        pi += _on_coordinates(model, lambda b, column=column: _level(b, column))  # type: ignore[misc]
    return pi


def _on_coordinates(model: Model, value: Callable[[Body], float]) -> list[float]:
    """The sum over the joints of each coordinate, mimic joints included."""
    total = [0.0] * model.nv
    for body in model.bodies:
        for k in range(body.coordinate, body.coordinate + body.joint.nv):
            total[k] += value(body)
    return total


def parameter_names(model: Model, friction: bool | Sequence[str] = False, rotor: bool = False) -> list[str]:
    """Names of the columns: "link:m", "link:mx", …, "joint:rotor", "joint:viscous", "joint:coulomb"."""
    names = [f"{body.name}:{p}" for body in model.bodies for p in INERTIAL]
    extra = (("rotor",) if rotor else ()) + friction_columns(friction)
    return names + [f"{name}:{kind}" for kind in extra for name in model.names("coordinate")]
