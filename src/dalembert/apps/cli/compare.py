"""dalembert compare: several controllers on one task."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.controllers import CONTROLLERS, bandwidth_options, goal_of, make, within
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.control import Comparison, Scenario

USUAL = "pd-gravity,feedforward-pd,computed-torque"
SCENARIOS = ("exact", "wrong-start", "payload", "masses", "friction", "noise")


@click.command(name="compare")
@output.robot_argument
@click.option(
    "--controllers",
    default=USUAL,
    show_default=True,
    metavar="A,B,…",
    help=f"Of {', '.join(CONTROLLERS)}; all of them with 'all'.",
)
@bandwidth_options
@output.vector_option("q0", "Where the motion begins [rad, m], 30deg for degrees; home if not given.")
@output.vector_option("to", "Where it goes, along the least jerk; half a radian on if not given.")
@click.option("--move", type=output.Number(0.01), default=2.0, show_default=True, help="Seconds for the way there.")
@click.option("--rest", type=output.Number(0), default=1.0, show_default=True, help="Seconds at rest after it.")
@click.option(
    "--scenarios",
    default=",".join(SCENARIOS),
    metavar="A,B,…",
    help=f"What the controllers are not told, of {', '.join(SCENARIOS)}; all if not given.",
)
@click.option("--payload", type=output.Number(0), default=1.0, show_default=True, help="Mass at the tip [kg].")
@click.option("--mass-error", type=output.Number(-0.9, 10), default=0.1, show_default=True, help="Of every inertia.")
@click.option(
    "--dt",
    type=output.POSITIVE,
    default=1e-3,
    show_default=True,
    help="First step [s]; it is halved until half of it gives the same.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the noise.")
@output.plot_option("Draw the errors over time")
@output.tip_option
@output.json_option
def command(
    robot: str,
    controllers: str,
    omega: float,
    zeta: float,
    q0: str | None,
    to: str | None,
    move: float,
    rest: float,
    scenarios: str,
    payload: float,
    mass_error: float,
    dt: float,
    seed: int,
    plot: str | None,
    tip: str | None,
    as_json: bool,
) -> None:
    """Run controllers on the same motion, with what they were not told, and measure errors and torques.

    The verdicts: settled, bounded (an error remains), drifting, diverged; unresolved where no step was short enough.

    \b
    Examples: dalembert compare planar-2r
              dalembert compare panda --controllers pd,pd-gravity,computed-torque --payload 2 --plot errors.svg
    """
    from dalembert.control import compare
    from dalembert.trajectories import minimum_jerk

    names = list(CONTROLLERS) if controllers == "all" else output.names_of("controller", controllers, CONTROLLERS)
    wanted = output.names_of("scenario", scenarios, SCENARIOS)
    for option, scenario in (("payload", "payload"), ("mass-error", "masses"), ("seed", "noise"), ("tip", "payload")):
        if scenario not in wanted:
            output.refuse_idle(f"it is for the scenario {scenario}, which is not among --scenarios", option)
    if names == ["feedforward"]:
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    arm = output.load(robot, tip)
    if "payload" in wanted:
        output.tip_of(arm)  # where it hangs
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    given = output.positions("to", to, arm)
    goal = goal_of(arm, start) if given is None else within(arm, "to", given)
    with waiting("making the controllers"):
        each = {name: make(name, arm, omega, zeta) for name in names}
    with waiting(f"running {len(names)} controllers in {len(wanted)} scenarios"):
        found = compare(
            each,
            arm,
            minimum_jerk(start, goal, move) if goal != start else start,
            round(move + rest, 3),
            scenarios=_scenarios(wanted, payload, mass_error),
            dt=dt,
            seed=seed if "noise" in wanted else None,
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        task = {"start": start, "goal": goal, "move": move, "rest": rest, "omega": omega, "zeta": zeta}
        output.print_json({"robot": arm.name, **task, "rows": found.rows(), "criteria": found.criteria, "plot": plot})
    else:
        _show(found)
        if plot is not None:
            click.echo(f"written to {plot}")
    if (found.verdict == "unresolved").all():
        raise click.exceptions.Exit(1)


def _scenarios(names: list[str], payload: float, mass_error: float) -> dict[str, Scenario]:
    from dalembert.control import Scenario
    from dalembert.control.scenarios import DEFAULTS

    changed = {"payload": Scenario(payload=payload), "masses": Scenario(mass_error=mass_error)}
    words = {"payload": f"payload {payload:g} kg", "masses": f"masses {100 * mass_error:+g} %"}
    return {
        words.get(name, name): changed[name] if name in changed else DEFAULTS[name.replace("-", " ")] for name in names
    }


def _show(found: Comparison) -> None:
    figures = ("RMS error", "max error", "RMS torque", "peak torque", "energy [J]", "step [s]")
    rows: list[tuple[Any, ...]] = []
    for row in found.rows():
        scenario, *rest = row.values()
        rows.append((scenario if not rows or rest[0] == found.controllers[0] else "", *rest))
    title = f"{found.robot}: errors [rad, m] and torques [N m, N]"
    output.print_table(title, ("scenario", "controller", *figures, ""), _rounded(rows))
    click.echo(f"{found.argument()}\n{found.criteria}")


def _rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Three digits; of a run that ended nowhere, or was not resolved, there is no figure."""
    return [
        tuple(x if not isinstance(x, float) else float(f"{x:.3g}") if math.isfinite(x) else "–" for x in row)
        for row in rows
    ]
