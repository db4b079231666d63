"""dalembert equations and bounds."""

from __future__ import annotations

import numpy as np
from invoking import data, run

import dalembert as dl


def test_equations(tmp_path):
    assert "M11 = a + 2*b*c2" in run("equations", "planar-2r").output
    assert run("equations", "puma560", "--only", "det").stdout.strip().endswith("(a2*c2 + a3*c23 - d4*s23)")
    assert "cos(q1 + q2)" in run("equations", "planar-2r", "--only", "M12,g", "--expand", "lumps,angles").output
    assert "M_{11} &= a + 2 b c_{2}" in run("equations", "planar-2r", "--format", "latex").output
    assert "cos(q2)" in run("equations", "planar-2r", "--only", "M", "--format", "sympy").output
    assert "which coordinates" in run("equations", "panda").output
    assert "m2" in run("equations", "planar-2r", "--symbolic", "m2,g", "--only", "tau").output
    file = tmp_path / "arm.tex"
    assert f"wrote {file}" in run("equations", "planar-2r", "--format", "latex", "-o", file).output
    assert "M_{11}" in file.read_text()
    got = data("equations", "planar-2r")
    assert got["entries"]["M22"] == "d" and got["parameters"]["l1"]["value"] == 1.0


def test_a_derivation_is_checked():
    right, wrong = "I2 + m2*(r2**2 + l1*r2*cos(q2))", "I2 + m2*(r2**2 + l1*r2*sin(q2))"
    assert "M12 is right." in run("equations", "planar-2r", "--check", f"M12 = {right}").output
    assert "sin(q2) should be cos(q2)" in run("equations", "planar-2r", "--check", f"M12={wrong}", code=1).output
    assert data("equations", "planar-2r", "--check", f"M12={wrong}", code=1)["equal"] is False


def test_what_is_too_long_to_read_goes_to_a_file(tmp_path):
    file = tmp_path / "panda.txt"
    assert "-o FILE writes them" in run("equations", "panda", "--only", "M", code=1).output
    run("equations", "panda", "--only", "M", "-o", file)
    lines = dict(line.split(" = ") for line in file.read_text().splitlines()[1:])
    assert len(lines) == 49 and lines["M77"].count("*") > 2
    arm = dl.load("panda")
    assert arm.equations().compare("M67", lines["M76"])


def test_a_closed_chain_is_told_where_its_equations_are():
    assert "dalembert.lagrange.examples.EXAMPLES['five-bar']()" in run("equations", "five-bar", code=1).output
    other = run("equations", "delta", code=1).output
    assert "dalembert.Constrained(robot).equations()" in other and "EXAMPLES" not in other


def test_an_entry_is_named_with_all_its_indices():
    assert "M is 2×2" in run("equations", "planar-2r", "--check", "M=a", code=2).output
    assert "M2 is 2×1" in run("equations", "planar-2r", "--check", "M2=a", code=2).output
    assert "as in Gamma111" in run("equations", "planar-2r", "--check", "Gamma=a", code=2).output


def test_bounds():
    arm = dl.load("planar-2r")
    got = {row["name"]: row for row in data("bounds", "planar-2r", "--only", "mu2", "--gap", "0.1")["findings"]}
    q = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    assert np.linalg.eigvalsh(arm.mass_matrix(q)).max() <= got["mu2"]["certified"]
    out = run("bounds", "planar-2r", "--only", "mu2", "--gap", "0.1").output
    assert "mu2" in out and "≤" in out
    assert "planar-2r" in run("bounds", "planar-2r", "--method", "symbolic").output or "mu2" in out
