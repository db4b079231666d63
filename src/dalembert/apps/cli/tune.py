"""dalembert tune: gains of a controller, by bandwidth and damping; or of a PID law, by Ziegler and Nichols."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import completing, output
from dalembert.apps.cli.controllers import CONTROLLERS, TUNED, bandwidth_options, make
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.control import Controller
    from dalembert.control.gains import Gain
    from dalembert.robot import Robot

VERDICTS = {"holds": "✓", "fails": "✗", "cannot be checked": "?"}


@click.command(name="tune")
@click.argument("robot", metavar="[ROBOT]", required=False, shell_complete=completing.robots)
@click.option("--controller", type=click.Choice(TUNED), default="computed-torque", show_default=True, help="Its law.")
@bandwidth_options
@click.option("--num", metavar="b,b,…", help="Without ROBOT: a plant's numerator, falling powers of s; 1 if not given.")
@click.option("--den", metavar="a,a,…", help="Its denominator: 1,3,3,1 is s³ + 3s² + 3s + 1.")
@click.option("--delay", type=output.Number(0), default=0.0, help="Its dead time [s].")
@output.json_option
def command(
    robot: str | None,
    controller: str,
    omega: float,
    zeta: float,
    num: str | None,
    den: str | None,
    delay: float,
    as_json: bool,
) -> None:
    """Gains for a robot's controller from a bandwidth ω and a damping ζ, with what is proved of it; or, for a plant
    as a transfer function, the gains of Ziegler and Nichols.

    \b
    Examples: dalembert tune panda --omega 15
              dalembert tune puma560 --controller pd-gravity --omega 8 --zeta 0.7
              dalembert tune --den 1,3,3,1 --delay 0.2
    """
    if (robot is None) == (den is None):
        raise click.UsageError("name a ROBOT, or a plant with --den (and --num): one of the two")
    if robot is None:
        idle = ("omega", "zeta", "controller", "strict", "allow", "package-dir")
        output.refuse_idle("a plant is tuned by rule: it is for a ROBOT", *idle)
        _plant(num, den, delay, as_json)
        return
    if num is not None or delay:
        raise click.UsageError("--num and --delay are a plant's, which needs --den and no ROBOT")
    arm = output.load(robot)
    with waiting("inertias over the arm's configurations"):
        law = make(controller, arm, omega, zeta)
        conditions = law.conditions()
        stiffness = _stiffness(law, controller, arm)
    limit = arm.limits.effort / stiffness
    gains = [g for g in law.gains.each if g.symbol != "limit"]
    if as_json:
        output.print_json(
            {
                "robot": arm.name,
                "controller": controller,
                "omega": omega,
                "zeta": zeta,
                "joints": arm.joint_names,
                "gains": {g.symbol: g.values for g in gains},
                "error_at_full_torque": limit,
                "claim": conditions.claim,
                "source": conditions.source,
                "conditions": [
                    {"statement": c.statement, "verdict": c.verdict, "numbers": dict(c.numbers), "why": c.why}
                    for c in conditions.items
                ],
            }
        )
        return
    columns = ("joint", *(f"{g.symbol} {_unit(g, controller)}".strip() for g in gains), "error at full torque")
    output.print_table(
        f"{arm.name}: {controller} for ω = {omega:g} rad/s, ζ = {zeta:g}",
        columns,
        zip(arm.joint_names, *(g.values for g in gains), limit.tolist(), strict=True),
    )
    click.echo(f"{law.equation}\n{_answer(omega, zeta)}\nclaim: {conditions.claim}\nsource: {conditions.source}")
    for c in conditions.items:
        click.echo(f" {VERDICTS[c.verdict]} {c}")


def _unit(gain: Gain, controller: str) -> str:
    torque = {"kp": "[N m/rad]", "kd": "[N m s/rad]", "ki": "[N m/(rad s)]", "inertia": "[kg m²]"}
    units = {"kp": "[1/s²]", "kd": "[1/s]"} if CONTROLLERS[controller].accelerations else torque
    return units.get(gain.symbol, "")


def _stiffness(law: Controller, controller: str, arm: Robot) -> Any:
    """Torque per error of each joint, at its largest inertia, (n,)."""
    import numpy as np

    from dalembert.control.conditions import find_magnitudes

    kp = np.array(next(g.values for g in law.gains.each if g.symbol == "kp"))
    accelerations = CONTROLLERS[controller].accelerations
    return kp * find_magnitudes(arm).seen_inertia.max(axis=0) if accelerations else kp


def _answer(omega: float, zeta: float) -> str:
    """What a joint does that has these poles."""
    from dalembert.control import MassSpringDamper

    loop = MassSpringDamper(1.0, 2 * zeta * omega, omega**2)
    poles = " and ".join(f"{p:.4g}" if p.imag else f"{p.real:.4g}" for p in loop.poles)
    return f"poles {poles} 1/s, {loop.regime}, overshoot {loop.overshoot:.1%}"


def _plant(num: str | None, den: str | None, delay: float, as_json: bool) -> None:
    from dalembert.control import ZIEGLER_NICHOLS, TransferFunction, ultimate, ziegler_nichols

    above, below = output.some_numbers("num", num) or [1.0], output.some_numbers("den", den) or [1.0]
    plant = TransferFunction(above, below, delay)
    found = ultimate(plant)
    rows = []
    for rule in ZIEGLER_NICHOLS:
        law = ziegler_nichols(found, rule)
        form = law.standard
        rows.append({"rule": rule, "k_p": law.k_p, "k_i": law.k_i, "k_d": law.k_d, "T_i": form.T_i, "T_d": form.T_d})
    if as_json:
        output.print_json(
            {
                "num": plant.num,
                "den": plant.den,
                "delay": delay,
                "ultimate_gain": found.gain,
                "ultimate_period": found.period,
                "rules": rows,
            }
        )
        return
    click.echo(
        f"oscillates steadily at the gain K_u = {output.number(found.gain)} with the period T_u = "
        f"{output.number(found.period)} s ({output.number(2 * math.pi / found.period)} rad/s)"
    )
    output.print_table(
        "Ziegler–Nichols: k_p + k_i/s + k_d s",
        ("rule", "k_p", "k_i", "k_d", "T_i [s]", "T_d [s]"),
        [tuple(row.values()) for row in rows],
    )
