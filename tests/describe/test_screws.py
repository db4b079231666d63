"""Screw axes: the product of exponentials and the tree are one robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert import robots
from dalembert.describe.description import Inertial, Joint, Limit, Link
from dalembert.describe.dh import from_dh, to_dh
from dalembert.describe.screws import from_screws, screw_bodies, to_screws
from dalembert.describe.toml_read import read_toml
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DescriptionError, InputError, UnknownNameError
from errors import raises

CLOSE = 1e-12  # poses of a few meters
CLOSE_DYNAMICS = 1e-10  # mass matrices of tens of kg m²


def load(name):
    return read_toml(robots.text(name))


ARMS = [name for name in robots.names() if not name.endswith("-points") and not load(name).loops]


def expm(S):
    """exp of a 4×4 by scaling, squaring and the series: nothing shared with the package."""
    A = S / 64
    T, term = np.eye(4), np.eye(4)
    for k in range(1, 16):
        term = term @ A / k
        T = T + term
    for _ in range(6):
        T = T @ T
    return T


def bracket(screw):
    v, (x, y, z) = screw[:3], screw[3:]
    S = np.zeros((4, 4))
    S[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    S[:3, 3] = v
    return S


def exponentials(S, q, M, screws="space"):
    T = np.eye(4)
    for screw, value in zip(S, q, strict=True):
        T = T @ expm(bracket(screw) * value)
    return T @ M if screws == "space" else M @ T


def pinocchio(description, q):
    """Tip pose, M(q), g(q)."""
    pin = pytest.importorskip("pinocchio")
    bare = replace(description, links=tuple(Link(k.name, k.inertial) for k in description.links))
    model = pin.buildModelFromXML(write_urdf(bare))
    model.gravity.linear = np.array(description.gravity)
    data = model.createData()
    M = pin.crba(model, data, q)
    g = pin.computeGeneralizedGravity(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    T = data.oMf[model.getFrameId(description.tip)].homogeneous.copy()
    return T, np.triu(M) + np.triu(M, 1).T, g


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("screws", ["space", "body"])
def test_exponentials_are_the_tree(name, screws):
    robot = load(name)
    S, M = to_screws(robot, screws=screws)
    rng = np.random.default_rng(1)
    for q in rng.uniform(-2, 2, (3, len(S))):
        np.testing.assert_allclose(exponentials(S, q, M, screws), pinocchio(robot, q)[0], atol=CLOSE, rtol=0)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("screws", ["space", "body"])
def test_there_and_back_carries_inertias(name, screws):
    robot = load(name)
    S, M = to_screws(robot, screws=screws)
    homes, inertials = screw_bodies(robot)
    again = from_screws(S, M, screws=screws, link_homes=homes, inertials=inertials, gravity=robot.gravity)
    rng = np.random.default_rng(2)
    for q in rng.uniform(-2, 2, (3, len(S))):
        for mine, theirs in zip(pinocchio(again, q), pinocchio(robot, q), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=CLOSE_DYNAMICS, rtol=0)


def test_screws_to_dh_and_back():
    S, M = to_screws(load("panda"))
    table = to_dh(from_screws(S, M), "modified")
    S2, M2 = to_screws(table.description())
    np.testing.assert_allclose(S2, S, atol=CLOSE, rtol=0)
    np.testing.assert_allclose(M2, M, atol=CLOSE, rtol=0)


def test_linear_part_comes_first():
    """Planar 2R, l = 1: joint 2 turns about z through (1, 0, 0), so v = −ω × p = (0, −1, 0)."""
    S, M = to_screws(load("planar-2r"))
    np.testing.assert_array_equal(S, [[0, 0, 0, 0, 0, 1], [0, -1, 0, 0, 0, 1]])
    np.testing.assert_array_equal(M[:3, 3], [2, 0, 0])
    textbook, _ = to_screws(load("planar-2r"), order="angular-first")
    np.testing.assert_array_equal(textbook[1], [0, 0, 1, 0, -1, 0])
    body, _ = to_screws(load("planar-2r"), screws="body")
    np.testing.assert_array_equal(body[1], [0, 1, 0, 0, 0, 1])
    a, b = from_screws(textbook, M, order="angular-first"), from_screws(S, M)
    assert a == b


def test_link_frames_stand_on_the_axes_with_the_roots_axes():
    robot = from_screws([[0, -1, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]], np.eye(4), limits=[Limit(-1.0, 1.0), None])
    turning, sliding, _ = robot.joints
    assert (turning.kind, turning.axis, turning.origin.xyz) == ("revolute", (0, 0, 1), (1, 0, 0))
    assert (sliding.kind, sliding.axis, sliding.origin.xyz) == ("prismatic", (0, 0, 1), (-1, 0, 0))
    assert turning.limit == Limit(-1.0, 1.0) and sliding.limit is None


def test_frame_chooses_the_path():
    robot = load("puma560")
    S, _ = to_screws(robot, "link3")
    assert S.shape == (3, 6)
    full, _ = to_screws(robot)
    np.testing.assert_array_equal(S, full[:3])
    fork = replace(
        robot,
        links=(*robot.links, Link("hand")),
        joints=(*robot.joints, Joint("grip", "revolute", "link2", "hand", axis=(1.0, 0.0, 0.0))),
    )
    assert to_screws(fork, "hand")[0].shape == (3, 6)
    with raises(DescriptionError, "unsupported tip"):
        screw_bodies(fork, "tool")
    with raises(UnknownNameError, "unknown-name"):
        to_screws(robot, "tol0")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([0, 0, 0, 0, 0, 0], "out-of-range axes"),
        ([0, 0, 0, 0, 0, 2], "wrong-value axes"),
        ([0.5, 0, 0, 0, 0, 0], "wrong-value axes"),
    ],
)
def test_bad_screws_get_a_sentence(row, sentence):
    with raises(DescriptionError, sentence):
        from_screws([row], np.eye(4))


def test_bad_arguments_get_a_sentence():
    good = [[0, 0, 0, 0, 0, 1]]
    with raises(InputError, "wrong-shape axes"):
        from_screws([[0, 0, 0, 0, 1]], np.eye(4))
    with raises(InputError, "not-finite axes"):
        from_screws([[np.nan, 0, 0, 0, 0, 1]], np.eye(4))
    with raises(InputError, "too-few axes"):
        from_screws(np.zeros((0, 6)), np.eye(4))
    with raises(InputError, "wrong-shape home"):
        from_screws(good, np.eye(3))
    with raises(InputError, "wrong-value home"):
        from_screws(good, np.diag([1, 1, -1, 1]))
    with raises(InputError, "wrong-shape inertials"):
        from_screws(good, np.eye(4), inertials=[None, Inertial(1.0, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))])
    with raises(UnknownNameError, "unknown-name"):
        from_screws(good, np.eye(4), order="wv")
    with raises(UnknownNameError, "unknown-name"):
        to_screws(from_dh([{"a": 1.0}]), screws="spatial")
