"""Poses, the exponential map and adjoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.spatial import rotation
from tolerances import ROUNDING


def test_exponential_and_logarithm_at_every_size():
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-12, 1e-8, 1.1e-4, 1e-3, 1e-2, 0.5, 2.0, 3.1, np.pi - 1e-6, np.pi - 1e-9):
        axis = rng.normal(size=(20, 3))
        axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
        twist = np.concatenate([rng.normal(size=(20, 3)), size * axis], axis=-1)
        T = dl.se3.exp6(twist)
        assert np.abs(dl.se3.exp6(dl.se3.log6(T)) - T).max() < 1e-14, size
        assert np.abs(dl.se3.log6(T) - twist).max() < (1e-8 if size > 3.14 else 1e-12), size
        assert np.abs(np.swapaxes(T[:, :3, :3], 1, 2) @ T[:, :3, :3] - np.eye(3)).max() < 1e-14
    half_turns = dl.se3.exp6(np.concatenate([np.zeros((3, 3)), np.pi * np.eye(3)], axis=-1))
    assert np.abs(dl.se3.exp6(dl.se3.log6(half_turns)) - half_turns).max() < 1e-14


def test_exponential_is_the_matrix_exponential():
    V = np.random.default_rng(1).normal(size=6)
    X = np.zeros((4, 4))
    X[:3, :3] = [[0, -V[5], V[4]], [V[5], 0, -V[3]], [-V[4], V[3], 0]]
    X[:3, 3] = V[:3]
    series, term = np.eye(4), np.eye(4)
    for k in range(1, 40):
        term = term @ X / k
        series += term
    assert np.abs(dl.se3.exp6(V) - series).max() < 1e-13


def test_orientations():
    c, s = np.cos(0.3), np.sin(0.3)
    turn = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    same = [
        dl.pose(rpy=(0, 0, 0.3)),
        dl.pose(quat=(0, 0, np.sin(0.15), np.cos(0.15))),
        dl.pose(euler=(0.1, 0, 0.2), angles="zyz"),
        dl.pose(euler=(0.3, 0, 0), angles="zyx"),
        dl.pose(rotation_matrix=turn),
    ]
    for T in same:
        assert np.abs(T[:3, :3] - turn).max() < 1e-15
    assert np.array_equal(dl.pose((1, 2, 3))[:3, 3], [1, 2, 3])
    roll, pitch, yaw = (dl.pose(rpy=np.eye(3)[k] * a) for k, a in enumerate((0.1, 0.2, 0.3)))
    assert np.abs(yaw @ pitch @ roll - dl.pose(rpy=(0.1, 0.2, 0.3))).max() < 1e-15
    assert dl.pose(np.zeros((5, 1, 3)), np.zeros((4, 3))).shape == (5, 4, 4, 4)


def test_adjoint_moves_twists():
    rng = np.random.default_rng(2)
    A, B = dl.se3.exp6(rng.normal(size=(2, 6)))
    V = rng.normal(size=6)
    assert np.abs(dl.se3.adjoint(A @ B) - dl.se3.adjoint(A) @ dl.se3.adjoint(B)).max() < ROUNDING
    assert np.abs(dl.se3.exp6(dl.se3.adjoint(A) @ V) - A @ dl.se3.exp6(V) @ dl.se3.inverse(A)).max() < ROUNDING
    assert np.abs(dl.se3.inverse(A) @ A - np.eye(4)).max() < ROUNDING


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dl.pose((1, 2)), r"xyz has shape \(2,\); its last dimension must be 3"),
        (lambda: dl.pose(rpy=(0, 0, np.nan)), r"rpy\[2\] is nan; it must be a finite number"),
        (lambda: dl.pose("here"), "xyz must be a rectangular array of real numbers, got 'here'"),
        (lambda: dl.pose(rpy=(0, 0, 0), quat=(0, 0, 0, 1)), "give one orientation, not 2: rpy, quat"),
        (lambda: dl.pose(quat=(0, 0, 0, 0)), "quat is zero"),
        (lambda: dl.pose(rotation_matrix=np.ones((3, 3))), "not a rotation"),
        (lambda: dl.pose(rotation_matrix=-np.eye(3)), "not a rotation"),
        (lambda: dl.se3.adjoint(np.eye(3)), r"T has shape \(3, 3\); it must end in \(4, 4\)"),
        (lambda: dl.se3.adjoint("x"), "T must be a rectangular array of real numbers, got 'x'"),
        (lambda: dl.se3.log6(2 * np.eye(4)), "`T` must be a pose"),
        (lambda: dl.se3.inverse(np.ones((4, 4))), "`T` must be a pose"),
        (lambda: dl.se3.exp6([1, 2, 3]), "its last dimension must be 6"),
    ],
)
def test_wrong_input(call, words):
    with pytest.raises(dl.InputError, match=words):
        call()


def test_wrong_sequence():
    with pytest.raises(dl.UnknownNameError, match="unknown Euler sequence 'zzx'"):
        dl.pose(euler=(0, 0, 0), angles="zzx")


@pytest.mark.parametrize("away", [0.0, 1e-13, 1e-10, 1e-7, 1e-4, 0.05, 0.2])
def test_rpy_back_and_forth_beside_the_singular_pitch(away):
    """Near pitch ±90° roll and yaw are ill-determined, each by itself; the rotation that they make is not."""
    for side in (1.0, -1.0):
        for roll, yaw in np.random.default_rng(0).uniform(-3, 3, (20, 2)):
            R = np.array(rotation.from_rpy((roll, side * (np.pi / 2 - away), yaw)))
            again = rotation.from_rpy(rotation.to_rpy(tuple(map(tuple, R.tolist()))))
            assert np.abs(np.array(again) - R).max() < 1e-12 + (away if away < 1e-12 else 0.0)


# ------------------------------------------------------------------------------------- axis and angle, screws, bracket
ANGLES = (0.0, 1e-300, 1e-12, 1e-8, 9.9e-5, 1.1e-4, 1e-2, 1.0, 3.0, np.pi - 1e-9, np.pi)


def unit_vectors(count, seed=0):
    a = np.random.default_rng(seed).normal(size=(count, 3))
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


def test_rotations_by_vector_are_scipys():
    for angle in ANGLES:
        for w in (angle * unit_vectors(30), -angle * unit_vectors(30), angle * np.eye(3)):
            R = dl.se3.exp3(w)
            assert np.abs(R - Rotation.from_rotvec(w).as_matrix()).max() < 1e-15 * (1 + angle)
            again = dl.se3.log3(R)
            flip = np.where(np.einsum("ij,ij->i", again, w) < 0, -1.0, 1.0) if angle == np.pi else np.ones(len(w))
            assert np.abs(flip[:, None] * again - w).max() < (3e-8 if angle > 3.1 else 1e-12)
            assert np.abs(dl.se3.exp3(again) - R).max() < 1e-14
    R = Rotation.random(500, random_state=1).as_matrix()
    assert np.abs(dl.se3.log3(R) - Rotation.from_matrix(R).as_rotvec()).max() < 1e-7
    assert dl.se3.log3(R.reshape(5, 20, 5, 3, 3)).shape == (5, 20, 5, 3)
    assert np.array_equal(dl.se3.exp6(np.r_[0, 0, 0, 0.1, -0.2, 0.3])[:3, :3], dl.se3.exp3([0.1, -0.2, 0.3]))
    single = dl.se3.log3(dl.se3.exp3([0.1, -0.2, 0.3]).astype(np.float32))
    assert single.dtype == np.float64 and np.abs(single - [0.1, -0.2, 0.3]).max() < 1e-6


def test_axis_and_angle_of_rotations_and_twists():
    """w = θ a with |a| = 1; S θ = V with |ω| = 1, or ω = 0 and |v| = 1."""
    for angle in ANGLES[2:]:
        a = unit_vectors(20, 3).reshape(4, 5, 3)
        axis, found = dl.se3.axis_angle(angle * a)
        assert np.abs(axis - a).max() < 1e-15 and np.abs(found - angle).max() < 1e-15 * angle * 4
        V = angle * np.concatenate([unit_vectors(20, 4).reshape(4, 5, 3) * 3, a], axis=-1)
        S, found = dl.se3.axis_angle(V)
        assert S.shape == (4, 5, 6) and np.abs(np.linalg.norm(S[..., 3:], axis=-1) - 1).max() < 1e-15
        assert np.abs(found[..., None] * S - V).max() <= 1e-15 * angle * 4
    S, distance = dl.se3.axis_angle([0, 3, 4, 0, 0, 1e-16])
    assert distance == 5 and np.allclose(S, [0, 0.6, 0.8, 0, 0, 0])
    axis, angle = dl.se3.axis_angle(np.zeros((2, 3)))
    assert np.array_equal(axis, np.zeros((2, 3))) and np.array_equal(angle, [0, 0])
    T = dl.pose((0, 0, 0), (0, 0, -0.5))
    axis, angle = dl.se3.axis_angle(dl.se3.log3(T[:3, :3]))
    assert np.allclose(axis, [0, 0, -1]) and np.isclose(angle, 0.5)


def test_angles_of_rotations_and_poses():
    alpha = np.random.default_rng(8).uniform(-1.4, 1.4, (4, 5, 3))
    assert np.abs(dl.se3.euler_angles(dl.pose(rpy=alpha)) - alpha).max() < 1e-14
    for angles in rotation.EULER_SEQUENCES:
        R = dl.pose(euler=np.abs(alpha), angles=angles)[..., :3, :3]
        assert np.abs(dl.se3.euler_angles(R, angles) - np.abs(alpha)).max() < 1e-13
        scipys = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_euler(angles.upper()).reshape(4, 5, 3)
        assert np.abs(scipys - np.abs(alpha)).max() < 1e-13
    assert np.allclose(dl.se3.euler_angles(dl.pose(rpy=(0.3, np.pi / 2, 0.1))), [0, np.pi / 2, -0.2], atol=1e-8)
    assert dl.se3.euler_angles(np.zeros((0, 3, 3))).shape == (0, 3)
    with pytest.raises(dl.UnknownNameError, match="unknown Euler sequence 'zzx'"):
        dl.se3.euler_angles(np.eye(3), "zzx")


def test_screws_by_axis_point_and_pitch():
    """Published: through (3, 0, 0) along z with pitch 2, (ω, v) = (0, 0, 1, 0, −3, 2).  Lynch and Park, ch. 3."""
    assert np.allclose(dl.se3.screw((0, 0, 1), (3, 0, 0), 2.0), [0, -3, 2, 0, 0, 1])
    assert np.allclose(dl.se3.screw((0, 0, 5), pitch=np.inf), [0, 0, 1, 0, 0, 0])
    rng = np.random.default_rng(5)
    a, p, h = unit_vectors(12).reshape(3, 4, 3), rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 4))
    h[0, 0] = np.inf
    found = dl.se3.screw_parameters(0.7 * dl.se3.screw(2 * a, p, h))
    assert np.abs(found.axis - a).max() < 1e-15 and np.allclose(found.angle, 0.7)
    assert np.array_equal(np.isinf(found.pitch), np.isinf(h)) and np.allclose(found.pitch[1:], h[1:])
    across = p - np.einsum("...i,...i->...", p, a)[..., None] * a
    assert np.abs(found.point - across)[1:].max() < 1e-14 and not found.point[0, 0].any()
    # a point of the axis only slides along it, by pitch times angle
    T = dl.se3.exp6(0.7 * dl.se3.screw(a, p, h))[1:]
    moved = np.einsum("...ij,...j->...i", T[..., :3, :3], p[1:]) + T[..., :3, 3]
    assert np.abs(moved - p[1:] - 0.7 * h[1:, :, None] * a[1:]).max() < 1e-14
    arm = dl.load("puma560")
    screws, home = arm.to_screws()
    made = [dl.se3.screw(*dl.se3.screw_parameters(S)[:3]) for S in screws]
    assert np.abs(np.array(made) - screws).max() < 1e-14
    product = np.linalg.multi_dot([*dl.se3.exp6(screws * 0.3), home])
    assert np.abs(product - arm.fk(np.full(6, 0.3))).max() < 1e-14


def test_the_bracket_of_twists():
    """ad_V V′ = −ad_V′ V; Jacobi; exp(ad_V) = Ad_exp(V); [V̂, V̂′] of the 4×4 matrices. Published numbers:
    Lynch and Park's ad((1, …, 6)), halves swapped."""
    published = np.zeros((6, 6))
    published[:3, :3] = published[3:, 3:] = [[0, -3, 2], [3, 0, -1], [-2, 1, 0]]
    published[3:, :3] = [[0, -6, 5], [6, 0, -4], [-5, 4, 0]]
    P = np.roll(np.eye(6), 3, axis=0)
    assert np.array_equal(dl.se3.ad([4, 5, 6, 1, 2, 3]), P @ published @ P)
    U, V, W = np.random.default_rng(6).normal(size=(3, 7, 6))
    ad = lambda A, B: np.einsum("...ij,...j->...i", dl.se3.ad(A), B)  # noqa: E731
    assert np.abs(ad(U, V) + ad(V, U)).max() < 1e-14
    assert np.abs(ad(U, ad(V, W)) + ad(V, ad(W, U)) + ad(W, ad(U, V))).max() < 1e-13
    series, term = np.eye(6), np.eye(6)
    for k in range(1, 60):
        term = term @ dl.se3.ad(V[0]) / k
        series = series + term
    assert np.abs(series - dl.se3.adjoint(dl.se3.exp6(V[0]))).max() < 1e-12
    assert dl.se3.ad(np.zeros((2, 3, 6))).shape == (2, 3, 6, 6)


