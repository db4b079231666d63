"""dalembert simulate, compare and tune."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from invoking import data, run, words

import dalembert as dl
from dalembert import control
from dalembert.apps.cli.control import CONTROLLERS, TUNED

QUICK = ("--duration", "0.2", "--dt", "0.002")


# ---------------------------------------------------------------------------------------------------- simulate
def test_a_free_run():
    out = run("simulate", "planar-2r", "--q0", "0,0", *QUICK).output
    assert "planar-2r free, 0.2 s by rk4" in out and "finished at t = 0.2 s" in out and "torque" not in out
    got = data("simulate", "planar-2r", "--q0", "0,0", *QUICK)
    run_ = dl.simulate(dl.load("planar-2r"), q0=[0, 0], duration=0.2, dt=0.002)
    assert got["q"] == run_.q[-1].tolist() and got["status"] == "finished" and got["controller"] == "none"
    assert got["final_error"] is None and abs(got["energy"]["relative"]) < 1e-6 and got["rows"] == 101


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_runs(name):
    got = data("simulate", "planar-1r", "--controller", name, "--to", "0.3", "--q0", "0", *QUICK)
    assert got["status"] == "finished" and got["controller"] == name
    assert len(got["final_error"]) == 1 and got["peak_torque"][0] > 0


def test_a_run_names_what_touches(tmp_path):
    floor = data("simulate", "planar-2r", "--q0", "0,0", "--world", "floor=5", *QUICK)
    assert {c["second"] for c in floor["contacts"]} == {"floor"} and floor["contacts"][0]["start"] == 0.0
    assert data("simulate", "planar-2r", "--q0", "0,0", *QUICK)["contacts"] is None
    (tmp_path / "cell.toml").write_text('[[sphere]]\nname = "far"\nradius = 0.1\nxyz = [9, 0, 0]\n')
    out = run("simulate", "planar-2r", "--q0", "0,0", "--world", str(tmp_path / "cell.toml"), *QUICK).output
    assert "nothing touches at its rows" in " ".join(out.split())
    wrong = run("simulate", "planar-2r", "--world", str(tmp_path / "none.toml"), *QUICK, code=1)
    assert "cannot be read" in wrong.output


def test_a_controller_is_not_told_of_the_payload(tmp_path):
    task = ("--to", "0.5,0.2", "--q0", "0,0", "--move", "0.1", "--duration", "0.4", "--dt", "0.002")
    light, heavy = (data("simulate", "planar-2r", *task, "--payload", m) for m in ("0", "3"))
    assert max(map(abs, light["final_error"])) < 1e-6 < 1e-3 < max(map(abs, heavy["final_error"]))
    out = run("simulate", "planar-2r", *task, "--payload", "3").output
    assert "under computed-torque" in out and "final error" in out and "peak torque" in out


def test_files_of_a_run(tmp_path):
    table, picture = tmp_path / "run.csv", tmp_path / "run.svg"
    got = data("simulate", "planar-1r", *QUICK, "-o", table, "--plot", picture)
    assert got["files"] == [str(table), str(picture)] and b"<svg" in picture.read_bytes()
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 101 and float(rows[-1]["joint1"]) == got["q"][0]
    parquet = tmp_path / "run.parquet"
    assert f"written to {parquet}" in run("simulate", "planar-1r", *QUICK, "-o", parquet).output
    assert parquet.read_bytes()[:4] == b"PAR1"


def test_a_step_and_torque_limits():
    task = ("simulate", "panda", "--to", "0.5,0.5,0,-1.2,0,2,0", "--move", "0", *QUICK, "--omega", "40")
    assert "beyond its effort limit" in run(*task).output
    held = data(*task, "--limits", "torque")
    assert (np.array(held["peak_torque"]) <= dl.load("panda").limits.effort * (1 + 1e-12)).all()


def test_a_run_that_ends_early_is_exit_code_one():
    where = (
        "simulate",
        "panda",
        "--qd0",
        "0,0,0,0,0,8,0",
        "--duration",
        "2",
        "--dt",
        "0.002",
        "--limits",
        "position=stop",
    )
    early = data(*where, code=1)
    assert early["status"] == "event" and early["events"] and early["end"] < 2
    assert "panda_joint6" in run(*where, code=1).output


def test_a_run_that_is_interrupted_is_kept(monkeypatch, tmp_path):
    @contextmanager
    def interrupted(words, heavy):
        def say(text):
            raise KeyboardInterrupt

        yield say

    monkeypatch.setattr("dalembert.apps.cli.motion.waiting", interrupted)
    got = data("simulate", "planar-1r", "--duration", "1000", "-o", tmp_path / "run.csv", code=130)
    assert got["status"] == "interrupted" and 0 < got["end"] < 1000 and (tmp_path / "run.csv").exists()


def test_a_closed_chain_keeps_its_loop():
    got = data("simulate", "four-bar", *QUICK)
    four = dl.Constrained(dl.load("four-bar"))
    assert got["status"] == "finished" and np.abs(four.residual(got["q"])).max() < 1e-8


# ----------------------------------------------------------------------------------------------------- compare
TASK = ("--q0", "0,0", "--to", "0.3,0.2", "--move", "0.3", "--duration", "0.5")


def test_compare(tmp_path):
    picture = tmp_path / "errors.svg"
    which = ("--controller", "pd-gravity,computed-torque", "--vary", "payload.mass=0,2")
    got = data("compare", "planar-2r", *which, *TASK, "--plot", picture)
    rows = {(r["scenario"], r["controller"]): r for r in got["rows"]}
    assert len(rows) == 4 and got["goal"] == [0.3, 0.2] and b"<svg" in picture.read_bytes()
    assert (
        rows["payload.mass 0", "computed-torque"]["max_error"]
        < 1e-9
        < rows["payload.mass 0", "pd-gravity"]["max_error"]
    )
    assert rows["payload.mass 2", "computed-torque"]["max_error"] > 1e-3
    out = run("compare", "planar-2r", *which, *TASK).output
    assert "RMS error" in out and "settled" in out and "computed-torque: follows (payload.mass 0)" in out


def test_a_comparison_that_could_not_be_made_is_no_success():
    heavy = ("--controller", "pd", "--vary", "payload.mass=1e200", "--move", "0.1", "--duration", "0.1")
    out = run("compare", "planar-2r", *heavy, code=1).output
    assert "unresolved" in out and "nan" not in out and "cannot be judged (payload.mass 1e+200)" in out


def test_compare_as_it_comes():
    out = run("compare", "planar-1r", "--controller", "all", "--move", "0.2", "--duration", "0.2").output
    assert all(name in out for name in CONTROLLERS) and "masses +10 %" in out and "wrong start" in out


# -------------------------------------------------------------------------------------------------------- tune
def test_tune_a_robot():
    got = data("tune", "panda", "--omega", "15", "--zeta", "0.7")
    assert got["gains"] == {"kp": [225.0] * 7, "kd": [21.0] * 7} and got["claim"].startswith("e → 0 exponentially")
    arm = dl.load("puma560")
    law = control.PDGravity.for_bandwidth(arm, 8.0, 1.0)
    torque = data("tune", "puma560", "--controller", "pd-gravity", "--omega", "8")
    assert torque["gains"]["kp"] == list(law.kp.values)
    assert np.allclose(torque["error_at_full_torque"], arm.limits.effort / np.array(law.kp.values))
    out = run("tune", "puma560", "--controller", "pd-gravity", "--omega", "8").output
    assert "kp [N m/rad]" in out and "poles -8 and -8 1/s, critically damped" in out and "✓ kp is symmetric" in out


@pytest.mark.parametrize("name", [n for n, e in CONTROLLERS.items() if n != "feedforward" and not e.asked])
def test_every_controller_can_be_tuned(name):
    got = data("tune", "planar-2r", "--controller", name)
    assert all(k > 0 for values in got["gains"].values() for k in values) and got["conditions"]


@pytest.mark.parametrize("omega, zeta", [(8.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("name", TUNED)
def test_poles_and_overshoot_are_those_of_the_loop(name, omega, zeta):
    """A link that starts level, where gravity's slope is zero: the poles are those of the loop about it. A step without
    gravity overshoots by as much as is printed."""
    arm = dl.load("planar-1r").with_gravity((0.0, 0.0, 0.0))
    for robot in (arm, dl.load("planar-1r")):
        law = CONTROLLERS[name].make(robot, omega, zeta)
        loop = dl.simulation.close_loop(robot.flow(), law.law(), [0.0])
        gains = [law.law().parameters[name] for name in loop.inputs]
        near = control.linearize(loop, np.zeros(len(loop.states)), gains)
        (own,) = law.joint_loops()
        assert np.allclose(own.den / own.den[0], np.poly(near.A), rtol=1e-9)
    law = CONTROLLERS[name].make(arm, omega, zeta)
    printed = control.step_figures(law.joint_loops()[0]).overshoot
    run = dl.simulate(arm, law, q0=[0.0], reference=[0.1], duration=12 / omega, dt=0.005 / omega)
    assert max(run.q.max() / 0.1 - 1, 0.0) == pytest.approx(printed, abs=2e-4)


def test_tune_prints_the_poles_of_the_law():
    """With J = 1/3: s³ + 16 s² + 64 s + 153.6, not (s + 8)²."""
    out = run("tune", "planar-1r", "--controller", "pid", "--omega", "8").output
    assert "poles -11.63 and -2.18" in out and "± 2.9" in out and "overshoot 33.2%" in out and "damped" not in out
    got = data("tune", "planar-1r", "--controller", "pid", "--omega", "8")
    assert np.allclose(
        np.sort_complex(np.roots([1, 16, 64, 153.6])), np.sort_complex([complex(*p) for p in got["poles"][0]])
    )
    assert got["overshoot"] == [pytest.approx(0.332, abs=5e-4)]
    shaky = run("tune", "planar-1r", "--controller", "pid", "--zeta", "0.1").output  # k_i > k_d k_p / J
    assert "unstable" in shaky and "overshoot 0" not in shaky
    stiff = data("tune", "planar-2r", "--controller", "feedforward-pd", "--omega", "0.5")  # made stiffer than gravity
    J = control.PD.for_bandwidth(dl.load("planar-2r"), 1.0).kp.values
    for poles, kp, inertia in zip(stiff["poles"], stiff["gains"]["kp"], J, strict=True):
        assert np.allclose(np.hypot(*np.array(poles).T), (kp / inertia) ** 0.5) and (kp / inertia) ** 0.5 > 1


def test_tune_a_plant():
    got = data("tune", "--den", "1,3,3,1")  # 1/(s + 1)³: K_u = 8, ω_u = √3
    assert got["ultimate_gain"] == pytest.approx(8.0) and got["ultimate_period"] == pytest.approx(2 * np.pi / 3**0.5)
    classic = next(row for row in got["rules"] if row["rule"] == "classic PID")
    assert classic["k_p"] == pytest.approx(4.8) and classic["T_i"] == pytest.approx(got["ultimate_period"] / 2)
    out = run("tune", "--num", "2", "--den", "1,3,3,1").output
    assert "K_u = 4" in out and "no overshoot" in out
    late = data("tune", "--den", "1,1", "--delay", "0.5")
    assert late["ultimate_gain"] > 1


IDLE = [
    ("simulate planar-1r --omega 5", "--omega"),
    ("simulate planar-1r --limits torque", "--limits torque"),
    ("simulate planar-1r --controller feedforward --zeta 2", "--zeta"),
    ("simulate planar-1r --tip tool", "--tip"),
    ("compare planar-1r --vary payload.mass=1 --seed 2", "--seed"),
    ("tune --den 1,3,3,1 --omega 3", "--omega"),
    ("tune --den 1,3,3,1 --payload 3", "--payload"),
    ("bounds planar-1r --method symbolic --gap 0.1", "--gap"),
    ("excite planar-1r --dt 0.1", "--dt"),
    ("ik puma560 --xyz 0.4,0.2,0.3 --rpy 0,0,0 --all --tolerance 0.1", "--tolerance"),
    ("equations planar-1r --check M11=I1 --expand angles", "--expand"),
    ("derive planar-1r --convention modified", "--convention"),
    ("derive planar-1r --q0 1", "--q0"),
    ("check --rules --fix", "--fix"),
    ("check panda --base floating", "--base"),
]


@pytest.mark.parametrize("line, option", IDLE, ids=[line for line, _ in IDLE])
def test_an_option_without_effect_is_refused(line, option):
    assert f"{option} has no effect here" in words(run(*line.split(), code=2).output)


# -------------------------------------------------------------------------------------------------- plan and phase
def test_plan(tmp_path):
    goal = "0.5,0.5,0,-1.2,0,2,0"
    got = data("plan", "panda", "--through", "0,0.3,0,-1.5,0,1.8,0", "--through", goal, "-o", tmp_path / "m.csv")
    panda = dl.load("panda")
    assert (np.array(got["peak_velocity"]) <= panda.limits.velocity * (1 + 1e-6)).all()
    assert (np.array(got["peak_torque"]) <= panda.limits.effort * (1 + 1e-6)).all()
    rows = np.genfromtxt(tmp_path / "m.csv", delimiter=",", names=True)
    assert rows["t"][-1] == pytest.approx(got["duration"]) and rows["panda_joint4"][-1] == pytest.approx(-1.2)
    slow = data("plan", "panda", "--through", goal, "--duration", "3")
    assert slow["duration"] == 3 and "peak torque" in run("plan", "panda", "--through", goal).output
    assert "needs velocity" in words(run("plan", "panda", "--through", goal, "--duration", "0.1", code=1).output)
    assert "outside its limits" in words(run("plan", "panda", "--through", "9,0,0,-1,0,2,0", code=2).output)
    assert "--dt has no effect" in words(run("plan", "panda", "--through", goal, "--dt", "0.1", code=2).output)


def test_plan_around_obstacles(tmp_path):
    world = tmp_path / "world.toml"
    world.write_text('[[box]]\nname = "wall"\nsize = [0.3, 0.02, 0.7]\nxyz = [-0.6, -0.35, 0.35]\n', encoding="utf-8")
    ends = ("--q0", "0,-1.2,1.4,-1.8,-1.57,0", "--to", "1.2,-1.2,1.4,-1.8,-1.57,0")
    got = data("plan", "ur5e", *ends, "--world", world, "--clearance", "0.01", "-o", tmp_path / "path.csv")
    assert got["proved"] and got["obstacles"] == ["wall"] and got["clearance"] >= 0.01 and len(got["path"]) > 2
    rows = np.genfromtxt(tmp_path / "path.csv", delimiter=",", skip_header=1)
    arm = dl.load("ur5e")
    assert (arm.clearance(rows[:, 1:7], dl.World.load(world)) >= 0.01).all()
    assert rows[-1, 1:7] == pytest.approx([1.2, -1.2, 1.4, -1.8, -1.57, 0]) and rows[-1, 0] == got["duration"]
    said = words(run("plan", "ur5e", *ends, "--world", world).output)
    assert "ur5e around wall in" in said and "free, proved" in said
    T = arm.fk([1.2, -1.2, 1.4, -1.8, -1.57, 0])
    place, turned = (",".join(map(str, x)) for x in (T[:3, 3], dl.spatial.rotation.to_rpy(T[:3, :3].tolist())))
    posed = data("plan", "ur5e", *ends[:2], f"--xyz={place}", f"--rpy={turned}", "--world", world)
    assert posed["proved"] and np.abs(arm.fk(posed["path"][-1]) - T).max() < 1e-6


def test_plan_keeps_what_it_promises(tmp_path):
    lift = ("--q0", "0,1.2,0,-0.1,0,0,0", "--through", "0,1,0,-0.1,0,0,0", "--duration", "0.15")
    assert "'panda_joint2' needs torque" in words(run("plan", "panda", *lift, code=1).output)
    twice = data("plan", "planar-2r", "--through", "0,0", "--through", "1,1", "--duration", "1")  # home is 0, 0
    assert twice["through"] == [[0, 0], [1, 1]]
    assert "ends where it begins" in run("plan", "planar-2r", "--through", "0,0", "--duration", "1", code=2).output
    assert "has 1 loop" in words(run("plan", "five-bar", "--through", "1,1,1,1", "--duration", "1", code=1).output)


def test_phase(tmp_path):
    for options in ((), ("--joint", "joint2", "--controller", "pid", "--to", "0.3,0.2")):
        picture = tmp_path / "phase.png"
        run("phase", "planar-2r", *options, "--duration", "1", "-o", picture)
        assert picture.stat().st_size > 10_000
    assert "unknown joint 'j'" in words(run("phase", "planar-2r", "--joint", "j", "-o", picture, code=2).output)
    assert "--to has no effect" in words(run("phase", "planar-2r", "--to", "0,0", "-o", picture, code=2).output)


# ---------------------------------------------------------------------------------------------- friction that was found
@pytest.fixture(scope="module")
def rubbing(tmp_path_factory):
    """A file as 'dalembert identify' writes it: an arm with viscous and dry friction."""
    text = (Path(dl.__file__).parent / "robots" / "planar-2r.toml").read_text(encoding="utf-8")
    drive = "a = 1\ndrive = { damping = 0.5, coulomb = 2.0, coulomb_width = 0.05 }\n"
    path = tmp_path_factory.mktemp("rubbing") / "arm.toml"
    path.write_text(text.replace("a = 1\n", drive), encoding="utf-8")
    return path


def test_friction_of_the_model_is_compensated_in_a_simulation(rubbing):
    line = ("simulate", rubbing, "--to", "0.5,0.5", "--duration", "1")
    without, known = data(*line, "--friction"), data(*line, "--controller", "computed-torque+friction")
    errors = [max(row["largest_error"]) for row in (without, known)]
    assert errors[1] < 1e-3 * errors[0] and errors[0] > 0.005
    again = data(*line, "--friction", "--controller", "computed-torque+friction")  # the second implies the first
    assert again["largest_error"] == known["largest_error"]


def test_compare_with_the_friction_of_the_model(rubbing):
    line = ("compare", rubbing, "--vary", "payload.mass=0", "--move", "1", "--duration", "1")
    which = ("--controller", "pd-gravity,feedforward-pd+friction,computed-torque+friction")
    plain, unknown, known = (data(*line, *more) for more in ((), ("--friction",), which))
    rows = [
        {row["controller"].removesuffix("+friction"): row["rms_error"] for row in found["rows"]}
        for found in (plain, unknown, known)
    ]
    for name in ("computed-torque", "feedforward-pd"):
        assert rows[1][name] > 100 * max(rows[0][name], rows[2][name])
    assert rows[1]["pd-gravity"] == rows[2]["pd-gravity"] > rows[0]["pd-gravity"]
    assert (
        known["compensating"] == ["feedforward-pd+friction", "computed-torque+friction"] and not unknown["compensating"]
    )
    out = run(*line, *which).output
    assert "compensated by: feedforward-pd+friction, computed-torque+friction" in out


def test_the_friction_reaches_the_chip_and_what_does_not_is_listed(rubbing, tmp_path):
    arm = dl.load(rubbing)
    law = control.ComputedTorque.for_bandwidth(arm, 10.0)
    given = np.array([0.3, -0.2, 0.5, -0.4, *np.zeros(6)])  # q, q̇, then what is wanted
    made = [dl.firmware.make_firmware(arm, c, "c") for c in (law, law.with_friction())]
    torques = [np.asarray(m.step.kernel(np.zeros(1), given)).ravel()[-2:] for m in made]
    assert np.allclose(torques[1] - torques[0], arm.friction_torque(given[:2], given[2:4]), atol=1e-12)
    assert "friction" in made[0].left_out[0] and "joint1" in made[0].left_out[0]
    assert not any("friction" in sentence or "gravity" in sentence for sentence in made[1].left_out)
    line = ("firmware", rubbing, "-o", tmp_path / "chip")
    without, known = data(*line), data(*line, "--controller", "computed-torque+friction")
    assert "friction" in without["left_out"][0] and "friction" not in " ".join(known["left_out"])
    assert "left out: torque limits" in run(*line).output
    readme = next((tmp_path / "chip").glob("README.md")).read_text(encoding="utf-8")
    assert "## Left out" in readme and "friction" in readme and "NaN" in readme
    limited = dl.firmware.make_firmware(arm, control.PD(arm, kp=50.0, kd=5.0), "c", torque_limits=50.0)
    assert "gravity" in limited.left_out[1] and not any(x.startswith("torque limits") for x in limited.left_out)


@pytest.mark.parametrize(
    "line, why",
    [
        ("simulate planar-2r --to 1,1 --controller computed-torque+friction", "no friction to compensate"),
        ("simulate {} --to 1,1 --controller pd+friction", "PD does not compensate friction"),
        ("compare {} --controller pd+friction", "PD does not compensate friction"),
        ("firmware {} --controller pid+friction -o chip", "JointPID does not compensate friction"),
        ("simulate {} --controller none+friction", "none+friction"),
    ],
)
def test_friction_that_cannot_be_compensated(rubbing, line, why):
    result = run(*line.format(rubbing).split(), code=2 if why.startswith("none") else 1)
    assert why in words(result.output)
