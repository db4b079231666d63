"""What pictures of robots are drawn on: a plane, or space; axes in meters, equal along all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.draw.pyplot import pyplot
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

Array = NDArray[np.float64]
WORDS = ("x [m]", "y [m]", "z [m]")
ROOM = 0.08  # of what is drawn, left free around it
THINNEST = 0.5  # of the longest side: the shortest side of a box in space
TALLEST = 0.62  # of the figure: the longest side of a box in space
VIEW = (22.0, -58.0)  # elevation and azimuth [°]


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
