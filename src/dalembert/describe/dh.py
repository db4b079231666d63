"""Denavit–Hartenberg tables, standard and modified, to and from a description.

Standard:          T = base · Π Rz(θᵢ) Tz(dᵢ) Tx(aᵢ) Rx(αᵢ) · tool; link i's frame is the distal frame i.
Modified (Craig):  T = base · Π Rx(αᵢ₋₁) Tx(aᵢ₋₁) Rz(θᵢ) Tz(dᵢ) · tool; link i's frame is on joint i.
A row's joint variable, plus its `offset`, is added to θ (revolute) or to d (prismatic).
Inertias and shapes in a row are in the link frame of the row's convention.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, cast

from numpy.typing import ArrayLike

from dalembert.arguments import number, six_of_inertia, three
from dalembert.describe.chain import (
    Chain,
    moved_inertial,
    moved_shapes,
    serial_chain,
    snap_angle,
    snap_length,
    to_origin,
    to_pose,
)
from dalembert.describe.check import check
from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Origin, Part, Shape, finite
from dalembert.display import Displayed
from dalembert.errors import DalembertError, DescriptionError, InputError, Place, choose, unknown
from dalembert.joints import JOINTS
from dalembert.spatial import rotation
from dalembert.spatial.angles import warn_of_degrees
from dalembert.spatial.pose import IDENTITY_POSE, Pose
from dalembert.spatial.vector import Vector, add, cross, dot, matvec, scale, sub, transpose

Convention = Literal["standard", "modified"]
CONVENTIONS = ("standard", "modified")
KINDS = ("revolute", "continuous", "prismatic")
NUMBERS = ("theta", "d", "a", "alpha", "offset")
PARTS: dict[str, type[Part]] = {"inertial": Inertial, "limit": Limit, "drive": Drive}
HERE = Origin()
X: Vector = (1.0, 0.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)
# Axes that differ by less than this angle [rad] count as parallel. Taking them so costs at most that angle;
# a common normal 1/angle away would cost as much in rounding, 1e-16/angle, and print lengths of 1e8 m.
PARALLEL = 1e-8
# Parallel axes nearer than this [m] count as one line: no direction can be taken from their distance.
COINCIDENT = 1e-12
ROOT = Link("base")


@dataclass(frozen=True)
class DHRow(Part):
    """One joint and the link it moves. In the modified convention `a` and `alpha` are aᵢ₋₁ and αᵢ₋₁,
    which stand before the joint."""

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    kind: str = "revolute"  # one of KINDS
    offset: float = 0.0
    name: str | None = None  # the joint's; joint1, joint2, … if not given
    link: str | None = None  # the link's; link1, link2, …
    limit: Limit | None = None
    drive: Drive = Drive()
    inertial: Inertial | None = None
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        choose("joint kind", self.kind, KINDS)
        super().__post_init__()
        for name in NUMBERS:
            finite(f"{name} of DHRow", getattr(self, name))

    @property
    def turns(self) -> bool:
        """Whether q is added to θ, not to d."""
        return JOINTS[self.kind].turns

    def before(self) -> tuple[float, float]:
        """(θ, d) at q = 0."""
        turn = self.offset if self.turns else 0.0
        return self.theta + turn, self.d + (self.offset - turn)


@dataclass(frozen=True, repr=False)
class DHTable(Displayed):
    """Rows, convention, and the poses before the first row and after the last."""

    rows: tuple[DHRow, ...]
    convention: Convention = "standard"
    base: Origin = Origin()
    tool: Origin = Origin()
    root: Link = Link("base")
    tip: str = "tool"
    name: str = "robot"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    notes: str = ""

    def frames(self) -> list[Pose]:
        """The link frame of each row in the root's frame at q = 0."""
        T, out = to_pose(self.base), []
        for row in self.rows:
            z, x = screw_z(*row.before()), screw_x(row.a, row.alpha)
            T = T @ z @ x if self.convention == "standard" else T @ x @ z
            out.append(T)
        return out

    def home(self) -> Pose:
        """The tip in the root's frame at q = 0."""
        return (self.frames() or [to_pose(self.base)])[-1] @ to_pose(self.tool)

    head: ClassVar[tuple[str, ...]] = ("joint", "kind", "θ [°]", "d [m]", "a [m]", "α [°]")

    def lines(self) -> list[tuple[str, ...]]:
        """The four numbers per joint, for reading: see `head`."""
        lines: list[tuple[str, ...]] = []
        for i, row in enumerate(self.rows):
            theta, d = row.before()
            shown = [f"{x + 0.0:.6g}" for x in (math.degrees(theta), d, row.a, math.degrees(row.alpha))]
            moved = 0 if row.turns else 1
            q, rest = f"q{i + 1}", (theta, d)[moved]
            shown[moved] = q if rest == 0 else f"{q} {'-' if rest < 0 else '+'} {shown[moved].lstrip('-')}"
            lines.append((row.name or f"joint{i + 1}", row.kind, *shown))
        return lines

    def ends(self) -> list[tuple[str, Origin]]:
        """The poses before the first row and after the last, where they are not the identity."""
        return [(name, origin) for name, origin in (("base", self.base), ("tool", self.tool)) if origin != HERE]

    def __repr__(self) -> str:
        """The four numbers per joint, in a table for reading; `rows` has all of it."""
        lines = [self.head, *self.lines()]
        width = [max(len(line[k]) for line in lines) for k in range(6)]
        pad = [str.ljust, str.ljust, *[str.rjust] * 4]
        text = ["  ".join(f(x, w) for f, x, w in zip(pad, line, width, strict=True)).rstrip() for line in lines]
        ends = [f"{name}: {origin}" for name, origin in self.ends()]
        return "\n".join([f"{self.name}: {self.convention} DH", *text, *ends])

    def description(self) -> Description:
        """The same robot as links and joints, checked (`from_dh`)."""
        return check(tree_of(self))


