"""dalembert robots, info and dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from invoking import data, run

import dalembert as dl


def test_robots():
    result = run("robots")
    out = result.output
    assert result.stderr == ""  # what one robot's file is warned of is for who loads it
    assert all(name in out for name in dl.robots.names())
    rows = {row["name"]: row for row in data("robots")["robots"]}
    assert rows["scara"]["kinds"] == "RRPR" and rows["panda"]["joints"] == 7


def test_info_shows_moving_and_total_mass(tmp_path):
    def inertial(mass):
        return f'<inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'

    (tmp_path / "a.urdf").write_text(
        f'<robot name="a"><link name="trunk">{inertial(5)}</link><link name="leg">{inertial(2)}</link>'
        f'<link name="box">{inertial(0.5)}</link><joint name="j" type="continuous"><parent link="trunk"/>'
        '<child link="leg"/></joint><joint name="f" type="fixed"><parent link="trunk"/><child link="box"/></joint>'
        "</robot>"
    )
    assert "2 kg moving, 7.5 kg in total" in run("info", str(tmp_path / "a.urdf")).output
    card = data("info", str(tmp_path / "a.urdf"))
    assert (card["mass"], card["total_mass"]) == (2.0, 7.5)
    floating = dl.load(tmp_path / "a.urdf", base="floating")
    assert floating.mass == floating.total_mass == 7.5
    assert "in total" not in run("info", "planar-2r").output


def test_info():
    out = run("info", "panda").output
    assert "7 joints" in out and "panda_joint4" in out and "-3.0718" in out
    card = data("info", "panda")
    assert card["tip"] == "panda_link8" and len(card["joints"]) == 7
    assert data("info", "planar-2r")["joints"][0]["lower"] is None  # no infinity in JSON
    assert data("info", "puma560")["warnings"]


def test_closed_chains_are_told():
    row = next(row for row in data("robots")["robots"] if row["name"] == "stewart")
    assert row["loops"] == 6 and row["kinds"] == "PPPRRR" + "RRP" * 6
    card = data("info", "four-bar")
    assert card["loops"] == [
        {"name": "closure", "kind": "hinge", "first": "coupler", "second": "rocker", "length": None}
    ]
    assert card["home"] == dl.load("four-bar").home.tolist()
    out = run("info", "four-bar").output
    assert "Loops" in out and "closure" in out and "Loops" not in run("info", "panda").output
    assert data("dynamics", "four-bar")["q"] == card["home"]  # not the middle of the limits, which does not close
    assert "these are the terms of the tree" in run("dynamics", "four-bar").output


def test_dynamics():
    out = run("dynamics", "planar-2r", "--q0", "30deg,60deg", "--qd0", "1 0").output
    assert "2.1667" in out and "e-1" not in out  # no rounding noise in tables
    d = data("dynamics", "planar-2r", "--q0", "0.1,0.2", "--qd0", "1,2", "--qdd", "3,4")
    arm = dl.load("planar-2r")
    assert np.allclose(d["tau"], arm.inverse_dynamics([0.1, 0.2], [1, 2], [3, 4]), rtol=1e-15)
    assert np.allclose(d["M"], arm.mass_matrix([0.1, 0.2]), rtol=1e-15)
    middle = data("dynamics", "panda")["q"]
    assert middle[3] == pytest.approx(-1.5708)
    free, rough = (data("dynamics", "puma560", "--qd0", "1,1,1,1,1,1", *f)["tau"] for f in ((), ("--friction",)))
    assert rough[0] > free[0] + 5


def test_numbers_may_be_negative_and_zero():
    assert data("dynamics", "planar-2r", "--q0", "-0.5,0")["q"] == [-0.5, 0.0]
    assert data("dynamics", "panda", "--q0", "0,0,0,0,0,0,0")["q"] == [0.0] * 7  # not the middle of the limits
    printed = data("dynamics", "planar-2r", "--q0", "−1.5e−3 180°")["q"]  # as copied from a table
    assert printed == [-1.5e-3, pytest.approx(np.pi)]
