"""Closed chains as data: loops and the home configuration read, written, checked, and carried or refused everywhere."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dalembert as dl
from dalembert.algorithms import kinematics
from dalembert.algorithms.relations import RELATIONS
from dalembert.describe.check import check
from dalembert.describe.description import (
    LOOP_KINDS,
    LOOPS_WITHOUT_AXIS,
    Description,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mimic,
    Origin,
)
from dalembert.describe.dh import to_dh
from dalembert.describe.screws import screw_bodies, to_screws
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_write import write_toml
from dalembert.describe.urdf_read import LOOP_TYPES, read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DescriptionError, InputError, Place
from dalembert.kinematics import nearest_singularity as nearest, singular, statics
from dalembert.kinematics.ik import closed_form, tracking
from dalembert.model import build
from dalembert.model.lean import lean
from errors import fields_of, raises

BODY = Inertial(1.0, (0.2, 0.0, 0.0, 0.3, 0.0, 0.4), Origin((0.1, 0.2, 0.0)))
CLOSURE = Loop("closure", "hinge", "coupler", "rocker", Origin((0.5, 0.0, 0.0)), Origin((0.4, 0.0, 0.0)))


def linkage(*loops: Loop, **changes: object) -> Description:
    """base –a– crank –b– coupler, base –c– rocker, and frames fixed to base and coupler."""
    z = (0.0, 0.0, 1.0)
    joints = (
        Joint("a", "continuous", "base", "crank", axis=z),
        Joint("b", "continuous", "crank", "coupler", Origin((0.2, 0.0, 0.0)), z),
        Joint("c", "revolute", "base", "rocker", Origin((0.6, 0.0, 0.0)), z, Limit(-3.0, 3.0, 1.0, 1.0)),
        Joint("d", "fixed", "coupler", "pin", Origin((0.3, 0.1, 0.0), (0.1, 0.2, 0.3))),
        Joint("e", "fixed", "base", "wall", Origin((0.0, 1.0, 0.0))),
    )
    links = (Link("base"), *(Link(name, BODY) for name in ("crank", "coupler", "rocker")), Link("pin"), Link("wall"))
    return replace(Description("linkage", links, joints, tip="pin", loops=loops), **changes)  # type: ignore[arg-type]


def refused(description: Description) -> str:
    with pytest.raises(DescriptionError) as caught:
        check(description)
    return fields_of(caught.value)


# ------------------------------------------------------------------------------------------------- one table of kinds
def test_the_kinds_are_those_of_the_equations():
    assert tuple(RELATIONS) == LOOP_KINDS
    assert tuple(kind for kind, relation in RELATIONS.items() if not relation.axis) == LOOPS_WITHOUT_AXIS
    assert [kind for kind, relation in RELATIONS.items() if relation.length] == ["distance"]
    assert set(LOOP_TYPES.values()) <= set(LOOP_KINDS)


# -------------------------------------------------------------------------------------------------------------- check
def test_a_good_loop_is_unchanged():
    assert check(linkage(CLOSURE)) == linkage(CLOSURE)
    assert check(linkage(CLOSURE)).warnings == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"first": "copler"}, "unknown-name link"),
        ({"second": "x"}, "unknown-name link"),
        ({"second": "coupler"}, "wrong-structure loop"),
        ({"second": "pin"}, "wrong-structure loop"),
        ({"first": "wall", "second": "base"}, "wrong-structure loop"),
        ({"kind": "hing"}, "unknown-name kind"),
        ({"kind": "gear"}, "unknown-name kind"),
        ({"axis": (0.0, 0.0, 0.0)}, "out-of-range axis"),
        ({"axis": (0.0, math.nan, 0.0)}, "not-finite"),
        ({"kind": "ball", "axis": (1.0, 0.0, 0.0)}, "no-effect axis"),
        ({"length": 1.0}, "no-effect length"),
        ({"kind": "distance"}, "missing length"),
        ({"kind": "distance", "length": 0.0}, "out-of-range length"),
        ({"kind": "distance", "length": -1.0}, "out-of-range length"),
        ({"kind": "distance", "length": math.inf}, "not-finite"),
        ({"first_origin": Origin((math.inf, 0.0, 0.0))}, "not-finite"),
        ({"second_origin": Origin(rpy=(0.0, math.nan, 0.0))}, "not-finite"),
        ({"name": " "}, "missing name"),
    ],
)
def test_bad_loops_are_refused(changes, sentence):
    assert refused(linkage(replace(CLOSURE, **changes))) == sentence


def test_where_it_was_written_is_told():
    with pytest.raises(DescriptionError) as caught:
        check(linkage(replace(CLOSURE, second="x", place=Place("f.urdf", 7, 3))))
    assert str(caught.value.place) == "f.urdf:7:3"


def test_two_loops_of_one_name_are_refused():
    assert refused(linkage(CLOSURE, CLOSURE)) == "duplicate loop"


def test_axes_are_made_unit_vectors():
    long = check(linkage(replace(CLOSURE, axis=(0.0, 3.0, 4.0))))
    assert long.loops[0].axis == (0.0, 0.6, 0.8)
    assert len(long.warnings) == 1 and "0 0.6 0.8" in long.warnings[0]
    assert check(long) == long and check(long).warnings == long.warnings
    rounded = check(linkage(replace(CLOSURE, axis=(0.7071, 0.7071, 0.0))))
    assert math.hypot(*rounded.loops[0].axis) == pytest.approx(1, abs=1e-15) and rounded.warnings == ()


def test_either_side_may_be_the_base():
    loops = (replace(CLOSURE, second="base"), Loop("other", "ball", "wall", "pin"))
    assert check(linkage(*loops)).loops == loops


def test_a_long_chain_of_fixed_links_is_one_body():
    joints = tuple(Joint(f"f{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(3000))
    links = tuple(Link(f"l{i}") for i in range(3001))
    d = Description("long", links, joints, loops=(Loop("x", "ball", "l1500", "l3000"),))
    assert refused(d) == "wrong-structure loop"


@pytest.mark.parametrize(
    ("home", "sentence"),
    [
        ((("aa", 0.1),), "unknown-name home"),
        ((("d", 0.1),), "wrong-structure home"),
        ((("a", 0.1), ("a", 0.2)), "duplicate home"),
        ((("a", math.nan),), "not-finite"),
    ],
)
def test_bad_homes_are_refused(home, sentence):
    assert refused(linkage(home=home)) == sentence


def test_a_joint_that_follows_has_no_home_of_its_own():
    d = linkage()
    joints = tuple(replace(j, mimic=Mimic("a")) if j.name == "b" else j for j in d.joints)
    assert refused(replace(d, joints=joints, home=(("b", 0.1),))) == "wrong-structure home"


def test_a_home_may_be_a_dictionary_and_beyond_the_limits():
    d = check(linkage(home={"c": 4, "a": 1}))
    assert d.home == (("c", 4.0), ("a", 1.0))
    assert len(d.warnings) == 1 and "'c'" in d.warnings[0]
    assert check(d) == d and check(d).warnings == d.warnings


# --------------------------------------------------------------------------------------------------------------- TOML
TREE = write_toml(linkage())


def read(text: str) -> Description:
    return read_toml(text, file="f.toml")


def bad_toml(text: str) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        read(text)
    return caught.value


def test_toml_on_one_line():
    line = 'loops = [{ kind = "hinge", first = "coupler", first_xyz = [0.5, 0, 0], second = "rocker", '
    line += "second_xyz = [0.4, 0, 0] }]\n"
    assert read(line + TREE).loops == (replace(CLOSURE, name="loop1"),)


def test_toml_as_tables():
    text = (
        TREE
        + """
