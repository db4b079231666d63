"""The same dynamics with fewer numbers: mass that a joint cannot tell apart moves to the parent.

Mass on a revolute joint's axis moves exactly as it would if it were fixed to the parent: its mass m, first
moment along the axis and second moment along the axis (three of the ten parameters) can change sides.
A prismatic joint does not turn its body against the parent: the six second moments can. What arrives at
the base drops out. A model so regrouped has the same joint torques, M, C, Γ, g and accelerations for every
motion over a resting base, with zeros where the compiler can use them. (These are the combinations that
identification finds: cf. Gautier & Khalil 1990.)

It is not the same robot link by link: energies keep their value only up to what the base took, and a moving
base feels what was dropped. `Robot` uses it for joint-space dynamics alone.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.model.model import BASE, Body, Frame, Model
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.rotation import perpendicular
from dalembert.spatial.vector import ZERO, Vector, cross, transpose


def lean(model: Model) -> Model:
    """The regrouped model; joints, frames and loops keep their names and places."""
    model = _aligned(model)
    inertias = [body.inertia for body in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        kept, moved = _split(inertias[i], body)
        inertias[i] = kept
        if body.parent != BASE:
            inertias[body.parent] += moved.to_parent(body.placement)
    bodies = tuple(replace(b, inertia=I) for b, I in zip(model.bodies, inertias, strict=True))
    return replace(model, bodies=bodies)


def _from_moments(m: float, h: Vector, S: list[list[float]]) -> Inertia:
    xx, yy, zz = (S[k][k] for k in range(3))
    diagonal = (yy + zz, xx + zz, xx + yy)
    return Inertia(m, h, tuple(tuple(diagonal[i] if i == j else -S[i][j] for j in range(3)) for i in range(3)))


def _split(I: Inertia, body: Body) -> tuple[Inertia, Inertia]:
    """(what the body keeps, what its parent may carry)."""
    if body.kind == "prismatic":
        return Inertia(I.m, I.h), Inertia(0.0, ZERO, I.I)
    k = next(k for k in range(3) if abs(body.axis[k]) == 1.0)
    S = I.second_moments()
    along = [[S[k][k] if i == j == k else 0.0 for j in range(3)] for i in range(3)]
    rest = [[0.0 if i == j == k else S[i][j] for j in range(3)] for i in range(3)]
    h_along = tuple(x if i == k else 0.0 for i, x in enumerate(I.h))
    h_rest = tuple(0.0 if i == k else x for i, x in enumerate(I.h))
    return _from_moments(0.0, h_rest, rest), _from_moments(I.m, h_along, along)


def _turn(axis: Vector) -> Pose:
    """The frame to use for a body: its own if the axis is one of its axes, else one whose z is the axis."""
    if sorted(abs(x) for x in axis) == [0.0, 0.0, 1.0]:
        return Pose()
    x = perpendicular(axis)
    return Pose(transpose((x, cross(axis, x), axis)))


def _aligned(model: Model) -> Model:
    """Frames of oblique joints turned so that the axis is z."""
    turns = [_turn(body.axis) for body in model.bodies]
    if all(turn == Pose() for turn in turns):
        return model
    bodies = []
    for body, turn in zip(model.bodies, turns, strict=True):
        before = turns[body.parent].inverse() if body.parent != BASE else Pose()
        oblique = turn != Pose()
        bodies.append(
            replace(
                body,
                placement=before @ body.placement @ turn,
                axis=(0.0, 0.0, 1.0) if oblique else body.axis,
                inertia=body.inertia.to_parent(turn.inverse()) if oblique else body.inertia,
            )
        )

    def turned(f: Frame) -> Frame:
        return replace(f, pose=turns[f.body].inverse() @ f.pose) if f.body != BASE else f

    frames = tuple(turned(f) for f in model.frames)
    loops = tuple(replace(loop, first=turned(loop.first), second=turned(loop.second)) for loop in model.loops)
    return replace(model, bodies=tuple(bodies), frames=frames, loops=loops)