def from_dh(
    rows: Sequence[DHRow | Mapping[str, Any]],
    convention: str = "standard",
    *,
    name: str = "robot",
    base: Origin = HERE,
    tool: Origin = HERE,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    tip: str = "tool",
    root: Link = ROOT,
    notes: str = "",
) -> Description:
    """The description of a DH table; rows are `DHRow`s, or dictionaries with the same keys.

    The frame after the last row and `tool` becomes the link `tip`; `root` is the link before the first
    joint, and may bring its own inertia and shapes. `tree_of` says where the link frames are.
    """
    kind = check_convention(convention)
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise DescriptionError("wrong-type", "rows", rows, expected="a list of rows, one per joint")
    base, tool = _end("base", base), _end("tool", tool)
    table = tuple(_checked_row(row, i) for i, row in enumerate(rows))
    warn_of_rows(table)
    if not table:
        problem = f"the DH table of robot {name!r} has no rows"
        raise DescriptionError("too-few", "rows", problem=problem, remedy="Pass one row per joint.")
    return DHTable(table, kind, base, tool, root, tip, name, gravity, notes).description()


def warn_of_rows(rows: Sequence[DHRow]) -> None:
    """A UnitWarning for angles that look like degrees."""
    for key in ("alpha", "theta", "offset"):
        turned = [getattr(row, key) for row in rows if key != "offset" or row.turns]
        warn_of_degrees(f"the {key} of the DH table", turned, f"write math.radians(…) (in TOML {key}_deg)", 5)


def tree_of(table: DHTable) -> Description:
    """The links and joints of a table, not checked yet. Every joint moves about or along its own z.

    Link i's frame sits on joint i's axis: for a standard table it is frame_{i−1} Rz(θᵢ), or
    frame_{i−1} Rz(θᵢ) Tz(qᵢ) for a prismatic joint, before the row's own Tz Tx Rx; for a modified table it
    is frame i. Inertias and shapes are moved there from the frame of the convention.
    """
    links, joints = [table.root], []
    T, parent = to_pose(table.base), table.root.name
    for i, row in enumerate(table.rows):
        joint, link, T = _joint_and_link(row, i, table.convention, T, parent)
        joints.append(joint)
        links.append(link)
        parent = link.name
    origin = to_origin(T @ to_pose(table.tool))
    joints.append(Joint(f"{table.tip}_fixed", "fixed", parent, table.tip, origin))
    links.append(Link(table.tip))
    return Description(table.name, tuple(links), tuple(joints), table.gravity, table.tip, table.notes, dh=table)


