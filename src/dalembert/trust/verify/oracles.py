"""Other libraries as methods: Pinocchio, MuJoCo, Drake, each imported when it is used.

They are given the robot's own URDF text (written out where it came from another format), gravity and rotor inertias,
which URDF cannot say. Mimic joints are folded here for all of them: every joint is free in theirs, positions are
x = m q + o and torques are gathered by the transpose. What a library cannot express, it does not compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from dalembert.trust.verify.linkage import Array, Linkage, States
from dalembert.trust.verify.own_methods import Values


class Unavailable(Exception):
    """The reason why a library did not take part."""


@dataclass(frozen=True)
class Subject:
    """What an oracle is given: the linkage as reference, its URDF, the frames whose Jacobians are compared."""

    linkage: Linkage
    urdf: str
    frames: tuple[str, ...]


@dataclass(frozen=True)
class Oracle:
    title: str
    compute: Callable[[Subject, States], tuple[str, Values]]  # (version, values)


def bare(urdf: str) -> str:
    """The links and joints alone: no shapes, no extensions of anybody, no mimics (they are folded here)."""
    if not urdf:
        raise Unavailable("it reads URDF, which has no type for some of the joints")
    try:
        root = ElementTree.fromstring(urdf.encode())
    except ElementTree.ParseError as error:
        raise Unavailable(f"the URDF is not what the standard library's XML parser takes ({error})") from None
    for child in list(root):
        if child.tag not in ("link", "joint"):
            root.remove(child)
            continue
        keep = ("inertial",) if child.tag == "link" else ("origin", "parent", "child", "axis", "limit", "dynamics")
        for part in list(child):
            if part.tag not in keep:
                child.remove(part)
    return ElementTree.tostring(root, encoding="unicode")


def fold(linkage: Linkage, places: dict[str, int], count: int) -> tuple[Array, Array]:
    """(G, offsets): positions of the library's joints are G q + offsets, by the places of their names."""
    names = {name: k for k, name in enumerate(linkage.coordinates)}
    G, offsets = np.zeros((count, len(names))), np.zeros(count)
    for j in linkage.movers:
        part = linkage.parts[j]
        if part.joint not in places:
            raise Unavailable(f"it has no joint {part.joint!r}")
        master, multiplier, offset = linkage.follow(part)
        G[places[part.joint], names[master]] = multiplier
        offsets[places[part.joint]] = offset
    return G, offsets


def plain_friction(linkage: Linkage) -> bool:
    """Whether damping and one Coulomb level per joint, all that URDF's <dynamics> can say, is all there is."""
    parts = [linkage.parts[j] for j in linkage.movers]
    return all(not (p.stiffness or p.friction or p.coulomb_width) and p.coulomb[0] == p.coulomb[1] for p in parts)


def _rotors(linkage: Linkage, places: dict[str, int]) -> dict[int, float]:
    parts = [linkage.parts[j] for j in linkage.movers]
    return {places[p.joint]: p.gear**2 * p.rotor for p in parts if p.rotor}


class _Gathered:
    """Values state by state, folded onto the robot's coordinates."""

    def __init__(self, G: Array) -> None:
        self.G = G
        self.values: dict[str, list[Array]] = {}
        self.frames: dict[str, dict[str, list[Array]]] = {"pose": {}, "jacobian": {}}

    def add(self, name: str, x: ArrayLike) -> None:
        self.values.setdefault(name, []).append(np.array(x))

    def torque(self, name: str, tau: ArrayLike) -> None:
        self.add(name, self.G.T @ np.asarray(tau))

    def square(self, name: str, A: ArrayLike) -> None:
        self.add(name, self.G.T @ np.asarray(A) @ self.G)

    def frame(self, kind: str, frame: str, x: ArrayLike) -> None:
        self.frames[kind].setdefault(frame, []).append(np.array(x))

    def all(self) -> Values:
        out: Values = {name: np.stack(rows) for name, rows in self.values.items()}
        framed = {kind: frames for kind, frames in self.frames.items() if frames}
        return out | {kind: {f: np.stack(x) for f, x in frames.items()} for kind, frames in framed.items()}


