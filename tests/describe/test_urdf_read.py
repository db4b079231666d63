"""URDF in: every element, every refusal with its line, real files, and bytes that mean nothing."""

from __future__ import annotations

import re
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
from errors import fields_of, raises

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
    (warning,) = d.warnings
    assert warning.startswith("<text>:4:1: ") and "'j'" in warning and "<limit>" in warning
    assert read_urdf(text.replace("revolute", "continuous")).warnings == ()


def test_robot_without_a_name() -> None:
    d = read_urdf('<robot><link name="a"/></robot>')
    assert d.name == "robot"
    assert len(d.warnings) == 1 and d.warnings[0].startswith("<text>:1:1: <robot>")


def test_unknown_shape_is_left_out_with_a_warning() -> None:
    d = read_urdf(one_joint(link="<visual><geometry><torus radius='1'/></geometry></visual>"))
    assert d.links[1].visuals == ()
    (warning,) = d.warnings
    assert warning.startswith("<text>:3:9: ") and "'b'" in warning and "<torus>" in warning


# what is refused, each with its line

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
NUMBERS = "not a finite number; write decimals such as 0.5 or 1e-3"
REFUSED = {
    "empty": ("", "syntax text"),
    "text": ("hello", "syntax text"),
    "unclosed": ("<robot name='r'>\n<link>\n</robot>", "syntax text"),
    "two roots of XML": ("<robot/><robot/>", "syntax text"),
    "unknown entity": ("<robot name='&x;'/>", "syntax text"),
    "doctype": ('<?xml version="1.0"?>\n<!DOCTYPE robot>\n<robot name="r"/>', "unsupported text"),
    "depth": ("<robot name='r'>" + "<a>" * 300 + "</a>" * 300 + "</robot>", "too-large"),
    "sdf": ("<sdf version='1.6'/>", "not-readable robot"),
    "mjcf": ("<mujoco/>", "not-readable robot"),
    "other": ("<html/>", "not-readable robot"),
    "no link": ("<robot name='r'/>", "missing links"),
    "xacro": (one_joint(root="<xacro:macro name='m'/>"), "unsupported xacro"),
    "xacro value": (one_joint('<axis xyz="${a} 0 1"/>'), "syntax xyz"),
    "link name": (one_joint(root="<link/>"), "missing name"),
    "blank name": (one_joint(root="<link name=' '/>"), "missing name"),
    "joint name": (one_joint(root="<joint type='fixed'/>"), "missing name"),
    "joint type": (one_joint(root="<joint name='k'/>"), "missing type"),
    "type": (one_joint(kind="hinge"), "unknown-name type"),
    "no parent": (one_joint(root="<joint name='k' type='fixed'><child link='a'/></joint>"), "missing"),
    "no child": (one_joint(root="<joint name='k' type='fixed'><parent link='a'/></joint>"), "missing"),
    "parent without link": (
        one_joint(root="<joint name='k' type='fixed'><parent/><child link='a'/></joint>"),
        "missing link",
    ),
    "two axes": (one_joint("<axis xyz='1 0 0'/><axis xyz='0 1 0'/>"), "duplicate"),
    "two limits": (one_joint("<limit/><limit/>"), "duplicate"),
    "no mass": (one_joint(link=f"<inertial>{INERTIA}</inertial>"), "missing"),
    "no inertia": (one_joint(link="<inertial><mass value='1'/></inertial>"), "missing"),
    "part of inertia": (
        one_joint(link="<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
        "syntax ixy",
    ),
    "negative mass": (one_joint(link=f"<inertial><mass value='-1'/>{INERTIA}</inertial>"), "out-of-range mass"),
    "zero axis": (one_joint("<axis xyz='0 0 0'/>"), "out-of-range axis"),
    "limits": (one_joint("<limit lower='1' upper='-1'/>"), "wrong-order limit"),
    "damping": (one_joint("<dynamics damping='-1'/>"), "out-of-range drive"),
    "friction": (one_joint("<dynamics friction='-1'/>"), "out-of-range drive"),
    "mimic": (one_joint("<mimic joint='k'/>"), "unknown-name mimic"),
    "mimic without joint": (one_joint("<mimic/>"), "missing joint"),
    "unlimited": (one_joint("<dalembert:limit unlimited='uper'/>"), "wrong-value unlimited"),
    "tip": (one_joint(root="<dalembert:robot tip='c'/>"), "unknown-name tip"),
    "too large": (one_joint("<origin xyz='1e999 0 0'/>"), "syntax xyz"),
    "too few": (one_joint("<origin xyz='1 2'/>"), "syntax xyz"),
    "too many": (one_joint("<dynamics damping='1 2'/>"), "syntax damping"),
    "blank": (one_joint("<origin xyz='  '/>"), "syntax xyz"),
}


BALL = "<geometry><sphere radius='1'/></geometry>"
# No number depends on these: (text, what a strict reader refuses).
DOUBTFUL = {
    "no geometry": (one_joint(link="<visual/>"), "missing"),
    "empty geometry": (one_joint(link="<collision><geometry/></collision>"), "wrong-value"),
    "two geometries": (
        one_joint(link="<visual><geometry><box size='1 1 1'/><sphere radius='1'/></geometry></visual>"),
        "wrong-value",
    ),
    "negative size": (
        one_joint(link="<visual><geometry><box size='1 -1 1'/></geometry></visual>"),
        "out-of-range size",
    ),
    "scale": (
        one_joint(link="<visual><geometry><mesh filename='a.stl' scale='1 inf 1'/></geometry></visual>"),
        "syntax scale",
    ),
    "mesh without file": (one_joint(link="<visual><geometry><mesh/></geometry></visual>"), "missing filename"),
    "mesh escape": (
        one_joint(link="<visual><geometry><mesh filename='package://p/../../etc/passwd'/></geometry></visual>"),
        "not-readable mesh",
    ),
    "color": (one_joint(root="<material name='m'><color rgba='1 1 1'/></material>"), "syntax rgba"),
    "two materials": (one_joint(link=f"<visual>{BALL}<material name='m'/><material name='n'/></visual>"), "duplicate"),
    "one scale": (
        one_joint(link="<visual><geometry><mesh filename='a.stl' scale='0.1'/></geometry></visual>"),
        "syntax scale",
    ),
    "two inertials": (one_joint(link=f"<inertial><mass value='1'/>{INERTIA}</inertial><inertial/>"), "duplicate"),
    "deep climb": (
        one_joint(link="<visual><geometry><mesh filename='../../../../a.stl'/></geometry></visual>"),
        "not-readable mesh",
    ),
    "empty color": (one_joint(link=f"<visual>{BALL}<material><color rgba=''/></material></visual>"), "syntax rgba"),
    "huge cylinder": (
        one_joint(link="<visual><geometry><cylinder radius='1e155' length='1e155'/></geometry></visual>"),
        "out-of-range",
    ),
}
LEFT_OUT = "no geometry", "empty geometry", "negative size", "mesh without file", "huge cylinder"


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_no_number_depends_on_is_refused_only_if_strict(case: str) -> None:
    text, message = DOUBTFUL[case]
    with pytest.raises(DescriptionError) as error:
        read_urdf(text, strict=True)
    assert fields_of(error.value) == message
    d = read_urdf(text)
    place = str(error.value.place)
    assert any(warning.startswith(place) for warning in d.warnings), d.warnings
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
    assert len(d.warnings) == 2 and "'a'" in d.warnings[0] and "'c'" in d.warnings[1]
    for kind, strict in (("continuous", False), ("fixed", True)):
        with raises(DescriptionError, "missing"):
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
    assert fields_of(error.value) == message
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "word", ["nan", "NaN", "inf", "-Infinity", "0x10", "1_000", "1,5", "1f", "1e", ".", "+-1", "１", "1\u00a02"]
)
def test_numbers_are_strict(word: str) -> None:
    with pytest.raises(DescriptionError) as error:
        read_urdf(one_joint(f'<origin xyz="{word} 0 0"/>'))
    assert fields_of(error.value) == "syntax xyz"


