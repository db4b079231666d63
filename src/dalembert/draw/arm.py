"""Robots drawn: a stick figure with its shapes, frames and centers of mass; ellipsoids at its tip; arrays of pixels.

What pictures of robots are drawn on: a plane, or space; axes in meters, equal along all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, switch, three
from dalembert.draw.pyplot import COLORS, DASHES, QUIET, pyplot, styled
from dalembert.draw.skeleton import Skeleton, outlines, plane_of, skeleton, states
from dalembert.errors import InputError, choose
from dalembert.kinematics.manipulability import Ellipsoid
from dalembert.kinematics.tasks import ROWS
from dalembert.robot import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WORDS = ("x [m]", "y [m]", "z [m]")
ROOM = 0.08  # of what is drawn, left free around it
THINNEST = 0.5  # of the longest side: the shortest side of a box in space
TALLEST = 0.62  # of the figure: the longest side of a box in space
VIEW = (22.0, -58.0)  # elevation and azimuth [°]
ARROW = 0.14  # of the robot's size: the axes of a frame
AXES = (COLORS[1], COLORS[2], COLORS[0])  # x, y, z, which also bear their letters
PALEST = 0.25  # how faint the first of several states is drawn
BIGGEST = 0.35  # of the robot's size: the longest half axis of an ellipsoid
# Each kind of ellipsoid, and the unit of its half axes.
ELLIPSOIDS = {"velocity": "m/s for ‖q̇‖ ≤ 1", "force": "N for ‖τ‖ ≤ 1", "mass": "kg"}


class Canvas:
    """Axes of two or three dimensions, and how points of space get onto them."""

    def __init__(self, plane: tuple[int, int] | None, ax: Axes | None = None) -> None:
        self.plane = plane
        plt = pyplot()
        if ax is None:
            figure = plt.figure(figsize=(6.4, 4.8), layout="constrained")
            ax = figure.add_subplot() if plane else figure.add_subplot(projection="3d", elev=VIEW[0], azim=VIEW[1])
        elif (getattr(ax, "name", "") == "3d") == (plane is not None):
            wanted = "projection='3d', which this arm needs" if plane is None else "two dimensions: this arm is planar"
            raise InputError(f"ax has not {wanted}")
        self.ax: Any = ax  # of two or three dimensions
        self._seen: list[Array] = []

    def on(self, points: Array) -> list[Array]:
        """Coordinates of points (..., 3) as the axes take them."""
        p = np.asarray(points, float)
        return [p[..., k] for k in (self.plane or (0, 1, 2))]

    def line(self, points: Array, **style: object) -> None:
        """A line through points (k, 3)."""
        self._seen.append(np.asarray(points, float).reshape(-1, 3))
        self.ax.plot(*self.on(points), **style)

    def marks(self, points: Array, marker: str, **style: object) -> None:
        p = np.asarray(points, float).reshape(-1, 3)
        if len(p):
            self._seen.append(p)
            self.ax.plot(*self.on(p), linestyle="none", marker=marker, **style)

    def word(self, point: Array, text: str, **style: object) -> Text:
        return self.ax.text(*(float(x) for x in self.on(point)), text, **style)

    def finish(self, title: str, legend: bool = True) -> Figure:
        """Equal scales, units, room around; the figure."""
        ax = self.ax
        p = np.concatenate(self._seen)
        low, high = p.min(axis=0), p.max(axis=0)
        span = max(float((high - low).max()), 1e-3)
        low, high = low - ROOM * span, high + ROOM * span
        if not self.plane:  # a flat box would crowd the numbers along its short sides
            thin = np.maximum(THINNEST * span - (high - low), 0.0) / 2
            low, high = low - thin, high + thin
        names = self.plane or (0, 1, 2)
        for which, k in zip("xyz", names, strict=False):
            getattr(ax, f"set_{which}label")(WORDS[k])
            getattr(ax, f"set_{which}lim")(low[k], high[k])
        if self.plane:
            ax.set_aspect("equal", adjustable="box")
        else:
            side = float((high - low).max() / np.linalg.norm(high - low))
            ax.set_box_aspect(high - low, zoom=min(0.85, TALLEST / side))  # its words stand outside the box
            for axis, length in zip((ax.xaxis, ax.yaxis, ax.zaxis), high - low, strict=True):
                axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
                few = 2 + round(3 * length / (high - low).max())
                axis.set_major_locator(pyplot().MaxNLocator(few, min_n_ticks=2))
                axis.labelpad = 8.0
            ax.tick_params(labelsize="small")
        ax.set_title(title)
        if legend and ax.get_legend_handles_labels()[0]:
            ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
        return ax.figure

    def box(self, word: Text) -> tuple[float, float, float, float]:
        """Where a word is seen (left, bottom, right, top) [px]; it must be centered, and the figure drawn."""
        extent = word.get_window_extent()
        x, y = word.get_position() if self.plane else self._project(word.get_position_3d())  # type: ignore[attr-defined]
        x, y = self.ax.transData.transform((x, y))
        wide, high = extent.width / 2, extent.height / 2
        return x - wide, y - high, x + wide, y + high

    def _project(self, point: ArrayLike) -> tuple[float, float]:
        """A point of space on the picture, as matplotlib's matrix of the view has it."""
        x, y, _, w = self.ax.get_proj() @ np.append(np.asarray(point, float), 1.0)
        return float(x / w), float(y / w)

    def untangle(self, words: list[Any]) -> None:
        """Hide words that would lie on others: the first ones stay."""
        self.ax.figure.canvas.draw()
        kept: list[tuple[float, float, float, float]] = []
        for word in words:
            a = self.box(word)
            if any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in kept):
                word.set_visible(False)
            else:
                kept.append(a)


