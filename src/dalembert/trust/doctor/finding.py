"""What a check-up finds: a rule, a severity, a place, what is wrong, why it matters, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from dalembert.describe.description import Place

if TYPE_CHECKING:
    from dalembert.describe.xml import Element
    from dalembert.trust.doctor.case import Case

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # from the worst


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Whether a severity is as bad as the threshold, or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


@dataclass(frozen=True)
class Edit:
    """A change of the text: the attribute of the `number`-th element gets a value, or goes (None); without an
    attribute the whole element goes."""

    number: int
    attribute: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Found:
    """What a rule says of one place; the rule itself adds the rest."""

    at: Element
    who: str
    message: str
    fix: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One finding: `message` says what is wrong with its numbers, `why` what follows from it, `fix` what would be
    right, and `edits` how `CheckUp.repaired` does that, if it can."""

    rule: str
    severity: Severity
    place: Place
    element: str
    message: str
    why: str
    fix: str
    edits: tuple[Edit, ...] = field(default=(), repr=False)

    @property
    def fixable(self) -> bool:
        return bool(self.edits)

    @property
    def line(self) -> int | None:
        return self.place.line

    def __str__(self) -> str:
        return f"{self.place}: {self.severity} {self.rule}: {self.message}; {self.fix}"

    def data(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
            "element": self.element,
            "message": self.message,
            "why": self.why,
            "fix": self.fix,
            "fixable": self.fixable,
        }


@dataclass(frozen=True)
class Rule:
    """A row of the table: what is looked for, how bad it is, why it matters, and the function that looks."""

    identifier: str
    severity: Severity
    title: str
    why: str
    look: Callable[[Case], Iterable[Found]]

    def findings(self, case: Case) -> Iterator[Finding]:
        for found in self.look(case):
            yield self.finding(found.at.place, found.who, found.message, found.fix, found.edits)

    def finding(self, place: Place, element: str, message: str, fix: str, edits: tuple[Edit, ...] = ()) -> Finding:
        return Finding(self.identifier, self.severity, place, element, message, self.why, fix, edits)


RULES: dict[str, Rule] = {}  # by identifier; filled by the modules that hold the rules


def rule(
    identifier: str, severity: Severity, title: str, why: str
) -> Callable[[Callable[[Case], Iterable[Found]]], Callable[[Case], Iterable[Found]]]:
    """Enter a function into the table of rules."""

    def enter(look: Callable[[Case], Iterable[Found]]) -> Callable[[Case], Iterable[Found]]:
        assert identifier not in RULES, identifier
        RULES[identifier] = Rule(identifier, severity, title, why, look)
        return look

    return enter
