"""Kinematics as taught: the DH table, each Aᵢ, the products T₀ᵢ, the Jacobian column by column, det J."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import degrees
from typing import TYPE_CHECKING

from dalembert.algorithms import joints
from dalembert.describe.description import Origin
from dalembert.describe.dh import DHRow, DHTable, to_dh
from dalembert.errors import DalembertError
from dalembert.spatial import Pose
from dalembert.spatial.pose import IDENTITY_POSE
from dalembert.spatial.rotation import about
from dalembert.spatial.vector import cross, dot, matvec, sub, transpose
from dalembert.symbolic import exact
from dalembert.symbolic.blackboard import Blackboard, number
from dalembert.symbolic.document import (
    Fold,
    Formula,
    Formulas,
    Heading,
    Line,
    MatrixFormula,
    Pair,
    Part,
    Table,
    Words,
    braced,
    math,
)
from dalembert.symbolic.exact import quarters
from dalembert.symbolic.expression import Cosine, Expression, Sine, coefficient, names_in
from dalembert.symbolic.factor import factored, factors_of
from dalembert.symbolic.polynomial import quarter_turns
from dalembert.symbolic.text import SUBSCRIPTS

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

ORDER = {  # of the four steps of a row
    "standard": "Rot_z(θᵢ) Trans_z(dᵢ) Trans_x(aᵢ) Rot_x(αᵢ)",
    "modified": "Rot_x(αᵢ₋₁) Trans_x(aᵢ₋₁) Rot_z(θᵢ) Trans_z(dᵢ)",
}
GENERAL = (  # the standard one multiplied out
    ("cos θᵢ", "−sin θᵢ cos αᵢ", "sin θᵢ sin αᵢ", "aᵢ cos θᵢ"),
    ("sin θᵢ", "cos θᵢ cos αᵢ", "−cos θᵢ sin αᵢ", "aᵢ sin θᵢ"),
    ("0", "sin αᵢ", "cos αᵢ", "dᵢ"),
    ("0", "0", "0", "1"),
)
OPEN = 4  # joints up to which nothing folds
SINGULAR = "The arm is singular"


@dataclass(frozen=True)
class Frames:
    """Frames of the links: what stands before the first, A of each, and the table that they come from, if one does. In
    a standard table joint i moves along z of frame i − 1, else along its axis in frame i."""

    base: Pose
    A: tuple[Pose, ...]
    table: DHTable | None = None
    tool: Pose = IDENTITY_POSE  # the tip in the last frame
    why: str = ""  # there is no table

    @property
    def standard(self) -> bool:
        return self.table is not None and self.table.convention == "standard"


def kinematics(board: Blackboard, frames: Frames) -> Iterator[Part]:
    """All of it, for a robot that has a tip, on the blackboard of its frames."""
    yield from _table(board, frames)
    T = [frames.base]
    for body, A in zip(board.e.model.bodies, frames.A, strict=True):
        T.append(T[body.parent + 1] @ A)
    yield from _products(board, frames, T)
    yield from _columns(board, frames, T)
    yield from determinant(board)


# ---------------------------------------------------------------------- frames


def choose_frames(board: Blackboard, convention: str) -> tuple[Blackboard, Frames]:
    """DH frames, of the robot as it was described or described anew by its table; else the frames of its links."""
    e = board.e
    try:
        table = to_dh(e.description, convention, tip=e.model.tip)
        turns = [quarters(row.before()[0]) for row in table.rows]
        if None in turns:
            raise DalembertError("unsupported", "theta", problem="an angle θ at q = 0 is not a multiple of π/2")
        if not isinstance(e.description.dh, DHTable) or e.description.dh.convention != convention:
            board = Blackboard(e.of(table.description()))
    except DalembertError as error:
        return board, Frames(
            IDENTITY_POSE, tuple(joints.poses(e.model, e.q)), tool=e.model.frame(None).pose, why=str(error)
        )
    e = board.e
    tip = e.model.frame(None).pose
    if convention == "modified":
        return board, Frames(IDENTITY_POSE, tuple(joints.poses(e.model, e.q)), table, tip)
    angles = [quarter_turns(e.ring, count or 0) for count in turns]
    before = [Pose(about((0.0, 0.0, 1.0), a.cosine, a.sine), (0.0, 0.0, 0.0)) for a in angles]
    starts = [body.placement @ B.inverse() for body, B in zip(e.model.bodies, before, strict=True)]
    end = tip if table.tool == Origin() else _end(e, table.rows[-1])
    moved = [b.joint.pose(B, (x,)) for b, B, x in zip(e.model.bodies, before, e.q, strict=True)]
    A = tuple(M @ rest for M, rest in zip(moved, [*starts[1:], end], strict=True))
    return board, Frames(starts[0], A, table, end.inverse() @ tip)


def _end(e: Equations, row: DHRow) -> Pose:
    """Tz(d) Tx(a) Rx(α) of the last row, in numbers, where a tool follows."""
    count = quarters(row.alpha)
    if count is None:
        problem = "the last angle α is not a multiple of π/2, and a tool follows"
        raise DalembertError("unsupported", "alpha", problem=problem)
    turned = quarter_turns(e.ring, count)
    lengths = (exact.number(e.ring, row.a), 0.0, exact.number(e.ring, row.before()[1] if row.turns else row.d))
    return Pose(about((1.0, 0.0, 0.0), turned.cosine, turned.sine), lengths)


def _table(board: Blackboard, frames: Frames) -> Iterator[Part]:
    """The table, and each A."""
    table = frames.table
    if table is None:
        yield Heading("Frames")
        yield board.words(
            f"There is no DH table: {braced(frames.why)}. Each link's frame is where its joint is, and {{0}} is its "
            "pose in the frame of the link that carries it:",
            "Aᵢ",
        )
    else:
        yield Heading(f"Denavit–Hartenberg table, {table.convention} convention")
        index = "ᵢ" if frames.standard else "ᵢ₋₁"
        head: tuple[str | Pair, ...] = tuple(math(x) for x in ("θᵢ", "dᵢ", f"a{index}", f"α{index}"))
        yield Table(("i", "joint", *head), tuple(_row(board, frames, k, row) for k, row in enumerate(table.rows)))
        yield Words("A row is the way from one frame to the next, a screw along z and a screw along x:")
        yield Formulas((Line("Aᵢ", ORDER[table.convention]),))
        if frames.standard:
            yield MatrixFormula("Aᵢ", GENERAL)
        yield Words("With the rows of the table:")
    if frames.base.matrix() != IDENTITY_POSE.matrix():
        yield Words("Frame 0 stands in the base frame at")
        yield from board.matrix("T00", frames.base.matrix())
    for k, A in enumerate(frames.A, 1):
        yield from board.matrix(f"A{k}", A.matrix())


def _row(board: Blackboard, frames: Frames, k: int, row: DHRow) -> tuple[Formula, ...]:
    """A row, its lengths as the equations name them."""
    a, d = _lengths(board, frames, k, row)
    q, theta = board.name(f"q{k + 1}"), angle(row.before()[0])
    theta, d = (_added(q, theta), d) if row.turns else (theta, _added(q, d))
    return (str(k + 1), row.kind, theta, d, a, angle(row.alpha))


def _lengths(board: Blackboard, frames: Frames, k: int, row: DHRow) -> tuple[Pair, Pair]:
    """(a, d) of a row; as numbers where they stand in one pose with the base or the tool."""
    model, table = board.e.model, frames.table
    assert table is not None
    last = k + 1 == len(model.bodies)
    if frames.standard:
        T = model.frame(None).pose if last else model.bodies[k + 1].placement
        alone, along = not last or table.tool == Origin(), T.p[2]
    else:
        T = model.bodies[k].placement
        alone, along = k > 0 or table.base == Origin(), dot(T.p, transpose(T.R)[2])
    return (board.both(T.p[0]), board.both(along)) if alone else (number(row.a), number(row.before()[1]))


def _added(x: Pair, y: Pair) -> Pair:
    if y[0] == "0":
        return x
    plain, tex = (f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}" for a, b in zip(x, y, strict=True))
    return plain, tex


def angle(x: float) -> Pair:
    """π/2, −π, 0, or degrees."""
    count = quarters(x)
    if count is None:
        return f"{degrees(x):.6g}°", rf"{degrees(x):.6g}^\circ"
    share = Fraction(abs(count), 2)
    start = ("-" if count < 0 else "") + ("" if share.numerator == 1 else str(share.numerator))
    return math(f"{start}π{'/2' if share.denominator == 2 else ''}" if count else "0")


# ---------------------------------------------------------------------- products and columns


def _products(board: Blackboard, frames: Frames, T: list[Pose]) -> Iterator[Part]:
    model = board.e.model
    path = model.path(model.frame(None).body)
    yield Heading("Forward kinematics, frame by frame")
    moved = frames.base.matrix() != IDENTITY_POSE.matrix()
    if not moved:
        yield board.words("{0}; every further step is multiplied from the right.", "T₀₁ = A₁")
    products: list[Part] = []
    for k in path[not moved :]:
        before = board.name(f"T0{model.bodies[k].parent + 1}")[0]
        product = f"{board.name(f'T0{k + 1}')[0]} = {before} {board.name(f'A{k + 1}')[0]}"
        products += board.matrix(product, T[k + 1].matrix())
    tool = frames.tool.matrix() != IDENTITY_POSE.matrix()
    if len(path) > OPEN:
        last = len(products) if tool else len(products) - 1
        yield Fold(f"{last} products before the last", tuple(products[:last]))
        products = products[last:]
    yield from products
    if tool:
        yield Words(f"On the last link, {braced(model.tip)} is at")
        yield from board.matrix("E", frames.tool.matrix())
        yield from board.matrix(f"T = {board.name(f'T0{path[-1] + 1}')[0]} E", board.e.fk())
    yield Words("The last column is the position of the tip:")
    yield Formulas((board.line("p", [row[3] for row in board.e.fk()[:3]]),))


def _columns(board: Blackboard, frames: Frames, T: list[Pose]) -> Iterator[Part]:
    e = board.e
    yield Heading("Jacobian, column by column")
    yield board.words(
        "{0}, linear rows first. With {1} the axis of the joint and {2} a point on it, a joint that turns gives the "
        "column {3}, one that slides {4}.",
        "(v; ω) = J @q̇",
        "z",
        "o",
        "(z × (p − o); z)",
        "(z; 0)",
    )
    p = tuple(row[3] for row in e.fk()[:3])
    path = e.model.path(e.model.frame(None).body)
    columns: list[Part] = []
    for k, body in enumerate(e.model.bodies):
        columns.append(Heading(f"Joint {k + 1}, {body.joint.kind}", 3))
        if k not in path:
            columns.append(Words("It does not carry the tip: its column is zero."))
            continue
        i = k if frames.standard else k + 1
        axis, origin = board.name(f"z{i}")[0], board.name(f"o{i}")[0]
        z, o = matvec(T[i].R, body.joint.axis), T[i].p
        lines = [board.line(axis, z, f"the axis of joint {k + 1}, in the base frame")]
        if body.joint.turns:
            arm = sub(p, o)
            lines += [
                board.line(origin, o, f"the origin of frame {i}"),
                board.line(f"p − {origin}", arm, "from the axis to the tip"),
                board.line(f"{axis} × (p − {origin})", cross(z, arm), "how the tip moves when this joint alone turns"),
            ]
        columns.append(Formulas(tuple(lines)))
    yield from [Fold(f"The {e.n} columns, with z, o and p − o of each", tuple(columns))] if e.n > OPEN else columns
    yield Heading("Together", 3)
    yield from board.matrix("J", e.jacobian())


# ---------------------------------------------------------------------- singularities


def determinant(board: Blackboard) -> Iterator[Part]:
    """det J as a product, and where each factor vanishes."""
    e = board.e
    task = _square_task(e) if e.model.tip is not None else ""
    det = e.det_jacobian() if task else None
    if det is None or (not det and task != SINGULAR):  # a tip on the last axis: its position says nothing of the arm
        return
    yield Heading("Singularities")
    if not det:
        yield Words(f"{SINGULAR} in every posture: the determinant of its Jacobian is zero.")
        return
    yield Words(f"{task} where this determinant of the Jacobian vanishes:")
    yield Formulas((Line(math("det J"), e.letters.relabel(factored(det, e.groups)), "of the rows that move"),))
    for factor, _ in factors_of(det)[1]:
        _, x = coefficient(factored(factor, e.groups))
        if names_in(x) & {f"q{k + 1}" for k in range(e.n)}:
            yield board.words(f"{{0}} = 0{': {1}' if _where(x) else ''}.", e.letters.relabel(x), _where(x))


def _where(x: Expression) -> str:
    """The angles at which a factor vanishes that is one sine or cosine."""
    match x:
        case Sine(((joint, 1),)):
            return f"@q{str(joint).translate(SUBSCRIPTS)} = 0 or π"
        case Cosine(((joint, 1),)):
            return f"@q{str(joint).translate(SUBSCRIPTS)} = ±π/2"
    return ""


def _square_task(e: Equations) -> str:
    """What is singular where det J vanishes; nothing is, if the rows of J that do not vanish are not as many as the
    joints, for then a minor of J may vanish though J keeps its rank."""
    moving = [k for k, row in enumerate(e.jacobian()) if any(row)]
    if len(moving) == e.n:
        return SINGULAR
    return "The tip's position loses a direction" if sum(k < 3 for k in moving) == e.n else ""
