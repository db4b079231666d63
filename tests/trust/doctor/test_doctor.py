"""The doctor's parts: what it takes, rules that need a model of their own, machine formats, hostile files, corpora."""

from __future__ import annotations

import itertools
import json
import os
import random
import site
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from broken import DEFECTS, GOOD, cube_stl, write
from hypothesis import given, strategies as st

import dalembert as dl
from dalembert.describe import mass as feasible
from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Origin, Sphere
from dalembert.findings import SEVERITIES, Edit, at_least, write_junit
from dalembert.trust.doctor import RULES, check_all, repair
from dalembert.trust.doctor.check import as_json, as_sarif
from dalembert.trust.doctor.document import edit_text, spans
from dalembert.trust.doctor.masses import nearest, tensor_of
from dalembert.trust.doctor.reach import DIRECTIONS, OPPOSITE, reach_of, sphere, vertices
from errors import raises

SITE = Path(site.getsitepackages()[0])
EXAMPLES = SITE / "cmeel.prefix/share/example-robot-data/robots"


def rules(up: dl.Findings) -> set[str]:
    return {f.rule for f in up.rows}


# ------------------------------------------------------------------------------------------- what is taken
def test_a_toml_robot_is_checked_with_its_lines(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(
        'name = "arm"\n[[links]]\nname = "base"\n[[links]]\nname = "arm"\n'
        "inertial = { mass = 1.0, com = [9, 0, 0], inertia = [0.001, 0.001, 0.5] }\n"
        'shapes = [{ box = [0.1, 0.1, 0.1] }]\n[[joints]]\nname = "j"\nkind = "revolute"\nparent = "base"\n'
        'child = "arm"\naxis = [0, 0, 1]\n'
    )
    up = dl.check(file)
    assert {("D204", 4), ("D220", 4)} <= {(f.rule, f.line) for f in up.rows}, str(up)
    assert not any(f.fixable for f in up.rows)
    with raises(dl.InputError, "unsupported found"):
        repair(up)
    file.write_text('name = "arm"\nlinks = 3\n')
    up = dl.check(file)
    assert not up.facts.loads and rules(up) == {"D001"} and up.rows[0].line == 2


@pytest.mark.parametrize("name", dl.robots.names())
def test_bundled_robots_have_no_errors(name):
    up = dl.check(name)
    assert up.facts.loads and up.errors == (), str(up)


def test_a_robot_and_a_description_are_checked(tmp_path):
    robot = dl.load(write(tmp_path, DEFECTS["a mass in grams"].text))
    assert rules(dl.check(robot)) == rules(dl.check(robot.description)) == {"D221", "D224"}
    assert dl.check(robot).rows[0].line == 17  # the link's
    assert not dl.check(dl.Robot.from_dh([dl.describe.DHRow(a=1.0)])).errors


def test_wrong_use_is_told(tmp_path):
    with pytest.raises(dl.InputError, match="not int"):
        dl.check(3)  # type: ignore[arg-type]
    with pytest.raises(dl.InputError, match="there is no such file"):
        dl.check("nothing.urdf")
    with pytest.raises(dl.InputError, match="is a folder; dalembert.trust.doctor.check_all"):
        dl.check(tmp_path)
    for nothing in ("", "  "):
        with pytest.raises(dl.InputError, match=f"the name '{nothing}' of what is to be checked is empty; give a path"):
            dl.check(nothing)
    with pytest.raises(dl.UnknownNameError, match="did you mean 'panda'"):
        dl.check("pandas")
    with pytest.raises(dl.InputError, match="there is no .urdf below"):
        check_all([tmp_path])
    with pytest.raises(dl.InputError, match="package_dirs is a list of folders"):
        dl.check("panda", package_dirs="here")
    with pytest.raises(dl.InputError, match="meshes is a switch"):
        dl.check("panda", meshes="no")  # type: ignore[arg-type]


def test_meshes_can_be_left_alone(tmp_path):
    file = write(tmp_path, DEFECTS["a missing mesh"].text)
    assert rules(dl.check(file)) == {"D404"} and rules(dl.check(file, meshes=False)) == set()


def test_packages_are_found_where_they_are_named(tmp_path):
    text = GOOD.replace("meshes/cube.stl", "package://shapes/cube.stl")
    file = write(tmp_path / "a", text)
    assert rules(dl.check(file)) == {"D404"}
    (tmp_path / "elsewhere" / "shapes").mkdir(parents=True)
    (tmp_path / "elsewhere" / "shapes" / "cube.stl").write_bytes(cube_stl())
    assert rules(dl.check(file, package_dirs=[tmp_path / "elsewhere"])) == set()


def test_a_name_in_another_case_is_suggested(tmp_path):
    up = dl.check(write(tmp_path, GOOD.replace("meshes/cube.stl", "meshes/Cube.STL")))
    assert "there is 'cube.stl'" in up.rows[0].fix


# ------------------------------------------------------------------------------------------- slips of a homework
ROWS = ((0.4, [-0.2, 0, 0]), (0.3, [-0.15, 0, 0]))


@pytest.mark.parametrize(
    ("gravity", "rows", "rule"),
    [
        ((0, -9.81, 0), ROWS, None),
        ((0, -9.81, 0), ((0.4, [-0.45, 0.1, 0]), (0.3, [0.05, 0, 0])), None),  # a counterweight, a motor at the end
        ((0, 0, 0), ROWS, None),
        ((0, 0, -9.81), ROWS, "D216"),
        ((0, 9.81, 0), ROWS, "D217"),
        ((0, -9.81, 0), ((0.4, [0.2, 0, 0]), ROWS[1]), "D226"),
        ((0, -9.81, 0), (ROWS[0], (0.3, [0.15, 0, 0])), "D226"),
    ],
)
def test_the_slips_of_a_homework_are_notes(gravity, rows, rule):
    inertia = [0.01, 0.05, 0.05]
    dh = [{"a": a, "inertial": {"mass": 1, "com": com, "inertia": inertia}} for a, com in rows]
    up = dl.check(dl.Robot.from_dh(dh, gravity=gravity))
    found = [(f.severity, f.rule) for f in up.rows if f.rule in ("D216", "D217", "D226")]
    assert found == ([("note", rule)] if rule else []) and up.facts.loads, str(up)


def test_a_center_of_mass_at_the_wrong_end_of_a_shape_is_not_taken_for_millimeters(tmp_path):
    """A thousandth of it lies in the link in any case, next to the joint."""
    shape = "{ capsule = { radius = 0.05, from = [-1.5, 0, 0], to = [0, 0, 0] } }"
    inertial = "{ mass = 1, com = [0.75, 0, 0], inertia = [0.01, 0.2, 0.2] }"
    rows = f"[[dh.rows]]\na = 1.5\ninertial = {inertial}\nshapes = [{shape}]\n"
    (tmp_path / "arm.toml").write_text(f'format = 1\nname = "arm"\ngravity = [0, -9.81, 0]\n{rows}')
    (found,) = (f for f in dl.check(tmp_path / "arm.toml").rows if f.rule == "D220")
    assert "millimeters" not in found.fix and "in a standard DH row that is at the far end" in found.fix


@pytest.mark.parametrize(("length", "rule"), [(0.06, None), (0.1, "D226")])
def test_a_link_that_carries_a_motor_beyond_its_end_is_short(length, rule):
    """Up to a fifth of the longest link."""
    links = ((0.4, -0.2), (length, 0.05), (0.3, -0.15))
    dh = [{"a": a, "inertial": {"mass": 1, "com": [x, 0, 0], "inertia": [0.01, 0.05, 0.05]}} for a, x in links]
    assert ("D226" in rules(dl.check(dl.Robot.from_dh(dh, gravity=(0, -9.81, 0))))) == (rule == "D226")


def test_a_part_that_gravity_moves_is_not_orthogonal_to_it():
    slide = {"kind": "prismatic", "inertial": {"mass": 1, "com": [0, 0, 0], "inertia": [0.01] * 3}}
    assert "D216" not in rules(dl.check(dl.Robot.from_dh([slide])))
    assert "D216" in rules(dl.check(dl.Robot.from_dh([slide], gravity=(9.81, 0, 0))))


# ---------------------------------------------------------------------------------- rules with models of their own
def chain(*links: str, kind: str = "continuous") -> str:
    names = "abcdefgh"[: len(links)]
    parts = [f'<link name="{n}">{text}</link>' for n, text in zip(names, links, strict=True)]
    parts += [
        f'<joint name="{a}{b}" type="{kind}"><parent link="{a}"/><child link="{b}"/><axis xyz="1 0 0"/></joint>'
        for a, b in itertools.pairwise(names)
    ]
    return "<robot name='chain'>\n" + "\n".join(parts) + "\n</robot>"


def inertial(mass: str, I: str) -> str:
    tensor = f'<inertia ixx="{I}" ixy="0" ixz="0" iyy="{I}" iyz="0" izz="{I}"/>'
    return f'<inertial><mass value="{mass}"/>{tensor}</inertial>'


def test_masses_behind_joints(tmp_path):
    solid = inertial("1", "0.01")
    assert rules(dl.check(write(tmp_path, chain("", "", "")))) == {"D208"}
    up = dl.check(write(tmp_path, chain(solid, solid, "")))
    assert {("D206", 4), ("D207", 6)} == {(f.rule, f.line) for f in up.rows}, str(up)
    assert [f.element for f in up.rows] == ["link 'c'", "joint 'bc'"]


def test_an_inertia_without_shapes(tmp_path):
    up = dl.check(write(tmp_path, chain("", inertial("1", "12345678"))))
    assert rules(up) == {"D212"} and "1 g mm² = 1e-9 kg m²" in up.rows[0].fix


def test_a_center_of_mass_without_shapes_to_compare_with(tmp_path):
    for away, found in ((200, {"D215"}), (0.9, set())):
        solid = inertial("1", "0.01").replace("<mass", f'<origin xyz="0 {away} 0"/><mass')
        assert rules(dl.check(write(tmp_path, chain("", solid)))) == found


def test_how_far_a_center_of_mass_may_be_goes_by_the_longest_way_between_joints(tmp_path):
    solid = inertial("1", "0.01")
    for away, found in ((3, set()), (6, {"D215"})):
        text = chain("", solid, solid.replace("<mass", f'<origin xyz="0 {away} 0"/><mass'))
        for name, x in (("ab", 0.02), ("bc", 0.5)):
            head = f'<joint name="{name}" type="continuous">'
            text = text.replace(head, f'{head}<origin xyz="{x} 0 0"/>')
        assert rules(dl.check(write(tmp_path, text))) == found


@pytest.mark.parametrize(("away", "deep"), [(0.15, 0.025), (0.21, 0.0)])
def test_how_deep_two_balls_overlap(away, deep, tmp_path):
    """A point lies as deep in both as half of what they overlap by; the boxes around them overlap where they do not."""
    from dalembert.trust.doctor.shapes import overlaps

    ball = inertial("1", "0.01") + '<collision>{}<geometry><sphere radius="0.1"/></geometry></collision>'
    links = (ball.format(""), inertial("1", "0.01"), ball.format(f'<origin xyz="{away} 0 0"/>'))
    found = overlaps(dl.load(write(tmp_path, chain(*links))).description)
    assert found == ({("a", "c"): pytest.approx(deep, abs=0.01)} if deep else {})
    beside = ball.format('<origin xyz="0.15 0.15 0"/>')  # 0.212 m away
    assert overlaps(dl.load(write(tmp_path, chain(*links[:2], beside))).description) == {}


def test_a_long_cycle_is_cut_short_in_words(tmp_path):
    for count in (3, 8, 9):
        links = "".join(f'<link name="{k}"/>' for k in range(count))
        joints = "".join(
            f'<joint name="j{k}" type="fixed"><parent link="{k}"/><child link="{(k + 1) % count}"/></joint>'
            for k in range(count)
        )
        found = [f for f in dl.check(write(tmp_path, f'<robot name="r">{links}{joints}</robot>')).rows]
        (message,) = [f.message for f in found if f.rule == "D116"]
        assert message.count("→") == count
        assert ("…" in message) == (count > 8)


def test_what_is_missing_of_one_package_is_one_finding(tmp_path):
    shown = "".join(
        f'<visual><geometry><mesh filename="package://{package}/{k}.stl"/></geometry></visual>'
        for package in ("arm", "hand")
        for k in (1, 2, 3, 1)
    )
    up = dl.check(write(tmp_path, chain("", inertial("1", "0.01") + shown)))
    assert [f.message for f in up.rows] == [
        f"the mesh 'package://{package}/1.stl' of a visual of link 'b' was not found, nor were 2 others of package "
        f"'{package}'"
        for package in ("arm", "hand")
    ]


def test_numbers_beyond_any_size(tmp_path):
    ball = '<visual><geometry><sphere radius="1e200"/></geometry></visual>'
    up = dl.check(write(tmp_path, chain("", inertial("1", "0.01") + ball)))
    assert up.facts.loads and rules(up) == {"D403"}
    up = dl.check(write(tmp_path, chain("", inertial("1e308", "1e200"))))
    assert not up.facts.loads and "check its exponent" in up.facts.refusal
    assert [up.facts.loads for up in check_all([write(tmp_path, chain("", inertial("1e308", "1e308")))])] == [False]


def test_capitals_in_the_ending(tmp_path):
    file = write(tmp_path, chain("", inertial("1", "0.01"))).rename(tmp_path / "ARM.URDF")
    assert dl.check(file).facts.loads and dl.load(file).n == 1


def test_placeholders(tmp_path):
    one = inertial("1", "1.0")
    assert [f.line for f in dl.check(write(tmp_path, chain(one, one))).rows if f.rule == "D214"] == [2, 3]
    assert "D214" not in rules(dl.check(write(tmp_path, chain(one, inertial("2", "1.0")))))


def test_a_placeholder_is_no_unit_and_is_not_rescaled(tmp_path):
    text = DEFECTS["an inertia in g mm²"].text
    text = text.replace("600000", "1000").replace("7800000", "1000")
    assert rules(dl.check(write(tmp_path, text))) == {"D223"}


def only(folder: Path, text: str) -> dl.Finding:
    (finding,) = dl.check(write(folder, text)).rows
    return finding


@pytest.mark.parametrize(
    ("unit", "factor"), [("g mm²", 1e9), ("g cm²", 1e7), ("kg mm²", 1e6), ("kg cm²", 1e4), ("g m²", 1e3)]
)
def test_the_unit_of_an_inertia_is_named(unit, factor, tmp_path):
    """A cube of 1 m and 12 kg: 2 kg m² about each axis."""
    cube = inertial("12", f"{2 * factor:g}") + '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    found = only(tmp_path, chain("", cube))
    assert found.rule == "D225" and found.fix == f"it fits in {unit}: divide all six by {factor:g}"
    assert b'ixx="2"' in repair(dl.check(write(tmp_path, chain("", cube)))).text


def test_a_negative_moment_that_another_link_hides(tmp_path):
    """Of a link on a moving one that is heavy enough for both, or not, and turned against it."""
    for outside, rule in ((1e-5, "D213"), (1.0, "D203")):
        moments = f'ixx="-{outside}" ixy="0" ixz="0" iyy="{outside}" iyz="0" izz="{outside}"'
        there = '<origin xyz="0 0.2 0"/><mass value="0.1"/>'
        tool = f'<link name="tool"><inertial>{there}<inertia {moments}/></inertial></link>'
        found = dl.check(write(tmp_path, GOOD.replace('<link name="tool"/>', tool))).rows
        assert [f.rule for f in found if f.rule in ("D203", "D213")] == [rule]


def test_a_slide_with_infinite_limits_does_not_become_continuous(tmp_path):
    text = GOOD.replace('lower="0" upper="0.04" effort', 'lower="-inf" upper="inf" effort')
    found = dl.check(write(tmp_path, text)).rows
    assert [(f.rule, f.fixable) for f in found] == [("D110", False)] * 2
    assert not any("continuous" in f.message + f.fix for f in found)


def test_a_slide_is_told_what_a_slide_can_do(tmp_path):
    grip = '<limit lower="0" upper="0.04" effort="20" velocity="0.1"/>'
    soft = '    <safety_controller soft_lower_limit="0.001" soft_upper_limit="0.039" k_velocity="1"/>\n'
    bare = GOOD.replace(soft, "")
    without = only(tmp_path, bare.replace(f"    {grip}\n", ""))
    assert without.rule == "D307" and without.fix == "add <limit lower upper effort velocity>"
    assert "or make it continuous" in only(tmp_path, DEFECTS["no limit at all"].text).fix
    locked = dl.check(write(tmp_path, bare.replace('lower="0" upper="0.04" ', "")))
    assert [f.fix for f in locked.rows if f.rule == "D306"] == ["give limits, or make it fixed"]
    assert only(tmp_path, DEFECTS["no position limits"].text).fix == "give limits, or make it continuous or fixed"
    axis = '    <axis xyz="0 1 0"/>\n    <limit lower="0"'
    slide = only(tmp_path, GOOD.replace(axis, '    <limit lower="0"'))
    assert slide.message.endswith("has no <axis> and slides along x")
    assert only(tmp_path, DEFECTS["no axis"].text).message.endswith("has no <axis> and turns about x")


def test_what_stands_before_the_declaration_is_named(tmp_path):
    for name in ("text before the declaration", "a comment before the declaration"):
        found = only(tmp_path, DEFECTS[name].text)
        assert found.message.endswith("something stands before <?xml") and found.fix == "remove it"


def test_a_wrong_sign_is_named(tmp_path):
    found = only(tmp_path, DEFECTS["a follower of the wrong sign"].text)
    assert found.message == "joint 'follow' follows 'grip' within -0.04 … 0 and is limited to 0 … 0.04"
    assert found.fix == "multiplier=1 would fit: correct its sign, or write limits -0.04 … 0"
    assert "correct multiplier and offset" in only(tmp_path, DEFECTS["a follower elsewhere"].text).fix
    half = only(tmp_path, DEFECTS["a follower with half the range"].text)
    assert half.message.endswith("limited to -0.02 … 0: that leaves 'grip' 0 … 0.02 of 0 … 0.04")


@pytest.mark.parametrize("defect", [d for d in DEFECTS.values() if d.rule in ("D328", "D329")], ids=lambda d: d.new)
def test_a_followers_limits_and_the_loader_agree(defect, tmp_path):
    """What contradicts itself is warned of and leaves the master's range; what is too narrow narrows it."""
    file = write(tmp_path, defect.text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        robot = dl.load(file)
    told = [str(w.message) for w in said if "which leaves no range" in str(w.message)]
    k = robot.joint_names.index("elbow" if "elbow" in defect.new else "grip")
    width = robot.limits.upper[k] - robot.limits.lower[k]
    if defect.rule == "D328":
        assert len(told) == 1 and "joint 'follow' follows 'grip'" in told[0] and width == 0.04
    else:
        assert not told and 0 < width < (0.05 if k == 1 else 0.04)


def test_limits_along_a_chain_of_followers(tmp_path):
    """The third follows the second, which its own limits hold within half of what the first allows."""
    third = (
        '  <link name="third"><inertial><mass value="0.1"/>'
        '<inertia ixx="3.6e-05" ixy="0" ixz="0" iyy="3.6e-05" iyz="0" izz="3.6e-05"/></inertial></link>\n'
        '  <joint name="last" type="prismatic"><parent link="fore"/><child link="third"/><axis xyz="0 1 0"/>'
        '<limit lower="0" upper="{}" effort="20" velocity="0.1"/><mimic joint="follow" multiplier="-2"/></joint>'
        "\n</robot>"
    )
    for upper, wanted in ((0.08, set()), (0.04, {"D329"}), (-0.1, {"D305"})):
        text = GOOD.replace("</robot>", third.format(upper))
        assert rules(dl.check(write(tmp_path, text))) == wanted
    half = GOOD.replace('lower="-0.04" upper="0"', 'lower="-0.02" upper="0"').replace("</robot>", third.format(0.04))
    assert [f.element for f in dl.check(write(tmp_path, half)).rows] == ["joint 'follow'"]
    wide = GOOD.replace('lower="-0.04" upper="0"', 'lower="-0.09" upper="0.09"')
    assert rules(dl.check(write(tmp_path, wide.replace("</robot>", third.format(0.08))))) == set()


def test_what_turns_fast_and_is_light_or_endless(tmp_path):
    fast = GOOD.replace('<limit effort="40" velocity="3"/>', '<limit effort="40" velocity="300"/>')
    assert rules(dl.check(write(tmp_path, fast))) == set()  # a wheel, or a propeller
    text = DEFECTS["a velocity in degrees per second"].text
    for mass, found in ((0.05, False), (0.2, True)):
        assert ("D327" in rules(dl.check(write(tmp_path, text.replace('"3.0"', f'"{mass}"'))))) == found
    assert only(tmp_path, text).fix == "if this is in degrees, write 2.49582"


def test_a_material_may_be_defined_at_any_shape(tmp_path):
    there = '<geometry><sphere radius="0.03"/></geometry><material name="silver"><color rgba="0 0 0 1"/></material>'
    text = DEFECTS["an undefined material"].text
    assert only(tmp_path, text).message == "material 'silver' of a shape is defined nowhere"
    text = text.replace('<geometry><sphere radius="0.03"/></geometry>', there)
    assert rules(dl.check(write(tmp_path, text))) == set()


def test_what_only_the_loader_knows_is_said_too(tmp_path):
    drive = '<dalembert:drive gear_ratio="0"/>'
    up = dl.check(write(tmp_path, GOOD.replace('<axis xyz="0 0 1"/>', f'<axis xyz="0 0 1"/>{drive}')))
    assert not up.facts.loads and rules(up) == {"D001"} and "gear ratio" in up.rows[0].message
    assert up.rows[0].line == 59 and up.rows[0].fix == "write 1 for a direct drive"
    home = '<dalembert:home joint="shoulder" position="3.5"/>\n</robot>'
    up = dl.check(write(tmp_path, GOOD.replace("</robot>", home)))
    assert up.facts.loads and rules(up) == {"D002"} and "beyond its limits" in up.rows[0].message


def test_what_dalembert_writes_is_clean(tmp_path):
    """Its own elements say what is unlimited."""
    for name in ("planar-2r", "scara", "ur5e"):
        file = tmp_path / f"{name}.urdf"
        dl.load(name).to_urdf(file)
        assert rules(dl.check(file)) == rules(dl.check(name))


# ------------------------------------------------------------------------------------------- geometry
@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_the_nearest_inertia_is_possible_and_nearest(six):
    found = nearest(six)
    assert feasible.verdict(found, tolerance=1e-9) == "feasible"
    distance = np.linalg.norm(tensor_of(found) - tensor_of(six))
    if feasible.verdict(six, tolerance=0.0) == "feasible":
        assert distance <= 1e-5 * max(map(abs, six))
    rng = np.random.default_rng(0)
    for _ in range(40):  # no other possible inertia, near or far, is nearer
        A = rng.normal(size=(3, 3)) * rng.uniform(0, 1.5)
        near = tensor_of(found) + rng.normal(size=(3, 3)) * 0.05
        P = A @ A.T if rng.random() < 0.5 else _psd(0.5 * np.trace(near) * np.eye(3) - 0.5 * (near + near.T))
        other = np.trace(P) * np.eye(3) - P
        assert np.linalg.norm(other - tensor_of(six)) >= distance - 1e-5 * max(map(abs, six)) - 1e-12


def _psd(S):
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def test_directions_come_with_their_opposites():
    for d in (DIRECTIONS, sphere(256)):
        assert np.allclose(np.linalg.norm(d, axis=1), 1.0, rtol=1e-12)
        assert np.array_equal(np.roll(d, len(d) // 2, axis=0), -d)
    assert np.array_equal(DIRECTIONS[OPPOSITE], -DIRECTIONS) and np.array_equal(DIRECTIONS[:3], np.eye(3))


def samples(geometry, rng) -> np.ndarray:
    """Points of a shape, many on its surface."""
    u = rng.normal(size=(20_000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    t = rng.uniform(-0.5, 0.5, (20_000, 1))
    match geometry:
        case Box(size):
            return np.sign(u) * np.array(size) / 2
        case Sphere(radius):
            return radius * u
        case Cylinder(radius, length):
            ring = u[:, :2] / np.linalg.norm(u[:, :2], axis=1, keepdims=True)
            return np.hstack([radius * ring, length * np.where(np.abs(t) < 0.2, t, 0.5 * np.sign(t))])
        case Capsule(radius, length):
            return radius * u + np.hstack([0 * t, 0 * t, 0.5 * length * np.sign(t)])
    raise AssertionError


SHAPES = [Box((1.0, 2.0, 3.0)), Sphere(0.7), Cylinder(0.4, 2.0), Capsule(0.3, 1.0)]


@pytest.mark.parametrize("geometry", SHAPES, ids=str)
def test_support_values_are_those_of_the_points(geometry):
    rng = np.random.default_rng(1)
    origin = Origin((0.3, -0.2, 0.1), (0.4, -0.5, 0.6))
    found = reach_of([(geometry, origin, None)])
    T = dl.pose(xyz=origin.xyz, rpy=origin.rpy)
    points = samples(geometry, rng) @ T[:3, :3].T + T[:3, 3]
    reach = (points @ DIRECTIONS.T).max(axis=0)
    assert (reach <= found.support + 1e-12).all()
    assert np.allclose(reach, found.support, atol=0.03)  # twenty thousand points
    assert found.beyond(points.mean(axis=0)) < 0
    assert found.beyond(np.array([10.0, 0.0, 0.0])) == pytest.approx(10 - found.support[0], rel=0.02)
    # No mass within the shape has a larger second moment.
    weights = rng.exponential(size=len(points)) ** 4
    c = np.average(points, axis=0, weights=weights)
    P = np.cov((points - c).T, aweights=weights, ddof=0)
    assert (np.einsum("ki,ij,kj->k", DIRECTIONS, P, DIRECTIONS) <= found.largest_moments(0.0) + 1e-9).all()


def test_a_mesh_is_scaled_and_bounded(tmp_path):
    file = tmp_path / "cube.stl"
    file.write_bytes(cube_stl())
    points = vertices(file)
    found = reach_of([(Mesh("cube.stl", (0.2, 0.3, -0.4)), Origin(), points)])
    assert np.allclose(found.sides, [0.2, 0.3, 0.4], rtol=1e-6)
    assert found.volume == pytest.approx(0.024, rel=1e-5)


def examples(suffix: str, step: int) -> list[Path]:
    """A dozen small meshes, from all over the package."""
    found = (f for f in EXAMPLES.rglob("*") if f.suffix.lower() == suffix and f.stat().st_size < 400_000)
    return sorted(found)[::step][:12]


@pytest.mark.parametrize("file", [*examples(".obj", 7), *examples(".dae", 16)], ids=lambda f: f.name)
def test_corners_of_meshes_are_those_of_trimesh(file):
    from dalembert.describe.mesh import read

    wanted, _ = read(file)
    found = vertices(file)
    size = np.ptp(wanted, axis=0).max()
    assert np.allclose(found.min(axis=0), wanted.min(axis=0), atol=1e-6 * size)
    assert np.allclose(found.max(axis=0), wanted.max(axis=0), atol=1e-6 * size)


def test_of_many_points_the_ends_along_each_axis_are_kept():
    from dalembert.trust.doctor.reach import _extreme

    x = np.random.default_rng(0).normal(size=(20_000, 3))
    x *= [1.0, 0.5, 2.0] / np.linalg.norm(x, axis=1, keepdims=True)
    kept = _extreme(x)
    assert len(kept) < 600
    assert np.array_equal(kept.min(axis=0), x.min(axis=0)) and np.array_equal(kept.max(axis=0), x.max(axis=0))


BAD_MESHES = {
    "empty.obj": (b"# nothing\n", "there are no vertices"),
    "words.obj": (b"v a b c\n", "not three numbers"),
    "short.obj": (b"v 1 2\nv 1 2 3\n", "not three numbers"),
    "nan.obj": (b"v 1 2 nan\n", "not finite"),
    "not.dae": (b"<robot/>", "not <COLLADA>"),
    "broken.dae": (b"<COLLADA>", "malformed"),
    "bomb.dae": (b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>', "DOCTYPE is refused"),
    "circle.dae": (
        b'<COLLADA><library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes><library_visual_scenes>'
        b'<visual_scene><node><instance_node url="#n"/></node></visual_scene></library_visual_scenes></COLLADA>',
        "in a circle",
    ),
    "matrix.dae": (
        b"<COLLADA><library_visual_scenes><visual_scene><node><matrix>1 2</matrix></node></visual_scene>"
        b"</library_visual_scenes></COLLADA>",
        "has 2 numbers, not 16",
    ),
}


@pytest.mark.parametrize("name", BAD_MESHES)
def test_damaged_meshes_are_findings(name, tmp_path):
    data, words = BAD_MESHES[name]
    file = write(tmp_path, GOOD.replace("meshes/cube.stl", f"meshes/{name}"))
    (tmp_path / "meshes" / name).write_bytes(data)
    up = dl.check(file)
    assert rules(up) == {"D406"} and words in up.rows[0].message, str(up)


def test_a_collada_scene_is_placed(tmp_path):
    """Two instances: one turned by 90° about z and moved, one scaled; the unit is the centimeter."""
    (tmp_path / "m.dae").write_text(
        '<COLLADA><asset><unit meter="0.01"/></asset><library_geometries><geometry id="g"><mesh>'
        '<source id="p"><float_array count="6">1 0 0 2 0 0</float_array></source>'
        '<source id="normals"><float_array count="3">99 99 99</float_array></source>'
        '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices></mesh></geometry></library_geometries>'
        "<library_visual_scenes><visual_scene><node><translate>0 0 5</translate><rotate>0 0 1 90</rotate>"
        '<instance_geometry url="#g"/></node><node><scale>10 1 1</scale><instance_geometry url="#g"/></node>'
        "</visual_scene></library_visual_scenes></COLLADA>"
    )
    wanted = 0.01 * np.array([[0, 1, 5], [0, 2, 5], [10, 0, 0], [20, 0, 0]])
    assert np.allclose(vertices(tmp_path / "m.dae"), wanted, atol=1e-15)


# ------------------------------------------------------------------------------------------- repairs
def test_repairs_keep_every_other_byte(tmp_path):
    """Odd but lawful writing: single quotes, line breaks in tags, '>' in a value, CRLF, latin-1, a comment inside."""
    axis = "<axis\r\n   xyz = '0 0 2' note=\"a > b\"\r\n/><!-- the axis: 0 0 2 é -->"
    text = GOOD.replace('<axis xyz="0 0 1"/>', axis)
    text = text.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="iso-8859-1"?>').replace("\n", "\r\n")
    data = b"\n  " + text.encode("latin-1")
    mended = repair(dl.check(write(tmp_path, data)))
    assert mended.text == data.replace(b"xyz = '0 0 2'", b"xyz = '0 0 1'")
    assert len(mended.changes) == 1


def test_edits_find_every_element():
    data = b"<a><!-- <b/> --><b x='1'/><c><![CDATA[<b>]]></c><b\n x=\"2\"></b></a>"
    found = [data[s.start : s.end] for s in spans(data)]
    assert found == [data, b"<b x='1'/>", b"<c><![CDATA[<b>]]></c>", b'<b\n x="2"></b>']


def test_what_shares_a_line_with_a_repair_is_kept(tmp_path):
    """An element that is taken out goes with its line if it stands alone there; else the rest of the line stays."""
    axis, limit = '<axis xyz="0 1 0"/>', '<limit effort="40" velocity="3"/>'
    good = f"{axis}\n    {limit}\n"
    for twice, once in (
        (f"{axis}\n    {limit}\n    {limit}\n", good),
        (f"{axis}{limit}\n    {limit}\n", f"{axis}{limit}\n"),
        (f"{axis}\n    {limit}{limit}\n", good),
        (f"{limit}\n    {limit}{axis}\n", f"{limit}\n    {axis}\n"),
    ):
        mended = repair(dl.check(write(tmp_path, GOOD.replace(good, twice))))
        assert mended.text.decode() == GOOD.replace(good, once) and mended.after.facts.loads


def test_repairs_are_escaped():
    edits = (Edit(0, "n", "<&\"'>"), Edit(0, "m", "2"), Edit(0, "z"))
    data, (change,) = edit_text(b'<a n="1"/>', [dl.Finding("D000", "note", "", edits=edits)])
    assert data == b'<a m="2" n="&lt;&amp;&quot;&apos;&gt;"/>' and change.text.endswith("; z of <a> was not there")


def test_a_byte_order_mark_does_not_move_the_edits(tmp_path):
    text = DEFECTS["an axis of length two"].text
    mended = repair(dl.check(write(tmp_path, b"\xef\xbb\xbf" + text.encode())))
    assert mended.text == b"\xef\xbb\xbf" + GOOD.encode()


def test_utf16_is_checked_but_not_repaired(tmp_path):
    text = DEFECTS["an axis of length two"].text.replace('<?xml version="1.0"?>\n', "")
    up = dl.check(write(tmp_path, text.encode("utf-16")))
    assert rules(up) == {"D302"}
    with pytest.raises(dl.InputError, match="save it as UTF-8"):
        repair(up)


# ------------------------------------------------------------------------------------------- machine formats
@pytest.fixture(scope="module")
def ups(tmp_path_factory) -> list[dl.Findings]:
    folder = tmp_path_factory.mktemp("many files")
    for k, name in enumerate(DEFECTS):
        write(folder / "in, with ü", DEFECTS[name].text, f"{k:03d}.urdf")
    write(folder, GOOD, "good.urdf")
    return check_all([folder])


def test_a_run_over_a_folder(ups):
    assert len(ups) == len(DEFECTS) + 1 and [up.source for up in ups] == sorted(up.source for up in ups)
    assert all(up.facts.seconds > 0 for up in ups)
    assert not any(f.rule == "D000" for up in ups for f in up.rows)


def test_json(ups):
    data = json.loads(as_json(ups))
    assert data["counts"] == {s: sum(up.counts[s] for up in ups) for s in SEVERITIES}
    assert data["loads"] == sum(up.facts.loads for up in ups)
    for file, up in zip(data["files"], ups, strict=True):
        assert file["source"] == up.source and len(file["findings"]) == len(up.rows)
        for finding in file["findings"]:
            assert finding["severity"] in SEVERITIES and finding["rule"] in RULES
            assert isinstance(finding["fixable"], bool)
            assert {"file", "line", "column", "element", "message", "why", "fix"} < set(finding)


def test_sarif_has_the_structure_of_2_1_0(ups):
    """What section 3 of the standard requires of every object that is used, and the types it gives."""
    log = json.loads(as_sarif(ups))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str) and driver["version"] == dl.__version__
    described = driver["rules"]
    assert [r["id"] for r in described] == sorted(RULES) and len({r["id"] for r in described}) == len(described)
    for r in described:
        assert r["shortDescription"]["text"] and r["fullDescription"]["text"]
        assert r["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    assert len(run["results"]) == sum(len(up.rows) for up in ups) > 90
    for result in run["results"]:
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert uri.startswith("file:///") and " " not in uri and uri.isascii()
        assert physical["region"]["startLine"] >= 1 and physical["region"].get("startColumn", 1) >= 1
        assert all(k["name"] for k in location["logicalLocations"])


def test_junit_is_xml_with_true_counts(ups):
    root = ElementTree.fromstring(write_junit(ups).encode())
    suites = root.findall("testsuite")
    assert root.tag == "testsuites" and len(suites) == len(ups)
    for suite, up in zip(suites, ups, strict=True):
        cases = suite.findall("testcase")
        assert suite.get("name") == up.source and int(suite.get("tests")) == len(cases) >= 1
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == len(up.errors) + len(up.warnings)
        assert all(case.get("name") and case.get("classname") for case in cases)
    assert int(root.get("tests")) == len(root.findall(".//testcase"))
    assert int(root.get("failures")) == len(root.findall(".//failure"))


def test_file_names_that_are_no_text(tmp_path):
    """Control characters, which XML cannot hold, and bytes that are not UTF-8."""
    for name in ("a\x01b.urdf", os.fsdecode(b"\xff.urdf"), "a\nb.urdf"):
        write(tmp_path, DEFECTS["a mass in grams"].text, name)
    ups = check_all([tmp_path])
    assert len(ups) == 3 and all(rules(up) == {"D221", "D224"} for up in ups)
    assert len(json.loads(as_json(ups))["files"]) == 3
    assert len(json.loads(as_sarif(ups).encode())["runs"][0]["results"]) == 6
    assert len(ElementTree.fromstring(write_junit(ups).encode()).findall("testsuite")) == 3


def test_severities_are_ordered(tmp_path):
    assert at_least("error", "warning") and at_least("note", "note") and not at_least("note", "error")
    up = dl.check(write(tmp_path, DEFECTS["limits in degrees"].text))
    assert up.worst == "warning" and up.fails("warning") and not up.fails() and up.fails("note")


# ------------------------------------------------------------------------------------------- hostile files
def test_nothing_crashes(tmp_path):
    files = {
        "empty": b"",
        "blank": b"\n \n",
        "zeros": b"\0" * 1000,
        "random": random.Random(0).randbytes(5000),
        "not utf-8": GOOD.replace("arm", "\xe9rm").encode("latin-1"),
        "an unknown encoding": b'<?xml version="1.0" encoding="klingon"?><robot/>',
        "deep": b"<robot>" + b"<a>" * 100_000,
        "deep links": b"<robot name='x'>" + b"<link name='a'>" * 150 + b"</link>" * 150 + b"</robot>",
        "an entity bomb": b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        "an external entity": b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="&a;"/>',
        "many links": b"<robot name='x'>" + b"".join(b"<link name='%d'/>" % k for k in range(3000)) + b"</robot>",
        "a long number": GOOD.replace('"3.0"', f'"{"9" * 10_000}"').encode(),
        "huge numbers": GOOD.replace("0.04", "1e200").replace('"3.0"', '"1e300"').encode(),
        "tiny numbers": GOOD.replace("0.04", "1e-300").replace('"3.0"', '"1e-320"').encode(),
        "control characters": GOOD.replace("upper", "up&#9;per").encode(),
        "a nameless tree": b"<robot><link/><link/><joint/><joint/></robot>",
        "a mesh with a null": GOOD.replace("meshes/cube.stl", "&#10;").encode(),
        "a mesh that is a folder": GOOD.replace("meshes/cube.stl", "meshes").encode(),
    }
    for k, (name, data) in enumerate(files.items()):
        write(tmp_path, data, f"{k:02d} {name}.urdf")
    (tmp_path / "a folder.urdf").mkdir()
    (tmp_path / "dangling.urdf").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.urdf")
    ups = check_all([tmp_path])
    assert len(ups) == len(files) + 2
    for up in ups:
        assert "D000" not in rules(up), str(up)
        assert up.facts.loads or up.errors, str(up)
    for write_as in (as_json, as_sarif):
        json.loads(write_as(ups))
    ElementTree.fromstring(write_junit(ups).encode())
    bomb = next(up for up in ups if "entity bomb" in up.source)
    assert rules(bomb) == {"D101"} and "DOCTYPE is refused" in bomb.rows[0].message


def test_a_file_that_is_too_long_is_refused_unread(tmp_path):
    file = tmp_path / "long.urdf"
    with open(file, "wb") as f:
        f.truncate(65 << 20)
    up = dl.check(file)
    assert rules(up) == {"D001"} and "larger than 64 MiB" in up.rows[0].message


def test_every_cut_and_every_scratch_is_survived(tmp_path):
    """Truncated anywhere, or with bytes changed: a finding, or nothing, and a repair that is no worse."""
    rng = random.Random(1)
    data = GOOD.encode()
    for k in range(120):
        if k % 2:
            broken = data[: rng.randrange(len(data))]
        else:
            broken = bytearray(data)
            for _ in range(rng.choice((1, 2, 5))):
                at = rng.randrange(len(broken))
                broken[at] = rng.choice(b"0123456789.-+eE <>/\"'= abcxyz")
        (up,) = check_all([write(tmp_path, bytes(broken))])
        assert "D000" not in rules(up), (broken, str(up))
        assert up.facts.loads or up.errors
        assert repair(up).after.counts["error"] <= up.counts["error"]


def test_a_slip_of_ours_costs_one_file(tmp_path, monkeypatch):
    module = sys.modules[check_all.__module__]
    write(tmp_path, GOOD, "a.urdf"), write(tmp_path, GOOD, "b.urdf")
    real = dl.check
    monkeypatch.setattr(module, "check", lambda f, **k: real(f, **k) if f.name == "b.urdf" else 1 / 0)
    first, second = check_all([tmp_path])
    assert rules(first) == {"D000"} and "ZeroDivisionError" in first.rows[0].message and second.rows == ()


# ------------------------------------------------------------------------------------------- real robots
# Every error that real files of example-robot-data have, and why it is none of the doctor's making.
TRUE_ERRORS = {
    "alex_psyonic_hands.urdf": {"D120"},  # mimics joints that are not there: no reader takes it
    "ur3.urdf": {"D103", "D122"},  # holds no link and has no name
    "romeo_laas_small.urdf": {"D203"},  # two hips with a negative principal moment
}
TRUE_WARNINGS = {
    ("pr2.urdf", "D328", "joint 'l_gripper_r_parallel_root_joint'"),  # multiplier −1, limits 0 … 0.548
    ("pr2.urdf", "D328", "joint 'r_gripper_r_parallel_root_joint'"),
    ("so101.urdf", "D130", "<origin>"),  # of a link
}
WELL_MADE = ("panda", "ur10_robot", "talos_full_v2", "solo12", "hyq_no_sensors", "iiwa14", "kinova", "z1", "go2", "g1")


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="example-robot-data is not installed")
def test_no_false_alarm_on_real_robots():
    """Without meshes, for time; `make corpus` opens them all."""
    ups = check_all([EXAMPLES], meshes=False)
    assert len(ups) >= 60
    errors = {Path(up.source).name: {f.rule for f in up.errors} for up in ups if up.errors}
    assert errors == TRUE_ERRORS
    rare = {"D130", "D131", "D325", "D326", "D328", "D329"}
    found = {(Path(up.source).name, f.rule, f.element) for up in ups for f in up.rows if f.rule in rare}
    assert found == TRUE_WARNINGS
    assert sum(up.facts.loads for up in ups) == len(ups) - 2


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="example-robot-data is not installed")
def test_no_false_alarm_with_meshes():
    files = [f for f in EXAMPLES.rglob("*.urdf") if f.stem in WELL_MADE]
    ups = check_all(files)
    assert len(ups) >= 5
    assert all(up.facts.loads and not up.errors for up in ups)


def test_the_hips_of_romeo_are_truly_impossible():
    file = next(EXAMPLES.rglob("romeo_laas_small.urdf"), None)
    if file is None:
        pytest.skip("example-robot-data is not installed")
    robot = dl.load(file)
    link = next(k for k in robot.description.links if k.name == "LHipPitch_link")
    assert np.linalg.eigvalsh(tensor_of(link.inertial.inertia)).min() < -1e-3


def test_the_page_names_every_rule():
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
    for row in RULES.values():
        assert f"| {row.identifier} | {row.severity} | {row.title} |" in page, row.identifier
