"""dalembert simulate: one run of a robot, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.controllers import CONTROLLERS, bandwidth_options, make, within
from dalembert.apps.cli.progress import waiting
from dalembert.apps.cli.refused import INTERRUPTED

if TYPE_CHECKING:
    from dalembert.constrained.system import Constrained
    from dalembert.reference import Reference
    from dalembert.robot import Robot
    from dalembert.simulation.run import Run

FREE = "none"
LIMITS = ("stop", "bounce", "report")


@click.command(name="simulate")
@output.robot_argument
@click.option(
    "--controller",
    type=click.Choice((*CONTROLLERS, FREE)),
    help="Its law; computed-torque if there is a goal, else none: the arm falls.",
)
@bandwidth_options
@output.vector_option("q0", "Where it begins [rad, m], 30deg for degrees; home if not given.")
@output.vector_option("qd0", "Its velocities there; zero if not given.")
@output.vector_option("to", "Where it is to go; it stays where it begins if not given.")
@click.option(
    "--move",
    type=output.Number(0),
    help="Seconds for the way there, of least jerk; 0: a step. Half the duration if not given.",
)
@click.option("--duration", type=output.POSITIVE, default=2.0, show_default=True, help="Of the run [s].")
@click.option("--dt", type=output.POSITIVE, default=1e-3, show_default=True, help="Step [s].")
@click.option("--method", default="rk4", show_default=True, help="Of integration: rk4, euler, symplectic, DOP853, …")
@click.option("--payload", type=output.Number(0), default=0.0, help="Mass at the tip [kg]; the law is not told.")
@click.option("--friction", is_flag=True, help="With the model's friction and springs; the law is not told.")
@click.option("--torque-limits", is_flag=True, help="Torques end at the robot's efforts.")
@click.option(
    "--limits",
    type=click.Choice(LIMITS),
    help="Where a joint reaches its limit: end the run, bounce, or go on and say when.",
)
@click.option("-o", "--out", type=output.NewFile(".csv", ".parquet"), metavar="FILE", help="The run: .csv, .parquet.")
@output.plot_option("Draw positions, rates, torques and energies")
@output.tip_option
@output.json_option
def command(
    robot: str,
    controller: str | None,
    omega: float,
    zeta: float,
    q0: str | None,
    qd0: str | None,
    to: str | None,
    move: float | None,
    duration: float,
    dt: float,
    method: str,
    payload: float,
    friction: bool,
    torque_limits: bool,
    limits: str | None,
    out: str | None,
    plot: str | None,
    tip: str | None,
    as_json: bool,
) -> None:
    """Simulate a robot, free or under a controller: final errors, peak torques, energy books.

    A payload and friction are the robot's; the controller believes in the description as it is. Exit code 1 if the
    run did not come to its end.

    \b
    Examples: dalembert simulate planar-2r --q0 0,0 --duration 5
              dalembert simulate panda --to 0.5,0.5,0,-1.2,0,2,0 --payload 2 -o run.csv
              dalembert simulate puma560 --controller pd-gravity --omega 8 --plot run.svg
    """
    from dalembert.simulation.simulate import simulate
    from dalembert.simulation.write import arrow

    name = controller or (FREE if to is None else "computed-torque")
    if name == FREE and to is not None:
        raise click.UsageError("--to is for a controller to go there: leave out --controller none")
    if to is None and move is not None:
        raise click.UsageError("--move is the time for the way --to a goal, and there is no goal")
    if name == FREE:
        output.refuse_idle("they are a controller's, and the arm is free", "omega", "zeta", "torque-limits")
    if name == "feedforward":
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    if not payload:
        output.refuse_idle("it says where --payload hangs", "tip")
    if out is not None and out.lower().endswith(".parquet"):
        arrow()  # missed now, not after the run
    arm = output.load(robot, tip)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    rates = output.numbers("qd0", qd0, arm.n)
    given = output.positions("to", to, arm)
    goal = None if given is None else within(arm, "to", given)
    law = None if name == FREE else make(name, arm, omega, zeta)
    with waiting("compiling the loop") as say:
        run = simulate(
            _plant(arm, payload),
            law,
            q0=start,
            qd0=rates,
            duration=duration,
            dt=dt,
            method=method,
            reference=None if law is None else _reference(start, goal, duration / 2 if move is None else move),
            friction=True if friction else None,
            torque_limits="robot" if torque_limits else None,
            limits=limits,
            progress=lambda part: say(f"simulating: {part:.0%}"),
        )
    files = _write(run, out, plot)
    if as_json:
        output.print_json({"controller": name, **_data(run, files)})
    else:
        _show(arm, run, name, files)
    if not run.ok:
        raise click.exceptions.Exit(INTERRUPTED if run.status == "interrupted" else 1)


def _plant(arm: Robot, payload: float) -> Robot | Constrained:
    """What moves: the arm with what it carries; a closed chain keeps its loops closed."""
    loaded = arm.with_payload(payload) if payload else arm
    if not loaded.loops:
        return loaded
    from dalembert.constrained.system import Constrained

    return Constrained(loaded)


def _reference(start: list[float], goal: list[float] | None, move: float) -> Reference | list[float]:
    """The way of least jerk, then rest; a set point where there is no way."""
    from dalembert.trajectories import minimum_jerk

    if goal is None or goal == start or move == 0:
        return start if goal is None else goal
    return minimum_jerk(start, goal, move)


def _write(run: Run, out: str | None, plot: str | None) -> list[str]:
    if out is not None:
        (run.to_csv if Path(out).suffix.lower() == ".csv" else run.to_parquet)(out)
    if plot is not None:
        from dalembert.draw.pyplot import save

        save(run.plot(), plot)
    return [path for path in (out, plot) if path is not None]


def _errors(run: Run) -> Any:
    """q_d − q, (rows, n); None for a run that followed nothing."""
    return run.reference - run.q if run.groups["reference"] else None


def _data(run: Run, files: list[str]) -> dict[str, Any]:
    import numpy as np

    e, audit = _errors(run), run.audit()
    return {
        "robot": run.name,
        "status": run.status,
        "message": run.message,
        "method": run.method,
        "dt": run.dt,
        "end": float(run.t[-1]),
        "rows": len(run),
        "joints": run.groups["q"],
        "q": run.q[-1],
        "qd": run.qd[-1],
        "final_error": None if e is None else e[-1],
        "largest_error": None if e is None else np.abs(e).max(axis=0),
        "peak_torque": np.abs(run.tau).max(axis=0),
        "energy": {name: getattr(audit, name) for name in ("work", "loss", "change", "gap", "relative", "passive")},
        "events": [event.message for event in run.events],
        "beyond": [vars(excess) for excess in run.beyond],
        "files": files,
    }


def _show(arm: Robot, run: Run, controller: str, files: list[str]) -> None:
    import numpy as np

    from dalembert.simulation.simulate import SAID

    e, peak, effort = _errors(run), np.abs(run.tau).max(axis=0), arm.limits.effort
    columns: list[str] = ["joint", "q at start", "at the end"]
    parts: list[Any] = [arm.joint_names, run.q[0].tolist(), run.q[-1].tolist()]
    if e is not None:
        columns += ["final error", "largest error"]
        parts += [e[-1].tolist(), np.abs(e).max(axis=0).tolist()]
    if controller != FREE:
        columns += ["peak torque [N m, N]", "its limit"]
        parts += [peak.tolist(), effort.tolist()]
    driven = "free" if controller == FREE else f"under {controller}"
    title = f"{arm.name} {driven}, {output.number(float(run.t[-1]))} s by {run.method} [rad, m]"
    output.print_table(title, columns, zip(*parts, strict=True))
    audit = run.audit()
    output.print_table(
        "Energy [J]",
        ("supplied", "lost", "stored", "gap", "relative gap"),
        [(audit.work, audit.loss, audit.change, f"{audit.gap:.1e}", f"{audit.relative:.1e}")],
    )
    for excess in run.beyond[SAID:]:  # the message names the others
        click.echo(f"limit: {excess}")
    if any(excess.kind == "effort" for excess in run.beyond):
        click.echo("--torque-limits holds torques within their limits")
    for event in run.events:
        if event.message != run.message:
            click.echo(f"event: {event.message}")
    click.echo(run.message)
    for path in files:
        click.echo(f"written to {path}")
