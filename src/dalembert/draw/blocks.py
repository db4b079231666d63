"""Block diagrams of control laws as matplotlib figures: the layout is `control.diagram`'s, its SVG's twin."""

from __future__ import annotations

import unicodedata
from typing import Any

from dalembert.control.diagram import ARROW, FONT, MARGIN, RADIUS, TONES, Diagram, Node, Text, Wire, pieces
from dalembert.control.diagram import LINE as LEADING
from dalembert.control.diagrams import diagram_of
from dalembert.draw.pyplot import pyplot, styled

PIXELS = 96.0  # to the inch, as in an SVG
POINTS = 72.0
# Marks above a letter, as mathtext writes them.
MARKS = {"\u0307": "dot", "\u0308": "ddot", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
SPECIAL = "\\$%#&_^{}"
INK = {"color": "black", "solid_joinstyle": "round", "linestyle": "-", "lw": 1.0}


@styled
def diagram(law: Any, ax: Any = None) -> Any:
    """A matplotlib figure of the block diagram of a control law: a controller, a Law, or a `Diagram` itself."""
    found = law if isinstance(law, Diagram) else diagram_of(law)
    layout = found.layout
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
        for node in found.nodes:
            _node(ax, node, layout.boxes[node.name])
        for text in (*layout.labels, *layout.signs):
            _text(ax, text)
        if found.equation:
            _text(ax, Text(width / 2, height - MARGIN, found.equation))
    return ax.figure


def _wire(ax: Any, wire: Wire) -> None:
    points = [p for k, p in enumerate(wire.points) if k == 0 or p != wire.points[k - 1]]
    (x, y), (px, py) = points[-1], points[-2]
    along = ((x > px) - (x < px), (y > py) - (y < py))
    ends = [*points[:-1], (x - 0.5 * ARROW * along[0], y - 0.5 * ARROW * along[1])]
    ax.plot([p[0] for p in ends], [p[1] for p in ends], **INK)
    bx, by = x - ARROW * along[0], y - ARROW * along[1]
    corners = [(x, y), (bx - 3.2 * along[1], by + 3.2 * along[0]), (bx + 3.2 * along[1], by - 3.2 * along[0])]
    ax.fill([c[0] for c in corners], [c[1] for c in corners], color="black", linewidth=0)


def _node(ax: Any, node: Node, box: tuple[float, float, float, float]) -> None:
    left, top, right, bottom = box
    cx, cy = (left + right) / 2, (top + bottom) / 2
    patches = pyplot()
    if node.kind == "sum":
        ax.add_patch(patches.Circle((cx, cy), RADIUS, facecolor="white", edgecolor="black", lw=1.0, zorder=3))
        return
    if node.kind == "block":
        size = (right - left, bottom - top)
        ax.add_patch(
            patches.Rectangle((left, top), *size, facecolor=TONES[node.tone], edgecolor="black", lw=1.0, zorder=3)
        )
    lines = node.text.split("\n")
    for k, line in enumerate(lines):
        _text(ax, Text(cx, cy + 5 - (len(lines) - 1) * LEADING / 2 + k * LEADING, line))


def _text(ax: Any, text: Text) -> None:
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
