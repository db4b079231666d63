"""dalembert derive: the equations derived step by step, as they are taught."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import JSON, LETTERS, NAMES, ROBOT, SAME, TIP, NewFile, command, option, read_pairs
from dalembert.apps.cli.terminal import waiting
from dalembert.errors import unknown
from dalembert.files import DESCRIPTION, contents, whole

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.symbolic.document import Derivation

METHODS = ("kinematics", "lagrange", "newton-euler", "task-space")
FORMATS = ("text", "markdown", "latex", "html")


@command
def derive(
    robot: str = ROBOT,
    method: str = option("What is derived.", type=click.Choice(METHODS), default="lagrange"),
    form: str | None = option(
        "The format; by default text, or what the file's name ends with.", "--format", type=click.Choice(FORMATS)
    ),
    every: bool = option("Text: show what is folded too.", "--all"),
    at: str | None = option(
        "newton-euler with numbers: q, q̇ and q̈, between semicolons, as in “30deg, 0; 1, 0; 0, 0”.", metavar="Q;QD;QDD"
    ),
    convention: str = option(
        "kinematics: of the DH table.", type=click.Choice(("standard", "modified")), default="standard"
    ),
    symbolic: str = option(
        "Which parameters are symbols: all, inertias, lengths, none, or names as m1,m2,g.", default="all"
    ),
    friction: bool = option("With F_v q̇ + F_s sgn(q̇) in the joint equations."),
    letters: str | None = LETTERS,
    names: str | None = NAMES,
    same: str | None = SAME,
    check: str | None = option(
        "Judge a derivation of yours, a step to a line: the first mistake is named.",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
    ),
    file: str | None = option("Write to a file.", "-o", "--output", type=NewFile(), metavar="FILE"),
    tip: str | None = TIP,
    as_json: bool = JSON,
) -> None:
    """Derive the equations step by step, each line with its reason.

    ROBOT is a robot, or one of the Lagrangian examples (cart-pole, five-bar, …). A closed chain is derived with its
    multipliers.

    \b
    Examples:
      dalembert derive planar-2r
      dalembert derive elbow-3r --method kinematics
      dalembert derive planar-2r --method newton-euler --at "30deg, 45deg; 1, 0.5; 0, 0"
      dalembert derive planar-2r --letters spong -o arm.html
      dalembert derive planar-2r --check homework.txt
    """
    if every and (form or "text") != "text":
        raise click.UsageError("--all is for text: the other formats hold all of it")
    if at is not None and method != "newton-euler":
        raise click.UsageError("--at puts numbers into --method newton-euler")
    if method != "kinematics":
        output.refuse_idle(f"{method} shows no DH table", "convention")
    if file and (as_json or check):
        raise click.UsageError("-o is for the derivation as a document; --check and --json go to the screen")
    if check:
        output.refuse_idle("--check compares with what is derived", "format", "all", "at")
    with waiting("deriving the equations", heavy=True):
        found = _system(robot, method) or _robot(
            output.load(robot, tip),
            method,
            at,
            convention,
            symbolic,
            friction=friction,
            letters=letters,
            names=read_pairs("names", names),
            same=read_pairs("same", same),
        )
        if check:
            judged = found.check(contents(check, DESCRIPTION).decode("utf-8-sig", "replace"))
            output.answer(judged.record, lambda: click.echo(str(judged)))
            output.exit_unless(bool(judged))
        elif as_json:
            output.print_json({"title": found.title, "markdown": found.markdown()})
        elif not file:
            click.echo(found.write(form or "text", fold=not every), nl=False)
        elif form is None:
            found.save(file)
        else:
            written = found.write(form, fold=not every).encode()
            whole(file, lambda opened: opened.write(written))
    if file:
        click.echo(f"wrote {file}")


def _system(name: str, method: str) -> Derivation | None:
    """Of a Lagrangian example, unless a robot has its name and is no closed chain."""
    from dalembert import robots
    from dalembert.lagrange.examples import EXAMPLES

    if name not in (*robots.names(), *EXAMPLES) and not Path(name).suffix and not Path(name).exists():
        raise unknown("robot", name, tuple(dict.fromkeys((*robots.names(), *EXAMPLES))))
    if name not in EXAMPLES or (name in robots.names() and "[[loops]]" not in robots.text(name)):
        return None
    if method != "lagrange":
        raise click.UsageError(f"{name!r} is derived from its energies: --method lagrange")
    output.refuse_idle(f"{name!r} is no robot's file", "symbolic", "friction", "letters", "names", "same", "tip")
    return EXAMPLES[name]().derivation()


def _robot(arm: Robot, method: str, at: str | None, convention: str, symbolic: str, **options: Any) -> Derivation:
    from dalembert.symbolic.parameters import CHOICES

    chosen = symbolic if symbolic in CHOICES else [name.strip() for name in symbolic.split(",")]
    if arm.loops:
        from dalembert.constrained import Constrained

        if method != "lagrange":
            raise click.UsageError(f"{arm.name!r} is a closed chain, derived with its multipliers: --method lagrange")
        output.refuse_idle("a closed chain is derived in the library's letters", "friction", "letters", "names", "same")
        return Constrained(arm).derivation(symbolic=chosen)
    parts = at.split(";") if at is not None else []
    if at is not None and len(parts) != 3:
        raise click.BadParameter("three lists are needed, q; q̇; q̈, between semicolons", param_hint="--at")
    state = None
    if parts:
        rates = [output.numbers("at", part, arm.n) or [] for part in parts[1:]]
        state = [output.positions("at", parts[0], arm) or [], *rates]
    return arm.equations(chosen, **options).derivation(method, at=state, convention=convention)
