"""dalembert compare, tune: several controllers on one task; gains by bandwidth and damping, or by Ziegler and Nichols.

Commands know those controllers by name that a bandwidth ω and a damping ζ will do for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import POSITIVE, ROBOT, ROBOT_OR_NONE, TIP, Number, command, option, picture, vector
from dalembert.apps.cli.terminal import waiting
from dalembert.control import registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dalembert.control import Comparison, Controller, Scenario
    from dalembert.control.gains import Gain
    from dalembert.robot import Robot

CONTROLLERS = registry.offered("joints")
ALONE = {  # what the poles of a joint count
    "accelerations": "(poles and overshoot of a step of the set point: the model is exact)",
    "torques": "(poles and overshoot of a step of the set point: each joint alone, without gravity)",
}
TUNED = tuple(name for name, entry in registry.offered("joints", compiled=True).items() if entry.settings)
USUAL = "pd-gravity,feedforward-pd,computed-torque"
SCENARIOS = ("exact", "wrong-start", "payload", "masses", "friction", "noise")


def _setting(setting: registry.Setting) -> Any:
    words = f"{setting.meaning} {setting.symbol}{f' [{setting.unit}]' if setting.unit else ''}."
    return option(words, type=Number(0, 1e6, min_open=True), default=setting.default)


OMEGA, ZETA = _setting(registry.OMEGA), _setting(registry.ZETA)
FRICTION = option("Friction and springs of the model, unknown to the controllers.")
COMPENSATE = option("Compensation of the model's friction by the controllers (implies --friction).")


@command
def compare(
    robot: str = ROBOT,
    controllers: str = option(f"Of {', '.join(CONTROLLERS)}; all of them with 'all'.", default=USUAL, metavar="A,B,…"),
    omega: float = OMEGA,
    zeta: float = ZETA,
    q0: str | None = vector("Where the motion begins [rad, m], 30deg for degrees; home if not given."),
    to: str | None = vector("Where it goes, along the least jerk; half a radian on if not given."),
    move: float = option("Seconds for the way there.", type=Number(0.01), default=2.0),
    rest: float = option("Seconds at rest after it.", type=Number(0), default=1.0),
    scenarios: str = option(
        f"What the controllers are not told, of {', '.join(SCENARIOS)}; all if not given.",
        default=",".join(SCENARIOS),
        metavar="A,B,…",
        show_default=False,
    ),
    payload: float = option("Mass at the tip [kg].", type=Number(0), default=1.0),
    mass_error: float = option("Of every inertia.", type=Number(-0.9, 10), default=0.1),
    friction: bool = FRICTION,
    compensate_friction: bool = COMPENSATE,
    dt: float = option("First step [s]; it is halved until half of it gives the same.", type=POSITIVE, default=1e-3),
    seed: int = option("Of the noise.", type=click.IntRange(0), default=0),
    plot: str | None = picture("Draw the errors over time"),
    tip: str | None = TIP,
) -> None:
    """Run controllers on the same motion, with what they were not told, and measure errors and torques.

    The verdicts: settled, bounded (an error remains), drifting, diverged; unresolved where no step was short enough.

    \b
    Examples: dalembert compare planar-2r
              dalembert compare panda --controllers pd,pd-gravity,computed-torque --payload 2 --plot errors.svg
    """
    from dalembert.control import compare as compare_controllers
    from dalembert.trajectories import minimum_jerk

    names = list(CONTROLLERS) if controllers == "all" else output.names_of("controller", controllers, CONTROLLERS)
    wanted = output.names_of("scenario", scenarios, SCENARIOS)
    for name, scenario in (("payload", "payload"), ("mass-error", "masses"), ("seed", "noise"), ("tip", "payload")):
        if scenario not in wanted:
            output.refuse_idle(f"it is for the scenario {scenario}, which is not among --scenarios", name)
    if names == ["feedforward"]:
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    arm = output.load(robot, tip)
    if "payload" in wanted:
        output.tip_of(arm)  # where it hangs
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    goal = output.positions("to", to, arm, within=True) or _goal(arm, start)
    with waiting("making the controllers"):
        each = {
            name: entry.make(arm, omega, zeta, friction=compensate_friction and (entry.compensates or len(names) == 1))
            for name, entry in ((name, CONTROLLERS[name]) for name in names)
        }
    with waiting(f"running {len(names)} controllers in {len(wanted)} scenarios"):
        found = compare_controllers(
            each,
            arm,
            minimum_jerk(start, goal, move) if goal != start else start,
            round(move + rest, 3),
            scenarios=_scenarios(wanted, payload, mass_error, friction or compensate_friction),
            dt=dt,
            seed=seed if "noise" in wanted else None,
        )
    if plot is not None:
        found.plot(plot)
    compensating = [name for name in names if compensate_friction and CONTROLLERS[name].compensates]
    task = {"start": start, "goal": goal, "move": move, "rest": rest, "omega": omega, "zeta": zeta}
    task |= {"friction": friction or compensate_friction, "compensating": compensating}
    data = {"robot": arm.name, **task, "rows": found.rows(), "criteria": found.criteria, "plot": plot}

    def show() -> None:
        _show_comparison(found)
        if friction or compensate_friction:
            click.echo(f"friction of the model in every scenario; compensated by: {', '.join(compensating) or 'none'}")
        output.print_files(plot)

    output.answer(data, show)
    output.exit_unless(not (found.verdict == "unresolved").all())


def _goal(arm: Robot, start: list[float]) -> list[float]:
    """Somewhere to go if nobody says: every joint half a radian (a tenth of a meter) toward its farther limit."""
    goal = []
    for c, x in zip(arm.model.coordinates, start, strict=True):
        way = min(0.5 if c.joint.turns else 0.1, max(c.upper - x, x - c.lower))
        goal.append(x + way if c.upper - x >= x - c.lower else x - way)
    return goal


def _scenarios(names: list[str], payload: float, mass_error: float, friction: bool) -> dict[str, Scenario]:
    from dataclasses import replace

    from dalembert.control import Scenario
    from dalembert.control.scenarios import DEFAULTS

    changed = {"payload": Scenario(payload=payload), "masses": Scenario(mass_error=mass_error)}
    words = {"payload": f"payload {payload:g} kg", "masses": f"masses {100 * mass_error:+g} %"}
    found = {
        words.get(name, name): changed[name] if name in changed else DEFAULTS[name.replace("-", " ")] for name in names
    }
    return {name: replace(s, friction=1.0) for name, s in found.items()} if friction else found


def _show_comparison(found: Comparison) -> None:
    figures = ("RMS error", "max error", "RMS torque", "peak torque", "energy [J]", "step [s]")
    rows: list[tuple[object, ...]] = []
    for row in found.rows():
        scenario, *rest = row.values()
        rows.append((scenario if not rows or rest[0] == found.controllers[0] else "", *map(_round, rest)))
    title = f"{found.robot}: errors [rad, m] and torques [N m, N]"
    columns = ["scenario", "controller", *figures, ""]
    k = columns.index("step [s]")
    if len({row[k] for row in rows}) == 1:  # one column less fits into 80 characters
        title += f", time step {rows[0][k]} s"
        columns.pop(k)
        rows = [(*row[:k], *row[k + 1 :]) for row in rows]
    output.print_table(title, columns, rows)
    click.echo(f"{found.argument()}\n{found.criteria}")


def _round(x: object) -> object:
    """Three digits; of a run that ended nowhere, or was not resolved, there is no figure."""
    return x if not isinstance(x, float) else float(f"{x:.3g}") if math.isfinite(x) else "–"


@command
def tune(
    robot: str | None = ROBOT_OR_NONE,
    controller: str = option("Its law.", type=click.Choice(TUNED), default="computed-torque"),
    omega: float = OMEGA,
    zeta: float = ZETA,
    num: str | None = option(
        "Without ROBOT: a plant's numerator, falling powers of s; 1 if not given.", metavar="b,b,…"
    ),
    den: str | None = option("Its denominator: 1,3,3,1 is s³ + 3s² + 3s + 1.", metavar="a,a,…"),
    delay: float = option("Its dead time [s].", type=Number(0), default=0.0, show_default=False),
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
        idle = ("omega", "zeta", "controller", *output.READING)
        output.refuse_idle("a plant is tuned by rule: it is for a ROBOT", *idle)
        _answer_plant(num, den, delay)
        return
    if num is not None or delay:
        raise click.UsageError("--num and --delay are a plant's, which needs --den and no ROBOT")
    arm = output.load(robot)
    with waiting("inertias over the arm's configurations"):
        law = CONTROLLERS[controller].make(arm, omega, zeta)
        conditions = law.conditions()
        stiffness = _stiffness(law, controller, arm)
    loops = _loops(law)
    limit = arm.limits.effort / stiffness
    gains = [g for g in law.gains.each if g.symbol != "limit"]

    def show() -> None:
        columns = ("joint", *(f"{g.symbol} {_unit(g, controller)}".strip() for g in gains), "error at full torque")
        rows = zip(arm.joint_names, *(g.values for g in gains), limit.tolist(), strict=True)
        output.print_table(f"{arm.name}: {controller} for ω = {omega:g} rad/s, ζ = {zeta:g}", columns, rows)
        click.echo(law.equation)
        same: dict[str, list[str]] = {}
        for joint, loop in zip(arm.joint_names, loops, strict=True):
            same.setdefault(str(loop), []).append(joint)
        for text, joints in same.items():
            click.echo(f"{'each joint' if len(same) == 1 else ', '.join(joints)}: {text}")
        click.echo(ALONE["accelerations" if CONTROLLERS[controller].accelerations else "torques"])
        click.echo(str(conditions))

    keys = ("statement", "verdict", "numbers", "why")
    data = {
        "robot": arm.name,
        "controller": controller,
        "omega": omega,
        "zeta": zeta,
        "joints": arm.joint_names,
        "gains": {g.symbol: g.values for g in gains},
        "error_at_full_torque": limit,
        "poles": [[[p.real, p.imag] for p in loop.poles] for loop in loops],
        "overshoot": [loop.overshoot for loop in loops],
        "claim": conditions.facts.claim,
        "source": conditions.facts.source,
        "conditions": [{key: getattr(c, key) for key in keys} | {"numbers": dict(c.numbers)} for c in conditions],
    }
    output.answer(data, show)


def _unit(gain: Gain, controller: str) -> str:
    torque = {"kp": "[N m/rad]", "kd": "[N m s/rad]", "ki": "[N m/(rad s)]", "inertia": "[kg m²]"}
    units = {"kp": "[1/s²]", "kd": "[1/s]"} if CONTROLLERS[controller].accelerations else torque
    return units.get(gain.symbol, "")


def _stiffness(law: Controller, controller: str, arm: Robot) -> NDArray[np.float64]:
    """Torque per error of each joint, at its largest inertia, (n,)."""
    import numpy as np

    from dalembert.control.conditions import find_magnitudes

    kp = np.array(next(g.values for g in law.gains.each if g.symbol == "kp"))
    accelerations = CONTROLLERS[controller].accelerations
    return kp * find_magnitudes(arm).seen_inertia.max(axis=0) if accelerations else kp


class _Loop(NamedTuple):
    """The closed loop of one joint: its poles [1/s], how it moves in a word, and the overshoot of a step of the set
    point (part of the step), None if it is not stable."""

    poles: list[complex]
    regime: str
    overshoot: float | None

    def __str__(self) -> str:
        shown = []
        for p in self.poles:
            if p.imag == 0:
                shown.append(f"{p.real:.4g}")
            elif p.imag > 0:
                shown.append(f"{p.real:.4g} ± {p.imag:.4g}i")
        listed = ", ".join(shown[:-1]) + " and " * (len(shown) > 1) + shown[-1]
        parts = (
            f"poles {listed} 1/s",
            self.regime,
            *(() if self.overshoot is None else (f"overshoot {self.overshoot:.1%}",)),
        )
        return ", ".join(filter(None, parts))


def _loops(law: Controller) -> list[_Loop]:
    """The loop of each joint."""
    from dalembert.control import MassSpringDamper, step_figures

    found = []
    for loop in law.joint_loops():
        if len(loop.den) == 3:
            J, kd, kp = loop.den.tolist()
            second = MassSpringDamper(J, kd, kp)
            found.append(_Loop(list(second.poles), second.regime, second.overshoot))
        else:
            poles = sorted(loop.poles.astype(complex).tolist(), key=lambda p: (p.real, p.imag))
            stable = bool(loop.stable)
            found.append(_Loop(poles, "" if stable else "unstable", step_figures(loop).overshoot if stable else None))
    return found


def _answer_plant(num: str | None, den: str | None, delay: float) -> None:
    from dalembert.control import ZIEGLER_NICHOLS, TransferFunction, ultimate, ziegler_nichols

    above, below = output.some_numbers("num", num) or [1.0], output.some_numbers("den", den) or [1.0]
    plant = TransferFunction(above, below, delay)
    found = ultimate(plant)
    rows = []
    for rule in ZIEGLER_NICHOLS:
        law = ziegler_nichols(found, rule)
        form = law.standard
        rows.append({"rule": rule, "k_p": law.k_p, "k_i": law.k_i, "k_d": law.k_d, "T_i": form.T_i, "T_d": form.T_d})

    def show() -> None:
        click.echo(
            f"oscillates steadily at the gain K_u = {output.number(found.gain)} with the period T_u = "
            f"{output.number(found.period)} s ({output.number(2 * math.pi / found.period)} rad/s)"
        )
        columns = ("rule", "k_p", "k_i", "k_d", "T_i [s]", "T_d [s]")
        output.print_table("Ziegler–Nichols: k_p + k_i/s + k_d s", columns, [tuple(row.values()) for row in rows])

    own = {"num": plant.num, "den": plant.den, "delay": delay}
    output.answer({**own, "ultimate_gain": found.gain, "ultimate_period": found.period, "rules": rows}, show)
