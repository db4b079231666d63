"""Block diagrams as data: nodes (blocks, sums, names of signals that come in or go out) in columns and rows, and
signals between them. `layout` finds sizes and positions, `svg` and `figure` draw them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.caching import cached_property
from dalembert.describe.description import Part
from dalembert.errors import InputError, choose
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.draw.blocks.layout import Layout

KINDS = ("block", "sum", "terminal")
TONES = {"": "#ffffff", "servo": "#eef3fa", "model": "#f3f0e4", "plant": "#e9e9e9"}
SIDES = ("left", "right", "top", "bottom")


@dataclass(frozen=True)
class Node(Part):
    """A block, a "sum" (a circle) or a "terminal" (a bare name), at (column, row); rows count downwards.

    `text` may have subscripts and superscripts, x_d, q_{12}, s^2, and several lines. A `flip`ped block is passed from
    right to left, as in a feedback path. `tone`: "servo", "model" or "plant" shades it."""

    name: str
    text: str
    column: int
    row: int
    kind: str = "block"
    flip: bool = False
    tone: str = ""


@dataclass(frozen=True)
class Signal(Part):
    """From one node to another. `label` names it; `sign` is written where it enters a sum.

    `leave` and `enter` are sides; `out` and `into` move it along that side, in steps (0 the middle). Without `lane` it
    goes straight, or by one bend, or by two through the channel after its own column; with a lane, below row `lane`
    (−1: above all), it drops into it in channel `drop` (the column left of it) and rises in channel `rise`."""

    source: str
    target: str
    label: str = ""
    sign: str = ""
    leave: str = ""
    enter: str = ""
    out: float = 0.0
    into: float = 0.0
    lane: int | None = None
    drop: int | None = None
    rise: int | None = None


def block(name: str, text: str, column: int, row: int = 0, *, flip: bool = False, tone: str = "") -> Node:
    return Node(name, text, column, row, "block", flip, tone)


def total(name: str, column: int, row: int = 0) -> Node:
    """A sum of signals, each with its sign."""
    return Node(name, "", column, row, "sum")


def terminal(name: str, text: str, column: int, row: int = 0) -> Node:
    """A signal that comes in or goes out, by its name."""
    return Node(name, text, column, row, "terminal")


@dataclass(frozen=True)
class Diagram(Part):
    """Nodes and signals, with the equation that they draw."""

    title: str
    nodes: tuple[Node, ...]
    signals: tuple[Signal, ...]
    equation: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [node.name for node in self.nodes]
        if not names:
            raise InputError("too-few", "nodes", (), problem=f"the diagram {self.title!r} has no nodes")
        places: dict[tuple[int, int], str] = {}
        for node in self.nodes:
            if names.count(node.name) > 1:
                problem = f"the diagram {self.title!r} has two nodes called {node.name!r}"
                raise InputError("duplicate", "nodes", node.name, problem=problem)
            choose("kind of node", node.kind, KINDS)
            choose("tone", node.tone, TONES)
            if node.column < 0 or node.row < 0:
                place = (node.column, node.row)
                raise InputError(
                    "out-of-range",
                    "nodes",
                    place,
                    problem=f"{node.name!r} is at {place}",
                    remedy="Count columns and rows from 0.",
                )
            if (node.column, node.row) in places:
                other = places[node.column, node.row]
                problem = f"{node.name!r} and {other!r} share a place: column {node.column}, row {node.row}"
                raise InputError(
                    "conflict", "nodes", (node.column, node.row), problem=problem, remedy="Move one of them."
                )
            places[node.column, node.row] = node.name
        for signal in self.signals:
            for end in (signal.source, signal.target):
                choose("node", end, names)
            for side in (signal.leave, signal.enter):
                if side:
                    choose("side", side, SIDES)

    @cached_property
    def layout(self) -> Layout:
        from dalembert.draw.blocks.layout import Layout

        return Layout(self)

    def faults(self) -> list[str]:
        """What overlaps: signals through blocks, signals along each other, texts on anything; empty if readable."""
        from dalembert.draw.blocks.layout import find_faults

        return list(find_faults(self.layout))

    def describe(self) -> str:
        """In words, signal by signal, for those who cannot see it."""
        texts = {node.name: plain(node.text) or "sum" for node in self.nodes}
        lines = [self.title + (f": {plain(self.equation)}" if self.equation else "")]
        for s in self.signals:
            what = f"{plain(s.label)} from " if s.label else ""
            sign = f" ({s.sign})" if s.sign else ""
            lines.append(f"{what}{texts[s.source]} to {texts[s.target]}{sign}")
        return "; ".join(line.replace("\n", " ") for line in lines) + "."

    def svg(self) -> str:
        """The picture, a document of its own."""
        from dalembert.draw.blocks.figure import write_svg

        return write_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file whose name ends in .svg."""
        file = Path(str(path))
        if file.suffix.lower() != ".svg":
            raise InputError("unsupported", "path", str(path), expected="a path that ends in .svg")
        return whole(path, lambda out: out.write(self.svg().encode()))


# -------------------------------------------------------------------------------------------------------------- text
def pieces(text: str) -> Iterator[tuple[str, int]]:
    """A line in pieces: (letters, level), level −1 below the line, 1 above it. `_x`, `_{xy}`, `^2`; `\\_` stays _."""
    run, k = "", 0
    while k < len(text):
        if text[k] == "\\" and text[k + 1 : k + 2] in ("_", "^"):
            run += text[k + 1]
            k += 2
        elif text[k] in "_^" and k + 1 < len(text):
            if run:
                yield run, 0
            level, run = (-1 if text[k] == "_" else 1), ""
            if text[k + 1] == "{" and "}" in text[k:]:
                end = text.index("}", k)
                yield text[k + 2 : end], level
            else:
                end = k + 1
                while end + 1 < len(text) and unicodedata.combining(text[end + 1]):
                    end += 1
                yield text[k + 1 : end + 1], level
            k = end + 1
        else:
            run += text[k]
            k += 1
    if run:
        yield run, 0


def plain(text: str) -> str:
    """Without the marks of subscripts."""
    return "".join(("_" if level < 0 else "^" if level else "") + run for run, level in pieces(text))
