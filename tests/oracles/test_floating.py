"""Robots of example-robot-data, free to fly, against Pinocchio with a JointModelFreeFlyer for root; all other kinds of
joints in a tree built in Pinocchio joint by joint."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile.interpret import replay
from oracles.test_corpus import FILES, REFUSED, cases
from tolerances import error
from trees import random_tree

CLOSE = 1e-11  # relative to the largest number compared
ROBOTS = [file for file in FILES if "example-robot-data" in str(file) and file.name not in REFUSED]
QUICK = ("solo12.urdf", "bolt.urdf")


class Oracle:
    """A model of Pinocchio seen through a robot's coordinates: its joints in another order, mimic joints folded. v of
    Pinocchio is G times the robot's."""

    def __init__(self, robot: dl.Robot, model: pin.Model) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        self.G = np.zeros((model.nv, robot.nv))
        self.places: list[tuple[slice, slice, float, float]] = []
        for body in robot.model.bodies:
            joint = model.joints[model.getJointId("root_joint" if body.joint_name == "root" else body.joint_name)]
            for k in range(body.joint.nv):
                self.G[joint.idx_v + k, body.coordinate + k] = body.multiplier
            self.places.append(
                (
                    slice(joint.idx_q, joint.idx_q + joint.nq),
                    slice(body.position, body.position + body.joint.nq),
                    body.multiplier,
                    body.offset,
                )
            )

    def q(self, q: np.ndarray) -> np.ndarray:
        theirs = np.zeros(self.model.nq)
        for there, here, multiplier, offset in self.places:
            x = multiplier * q[here] + offset
            kind = there.stop - there.start
            if kind == 2:  # their angle without limits: cos, sin
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            elif kind == 4 and len(x) == 3:  # their planar joint: x, y, cos, sin
                x = np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
            theirs[there] = x
        return theirs


class Row(np.ndarray):
    """One number of every state, as a scalar."""


scalar.sin.register(Row)(np.sin)
scalar.cos.register(Row)(np.cos)
scalar.sqrt.register(Row)(np.sqrt)


def replayed(kernel: Any, *arguments: np.ndarray) -> Any:
    """What the graph of a kernel gives for a batch of states, carried out by NumPy."""
    columns = [[column.view(Row) for column in np.ascontiguousarray(a.T)] for a in arguments]
    results = []
    for values, shape in zip(replay(kernel.program, columns), kernel.outputs, strict=True):
        rows = np.array([np.broadcast_to(x, len(arguments[0])) for x in values], float)
        results.append(rows.T.reshape(-1, *shape))
    return results[0] if len(results) == 1 else tuple(results)


def near(ours: np.ndarray, theirs: np.ndarray, what: object, scale: float = 1.0, close: float = CLOSE) -> None:
    assert error(ours, theirs, scale) < close, what


