"""What touches what: where the robot is drawn, along the task; and a plan around a ball in the task's way."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from dalembert.apps.page.scene import Scene
from dalembert.apps.page.still import still_picture
from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.arguments import Array
from dalembert.collision import Collision, Contact, World
from dalembert.collision.along import find_spans
from dalembert.collision.enclose import shapes_of
from dalembert.draw import html
from dalembert.draw.scene import TOUCHING_COLOR, DrawnPart, bodies_touching, obstacle_parts, place_part
from dalembert.draw.svg import Curve, lines
from dalembert.errors import DalembertError, InputError
from dalembert.planning.motion import Plan
from dalembert.robot import Robot

ROUGHLY = 0.05  # [m] the spheres' tolerance in a quick report
NEAR = 0.1  # [m] apart, of which pairs are listed
LISTED = 6  # pairs, and times of contact
SMALLEST, LARGEST = 0.02, 0.15  # [m] radius of the ball in the way
FILLED = 0.6  # of the room between the ball's center and the arm at both ends
POSTURES = 5  # of a plan that are drawn
MOST_JOINTS = 14
BETWEEN = ("#8fb7dd", "#c3d8ec")  # of postures on the way, in turns
BALL, WIDTH = "ball in the way", 390
NO_TORQUE = 5.0  # [rad/s², m/s²] for joints without limits of torque


def clearance(context: Context) -> Made:
    robot = context.robot
    if not any(True for _ in shapes_of(robot.description)):
        raise NotHereError("The description has no shapes, so nothing is known of what the links may touch.")
    try:
        c = robot.collision(tolerance=ROUGHLY) if context.quick else robot.collision()
    except DalembertError as error:
        raise NotHereError(f"There are no spheres around its shapes: {error}.") from None
    near = c.contacts(context.start, within=NEAR)
    touching = [contact for contact in near if contact.distance <= 0]
    parts = [html.paragraph(_spheres(c)), *_drawn(context, near, touching)]
    told = (
        f"{touching[0].first} and {touching[0].second} may touch" if touching else "nothing touches where it is drawn"
    )
    if context.motion is not None:
        parts += _task(context, c, *context.motion)
        parts += _plan(context, c, *context.motion)
    return Made(html.joined(parts), told, "doubt" if touching else "good")


def _spheres(c: Collision) -> str:
    s = c.spheres
    words = (
        f"Distances are never larger than those of the shapes. Links are compared with each other as {len(s.pieces)} "
        f"convex pieces, which reach up to {html.number(1e3 * s.pieces.reach, 3)} mm beyond the shapes, and with "
        f"obstacles as {len(s.fine)} spheres, which reach up to {html.number(1e3 * s.overestimate, 3)} mm beyond them. "
        f"{len(s.pairs)} pairs of links are compared; {len(s.apart)} are proved never to meet within the joint limits."
    )
    if s.allowed:
        words += f" Allowed to touch, and not compared: {'; '.join(' and '.join(pair) for pair in s.allowed)}."
    return words


def _drawn(context: Context, near: list[Contact], touching: list[Contact]) -> list[Markup]:
    """The posture, what touches in red, and the pairs that are near."""
    still = postures(context.scene, [(context.start, None)], bodies_touching(context.robot, touching))
    words = "As drawn above; " + ("in red what may touch." if touching else "nothing touches.")
    listed = [str(contact) for contact in near[:LISTED]] or [f"No two links are nearer than {NEAR:g} m."]
    return [html.row(html.figure(Markup(still_picture(still, WIDTH, 260)), words, width=WIDTH), html.listed(listed))]


def postures(
    scene: Scene,
    shown: list[tuple[Array, str | None]],
    red: Collection[int] = (),
    obstacles: tuple[DrawnPart, ...] = (),
) -> Scene:
    """The robot in several postures at once, each in a color or its own, these bodies in red, among obstacles."""
    parts = list(obstacles)
    for q, color in shown:
        T = scene.poses(q)
        for part in scene.parts:
            mark = TOUCHING_COLOR if part.body in red else color or part.color
            pose = place_part(scene.robot, T, part) @ part.pose
            parts.append(replace(part, body=-1, pose=pose, color=mark, rail=False))
    return Scene(scene.robot, tuple(parts))


def _task(context: Context, c: Collision, t: Array, q: Array) -> list[Markup]:
    """When what touches along the simulated task."""
    spans = find_spans(c, t, q)
    words = [str(span) for span in spans[:LISTED]] or ["The links do not touch each other, at its samples."]
    drawn = _over_time([Curve(t, 1e3 * c.clearance(q), "")])
    shown = [drawn]
    if spans:
        worst = min(spans, key=lambda span: span.distance)
        at = q[int(np.abs(t - worst.deepest).argmin())]
        red = bodies_touching(context.robot, c.contacts(at))
        still = still_picture(postures(context.scene, [(at, None)], red), WIDTH, 260)
        shown.append(html.figure(Markup(still), f"At {worst.deepest:.3g} s; in red what may touch.", width=WIDTH))
    return [html.heading("Along the task"), html.row(*shown), html.listed(words)]


def _over_time(curves: list[Curve]) -> Markup:
    drawn = lines(curves, x="t [s]", y="clearance [mm]", width=WIDTH, height=230, legend=len(curves) > 1)
    return html.figure(drawn, width=WIDTH)


def _plan(context: Context, c: Collision, t: Array, q: Array) -> list[Markup]:
    """From the task's start to its end, around a ball that its tip would run into."""
    robot = context.robot
    if robot.model.curved is not None or robot.loops or robot.n > MOST_JOINTS or robot.tip is None:
        return []
    head = html.heading("A plan around a ball in its way")
    world = _ball_in_the_way(robot, c, q)
    if world is None:
        return [head, html.paragraph("There is no room for a ball between where the task begins and ends.")]
    try:
        found = _planned(robot, c, q[0], q[-1], world)
    except InputError as error:
        return [head, html.paragraph(f"There is none: {str(error).rstrip('.')}.")]
    hit = find_spans(c, t, q, world)
    straight = f"The task itself would touch: {hit[0]}." if hit else "The task itself passes it."
    path = _samples(found)
    shown = path[np.linspace(0, len(path) - 1, POSTURES).astype(int)]
    colors = [None if k in (0, POSTURES - 1) else BETWEEN[k % 2] for k in range(POSTURES)]
    still = postures(context.scene, list(zip(shown, colors, strict=True)), (), obstacle_parts(world))
    words = "The way around: postures from the start to the goal."
    pictures = [html.figure(Markup(still_picture(still, WIDTH, 300)), words, width=WIDTH)]
    if found.trajectory is not None:
        times = np.linspace(0.0, found.duration, 200)
        ways = {"plan": found.trajectory(times)[0], "task": q}
        curves = [
            Curve(x, 1e3 * c.clearance(y, world), name) for (name, y), x in zip(ways.items(), (times, t), strict=True)
        ]
        pictures.append(_over_time(curves))
    return [head, html.paragraph(straight), html.row(*pictures), html.listed(str(found).splitlines())]


def _ball_in_the_way(robot: Robot, c: Collision, q: Array) -> World | None:
    """Where the tip is halfway, as large as the arm at both ends leaves room."""
    x: list[float] = np.asarray(robot.fk(q[len(q) // 2]))[:3, 3].tolist()
    room = float(c.distances(q[[0, -1]], World().sphere(BALL, 0.0, x)).met.min())
    radius = min(FILLED * room, LARGEST)
    return World().sphere(BALL, radius, x) if radius >= SMALLEST else None


def _planned(robot: Robot, c: Collision, start: Array, goal: Array, world: World) -> Plan:
    limited = np.isfinite(robot.limits.effort).all()
    return robot.plan(start, goal, world, spheres=c.spheres, acceleration=None if limited else NO_TORQUE)


def _samples(found: Plan) -> Array:
    if found.trajectory is not None:
        return np.asarray(found.trajectory(np.linspace(0.0, found.duration, 200))[0])
    return np.concatenate(
        [a + np.linspace(0, 1, 40)[:, None] * (b - a) for a, b in zip(found.path[:-1], found.path[1:], strict=True)]
    )
