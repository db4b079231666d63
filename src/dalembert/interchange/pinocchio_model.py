"""A Pinocchio model → Robot.

Carried: joints with one axis (revolute, unbounded, prismatic, helical, along any direction, mimicking others),
free-flyers, spherical and planar joints, their placements, limits, damping, dry friction and armature; bodies'
inertias, with what Pinocchio lumped into them already; body and operational frames; gravity. Refused: other joints that
move in several ways. Not carried, for a model has none: shapes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Mimic, Origin, Vector
from dalembert.errors import DescriptionError, InputError
from dalembert.lazy import library
from dalembert.robot import Robot
from dalembert.spatial.rotation import to_rpy

if TYPE_CHECKING:
    from pinocchio import SE3, Frame, Inertia, JointModel, Model

UNLIMITED = 1e30  # beyond it, a limit is none: Pinocchio writes infinity, or the largest number there is
ROUNDING = 1e-12
# Joints with several coordinates, whose rates are in the body's axes here as there.
_SEVERAL = {"JointModelFreeFlyer": "floating", "JointModelPlanar": "planar", "JointModelSpherical": "spherical"}
# What to do about the others that move in several ways.
_REMEDY = {
    "JointModelSphericalZYX": "describe it as three revolute joints whose axes meet",
    "JointModelTranslation": "describe it as three prismatic joints",
    "JointModelComposite": "add its joints one by one",
}


def from_pinocchio(model: object, tip: str | None = None, name: str | None = None) -> Robot:
    """The robot of a `pinocchio.Model` (or of what has one as `.model`).

    Joints keep their names, and coordinates Pinocchio's order of joints; an unbounded joint's pair (cos q, sin q) is
    one coordinate q here; a planar joint's (x, y, cos θ, sin θ) are x, y, θ. `tip` is a frame of the model.
    What could not be carried is warned of."""
    pin = library("pinocchio")
    found = model if isinstance(model, pin.Model) else getattr(model, "model", None)
    if not isinstance(found, pin.Model):
        raise InputError("wrong-type", "model", model, expected="a pinocchio.Model")
    return Robot(_Reader(found, name or found.name or "robot").description(), tip)


class _Reader:
    """One model being read."""

    def __init__(self, model: Model, name: str) -> None:
        self.model, self.name, self.warnings = model, name, list[str]()
        self.bodies = {k: self._body_name(k) for k in range(model.njoints)}

    def description(self) -> Description:
        model = self.model
        links = [Link(self.bodies[k], _inertial(model.inertias[k])) for k in range(model.njoints)]
        joints = [self._joint(k) for k in range(1, model.njoints)]
        for link, joint in self._frames({link.name for link in links}, {joint.name for joint in joints}):
            links.append(link)
            joints.append(joint)
        x, y, z = (float(g) for g in model.gravity.linear)
        if np.any(model.gravity.angular):
            self._warn("its gravity has an angular part, which no field of gravity has; it is left out")
        return Description(self.name, tuple(links), tuple(joints), (x, y, z), warnings=tuple(self.warnings))

    def _warn(self, sentence: str) -> None:
        self.warnings.append(f"Pinocchio model {self.name!r}: {sentence}")

    # ----------------------------------------------------------------------------------------------------- links
    def _body_name(self, k: int) -> str:
        """The body frame that coincides with the joint's, or a name made of the joint's."""
        for frame in self.model.frames:
            if frame.parentJoint == k and _is_body(frame) and _is_identity(frame.placement):
                return str(frame.name)
        return "universe" if k == 0 else f"{self.model.names[k]}_body"

    def _frames(self, taken: set[str], joint_names: set[str]) -> list[tuple[Link, Joint]]:
        """Body, operational and sensor frames beside the bodies themselves, each fixed to its body."""
        out = []
        for frame in self.model.frames:
            kind = str(frame.type).rpartition(".")[2]
            if kind in ("JOINT", "FIXED_JOINT") or frame.name == self.bodies[frame.parentJoint]:
                continue
            if frame.name in taken:
                self._warn(f"two frames are named {frame.name!r}; the second is left out")
                continue
            taken.add(frame.name)
            joint = f"{frame.name}_fixed"
            while joint in joint_names:
                joint += "_"
            joint_names.add(joint)
            origin = _origin(frame.placement)
            out.append((Link(frame.name), Joint(joint, "fixed", self.bodies[frame.parentJoint], frame.name, origin)))
        return out

    # ---------------------------------------------------------------------------------------------------- joints
    def _joint(self, k: int) -> Joint:
        model, joint = self.model, self.model.joints[k]
        who, shape = f"joint {model.names[k]!r}", joint.shortname()
        mimic = self._mimic(k) if shape == "JointModelMimic" else None
        if shape in _SEVERAL:
            return self._several(k, _SEVERAL[shape])
        if joint.nv != 1 and mimic is None:
            remedy = _REMEDY.get(shape, "describe it as joints with one axis each")
            problem = f"Pinocchio model {self.name!r}: {who} is a {shape}, which moves in {joint.nv} ways; {remedy}"
            raise DescriptionError("unsupported", "joint", shape, problem=problem)
        kind, axis, pitch = self._axis(k, who, shape, 1.0 if mimic is None else mimic.multiplier)
        limit = None if mimic is not None else self._limit(joint)
        if kind == "revolute" and (joint.nq == 2 or (limit is not None and limit.lower is limit.upper is None)):
            kind = "continuous"
        return Joint(
            str(model.names[k]),
            kind,
            self.bodies[model.parents[k]],
            self.bodies[k],
            _origin(model.jointPlacements[k]),
            axis,
            limit,
            mimic,
            Drive() if mimic is not None else self._drive(joint, who),
            pitch=pitch,
        )

    def _several(self, k: int, kind: str) -> Joint:
        """One with several coordinates; what resists it must resist all of them alike."""
        model, own = self.model, self.model.joints[k]
        rates = slice(own.idx_v, own.idx_v + own.nv)
        for what in ("armature", "damping", "friction"):
            if np.ptp(getattr(model, what)[rates]):
                self._warn(f"joint {model.names[k]!r} has a {what} of its own for each rate; the first is taken")
        name, place = str(model.names[k]), _origin(model.jointPlacements[k])
        drive = self._drive(own, f"joint {name!r}")
        axis = (0.0, 0.0, 1.0) if kind == "planar" else Joint.axis
        return Joint(name, kind, self.bodies[model.parents[k]], self.bodies[k], place, axis, drive=drive)

    def _axis(self, k: int, who: str, shape: str, scaling: float) -> tuple[str, Vector, float]:
        """Kind, axis and pitch of the joint's motion subspace S, (linear, angular), at zero: one of its halves is the
        axis, or the linear half is the pitch times the angular one."""
        joint = self.model.joints[k]
        data = joint.createData()
        joint.calc(data, library("pinocchio").neutral(self.model))
        S = np.asarray(data.S, float).ravel()[:6] / scaling
        linear, angular = np.linalg.norm(S[:3]), np.linalg.norm(S[3:])
        turns = angular > ROUNDING
        x, y, z = (float(a) for a in (S[3:] if turns else S[:3]))
        pitch = float(S[:3] @ S[3:]) if linear > ROUNDING else 0.0
        oblique = turns and np.abs(S[:3] - pitch * S[3:]).max() > ROUNDING
        if oblique or abs((angular if turns else linear) - 1.0) > ROUNDING:
            problem = (
                f"Pinocchio model {self.name!r}: {who} is a {shape}, which is not a revolute, prismatic or helical "
                "joint about an axis through its frame"
            )
            raise DescriptionError("unsupported", "joint", shape, problem=problem)
        return ("prismatic" if not turns else "helical" if pitch else "revolute"), (x, y, z), pitch

    def _mimic(self, k: int) -> Mimic:
        model = self.model
        followers = [int(i) for i in model.mimicking_joints]
        master = int(list(model.mimicked_joints)[followers.index(k)])
        own = model.joints[k].extract()
        if own.scaling == 0:
            problem = (
                f"Pinocchio model {self.name!r}: joint {model.names[k]!r} mimics with scaling 0, as fixed joints do"
            )
            raise DescriptionError("unsupported", "mimic", problem=problem, remedy="Build the model with it fixed.")
        return Mimic(str(model.names[master]), float(own.scaling), float(own.offset))

    def _limit(self, joint: JointModel) -> Limit:
        model, v = self.model, joint.idx_v
        lower = upper = None
        if joint.nq == 1:
            lower = _bound(model.lowerPositionLimit[joint.idx_q])
            upper = _bound(model.upperPositionLimit[joint.idx_q])
        return Limit(lower, upper, _bound(model.effortLimit[v]), _bound(model.velocityLimit[v]))

    def _drive(self, joint: JointModel, who: str) -> Drive:
        """Armature is what Pinocchio adds to M; its rotorInertia is only kept, and so counts there for nothing."""
        model, v = self.model, joint.idx_v
        armature, rotor = float(model.armature[v]), float(model.rotorInertia[v])
        if rotor and not armature:
            self._warn(f"{who} has a rotor inertia but no armature; Pinocchio's dynamics leave it out, and so do these")
        upper = float(getattr(model, "upperDryFrictionLimit", model.friction)[v])
        lower = -float(getattr(model, "lowerDryFrictionLimit", -model.friction)[v])
        return Drive(rotor_inertia=armature, damping=float(model.damping[v]), coulomb=(upper, lower))


def _is_body(frame: Frame) -> bool:
    return str(frame.type).rpartition(".")[2] == "BODY"


def _is_identity(placement: SE3) -> bool:
    return bool(np.abs(placement.homogeneous - np.eye(4)).max() < ROUNDING)


def _origin(placement: SE3) -> Origin:
    R = tuple(tuple(float(x) for x in row) for row in placement.rotation)
    x, y, z = (float(p) for p in placement.translation)
    roll, pitch, yaw = to_rpy(R)
    return Origin((x, y, z), (roll, pitch, yaw))


def _inertial(inertia: Inertia) -> Inertial | None:
    """Pinocchio's is about the center of mass, in the joint's axes, as ours."""
    if inertia.mass == 0 and not np.any(inertia.inertia):
        return None
    I = np.asarray(inertia.inertia, float)
    six = tuple(float(I[i, j]) for i in range(3) for j in range(i, 3))
    x, y, z = (float(c) for c in inertia.lever)
    return Inertial(float(inertia.mass), six, Origin((x, y, z)))  # type: ignore[arg-type]


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) and abs(value) < UNLIMITED else None
