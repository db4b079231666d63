"""The options by which a command is told about a log, the same for every command that reads one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dalembert.apps.cli.options import NewFile, OptionGroup, argument, option
from dalembert.errors import unknown

if TYPE_CHECKING:
    from dalembert.identification.log.settings import LogSettings

# Beside the words of `LogSettings`, which say their own help.
REPEATED = ("columns", "units", "sign", "offset", "ratio", "order", "lock")
HELP = {
    "columns": ("Columns by name or number: t=clock,q=pos_{i},tau=M1,M2,…", "q=…,tau=…"),
    "units": ("q=deg,qd=rpm,tau=mNm,t=ms; one for all joints, or one per joint.", "q=…,tau=…"),
    "sign": ("±1 of everything, or tau=1,-1,…; one for all joints, or one per joint.", "tau=…"),
    "offset": ("Added to the positions [rad, m]; tau=… [N m].", "q=…,tau=…"),
    "ratio": ("Gear ratios, if the log is of the motors; tau=… if only its torques are.", "N,…"),
    "coupling": ("G of the motors θ = G q, its rows between semicolons.", "N,…;N,…"),
    "torque_coupling": ("H of τ = H τ_m, if it is not Gᵀ.", "N,…;N,…"),
    "torque_constant": ("[N m/A] of currents; one for all motors, or one per motor.", "K,…"),
    "gravity": ("In the base frame, as the arm was mounted [m/s²].", "x,y,z"),
    "lock": ("Joints that were held, such as a gripper's: finger_joint=0.02.", "JOINT=x,…"),
    "order": ("Order of the columns, from 1, if some were exchanged: tau=1,3,2,…", "tau=…"),
    "lag": ("By which the torques came late [s].", "SECONDS"),
    "rate": ("Samples per second, if the log has no times or bad ones.", "HZ"),
    "window": ("The part of the log to use [s], from its first sample.", "FROM:TO"),
    "topic": ("Of a ROS bag with several.", "NAME"),
    "bad_rows": ("Rows with NaN or absurd numbers: drop, refuse.", "WORD"),
    "outliers": ("Single spikes: remove, keep.", "WORD"),
    "gaps": ("Gaps in the times: cut, refuse.", "WORD"),
    "resample": ("To even steps: auto, refuse, force.", "WORD"),
    "still": ("Columns that never change: refuse, keep.", "WORD"),
}


def _use_file(context: click.Context, _option: click.Parameter, path: str | None) -> str | None:
    """Options of the command itself, from its table in the file, as defaults."""
    if path is None or not os.path.exists(path):  # which is told when the settings are made
        return path
    from dalembert.identification.log.settings import read_toml

    command = context.command.name or ""
    own = {p.name: p for p in context.command.params if isinstance(p, click.Option) and p.name not in HELP}
    table: dict[str, Any] = {key.replace("-", "_"): x for key, x in read_toml(path).get(command, {}).items()}
    for key, value in table.items():
        if key not in own:
            raise unknown(f"option of [{command}] in {path}", key, [name for name in own if name])
        if isinstance(value, list) and not own[key].multiple:
            table[key] = ",".join(map(str, value))
    context.default_map = {**(context.default_map or {}), **table}
    return path


def _settings(given: Mapping[str, Any]) -> LogSettings:
    from dalembert.identification.log.settings import LogSettings

    said = {name: given[name] for name in HELP if given[name] not in (None, ())}
    if given["degrees"]:
        said["units"] = ("q=deg,qd=deg/s", *said.get("units", ()))
    file = given["log_settings"]
    base = LogSettings() if file is None else LogSettings.from_toml(file)
    return base.updated(LogSettings.from_options(said))


def save_settings(path: str | None, settings: LogSettings, names: Sequence[str]) -> None:
    """Write what was said about the log, and these options of the command where they were given, for --log-settings."""
    if path is None:
        return
    context = click.get_current_context()
    given = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    own = {n: context.params[n] for n in names if context.get_parameter_source(n) in given}
    settings.to_toml(path, **{context.command.name or "": own})


LOGS = argument(metavar="LOG...", nargs=-1, required=True, type=click.Path())
LOG_SETTINGS: Any = OptionGroup(
    {
        **{name: option(words, metavar=metavar) for name, (words, metavar) in HELP.items()},
        "degrees": option("Positions are in degrees and rates in degrees per second."),
        "log_settings": option(
            "A file of these options: .toml.", type=click.Path(), metavar="FILE", is_eager=True, callback=_use_file
        ),
    },
    {
        **{name: "tuple[str, ...]" if name in REPEATED else "str" for name in HELP},
        "degrees": "bool",
        "log_settings": "str",
    },
    _settings,
)
SAVE_SETTINGS = option(
    "Write what is said about the log, for --log-settings.", "--save-settings", type=NewFile(".toml"), metavar="FILE"
)
