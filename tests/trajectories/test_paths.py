"""Paths in space, laws of time, and joints that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError, SingularityError
from dalembert.trajectories import Along
from errors import raises

RNG = np.random.default_rng(4)
A = dl.pose((0.1, 0.2, 0.3), (0.3, -0.2, 1.0))
B = dl.pose((0.5, -0.1, 0.4), (-1.0, 0.4, 2.2))


def rotations(path, s):
    return path(s)[0][..., 3:].reshape(*np.shape(s), 3, 3)


def angle(R):
    return np.arccos(np.clip((np.trace(R, axis1=-2, axis2=-1) - 1) / 2, -1, 1))


def test_a_line_turns_evenly_about_one_axis():
    """SLERP: R(s) = exp(s/L log(R_b R_aᵀ)) R_a, the same as exp6 of a pure rotation gives."""
    path = tr.line(A, B)
    L = np.linalg.norm(B[:3, 3] - A[:3, 3])
    assert np.isclose(path.duration, L)
    turn = dl.se3.log6(dl.pose(rotation_matrix=B[:3, :3] @ A[:3, :3].T))[3:]
    for f in (0.0, 0.3, 0.9, 1.0):
        T, V, dV = tr.poses(path, f * L)
        assert np.allclose(T[:3, :3], dl.se3.exp6(np.r_[0, 0, 0, f * turn])[:3, :3] @ A[:3, :3], atol=1e-12)
        assert np.allclose(T[:3, 3], A[:3, 3] + f * (B - A)[:3, 3], atol=1e-14)
        assert np.allclose(V, np.r_[(B - A)[:3, 3], turn] / L, atol=1e-10)
        assert np.allclose(dV, 0, atol=1e-9)
    points = tr.line(A[:3, 3], B[:3, 3])
    assert points.m == 3 and np.allclose(points(L)[0], B[:3, 3])


def test_a_turn_on_the_spot():
    path = tr.line(A, A @ dl.pose(rpy=(0, 0, 0.7)))
    assert np.isclose(path.duration, 0.7) and path.parameter == "s [rad]"
    assert np.isclose(np.linalg.norm(tr.poses(path, 0.3)[1][3:]), 1.0)


def test_circles():
    c, n = np.array([0.4, 0.1, 0.5]), np.array([1.0, 2.0, -1.0])
    start = dl.pose(c + 0.2 * np.cross(n, [0, 0, 1]) / np.linalg.norm(np.cross(n, [0, 0, 1])), (0.1, 0.2, 0.3))
    for turn in (2 * np.pi, -1.0):
        path = tr.circle(c, n, start, angle=turn, orientation="turning")
        s = np.linspace(0, path.duration, 50)
        p, v, a = (y[:, :3] for y in path(s))
        assert np.isclose(path.duration, 0.2 * abs(turn))
        assert np.allclose(np.linalg.norm(p - c, axis=1), 0.2) and np.allclose((p - c) @ n, 0, atol=1e-12)
        assert np.allclose(np.linalg.norm(v, axis=1), 1.0), "s is the way gone"
        assert np.allclose(a, -(p - c) / 0.04, atol=1e-9)
        omega = tr.poses(path, s)[1][:, 3:]
        assert np.allclose(omega, math.copysign(1, turn) * n / np.linalg.norm(n) / 0.2, atol=1e-9)
        assert np.allclose(rotations(path, s) @ np.swapaxes(rotations(path, s), 1, 2), np.eye(3), atol=1e-12)
    fixed = tr.circle(c, n, start)
    assert np.allclose(rotations(fixed, fixed.duration / 3), start[:3, :3])
    lifted = tr.circle(c + 3 * n, n, start)  # the circle lies in the start's plane, wherever on the axis the center is
    assert np.allclose(lifted(0.1)[0], fixed(0.1)[0], atol=1e-12)


def test_arcs_pass_through_their_points():
    for _ in range(20):
        a, b, c = RNG.normal(size=(3, 3))
        path = tr.arc(a, b, c)
        s = np.linspace(0, path.duration, 20_001)
        p = path(s)[0]
        assert np.allclose(p[[0, -1]], [a, c], atol=1e-9)
        assert np.linalg.norm(p - b, axis=1).min() < 2e-4 * path.duration
    turned = tr.arc(A, [0.9, 0.9, 0.9], B)
    assert np.allclose(tr.poses(turned, turned.duration)[0], B, atol=1e-9)


@pytest.mark.parametrize("degree", [3, 5])
def test_paths_through_poses(degree):
    places = [dl.pose(RNG.normal(size=3), RNG.normal(size=3)) for _ in range(5)]
    path = tr.via(places, degree=degree)
    T = tr.poses(path, path.knots)[0]
    assert np.allclose(T, places, atol=1e-9)
    inner = path.knots[1:-1]
    for one, other in zip(path(inner - 1e-9), path(inner + 1e-9), strict=True):
        assert np.abs(one - other).max() < 1e-6, "C²"


def test_orientations_take_the_short_way():
    """Turns of 80° about one axis, past the half turn where rotation vectors flip: 80° in each piece."""
    places = [dl.pose((k, 0, 0), (0, 0, math.radians(80 * k))) for k in range(8)]
    path = tr.via(places)
    assert np.allclose(tr.poses(path, path.knots)[0], places, atol=1e-9)
    omega = tr.poses(path, np.linspace(0, path.duration, 200))[1][:, 5]
    assert np.allclose(omega, math.radians(80), rtol=1e-9)


def test_a_law_of_time_moves_along():
    path = tr.circle([0, 0, 0], [0, 0, 1], [1, 0, 0])
    law = tr.trapezoid(0, path.duration, 0.5, 2.0)
    motion = tr.along(path, law)
    t = np.linspace(0, motion.duration, 300)
    _, v, a = motion(t)
    _, sd, sdd = law(t)
    assert np.allclose(np.linalg.norm(v, axis=1), sd[:, 0])
    assert np.allclose(np.linalg.norm(a, axis=1), np.hypot(sd[:, 0] ** 2, sdd[:, 0])), "centripetal and along"
    assert np.isclose(motion.limits().velocity.max(), 0.5, rtol=1e-6)
    with raises(InputError, "conflict law"):
        tr.along(path, tr.minimum_jerk(0, 7, 1))
    with raises(InputError, "wrong-shape law"):
        tr.along(path, tr.minimum_jerk([0, 0], [1, 1], 1))


# ---------------------------------------------------------------------------------------------------- in joints
PANDA = np.array([0, -0.5, 0, -2, 0, 1.6, 0.8])
UR5E = np.array([0, -1.2, 1.5, -1.8, -1.57, 0])


@pytest.mark.parametrize("name, q0", [("panda", PANDA), ("ur5e", UR5E)])
def test_joints_follow_a_circle(name, q0):
    arm = dl.load(name)
    T = arm.fk(q0)
    circle = tr.circle(T[:3, 3] + [0.05, 0.05, 0], [0, 0, 1], T)
    joints = tr.to_joints(arm, circle, q0)
    assert joints.certificate.position_error < 1e-6 and joints.certificate.orientation_error < 1e-6
    s = RNG.uniform(0, circle.duration, 200)
    wanted, V, dV = tr.poses(circle, s)
    q, qd, qdd = joints(s)
    assert np.abs(arm.fk(q) - wanted).max() < 2e-6
    J = arm.jacobian(q)
    assert np.abs(np.einsum("kij,kj->ki", J, qd) - V).max() < 1e-5
    rate = np.einsum("kij,kj->ki", J, qdd) + np.einsum("kij,kj->ki", arm.jacobian_dot(q, qd), qd)
    assert np.abs(rate - dV).max() < 1e-3 * np.abs(dV).max()
    assert np.allclose(joints(0.0)[0], q0, atol=1e-6), "the branch that q0 is on"
    least = np.einsum("kij,kj->ki", np.linalg.pinv(J), V)
    assert np.abs(qd - least).max() < 1e-4 * np.abs(least).max(), "of all rates, the least"
    # nothing leaps: the joints between neighbors move as their rates say
    dense = joints(np.linspace(0, circle.duration, 2000))
    assert np.abs(np.diff(dense[0], axis=0)).max() < 1.01 * np.abs(dense[1]).max() * circle.duration / 1999
    if arm.n == 6:
        assert np.allclose(joints(circle.duration)[0], q0, atol=1e-6), "as many joints as rows: the circle closes"


def test_following_in_time_is_the_path_with_the_law():
    arm = dl.load("ur5e")
    T = arm.fk(UR5E)
    line = tr.line(T, T @ dl.pose((0.1, 0.05, -0.1), (0.2, 0.1, 0.3)))
    law = tr.minimum_jerk(0, line.duration, 1.5)
    motion = tr.to_joints(arm, tr.along(line, law), UR5E)
    assert isinstance(motion.motion, Along) and motion.duration == 1.5
    assert np.abs(arm.fk(motion(0.7)[0]) - tr.poses(tr.along(line, law), 0.7)[0]).max() < 2e-6
    assert np.abs(motion(1.5)[1]).max() < 1e-12


def test_points_are_followed_with_the_joints_left_over():
    arm = dl.load("panda")
    p = arm.fk(PANDA)[:3, 3]
    joints = tr.to_joints(arm, tr.line(p, p + np.array([0.1, 0.1, -0.1])), PANDA)
    s = np.linspace(0, joints.duration, 50)
    assert np.allclose(arm.fk(joints(s)[0])[:, :3, 3], p + s[:, None] * np.array([1, 1, -1]) / math.sqrt(3), atol=1e-6)


def test_a_planar_arm():
    arm = dl.load("planar-2r")
    joints = tr.to_joints(arm, tr.line([1.2, 0.2, 0], [0.2, 1.2, 0]))
    assert np.allclose(arm.fk(joints(joints.duration)[0])[:3, 3], [0.2, 1.2, 0], atol=1e-6)


def test_refusals_say_where_and_when():
    arm, ur = dl.load("planar-2r"), dl.load("ur5e")

    def follow(robot, a, b, q0=None, T=2.0, **options):
        path = tr.line(a, b)
        return tr.to_joints(robot, tr.along(path, tr.minimum_jerk(0, path.duration, T)), q0, **options)

    with raises(InputError, "infeasible path"):
        follow(arm, [0.5, 0.3, 0], [5, -0.3, 0])
    with raises(SingularityError, "singular path"):
        follow(arm, [0.5, 0.3, 0], [-0.5, -0.3, 0], [0, 1.0])
    with raises(InputError, "infeasible path"):
        follow(arm, [0.5, 0.3, 0], [0.5, 0.9, 0.1])
    with raises(InputError, "conflict rows"):
        tr.to_joints(arm, tr.line(arm.fk([0.3, 0.4]), arm.fk([0.5, 0.9])))
    assert tr.to_joints(arm, tr.line(arm.fk([0.3, 0.4]), arm.fk([0.5, 0.9])), rows=("vx", "vy")).m == 2
    with raises(InputError, "wrong-shape path"):
        tr.to_joints(arm, tr.minimum_jerk([0, 0], [1, 1], 1))
    with raises(InputError, "conflict rows"):
        tr.to_joints(ur, tr.line([0.3, 0.3, 0.3], [0.4, 0.3, 0.3]), rows="pose")
    panda = dl.load("panda")
    T = panda.fk(PANDA)
    with raises(InputError, "infeasible path"):
        tr.to_joints(
            panda, tr.circle(T[:3, 3], T[:3, 2], T @ dl.pose((1e-3, 0, 0)), angle=12.0, orientation="turning"), PANDA
        )


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: tr.line([0, 0, 0], [0, 0, 0]), "conflict end"),
        (lambda: tr.line(A, A), "conflict end"),
        (lambda: tr.line(A, [0, 0, 0]), "wrong-shape places"),
        (lambda: tr.line([0, 0], [1, 1]), "wrong-shape start"),
        (lambda: tr.line(2 * A, B), "wrong-value start"),
        (lambda: tr.line([0, 0, math.nan], [1, 1, 1]), "not-finite start"),
        (lambda: tr.arc([0, 0, 0], [1, 0, 0], [2, 0, 0]), "infeasible via"),
        (lambda: tr.arc([0, 0, 0], [1, 0, 0], [0, 0, 0]), "infeasible via"),
        (lambda: tr.circle([0, 0, 0], [0, 0, 0], [1, 0, 0]), "out-of-range normal"),
        (lambda: tr.circle([0, 0, 0], [0, 0, 1], [0, 0, 2]), "conflict start"),
        (lambda: tr.circle([0, 0, 0], [0, 0, 1], [1, 0, 0], angle=0), "out-of-range angle"),
        (lambda: tr.circle([0, 0], [0, 0, 1], [1, 0, 0]), "wrong-shape center"),
        (lambda: tr.circle([0, 0, 0], [0, 0, 1], [1, 0, 0], orientation="free"), "wrong-value orientation"),
        (lambda: tr.via([[0, 0, 0]]), "too-few places"),
        (lambda: tr.via([[0, 0, 0], [1, 0, 0], [1, 0, 0]]), "duplicate points"),
        (lambda: tr.poses(tr.line([0, 0, 0], [1, 0, 0]), 0), "wrong-shape motion"),
    ],
)
def test_bad_input(make, words):
    with raises(InputError, words):
        make()
