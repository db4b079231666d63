"""Task-space dynamics: F = M_C ẍ + c_C + g_C + F_tip by geometric and analytic Jacobians. [Fakhari 3]."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from motion_arms import arm, motionless, states

import dalembert as dl
from dalembert import kernels
from dalembert.algorithms.jacobians import analytic_jacobian, analytic_jacobian_dot
from dalembert.kinematics.tasks import task
from dalembert.spatial.rotation import EULER_SEQUENCES
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error
from trees import random_tree

# Square, redundant and low tasks; trees with branches, slides, mimic joints and rotors; each Jacobian.
CASES = {
    "planar 2R": ("planar-2r", {}),
    "planar 3R, two rows": ("planar-3r", dict(rows=("vx", "vy"))),
    "planar 3R, yaw": ("planar-3r", dict(rows="planar", jacobian="rpy")),
    "SCARA": ("scara", {}),
    "UR5e": ("ur5e", {}),
    "UR5e, zyz": ("ur5e", dict(jacobian="zyz")),
    "Panda": ("panda", {}),
    "planar 3R, local position": ("planar-3r", dict(rows=("vx", "vy"), expressed_in="local")),
    "chain of 5, spatial position": (dict(seed=6, joints=5, chain=True), dict(rows="position", expressed_in="spatial")),
    "chain of 6 with mimic joints, xyx": (
        dict(seed=8, joints=6, chain=True, mimic=True, rotors=True),
        dict(rows=("position", "wx"), jacobian="xyx"),
    ),
    "tree of 6, rows of one's own": (dict(seed=1, joints=6), dict(rows=[[1, 2, 0, 0, 1, 0], [0, 0, 1, -1, 0, 0.5]])),
}


@cache
def robot_of(which) -> dl.Robot:
    if isinstance(which, str):
        return arm(which)
    robot = dl.Robot(random_tree(**dict(which)))
    return robot.with_tip(robot.frames[-1])


def case(name):
    which, options = CASES[name]
    return robot_of(which if isinstance(which, str) else tuple(which.items())), options


@pytest.fixture(params=CASES, scope="module")
def setting(request):
    """(robot, options, q, q̇, the terms there): well inside the regular states."""
    robot, options = case(request.param)
    q = regular_states(robot, options)
    qd = np.random.default_rng(5).normal(size=q.shape)
    return robot, options, q, qd, robot.task_space(q, qd, **options)


def regular_states(robot, options):
    """Of 200 states the four farthest from singular."""
    q = states(robot, 200, seed=3)
    s = np.linalg.svd(jacobian(robot, q, options), compute_uv=False)
    return q[np.argsort(-s[:, -1] / s[:, 0])[:4]]


def jacobian(robot, q, options):
    """The task's Jacobian without the module under test."""
    natural = {2: ("vx", "vy"), 4: ("vx", "vy", "vz", "wz")}.get(robot.n, "pose")
    rows = options.get("rows", natural)
    kind = options.get("jacobian", "geometric")
    if kind == "geometric":
        return task(rows).jacobian(robot.jacobian(q, expressed_in=options.get("expressed_in", "world")))
    return task(rows).jacobian(robot.analytic_jacobian(q, angles=kind))


def along(f, q, qd, h=1e-5):
    """df/dt along the motion: a difference quotient of fourth order."""
    return (8 * (f(q + h * qd) - f(q - h * qd)) - f(q + 2 * h * qd) + f(q - 2 * h * qd)) / (12 * h)


def mass(robot, q, options):
    J = jacobian(robot, q, options)
    return np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), np.swapaxes(J, -1, -2)))


def times(A, x):
    return (A @ x[..., None])[..., 0]


def T(A):
    return np.swapaxes(A, -1, -2)