[[loops]]
name = "closure"
kind = "hinge"
first = "coupler"
first_xyz = [0.5, 0, 0]
second = "rocker"
second_xyz = [0.4, 0, 0]
[[loops]]
kind = "distance"
first = "pin"
first_rpy_deg = [90, 0, 0]
second = "base"
second_rpy = [0, 0.5, 0]
length = 0.7
[home]
a = 0.5
[home_deg]
b = -90
"""
    )
    d = read(text)
    first, second = Origin(rpy=(math.pi / 2, 0, 0)), Origin(rpy=(0, 0.5, 0))
    assert d.loops == (CLOSURE, Loop("loop2", "distance", "pin", "base", first, second, length=0.7))
    assert d.loops[0].place.line == text.splitlines().index("[[loops]]") + 1
    assert d.home == (("a", 0.5), ("b", -math.pi / 2))


def test_toml_of_a_dh_table_may_have_loops():
    text = """
name = "x"
loops = [{ kind = "ball", first = "tool", second = "base", second_xyz = [1, 1, 0] }]
home = { joint1 = 0.5 }
[[dh.rows]]
a = 1
inertial = { mass = 1, inertia = [1, 1, 1] }
[[dh.rows]]
a = 1
inertial = { mass = 1, inertia = [1, 1, 1] }
"""
    d = read(text)
    assert d.loops == (Loop("loop1", "ball", "tool", "base", second_origin=Origin((1.0, 1.0, 0.0))),)
    assert dl.Robot(d).home.tolist() == [0.5, 0.0]


START = 'loops = [{ kind = "hinge", first = "coupler", second = "rocker"'


@pytest.mark.parametrize(
    ("text", "fields", "place"),
    [
        (START.replace("hinge", "hing") + "}]\n" + TREE, "unknown-name kind", "f.toml:1: loops[0].kind"),
        (START + ", parent = 1}]\n" + TREE, "unknown-name parent", "f.toml:1: loops[0].parent"),
        ('loops = [{ kind = "hinge", first = "pin" }]\n' + TREE, "missing second", "f.toml:1: loops[0]"),
        (START + ", axis = [1, 0]}]\n" + TREE, "wrong-shape axis", "f.toml:1: loops[0].axis"),
        (START + ", axis = [1, 0, nan]}]\n" + TREE, "not-finite axis", "f.toml:1: loops[0].axis[2]"),
        (START + ", first_xyz = 'x'}]\n" + TREE, "wrong-type first_xyz", "f.toml:1: loops[0].first_xyz"),
        (
            START + ", first_rpy = [0, 0, 0], first_rpy_deg = [0, 0, 0]}]\n" + TREE,
            "conflict first_rpy",
            "f.toml:1: loops[0].first_rpy",
        ),
        (START.replace("rocker", "roker") + "}]\n" + TREE, "unknown-name link", "f.toml:1"),
        ("home = { aa = 1 }\n" + TREE, "unknown-name aa", "f.toml:1: home.aa"),
        ("home = { a = 'x' }\n" + TREE, "wrong-type home", "f.toml:1: home"),
        ("home = { a = 1 }\nhome_deg = { a = 1 }\n" + TREE, "duplicate a", "f.toml:2: home_deg.a"),
        (
            "home_deg = { a = 1 }\n" + TREE.replace('"continuous"', '"prismatic"'),
            "wrong-unit a",
            "f.toml:1: home_deg.a",
        ),
    ],
)
def test_bad_toml_is_refused(text, fields, place):
    error = bad_toml(text)
    assert (fields_of(error), str(error.place)) == (fields, place)


def test_a_bad_table_is_told_with_its_line():
    text = TREE + '\n[[loops]]\nkind = "ball"\nfirst = "pin"\nsecond = "rocker"\nlength = "x"\n'
    line = text.splitlines().index('length = "x"') + 1
    error = bad_toml(text)
    assert (fields_of(error), str(error.place)) == ("wrong-type length", f"f.toml:{line}: loops[0].length")


# --------------------------------------------------------------------------------------------------------------- URDF
URDF = """<robot name="linkage">
  <link name="base"/> <link name="crank"/> <link name="rocker"/>
  <joint name="a" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 0 1"/></joint>
  <joint name="c" type="continuous"><parent link="base"/><child link="rocker"/><axis xyz="0 0 1"/></joint>
  %s
