"""dalembert fk and ik."""

from __future__ import annotations

import math

import numpy as np
import pytest
from invoking import data, run

import dalembert as dl


def test_fk():
    out = run("fk", "planar-2r", "--q0", "30deg,60deg").output
    assert "0.86603" in out and "1.5" in out and "90" in out and "T of 'tool'" in out
    arm, q = dl.load("panda"), [0.1, 0.2, 0.3, -1.0, 0.5, 2.0, 0.7]
    got = data("fk", "panda", "--q0", ",".join(map(str, q)))
    (tip,) = got["poses"]
    assert got["q"] == q and got["seen_from"] == "panda_link0" and tip["frame"] == "panda_link8"
    T = arm.fk(q)
    assert np.allclose(tip["T"], T, rtol=1e-14) and np.allclose(tip["xyz"], T[:3, 3])
    assert np.allclose(dl.pose(tip["xyz"], tip["rpy"]), T, atol=1e-14)


def test_fk_of_other_frames():
    every = data("fk", "panda", "--all")
    assert [p["frame"] for p in every["poses"]] == list(dl.load("panda").frames)
    assert "T of" not in run("fk", "panda", "--all").output
    two = data("fk", "panda", "--frame", "panda_link3", "--frame", "panda_link5", "--seen-from", "panda_link3")
    assert np.allclose(two["poses"][0]["T"], np.eye(4), atol=1e-15)
    arm = dl.load("panda")
    assert np.allclose(two["poses"][1]["T"], arm.transform(two["q"], "panda_link3", "panda_link5"), atol=1e-14)
    assert data("fk", "panda", "--tip", "panda_link4")["poses"][0]["frame"] == "panda_link4"


FORK = '<robot name="fork"><link name="a"/>{}</robot>'
PRONG = """<link name="b{0}"/><joint name="j{0}" type="continuous"><parent link="a"/><child link="b{0}"/>
<axis xyz="0 0 1"/></joint>"""


def test_several_tips(tmp_path):
    file = tmp_path / "fork.urdf"
    file.write_text(FORK.format(PRONG.format(1) + PRONG.format(2)))
    assert "'fork' has several ends, b1, b2: say which with --tip" in run("fk", file, code=2).output
    assert "say which with --tip" in run("ik", file, "--xyz", "0,0,0", code=2).output
    assert data("fk", file, "--tip", "b2")["poses"][0]["frame"] == "b2"


def test_ik():
    arm, target = dl.load("panda"), dl.pose((0.4, 0.1, 0.5), (math.pi, 0.0, 0.0))
    where = ("ik", "panda", "--xyz", "0.4,0.1,0.5", "--rpy", "180deg,0,0")
    got = data(*where)
    assert got["converged"] and got["rows"] == "pose" and np.allclose(got["T"], target, atol=1e-15)
    assert np.allclose(arm.fk(got["q"]), target, atol=1e-6)
    assert (np.array(got["q"]) >= arm.limits.lower).all() and (np.array(got["q"]) <= arm.limits.upper).all()
    out = run(*where).output
    assert "panda_joint4" in out and "converged; off by" in out
    start = [0.2, -0.3, 0.4, -2.0, 0.3, 2.0, 0.5]  # another start, another solution of the seven joints
    other = data(*where, "--q0", ",".join(map(str, start)))
    assert other["converged"] and np.abs(np.array(other["q"]) - got["q"]).max() > 1e-3
    assert data(*where, "--secondary", "limits")["converged"] and data(*where, "--axis", "z")["converged"]


def test_ik_of_a_position_and_of_an_orientation():
    got = data("ik", "planar-2r", "--xyz", "1.2,0.5,0")
    assert got["rows"] == "position" and got["converged"]
    assert np.allclose(dl.load("planar-2r").fk(got["q"])[:3, 3], (1.2, 0.5, 0.0), atol=1e-6)
    turned = data("ik", "panda", "--rpy", "90deg,0,0")
    assert turned["rows"] == "orientation" and turned["converged"]
    flat = data("ik", "planar-3r", "--xyz", "1.5,0.5,0", "--rpy", "0,0,30deg", "--rows", "planar")
    T = dl.load("planar-3r").fk(flat["q"])
    assert flat["converged"] and math.atan2(T[1, 0], T[0, 0]) == pytest.approx(math.radians(30), abs=1e-6)


def test_every_solution():
    where = ("ik", "ur5e", "--xyz", "0.4,0.2,0.3", "--rpy", "180deg,0,0", "--all")
    got, target = data(*where), dl.pose((0.4, 0.2, 0.3), (math.pi, 0.0, 0.0))
    arm = dl.load("ur5e")
    assert len(got["q"]) == arm.ik_all(target).count == 8
    assert np.allclose(arm.fk(got["q"]), target, atol=1e-9)
    out = run(*where).output
    assert "8 solutions of 8 branches" in out and "off by" in out


def test_out_of_reach_is_exit_code_one():
    far = data("ik", "planar-2r", "--xyz", "5,0,0", code=1)
    assert not far["converged"] and far["position_error"] == pytest.approx(3.0)
    assert "the nearest that was found" in run("ik", "planar-2r", "--xyz", "5,0,0", code=1).output
    hint = run("ik", "planar-2r", "--xyz", "1,1,0", "--rpy", "1,1,1", code=1).output
    assert "2 joints do not reach every pose: --rows position or planar" in hint
    none = data("ik", "puma560", "--xyz", "9,0,0", "--rpy", "0,0,0", "--all", code=1)
    assert none["q"] == [] and "out of reach" in none["why"]
    assert "no solution" in run("ik", "puma560", "--xyz", "9,0,0", "--rpy", "0,0,0", "--all", code=1).output
