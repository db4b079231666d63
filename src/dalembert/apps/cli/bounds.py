"""dalembert bounds: certified bounds on M, c and g over the joints' ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.bounds import Bound, Bounds


@click.command(name="bounds")
@output.robot_argument
@click.option("--only", multiple=True, metavar="NAME", help="One bound by its name, such as mu2; may be repeated.")
@click.option("--gap", type=output.Number(0.0, 10.0), default=0.05, show_default=True, help="Relative gap to reach.")
@click.option("--seconds", type=output.Number(0.1), default=60.0, show_default=True, help="Time to spend.")
@click.option("--lower", metavar="x,x,…", help="Lower end of every joint's range, instead of its limit.")
@click.option("--upper", metavar="x,x,…", help="Upper end of every joint's range, instead of its limit.")
@click.option("--formulas", is_flag=True, help="Bounds as formulas in the parameters, for small arms.")
@output.json_option
def command(
    robot: str,
    only: tuple[str, ...],
    gap: float,
    seconds: float,
    lower: str | None,
    upper: str | None,
    formulas: bool,
    as_json: bool,
) -> None:
    """How large and how small M, c and g get: proved, and met.

    What is proved holds for every position within the joints' limits, rounding included. What is met was found by
    search, at a state that --json tells: the true value lies between the two.

    \b
    Example: dalembert bounds puma560 --only mu1 --only mu2 --gap 0.02
    """
    if (lower is None) != (upper is None):
        raise click.UsageError("--lower and --upper go together")
    arm = output.load(robot)
    low, high = output.positions("lower", lower, arm), output.positions("upper", upper, arm)
    limits = None if low is None or high is None else (low, high)
    if formulas:
        output.refuse_idle("formulas are derived, all of them, not searched", "gap", "seconds", "only")
        from dalembert.bounds.symbolic import symbolic_bounds

        with waiting("deriving the equations"):
            found = symbolic_bounds(arm.equations(), limits)
        if as_json:
            output.print_json({"robot": arm.name, **found.json()})
        else:
            click.echo(str(found))
        return
    with waiting("bounds") as say:
        result = arm.bounds(list(only) or None, limits=limits, gap=gap, seconds=seconds, watch=say)
    if as_json:
        output.print_json(result.json())
    else:
        _show(result)


def _show(result: Bounds) -> None:
    columns = ("name", "what", "proved", "met", "unit", "gap", "")
    output.print_table(
        f"{result.robot}: bounds over its joints' ranges", columns, [_row(b, result.gap) for b in result]
    )
    for note in result.notes:
        click.echo(note)


def _row(b: Bound, gap: float) -> tuple[str, ...]:
    proved = f"{'≤' if b.side == 'upper' else '≥'} {output.number(b.certified, 6)}" if b.proved else "–"
    met = output.number(b.attained, 6) if math.isfinite(b.attained) else "–"
    near = f"{b.gap:.2%}" if math.isfinite(b.gap) else "–"
    words = b.verdict(gap) if math.isfinite(b.attained) else f"no bound: {b.stopped}"
    return b.name, b.symbol, proved, met, b.unit, near, words
