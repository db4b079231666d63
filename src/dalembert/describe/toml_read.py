"""Dalembert's own robot files: TOML with a DH table, or with links and joints.

    name = "arm"
    [[dh.rows]]                      # or [[links]] and [[joints]]
    d = 0.3
    alpha_deg = 90
    inertial = { mass = 2.0, com = [0, 0, -0.1], inertia = [0.02, 0.02, 0.01] }
    [[loops]]                        # what closes the tree, if it is closed
    kind = "ball"
    first = "link3"
    second = "base"

`toml_schema` lists every key. Messages name the TOML path and the line: `tomllib` forgets lines, so they are found
again by a light scan of the text for headers, keys, and the path they stand for. It is only used to point at a place;
what it cannot find, it leaves out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import msgspec

from dalembert.describe.check import check
from dalembert.describe.description import (
    JOINT_KINDS,
    JOINTS_WITHOUT_AXIS,
    LOOP_KINDS,
    SHAPES,
    ZERO,
    Box,
    Capsule,
    Color,
    Cylinder,
    Description,
    Drive,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mesh,
    Mimic,
    Origin,
    Shape,
    Sphere,
    positions,
)
from dalembert.describe.dh import CONVENTIONS, KINDS, NUMBERS, DHRow, DHTable, check_convention, tree_of, warn_of_rows
from dalembert.describe.toml_schema import (
    Strict,
    TomlDH,
    TomlDrive,
    TomlFrame,
    TomlFriction,
    TomlInertial,
    TomlJoint,
    TomlLimit,
    TomlLink,
    TomlLoop,
    TomlMimic,
    TomlRobot,
    TomlRoot,
    TomlRound,
    TomlRow,
    TomlShape,
)
from dalembert.errors import DescriptionError, InputError, Place, UnknownNameError, unknown
from dalembert.files import parse_toml
from dalembert.friction.laws import Friction, friction
from dalembert.joints import JOINTS
from dalembert.spatial.vector import add, scale

# msgspec crashes where two threads convert to a type at once for the first time: what it must know, it learns here.
msgspec.json.Decoder(TomlRobot)
FORMAT = 1
DEEPEST = 32  # far below what the schema needs, far above what recursion bears
POSITIONS = ("lower", "upper", "velocity", "offset", "rest")  # what a joint that slides has in meters

# Joints that stand for two in a row, with a link without mass between them: the ends of their names, and their kinds.
COMPOUND = {
    "universal": (("first", "continuous"), ("second", "continuous")),
    "cylindrical": (("turn", "continuous"), ("slide", "prismatic")),
}

Path = tuple[str | int, ...]
Said = dict[str, Any]

_HEADER = re.compile(r"""^\s*(\[\[?)\s*([\w."'-]+(?:\s*\.\s*[\w"'-]+)*)\s*\]\]?""")
_KEY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_TYPES = {
    "float": "a number",
    "int": "a whole number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
}


def read_toml(text: str, *, file: str | None = None, strict: bool = False) -> Description:
    """The description written in a TOML text; `file` is named in messages. `strict`: shapes that cannot be are refused,
    not left out."""
    text = text.removeprefix("\ufeff")
    source = Source(text, file)
    if any("\ud800" <= c <= "\udfff" for c in text):
        problem = "the text contains half of a surrogate pair"
        raise DescriptionError("not-readable", "text", place=Place(file), problem=problem)
    data = _parse(source)
    _refuse_not_finite(source, data, ())
    try:
        robot = msgspec.convert(data, TomlRobot)
    except msgspec.ValidationError as error:
        raise from_msgspec(source, error) from None
    if robot.format != FORMAT:
        problem = f"this is format {robot.format}, and this version of Dalembert reads format {FORMAT}"
        raise source.error(("format",), "unsupported", None, robot.format, problem=problem)
    return check(_Reader(source).description(robot), strict=strict)


def _parse(source: Source) -> dict[str, Any]:
    try:
        return parse_toml(source.text)
    except ValueError as error:
        message = str(error)
        at = re.search(r"\(at line (\d+), column (\d+)\)", message)
        place = Place(source.file, int(at[1]), int(at[2])) if at else Place(source.file)
        message = re.sub(r"\s*\(at [^)]*\)", "", message)
        raise DescriptionError("syntax", "text", place=place, problem=f"the TOML is not valid: {message}") from None


def _refuse_not_finite(source: Source, value: object, path: Path) -> None:
    """TOML has nan and inf, and tables without end; a robot does not."""
    if len(path) > DEEPEST:
        raise source.error(path[:1], "too-large", problem="tables or lists are nested too deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise source.error(path, "not-finite", None, value, problem=f"{value} is not a finite number")
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        _refuse_not_finite(source, inner, (*path, key))


@dataclass(frozen=True)
class _Reader:
    """Turns tables of the schema into parts of a description; `path` says where each stood."""

    source: Source

    def description(self, robot: TomlRobot) -> Description:
        """The description of a file's tables, not checked yet."""
        if (robot.dh is None) == (not robot.links):
            kinds = "either a DH table ([[dh.rows]]) or links and joints ([[links]], [[joints]])"
            raise self.source.error((), "missing", "links", problem=f"the file needs {kinds}, exactly one of them")
        tree = self._tree(robot) if robot.dh is None else self._table(robot, robot.dh)
        frames = [self._frame(frame, ("frames", i)) for i, frame in enumerate(robot.frames)]
        joints = (*tree.joints, *(joint for _, joint in frames))
        return Description(
            robot.name,
            (*tree.links, *(link for link, _ in frames)),
            joints,
            robot.gravity,
            robot.tip if robot.tip is not None else tree.tip,
            robot.notes,
            tuple(self._loop(loop, ("loops", i)) for i, loop in enumerate(robot.loops)),
            self._home(robot, joints),
            place=Place(self.source.file),
            dh=tree.dh,
        )

    def _tree(self, robot: TomlRobot) -> Description:
        links = [self._link(link, ("links", i)) for i, link in enumerate(robot.links)]
        joints = []
        for i, written in enumerate(robot.joints):
            joint = self._joint(written, ("joints", i))
            pair = COMPOUND.get(written.kind)
            if pair is None:
                joints.append(joint)
                continue
            between = Link(f"{joint.name}_link", place=joint.place)
            first, second = (replace(joint, name=f"{joint.name}_{word}", kind=kind) for word, kind in pair)
            axis = second.axis if written.second_axis is None else written.second_axis
            links.append(between)
            joints.append(replace(first, child=between.name))
            joints.append(replace(second, parent=between.name, origin=Origin(), axis=axis))
        return Description(robot.name, tuple(links), tuple(joints))

    def _table(self, robot: TomlRobot, dh: TomlDH) -> Description:
        """A tip that no link or frame has gives its name to the frame after the last row."""
        if robot.joints:
            problem = "a file with a DH table has its joints in [[dh.rows]]"
            raise self.source.error(("joints", 0), "conflict", "joints", problem=problem)
        self._choose("DH convention", dh.convention, CONVENTIONS, ("dh", "convention"))
        if not dh.rows:
            remedy = "Write one row per joint."
            raise self.source.error(("dh", "rows"), "too-few", "rows", problem="the table has no rows", remedy=remedy)
        taken = {row.link or f"link{i + 1}" for i, row in enumerate(dh.rows)}
        taken |= {dh.root.name, *(frame.name for frame in robot.frames)}
        base, tool = (_origin(self._said(getattr(dh, end), ("dh", end))) for end in ("base", "tool"))
        table = DHTable(
            tuple(self._row(row, ("dh", "rows", i)) for i, row in enumerate(dh.rows)),
            check_convention(dh.convention),
            base,
            tool,
            self._link(dh.root, ("dh", "root")),
            tip=robot.tip if robot.tip is not None and robot.tip not in taken else "tool",
        )
        warn_of_rows(table.rows)
        return tree_of(table)

    def _said(self, table: Strict, path: Path, slides: bool = False) -> Said:
        """What a table says, its parts made: of `key` and `key_deg` at most one may be given, in degrees no position of
        a joint that `slides`."""
        said: Said = {}
        for key in table.__struct_fields__:
            value, plain = getattr(table, key), key.removesuffix("_deg")
            if value is None:
                continue
            if plain in said and key != plain:
                raise self.source.error((*path, plain), "conflict", problem=f"give {plain} or {key}, not both")
            if plain != key and slides and plain in POSITIONS:
                problem = "a prismatic joint moves in meters"
                raise self.source.error((*path, key), "wrong-unit", problem=problem, remedy=f"Write {plain} instead.")
            said[plain] = value if plain == key else _radians(value)
            make = self._MAKERS.get(type(value))
            if make is not None:
                said[key] = make(self, value, (*path, key), slides)
            elif key in ("shapes", "collisions"):
                said[key] = tuple(self._shape(shape, (*path, key, i)) for i, shape in enumerate(value))
        return said

    def _row(self, row: TomlRow, path: Path) -> DHRow:
        self._choose("joint kind", row.kind, KINDS, (*path, "kind"))
        said = self._said(row, path, _slides(row.kind))
        numbers = {key: said.pop(key) for key in NUMBERS if key in said}
        name, visuals = said.pop("joint", None), said.pop("shapes")
        return DHRow(**numbers, name=name, visuals=visuals, **said, place=self.source.place(*path))

    def _link(self, link: TomlLink | TomlRoot, path: Path) -> Link:
        said = self._said(link, path)
        return Link(visuals=said.pop("shapes"), **said, place=self.source.place(*path))

    def _joint(self, joint: TomlJoint, path: Path) -> Joint:
        kind = self._choose("joint kind", joint.kind, (*JOINT_KINDS, *COMPOUND), (*path, "kind"))
        self._compound(joint, path)
        if kind != "fixed" and kind in JOINTS_WITHOUT_AXIS and joint.axis is not None:
            problem = f"a {kind} joint has no axis"
            raise self.source.error((*path, "axis"), "no-effect", "axis", problem=problem, remedy="Remove it.")
        if joint.axis is None and kind not in JOINTS_WITHOUT_AXIS:
            problem = f"the {kind} joint {joint.name!r} needs an axis, such as [0, 0, 1]"
            raise self.source.error(path, "missing", "axis", problem=problem)
        said = self._said(joint, path, _slides(kind))
        said.pop("second_axis", None)
        return Joint(origin=_origin(said), **said, place=self.source.place(*path))

    def _compound(self, joint: TomlJoint, path: Path) -> None:
        """A joint that stands for two has axes, and nothing that would belong to one of them."""
        two = joint.kind == "universal"
        if two == (joint.second_axis is None):
            why = "give the second_axis of a universal joint" if two else f"a {joint.kind} joint has no second_axis"
            raise self.source.error(
                (*path, *(() if two else ("second_axis",))), "wrong-structure", "second_axis", problem=why
            )
        if joint.kind in COMPOUND and (joint.limit or joint.mimic or joint.pitch or joint.drive != TomlDrive()):
            kinds = " and a ".join(kind for _, kind in COMPOUND[joint.kind])
            why = f"{joint.name!r} is {joint.kind}, which is two joints: write a {kinds} one"
            problem = f"{why} where they have limits, a mimic, a pitch or a drive"
            raise self.source.error(path, "unsupported", "kind", joint.kind, problem=problem)

    def _frame(self, frame: TomlFrame, path: Path) -> tuple[Link, Joint]:
        place, origin = self.source.place(*path), _origin(self._said(frame, path))
        joint = Joint(f"{frame.name}_fixed", "fixed", frame.link, frame.name, origin, place=place)
        return Link(frame.name, place=place), joint

    def _loop(self, loop: TomlLoop, path: Path) -> Loop:
        self._choose("kind of loop", loop.kind, LOOP_KINDS, (*path, "kind"))
        said = {"name": f"loop{int(path[-1]) + 1}", **self._said(loop, path)}
        first, second = (_origin(said, f"{side}_") for side in ("first", "second"))
        return Loop(first_origin=first, second_origin=second, **said, place=self.source.place(*path))

    def _home(self, robot: TomlRobot, joints: Sequence[Joint]) -> tuple[tuple[str, float], ...]:
        """The positions in `home` (rad, m), then those in `home_deg`."""
        moving = {joint.name: joint for joint in joints if joint.kind != "fixed"}
        parts = {name + part: j for name, j in moving.items() if j.several for part in JOINTS[j.kind].position_names}
        for key, written in (("home", robot.home), ("home_deg", robot.home_deg)):
            for name in written:
                self._choose("joint", name, [*moving, *(parts if key == "home" else ())], (key, name))
        for name in robot.home_deg:
            if name in robot.home:
                problem = f"joint {name!r} is in home too"
                remedy = "Keep one."
                raise self.source.error(("home_deg", name), "duplicate", None, name, problem=problem, remedy=remedy)
            if not moving[name].turns:
                why = f"a {moving[name].kind} joint " + ("has no angle" if moving[name].several else "moves in meters")
                remedy = "Write home instead."
                raise self.source.error(("home_deg", name), "wrong-unit", None, name, problem=why, remedy=remedy)
        home = (pair for name, x in robot.home.items() for pair in self._positions(moving, name, x))
        return (*home, *((name, math.radians(x)) for name, x in robot.home_deg.items()))

    def _positions(self, moving: Mapping[str, Joint], name: str, x: float | list[float]) -> Sequence[tuple[str, float]]:
        """What `home` says of a joint: one number, as many as it has positions, or one of these by its own name."""
        joint = moving.get(name)
        count = 1 if joint is None else JOINTS[joint.kind].nq
        values = x if isinstance(x, list) else [x]
        if len(values) != count:
            what = f"a {joint.kind} joint has {count} positions" if joint and count > 1 else "it has one position"
            raise self.source.error(("home", name), "wrong-shape", problem=f"{what}, got {len(values)} numbers")
        return ((name, values[0]),) if joint is None else positions(name, joint.kind, values)

    def _choose(self, what: str, value: str, choices: Sequence[str], path: Path) -> str:
        if value not in choices:
            raise self.source.error(path, "unknown-name", None, value, problem=str(unknown(what, value, choices)))
        return value

    # parts of links and joints

    def _inertial(self, table: TomlInertial, path: Path, slides: bool) -> Inertial:
        said = self._said(table, path)
        values = said.get("inertia", ZERO)
        if len(values) not in (3, 6):
            wanted = "3 (diagonal) or 6 (ixx, ixy, ixz, iyy, iyz, izz) numbers"
            raise self.source.error((*path, "inertia"), "wrong-shape", expected=f"{wanted}, got {len(values)}")
        xx, xy, xz, yy, yz, zz = values if len(values) == 6 else (values[0], 0.0, 0.0, values[1], 0.0, values[2])
        return Inertial(said["mass"], (xx, xy, xz, yy, yz, zz), Origin(said["com"], said.get("rpy", ZERO)))

    def _limit(self, table: TomlLimit, path: Path, slides: bool) -> Limit:
        return Limit(**self._said(table, path, slides))

    def _mimic(self, table: TomlMimic, path: Path, slides: bool) -> Mimic:
        return Mimic(**self._said(table, path, slides))

    def _drive(self, table: TomlDrive, path: Path, slides: bool) -> Drive:
        terms = tuple(self._friction(term, (*path, "friction", i)) for i, term in enumerate(table.friction))
        return Drive(**{**self._said(table, path, slides), "friction": terms})

    def _friction(self, term: TomlFriction, path: Path) -> Friction:
        try:
            return friction(**self._said(term, path))
        except (InputError, UnknownNameError) as error:
            raise self.source.error(path, error.code, error.argument, problem=str(error)) from None

    _MAKERS: ClassVar[Mapping[type, Callable[[_Reader, Any, Path, bool], object]]] = {
        TomlInertial: _inertial,
        TomlLimit: _limit,
        TomlMimic: _mimic,
        TomlDrive: _drive,
    }

    def _shape(self, shape: TomlShape, path: Path) -> Shape:
        said = self._said(shape, path)
        given = [kind for kind in SHAPES if kind in said]
        if len(given) != 1:
            problem = f"a shape must be one of {', '.join(SHAPES)}, got {given or 'none'}"
            raise self.source.error(path, "wrong-structure", "shape", problem=problem)
        origin, written = _origin(said), said[given[0]]
        match given[0]:
            case "box":
                geometry: Box | Sphere | Mesh | Cylinder | Capsule = Box(written)
            case "sphere":
                geometry = Sphere(written.radius)
            case "mesh":
                geometry = Mesh(written.file, written.scale)
            case kind:
                length, origin = self._round(written, shape, origin, (*path, kind))
                geometry = (Cylinder if kind == "cylinder" else Capsule)(written.radius, length)
        return Shape(geometry, origin, shape.name, self._color(shape.color, path), shape.material)

    def _round(self, written: TomlRound, shape: TomlShape, origin: Origin, path: Path) -> tuple[float, Origin]:
        """Length and pose of a cylinder or capsule, which may be given from point to point."""
        ends = (written.start, written.end)
        if written.length is not None and ends == (None, None):
            return written.length, origin
        if written.length is not None or written.start is None or written.end is None:
            raise self.source.error(path, "missing", "length", problem="the shape needs its length, or from and to")
        if origin != Origin() or shape.rpy is not None or shape.rpy_deg is not None:
            problem = "from and to place it already"
            raise self.source.error(path, "conflict", "from", problem=problem, remedy="Leave out xyz and rpy.")
        length = math.dist(written.start, written.end)
        if length == 0:
            raise self.source.error(path, "wrong-value", "from", problem="from and to are the same point")
        x, y, z = (b - a for a, b in zip(written.start, written.end, strict=True))
        middle = scale(0.5, add(written.start, written.end))
        # Rz(yaw) Ry(pitch) turns z into the direction with these spherical angles.
        yaw, pitch = math.atan2(y, x), math.atan2(math.hypot(x, y), z)
        return length, Origin((middle[0], middle[1], middle[2]), (0.0, pitch, yaw))

    def _color(self, color: list[float] | str | None, path: Path) -> Color | None:
        if color is None:
            return None
        if isinstance(color, str):
            if not re.fullmatch(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?", color):
                raise self.source.error(
                    (*path, "color"), "wrong-value", None, color, expected="like '#ff8800' or '#ff8800cc'"
                )
            color = [int(color[i : i + 2], 16) / 255 for i in range(1, len(color), 2)]
        if len(color) not in (3, 4):
            raise self.source.error((*path, "color"), "wrong-shape", expected=f"3 or 4 numbers, got {len(color)}")
        red, green, blue, alpha = (*color, 1.0)[:4]
        return (red, green, blue, alpha)


def _slides(kind: str) -> bool:
    return kind in JOINTS and not JOINTS[kind].turns


def _radians(degrees: float | Sequence[float]) -> float | tuple[float, ...]:
    return math.radians(degrees) if isinstance(degrees, (int, float)) else tuple(math.radians(x) for x in degrees)


def _origin(said: Said, prefix: str = "") -> Origin:
    """The pose that a table says, taken out of it."""
    return Origin(said.pop(f"{prefix}xyz"), said.pop(f"{prefix}rpy", ZERO))


# where something stands, and what msgspec says of it


@dataclass(frozen=True)
class Source:
    """A TOML text with the file it came from: makes errors that name the path and the line."""

    text: str
    file: str | None = None

    def place(self, *path: str | int) -> Place:
        return Place(self.file, line_of(self.text, path))

    def error(
        self, path: Path, code: str, argument: str | None = None, *value: object, **fields: str
    ) -> DescriptionError:
        """Return the error about a key, which is the argument unless another name is given."""
        where = show_path(path)
        argument = argument or next((key for key in reversed(path) if isinstance(key, str)), None)
        place = f"{self.place(*path)}{': ' + where if where else ''}"
        return DescriptionError(code, argument, *value, place=place, **fields)


def show_path(path: Path) -> str:
    """joints[2].limit.lower"""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def line_of(text: str, path: Path) -> int | None:
    """The line (from 1) on which the longest found part of the path was written."""
    best, found = 0, None
    here: Path = ()
    counts: dict[tuple[str, ...], int] = {}
    quote: str | None = None
    for number, row in enumerate(text.splitlines(), 1):
        inside = quote is not None
        for mark in re.findall(r'"""|\'\'\'', row):
            quote = mark if quote is None else None if mark == quote else quote
        if inside:
            continue
        if match := _HEADER.match(row):
            names = tuple(part.strip().strip("\"'") for part in match[2].split("."))
            if match[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
            here = _indexed(names, counts)
            written = here
        elif match := _KEY.match(row):
            written = (*here, match[1])
        else:
            continue
        if len(written) > best and written == path[: len(written)]:
            best, found = len(written), number
    return found


def _indexed(names: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Path:
    """dh.rows → ("dh", "rows", 3) while the fourth [[dh.rows]] is open."""
    out: list[str | int] = []
    for i, name in enumerate(names):
        out.append(name)
        if (count := counts.get(names[: i + 1])) is not None:
            out.append(count)
    return tuple(out)


def from_msgspec(source: Source, error: msgspec.ValidationError) -> DescriptionError:
    """msgspec's message as a sentence with our path, the line, and the keys that do exist."""
    text, _, where = str(error).partition(" - at `$")
    path = _parse_path(where.rstrip("`"))
    if match := re.search(r"unknown field `(.*)`", text):
        known = _keys_at(path)
        return source.error(
            (*path, match[1]), "unknown-name", None, match[1], problem=str(unknown("key", match[1], known))
        )
    if match := re.search(r"missing required field `(.*)`", text):
        return source.error(path, "missing", match[1], problem=f"the key {match[1]!r} is missing")
    if match := re.search(r"`array` of length (\d+), got (\d+)", text):
        return source.error(path, "wrong-shape", expected=f"{match[1]} numbers, got {match[2]}")
    if match := re.search(r"Expected `([^`]*)`, got `([^`]*)`", text):
        return source.error(path, "wrong-type", expected=f"{_words(match[1])}, got {_words(match[2])}")
    return source.error(path, "wrong-value", problem=text)


def _words(types: str) -> str:
    names = [_TYPES.get(name.strip(), name.strip()) for name in types.split("|") if name.strip() != "null"]
    return " or ".join(names)


def _parse_path(text: str) -> Path:
    """.joints[2].limit → ("joints", 2, "limit")"""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", text)
    return tuple(name or int(index) for name, index in parts)


def _keys_at(path: Path) -> list[str]:
    """The keys of the table at the path, from the schema."""
    kind: Any = TomlRobot
    for part in path:
        if isinstance(part, int):
            kind = _first_struct(kind)
            continue
        by_name = {f.encode_name: f.type for f in msgspec.structs.fields(_first_struct(kind))}
        kind = by_name[part]
    return [f.encode_name for f in msgspec.structs.fields(_first_struct(kind))]


def _first_struct(kind: Any) -> Any:
    """The struct in `list[Struct]`, `Struct | None` or `Struct`."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    for part in get_args(kind):
        if (inner := _first_struct(part)) is not None:
            return inner
    return None
