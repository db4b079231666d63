"""The fastest motion along a path: closed forms, linear programs, certificates, what cannot be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from dalembert.trajectories.time_scaling import Infeasible, Rows, controllable, fastest, span
from errors import raises

LINE = tr.line([0, 0, 0], [1, 0, 0])


# ---------------------------------------------------------------------------------------------------- closed forms
def test_bang_bang():
    """A double integrator from rest to rest: T = 2√(d/a); exact where the switch falls on the grid."""
    found = tr.time_optimal(LINE, acceleration=[2.0, 1, 1], grid=100)
    assert np.isclose(found.duration, 2 * math.sqrt(0.5), rtol=1e-12)
    assert np.isclose(tr.time_optimal(LINE, acceleration=2.0, grid=101).duration, 2 * math.sqrt(0.5), rtol=1e-4)
    assert found.certificate.active > 0.999 and found.certificate.violation < 1e-9


def test_trapezoid():
    found = tr.time_optimal(LINE, velocity=0.5, acceleration=2.0, grid=2000)
    assert np.isclose(found.duration, 1 / 0.5 + 0.5 / 2.0, rtol=1e-5)
    limits = found.limits()
    assert np.isclose(limits.velocity[0], 0.5, rtol=1e-6) and np.isclose(limits.acceleration[0], 2.0, rtol=1e-6)


def test_speeds_at_the_ends():
    """v_b² = v_a² + 2ad: at full acceleration all the way, in (v_b − v_a)/a."""
    found = tr.time_optimal(LINE, acceleration=2.0, start_speed=1.0, end_speed=math.sqrt(5.0))
    assert np.isclose(found.duration, (math.sqrt(5.0) - 1.0) / 2.0, rtol=1e-9)
    assert np.isclose(found(0.0)[1][0], 1.0) and np.isclose(found(found.duration)[1][0], math.sqrt(5.0))


def test_a_circle_at_its_centripetal_limit():
    """|q̈ᵢ| ≤ a per coordinate on a circle of radius r: where a coordinate turns round, ṡ² = a r at most."""
    path = tr.circle([0, 0, 0], [0, 0, 1], [0.5, 0, 0])
    found = tr.time_optimal(path, acceleration=2.0)
    speed = np.linalg.norm(found(np.linspace(0, found.duration, 4001))[1], axis=1)
    quarter = found.motion.law.derivatives(np.linspace(0, found.duration, 4001), 0)[0][:, 0]
    turning = np.abs(quarter - path.duration / 2).argmin()
    assert speed[turning] <= math.sqrt(2.0 * 0.5) * (1 + 1e-6)
    assert found.certificate.active > 0.97 and found.certificate.violation < 1e-5


def test_a_pendulum_lifted_with_torque_to_spare():
    """One link, g = 0: M constant, so the torque limit is an acceleration limit."""
    arm = dl.load("planar-1r").with_gravity((0, 0, 0))
    M = float(arm.mass_matrix([0.0])[0, 0])
    path = tr.spline([[0.0], [1.0]], duration=1.0)
    found = tr.time_optimal(path, arm, torque=3.0, grid=200)
    assert np.isclose(found.duration, 2 * math.sqrt(M / 3.0), rtol=1e-9)
    assert found.names == arm.joint_names


# ------------------------------------------------------------------------------------------------- linear programs
def test_the_span_is_that_of_a_linear_program():
    rng = np.random.default_rng(0)
    empty = 0
    for _ in range(120):
        A = rng.normal(size=(6, 2))
        A[rng.random(6) < 0.2, 0] = 0.0
        b = rng.normal(size=6) + 0.3
        found = span(A[:, 0], A[:, 1], b, 5.0)
        ends = [linprog([0, c], A_ub=A, b_ub=b, bounds=[(None, None), (0, 5.0)]) for c in (1, -1)]
        if found is None:
            empty += 1
            assert ends[0].status == 2
        else:
            assert np.allclose(found, [e.x[1] for e in ends], atol=1e-7)
    assert 10 < empty < 110


def rows_of(arm, path, s, torque, acceleration):
    """The rows, assembled anew: limits at both ends of every interval."""
    h = np.diff(s)
    alpha, beta, gamma = [], [], []
    for end in (0, 1):
        q, q1, q2 = path(s[end : len(s) - 1 + end])
        zero = np.zeros_like(q)
        c = arm.inverse_dynamics(q, zero, zero)
        a = arm.inverse_dynamics(q, zero, q1) - c
        b = arm.inverse_dynamics(q, q1, q2) - c
        for A, B, C, limit in ((a, b, c, torque), (q1, q2, zero, acceleration)):
            A = A + 2 * h[:, None] * B * end
            for sign in (1, -1):
                alpha.append(sign * A)
                beta.append(sign * B)
                gamma.append(limit - sign * C)
    A, B, C = (np.concatenate(x, axis=1) for x in (alpha, beta, gamma))
    return Rows(A, B, C, np.full(len(s), np.inf), h)


def largest(rows):
    """Σ x made as large as can be by one linear program."""
    count = len(rows.step)
    A, b = [], []
    for i in range(count):
        for a, c, g in zip(rows.alpha[i], rows.beta[i], rows.gamma[i], strict=True):
            row = np.zeros(count + 1)
            row[i], row[i + 1] = c - a / (2 * rows.step[i]), a / (2 * rows.step[i])
            A.append(row)
            b.append(g)
    bounds = [(0, 0), *[(0, None)] * (count - 1), (0, 0)]
    found = linprog(-np.ones(count + 1), A_ub=np.array(A), b_ub=np.array(b), bounds=bounds, method="highs")
    assert found.status == 0
    return found.x


def test_the_profile_is_that_of_a_linear_program():
    """Within what greed costs on a coarse grid: 3e-3 of the time at 30 intervals, 5e-6 at 120, as measured."""
    arm = dl.load("planar-2r")
    path = tr.spline([[0, 0.3], [0.8, 1.2], [1.2, 0.4], [2.0, 1.0]], duration=1.0)
    torque, acceleration = np.array([40.0, 12.0]), 60.0

    def duration(x, step):
        root = np.sqrt(x)
        return float((2 * step / (root[1:] + root[:-1])).sum())

    for grid, cost in ((30, 1e-2), (120, 2e-5)):
        rows = rows_of(arm, path, np.linspace(0, 1, grid + 1), torque, acceleration)
        x = fastest(rows, *controllable(rows, (0.0, 0.0)), 0.0)
        best = largest(rows)
        assert x.sum() <= best.sum() * (1 + 1e-9), "all rows are kept"
        assert abs(duration(x, rows.step) / duration(best, rows.step) - 1) < cost
    # and the public function, on the same grid, takes as long but for what it tightens
    found = tr.time_optimal(path, arm, torque=torque, acceleration=acceleration, grid=120)
    assert abs(found.duration / duration(x, rows.step) - 1) < 5e-3


def test_where_no_joint_turns_round_it_is_the_linear_program_exactly():
    path = tr.spline([[0, 0], [1, 0.5], [1.5, 1.5], [3, 2]], duration=1.0)
    assert (path(np.linspace(0, 1, 500))[1] > 0).all()
    s = np.linspace(0, 1, 61)
    alpha, beta = (np.concatenate([y[:-1], -y[:-1]], axis=1) for y in path(s)[1:])
    rows = Rows(alpha, beta, np.full_like(alpha, 5.0), np.full(61, np.inf), np.diff(s))
    x = fastest(rows, *controllable(rows, (0.0, 0.0)), 0.0)
    assert np.allclose(x, largest(rows), rtol=1e-7, atol=1e-8)


# ---------------------------------------------------------------------------------------------------- certificates
def recomputed(motion, arm, **options):
    t = np.linspace(1e-9, motion.duration * (1 - 1e-9), 20_011)
    q, qd, qdd = motion(t)
    return qd, qdd, arm.inverse_dynamics(q, qd, qdd, **options)


def panda_path():
    """Through joint 4's stretched elbow and back: joints that turn round have a(s) = 0, the singular points."""
    points = [
        [0, -0.5, 0, -2, 0, 1.6, 0.8],
        [0.6, 0.2, -0.4, -1, 0.3, 1.2, 0],
        [-0.3, 0.5, 0.4, -1.8, -0.5, 2.2, 1.0],
        [0.2, -0.2, 0.1, -1.2, 0.1, 1.5, 0.4],
    ]
    return tr.spline(points, duration=1.0)


