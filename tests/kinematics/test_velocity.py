"""Inverse velocity: minimum norm, weights, damping, null space. [Poonawala] §2.5."""

from __future__ import annotations

import numpy as np
import pytest
from motion_arms import ARMS, arm, planar_4r, states

import dalembert as dl
from dalembert.kinematics.jacobian import natural, scale_of
from dalembert.kinematics.velocity import gain, pseudo_inverse
from tolerances import ROUNDING, SOLVED, error


def reachable(robot, q, seed=0):
    """Twists that the arm can make: J times seeded rates."""
    rates = np.random.default_rng(seed).normal(size=q.shape)
    return np.einsum("...ij,...j->...i", robot.jacobian(q), rates), rates


@pytest.mark.parametrize("name", ARMS)
def test_a_reachable_twist_is_given(name):
    robot, q = arm(name), states(arm(name))
    twist, rates = reachable(robot, q)
    found = robot.inverse_velocity(q, twist)
    own = natural(robot).reduce("twist", twist)
    assert error(natural(robot).reduce("twist", found.twist), own) < SOLVED
    assert found.residual.max() < SOLVED * max(np.abs(own).max(), 1)
    assert (np.linalg.norm(found.qd, axis=-1) <= np.linalg.norm(rates, axis=-1) * (1 + 1e-9)).all()  # minimum norm
    assert not found.damped.any()


@pytest.mark.parametrize("name", ("panda", "iiwa7"))
def test_right_inverse_of_seed_000(name):
    """J⁺ = Jᵀ(JJᵀ)⁻¹, and with weights W⁻¹Jᵀ(JW⁻¹Jᵀ)⁻¹."""
    robot, q = arm(name), states(arm(name), 1)[0]
    J, xi = robot.jacobian(q), np.arange(1.0, 7.0)
    w = np.linspace(0.5, 3, robot.n)
    for W, weights in ((np.eye(robot.n), None), (np.diag(w), w), (np.diag(w), np.diag(w))):
        formula = np.linalg.inv(W) @ J.T @ np.linalg.inv(J @ np.linalg.inv(W) @ J.T) @ xi
        assert error(robot.inverse_velocity(q, xi, joint_weights=weights).qd, formula) < SOLVED
        assert error(pseudo_inverse(J, "right", joint_weights=weights) @ xi, formula) < SOLVED
    coupled = np.eye(robot.n) + 0.1
    formula = np.linalg.inv(coupled) @ J.T @ np.linalg.inv(J @ np.linalg.inv(coupled) @ J.T) @ xi
    assert error(robot.inverse_velocity(q, xi, joint_weights=coupled).qd, formula) < SOLVED


def test_left_inverse_and_task_weights():
    """Fewer joints than rows: (JᵀJ)⁻¹Jᵀ, and with row weights D, (JᵀD²J)⁻¹JᵀD²."""
    robot, q = arm("scara"), states(arm("scara"), 1)[0]
    J, xi = robot.jacobian(q), np.arange(1.0, 7.0)
    assert error(robot.inverse_velocity(q, xi, rows="pose").qd, np.linalg.solve(J.T @ J, J.T @ xi)) < SOLVED
    assert error(pseudo_inverse(J, "left"), np.linalg.solve(J.T @ J, J.T)) < SOLVED
    d = np.array([1, 2, 3, 0.5, 0.5, 4.0])
    D2 = np.diag(d**2)
    weighted = robot.inverse_velocity(q, xi, rows=d)
    assert error(weighted.qd, np.linalg.solve(J.T @ D2 @ J, J.T @ D2 @ xi)) < SOLVED
    assert np.isclose(weighted.residual, np.linalg.norm(xi - J @ weighted.qd))  # the residual is not weighted


