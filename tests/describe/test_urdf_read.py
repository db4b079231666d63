"""URDF in: every element, every refusal with its line, real files, and bytes that mean nothing."""

from __future__ import annotations

import sysconfig
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

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
from dalembert.describe.urdf_read import read_parts, read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.describe.xml import parse
from dalembert.errors import DescriptionError, Place

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <visual name="foot">
      <origin xyz="0 0 0.1"/>
      <geometry><box size="1 2 3"/></geometry>
      <material name="red"/>
    </visual>
    <visual><geometry><sphere radius="0.5"/></geometry><material name="blue"/></visual>
    <collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
    <collision><geometry><capsule radius="0.1" length="2"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
      <mass value="2.5"/>
      <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.4" iyz="0.03" izz="0.5"/>
    </inertial>
    <visual>
      <geometry><mesh filename="package://arm/upper.stl" scale="0.001 0.001 0.001"/></geometry>
      <material name="blue"><color rgba="0 0 1 0.5"/></material>
    </visual>
  </link>
  <link name="slide"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="wheel"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.5" rpy="0 1.5 0"/>
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.7" friction="0.2"/>
    <safety_controller k_velocity="10"/>
    <calibration rising="0.1"/>
  </joint>
  <joint name="rail" type="prismatic">
    <parent link="upper"/>
    <child link="slide"/>
    <limit upper="0.4" effort="10" velocity="1"/>
    <mimic joint="shoulder" multiplier="0.5" offset="0.1"/>
  </joint>
  <joint name="spin" type="continuous">
    <parent link="slide"/>
    <child link="wheel"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="3" velocity="9"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="wheel"/>
    <child link="tool"/>
    <axis xyz="0 0 0"/>
  </joint>
  <gazebo reference="tool"><material>Gazebo/Red</material></gazebo>
  <transmission name="t"><joint name="shoulder"/></transmission>
  <ros2_control name="c" type="system"/>
