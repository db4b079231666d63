"""dalembert convert and export: a robot in other formats."""

from __future__ import annotations

import numpy as np
import pytest
from invoking import data, run

import dalembert as dl


def test_urdf_and_toml(tmp_path):
    q = np.random.default_rng(0).uniform(-1, 1, (4, 7))
    arm = dl.load("panda")
    for suffix in ("urdf", "toml"):
        file = tmp_path / f"arm.{suffix}"
        assert f"written to {file}" in run("convert", "panda", "-o", file).output
        assert np.array_equal(dl.load(file).mass_matrix(q), arm.mass_matrix(q))
        assert run("convert", "panda", "--format", suffix).output.strip() == file.read_text().strip()
        assert data("convert", "panda", "--format", suffix)["text"] == file.read_text()


def test_tables_and_screws_on_the_screen():
    assert "modified DH" in run("convert", "ur5e", "--format", "modified-dh").output
    table = data("convert", "puma560", "--format", "dh")
    assert [row["a"] for row in table["rows"]] == pytest.approx([0, 0.4318, 0.0203, 0, 0, 0])
    screws = data("convert", "planar-2r", "--format", "screws")
    assert screws["axes"] == [[0, 0, 0, 0, 0, 1], [0, -1, 0, 0, 0, 1]]
    assert "ω_z" in run("convert", "planar-2r", "--format", "screws").output


@pytest.mark.parametrize("name", ["panda", "puma560", "scara", "stanford"])
def test_round_the_circle(name, tmp_path):
    """TOML → standard DH → modified DH → URDF → standard DH → TOML: the same robot all along."""
    arm = dl.load(name)
    x = np.random.default_rng(0).uniform(-1, 1, (3, 4, arm.n))
    tau, T = arm.inverse_dynamics(*x), arm.fk(x[0])
    source = name
    for file, target in (
        ("a.toml", "dh"),
        ("b.toml", "modified-dh"),
        ("c.urdf", "urdf"),
        ("d.toml", "dh"),
        ("e.toml", "toml"),
    ):
        run("convert", source, "--format", target, "-o", tmp_path / file)
        source = str(tmp_path / file)
        made = dl.load(source)
        assert np.allclose(made.inverse_dynamics(*x), tau, atol=1e-12 * np.abs(tau).max())
        assert np.allclose(made.fk(x[0]), T, atol=1e-13)  # of numbers up to two meters
        assert np.array_equal(made.limits.upper, arm.limits.upper)
        assert f"{target}" != "dh" or 'convention = "standard"' in (tmp_path / file).read_text()
    assert 'convention = "modified"' in (tmp_path / "b.toml").read_text()


def test_a_closed_chain_has_no_table():
    refused = run("convert", "four-bar", "--format", "dh", code=1).output
    assert "'four-bar' has 1 loop" in refused and "Robot.tree" in refused


def test_export(tmp_path):
    out = run("export", "planar-2r").output
    assert "void planar_2r_inverse_dynamics(" in out and "#include <math.h>" in out
    files = ("--kernel", "fk", "--kernel", "mass_matrix", "-o", tmp_path / "new")
    assert "written to" in run("export", "scara", *files).output
    names = sorted(f.name for f in (tmp_path / "new").iterdir())
    assert names == ["scara_fk.c", "scara_fk.h", "scara_mass_matrix.c", "scara_mass_matrix.h"]
    exported = data("export", "planar-2r", "--format", "numpy", "--kernel", "mass_matrix")["files"]
    space: dict = {}
    exec(exported["planar_2r_mass_matrix.py"], space)
    q = [0.1, 0.2]
    assert np.allclose(space["planar_2r_mass_matrix"](q), dl.load("planar-2r").mass_matrix(q), rtol=1e-14)
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run("export", "scara", "-o", tmp_path / "file" / "x", code=1).output


def test_export_for_javascript(tmp_path):
    assert (
        "planar_2r.wasm"
        in run("export", "planar-2r", "--format", "wasm", "--kernel", "fk", "-o", tmp_path / "p").output
    )
    assert (tmp_path / "p" / "planar_2r.wasm").read_bytes()[:4] == b"\0asm"
    assert "say where, as -o FOLDER" in run("export", "planar-2r", "--format", "wasm", code=2).output
    out = run("export", "five-bar", "--format", "wasm", "-o", tmp_path / "q", code=1).output
    assert "has 1 loop" in out and not (tmp_path / "q").exists()
