"""The independent reference: its own laws first, then another library, then the friction laws it writes out again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.describe.urdf_write import write_urdf
from dalembert.friction import laws
from dalembert.trust.verify import reread
from dalembert.trust.verify.four_by_four import FourByFour, friction_terms
from dalembert.trust.verify.linkage import LinkData, States, angles, draw_states, linkage_of, rotation
from dalembert.trust.verify.verify import differences
from oracles.pinocchio_model import PinocchioModel
from tolerances import ORACLE, ROUNDING, error
from trees import random_tree
from trust.verify.gripper_arm import GRIPPER_ARM

STEP = 1e-30  # of a complex step, exact to rounding


def states(n: int, count: int = 6, seed: int = 0) -> States:
    q, qd, qdd = np.random.default_rng(seed).uniform(-1, 1, (3, count, n))
    return States(q, qd, qdd, np.zeros_like(q))


@pytest.fixture(params=[3, 4, 5])
def reference(request) -> FourByFour:
    tree = random_tree(seed=request.param, joints=7, mimic=True, rotors=True, friction=True)
    linkage = linkage_of(tree)
    return FourByFour(linkage, states(len(linkage.coordinates)))


def test_torque_is_the_sum_of_its_terms(reference):
    s = reference.states
    total = np.einsum("sij,sj->si", reference.mass_matrix, s.qdd) + reference.coriolis_torque + reference.gravity_torque
    assert error(reference.torque, total) < ROUNDING
    assert (np.abs(reference.torque).max(axis=0) <= reference.torque_scale * (1 + 1e-12)).all()
    assert np.linalg.eigvalsh(reference.mass_matrix).min() > 0


def test_energy_changes_by_the_work_done(reference):
    """d/dt (K + P) along q + q̇ t + q̈ t²/2, by a complex step in t, is τᵀ q̇."""
    s = reference.states
    moved = replace(s, q=s.q + 1j * STEP * s.qd, qd=s.qd + 1j * STEP * s.qdd)
    r = FourByFour(reference.linkage, moved)
    rate = (r.kinetic_energy + r.potential_energy).imag / STEP
    assert error(rate, (reference.torque * s.qd).sum(axis=-1)) < ROUNDING


def test_lagranges_equations(reference):
    """τ = d/dt ∂K/∂q̇ − ∂K/∂q + ∂P/∂q, with K = ½ q̇ᵀ M q̇ and every derivative by a complex step."""
    s, m, n = reference.states, reference.linkage, reference.n

    def along(q, qd):  # ∂K/∂q̇ = M q̇ along the motion
        r = FourByFour(m, replace(s, q=q, qd=qd))
        return np.einsum("sij,sj->si", r.mass_matrix, qd)

    momentum_rate = along(s.q + 1j * STEP * s.qd, s.qd + 1j * STEP * s.qdd).imag / STEP
    by_q = np.zeros_like(s.q)
    for k in range(n):
        q = s.q.astype(complex)
        q[:, k] += 1j * STEP
        r = FourByFour(m, replace(s, q=q))
        by_q[:, k] = (r.kinetic_energy - r.potential_energy).imag / STEP
    assert error(reference.torque, momentum_rate - by_q) < ROUNDING


def test_jacobian_is_the_derivative_of_the_pose(reference):
    s = reference.states
    frame = reference.frames[-1]
    r = FourByFour(reference.linkage, replace(s, q=s.q + 1j * STEP * s.qd))
    T, rate = reference.pose(frame), r.pose(frame).imag / STEP
    W = rate[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
    twist = np.concatenate([rate[:, :3, 3], np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1)], axis=-1)
    assert error(np.einsum("sij,sj->si", reference.jacobian(frame), s.qd), twist) < ROUNDING


def test_planar_2r_is_the_textbooks():
    """a + 2b cos q₂, d + b cos q₂, d and −b sin q₂ (2 q̇₁q̇₂ + q̇₂²), with the robot's own numbers."""
    arm = dl.load("planar-2r")
    r = FourByFour(linkage_of(arm.description), states(2))
    M, s = r.mass_matrix, r.states
    c2, s2 = np.cos(s.q[:, 1]), np.sin(s.q[:, 1])
    b = (M[0, 0, 1] - M[1, 0, 1]) / (c2[0] - c2[1])
    d = M[0, 1, 1]
    assert error(M[:, 0, 1], d + b * c2) < ROUNDING
    v = s.qd
    c = np.stack([-b * s2 * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2), b * s2 * v[:, 0] ** 2], axis=-1)
    assert error(r.coriolis_torque, c) < ROUNDING


def test_pinocchio_agrees_with_it_directly():
    robot = dl.Robot(random_tree(seed=8, joints=8, rotors=True))
    oracle = PinocchioModel(robot)
    r = FourByFour(linkage_of(robot.description), states(robot.n, 3))
    for k, (q, qd, qdd) in enumerate(zip(r.states.q, r.states.qd, r.states.qdd, strict=True)):
        assert error(r.torque[k], oracle.inverse_dynamics(q, qd, qdd)) < ORACLE
        assert error(r.mass_matrix[k], oracle.mass_matrix(q)) < ORACLE
        by_q, by_v, _ = pin.computeRNEADerivatives(oracle.model, oracle.data, oracle.q(q), oracle.v(qd), oracle.v(qdd))
        G = oracle.G
        assert error(r.torque_by_q[k], G.T @ by_q @ G) < ORACLE
        assert error(r.torque_by_qd[k], G.T @ by_v @ G) < ORACLE