def _pinocchio(subject: Subject, s: States) -> tuple[str, Values]:
    try:
        import pinocchio as pin
    except ImportError:
        raise Unavailable("not installed") from None

    m = subject.linkage
    try:
        model = pin.buildModelFromXML(bare(subject.urdf))
    except (ValueError, RuntimeError) as error:
        raise Unavailable(f"Pinocchio refuses the URDF: {_first_line(error)}") from None
    model.gravity.linear = np.array(m.gravity)
    joints = {model.names[k]: model.joints[k] for k in range(1, model.njoints)}
    places = {name: joint.idx_v for name, joint in joints.items()}
    G, offsets = fold(m, places, model.nv)
    # Its kinetic energy counts the armature of some kinds of joints and not of others: it is asked without.
    links_only = pin.Model(model)
    for place, rotor in _rotors(m, places).items():
        model.armature[place] = rotor
    data, links_data = model.createData(), links_only.createData()
    at = {place: joints[name] for name, place in places.items()}
    frames = {f.name: k for k, f in enumerate(model.frames) if f.type == pin.FrameType.BODY}
    links = [p.link for p in m.parts if p.frame and p.link in frames]
    out = _Gathered(G)
    folds = any(m.parts[j].follows for j in m.movers)

    def state(q: Array) -> Array:
        x, positions = np.array(pin.neutral(model)), G @ q + offsets
        for place, joint in at.items():
            angle = positions[place]
            turned = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
            x[joint.idx_q : joint.idx_q + joint.nq] = turned
        return x

    def mass_matrix(x: Array) -> Array:
        M = np.array(pin.crba(model, data, x)).reshape(model.nv, model.nv)
        return np.triu(M) + np.triu(M, 1).T  # the upper half is what is promised

    M = G.T @ mass_matrix(state(s.q[0])) @ G
    singular = not M.size or float(np.linalg.cond(M)) > 1e13
    for k, (q, qd, qdd, tau) in enumerate(zip(s.q, s.qd, s.qdd, s.tau, strict=True)):
        x, v, a = state(q), G @ qd, G @ qdd
        rest = np.zeros(model.nv)
        gravity = np.array(pin.rnea(model, data, x, rest, rest))
        out.torque("gravity_torque", gravity)
        out.torque("coriolis_torque", np.array(pin.rnea(model, data, x, v, rest)) - gravity)
        out.torque("torque", pin.rnea(model, data, x, v, a))
        out.square("mass_matrix", mass_matrix(x))
        if not folds and not singular:
            out.add("acceleration", G.T @ pin.aba(model, data, x, v, G @ tau))
        if not folds and k < len(s.few):
            by_q, by_v, _ = pin.computeRNEADerivatives(model, data, x, v, a)
            out.square("torque_by_q", np.array(by_q))
            out.square("torque_by_qd", np.array(by_v))
        rotors = 0.5 * float((model.armature * v**2).sum())
        out.add("kinetic_energy", pin.computeKineticEnergy(links_only, links_data, x, v) + rotors)
        out.add("potential_energy", pin.computePotentialEnergy(model, data, x))
        if plain_friction(m):
            dry = np.asarray(getattr(model, "upperDryFrictionLimit", model.friction)).reshape(-1)
            out.torque("friction_torque", np.asarray(model.damping) * v + dry * np.sign(v))
        pin.framesForwardKinematics(model, data, x)
        for link in links:
            out.frame("pose", link, data.oMf[frames[link]].homogeneous)
        for link in subject.frames:
            if link in frames:
                J = pin.computeFrameJacobian(model, data, x, frames[link], pin.LOCAL_WORLD_ALIGNED)
                out.frame("jacobian", link, J.reshape(6, model.nv) @ G)
    return str(pin.__version__), out.all()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


MUJOCO = (
    '<mujoco><compiler fusestatic="{fuse}" balanceinertia="false" boundmass="0" boundinertia="0" discardvisual="true"/>'
    "</mujoco></robot>"
)


def _mujoco(subject: Subject, s: States) -> tuple[str, Values]:
    try:
        import mujoco  # type: ignore[import-untyped]
    except ImportError:
        raise Unavailable("not installed") from None

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # or MuJoCo leaves a log in the user's folder
    try:
        return str(mujoco.__version__), _mujoco_values(mujoco, subject, s)
    finally:
        mujoco.set_mju_user_warning(before)


