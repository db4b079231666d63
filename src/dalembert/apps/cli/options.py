"""Commands are functions, and each parameter is an option that is picked from OPTIONS or an argument.

    @command
    def fk(robot: str = ROBOT, q0: str | None = pick("q0", shown="home"), every: bool = pick("all")) -> None:

A parameter annotated bool is a flag; a tuple is an option that can be repeated. Every command has --json, and every
command with ROBOT has ROBOT_OPTIONS, which its help lists in one line.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli.option_table import OPTIONS, ROBOT_OPTIONS, OptionRow, OutputFile
from dalembert.apps.cli.terminal import interruptible
from dalembert.errors import DalembertError, InputError, UnknownNameError
from dalembert.names import in_terminal
from dalembert.renamed import find_new_name
from dalembert.words import with_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP_WIDTH = 76  # characters of a line that is not wrapped again
# Arguments of Python functions that an option of another name gives.
PYTHON_NAMES = {"--package-dir": "package_dirs", "--ignore": "allow", "--to": "reference", "--q0": "at"}


@dataclass(frozen=True)
class Picked:
    """An option or an argument of a command, as `pick` and `argument` return it."""

    option: str = ""  # the name of its row, if it is an option
    settings: Mapping[str, Any] = field(default_factory=dict)
    reads_robot: bool = False

    def parameter(self, name: str, annotation: str) -> click.Parameter:
        """Return the click parameter that gives the argument `name` of a command's function."""
        if not self.option:
            return click.Argument([name], **self.settings)
        return _make_option(self.option, name, annotation, **self.settings)


def pick(option: str, default: object = None, *, shown: str | None = None, **settings: object) -> Any:
    """Declare an option of OPTIONS by its name; `shown` is what help shows as its default. `settings` are click's."""
    return Picked(option, {"default": default, "show_default": shown or default not in (None, False), **settings})


def argument(*, reads_robot: bool = False, **settings: object) -> Any:
    """Declare an argument; with `reads_robot` the command has ROBOT_OPTIONS."""
    return Picked("", settings, reads_robot)


class Option(click.Option):
    """An option whose help is "Noun phrase [unit] (default: …)"."""

    def __init__(self, names: Sequence[str], row: OptionRow, **settings: Any) -> None:
        super().__init__(names, help=row.help, **settings)
        self.unit = row.unit

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        default = self.show_default if isinstance(self.show_default, str) else self.get_default(ctx, call=False)
        default = f"{default:g}" if isinstance(default, float) else default
        notes = [f"default: {default}"] if self.show_default and default not in (None, ()) else []
        notes += ["can be repeated"] if self.multiple else []
        unit = f" [{self.unit}]" if self.unit else ""
        return record[0], f"{self.help}{unit}" + (f" ({'; '.join(notes)})" if notes else "")


def _make_option(option: str, name: str, annotation: str, **settings: Any) -> click.Option:
    row = OPTIONS[option]
    kind = settings.pop("type", row.type)
    if isinstance(kind, tuple):
        kind = click.Choice(kind)
    if annotation == "bool":
        settings |= {"is_flag": True}
    else:
        settings |= {"type": kind, "multiple": annotation.startswith("tuple[")}
        settings |= {} if isinstance(kind, click.Choice) else {"metavar": row.metavar}
    if settings.get("default") is None:
        settings.pop("default", None)  # click then has its own idea of a missing value
    if option in COMPLETED:
        settings["shell_complete"] = COMPLETED[option]
    return Option([*row.short, f"--{option}", name], row, **settings)


