"""`Certificate`: what was compared with what, at which states, how well it agreed, and why where it did not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dalembert.files import whole
from dalembert.findings import Finding, write_json
from dalembert.trust.verify.quantities import TOLERANCES

SHOWN = 4  # members that a sentence names before it counts the rest


@dataclass(frozen=True)
class Row:
    """One comparison: the largest relative difference over all states, where it is, and whether it is allowed."""

    quantity: str
    left: str
    right: str
    difference: float
    allowed: float
    tolerance: str  # the row of the table of tolerances
    states: int
    state: int | None = None  # of the largest difference
    entry: str = ""
    passed: bool = True

    @classmethod
    def of_answer(cls, quantity: str, left: str, right: str, wrong: str = "", states: int = 1) -> Row:
        """A comparison that is answered by yes, or by what is wrong."""
        return cls(quantity, left, right, float(bool(wrong)), 0.5, "rounding", states, None, wrong, not wrong)


@dataclass(frozen=True)
class Side:
    """One way to the numbers: whether it took part, in which version, or why not."""

    name: str
    title: str
    present: bool
    version: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Difference:
    """Members that differ from the rest, the first term in which they do, and the cause that gives their numbers.

    `cause` is empty where no fault of the table explains the difference; `words` says what is known then."""

    members: tuple[str, ...]
    first: str
    cause: str
    words: str
    parts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # other faults that would give the same numbers

    @property
    def finding(self) -> Finding:
        """The difference as a finding, by its cause."""
        who = ", ".join(self.members[:SHOWN])
        if len(self.members) > SHOWN:
            who += f" and {len(self.members) - SHOWN} more"
        cause = f"likely cause: {self.cause}; " if self.cause else "not explained; "
        also = f" (the same numbers: {'; '.join(self.others)})" if self.others else ""
        sentence = f"{who}: first differs in {self.first}; {cause}{self.words}{also}"
        return Finding(self.cause or "not explained", "error", sentence, element=", ".join(self.parts), evidence=self)


@dataclass(frozen=True)
class Certificate:
    """The result of `verify`. True if everything agrees."""

    robot: str
    source: str
    joints: tuple[str, ...]
    states: int
    seed: int
    version: str
    rows: tuple[Row, ...]
    members: tuple[Side, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()  # numbers that two descriptions write differently
    tolerances: dict[str, tuple[float, str]] = field(default_factory=lambda: dict(TOLERANCES))

    @property
    def passed(self) -> bool:
        """Whether every comparison agrees."""
        return all(row.passed for row in self.rows)

    @property
    def failed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.passed)

    @property
    def worst(self) -> Row | None:
        """The row whose difference is nearest to, or furthest beyond, what is allowed."""
        return max(
            self.rows, key=lambda row: row.difference / row.allowed if row.allowed else float("inf"), default=None
        )

    @property
    def verdict(self) -> str:
        """One sentence."""
        count = f"{len(self.rows)} comparisons at {self.states} states (seed {self.seed})"
        if self.passed:
            worst = max((row.difference for row in self.rows), default=0.0)
            return f"{self.robot}: all agree: {count}, largest relative difference {worst:.1e}"
        causes = sorted({f.evidence.cause for f in self.findings if f.evidence.cause})
        why = f"; likely cause: {', '.join(causes)}" if causes else "; no fault of the table explains it"
        return f"{self.robot}: {len(self.failed)} of {count} differ{why}"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Certificate {self.verdict}>"

    def data(self) -> dict[str, Any]:
        """All of it as plain data; what is infinite is null."""
        out = asdict(self) | {"passed": self.passed, "verdict": self.verdict}
        out["findings"] = [asdict(finding.evidence) for finding in self.findings]
        for row in out["rows"]:
            row["difference"] = row["difference"] if row["difference"] < float("inf") else None
        out["tolerances"] = {k: {"allowed": x, "reason": why} for k, (x, why) in self.tolerances.items()}
        return out

    def json(self) -> str:
        return write_json(self.data())

    def save(self, path: str | Path) -> Path:
        """The certificate as a JSON file, whole or not at all."""
        return whole(path, lambda file: file.write(self.json().encode() + b"\n"))

    def text(self) -> str:
        """For people: verdict, findings, the comparisons, who took part, the tolerances and their reasons."""
        lines = [self.verdict, ""]
        lines += [f"  {finding.message}" for finding in self.findings] + ([""] if self.findings else [])
        lines += [f"  {x}" for x in self.differences] + ([""] if self.differences else [])
        width = max((len(row.quantity) for row in self.rows), default=0)
        for row in self.rows:
            mark = "ok  " if row.passed else "FAIL"
            place = "" if row.passed else f"  {row.entry}, state {row.state}"
            lines.append(f"  {mark} {row.quantity:<{width}}  {row.difference:8.1e}  {row.left} = {row.right}{place}")
        lines += ["", *(f"  absent: {s.title}: {s.reason}" for s in self.members if not s.present)]
        lines += [f"  {s.title} {s.version}" for s in self.members if s.present and s.version]
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  {name}: {x:g} ({why})" for name, (x, why) in self.tolerances.items()]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()
