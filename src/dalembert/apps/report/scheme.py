"""The kinematic scheme: joints, their axes and numbers, links as lines, frames at base and tip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.apps.page.scene import Scene
from dalembert.arguments import Array
from dalembert.draw.scene import matrix_of
from dalembert.draw.svg.elements import FONT, INK, PAPER, SOFT, color, picture, short, width_of, words_at

WIDTH, HEIGHT, MARGIN = 720.0, 430.0, 64.0
DRUM, ARROW = 15.0, 46.0  # half a joint's length, and an axis' length [px]
TOGETHER = 13.0  # pixels within which joints share their words
AXES = ("#d43a33", "#2f9a4a", "#3366d6")


@dataclass(frozen=True)
class _Box:
    """Where words stand, or a joint is."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def skeleton(scene: Scene, q: Array) -> str:
    """The scheme of the robot at q as SVG."""
    robot, model = scene.robot, scene.robot.model
    poses = scene.poses(q)
    origins = poses[:, :3, 3]
    names = [model.tip] if model.tip is not None else list(model.tips)
    tips = [(model.frame(name), poses[model.frame(name).body] @ matrix_of(model.frame(name).pose)) for name in names]
    seen = np.concatenate([origins, *(T[None, :3, 3] for _, T in tips)]) @ scene.view.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    size = np.maximum(high - low, 1e-9)
    zoom = min((WIDTH - 2 * MARGIN) / size[0], (HEIGHT - 2 * MARGIN) / size[1])
    middle = (low + high) / 2

    def flat(p: Array) -> Array:
        s = scene.view @ p - middle
        return np.array([WIDTH / 2 + zoom * s[0], HEIGHT / 2 - zoom * s[1]])

    def along(a: Array) -> Array:
        """A direction of the base, as it is seen: unit length across the view."""
        s = scene.view @ a
        return np.array([s[0], -s[1]])

    parts: list[str] = []
    for k, body in enumerate(model.bodies):
        tone = INK if body.parent < 0 else color(body.parent)
        parts.append(_bar(flat(origins[body.parent]), flat(origins[k]), tone))
    for frame, T in tips:
        parts.append(_bar(flat(origins[frame.body]), flat(T[:3, 3]), INK if frame.body < 0 else color(frame.body)))
    taken: list[_Box] = []
    drums = []
    for k, body in enumerate(model.bodies):
        center, axis = flat(origins[k]), along(poses[k][:3, :3] @ np.array([float(x) for x in body.joint.axis]))
        drums.append((center, axis))
        several = body.joint.nv > 1
        parts.append(_ball(center, color(k)) if several else _joint(center, axis, not body.joint.turns, color(k)))
        taken.append(_around(center, DRUM))
    triads = [(np.zeros(3), np.eye(3), "0"), *((T[:3, 3], T[:3, :3], "") for _, T in tips)]
    letters: list[_Box] = []
    for p, R, index in triads:
        axes = [along(R[:, k]) for k in range(3)]
        alone = bool(index) or float(np.hypot(*(flat(p) - flat(np.zeros(3))))) > 2 * ARROW
        parts += _triad(flat(p), axes, index, alone, letters)
        taken += [_around(flat(p) + part * 34 * a, 6.0) for a in axes for part in (0.4, 0.7, 1.0)]
    taken += letters
    names_of = {c.first: c.name for c in model.coordinates}
    parts += _numbers(drums, [names_of[b.coordinate] for b in model.bodies], taken)
    return picture(WIDTH, HEIGHT, f"Kinematic scheme of {robot.name}", parts)


def _bar(a: Array, b: Array, tone: str) -> str:
    ends = f"M{short(a[0])} {short(a[1])}L{short(b[0])} {short(b[1])}"
    look = 'fill="none" stroke-width="5" stroke-linecap="round" opacity="0.55"'
    return f'<path d="{ends}" {look} style="stroke:{tone}"/>'


def _ball(c: Array, tone: str) -> str:
    """A joint of several coordinates."""
    return f'<circle cx="{short(c[0])}" cy="{short(c[1])}" r="11" stroke-width="2" style="stroke:{tone};fill:{PAPER}"/>'


