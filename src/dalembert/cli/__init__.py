"""The command line: `dalembert COMMAND ROBOT …`.

A command lives in a module of its name, imported when it is used, so that help is quick. Commands print a table
for people and, with --json, data for programs. What Dalembert refuses is one line on standard error and exit
code 1; wrong usage is click's exit code 2. No traceback is shown for either.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from dalembert import __version__
from dalembert.errors import DalembertError

COMMANDS = ("robots", "info", "dynamics", "equations", "identify", "convert", "export", "cache")


class _Commands(click.Group):
    """A group whose commands are modules beside this one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dalembert.cli.{name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """click's own, with the nearest command named when there is none of that name."""
        import difflib

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; choose from {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command '{args[0]}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DalembertError as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dalembert")
def main() -> None:
    """From a description of a robot arm to everything that follows from it.

    ROBOT is a bundled name (see 'dalembert robots') or a file: .urdf, .xacro, .toml.
    """
