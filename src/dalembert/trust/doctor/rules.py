"""The table of rules, and how a function that looks for something enters it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dalembert.findings import Edit, Finding, Rule, Severity

if TYPE_CHECKING:
    from dalembert.describe.xml import Element
    from dalembert.trust.doctor.document import Document


@dataclass(frozen=True)
class Found:
    """What a rule says of one place; the rule itself adds the rest."""

    at: Element
    who: str
    message: str
    fix: str
    edits: tuple[Edit, ...] = ()


# Rules that nobody looks for: what reading, loading and measuring note as they go. Severity, title, why it matters.
_NOTED: dict[str, tuple[Severity, str, str]] = {
    "D000": (
        "error",
        "the check itself failed",
        "A slip of Dalembert, not of the file: please report it with the file.",
    ),
    "D001": ("error", "the loader refuses it", "The file cannot be loaded: nothing can be computed from it."),
    "D002": ("warning", "the loader warns", "The file loads, but not as it was written."),
    "D101": ("error", "not XML", "No program can read the file: everything after this place is lost."),
    "D102": ("error", "not a URDF", "The first element of a URDF is <robot>."),
    "D107": (
        "error",
        "something that must be there is missing",
        "Without it the element means nothing: no reader takes it.",
    ),
    "D108": ("error", "not a number", "A reader refuses it or, worse, reads the digits before it and drops the rest."),
    "D109": ("error", "too few or too many numbers", "Readers differ in what they take for the rest."),
    "D110": ("error", "not finite", "NaN and infinity spread through every sum, until all results are NaN."),
    "D111": ("error", "an element stands twice", "Only one can be meant, and readers differ in which they take."),
    "D127": ("error", "a geometry without exactly one shape", "The standard wants one shape; readers refuse others."),
    "D131": (
        "warning",
        "something before <?xml",
        "By the standard of XML nothing may stand before it, not even a blank: other parsers refuse the file.",
    ),
    "D404": ("warning", "a mesh file is missing", "The robot is not drawn, and collides with nothing there."),
    "D406": ("warning", "a mesh file is damaged", "It cannot be drawn, and says nothing of the link's size."),
    "D407": ("note", "a mesh of a type that is not read", "Whether mass and inertia fit the link cannot be checked."),
}
RULES: dict[str, Rule] = {name: Rule(name, *row) for name, row in _NOTED.items()}  # by identifier
LOOKS: dict[str, Callable[[Document], Iterable[Found]]] = {}  # the function of each rule, which looks for it
Look = TypeVar("Look", bound=Callable[..., Iterable[Found]])


def rule(
    identifier: str, severity: Severity, each: Callable[[Document], Iterable[tuple[object, ...]]] | None = None
) -> Callable[[Look], Look]:
    """Enter a function into the table: its docstring is the title of the rule and, after it, why it matters.

    The function is asked about a document and each of the things that `each` finds in it, or the document alone."""

    def enter(look: Look) -> Look:
        assert identifier not in RULES, identifier
        title, _, why = (inspect.getdoc(look) or identifier).partition("\n\n")
        RULES[identifier] = Rule(identifier, severity, title[0].lower() + title[1:].rstrip("."), " ".join(why.split()))
        LOOKS[identifier] = look if each is None else lambda document: _look_at_each(look, document, each(document))
        return look

    return enter


def _look_at_each(
    look: Callable[..., Iterable[Found]], document: Document, things: Iterable[tuple[object, ...]]
) -> Iterator[Found]:
    for thing in things:
        yield from look(document, *thing)


def apply_rule(identifier: str, document: Document) -> Iterator[Finding]:
    """All that one rule finds in a description, and what was noted for it."""
    row = RULES[identifier]
    looked = LOOKS[identifier](document) if identifier in LOOKS else ()
    for found in (*looked, *document.troubles.get(identifier, ())):
        yield Finding(
            identifier, row.severity, found.message, found.fix, found.at.place, found.who, row.why, found.edits
        )
