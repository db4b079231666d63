"""Following a pose: the error decays as the law promises; limits are kept, priorities too."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.kinematics.ik.tracking import METHODS, VelocityGoal, limited_velocity, pose_error, tracking_velocity

ARM = dl.load("panda")
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.3])


def circle(t: float, T0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A pose that moves on a circle of 10 cm in the y–z plane, a turn in four seconds, and its twist."""
    w, r = 0.5 * np.pi, 0.1
    T = T0.copy()
    T[:3, 3] += [0, r * np.sin(w * t), r * (1 - np.cos(w * t))]
    return T, np.array([0, r * w * np.cos(w * t), r * w * np.sin(w * t), 0, 0, 0])


def follow(gain, duration=2.0, dt=1e-3, **options):
    """Errors over time, the law integrated by Runge–Kutta."""
    T0 = ARM.fk(HOME)
    q = HOME + 0.05 * np.array([1, -1, 1, 1, -1, 1, -1])
    found = []

    def rate(t, q):
        T, twist = circle(t, T0)
        return tracking_velocity(ARM, q, T, twist, gain, **options)

    for k in range(int(duration / dt)):
        t = k * dt
        found.append(pose_error(ARM.fk(q), circle(t, T0)[0]))
        a = rate(t, q)
        b = rate(t + dt / 2, q + dt / 2 * a)
        c = rate(t + dt / 2, q + dt / 2 * b)
        d = rate(t + dt, q + dt * c)
        q = q + dt / 6 * (a + 2 * b + 2 * c + d)
    return np.arange(len(found)) * dt, np.array(found)


@pytest.mark.parametrize("gain", [2.0, 5.0])
def test_the_error_decays_exponentially(gain):
    t, e = follow(gain, duration=1.5, dt=5e-3)
    for part in (e[:, :3], e[:, 3:]):
        size = np.linalg.norm(part, axis=1)
        rate = -np.polyfit(t, np.log(size), 1)[0]
        assert abs(rate - gain) < 1e-3 * gain
        assert np.allclose(size, size[0] * np.exp(-gain * t), rtol=5e-3)


@pytest.mark.parametrize("name, rows", [("planar-2r", [0, 1]), ("planar-3r", [0, 1, 5])])
def test_the_rows_of_a_planar_arm_are_those_that_it_can_move(name, rows):
    """ė + K e = 0 without `rows`; six rows instead give the least squares of what the arm cannot do."""
    arm, K = dl.load(name), 3.0
    q = np.array([0.3, 0.8, -0.4])[: arm.n]
    T = arm.fk(q + [0.2, -0.1, 0.3][: arm.n])
    e_dot = -arm.jacobian(q) @ tracking_velocity(arm, q, T, gain=K)
    assert np.allclose((e_dot + K * pose_error(arm.fk(q), T))[rows], 0.0, atol=1e-12)
    if name == "planar-2r":
        point = tracking_velocity(arm, q, T[:3, 3], gain=K)
        assert np.allclose(point, tracking_velocity(arm, q, T, gain=K, rows=("vx", "vy")), atol=1e-12)


def test_each_direction_has_its_own_gain():
    t, e = follow(np.array([1.0, 2.0, 4.0, 3.0, 3.0, 3.0]), duration=1.0, dt=5e-3)
    for k, gain in enumerate((1.0, 2.0, 4.0)):
        assert np.allclose(e[:, k], e[0, k] * np.exp(-gain * t), rtol=5e-3, atol=1e-9)


def test_the_redundant_form_moves_the_arm_and_not_the_tool():
    q = HOME
    b = np.array([1.0, -0.5, 0.3, 0.2, 0.8, -1.0, 0.4])
    T = ARM.fk(q)
    rate = tracking_velocity(ARM, q, T, gain=3.0, posture_rate=b)
    J = ARM.jacobian(q)
    assert np.linalg.norm(J @ rate) < 1e-12 and np.linalg.norm(rate) > 0.05
    # of all rates that leave the tool at rest, the nearest to b
    assert abs((b - rate) @ rate) < 1e-12


def test_methods():
    q, T = HOME, ARM.fk(HOME + 0.02)
    e = pose_error(ARM.fk(q), T)
    J = ARM.jacobian(q)
    for method in METHODS:
        rate = tracking_velocity(ARM, q, T, method=method)
        assert e @ (J @ rate) > 0  # toward the goal
    assert np.allclose(J @ tracking_velocity(ARM, q, T), e)
    stretched = dl.load("planar-2r")
    out = tracking_velocity(stretched, [0.0, 0.0], [1.5, 0.0, 0.0], rows="position", method="damped", gain=10.0)
    assert np.isfinite(out).all() and np.abs(out).max() < 200
    with pytest.raises(dl.UnknownNameError, match="unknown method 'newton'"):
        tracking_velocity(ARM, q, T, method="newton")


def test_rotation_vectors_up_to_half_a_turn():
    rng = np.random.default_rng(0)
    for angle in (0.0, 1e-9, 1e-5, 1e-3, 1.0, 3.0, np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-9, np.pi):
        for _ in range(20):
            u = rng.normal(size=3)
            u /= np.linalg.norm(u)
            S = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
            T = np.eye(4)
            T[:3, :3] = np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S
            found = pose_error(np.eye(4), T)[3:]
            wrong = min(np.linalg.norm(found - angle * u), np.linalg.norm(found + angle * u) if angle > 3.14 else 9.0)
            assert wrong < 1e-7


