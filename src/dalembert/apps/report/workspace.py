"""Where the tip gets to and how well it moves there: workspace, manipulability, singularities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from markupsafe import Markup

from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.arguments import Array
from dalembert.draw import html
from dalembert.draw.scene import drawn_limits
from dalembert.draw.svg import Curve, bars, heat, lines
from dalembert.errors import DalembertError
from dalembert.kinematics.nearest_singularity import singular_set
from dalembert.kinematics.workspace import Workspace
from dalembert.robot import Robot
from dalembert.symbolic.blackboard import Blackboard
from dalembert.symbolic.document import Heading
from dalembert.symbolic.kinematics import determinant
from dalembert.symbolic.typeset import as_html

SAMPLES, QUICK_SAMPLES = 120_000, 20_000
PER_CELL = 8.0  # samples that a cell should hold
STEPS = 181
WIDE, NARROW = 390.0, 270.0
CAPTIONS = {
    1: ("The plane in which the tip moves.",),
    2: ("From the side, all directions turned into one plane.", "From above."),
}
GRID, QUICK_GRID = 72, 36
STARTS, QUICK_STARTS = 200, 60
FLAT = 1e-6


def workspace(context: Context) -> Made:
    context.need(tree=True, tip=True, vector=True)
    robot = context.robot
    found = robot.workspace(QUICK_SAMPLES if context.quick else SAMPLES)
    measure = robot.velocity_ellipsoid(context.start)
    rows, views = ", ".join(measure.rows), found.views()
    parts = [
        html.paragraph(
            f"From {len(found.q)} seeded postures within the limits: the tip ",
            html.code(robot.tip or ""),
            f" comes as far as {html.number(found.reach)} m from the first joint. The color is the best Yoshikawa ",
            html.math(r"\mu = \sqrt{\det(J J^T)}"),
            f" over the rows {rows} that was met in a cell; blank cells were never reached.",
        ),
        html.row(*(_view(found, view, words) for view, words in zip(views, CAPTIONS[len(views)], strict=True))),
        _extent(found),
        html.heading("Manipulability"),
        *_along_joints(context),
        html.row(_distribution(found), _ellipsoids(context)),
    ]
    return Made(html.joined(parts), f"reach {html.number(found.reach, 3)} m")


def _view(found: Workspace, view: tuple[Array, Array, str, str], caption: str) -> Markup:
    x, y, across, up = view
    spans = [max(float(np.ptp(v)), 1e-9) for v in (x, y)]
    long = max(spans)
    spans = [max(s, 0.05 * long) for s in spans]
    cell = math.sqrt(spans[0] * spans[1] * PER_CELL / len(x))
    cell = max(cell, long / 110)
    edges = []
    for v, span in zip((x, y), spans, strict=True):
        middle, count = (float(v.min()) + float(v.max())) / 2, max(2, math.ceil(span / cell) + 1)
        edges.append(middle + cell * (np.arange(count + 1) - count / 2))
    best = np.full((len(edges[1]) - 1, len(edges[0]) - 1), -np.inf)
    kept = np.isfinite(found.values)
    i = np.clip(((y[kept] - edges[1][0]) / cell).astype(int), 0, best.shape[0] - 1)
    j = np.clip(((x[kept] - edges[0][0]) / cell).astype(int), 0, best.shape[1] - 1)
    np.maximum.at(best, (i, j), found.values[kept])
    high = float(found.values[kept].max(initial=0.0)) or 1.0
    tower = spans[1] > 1.6 * spans[0]
    drawn = heat(
        edges[0],
        edges[1],
        np.where(np.isfinite(best), best, np.nan),
        x_name=across,
        y_name=up,
        name="best μ",
        equal=True,
        width=NARROW if tower else WIDE,
        value_range=(0.0, high),
    )
    return html.figure(drawn, caption, width=NARROW if tower else WIDE)


def _extent(found: Workspace) -> Markup:
    low, high = found.extent
    rows = [(axis, float(a), float(b)) for axis, a, b in zip("xyz", low, high, strict=True)]
    return html.table(("", "from [m]", "to [m]"), rows)


def _along_joints(context: Context) -> list[Markup]:
    """μ as each joint moves alone through its range."""
    robot, curves = context.robot, []
    ranges = drawn_limits(robot)
    for k, (low, high) in enumerate(ranges):
        q = np.tile(context.start, (STEPS, 1))
        q[:, k] = np.linspace(low, high, STEPS)
        mu = np.asarray(robot.manipulability(q))
        curves.append(Curve(np.linspace(0, 1, STEPS), mu, robot.joint_names[k]))
    if all(float(np.ptp(np.asarray(c.y))) < 1e-12 for c in curves):
        return [html.paragraph("No joint changes μ.")]
    drawn = lines(curves, x="part of the joint's range", y="μ", width=760, height=280)
    words = (
        "μ while one joint moves through its range and the others stay as drawn above; it does not change with joints "
        "whose line is flat."
    )
    return [html.figure(drawn, words)]


def _distribution(found: Workspace) -> Markup:
    values = found.values[np.isfinite(found.values)]
    high = float(values.max(initial=0.0)) or 1.0
    count, edges = np.histogram(values, bins=10, range=(0.0, high))
    names = ["" if k % 2 else html.number(float(e), 2) for k, e in enumerate(edges[:-1])]
    drawn = bars(names, 100 * count / max(len(values), 1), y="postures [%]", width=390, height=220)
    words = f"How μ is spread over the postures: ten classes from 0 to {html.number(high, 3)}."
    return html.figure(drawn, words, width=390)


def _ellipsoids(context: Context) -> Markup:
    """Of the tip's velocity and of its angular velocity, each by itself: one length has one unit."""
    robot, parts = context.robot, [html.paragraph("Velocities of all ‖q̇‖ ≤ 1, posture as drawn:", class_="aside")]
    moving = robot.velocity_ellipsoid(context.start).rows
    for first, unit in (("v", "m/s"), ("w", "rad/s")):
        rows = [row for row in moving if row[0] == first]
        if not rows:
            continue
        e = robot.velocity_ellipsoid(context.start, rows=rows)
        axes = [(float(x), html.vector(e.axes[:, k], 2)) for k, x in enumerate(e.lengths)]
        parts.append(html.table((f"half axis [{unit}]", f"along ({', '.join(rows)})"), axes))
    return html.tag("div", *parts)


