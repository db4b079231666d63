"""Robots on free bases, and with balls, in the applications: what is written is opened; what needs a vector says so."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.studio.load import Payload, holding
from dalembert.apps.studio.run import Live, Pull
from dalembert.control.registry import is_unsupported
from dalembert.interchange.world import Track, World
from free_arm import free_arm

ROBOTS = {kind: free_arm(kind) for kind in ("floating", "planar")}
BALL = """<mujoco model="ball"><worldbody><body name="upper" pos="0 0 1"><joint type="ball" name="shoulder"/>
<geom type="capsule" size="0.03" fromto="0 0 0 0.1 0 -0.4"/><body name="lower" pos="0.1 0 -0.4">
<joint type="hinge" name="elbow" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3"/>
</body></body></worldbody></mujoco>"""


@pytest.fixture(params=["floating", "planar", "ball"])
def robot(request, tmp_path):
    if request.param != "ball":
        return ROBOTS[request.param]
    (tmp_path / "ball.xml").write_text(BALL)
    return dl.load(tmp_path / "ball.xml")


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script[^>]*id="live-data"[^>]*>(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize(
    "call",
    [
        lambda robot: dl.control.ComputedTorque.for_bandwidth(robot, 10.0),
        lambda robot: robot.equations("none").derivation(),
        lambda robot: robot.bounds(),
        lambda robot: robot.workspace(),
        lambda robot: dl.properties.lab(robot),
    ],
    ids=["computed torque", "derivation", "bounds", "workspace", "properties"],
)
def test_what_needs_a_vector_refuses(kind, call):
    with pytest.raises(dl.InputError, match=f"has the {kind} joint 'root'"):
        call(ROBOTS[kind])


def test_it_is_drawn(robot):
    assert dl.draw.robot(robot).axes


# ------------------------------------------------------------------------------------------------------------- report
def test_a_report_has_what_makes_sense_and_sentences_elsewhere(robot, tmp_path):
    found = dl.write_report(robot, tmp_path / "report.html", quick=True)
    states = {s.name: s.state for s in found.sections}
    closed = ["equations"] if robot.nq == 5 and robot.nv == 5 else []  # the planar base's are short enough
    shapes = ["clearance"] if robot.name == "ball" else []  # the others have none
    wanted = ["robot", "frames", *closed, "verification", "task", *shapes, "findings"]
    assert [name for name, state in states.items() if state == "ok"] == wanted
    assert not found.failed and {s.verdict for s in found.sections if s.state == "absent"} == {"does not apply"}
    verdicts = {s.name: s for s in found.sections}
    assert "comparisons agree" in verdicts["verification"].verdict and verdicts["verification"].kind == "good"
    kept = "momentum kept to" if is_unsupported(robot) else "energy kept to"
    assert kept in verdicts["task"].verdict and verdicts["task"].kind == "good"
    text = found.path.read_text()
    free = next(c for c in robot.model.coordinates if not c.joint.driven)
    assert f"{free.name!r} is {free.joint.kind}" in text.replace("&#39;", "'")
    assert f"{robot.nq} positions, {robot.nv} velocities" in text
    live = data_of(text)
    assert len(live["log"]["q"][0]) == robot.nq and live["physics"]["gravity"] == (
        0.0 if is_unsupported(robot) else 1.0
    )


# ------------------------------------------------------------------------------------------------------------- studio
def test_a_studio_simulates_it(robot):
    """The same steps as `simulate`; a band pulls at what no drive moves; without gravity it floats."""
    frame, q0 = robot.tip or robot.frames[-1], robot.integrate(robot.home, 0.1 * np.ones(robot.nv))
    live = Live(robot, "PD", q0, frame, omega=8.0, gravity=False)
    live.advance(0.2)
    weightless = robot.with_gravity((0.0, 0.0, 0.0))
    drives = [c.position for c in robot.model.drives]
    law = dl.control.PD.for_bandwidth(weightless, 8.0)
    run = dl.simulate(weightless, law, q0=q0, reference=q0[drives], duration=0.2)
    assert np.abs(robot.difference(live.q, run.q[-1])).max() < 1e-10 and not live.stopped
    body = robot.bodies[0]
    pull = Pull(body, np.array([0.0, 0.0, -0.1]), 50.0)
    pull.end = pull.at(robot, live.q) + np.array([0.2, 0.1, 0.0])
    before = live.q.copy()
    live.advance(0.2, pull)
    free = ~robot.driven
    assert np.abs(robot.difference(before, live.q)[free]).max() > 1e-3
    assert set(live.table()) >= {"t", *robot.states, *law.law().outputs, "kinetic_energy"}
    names, tau = holding(robot, q0, Payload(), frame)
    assert list(names) == [c.name for c in robot.model.drives]
    assert np.abs(tau - robot.gravity_torque(q0)[robot.driven]).max() < 1e-12


def test_a_studio_opens_it(robot):
    pytest.importorskip("viser")
    with dl.studio.Studio(robot, port=0, plain=True) as studio:
        q = robot.integrate(robot.home, 0.1 * np.ones(robot.nv))
        studio.move(q)
        state = studio.state()
        assert np.abs(studio.q - q).max() < 1e-15 and list(state["q"]) == list(robot.model.names("position"))
        units = [unit for c in robot.model.coordinates for unit in c.joint.position_units or c.joint.units]
        assert list(studio.pose.sliders) == [k for k, unit in enumerate(units) if unit]
        with pytest.raises(dl.InputError, match="q has shape"):
            studio.move(np.zeros(robot.nq + 1))


# ---------------------------------------------------------------------------------------------------------------- gym
@pytest.mark.parametrize("actions", ["velocity", "compensated", "torque"])
def test_worlds_act_on_drives(robot, actions):
    n = len(robot.model.drives)
    world = World(robot, 3, torque_limits=5.0, actions=actions, at_limits="pass")
    for k in range(3):
        world.place(k, np.random.default_rng(k), {})
    start = world.x.copy()
    s = world.now()
    free = [k for k in range(robot.nq) if k not in [c.position for c in robot.model.drives]]
    assert np.array_equal(start[0, free], robot.home[free]) and np.ptp(start[:, : robot.nq], axis=0).max() > 0.1
    a = np.random.default_rng(5).uniform(-1, 1, (3, n))
    s, lost, _ = world.advance(a)
    assert s.q.shape == (3, robot.nq) and s.qd.shape == (3, robot.nv) and s.torque.shape == (3, n) and not lost.any()
    tau = np.zeros(robot.nv)
    tau[robot.driven] = s.torque[1]
    run = dl.simulate(
        robot,
        q0=start[1, : robot.nq],
        qd0=start[1, robot.nq :],
        inputs=dl.Inputs(tau=tau),
        duration=0.04,
        dt=0.002,
        friction=True,
    )
    assert np.abs(run.q[-1] - s.q[1]).max() < 1e-12 and np.abs(run.qd[-1] - s.qd[1]).max() < 1e-11
    assert np.isfinite(world.observe(s)).all()


def test_a_velocity_that_is_asked_for_is_taken_up_while_the_base_gives_way():
    robot = ROBOTS["floating"]
    world = World(robot, 1, torque_limits=1e6, at_limits="pass", step=0.02, duration=1.0)
    world.place(0, np.random.default_rng(0), {"q": robot.home})
    for _ in range(25):
        s, *_ = world.advance(np.array([[0.3, -0.2]]))
    assert np.abs(s.qd[0, -2:] - 3.0 * np.array([0.3, -0.2])).max() < 0.05
    assert s.q[0, 2] < -0.5  # it falls meanwhile


def test_worlds_say_what_they_cannot(tmp_path):
    brick = '<mujoco model="brick"><worldbody><body name="b"><freejoint name="fly"/><geom type="box" size=".1 .2 .3"/>'
    (tmp_path / "brick.xml").write_text(f"{brick}</body></worldbody></mujoco>")
    with pytest.raises(dl.InputError, match="'brick' has no joint that a drive moves: there is nothing to act on"):
        World(dl.load(tmp_path / "brick.xml"))
    world = World(ROBOTS["floating"], torque_limits=10.0)
    with pytest.raises(dl.InputError, match="the quaternion of joint 'root' in option 'q' of reset"):
        world.place(0, np.random.default_rng(0), {"q": np.ones(9)})
    with pytest.raises(dl.InputError, match="Track follows a motion of the 2 joints"):
        World(ROBOTS["planar"], task=Track(np.zeros(5)), torque_limits=10.0)


# ---------------------------------------------------------------------------------------------------------------- page
def test_a_page_knows_its_positions(robot, tmp_path):
    q = robot.integrate(robot.home, 0.2 * np.ones(robot.nv))
    page = dl.write_page(robot, tmp_path / "page.html", q=q, controllers=["pd", "none"])
    live = data_of(page.path.read_text())
    assert page.controllers == ("pd", "none") and np.abs(np.array(live["scene"]["start"]) - q).max() < 1e-9
    assert [c["name"] for c in live["scene"]["coordinates"]] == list(robot.model.names("position"))
    assert live["scene"]["rates"] == robot.nv and live["scene"]["quaternions"] == list(robot.model.quaternions)
    if robot.model.quaternions:
        with pytest.raises(dl.InputError, match="the quaternion of joint"):
            dl.write_page(robot, tmp_path / "no.html", q=np.ones(robot.nq))
        assert not (tmp_path / "no.html").exists()
