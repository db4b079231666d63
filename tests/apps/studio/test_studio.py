"""The studio without a browser: what panels ask for, exports, robots of every kind, and the command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.apps.studio.load import Payload
from dalembert.draw.scene import corners_of

pytest.importorskip("viser", reason="the extra [studio] is not installed")


@pytest.fixture(scope="module")
def studio():
    with dl.studio.Studio(dl.load("planar-2r"), port=0) as made:
        yield made


def somebody(handle, value) -> None:
    """What viser does when a page changes an input."""
    handle._impl.value = value
    for callback in handle._impl.update_cb:
        callback(SimpleNamespace(client_id=0, client=None, target=handle))


def test_a_slider_a_payload_and_the_state(studio):
    somebody(studio.pose.sliders[0], 30.0)
    assert studio.q[0] == pytest.approx(np.radians(30.0))
    studio.worker.call(lambda: studio.carry(Payload(0.5)))
    state = json.loads(studio.export.state())
    assert state["payload"]["mass"] == 0.5 and state["mode"] == "pose"
    arm = dl.load("planar-2r").with_payload(0.5)
    assert np.allclose(list(state["holding_torques"].values()), arm.gravity_torque(studio.q))
    assert np.allclose(state["tip"]["pose"], arm.fk(studio.q, "tool"))
    studio.worker.call(lambda: studio.carry(Payload()))


def test_what_the_studio_sets_itself_is_no_event(studio):
    studio.move([0.2, 0.7])
    assert studio.pose.sliders[1].value == pytest.approx(40.1, abs=0.06)  # rounded for people
    assert np.array_equal(studio.q, [0.2, 0.7])  # the posture is not


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None, [1]])
def test_nonsense_from_a_page_changes_nothing(studio, value):
    before = studio.q
    somebody(studio.pose.sliders[0], value)
    assert np.array_equal(studio.q, before)
    studio.pose.sliders[0]._impl.value = 0.0
    studio.worker.call(studio.refresh)


@pytest.mark.parametrize("name", ["scara", "panda", "stanford", "cartesian-pp", "stewart"])
def test_the_whole_robot_is_in_the_picture(name):
    with dl.studio.Studio(dl.load(name), port=0, plain=True) as made:
        camera, scene = made.server.initial_camera, made.scene
        forward = np.array(camera.look_at) - np.array(camera.position)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, camera.up)
        right /= np.linalg.norm(right)
        x = corners_of(scene.robot, scene.look.parts, made.q) - np.array(camera.position)
        edge = np.tan(camera.fov / 2) * (x @ forward)  # of the picture, above and below
        assert (np.abs(x @ np.cross(right, forward)) < edge).all()
        assert (np.abs(x @ right) < 0.8 * edge).all()  # also on a page as wide as 1280 less two columns


def test_a_sliding_link_without_shapes_is_joined_to_its_carrier():
    arm = dl.Robot.from_dh([dict(d=0.4, alpha=np.pi / 2), dict(d=0.2, kind="prismatic")])
    with dl.studio.Studio(arm, port=0, plain=True) as made:
        ((rail, _),) = made.scene.rails
        for travel in (0.3, -0.5):
            q = np.array([0.7, travel])
            made.scene.show(q)
            T = arm.fk(q, "link2")
            assert rail.height == pytest.approx(abs(travel))
            assert np.allclose(rail.position, T[:3, 3] - T[:3, 2] * travel / 2)


def test_a_scara_is_offered_the_one_ring_that_it_can_turn():
    with dl.studio.Studio(dl.load("scara"), port=0, plain=True) as made:
        assert made.pose.gizmo.disable_rotations and made.pose.gizmo.active_axes == (True, True, True)
        rings = made.pose.rings
        assert rings.visible and rings.disable_axes and rings.active_axes == (True, True, False)
        assert made.pose.gizmo.visible
        somebody(made.pose.frame, "base")
        assert made.q is not None  # the worker has come to it
        assert not made.pose.gizmo.visible and not rings.visible


def test_what_touches_is_red_and_named():
    arm = dl.load("iiwa7")
    q = np.array([-2.31, 2.06, -2.84, 2.06, -1.21, -0.16, 0.28])
    with dl.studio.Studio(arm, port=0, plain=True, q=q) as made:
        colors = [node.color for node in made.scene.shapes]
        somebody(made.pose.contacts, True)
        made.worker.call(made.refresh)
        bodies = {arm.model.frame(x).body for c in arm.contacts(q) for x in (c.first, c.second)}
        red = [part.body in bodies for part in made.scene.look.parts]
        assert any(red) and not all(red) and "touching: iiwa_link_0 and iiwa_link_6" in made.pose.where.content
        assert [node.color == (226, 30, 30) for node in made.scene.shapes] == red
        made.move(arm.home)
        assert [node.color for node in made.scene.shapes] == colors and "touching" not in made.pose.where.content


def test_singular_postures_are_warned_of(studio):
    studio.move([0.3, 0.0])
    assert "singular (elbow)" in studio.top.content
    assert any("singular" in text for text in json.loads(studio.export.state())["warnings"])
    studio.move([0.3, 1.0])
    assert "regular" in studio.top.content


def test_simulation_by_its_buttons(studio):
    studio.move([0.3, 1.0])
    with pytest.raises(dl.InputError, match="there is no simulation to export: start one first"):
        studio.export.run()
    studio.worker.call(studio.run.toggle)
    end = time.monotonic() + 30
    while studio.run.live.t < 0.2:
        assert time.monotonic() < end
        time.sleep(0.02)
    somebody(studio.run.controller, "computed torque")
    assert studio.worker.call(lambda: studio.run.live.name) == "computed torque"
    somebody(studio.run.omega, 12.0)
    assert studio.worker.call(lambda: studio.run.live.gains["kp_joint1"]) == pytest.approx(144.0)
    somebody(studio.run.gains["kd_joint2"], 9.0)
    assert studio.worker.call(lambda: studio.run.live.gains["kd_joint2"]) == 9.0
    somebody(studio.run.motion, "sines")
    assert studio.worker.call(lambda: studio.run.live.motion) is not None
    rows = studio.export.run().decode().splitlines()
    while len(rows) < 3:
        assert time.monotonic() < end
        rows = studio.export.run().decode().splitlines()
    assert rows[0].startswith("t,joint1,joint2,joint1_rate")
    studio.worker.call(studio.run.toggle)
    t = studio.run.live.t
    time.sleep(0.1)
    assert studio.run.live.t == t  # paused
    q = studio.run.live.q.copy()
    studio.worker.call(studio.run.stop)
    assert np.array_equal(studio.q, q) and studio.mode is None


def test_playback_by_its_buttons(studio, tmp_path):
    t = np.arange(0, 1.5, 0.002)
    q, qd, qdd = dl.trajectories.sines([[0.5, 0.0], [0.0, 0.4]], [1.0, 1.5], offset=[0.3, -0.4])(t)
    tau = studio.robot.inverse_dynamics(q, qd, qdd)
    head = "t,q_joint1,q_joint2,tau_joint1,tau_joint2"
    np.savetxt(tmp_path / "log.csv", np.column_stack([t, q, tau]), delimiter=",", header=head, comments="")
    studio.worker.call(lambda: studio.log.load(tmp_path / "log.csv"))
    assert "explained" in studio.log.table.content and "100.0 %" in studio.log.table.content
    somebody(studio.log.time, 0.5)
    assert np.allclose(studio.q, studio.log.log.at(0.5)) and studio.mode == "log"
    studio.log.speed.value = 4.0
    studio.worker.call(studio.log.toggle)
    end = time.monotonic() + 30
    while studio.log.playing:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert np.allclose(studio.q, studio.log.log.q[-1], atol=1e-9)
    with pytest.raises(dl.DalembertError, match="nothing.csv"):
        studio.worker.call(lambda: studio.log.load("nothing.csv"))


def test_the_scene_as_a_page_of_its_own(studio):
    page = studio.export.scene()
    assert page[:200].lower().lstrip().startswith(b"<!doctype html") and len(page) > 100_000


@pytest.mark.parametrize("name", ["four-bar", "delta", "rp", "scara"])
def test_robots_of_every_kind(name):
    with dl.studio.Studio(dl.load(name), port=0) as made:
        k = made.robot.n - 1
        turns = made.robot.model.coordinates[k].joint.turns
        aim = float(made.pose.sliders[k].value) + (2.0 if turns else 0.01)
        before = made.q
        somebody(made.pose.sliders[k], aim)
        assert np.abs(made.q - before).max() > 1e-3
        if made.robot.loops:
            assert np.abs(made.posture.system.residual(made.q)).max() < 1e-9


def test_a_robot_with_broken_meshes_is_shown(tmp_path):
    (tmp_path / "robot.urdf").write_text(
        '<robot name="broken"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<visual><geometry><mesh filename="missing.stl"/></geometry></visual></link>'
        '<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>'
        "</robot>"
    )
    with dl.studio.Studio(dl.load(tmp_path / "robot.urdf"), port=0) as made:
        assert "missing.stl" in made.top.content and made.scene.shapes


def test_wrong_uses():
    with pytest.raises(dl.InputError, match="a studio takes a Robot"):
        dl.studio.Studio("panda")
    arm = dl.load("planar-2r")
    with pytest.raises(dl.InputError, match=r"q has shape \(1,\); it must be \(2,\): one per joint"):
        dl.studio.Studio(arm, port=0, q=[1.0])
    with pytest.raises(dl.InputError, match="plain is a switch"):
        dl.studio.Studio(arm, port=0, plain="yes")


# ------------------------------------------------------------------------------------------------------- the command
def run(monkeypatch, *arguments: str, code: int = 0):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("dalembert.apps.cli.export.wait", interrupted)
    result = CliRunner().invoke(main, ["studio", *arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_command(monkeypatch):
    out = run(monkeypatch, "planar-2r", "--address", "127.0.0.1:0", "--no-browser", "--q0", "30deg,60deg").output
    assert "planar-2r is at http://127.0.0.1:" in out and "Ctrl-C ends it" in out and "closed" in out
    data = json.loads(run(monkeypatch, "planar-2r", "--address", "127.0.0.1:0", "--no-browser", "--json").stdout)
    assert data["robot"] == "planar-2r" and data["notes"] == []
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run(monkeypatch, "planar-2r", "--address", "127.0.0.1:0")
    assert len(opened) == 1 and opened[0].startswith("http://127.0.0.1:")
    said = run(monkeypatch, "planar-2r", "--address", "0.0.0.0:0", "--no-browser").output
    assert "every machine that reaches 0.0.0.0 can use this page" in said


def test_wrong_uses_of_the_command(monkeypatch, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        out = run(monkeypatch, "planar-2r", "--no-browser", "--address", f"127.0.0.1:{port}", code=1).output
        assert f"port {port} on 127.0.0.1 is taken by another program" in out
    assert "did you mean 'panda'?" in run(monkeypatch, "pandaa", "--no-browser", code=2).output
    assert "2 numbers are needed" in run(monkeypatch, "planar-2r", "--no-browser", "--q0", "1", code=2).output
    assert "70000" in run(monkeypatch, "planar-2r", "--address", "127.0.0.1:70000", code=2).output
    (tmp_path / "log.csv").write_text("nothing\n")
    run(
        monkeypatch, "planar-2r", "--address", "127.0.0.1:0", "--no-browser", "--log", str(tmp_path / "log.csv"), code=1
    )


# Whoever started the tests may ignore interrupts, and a program that is started inherits that.
HEARD = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal of POSIX")
def test_ctrl_c_closes_it():
    command = [
        sys.executable,
        "-m",
        "dalembert",
        "studio",
        "planar-2r",
        "--address",
        "127.0.0.1:0",
        "--no-browser",
        "--json",
    ]
    command = [sys.executable, "-c", HEARD, *command[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        url = json.loads(text)["url"]
        assert urllib.request.urlopen(url, timeout=30).status == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0 and err.strip().endswith("closed") and "Traceback" not in err
