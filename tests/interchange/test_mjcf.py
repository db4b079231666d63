"""MJCF read, beside MuJoCo's own compiler: mass matrix, bias and poses of models that use its features."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.mjcf import read_mjcf
from dalembert.draw.scene import read_mesh
from dalembert.interchange import to_mujoco_state
from errors import fields_of, raises
from oracles.mujoco_terms import mujoco_terms, states
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

# An L, closed; without its last two faces it is not. Seen from its center of mass no face is hidden.
CORNERS = [(x / 10, y / 10, z / 10) for z in (0, 1) for x, y in ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))]
SIDES = [f for i in range(6) for f in ((i, (i + 1) % 6, (i + 1) % 6 + 6), (i, (i + 1) % 6 + 6, i + 6))]
FACES = [*((c, b, a) for a, b, c in ((0, 1, 3), (1, 2, 3), (0, 3, 5), (3, 4, 5)))]
FACES += [*((a + 6, b + 6, c + 6) for c, b, a in FACES), *SIDES]
# A U, of which some faces look away from its center of mass.
U_CORNERS = [
    (x / 10, y / 10, z / 10)
    for z in (0, 1)
    for x, y in ((0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3))
]
U_TRIANGLES = ((0, 1, 4), (0, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7))
U_FACES = [*((c, b, a) for a, b, c in U_TRIANGLES), *((a + 8, b + 8, c + 8) for a, b, c in U_TRIANGLES)]
U_FACES += [f for i in range(8) for f in ((i, (i + 1) % 8, (i + 1) % 8 + 8), (i, (i + 1) % 8 + 8, i + 8))]


def written(rows) -> str:
    return " ".join(str(x) for row in rows for x in row)


def mesh(name: str, corners, faces, more: str = "") -> str:
    return f'<mesh name="{name}" vertex="{written(corners)}" face="{written(faces)}" {more}/>'


def hung(*geoms: str) -> str:
    """A geom on each of a chain of bodies."""
    inner = ""
    for k, geom in reversed(list(enumerate(geoms))):
        inner = f'<body name="b{k}" pos=".1 .2 .3"><joint name="j{k}" axis="1 {k % 3} .3"/><geom {geom}/>{inner}</body>'
    return f"<worldbody>{inner}</worldbody>"


MODELS |= {
    "a free body with arms": """<compiler angle="radian"/><option gravity=".3 1 -9"/>
      <worldbody><body name="trunk" pos=".1 .2 .9" euler=".3 .2 -.4"><freejoint name="root"/>
        <inertial pos=".1 .02 0" mass="2" fullinertia=".02 .03 .028 .001 -.002 .003"/>
        <body name="upper" pos=".2 0 .1" euler="0 .4 0"><joint name="hip" axis="0 1 1" pos=".1 0 0" ref=".3"/>
          <geom type="capsule" size=".04 .2"/><site name="foot" pos="0 0 -.3"/></body></body></worldbody>""",
    "balls off their bodies' origins": """<compiler angle="degree"/>
      <default><joint armature=".3" damping=".1"/></default>
      <worldbody><frame pos="0 .1 0" euler="20 0 0"><body name="a" pos="0 0 1" quat="1 .2 .3 0">
        <joint name="socket" type="ball" pos=".1 -.2 .3"/><geom type="box" size=".1 .2 .3" pos=".1 .1 0"/>
        <body name="b" pos=".3 0 0">
          <frame euler="0 0 30" pos=".1 0 0"><joint name="second" type="ball" pos="0 0 .1"/></frame>
          <geom type="sphere" size=".1" pos=".2 0 .1"/></body></body></frame></worldbody>""",
    "a slide, then a ball": """<worldbody><body name="a" pos="0 0 .5" euler="10 20 30">
        <joint name="x" type="slide" axis="1 1 0" ref=".2"/><joint name="turn" type="ball" pos=".1 0 .2" armature=".2"/>
        <geom type="box" size=".1 .2 .3" pos=".1 .1 0"/></body></worldbody>""",
    "a scene: an arm, a free cube of a class, a hinged door": """<default><default class="loose"><joint damping=".01"/>
        </default></default><worldbody><body name="base" pos="0 0 .4"><geom type="box" size=".1 .1 .1"/>
          <body name="link"><joint name="turn"/><geom type="capsule" size=".05 .2"/></body></body>
        <body name="cube" pos=".5 .1 .3" axisangle="1 2 3 40" childclass="loose">
          <joint name="free" type="free" pos="1 2 3"/>
          <geom type="box" size=".1 .2 .1" pos=".03 0 .1"/></body>
        <body name="door" pos="1 0 0"><joint name="leaf" axis="0 0 1" pos="0 .5 0"/>
          <geom type="box" size=".05 .5 1"/></body>
      </worldbody>""",
}
PLACED = 'refpos=".1 .2 .3" refquat="1 .5 .2 .1" scale="1 -2 3"'
MODELS |= {
    "meshes by every rule": f"""<asset>{mesh("l", CORNERS, FACES)}{mesh("open", CORNERS, FACES[:-2])}
      {mesh("hull", CORNERS, FACES, 'inertia="convex"')}{mesh("skin", CORNERS, FACES, 'inertia="shell"')}
      {mesh("exact", U_CORNERS, U_FACES, 'inertia="exact"')}{mesh("legacy", U_CORNERS, U_FACES, 'inertia="legacy"')}
      <mesh name="points" vertex="{written(CORNERS)}"/></asset>"""
    + hung(
        *(f'type="mesh" mesh="{m}"' for m in ("l", "open", "hull", "skin", "exact", "legacy", "points")),
        'type="mesh" mesh="skin" mass="3"',
        'type="mesh" mesh="open" mass="2" pos=".1 0 0" euler="10 0 0"',
    ),
    "a mesh moved, turned, stretched and mirrored": f"<asset>{mesh('l', CORNERS, FACES, PLACED)}</asset>"
    + hung('type="mesh" mesh="l"', 'type="mesh" mesh="l" pos=".1 0 0" euler="10 0 0" mass="2"'),
    "shapes fitted to meshes": f"""<asset>{mesh("l", CORNERS, FACES, 'scale="1 1.5 .7"')}</asset>"""
    + hung(
        'mesh="l"',
        *(f'type="{kind}" mesh="l" fitscale="1.2"' for kind in ("capsule", "cylinder", "box")),
        'type="ellipsoid" mesh="l" pos=".1 0 0" euler="0 40 0"',
    ),
    "shapes fitted to boxes around meshes": f"""<compiler fitaabb="true"/>
      <asset>{mesh("l", CORNERS, FACES, 'scale="1 1.5 .7"')}</asset>"""
    + hung(*(f'type="{kind}" mesh="l"' for kind in ("sphere", "capsule", "cylinder", "box", "ellipsoid"))),
    "copies in copies": """<compiler angle="degree"/><default><default class="arm"><geom type="box" size=".1 .2 .3"/>
      </default></default><worldbody><replicate count="3" offset="1 0 .1" euler="0 0 30" sep="_">
      <body name="a" pos="0 .5 0" childclass="arm"><joint name="j"/><geom/><site name="s" pos=".1 .2 .3"/>
        <replicate count="11" offset="0 .1 0" euler="5 0 0"><frame pos="0 0 .2">
          <body name="b"><joint name="k" axis="0 1 0"/><geom pos=".1 0 0"/></body></frame></replicate></body>
      </replicate></worldbody>""",
    "armature and damping of actuators": """<default><general armature=".2"/><default class="weak"><motor damping=".5"/>
      </default></default><worldbody><body name="a"><joint name="j1" damping=".1"/><geom size=".1" pos=".1 0 0"/>
      <body name="b"><joint name="j2" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody>
      <actuator><motor joint="j1" gear="3"/><position joint="j2" kp="5" armature=".1"/></actuator>""",
    "sites between two points": """<compiler angle="radian"/><default><default class="rod">
      <site type="capsule" size=".01" fromto="0 .1 0 .4 .2 .3"/></default></default>
      <worldbody><body name="a"><joint name="j1" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
      <site name="box" type="box" size=".01" fromto="0 0 0 .4 0 0" euler=".3 0 0"/>
      <frame pos="0 .1 .2" euler=".3 .2 .1"><site name="by class" class="rod"/>
        <site name="over it" class="rod" type="ellipsoid" fromto="0 0 1 0 0 .3"/></frame>
      <body name="b" pos=".5 0 0"><joint name="j2"/><geom size=".1" pos=".1 .1 0"/>
        <site name="end" type="cylinder" size=".01" fromto="0 0 .2 -.1 .4 0"/></body></body></worldbody>""",
    "a body and a site of one name": """<worldbody><body name="a"><joint name="j1" axis="0 1 0"/>
      <site name="b" pos="1 0 0"/><geom size=".1" pos=".1 0 0"/><body name="b" pos="0 0 1"><joint name="j2"/>
        <geom size=".1" pos=".1 .1 0"/></body>
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
    # MuJoCo turns a mesh to its principal axes, which it iterates to 1e-12 of a radian.
    of_inertia = 10 * ROUNDING if model.nmesh else ROUNDING
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint) for joint in robot.joint_names]
    assert sorted(ids) == list(range(model.njnt))
    for q, v in states(robot, 3):
        M, bias, data = mujoco_terms(robot, model, q, v)
        assert error(robot.mass_matrix(q), M) < of_inertia
        assert error(robot.bias_torque(q, v), bias) < of_inertia
        for k in (k for k in range(1, model.nbody) if model.body(k).name):
            T = robot.fk(q, model.body(k).name)
            assert error(T[:3, 3], data.xpos[k], 1.0) < ROUNDING
            assert error(T[:3, :3], data.xmat[k].reshape(3, 3)) < ROUNDING
        for k in range(model.nsite):
            name = model.site(k).name
            T = robot.fk(q, name if name not in [model.body(i).name for i in range(model.nbody)] else f"{name}_")
            assert error(T[:3, 3], data.site_xpos[k], 1.0) < ROUNDING
            assert error(T[:3, :3], data.site_xmat[k].reshape(3, 3)) < ROUNDING


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_mujoco(name):
    model = mujoco.MjModel.from_xml_string(document(name))
    robot = robot_of(document(name))
    assert robot.name == name
    compare(robot, model)
    order = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint) for joint in robot.joint_names]
    several = [joint for joint in robot.description.joints if joint.several]
    if several:
        kinds = {"spherical": mujoco.mjtJoint.mjJNT_BALL, "floating": mujoco.mjtJoint.mjJNT_FREE}
        qpos = to_mujoco_state(robot, robot.home, model=model)[0]
        for joint in several:  # starts as it is written
            there = model.joint(joint.name)
            assert there.type[0] == kinds[joint.kind]
            own = slice(there.qposadr[0], there.qposadr[0] + joint.motion().nq)
            assert error(qpos[own], model.qpos0[own]) < ROUNDING
        return
    limited = model.jnt_limited[order].astype(bool)
    assert error(np.where(limited, robot.limits.lower, 0.0), np.where(limited, model.jnt_range[order, 0], 0.0)) < 1e-15
    assert np.isinf(robot.limits.upper[~limited]).all()
    drives = {joint.name: joint.drive for joint in robot.description.joints}
    for k, joint in zip(order, robot.joint_names, strict=True):
        assert drives[joint].coulomb == (model.dof_frictionloss[k],) * 2
        if not model.nu:  # what actuators add is in M and in the passive forces only
            assert drives[joint].damping == np.ravel(model.dof_damping[k])[0]
            assert drives[joint].rotor_inertia == model.dof_armature[k]


