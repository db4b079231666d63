"""A block diagram as a matplotlib figure: its SVG's twin.

A block diagram written as an SVG document.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

from dalembert.draw.blocks.diagram import TONES, Diagram, Node, pieces, plain
from dalembert.draw.blocks.layout import FONT, MARGIN, RADIUS, SMALL, Box, Point, Text, Wire, lines_of
from dalembert.draw.pyplot import pyplot, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PIXELS = 96.0  # to the inch, as in an SVG
POINTS = 72.0
# Marks above a letter, as mathtext writes them.
MARKS = {"\u0307": "dot", "\u0308": "ddot", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
SPECIAL = "\\$%#&_^{}"
INK: dict[str, Any] = {"color": "black", "solid_joinstyle": "round", "linestyle": "-", "lw": 1.0}
FAMILY = "'Times New Roman', Times, 'Liberation Serif', serif"


@styled
def draw_diagram(diagram: Diagram, ax: Axes | None = None) -> Figure:
    """The diagram, on axes of its own if none are given."""
    layout = diagram.layout
    width, height = layout.size
    with pyplot().rc_context({"font.family": "STIXGeneral", "mathtext.fontset": "stix"}):
        if ax is None:
            figure = pyplot().figure(figsize=(width / PIXELS, height / PIXELS))
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_aspect("equal")
        ax.axis("off")
        for wire in layout.wires:
            _wire(ax, wire)
        for x, y in layout.dots:
            ax.plot([x], [y], marker="o", color="black", markersize=3.6)
        for node in diagram.nodes:
            _node(ax, node, layout.boxes[node.name])
        for text in (*layout.labels, *layout.signs):
            _draw_text(ax, text)
        if diagram.equation:
            _draw_text(ax, Text(width / 2, height - MARGIN, diagram.equation))
    return cast("Figure", ax.figure)


def _wire(ax: Axes, wire: Wire) -> None:
    points = [p for k, p in enumerate(wire.points) if k == 0 or p != wire.points[k - 1]]
    ax.plot(*zip(*points[:-1], wire.shaft, strict=True), **INK)
    ax.fill(*zip(*wire.head, strict=True), color="black", linewidth=0)


def _node(ax: Axes, node: Node, box: Box) -> None:
    left, top, right, bottom = box
    patches = pyplot()
    if node.kind == "sum":
        middle = (left + right) / 2, (top + bottom) / 2
        ax.add_patch(patches.Circle(middle, RADIUS, facecolor="white", edgecolor="black", lw=1.0, zorder=3))
        return
    if node.kind == "block":
        size = (right - left, bottom - top)
        ax.add_patch(
            patches.Rectangle((left, top), *size, facecolor=TONES[node.tone], edgecolor="black", lw=1.0, zorder=3)
        )
    for line in lines_of(node, box):
        _draw_text(ax, line)


def _draw_text(ax: Axes, text: Text) -> None:
    sides = {"middle": "center", "start": "left", "end": "right"}
    ax.text(
        text.x,
        text.y,
        mathtext(text.text),
        ha=sides[text.anchor],
        va="baseline",
        fontsize=FONT * POINTS / PIXELS,
        zorder=4,
    )


def mathtext(text: str) -> str:
    """A diagram's text as matplotlib sets formulas: subscripts, and dots over letters."""
    out = ""
    for run, level in pieces(text):
        set_ = rf"\mathregular{{{_letters(run)}}}"
        out += set_ if level == 0 else f"{'_' if level < 0 else '^'}{{{set_}}}"
    return f"${out}$"


def _letters(run: str) -> str:
    out: list[str] = []
    for c in unicodedata.normalize("NFD", run):  # a letter with its mark as two signs
        if c in MARKS and out:
            out[-1] = rf"\{MARKS[c]}{{{out[-1]}}}"
        elif c == " ":
            out.append(r"\ ")
        else:
            out.append(f"\\{c}" if c in SPECIAL else c)
    return "".join(out)


def _number(x: float) -> str:
    return f"{x:.1f}".rstrip("0").rstrip(".")


def _spans(text: str) -> str:
    """The text as tspans: subscripts smaller and lower, and back again."""
    out, at = [], 0
    for run, level in pieces(text):
        dy = (4 if level < 0 else -6 if level > 0 else 0) - at
        at += dy
        move = f' dy="{dy}"' if dy else ""
        small = f' font-size="{_number(SMALL)}"' if level else ""
        out.append(f"<tspan{move}{small}>{escape(run)}</tspan>" if move or small else escape(run))
    return "".join(out)


def _text(t: Text) -> str:
    place = f'x="{_number(t.x)}" y="{_number(t.y)}" text-anchor="{t.anchor}"'
    return f'<text {place} xml:space="preserve">{_spans(t.text)}</text>'


def _points(points: list[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _line(wire: Wire, drawn: list[Wire]) -> str:
    """The way from where it leaves others of its net, its end drawn back under the arrow's head."""
    shared = 1
    for other in drawn:
        if other.net == wire.net:
            same = [a == b for a, b in zip(wire.points, other.points, strict=False)]
            shared = max(shared, [*same, False].index(False))
    kept = wire.points[shared - 1 : -1]
    points = [p for k, p in enumerate(kept) if k == 0 or p != kept[k - 1]]
    return f'<polyline points="{_points([*points, wire.shaft])}"/>'


def _shape(node: Node, box: Box) -> str:
    left, top, right, bottom = box
    cx, cy = (left + right) / 2, (top + bottom) / 2
    if node.kind == "sum":
        return f'<circle cx="{_number(cx)}" cy="{_number(cy)}" r="{_number(RADIUS)}" fill="#fff" stroke="#000"/>'
    words = "".join(_text(line) for line in lines_of(node, box))
    if node.kind == "terminal":
        return words
    size = f'width="{_number(right - left)}" height="{_number(bottom - top)}"'
    place = f'x="{_number(left)}" y="{_number(top)}"'
    return f'<rect {place} {size} rx="3" fill="{TONES[node.tone]}" stroke="#000"/>{words}'


def write_svg(diagram: Diagram) -> str:
    L = diagram.layout
    width, height = L.size
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(width)}" height="{_number(height)}" '
        f'viewBox="0 0 {_number(width)} {_number(height)}" role="img" font-family="{escape(FAMILY)}" '
        f'font-size="{_number(FONT)}">',
        f"<title>{escape(plain(diagram.title))}</title>",
        f"<desc>{escape(diagram.describe())}</desc>",
        f'<rect width="{_number(width)}" height="{_number(height)}" fill="#fff"/>',
    ]
    parts.append('<g fill="none" stroke="#000" stroke-width="1.2" stroke-linejoin="round">')
    parts += [_line(w, L.wires[:k]) for k, w in enumerate(L.wires)]
    parts.append("</g>")
    parts += [f'<polygon points="{_points(w.head)}" fill="#000"/>' for w in L.wires]
    parts += [f'<circle cx="{_number(x)}" cy="{_number(y)}" r="2.6" fill="#000"/>' for x, y in L.dots]
    parts += [_shape(node, L.boxes[node.name]) for node in diagram.nodes]
    parts += [_text(t) for t in (*L.labels, *L.signs)]
    if diagram.equation:
        parts.append(_text(Text(width / 2, height - MARGIN, diagram.equation)))
    return "\n".join([*parts, "</svg>\n"])
