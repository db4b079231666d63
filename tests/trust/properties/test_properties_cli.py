"""dalembert properties: its normal run, its JSON, and wrong uses with their messages."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.findings import write_json


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(main, ["properties", *arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


def test_normal_run():
    out = run("planar-2r", "--states", "10").output
    assert "22 properties, 20 proved, 1 holds, 1 does not apply; 10 states measured" in out
    assert "skew symmetry" in out and "proved as an identity" in out
    full = run("planar-2r", "--only", "skew symmetry", "--q0", "30deg,60deg", "--qd0", "1,2").output
    assert "violation at the states given" in full and "Source: [Poonawala]" in full
    assert "measured at 201 states" in full


def test_json():
    data = json.loads(run("planar-2r", "--states", "10", "--json").stdout)
    assert data["ok"] and len(data["findings"]) == 22 and data["source"] == "planar-2r"
    mine = dl.properties.lab(dl.load("planar-2r"), states=10)
    assert data == {"schema": 1} | json.loads(write_json(mine.data()))


def test_choices():
    out = run("planar-2r", "--only", "choices", "--states", "10").output
    assert "mdot-u/2" in out and "2 functions of q are free; 0 if Ṁ − 2C is to stay skew" in out
    data = json.loads(run("panda", "--only", "choices", "--states", "5", "--method", "numeric", "--json").stdout)
    assert data["free_skew"] == 35
    rows = {row["choice"]: row for row in data["choices"]}
    assert rows["bodywise"]["skew"] and not rows["bodywise"]["standard"] and not rows["ut-u/2"]["skew"]
    assert np.isfinite(rows["rank-one"]["violations"]["skew"])


def test_plot(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / "books.svg"
    result = run("planar-2r", "--only", "passivity", "--plot", str(path))
    assert path.read_text().lstrip().startswith("<?xml") and "wrote" in result.stderr
    assert "its name must end in .png, .svg or .pdf" in run("planar-2r", "--plot", "books.txt", code=2).output


def test_what_fails_is_an_error(tmp_path):
    path = tmp_path / "idle.toml"
    ball = dl.describe.Inertial(1.0, (0.1, 0, 0, 0.1, 0, 0.1))
    with pytest.warns(dl.ModelWarning):
        path.write_text(
            dl.Robot.from_dh([dl.describe.DHRow(a=1.0, inertial=ball), dl.describe.DHRow(a=1.0)], name="idle").to_toml()
        )
    result = run(str(path), "--states", "5", code=1)
    assert "idle does not have these properties: positive definite mass matrix" in result.output
    assert "nothing resists" in result.output


def test_wrong_uses():
    assert "did you mean 'skew symmetry'?" in run("planar-2r", "--only", "skew symetry", code=2).output
    assert "would let its joints move freely" in run("four-bar", code=1).output
    assert "of the tree" not in run("four-bar", "--tree", "--states", "5").output
    assert "2 numbers are needed" in run("planar-2r", "--q0", "1", code=2).output
    assert "--q0" in run("planar-2r", "--qd0", "1,2", code=2).output
    assert "--only" in run("planar-2r", "--only", "choices,passivity", code=2).output
    assert "--states" in run("planar-2r", "--states", "0", code=2).output
    assert "did you mean 'planar-2r'" in run("planar-2", code=2).output