ASSETS = sorted((Path(gymnasium.__file__).parent / "envs/mujoco/assets").glob("*.xml"))


def test_the_models_of_gymnasium_are_there():
    assert len(ASSETS) >= 10


@pytest.mark.parametrize("file", ASSETS, ids=lambda file: file.stem)
def test_real_models_agree(file):
    model = mujoco.MjModel.from_xml_path(str(file))
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


LINK = '<mujocoinclude><body><joint/><geom size=".1" pos=".1 0 0"/>{}</body></mujocoinclude>'


def test_included_files_are_found_where_mujoco_finds_them(tmp_path):
    """By the name as written: beside the model, else beside the file that names them; two links to a file are two."""
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a.xml").write_text(LINK.format('<include file="deep/b.xml"/><include file="both.xml"/>'))
    (tmp_path / "sub" / "deep" / "b.xml").write_text(LINK.format('<include file="c.xml"/>'))
    (tmp_path / "sub" / "deep" / "c.xml").write_text(LINK.format(""))
    (tmp_path / "both.xml").write_text(LINK.format("").replace(".1 0 0", ".7 0 0"))
    (tmp_path / "sub" / "both.xml").write_text(LINK.format(""))
    (tmp_path / "sub" / "again.xml").symlink_to("both.xml")
    file = tmp_path / "arm.xml"
    file.write_text(
        '<mujoco><worldbody><include file="sub/a.xml"/><include file="sub/both.xml"/><include file="sub/again.xml"/>'
        "</worldbody></mujoco>"
    )
    robot, model = dl.load(file), mujoco.MjModel.from_xml_path(str(file))
    assert robot.n == model.nv == 6
    M = np.zeros((6, 6))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    assert error(robot.mass_matrix(np.zeros(6)), M) < ROUNDING
    file.write_text('<mujoco><worldbody><include file="both.xml"/><include file="./both.xml"/></worldbody></mujoco>')
    with raises(dl.DescriptionError, "duplicate file"):
        dl.load(file)


