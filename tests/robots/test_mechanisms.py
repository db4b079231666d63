"""The bundled closed chains: they close as their hand-derived equations say, and have the freedoms they should.

Nothing here uses the package's constraints: closure is measured by `fk`, solved by Gauss–Newton over `jacobian`, and
compared with the textbook's closed forms.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert import robots
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_write import write_toml
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.urdf_write import write_urdf

CLOSED = 1e-13  # m and rad: sizes of about one meter, a few dozen operations
FREEDOMS = {"four-bar": 1, "five-bar": 2, "parallelogram-arm": 4, "delta": 3, "stewart": 6}
ROWS = {"hinge": 5, "ball": 3, "universal": 4}
DRIVEN = {
    "four-bar": ["crank"],
    "five-bar": ["joint1", "joint2"],
    "parallelogram-arm": ["waist", "shoulder", "lever", "flange"],
    "delta": ["arm1", "arm2", "arm3"],
    "stewart": [f"leg{i}" for i in range(1, 7)],
}


@cache
def load(name: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dl.load(name)


def at(robot: dl.Robot, **joints: float) -> np.ndarray:
    """The home with some joints moved."""
    q = robot.home
    for name, value in joints.items():
        q[robot.joint_names.index(name)] = value
    return q


def skew(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def side(robot, q, link, origin):
    """Pose of a loop's frame on a link, and the Jacobian (v of its origin; ω), world axes."""
    T, J = robot.fk_jacobian(q, link)
    r = T[:3, :3] @ np.array(origin.xyz)
    moved = J.copy()
    moved[:3] += -skew(r) @ J[3:]
    return T @ dl.pose(xyz=origin.xyz, rpy=origin.rpy), moved


def closure(robot, q):
    """What does not vanish while a loop is open, and its derivative by q."""
    rows, slopes = [], []
    for loop in robot.description.loops:
        A, JA = side(robot, q, loop.first, loop.first_origin)
        B, JB = side(robot, q, loop.second, loop.second_origin)
        rows.append(B[:3, 3] - A[:3, 3])
        slopes.append(JB[:3] - JA[:3])
        if loop.kind == "hinge":  # parallel axes: a × b = 0
            a, b = A[:3, :3] @ loop.axis, B[:3, :3] @ loop.axis
            rows.append(np.cross(a, b))
            slopes.append(skew(b) @ skew(a) @ JA[3:] - skew(a) @ skew(b) @ JB[3:])
        elif loop.kind == "universal":  # z of the first at right angles to x of the second
            assert loop.axis == (0, 0, 1)
            z, x = A[:3, 2], B[:3, 0]
            rows.append([z @ x])
            slopes.append((np.cross(z, x) @ (JA[3:] - JB[3:]))[None])
        else:
            assert loop.kind == "ball"
    return np.concatenate(rows), np.concatenate(slopes)


def assembled(robot, q, moved=()):
    """Gauss–Newton over all joints but those that are held."""
    free = [k for k, name in enumerate(robot.joint_names) if name not in moved]
    q = np.array(q, float)
    for _ in range(30):
        r, A = closure(robot, q)
        q[free] -= np.linalg.lstsq(A[:, free], r, rcond=1e-9)[0]
        if np.abs(r).max() < 1e-15:
            break
    assert np.abs(closure(robot, q)[0]).max() < CLOSED
    return q


def nearby(name, seed, size=0.3):
    """A closed configuration with the drives moved off the home."""
    robot = load(name)
    rng = np.random.default_rng(seed)
    q = robot.home
    for joint in DRIVEN[name]:
        k = robot.joint_names.index(joint)
        q[k] += rng.uniform(-size, size) * (1.0 if robot.model.coordinates[k].joint.kind == "revolute" else 0.25)
    return assembled(robot, q, DRIVEN[name])


# ---------------------------------------------------------------------------------------------------------- all of them
def test_they_are_all_here():
    closed = [name for name in robots.names() if read_toml(robots.text(name)).loops]
    assert closed == sorted(FREEDOMS)


@pytest.mark.parametrize("name", FREEDOMS)
def test_the_home_closes(name):
    robot = load(name)
    assert robot.description.home
    assert np.abs(closure(robot, robot.home)[0]).max() < 1e-15 * 5
    assert (robot.limits.lower <= robot.home).all() and (robot.home <= robot.limits.upper).all()


