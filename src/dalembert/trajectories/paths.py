"""Paths in space: lines, circles, arcs and splines of points or poses, as functions of the way gone, s [m].

Points give a path of three numbers, (x, y, z). Poses give one of twelve, (x, y, z) and the rotation's entries row by
row, R = exp(φ(s)) R₀ with φ a polynomial: linear between two poses, which is the shortest turn at even speed (SLERP), a
spline through more of them. The entries of R, unlike three angles, are smooth everywhere; `poses` gives T and twists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, number
from dalembert.errors import InputError
from dalembert.flow import Scalar
from dalembert.scalar.jet import Jet, jet
from dalembert.spatial import rotation
from dalembert.spatial.vector import matmul
from dalembert.trajectories.harmonics import Sines
from dalembert.trajectories.limits import EQUAL, array, choice
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.polynomials import ENDS, coefficients, space
from dalembert.trajectories.trajectory import Traced, Trajectory

XYZ = ("x", "y", "z")
ENTRIES = tuple(f"r{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
ROTATION = 1e-6  # how far a matrix may be from a rotation
STRAIGHT = 1e-9  # of its size: a triangle flatter than that is a line
POINT, POSE = 3, 12


@dataclass(frozen=True, eq=False, repr=False)
class Helix(Trajectory):
    """A circle and a straight line added: p(s) = `round`(s) + `rise`(s)."""

    round: Sines
    rise: Piecewise
    names: tuple[str, ...] = XYZ
    units: tuple[str, ...] = ("m",) * 3

    def __post_init__(self) -> None:
        self._take(self.rise, "m", "duration", "parameter")

    @property
    def knots(self) -> Array:
        return self.rise.knots

    def derivatives(self, t: Array, order: int) -> list[Array]:
        both = self.round.derivatives(t, order), self.rise.derivatives(t, order)
        return [a + b for a, b in zip(*both, strict=True)]

    def trace(self, t: Scalar) -> Traced:
        a, b = self.round.trace(t), self.rise.trace(t)
        if a is None or b is None:
            return None
        x, xd, xdd = ([u + v for u, v in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True))
        return x, xd, xdd


@dataclass(frozen=True, eq=False, repr=False)
class PosePath(Trajectory):
    """(p(s), R(s)), R = exp(φ(s)) R₀: `position` and `turn` φ are paths of three numbers, `start` is R₀."""

    position: Piecewise | Sines | Helix
    turn: Piecewise
    start: Array
    names: tuple[str, ...] = XYZ + ENTRIES
    units: tuple[str, ...] = ("m",) * 3 + ("",) * 9

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", POSE)
        self._take(self.position, "duration", "parameter")

    @property
    def knots(self) -> Array:
        return np.unique(np.concatenate([self.position.knots, self.turn.knots]))

    @property
    def turns(self) -> bool:
        """Whether the orientation changes at all."""
        return bool(self.turn.coefficients.any())

    def derivatives(self, t: Array, order: int) -> list[Array]:
        p = self.position.derivatives(t, order)
        phi = [list(x.T) for x in self.turn.derivatives(t, order)]
        phi += [[0.0] * 3] * (4 - len(phi))
        if not self.turns:
            R = [np.broadcast_to(self.start.reshape(-1), (len(t), 9))] + [np.zeros((len(t), 9))] * order
            return [np.concatenate(pair, axis=1) for pair in zip(p, R, strict=True)]
        # a jet of jets: the rate of the inner acceleration is the third derivative
        w = [
            Jet(Jet(x, v, a), Jet(v, a, j), Jet(a, j, 0.0)) if order > 2 else Jet(x, v, a)
            for x, v, a, j in zip(*phi, strict=True)
        ]
        entries = [x for row in matmul(rotation.exp3(w), self.start.tolist()) for x in row]
        R = []
        for d in range(order + 1):
            parts = [_part(e, d, order > 2) for e in entries]
            R.append(np.stack([np.broadcast_to(x, t.shape) for x in parts], axis=1))
        return [np.concatenate(pair, axis=1) for pair in zip(p, R, strict=True)]

    def trace(self, t: Scalar) -> Traced:
        position, turn = self.position.trace(t), self.turn.trace(t)
        if position is None or turn is None:
            return None
        if not self.turns:
            R = self.start.reshape(-1).tolist()
            return [*position[0], *R], [*position[1], *[0.0] * 9], [*position[2], *[0.0] * 9]
        w = [Jet(x, v, a) for x, v, a in zip(*turn, strict=True)]
        entries = [jet(x) for row in matmul(rotation.exp3(w), self.start.tolist()) for x in row]
        return (
            [*position[0], *(e.value for e in entries)],
            [*position[1], *(e.rate for e in entries)],
            [*position[2], *(e.acceleration for e in entries)],
        )


def _part(x: Scalar, order: int, nested: bool) -> Scalar:
    """A derivative of a jet, or of a jet of jets."""
    if not isinstance(x, Jet):
        return x if order == 0 else 0.0
    if not nested:
        return (x.value, x.rate, x.acceleration)[order]
    inner = jet((x.value, x.value, x.value, x.rate)[order])
    return (inner.value, inner.rate, inner.acceleration, inner.acceleration)[order]


def poses(motion: Trajectory, t: ArrayLike) -> tuple[Array, Array, Array]:
    """T (..., 4, 4), the twist (v, ω) and its rate (v̇, ω̇), (..., 6) each in world axes, of a motion or path of poses:
    S(ω) = Ṙ Rᵀ, and S(ω̇) is the antisymmetric part of R̈ Rᵀ."""
    if motion.m != POSE:
        raise InputError("wrong-shape", "motion", motion.m, expected="a motion of poses, 12 numbers (p, R)")
    x, xd, xdd = motion(t)
    R, Rd, Rdd = (y[..., 3:].reshape(*y.shape[:-1], 3, 3) for y in (x, xd, xdd))
    back = np.swapaxes(R, -1, -2)
    T = np.zeros((*x.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, x[..., :3], 1.0
    twist = np.concatenate([xd[..., :3], _unskew(Rd @ back)], axis=-1)
    return T, twist, np.concatenate([xdd[..., :3], _unskew(Rdd @ back)], axis=-1)


def _unskew(S: Array) -> Array:
    return 0.5 * np.stack(
        [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], axis=-1
    )


# ------------------------------------------------------------------------------------------- what users give
def _read_place(name: str, value: ArrayLike) -> tuple[Array, Array | None]:
    """A point (3,), or a pose (4, 4): position, and orientation if there is one."""
    x = array(name, value)
    if x.shape == (3,):
        return x, None
    if x.shape != (4, 4):
        raise InputError("wrong-shape", name, x, expected="a point (3,) or a pose (4, 4)")
    R = x[:3, :3]
    if rotation.orthonormal_error(R.tolist()) > ROTATION or np.abs(x[3] - (0, 0, 0, 1)).max() > ROTATION:
        raise InputError("wrong-value", name, expected="a pose: a rotation, a translation and the row (0, 0, 0, 1)")
    return x[:3, 3], R


def _read_places(values: Sequence[tuple[str, ArrayLike]]) -> tuple[list[Array], list[Array] | None]:
    """Positions, and orientations if all have one."""
    found = [_read_place(name, value) for name, value in values]
    turned = [R for _, R in found if R is not None]
    if turned and len(turned) < len(found):
        raise InputError("wrong-shape", "places", problem="points and poses cannot be mixed")
    return [p for p, _ in found], turned or None


def _log(R: Array) -> Array:
    return np.array(rotation.log3(R.tolist()))


def _linear(a: Array, b: Array, length: float, parameter: str, names: tuple[str, ...], unit: str) -> Piecewise:
    C = np.stack([a, (b - a) / length])[None]
    return Piecewise(np.array([0.0, length]), C, names, (unit,) * len(a), parameter)


def _turning(position: Piecewise | Sines | Helix, angle: Array, R: Array) -> PosePath:
    """The orientation turning evenly by the rotation vector along the whole path."""
    turn = _linear(np.zeros(3), angle, position.duration, position.parameter, ("φx", "φy", "φz"), "rad")
    return PosePath(position, turn, R)


# ------------------------------------------------------------------------------------------------------ the paths
def line(start: ArrayLike, end: ArrayLike) -> Piecewise | PosePath:
    """A straight line between two points or poses, the orientation turning evenly about one axis (SLERP). s is the way
    gone [m]; the angle turned [rad] where only the orientation changes."""
    (a, b), R = _read_places((("start", start), ("end", end)))
    length = float(np.linalg.norm(b - a))
    still = length <= EQUAL * max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-300)
    angle = np.zeros(3) if R is None else _log(R[1] @ R[0].T)
    turn = float(np.linalg.norm(angle))
    if still and turn <= 1e-12:
        raise InputError("conflict", "end", problem="`start` and `end` are the same, so there is no line between them")
    position = _linear(a, a if still else b, turn if still else length, "s [rad]" if still else "s [m]", XYZ, "m")
    return position if R is None else _turning(position, angle, R[0])


def screw(start: ArrayLike, end: ArrayLike) -> PosePath:
    """The screw motion from one pose to another, T(s) = T₀ exp(s log(T₀⁻¹ T₁)), s from 0 to 1: a turn about one axis in
    space at even speed and a slide along it. Lynch & Park 2017, §9.2.1; with `along(path, quintic(0, 1, T))` it is
    their ScrewTrajectory."""
    (a, b), R = _read_places((("start", start), ("end", end)))
    if R is None:
        raise InputError(
            "wrong-shape", "start", problem="a screw motion needs two poses (4, 4)", remedy="Between points, use line."
        )
    phi, whole = _log(R[1] @ R[0].T), "s [1]"
    angle = float(np.linalg.norm(phi))
    if angle <= 1e-9:
        return _turning(_linear(a, b, 1.0, whole, XYZ, "m"), phi, R[0])
    n = phi / angle
    rise = n * float(n @ (b - a))
    across = b - a - rise
    u = -0.5 * across - np.cross(n, across) / (2.0 * math.tan(0.5 * angle))  # from the axis to the start
    amplitude, phase = np.stack([np.cross(n, u), u]), np.stack([np.zeros(3), np.full(3, math.pi / 2)])
    sides = (XYZ, ("m",) * 3, 1.0, math.tau / angle, whole)
    turning = Sines(a - u, amplitude, np.full(2, angle), phase, *sides)
    return _turning(Helix(turning, _linear(np.zeros(3), rise, 1.0, whole, XYZ, "m")), phi, R[0])


def circle(
    center: ArrayLike, normal: ArrayLike, start: ArrayLike, *, angle: float = 2 * math.pi, orientation: str = "fixed"
) -> Sines | PosePath:
    """A circle about an axis through the center along the normal, from a point or pose on it through an angle [rad]
    (negative: the other way round). The start's offset along the normal is kept: the circle lies in its plane. Of a
    pose the orientation is "fixed", or "turning" with the circle."""
    c, n = array("center", center), array("normal", normal)
    for name, x in (("center", c), ("normal", n)):
        if x.shape != (3,):
            raise InputError("wrong-shape", name, x, expected="three numbers")
    size = float(np.linalg.norm(n))
    if size == 0:
        raise InputError("out-of-range", "normal", expected="not be zero")
    p, R = _read_place("start", start)
    turn = number("angle", angle)
    if turn == 0:
        raise InputError("out-of-range", "angle", angle, expected="not be zero")
    choice("orientation", orientation, ("fixed", "turning"))
    n = n / size
    c = c + n * float(n @ (p - c))
    u = p - c
    radius = float(np.linalg.norm(u))
    if radius <= EQUAL * max(float(np.abs(p).max()), 1e-300):
        raise InputError("conflict", "start", problem="`start` lies on the axis of the circle, so the radius is zero")
    v = np.cross(n, u) * math.copysign(1.0, turn)
    position = _round(c, u, v, radius, abs(turn) * radius)
    if R is None:
        return position
    return _turning(position, n * turn if orientation == "turning" else np.zeros(3), R)


def _round(c: Array, u: Array, v: Array, radius: float, length: float) -> Sines:
    """c + u cos(s/r) + v sin(s/r), a sum of two sines."""
    amplitude = np.stack([v, u])
    phase = np.stack([np.zeros(3), np.full(3, math.pi / 2)])
    return Sines(c, amplitude, np.full(2, 1 / radius), phase, XYZ, ("m",) * 3, length, math.tau * radius, "s [m]")


def arc(start: ArrayLike, via: ArrayLike, end: ArrayLike) -> Sines | PosePath:
    """The arc of the circle through three points; between poses the orientation turns evenly from start to end (`via`
    is a point, or a pose whose orientation does not matter)."""
    middle = _read_place("via", via)[0]
    (a, b), R = _read_places((("start", start), ("end", end)))
    x, y = middle - a, b - a
    n = np.cross(x, y)
    size = float(np.linalg.norm(n))
    scale = max(float(np.linalg.norm(x)), float(np.linalg.norm(y)))
    if size <= STRAIGHT * scale * scale:
        raise InputError(
            "infeasible",
            "via",
            problem="`start`, `via` and `end` lie on one line, or two of them are equal, so no circle goes "
            "through them",
        )
    c = a + np.cross(float(x @ x) * y - float(y @ y) * x, n) / (2 * size * size)
    u = a - c
    radius = float(np.linalg.norm(u))
    n = n / size
    turn = math.atan2(float(n @ np.cross(u, b - c)), float(u @ (b - c))) % (2 * math.pi)
    position = _round(c, u, np.cross(n, u), radius, turn * radius)
    return position if R is None else _turning(position, _log(R[1] @ R[0].T), R[0])


def via(places: Sequence[ArrayLike], *, ends: str = "natural", degree: int = 3) -> Piecewise | PosePath:
    """A smooth path through points or poses: a spline (C², or C⁴ for degree 5) over the length of the chords [m]. The
    orientation is exp(φ(s)) R₀ with a spline φ through the rotation vectors from the first orientation, each taken
    nearest to the one before."""
    choice("ends", ends, ENDS[:2])
    choice("degree", degree, (3, 5))
    if len(places) < 2:
        raise InputError("too-few", "places", len(places), expected="at least two places")
    points, R = _read_places([(f"places[{k}]", x) for k, x in enumerate(places)])
    p = np.stack(points)
    s = space(p, 1.0)
    rest = [np.zeros((2, 3))] * ((degree - 1) // 2)
    position = Piecewise(s, coefficients(s, p, degree, ends, rest), XYZ, ("m",) * 3, "s [m]")
    if R is None:
        return position
    phi = [np.zeros(3)]
    for Rk in R[1:]:
        phi.append(_nearest(_log(Rk @ R[0].T), phi[-1]))
    turn = replace(position, coefficients=coefficients(s, np.stack(phi), degree, ends, rest), units=("rad",) * 3)
    return PosePath(position, turn, R[0])


def _nearest(phi: Array, before: Array) -> Array:
    """Of the rotation vectors of one rotation, a whole turn apart along its axis, the nearest to the one before."""
    angle = float(np.linalg.norm(phi))
    if angle < 1e-12:
        return phi
    axis = phi / angle
    turns = round((float(before @ axis) - angle) / (2 * math.pi))
    return np.asarray(axis * (angle + 2 * math.pi * turns))
