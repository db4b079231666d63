"""DH tables: both conventions give one robot, kinematics and inertias alike, and bad tables are refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.chain import snap_angle, snap_length
from dalembert.describe.check import check
from dalembert.describe.description import (
    Description,
    Drive,
    Inertial,
    Joint,
    Limit,
    Link,
    Mimic,
    Origin,
    Shape,
    Sphere,
)
from dalembert.describe.dh import DHRow, DHTable, check_dh_frames, convert, from_dh, to_dh
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DescriptionError, InputError, UnknownNameError
from errors import fields_of, raises

# Poses of arms of a few meters, a few products of 4×4 matrices: some hundred roundings of 1e-16.
CLOSE = 1e-12
# Mass matrices of tens of kg m², two parsers and two recursions apart.
CLOSE_DYNAMICS = 1e-10


def rx(a):
    c, s = math.cos(a), math.sin(a)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def ry(a):
    c, s = math.cos(a), math.sin(a)
    return np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1.0]])


def rz(a):
    c, s = math.cos(a), math.sin(a)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def placed(origin):
    roll, pitch, yaw = origin.rpy
    return shift(*origin.xyz) @ rz(yaw) @ ry(pitch) @ rx(roll)


def turn(axis, q):
    """Rodrigues by the series' closed form, written apart from the package's own."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += math.sin(q) * K + (1 - math.cos(q)) * K @ K
    return T


def fk(description, q, link=None):
    """The pose of a link in the root, by walking the tree."""
    values = dict(zip([j.name for j in description.joints if j.kind != "fixed"], q, strict=True))
    above = {j.child: j for j in description.joints}
    T, name = np.eye(4), link or description.tip
    while name in above:
        joint = above[name]
        move = np.eye(4)
        if joint.kind == "prismatic":
            move = shift(*(values[joint.name] * np.array(joint.axis)))
        elif joint.kind != "fixed":
            move = turn(joint.axis, values[joint.name])
        T = placed(joint.origin) @ move @ T
        name = joint.parent
    return T


def table_fk(rows, q, convention, base=Origin(), tool=Origin()):  # noqa: B008
    """The textbook's product, row by row."""
    T = placed(base)
    for row, value in zip(rows, q, strict=True):
        theta, d = row.theta, row.d
        if row.kind == "prismatic":
            d += value + row.offset
        else:
            theta += value + row.offset
        z, x = rz(theta) @ shift(0, 0, d), shift(row.a, 0, 0) @ rx(row.alpha)
        T = T @ z @ x if convention == "standard" else T @ x @ z
    return T @ placed(tool)


def bare(description):
    """Without shapes, which Pinocchio's parser complains about, and with one coordinate per joint."""
    links = tuple(Link(k.name, k.inertial) for k in description.links)
    kinds = {"continuous": "revolute"}
    joints = tuple(replace(j, kind=kinds.get(j.kind, j.kind)) for j in description.joints)
    return replace(description, links=links, joints=joints)


