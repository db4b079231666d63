"""A robot's file read once more, by the standard library alone: what a fault in the readers would change.

URDF through ElementTree, TOML through tomllib; a DH table is multiplied out row by row in its own convention. Only what
moves and weighs is read. Whatever this short reader does not understand it says so (`Unread`) and stays out of the
comparison; it refuses nothing that Dalembert accepts.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from xml.etree import ElementTree

import numpy as np

from dalembert.describe.dh import DHTable
from dalembert.errors import DalembertError
from dalembert.friction.laws import friction
from dalembert.trust.verify.linkage import (
    LIMITS,
    ZERO,
    Linkage,
    LinkData,
    Three,
    drive_fields,
    inertial_fields,
    order_parts,
    three,
)

OWN = "{https://dalembert.dev/urdf}"
DOWN: Three = (0.0, 0.0, -9.81)
T = TypeVar("T")
Poses = tuple[tuple[Three, Three], ...]


class Unread(Exception):
    """Why a file could not be read a second time."""


@dataclass(frozen=True)
class TableRow:
    """A DH row at q = 0, and what hangs on it."""

    theta: float
    d: float
    a: float
    alpha: float
    part: LinkData


@dataclass(frozen=True)
class WrittenTable:
    """A DH table as written; `extra` are parts fixed to the links of the table, with their parents' names."""

    rows: tuple[TableRow, ...]
    convention: str
    base: Poses
    tool: Poses
    root: LinkData
    tip: str
    gravity: Three
    extra: tuple[tuple[LinkData, str], ...] = ()


def of_table(table: WrittenTable, convention: str | None = None) -> Linkage:
    """The linkage of a table in its convention, or in another.

    standard: T = base Π Rz Tz Tx Rx tool;  modified: T = base Π Rx Tx Rz Tz tool."""
    kind = convention or table.convention
    parts, parents, before, parent = [table.root], {}, table.base, table.root.link
    for row in table.rows:
        z = ((0.0, 0.0, row.d), (0.0, 0.0, row.theta))
        x = ((row.a, 0.0, 0.0), (row.alpha, 0.0, 0.0))
        if kind == "standard":
            part = replace(row.part, before=before, after=(z, x), frame=False)
        else:
            part = replace(row.part, before=(*before, x, z))
        parts.append(part)
        parents[part.link] = parent
        before, parent = (), part.link
    parts.append(LinkData(table.tip, f"{table.tip}_fixed", before=table.tool))
    parents[table.tip] = parent
    for extra, carrier in table.extra:
        # A frame is given on Dalembert's link frame, which for a standard table is not the table's.
        parts.append(replace(extra, frame=kind != "standard" or carrier in (table.root.link, table.tip)))
        parents[extra.link] = carrier
    return order_parts(parts, parents, table.gravity, table)


def of_dh_table(table: DHTable) -> Linkage:
    """The linkage of a `describe.dh.DHTable`."""
    rows = []
    for i, row in enumerate(table.rows):
        names = row.link or f"link{i + 1}", row.name or f"joint{i + 1}"
        written = inertial_fields(row.inertial) | drive_fields(row.drive, row.limit)
        part = LinkData(*names, _kind(row.kind), axis=(0.0, 0.0, 1.0), **written)
        rows.append(_row(part, row.theta, row.d, row.a, row.alpha, row.offset))
    ends: list[Poses] = [((o.xyz, o.rpy),) for o in (table.base, table.tool)]
    root = LinkData(table.root.name)
    return of_table(
        WrittenTable(tuple(rows), table.convention, ends[0], ends[1], root, table.tip, three(table.gravity))
    )


def _row(part: LinkData, theta: float, d: float, a: float, alpha: float, offset: float) -> TableRow:
    theta, d = (theta, d + offset) if part.kind == "prismatic" else (theta + offset, d)
    return TableRow(theta, d, a, alpha, part)


def _kind(kind: str) -> str:
    if kind not in ("revolute", "continuous", "prismatic", "helical", "fixed", "spherical", "floating", "planar"):
        raise Unread(f"a joint of type {kind!r}")
    return "revolute" if kind == "continuous" else kind


# URDF


def of_urdf(text: str | bytes) -> Linkage:
    """The linkage in a URDF document."""
    try:
        return _try(lambda written: _urdf(ElementTree.fromstring(written)), text)
    except ElementTree.ParseError as error:
        raise Unread(f"the standard library's XML parser refuses the file ({error})") from None


