"""dalembert excite: the motion that shows an arm's parameters best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, command, option, picture, vector
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.identification.excite.design import Excitation

KINDS = ("position", "velocity", "acceleration", "torque")
FIGURES = ("period", "duration", "criterion", "condition", "random_condition", "log_det")


@command
def excite(
    robot: str = ROBOT,
    seconds: float = option("Time to spend searching.", type=Number(0.1), default=30.0),
    starts: int = option("Most starts of the search.", type=click.IntRange(1), default=8),
    duration: float | None = option("Of the motion [s], whole periods; one.", type=POSITIVE),
    base_frequency: float | None = option("[Hz]; 0.1, or one period, if not given.", type=POSITIVE),
    harmonics: int = option("Sines per joint.", type=click.IntRange(2, 50), default=5),
    velocity: str | None = vector("Largest speed [rad/s, m/s], one for all or one per joint; the robot's."),
    acceleration: str | None = vector("Largest acceleration, one for all or one per joint; none if not given."),
    torque: str | None = vector("Largest torque [N m, N], one for all or one per joint; the robot's efforts."),
    lower: str | None = vector("Lowest positions, one per joint; the robot's."),
    upper: str | None = vector("Highest positions, one per joint; the robot's."),
    margin: float = option("Kept free of each range.", type=Number(0, 0.5), default=0.05),
    criterion: str = option("What is made best.", type=click.Choice(("condition", "d-optimal")), default="condition"),
    no_friction: bool = option("Friction is not to be identified."),
    no_rotor: bool = option("Rotor inertias are not to be identified."),
    seed: int = option("Of the starts.", type=click.IntRange(0), default=0),
    rate: float = option("Rows per second.", type=POSITIVE, default=100.0),
    out: str | None = option("The motion, t, q, q̇, q̈, τ: .csv.", "-o", "--out", type=NewFile(".csv"), metavar="FILE"),
    plot: str | None = picture("Draw one period"),
    tip: str | None = TIP,
) -> None:
    """Find a periodic motion within an arm's limits that shows its parameters best, and certify the limits.

    The file goes to the arm's controller; what it records goes to 'dalembert identify'.

    \b
    Example: dalembert excite panda --seconds 60 --acceleration 10 -o motion.csv --plot motion.svg
    """
    from dalembert.identification.excite.design import excite as find_excitation

    if (lower is None) != (upper is None):
        raise click.UsageError("--lower and --upper go together")
    if out is None:
        output.refuse_idle("it says how many rows are written: give -o FILE", "rate")
    rows = rate * (duration or 1 / (base_frequency or 0.1))
    if out is not None and abs(rows - round(rows)) > 1e-6 * rows:  # told now, not after the search
        raise click.UsageError(f"at {rate:g} rows per second the motion has {rows:g}: choose a --rate for a whole")
    arm = output.load(robot, tip)
    low, high = output.positions("lower", lower, arm), output.positions("upper", upper, arm)
    with waiting(f"searching for {seconds:g} s") as say:
        found = find_excitation(
            arm,
            duration=duration,
            base_frequency=base_frequency,
            harmonics=harmonics,
            position=None if low is None or high is None else (low, high),
            velocity=output.one_or_each("velocity", velocity, arm.n),
            acceleration=output.one_or_each("acceleration", acceleration, arm.n),
            torque=output.one_or_each("torque", torque, arm.n),
            margin=margin,
            criterion=criterion,
            friction=not no_friction,
            rotor=not no_rotor,
            starts=starts,
            seconds=seconds,
            seed=seed,
            progress=say,
        )
    if out is not None:
        found.to_csv(out, rate)
    files = output.save_plot(found.plot, out, plot)
    output.answer(lambda: _excitation_data(found, files), lambda: _show_excitation(found, files))


def _excitation_data(found: Excitation, files: list[str]) -> dict[str, object]:
    certificate = found.certificate
    return {
        "robot": found.robot.name,
        "joints": found.robot.joint_names,
        **{key: getattr(found, key) for key in FIGURES},
        "base_parameters": found.names,
        "feasible": certificate.feasible,
        "points": certificate.points,
        "used": {kind: getattr(certificate, kind) for kind in KINDS},
        "starts": found.starts,
        "seconds": found.seconds,
        "message": found.message,
        "files": files,
    }


def _show_excitation(found: Excitation, files: list[str]) -> None:
    robot, certificate = found.robot, found.certificate
    shares = [_shares(getattr(certificate, kind), found.limits.upper[kind]) for kind in KINDS]
    title = f"{robot.name}: shares of the limits that are used, over {output.number(found.period)} s"
    output.print_table(title, ("joint", *KINDS), zip(robot.joint_names, *shares, strict=True))
    held = "all limits hold" if certificate.feasible else "LIMITS DO NOT HOLD"
    click.echo(f"{held} at {certificate.points} points of the period, {certificate.margin:.0%} kept free")
    click.echo(f"{len(found.names)} base parameters, condition number {output.number(found.condition, 4)}")
    click.echo(f"{found.message} ({found.seconds:.1f} s, {found.evaluations} evaluations)")
    output.print_files(*files)


def _shares(used: Iterable[float], upper: Iterable[float]) -> list[str]:
    """In percent, where there is a limit at all."""
    return [f"{x:.1%}" if abs(top) < float("inf") else "–" for x, top in zip(used, upper, strict=True)]
