"""A simulated motion of a robot with joints that no drive moves: the others go somewhere under PD, and it gives way."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.control.registry import default_title, is_unsupported, suitable
from dalembert.draw import html
from dalembert.draw.scene import drawn_limits
from dalembert.draw.svg import Curve, lines
from dalembert.joints.joint import EFFORT_UNIT
from dalembert.robot import Robot
from dalembert.simulation.run import Run
from dalembert.simulation.simulate import simulate
from dalembert.trajectories.polynomials import minimum_jerk

BANDWIDTH = 10.0  # rad/s
MOVING, DURATION = 1.5, 2.0  # [s]
WAY, FARTHEST = 0.15, 0.9  # of each driven joint's range, and [rad, m]
SHOWN = 61  # postures that the scene plays back
KEPT = 1e-8  # relative drift of momentum beyond which the steps were too long


def free_motion(context: Context) -> Made:
    """From the posture drawn, at rest, the driven joints some way off; without gravity where nothing holds it up."""
    floats = is_unsupported(context.robot)
    robot = context.robot.with_gravity((0.0, 0.0, 0.0)) if floats else context.robot
    drives = robot.model.drives
    start = context.start[[c.position for c in drives]]
    low, high = np.array([drawn_limits(robot)[c.position] for c in drives]).reshape(-1, 2).T
    way = np.minimum(WAY * (high - low), FARTHEST) * np.where(high - start >= start - low, 1.0, -1.0)
    goal = np.clip(start + way, low, high)
    words = "Released at rest: no joint has a drive."
    if drives:
        title = default_title(context.robot)
        entry = suitable(context.robot)[title]
        assert entry is not None
        law = entry.make(robot, BANDWIDTH, 1.0)
        run = simulate(
            robot, law, q0=context.start, reference=minimum_jerk(start, goal, MOVING), duration=DURATION, limits=None
        )
        words = (
            f"The driven joints go some way in {MOVING:g} s with the least jerk, under {title} with a bandwidth of "
            f"{BANDWIDTH:g} rad/s, and what no drive moves gives way."
        )
    else:
        run = simulate(robot, q0=context.start, duration=DURATION)
    if not run.ok:
        raise NotHereError(f"The motion ended early: {run.message}.")
    every = max(1, len(run.t) // SHOWN)
    context.motion = run.t[::every], run.q[::every]
    told = f"{words} {'Nothing holds the robot up, so it moves here without gravity.' if floats else ''}"
    kept, verdict, kind = _balance(robot, run, floats)
    return Made(html.joined([html.paragraph(told), html.row(*_pictures(context, run)), kept]), verdict, kind)


def _balance(robot: Robot, run: Run, floats: bool) -> tuple[Markup, str, str]:
    """What must stay as it is: momentum where no force acts from outside, the energy books everywhere."""
    rows = [("energy not accounted for, of all that was exchanged", float(run.audit().relative))]
    worst = rows[0][1]
    if floats:
        h = np.asarray(robot.momentum(run.q, run.qd))
        size = np.asarray(robot.centroidal_inertia(run.q[0]))
        scale = np.sqrt(np.array([size[0, 0]] * 3 + [np.trace(size[3:, 3:]) / 3] * 3))
        moved = np.abs(h - h[0]).max(axis=0) / (scale * max(float(np.abs(run.qd).max()), 1e-9))
        rows += [("drift of linear momentum, relative", float(moved[:3].max()))]
        rows += [("drift of angular momentum, relative", float(moved[3:].max()))]
        worst = max(x for _, x in rows[1:])
    turns = [np.abs(np.linalg.norm(run.q[:, k : k + 4], axis=-1) - 1).max() for k in robot.model.quaternions]
    if turns:
        rows.append(("quaternions' lengths off 1 by at most", float(max(turns))))
    table = html.table(("what is kept", ""), ((name, html.right(html.number(x, 2, 0.0))) for name, x in rows))
    what = "momentum" if floats else "energy"
    good = worst < KEPT if floats else worst < 1e-4
    return table, f"{what} kept to {html.number(worst, 2, 0.0)}", "good" if good else "doubt"


def _pictures(context: Context, run: Run) -> list[Markup]:
    """The driven joints, the way of the others as tangent vectors from the start, and the torques."""
    robot = context.robot
    free = [k for k, driven in enumerate(robot.driven) if not driven]
    own, drives = robot.model.names("coordinate"), robot.model.drives
    way = np.asarray(robot.difference(np.broadcast_to(run.q[0], run.q.shape), run.q))
    units = [unit for c in robot.model.coordinates for unit in c.joint.units]
    same = {"rad": "rad", "m": "m"}
    groups = [
        ("driven joints, off their start", [c.first for c in drives], way, same),
        ("what gives way, from its start", free, way, same),
        ("torques", [c.first for c in drives], run.u, EFFORT_UNIT),
    ]
    out = []
    for title, places, values, unit_of in groups:
        if not places:
            continue
        y = f"[{', '.join(dict.fromkeys(unit_of[units[k]] for k in places))}]"
        curves = [Curve(run.t, values[:, k], own[k]) for k in places]
        drawn = lines(curves, x="t [s]", y=y, title=title, width=390, height=250, legend=len(places) <= 8)
        out.append(html.figure(drawn, width=390))
    return out
