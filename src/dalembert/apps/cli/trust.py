"""dalembert properties, bounds, verify: what a robot's equations obey, how large their terms get, and whether every way
to them gives the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import COUNT
from dalembert.apps.cli.options import JSON, OUTPUT, ROBOT, command, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.trust.properties import Choices
    from dalembert.trust.properties.mechanism import TrialOptions
    from dalembert.trust.properties.property import PropertyReport
    from dalembert.trust.verify.certificate import Certificate


@command
def properties(
    robot: str = ROBOT,
    states: int = pick("states", 200, type=COUNT),
    seed: int = pick("seed", 0),
    q0: str | None = pick("q0"),
    qd0: str | None = pick("qd0", shown="zero"),
    only: str | None = pick("only"),
    method: str | None = pick("method", type=("symbolic", "numeric"), shown="symbolic where it is fast"),
    tree: bool = pick("tree"),
    plot: str | None = pick("plot"),
) -> None:
    """Show which properties a robot's equations have: M symmetric positive definite, Ṁ − 2C skew, passivity, linearity.

    --q0 and --qd0 add a state to the random ones. --only choices compares the choices of C, --only NAME shows one
    property in full. --plot draws the energy balance along a motion. Exit code 1 if a property fails.

    \b
    Example: dalembert properties planar-2r
    """
    from dalembert.trust import properties as lab

    if qd0 is not None and q0 is None:
        raise click.UsageError("--qd0 needs --q0: both are one state")
    names = output.names_of("property", only) if only else []
    if "choices" in names and len(names) > 1:
        raise click.UsageError("--only choices is a table of its own: leave out the other names")
    arm = output.load(robot).tree() if tree else output.load(robot)
    options: TrialOptions = {
        "states": states,
        "seed": seed,
        "symbols": None if method is None else method == "symbolic",
        "q": output.positions("q0", q0, arm),
        "qd": output.numbers("qd0", qd0, arm.n),
    }
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(lab.energy_books(arm, seed=seed).plot(), plot)
        click.echo(f"wrote {plot}", err=True)
    if names == ["choices"]:
        with waiting("choices of C", heavy=True):
            table = lab.coriolis_choices(arm, **options)
        _answer_choices(table)
        return
    with waiting("properties", heavy=True) as say:
        report = lab.lab(arm, only=names or None, progress=say, **options)
    output.answer(report.data, lambda: _show_properties(report, bool(names)))
    if not report.ok:
        failed = ", ".join(p.name for p in report.errors)
        raise click.ClickException(f"{arm.name} does not have these properties: {failed}")


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
    only: str | None = pick("only"),
    gap: float = pick("gap", 0.05),
    seconds: float = pick("seconds", 60.0),
    limits: tuple[str, ...] = pick("limits"),
    method: str = pick("method", "search", type=("search", "symbolic")),
) -> None:
    """Compute certified bounds on M, c and g over all positions of the joints.

    A proved bound holds for every position, rounding included. An attained value was found by search, at a state that
    --json contains; the true extreme lies between the two. --limits lower=X,… --limits upper=X,… replace the joint
    limits. --method symbolic gives formulas in the parameters, for small arms.

    \b
    Example: dalembert bounds puma560 --only mu1,mu2 --gap 0.02
    """
    names = output.names_of("bound", only) if only else None
    ends = output.limits(limits, ("lower", "upper"))
    if len(ends) == 1:
        raise click.UsageError("--limits lower=X,… and --limits upper=X,… go together")
    arm = output.load(robot)
    low, high = (output.positions("limits", ends.get(end), arm) for end in ("lower", "upper"))
    between = None if low is None or high is None else (low, high)
    if method == "symbolic":
        output.refuse_idle("--method symbolic derives all formulas", "gap", "seconds", "only")
        from dalembert.bounds.symbolic import symbolic_bounds

        with waiting("deriving the equations"):
            found = symbolic_bounds(arm.equations(), between)
        output.answer({"robot": arm.name, **found.json()}, lambda: click.echo(str(found)))
        return
    with waiting("bounds") as say:
        result = arm.bounds(names, limits=between, gap=gap, seconds=seconds, watch=say)
    output.answer(result.data, lambda: output.print_findings(result))


@command
def verify(
    robot: str = ROBOT,
    against: str | None = pick("against"),
    states: int = pick("states", 200, type=click.IntRange(4, 100_000)),
    seed: int = pick("seed", 0),
    without: tuple[str, ...] = pick("without"),
    out: str | None = OUTPUT,
    every: bool = pick("all"),
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
    given = click.get_current_context().params
    arranged = any(given[f"robot_{name}"] for name in output.ARRANGING if name != "tip")
    certificate = verify_robot(
        output.load(robot, several=True) if arranged else robot,
        against=against,
        states=states,
        seed=seed,
        without=without,
        tip=given["robot_tip"],
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