</robot>
"""


def one_joint(inside: str = "", kind: str = "revolute", link: str = "", root: str = "") -> str:
    """Two links and one joint; whatever is asked for stands on lines of its own, from line 3 on."""
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return f"""<robot name="r">
<link name="a"/><link name="b">{"" if "<inertial" in link else body}
{link}</link>
<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{"" if "<limit" in inside else limit}
{inside}</joint>
{root}</robot>"""


# what is read


def test_every_element() -> None:
    d = read_urdf(ARM, file="arm.urdf")
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5)
    small = Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    base = Link(
        "base",
        None,
        (
            Shape(Box((1.0, 2.0, 3.0)), Origin((0.0, 0.0, 0.1)), "foot", red, "red"),
            Shape(Sphere(0.5), color=blue, material="blue"),
        ),
        (Shape(Cylinder(0.1, 2.0)), Shape(Capsule(0.1, 2.0))),
    )
    upper = Link(
        "upper",
        Inertial(2.5, (0.3, 0.01, 0.02, 0.4, 0.03, 0.5), Origin((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))),
        (Shape(Mesh("package://arm/upper.stl", (0.001, 0.001, 0.001)), color=blue, material="blue"),),
    )
    shoulder = Joint(
        "shoulder",
        "revolute",
        "base",
        "upper",
        Origin((0.0, 0.0, 0.5), (0.0, 1.5, 0.0)),
        (0.0, 0.0, 1.0),
        Limit(-1.5, 2.0, 30.0, 4.0),
        drive=Drive(damping=0.7, coulomb=(0.2, 0.2)),
    )
    rail = Joint("rail", "prismatic", "upper", "slide", limit=Limit(0.0, 0.4, 10.0, 1.0))
    rail = replace(rail, mimic=Mimic("shoulder", 0.5, 0.1))
    spin = Joint("spin", "continuous", "slide", "wheel", axis=(0.0, 1.0, 0.0), limit=Limit(None, None, 3.0, 9.0))
    links = (base, upper, Link("slide", small), Link("wheel", small), Link("tool"))
    joints = (shoulder, rail, spin, Joint("flange", "fixed", "wheel", "tool"))
    assert d == Description("arm", links, joints)
    assert d.warnings == ()


def test_places_are_lines_of_the_file() -> None:
    d = read_urdf(ARM, file="arm.urdf")
    lines = ARM.splitlines()
    for thing in (*d.links, *d.joints):
        assert thing.place.file == "arm.urdf"
        assert thing.place.line is not None
        assert thing.place.column == 3
        assert f'name="{thing.name}"' in lines[thing.place.line - 1]
    assert d.place == Place("arm.urdf", 2, 1)


def test_text_and_bytes_and_blank_lines_before() -> None:
    assert read_urdf(ARM.encode()) == read_urdf(ARM) == read_urdf("\n \n" + ARM) == read_urdf("\ufeff" + ARM)
    assert read_urdf(b"\n\n" + ARM.encode()).place.line == 4
    assert read_urdf(ARM.encode("utf-16")) == read_urdf(ARM)


def test_a_str_is_decoded_already_whatever_it_declares() -> None:
    text = '<?xml version="1.0" encoding="latin-1"?><robot name="é"><link name="ü"/></robot>'
    assert read_urdf(text).name == "é"
    assert read_urdf(text.encode("latin-1")).links[0].name == "ü"


def test_odd_white_space_between_numbers() -> None:
    d = read_urdf(one_joint('<origin xyz=" 1\t\n 2   3 " rpy="\n0 0 0\n"/>'))
    assert d.joints[0].origin == Origin((1.0, 2.0, 3.0))


def test_joint_order_is_the_files() -> None:
    names = [f"j{i}" for i in (3, 1, 2)]
    joints = "".join(f'<joint name="{n}" type="fixed"><parent link="a"/><child link="{n}"/></joint>' for n in names)
    links = "".join(f'<link name="{n}"/>' for n in ("j1", "a", "j2", "j3"))
    d = read_urdf(f'<robot name="r">{joints}{links}</robot>')
    assert [j.name for j in d.joints] == names


def test_extension_of_drive_and_robot() -> None:
    text = one_joint(
        '<dynamics damping="0.1" friction="0.35"/>'
        '<dalembert:drive rotor_inertia="2e-4" gear_ratio="-62" coulomb_positive="0.3" '
        'stiffness="5" rest="0.2"/>',
        root='<dalembert:robot gravity="0 -9.81 0" tip="b">from a book</dalembert:robot>',
    )
    d = read_urdf(text)
    assert d.joints[0].drive == Drive(2e-4, -62.0, 0.1, (0.3, 0.35), 5.0, 0.2)
    assert (d.gravity, d.tip, d.notes) == ((0.0, -9.81, 0.0), "b", "from a book")


def test_extension_under_another_prefix() -> None:
    inside = '<link name="a"/><ns0:robot tip="a"/>'
    text = f'<robot name="r" xmlns:ns0="https://dalembert.dev/urdf">{inside}</robot>'
    assert read_urdf(text).tip == "a"
    assert read_urdf(text.replace("https://dalembert.dev/urdf", "https://example.org")).tip is None


@pytest.mark.parametrize(
    ("inside", "kind", "limit"),
    [
        ('<limit effort="1" velocity="2"/>', "revolute", Limit(0.0, 0.0, 1.0, 2.0)),
        ('<limit lower="-1"/>', "prismatic", Limit(-1.0, 0.0)),
        ('<limit lower="3" upper="-3"/>', "continuous", Limit()),
        ('<limit lower="1" upper="2"/><dalembert:limit unlimited="lower"/>', "revolute", Limit(None, 2.0)),
        ('<limit lower="1" upper="2"/><dalembert:limit unlimited="all"/>', "revolute", None),
    ],
)
def test_limits(inside: str, kind: str, limit: Limit | None) -> None:
    assert read_urdf(one_joint(inside, kind)).joints[0].limit == limit


def test_no_limit_is_a_warning_where_the_standard_wants_one() -> None:
    text = one_joint().replace('<limit lower="-1" upper="1" effort="1" velocity="1"/>', "")
    d = read_urdf(text)
    assert d.joints[0].limit is None
    assert d.warnings == ("<text>:4:1: joint 'j' is revolute and has no <limit>; it is taken as unlimited",)
    assert read_urdf(text.replace("revolute", "continuous")).warnings == ()


def test_robot_without_a_name() -> None:
    d = read_urdf('<robot><link name="a"/></robot>')
    assert d.name == "robot"
    assert d.warnings == ("<text>:1:1: <robot> has no name; it is called 'robot'",)


def test_unknown_shape_is_left_out_with_a_warning() -> None:
    d = read_urdf(one_joint(link="<visual><geometry><torus radius='1'/></geometry></visual>"))
    assert d.links[1].visuals == ()
    assert d.warnings == (
        "<text>:3:9: a visual of link 'b' is a <torus>, which is not a shape of URDF; it is left out",
    )


# what is refused, each with its line

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
NUMBERS = "not a finite number; write decimals such as 0.5 or 1e-3"
REFUSED = {
    "empty": ("", "<text>:1:1: the XML is malformed (no element found); correct it there"),
    "text": ("hello", "<text>:1:1: the XML is malformed (syntax error); correct it there"),
    "unclosed": ("<robot name='r'>\n<link>\n</robot>", "<text>:3:3: the XML is malformed (mismatched tag)"),
    "two roots of XML": ("<robot/><robot/>", "<text>:1:9: the XML is malformed (junk after document"),
    "unknown entity": ("<robot name='&x;'/>", "<text>:1:1: the XML is malformed (undefined entity)"),
    "doctype": (
        '<?xml version="1.0"?>\n<!DOCTYPE robot>\n<robot name="r"/>',
        "<text>:2:16: a DOCTYPE is refused, because entities can make a file explode; remove it",
    ),
    "depth": ("<robot name='r'>" + "<a>" * 300 + "</a>" * 300 + "</robot>", "nested deeper than 200"),
    "sdf": ("<sdf version='1.6'/>", "<text>:1:1: the first element is <sdf>; this is SDF; convert it"),
    "mjcf": ("<mujoco/>", "the first element is <mujoco>; this is MJCF; name the file .xml"),
    "other": ("<html/>", "the first element is <html>; a URDF starts with <robot name=…>"),
    "no link": ("<robot name='r'/>", "<text>:1:1: robot 'r' has no link; describe at least one"),
    "xacro": (
        one_joint(root="<xacro:macro name='m'/>"),
        "<text>:6:1: <xacro:macro> is xacro, not URDF; load the file as .xacro",
    ),
    "xacro value": (
        one_joint('<axis xyz="${a} 0 1"/>'),
        "<text>:5:1: <axis> of joint 'j': xyz='${a} 0 1' holds '${a}', which is not a finite number; "
        "expand xacro first",
    ),
    "link name": (one_joint(root="<link/>"), "<text>:6:1: <link> of a link has no attribute 'name'; give it"),
    "blank name": (one_joint(root="<link name=' '/>"), "<link> of a link has an empty attribute 'name'"),
    "joint name": (one_joint(root="<joint type='fixed'/>"), "<joint> of a joint has no attribute 'name'"),
    "joint type": (one_joint(root="<joint name='k'/>"), "<joint> of joint 'k' has no attribute 'type'"),
    "type": (
        one_joint(kind="hinge"),
        "joint 'j' is of the unknown type 'hinge'; choose from revolute, continuous, prismatic, fixed, floating, "
        "planar",
    ),
    "no parent": (
        one_joint(root="<joint name='k' type='fixed'><child link='a'/></joint>"),
        "<text>:6:1: joint 'k' has no <parent>; add one",
    ),
    "no child": (
        one_joint(root="<joint name='k' type='fixed'><parent link='a'/></joint>"),
        "joint 'k' has no <child>; add one",
    ),
    "parent without link": (
        one_joint(root="<joint name='k' type='fixed'><parent/><child link='a'/></joint>"),
        "<parent> of joint 'k' has no attribute 'link'; give it",
    ),
    "two axes": (one_joint("<axis xyz='1 0 0'/><axis xyz='0 1 0'/>"), "<text>:5:20: joint 'j' has 2 <axis>"),
    "two limits": (one_joint("<limit/><limit/>"), "joint 'j' has 2 <limit> elements; keep one"),
    "no mass": (
        one_joint(link=f"<inertial>{INERTIA}</inertial>"),
        "<text>:3:1: <inertial> of link 'b' has no <mass>; add one",
    ),
    "no inertia": (
        one_joint(link="<inertial><mass value='1'/></inertial>"),
        "<inertial> of link 'b' has no <inertia>; add one (all six zero for a point mass)",
    ),
    "part of inertia": (
        one_joint(link="<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
        "<inertia> of link 'b' has no attribute 'ixy'; give it",
    ),
    "negative mass": (
        one_joint(link=f"<inertial><mass value='-1'/>{INERTIA}</inertial>"),
        "<text>:2:17: the mass of link 'b' is -1.0 kg",
    ),
    "zero axis": (one_joint("<axis xyz='0 0 0'/>"), "<text>:4:1: the axis of joint 'j' is 0 0 0"),
    "limits": (one_joint("<limit lower='1' upper='-1'/>"), "has lower limit 1.0 above its upper limit -1.0"),
    "damping": (one_joint("<dynamics damping='-1'/>"), "the damping of joint 'j' is -1.0"),
    "friction": (one_joint("<dynamics friction='-1'/>"), "the Coulomb friction for positive velocity of"),
    "mimic": (one_joint("<mimic joint='k'/>"), "joint 'j' mimics the unknown joint 'k'"),
    "mimic without joint": (one_joint("<mimic/>"), "<mimic> of joint 'j' has no attribute 'joint'; give it"),
    "unlimited": (
        one_joint("<dalembert:limit unlimited='uper'/>"),
        "<dalembert:limit> of joint 'j': 'uper' is not one of lower, upper, effort, velocity, all",
    ),
    "tip": (one_joint(root="<dalembert:robot tip='c'/>"), "the tip of robot 'r' is the unknown link 'c'"),
    "too large": (
        one_joint("<origin xyz='1e999 0 0'/>"),
        "<origin> of joint 'j': xyz='1e999 0 0' is too large for a 64-bit number; check its exponent",
    ),
    "too few": (
        one_joint("<origin xyz='1 2'/>"),
        "<text>:5:1: <origin> of joint 'j': xyz='1 2' holds 2 numbers; 3 numbers must stand here",
    ),
    "too many": (one_joint("<dynamics damping='1 2'/>"), "damping='1 2' holds 2 numbers; 1 number must"),
    "blank": (one_joint("<origin xyz='  '/>"), "<origin> of joint 'j' has an empty attribute 'xyz'; give it"),
}


BALL = "<geometry><sphere radius='1'/></geometry>"
# No number depends on these: (text, what a strict reader refuses).
DOUBTFUL = {
    "no geometry": (one_joint(link="<visual/>"), "a visual of link 'b' has no <geometry>; add one"),
    "empty geometry": (
        one_joint(link="<collision><geometry/></collision>"),
        "<geometry> of a collision of link 'b' is empty; put one of box, cylinder, sphere, capsule, mesh",
    ),
    "two geometries": (
        one_joint(link="<visual><geometry><box size='1 1 1'/><sphere radius='1'/></geometry></visual>"),
        "holds <box> and <sphere>; keep one shape and repeat the element",
    ),
    "negative size": (
        one_joint(link="<visual><geometry><box size='1 -1 1'/></geometry></visual>"),
        "the size of a visual of link 'b' is -1.0 m; a size must not be negative",
    ),
    "scale": (
        one_joint(link="<visual><geometry><mesh filename='a.stl' scale='1 inf 1'/></geometry></visual>"),
        "<mesh> of a visual of link 'b': scale='1 inf 1' holds 'inf', which is " + NUMBERS,
    ),
    "mesh without file": (
        one_joint(link="<visual><geometry><mesh/></geometry></visual>"),
        "<mesh> of a visual of link 'b' has no attribute 'filename'; give it",
    ),
    "mesh escape": (
        one_joint(link="<visual><geometry><mesh filename='package://p/../../etc/passwd'/></geometry></visual>"),
        "leaves its package 'p'; keep meshes inside the package",
    ),
    "color": (
        one_joint(root="<material name='m'><color rgba='1 1 1'/></material>"),
        "<text>:6:20: <color> of <robot>: rgba='1 1 1' holds 3 numbers; 4 numbers must stand here",
    ),
    "two materials": (
        one_joint(link=f"<visual>{BALL}<material name='m'/><material name='n'/></visual>"),
        "<text>:3:70: a visual of link 'b' has 2 <material> elements; keep one",
    ),
    "one scale": (
        one_joint(link="<visual><geometry><mesh filename='a.stl' scale='0.1'/></geometry></visual>"),
        "<mesh> of a visual of link 'b': scale='0.1' holds 1 number; 3 numbers must stand here",
    ),
    "two inertials": (
        one_joint(link=f"<inertial><mass value='1'/>{INERTIA}</inertial><inertial/>"),
        "link 'b' has 2 <inertial> elements; keep one",
    ),
    "deep climb": (
        one_joint(link="<visual><geometry><mesh filename='../../../../a.stl'/></geometry></visual>"),
        "climbs more than 3 folders above its description; keep it nearer",
    ),
    "empty color": (
        one_joint(link=f"<visual>{BALL}<material><color rgba=''/></material></visual>"),
        "<color> of a visual of link 'b' has an empty attribute 'rgba'; give it",
    ),
    "huge cylinder": (
        one_joint(link="<visual><geometry><cylinder radius='1e155' length='1e155'/></geometry></visual>"),
        "the radius of a visual of link 'b' is 1e+155, so large that its products overflow; check its exponent",
    ),
}
LEFT_OUT = "no geometry", "empty geometry", "negative size", "mesh without file", "huge cylinder"


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_no_number_depends_on_is_refused_only_if_strict(case: str) -> None:
    text, message = DOUBTFUL[case]
    with pytest.raises(DescriptionError) as error:
        read_urdf(text, strict=True)
    assert message in str(error.value)
    d = read_urdf(text)
    assert any(message.rpartition("; ")[0] in warning for warning in d.warnings), d.warnings
    assert sum(len(link.visuals) + len(link.collisions) for link in d.links) == (
        0 if case in (*LEFT_OUT, "color", "two inertials") else 1
    )
    assert check(d).warnings == d.warnings


@pytest.mark.parametrize(
    ("written", "taken"), [("0.1", (0.1,) * 3), ("1 2 3 4", (1, 2, 3)), ("1 2", (1, 1, 1)), ("1 inf 1", (1, 1, 1))]
)
def test_a_scale_of_another_count(written: str, taken: tuple[float, ...]) -> None:
    d = read_urdf(one_joint(link=f"<visual><geometry><mesh filename='a.stl' scale='{written}'/></geometry></visual>"))
    assert d.links[1].visuals[0].geometry.scale == taken
    assert d.warnings[0].endswith(f"; {taken[0]:g} {taken[1]:g} {taken[2]:g} is taken")


def test_an_inertial_matters_only_where_something_moves() -> None:
    text = """<robot name="r"><link name="a"><inertial><density value="9"/></inertial></link><link name="b"/>
      <joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>
      <link name="c"><inertial/></link>
      <joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint></robot>"""
    d = read_urdf(text.format("fixed"))
    assert [w.rpartition("; ")[2] for w in d.warnings] == ["it does not move, and is taken without mass"] * 2
    for kind, strict in (("continuous", False), ("fixed", True)):
        with pytest.raises(DescriptionError, match="<inertial> of link '[ac]' has no <mass>; add one"):
            read_urdf(text.format(kind), strict=strict)


def test_the_first_of_several_is_taken() -> None:
    two = f"<inertial><mass value='{{}}'/>{INERTIA}</inertial>"
    d = read_urdf(one_joint(link=two.format(1) + two.format(2)))
    assert d.links[1].inertial is not None and d.links[1].inertial.mass == 1


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(DescriptionError) as error:
        read_urdf(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "word", ["nan", "NaN", "inf", "-Infinity", "0x10", "1_000", "1,5", "1f", "1e", ".", "+-1", "１", "1\u00a02"]
)
def test_numbers_are_strict(word: str) -> None:
    with pytest.raises(DescriptionError) as error:
        read_urdf(one_joint(f'<origin xyz="{word} 0 0"/>'))
    assert f"holds {word!r}, which is {NUMBERS}" in str(error.value)


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(DescriptionError, match="unknown encoding: klingon; save the file as UTF-8"):
        read_urdf(b'<?xml version="1.0" encoding="klingon"?><robot name="r"><link name="a"/></robot>')


@pytest.mark.parametrize(("word", "value"), [("+1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-1E-3", -1e-3)])
def test_decimals_in_every_form(word: str, value: float) -> None:
    assert read_urdf(one_joint(f'<origin xyz="{word} 0 0"/>')).joints[0].origin.xyz[0] == value


def test_entity_bomb_is_refused_before_it_grows() -> None:
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "boom">{entities}]><robot name="&e12;"/>'
    with pytest.raises(DescriptionError, match="a DOCTYPE is refused"):
        read_urdf(bomb)


def test_too_long_a_file() -> None:
    with pytest.raises(DescriptionError, match=r"^big\.urdf: 70 MB is too long; at most 64 MB are read$"):
        read_urdf(b" " * 70_000_000, file="big.urdf")


# anything else


def test_mutated_bytes_load_or_are_refused() -> None:
    """A byte may be a digit that becomes another one: some of the 600 documents load."""
    loaded = 0

    @settings(max_examples=300)
    @given(st.lists(st.tuples(st.integers(0, len(ARM) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(ARM)))
    @example([], 100)
    def load(changes: list[tuple[int, int]], end: int) -> None:
        nonlocal loaded
        data = bytearray(ARM.encode())
        for position, byte in changes:
            data[position] = byte
        for text in (bytes(data), bytes(data[:end])):
            try:
                d = read_urdf(text)
            except DescriptionError as error:
                assert changes or text != ARM.encode()
                assert str(error).startswith("<text>:")
            else:
                loaded += 1
                assert read_urdf(write_urdf(d)) == d

    load()
    assert loaded >= 20, loaded


WORDS = (
    "",
    "0",
    "-1",
    "nan",
    "1e308",
    "1e-320",
    "1e400",
    "0 0 0",
    "1e308 1e308 1e308",
    "x",
    "base",
    "upper",
    "shoulder",
    "rail",
    "revolute",
    "floating",
    "package://../x",
)


def test_any_attribute_replaced_loads_or_is_refused() -> None:
    loaded = 0

    @settings(max_examples=300)
    @given(st.lists(st.tuples(st.integers(0, ARM.count('"') // 2 - 1), st.sampled_from(WORDS)), min_size=1, max_size=3))
    def load(changes: list[tuple[int, str]]) -> None:
        nonlocal loaded
        pieces = ARM.split('"')
        for index, word in changes:
            pieces[2 * index + 1] = word
        try:
            d = read_urdf('"'.join(pieces))
        except DescriptionError as error:
            assert "\n" not in str(error)
        else:
            loaded += 1
            assert read_urdf(write_urdf(d)) == d

    load()
    assert loaded >= 30, loaded


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(DescriptionError):
        read_urdf(data)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    with pytest.raises(DescriptionError):
        read_urdf(text)


# real files

SITE = Path(sysconfig.get_path("purelib"))
FILES = sorted(
    path
    for folder in (SITE / "cmeel.prefix/share/example-robot-data", SITE / "rtbdata")
    for path in folder.rglob("*.urdf")
)
# The packages' files that no reader can use, and why.
UNUSABLE = {
    "alex_psyonic_hands.urdf": "joint 'Left_index_q2' mimics the unknown joint 'index_q1'; did you mean",
    "ur3.urdf": "robot 'robot' has no link",  # xacro was run on a file of macros
    "test.urdf": "the XML is malformed",  # not XML
}


@pytest.mark.skipif(not FILES, reason="the packages example-robot-data and rtb-data are not installed")
def test_the_packages_are_there() -> None:
    assert len(FILES) >= 70


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_real_file(path: Path) -> None:
    data = path.read_bytes()
    if path.name in UNUSABLE:
        with pytest.raises(DescriptionError) as error:
            read_urdf(data, file=path.name)
        assert UNUSABLE[path.name] in str(error.value)
        return
    d = read_urdf(data, file=path.name)
    root = ElementTree.fromstring(data)  # another parser, on the same file
    assert [k.name for k in d.links] == [e.get("name") for e in root.findall("link")]
    assert [j.name for j in d.joints] == [e.get("name") for e in root.findall("joint")]
    masses = [float(e.get("value", "")) for e in root.findall("link/inertial/mass")]
    assert [k.inertial.mass for k in d.links if k.inertial] == masses
    damping = [float(e.get("damping", "0")) for e in root.findall("joint[@type='revolute']/dynamics")]
    assert sum(j.drive.damping for j in d.joints if j.kind == "revolute") == pytest.approx(sum(damping))
    assert sum(len(k.visuals) for k in d.links) == len(root.findall("link/visual"))
    assert read_urdf(write_urdf(d)) == d


@pytest.mark.skipif(not FILES, reason="the packages example-robot-data and rtb-data are not installed")
def test_warnings_of_real_files_name_the_link() -> None:
    (pr2,) = (path for path in FILES if path.name == "pr2.urdf")
    warnings = read_urdf(pr2.read_bytes(), file="pr2.urdf").warnings
    follows = "'{0}_gripper_r_parallel_root_joint' follows '{0}_gripper_l_finger_joint' within -0.548 … 0"
    assert [w.split(" (principal")[0].split(" and is")[0] for w in warnings] == [
        "pr2.urdf:781:3: the inertia of link 'sensor_mount_link' violates the triangle inequality",
        "pr2.urdf:872:3: the inertia of link 'double_stereo_link' violates the triangle inequality",
        "pr2.urdf:2708:3: joint " + follows.format("l"),  # a multiplier of −1, and limits of 0 … 0.548
        "pr2.urdf:1844:3: joint " + follows.format("r"),
    ]


def test_troubles_are_collected_and_reading_goes_on():
    """Every part is there, None where it could not be read, and each trouble has its element."""
    text = """<robot name="r">
        <link name="a">
          <inertial><mass value="two"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
          <visual><geometry><box size="1 2"/></geometry></visual></link>
        <link name="b"><collision><geometry><sphere radius="0.1"/></geometry><origin xyz="0 0 1"/></collision></link>
        <joint name="j" type="ball"><parent link="a"/><axis xyz="0 0 1"/><axis xyz="0 0 1"/>
          <limit lower="-1" upper="1,5" effort="3" velocity="1"/></joint>
        </robot>"""
    found = []
    (a, b), (j,) = read_parts(parse(text, "r.urdf"), found.append)
    assert [(t.kind, t.who, t.attribute, t.at.place.line) for t in found] == [
        ("number", "link 'a'", "value", 3),
        ("number", "a visual of link 'a'", "size", 4),
        ("type", "joint 'j'", "type", 6),
        ("missing", "joint 'j'", "", 6),
        ("twice", "joint 'j'", "", 6),
        ("number", "joint 'j'", "upper", 7),
    ]
    assert a.inertial.mass is None and a.inertial.tensor == (1, 0, 0, 1, 0, 1) and a.inertial.mass_at.tag == "mass"
    assert a.shapes[0].geometry is None and a.shapes[0].form_at.tag == "box" and a.link.inertial is None
    assert b.shapes[0].geometry == Sphere(0.1) and b.link.collisions[0].origin.xyz == (0, 0, 1)
    assert (j.parent, j.child, j.axis, j.joint) == ("a", None, (0, 0, 1), None)
    assert j.limit == {"lower": -1, "effort": 3, "velocity": 1} and not j.moves
    with pytest.raises(DescriptionError, match=r"^r.urdf:3:.*'two', which is not a finite number; write decimals"):
        read_urdf(text, file="r.urdf", strict=True)