# ------------------------------------------------------------------------------------------------- laws
def test_mass_is_symmetric_and_positive_definite(setting):
    robot, options, q, _, t = setting
    assert np.array_equal(t.M, T(t.M)) and (np.linalg.eigvalsh(t.M) > 0).all()
    assert error(t.M, mass(robot, q, options)) < SOLVED
    assert error(t.J, jacobian(robot, q, options)) < ROUNDING
    s, inertia = np.linalg.svd(t.J, compute_uv=False), np.linalg.eigvalsh(robot.mass_matrix(q))
    felt = np.linalg.eigvalsh(t.M)  # between λ_min(M)/σ_max² and λ_max(M)/σ_min²
    assert (felt[:, 0] >= inertia[:, 0] / s[:, 0] ** 2 * (1 - 1e-9)).all()
    assert (felt[:, -1] <= inertia[:, -1] / s[:, -1] ** 2 * (1 + 1e-9)).all()
    assert error(t.mobility @ t.M, np.broadcast_to(np.eye(len(t.rows)), t.M.shape)) < SOLVED
    if len(t.rows) == robot.n:  # the notes' first form
        inverse = np.linalg.inv(t.J)
        assert error(t.M, T(inverse) @ robot.mass_matrix(q) @ inverse) < SOLVED
        assert error(t.J_bar, inverse) < SOLVED


def test_rate_of_the_jacobian(setting):
    robot, options, q, qd, t = setting
    assert error(t.J_dot, along(lambda x: jacobian(robot, x, options), q, qd), 1.0) < DIFFERENCE


def test_skew_symmetry(setting):
    """Ṁ_C − 2C_C is skew for any q̇, null-space motion included; Ṁ_C by a difference quotient."""
    robot, options, q, qd, t = setting
    M_dot = along(lambda x: mass(robot, x, options), q, qd)
    S = M_dot - 2 * t.C
    size = np.abs(M_dot).max()
    assert np.abs(S + T(S)).max() < 10 * DIFFERENCE * size
    assert np.abs(M_dot).max() > 1e-3 * np.abs(t.M).max()  # there is something to cancel


def test_equation_of_motion(setting):
    """Any torques, any q̇: ẍ = J q̈ + J̇ q̇ of joint space obeys the equation of task space."""
    robot, options, q, qd, t = setting
    rng = np.random.default_rng(8)
    tau, F_tip = 10 * rng.normal(size=q.shape), 5 * rng.normal(size=(4, len(t.rows)))
    qdd = robot.forward_dynamics(q, qd, tau - t.torque(F_tip))
    J_dot = along(lambda x: jacobian(robot, x, options), q, qd)
    xdd = times(t.J, qdd) + times(J_dot, qd)
    F = t.force_of(tau)
    assert error(t.force(xdd, F_tip), F) < 10 * DIFFERENCE
    felt = times(np.linalg.inv(mass(robot, q, options)), F - t.h - F_tip)
    assert error(felt, xdd) < 10 * DIFFERENCE
    # torques of a force on the task, and anything in the null space, accelerate it as the equation says
    null = 20 * rng.normal(size=q.shape)
    for pushed in (t.torque(F), t.torque(F, null)):
        qdd = robot.forward_dynamics(q, qd, pushed - t.torque(F_tip))
        assert error(times(t.J, qdd) + times(t.J_dot, qd), t.acceleration(F, F_tip)) < SOLVED
    assert error(t.force(t.acceleration(F, F_tip), F_tip), F) < SOLVED
    assert error(t.force_of(t.torque(F, null)), F) < SOLVED


def test_terms(setting):
    """c_C and g_C by their definitions, with the torques of Newton and Euler."""
    robot, options, q, qd, t = setting
    J_bar = np.linalg.solve(robot.mass_matrix(q), T(jacobian(robot, q, options))) @ mass(robot, q, options)
    assert error(t.J_bar, J_bar) < SOLVED
    c = times(T(J_bar), robot.coriolis_torque(q, qd)) - times(t.M, times(t.J_dot, qd))
    assert error(t.c, c) < SOLVED
    assert error(t.g, times(T(J_bar), robot.gravity_torque(q)), 1.0) < SOLVED
    assert error(t.h, t.c + t.g) == 0 and error(t.velocity, times(t.J, qd)) < ROUNDING


