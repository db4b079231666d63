"""dalembert report: everything that follows from a robot, as one page of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.apps.report import Report


@click.command(name="report")
@output.robot_argument
@click.option("-o", "--output", "file", type=output.NewFile(".html", ".htm"), help="Where to write; ROBOT.html else.")
@click.option("--sections", metavar="A,B,…", help="Only these sections, as robot,equations,task.")
@click.option("--seconds", type=output.POSITIVE, default=90.0, show_default=True, help="About how long it may take.")
@click.option("--quick", is_flag=True, help="Fewer samples, states and controllers.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser afterwards.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    file: str | None,
    sections: str | None,
    seconds: float,
    quick: bool,
    show: bool,
    tip: str | None,
    as_json: bool,
) -> None:
    """Write a report of ROBOT: one page that needs no network and no other file.

    Robot and drawing, frames, equations, workspace, singularities, properties, certified bounds, verification,
    a simulated task with controllers compared, and what a check-up of the model found.

    \b
    Examples:
      dalembert report planar-2r
      dalembert report arm.urdf -o arm.html --open
      dalembert report panda --sections robot,equations,task --quick
    """
    from dalembert.apps.report import write_report

    arm = output.load(robot, tip)
    names = None if sections is None else [name.strip() for name in sections.split(",") if name.strip()]
    with waiting("report") as say:
        report = write_report(
            arm, file, sections=names, seconds=seconds, quick=quick, progress=lambda title, word: say(title)
        )
    if as_json:
        output.print_json(report.data())
    else:
        _show(report)
    if show:
        click.launch(report.path.resolve().as_uri())
    if report.failed:
        raise click.exceptions.Exit(1)


def _show(report: Report) -> None:
    rows = [(s.title, s.verdict or s.state, f"{s.seconds:.1f}") for s in report.sections]
    output.print_table(f"Report of {report.robot}", ("section", "", "s"), rows)
    click.echo(f"wrote {report.path} ({report.size / 1024:.0f} KiB) in {report.seconds:.1f} s")
    for name in report.failed:
        click.echo(f"warning: section {name!r} failed; the page says why", err=True)
