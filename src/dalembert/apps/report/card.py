"""The robot's card: what it is, what it looks like, its joints and bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from dalembert.apps.page.page import hint_of, live_parts
from dalembert.apps.report.context import Context, Made
from dalembert.draw import html
from dalembert.robot import Robot
from dalembert.units import position_units

MANY = 24  # rows of a table that stands open


def card(context: Context) -> Made:
    robot, scene = context.robot, context.scene
    parts = [_scene(context)]
    notes = robot.description.notes.strip()
    if notes:
        parts += [html.paragraph(" ".join(p.split()), class_="notes") for p in notes.split("\n\n")]
    if all(part.stick for part in scene.parts):
        parts.append(
            html.paragraph("The description has no shapes: links are drawn as bars, joints as drums.", class_="aside")
        )
    if scene.notes:
        parts.append(html.details(f"{len(scene.notes)} shapes are not drawn", html.listed(scene.notes)))
    tip = robot.tip or "none"
    if context.ends:
        others = [name for name in context.ends if name != robot.tip]
        tip += f" (none is named; the end of the longest chain was taken, not {_few(others)}: give --tip)"
    facts = [
        ("tip", tip),
        ("base", robot.frames[0]),
        ("gravity", f"{html.vector(robot.gravity)} m/s² in the base frame"),
        ("home", _positions(robot, robot.home)),
        ("moving mass", f"{html.number(robot.mass)} kg"),
        ("total mass", f"{html.number(robot.total_mass)} kg"),
    ]
    if robot.model.curved is not None:
        numbers = f"{robot.nq} positions, {robot.nv} velocities, of which drives act along {sum(robot.model.driven)}"
        facts.append(("coordinates", numbers))
        facts.append(("center of mass at home", f"{html.vector(robot.center_of_mass(robot.home))} m"))
    if robot.loops:
        facts.append(("closed by", ", ".join(robot.loops)))
    parts.append(html.table(("", ""), facts))
    parts += [html.heading("Joints"), joint_table(robot), html.heading("Moving bodies"), _bodies(robot)]
    return Made(html.joined(parts))


def _scene(context: Context) -> Markup:
    shown = "as it is at home" if np.array_equal(context.start, context.robot.home) else "bent, off its stretched home"
    live = html.tag("div", *live_parts(context.scene, hint_of(context.robot)), id="live", class_="embed")
    return html.joined([live, html.paragraph(f"{context.robot.name}, {shown}.", class_="aside")])


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" or {len(names) - 5} others" if len(names) > 5 else "")


def _positions(robot: Robot, q: np.ndarray) -> str:
    shown = []
    for unit, x in zip(position_units(robot.model), q.tolist(), strict=True):
        shown.append(f"{html.number(math.degrees(x), 4)}°" if unit == "rad" else f"{html.number(x)} {unit}".rstrip())
    return ", ".join(shown) or "–"


def joint_table(robot: Robot) -> Markup:
    """The joints with their ranges, speeds and efforts."""
    rows = []
    for k, c in enumerate(robot.model.coordinates, 1):
        rows.append(
            (
                k,
                c.name,
                c.joint.kind if c.joint.nv > 1 else "turns" if c.joint.turns else "slides",
                _range(c.lower, c.upper, c.joint.turns),
                "–" if math.isinf(c.velocity) else f"{html.number(c.velocity)} {c.joint.unit}/s",
                "–" if math.isinf(c.effort) else f"{html.number(c.effort)} {c.joint.effort_unit}",
            )
        )
    return _folded(("", "joint", "", "range", "speed", "effort"), rows, "joints")


def _range(low: float, high: float, turns: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return "no limits"
    if turns:
        return f"{html.number(math.degrees(low))}° … {html.number(math.degrees(high))}°"
    return f"{html.number(low)} … {html.number(high)} m"


def _bodies(robot: Robot) -> Markup:
    rows: list[tuple[object, ...]] = []
    for body in robot.model.bodies:
        m = float(body.inertia.m)
        com = html.vector([float(x) for x in body.inertia.com()]) if m else "–"
        if m:
            I = np.array([[float(x) for x in row] for row in body.inertia.about_com()])
            moments = ", ".join(html.number(x, 3) for x in np.linalg.eigvalsh(I))
        else:
            moments = "–"
        rotor = float(body.rotor_inertia)
        rows.append((body.name, body.joint_name, m, com, moments, rotor if rotor else "–"))
    head: tuple[str, ...] = ("body", "moved by", "mass [kg]", "center of mass [m]", "principal moments [kg m²]")
    if any(float(b.rotor_inertia) for b in robot.model.bodies):
        head = (*head, "rotor N²J [kg m²]")
    rows = [r[: len(head)] for r in rows]
    said = html.paragraph(
        "Fixed links are lumped into the body that carries them; the center of mass is in the joint's frame, and the "
        "moments are about it.",
        class_="aside",
    )
    return html.joined([_folded(head, rows, "bodies"), said])


def _folded(head: tuple[str, ...], rows: Sequence[tuple[object, ...]], what: str) -> Markup:
    """A table that is folded up when it is long."""
    if len(rows) <= MANY:
        return html.table(head, rows)
    return html.details(f"{len(rows)} {what}", html.table(head, rows))