def dynamics(description, q):
    """M(q) and g(q) by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(write_urdf(bare(description)))
    model.gravity.linear = np.array(description.gravity)
    data = model.createData()
    M = pin.crba(model, data, q)
    return np.triu(M) + np.triu(M, 1).T, pin.computeGeneralizedGravity(model, data, q)


def random_inertial(rng):
    points = rng.normal(size=(8, 3)) * 0.1
    masses = rng.uniform(0.1, 1, 8)
    c = masses @ points / masses.sum()
    r = points - c
    I = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, r, strict=True))
    six = tuple(float(I[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Inertial(float(masses.sum()), six, Origin(tuple(map(float, c)), tuple(rng.uniform(-1, 1, 3))))


def random_rows(rng, n):
    return [
        DHRow(
            *map(float, rng.uniform(-1, 1, 3)),
            alpha=float(rng.choice([0.0, math.pi / 2, -math.pi / 2, 0.7])),
            kind="prismatic" if rng.random() < 0.3 else "revolute",
            offset=float(rng.uniform(-1, 1)),
            limit=Limit(-1.0, 2.0),
            drive=Drive(damping=0.1 * i),
            inertial=random_inertial(rng),
            visuals=(Shape(Sphere(0.1), Origin((0.1, 0.2, 0.3))),),
        )
        for i in range(n)
    ]


def random_origin(rng):
    return Origin(tuple(map(float, rng.uniform(-1, 1, 3))), tuple(map(float, rng.uniform(-3, 3, 3))))


def random_chain(rng, n):
    """A chain with oblique axes, sliding and fixed joints, and a loaded tool on a side branch."""
    links, joints = [Link("root", random_inertial(rng))], []
    for i in range(n):
        axis = rng.normal(size=3)
        kind = str(rng.choice(["revolute", "continuous", "prismatic", "fixed"], p=[0.5, 0.1, 0.2, 0.2]))
        if i == 0 or i == n - 1:
            kind = "revolute"
        axis = tuple(map(float, axis / np.linalg.norm(axis)))
        joints.append(Joint(f"j{i}", kind, links[-1].name, f"l{i}", random_origin(rng), axis))
        links.append(Link(f"l{i}", random_inertial(rng)))
    joints.append(Joint("side", "fixed", f"l{n - 2}", "camera", random_origin(rng)))
    joints.append(Joint("end", "fixed", f"l{n - 1}", "tip", random_origin(rng)))
    links += [Link("camera", random_inertial(rng)), Link("tip")]
    return check(Description("chain", tuple(links), tuple(joints), tip="tip"))


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("seed", range(8))
def test_from_dh_is_the_textbook_product(convention, seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 1 + seed % 6)
    base, tool = random_origin(rng), random_origin(rng)
    robot = from_dh(rows, convention, base=base, tool=tool)
    for q in rng.uniform(-2, 2, (5, len(rows))):
        np.testing.assert_allclose(fk(robot, q), table_fk(rows, q, convention, base, tool), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_inertia_in_a_row_is_in_the_link_frame_of_the_convention(convention):
    """The center of mass, followed by hand: frame i of the product, then the row's own origin."""
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 4)
    robot = from_dh(rows, convention)
    q = rng.uniform(-1, 1, 4)
    for i, row in enumerate(rows):
        frame = table_fk(rows[: i + 1], q[: i + 1], convention)
        link = next(k for k in robot.links if k.name == f"link{i + 1}")
        for mine, given in ((link.inertial, row.inertial), (link.visuals[0], row.visuals[0])):
            got = fk(robot, q, link.name) @ placed(mine.origin)
            np.testing.assert_allclose(got, frame @ placed(given.origin), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("seed", range(10))
def test_to_dh_reproduces_any_chain(convention, seed):
    rng = np.random.default_rng(100 + seed)
    robot = random_chain(rng, 3 + seed % 6)
    table = to_dh(robot, convention)
    assert table.convention == convention
    again = table.description()
    for _ in range(5):
        q = rng.uniform(-2, 2, len(table.rows))
        np.testing.assert_allclose(fk(again, q), fk(robot, q), atol=CLOSE, rtol=0)
        for mine, theirs in zip(dynamics(again, q), dynamics(robot, q), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=CLOSE_DYNAMICS, rtol=0)


@pytest.mark.parametrize("seed", range(6))
def test_convert_keeps_kinematics_and_dynamics(seed):
    rng = np.random.default_rng(200 + seed)
    rows = tuple(random_rows(rng, 5))
    table = DHTable(rows, "standard", random_origin(rng), random_origin(rng))
    other = convert(table, "modified")
    back = convert(other, "standard")
    assert other.convention == "modified" and back.convention == "standard"
    assert convert(table, "standard") is table
    q = rng.uniform(-2, 2, 5)
    for one in (other, back):
        np.testing.assert_allclose(
            table_fk(one.rows, q, one.convention, one.base, one.tool),
            table_fk(rows, q, "standard", table.base, table.tool),
            atol=CLOSE,
            rtol=0,
        )
        pairs = zip(dynamics(one.description(), q), dynamics(table.description(), q), strict=True)
        for mine, theirs in pairs:
            np.testing.assert_allclose(mine, theirs, atol=CLOSE_DYNAMICS, rtol=0)


def test_inertia_copied_without_moving_it_would_be_noticed():
    """The trap itself: the same numbers in the other convention's frame are another robot."""
    rng = np.random.default_rng(7)
    table = DHTable(tuple(random_rows(rng, 3)))
    other = convert(table, "modified")
    copied = replace(
        other, rows=tuple(replace(r, inertial=o.inertial) for r, o in zip(other.rows, table.rows, strict=True))
    )
    q = np.array([0.3, 0.4, 0.5])
    assert np.abs(dynamics(copied.description(), q)[0] - dynamics(table.description(), q)[0]).max() > 1e-3


def test_convert_there_and_back_is_the_same_table():
    rows = (DHRow(d=0.3, a=0.1, alpha=math.pi / 2), DHRow(a=0.4, offset=0.2), DHRow(d=0.1, alpha=0.5))
    table = DHTable(rows)
    back = convert(convert(table, "modified"), "standard")
    assert back == table


PUMA = [(0.67183, 0, 90), (0, 0.4318, 0), (0.15005, 0.0203, -90), (0.4318, 0, 90), (0, 0, -90), (0, 0, 0)]
UR5E = [(0.1625, 0, 90), (0, -0.425, 0), (0, -0.3922, 0), (0.1333, 0, 90), (0.0997, 0, -90), (0.0996, 0, 0)]


@pytest.mark.parametrize("published", [PUMA, UR5E])
def test_to_dh_gives_the_published_table_back(published):
    """With its free choices: forward normals, d = 0 between parallel axes, the tip at the last frame."""
    rows = [DHRow(d=d, a=a, alpha=math.radians(alpha)) for d, a, alpha in published]
    table = to_dh(from_dh(rows))
    assert [(r.theta, r.d, r.a, r.alpha) for r in table.rows] == [(r.theta, r.d, r.a, r.alpha) for r in rows]
    assert table.base == table.tool == Origin()


def axis_chain(*lines):
    """Revolute joints about lines given as (point, direction) in the root's frame, and a tip."""
    links, joints, before = [Link("root")], [], np.zeros(3)
    for i, (p, z) in enumerate(lines):
        p = np.array(p, float)
        z = np.array(z, float) / np.linalg.norm(z)
        axis = tuple(map(float, z))
        joints.append(Joint(f"j{i}", "revolute", links[-1].name, f"l{i}", Origin(tuple(p - before)), axis))
        links.append(Link(f"l{i}", Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))))
        before = p
    joints.append(Joint("end", "fixed", links[-1].name, "tip", Origin((0.3, -0.2, 0.1), (0.3, 0.5, -0.7))))
    return Description("lines", (*links, Link("tip")), tuple(joints), tip="tip")


