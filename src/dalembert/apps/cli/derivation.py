"""dalembert derive: the equations derived step by step, as they are taught."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import JSON, ROBOT, command, pick, read_pairs
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
    method: str = pick("method", "lagrange", type=METHODS),
    form: str | None = pick("format", type=FORMATS, shown="by the ending of the file, else text"),
    every: bool = pick("all"),
    q0: str | None = pick("q0"),
    qd0: str | None = pick("qd0"),
    qdd: str | None = pick("qdd"),
    convention: str = pick("convention", "standard"),
    symbolic: str = pick("symbolic", "all"),
    friction: bool = pick("friction"),
    letters: str | None = pick("letters"),
    names: str | None = pick("names"),
    same: str | None = pick("same"),
    check: str | None = pick("check"),
    file: str | None = pick("output", type=OutputFile(".txt", ".md", ".tex", ".html")),
    as_json: bool = JSON,
) -> None:
    """Derive the equations step by step, each line with its reason.

    ROBOT is a robot, or one of the Lagrangian examples (cart-pole, five-bar, …). A closed chain is derived with its
    multipliers. --method newton-euler computes with numbers if --q0, --qd0 and --qdd are given. --check FILE names the
    first mistake in a derivation with one step per line; the exit code is then 1.

    \b
    Examples:
      dalembert derive planar-2r
      dalembert derive elbow-3r --method kinematics
      dalembert derive planar-2r --method newton-euler --q0 30deg,45deg --qd0 1,0.5 --qdd 0,0
      dalembert derive planar-2r --letters spong -o arm.html
      dalembert derive planar-2r --check homework.txt
    """
    if every and (form or "text") != "text":
        raise click.UsageError("--all is for text: the other formats hold all of it")
    state = (q0, qd0, qdd)
    if method != "newton-euler":
        output.refuse_idle("only --method newton-euler computes with numbers", "q0", "qd0", "qdd")
    elif any(state) and not all(state):
        raise click.UsageError("--q0, --qd0 and --qdd go together")
    if method != "kinematics":
        output.refuse_idle(f"{method} shows no DH table", "convention")
    if file and (as_json or check):
        raise click.UsageError("-o is for the derivation as a document; --check and --json go to the screen")
    if check:
        output.refuse_idle("--check compares with what is derived", "format", "all", "q0", "qd0", "qdd")
    with waiting("deriving the equations", heavy=True):
        found = _system(robot, method) or _robot(
            output.load(robot),
            method,
            state,
            convention,
            symbolic,
            friction=friction,
            letters=letters,
            names=read_pairs("names", names),
            same=read_pairs("same", same),
        )
        if check:
            judged = found.check(_read_work(check))
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


def _read_work(file: str) -> str:
    """Return the text of a derivation to check."""
    try:
        return contents(file, DESCRIPTION).decode("utf-8-sig", "replace")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror}") from None


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


def _robot(
    arm: Robot, method: str, state: tuple[str | None, ...], convention: str, symbolic: str, **options: Any
) -> Derivation:
    from dalembert.symbolic.parameters import CHOICES

    chosen = symbolic if symbolic in CHOICES else [name.strip() for name in symbolic.split(",")]
    if arm.loops:
        from dalembert.constrained import Constrained

        if method != "lagrange":
            raise click.UsageError(f"{arm.name!r} is a closed chain, derived with its multipliers: --method lagrange")
        output.refuse_idle("a closed chain is derived in the library's letters", "friction", "letters", "names", "same")
        return Constrained(arm).derivation(symbolic=chosen)
    at = None
    if all(state):
        q, qd, qdd = state
        rates = [output.rates(name, text, arm) or [] for name, text in (("qd0", qd), ("qdd", qdd))]
        at = [output.positions("q0", q, arm) or [], *rates]
    return arm.equations(chosen, **options).derivation(method, at=at, convention=convention)