</robot>"""
ELEMENT = """<loop_joint name="closure" type="revolute">
    <link1 link="crank" xyz="1 0 0" rpy="0 0.5 0"/>
    <link2 link="rocker"/>
    <axis xyz="0 1 0"/>
  </loop_joint>"""


@pytest.mark.filterwarnings("ignore")
def test_urdf_is_read():
    assert read_urdf(URDF % ELEMENT).loops == (
        Loop("closure", "hinge", "crank", "rocker", Origin((1.0, 0.0, 0.0), (0.0, 0.5, 0.0)), axis=(0.0, 1.0, 0.0)),
    )


@pytest.mark.parametrize(("written", "kind"), [*LOOP_TYPES.items(), *((kind, kind) for kind in LOOP_KINDS)])
def test_urdf_types(written, kind):
    text = ELEMENT.replace("revolute", written)
    if kind == "distance":
        text = text.replace("</loop_joint>", '<length value="2"/></loop_joint>')
    (loop,) = read_urdf(URDF % text).loops
    assert loop.kind == kind and loop.length == (2.0 if kind == "distance" else None)
    assert loop.axis == ((0, 0, 1) if kind in LOOPS_WITHOUT_AXIS else (0, 1, 0))
    (bare,) = read_urdf(URDF % text.replace('<axis xyz="0 1 0"/>', "")).loops
    assert bare.axis == ((0, 0, 1) if kind in LOOPS_WITHOUT_AXIS else (1, 0, 0))  # URDF's own default


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name="closure" ', "", "missing name"),
        ("revolute", "screw", "unknown-name type"),
        ('<link2 link="rocker"/>', "", "missing link2"),
        ('link="crank"', "", "missing link"),
        ('link="crank"', 'link="cramp"', "unknown-name link"),
        ('"0 1 0"', '"0 1"', "syntax xyz"),
        ('"0 1 0"', '"0 0 0"', "out-of-range axis"),
        ("</loop_joint>", '<axis xyz="1 0 0"/></loop_joint>', "duplicate axis"),
        ("</loop_joint>", "<length/></loop_joint>", "missing value"),
    ],
)
def test_bad_urdf_is_refused(old, new, sentence):
    with pytest.raises(DescriptionError) as caught:
        read_urdf(URDF % ELEMENT.replace(old, new), file="f.urdf")
    assert fields_of(caught.value) == sentence


def test_what_urdf_says():
    text = write_urdf(linkage(replace(CLOSURE, axis=(0.0, 1.0, 0.0)), home=(("a", 0.5),)))
    assert (
        """
  <loop_joint name="closure" type="revolute">
    <link1 link="coupler" xyz="0.5 0 0" rpy="0 0 0"/>
    <link2 link="rocker" xyz="0.4 0 0" rpy="0 0 0"/>
    <axis xyz="0 1 0"/>
  </loop_joint>
  <dalembert:home joint="a" position="0.5"/>
