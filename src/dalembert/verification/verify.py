"""`verify`: every way to a robot's numbers, compared with a reference that shares nothing with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import __version__
from dalembert.arguments import numbers
from dalembert.errors import DalembertError, InputError, unknown
from dalembert.robot import Robot
from dalembert.symbolic.exact import snapped_description
from dalembert.verification import diagnose, oracles, states
from dalembert.verification.certificate import Certificate, Finding, Row, Side
from dalembert.verification.diagnose import Explanation
from dalembert.verification.four_by_four import Reference
from dalembert.verification.laws import LAWS
from dalembert.verification.mechanism import Array, Mechanism, Part, of_description
from dalembert.verification.members import MEMBERS, Values, chosen_frames
from dalembert.verification.oracles import ORACLES, Subject, Unavailable
from dalembert.verification.quantities import QUANTITIES, TOLERANCES
from dalembert.verification.source import Source, source_of
from dalembert.verification.states import States

BY_LINKS = "Lagrange, link by link"
AGAIN = "file read again"
OTHER = "the other description"
MOST_STATES = 100_000
MOST_DIFFERENCES = 20  # numbers that two descriptions write differently, shown one by one


def verify(
    robot: Any,
    *,
    against: Any = None,
    states: int = 200,
    seed: int = 0,
    without: Iterable[str] = (),
    tip: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Certificate:
    """Compute everything in every way at many states within the joint limits, compare, and name the cause where two
    ways differ.

    `robot` is a bundled name, a path, a `Robot` or a DH table. The reference is Lagrange's equations in 4×4 matrices,
    link by link, straight from the description; compared with it are the file itself read a second time by the
    standard library, Dalembert's algorithms (Newton–Euler, composite bodies, articulated bodies, factorised, closed
    matrix form, regressor, energies, derivatives, Euler–Lagrange in symbols) and, where installed, Pinocchio, MuJoCo
    and Drake; `without` leaves members out by name. `against` is a second description of the same robot: what differs
    first, and why. `progress` is called with what is being done. A closed chain is compared as its tree."""
    count, seed, left_out = _checked(states, seed, without)
    tell = progress or (lambda words: None)
    source = source_of(robot, tip)
    return _Verification(source, count, seed, left_out, tell).run(against)


def _checked(count: Any, seed: Any, without: Any) -> tuple[int, int, tuple[str, ...]]:
    for name, value, least in (("states", count, 4), ("seed", seed, 0)):
        number = numbers(name, value, ())[0]
        if number != int(number) or not least <= number:
            raise InputError(f"{name} is {value!r}; it must be a whole number, {least} or more")
    if count > MOST_STATES:
        raise InputError(f"states is {count!r}; {MOST_STATES} is the most")
    left_out = (without,) if isinstance(without, str) else tuple(without)
    for name in left_out:
        if name not in (*MEMBERS, *ORACLES, "file"):
            raise unknown("member", name, (*MEMBERS, *ORACLES, "file"))
    return int(count), int(seed), left_out


class _Verification:
    """One run: what grows while members are compared."""

    def __init__(
        self, source: Source, count: int, seed: int, without: tuple[str, ...], tell: Callable[[str], None]
    ) -> None:
        self.source, self.without, self.tell, self.count, self.seed = source, without, tell, count, seed
        self.robot: Robot = source.robot.tree()
        self.rows: list[Row] = []
        self.sides: list[Side] = [Side("reference", BY_LINKS, True)]
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.differences: list[str] = []
        self.own: dict[str, Values] = {}  # of members that took part
        self.failing: dict[str, list[tuple[str, Row]]] = {}  # member → (quantity, row), in the order of the quantities
        self.mechanism = of_description(self.robot.description)
        self.other = self.mechanism  # what it is compared against
        drawn = self._drawn()
        first = Reference(self.mechanism, drawn)
        self.reference = Reference(self.mechanism, drawn.changed(tau=first.torque), first.motion)

    @property
    def states(self) -> States:
        return self.reference.states

    def _drawn(self) -> States:
        """States in the order of the mechanism's coordinates; drawn without limits if the robot has other joints."""
        names, own = self.mechanism.coordinates, self.robot.joint_names
        if sorted(names) == sorted(own):
            return states.reordered(states.draw(self.robot, self.count, self.seed), own, names)
        rng = np.random.default_rng(self.seed)
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, self.count, len(names)))
        return States(q, qd, qdd, np.zeros_like(q))

    def run(self, against: Any) -> Certificate:
        self._notes()
        self._file()
        if self._same_joints():
            self._members()
            self._laws()
        self._libraries()
        self._explain()
        if against is not None:
            self._against(source_of(against))
        return Certificate(
            self.robot.name,
            self.source.title,
            self.mechanism.coordinates,
            self.count,
            self.seed,
            __version__,
            tuple(self.rows),
            tuple(self.sides),
            tuple(self.findings),
            tuple(self.notes),
            tuple(self.differences),
        )

    def _notes(self) -> None:
        robot = self.source.robot
        if robot.loops:
            loops = ", ".join(repr(name) for name in robot.loops)
            self.notes.append(f"the chain is closed by {loops}; what is compared are the terms of its tree")
        if not self.mechanism.coordinates:
            self.notes.append("the robot has no joint that moves: only poses are compared")
        elif not self.reference.mass[0] and not self.reference.rotors.any():
            self.notes.append("nothing that moves has mass: there are no dynamics to compare, they are all zero")
        followers = [self.mechanism.parts[j].joint for j in self.mechanism.movers if self.mechanism.parts[j].follows]
        if followers:
            shown = diagnose.listed(followers)
            self.notes.append(f"mimic joints {shown} are folded into the joints they follow, for every member")
        if self.robot.warnings:
            count = len(self.robot.warnings)
            said = "1 warning" if count == 1 else f"{count} warnings"
            self.notes.append(f"the description has {said}: see 'dalembert info'")

    # ------------------------------------------------------------------------------------------ comparing
    def _compare(self, key: str, right: str, reference: Reference, values: Values, left: str = BY_LINKS) -> None:
        for name in QUANTITIES:
            if name not in values:
                continue
            row = _row(name, left, right, reference, diagnose.common(values[name], reference))
            self.rows.append(row)
            if not row.passed:
                self.failing.setdefault(key, []).append((name, row))

    def _broken(self, key: str, title: str, error: Exception) -> None:
        """A member that ended in an error of its own: no number of it agrees."""
        words = f"{type(error).__name__}: {error}"
        row = Row("the member itself", BY_LINKS, title, float("inf"), 0.0, "rounding", 0, None, words, False)
        self.rows.append(row)
        self.failing.setdefault(key, []).append(("", row))
        self.sides.append(Side(key, title, True, reason=words))

    def _same_joints(self) -> bool:
        wanted, found = self.mechanism.coordinates, self.robot.joint_names
        frames = {p.link for p in self.mechanism.parts}
        passed = wanted == found and frames == set(self.robot.frames)
        missing = [name for name in (*wanted, *sorted(frames)) if name not in (*found, *self.robot.frames)]
        extra = [name for name in (*found, *self.robot.frames) if name not in (*wanted, *frames)]
        entry = "; ".join(
            f"{word} {diagnose.listed(names)}" for word, names in (("without", missing), ("also", extra)) if names
        )
        row = Row(
            "joints and links", "the description", "the model", 0.0 if passed else 1.0, 0.5, "rounding", self.count
        )
        self.rows.append(row if passed else replace(row, passed=False, entry=entry or "in another order"))
        if not passed:
            self.findings.append(_other_joints(("the model",), self.mechanism, missing, extra, entry))
        return passed

    def _file(self) -> None:
        again, reason = self.source.again, self.source.reason
        if "file" in self.without:
            again, reason = None, "left out as asked"
        self.sides.append(Side("file", AGAIN, again is not None, reason=reason))
        if again is None:
            return
        self.tell("the file, read again")
        wanted, found = again.coordinates, self.mechanism.coordinates
        if sorted(wanted) != sorted(found):
            missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
            words = f"without {diagnose.listed(missing)}" if missing else f"also {diagnose.listed(extra)}"
            row = Row(
                "joints and links", AGAIN, "the description", 1.0, 0.5, "rounding", self.count, None, words, False
            )
            self.rows.append(row)
            self.findings.append(_other_joints(("the description as it was read",), again, missing, extra, words))
            return
        values = values_of(Reference(again, states.reordered(self.states, found, wanted)), found, self._frames())
        self._compare("file", AGAIN, self.reference, values)

    def _frames(self) -> tuple[str, ...]:
        return tuple(f for f in chosen_frames(self.robot) if f in self.reference.frames)

    def _members(self) -> None:
        description = self.robot.description
        for key, member in MEMBERS.items():
            if key in self.without:
                self.sides.append(Side(key, member.title, False, reason="left out as asked"))
                continue
            self.tell(member.title)
            reference = self.reference
            try:
                values = member.compute(self.robot, self.states)
                if key == "euler-lagrange":
                    exact = of_description(snapped_description(description))
                    if exact != self.mechanism:
                        self.notes.append(
                            "in symbols, written angles that round a multiple of π/2 are that multiple: compared with "
                            "the links of the description so changed"
                        )
                        reference = Reference(exact, self.states)
            except DalembertError as refused:
                self.sides.append(Side(key, member.title, False, reason=str(refused)))
                continue
            except Exception as error:  # a member that breaks is a finding, not the end of the comparison
                self._broken(key, member.title, error)
                continue
            self.sides.append(Side(key, member.title, True))
            self.own[key] = values
            self._compare(key, member.title, reference, values)

    def _laws(self) -> None:
        if not self.robot.n:
            return
        for key, law in LAWS.items():
            try:
                found = np.abs(law.relative(self.robot, self.reference, self.states))
            except DalembertError as refused:
                self.notes.append(f"the law {law.title} is left out: {refused}")
                continue
            except Exception as error:
                self._broken(key, law.title, error)
                continue
            found = np.where(np.isfinite(found), found, np.inf)
            allowed = TOLERANCES[law.tolerance][0]
            state = int(found.reshape(len(found), -1).max(axis=-1, initial=0.0).argmax())
            largest = float(found.max(initial=0.0))
            row = Row(law.title, law.left, law.right, largest, allowed, law.tolerance, len(found), state)
            self.rows.append(row if largest <= allowed else replace(row, passed=False, entry="the whole robot"))
            if largest > allowed:
                self.failing.setdefault("laws", []).append(("", self.rows[-1]))

    def _libraries(self) -> None:
        subject = Subject(self.mechanism, self.source.urdf, self._frames())
        for key, oracle in ORACLES.items():
            if key in self.without:
                self.sides.append(Side(key, oracle.title, False, reason="left out as asked"))
                continue
            if not self.mechanism.coordinates:
                self.sides.append(Side(key, oracle.title, False, reason="there is no joint to move"))
                continue
            self.tell(oracle.title)
            try:
                version, values = oracles.consult(key, subject, self.states)
            except Unavailable as why:
                self.sides.append(Side(key, oracle.title, False, reason=str(why)))
                continue
            except Exception as error:  # another library's own failure says nothing about this robot
                why_not = f"it failed: {type(error).__name__}: {error}"
                self.sides.append(Side(key, oracle.title, False, reason=why_not))
                continue
            self.sides.append(Side(key, oracle.title, True, version))
            self.own[key] = values
            self._compare(key, oracle.title, self.reference, values)

    # ------------------------------------------------------------------------------------------ explaining
    def _explain(self) -> None:
        if self.failing:
            self.tell("looking for the cause")
        self._explain_file()
        broken = [key for key in self.failing if key in MEMBERS and key not in self.own]
        own = [key for key in self.failing if key in MEMBERS and key in self.own]
        self._explain_own(own)
        for key in broken:
            words = f"it ended in {self.failing[key][0][1].entry}"
            self.findings.append(Finding((MEMBERS[key].title,), "its own failure", "", words))
        for key in ORACLES:
            if key in self.failing:
                self._explain_library(key)
        if "laws" in self.failing and not own and not broken:
            first = f"the law {self.failing['laws'][0][1].quantity}"
            self.findings.append(Finding(("Dalembert",), first, "", "the law does not hold between its own members"))

    def _explain_own(self, own: Sequence[str]) -> None:
        """One cause for as many members as it explains; the others each by itself, equal ones together."""
        if not own:
            return
        together: Values = {}
        for key in (*own, *(key for key in MEMBERS if key in self.own and key not in own)):
            together |= {k: v for k, v in self.own[key].items() if k not in together}
        found = diagnose.explanations(self.mechanism, self.states, together)
        groups: list[tuple[list[str], list[Explanation], str]] = []
        left = list(own)
        if found:
            explained = [key for key in own if self._explained(key, found[0])]
            left = [key for key in own if key not in explained]
            groups += [(explained, found, "")] if explained else []
        for key in left:
            alone, words = self._alone(key)
            same = next((g for g in groups if g[1][:1] == alone[:1] and (alone or g[2] == words)), None)
            if same is None and not alone and key == "solved-derivatives" and groups:
                same = groups[0]  # it is made of the others
            if same is not None:
                same[0].append(key)
            else:
                groups.append(([key], alone, words))
        for keys, why, words in groups:
            self._find(keys, why, words)

    def _explained(self, key: str, found: Explanation) -> bool:
        """Whether the mechanism with the fault gives this member's numbers too."""
        values = diagnose.sliced(diagnose.telling(self.own[key]), len(self.states.few))
        if found.mechanism is None or all(name.startswith("acceleration_by") for name in values):
            return True
        return diagnose.agrees(Reference(found.mechanism, self.states.few), values)

    def _alone(self, key: str) -> tuple[list[Explanation], str]:
        """(causes, what is known where there is none) of one member by itself."""
        values = self.own[key]
        failed = {name: values[name] for name, _ in self.failing[key]}
        found: list[Explanation] = []
        if not all(QUANTITIES[name].few for name in values):
            in_place = key in MEMBERS and "kinematics" in self.own and "kinematics" not in self.failing
            found = diagnose.explanations(self.mechanism, self.states, values, geometry=not in_place)
        found = found or diagnose.combination(self.mechanism, self.states, failed)
        name = self.failing[key][0][0]
        relative = QUANTITIES[name].relative(self.reference, diagnose.common(values[name], self.reference))
        where = diagnose.where(self.states, relative, QUANTITIES[name].allowed)
        return found, f"no fault of the mechanism gives these numbers: it is the computation itself; {where}"

    def _find(self, keys: Sequence[str], found: Sequence[Explanation], words: str) -> None:
        titles = tuple(MEMBERS[key].title if key in MEMBERS else ORACLES[key].title for key in keys)
        self.findings.append(_finding(titles, _first([r for key in keys for r in self.failing[key]]), found, words))

    def _explain_library(self, key: str) -> None:
        """Why another library differs from what was read; where the file does too, whether it sides with that."""
        again, few = self.source.again, self.states.few
        if again is not None and "file" in self.failing and again.coordinates == self.mechanism.coordinates:
            there = diagnose.sliced(self.own[key], len(few))
            if diagnose.agrees(Reference(again, few), there):
                words = f"it agrees with the {AGAIN}: what was read differs, not {ORACLES[key].title}"
                self._find([key], [], words)
                return
        found, words = self._alone(key)
        self._find([key], found, words.replace("it is the computation itself", "it may be the library's own"))

    def _explain_file(self) -> None:
        again = self.source.again
        if again is None or "file" not in self.failing:
            return
        mine = values_of(self.reference, self.mechanism.coordinates, self._frames())
        order = again.coordinates
        wanted = values_of(self.reference, order, self._frames()) if order != self.mechanism.coordinates else mine
        turned = states.reordered(self.states, self.mechanism.coordinates, order)
        frames = Reference(again, turned).frames
        wanted = {
            k: {f: x for f, x in v.items() if f in frames} if isinstance(v, dict) else v for k, v in wanted.items()
        }
        found = diagnose.explanations(again, turned, wanted)
        first = _first(self.failing["file"])
        words = "no single fault of the table turns the file into what was read"
        self.findings.append(_finding(("the description as it was read",), first, found, words))

    # ------------------------------------------------------------------------------------------ two descriptions
    def _against(self, other: Source) -> None:
        self.tell("the other description")
        b = other.again or of_description(other.robot.tree().description)
        a = self.source.again or self.mechanism
        self.sides.append(Side("against", OTHER, True, reason=other.title))
        self.other = of_description(other.robot.tree().description)
        self.differences += differences(self.other, self.mechanism)
        wanted, found = self.mechanism.coordinates, b.coordinates
        if sorted(wanted) != sorted(found):
            missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
            words = "; ".join(
                f"{word} {diagnose.listed(names)}" for word, names in (("without", missing), ("also", extra)) if names
            )
            row = Row("joints and links", BY_LINKS, OTHER, 1.0, 0.5, "rounding", self.count, None, words, False)
            self.rows.append(row)
            self.findings.append(_other_joints((OTHER,), self.mechanism, missing, extra, words))
            return
        reference = Reference(b, states.reordered(self.states, wanted, found))
        common = tuple(f for f in self._frames() if f in reference.frames)
        if len([f for f in reference.frames if f in self.reference.frames]) < 2:
            self.notes.append("the two descriptions share no names of links that move: poses are not compared")
        values = values_of(reference, wanted, common)
        shared = self.reference.frames if a.table is None and b.table is None else common
        values["pose"] = {f: x for f, x in values["pose"].items() if f in shared}  # a DH table puts frames its own way
        self._compare("against", OTHER, self.reference, values)
        if "against" in self.failing:
            self._explain_against(a, b, values)

    def _explain_against(self, a: Mechanism, b: Mechanism, values: Values) -> None:
        first = _first(self.failing["against"])
        frames = Reference(a, self.states).frames if a.coordinates == self.mechanism.coordinates else ()
        here = {k: {f: x for f, x in v.items() if f in frames} if isinstance(v, dict) else v for k, v in values.items()}
        found = diagnose.explanations(a, self.states, here) if frames else []
        who, words = OTHER, "no single fault of the table gives its numbers"
        if not found:
            turned = states.reordered(self.states, self.mechanism.coordinates, b.coordinates)
            theirs = Reference(b, turned).frames
            mine = values_of(self.reference, b.coordinates, tuple(f for f in self._frames() if f in theirs))
            mine["pose"] = {f: x for f, x in mine["pose"].items() if f in theirs}
            found = diagnose.explanations(b, turned, mine)
            who = "this description" if found else OTHER
        found = found or self._as_written(values)
        self.findings.append(_finding((who,), first, found, words))

    def _as_written(self, values: Values) -> list[Explanation]:
        """The numbers that the two write differently, if they account for everything."""
        written = [line for line in self.differences if not line.startswith("links only")]
        theirs = {p.link: p for p in self.other.parts}
        fields = (*LINK_FIELDS, *JOINT_FIELDS)
        changed = {
            i: replace(p, **{field: getattr(theirs[p.link], field) for field in fields})
            for i, p in enumerate(self.mechanism.parts)
            if p.link in theirs
        }
        planted = replace(self.mechanism.with_parts(changed), gravity=self.other.gravity)
        few = self.states.few
        if not written or not diagnose.agrees(Reference(planted, few), diagnose.sliced(values, len(few))):
            return []
        places = tuple(line.partition(": ")[0] for line in written)
        return [Explanation("different numbers", f"written differently: {'; '.join(written[:3])}", places)]


