"""What every description must pass: structure, names, numbers, and the warnings that name what follows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from dalembert.describe import mass as feasible
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
from dalembert.describe.mesh import depth_below, escape
from dalembert.errors import DescriptionError, Place
from errors import fields_of, raises

BODY = Inertial(2.0, (0.3, 0.0, 0.0, 0.3, 0.0, 0.4))
NAN, INF = math.nan, math.inf


def links(*names: str) -> tuple[Link, ...]:
    return tuple(Link(name, BODY) for name in names)


def arm(**joint: object) -> Description:
    """base –j1– upper –j2– lower, with j2 changed as asked."""
    second = replace(Joint("j2", "revolute", "upper", "lower", axis=(0.0, 1.0, 0.0)), **joint)  # type: ignore[arg-type]
    first = Joint("j1", "revolute", "base", "upper", axis=(0.0, 0.0, 1.0))
    return Description("arm", links("base", "upper", "lower"), (first, second))


def with_body(inertial: Inertial | None) -> Description:
    d = arm()
    return replace(d, links=(*d.links[:2], replace(d.links[2], inertial=inertial)))


def with_shape(shape: Shape) -> Description:
    d = arm()
    return replace(d, links=(*d.links[:2], replace(d.links[2], visuals=(shape,))))


def test_good_description_is_unchanged_and_silent() -> None:
    assert check(arm()) == arm()
    assert check(arm()).warnings == ()


# structure

TREES = {
    "no link": (Description("empty", ()), "missing links"),
    "two links of a name": (Description("r", links("a", "b", "a")), "duplicate link"),
    "two joints of a name": (
        Description("r", links("a", "b", "c"), (Joint("j", "fixed", "a", "b"), Joint("j", "fixed", "b", "c"))),
        "duplicate joint",
    ),
    "blank link name": (Description("r", links(" ")), "missing name"),
    "blank joint name": (Description("r", links("a", "b"), (Joint("", "fixed", "a", "b"),)), "missing name"),
    "unknown child": (
        Description("r", links("base", "tool0"), (Joint("j", "fixed", "base", "tol0"),)),
        "unknown-name link",
    ),
    "unknown parent": (
        Description("r", links("base", "tool0"), (Joint("j", "fixed", "bases", "tool0"),)),
        "unknown-name link",
    ),
    "two parents": (
        Description("r", links("a", "b", "c"), (Joint("j", "fixed", "a", "c"), Joint("k", "fixed", "b", "c"))),
        "wrong-structure joints",
    ),
    "two roots": (Description("r", links("a", "b", "c"), (Joint("j", "fixed", "a", "b"),)), "wrong-structure joints"),
    "cycle": (
        Description("r", links("root", "a", "b"), (Joint("j", "revolute", "a", "b"), Joint("k", "revolute", "b", "a"))),
        "wrong-structure joints",
    ),
    "joint to itself": (
        Description("r", links("root", "a"), (Joint("j", "revolute", "a", "a"),)),
        "wrong-structure joints",
    ),
    "unknown tip": (replace(arm(), tip="lowr"), "unknown-name tip"),
    "gravity": (replace(arm(), gravity=(0.0, NAN, 0.0)), "not-finite"),
}


@pytest.mark.parametrize("case", TREES)
def test_structure_is_refused(case: str) -> None:
    description, message = TREES[case]
    with pytest.raises(DescriptionError) as error:
        check(description)
    assert fields_of(error.value) == message


def test_a_refusal_names_the_place() -> None:
    d = arm(mimic=Mimic("j3"), place=Place("arm.urdf", 12, 5))
    with raises(DescriptionError, "unknown-name mimic"):
        check(d)


def test_the_second_of_two_names_points_to_the_first() -> None:
    twice = (Link("a", place=Place("r.urdf", 3, 1)), Link("a", place=Place("r.urdf", 9, 1)))
    with raises(DescriptionError, "duplicate link"):
        check(Description("r", twice))


def test_a_chain_longer_than_the_stack() -> None:
    n = 3000
    names = [f"l{i}" for i in range(n)]
    joints = tuple(Joint(f"j{i}", "fixed", names[i], names[i + 1]) for i in range(n - 1))
    assert len(check(Description("chain", links(*names), joints)).joints) == n - 1
    ring = (*joints, Joint("close", "fixed", names[-1], names[0]))
    with raises(DescriptionError, "wrong-structure joints"):
        check(Description("ring", links(*names), ring))


# joints

JOINTS = {
    "type": ({"kind": "ball"}, "unknown-name kind"),
    "zero axis": ({"axis": (0.0, 0.0, 0.0)}, "out-of-range axis"),
    "nan axis": ({"axis": (0.0, NAN, 0.0)}, "not-finite"),
    "nan origin": ({"origin": Origin(xyz=(NAN, 0.0, 0.0))}, "not-finite"),
    "inf rpy": ({"origin": Origin(rpy=(0.0, INF, 0.0))}, "not-finite"),
    "swapped limits": ({"limit": Limit(1.0, -1.0)}, "wrong-order limit"),
    "nan limit": ({"limit": Limit(NAN, 1.0)}, "not-finite"),
    "negative effort": ({"limit": Limit(effort=-3.0)}, "out-of-range limit"),
    "negative velocity": ({"limit": Limit(velocity=-3.0)}, "out-of-range limit"),
    "limited continuous": ({"kind": "continuous", "limit": Limit(-1.0, 1.0)}, "conflict limit"),
    "negative damping": ({"drive": Drive(damping=-1.0)}, "out-of-range drive"),
    "negative friction": ({"drive": Drive(coulomb=(0.4, -0.4))}, "out-of-range drive"),
    "nan friction": ({"drive": Drive(coulomb=(NAN, 0.0))}, "not-finite"),
    "negative rotor": ({"drive": Drive(rotor_inertia=-1e-4)}, "out-of-range drive"),
    "negative spring": ({"drive": Drive(stiffness=-1.0)}, "out-of-range drive"),
    "no gear": ({"drive": Drive(gear_ratio=0.0)}, "out-of-range gear_ratio"),
    "nan gear": ({"drive": Drive(gear_ratio=NAN)}, "not-finite"),
    "inf rest": ({"drive": Drive(rest=INF)}, "not-finite"),
    "mimics itself": ({"mimic": Mimic("j2")}, "wrong-structure mimic"),
    "mimics nobody": ({"mimic": Mimic("j11")}, "unknown-name mimic"),
    "nan mimic": ({"mimic": Mimic("j1", NAN)}, "not-finite"),
}


@pytest.mark.parametrize("case", JOINTS)
def test_joint_is_refused(case: str) -> None:
    change, message = JOINTS[case]
    with pytest.raises(DescriptionError) as error:
        check(arm(**change))
    assert fields_of(error.value) == message


def test_mimic_of_a_fixed_joint_is_refused() -> None:
    d = arm(mimic=Mimic("j1"))
    d = replace(d, joints=(replace(d.joints[0], kind="fixed"), d.joints[1]))
    with raises(DescriptionError, "wrong-structure mimic"):
        check(d)


def test_mimics_in_a_ring_are_refused_and_in_a_row_are_not() -> None:
    d = arm(mimic=Mimic("j1"))
    assert check(d) == d
    ring = replace(d, joints=(replace(d.joints[0], mimic=Mimic("j2")), d.joints[1]))
    with raises(DescriptionError, "wrong-structure mimic"):
        check(ring)


def test_axis_is_normalized_with_a_warning() -> None:
    checked = check(arm(axis=(0.0, 3.0, 4.0)))
    assert checked.joints[1].axis == pytest.approx((0.0, 0.6, 0.8), abs=1e-15)
    (warning,) = checked.warnings
    assert "'j2'" in warning and "0 3 4" in warning and "0 0.6 0.8" in warning


def test_rounded_axis_is_normalized_without_a_word() -> None:
    checked = check(arm(axis=(0.7071, 0.0, 0.7071)))
    assert math.hypot(*checked.joints[1].axis) == pytest.approx(1.0, abs=1e-15)
    assert checked.warnings == ()


@pytest.mark.parametrize("size", [1e-8, 1e200, 1.7e308])
def test_axis_of_any_size(size: float) -> None:
    assert check(arm(axis=(size, size, 0.0))).joints[1].axis == pytest.approx((0.5**0.5, 0.5**0.5, 0.0))


finite = st.floats(-1e3, 1e3)


@given(st.tuples(finite, finite, finite).filter(lambda a: max(map(abs, a)) > 1e-6))
def test_checking_twice_changes_nothing(axis: tuple[float, float, float]) -> None:
    once = check(arm(axis=axis))
    assert math.hypot(*once.joints[1].axis) == pytest.approx(1.0, abs=1e-14)
    twice = check(once)
    assert twice == once
    assert twice.warnings == once.warnings


def test_fixed_joint_keeps_only_its_place_in_the_tree() -> None:
    fixed = arm(kind="fixed", axis=(0.0, 0.0, 0.0), limit=Limit(1.0, -1.0), drive=Drive(damping=-1.0))
    d = replace(fixed, joints=(fixed.joints[0], replace(fixed.joints[1], origin=Origin((1.0, 2.0, 3.0)))))
    assert check(d).joints[1] == Joint("j2", "fixed", "upper", "lower", Origin((1.0, 2.0, 3.0)))


def test_equal_limits_are_a_locked_joint() -> None:
    (warning,) = check(arm(limit=Limit(0.0, 0.0))).warnings
    assert "'j2'" in warning


# links

BODIES = {
    "negative mass": (Inertial(-1.0, BODY.inertia), "out-of-range mass"),
    "nan mass": (Inertial(NAN, BODY.inertia), "not-finite"),
    "inf inertia": (Inertial(1.0, (INF, 0, 0, 1, 0, 1)), "not-finite"),
    "nan origin": (Inertial(1.0, BODY.inertia, Origin((0.0, 0.0, NAN))), "not-finite"),
}


@pytest.mark.parametrize("case", BODIES)
def test_body_is_refused(case: str) -> None:
    inertial, message = BODIES[case]
    with pytest.raises(DescriptionError) as error:
        check(with_body(inertial))
    assert fields_of(error.value) == message


def test_indefinite_inertia_loads_with_a_warning() -> None:
    d = with_body(Inertial(1.0, (1.0, 2.0, 0.0, 1.0, 0.0, 2.0)))
    (warning,) = check(d).warnings
    assert "'lower'" in warning and "-1 2 3 kg m²" in warning


def test_triangle_inequality_loads_with_a_warning() -> None:
    (warning,) = check(with_body(Inertial(1.0, (0.001, 0.0, 0.0, 0.001, 0.0, 0.01)))).warnings
    assert "'lower'" in warning and "0.001 0.001 0.01 kg m²" in warning


@pytest.mark.parametrize(
    ("inertia", "verdict"),
    [
        ((1.0, 0.0, 0.0, 1.0, 0.0, 2.01), "triangle"),
        ((-0.01, 0.0, 0.0, 1.0, 0.0, 1.0), "indefinite"),
        ((1.0, 0.0, 1.1, 1.0, 0.0, 1.0), "indefinite"),
        ((-1.0, 0.0, 0.0, -1.0, 0.0, -1.0), "indefinite"),
    ],
)
def test_impossible_inertia_just_beyond_rounding(inertia: tuple[float, ...], verdict: str) -> None:
    assert feasible.verdict(inertia, mass=1.0) == verdict


@pytest.mark.parametrize(
    "inertia",
    [
        (1.0, 0.0, 0.0, 1.0, 0.0, 2.0),  # a flat plate
        (0.0, 0.0, 0.0, 1.0, 0.0, 1.0),  # a thin rod
        (0.3333, 0.0, 0.0, 0.3333, 0.0, 0.6667),  # a plate, rounded
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),  # a point
        (1e-35, 0.0, 2e-35, 0.0, 0.0, 0.0),  # a point, as programs write it
        (1e300, 0.0, 0.0, 1e300, 0.0, 1e300),
    ],
)
def test_possible_inertia_is_silent(inertia: tuple[float, ...]) -> None:
    assert feasible.verdict(inertia, mass=1.0) == "feasible"


def test_principal_moments_of_a_turned_body() -> None:
    c, s = math.cos(0.3), math.sin(0.3)
    J1, J2, J3 = 1.0, 2.0, 2.5
    turned = (c * c * J1 + s * s * J2, c * s * (J1 - J2), 0.0, s * s * J1 + c * c * J2, 0.0, J3)
    assert feasible.principal_moments(turned) == pytest.approx((J1, J2, J3), rel=1e-14)


positions = st.lists(st.tuples(finite, finite, finite, st.floats(1e-3, 10.0)), min_size=1, max_size=5)


@given(positions)
def test_a_cloud_of_points_is_always_feasible(points: list[tuple[float, float, float, float]]) -> None:
    total = sum(m for *_, m in points)
    cx, cy, cz = (sum(p[3] * p[k] for p in points) / total for k in range(3))
    inertia = [0.0] * 6
    for x, y, z, m in ((p[0] - cx, p[1] - cy, p[2] - cz, p[3]) for p in points):
        terms = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        inertia = [a + m * t for a, t in zip(inertia, terms, strict=True)]
    assert feasible.verdict(inertia, total) == "feasible"


def test_inertia_without_mass_is_a_warning() -> None:
    assert "'lower'" in check(with_body(Inertial(0.0, BODY.inertia))).warnings[0]


def test_point_mass_off_the_axis_is_silent() -> None:
    point = Inertial(1.0, (0.0,) * 6, Origin((0.5, 0.0, 0.0)))  # type: ignore[arg-type]
    assert check(with_body(point)).warnings == ()


def test_point_mass_on_the_axis_makes_the_mass_matrix_singular() -> None:
    point = Inertial(1.0, (0.0,) * 6, Origin((0.0, 0.5, 0.0)))  # type: ignore[arg-type]
    (warning,) = check(with_body(point)).warnings
    assert "'j2'" in warning
    d = with_body(point)
    rotor = replace(d.joints[1], drive=Drive(rotor_inertia=1e-4))
    assert check(replace(d, joints=(d.joints[0], rotor))).warnings == ()


def test_point_mass_on_an_oblique_axis() -> None:
    """The axis and the center of mass are rounded, and so is the inertia about the axis: not exactly zero."""
    for axis in ((1.0, 2.0, 3.0), (0.3, -0.7, 0.2), (1.0, 1.0, 0.0)):
        size = math.sqrt(sum(x * x for x in axis))
        unit = tuple(x / size for x in axis)
        point = Inertial(1.0, (0.0,) * 6, Origin(tuple(0.3 * x for x in unit)))  # type: ignore[arg-type]
        d = with_body(point)
        d = replace(d, joints=(d.joints[0], replace(d.joints[1], axis=unit)))  # type: ignore[arg-type]
        (warning,) = check(d).warnings
        assert "'j2'" in warning and "'j1'" not in warning
        off = replace(point, origin=Origin(tuple(0.3 * x + 1e-6 for x in unit)))  # type: ignore[arg-type]
        assert check(replace(d, links=(*d.links[:2], Link("lower", off)))).warnings == ()
        # Behind another joint about the same axis neither of them moves anything.
        both = tuple(replace(j, axis=unit) for j in d.joints)
        on_axis = replace(d, links=(d.links[0], Link("upper", point), Link("lower", point)), joints=both)  # type: ignore[arg-type]
        (warning,) = check(on_axis).warnings
        assert "'j1', 'j2'" in warning


def test_missing_inertial_of_a_moving_link_is_named() -> None:
    light, free = check(with_body(None)).warnings
    assert "'lower'" in light and "'j2'" in free


def test_mass_behind_a_fixed_joint_counts() -> None:
    d = with_body(None)
    tool = Description("r", (*d.links, Link("tool", BODY)), (*d.joints, Joint("flange", "fixed", "lower", "tool")))
    assert check(tool).warnings == ()


def test_a_point_behind_a_fixed_joint_is_where_that_joint_puts_it() -> None:
    point = Link("tool", Inertial(1.0, (0.0,) * 6))  # type: ignore[arg-type]
    d = with_body(None)
    for y, x, silent in ((0.5, 0.0, False), (0.0, 0.5, True)):  # on the axis of j2, y, and off it
        flange = Joint("flange", "fixed", "lower", "tool", Origin((x, y, 0.0)))
        warnings = check(Description("r", (*d.links, point), (*d.joints, flange))).warnings
        assert (warnings == ()) == silent


def test_massless_tool_frames_are_silent() -> None:
    d = arm()
    flange = Joint("flange", "fixed", "lower", "tool")
    tool = replace(d, links=(*d.links, Link("tool")), joints=(*d.joints, flange))
    assert check(tool).warnings == ()


def test_massless_link_between_moving_joints_is_named_alone() -> None:
    d = arm()
    massless = replace(d, links=(d.links[0], Link("upper"), d.links[2]))
    (warning,) = check(massless).warnings
    assert "'upper'" in warning and "'lower'" not in warning


def test_robot_without_any_mass_gets_one_sentence() -> None:
    d = arm()
    (warning,) = check(replace(d, links=tuple(Link(k.name) for k in d.links))).warnings
    assert "'arm'" in warning


SHAPES = {
    "box": (Shape(Box((1.0, -1.0, 1.0))), "out-of-range size"),
    "cylinder": (Shape(Cylinder(-0.1, 1.0)), "out-of-range size"),
    "capsule": (Shape(Capsule(0.1, -1.0)), "out-of-range size"),
    "sphere": (Shape(Sphere(NAN)), "not-finite"),
    "scale": (Shape(Mesh("a.stl", (1.0, INF, 1.0))), "not-finite"),
    "color": (Shape(Sphere(1.0), color=(0.0, NAN, 0.0, 1.0)), "not-finite"),
    "origin": (Shape(Sphere(1.0), Origin((NAN, 0.0, 0.0))), "not-finite"),
    "escape": (Shape(Mesh("package://pkg/../../etc/passwd")), "not-readable mesh"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shape_is_refused_if_strict_and_else_left_out(case: str) -> None:
    shape, message = SHAPES[case]
    with pytest.raises(DescriptionError) as error:
        check(with_shape(shape), strict=True)
    assert fields_of(error.value) == message
    lenient = check(with_shape(shape))
    kept = case == "escape"  # such a file is never opened, and its path may be right elsewhere
    assert len(lenient.warnings) == 1
    assert len(lenient.links[2].visuals) == kept and check(lenient) == lenient


def test_masses_beyond_any_machine() -> None:
    (warning,) = check(with_body(Inertial(1e12, (1e12, 0.0, 0.0, 1e12, 0.0, 1e12)))).warnings
    assert "'lower'" in warning and "1e+12 kg" in warning
    for mass, J in ((1e308, 1.0), (1.0, 1e200)):
        with raises(DescriptionError, "out-of-range"):
            check(with_body(Inertial(mass, (J, 0.0, 0.0, J, 0.0, J))))


def test_color_out_of_range_is_clamped_with_a_warning() -> None:
    checked = check(with_shape(Shape(Sphere(1.0), color=(255.0, 0.0, -1.0, 1.0))))
    assert checked.links[2].visuals[0].color == (1.0, 0.0, 0.0, 1.0)
    (warning,) = checked.warnings
    assert "'lower'" in warning and "255 0 -1 1" in warning and "1 0 0 1" in warning


def test_material_gets_the_color_given_elsewhere() -> None:
    red = (1.0, 0.0, 0.0, 1.0)
    plain, colored = Shape(Sphere(1.0), material="m"), Shape(Sphere(1.0), material="m", color=red)
    other = Shape(Sphere(1.0), material="m", color=(0.0, 0.0, 1.0, 1.0))
    d = with_shape(plain)
    d = replace(d, links=(replace(d.links[0], collisions=(colored, other)), *d.links[1:]))
    assert check(d).links[2].visuals[0].color == red


@pytest.mark.parametrize(
    "filename",
    [
        "package://p/meshes/a.stl",
        "package:///p/a.stl",
        "package://p/a/../b.stl",
        "model://p/a.dae",
        "../meshes/a.stl",
        "a.stl",
        "file:///x/a.stl",
        "/x/a.stl",
        "C:\\robots\\a.stl",
    ],
)
def test_mesh_paths_that_stay(filename: str) -> None:
    assert escape(filename) is None


@pytest.mark.parametrize(
    ("filename", "culprit"),
    [
        ("package://p/../a.stl", "'p'"),
        ("package://p/a/../../b.stl", "'p'"),
        ("package://p\\..\\..\\b.stl", "'p'"),
        ("package://../a.stl", "package"),
        ("package://", "file"),
        ("../../../../etc/passwd", " 3 "),
        ("a/../../../../../etc/passwd", " 3 "),
        ("http://example.org/a.stl", "'http'"),
        (" ", "file"),
        ("a\0.stl", "NUL"),
    ],
)
def test_mesh_paths_that_escape(filename: str, culprit: str) -> None:
    assert culprit in (escape(filename) or "")


@given(st.lists(st.sampled_from(["..", ".", "a", "b", ""]), max_size=12))
def test_depth_below_is_the_lowest_level(parts: list[str]) -> None:
    level, lowest = 0, 0
    for part in parts:
        level += {"..": -1, ".": 0, "": 0}.get(part, 1)
        lowest = min(lowest, level)
    assert depth_below("/".join(parts)) == lowest