def test_limits_are_kept():
    arm = ARM
    q = arm.limits.upper - 1e-3
    J = arm.jacobian(q)
    rng = np.random.default_rng(0)
    for _ in range(50):
        rate = limited_velocity(arm, q, [VelocityGoal(J, rng.normal(size=6) * 3)], dt=0.01)
        assert (np.abs(rate) <= arm.limits.velocity + 1e-6).all()
        assert (q + 0.01 * rate <= arm.limits.upper + 1e-8).all()
    free = limited_velocity(arm, HOME, [VelocityGoal(arm.jacobian(HOME), np.full(6, 0.01))], dt=0.01, regular=1e-9)
    assert np.allclose(arm.jacobian(HOME) @ free, 0.01, atol=1e-6)


def test_the_first_priority_is_not_disturbed():
    J = ARM.jacobian(HOME)
    first, v = J[:3], np.array([0.1, 0.0, 0.05])
    posture = VelocityGoal(np.eye(7), np.ones(7), level=1)
    rate = limited_velocity(ARM, HOME, [VelocityGoal(first, v), posture], dt=0.01, regular=1e-9)
    assert np.allclose(first @ rate, v, atol=1e-7)
    alone = limited_velocity(ARM, HOME, [VelocityGoal(first, v)], dt=0.01, regular=1e-9)
    assert np.linalg.norm(rate - 1) < np.linalg.norm(alone - 1)
    N = np.eye(7) - np.linalg.pinv(first) @ first
    wanted = np.linalg.pinv(first) @ v + N @ (np.ones(7) - np.linalg.pinv(first) @ v)
    if (np.abs(wanted) < ARM.limits.velocity).all():
        assert np.allclose(rate, wanted, atol=1e-4)


def test_wrong_input():
    J = ARM.jacobian(HOME)
    for arguments, words in (
        ((HOME[:3], [VelocityGoal(J, np.zeros(6))], 0.01), "q must be 7 finite numbers, got shape .3,."),
        ((HOME, [], 0.01), "at least one goal"),
        ((HOME, [VelocityGoal(J, np.zeros(6))], 0.0), "dt is 0.0; it must be greater than 0 .s."),
    ):
        with pytest.raises(dl.InputError, match=words):
            limited_velocity(ARM, *arguments)


def test_three_levels_are_never_refused():
    rng = np.random.default_rng(0)
    for k in range(60):
        q = ARM.random_configuration(seed=k)
        J = ARM.jacobian(q)
        tasks = [
            VelocityGoal(J[:3], rng.normal(size=3) * 0.5),
            VelocityGoal(J[3:], rng.normal(size=3) * 0.5, level=1),
            VelocityGoal(np.eye(7), -q, level=2),
        ]
        rate = limited_velocity(ARM, q, tasks, dt=0.01)
        alone = limited_velocity(ARM, q, tasks[:1], dt=0.01)
        assert np.isfinite(rate).all() and (np.abs(rate) <= ARM.limits.velocity + 1e-6).all()
        off = [np.linalg.norm(J[:3] @ x - tasks[0].v) for x in (rate, alone)]
        assert off[0] < off[1] + 1e-5


def test_weights_weigh_what_cannot_be_had():
    arm = dl.load("planar-2r")
    q, T = np.array([0.3, 0.8]), arm.fk([0.5, 0.9])
    rates = [tracking_velocity(arm, q, T, rows=[1, 1, 0, 0, 0, w]) for w in (0.01, 100.0)]
    e, J = pose_error(arm.fk(q), T), arm.jacobian(q)
    off = [np.abs(J @ rate - e) for rate in rates]
    assert off[0][:2].max() < off[1][:2].max() and off[1][5] < off[0][5]


def test_more_wrong_input():
    T, J = ARM.fk(HOME), ARM.jacobian(HOME)
    nan = np.full(6, np.nan)
    for call, words in (
        (lambda: tracking_velocity(ARM, HOME, T, nan), r"twist\[0\] is nan; it must be a finite number"),
        (lambda: tracking_velocity(ARM, HOME * np.nan, T), r"q\[0\] is nan"),
        (lambda: tracking_velocity(ARM, HOME, T * np.nan), r"T\[0, 0\] is nan"),
        (lambda: tracking_velocity(ARM, HOME, T, gain=[1, 2, 3]), "gain must be"),
        (lambda: tracking_velocity(ARM, HOME, T, gain="a"), "gain must be"),
        (lambda: tracking_velocity(ARM, HOME, T, [1, 2, 3]), "twist has shape"),
        (lambda: tracking_velocity(ARM, HOME, T, posture_rate=nan), "posture_rate has shape"),
        (lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, nan)], 0.01), "v of goal 0 is nan"),
        (
            lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, np.zeros(6), weight=-1)], 0.01),
            "weight of goal 0 is -1.0; it must be greater than 0",
        ),
        (lambda: limited_velocity(ARM, HOME, [VelocityGoal(J[:, :5], np.zeros(6))], 0.01), "J of goal 0 must be"),
        (lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, np.zeros(5))], 0.01), "v of goal 0 must be"),
        (
            lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, np.zeros(6))], "a"),
            "dt must be a finite number .s., got",
        ),
        (
            lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, np.zeros(6))], 0.01, velocity=-1),
            "velocity is -1.0; it must be greater than 0",
        ),
        (
            lambda: limited_velocity(ARM, HOME, [VelocityGoal(J, np.zeros(6))], 0.01, velocity=np.nan),
            "velocity is nan; it must be a finite number",
        ),
    ):
        with pytest.raises(dl.InputError, match=words):
            call()
