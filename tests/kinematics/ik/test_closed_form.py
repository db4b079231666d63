"""Closed-form inverse kinematics: every branch, each right, none lost; and what has no solution says why."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.joints import Prismatic, Revolute
from dalembert.kinematics.ik.closed_form import closed_form, reason, settled
from dalembert.model.model import Coordinate

Z = (0.0, 0.0, 1.0)

# Every branch that is reported is this near to its target [m, rad]: what the library promises.
CORRECT = 1e-12
# The joint positions a pose was made from are found again this well, or to the rounding of the pose over the smallest
# singular value of the Jacobian, where that is more.
AGAIN = 1e-9
ROUNDING = 1e-15

ARMS = {
    "puma560": ("6R with a spherical wrist", 8),
    "ur5e": ("6R with three parallel axes", 8),
    "ur10e": ("6R with three parallel axes", 8),
    "stanford": ("6R with a spherical wrist", 8),
    "scara": ("SCARA", 2),
    "planar-3r": ("planar 3R", 2),
    "planar-2r": ("planar 2R", 2),
    "elbow-3r": ("three joints that place a point", 4),
}


@cache
def load(name: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


def screws(axes, points, tip=(0.0, 0.0, 0.0), kinds=None) -> dl.Robot:
    """A chain of given axes and points on them at q = 0, massless."""
    rows = []
    for i, (a, p) in enumerate(zip(axes, points, strict=True)):
        a = np.array(a, float) / np.linalg.norm(a)
        slides = kinds is not None and kinds[i] == "P"
        rows.append([*a, 0, 0, 0] if slides else [*np.cross(p, a), *a])
    home = np.eye(4)
    home[:3, 3] = tip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.Robot.from_screws(np.array(rows, float), home)


def differences(robot: dl.Robot, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Largest difference over the joints, of angles up to full turns."""
    d = np.asarray(q - other)
    turning = [c.joint.kind == "revolute" for c in robot.model.coordinates]
    d[..., turning] = np.angle(np.exp(1j * d[..., turning]))
    return np.abs(d).max(axis=-1)


def misses(robot: dl.Robot, q: np.ndarray, T: np.ndarray, task: str) -> np.ndarray:
    """Distance of poses, by the robot's own forward kinematics."""
    D = robot.fk(q) - T
    apart = np.linalg.norm(D[..., :3, 3], axis=-1)
    return apart if task == "position" else np.maximum(apart, np.linalg.norm(D[..., :3, :3], axis=(-2, -1)))


def check(robot: dl.Robot, q: np.ndarray, limits: bool = True):
    """Solutions for the poses of q: all correct, all different, q among them."""
    T = robot.fk(q)
    found = robot.ik_all(T, limits=limits)
    assert found.count.min() > 0
    wide = np.broadcast_to(T[:, None], (*found.found.shape, 4, 4))[found.found]
    true = misses(robot, found.q[found.found], wide, found.task)
    assert true.max() < CORRECT * max(1.0, np.abs(T[..., :3, 3]).max())
    assert np.isnan(found.q[~found.found]).all() and np.isfinite(found.q[found.found]).all()
    d = np.where(found.found, differences(robot, np.nan_to_num(found.q), q[:, None]), np.inf).min(axis=-1)
    hard = d > AGAIN
    if hard.any():
        rows = slice(0, 3) if found.task == "position" else slice(None)
        smallest = np.linalg.svd(robot.jacobian(q[hard])[:, rows], compute_uv=False)[..., -1]
        assert (d[hard] * smallest < ROUNDING * 10).all(), (q[hard], d[hard], smallest)
    if limits:
        inside = (found.q >= robot.limits.lower) & (found.q <= robot.limits.upper)
        assert inside[found.found].all()
    return found


@pytest.mark.parametrize("name", ARMS)
def test_no_pose_is_lost(name):
    robot = load(name)
    found = check(robot, robot.random_configuration(100_000, seed=1))
    assert (found.family, found.q.shape[-2]) == ARMS[name]


