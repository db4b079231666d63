"""dalembert properties: what a robot's equations must obey, stated, shown and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.trust.properties import Choices, PropertyReport

SIGNS = ("∎ proved at every state", "✓ holds at every state measured", "✗ fails", "– does not apply")


@click.command(name="properties")
@output.robot_argument
@click.option("--states", type=click.IntRange(min=1), default=200, show_default=True, help="Random states.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random states.")
@click.option("--q", metavar="x,x,…", help="A state of your own to measure at as well; angles may be written as 30deg.")
@click.option("--qd", metavar="x,x,…", help="Its joint velocities; zero if not given.")
@click.option("--only", metavar="NAME", multiple=True, help="This property alone, in full; may be repeated.")
@click.option("--choices", is_flag=True, help="The table of the choices of C instead.")
@click.option("--symbols/--no-symbols", default=None, help="Always or never in symbols; where it is cheap if not said.")
@click.option("--tree", is_flag=True, help="Of a closed chain, the tree without its loops.")
@output.plot_option("Draw the energy books along a motion")
@output.json_option
def command(
    robot: str,
    states: int,
    seed: int,
    q: str | None,
    qd: str | None,
    only: tuple[str, ...],
    choices: bool,
    symbols: bool | None,
    tree: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Show which properties a robot's equations have: M symmetric positive definite, Ṁ − 2C skew, passivity, linearity.

    \b
    Example: dalembert properties planar-2r
    """
    from dalembert.trust import properties

    if qd is not None and q is None:
        raise click.UsageError("--qd is given without --q: a state begins with its position")
    if choices and only:
        raise click.UsageError("--choices is a table of its own: leave out --only")
    arm = output.load(robot).tree() if tree else output.load(robot)
    options = {
        "states": states,
        "seed": seed,
        "symbols": symbols,
        "q": output.positions("q", q, arm),
        "qd": output.numbers("qd", qd, arm.n),
    }
    if plot is not None:
        _draw(arm, seed, plot)
    if choices:
        with waiting("choices of C"):
            table = properties.coriolis_choices(arm, **options)
        _choices(table, as_json)
        return
    with waiting("properties") as say:
        report = properties.lab(arm, only=only or None, progress=say, **options)  # type: ignore[arg-type]
    if as_json:
        output.print_json(report.data())
    else:
        _show(report, bool(only))
    if not report.ok:
        names = ", ".join(p.name for p in report.failed)
        raise click.ClickException(f"of {arm.name}, this fails: {names}")


def _show(report: PropertyReport, full: bool) -> None:
    from dalembert.trust.properties.property import SIGNS as OF

    if full:
        click.echo("\n\n".join(str(p) for p in report))
        return
    rows = [(OF[p.verdict], p.name, p.statement, p.shown) for p in report]
    output.print_table(report.title, ("", "property", "claims", "shown"), rows)
    click.echo(", ".join(SIGNS))
    for p in report:
        if p.note:
            click.echo(f"{p.name}: {p.note}")


def _choices(table: Choices, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "choice": r.name,
                "formula": r.formula,
                "same_torque": r.same_torque,
                "workless": r.workless,
                "skew": r.skew,
                "standard": r.standard,
                "proved": r.proved,
                "violations": r.violations,
            }
            for r in table
        ]
        output.print_json({"system": table.system, "free": table.free, "free_skew": table.free_skew, "choices": rows})
        return
    words = {True: "yes", False: "no"}
    output.print_table(
        f"{table.system}: matrices C with C q̇ = c",
        ("choice", "C q̇ = c", "q̇ᵀ(Ṁ − 2C)q̇ = 0", "Ṁ − 2C skew", "shown", "C"),
        [
            (
                r.name,
                words[r.same_torque],
                words[r.workless],
                words[r.skew],
                "proved" if r.proved else "measured",
                r.formula,
            )
            for r in table
        ],
    )
    click.echo(
        f"Of all C linear in q̇, {table.free} functions of q are free; {table.free_skew} if Ṁ − 2C is to stay skew."
    )


def _draw(arm: object, seed: int, path: str) -> None:
    from dalembert.draw.pyplot import save
    from dalembert.trust.properties import energy_books

    save(energy_books(arm, seed=seed).plot(), path)
    click.echo(f"wrote {path}", err=True)
