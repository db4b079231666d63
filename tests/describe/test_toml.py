"""Robot files in TOML: what they may say, that writing and reading is the identity, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from dalembert import robots
from dalembert.describe.check import check
from dalembert.describe.description import (
    Box,
    Capsule,
    Cylinder,
    Description,
    Drive,
    Inertial,
    Joint,
    Limit,
    Link,
    Mesh,
    Mimic,
    Origin,
    Shape,
    Sphere,
)
from dalembert.describe.dh import to_dh
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_write import write_dh_toml, write_toml
from dalembert.errors import DescriptionError
from errors import fields_of, raises

TREE = '''name = "x"
notes = """
[[joints]]
name = 3
"""

[[links]]
name = "a"

[[links]]
name = "b"

[[joints]]
name = "j"
kind = "revolute"
parent = "a"
child = "b"
axis = [0, 0, 1]
'''
JOINT_LINE, NEXT_LINE = 13, 19  # of [[joints]], and of what a test appends

TABLE = """name = "x"
[[dh.rows]]
a = 1.0
[[dh.rows]]
"""


def link(description, name):
    return next(k for k in description.links if k.name == name)


def joint(description, name):
    return next(j for j in description.joints if j.name == name)


def test_tree_form_says_everything_about_a_joint():
    robot = read_toml(
        TREE
        + """xyz = [1, 2, 3]
rpy_deg = [90, 0, -180]
limit = { lower_deg = -90, upper = 1.5, effort = 10, velocity_deg = 180 }

[joints.drive]
rotor_inertia = 2e-4
gear_ratio = -50
damping = 0.1
coulomb = [0.3, 0.2]
stiffness = 4
rest_deg = 45

[[links]]
name = "c"
inertial = { mass = 2, com = [0, 0, 1], rpy_deg = [0, 90, 0], inertia = [1, 0.1, 0.2, 1.1, 0.3, 1.2] }

[[joints]]
name = "k"
kind = "continuous"
parent = "b"
child = "c"
axis = [1, 0, 0]
mimic = { joint = "j", multiplier = -2, offset_deg = 90 }
drive = { coulomb = 0.5 }

[[frames]]
name = "eye"
link = "c"
xyz = [0, 0, 0.1]
"""
    )
    j, k = joint(robot, "j"), joint(robot, "k")
    assert j.origin == Origin((1.0, 2.0, 3.0), (math.pi / 2, 0.0, -math.pi))
    assert j.limit == Limit(-math.pi / 2, 1.5, 10.0, math.pi)
    assert j.drive == Drive(2e-4, -50.0, 0.1, (0.3, 0.2), 4.0, math.pi / 4)
    assert k.mimic == Mimic("j", -2.0, math.pi / 2)
    assert k.drive.coulomb == (0.5, 0.5)
    turned = Origin((0.0, 0.0, 1.0), (0.0, math.pi / 2, 0.0))
    assert link(robot, "c").inertial == Inertial(2.0, (1.0, 0.1, 0.2, 1.1, 0.3, 1.2), turned)
    eye = joint(robot, "eye_fixed")
    assert (eye.kind, eye.parent, eye.child, eye.origin.xyz) == ("fixed", "c", "eye", (0.0, 0.0, 0.1))
    assert robot.gravity == (0.0, 0.0, -9.81) and robot.tip is None
    assert j.place.line == JOINT_LINE


def test_dh_form():
    robot = read_toml(
        """name = "arm"
