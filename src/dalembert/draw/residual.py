"""Residuals of an identification: measured and predicted torques, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.draw.pyplot import COLORS, QUIET, pyplot, styled
from dalembert.errors import InputError
from dalembert.identification.fit.identify import Identification

POINTS = 4000  # of one curve: more cannot be seen


@styled
def residuals(result: Identification) -> Any:
    """A matplotlib figure, two panels for each joint: torques measured and predicted over time, and their difference,
    with ±2 rms as a band. What was held out stands right of the line."""
    if not isinstance(result, Identification):
        raise InputError(f"residuals are those of an Identification, got {type(result).__name__}")
    runs = [*result.samples, *result.held]
    measured = np.concatenate([run.tau for run in runs])
    predicted = np.concatenate([result.predict(run) for run in runs])
    t = np.arange(len(measured)) * runs[0].dt
    trained = sum(len(run) for run in result.samples) * runs[0].dt if result.held else None
    robot = result.columns.robot
    every = max(len(t) // POINTS, 1)
    rows = robot.n
    figure, grid = pyplot().subplots(
        rows, 2, sharex=True, squeeze=False, figsize=(9.0, 1.2 + 1.7 * rows), layout="constrained", width_ratios=(3, 2)
    )
    for k, (left, right) in enumerate(grid):
        unit = robot.model.coordinates[k].joint.effort_unit
        left.plot(t[::every], measured[::every, k], color=COLORS[0], linestyle="-", lw=1.1, label="measured")
        left.plot(t[::every], predicted[::every, k], color=COLORS[1], linestyle="--", lw=1.1, label="predicted")
        rest = measured[:, k] - predicted[:, k]
        rms = float(np.sqrt(np.mean(rest**2)))
        right.axhspan(-2 * rms, 2 * rms, color="0.9", label="±2 rms", zorder=0.5)
        right.plot(t[::every], rest[::every], color=COLORS[2], linestyle="-", lw=0.8, label="residual")
        left.set_ylabel(f"{robot.joint_names[k]} [{unit}]")
        right.set_ylabel(f"residual [{unit}]")
        right.set_title(f"rms {rms:.3g} {unit}", fontsize="small", loc="left", pad=2.0)
        for panel in (left, right):
            panel.margins(x=0)
            if trained is not None:
                panel.axvline(trained, color=QUIET, linestyle=":", lw=1.2)
    for panel in grid[-1]:
        panel.set_xlabel("time [s]")
    handles, labels = (a + b for a, b in zip(*(p.get_legend_handles_labels() for p in grid[0]), strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    held = "; right of the dotted line: held out" if trained is not None else ""
    figure.suptitle(f"{robot.name}: torques and residuals{held}")
    figure.align_ylabels()
    return figure
