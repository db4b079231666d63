"""Frames: the kinematic scheme, the DH table in both conventions, where everything is at home."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from dalembert.apps.page.scene import frame_pose
from dalembert.apps.report.context import Context, Made
from dalembert.apps.report.scheme import skeleton
from dalembert.describe.dh import DHRow, DHTable
from dalembert.draw import html
from dalembert.errors import DalembertError
from dalembert.robot import Robot

SAME = 1e-9  # rad, m: what rounding may do
# In pieces between which a line may end.
STANDARD = (r"A_i = R_z(\theta_i)\,", r"T_z(d_i)\,", r"T_x(a_i)\,", r"R_x(\alpha_i)")
MODIFIED = (r"A_i = R_x(\alpha_{i-1})\,", r"T_x(a_{i-1})\,", r"R_z(\theta_i)\,", "T_z(d_i)")


def frames(context: Context) -> Made:
    robot = context.robot
    parts = [
        html.figure(
            skeleton(context.scene, context.start),
            "Joints as drums (or blocks that slide, or balls) along their axes, links as bars, base and tip with their "
            "axes (x red, y green, z blue). Joints that are seen in one place share their words.",
        )
    ]
    parts += _dh(robot)
    parts += _poses(robot)
    return Made(html.joined(parts))


def _dh(robot: Robot) -> list[Markup]:
    """The table in both conventions, each with its own check; or why there is none."""
    out = [html.heading("Denavit–Hartenberg table")]
    if not robot.nv:
        return []
    for convention, order in (("standard", STANDARD), ("modified", MODIFIED)):
        try:
            table = robot.to_dh(convention)
        except DalembertError as error:
            return [*out, html.paragraph(f"There is none: {error}.")]
        rows = [_row(k, row) for k, row in enumerate(table.rows, 1)]
        index = "i" if convention == "standard" else "i−1"
        symbols = (r"\theta_i", "d_i", f"a_{{{index}}}", rf"\alpha_{{{index}}}")
        shown = html.table(("i", "joint", *map(html.math, symbols)), rows)
        off = _difference(robot, table)
        said = html.paragraph(
            f"{convention.capitalize()}: ",
            html.joined(map(html.math, order), "<wbr>"),
            ". ",
            _ends(table),
            " At q = 0 the table puts the tip where the description does",
            "." if off == 0 else f", to {html.number(off, 2, 0.0)} m.",
        )
        if convention == "standard":
            out += [said, shown]
        else:
            out.append(html.details("The same in the modified convention (Craig)", said, shown))
    return out


def _row(k: int, row: DHRow) -> tuple[object, ...]:
    theta, d = row.before()
    if not row.turns:
        return (k, row.name or "", _angle(theta), _moving(k, d, False), html.number(row.a), _angle(row.alpha))
    return (k, row.name or "", _moving(k, theta, True), html.number(d), html.number(row.a), _angle(row.alpha))


def _moving(k: int, offset: float, turns: bool) -> Markup:
    """q_k, plus a constant."""
    q = html.math(f"q_{{{k}}}")
    if abs(offset) < SAME:
        return q
    size = _angle(abs(offset)) if turns else html.number(abs(offset))
    return html.joined([q, f" {'+' if offset > 0 else '-'} ", size])


def _angle(x: float) -> str:
    """Multiples of π/12 as such, else degrees."""
    twelfths = x / (math.pi / 12)
    if abs(twelfths - round(twelfths)) > 1e-9:
        return f"{html.number(math.degrees(x), 6)}°"
    k = round(twelfths)
    common = math.gcd(k, 12)
    top, bottom = k // common, 12 // common
    if top == 0:
        return "0"
    front = {1: "", -1: "-"}.get(top, f"{abs(top)}" if top > 0 else f"-{abs(top)}")
    return f"{front}π" + (f"/{bottom}" if bottom > 1 else "")


def _ends(table: DHTable) -> str:
    words = []
    for name, origin, where in (("base", table.base, "before the first row"), ("tool", table.tool, "after the last")):
        if any(abs(x) > 1e-12 for x in (*origin.xyz, *origin.rpy)):
            words.append(f"{name} {html.vector(origin.xyz)} m, rpy {html.vector(origin.rpy)} rad {where}")
    return ("And " + "; ".join(words) + ".") if words else ""


def _difference(robot: Robot, table: DHTable) -> float:
    T = np.array([[float(x) for x in row] for row in table.home().matrix()])
    return float(np.abs(T - frame_pose(robot, np.zeros(robot.n), robot.tip)).max())


def _poses(robot: Robot) -> list[Markup]:
    out = [html.heading("Poses at home")]
    home = robot.home
    if robot.tip is not None:
        T = frame_pose(robot, home, robot.tip)
        body = r" \\ ".join(" & ".join(_tex(x) for x in row) for row in T)
        out += [
            html.paragraph("The tip ", html.code(robot.tip), " in the base frame ", html.code(robot.frames[0]), ":"),
            html.math(rf"T_{{0,\mathrm{{tip}}}} = \begin{{bmatrix}} {body} \end{{bmatrix}}", display=True),
        ]
    rows = []
    for frame in robot.model.frames:
        T = frame_pose(robot, home, frame.name)
        carrier = robot.bodies[frame.body] if frame.body >= 0 else "the base"
        rows.append((frame.name, carrier, html.vector(T[:3, 3]), _rpy(T[:3, :3])))
    table = html.table(("frame", "moves with", "position [m]", "roll, pitch, yaw"), rows)
    return [*out, html.details(f"All {len(rows)} frames", table)]


def _tex(x: float) -> str:
    return "0" if abs(x) < 5e-6 else f"{x:.5g}" if abs(x) >= 1e-4 else f"{x:.5f}"


def _rpy(R: np.ndarray) -> str:
    from dalembert.spatial.rotation import to_rpy

    return ", ".join(f"{html.number(math.degrees(a), 4, 1e-9)}°" for a in to_rpy(tuple(map(tuple, R.tolist()))))