def test_inverses_that_do_not_exist():
    J = np.array([[1.0, 0, 0], [1, 0, 0]])
    for side in ("right", "left"):
        with pytest.raises(dl.SingularityError, match=f"no {side} inverse"):
            pseudo_inverse(J, side)
    assert error(pseudo_inverse(J), np.linalg.pinv(J)) < ROUNDING
    with pytest.raises(dl.UnknownNameError, match="did you mean 'right'"):
        pseudo_inverse(J, "rigth")
    with pytest.raises(dl.InputError, match="must be a matrix"):
        pseudo_inverse(np.zeros((2, 0)))


@pytest.mark.parametrize("name", ARMS)
def test_null_space_laws(name):
    """N² = N, J N = 0, trace N its dimension, the basis orthonormal and unfelt."""
    robot, q = arm(name), states(arm(name))
    null = robot.null_space(q)
    J = natural(robot).jacobian(robot.jacobian(q))
    assert error(null.projector @ null.projector, null.projector, 1.0) < SOLVED
    assert np.abs(J @ null.projector).max() < SOLVED
    assert np.allclose(np.trace(null.projector, axis1=-2, axis2=-1), null.dimension)
    assert np.abs(J @ null.basis).max(initial=0) < SOLVED
    assert (
        error(
            np.swapaxes(null.basis, -1, -2) @ null.basis,
            np.broadcast_to(np.eye(null.basis.shape[-1]), (len(q), *[null.basis.shape[-1]] * 2)),
        )
        < SOLVED
    )
    assert (null.dimension == robot.n - natural(robot).m).all() or name == "planar-1r"


@pytest.mark.parametrize("weights", (None, np.arange(1.0, 8.0)))
def test_null_space_term_is_not_felt(weights):
    robot, q = arm("panda"), states(arm("panda"))
    twist, _ = reachable(robot, q)
    b = np.random.default_rng(3).normal(size=7)
    plain = robot.inverse_velocity(q, twist, joint_weights=weights)
    with_b = robot.inverse_velocity(q, twist, joint_weights=weights, null_term=b)
    assert error(with_b.twist, twist) < SOLVED
    assert np.abs(with_b.qd - plain.qd).max() > 0.1
    W = np.eye(7) if weights is None else np.diag(weights)
    cost = lambda qd: np.einsum("...i,ij,...j->...", qd, W, qd)  # noqa: E731
    assert (cost(plain.qd) < cost(with_b.qd)).all()
    own = robot.inverse_velocity(q, twist * 0, joint_weights=weights, null_term=b).qd
    assert error(own, robot.null_space(q, joint_weights=weights).projector @ b) < SOLVED


def test_null_spaces_of_different_size():
    null = arm("planar-2r").null_space([[0.3, 0.0], [0.3, 0.5]])
    assert null.dimension.tolist() == [1, 0]
    with pytest.raises(dl.InputError, match="one by one"):
        null.basis  # noqa: B018


def test_damping_law():
    """g = 1/σ from ε on, at most 1/ε, continuous, zero at zero."""
    s = np.array([1.0, 0.5, 0.1, 0.0999999999, 0.05, 1e-3, 0.0])
    g = gain(s, 1.0, 0.1)
    assert np.allclose(g[:3], 1 / s[:3]) and np.isclose(g[3], 10) and g[-1] == 0
    assert (g <= 10 + 1e-12).all() and (np.diff(g[3:]) < 0).all()
    lam2 = (0.1**2 - s[4:] ** 2) / 2
    assert np.allclose(g[4:], s[4:] / (s[4:] ** 2 + lam2))  # λ as stated
    assert np.array_equal(gain(np.zeros(3), 1.0, 0.1), np.zeros(3))


@pytest.mark.parametrize("name", ARMS)
def test_damped_rates_are_bounded(name):
    """‖q̇‖ ≤ ‖ξ‖/ε in every state, also the singular ones."""
    robot = arm(name)
    q = np.concatenate([states(robot, 200), np.zeros((1, robot.n))])
    xi = np.random.default_rng(1).normal(size=(201, natural(robot).m))
    found = robot.inverse_velocity(q, xi, damping=0.05)
    bound = np.linalg.norm(xi, axis=-1) / (0.05 * scale_of(robot, None, natural(robot), "world"))
    assert np.isfinite(found.qd).all()
    assert (np.linalg.norm(found.qd, axis=-1) <= bound * (1 + 1e-9)).all()
    exact = robot.inverse_velocity(q, xi)
    assert error(found.qd[~found.damped], exact.qd[~found.damped]) < ROUNDING


