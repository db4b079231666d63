"""dalembert properties, bounds, verify: what a robot's equations obey, how large their terms get, and whether every way
to them gives the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import JSON, ROBOT, TIP, NewFile, Number, command, option, picture
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.trust.properties import Choices
    from dalembert.trust.properties.mechanism import TrialOptions
    from dalembert.trust.properties.property import PropertyReport
    from dalembert.trust.verify.certificate import Certificate


@command
def properties(
    robot: str = ROBOT,
    states: int = option("Random states.", type=click.IntRange(min=1), default=200),
    seed: int = option("Of the random states.", type=click.IntRange(min=0), default=0),
    q: str | None = option(
        "A state of your own to measure at as well; angles may be written as 30deg.", metavar="x,x,…"
    ),
    qd: str | None = option("Its joint velocities; zero if not given.", metavar="x,x,…"),
    only: tuple[str, ...] = option("This property alone, in full; may be repeated.", metavar="NAME"),
    choices: bool = option("The table of the choices of C instead."),
    symbols: bool | None = option(
        "Always or never in symbols; where it is cheap if not said.", "--symbols/--no-symbols", default=None
    ),
    tree: bool = option("Of a closed chain, the tree without its loops."),
    plot: str | None = picture("Draw the energy books along a motion"),
) -> None:
    """Show which properties a robot's equations have: M symmetric positive definite, Ṁ − 2C skew, passivity, linearity.

    \b
    Example: dalembert properties planar-2r
    """
    from dalembert.trust import properties as lab

    if qd is not None and q is None:
        raise click.UsageError("--qd is given without --q: a state begins with its position")
    if choices and only:
        raise click.UsageError("--choices is a table of its own: leave out --only")
    arm = output.load(robot).tree() if tree else output.load(robot)
    options: TrialOptions = {
        "states": states,
        "seed": seed,
        "symbols": symbols,
        "q": output.positions("q", q, arm),
        "qd": output.numbers("qd", qd, arm.n),
    }
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(lab.energy_books(arm, seed=seed).plot(), plot)
        click.echo(f"wrote {plot}", err=True)
    if choices:
        with waiting("choices of C", heavy=True):
            table = lab.coriolis_choices(arm, **options)
        _answer_choices(table)
        return
    with waiting("properties", heavy=True) as say:
        report = lab.lab(arm, only=only or None, progress=say, **options)
    output.answer(report.data, lambda: _show_properties(report, bool(only)))
    if not report.ok:
        names = ", ".join(p.name for p in report.errors)
        raise click.ClickException(f"of {arm.name}, this fails: {names}")


def _show_properties(report: PropertyReport, full: bool) -> None:
    if full:
        click.echo("\n\n".join(str(p) for p in report))
    else:
        output.print_findings(report)


def _answer_choices(table: Choices) -> None:
    keys = ("formula", "same_torque", "workless", "skew", "standard", "proved", "violations")
    rows = [{"choice": r.name, **{key: getattr(r, key) for key in keys}} for r in table]
    words = {True: "yes", False: "no"}

    def show() -> None:
        output.print_table(
            f"{table.system}: matrices C with C q̇ = c",
            ("choice", "C q̇ = c", "q̇ᵀ(Ṁ − 2C)q̇ = 0", "Ṁ − 2C skew", "shown", "C"),
            [
                (
                    r.name,
                    *(words[x] for x in (r.same_torque, r.workless, r.skew)),
                    "proved" if r.proved else "measured",
                    r.formula,
                )
                for r in table
            ],
        )
        click.echo(
            f"Of all C linear in q̇, {table.free} functions of q are free; {table.free_skew} if Ṁ − 2C is to stay skew."
        )

    data = {"system": table.system, "free": table.free, "free_skew": table.free_skew, "choices": rows}
    output.answer(data, show)


@command
def bounds(
    robot: str = ROBOT,
    only: tuple[str, ...] = option("One bound by its name, such as mu2; may be repeated.", metavar="NAME"),
    gap: float = option("Relative gap to reach.", type=Number(0.0, 10.0), default=0.05),
    seconds: float = option("Time to spend.", type=Number(0.1), default=60.0),
    lower: str | None = option("Lower end of every joint's range, instead of its limit.", metavar="x,x,…"),
    upper: str | None = option("Upper end of every joint's range, instead of its limit.", metavar="x,x,…"),
    formulas: bool = option("Bounds as formulas in the parameters, for small arms."),
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
        output.answer({"robot": arm.name, **found.json()}, lambda: click.echo(str(found)))
        return
    with waiting("bounds") as say:
        result = arm.bounds(list(only) or None, limits=limits, gap=gap, seconds=seconds, watch=say)
    output.answer(result.data, lambda: output.print_findings(result))


@command
def verify(
    robot: str = ROBOT,
    against: str | None = option("A second description of the same robot: what differs, and why.", metavar="ROBOT"),
    states: int = option("How many states.", type=click.IntRange(4, 100_000), default=200),
    seed: int = option("Of the random states.", type=click.IntRange(0), default=0),
    without: tuple[str, ...] = option("Leave out pinocchio, mujoco, …; may be repeated.", metavar="METHOD"),
    out: str | None = option("Write the certificate as JSON.", "-o", "--out", type=NewFile(), metavar="FILE"),
    every: bool = option("List every comparison.", "--all"),
    tip: str | None = TIP,
    as_json: bool = JSON,
) -> None:
    """Compute a robot's kinematics and dynamics in every way there is, at many states, and compare.

    The reference is Lagrange's equations link by link, straight from the description; against it stand the file read a
    second time, Dalembert's own algorithms, the equations in symbols, and Pinocchio, MuJoCo and Drake where installed.
    Where two differ: the first term that does, and the likely cause. Exit code 1 if anything differs.

    \b
    Examples: dalembert verify panda
              dalembert verify robot.urdf --without mujoco -o certificate.json
              dalembert verify robot.urdf --against other.urdf
    """
    from dalembert.trust.verify.verify import verify as verify_robot

    quiet = as_json or not sys.stderr.isatty()
    said = output.reading()
    arranged = any((said["base"], said["robot"], said["free"]))
    certificate = verify_robot(
        output.load(robot, tip, several=True) if arranged else robot,
        against=against,
        states=states,
        seed=seed,
        without=without,
        tip=tip,
        package_dirs=said["package_dirs"],
        strict=said["strict"],
        allow=said["allow"],
        progress=None if quiet else lambda words: click.echo(f"… {words}", err=True),
    )
    if out is not None:
        certificate.save(out)
    output.answer(certificate.data, lambda: _show_certificate(certificate, every))
    output.exit_unless(certificate.ok)


def _show_certificate(certificate: Certificate, every: bool) -> None:
    from dalembert.trust.verify.certificate import summarize_by

    if every:
        output.print_findings(certificate)
        return
    made = summarize_by(certificate, lambda row: row.right, "method")
    output.print_table("Methods, each with Lagrange's equations link by link", made.columns, made.rows)
    if certificate.errors:
        output.print_findings(replace(certificate, rows=certificate.errors), "What differs")
    else:
        click.echo("\n".join((*certificate.remarks, certificate.message)))
