"""Numbers that others printed: the Puma 560's, and the planar arms of every seed."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from tolerances import PRINTED, ROUNDING, error

QN = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
ONES = np.ones(6)
STEPS = np.array([1.0, 2, 3, 1, 2, 3])


# ------------------------------------------------------------------ Puma 560, Corke & Armstrong-Helouvry 1994
@pytest.fixture(scope="module")
def puma() -> dl.Robot:
    return dl.load("puma560")


def near(actual, printed, digits: float = PRINTED) -> None:
    assert np.abs(np.asarray(actual) - np.asarray(printed)).max() < digits


def test_puma_mass_matrix(puma):
    M = puma.mass_matrix(QN)
    near(np.diag(M), [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941])
    for (i, j), value in {
        (1, 2): -0.4044,
        (1, 3): 0.1006,
        (1, 4): -0.0025,
        (2, 3): 0.3509,
        (2, 5): 0.0024,
        (3, 5): 0.0015,
    }.items():
        near(M[i - 1, j - 1], value)


def test_puma_coriolis_matrix(puma):
    near(
        puma.coriolis_matrix(QN, STEPS),
        [
            [-0.1735, -2.0494, -0.1178, -0.0002, -0.0045, 0.0001],
            [0.6274, 1.1572, 1.9287, -0.0015, -0.0003, 0],
            [-0.3608, -0.7734, -0.0018, -0.0009, -0.0064, 0],
            [0.0011, 0.0005, -0.0001, 0.0002, 0.0002, -0.0001],
            [-0.0002, 0.0028, 0.0046, -0.0002, 0, 0],
            [0.0001, 0, 0, 0, 0, 0],
        ],
    )


def test_puma_gravity(puma):
    near(puma.gravity_torque(QN), [0, 31.6399, 6.0351, 0, 0.0283, 0])


@pytest.mark.parametrize(
    ("qd", "qdd", "gravity", "printed"),
    [
        (0, 1, True, [3.35311, 36.0025, 7.42596, 0.190043, 0.203441, 0.194133]),
        (1, 1, True, [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]),
        (1, 0, True, [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648]),
        (1, 1, False, [32.4952, 29.2271, 11.7085, 1.45452, 1.27086, 0.713781]),
    ],
)
def test_puma_torques_with_friction(puma, qd, qdd, gravity, printed):
    arm = puma if gravity else puma.with_gravity((0, 0, 0))
    tau = arm.inverse_dynamics(QN, qd * ONES, qdd * ONES, friction=True)
    assert np.abs(tau / np.array(printed) - 1).max() < 1e-5  # six digits are printed


def test_puma_torques_under_a_wrench(puma):
    """The published sign: fext is what the tip applies, in the tip's axes: on the robot acts its negative."""
    F = -np.kron(np.eye(2), puma.fk(QN)[:3, :3]) @ STEPS
    tau = puma.inverse_dynamics(QN, 0 * ONES, 0 * ONES, wrenches={puma.tip: F})
    near(tau, [0.642756, 29.0866, 4.70321, 2.82843, -1.97175, 3])


def test_puma_inertial_torque_and_acceleration(puma):
    near(puma.mass_matrix(QN) @ STEPS, [3.15, 9.4805, 3.6189, 0.1901, 0.3519, 0.5823])
    qd, tau = [0.1, 0.2, 0.8, 0.2, 0.5, 1], [1, 3.2, 1.8, 0.1, 0.7, 4.6]
    near(puma.forward_dynamics(QN, qd, tau, friction=True), [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228])


def test_puma_operational_inertia(puma):
    J, M = puma.jacobian(QN), puma.mass_matrix(QN)
    Lambda = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    near(np.diag(Lambda), [17.2954, 12.1909, 13.3348, 0.1941, 0.1713, 0.5791])


# -------------------------------------------------------------------------------- planar 2R, [Poonawala] to [Fakhari 2]
L1, L2, LC1, LC2, M1, M2, I1, I2, G = 0.9, 0.7, 0.4, 0.3, 2.0, 1.5, 0.12, 0.08, 9.81


