"""`verify`: every way to a robot's numbers, compared with a reference that shares nothing with them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from dalembert import __version__
from dalembert.arguments import count
from dalembert.errors import DalembertError, InputError, ModelWarning, choose
from dalembert.robot import Robot
from dalembert.symbolic.exact import snapped_description
from dalembert.trust.verify.against import compare_with
from dalembert.trust.verify.certificate import Certificate, Row, Side
from dalembert.trust.verify.comparison import AGAIN, VerifyRun, values_of
from dalembert.trust.verify.diagnose import list_names
from dalembert.trust.verify.explain import IN_SYMBOLS, explain
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import LIMITS, find_confined, linkage_of, reorder
from dalembert.trust.verify.members import MEMBERS, RELATIONS
from dalembert.trust.verify.oracles import ORACLES, Subject, Unavailable
from dalembert.trust.verify.quantities import TOLERANCES
from dalembert.trust.verify.source import Model, Reading, Source, as_rows, compare_several, source_of, without_drives

MOST_STATES = 100_000
SNAPPED = (
    "in symbols, written angles that round a multiple of π/2 are that multiple: compared with the links of the "
    "description so changed"
)


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
    and Drake; `without` leaves members out by name. `against` is a second description of the same robot: what differs
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
        raise InputError(f"without is {without!r}; it must be names of members, such as ['mujoco']") from None
    known = ("file", *ORACLES, *MEMBERS)  # what one leaves out most, first: a list of names is cut off
    for name in left_out:
        choose("member", name, known)
    return left_out


def _certificate(c: VerifyRun, other: Source | None) -> Certificate:
    """All steps, one after the other."""
    _note(c)
    _compare_file(c)
    if _has_same_joints(c):
        _compare_members(c)
        _compare_relations(c)
    _ask_libraries(c)
    explain(c)
    if other is not None:
        compare_with(c, other)
    return Certificate(
        c.robot.name,
        c.source.title,
        c.linkage.coordinates,
        c.count,
        c.seed,
        __version__,
        tuple(c.rows),
        tuple(c.sides),
        tuple(difference.finding for difference in c.found),
        tuple(c.notes),
        tuple(c.differences),
    )


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
        c.notes.append(f"mimic joints {names} are folded into the joints they follow, for every member")
    if count := len(c.robot.warnings):
        said = "1 warning" if count == 1 else f"{count} warnings"
        c.notes.append(f"the description has {said}: see 'dalembert info'")


def _has_same_joints(c: VerifyRun) -> bool:
    wanted, found = c.linkage.coordinates, c.robot.joint_names
    frames = {p.link for p in c.linkage.parts}
    if wanted != found or frames != set(c.robot.frames):
        sides = (*wanted, *sorted(frames)), (*found, *c.robot.frames)
        c.compare_names("the model", "the description", "the model", c.linkage, *sides)
        return False
    c.rows.append(Row.of_answer("joints and links", "the description", "the model", states=c.count))
    if wanted:
        limits = np.stack([getattr(c.robot.limits, name) for name in LIMITS], axis=-1)
        c.compare_limits("the model", "the model", c.linkage, limits, "the description")
    return True


def _compare_file(c: VerifyRun) -> None:
    again, reason, read = c.source.again, c.source.reason, "the description as it was read"
    if "file" in c.without:
        again, reason = None, "left out as asked"
    c.sides.append(Side("file", AGAIN, again is not None, reason=reason))
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


def _compare_members(c: VerifyRun) -> None:
    for key, member in MEMBERS.items():
        if key in c.without:
            c.leave_out(key, member.title)
            continue
        c.tell(member.title)
        reference = c.reference
        try:
            values = member.compute(c.robot, c.states)
            if key == IN_SYMBOLS:
                c.exact = linkage_of(snapped_description(c.robot.description))
                if c.exact != c.linkage:
                    c.notes.append(SNAPPED)
                    reference = FourByFour(c.exact, c.states)
        except DalembertError as refused:
            c.leave_out(key, member.title, str(refused))
        except Exception as error:  # a member that breaks is a finding, not the end of the comparison
            c.add_broken(key, member.title, error)
        else:
            c.take_part(key, member.title, values, reference)


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
        row = Row(law.title, law.left, law.right, largest, allowed, law.tolerance, len(found), state, entry, passed)
        c.rows.append(row)
        if not passed:
            c.failing.setdefault("laws", []).append(("", row))


def _ask_libraries(c: VerifyRun) -> None:
    subject = Subject(c.linkage, c.source.urdf, c.shown_frames())
    for key, oracle in ORACLES.items():
        if key in c.without or not c.linkage.coordinates:
            reason = "left out as asked" if key in c.without else "there is no joint to move"
            c.leave_out(key, oracle.title, reason)
            continue
        c.tell(oracle.title)
        try:
            version, values = oracle.compute(subject, c.states)
        except (Unavailable, DalembertError) as why:
            c.leave_out(key, oracle.title, str(why))
        except Exception as error:  # another library's own failure says nothing about this robot
            c.leave_out(key, oracle.title, f"it failed: {type(error).__name__}: {error}")
        else:
            c.take_part(key, oracle.title, values, c.reference, version)
