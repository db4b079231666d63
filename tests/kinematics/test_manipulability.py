"""Ellipsoids, μ and its gradient, effective mass, accelerations. [Poonawala] §§2.6, 3.2, [Fakhari 2]."""

from __future__ import annotations

import numpy as np
import pytest
from motion_arms import ARMS, arm, planar_4r, states

import dalembert as dl
from dalembert.kinematics.jacobian import natural
from dalembert.kinematics.tasks import ROWS
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error

MASKS = (None, "position", "orientation", "planar")


def test_planar_2r_formula():
    """μ = a₁ a₂ |s₂|.  [Poonawala] example 2."""
    robot = dl.Robot.from_dh([{"a": 0.7}, {"a": 0.4}])
    q = np.random.default_rng(0).uniform(-3, 3, (50, 2))
    assert error(robot.manipulability(q), 0.7 * 0.4 * np.abs(np.sin(q[:, 1]))) < SOLVED
    assert error(robot.manipulability(q, rows="position"), robot.manipulability(q)) < ROUNDING
    d = robot.manipulability_gradient(q)
    assert error(d[:, 1], 0.28 * np.cos(q[:, 1]) * np.sign(np.sin(q[:, 1]))) < SOLVED
    assert np.abs(d[:, 0]).max() < SOLVED


@pytest.mark.parametrize("name", ARMS)
def test_yoshikawas_measure(name):
    """μ = √det(JJᵀ) with independent rows, √det(JᵀJ) with independent columns, |det J| of a square one."""
    robot, q = arm(name), states(arm(name), 10)
    J = natural(robot).jacobian(robot.jacobian(q))
    gram = J @ np.swapaxes(J, -1, -2) if J.shape[-2] <= robot.n else np.swapaxes(J, -1, -2) @ J
    mu = robot.manipulability(q)
    assert error(mu, np.sqrt(np.linalg.det(gram))) < SOLVED
    assert (mu > 0).all()  # not zero only because six rows were used
    assert error(mu, robot.velocity_ellipsoid(q).lengths[:, : robot.n].prod(-1)) < SOLVED
    if J.shape[-1] == J.shape[-2]:
        assert error(mu, np.abs(np.linalg.det(J))) < SOLVED


def test_fewer_than_six_joints_with_all_six_rows():
    for robot in (arm("scara"), arm("planar-3r"), planar_4r(), arm("planar-1r")):
        q = states(robot, 10)
        assert (robot.manipulability(q, rows="pose") > 0).all()
        assert np.isfinite(robot.manipulability(q, rows="pose", measure="condition")).all()
        assert np.isfinite(robot.manipulability_gradient(q, rows="pose")).all()


@pytest.mark.parametrize("name", ARMS)
def test_measures_that_need_inertias(name):
    """Asada's is the smallest by the largest eigenvalue of (J M⁻¹ Jᵀ)⁻¹; the dynamic one √det(J M⁻² Jᵀ), the volume of
    the accelerations that unit torques give; both of the rows that the arm has joints for."""
    robot, q = arm(name), states(arm(name), 6)
    J, M = natural(robot).jacobian(robot.jacobian(q)), robot.mass_matrix(q)
    if J.shape[-2] <= robot.n:
        mobility = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
        masses = np.linalg.eigvalsh(np.linalg.inv(mobility))
        asada = robot.manipulability(q, measure="asada")
        assert error(asada, masses[:, 0] / masses[:, -1]) < 1e-8 and ((asada > 0) & (asada <= 1)).all()
        felt = robot.effective_mass(q, rows=natural(robot)).masses
        assert error(asada, felt.min(-1) / felt.max(-1)) < SOLVED
    E = robot.acceleration_ellipsoid(q, torques=np.ones(robot.n))
    assert error(robot.manipulability(q, measure="dynamic"), E.lengths[..., : robot.n].prod(-1)) < SOLVED
    assert np.isfinite(robot.manipulability(q, rows="pose", measure="asada")).all()


