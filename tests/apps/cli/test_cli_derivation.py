"""dalembert derive."""

from __future__ import annotations

from invoking import data, run

import dalembert as dl


def test_methods_and_numbers():
    assert "Equation of joint 2" in run("derive", "planar-2r").output
    assert "Denavit–Hartenberg table" in run("derive", "elbow-3r", "--method", "kinematics").output
    modified = run("derive", "elbow-3r", "--method", "kinematics", "--convention", "modified").output
    assert "modified convention" in modified
    assert "D = ⎡" in run("derive", "planar-2r", "--letters", "spong").output
    assert "L₁ c₁" in run("derive", "planar-2r-points", "--names", "l=L", "--same", "r1=l1").output
    numbers = run(
        "derive", "planar-2r", "--method", "newton-euler", "--q0", "30deg,45deg", "--qd0", "1,0.5", "--qdd", "0,0"
    ).output
    assert "τ₁ = 13.571" in numbers and "τ₂ = 1.6231" in numbers


def test_other_systems():
    assert "λ" in run("derive", "four-bar").output
    assert "Equations of motion of cart-pole" in run("derive", "cart-pole").output


def test_names_that_are_none():
    assert "did you mean 'cart-pole'?" in run("derive", "cartpole", code=2).stderr
    assert "--q0" in run("derive", "panda", "--method", "newton-euler", code=2).stderr
    twice = run("derive", "planar-2r", "--names", "r1=x1,r1=y1", code=2).stderr
    assert "--names has two values for r1" in twice


def test_what_is_folded_and_files(tmp_path):
    folded, every = run("derive", "planar-2r").output, run("derive", "planar-2r", "--all").output
    assert "by --all" in folded and "Jc₁" not in folded and "Jc₁" in every
    file = tmp_path / "arm.html"
    assert f"wrote {file}" in run("derive", "planar-2r", "-o", file).output
    assert file.read_text() == dl.load("planar-2r").equations().derivation().html()
    run("derive", "planar-2r", "--format", "latex", "-o", tmp_path / "arm.txt")
    assert "\\end{document}" in (tmp_path / "arm.txt").read_text()
    assert data("derive", "planar-2r", "--symbolic", "m2,g")["title"] == "Equations of motion of planar-2r, by Lagrange"


def test_a_derivation_of_ones_own_is_judged(tmp_path):
    file = tmp_path / "homework.txt"
    file.write_text("K1 = ½ (I1 + m1 r1²) q̇1²\nM12 = I2 + m2 r2² + m2 l1 r2 s2\nM22 = I2 + m2 r2²\n")
    said = run("derive", "planar-2r", "--check", file, code=1).output
    assert "The first mistake is in line 2, M12." in said and "s2 should be c2" in said
    assert data("derive", "planar-2r", "--check", file, code=1)["first"] == 2
    file.write_text("M22 = I2 + m2 r2²\n")
    assert "This step is right." in run("derive", "planar-2r", "--check", file).output
