"""URDF out: reads back as the same description, and as the same robot elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

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
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DescriptionError
from errors import fields_of

BODY = Inertial(2.0, (0.3, 0.0, 0.0, 0.3, 0.0, 0.4))
PLAIN = Description(
    "arm",
    (Link("base"), Link("upper", BODY, (Shape(Box((1.0, 2.0, 3.0)), color=(1.0, 0.0, 0.0, 1.0)),))),
    (
        Joint(
            "j",
            "revolute",
            "base",
            "upper",
            Origin((0.0, 0.0, 0.1)),
            (0.0, 0.0, 1.0),
            Limit(-1.0, 1.0, 5.0, 2.0),
            drive=Drive(damping=0.5, coulomb=(0.25, 0.25)),
        ),
    ),
)


def test_plain_urdf_has_nothing_of_our_own() -> None:
    assert (
        write_urdf(PLAIN)
        == """<?xml version="1.0" encoding="utf-8"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <mass value="2"/>
      <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/>
    </inertial>
    <visual>
      <geometry>
        <box size="1 2 3"/>
      </geometry>
      <material name="">
        <color rgba="1 0 0 1"/>
      </material>
    </visual>
  </link>
  <joint name="j" type="revolute">
    <origin xyz="0 0 0.1" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
</robot>
"""
    )


def changed(**joint: object) -> Description:
    return replace(PLAIN, joints=(replace(PLAIN.joints[0], **joint),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("description", "line"),
    [
        (replace(PLAIN, gravity=(0.0, -9.81, 0.0)), '<dalembert:robot gravity="0 -9.81 0"/>'),
        (replace(PLAIN, tip="upper"), '<dalembert:robot tip="upper"/>'),
        (replace(PLAIN, notes="a < b\n & c\r"), "<dalembert:robot>a &lt; b\n &amp; c&#13;</dalembert:robot>"),
        (
            changed(drive=Drive(2e-4, 100.0, 0.0, (0.3, 0.5), 5.0, 0.1)),
            '<dynamics damping="0" friction="0.4"/>\n'
            '    <dalembert:drive rotor_inertia="0.0002" gear_ratio="100" stiffness="5" rest="0.1" '
            'coulomb_positive="0.3" coulomb_negative="0.5"/>',
        ),
        (
            changed(limit=Limit(None, 1.0, None, 2.0)),
            '<limit lower="-1000000000" upper="1" effort="1000000000" velocity="2"/>\n'
            '    <dalembert:limit unlimited="lower effort"/>',
        ),
        (changed(limit=None), '<dalembert:limit unlimited="all"/>'),
    ],
)
def test_what_urdf_cannot_say(description: Description, line: str) -> None:
    text = write_urdf(description)
    assert line in text
    assert text.count('xmlns:dalembert="https://dalembert.dev/urdf"') == 1
    assert read_urdf(text) == description
    assert read_urdf(text).warnings == ()


def test_continuous_joint_without_limit_has_no_limit_element() -> None:
    text = write_urdf(changed(kind="continuous", limit=None))
    assert "limit" not in text


@pytest.mark.parametrize("name", ['a"b', "a<b>&amp;", "tab\there", "line\nbreak", "é→日本", " spaced ", "'"])
def test_names_of_every_kind(name: str) -> None:
    d = replace(PLAIN, name=name, links=(Link(name), PLAIN.links[1]))
    d = replace(d, joints=(replace(PLAIN.joints[0], name=name, parent=name),))
    assert read_urdf(write_urdf(d)) == d


@pytest.mark.parametrize("character", ["\x00", "\x07", "\ufffe", "\ud800"])
def test_names_that_xml_cannot_hold(character: str) -> None:
    with pytest.raises(DescriptionError) as error:
        write_urdf(replace(PLAIN, name=f"a{character}b"))
    assert fields_of(error.value) == "wrong-value name"


# any description

number = st.floats(-1e6, 1e6)
amount = st.floats(0.0, 1e6)
vector = st.tuples(number, number, number)
word = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
name = word.filter(lambda s: s.strip() and "\ufffe" not in s and "\uffff" not in s)
origins = st.builds(Origin, vector, vector)
unit = st.floats(0.0, 1.0)
geometries = st.one_of(
    st.builds(Box, st.tuples(amount, amount, amount)),
    st.builds(Cylinder, amount, amount),
    st.builds(Sphere, amount),
    st.builds(Capsule, amount, amount),
    st.builds(Mesh, st.just("package://p/a b.stl"), vector),
)
shapes = st.builds(
    Shape, geometries, origins, st.none() | name, st.none() | st.tuples(unit, unit, unit, unit), st.none() | name
)
inertials = st.builds(Inertial, amount, st.tuples(*[number] * 6), origins)
frictions = st.tuples(amount, amount) | amount.map(lambda a: (a, a))
drives = st.builds(Drive, amount, number.filter(bool), amount, frictions, amount, number)


@st.composite
def limits(draw: st.DrawFn, kind: str) -> Limit | None:
    if draw(st.booleans()):
        return None
    lower, upper = sorted(draw(st.tuples(number, number)))
    keep = st.just(False) if kind == "continuous" else st.booleans()
    ends = (lower if draw(keep) else None, upper if draw(keep) else None)
    return Limit(*ends, draw(st.none() | amount), draw(st.none() | amount))


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """A random tree that has passed `check`."""
    names = draw(st.lists(name, min_size=1, max_size=6, unique=True))
    links = tuple(
        Link(n, draw(st.none() | inertials), *draw(st.tuples(*[st.lists(shapes, max_size=2).map(tuple)] * 2)))
        for n in names
    )
    joints: list[Joint] = []
    for i in range(1, len(names)):
        kind = draw(st.sampled_from(["revolute", "continuous", "prismatic", "fixed"]))
        masters = [j.name for j in joints if j.kind != "fixed"]
        mimics = st.builds(Mimic, st.sampled_from(masters), number, number) if masters else st.nothing()
        axis = draw(vector.filter(lambda a: math.hypot(*a) > 1e-3))
        joints.append(
            Joint(
                f"{names[i]}{i}",
                kind,
                names[draw(st.integers(0, i - 1))],
                names[i],
                draw(origins),
                axis,
                draw(limits(kind)),
                draw(st.none() | mimics),
                draw(drives),
            )
        )
    tip = draw(st.none() | st.sampled_from(names))
    notes = draw(st.text("ab <&>\r\n\t"))
    return check(Description(draw(name), links, tuple(joints), draw(vector), tip, notes))


@settings(max_examples=150, deadline=None)
@given(descriptions())
def test_any_description_round_trips(d: Description) -> None:
    text = write_urdf(d)
    back = read_urdf(text)
    assert back == d
    assert write_urdf(back) == text


def test_pinocchio_reads_the_same_robot() -> None:
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    turned = replace(BODY, origin=Origin((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    drive = Drive(1e-4, 50.0, 0.3, (0.1, 0.2))
    links = (Link("base"), Link("a", BODY), Link("b", turned))
    joints = (
        Joint("j1", "revolute", "base", "a", Origin((0.0, 0.1, 0.2), (0.3, 0.4, 0.5)), (0.0, 0.6, 0.8)),
        Joint("j2", "prismatic", "a", "b", limit=Limit(None, 2.0, 7.0), drive=drive),
    )
    d = Description("r", links, joints, gravity=(0.0, -9.81, 0.0), tip="b", notes="x")
    model = pin.buildModelFromXML(write_urdf(d))
    assert list(model.names)[1:] == ["j1", "j2"]
    assert [float(model.inertias[i].mass) for i in (1, 2)] == [2.0, 2.0]
    assert list(model.inertias[2].lever) == [0.1, 0.2, 0.3]
    assert model.upperPositionLimit[1] == 2.0
    assert model.damping[1] == 0.3
    assert list(model.jointPlacements[1].translation) == [0.0, 0.1, 0.2]


def test_capsules_name_the_version_that_has_them():
    """Readers that go by the version skip capsules in a file without one."""
    import pinocchio as pin

    import dalembert as dl

    text = dl.load("panda").to_urdf()
    assert 'version="1.2"' in text
    model = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.VISUAL)
    assert len(shapes.geometryObjects) == sum(len(link.visuals) for link in dl.load("panda").description.links)
    assert "version=" not in dl.load("cartesian-pp").to_urdf().split("<robot", 1)[1].split(">", 1)[0]
