"""The command line: `dalembert COMMAND ROBOT …`.

A command is a function of its name in the module that SECTIONS names. Its module is imported when it is used, so that
help is quick. `option_table` has all options, `options` declares commands. A command prints tables for people and, with
--json, data for programs. Errors are one line on standard error and an exit code:

    0    done
    1    the job failed, or the answer is no: a file that is missing or wrong, a pose out of reach
    2    wrong usage: an unknown command, option or name, a value out of range, options that exclude each other
    130  interrupted by Ctrl-C
    141  the reader of the output has gone

`terminal` turns exceptions into these; a user's mistake never shows a traceback.
"""

from __future__ import annotations

import gc
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from dalembert import __version__
from dalembert.apps.cli import terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Every command with its module and a summary. They are kept here, so that `--help` imports no command.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Robot models": {
        "robots": ("robots", "List the bundled robots."),
        "info": ("robots", "Show the joints, bodies and frames of a robot."),
        "check": ("check", "Find errors in a robot file, explain them and repair it."),
        "convert": ("robots", "Convert between URDF, TOML, DH tables and screw axes."),
    },
    "Kinematics and dynamics": {
        "fk": ("kinematics", "Forward kinematics: the pose of a frame."),
        "ik": ("kinematics", "Inverse kinematics: joint positions for a pose."),
        "dynamics": ("kinematics", "Mass matrix, Coriolis matrix, gravity torques and energies."),
        "equations": ("equations", "Print the equations of motion, or check your own formula."),
        "derive": ("derivation", "Derive the equations of motion step by step."),
        "properties": ("trust", "Check passivity, skew symmetry and other properties."),
        "bounds": ("trust", "Compute certified bounds on the terms of the dynamics."),
        "verify": ("trust", "Compare independent algorithms and other libraries on one robot."),
    },
    "Simulation, control and planning": {
        "simulate": ("motion", "Simulate a robot, with or without a controller."),
        "compare": ("control", "Compare controllers on one task."),
        "plan": ("motion", "Plan a motion through waypoints or around obstacles."),
        "phase": ("motion", "Draw the phase portrait of a joint."),
        "tune": ("control", "Compute controller gains from bandwidth and damping."),
    },
    "Teaching": {"exercise": ("exercise", "Create, solve and grade exercises.")},
    "Identification": {
        "excite": ("excitation", "Find the best motion for identifying parameters."),
        "log": ("log", "Inspect a log and write the settings with which it is read."),
        "identify": ("identification", "Identify the parameters of a real robot from a log."),
        "observe": ("observation", "Detect contacts in a log."),
    },
    "Reports and code": {
        "report": ("export", "Write a report on a robot as one HTML page."),
        "page": ("export", "Write an interactive simulation as one HTML page."),
        "studio": ("export", "Open an interactive 3-D view in the browser."),
        "export": ("export", "Write an algorithm as C, NumPy, JAX, CasADi or WebAssembly."),
        "firmware": ("firmware", "Write a controller as code for a microcontroller."),
    },
    "Installation": {
        "bench": ("installation", "Measure the speed of this machine."),
        "cache": ("installation", "Show or clear the cache of compiled code."),
        "completion": ("installation", "Print the completion script for a shell."),
    },
}
MAX_UNCOLLECTED = (
    100_000  # objects before garbage is collected: imports make few cycles, and it takes a tenth of the start
)
MODULES = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}
COMMANDS = {name: words for section in SECTIONS.values() for name, (_, words) in section.items()}


class _Commands(click.Group):
    """A group whose commands are functions of the modules beside this one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"dalembert.apps.cli.{MODULES[name]}"), name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from dalembert.apps.cli.option_table import ROBOT_OPTIONS

            name = error.option_name
            if name.lstrip("-") not in ROBOT_OPTIONS:
                raise
            raise click.UsageError(f"No such option '{name}' here. Write it after the command.", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dalembert.apps.cli.options import robot_options

        click.Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)
        with formatter.section("Options of every command that reads a ROBOT"):
            formatter.write_dl([record for option in robot_options() if (record := option.get_help_record(ctx))])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), words) for name, (_, words) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        named = [CompletionItem(name, help=words) for name, words in COMMANDS.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """click's own, with the nearest command named when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; choose from {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command '{args[0]}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **options: Any) -> Any:
        gc.set_threshold(MAX_UNCOLLECTED)
        terminal.prepare_streams()
        return super().main(*args, **options)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with terminal.report_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with terminal.report_errors(), warnings.catch_warnings():
            warnings.showwarning = terminal.show_warning
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dalembert")
def main() -> None:
    """Compute the kinematics, dynamics and control of robots.

    ROBOT is the name of a bundled robot (see 'dalembert robots') or a file:
    .urdf, .xacro, .xml (MJCF) or .toml.

    \b
    Examples:
      dalembert info panda              Show the joints of the Franka Panda.
      dalembert fk panda --q0 0,30deg,0,-90deg,0,2,0
      dalembert report robot.urdf -o report.html

    'dalembert COMMAND --help' explains a command and has an example.
    '--json' prints results for programs.
    """
