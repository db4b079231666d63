"""Rules D1xx, first half: what is written, tag by tag and number by number."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from dalembert.describe.urdf_read import LOOP_TYPES
from dalembert.describe.xml import Element
from dalembert.trust.doctor.case import GEOMETRIES, INERTIA, LIMITS, Case, walk
from dalembert.trust.doctor.rules import Found, rule

_ANY: frozenset[str] = frozenset()
# Elements of the standard: (attributes, children). What is not here belongs to other programs and is left alone.
SCHEMA: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "robot": (frozenset({"name", "version"}), frozenset({"link", "joint", "material", "transmission", "gazebo"})),
    "link": (frozenset({"name", "type"}), frozenset({"inertial", "visual", "collision"})),
    "inertial": (_ANY, frozenset({"origin", "mass", "inertia"})),
    "mass": (frozenset({"value"}), _ANY),
    "inertia": (frozenset(INERTIA), _ANY),
    "origin": (frozenset({"xyz", "rpy"}), _ANY),
    "visual": (frozenset({"name"}), frozenset({"origin", "geometry", "material"})),
    "collision": (frozenset({"name"}), frozenset({"origin", "geometry", "verbose", "material"})),
    "geometry": (_ANY, frozenset(GEOMETRIES)),
    "box": (frozenset({"size"}), _ANY),
    "cylinder": (frozenset({"radius", "length"}), _ANY),
    "capsule": (frozenset({"radius", "length"}), _ANY),
    "sphere": (frozenset({"radius"}), _ANY),
    "mesh": (frozenset({"filename", "scale"}), _ANY),
    "joint": (
        frozenset({"name", "type"}),
        frozenset({"origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "calibration"})
        | {"safety_controller"},
    ),
    "parent": (frozenset({"link"}), _ANY),
    "child": (frozenset({"link"}), _ANY),
    "axis": (frozenset({"xyz"}), _ANY),
    "limit": (frozenset(LIMITS), _ANY),
    "mimic": (frozenset({"joint", "multiplier", "offset"}), _ANY),
    "dynamics": (frozenset({"damping", "friction"}), _ANY),
    "material": (frozenset({"name"}), frozenset({"color", "texture"})),
    "color": (frozenset({"rgba"}), _ANY),
    "texture": (frozenset({"filename"}), _ANY),
}
_HOMES: dict[str, list[str]] = {}  # of each element of a robot's parts: in which others it may stand
for _tag, (_, _children) in SCHEMA.items():
    for _child in _children - {"transmission", "gazebo", "verbose"}:
        _HOMES.setdefault(_child, []).append(_tag)
NEAR = 0.8  # of difflib's likeness, from which on a strange name is a slip of the pen


def near(name: str, known: frozenset[str]) -> str | None:
    """The known name that a strange one was meant to be, if it resembles one."""
    if name in known or ":" in name:
        return None
    letters = {"".join(sorted(k)): k for k in known}
    swapped = letters.get("".join(sorted(name.lower())))  # xzy is too short to resemble xyz
    found = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=NEAR)
    return swapped or (found[0] if found else None)


@rule("D104", "error", "xacro is left in the file", "A URDF reader does not expand macros: it sees their text instead.")
def xacro_left(case: Case) -> Iterator[Found]:
    for e in case.root.children:
        if e.tag.startswith("xacro:"):
            yield Found(e, "robot", f"<{e.tag:.60}> is xacro, not URDF", "expand the file, or load it as .xacro")
    yield from case.trouble("D104")


@rule(
    "D105",
    "warning",
    "an element's name is misspelt",
    "Readers skip elements they do not know without a word, so what stands in it is lost.",
)
def misspelt_element(case: Case) -> Iterator[Found]:
    for e, child in _strangers(case):
        meant = near(child.tag, SCHEMA[e.tag][1])
        if meant is not None and child.tag not in _HOMES and child.tag != "loop_joint":
            message = f"<{child.tag}> in <{e.tag}> is no element of URDF and is skipped"
            yield Found(child, f"<{child.tag}>", message, f"write <{meant}>")


def _strangers(case: Case) -> Iterator[tuple[Element, Element]]:
    """(parent, child) of every child that its parent does not have by the standard, wherever the parent is URDF."""
    known = [case.root] if case.root.tag == "robot" else []
    for e in known:  # grows as it goes: only inside what is URDF
        for child in e.children:
            if child.tag not in SCHEMA[e.tag][1]:
                yield e, child
            elif child.tag in SCHEMA:
                known.append(child)


@rule(
    "D130",
    "warning",
    "an element at a place where it says nothing",
    "Readers look for it elsewhere, and skip it here without a word: what stands in it is lost.",
)
def misplaced_element(case: Case) -> Iterator[Found]:
    for e, child in _strangers(case):
        if child.tag in _HOMES:
            name = child.attributes.get("name")
            who = f"<{child.tag}>" if name is None else f"{child.tag} {name!r}"
            homes = " or ".join(f"<{tag}>" for tag in _HOMES[child.tag])
            yield Found(child, who, f"<{child.tag}> stands in <{e.tag}>, where it is skipped", f"move it into {homes}")


@rule(
    "D131",
    "warning",
    "something before <?xml",
    "By the standard of XML nothing may stand before it, not even a blank: other parsers refuse the file.",
)
def late_declaration(case: Case) -> Iterator[Found]:
    return case.trouble("D131")


@rule(
    "D106",
    "warning",
    "an attribute's name is misspelt",
    "Readers skip attributes they do not know without a word, and take the default instead.",
)
def misspelt_attribute(case: Case) -> Iterator[Found]:
    for part in case.parts:
        for e in walk(part.at):
            attributes = SCHEMA.get(e.tag, (_ANY, _ANY))[0]
            for name in e.attributes:
                meant = near(name, attributes)
                if meant is not None and meant not in e.attributes:
                    message = f"<{e.tag}> of {part.who} has the attribute {name!r}, which is none of URDF"
                    yield Found(e, part.who, message, f"write {meant!r}")


_READING = (
    ("D107", "something that must be there is missing", "Without it the element means nothing: no reader takes it."),
    ("D108", "not a number", "A reader refuses it or, worse, reads the digits before it and drops the rest."),
    ("D109", "too few or too many numbers", "Readers differ in what they take for the rest."),
    ("D110", "not finite", "NaN and infinity spread through every sum, until all results are NaN."),
    ("D111", "an element stands twice", "Only one can be meant, and readers differ in which they take."),
)


def _enter(identifier: str, title: str, why: str) -> None:
    @rule(identifier, "error", title, why)
    def noted(case: Case) -> Iterator[Found]:
        """What reading noted."""
        return case.trouble(identifier)


for _row in _READING:
    _enter(*_row)


@rule("D122", "note", "the robot has no name", "The standard wants one, and some readers refuse a robot without.")
def nameless(case: Case) -> Iterator[Found]:
    if case.root.tag == "robot" and not case.root.attributes.get("name", "").strip():
        edits = case.set(case.root, name="robot")
        yield Found(case.root, "robot", "<robot> has no name", 'give it one, as in <robot name="arm">', edits)


@rule(
    "D124",
    "note",
    "a name begins or ends with a blank",
    "'arm ' and 'arm' are two names; programs that trim one of them no longer find the other.",
)
def blank_in_name(case: Case) -> Iterator[Found]:
    for part in case.parts:
        if part.name != part.name.strip():
            yield Found(part.at, part.who, f"the name {part.name!r} begins or ends with a blank", "trim it everywhere")


@rule(
    "D125",
    "warning",
    "text stands where there should be none",
    "A tag that lost its '<' becomes text, which every reader skips without a word.",
)
def stray_text(case: Case) -> Iterator[Found]:
    for part in case.parts:
        for e in walk(part.at):
            if e.tag in SCHEMA and e.text.strip():
                message = f"<{e.tag}> of {part.who} holds the text {' '.join(e.text.split())[:50]!r}"
                yield Found(e, part.who, message, "remove it, or tag it")


@rule("D127", "error", "a geometry without exactly one shape", "The standard wants one shape; readers refuse others.")
def one_shape(case: Case) -> Iterator[Found]:
    return case.trouble("D127")


@rule(
    "D128",
    "warning",
    "an extension names what is not there",
    "Its controller, sensor or friction goes to nothing: it is ignored, or the program that reads it fails.",
)
def extension_without_target(case: Case) -> Iterator[Found]:
    links, joints = {k.name for k in case.links}, {j.name for j in case.joints}
    for e in case.root.children:
        target = e.attributes.get("reference")
        if e.tag == "gazebo" and target is not None and target not in links | joints:
            message = f"<gazebo> refers to {target!r}, which is no link and no joint"
            yield Found(e, "<gazebo>", message, _choose(target, links | joints))
        for inner in e.all("joint") if e.tag == "transmission" else ():
            name = inner.attributes.get("name")
            if name is not None and name not in joints:
                message = f"a <transmission> drives {name!r}, which is no joint"
                yield Found(inner, "<transmission>", message, _choose(name, joints))


def _choose(name: str, names: set[str]) -> str:
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else "remove it, or name one that exists"


@rule("D129", "error", "a loop of an unknown type", "A loop that cannot be closed cannot be simulated.")
def loop_type(case: Case) -> Iterator[Found]:
    from dalembert.describe.description import LOOP_KINDS

    known = (*LOOP_TYPES, *LOOP_KINDS)
    for e in case.root.all("loop_joint"):
        kind = e.attributes.get("type")
        if kind is not None and kind not in known:
            who = f"loop {e.attributes.get('name', '')!r}"
            yield Found(e, who, f"{who} is of the unknown type {kind!r}", f"choose from {', '.join(known)}")
