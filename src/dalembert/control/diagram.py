"""Block diagrams as data, laid out on a grid and written as SVG.

A diagram is nodes (blocks, sums, names of signals that come in or go out) in columns and rows, and signals between
them. The layout finds sizes and positions; every signal runs in straight lines through the channels between columns and
the lanes between rows, each net on a track of its own. `Diagram.faults()` says what touches what it should not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from dalembert.caching import cached_property
from dalembert.describe.fields import a as one
from dalembert.describe.fields import maybe, number, settle, some
from dalembert.describe.fields import text as words
from dalembert.errors import InputError, unknown
from dalembert.files import whole

FONT, SMALL, LINE = 15.0, 11.0, 19.0  # sizes of text and subscripts, height of a line [px]
BLOCK_HEIGHT, BLOCK_LEAST, PADDING = 36.0, 40.0, 11.0
RADIUS = 11.0  # of a sum
SLOT = 13.0  # between signals that enter one side of a block
CHANNEL, LANE = 22.0, 20.0  # the room between columns and rows in which nothing runs yet
TRACK = 13.0  # between tracks
ARROW = 8.0
MARGIN = 14.0
FAMILY = "'Times New Roman', Times, 'Liberation Serif', serif"
TONES = {"": "#ffffff", "servo": "#eef3fa", "model": "#f3f0e4", "plant": "#e9e9e9"}
SIDES = ("left", "right", "top", "bottom")

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


# ------------------------------------------------------------------------------------------------------------- data
@dataclass(frozen=True)
class Node:
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

    def __post_init__(self) -> None:
        settle(self, name=words, text=words, column=one(int), row=one(int), kind=words, flip=one(bool), tone=words)


@dataclass(frozen=True)
class Signal:
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

    def __post_init__(self) -> None:
        settle(self, source=words, target=words, label=words, sign=words, leave=words, enter=words)
        settle(self, out=number, into=number, lane=maybe(one(int)), drop=maybe(one(int)), rise=maybe(one(int)))


def block(name: str, text: str, column: int, row: int = 0, **more: Any) -> Node:
    return Node(name, text, column, row, **more)


def total(name: str, column: int, row: int = 0) -> Node:
    """A sum of signals, each with its sign."""
    return Node(name, "", column, row, "sum")


def terminal(name: str, text: str, column: int, row: int = 0, **more: Any) -> Node:
    return Node(name, text, column, row, "terminal", **more)


@dataclass(frozen=True)
class Diagram:
    """Nodes and signals, with the equation that they draw."""

    title: str
    nodes: tuple[Node, ...]
    signals: tuple[Signal, ...]
    equation: str = ""

    def __post_init__(self) -> None:
        settle(self, title=words, nodes=some(Node), signals=some(Signal), equation=words)
        names = [node.name for node in self.nodes]
        if not names:
            raise InputError(f"the diagram {self.title!r} has no nodes")
        places: dict[tuple[int, int], str] = {}
        for node in self.nodes:
            if names.count(node.name) > 1:
                raise InputError(f"the diagram {self.title!r} has two nodes called {node.name!r}")
            if node.kind not in ("block", "sum", "terminal"):
                raise unknown("kind of node", node.kind, ("block", "sum", "terminal"))
            if node.tone not in TONES:
                raise unknown("tone", node.tone, TONES)
            if node.column < 0 or node.row < 0:
                raise InputError(f"columns and rows count from 0; {node.name!r} is at ({node.column}, {node.row})")
            if (node.column, node.row) in places:
                other = places[node.column, node.row]
                raise InputError(f"{node.name!r} and {other!r} share a place: column {node.column}, row {node.row}")
            places[node.column, node.row] = node.name
        for signal in self.signals:
            for end in (signal.source, signal.target):
                if end not in names:
                    raise unknown("node", end, names)
            for side in (signal.leave, signal.enter):
                if side and side not in SIDES:
                    raise unknown("side", side, SIDES)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self)

    def faults(self) -> list[str]:
        """What overlaps: signals through blocks, signals along each other, texts on anything; empty if readable."""
        return list(_faults(self.layout))

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
        return _write(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file whose name ends in .svg."""
        file = Path(str(path))
        if file.suffix.lower() != ".svg":
            raise InputError(f"a diagram is saved as .svg, not as {file.suffix or 'a file without an ending'!r}")
        return whole(path, lambda out: out.write(self.svg().encode()))


