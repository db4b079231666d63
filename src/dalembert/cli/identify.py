"""dalembert identify: from a log to parameters, a robot file and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli import output
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.identify import Identification


@click.command(name="identify", short_help="Parameters of a real arm from its log.")
@output.robot_argument
@click.argument("log", metavar="LOG")
@click.option("-o", "--out", type=click.Path(dir_okay=False), help="Write the identified robot: .urdf or .toml.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report: one page of HTML.")
@click.option("--cutoff", type=float, help="Of the low-pass on positions and torques [Hz]; chosen from the log else.")
@click.option("--rate", type=float, help="Samples per second, if the log has no times.")
@click.option("--degrees", is_flag=True, help="Positions and rates are in degrees.")
@click.option("--no-rotor", is_flag=True, help="Without columns for rotor inertias.")
@click.option(
    "--physical", type=click.Choice(["sdp", "log-cholesky", "none"]), default="sdp", show_default=True,
    help="How bodies are kept possible.",
)  # fmt: skip
@click.option("--holdout", type=float, default=1 / 3, show_default="1/3", help="The last part, kept for judging.")
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
    from dalembert.identification.identify import identify
    from dalembert.identification.read import read_log

    arm = output.load(robot, tip)
    _checked(out, (".urdf", ".toml"))
    _checked(report, (".html", ".htm"))
    units = {"q": "deg", "qd": "deg"} if degrees else None
    recorded = read_log(log, arm, rate=rate, units=units)
    kept = None if physical == "none" else physical
    result = identify(arm, recorded, rotor=not no_rotor, physical=kept, holdout=holdout, cutoff=cutoff)
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


def _checked(path: str | None, suffixes: tuple[str, ...]) -> None:
    if path is not None and Path(path).suffix.lower() not in suffixes:
        raise click.UsageError(f"{path}: its name must end in {' or '.join(suffixes)}")


def _texts(result: Identification, out: str | None, report: str | None) -> dict[str, str]:
    files: dict[str, str] = {}
    if out is not None:
        files[out] = result.robot.to_urdf() if Path(out).suffix.lower() == ".urdf" else result.robot.to_toml()
    if report is not None:
        from dalembert.identification.report import html

        files[report] = html(result)
    return files


def _write(path: str, text: str) -> None:
    whole(path, lambda file: file.write(text.encode()), click.ClickException)


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
