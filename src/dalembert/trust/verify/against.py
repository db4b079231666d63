"""Two descriptions of one robot: what differs first, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.trust.verify import diagnose, states
from dalembert.trust.verify.certificate import Difference, Row, Side
from dalembert.trust.verify.comparison import (
    BY_LINKS,
    Comparison,
    difference_of,
    first_difference,
    other_joints,
    values_of,
)
from dalembert.trust.verify.diagnose import Explanation
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Mechanism, of_description
from dalembert.trust.verify.members import Values
from dalembert.trust.verify.source import Source
from dalembert.trust.verify.written import (
    JOINT_FIELDS,
    LINK_FIELDS,
    differences,
    loop_differences,
    shortened,
    written_limit,
)

OTHER = "the other description"


def compare_with(c: Comparison, other: Source) -> None:
    """Compare with a second description of the same robot: what differs first, and why."""
    c.tell("the other description")
    b = other.again or of_description(other.robot.tree().description)
    a = c.source.again or c.mechanism
    c.sides.append(Side("against", OTHER, True, reason=other.title))
    c.other = of_description(other.robot.tree().description)
    written = differences(c.other, c.mechanism)
    loops = loop_differences(other.robot.description.loops, c.source.robot.description.loops)
    c.differences += shortened([*written, *loops])
    _as_limited(c, [line for line in written if written_limit(line)], loops)
    wanted, found = c.mechanism.coordinates, b.coordinates
    if sorted(wanted) != sorted(found):
        missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
        words = "; ".join(
            f"{word} {diagnose.listed(names)}" for word, names in (("without", missing), ("also", extra)) if names
        )
        row = Row("joints and links", BY_LINKS, OTHER, 1.0, 0.5, "rounding", c.count, None, words, False)
        c.rows.append(row)
        c.found.append(other_joints((OTHER,), c.mechanism, missing, extra, words))
        return
    reference = Reference(b, states.reordered(c.states, wanted, found))
    common = tuple(f for f in c.shown_frames() if f in reference.frames)
    if len([f for f in reference.frames if f in c.reference.frames]) < 2:
        c.notes.append("the two descriptions share no names of links that move: poses are not compared")
    values = values_of(reference, wanted, common)
    shared = c.reference.frames if a.table is None and b.table is None else common
    values["pose"] = {f: x for f, x in values["pose"].items() if f in shared}  # a DH table puts frames its own way
    c.compare("against", OTHER, c.reference, values)
    if "against" in c.failing:
        _explain(c, a, b, values)


def _as_limited(c: Comparison, limits: Sequence[str], loops: Sequence[str]) -> None:
    """What no quantity of the tree shows: limits, and what closes a loop."""
    for name, lines in (("limits as written", limits), ("loops as written", loops)):
        row = Row(name, "this description", OTHER, float(bool(lines)), 0.5, "rounding", 1)
        c.rows.append(replace(row, passed=False, entry=lines[0]) if lines else row)
        if lines:
            words = f"written differently: {'; '.join(lines[:3])}"
            places = tuple(dict.fromkeys(line.partition(": ")[0] for line in lines))
            c.found.append(Difference((OTHER,), f"the {name} ({places[0]})", "different numbers", words, places))


def _explain(c: Comparison, a: Mechanism, b: Mechanism, values: Values) -> None:
    first = first_difference(c.failing["against"])
    frames = Reference(a, c.states).frames if a.coordinates == c.mechanism.coordinates else ()
    here = {k: {f: x for f, x in v.items() if f in frames} if isinstance(v, dict) else v for k, v in values.items()}
    found = diagnose.explanations(a, c.states, here) if frames else []
    who, words = OTHER, "no single fault of the table gives its numbers"
    if not found:
        turned = states.reordered(c.states, c.mechanism.coordinates, b.coordinates)
        theirs = Reference(b, turned).frames
        mine = values_of(c.reference, b.coordinates, tuple(f for f in c.shown_frames() if f in theirs))
        mine["pose"] = {f: x for f, x in mine["pose"].items() if f in theirs}
        found = diagnose.explanations(b, turned, mine)
        who = "this description" if found else OTHER
    found = found or _as_written(c, values)
    c.found.append(difference_of((who,), first, found, words))


def _as_written(c: Comparison, values: Values) -> list[Explanation]:
    """The numbers that the two write differently, if they account for everything."""
    written = [x for x in c.differences if not x.startswith(("links only", "loop ")) and not written_limit(x)]
    theirs = {p.link: p for p in c.other.parts}
    fields = (*LINK_FIELDS, *JOINT_FIELDS)
    changed = {
        i: replace(p, **{field: getattr(theirs[p.link], field) for field in fields})
        for i, p in enumerate(c.mechanism.parts)
        if p.link in theirs
    }
    planted = replace(c.mechanism.with_parts(changed), gravity=c.other.gravity)
    few = c.states.few
    if not written or not diagnose.agrees(Reference(planted, few), diagnose.sliced(values, len(few))):
        return []
    places = tuple(line.partition(": ")[0] for line in written)
    return [Explanation("different numbers", f"written differently: {'; '.join(written[:3])}", places)]
