"""dalembert excite and identify: from a motion to the parameters of an arm that followed it."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from invoking import data, run

import dalembert as dl
from dalembert.identification import LogSettings

SEARCH = ("--starts", "1", "--limits", "velocity=3", "--limits", "acceleration=10", "--harmonics", "3")


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    """(the motion's file, what the command said of it)."""
    file = tmp_path_factory.mktemp("motion") / "motion.csv"
    return file, data("excite", "planar-2r", *SEARCH, "-o", file, "--dt", "0.02")


def test_identify_what_was_excited(motion, tmp_path):
    """The torques of the file are the model's own, so its parameters come back."""
    file, _ = motion
    out, report = tmp_path / "found.toml", tmp_path / "report.html"
    where = ("identify", "planar-2r", file, "--no-consistent", "--terms", "friction")
    got = data(*where, "--output", out, "--output", report)
    assert got["files"] == [str(out), str(report)] and "<html" in report.read_text()
    arm, found = dl.load("planar-2r"), dl.load(out)
    q = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    assert np.allclose(found.gravity_torque(q), arm.gravity_torque(q), atol=0.05 * np.abs(arm.gravity_torque(q)).max())
    text = run(*where).output
    assert "joint1" in text and "written to" not in text


def turned(file, path, factor, *starts):
    """A copy of a log in which the columns with these starts of names are multiplied by a factor."""
    with open(file, newline="") as table:
        head, *rows = list(csv.reader(table))
    x = np.array(rows, float)
    x[:, [k for k, name in enumerate(head) if name.startswith(starts)]] *= factor
    np.savetxt(path, x, delimiter=",", header=",".join(head), comments="")
    return path


def test_a_log_in_degrees_and_the_file_that_says_so(motion, tmp_path):
    degrees, kept = turned(motion[0], tmp_path / "degrees.csv", 180 / np.pi, "q_", "qd_"), tmp_path / "log.toml"
    units = ("--set", "units=q=deg,qd=deg/s")
    looked = data("log", "inspect", "planar-2r", degrees, *units, "-o", kept)
    assert looked["settings"]["units"] == {"q": "deg", "qd": "deg/s"} and looked["findings"][0]["severity"] == "note"
    assert looked["settings"]["columns"]["q"] == ["q_joint1", "q_joint2"] and looked["logs"][0]["joints"]
    assert LogSettings.from_toml(kept).said() == looked["settings"]
    where = ("identify", "planar-2r", degrees, "--terms", "none", "--no-consistent")
    got = data(*where, *units)
    assert got["held_out"] < 0.01 and not any("coulomb" in name for name in got["parameters"])
    again = data(*where, "--settings", kept, "--validate", degrees)
    assert again["parameters"] == got["parameters"] and again["validation"]["degrees.csv"] < 0.01
    said = run(*where, "--set", "columns=t=none", code=1).stderr
    assert "--set rate" in said and "`" not in said


def test_what_the_first_look_corrects_is_kept_for_the_next_log(motion, tmp_path):
    wrong, kept = turned(motion[0], tmp_path / "wrong.csv", -1.0, "tau_"), tmp_path / "log.toml"
    where = ("identify", "planar-2r", wrong, "--terms", "none")
    assert "read it with --set sign=tau=-1" in run(*where, code=1).stderr
    found = data("log", "inspect", "planar-2r", wrong, code=1)["findings"]
    assert any(finding["rule"] == "sign" for finding in found)
    data("log", "inspect", "planar-2r", wrong, "--apply", "-o", kept)
    assert LogSettings.from_toml(kept).sign == {"tau": -1}
    assert data(*where, "--settings", kept)["ok"]


def test_log_inspect_without_a_robot_and_without_meaning(motion, tmp_path):
    (log,) = data("log", "inspect", motion[0])["logs"]
    assert log["rows"] > 100 and {"name", "unit", "least", "largest", "first"} == set(log["columns"][0])
    strange, kept = tmp_path / "strange.csv", tmp_path / "log.toml"
    strange.write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(50)))
    run("log", "inspect", "planar-2r", strange, "-o", kept, code=1)
    assert LogSettings.from_toml(kept) == LogSettings() and "# units = " in kept.read_text()
    kept.write_text("schema = 2\n")
    assert "schema" in run("identify", "planar-2r", motion[0], "--settings", kept, code=1).stderr
    kept.write_text("frictoin = 'none'")
    assert "'frictoin'" in run("identify", "planar-2r", motion[0], "--settings", kept, code=1).stderr
