"""dalembert log inspect: a first look at a log, and the file of settings with which it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import argument, command, complete_robots, in_options, pick
from dalembert.apps.cli.terminal import waiting
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.findings import Finding
    from dalembert.identification.log.samples import Log, Table
    from dalembert.identification.log.settings import LogSettings

HEAD = ("column", "unit", "least", "largest", "first value")


def read_settings(file: str | None, given: Sequence[str]) -> LogSettings:
    """Return the settings of --settings and, in addition, of --set KEY=VALUE."""
    from dalembert.identification.log.settings import LogSettings

    settings = LogSettings() if file is None else LogSettings.from_toml(file)
    said: dict[str, list[str]] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE, as in units=q=deg", param_hint="--set")
        said.setdefault(name.strip().replace("-", "_"), []).append(value)
    return settings.updated(LogSettings.from_options(said))


@command
def inspect(
    words: tuple[str, ...] = argument(
        reads_robot=True, metavar="[ROBOT] LOG...", nargs=-1, required=True, shell_complete=complete_robots
    ),
    settings: str | None = pick("settings"),
    said: tuple[str, ...] = pick("set"),
    apply: bool = pick("apply"),
    out: str | None = pick("output", type=OutputFile(".toml")),
) -> None:
    """Inspect a log: columns, rate, units, signs, gaps and suspicious values.

    Without ROBOT the output lists the columns. With ROBOT it names the columns of the joints, and compares positions,
    velocities and torques with the model. --output writes the settings as a TOML file in which every setting is
    explained; correct it in an editor, and pass it to 'identify', 'observe' or 'log inspect' as --settings. Exit code 1
    if the log cannot be read, or reads wrongly; the file is written all the same.

    \b
    Examples: dalembert log inspect log.csv
              dalembert log inspect planar-2r log.csv --set units=q=rad -o log.toml
    """
    source, logs = _find_robot(words)
    chosen = read_settings(settings, said)
    found: tuple[Finding, ...] = ()
    if source is None:
        data = _list_columns(logs, chosen)
    else:
        try:
            data, found, chosen = _look(source, logs, chosen, apply)
        except DalembertError:
            if out is not None:  # the file explains the settings that may be missing
                chosen.to_toml(out, explained=True)
                click.echo(f"written to {out}", err=True)
            raise
    if out is not None:
        chosen.to_toml(out, explained=True)
    data |= {"settings": chosen.said(), "findings": [_finding_data(finding) for finding in found], "output": out}
    output.answer(data, lambda: _show(data, found, out))
    output.exit_unless(not any(finding.severity == "error" for finding in found))


def _finding_data(finding: Finding) -> dict[str, object]:
    return {"rule": finding.rule, "severity": finding.severity, "message": finding.message, **finding.data()}


def _find_robot(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the robot, if the first argument is one, and the logs."""
    from dalembert import robots
    from dalembert.loading import SUFFIXES

    first, *rest = words
    is_robot = first in robots.names() or Path(first).suffix.lower() in SUFFIXES or ":" in first
    if not is_robot and rest and not Path(first).exists():
        from dalembert.errors import unknown

        raise click.UsageError(str(unknown("robot", first, robots.names())))
    if is_robot and not rest:
        raise click.UsageError("Missing argument 'LOG...'.")
    return (first, rest) if is_robot else (None, [first, *rest])


def _list_columns(logs: Sequence[str], settings: LogSettings) -> dict[str, Any]:
    from dalembert.identification.log.formats import read_table

    with waiting("reading the log"):
        tables = [read_table(path, settings.topic) for path in logs]
    return {"logs": [_describe_table(table) for table in tables]}


def _describe_table(table: Table) -> dict[str, Any]:
    import numpy as np

    columns = []
    for name, column in zip(table.names, table.values.T, strict=True):
        known = column[np.isfinite(column)]
        ends = (float(known.min()), float(known.max())) if len(known) else (None, None)
        first = table.texts.get(name, float(column[0]) if len(column) else None)
        columns.append({"name": name, "unit": table.units.get(name, ""), "least": ends[0], "largest": ends[1]})
        columns[-1]["first"] = first
    return {"file": table.source, "rows": len(table.values), "columns": columns, "notes": list(table.notes)}


def _look(
    source: str, logs: Sequence[str], settings: LogSettings, apply: bool
) -> tuple[dict[str, Any], tuple[Finding, ...], LogSettings]:
    """Return the output, the findings of the first look, and the settings with the detected values."""
    from dalembert.identification.log.columns import find_columns
    from dalembert.identification.log.formats import read_table
    from dalembert.identification.log.inspect import first_look
    from dalembert.identification.log.read import read_logs
    from dalembert.identification.log.settings import LogSettings

    arm = output.load(source)
    with waiting("reading the log"):
        recording = read_logs(logs, arm, settings, look=True)
        looks = [first_look(recording.robot, log) for log in recording.logs]
    said = recording.settings
    table = read_table(logs[0], said.topic) if len(logs) == 1 else None
    if table is not None and said.columns is None:
        places = find_columns(table, recording.robot.joint_names).places
        named = {group: [table.names[k] if table.named else k for k in found] for group, found in places.items()}
        said = said.updated(LogSettings(columns={g: x[0] if g == "t" and len(x) == 1 else x for g, x in named.items()}))
    if apply:
        for look in looks:
            said = said.corrected(LogSettings(**look.correction.settings()))
    data = {"robot": arm.name, "logs": [_describe_log(log) for log in recording.logs]}
    findings = tuple(finding for look in looks for finding in look.report)
    return data, () if apply and all(look.correction for look in looks) else findings, said


def _describe_log(log: Log) -> dict[str, Any]:
    from dalembert.identification.log.times import common_step

    return {
        "file": log.source,
        "rows": len(log),
        "seconds": float(log.t[-1] - log.t[0]),
        "rate": 1 / common_step(log.t),
        "joints": list(log.joints),
        "velocities": log.qd is not None,
        "notes": list(log.notes),
    }


def _show(data: dict[str, Any], found: Sequence[Finding], out: str | None) -> None:
    for log in data["logs"]:
        if "columns" in log:
            rows = [["" if x is None else x for x in column.values()] for column in log["columns"]]
            output.print_table(f"{log['file']}: {log['rows']} rows", HEAD, rows)
        else:
            measured = "positions, velocities and torques" if log["velocities"] else "positions and torques"
            click.echo(
                f"{log['file']}: {log['rows']} rows in {output.number(log['seconds'])} s, "
                f"{output.number(log['rate'])} Hz, {measured} of {len(log['joints'])} joints"
            )
        for note in log["notes"]:
            click.echo(f"note: {in_options(note)}")
    for finding in found:
        click.echo(in_options(str(finding)), err=finding.severity == "error")
    output.print_files(out)


@click.group()
def log() -> None:
    """Logs of a robot: inspect one, and write the settings with which it is read.

    \b
    Example: dalembert log inspect planar-2r log.csv -o log.toml
    """


log.add_command(inspect, "inspect")