def test_panda_within_its_own_limits():
    arm = dl.load("panda")
    found = tr.time_optimal(panda_path(), arm)
    qd, _, tau = recomputed(found, arm)
    assert (np.abs(qd) / arm.limits.velocity).max() < 1 + 1e-5
    assert (np.abs(tau) / arm.limits.effort).max() < 1 + 1e-5
    assert found.certificate.violation < 1e-5 and found.certificate.active > 0.98
    assert np.allclose(found(found.duration)[0], panda_path()(1.0)[0], atol=1e-9)


def test_with_torque_and_acceleration_limits():
    arm = dl.load("panda")
    slow = tr.time_optimal(panda_path(), arm, acceleration=5.0)
    _, qdd, _ = recomputed(slow, arm)
    assert np.isclose(np.abs(qdd).max(), 5.0, rtol=1e-4)
    assert slow.duration > tr.time_optimal(panda_path(), arm).duration
    assert slow.certificate.violation < 1e-5 and slow.certificate.active > 0.97


def test_friction_counts():
    arm = dl.load("puma560")
    path = tr.spline([[0, 0.5, -1, 0, 0.3, 0], [1, 1, -2, 0.5, -0.4, 1], [0.3, 0.2, -0.5, 1, 0.5, 0.5]], duration=1.0)
    plain, rubbing = (tr.time_optimal(path, arm, friction=friction) for friction in (False, True))
    tau = recomputed(rubbing, arm, friction=True)[2]
    assert (np.abs(tau) / arm.limits.effort).max() < 1 + 1e-4
    assert (np.abs(recomputed(plain, arm, friction=True)[2]) / arm.limits.effort).max() > 1.02
    assert rubbing.certificate.violation < 1e-5 and rubbing.certificate.active > 0.9
    assert rubbing.duration != plain.duration


