"""dalembert ik: joint positions that reach a pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import completing, output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.kinematics.ik.solution import Solution
    from dalembert.kinematics.ik.solutions import Solutions
    from dalembert.robot import Robot

ROWS = ("pose", "position", "orientation", "planar")
SECONDARY = ("limits", "singularities")


@click.command(name="ik")
@output.robot_argument
@output.vector_option("xyz", "Where the frame is to be [m], in the base frame.", "x,y,z")
@output.vector_option("rpy", "Roll, pitch, yaw [rad], 90deg for degrees; without it any orientation will do.", "r,p,y")
@click.option("--frame", metavar="FRAME", shell_complete=completing.frames, help="The frame to put there; the tip.")
@output.vector_option("q0", "Where to begin: the solution found lies near.")
@click.option("--all", "every", is_flag=True, help="Every solution, in closed form, where the arm has one.")
@click.option("--rows", type=click.Choice(ROWS), help="What counts of the pose; planar: x, y and the angle about z.")
@click.option("--axis", type=click.Choice(("x", "y", "z")), help="Of the orientation only this axis counts.")
@click.option("--avoid", type=click.Choice(SECONDARY), help="With joints to spare: what to stay away from.")
@click.option("--tolerance", type=output.POSITIVE, default=1e-6, show_default=True, help="[m, rad].")
@click.option("--no-limits", is_flag=True, help="Outside the joint limits too.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    xyz: str | None,
    rpy: str | None,
    frame: str | None,
    q0: str | None,
    every: bool,
    rows: str | None,
    axis: str | None,
    avoid: str | None,
    tolerance: float,
    no_limits: bool,
    tip: str | None,
    as_json: bool,
) -> None:
    """Inverse kinematics: joint positions that put a frame at a pose, with the error recomputed.

    Exit code 1 if the pose is not reached; the nearest point found is shown then.

    \b
    Examples: dalembert ik panda --xyz 0.4,0.1,0.5 --rpy 180deg,0,0
              dalembert ik puma560 --xyz 0.5,0.1,0.6 --rpy 0,90deg,0 --all
              dalembert ik planar-2r --xyz 1.2,0.5,0
    """
    import numpy as np

    from dalembert.poses import pose

    if xyz is None and rpy is None:
        raise click.UsageError("say where the frame is to be: --xyz x,y,z, and its orientation with --rpy r,p,y")
    if every and (rows or axis or avoid):
        raise click.UsageError("--all solves for the whole pose: leave out --rows, --axis and --avoid")
    wanted = rows or ("pose" if xyz and rpy else "position" if xyz else "orientation")
    if (wanted != "orientation" and xyz is None) or (wanted in ("pose", "orientation") and rpy is None):
        raise click.UsageError(f"--rows {wanted} needs --{'xyz' if xyz is None else 'rpy'}")
    arm = output.load(robot, tip)
    place = output.numbers("xyz", xyz, 3, "x, y, z") or [0.0] * 3
    turned = output.angles("rpy", rpy, 3, "roll, pitch, yaw") or [0.0] * 3
    first = output.positions("q0", q0, arm)
    frame = frame or output.tip_of(arm)
    T = pose(xyz=place, rpy=turned)
    with waiting("inverse kinematics"):
        if every:
            output.refuse_idle("solutions in closed form are exact", "tolerance")
            found = arm.ik_all(T, frame, not no_limits, q0=None if first is None else np.array(first))
        else:
            options = {"rows": wanted, "axis": axis, "tolerance": tolerance, "secondary": avoid}
            one = arm.ik(T, frame, first, limits=not no_limits, **options)  # type: ignore[arg-type]
    target = {"frame": frame, "T": T}
    if every:
        _show_all(arm, found, target, as_json)
        reached = bool(found.found.any())
    else:
        _show_one(arm, one, target, wanted, as_json)
        reached = bool(one)
    if not reached:
        raise click.exceptions.Exit(1)


def _show_one(arm: Robot, found: Solution, target: dict[str, Any], rows: str, as_json: bool) -> None:
    data = {
        "converged": bool(found.converged),
        "reason": found.reason,
        "position_error": float(found.position_error),
        "orientation_error": float(found.orientation_error),
        "iterations": int(found.iterations),
        "restarts": int(found.restarts),
    }
    if as_json:
        output.print_json({"robot": arm.name, "joints": arm.joint_names, "q": found.q, "rows": rows, **target, **data})
        return
    lines = [
        (c.name, q, output.angle(q, c.joint.turns), c.lower, c.upper)
        for c, q in zip(arm.model.coordinates, found.q.tolist(), strict=True)
    ]
    title = f"{arm.name}: q for {target['frame']!r}" if found else f"{arm.name}: the nearest that was found"
    output.print_table(title, ("joint", "q [rad, m]", "[°]", "lower", "upper"), lines)
    click.echo(
        f"{data['reason']}; off by {found.position_error:.1e} m and {found.orientation_error:.1e} rad after "
        f"{data['iterations']} iterations and {data['restarts']} restarts"
    )
    if not found and rows == "pose" and arm.n < 6:
        click.echo(f"{arm.n} joints do not reach every pose: --rows position or planar, or --axis z, asks for less")


def _show_all(arm: Robot, found: Solutions, target: dict[str, Any], as_json: bool) -> None:
    q, residual = found.of(), found.residual[found.found]
    if as_json:
        data = {"family": found.family, "task": found.task, "why": found.why(), "q": q, "residual": residual}
        output.print_json({"robot": arm.name, "joints": arm.joint_names, **target, **data})
        return
    if len(q):
        rows = [(k + 1, *x, f"{r:.1e}") for k, (x, r) in enumerate(zip(q.tolist(), residual.tolist(), strict=True))]
        title = f"{arm.name}: every q for {target['frame']!r} [rad, m]"
        output.print_table(title, ("", *arm.joint_names, "off by"), rows)
    click.echo(f"{found.family}: {found.why()}")