gravity = [0, -9.81, 0]
tip = "flange"
[dh]
convention = "modified"
base = { xyz = [0, 0, 1] }
tool = { xyz = [0, 0, 0.5], rpy_deg = [0, 0, 90] }
[dh.root]
name = "ground"
inertial = { mass = 3 }
[[dh.rows]]
joint = "waist"
link = "trunk"
d = 0.3
offset_deg = 90
[[dh.rows]]
alpha_deg = -90
kind = "prismatic"
limit = { lower = 0, upper = 1 }
inertial = { mass = 1, inertia = [1, 2, 2] }
"""
    )
    assert [k.name for k in robot.links] == ["ground", "trunk", "link2", "flange"]
    assert [j.name for j in robot.joints] == ["waist", "joint2", "flange_fixed"]
    assert joint(robot, "waist").origin == Origin((0.0, 0.0, 1.3), (0.0, 0.0, math.pi / 2))
    assert joint(robot, "joint2").origin == Origin((0.0, 0.0, 0.0), (-math.pi / 2, 0.0, 0.0))
    assert joint(robot, "joint2").limit == Limit(0.0, 1.0)
    assert joint(robot, "flange_fixed").origin == Origin((0.0, 0.0, 0.5), (0.0, 0.0, math.pi / 2))
    assert link(robot, "link2").inertial.inertia == (1.0, 0.0, 0.0, 2.0, 0.0, 2.0)
    assert link(robot, "ground").inertial.mass == 3.0
    assert robot.tip == "flange" and robot.gravity == (0.0, -9.81, 0.0)


def test_rows_may_be_written_inline_and_standard_is_the_default():
    short = 'name = "x"\ndh.rows = [{ d = 1, alpha_deg = 90 }, { a = 1 }]\n'
    rows = "[[dh.rows]]\nd = 1\nalpha_deg = 90\n[[dh.rows]]\na = 1\n"
    long = 'name = "x"\n[dh]\nconvention = "standard"\n' + rows
    assert read_toml(short) == read_toml(long)
    assert read_toml(short) != read_toml(long.replace("standard", "modified"))


def test_tip_of_a_table_may_be_a_link_that_exists():
    robot = read_toml('name = "x"\ntip = "link1"\n[[dh.rows]]\na = 1\n[[dh.rows]]\na = 1\n')
    assert robot.tip == "link1" and "tool" in [k.name for k in robot.links]
    eye = '[[frames]]\nname = "eye"\nlink = "tool"\n'
    robot = read_toml('name = "x"\ntip = "eye"\n[[dh.rows]]\na = 1\n' + eye)
    assert robot.tip == "eye" and joint(robot, "eye_fixed").parent == "tool"


def test_shapes():
    robot = read_toml(
        """name = "x"
