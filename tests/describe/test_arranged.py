"""Any robot on a base that moves, one robot out of a scene, loose objects left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.mjcf import read_mjcf
from dalembert.describe.scene import arrange, root_bodies
from errors import raises
from tolerances import ROUNDING, error

SCENE = """<mujoco model="scene"><compiler angle="radian"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="table" pos="1 0 0"><geom type="box" size=".1 .1 .1"/>
    <body name="arm" pos="0 0 .4" euler="0 0 .5"><geom type="box" size=".1 .1 .1"/>
      <body name="link" pos="0 0 .1"><joint name="a" axis="0 1 0"/><geom type="capsule" size=".05 .2" pos=".1 0 0"/>
        <body name="hand" pos="0 0 .4"><joint name="b" axis="1 0 0"/><geom type="sphere" size=".1"/></body>
      </body></body></body>
  <body name="dog" pos="0 1 .5"><freejoint name="root"/><geom type="box" size=".3 .1 .1"/>
    <body name="leg"><joint name="hip" axis="0 1 0"/><geom type="capsule" size=".03 .2" pos="0 0 -.2"/></body></body>
  <body name="cube" pos=".3 .1 .6"><freejoint name="loose"/><geom type="box" size=".1 .1 .1"/></body>
  <body name="ball" pos=".3 .1 .6"><freejoint/><geom type="sphere" size=".1"/></body></worldbody>
  <equality><weld body1="hand" body2="cube"/></equality></mujoco>"""


@pytest.fixture
def scene():
    return read_mjcf(SCENE)


def robot(description) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.Robot(description)


def test_root_bodies(scene):
    assert root_bodies(scene) == ["table", "dog", "cube", "ball"]
    assert robot(scene).nq == 2 + 7 + 1 + 7 + 7


def test_a_body_with_several_joints_is_taken_by_its_name():
    ball = '<geom type="sphere" size=".1"/>'
    text = f"""<mujoco><worldbody>
      <body name="cart"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>{ball}
        <body name="arm"><joint name="a"/>{ball}</body></body>
      <body name="other"><joint name="b"/>{ball}</body></worldbody></mujoco>"""
    taken = robot(arrange(read_mjcf(text), robot="cart"))
    assert taken.joint_names == ("x", "y", "a")
    with raises(dl.DescriptionError, "wrong-structure robot"):
        arrange(read_mjcf(text), robot="arm")


@pytest.mark.parametrize(
    ("names", "joints", "loops"),
    [
        ("table", ("a", "b"), 0),
        ("arm", ("a", "b"), 0),
        ("dog", ("root", "hip"), 0),
        (["dog", "table"], ("a", "b", "root", "hip"), 0),
        (("table", "cube"), ("a", "b", "loose"), 1),
    ],
)
def test_one_robot_out_of_a_scene(scene, names, joints, loops):
    """Its terms are those of the scene, rows and columns of its own."""
    whole, part = robot(scene), robot(arrange(scene, robot=names))
    assert part.joint_names == joints and len(part.loops) == loops
    q = whole.random_configuration(seed=3)
    own = {c.name: c for c in whole.model.coordinates}
    at = [k for name in joints for k in range(own[name].position, own[name].position + own[name].joint.nq)]
    rows = [k for name in joints for k in range(own[name].first, own[name].first + own[name].joint.nv)]
    assert error(part.mass_matrix(q[at]), whole.mass_matrix(q)[np.ix_(rows, rows)]) < ROUNDING
    assert error(part.home, whole.home[at]) == 0
    lost = any("'weld'" in warning for warning in part.warnings)
    assert lost == ({"a", "loose"} & set(joints) == {"a"})


def test_loose_objects_are_dropped_and_what_walks_stays(scene):
    kept = robot(arrange(scene, free="drop"))
    assert kept.joint_names == ("a", "b", "root", "hip") and kept.loops == ()
    assert arrange(scene, free="keep") == scene
    assert arrange(arrange(scene, robot="table"), free="drop") == arrange(scene, robot="table")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"robot": "tabel"}, "unknown-name"),
        ({"robot": "hand"}, "wrong-structure robot"),
        ({"robot": ()}, "wrong-type robot"),
        ({"robot": 3}, "wrong-type robot"),
        ({"base": "flying"}, "unknown-name"),
        ({"free": "no"}, "unknown-name"),
        ({"robot": ["cube", "ball"], "free": "drop"}, "wrong-structure free"),
        ({"robot": ["cube", "ball"], "base": "floating"}, "missing robot"),
        ({"robot": "dog", "base": "planar"}, "conflict base"),
    ],
)
def test_what_is_refused_names_the_choices(scene, how, sentence):
    with raises(dl.DalembertError, sentence):
        arrange(scene, **how)


def test_a_follower_without_its_leader_is_refused():
    text = SCENE.replace('<weld body1="hand" body2="cube"/>', '<joint joint1="hip" joint2="a"/>')
    with raises(dl.DescriptionError, "wrong-structure robot"):
        arrange(read_mjcf(text), robot="dog")


def test_a_floating_base_starts_where_it_is_written_and_moves_as_one_body(scene):
    fixed, free = robot(arrange(scene, robot="arm")), robot(arrange(scene, robot="arm", base="floating"))
    assert free.joint_names == ("root", "a", "b") and (free.nq, free.nv) == (9, 8)
    q = np.concatenate([free.home[:7], [0.3, -0.4]])
    assert error(free.fk(q, "hand"), fixed.fk(q[7:], "hand")) < ROUNDING
    assert error(free.mass_matrix(q)[6:, 6:], fixed.mass_matrix(q[7:])) < ROUNDING
    assert error(free.fk([*range(3), 0, 0, 0, 1, 0, 0], "table")[:3, 3], [0, 1, 2]) < ROUNDING  # the table flies along
    among = robot(arrange(scene, robot=["arm", "cube"], base="floating"))
    assert among.joint_names == ("root", "a", "b", "loose")
    assert arrange(scene, robot="dog", base="floating") == arrange(scene, robot="dog")


@pytest.mark.parametrize("base", ["floating", "planar"])
def test_a_bundled_robot_on_a_base(base):
    arm, free = dl.load("planar-2r"), dl.load("planar-2r", base=base)
    kind = free.model.coordinates[0].joint
    assert kind.kind == base and free.nv == kind.nv + 2 and free.description.dh is None
    q = np.concatenate([free.home[: kind.nq], [0.3, -0.4]])
    assert error(free.mass_matrix(q)[kind.nv :, kind.nv :], arm.mass_matrix(q[kind.nq :])) < ROUNDING
    assert error(free.fk(q), arm.fk(q[kind.nq :])) < ROUNDING
    assert dl.load("planar-2r", base="fixed").description == arm.description
