"""Runs drawn over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.simulation.run import Run

TITLES = {
    "q": "position",
    "qd": "rate",
    "tau": "input",
    "u": "input",
    "energies": "energy",
    "multipliers": "multiplier",
    "x": "state",
    "reference": "reference",
    "controller": "state of the law",
}
MOST = 8  # lines that a legend inside a panel can name


@styled
def draw(run: Run, what: tuple[str, ...], axes: Any = None) -> Any:
    """One panel for each group or column, time along the bottom."""
    wanted = what or tuple(name for name in ("q", "qd", "tau", "energies") if run.groups[name] and _told(run, name))
    if not wanted:
        wanted = ("x",)
    plt = pyplot()
    if axes is None:
        height = 1.2 + 2.1 * len(wanted)
        figure, grid = plt.subplots(
            len(wanted), 1, sharex=True, squeeze=False, figsize=(8.0, height), layout="constrained"
        )
        panels = list(grid[:, 0])
        figure.suptitle(run.name if run.ok else f"{run.name}: {run.message}", fontsize="medium", wrap=True)
    else:
        panels = list(np.atleast_1d(axes))
        figure = panels[0].figure
        if len(panels) != len(wanted):
            raise InputError(f"{len(panels)} axes for {len(wanted)} panels: {', '.join(wanted)}")
    for panel, name in zip(panels, wanted, strict=True):
        _panel(panel, run, name)
    panels[-1].set_xlabel("time [s]")
    figure.align_ylabels(panels)
    return figure


def _told(run: Run, name: str) -> bool:
    """Inputs that are zero all along say nothing."""
    return name != "tau" or bool(run.group("tau").any())


def _panel(panel: Any, run: Run, name: str) -> None:
    run[name]  # refused in words if it is not there
    names = (name,) if name in run.columns else run.groups[name]
    lines = []
    for column in names:
        (line,) = panel.plot(run.t, run[column], label=_short(column, name))
        lines.append(line)
    if name == "q" and run.groups["reference"]:
        for line, column in zip(lines, run.groups["reference"], strict=False):
            panel.plot(run.t, run[column], ls=":", lw=1.1, color=line.get_color())
        panel.plot([], [], ls=":", lw=1.1, color="0.4", label="reference")
    if name == "energies" and len(names) > 1:
        panel.plot(run.t, run.energy, color="0.2", lw=1.0, label="total")
    units = sorted({run.units.get(column, "") for column in names} - {""})
    title = TITLES.get(name, name.replace("_", " "))
    panel.set_ylabel(f"{title} [{', '.join(units)}]" if units else title)
    panel.margins(x=0)
    if len(names) > 1 or (name == "q" and run.groups["reference"]):
        outside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        panel.legend(fontsize="small", frameon=False, ncols=1 + (len(names) > MOST), **outside)
    for event in run.events:
        panel.axvline(event.t, color="tab:red", lw=0.8, ls=":")


def _short(column: str, group: str) -> str:
    """A column's name without what the panel says already."""
    endings = {"qd": ("_rate",), "energies": ("_energy",), "tau": ("_torque", "_voltage"), "u": ("_torque",)}
    for ending in endings.get(group, ()):
        column = column.removesuffix(ending)
    return column.removeprefix("multiplier of ")
