"""Every example in a help text runs, in a folder with the files that examples name."""

from __future__ import annotations

import re
import shlex

import click
import numpy as np
import pytest
from click.testing import CliRunner
from invoking import WIDE, leaves, run
from test_cli_docs import SHOWN

import dalembert as dl
from dalembert.apps.cli import main

# Examples that take longer than a few seconds run in the nightly tests.
LONG = {"bounds", "compare", "excite", "firmware", "identify", "observe", "plan", "report", "tune", "verify", "export"}
NO = {  # exit code 1 by design: the answer is no
    "dalembert exercise grade compose-rotations",
    "dalembert exercise grade ada-answers.toml",
    "dalembert derive planar-2r --check homework.txt",
    "dalembert check robot.urdf",
}
HELD_STILL = ("studio",)  # it serves until it is interrupted


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that examples read."""
    monkeypatch.chdir(tmp_path)
    arm = dl.load("planar-2r")
    for name in ("robot", "arm", "other", "identified"):
        (tmp_path / f"{name}.urdf").write_text(arm.to_urdf())
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "arm.urdf").write_text(arm.to_urdf())
    (tmp_path / "homework.txt").write_text("M22 = I2 + m2 r2²\n")
    (tmp_path / "world.toml").write_text('[[sphere]]\nname = "ball"\nradius = 0.05\nxyz = [3, 0, 1]\n')
    (tmp_path / "students.csv").write_text("name\nAda\n")
    (tmp_path / "ada-answers.toml").write_text('[[exercise]]\nfamily = "compose-rotations"\nseed = 7\n')
    (tmp_path / "handed-in").mkdir()
    (tmp_path / "handed-in" / "ada.toml").write_text((tmp_path / "ada-answers.toml").read_text())
    run("convert", "planar-2r", "--format", "dh", "-o", "arm_dh.toml")
    run("exercise", "make", "compose-rotations", "--class", "students.csv", "-o", "sheets")
    (tmp_path / "variants.csv").write_text((tmp_path / "sheets" / "variants.csv").read_text())
    for seed, name in enumerate(("log.csv", "quiet.csv")):
        write_log(arm, tmp_path / name, seed)
    return tmp_path


def write_log(arm, path, seed):
    """A log of many sines, with noise."""
    rng, t = np.random.default_rng(seed), np.arange(6000) / 100
    w, a, p = rng.uniform(0.5, 3, (6, 2)), rng.normal(0, 0.3, (6, 2)), rng.uniform(0, 6, (6, 2))
    angle = t[:, None, None] * w + p
    q, qd, qdd = ((a * np.sin(angle)).sum(1), (a * w * np.cos(angle)).sum(1), (-a * w**2 * np.sin(angle)).sum(1))
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.2 * rng.normal(size=q.shape)
    table = np.column_stack([t, q, qd, tau])
    np.savetxt(path, table, delimiter=",", header="t,q1,q2,qd1,qd2,tau1,tau2", comments="", fmt="%.9g")


def marked(name):
    return pytest.param(name, marks=[pytest.mark.long] if name[0] in LONG else [], id=" ".join(name))


@pytest.mark.parametrize("name", [marked(name) for name in leaves() if name[0] not in HELD_STILL])
def test_examples_in_help_run(name, folder, monkeypatch):
    monkeypatch.setattr(click, "launch", lambda *_: 0)
    help_ = run(*name, "--help").output
    examples = SHOWN.findall(help_[help_.index("Example") :].partition("Options:")[0])
    for line in examples:
        result = CliRunner().invoke(main, shlex.split(line)[1:], env=WIDE, prog_name="dalembert")
        assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exception)
        allowed = (0, 1) if re.sub(r" --answer.*| --seed \d+", "", line).strip() in NO else (0,)
        assert result.exit_code in allowed, (line, result.output)