@styled
def robot(
    robot: Robot,
    q: ArrayLike | None = None,
    frame: str | None = None,
    *,
    shapes: bool = True,
    frames: bool = True,
    centers: bool = True,
    goal: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """A matplotlib figure of a robot at q (n,), or at several states (k, n), the last one darkest; at its home if no q
    is given. Planar arms are drawn in their plane, others in space.

    Circles are joints that turn, squares joints that slide, gray ones close loops. `shapes`: outlines of what its
    description shows (of a mesh the box around it). `frames`: the base's axes and the tip's (or those of `frame`).
    `centers`: the centers of mass of its bodies, and of the whole. `goal`: a point (3,) to mark. Axes in
    meters."""
    for name, value in (("shapes", shapes), ("frames", frames), ("centers", centers)):
        switch(name, value)
    every = states(robot, q)
    canvas = Canvas(plane_of(robot), ax)
    found = outlines(robot) if shapes else []
    for k, state in enumerate(every):
        last = k == len(every) - 1
        dark = 1.0 if last else PALEST + (0.75 - PALEST) * k / max(len(every) - 2, 1)
        bones = skeleton(robot, state, frame)
        _outline(canvas, bones, found, dark)
        _stick(canvas, bones, dark, last)
    if centers:
        _centers(canvas, bones)
    if goal is not None:
        style = {"color": COLORS[2], "markersize": 11.0, "markeredgecolor": "white"}
        canvas.marks(np.array(three("goal", goal)), "X", label="goal", zorder=6, **style)
    letters = _axes(canvas, bones) if frames else []
    figure = canvas.finish(robot.name if title is None else title)
    canvas.untangle(letters)
    return figure


def _stick(canvas: Canvas, bones: Skeleton, dark: float, named: bool) -> None:
    for line in bones.links:
        canvas.line(line, color=COLORS[0], linestyle="-", lw=3.2, alpha=dark, solid_capstyle="round")
    for rail in bones.rails:
        canvas.line(rail, color=COLORS[0], linestyle="-", lw=1.6, alpha=dark)
    style = {"color": COLORS[0], "markerfacecolor": "white", "markersize": 8.0, "markeredgewidth": 1.6, "alpha": dark}
    for marker, which, word in (("o", ~bones.slides, "joint that turns"), ("s", bones.slides, "joint that slides")):
        canvas.marks(bones.joints[which], marker, label=word if named else None, zorder=4, **style)
    closing = {**style, "markerfacecolor": "0.75", "markersize": 7.0}
    canvas.marks(bones.closures, "o", label="joint that closes a loop" if named else None, zorder=4, **closing)
    ends = np.array([T[:3, 3] for T in bones.tips.values()]).reshape(-1, 3)
    word = f"tip ({next(iter(bones.tips))})" if len(bones.tips) == 1 else "tips"
    canvas.marks(ends, "D", color=COLORS[1], markersize=5.0, alpha=dark, label=word if named else None, zorder=5)
    canvas.marks(np.zeros(3), "^", color="0.3", markersize=9.0, label="base" if named else None, zorder=3)


def _outline(canvas: Canvas, bones: Skeleton, found: list[tuple[int, list[Array]]], dark: float) -> None:
    for body, lines in found:
        T = bones.bodies[body]
        for line in lines:
            canvas.line(line @ T[:3, :3].T + T[:3, 3], color=QUIET, linestyle="-", lw=0.7, alpha=dark)


def _centers(canvas: Canvas, bones: Skeleton) -> None:
    style = {"markersize": 7.0, "markeredgewidth": 1.2, "color": COLORS[3], "markeredgecolor": "0.15"}
    canvas.marks(bones.centers, "P", label="center of mass of a body", zorder=6, **style)
    if bones.center is not None and len(bones.centers) > 1:
        style["markersize"] = 13.0
        canvas.marks(bones.center, "*", label="center of mass of all", zorder=7, **style)


def _axes(canvas: Canvas, bones: Skeleton) -> list[Text]:
    """Arrows of the base's and the tips' axes, with letters; the tips' letters first, for those stay."""
    letters = []
    length = ARROW * bones.size
    for T in [*bones.tips.values(), np.eye(4)]:
        for k, letter in enumerate("xyz"):
            if canvas.plane and abs(T[list(canvas.plane), k]).max() < 0.1:
                continue  # it looks at the reader
            end = T[:3, 3] + length * T[:3, k]
            canvas.line(np.stack([T[:3, 3], end]), color=AXES[k], linestyle="-", lw=1.8, zorder=8)
            place = T[:3, 3] + 1.3 * length * T[:3, k]
            letters.append(canvas.word(place, letter, color=AXES[k], ha="center", va="center", zorder=9))
    return letters


@styled
def ellipsoids(
    robot: Robot,
    q: ArrayLike | None = None,
    frame: str | None = None,
    kinds: tuple[str, ...] | str = ("velocity", "force"),
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """A matplotlib figure of a robot with ellipsoids of its tip's translation: "velocity" (all ‖q̇‖ ≤ 1), "force" (all
    ‖τ‖ ≤ 1), "mass" (the effective mass along each direction); in the plane of a planar arm, else in space.

    Each kind has a unit and a scale of its own: the legend says what its half axes are. An axis without bound (of
    forces at a singular state) is drawn as a line."""
    wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in wanted:
        choose("kind of ellipsoid", kind, ELLIPSOIDS)
    every = states(robot, q)
    if len(every) != 1 or not wanted:
        raise InputError("ellipsoids are drawn for one state q (n,), and at least one kind")
    plane = plane_of(robot)
    bones = skeleton(robot, every[0], frame)
    if len(bones.tips) != 1:
        raise InputError(f"{robot.name!r} has several tips: say which frame")
    canvas = Canvas(plane, ax)
    _stick(canvas, bones, 0.45, False)
    center = next(iter(bones.tips.values()))[:3, 3]
    rows = [ROWS[k] for k in (plane or (0, 1, 2))]
    for k, kind in enumerate(wanted):
        found = _ellipsoid(robot, every[0], frame, kind, rows)
        _draw_ellipsoid(canvas, found, center, BIGGEST * bones.size, k, kind)
    return canvas.finish(f"{robot.name}: ellipsoids at {next(iter(bones.tips))}" if title is None else title)


def _ellipsoid(robot: Robot, q: Array, frame: str | None, kind: str, rows: list[str]) -> Ellipsoid:
    if kind == "mass":
        return robot.effective_mass(q, frame, rows).ellipsoid
    return (robot.velocity_ellipsoid if kind == "velocity" else robot.force_ellipsoid)(q, frame, rows)


def _draw_ellipsoid(canvas: Canvas, e: Ellipsoid, center: Array, size: float, k: int, kind: str) -> None:
    """The boundary, or its three sections; half axes in words."""
    bounded = np.isfinite(e.lengths)
    largest = float(e.lengths[bounded].max(initial=0.0))
    scale = size / largest if largest > 0 else 0.0
    where = list(canvas.plane or (0, 1, 2))
    half = np.zeros((len(where), 3))  # each half axis as drawn, in space
    half[:, where] = (e.axes * np.where(bounded, e.lengths * scale, 0.0)).T
    listed = ", ".join("∞" if not ok else f"{x:.3g}" for x, ok in zip(e.lengths, bounded, strict=True))
    label = f"{kind}: half axes {listed}\n[{ELLIPSOIDS[kind]}]"
    style: dict[str, Any] = {"color": COLORS[(k + 1) % len(COLORS)], "linestyle": DASHES[k % len(DASHES)], "lw": 1.6}
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:, None]
    first = True
    for a in range(len(where)):
        for b in range(a + 1, len(where)):
            loop = center + np.cos(angle) * half[a] + np.sin(angle) * half[b]
            canvas.line(loop, label=label if first else None, **style)
            first = False
    for a in np.flatnonzero(~bounded).tolist():
        way = np.zeros(3)
        way[where] = e.axes[:, a] * 1.2 * size
        canvas.line(np.stack([center - way, center + way]), **style)


def rgb_array(arm: Robot, q: ArrayLike | None, dpi: float = 100.0, goal: ArrayLike | None = None) -> NDArray[np.uint8]:
    """The picture of a robot at q, and of a point that is its goal, (height, width, 3), 640 × 480 at 100 dots per
    inch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = robot(arm, q, centers=False, goal=goal)
    figure.set_dpi(dpi)
    # A canvas that only computes, whatever window system matplotlib would use.
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.array(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    pyplot().close(figure)
    return pixels