def test_a_finer_grid_is_faster_by_little():
    arm = dl.load("panda")
    durations = [tr.time_optimal(panda_path(), arm, grid=g).duration for g in (200, 800)]
    assert durations[1] <= durations[0] * (1 + 1e-6) and durations[1] > 0.98 * durations[0]


def test_a_path_in_space_as_fast_as_can_be():
    arm = dl.load("ur5e")
    q0 = np.array([0, -1.2, 1.5, -1.8, -1.57, 0])
    T = arm.fk(q0)
    joints = tr.to_joints(arm, tr.line(T, T @ dl.pose((0.2, 0.1, -0.1))), q0)
    found = tr.time_optimal(joints, arm)
    assert found.certificate.violation < 1e-5
    tip = arm.fk(found(np.linspace(0, found.duration, 50))[0])[:, :3, 3]
    way = tip - T[:3, 3]
    along = way[-1] / np.linalg.norm(way[-1])
    assert np.abs(way - np.outer(way @ along, along)).max() < 1e-6, "still on the line"


# ----------------------------------------------------------------------------------------------------- what cannot be
def test_no_sets_are_told():
    one = Rows(np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.array([[-1.0, 0.5]]), np.full(2, np.inf), np.ones(1))
    with pytest.raises(Infeasible):
        controllable(one, (0.0, 0.0))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda arm: tr.time_optimal(panda_path(), arm, torque=[87, 20, 87, 87, 12, 12, 12]), "infeasible torque"),
        (lambda arm: tr.time_optimal(panda_path(), arm, torque=[87, 20, 87, 87, 12, 12, 12]), "infeasible torque"),
        (
            lambda arm: tr.time_optimal(
                tr.spline([[0, 0], [1, 0.5]], duration=1), dl.load("planar-2r"), torque=[3, 15]
            ),
            "infeasible torque",
        ),
        (
            lambda arm: tr.time_optimal(tr.minimum_jerk(np.zeros(7), np.ones(7), 1), arm, limits=False),
            "wrong-value path",
        ),
        (lambda arm: tr.time_optimal(LINE, acceleration=1, velocity=0), "out-of-range velocity"),
        (lambda arm: tr.time_optimal(LINE, velocity=1), "missing torque"),
        (lambda arm: tr.time_optimal(LINE, torque=1), "missing robot"),
        (lambda arm: tr.time_optimal(LINE, arm), "conflict robot"),
        (lambda arm: tr.time_optimal(LINE, acceleration=1, grid=1), "out-of-range grid"),
        (lambda arm: tr.time_optimal(LINE, acceleration=1, start_speed=-1), "out-of-range start_speed"),
        (lambda arm: tr.time_optimal(LINE, acceleration=1, start_speed=5), "out-of-range start_speed"),
        (lambda arm: tr.time_optimal(LINE, acceleration=1, velocity=1, end_speed=2), "out-of-range end_speed"),
        (lambda arm: tr.time_optimal(LINE, acceleration=[np.inf, 1, 1]), "missing velocity"),
        (lambda arm: tr.time_optimal(tr.sines(1, 1), acceleration=1), "unsupported path"),
        (lambda arm: tr.time_optimal(3, acceleration=1), "wrong-type"),
        (lambda arm: tr.time_optimal(tr.spline([np.zeros(7), np.ones(7)], duration=1), arm), "infeasible path"),
    ],
)
def test_bad_input(make, words):
    with raises(InputError, words):
        make(dl.load("panda"))
