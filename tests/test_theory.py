"""The textbook's formulas, written here a second time with NumPy, against what the library computes.

Laws that hold for every mechanism are in test_laws.py and printed numbers in test_published.py; this file has
the derivations of docs/theory that neither covers. docs/theory/coverage.md says which row each test proves.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.algorithms import composite
from dalembert.describe import mass
from dalembert.describe.chain import spatial_inertia
from dalembert.describe.urdf_read import read_urdf
from dalembert.spatial import Inertia, Pose, rotation
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error
from trees import random_tree

H = 1e-6  # step of central differences


def rot(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    R = {
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }[axis]
    return np.array(R, float)


def homogeneous(R=None, p=(0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def S(w) -> np.ndarray:
    """S(ω) with S(ω) r = ω × r."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def ad(V) -> np.ndarray:
    """[ad_V] for twists (v, ω)."""
    return np.block([[S(V[3:]), S(V[:3])], [np.zeros((3, 3)), S(V[3:])]])


def rate(f, q, qd) -> np.ndarray:
    """d/dt f(q) along q̇."""
    return (np.asarray(f(q + H * qd)) - np.asarray(f(q - H * qd))) / (2 * H)


def random_state(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (3, n))


@cache
def tree() -> dl.Robot:
    """A tree of seven joints of both kinds with oblique axes."""
    return dl.Robot(random_tree(seed=3, joints=7))


@cache
def chain() -> dl.Robot:
    return dl.Robot(random_tree(seed=12, joints=6, chain=True, fixed=False))


# --------------------------------------------------------------------------------- chains, [Poonawala] §1 and §2
ROWS = (  # modified DH: α and a before the joint, then θ and d; the third joint slides
    dict(alpha=0.0, a=0.0, d=0.4),
    dict(alpha=-np.pi / 2, a=0.1, d=0.2, offset=0.3),
    dict(alpha=0.7, a=0.2, theta=0.5, d=0.1, kind="prismatic"),
    dict(alpha=-1.1, a=-0.3, d=0.05),
)


def A(i: int, q: np.ndarray) -> np.ndarray:
    """A_i(q_i), i from 1: link i in link i − 1."""
    row = ROWS[i - 1]
    slide = row.get("kind") == "prismatic"
    theta = row.get("theta", 0.0) + (0.0 if slide else q[i - 1] + row.get("offset", 0.0))
    d = row["d"] + (q[i - 1] if slide else 0.0)
    x = homogeneous(rot("x", row["alpha"])) @ homogeneous(p=(row["a"], 0, 0))
    return x @ homogeneous(rot("z", theta)) @ homogeneous(p=(0, 0, d))


def test_transforms_along_a_chain():
    """T_j^i = A_{i+1} ⋯ A_j for i < j, 1 for i = j, (T_i^j)⁻¹ for i > j."""
    arm = dl.Robot.from_dh(ROWS, "modified")
    q = random_state(arm.n)[0]
    name = ("base", "link1", "link2", "link3", "link4")
    for i in range(5):
        for j in range(5):
            T = np.eye(4)
            for k in range(min(i, j) + 1, max(i, j) + 1):
                T = T @ A(k, q)
            wanted = T if i <= j else np.linalg.inv(T)
            assert error(arm.transform(q, name[i], name[j]), wanted, 1.0) < ROUNDING, (i, j)


def test_transform_knows_only_the_joints_between():
    """Joints that carry both frames do not enter T_j^i: not even a NaN there."""
    arm = dl.Robot.from_dh(ROWS, "modified")
    q = random_state(arm.n)[0]
    wanted = arm.transform(q, "link2", "link4")
    q[:2] = np.nan
    assert np.array_equal(arm.transform(q, "link2", "link4"), wanted)


def test_a_closed_chain_is_refused_and_a_branched_one_is_not():
    from dalembert.describe.check import check
    from dalembert.describe.description import Description, Joint, Link

    links = tuple(Link(name) for name in "abc")
    spin = dict(axis=(0.0, 0.0, 1.0))
    branches = (Joint("j", "continuous", "a", "b", **spin), Joint("k", "prismatic", "a", "c", **spin))
    assert dl.Robot(check(Description("tree", links, branches))).n == 2
    with pytest.raises(dl.DescriptionError, match="child of two joints"):
        check(Description("loop", links, (*branches, Joint("m", "continuous", "b", "c", **spin))))


