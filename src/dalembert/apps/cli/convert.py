"""dalembert convert: a robot in another format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.robot import Robot

FORMATS = ("urdf", "toml", "dh", "modified-dh", "screws")
SUFFIXES = {".urdf": "urdf", ".toml": "toml"}
CONVENTIONS = {"dh": "standard", "modified-dh": "modified"}


@click.command(name="convert")
@output.robot_argument
@click.option("--to", "target", type=click.Choice(FORMATS), help="The format wanted; else by the suffix of --out.")
@click.option("-o", "--out", type=output.NewFile(), metavar="FILE", help="Write here instead of on the screen.")
@output.tip_option
@output.json_option
def command(robot: str, target: str | None, out: str | None, tip: str | None, as_json: bool) -> None:
    """Convert between URDF, TOML, DH tables (standard and modified) and screw axes.

    URDF and TOML carry everything. A DH table is that of a serial chain: on the screen, or with --out as a TOML file
    of rows, inertias carried along, that loads as the same robot. Screw axes are printed.

    \b
    Examples: dalembert convert panda -o panda.urdf
              dalembert convert ur5e --to modified-dh
              dalembert convert arm.urdf --to dh -o arm_dh.toml
              dalembert convert arm_dh.toml --to modified-dh -o arm_modified.toml
    """
    suffix = Path(out).suffix.lower() if out else ""
    target = target or SUFFIXES.get(suffix)
    if target is None:
        raise click.UsageError("say which format with --to, or name a file ending in .urdf or .toml with --out")
    if out and target == "screws":
        raise click.UsageError("screw axes go to the screen; for programs there is --json")
    wanted = ".urdf" if target == "urdf" else ".toml"
    if out and suffix != wanted:
        raise click.UsageError(f"{out}: {target} is written to a file ending in {wanted}")
    arm = output.load(robot, tip)
    if target == "screws":
        _screws(arm, as_json)
    elif target in CONVENTIONS and not out:
        _dh(arm, CONVENTIONS[target], as_json)
    else:
        _text(arm, target, out, as_json)


def _text(arm: Robot, target: str, out: str | None, as_json: bool) -> None:
    text = _written(arm, target)
    if out:
        whole(out, lambda file: file.write(text.encode()))
    if as_json:
        output.print_json({"robot": arm.name, "format": target, "out": out, "text": None if out else text})
    elif out:
        click.echo(f"{arm.name}: written to {out}")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _written(arm: Robot, target: str) -> str:
    if target == "urdf":
        return arm.to_urdf()
    if target == "toml":
        return arm.to_toml()
    from dalembert.describe.toml_write import write_dh_toml

    return write_dh_toml(arm.to_dh(CONVENTIONS[target]))


def _dh(arm: Robot, convention: str, as_json: bool) -> None:
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
    shown = [(r["joint"], r["kind"], *_variable(r), r["a"], math.degrees(r["alpha"])) for r in rows]
    columns = ("joint", "kind", "θ [°]", "d [m]", "a [m]", "α [°]")
    output.print_table(f"{arm.name}: {convention} DH", columns, shown)
    for name, end in ends.items():
        click.echo(f"{name}: xyz {end['xyz']} m, rpy {end['rpy']} rad")


def _variable(row: dict[str, Any]) -> tuple[str, str]:
    """θ and d as they depend on q."""
    theta, d, offset = math.degrees(row["theta"]), row["d"], row["offset"]
    from dalembert.joints import JOINTS

    if not JOINTS[row["kind"]].turns:
        return output.number(theta), _sum(d + offset)
    return _sum(theta + math.degrees(offset)), output.number(d)


def _sum(constant: float) -> str:
    if abs(constant) < 1e-12:
        return "q"
    return f"q {'+' if constant > 0 else '−'} {output.number(abs(constant))}"


def _screws(arm: Robot, as_json: bool) -> None:
    axes, home = arm.to_screws()
    if as_json:
        output.print_json({"robot": arm.name, "axes": axes, "home": home})
        return
    columns = ("joint", "v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")
    rows = [(name, *row) for name, row in zip(arm.joint_names, axes.tolist(), strict=False)]
    output.print_table(f"{arm.name}: screw axes in the base frame, linear part first", columns, rows)
    output.print_table("Tip at q = 0", ("", "", "", ""), home.tolist())
