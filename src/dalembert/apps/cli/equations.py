"""dalembert equations: the closed-form equations of motion, for people, papers and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import JSON, OUTPUT, ROBOT, blame, command, pick, read_pairs
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

FORMATS = ("text", "latex", "sympy")
ABBREVIATIONS = ("lumps", "angles")


@command
def equations(
    robot: str = ROBOT,
    only: str | None = pick("only"),
    symbolic: str = pick("symbolic", "all"),
    expand: str | None = pick("expand"),
    friction: bool = pick("friction"),
    letters: str | None = pick("letters"),
    names: str | None = pick("names"),
    same: str | None = pick("same"),
    form: str = pick("format", "text", type=FORMATS),
    check: str | None = pick("check"),
    file: str | None = OUTPUT,
    as_json: bool = JSON,
) -> None:
    """Derive M, C, g and the other terms of the equations of motion in closed form, exactly.

    --only takes M, C, g, tau, Gamma, K, P, T, J, det, Y, or an entry such as M12. Exit code 1 if the formula of --check
    is not the derived one.

    \b
    Examples:
      dalembert equations planar-2r
      dalembert equations puma560 --only det
      dalembert equations planar-2r --letters spong
      dalembert equations planar-2r --base planar
      dalembert equations planar-2r --check "M12 = I2 + m2*(r2**2 + l1*r2*cos(q2))"
    """
    from dalembert.symbolic.parameters import CHOICES

    if only and check:
        raise click.UsageError("--only and --check exclude each other")
    if check:
        output.refuse_idle("--check compares by value", "format", "expand")
        entry, mark, formula = (part.strip() for part in check.partition("="))
        if not (entry and mark and formula):
            raise click.UsageError(f"--check takes NAME=FORMULA, as in M12=I2; got {check!r}")
    if file and (check or as_json):
        raise click.UsageError("-o is for formulas; --check and --json go to the screen")
    chosen = symbolic if symbolic in CHOICES else [name.strip() for name in symbolic.split(",")]
    parts = [name.strip() for name in only.split(",")] if only else []
    long = output.names_of("abbreviation", expand, ABBREVIATIONS) if expand else []
    arm = output.load(robot, several=True)
    if arm.loops:
        raise click.ClickException(_refuse_loops(arm.name))
    with waiting("deriving the equations", heavy=True):
        e = arm.equations(
            chosen, friction=friction, letters=letters, names=read_pairs("names", names), same=read_pairs("same", same)
        )
        if check:
            with blame("check"):
                result = e.compare(entry, formula)
        elif as_json:
            with blame("only"):
                data = _data(e, parts)
        else:
            with blame("only"):
                text = _write_text(e, parts, form, "lumps" not in long, "angles" in long, bool(file))
    if check:
        keys = {"entry": "name", "equal": "equal", "difference": "off", "slip": "slip", "derived": "derived"}
        output.answer({key: getattr(result, name) for key, name in keys.items()}, lambda: click.echo(str(result)))
        output.exit_unless(bool(result))
    elif as_json:
        output.print_json(data)
    elif file:
        whole(file, lambda out: out.write(text.encode()))
        click.echo(f"wrote {file}")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _refuse_loops(name: str) -> str:
    """Where the equations of a closed chain are."""
    from dalembert.lagrange.examples import EXAMPLES

    known = name in EXAMPLES
    fewest = f", and dalembert.lagrange.examples.EXAMPLES[{name!r}]() those in independent coordinates" if known else ""
    return (
        f"{name!r} is a closed chain, and this command derives open ones. In Python, dalembert.Constrained(robot)"
        f".equations() has its equations with multipliers{fewest}; the page of closed chains (docs/closed_chains.md) "
        "shows how"
    )


def _write_text(e: Equations, names: list[str], form: str, lump: bool, long: bool, to_file: bool) -> str:
    from dalembert.symbolic.lumps import TooLargeError

    if form == "sympy":
        usual = ("M", "C", "g", "qd") if e.model.curved else ("M", "C", "g")
        return "\n".join(f"{name} = {e.sympy(name)}" for name in names or usual) + "\n"
    try:
        return e.latex(*names, lump=lump, long=long) + "\n" if form == "latex" else e.text(*names, lump=lump, long=long)
    except TooLargeError as error:
        if form == "text" and to_file:  # for programs, then
            return e.normal_form(*names)
        count = str(error).partition(":")[0]
        remedy = f"{count}: -o FILE writes them as text in normal form, --symbolic inertias makes them fewer"
        if names:
            raise click.ClickException(remedy) from None
        return f"{e.structure()}\n{remedy}, --only takes a part.\n"


def _data(e: Equations, names: list[str]) -> dict[str, object]:
    from dalembert.symbolic.text import text

    form = e.forms(names)
    lumps = {name: text(x, long=True) for part in form for name, x in part.lumps.items()}
    entries = {name: text(x, long=True) for part in form for name, x in part.entries.items()}
    parameters = {name: {"meaning": p.meaning, "value": e.values[name]} for name, p in e.parameters.items()}
    return {"robot": e.name, "parameters": parameters, "lumps": lumps, "entries": entries, "notes": e.notes}
