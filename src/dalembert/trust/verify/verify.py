"""`verify`: every way to a robot's numbers, compared with a reference that shares nothing with them.

Two descriptions of one robot: what they write differently, what differs first, and why.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from dalembert import __version__
from dalembert.arguments import count
from dalembert.describe.description import Loop
from dalembert.errors import DalembertError, InputError, ModelWarning, choose
from dalembert.robot import Robot
from dalembert.symbolic.exact import snapped_description
from dalembert.trust.verify import diagnose
from dalembert.trust.verify.certificate import (
    AGAIN,
    BY_LINKS,
    Agreement,
    Certificate,
    ComparedMethod,
    Difference,
    Verified,
    VerifyRun,
    difference_of,
    first_difference,
    make_certificate,
    values_of,
)
from dalembert.trust.verify.diagnose import Explanation, list_names
from dalembert.trust.verify.explain import IN_SYMBOLS, explain
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import (
    JOINT_FIELDS,
    LIMITS,
    LINK_FIELDS,
    Linkage,
    LinkData,
    find_confined,
    linkage_of,
    reorder,
    same_value,
    show_value,
)
from dalembert.trust.verify.oracles import ORACLES, Subject, Unavailable
from dalembert.trust.verify.own_methods import OWN_METHODS, RELATIONS, Values
from dalembert.trust.verify.quantities import TOLERANCES
from dalembert.trust.verify.source import Model, Reading, Source, as_rows, compare_several, source_of, without_drives

MOST_STATES = 100_000
SNAPPED = (
    "in symbols, written angles that round a multiple of π/2 are that multiple: compared with the links of the "
    "description so changed"
)

OTHER = "the other description"
MOST_DIFFERENCES = 20  # shown one by one


def verify(
    robot: Model,
    *,
    against: Model | None = None,
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
    and Drake; `without` names methods to skip. `against` is a second description of the same robot: what differs
    first, and why. `progress` is called with what is being done. A closed chain is compared as its tree.
    `package_dirs`, `strict` and `allow` are how files are read, as in `load`."""
    drawn, left_out = count("states", states, 4), _check_without(without)
    if drawn > MOST_STATES:
        raise InputError(f"states is {states!r}; {MOST_STATES} is the most")
    reading: Reading = {"package_dirs": package_dirs, "strict": strict, "allow": allow}
    source = source_of(robot, tip, **reading)
    other = None if against is None else source_of(against, **reading)
    tell = progress or (lambda words: None)
    several = source.robot.model.curved is not None
    run = VerifyRun(as_rows(source) if several else source, drawn, count("seed", seed), left_out, tell)
    if several:
        _compare_several(run, source.robot.tree())
    return _certificate(run, other if other is None or other.robot.model.curved is None else as_rows(other))


def _compare_several(c: VerifyRun, robot: Robot) -> None:
    """The robot itself, in its own positions and velocities, at the states of the rows that stand for its joints."""
    names = [coordinate.name for coordinate in robot.model.coordinates if not coordinate.joint.direct]
    c.notes.append(f"{list_names(names)}, with several coordinates each, are compared as turns and slides in a row")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        own = Robot(without_drives(robot.description), robot.tip)
    c.take_part("several", "joints of several coordinates", compare_several(own, c.states), c.reference)


def _check_without(without: Iterable[str]) -> tuple[str, ...]:
    try:
        left_out = (without,) if isinstance(without, str) else tuple(without)
    except TypeError:
        raise InputError(f"without is {without!r}; it must be names of methods, such as ['mujoco']") from None
    known = ("file", *ORACLES, *OWN_METHODS)  # what one leaves out most, first: a list of names is cut off
    for name in left_out:
        choose("method", name, known)
    return left_out


def _certificate(c: VerifyRun, other: Source | None) -> Certificate:
    """All steps, one after the other."""
    _note(c)
    _compare_file(c)
    if _has_same_joints(c):
        _compare_methods(c)
        _compare_relations(c)
    _ask_libraries(c)
    explain(c)
    if other is not None:
        compare_with(c, other)
    facts = Verified(
        c.robot.name,
        c.source.title,
        c.linkage.coordinates,
        c.count,
        c.seed,
        __version__,
        tuple(c.methods),
        tuple(c.found),
        tuple(c.differences),
    )
    return make_certificate(tuple(c.rows), facts, tuple(c.notes))


