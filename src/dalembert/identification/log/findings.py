"""What a first look at a log found: one sentence each, with its evidence and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """`severity`: "error" (what follows from this log would be wrong), "warning" (look at it), "info"; `kind` of the
    finding, a word; the joint's name, or None; the sentence; the number that shows it, if there is one; what to do."""

    severity: str
    kind: str
    joint: str | None
    sentence: str
    number: float | None = None
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.sentence}" + (f"; {self.suggestion}" if self.suggestion else "")


@dataclass(frozen=True)
class Findings:
    """Findings, the worst first. Printed, they are one line each."""

    source: str
    items: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, k: int) -> Finding:
        return self.items[k]

    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(item for item in self.items if item.kind == kind)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.items if item.severity == "error")

    def __str__(self) -> str:
        if not self.items:
            return f"{self.source}: nothing suspicious"
        return "\n".join([f"{self.source}:", *(f"  {item}" for item in self.items)])


def findings(source: str, items: list[Finding]) -> Findings:
    return Findings(source, tuple(sorted(items, key=lambda item: SEVERITIES.index(item.severity))))
