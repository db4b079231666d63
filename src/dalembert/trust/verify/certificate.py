"""The certificate of `verify`: what was compared with what, at which states, how well it agreed, and why it did not.

`VerifyRun` collects agreements, methods, differences and the numbers that failed while methods are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from dalembert.display import ResultTable, VerdictMark
from dalembert.findings import Finding, FindingColumn, Findings, Severity
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

    @property
    def name(self) -> str:
        return self.quantity

    @property
    def share(self) -> float:
        """The difference as a part of what is allowed."""
        return self.difference / self.allowed if self.allowed else math.inf

    @property
    def where(self) -> str:
        """The entry and the state of the largest difference, where it is not allowed."""
        at = "" if self.state is None else f", state {self.state}"
        return "" if self.passed else f"{self.entry}{at}"

    @property
    def finding(self) -> Finding:
        """The comparison as a finding: an error where it differs, else a note."""
        said = f"{self.quantity}: {self.left} and {self.right} differ by {self.difference:.1e}"
        severity: Severity = "note" if self.passed else "error"
        return Finding(self.quantity, severity, f"{said} ({self.where})" if self.where else said, element=self.right)

    def __str__(self) -> str:
        mark = "ok  " if self.passed else "FAIL"
        return f"{mark} {self.quantity}  {self.difference:.1e}  {self.left} = {self.right}  {self.where}".rstrip()

    def data(self) -> dict[str, object]:
        return asdict(self)

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

    def __str__(self) -> str:
        """Who differs, where first, and the likely cause."""
        who = ", ".join(self.methods[:MAX_NAMED_METHODS])
        if len(self.methods) > MAX_NAMED_METHODS:
            who += f" and {len(self.methods) - MAX_NAMED_METHODS} more"
        cause = f"likely cause: {self.cause}; " if self.cause else "not explained; "
        also = f" (the same numbers: {'; '.join(self.others)})" if self.others else ""
        return f"{who}: first differs in {self.first}; {cause}{self.words}{also}"


@dataclass(frozen=True)
class Verified:
    """What was compared: `states` drawn from `seed`, of the `joints` of a robot as read from `description`, by which
    `methods`; the `causes` of what differs; the `differences` in what two descriptions write."""

    robot: str
    description: str
    joints: tuple[str, ...]
    states: int
    seed: int
    version: str
    methods: tuple[ComparedMethod, ...]
    causes: tuple[Difference, ...] = ()
    differences: tuple[str, ...] = ()
    tolerances: dict[str, tuple[float, str]] = field(default_factory=lambda: dict(TOLERANCES))


Certificate = Findings[Agreement, Verified]  # the result of `verify`
COLUMNS: tuple[FindingColumn[Agreement], ...] = (
    FindingColumn("", lambda row: VerdictMark(*(("agrees", "good") if row.passed else ("differs", "bad")))),
    FindingColumn("quantity", lambda row: row.quantity),
    FindingColumn("of", lambda row: row.left),
    FindingColumn("with", lambda row: row.right),
    FindingColumn("difference", lambda row: f"{row.difference:.1e}"),
    FindingColumn("allowed", lambda row: f"{row.allowed:.0e}"),
    FindingColumn("first", lambda row: row.where),
)


def make_certificate(rows: tuple[Agreement, ...], facts: Verified, remarks: tuple[str, ...] = ()) -> Certificate:
    """Return agreements and what was compared as one result."""
    absent = [f"absent: {method.title}: {method.reason}" for method in facts.methods if not method.present]
    written = [f"written differently: {line}" for line in facts.differences]
    causes = [f"finding: {cause}" for cause in facts.causes]
    more = (*absent, *remarks, *written, *causes)
    return Findings(facts.robot, rows, facts, "verify", _summarize(rows, facts), COLUMNS, more)


def _summarize(rows: tuple[Agreement, ...], facts: Verified) -> str:
    """One sentence."""
    count = f"{len(rows)} comparisons at {facts.states} states (seed {facts.seed})"
    failed = sum(not row.passed for row in rows)
    if not failed:
        worst = max((row.difference for row in rows), default=0.0)
        return f"{facts.robot}: all agree: {count}, largest relative difference {worst:.1e}"
    causes = sorted({cause.cause for cause in facts.causes if cause.cause})
    why = f"; likely cause: {', '.join(causes)}" if causes else "; no fault of the table explains it"
    return f"{facts.robot}: {failed} of {count} differ{why}"


def summarize_by(found: Certificate, group: Callable[[Agreement], str], title: str) -> ResultTable:
    """Return one line for each group of comparisons: how many there are, and the worst of them."""
    lines = []
    for name in dict.fromkeys(map(group, found.rows)):
        rows = [row for row in found.rows if group(row) == name]
        worst = max(rows, key=lambda row: row.share)
        bad = sum(not row.passed for row in rows)
        said = VerdictMark(f"{bad} of {len(rows)} differ", "bad") if bad else VerdictMark("agrees", "good")
        lines.append((name, len(rows), f"{worst.difference:.1e}", f"{worst.allowed:.0e}", said))
    return ResultTable(found.message, (title, "comparisons", "largest difference", "allowed", ""), tuple(lines))


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
