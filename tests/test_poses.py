"""Poses, the exponential map and adjoints."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.spatial import rotation
from tolerances import ROUNDING


def test_exponential_and_logarithm_at_every_size():
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-12, 1e-8, 1.1e-4, 1e-3, 1e-2, 0.5, 2.0, 3.1, np.pi - 1e-6, np.pi - 1e-9):
        axis = rng.normal(size=(20, 3))
        axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
        twist = np.concatenate([rng.normal(size=(20, 3)), size * axis], axis=-1)
        T = dl.exp6(twist)
        assert np.abs(dl.exp6(dl.log6(T)) - T).max() < 1e-14, size
        assert np.abs(dl.log6(T) - twist).max() < (1e-8 if size > 3.14 else 1e-12), size
        assert np.abs(np.swapaxes(T[:, :3, :3], 1, 2) @ T[:, :3, :3] - np.eye(3)).max() < 1e-14
    half_turns = dl.exp6(np.concatenate([np.zeros((3, 3)), np.pi * np.eye(3)], axis=-1))
    assert np.abs(dl.exp6(dl.log6(half_turns)) - half_turns).max() < 1e-14


def test_exponential_is_the_matrix_exponential():
    V = np.random.default_rng(1).normal(size=6)
    X = np.zeros((4, 4))
    X[:3, :3] = [[0, -V[5], V[4]], [V[5], 0, -V[3]], [-V[4], V[3], 0]]
    X[:3, 3] = V[:3]
    series, term = np.eye(4), np.eye(4)
    for k in range(1, 40):
        term = term @ X / k
        series += term
    assert np.abs(dl.exp6(V) - series).max() < 1e-13


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
    A, B = dl.exp6(rng.normal(size=(2, 6)))
    V = rng.normal(size=6)
    assert np.abs(dl.adjoint(A @ B) - dl.adjoint(A) @ dl.adjoint(B)).max() < ROUNDING
    assert np.abs(dl.exp6(dl.adjoint(A) @ V) - A @ dl.exp6(V) @ dl.inverse(A)).max() < ROUNDING
    assert np.abs(dl.inverse(A) @ A - np.eye(4)).max() < ROUNDING


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dl.pose((1, 2)), r"xyz must end in a dimension of 3, got shape \(2,\)"),
        (lambda: dl.pose(rpy=(0, 0, np.nan)), "rpy has a value that is not finite"),
        (lambda: dl.pose("here"), "xyz must be numbers"),
        (lambda: dl.pose(rpy=(0, 0, 0), quat=(0, 0, 0, 1)), "give one orientation, not 2: rpy, quat"),
        (lambda: dl.pose(quat=(0, 0, 0, 0)), "quat is zero"),
        (lambda: dl.pose(rotation_matrix=np.ones((3, 3))), "not a rotation"),
        (lambda: dl.pose(rotation_matrix=-np.eye(3)), "not a rotation"),
        (lambda: dl.adjoint(np.eye(3)), r"T must end in \(4, 4\)"),
        (lambda: dl.adjoint("x"), "T must be a matrix of numbers"),
        (lambda: dl.log6(2 * np.eye(4)), "T is not a pose"),
        (lambda: dl.inverse(np.ones((4, 4))), "T is not a pose"),
        (lambda: dl.exp6([1, 2, 3]), "twist must end in a dimension of 6"),
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
