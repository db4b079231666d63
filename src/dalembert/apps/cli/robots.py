"""dalembert robots, info, convert: what comes with the package, a robot's card, a robot in another format."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import OUTPUT, ROBOT, command, pick
from dalembert.apps.cli.table import cell_width, fold
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.robot import Robot

LIMITS = ("lower", "upper", "velocity", "effort")
LOOP = ("name", "kind", "first", "second", "length")
FORMATS = ("urdf", "toml", "dh", "modified-dh", "screws")
SUFFIXES = {".urdf": "urdf", ".toml": "toml"}
MAX_KINDS = 8  # letters in the table of robots
CONVENTIONS = {"dh": "standard", "modified-dh": "modified"}


@command
def robots() -> None:
    """List the bundled robots.

    \b
    Example: dalembert robots
    """
    from dalembert import robots as bundled
    from dalembert.errors import ModelWarning
    from dalembert.loading import load

    warnings.simplefilter("ignore", ModelWarning)  # of one robot they tell, in a list of all they hide it
    rows = []
    for name in bundled.names():
        robot = load(name)
        kinds = "".join(c.joint.kind[0].upper() for c in robot.model.coordinates)
        about = re.split(r"[;:]|\. ", " ".join(robot.description.notes.split()))[0]
        row = {"name": name, "joints": robot.n, "kinds": kinds, "loops": len(robot.loops), "mass": robot.mass}
        rows.append({**row, "about": about})
    columns = ("name", "joints", "kinds", "loops", "mass [kg]", "what it is")
    shown = [
        tuple((row | {"kinds": _summary(str(row["kinds"])), "loops": row["loops"] or ""}).values()) for row in rows
    ]
    output.answer({"robots": rows}, lambda: output.print_table("Bundled robots", columns, shown))


def _summary(kinds: str) -> str:
    """RRPR, but counts for many joints: 18 R, 6 P."""
    return kinds if len(kinds) <= MAX_KINDS else ", ".join(f"{n} {kind}" for kind, n in Counter(kinds).most_common())


@command
def info(robot: str = ROBOT) -> None:
    """Show a robot's joints, bodies, frames and what its description objects to.

    \b
    Example: dalembert info panda
    """
    arm = output.load(robot, several=True)
    card = _card(arm)
    output.answer(card, lambda: _show_card(arm, card))


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
        "loops": [{key: getattr(loop, key) for key in LOOP} for loop in arm.description.loops],
        "home": arm.home.tolist(),
        "nq": arm.nq,
        "nv": arm.nv,
        "tip": arm.tip,
        "tips": list(arm.model.tips),
        "gravity": list(arm.model.gravity),
        "mass": arm.mass,
        "total_mass": arm.total_mass,
        "notes": arm.description.notes.strip(),
        "warnings": list(arm.warnings),
    }


def _show_card(arm: Robot, card: dict[str, Any]) -> None:
    tip = card["tip"] or f"not one: {', '.join(card['tips'])}; choose with --tip"
    bodies = "1 moving body" if len(arm.bodies) == 1 else f"{len(arm.bodies)} moving bodies"
    masses = [output.number(mass) for mass in (arm.mass, arm.total_mass)]
    mass = f"{masses[0]} kg" if masses[0] == masses[1] else f"{masses[0]} kg moving, {masses[1]} kg in total"
    gravity = ", ".join(output.number(g) for g in card["gravity"])
    heading = f"{arm.name}: {_size(arm)}, {bodies}, {mass}\ntip: {tip}\ngravity: ({gravity}) m/s² in {arm.frames[0]!r}"
    click.echo("\n".join(fold(heading, output.width())))
    if card["notes"]:
        width = output.width() - 2
        paragraphs = [p if cell_width(p) <= width else " ".join(p.split()) for p in card["notes"].split("\n\n")]
        notes = "\n".join(fold("\n\n".join(paragraphs), width))
        click.echo(f"\n{indent(notes, '  ')}")  # indented: no line of a file passes for one of ours
    click.echo()
    rows: list[Sequence[object]] = [(i, *joint.values()) for i, joint in enumerate(card["joints"], 1)]
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


def _size(arm: Robot) -> str:
    count = len(arm.joint_names)
    joints = "1 joint" if count == 1 else f"{count} joints"
    return f"{joints} ({arm.nq} positions, {arm.nv} velocities)" if arm.model.curved else joints


def _body_row(body: dict[str, Any], base: str) -> tuple[Any, ...]:
    com = "–" if body["com"] is None else ", ".join(output.number(x, 4) for x in body["com"])
    return (body["name"], body["joint"], body["parent"] or base, body["mass"], com, body["rotor_inertia"])


@command
def convert(
    robot: str = ROBOT,
    target: str | None = pick("format", type=FORMATS, shown="by the ending of the output file"),
    out: str | None = OUTPUT,
) -> None:
    """Convert between URDF, TOML, DH tables (standard and modified) and screw axes.

    URDF and TOML carry everything. A DH table is that of a serial chain: on the screen, or with --output as a TOML file
    of rows with inertias, which loads as the same robot. Screw axes are printed.

    \b
    Examples: dalembert convert panda -o panda.urdf
              dalembert convert ur5e --format modified-dh
              dalembert convert arm.urdf --format dh -o arm_dh.toml
              dalembert convert arm_dh.toml --format modified-dh -o arm_modified.toml
    """
    suffix = Path(out).suffix.lower() if out else ""
    target = target or SUFFIXES.get(suffix)
    if target is None:
        raise click.UsageError("name the format with --format, or a file ending in .urdf or .toml with --output")
    if out and target == "screws":
        raise click.UsageError("screw axes go to the screen; for programs there is --json")
    wanted = ".urdf" if target == "urdf" else ".toml"
    if out and suffix != wanted:
        raise click.UsageError(f"{out}: {target} is written to a file ending in {wanted}")
    arm = output.load(robot, several=True)
    if target == "screws":
        _convert_to_screws(arm)
    elif target in CONVENTIONS and not out:
        _convert_to_dh(arm, CONVENTIONS[target])
    else:
        text = _write_text(arm, target)
        if out:
            whole(out, lambda file: file.write(text.encode()))
        data = {"robot": arm.name, "format": target, "out": out, "text": None if out else text}
        words = f"{arm.name}: written to {out}" if out else text
        output.answer(data, lambda: click.echo(words, nl=not words.endswith("\n")))


def _write_text(arm: Robot, target: str) -> str:
    from dalembert.describe.toml_write import write_dh_toml

    if target in CONVENTIONS:
        return write_dh_toml(arm.to_dh(CONVENTIONS[target]))
    return arm.to_urdf() if target == "urdf" else arm.to_toml()


def _convert_to_dh(arm: Robot, convention: str) -> None:
    table = arm.to_dh(convention)
    rows: list[dict[str, Any]] = [
        {"joint": r.name, "kind": r.kind, "theta": r.theta, "d": r.d, "a": r.a, "alpha": r.alpha, "offset": r.offset}
        for r in table.rows
    ]
    ends = {
        name: {"xyz": list(origin.xyz), "rpy": list(origin.rpy)}
        for name, origin in (("base", table.base), ("tool", table.tool))
    }

    def show() -> None:
        shown = [(r["joint"], r["kind"], *_variable(r), r["a"], math.degrees(r["alpha"])) for r in rows]
        columns = ("joint", "kind", "θ [°]", "d [m]", "a [m]", "α [°]")
        output.print_table(f"{arm.name}: {convention} DH", columns, shown)
        for name, end in ends.items():
            click.echo(f"{name}: xyz {end['xyz']} m, rpy {end['rpy']} rad")

    output.answer({"robot": arm.name, "convention": convention, "rows": rows, **ends}, show)


def _variable(row: dict[str, Any]) -> tuple[str, str]:
    """θ and d as they depend on q."""
    from dalembert.joints import JOINTS

    theta, d, offset = math.degrees(row["theta"]), row["d"], row["offset"]
    if not JOINTS[row["kind"]].turns:
        return output.number(theta), _sum(d + offset)
    return _sum(theta + math.degrees(offset)), output.number(d)


def _sum(constant: float) -> str:
    if abs(constant) < 1e-12:
        return "q"
    return f"q {'+' if constant > 0 else '−'} {output.number(abs(constant))}"


def _convert_to_screws(arm: Robot) -> None:
    axes, home = arm.to_screws()

    def show() -> None:
        columns = ("joint", "v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")
        rows = [(name, *row) for name, row in zip(arm.joint_names, axes.tolist(), strict=False)]
        output.print_table(f"{arm.name}: screw axes in the base frame, linear part first", columns, rows)
        output.print_table("Tip at q = 0", ("", "", "", ""), home.tolist())

    output.answer({"robot": arm.name, "axes": axes, "home": home}, show)
