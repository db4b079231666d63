"""Joints of several coordinates in URDF and TOML: read, beside Pinocchio, written and read again, refused in words."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.describe.mjcf import read_mjcf
from dalembert.describe.mjcf.write import write_mjcf
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_write import write_toml
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.interchange import from_pinocchio
from errors import raises
from tolerances import ROUNDING, error

BODY = '<inertial><origin xyz=".1 .02 -.03" rpy=".1 .2 .3"/><mass value="2"/><inertia ixx=".02" ixy=".001" ixz="-.002" '
BODY += 'iyy=".03" iyz=".003" izz=".028"/></inertial>'


def urdf(kind: str, joint: str = "", more: str = "") -> str:
    return f"""<robot name="r"><link name="world"/><link name="body">{BODY}</link><link name="arm">{BODY}</link>
  <joint name="base" type="{kind}"><origin xyz=".1 .2 .3" rpy=".2 -.1 .4"/><parent link="world"/>
    <child link="body"/>{joint}</joint>
  <joint name="hinge" type="continuous"><origin xyz=".3 0 .1" rpy="0 .5 0"/><parent link="body"/>
    <child link="arm"/><axis xyz="0 .6 .8"/></joint>{more}</robot>"""


def loaded(text: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("error", dl.ModelWarning)
        return dl.Robot(read_urdf(text))


@pytest.mark.parametrize(
    ("kind", "axis"), [("floating", ""), ("floating", '<axis xyz="0 0 0"/>'), ("planar", '<axis xyz="0 0 1"/>')]
)
def test_urdf_agrees_with_pinocchio(kind, axis):
    text = urdf(kind, axis)
    robot, model = loaded(text), pin.buildModelFromXML(text)
    data, nq = model.createData(), {"floating": 7, "planar": 3}[kind]
    assert robot.joint_names == ("base", "hinge") and robot.nq == nq + 1 and robot.nv == model.nv
    for seed in range(3):
        q, v = robot.random_configuration(seed=seed), np.random.default_rng(seed).normal(size=robot.nv)
        x = q[:7] if kind == "floating" else [*q[:2], np.cos(q[2]), np.sin(q[2])]
        x = np.array([*x, np.cos(q[-1]), np.sin(q[-1])])
        pin.forwardKinematics(model, data, x)
        assert error(robot.fk(q, "arm"), data.oMi[2].homogeneous) < ROUNDING
        M = pin.crba(model, data, x)
        assert error(robot.mass_matrix(q), np.triu(M) + np.triu(M, 1).T) < ROUNDING
        assert error(robot.bias_torque(q, v), pin.nonLinearEffects(model, data, x, v)) < ROUNDING


def test_a_plane_across_another_axis():
    """About x, the first coordinate is along y; without an axis URDF means x."""
    for axis in ("", '<axis xyz="2 0 0"/>'):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dl.ModelWarning)  # of the length of the axis
            robot = dl.Robot(read_urdf(urdf("planar", axis)))
        T = np.linalg.solve(robot.fk(robot.neutral, "body"), robot.fk([0.3, -0.2, 0.5, 0.0], "body"))
        assert error(T[:3, 3], [0, 0.3, -0.2]) < ROUNDING and error(T[1, 1], np.cos(0.5)) < ROUNDING


def test_what_urdf_says_of_one_coordinate_is_left_out_and_said():
    d = read_urdf(
        urdf("planar", '<axis xyz="0 0 1"/><limit lower="-1" upper="1"/><dynamics damping=".2" friction=".3"/>')
    )
    limit, friction = d.warnings
    assert "'base'" in limit and "<limit>" in limit and "'base'" in friction and "friction" in friction
    assert d.joints[0].limit is None and d.joints[0].drive.damping == 0.2 and d.joints[0].drive.coulomb == (0.0, 0.0)


HOME = ", ".join(f"base{part} = {x}" for part, x in zip(("_x", "_z", "_qy", "_qw"), (0.1, 0.7, 0.6, 0.8), strict=True))
TOML = """
name = "all kinds"
home = {{ {home} }}
[[links]]
name = "world"
[[links]]
name = "body"
inertial = {{ mass = 2.0, com = [0.1, 0, 0], inertia = [0.1, 0.2, 0.25] }}
[[links]]
name = "arm"
inertial = {{ mass = 1.0, com = [0, 0, 0.2], inertia = [0.1, 0.1, 0.05] }}
[[joints]]
name = "base"
kind = "{kind}"
parent = "world"
child = "body"
{more}
[[joints]]
name = "socket"
kind = "spherical"
parent = "body"
child = "arm"
xyz = [0, 0, 0.3]
drive = {{ rotor_inertia = 0.1, damping = 0.2 }}
"""


def toml(kind: str = "floating", more: str = "", home: str = "") -> str:
    return TOML.format(kind=kind, more=more, home=home)


@pytest.mark.parametrize("home", [HOME, "base = [0.1, 0, 0.7, 0, 0.6, 0, 0.8]"])
def test_toml_says_where_a_base_starts(home):
    robot = dl.Robot(read_toml(toml(home=home)))
    assert robot.home.tolist() == [0.1, 0, 0.7, 0, 0.6, 0, 0.8, 0, 0, 0, 1]


def test_quaternions_of_length_other_than_one_are_mended_in_words():
    d = read_toml(toml(home="base_qw = 2.0, socket = [0.6, 0, 0, 0.8001]"))
    assert (
        dict(d.home)["base_qw"] == 1.0
        and abs(np.linalg.norm([x for name, x in d.home if "socket" in name]) - 1) < 1e-15
    )
    assert any("'base'" in w for w in d.warnings)
    assert not any("socket" in w for w in d.warnings)  # rounded, and meant to be one


def forms():
    floating = read_toml(toml(home=HOME))
    planar = read_toml(toml("planar", "axis = [0, 0.6, 0.8]", "base_angle = 0.3"))
    return [
        (text, back, d) for d in (floating, planar) for text, back in ((write_toml, read_toml), (write_urdf, read_urdf))
    ]


@pytest.mark.parametrize(("write", "read", "description"), forms())
def test_written_and_read_again_or_refused(write, read, description):
    if write is write_toml:
        assert read(write(description)) == description
        return
    with raises(dl.DescriptionError, "unsupported kind"):
        write(description)
    text = urdf("floating", "", '<dalembert:home joint="base_z" position="0.5"/>')
    for kind in (text, urdf("planar", '<axis xyz="0 0 1"/><dynamics damping="0.5"/>')):
        d = read_urdf(kind)
        assert read_urdf(write_urdf(d)) == d


def test_mjcf_written_and_read_again():
    d = read_toml(toml(home=HOME))
    back = dl.Robot(read_mjcf(write_mjcf(d)))
    robot = dl.Robot(d)
    assert back.joint_names == robot.joint_names and error(back.home, robot.home) < ROUNDING
    q, v = robot.random_configuration(seed=1), np.arange(1.0, robot.nv + 1)
    assert error(back.mass_matrix(q), robot.mass_matrix(q)) < ROUNDING
    assert error(back.bias_torque(q, v), robot.bias_torque(q, v)) < ROUNDING
    with raises(dl.DescriptionError, "unsupported kind"):
        write_mjcf(read_toml(toml("planar", "axis = [0, 0, 1]")))
    with raises(dl.DescriptionError, "unsupported kind"):
        write_mjcf(read_toml(toml(more="xyz = [0, 0, 1]")))


COMPOUND = """
name = "two"
[[links]]
name = "base"
[[links]]
name = "arm"
inertial = {{ mass = 1.0, com = [0.1, 0, 0.2], inertia = [0.1, 0.1, 0.05] }}
[[joints]]
name = "j"
kind = "{kind}"
parent = "base"
child = "arm"
xyz = [0, 0, 0.3]
rpy = [0.1, 0.2, 0.3]
axis = [0, 0, 1]
{more}
"""


def test_universal_and_cylindrical_joints_are_two_in_a_row():
    robot = dl.Robot(read_toml(COMPOUND.format(kind="universal", more="second_axis = [0, 1, 0]")))
    assert robot.joint_names == ("j_first", "j_second") and "j_link" in robot.frames
    R, z, y = (dl.Robot(read_toml(COMPOUND.format(kind="continuous", more=""))).fk([0.0]), 0.3, -0.4)
    turn = pin.rpy.rpyToMatrix(0, 0, z) @ pin.rpy.rpyToMatrix(0, y, 0)
    assert error(robot.fk([z, y])[:3, :3], R[:3, :3] @ turn) < ROUNDING
    robot = dl.Robot(read_toml(COMPOUND.format(kind="cylindrical", more="")))
    assert robot.joint_names == ("j_turn", "j_slide")
    T = np.linalg.solve(robot.fk([0, 0]), robot.fk([0.3, 0.7]))
    assert error(T[:3, :3], pin.rpy.rpyToMatrix(0, 0, 0.3)) < ROUNDING and error(T[:3, 3], [0, 0, 0.7]) < ROUNDING


REFUSED = {
    toml("floatng"): "unknown-name kind",
    toml(more="axis = [0, 0, 1]"): "no-effect axis",
    toml("planar"): "missing axis",
    toml(more="limit = { lower = 0, upper = 1 }"): "unsupported limit",
    toml(more="drive = { stiffness = 1 }"): "unsupported stiffness",
    toml(more='mimic = { joint = "socket" }'): "unsupported mimic",
    toml(more="pitch = 0.1"): "conflict pitch",
    toml(home="base = 1"): "wrong-shape base",
    toml(home="base_q = 1"): "unknown-name base_q",
    toml(home="base_qw = 0"): "out-of-range quaternion",
    toml() + "[home_deg]\nbase = 1.0\n": "wrong-unit base",
    COMPOUND.format(kind="universal", more=""): "wrong-structure second_axis",
    COMPOUND.format(kind="cylindrical", more="second_axis = [0, 1, 0]"): "wrong-structure second_axis",
    COMPOUND.format(kind="cylindrical", more="limit = { upper = 1 }"): "unsupported kind",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals_name_culprit_and_remedy(text):
    with raises(dl.DescriptionError, REFUSED[text]):
        read_toml(text)


def test_pinocchio_models_with_several_coordinates():
    model = pin.Model()
    parent = 0
    for k, joint in enumerate((pin.JointModelFreeFlyer(), pin.JointModelSpherical(), pin.JointModelPlanar())):
        placed = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2 * k, 0.3), np.array([0.1, 0.2, 0.3]))
        parent = model.addJoint(parent, joint, placed, f"j{k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
    robot, data = from_pinocchio(model), model.createData()
    q, v = robot.random_configuration(seed=5), np.random.default_rng(5).normal(size=robot.nv)
    x = np.concatenate([q[:-1], [np.cos(q[-1]), np.sin(q[-1])]])
    M = pin.crba(model, data, x)
    assert error(robot.mass_matrix(q), np.triu(M) + np.triu(M, 1).T) < ROUNDING
    assert error(robot.bias_torque(q, v), pin.nonLinearEffects(model, data, x, v)) < ROUNDING
