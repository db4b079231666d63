"""Wrenches on any number of links, in inverse and forward dynamics: τ = M q̈ + h + Σ J_iᵀ F_i."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from tolerances import ORACLE, ROUNDING, SOLVED, error
from trees import random_tree

TERMS = ("world", "local", "spatial")
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


def state(robot, count=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, count, robot.n))


@pytest.mark.parametrize("name", TREES)
def test_every_wrench_adds_its_jacobian(name):
    """Wrenches at several frames, two on one body among them, each in its own terms; FD inverts ID."""
    robot = tree(name)
    q, qd, qdd = state(robot)
    rng = np.random.default_rng(1)
    frames = robot.frames  # fixed ones too, and the base, which feels nothing
    carriers = [robot.model.frame(f).body for f in frames]
    assert len(set(carriers)) < len(carriers)
    wrenches = {f: (rng.normal(size=(3, 6)), TERMS[i % 3]) for i, f in enumerate(frames)}
    wanted = robot.inverse_dynamics(q, qd, qdd)
    for frame, (F, terms) in wrenches.items():
        wanted = wanted + np.einsum("sij,si->sj", robot.jacobian(q, frame, terms), F)
    tau = robot.inverse_dynamics(q, qd, qdd, wrenches=wrenches)
    assert error(tau, wanted) < ROUNDING
    methods = ("factorized",) if robot.model.mimics else ("factorized", "articulated")
    for method in methods:
        assert error(robot.forward_dynamics(q, qd, tau, wrenches=wrenches, method=method), qdd) < SOLVED


def test_beside_the_tip():
    """f_tip and wrenches add up, at the same frame too; `expressed_in` serves those that name no terms of their own."""
    robot = panda()
    q, qd, qdd = state(robot)
    F = np.random.default_rng(2).normal(size=6)
    both = robot.inverse_dynamics(q, qd, qdd, F, wrenches={robot.tip: F})
    assert error(both, robot.inverse_dynamics(q, qd, qdd, 2 * F)) < ROUNDING
    local = robot.inverse_dynamics(q, qd, qdd, F, wrenches={"panda_link4": F}, expressed_in="local")
    told = robot.inverse_dynamics(q, qd, qdd, F, wrenches={"panda_link4": (F, "local")}, expressed_in="local")
    mixed = robot.inverse_dynamics(q, qd, qdd, F, wrenches={"panda_link4": (F, "world")}, expressed_in="local")
    assert np.array_equal(local, told) and error(local, mixed) > 1e-3
    back = robot.forward_dynamics(q, qd, local, F, wrenches={"panda_link4": F}, expressed_in="local")
    assert error(back, qdd) < SOLVED
    with_friction = robot.inverse_dynamics(q, qd, qdd, wrenches={"panda_link4": F}, friction=True)
    without = robot.inverse_dynamics(q, qd, qdd, wrenches={"panda_link4": F})
    assert error(with_friction - without, robot.friction_torque(q, qd), 1.0) < ROUNDING


def test_the_sign():
    """A link that presses on its surroundings needs torque for it: the same sign as f_tip."""
    robot = dl.load("planar-2r")
    rest = np.zeros(2)
    push = {"tool": [0, 10.0, 0, 0, 0, 0]}  # the tip presses up with 10 N, 2 m from the base
    extra = robot.inverse_dynamics(rest, rest, rest, wrenches=push) - robot.gravity_torque(rest)
    assert np.allclose(extra, [20, 10])
    qdd = robot.forward_dynamics(rest, rest, robot.gravity_torque(rest), wrenches=push)
    assert (robot.jacobian(rest) @ qdd)[1] < -1  # unless held, the tip is pushed back


def test_a_moving_base():
    robot = panda()
    q, qd, qdd = state(robot)
    V, A, F = np.random.default_rng(3).normal(size=(3, 6))
    options = dict(wrenches={"panda_link3": F, "panda_link6": (F, "local")}, base_velocity=V, base_acceleration=A)
    tau = robot.inverse_dynamics(q, qd, qdd, **options)
    assert error(robot.forward_dynamics(q, qd, tau, **options), qdd) < SOLVED
    free = robot.inverse_dynamics(q, qd, qdd, base_velocity=V, base_acceleration=A)
    still = robot.inverse_dynamics(q, qd, qdd, wrenches=options["wrenches"]) - robot.inverse_dynamics(q, qd, qdd)
    assert error(tau - free, still) < ROUNDING * 10


@pytest.mark.parametrize("name", ("tree of 7", "chain of 6 with rotors", "panda"))
def test_against_pinocchio(name):
    """Its fext are forces on the joints, from outside, in the joints' axes: the opposite sign."""
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import PinocchioModel

    robot = panda() if name == "panda" else tree(name)
    oracle = PinocchioModel(robot)
    rng = np.random.default_rng(4)
    q, qd, qdd = (x[0] for x in state(robot, 1, seed=4))
    ours, theirs = {}, [pin.Force.Zero() for _ in range(oracle.model.njoints)]
    for body in robot.model.bodies:
        F = rng.normal(size=6)
        ours[body.name] = (F, "local")
        theirs[oracle.model.getJointId(body.joint_name)] = pin.Force(-F)
    fext = pin.StdVec_Force()
    fext.extend(theirs)
    tau = oracle.G.T @ pin.rnea(oracle.model, oracle.data, oracle.q(q), oracle.v(qd), oracle.v(qdd), fext)
    assert error(robot.inverse_dynamics(q, qd, qdd, wrenches=ours), tau) < ORACLE
    pushed = oracle.G @ tau
    acceleration = oracle.G.T @ pin.aba(oracle.model, oracle.data, oracle.q(q), oracle.v(qd), pushed, fext)
    assert error(robot.forward_dynamics(q, qd, tau, wrenches=ours), acceleration) < ORACLE


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
    kernel = robot.kernel("inverse_dynamics", wrenches=[[link, "world"]])
    assert kernel.arguments == ("q", "qd", "qdd", "wrench0")
    q, qd, qdd = (x[0] for x in state(robot, 1))
    F = np.arange(6.0)
    tau = kernel(q, qd, qdd, F)
    assert np.array_equal(tau, kernel.interpret(q, qd, qdd, F))
    assert np.array_equal(tau, robot.inverse_dynamics(q, qd, qdd, wrenches={link: F}))
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(q, qd, qdd, F), tau)
    slope = kernel.derivative("wrench0")(q, qd, qdd, F)  # τ is linear in it: the Jacobian's transpose
    assert error(slope, robot.jacobian(q, link).T) < ROUNDING
    assert "const double *wrench0" in kernel.c_source()


