"""The command line: `dalembert COMMAND ROBOT …`.

A command is a function of its name in the module that SECTIONS names, imported when it is used, so that help is quick;
`options` says how one is declared. Commands print a table
for people and, with --json, data for programs. What stops one is a line on standard error and an exit code:

    0    done
    1    Dalembert refused, or the answer is no
    2    wrong usage
    130  interrupted by Ctrl-C
    141  whoever read the output has gone

`terminal` turns what may happen into these; no traceback is shown for a user's mistake.
"""

from __future__ import annotations

import gc
import warnings
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

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
UNCOLLECTED = 100_000  # objects made before garbage is looked for: imports make few cycles, and a tenth of the start-up
NO_FILE = ("robots", "exercise", "cache", "completion")
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
        taken = {word for parameter in command.params for word in parameter.opts}
        if name not in NO_FILE:
            command.params += [_also_behind(p) for p in self.params if p.expose_value and not taken & set(p.opts)]
        return command

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
        gc.set_threshold(UNCOLLECTED)
        terminal.prepare_streams()
        return super().main(*args, **options)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with terminal.report_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with terminal.report_errors(), warnings.catch_warnings():
            warnings.showwarning = terminal.show_warning
            return super().invoke(ctx)


def _also_behind(before: click.Parameter) -> click.Parameter:
    """An option that stands before the command, for those who write it behind: fk arm.urdf --base floating."""
    behind, name, convert = copy(before), before.name or "", before.callback

    def put(context: click.Context, option: click.Parameter, value: Any) -> None:
        if context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
            value = convert(context, option, value) if convert else value
            said = context.find_root().params
            said[name] = (*said[name], *value) if option.multiple else value

    behind.name, behind.callback, behind.expose_value = f"{name}_behind", put, False  # a command may have that name
    if isinstance(behind, click.Option):
        behind.hidden = True
    return behind


def _allowed(_context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    if not words:
        return ()
    from dalembert.apps.cli.output import names_of
    from dalembert.describe.mjcf.read import ALLOWED

    return tuple(names_of("entry of --allow", ",".join(words), ALLOWED))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dalembert")
@click.option("--strict", is_flag=True, help="Reject a file with errors in shapes or colors, too.")
@click.option(
    "--allow",
    multiple=True,
    callback=_allowed,
    metavar="WHAT",
    help="MJCF elements to ignore: tendons, actuators, armature, equalities or springs.",
)
@click.option(
    "--package-dir",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Folder that contains ROS packages of the robot file.",
)
@click.option(
    "--base", type=click.Choice(("fixed", "floating", "planar")), help="How the base is attached to the world."
)
@click.option("--robot", multiple=True, metavar="BODY", help="First body of the robot to take from a scene.")
@click.option("--free", type=click.Choice(("keep", "drop")), help="Keep or drop the loose objects of a scene.")
@click.pass_context
def main(context: click.Context, /, **_options: Any) -> None:
    """Compute the kinematics, dynamics and control of robots.

    ROBOT is the name of a bundled robot (see 'dalembert robots') or a file:
    .urdf, .xacro, .xml (MJCF) or .toml.

    \b
    Examples:
      dalembert info panda              Show the joints of the Franka Panda.
      dalembert fk panda --q 0,30deg,0,-90deg,0,2,0
      dalembert report robot.urdf -o report.html

    'dalembert COMMAND --help' explains a command and has an example.
    '--json' prints results for programs.
    """
    if context.invoked_subcommand in NO_FILE:
        from dalembert.apps.cli.output import READING, refuse_idle

        refuse_idle(f"'dalembert {context.invoked_subcommand}' reads no file", *READING)
