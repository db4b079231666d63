"""MJCF read, beside MuJoCo's own compiler: mass matrix, bias and poses of models that use its features."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.mjcf import read_mjcf
from tolerances import ROUNDING, error

# Every model is one feature or a few; all of them are compared in the same way.
MODELS = {
    "inertials and degrees": """
      <compiler angle="degree"/>
      <option gravity="0.5 -1 -9"/>
      <worldbody><body name="a" pos="0 0 .3" euler="10 20 30">
        <inertial pos=".1 .02 0" mass="2" diaginertia=".01 .02 .025" euler="30 0 10"/>
        <joint name="j1" axis="0 1 1" range="-90 90" armature=".3"/>
        <body name="b" pos=".4 0 0" quat=".5 .5 .5 .5">
          <inertial pos="0 .1 .2" mass="1.5" fullinertia=".02 .03 .028 .001 -.002 .003"/>
          <joint name="j2" type="slide" axis="1 0 0" range="-.2 .5"/></body></body></worldbody>""",
    "geoms of every kind": """
      <compiler angle="radian"/>
      <worldbody><body name="a"><joint name="j1" axis="0 0 1"/>
        <geom type="box" size=".1 .2 .05" pos=".2 0 0" euler=".3 .2 .1"/>
        <geom type="sphere" size=".07" mass=".4" pos="0 .1 .2"/>
        <geom type="capsule" size=".04 .2" axisangle="1 2 0 .7" density="700"/>
        <body name="b" pos="0 .5 0"><joint name="j2" axis="1 0 0"/>
          <geom type="cylinder" size=".05 .15" xyaxes="0 1 0 -1 .2 0"/>
          <geom type="ellipsoid" size=".05 .1 .15" zaxis="1 1 .5" pos=".1 0 0"/>
          <geom type="capsule" size=".03" fromto="0 0 0 .1 .2 .3"/>
          <geom type="box" size=".03" fromto="0 0 0 -.1 .2 .1"/>
          <geom type="ellipsoid" size=".03" fromto="0 0 .1 -.1 .2 .1"/>
          <geom type="cylinder" size=".03" fromto=".1 0 .1 -.1 .2 .1" mass="2"/></body></body></worldbody>""",
    "several joints, anchors, references": """
      <compiler angle="degree"/>
      <worldbody><body name="a" pos=".1 .2 .3" euler="20 0 40">
        <joint name="x" type="slide" axis="1 0 0" ref=".2"/>
        <joint name="y" type="slide" axis="0 2 0" pos=".3 .1 0"/>
        <joint name="t" axis="0 .6 .8" pos=".1 -.2 .3" ref="35"/>
        <geom type="box" size=".1 .2 .3" pos=".1 .1 0"/>
        <body name="b" pos="0 0 .5"><joint name="u" axis="0 1 0" pos="0 0 -.1" ref="-20"/>
          <geom type="sphere" size=".1" pos=".2 0 .1"/></body></body></worldbody>""",
    "defaults, classes, frames": """
      <compiler angle="radian" eulerseq="ZYx"/>
      <default><joint armature=".1" damping=".3"/><geom type="capsule" size=".05 .1" density="500"/>
        <default class="arm"><joint axis="0 1 0" range="-1 1"/>
          <default class="hand"><joint axis="1 0 0" frictionloss=".2"/><geom type="box" size=".1 .1 .02"/></default>
        </default></default>
      <worldbody><frame pos="0 0 1" euler=".1 .2 .3">
        <body name="a" childclass="arm"><joint name="j1"/><geom/>
          <frame pos=".2 0 .1" quat="1 .2 0 .1" childclass="hand">
            <geom pos="0 .1 0"/><body name="b" pos="0 0 .2"><joint name="j2"/><geom/>
              <body name="c" pos=".1 .2 .3"><joint name="j3" class="arm"/><geom class="arm"/></body></body></frame>
          <frame euler=".4 0 0"><body name="d">
            <frame pos="0 .1 0" euler="0 .3 0"><joint name="j4" pos="0 0 .1"/></frame><geom/></body></frame>
        </body></frame></worldbody>""",
    "inertia from geoms only, groups, bounds": """
      <compiler inertiafromgeom="true" inertiagrouprange="1 3" boundmass=".5" boundinertia=".01" settotalmass="7"/>
      <worldbody><body name="a"><joint name="j1" axis="0 1 0"/><inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/>
        <geom type="box" size=".1 .2 .3" group="1" pos=".1 0 0"/><geom type="sphere" size="1" group="0"/>
        <body name="b" pos="0 0 1"><joint name="j2" axis="1 0 0"/>
          <geom type="sphere" size=".02" group="2" pos=".3 0 0"/>
          <body name="c" pos="0 .2 0"><geom type="sphere" size=".1" group="3"/></body></body></body></worldbody>""",
    "balanced inertia, no gravity": """
      <compiler balanceinertia="true" autolimits="false"/><option><flag gravity="disable"/></option>
      <worldbody><body name="a"><joint name="j1" axis="0 1 0" limited="true" range="-30 30"/>
        <inertial pos=".1 0 .2" mass="1" diaginertia=".1 .1 .5" euler="30 0 0"/>
        <body name="b" pos="0 0 1"><joint name="j2" axis="1 0 0" limited="false"/>
          <inertial pos=".2 .1 .3" mass="1" fullinertia=".1 .2 .9 .01 0 .02"/></body></body></worldbody>""",
    "branches and fixed bodies": """
      <compiler angle="radian"/>
      <worldbody><geom type="plane" size="1 1 1"/><body name="trunk" pos="0 0 1"><geom type="sphere" size=".2"/>
        <body name="left" pos="0 .3 0"><joint name="l"/><geom type="box" size=".1 .1 .1" pos=".1 0 0"/>
          <body name="tool" pos=".3 0 0" euler="0 .5 0"><geom type="box" size=".02 .1 .05" pos="0 0 .1"/>
            <site name="tcp" pos="0 0 .2" euler=".1 0 0"/></body></body>
        <body name="right" pos="0 -.3 0"><joint name="r" axis="1 0 0"/><geom type="box" size=".1 .1 .1"/>
          <body name="far" pos="0 -.3 0"><joint name="f" type="slide"/><geom type="sphere" size=".1"/></body></body>
      </body></worldbody>""",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes what it warns of into a file of the folder it is run in."""
    monkeypatch.chdir(tmp_path)


