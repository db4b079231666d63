"""The command line: each command's normal run, its JSON, and wrong uses with their messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.cli import COMMANDS, main


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


def data(*arguments: str):
    return json.loads(run(*arguments, "--json").stdout)


def test_help():
    assert all(command in run("--help").output for command in COMMANDS)
    for command in COMMANDS:
        assert "Example" in run(command, "--help").output
    assert dl.__version__ in run("--version").output


def test_robots():
    out = run("robots").output
    assert all(name in out for name in dl.robots.names())
    rows = {row["name"]: row for row in data("robots")}
    assert rows["scara"]["kinds"] == "RRPR" and rows["panda"]["joints"] == 7


def test_info():
    out = run("info", "panda").output
    assert "7 joints" in out and "panda_joint4" in out and "−3.0718" in out
    card = data("info", "panda")
    assert card["tip"] == "panda_link8" and len(card["joints"]) == 7
    assert data("info", "planar-2r")["joints"][0]["lower"] is None  # no infinity in JSON
    assert data("info", "puma560")["warnings"]


def test_closed_chains_are_told():
    row = next(row for row in data("robots") if row["name"] == "stewart")
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
    refused = run("convert", "four-bar", "--to", "dh", code=1).output
    assert "robot 'four-bar' has 1 loop: a table of joints has none" in refused


def test_dynamics():
    out = run("dynamics", "planar-2r", "--q", "30deg,60deg", "--qd", "1 0").output
    assert "2.1667" in out and "e−1" not in out  # no rounding noise in tables
    d = data("dynamics", "planar-2r", "--q", "0.1,0.2", "--qd", "1,2", "--qdd", "3,4")
    arm = dl.load("planar-2r")
    assert np.allclose(d["tau"], arm.inverse_dynamics([0.1, 0.2], [1, 2], [3, 4]), rtol=1e-15)
    assert np.allclose(d["M"], arm.mass_matrix([0.1, 0.2]), rtol=1e-15)
    middle = data("dynamics", "panda")["q"]
    assert middle[3] == pytest.approx(-1.5708)
    free, rough = (data("dynamics", "puma560", "--qd", "1,1,1,1,1,1", *f)["tau"] for f in ((), ("--friction",)))
    assert rough[0] > free[0] + 5


def test_convert(tmp_path):
    q = np.random.default_rng(0).uniform(-1, 1, (4, 7))
    arm = dl.load("panda")
    for suffix in ("urdf", "toml"):
        file = tmp_path / f"arm.{suffix}"
        assert f"written to {file}" in run("convert", "panda", "-o", str(file)).output
        assert np.array_equal(dl.load(file).mass_matrix(q), arm.mass_matrix(q))
        assert run("convert", "panda", "--to", suffix).output.strip() == file.read_text().strip()
        assert data("convert", "panda", "--to", suffix)["text"] == file.read_text()
    assert "modified DH" in run("convert", "ur5e", "--to", "modified-dh").output
    table = data("convert", "puma560", "--to", "dh")
    assert [row["a"] for row in table["rows"]] == pytest.approx([0, 0.4318, 0.0203, 0, 0, 0])
    screws = data("convert", "planar-2r", "--to", "screws")
    assert screws["axes"] == [[0, 0, 0, 0, 0, 1], [0, -1, 0, 0, 0, 1]]
    assert "ω_z" in run("convert", "planar-2r", "--to", "screws").output


WRONG = {
    "no such command": (("inf", "panda"), 2, "there is no command 'inf'; did you mean 'info'?"),
    "info: unknown robot": (("info", "pandas"), 1, "unknown robot 'pandas'; did you mean 'panda'?"),
    "info: no such file": (("info", "arm.urdf"), 1, "arm.urdf: there is no such file"),
    "info: unknown tip": (("info", "panda", "--tip", "panda_link9"), 1, "unknown frame 'panda_link9'"),
    "info: nothing given": (("info",), 2, "Missing argument 'ROBOT'"),
    "robots: too much": (("robots", "panda"), 2, "unexpected extra argument"),
    "robots: unknown option": (("robots", "--jso"), 2, "No such option"),
    "dynamics: too few": (("dynamics", "panda", "--q", "1,2"), 2, "7 numbers are needed, one per joint; got 2"),
    "dynamics: not a number": (("dynamics", "planar-1r", "--q", "x"), 2, "'x' is not a number"),
    "dynamics: unknown robot": (("dynamics", "r2d2"), 1, "unknown robot 'r2d2'; choose from"),
    "convert: to what": (("convert", "panda"), 2, "say which format with --to"),
    "convert: unknown format": (("convert", "panda", "--to", "mjcf"), 2, "'mjcf' is not one of"),
    "convert: a table to a file": (("convert", "panda", "--to", "dh", "-o", "x.txt"), 2, "goes to the screen"),
    "convert: no such folder": (("convert", "panda", "-o", "no/such/arm.urdf"), 1, "cannot be written: No such file"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG.values(), ids=WRONG)
def test_wrong_use(arguments, code, words):
    result = run(*arguments, code=code)
    assert words in result.output
    assert "Traceback" not in result.output


def test_broken_files_are_told_in_one_line(tmp_path: Path):
    file = tmp_path / "broken.urdf"
    file.write_text('<robot name="x"><link name="a"></robot>')
    result = run("info", str(file), code=1)
    assert result.output.startswith("Error: ") and "broken.urdf:1:" in result.output
    assert result.output.count("\n") == 1


def test_warnings_go_to_standard_error(tmp_path: Path):
    file = tmp_path / "loose.urdf"
    file.write_text(
        '<robot name="x"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 2"/></joint></robot>'
    )
    result = run("info", str(file), "--json")
    assert "warning: " in result.stderr and "axis" in result.stderr
    assert json.loads(result.stdout)["name"] == "x"


def test_as_a_program():
    out = subprocess.run(
        [sys.executable, "-m", "dalembert", "info", "nosuch"], capture_output=True, text=True, check=False
    )
    assert out.returncode == 1 and out.stderr.startswith("Error: unknown robot 'nosuch'") and not out.stdout


def test_export(tmp_path):
    out = run("export", "planar-2r").output
    assert "void planar_2r_inverse_dynamics(" in out and "#include <math.h>" in out
    files = ("--kernel", "fk", "--kernel", "mass_matrix", "-o", str(tmp_path / "new"))
    assert "written to" in run("export", "scara", *files).output
    names = sorted(f.name for f in (tmp_path / "new").iterdir())
    assert names == ["scara_fk.c", "scara_fk.h", "scara_mass_matrix.c", "scara_mass_matrix.h"]
    exported = data("export", "planar-2r", "--lang", "numpy", "--kernel", "mass_matrix")["files"]
    space: dict = {}
    exec(exported["planar_2r_mass_matrix.py"], space)
    q = [0.1, 0.2]
    assert np.allclose(space["planar_2r_mass_matrix"](q), dl.load("planar-2r").mass_matrix(q), rtol=1e-14)
    assert "unknown kernel 'massmatrix'" in run("export", "scara", "--kernel", "massmatrix", code=1).output
    assert "'java' is not one of" in run("export", "scara", "--lang", "java", code=2).output
    (tmp_path / "file").write_text("")
    blocked = run("export", "scara", "-o", str(tmp_path / "file" / "x"), code=1).output
    assert "cannot be written" in blocked


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "kernels"))
    assert data("cache") == {"folder": str(tmp_path / "kernels"), "kernels": 0, "bytes": 0, "removed": 0}
    dl.load("planar-1r").mass_matrix([0.0])
    assert "1 kernels" in run("cache").output
    (tmp_path / "kernels" / "mine.txt").write_text("not a kernel")
    assert "removed 1 kernels" in run("cache", "--clear").output
    assert [f.name for f in (tmp_path / "kernels").iterdir()] == ["mine.txt"]  # only what is its own
    monkeypatch.setenv("DALEMBERT_CACHE", "")
    assert "turned off" in run("cache").output
    assert "unexpected extra argument" in run("cache", "panda", code=2).output


def test_equations(tmp_path):
    assert "M11 = a + 2*b*c2" in run("equations", "planar-2r").output
    assert run("equations", "puma560", "--of", "det").stdout.strip().endswith("(a2*c2 + a3*c23 - d4*s23)")
    assert "cos(q1 + q2)" in run("equations", "planar-2r", "--of", "M12,g", "--physical", "--long").output
    assert "M_{11} &= a + 2 b c_{2}" in run("equations", "planar-2r", "--format", "latex").output
    assert "cos(q2)" in run("equations", "planar-2r", "--of", "M", "--format", "sympy").output
    assert "which coordinates" in run("equations", "panda").output
    assert "m2" in run("equations", "planar-2r", "--symbolic", "m2,g", "--of", "tau").output
    file = tmp_path / "arm.tex"
    assert f"wrote {file}" in run("equations", "planar-2r", "--document", "latex", "-o", str(file)).output
    assert "\\end{document}" in file.read_text()
    right, wrong = "I2 + m2*(r2**2 + l1*r2*cos(q2))", "I2 + m2*(r2**2 + l1*r2*sin(q2))"
    assert "M12 is right." in run("equations", "planar-2r", "--check", "M12", right).output
    assert "sin(q2) should be cos(q2)" in run("equations", "planar-2r", "--check", "M12", wrong, code=1).output
    got = data("equations", "planar-2r")
    assert got["entries"]["M22"] == "d" and got["parameters"]["l1"]["value"] == 1.0
    for wrong_use, words in (
        (("--of", "Q"), "unknown quantity 'Q'"),
        (("--of", "M19"), "there is no M19"),
        (("--symbolic", "m9"), "unknown parameter 'm9'"),
        (("--check", "M12", "I2 +"), "is no formula"),
    ):
        assert words in run("equations", "planar-2r", *wrong_use, code=1).output