def _joint_and_link(row: DHRow, i: int, convention: str, T: Pose, parent: str) -> tuple[Joint, Link, Pose]:
    """Joint i and its link, T the pose so far in the parent link's frame; and the pose left over in
    the new link's frame for the next joint."""
    theta, d = row.before()
    z, x = screw_z(theta, d), screw_x(row.a, row.alpha)
    if convention == "modified":
        origin, link_frame, rest = T @ x @ z, IDENTITY_POSE, IDENTITY_POSE
    else:
        rest = screw_z(0.0, d) @ x
        origin, link_frame = T @ screw_z(theta, 0.0), rest
    link = Link(row.link or f"link{i + 1}", **_moved(link_frame, row), place=row.place)
    joint = Joint(
        row.name or f"joint{i + 1}",
        row.kind,
        parent,
        link.name,
        to_origin(origin),
        (0.0, 0.0, 1.0),
        row.limit,
        drive=row.drive,
        place=row.place,
    )
    return joint, link, rest


def check_convention(convention: str) -> Convention:
    return cast(Convention, choose("DH convention", convention, CONVENTIONS))


def _end(name: str, value: object) -> Origin:
    """An Origin as it is, or one made of a homogeneous 4×4 matrix."""
    if isinstance(value, Origin):
        return value
    try:
        return to_origin(as_pose(value, name))
    except InputError:
        raise DescriptionError(
            "wrong-value", name, value, expected="a 4×4 pose or an Origin such as Origin(xyz=(0, 0, 0.1))"
        ) from None


def _checked_row(row: DHRow | Mapping[str, Any], i: int) -> DHRow:
    """A row as it was meant, or a sentence that names the row and the number."""
    if isinstance(row, Mapping):
        try:
            return DHRow(**_said(DHRow, row))
        except DalembertError as error:
            raise DescriptionError(
                error.code, error.argument, error.value, problem=str(error), place=f"DH row {i}"
            ) from None
    if not isinstance(row, DHRow):
        problem = (
            f"DH row {i} must be a DHRow or a dictionary such as {{'theta': 0, 'd': 0.1, 'a': 0.3, 'alpha': 0}}, got "
            f"{row!r}"
        )
        raise DescriptionError("wrong-type", "rows", row, problem=problem)
    return row