def test_projection_and_distance():
    """Published: Lynch and Park's examples of ProjectToSO3 and ProjectToSE3."""
    near = [[0.675, 0.150, 0.720], [0.370, 0.771, -0.511], [-0.630, 0.619, 0.472]]
    wanted = [
        [0.67901136, 0.14894516, 0.71885945],
        [0.37320708, 0.77319584, -0.51272279],
        [-0.63218672, 0.61642804, 0.46942137],
    ]
    assert np.abs(dl.se3.project_so3(near) - wanted).max() < 1e-8
    T = np.zeros((4, 4))
    T[:3, :3], T[:3, 3], T[3] = near, (1.2, 5.4, 3.6), (0.003, 0.002, 0.010, 0.9)
    assert (
        np.abs(dl.se3.project_se3(T) - dl.pose((1.2, 5.4, 3.6), rotation_matrix=dl.se3.project_so3(near))).max() < 1e-15
    )
    d = np.hypot(dl.se3.distance_so3(near), np.linalg.norm([0.003, 0.002, 0.010, 0.1]))
    assert np.isclose(dl.se3.distance_se3(T), d, rtol=1e-14)
    rng = np.random.default_rng(7)
    R = dl.se3.exp3(rng.normal(size=(4, 5, 3)))
    assert np.abs(dl.se3.project_so3(R) - R).max() < 1e-14 and dl.se3.distance_so3(R).max() < 1e-14
    assert np.allclose(dl.se3.distance_so3(2 * R), np.sqrt(3)) and np.isclose(dl.se3.distance_so3(-np.eye(3)), 2)
    for M in rng.normal(size=(50, 3, 3)):  # half of them left-handed: no other rotation is nearer
        best = dl.se3.project_so3(M)
        assert dl.se3.log3(best).shape == (3,)
        others = dl.se3.exp3(rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-4, 0, (200, 1))) @ best
        assert np.linalg.norm(others - M, axis=(-2, -1)).min() >= dl.se3.distance_so3(M) - 1e-12
    assert dl.se3.distance_se3(dl.pose(np.ones((3, 3)))).shape == (3,)
    assert dl.se3.distance_so3(dl.se3.exp3([1.0, 2.0, 3.0]).astype(np.float32)) < 3e-7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dl.se3.ad([1, 2, 3]), "its last dimension must be 6"),
        (lambda: dl.se3.axis_angle([1, 2, 3, 4]), "its last dimension must be 3 or 6"),
        (lambda: dl.se3.exp3(np.inf * np.ones(3)), r"w\[0\] is inf; it must be a finite number"),
        (lambda: dl.se3.log3(np.ones((3, 3))), "not a rotation"),
        (lambda: dl.se3.screw((0, 0, 0)), "axis is zero"),
        (
            lambda: dl.se3.screw((0, 0, 1), pitch=np.nan),
            "pitch is nan; it must be a number .m/rad, inf for a translation",
        ),
        (lambda: dl.se3.project_so3(np.eye(4)), r"M has shape \(4, 4\); it must end in \(3, 3\)"),
        (lambda: dl.se3.project_se3(np.ones((3, 4))), r"it must end in \(4, 4\)"),
        (lambda: dl.se3.distance_so3(np.diag([1.0, 2.0, np.nan])), r"M\[2, 2\] is nan"),
    ],
)
def test_wrong_screws_and_matrices(call, words):
    with pytest.raises(dl.InputError, match=words):
        call()


@pytest.mark.parametrize("angles", [(180, 0, 0), (0, 0, 90.0), (22.5, 0, 45), (179.3, 0.2, 0)])
def test_degrees_are_told(angles):
    for given in ({"rpy": angles}, {"euler": angles}):
        with pytest.warns(dl.UnitWarning, match=r"looks like degrees; if it is, give np.radians\((rpy|euler)\)"):
            dl.pose(**given)


def test_no_false_alarm_for_radians():
    turned = np.column_stack([np.zeros(50), np.zeros(50), np.linspace(0, 40, 50)])  # a yaw that was unwrapped
    yaw = np.unwrap(np.arctan2(*np.moveaxis(dl.pose(rpy=turned)[:, [1, 0], 0], -1, 0)))
    assert np.abs(yaw - turned[:, 2]).max() < 1e-12
    for angles in ((3.1416, 6.2832, 5), (0, 0, 12.9)):
        assert dl.pose(rpy=angles)[2, 0] == pytest.approx(-np.sin(angles[1]))