class Command(click.Command):
    """A command that lists ROBOT_OPTIONS in one line and names the new option for an old spelling."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise with_new_name(error, ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if any(parameter.hidden for parameter in self.params if isinstance(parameter, Option)):
            listed = ", ".join(f"--{name}" for name in ROBOT_OPTIONS)
            formatter.write_paragraph()
            formatter.write_text(f"Options for ROBOT ('dalembert --help' explains them): {listed}.")


def with_new_name(error: click.NoSuchOption, context: click.Context) -> click.UsageError:
    """Return the error about an unknown option, with the new name of an option of version 0.2.0."""
    name = error.option_name
    old = (f"{context.command.name} {name}", name)
    new = next((found for one in old if (found := find_new_name("command line", one))), None)
    if new is None:
        return error
    new = new.replace("`", "")
    hint = f"Did you mean '{new}'?" if new.startswith("--") else f"Use {new}."
    return click.UsageError(f"No such option '{name}'. {hint}", context)


def command(function: Callable[..., None], **lists: Iterable[str]) -> click.Command:
    """Return the command of that name; the parameters declare its options, the docstring is its help.

    A line "Controllers: {controllers}" of the docstring takes the names from the keyword `controllers`.
    """
    help_ = inspect.getdoc(function) or ""
    for name, words in lists.items():
        line = next(line for line in help_.splitlines() if f"{{{name}}}" in line)
        written = line.replace(f"{{{name}}}", ", ".join(words))
        help_ = help_.replace(line, fill(written, HELP_WIDTH, subsequent_indent=" " * line.index("{")))
    own = inspect.signature(function).parameters
    declared: dict[str, tuple[Picked, str]] = {name: (p.default, str(p.annotation)) for name, p in own.items()}
    parameters = [picked.parameter(name, annotation) for name, (picked, annotation) in declared.items()]
    if any(picked.reads_robot for picked, _ in declared.values()):
        parameters += robot_options(hidden=True)
    if "as_json" not in declared:
        parameters.append(JSON.parameter("as_json", "bool"))

    def run(**given: object) -> None:
        with interruptible():
            try:
                function(**{name: given[name] for name in own})
            except DalembertError as error:
                spelled = _spell_arguments(parameters)
                message = in_terminal(with_options(str(error), spelled))
                raise (click.UsageError if _is_usage(error, given, spelled) else click.ClickException)(
                    message
                ) from None

    return Command(function.__name__, callback=run, params=parameters, help=help_)


def _spell_arguments(parameters: Sequence[click.Parameter]) -> dict[str, str]:
    """Return the options that give the arguments of Python functions, by argument."""
    options = {p.name or "": p.opts[-1] for p in parameters if isinstance(p, click.Option)}
    options |= {PYTHON_NAMES[option]: option for option in options.values() if option in PYTHON_NAMES}
    options |= {option.lstrip("-").replace("-", "_"): option for option in options.values()}
    if "--set" in options.values():
        from dalembert.identification.log.settings import WORDS

        options |= {word: f"--set {word}=" for word in WORDS}
    return options


def in_options(text: str) -> str:
    """Return a message with arguments as options of the command that runs."""
    return with_options(text, _spell_arguments(click.get_current_context().command.params))


@contextmanager
def blame(option: str) -> Iterator[None]:
    """Report input errors within the block as wrong usage of an option."""
    try:
        yield
    except (InputError, UnknownNameError) as error:
        if type(error) in (InputError, UnknownNameError):
            raise click.BadParameter(in_terminal(str(error)), param_hint=f"--{option}") from None
        raise


def _is_usage(error: DalembertError, given: Mapping[str, object], spelled: Mapping[str, str]) -> bool:
    """Return whether an error is about an option or an argument as it was typed, not about a file or a result."""
    if str(error.place):
        return False
    if isinstance(error, UnknownNameError):
        return any(str(error.value) in str(value) for value in given.values() if value)
    argument = (error.argument or "").partition("[")[0]
    return argument in spelled and bool(given.get(argument, True))


def robot_options(*, hidden: bool = False) -> list[click.Option]:
    """Return the options of every command that reads a robot."""
    repeated = ("robot", "package-dir")
    return [
        _make_option(
            name,
            f"robot_{name.replace('-', '_')}",
            "bool" if name == "strict" else "tuple[str, ...]" if name in repeated else "str",
            hidden=hidden,
        )
        for name in ROBOT_OPTIONS
    ]


def complete_robots(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return bundled names, and files. Files come first: bash forgets what stands before them."""
    from click.shell_completion import CompletionItem

    from dalembert import robots as bundled

    names = [CompletionItem(name) for name in bundled.names() if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]


def complete_frames(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the frames of the robot that was named already, if it can be read."""
    from click.shell_completion import CompletionItem

    from dalembert.apps.cli.output import reading
    from dalembert.loading import load

    # An option that still lacks its value stops click's parser: then the robot is left among the arguments.
    source = ctx.params.get("robot") or next(iter(ctx.args), None)
    if not source:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = load(source, **reading(ctx)).frames
    except (DalembertError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_controllers(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the controllers; of a list with commas, those that may end it."""
    from click.shell_completion import CompletionItem

    from dalembert.control import registry

    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + name) for name in registry.offered("joints") if name.startswith(last)]


COMPLETED = {
    "frame": complete_frames,
    "tip": complete_frames,
    "seen-from": complete_frames,
    "controller": complete_controllers,
}
ROBOT = argument(reads_robot=True, metavar="ROBOT", shell_complete=complete_robots)
ROBOT_OR_NONE = argument(reads_robot=True, metavar="[ROBOT]", required=False, shell_complete=complete_robots)
LOGS = argument(metavar="LOG...", nargs=-1, required=True, type=click.Path())
JSON: Any = pick("json")
OUTPUT = pick("output", type=OutputFile())


def read_pairs(name: str, given: str | None) -> dict[str, str] | None:
    """Return r1=lc1,r2=lc2 as a dictionary."""
    if given is None:
        return None
    pairs = [[word.strip() for word in pair.split("=")] for pair in given.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise click.UsageError(f"--{name} takes pairs as in r1=lc1,r2=lc2; got {given!r}")
    twice = next((pair[0] for k, pair in enumerate(pairs) if pair[0] in (other[0] for other in pairs[:k])), None)
    if twice is not None:
        raise click.UsageError(f"--{name} has two values for {twice}: {given!r}")
    return dict(pairs)