@pytest.mark.parametrize("name", ["puma560", "stanford", "planar-3r", "planar-2r", "scara", "elbow-3r"])
def test_every_branch_is_found(name):
    """Arms whose branches all exist wherever one does have them all, all different."""
    robot = load(name)
    found = check(robot, robot.random_configuration(2000, seed=2), limits=False)
    assert (found.count == ARMS[name][1]).all()
    apart = differences(robot, found.q[:, :, None], found.q[:, None]) + 9 * np.eye(found.q.shape[1])
    assert apart.min() > 1e-6


def test_ur_branches_are_eight_in_general():
    robot = load("ur5e")
    found = check(robot, robot.random_configuration(20_000, seed=3))
    assert (found.count == 8).mean() > 0.7  # the rest: an elbow or shoulder branch out of reach
    assert (found.count % 2 == 0).all()


def test_ur_counts_agree_with_a_search():
    """Branches that we say do not exist are not found by Newton's method from many starts either."""
    robot = load("ur5e")
    rng = np.random.default_rng(4)
    for T in robot.fk(robot.random_configuration(6, seed=5)):
        ours = robot.ik_all(T).of()
        q = rng.uniform(-np.pi, np.pi, (3000, 6))
        for _ in range(30):
            here, J = robot.fk_jacobian(q)
            turn = 0.5 * np.cross(here[:, :3, :3], T[:3, :3], axisa=1, axisb=0, axisc=1).sum(axis=2)
            e = np.concatenate([T[:3, 3] - here[:, :3, 3], turn], axis=1)
            A = np.swapaxes(J, 1, 2) @ J + 1e-9 * np.eye(6)
            step = np.linalg.solve(A, np.swapaxes(J, 1, 2) @ e[..., None])[..., 0]
            q = q + step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        q = q[misses(robot, q, T, "pose") < 1e-9]
        assert len(q) > 100
        nearest = differences(robot, q[:, None], ours[None]).min(axis=1)
        assert nearest.max() < 1e-5


def test_batches_and_single_poses_give_the_same_bits():
    robot = load("puma560")
    T = robot.fk(robot.random_configuration((3, 11), seed=6))
    whole = robot.ik_all(T)
    assert whole.q.shape == (3, 11, 8, 6) and whole.count.shape == (3, 11)
    for i, j in [(0, 0), (1, 5), (2, 10)]:
        alone = robot.ik_all(T[i, j])
        assert np.array_equal(alone.q, whole.q[i, j], equal_nan=True)
        assert np.array_equal(alone.of(), whole.of(i, j))
        assert alone.why() == whole.why(i, j)
    assert robot.ik_all(T[:0]).q.shape == (0, 11, 8, 6)
    threaded = robot.with_threads(2).ik_all(T)
    assert np.array_equal(threaded.q, whole.q, equal_nan=True)


# ------------------------------------------------------------------------------------------------- limits
def test_limits_drop_what_is_outside_and_turn_what_is_not():
    robot = load("puma560")
    q = robot.random_configuration(5000, seed=7)
    free, kept = robot.ik_all(robot.fk(q), limits=False), robot.ik_all(robot.fk(q))
    assert (free.count == 8).all() and 1 < kept.count.mean() < 8
    assert (np.abs(free.q) <= np.pi).all()
    assert np.abs(kept.q[kept.found]).max() > np.pi  # Puma's joint 4 goes on past half a turn


def test_a_pose_on_the_limit_is_kept():
    robot = load("puma560")
    for bound in (robot.limits.lower, robot.limits.upper):
        q = np.clip(bound * 1.0, robot.limits.lower, robot.limits.upper)
        assert differences(robot, robot.ik_all(robot.fk(q)).of(), q).min() < 1e-9


def test_only_outside_the_limits():
    robot = load("puma560")
    T = robot.fk(robot.random_configuration(5000, seed=8) + 3.0)
    found = robot.ik_all(T)
    none = np.flatnonzero(found.count == 0)
    assert len(none) and "outside the joint limits" in found.why(none[0])


