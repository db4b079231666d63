"""docs/coming_from.md: each expression returns what the function of the other library returns.

Pinocchio computes the wanted values, in the convention of the page. Modern Robotics and the Robotics Toolbox are not
installed with the tests: their results follow from Pinocchio's by the definitions that these libraries document."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from oracles.pinocchio_model import PinocchioModel
from test_docs import cells, named

PAGE = Path(__file__).parent.parent / "docs" / "coming_from.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [row for row in map(cells, (x for x in TEXT.splitlines() if x.startswith("| `"))) if len(row) >= 2]
CLOSE, H = 1e-9, 1e-6  # tolerance, step of central differences
ITERATED = dict.fromkeys(("IKinBody", "ikine_LM", "ikine_6s", "EulerStep", "fdyn", "SimulateControl"), 1e-6)
DIFFERENCES = ("jacob0_analytical", "hessian0", "jacobm", "computeJointKinematicHessians")
TOLERANCE = ITERATED | dict.fromkeys(DIFFERENCES, 1e-8)


@cache
def names() -> dict[str, Any]:
    """What the page's own first block defines."""
    block = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block
    found: dict[str, Any] = {}
    exec(block[1], found)
    return found


def flat(value: Any) -> np.ndarray:
    if isinstance(value, (tuple, list)):
        return np.concatenate([flat(x) for x in value] or [np.zeros(0)])
    return np.ravel(np.asarray(value, float))


def slopes(f: Callable[[np.ndarray], Any], q: np.ndarray) -> np.ndarray:
    """∂f/∂q, the index of q last."""
    columns = [(np.asarray(f(q + e)) - np.asarray(f(q - e))) / (2 * H) for e in H * np.eye(len(q))]
    return np.moveaxis(np.array(columns), 0, -1)


def quintic(x: float) -> float:
    return 10 * x**3 - 15 * x**4 + 6 * x**5


def limits() -> tuple[np.ndarray, np.ndarray]:
    limits = names()["robot"].limits
    return limits.lower, limits.upper


def beyond_constraint(system: dl.Constrained) -> np.ndarray:
    """The plane's acceleration, and the part of M q̈ + g − τ that no force across the plane explains; wanted: zeros."""
    n, robot = names(), names()["robot"]
    q = system.close(n["q"]).q
    accelerations, _ = system.forward_dynamics(q, 0 * q, n["tau"])
    theirs = PinocchioModel(robot)
    normal = theirs.jacobian(q, robot.tip)[:3].T @ n["w"]
    force = theirs.inverse_dynamics(q, 0 * q, accelerations) - n["tau"]
    return np.append(force - normal * (normal @ force) / (normal @ normal), normal @ accelerations)


# The numbers that are compared where a result is none, by the first name in a row.
READ: dict[str, Callable[[Any], Any]] = {
    "IKinBody": lambda found: names()["robot"].fk(found.q),
    "ikine_LM": lambda found: names()["robot"].fk(found.q),
    "ikine_6s": lambda found: (len(found.of()), names()["robot"].fk(found.of())),
    "EulerStep": lambda run: (run.q[-1], run.qd[-1]),
    "fdyn": lambda run: (run.q[-1], run.qd[-1]),
    "SimulateControl": lambda run: run.q[-1],
    "ComputedTorque": lambda law: law(
        0.0, *(names()[x] for x in ("q0", "qd")), tuple(names()[x] for x in ("q", "tau", "qdd"))
    ),
    "CubicTimeScaling": lambda motion: motion(0.5)[0],
    "JointTrajectory": lambda motion: motion(0.5)[0],
    "jtraj": lambda motion: motion(0.5)[0],
    "CartesianTrajectory": lambda motion: motion(0.5)[0],
    "ScrewTrajectory": lambda motion: motion(0.5)[0],
    "mstraj": lambda motion: [motion(t)[0] for t in (0.0, 0.5, 2.2)],
    "trapezoidal": lambda motion: (motion.duration, [motion(t)[0] for t in (0.25, 1.0, 2.25)]),
    "ctraj": lambda path: (path(0.0)[0], path(path.duration)[0]),
    "models.Panda()": lambda robot: robot.fk(np.zeros(7), "panda_link8"),
    "DHRobot": lambda robot: robot.fk([0.3, 0.4])[:2, 3],
    "buildModelFromUrdf": lambda robot: robot.fk(names()["q"]),
    "JointModelFreeFlyer": lambda robot: (robot.nv, robot.mass_matrix([0, 0, 0, 0, 0, 0, 1, *names()["q"]])[6:, 6:]),
    "vellipse": lambda found: [e.lengths for e in found],
    "payload": lambda robot: robot.mass - names()["robot"].mass,
    "payload_capacity": lambda found: found.force,
    "random_q": lambda found: (np.clip(found[0], *limits()) - found[0], found[1]),
    "neutral": lambda found: (found[0], np.clip(found[1], *limits()) - found[1]),
    "constraintDynamics": beyond_constraint,
    "Twist3.pitch": lambda screw: (screw.pitch, screw.angle, np.cross(screw.point, screw.axis), screw.axis),
}