def _note(c: VerifyRun) -> None:
    """What the reader of a certificate must know beforehand."""
    robot = c.source.robot
    if robot.loops:
        loops = ", ".join(repr(name) for name in robot.loops)
        c.notes.append(f"the chain is closed by {loops}; what is compared are the terms of its tree")
    if not c.linkage.coordinates:
        c.notes.append("the robot has no joint that moves: only poses are compared")
    elif not c.reference.mass[0] and not c.reference.rotors.any():
        c.notes.append("nothing that moves has mass: there are no dynamics to compare, they are all zero")
    if confined := find_confined(c.linkage):
        names = list_names(confined)
        c.notes.append(f"the limits of {names} leave no room to move in: compared beyond them, within ±1")
    parts = [c.linkage.parts[j] for j in c.linkage.movers]
    if followers := [part.joint for part in parts if part.follows]:
        names = list_names(followers)
        c.notes.append(f"mimic joints {names} are folded into the joints they follow, for every method")
    if count := len(c.robot.warnings) if c.source.warnings is None else c.source.warnings:
        said = "1 warning" if count == 1 else f"{count} warnings"
        c.notes.append(f"the description has {said}: see 'dalembert info'")


def _has_same_joints(c: VerifyRun) -> bool:
    wanted, found = c.linkage.coordinates, c.robot.joint_names
    frames = {p.link for p in c.linkage.parts}
    if wanted != found or frames != set(c.robot.frames):
        sides = (*wanted, *sorted(frames)), (*found, *c.robot.frames)
        c.compare_names("the model", "the description", "the model", c.linkage, *sides)
        return False
    c.rows.append(Agreement.of_answer("joints and links", "the description", "the model", states=c.count))
    if wanted:
        limits = np.stack([getattr(c.robot.limits, name) for name in LIMITS], axis=-1)
        c.compare_limits("the model", "the model", c.linkage, limits, "the description")
    return True


def _compare_file(c: VerifyRun) -> None:
    again, reason, read = c.source.again, c.source.reason, "the description as it was read"
    if "file" in c.without:
        again, reason = None, "skipped as requested"
    c.methods.append(ComparedMethod("file", AGAIN, again is not None, reason=reason))
    if again is None:
        return
    c.tell("the file, read again")
    wanted, found = again.coordinates, c.linkage.coordinates
    if sorted(wanted) != sorted(found):
        c.compare_names(read, AGAIN, "the description", again, wanted, found)
        return
    values = values_of(FourByFour(again, reorder(c.states, found, wanted)), found, c.shown_frames())
    c.compare("file", AGAIN, c.reference, values)
    if wanted:
        turned = c.linkage.limits[[found.index(name) for name in wanted]]
        c.compare_limits(read, "the description", again, turned, f"the {AGAIN}")


def _compare_methods(c: VerifyRun) -> None:
    for key, method in OWN_METHODS.items():
        if key in c.without:
            c.skip(key, method.title)
            continue
        c.tell(method.title)
        reference = c.reference
        try:
            values = method.compute(c.robot, c.states)
            if key == IN_SYMBOLS:
                c.exact = linkage_of(snapped_description(c.robot.description))
                if c.exact != c.linkage:
                    c.notes.append(SNAPPED)
                    reference = FourByFour(c.exact, c.states)
        except DalembertError as refused:
            c.skip(key, method.title, str(refused))
        except Exception as error:  # an error in one method does not end the comparison
            c.add_broken(key, method.title, error)
        else:
            c.take_part(key, method.title, values, reference)