def singular(context: Context) -> Made:
    context.need(tree=True, tip=True, vector=True)
    robot = context.robot
    parts = [*_determinant(context), *_map(context)]
    found = singular_set(robot, QUICK_STARTS if context.quick else STARTS)
    if not len(found.q):
        parts.append(html.paragraph(f"From {found.tried} seeded postures the search met no singular one."))
        return Made(html.joined(parts), "none found", "good")
    kinds = Counter(", ".join(k) or "without a common name" for k in found.kinds)
    rows = []
    for name, count in sorted(kinds.items(), key=lambda x: (-x[1], x[0])):
        k = next(i for i, kind in enumerate(found.kinds) if (", ".join(kind) or "without a common name") == name)
        lost = "; ".join(robot.singularities(found.q[k]).words[-1:]) or "–"
        rows.append((name, count, html.vector(np.round(found.q[k], 4), 3), lost))
    parts += [
        html.heading("What is lost"),
        html.paragraph(f"What a search from {found.tried} seeded postures ran into, by what it is called:"),
        html.table(("kind", "met", "for example q", "what is lost there"), rows),
        *_nearest(context),
    ]
    return Made(html.joined(parts), f"{', '.join(kinds)}")


def _determinant(context: Context) -> Iterator[Markup]:
    try:
        pieces = [p for p in determinant(Blackboard(context.equations)) if not isinstance(p, Heading)]
    except (DalembertError, NotHereError):
        return
    if pieces:
        yield from map(as_html, pieces)
    else:
        yield html.paragraph(
            "J is not square for this arm, so no one determinant tells its singular postures: they are those in which ",
            html.math("J J^T"),
            " loses rank.",
        )


def _map(context: Context) -> Iterator[Markup]:
    """σ_min/σ̄ over the two joints that it depends on most."""
    robot, start = context.robot, context.start
    steps = QUICK_GRID if context.quick else GRID
    ranges = drawn_limits(robot)
    moved = [_varied(start, {k: np.linspace(*ranges[k], 61)}) for k in range(robot.n)]
    spread = [float(np.ptp(robot.singularities(q).closeness)) for q in moved]
    order = sorted(range(robot.n), key=lambda k: -spread[k])
    here = float(robot.singularities(start).closeness)
    words = html.joined(
        ["How near to singular, ", html.math(r"\sigma_{\min}/\bar\sigma"), ", which is zero at a singularity"]
    )
    if spread[order[0]] < FLAT:
        yield html.paragraph(words, f": {html.number(here)} wherever the joints are.")
        return
    a = order[0]
    if robot.n == 1 or spread[order[1]] < FLAT:
        x = np.linspace(*ranges[a], 361)
        y = robot.singularities(_varied(start, {a: x})).closeness
        drawn = lines([Curve(x, y)], x=_axis(robot, a), y="σₘᵢₙ/σ̄", width=760, height=240)
        yield html.figure(drawn, html.joined([words, f"; it depends on {robot.joint_names[a]} alone."]))
        return
    b = order[1]
    a, b = sorted((a, b))
    edges = [np.linspace(*ranges[k], steps + 1) for k in (a, b)]
    x, y = (0.5 * (e[1:] + e[:-1]) for e in edges)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = robot.singularities(_varied(start, {a: grid[:, 0], b: grid[:, 1]})).closeness.reshape(steps, steps)
    names = [_axis(robot, k) for k in (a, b)]
    drawn = heat(
        edges[0],
        edges[1],
        values,
        x_name=names[0],
        y_name=names[1],
        name="σₘᵢₙ/σ̄",
        width=560,
        height=400,
        value_range=(0.0, float(values.max())),
        points=[(start[a], start[b])],
    )
    others = "" if robot.n == 2 else " The other joints are as drawn above."
    caption = html.joined([words, f"; over the two joints on which it depends most.{others} The ring is that posture."])
    yield html.figure(drawn, caption)


def _axis(robot: Robot, k: int) -> str:
    return f"{robot.joint_names[k]} [{robot.model.coordinates[k].joint.unit}]"


def _varied(q: Array, columns: dict[int, Array]) -> Array:
    out = np.tile(q, (len(next(iter(columns.values()))), 1))
    for k, values in columns.items():
        out[:, k] = values
    return out


def _nearest(context: Context) -> Iterator[Markup]:
    robot: Robot = context.robot
    near: Any = robot.nearest_singularity(context.start)
    if not near.converged:
        return
    kinds = f" ({', '.join(near.kinds)})" if near.kinds else ""
    yield html.paragraph(
        f"From the posture drawn above, whose σₘᵢₙ/σ̄ is {html.number(near.here, 3)}, the nearest singular one that "
        f"was found{kinds} is {html.number(near.distance, 3)} away [rad, arm lengths], at q = "
        f"{html.vector(np.round(near.q, 4), 3)}."
    )