def test_limits_that_lie_turns_away():
    rows = [{"a": 1.0, "limit": dl.describe.Limit(4.0, 9.0)}, {"a": 0.5, "limit": dl.describe.Limit(-9.0, -5.0)}]
    robot = dl.Robot.from_dh(rows)
    q = robot.random_configuration(500, seed=9)
    found = check(robot, q)
    assert differences(robot, np.nan_to_num(found.q), q[:, None]).min(axis=1).max() < 1e-6
    assert np.nanmin(np.abs(found.q - q[:, None]).max(axis=-1), axis=1).max() < 6.3


def test_angles_are_shifted_into_any_limits():
    """Against a search over all turns: inside if any turn is, and then the one of least turns."""
    rng = np.random.default_rng(18)
    for _ in range(2000):
        low, high = np.sort(rng.uniform(-15, 15, 2))
        low, high = [(low, high), (-np.inf, high), (low, np.inf), (-np.inf, np.inf)][rng.integers(4)]
        x = rng.uniform(-np.pi, np.pi)
        shifted, outside = settled(x, Coordinate("q", Revolute(Z), low, high))
        inside = [m for m in sorted(range(-8, 9), key=abs) if low <= x + 2 * np.pi * m <= high]
        assert (outside == 0) == bool(inside), (low, high, x)
        if inside:
            assert shifted == pytest.approx(x + 2 * np.pi * inside[0]), (low, high, x)


def test_a_length_is_not_shifted():
    c = Coordinate("d", Prismatic(Z), 0.5, 1.0)
    assert settled(0.7, c) == (0.7, 0.0)
    assert settled(0.5 - 1e-9, c) == (0.5, 0.0)  # rounding: put on the limit, the residual decides
    assert settled(0.2, c)[1] == pytest.approx(0.3)


# ------------------------------------------------------------------------------------------ singular and bad poses
@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("puma560", [0, 0, 0, 0, 0, 0]),
        ("puma560", [0.3, 0.2, 0.1, 0.5, 0, 0.7]),
        ("puma560", [0.3, 0.2, np.arctan2(0.0203, 0.4318) - np.pi / 2, 0.5, 0.4, 0.7]),
        ("ur5e", [0, 0, 0, 0, 0, 0]),
        ("ur5e", [0.3, -1, 0, 0.5, 1, 3]),
        ("ur5e", [0.3, -1, np.pi, 0.5, 1, 3]),
        ("ur5e", [0.3, -1, 1, 0.5, 0, 0.7]),
        ("ur5e", [0.3, -1, 0, 0.5, np.pi, 3]),
        ("ur10e", [0, -np.pi / 2, 0, -np.pi / 2, 0, 0]),
        ("stanford", [0, 0, 0.5, 0, 0, 0]),
        ("scara", [1, 0, 0.1, 2]),
        ("planar-3r", [1, 0, 1]),
        ("planar-3r", [1, np.pi, 2]),
        ("planar-2r", [1, 0]),
        ("planar-2r", [1, np.pi]),
        ("elbow-3r", [0, np.pi / 2, 0]),
        ("elbow-3r", [1, 0.2, np.pi]),
    ],
)
def test_exact_singularities(name, q):
    robot = load(name)
    T = robot.fk(q)
    found = robot.ik_all(T, limits=False)
    assert found.count >= 1
    assert misses(robot, found.of(), T, found.task).max() < CORRECT
    apart = differences(robot, found.of()[:, None], found.of()[None]) + 9 * np.eye(len(found.of()))
    assert apart.min() > 1e-7
    held = robot.ik_all(T, limits=False, q0=q)  # with the free angle told, the same joint positions again
    assert differences(robot, held.of(), np.array(q, float)).min() < 1e-6