def _finding(who: tuple[str, ...], first: str, found: Sequence[Explanation], words: str) -> Finding:
    if not found:
        return Finding(who, first, "", words)
    e = found[0]
    return Finding(who, first, e.cause, f"as if {e.words}", e.parts, tuple(other.words for other in found[1:4]))


def _row(name: str, left: str, right: str, reference: Reference, value: Any) -> Row:
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


def _first(failing: Sequence[tuple[str, Row]]) -> str:
    """The first term that differs, as a sentence."""
    order = {name: k for k, name in enumerate(QUANTITIES)}
    _, row = min(failing, key=lambda item: order.get(item[0], len(order)))
    at = "" if row.state is None else f" at state {row.state}"
    return f"{row.quantity} ({row.entry}): relative difference {row.difference:.1e}{at}"


def _other_joints(
    who: tuple[str, ...], mechanism: Mechanism, missing: Sequence[str], extra: Sequence[str], entry: str
) -> Finding:
    """Joints that only one side has: a mimic joint that moves by itself, or joints that are simply not there."""
    followers = {p.joint for p in mechanism.parts if p.follows is not None}
    if extra and not missing and set(extra) <= followers:
        words = f"as if the mimic joint {diagnose.listed(list(extra))} moved by itself"
        return Finding(who, f"the joints ({entry})", "mimic", words, tuple(extra))
    return Finding(who, f"the joints ({entry})", "", "the two do not have the same joints or links")


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


