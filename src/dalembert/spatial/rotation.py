"""Rotations: about an axis, roll–pitch–yaw, Euler sequences, exponential and logarithm.

A rotation R_ab is a 3×3 matrix that maps coordinates in b to coordinates in a. Euler sequences are
named in the order of multiplication: "zyz" is Rz(α₁) Ry(α₂) Rz(α₃). "rpy" is URDF's: the angles are
(roll, pitch, yaw) and R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from numbers import Real

from dalembert import scalar
from dalembert.errors import unknown
from dalembert.spatial.vector import (
    IDENTITY,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matadd,
    matmul,
    matscale,
    matvec,
    scale,
    skew,
    sub,
    unskew,
)

# A multiple of π/2 to the last bit or two of a double is that multiple; an angle written with fewer digits is
# taken as written.
EXACT_ANGLE = 1e-15
# Below this angle the series of exp and log replace the closed forms, which divide by θ².
SMALL_ANGLE = 1e-4

_AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

# The twelve sequences that can reach every orientation: no axis twice in a row.
EULER_SEQUENCES = tuple("".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2])


def cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """(cos, sin) of a constant angle, exact at multiples of π/2 that were written as decimals."""
    if not isinstance(angle, Real):
        return scalar.cos(angle), scalar.sin(angle)
    x = float(angle)
    quarter = round(x / (math.pi / 2)) if math.isfinite(x) else 0
    if abs(x - quarter * (math.pi / 2)) <= EXACT_ANGLE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(x), math.sin(x)


def about(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rotation about a unit axis by the angle with cosine c and sine s (Rodrigues)."""
    x, y, z = axis
    if (x, y, z).count(0.0) == 2:  # a coordinate axis: no products of the axis' components
        d = 1.0 - c
        return (
            (c if x == 0 else 1.0, -z * s, y * s),
            (z * s, c if y == 0 else 1.0, -x * s),
            (-y * s, x * s, c if z == 0 else 1.0),
        )
    d = 1.0 - c
    return (
        (c + x * x * d, x * y * d - z * s, x * z * d + y * s),
        (x * y * d + z * s, c + y * y * d, y * z * d - x * s),
        (x * z * d - y * s, y * z * d + x * s, c + z * z * d),
    )


def axis_angle(axis: Vector, angle: Scalar) -> Matrix:
    """exp(S(axis) angle) for a unit axis."""
    return about(axis, scalar.cos(angle), scalar.sin(angle))


def from_rpy(rpy: Vector) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll) of constant angles."""
    roll, pitch, yaw = (cos_sin(a) for a in rpy)
    Rz, Ry, Rx = about(_AXES["z"], *yaw), about(_AXES["y"], *pitch), about(_AXES["x"], *roll)
    return matmul(matmul(Rz, Ry), Rx)


def to_rpy(R: Matrix) -> Vector:
    """Roll, pitch and yaw of a rotation of floats; at pitch ±90° the roll is chosen zero."""
    horizontal = math.hypot(R[0][0], R[1][0])
    pitch = math.atan2(-R[2][0], horizontal)
    if horizontal > 0.1:
        return (math.atan2(R[2][1], R[2][2]), pitch, math.atan2(R[1][0], R[0][0]))
    if horizontal > 1e-12:  # the roll from what this yaw leaves of R, so that rounding in one is made up by the other
        c, s = R[0][0] / horizontal, R[1][0] / horizontal
        roll = math.atan2(s * R[0][2] - c * R[1][2], c * R[1][1] - s * R[0][1])
        return (roll, pitch, math.atan2(s, c))
    return (0.0, pitch, math.atan2(-R[0][1], R[1][1]))


def _sequence(angles: str) -> tuple[str, tuple[int, int, int]]:
    """The axes in the order of multiplication, and where each factor's angle stands."""
    if angles == "rpy":
        return "zyx", (2, 1, 0)
    if angles not in EULER_SEQUENCES:
        raise unknown("Euler sequence", angles, ("rpy", *EULER_SEQUENCES))
    return angles, (0, 1, 2)


def from_euler(alpha: Vector, angles: str = "zyz") -> Matrix:
    """R(α) of a named sequence."""
    axes, order = _sequence(angles)
    R: Matrix = IDENTITY
    for axis, k in zip(axes, order, strict=True):
        R = matmul(R, axis_angle(_AXES[axis], alpha[k]))
    return R