def document(name: str) -> str:
    return f'<mujoco model="{name}">{MODELS[name]}</mujoco>'


def robot_of(text: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.Robot(read_mjcf(text))


def compare(robot: dl.Robot, model: mujoco.MjModel) -> None:
    """M, the bias and every body's and site's pose at random states."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    data = mujoco.MjData(model)
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint) for joint in robot.joint_names]
    assert sorted(ids) == list(range(model.njnt))
    for q, qd in np.random.default_rng(1).uniform(-1, 1, (3, 2, robot.n)):
        data.qpos[ids], data.qvel[ids] = q, qd
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        assert error(robot.mass_matrix(q), M[np.ix_(ids, ids)]) < ROUNDING
        assert error(robot.bias_torque(q, qd), data.qfrc_bias[ids]) < ROUNDING
        for k in range(1, model.nbody):
            T = robot.fk(q, model.body(k).name)
            assert error(T[:3, 3], data.xpos[k], 1.0) < ROUNDING
            assert error(T[:3, :3], data.xmat[k].reshape(3, 3)) < ROUNDING
        for k in range(model.nsite):
            T = robot.fk(q, model.site(k).name)
            assert error(T[:3, 3], data.site_xpos[k], 1.0) < ROUNDING


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_mujoco(name):
    model = mujoco.MjModel.from_xml_string(document(name))
    robot = robot_of(document(name))
    assert robot.name == name
    compare(robot, model)
    order = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint) for joint in robot.joint_names]
    limited = model.jnt_limited[order].astype(bool)
    assert error(np.where(limited, robot.limits.lower, 0.0), np.where(limited, model.jnt_range[order, 0], 0.0)) < 1e-15
    assert np.isinf(robot.limits.upper[~limited]).all()
    drives = {joint.name: joint.drive for joint in robot.description.joints}
    for k, joint in zip(order, robot.joint_names, strict=True):
        assert drives[joint].damping == np.ravel(model.dof_damping[k])[0]
        assert drives[joint].coulomb == (model.dof_frictionloss[k],) * 2
        assert drives[joint].rotor_inertia == model.dof_armature[k]


ASSETS = sorted((Path(gymnasium.__file__).parent / "envs/mujoco/assets").glob("*.xml"))


def test_the_models_of_gymnasium_are_there():
    assert len(ASSETS) >= 10


@pytest.mark.parametrize("file", ASSETS, ids=lambda file: file.stem)
def test_real_models_agree_or_are_refused(file):
    model = mujoco.MjModel.from_xml_path(str(file))
    if mujoco.mjtJoint.mjJNT_FREE in model.jnt_type:
        with pytest.raises(dl.DescriptionError, match=r"\.xml:\d+:\d+: joint 'root' is of type 'free'"):
            dl.load(file)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        compare(dl.load(file), model)


def test_springs_rest_where_mujoco_says():
    text = """<mujoco><compiler angle="degree"/><worldbody><body name="a"><geom type="sphere" size=".1" pos=".1 0 0"/>
      <joint name="j" axis="0 1 0" stiffness="3" springref="40" ref="10" damping=".2" frictionloss="0"/></body>
      </worldbody></mujoco>"""
    model, robot = mujoco.MjModel.from_xml_string(text), robot_of(text)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = 0.3, 0.7
    mujoco.mj_forward(model, data)
    assert error(-robot.friction_torque([0.3], [0.7]), data.qfrc_passive) < ROUNDING


def test_included_files_meshes_and_load(tmp_path):
    (tmp_path / "parts").mkdir()
    box = np.array([[x, y, z] for x in (0, 0.2) for y in (0, 0.1) for z in (0, 0.3)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))]
    lines = ["solid box"]
    for a, b, c in faces:
        n = np.cross(box[b] - box[a], box[c] - box[a])
        lines += [f"facet normal {n[0]} {n[1]} {n[2]}", "outer loop"]
        lines += [f"vertex {x} {y} {z}" for x, y, z in (box[a], box[b], box[c])]
        lines += ["endloop", "endfacet"]
    (tmp_path / "parts" / "box.stl").write_text("\n".join([*lines, "endsolid box"]))
    (tmp_path / "inner.xml").write_text(
        '<mujocoinclude><body name="b" pos="0 0 .4"><joint name="j2" axis="1 0 0"/>'
        '<geom type="mesh" mesh="box" density="500"/></body></mujocoinclude>'
    )
    (tmp_path / "arm.xml").write_text("""<mujoco model="arm"><compiler meshdir="parts"/>
      <asset><mesh file="box.stl" scale="1 -1 1.5"/></asset>
      <worldbody><body name="a"><joint name="j1" axis="0 1 0"/><geom type="sphere" size=".1" pos=".1 0 0"/>
        <include file="inner.xml"/></body></worldbody>
      <keyframe><key name="home" qpos=".1 .2"/></keyframe></mujoco>""")
    robot = dl.load(tmp_path / "arm.xml")
    assert robot.home.tolist() == [0.1, 0.2]
    # MuJoCo refuses an STL of text: for it, the same box as a geom of its own.
    text = (tmp_path / "arm.xml").read_text().replace('<asset><mesh file="box.stl" scale="1 -1 1.5"/></asset>', "")
    inner = (tmp_path / "inner.xml").read_text().removeprefix("<mujocoinclude>").removesuffix("</mujocoinclude>")
    text = text.replace('<include file="inner.xml"/>', inner)
    text = text.replace('type="mesh" mesh="box"', 'type="box" size=".1 .05 .225" pos=".1 -.05 .225"')
    model = mujoco.MjModel.from_xml_string(text)
    compare(robot, model)


def test_a_urdf_called_xml_is_one(tmp_path):
    file = tmp_path / "arm.xml"
    dl.load("planar-2r").to_urdf(file)
    assert dl.load(file).joint_names == dl.load("planar-2r").joint_names


def test_coupled_joints_become_mimic_joints():
    text = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="m" axis="0 1 0" ref=".2"/>
      <geom type="sphere" size=".1" pos=".1 0 0"/><body name="b"><joint name="s" type="slide" ref=".1"/>
      <geom type="sphere" size=".1"/></body></body></worldbody>
      <equality><joint joint1="s" joint2="m" polycoef=".3 -2"/><weld body1="a" body2="b"/></equality></mujoco>"""
    robot = robot_of(text)
    (mimic,) = [j.mimic for j in robot.description.joints if j.mimic is not None]
    assert robot.n == 1 and mimic.joint == "m" and mimic.multiplier == -2.0
    assert abs(mimic.offset - (0.1 + 0.3 + 2 * 0.2)) < 1e-15  # y − y₀ = a₀ + a₁ (x − x₀)
    assert any("1 equality constraint is not carried" in w for w in robot.warnings)


def test_what_is_not_carried_is_said():
    text = """<mujoco><option density="1.2"/><worldbody><geom type="plane" size="1 1 1"/>
      <body name="a" gravcomp="1"><joint name="j" damping="1 .5" actuatorfrcrange="-3 5"/>
      <geom type="sphere" size=".1"/><plugin instance="x"/></body></worldbody>
      <actuator><motor joint="j"/><position joint="j"/></actuator><sensor><jointpos joint="j"/></sensor></mujoco>"""
    robot = robot_of(text)
    said = "\n".join(robot.warnings)
    for words in (
        "<text>: actuators (2) are not carried",
        "sensors (1) are not carried",
        "1 geom (plane, ellipsoid, hfield or sdf) is not drawn",
        "<text>:1:9: forces of a surrounding fluid (<option density=…>) are not carried",
        "<text>:2:7: body 'a' is relieved of gravity, which is not carried",
        "<text>:2:35: joint 'j' has a damping that is not linear; only its first number is carried",
        "joint 'j' has actuatorfrcrange -3 5; the smaller is taken as its effort, both ways",
        "<text>:3:38: <plugin> of body 'a' is not carried",
    ):
        assert words in said, said
    assert robot.limits.effort.tolist() == [3.0]


BODY = '<mujoco>{}<worldbody><body name="a">{}<geom type="sphere" size=".1"/></body></worldbody>{}</mujoco>'
REFUSED = {
    BODY.format("", '<joint name="f" type="free"/>', ""): "<text>:1:35: joint 'f' is of type 'free', which moves in "
    "several ways; the base is fixed here: remove the joint, and the body is fixed to the world",
    BODY.format("", "<freejoint/>", ""): "joint 'a_joint' is of type 'free'",
    BODY.format("", '<joint type="ball"/>', ""): "write three hinges whose axes meet",
    BODY.format("", '<joint type="hing"/>', ""): "unknown type 'hing'; choose from hinge, slide",
    BODY.format("", '<joint axis="0 0 0"/>', ""): "axis='0 0 0' has no direction",
    BODY.format("", '<joint range="20 10"/>', ""): "the first number must be the smaller",
    BODY.format("", '<joint range="0 inf"/>', ""): "'inf', which is not a finite number",
    BODY.format("", '<joint class="armm"/>', ""): "unknown default class 'armm'; choose from 'main'",
    BODY.format("", '<joint springdamper=".1 1"/>', ""): "write stiffness and damping",
    BODY.format('<compiler autolimits="false"/>', '<joint range="0 1"/>', ""): "autolimits is off",
    BODY.format('<compiler eulerseq="xyw"/>', "", ""): "must be three of x, y, z",
    BODY.format('<compiler angle="grad"/>', "", ""): "angle='grad' must be one of degree, radian",
    BODY.format('<compiler coordinate="global"/>', "", ""): "write the model with 'local'",
    BODY.format("", '<geom type="box" size=".1 .1"/>', ""): "3 numbers must stand here",
    BODY.format("", '<geom type="box" size=".1 .1 -1"/>', ""): "sizes must be positive",
    BODY.format("", '<geom type="bax" size=".1"/>', ""): "unknown type 'bax'; did you mean 'box'?",
    BODY.format("", '<geom type="mesh" mesh="m"/>', ""): "unknown mesh 'm'",
    BODY.format("", '<geom type="capsule" size=".1" fromto="0 0 0 0 0 0"/>', ""): "goes from a point to itself",
    BODY.format("", '<geom size=".1" mass="-1"/>', ""): "negative mass or density",
    BODY.format("", '<geom size=".1" shellinertia="true"/>', ""): "give the body an <inertial>",
    BODY.format("", '<geom size=".1" quat="0 0 0 0"/>', ""): "is zero, which is no rotation",
    BODY.format("", '<geom size=".1" euler="0 0 0" zaxis="1 0 0"/>', ""): "zaxis and euler; keep one orientation",
    BODY.format("", '<body name="a"/>', ""): "two bodies are named 'a'",
    BODY.format("", "<replicate count='2'/>", ""): "<replicate> of body 'a' is not read; write its copies out",
    BODY.format('<include file="x.xml"/>', "", ""): "needs the folder of the model; load it from a file",
    BODY.format("", "", '<equality><joint joint1="x" joint2="y"/></equality>'): "holds the unknown joint 'x'",
    "<mujoco/>": "the model has no <worldbody>; there is nothing in it",
    "<mujoco><worldbody><joint/></worldbody></mujoco>": "the world does not move",
    "<robott/>": "the first element is <robott>; MJCF starts with <mujoco model=…>",
    "<mujoco><default><default/></default><worldbody/></mujoco>": "has no class; name it",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals_name_line_and_remedy(text):
    with pytest.raises(dl.DescriptionError) as refusal:
        robot_of(text)
    assert REFUSED[text] in str(refusal.value)
    assert str(refusal.value).startswith("<text>:1:")


def test_includes_stay_near_and_are_read_once(tmp_path):
    file = tmp_path / "arm.xml"
    for name, words in (
        ("../../../../x.xml", "climbs more than 3 folders"),
        ("gone.xml", "the included file 'gone.xml' cannot be read: No such file"),
        ("self.xml", "'self.xml' is included twice"),
    ):
        file.write_text(f'<mujoco><worldbody><include file="{name}"/></worldbody></mujoco>')
        (tmp_path / "self.xml").write_text('<mujocoinclude><include file="self.xml"/></mujocoinclude>')
        with pytest.raises(dl.DescriptionError, match="arm.xml:1:|self.xml:1:") as refusal:
            dl.load(file)
        assert words in str(refusal.value)


def test_a_mesh_that_is_not_there_asks_for_an_inertial(tmp_path):
    file = Path(tmp_path / "arm.xml")
    file.write_text(
        '<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody><body name="a"><joint/>{}'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'.format("")
    )
    with pytest.raises(dl.DescriptionError, match="comes from the mesh 'gone.stl', which cannot be used"):
        dl.load(file)
    own = '<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    file.write_text(file.read_text().replace("<joint/>", own))
    robot = dl.load(file)
    assert robot.mass == 1.0 and len(robot.description.links[-1].visuals) == 1
