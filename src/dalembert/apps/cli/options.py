"""What a command takes, declared once: the parameters of its function, each with an `option` as its default.

    @command
    def fk(robot: str = ROBOT, q: str | None = vector("Joint positions …"), every: bool = option("…", "--all")) -> None:

An option is called as its parameter unless it is given names, a bool is a flag, a tuple may be repeated, and every
command has --json. Numbers and files are checked here, before anything is computed; what a shell
offers after the tabulator stands at the end.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli.terminal import interruptible
from dalembert.words import command_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class _Declared:
    """What a parameter of a command's function is to click."""

    kind: type[click.Parameter]
    names: tuple[str, ...]
    settings: Mapping[str, Any]

    def parameter(self, name: str, annotation: str) -> click.Parameter:
        if self.kind is click.Argument:
            return click.Argument([name], **self.settings)
        more: dict[str, Any] = (
            {"is_flag": True} if annotation == "bool" else {"multiple": True} if annotation.endswith("...]") else {}
        )
        return click.Option([*(self.names or (f"--{name.replace('_', '-')}",)), name], **more, **self.settings)


@dataclass(frozen=True)
class OptionGroup:
    """Options that make one value of a command together."""

    options: Mapping[str, _Declared]
    annotations: Mapping[str, str]
    make: Callable[[Mapping[str, Any]], Any]


def option(words: str, *names: str, show_default: bool | str = True, **settings: object) -> Any:
    """An option, with its words for --help; its default is shown there if it has one. Settings are click's."""
    return _Declared(
        click.Option,
        names,
        {"help": words, "show_default": show_default if "default" in settings else None, **settings},
    )


def argument(**settings: object) -> Any:
    return _Declared(click.Argument, (), settings)


def command(function: Callable[..., None]) -> click.Command:
    """The command of that name; its parameters say what it takes, its docstring is the help."""
    own = inspect.signature(function).parameters
    groups: dict[str, OptionGroup] = {name: p.default for name, p in own.items() if isinstance(p.default, OptionGroup)}
    declared: dict[str, tuple[_Declared, str]] = {}
    for name, p in own.items():
        group = groups.get(name, OptionGroup({name: p.default}, {name: str(p.annotation)}, dict))
        declared |= {one: (default, group.annotations[one]) for one, default in group.options.items()}
    every = {**declared, "as_json": (JSON, "bool")} if "as_json" not in declared else declared

    def run(**given: object) -> None:
        with command_line(), interruptible():
            made = {name: group.make({one: given[one] for one in group.options}) for name, group in groups.items()}
            function(**{name: made[name] if name in made else given[name] for name in own})

    parameters = [default.parameter(name, annotation) for name, (default, annotation) in every.items()]
    return click.Command(function.__name__, callback=run, params=parameters, help=inspect.getdoc(function))


class Number(click.FloatRange):
    """A finite number in a range: click lets NaN through."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        x = float(super().convert(value, param, ctx))
        if not math.isfinite(x):
            self.fail(f"{value} is not a finite number", param, ctx)
        return x

    def _describe_range(self) -> str:
        """What help prints behind the words; nothing where any number will do (click prints x<=None)."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class NewFile(click.Path):
    """A file to write, by the endings it may have; looked at before anything is computed."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__()
        self.suffixes = suffixes

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        if self.suffixes and os.path.splitext(path)[1].lower() not in self.suffixes:
            *most, last = self.suffixes
            endings = f"{', '.join(most)} or {last}" if most else last
            self.fail(f"{path}: its name must end in {endings}", param, ctx)
        folder = os.path.dirname(path) or "."
        if os.path.isdir(path):
            reason = "Is a directory"
        elif not os.path.isdir(folder):
            reason = "No such file or directory"
        elif os.access(path if os.path.exists(path) else folder, os.W_OK):
            return path
        else:
            reason = "Permission denied"
        raise click.ClickException(f"{path!r} cannot be written: {reason}")


class Picture(NewFile):
    """A picture to write: matplotlib is missed before anything is computed, not after."""

    def __init__(self) -> None:
        super().__init__(*PICTURES)

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> str:
        from dalembert.draw.pyplot import pyplot

        path = super().convert(value, param, ctx)
        pyplot()
        return path


def vector(words: str, metavar: str = "x,x,…") -> Any:
    """An option that takes a list of numbers, one per joint unless the words say otherwise."""
    return option(words, metavar=metavar)


def picture(words: str) -> Any:
    return option(f"{words}: .png, .svg or .pdf.", type=Picture(), metavar="FILE")


def complete_robots(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Bundled names, and files. Files come first: bash forgets what stood before them."""
    from click.shell_completion import CompletionItem

    from dalembert import robots as bundled

    names = [CompletionItem(name) for name in bundled.names() if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]


def complete_frames(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Frames of the robot that was named already, if it can be read."""
    from click.shell_completion import CompletionItem

    from dalembert.apps.cli.output import reading
    from dalembert.errors import DalembertError
    from dalembert.loading import load

    # An option that still lacks its value stops click's parser: then the robot is left among the arguments.
    source = ctx.params.get("robot") or next(iter(ctx.args), None)
    if not source:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = load(source, **reading(context=ctx)).frames
    except (DalembertError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


POSITIVE = Number(0, min_open=True)
ROBOT = argument(metavar="ROBOT", shell_complete=complete_robots)
ROBOT_OR_NONE = argument(metavar="[ROBOT]", required=False, shell_complete=complete_robots)
TIP = option("The frame to take as the robot's tip.", metavar="FRAME", shell_complete=complete_frames)
JSON = option("Print data for programs.", "--json")


LETTERS = option("Whose letters to write and read: spong, craig, siciliano, lynch-park, …", metavar="PROFILE")
NAMES = option("Letters of your own: r1=lc1, or r=lc,q=theta.", metavar="OLD=NEW,…")
SAME = option("Parameters that are one: r1=l1,r2=l2.", metavar="ONE=OTHER,…")


def read_pairs(name: str, given: str | None) -> dict[str, str] | None:
    """r1=lc1,r2=lc2 as a dictionary."""
    if given is None:
        return None
    pairs = [[word.strip() for word in pair.split("=")] for pair in given.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise click.UsageError(f"--{name} takes pairs as in r1=lc1,r2=lc2; got {given!r}")
    twice = next((pair[0] for k, pair in enumerate(pairs) if pair[0] in (other[0] for other in pairs[:k])), None)
    if twice is not None:
        raise click.UsageError(f"--{name} has two values for {twice}: {given!r}")
    return dict(pairs)
