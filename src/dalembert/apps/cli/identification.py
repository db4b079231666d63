"""dalembert identify: from a log to parameters and a robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, argument, command, option
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.fit.identify import Identification


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
