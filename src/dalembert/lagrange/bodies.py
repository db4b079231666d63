"""Particles and rigid bodies placed by position vectors and rotations: their energies.

A vector is a list, tuple or SymPy matrix of one to three components; those not given are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.errors import InputError
from dalembert.lagrange.symbols import Alphabet, Expression, is_function_of_time, rate, sp, tidy

if TYPE_CHECKING:
    from sympy import Expr, Matrix


def vector(x: object, what: str) -> tuple[Expression, Expression, Expression]:
    """Three components of a list, tuple or SymPy matrix of one to three."""
    if not isinstance(x, (list, tuple, sp.MatrixBase, sp.Tuple)) or not 1 <= len(x) <= 3:
        raise InputError(
            "wrong-shape",
            what,
            x,
            problem=f"{what} must be a vector of one to three components, as in (x, y, z); got {x!r}",
        )
    try:
        parts = [sp.sympify(part, strict=True) for part in x]
    except (sp.SympifyError, TypeError):
        raise InputError(
            "wrong-type", what, x, problem=f"{what} must hold SymPy expressions or numbers, got {x!r}"
        ) from None
    a, b, c = parts + [sp.Integer(0)] * (3 - len(parts))
    return a, b, c


def _velocity(x: Expression, coordinates: Sequence[Any]) -> Expression:
    functions = any(is_function_of_time(q) for q in coordinates)
    return rate(x) if functions and x.free_symbols else rate(x, coordinates)


def _square(v: Sequence[Expression]) -> Expression:
    return sp.Add(*(x**2 for x in v))


@dataclass(frozen=True)
class Particle:
    """A mass [kg] at a position [m], a vector of expressions in the coordinates."""

    mass: Expr | float
    position: Sequence[Expr | float] | Matrix

    def kinetic_energy(self, coordinates: Sequence[Any]) -> Expression:
        """K = ½ m |ṙ|² [J].  [Lagrange notes]."""
        r = vector(self.position, "the position of a body")
        return _expression(self.mass, "the mass of a body") * _square([_velocity(x, coordinates) for x in r]) / 2

    def potential_energy(self, gravity: object) -> Expression:
        """P = −m gᵀ r [J], zero at the origin."""
        return _weight(self.mass, self.position, gravity)


@dataclass(frozen=True)
class RigidBody:
    """A body: mass [kg], inertia about its center of mass [kg m²], position of that center [m], and orientation.

    In the plane, `inertia` is one expression and `angle` the angle turned about z. In space, `inertia` is 3×3 in the
    body's own axes and `rotation` the 3×3 matrix R that maps them to the base's."""

    mass: Expr | float
    inertia: Expr | float | Matrix
    position: Sequence[Expr | float] | Matrix
    rotation: Matrix | None = None
    angle: Expr | float | None = None

    def kinetic_energy(self, coordinates: Sequence[Any]) -> Expression:
        """K = ½ m |ṙ|² + ½ ωᵀ I ω, ω in the body's axes from S(ω) = Rᵀ Ṙ [J].  [Lagrange notes]."""
        moving = Particle(self.mass, self.position).kinetic_energy(coordinates)
        if (self.rotation is None) == (self.angle is None):
            raise InputError(
                "conflict",
                "angle",
                problem="a RigidBody is turned by rotation= (3×3) or, in the plane, by angle=",
                remedy="Give one of them.",
            )
        if self.angle is not None:
            if isinstance(self.inertia, (list, tuple, sp.MatrixBase)):
                raise InputError(
                    "wrong-shape",
                    "inertia",
                    problem="a RigidBody with angle= has one moment of inertia, about z; a 3×3 needs rotation=",
                )
            I, angle = _expression(self.inertia, "the inertia of a body"), _expression(self.angle, "angle")
            return moving + I * _velocity(angle, coordinates) ** 2 / 2
        R, I = _matrix(self.rotation, "rotation"), _matrix(self.inertia, "inertia")
        if (R.T * R).applyfunc(tidy) != sp.eye(3) and (R.T * R).applyfunc(sp.simplify) != sp.eye(3):
            raise InputError(
                "wrong-value",
                "rotation",
                R,
                problem=f"rotation is not a rotation matrix: RᵀR is not the identity, R = {R}",
            )
        if (I - I.T).applyfunc(sp.expand) != sp.zeros(3):
            raise InputError("wrong-value", "inertia", problem="an inertia matrix is symmetric; this one is not")
        S = R.T * R.applyfunc(lambda x: _velocity(x, coordinates))
        omega = sp.Matrix([S[2, 1], S[0, 2], S[1, 0]]).applyfunc(tidy)
        return moving + (omega.T * I * omega)[0] / 2

    def potential_energy(self, gravity: object) -> Expression:
        """P = −m gᵀ r [J], zero at the origin."""
        return _weight(self.mass, self.position, gravity)


def _weight(mass: object, position: object, gravity: object) -> Expression:
    r, g = vector(position, "the position of a body"), vector(gravity, "gravity")
    return -_expression(mass, "the mass of a body") * sp.Add(*(a * b for a, b in zip(g, r, strict=True)))


def _expression(x: object, what: str) -> Expression:
    try:
        return sp.sympify(x, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(
            "wrong-type", what, x, problem=f"{what} must be a SymPy expression or a number, got {x!r}"
        ) from None


def _matrix(x: object, what: str) -> Matrix:
    try:
        matrix = sp.Matrix(x)
    except (TypeError, ValueError):
        matrix = None
    if matrix is None or matrix.shape != (3, 3):
        raise InputError("wrong-shape", what, x, problem=f"{what} must be a 3×3 matrix, got {x!r}")
    return matrix


def as_bodies(bodies: Particle | RigidBody | Sequence[Particle | RigidBody]) -> list[Particle | RigidBody]:
    listed: list[Particle | RigidBody] = []
    for body in bodies if isinstance(bodies, (list, tuple)) else [bodies]:
        if not isinstance(body, (Particle, RigidBody)):
            raise InputError(
                "wrong-type",
                "bodies",
                body,
                problem=f"bodies are Particle or RigidBody objects, not {type(body).__name__}",
            )
        listed.append(body)
    return listed


def energies(
    bodies: Particle | RigidBody | Sequence[Particle | RigidBody], coordinates: Sequence[Any], gravity: object
) -> tuple[Expression, Expression]:
    """(K, P) of several bodies."""
    listed = as_bodies(bodies)
    kinetic = sp.Add(*(body.kinetic_energy(coordinates) for body in listed))
    return kinetic, sp.Add(*(body.potential_energy(gravity) for body in listed))


class Placed(NamedTuple):
    """A body in the system's own symbols: its energies, position and velocity (those components that it has), and in
    the plane its rate of turning (None in space, and of a particle)."""

    kinetic: Expression
    potential: Expression
    position: tuple[Expression, ...]
    velocity: tuple[Expression, ...]
    turning: Expression | None


def placed(body: Particle | RigidBody, alphabet: Alphabet, coordinates: Sequence[Any], gravity: object) -> Placed:
    def read(x: Expression) -> Expression:
        return alphabet.read(x, "a body")

    position = tuple(map(read, vector(body.position, "the position of a body")[: len(body.position)]))
    velocity = tuple(read(_velocity(x, coordinates)) for x in vector(body.position, "")[: len(position)])
    angle = body.angle if isinstance(body, RigidBody) else None
    turning = None if angle is None else read(_velocity(_expression(angle, "angle"), coordinates))
    energy = read(body.kinetic_energy(coordinates)), read(body.potential_energy(gravity))
    return Placed(*energy, position, velocity, turning)