def _said(kind: type[Part], table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part from a dictionary with the keys of a robot file: `joint`, degrees with `_deg`, an inertial
    with `com`, `rpy` and three or six moments, a limit and a drive as dictionaries."""
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    said: dict[str, Any] = {}
    for key, value in table.items():
        plain = {"joint": "name"}.get(key, key)
        if key.removesuffix("_deg") in (*NUMBERS, "lower", "upper") and key.endswith("_deg"):
            plain, value = key.removesuffix("_deg"), math.radians(number(key, value))
        if plain not in known:
            raise unknown("key", key, known)
        if plain in PARTS and isinstance(value, Mapping):
            value = _inertial(value) if plain == "inertial" else PARTS[plain](**_said(PARTS[plain], value))
        said[plain] = value
    return said


def _inertial(table: Mapping[str, Any]) -> Inertial:
    for key in table:
        if key not in ("mass", "com", "rpy", "inertia"):
            raise unknown("key", f"inertial.{key}", tuple(f"inertial.{x}" for x in ("mass", "com", "rpy", "inertia")))
    if "mass" not in table:
        raise DescriptionError("missing", "mass", problem="an inertial needs its mass [kg]")
    moments = six_of_inertia(table.get("inertia"))
    place = Origin(three("com", table.get("com", (0.0, 0.0, 0.0))), three("rpy", table.get("rpy", (0.0, 0.0, 0.0))))
    return Inertial(number("mass", table["mass"]), moments, place)


def to_dh(description: Description, convention: str = "standard", *, tip: str | None = None) -> DHTable:
    """The DH table of a serial chain with any axes, inertias and shapes moved into its frames.

    Axes zᵢ are the joints' axes, xᵢ the common normals; `next_frame` and `first_frame` say what is
    chosen where geometry leaves a choice. What four numbers per joint cannot say stands in `base` and
    `tool`, so that the table's forward kinematics is the tree's. Fixed links are lumped; loops are refused,
    and a home configuration stays behind.
    """
    check_convention(convention)
    chain = serial_chain(description, tip)
    if not chain.bodies:
        problem = f"robot {description.name!r} has no moving joint, and therefore no DH table"
        raise DescriptionError("unsupported", "description", problem=problem)
    table = _as_written(description, chain) or _table(description, chain)
    table = replace(table, rows=tuple(_fill(table, chain)))
    return convert(table, convention)


def _as_written(description: Description, chain: Chain) -> DHTable | None:
    """The table that the description was made of, if its joints are still where that table puts them. It is one of many
    for the same geometry: d₁ = 0.4 says of parallel axes what d₄ = 0.4 says too."""
    table = description.dh
    if not isinstance(table, DHTable):
        return None
    first = serial_chain(tree_of(table))

    def placed(c: Chain) -> list[Any]:
        return [(b.joint.name, b.joint.kind, b.joint.child, b.joint.axis, b.placement) for b in c.bodies]

    if placed(chain) != placed(first):
        return None
    end = table.frames()[-1]
    return replace(
        table,
        rows=tuple(
            replace(row, name=b.joint.name, link=b.joint.child) for row, b in zip(table.rows, chain.bodies, strict=True)
        ),
        tool=table.tool if chain.tip == first.tip else to_origin(end.inverse() @ chain.home()),
        root=table.root if chain.root == first.root else chain.root,
        tip=_end_name(description, chain),
        name=description.name,
        gravity=description.gravity,
        notes=description.notes,
    )


def _table(description: Description, chain: Chain) -> DHTable:
    """The four numbers per joint, and what is left over at both ends."""
    homes = chain.homes()
    lines = [line(T, body.joint.axis) for T, body in zip(homes, chain.bodies, strict=True)]
    home = chain.home()
    F = first_frame(*lines[0])
    base, rows = F, []
    for i, body in enumerate(chain.bodies):
        if i + 1 < len(lines):
            G = next_frame(F, *lines[i + 1])
        else:
            G = home if check_dh_frames(F, home) else next_frame(F, *line(home, (0.0, 0.0, 1.0)), last=True)
        theta, d, a, alpha = dh_parameters(F.inverse() @ G)
        joint = body.joint
        if joint.kind not in KINDS:
            problem = f"joint {joint.name!r} is {joint.kind}, which no row of a DH table can describe"
            raise DescriptionError("unsupported", "kind", joint.kind, problem=problem)
        rows.append(DHRow(theta, d, a, alpha, joint.kind, name=joint.name, link=joint.child))
        F = F @ screw_z(theta, d) @ screw_x(a, alpha)
    return DHTable(
        tuple(rows),
        base=to_origin(base),
        tool=to_origin(F.inverse() @ home),
        root=chain.root,
        tip=_end_name(description, chain),
        name=description.name,
        gravity=description.gravity,
        notes=description.notes,
    )


def _end_name(description: Description, chain: Chain) -> str:
    """The tip's name, if a frame has it; a tip that is a moving link itself needs another for its frame."""
    if chain.tip_name not in {body.joint.child for body in chain.bodies}:
        return chain.tip_name
    taken = {link.name for link in description.links}
    return "tool" if "tool" not in taken else f"{chain.tip_name}_end"


def _fill(table: DHTable, chain: Chain) -> list[DHRow]:
    """The rows with limits, drives, and the inertias and shapes moved into the table's frames."""
    rows = []
    written = [b.link for b in serial_chain(tree_of(table)).bodies]  # whose parts are the rows' own, to the digit
    for k, (row, F, T, body) in enumerate(zip(table.rows, table.frames(), chain.homes(), chain.bodies, strict=True)):
        same = replace(body.link, name="") == replace(written[k], name="")
        moved = row if same else replace(row, **_moved(F.inverse() @ T, body.link))
        rows.append(replace(moved, limit=body.joint.limit, drive=body.joint.drive, place=body.joint.place))
    return rows


def _moved(X: Pose, body: Link | DHRow) -> dict[str, Any]:
    """Its inertial and shapes, seen from where X is its frame."""
    return {
        "inertial": moved_inertial(X, body.inertial),
        "visuals": moved_shapes(X, body.visuals),
        "collisions": moved_shapes(X, body.collisions),
    }


def convert(table: DHTable, convention: str) -> DHTable:
    """The same robot in the other convention, inertias and shapes moved into the new link frames.

    Both write one string of screws along z and x in turn, and only cut it elsewhere: (a, α) move by one
    row. The pair left over at one end goes into `base` or `tool`, and comes back from there if that
    is nothing but a screw along x.
    """
    check_convention(convention)
    if convention == table.convention:
        return table
    if convention == "modified":
        first, base = _x_screw(to_pose(table.base), Origin())
        pairs = [first, *((row.a, row.alpha) for row in table.rows)]
        tool = to_origin(screw_x(*pairs[-1]) @ to_pose(table.tool))
        rows = [_shifted(row, pairs[i], screw_x(*pairs[i + 1])) for i, row in enumerate(table.rows)]
        return replace(table, rows=tuple(rows), convention="modified", base=base or table.base, tool=tool)
    last, tool_left = _x_screw(to_pose(table.tool), Origin())
    pairs = [*((row.a, row.alpha) for row in table.rows), last]
    base_pose = to_pose(table.base) @ screw_x(*pairs[0])
    rows = [_shifted(row, pairs[i + 1], screw_x(*pairs[i + 1]).inverse()) for i, row in enumerate(table.rows)]
    return replace(
        table, rows=tuple(rows), convention="standard", base=to_origin(base_pose), tool=tool_left or table.tool
    )


def _x_screw(T: Pose, rest: Origin) -> tuple[tuple[float, float], Origin | None]:
    """(a, α) and nothing left, where T is Tx(a) Rx(α); else (0, 0) and None: leave T as it is."""
    theta, d, a, alpha = dh_parameters(T)
    if theta == 0.0 and d == 0.0 and to_origin(screw_x(a, alpha)) == to_origin(T):
        return (a, alpha), rest
    return (0.0, 0.0), None


def _shifted(row: DHRow, pair: tuple[float, float], X: Pose) -> DHRow:
    """The row with another (a, α), and X the pose of its old link frame in the new one."""
    return replace(row, a=pair[0], alpha=pair[1], **_moved(X, row))


# geometry, in the standard convention: A = Rz(θ) Tz(d) Tx(a) Rx(α), frame i on the axis of joint i + 1


def screw_z(theta: float, d: float) -> Pose:
    """Rz(θ) Tz(d)."""
    return Pose(rotation.about(Z, *rotation.cos_sin(theta)), (0.0, 0.0, d))


def screw_x(a: float, alpha: float) -> Pose:
    """Tx(a) Rx(α)."""
    return Pose(rotation.about(X, *rotation.cos_sin(alpha)), (a, 0.0, 0.0))


@dataclass(frozen=True)
class DHCheck:
    """Whether two frames obey the two conditions of the convention.

    dh1: x_i meets z_{i−1}; `distance` [m] is by how much it misses.
    dh2: x_i is at right angles to z_{i−1}; `angle` [rad] is by how much it is not.
    `parameters` are (θ, d, a, α) if both hold, else None. [Spong], section 3.2.
    """

    dh1: bool
    dh2: bool
    distance: float
    angle: float
    parameters: tuple[float, float, float, float] | None
    message: str

    def __bool__(self) -> bool:
        return self.dh1 and self.dh2


def as_pose(T: object, what: str = "the frame") -> Pose:
    """A pose from a `Pose` or a 4×4 homogeneous matrix; refuses anything else with a sentence."""
    if isinstance(T, Pose):
        return T
    try:
        rows = [[float(x) for x in row] for row in T]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        rows = []
    if [len(row) for row in rows] != [4] * 4:
        raise InputError("wrong-shape", what, expected="a 4×4 homogeneous matrix")
    if not all(math.isfinite(x) for row in rows for x in row):
        raise InputError("not-finite", what, expected="finite")
    R = tuple(tuple(row[:3]) for row in rows[:3])
    error = rotation.orthonormal_error(R)
    if rows[3] != [0.0, 0.0, 0.0, 1.0] or error > 1e-6:
        problem = (
            f"{what} must be a rigid transform; its rotation is off by {error:.2g}, and its last row is {rows[3]} "
            "instead of [0, 0, 0, 1]"
        )
        raise InputError("wrong-value", what, problem=problem)
    return Pose(R, (rows[0][3], rows[1][3], rows[2][3]))


def check_dh_frames(T_prev: Pose | ArrayLike, T_next: Pose | ArrayLike, *, tolerance: float = 1e-9) -> DHCheck:
    """Whether frame i (`T_next`) can follow frame i−1 (`T_prev`) in a standard DH table.

    Both poses (4×4, or `Pose`) are in one common frame; `tolerance` is in meters and radians.
    """
    T = as_pose(T_prev, "the previous frame").inverse() @ as_pose(T_next, "the next frame")
    x = tuple(row[0] for row in T.R)
    angle = math.asin(min(1.0, abs(x[2])))
    across = math.hypot(x[0], x[1])  # zero where x_i is parallel to z_{i−1}
    if across > PARALLEL:
        distance = abs(T.p[1] * x[0] - T.p[0] * x[1]) / across
    else:
        distance = math.hypot(T.p[0], T.p[1])
    dh1, dh2 = bool(distance <= tolerance), bool(angle <= tolerance)
    parameters = dh_parameters(T) if dh1 and dh2 else None
    return DHCheck(dh1, dh2, distance, angle, parameters, _verdict(dh1, dh2, distance, angle))


def _verdict(dh1: bool, dh2: bool, distance: float, angle: float) -> str:
    faults = []
    if not dh1:
        faults.append(f"DH1 fails: x_i passes z_(i-1) at {distance:.6g} m")
    if not dh2:
        faults.append(f"DH2 fails: x_i is {math.degrees(angle):.6g} degrees off the right angle to z_(i-1)")
    return "; ".join(faults) or "DH1 and DH2 hold"


def dh_parameters(T: Pose) -> tuple[float, float, float, float]:
    """(θ, d, a, α) of T = Rz(θ) Tz(d) Tx(a) Rx(α), which it must be."""
    R, p = T.R, T.p
    a = p[0] * R[0][0] + p[1] * R[1][0]
    theta, alpha = math.atan2(R[1][0], R[0][0]), math.atan2(R[2][1], R[2][2])
    return (snap_angle(theta), snap_length(p[2]), snap_length(a), snap_angle(alpha))


def _frame(x: Vector, z: Vector, p: Vector) -> Pose:
    """The frame with axis z, and x made exactly perpendicular to it."""
    x = sub(x, scale(dot(x, z), z))
    x = scale(1.0 / math.sqrt(dot(x, x)), x)
    y = cross(z, x)
    return Pose(tuple((x[i], y[i], z[i]) for i in range(3)), p)


def first_frame(p: Vector, z: Vector) -> Pose:
    """Frame 0 on the first joint's axis (through p, along z), as near to the root's frame as can be:
    its origin is the axis' point nearest the root's origin, its x the root's x laid across the axis."""
    foot = sub(p, scale(dot(p, z), z))
    across = X if abs(z[0]) < 1.0 - 1e-9 else (0.0, 1.0, 0.0)
    return _frame(across, z, foot)


def next_frame(F: Pose, p: Vector, z: Vector, *, last: bool = False) -> Pose:
    """Frame i after frame i−1 = F: z_i along the line through p, x_i along the common normal.

    Choices where geometry leaves them open: x_i points so that θ_i at q = 0 lies in (−90°, 90°]
    (so a_i may be negative); parallel axes take d_i = 0, or for the `last` frame the tip's own height;
    one and the same axis takes θ_i = 0 and a_i = 0. Axes at a small angle δ put the common normal some
    L/δ away, and the table's own rounding is multiplied by that length: the convention's, not ours.
    """
    (x0, _, z0), o = transpose(F.R), F.p
    n = cross(z0, z)
    s = math.sqrt(dot(n, n))
    if s > PARALLEL:
        m = cross(n, z0)
        foot = add(p, scale(dot(sub(o, p), m) / (s * s), z))
        return _frame(_forward(x0, z0, scale(1.0 / s, n)), z, foot)
    r = sub(p, o)
    height = dot(r, z0)
    r = sub(r, scale(height, z0))
    apart = math.sqrt(dot(r, r))
    x = _forward(x0, z0, scale(1.0 / apart, r)) if apart > COINCIDENT else x0
    origin = add(add(o, r), scale(height, z0)) if last else add(o, r)
    return _frame(x, z0 if dot(z, z0) > 0 else scale(-1.0, z0), origin)


def _forward(x0: Vector, z0: Vector, x: Vector) -> Vector:
    """x or −x, whichever is at an angle in (−90°, 90°] from x0 about z0."""
    c, s = dot(x, x0), dot(x, cross(z0, x0))
    return scale(-1.0, x) if c < -PARALLEL or (c <= PARALLEL and s < 0) else x


def line(T: Pose, axis: Vector) -> tuple[Vector, Vector]:
    """Point and direction of a joint's axis, T the joint's frame."""
    return T.p, matvec(T.R, axis)
