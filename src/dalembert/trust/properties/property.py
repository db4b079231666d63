"""What is found of a property, and the report of many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.errors import unknown
from dalembert.findings import Finding, Severity, write_json
from dalembert.names import in_markdown

PROVED, HOLDS, FAILS, SILENT = "proved", "holds", "fails", "does not apply"
SIGNS = {PROVED: "∎", HOLDS: "✓", FAILS: "✗", SILENT: "–"}


@dataclass(frozen=True)
class Property:
    """One property of one mechanism: what is claimed, how it was looked at, what was found.

    `verdict`: "proved" (an identity of polynomials: at every state), "holds" (at every state that was measured),
    "fails", or "does not apply". `shown` says how; `numbers` what was measured; `formulas` what was found in
    symbols; `note` what the verdict does not say."""

    name: str
    statement: str
    latex: str
    source: str
    verdict: str
    shown: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    formulas: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against it."""
        return self.verdict != FAILS

    @property
    def finding(self) -> Finding:
        """The property as a finding: an error where it fails, else a note."""
        severity: Severity = "note" if self.ok else "error"
        return Finding(self.name, severity, f"{self.statement}: {self.verdict}; {self.shown}", evidence=self)

    def data(self) -> dict[str, Any]:
        """What JSON can hold: an infinity is null."""
        numbers = {name: x if math.isfinite(x) else None for name, x in self.numbers.items()}
        parts = ("name", "statement", "latex", "source", "verdict", "shown", "note")
        return {**{part: getattr(self, part) for part in parts}, "numbers": numbers, "formulas": dict(self.formulas)}

    def __str__(self) -> str:
        lines = [f"{SIGNS[self.verdict]} {self.name}: {self.verdict}", f"  {self.statement}", f"  {self.shown}"]
        lines += [f"  {name} = {written(x)}" for name, x in self.numbers.items()]
        lines += [f"  {name} = {x}" for name, x in self.formulas.items()]
        lines += [f"  {self.note}"] if self.note else []
        return "\n".join([*lines, f"  Source: {self.source}"])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def written(x: float) -> str:
    """A number of a report, four digits."""
    return f"{x:.4g}".replace("-", "−") if math.isfinite(x) else ("∞" if x > 0 else "−∞")


def _barless(latex: str) -> str:
    """LaTeX for a cell of a table, where a bar would end it."""
    return latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")


@dataclass(frozen=True)
class PropertyReport:
    """Properties of one mechanism, by name or in order; `states` were measured."""

    system: str
    states: int
    properties: tuple[Property, ...]

    def __getitem__(self, name: str | int) -> Property:
        if isinstance(name, int):
            return self.properties[name]
        for p in self.properties:
            if p.name == name:
                return p
        raise unknown("property", name, [p.name for p in self.properties])

    def __iter__(self) -> Iterator[Property]:
        return iter(self.properties)

    def __len__(self) -> int:
        return len(self.properties)

    @property
    def ok(self) -> bool:
        """Whether no property fails."""
        return not self.failed

    @property
    def failed(self) -> tuple[Property, ...]:
        return tuple(p for p in self.properties if p.verdict == FAILS)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What fails."""
        return tuple(p.finding for p in self.failed)

    def count(self, verdict: str) -> int:
        return sum(p.verdict == verdict for p in self.properties)

    def table(self) -> str:
        """One line for each property: verdict, name, statement, how it was shown."""
        rows = [(SIGNS[p.verdict], p.name, p.verdict, p.statement, p.shown) for p in self.properties]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows]
        return "\n".join([self.title, *lines])

    def markdown(self) -> str:
        """The table as Markdown, formulas as LaTeX: for a handout."""
        head = ["| property | statement | verdict | shown | source |", "|---|---|---|---|---|"]
        rows = [
            f"| {p.name} | ${_barless(p.latex)}$ | {p.verdict} | {p.shown.replace('|', '∣')} | {p.source} |"
            for p in self.properties
        ]
        return "\n".join([f"## {in_markdown(self.title)}", "", *head, *rows]) + "\n"

    @property
    def title(self) -> str:
        counts = [(self.count(v), v) for v in (PROVED, HOLDS, FAILS, SILENT)]
        found = ", ".join(f"{k} {'do not apply' if v == SILENT and k > 1 else v}" for k, v in counts if k)
        return f"{self.system}: {len(self)} properties, {found}; {self.states} states measured"

    def data(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "states": self.states,
            "ok": self.ok,
            "properties": [p.data() for p in self.properties],
        }

    def json(self) -> str:
        """The report as JSON text."""
        return write_json(self.data())

    def __str__(self) -> str:
        return "\n\n".join([self.title, *map(str, self.properties)])

    def __repr__(self) -> str:
        return f"<PropertyReport {self.title}>"