def test_unknown_encoding_is_refused() -> None:
    with raises(DescriptionError, "not-readable text"):
        read_urdf(b'<?xml version="1.0" encoding="klingon"?><robot name="r"><link name="a"/></robot>')


@pytest.mark.parametrize(("word", "value"), [("+1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-1E-3", -1e-3)])
def test_decimals_in_every_form(word: str, value: float) -> None:
    assert read_urdf(one_joint(f'<origin xyz="{word} 0 0"/>')).joints[0].origin.xyz[0] == value


def test_entity_bomb_is_refused_before_it_grows() -> None:
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "boom">{entities}]><robot name="&e12;"/>'
    with raises(DescriptionError, "unsupported text"):
        read_urdf(bomb)


def test_too_long_a_file() -> None:
    with raises(DescriptionError, "too-large text"):
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
    "alex_psyonic_hands.urdf": "unknown-name mimic",
    "ur3.urdf": "missing links",  # xacro was run on a file of macros
    "test.urdf": "syntax text",  # not XML
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
        assert fields_of(error.value) == UNUSABLE[path.name]
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
    parts = ("sensor_mount_link", "double_stereo_link", *(f"{side}_gripper_r_parallel_root_joint" for side in "lr"))
    assert [re.search(r"'(.*?)'", w)[1] for w in warnings] == list(parts)
    assert [w.split(":")[1] for w in warnings] == ["781", "872", "2708", "1844"]


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
    with raises(DescriptionError, "syntax value"):
        read_urdf(text, file="r.urdf", strict=True)