@pytest.mark.parametrize("name", FREEDOMS)
def test_the_derivative_of_closure_is_its_difference(name):
    """The Gauss–Newton of these tests is right, so that what it finds counts."""
    robot = load(name)
    rng = np.random.default_rng(0)
    q = robot.home + rng.uniform(-0.1, 0.1, robot.n)
    h = 1e-6
    steps = np.eye(robot.n) * h
    difference = np.stack([(closure(robot, q + s)[0] - closure(robot, q - s)[0]) / (2 * h) for s in steps], axis=1)
    assert np.abs(difference - closure(robot, q)[1]).max() < 1e-8


@pytest.mark.parametrize("name", FREEDOMS)
@pytest.mark.parametrize("seed", range(3))
def test_freedoms(name, seed):
    """n − rank A, and the drives determine the rest."""
    robot = load(name)
    q = nearby(name, seed)
    A = closure(robot, q)[1]
    s = np.linalg.svd(A, compute_uv=False)
    rank = int((s > 1e-9 * s[0]).sum())
    assert robot.n - rank == FREEDOMS[name] == len(DRIVEN[name])
    written = sum(ROWS[loop.kind] for loop in robot.description.loops)
    if name in ("delta", "stewart"):
        assert rank == written  # no equation too many
    else:
        assert rank == 2 * len(robot.loops) < written  # planar: two of the five rows of a hinge count
    passive = [k for k, joint in enumerate(robot.joint_names) if joint not in DRIVEN[name]]
    s = np.linalg.svd(A[:, passive], compute_uv=False)
    assert int((s > 1e-3 * s[0]).sum()) == rank == len(passive)


@pytest.mark.parametrize("name", FREEDOMS)
def test_the_tree_has_a_positive_definite_mass_matrix(name):
    robot = load(name)
    for seed in range(3):
        M = robot.mass_matrix(nearby(name, seed))
        values = np.linalg.eigvalsh(M)
        assert values[0] > 1e-7 * values[-1] > 0


@pytest.mark.parametrize("name", FREEDOMS)
def test_files_keep_them(name):
    d = read_toml(robots.text(name))
    assert read_toml(write_toml(d)) == d
    assert read_urdf(write_urdf(d)) == d


# ------------------------------------------------------------------------------------------------------------- four-bar
def test_four_bar_by_freudenstein():
    """K₁ cos ψ − K₂ cos θ + K₃ = cos(θ − ψ) all the way round, and the coupler by the law of cosines."""
    a, b, c, d = 0.2, 0.5, 0.4, 0.6
    K1, K2, K3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    robot = load("four-bar")
    q = robot.home
    swings = []
    for theta in q[0] + np.linspace(0, 2 * math.pi, 73):
        q = assembled(robot, [theta, *q[1:]], ["crank"])
        psi = q[2]
        assert abs(K1 * math.cos(psi) - K2 * math.cos(theta) + K3 - math.cos(theta - psi)) < 1e-12
        diagonal = math.sqrt(a * a + d * d - 2 * a * d * math.cos(theta))
        angle = math.acos((b * b + diagonal**2 - c * c) / (2 * b * diagonal))
        wanted = math.atan2(-a * math.sin(theta), d - a * math.cos(theta)) + angle
        assert math.remainder(theta + q[1] - wanted, 2 * math.pi) == pytest.approx(0, abs=1e-12)
        swings.append(psi)
    # The crank turned fully, the rocker only swung: between where crank and coupler lie in line, far and near.
    assert swings[-1] == pytest.approx(swings[0], abs=1e-12)
    far, near = (math.pi - math.acos((c * c + d * d - s * s) / (2 * c * d)) for s in (b + a, b - a))
    assert far - 1e-12 < min(swings) < far + 0.01 and near - 0.01 < max(swings) < near + 1e-12


# ------------------------------------------------------------------------------------------------------------- five-bar
def reduced_mass(robot, q1, q2):
    """Nᵀ M N for q̇ = N (q̇₁, q̇₂)."""
    N = np.array([[1, 0], [0, 1], [1, -1], [-1, 1]])
    q = N @ [q1, q2]
    assert np.abs(closure(robot, q)[0]).max() < 1e-15 * 5
    return N.T @ robot.mass_matrix(q) @ N


