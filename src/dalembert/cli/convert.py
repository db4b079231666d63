"""dalembert convert: a robot in another format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli import output

if TYPE_CHECKING:
    from dalembert.robot import Robot

FORMATS = ("urdf", "toml", "dh", "modified-dh", "screws")
SUFFIXES = {".urdf": "urdf", ".toml": "toml"}


@click.command(name="convert", short_help="Between URDF, TOML, DH tables and screw axes.")
@output.robot_argument
@click.option("--to", "target", type=click.Choice(FORMATS), help="The format wanted; else by the suffix of --out.")
@click.option("-o", "--out", type=click.Path(dir_okay=False), help="Write here instead of on the screen.")
@output.tip_option
@output.json_option
def command(robot: str, target: str | None, out: str | None, tip: str | None, as_json: bool) -> None:
    """Convert between URDF, TOML, DH tables (standard and modified) and screw axes.

    URDF and TOML carry everything. A DH table or screw axes are printed for a serial chain.

    \b
    Examples: dalembert convert panda -o panda.urdf
              dalembert convert ur5e --to modified-dh
    """
    target = target or (SUFFIXES.get(Path(out).suffix) if out else None)
    if target is None:
        raise click.UsageError("say which format with --to, or name a file ending in .urdf or .toml with --out")
    arm = output.load(robot, tip)
    if target in ("urdf", "toml"):
        _text(arm, target, out, as_json)
    elif out:
        raise click.UsageError(f"a {target} table goes to the screen; for programs there is --json")
    else:
        {"screws": _screws}.get(target, _dh)(arm, target, as_json)


def _text(arm: Robot, target: str, out: str | None, as_json: bool) -> None:
    text = arm.to_urdf(out) if target == "urdf" else arm.to_toml(out)
    if as_json:
        output.print_json({"robot": arm.name, "format": target, "out": out, "text": None if out else text})
    elif out:
        click.echo(f"{arm.name}: written to {out}")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _dh(arm: Robot, target: str, as_json: bool) -> None:
    convention = "modified" if target == "modified-dh" else "standard"
    table = arm.to_dh(convention)
    rows: list[dict[str, Any]] = [
        {"joint": r.name, "kind": r.kind, "theta": r.theta, "d": r.d, "a": r.a, "alpha": r.alpha, "offset": r.offset}
        for r in table.rows
    ]
    ends = {
        name: {"xyz": list(origin.xyz), "rpy": list(origin.rpy)}
        for name, origin in (("base", table.base), ("tool", table.tool))
    }
    if as_json:
        output.print_json({"robot": arm.name, "convention": convention, "rows": rows, **ends})
        return
    shown = [
        (r["joint"], r["kind"], *_variable(r), r["a"], math.degrees(r["alpha"])) for r in rows
    ]
    columns = ("joint", "kind", "θ [°]", "d [m]", "a [m]", "α [°]")
    output.print_table(f"{arm.name}: {convention} DH", columns, shown)
    for name, end in ends.items():
        click.echo(f"{name}: xyz {end['xyz']} m, rpy {end['rpy']} rad")


def _variable(row: dict[str, Any]) -> tuple[str, str]:
    """θ and d as they depend on q."""
    theta, d, offset = math.degrees(row["theta"]), row["d"], row["offset"]
    if row["kind"] == "prismatic":
        return output.number(theta), _sum(d + offset)
    return _sum(theta + math.degrees(offset)), output.number(d)


def _sum(constant: float) -> str:
    if abs(constant) < 1e-12:
        return "q"
    return f"q {'+' if constant > 0 else '−'} {output.number(abs(constant))}"


def _screws(arm: Robot, target: str, as_json: bool) -> None:
    axes, home = arm.to_screws()
    if as_json:
        output.print_json({"robot": arm.name, "axes": axes, "home": home})
        return
    columns = ("joint", "v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")
    rows = [(name, *row) for name, row in zip(arm.joint_names, axes.tolist(), strict=False)]
    output.print_table(f"{arm.name}: screw axes in the base frame, linear part first", columns, rows)
    output.print_table("Tip at q = 0", ("", "", "", ""), home.tolist())