</robot>
"""
        in text
    )


def test_other_programs_read_the_tree_of_it():
    pin = pytest.importorskip("pinocchio")
    assert pin.buildModelFromXML(write_urdf(linkage(CLOSURE, home=(("a", 0.5),)))).njoints == 4


# --------------------------------------------------------------------------------------------------------- round trips
numbers = st.floats(-1e3, 1e3, allow_nan=False)
vectors = st.tuples(numbers, numbers, numbers)
origins = st.builds(Origin, vectors, vectors)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)
names = texts.filter(str.strip)
directions = st.tuples(numbers, numbers, numbers).filter(lambda a: math.hypot(*a) > 1e-6)


@st.composite
def loops(draw):
    kind = draw(st.sampled_from(LOOP_KINDS))
    pairs = [("coupler", "rocker"), ("pin", "base"), ("wall", "crank"), ("rocker", "pin")]
    first, second = draw(st.sampled_from(pairs))
    axis = (0.0, 0.0, 1.0) if kind in LOOPS_WITHOUT_AXIS else draw(directions)
    length = draw(st.floats(1e-6, 1e6)) if kind == "distance" else None
    return Loop(draw(names), kind, first, second, draw(origins), draw(origins), axis, length)


homes = st.dictionaries(st.sampled_from("abc"), st.floats(-2.9, 2.9)).map(lambda d: tuple(d.items()))


@given(st.lists(loops(), max_size=4, unique_by=lambda loop: loop.name), homes)
@settings(max_examples=60)
def test_round_trips_are_exact(made, home):
    d = check(linkage(*made, home=home))
    for text, reader in ((write_toml(d), read_toml), (write_urdf(d), read_urdf)):
        back = reader(text)
        assert back == d
        assert back.loops == d.loops and back.home == d.home  # what == compares, said aloud


# --------------------------------------------------------------------------------------------------------------- model
def oblique() -> Description:
    """The linkage with axes that are none of x, y, z, so that the lean model turns its frames."""
    d = linkage(CLOSURE, Loop("far", "ball", "pin", "wall", Origin((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))))
    axes = iter([(0.6, 0.0, 0.8), (0.0, 0.8, -0.6), (0.48, 0.6, 0.64)])
    return check(replace(d, joints=tuple(j if j.kind == "fixed" else replace(j, axis=next(axes)) for j in d.joints)))


def test_frames_of_loops_are_on_the_bodies_that_carry_them():
    d = oblique()
    model = build(d)
    robot = dl.Robot(d)
    q = np.random.default_rng(0).uniform(-1, 1, 3)
    assert [(k.name, k.kind, k.first.body, k.second.body) for k in model.loops] == [
        ("closure", "hinge", 1, 2),
        ("far", "ball", 1, -1),
    ]
    for loop, written in zip(model.loops, d.loops, strict=True):
        for frame, link, origin in (
            (loop.first, written.first, written.first_origin),
            (loop.second, written.second, written.second_origin),
        ):
            wanted = robot.fk(q, link) @ dl.pose(xyz=origin.xyz, rpy=origin.rpy)
            assert np.allclose(kinematics.frame_pose(model, q, frame).matrix(), wanted, atol=1e-14)
            leaned = next(k for k in lean(model).loops if k.name == loop.name)
            turned = leaned.first if frame is loop.first else leaned.second
            assert np.allclose(kinematics.frame_pose(lean(model), q, turned).matrix(), wanted, atol=1e-14)
    assert lean(model).loops != model.loops  # the test above says something


# --------------------------------------------------------------------------------------------------------------- Robot
@pytest.fixture(scope="module")
def robot() -> dl.Robot:
    return dl.Robot(linkage(CLOSURE, home=(("c", 0.5),)))


@pytest.mark.parametrize("name", dl.robots.names())
def test_home_lies_within_the_limits(name):
    arm = dl.load(name)
    assert ((arm.limits.lower <= arm.home) & (arm.home <= arm.limits.upper)).all()


def test_a_joint_without_a_home_is_at_zero_or_in_its_range():
    joint = dl.load("stanford").description.joints[2]
    for lower, upper, home in ((-1, 3, 0), (1, 3, 2), (-3, -1, -2), (1, None, 1), (None, -1, -1)):
        limits = replace(joint.limit, lower=lower, upper=upper)
        d = dl.load("stanford").description
        joints = tuple(replace(j, limit=limits) if j.name == joint.name else j for j in d.joints)
        assert dl.Robot(replace(d, joints=joints)).home.tolist() == [0, 0, home, 0, 0, 0]


def test_what_a_robot_says(robot):
    assert robot.loops == ("closure",)
    assert robot.home.tolist() == [0.0, 0.0, 0.5]
    assert repr(robot) == "<Robot 'linkage': 3 joints, 1 loop, 6 frames>"
    assert dl.load("panda").loops == ()
    two = robot.with_loop("ball", "pin", "wall")
    assert two.loops == ("closure", "loop2") and "2 loops" in repr(two)
    assert robot.loops == ("closure",)  # never changed


def test_with_loop_is_the_file_in_python():
    made = dl.Robot(linkage()).with_loop(
        "hinge",
        "coupler",
        "rocker",
        first_origin=(0.5, 0, 0),
        second_origin=dl.describe.Origin((0.4, 0, 0)),
        name="closure",
    )
    assert made.description == linkage(CLOSURE)
    with raises(DescriptionError, "unknown-name link"):
        made.with_loop("ball", "pin", "rockr")
    with raises(DescriptionError, "duplicate loop"):
        made.with_loop("ball", "pin", "rocker", name="closure")
    with raises(InputError, "wrong-shape first_origin"):
        made.with_loop("ball", "pin", "rocker", first_origin=(0, 0))
    with raises(InputError, "wrong-type length"):
        made.with_loop("distance", "pin", "rocker", length="x")
    again = made.with_loop("ball", "pin", "rocker", name="loop2").with_loop("ball", "pin", "rocker")
    assert again.loops == ("closure", "loop2", "loop3")
    assert again.with_loop("ball", "pin", "base", name="loop5").with_loop("ball", "pin", "wall").loops[-1] == "loop6"


def test_tree_is_the_same_robot_without_loops(robot):
    tree = robot.tree()
    assert tree.loops == () and tree.description == linkage(home=(("c", 0.5),))
    assert robot.tree() is tree and tree.tree() is tree
    q = np.array([0.1, 0.2, 0.3])
    assert np.array_equal(tree.mass_matrix(q), robot.mass_matrix(q))
    assert np.array_equal(tree.jacobian(q), robot.jacobian(q))
    assert np.isfinite(tree.forward_dynamics(q, q, q)).all()


def test_with_home(robot):
    moved = robot.with_home([1, 2, -1])
    assert moved.home.tolist() == [1.0, 2.0, -1.0] and moved.loops == robot.loops
    with raises(InputError, "wrong-shape home"):
        robot.with_home([1, 2])
    with raises(InputError, "not-finite home"):
        robot.with_home([1, 2, np.nan])


def test_what_remakes_a_robot_keeps_loops_and_home(robot):
    made = [
        robot.with_gravity((0, 0, 1)),
        robot.with_tip("rocker"),
        robot.with_threads(1),
        robot.with_payload(2.0),
        robot.with_payload(2.0).without_payload(),
        pickle.loads(pickle.dumps(robot)),
    ]
    for other in made:
        assert other.description.loops == robot.description.loops and other.description.home == robot.description.home


def test_a_loop_may_hold_a_payload_and_falls_with_it(robot):
    held = robot.with_payload(1.0).with_loop("ball", "payload", "wall")
    with raises(DescriptionError, "unknown-name link"):
        held.without_payload()


Q = np.zeros(3)
TREE_ONLY = {
    "forward_dynamics": lambda r: r.forward_dynamics(Q, Q, Q),
    "forward_dynamics, friction": lambda r: r.forward_dynamics(Q, Q, Q, friction=True),
    "forward_dynamics, factorized": lambda r: r.forward_dynamics(Q, Q, Q, method="factorized"),
    "its kernel": lambda r: r.kernel("forward_dynamics"),
    "forward_dynamics_derivatives": lambda r: r.forward_dynamics_derivatives(Q, Q, Q),
    "linearize": lambda r: r.linearize(Q, Q, Q),
    "ik": lambda r: r.ik(np.eye(4)),
    "ik with a posture": lambda r: r.ik(np.eye(4), secondary=Q),
    "ik_all": lambda r: r.ik_all(np.eye(4)),
    "tracking_velocity": lambda r: tracking.tracking_velocity(r, Q, np.eye(4)),
    "inverse_velocity": lambda r: r.inverse_velocity(Q, np.zeros(6)),
    "null_space": lambda r: r.null_space(Q),
    "singularities": lambda r: r.singularities(Q),
    "nearest_singularity": lambda r: r.nearest_singularity(Q),
    "singular_set": lambda r: nearest.singular_set(r),
    "decouple": lambda r: singular.decouple(r, Q),
    "manipulability": lambda r: r.manipulability(Q),
    "manipulability_gradient": lambda r: r.manipulability_gradient(Q),
    "velocity_ellipsoid": lambda r: r.velocity_ellipsoid(Q),
    "force_ellipsoid": lambda r: r.force_ellipsoid(Q),
    "acceleration_ellipsoid": lambda r: r.acceleration_ellipsoid(Q, torques=1.0),
    "effective_mass": lambda r: r.effective_mass(Q),
    "task_space": lambda r: r.task_space(Q),
    "its kernel too": lambda r: r.kernel("task_space"),
    "static_torque": lambda r: r.static_torque(Q, {r.tip: np.zeros(6)}),
    "holding_torque": lambda r: statics.holding_torque(r, Q, 1.0),
    "largest_force": lambda r: r.largest_force(Q, (1, 0, 0)),
    "workspace": lambda r: r.workspace(10),
    "equations": lambda r: r.equations(),
}


@pytest.mark.parametrize("call", TREE_ONLY.values(), ids=TREE_ONLY)
def test_what_would_ignore_the_loops_is_refused(robot, call):
    with pytest.raises(InputError, match="'closure'"):
        call(robot)


def test_the_terms_of_the_dynamics_are_the_trees(robot):
    tree = robot.tree()
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    for name, arguments in {
        "fk": (q,),
        "jacobian_dot": (q, qd),
        "inverse_dynamics": (q, qd, qdd),
        "coriolis_matrix": (q, qd),
        "gravity_torque": (q,),
        "kinetic_energy": (q, qd),
        "regressor": (q, qd, qdd),
    }.items():
        assert np.array_equal(getattr(robot, name)(*arguments), getattr(tree, name)(*arguments)), name


def test_why_there_is_no_closed_form(robot):
    assert closed_form.reason(robot)


def test_tables_of_joints_have_no_loops():
    d = check(linkage(CLOSURE))
    for convert in (to_dh, to_screws, screw_bodies):
        with pytest.raises(DescriptionError) as caught:
            convert(d)
        assert fields_of(caught.value) == "unsupported loops"


def test_files_carry_loops(tmp_path, robot):
    for suffix in ("toml", "urdf"):
        file = tmp_path / f"linkage.{suffix}"
        getattr(robot, f"to_{suffix}")(file)
        assert dl.load(file).description == robot.description
