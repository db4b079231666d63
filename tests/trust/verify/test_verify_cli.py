"""dalembert verify: its normal run, its JSON, its exit codes, and wrong uses with their messages."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main
from trust.verify.array_kernels import on_arrays
from trust.verify.gripper_arm import GRIPPER_ARM

QUICK = ("--states", "8", "--without", "mujoco")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    on_arrays(monkeypatch)


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(main, ["verify", *arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


def test_normal_run(tmp_path: Path):
    out = run("rp", *QUICK).output
    assert "rp: all agree" in out and "Newton–Euler" in out and "Pinocchio" in out
    assert "absent: MuJoCo: skipped as requested" in out and "agrees" in out
    every = run("rp", *QUICK, "--all", "-o", str(tmp_path / "certificate.json")).output
    assert "kinetic energy K" in every and "agrees" in every
    assert json.loads((tmp_path / "certificate.json").read_text())["ok"] is True


def test_json():
    data = json.loads(run("rp", *QUICK, "--seed", "3", "--json").stdout)
    assert data["ok"] is True and data["facts"]["seed"] == 3 and data["facts"]["states"] == 8
    assert {row["quantity"] for row in data["findings"]} >= {
        "mass matrix M",
        "inverse dynamics τ",
        "forward dynamics q̈",
    }
    assert any(side["name"] == "mujoco" and not side["present"] for side in data["facts"]["methods"])


def test_a_file_that_cannot_be_written_is_said_before_the_run(tmp_path: Path, monkeypatch):
    module = import_module("dalembert.trust.verify.verify")
    monkeypatch.setattr(module, "verify", lambda *a, **k: pytest.fail("it was run"))
    assert "cannot be written: Is a directory" in run("rp", "-o", str(tmp_path), code=1).output


def test_other_limits_are_shown_and_the_exit_code_is_one(tmp_path: Path):
    one, two = tmp_path / "one.urdf", tmp_path / "two.urdf"
    one.write_text(GRIPPER_ARM)
    two.write_text(GRIPPER_ARM.replace('lower="-1.5"', 'lower="-1.4"'))
    out = run(str(one), "--against", str(two), *QUICK, "--without", "euler-lagrange", code=1).output
    assert "written differently: joint 'j2': lower -1.5 here, -1.4 there" in out and "all agree" not in out


def test_what_differs_is_shown_and_the_exit_code_is_one(tmp_path: Path):
    one, two = tmp_path / "one.urdf", tmp_path / "two.urdf"
    one.write_text(GRIPPER_ARM)
    two.write_text(GRIPPER_ARM.replace('rpy="0.3 -0.2 0.5"', ""))
    out = run(str(one), "--against", str(two), *QUICK, "--without", "euler-lagrange", code=1).output
    assert "What differs" in out and "finding: the other description" in out
    assert "likely cause: inertial rpy" in out and "'shoulder'" in out
    assert "written differently: link 'shoulder': inertial rpy (0.3, -0.2, 0.5) here, (0, 0, 0) there" in out
    data = json.loads(run(str(one), "--against", str(two), *QUICK, "--json", code=1).stdout)
    assert data["ok"] is False and data["facts"]["causes"][-1]["cause"] == "inertial rpy"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("pandas",), 2, "unknown robot 'pandas'; did you mean 'panda'"),
        (("nowhere.urdf",), 1, "there is no such file"),
        (("rp", "--without", "pinochio"), 2, "did you mean 'pinocchio'"),
        (("rp", "--states", "2"), 2, "2 is not in the range"),
        (("rp", "--states", "many"), 2, "not a valid integer"),
        (("rp", "--tip", "nowhere"), 2, "unknown frame 'nowhere'"),
        (("rp", "-o", "no/such/folder/c.json"), 1, "'no/such/folder/c.json' cannot be written"),
        ((), 2, "Missing argument 'ROBOT'"),
    ],
)
def test_wrong_use(arguments, code, says):
    assert says in run(*arguments, code=code).output