[[links]]
name = "a"
shapes = [
    { box = [1, 2, 3], color = "#ff000080" },
    { cylinder = { radius = 0.1, length = 2 }, xyz = [1, 0, 0], color = [0, 1, 0] },
    { sphere = { radius = 0.5 }, name = "ball", material = "steel", color = [0, 0, 1, 0.5] },
    { capsule = { radius = 0.1, from = [1, 0, 0], to = [3, 0, 0] } },
    { mesh = { file = "a.stl", scale = [1, 1, 2] } },
]
collisions = [{ sphere = { radius = 1 } }]
"""
    )
    box, cylinder, ball, capsule, mesh = robot.links[0].visuals
    assert box == Shape(Box((1.0, 2.0, 3.0)), color=(1.0, 0.0, 0.0, 128 / 255))
    assert cylinder == Shape(Cylinder(0.1, 2.0), Origin((1.0, 0.0, 0.0)), color=(0.0, 1.0, 0.0, 1.0))
    assert ball == Shape(Sphere(0.5), name="ball", material="steel", color=(0.0, 0.0, 1.0, 0.5))
    assert capsule == Shape(Capsule(0.1, 2.0), Origin((2.0, 0.0, 0.0), (0.0, math.pi / 2, 0.0)))
    assert mesh.geometry == Mesh("a.stl", (1.0, 1.0, 2.0))
    assert robot.links[0].collisions == (Shape(Sphere(1.0)),)


@pytest.mark.parametrize(
    ("start", "end"), [((0, 0, 0), (0.3, -0.4, 1.2)), ((1, 1, 1), (1, 1, 0)), ((0, 0, 0), (0, 0, 2))]
)
def test_from_and_to_are_the_ends_of_the_axis(start, end):
    text = f"capsule = {{ radius = 0.1, from = {list(start)}, to = {list(end)} }}"
    robot = read_toml(f'name = "x"\n[[links]]\nname = "a"\nshapes = [{{ {text} }}]\n')
    shape = robot.links[0].visuals[0]
    roll, pitch, yaw = shape.origin.rpy
    # the third column of Rz(yaw) Ry(pitch) Rx(roll)
    z = (
        math.cos(yaw) * math.sin(pitch) * math.cos(roll) + math.sin(yaw) * math.sin(roll),
        math.sin(yaw) * math.sin(pitch) * math.cos(roll) - math.cos(yaw) * math.sin(roll),
        math.cos(pitch) * math.cos(roll),
    )
    half = shape.geometry.length / 2
    for side, point in ((-1, start), (1, end)):
        reached = [c + side * half * a for c, a in zip(shape.origin.xyz, z, strict=True)]
        assert math.dist(reached, point) < 1e-14


# writing


@pytest.mark.parametrize("name", robots.names())
def test_bundled_robots_survive_writing(name):
    robot = read_toml(robots.text(name))
    assert read_toml(write_toml(robot)) == robot


numbers = st.floats(-1e3, 1e3, allow_nan=False)
positive = st.floats(1e-6, 1e3)
vectors = st.tuples(numbers, numbers, numbers)
origins = st.builds(Origin, vectors, vectors)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = texts.filter(str.strip)
geometries = st.one_of(
    st.builds(Box, st.tuples(positive, positive, positive)),
    st.builds(Cylinder, positive, positive),
    st.builds(Capsule, positive, positive),
    st.builds(Sphere, positive),
    st.builds(Mesh, st.just("part.stl"), st.tuples(positive, positive, positive)),
)
channels = st.floats(0, 1)
shapes = st.builds(
    Shape, geometries, origins, st.none() | names, st.none() | st.tuples(channels, channels, channels, channels)
)
inertials = st.builds(lambda m, d, origin: Inertial(m, (d, 0.0, 0.0, d, 0.0, d), origin), positive, positive, origins)
drives = st.builds(Drive, positive, numbers.filter(bool), positive, st.tuples(positive, positive), positive, numbers)
limits = st.builds(
    lambda a, b, effort, speed: Limit(min(a, b), max(a, b), effort, speed),
    numbers,
    numbers,
    st.none() | positive,
    st.none() | positive,
)


@st.composite
def descriptions(draw):
    n = draw(st.integers(0, 4))
    links = [
        Link(f"l{i}", draw(st.none() | inertials), tuple(draw(st.lists(shapes, max_size=2)))) for i in range(n + 1)
    ]
    joints = [
        Joint(
            f"j{i}",
            draw(st.sampled_from(["revolute", "prismatic", "fixed"])),
            f"l{draw(st.integers(0, i))}",
            f"l{i + 1}",
            draw(origins),
            draw(st.sampled_from([(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.0, 0.8)])),
            draw(st.none() | limits),
            drive=draw(drives),
        )
        for i in range(n)
    ]
    tip = draw(st.sampled_from([None, "l0", f"l{n}"]))
    return check(Description(draw(names), tuple(links), tuple(joints), draw(vectors), tip, draw(texts)))


@settings(max_examples=150, deadline=None)
@given(descriptions())
def test_writing_and_reading_is_the_identity(robot):
    again = read_toml(write_toml(robot))
    assert again == robot


NOTES = ["", "a\nb", "\n", 'a\n"""\n', "a\\\nb\n", "a\r\nb", 'end\n"', "\n\nx", "tab\t\n"]


@pytest.mark.parametrize("notes", NOTES)
def test_notes_are_kept_to_the_letter(notes):
    robot = Description("x", (Link("a"),), notes=notes)
    assert read_toml(write_toml(robot)).notes == notes


def test_mimic_and_six_inertias_are_written():
    tree = read_toml(TREE)
    body = Link("c", Inertial(1.0, (1.0, 0.1, 0.0, 1.0, 0.0, 1.0)))
    follower = Joint("k", "revolute", "b", "c", axis=(0.0, 0.0, 1.0), mimic=Mimic("j", 0.5, 0.25))
    robot = replace(tree, links=(*tree.links, body), joints=(*tree.joints, follower))
    robot = check(robot)
    assert read_toml(write_toml(robot)) == robot
    assert 'mimic = {joint = "j", multiplier = 0.5, offset = 0.25}' in write_toml(robot)


# what is refused, and what is said


def refused(text, file="f.toml"):
    with pytest.raises(DescriptionError) as caught:
        read_toml(text, file=file)
    return caught.value


