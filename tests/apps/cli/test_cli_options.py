"""The options of all commands come from one table: one meaning and one help each, few per command; and JSON schemas."""

from __future__ import annotations

import json
import tomllib

import click
import numpy as np
import pytest
from invoking import data, leaves, run

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.apps.cli.option_table import OPTIONS, ROBOT_OPTIONS

MAX_SPELLINGS = 110
MAX_VISIBLE = 15


def command_of(name: tuple[str, ...]) -> click.Command:
    context = click.Context(main)
    command = main.get_command(context, name[0])
    return command.commands[name[1]] if isinstance(command, click.Group) else command


COMMANDS = {name: command_of(name) for name in leaves()}


def options_of(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def test_every_option_is_a_row_of_the_table():
    used = set()
    for name, command in COMMANDS.items():
        for option in options_of(command):
            row = OPTIONS[option.opts[-1].removeprefix("--")]
            assert option.help == row.help and option.unit == row.unit, (name, option.opts)
            assert option.secondary_opts == [] and option.opts[:-1] == list(row.short)
            used.add(option.opts[-1].removeprefix("--"))
    assert used == set(OPTIONS), "rows that no command has"


def test_spellings_are_few():
    spelled = {word for command in (main, *COMMANDS.values()) for option in options_of(command) for word in option.opts}
    assert len(spelled) <= MAX_SPELLINGS


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_a_command_has_few_visible_options(name):
    visible = [option for option in options_of(COMMANDS[name]) if not option.hidden and option.opts != ["--json"]]
    assert len(visible) <= MAX_VISIBLE


def test_help_is_a_noun_phrase_with_its_unit_and_default():
    for name, row in OPTIONS.items():
        assert row.help[0].isupper() and not row.help.endswith("."), name
        assert "default" not in row.help and "[" not in row.help, name
    out = " ".join(run("simulate", "--help").output.split())
    assert "Time step [s] (default: 0.001)" in out and "(default: half of the duration)" in out


def test_commands_that_read_a_robot_have_its_options():
    for name, command in COMMANDS.items():
        hidden = {option.opts[-1].removeprefix("--") for option in options_of(command) if option.hidden}
        assert hidden in (set(), set(ROBOT_OPTIONS)), name
    help_ = run("--help").output
    assert all(f"--{option}" in help_ for option in ROBOT_OPTIONS)


def test_the_robot_options_change_the_robot(tmp_path):
    plain = data("dynamics", "planar-2r", "--q0", "0.3,0.4")
    loaded = data("dynamics", "planar-2r", "--q0", "0.3,0.4", "--payload", "2", "--gravity", "0,0,-9.81")
    robot = dl.load("planar-2r").with_payload(2.0).with_gravity((0, 0, -9.81))
    np.testing.assert_array_equal(loaded["M"], robot.mass_matrix([0.3, 0.4]))
    assert loaded["g"] == pytest.approx([0, 0]) and plain["g"][0] > 1
    assert data("fk", "panda", "--tip", "panda_link4")["poses"][0]["frame"] == "panda_link4"
    assert data("info", "planar-2r", "--base", "planar")["nv"] == 5


JSON_EXAMPLES = [
    "robots",
    "info planar-1r",
    "check planar-1r",
    "check --rules",
    "convert planar-1r --format urdf",
    "fk planar-1r",
    "ik planar-2r --xyz 1,1,0",
    "dynamics planar-1r",
    "equations planar-1r",
    "derive planar-1r",
    "properties planar-1r --states 5",
    "bounds planar-1r --only mu2",
    "verify planar-1r --states 4 --without mujoco --without pinocchio",
    "simulate planar-1r --duration 0.01",
    "compare planar-1r --controller pd --vary payload.mass=0 --move 0.1 --duration 0.1",
    "plan planar-1r --through 1 --duration 1",
    "phase planar-1r --duration 0.1 -o phase.svg",
    "tune planar-1r",
    "exercise list",
    "exercise make compose-rotations",
    "exercise solve compose-rotations",
    "exercise grade compose-rotations --answer R=1",
    "excite planar-2r --starts 1 --harmonics 3 --limits velocity=3 --limits acceleration=10 -o motion.csv",
    "log inspect motion.csv",
    "identify planar-2r motion.csv --no-consistent",
    "observe planar-2r motion.csv --false-alarms 1000",
    "report planar-1r --only robot --quick",
    "page planar-1r",
    "export planar-1r",
    "firmware planar-1r",
    "bench planar-1r --states 8",
    "cache",
    "completion bash",
]


def test_json_has_a_schema_in_every_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in JSON_EXAMPLES:
        found = _json(line)
        assert found["schema"] == 1 and next(iter(found)) == "schema", line
    named = {tuple(line.split()[:2]) for line in JSON_EXAMPLES} | {(line.split()[0],) for line in JSON_EXAMPLES}
    assert {name for name in COMMANDS if name not in named} == {("studio",)}


def _json(line: str) -> dict[str, object]:
    from click.testing import CliRunner

    result = CliRunner().invoke(main, [*line.split(), "--json"], prog_name="dalembert")
    assert result.exit_code in (0, 1) and result.stdout, (line, result.output)
    return json.loads(result.stdout)


def test_files_have_a_schema(tmp_path):
    certificate, settings = tmp_path / "certificate.json", tmp_path / "log.toml"
    run("verify", "planar-1r", "--states", "4", "--without", "mujoco", "--without", "pinocchio", "-o", certificate)
    assert json.loads(certificate.read_text())["schema"] == 1
    (tmp_path / "log.csv").write_text("t,q1\n" + "".join(f"{k / 100},{k}\n" for k in range(20)))
    run("log", "inspect", tmp_path / "log.csv", "-o", settings)
    assert tomllib.loads(settings.read_text()) == {"schema": 1}
