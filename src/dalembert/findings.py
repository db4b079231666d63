"""What a judge says: a `Finding` each, a `Report` of them, and how reports are written for people and for machines.

The doctor, `verify`, the properties and a first look at a log all speak in findings. Reports are written as text,
Markdown, JSON, SARIF 2.1.0 (OASIS, for code-scanning services) and JUnit XML (for CI servers), whose libraries are
imported late.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from dalembert.display import Displayed
from dalembert.errors import Place
from dalembert.names import in_markdown

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # from the worst
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# What XML 1.0 cannot hold; messages quote what files hold, and files hold anything.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Whether a severity is as bad as the threshold, or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


@dataclass(frozen=True)
class Edit:
    """A change of an XML text: the attribute of the `number`-th element gets a value, or goes (None); without an
    attribute the whole element goes."""

    number: int
    attribute: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Rule:
    """What is looked for, how bad it is, and why it matters."""

    identifier: str
    severity: Severity
    title: str
    why: str


@dataclass(frozen=True)
class Finding:
    """One thing found: `message` says what is wrong, with its numbers, `fix` what would be right, `why` what follows
    from it; `element` is the link, joint or the like that it is about, `place` where that is written, if it is.

    `edits` would make the fix, where that is safe; `evidence` is what shows it: a number, or an object of the judge's
    own."""

    rule: str
    severity: Severity
    message: str
    fix: str = ""
    place: Place | None = None
    element: str = ""
    why: str = ""
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    evidence: Any = None

    @property
    def fixable(self) -> bool:
        return bool(self.edits)

    @property
    def line(self) -> int | None:
        return None if self.place is None else self.place.line

    @property
    def sentence(self) -> str:
        """What is wrong; what would be right."""
        return f"{self.message}; {self.fix}" if self.fix else self.message

    def __str__(self) -> str:
        head = self.severity if self.place is None else f"{self.place}: {self.severity} {self.rule}"
        return f"{head}: {self.sentence}"

    def data(self) -> dict[str, object]:
        """The finding as plain data."""
        place = self.place or Place()
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "element": self.element,
            "message": self.message,
            "why": self.why,
            "fix": self.fix,
            "fixable": self.fixable,
        }


@dataclass(frozen=True)
class Report(Displayed):
    """What was found in one source, the worst first. It is a sequence of its findings."""

    source: str
    findings: tuple[Finding, ...]

    def __getitem__(self, k: int) -> Finding:
        return self.findings[k]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def of(self, rule: str) -> tuple[Finding, ...]:
        """The findings of one rule."""
        return tuple(f for f in self.findings if f.rule == rule)

    def count(self, severity: str) -> int:
        return len(self._of(severity))

    def _of(self, severity: str) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return self._of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        return self._of("note")

    @property
    def counts(self) -> dict[str, int]:
        return {severity: self.count(severity) for severity in SEVERITIES}

    @property
    def worst(self) -> Severity | None:
        """The worst severity found, None if nothing was."""
        return min((f.severity for f in self.findings), key=SEVERITIES.index, default=None)

    def fails(self, threshold: Severity = "error") -> bool:
        """Whether something as bad as the threshold, or worse, was found."""
        return any(at_least(f.severity, threshold) for f in self.findings)

    @property
    def verdict(self) -> str:
        """How much was found, as in "1 error, 0 warnings, 2 notes"."""
        return ", ".join(f"{k} {severity}{'' if k == 1 else 's'}" for severity, k in self.counts.items())

    def data(self) -> dict[str, object]:
        """The report as plain data."""
        return {"file": self.source, "counts": self.counts, "findings": [f.data() for f in self.findings]}

    def markdown(self) -> str:
        """A heading and a table."""
        head = ["| severity | rule | line | finding | what to do |", "|---|---|---|---|---|"]
        rows = ([f.severity, f.rule, str(f.line or ""), f.message, f.fix] for f in self.findings)
        table = [f"| {' | '.join(in_markdown(cell).replace('|', '&#124;') for cell in row)} |" for row in rows]
        return (
            "\n".join([f"## {in_markdown(self.source)}: {self.verdict}", "", *(head if table else ()), *table]) + "\n"
        )

    def __str__(self) -> str:
        if not self.findings:
            return f"{self.source}: nothing suspicious"
        return "\n".join([f"{self.source}:", *(f"  {finding}" for finding in self.findings)])


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first; those alike in the order of their lines and rules, or as they came."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.line or 0, f.rule if f.place else "")))


# for machines


def write_json(data: object) -> str:
    """JSON text of plain data; what is not finite in it is an error."""
    import json

    # Half a surrogate pair, from a file name, is no UTF-8: it is written as an escape.
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def write_sarif(reports: Sequence[Report], rules: Mapping[str, Rule], tool: str) -> str:
    """One run; every rule is described, every finding is a result at its line."""
    from dalembert import __version__

    index = {name: k for k, name in enumerate(rules)}
    driver = {
        "name": tool,
        "version": __version__,
        "rules": [
            {
                "id": row.identifier,
                "shortDescription": {"text": row.title},
                "fullDescription": {"text": row.why},
                "defaultConfiguration": {"level": row.severity},
            }
            for row in rules.values()
        ],
    }
    results = [_result(report, f, index[f.rule]) for report in reports for f in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return write_json({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(report: Report, finding: Finding, index: int) -> dict[str, object]:
    from urllib.parse import quote

    place = finding.place or Place()
    file = Path((place.file or report.source).removesuffix(" (expanded)"))
    uri = file.as_uri() if file.is_absolute() else quote(file.as_posix(), errors="replace")
    location: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if place.line is not None:
        column = {} if place.column is None else {"startColumn": place.column}
        location["region"] = {"startLine": place.line, **column}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.sentence},
        "locations": [{"physicalLocation": location, "logicalLocations": [{"name": finding.element}]}],
    }


def write_junit(timed: Sequence[tuple[Report, float]], tool: str) -> str:
    """A suite per report and its seconds, and in it a case per finding, or one that passes; notes do not fail."""
    suites = [_suite(report, seconds) for report, seconds in timed]
    tests = sum(max(1, len(report)) for report, _ in timed)
    failures = sum(_failures(report) for report, _ in timed)
    head = f'<testsuites name="{tool}" tests="{tests}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"])


def _failures(report: Report) -> int:
    return report.count("error") + report.count("warning")


def _suite(report: Report, seconds: float) -> str:
    name = _attribute(report.source)
    counts = f'tests="{max(1, len(report))}" failures="{_failures(report)}" errors="0"'
    head = f'  <testsuite name={name} {counts} time="{seconds:.4f}">'
    cases = [_test(name, f) for f in report.findings] or [f'    <testcase classname={name} name="no findings"/>']
    return "\n".join([head, *cases, "  </testsuite>"])


def _test(source: str, finding: Finding) -> str:
    line = "" if finding.line is None else f" line {finding.line}"
    head = f"    <testcase classname={source} name={_attribute(f'{finding.rule}{line} {finding.element}')}"
    if finding.severity == "note":
        return f"{head}>\n      <system-out>{_attribute(str(finding))[1:-1]}</system-out>\n    </testcase>"
    failure = f'<failure type="{finding.severity}" message={_attribute(finding.sentence)}>'
    return f"{head}>\n      {failure}{_attribute(finding.why)[1:-1]}</failure>\n    </testcase>"


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(_FORBIDDEN.sub("\ufffd", text), {"\n": "&#10;"})