def _joint(c: Array, axis: Array, slides: bool, tone: str) -> str:
    """A drum along the axis (an ellipse as its end), or a block on a rail; and the axis itself, dashed."""
    tip, tail = c + ARROW * axis, c - 0.55 * ARROW * axis
    line = f"M{short(tail[0])} {short(tail[1])}L{short(tip[0])} {short(tip[1])}"
    out = f'<path d="{line}" fill="none" stroke-width="1.1" stroke-dasharray="6 3 1.5 3" style="stroke:{SOFT}"/>'
    length = float(np.hypot(*axis))
    angle = float(np.degrees(np.arctan2(axis[1], axis[0])))
    half, radius = max(DRUM * length, 1.0), 9.0
    turn = f'transform="translate({short(c[0])} {short(c[1])}) rotate({short(angle)})"'
    style = f'style="stroke:{tone};fill:{PAPER}" stroke-width="2"'
    if slides:
        return f'{out}<rect {turn} x="{short(-half - 2)}" y="-7" width="{short(2 * half + 4)}" height="14" {style}/>'
    flat = radius * float(np.sqrt(max(1 - min(length, 1.0) ** 2, 0.0)))
    arc = f"A{short(flat)} {short(radius)} 0 0 1 "
    body = f"M{short(-half)} {short(-radius)}H{short(half)}{arc}{short(half)} {short(radius)}"
    body += f"H{short(-half)}{arc}{short(-half)} {short(-radius)}Z"
    end = f'<ellipse {turn} cx="{short(half)}" cy="0" rx="{short(flat)}" ry="{short(radius)}" {style}/>'
    return f'{out}<path {turn} d="{body}" {style}/>{end}'


def _triad(c: Array, axes: list[Array], index: str, named: bool, taken: list[_Box]) -> list[str]:
    """Three axes, with their letters where these meet no others."""
    out = []
    for a, tone, name in zip(axes, AXES, "xyz", strict=True):
        tip = c + 34 * a
        out.append(
            f'<path d="M{short(c[0])} {short(c[1])}L{short(tip[0])} {short(tip[1])}" stroke="{tone}" '
            f'stroke-width="2.2" fill="none"/>'
        )
        if not named or np.hypot(*a) <= 0.25:
            continue
        for far in (43, 58, 73):
            end = c + far * a
            box = _around(end, 9.0)
            if not any(box.meets(other) for other in taken):
                taken.append(box)
                words = name + ("₀" if index else "")
                out.append(words_at(end[0], end[1] + 4, words, "middle", f' style="fill:{tone}"'))
                break
    return out


def _around(c: Array, r: float) -> _Box:
    return _Box(float(c[0]) - r, float(c[1]) - r, float(c[0]) + r, float(c[1]) + r)


def _numbers(drums: list[tuple[Array, Array]], names: list[str], taken: list[_Box]) -> list[str]:
    """Every joint's number and name beside it; those that are seen in one place share a line. The first free place
    around a joint is taken, with a thin line where it is not near."""
    groups: list[tuple[Array, list[int]]] = []
    for k, (c, _) in enumerate(drums):
        for place, members in groups:
            if np.hypot(*(place - c)) < TOGETHER:
                members.append(k)
                break
        else:
            groups.append((c, [k]))
    out = []
    for c, members in groups:
        words = ", ".join(f"{k + 1}" for k in members)
        if len(members) == 1 and len(names[members[0]]) <= 22:
            words += f" {names[members[0]]}"
        wide, tall = width_of(words), FONT + 2
        box, near = _free(c, wide, tall, taken)
        taken.append(box)
        if not near:
            start, end = c, np.array([(box.left + box.right) / 2, (box.top + box.bottom) / 2])
            way = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
            a, b = start + 14 * way, end - (tall / 2 + 3) * way
            out.append(f'<path d="M{short(a[0])} {short(a[1])}L{short(b[0])} {short(b[1])}" style="stroke:{SOFT}"/>')
        halo = f' style="paint-order:stroke;stroke:{PAPER};stroke-width:3px"'
        out.append(words_at(box.left, box.bottom - 3, words, more=halo))
    return out


def _free(c: Array, wide: float, tall: float, taken: list[_Box]) -> tuple[_Box, bool]:
    for ring, radius in enumerate((20.0, 34.0, 52.0, 74.0)):
        for angle in np.radians([0, 180, 40, 140, -40, -140, 90, -90]):
            x = (
                float(c[0])
                + radius * float(np.cos(angle))
                - (wide if np.cos(angle) < -0.3 else wide / 2 if abs(np.cos(angle)) <= 0.3 else 0.0)
            )
            y = float(c[1]) + radius * float(np.sin(angle)) - tall / 2
            box = _Box(x, y, x + wide, y + tall)
            inside = box.left >= 2 and box.right <= WIDTH - 2 and box.top >= 2 and box.bottom <= HEIGHT - 2
            if inside and not any(box.meets(other) for other in taken):
                return box, ring == 0
    left = min(max(float(c[0]) + 20, 2.0), WIDTH - wide - 2)
    return _Box(left, float(c[1]) - tall / 2, left + wide, float(c[1]) + tall / 2), True
