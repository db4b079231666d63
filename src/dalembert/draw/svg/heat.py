"""Numbers over a plane as colors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.draw.svg.axes import Axes, Scale, room_for
from dalembert.draw.svg.elements import PAPER, SOFT, picture, short, width_of, words_at
from dalembert.errors import InputError

Array = NDArray[np.float64]
LEVELS = 24
BAR = 14.0
# Points of a scale from dark to light that also reads in gray (after viridis).
ANCHORS = (
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
)


def shade(part: float) -> str:
    """The color of a number between 0 and 1."""
    at = min(max(part, 0.0), 1.0) * (len(ANCHORS) - 1)
    k = min(int(at), len(ANCHORS) - 2)
    mixed = (round(a + (b - a) * (at - k)) for a, b in zip(ANCHORS[k], ANCHORS[k + 1], strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def heat(
    x: ArrayLike,
    y: ArrayLike,
    values: ArrayLike,
    *,
    x_name: str = "",
    y_name: str = "",
    name: str = "",
    title: str = "",
    width: float = 350,
    height: float | None = None,
    equal: bool = False,
    value_range: tuple[float, float] | None = None,
    points: ArrayLike = (),
) -> str:
    """A map of cells with edges x (nx + 1,) and y (ny + 1,) and numbers (ny, nx), blank where they are not finite, with
    its scale of colors, whose `name` stands above it. `equal`: a meter is as long across as up; the height follows.
    `points` (k, 2) are marked by rings."""
    xe, ye, v = np.asarray(x, float), np.asarray(y, float), np.asarray(values, float)
    if v.shape != (len(ye) - 1, len(xe) - 1):
        raise InputError(f"values have shape {v.shape}; {len(ye) - 1} rows and {len(xe) - 1} columns are needed")
    if not (np.diff(xe) > 0).all() or not (np.diff(ye) > 0).all():
        raise InputError("the edges of cells must rise")
    some = v[np.isfinite(v)]
    low, high = value_range or ((float(some.min()), float(some.max())) if len(some) else (0.0, 1.0))
    high = high if high > low else low + (abs(low) or 1.0)
    sx, sy, sv = Scale(float(xe[0]), float(xe[-1])), Scale(float(ye[0]), float(ye[-1])), Scale(low, high)
    bar_words = max(width_of(words) for _, words in sv.ticks(5))
    left, right = max(room_for(sy, tall) for tall in range(64, 420, 32)), width - bar_words - BAR - 26
    top, foot = (20 if title else 0) + 26, 43.0
    if height is None:
        tall = (right - left) * ((sy.high - sy.low) / (sx.high - sx.low) if equal else 0.8)
        if equal and tall > 360:  # a tower: narrower instead
            right, tall = left + (right - left) * 360 / tall, 360.0
        height = top + max(tall, 60.0) + foot
    axes = Axes(sx, sy, left, right, top, height - foot, x_name, y_name)
    level = np.where(np.isfinite(v), np.clip((np.nan_to_num(v) - low) / (high - low) * LEVELS, 0, LEVELS - 1), -1)
    parts = [words_at(12, 14, title, more=' style="font-weight:600"')] if title else []
    parts += _cells(axes, xe, ye, level.astype(int))
    parts += axes.draw(grid=False)
    parts += _bar(axes, sv, name, width)
    for px, py in np.asarray(points, float).reshape(-1, 2):
        ring = f'cx="{short(axes.across(px))}" cy="{short(axes.up(py))}"'
        parts.append(f'<circle {ring} r="4.5" fill="none" stroke-width="4" style="stroke:{PAPER}"/>')
        parts.append(f'<circle {ring} r="4.5" fill="none" stroke-width="2" stroke="#d0303f"/>')
    return picture(width, height, title or name, parts)


def _cells(axes: Axes, xe: Array, ye: Array, level: NDArray[np.int64]) -> list[str]:
    """One path for each color, equal neighbors in a row as one rectangle."""
    across = [axes.across(e) for e in xe]
    up = [axes.up(e) for e in ye]
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(level):
        starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]])
        for a, b in zip(starts, np.r_[starts[1:], len(row)], strict=True):
            if row[a] >= 0:
                piece = f"M{short(across[a])} {short(up[i + 1])}H{short(across[b])}V{short(up[i])}H{short(across[a])}z"
                paths.setdefault(int(row[a]), []).append(piece)
    return [
        f'<path shape-rendering="crispEdges" fill="{shade((k + 0.5) / LEVELS)}" d="{"".join(paths[k])}"/>'
        for k in sorted(paths)
    ]


def _bar(axes: Axes, scale: Scale, name: str, width: float) -> list[str]:
    left, tall = axes.right + 14, (axes.bottom - axes.top) / LEVELS
    parts = []
    for k in range(LEVELS):
        y = axes.bottom - (k + 1) * tall
        parts.append(
            f'<rect x="{short(left)}" y="{short(y)}" width="{short(BAR)}" height="{short(tall + 0.6)}" '
            f'fill="{shade((k + 0.5) / LEVELS)}"/>'
        )
    for v, words in scale.ticks(max(2, min(5, int((axes.bottom - axes.top) / 30)))):
        y = axes.bottom - (axes.bottom - axes.top) * scale.part(v)
        parts.append(words_at(left + BAR + 5, y + 4, words))
    wide = width_of(name)
    right = min(max(left + BAR + 20, left + wide / 2), width - 2)
    return [*parts, words_at(max(right, wide), axes.top - 13, name, "end", f' style="fill:{SOFT}"')] if name else parts