def _mujoco_values(mujoco: ModuleType, subject: Subject, s: States) -> Values:
    m, text = subject.linkage, bare(subject.urdf)
    model = _compiled(mujoco, text)
    model.opt.gravity[:] = m.gravity
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_SPRING) | int(off.mjDSBL_DAMPER)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    damping, dry = model.dof_damping.copy(), model.dof_frictionloss.copy()
    model.dof_frictionloss[:] = 0
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(model.njnt)]
    places = {name: int(model.jnt_dofadr[j]) for j, name in enumerate(names)}
    qpos = {int(model.jnt_dofadr[j]): int(model.jnt_qposadr[j]) for j in range(model.njnt)}
    G, offsets = fold(m, places, model.nv)
    for place, rotor in _rotors(m, places).items():
        model.dof_armature[place] = rotor
    data = mujoco.MjData(model)
    bodies = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, b): b for b in range(model.nbody)}
    links = [p.link for p in m.parts if p.frame and p.link in bodies]
    folds = any(m.parts[j].follows for j in m.movers)
    out, order = _Gathered(G), [qpos[k] for k in range(model.nv)]
    for q, qd, qdd, tau in zip(s.q, s.qd, s.qdd, s.tau, strict=True):
        data.qpos[order], data.qvel[:], data.qacc[:] = G @ q + offsets, G @ qd, G @ qdd
        mujoco.mj_inverse(model, data)
        out.torque("torque", data.qfrc_inverse)
        bias = data.qfrc_bias.copy()
        M = np.zeros((model.nv, model.nv))
        try:
            mujoco.mj_fullM(model, data, M)
        except TypeError:  # before version 3.4 the third argument was the sparse matrix
            mujoco.mj_fullM(model, M, data.qM)
        out.square("mass_matrix", M)
        out.add("kinetic_energy", data.energy[1])
        out.add("potential_energy", data.energy[0])
        if plain_friction(m):
            out.torque("friction_torque", damping * data.qvel + dry * np.sign(data.qvel))
        for link in links:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = data.xmat[bodies[link]].reshape(3, 3), data.xpos[bodies[link]]
            out.frame("pose", link, T)
        for link in subject.frames:
            if link in bodies:
                J = np.zeros((6, model.nv))
                mujoco.mj_jacBody(model, data, J[:3], J[3:], bodies[link])
                out.frame("jacobian", link, J @ G)
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        out.torque("gravity_torque", data.qfrc_bias)
        out.torque("coriolis_torque", bias - data.qfrc_bias)
        if not folds:
            data.qvel[:], data.qfrc_applied[:] = G @ qd, G @ tau
            mujoco.mj_forward(model, data)
            out.add("acceleration", G.T @ data.qacc)
            data.qfrc_applied[:] = 0.0
    return out.all()


def _compiled(mujoco: ModuleType, text: str) -> Any:
    """With the fixed links as bodies of their own, or, where MuJoCo cannot, fused into the moving ones."""
    refused = ""
    for fuse in ("false", "true"):
        try:
            return mujoco.MjModel.from_xml_string(text.replace("</robot>", MUJOCO.format(fuse=fuse)))
        except ValueError as error:
            refused = _first_line(error)
    raise Unavailable(f"MuJoCo refuses the URDF: {refused}")


def _drake(subject: Subject, s: States) -> tuple[str, Values]:
    try:
        import pydrake  # type: ignore[import-not-found]
        from pydrake.multibody.parsing import Parser  # type: ignore[import-not-found]
        from pydrake.multibody.plant import MultibodyPlant  # type: ignore[import-not-found]
    except ImportError:
        raise Unavailable("not installed") from None

    m, plant = subject.linkage, MultibodyPlant(time_step=0.0)
    try:
        Parser(plant).AddModelsFromString(bare(subject.urdf), "urdf")
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(m.parts[0].link))
        plant.mutable_gravity_field().set_gravity_vector(np.array(m.gravity))
        plant.Finalize()
    except RuntimeError as error:
        raise Unavailable(f"Drake refuses the URDF: {_first_line(error)}") from None
    context = plant.CreateDefaultContext()
    joints = {p.joint: plant.GetJointByName(p.joint) for p in (m.parts[j] for j in m.movers)}
    places = {name: joint.velocity_start() for name, joint in joints.items()}
    starts = {joint.velocity_start(): joint.position_start() for joint in joints.values()}
    G, offsets = fold(m, places, plant.num_velocities())
    armature = np.zeros(plant.num_velocities())
    for place, rotor in _rotors(m, places).items():
        armature[place] = rotor
    out, order = _Gathered(G), [starts[k] for k in range(plant.num_velocities())]
    for q, qd, qdd in zip(s.q, s.qd, s.qdd, strict=True):
        x = np.zeros(plant.num_positions())
        x[order] = G @ q + offsets
        plant.SetPositions(context, x)
        plant.SetVelocities(context, G @ qd)
        gravity = -plant.CalcGravityGeneralizedForces(context)
        c = plant.CalcBiasTerm(context)
        M = plant.CalcMassMatrixViaInverseDynamics(context) + np.diag(armature)
        out.torque("gravity_torque", gravity)
        out.torque("coriolis_torque", c)
        out.square("mass_matrix", M)
        out.torque("torque", M @ (G @ qdd) + c + gravity)
        for part in m.parts:
            if part.frame:
                frame = plant.GetFrameByName(part.link)
                out.frame("pose", part.link, frame.CalcPoseInWorld(context).GetAsMatrix4())
    return str(getattr(pydrake, "__version__", "unknown version")), out.all()


ORACLES: dict[str, Oracle] = {
    "pinocchio": Oracle("Pinocchio", _pinocchio),
    "mujoco": Oracle("MuJoCo", _mujoco),
    "drake": Oracle("Drake", _drake),
}
