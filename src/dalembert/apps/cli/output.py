"""What commands share: loading a robot, numbers and names from the command line, tables and JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import click
from click.core import ParameterSource

from dalembert.apps.cli.encoding import encodable, is_unicode
from dalembert.apps.cli.terminal import JOINTS, echo_styled
from dalembert.names import in_line, in_terminal
from dalembert.words import read_number

if TYPE_CHECKING:
    from typing import Any

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from dalembert.collision.world import World
    from dalembert.findings import Findings
    from dalembert.robot import Robot

JSON_SCHEMA = 1  # of the JSON output; it rises when a key is removed, renamed or changes its meaning
ARRANGING = ("base", "robot", "free", "gravity", "payload", "tip")  # options that change the robot, not its file
WIDTH_WHEN_PIPED = 120
INVISIBLE = 1e-12  # a table for people shows rounding errors as zero


def load(source: str, *, nominal: bool = False, several: bool = False) -> Robot:
    """Return the robot as the command line states it, and print the warnings of its reader.

    `nominal` leaves out the payload, as controllers know the robot. Joints of several coordinates raise an error unless
    the command can use them (`several`).
    """
    from dalembert.errors import ModelWarning
    from dalembert.kernels import need_vector
    from dalembert.loading import load as load_robot

    context = click.get_current_context()
    given = context.params
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        robot = load_robot(source, given.get("robot_tip"), **reading())
    for warning in caught:
        click.echo(f"warning: {in_terminal(str(warning.message))}", err=True)
    if not several:
        need_vector(robot.model)
    context.meta[JOINTS] = robot.nv
    names = (robot.name, *robot.frames, *robot.joint_names, *(loop.name for loop in robot.description.loops))
    broken = next((name for name in names if in_line(name) != name), None)
    if broken is not None and not given.get("as_json"):
        raise click.ClickException(
            f"the name {broken!r} contains a line break, and the rest of it would look like a line of the output. "
            "Rename it, or use --json."
        )
    if (gravity := numbers("gravity", given.get("robot_gravity"), 3, "x, y and z")) is not None:
        robot = robot.with_gravity(gravity)
    return robot if nominal else loaded(robot)


def loaded(robot: Robot) -> Robot:
    """Return the robot with the payload of --payload at its tip."""
    payload = click.get_current_context().params.get("robot_payload")
    if not payload:
        return robot
    tip_of(robot)
    return robot.with_payload(payload)


class ReadingOptions(TypedDict):
    """How a file is read, as `check` takes it."""

    strict: bool
    allow: tuple[str, ...]
    package_dirs: tuple[str, ...]


class ArrangingOptions(ReadingOptions):
    """How a file is read and arranged, as `load` and `verify` take it."""

    base: str | None
    robot: tuple[str, ...] | None
    free: str | None


def reading(context: click.Context | None = None) -> ArrangingOptions:
    """Return how a file is read, by the options of the command."""
    from dalembert.describe.mjcf.read import ALLOWED

    said = (context or click.get_current_context()).params
    ignore = said.get("robot_ignore")
    return {
        "strict": said.get("robot_strict", False),
        "allow": tuple(names_of("entry of --ignore", ignore, ALLOWED)) if ignore else (),
        "package_dirs": said.get("robot_package_dir", ()),
        "base": said.get("robot_base"),
        "robot": said.get("robot_robot") or None,
        "free": said.get("robot_free"),
    }


Data = Mapping[str, object]


def answer(data: Data | Callable[[], Data], show: Callable[[], object]) -> None:
    """With --json print `data` for programs, otherwise what `show` prints for people."""
    if click.get_current_context().params["as_json"]:
        print_json(data() if callable(data) else data)
    else:
        show()


def exit_unless(ok: bool, code: int = 1) -> None:
    """End with an exit code where the answer is no."""
    if not ok:
        raise click.exceptions.Exit(code)


def save_plot(draw: Callable[[], Figure], out: str | None, plot: str | None) -> list[str]:
    """The picture, if it is asked for; the files that there are then."""
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(draw(), plot)
    return [path for path in (out, plot) if path is not None]


def print_files(*paths: str | None) -> None:
    """What was written, a line each."""
    for path in paths:
        if path is not None:
            click.echo(f"written to {path}")


def print_json(data: Data) -> None:
    """Print JSON with its schema, and null for infinity and NaN. Without UTF-8 the output has escapes."""
    click.echo(
        json.dumps(
            _plain({"schema": JSON_SCHEMA, **data}), indent=2, ensure_ascii=not is_unicode(sys.stdout), allow_nan=False
        )
    )


def need_numbers(*results: ArrayLike) -> None:
    """Refuse to print what is none: a state so large that its terms overflow."""
    import numpy as np

    if not all(np.isfinite(x).all() for x in results):
        raise click.ClickException("the result is larger than any number (1.8e308): give smaller positions and rates")


def _plain(x: object) -> object:
    if hasattr(x, "tolist"):
        x = x.tolist()
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, text left-aligned and numbers right-aligned; in a narrow terminal as blocks of "name: value"."""
    from rich.cells import cell_len

    from dalembert.apps.cli.table import fold, lay_out

    rows = [list(row) for row in rows]
    numeric = [any(isinstance(row[k], (int, float)) for row in rows) for k in range(len(columns))]
    head, *lines = lay_out([_text(c) for c in columns], [[*map(_cell, row)] for row in rows], numeric, width())
    for line in [*fold(_text(title), width()), *head] if title else head:
        _echo_heading(line)
    if head:
        click.echo("-" * max(cell_len(line) for part in (head, *lines) for line in part))
    for row in lines:
        click.echo("\n".join(row))
    click.echo()