def test_a_free_angle_is_told_and_may_be_chosen():
    robot = load("puma560")
    q = np.array([0.3, 0.2, 0.1, 0.5, 0.0, 0.7])
    found = robot.ik_all(robot.fk(q))
    assert found.singular.any() and "stand for infinitely many" in found.why()
    assert np.abs(found.q[found.singular][:, 5]).max() < 1e-12
    for last in (0.7, -1.0):
        chosen = robot.ik_all(robot.fk(q), q0=[0, 0, 0, 0, 0, last])
        assert np.abs(chosen.q[chosen.singular][:, 5] - last).max() < 1e-12
    assert not robot.ik_all(robot.fk(q + 0.1)).singular.any()


def test_a_free_angle_that_would_pass_a_limit_is_moved():
    robot = load("puma560")
    T = robot.fk([0.3, 0.2, 0.1, 0.5, 0.0, 0.7])
    moved = robot.ik_all(T, q0=[0, 0, 0, 0, 0, -2.0])  # joint 4 would have to be at 183°
    assert moved.singular.any() and moved.count == robot.ik_all(T).count


def test_a_free_angle_that_would_not_reach_is_moved():
    """A UR with its arm stretched and q₅ = 0: with q₆ = 0 the wrist would be out of reach."""
    robot = load("ur5e")
    turned = np.array([[0.3, -1.0, 0.0, 0.5, 0.0, x] for x in np.linspace(-3, 3, 13)])
    assert (robot.ik_all(robot.fk(turned)).count > 0).all()


def test_nearly_singular_poses_are_found():
    for name, joint in [("puma560", 4), ("ur5e", 4), ("ur5e", 2), ("planar-3r", 1)]:
        robot = load(name)
        q = robot.random_configuration(200, seed=10)
        for small in 10.0 ** np.arange(-16, -1):
            q[:, joint] = small
            found = robot.ik_all(robot.fk(q), limits=False)
            assert (found.count > 0).all()
            assert np.nanmax(np.where(found.found, found.residual, 0)) < CORRECT


@pytest.mark.parametrize("name", ARMS)
def test_out_of_reach(name):
    robot = load(name)
    T = robot.fk(robot.random_configuration(20, seed=11))
    T[:, :3, 3] += [7.0, 8.0, 9.0]
    found = robot.ik_all(T)
    assert not found.found.any() and np.isnan(found.q).all()
    told = "is reached in" if name == "stanford" else "is out of reach"  # its boom would be long enough
    assert found.why(0).startswith(f"no solution: the target {told}")


def test_just_out_of_reach():
    robot = load("planar-2r")
    T = robot.fk([0.4, 0.0])
    for beyond, count in [(1e-15, 1), (1e-9, 0), (1e-6, 0), (-1e-9, 2)]:
        there = T.copy()
        there[:3, 3] *= 1 + beyond
        assert robot.ik_all(there).count == count, beyond


def test_off_the_plane_of_a_planar_arm():
    for name in ("planar-2r", "planar-3r"):
        T = load(name).fk(load(name).random_configuration(seed=12))
        T[2, 3] += 0.01
        assert load(name).ik_all(T).count == 0
    scara = load("scara")
    T = scara.fk(scara.random_configuration(seed=13)) @ dl.pose(rpy=[0.1, 0, 0])
    assert scara.ik_all(T).count == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entry", [(0, 0), (0, 3), (2, 1), (3, 3)])
def test_targets_that_are_no_numbers(value, entry):
    robot = load("ur5e")
    T = robot.fk(robot.random_configuration(3, seed=14))
    T[(1, *entry)] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = robot.ik_all(T)
    assert found.count[1] == 0 and np.isnan(found.q[1]).all()
    assert found.count[0] > 0 and found.count[2] > 0
    assert found.why(1) == "no solution: the target is not finite"


def test_rotations_written_with_six_digits_are_put_right():
    robot = load("puma560")
    T = robot.fk([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    found = robot.ik_all(np.round(T, 7), limits=False)
    assert found.count == 8 and differences(robot, found.of(), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])).min() < 1e-5


