"""A box with two axes: what charts are drawn into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.caching import cached_property
from dalembert.draw.svg.elements import FONT, GRID, INK, SOFT, short, width_of, words_at
from dalembert.draw.svg.ticks import Scale

TICK = 6.0


@dataclass(frozen=True)
class Axes:
    """The box inside a picture: x from `left` to `right` and y from `bottom` up to `top` [px]."""

    x: Scale
    y: Scale
    left: float
    right: float
    top: float
    bottom: float
    x_name: str = ""
    y_name: str = ""
    numbered: bool = True  # along x

    @cached_property
    def x_ticks(self) -> list[tuple[float, str]]:
        if not self.numbered:
            return []
        found = self.x.ticks(max(2, int((self.right - self.left) / 70)))
        while len(found) > 1 and sum(width_of(words) + 8 for _, words in found) > self.right - self.left:
            found = found[::2]
        return found

    @cached_property
    def y_ticks(self) -> list[tuple[float, str]]:
        return self.y.ticks(max(2, int((self.bottom - self.top) / 32)))

    def across(self, x: float) -> float:
        return self.left + (self.right - self.left) * self.x.part(x)

    def up(self, y: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.y.part(y)

    def drawn(self, grid: bool = True) -> list[str]:
        """Grid, box, numbers and names."""
        parts = []
        lines = [f"M{short(self.across(v))} {short(self.top)}V{short(self.bottom)}" for v, _ in self.x_ticks]
        lines += [f"M{short(self.left)} {short(self.up(v))}H{short(self.right)}" for v, _ in self.y_ticks]
        if grid and lines:
            parts.append(f'<path d="{"".join(lines)}" style="stroke:{GRID};fill:none"/>')
        box = f'x="{short(self.left)}" y="{short(self.top)}"'
        size = f'width="{short(self.right - self.left)}" height="{short(self.bottom - self.top)}"'
        parts.append(f'<rect {box} {size} style="stroke:{SOFT};fill:none"/>')
        parts += [words_at(self.across(v), self.bottom + FONT + 4, words, "middle") for v, words in self.x_ticks]
        parts += [words_at(self.left - TICK, self.up(v) + 4, words, "end") for v, words in self.y_ticks]
        if self.x_name:
            middle = (self.left + self.right) / 2
            parts.append(words_at(middle, self.bottom + 2 * FONT + 11, self.x_name, "middle", f' style="fill:{SOFT}"'))
        if self.y_name:  # above the axis, to be read without turning one's head
            parts.append(words_at(self.left - 2, self.top - 13, self.y_name, "start", f' style="fill:{SOFT}"'))
        return parts


def room_for(scale: Scale, height: float) -> float:
    """How much room the numbers of a vertical axis need on its left [px]."""
    widest = max((width_of(words) for _, words in scale.ticks(max(2, int(height / 32)))), default=0.0)
    return widest + TICK + 6


@dataclass(frozen=True)
class Legend:
    """Names beside a piece of their curve, in rows as wide as the picture."""

    entries: Sequence[tuple[str, str]]  # (name, style of the line)
    left: float
    right: float

    @cached_property
    def places(self) -> list[tuple[int, float]]:
        """(row, x) of every entry."""
        out, row, x = [], 0, self.left
        for name, _ in self.entries:
            wide = 24 + width_of(name) + 16
            if x > self.left and x + wide > self.right:
                row, x = row + 1, self.left
            out.append((row, x))
            x += wide
        return out

    @property
    def height(self) -> float:
        return 0.0 if not self.entries else 18.0 * (self.places[-1][0] + 1) + 4

    def drawn(self, top: float) -> list[str]:
        parts = []
        for (name, style), (row, x) in zip(self.entries, self.places, strict=True):
            y = top + 18 * row + 9
            parts.append(f'<path d="M{short(x)} {short(y)}h18" stroke-width="2.4" fill="none"{style}/>')
            parts.append(words_at(x + 24, y + 4, name, more=f' style="fill:{INK}"'))
        return parts
