"""dalembert robots: what comes with the package."""

from __future__ import annotations

import re
import warnings

import click

from dalembert.apps.cli import output


@click.command(name="robots")
@output.json_option
def command(as_json: bool) -> None:
    """List the bundled robots.

    \b
    Example: dalembert robots
    """
    from dalembert import robots
    from dalembert.errors import ModelWarning
    from dalembert.loading import load

    warnings.simplefilter("ignore", ModelWarning)  # of one robot they tell, in a list of all they hide it
    rows = []
    for name in robots.names():
        robot = load(name)
        kinds = "".join(c.joint.kind[0].upper() for c in robot.model.coordinates)
        about = re.split(r"[;:]|\. ", " ".join(robot.description.notes.split()))[0]
        row = {"name": name, "joints": robot.n, "kinds": kinds, "loops": len(robot.loops), "mass": robot.mass}
        rows.append({**row, "about": about})
    if as_json:
        output.print_json(rows)
        return
    output.print_table(
        "Bundled robots",
        ("name", "joints", "kinds", "loops", "mass [kg]", "what it is"),
        [(r["name"], r["joints"], r["kinds"], r["loops"] or "", r["mass"], r["about"]) for r in rows],
    )
