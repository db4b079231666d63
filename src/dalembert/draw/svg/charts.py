"""Curves over one axis, long series as few points that look the same; and numbers as bars, side by side.

Numbers over a plane as colors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array
from dalembert.draw.svg.elements import (
    FONT,
    PAPER,
    SOFT,
    Axes,
    Legend,
    Scale,
    color,
    dash,
    picture,
    room_for,
    scale_of,
    short,
    width_of,
    words_at,
)
from dalembert.errors import InputError

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

SEEN = 0.15  # a bend of so many pixels is not seen
MARGIN = 12.0


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


def extremes(column: NDArray[np.int64], y: Array) -> NDArray[np.int64]:
    """Of points in order, sorted into the pixel columns that they fall in: the places of the first, lowest, highest and
    last of each column, so that no peak is lost however long the series is."""
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    ends = np.r_[starts[1:], len(column)]
    order = np.lexsort((y, column))  # within a column from low to high, columns as they come
    return np.unique(np.concatenate([starts, ends - 1, order[starts], order[ends - 1]]))


def straighten(x: Array, y: Array, bend: float = SEEN) -> list[int]:
    """The places of points between which a straight line passes all others by less than `bend` (a sleeve is pushed
    along until it touches)."""
    n = len(x)
    if n <= 2:
        return list(range(n))
    xs, ys = x.tolist(), y.tolist()
    kept, at = [0], 0
    low, high = -np.inf, np.inf
    for k in range(1, n):
        dx = xs[k] - xs[at]
        if dx <= 0:
            slope_low, slope_high = np.inf, -np.inf
        else:
            slope_low, slope_high = (ys[k] - bend - ys[at]) / dx, (ys[k] + bend - ys[at]) / dx
        slope = (ys[k] - ys[at]) / dx if dx > 0 else np.inf
        if k > at + 1 and not low <= slope <= high:
            at = k - 1
            kept.append(at)
            dx = xs[k] - xs[at]
            low, high = ((ys[k] - bend - ys[at]) / dx, (ys[k] + bend - ys[at]) / dx) if dx > 0 else (np.inf, -np.inf)
        else:
            low, high = max(low, slope_low), min(high, slope_high)
    return [*kept, n - 1]


@dataclass(frozen=True, eq=False)
class Curve:
    """y over x, both (N,), x rising. Where y is not finite the curve is interrupted. `tone`: which color; the place
    among the curves if not given. `thin`: for what matters less."""

    x: ArrayLike
    y: ArrayLike
    name: str = ""
    tone: int | None = None
    thin: bool = False


def lines(
    curves: Sequence[Curve],
    *,
    x: str = "",
    y: str = "",
    title: str = "",
    width: float = 720,
    height: float = 250,
    log: bool = False,
    floor: float = 1e-9,
    limits: Sequence[float] = (),
    marks: Sequence[float] = (),
    y_range: tuple[float, float] | None = None,
    legend: bool = True,
) -> str:
    """Curves as SVG. `x`, `y` name the axes; `log` makes y logarithmic, and numbers below `floor` are drawn there.
    `limits`: dashed lines at these heights, `marks`: at these x. `y_range` fixes the axis, and what is beyond is cut
    off. Of long series every pixel's smallest and largest number is kept."""
    drawn = [_checked(c) for c in curves]
    if log:
        drawn = [(a, np.where(np.isfinite(b), np.maximum(b, floor), b)) for a, b in drawn]
    x_scale = _range([a for a, _ in drawn], 0.0)
    y_scale = scale_of(*y_range, 0.0, log) if y_range else _range([b for _, b in drawn], 0.06, log, limits)
    styles = [
        f' style="stroke:{color(k if c.tone is None else c.tone)}"{dash(k if c.tone is None else c.tone)}'
        for k, c in enumerate(curves)
    ]
    shown = [(c.name, s) for c, s in zip(curves, styles, strict=True) if c.name] if legend else []
    key = Legend(shown, MARGIN, width - MARGIN)
    head = (20 if title else 0) + key.height + (26 if y else 8)
    foot = 24 + (19 if x else 0)
    box = height - head - foot
    axes = Axes(x_scale, y_scale, room_for(y_scale, box), width - MARGIN - 6, head, height - foot, x, y)
    parts = [words_at(MARGIN, 14, title, more=' style="font-weight:600"')] if title else []
    parts += key.draw(20 if title else 0)
    parts += axes.draw()
    parts += [_rule(axes, v, None) for v in limits if y_scale.low <= v <= y_scale.high]
    parts += [_rule(axes, None, v) for v in marks if x_scale.low <= v <= x_scale.high]
    for c, (a, b), style in zip(curves, drawn, styles, strict=True):
        path = "".join(_paths(axes, a, b))
        if path:
            parts.append(
                f'<path d="{path}" fill="none" stroke-width="{1.0 if c.thin else 1.6}" stroke-linejoin="round"{style}/>'
            )
    return picture(width, height, title or ", ".join(c.name for c in curves if c.name) or y, parts)


