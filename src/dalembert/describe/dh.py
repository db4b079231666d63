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
from typing import Any, Literal, cast

from dalembert.describe.chain import Chain, moved_inertial, moved_shapes, serial_chain, to_origin, to_pose
from dalembert.describe.check import check
from dalembert.describe.description import (
    Description,
    Drive,
    Inertial,
    Joint,
    Limit,
    Link,
    Origin,
    Place,
    Shape,
    Vector,
)
from dalembert.describe.dh_geometry import (
    DHCheck,
    check_dh_frames,
    dh_parameters,
    first_frame,
    line,
    next_frame,
    screw_x,
    screw_z,
)
from dalembert.describe.fields import a, finite, maybe, settle, some, text
from dalembert.errors import DalembertError, DescriptionError, choose, unknown
from dalembert.joints import JOINTS
from dalembert.spatial.angles import warn_of_degrees
from dalembert.spatial.pose import IDENTITY_POSE, Pose
from dalembert.spatial.rotation import orthonormal_error

__all__ = ["DHCheck", "DHRow", "DHTable", "check_dh_frames", "convert", "from_dh", "to_dh"]

Convention = Literal["standard", "modified"]
CONVENTIONS = ("standard", "modified")
KINDS = ("revolute", "continuous", "prismatic")
NUMBERS = ("theta", "d", "a", "alpha", "offset")
HERE = Origin()
ROOT = Link("base")


@dataclass(frozen=True)
class DHRow:
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
        settle(self, **dict.fromkeys(NUMBERS, finite), name=maybe(text), link=maybe(text))
        settle(self, limit=maybe(a(Limit)), drive=a(Drive), inertial=maybe(a(Inertial)))
        settle(self, visuals=some(Shape), collisions=some(Shape))

    @property
    def turns(self) -> bool:
        """Whether q is added to θ, not to d."""
        return JOINTS[self.kind].turns

    def before(self) -> tuple[float, float]:
        """(θ, d) at q = 0."""
        turn = self.offset if self.turns else 0.0
        return self.theta + turn, self.d + (self.offset - turn)


@dataclass(frozen=True)
class DHTable:
    """Rows, convention, and the poses before the first row and after the last."""

    rows: tuple[DHRow, ...]
    convention: Convention = "standard"
    base: Origin = Origin()
    tool: Origin = Origin()
    root: Link = Link("base")
    tip: str = "tool"
    name: str = "robot"
    gravity: Vector = (0.0, 0.0, -9.81)
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

    def __str__(self) -> str:
        """The four numbers per joint, in a table for reading; `rows` has all of it."""
        lines: list[tuple[str, ...]] = [("joint", "kind", "θ [°]", "d [m]", "a [m]", "α [°]")]
        for i, row in enumerate(self.rows):
            theta, d = row.before()
            shown = [f"{x + 0.0:.6g}" for x in (math.degrees(theta), d, row.a, math.degrees(row.alpha))]
            moved = 0 if row.turns else 1
            q, rest = f"q{i + 1}", (theta, d)[moved]
            shown[moved] = q if rest == 0 else f"{q} {'-' if rest < 0 else '+'} {shown[moved].lstrip('-')}"
            lines.append((row.name or f"joint{i + 1}", row.kind, *shown))
        width = [max(len(line[k]) for line in lines) for k in range(6)]
        pad = [str.ljust, str.ljust, *[str.rjust] * 4]
        text = ["  ".join(f(x, w) for f, x, w in zip(pad, line, width, strict=True)).rstrip() for line in lines]
        ends = [f"{name}: {origin}" for name, origin in (("base", self.base), ("tool", self.tool)) if origin != HERE]
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
    gravity: Vector = (0.0, 0.0, -9.81),
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
        raise DescriptionError(f"a DH table is a list of rows, one per joint; got {type(rows).__name__}")
    base, tool = _end("base", base), _end("tool", tool)
    table = tuple(_checked_row(row, i) for i, row in enumerate(rows))
    warn_of_rows(table)
    if not table:
        raise DescriptionError(f"the DH table of robot {name!r} has no rows; one row per joint is needed")
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
    link = Link(
        row.link or f"link{i + 1}",
        moved_inertial(link_frame, row.inertial),
        moved_shapes(link_frame, row.visuals),
        moved_shapes(link_frame, row.collisions),
        place=row.place,
    )
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


def _end(name: str, value: Any) -> Origin:
    """An Origin as it is, or one made of a homogeneous 4×4 matrix."""
    if isinstance(value, Origin):
        return value
    try:
        rows = [[float(x) for x in row] for row in value]
    except (TypeError, ValueError):
        rows = []
    if [len(row) for row in rows] != [4] * 4 or rows[3] != [0.0, 0.0, 0.0, 1.0]:
        raise DescriptionError(f"{name} is {value!r}: give a 4×4 pose, or an Origin such as Origin(xyz=(0, 0, 0.1))")
    R = tuple(tuple(row[:3]) for row in rows[:3])
    if orthonormal_error(R) > 1e-6:
        raise DescriptionError(f"{name} is not a pose: the columns of its rotation must be orthonormal, right-handed")
    return to_origin(Pose(R, tuple(row[3] for row in rows[:3])))


def _checked_row(row: DHRow | Mapping[str, Any], i: int) -> DHRow:
    """A row as it was meant, or a sentence that names the row and the number."""
    if isinstance(row, Mapping):
        known = [f.name for f in fields(DHRow)]
        for key in row:
            if key not in known:
                raise DescriptionError(f"DH row {i}: {unknown('key', key, known)}")
        try:
            return DHRow(**row)
        except DalembertError as error:
            raise DescriptionError(f"DH row {i}: {error}") from None
    if not isinstance(row, DHRow):
        raise DescriptionError(
            f"DH row {i} is {row!r}: give a DHRow or a dictionary such as "
            "{'theta': 0, 'd': 0.1, 'a': 0.3, 'alpha': 0}; a bare list does not say which number is which"
        )
    return row


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
        raise DescriptionError(f"robot {description.name!r} has no moving joint, so it has no DH table")
    table = _as_written(description, chain) or _table(description, chain)
    table = replace(table, rows=tuple(_fill(table, chain)))
    return convert(table, convention)


def _as_written(description: Description, chain: Chain) -> DHTable | None:
    """The table that the description was made of, if its joints are still where that table puts them. It is one of many
    for the same geometry: d₁ = 0.4 says of parallel axes what d₄ = 0.4 says too."""
    table: DHTable | None = description.dh
    if table is None:
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
            raise DescriptionError(f"joint {joint.name!r} is {joint.kind}, which no row of a DH table is")
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
        X = F.inverse() @ T
        link = body.link
        if _parts(link) == _parts(written[k]):
            rows.append(replace(row, limit=body.joint.limit, drive=body.joint.drive, place=body.joint.place))
            continue
        rows.append(
            replace(
                row,
                limit=body.joint.limit,
                drive=body.joint.drive,
                inertial=moved_inertial(X, link.inertial),
                visuals=moved_shapes(X, link.visuals),
                collisions=moved_shapes(X, link.collisions),
                place=body.joint.place,
            )
        )
    return rows


def _parts(link: Link) -> tuple[Any, ...]:
    return link.inertial, link.visuals, link.collisions


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
    return replace(
        row,
        a=pair[0],
        alpha=pair[1],
        inertial=moved_inertial(X, row.inertial),
        visuals=moved_shapes(X, row.visuals),
        collisions=moved_shapes(X, row.collisions),
    )