def test_measures_that_need_inertias_at_their_edges():
    """A stretched arm moves one way only: zero. Unit point masses at q₂ = ±90°: M⁻¹ by hand."""
    assert arm("planar-2r").manipulability([0.3, 0.0], measure="asada") == 0
    assert arm("planar-2r").manipulability([0.3, 0.0], measure="dynamic") == 0
    assert np.isclose(arm("cartesian-pp").manipulability([0.1, 0.1], measure="asada"), _ratio(arm("cartesian-pp")))
    points = dl.Robot.from_dh([{"a": 1.0, "inertial": dl.describe.Inertial(1.0, (0,) * 6)}] * 2)
    # J = [−1 −1; 1 0], M = [3 1; 1 1]: J M⁻¹ Jᵀ = diag(1, ½)
    assert np.isclose(points.manipulability([0.0, np.pi / 2], measure="asada"), 0.5, rtol=1e-12)
    assert np.isclose(points.manipulability([0.0, np.pi / 2], measure="dynamic"), 0.5, rtol=1e-12)
    with pytest.raises(dl.DalembertError, match="inert"):
        dl.Robot.from_dh([{"a": 1.0}] * 2).manipulability([0.0, 1.0], measure="asada")


def _ratio(robot):
    masses = np.linalg.eigvalsh(robot.mass_matrix([0.1, 0.1]))
    return masses[0] / masses[-1]


@pytest.mark.parametrize("expressed_in", ["world", "local", "spatial"])
@pytest.mark.parametrize("name", ARMS)
def test_hessian_of_the_kinematics(name, expressed_in):
    """[i, j, k] = ∂J_ij/∂q_k: J̇ = H q̇; in world axes the columns turn with the joints before them."""
    robot, q = arm(name), states(arm(name), 4).reshape(2, 2, -1)
    qd = np.random.default_rng(0).uniform(-1, 1, q.shape)
    H = robot.hessian(q, expressed_in=expressed_in)
    assert H.shape == (2, 2, 6, robot.n, robot.n)
    J_dot = robot.jacobian_dot(q, qd, expressed_in=expressed_in)
    assert error(np.einsum("...ijk,...k->...ij", H, qd), J_dot, 1.0) < SOLVED
    J = robot.jacobian(q)
    if expressed_in == "world":
        w = np.swapaxes(J[..., 3:, :], -1, -2)
        for j in range(robot.n):
            for k in range(j + 1):  # a serial chain: ∂J_j/∂q_k = ω_k × J_j for k ≤ j
                for half in (slice(0, 3), slice(3, 6)):
                    assert error(H[..., half, j, k], np.cross(w[..., k, :], J[..., half, j]), 1.0) < SOLVED
    single = robot.hessian(q.astype(np.float32), expressed_in=expressed_in)
    assert error(single, H, 1.0) < 1e-5


def test_hessian_of_wrong_input():
    with pytest.raises(dl.InputError, match="q has shape"):
        arm("planar-2r").hessian([1.0])
    with pytest.raises(dl.InputError, match=r"q\[0\] is nan; it must be a finite number"):
        arm("planar-2r").hessian([np.nan, 0])
    with pytest.raises(dl.UnknownNameError, match="unknown frame"):
        arm("planar-2r").hessian([0, 0], "tol")
    with pytest.raises(dl.UnknownNameError, match="expressed_in"):
        arm("planar-2r").hessian([0, 0], expressed_in="body")


@pytest.mark.parametrize("rows", MASKS)
@pytest.mark.parametrize("name", ARMS)
def test_gradient_is_the_difference(name, rows):
    robot, q, h = arm(name), states(arm(name), 3), 1e-6
    gradient = robot.manipulability_gradient(q, rows=rows)
    if rows == "orientation" and name == "cartesian-pp":
        assert not gradient.any()  # it never turns
    for k, e in enumerate(np.eye(robot.n) * h):
        difference = (robot.manipulability(q + e, rows=rows) - robot.manipulability(q - e, rows=rows)) / (2 * h)
        assert error(gradient[:, k], difference, 1.0) < DIFFERENCE


