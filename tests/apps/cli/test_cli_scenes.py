"""The command line with joints of several coordinates: cards, states, runs, and sentences where there is no answer."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main

SCENE = """<mujoco model="scene"><worldbody>
  <body name="base" pos="0 0 .5"><geom type="box" size=".1 .1 .1"/>
    <body name="arm"><joint name="turn" axis="0 1 0"/><geom type="capsule" size=".03 .2" pos="0 0 .2"/></body></body>
  <body name="cube" pos=".5 0 .1"><freejoint name="loose"/><geom type="box" size=".05 .05 .05"/></body>
</worldbody></mujoco>"""


@pytest.fixture
def scene(tmp_path):
    file = tmp_path / "scene.xml"
    file.write_text(SCENE)
    return str(file)


def run(*words: str):
    return CliRunner().invoke(main, [*words])


def told(*words: str):
    found = run(*words, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_scene_and_its_parts(scene):
    whole = told("info", scene)
    assert (whole["nq"], whole["nv"]) == (8, 7) and whole["home"] == [0, 0.5, 0, 0.1, 0, 0, 0, 1]
    assert "2 joints (8 positions, 7 velocities)" in run("info", scene).output
    for words in (["--robot", "base"], ["--free", "drop"]):
        assert [j["name"] for j in told("info", scene, *words)["joints"]] == ["turn"]
    assert told("info", scene, "--robot", "base", "--base", "planar")["nv"] == 4


def test_states_of_a_floating_robot(scene):
    assert told("fk", scene, "--frame", "cube")["poses"][0]["xyz"] == [0.5, 0.0, 0.1]
    q = "30deg,1,2,3,0,0,0,1"
    assert told("fk", scene, "--frame", "cube", "--q0", q)["poses"][0]["xyz"] == [1.0, 2.0, 3.0]
    terms = told("dynamics", scene)
    assert len(terms["M"]) == 7 and terms["g"][3] == pytest.approx(9.81 * 1.0)
    assert "loose_vz" in run("dynamics", scene).output
    fall = told("simulate", scene, "--duration", "0.1")
    assert fall["q"][3] == pytest.approx(0.1 - 0.5 * 9.81 * 0.01, abs=1e-9) and fall["status"] == "finished"
    certificate = told("verify", scene, "--robot", "cube", "--states", "4")
    assert certificate["ok"] if "ok" in certificate else certificate["passed"]
    assert told("bench", scene, "--states", "64", "--tip", "arm")["rows"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fk", "{}", "--q0", "0,1deg,0,0,0,0,0,1"], "joint 'loose_x' slides: '1deg' is no length in m"),
        (["fk", "{}", "--q0", "0,1,0,0,0,0,0,1deg"], "is no angle: '1deg'"),
        (
            ["fk", "{}", "--frame", "cube", "--q0", "0,1,0,0,0,0,0,2"],
            "the quaternion of joint 'loose' in --q0 has length 2",
        ),
        (["compare", "{}", "--tip", "arm"], "whose positions are no vector"),
        (["info", "{}", "--robot", "bse"], "unknown root body 'bse'; did you mean 'base'?"),
        (["check", "{}", "--base", "floating"], "--base has no effect here: a file is checked as it is"),
        (["--free", "drop", "info", "{}"], "No such option '--free' here. Write it after the command."),
    ],
)
def test_what_has_no_answer_is_a_sentence(scene, words, sentence):
    found = run(*(word.format(scene) for word in words))
    assert found.exit_code in (1, 2) and sentence in found.output and "Traceback" not in found.output
