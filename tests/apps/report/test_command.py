"""`dalembert report`: its normal run, its JSON, wrong uses with their messages."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main
from dalembert.apps.report import page
from dalembert.apps.report.context import Section
from dalembert.apps.report.page import SECTIONS

SOME = ("--quick", "--only", "robot,frames,findings")


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(main, ["report", *arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_report_is_written_and_named(tmp_path):
    result = run("planar-2r", *SOME)
    assert "wrote planar-2r.html (" in result.stdout and "no problems" in result.stdout
    assert (tmp_path / "planar-2r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    run("planar-2r", *SOME, "-o", "other.html")
    assert (tmp_path / "other.html").is_file()


def test_json():
    data = json.loads(run("scara", *SOME, "--json").stdout)
    assert data["robot"] == "scara" and data["path"] == "scara.html" and data["size"] > 10_000
    assert [s["name"] for s in data["sections"]] == ["robot", "frames", "findings"]


def test_it_opens_the_page(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr("click.launch", lambda url: opened.append(url))
    run("planar-2r", *SOME, "--open")
    assert opened == [(tmp_path / "planar-2r.html").resolve().as_uri()]


def test_a_section_that_failed_is_told_and_counts(monkeypatch, tmp_path):
    rows = tuple(Section("frames", "Frames", lambda c: 1 // 0) if s.name == "frames" else s for s in SECTIONS)
    monkeypatch.setattr(page, "SECTIONS", rows)
    result = run("planar-2r", "--only", "frames", code=1)
    assert "warning: section 'frames' failed; the page says why" in result.stderr
    assert (tmp_path / "planar-2r.html").is_file()


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (("planar-3x",), 2, "unknown robot 'planar-3x'; did you mean"),
        (("planar-2r", "--only", "equatoins"), 2, "unknown section 'equatoins'; did you mean 'equations'?"),
        (("planar-2r", "--only", ","), 1, "sections"),
        (("planar-2r", "--seconds", "0"), 2, "--seconds"),
        (("planar-2r", "--seconds", "soon"), 2, "'soon' is not a"),
        (("planar-2r", "-o", "nowhere/r.html"), 1, "cannot be written: No such file or directory"),
        (("planar-2r", "-o", "r.pdf"), 2, "r.pdf: its name must end in .html or .htm"),
        (("planar-2r", "--seconds", "nan"), 2, "nan is not a finite number"),
        (("planar-2r", "--tip", "hand"), 2, "unknown frame 'hand'"),
        ((), 2, "Missing argument 'ROBOT'"),
    ],
)
def test_wrong_uses(arguments, code, words, tmp_path):
    result = run(*arguments, code=code)
    assert words in " ".join(result.stderr.split()) and list(tmp_path.iterdir()) == []
