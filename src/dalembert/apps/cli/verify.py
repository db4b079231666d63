"""dalembert verify: an agreement certificate."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output

if TYPE_CHECKING:
    from dalembert.trust.verify.certificate import Certificate


@click.command(name="verify", short_help="Agreement certificate: every way to the same numbers, compared.")
@output.robot_argument
@click.option("--against", metavar="ROBOT", help="A second description of the same robot: what differs, and why.")
@click.option("--states", type=click.IntRange(4, 100_000), default=200, show_default=True, help="How many states.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random states.")
@click.option("--without", multiple=True, metavar="MEMBER", help="Leave out pinocchio, mujoco, …; may be repeated.")
@click.option("-o", "--out", type=output.NewFile(), metavar="FILE", help="Write the certificate as JSON.")
@click.option("--all", "every", is_flag=True, help="List every comparison.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    against: str | None,
    states: int,
    seed: int,
    without: tuple[str, ...],
    out: str | None,
    every: bool,
    tip: str | None,
    as_json: bool,
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
    from dalembert.trust.verify.verify import verify

    quiet = as_json or not sys.stderr.isatty()
    certificate = verify(
        robot,
        against=against,
        states=states,
        seed=seed,
        without=without,
        tip=tip,
        **output.reading(),
        progress=None if quiet else lambda words: click.echo(f"… {words}", err=True),
    )
    if out is not None:
        certificate.save(out)
    if as_json:
        output.print_json(certificate.data())
    else:
        _show(certificate, every)
    if not certificate:
        sys.exit(1)


def _show(certificate: Certificate, every: bool) -> None:
    if every:
        rows = [_row(row) for row in certificate.rows]
        output.print_table("Comparisons", ("quantity", "of", "with", "difference", "allowed", ""), rows)
    else:
        columns = ("member", "version", "compared", "largest difference", "of what is allowed", "")
        output.print_table("Members, each with Lagrange's equations link by link", columns, _members(certificate))
    failed = certificate.failed
    if failed and not every:
        rows = [_row(row)[:1] + _row(row)[2:] for row in failed]
        output.print_table("What differs", ("quantity", "with", "difference", "allowed", "first"), rows)
    for side in certificate.members:
        if not side.present:
            click.echo(f"absent: {side.title}: {side.reason}")
    for note in certificate.notes:
        click.echo(f"note: {note}")
    for line in certificate.differences:
        click.echo(f"written differently: {line}")
    for finding in certificate.findings:
        click.echo(f"finding: {finding.message}")
    click.echo(certificate.verdict)


def _row(row: Any) -> tuple[Any, ...]:
    place = "" if row.passed else f"{row.entry}, state {row.state}" if row.state is not None else row.entry
    return (row.quantity, row.left, row.right, f"{row.difference:.1e}", f"{row.allowed:.0e}", place if place else "ok")


def _members(certificate: Certificate) -> list[tuple[Any, ...]]:
    """One line per right-hand side: how many quantities, and the worst of them."""
    version = {side.title: side.version for side in certificate.members}
    lines = []
    for title in dict.fromkeys(row.right for row in certificate.rows):
        rows = [row for row in certificate.rows if row.right == title]
        worst = max(rows, key=lambda row: row.difference / row.allowed if row.allowed else float("inf"))
        share = worst.difference / worst.allowed if worst.allowed else float("inf")
        bad = sum(not row.passed for row in rows)
        said = "agrees" if not bad else f"{bad} of {len(rows)} differ"
        lines.append((title, version.get(title, ""), len(rows), f"{worst.difference:.1e}", f"{share:.0e}", said))
    return lines
