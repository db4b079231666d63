"""matplotlib when it is first wanted, and the one look of all pictures: colors that differ in gray print too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dalembert.errors import InputError
from dalembert.files import place_of, whole
from dalembert.lazy import library

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Given = ParamSpec("Given")
Picture = TypeVar("Picture")

# From dark to light, L* = 17, 42, 60, 76: neighbors differ in gray as they do in color.
COLORS = ("#12284c", "#b5402f", "#2aa198", "#e3b23c")
DASHES = ("-", "--", "-.", ":")  # taken up in turn when the colors begin again
QUIET = "0.55"  # what is not the matter of a picture: axes through zero, references
STYLE: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "figure.titlesize": "medium",
    "legend.fontsize": "small",
    "legend.frameon": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "image.cmap": "viridis",  # its lightness rises evenly
    "figure.dpi": 100.0,
    "figure.max_open_warning": 0,  # a report draws many
    "savefig.dpi": 150.0,
    "svg.hashsalt": "dalembert",  # the names inside an SVG file are the same in every run
}


def pyplot() -> ModuleType:
    """matplotlib.pyplot."""
    return library("matplotlib.pyplot")


def style() -> dict[str, Any]:
    """The look as matplotlib's settings: every color solid first, then dashed, …"""
    from cycler import cycler  # comes with matplotlib

    return {**STYLE, "axes.prop_cycle": cycler(linestyle=DASHES) * cycler(color=COLORS)}


def styled(draw: Callable[Given, Picture]) -> Callable[Given, Picture]:
    """The same function, drawing in the one look and leaving matplotlib's settings as they were."""

    @wraps(draw)
    def drawn(*arguments: Given.args, **options: Given.kwargs) -> Picture:
        with pyplot().rc_context(style()):
            return draw(*arguments, **options)

    return drawn


def save(figure: Figure, path: str | PathLike[str]) -> Path:
    """The picture as a file (.png, .svg, .pdf, by its ending): whole or not there, the same bytes in every run."""
    place_of(path)  # refused here if it is no path
    kind = Path(path).suffix.lstrip(".").lower()
    known: dict[str, str] = getattr(getattr(figure, "canvas", None), "get_supported_filetypes", dict)()
    if not known:
        raise InputError(f"a matplotlib figure is saved here, got {type(figure).__name__}")
    if kind not in known:
        raise InputError(f"{str(path)!r} must end in one of {', '.join(sorted(f'.{k}' for k in known))}")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with pyplot().rc_context(style()):
        return whole(path, lambda file: figure.savefig(file, format=kind, metadata=undated.get(kind)))
