"""`Finding` and `Report`: what every judge says, and how it is written for people and for machines."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import pytest

import dalembert as dl
from dalembert.errors import Place
from dalembert.findings import Edit, Finding, Report, Rule, sort_findings, write_json, write_junit, write_sarif

RULES = {name: Rule(name, "error", f"title {name}", f"why {name}") for name in ("R1", "R2", "units")}
LATE = Finding("R1", "warning", "too | long", "cut it", Place("arm.urdf", 9, 2), "link 'a'", "it matters")
EARLY = Finding("R2", "warning", "too short", "stretch it", Place("arm.urdf", 3), edits=(Edit(4, "size", "1"),))
PLAIN = Finding("units", "error", "torques are a thousand times too large", evidence=1000.0)
REPORT = Report("arm.urdf", sort_findings([LATE, EARLY, PLAIN]))


def test_a_finding_is_a_sentence():
    assert str(LATE) == "arm.urdf:9:2: warning R1: too | long; cut it"
    assert str(PLAIN) == "error: torques are a thousand times too large"
    assert (LATE.line, PLAIN.line, EARLY.fixable, LATE.fixable) == (9, None, True, False)
    assert str(Place()) == "<text>" and str(Place("f", 1)) == "f:1" and str(Place("f", 1, 2)) == "f:1:2"


def test_a_report_is_sorted_counted_and_judged():
    assert list(REPORT) == [PLAIN, EARLY, LATE] and REPORT[1] is EARLY and len(REPORT) == 3
    assert REPORT.errors == (PLAIN,) and REPORT.warnings == (EARLY, LATE) and REPORT.notes == ()
    assert REPORT.worst == "error" and REPORT.fails() and REPORT.of("R1") == (LATE,)
    assert REPORT.verdict == "1 error, 2 warnings, 0 notes"
    assert not Report("x", (LATE,)).fails() and Report("x", (LATE,)).fails("warning") and Report("x", ()).worst is None


def test_for_people():
    assert str(REPORT).splitlines()[:2] == ["arm.urdf:", "  error: torques are a thousand times too large"]
    assert str(Report("log.csv", ())) == "log.csv: nothing suspicious"
    title, _, head, _, *rows = REPORT.markdown().splitlines()
    assert title == "## arm.urdf: 1 error, 2 warnings, 0 notes" and head.count("|") == 6
    assert rows[2] == "| warning | R1 | 9 | too &#124; long | cut it |"
    assert Report("clean", ()).markdown() == "## clean: 0 errors, 0 warnings, 0 notes\n\n"


def test_for_machines():
    data = REPORT.data()
    assert json.loads(write_json(data)) == data and data["counts"] == {"error": 1, "warning": 2, "note": 0}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(math.nan)
    (run,) = json.loads(write_sarif([REPORT], RULES, "a judge"))["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["units", "R2", "R1"]
    place = run["results"][2]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "arm.urdf"}, "region": {"startLine": 9, "startColumn": 2}}
    assert run["tool"]["driver"]["name"] == "a judge" and run["tool"]["driver"]["version"] == dl.__version__
    suites = ElementTree.fromstring(write_junit([(REPORT, 0.5), (Report("clean", ()), 0.0)], "a judge"))
    assert (suites.get("tests"), suites.get("failures")) == ("4", "3")
    assert [s.get("time") for s in suites] == ["0.5000", "0.0000"]


def test_every_judge_fills_the_same_type():
    arm = dl.load("planar-2r")
    judged = [
        dl.check(arm).findings,
        dl.verify(arm, states=4, without=["mujoco", "pinocchio", "drake"]).findings,
        dl.properties.lab(arm, states=4, symbols=False).findings,
    ]
    assert all(isinstance(finding, Finding) for findings in judged for finding in findings)
    assert dl.properties.lab(arm, states=4, symbols=False)[0].finding.severity == "note"