# A pyramid on a square that is not flat, which its two diagonals close with different volumes.
WARPED = "v 0 0 0\nv 2 0 .5\nv 2 1 0\nv 0 1 .6\nv 1 .5 2\nf 4 3 2 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
SHOWN = 'type="mesh" mesh="m"'


@pytest.mark.parametrize("settings", ["", '<compiler meshdir="meshes"/>'])
@pytest.mark.parametrize("place", ["m.obj", "meshes/m.obj", "sub/m.obj", "sub/meshes/m.obj"])
@pytest.mark.parametrize("name", ["m.obj", "absent/../m.obj"])
def test_a_mesh_of_an_included_file_is_found_where_mujoco_finds_it(name, place, settings, tmp_path):
    (tmp_path / "sub" / "meshes").mkdir(parents=True)
    (tmp_path / "meshes").mkdir()
    (tmp_path / place).write_text(WARPED)
    (tmp_path / "sub" / "part.xml").write_text(f'<mujocoinclude><asset><mesh file="{name}"/></asset></mujocoinclude>')
    file = tmp_path / "arm.xml"
    file.write_text(f'<mujoco>{settings}<include file="sub/part.xml"/>{hung(SHOWN)}</mujoco>')
    try:
        wanted = mujoco.MjModel.from_xml_path(str(file)).body_mass[1]
    except ValueError:
        with raises(dl.DescriptionError, "missing inertial"):
            dl.load(file)
    else:
        assert error(np.array(dl.load(file).mass), wanted) < ROUNDING
        (shape,) = dl.load(file).description.links[-1].visuals
        assert (tmp_path / shape.geometry.filename).samefile(tmp_path / place)


@pytest.mark.parametrize("rule", ["legacy", "exact"])
@pytest.mark.parametrize("corner", ["{}", "{}/1/1", "{}//1", "-{}"])
@pytest.mark.parametrize("first", ["4 3 2 1", "3 2 1 4"])
def test_a_face_of_four_corners_is_cut_as_in_mujoco(first, corner, rule, tmp_path):
    def write(line: str) -> str:
        if line[0] != "f":
            return line
        numbers = (int(n) for n in line.split()[1:])
        return " ".join(["f", *(corner.format(6 - n if corner == "-{}" else n) for n in numbers)])

    lines = [write(line) for line in WARPED.replace("4 3 2 1", first).splitlines()]
    (tmp_path / "m.obj").write_text("\n".join(["vn 0 0 1", "vt 0 0", *lines] if "/" in corner else lines))
    file = tmp_path / "arm.xml"
    file.write_text(f'<mujoco><asset><mesh file="m.obj" inertia="{rule}"/></asset>{hung(SHOWN)}</mujoco>')
    model, robot = mujoco.MjModel.from_xml_path(str(file)), dl.load(file)
    (inertial,) = [link.inertial for link in robot.description.links if link.inertial]
    assert abs(model.body_mass[1] - 4000 / 3) < 1e-9 and abs(robot.mass - 4000 / 3) < 1e-9
    assert error(np.array(inertial.origin.xyz), model.body_ipos[1]) < ROUNDING


