"""dalembert bounds: table, JSON, formulas, and wrong uses."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from dalembert.apps.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bounds", *arguments])


def test_table() -> None:
    result = run("planar-2r", "--only", "mu2,gravity_1")
    assert result.exit_code == 0, result.output
    assert "certified" in result.output and "μ₂" in result.output and "24.525" in result.output


def test_json() -> None:
    result = run("planar-2r", "--only", "coriolis_1", "--json")
    (bound,) = json.loads(result.stdout)["findings"]
    assert bound["attained"] <= bound["certified"] <= 1.05 * bound["attained"]
    assert len(bound["q"]) == len(bound["qd"]) == 2


def test_formulas() -> None:
    where = ("--method", "symbolic", "--limits", "lower=-90deg,-90deg", "--limits", "upper=90deg,90deg")
    assert "l1^2*m2 + 3*l1*m2*r2 + m1*r1^2 + 2*m2*r2^2" in run("planar-2r-points", *where).output
    found = json.loads(run("planar-2r-points", *where, "--json").stdout)
    assert found["coriolis_1"] == "l1*m2*r2"


def test_wrong_uses() -> None:
    result = run("planar-2r", "--only", "mu3")
    assert result.exit_code == 2 and "'mu3'" in result.output
    result = run("planar-2r", "--limits", "lower=0,0")
    assert result.exit_code == 2 and "--limits" in result.output
    result = run("planar-2r", "--limits", "lower=0,0", "--limits", "upper=1")
    assert result.exit_code == 2 and "--limits" in result.output
    result = run("planar-2r", "--gap", "-1")
    assert result.exit_code == 2 and "--gap" in result.output
    result = run("elbow-3r", "--method", "symbolic")
    assert result.exit_code == 1 and "there is no formula" in result.output
