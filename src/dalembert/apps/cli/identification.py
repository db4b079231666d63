"""dalembert identify: from a log to parameters and a robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.log_options import LOG_SETTINGS, LOGS, SAVE_SETTINGS, save_settings
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, command, option
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.fit.identify import Identification
    from dalembert.identification.log.samples import Log
    from dalembert.identification.log.settings import LogSettings


@command
def identify(
    robot: str = ROBOT,
    logs: tuple[str, ...] = LOGS,
    out: str | None = option(
        "Write the identified robot: .urdf or .toml.", "-o", "--out", type=NewFile(".urdf", ".toml"), metavar="FILE"
    ),
    report: str | None = option("Write a report of one page.", type=NewFile(".html", ".htm"), metavar="FILE"),
    cutoff: float | None = option("Of the low-pass filter [Hz]; chosen from the log if not given.", type=POSITIVE),
    friction: str | None = option("Columns of friction: viscous,coulomb,offset, …, or none.", metavar="WORD,…"),
    no_rotor: bool = option("Without columns for rotor inertias."),
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
    them. It is filtered, differentiated, fitted, judged on a part that was held out, and made physically possible.

    \b
    Example: dalembert identify arm.urdf log.csv --out identified.urdf --report report.html
    """
    from dalembert.identification.fit.identify import identify as fit
    from dalembert.identification.fit.regressor import FRICTION
    from dalembert.identification.log.read import read_logs

    arm = output.load(robot, tip)
    terms = FRICTION if friction is None else () if friction == "none" else tuple(friction.split(","))
    with waiting("reading the log") as say:
        recording = read_logs(logs, arm, settings)
        arm, recorded = recording.robot, recording.logs
        others = read_logs(validate, arm, recording.settings.without("gravity", "lock")).logs
        say("fitting")
        motors = recording.settings.coupling
        result = fit(
            arm,
            recorded,
            friction=terms,
            rotor=not no_rotor,
            coupling=motors,
            consistent=not no_consistent,
            holdout=holdout,
            cutoff=cutoff,
        )
        judged = {log.source: _judge_on(result, log, cutoff) for log in others}
        say("writing")
        files = _write_texts(result, out, report)
    for path, text in files.items():  # all made before any is written
        whole(path, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
    save_settings(save, recording.settings, ("friction", "cutoff", "no_rotor", "no_consistent", "holdout", "validate"))

    def show() -> None:
        click.echo(result.table())
        for note in (*(note for log in recorded for note in log.notes), *result.notes):
            click.echo(f"note: {note}")
        for source, error in judged.items():
            click.echo(f"{source}: {100 * error:.2f} % of the torques")
        output.print_files(*files)

    output.answer(lambda: _identified_data(result, files) | {"validation": judged}, show)


def _judge_on(result: Identification, log: Log, cutoff: float | None) -> float:
    """The error on another log, as a part of its torques."""
    from dalembert.identification.fit.estimate import judge_fit
    from dalembert.identification.log.prepare import prepare

    samples = prepare(log, cutoff=result.samples[0].cutoff if cutoff is None else cutoff)
    return float(judge_fit(samples.tau, result.predict(samples)).total)


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
