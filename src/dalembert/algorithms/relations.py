"""How two frames may be held to each other: one row per kind of joint that closes a loop.

Of two frames, a (the first) and b (the second), r is b's origin and S b's rotation, both seen from a. A kind is a few
functions of (r, S) that vanish while it holds. They are polynomials, so that they run over any scalar; their rates
along a unit motion at the constraint are the plain components of the relative twist.

Orthonormal directions e₁, e₂ and the axis are fixed in a (and, for S, the same numbers in b).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.spatial.vector import Matrix, Scalar, Vector, dot, matvec, unskew

Basis = tuple[Vector, Vector, Vector]  # e₁, e₂, axis
Part = Callable[[Vector, Matrix, Basis, float], Sequence[Scalar]]


@dataclass(frozen=True)
class Relation:
    """`names` of its rows, in the order of `parts`; what must be positive for the rows to mean what they say (else the
    frames are held the wrong way round, half a turn off); whether it has an axis, or a length."""

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    upright: Part | None = None
    axis: bool = True
    length: bool = False

    @property
    def lengths(self) -> tuple[bool, ...]:
        """Which rows are lengths; the others are angles."""
        return tuple(not name.startswith(("turn", "tilt", "square")) for name in self.names)

    def residual(self, r: Vector, S: Matrix, basis: Basis, length: float) -> list[Scalar]:
        """φ: one number per row."""
        return [x for part in self.parts for x in part(r, S, basis, length)]


def _aside(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """b's origin on the axis."""
    return dot(e[0], r), dot(e[1], r)


def _along(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """b's origin at the foot of the axis: in the plane through a's origin."""
    return (dot(e[2], r),)


def _parallel(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """The axis of b along the axis of a: two small angles, about e₁ and e₂."""
    z = matvec(S, e[2])
    return -dot(e[1], z), dot(e[0], z)


def _aligned(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """sin θ times the axis of the turn that leads from a's axes to b's."""
    turn = unskew(S)
    return dot(e[0], turn), dot(e[1], turn), dot(e[2], turn)


def _perpendicular(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """e₁ of b across the axis of a: what a universal joint's cross keeps. (e₁ is that of `rotation.basis`.)"""
    return (dot(e[2], matvec(S, e[0])),)


def _apart(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    """The distance: (|r|² − l²)/2l, whose rate is the rate of |r| where it holds."""
    return ((dot(r, r) - length * length) * (0.5 / length),)


def _same_way(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    return (dot(e[2], matvec(S, e[2])),)


def _no_half_turn(r: Vector, S: Matrix, e: Basis, length: float) -> Sequence[Scalar]:
    return (1.0 + S[0][0] + S[1][1] + S[2][2],)


_POINT, _TURNS = ("x", "y", "z"), ("turn x", "turn y", "turn z")
_ASIDE, _TILTS, _ABOUT = ("aside 1", "aside 2"), ("tilt 1", "tilt 2"), ("turn 1", "turn 2", "turn 3")

RELATIONS: dict[str, Relation] = {
    "weld": Relation((*_POINT, *_TURNS), (_aside, _along, _aligned), _no_half_turn, axis=False),
    "hinge": Relation((*_ASIDE, "along", *_TILTS), (_aside, _along, _parallel), _same_way),
    "ball": Relation(_POINT, (_aside, _along), axis=False),
    "slider": Relation((*_ASIDE, *_ABOUT), (_aside, _aligned), _no_half_turn),
    "cylinder": Relation((*_ASIDE, *_TILTS), (_aside, _parallel), _same_way),
    "plane": Relation(("along",), (_along,)),
    "line": Relation(_ASIDE, (_aside,)),
    "flush": Relation(("along", *_TILTS), (_along, _parallel), _same_way),
    "universal": Relation((*_ASIDE, "along", "square"), (_aside, _along, _perpendicular)),
    "distance": Relation(("distance",), (_apart,), axis=False, length=True),
    "orientation": Relation(_TURNS, (_aligned,), _no_half_turn, axis=False),
}
