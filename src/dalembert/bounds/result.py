"""What comes back: bounds with their certificates, as a table, as data, as numbers to go on with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from dalembert.arguments import Array
from dalembert.display import VerdictMark
from dalembert.findings import Finding, FindingColumn, Findings, Severity
from dalembert.system import Jointed

if TYPE_CHECKING:
    from dalembert.bounds.quantities import Quantity

MIN_ATTAINED_PART = 1e-9  # of what lengths allow: less is nothing


@dataclass(frozen=True, eq=False)
class Bound:
    """One quantity over a box: `certified` holds for every state of it, rounding included; `attained` was met at `q`
    (and `qd`, for c). `gap` is how far apart they are, relative to what is attained. `certified` is infinite (or 0
    from below) where nothing is proved."""

    name: str
    symbol: str
    side: str  # "upper" or "lower"
    norm: float
    unit: str
    certified: float
    attained: float
    q: Array
    qd: Array | None
    method: str
    boxes: int
    seconds: float
    stopped: str
    scale: float = 0.0  # what it could be by lengths alone: against this, nothing is nothing

    @staticmethod
    def of(
        robot: Jointed,
        quantity: Quantity,
        certified: float,
        attained: float,
        state: Array,
        method: str,
        boxes: int,
        seconds: float,
        stopped: str,
    ) -> Bound:
        n = robot.n
        return Bound(
            quantity.name,
            quantity.symbol,
            quantity.side,
            quantity.norm,
            quantity.unit if all(c.joint.turns for c in robot.model.coordinates) else "SI",
            certified,
            attained,
            state[:n],
            state[n:] if quantity.speeds else None,
            method,
            boxes,
            seconds,
            stopped,
        )

    @property
    def gap(self) -> float:
        met = max(self.attained, MIN_ATTAINED_PART * self.scale)
        if not np.isfinite(self.attained) or not np.isfinite(self.certified):
            return float("inf")
        if self.certified == self.attained:
            return 0.0
        if met <= 0:
            return float("inf")
        return (self.certified - self.attained) / met * (1 if self.side == "upper" else -1)

    @property
    def proved(self) -> bool:
        """Whether there is a certified bound at all."""
        return bool(np.isfinite(self.certified) and (self.side == "upper" or self.certified > 0))

    def verdict(self, gap: float) -> str:
        """In words, against the gap that was asked for."""
        if np.isinf(self.attained):
            return "no bound"
        if not self.proved:
            return "not certified"
        if self.gap <= gap * (1 + 1e-9):
            return "certified"
        return f"not certified to {gap:.0%}"

    @property
    def finding(self) -> Finding:
        """The bound as a finding: a note where it is proved, else a warning."""
        severity: Severity = "note" if self.proved else "warning"
        return Finding(self.name, severity, str(self))

    @property
    def sign(self) -> str:
        return "≤" if self.side == "upper" else "≥"

    def __str__(self) -> str:
        met = f"{self.attained:.6g} {self.unit}".rstrip() if np.isfinite(self.attained) else "no bound"
        if not self.proved:
            return f"{self.symbol}: not certified; met {met}; {self.stopped}"
        near = f", gap {self.gap:.2%}" if np.isfinite(self.gap) else ""
        return f"{self.symbol} {self.sign} {self.certified:.6g} {self.unit}; met {met}{near}"

    def data(self) -> dict[str, object]:
        norm = "inf" if np.isinf(self.norm) else int(self.norm)
        own = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**own, "norm": norm, "certified": self.certified if self.proved else None, "gap": self.gap}


@dataclass(frozen=True, eq=False)
class BoundedBox:
    """The box of joint positions over which bounds hold, from `lower` to `upper` (n,), the `gap` that was asked for,
    and the `seconds` it took."""

    lower: Array
    upper: Array
    gap: float
    seconds: float


Bounds = Findings[Bound, BoundedBox]  # by name: bounds["mu2"].certified
KINDS = {"certified": "good", "no bound": "absent", "not certified": "absent"}


def make_bounds(robot: str, box: BoundedBox, rows: tuple[Bound, ...], notes: tuple[str, ...] = ()) -> Bounds:
    """Return bounds over a box as one result."""
    words = [b.verdict(box.gap) for b in rows]
    within, proved = words.count("certified"), sum(b.proved for b in rows)
    more = f", {proved - within} more with a wider gap" if proved > within else ""
    title = f"{robot}: {within} of {len(rows)} bounds over its joints' ranges within {100 * box.gap:g} %{more}"

    def mark(b: Bound) -> VerdictMark:
        word = b.verdict(box.gap)
        return VerdictMark(word, KINDS.get(word, "doubt"))

    columns: tuple[FindingColumn[Bound], ...] = (
        FindingColumn("", mark),
        FindingColumn("name", lambda b: b.name),
        FindingColumn("quantity", lambda b: b.symbol),
        FindingColumn("proved", lambda b: f"{b.sign} {b.certified:.6g}" if b.proved else "–"),
        FindingColumn("met", lambda b: f"{b.attained:.6g}" if np.isfinite(b.attained) else "–"),
        FindingColumn("unit", lambda b: b.unit),
        FindingColumn("gap", lambda b: f"{b.gap:.2%}" if np.isfinite(b.gap) else "–"),
    )
    return Findings(robot, rows, box, "bounds", title, columns, notes)
