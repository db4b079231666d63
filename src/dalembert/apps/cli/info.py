"""dalembert info: a robot's card."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output

if TYPE_CHECKING:
    from dalembert.describe.description import Loop
    from dalembert.robot import Robot


@click.command(name="info")
@output.robot_argument
@output.tip_option
@output.json_option
def command(robot: str, tip: str | None, as_json: bool) -> None:
    """Show a robot's joints, bodies, frames and what its description objects to.

    \b
    Example: dalembert info panda
    """
    arm = output.load(robot, tip)
    card = _card(arm)
    if as_json:
        output.print_json(card)
    else:
        _show(arm, card)


LIMITS = ("lower", "upper", "velocity", "effort")


def _card(arm: Robot) -> dict[str, Any]:
    joints = [
        {"name": c.name, "kind": c.joint.kind} | {key: getattr(c, key) for key in LIMITS} for c in arm.model.coordinates
    ]
    names = arm.bodies
    bodies = [
        {
            "name": b.name,
            "joint": b.joint_name,
            "parent": names[b.parent] if b.parent >= 0 else None,
            "mass": b.inertia.m,
            "com": list(b.inertia.com()) if b.inertia.m else None,
            "rotor_inertia": b.rotor_inertia,
        }
        for b in arm.model.bodies
    ]
    return {
        "name": arm.name,
        "joints": joints,
        "bodies": bodies,
        "frames": list(arm.frames),
        "loops": [_loop(loop) for loop in arm.description.loops],
        "home": arm.home.tolist(),
        "tip": arm.tip,
        "tips": list(arm.model.tips),
        "gravity": list(arm.model.gravity),
        "mass": arm.mass,
        "notes": arm.description.notes.strip(),
        "warnings": list(arm.warnings),
    }


def _loop(loop: Loop) -> dict[str, Any]:
    return {"name": loop.name, "kind": loop.kind, "first": loop.first, "second": loop.second, "length": loop.length}


def _show(arm: Robot, card: dict[str, Any]) -> None:
    tip = card["tip"] or f"not one: {', '.join(card['tips'])}; choose with --tip"
    click.echo(f"{arm.name}: {arm.n} joints, {len(arm.bodies)} moving bodies, {output.number(arm.mass)} kg")
    gravity = ", ".join(output.number(g) for g in card["gravity"])
    click.echo(f"tip: {tip}\ngravity: ({gravity}) m/s² in {arm.frames[0]!r}")
    if card["notes"]:
        click.echo(f"\n{indent(card['notes'], '  ')}")  # so that none of its lines passes for one of ours
    click.echo()
    rows = [(i + 1, *j.values()) for i, j in enumerate(card["joints"])]
    columns = ("", "joint", "kind", "lower", "upper", "velocity", "effort")
    output.print_table("Joints (rad, m; rad/s, m/s; N m, N)", columns, rows)
    output.print_table(
        "Moving bodies (fixed links lumped; center of mass in the joint's frame)",
        ("body", "moved by", "on", "mass [kg]", "center of mass [m]", "rotor N²J [kg m²]"),
        [_body_row(b, card["frames"][0]) for b in card["bodies"]],
    )
    if card["loops"]:
        rows = [(k["name"], k["kind"], k["first"], k["second"]) for k in card["loops"]]
        output.print_table("Loops", ("loop", "kind", "first link", "second link"), rows)
    for warning in card["warnings"]:
        click.echo(f"warning: {warning}")


def _body_row(body: dict[str, Any], base: str) -> tuple[Any, ...]:
    com = "–" if body["com"] is None else ", ".join(output.number(x, 4) for x in body["com"])
    return (body["name"], body["joint"], body["parent"] or base, body["mass"], com, body["rotor_inertia"])
