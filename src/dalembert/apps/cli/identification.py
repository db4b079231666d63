"""dalembert excite, identify: the motion that shows an arm's parameters best; from a log to parameters and a robot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, argument, command, option, picture, vector
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.excite.design import Excitation
    from dalembert.identification.fit.identify import Identification

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


@command
def identify(
    robot: str = ROBOT,
    log: str = argument(metavar="LOG", type=click.Path()),
    out: str | None = option(
        "Write the identified robot: .urdf or .toml.", "-o", "--out", type=NewFile(".urdf", ".toml"), metavar="FILE"
    ),
    report: str | None = option("Write a report of one page.", type=NewFile(".html", ".htm"), metavar="FILE"),
    cutoff: float | None = option("Of the low-pass filter [Hz]; chosen from the log if not given.", type=POSITIVE),
    rate: float | None = option("Samples per second, if the log has no times.", type=POSITIVE),
    degrees: bool = option("Positions and rates are in degrees."),
    no_rotor: bool = option("Without columns for rotor inertias."),
    physical: str = option(
        "How bodies are kept possible.", type=click.Choice(["sdp", "log-cholesky", "none"]), default="sdp"
    ),
    holdout: float = option(
        "The last part, kept for judging.", type=Number(0, 0.9, max_open=True), default=1 / 3, show_default="1/3"
    ),
    tip: str | None = TIP,
) -> None:
    """Identify the parameters of a robot from a log of positions and torques.

    The log is CSV, npz, Parquet or a ROS bag; columns are found by their names (t, q1 …, tau1 …, joint names). It is
    filtered, differentiated, fitted, judged on its last part, and made physically possible.

    \b
    Example: dalembert identify arm.urdf log.csv --out identified.urdf --report report.html
    """
    from dalembert.identification.fit.identify import identify as fit
    from dalembert.identification.log.read import read_log

    arm = output.load(robot, tip)
    units = {"q": "deg", "qd": "deg"} if degrees else None
    kept = None if physical == "none" else physical
    with waiting("reading the log") as say:
        recorded = read_log(log, arm, rate=rate, units=units)
        say("fitting")
        result = fit(arm, recorded, rotor=not no_rotor, physical=kept, holdout=holdout, cutoff=cutoff)
        say("writing")
        files = _write_texts(result, out, report)
    for path, text in files.items():  # all made before any is written
        whole(path, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]

    def show() -> None:
        click.echo(result.table())
        for note in (*recorded.notes, *result.notes):
            click.echo(f"note: {note}")
        output.print_files(*files)

    output.answer(lambda: _identified_data(result, files), show)


def _write_texts(result: Identification, out: str | None, report: str | None) -> dict[str, str]:
    files: dict[str, str] = {}
    if out is not None:
        files[out] = result.robot.to_urdf() if Path(out).suffix.lower() == ".urdf" else result.robot.to_toml()
    if report is not None:
        from dalembert.identification.fit.report import html

        files[report] = html(result)
    return files


def _identified_data(result: Identification, files: dict[str, str]) -> dict[str, object]:
    rows = zip(result.names, result.base, result.estimate.deviation, strict=True)
    return {
        "robot": result.columns.robot.name,
        "base": [{"name": name, "value": value, "deviation": sigma} for name, value, sigma in rows],
        "parameters": dict(zip(result.columns.all_names, result.parameters, strict=True)),
        "training": result.training.total,
        "held_out": result.held_out.total if result.held_out else None,
        "held_out_consistent": result.held_out_consistent.total if result.held_out_consistent else None,
        "feasible": result.consistent.feasible if result.consistent else None,
        "files": list(files),
    }
