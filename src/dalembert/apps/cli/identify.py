"""dalembert identify: from a log to parameters, a robot file and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.fit.identify import Identification


@click.command(name="identify")
@output.robot_argument
@click.argument("log", metavar="LOG", type=click.Path())
@click.option(
    "-o",
    "--out",
    type=output.NewFile(".urdf", ".toml"),
    metavar="FILE",
    help="Write the identified robot: .urdf or .toml.",
)
@click.option("--report", type=output.NewFile(".html", ".htm"), metavar="FILE", help="Write a report of one page.")
@click.option("--cutoff", type=output.POSITIVE, help="Of the low-pass filter [Hz]; chosen from the log if not given.")
@click.option("--rate", type=output.POSITIVE, help="Samples per second, if the log has no times.")
@click.option("--degrees", is_flag=True, help="Positions and rates are in degrees.")
@click.option("--no-rotor", is_flag=True, help="Without columns for rotor inertias.")
@click.option(
    "--physical",
    type=click.Choice(["sdp", "log-cholesky", "none"]),
    default="sdp",
    show_default=True,
    help="How bodies are kept possible.",
)
@click.option(
    "--holdout",
    type=output.Number(0, 0.9, max_open=True),
    default=1 / 3,
    show_default="1/3",
    help="The last part, kept for judging.",
)
@output.tip_option
@output.json_option
def command(
    robot: str,
    log: str,
    out: str | None,
    report: str | None,
    cutoff: float | None,
    rate: float | None,
    degrees: bool,
    no_rotor: bool,
    physical: str,
    holdout: float,
    tip: str | None,
    as_json: bool,
) -> None:
    """Identify the parameters of a robot from a log of positions and torques.

    The log is CSV, npz, Parquet or a ROS bag; columns are found by their names (t, q1 …, tau1 …, joint names). It is
    filtered, differentiated, fitted, judged on its last part, and made physically possible.

    \b
    Example: dalembert identify arm.urdf log.csv --out identified.urdf --report report.html
    """
    from dalembert.identification.fit.identify import identify
    from dalembert.identification.log.read import read_log

    arm = output.load(robot, tip)
    units = {"q": "deg", "qd": "deg"} if degrees else None
    kept = None if physical == "none" else physical
    with waiting("reading the log") as say:
        recorded = read_log(log, arm, rate=rate, units=units)
        say("fitting")
        result = identify(arm, recorded, rotor=not no_rotor, physical=kept, holdout=holdout, cutoff=cutoff)
        say("writing")
        files = _texts(result, out, report)
    for path, text in files.items():  # all made before any is written
        _write(path, text)
    if as_json:
        output.print_json(_data(result, files))
        return
    click.echo(result.table())
    for note in (*recorded.notes, *result.notes):
        click.echo(f"note: {note}")
    for path in files:
        click.echo(f"written to {path}")


def _texts(result: Identification, out: str | None, report: str | None) -> dict[str, str]:
    files: dict[str, str] = {}
    if out is not None:
        files[out] = result.robot.to_urdf() if Path(out).suffix.lower() == ".urdf" else result.robot.to_toml()
    if report is not None:
        from dalembert.identification.fit.report import html

        files[report] = html(result)
    return files


def _write(path: str, text: str) -> None:
    whole(path, lambda file: file.write(text.encode()))


def _data(result: Identification, files: dict[str, str]) -> dict[str, Any]:
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