def compare(robot: dl.Robot, model: pin.Model, states: int, frames: int = 3, compiled: bool = True) -> None:
    """All of it at so many states, by compiled kernels or by their graphs, which takes less time for few states."""

    def run(name: str, *arguments: np.ndarray, **options: object) -> Any:
        kernel = robot.kernel(name, **options)
        return kernel(*arguments) if compiled else replayed(kernel, *arguments)

    o = Oracle(robot, model)
    m, d, G = o.model, o.data, o.G
    rng = np.random.default_rng(5)
    Q, (V, X) = robot.random_configuration(states, seed=rng), rng.normal(size=(2, states, robot.nv))
    tau, M, g = run("inverse_dynamics", Q, V, X), run("mass_matrix", Q), run("gravity_torque", Q)
    C, D = run("coriolis_matrix", Q, V), run("inverse_dynamics_derivatives", Q, V, X)
    A, A_dot = run("centroidal_momentum_matrix", Q), run("centroidal_momentum_matrix_dot", Q, V)
    I_g, c, J_c = run("centroidal_inertia", Q), run("center_of_mass", Q), run("center_of_mass_jacobian", Q)
    chosen = robot.frames[1 :: max(1, len(robot.frames) // frames)]
    poses = {
        f: (
            run("fk", Q, frame=f),
            run("jacobian", Q, frame=f, expressed_in="local"),
            run("jacobian_dot", Q, V, frame=f),
        )
        for f in chosen
    }
    solvable = np.linalg.cond(M[0]) < 1e14  # not where bodies without mass hang on joints
    if solvable:
        F, E = run("forward_dynamics", Q, V, tau), run("forward_dynamics_derivatives", Q, V, tau)
    for k in range(states):
        q, v, x = o.q(Q[k]), G @ V[k], G @ X[k]
        near(tau[k], wanted := G.T @ pin.rnea(m, d, q, v, x), "ID")
        size = float(np.abs(wanted).max(initial=1.0))
        M_k = np.triu(pin.crba(m, d, q))
        M_k = G.T @ (M_k + np.triu(M_k, 1).T) @ G
        near(M[k], M_k, "M")
        near(g[k], G.T @ pin.computeGeneralizedGravity(m, d, q), "g", size)
        near(C[k] @ V[k], G.T @ pin.computeCoriolisMatrix(m, d, q, v) @ v, "C v", size)
        pin.computeRNEADerivatives(m, d, q, v, x)
        near(D[0][k], G.T @ d.dtau_dq @ G, "∂ID/∂q", size)
        near(D[1][k], G.T @ d.dtau_dv @ G, "∂ID/∂v", size)
        pin.dccrba(m, d, q, v)
        near(A[k], d.Ag @ G, "A")
        near(A_dot[k], d.dAg @ G, "Ȧ")
        pin.ccrba(m, d, q, v)
        near(I_g[k], d.Ig.matrix(), "I_g")
        near(c[k], pin.centerOfMass(m, d, q), "c")
        near(J_c[k], pin.jacobianCenterOfMass(m, d, q) @ G, "J_c")
        pin.computeJointJacobiansTimeVariation(m, d, q, v)
        pin.updateFramePlacements(m, d)
        for name, (T, J, J_dot) in poses.items():
            f = m.getFrameId(name, pin.FrameType.BODY)
            near(T[k], d.oMf[f].homogeneous, ("fk", name))
            near(J[k], pin.computeFrameJacobian(m, d, q, f, pin.LOCAL) @ G, ("J", name))
            pin.computeJointJacobiansTimeVariation(m, d, q, v)
            pin.updateFramePlacements(m, d)
            theirs = pin.getFrameJacobianTimeVariation(m, d, f, pin.LOCAL_WORLD_ALIGNED)
            near(J_dot[k], theirs @ G, ("J̇", name))
        if solvable:  # relative to what M's condition leaves of sixteen digits
            loss = max(CLOSE, 1e-15 * np.linalg.cond(M_k))
            near(F[k], X[k], "FD", close=loss)
            inverse = np.linalg.inv(M_k)
            pin.computeRNEADerivatives(m, d, q, v, x)
            scale = float(np.abs(E[0][k]).max())
            near(E[0][k], -inverse @ G.T @ d.dtau_dq @ G, "∂FD/∂q", scale, loss)
            near(E[1][k], -inverse @ G.T @ d.dtau_dv @ G, "∂FD/∂v", scale, loss)
            if m.nv == robot.nv:
                near(F[k], np.linalg.solve(G, pin.aba(m, d, q, v, G @ tau[k])), "ABA", close=loss)
                pin.computeABADerivatives(m, d, q, v, G @ tau[k])
                near(E[0][k], G.T @ d.ddq_dq @ G, "∂ABA/∂q", scale, loss)


def flying(file: Path) -> tuple[dl.Robot, pin.Model]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        robot = dl.load(file).with_base("floating")
    return robot, pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())


@pytest.mark.parametrize("name", QUICK)
def test_a_free_flying_robot_is_pinocchios(name: str):
    compare(*flying(next(file for file in ROBOTS if file.name == name)), states=10, compiled=name == "solo12.urdf")


@pytest.mark.parametrize("file", cases(ROBOTS, pytest.mark.long))
def test_every_free_flying_robot_is_pinocchios(file: Path):
    compare(*flying(file), states=100, compiled=False)


JOINTS = {
    "revolute": lambda j: pin.JointModelRevoluteUnaligned(np.array(j.axis)),
    "prismatic": lambda j: pin.JointModelPrismaticUnaligned(np.array(j.axis)),
    "helical": lambda j: pin.JointModelHelicalUnaligned(np.array(j.axis), j.pitch),
    "spherical": lambda j: pin.JointModelSpherical(),
    "floating": lambda j: pin.JointModelFreeFlyer(),
    "planar": lambda j: pin.JointModelPlanar(),  # across z
}


def built(robot: dl.Robot) -> pin.Model:
    """The same bodies, in the order of the model, which is depth first as theirs must be."""
    model = pin.Model()
    se3 = lambda T: pin.SE3(np.array(T.R, float), np.array(T.p, float))  # noqa: E731
    for body in robot.model.bodies:
        I = body.inertia
        k = model.addJoint(body.parent + 1, JOINTS[body.joint.kind](body.joint), se3(body.placement), body.joint_name)
        inertia = pin.Inertia(I.m, np.array(I.com()), np.array(I.about_com()))
        model.appendBodyToJoint(k, inertia, pin.SE3.Identity())
    for frame in robot.model.frames:
        model.addBodyFrame(frame.name, frame.body + 1, se3(frame.pose), 0)
    model.gravity.linear = robot.gravity
    return model


@pytest.mark.parametrize("seed", (31, 33))
def test_trees_of_all_kinds_are_pinocchios(seed: int):
    from dataclasses import replace

    d = random_tree(seed, 7, several=True)
    level = tuple(replace(j, axis=(0.0, 0.0, 1.0)) if j.kind == "planar" else j for j in d.joints)
    robot = dl.Robot(replace(d, joints=level))
    compare(robot, built(robot), states=5, compiled=False)


def test_steps_and_differences_are_pinocchios():
    robot, model = flying(next(file for file in ROBOTS if file.name == "solo12.urdf"))
    o, rng = Oracle(robot, model), np.random.default_rng(2)
    Q, P = robot.random_configuration((2, 50), seed=rng)
    V = rng.normal(size=(50, robot.nv))
    for q, p, v in zip(Q, P, V, strict=True):
        theirs = pin.integrate(model, o.q(q), v)  # q or −q: the same rotation
        near(robot.difference(robot.integrate(q, v), theirs), np.zeros(robot.nv), "⊕")
        near(robot.difference(q, p), pin.difference(model, o.q(q), o.q(p)), "⊖")
        between = pin.interpolate(model, o.q(q), o.q(p), 0.3)
        near(robot.difference(robot.interpolate(q, p, 0.3), between), np.zeros(robot.nv), "between")