def test_columns_of_the_geometric_jacobian():
    """z × (o − o_i) over z for a revolute joint, z over 0 for a prismatic one."""
    arm = dl.load("stanford")
    q = arm.random_configuration(seed=1)
    o = arm.fk(q)[:3, 3]
    J = np.zeros((6, arm.n))
    kinds = []
    for k, body in enumerate(arm.model.bodies):
        T = arm.fk(q, frame=body.name)
        z = T[:3, :3] @ np.array(body.joint.axis)
        kinds.append(body.joint.kind)
        J[:, k] = np.r_[np.cross(z, o - T[:3, 3]), z] if body.joint.kind == "revolute" else np.r_[z, 0, 0, 0]
    assert set(kinds) == {"revolute", "prismatic"}
    assert error(arm.jacobian(q), J) < ROUNDING


def test_angular_velocity_is_rdot_r_transposed():
    """S(ω) = Ṙ Rᵀ, and v is the rate of the origin."""
    arm = tree()
    q, qd, _ = random_state(arm.n)
    frame = arm.frames[-1]
    V = arm.jacobian(q, frame) @ qd
    T, T_dot = arm.fk(q, frame), rate(lambda x: arm.fk(x, frame), q, qd)
    assert np.abs(T_dot[:3, :3] @ T[:3, :3].T - S(V[3:])).max() < DIFFERENCE
    assert np.abs(T_dot[:3, 3] - V[:3]).max() < DIFFERENCE


def test_rates_of_zyz_angles():
    """B(α) of R_z(φ) R_y(θ) R_z(ψ): its columns are the axes as they have been turned, det B = −sin θ."""
    phi, theta, psi = alpha = (0.4, 1.1, -0.7)
    R = rot("z", phi) @ rot("y", theta) @ rot("z", psi)
    assert error(rotation.from_euler(alpha, "zyz"), R) < ROUNDING
    B = np.array(rotation.euler_rates(rotation.euler_cos_sin(R.tolist(), "zyz"), "zyz"))
    c, s = np.cos, np.sin
    wanted = [[0, -s(phi), c(phi) * s(theta)], [0, c(phi), s(phi) * s(theta)], [1, 0, c(theta)]]
    assert error(B, wanted) < ROUNDING
    assert np.linalg.det(B) == pytest.approx(-s(theta))
    assert rotation.euler_determinant(R.tolist(), "zyz") == pytest.approx(s(theta))


def test_analytic_jacobian_is_b_inverse_times_the_geometric_one():
    arm = dl.load("panda")
    q = random_state(arm.n)[0]
    R = arm.fk(q)[:3, :3]
    for angles in ("zyz", "rpy", "xyz"):
        B = np.array(rotation.euler_rates(rotation.euler_cos_sin(R.tolist(), angles), angles))
        J, J_a = arm.jacobian(q), arm.analytic_jacobian(q, angles=angles)
        assert error(J_a, np.vstack([J[:3], np.linalg.solve(B, J[3:])])) < SOLVED


@pytest.mark.parametrize("expressed_in", ["spatial", "local"])
def test_jacobian_dot_column_by_column(expressed_in):
    """[Fakhari 3]: in space axes ∂J_i/∂q_j = ad(J_j) J_i for j < i; in body axes ad(J_i) J_j for j > i; else 0."""
    arm = chain()
    q, qd, _ = random_state(arm.n)
    J = arm.jacobian(q, expressed_in=expressed_in)
    J_dot = np.zeros_like(J)
    for i in range(arm.n):
        for j in range(arm.n):
            if expressed_in == "spatial" and j < i:
                J_dot[:, i] += ad(J[:, j]) @ J[:, i] * qd[j]
            if expressed_in == "local" and j > i:
                J_dot[:, i] += ad(J[:, i]) @ J[:, j] * qd[j]
    assert error(arm.jacobian_dot(q, qd, expressed_in=expressed_in), J_dot) < ROUNDING


# ------------------------------------------------------------------------------------- planar RR, [Lee]
LENGTH = (0.9, 0.7)


def planar_rr() -> dl.Robot:
    return dl.Robot.from_dh([dict(a=LENGTH[0]), dict(a=LENGTH[1])], gravity=(0.0, -9.81, 0.0))


def xy_phi(q) -> np.ndarray:
    (a, b), (s, t) = LENGTH, (q[0], q[0] + q[1])
    return np.array([a * np.cos(s) + b * np.cos(t), a * np.sin(s) + b * np.sin(t), t])


