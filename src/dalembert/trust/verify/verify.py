"""`verify`: every way to a robot's numbers, compared with a reference that shares nothing with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import __version__
from dalembert.arguments import number
from dalembert.errors import DalembertError, InputError, unknown
from dalembert.symbolic.exact import snapped_description
from dalembert.trust.verify import diagnose, oracles, states
from dalembert.trust.verify.against import compare_with
from dalembert.trust.verify.certificate import Certificate, Row, Side
from dalembert.trust.verify.comparison import AGAIN, Comparison, other_joints, values_of
from dalembert.trust.verify.explain import explain
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.laws import LAWS
from dalembert.trust.verify.mechanism import of_description
from dalembert.trust.verify.members import MEMBERS
from dalembert.trust.verify.oracles import ORACLES, Subject, Unavailable
from dalembert.trust.verify.quantities import TOLERANCES
from dalembert.trust.verify.source import Source, source_of

MOST_STATES = 100_000


def verify(
    robot: Any,
    *,
    against: Any = None,
    states: int = 200,
    seed: int = 0,
    without: Iterable[str] = (),
    tip: str | None = None,
    progress: Callable[[str], None] | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    allow: Collection[str] = (),
) -> Certificate:
    """Compute everything in every way at many states within the joint limits, compare, and name the cause where two
    ways differ.

    `robot` is a bundled name, a path, a `Robot` or a DH table. The reference is Lagrange's equations in 4×4 matrices,
    link by link, straight from the description; compared with it are the file itself read a second time by the
    standard library, Dalembert's algorithms (Newton–Euler, composite bodies, articulated bodies, factorized, closed
    matrix form, regressor, energies, derivatives, Euler–Lagrange in symbols) and, where installed, Pinocchio, MuJoCo
    and Drake; `without` leaves members out by name. `against` is a second description of the same robot: what differs
    first, and why. `progress` is called with what is being done. A closed chain is compared as its tree.
    `package_dirs`, `strict` and `allow` are how files are read, as in `load`."""
    count, seed, left_out = _checked(states, seed, without)
    tell = progress or (lambda words: None)
    reading: dict[str, Any] = {"package_dirs": package_dirs, "strict": strict, "allow": allow}
    source = source_of(robot, tip, **reading)
    other = None if against is None else source_of(against, **reading)
    return _certificate(Comparison(source, count, seed, left_out, tell), other)


def _checked(count: Any, seed: Any, without: Any) -> tuple[int, int, tuple[str, ...]]:
    for name, value, least in (("states", count, 4), ("seed", seed, 0)):
        if number(name, value) != int(value) or not least <= value:
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


def _certificate(c: Comparison, other: Source | None) -> Certificate:
    """All steps, one after the other."""
    _notes(c)
    _file(c)
    if _same_joints(c):
        _members(c)
        _laws(c)
    _libraries(c)
    explain(c)
    if other is not None:
        compare_with(c, other)
    return Certificate(
        c.robot.name,
        c.source.title,
        c.mechanism.coordinates,
        c.count,
        c.seed,
        __version__,
        tuple(c.rows),
        tuple(c.sides),
        tuple(difference.finding for difference in c.found),
        tuple(c.notes),
        tuple(c.differences),
    )


def _notes(c: Comparison) -> None:
    robot = c.source.robot
    if robot.loops:
        loops = ", ".join(repr(name) for name in robot.loops)
        c.notes.append(f"the chain is closed by {loops}; what is compared are the terms of its tree")
    if not c.mechanism.coordinates:
        c.notes.append("the robot has no joint that moves: only poses are compared")
    elif not c.reference.mass[0] and not c.reference.rotors.any():
        c.notes.append("nothing that moves has mass: there are no dynamics to compare, they are all zero")
    confined = states.confined(c.mechanism)
    if confined:
        names = diagnose.listed(confined)
        c.notes.append(f"the limits of {names} leave no room to move in: compared beyond them, within ±1")
    followers = [c.mechanism.parts[j].joint for j in c.mechanism.movers if c.mechanism.parts[j].follows]
    if followers:
        names = diagnose.listed(followers)
        c.notes.append(f"mimic joints {names} are folded into the joints they follow, for every member")
    if c.robot.warnings:
        count = len(c.robot.warnings)
        said = "1 warning" if count == 1 else f"{count} warnings"
        c.notes.append(f"the description has {said}: see 'dalembert info'")


def _same_joints(c: Comparison) -> bool:
    wanted, found = c.mechanism.coordinates, c.robot.joint_names
    frames = {p.link for p in c.mechanism.parts}
    passed = wanted == found and frames == set(c.robot.frames)
    missing = [name for name in (*wanted, *sorted(frames)) if name not in (*found, *c.robot.frames)]
    extra = [name for name in (*found, *c.robot.frames) if name not in (*wanted, *frames)]
    entry = "; ".join(
        f"{word} {diagnose.listed(names)}" for word, names in (("without", missing), ("also", extra)) if names
    )
    row = Row("joints and links", "the description", "the model", 0.0 if passed else 1.0, 0.5, "rounding", c.count)
    c.rows.append(row if passed else replace(row, passed=False, entry=entry or "in another order"))
    if not passed:
        c.found.append(other_joints(("the model",), c.mechanism, missing, extra, entry))
    elif wanted:
        own = c.robot.limits
        limits = np.stack([own.lower, own.upper, own.effort, own.velocity], axis=-1)
        c.limits("the model", "the model", c.mechanism, limits, "the description")
    return passed


def _file(c: Comparison) -> None:
    again, reason = c.source.again, c.source.reason
    if "file" in c.without:
        again, reason = None, "left out as asked"
    c.sides.append(Side("file", AGAIN, again is not None, reason=reason))
    if again is None:
        return
    c.tell("the file, read again")
    wanted, found = again.coordinates, c.mechanism.coordinates
    if sorted(wanted) != sorted(found):
        missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
        words = f"without {diagnose.listed(missing)}" if missing else f"also {diagnose.listed(extra)}"
        row = Row("joints and links", AGAIN, "the description", 1.0, 0.5, "rounding", c.count, None, words, False)
        c.rows.append(row)
        c.found.append(other_joints(("the description as it was read",), again, missing, extra, words))
        return
    values = values_of(Reference(again, states.reordered(c.states, found, wanted)), found, c.shown_frames())
    c.compare("file", AGAIN, c.reference, values)
    if wanted:
        turned = c.mechanism.limits[[found.index(name) for name in wanted]]
        c.limits("the description as it was read", "the description", again, turned, f"the {AGAIN}")


def _members(c: Comparison) -> None:
    description = c.robot.description
    for key, member in MEMBERS.items():
        if key in c.without:
            c.sides.append(Side(key, member.title, False, reason="left out as asked"))
            continue
        c.tell(member.title)
        reference = c.reference
        try:
            values = member.compute(c.robot, c.states)
            if key == "euler-lagrange":
                c.exact = of_description(snapped_description(description))
                if c.exact != c.mechanism:
                    c.notes.append(
                        "in symbols, written angles that round a multiple of π/2 are that multiple: compared with "
                        "the links of the description so changed"
                    )
                    reference = Reference(c.exact, c.states)
        except DalembertError as refused:
            c.sides.append(Side(key, member.title, False, reason=str(refused)))
            continue
        except Exception as error:  # a member that breaks is a finding, not the end of the comparison
            c.broken(key, member.title, error)
            continue
        c.sides.append(Side(key, member.title, True))
        c.own[key] = values
        c.compare(key, member.title, reference, values)


def _laws(c: Comparison) -> None:
    if not c.robot.n:
        return
    for key, law in LAWS.items():
        try:
            found = np.abs(law.relative(c.robot, c.reference, c.states))
        except DalembertError as refused:
            c.notes.append(f"the law {law.title} is left out: {refused}")
            continue
        except Exception as error:
            c.broken(key, law.title, error)
            continue
        found = np.where(np.isfinite(found), found, np.inf)
        allowed = TOLERANCES[law.tolerance][0]
        state = int(found.reshape(len(found), -1).max(axis=-1, initial=0.0).argmax())
        largest = float(found.max(initial=0.0))
        row = Row(law.title, law.left, law.right, largest, allowed, law.tolerance, len(found), state)
        c.rows.append(row if largest <= allowed else replace(row, passed=False, entry="the whole robot"))
        if largest > allowed:
            c.failing.setdefault("laws", []).append(("", c.rows[-1]))


def _libraries(c: Comparison) -> None:
    subject = Subject(c.mechanism, c.source.urdf, c.shown_frames())
    for key, oracle in ORACLES.items():
        if key in c.without:
            c.sides.append(Side(key, oracle.title, False, reason="left out as asked"))
            continue
        if not c.mechanism.coordinates:
            c.sides.append(Side(key, oracle.title, False, reason="there is no joint to move"))
            continue
        c.tell(oracle.title)
        try:
            version, values = oracles.consult(key, subject, c.states)
        except Unavailable as why:
            c.sides.append(Side(key, oracle.title, False, reason=str(why)))
            continue
        except Exception as error:  # another library's own failure says nothing about this robot
            why_not = f"it failed: {type(error).__name__}: {error}"
            c.sides.append(Side(key, oracle.title, False, reason=why_not))
            continue
        c.sides.append(Side(key, oracle.title, True, version))
        c.own[key] = values
        c.compare(key, oracle.title, c.reference, values)