# ------------------------------------------------------------------------------------------------------------- text
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


def _width(text: str) -> float:
    """What a text takes up, roughly: fonts differ, so a little too much."""
    total = 0.0
    for run, level in pieces(text):
        size = SMALL if level else FONT
        for c in run:
            if unicodedata.combining(c):
                continue
            wide = 0.95 if c in "mMWw∫ΣΛ∂→" else 0.34 if c in " ,.;:'|ijlI()[]" else 0.72 if c.isupper() else 0.58
            total += wide * size
    return total


def _size(node: Node) -> tuple[float, float]:
    if node.kind == "sum":
        return 2 * RADIUS, 2 * RADIUS
    lines = node.text.split("\n")
    width = max(_width(line) for line in lines)
    if node.kind == "terminal":
        return width + 8, LINE * len(lines) + 4
    return max(width + 2 * PADDING, BLOCK_LEAST), max(LINE * len(lines) + 2 * PADDING - 4, BLOCK_HEIGHT)


# ------------------------------------------------------------------------------------------------------------ layout
@dataclass(frozen=True)
class Text:
    x: float
    y: float  # the base line
    text: str
    anchor: str = "middle"

    @property
    def box(self) -> Box:
        w = _width(self.text)
        left = self.x - (w / 2 if self.anchor == "middle" else w if self.anchor == "end" else 0.0)
        return left, self.y - 12.0, left + w, self.y + 4.0


@dataclass(frozen=True)
class Wire:
    """A signal's way, from port to port."""

    signal: Signal
    net: tuple[str, str, float]
    points: tuple[Point, ...]

    @property
    def segments(self) -> list[tuple[Point, Point]]:
        return [(a, b) for a, b in zip(self.points, self.points[1:], strict=False) if a != b]