def _try(read: Callable[[T], Linkage], what: T) -> Linkage:
    try:
        return read(what)
    except (AttributeError, KeyError, TypeError, ValueError, DalembertError) as error:
        raise Unread(f"a second, shorter reader did not understand it ({type(error).__name__}: {error})") from None


def _urdf(root: ElementTree.Element) -> Linkage:
    links = {
        e.attrib["name"]: LinkData(e.attrib["name"], **_inertial(e.find("inertial"))) for e in root.findall("link")
    }
    parts, parents = [], {}
    for e in root.findall("joint"):
        child = _need(e, "child").attrib["link"]
        parents[child] = _need(e, "parent").attrib["link"]
        parts.append(replace(links[child], **_joint(e)))
    own = root.find(f"{OWN}robot")
    gravity = DOWN if own is None or "gravity" not in own.attrib else _vector(own.attrib["gravity"])
    return order_parts([*(p for name, p in links.items() if name not in parents), *parts], parents, gravity)


def _need(e: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = e.find(tag)
    if found is None:
        raise ValueError(f"<{e.tag}> without <{tag}>")
    return found


def _vector(text: str) -> Three:
    return three(map(float, text.split()))


def _origin(e: ElementTree.Element) -> tuple[Three, Three]:
    o = e.find("origin")
    attributes: Mapping[str, str] = {} if o is None else o.attrib
    return _vector(attributes.get("xyz", "0 0 0")), _vector(attributes.get("rpy", "0 0 0"))


def _inertial(e: ElementTree.Element | None) -> dict[str, Any]:
    if e is None:
        return {}
    com, rpy = _origin(e)
    I = _need(e, "inertia").attrib
    six = tuple(float(I[k]) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return {"mass": float(_need(e, "mass").attrib["value"]), "com": com, "inertia": six, "inertial_rpy": rpy}


def _joint(e: ElementTree.Element) -> dict[str, Any]:
    kind = _kind(e.attrib["type"])
    out: dict[str, Any] = {"joint": e.attrib["name"], "kind": kind, "before": (_origin(e),)}
    if kind == "fixed":
        return out
    axis = e.find("axis")
    if kind != "floating":
        out["axis"] = _unit((1.0, 0.0, 0.0) if axis is None else _vector(axis.attrib["xyz"]))
    mimic = e.find("mimic")
    if mimic is not None:
        out["follows"] = mimic.attrib["joint"]
        out["multiplier"] = float(mimic.attrib.get("multiplier", 1.0))
        out["offset"] = float(mimic.attrib.get("offset", 0.0))
    dynamics = e.find("dynamics")
    dry = 0.0
    if dynamics is not None:
        out["damping"] = float(dynamics.attrib.get("damping", 0.0))
        dry = float(dynamics.attrib.get("friction", 0.0))
    own = e.find(f"{OWN}drive")
    more: Mapping[str, str] = {} if own is None else own.attrib
    out["coulomb"] = (float(more.get("coulomb_positive", dry)), float(more.get("coulomb_negative", dry)))
    limit, freed = e.find("limit"), e.find(f"{OWN}limit")
    unlimited = "" if freed is None else freed.attrib.get("unlimited", "")
    if limit is not None and "all" not in unlimited.split():
        ends = {} if e.attrib["type"] == "continuous" else {"lower": 0.0, "upper": 0.0}
        written = {k: float(limit.attrib[k]) for k in (*ends, "effort", "velocity") if k in limit.attrib}
        out |= {k: x for k, x in (ends | written).items() if k not in unlimited.split()}
    names = {"rotor": "rotor_inertia", "gear": "gear_ratio", "coulomb_width": "coulomb_width"}
    names |= {"stiffness": "stiffness", "rest": "rest"}
    out |= {key: float(more[name]) for key, name in names.items() if name in more}
    out["friction"] = tuple(friction(**_law(x.attrib)) for x in e.findall(f"{OWN}friction"))
    return out


def _law(attributes: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, text in attributes.items():
        if key in ("law", "smooth"):
            out[key] = text
        else:
            numbers = [float(x) for x in text.split()]
            out[key] = numbers[0] if len(numbers) == 1 else tuple(numbers)
    return out


def _unit(axis: Three) -> Three:
    return three(np.array(axis) / math.hypot(*axis))


# TOML


def of_toml(text: str) -> Linkage:
    """The linkage in one of Dalembert's own files."""
    return _try(_toml, text)


def _toml(text: str) -> Linkage:
    data = tomllib.loads(text)
    return _toml_table(data) if "dh" in data else _toml_tree(data)


def _angle(e: Mapping[str, Any], key: str) -> float:
    return float(np.deg2rad(e[f"{key}_deg"])) if f"{key}_deg" in e else float(e.get(key, 0.0))


def _pose(e: Mapping[str, Any]) -> tuple[Three, Three]:
    rpy = np.deg2rad(e["rpy_deg"]) if "rpy_deg" in e else e.get("rpy", ZERO)
    return three(e.get("xyz", ZERO)), three(rpy)


def _toml_inertial(e: Mapping[str, Any] | None) -> dict[str, Any]:
    if e is None:
        return {}
    com, rpy = _pose({**e, "xyz": e.get("com", ZERO)})
    six = [float(x) for x in e.get("inertia", (0.0, 0.0, 0.0))]
    if len(six) == 3:
        six = [six[0], 0.0, 0.0, six[1], 0.0, six[2]]
    return {"mass": float(e["mass"]), "com": com, "inertia": tuple(six), "inertial_rpy": rpy}


def _toml_drive(e: Mapping[str, Any]) -> dict[str, Any]:
    dry = e.get("coulomb", 0.0)
    return {
        "rotor": float(e.get("rotor_inertia", 0.0)),
        "gear": float(e.get("gear_ratio", 1.0)),
        "damping": float(e.get("damping", 0.0)),
        "coulomb": tuple(dry) if isinstance(dry, list) else (float(dry), float(dry)),
        "coulomb_width": float(e.get("coulomb_width", 0.0)),
        "stiffness": float(e.get("stiffness", 0.0)),
        "rest": _angle(e, "rest"),
        "friction": tuple(friction(**term) for term in e.get("friction", ())),
    }


def _toml_limit(e: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _angle(e, key) for key in LIMITS if key in e or f"{key}_deg" in e}


def _frames(data: Mapping[str, Any]) -> list[tuple[LinkData, str]]:
    return [(LinkData(f["name"], f"{f['name']}_fixed", before=(_pose(f),)), f["link"]) for f in data.get("frames", ())]


def _toml_tree(data: Mapping[str, Any]) -> Linkage:
    links = {e["name"]: LinkData(e["name"], **_toml_inertial(e.get("inertial"))) for e in data["links"]}
    parts, parents = [], {}
    for e in data.get("joints", ()):
        kind = _kind(e["kind"])
        moving: dict[str, Any] = {}
        if kind != "fixed":
            axis = _unit(three(e.get("axis", (1.0, 0.0, 0.0))))
            moving = {
                "axis": axis,
                "pitch": float(e.get("pitch", 0.0)),
                **_toml_drive(e.get("drive", {})),
                **_toml_limit(e.get("limit", {})),
            }
            if "mimic" in e:
                m = e["mimic"]
                moving |= {"follows": m["joint"], "multiplier": float(m.get("multiplier", 1.0))}
                moving["offset"] = _angle(m, "offset")
        parts.append(replace(links[e["child"]], joint=e["name"], kind=kind, before=(_pose(e),), **moving))
        parents[e["child"]] = e["parent"]
    roots = [part for name, part in links.items() if name not in parents]
    for part, carrier in _frames(data):
        parts.append(part)
        parents[part.link] = carrier
    return order_parts([*roots, *parts], parents, three(data.get("gravity", DOWN)))


def _toml_table(data: Mapping[str, Any]) -> Linkage:
    dh = data["dh"]
    rows, taken = [], set()
    for i, e in enumerate(dh["rows"]):
        kind = _kind(e.get("kind", "revolute"))
        part = LinkData(
            e.get("link", f"link{i + 1}"),
            e.get("joint", f"joint{i + 1}"),
            kind,
            axis=(0.0, 0.0, 1.0),
            **_toml_inertial(e.get("inertial")),
            **_toml_drive(e.get("drive", {})),
            **_toml_limit(e.get("limit", {})),
        )
        taken.add(part.link)
        angles = {key: _angle(e, key) for key in ("theta", "alpha", "offset")}
        rows.append(_row(part, d=float(e.get("d", 0.0)), a=float(e.get("a", 0.0)), **angles))
    root = dh.get("root", {})
    frames = tuple(_frames(data))
    taken |= {root.get("name", "base"), *(part.link for part, _ in frames)}
    tip = data.get("tip")
    base, tool = ((_pose(dh.get(end, {})),) for end in ("base", "tool"))
    first = LinkData(root.get("name", "base"), **_toml_inertial(root.get("inertial")))
    tip = tip if tip is not None and tip not in taken else "tool"
    kind, gravity = dh.get("convention", "standard"), three(data.get("gravity", DOWN))
    return of_table(WrittenTable(tuple(rows), kind, base, tool, first, tip, gravity, frames))
