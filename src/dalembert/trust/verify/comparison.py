"""What grows while members are compared: rows, sides, findings, and the numbers that failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.robot import Robot
from dalembert.trust.verify import diagnose, states
from dalembert.trust.verify.certificate import Difference, Row, Side
from dalembert.trust.verify.diagnose import Explanation
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Array, Mechanism, of_description
from dalembert.trust.verify.members import Values, chosen_frames
from dalembert.trust.verify.quantities import QUANTITIES
from dalembert.trust.verify.source import Source
from dalembert.trust.verify.states import States
from dalembert.trust.verify.written import LIMITS, shown

BY_LINKS = "Lagrange, link by link"
AGAIN = "file read again"


class Comparison:
    """One run: what grows while members are compared."""

    def __init__(
        self, source: Source, count: int, seed: int, without: tuple[str, ...], tell: Callable[[str], None]
    ) -> None:
        self.source, self.without, self.tell, self.count, self.seed = source, without, tell, count, seed
        self.robot: Robot = source.robot.tree()
        self.rows: list[Row] = []
        self.sides: list[Side] = [Side("reference", BY_LINKS, True)]
        self.found: list[Difference] = []
        self.limited: list[tuple[Difference, Mechanism, Array]] = []  # (finding, what is written, limits found)
        self.causes: list[Explanation] = []
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.own: dict[str, Values] = {}  # of members that took part
        self.failing: dict[str, list[tuple[str, Row]]] = {}  # member → (quantity, row), in the order of the quantities
        self.mechanism = of_description(self.robot.description)
        self.other = self.mechanism  # what it is compared against
        self.exact = self.mechanism  # what the symbols see, right angles made so
        drawn = self._drawn()
        first = Reference(self.mechanism, drawn)
        self.reference = Reference(self.mechanism, drawn.changed(tau=first.torque), first.motion)

    @property
    def states(self) -> States:
        return self.reference.states

    def _drawn(self) -> States:
        """States in the order of the mechanism's coordinates, within the limits that the description writes."""
        return states.draw(self.mechanism, self.count, self.seed)

    def shown_frames(self) -> tuple[str, ...]:
        """The frames whose Jacobians are compared."""
        return tuple(f for f in chosen_frames(self.robot) if f in self.reference.frames)

    def compare(self, key: str, right: str, reference: Reference, values: Values, left: str = BY_LINKS) -> None:
        """A row for every quantity of a member; those that differ are kept."""
        for name in QUANTITIES if self.mechanism.coordinates else ("pose",):
            if name not in values:
                continue
            row = row_of(name, left, right, reference, diagnose.common(values[name], reference))
            self.rows.append(row)
            if not row.passed:
                self.failing.setdefault(key, []).append((name, row))

    def broken(self, key: str, title: str, error: Exception) -> None:
        """A member that ended in an error of its own: no number of it agrees."""
        words = f"{type(error).__name__}: {error}"
        row = Row("the member itself", BY_LINKS, title, float("inf"), 0.0, "rounding", 0, None, words, False)
        self.rows.append(row)
        self.failing.setdefault(key, []).append(("", row))
        self.sides.append(Side(key, title, True, reason=words))

    def limits(self, who: str, right: str, m: Mechanism, found: Array, left: str) -> None:
        """Lower, upper, effort and velocity of every coordinate, which no dynamics would show."""
        same = np.isclose(m.limits, found, rtol=1e-12, atol=1e-15)
        row = Row("joint limits", left, right, float(not same.all()), 0.5, "rounding", 1)
        if not same.all():
            k, j = (int(i) for i in np.argwhere(~same)[0])
            a, b = shown(m.limits[k, j]), shown(found[k, j])
            entry = f"joint {m.coordinates[k]!r}, {LIMITS[j]}: {a} in {left}, {b} in {right}"
            row = replace(row, passed=False, entry=entry)
            joints = [name for name, x in zip(m.coordinates, same, strict=True) if not x.all()]
            words = f"the limits of {diagnose.listed(joints)} are not those that are written"
            degrees = all(abs(abs(np.log(x / y)) - np.log(180.0 / np.pi)) < 1e-9 for x, y in _pairs(m.limits, found))
            cause, words = ("units", f"{words} but in degrees or radians") if degrees else ("joint limits", words)
            finding = Difference((who,), f"the joint limits ({entry})", cause, words, tuple(joints))
            self.limited.append((finding, m, found))
        self.rows.append(row)

    def add(self, finding: Difference) -> None:
        """A finding by itself, or, where the same side has one of the same cause, its words there."""
        for k, other in enumerate(self.found):
            if (other.members, other.cause) == (finding.members, finding.cause):
                self.found[k] = replace(other, words=f"{other.words}; {finding.words}")
                return
        self.found.append(finding)


