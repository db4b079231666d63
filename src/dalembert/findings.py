"""`Finding` and `Findings`: the result of everything that judges a robot, a log or a controller.

`check`, `verify`, `properties`, `bounds`, conditions of controllers and the first look at a log all return `Findings`.
Their rows differ, and columns say what is shown of a row. There is one renderer for each form: text, tables, Markdown
and HTML (`draw.html`), JSON, SARIF 2.1.0 (OASIS, for code-scanning services) and JUnit XML (for CI servers).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_args, overload

from dalembert.display import Displayed, MathText, ResultTable, VerdictMark, plain, print_table
from dalembert.errors import DescriptionError, InputError, Place, choose
from dalembert.files import DESCRIPTION, contents, whole
from dalembert.names import in_markdown

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # from the worst
MARKS: dict[Severity, str] = {"error": "bad", "warning": "doubt", "note": "absent"}
SCHEMA = "dalembert-findings/1"  # of JSON: docs/findings.md describes it
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# What XML 1.0 cannot hold; messages quote what files hold, and files hold anything.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Return whether a severity is as bad as the threshold, or worse."""
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
    def name(self) -> str:
        return self.rule

    @property
    def finding(self) -> Finding:
        return self

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
        """Return the finding as plain data."""
        place = self.place or Place()
        return {
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "element": self.element,
            "why": self.why,
            "fix": self.fix,
            "fixable": self.fixable,
        }


class FindingRow(Protocol):
    """A row of `Findings`: what its name, its finding and its own data are."""

    @property
    def name(self) -> str: ...

    @property
    def finding(self) -> Finding: ...

    def data(self) -> dict[str, object]: ...


AnyRow = TypeVar("AnyRow", bound=FindingRow)
AnyFacts = TypeVar("AnyFacts")


@dataclass(frozen=True)
class FindingColumn(Generic[AnyRow]):
    """A column of a table of findings: its title, and what it shows of a row."""

    title: str
    cell: Callable[[AnyRow], object]


def mark_of(finding: Finding) -> VerdictMark:
    return VerdictMark(finding.severity, MARKS[finding.severity])


FINDING_COLUMNS: tuple[FindingColumn[Any], ...] = (
    FindingColumn("", lambda row: mark_of(row.finding)),
    FindingColumn("rule", lambda row: row.finding.rule),
    FindingColumn("line", lambda row: row.finding.line or ""),
    FindingColumn("finding", lambda row: row.finding.message),
    FindingColumn("what to do", lambda row: row.finding.fix),
)