@pytest.mark.parametrize(
    ("line", "fields", "where"),
    [
        ("limt = 3", "unknown-name limt", "joints[0].limt"),
        ("limit = { lowr = 1 }", "unknown-name lowr", "joints[0].limit.lowr"),
        ("limit = { lower = nan }", "not-finite lower", "joints[0].limit.lower"),
        ("limit = { upper = inf }", "not-finite upper", "joints[0].limit.upper"),
        ('limit = { lower = "1" }', "wrong-type lower", "joints[0].limit.lower"),
        ("limit = { lower = true }", "wrong-type lower", "joints[0].limit.lower"),
        ("limit = { lower = 1, lower_deg = 3 }", "conflict lower", "joints[0].limit.lower"),
        ("limit = 3", "wrong-type limit", "joints[0].limit"),
        ("xyz = [1, 2]", "wrong-shape xyz", "joints[0].xyz"),
        ('xyz = [1, 2, "3"]', "wrong-type xyz", "joints[0].xyz[2]"),
        ("xyz = [1, 2, 1979-05-27]", "wrong-type xyz", "joints[0].xyz[2]"),
        ("rpy = [0, 0, 0]\nrpy_deg = [0, 0, 0]", "conflict rpy", "joints[0].rpy"),
        ("mimic = { multiplier = 2 }", "missing joint", "joints[0].mimic"),
        ("drive = { coulomb = [1, 2, 3] }", "wrong-shape coulomb", "joints[0].drive.coulomb"),
    ],
)
def test_bad_joint_is_refused_with_path_and_line(line, fields, where):
    error = refused(TREE + line + "\n")
    assert (fields_of(error), str(error.place)) == (fields, f"f.toml:{NEXT_LINE}: {where}")


@pytest.mark.parametrize(
    ("old", "new", "line", "fields", "where"),
    [
        ('kind = "revolute"\n', "", JOINT_LINE, "missing kind", "joints[0]"),
        ("revolute", "revolut", 15, "unknown-name kind", "joints[0].kind"),
        ("axis = [0, 0, 1]\n", "", JOINT_LINE, "missing axis", "joints[0]"),
        (
            'kind = "revolute"',
            'kind = "prismatic"\nlimit = { lower_deg = 3 }',
            16,
            "wrong-unit lower_deg",
            "joints[0].limit.lower_deg",
        ),
    ],
)
def test_bad_tree_is_refused(old, new, line, fields, where):
    error = refused(TREE.replace(old, new))
    assert (fields_of(error), str(error.place)) == (fields, f"f.toml:{line}: {where}")


@pytest.mark.parametrize(
    ("line", "fields", "where"),
    [
        ("alpha = 1\nalpha_deg = 2", "conflict alpha", "dh.rows[1].alpha"),
        ("theta = 1\ntheta_deg = 2", "conflict theta", "dh.rows[1].theta"),
        ("inertial = { com = [1, 2, 3] }", "missing mass", "dh.rows[1].inertial"),
        ("inertial = { mass = 1, inertia = [1, 2, 3, 4] }", "wrong-shape inertia", "dh.rows[1].inertial.inertia"),
        ("inertial = { mass = 1, inertia = [] }", "wrong-shape inertia", "dh.rows[1].inertial.inertia"),
        ('kind = "fixed"', "unknown-name kind", "dh.rows[1].kind"),
        ("shapes = [{ box = [1, 1, 1], sphere = { radius = 1 } }]", "wrong-structure shape", "dh.rows[1].shapes[0]"),
        ("shapes = [{ xyz = [1, 1, 1] }]", "wrong-structure shape", "dh.rows[1].shapes[0]"),
        ("shapes = [{ sphere = { radius = 1 }, color = 'red' }]", "wrong-value color", "dh.rows[1].shapes[0].color"),
        ("shapes = [{ sphere = { radius = 1 }, color = [1, 1] }]", "wrong-shape color", "dh.rows[1].shapes[0].color"),
        ("shapes = [{ capsule = { radius = 1 } }]", "missing length", "dh.rows[1].shapes[0].capsule"),
        (
            "shapes = [{ capsule = { radius = 1, from = [0, 0, 0], to = [0, 0, 0] } }]",
            "wrong-value from",
            "dh.rows[1].shapes[0].capsule",
        ),
        (
            "shapes = [{ capsule = { radius = 1, from = [0, 0, 0], to = [0, 0, 1] }, xyz = [1, 0, 0] }]",
            "conflict from",
            "dh.rows[1].shapes[0].capsule",
        ),
    ],
)
def test_bad_row_is_refused(line, fields, where):
    error = refused(TABLE + line + "\n")
    assert (fields_of(error), str(error.place)) == (fields, f"f.toml:5: {where}")


