"""Numbers as bars, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.draw.svg.axes import Axes, Legend, room_for
from dalembert.draw.svg.elements import FONT, color, picture, short, width_of, words_at
from dalembert.draw.svg.ticks import Scale, scale_of
from dalembert.errors import InputError


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
    parts += legend.drawn(20 if title else 0)
    parts += axes.drawn()
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