def _pairs(one: Array, two: Array) -> list[tuple[float, float]]:
    """The numbers that are not the same in both, where they can be divided."""
    apart = ~np.isclose(one, two, rtol=1e-12, atol=1e-15)
    pairs = [(float(x), float(y)) for x, y in zip(one[apart], two[apart], strict=True)]
    return [(x, y) if np.isfinite([x, y]).all() and x * y > 0 else (1.0, 1.0) for x, y in pairs]


def difference_of(who: tuple[str, ...], first: str, found: Sequence[Explanation], words: str) -> Difference:
    """The best explanation as a difference, or `words` where there is none."""
    if not found:
        return Difference(who, first, "", words)
    e = found[0]
    return Difference(who, first, e.cause, f"as if {e.words}", e.parts, tuple(other.words for other in found[1:4]))


def row_of(name: str, left: str, right: str, reference: Reference, value: Any) -> Row:
    """One comparison. Of one that fails the first entry is named, of one that passes the largest."""
    quantity = QUANTITIES[name]
    found = quantity.relative(reference, value)
    allowed = quantity.allowed
    largest = float(found.max(initial=0.0))
    passed = largest <= allowed
    entry, state = "", None
    if found.size:
        over = found.max(axis=0) > allowed
        index = tuple(int(i) for i in (np.argwhere(over)[0] if over.any() else np.argwhere(found == largest)[0][1:]))
        state = int(np.argmax([one[index] for one in found]))
        entry = quantity.entry(reference, value, index)
    return Row(quantity.title, left, right, largest, allowed, quantity.tolerance, len(found), state, entry, passed)


def first_difference(failing: Sequence[tuple[str, Row]]) -> str:
    """The first term that differs, as a sentence."""
    order = {name: k for k, name in enumerate(QUANTITIES)}
    _, row = min(failing, key=lambda item: order.get(item[0], len(order)))
    at = "" if row.state is None else f" at state {row.state}"
    return f"{row.quantity} ({row.entry}): relative difference {row.difference:.1e}{at}"


def other_joints(
    who: tuple[str, ...], mechanism: Mechanism, missing: Sequence[str], extra: Sequence[str], entry: str
) -> Difference:
    """Joints that only one side has: a mimic joint that moves by itself, or joints that are simply not there."""
    followers = {p.joint for p in mechanism.parts if p.follows is not None}
    if extra and not missing and set(extra) <= followers:
        words = f"as if the mimic joint {diagnose.listed(list(extra))} moved by itself"
        return Difference(who, f"the joints ({entry})", "mimic", words, tuple(extra))
    return Difference(who, f"the joints ({entry})", "", "the two do not have the same joints or links")


def values_of(reference: Reference, names: tuple[str, ...], frames: Sequence[str]) -> Values:
    """All quantities of a reference, with its coordinates put into the order of `names`."""
    own = reference.mechanism.coordinates
    order = [own.index(name) for name in names]

    def vector(x: Array) -> Array:
        return x[:, order]

    return {
        "pose": {frame: reference.pose(frame) for frame in reference.frames},
        "jacobian": {f: reference.jacobian(f)[:, :, order] for f in frames if f in reference.frames},
        "mass": reference.mass,
        "mass_matrix": reference.mass_matrix[:, order][:, :, order],
        "gravity_torque": vector(reference.gravity_torque),
        "coriolis_torque": vector(reference.coriolis_torque),
        "torque": vector(reference.torque),
        "friction_torque": vector(reference.friction_torque),
        "kinetic_energy": reference.kinetic_energy,
        "potential_energy": reference.potential_energy,
    }
