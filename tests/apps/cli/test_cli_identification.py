"""dalembert excite and identify: from a motion to the parameters of an arm that followed it."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from invoking import data, run

import dalembert as dl
from dalembert.identification import LogSettings

SEARCH = ("--seconds", "20", "--starts", "1", "--velocity", "3", "--acceleration", "10", "--harmonics", "3")


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    """(the motion's file, what the command said of it)."""
    file = tmp_path_factory.mktemp("motion") / "motion.csv"
    return file, data("excite", "planar-2r", *SEARCH, "-o", file, "--rate", "50")


def test_identify_what_was_excited(motion, tmp_path):
    """The torques of the file are the model's own, so its parameters come back."""
    file, _ = motion
    out, report = tmp_path / "found.toml", tmp_path / "report.html"
    where = ("identify", "planar-2r", file, "--no-consistent", "--no-rotor")
    got = data(*where, "--out", out, "--report", report)
    assert got["files"] == [str(out), str(report)] and "<html" in report.read_text()
    arm, found = dl.load("planar-2r"), dl.load(out)
    q = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    assert np.allclose(found.gravity_torque(q), arm.gravity_torque(q), atol=0.05 * np.abs(arm.gravity_torque(q)).max())
    text = run(*where).output
    assert "joint1" in text and "written to" not in text


def test_a_log_in_degrees_and_the_file_that_says_so(motion, tmp_path):
    """--degrees never worked ("unknown unit of qd 'deg'"); what is said once can be kept."""
    file, _ = motion
    with open(file, newline="") as table:
        head, *rows = list(csv.reader(table))
    x = np.array(rows, float)
    turned = np.array([name.startswith(("q_", "qd_")) for name in head])
    x[:, turned] = np.degrees(x[:, turned])
    degrees, kept = tmp_path / "degrees.csv", tmp_path / "log.toml"
    np.savetxt(degrees, x, delimiter=",", header=",".join(head), comments="")
    where = ("identify", "planar-2r", degrees, "--no-rotor")
    got = data(*where, "--degrees", "--no-consistent", "--friction", "none", "--save-settings", kept)
    assert got["held_out"] < 0.01 and not any("coulomb" in name for name in got["parameters"])
    again = data(*where, "--log-settings", kept, "--validate", degrees)
    assert again["parameters"] == got["parameters"] and again["validation"]["degrees.csv"] < 0.01
    kept.write_text("[identify]\nfrictoin = 'none'")
    assert "unknown option of [identify] in" in run(*where, "--log-settings", kept, code=1).stderr
    said = run(*where, "--columns", "t=none", code=1).stderr
    assert "or --rate … [Hz]" in said and "rate=" not in said


def test_what_the_first_look_corrects_is_kept_for_the_next_log(motion, tmp_path):
    file, _ = motion
    with open(file, newline="") as table:
        head, *rows = list(csv.reader(table))
    x = np.array(rows, float)
    x[:, [k for k, name in enumerate(head) if name.startswith("tau_")]] *= -1
    wrong, kept = tmp_path / "wrong.csv", tmp_path / "log.toml"
    np.savetxt(wrong, x, delimiter=",", header=",".join(head), comments="")
    where = ("identify", "planar-2r", wrong, "--no-rotor", "--friction", "none")
    assert "read it with --sign tau=-1, or let --apply do so" in run(*where, code=1).stderr
    data(*where, "--apply", "--save-settings", kept)
    assert LogSettings.from_toml(kept).sign == {"tau": -1}
    assert data(*where, "--log-settings", kept)["ok"]