@pytest.mark.parametrize(
    ("T", "words"),
    [
        (np.eye(3), r"T has shape \(3, 3\); its last two dimensions must be \(4, 4\)"),
        (np.zeros(16), r"T has shape \(16,\)"),
        ("here", "4×4 matrix of real numbers"),
        (2 * np.eye(4), r"its last row is \[0.0, 0.0, 0.0, 2.0\]"),
        (np.diag([2.0, 1, 1, 1]), "RᵀR differs from 1 by 3"),
        (np.diag([1.0, 1, -1, 1]), "it mirrors"),
        (np.stack([np.eye(4), np.ones((4, 4))]), "target 1 is not a pose"),
    ],
)
def test_what_is_no_pose_is_refused(T, words):
    with pytest.raises(dl.InputError, match=words):
        load("puma560").ik_all(T)


def test_other_bad_arguments():
    robot = load("puma560")
    with pytest.raises(dl.InputError, match="q0 must be finite numbers, 6"):
        robot.ik_all(np.eye(4), q0=[0, 0])
    with pytest.raises(dl.InputError, match="do not broadcast"):
        robot.ik_all(np.stack([np.eye(4)] * 3), q0=np.zeros((2, 6)))
    with pytest.raises(dl.InputError, match="switch"):
        robot.ik_all(np.eye(4), limits="yes")
    with pytest.raises(dl.UnknownNameError, match="unknown frame"):
        robot.ik_all(np.eye(4), frame="tol0")
    with pytest.raises(dl.InputError, match="say of which one"):
        robot.ik_all(np.stack([np.eye(4)] * 3)).of()


# ---------------------------------------------------------------------------------------- which arms have one
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("panda", "its 7 joints are RRRRRRR; a target leaves it free joints to choose"),
        ("iiwa7", "its 7 joints are RRRRRRR"),
        ("rp", "its 2 joints are RP"),
        ("cartesian-pp", "its 2 joints are PP"),
    ],
)
def test_arms_without_a_closed_form_say_why(name, words):
    assert words in (reason(load(name)) or "")
    with pytest.raises(dl.InputError, match=f"no closed form for '{name}'"):
        closed_form(load(name), np.eye(4))
    assert reason(load("puma560")) is None


def test_a_frame_that_not_all_joints_move():
    robot = load("puma560")
    assert "is moved by 3 of the 6 joints" in (reason(robot, robot.bodies[2]) or "")


def test_no_joints():
    from dalembert.describe.description import Description, Joint, Link

    robot = dl.Robot(Description("rock", (Link("a"), Link("b")), (Joint("j", "fixed", "a", "b"),)))
    with pytest.raises(dl.InputError, match="has no joints"):
        robot.ik_all(np.eye(4))


X, Y, Z = np.eye(3)
WRIST = (Z, Y, Z)


def hand(p):
    return [p, p, p]