def test_five_bar_is_the_textbooks():
    """The notes' d₁₁, d₂₂ and d₁₂ = (m₃ l₂ l_c3 − m₄ l₁ l_c4) cos(q₂ − q₁), misprints mended."""
    robot = load("five-bar")
    link = {k.name: k.inertial for k in robot.description.links if k.inertial}
    m1, m2, m3, m4 = (link[f"link{i}"].mass for i in range(1, 5))
    I1, I2, I3, I4 = (link[f"link{i}"].inertia[5] for i in range(1, 5))
    c1, c2, c3, c4 = (link[f"link{i}"].origin.xyz[0] for i in range(1, 5))
    l1, l2 = 0.4, 0.25
    c4 -= l2  # from the end of link 1
    coupling = m3 * l2 * c3 - m4 * l1 * c4
    assert coupling == pytest.approx(-0.015)
    for q1, q2 in np.random.default_rng(0).uniform(-3, 3, (10, 2)):
        d11 = m1 * c1**2 + m3 * c3**2 + m4 * l1**2 + I1 + I3
        d22 = m2 * c2**2 + m3 * l2**2 + m4 * c4**2 + I2 + I4
        d12 = coupling * math.cos(q2 - q1)
        np.testing.assert_allclose(reduced_mass(robot, q1, q2), [[d11, d12], [d12, d22]], rtol=0, atol=1e-14)


def test_five_bar_decouples():
    """m₃ l₂ l_c3 = m₄ l₁ l_c4: then neither motor feels the other, and gravity of each is its own."""
    d = load("five-bar").description
    m4 = 0.9 * 0.25 * 0.2 / (0.4 * 0.1)
    links = tuple(replace(k, inertial=replace(k.inertial, mass=m4)) if k.name == "link4" else k for k in d.links)
    robot = dl.Robot(replace(d, links=links))
    N = np.array([[1, 0], [0, 1], [1, -1], [-1, 1]])
    for q1, q2 in np.random.default_rng(1).uniform(-3, 3, (10, 2)):
        M = reduced_mass(robot, q1, q2)
        assert abs(M[0, 1]) < 1e-16 * 10 and np.ptp([M[0, 0], reduced_mass(robot, 0, 1)[0, 0]]) < 1e-14
        g = N.T @ robot.gravity_torque(N @ [q1, q2])
        assert g[0] == pytest.approx((N.T @ robot.gravity_torque(N @ [q1, q2 + 0.7]))[0], abs=1e-12)
    wrong = load("five-bar")
    assert abs(reduced_mass(wrong, 0.3, 0.3)[0, 1]) > 0.01  # the bundled figures do not satisfy it


# ---------------------------------------------------------------------------------------------------- parallelogram-arm
def test_parallelogram_arm_keeps_its_plate_level():
    robot = load("parallelogram-arm")
    rng = np.random.default_rng(2)
    for _ in range(5):
        turn, s, f, spin = rng.uniform([-3, 0.7, -0.8, -3], [3, 2.2, 0.7, 3])
        q = at(robot, waist=turn, shoulder=s, lever=f, flange=spin)
        q = assembled(robot, q, DRIVEN["parallelogram-arm"])
        by_hand = {"elbow": f - s, "wrist": -f, "triangle": -s, "tie2": f, "rod": s - f, "tie1": s}
        for name, wanted in by_hand.items():
            assert q[robot.joint_names.index(name)] == pytest.approx(wanted, abs=1e-12), name
        T = robot.fk(q)
        assert T[:3, 2] == pytest.approx([0, 0, 1], abs=1e-12)
        reach = 0.3 + 0.9 * math.cos(s) + 1.0 * math.cos(f)
        height = 0.8 + 0.9 * math.sin(s) + 1.0 * math.sin(f) - 0.06
        assert T[:3, 3] == pytest.approx([reach * math.cos(turn), reach * math.sin(turn), height], abs=1e-12)


# ---------------------------------------------------------------------------------------------------------------- delta
R, LA, LB, RP = 0.2, 0.3, 0.7, 0.05