def test_damping_is_continuous_through_a_singularity():
    robot, angles = arm("planar-2r"), np.linspace(-0.2, 0.2, 4001)
    q = np.stack([np.full_like(angles, 0.3), angles], axis=-1)
    qd = robot.inverse_velocity(q, [1.0, 0.0], damping=0.05).qd
    assert np.abs(np.diff(qd, axis=0)).max() < 0.3
    exact = robot.inverse_velocity(q + np.array([0, 1e-4]), [1.0, 0.0]).qd
    assert np.abs(exact).max() > 1e3  # not bounded


def test_exactly_singular_states_give_least_squares():
    robot = arm("planar-2r")
    found = robot.inverse_velocity([0.0, 0.0], [1.0, 1.0])
    assert found.rank == 1 and np.isclose(found.residual, 1.0)
    assert error(found.qd, np.array([2, 1]) / 5) < ROUNDING


@pytest.mark.parametrize("q1", (0.0, np.pi, -np.pi))
def test_a_single_row_that_vanishes(q1):
    """Stretched along x, nothing moves along x: J is zero but for rounding, and rates are not rounding's inverse."""
    found = arm("planar-2r").inverse_velocity([q1, 0.0], [1.0], rows="vx")
    assert found.rank == 0 and np.array_equal(found.qd, [0, 0]) and np.isclose(found.residual, 1)
    assert arm("planar-2r").null_space([q1, 0.0], rows="vx").dimension == 2


def test_redundant_planar_arm_with_all_rows():
    robot, q = planar_4r(), np.array([0.1, 0.2, 0.3, 0.4])
    found = robot.inverse_velocity(q, [0.1, 0.2, 0, 0, 0, 0.3], rows="pose")
    assert found.residual < SOLVED and found.rank == 3
    assert robot.null_space(q, rows="pose").dimension == 1


@pytest.mark.parametrize("name", ("scara", "panda"))
def test_a_batch_is_a_loop(name):
    robot = arm(name)
    q = states(robot, 6).reshape(2, 3, -1)
    xi = np.random.default_rng(1).normal(size=(3, 6))
    found = robot.inverse_velocity(q, xi, damping=0.02)
    for i in range(2):
        for j in range(3):
            one = robot.inverse_velocity(q[i, j], xi[j], damping=0.02)
            assert error(found.qd[i, j], one.qd) < SOLVED and np.isclose(found.residual[i, j], one.residual)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"damping": -0.1}, "0 ≤ damping < 1"),
        ({"damping": 1}, "0 ≤ damping < 1"),
        ({"damping": np.nan}, "damping is nan"),
        ({"joint_weights": [1, 2]}, "7 numbers"),
        ({"joint_weights": np.zeros(7)}, "positive"),
        ({"joint_weights": np.triu(np.ones((7, 7)))}, "symmetric"),
        ({"null_term": [1.0, 2]}, "does not fit"),
        ({"null_term": [np.nan] * 7}, "null_term.0. is nan"),
        ({"expressed_in": "tool"}, "unknown expressed_in"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(dl.DalembertError, match=message):
        arm("panda").inverse_velocity(np.ones(7), np.ones(6), **options)


def test_batches_that_do_not_fit():
    with pytest.raises(dl.InputError, match="does not fit"):
        arm("panda").inverse_velocity(np.ones((3, 7)), np.ones((2, 6)))


def test_local_and_world_rates_agree():
    robot, q = arm("ur5e"), states(arm("ur5e"), 1)[0]
    qd = np.arange(1.0, 7.0)
    for name in ("world", "local", "spatial"):
        twist = robot.jacobian(q, expressed_in=name) @ qd
        assert error(robot.inverse_velocity(q, twist, expressed_in=name).qd, qd) < SOLVED
