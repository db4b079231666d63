"""dalembert check: its run, its formats and exit codes, repairs, and wrong uses with their messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from broken import DEFECTS, GOOD, write
from click.testing import CliRunner

from dalembert.apps.cli import main
from dalembert.trust.doctor import RULES


def run(*arguments: object, code: int = 0):
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good", GOOD)


@pytest.fixture
def bad(tmp_path):
    """An error that can be repaired, and a warning that cannot."""
    text = DEFECTS["limits swapped"].text.replace('upper="0.04"', 'upper="40"')
    return write(tmp_path / "bad", text)


def test_a_clean_file(good):
    assert "0 errors, 0 warnings, 0 notes; loads" in run(good).output


def test_findings_for_people(bad):
    out = run(bad, code=1).output
    for words in ("error", "D305", "64", "swap them *", "D317"):
        assert words in out, words
    assert "Why it matters" in out and "No position satisfies both." in out
    assert "1 error, 1 warning, 0 notes; does not load" in out and "--fix -o FILE repairs" in out


def test_exit_codes(good, bad, tmp_path):
    warned = write(tmp_path / "warned", DEFECTS["limits in degrees"].text)
    for level, codes in {"error": (0, 0, 1), "warning": (0, 1, 1), "never": (0, 0, 0)}.items():
        for file, code in zip((good, warned, bad), codes, strict=True):
            run(file, "--fail-on", level, code=code)


def test_json_and_its_alias(bad):
    data = json.loads(run(bad, "--json", code=1).stdout)
    assert data == json.loads(run(bad, "--format", "json", code=1).stdout) | {"files": data["files"]}
    (file,) = data["files"]
    assert file["counts"] == {"error": 1, "warning": 1, "note": 0} and not file["facts"]["loads"]
    assert [(f["rule"], f["line"], f["fixable"]) for f in file["findings"]] == [("D305", 64, True), ("D317", 79, False)]


def test_sarif_and_junit(bad):
    log = json.loads(run(bad, "--format", "sarif", code=1).stdout)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["D305", "D317"]
    root = ElementTree.fromstring(run(bad, "--format", "junit", code=1).stdout.encode())
    assert root.get("failures") == "2"


def test_a_bundled_robot_and_rules():
    assert "panda: 0 errors" in run("panda").output
    table = run("--rules").output
    assert all(name in table for name in RULES)
    assert {row["rule"] for row in json.loads(run("--rules", "--json").stdout)["rules"]} == set(RULES)


def test_folders(good, bad, tmp_path):
    for k in range(70):
        write(tmp_path / "many", GOOD, f"{k}.urdf")
    out = run(tmp_path / "good", tmp_path / "bad", code=1).output
    assert "arm.urdf" in out and "D305" in out and "1 of 2" in out and "Summary" in out
    out = run(tmp_path / "many", tmp_path / "bad", code=1).output
    assert "… (70 files)" in out and "70 of 70" in out and "arm.urdf" in out  # one by one only what has errors
    out = run(tmp_path / "good", bad, "--all", code=1).output
    assert "swap them" in out and "Summary" in out
    data = json.loads(run(tmp_path, "--json", code=1).stdout)
    assert len(data["files"]) == 72 and data["loads"] == 71


def test_packages(tmp_path):
    file = write(tmp_path / "a", GOOD.replace("meshes/cube.stl", "package://shapes/meshes/cube.stl"))
    assert "D404" in run(file).output and "D404" not in run(file, "--no-meshes").output
    write(tmp_path / "b" / "shapes", GOOD)
    assert "D404" not in run(file, "--package-dir", tmp_path / "b").output


def test_names_that_are_no_text_do_not_stop_a_table(tmp_path):
    """A terminal that insists on UTF-8, and a name that is none."""
    for name in (os.fsdecode(b"\xff.urdf"), "a\x1b[2Jb.urdf"):
        write(tmp_path, DEFECTS["a mass in grams"].text, name)
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "dalembert", "check", str(tmp_path), "--all"]
    out = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=120)
    assert out.returncode == 0 and b"?.urdf" in out.stdout and b"\x1b" not in out.stdout, out.stderr


# repairs


def test_a_repaired_copy(bad, tmp_path):
    before, out = bad.read_bytes(), bad.with_name("out.urdf")
    said = run(bad, "--fix", "-o", out).output
    assert "1 repairs" in said and "'2.9' → '-2.9'" in said and f"written to {out}" in said
    assert "Left for you" in said and "D317" in said
    assert bad.read_bytes() == before
    assert out.read_text() == GOOD.replace('upper="0.04"', 'upper="40"')
    assert json.loads(run(out, "--json").stdout)["counts"] == {"error": 0, "warning": 1, "note": 0}
    run(bad, "--fix", "-o", tmp_path / "x.urdf", "--fail-on", "warning", code=1)  # what is left counts


def test_what_cannot_be_repaired_and_does_not_load_is_not_written(tmp_path):
    torn, out = write(tmp_path / "torn", DEFECTS["a file cut off"].text), tmp_path / "out.urdf"
    assert "nothing was written" in run(torn, "--fix", "-o", out, code=1).output
    assert json.loads(run(torn, "--fix", "-o", out, "--json", code=1).stdout)["output"] is None
    before = torn.read_bytes()
    run(torn, "--fix", "-o", torn, code=1)
    assert not out.exists() and torn.read_bytes() == before
    run(write(tmp_path / "good", GOOD), "--fix", "-o", out)
    assert out.read_text() == GOOD
    half = write(tmp_path / "half", DEFECTS["limits swapped"].text.replace('value="3.0"', 'value="-3.0"'))
    assert "it does not load" in run(half, "--fix", "-o", out, code=1).output  # the half that was repaired is kept
    assert "2.9" in out.read_text() and 'value="-3.0"' in out.read_text()


def test_repair_in_place_and_as_json(bad):
    os.chmod(bad, 0o640)
    data = json.loads(run(bad, "--fix", "-o", bad, "--json").stdout)
    assert [c["rule"] for c in data["changes"]] == ["D305"] and data["after"]["facts"]["loads"]
    assert 'lower="-2.9" upper="2.9"' in bad.read_text() and bad.stat().st_mode & 0o777 == 0o640
    assert "nothing that can be repaired" in run(bad, "--fix", "-o", bad).output


def test_a_repair_is_whole_or_not_there(bad, tmp_path):
    said = run(bad, "--fix", "-o", tmp_path / "no" / "such" / "x.urdf", code=1).output
    assert said.startswith("Error: ") and "cannot be written" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad"]


WRONG = {
    "nothing named": ((), 2, "name a file, a bundled robot or a folder"),
    "no such file": (("nothing.urdf",), 1, "nothing.urdf: there is no such file or folder"),
    "no such robot": (("pandas",), 2, "'panda'"),
    "unknown format": (("panda", "--format", "xml"), 2, "'xml' is not one of"),
    "unknown severity": (("panda", "--fail-on", "note"), 2, "'note' is not one of"),
    "fix to where": (("panda", "--fix"), 2, "--output"),
    "out without fix": (("panda", "-o", "x.urdf"), 2, "--fix"),
    "two files to fix": (("panda", "ur5e", "--fix", "-o", "x.urdf"), 2, "one file at a time"),
    "what is no URDF to fix": (("panda", "--fix", "-o", "x.urdf"), 1, "must be findings of a .urdf file"),
    "no such package folder": (("panda", "--package-dir", "nowhere"), 1, "nowhere"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG.values(), ids=WRONG)
def test_wrong_use(arguments, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, code=code)
    assert words in result.output and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_repaired(bad):
    assert "one file at a time" in run(bad.parent, "--fix", "-o", "x.urdf", code=2).output


def test_an_empty_folder(tmp_path):
    assert "there is no .urdf below" in run(tmp_path, code=1).output
