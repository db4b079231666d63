"""Inverse kinematics with several tasks: priorities, limits, manifolds, batches, certificates."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from bipeds import FEET, biped, knees
from dalembert.kinematics import center_of_mass_task, frame_task, posture_task

READY = [0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4]
BIPED = biped()
Q = knees(BIPED)
UP, AHEAD = np.array([0, 0, 0.5]), np.array([0.1, 0, 0])


def mobile():
    return dl.load("panda", base="planar").with_home([0, 0, 0, *READY])


def test_one_pose_is_that_of_ik():
    arm = dl.load("panda").with_home(READY)
    T = arm.fk(arm.random_configuration(seed=1) * 0.3 + 0.7 * arm.home)
    found = arm.ik_tasks([frame_task("panda_link8", T)])
    assert found and found.reason == ("converged",) and found.within_limits
    np.testing.assert_allclose(arm.fk(found.q, "panda_link8"), T, atol=1e-6)


def test_a_mobile_arm_goes_round_a_circle():
    """A meter about, which the arm alone does not reach: the base drives, and the posture stays near."""
    robot = mobile()
    q, T0 = robot.home, robot.fk(robot.home)
    for a in np.linspace(0, 2 * np.pi, 25):
        T = T0.copy()
        T[:3, 3] += [np.cos(a) - 1, np.sin(a), 0.1 * np.sin(2 * a)]
        found = robot.ik_tasks([frame_task(robot.tip, T), posture_task(robot.home, level=1)], q)
        assert found and found.tasks[robot.tip].residual < 1e-9 and found.tasks["posture"].residual < 0.5
        q = found.q
    np.testing.assert_allclose(robot.fk(q), T0, atol=1e-6)
    assert np.abs(q[:2]).max() < 0.1


def test_levels_are_done_in_their_order():
    """Two hands' worth of wishes that contradict each other: the first level is met, the second as well as it can be,
    stationary in what the first leaves free; turned round, the other way round."""
    robot = mobile()
    T = robot.fk(robot.home)
    here, there = T[:3, 3], T[:3, 3] + [0.3, 0, 0]
    for first, second in ((here, there), (there, here)):
        found = robot.ik_tasks(
            [
                frame_task(robot.tip, first, rows="position", name="a"),
                frame_task("panda_link7", second + UP, rows="position", level=1, name="b"),
            ],
            steps=300,
        )
        assert found.tasks["a"].converged and not found.tasks["b"].converged and not found
        assert "settled" in found.reason[0]
        J = robot.jacobian(found.q, robot.tip)[:3]
        Z = np.linalg.svd(J)[2][3:].T
        e = second + UP - robot.fk(found.q, "panda_link7")[:3, 3]
        assert np.abs(Z.T @ robot.jacobian(found.q, "panda_link7")[:3].T @ e).max() < 1e-3 * np.linalg.norm(e)


def test_weights_share_within_a_level():
    """Two places for one frame: the answer stands between them as the weights say."""
    robot = mobile()
    p = robot.fk(robot.home)[:3, 3]
    wishes = [
        frame_task(robot.tip, p, rows="position", weight=3.0, name="a"),
        frame_task(robot.tip, p + 4 * AHEAD, rows="position", weight=1.0, name="b"),
    ]
    np.testing.assert_allclose(robot.fk(robot.ik_tasks(wishes).q)[:3, 3], p + AHEAD, atol=1e-6)


def test_a_biped_leans_and_keeps_its_feet():
    """Feet first, the center of mass over the left foot, the trunk upright, the posture last; in a batch alike."""
    c = BIPED.fk(Q, "left_foot")[:3, 3]
    between = 0.5 * (c + BIPED.fk(Q, "right_foot")[:3, 3])
    aims = np.stack([between, 0.5 * (c + between)])

    def tasks(target):
        return [
            *(frame_task(f, BIPED.fk(Q, f)) for f in FEET),
            center_of_mass_task(target, rows="xy", level=1),
            frame_task("trunk", np.eye(4), rows="orientation", level=2),
            posture_task(Q, level=3),
        ]

    found = BIPED.ik_tasks(tasks(aims), Q)
    assert found and found.q.shape == (2, BIPED.nq) and found.within_limits.all()
    np.testing.assert_allclose(BIPED.center_of_mass(found.q)[:, :2], aims[:, :2], atol=1e-6)
    for f in FEET:
        np.testing.assert_allclose(BIPED.fk(found.q, f), np.broadcast_to(BIPED.fk(Q, f), (2, 4, 4)), atol=1e-6)
    np.testing.assert_array_equal(BIPED.ik_tasks(tasks(aims[1]), Q).q, found.q[1])
    np.testing.assert_allclose(np.linalg.norm(found.q[:, 3:7], axis=-1), 1, atol=1e-14)


def test_limits_hold_and_can_be_let_go():
    robot = dl.load("panda").with_home(READY)
    q = robot.home.copy()
    q[3] = 0.5  # beyond the elbow's limit
    near = robot.ik_tasks([posture_task(q, level=0)])
    assert near.within_limits and near.tasks["posture"].residual > 0.4
    np.testing.assert_allclose(near.q[3], robot.limits.upper[3], atol=1e-8)
    far = robot.ik_tasks([posture_task(q, level=0)], limits=False)
    assert far and not far.within_limits
    q[3], q[5] = READY[3], -0.3
    back = robot.ik_tasks([frame_task("panda_link8", robot.fk(robot.home))], q)
    assert back and back.within_limits  # a start beyond its limit comes back


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.ik(np.eye(4), "trunk"), r"ik_tasks\(\[frame_task\('trunk', T\)\]\)"),
        (lambda r: r.ik_tasks([]), "at least one task"),
        (lambda r: r.ik_tasks(["left_foot"]), "made by frame_task"),
        (lambda r: r.ik_tasks([frame_task("left_fot", np.eye(4))]), "did you mean 'left_foot'"),
        (lambda r: r.ik_tasks([frame_task("trunk", np.zeros(3))]), r"\(4, 4\)"),
        (lambda r: r.ik_tasks([frame_task("trunk", np.full((4, 4), np.nan))]), "target"),
        (lambda r: r.ik_tasks([frame_task("trunk", 2 * np.eye(4))]), "is not a pose: its last row"),
        (lambda r: r.ik_tasks([frame_task("trunk", np.diag([2.0, 1, 1, 1]))]), "RᵀR differs from 1 by 3"),
        (lambda r: r.ik_tasks([frame_task("trunk", np.diag([-1.0, 1, 1, 1]))]), "it mirrors"),
        (lambda r: r.ik_tasks([frame_task("trunk", np.eye(4))] * 2), "two tasks are called 'trunk'"),
        (lambda r: r.ik_tasks([posture_task(np.zeros(r.nv))]), "q of 'posture'"),
        (lambda r: r.ik_tasks([posture_task(np.zeros(r.nq))]), "length 0"),
        (lambda r: r.ik_tasks([posture_task(r.home, joints=["kne"])]), "unknown joint"),
        (lambda r: r.ik_tasks([center_of_mass_task(np.zeros(3), rows="xx")]), "each once"),
        (lambda r: r.ik_tasks([center_of_mass_task(np.zeros((2, 3)))], np.tile(r.home, (3, 1))), "do not broadcast"),
        (lambda r: r.ik_tasks([posture_task(r.home, level=-1)]), "level"),
        (lambda r: r.ik_tasks([posture_task(r.home, weight=0)]), "weight"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(dl.DalembertError, match=words):
        call(BIPED)
