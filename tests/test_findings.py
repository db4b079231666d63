"""`Finding` and `Findings`: the result of every judge, for people and for machines."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import dalembert as dl
from dalembert.draw import html
from dalembert.errors import Place
from dalembert.findings import (
    WRITERS,
    Edit,
    Finding,
    Findings,
    Rule,
    sort_findings,
    write_json,
    write_junit,
    write_sarif,
)
from errors import raises

RULES = {name: Rule(name, "error", f"title {name}", f"why {name}") for name in ("R1", "R2", "units")}
LATE = Finding("R1", "warning", "too | long", "cut it", Place("arm.urdf", 9, 2), "link 'a'", "it matters")
EARLY = Finding("R2", "warning", "too short", "stretch it", Place("arm.urdf", 3), edits=(Edit(4, "size", "1"),))
PLAIN = Finding("units", "error", "torques are a thousand times too large", evidence=1000.0)
FOUND = Findings("arm.urdf", sort_findings([LATE, EARLY, PLAIN]))
CLEAN: Findings = Findings("clean", ())


def test_a_finding_is_a_sentence():
    assert str(LATE) == "arm.urdf:9:2: warning R1: too | long; cut it"
    assert str(PLAIN) == "error: torques are a thousand times too large"
    assert (LATE.line, PLAIN.line, EARLY.fixable, LATE.fixable) == (9, None, True, False)
    assert str(Place()) == "<text>" and str(Place("f", 1)) == "f:1" and str(Place("f", 1, 2)) == "f:1:2"


def test_findings_are_sorted_counted_and_judged():
    assert list(FOUND) == [PLAIN, EARLY, LATE] and FOUND[1] is EARLY and len(FOUND) == 3 and FOUND["R1"] is LATE
    assert FOUND.errors == (PLAIN,) and FOUND.warnings == (EARLY, LATE) and FOUND.notes == ()
    assert FOUND.worst == "error" and FOUND.fails() and FOUND.of("R1") == (LATE,)
    assert (FOUND.ok, FOUND.status) == (False, "error") and not FOUND
    one = Findings("x", (LATE,))
    assert one.ok and one and one.status == "warning" and one.fails("warning") and not one.fails()
    assert CLEAN.worst is None and CLEAN.status == "ok"
    with raises(dl.UnknownNameError, "unknown-name"):
        FOUND["R9"]


def test_for_people(capsys):
    lines = str(FOUND).splitlines()
    assert lines[0] == FOUND.message and [line.strip() for line in lines[1:]] == [str(row) for row in FOUND]
    title, _, head, _, *rows = FOUND.markdown().splitlines()
    assert title == f"## {FOUND.message}" and head.count("|") == 6
    assert rows[2] == "| warning | R1 | 9 | too &#124; long | cut it |"
    made = FOUND.table()
    assert capsys.readouterr().out == f"{made}\n" and len(made.rows) == 3 and made.rows[2][2] == 9
    frame = made.to_pandas()
    assert list(frame["rule"]) == ["units", "R2", "R1"]
    text = str(html.findings_table(FOUND))
    assert text.count('class="verdict') == 3 and FOUND._repr_html_().count('class="verdict') == 3


def test_for_machines(tmp_path):
    data = FOUND.data()
    assert json.loads(write_json(data)) == data and data["counts"] == {"error": 1, "warning": 2, "note": 0}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(math.nan)
    (run,) = json.loads(write_sarif([FOUND], RULES))["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["units", "R2", "R1"]
    place = run["results"][2]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "arm.urdf"}, "region": {"startLine": 9, "startColumn": 2}}
    assert run["tool"]["driver"]["name"] == "dalembert findings"
    assert run["tool"]["driver"]["version"] == dl.__version__
    suites = ElementTree.fromstring(write_junit([FOUND, CLEAN]))
    assert (suites.get("tests"), suites.get("failures")) == ("4", "3")


KEYS = {"schema", "kind", "source", "ok", "status", "message", "counts", "facts", "findings", "remarks"}
KINDS = {
    "check": lambda arm: dl.check(arm),
    "verify": lambda arm: dl.verify(arm, states=4, without=["mujoco", "pinocchio", "drake"]),
    "properties": lambda arm: dl.properties.lab(arm, states=4, symbols=False),
    "bounds": lambda arm: arm.bounds(["mu1", "mu2"]),
    "conditions": lambda arm: dl.control.ComputedTorque(arm, omega=8.0).conditions(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_judge_returns_findings(kind, tmp_path):
    """The documented keys, every format, and JSON that is read back and written again to the byte."""
    found = KINDS[kind](dl.load("planar-2r"))
    data = found.data()
    assert isinstance(found, Findings) and found.kind == kind and set(data) == KEYS
    assert data["schema"] == "dalembert-findings/1" and data["ok"] is found.ok is not found.fails()
    assert len(data["findings"]) == len(found) == len(found.cells().rows)
    for row, written in zip(found, data["findings"], strict=True):
        assert isinstance(row.finding, Finding) and found.of(row.name)
        assert {"rule", "severity", "message"} <= set(written) and written["severity"] == row.finding.severity
    for ending in WRITERS:
        assert found.save(tmp_path / f"found{ending}").stat().st_size > 0
    again = dl.read_findings(tmp_path / "found.json")
    assert (again.kind, again.source, again.ok, again.counts) == (kind, found.source, found.ok, found.counts)
    assert json.loads((tmp_path / "found.sarif").read_text())["version"] == "2.1.0"
    ElementTree.parse(tmp_path / "found.xml")
    with raises(dl.InputError, "unsupported path"):
        found.save(tmp_path / "found.doc")


def test_json_of_another_schema_is_refused(tmp_path):
    file = FOUND.save(tmp_path / "a.json")
    assert list(dl.read_findings(file))[2] == replace(LATE, evidence=LATE.data())
    for text in ("[1]", "{}", file.read_text().replace("findings/1", "findings/2"), "{"):
        file.write_text(text)
        with raises(dl.DescriptionError, "not-readable path"):
            dl.read_findings(file)
