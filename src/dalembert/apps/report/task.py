"""A simulated task: one motion, several controllers, what they were not told; in a table and in pictures."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.apps.report.free import free_motion
from dalembert.arguments import Array
from dalembert.control.comparison import Comparison, compare
from dalembert.control.controller import Controller
from dalembert.control.registry import CONTROLLERS
from dalembert.control.scenarios import Scenario
from dalembert.draw import html
from dalembert.draw.scene import drawn_limits
from dalembert.draw.svg import Curve, lines
from dalembert.draw.svg.elements import color
from dalembert.robot import Robot
from dalembert.trajectories.polynomials import minimum_jerk
from dalembert.trajectories.trajectory import Trajectory

BANDWIDTH = 10.0  # rad/s
MOST_JOINTS = 14
SHORTEST, HOLD = 2.0, 1.0  # s of the motion, and at rest after it
FASTEST = 0.6  # of the joints' speed limits
KINDS = {"settled": "good", "bounded": "doubt", "drifting": "bad", "diverged": "bad", "unresolved": "absent"}


def task(context: Context) -> Made:
    context.need(tree=True, tip=True, mass=True)
    robot = context.robot
    if robot.model.curved is not None:
        return free_motion(context)
    if robot.n > MOST_JOINTS:
        raise NotHereError(
            f"{robot.n} joints: the closed loops would take long to compile; dalembert.control.compare runs them."
        )
    if np.linalg.eigvalsh(np.asarray(robot.mass_matrix(context.start)))[0] <= 0:
        raise NotHereError("The mass matrix is not positive definite: some joint moves nothing that has inertia.")
    goal = _goal(robot, context.start)
    duration = _duration(robot, context.start, goal)
    motion = minimum_jerk(context.start, goal, duration)
    scenarios = _scenarios(robot, motion, context.quick)
    found = compare(
        _controllers(robot, context.quick),
        robot,
        motion,
        duration + HOLD,
        scenarios={name: scenario for name, (scenario, _) in scenarios.items()},
    )
    t = np.linspace(0.0, duration, 61)
    context.motion = t, np.asarray(motion(t)[0])
    q, qd, qdd = (np.asarray(x) for x in motion(np.linspace(0, duration, 400)))
    parts = [
        html.paragraph(
            f"From the posture drawn above to q = {html.vector(goal, 3)} in {html.number(duration, 3)} s with the "
            f"least jerk, then {html.number(HOLD)} s of rest. Gains for a bandwidth of {BANDWIDTH:g} rad/s, steps of "
            "1 ms or shorter, until half of them gives the same. Each controller believes in the description as it is, "
            "and meets what it was not told:"
        ),
        html.listed(f"{name}: {words}" for name, (_, words) in scenarios.items()),
        html.row(*_motion_pictures(robot, duration, q, qd, qdd)),
        html.heading("Errors"),
        _legend(found),
        html.row(*(_errors(robot, found, s) for s in range(len(found.scenarios)))),
        _table(robot, found),
        html.listed(found.argument().splitlines()),
        *_diagrams(robot),
    ]
    best = int(np.nanargmin(np.where(np.isfinite(found.rms_error), found.rms_error, np.inf).max(axis=1)))
    return Made(html.joined(parts), f"{found.controllers[best]} has the smallest worst-case error")


def _unit(robot: Robot, turning: str, sliding: str) -> str:
    """[turning], [sliding] or both, as the joints are, in one line."""
    turns = [c.joint.turns for c in robot.model.coordinates]
    units = [unit for unit, here in ((turning, any(turns)), (sliding, not all(turns))) if here]
    return f"[{', '.join(units)}]".replace(" ", "\N{NO-BREAK SPACE}")


def _goal(robot: Robot, start: Array) -> Array:
    """Every joint some way toward the farther of its limits, the first ones more than the last."""
    goal = start.copy()
    for k, (low, high) in enumerate(drawn_limits(robot)):
        turns = robot.model.coordinates[k].joint.turns
        way = min(0.35 * (high - low), 0.9 if turns else math.inf)
        goal[k] += way if high - start[k] >= start[k] - low else -way
    return np.asarray(np.round(np.clip(goal, *np.array(drawn_limits(robot)).T), 3))


def _duration(robot: Robot, start: Array, goal: Array) -> float:
    """The least jerk's largest speed is 15/8 of the mean one."""
    speed = FASTEST * robot.limits.velocity
    limited = np.isfinite(speed) & (speed > 0)
    needed = float(np.max(1.875 * np.abs(goal - start)[limited] / speed[limited], initial=0.0))
    return float(math.ceil(10 * max(SHORTEST, needed)) / 10)


def _controllers(robot: Robot, quick: bool) -> dict[str, Controller]:
    wanted = ("quick",) if quick else ("quick", "full")
    return {e.title: e.make(robot, BANDWIDTH, 1.0) for e in CONTROLLERS.values() if e.report in wanted}


