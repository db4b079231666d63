"""The bundled robots: they load, they are what was published, and a person can see where it was."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from dalembert import robots
from dalembert.describe.description import Link
from dalembert.describe.dh import to_dh
from dalembert.describe.screws import to_screws
from dalembert.describe.toml_read import read_toml
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import UnknownNameError

CLOSE = 1e-12  # poses of about a meter, masses of some kg
JOINTS = {
    "cartesian-pp": 2,
    "elbow-3r": 3,
    "iiwa7": 7,
    "panda": 7,
    "planar-1r": 1,
    "planar-1r-points": 1,
    "planar-2r": 2,
    "planar-2r-points": 2,
    "planar-3r": 3,
    "planar-3r-points": 3,
    "puma560": 6,
    "rp": 2,
    "scara": 4,
    "stanford": 6,
    "ur10e": 6,
    "ur5e": 6,
    "four-bar": 3,
    "five-bar": 4,
    "parallelogram-arm": 10,
    "delta": 11,
    "stewart": 24,  # closed: test_mechanisms.py
}
NAMES = sorted(JOINTS)


def load(name):
    return read_toml(robots.text(name), file=f"{name}.toml")


def moving(robot):
    return [joint for joint in robot.joints if joint.kind != "fixed"]


class Oracle:
    """Pinocchio's model of the robot's URDF, with the reflected rotor inertias."""

    def __init__(self, robot):
        self.pin = pytest.importorskip("pinocchio")
        bare = replace(robot, links=tuple(Link(k.name, k.inertial) for k in robot.links))
        self.model = self.pin.buildModelFromXML(write_urdf(bare))
        self.model.gravity.linear = np.array(robot.gravity)
        self.model.armature = np.array([j.drive.gear_ratio**2 * j.drive.rotor_inertia for j in moving(robot)])
        self.tip = self.model.getFrameId(robot.tip)
        self.data = self.model.createData()

    def M(self, q):
        M = self.pin.crba(self.model, self.data, np.asarray(q, float))
        return np.triu(M) + np.triu(M, 1).T

    def g(self, q):
        return self.pin.computeGeneralizedGravity(self.model, self.data, np.asarray(q, float))

    def C(self, q, qd):
        q, qd = np.asarray(q, float), np.asarray(qd, float)
        return self.pin.computeCoriolisMatrix(self.model, self.data, q, qd)

    def fk(self, q):
        self.pin.framesForwardKinematics(self.model, self.data, np.asarray(q, float))
        return self.data.oMf[self.tip].homogeneous.copy()

    def jacobian(self, q):
        frame = self.pin.LOCAL_WORLD_ALIGNED
        return self.pin.computeFrameJacobian(self.model, self.data, np.asarray(q, float), self.tip, frame)

    def potential(self, q):
        return self.pin.computePotentialEnergy(self.model, self.data, np.asarray(q, float))


def test_names():
    assert list(robots.names()) == NAMES
    with pytest.raises(UnknownNameError, match="unknown robot 'puma'; did you mean 'puma560'"):
        robots.text("puma")
    with pytest.raises(UnknownNameError, match="unknown robot"):
        robots.text("../robots/panda")


def test_listing_robots_parses_nothing():
    code = (
        "import sys, dalembert.robots as r; r.names(); r.text('panda'); "
        "print([m for m in ('tomllib', 'msgspec', 'tomlkit', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(out.stdout)) <= {"numpy"}


@pytest.mark.parametrize("name", NAMES)
def test_loads_and_is_complete(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load(name)
    assert robot.name == name and len(moving(robot)) == JOINTS[name]
    assert robot.tip in [link.name for link in robot.links]
    assert len(robot.notes) > 100 and ("textbook model" in robot.notes or "publish" in robot.notes)
    for joint in moving(robot):
        link = next(k for k in robot.links if k.name == joint.child)
        assert link.inertial is not None, link.name
        assert link.visuals or link.inertial.mass < 1e-5, link.name  # links that stand for no hardware have no shape
    root = robot.links[0]
    assert root.visuals and all(shape.color is not None for link in robot.links for shape in link.visuals)
    assert bool(robot.warnings) == (name == "puma560")


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_those_of_bodies(name):
    for link in load(name).links:
        if link.inertial is None or (name == "puma560" and link.name in ("link1", "link3")):
            continue
        xx, xy, xz, yy, yz, zz = link.inertial.inertia
        low, middle, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert link.inertial.mass > 0
        if name.endswith("-points"):
            assert high == 0
        else:
            assert low > 0 and low + middle >= high * (1 - 1e-12), link.name


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("planar")])
def test_planar_arms_move_in_x_y_with_gravity_along_minus_y(name):
    robot = load(name)
    assert robot.gravity == (0.0, -9.81, 0.0)
    n = len(moving(robot))
    S, M = to_screws(robot)
    np.testing.assert_array_equal(S[:, 3:], [[0, 0, 1]] * n)
    np.testing.assert_array_equal(M[:3, 3], [n, 0, 0])


def test_planar_2r_is_the_textbooks():
    oracle, (q1, q2) = Oracle(load("planar-2r")), (0.4, -1.1)
    inertia, r = 1 / 12, 0.5
    a, b, d = 2 * inertia + r**2 + (1 + r**2), r, inertia + r**2
    c2 = math.cos(q2)
    np.testing.assert_allclose(oracle.M([q1, q2]), [[a + 2 * b * c2, d + b * c2], [d + b * c2, d]], atol=CLOSE)
    g2 = 9.81 * r * math.cos(q1 + q2)
    np.testing.assert_allclose(oracle.g([q1, q2]), [9.81 * (r + 1) * math.cos(q1) + g2, g2], atol=CLOSE)


def test_planar_2r_points_is_the_textbooks():
    oracle, (q1, q2) = Oracle(load("planar-2r-points")), (0.4, -1.1)
    c2 = math.cos(q2)
    np.testing.assert_allclose(oracle.M([q1, q2]), [[3 + 2 * c2, 1 + c2], [1 + c2, 1]], atol=CLOSE)
    np.testing.assert_allclose(
        oracle.g([q1, q2]), 9.81 * np.array([2 * math.cos(q1) + math.cos(q1 + q2), math.cos(q1 + q2)]), atol=CLOSE
    )


def test_cartesian_pp():
    robot = load("cartesian-pp")
    oracle = Oracle(robot)
    m1, m2 = (link.inertial.mass for link in robot.links[1:3])
    q = np.array([0.3, 0.7])
    np.testing.assert_allclose(oracle.M(q), np.diag([m1 + m2, m2]), atol=CLOSE)
    rise = oracle.potential(q) - oracle.potential(np.zeros(2))
    assert math.isclose(rise, 9.81 * (m1 + m2) * 0.3, rel_tol=1e-12)
    np.testing.assert_allclose(oracle.jacobian(q)[:3], [[0, 0], [0, 1], [1, 0]], atol=CLOSE)
    table = [(row.kind, row.theta, row.d, row.alpha, row.a) for row in to_dh(robot).rows]
    assert table == [("prismatic", 0, 0, -math.pi / 2, 0), ("prismatic", 0, 0, 0, 0)]


def test_rp():
    robot = load("rp")
    one, two = (link.inertial for link in robot.links[1:3])
    q = np.array([0.3, 0.9])
    expected = one.inertia[5] + two.inertia[5] + one.mass * 0.5**2 + two.mass * 0.9**2
    np.testing.assert_allclose(Oracle(robot).M(q), np.diag([expected, two.mass]), atol=CLOSE)


def test_elbow_3r_determinant():
    oracle, (a2, a3) = Oracle(load("elbow-3r")), (0.5, 0.4)
    for q in np.random.default_rng(0).uniform(-3, 3, (10, 3)):
        expected = a2 * a3 * math.sin(q[2]) * (a2 * math.cos(q[1]) + a3 * math.cos(q[1] + q[2]))
        assert math.isclose(abs(np.linalg.det(oracle.jacobian(q)[:3])), abs(expected), abs_tol=1e-13)


def test_scara_reaches_down():
    oracle = Oracle(load("scara"))
    T = oracle.fk([0, 0, 0.1, 0])
    np.testing.assert_allclose(T[:3, 3], [0.6, 0, 0.287], atol=CLOSE)
    np.testing.assert_allclose(T[:3, 2], [0, 0, -1], atol=CLOSE)


def dh_product(columns, q):
    """Π Rz(θ) Tz(d) Tx(a) Rx(α) in one matrix per row, as printed by the manufacturers."""
    T = np.eye(4)
    for d, a, alpha, theta in zip(*columns, q, strict=True):
        ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
        T = T @ np.array(
            [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
        )
    return T


H = math.pi / 2
PUBLISHED = {  # d, a, alpha
    "ur5e": ([0.1625, 0, 0, 0.1333, 0.0997, 0.0996], [0, -0.425, -0.3922, 0, 0, 0], [H, 0, 0, H, -H, 0]),
    "ur10e": ([0.1807, 0, 0, 0.17415, 0.11985, 0.11655], [0, -0.6127, -0.57155, 0, 0, 0], [H, 0, 0, H, -H, 0]),
    "puma560": ([0.67183, 0, 0.15005, 0.4318, 0, 0], [0, 0.4318, 0.0203, 0, 0, 0], [H, 0, -H, H, -H, 0]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_kinematics_are_the_published_table(name):
    oracle = Oracle(load(name))
    for q in np.random.default_rng(1).uniform(-3, 3, (10, 6)):
        np.testing.assert_allclose(oracle.fk(q), dh_product(PUBLISHED[name], q), atol=CLOSE)


def test_stanford_reach():
    """At q = (0, 0, q3, 0, 0, 0) the boom is vertical: 0.412 + q3 high, 0.154 aside, 0.0203 off."""
    T = Oracle(load("stanford")).fk([0, 0, 0.5, 0, 0, 0])
    np.testing.assert_allclose(T[:3, 3], [0, 0.154 - 0.0203, 0.912], atol=CLOSE)


def test_panda_at_zero_and_by_its_axes():
    T = Oracle(load("panda")).fk(np.zeros(7))
    np.testing.assert_allclose(T[:3, 3], [0.088, 0, 0.333 + 0.316 + 0.384 - 0.107], atol=CLOSE)
    np.testing.assert_allclose(T[:3, :3], np.diag([1, -1, -1]), atol=CLOSE)
    S, _ = to_screws(load("panda"))
    axes = [[0, 0, 1], [0, 1, 0], [0, 0, 1], [0, -1, 0], [0, 0, 1], [0, -1, 0], [0, 0, -1]]
    np.testing.assert_allclose(S[:, 3:], axes, atol=CLOSE)
    assert [j.limit.effort for j in moving(load("panda"))] == [87.0] * 4 + [12.0] * 3


def test_iiwa7_at_zero_and_by_its_axes():
    T = Oracle(load("iiwa7")).fk(np.zeros(7))
    np.testing.assert_allclose(T[:3, 3], [0, 0, 1.266], atol=CLOSE)
    np.testing.assert_allclose(T[:3, :3], np.eye(3), atol=CLOSE)
    S, _ = to_screws(load("iiwa7"))
    y, z = [0, 1, 0], [0, 0, 1]
    np.testing.assert_allclose(S[:, 3:], [z, y, z, [0, -1, 0], z, y, z], atol=CLOSE)
    heights = [abs(S[i, 0]) for i in (1, 3, 5)]  # |v| of a horizontal axis at height h through x = 0 is h
    np.testing.assert_allclose(heights, [0.34, 0.74, 1.14], atol=CLOSE)


# Puma 560: Corke and Armstrong-Helouvry 1994, all to the four decimals printed

QN = [0, math.pi / 4, math.pi, 0, math.pi / 4, 0]


def test_puma_mass_matrix():
    M = Oracle(load("puma560")).M(QN)
    expected = np.diag([3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941])
    above = {(0, 1): -0.4044, (0, 2): 0.1006, (0, 3): -0.0025, (1, 2): 0.3509, (1, 4): 0.0024, (2, 4): 0.0015}
    for (i, j), value in above.items():
        expected[i, j] = expected[j, i] = value
    np.testing.assert_allclose(M, expected, atol=5.1e-5)


def test_puma_gravity_and_coriolis():
    oracle = Oracle(load("puma560"))
    np.testing.assert_allclose(oracle.g(QN), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5.1e-5)
    C = [
        [-0.1735, -2.0494, -0.1178, -0.0002, -0.0045, 0.0001],
        [0.6274, 1.1572, 1.9287, -0.0015, -0.0003, 0],
        [-0.3608, -0.7734, -0.0018, -0.0009, -0.0064, 0],
        [0.0011, 0.0005, -0.0001, 0.0002, 0.0002, -0.0001],
        [-0.0002, 0.0028, 0.0046, -0.0002, 0, 0],
        [0.0001, 0, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(oracle.C(QN, [1, 2, 3, 1, 2, 3]), C, atol=5.1e-5)


def test_puma_friction_gives_the_published_torques():
    """rne(qn, 1, 0) without gravity's share: M 0 + C 1 + G² B + |G| Tc⁺ at unit velocities."""
    robot = load("puma560")
    oracle, ones = Oracle(robot), np.ones(6)
    friction = np.array([j.drive.damping + j.drive.coulomb[0] for j in moving(robot)])
    tau = oracle.C(QN, ones) @ ones + oracle.g(QN) + friction
    np.testing.assert_allclose(tau, [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648], rtol=2e-5)
    back = [j.drive.coulomb[1] / abs(j.drive.gear_ratio) for j in moving(robot)]
    np.testing.assert_allclose(back, [0.435, 0.071, 0.105, 0.0169, 0.0145, 0.0105], rtol=1e-12)


def test_puma_warnings_name_the_two_links():
    assert {w.split("link '")[1].split("'")[0] for w in load("puma560").warnings} == {"link1", "link3"}