def euler_cos_sin(R: Matrix, angles: str = "zyz") -> tuple[tuple[Scalar, Scalar], ...]:
    """(cos, sin) of each angle of the sequence, in the order of its angles, without inverse functions;
    the middle angle in [0, π] (zyz and its like) or [−π/2, π/2] (the others). Not finite where the
    sequence is singular."""
    axes, order = _sequence(angles)
    i, j = ("xyz".index(a) for a in axes[:2])
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    k = 3 - i - j
    if axes[0] == axes[2]:
        size = scalar.sqrt(R[i][j] * R[i][j] + R[i][k] * R[i][k])
        middle = (R[i][i], size)
        first, third = (-e * R[k][i], R[j][i]), (e * R[i][k], R[i][j])
    else:
        size = scalar.sqrt(R[i][i] * R[i][i] + R[i][j] * R[i][j])
        middle = (size, e * R[i][k])
        first, third = (R[k][k], -e * R[j][k]), (R[i][i], -e * R[i][j])
    inverse = 1.0 / size
    pairs = (tuple(inverse * x for x in first), middle, tuple(inverse * x for x in third))
    return tuple(pairs[order.index(n)] for n in range(3))


def to_euler(R: Matrix, angles: str = "zyz") -> Vector:
    """α with R = R(α), of floats; the ranges are those of `euler_cos_sin`. Where the sequence is
    singular, the angle of the last factor is chosen zero."""
    axes, order = _sequence(angles)
    i, j = ("xyz".index(a) for a in axes[:2])
    k = 3 - i - j
    middle = R[i][i] if axes[0] == axes[2] else R[i][k]
    if abs(middle) < 1.0 - 1e-14:
        return tuple(math.atan2(s, c) for c, s in euler_cos_sin(R, angles))
    e = 1.0 if (j - i) % 3 == 1 else -1.0
    if axes[0] == axes[2]:
        second = 0.0 if middle > 0 else math.pi
    else:
        second = math.copysign(math.pi / 2, e * middle)
    first = math.atan2(e * R[k][j], R[j][j])
    out = (first, second, 0.0)
    return tuple(out[order.index(n)] for n in range(3))


def euler_rates(cos_sin: Sequence[tuple[Scalar, Scalar]], angles: str = "zyz") -> Matrix:
    """B(α) with ω = B(α) α̇, ω in the outer (world) frame, from the angles' (cos, sin). [Poonawala] §2.2."""
    axes, order = _sequence(angles)
    columns: list[Vector] = [(), (), ()]
    R: Matrix = IDENTITY
    for axis, k in zip(axes, order, strict=True):
        columns[k] = matvec(R, _AXES[axis])
        R = matmul(R, about(_AXES[axis], *cos_sin[k]))
    return tuple(zip(*columns, strict=True))


def euler_rates_dot(B: Matrix, rates: Vector, angles: str = "zyz") -> Matrix:
    """Ḃ(α, α̇) of B(α): the axis b_k of a factor is carried by the turns before it, ḃ_k = (Σ b_j α̇_j) × b_k over the
    factors j before k."""
    _, order = _sequence(angles)
    axes = list(zip(*B, strict=True))
    columns: list[Vector] = [(), (), ()]
    w: Vector = (0.0, 0.0, 0.0)
    for k in order:
        columns[k] = cross(w, axes[k])
        w = add(w, scale(rates[k], axes[k]))
    return tuple(zip(*columns, strict=True))


def euler_determinant(R: Matrix, angles: str = "zyz") -> Scalar:
    """|det B(α)| of the frame's angles: |sin| of the middle angle for zyz and its like, |cos| for the
    others. Zero where the angles cannot follow every rotation."""
    axes, _ = _sequence(angles)
    i, j = ("xyz".index(a) for a in axes[:2])
    other = 3 - i - j if axes[0] == axes[2] else i
    return scalar.sqrt(R[i][j] * R[i][j] + R[i][other] * R[i][other])


