"""The studio's pieces without a page: postures, loads, ellipsoids, shapes, simulation, logs, the worker."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.studio import messages
from dalembert.apps.studio.load import THIN, Payload, find_ellipsoid, holding, scale_axes
from dalembert.apps.studio.log import read_recording, read_upload
from dalembert.apps.studio.pose import Posture
from dalembert.apps.studio.run import PIECE, STEP, Live, Pull
from dalembert.apps.studio.worker import Worker
from dalembert.control.registry import suitable
from dalembert.describe.description import Mesh
from dalembert.draw import scene

CHAINS = ("four-bar", "five-bar", "delta", "stewart", "parallelogram-arm")


# ------------------------------------------------------------------------------------------------------------ postures
@pytest.mark.parametrize("name", dl.robots.names())
def test_every_bundled_robot_begins_inside_its_limits_and_closed(name):
    arm = dl.load(name)
    posture = Posture(arm)
    assert (posture.q >= arm.limits.lower).all() and (posture.q <= arm.limits.upper).all()
    lower, upper = posture.span
    assert np.isfinite(lower).all() and (upper > lower).all()
    if arm.loops:
        assert np.abs(posture.system.residual(posture.q)).max() < 1e-9
    else:
        assert messages.singularity(arm, posture.q, posture.frame, None)[0] in ("good", "near")  # not singular


def test_the_tip_is_put_where_it_is_dragged():
    posture = Posture(dl.load("panda"))
    T = posture.robot.fk(posture.q)
    T[:3, 3] += (0.05, -0.03, 0.02)
    assert posture.reach(T) == ""
    assert np.allclose(posture.robot.fk(posture.q), T, atol=1e-5)
    T[:3, 3] = (3.0, 0.0, 0.5)
    assert posture.reach(T).startswith("out of reach: the tip stays ")
    assert (posture.q <= posture.robot.limits.upper).all()


def test_the_tip_is_asked_for_what_the_arm_has_joints_for():
    assert Posture(dl.load("planar-2r")).rows() == (1, 1, 0, 0, 0, 0) and not Posture(dl.load("planar-2r")).turns
    assert Posture(dl.load("planar-3r")).rows() == (1, 1, 0, 0, 0, 1)
    assert Posture(dl.load("scara")).rows() == (1, 1, 1, 0, 0, 1)
    assert Posture(dl.load("scara")).rows(orientation=False) == (1, 1, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "along", "about"),
    [
        ("scara", "xyz", "z"),
        ("planar-2r", "xy", ""),
        ("planar-3r", "xy", "z"),
        ("panda", "xyz", "xyz"),
        ("four-bar", "xy", ""),
    ],
)
def test_axes_of_the_tip_that_can_be_dragged(name, along, about):
    posture = Posture(dl.load(name))
    found = posture.freedoms(posture.robot.fk(posture.q, posture.frame)[:3, :3])
    assert ["".join(a for a, free in zip("xyz", axes, strict=True) if free) for axes in found] == [along, about]


@pytest.mark.parametrize("name", CHAINS)
def test_a_closed_chain_follows_one_joint_and_stays_closed(name):
    posture = Posture(dl.load(name))
    joint = posture.robot.joint_names.index(posture.system.independent(posture.q)[0])
    before = posture.q.copy()
    assert posture.turn(joint, before[joint] + 0.04) == ""
    assert posture.q[joint] == pytest.approx(before[joint] + 0.04, abs=1e-12)
    assert np.abs(posture.system.residual(posture.q)).max() < 1e-9
    assert np.abs(posture.q - before).max() > 0.03


def test_a_crank_turned_half_round_stays_on_its_branch():
    posture = Posture(dl.load("four-bar"))
    assert posture.turn(0, posture.q[0] + np.pi) == ""
    assert posture.turn(0, posture.q[0] - np.pi) == ""
    assert np.allclose(posture.q, posture.robot.home, atol=1e-9)


def test_a_chain_that_cannot_close_there_stays_where_it_is():
    posture = Posture(dl.load("four-bar"))
    rocker = posture.robot.joint_names.index("rocker")  # it swings, and cannot turn round
    said = posture.turn(rocker, posture.q[rocker] + 3.0)
    assert said.startswith("the chain ") and np.abs(posture.system.residual(posture.q)).max() < 1e-9


@pytest.mark.parametrize("name", ["five-bar", "delta", "stewart", "parallelogram-arm"])
def test_the_tip_of_a_closed_chain_is_dragged(name):
    posture = Posture(dl.load(name))
    T = posture.robot.fk(posture.q, posture.frame)
    T[:2, 3] += (0.01, -0.015)
    assert posture.reach(T) == ""
    assert np.allclose(posture.robot.fk(posture.q, posture.frame)[:3, 3], T[:3, 3], atol=1e-5)
    assert np.abs(posture.system.residual(posture.q)).max() < 1e-9


def test_the_tip_of_a_chain_with_one_freedom_goes_where_it_can():
    posture = Posture(dl.load("four-bar"))
    before = posture.robot.fk(posture.q)
    T = before.copy()
    T[:2, 3] += (0.05, 0.02)
    assert posture.reach(T).startswith("out of reach: the tip stays ")
    assert np.abs(posture.system.residual(posture.q)).max() < 1e-9
    away, still = (np.linalg.norm(x[:3, 3] - T[:3, 3]) for x in (posture.robot.fk(posture.q), before))
    assert away < 0.9 * still


# ----------------------------------------------------------------------------------------------------- loads and words
def test_torques_that_hold_a_payload():
    arm, load = dl.load("panda"), Payload(2.0, (0.0, 0.05, 0.1))
    q = Posture(arm).q
    names, tau = holding(arm, q, load, "panda_link8")
    assert names == arm.joint_names
    assert np.allclose(tau, load.on(arm, "panda_link8").gravity_torque(q), atol=1e-12)
    text, weak = messages.torques(arm, names, 50 * tau)
    assert weak and "#c53030" in text


@pytest.mark.parametrize("name", ["delta", "stewart", "five-bar"])
def test_the_drives_of_a_closed_chain_hold_it_by_virtual_work(name):
    """τᵀ δq = δP + δP of the load, for displacements that the loops allow."""
    arm, load = dl.load(name), Payload(1.5)
    posture = Posture(arm)
    names, tau = holding(arm, posture.q, load, posture.frame, posture.system)
    A = posture.system.jacobian(posture.q)
    allowed = np.linalg.svd(A)[2][int(posture.system.rank(posture.q)) :]
    columns = [arm.joint_names.index(n) for n in names]
    J = arm.jacobian(posture.q, posture.frame)[:3]
    lifted = allowed @ (arm.gravity_torque(posture.q) - J.T @ (1.5 * arm.gravity))
    assert np.allclose(allowed[:, columns] @ tau, lifted, atol=1e-8)


def test_a_payload_is_a_mass():
    with pytest.raises(dl.InputError, match="the mass of the payload is -1.0"):
        Payload(-1.0)
    with pytest.raises(dl.InputError, match="finite"):
        Payload(float("nan"))


@pytest.mark.parametrize("name", ["ur5e", "puma560", "scara", "panda", "planar-2r"])
def test_few_states_are_near_a_singular_one(name):
    """Near is judged by what the arm reaches: σ_min/σ of many arms is small everywhere."""
    posture = Posture(dl.load(name))
    states = np.random.default_rng(1).uniform(*posture.span, (200, posture.robot.n))
    kinds = [messages.singularity(posture.robot, q, posture.frame, None)[0] for q in states]
    assert 0 < kinds.count("near") < 0.2 * len(kinds) and kinds.count("bad") == 0


def test_singular_states_are_told():
    arm = dl.load("planar-2r")
    kind, text = messages.singularity(arm, np.array([0.3, 0.0]), "tool", None)
    assert kind == "bad" and text.startswith("singular (elbow): no translation along")
    assert messages.singularity(arm, np.array([0.3, 0.03]), "tool", None)[0] == "near"
    assert messages.singularity(arm, np.array([0.3, 1.5]), "tool", None)[0] == "good"
    panda = dl.load("panda")
    said = messages.at_limits(panda, np.r_[panda.limits.upper[0], np.zeros(2), -1.5, 0, 1.5, 0])
    assert said == ["panda_joint1 stands at its upper limit"]


def test_what_is_said_is_escaped():
    bad = "<img src=http://evil.example/x>"
    assert "<img" not in messages.line(bad) and "<img" not in messages.table((bad,), [(bad, bad)])


def test_ellipsoids_are_drawn_along_their_axes():
    arm, q = dl.load("planar-2r"), np.array([0.3, 0.8])
    e = find_ellipsoid("velocity", arm, q, "tool")
    R, lengths = scale_axes(e, 0.5)
    assert np.allclose(R.T @ R, np.eye(3)) and np.linalg.det(R) > 0
    assert lengths[0] == pytest.approx(0.5) and lengths[1] / lengths[0] == pytest.approx(e.lengths[1] / e.lengths[0])
    assert np.allclose(np.abs(R[:2, 0]), np.abs(e.axes[:, 0])) and lengths[2] == pytest.approx(THIN * 0.5)
    # A singular arm bears any force along its length.
    R, lengths = scale_axes(find_ellipsoid("force", arm, np.array([0.0, 0.0]), "tool"), 1.0)
    assert lengths.max() == 1.0 and np.isfinite(lengths).all()
    masses = find_ellipsoid("inertia", arm, q, "tool").lengths
    assert np.allclose(np.sort(masses), np.sort(np.linalg.eigvalsh(arm.effective_mass(q, rows=("vx", "vy")).matrix)))
    with pytest.raises(dl.InputError, match="has 1 loop"):
        find_ellipsoid("velocity", dl.load("four-bar"), np.zeros(3), "tool")


# -------------------------------------------------------------------------------------------------------------- shapes
CUBE = """solid cube
{}
endsolid cube
"""
CORNERS = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl(corners=CORNERS) -> str:
    facets = [
        "facet normal 0 0 0\nouter loop\n"
        + "\n".join("vertex {} {} {}".format(*corners[k]) for k in face)
        + "\nendloop\nendfacet"
        for face in FACES
    ]
    return CUBE.format("\n".join(facets))


def urdf(meshes: list[str]) -> str:
    links = "".join(
        f'<link name="link{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
        f'<joint name="joint{k}" type="continuous"><parent link="{"base" if k == 0 else f"link{k - 1}"}"/>'
        f'<child link="link{k}"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint>'
        for k, name in enumerate(meshes)
    )
    return f'<robot name="meshes"><link name="base"/>{links}</robot>'


@pytest.fixture
def broken(tmp_path):
    """A robot of which one mesh is good, and the others are missing, cut off, not finite, of a strange kind."""
    (tmp_path / "good.stl").write_text(stl())
    (tmp_path / "cut.stl").write_text(stl()[:200])
    (tmp_path / "nan.stl").write_text(stl([("nan", 0, 0), *CORNERS[1:]]))
    (tmp_path / "what.xyz").write_text("?")
    names = ["good.stl", "missing.stl", "cut.stl", "nan.stl", "what.xyz", "package://nowhere/a.stl"]
    (tmp_path / "robot.urdf").write_text(urdf(names))
    return dl.load(tmp_path / "robot.urdf")


def test_broken_meshes_become_sticks_with_a_sentence_each(broken):
    look = scene.look_of(broken)
    drawn = {part.body for part in look.parts}
    assert drawn == {-1, 0, 1, 2, 3, 4, 5}
    assert [type(p.geometry) for p in look.parts if p.body == 0] == [Mesh]
    assert all(p.stick for p in look.parts if p.body != 0)
    assert len(look.notes) == 5 and all(note.startswith("a stick stands for a mesh") for note in look.notes)
    expected = ("'missing.stl' was not found", "cut.stl", "not finite", ".xyz", "not found")
    assert all(said in note for note, said in zip(look.notes, expected, strict=True))


def test_dense_meshes_are_made_coarser_and_keep_their_shape():
    t, z = (x.ravel() for x in np.meshgrid(np.linspace(0, 2 * np.pi, 401), np.linspace(-1, 1, 201)))
    r = np.sqrt(1 - z**2)
    vertices = np.stack([r * np.cos(t), r * np.sin(t), z], axis=-1)
    k = np.arange(200 * 400) // 400 * 401 + np.arange(200 * 400) % 400
    faces = np.concatenate([np.stack([k, k + 1, k + 401], -1), np.stack([k + 1, k + 402, k + 401], -1)])
    small = scene.Solid(vertices, faces).simplify(scene.ENOUGH_TRIANGLES)
    few_v, few = small.vertices, small.faces
    assert len(faces) == 160_000 and 2_000 < len(few) <= scene.ENOUGH_TRIANGLES
    assert np.abs(np.linalg.norm(few_v, axis=-1) - 1).max() < 2 / 40
    assert few.max() < len(few_v) and (np.diff(np.sort(few, axis=1), axis=1) > 0).all()
    same = scene.Solid(vertices[:4], np.array(FACES)).simplify(scene.ENOUGH_TRIANGLES)
    assert np.array_equal(same.faces, FACES)


@pytest.mark.parametrize("name", dl.robots.names())
def test_every_bundled_robot_has_something_to_show_of_each_body(name):
    arm = dl.load(name)
    look = scene.look_of(arm)
    assert not look.notes and {p.body for p in look.parts} >= set(range(len(arm.bodies)))
    assert all(np.ptp(part.solid.vertices, axis=0).min() > 0 for part in look.parts)


# ---------------------------------------------------------------------------------------------------------- simulation
@pytest.mark.parametrize("name", ["PD + gravity", "computed torque", "PID"])
def test_the_live_simulation_is_that_of_simulate(name):
    arm, load = dl.load("planar-2r"), Payload(0.5)
    q, wanted = np.array([0.2, -0.4]), np.array([0.6, 0.1])
    live = Live(arm, name, q, "tool", omega=5.0, zeta=0.8, payload=load)
    live.aim(wanted)
    live.advance(0.8)
    controller = suitable(arm)[name].make(arm, 5.0, 0.8, q, "tool")
    run = dl.simulate(load.on(arm, "tool"), controller, q0=q, reference=wanted, duration=0.8, dt=STEP)
    assert live.t == pytest.approx(0.8) and np.allclose(live.q, run.q[-1], atol=1e-12)
    seen = live.table()
    assert np.allclose(seen["joint1"], run.q[::PIECE, 0], atol=1e-12)
    assert np.allclose(seen["kinetic_energy"][-1] + seen["potential_energy"][-1], run.energy[-1], atol=1e-9)


def test_predictive_control_runs_live_and_is_tuned_while_it_does():
    """Asked once a piece, it is `simulate` with that sample time; another bandwidth is taken up at once."""
    arm, q, wanted = dl.load("planar-2r"), np.array([0.2, -0.4]), np.array([0.6, 0.1])
    live = Live(arm, "predictive control", q, "tool", omega=5.0)
    live.aim(wanted)
    live.advance(0.4)
    run = dl.simulate(
        arm,
        suitable(arm)["predictive control"].make(arm, 5.0, 1.0),
        q0=q,
        reference=wanted,
        duration=0.4,
        dt=STEP,
        sensors=dl.Sensors(sample_time=PIECE * STEP),
    )
    assert np.allclose(live.q, run.q[-1], atol=1e-9)
    slow = np.abs(wanted - live.q).max()
    live.tune(20.0, 1.0)
    live.advance(0.2)
    assert np.abs(wanted - live.q).max() < 0.2 * slow
    assert "predictive control" not in suitable(arm, compiled=True)


def test_gains_and_payload_change_while_it_runs():
    arm = dl.load("planar-2r")
    q = np.array([0.5, 0.5])
    live = Live(arm, "PD + gravity", q, "tool")
    live.advance(0.2)
    assert np.allclose(live.q, q, atol=1e-12)  # it holds still
    live.payload = Payload(1.0)
    live.advance(10.0)
    sag = q - live.q
    kp = np.array([live.gains["kp_joint1"], live.gains["kp_joint2"]])
    excess = Payload(1.0).on(arm, "tool").gravity_torque(live.q) - arm.gravity_torque(live.q)
    assert np.allclose(kp * sag, excess, rtol=1e-3)  # K_p e carries what the controller does not know
    live.tune(30.0, 1.0)
    assert live.gains["kp_joint1"] == pytest.approx(25 * kp[0])
    live.advance(3.0)
    assert np.abs(q - live.q).max() < np.abs(sag).max() / 10
    knowing = Live(arm, "PD + gravity", q, "tool", payload=Payload(1.0), known=True)
    knowing.advance(1.0)
    assert np.allclose(knowing.q, q, atol=1e-10)


def test_a_pull_is_a_force_at_a_point():
    arm = dl.load("planar-2r")
    q = np.array([0.3, 0.9])
    pull = Pull("link2", np.array([0.5, 0.1, 0.0]), 20.0)
    pull.end = pull.at(arm, q) + np.array([0.3, -0.2, 0.0])
    tau = pull.torque(arm, q)
    assert np.allclose(pull.force, [6.0, -4.0, 0.0])
    h = 1e-6  # virtual work: F · dp/dq
    for k in range(2):
        step = np.eye(2)[k] * h
        slope = (pull.at(arm, q + step) - pull.at(arm, q - step)) / (2 * h)
        assert tau[k] == pytest.approx(pull.force @ slope, abs=1e-8)
    live = Live(arm, "PD + gravity", q, "tool")
    live.advance(2.0, pull)
    kp = np.array([live.gains["kp_joint1"], live.gains["kp_joint2"]])
    assert np.allclose(kp * (live.q - q), pull.torque(arm, live.q), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["four-bar", "delta"])
def test_closed_chains_are_simulated_closed(name):
    posture = Posture(dl.load(name))
    live = Live(posture.robot, "none", posture.q, posture.frame)
    live.advance(0.5)
    seen = live.table()
    energy = seen["kinetic_energy"] + seen["potential_energy"]
    assert not live.stopped and seen["kinetic_energy"].max() > 1e-3
    assert np.ptp(energy) < 1e-4 * np.ptp(seen["kinetic_energy"])  # nothing is lost
    assert np.abs(posture.system.residual(live.q)).max() < 1e-8
    assert tuple(suitable(posture.robot)) == ("PD + gravity", "PD", "PID", "none")


def test_an_unstable_loop_stops_with_a_sentence():
    arm = dl.load("planar-2r")
    live = Live(arm, "PD", np.array([0.3, 0.9]), "tool")
    live.gains["kp_joint2"] = 1e9
    live.aim(np.array([0.4, 0.9]))
    live.advance(2.0)
    assert live.stopped.startswith("the simulation diverged at t = ") and np.isfinite(live.q).all()
    t = live.t
    live.advance(1.0)
    assert live.t == t
    with pytest.raises(dl.UnknownNameError, match="unknown controller 'PDD'"):
        Live(arm, "PDD", np.zeros(2), "tool")


def test_the_impedance_of_the_tip_gives_way_by_force_over_stiffness():
    arm = dl.load("planar-3r")
    q = np.array([0.3, 0.6, -0.9])
    live = Live(arm, "impedance", q, "tool", omega=6.0)
    pull = Pull("tool", np.zeros(3), 30.0)
    begin = arm.fk(q)[:2, 3]
    pull.end = pull.at(arm, q) + np.array([0.1, 0.0, 0.0])
    live.advance(4.0, pull)
    stiffness = live.controller.stiffness.values[0]
    assert np.allclose(arm.fk(live.q)[:2, 3] - begin, pull.force[:2] / stiffness, atol=2e-3)


# ---------------------------------------------------------------------------------------------------------------- logs
def recorded(tmp_path, arm):
    motion = dl.trajectories.sines([[0.5, 0.0], [0.0, 0.4]], [0.5, 0.75], offset=[0.3, -0.4])
    t = np.arange(0, 4, 0.002)
    q, qd, qdd = motion(t)
    tau = arm.inverse_dynamics(q, qd, qdd)
    head = "t,q_joint1,q_joint2,tau_joint1,tau_joint2"
    np.savetxt(tmp_path / "log.csv", np.column_stack([t, q, tau]), delimiter=",", header=head, comments="")
    return tmp_path / "log.csv"


def test_a_log_beside_the_model(tmp_path):
    arm = dl.load("planar-2r").with_payload(0.4)
    log = read_recording(recorded(tmp_path, arm), arm)
    assert log.joints == arm.joint_names and log.t[0] == 0
    assert all(part > 0.9999 for *_, part in log.residuals())
    blind = read_recording(tmp_path / "log.csv", dl.load("planar-2r"))  # a model that knows nothing of the load
    assert all(part < 0.9 for *_, part in blind.residuals())
    middle = log.at(0.5 * (log.t[10] + log.t[11]))
    assert np.allclose(middle, 0.5 * (log.q[10] + log.q[11]))


def test_a_log_that_a_page_sends(tmp_path):
    arm = dl.load("planar-2r")
    content = recorded(tmp_path, arm).read_bytes()
    log = read_upload("../../etc/day 1.csv", content, arm)
    assert log.source == "../../etc/day 1.csv" and len(log.t) > 100
    with pytest.raises(dl.DalembertError) as error:
        read_upload("noise.csv", b"\x00\x01 not a log", arm)
    assert "dalembert-" not in str(error.value)  # no folder of this machine


# ---------------------------------------------------------------------------------------------------------- the worker
def test_jobs_are_done_in_order_the_last_of_a_kind_only():
    done, failed, gate = [], [], threading.Event()
    worker = Worker(lambda: False, failed.append)
    worker.post("first", gate.wait)
    for k in range(50):
        worker.post("slider", lambda k=k: done.append(k))
    worker.post("bad", lambda: 1 / 0)
    worker.post("other", lambda: done.append("other"))
    time.sleep(0.05)
    gate.set()
    assert worker.call(lambda: "answer") == "answer"
    assert done == [49, "other"] and isinstance(failed[0], ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        worker.call(lambda: 1 / 0)
    worker.stop()
    with pytest.raises(dl.InputError, match="this studio was closed"):
        worker.call(lambda: None)


def test_the_beat_goes_on_while_it_is_asked_for():
    beats = []
    ended = threading.Event()

    def beat():
        beats.append(1)
        if len(beats) == 5:
            ended.set()
        return len(beats) < 5

    worker = Worker(beat, lambda e: None, period=0.005)
    worker.start_beating()
    assert ended.wait(10)
    worker.call(lambda: None)
    worker.stop()
    assert len(beats) == 5