@cache
def theirs() -> dict[str, Any]:
    """The first name in a row → what the expression must return."""
    n = names()
    robot = n["robot"]
    q, qd, qdd, tau, q1 = (n[x] for x in ("q", "qd", "qdd", "tau", "q1"))
    w, V, F, p, T, T0, T1 = (n[x] for x in ("w", "V", "F", "p", "T", "T0", "T1"))
    o = PinocchioModel(robot)
    model, data, tip, zero = o.model, o.data, robot.tip, np.zeros(robot.n)
    assert np.array_equal(o.q(q), q) and np.array_equal(o.v(qd), qd)  # no permutation: other results need none
    size, spin = np.linalg.norm(w), np.linalg.norm(V[3:])
    axis = w / size

    def jacobian(q: np.ndarray, reference: Any = pin.LOCAL_WORLD_ALIGNED) -> np.ndarray:
        return o.jacobian(q, tip, reference)

    def rpy(q: np.ndarray) -> np.ndarray:
        return pin.rpy.matrixToRpy(o.fk(q, tip)[:3, :3])

    def area(q: np.ndarray) -> float:
        return float(abs(np.linalg.det(jacobian(q))))

    def stepped(duration: float) -> tuple[np.ndarray, np.ndarray]:
        """From rest at q = 0 under the torques, by the classical Runge–Kutta method."""
        x, h = np.zeros(2 * robot.n), duration / 100

        def rate(x: np.ndarray) -> np.ndarray:
            position, velocity = np.split(x, 2)
            return np.concatenate([velocity, o.forward_dynamics(position, velocity, tau)])

        for _ in range(100):
            k1 = rate(x)
            k2 = rate(x + h / 2 * k1)
            k3 = rate(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
        return x[: robot.n], x[robot.n :]

    J, M, g = jacobian(q), o.mass_matrix(q), o.gravity_torque(q)
    J_local, J_world = jacobian(q, pin.LOCAL), jacobian(q, pin.WORLD)
    bias = o.inverse_dynamics(q, qd, zero)
    torque = o.inverse_dynamics(q, qd, qdd)
    singular = np.linalg.svd(J, compute_uv=False)
    tip_mass = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    axes = np.linalg.eigvalsh(tip_mass)
    pin.computeForwardKinematicsDerivatives(model, data, q, qd, qdd)
    J_dot = pin.getFrameJacobianTimeVariation
    pin.computeJointJacobiansTimeVariation(model, data, q, qd)
    J_dot = J_dot(model, data, model.getFrameId(tip), pin.LOCAL_WORLD_ALIGNED)
    C = pin.computeCoriolisMatrix(model, data, q, qd).copy()
    dq, dv, da = (x.copy() for x in pin.computeRNEADerivatives(model, data, q, qd, qdd))
    da = np.triu(da) + np.triu(da, 1).T
    aq, av, at = (x.copy() for x in pin.computeABADerivatives(model, data, q, qd, tau))
    at = np.triu(at) + np.triu(at, 1).T
    columns = pin.computeJointTorqueRegressor(model, data, q, qd, qdd).reshape(robot.n, -1, 10)
    columns = columns[:, :, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]].reshape(robot.n, -1)
    kinetic, potential = pin.computeKineticEnergy(model, data, q, qd), pin.computePotentialEnergy(model, data, q)
    momentum = pin.computeCentroidalMomentum(model, data, q, qd).vector.copy()
    centroidal = pin.ccrba(model, data, q, qd).copy()
    centroidal_dot = pin.dccrba(model, data, q, qd).copy()
    center, J_center = pin.centerOfMass(model, data, q).copy(), pin.jacobianCenterOfMass(model, data, q).copy()
    own = pin.SE3(T)
    back = pin.log6(pin.exp6(pin.Motion(V))).vector  # V turns by more than π
    turned, moved = pin.exp6(pin.Motion(V)).homogeneous, pin.log6(own).vector
    screw = T0 @ pin.exp6(quintic(0.25) * pin.log6(np.linalg.inv(T0) @ T1)).homogeneous
    ad_V = np.block([[pin.skew(V[3:]), pin.skew(V[:3])], [np.zeros((3, 3)), pin.skew(V[3:])]])
    unit, pitch = (V / spin, spin), V[:3] @ V[3:] / spin**2
    dynamics = np.linalg.solve(M, tau - bias)
    late = (1 + 8 * 0.01) * np.exp(-8 * 0.01)  # a critically damped error of 1 that starts at rest, after 10 ms
    lengths = {True: np.sort(singular)[::-1], False: np.sort(1 / singular)[::-1]}
    lift = -J.T @ [0, 0, -1, 0, 0, 0]  # the torques that hold a load of 1 N
    largest = np.min((np.sign(lift) * robot.limits.effort - g)[lift != 0] / lift[lift != 0])
    flange = np.array([[1, 0, 0, 0.088], [0, -1, 0, 0], [0, 0, -1, 0.333 + 0.316 + 0.384 - 0.107], [0, 0, 0, 1]])
    own_rpy = np.eye(4)
    own_rpy[:3, :3], own_rpy[:3, 3] = pin.rpy.rpyToMatrix(w), p
    about_z = np.eye(4)
    about_z[:3, :3] = pin.exp3(np.array([0, 0, 0.3]))
    placed = np.block([[pin.exp3(w), p[:, None]], [np.zeros((1, 3)), np.eye(1)]])
    through_p = np.concatenate([np.cross(p, axis), axis])
    return {
        "RotInv": own.inverse().homogeneous, "VecToso3": turned, "RpToTrans": placed,
        "TransToRp": (own.rotation, own.translation), "MatrixExp3": w, "MatrixExp6": back,
        "AxisAng3": ((axis, size), unit), "Normalize": V / spin,
        "ScrewToAxis": through_p + 0.1 * np.concatenate([axis, zero[:3]]), "Adjoint": (own.action, ad_V),
        "ProjectToSO3": (pin.exp3(w), own.homogeneous), "DistanceToSO3": (0, 0), "TestIfSO3": 1,
        "FKinBody": o.fk(q, tip), "JacobianBody": J_local, "JacobianSpace": J_world, "IKinBody": T,
        "InverseDynamics": torque + J.T @ F, "MassMatrix": M, "VelQuadraticForces": bias - g, "GravityForces": g,
        "EndEffectorForces": J.T @ F, "ForwardDynamics": o.forward_dynamics(q, qd, tau - J.T @ F),
        "EulerStep": stepped(0.01), "CubicTimeScaling": quintic(0.25), "JointTrajectory": quintic(0.25) * q,
        "CartesianTrajectory": p + quintic(0.25) * p, "ScrewTrajectory": (screw[:3, 3], screw[:3, :3]),
        "ComputedTorque": o.inverse_dynamics(zero, qd, qdd + 16 * (tau - qd) + 64 * q),
        "SimulateControl": q1 - late * q1,
        "models.Panda()": flange, "DHRobot": [np.cos(0.3) + np.cos(0.7) / 2, np.sin(0.3) + np.sin(0.7) / 2],
        "fkine": T, "fkine_all": [o.fk(q, name) for name in robot.frames], "jacob0": (J, J_local), "jacob0_dot": J_dot,
        "jacob0_analytical": np.vstack([J[:3], slopes(rpy, q)]), "hessian0": slopes(jacobian, q),
        "ikine_LM": T, "ikine_6s": (4, [T] * 4), "manipulability": np.sqrt(np.linalg.det(J[:3] @ J[:3].T)),
        'manipulability(method="invcondition")': singular[-1] / singular[0],
        'manipulability(method="minsingular")': singular[-1], 'manipulability(method="asada")': axes[0] / axes[-1],
        "jacobm": slopes(area, q), "vellipse": (lengths[True], lengths[False]), "rne": torque, "accel": dynamics,
        "inertia": (M, C, g), "itorque": M @ qdd, "friction": zero, "inertia_x": tip_mass, "payload": 2.0,
        "payload_capacity": largest, "fdyn": stepped(0.01), "random_q": (zero, [-2 * np.pi] * 6),
        "jtraj": quintic(0.25) * q, "mstraj": (zero, 0.4 * q, zero), "trapezoidal": (2.5, 0.03125, 0.375, 0.96875),
        "ctraj": [x for T in (T0, T1) for x in (T[:3, 3], T[:3, :3])], "SE3.RPY": own_rpy, "SE3.AngleAxis": about_z,
        "tr2angvec": (axis, size), "tr2rpy": rpy(q), "trexp": (turned, moved), "trnorm": T, "isrot": (1, 1),
        "tr2adjoint": own.action, "Twist3.ad": ad_V, "Twist3.UnitRevolute": (through_p, axis, zero[:3]),
        "Twist3.unit": unit,
        "Twist3.pitch": (pitch, spin, (V[:3] - pitch * V[3:]) / spin, V[3:] / spin),
        "buildModelFromUrdf": T, "forwardKinematics": T, "computeFrameJacobian(…, LOCAL_WORLD_ALIGNED)": J,
        "frameJacobianTimeVariation": J_dot, "computeJointKinematicHessians": slopes(jacobian, q),
        "rnea": (torque, bias),
        "computeGeneralizedGravity": (g, g - J.T @ F), "aba": dynamics, "crba": (M, np.linalg.inv(M)),
        "computeCoriolisMatrix": C, "computeRNEADerivatives": (dq, dv, da), "computeABADerivatives": (aq, av, at),
        "computeJointTorqueRegressor": columns, "computeKineticEnergy": (kinetic, potential),
        "centerOfMass": (center, J_center), "computeCentroidalMomentum": momentum, "constraintDynamics": np.zeros(7),
        "exp3": back, "SE3.action": (own.action, own.inverse().homogeneous), "Motion.action": ad_V,
        "neutral": (zero, zero),
        "JointModelFreeFlyer": (12, M), "integrate": q1, "normalize": q, "computeCentroidalMap": centroidal,
        "dccrba": centroidal_dot,
    }  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: named(row[0])[0])
def test_the_expression_returns_what_the_other_function_returns(row):
    (expression,) = named(row[1])
    key = named(row[0])[0]
    found = eval(expression, dict(names()))
    found, wanted = flat(READ.get(key, lambda x: x)(found)), flat(theirs()[key])
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < TOLERANCE.get(key, CLOSE) * max(1, np.abs(wanted).max())


def test_every_wanted_result_has_its_row():
    keys = [named(row[0])[0] for row in ROWS]
    assert len(keys) > 90 and len(set(keys)) == len(keys)
    assert set(theirs()) == set(keys) >= set(READ)


def test_names_of_pinocchio_exist():
    rows = [cells(line) for line in TEXT.split("## Pinocchio")[1].splitlines() if line.startswith("| `")]
    theirs = [re.sub(r"\(.*", "", name) for row in rows for name in named(row[0])]
    assert len(theirs) > 30
    for name in theirs:
        owner, _, attribute = name.partition(".")
        assert hasattr(getattr(pin, owner), attribute) if attribute else hasattr(pin, owner), name
