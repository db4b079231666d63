"""dalembert fk: poses of frames at joint positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import completing, output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.robot import Robot


@click.command(name="fk")
@output.robot_argument
@output.vector_option("q", "Joint positions [rad, m], 30deg for degrees; home if not given.")
@click.option(
    "--frame",
    "frames",
    multiple=True,
    metavar="FRAME",
    shell_complete=completing.frames,
    help="A frame, instead of the tip; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Every frame of the robot.")
@click.option(
    "--seen-from",
    metavar="FRAME",
    shell_complete=completing.frames,
    help="The frame they are seen from; the base if not given.",
)
@output.tip_option
@output.json_option
def command(
    robot: str,
    q: str | None,
    frames: tuple[str, ...],
    every: bool,
    seen_from: str | None,
    tip: str | None,
    as_json: bool,
) -> None:
    """Forward kinematics: where frames are, as x, y, z [m], roll, pitch, yaw [°] and a matrix.

    \b
    Examples: dalembert fk panda --q 0,30deg,0,-90deg,0,2,0
              dalembert fk planar-2r --q 30deg,60deg --all
    """
    if every and frames:
        raise click.UsageError("--all means every frame: leave out --frame")
    arm = output.load(robot, tip)
    at = output.positions("q", q, arm) or arm.home.tolist()
    base = seen_from or arm.frames[0]
    wanted = arm.frames if every else frames or (output.tip_of(arm),)
    with waiting("compiling"):
        poses = [_pose(arm, at, base, name) for name in wanted]
    output.need_numbers([p["T"] for p in poses])
    if as_json:
        output.print_json({"robot": arm.name, "joints": arm.joint_names, "q": at, "seen_from": base, "poses": poses})
    else:
        _show(arm, at, base, poses)


def _pose(arm: Robot, q: list[float], base: str, frame: str) -> dict[str, Any]:
    from dalembert.spatial.rotation import to_rpy

    T = arm.transform(q, base, frame).tolist()
    return {"frame": frame, "xyz": [row[3] for row in T[:3]], "rpy": list(to_rpy([row[:3] for row in T[:3]])), "T": T}


def _show(arm: Robot, q: list[float], base: str, poses: list[dict[str, Any]]) -> None:
    click.echo(f"{arm.name} at q = {', '.join(output.number(x) for x in q)}")
    columns = ("frame", "x [m]", "y [m]", "z [m]", "roll [°]", "pitch [°]", "yaw [°]")
    rows = [(p["frame"], *p["xyz"], *(_degrees(x) for x in p["rpy"])) for p in poses]
    output.print_table(f"Seen from {base!r}", columns, rows)
    if len(poses) == 1:
        output.print_table(f"T of {poses[0]['frame']!r}", ("", "", "", ""), poses[0]["T"])


def _degrees(x: float) -> float:
    return math.degrees(x) if abs(x) > output.INVISIBLE else 0.0
