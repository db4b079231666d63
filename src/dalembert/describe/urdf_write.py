"""Description → URDF text that reads back as the same description.

Numbers are written in the shortest form that gives the same float. What URDF cannot say goes into
elements of Dalembert's own namespace, only where needed; other programs skip them:

    <dalembert:robot gravity="0 -9.81 0" tip="tool">where the figures come from</dalembert:robot>
    <dalembert:drive rotor_inertia="2e-4" gear_ratio="100" coulomb_positive="0.4" …/>   in a joint
    <dalembert:friction law="stribeck" coulomb="0.3 0.4" breakaway="0.5" speed="0.02"/> in a joint
    <dalembert:limit unlimited="effort velocity"/>                                      in a joint
    <dalembert:home joint="crank" position="0.5"/>

What closes a loop is a <loop_joint>, as Isaac Sim reads it and Drake did, with a type of URDF where there is one:

    <loop_joint name="closure" type="revolute">
      <link1 link="coupler" xyz="0.5 0 0" rpy="0 0 0"/>
      <link2 link="rocker" xyz="0.4 0 0" rpy="0 0 0"/>
      <axis xyz="0 0 1"/>
    </loop_joint>

<dalembert:limit> is there because the standard wants four numbers in every <limit>: a number that is not known is
written as a large one, which every reader takes, and declared unlimited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields

from dalembert.describe.description import (
    INERTIA,
    LIMITS,
    LOOPS_WITHOUT_AXIS,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mesh,
    Origin,
    Shape,
)
from dalembert.describe.urdf_read import LOOP_TYPES, NAMESPACE, PREFIX, URDF_KINDS
from dalembert.errors import DescriptionError
from dalembert.friction.laws import spoken

UNLIMITED = 1e9
_TYPE_OF_LOOP = {kind: name for name, kind in reversed(LOOP_TYPES.items())}  # the first of two names

# What XML 1.0 cannot hold in any form.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Line ends and tabs in an attribute become spaces on reading unless they are written as references.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_TEXT_ESCAPES = {c: _ESCAPES[c] for c in "&<>\r"}

Attributes = Mapping[str, str | None]


def write_urdf(description: Description) -> str:
    """The URDF document; `read_urdf` of it equals `description` if that has passed `check`."""
    body = [
        *_robot(description),
        *(line for link in description.links for line in _link(link)),
        *(line for joint in description.joints for line in _joint(joint)),
        *(line for loop in description.loops for line in _loop(loop)),
        *(
            line
            for name, x in description.home
            for line in element(f"{PREFIX}:home", {"joint": name, "position": number(x)})
        ),
    ]
    own = any(f"<{PREFIX}:" in line for line in body)
    # Capsules came with version 1.2; a reader that goes by the version skips them in a file without one.
    capsules = any(line.lstrip().startswith("<capsule") for line in body)
    head = {
        "name": description.name,
        "version": "1.2" if capsules else None,
        f"xmlns:{PREFIX}": NAMESPACE if own else None,
    }
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *element("robot", head, body)]) + "\n"


def _robot(d: Description) -> list[str]:
    gravity = None if d.gravity == Description.gravity else numbers(d.gravity)
    if gravity is None and d.tip is None and not d.notes:
        return []
    opening = element(f"{PREFIX}:robot", {"gravity": gravity, "tip": d.tip})[0]
    if not d.notes:
        return [opening]
    return [f"{opening[:-2]}>{_escape(d.notes, _TEXT_ESCAPES)}</{PREFIX}:robot>"]


# links


def _link(link: Link) -> list[str]:
    body = [] if link.inertial is None else _inertial(link.inertial)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            body += _shape(tag, shape)
    return element("link", {"name": link.name}, body)


def _inertial(inertial: Inertial) -> list[str]:
    tensor = {name: number(value) for name, value in zip(INERTIA, inertial.inertia, strict=True)}
    return element(
        "inertial",
        {},
        [*_origin(inertial.origin), *element("mass", {"value": number(inertial.mass)}), *element("inertia", tensor)],
    )


def _shape(tag: str, shape: Shape) -> list[str]:
    body = [*_origin(shape.origin), *element("geometry", {}, _geometry(shape.geometry))]
    if shape.material is not None or shape.color is not None:
        color = [] if shape.color is None else element("color", {"rgba": numbers(shape.color)})
        body += element("material", {"name": shape.material or ""}, color)
    return element(tag, {"name": shape.name}, body)


def _geometry(geometry: Geometry) -> list[str]:
    if isinstance(geometry, Mesh):
        scale = None if geometry.scale == Mesh.scale else numbers(geometry.scale)
        return element("mesh", {"filename": geometry.filename, "scale": scale})
    return element(type(geometry).__name__.lower(), {name: _word(value) for name, value in vars(geometry).items()})


def _origin(origin: Origin) -> list[str]:
    if origin == Origin():
        return []
    return element("origin", {"xyz": numbers(origin.xyz), "rpy": numbers(origin.rpy)})


# joints


def _joint(joint: Joint) -> list[str]:
    if joint.kind not in URDF_KINDS:
        problem = f"joint {joint.name!r} is {joint.kind}, for which URDF has no type"
        raise DescriptionError("unsupported", "kind", joint.kind, problem=problem, remedy="Write TOML instead.")
    body = [
        *_origin(joint.origin),
        *element("parent", {"link": joint.parent}),
        *element("child", {"link": joint.child}),
    ]
    if joint.several:
        body += element("axis", {"xyz": numbers(joint.axis)}) if joint.kind == "planar" else ()
        body += _drive(joint.drive)
    elif joint.kind != "fixed":
        body += element("axis", {"xyz": numbers(joint.axis)})
        mimic = {} if joint.mimic is None else {name: _word(value) for name, value in vars(joint.mimic).items()}
        body += [*_limit(joint), *(element("mimic", mimic) if mimic else ()), *_drive(joint.drive)]
    return element("joint", {"name": joint.name, "type": joint.kind}, body)


def _limit(joint: Joint) -> list[str]:
    limit = joint.limit
    if limit is None and joint.kind == "continuous":
        return []
    ends = LIMITS[2:] if joint.kind == "continuous" else LIMITS
    values = {end: getattr(limit or Limit(), end) for end in ends}
    missing = ["all"] if limit is None else [end for end in ends if values[end] is None]
    written = {
        end: number((-UNLIMITED if end == "lower" else UNLIMITED) if value is None else value)
        for end, value in values.items()
    }
    own = element(f"{PREFIX}:limit", {"unlimited": " ".join(missing)}) if missing else []
    return [*element("limit", written), *own]


def _drive(drive: Drive) -> list[str]:
    """<dynamics> for damping and friction; where friction has two sides, it gets their mean."""
    positive, negative = drive.coulomb
    two_sided = positive != negative
    friction = 0.5 * positive + 0.5 * negative if two_sided else positive
    lines = []
    if drive.damping or friction:
        lines += element("dynamics", {"damping": number(drive.damping), "friction": number(friction)})
    own = {
        f.name: number(getattr(drive, f.name))
        for f in fields(Drive)
        if f.name not in ("damping", "coulomb", "friction") and getattr(drive, f.name) != f.default
    }
    if two_sided:
        own |= {"coulomb_positive": number(positive), "coulomb_negative": number(negative)}
    lines += element(f"{PREFIX}:drive", own) if own else []
    terms = [{key: _word(value) for key, value in spoken(term).items()} for term in drive.friction]
    return [*lines, *(line for term in terms for line in element(f"{PREFIX}:friction", term))]


def _word(value: str | float | tuple[float, ...]) -> str:
    return value if isinstance(value, str) else numbers(value) if isinstance(value, tuple) else number(value)


# loops and home


def _loop(loop: Loop) -> list[str]:
    body = []
    for tag, link, origin in (("link1", loop.first, loop.first_origin), ("link2", loop.second, loop.second_origin)):
        body += element(tag, {"link": link, "xyz": numbers(origin.xyz), "rpy": numbers(origin.rpy)})
    if loop.kind not in LOOPS_WITHOUT_AXIS:
        body += element("axis", {"xyz": numbers(loop.axis)})
    if loop.length is not None:
        body += element("length", {"value": number(loop.length)})
    return element("loop_joint", {"name": loop.name, "type": _TYPE_OF_LOOP.get(loop.kind, loop.kind)}, body)


# XML


def element(tag: str, attributes: Attributes, body: Iterable[str] = ()) -> list[str]:
    """Lines of an element; attributes that are None are left out."""
    written = "".join(f' {k}="{_escape(v, _ESCAPES)}"' for k, v in attributes.items() if v is not None)
    lines = [f"  {line}" for line in body]
    if not lines:
        return [f"<{tag}{written}/>"]
    return [f"<{tag}{written}>", *lines, f"</{tag}>"]


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    found = _FORBIDDEN.search(text)
    if found:
        problem = f"{text[:60]!r} contains the character {found[0]!r}, which XML does not allow"
        raise DescriptionError("wrong-value", "name", text, problem=problem, remedy="Remove it.")
    return "".join(escapes.get(c, c) for c in text)


def number(value: float) -> str:
    """The shortest decimal that reads back as the same float, without a trailing `.0`."""
    return repr(float(value)).removesuffix(".0")


def numbers(values: Iterable[float]) -> str:
    return " ".join(number(value) for value in values)
