"""Singularities: where the determinant vanishes, a map of how near, what is lost, what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dalembert.apps.report import html
from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.apps.report.equations import shown
from dalembert.apps.report.posture import drawn_limits
from dalembert.draw.svg import Curve, heat, lines
from dalembert.errors import DalembertError
from dalembert.kinematics.nearest import singular_set
from dalembert.robot import Robot
from dalembert.symbolic import document

Array = NDArray[np.float64]
GRID, QUICK_GRID = 72, 36
SAMPLES, QUICK_SAMPLES = 200, 60
FLAT = 1e-6


def singular(context: Context) -> Made:
    context.need(tree=True, tip=True)
    robot = context.robot
    parts = [*_determinant(context), *_map(context)]
    found = singular_set(robot, QUICK_SAMPLES if context.quick else SAMPLES)
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
        pieces = [p for p in document.determinant(context.equations) if not isinstance(p, document.Heading)]
    except (DalembertError, NotHereError):
        return
    if pieces:
        yield from map(shown, pieces)
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
