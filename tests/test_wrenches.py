"""Wrenches that act on a robot, in every function: τ = M q̈ + c + g − Σ J_iᵀ F_i, (force, moment) in world axes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import mujoco
import numpy as np
import pytest

import dalembert as dl
from bipeds import FEET, biped
from dalembert import control
from dalembert.actuation import TorqueSource
from dalembert.constrained import constraint
from dalembert.flow import wrench_frames, wrench_inputs
from dalembert.flows.sticking import sticking
from dalembert.identification.contacts import ContactDetector
from dalembert.kinematics.statics import holding_torque, largest_force, largest_wrench, virtual_work
from oracles.test_mujoco import in_mujoco
from tolerances import ORACLE, ROUNDING, SOLVED, error
from trees import random_tree

TREES = {
    "tree of 7": dict(seed=4, joints=7),
    "chain of 6 with rotors": dict(seed=2, joints=6, chain=True, rotors=True),
    "tree of 8 with mimic joints": dict(seed=5, joints=8, mimic=True),
}


@cache
def tree(name: str) -> dl.Robot:
    return dl.Robot(random_tree(**TREES[name]))


@cache
def panda() -> dl.Robot:
    return dl.load("panda")


@cache
def arm() -> dl.Robot:
    return dl.load("ur5e")


def state(robot, count=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, count, robot.n))


# ---------------------------------------------------------------------------------------------- the two oracles
def pinocchio_force(robot, q, wrenches):
    """Σ JᵀF by Pinocchio: `fext` acts on the joints, at their origins and in their axes."""
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import PinocchioModel

    oracle = PinocchioModel(robot)
    theirs = [pin.Force.Zero() for _ in range(oracle.model.njoints)]
    for body in robot.model.bodies:
        if body.name in wrenches:
            R = robot.fk(q, body.name)[:3, :3]
            F = np.asarray(wrenches[body.name], float)
            theirs[oracle.model.getJointId(body.joint_name)] = pin.Force(np.r_[R.T @ F[:3], R.T @ F[3:]])
    fext = pin.StdVec_Force()
    fext.extend(theirs)
    rest = oracle.v(np.zeros(robot.nv))
    free, pushed = (
        np.array(pin.rnea(oracle.model, oracle.data, oracle.q(q), rest, rest, *more)) for more in ((), (fext,))
    )
    return oracle.G.T @ (free - pushed)


def mujoco_force(robot, q, wrenches):
    """Σ JᵀF by MuJoCo: `xfrc_applied` acts on the bodies, at their centers of mass and in world axes."""
    model, data = in_mujoco(robot)
    joints = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in robot.joint_names]
    data.qpos[model.jnt_qposadr[joints]] = q
    mujoco.mj_forward(model, data)
    free = data.qfrc_smooth.copy()
    for body in robot.model.bodies:
        if body.name in wrenches:
            joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, body.joint_name)
            i = model.jnt_bodyid[joint]
            F = np.asarray(wrenches[body.name], float)
            lever = robot.fk(q, body.name)[:3, 3] - data.xipos[i]
            data.xfrc_applied[i] = np.r_[F[:3], F[3:] + np.cross(lever, F[:3])]
    mujoco.mj_forward(model, data)
    return (data.qfrc_smooth - free)[model.jnt_dofadr[joints]]


ORACLES = {"Pinocchio": pinocchio_force, "MuJoCo": mujoco_force}


# ------------------------------------------------------------------------- every function, as (found, wanted) from Q
def inverse(r, q, qd, x, F, Q):
    return r.inverse_dynamics(q, qd, x, wrenches=F), r.inverse_dynamics(q, qd, x) - Q


def forward(r, q, qd, x, F, Q):
    found = [r.forward_dynamics(q, qd, x, wrenches=F, method=m) for m in (None, "articulated", "factorized")]
    return found, [r.forward_dynamics(q, qd, x + Q)] * 3


def slopes(make, r, q, h=1e-6):
    return np.stack([(make(q + h * e) - make(q - h * e)) / (2 * h) for e in np.eye(r.n)], -1)


def inverse_derivatives(r, q, qd, x, F, Q):
    wanted = slopes(lambda s: r.inverse_dynamics(s, qd, x, wrenches=F), r, q)
    return r.inverse_dynamics_derivatives(q, qd, x, wrenches=F)[0], wanted


def forward_derivatives(r, q, qd, x, F, Q):
    out = tuple(np.empty((r.n, r.n)) for _ in range(3))
    found = r.forward_dynamics_derivatives(q, qd, x, wrenches=F, out=out)
    assert found[0] is out[0]
    wanted = [slopes(lambda s: r.forward_dynamics(s, qd, x, wrenches=F), r, q)]
    wanted.append(slopes(lambda s: r.forward_dynamics(q, s, x, wrenches=F), r, qd))
    return found, [*wanted, r.forward_dynamics_derivatives(q, qd, x + Q)[2]]


def static(r, q, qd, x, F, Q):
    assert abs(virtual_work(r, q, F, -Q, x)) < 1e-12
    return [r.static_torque(q, F), r.static_torque(q, F, gravity=True)], [-Q, r.gravity_torque(q) - Q]


def largest(r, q, qd, x, F, Q):
    frame, one = r.bodies[-1], next(iter(F.values()))
    F = one / np.linalg.norm(one)
    found, program = largest_force(r, q, one, frame), largest_wrench(r, q, one, frame)
    force = -r.static_torque(q, {frame: F})
    weight = r.gravity_torque(q)
    return [found.torque, program.torque], [
        weight - found.force * force,
        r.static_torque(q, {frame: program.wrench}, gravity=True),
    ]


def payload(r, q, qd, x, F, Q):
    T = r.fk(q)
    f = 2.0 * r.gravity
    carried = np.r_[f, np.cross(T[:3, :3] @ [0.1, 0.2, 0.3], f)]
    found = r.gravity_torque(q) + r.static_torque(q, {r.tip: carried}), holding_torque(r, q, 2.0, (0.1, 0.2, 0.3))
    return found, [r.with_payload(2.0, (0.1, 0.2, 0.3)).gravity_torque(q)] * 2


def rate_of(flow, x, drives, F):
    frames = wrench_frames(flow.inputs)
    assert set(frames) == set(F) and flow.inputs[len(drives) :] == tuple(n for f in frames for n in wrench_inputs(f))
    return np.array(flow.rate(0.0, [*x], [*drives, *(c for f in frames for c in F[f])]), float)


def flow(r, q, qd, x, F, Q):
    return rate_of(r.flow(wrenches=list(F), books=True), [*q, *qd], x, F)[r.n :], r.forward_dynamics(q, qd, x + Q)


def stuck(r, q, qd, x, F, Q):
    rough = [replace(j, drive=replace(j.drive, coulomb=(1.0, 1.0))) for j in r.description.joints if j.kind != "fixed"]
    fixed = [j for j in r.description.joints if j.kind == "fixed"]
    r, modes = dl.Robot(replace(r.description, joints=(*rough, *fixed))), np.sign(qd)
    found = rate_of(sticking(r, list(F)), [*q, *qd, *modes], x, F)[r.n : 2 * r.n]
    return found, r.forward_dynamics(q, qd, x + Q, friction=True)


def run(r, q, qd, x, F, Q):
    step = 1e-7
    found = dl.simulate(r, q0=q, qd0=qd, duration=step, dt=step, inputs=dl.Inputs(tau=x, wrenches=F))
    assert found.wrenches.shape == (2, 6 * len(F))
    return (found.qd[-1] - qd) / step * 1e-4, r.forward_dynamics(q, qd, x + Q) * 1e-4


def held(r, q, qd, x, F, Q):
    s = dl.Constrained(r, constraint.plane(r.fk(q)[:3, 3], (0, 0, 1)))
    _, v = s.project(q, qd)
    wanted = s.forward_dynamics(q, v, x + Q)
    found = s.forward_dynamics(q, v, x, wrenches=F)
    back = s.inverse_dynamics(q, v, found.qdd, found.multipliers, wrenches=F)
    of_flow = rate_of(s.flow(wrenches=list(F)), [*q, *v], x, F)[r.n :]
    at_tip = r.jacobian(q).T @ s.tip_wrench(q, wanted.multipliers)
    lost = -s.jacobian(q).T @ wanted.multipliers
    one = r.jacobian(q).T @ s.constraint_wrench(q, wanted.multipliers)
    return [found.qdd, back, of_flow, at_tip, one], [wanted.qdd, x, wanted.qdd, lost, lost]


def driven(r, q, qd, x, F, Q):
    made = dl.DrivenRobot(r, TorqueSource(), [1.0] * r.n)
    return rate_of(made.flow(wrenches=list(F)), [*q, *qd], x, F)[r.n :], r.forward_dynamics(q, qd, x + Q)


def flexible(r, q, qd, x, F, Q):
    made = dl.FlexibleRobot(r, 5e3, 0.0, 1e-4, 100.0)
    theta = made.motor_positions(q, wrenches=F)
    rate = rate_of(made.flow(wrenches=list(F)), [*q, *theta, *np.zeros(2 * r.n)], x, F)
    bent = made.deflection(theta, wrenches=F).q
    return [5e3 * (theta - q), rate[2 * r.n : 3 * r.n], bent], [r.gravity_torque(q) - Q, np.zeros(r.n), q]


def observed(r, q, qd, x, F, Q):
    seen = control.MomentumObserver(r, gain=20.0).wrench(q, Q)
    return r.jacobian(q).T @ seen, Q


def contact(r, q, qd, x, F, Q):
    observer = control.MomentumObserver(r, gain=20.0).sampled(0.01)
    quiet = np.random.default_rng(0).normal(size=(50, r.n))
    detector = ContactDetector.__new__(ContactDetector)
    detector.__dict__.update(observer=observer, quiet=(quiet,))
    wrench, _ = detector.wrenches(q, Q, r.tip)
    return r.jacobian(q).T @ wrench, Q


FUNCTIONS = (
    *(inverse, forward, inverse_derivatives, forward_derivatives, static, largest, payload, flow, stuck, run, held),
    *(driven, flexible, observed, contact),
)
DERIVATIVES = (inverse_derivatives, forward_derivatives, run)  # compared with differences


@pytest.mark.parametrize("function", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
@pytest.mark.parametrize("oracle", ORACLES)
def test_a_wrench_acts_on_the_robot(oracle, function):
    robot = arm()
    rng = np.random.default_rng(3)
    q, qd, x = rng.uniform(-1, 1, (3, robot.n))
    F = dict(zip((robot.bodies[-1], robot.bodies[2]), rng.normal(size=(2, 6)) * [30, 30, 30, 4, 4, 4], strict=True))
    if function in (observed, contact):  # one wrench, at the tip's body
        F.popitem()
    Q = ORACLES[oracle](robot, q, F)
    found, wanted = function(robot, q, qd, 10 * x, F, Q)
    assert error(np.asarray(found), np.asarray(wanted)) < (1e-6 if function in DERIVATIVES else ORACLE)


@pytest.mark.parametrize("name", TREES)
def test_every_wrench_adds_its_jacobian(name):
    """Wrenches at several frames, two on one body among them; forward dynamics inverts inverse dynamics."""
    robot = tree(name)
    q, qd, qdd = state(robot)
    rng = np.random.default_rng(1)
    frames = robot.frames  # fixed ones too, and the base, which feels nothing
    carriers = [robot.model.frame(f).body for f in frames]
    assert len(set(carriers)) < len(carriers)
    wrenches = {f: rng.normal(size=(3, 6)) for f in frames}
    wanted = robot.inverse_dynamics(q, qd, qdd)
    for frame, F in wrenches.items():
        wanted = wanted - np.einsum("sij,si->sj", robot.jacobian(q, frame), F)
    tau = robot.inverse_dynamics(q, qd, qdd, wrenches=wrenches)
    assert error(tau, wanted) < ROUNDING
    methods = ("factorized",) if robot.model.mimics else ("factorized", "articulated")
    for method in methods:
        assert error(robot.forward_dynamics(q, qd, tau, wrenches=wrenches, method=method), qdd) < SOLVED


def test_derivatives_on_a_floating_base():
    """Along the velocities, which are not the rates of the positions."""
    robot = biped()
    rng = np.random.default_rng(0)
    q, h = robot.random_configuration(seed=0), 1e-6
    qd, x = rng.normal(size=(2, robot.nv))
    F = {FEET[0]: rng.normal(size=6)}
    for method in ("inverse_dynamics", "forward_dynamics"):
        one = getattr(robot, method)
        steps = [(one(robot.integrate(q, s * h * e), qd, x, wrenches=F)) for e in np.eye(robot.nv) for s in (1, -1)]
        wanted = (np.array(steps[::2]) - np.array(steps[1::2])).T / (2 * h)
        found = getattr(robot, f"{method}_derivatives")(q, qd, x, wrenches=F)[0]
        assert error(found, wanted) < 1e-6


def test_the_sign_by_looking_at_it():
    """A push upward on the tip takes load off the drives, and moves an arm upward that was at rest."""
    robot = dl.load("planar-2r")
    rest = np.zeros(2)
    push = {"tool": [0, 10.0, 0, 0, 0, 0]}  # 10 N upward, 2 m from the base
    extra = robot.inverse_dynamics(rest, rest, rest, wrenches=push) - robot.gravity_torque(rest)
    assert np.allclose(extra, [-20, -10])
    qdd = robot.forward_dynamics(rest, rest, robot.gravity_torque(rest), wrenches=push)
    assert (robot.jacobian(rest) @ qdd)[1] > 1


def test_power_is_supplied():
    """A run under two wrenches that move keeps its energy balance, for each kind of system."""
    robot = dl.load("planar-2r")
    inputs = dl.Inputs(wrenches={"tool": lambda t: [0, 5 * np.sin(9 * t), 0, 0, 0, 1.0], "link1": [0, 2.0, 0, 0, 0, 0]})
    flexible = dl.FlexibleRobot(robot, 500.0, 0.5, 1e-4, 100.0)
    for system in (robot, dl.DrivenRobot(robot, TorqueSource(), [1.0, 1.0]), flexible):
        found = dl.simulate(system, q0=[0.3, 0.2], duration=0.2, dt=2.5e-4, inputs=inputs)
        assert found.ok and found.audit().relative < 1e-6 and abs(found.audit().work) > 0.1
        assert found.wrenches.shape == (len(found), 12)


def test_a_moving_base():
    robot = panda()
    q, qd, qdd = state(robot)
    V, A, F = np.random.default_rng(3).normal(size=(3, 6))
    options = dict(wrenches={"panda_link3": F, "panda_link6": 2 * F}, base_velocity=V, base_acceleration=A)
    tau = robot.inverse_dynamics(q, qd, qdd, **options)
    assert error(robot.forward_dynamics(q, qd, tau, **options), qdd) < SOLVED
    free = robot.inverse_dynamics(q, qd, qdd, base_velocity=V, base_acceleration=A)
    still = robot.inverse_dynamics(q, qd, qdd, wrenches=options["wrenches"]) - robot.inverse_dynamics(q, qd, qdd)
    assert error(tau - free, still) < ROUNDING * 10


# ---------------------------------------------------------------------------------------------- kernels
def test_one_kernel_for_a_set_of_frames():
    """The order of the dictionary does not matter, and the values are arguments: nothing is compiled again."""
    robot = dl.load("planar-3r")
    q, qd, qdd = state(robot, 1)
    rng = np.random.default_rng(0)
    links = [b for b in robot.bodies[:2]]
    for _ in range(3):
        F = dict(zip(links, rng.normal(size=(2, 6)), strict=True))
        robot.inverse_dynamics(q, qd, qdd, wrenches=F)
        robot.inverse_dynamics(q, qd, qdd, wrenches=dict(reversed(F.items())))
    made = [key for key in robot._kernels.made if key[0] == "inverse_dynamics"]
    assert len(made) == 1
    plain = robot.inverse_dynamics(q, qd, qdd)
    assert np.array_equal(robot.inverse_dynamics(q, qd, qdd, wrenches={}), plain)
    assert np.array_equal(robot.inverse_dynamics(q, qd, qdd, wrenches=None), plain)


def test_batches_and_out():
    robot = panda()
    q, qd, qdd = state(robot, 4)
    F, G = np.random.default_rng(0).normal(size=(2, 4, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, wrenches={"panda_link3": F, "panda_link6": G[0]})
    for k in range(4):
        one = robot.inverse_dynamics(q[k], qd[k], qdd[k], wrenches={"panda_link6": G[0], "panda_link3": F[k]})
        assert np.array_equal(tau[k], one)  # bit for bit
    out = np.empty((4, 7))
    assert robot.inverse_dynamics(q, qd, qdd, wrenches={"panda_link3": F, "panda_link6": G[0]}, out=out) is out
    assert np.array_equal(out, tau)
    wide = robot.inverse_dynamics(q[0], qd[0], qdd[0], wrenches={"panda_link3": F})  # wrenches alone are a batch
    assert wide.shape == (4, 7)
    nan = F.copy()
    nan[2, 0] = np.nan
    spoilt = robot.inverse_dynamics(q, qd, qdd, wrenches={"panda_link3": nan, "panda_link6": G[0]})
    assert np.isnan(spoilt[2]).any() and np.array_equal(spoilt[[0, 1, 3]], tau[[0, 1, 3]])


def test_the_kernel_itself():
    robot = dl.load("planar-3r")
    link = robot.bodies[1]
    kernel = robot.kernel("inverse_dynamics", wrenches=[link])
    assert kernel.arguments == ("q", "qd", "qdd", "wrench0")
    q, qd, qdd = (x[0] for x in state(robot, 1))
    F = np.arange(6.0)
    tau = kernel(q, qd, qdd, F)
    assert np.array_equal(tau, kernel.interpret(q, qd, qdd, F))
    assert np.array_equal(tau, robot.inverse_dynamics(q, qd, qdd, wrenches={link: F}))
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(q, qd, qdd, F), tau)
    slope = kernel.derivative("wrench0")(q, qd, qdd, F)  # τ is linear in it: less the Jacobian's transpose
    assert error(slope, -robot.jacobian(q, link).T) < ROUNDING
    assert "const double *wrench0" in kernel.c_source()


@pytest.mark.parametrize(
    "wrenches, code, argument",
    [
        ([1, 2], "wrong-type", "wrenches"),
        ({3: np.ones(6)}, "wrong-type", "wrenches"),
        ({"panda_lnk3": np.ones(6)}, "unknown-name", None),
        ({"panda_link3": np.ones(3)}, "wrong-shape", "wrenches['panda_link3']"),
        ({"panda_link3": None}, "wrong-type", "wrenches['panda_link3']"),
        ({"panda_link3": (np.ones(6), "local")}, "wrong-type", "wrenches['panda_link3']"),
        ({"panda_link3": ["a"] * 6}, "wrong-type", "wrenches['panda_link3']"),
        ({"panda_link3": np.ones((4, 6))}, "wrong-shape", None),
    ],
)
def test_bad_input(wrenches, code, argument):
    robot = panda()
    q, qd, qdd = state(robot)
    for method in (robot.inverse_dynamics, robot.forward_dynamics):
        with pytest.raises(dl.DalembertError) as caught:
            method(q, qd, qdd, wrenches=wrenches)
        assert caught.value.code == code and caught.value.argument == argument


@pytest.mark.parametrize("wrenches", ["tool", ["tool", "tool"], [3], 3, True])
def test_frames_of_a_flow_or_a_kernel(wrenches):
    robot = dl.load("planar-2r")
    for call in (lambda: robot.flow(wrenches=wrenches), lambda: robot.kernel("inverse_dynamics", wrenches=wrenches)):
        with pytest.raises(dl.InputError) as caught:
            call()
        assert (caught.value.code, caught.value.argument) == ("wrong-type", "wrenches")


def test_an_unknown_frame_of_a_flow():
    robot = dl.load("planar-2r")
    for system in (
        robot,
        dl.DrivenRobot(robot, TorqueSource(), [1.0, 1.0]),
        dl.FlexibleRobot(robot, 500.0, 0.5, 1e-4, 9),
    ):
        with pytest.raises(dl.UnknownNameError, match="tol"):
            system.flow(wrenches=["tol"])
