"""What charts are made of: numbers, words and their width, colors, a picture's frame.

A box with two axes: what charts are drawn into, and round numbers along it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from dalembert.caching import cached_property

STEPS = (0.5, 1.0, 2.0, 2.5, 5.0, 10.0)
TICK = 6.0
FONT = 12.0
# What a page may set, and what stands where it does not.
INK, SOFT, GRID, PAPER = (
    f"var(--{name},{color})"
    for name, color in (("ink", "#22262e"), ("soft", "#5d6470"), ("grid", "#dfe2e7"), ("paper", "#ffffff"))
)
# Told apart by people who see fewer colors too (after Okabe and Ito), and on dark paper.
PALETTE = ("#2f6fb0", "#d0662a", "#1d9a74", "#b8478f", "#8a6fd1", "#b58900", "#4aa3c7", "#7a7f8a")
DASHES = ("", "7 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class Scale:
    """Numbers from low to high, low < high, on a straight or (for positive numbers) a logarithmic axis."""

    low: float
    high: float
    log: bool = False

    def part(self, x: float) -> float:
        """Where x lies between low (0) and high (1)."""
        if self.log:
            return (math.log10(x) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return (x - self.low) / (self.high - self.low)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """(number, words), about so many at most and never fewer than two, all within the axis."""
        return _powers(self, most) if self.log else _round(self, most)


def scale_of(low: float, high: float, room: float = 0.04, log: bool = False) -> Scale:
    """An axis for numbers from low to high, with a little room at both ends; one number alone stands in the middle."""
    if log:
        a, b = math.log10(low), math.log10(high)
        if b - a < 1:
            a, b = (a + b) / 2 - 0.5, (a + b) / 2 + 0.5
        return Scale(10 ** (a - room * (b - a)), 10 ** (b + room * (b - a)), True)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)) or span == 0:
        span = abs(low) or 1.0
        return Scale(low - span / 2, high + span / 2)
    return Scale(low - room * span, high + room * span)


def _round(scale: Scale, most: int) -> list[tuple[float, str]]:
    span = scale.high - scale.low
    size = 10.0 ** math.floor(math.log10(span / most))
    k = next(k for k, s in enumerate(STEPS) if k and span / (s * size) <= most)
    for step in (STEPS[k] * size, STEPS[k - 1] * size):  # the finer one where of the coarse ones fewer than two fit
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        if last > first:
            break
    digits = max(1, math.ceil(math.log10(max(abs(first), abs(last), 1) + 1)) + 2)
    return [(k * step, label(k * step, digits)) for k in range(first, last + 1)]


def _powers(scale: Scale, most: int) -> list[tuple[float, str]]:
    first = math.ceil(math.log10(scale.low) - 1e-9)
    last = math.floor(math.log10(scale.high) + 1e-9)
    if last <= first:
        every_few = (m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5))
        return [(x, label(x)) for x in every_few if scale.low <= x <= scale.high]
    every = max(1, -(-(last - first + 1) // most))
    return [(10.0**k, label(10.0**k)) for k in range(first, last + 1, every)]


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

    def draw(self, grid: bool = True) -> list[str]:
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

    def draw(self, top: float) -> list[str]:
        parts = []
        for (name, style), (row, x) in zip(self.entries, self.places, strict=True):
            y = top + 18 * row + 9
            parts.append(f'<path d="M{short(x)} {short(y)}h18" stroke-width="2.4" fill="none"{style}/>')
            parts.append(words_at(x + 24, y + 4, name, more=f' style="fill:{INK}"'))
        return parts


def color(k: int) -> str:
    """The k-th color, again from the first after the last."""
    k %= len(PALETTE)
    return f"var(--c{k},{PALETTE[k]})"


def dash(k: int) -> str:
    """Dashes of the k-th curve: those that share a color differ."""
    pattern = DASHES[k // len(PALETTE) % len(DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def short(x: float) -> str:
    """A coordinate: a tenth of a pixel is seen by nobody."""
    text = f"{x:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def label(x: float, digits: int = 4) -> str:
    """Return a number for people to read: 2.5·10⁷ instead of 2.5e+07, and the ASCII minus, so that it can be pasted."""
    if x == 0:
        return "0"
    if not math.isfinite(x):
        return "∞" if x > 0 else "-∞" if x < 0 else "–"
    size = abs(x)
    if 1e-3 <= size < 1e5:
        text = f"{x:.{digits}g}"
        text = f"{float(text):f}".rstrip("0").rstrip(".") if "e" in text else text
    else:
        mantissa, _, exponent = f"{x:.{max(digits - 1, 0)}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        power = "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(int(exponent)))
        text = f"10{power}" if mantissa == "1" else f"{mantissa}·10{power}"
    return text


def width_of(words: str, size: float = FONT) -> float:
    """About how wide words are [px]: from above for most faces without serifs."""
    wide = sum(
        1.0 if c in "mwMW@%—…" else 0.36 if c in "iljtfr.,:;'|!() " else 0.0 if 0x300 <= ord(c) < 0x370 else 0.62
        for c in words
    )
    return wide * size


def words_at(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    """Text in a picture, escaped."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{short(x)}" y="{short(y)}"{where}{more}>{escape(words)}</text>'


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole SVG; `title` is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {short(width)} {short(height)}" '
        f'width="{short(width)}" height="{short(height)}" role="img" '
        f'style="font:{short(FONT)}px system-ui,sans-serif;fill:{INK};max-width:100%;height:auto">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
