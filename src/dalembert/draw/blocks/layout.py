"""Where the parts of a block diagram lie: every signal runs in straight lines through the channels between columns and
the lanes between rows, each net on a track of its own. `find_faults` says what touches what it should not."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dalembert.draw.blocks.diagram import Diagram, Node, Signal, pieces, plain

FONT, SMALL, LINE = 15.0, 11.0, 19.0  # sizes of text and subscripts, height of a line [px]
BLOCK_HEIGHT, BLOCK_LEAST, PADDING = 36.0, 40.0, 11.0
RADIUS = 11.0  # of a sum
SLOT = 13.0  # between signals that enter one side of a block
CHANNEL, LANE = 22.0, 20.0  # the room between columns and rows in which nothing runs yet
TRACK = 13.0  # between tracks
ARROW = 8.0
MARGIN = 14.0

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom
Net = tuple[str, str, float]  # what leaves one place: the node, its side, how far along it


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


def lines_of(node: Node, box: Box) -> list[Text]:
    """The lines of a node's text, in the middle of its box."""
    left, top, right, bottom = box
    lines = node.text.split("\n")
    first = (top + bottom) / 2 + 5 - (len(lines) - 1) * LINE / 2
    return [Text((left + right) / 2, first + k * LINE, line) for k, line in enumerate(lines)]


@dataclass(frozen=True)
class Wire:
    """A signal's way, from port to port."""

    signal: Signal
    net: Net
    points: tuple[Point, ...]

    @property
    def segments(self) -> list[tuple[Point, Point]]:
        return [(a, b) for a, b in zip(self.points, self.points[1:], strict=False) if a != b]

    @property
    def before(self) -> Point:
        """The corner before its end."""
        return next(p for p in reversed(self.points[:-1]) if p != self.points[-1])

    @property
    def way(self) -> tuple[int, int]:
        """In which direction it enters."""
        return _way(self.before, self.points[-1])

    @property
    def shaft(self) -> Point:
        """Where its line ends, under the arrow's head."""
        (x, y), (ux, uy) = self.points[-1], self.way
        return x - 0.5 * ARROW * ux, y - 0.5 * ARROW * uy

    @property
    def head(self) -> list[Point]:
        """The corners of its arrow's head."""
        (x, y), (ux, uy) = self.points[-1], self.way
        bx, by = x - ARROW * ux, y - ARROW * uy
        return [(x, y), (bx - 3.2 * uy, by + 3.2 * ux), (bx + 3.2 * uy, by - 3.2 * ux)]


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
        self._channels: dict[int, list[Net]] = {}
        self._lanes: dict[int, list[Net]] = {}
        self._plans = [self._plan(s) for s in d.signals]
        self._spread()
        self.wires = [self._wire(s, plan) for s, plan in zip(d.signals, self._plans, strict=True)]
        self.labels = [self._label(w) for w in self.wires if w.signal.label]
        self.signs = [self._sign(w) for w in self.wires if w.signal.sign]
        self.dots = self._branches()
        self._fit()

    # ------------------------------------------------------------------------------------------------ which way
    def _plan(self, s: Signal) -> _Plan:
        """Sides, and the channels and lanes that the signal runs along; its net gets a track in each."""
        a, b = self._node[s.source], self._node[s.target]
        leave = s.leave or ("left" if a.flip else "right")
        enter = s.enter or self._entry(a, b)
        net = (s.source, leave, s.out)
        drop = rise = None
        sideways = enter in ("left", "right")
        if s.lane is not None:
            _add(self._lanes, s.lane, net)
            if leave in ("left", "right"):
                drop = s.drop if s.drop is not None else a.column - (leave == "left")
            if sideways:
                rise = s.rise if s.rise is not None else b.column - (enter == "left")
        elif sideways and (a.row != b.row or s.out != s.into):
            around = b.column - 1 if leave == enter == "left" else a.column - (leave == "left")
            drop = s.drop if s.drop is not None else around
        for channel in (drop, rise):
            if channel is not None:
                _add(self._channels, channel, net)
        return _Plan(leave, enter, net, drop, rise)

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
            if plan.leave == "right":
                after[a.column] = max(after.get(a.column, 0.0), need)
            elif plan.leave == "left":
                before[a.column - 1] = max(before.get(a.column - 1, 0.0), need)
            if plan.enter == "right":  # an arrow's head, clear of where lines part
                b = self._node[s.target]
                after[b.column] = max(after.get(b.column, 0.0), ARROW)
        return before, after

    # ----------------------------------------------------------------------------------------------- lines and names
    def _port(self, name: str, side: str, slot: float) -> Point:
        left, top, right, bottom = self.boxes[name]
        if side in ("left", "right"):
            return (left if side == "left" else right), (top + bottom) / 2 + slot * SLOT
        return (left + right) / 2 + slot * SLOT, (top if side == "top" else bottom)

    def _wire(self, s: Signal, plan: _Plan) -> Wire:
        leave, enter, net, drop, rise = plan
        start, end = self._port(s.source, leave, s.out), self._port(s.target, enter, s.into)
        points = [start]
        if s.lane is not None:
            y = self._lane_y[s.lane, net]
            x1 = start[0] if drop is None else self._track_x[drop, net]
            x2 = end[0] if rise is None else self._track_x[rise, net]
            points += [(x1, start[1]), (x1, y), (x2, y), (x2, end[1])]
        elif drop is not None:
            x = self._track_x[drop, net]
            points += [(x, start[1]), (x, end[1])]
        elif enter in ("top", "bottom") and leave in ("left", "right"):
            points += [(end[0], start[1])]
        elif leave in ("top", "bottom") and enter in ("left", "right"):
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
        (x, y), (px, py) = wire.points[-1], wire.before
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
        self.boxes = {k: (b[0] + dx, b[1] + dy, b[2] + dx, b[3] + dy) for k, b in self.boxes.items()}
        self.wires = [replace(w, points=tuple((x + dx, y + dy) for x, y in w.points)) for w in self.wires]
        self.labels, self.signs = ([replace(t, x=t.x + dx, y=t.y + dy) for t in ts] for ts in (self.labels, self.signs))
        self.dots = [(x + dx, y + dy) for x, y in self.dots]
        foot = LINE + 8 if self.diagram.equation else 0.0
        width = max(max(xs) + dx, _width(self.diagram.equation) + MARGIN if foot else 0.0)
        self.size = (width + MARGIN, max(ys) + dy + MARGIN + foot)


class _Plan(NamedTuple):
    """How a signal runs: sides, net, and the channels in which it drops into its lane and rises from it."""

    leave: str
    enter: str
    net: Net
    drop: int | None
    rise: int | None


def _add(table: dict[int, list[Net]], key: int, net: Net) -> None:
    nets = table.setdefault(key, [])
    if net not in nets:
        nets.append(net)


def _on(p: Point, a: Point, b: Point) -> bool:
    return min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])


def _way(p: Point, q: Point) -> tuple[int, int]:
    return (q[0] > p[0]) - (q[0] < p[0]), (q[1] > p[1]) - (q[1] < p[1])


# ------------------------------------------------------------------------------------------------------------ faults
def _overlap(a: Box, b: Box, room: float = 0.0) -> bool:
    return a[0] < b[2] - room and b[0] < a[2] - room and a[1] < b[3] - room and b[1] < a[3] - room


def find_faults(layout: Layout) -> Iterator[str]:
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