@dataclass
class Layout:
    """Where everything lies [px], the origin at the top left."""

    diagram: Diagram
    boxes: dict[str, Box] = field(init=False)
    wires: list[Wire] = field(init=False)
    labels: list[Text] = field(init=False)
    signs: list[Text] = field(init=False)
    dots: list[Point] = field(init=False)
    size: Point = field(init=False)

    def __post_init__(self) -> None:
        d = self.diagram
        self._node = {node.name: node for node in d.nodes}
        self._channels: dict[int, list[Any]] = {}
        self._lanes: dict[int, list[Any]] = {}
        self._plans = [self._plan(s) for s in d.signals]
        self._spread()
        self.wires = [self._wire(s, plan) for s, plan in zip(d.signals, self._plans, strict=True)]
        self.labels = [self._label(w) for w in self.wires if w.signal.label]
        self.signs = [self._sign(w) for w in self.wires if w.signal.sign]
        self.dots = self._branches()
        self._fit()

    # ------------------------------------------------------------------------------------------------ which way
    def _plan(self, s: Signal) -> dict[str, Any]:
        """Sides, and the channels and lanes that the signal runs along; its net gets a track in each."""
        a, b = self._node[s.source], self._node[s.target]
        leave = s.leave or ("left" if a.flip else "right")
        enter = s.enter or self._entry(a, b)
        net = (s.source, leave, s.out)
        plan: dict[str, Any] = {"leave": leave, "enter": enter, "net": net, "drop": None, "rise": None}
        sideways = enter in ("left", "right")
        if s.lane is not None:
            _add(self._lanes, s.lane, net)
            if leave in ("left", "right"):
                plan["drop"] = s.drop if s.drop is not None else a.column - (leave == "left")
            if sideways:
                plan["rise"] = s.rise if s.rise is not None else b.column - (enter == "left")
        elif sideways and (a.row != b.row or s.out != s.into):
            around = b.column - 1 if leave == enter == "left" else a.column - (leave == "left")
            plan["drop"] = s.drop if s.drop is not None else around
        for channel in (plan["drop"], plan["rise"]):
            if channel is not None:
                _add(self._channels, channel, net)
        return plan

    @staticmethod
    def _entry(a: Node, b: Node) -> str:
        if b.kind == "sum" and a.row != b.row:
            return "bottom" if a.row > b.row else "top"
        return "right" if b.flip else "left"

    # --------------------------------------------------------------------------------------------- how far apart
    def _spread(self) -> None:
        d = self.diagram
        columns, rows = 1 + max(n.column for n in d.nodes), 1 + max(n.row for n in d.nodes)
        sizes = {n.name: _size(n) for n in d.nodes}
        widths = [max((sizes[n.name][0] for n in d.nodes if n.column == c), default=0.0) for c in range(columns)]
        heights = [max((sizes[n.name][1] for n in d.nodes if n.row == r), default=0.0) for r in range(rows)]
        before, after = self._label_room(widths, sizes)
        x, self._track_x = MARGIN, {}
        centers: list[float] = []
        for c in range(-1, columns):
            if c >= 0:
                centers.append(x + widths[c] / 2)
                x += widths[c]
            nets = self._channels.get(c, [])
            start = x + after.get(c, 0.0) + CHANNEL / 2
            for k, net in enumerate(nets):
                self._track_x[c, net] = start + k * TRACK
            if 0 <= c < columns - 1 or nets:
                x = start + max(len(nets) - 1, 0) * TRACK + CHANNEL / 2 + max(before.get(c, 0.0), ARROW + 4)
        y, self._lane_y = MARGIN, {}
        middles: list[float] = []
        for r in range(-1, rows):
            if r >= 0:
                middles.append(y + heights[r] / 2)
                y += heights[r]
            nets = self._lanes.get(r, [])
            y += LANE / 2
            for net in nets:
                y += TRACK
                self._lane_y[r, net] = y - TRACK / 2
            y += LANE / 2
        self.boxes = {}
        for n in d.nodes:
            (w, h), cx, cy = sizes[n.name], centers[n.column], middles[n.row]
            self.boxes[n.name] = (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)

    def _label_room(self, widths: list[float], sizes: dict[str, Point]) -> tuple[dict[int, float], dict[int, float]]:
        """The room that names of signals need in a channel: after the column left of it, before the one right of it."""
        before: dict[int, float] = {}
        after: dict[int, float] = {}
        for s, plan in zip(self.diagram.signals, self._plans, strict=True):
            a = self._node[s.source]
            slack = (widths[a.column] - sizes[s.source][0]) / 2
            need = _width(s.label) + 4 - slack if s.label else 0.0
            if plan["leave"] == "right":
                after[a.column] = max(after.get(a.column, 0.0), need)
            elif plan["leave"] == "left":
                before[a.column - 1] = max(before.get(a.column - 1, 0.0), need)
            if plan["enter"] == "right":  # an arrow's head, clear of where lines part
                b = self._node[s.target]
                after[b.column] = max(after.get(b.column, 0.0), ARROW)
        return before, after

    # ----------------------------------------------------------------------------------------------- lines and names
    def _port(self, name: str, side: str, slot: float) -> Point:
        left, top, right, bottom = self.boxes[name]
        if side in ("left", "right"):
            return (left if side == "left" else right), (top + bottom) / 2 + slot * SLOT
        return (left + right) / 2 + slot * SLOT, (top if side == "top" else bottom)

    def _wire(self, s: Signal, plan: dict[str, Any]) -> Wire:
        start, end = self._port(s.source, plan["leave"], s.out), self._port(s.target, plan["enter"], s.into)
        net = plan["net"]
        points = [start]
        if s.lane is not None:
            y = self._lane_y[s.lane, net]
            x1 = start[0] if plan["drop"] is None else self._track_x[plan["drop"], net]
            x2 = end[0] if plan["rise"] is None else self._track_x[plan["rise"], net]
            points += [(x1, start[1]), (x1, y), (x2, y), (x2, end[1])]
        elif plan["drop"] is not None:
            x = self._track_x[plan["drop"], net]
            points += [(x, start[1]), (x, end[1])]
        elif plan["enter"] in ("top", "bottom") and plan["leave"] in ("left", "right"):
            points += [(end[0], start[1])]
        elif plan["leave"] in ("top", "bottom") and plan["enter"] in ("left", "right"):
            points += [(start[0], end[1])]
        return Wire(s, net, tuple([*points, end]))

    def _label(self, wire: Wire) -> Text:
        """Above the first stretch, near where it leaves; below it for what leaves the lower half of a side."""
        (x, y), (_, leave, slot) = wire.points[0], wire.net
        beside = y + 15 if slot > 0 else y - 6
        if leave == "right":
            return Text(x + 5, beside, wire.signal.label, "start")
        if leave == "left":
            return Text(x - 5, beside, wire.signal.label, "end")
        return Text(x + 6, y + (16 if leave == "bottom" else -8), wire.signal.label, "start")

    def _sign(self, wire: Wire) -> Text:
        (x, y), (px, py) = wire.points[-1], _before(wire)
        if py == y:
            return Text(x - 7 if px < x else x + 7, y - 5, wire.signal.sign)
        return Text(x + 9, y + (15 if py > y else -6), wire.signal.sign)

    def _branches(self) -> list[Point]:
        """Where a net parts: points at which three or more of its stretches meet."""
        dots = []
        for net in dict.fromkeys(w.net for w in self.wires):
            segments = {seg for w in self.wires if w.net == net for seg in w.segments}
            corners = {p for seg in segments for p in seg}
            for p in corners:
                ways = {_way(p, q) for a, b in segments for q in (a, b) if _on(p, a, b) and q != p}
                if len(ways) >= 3:
                    dots.append(p)
        return sorted(dots)

    def _fit(self) -> None:
        """Move everything into the picture, with a margin."""
        boxes = [*self.boxes.values(), *(t.box for t in (*self.labels, *self.signs))]
        xs = [x for b in boxes for x in (b[0], b[2])] + [p[0] for w in self.wires for p in w.points]
        ys = [y for b in boxes for y in (b[1], b[3])] + [p[1] for w in self.wires for p in w.points]
        dx, dy = MARGIN - min(xs), MARGIN - min(ys)
        self.boxes = {k: _moved(b, dx, dy) for k, b in self.boxes.items()}
        self.wires = [Wire(w.signal, w.net, tuple((x + dx, y + dy) for x, y in w.points)) for w in self.wires]
        self.labels, self.signs = ([_shifted(t, dx, dy) for t in ts] for ts in (self.labels, self.signs))
        self.dots = [(x + dx, y + dy) for x, y in self.dots]
        foot = LINE + 8 if self.diagram.equation else 0.0
        width = max(max(xs) + dx, _width(self.diagram.equation) + MARGIN if foot else 0.0)
        self.size = (width + MARGIN, max(ys) + dy + MARGIN + foot)