@pytest.mark.parametrize(
    ("text", "fields", "where"),
    [
        ("name = \n", "syntax text", "f.toml:1:8"),
        ("[[dh.rows]]\n", "missing name", "f.toml"),
        ('name = "x"\n', "missing links", "f.toml"),
        (TREE + TABLE.partition("\n")[2], "missing links", "f.toml"),
        ('name = "x"\nformat = 2\n[[dh.rows]]\n', "unsupported format", "f.toml:2: format"),
        ('name = "x"\ndh = { rows = [] }\n', "too-few rows", "f.toml:2: dh.rows"),
        ('name = "x"\n[dh]\nconvention = "craig"\n[[dh.rows]]\n', "unknown-name convention", "f.toml:3: dh.convention"),
        ('name = "x"\nmuscles = []\n[[dh.rows]]\n', "unknown-name muscles", "f.toml:2: muscles"),
        ('name = "x"\nlinks = 3\n', "wrong-type links", "f.toml:2: links"),
        (
            TABLE + "[[joints]]\nname='j'\nkind='fixed'\nparent='a'\nchild='b'\n",
            "conflict joints",
            "f.toml:5: joints[0]",
        ),
        (TABLE + "[[frames]]\nname = 'f'\nlink = 'link9'\n", "unknown-name link", "f.toml:5"),
        ("x = " + "[" * 100_000, "syntax text", "f.toml"),
        ("a." * 5_000 + "b = 1\n", "syntax text", "f.toml:1:1"),
        (
            'name = "x"\ngravity = [0, 0, 1' + "0" * 400 + "]\n[[dh.rows]]\n",
            "wrong-value gravity",
            "f.toml:2: gravity[2]",
        ),
        ('name = "x"\ngravity = [0, 0, 1' + "0" * 5000 + "]\n", "syntax text", "f.toml"),
    ],
)
def test_bad_file_is_refused(text, fields, where):
    error = refused(text)
    assert (fields_of(error), str(error.place)) == (fields, where)


def test_no_damage_to_a_file_escapes_as_another_error():
    """Cut or overwrite a piece of a good file: it is read, or refused with a DescriptionError. Some are read: a piece
    of a comment or of a number may be another one."""
    read = 0

    @settings(max_examples=200, deadline=None)
    @given(st.data())
    def damage(data):
        nonlocal read
        text = robots.text(data.draw(st.sampled_from(["planar-2r", "rp", "scara"])))
        start = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 40))
        patch = data.draw(st.text(alphabet="[]{}=\"'.,0123456789naif \n-abc#", max_size=12))
        try:
            read_toml(text[:start] + patch + text[start + length :])
        except DescriptionError as error:
            assert str(error)
        else:
            read += 1

    damage()
    assert read >= 10, read


def test_lines_are_found_behind_long_texts_and_nested_tables():
    text = TREE + "[joints.limit]\nlower = 'x'\n"
    error = refused(text)
    assert (fields_of(error), str(error.place)) == (
        "wrong-type lower",
        f"f.toml:{NEXT_LINE + 1}: joints[0].limit.lower",
    )


def test_half_of_a_surrogate_pair_is_no_text():
    with raises(DescriptionError, "not-readable text"):
        read_toml('name = "a\udcf4"')


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_dh_table_reads_back_unchanged(convention):
    """Names, limits, drives, inertias, shapes, both ends, tip, gravity and notes, to the last bit."""
    seen = 0
    for name in robots.names():
        description = read_toml(robots.text(name))
        if description.loops:
            continue
        table = to_dh(description, convention)
        written = write_dh_toml(table)
        assert read_toml(written) == table.description(), name
        assert f'convention = "{convention}"' in written and "[[dh.rows]]" in written
        seen += 1
    assert seen > 10


TOGETHER = """
import sys, threading
from dalembert import robots
from dalembert.describe.toml_read import read_toml
text, start = robots.text("panda"), threading.Barrier(4)
threads = [threading.Thread(target=lambda: start.wait() + 0 * len(read_toml(text).links)) for _ in range(4)]
sys.setswitchinterval(1e-6)
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_that_read_their_first_file_together():
    """msgspec crashed in a third of these."""
    command = [sys.executable, "-W", "ignore", "-c", TOGETHER]
    assert [subprocess.run(command, check=False).returncode for _ in range(8)] == [0] * 8
