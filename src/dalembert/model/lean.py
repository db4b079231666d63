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

from dalembert.joints import Joint
from dalembert.model.model import BASE, Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.rotation import perpendicular
from dalembert.spatial.vector import cross, transpose


def lean(model: Model) -> Model:
    """The regrouped model; joints, frames and loops keep their names and places."""
    model = _aligned(model)
    inertias = [body.inertia for body in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        inertias[i], moved = body.joint.share(inertias[i])
        if body.parent != BASE:
            inertias[body.parent] += moved.to_parent(body.placement)
    bodies = tuple(replace(b, inertia=I) for b, I in zip(model.bodies, inertias, strict=True))
    return replace(model, bodies=bodies)


def _turn(joint: Joint) -> Pose:
    """The frame to use for a body: its own if the axis is one of its axes or its velocities are in them, else one whose
    z is the axis."""
    axis = joint.axis
    if not joint.direct or sorted(abs(x) for x in axis) == [0.0, 0.0, 1.0]:
        return Pose()
    x = perpendicular(axis)
    return Pose(transpose((x, cross(axis, x), axis)))


def _aligned(model: Model) -> Model:
    """Frames of oblique joints turned so that the axis is z."""
    turns = [_turn(body.joint) for body in model.bodies]
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
                joint=replace(body.joint, axis=(0.0, 0.0, 1.0)) if oblique else body.joint,
                inertia=body.inertia.to_parent(turn.inverse()) if oblique else body.inertia,
            )
        )

    def turned(f: Frame) -> Frame:
        return replace(f, pose=turns[f.body].inverse() @ f.pose) if f.body != BASE else f

    frames = tuple(turned(f) for f in model.frames)
    loops = tuple(replace(loop, first=turned(loop.first), second=turned(loop.second)) for loop in model.loops)
    return replace(model, bodies=tuple(bodies), frames=frames, loops=loops)