def _add(table: dict[int, list[Any]], key: int, net: Any) -> None:
    nets = table.setdefault(key, [])
    if net not in nets:
        nets.append(net)


def _moved(b: Box, dx: float, dy: float) -> Box:
    return b[0] + dx, b[1] + dy, b[2] + dx, b[3] + dy


def _shifted(t: Text, dx: float, dy: float) -> Text:
    return Text(t.x + dx, t.y + dy, t.text, t.anchor)


def _before(wire: Wire) -> Point:
    return next(p for p in reversed(wire.points[:-1]) if p != wire.points[-1])


def _on(p: Point, a: Point, b: Point) -> bool:
    inside = min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])
    return inside


def _way(p: Point, q: Point) -> tuple[int, int]:
    return (q[0] > p[0]) - (q[0] < p[0]), (q[1] > p[1]) - (q[1] < p[1])


# ------------------------------------------------------------------------------------------------------------ faults
def _overlap(a: Box, b: Box, room: float = 0.0) -> bool:
    return a[0] < b[2] - room and b[0] < a[2] - room and a[1] < b[3] - room and b[1] < a[3] - room


def _faults(layout: Layout) -> Iterator[str]:
    wires = [(w, seg) for w in layout.wires for seg in w.segments]
    for w, (p, q) in wires:
        line = (min(p[0], q[0]) - 0.5, min(p[1], q[1]) - 0.5, max(p[0], q[0]) + 0.5, max(p[1], q[1]) + 0.5)
        name = f"the signal {w.signal.source} → {w.signal.target}"
        for node, box in layout.boxes.items():
            if _overlap(line, box, 1.0):
                yield f"{name} runs through {node}"
        for text in (*layout.labels, *layout.signs):
            if _overlap(line, text.box, 1.0):
                yield f"{name} runs through the text {plain(text.text)!r}"
    for i, (w, (a, b)) in enumerate(wires):
        for v, (c, d) in wires[i + 1 :]:
            if w.net != v.net and _along(a, b, c, d):
                first, second = (f"{x.signal.source} → {x.signal.target}" for x in (w, v))
                yield f"{first} and {second} run along each other"
    texts = [*layout.labels, *layout.signs]
    for i, t in enumerate(texts):
        for node, box in layout.boxes.items():
            if _overlap(t.box, box, 1.0):
                yield f"the text {plain(t.text)!r} lies on {node}"
        for other in texts[i + 1 :]:
            if _overlap(t.box, other.box, 1.0):
                yield f"the texts {plain(t.text)!r} and {plain(other.text)!r} overlap"


