"""dalembert excite: the motion from which an arm's parameters are identified best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.identification.excite.result import Excitation

KINDS = ("position", "velocity", "acceleration", "torque")


@click.command(name="excite")
@output.robot_argument
@click.option("--seconds", type=output.Number(0.1), default=30.0, show_default=True, help="Time to spend searching.")
@click.option("--starts", type=click.IntRange(1), default=8, show_default=True, help="Most starts of the search.")
@click.option("--duration", type=output.POSITIVE, help="Of the motion [s], whole periods; one.")
@click.option("--base-frequency", type=output.POSITIVE, help="[Hz]; 0.1, or one period, if not given.")
@click.option("--harmonics", type=click.IntRange(2, 50), default=5, show_default=True, help="Sines per joint.")
@output.vector_option("velocity", "Largest speed [rad/s, m/s], one for all or one per joint; the robot's.")
@output.vector_option("acceleration", "Largest acceleration, one for all or one per joint; none if not given.")
@output.vector_option("torque", "Largest torque [N m, N], one for all or one per joint; the robot's efforts.")
@output.vector_option("lower", "Lowest positions, one per joint; the robot's.")
@output.vector_option("upper", "Highest positions, one per joint; the robot's.")
@click.option("--margin", type=output.Number(0, 0.5), default=0.05, show_default=True, help="Kept free of each range.")
@click.option(
    "--criterion",
    type=click.Choice(("condition", "d-optimal")),
    default="condition",
    show_default=True,
    help="What is made best.",
)
@click.option("--no-friction", is_flag=True, help="Friction is not to be identified.")
@click.option("--no-rotor", is_flag=True, help="Rotor inertias are not to be identified.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the starts.")
@click.option("--rate", type=output.POSITIVE, default=100.0, show_default=True, help="Rows per second.")
@click.option("-o", "--out", type=output.NewFile(".csv"), metavar="FILE", help="The motion, t, q, q̇, q̈, τ: .csv.")
@output.plot_option("Draw one period")
@output.tip_option
@output.json_option
def command(
    robot: str,
    seconds: float,
    starts: int,
    duration: float | None,
    base_frequency: float | None,
    harmonics: int,
    velocity: str | None,
    acceleration: str | None,
    torque: str | None,
    lower: str | None,
    upper: str | None,
    margin: float,
    criterion: str,
    no_friction: bool,
    no_rotor: bool,
    seed: int,
    rate: float,
    out: str | None,
    plot: str | None,
    tip: str | None,
    as_json: bool,
) -> None:
    """Find a periodic motion within an arm's limits that shows its parameters best, and certify the limits.

    The file goes to the arm's controller; what it records goes to 'dalembert identify'.

    \b
    Example: dalembert excite panda --seconds 60 --acceleration 10 -o motion.csv --plot motion.svg
    """
    from dalembert.identification.excite.design import excite

    if (lower is None) != (upper is None):
        raise click.UsageError("--lower and --upper go together")
    if out is None:
        output.refuse_idle("it says how many rows are written: give -o FILE", "rate")
    rows = rate * (duration or 1 / (base_frequency or 0.1))
    if out is not None and abs(rows - round(rows)) > 1e-6 * rows:  # told now, not after the search
        raise click.UsageError(f"at {rate:g} rows per second the motion has {rows:g}: choose a --rate for a whole")
    arm = output.load(robot, tip)
    position = output.positions("lower", lower, arm), output.positions("upper", upper, arm)
    limits: dict[str, Any] = {
        name: output.one_or_each(name, text, arm.n)
        for name, text in (("velocity", velocity), ("acceleration", acceleration), ("torque", torque))
    }
    with waiting(f"searching for {seconds:g} s") as say:
        found = excite(
            arm,
            duration=duration,
            base_frequency=base_frequency,
            harmonics=harmonics,
            position=None if lower is None else position,
            margin=margin,
            criterion=criterion,
            friction=not no_friction,
            rotor=not no_rotor,
            starts=starts,
            seconds=seconds,
            seed=seed,
            progress=say,
            **limits,
        )
    files = _write(found, rate, out, plot)
    if as_json:
        output.print_json(_data(found, files))
    else:
        _show(found, files)


def _write(found: Excitation, rate: float, out: str | None, plot: str | None) -> list[str]:
    if out is not None:
        found.to_csv(out, rate)
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(found.plot(), plot)
    return [path for path in (out, plot) if path is not None]


def _data(found: Excitation, files: list[str]) -> dict[str, Any]:
    certificate = found.certificate
    return {
        "robot": found.robot.name,
        "joints": found.robot.joint_names,
        "period": found.period,
        "duration": found.duration,
        "criterion": found.criterion,
        "condition": found.condition,
        "random_condition": found.random_condition,
        "log_det": found.log_det,
        "base_parameters": found.names,
        "feasible": certificate.feasible,
        "points": certificate.points,
        "used": {kind: getattr(certificate, kind) for kind in KINDS},
        "starts": found.starts,
        "seconds": found.seconds,
        "message": found.message,
        "files": files,
    }


def _show(found: Excitation, files: list[str]) -> None:
    robot, certificate = found.robot, found.certificate
    shares = [_shares(getattr(certificate, kind), found.limits.upper[kind]) for kind in KINDS]
    title = f"{robot.name}: shares of the limits that are used, over {output.number(found.period)} s"
    output.print_table(title, ("joint", *KINDS), zip(robot.joint_names, *shares, strict=True))
    held = "all limits hold" if certificate.feasible else "LIMITS DO NOT HOLD"
    click.echo(f"{held} at {certificate.points} points of the period, {certificate.margin:.0%} kept free")
    click.echo(f"{len(found.names)} base parameters, condition number {output.number(found.condition, 4)}")
    click.echo(f"{found.message} ({found.seconds:.1f} s, {found.evaluations} evaluations)")
    for path in files:
        click.echo(f"written to {path}")


def _shares(used: Any, upper: Any) -> list[str]:
    """In percent, where there is a limit at all."""
    return [f"{x:.1%}" if abs(top) < float("inf") else "–" for x, top in zip(used, upper, strict=True)]