def _compare_relations(c: VerifyRun) -> None:
    for key, law in RELATIONS.items() if c.robot.n else ():
        try:
            found = np.abs(law.violation(c.robot, c.states))
        except DalembertError as refused:
            c.notes.append(f"the law {law.title} is left out: {refused}")
            continue
        except Exception as error:
            c.add_broken(key, law.title, error)
            continue
        found = np.where(np.isfinite(found), found, np.inf)
        allowed, largest = TOLERANCES[law.tolerance][0], float(found.max(initial=0.0))
        state = int(found.reshape(len(found), -1).max(axis=-1, initial=0.0).argmax())
        passed = largest <= allowed
        entry = "" if passed else "the whole robot"
        row = Agreement(
            law.title, law.left, law.right, largest, allowed, law.tolerance, len(found), state, entry, passed
        )
        c.rows.append(row)
        if not passed:
            c.failing.setdefault("laws", []).append(("", row))


def _ask_libraries(c: VerifyRun) -> None:
    subject = Subject(c.linkage, c.source.urdf, c.shown_frames())
    for key, oracle in ORACLES.items():
        if key in c.without or not c.linkage.coordinates:
            reason = "skipped as requested" if key in c.without else "there is no joint to move"
            c.skip(key, oracle.title, reason)
            continue
        c.tell(oracle.title)
        try:
            version, values = oracle.compute(subject, c.states)
        except (Unavailable, DalembertError) as why:
            c.skip(key, oracle.title, str(why))
        except Exception as error:  # another library's own failure says nothing about this robot
            c.skip(key, oracle.title, f"it failed: {type(error).__name__}: {error}")
        else:
            c.take_part(key, oracle.title, values, c.reference, version)


def compare_with(c: VerifyRun, other: Source) -> None:
    """Compare with a second description of the same robot: what differs first, and why."""
    c.tell("the other description")
    c.other = linkage_of(other.robot.tree().description)
    b = other.again or c.other
    a = c.source.again or c.linkage
    c.methods.append(ComparedMethod("against", OTHER, True, reason=other.title))
    written = differences(c.other, c.linkage)
    loops = loop_differences(other.robot.description.loops, c.source.robot.description.loops)
    c.differences += _shorten([*written, *loops])
    _compare_as_written(c, {"limits": [line for line in written if _is_of_limits(line)], "loops": loops})
    wanted, found = c.linkage.coordinates, b.coordinates
    if sorted(wanted) != sorted(found):
        c.compare_names(OTHER, BY_LINKS, OTHER, c.linkage, wanted, found)
        return
    reference = FourByFour(b, reorder(c.states, wanted, found))
    common = tuple(f for f in c.shown_frames() if f in reference.frames)
    if len([f for f in reference.frames if f in c.reference.frames]) < 2:
        c.notes.append("the two descriptions share no names of links that move: poses are not compared")
    values = values_of(reference, wanted, common)
    shared = c.reference.frames if a.table is None and b.table is None else common
    values["pose"] = {f: x for f, x in values["pose"].items() if f in shared}  # a DH table puts frames its own way
    c.compare("against", OTHER, c.reference, values)
    if "against" in c.failing:
        _explain(c, a, b, values)


def _compare_as_written(c: VerifyRun, lists: dict[str, list[str]]) -> None:
    """What no quantity of the tree shows: limits, and what closes a loop."""
    for name, lines in lists.items():
        c.rows.append(Agreement.of_answer(f"{name} as written", "this description", OTHER, lines[0] if lines else ""))
        if lines:
            words = f"written differently: {'; '.join(lines[:3])}"
            places = tuple(dict.fromkeys(line.partition(": ")[0] for line in lines))
            first = f"the {name} as written ({places[0]})"
            c.found.append(Difference((OTHER,), first, "different numbers", words, places))


def _explain(c: VerifyRun, a: Linkage, b: Linkage, values: Values) -> None:
    first = first_difference(c.failing["against"])
    frames = FourByFour(a, c.states).frames if a.coordinates == c.linkage.coordinates else ()
    found = diagnose.explanations(a, c.states, diagnose.of_frames(values, frames)) if frames else []
    who, words = OTHER, "no single fault of the table gives its numbers"
    if not found:
        turned = reorder(c.states, c.linkage.coordinates, b.coordinates)
        theirs = FourByFour(b, turned).frames
        mine = values_of(c.reference, b.coordinates, tuple(f for f in c.shown_frames() if f in theirs))
        mine["pose"] = {f: x for f, x in mine["pose"].items() if f in theirs}
        found = diagnose.explanations(b, turned, mine)
        who = "this description" if found else OTHER
    c.found.append(difference_of((who,), first, found or _as_written(c, values), words))


