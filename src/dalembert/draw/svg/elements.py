"""What charts are made of: numbers, words and their width, colors, a picture's frame."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

FONT = 12.0
# What a page may set, and what stands where it does not.
INK, SOFT, GRID, PAPER = (
    f"var(--{name},{color})"
    for name, color in (("ink", "#22262e"), ("soft", "#5d6470"), ("grid", "#dfe2e7"), ("paper", "#ffffff"))
)
# Told apart by people who see fewer colors too (after Okabe and Ito), and on dark paper.
PALETTE = ("#2f6fb0", "#d0662a", "#1d9a74", "#b8478f", "#8a6fd1", "#b58900", "#4aa3c7", "#7a7f8a")
DASHES = ("", "7 3", "2 3", "8 3 2 3")


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
    """A number for reading: a true minus, no 1e+03."""
    if x == 0:
        return "0"
    if not math.isfinite(x):
        return "∞" if x > 0 else "−∞" if x < 0 else "–"
    size = abs(x)
    if 1e-3 <= size < 1e5:
        text = f"{x:.{digits}g}"
        text = f"{float(text):f}".rstrip("0").rstrip(".") if "e" in text else text
    else:
        mantissa, _, exponent = f"{x:.{max(digits - 1, 0)}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        power = "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(int(exponent)))
        text = f"10{power}" if mantissa == "1" else f"{mantissa}·10{power}"
    return text.replace("-", "−")


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
