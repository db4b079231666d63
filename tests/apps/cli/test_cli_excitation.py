"""dalembert excite: a motion for a real arm, its limits, floors and walls, and what was not checked."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from invoking import data, run, words

import dalembert as dl

SMALL = (
    "--starts",
    "1",
    "--harmonics",
    "3",
    "--limits",
    "velocity=2",
    "--limits",
    "torque=200",
    "--limits",
    "lower=-2,-2,-2",
    "--limits",
    "upper=2,2,2",
)


def rows_of(file):
    with open(file, newline="") as table:
        head, *rows = list(csv.reader(table))
    return head, np.array(rows, float)


def test_excite(tmp_path):
    file = tmp_path / "motion.csv"
    search = (
        "--seconds",
        "20",
        "--starts",
        "1",
        "--limits",
        "velocity=3",
        "--limits",
        "acceleration=10",
        "--harmonics",
        "3",
    )
    got = data("excite", "planar-2r", *search, "-o", file, "--dt", "0.02")
    assert got["feasible"] and got["files"] == [str(file)] and got["period"] == 10.0
    assert 1 <= got["condition"] <= got["random_condition"]
    assert max(got["used"]["velocity"]) <= 0.95 + 1e-9 and len(got["base_parameters"]) == 13
    head, x = rows_of(file)
    assert head[:3] == ["t", "q_joint1", "q_joint2"] and len(x) == 501
    assert np.abs(x[:, 3:5]).max() <= 3 * 0.95 + 1e-9  # the speeds, within what was allowed
    assert np.abs(x[[0, -1], 3:7]).max() < 1e-9 and np.allclose(x[0, 1:3], got["begin"])  # from rest, to rest


def test_excite_for_people(tmp_path):
    picture = tmp_path / "motion.svg"
    out = run(
        "excite", "planar-1r", "--starts", "1", "--limits", "velocity=2", "--terms", "rotor", "--plot", picture
    ).output
    assert "all limits hold that were given" in out and "condition number" in out and "joint1" in out
    assert "rad/s²" in out and "torques at" in out  # what has no limit is shown as it is
    assert "WARNING: tool comes" in out and "ask for --half-space 0" in out and "--q0" in out
    assert "not checked: collisions with its tool" in out
    assert b"<svg" in picture.read_bytes()


def test_floors_walls_and_the_way(tmp_path):
    """All frames above one height, the tool above another and before a wall; the file from rest at a position."""
    file = tmp_path / "motion.csv"
    where = ("--half-space", "0.1", "--half-space", "tool:0.3", "--half-space", "link3,tool: -1,0,0,-1.3")
    got = data("excite", "elbow-3r", *SMALL, *where, "--q0", "0,90deg,0", "-o", file)
    robot = dl.load("elbow-3r")
    _, x = rows_of(file)
    q = x[:, 1:4]
    assert got["feasible"] and np.allclose(q[[0, -1]], [0, np.pi / 2, 0]) and np.abs(x[[0, -1], 4:10]).max() < 1e-9
    tool, elbow = (robot.fk(q, frame)[:, :3, 3] for frame in ("tool", "link3"))
    assert tool[:, 2].min() >= 0.3 and elbow[:, 2].min() >= 0.1 and max(tool[:, 0].max(), elbow[:, 0].max()) <= 1.3
    assert got["lowest"]["tool"] >= 0.3 and len(got["clearance"]) == 5 and min(x for _, x in got["clearance"]) >= 0
    assert not any("WARNING" in sentence for sentence in got["said"])


def test_bandwidth_stiffness_and_gravity():
    got = data(
        "excite",
        "planar-2r",
        *SMALL[:2],
        *SMALL[4:8],
        "--limits",
        "bandwidth=0.25",
        "--limits",
        "stiffness=1000",
        "--gravity",
        "0,0,-9.81",
    )
    assert got["highest_harmonic"] == pytest.approx(0.2) and got["lowest_mode"] > 0.4
    assert max(map(abs, got["lowest"].values())) < 1e-3  # it moves level


WRONG = [
    (("--half-space", "low"), 2, "'low'"),
    (("--half-space", "tol:0.1"), 2, "'tool'"),
    (("--half-space", "0,0,1"), 2, "--half-space"),
    (("--half-space", "0,0,0,1"), 1, "not all zero"),
    (("--half-space", "base:0"), 1, "'base'"),
    (("--q0", "0,0,0"), 2, "--q0 has no effect here"),
    (("--q0", "0,-90deg,0", "--half-space", "0", "-o", "motion.csv"), 1, "a frame is"),
    (("--limits", "bandwidth=0.2"), 1, "beyond the drives' bandwidth, 0.2 Hz, which allows 2"),
    (("--gravity", "1,2"), 2, "--gravity"),
]


@pytest.mark.parametrize(("options", "code", "why"), WRONG)
def test_wrong_words(options, code, why):
    assert why in words(run("excite", "elbow-3r", *SMALL, *options, code=code).output)