@dataclass(frozen=True)
class Findings(Displayed, Generic[AnyRow, AnyFacts]):
    """What was found in one source: a sequence of rows, in their order or by name.

    Parameters
    ----------
    source : str
        What was examined: a file, the name of a robot.
    rows : tuple of rows
        A `Finding` each, or a `Property`, a `Bound`, an `Agreement`, a `Condition`.
    facts : object
        What is known of the source as a whole; its fields depend on `kind`.
    kind : str
        "check", "verify", "properties", "bounds", "conditions" or "log".
    title : str
        `message`, if that is not just the counts.
    columns : tuple of FindingColumn
        The columns of `table()`.
    remarks : tuple of str
        Sentences below the table.
    """

    source: str
    rows: tuple[AnyRow, ...]
    facts: AnyFacts = cast(Any, None)
    kind: str = "findings"
    title: str = ""
    columns: tuple[FindingColumn[AnyRow], ...] = field(default=FINDING_COLUMNS, repr=False, compare=False)
    remarks: tuple[str, ...] = ()

    @overload
    def __getitem__(self, key: int | str) -> AnyRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[AnyRow, ...]: ...
    def __getitem__(self, key: int | str | slice) -> AnyRow | tuple[AnyRow, ...]:
        if not isinstance(key, str):
            return self.rows[key]
        named = {row.name: row for row in reversed(self.rows)}
        return named[choose("finding", key, named)]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[AnyRow]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def of(self, name: str) -> tuple[AnyRow, ...]:
        """Return the rows of one name: the findings of one rule."""
        return tuple(row for row in self.rows if row.name == name)

    def _of(self, severity: str) -> tuple[AnyRow, ...]:
        return tuple(row for row in self.rows if row.finding.severity == severity)

    @property
    def errors(self) -> tuple[AnyRow, ...]:
        return self._of("error")

    @property
    def warnings(self) -> tuple[AnyRow, ...]:
        return self._of("warning")

    @property
    def notes(self) -> tuple[AnyRow, ...]:
        return self._of("note")

    @property
    def counts(self) -> dict[str, int]:
        return {severity: len(self._of(severity)) for severity in SEVERITIES}

    @property
    def worst(self) -> Severity | None:
        """The worst severity found, None if nothing was."""
        return min((row.finding.severity for row in self.rows), key=SEVERITIES.index, default=None)

    def fails(self, threshold: Severity = "error") -> bool:
        """Return whether something as bad as the threshold, or worse, was found."""
        return any(at_least(row.finding.severity, threshold) for row in self.rows)

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.fails()

    @property
    def status(self) -> str:
        """ "ok", "warning" or "error": the worst of all rows."""
        return "ok" if self.worst in (None, "note") else str(self.worst)

    @property
    def message(self) -> str:
        """One sentence: how much was found, as in "1 error, 0 warnings, 2 notes", or what follows from it."""
        counted = ", ".join(f"{k} {severity}{'' if k == 1 else 's'}" for severity, k in self.counts.items())
        return self.title or f"{self.source}: {counted}"

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {row}" for row in self.rows), *self.remarks])

    def __repr__(self) -> str:
        return f"<Findings of {self.kind}: {self.message}>"

    def cells(self) -> ResultTable:
        """Return the table as data."""
        cells = (tuple(column.cell(row) for column in self.columns) for row in self.rows)
        return ResultTable(self.message, tuple(column.title for column in self.columns), tuple(cells))

    def table(self) -> ResultTable:
        """Print the rows as a table, and return it: `table().to_pandas()` is a data frame."""
        return print_table(self.cells())

    def data(self) -> dict[str, Any]:
        """Return everything as plain data, as docs/findings.md describes it."""
        rows = [
            {"rule": f.rule, "severity": f.severity, "message": f.message, **row.data()}
            for row, f in ((row, row.finding) for row in self.rows)
        ]
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "source": self.source,
            "ok": self.ok,
            "status": self.status,
            "message": self.message,
            "counts": self.counts,
            "facts": plain(self.facts),
            "findings": plain(rows),
            "remarks": list(self.remarks),
        }

    def markdown(self) -> str:
        """Return a heading, the table and the remarks as Markdown."""
        made = self.cells()
        lines = [made.columns, ["---"] * len(made.columns), *made.rows] if made.rows else []
        table = [f"| {' | '.join(map(_in_cell, line))} |" for line in lines]
        remarks = ["", *map(in_markdown, self.remarks)] if self.remarks else []
        return "\n".join([f"## {in_markdown(self.message)}", "", *table, *remarks]) + "\n"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a file by its ending: .json, .sarif, .xml (JUnit), .html, .md or .txt.

        `read_findings` reads .json."""
        ending = Path(path).suffix.lower()
        if ending not in WRITERS:
            raise InputError("unsupported", "path", str(path), expected=f"a name that ends in {', '.join(WRITERS)}")
        text = WRITERS[ending](self)
        return whole(path, lambda file: file.write(text.encode() + b"\n" * (not text.endswith("\n"))))


def _in_cell(cell: object) -> str:
    if isinstance(cell, MathText):
        return "$" + cell.latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ") + "$"
    return in_markdown(str(cell)).replace("|", "&#124;")


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with the worst first, those alike in the order of their lines and rules, or as they came."""
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.line or 0, f.rule if f.place else "")))


