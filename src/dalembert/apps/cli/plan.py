"""dalembert plan: a motion through joint positions, as fast as the robot can or in a given time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.controllers import within
from dalembert.apps.cli.progress import waiting
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.trajectories import Trajectory


@click.command(name="plan")
@output.robot_argument
@click.option(
    "--through",
    multiple=True,
    required=True,
    metavar="x,x,…",
    help="Joint positions [rad, m], 30deg for degrees; repeated, in order.",
)
@output.vector_option("q0", "Where the motion begins; home if not given.")
@click.option("--duration", type=output.POSITIVE, help="Of the motion [s]; as fast as the limits allow if not given.")
@output.vector_option("acceleration", "Largest acceleration, one for all or one per joint; none if not given.")
@click.option("--rate", type=output.POSITIVE, default=100.0, show_default=True, help="Rows per second.")
@click.option("-o", "--out", type=output.NewFile(".csv"), metavar="FILE", help="The motion, t, q, q̇, q̈: .csv.")
@output.plot_option("Draw positions, velocities and accelerations")
@output.json_option
def command(
    robot: str,
    through: tuple[str, ...],
    q0: str | None,
    duration: float | None,
    acceleration: str | None,
    rate: float,
    out: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Plan a smooth motion from rest to rest through joint positions, within the robot's limits.

    Without --duration the spline through them is followed as fast as velocities, torques and --acceleration allow.

    \b
    Examples: dalembert plan panda --through 0,0.3,0,-1.5,0,1.8,0 --through 0.5,0.5,0,-1.2,0,2,0 -o motion.csv
              dalembert plan planar-2r --q0 0,0 --through 1,0.5 --duration 2 --plot motion.svg
    """
    from dalembert.kernels import need_tree
    from dalembert.trajectories import spline, time_optimal

    if out is None:
        output.refuse_idle("it says how many rows are written: give -o FILE", "rate")
    arm = output.load(robot)
    need_tree(arm.model)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    given = [start, *(within(arm, "through", output.positions("through", text, arm) or []) for text in through)]
    points = [q for before, q in zip([None, *given], given, strict=False) if q != before]  # named twice: passed once
    if len(points) == 1:
        raise click.BadParameter("the motion ends where it begins", param_hint="--through")
    most = output.one_or_each("acceleration", acceleration, arm.n)
    with waiting("planning"):
        motion: Trajectory
        if duration is not None:
            speed = arm.limits.velocity
            motion = spline(points, duration=duration, ends="clamped", velocity=speed, acceleration=most, robot=arm)
        else:
            motion = time_optimal(spline(points, duration=1.0), arm, acceleration=most)
    peaks = _peaks(arm, motion)
    for name, peak, limit in zip(arm.joint_names, peaks["torque"], arm.limits.effort, strict=True):
        if duration is not None and peak > limit:
            numbers = f"torque {output.number(peak)}, beyond its limit {output.number(limit)}"
            raise InputError(f"in {output.number(motion.duration)} s {name!r} needs {numbers}: give another --duration")
    files = [path for path in (out, plot) if path is not None]
    if out is not None:
        motion.to_csv(out, 1.0 / rate)
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(motion.plot(), plot)
    _show(arm, motion.duration, points, peaks, files, as_json)


def _peaks(arm: Robot, motion: Trajectory) -> dict[str, Any]:
    import numpy as np

    t = np.linspace(0.0, motion.duration, 2001)
    torque = np.abs(arm.inverse_dynamics(*motion(t))).max(axis=0)
    return {"velocity": motion.limits().velocity, "acceleration": motion.limits().acceleration, "torque": torque}


def _show(
    arm: Robot, duration: float, points: list[list[float]], peaks: dict[str, Any], files: list[str], as_json: bool
) -> None:
    if as_json:
        task = {"robot": arm.name, "through": points, "duration": duration, "joints": arm.joint_names}
        output.print_json({**task, **{f"peak_{name}": x for name, x in peaks.items()}, "files": files})
        return
    limits = {"velocity": arm.limits.velocity, "torque": arm.limits.effort}
    columns, parts = ["joint", "from", "to"], [arm.joint_names, points[0], points[-1]]
    for name, x in peaks.items():
        columns.append(f"peak {name}")
        parts.append(x.tolist())
        if name in limits:
            columns.append("its limit")
            parts.append(limits[name].tolist())
    title = f"{arm.name} through {len(points)} positions in {output.number(duration)} s [rad, m, s, N m, N]"
    output.print_table(title, columns, zip(*parts, strict=True))
    for path in files:
        click.echo(f"written to {path}")