def test_matrix_times_velocity(setting):
    """C_C ẋ = c_C where nothing moves in the null space; beyond that, c_C counts the null motion and C_C ẋ does not."""
    robot, options, q, qd, t = setting
    still = robot.task_space(q, times(t.J_bar, t.velocity), **options)
    assert error(times(still.C, still.velocity), still.c) < SOLVED
    assert error(still.velocity, t.velocity) < SOLVED
    half = T(t.J_bar) @ robot.coriolis_matrix(q, qd) - t.M @ t.J_dot
    assert error(times(t.C, t.velocity) + times(half, times(t.N, qd)), t.c) < SOLVED
    gap = error(times(t.C, t.velocity), t.c)
    assert gap < SOLVED if len(t.rows) == robot.n else gap > 1e-3


def test_consistent_inverse(setting):
    robot, _, q, qd, t = setting
    m, n, M = len(t.rows), robot.n, robot.mass_matrix(q)
    assert error(t.J @ t.J_bar, np.broadcast_to(np.eye(m), (4, m, m))) < SOLVED
    assert error(t.N @ t.N, t.N, 1.0) < SOLVED and np.abs(t.J @ t.N).max() < SOLVED * np.abs(t.J).max()
    assert np.allclose(np.trace(t.N, axis1=-2, axis2=-1), n - m)
    assert np.array_equal(t.N_torque, T(t.N))
    # null torques do not accelerate the task, and null motion carries no momentum of it: J M⁻¹ Nᵀ = 0, J̄ᵀ M N = 0
    silent = t.J @ np.linalg.solve(M, t.N_torque)
    assert np.abs(silent).max() < SOLVED * np.abs(t.J @ np.linalg.inv(M)).max()
    # of all q̇ with this ẋ, J̄ ẋ moves with the least energy, ½ ẋᵀ M_C ẋ
    least = robot.kinetic_energy(q, times(t.J_bar, t.velocity))
    assert error(0.5 * np.einsum("si,sij,sj->s", t.velocity, t.M, t.velocity), least) < SOLVED
    assert (robot.kinetic_energy(q, qd) >= least * (1 - SOLVED)).all()
    if n > m:
        assert (robot.kinetic_energy(q, qd) > least * 1.0001).all()
        other = np.linalg.pinv(t.J)  # the least norm is not the least energy
        assert (robot.kinetic_energy(q, times(other, t.velocity)) > least).all()


@pytest.mark.parametrize("name", ("planar 3R, two rows", "SCARA", "UR5e, zyz", "tree of 6, rows of one's own"))
def test_regressor(name):
    robot, options = case(name)
    q = regular_states(robot, options)
    qd, qdd = np.random.default_rng(1).normal(size=(2, *q.shape))
    t = robot.task_space(q, qd, **options)
    Y = robot.task_regressor(q, qd, qdd, rotor=True, **options)
    xdd = times(t.J, qdd) + times(t.J_dot, qd)
    assert error(Y @ robot.parameters(rotor=True), t.force(xdd)) < SOLVED
    assert error(Y, T(t.J_bar) @ robot.regressor(q, qd, qdd, rotor=True)) < SOLVED


def test_square_regressor_serves_other_parameters():
    """J⁻ᵀ Y is free of the parameters: with π of the loaded arm it gives the loaded arm's force."""
    robot = arm("scara")
    loaded = robot.with_payload(3.0, (0.02, -0.05, 0.1), np.diag([0.01, 0.02, 0.015]))
    q, qd, qdd = np.array([0.3, -1.2, 0.1, 0.4]), np.full(4, 0.4), np.linspace(-1, 1, 4)
    t = loaded.task_space(q, qd)
    F = t.force(t.J @ qdd + t.J_dot @ qd)
    assert error(robot.task_regressor(q, qd, qdd) @ loaded.parameters(), F) < SOLVED
    assert error(robot.task_regressor(q, qd, qdd) @ robot.parameters(), F) > 0.1
    with_friction = robot.task_regressor(q, qd, qdd, friction=True)
    assert with_friction.shape == (4, 40 + 8)