def print_findings(found: Findings[Any, Any], title: str = "") -> None:
    """Print findings as a table, their remarks below it, and their message last."""
    made = found.cells()
    print_table(title or found.source, made.columns, made.rows)
    click.echo("\n".join(map(_text, (*found.remarks, found.message))))


def width() -> int:
    """Return the width of the terminal [characters], or of a table in a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_WHEN_PIPED


def _echo_heading(line: str) -> None:
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    echo_styled(click.style(line, bold=True) + "\n" if bold else line + "\n")


def _text(x: object) -> str:
    return encodable(in_terminal(str(x)), sys.stdout)


def _cell(x: object) -> str:
    return _text(number(x) if isinstance(x, (int, float)) else x)


def number(x: float, digits: int = 5) -> str:
    """Return a number for people to read: never -0, and ∞ for infinity."""
    if isinstance(x, int):
        return str(x)
    if math.isinf(x):
        return "∞" if x > 0 else "-∞"
    if abs(x) < INVISIBLE:
        return "0"
    return f"{x:.{digits}g}"


def numbers(name: str, text: str | None, n: int, each: str = "one per joint") -> list[float] | None:
    """A list of n finite numbers from the command line, separated by commas or blanks; angles may end in "deg"."""
    values = some_numbers(name, text)
    if values is not None and len(values) != n:
        raise click.BadParameter(f"{n} numbers are needed, {each}; got {len(values)}", param_hint=f"--{name}")
    return values


def one_or_each(name: str, text: str | None, n: int) -> float | list[float] | None:
    """One number for all joints, or one per joint."""
    values = some_numbers(name, text)
    if values is None or len(values) == n:
        return values
    if len(values) != 1:
        raise click.BadParameter(
            f"one number is needed, or {n}, one per joint; got {len(values)}", param_hint=f"--{name}"
        )
    return values[0]


def some_numbers(name: str, text: str | None) -> list[float] | None:
    """As many finite numbers as there are."""
    if text is None:
        return None
    values = [_number(name, part) for part in _parts(text)]
    if not values:
        raise click.BadParameter("there are no numbers in it", param_hint=f"--{name}")
    if not all(part.strip() for part in text.split(",")):
        raise click.BadParameter(f"a number is missing before or after a comma in {text!r}", param_hint=f"--{name}")
    return values


def _parts(text: str) -> list[str]:
    return text.replace(",", " ").replace("−", "-").split()


def _number(name: str, part: str) -> float:
    value = read_number(part)
    if value is None:
        why = "is not a number"
        why += " (an angle is written 1.5, 90deg or pi/2)" if any(c.isdigit() for c in part) else ""
        raise click.BadParameter(f"{part!r} {why}", param_hint=f"--{name}")
    if not math.isfinite(value):
        raise click.BadParameter(f"{part!r} is not a finite number", param_hint=f"--{name}")
    return value


def bare(text: str | None) -> list[bool]:
    """Of each number, whether it was written without a unit: only those may be degrees by mistake."""
    return [
        part.endswith(tuple("0123456789.")) and "pi" not in part.lower() and "π" not in part
        for part in _parts(text or "")
    ]


def angles(name: str, text: str | None, n: int, each: str) -> list[float] | None:
    """n angles from the command line, with a word if they look like degrees."""
    values = numbers(name, text, n, each)
    if values is not None:
        _warn_of_degrees(name, [x for x, plain in zip(values, bare(text), strict=True) if plain])
    return values


def positions(name: str, text: str | None, arm: Robot, *, within: bool = False) -> list[float] | None:
    """Joint positions from the command line, with a word if they look like degrees; too large to compute with is
    refused, and so are degrees of a joint that slides, and with `within` what is outside the limits."""
    from dalembert.compile.functions import LARGEST_ANGLE
    from dalembert.kernels import check_quaternions
    from dalembert.units import find_degrees, position_units

    if text == "home":
        return arm.home.tolist()
    each = "one per joint" if arm.model.curved is None else ", ".join(arm.model.names("position"))
    values = numbers(name, text, arm.nq, each)
    if values is None:
        return None
    plain, joints = bare(text), arm.model.names("position")
    for joint, unit, x, part in zip(joints, position_units(arm.model), values, _parts(text or ""), strict=True):
        if unit != "rad" and part.endswith(("deg", "°")):
            what = f"joint {joint!r} slides: {part!r} is no length in m" if unit else f"{joint!r} is no angle: {part!r}"
            raise click.BadParameter(what, param_hint=f"--{name}")
        if abs(x) > LARGEST_ANGLE:
            why = f"{part!r} of joint {joint!r} is too large: sines are computed up to 2³⁰"
            raise click.BadParameter(why, param_hint=f"--{name}")
    check_quaternions(arm.model, f"--{name}", values)
    own = [x if given else 0.0 for x, given in zip(values, plain, strict=True)]
    _warn_of_degrees(name, find_degrees(arm.model, own), True)
    for joint, x, low, high in zip(joints, values, arm.limits.lower, arm.limits.upper, strict=True):
        if within and not low <= x <= high:
            why = f"{number(x)} for {joint!r} is outside its limits, {number(low)} to {number(high)}"
            raise click.BadParameter(why, param_hint=f"--{name}")
    return values


def goal(name: str, text: str | None, arm: Robot) -> list[float] | None:
    """Positions of the driven joints within their limits."""
    drives = arm.model.drives
    if text == "home":
        return [float(arm.home[c.position]) for c in drives]
    if arm.model.curved is None:
        return positions(name, text, arm, within=True)
    values = numbers(name, text, len(drives), ", ".join(c.name for c in drives))
    for c, x in zip(drives, values or (), strict=False):
        if not c.lower <= x <= c.upper:
            why = f"{number(x)} for {c.name!r} is outside its limits, {number(c.lower)} to {number(c.upper)}"
            raise click.BadParameter(why, param_hint=f"--{name}")
    return values


def rates(name: str, text: str | None, arm: Robot) -> list[float] | None:
    """Velocities or accelerations from the command line, one per joint or the several of each."""
    each = "one per joint" if arm.model.curved is None else ", ".join(arm.model.names("rate"))
    return numbers(name, text, arm.nv, each)


def _warn_of_degrees(name: str, values: list[float], sure: bool = False) -> None:
    from dalembert.errors import UnitWarning
    from dalembert.spatial.angles import look_like_degrees, sentence

    warnings.simplefilter("ignore", UnitWarning)  # what is said here is not said again by what takes them
    values = [x for x in values if x] if sure else values
    if values and (sure or look_like_degrees(values)):
        remedy = f"write {','.join(f'{x:g}deg' for x in values[:3])}{',…' if len(values) > 3 else ''}"
        click.echo(f"warning: {sentence(f'--{name}', values, remedy)}", err=True)


def names_of(kind: str, text: str, choices: Iterable[str] | None = None) -> list[str]:
    """Return the names of a list with commas, each once and, if there are choices, one of them."""
    choices = None if choices is None else list(choices)
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise click.UsageError(f"name at least one {kind}{': ' if choices else ''}{', '.join(choices or ())}")
    for name in names if choices is not None else ():
        if choices is not None and name not in choices:
            from dalembert.errors import unknown

            raise click.UsageError(str(unknown(kind, name, choices)))
    return names


def refuse_idle(why: str, *names: str) -> None:
    """Raise an error about options that were given on the command line and would have no effect."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and (name := next((name for name in names if f"--{name}" in option.opts), None)):
            raise click.UsageError(f"--{name} has no effect here: {why}")