def _scenarios(robot: Robot, motion: Trajectory, quick: bool) -> dict[str, tuple[Scenario, str]]:
    """By name what controllers are not told, as a scenario and in words: a payload and friction that this arm would
    feel, a tenth of its mass and a hundredth of its torques."""
    t = np.linspace(0.0, motion.duration, 50)
    torque = float(np.abs(robot.inverse_dynamics(*(np.asarray(x) for x in motion(t)))).max())
    payload, friction = float(f"{0.1 * robot.mass:.1g}"), float(f"{0.01 * torque:.1g}")
    rubbing, rubs = Scenario(friction=1.0), "the description's own friction"
    if not any(body.friction or body.stiffness for body in robot.model.bodies):
        viscous, coulomb = (f"{friction:g} {_unit(robot, *units)}" for units in (("N m s/rad", "N s/m"), ("N m", "N")))
        rubbing, rubs = Scenario(viscous=friction, coulomb=friction), f"{viscous} and {coulomb} in every joint"
    every = {
        "exact": (Scenario(), "nothing"),
        "payload": (Scenario(payload=payload), f"{payload:g} kg at the tip"),
        "wrong start": (Scenario(start=0.05), "every joint begins 0.05 rad (or m) off"),
        "masses +10 %": (Scenario(mass_error=0.1), "every inertia is a tenth larger"),
        "friction": (rubbing, rubs),
        "noise": (Scenario(noise=1e-3, rate_noise=1e-2), "1 mrad on positions, 10 mrad/s on rates"),
    }
    return {name: every[name] for name in ("exact", "payload")} if quick else every


def _motion_pictures(robot: Robot, duration: float, q: Array, qd: Array, qdd: Array) -> list[Markup]:
    t = np.linspace(0, duration, len(q))
    tau = np.asarray(robot.inverse_dynamics(q, qd, qdd))
    names = robot.joint_names
    drawn = [
        lines([Curve(t, x[:, k], names[k]) for k in range(robot.n)], x="t [s]", y=f"{y} {unit}", width=390, height=270)
        for x, y, unit in ((q, "q", _unit(robot, "rad", "m")), (tau, "τ", _unit(robot, "N m", "N")))
    ]
    limits = robot.limits.effort
    over = [names[k] for k in range(robot.n) if np.abs(tau[:, k]).max() > limits[k]]
    words = "Torques that this motion needs, by inverse dynamics"
    if np.isfinite(limits).any():
        words += f"; beyond the limits of {', '.join(over)}" if over else "; all within the joints' limits"
    return [html.figure(x, told, width=390) for x, told in zip(drawn, ("The motion.", f"{words}."), strict=True)]


def _legend(found: Comparison) -> Markup:
    marks = [
        html.joined([html.tag("b", "━ ", style=f"color:{color(k)}"), name]) for k, name in enumerate(found.controllers)
    ]
    return html.paragraph(html.joined(marks, " \u2003 "))


def _errors(robot: Robot, found: Comparison, s: int) -> Markup:
    curves = [Curve(found.t, found.error[k, s], name) for k, name in enumerate(found.controllers)]
    finite = found.error[np.isfinite(found.error)]
    high = min(max(float(finite.max(initial=1e-3)), 1e-3), 1e2)
    low = max(min(float(np.maximum(finite, 1e-12).min(initial=1e-6)), 1e-3), 1e-9)
    name = f"largest joint error {_unit(robot, 'rad', 'm')}"
    drawn = lines(
        curves,
        x="t [s]",
        y=name,
        title=found.scenarios[s],
        width=390,
        height=230,
        log=True,
        floor=low,
        y_range=(low, high),
        legend=False,
    )
    return html.figure(drawn, width=390)


def _table(robot: Robot, found: Comparison) -> Markup:
    error, torque = _unit(robot, "rad", "m"), _unit(robot, "N m", "N")
    head = (
        "scenario",
        "controller",
        f"RMS error {error}",
        f"largest error {error}",
        f"peak torque {torque}",
        "energy [J]",
        "",
    )
    rows = []
    for s, scenario in enumerate(found.scenarios):
        for k, name in enumerate(found.controllers):
            word = str(found.verdict[k, s])
            numbers = (found.rms_error[k, s], found.max_error[k, s], found.peak_torque[k, s], found.energy[k, s])
            lost = "–" if word == "unresolved" else "∞"
            shown = [html.number(float(x), 3) if math.isfinite(x) else lost for x in numbers]
            rows.append((scenario if k == 0 else "", name, *map(html.right, shown), html.verdict(KINDS[word], word)))
    return html.table(head, rows)


def _diagrams(robot: Robot) -> list[Markup]:
    drawn = CONTROLLERS["computed-torque"].make(robot, BANDWIDTH, 1.0).diagram().svg()
    return [html.details("Block diagram of computed torque", html.figure(drawn, class_="paper"))]