def read_findings(path: str | PathLike[str]) -> Findings[Finding, dict[str, object]]:
    """Return what `Findings.save` wrote as .json: each row as a `Finding`, whose `evidence` holds its other data."""
    try:
        data = json.loads(contents(path, DESCRIPTION))
        rows = [_read_row(row) for row in data["findings"]]
        if data["schema"] != SCHEMA:
            raise KeyError(data["schema"])
        return Findings(
            data["source"], tuple(rows), data["facts"], data["kind"], data["message"], remarks=tuple(data["remarks"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DescriptionError(
            "not-readable", "path", str(path), expected=f"JSON of the schema {SCHEMA}, as Findings.save writes it"
        ) from None


def _read_row(row: dict[str, Any]) -> Finding:
    common = ("rule", "severity", "message")
    own = {key: value for key, value in row.items() if key not in common}
    place = Place(own.get("file"), own.get("line"), own.get("column"))
    fix, element, why = (own.get(name, "") for name in ("fix", "element", "why"))
    rule, severity, message = (row[name] for name in common)
    return Finding(rule, severity, message, fix, None if place == Place() else place, element, why, evidence=own)


# for machines


def write_json(data: object) -> str:
    """Return the JSON text of plain data; what is not finite in it is an error."""
    # Half a surrogate pair, from a file name, is no UTF-8: it is written as an escape.
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def write_sarif(many: Sequence[Findings[Any, Any]], rules: Mapping[str, Rule] | None = None) -> str:
    """Return SARIF: one run; every rule is described, every finding is a result at its line."""
    from dalembert import __version__

    found = [(results, row.finding) for results in many for row in results]
    if rules is None:
        rules = {f.rule: Rule(f.rule, f.severity, f.rule, f.why or f.rule) for _, f in found}
    index = {name: k for k, name in enumerate(rules)}
    driver = {
        "name": _tool(many),
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
    results = [_result(results.source, f, index[f.rule]) for results, f in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return write_json({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _tool(many: Sequence[Findings[Any, Any]]) -> str:
    return f"dalembert {many[0].kind}" if many else "dalembert"


def _result(source: str, finding: Finding, index: int) -> dict[str, object]:
    from urllib.parse import quote

    place = finding.place or Place()
    file = Path((place.file or source).removesuffix(" (expanded)"))
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


def write_junit(many: Sequence[Findings[Any, Any]]) -> str:
    """Return JUnit XML: a suite for each source, and in it a case per finding, or one that passes.

    Notes do not fail."""
    tests = sum(max(1, len(results)) for results in many)
    head = f'<testsuites name="{_tool(many)}" tests="{tests}" failures="{sum(map(_failures, many))}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *map(_suite, many), "</testsuites>"])


def _failures(results: Findings[Any, Any]) -> int:
    return len(results.errors) + len(results.warnings)


def _suite(results: Findings[Any, Any]) -> str:
    name, seconds = _attribute(results.source), getattr(results.facts, "seconds", 0.0)
    counts = f'tests="{max(1, len(results))}" failures="{_failures(results)}" errors="0"'
    head = f'  <testsuite name={name} {counts} time="{seconds:.4f}">'
    cases = [_test(name, row.finding) for row in results] or [f'    <testcase classname={name} name="no findings"/>']
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


def _write_html(results: Findings[Any, Any]) -> str:
    import dalembert  # the front door: what draws a result stands above it

    return dalembert.notebook.page_of(results.source, results)


WRITERS: dict[str, Callable[[Findings[Any, Any]], str]] = {
    ".json": lambda results: write_json(results.data()),
    ".sarif": lambda results: write_sarif([results]),
    ".xml": lambda results: write_junit([results]),
    ".html": _write_html,
    ".md": Findings.markdown,
    ".txt": str,
}