def _along(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two stretches share more than a point, or run closer than lines can be told apart."""
    for k in (0, 1):
        near = abs(a[k] - c[k]) < 4.0
        if a[k] == b[k] and c[k] == d[k] and near:
            j = 1 - k
            if min(max(a[j], b[j]), max(c[j], d[j])) - max(min(a[j], b[j]), min(c[j], d[j])) > 0.5:
                return True
    return False


# --------------------------------------------------------------------------------------------------------------- SVG
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


def _arrow(wire: Wire) -> str:
    (x, y), (px, py) = wire.points[-1], _before(wire)
    ux, uy = (x > px) - (x < px), (y > py) - (y < py)
    bx, by = x - ARROW * ux, y - ARROW * uy
    corners = [(x, y), (bx - 3.2 * uy, by + 3.2 * ux), (bx + 3.2 * uy, by - 3.2 * ux)]
    return '<polygon points="' + " ".join(f"{_number(a)},{_number(b)}" for a, b in corners) + '" fill="#000"/>'


def _line(wire: Wire, drawn: list[Wire]) -> str:
    """The way from where it leaves others of its net, its end drawn back under the arrow's head."""
    (x, y), (px, py) = wire.points[-1], _before(wire)
    end = (x - 4 * ((x > px) - (x < px)), y - 4 * ((y > py) - (y < py)))
    shared = 1
    for other in drawn:
        if other.net == wire.net:
            same = [a == b for a, b in zip(wire.points, other.points, strict=False)]
            shared = max(shared, [*same, False].index(False))
    kept = wire.points[shared - 1 : -1]
    points = [p for k, p in enumerate(kept) if k == 0 or p != kept[k - 1]]
    return f'<polyline points="{" ".join(f"{_number(a)},{_number(b)}" for a, b in [*points, end])}"/>'


def _shape(node: Node, box: Box) -> str:
    left, top, right, bottom = box
    cx, cy = (left + right) / 2, (top + bottom) / 2
    if node.kind == "sum":
        return f'<circle cx="{_number(cx)}" cy="{_number(cy)}" r="{_number(RADIUS)}" fill="#fff" stroke="#000"/>'
    lines = node.text.split("\n")
    first = cy + 5 - (len(lines) - 1) * LINE / 2
    words = "".join(_text(Text(cx, first + k * LINE, line)) for k, line in enumerate(lines))
    if node.kind == "terminal":
        return words
    size = f'width="{_number(right - left)}" height="{_number(bottom - top)}"'
    place = f'x="{_number(left)}" y="{_number(top)}"'
    return f'<rect {place} {size} rx="3" fill="{TONES[node.tone]}" stroke="#000"/>{words}'


def _write(diagram: Diagram) -> str:
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
    parts += [_arrow(w) for w in L.wires]
    parts += [f'<circle cx="{_number(x)}" cy="{_number(y)}" r="2.6" fill="#000"/>' for x, y in L.dots]
    parts += [_shape(node, L.boxes[node.name]) for node in diagram.nodes]
    parts += [_text(t) for t in (*L.labels, *L.signs)]
    if diagram.equation:
        parts.append(_text(Text(width / 2, height - MARGIN, diagram.equation)))
    return "\n".join([*parts, "</svg>\n"])
