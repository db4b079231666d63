"""dalembert identify: from a log to parameters and a robot."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.log import read_settings
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import LOGS, ROBOT, command, in_options, pick
from dalembert.apps.cli.terminal import waiting
from dalembert.words import write_value

if TYPE_CHECKING:
    from dalembert.identification.handover import Outcome

REPORTS = (".html", ".htm")
ROBOT_FILES = (".urdf", ".toml", ".xml", ".yaml", ".yml")
METHODS = ("weighted", "ordinary", "robust")


@command
def identify(
    robot: str = ROBOT,
    logs: tuple[str, ...] = LOGS,
    out: tuple[str, ...] = pick("output", type=OutputFile(*ROBOT_FILES, *REPORTS)),
    settings: str | None = pick("settings"),
    said: tuple[str, ...] = pick("set"),
    apply: bool = pick("apply"),
    force: bool = pick("force"),
    cutoff: float | None = pick("cutoff", shown="by cross-validation"),
    terms: str | None = pick("terms", shown="by cross-validation"),
    method: str = pick("method", "weighted", type=METHODS),
    no_consistent: bool = pick("no-consistent"),
    holdout: float = pick("holdout", 1 / 3, shown="1/3"),
    validate: tuple[str, ...] = pick("validate"),
) -> None:
    """Identify the parameters of a robot from logs of positions and torques.

    A log is CSV, npz, MATLAB's mat, HDF5, Parquet or a ROS bag, or several files with one quantity each (q.csv,
    tau.csv). Columns are found by their names (t, q1 …, tau1 …, joint names, those of UR, Franka and KUKA), or by
    --settings. A first look finds wrong units, signs and orders; --apply corrects them. Exit code 1 if the result is
    not worth writing.

    \b
    Output: the robot as .urdf, .toml or .xml (MJCF); rotors, friction and offsets as .yaml;
            a report as .html.
    Method: weighted (joints by their residuals), ordinary, or robust against outliers.

    \b
    Example: dalembert identify arm.urdf log.csv -o identified.urdf -o report.html
    """
    from dalembert.identification.handover import identify_log
    from dalembert.identification.log.read import read_logs

    reports = [path for path in out if path.lower().endswith(REPORTS)]
    if len(reports) > 1:
        raise click.UsageError(f"--output names {len(reports)} reports; one is written")
    friction, rotor = _read_terms(terms)
    recorded_as = read_settings(settings, said)
    arm = output.load(robot)
    with waiting("reading the log") as say:
        recording = read_logs(logs, arm, recorded_as, look=True)
        arm, recorded = recording.robot, recording.logs
        others = read_logs(validate, arm, recording.settings.without("gravity", "locked"), look=True).logs
        found = identify_log(
            arm,
            recorded,
            apply=apply,
            force=force,
            out=tuple(path for path in out if path not in reports),
            report=reports[0] if reports else None,
            validate=others,
            cutoff=cutoff,
            friction=friction,
            rotor=rotor,
            coupling=recording.settings.coupling,
            method=method,
            consistent=not no_consistent,
            holdout=holdout,
            progress=say,
        )
    notes = [note for log in recorded for note in log.notes]
    output.answer(lambda: found.data() | {"notes": notes}, lambda: _show(found, notes, apply))
    output.exit_unless(found.ok or bool(found.files))


def _read_terms(terms: str | None) -> tuple[tuple[str, ...] | None, bool | None]:
    """Return the friction terms and whether there are rotor inertias; None is chosen by cross-validation."""
    if terms is None:
        return None, None
    from dalembert.identification.fit.terms import TERMS

    every = ("friction", "rotor", "none", *(term for term in TERMS if term not in ("rotor", "spring")))
    names = output.names_of("term", terms, every)
    listed = tuple(name for name in names if name not in ("friction", "rotor", "none"))
    return None if "friction" in names else listed, None if "rotor" in names else False


def _show(found: Outcome, notes: list[str], applied: bool) -> None:
    for line in (*notes, *found.lines()):
        click.echo(in_options(line))
    if found.result is not None:
        output.print_table("", found.HEAD, found.rows())
    for finding in found.verdict:
        click.echo(in_options(str(finding)), err=finding.severity == "error")
    if not found.ok and not found.files:
        if found.repeat and not applied:
            said = (f"{name}={write_value(value)}" for name, value in found.repeat.items())
            click.echo(
                f"read it with {' '.join(f'--set {shlex.quote(one)}' for one in said)}, or use --apply", err=True
            )
        click.echo("nothing was written; --force writes the files in spite of errors", err=True)
    output.print_files(*found.files)