def _checked(curve: Curve) -> tuple[Array, Array]:
    a, b = np.asarray(curve.x, float), np.asarray(curve.y, float)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"curve {curve.name!r}: x has shape {a.shape} and y {b.shape}; they must be equal, (N,)")
    if not np.isfinite(a).all() or (np.diff(a) < 0).any():
        raise InputError(f"curve {curve.name!r}: x must be finite and rising")
    return a, b


def _range(values: list[Array], room: float, log: bool = False, more: Sequence[float] = ()) -> Scale:
    every = np.concatenate([*(v[np.isfinite(v)] for v in values), np.asarray(more, float)]) if values else np.zeros(0)
    if not len(every):
        return scale_of(0.1, 1.0, 0.0, log) if log else Scale(0.0, 1.0)
    low, high = float(every.min()), float(every.max())
    return scale_of(low, high, room, log) if room or low == high else Scale(low, high)


def _rule(axes: Axes, y: float | None, x: float | None) -> str:
    if y is not None:
        d = f"M{short(axes.left)} {short(axes.up(y))}H{short(axes.right)}"
    else:
        d = f"M{short(axes.across(x or 0.0))} {short(axes.top)}V{short(axes.bottom)}"
    return f'<path d="{d}" stroke-dasharray="5 4" style="stroke:{SOFT};fill:none"/>'


def _paths(axes: Axes, x: Array, y: Array) -> list[str]:
    """The curve as pieces between gaps, thinned; what lies outside the box is cut off at its edge."""
    inside = np.isfinite(y)
    cuts = np.flatnonzero(np.diff(inside.astype(int)) != 0) + 1
    out = []
    for piece in np.split(np.arange(len(x)), cuts):
        if len(piece) and inside[piece[0]]:
            out.append(_path(axes, x[piece], y[piece]))
    return out


def _path(axes: Axes, x: Array, y: Array) -> str:
    scale = axes.y
    y = np.clip(y, scale.low, scale.high)
    part = (
        (np.log10(y) - math.log10(scale.low)) / math.log10(scale.high / scale.low)
        if scale.log
        else ((y - scale.low) / (scale.high - scale.low))
    )
    px = axes.left + (axes.right - axes.left) * (x - axes.x.low) / (axes.x.high - axes.x.low)
    py = axes.bottom - (axes.bottom - axes.top) * part
    kept = extremes(np.floor(px).astype(np.int64), py)
    px, py = px[kept], py[kept]
    points = [(short(px[k]), short(py[k])) for k in straighten(px, py)]
    return "M" + " ".join(f"{a} {b}" for a, b in dict.fromkeys(points))


def bars(
    names: Sequence[str],
    values: ArrayLike,
    *,
    series: Sequence[str] = (),
    y: str = "",
    title: str = "",
    width: float = 720,
    height: float = 230,
) -> str:
    """Bars of numbers (k,), or of several `series` (s, k) side by side, below each group its name."""
    v = np.atleast_2d(np.asarray(values, float))
    if v.shape != (max(len(series), 1), len(names)) or not names:
        raise InputError(f"values have shape {v.shape}; {max(len(series), 1)} × {len(names)} are needed, with names")
    some = v[np.isfinite(v)]
    low, high = min(0.0, float(some.min(initial=0))), max(0.0, float(some.max(initial=0)))
    scale = scale_of(low, high, 0.0)
    scale = Scale(scale.low if low < 0 else 0.0, scale.high + 0.06 * (scale.high - scale.low))
    legend = Legend([(s, f' style="stroke:{color(k)}"') for k, s in enumerate(series)], 12, width - 12)
    head = (20 if title else 0) + legend.height + (26 if y else 8)
    left = room_for(scale, height - head - 30)
    axes = Axes(Scale(0, len(names)), scale, left, width - 18, head, height - 30, "", y, numbered=False)
    each = (axes.right - axes.left) / len(names)
    parts = [words_at(12, 14, title, more=' style="font-weight:600"')] if title else []
    parts += legend.draw(20 if title else 0)
    parts += axes.draw()
    thick = each * 0.7 / len(v)
    for k, row in enumerate(v):
        for j, x in enumerate(row):
            if not np.isfinite(x):
                continue
            left = axes.left + each * (j + 0.15) + thick * k
            top, bottom = axes.up(max(x, 0.0)), axes.up(min(x, 0.0))
            size = f'width="{short(thick)}" height="{short(max(bottom - top, 0.8))}"'
            parts.append(f'<rect x="{short(left)}" y="{short(top)}" {size} style="fill:{color(k)}"/>')
    for j, name in enumerate(names):
        room = each * (1.8 if not any(names[j + 1 : j + 2]) and not any(names[max(j - 1, 0) : j]) else 0.96)
        words = name
        while len(words) > 2 and width_of(words) > room:
            words = words.removesuffix("…")[:-1] + "…"
        parts.append(words_at(axes.left + each * (j + 0.5), axes.bottom + FONT + 4, words, "middle"))
    return picture(width, height, title or y, parts)
