"""What the parts of the page share: inputs whose events become jobs, numbers that come from a page, plots over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import InputError

if TYPE_CHECKING:
    from viser import GuiApi, GuiButtonHandle, GuiEvent, GuiInputHandle

    from dalembert.apps.studio.studio import Studio


Input = TypeVar("Input", bound="GuiInputHandle[Any]")
# Lines that can be told apart, also by those who see few colors (Okabe and Ito, without yellow).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
MOST_POINTS = 200  # of a line: a plot is a few hundred pixels wide


class Panel:
    """A part of the page. Events of its inputs become jobs of the studio's one worker."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.gui = studio.server.gui

    def watch(self, handle: Input, job: Callable[[Any], None]) -> Input:
        """Calls job(value) in the worker when somebody changes the input; not when the studio itself does."""

        def changed(event: GuiEvent[Input]) -> None:
            if event.client_id is not None:
                value = event.target.value
                self.studio.worker.post(id(handle), lambda: job(value))

        handle.on_update(changed)
        return handle

    def press(self, handle: GuiButtonHandle, job: Callable[[], None]) -> GuiButtonHandle:
        """Calls job() in the worker when the button is pressed."""
        handle.on_click(lambda event: self.studio.worker.post(id(handle), job))
        return handle


def real(value: object) -> float:
    """A number that a page sent: finite, or refused."""
    try:
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"a number is needed, got {value!r:.40}") from None
    if not math.isfinite(x):
        raise InputError(f"a finite number is needed, got {x}")
    return x


class Plot:
    """Lines by name over time; `dashed` names those drawn after them in the same colors."""

    def __init__(
        self, gui: GuiApi, title: str, names: Sequence[str], dashed: Sequence[str] = (), height: int = 150
    ) -> None:
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for k, name in enumerate((*names, *dashed)):
            j = k if k < len(names) else k - len(names)
            line: dict[str, Any] = {"label": name, "stroke": COLORS[j % len(COLORS)], "width": 1.5}
            line |= {"points": {"show": False}}
            if k >= len(names):
                line |= {"dash": (5, 4), "width": 1}
            series.append(line)
        empty = np.array([0.0])
        self.count = len(names) + len(dashed)
        self.handle = gui.add_uplot(
            data=(empty, *([empty] * self.count)),
            series=tuple(series),
            title=title,
            scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
            axes=({"size": 34, "font": "11px sans-serif"}, {"size": 52, "font": "11px sans-serif"}),
            legend={"show": self.count <= 8, "live": False},
            height=height,
        )

    def show(self, t: Array, *lines: Array) -> None:
        """New data: times and one array for each line, thinned to what a screen shows."""
        every = max(1, -(-len(t) // MOST_POINTS))
        kept = np.unique(np.append(np.arange(0, len(t), every), len(t) - 1))
        self.handle.data = tuple(np.ascontiguousarray(x[kept], dtype=np.float64) for x in (t, *lines))

    def remove(self) -> None:
        self.handle.remove()