@pytest.mark.parametrize(
    "wrenches, kind, message",
    [
        ([1, 2], dl.InputError, "wrenches must be a dictionary of frames .* got list"),
        ({3: np.ones(6)}, dl.InputError, "got int as a frame"),
        ({"panda_lnk3": np.ones(6)}, dl.UnknownNameError, "unknown frame 'panda_lnk3'; did you mean 'panda_link3'"),
        ({"panda_link3": np.ones(3)}, dl.InputError, r"wrenches\['panda_link3'\] has shape \(3,\); .* 6, \(f, n\)"),
        ({"panda_link3": None}, dl.InputError, r"wrenches\['panda_link3'\] is None"),
        ({"panda_link3": (np.ones(6), "lcal")}, dl.UnknownNameError, "expressed_in 'lcal'; did you mean 'local'"),
        ({"panda_link3": ["a"] * 6}, dl.InputError, r"wrenches\['panda_link3'\] must be real numbers, got text"),
        ({"panda_link3": np.ones((4, 6))}, dl.InputError, r"do not broadcast: .*wrenches\['panda_link3'\] \(4,\)"),
    ],
)
def test_bad_input(wrenches, kind, message):
    robot = panda()
    q, qd, qdd = state(robot)
    for method in (robot.inverse_dynamics, robot.forward_dynamics):
        with pytest.raises(kind, match=message):
            method(q, qd, qdd, wrenches=wrenches)
    with pytest.raises(dl.InputError, match="the wrenches of a kernel are pairs"):
        robot.kernel("inverse_dynamics", wrenches=["panda_link3"])
