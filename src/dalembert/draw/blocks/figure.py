"""A block diagram as a matplotlib figure: its SVG's twin."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, cast

from dalembert.draw.blocks.diagram import TONES, Diagram, Node, pieces
from dalembert.draw.blocks.layout import FONT, MARGIN, RADIUS, Box, Text, Wire, lines_of
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
            _text(ax, text)
        if diagram.equation:
            _text(ax, Text(width / 2, height - MARGIN, diagram.equation))
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
        _text(ax, line)


def _text(ax: Axes, text: Text) -> None:
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
