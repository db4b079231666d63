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
from dalembert.verification import consensus, diagnose, oracles, states
from dalembert.verification.certificate import Certificate, Finding, Row, Side
from dalembert.verification.diagnose import Explanation
from dalembert.verification.four_by_four import Reference
from dalembert.verification.laws import LAWS
from dalembert.verification.mechanism import Array, Mechanism, of_description
from dalembert.verification.members import MEMBERS, Values, chosen_frames
from dalembert.verification.oracles import ORACLES, Subject, Unavailable
from dalembert.verification.quantities import QUANTITIES, TOLERANCES
from dalembert.verification.source import Source, source_of
from dalembert.verification.states import States
from dalembert.verification.written import (
    JOINT_FIELDS,
    LIMITS,
    LINK_FIELDS,
    differences,
    loop_differences,
    shortened,
    shown,
    written_limit,
)

BY_LINKS = "Lagrange, link by link"
AGAIN = "file read again"
OTHER = "the other description"
MOST_STATES = 100_000
NO_FAULT = "no fault of the table gives these numbers"
MOST_LOOSE = 3  # groups of members without a cause, from which on they are one finding


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
    try:
        left_out = (without,) if isinstance(without, str) else tuple(without)
    except TypeError:
        raise InputError(f"without is {without!r}; it must be names of members, such as ['mujoco']") from None
    known = ("file", *ORACLES, *MEMBERS)  # what one leaves out most, first: a list of names is cut off
    for name in left_out:
        if name not in known:
            raise unknown("member", name, known)
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
        self.limited: list[tuple[Finding, Mechanism, Array]] = []  # (finding, what is written, limits found)
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
        confined = states.confined(self.mechanism)
        if confined:
            names = diagnose.listed(confined)
            self.notes.append(f"the limits of {names} leave no room to move in: compared beyond them, within ±1")
        followers = [self.mechanism.parts[j].joint for j in self.mechanism.movers if self.mechanism.parts[j].follows]
        if followers:
            names = diagnose.listed(followers)
            self.notes.append(f"mimic joints {names} are folded into the joints they follow, for every member")
        if self.robot.warnings:
            count = len(self.robot.warnings)
            said = "1 warning" if count == 1 else f"{count} warnings"
            self.notes.append(f"the description has {said}: see 'dalembert info'")

    # ------------------------------------------------------------------------------------------ comparing
    def _compare(self, key: str, right: str, reference: Reference, values: Values, left: str = BY_LINKS) -> None:
        for name in QUANTITIES if self.mechanism.coordinates else ("pose",):
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
        elif wanted:
            own = self.robot.limits
            limits = np.stack([own.lower, own.upper, own.effort, own.velocity], axis=-1)
            self._limits("the model", "the model", self.mechanism, limits, "the description")
        return passed

    def _limits(self, who: str, right: str, m: Mechanism, found: Array, left: str) -> None:
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
            finding = Finding((who,), f"the joint limits ({entry})", cause, words, tuple(joints))
            self.limited.append((finding, m, found))
        self.rows.append(row)

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
        if wanted:
            turned = self.mechanism.limits[[found.index(name) for name in wanted]]
            self._limits("the description as it was read", "the description", again, turned, f"the {AGAIN}")

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
                    self.exact = of_description(snapped_description(description))
                    if self.exact != self.mechanism:
                        self.notes.append(
                            "in symbols, written angles that round a multiple of π/2 are that multiple: compared with "
                            "the links of the description so changed"
                        )
                        reference = Reference(self.exact, self.states)
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
        for finding, m, limits in self.limited:
            planted = [e.plant(m).limits for e in self.causes if e.plant is not None]
            if not any(np.shape(x) == np.shape(limits) and np.allclose(x, limits, rtol=1e-12) for x in planted):
                self._add(finding)  # unless another cause gives these limits too, as that of a mimic does
        if "laws" in self.failing and not own and not broken:
            first = f"the law {self.failing['laws'][0][1].quantity}"
            self.findings.append(Finding(("Dalembert",), first, "", "the law does not hold between its own members"))

    def _add(self, finding: Finding) -> None:
        """A finding by itself, or, where the same side has one of the same cause, its words there."""
        for k, other in enumerate(self.findings):
            if (other.members, other.cause) == (finding.members, finding.cause):
                self.findings[k] = replace(other, words=f"{other.words}; {finding.words}")
                return
        self.findings.append(finding)

    def _explain_own(self, own: Sequence[str]) -> None:
        """One cause for as many members as it explains; of the others, those with the same numbers together."""
        if not own:
            return
        found = diagnose.explanations(self._judged(own), self.states, self._pooled(own, everybody=True))
        explained = [key for key in own if found and self._explained(key, found[0])]
        if explained:
            self._find(explained, found, "")
        groups = consensus.groups(self._consensus(), [key for key in own if key not in explained])
        told = [(keys, *self._together(keys)) for keys in groups]
        loose = [keys for keys, why, _ in told if not why]
        for keys, why, words in told:
            if why or len(loose) < MOST_LOOSE:
                self._find(keys, why, words)
        if len(loose) >= MOST_LOOSE:
            words = "these members do not agree with each other: it is in several computations, or in what they share"
            self._find([key for keys in loose for key in keys], [], f"{NO_FAULT}; {words}")

    def _consensus(self) -> consensus.Case:
        failing = {key: {name for name, _ in self.failing.get(key, ())} for key in self.own}
        own = {key: values for key, values in self.own.items() if key in MEMBERS}
        snapped = Reference(self.exact, self.states.few) if self.exact != self.mechanism else None
        return consensus.Case(self.reference, own, failing, {"euler-lagrange"}, snapped)

    def _judged(self, keys: Sequence[str]) -> Mechanism:
        """The mechanism that these members see."""
        return self.exact if list(keys) == ["euler-lagrange"] else self.mechanism

    def _pooled(self, keys: Sequence[str], everybody: bool = False) -> Values:
        """The values of these members, those that fail first; of `everybody` else where they say nothing."""
        if self.exact != self.mechanism and len(keys) > 1:
            keys = [key for key in keys if key != "euler-lagrange"]  # of another mechanism
        pool: Values = {}
        for key in keys:
            pool |= {name: self.own[key][name] for name, _ in self.failing[key] if name not in pool}
        others = [key for key in MEMBERS if everybody and key in self.own and key not in self.failing]
        for key in (*keys, *others):
            pool |= {name: value for name, value in self.own[key].items() if name not in pool}
        return pool

    def _explained(self, key: str, found: Explanation) -> bool:
        """Whether the mechanism with the fault gives this member's numbers too."""
        values = diagnose.telling(self.own[key])
        if all(name.startswith("acceleration_by") for name in values):
            return True
        return diagnose.gives(found, self._judged([key]), self.states, values)

    def _together(self, keys: Sequence[str]) -> tuple[list[Explanation], str]:
        """(causes, what is known where there is none) of members that agree with each other."""
        mechanism, pool = self._judged(keys), self._pooled(keys)
        failed = {name: pool[name] for key in keys for name, _ in self.failing[key] if name in pool}
        found: list[Explanation] = []
        if not all(QUANTITIES[name].few for name in pool):
            in_place = keys[0] in MEMBERS and "kinematics" in self.own and "kinematics" not in self.failing
            found = diagnose.explanations(mechanism, self.states, pool, geometry=not in_place)
        found = found or diagnose.combination(mechanism, self.states, failed, len(failed) < len(pool))
        name = next(name for name in QUANTITIES if name in failed)
        reference = self.reference if mechanism == self.mechanism else Reference(mechanism, self.states)
        relative = QUANTITIES[name].relative(reference, diagnose.common(pool[name], reference))
        where = diagnose.where(self.states, relative, QUANTITIES[name].allowed)
        return found, f"{NO_FAULT}; {self._whose(keys, set(failed))}; {where}"

    def _whose(self, keys: Sequence[str], failed: set[str]) -> str:
        """Whether a difference without a cause is in one computation or in what several share."""
        others = [key for key in self.own if key in MEMBERS and key not in keys]
        if not others and len(keys) == 1:
            return "no other member took part, by which to tell the model from the computation"
        against = [key for key in others if consensus.comparable(failed, self.own[key])]
        if len(keys) == 1 and not against:
            return "no other member computes them: it is this computation, or what of the model it alone uses"
        if len(keys) == 1 and all(key in self.failing for key in against):
            return "the other members differ too, with other numbers: it may be in what they share"
        if len(keys) == 1:
            return "no other member has them: it is this computation itself"
        if not against:
            return (
                "all members that compute them agree with each other: it is in the model that they share, or in how it "
                "is built, not in one algorithm"
            )
        titles = diagnose.listed([MEMBERS[key].title for key in against])
        return f"these members agree with each other and not with {titles}: it is in what they share"

    def _find(self, keys: Sequence[str], found: Sequence[Explanation], words: str) -> None:
        titles = tuple(MEMBERS[key].title if key in MEMBERS else ORACLES[key].title for key in keys)
        self.causes += found[:1]
        self.findings.append(_finding(titles, _first([r for key in keys for r in self.failing[key]]), found, words))

    def _explain_library(self, key: str) -> None:
        """Why another library differs from what was read, unless it sides with the file."""
        if key in self._siding():
            return
        found, _ = self._together([key])
        self._find([key], found, f"{NO_FAULT}: it may be the library's own")

    def _siding(self) -> list[str]:
        """The libraries that have the numbers of the file read again, where these are not those of what was read."""
        again, few = self.source.again, self.states.few
        if again is None or "file" not in self.failing or again.coordinates != self.mechanism.coordinates:
            return []
        there, failing = Reference(again, few), [key for key in ORACLES if key in self.failing]
        return [key for key in failing if diagnose.agrees(there, diagnose.sliced(self.own[key], len(few)))]

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
        self.causes += found[:1]
        first = _first(self.failing["file"])
        words = "no single fault of the table turns the file into what was read"
        finding = _finding(("the description as it was read",), first, found, words)
        siding = ", ".join(ORACLES[key].title for key in self._siding())
        if siding:
            words = f"the {AGAIN} and {siding} agree with each other: it is what was read"
            finding = replace(finding, words=f"{finding.words}; {words}")
        self.findings.append(finding)

    # ------------------------------------------------------------------------------------------ two descriptions
    def _against(self, other: Source) -> None:
        self.tell("the other description")
        b = other.again or of_description(other.robot.tree().description)
        a = self.source.again or self.mechanism
        self.sides.append(Side("against", OTHER, True, reason=other.title))
        self.other = of_description(other.robot.tree().description)
        written = differences(self.other, self.mechanism)
        loops = loop_differences(other.robot.description.loops, self.source.robot.description.loops)
        self.differences += shortened([*written, *loops])
        self._as_limited([line for line in written if written_limit(line)], loops)
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

    def _as_limited(self, limits: Sequence[str], loops: Sequence[str]) -> None:
        """What no quantity of the tree shows: limits, and what closes a loop."""
        for name, lines in (("limits as written", limits), ("loops as written", loops)):
            row = Row(name, "this description", OTHER, float(bool(lines)), 0.5, "rounding", 1)
            self.rows.append(replace(row, passed=False, entry=lines[0]) if lines else row)
            if lines:
                words = f"written differently: {'; '.join(lines[:3])}"
                places = tuple(dict.fromkeys(line.partition(": ")[0] for line in lines))
                self.findings.append(Finding((OTHER,), f"the {name} ({places[0]})", "different numbers", words, places))

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
        written = [x for x in self.differences if not x.startswith(("links only", "loop ")) and not written_limit(x)]
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


def _pairs(one: Array, two: Array) -> list[tuple[float, float]]:
    """The numbers that are not the same in both, where they can be divided."""
    apart = ~np.isclose(one, two, rtol=1e-12, atol=1e-15)
    pairs = [(float(x), float(y)) for x, y in zip(one[apart], two[apart], strict=True)]
    return [(x, y) if np.isfinite([x, y]).all() and x * y > 0 else (1.0, 1.0) for x, y in pairs]


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