def two_links(point_masses: bool = False) -> dl.Robot:
    """By the notes' own DH table, center of mass measured from the joint."""
    from dalembert.describe.description import Inertial, Origin

    rows = []
    for l, lc, m, inertia in ((L1, LC1, M1, I1), (L2, LC2, M2, I2)):
        lc, inertia = (l, 0.0) if point_masses else (lc, inertia)
        six = (inertia / 2, 0.0, 0.0, inertia, 0.0, inertia)
        rows.append(dict(a=l, inertial=Inertial(m, six, Origin((lc - l, 0.0, 0.0)))))
    return dl.Robot.from_dh(rows, gravity=(0.0, -G, 0.0))


@pytest.fixture(params=range(3))
def state(request):
    return np.random.default_rng(request.param).uniform(-np.pi, np.pi, (3, 2))


def test_2r_forward_kinematics(state):
    q = state[0]
    c1, s1, c12, s12 = np.cos(q[0]), np.sin(q[0]), np.cos(q.sum()), np.sin(q.sum())
    T = [[c12, -s12, 0, L1 * c1 + L2 * c12], [s12, c12, 0, L1 * s1 + L2 * s12], [0, 0, 1, 0], [0, 0, 0, 1]]
    arm = two_links()
    assert error(arm.fk(q), T) < ROUNDING
    A1 = [[c1, -s1, 0, L1 * c1], [s1, c1, 0, L1 * s1], [0, 0, 1, 0], [0, 0, 0, 1]]
    # link 2's frame stands on joint 2's axis, turned with link 2: DH frame 1 times Rz(q2)
    T2 = arm.transform(q, "base", "link2")
    assert error(T2[:3, 3], np.array(A1)[:3, 3]) < ROUNDING


def test_2r_jacobian(state):
    q = state[0]
    c1, s1, c12, s12 = np.cos(q[0]), np.sin(q[0]), np.cos(q.sum()), np.sin(q.sum())
    arm = two_links()
    J = [[-L1 * s1 - L2 * s12, -L2 * s12], [L1 * c1 + L2 * c12, L2 * c12], [0, 0], [0, 0], [0, 0], [1, 1]]
    assert error(arm.jacobian(q), J) < ROUNDING
    assert np.linalg.det(arm.jacobian(q)[:2]) == pytest.approx(L1 * L2 * np.sin(q[1]), abs=1e-12)
    first = [[-LC1 * s1, 0], [LC1 * c1, 0], [0, 0], [0, 0], [0, 0], [1, 0]]
    second = [[-L1 * s1 - LC2 * s12, -LC2 * s12], [L1 * c1 + LC2 * c12, LC2 * c12], [0, 0], [0, 0], [0, 0], [1, 1]]
    assert error(arm.com_jacobian(q, "link1"), first) < ROUNDING
    assert error(arm.com_jacobian(q, "link2"), second) < ROUNDING


def test_2r_dynamics(state):
    """D, c_ijk, C and G of [Poonawala], [Lagrange notes] and [Lee], as the mathematics has them, misprints apart."""
    q, qd, _ = state
    arm = two_links()
    c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q.sum())
    d11 = M1 * LC1**2 + M2 * (L1**2 + LC2**2 + 2 * L1 * LC2 * c2) + I1 + I2
    d12 = M2 * (LC2**2 + L1 * LC2 * c2) + I2
    d22 = M2 * LC2**2 + I2
    assert error(arm.mass_matrix(q), [[d11, d12], [d12, d22]]) < ROUNDING
    h = -M2 * L1 * LC2 * s2
    gamma = np.zeros((2, 2, 2))
    gamma[0, 1, 0] = gamma[1, 0, 0] = gamma[1, 1, 0] = h
    gamma[0, 0, 1] = -h
    assert error(arm.christoffel(q), gamma, 1.0) < ROUNDING
    C = [[h * qd[1], h * qd.sum()], [-h * qd[0], 0]]
    assert error(arm.coriolis_matrix(q, qd), C, 1.0) < ROUNDING
    g = [(M1 * LC1 + M2 * L1) * G * c1 + M2 * LC2 * G * c12, M2 * G * LC2 * c12]
    assert error(arm.gravity_torque(q), g, 1.0) < ROUNDING
    P = M1 * G * LC1 * np.sin(q[0]) + M2 * G * (L1 * np.sin(q[0]) + LC2 * np.sin(q.sum()))
    assert arm.potential_energy(q) == pytest.approx(P, abs=1e-12)


