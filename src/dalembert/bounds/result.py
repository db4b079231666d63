"""What comes back: bounds with their certificates, as a table, as data, as numbers to go on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import choose
from dalembert.system import Jointed

if TYPE_CHECKING:
    from dalembert.bounds.quantities import Quantity

NOTHING = 1e-9  # of what lengths allow


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
        met = max(self.attained, NOTHING * self.scale)
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

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "symbol": self.symbol,
            "side": self.side,
            "norm": "inf" if np.isinf(self.norm) else int(self.norm),
            "unit": self.unit,
            "certified": self.certified if self.proved else None,
            "attained": self.attained if np.isfinite(self.attained) else None,
            "gap": self.gap if np.isfinite(self.gap) else None,
            "q": self.q.tolist(),
            "qd": None if self.qd is None else self.qd.tolist(),
            "method": self.method,
            "boxes": self.boxes,
            "seconds": self.seconds,
            "stopped": self.stopped,
        }


@dataclass(frozen=True, eq=False)
class Bounds:
    """Certified bounds of a robot over a box of joint positions, by name: `bounds["mu2"].certified`."""

    robot: str
    lower: Array
    upper: Array
    gap: float
    seconds: float
    bounds: tuple[Bound, ...]
    notes: tuple[str, ...] = field(default=())

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.bounds)

    def __getitem__(self, name: str) -> Bound:
        named = {bound.name: bound for bound in self.bounds}
        return named[choose("bound", name, named)]

    def json(self) -> dict[str, Any]:
        return {
            "robot": self.robot,
            "lower": [x if np.isfinite(x) else None for x in self.lower],
            "upper": [x if np.isfinite(x) else None for x in self.upper],
            "gap": self.gap,
            "seconds": self.seconds,
            "bounds": [b.json() for b in self.bounds],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        rows = [("", "proved", "met", "gap", "", "boxes", "s")]
        for b in self.bounds:
            sign = "≤" if b.side == "upper" else "≥"
            rows.append(
                (
                    b.symbol,
                    f"{sign} {b.certified:.6g}" if b.proved else "–",
                    f"{b.attained:.6g} {b.unit}" if np.isfinite(b.attained) else "–",
                    f"{b.gap:.2%}" if np.isfinite(b.gap) else "–",
                    b.verdict(self.gap),
                    f"{b.boxes:,}",
                    f"{b.seconds:.1f}",
                )
            )
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{self.robot}: bounds over its joints' ranges", *lines, *self.notes])