def test_planar_rr_pose():
    """By geometry, by homogeneous transforms, and as (x, y, φ)."""
    arm = planar_rr()
    for q in random_state(2) * 3:
        T = arm.fk(q)
        x, y, phi = xy_phi(q)
        assert error(T, homogeneous(rot("z", phi), (x, y, 0))) < ROUNDING
        steps = [homogeneous(rot("z", t)) @ homogeneous(p=(a, 0, 0)) for a, t in zip(LENGTH, q, strict=True)]
        assert error(T, steps[0] @ steps[1]) < ROUNDING
        assert np.arctan2(T[1, 0], T[0, 0]) == pytest.approx(np.arctan2(np.sin(phi), np.cos(phi)))


def test_planar_rr_jacobian_of_x_y_phi():
    """Rows x, y and φ of the geometric Jacobian: derivative of the pose, and column by column a cross product."""
    arm = planar_rr()
    for q in random_state(2) * 3:
        J = arm.jacobian(q)
        assert not J[[2, 3, 4]].any()  # nothing leaves the plane
        Jp = J[[0, 1, 5]]
        by_difference = np.column_stack([rate(xy_phi, q, e) for e in np.eye(2)])
        assert np.abs(Jp - by_difference).max() < DIFFERENCE
        tip, elbow = arm.fk(q)[:3, 3], arm.fk(q, "link2")[:3, 3]
        z = np.array([0, 0, 1.0])
        assert error(J[:3, 0], np.cross(z, tip)) < ROUNDING
        assert error(J[:3, 1], np.cross(z, tip - elbow)) < ROUNDING
        assert error(np.linalg.norm(J[:3, 1]), LENGTH[1]) < ROUNDING  # joint 2 alone: a circle about the elbow


def test_planar_rr_dh_table_comes_back():
    table = planar_rr().to_dh("standard")
    assert [(r.theta, r.d, r.a, r.alpha) for r in table.rows] == [(0, 0, 0.9, 0), (0, 0, 0.7, 0)]


# ----------------------------------------------------------------------------- inertia, [Poonawala] §4.1 and 003
def moments(points: np.ndarray, weights: np.ndarray) -> Inertia:
    """m, ∫ r dm and I from the definition: I_xx = ∫(y² + z²) dm, I_xy = −∫xy dm."""
    C = np.einsum("p,pi,pj->ij", weights, points, points)
    I = np.trace(C) * np.eye(3) - C
    return Inertia(float(weights.sum()), tuple(weights @ points), tuple(map(tuple, I)))