def differences(other: Mechanism, mine: Mechanism) -> list[str]:
    """What the two write differently of links and joints of the same name, in words."""
    theirs = {p.link: p for p in other.parts}
    found = []
    if not np.allclose(other.gravity, mine.gravity, rtol=1e-12, atol=1e-12):
        found.append(f"gravity: {_shown(mine.gravity)} here, {_shown(other.gravity)} there")
    for part in mine.parts:
        if part.link in theirs:
            found += _part_differences(part, theirs[part.link])
    lacking = [p.link for p in mine.parts if p.link not in theirs]
    here = {p.link for p in mine.parts}
    extra = [p.link for p in other.parts if p.link not in here]
    found += [f"links only here: {diagnose.listed(lacking)}"] if lacking else []
    found += [f"links only there: {diagnose.listed(extra)}"] if extra else []
    if len(found) > MOST_DIFFERENCES:
        found = [*found[:MOST_DIFFERENCES], f"and {len(found) - MOST_DIFFERENCES} more"]
    return found


LINK_FIELDS = ("mass", "com", "inertia", "inertial_rpy")
JOINT_FIELDS = (
    "kind",
    "before",
    "axis",
    "multiplier",
    "offset",
    "rotor",
    "gear",
    "damping",
    "coulomb",
    "stiffness",
    "rest",
)


def _part_differences(a: Part, b: Part) -> list[str]:
    found = []
    for field in (*LINK_FIELDS, *JOINT_FIELDS):
        x, y = getattr(a, field), getattr(b, field)
        same = (
            x == y if isinstance(x, str) else np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-12, atol=1e-15)
        )
        if not same:
            who = f"link {a.link!r}" if field in LINK_FIELDS else f"joint {a.joint!r}"
            name = "origin" if field == "before" else field.replace("_", " ")
            found.append(f"{who}: {name} {_shown(x)} here, {_shown(y)} there")
    return found


def _shown(x: Any) -> str:
    if isinstance(x, str):
        return x
    flat = [f"{v:.6g}" for v in np.ravel(np.asarray(x, dtype=float))]
    return flat[0] if len(flat) == 1 else f"({', '.join(flat)})"
