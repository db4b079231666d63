"""What commands share: loading a robot, numbers from the command line, tables and JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dalembert.robot import Robot

WIDTH_WHEN_PIPED = 120
INVISIBLE = 1e-12  # a table for people shows rounding errors as zero

robot_argument = click.argument("robot", metavar="ROBOT")
tip_option = click.option("--tip", metavar="FRAME", help="The frame to take as the robot's tip.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print data for programs.")


def load(source: str, tip: str | None = None) -> Robot:
    """The robot, with what its reader objected to as lines on standard error."""
    from dalembert.errors import ModelWarning
    from dalembert.loading import load as load_robot

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        robot = load_robot(source, tip)
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    return robot


def print_json(data: Any) -> None:
    """JSON has no infinity: it becomes null."""
    click.echo(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(x: Any) -> Any:
    if hasattr(x, "tolist"):
        x = x.tolist()
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on the terminal: text to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    rows = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        numeric = any(isinstance(row[k], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(number(x) if isinstance(x, (int, float)) else str(x) for x in row))
    piped = not sys.stdout.isatty()
    console = Console(width=WIDTH_WHEN_PIPED if piped else None, markup=False, highlight=False)
    console.print(table)


def number(x: float, digits: int = 5) -> str:
    """A number for reading: no −0, ∞ as a sign."""
    if isinstance(x, int):
        return str(x)
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if abs(x) < INVISIBLE:
        return "0"
    return f"{x:.{digits}g}".replace("-", "−")


def numbers(name: str, text: str | None, n: int) -> list[float] | None:
    """A list of n numbers from the command line, separated by commas or blanks; angles may end in "deg"."""
    if text is None:
        return None
    values = []
    for part in text.replace(",", " ").split():
        degrees = part.endswith("deg")
        try:
            value = float(part.removesuffix("deg"))
        except ValueError:
            raise click.BadParameter(f"{part!r} is not a number", param_hint=f"--{name}") from None
        values.append(math.radians(value) if degrees else value)
    if len(values) != n:
        raise click.BadParameter(f"{n} numbers are needed, one per joint; got {len(values)}", param_hint=f"--{name}")
    return values
