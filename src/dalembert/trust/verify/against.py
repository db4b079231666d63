"""Two descriptions of one robot: what they write differently, what differs first, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.describe.description import Loop
from dalembert.trust.verify import diagnose
from dalembert.trust.verify.certificate import Difference, Row, Side
from dalembert.trust.verify.comparison import BY_LINKS, VerifyRun, difference_of, first_difference, values_of
from dalembert.trust.verify.diagnose import Explanation
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import (
    JOINT_FIELDS,
    LIMITS,
    LINK_FIELDS,
    Linkage,
    Part,
    linkage_of,
    reorder,
    same_value,
    show_value,
)
from dalembert.trust.verify.members import Values
from dalembert.trust.verify.source import Source

OTHER = "the other description"
MOST_DIFFERENCES = 20  # shown one by one


def compare_with(c: VerifyRun, other: Source) -> None:
    """Compare with a second description of the same robot: what differs first, and why."""
    c.tell("the other description")
    c.other = linkage_of(other.robot.tree().description)
    b = other.again or c.other
    a = c.source.again or c.linkage
    c.sides.append(Side("against", OTHER, True, reason=other.title))
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
        c.rows.append(Row.of_answer(f"{name} as written", "this description", OTHER, lines[0] if lines else ""))
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


def _part_differences(a: Part, b: Part) -> list[str]:
    found = []
    for field in (*LINK_FIELDS, *JOINT_FIELDS):
        x, y = getattr(a, field), getattr(b, field)
        if not same_value(x, y):
            who = f"link {a.link!r}" if field in LINK_FIELDS else f"joint {a.joint!r}"
            found.append(f"{who}: {'origin' if field == 'before' else field.replace('_', ' ')} {_both(x, y)}")
    return found