def test_2r_point_masses(state):
    """[Fakhari 2]'s example: c, the three choices of C, Γ and g."""
    q, qd, _ = state
    arm = two_links(point_masses=True)
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    m12 = M2 * (L1 * L2 * c2 + L2**2)
    M = [[M1 * L1**2 + M2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), m12], [m12, M2 * L2**2]]
    assert error(arm.mass_matrix(q), M) < ROUNDING
    k = M2 * L1 * L2 * s2
    assert error(arm.coriolis_torque(q, qd), [-k * (2 * qd[0] * qd[1] + qd[1] ** 2), k * qd[0] ** 2], 1) < ROUNDING
    a, b = qd
    for choice, C in {
        "christoffel": [[-b * k, -(a + b) * k], [a * k, 0]],
        "kronecker": [[-b * k, -(a + b) * k], [a * k, 0]],
        "mdot-u/2": [[-2 * b * k, -b * k], [(a - b / 2) * k, a * k / 2]],
        "ut-u/2": [[0, -(2 * a + b) * k], [(a + b / 2) * k, -a * k / 2]],  # the notes print the last with a plus
    }.items():
        assert error(arm.coriolis_matrix(q, qd, choice), C, 1.0) < ROUNDING, choice
    g2 = M2 * G * L2 * np.cos(q.sum())
    assert error(arm.gravity_torque(q), [(M1 + M2) * L1 * G * np.cos(q[0]) + g2, g2], 1.0) < ROUNDING


def test_2r_bundled_figures():
    """The bundled arms are the same arm with l = m = 1: uniform rods, or point masses at the ends."""
    rods, points = dl.load("planar-2r"), dl.load("planar-2r-points")
    assert error(rods.mass_matrix([0, 0]), [[8 / 3, 5 / 6], [5 / 6, 1 / 3]]) < ROUNDING
    assert error(points.mass_matrix([0, np.pi / 2]), [[3, 1], [1, 1]]) < ROUNDING
    assert error(points.gravity_torque([0, 0]), [3 * 9.81, 9.81]) < ROUNDING


def test_constrained_example_of_seed_001():
    """M and h of the channel example at (−π/3, 2π/3), q̇ = (1, 0), without gravity."""
    arm = dl.load("planar-2r-points").with_gravity((0, 0, 0))
    q, qd = [-np.pi / 3, 2 * np.pi / 3], [1, 0]
    assert error(arm.mass_matrix(q), [[2, 0.5], [0.5, 1]]) < ROUNDING
    assert error(arm.bias_torque(q, qd), [0, np.sqrt(3) / 2]) < ROUNDING
    assert error(arm.jacobian(q)[:2], [[0, -np.sqrt(3) / 2], [1, 0.5]]) < ROUNDING
    assert error(arm.jacobian_dot(q, qd)[0], [-1, -0.5]) < ROUNDING


def test_cartesian_manipulator():
    """[Lagrange notes]: M = diag(m1 + m2, m2), P = g (m1 + m2) q1 + const, no Coriolis terms."""
    arm = dl.load("cartesian-pp")
    q, qd = [0.3, 0.4], [1.0, -2.0]
    assert error(arm.mass_matrix(q), [[3, 0], [0, 1]]) < ROUNDING
    assert error(arm.gravity_torque(q), [3 * 9.81, 0]) < ROUNDING
    assert not arm.coriolis_matrix(q, qd).any()
    rise = arm.potential_energy([1.3, 0.4]) - arm.potential_energy([0.3, 0.4])
    assert rise == pytest.approx(3 * 9.81)
    assert error(arm.com_jacobian(q, "link1"), [[0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 0]]) < ROUNDING
    assert error(arm.com_jacobian(q, "link2"), [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0], [0, 0]]) < ROUNDING


def test_elbow_determinant():
    """[Poonawala] eq. 15, up to the sign that the choice of frames gives: a2 a3 s3 (a2 c2 + a3 c23)."""
    arm = dl.load("elbow-3r")
    table = arm.to_dh("standard")
    a2, a3 = (abs(row.a) for row in table.rows[1:])
    q = np.random.default_rng(0).uniform(-3, 3, (20, 3))
    det = np.linalg.det(arm.jacobian(q)[:, :3])
    wanted = a2 * a3 * np.sin(q[:, 2]) * (a2 * np.cos(q[:, 1]) + a3 * np.cos(q[:, 1] + q[:, 2]))
    assert error(np.abs(det), np.abs(wanted)) < ROUNDING