def test_rpy_there_and_back():
    rng = np.random.default_rng(0)
    for rpy in (*rng.uniform(-3, 3, (20, 3)), (0.3, np.pi / 2, 0.2), (0.3, -np.pi / 2, 0.2)):
        R = rotation(rpy)
        assert error(R @ R.T, np.eye(3)) < ROUNDING and np.linalg.det(R) > 0
        assert error(rotation(angles(R)), R) < ROUNDING
    assert error(rotation((0.1, 0.2, 0.3)), dl.pose(rpy=(0.1, 0.2, 0.3))[:3, :3]) < ROUNDING


LAWS = [
    laws.friction("viscous", viscous=(0.3, 0.5)),
    laws.friction("coulomb", coulomb=(0.4, 0.2), load=0.1),
    laws.friction("static", coulomb=0.4, breakaway=0.6),
    laws.friction("stribeck", coulomb=(0.3, 0.4), breakaway=0.6, speed=0.2, exponent=1.5, viscous=0.1, load=0.05),
    laws.friction("stribeck", coulomb=0.3, breakaway=0.6, speed=0.2, smooth="tanh", width=0.05),
    laws.friction("coulomb", coulomb=0.3, smooth="arctan", width=0.05),
    laws.friction("coulomb", coulomb=(0.3, 0.4), smooth="root", width=0.05),
    laws.friction("power", coefficient=(0.2, 0.3), exponent=1.7),
    laws.friction("offset", offset=-0.2),
]


@pytest.mark.parametrize("term", LAWS, ids=repr)
def test_friction_written_out_again(term):
    v = np.array([-1.3, -0.2, -0.01, 0.0, 0.03, 0.4, 2.0])
    load = np.linspace(-3, 3, len(v))
    again = friction_terms(LinkData("link", friction=(term,)), 0 * v, v, load)["further friction"]
    wanted = [laws.torque(term, float(x), float(y)) for x, y in zip(v, load, strict=True)]
    assert error(again, wanted) < ROUNDING


# -------------------------------------------------------------------------------------------- the file read again


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_urdf_read_again(seed):
    description = dl.Robot(random_tree(seed=seed, joints=8, mimic=True, rotors=True, friction=True)).description
    again, read = reread.of_urdf(write_urdf(description)), linkage_of(description)
    assert again.coordinates == read.coordinates and [p.link for p in again.parts] == [p.link for p in read.parts]
    assert [p.friction for p in again.parts] == [p.friction for p in read.parts]
    assert differences(again, read) == []  # to the last digit but one: axes are made unit vectors twice


def test_dh_tables_of_both_conventions():
    rows = [
        {
            "d": 0.3,
            "alpha": 1.2,
            "a": 0.1,
            "offset": 0.2,
            "inertial": dl.describe.Inertial(2.0, (0.1, 0.01, 0, 0.2, 0, 0.1)),
        },
        {"kind": "prismatic", "theta": 0.4, "a": 0.2, "alpha": -0.3, "offset": 0.1},
        {
            "a": 0.4,
            "d": 0.1,
            "inertial": dl.describe.Inertial(1.0, (0.01,) * 6, dl.describe.Origin((0.1, 0.02, 0.3), (0.1, 0.2, 0.3))),
        },
    ]
    for convention in ("standard", "modified"):
        base = dl.describe.Origin((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
        arm = dl.Robot.from_dh(rows, convention, base=base)
        table = dl.Robot.from_dh(rows, convention, base=base).to_dh(convention)
        a, b = linkage_of(arm.description), reread.of_dh_table(table)
        s = states(3)
        x, y = FourByFour(a, s), FourByFour(b, s)
        assert error(x.pose("tool"), y.pose("tool")) < ROUNDING
        assert error(x.torque, y.torque) < ROUNDING
        other = FourByFour(reread.of_table(b.table, "modified" if convention == "standard" else "standard"), s)
        assert error(x.pose("tool"), other.pose("tool")) > 0.1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GRIPPER_ARM[:-9], "XML parser refuses"),
        (GRIPPER_ARM.replace('<mass value="9"/>', ""), "without <mass>"),
        (GRIPPER_ARM.replace('xyz="0.2 -0.1 0.5"', 'xyz="0.2 -0.1"'), "did not understand"),
    ],
)
def test_what_the_second_reader_cannot_read_it_says(text, says):
    with pytest.raises(reread.Unread, match=says):
        reread.of_urdf(text)


def test_states_are_within_the_limits_and_of_every_kind():
    arm = dl.load("panda")
    m = linkage_of(arm.description)
    s = draw_states(m, 40, seed=3)
    assert (s.q >= arm.limits.lower).all() and (s.q <= arm.limits.upper).all()
    assert (np.abs(s.qd) <= arm.limits.velocity).all()
    kinds = {(bool(a), bool(b)) for a, b in zip(s.moving, s.accelerated, strict=True)}
    assert len(kinds) == 4
    assert (draw_states(m, 40, seed=3).q == s.q).all() and not (draw_states(m, 40, seed=4).q == s.q).all()
