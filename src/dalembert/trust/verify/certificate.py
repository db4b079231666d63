"""`Certificate`: what was compared with what, at which states, how well it agreed, and why where it did not.

`VerifyRun` collects agreements, methods, differences and the numbers that failed while methods are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.files import whole
from dalembert.findings import Finding, write_json
from dalembert.robot import Robot
from dalembert.trust.verify import diagnose
from dalembert.trust.verify.diagnose import Explanation
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import LIMITS, Array, Linkage, States, draw_states, linkage_of, show_value
from dalembert.trust.verify.own_methods import Values, choose_frames
from dalembert.trust.verify.quantities import QUANTITIES, TOLERANCES, Value
from dalembert.trust.verify.source import Source

MAX_NAMED_METHODS = 4  # methods that a sentence names before it counts the rest
BY_LINKS = "Lagrange, link by link"
AGAIN = "file read again"

CERTIFICATE_SCHEMA = 1  # of the JSON file; it rises when a key is removed, renamed or changes its meaning


@dataclass(frozen=True)
class Agreement:
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
    def of_answer(cls, quantity: str, left: str, right: str, wrong: str = "", states: int = 1) -> Agreement:
        """A comparison that is answered by yes, or by what is wrong."""
        return cls(quantity, left, right, float(bool(wrong)), 0.5, "rounding", states, None, wrong, not wrong)


@dataclass(frozen=True)
class ComparedMethod:
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

    methods: tuple[str, ...]
    first: str
    cause: str
    words: str
    parts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # other faults that would give the same numbers

    @property
    def finding(self) -> Finding:
        """The difference as a finding, by its cause."""
        who = ", ".join(self.methods[:MAX_NAMED_METHODS])
        if len(self.methods) > MAX_NAMED_METHODS:
            who += f" and {len(self.methods) - MAX_NAMED_METHODS} more"
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
    rows: tuple[Agreement, ...]
    methods: tuple[ComparedMethod, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()  # numbers that two descriptions write differently
    tolerances: dict[str, tuple[float, str]] = field(default_factory=lambda: dict(TOLERANCES))

    @property
    def passed(self) -> bool:
        """Whether every comparison agrees."""
        return all(row.passed for row in self.rows)

    @property
    def failed(self) -> tuple[Agreement, ...]:
        return tuple(row for row in self.rows if not row.passed)

    @property
    def worst(self) -> Agreement | None:
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

    @property
    def ok(self) -> bool:
        """Whether every comparison agrees: `passed`."""
        return self.passed

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Certificate {self.verdict}>"

    def data(self) -> dict[str, Any]:
        """All of it as plain data; what is infinite is null."""
        out = {"schema": CERTIFICATE_SCHEMA} | asdict(self) | {"passed": self.passed, "verdict": self.verdict}
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
        lines += ["", *(f"  absent: {s.title}: {s.reason}" for s in self.methods if not s.present)]
        lines += [f"  {s.title} {s.version}" for s in self.methods if s.present and s.version]
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  {name}: {x:g} ({why})" for name, (x, why) in self.tolerances.items()]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()


class VerifyRun:
    """The state of one run of `verify`: everything that the comparisons add."""

    def __init__(
        self, source: Source, count: int, seed: int, without: tuple[str, ...], tell: Callable[[str], object]
    ) -> None:
        self.source, self.without, self.tell, self.count, self.seed = source, without, tell, count, seed
        self.robot: Robot = source.robot.tree()
        self.rows: list[Agreement] = []
        self.methods: list[ComparedMethod] = [ComparedMethod("reference", BY_LINKS, True)]
        self.found: list[Difference] = []
        self.limited: list[tuple[Difference, Linkage, Array]] = []  # (difference, what is written, limits found)
        self.causes: list[Explanation] = []
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.own: dict[str, Values] = {}  # values of the methods that took part
        self.failing: dict[
            str, list[tuple[str, Agreement]]
        ] = {}  # by method: (quantity, agreement) in the order of the quantities
        self.linkage = linkage_of(self.robot.description)
        self.other = self.linkage  # what it is compared against
        self.exact = self.linkage  # what the symbols see, right angles made so
        drawn = draw_states(self.linkage, count, seed)
        first = FourByFour(self.linkage, drawn)
        self.reference = FourByFour(self.linkage, replace(drawn, tau=first.torque), first.motion)

    @property
    def states(self) -> States:
        return self.reference.states

    def shown_frames(self) -> tuple[str, ...]:
        """The frames whose Jacobians are compared."""
        return tuple(f for f in choose_frames(self.robot) if f in self.reference.frames)

    def skip(self, key: str, title: str, reason: str = "skipped as requested") -> None:
        self.methods.append(ComparedMethod(key, title, False, reason=reason))

    def take_part(self, key: str, title: str, values: Values, reference: FourByFour, version: str = "") -> None:
        """Record a method with its values and compare them with the reference."""
        self.methods.append(ComparedMethod(key, title, True, version))
        self.own[key] = values
        self.compare(key, title, reference, values)

    def compare(self, key: str, right: str, reference: FourByFour, values: Values) -> None:
        """Add an agreement for every quantity of a method; keep those that differ."""
        for name in QUANTITIES if self.linkage.coordinates else ("pose",):
            if name in values:
                row = row_of(name, BY_LINKS, right, reference, diagnose.common(values[name], reference))
                self.rows.append(row)
                if not row.passed:
                    self.failing.setdefault(key, []).append((name, row))

    def add_broken(self, key: str, title: str, error: Exception) -> None:
        """Record a method that raised an error: none of its numbers agrees."""
        words = f"{type(error).__name__}: {error}"
        row = Agreement("the method itself", BY_LINKS, title, float("inf"), 0.0, "rounding", 0, None, words, False)
        self.rows.append(row)
        self.failing.setdefault(key, []).append(("", row))
        self.methods.append(ComparedMethod(key, title, True, reason=words))

    def compare_names(
        self, who: str, left: str, right: str, linkage: Linkage, wanted: Sequence[str], found: Sequence[str]
    ) -> None:
        """Joints that only one side has: a mimic joint that moves by itself, or joints that are simply not there."""
        missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
        lists = {"without": missing, "also": extra}
        words = "; ".join(f"{word} {diagnose.list_names(names)}" for word, names in lists.items() if names)
        self.rows.append(Agreement.of_answer("joints and links", left, right, words or "in another order", self.count))
        followers = {p.joint for p in linkage.parts if p.follows is not None}
        cause, said = "", "the two do not have the same joints or links"
        if extra and not missing and set(extra) <= followers:
            cause, said = "mimic", f"as if the mimic joint {diagnose.list_names(extra)} moved by itself"
        self.found.append(Difference((who,), f"the joints ({words})", cause, said, tuple(extra) if cause else ()))

    def compare_limits(self, who: str, right: str, m: Linkage, found: Array, left: str) -> None:
        """Lower, upper, effort and velocity of every coordinate, which no dynamics would show."""
        same = np.isclose(m.limits, found, rtol=1e-12, atol=1e-15)
        if same.all():
            self.rows.append(Agreement.of_answer("joint limits", left, right))
            return
        k, j = (int(i) for i in np.argwhere(~same)[0])
        a, b = show_value(m.limits[k, j]), show_value(found[k, j])
        entry = f"joint {m.coordinates[k]!r}, {LIMITS[j]}: {a} in {left}, {b} in {right}"
        self.rows.append(Agreement.of_answer("joint limits", left, right, entry))
        joints = [name for name, x in zip(m.coordinates, same, strict=True) if not x.all()]
        words = f"the limits of {diagnose.list_names(joints)} are not those that are written"
        ratios = _ratios(m.limits[~same], found[~same])
        degrees = all(abs(abs(np.log(ratio)) - np.log(180.0 / np.pi)) < 1e-9 for ratio in ratios)
        cause, words = ("units", f"{words} but in degrees or radians") if degrees else ("joint limits", words)
        self.limited.append((Difference((who,), f"the joint limits ({entry})", cause, words, tuple(joints)), m, found))

    def add(self, difference: Difference) -> None:
        """A difference by itself, or, where the same side has one of the same cause, its words there."""
        for k, other in enumerate(self.found):
            if (other.methods, other.cause) == (difference.methods, difference.cause):
                self.found[k] = replace(other, words=f"{other.words}; {difference.words}")
                return
        self.found.append(difference)


def _ratios(one: Array, two: Array) -> list[float]:
    """How many times as large the numbers are, 1 where they cannot be divided."""
    pairs = zip(one.tolist(), two.tolist(), strict=True)
    return [x / y if np.isfinite([x, y]).all() and x * y > 0 else 1.0 for x, y in pairs]


def difference_of(who: tuple[str, ...], first: str, found: Sequence[Explanation], words: str) -> Difference:
    """The best explanation as a difference, or `words` where there is none."""
    if not found:
        return Difference(who, first, "", words)
    e = found[0]
    return Difference(who, first, e.cause, f"as if {e.words}", e.parts, tuple(other.words for other in found[1:4]))


def row_of(name: str, left: str, right: str, reference: FourByFour, value: Value) -> Agreement:
    """One comparison. Of one that fails the first entry is named, of one that passes the largest."""
    quantity = QUANTITIES[name]
    found = quantity.relative(reference, value)
    allowed = quantity.allowed
    largest = float(found.max(initial=0.0))
    entry, state = "", None
    if found.size:
        over = found.max(axis=0) > allowed
        index = tuple(int(i) for i in (np.argwhere(over)[0] if over.any() else np.argwhere(found == largest)[0][1:]))
        state = int(np.argmax([one[index] for one in found]))
        entry = quantity.entry(reference, value, index)
    passed = largest <= allowed
    return Agreement(
        quantity.title, left, right, largest, allowed, quantity.tolerance, len(found), state, entry, passed
    )


def first_difference(failing: Iterable[tuple[str, Agreement]]) -> str:
    """The first term that differs, as a sentence."""
    order = {name: k for k, name in enumerate(QUANTITIES)}
    _, row = min(failing, key=lambda item: order.get(item[0], len(order)))
    at = "" if row.state is None else f" at state {row.state}"
    return f"{row.quantity} ({row.entry}): relative difference {row.difference:.1e}{at}"


def values_of(reference: FourByFour, names: tuple[str, ...], frames: Sequence[str]) -> Values:
    """All quantities of a reference, with its coordinates put into the order of `names`."""
    order = [reference.linkage.coordinates.index(name) for name in names]
    vectors = ("gravity_torque", "coriolis_torque", "torque", "friction_torque")
    plain = ("mass", "kinetic_energy", "potential_energy")
    return {
        "pose": {frame: reference.pose(frame) for frame in reference.frames},
        "jacobian": {f: reference.jacobian(f)[:, :, order] for f in frames if f in reference.frames},
        "mass_matrix": reference.mass_matrix[:, order][:, :, order],
        **{name: getattr(reference, name)[:, order] for name in vectors},
        **{name: getattr(reference, name) for name in plain},
    }