LINES = {
    "parallel": [((0, 0, 0), (0, 0, 1)), ((1, 0.5, 2), (0, 0, 1)), ((2, 0, 0), (0, 0, 1))],
    "antiparallel": [((0, 0, 0), (0, 0, 1)), ((1, 0, 2), (0, 0, -1)), ((1, 1, 0), (0, 0, 1))],
    "coincident": [((0, 0, 0), (0, 0, 1)), ((0, 0, 2), (0, 0, 1)), ((0, 0, 3), (0, 0, -1))],
    "meeting": [((0, 0, 1), (0, 0, 1)), ((0, 0, 1), (1, 0, 0)), ((0, 0, 1), (0, 1, 0))],
    "skew": [((0.1, 0.2, 0), (0, 1, 1)), ((1, 0, 1), (1, 0, 1)), ((0, 0, 1), (1, 1, 1))],
    "along x": [((0, 0.1, 0.2), (1, 0, 0)), ((1, 0, 0), (1, 0, 0))],
    "nearly parallel": [((0, 0, 0), (0, 0, 1)), ((1, 0, 0), (0, 1e-7, 1))],
    "parallel to nine digits": [((0, 0, 0), (0, 0, 1)), ((1, 0, 0), (0, 1e-9, 1)), ((2, 0, 0), (0, 0, 1))],
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_to_dh_where_the_common_normal_is_not_unique(name, convention):
    robot = axis_chain(*LINES[name])
    table = to_dh(robot, convention)
    rng = np.random.default_rng(3)
    # Nearly parallel axes put the common normal 1e7 m away, where an angle's last bit is 1e-9 m.
    tolerance = {"nearly parallel": 1e-8, "parallel to nine digits": 1e-8}.get(name, CLOSE)
    for q in rng.uniform(-2, 2, (4, len(table.rows))):
        got = table_fk(table.rows, q, convention, table.base, table.tool)
        np.testing.assert_allclose(got, fk(robot, q), atol=tolerance, rtol=0)


def test_axes_parallel_to_nine_digits_give_a_table_of_the_arms_own_size():
    assert max(abs(row.d) for row in to_dh(axis_chain(*LINES["parallel to nine digits"])).rows) < 1


def test_parallel_axes_take_d_zero_and_one_axis_takes_theta_zero():
    table = to_dh(axis_chain(*LINES["parallel"]))
    assert [row.d for row in table.rows[:-1]] == [0.0, 0.0]
    first = to_dh(axis_chain(*LINES["coincident"])).rows[0]
    assert (first.theta, first.d, first.a, first.alpha) == (0.0, 0.0, 0.0, 0.0)


def test_constant_rotations_are_exact_quarter_turns():
    robot = from_dh([DHRow(alpha=math.pi / 2), DHRow(theta=math.radians(450), alpha=-math.pi / 2), DHRow(d=1.0)])
    quarters = {0.0, math.pi / 2, -math.pi / 2, math.pi}
    assert {angle for joint in robot.joints for angle in joint.origin.rpy} <= quarters
    assert any(joint.origin.rpy != (0.0, 0.0, 0.0) for joint in robot.joints)


def test_one_axis_up_to_rounding_takes_no_direction_from_the_rounding():
    first = to_dh(axis_chain(((0, 0, 0), (0, 0, 1)), ((1e-15, 1e-15, 2), (0, 0, 1)))).rows[0]
    assert (first.theta, first.a) == (0.0, 0.0)


def test_a_tip_parallel_to_the_last_axis_leaves_only_a_turn_to_the_tool():
    robot = from_dh([DHRow(a=0.5), DHRow(a=0.4)], tool=Origin((0.1, 0.2, 0.3), (0.0, 0.0, 0.7)))
    table = to_dh(replace(robot, dh=None))  # as if it had not been written as a table
    assert table.tool.xyz == (0.0, 0.0, 0.0) and table.tool.rpy[2] != 0.0
    assert table.rows[-1].d == 0.3


def test_rounding_is_taken_back_and_nothing_else():
    assert snap_angle(-math.pi) == math.pi and snap_angle(math.pi / 2 + 4e-16) == math.pi / 2
    assert snap_angle(1.5707963268) == 1.5707963268  # written so
    assert snap_angle(7.0) == 7.0 - 2 * math.pi and snap_angle(1e-9) == 1e-9
    assert snap_length(0.10699999999999998) == 0.107 and snap_length(1e-13) == 1e-13
    assert snap_length(0.1234567890123456) == 0.1234567890123456
    assert math.copysign(1.0, snap_length(-1e-17)) == 1.0


def test_a_tip_that_moves_keeps_its_name_and_its_frame():
    robot = replace(from_dh([DHRow(d=0.3, alpha=0.4), DHRow(a=0.5)]), tip="link2")
    table = to_dh(robot)
    assert table.tip == "link2_end" and [row.link for row in table.rows] == ["link1", "link2"]
    q = np.array([0.3, -0.8])
    np.testing.assert_allclose(fk(table.description(), q), fk(robot, q), atol=CLOSE, rtol=0)


def test_limits_drives_and_names_travel():
    row = DHRow(name="waist", link="trunk", limit=Limit(-1.0, 1.0, 5.0, 2.0), drive=Drive(1e-4, -50.0, 0.1))
    robot = from_dh([row, DHRow(a=1.0)])
    assert [joint.name for joint in robot.joints] == ["waist", "joint2", "tool_fixed"]
    assert [link.name for link in robot.links] == ["base", "trunk", "link2", "tool"]
    again = to_dh(robot).rows[0]
    assert (again.name, again.link, again.limit, again.drive) == ("waist", "trunk", row.limit, row.drive)


def test_to_dh_lumps_what_hangs_on_a_side_branch():
    robot = random_chain(np.random.default_rng(0), 4)
    total = sum(link.inertial.mass for link in robot.links if link.inertial)
    table = to_dh(robot)
    carried = sum(row.inertial.mass for row in table.rows if row.inertial)
    assert math.isclose(carried + table.root.inertial.mass, total, rel_tol=1e-14)


# the two conditions of the convention


def test_check_dh_frames_gives_the_four_numbers():
    rng = np.random.default_rng(1)
    for theta, d, a, alpha in rng.uniform(-1.5, 1.5, (20, 4)):
        T0 = placed(random_origin(rng))
        T1 = T0 @ rz(theta) @ shift(a, 0, d) @ rx(alpha)
        result = check_dh_frames(T0, T1)
        assert result and result.message == "DH1 and DH2 hold"
        np.testing.assert_allclose(result.parameters, (theta, d, a, alpha), atol=CLOSE, rtol=0)


def test_check_dh_frames_measures_what_is_violated():
    missed = check_dh_frames(np.eye(4), shift(0.3, 0.02, 0.5))  # x is parallel to x, 0.02 beside z
    assert (missed.dh1, missed.dh2, missed.parameters) == (False, True, None)
    assert math.isclose(missed.distance, 0.02) and missed.angle == 0.0
    assert "0.02 m" in missed.message
    tilted = check_dh_frames(np.eye(4), ry(0.1) @ shift(0.3, 0, 0))
    assert (tilted.dh1, tilted.dh2) == (True, False)
    assert math.isclose(tilted.angle, 0.1, rel_tol=1e-12)
    assert "5.72958" in tilted.message
    along = check_dh_frames(np.eye(4), shift(0.3, 0.4, 0) @ ry(math.pi / 2))  # x_i parallel to z_(i-1)
    assert not along.dh1 and math.isclose(along.distance, 0.5)
    assert math.isclose(along.angle, math.pi / 2)


def test_check_dh_frames_refuses_what_is_no_pose():
    with raises(InputError, "wrong-shape"):
        check_dh_frames(np.eye(3), np.eye(4))
    with raises(InputError, "wrong-value"):
        check_dh_frames(np.eye(4), 2 * np.eye(4))
    with raises(InputError, "not-finite"):
        check_dh_frames(np.eye(4), shift(math.nan, 0, 0))


# what is refused


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "too-few rows"),
        ([{"a": 1.0, "aplha": 0.0}], "unknown-name"),
        ([DHRow(), {"alpha": math.nan}], "not-finite"),
        ([{"d": "long"}], "wrong-type"),
        ([{"a": True}], "wrong-type"),
        ([{"kind": "fixed"}], "unknown-name"),
        ([[0, 0, 1, 0]], "wrong-type rows"),
        ([DHRow(name="a"), DHRow(name="a")], "duplicate joint"),
    ],
)
def test_bad_rows_get_a_sentence(rows, sentence):
    with raises(DescriptionError, sentence):
        from_dh(rows)


