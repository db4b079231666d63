"""dalembert equations: the closed-form equations of motion, for people, papers and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.symbolic.compare import Comparison
    from dalembert.symbolic.equations import Equations

FORMATS = ("text", "latex", "sympy")
DOCUMENTS = ("markdown", "latex", "text")


@click.command(name="equations")
@output.robot_argument
@click.option("--of", "what", metavar="M,C,…", help="What to print: M, C, g, tau, Gamma, K, P, T, J, det, Y, or M12.")
@click.option(
    "--symbolic",
    default="all",
    show_default=True,
    help="Which parameters are symbols: all, inertias, lengths, none, or names as m1,m2,g.",
)
@click.option("--physical", is_flag=True, help="In the physical parameters, without lumped constants.")
@click.option("--long", is_flag=True, help="cos(q1 + q2) instead of c12.")
@click.option("--friction", is_flag=True, help="With F_v q̇ + F_s sgn(q̇) in the joint equations.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--document", type=click.Choice(DOCUMENTS), help="The whole derivation, step by step.")
@click.option("--check", nargs=2, metavar="NAME FORMULA", help="Compare a formula of yours with the derived entry.")
@click.option("-o", "--output", "file", type=output.NewFile(), metavar="FILE", help="Write to a file.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    what: str | None,
    symbolic: str,
    physical: bool,
    long: bool,
    friction: bool,
    form: str,
    document: str | None,
    check: tuple[str, str] | None,
    file: str | None,
    tip: str | None,
    as_json: bool,
) -> None:
    """Derive M, C, g and the rest in closed form, exactly.

    \b
    Examples:
      dalembert equations planar-2r
      dalembert equations puma560 --of det
      dalembert equations planar-2r --document latex -o arm.tex
      dalembert equations planar-2r --check M12 "I2 + m2*(r2**2 + l1*r2*cos(q2))"
    """
    from dalembert.symbolic.parameters import CHOICES

    if sum(map(bool, (what, document, check))) > 1:
        raise click.UsageError("--of, --document and --check exclude each other")
    if check or document:
        given = "--check compares by value" if check else "--document has a form of its own"
        output.refuse_idle(given, "format", "long", "physical")
    if file and (check or as_json):
        raise click.UsageError("-o is for formulas and documents; --check and --json go to the screen")
    chosen = symbolic if symbolic in CHOICES else [name.strip() for name in symbolic.split(",")]
    names = [name.strip() for name in what.split(",")] if what else []
    arm = output.load(robot, tip)
    if arm.loops:
        raise click.ClickException(_closed(arm.name))
    with waiting("deriving the equations"):
        e = arm.equations(chosen, friction=friction)
        if check:
            made: Any = e.compare(*check)
        elif as_json:
            made = _data(e, names)
        else:
            made = e.document(document) if document else _written(e, names, form, not physical, long, bool(file))
    if check:
        _told(made, as_json)
    elif as_json:
        output.print_json(made)
    elif file:
        whole(file, lambda out: out.write(made.encode()))
        click.echo(f"wrote {file}")
    else:
        click.echo(made, nl=not made.endswith("\n"))


def _told(result: Comparison, as_json: bool) -> None:
    if as_json:
        output.print_json(
            {
                "entry": result.name,
                "equal": result.equal,
                "difference": result.off,
                "slip": result.slip,
                "derived": result.derived,
            }
        )
    else:
        click.echo(str(result))
    if not result:
        raise click.exceptions.Exit(1)


def _closed(name: str) -> str:
    """Where the equations of a closed chain are."""
    from dalembert.lagrange.examples import EXAMPLES

    known = name in EXAMPLES
    fewest = f", and dalembert.lagrange.examples.EXAMPLES[{name!r}]() those in independent coordinates" if known else ""
    return (
        f"{name!r} is a closed chain, and this command derives open ones. In Python, dalembert.Constrained(robot)"
        f".equations() has its equations with multipliers{fewest}; the page of closed chains (docs/closed_chains.md) "
        "shows how"
    )


def _written(e: Equations, names: list[str], form: str, lump: bool, long: bool, to_file: bool) -> str:
    from dalembert.symbolic.lumps import TooLargeError

    if form == "sympy":
        return "\n".join(f"{name} = {e.sympy(name)}" for name in names or ("M", "C", "g")) + "\n"
    try:
        return e.latex(*names, lump=lump, long=long) + "\n" if form == "latex" else e.text(*names, lump=lump, long=long)
    except TooLargeError as error:
        if form == "text" and to_file:  # for programs, then
            return e.normal_form(*names)
        count = str(error).partition(":")[0]
        remedy = f"{count}: -o FILE writes them as text in normal form, --symbolic inertias makes them fewer"
        if names:
            raise click.ClickException(remedy) from None
        return f"{e.structure()}\n{remedy}, --of takes a part, --document shows the structure.\n"


def _data(e: Equations, names: list[str]) -> dict[str, object]:
    form = [e.legible(*names)] if names else [e.legible("M", "C"), e.legible("g", lump=False)]
    from dalembert.symbolic.text import text

    lumps = {name: text(x, long=True) for part in form for name, x in part.lumps.items()}
    entries = {name: text(x, long=True) for part in form for name, x in part.entries.items()}
    parameters = {name: {"meaning": p.meaning, "value": e.values[name]} for name, p in e.parameters.items()}
    return {"robot": e.name, "parameters": parameters, "lumps": lumps, "entries": entries, "notes": e.notes}
