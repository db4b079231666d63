"""How the tests of the command line run a command: in this process, and without a traceback whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import click
from click.testing import CliRunner, Result

from dalembert.apps.cli import COMMANDS, main

WIDE = {"COLUMNS": "200"}  # tables are cut at 120 when piped, messages at the terminal's width


def leaves() -> list[tuple[str, ...]]:
    """The words of every command, those of groups too: ("info",), ("exercise", "list")."""
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        found += [(name, one) for one in command.commands] if isinstance(command, click.Group) else [(name,)]
    return found


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(a) for a in arguments], env=WIDE, prog_name="dalembert")
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)  # never a traceback
    return result


def data(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


def words(text: str) -> str:
    """Without line breaks: messages are wrapped where they happen to end."""
    return " ".join(text.split())


def program(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """As a program of its own."""
    command = [sys.executable, "-m", "dalembert", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    env = {**os.environ, "PYTHONUNBUFFERED": "", **options.pop("env", {})}  # what is held back, is held back here too
    return subprocess.Popen(command, **{**pipes, **options}, env=env)
