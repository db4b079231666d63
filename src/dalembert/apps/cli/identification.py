"""dalembert identify: from a log to parameters and a robot."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.log_options import LOG_SETTINGS, LOGS, SAVE_SETTINGS, save_settings
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, command, option
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.identification.handover import Outcome
    from dalembert.identification.log.settings import LogSettings


@command
def identify(
    robot: str = ROBOT,
    logs: tuple[str, ...] = LOGS,
    out: tuple[str, ...] = option(
        "Write the identified robot: .urdf, .toml, .xml (MJCF); rotors, friction and offsets: .yaml. May be repeated.",
        "-o",
        "--out",
        type=NewFile(".urdf", ".toml", ".xml", ".yaml", ".yml"),
        metavar="FILE",
    ),
    report: str | None = option("Write a report of one page.", type=NewFile(".html", ".htm"), metavar="FILE"),
    apply: bool = option("Put right what the first look finds wrong; without it such a log is refused."),
    force: bool = option("Write files whatever is wrong."),
    cutoff: float | None = option(
        "Of the low-pass filter [Hz]; the one that predicts best if not given.", type=POSITIVE
    ),
    friction: str | None = option(
        "Of viscous, coulomb, offset, root, cubic, load, or none; those that predict best if not given.",
        metavar="WORD,…",
    ),
    no_rotor: bool = option("Without rotor inertias."),
    method: str = option(
        "Least squares: joints weighted by their residuals, not weighted, or robust against wild samples.",
        type=click.Choice(["weighted", "ordinary", "robust"]),
        default="weighted",
    ),
    no_consistent: bool = option("Leave bodies as the log has them, possible or not."),
    holdout: float = option(
        "The last part, kept for judging.", type=Number(0, 0.9, max_open=True), default=1 / 3, show_default="1/3"
    ),
    validate: tuple[str, ...] = option("Judge on this log as well; may be repeated.", type=click.Path(), metavar="LOG"),
    settings: LogSettings = LOG_SETTINGS,
    save: str | None = SAVE_SETTINGS,
    tip: str | None = TIP,
) -> None:
    """Identify the parameters of a robot from logs of positions and torques.

    A log is CSV, npz, MATLAB's mat, HDF5, Parquet or a ROS bag, or several files with a quantity each (q.csv, tau.csv).
    Columns are found by their names (t, q1 …, tau1 …, joint names, those of UR, Franka and KUKA), or by what is in
    them. A first look says what is wrong with it. It is filtered, fitted with bodies that are possible, and judged on a
    part that was held out. Files are read again and judged; they are written only if that is worth it.

    \b
    Example: dalembert identify arm.urdf log.csv --out identified.urdf --report report.html
    """
    from dalembert.identification.handover import identify_log
    from dalembert.identification.log.read import read_logs

    arm = output.load(robot, tip)
    with waiting("reading the log") as say:
        recording = read_logs(logs, arm, settings, look=True)
        arm, recorded = recording.robot, recording.logs
        others = read_logs(validate, arm, recording.settings.without("gravity", "lock"), look=True).logs
        found = identify_log(
            arm,
            recorded,
            apply=apply,
            force=force,
            out=out,
            report=report,
            validate=others,
            cutoff=cutoff,
            friction=None if friction is None else () if friction == "none" else tuple(friction.split(",")),
            rotor=False if no_rotor else None,
            coupling=recording.settings.coupling,
            method=method,
            consistent=not no_consistent,
            holdout=holdout,
            progress=say,
        )
    if found.ok or found.files:
        said = recording.settings
        if apply and found.repeat:  # the next log is read so at once
            said = said.corrected(type(said).from_options(found.repeat))
        save_settings(save, said, ("friction", "cutoff", "no_rotor", "method", "no_consistent", "holdout", "validate"))
    notes = [note for log in recorded for note in log.notes]
    output.answer(lambda: found.data() | {"notes": notes}, lambda: _show(found, notes, apply))
    output.exit_unless(found.ok or bool(found.files))


def _show(found: Outcome, notes: list[str], applied: bool) -> None:
    for line in (*notes, *found.lines()):
        click.echo(line)
    if found.result is not None:
        output.print_table("", found.HEAD, found.rows())
    for finding in found.verdict:
        click.echo(str(finding), err=finding.severity == "error")
    if not found.ok and not found.files:
        if found.repeat and not applied:
            words = " ".join(f"{option} {shlex.quote(value)}" for option, value in found.repeat.items())
            click.echo(f"read it with {words}, or let --apply do so", err=True)
        click.echo("nothing was written; --force writes all the same", err=True)
    output.print_files(*found.files)