def _as_written(c: VerifyRun, values: Values) -> list[Explanation]:
    """The numbers that the two write differently, if they account for everything."""
    written = [x for x in c.differences if not x.startswith(("links only", "loop ")) and not _is_of_limits(x)]
    theirs = {p.link: p for p in c.other.parts}
    fields = (*LINK_FIELDS, *JOINT_FIELDS)
    changed = {
        i: replace(p, **{field: getattr(theirs[p.link], field) for field in fields})
        for i, p in enumerate(c.linkage.parts)
        if p.link in theirs
    }
    planted = replace(c.linkage.with_parts(changed), gravity=c.other.gravity)
    few = c.states.few
    if not written or not diagnose.agrees(FourByFour(planted, few), diagnose.take_first(values, len(few))):
        return []
    places = tuple(line.partition(": ")[0] for line in written)
    return [Explanation("different numbers", f"written differently: {'; '.join(written[:3])}", places)]


# what is written differently, in words


def differences(other: Linkage, mine: Linkage) -> list[str]:
    """What the two write differently of links and joints of the same name, in words."""
    theirs, here = {p.link: p for p in other.parts}, {p.link: p for p in mine.parts}
    found = []
    if not np.allclose(other.gravity, mine.gravity, rtol=1e-12, atol=1e-12):
        found.append(f"gravity: {_both(mine.gravity, other.gravity)}")
    for link in here:
        if link in theirs:
            found += _part_differences(here[link], theirs[link])
    lacking, extra = [link for link in here if link not in theirs], [link for link in theirs if link not in here]
    found += [f"links only here: {diagnose.list_names(lacking)}"] if lacking else []
    found += [f"links only there: {diagnose.list_names(extra)}"] if extra else []
    return found


def _shorten(found: Sequence[str]) -> list[str]:
    if len(found) <= MOST_DIFFERENCES:
        return list(found)
    return [*found[:MOST_DIFFERENCES], f"and {len(found) - MOST_DIFFERENCES} more"]


def _is_of_limits(line: str) -> bool:
    """Whether a difference, in words, is one of limits."""
    return line.partition(": ")[2].partition(" ")[0] in LIMITS


def loop_differences(other: Sequence[Loop], mine: Sequence[Loop]) -> list[str]:
    """What the two write differently of what closes a loop, in words."""
    theirs, here = {loop.name: loop for loop in other}, {loop.name: loop for loop in mine}
    found = [f"loop {name!r}: only here" for name in here if name not in theirs]
    found += [f"loop {name!r}: only there" for name in theirs if name not in here]
    for name in (name for name in here if name in theirs):
        a, b = _loop_fields(here[name]), _loop_fields(theirs[name])
        pairs = ((field, a[field], b[field]) for field in a)
        found += [f"loop {name!r}: {field} {_both(x, y)}" for field, x, y in pairs if not same_value(x, y)]
    return found


def _loop_fields(loop: Loop) -> dict[str, object]:
    return {
        "kind": loop.kind,
        "links": f"{loop.first}, {loop.second}",
        "origin on the first": (loop.first_origin.xyz, loop.first_origin.rpy),
        "origin on the second": (loop.second_origin.xyz, loop.second_origin.rpy),
        "axis": loop.axis,
        "length": 0.0 if loop.length is None else loop.length,
    }


def _both(here: object, there: object) -> str:
    return f"{show_value(here)} here, {show_value(there)} there"


def _part_differences(a: LinkData, b: LinkData) -> list[str]:
    found = []
    for field in (*LINK_FIELDS, *JOINT_FIELDS):
        x, y = getattr(a, field), getattr(b, field)
        if not same_value(x, y):
            who = f"link {a.link!r}" if field in LINK_FIELDS else f"joint {a.joint!r}"
            found.append(f"{who}: {'origin' if field == 'before' else field.replace('_', ' ')} {_both(x, y)}")
    return found
