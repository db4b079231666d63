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

# Every command with its module and what it is for; kept here, so that help imports none of them.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Robots": {
        "robots": ("robots", "The bundled robots."),
        "info": ("robots", "A robot's card: joints, bodies, frames, warnings."),
        "check": ("check", "A doctor for models: what is wrong, why, and what to do."),
        "convert": ("robots", "Between URDF, TOML, DH tables and screw axes."),
    },
    "Kinematics and dynamics": {
        "fk": ("kinematics", "Poses of frames at joint positions."),
        "ik": ("kinematics", "Joint positions that reach a pose: the nearest, or all."),
        "dynamics": ("kinematics", "M, C, g, torques and energies at a state."),
        "equations": ("equations", "Closed-form equations, exact; check a formula of yours."),
        "derive": ("derivation", "The equations derived step by step, as they are taught."),
        "properties": ("trust", "Ṁ − 2C, passivity, linearity and more: shown and measured."),
        "bounds": ("trust", "Certified bounds on M, c and g."),
        "verify": ("trust", "Agreement certificate: every way to the same numbers, compared."),
    },
    "Motion and control": {
        "simulate": ("motion", "A run, free or under a controller, with its energy books."),
        "compare": ("control", "Several controllers on one task, in a table."),
        "plan": ("motion", "A motion through joint positions, or around obstacles to a goal."),
        "phase": ("motion", "The phase portrait of a joint, free or under a controller."),
        "tune": ("control", "Gains by bandwidth and damping; Ziegler–Nichols for a plant."),
    },
    "Courses": {"exercise": ("exercise", "Exercises with fresh numbers: list, make, solve, grade.")},
    "Real arms": {
        "excite": ("excitation", "The motion from which parameters are identified best."),
        "identify": ("identification", "Parameters of a real arm from its log."),
        "observe": ("observation", "Contacts in a log, with a rate of false alarms that holds."),
    },
    "To take along": {
        "export": ("export", "A kernel as C, NumPy, JAX or CasADi."),
        "firmware": ("firmware", "A control law as code for a chip, or as C."),
        "report": ("export", "Everything about a robot as one page of HTML."),
        "page": ("export", "A robot to play with: one file that simulates it in any browser."),
        "studio": ("export", "A robot on a page in the browser: pose, load, simulate, play back."),
    },
    "This installation": {
        "bench": ("installation", "How fast the kernels are on this machine: a quick look."),
        "cache": ("installation", "The compiled kernels on disk: see and clear."),
        "completion": ("installation", "The script that lets a shell complete commands and robots."),
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
@click.option("--strict", is_flag=True, help="Refuse a file for shapes and colors too.")
@click.option(
    "--allow",
    multiple=True,
    callback=_allowed,
    metavar="WHAT",
    help="Leave out tendons, actuators or equalities of MJCF.",
)
@click.option("--package-dir", multiple=True, type=click.Path(exists=True, file_okay=False), help="Where packages lie.")
@click.option("--base", type=click.Choice(("fixed", "floating", "planar")), help="Put the robot on a base that moves.")
@click.option("--robot", multiple=True, metavar="BODY", help="Take one robot out of a scene, by its first body.")
@click.option("--free", type=click.Choice(("keep", "drop")), help="Whether loose objects of a scene stay.")
@click.pass_context
def main(context: click.Context, /, **_options: Any) -> None:
    """From a description of a robot to everything that follows from it.

    ROBOT is a bundled name (see 'dalembert robots') or a file: .urdf, .xacro, .toml, .xml (MJCF).
    Every command has --json for programs, and an example in its own --help.

    \b
    Example: dalembert info panda
    """
    if context.invoked_subcommand in NO_FILE:
        from dalembert.apps.cli.output import READING, refuse_idle

        refuse_idle(f"'dalembert {context.invoked_subcommand}' reads no file", *READING)