def delta_joints(P):
    """All eleven joints for a platform at P, leg by leg: u from the shoulder to the platform's joint in the plane of
    the arm, |u − l_a (cos q, 0, −sin q)| = l_b, the root with the elbow outside."""
    q = {}
    for i, alpha in enumerate(np.radians([0, 120, 240]), 1):
        c, s = math.cos(alpha), math.sin(alpha)
        u = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ P + [RP - R, 0, 0]
        # u_x cos q − u_z sin q = k
        k = (u @ u + LA**2 - LB**2) / (2 * LA)
        arm = math.atan2(-u[2], u[0]) - math.acos(k / math.hypot(u[0], u[2]))
        x, y, z = (u - LA * np.array([math.cos(arm), 0, -math.sin(arm)])) / LB
        psi = math.atan2(-z, x)
        q |= {f"arm{i}": arm, f"elbow{i}": psi - arm, f"side{i}": math.asin(y)}
        if i == 1:
            q |= {"side4": -math.asin(y), "platform": -psi}
    return q


def test_delta_by_its_inverse_kinematics():
    robot = load("delta")
    rng = np.random.default_rng(3)
    assert at(robot, **delta_joints([0, 0, robot.fk(robot.home)[2, 3]])) == pytest.approx(robot.home, abs=1e-12)
    for P in rng.uniform([-0.25, -0.25, -0.8], [0.25, 0.25, -0.5], (20, 3)):
        by_hand = delta_joints(P)
        q = at(robot, **by_hand)
        assert np.abs(closure(robot, q)[0]).max() < CLOSED
        T = robot.fk(q)
        assert np.abs(T[:3, 3] - P).max() < CLOSED and np.abs(T[:3, :3] - np.eye(3)).max() < CLOSED
        # The arms alone determine the rest: Gauss–Newton gets there from the home.
        arms = {name: by_hand[name] for name in DRIVEN["delta"]}
        assert assembled(robot, at(robot, **arms), DRIVEN["delta"]) == pytest.approx(q, abs=1e-11)


# -------------------------------------------------------------------------------------------------------------- stewart
BASE, PLATFORM = np.radians([-10, 10, 110, 130, 230, 250]), np.radians([-50, 50, 70, 170, 190, 290])


def stewart_joints(xyz, rpy):
    """All 24 joints for a pose: leg i is d = x + R p_i − b_i, of length |d|; its frame is turned to the base point."""
    T = dl.pose(xyz=xyz, rpy=rpy)
    q = dict(zip(("x", "y", "z", "roll", "pitch", "yaw"), (*xyz, *rpy), strict=True))
    for i, (b, p) in enumerate(zip(BASE, PLATFORM, strict=True), 1):
        foot = 0.5 * np.array([math.cos(b), math.sin(b), 0])
        d = T[:3, 3] + T[:3, :3] @ (0.3 * np.array([math.cos(p), math.sin(p), 0])) - foot
        x, y, z = math.cos(b) * d[0] + math.sin(b) * d[1], -math.sin(b) * d[0] + math.cos(b) * d[1], d[2]
        length = math.sqrt(d @ d)
        q |= {f"leg{i}": length, f"swing{i}": math.atan2(-y, z), f"tilt{i}": math.asin(x / length)}
    return q


def test_stewart_by_its_leg_lengths():
    robot = load("stewart")
    rng = np.random.default_rng(4)
    assert at(robot, **stewart_joints((0, 0, 0.6), (0, 0, 0))) == pytest.approx(robot.home, abs=1e-14)
    for _ in range(10):
        xyz, rpy = rng.uniform([-0.08, -0.08, 0.55], [0.08, 0.08, 0.65]), rng.uniform(-0.25, 0.25, 3)
        by_hand = stewart_joints(xyz, rpy)
        q = at(robot, **by_hand)
        assert np.abs(closure(robot, q)[0]).max() < CLOSED
        assert np.abs(robot.fk(q, "platform") - dl.pose(xyz=xyz, rpy=rpy)).max() < CLOSED
        # Six lengths, from the home: the pose comes out (the direct problem has others, farther away).
        legs = {name: by_hand[name] for name in DRIVEN["stewart"]}
        assert assembled(robot, at(robot, **legs), DRIVEN["stewart"]) == pytest.approx(q, abs=1e-10)


def test_stewart_carriers_weigh_nothing_that_counts():
    robot = load("stewart")
    light = sum(k.inertial.mass for k in robot.description.links if k.name.startswith(("slide", "turn")))
    assert light < 1e-6 * robot.mass
