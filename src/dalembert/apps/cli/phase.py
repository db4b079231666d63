"""dalembert phase: the phase portrait of one joint."""

from __future__ import annotations

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.controllers import TUNED, bandwidth_options, make, within
from dalembert.apps.cli.progress import waiting


@click.command(name="phase")
@output.robot_argument
@click.option("--joint", metavar="JOINT", help="Whose position and velocity are drawn; the first if not given.")
@click.option("--controller", type=click.Choice(TUNED), help="Its law; the arm is free if not given.")
@bandwidth_options
@output.vector_option("q0", "Where the other joints are [rad, m]; home if not given.")
@output.vector_option("to", "Where the controller holds the arm; --q0 if not given.")
@click.option("--duration", type=output.POSITIVE, default=5.0, show_default=True, help="Of the trajectories [s].")
@click.option("--friction", is_flag=True, help="With the model's friction and springs.")
@click.option("-o", "--out", type=output.Picture(), required=True, metavar="FILE", help="A .png, .svg or .pdf.")
@output.json_option
def command(
    robot: str,
    joint: str | None,
    controller: str | None,
    omega: float,
    zeta: float,
    q0: str | None,
    to: str | None,
    duration: float,
    friction: bool,
    out: str,
    as_json: bool,
) -> None:
    """Draw where the states of a joint go: its velocity against its position, the others starting at rest at --q0.

    \b
    Example: dalembert phase planar-2r --joint joint2 --controller pd-gravity -o phase.png
    """
    from dalembert import draw
    from dalembert.draw.pyplot import save
    from dalembert.errors import unknown

    if controller is None:
        output.refuse_idle("it is a controller's, and the arm is free", "omega", "zeta", "to")
    arm = output.load(robot)
    name = joint or arm.joint_names[0]
    if name not in arm.joint_names:
        raise click.BadParameter(str(unknown("joint", name, arm.joint_names)), param_hint="--joint")
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    given = output.positions("to", to, arm)
    goal = start if given is None else within(arm, "to", given)
    with waiting("drawing"):
        law = None if controller is None else make(controller, arm, omega, zeta)
        states = [*start, *([0.0] * arm.n), *([0.0] * len(law.law().states) if law else [])]
        picture = draw.phase_portrait(
            arm,
            law,
            states=(name, f"{name}_rate"),
            at=states,
            reference=None if law is None else goal,
            duration=duration,
            friction=True if friction else None,
        )
        save(picture, out)
    if as_json:
        output.print_json({"robot": arm.name, "joint": name, "controller": controller, "files": [out]})
    else:
        click.echo(f"written to {out}")
