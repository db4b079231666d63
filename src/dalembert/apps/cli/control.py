"""dalembert compare, tune: several controllers on one task; gains by bandwidth and damping, or by Ziegler and Nichols.

Commands know those controllers by name that a bandwidth ω and a damping ζ will do for."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import ROBOT_OPTIONS
from dalembert.apps.cli.options import ROBOT, ROBOT_OR_NONE, command, pick
from dalembert.apps.cli.terminal import waiting
from dalembert.control import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
# Parameters of --vary, and the field of a Scenario that each one is.
VARIED = {
    "payload.mass": "payload",
    "mass_error": "mass_error",
    "friction": "friction",
    "viscous": "viscous",
    "coulomb": "coulomb",
    "noise": "noise",
    "rate_noise": "rate_noise",
    "start": "start",
}


def read_controller(text: str, known: Iterable[str]) -> tuple[str, bool]:
    """Return the name of a controller and whether it compensates friction, from NAME or NAME+friction."""
    name, plus, term = text.partition("+")
    if plus and term != "friction":
        raise click.UsageError(f"a controller is NAME or NAME+friction; got {text!r}")
    return output.names_of("controller", name, known)[0], bool(plus)


@partial(command, controllers=(*CONTROLLERS, "all"))
def compare(
    robot: str = ROBOT,
    controllers: str = pick("controller", USUAL),
    omega: float = pick("omega", 10.0),
    zeta: float = pick("zeta", 1.0),
    q0: str | None = pick("q0", shown="home"),
    to: str | None = pick("to", shown="half a radian from the start"),
    move: float = pick("move", 2.0),
    duration: float | None = pick("duration", shown="1 s more than --move"),
    vary: tuple[str, ...] = pick("vary"),
    friction: bool = pick("friction"),
    dt: float = pick("dt", 1e-3),
    seed: int = pick("seed", 0),
    plot: str | None = pick("plot"),
) -> None:
    """Run controllers on the same motion, with parameters that they do not know, and measure errors and torques.

    \b
    Controllers: {controllers}
    --vary:      payload.mass [kg], mass_error (0.1: every inertia 10 % larger), friction (times that of the
                 model), viscous [N m s/rad], coulomb [N m], noise [rad], rate_noise [rad/s], start [rad].

    Without --vary there are six cases: exact, wrong start, payload, masses, friction and noise. The time step is halved
    until half of it gives the same verdicts: settled, bounded (an error remains), drifting, diverged, or unresolved if
    no step was short enough. Exit code 1 if one is unresolved.

    \b
    Examples: dalembert compare planar-2r
              dalembert compare panda --controller pd,computed-torque --vary payload.mass=0,2 --plot errors.svg
    """
    from dalembert.control import compare as compare_controllers
    from dalembert.trajectories import minimum_jerk

    chosen = {text: read_controller(text, CONTROLLERS) for text in _split(controllers)}
    names = list(chosen)
    if duration is not None and duration < move:
        raise click.UsageError(f"--duration {duration:g} is shorter than the motion, --move {move:g}")
    if names == ["feedforward"]:
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    context = click.get_current_context()
    payload = context.params["robot_payload"] or 0.0
    compensating = [text for text, (_, compensates) in chosen.items() if compensates]
    scenarios = _scenarios(vary, payload, friction or bool(compensating))
    noisy = any(s.noise or s.rate_noise for s in scenarios.values())
    if not noisy:
        output.refuse_idle("it is the seed of the noise, and no case has any", "seed")
    arm = output.load(robot, nominal=True)
    if any(s.payload for s in scenarios.values()):
        output.tip_of(arm)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    goal = output.positions("to", to, arm, within=True) or _goal(arm, start)
    total = round(move + 1.0, 3) if duration is None else duration
    with waiting("designing the controllers"):
        each = {
            text: CONTROLLERS[name].make(arm, omega, zeta, friction=compensates)
            for text, (name, compensates) in chosen.items()
        }
    with waiting(f"running {len(names)} controllers in {len(scenarios)} cases"):
        found = compare_controllers(
            each,
            arm,
            minimum_jerk(start, goal, move) if goal != start and move else goal,
            total,
            scenarios=scenarios,
            dt=dt,
            seed=seed if noisy else None,
        )
    if plot is not None:
        found.plot(plot)
    task = {"start": start, "goal": goal, "move": move, "duration": total, "omega": omega, "zeta": zeta}
    task |= {"friction": friction or bool(compensating), "compensating": compensating}
    data = {"robot": arm.name, **task, "rows": found.rows(), "criteria": found.criteria, "plot": plot}

    def show() -> None:
        _show_comparison(found)
        if friction or compensating:
            click.echo(f"friction of the model in every case; compensated by: {', '.join(compensating) or 'none'}")
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


def _split(text: str) -> list[str]:
    return list(CONTROLLERS) if text == "all" else output.names_of("controller", text)


def _scenarios(vary: Sequence[str], payload: float, friction: bool) -> dict[str, Scenario]:
    """Return the cases of --vary, or the usual ones, all with the payload and the friction of the model."""
    from dataclasses import replace

    from dalembert.control import Scenario
    from dalembert.control.scenarios import DEFAULTS

    found = {}
    for text in vary:
        name, _, values = text.partition("=")
        field = VARIED[output.names_of("parameter of --vary", name, VARIED)[0]]
        for x in output.some_numbers("vary", values) or ():
            found[f"{name} {x:g}"] = Scenario(**{field: x})
    both = {"payload": payload} if payload else {}
    both |= {"friction": 1.0} if friction else {}
    return {name: replace(s, **(both | _given(s))) for name, s in (found or DEFAULTS).items()}


def _given(scenario: Scenario) -> dict[str, float]:
    return {name: x for name, x in vars(scenario).items() if x}


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


@partial(command, controllers=TUNED)
def tune(
    robot: str | None = ROBOT_OR_NONE,
    controller: str = pick("controller", "computed-torque"),
    omega: float = pick("omega", 10.0),
    zeta: float = pick("zeta", 1.0),
    num: str | None = pick("num", shown="1"),
    den: str | None = pick("den"),
    delay: float = pick("delay", 0.0),
) -> None:
    """Compute the gains of a robot's controller from a bandwidth and a damping ratio, or the gains of Ziegler and
    Nichols for a plant that is given as a transfer function.

    \b
    Controllers: {controllers}

    The output has the gains, the poles and the overshoot of each joint, and the conditions of stability.

    \b
    Examples: dalembert tune panda --omega 15
              dalembert tune puma560 --controller pd-gravity --omega 8 --zeta 0.7
              dalembert tune --den 1,3,3,1 --delay 0.2
    """
    if (robot is None) == (den is None):
        raise click.UsageError("name a ROBOT, or a plant with --den (and --num): one of the two")
    if robot is None:
        output.refuse_idle("it is for a ROBOT, and a plant is given", "omega", "zeta", "controller", *ROBOT_OPTIONS)
        _answer_plant(num, den, delay)
        return
    if num is not None or delay:
        raise click.UsageError("--num and --delay are a plant's, which needs --den and no ROBOT")
    controller, compensates = read_controller(controller, TUNED)
    arm = output.load(robot)
    with waiting("inertias over the arm's configurations"):
        law = CONTROLLERS[controller].make(arm, omega, zeta, friction=compensates)
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


class _JointLoop(NamedTuple):
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


def _loops(law: Controller) -> list[_JointLoop]:
    """The loop of each joint."""
    from dalembert.control import MassSpringDamper, step_figures

    found = []
    for loop in law.joint_loops():
        if len(loop.den) == 3:
            J, kd, kp = loop.den.tolist()
            second = MassSpringDamper(J, kd, kp)
            found.append(_JointLoop(list(second.poles), second.regime, second.overshoot))
        else:
            poles = sorted(loop.poles.astype(complex).tolist(), key=lambda p: (p.real, p.imag))
            stable = bool(loop.stable)
            found.append(
                _JointLoop(poles, "" if stable else "unstable", step_figures(loop).overshoot if stable else None)
            )
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