def test_bad_convention():
    with raises(UnknownNameError, "unknown-name"):
        from_dh([DHRow()], "standart")
    with raises(UnknownNameError, "unknown-name"):
        to_dh(from_dh([DHRow()]), "craig")


def test_what_no_table_can_say_is_refused():
    robot = from_dh([DHRow(a=1.0), DHRow(a=1.0)])
    fork = replace(
        robot,
        links=(*robot.links, Link("arm")),
        joints=(*robot.joints, Joint("other", "revolute", "link1", "arm", axis=(0.0, 0.0, 1.0))),
    )
    with raises(DescriptionError, "unsupported tip"):
        to_dh(fork)
    with raises(DescriptionError, "missing tip"):
        to_dh(replace(fork, tip=None))
    follows = replace(robot.joints[1], mimic=Mimic("joint1"))
    with raises(DescriptionError, "unsupported mimic"):
        to_dh(replace(robot, joints=(robot.joints[0], follows, robot.joints[2])))
    with raises(DescriptionError, "unsupported description"):
        to_dh(Description("stone", (Link("stone"),)))
    with raises(UnknownNameError, "unknown-name"):
        to_dh(robot, tip="tol")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((5,), "wrong-type rows"),
        (("theta",), "wrong-type rows"),
        (([{"a": 1}], "standard", {"base": (0, 0, 0)}), "wrong-value base"),
        (([{"a": 1}], "standard", {"gravity": 5}), "wrong-shape gravity"),
        (([{"a": 1, "inertial": (1, 0, 0)}],), "wrong-type"),
        (([{"a": 1, "inertial": {"mas": 1}}],), "unknown-name"),
        (([{"a": 1, "inertial": {"com": (1, 0, 0)}}],), "missing mass"),
        (([{"a": 1, "inertial": {"mass": 1, "inertia": (1, 2)}}],), "wrong-shape inertia"),
        (([{"a": 1, "alpha_deg": "right"}],), "wrong-type alpha_deg"),
        (([{"a": 1, "limit": {"lower_deg": -90, "uper": 1}}],), "unknown-name"),
        (([{"a": 1, "limit": (-1, 1)}],), "wrong-type"),
        (([{"a": 1}], "standard", {"tool": 2 * np.eye(4)}), "wrong-value tool"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments, words):
    rows, convention, options = (*arguments, "standard", {})[:3] if len(arguments) < 3 else arguments
    with pytest.raises(DescriptionError) as refusal:
        from_dh(rows, convention, **options)
    assert fields_of(refusal.value) == words


