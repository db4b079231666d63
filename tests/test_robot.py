"""Robots made of others, positions by name, the card, saving and showing: what `Robot` adds to its description."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dalembert as dl
from dalembert.display import Displayed
from dalembert.planning import Plan
from tolerances import ROUNDING, error

ARM, PANDA = dl.load("planar-3r"), dl.load("panda")
Q = np.array([0.3, -0.5, 0.7])


# --------------------------------------------------------------------------------------------------------- frames
def test_a_frame_is_where_its_pose_says():
    T = dl.pose([0.1, -0.2, 0.3], rpy=[0.3, -0.4, 0.5])
    tool = PANDA.with_frame("tcp", T)
    q = PANDA.home + 0.1
    assert tool.tip == PANDA.tip and tool.frames == (*PANDA.frames, "tcp")
    assert error(tool.fk(q, "tcp"), PANDA.fk(q) @ T) < ROUNDING
    assert error(tool.with_tip("tcp").fk(q), PANDA.fk(q) @ T) < ROUNDING
    elbow = PANDA.with_frame("camera", T, parent="panda_link4")
    assert error(elbow.fk(q, "camera"), PANDA.fk(q, "panda_link4") @ T) < ROUNDING
    assert np.array_equal(tool.mass_matrix(q), PANDA.mass_matrix(q))
    assert np.array_equal(PANDA.with_frame("same").fk(q, "same"), PANDA.fk(q))
    assert PANDA.with_frame("a").with_frame("b", T, parent="a").fk(q, "b") == pytest.approx(PANDA.fk(q) @ T)


def test_a_frame_with_roll_pitch_yaw_at_the_singularity():
    T = dl.pose([0, 0, 0.1], rpy=[0.4, np.pi / 2, 0.0])
    assert error(ARM.with_frame("tcp", T).fk(Q, "tcp"), ARM.fk(Q) @ T) < 1e-9


# --------------------------------------------------------------------------------------------------------- lock
def test_locked_joints_are_gone_and_the_rest_moves_as_before():
    positions = {"panda_joint3": 0.4, "panda_joint5": -0.2}
    fixed, q = PANDA.lock(positions), PANDA.configuration(positions)
    keep = [k for k, name in enumerate(PANDA.joint_names) if name not in positions]
    assert fixed.joint_names == tuple(PANDA.joint_names[k] for k in keep) and fixed.tip == PANDA.tip
    assert error(fixed.fk(q[keep]), PANDA.fk(q)) < ROUNDING
    assert error(fixed.mass_matrix(q[keep]), PANDA.mass_matrix(q)[np.ix_(keep, keep)]) < 10 * ROUNDING
    assert np.array_equal(PANDA.lock({}).fk(q), PANDA.fk(q))


def test_all_joints_may_be_locked():
    still = ARM.lock(dict(zip(ARM.joint_names, Q, strict=True)))
    assert still.n == 0 and error(still.fk([]), ARM.fk(Q)) < ROUNDING


# --------------------------------------------------------------------------------------------------------- by name
def test_positions_by_name():
    q = PANDA.configuration({"panda_joint2": 0.3, "panda_joint7": -1.0})
    changed = np.flatnonzero(q != PANDA.home)
    assert changed.tolist() == [1, 6] and q[[1, 6]].tolist() == [0.3, -1.0]
    assert np.array_equal(PANDA.configuration(), PANDA.home)
    floating = dl.load("panda", base="floating")
    assert floating.configuration({"root_x": 2.0, "panda_joint1": 0.5})[[0, 7]].tolist() == [2.0, 0.5]


# --------------------------------------------------------------------------------------------------------- wrong input
NAN, TOO_FEW = float("nan"), np.eye(3)
WRONG = {
    "frame name taken": (lambda: PANDA.with_frame("panda_link3"), "duplicate", "name"),
    "frame without a name": (lambda: PANDA.with_frame(""), "wrong-type", "name"),
    "frame named 3": (lambda: PANDA.with_frame(3), "wrong-type", "name"),
    "pose of shape (3, 3)": (lambda: PANDA.with_frame("tcp", TOO_FEW), "wrong-shape", "T"),
    "pose with NaN": (lambda: PANDA.with_frame("tcp", np.full((4, 4), NAN)), "not-finite", "T"),
    "pose that is none": (lambda: PANDA.with_frame("tcp", 2 * np.eye(4)), None, "T"),
    "unknown parent": (lambda: PANDA.with_frame("tcp", parent="flange"), "unknown-name", None),
    "unknown tip": (lambda: PANDA.with_tip("flange"), "unknown-name", None),
    "lock of an unknown joint": (lambda: PANDA.lock({"joint9": 0.0}), "unknown-name", "positions"),
    "lock at NaN": (lambda: PANDA.lock({"panda_joint1": NAN}), "not-finite", "positions['panda_joint1']"),
    "lock at text": (lambda: PANDA.lock({"panda_joint1": "up"}), "wrong-type", "positions['panda_joint1']"),
    "lock of a list": (lambda: PANDA.lock(["panda_joint1"]), "wrong-type", "positions"),
    "configuration of an unknown joint": (lambda: PANDA.configuration({"jont1": 0.0}), "unknown-name", "positions"),
    "configuration of a list": (lambda: PANDA.configuration([0.0]), "wrong-type", "positions"),
    "configuration at NaN": (
        lambda: PANDA.configuration({"panda_joint1": NAN}),
        "not-finite",
        "positions['panda_joint1']",
    ),
    "configuration of two numbers": (
        lambda: PANDA.configuration({"panda_joint1": [0.0, 1.0]}),
        "wrong-shape",
        "positions['panda_joint1']",
    ),
    "payload of NaN": (lambda: PANDA.with_payload(NAN), "not-finite", "mass"),
    "payload with a short center": (lambda: PANDA.with_payload(1.0, com=[0, 0]), "wrong-shape", "com"),
    "payload at an unknown frame": (lambda: PANDA.with_payload(1.0, frame="flange"), "unknown-name", None),
    "saved as a picture": (lambda: PANDA.save("panda.png"), "unsupported", "path"),
    "shown in a short posture": (lambda: PANDA.show([0.0]), "wrong-shape", "q"),
    "shown at NaN": (lambda: PANDA.show([NAN] * 7), "not-finite", "q"),
    "scene saved as a URDF": (lambda: ARM.show(Q).save("arm.urdf"), "unsupported", "path"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    call, code, argument = WRONG[name]
    with pytest.raises(dl.DalembertError) as caught:
        call()
    assert caught.value.argument == argument or argument is None
    assert caught.value.code == code or code is None


# --------------------------------------------------------------------------------------------------------- card
def test_the_card_has_a_line_per_joint():
    head, *lines = str(PANDA).splitlines()
    assert head.startswith("'panda': 7 joints") and "tip 'panda_link8'" in head and f"{PANDA.total_mass:.4g} kg" in head
    assert [line.split()[0] for line in lines] == ["joint", *PANDA.joint_names]
    assert "87 N m" in lines[1] and "2.175 rad/s" in lines[1] and "revolute" in lines[1]
    assert repr(PANDA) == "<Robot 'panda': 7 joints, 9 frames>"
    rail = str(dl.load("rp")).splitlines()
    assert any("prismatic" in line and " m " in line for line in rail)
    assert "∞" in str(ARM) and "inf" not in str(ARM)
    assert "floating" in str(dl.load("panda", base="floating"))


# --------------------------------------------------------------------------------------------------------- scene
def test_a_scene_is_saved_as_a_page_or_a_picture(tmp_path):
    scene = ARM.show(Q)
    assert np.array_equal(scene.q, Q) and "planar-3r" in repr(scene) and not isinstance(scene, Displayed)
    picture = scene.save(tmp_path / "arm.svg")
    assert picture.read_bytes().startswith(b"<svg")
    assert ARM.show(Q + 0.5).save(tmp_path / "other.svg").read_bytes() != picture.read_bytes()
    assert b"<!doctype html" in scene.save(tmp_path / "arm.html").read_bytes()[:40].lower()
    assert ARM.show().q.shape == (3,)


def test_a_scene_is_shown_in_a_notebook():
    shown = ARM.show(Q)._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert any(key.startswith(("text/html", "application/vnd.jupyter.widget-view")) for key in data)


# --------------------------------------------------------------------------------------------------------- plan
def test_plan_has_a_typed_signature():
    signature = inspect.signature(dl.Robot.plan)
    assert signature.return_annotation == Plan.__name__
    assert all(p.annotation is not p.empty and "Any" not in str(p.annotation) for p in signature.parameters.values())


def test_changes_return_another_robot():
    before = PANDA.description
    PANDA.lock({"panda_joint1": 0.0}), PANDA.with_frame("x"), PANDA.with_tip("panda_link3"), PANDA.with_payload(1.0)
    assert PANDA.description is before and PANDA.n == 7
