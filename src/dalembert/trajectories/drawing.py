"""A motion drawn: position, velocity and acceleration over time, in units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError
from dalembert.trajectories.checks import positive

if TYPE_CHECKING:
    from dalembert.trajectories.trajectory import Trajectory

SHOWN = 10.0  # [s] of a motion that goes on and has no period


@styled
def drawn(trajectory: Trajectory, until: float | None, points: int) -> Any:
    """Three panels, one line per coordinate; jumps at knots are drawn as such."""
    plt = pyplot()
    if not isinstance(points, int) or points < 2:
        raise InputError(f"points must be a whole number ≥ 2, got {points!r}")
    end = trajectory.duration if until is None else positive("until", until)
    period = getattr(trajectory, "period", None)
    end = end if np.isfinite(end) else (SHOWN if period is None else period)
    knots = trajectory.knots
    knots = knots[(knots > 0) & (knots < end)] if len(knots) <= points else knots[:0]
    t = np.unique(np.concatenate([np.linspace(0, end, points), knots, np.nextafter(knots, 0)]))
    figure, panels = plt.subplots(3, 1, figsize=(7.5, 7.5), sharex=True, layout="constrained")
    letter, _, unit = trajectory.parameter.partition(" ")
    per = unit.strip("[]")
    rows = ("position", "velocity", "acceleration") if letter == "t" else ("x", f"dx/d{letter}", f"d²x/d{letter}²")
    for order, (panel, word, values) in enumerate(zip(panels, rows, trajectory(t), strict=True)):
        for j, name in enumerate(trajectory.names):
            panel.plot(t, values[:, j], label=name)
        panel.set_ylabel(f"{word}{_units(trajectory.units, per, order)}")
    panels[-1].set_xlabel(trajectory.parameter)
    panels[-1].set_xlim(0, end)
    if trajectory.m > 1:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _units(units: tuple[str, ...], per: str, order: int) -> str:
    """[rad/s²], all that occur; nothing where units are not known."""
    below = "" if order == 0 or not per else f"/{per}{'²' if order == 2 else ''}"
    kinds = list(dict.fromkeys(u for u in units if u))
    return f" [{', '.join(f'{u}{below}' for u in kinds)}]" if kinds else ""