def test_rows_are_dictionaries_with_the_keys_of_a_robot_file(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text("""
name = "arm"
[[dh.rows]]
joint = "shoulder"
alpha_deg = 90
d = 0.3
limit = { lower_deg = -90, upper_deg = 90, effort = 5 }
drive = { gear_ratio = 10, rotor_inertia = 1e-4 }
inertial = { mass = 2, com = [-0.1, 0, 0], inertia = [0.01, 0.02, 0.02] }
[[dh.rows]]
a = 0.4
inertial = { mass = 1, com = [-0.2, 0, 0] }
""")
    rows = [
        {
            "joint": "shoulder",
            "alpha_deg": 90,
            "d": 0.3,
            "limit": {"lower_deg": -90, "upper_deg": 90, "effort": 5},
            "drive": {"gear_ratio": 10, "rotor_inertia": 1e-4},
            "inertial": {"mass": 2, "com": [-0.1, 0, 0], "inertia": [0.01, 0.02, 0.02]},
        },
        {"a": 0.4, "inertial": {"mass": 1, "com": [-0.2, 0, 0]}},
    ]
    assert dl.Robot.from_dh(rows, name="arm").description == dl.load(file).description


def test_degrees_in_a_table_are_told():
    with pytest.warns(dl.UnitWarning, match="alpha.*90"):
        dl.Robot.from_dh([{"a": 1.0, "alpha": 90}, {"a": 1.0}])
    with pytest.warns(dl.UnitWarning, match="offset.*45"):
        dl.Robot.from_dh([{"a": 1.0, "offset": 45}, {"kind": "prismatic", "offset": 90}])
    dl.Robot.from_dh([{"a": 1.0}, {"kind": "prismatic", "d": 45, "offset": 90}])  # meters


@pytest.mark.parametrize("name", ["scara", "puma560", "stanford", "planar-3r"])
def test_what_was_written_as_a_table_comes_back_as_written(name):
    arm = dl.load(name)
    table = arm.description.dh
    names = [{"name": f"joint{i + 1}", "link": f"link{i + 1}"} for i in range(arm.n)]
    written = replace(table, rows=tuple(replace(row, **own) for row, own in zip(table.rows, names, strict=True)))
    assert arm.to_dh(written.convention).rows == written.rows
    assert arm.with_gravity((0, 0, -1)).to_dh(written.convention).rows == written.rows
    other = "modified" if written.convention == "standard" else "standard"
    for table in (arm.to_dh(), arm.to_dh(other), arm.with_payload(1.0, (0.0, 0.1, 0.0)).to_dh()):
        again = dl.Robot(table.description())
        q = np.linspace(0.1, 0.2, arm.n)
        assert np.allclose(again.fk(q), arm.fk(q), atol=1e-15)
    loaded = arm.with_payload(1.0, (0.0, 0.1, 0.0))
    table = loaded.to_dh(written.convention)
    assert [replace(a, inertial=None) for a in table.rows] == [replace(a, inertial=None) for a in written.rows]
    assert np.allclose(dl.Robot(table.description()).mass_matrix(q), loaded.mass_matrix(q), atol=1e-13)


def test_scara_keeps_its_height_in_the_first_row():
    assert [row.d for row in dl.load("scara").to_dh().rows] == [0.387, 0.0, 0.0, 0.0]


def test_a_changed_geometry_has_a_new_table():
    arm = dl.load("scara")
    d = arm.description
    moved = replace(d.joints[1], origin=Origin((0.5, 0.0, 0.387)))
    other = dl.Robot(replace(d, joints=(d.joints[0], moved, *d.joints[2:])))
    table = other.to_dh()
    q = np.array([0.1, 0.2, 0.05, 0.3])
    assert table.rows[0].a != 0.325
    assert np.allclose(dl.Robot(table.description()).fk(q), other.fk(q), atol=1e-12)


def test_another_tip_is_another_tool():
    arm = dl.Robot.from_dh([{"a": 1.0, "d": 0.3}, {"a": 0.5}])
    table = arm.with_tip("link2").to_dh()
    assert [row.d for row in table.rows] == [0.3, 0.0] and table.tool != Origin()
    assert np.allclose(dl.Robot(table.description()).fk([0.4, 0.3]), arm.fk([0.4, 0.3], "link2"))


def test_a_table_prints_as_a_table():
    assert str(dl.load("scara").to_dh()).splitlines()[1:] == [
        "joint   kind       θ [°]  d [m]  a [m]  α [°]",
        "joint1  revolute      q1  0.387  0.325      0",
        "joint2  revolute      q2      0  0.275    180",
        "joint3  prismatic      0     q3      0      0",
        "joint4  revolute      q4      0      0      0",
    ]
