"""Check-ups for machines: JSON, SARIF 2.1.0 (OASIS, for code-scanning services) and JUnit XML (for CI servers)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from dalembert import __version__
from dalembert.trust.doctor.checkup import CheckUp
from dalembert.trust.doctor.finding import RULES, SEVERITIES, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# What XML 1.0 cannot hold; messages quote what files hold, and files hold anything.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def as_json(ups: Sequence[CheckUp]) -> str:
    """{"files": [...], "counts": {...}, "loads": how many}; lines and columns count from 1."""
    counts = {severity: sum(up.count(severity) for up in ups) for severity in SEVERITIES}
    return _dump({"files": [up.data() for up in ups], "counts": counts, "loads": sum(up.loads for up in ups)})


def as_sarif(ups: Sequence[CheckUp]) -> str:
    """One run; every rule is described, every finding is a result at its line."""
    index = {name: k for k, name in enumerate(RULES)}
    driver = {
        "name": "dalembert check",
        "version": __version__,
        "rules": [
            {
                "id": row.identifier,
                "shortDescription": {"text": row.title},
                "fullDescription": {"text": row.why},
                "defaultConfiguration": {"level": row.severity},
            }
            for row in RULES.values()
        ],
    }
    results = [_result(up, f, index[f.rule]) for up in ups for f in up.findings]
    return _dump(
        {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
        }
    )


def _result(up: CheckUp, finding: Finding, index: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.place.file or up.file)}}
    if finding.place.line is not None:
        column = {} if finding.place.column is None else {"startColumn": finding.place.column}
        location["region"] = {"startLine": finding.place.line, **column}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{finding.message}; {finding.fix}"},
        "locations": [{"physicalLocation": location, "logicalLocations": [{"name": finding.element}]}],
    }


def _uri(file: str) -> str:
    path = Path(file.removesuffix(" (expanded)"))
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="replace")


def as_junit(ups: Sequence[CheckUp]) -> str:
    """A suite per file, and in it a case per finding, or one that passes; notes do not fail."""
    suites = [_suite(up) for up in ups]
    tests = sum(max(1, len(up.findings)) for up in ups)
    failures = sum(up.count("error") + up.count("warning") for up in ups)
    head = f'<testsuites name="dalembert check" tests="{tests}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"])


def _suite(up: CheckUp) -> str:
    failures = up.count("error") + up.count("warning")
    name, time = _attribute(up.file), f"{up.seconds:.4f}"
    counts = f'tests="{max(1, len(up.findings))}" failures="{failures}" errors="0"'
    head = f'  <testsuite name={name} {counts} time="{time}">'
    cases = [_test(up, f) for f in up.findings] or [f'    <testcase classname={name} name="no findings"/>']
    return "\n".join([head, *cases, "  </testsuite>"])


def _test(up: CheckUp, finding: Finding) -> str:
    line = "" if finding.line is None else f" line {finding.line}"
    head = f"    <testcase classname={_attribute(up.file)} name={_attribute(f'{finding.rule}{line} {finding.element}')}"
    message = _attribute(f"{finding.message}; {finding.fix}")
    if finding.severity == "note":
        return f"{head}>\n      <system-out>{_attribute(str(finding))[1:-1]}</system-out>\n    </testcase>"
    why = _attribute(finding.why)[1:-1]
    return f'{head}>\n      <failure type="{finding.severity}" message={message}>{why}</failure>\n    </testcase>'


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text), {"\n": "&#10;"})


def _dump(data: dict[str, Any]) -> str:
    # Half a surrogate pair, from a file name, is no UTF-8: it is written as an escape.
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


FORMATS: dict[str, Callable[[Sequence[CheckUp]], str]] = {"json": as_json, "sarif": as_sarif, "junit": as_junit}