def test_gradient_at_a_singularity_is_a_subgradient():
    assert np.array_equal(arm("planar-2r").manipulability_gradient([0.3, 0.0]), [0, 0])
    assert arm("planar-2r").manipulability([0.3, 0.0]) == 0
    assert arm("planar-2r").manipulability([0.3, 0.0], measure="condition") == np.inf
    assert arm("planar-2r").manipulability([0.3, 0.0], measure="isotropy") == 0
    assert arm("cartesian-pp").manipulability([0.1, 0.1], rows="orientation") == 0
    with pytest.raises(dl.UnknownNameError, match="did you mean 'condition'"):
        arm("planar-2r").manipulability([0, 0], measure="conditon")


@pytest.mark.parametrize("rows", MASKS)
@pytest.mark.parametrize("name", ARMS)
def test_velocity_ellipsoid(name, rows):
    """Axes and lengths are those of the SVD; every unit rate falls on or inside ([Poonawala] eqs. 17–20)."""
    robot, q = arm(name), states(arm(name), 4)
    E = robot.velocity_ellipsoid(q, rows=rows)
    J = robot.jacobian(q)[:, [ROWS.index(r) for r in E.rows]]
    gram = E.axes @ (E.lengths[..., None] ** 2 * np.swapaxes(E.axes, -1, -2))
    assert error(gram, J @ np.swapaxes(J, -1, -2), 1.0) < SOLVED  # U Σ² Uᵀ = JJᵀ
    eye = np.broadcast_to(np.eye(len(E.rows)), gram.shape)
    assert error(np.swapaxes(E.axes, -1, -2) @ E.axes, eye) < ROUNDING
    assert (np.diff(E.lengths, axis=-1) <= 1e-12).all()
    qd = np.random.default_rng(2).normal(size=(4, 50, robot.n))
    qd /= np.linalg.norm(qd, axis=-1, keepdims=True)
    w = np.einsum("sij,skj->ski", np.swapaxes(E.axes, -1, -2) @ J, qd)
    part = np.where(E.lengths[:, None] > 0, w / np.where(E.lengths > 0, E.lengths, 1)[:, None], 0)
    assert ((part**2).sum(-1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("rows", MASKS)
@pytest.mark.parametrize("name", ARMS)
def test_force_ellipsoid_is_reciprocal(name, rows):
    """Same axes, lengths σ and 1/σ, infinite where σ = 0; at the end of each axis ‖τ‖ = 1 ([Poonawala] §3.2)."""
    robot, q = arm(name), states(arm(name), 4)
    V, F = robot.velocity_ellipsoid(q, rows=rows), robot.force_ellipsoid(q, rows=rows)
    assert V.rows == F.rows and np.allclose(np.abs(V.axes[..., ::-1]), np.abs(F.axes))
    slow = V.lengths == 0
    assert np.isinf(F.lengths[..., ::-1][slow]).all()
    assert np.allclose((F.lengths[..., ::-1] * np.where(slow, 1, V.lengths))[~slow], 1)
    rows6 = [ROWS.index(r) for r in F.rows]
    for k in range(len(F.rows)):
        finite = np.isfinite(F.lengths[:, k])
        wrench = np.zeros((4, 6))
        wrench[:, rows6] = F.axes[..., k] * np.where(finite, F.lengths[:, k], 1)[:, None]
        size = np.linalg.norm(robot.static_torque(q, {robot.tip: wrench}), axis=-1)
        assert np.allclose(size[finite], 1) and np.allclose(size[~finite], 0, atol=1e-9)


def test_more_force_near_a_singularity():
    """[Poonawala] §3.2: the closer to singular, the more force along the lost direction for the same torque."""
    q = np.stack([np.zeros(4), [1.0, 0.1, 0.01, 0.0]], axis=-1)
    force = arm("planar-2r").force_ellipsoid(q).lengths[:, 0]
    assert (np.diff(force[:3]) > 0).all() and np.isinf(force[3])


def test_ellipsoids_by_the_limits():
    robot, q = arm("panda"), states(arm("panda"), 3)
    J, r, t = robot.jacobian(q), robot.limits.velocity, robot.limits.effort
    E = robot.velocity_ellipsoid(q, joint_rates="limits")
    assert error(E.lengths, np.linalg.svd(J * r, compute_uv=False)) < SOLVED
    F = robot.force_ellipsoid(q, rows="position", torques="limits")
    assert error(F.lengths[:, ::-1], 1 / np.linalg.svd(J[:, :3] / t, compute_uv=False)) < SOLVED
    with pytest.raises(dl.InputError, match="has no effort limit: give torques="):
        arm("planar-2r").force_ellipsoid([0.1, 0.2], torques="limits")
    with pytest.raises(dl.InputError, match="must be positive"):
        arm("planar-2r").force_ellipsoid([0.1, 0.2], torques=[1.0, 0.0])


def test_how_they_print():
    robot = arm("planar-2r-points")
    assert repr(robot.effective_mass([0, np.pi / 2])) == "<EffectiveMass: principal masses 2, 1 over vx, vy>"
    assert repr(robot.velocity_ellipsoid(np.zeros((3, 2)))) == "<Ellipsoid: half axes of 3 states over vx, vy>"


def test_boundary_of_an_ellipse():
    E = arm("planar-2r").velocity_ellipsoid([[0.3, 0.7], [0.1, 1.0]])
    x = E.boundary(40)
    J = arm("planar-2r").jacobian([[0.3, 0.7], [0.1, 1.0]])[:, :2]
    A = np.linalg.inv(J @ np.swapaxes(J, -1, -2))
    assert np.allclose(np.einsum("spi,sij,spj->sp", x, A, x), 1) and x.shape == (2, 40, 2)
    with pytest.raises(dl.InputError, match="two rows"):
        arm("scara").velocity_ellipsoid(np.zeros(4)).boundary()


# ------------------------------------------------------------------------------------- effective mass
def test_effective_mass_of_seed_004():
    """The 2R arm with unit lengths and point masses: at q = (0, π/2), M_C = diag(1, 2), by hand."""
    robot = arm("planar-2r-points")
    found = robot.effective_mass([0.0, np.pi / 2])
    assert error(found.matrix, np.diag([1.0, 2.0])) < ROUNDING
    assert np.allclose(found.masses, [2, 1]) and found.rows == ("vx", "vy")
    assert np.isclose(found.along([1, 0]), 1) and np.isclose(found.along([0, 3]), 2)
    q = states(robot, 5)
    J, M = robot.jacobian(q)[:, :2], robot.mass_matrix(q)
    inverse = np.linalg.inv(J)
    assert error(robot.effective_mass(q).matrix, np.swapaxes(inverse, -1, -2) @ M @ inverse) < SOLVED


def test_force_is_parallel_to_acceleration_along_the_principal_axes_only():
    """[Fakhari 2]: f = M_C ẍ at rest without gravity, against forward dynamics."""
    robot, q = arm("planar-2r-points").with_gravity((0, 0, 0)), np.array([0.3, 1.2])
    found = robot.effective_mass(q)
    J = robot.jacobian(q)[:2]
    for f in (*found.axes.T, np.array([1.0, 0.0])):
        a = J @ robot.forward_dynamics(q, np.zeros(2), J.T @ f)
        assert error(found.acceleration(f), a) < SOLVED
    for mass, axis in zip(found.masses, found.axes.T, strict=True):
        assert found.angle(axis) < 1e-7 and error(mass * found.acceleration(axis), axis) < SOLVED
    assert np.isclose(found.angle([1.0, 0.0]), 0.0378, atol=1e-4)
    assert np.array_equal(found.ellipsoid.lengths, found.masses)


@pytest.mark.parametrize("name", [a for a in ARMS if a != "planar-1r"])
def test_effective_mass_is_the_least_energy(name):
    """½ vᵀ Λ v is the least kinetic energy of all rates that give the tip's velocity v (redundant arms too)."""
    robot, q = arm(name), states(arm(name), 3)
    found = robot.effective_mass(q)
    rows = [ROWS.index(r) for r in found.rows]
    v = np.random.default_rng(0).normal(size=(3, len(rows)))
    least = robot.inverse_velocity
    for state, velocity, Lambda in zip(q, v, found.matrix, strict=True):
        M = robot.mass_matrix(state)
        rates = least(state, velocity, rows=np.isin(np.arange(6), rows), joint_weights=(M + M.T) / 2).qd
        assert np.isclose(velocity @ Lambda @ velocity / 2, robot.kinetic_energy(state, rates), rtol=1e-7)


def test_effective_mass_where_singular():
    found = arm("planar-2r").effective_mass([0.0, 0.0])
    assert np.isinf(found.masses[0]) and np.isfinite(found.masses[1]) and np.isfinite(found.mobility).all()
    assert np.isinf(found.along([1, 0]))
    with pytest.raises(dl.SingularityError, match="infinite in some direction"):
        found.matrix  # noqa: B018
    with pytest.raises(dl.SingularityError, match="no acceleration"):
        found.angle([1.0, 0.0])


def test_effective_mass_without_mass():
    weightless = dl.Robot.from_dh([{"a": 1.0}, {"a": 1.0}])
    with pytest.raises(dl.SingularityError, match="mass matrix is singular"):
        weightless.effective_mass([0.1, 0.2])


# ------------------------------------------------------------------------------------- accelerations
@pytest.mark.parametrize("name", ("scara", "puma560", "panda"))
def test_acceleration_ellipsoid(name):
    """Seeded torques on the unit ball of t give accelerations, by forward dynamics, inside or on the ellipsoid."""
    robot, q = arm(name), states(arm(name), 1)[0]
    t, qd = np.linspace(5, 20, robot.n), np.linspace(-0.5, 0.5, robot.n)
    E = robot.acceleration_ellipsoid(q, qd, torques=t)
    rows = [ROWS.index(r) for r in E.rows]
    x = np.random.default_rng(0).normal(size=(200, robot.n))
    tau = t * x / np.linalg.norm(x, axis=-1, keepdims=True)
    qdd = robot.forward_dynamics(q, qd, tau)
    a = (qdd @ robot.jacobian(q).T + robot.jacobian_dot(q, qd) @ qd)[:, rows]
    w = (a - E.center) @ E.axes / E.lengths
    inside = (w**2).sum(-1)
    assert (inside <= 1 + 1e-9).all()
    if robot.n == len(rows):
        assert np.allclose(inside, 1)  # no joint to spare: the boundary is filled
    rest = robot.acceleration_ellipsoid(q, torques=t)
    fall = robot.jacobian(q)[rows] @ robot.forward_dynamics(q, 0 * q, 0 * q)
    assert error(rest.center, fall) < SOLVED
    assert np.isclose(E.volume_measure, np.prod(E.lengths))


def test_acceleration_needs_torque_limits():
    with pytest.raises(dl.InputError, match="has no effort limit"):
        arm("planar-2r").acceleration_ellipsoid([0.1, 0.2])
    assert arm("puma560").acceleration_ellipsoid(np.zeros((3, 6))).lengths.shape == (3, 6)


# ------------------------------------------------------------------------------------- batches
@pytest.mark.parametrize("name", ("planar-1r", "scara", "panda"))
def test_a_batch_is_a_loop(name):
    robot = arm(name)
    q = states(robot, 6).reshape(2, 3, -1)
    t = np.ones(robot.n)
    calls = {
        "manipulability": lambda x: robot.manipulability(x),
        "gradient": lambda x: robot.manipulability_gradient(x),
        "velocity": lambda x: robot.velocity_ellipsoid(x).lengths,
        "force": lambda x: np.minimum(robot.force_ellipsoid(x).lengths, 1e30),
        "mobility": lambda x: robot.effective_mass(x).mobility,
        "acceleration": lambda x: robot.acceleration_ellipsoid(x, torques=t).lengths,
        "center": lambda x: robot.acceleration_ellipsoid(x, torques=t).center,
    }
    for call in calls.values():
        loop = np.array([[call(x) for x in row] for row in q])
        assert error(call(q), loop) < SOLVED


def test_the_robotics_toolbox_agrees():
    """Yoshikawa's μ of all six rows does not depend on the point of the last link: the toolbox's tip may be another."""
    toolbox = pytest.importorskip("roboticstoolbox")
    panda = toolbox.models.DH.Panda()
    robot, q = arm("panda"), states(arm("panda"), 5)
    theirs = [panda.manipulability(x, method="yoshikawa") for x in q]
    assert error(robot.manipulability(q), theirs) < SOLVED
