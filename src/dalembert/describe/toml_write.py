"""A description as Dalembert's own TOML, in its tree form, or a DH table as one: what `read_toml` reads back unchanged.

Numbers are written with as many digits as their exact value needs; what equals its default is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import tomlkit
from tomlkit.items import Array, InlineTable, Item, Table

from dalembert.describe.description import (
    JOINTS_WITHOUT_AXIS,
    ZERO,
    Box,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Link,
    Loop,
    Mesh,
    Mimic,
    Origin,
    Shape,
)
from dalembert.describe.dh import NUMBERS, DHRow, DHTable
from dalembert.describe.toml_read import FORMAT
from dalembert.friction.laws import spoken

Fields = dict[str, Any]


def write_toml(description: Description) -> str:
    """The description as a TOML text with links and joints."""
    document = _headed(description)
    if description.home:
        document.add("home", _item(dict(description.home)))
    _add_tables(document, "links", (_link(link) for link in description.links))
    _add_tables(document, "joints", (_joint(joint) for joint in description.joints))
    _add_tables(document, "loops", (_loop(loop) for loop in description.loops))
    return tomlkit.dumps(document)


def write_dh_toml(table: DHTable) -> str:
    """The table as a TOML text with [[dh.rows]], in its own convention."""
    document = _headed(table)
    dh: Table = tomlkit.table()
    dh.add("convention", tomlkit.item(table.convention))
    for key, origin in (("base", table.base), ("tool", table.tool)):
        if origin != Origin():
            dh.add(key, _item(_origin(origin)))
    dh.add("root", _item(_link(table.root)))
    _add_tables(dh, "rows", (_row(row) for row in table.rows))
    document.add("dh", dh)
    return tomlkit.dumps(document)


def _headed(robot: Description | DHTable) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    document.add("format", tomlkit.item(FORMAT))
    document.add("name", tomlkit.item(robot.name))
    document.add("gravity", _item(robot.gravity))
    if robot.tip is not None:
        document.add("tip", tomlkit.item(robot.tip))
    if robot.notes:
        document.add("notes", _text(robot.notes))
    return document


def _add_tables(document: tomlkit.TOMLDocument | Table, key: str, rows: Iterable[Fields]) -> None:
    tables = tomlkit.aot()
    for row in rows:
        table: Table = tomlkit.table()
        for name, value in row.items():
            table.add(name, _item(value))
        tables.append(table)
    if len(tables):
        document.add(key, tables)


def _text(text: str) -> Item:
    """A string over several lines where it has several, if that reads back unchanged; else in quotes."""
    if "\n" in text:
        several = tomlkit.string(text, multiline=True)
        if tomllib.loads(f"text = {several.as_string()}")["text"] == text:
            return several
    return tomlkit.item(text)


def _item(value: object) -> Item:
    """Tables inside rows are written on one line; lists of tables one table per line."""
    if isinstance(value, Mapping):
        table: InlineTable = tomlkit.inline_table()
        for name, inner in value.items():
            table.add(name, _item(inner))
        return table
    if isinstance(value, (tuple, list)):
        array: Array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array.multiline(True) if value and isinstance(value[0], Mapping) else array
    return tomlkit.item(value)


def _without(fields: Fields, defaults: Fields) -> Fields:
    """The fields that say something: not None, not empty, not their default."""
    return {k: v for k, v in fields.items() if v is not None and v != () and v != defaults.get(k)}


def _origin(origin: Origin) -> Fields:
    return _without({"xyz": origin.xyz, "rpy": origin.rpy}, {"xyz": ZERO, "rpy": ZERO})


def _link(link: Link) -> Fields:
    fields: Fields = {"name": link.name}
    if link.inertial is not None:
        fields["inertial"] = _inertial(link.inertial)
    shapes = {"shapes": link.visuals, "collisions": link.collisions}
    return fields | {key: [_shape(s) for s in value] for key, value in shapes.items() if value}


def _inertial(inertial: Inertial) -> Fields:
    xx, xy, xz, yy, yz, zz = inertial.inertia
    inertia = (xx, yy, zz) if xy == xz == yz == 0 else inertial.inertia
    fields = {"com": inertial.origin.xyz, "rpy": inertial.origin.rpy, "inertia": inertia}
    return {"mass": inertial.mass} | _without(fields, {"com": ZERO, "rpy": ZERO, "inertia": ZERO})


def _joint(joint: Joint) -> Fields:
    fields: Fields = {"name": joint.name, "kind": joint.kind, "parent": joint.parent, "child": joint.child}
    fields |= _origin(joint.origin)
    if joint.kind not in JOINTS_WITHOUT_AXIS:
        fields["axis"] = joint.axis
    fields |= _without({"pitch": joint.pitch}, {"pitch": 0.0})
    if joint.limit is not None:
        fields["limit"] = _without(vars(joint.limit), {})
    if joint.mimic is not None:
        fields["mimic"] = _without(vars(joint.mimic), {"multiplier": Mimic.multiplier, "offset": Mimic.offset})
    return fields | _drive(joint.drive)


def _row(row: DHRow) -> Fields:
    fields: Fields = {"joint": row.name, "link": row.link, "kind": row.kind}
    fields |= {key: getattr(row, key) for key in NUMBERS}
    fields = _without(fields, {"kind": "revolute", **dict.fromkeys(NUMBERS, 0.0)})
    if row.limit is not None:
        fields["limit"] = _without(vars(row.limit), {})
    fields |= _drive(row.drive)
    body = _link(Link("", row.inertial, row.visuals, row.collisions))
    return fields | {key: value for key, value in body.items() if key != "name"}


def _loop(loop: Loop) -> Fields:
    fields: Fields = {"name": loop.name, "kind": loop.kind}
    for side, link, origin in (("first", loop.first, loop.first_origin), ("second", loop.second, loop.second_origin)):
        fields |= {side: link} | {f"{side}_{key}": value for key, value in _origin(origin).items()}
    return fields | _without({"axis": loop.axis, "length": loop.length}, {"axis": Loop.axis})


def _drive(drive: Drive) -> Fields:
    fields = _without(vars(drive), vars(Drive()))
    if "coulomb" in fields and drive.coulomb[0] == drive.coulomb[1]:
        fields["coulomb"] = drive.coulomb[0]
    if "friction" in fields:
        fields["friction"] = [spoken(term) for term in drive.friction]
    return {"drive": fields} if drive != Drive() else {}


def _shape(shape: Shape) -> Fields:
    fields: Fields = _geometry(shape.geometry) | _origin(shape.origin)
    return fields | _without({"name": shape.name, "color": shape.color, "material": shape.material}, {})


def _geometry(geometry: Geometry) -> Fields:
    if isinstance(geometry, Mesh):
        return {"mesh": {"file": geometry.filename} | _without({"scale": geometry.scale}, {"scale": Mesh.scale})}
    form = type(geometry).__name__.lower()
    return {form: geometry.size if isinstance(geometry, Box) else dict(vars(geometry))}