def gauss(lower: float, upper: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a rule exact up to the ninth power."""
    x, w = np.polynomial.legendre.leggauss(5)
    return 0.5 * (upper - lower) * x + 0.5 * (upper + lower), 0.5 * (upper - lower) * w


def grid(*axes: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.stack(np.meshgrid(*(x for x, _ in axes), indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.prod(np.stack(np.meshgrid(*(w for _, w in axes), indexing="ij"), axis=-1), axis=-1)
    return nodes, weights.ravel()


def solid_box(density: float) -> tuple[np.ndarray, np.ndarray]:
    points, volume = grid(gauss(-0.1, 0.1), gauss(-0.2, 0.2), gauss(-0.3, 0.3))
    return points, density * volume


def solid_cylinder(density: float) -> tuple[np.ndarray, np.ndarray]:
    turn = (np.arange(8) * np.pi / 4, np.full(8, np.pi / 4))
    polar, volume = grid(gauss(0, 0.2), turn, gauss(-0.4, 0.4))
    r, t, z = polar.T
    return np.column_stack([r * np.cos(t), r * np.sin(t), z]), density * volume * r


SOLIDS = {
    "box": (solid_box(700.0), mass.box(700.0 * 0.2 * 0.4 * 0.6, (0.2, 0.4, 0.6))),
    "cylinder": (solid_cylinder(700.0), mass.cylinder(700.0 * np.pi * 0.04 * 0.8, 0.2, 0.8)),
}


@pytest.mark.parametrize("solid", SOLIDS)
def test_inertia_is_the_integral_of_the_density(solid):
    (points, weights), formula = SOLIDS[solid]
    assert error(moments(points, weights).parameters(), formula.parameters()) < ROUNDING


@pytest.mark.parametrize("solid", SOLIDS)
def test_inertia_elsewhere_and_turned(solid):
    """The same integral over the moved body: R I Rᵀ, parallel axis, and the sign of the products of inertia."""
    (points, weights), formula = SOLIDS[solid]
    R, p = rot("z", 0.6) @ rot("x", -1.2), np.array([0.5, -0.3, 0.8])
    moved = formula.to_parent(Pose(tuple(map(tuple, R)), tuple(p)))
    assert error(moments(points @ R.T + p, weights).parameters(), moved.parameters()) < ROUNDING
    I_c = R @ np.array(formula.I) @ R.T
    assert error(moved.about_com(), I_c) < ROUNDING
    assert error(moved.I, I_c + formula.m * (p @ p * np.eye(3) - np.outer(p, p))) < ROUNDING
    assert moved.I[0][1] > 0.05  # x and y of the center have opposite signs: −∫xy dm is positive


def test_density_that_varies_is_a_sum_of_parts():
    """A rod whose density grows along it: ∫ r² dm against thin slices put together."""
    x, w = gauss(0.0, 1.2)
    linear = 3.0 + 2.0 * x  # kg/m
    whole = moments(np.column_stack([x, 0 * x, 0 * x]), w * linear)
    assert whole.m == pytest.approx(3.0 * 1.2 + 1.2**2)
    assert whole.I[2][2] == pytest.approx(3.0 * 1.2**3 / 3 + 2.0 * 1.2**4 / 4)
    slices = mass.compose(
        (Pose(p=(c, 0.0, 0.0)), mass.rod((3.0 + 2.0 * c) * 0.01, 0.01)) for c in np.arange(0.005, 1.2, 0.01)
    )
    assert slices.m == pytest.approx(whole.m)
    assert slices.I[2][2] == pytest.approx(whole.I[2][2], rel=1e-4)


def test_rotated_inertial_frame_turns_the_tensor_and_not_the_center():
    from dalembert.describe.description import Inertial, Origin

    principal = (0.01, 0.0, 0.0, 0.02, 0.0, 0.025)
    body = spatial_inertia(Inertial(2.0, principal, Origin((0.1, 0.2, 0.3), (0.4, -0.5, 0.6))))
    R = rot("z", 0.6) @ rot("y", -0.5) @ rot("x", 0.4)
    assert error(body.com(), [0.1, 0.2, 0.3]) < ROUNDING
    assert error(body.about_com(), R @ np.diag([0.01, 0.02, 0.025]) @ R.T) < ROUNDING


# ----------------------------------------------------------------------------- energy, [Poonawala] and [Lagrange notes]
def test_kinetic_energy_of_moving_rigid_bodies():
    """K = Σ ½ m ċᵀċ + ½ ωᵀ R I_c Rᵀ ω with ω from Ṙ Rᵀ, velocities by differences of the pose alone."""
    arm = tree()
    q, qd, _ = random_state(arm.n)
    K = 0.0
    for body in arm.model.bodies:
        pose = lambda x, name=body.name: arm.fk(x, name)  # noqa: E731
        R, T_dot = pose(q)[:3, :3], rate(pose, q, qd)
        W = T_dot[:3, :3] @ R.T
        w = np.array([W[2, 1], W[0, 2], W[1, 0]])
        c_dot = T_dot @ np.r_[body.inertia.com(), 1.0]
        I = R @ np.array(body.inertia.about_com()) @ R.T
        K += 0.5 * body.inertia.m * c_dot[:3] @ c_dot[:3] + 0.5 * w @ I @ w
    assert arm.kinetic_energy(q, qd) == pytest.approx(K, rel=DIFFERENCE)


def test_energies_of_a_dh_chain_with_columns_from_its_frames():
    """D = Σ m J_vᵀ J_v + J_ωᵀ R I Rᵀ J_ω and P = Σ m g h, every Jacobian written out from standard DH frames."""
    arm = dl.load("puma560")
    table = arm.to_dh("standard")
    q, qd, _ = random_state(arm.n)
    base = dl.pose(table.base.xyz, table.base.rpy)
    frames = [base]
    for row, x in zip(table.rows, q, strict=True):
        turn = homogeneous(rot("z", row.theta + row.offset + x)) @ homogeneous(p=(0, 0, row.d))
        along = homogeneous(p=(row.a, 0, 0)) @ homogeneous(rot("x", row.alpha))
        frames.append(frames[-1] @ turn @ along)
    D, P = np.zeros((6, 6)), 0.0
    for i, row in enumerate(table.rows, start=1):
        body = spatial_inertia(row.inertial)
        R = frames[i][:3, :3]
        first_moment = body.m * frames[i][:3, 3] + R @ np.array(body.h)  # link 1 of this arm has no mass
        center = first_moment / body.m if body.m else frames[i][:3, 3]
        J_v, J_w = np.zeros((3, 6)), np.zeros((3, 6))
        for k in range(i):
            z, o = frames[k][:3, 2], frames[k][:3, 3]
            J_v[:, k], J_w[:, k] = np.cross(z, center - o), z
        I_c = np.array(body.about_com() if body.m else body.I)
        D += body.m * J_v.T @ J_v + J_w.T @ R @ I_c @ R.T @ J_w
        P += 9.81 * first_moment[2]
        if body.m:
            assert error(arm.com_jacobian(q, f"link{i}"), np.vstack([J_v, J_w])) < ROUNDING
    rotors = [row.drive.gear_ratio**2 * row.drive.rotor_inertia for row in table.rows]
    assert min(rotors) > 0.1
    assert error(arm.mass_matrix(q), D + np.diag(rotors)) < ROUNDING
    assert arm.potential_energy(q) == pytest.approx(P)
    assert arm.kinetic_energy(q, qd) == pytest.approx(0.5 * qd @ (D + np.diag(rotors)) @ qd)


# ---------------------------------------------------------------------------- equations of motion, [Fakhari 2]
def test_inverse_dynamics_in_four_writings():
    """M q̈ + h, + c + g, + C q̇ + g, + q̇ᵀ Γ q̇ + g, each with Jᵀ F_tip."""
    arm = chain()
    q, qd, qdd = random_state(arm.n)
    f_tip = np.array([3.0, -2.0, 1.0, 0.5, 0.4, -0.3])
    tau = arm.inverse_dynamics(q, qd, qdd, wrenches={arm.tip: -f_tip})
    M, g, pushed = arm.mass_matrix(q), arm.gravity_torque(q), arm.jacobian(q).T @ f_tip
    quadratic = np.einsum("ijk,i,j->k", arm.christoffel(q), qd, qd)
    for h in (
        arm.bias_torque(q, qd),
        arm.coriolis_torque(q, qd) + g,
        arm.coriolis_matrix(q, qd) @ qd + g,
        quadratic + g,
    ):
        assert error(M @ qdd + h + pushed, tau) < ROUNDING


def test_damping_and_external_force_of_seed_000():
    """D q̈ + C q̇ + g = τ + Jᵀ F_ext − B q̇: F_ext acts on the tip, so F_tip, which the tip applies, is −F_ext."""
    from dalembert.describe.description import Drive, Inertial, Origin

    body = Inertial(1.5, (0.01, 0.0, 0.0, 0.05, 0.0, 0.05), Origin((-0.3, 0.0, 0.0)))
    damping = np.array([0.7, 0.3])
    rows = [dict(a=0.6, inertial=body, drive=Drive(damping=b)) for b in damping]
    arm = dl.Robot.from_dh(rows, gravity=(0.0, -9.81, 0.0))
    q, qd, tau = random_state(2)
    F_ext = np.array([4.0, -5.0, 0.0, 0.0, 0.0, 1.0])
    rest = tau + arm.jacobian(q).T @ F_ext - damping * qd
    rest -= arm.coriolis_matrix(q, qd) @ qd + arm.gravity_torque(q)
    qdd = np.linalg.solve(arm.mass_matrix(q), rest)
    assert error(arm.forward_dynamics(q, qd, tau, wrenches={arm.tip: F_ext}, friction=True), qdd) < SOLVED
    assert error(arm.inverse_dynamics(q, qd, qdd, wrenches={arm.tip: F_ext}, friction=True), tau) < SOLVED


def test_the_sign_of_a_force_by_looking_at_it():
    """An arm held level against its weight, then pushed up at the tip, goes up; to press down it must drive down."""
    arm = dl.load("planar-1r")
    q, rest = [0.0], [0.0]
    hold = arm.gravity_torque(q)
    assert hold[0] > 0
    up = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    assert arm.forward_dynamics(q, rest, hold, wrenches={arm.tip: up})[0] > 0
    assert arm.inverse_dynamics(q, rest, rest, wrenches={arm.tip: up})[0] == pytest.approx(hold[0] - 10.0)


def test_velocity_terms_from_the_kinetic_energy():
    """c = Ṁ q̇ − ∂K/∂q, whole and component by component, with Γ_k symmetric."""
    arm = tree()
    q, qd, _ = random_state(arm.n)
    dK = np.array([rate(lambda x: arm.kinetic_energy(x, qd), q, e) for e in np.eye(arm.n)])
    c = arm.coriolis_torque(q, qd)
    assert error(arm.mass_matrix_dot(q, qd) @ qd - dK, c, 1.0) < DIFFERENCE
    gamma = arm.christoffel(q)
    for k in range(arm.n):
        G_k = gamma[:, :, k]
        assert error(G_k, G_k.T, 1.0) < ROUNDING
        assert qd @ G_k @ qd == pytest.approx(c[k], abs=ROUNDING * 10)
    dP = np.array([rate(arm.potential_energy, q, e) for e in np.eye(arm.n)])
    assert error(arm.gravity_torque(q), dP, 1.0) < DIFFERENCE


def test_closed_newton_euler_form_with_a_moving_base_and_a_wrench():
    """𝒱 = ℒ(𝒜q̇ + 𝒱_base), 𝒱̇ = ℒ(𝒜q̈ − [ad_𝒜q̇](𝒲𝒱 + 𝒱_base) + 𝒱̇_base), ℱ = ℒᵀ(𝒢𝒱̇ − [ad_𝒱]ᵀ𝒢𝒱 + ℱ_tip), τ = 𝒜ᵀℱ.

    The textbook's V̇ is the rate of the body twist, (a − ω × v, ω̇); ours is given as (a, ω̇)."""
    arm = tree()
    q, qd, qdd = random_state(arm.n)
    N = len(arm.bodies)
    A_, L, W, G, V_dot_gravity = arm.matrix_form(q)
    v, w, a, wd = np.random.default_rng(5).normal(size=(4, 3))
    V_base, V_dot_base = np.zeros(6 * N), V_dot_gravity.copy()
    for i, body in enumerate(arm.model.bodies):
        if body.parent < 0:
            X = np.linalg.inv(dl.se3.adjoint(arm.fk(q, body.name)))
            V_base[6 * i : 6 * i + 6] = X @ np.r_[v, w]
            V_dot_base[6 * i : 6 * i + 6] += X @ np.r_[a - np.cross(w, v), wd]
    own = A_ @ qd
    V = L @ (own + V_base)
    blocks = lambda x: _block_diagonal([ad(x[6 * i : 6 * i + 6]) for i in range(N)])  # noqa: E731
    V_dot = L @ (A_ @ qdd - blocks(own) @ (W @ V + V_base) + V_dot_base)
    wrench, last = np.random.default_rng(6).normal(size=6), N - 1
    F_tip = np.zeros(6 * N)
    F_tip[6 * last :] = wrench
    F = L.T @ (G @ V_dot - blocks(V).T @ G @ V + F_tip)
    tau = arm.inverse_dynamics(
        q,
        qd,
        qdd,
        wrenches={arm.bodies[last]: -np.kron(np.eye(2), arm.fk(q, arm.bodies[last])[:3, :3]) @ wrench},
        base_velocity=np.r_[v, w],
        base_acceleration=np.r_[a, wd],
    )
    assert error(tau, A_.T @ F) < ROUNDING
    for i, body in enumerate(arm.model.bodies):  # over a resting base, 𝒱 is every body's own twist
        twist = arm.jacobian(q, body.name, "local") @ qd
        assert error((L @ own)[6 * i : 6 * i + 6], twist, 1.0) < ROUNDING


def _block_diagonal(blocks: list[np.ndarray]) -> np.ndarray:
    out = np.zeros((6 * len(blocks), 6 * len(blocks)))
    for i, block in enumerate(blocks):
        out[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
    return out


def test_angular_first_is_a_permutation():
    """(ω, v) writings: P swaps the halves; adjoint, ad and 𝒢 take the textbook's block form."""
    P = np.roll(np.eye(6), 3, axis=0)
    assert np.array_equal(P @ [1, 2, 3, 4, 5, 6], [4, 5, 6, 1, 2, 3])
    T = dl.pose((0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    R, p = T[:3, :3], T[:3, 3]
    zero = np.zeros((3, 3))
    assert error(P @ dl.se3.adjoint(T) @ P.T, np.block([[R, zero], [S(p) @ R, R]])) < ROUNDING
    I_c = np.diag([0.1, 0.2, 0.25])
    G = np.array(Inertia.from_com(2.0, (0.0, 0.0, 0.0), tuple(map(tuple, I_c))).matrix())
    assert error(P @ G @ P.T, np.block([[I_c, zero], [zero, 2.0 * np.eye(3)]])) < ROUNDING
    q = random_state(chain().n)[0]
    axes, home = chain().to_screws()
    swapped = dl.Robot.from_screws(axes @ P.T, home, order="angular-first")
    assert error(swapped.fk(q), chain().fk(q)) < ROUNDING


def test_terms_by_calls_of_the_recursion_with_a_wrench():
    """Method 2: Jᵀ F_tip is τ at rest without gravity; b = c + g + Jᵀ F_tip is τ at q̈ = 0."""
    arm, floating = chain(), chain().with_gravity((0, 0, 0))
    q, qd, _ = random_state(arm.n)
    zero, f_tip = np.zeros(arm.n), np.array([1.0, 2.0, -3.0, 0.4, -0.5, 0.6])
    pushed = floating.inverse_dynamics(q, zero, zero, wrenches={arm.tip: -f_tip})
    assert error(pushed, arm.jacobian(q).T @ f_tip) < ROUNDING
    c, g = floating.inverse_dynamics(q, qd, zero), arm.inverse_dynamics(q, zero, zero)
    assert error(arm.inverse_dynamics(q, qd, zero, wrenches={arm.tip: -f_tip}), c + g + pushed) < ROUNDING
    M = np.column_stack([floating.inverse_dynamics(q, zero, e) for e in np.eye(arm.n)])
    assert error(M, arm.mass_matrix(q)) < ROUNDING


def test_forward_dynamics_is_the_solution_of_a_linear_system():
    """M q̈ = τ − b(q, q̇, F_tip), by both methods."""
    arm = chain()
    q, qd, tau = random_state(arm.n)
    f_tip = np.array([1.0, 2.0, -3.0, 0.4, -0.5, 0.6])
    b = arm.bias_torque(q, qd) + arm.jacobian(q).T @ f_tip
    qdd = np.linalg.solve(arm.mass_matrix(q), tau - b)
    for method in (None, "factorized", "articulated"):
        assert error(arm.forward_dynamics(q, qd, tau, wrenches={arm.tip: -f_tip}, method=method), qdd) < SOLVED


def test_free_motion_keeps_its_energy():
    """The accelerations of forward dynamics, integrated by fourth-order steps, conserve K + P, up to h⁴ or better."""
    arm = dl.load("planar-3r")
    start = np.array([0.3, -0.8, 0.5, 1.0, -2.0, 0.5])

    def energy(x: np.ndarray) -> float:
        return float(arm.kinetic_energy(x[:3], x[3:]) + arm.potential_energy(x[:3]))

    def f(x: np.ndarray) -> np.ndarray:
        return np.r_[x[3:], arm.forward_dynamics(x[:3], x[3:], np.zeros(3))]

    def drift(steps: int) -> float:
        x, h = start, 0.5 / steps
        for _ in range(steps):
            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        assert np.abs(x[:3] - start[:3]).max() > 0.5  # it did move
        return abs(energy(x) - energy(start))

    coarse, fine = drift(125), drift(250)
    assert fine < 1e-6
    assert coarse / fine > 12  # halving the step divides the error by 16, at fourth order


def test_coriolis_matrices_by_kronecker_products():
    """∂M/∂q stacked, Ṁ = (q̇ᵀ ⊗ 1) ∂M/∂q, U = (1 ⊗ q̇ᵀ) ∂M/∂q, and the three choices of C made of them."""
    arm = chain()
    q, qd, _ = random_state(arm.n)
    n, one = arm.n, np.eye(arm.n)
    tall = np.vstack([rate(arm.mass_matrix, q, e) for e in one])
    exact = np.vstack(composite.mass_matrix_partials(arm.model, q.tolist()))
    assert tall.shape == (n * n, n)
    assert error(exact, tall, 1.0) < DIFFERENCE
    M_dot, U = np.kron(qd[None], one) @ exact, np.kron(one, qd[None]) @ exact
    assert error(arm.mass_matrix_dot(q, qd), M_dot, 1.0) < ROUNDING
    for choice, C in {
        "kronecker": 0.5 * (M_dot + U.T - U),
        "christoffel": 0.5 * (M_dot + U.T - U),
        "mdot-u/2": M_dot - 0.5 * U,
        "ut-u/2": U.T - 0.5 * U,
    }.items():
        assert error(arm.coriolis_matrix(q, qd, choice), C, 1.0) < ROUNDING, choice


def test_regressor_of_a_change_of_one_parameter():
    """τ is linear in π: a heavier link changes τ by its column of Y times the change, and nothing else."""
    arm = chain()
    q, qd, qdd = random_state(arm.n)
    Y, names = arm.regressor(q, qd, qdd), arm.parameter_names()
    tip = arm.tip
    loaded = arm.with_payload(0.8, com=(0.1, 0.0, -0.2))
    change = loaded.parameters() - arm.parameters()
    touched = [name for name, x in zip(names, change, strict=True) if x]
    assert touched and all(name.startswith(f"{tip}:") for name in touched)
    wanted = arm.inverse_dynamics(q, qd, qdd) + Y @ change
    assert error(loaded.inverse_dynamics(q, qd, qdd), wanted) < ROUNDING


# ------------------------------------------------------------------------------------------ URDF, [Fakhari 3]
PRINTED = """
<robot name="printed">
  <link name="link1"><inertial>
    <mass value="1"/><origin rpy="0.1 0 0" xyz="0 0 0"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.007"/></inertial></link>
  <link name="link2"/>
  <link name="link3"/>
  <link name="link4"><inertial>
    <mass value="1"/><origin xyz="0.1 0 0" rpy="0 0 0"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.007"/></inertial>
    <visual><geometry><mesh filename="../../../link1.stl"/></geometry>
      <material name="DarkGray"><color rgba="0.3 0.3 0.3 1.0"/></material></visual></link>
  <joint name="joint1" type="continuous"><parent link="link1"/><child link="link2"/>
    <origin xyz="0.5 0.3 0" rpy="0 0 0"/><axis xyz="-0.9 0.15 0"/></joint>
  <joint name="joint2" type="fixed"><parent link="link2"/><child link="link3"/></joint>
  <joint name="joint3" type="continuous"><parent link="link3"/><child link="link4"/>
    <origin xyz="0.5 0 0" rpy="0 0 -1.57"/><axis xyz="0.707 -0.707 0"/></joint>
</robot>
"""


def test_printed_urdf_snippets():
    """Axes as printed are not of unit length: they are normalized, the one that is far off with a warning."""
    d = read_urdf(PRINTED, file="printed.urdf")
    warned = [text for text in d.warnings if "axis" in text]
    assert len(warned) == 1
    assert "the axis of joint 'joint1' is -0.9 0.15 0, of length 0.912414" in warned[0]
    assert warned[0].startswith("printed.urdf:")
    first, _, third = d.joints
    assert error(first.axis, np.array([-0.9, 0.15, 0]) / np.hypot(0.9, 0.15)) < ROUNDING
    assert error(third.axis, np.array([1, -1, 0]) / np.sqrt(2)) < ROUNDING  # rounded to three digits: silent
    arm = dl.Robot(d)
    q = np.array([0.4, -0.9])
    T = homogeneous(p=(0.5, 0.3, 0)) @ dl.se3.exp6([0, 0, 0, *(0.4 * np.array(first.axis))])
    T = T @ homogeneous(rot("z", -1.57), (0.5, 0, 0)) @ dl.se3.exp6([0, 0, 0, *(-0.9 * np.array(third.axis))])
    assert error(arm.fk(q, "link4"), T) < ROUNDING  # the axis is in the child's frame
    visual = d.links[3].visuals[0]
    assert visual.color == (0.3, 0.3, 0.3, 1.0)
    assert visual.material == "DarkGray"
    turned = spatial_inertia(d.links[0].inertial)
    assert error(turned.I, rot("x", 0.1) @ np.diag([0.004, 0.004, 0.007]) @ rot("x", 0.1).T) < ROUNDING
    assert arm.model.bodies[1].inertia.h == (0.1, 0.0, 0.0)


def test_a_loaded_file_warns_of_its_axis(tmp_path):
    file = tmp_path / "printed.urdf"
    file.write_text(PRINTED)
    with pytest.warns(dl.ModelWarning, match="taken as the unit vector"), warnings.catch_warnings():
        warnings.simplefilter("always")
        arm = dl.load(file)
    assert any("joint1" in text for text in arm.warnings)