def limits(given: Sequence[str], fields: Iterable[str]) -> dict[str, str]:
    """Return --limits by field, each with its text; the text is empty where the field stands alone."""
    found: dict[str, str] = {}
    for text in given:
        name, _, value = text.partition("=")
        found[names_of("field of --limits", name, fields)[0]] = value
    return found


def read_world(given: Sequence[str]) -> World | None:
    """Return the obstacles of --world, from files and floor=HEIGHT; None if there are none."""
    from dalembert.collision.world import World

    files = [text for text in given if not text.startswith("floor=")]
    heights = [text.removeprefix("floor=") for text in given if text.startswith("floor=")]
    if len(files) > 1 or len(heights) > 1:
        raise click.UsageError("--world takes one file and one floor=HEIGHT")
    if not given:
        return None
    world = World.load(files[0]) if files else World()
    for text in heights:
        world = world.floor(*(numbers("world", text, 1, "the height of the floor") or ()))
    return world


def split_files(given: Sequence[str], *endings: str) -> list[str | None]:
    """Return the file of --output with each group of endings, such as ".csv .txt"."""
    found: list[str | None] = []
    for group in endings:
        files = [path for path in given if os.path.splitext(path)[1].lower() in group.split()]
        if len(files) > 1:
            raise click.UsageError(f"--output names {len(files)} files that end in {group}")
        found.append(files[0] if files else None)
    return found


def tip_of(arm: Robot) -> str:
    """The robot's tip, or how to say which."""
    if arm.tip is None and arm.model.tips:
        raise click.UsageError(f"{arm.name!r} has several ends, {', '.join(arm.model.tips)}: say which with --tip")
    return arm.model.frame().name