@pytest.mark.parametrize("style", ["plain", "indented", "continued", "carriage returns", "last line"])
def test_polygons_of_an_obj_file_are_cut_as_in_mujoco(style, tmp_path):
    """Pyramids on polygons that are neither flat nor convex, at random places: ears are clipped in MuJoCo's order."""
    rng = np.random.default_rng(3)
    file, compared = tmp_path / "arm.xml", 0
    for k in range(40):
        n = 4 + k % 5
        angles, radii = np.sort(rng.uniform(0, 2 * np.pi, n)), rng.uniform(0.5 if k % 2 else 0.9, 1, n)
        x = np.column_stack([radii * np.cos(angles), radii * np.sin(angles), rng.normal(0, 0.1, n)])
        x = np.vstack([x, (0, 0, 2.5)]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + rng.normal(size=3)
        around = [f"f {i + 1} {(i + 1) % n + 1} {n + 1}" for i in range(n)]
        lines = [*(f"v {a:.6f} {b:.6f} {c:.6f}" for a, b, c in x), *around]
        lines.insert(-1 if style != "last line" else len(lines), " ".join(["f", *map(str, range(n, 0, -1))]))
        text = "\n".join(f" \t{line}" if style == "indented" else line for line in lines)
        (tmp_path / f"m{k}.obj").write_text(text)
        asset = f'<asset><mesh name="m" file="m{k}.obj" inertia="exact"/></asset>'
        file.write_text(f"<mujoco>{asset}{hung(SHOWN)}</mujoco>")
        try:
            model = mujoco.MjModel.from_xml_path(str(file))
        except ValueError:  # too far from convex for MuJoCo
            continue
        if style == "continued":  # which MuJoCo does not read
            (tmp_path / f"m{k}.obj").write_text(text.replace("f ", "f \\\n"))
        if style == "carriage returns":
            (tmp_path / f"m{k}.obj").write_text(text.replace("\n", "\r"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dl.ModelWarning)
            mass = dl.load(file).mass
        if model.nmeshface == 2 * n - 2:  # else it dropped a face
            assert abs(mass / model.body_mass[1] - 1) < 1e-6
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("rule", ["", 'inertia="exact"', 'inertia="convex"'])
def test_vertices_without_faces_are_their_convex_hull(rule, tmp_path):
    (tmp_path / "m.obj").write_text("# a die\n" + WARPED[: WARPED.index("f")] + "v .5 .5 .5 1\n")
    file = tmp_path / "arm.xml"
    file.write_text(f'<mujoco><asset><mesh file="m.obj" {rule}/></asset>{hung(SHOWN)}</mujoco>')
    robot, model = dl.load(file), mujoco.MjModel.from_xml_path(str(file))
    (inertial,) = [link.inertial for link in robot.description.links if link.inertial]
    assert error(np.array(robot.mass), model.body_mass[1]) < ROUNDING
    assert error(np.array(inertial.origin.xyz), model.body_ipos[1]) < ROUNDING
    (solid,) = (read_mesh(robot, s.geometry) for link in robot.description.links for s in link.visuals)
    T = robot.fk([0.1])
    over = robot.collision().spheres.overestimate
    lowest = (solid.vertices @ T[:3, :3].T + T[:3, 3])[:, 2].min()
    assert len(solid.faces) == 6 and 0 <= lowest - robot.clearance([0.1], dl.World().floor(0.0)) <= over
    for text in ("", "v 0 0 0\nv 1 0 0\n", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "v 1\n" * 5):
        (tmp_path / "m.obj").write_text(text)
        with raises(dl.DescriptionError, "missing inertial"):
            dl.load(file)


def test_an_obj_file_of_several_objects_is_told(tmp_path):
    second = "f -2 -3 -4 -5\nf -5 -4 -1\nf -4 -3 -1\nf -3 -2 -1\nf -2 -5 -1\n"
    second = WARPED[: WARPED.index("f")].replace("v ", "v 9") + second
    file = tmp_path / "arm.xml"
    file.write_text(f'<mujoco><asset><mesh file="m.obj"/></asset>{hung(SHOWN)}</mujoco>')
    for text, several in ((WARPED, False), (f"o one\n{WARPED}", False), (f"o one\n{WARPED}o two\n{second}", True)):
        (tmp_path / "m.obj").write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dl.ModelWarning)
            robot = dl.load(file)
        alike = abs(robot.mass - mujoco.MjModel.from_xml_path(str(file)).body_mass[1]) < 1e-6
        assert alike != several and any("several objects" in w for w in robot.warnings) == several


def test_free_joints_under_a_default_armature_load():
    text = """<mujoco><default><joint armature=".1"/></default><worldbody><body name="t">
      <joint name="root" type="free"{}/><geom size=".1"/><body name="b"><joint name="j"/><geom size=".1" pos=".1 0 0"/>
      </body></body></worldbody></mujoco>"""
    robot = robot_of(text.format(""))
    assert {j.name: j.drive.rotor_inertia for j in robot.description.joints} == {"root": 0.0, "j": 0.1}
    (warning,) = [w for w in robot.warnings if "'root'" in w]
    assert "armature" in warning and "default class" in warning
    with raises(dl.DescriptionError, "unsupported allow"):
        robot_of(text.format(' armature=".1"'))


def test_a_urdf_called_xml_is_one(tmp_path):
    file = tmp_path / "arm.xml"
    dl.load("planar-2r").to_urdf(file)
    assert dl.load(file).joint_names == dl.load("planar-2r").joint_names


def test_actuators_damp_their_joints():
    body = '<body name="{}"><joint name="{}" damping=".5"/><geom size=".1" pos=".1 0 0"/>'
    text = f"""<mujoco><worldbody>{body.format("a", "j")}{body.format("b", "k")}</body></body></worldbody><actuator>
      <motor joint="j" gear="4" damping="3"/><general joint="k" damping=".2"/></actuator></mujoco>"""
    model, robot = mujoco.MjModel.from_xml_string(text), robot_of(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.7, -0.3
    mujoco.mj_forward(model, data)
    assert error(-robot.friction_torque([0, 0], [0.7, -0.3]), data.qfrc_passive) < ROUNDING
    with raises(dl.DescriptionError, "unsupported allow"):
        robot_of(text.replace('"3"', '"3 1"'))


def test_what_a_mesh_weighs_and_what_is_said_of_it():
    for faces, words in ((U_FACES, "closed, and MuJoCo's default rule overcounts"), (U_FACES[2:], "not closed")):
        shown = hung('type="mesh" mesh="u"')
        text = f"<mujoco><asset>{mesh('u', U_CORNERS, faces)}</asset>{shown}</mujoco>"
        robot, model = robot_of(text), mujoco.MjModel.from_xml_string(text)
        assert any(f"mesh 'u' is {words}" in w for w in robot.warnings)
        wanted = 7.0 if faces is U_FACES else model.body_mass[1]  # 0.007 m³ of water
        assert abs(robot.mass - wanted) < 1e-6 and model.body_mass[1] > 7.5


def test_coupled_joints_become_mimic_joints():
    text = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="m" axis="0 1 0" ref=".2"/>
      <geom type="sphere" size=".1" pos=".1 0 0"/><body name="b"><joint name="s" type="slide" ref=".1"/>
      <geom type="sphere" size=".1"/></body></body></worldbody>
      <equality><joint joint1="s" joint2="m" polycoef=".3 -2"/></equality></mujoco>"""
    robot = robot_of(text)
    (mimic,) = [j.mimic for j in robot.description.joints if j.mimic is not None]
    assert robot.n == 1 and mimic.joint == "m" and mimic.multiplier == -2.0
    assert abs(mimic.offset - (0.1 + 0.3 + 2 * 0.2)) < 1e-15  # y − y₀ = a₀ + a₁ (x − x₀)
    curved = text.replace(".3 -2", ".3 -2 1")
    with raises(dl.DescriptionError, "unsupported allow"):
        robot_of(curved)
    with pytest.warns(dl.ModelWarning, match="nor a loop; it is left out"):
        assert dl.Robot(read_mjcf(curved, allow=["equalities"])).n == 2
    with raises(dl.DalembertError, "unknown-name"):
        read_mjcf(text, allow=["equality"])


FINGERS = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="a"><joint name="p" ref=".2"/><geom size=".1" pos=".1 0 0"/>
  <body name="b"><joint name="q" ref=".1"/><geom size=".1" pos=".1 0 0"/>
  <body name="c"><joint name="r"/><geom size=".1" pos=".1 0 0"/></body></body></body></worldbody>
  <tendon><fixed name="pq" stiffness="3"><joint joint="p" coef="1"/><joint joint="q" coef="1.5"/></fixed>
    <fixed name="qr"><joint joint="q" coef="1"/><joint joint="r" coef="-4"/></fixed></tendon>
  <equality><tendon tendon1="pq" polycoef=".3"/><tendon tendon1="qr"/></equality></mujoco>"""


def test_tendons_that_couple_two_joints():
    robot, model = robot_of(FINGERS), mujoco.MjModel.from_xml_string(FINGERS)
    assert robot.joint_names == ("p",)
    data = mujoco.MjData(model)
    for p in (0.3, -1.0):
        data.qpos[:] = [body.multiplier * p + body.offset for body in robot.model.bodies]
        mujoco.mj_forward(model, data)
        assert np.abs(data.efc_pos[:2]).max() < 1e-15
    loose = FINGERS.replace('<tendon tendon1="pq" polycoef=".3"/>', "")  # what held the spring's length
    with raises(dl.DescriptionError, "unsupported allow"):
        robot_of(loose)


LOOP = """<mujoco><compiler angle="radian"/><worldbody><body name="a" pos="0 .1 0" euler=".1 .2 .3"><joint name="j1"/>
  <geom size=".1" pos=".1 0 0"/><body name="b" pos=".5 0 0" euler=".3 0 .1">
  <joint name="j2" ref=".4"/><joint name="j3" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
    <site name="s" pos=".2 .1 .3" euler=".2 0 0"/></body></body>
  <body name="c" pos="0 .7 0"><joint name="j4" pos=".1 0 0"/><joint name="j5" axis="1 0 0" type="slide"/>
  <geom size=".1" pos=".1 0 0"/><site name="t" pos="0 .1 0"/>
  <site name="u" type="capsule" size=".1" fromto="0 0 0 .2 .4 .1"/></body></worldbody>
  <equality>{}</equality></mujoco>"""
HELD = {
    '<connect body1="b" body2="c" anchor=".1 .2 .3"/>': "ball",
    '<connect name="closed" body1="b" anchor=".1 .2 .3"/>': "ball",
    '<connect site1="s" site2="t"/>': "ball",
    '<weld body1="b" body2="c"/>': "weld",
    '<weld body1="a" body2="c" relpose=".1 .2 .3 1 .1 .2 .3" anchor=".2 0 0"/>': "weld",
    '<weld site1="s" site2="t"/>': "weld",
    '<connect site1="u" site2="s"/>': "ball",
    '<weld site1="u" site2="s"/>': "weld",
    '<weld body1="b" body2="c" anchor=".1 .2 .3" torquescale="0"/>': "ball",
}


@pytest.mark.parametrize("text", HELD)
def test_what_holds_bodies_together_becomes_a_loop(text):
    """As closed as in MuJoCo at the pose written, and free to move the same ways there: equal null spaces."""
    text, kind = LOOP.format(text), HELD[text]
    robot, model = robot_of(text), mujoco.MjModel.from_xml_string(text)
    assert [loop.kind for loop in robot.description.loops] == [kind]
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rows = 3 if kind == "ball" else 6
    J = data.efc_J.reshape(-1, model.nv)[:rows]
    held = dl.Constrained(robot)
    A = held.jacobian(data.qpos)
    assert np.abs(held.residual(data.qpos)).max() < 1e-12 or "relpose" in text or "site1" in text
    if "relpose" not in text and "site1" not in text:  # these are open at that pose, and rows are written otherwise
        assert np.linalg.matrix_rank(np.vstack([J, A]), 1e-9) == np.linalg.matrix_rank(A, 1e-9)
        assert np.linalg.matrix_rank(J, 1e-9) == np.linalg.matrix_rank(A, 1e-9)
    if kind == "ball":
        size = held.residual(data.qpos)
        assert abs(np.linalg.norm(size[:3]) - np.linalg.norm(data.efc_pos[:3])) < 1e-12


def test_a_weld_as_it_is_measured():
    """Position and angle by which a given relative pose is missed, in MuJoCo and here."""
    text = LOOP.format('<weld body1="a" body2="c" relpose=".1 .2 .3 1 .1 .2 .3"/>')
    (loop,) = robot_of(text).model.loops
    model = mujoco.MjModel.from_xml_string(text)
    assert error(np.array(loop.first.pose.p), model.eq_data[0, 3:6]) < ROUNDING
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.eq_data[0, 6:10])
    assert error(np.array(loop.first.pose.R), R.reshape(3, 3)) < ROUNDING
    for tiny in ("0", "1e-200"):  # no rotation at all: as the model is written
        text = LOOP.format(f'<weld body1="a" body2="c" relpose=".1 .2 .3 {tiny} 0 0 0"/>')
        assert np.abs(dl.Constrained(robot_of(text)).residual([0, 0.4, 0, 0, 0])).max() < 1e-12


def test_what_cannot_hold_is_left_out():
    still = LOOP.format('<connect body1="b" site2="s" body2="b" anchor="0 0 0"/>')
    for inside, words in (
        ('<weld body1="d" body2="e"/>', "joins what never moves against each other"),
        ('<weld body1="m" body2="b"/>', "moved from outside (mocap), and is not carried"),
    ):
        others = '<body name="d"><geom size=".1"/></body><body name="e"/><body name="m" mocap="true"/></worldbody>'
        robot = robot_of(LOOP.format(inside).replace("</worldbody>", others))
        assert robot.loops == () and any(words in w for w in robot.warnings)
    with raises(dl.DescriptionError, "missing site1"):
        robot_of(still)


def test_attached_models_keep_their_own_settings(tmp_path):
    (tmp_path / "hands").mkdir()
    (tmp_path / "hands" / "hand.xml").write_text("""<mujoco model="hand"><compiler angle="radian" eulerseq="zyx"/>
      <default><joint axis="0 1 0" armature=".02"/>
        <default class="tip"><geom type="box" size=".1 .2 .3"/></default></default>
      <worldbody><geom size=".5"/><body name="palm" pos=".1 0 0" euler=".1 .2 .3" childclass="tip">
        <joint name="turn"/><geom/><body name="finger" pos="0 0 .2"><joint name="bend" range="-1 1" axis="1 0 0"/>
          <geom pos="0 0 .1"/>
          <site name="touch" pos="0 0 .3"/></body></body></worldbody>
      <equality><joint joint1="bend" joint2="turn" polycoef="0 2"/></equality></mujoco>""")
    (tmp_path / "arm.xml").write_text("""<mujoco model="arm"><compiler angle="degree"/>
      <default><geom density="500"/></default><asset><model name="hand" file="hands/hand.xml"/></asset>
      <worldbody><body name="upper"><joint name="turn" axis="1 0 0"/><geom type="sphere" size=".1" pos=".2 0 0"/>
        <frame pos="0 .5 0" euler="0 0 90"><attach model="hand" body="palm" prefix="left/"/></frame>
        <replicate count="2" offset="0 0 1"><attach model="hand" body="palm" prefix="right/"/></replicate>
        </body></worldbody></mujoco>""")
    robot = dl.load(tmp_path / "arm.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert sum(j.mimic is not None for j in robot.description.joints) == 3 == model.neq
    free = replace(robot.description, joints=tuple(replace(j, mimic=None) for j in robot.description.joints))
    compare(dl.Robot(free), model)
    wrong = (tmp_path / "arm.xml").read_text().replace('body="palm"', 'body="pulm"')
    (tmp_path / "arm.xml").write_text(wrong)
    with raises(dl.DescriptionError, "unknown-name body"):
        dl.load(tmp_path / "arm.xml")


@pytest.mark.parametrize("given, called", [(' model="Arm"', "Arm"), ("", "MuJoCo Model")])
def test_a_model_without_a_name_has_the_one_in_its_file(given, called, tmp_path):
    body = '<body name="b" pos="0 0 .1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body>'
    (tmp_path / "part.xml").write_text(f"<mujoco{given}><worldbody>{body}</worldbody></mujoco>")
    file = tmp_path / "arm.xml"
    text = (
        '<mujoco><asset><model file="part.xml"/></asset><worldbody><body name="a"><joint name="j0"/><geom size=".1" '
        f'pos=".2 0 0"/><attach model="{called}" body="b" prefix="p/"/></body></worldbody></mujoco>'
    )
    file.write_text(text)
    compare(dl.load(file), mujoco.MjModel.from_xml_path(str(file)))
    file.write_text(text.replace(called, "other"))
    with raises(dl.DescriptionError, "unknown-name model"):
        dl.load(file)


def test_bodies_that_do_not_move_need_no_mass(tmp_path):
    still = '<body name="base"><geom type="mesh" mesh="gone"/><geom size=".1" rgba=""/>{}</body>'
    text = '<mujoco><asset><mesh name="gone" file="gone.stl"/></asset><worldbody>{}</worldbody></mujoco>'
    moving = '<body name="a"><joint name="j"/><geom size=".1" pos=".1 0 0"/></body>'
    (tmp_path / "arm.xml").write_text(text.format(still.format(moving)))
    with pytest.warns(dl.ModelWarning, match="it does not move, and is taken without mass"):
        robot = dl.load(tmp_path / "arm.xml")
    assert robot.n == 1 and any("it has no color" in w for w in robot.warnings)
    with raises(dl.DescriptionError, "missing inertial"):
        dl.load(tmp_path / "arm.xml", strict=True)
    (tmp_path / "arm.xml").write_text(text.format(still.format("<joint/>")))
    with raises(dl.DescriptionError, "missing inertial"):
        dl.load(tmp_path / "arm.xml")


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
        "1 geom (plane, ellipsoid, hfield, sdf, or of a mesh without a file) is not drawn",
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
    BODY.format("", '<joint name="f" type="free" armature="1"/>', ""): "unsupported allow",
    BODY.format("", "<freejoint/><joint name='j'/>", ""): "wrong-structure joint",
    BODY.format("", "<body name='b'><freejoint name='f'/></body>", ""): "wrong-structure joint",
    BODY.format("", '<joint type="ball" stiffness="2"/>', ""): "unsupported allow",
    BODY.format("", '<joint type="hing"/>', ""): "unknown-name type",
    BODY.format("", '<joint axis="0 0 0"/>', ""): "out-of-range axis",
    BODY.format("", '<joint range="20 10"/>', ""): "wrong-order range",
    BODY.format("", '<joint range="0 inf"/>', ""): "syntax range",
    BODY.format("", '<joint class="armm"/>', ""): "unknown-name class",
    BODY.format("", '<joint springdamper=".1 1"/>', ""): "unsupported allow",
    BODY.format('<compiler autolimits="false"/>', '<joint range="0 1"/>', ""): "conflict limited",
    BODY.format('<compiler eulerseq="xyw"/>', "", ""): "wrong-value eulerseq",
    BODY.format('<compiler angle="grad"/>', "", ""): "unknown-name angle",
    BODY.format('<compiler coordinate="global"/>', "", ""): "unsupported coordinate",
    BODY.format("", '<geom type="box" size=".1 .1"/>', ""): "wrong-shape size",
    BODY.format("", '<geom type="box" size=".1 .1 -1"/>', ""): "out-of-range size",
    BODY.format("", '<geom type="bax" size=".1"/>', ""): "unknown-name type",
    BODY.format("", '<geom type="mesh" mesh="m"/>', ""): "unknown-name mesh",
    BODY.format("", '<geom type="capsule" size=".1" fromto="0 0 0 0 0 0"/>', ""): "wrong-value fromto",
    BODY.format("", '<geom type="box" size=".1" pos="1 0 0" fromto="0 0 0 1 0 0"/>', ""): "conflict fromto",
    BODY.format("", '<site name="s" fromto="0 0 0 1 0 0"/>', ""): "conflict fromto",
    BODY.format("", '<joint/><geom size=".1" mass="-1"/>', ""): "out-of-range mass",
    BODY.format("", '<joint/><geom size="1e200"/>', ""): "out-of-range size",
    BODY.format("", '<joint/><geom size=".1" density="1e300"/>', ""): "out-of-range",
    BODY.format("", '<joint/><geom size=".1" shellinertia="true"/>', ""): "unsupported shellinertia",
    BODY.format("", '<geom size=".1" quat="0 0 0 0"/>', ""): "out-of-range quat",
    BODY.format("", '<geom size=".1" euler="0 0 0" zaxis="1 0 0"/>', ""): "conflict zaxis",
    BODY.format("", '<body name="a"/>', ""): "duplicate body",
    BODY.format("", "<replicate count='0'/>", ""): "out-of-range count",
    BODY.format("", "<replicate count='1e9'/>", ""): "out-of-range count",
    BODY.format("", "<attach model='m'/>", ""): "unknown-name model",
    BODY.format('<include file="x.xml"/>', "", ""): "not-readable file",
    BODY.format("", "", '<equality><joint joint1="x" joint2="y"/></equality>'): "unknown-name joint",
    "<mujoco/>": "missing worldbody",
    "<mujoco><worldbody><joint/></worldbody></mujoco>": "wrong-structure joint",
    "<robott/>": "not-readable file",
    "<mujoco><default><default/></default><worldbody/></mujoco>": "missing class",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals_name_line_and_remedy(text):
    with pytest.raises(dl.DescriptionError) as refusal:
        robot_of(text)
    assert fields_of(refusal.value) == REFUSED[text]
    assert str(refusal.value).startswith("<text>:1:")


def test_includes_stay_near_and_are_read_once(tmp_path):
    file = tmp_path / "arm.xml"
    for name, words in (
        ("../../../../x.xml", "not-readable file"),
        ("gone.xml", "not-readable file"),
        ("self.xml", "duplicate file"),
    ):
        file.write_text(f'<mujoco><worldbody><include file="{name}"/></worldbody></mujoco>')
        (tmp_path / "self.xml").write_text('<mujocoinclude><include file="self.xml"/></mujocoinclude>')
        with pytest.raises(dl.DescriptionError, match="arm.xml:1:|self.xml:1:") as refusal:
            dl.load(file)
        assert fields_of(refusal.value) == words


def test_a_mesh_that_is_not_there_asks_for_an_inertial(tmp_path):
    file = Path(tmp_path / "arm.xml")
    file.write_text(
        '<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody><body name="a"><joint/>{}'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'.format("")
    )
    with raises(dl.DescriptionError, "missing inertial"):
        dl.load(file)
    own = '<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    file.write_text(file.read_text().replace("<joint/>", own))
    robot = dl.load(file)
    assert robot.mass == 1.0 and len(robot.description.links[-1].visuals) == 1


def test_misspelt_attributes_are_told():
    text = """<mujoco><default><geom denisty="5"/></default><worldbody><body name="b"><joint axes="0 1 0" user="1"/>
      <geom size=".1"/></body></worldbody></mujoco>"""
    told = [w.split(": ", 1)[1] for w in read_mjcf(text).warnings]
    assert [w.split(", which is no")[0] for w in told] == ["<geom> has 'denisty'", "<joint> has 'axes'"]


def test_what_is_refused_says_what_to_do(tmp_path):
    for name, text, words in (
        ("part", "<mujocoinclude/>", "not-readable file"),
        ("far", '<mujoco><include file="../../../../a.xml"/></mujoco>', "not-readable file"),
        (
            "mesh",
            """<mujoco><asset><mesh name="m" file="../m.stl"/></asset><worldbody><body><joint/>
         <geom type="mesh" mesh="m"/></body></worldbody></mujoco>""",
            "missing inertial",
        ),
        (
            "motor",
            """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
         <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
         <actuator><motor tendon="t" armature="1"/></actuator></mujoco>""",
            "unsupported allow",
        ),
    ):
        (tmp_path / f"{name}.xml").write_text(text)
        with raises(dl.DescriptionError, words):
            dl.load(tmp_path / f"{name}.xml")


def test_links_between_the_joints_of_one_body_are_not_called_massless():
    text = """<mujoco><worldbody><body name="b"><joint name="x" type="slide" axis="1 0 0"/><joint name="y"/>
      <geom size=".1"/></body></worldbody></mujoco>"""
    assert dl.Robot(read_mjcf(text)).warnings == ()


def test_vertices_past_single_precision_are_refused_without_a_warning_of_numpys():
    asset = '<asset><mesh name="m" vertex="0 0 0 1e39 0 0 0 1 0 0 0 1"/></asset>'
    body = hung('type="mesh" mesh="m"')
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with raises(dl.DescriptionError, "missing inertial"):
            read_mjcf(f"<mujoco>{asset}{body}</mujoco>")


def test_a_keyframe_says_where_free_bodies_start():
    """In MuJoCo's order, quaternions of any length with w first; followers are left out."""
    text = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/></body>
      <body name="t" pos="1 2 3"><freejoint name="root"/><geom size=".1"/>
        <body name="b"><joint name="socket" type="ball"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody>
      <keyframe><key name="rest" qpos="1 0 0 0 1 0 0 0 1 0 0 0"/>
        <key name="home" qpos=".5 .1 .2 .3 0 2 0 0 .6 0 .8 0"/></keyframe></mujoco>"""
    robot = robot_of(text)
    assert robot.home.tolist() == [0.5, 0.1, 0.2, 0.3, 1, 0, 0, 0, 0, 0.8, 0, 0.6]
    none = robot_of(text.replace("0 2 0 0", "0 0 0 0"))  # no rotation in MuJoCo (pal_tiago of Menagerie has it)
    assert none.home.tolist() == [0.5, 0.1, 0.2, 0.3, 0, 0, 0, 1, 0, 0.8, 0, 0.6]
    short = robot_of(text.replace('qpos=".5 .1', 'qpos=".5'))
    assert short.home.tolist() == [0, 1, 2, 3, 0, 0, 0, 1, 0, 0, 0, 1]
    assert any("keyframe 'home'" in w and w.endswith("bodies start as written") for w in short.warnings), short.warnings


def test_what_free_and_ball_joints_lose_is_said():
    text = """<mujoco><compiler alignfree="true"/><worldbody>
      <body name="t"><freejoint name="root"/><geom size=".1"/></body>
      <body name="u"><joint name="free" type="free" frictionloss=".1" armature=".2"/><geom size=".1"/></body>
      <body name="b"><joint name="socket" type="ball" range="0 30"/><geom size=".1" pos=".1 0 0"/></body>
      </worldbody></mujoco>"""
    d = read_mjcf(text, allow=["armature"])
    said = "\n".join(d.warnings)
    for words in (
        "joint 'root' asks for axes of inertia (align); it keeps the body's own frame instead",
        "joint 'free' is free and has frictionloss, here along the body's axes, not the world's",
        "joint 'free' is free and has armature, inertia without weight, which no free body has; it is left out",
        "joint 'socket' is a ball joint with a range; its limit is not carried",
    ):
        assert words in said, said
    assert {j.name: j.drive.rotor_inertia for j in d.joints if j.several} == {"root": 0, "free": 0, "socket": 0}
