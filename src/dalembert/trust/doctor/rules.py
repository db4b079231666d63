"""The table of rules, and how a function that looks for something enters it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.findings import Edit, Finding, Place, Rule, Severity

if TYPE_CHECKING:
    from dalembert.describe.xml import Element
    from dalembert.trust.doctor.case import Case


@dataclass(frozen=True)
class Found:
    """What a rule says of one place; the rule itself adds the rest."""

    at: Element
    who: str
    message: str
    fix: str
    edits: tuple[Edit, ...] = ()


Look = Callable[["Case"], Iterable[Found]]
RULES: dict[str, Rule] = {}  # by identifier; filled by the modules that hold the rules
LOOKS: dict[str, Look] = {}  # the function of each rule


def rule(identifier: str, severity: Severity, title: str, why: str) -> Callable[[Look], Look]:
    """Enter a function into the table of rules."""

    def enter(look: Look) -> Look:
        assert identifier not in RULES, identifier
        RULES[identifier], LOOKS[identifier] = Rule(identifier, severity, title, why), look
        return look

    return enter


def apply_rule(identifier: str, case: Case) -> Iterator[Finding]:
    """All that one rule finds in a description."""
    for found in LOOKS[identifier](case):
        yield finding_of(identifier, found.at.place, found.who, found.message, found.fix, found.edits)


def finding_of(
    identifier: str, place: Place, element: str, message: str, fix: str, edits: tuple[Edit, ...] = ()
) -> Finding:
    row = RULES[identifier]
    return Finding(identifier, row.severity, message, fix, place, element, row.why, edits)