# ------------------------------------------------------------------------------------------- coordinates
def test_other_rows_are_other_coordinates():
    """ẋ' = T ẋ: forces and masses follow by congruence, M' = T⁻ᵀ M T⁻¹, whatever the rows."""
    robot, q = arm("panda"), np.array([0.1, 0.4, 0.2, -1.8, 0.3, 1.9, 0.5])
    qd = np.linspace(-1, 1, 7)
    t = robot.task_space(q, qd)
    S = np.random.default_rng(0).normal(size=(6, 6))
    back = np.linalg.inv(S)
    mixed = robot.task_space(q, qd, rows=S)
    assert error(mixed.M, back.T @ t.M @ back) < SOLVED and error(mixed.g, back.T @ t.g) < SOLVED
    assert error(mixed.c, back.T @ t.c) < SOLVED and error(mixed.J_bar, t.J_bar @ back) < SOLVED
    assert error(mixed.C, back.T @ t.C @ back) < SOLVED and error(mixed.N, t.N, 1.0) < SOLVED
    weights = np.array([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
    weighed = robot.task_space(q, qd, rows=weights)
    assert error(weighed.M, t.M / np.outer(weights, weights)) < SOLVED


@pytest.mark.parametrize("angles", ("rpy", *EULER_SEQUENCES))
def test_rate_of_the_analytic_jacobian(angles):
    """J̇_a of every sequence, on plain floats: B⁻¹ (J̇_ω − Ḃ J_α) is the derivative."""
    robot, q, qd = arm("ur5e"), np.array([0.3, -1.2, 1.4, 0.2, 1.1, 0.4]), np.array([0.5, -0.4, 0.3, 0.8, -0.2, 0.6])
    frame = robot.model.frame(None)
    J_dot = analytic_jacobian_dot(robot.model, q.tolist(), qd.tolist(), frame, angles)
    numeric = along(lambda x: np.array(analytic_jacobian(robot.model, x.tolist(), frame, angles)), q, qd)
    assert error(J_dot, numeric) < DIFFERENCE


@pytest.mark.parametrize("angles", ("zyz", "rpy"))
def test_analytic_is_geometric_in_other_coordinates(angles):
    """(v, ω) = E(α) (ẋ, α̇), E = diag(I, B): M_a = Eᵀ M E, g_a = Eᵀ g, c_a = Eᵀ (c + M Ė ẋ_a)."""
    robot, q, qd = arm("ur5e"), np.array([0.3, -1.2, 1.4, 0.2, 1.1, 0.4]), np.array([0.5, -0.4, 0.3, 0.8, -0.2, 0.6])

    def E(x):
        J, J_a = robot.jacobian(x), robot.analytic_jacobian(x, angles=angles)
        return J @ np.linalg.inv(J_a)

    t, a = robot.task_space(q, qd), robot.task_space(q, qd, jacobian=angles)
    E_0, E_dot = E(q), along(E, q, qd)
    assert error(a.M, E_0.T @ t.M @ E_0) < SOLVED and error(a.g, E_0.T @ t.g) < SOLVED
    assert error(a.c, E_0.T @ (t.c + t.M @ E_dot @ a.velocity)) < DIFFERENCE
    assert error(a.velocity[:3], t.velocity[:3]) < ROUNDING
    turns = ("roll", "pitch", "yaw") if angles == "rpy" else ("alpha1", "alpha2", "alpha3")
    assert a.rows == ("vx", "vy", "vz", *turns) and ", ".join(turns) in repr(a)


def test_positions_need_no_angles():
    """Of positions alone both Jacobians are the same: the angles of a planar arm, always singular, do not matter."""
    robot, q, qd = arm("planar-2r"), [0.3, 0.9], [1.0, -0.5]
    t, a = robot.task_space(q, qd), robot.task_space(q, qd, jacobian="zyz")
    assert np.array_equal(t.C, a.C) and a.rows == ("vx", "vy")


def test_effective_mass_is_the_same():
    for name, rows in (("planar-3r", ("vx", "vy")), ("scara", "vy"), ("panda", "pose")):
        robot = arm(name)
        q = states(robot, 6)
        felt = robot.effective_mass(q, rows=rows)
        t = robot.task_space(q, rows=rows)
        assert error(t.M, felt.matrix) < SOLVED * 100 and error(t.mobility, felt.mobility) < SOLVED


# ------------------------------------------------------------------------------------------ closed forms
def closed_form_2r(q, qd):
    """Point masses at the ends of two rods of 1 m ([Fakhari 3]): with e = (cos θ₁₂, sin θ₁₂) along the second rod,
    K = ½ m₂ |ẋ|² + ½ m₁ θ̇₁² and θ̇₁ = e·ẋ / sin θ₂, so M_C = m₂ I + m₁ e eᵀ / sin² θ₂."""
    th12 = q[..., 0] + q[..., 1]
    e = np.stack([np.cos(th12), np.sin(th12)], -1)
    s2 = np.sin(q[..., 1])
    return np.eye(2) + e[..., :, None] * e[..., None, :] / s2[..., None, None] ** 2


def test_2r_of_the_seed():
    robot = arm("planar-2r-points").with_gravity((0, 0, 0))
    q = np.random.default_rng(0).uniform(0.4, 2.6, (20, 2)) * [1, -1]
    assert error(robot.task_space(q).M, closed_form_2r(q, 0 * q)) < SOLVED
    # the notes' own state, tip moving up the channel with 1 m/s: q̇ = (1, 0)
    q, qd = np.array([-np.pi / 3, 2 * np.pi / 3]), np.array([1.0, 0.0])
    t = robot.task_space(q, qd)
    r = np.sqrt(3)
    assert np.allclose(t.velocity, [0, 1]) and np.allclose(t.J, [[0, -r / 2], [1, 0.5]])
    assert np.allclose(t.J_dot, [[-1, -0.5], [0, -r / 2]])
    assert np.allclose(t.M, [[4 / 3, 1 / r], [1 / r, 2]])
    # c_C: without torque the joints accelerate by M⁻¹(−h), M = [2 ½; ½ 1], h = (0, r/2), and ẍ = J θ̈ + J̇ θ̇
    theta_dd = np.linalg.solve([[2, 0.5], [0.5, 1]], [0, -r / 2])
    assert np.allclose(-np.linalg.solve(t.M, t.c), t.J @ theta_dd + [-1, 0])
    assert np.allclose(t.acceleration([0, 0]), t.J @ theta_dd + [-1, 0]) and np.allclose(t.g, 0)
    hung = arm("planar-2r-points").task_space(q)
    # holding: τ = g, and J⁻ᵀ g with g₂ = m₂ g cos θ₁₂, g₁ = (m₁ + m₂) g cos θ₁ + g₂
    g2 = 9.81 * np.cos(np.pi / 3)
    g1 = 2 * 9.81 * np.cos(np.pi / 3) + g2
    assert np.allclose(hung.g, np.linalg.solve(t.J.T, [g1, g2]))


def test_mass_depends_on_the_joints_not_on_the_pose():
    """[Fakhari 3]'s note: two IK branches of one pose have two M_C."""
    for name, q in (("planar-2r", [0.2, 0.9]), ("scara", [0.3, -1.2, 0.1, 0.4])):
        robot = arm(name)
        pose = robot.fk(q)
        if name == "planar-2r":  # any orientation will do
            branches = np.array([q, [1.1, -0.9]])
            assert np.allclose(robot.fk(branches)[:, :2, 3], pose[:2, 3])
        else:
            found = robot.ik_all(pose, limits=False)
            branches = found.q[found.found]
            assert len(branches) == 2 and np.allclose(robot.fk(branches), pose, atol=1e-9)
        M = robot.task_space(branches).M
        assert error(M[0], M[1]) > 0.1


# -------------------------------------------------------------------------------------------- singular states
def test_near_a_singularity():
    """Up to the tolerance the answer is good: the error is that of J's condition, not of its square."""
    robot = arm("planar-2r-points")
    for theta2, allowed in ((1e-2, 1e-12), (1e-4, 1e-10), (1e-5, 1e-8)):
        q = np.array([0.7, theta2])
        assert error(robot.task_space(q).M, closed_form_2r(q, q)) < allowed
    with pytest.raises(dl.SingularityError):
        robot.task_space([0.7, 1e-7])


def test_refusals():
    planar = arm("planar-2r")
    q = np.array([[0.3, 0.5], [0.1, 1.0], [0.4, 0.0], [0.2, 2.0]])
    with pytest.raises(dl.SingularityError) as caught:
        planar.task_space(q)
    text = str(caught.value)
    assert "task of 2 rows is singular in state (2,)" in text and "damping=" in text and "fewer or other rows" in text
    assert "smallest singular value of its Jacobian, free of units, is" in text
    with pytest.raises(dl.SingularityError, match=r"in state \(1, 0\)"):
        planar.task_space(q.reshape(2, 2, 2), np.zeros((2, 2, 2)))
    with pytest.raises(dl.SingularityError, match=r"singular: the smallest"):
        planar.task_space([0.0, 0.0])
    with pytest.raises(dl.SingularityError, match=r"in state \(2,\)"):
        planar.task_regressor(q, q, q)
    with pytest.raises(dl.SingularityError, match="3 rows is singular in every state: 'planar-2r' has 2 joints"):
        planar.task_space([0.3, 0.5], rows="planar")
    with pytest.raises(dl.SingularityError, match="7 rows is singular in every state: a twist has six"):
        arm("panda").task_space(np.zeros(7), rows=np.ones((7, 6)))
    with pytest.raises(dl.SingularityError, match="in every state: some of its rows never move"):
        arm("planar-3r").task_space([0.3, 0.5, 0.1], rows=("vx", "vz"))
    with pytest.raises(dl.SingularityError, match=r"in every state: its rows \(V·.*\) never move all at once"):
        arm("planar-3r").task_space([0.3, 0.5, 0.1], rows=[[1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]])
    with pytest.raises(dl.SingularityError, match="'zyz' angles of frame .* singular in every state"):
        arm("scara").task_space(states(arm("scara"), 1)[0], jacobian="zyz")
    wrist = np.array([0.3, -1.2, 1.4, 0.2, 1.1, 0.4])
    level = arm("ur5e").ik(dl.pose(xyz=(0.4, 0.2, 0.3))).q  # z up: the middle angle of zyz is zero
    with pytest.raises(dl.SingularityError, match=r"angles of frame .* are singular in state \(1,\)"):
        arm("ur5e").task_space([wrist, level], jacobian="zyz")
    assert arm("ur5e").task_space([wrist, level], jacobian="xyz").M.shape == (2, 6, 6)


def test_arm_without_mass():
    link = dl.describe.Inertial(0.0, (0.0,) * 6)
    empty = dl.Robot.from_dh([{"a": 1.0, "inertial": link}, {"a": 1.0, "inertial": link}])
    with pytest.raises(dl.SingularityError, match="mass matrix is singular"):
        empty.task_space([0.3, 0.5])


def test_damped_form():
    """(J M⁻¹ Jᵀ + λ² I)⁻¹: bounded by 1/λ², the undamped one as λ → 0; what is lost is told exactly."""
    robot = arm("scara")
    rng = np.random.default_rng(2)
    q, qd = np.array([[0.3, -0.8, 0.1, 0.5], [0.3, 0.0, 0.1, 0.5]]), rng.normal(size=(2, 4))
    with pytest.raises(dl.SingularityError, match=r"in state \(1,\)"):
        robot.task_space(q, qd)
    lam = np.array([0.3, 0.1])
    t = robot.task_space(q, qd, damping=lam)
    J, M = robot.jacobian(q)[:, [0, 1, 2, 5]], robot.mass_matrix(q)
    A = J @ np.linalg.solve(M, T(J))
    I = np.eye(4)
    assert error(t.M, np.linalg.inv(A + lam[:, None, None] ** 2 * I)) < SOLVED and error(t.mobility, A) < SOLVED
    assert (np.linalg.eigvalsh(t.M)[:, -1] <= 1 / lam**2 * (1 + 1e-9)).all()
    assert error(t.J @ t.J_bar, I - lam[:, None, None] ** 2 * t.M) < SOLVED
    # F = J̄ᵀτ still obeys the equation, and Ṁ − 2C is still skew
    tau = rng.normal(size=(2, 4)) * 10
    qdd = robot.forward_dynamics(q, qd, tau)
    xdd = times(t.J, qdd) + times(t.J_dot, qd)
    assert error(t.force(xdd), t.force_of(tau)) < SOLVED
    S = along(lambda x: robot.task_space(x, damping=lam).M, q, qd) - 2 * t.C
    assert np.abs(S + T(S)).max() < 10 * DIFFERENCE * np.abs(S).max()
    # torques Jᵀ F miss by λ² F, and `acceleration` tells what happens
    wanted = rng.normal(size=(2, 4))
    F = t.force(wanted)
    qdd = robot.forward_dynamics(q, qd, t.torque(F))
    happens = times(t.J, qdd) + times(t.J_dot, qd)
    assert error(t.acceleration(F), happens) < SOLVED
    assert error(happens, wanted - lam[:, None] ** 2 * F) < SOLVED
    plain, weak = robot.task_space(q[0], qd[0]), robot.task_space(q[0], qd[0], damping=1e-9)
    assert error(weak.M, plain.M) < 1e-9 and error(weak.c, plain.c) < 1e-9
    assert "damped" in repr(t) and "damped" not in repr(plain)
    # more rows than joints: only damped
    assert arm("planar-2r").task_space([0.0, 0.0], rows="pose", damping=0.5).M.shape == (6, 6)
    Y = robot.task_regressor(q, qd, qdd, damping=lam, rotor=True)
    assert error(Y @ robot.parameters(rotor=True), t.force_of(t.torque(F))) < SOLVED


# ------------------------------------------------------------------------------------------------ input
def test_nan_stays_where_it_is():
    robot = arm("ur5e")
    q = np.tile([0.3, -1.2, 1.4, 0.2, 1.1, 0.4], (3, 1))
    bad = q.copy()
    bad[1, 2] = np.nan
    with np.errstate(all="raise"):  # nothing is said of it either
        t, fine = robot.task_space(bad, q), robot.task_space(q, q)
        Y = robot.task_regressor(bad, q, q)
    assert np.isnan(t.M[1]).all() and np.isnan(Y[1]).any()
    for k in (0, 2):
        assert np.array_equal(t.M[k], fine.M[k]) and np.array_equal(t.C[k], fine.C[k])
    rates = robot.task_space(q, np.where(np.arange(3)[:, None] == 1, np.nan, q))
    assert np.isfinite(rates.M).all() and np.isnan(rates.c[1]).any() and np.isfinite(rates.c[[0, 2]]).all()


def test_nan_that_the_jacobian_does_not_see():
    """The spatial Jacobian of a chain does not depend on its last joint; M does."""
    robot, options = case("chain of 5, spatial position")
    q = regular_states(robot, options)
    q[1, -1], q[2, -1] = np.nan, 1e12  # no number, and beyond what sine and cosine are defined for
    t = robot.task_space(q, **options)
    assert np.isfinite(t.J).all() and np.isnan(t.M[1]).any() and np.isnan(t.M[2]).any()
    assert np.isfinite(t.M[[0, 3]]).all()


def test_batches():
    robot = arm("panda")
    q, qd = states(robot, 6).reshape(2, 3, 7), np.linspace(-1, 1, 7)
    t = robot.task_space(q, qd)
    assert t.M.shape == (2, 3, 6, 6) and t.N.shape == (2, 3, 7, 7) and t.J_bar.shape == (2, 3, 7, 6)
    one = robot.task_space(q[1, 2], qd)
    for name in ("M", "C", "c", "g", "J", "J_dot", "J_bar", "N", "mobility", "velocity"):
        assert np.array_equal(getattr(t, name)[1, 2], getattr(one, name)), name  # bit for bit
    assert t.force(np.ones(6)).shape == (2, 3, 6) and t.torque(np.ones((3, 6)), np.ones(7)).shape == (2, 3, 7)
    rest = robot.task_space(q)
    assert not rest.c.any() and not rest.C.any() and np.array_equal(rest.M, t.M)
    assert robot.task_space(np.zeros((0, 7))).M.shape == (0, 6, 6)
    single = robot.task_space(q.astype(np.float32))
    assert single.M.dtype == np.float64 and error(single.M, t.M) < 1e-4


def test_the_scalars_agree():
    robot, q, qd = arm("ur5e"), [0.3, -1.2, 1.4, 0.2, 1.1, 0.4], [0.5, -0.4, 0.3, 0.8, -0.2, 0.6]
    for options in ({}, {"jacobian": "zyz", "rows": (0, 1, 5)}):
        kernel = robot.kernel("task_space", **options)
        row = kernels.ROWS["task_space"]
        floats = row.trace(robot.model, {"q": q, "qd": qd}, kernels.TABLE.read_options("task_space", options))
        for compiled, interpreted, plain in zip(kernel(q, qd), kernel.interpret(q, qd), floats, strict=True):
            assert np.array_equal(compiled, interpreted)
            assert error(compiled, plain, 1.0) < SOLVED


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda r, q: r.task_space(q[:5]), r"q has shape \(5,\); its last dimension must be 6"),
        (lambda r, q: r.task_space(q, q[:2]), r"qd has shape \(2,\)"),
        (lambda r, q: r.task_space([q, q], [q, q, q]), "do not broadcast: q"),
        (lambda r, q: r.task_space(q, damping=0.0), "damping must be a number λ > 0"),
        (lambda r, q: r.task_space(q, damping=-1), "damping must be a number λ > 0"),
        (lambda r, q: r.task_space(q, damping=np.nan), "damping is nan; it must be a finite number"),
        (lambda r, q: r.task_space(q, damping="much"), "damping must be a rectangular array of real numbers"),
        (lambda r, q: r.task_space(q, jacobian="zyz", expressed_in="local"), "it is not 'local'"),
        (lambda r, q: r.task_space(q, rows=[1, 2]), r"rows of shape \(2,\) mean nothing"),
        (lambda r, q: r.task_regressor(q, q, q, friction=1), "friction is a switch"),
        (lambda r, q: r.task_regressor(q, q, q[:3]), r"qdd has shape \(3,\)"),
        (lambda r, q: r.task_space(q).force([1, 2]), r"acceleration has shape \(2,\); .* must be 6 \(vx"),
        (lambda r, q: r.task_space(q).force(np.ones(6), 1.0), r"F_tip has shape \(\)"),
        (lambda r, q: r.task_space(q).torque(["a"] * 6), "F must be a rectangular array of real numbers"),
        (lambda r, q: r.task_space(q).torque(np.ones(6), np.ones(7)), r"null has shape \(7,\); .* 6 \(one per joint\)"),
        (lambda r, q: r.task_space([q, q]).force(np.ones((3, 6))), r"acceleration \(3,\), states \(2,\)"),
        (lambda r, q: r.task_space([q, q]).force(np.ones(6), np.ones((3, 6))), r"F_tip \(3,\), states \(2,\)"),
        (lambda r, q: r.kernel("task_space", rows=(0, 7)), "the rows of a kernel are places"),
        (lambda r, q: r.kernel("task_space", rows=3), "the rows of a kernel are places"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(dl.InputError, match=message):
        call(arm("ur5e"), np.array([0.3, -1.2, 1.4, 0.2, 1.1, 0.4]))


def test_unknown_names_and_nothing_that_moves():
    robot, q = arm("ur5e"), np.zeros(6)
    for options, text in (
        (dict(jacobian="zyzz"), "unknown jacobian 'zyzz'; did you mean 'zyz'"),
        (dict(expressed_in="wrld"), "unknown expressed_in 'wrld'; did you mean 'world'"),
        (dict(frame="tol0"), "unknown frame 'tol0'"),
        (dict(rows="psition"), "unknown rows 'psition'"),
    ):
        with pytest.raises(dl.UnknownNameError, match=text):
            robot.task_space(q, **options)
    with pytest.raises(dl.InputError, match="has no joints"):
        motionless().task_space([])
    with pytest.raises(dl.InputError, match="does not move"):
        robot.task_space(q, frame=robot.frames[0])
