"""Inverse kinematics by damped steps: what it finds is right, what it does not find it says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Link
from gripper import with_fingers

ROBOTS = ("panda", "ur5e", "puma560", "iiwa7")


def load(name: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


def states(robot: dl.Robot, count: int, seed: int = 0) -> np.ndarray:
    low = np.clip(robot.limits.lower, -2 * np.pi, 2 * np.pi)
    high = np.clip(robot.limits.upper, -2 * np.pi, 2 * np.pi)
    return np.random.default_rng(seed).uniform(low, high, (count, robot.n))


def distance(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = np.linalg.norm(A[..., :3, 3] - B[..., :3, 3], axis=-1)
    return p, np.linalg.norm(A[..., :3, :3] - B[..., :3, :3], axis=(-2, -1)) / np.sqrt(2)


@pytest.mark.parametrize("name", ROBOTS)
def test_ten_thousand_reachable_poses(name):
    robot = load(name)
    T = robot.fk(states(robot, 10_000))
    s = robot.ik(T, tolerance=1e-5)
    assert s.converged.mean() >= 0.999
    p, o = distance(robot.fk(s.q), T)
    assert p[s.converged].max() <= 1e-5 and o[s.converged].max() <= 1.0001e-5
    assert (s.q >= robot.limits.lower).all() and (s.q <= robot.limits.upper).all()
    assert np.allclose(s.position_error, p, atol=1e-12)


@pytest.mark.parametrize("name", ["scara", "stanford", "planar-2r", "planar-3r", "rp", "elbow-3r", "cartesian-pp"])
def test_other_arms(name):
    robot = load(name)
    T = robot.fk(states(robot, 300))
    assert robot.ik(T).converged.mean() == 1.0


def test_the_same_bits_alone_and_in_any_batch():
    robot = load("panda")
    T = robot.fk(states(robot, 500))
    whole = robot.ik(T)
    for k in (0, 17, 499):
        alone = robot.ik(T[k])
        assert np.array_equal(alone.q, whole.q[k]) and alone.iterations == whole.iterations[k]
        assert alone.position_error == whole.position_error[k]
    assert np.array_equal(robot.ik(T[100:105]).q, whole.q[100:105])
    assert robot.ik(T.reshape(5, 100, 4, 4)).q.shape == (5, 100, 7)


def test_begins_where_it_is_told():
    robot = load("panda")
    home = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.3])
    q = home + 0.2 * np.random.default_rng(0).uniform(-1, 1, (200, 7))
    s = robot.ik(robot.fk(q), q0=q + 0.01, tolerance=1e-9)
    assert s.converged.all() and np.abs(s.q - q).max() < 0.1 and s.restarts.max() == 0
    ur = load("ur5e")
    q = states(ur, 200)
    near = ur.ik(ur.fk(q), q0=q, tolerance=1e-9)
    assert np.allclose(near.q, q, atol=1e-6)  # also beyond one turn


def test_parts_of_a_pose():
    robot = load("panda")
    T = robot.fk(states(robot, 300, 3))
    s = robot.ik(T, rows="position")
    assert s.converged.all() and np.allclose(robot.fk(s.q)[:, :3, 3], T[:, :3, 3], atol=1e-6)
    assert np.array_equal(s.q, robot.ik(T[:, :3, 3], rows="position").q)
    s = robot.ik(T, rows="orientation")
    assert s.converged.all() and np.allclose(robot.fk(s.q)[:, :3, :3], T[:, :3, :3], atol=3e-6)
    s = robot.ik(T, axis="z")
    assert s.converged.all() and np.allclose(robot.fk(s.q)[:, :3, 2:], T[:, :3, 2:], atol=3e-6)
    s = robot.ik(T, rows=[1, 0, 1, 0, 0, 0])
    assert s.converged.all() and np.allclose(robot.fk(s.q)[:, [0, 2], 3], T[:, [0, 2], 3], atol=1e-6)
    planar = load("planar-3r")
    T = planar.fk(states(planar, 100))
    s = planar.ik(T, rows="planar")
    assert s.converged.all() and np.allclose(planar.fk(s.q), T, atol=3e-6)
    bent = np.array([0.3, 0.2, -0.4, -1.0, 0.0, 1.0, 0.0])
    assert robot.ik(robot.fk(bent, "panda_link4"), "panda_link4").converged


def test_out_of_reach_gives_the_nearest_point_and_says_so():
    arm = load("planar-2r")
    far = arm.ik([[3.0, 0, 0], [0, -5.0, 0], [3, 3, 0]], rows="position")
    assert not far.converged.any() and "out of reach" in far.reason[0] and not far
    assert np.allclose(far.position_error, [1, 3, np.hypot(3, 3) - 2], atol=1e-6)
    assert np.allclose(arm.fk(far.q)[:, :3, 3], [[2, 0, 0], [0, -2, 0], [np.sqrt(2), np.sqrt(2), 0]], atol=1e-3)
    panda = load("panda")
    T = panda.fk(np.array([0, 0.3, 0, -1.5, 0, 1.8, 0.4]))
    T[:3, 3] += [2, 0, 0]
    s = panda.ik(T)
    assert not s.converged and s.position_error > 1 and np.isfinite(s.q).all()
    assert (s.q >= panda.limits.lower).all() and (s.q <= panda.limits.upper).all()


def test_singular_and_limiting_targets():
    arm = load("planar-2r")
    s = arm.ik([2.0, 0.0, 0.0], rows="position", tolerance=1e-4)  # stretched: the edge of the reach
    assert s.converged and s.position_error <= 1e-4
    for name in ("puma560", "panda", "ur5e"):
        robot = load(name)
        middle = 0.5 * (np.clip(robot.limits.lower, -3, 3) + np.clip(robot.limits.upper, -3, 3))
        zero = np.clip(np.zeros(robot.n), robot.limits.lower, robot.limits.upper)
        for q in (zero, robot.limits.lower, robot.limits.upper, middle):
            q = np.clip(q, -2 * np.pi, 2 * np.pi)
            s = robot.ik(robot.fk(q), tolerance=1e-4)
            assert np.isfinite(s.q).all()
            p, o = distance(robot.fk(s.q), robot.fk(q))
            assert bool(s.converged) == bool(p <= 1e-4 and o <= 1e-4)
            assert s.converged, (name, q)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda T: T[:3], r"T has shape \(3, 4\)"),
        (lambda T: np.where(np.arange(16).reshape(4, 4) == 12, np.nan, T), "not finite"),
        (lambda T: np.where(np.arange(16).reshape(4, 4) == 5, np.inf, T), "not finite"),
        (lambda T: np.where(np.arange(16).reshape(4, 4) == 3, np.nan, T), "not finite"),
        (lambda T: T * 1.01, "its last row is"),
        (lambda T: np.diag([1.0, 1, 1.01, 1]) @ T, "no rotation, RᵀR differs from 1 by 0.02"),
        (lambda T: T @ np.diag([1.0, 1, -1, 1]), "it mirrors"),
        (lambda T: np.stack([T, T @ np.diag([1.0, 1, -1, 1])]), "target 1 is not a pose: .* it mirrors"),
        (lambda T: "here", "matrix of real numbers"),
    ],
)
def test_targets_that_are_no_poses(change, words):
    robot = load("panda")
    with pytest.raises(dl.InputError, match=words):
        robot.ik(change(robot.fk(np.zeros(7))))


def test_wrong_options():
    robot = load("panda")
    T = robot.fk(np.zeros(7))
    for options, words in (
        ({"rows": "all"}, "unknown choice of rows 'all'"),
        ({"rows": [0] * 6}, "not all zero"),
        ({"rows": [1, 1]}, "six weights"),
        ({"axis": "w"}, "unknown axis 'w'"),
        ({"tolerance": 0}, "positive number"),
        ({"tolerance": float("nan")}, "positive number"),
        ({"restarts": -1}, "whole number"),
        ({"q0": [1, 2]}, "q0 must be finite numbers, 7 in its last dimension"),
        ({"q0": [np.nan] * 7}, "q0 must be finite numbers"),
        ({"frame": "tol0"}, "unknown frame"),
        ({"frame": "panda_link0"}, "no joint of 'panda' moves the frame"),
    ):
        with pytest.raises(dl.DalembertError, match=words):
            robot.ik(T, **options)
    with pytest.raises(dl.InputError, match="no joint of"):
        dl.Robot(Description("nothing", (Link("base"),))).ik(np.eye(4))


def test_no_poses_at_all():
    robot = load("panda")
    s = robot.ik(np.empty((0, 4, 4)))
    assert s.q.shape == (0, 7) and s.converged.shape == (0,) and bool(s)


def test_reads_well():
    robot = load("panda")
    s = robot.ik(robot.fk(np.array([0, 0.3, 0, -1.5, 0, 1.8, 0.4])))
    assert "converged=True" in repr(s) and s.reason == "converged"
    assert "2 of 2 poses reached" in repr(robot.ik(robot.fk(states(robot, 2))))


def test_secondary_goals():
    robot = load("panda")
    T = robot.fk(states(robot, 40, 5))
    plain = robot.ik(T)
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    half = 0.5 * (robot.limits.upper - robot.limits.lower)

    def beside(s):
        return (((s.q - middle) / half) ** 2).sum(-1)

    inside = robot.ik(T, secondary="limits")
    assert inside.converged.all() and (beside(inside) <= beside(plain) + 1e-9).all()
    assert beside(inside).mean() < beside(plain).mean()
    for q in inside.q:  # where no limit stops it, the gradient has nothing left that the pose allows
        if (np.abs(q - middle) < half - 1e-3).all():
            J, slope = robot.jacobian(q), (q - middle) / half**2
            assert np.linalg.norm(slope - np.linalg.pinv(J) @ (J @ slope)) < 0.02
    posture = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    near = robot.ik(T, secondary=posture)
    assert near.converged.all()
    assert np.linalg.norm(near.q - posture, axis=-1).mean() < np.linalg.norm(plain.q - posture, axis=-1).mean()
    open_ = robot.ik(T, secondary="singularities")
    mu = [np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2))) for J in (robot.jacobian(s.q) for s in (plain, open_))]
    assert open_.converged.all() and (mu[1] >= mu[0] - 1e-9).all() and mu[1].mean() > 1.1 * mu[0].mean()
    for wrong, words in (("comfort", "unknown secondary goal 'comfort'"), ([1, 2], "7 in its last dimension")):
        with pytest.raises(dl.DalembertError, match=words):
            robot.ik(T, secondary=wrong)


FLIPPED = np.diag([1.0, -1.0, -1.0, 1.0])


def test_half_a_turn_is_not_nothing():
    """The error vector vanishes there, and must not be taken for the error."""
    for name in ("scara", "planar-3r"):
        robot = load(name)
        s = robot.ik(robot.fk(states(robot, 20)) @ FLIPPED)  # upside down: impossible for these
        assert not s.converged.any() and (s.orientation_error > 3.1).all()
    for name in ("ur5e", "puma560", "panda", "iiwa7"):
        robot = load(name)
        q = states(robot, 20) * 0.5
        q = np.clip(q, robot.limits.lower, robot.limits.upper)
        for turn in (FLIPPED, np.diag([-1.0, -1.0, 1.0, 1.0])):
            T = robot.fk(q) @ turn
            s = robot.ik(T, q0=q)
            _, o = distance(robot.fk(s.q), T)
            assert (o[s.converged] < 2e-6).all() and np.allclose(2 * np.arcsin(o / 2), s.orientation_error, atol=1e-6)
            s = robot.ik(T, q0=q, axis="z")
            z = np.einsum("ki,ki->k", robot.fk(s.q)[:, :3, 2], T[:, :3, 2])
            assert (z[s.converged] > 1 - 1e-9).all()
    arm = load("planar-2r")
    s = arm.ik(arm.fk([0.3, 0.5]) @ FLIPPED, axis="z", rows="position")
    assert not s.converged and s.orientation_error > 3.1
    scara = load("scara")
    q = np.array([0.3, 0.4, 0.1, 0.2])
    for near in (1e-3, 1e-5, 1e-8):
        c, d = np.cos(np.pi - near), np.sin(np.pi - near)
        turn = np.array([[1.0, 0, 0, 0], [0, c, -d, 0], [0, d, c, 0], [0, 0, 0, 1]])
        assert abs(scara.ik(scara.fk(q) @ turn, q0=q, restarts=0).orientation_error - (np.pi - near)) < 0.02


def test_a_start_beyond_the_limits_is_brought_inside():
    for name, joint in (("stanford", 2), ("panda", 3), ("puma560", 3), ("iiwa7", 3)):
        robot = load(name)
        q = np.clip(np.full(robot.n, 0.3), robot.limits.lower, robot.limits.upper)
        q[joint] = robot.limits.upper[joint] + 0.3
        for T in (robot.fk(q), robot.fk(np.stack([q, q]))):
            for tolerance in (1e-6, 10.0):
                s = robot.ik(T, q0=q, tolerance=tolerance)
                inside = ((s.q >= robot.limits.lower) & (s.q <= robot.limits.upper)).all(-1)
                assert inside.all()  # also what did not converge: it began inside


def test_the_plane_means_the_angle_seen_from_above():
    for name in ("panda", "ur5e", "puma560"):
        robot = load(name)
        T = robot.fk(states(robot, 100, 1))
        s = robot.ik(T, rows="planar")
        R = robot.fk(s.q)
        assert s.converged.all() and np.allclose(R[:, :2, 3], T[:, :2, 3], atol=2e-6)
        yaw = [np.arctan2(A[:, 1, 0], A[:, 0, 0]) for A in (R, T)]
        assert np.abs(np.angle(np.exp(1j * (yaw[0] - yaw[1])))).max() < 1e-4


@pytest.mark.parametrize(
    "name, target",
    [("rp", [3.0, 3, 0]), ("rp", [-5.0, 0, 0]), ("planar-1r", [3.0, 1, 0]), ("cartesian-pp", [5.0, 5, 0])],
)
def test_nearest_points_against_a_grid(name, target):
    robot = load(name)
    low, high = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
    axes = [np.linspace(a, b, 801) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, robot.n)
    best = np.linalg.norm(robot.fk(grid)[:, :3, 3] - target, axis=1).min()
    assert robot.ik(target, rows="position").position_error < best + 1e-3


def test_a_posture_is_where_it_begins():
    robot = load("panda")
    p = np.clip(states(robot, 30) * 0.8, robot.limits.lower, robot.limits.upper)
    for posture in p:
        assert np.abs(robot.ik(robot.fk(posture), secondary=posture).q - posture).max() < 1e-5


def test_weights_have_no_scale_and_poses_few_digits():
    robot = load("panda")
    T = robot.fk(states(robot, 200, 4))
    for factor in (1e-4, 1.0, 1e4):
        assert robot.ik(T, rows=[factor] * 6).converged.all()
    rounded = np.round(T, 6)
    s = robot.ik(rounded)
    assert s.converged.all() and np.allclose(robot.fk(s.q), rounded, atol=5e-6)
    loose = T.copy()
    loose[:, :3, :3] = 0.0
    assert robot.ik(loose, rows="position").converged.all()  # what does not count is not looked at


def test_more_wrong_input():
    robot = load("panda")
    T = robot.fk(np.array([0, 0.3, 0, -1.5, 0, 1.8, 0.4]))
    far = T.copy()
    far[0, 3] = 1e160
    for options, words in (
        ({"T": np.stack([T] * 5), "q0": np.zeros((3, 7))}, "do not broadcast"),
        ({"T": T, "rows": (1.0, 1.0)}, "six weights"),
        ({"T": T, "rows": ("vx", 1.0)}, "six weights"),
        ({"T": T, "axis": [0, 0, 1]}, "unknown axis"),
        ({"T": T, "limits": "yes"}, "is a switch"),
        ({"T": T, "tolerance": True}, "positive number"),
        ({"T": T, "q0": np.full(7, 1e15)}, "none beyond 1e"),
        ({"T": far}, "farther away than any arm reaches"),
    ):
        with pytest.raises(dl.DalembertError, match=words):
            robot.ik(**options)
    s = robot.ik(T, tolerance=1e-300)
    assert not s.converged and "the tolerance is finer" in s.reason
    assert robot.ik(T, tolerance=np.float32(1e-5), restarts=np.int64(3)).converged


def test_rows_by_the_names_of_components():
    """As everywhere: ("vx", "vy") is the mask (1, 1, 0, 0, 0, 0), in the weights that "pose" has."""
    arm = dl.load("planar-3r")
    found = arm.ik([0.9, 0.4, 7.0], rows=("vx", "vy"))  # its z is out of reach, and does not count
    assert found.converged and np.abs(arm.fk(found.q)[:2, 3] - [0.9, 0.4]).max() < 1e-6
    ur = dl.load("ur5e")
    T = ur.fk(ur.random_configuration(5, seed=3))
    assert np.array_equal(ur.ik(T, rows=["vx", "vy", "vz"]).q, ur.ik(T, rows="position").q)
    assert np.array_equal(ur.ik(T, rows=("position", "orientation")).q, ur.ik(T).q)
    assert ur.ik(T, rows="vz").converged.all()
    with pytest.raises(dl.UnknownNameError, match="unknown choice of rows 'vw'"):
        ur.ik(T, rows=("vx", "vw"))


def test_joints_that_cannot_move_the_frame_keep_their_start_value():
    robot = with_fingers(load("ur5e"))
    moved = robot.random_configuration(40, seed=1)
    T = robot.fk(moved, "tool0")
    q0 = robot.home.copy()
    q0[6:] = 0.01, 0.03
    found = robot.ik(T, "tool0", q0)
    assert found.converged.all() and found.restarts.max() > 0
    assert (found.q[:, 6:] == q0[6:]).all()
    many = robot.ik(T, "tool0", moved[::-1])
    assert (many.q[:, 6:] == moved[::-1, 6:]).all()
    assert (robot.ik(T, "tool0").q[:, 6:] == robot.home[6:]).all()
    assert (robot.ik(T, "tool0", q0, secondary="limits").q[:, 6:] == q0[6:]).all()
    posture = np.full(8, 0.02)
    assert (robot.ik(T, "tool0", q0, secondary=posture).q[:, 6:] == 0.02).all()
    # The last axis passes through the point.
    assert (robot.ik(T, "tool0", q0, rows="position").q[:, 5:] == q0[5:]).all()
    clear = robot.ik(T, "tool0", q0, avoid=dl.World().floor(-0.5))
    assert clear.converged.sum() > 20 and (clear.q[:, 6:] == q0[6:]).all()