UR = [(0, 0, 0), (0, 0.1, 0.2), (0.4, 0, 0.2), (0.8, 0, 0.2)]
ELBOW = [(0, 0, 0), (0.2, 0, 0.4), (0.8, 0, 0.4)]
SKEW = [(0, 0, 0), (0.3, 0, 0.2), (0.5, 0.2, 0.3)]
TILTED = (1, 0.2, 0.5)
GEOMETRIES = {
    "1 ∥ 2": ((Z, Z, Y, *WRIST), [(0, 0, 0), (0.5, 0, 0), (0.9, 0, 0.1), *hand((1.3, 0.1, 0.2))]),
    "1 and 2 meet": ((Z, Y, X, *WRIST), [(0, 0, 0), (0, 0.3, 0), (0.4, 0, 0.3), *hand((0.6, 0.2, 0.7))]),
    "2 and 3 meet": ((Z, Y, X, *WRIST), [(0, 0, 0), (0.4, 0, 0.3), (0.4, 0, 0.3), *hand((0.7, 0.2, 0.8))]),
    "2 ∥ 3, turned": ((Z, Y, -Y, *WRIST), [*ELBOW, *hand((1.2, 0.1, 0.5))]),
    "skew wrist": ((Z, Y, Y, Z, (0, 1, 0.6), Z), [*ELBOW, *hand((1.2, 0, 0.5))]),
    "skew and tilted arm": ((Z, (0.2, 1, 0.1), (1, 0.3, 0.2), *WRIST), [*SKEW, *hand((0.9, 0.1, 0.4))]),
    "wrist first": ((*WRIST, Y, Y, Z), [*hand((0, 0, 0.5)), (0.4, 0, 0.6), (0.9, 0, 0.6), (1.2, 0.1, 0.7)]),
    "2 ∥ 3 ∥ 4, turned": ((Z, Y, -Y, Y, -Z, Y), [*UR, (0.8, 0.1, 0), (0.8, 0, 0.1)]),
    "2 ∥ 3 ∥ 4, 5 and 6 skew": ((Z, Y, Y, Y, TILTED, (0.3, 1, 0.2)), [*UR, (0.9, 0.1, 0), (1, 0.1, 0.1)]),
    "3 ∥ 4 ∥ 5": ((Y, Z, Y, Y, Y, Z), [*hand((0, 0, 0))[:2], (0.2, 0, 0.3), (0.6, 0, 0.3), (1, 0, 0.3), (1.2, 0.1, 0)]),
}


@pytest.mark.parametrize("about", GEOMETRIES)
def test_geometries(about):
    """Each row of the table of arms, axes turned around, and chains seen from their tip."""
    axes, points = GEOMETRIES[about]
    robot = screws(axes, points, (1.4, 0.2, 0.3))
    assert reason(robot) is None, about
    found = check(robot, robot.random_configuration(2000, seed=15), limits=False)
    assert ("three parallel" in found.family) == (about.count("∥") == 2)
    assert ("from its tip" in found.family) == (about in ("wrist first", "3 ∥ 4 ∥ 5"))


@pytest.mark.parametrize("kinds", ["RRPR", "RRRP", "RPRR", "PRRR"])
def test_scaras(kinds):
    points = [(0, 0, 0), (0.4, 0, 0), (0.7, 0, 0), (0.9, 0.1, 0)]
    robot = screws((Z, -Z, Z, Z), points, (1.0, 0.2, 0.1), kinds)
    found = check(robot, robot.random_configuration(500, seed=16))
    assert found.family == "SCARA" and (found.count == 2).all()


def test_axes_written_with_five_digits():
    """Right angles as 1.5708: not quite parallel, and the closed form is improved until it is right."""
    rows = [
        {"d": 0.1625, "alpha": 1.5708},
        {"a": -0.425},
        {"a": -0.3922},
        {"d": 0.1333, "alpha": 1.5708},
        {"d": 0.0997, "alpha": -1.5708},
        {"d": 0.0996},
    ]
    rows[1]["alpha"] = 3e-6  # and one that should be zero
    robot = dl.Robot.from_dh(rows)
    found = check(robot, robot.random_configuration(500, seed=17), limits=False)
    assert found.family == "6R with three parallel axes"


def test_geometry_that_has_none():
    far = [(0, 0, 0), (0.3, 0, 0.2), (0.5, 0.2, 0.3), (0.7, 0, 0.1), (0.8, 0.3, 0), (1, 0, 0.5)]
    robot = screws((Z, Y, X, Z, Y, X), far)
    assert "the last three axes do not meet" in (reason(robot) or "")


def test_six_digits_are_put_right():
    robot = load("ur5e")
    T = robot.fk(robot.random_configuration(300, seed=1))
    found = robot.ik_all(np.round(T, 6))
    assert (found.count > 0).all() and found.residual[found.found].max() < 1e-12
    alone = robot.ik_all(np.round(T[3], 6))
    assert np.array_equal(alone.q, found.q[3], equal_nan=True)
    numeric = robot.ik(np.round(T, 6))  # both take the same targets, and the same rotation out of them
    assert numeric.converged.all()