def even_series(theta2: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³) from θ², right at zero too."""
    small = theta2 < SMALL_ANGLE * SMALL_ANGLE
    t2 = scalar.where(small, 1.0, theta2)  # keeps the closed forms finite where they are not used
    theta = scalar.sqrt(t2)
    s, half = scalar.sin(theta), scalar.sin(0.5 * theta)
    return (
        scalar.where(small, 1.0 - theta2 / 6.0, s / theta),
        scalar.where(small, 0.5 - theta2 / 24.0, 2.0 * half * half / t2),  # 1 − cos θ would cancel
        scalar.where(small, 1.0 / 6.0 - theta2 / 120.0, (theta - s) / (t2 * theta)),
    )


def exp3(w: Vector) -> Matrix:
    """exp(S(w)): rotation by |w| about w."""
    a, b, _ = even_series(dot(w, w))
    S = skew(w)
    return matadd(IDENTITY, matadd(matscale(a, S), matscale(b, matmul(S, S))))


def log3(R: Matrix) -> Vector:
    """w with exp(S(w)) = R, |w| ≤ π, well conditioned at 0 and at π."""
    v = unskew(R)  # sin θ · axis
    s, c = scalar.sqrt(dot(v, v)), 0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0)
    theta = scalar.arctan2(s, c)
    small = s < SMALL_ANGLE
    ordinary = scale(
        scalar.where(small, 1.0 + s * s / 6.0, theta / scalar.where(small, 2.0, s)),
        v,  # not 1: see arctan2
    )
    # Near π the antisymmetric part vanishes: take the axis from ½ (R + Rᵀ) − cos θ 1 = (1 − cos θ) a aᵀ, its
    # column with the largest diagonal, with the sign that v still knows.
    S = [[0.5 * (R[i][j] + R[j][i]) - (c if i == j else 0.0) for j in range(3)] for i in range(3)]
    column = tuple(
        scalar.where(
            S[0][0] >= S[1][1],
            scalar.where(S[0][0] >= S[2][2], S[k][0], S[k][2]),
            scalar.where(S[1][1] >= S[2][2], S[k][1], S[k][2]),
        )
        for k in range(3)
    )
    far = c < -0.9
    length = scalar.sqrt(dot(column, column))
    factor = theta / scalar.where(far, length, 2.0)
    turned = scale(scalar.where(dot(column, v) >= 0.0, factor, -factor), column)
    return tuple(scalar.where(far, a, b) for a, b in zip(turned, ordinary, strict=True))


def from_quaternion(q: Vector) -> Matrix:
    """Rotation of a quaternion (x, y, z, w) of floats, of any length but zero."""
    x, y, z, w = q
    n = x * x + y * y + z * z + w * w
    s = 2.0 / n
    return (
        (1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)),
        (s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)),
        (s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)),
    )


def to_quaternion(R: Matrix) -> Vector:
    """The unit quaternion (x, y, z, w), w ≥ 0, of a rotation of floats: from the largest of its four squares."""
    (a, b, c), (d, e, f), (g, h, i) = R
    squares = (1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i)
    rows = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )
    row = rows[max(range(4), key=lambda k: squares[k])]
    length = math.copysign(math.hypot(*row), row[3])
    return tuple(x / length for x in row)


def orthonormal_error(R: Matrix) -> float:
    """Largest entry of RᵀR − I, and |det R − 1|: how far a matrix of floats is from a rotation."""
    columns = list(zip(*R, strict=True))
    gram = max(abs(dot(a, b) - (1.0 if i == j else 0.0)) for i, a in enumerate(columns) for j, b in enumerate(columns))
    det = dot(
        columns[0],
        (
            columns[1][1] * columns[2][2] - columns[1][2] * columns[2][1],
            columns[1][2] * columns[2][0] - columns[1][0] * columns[2][2],
            columns[1][0] * columns[2][1] - columns[1][1] * columns[2][0],
        ),
    )
    return float(max(gram, abs(det - 1.0)))


def basis(axis: Vector) -> tuple[Vector, Vector, Vector]:
    """(e₁, e₂, axis), right-handed, for a unit axis. e₁ is as near as can be to the coordinate direction after the
    one that the axis is nearest to: about z, x and y; about x, y and z; about y, z and x."""
    k = max(range(3), key=lambda i: abs(axis[i]))
    near = tuple(1.0 if i == (k + 1) % 3 else 0.0 for i in range(3))
    e1 = sub(near, scale(dot(near, axis), axis))
    e1 = scale(1.0 / math.sqrt(dot(e1, e1)), e1)
    return e1, cross(axis, e1), axis


def perpendicular(a: Vector) -> Vector:
    """Some unit vector at right angles to the unit vector a."""
    helper = _AXES["xyz"[min(range(3), key=lambda i: abs(a[i]))]]
    b = add(helper, scale(-dot(helper, a), a))
    return scale(1.0 / math.sqrt(dot(b, b)), b)
