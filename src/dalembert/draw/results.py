"""Pictures of results under one roof: runs, motions, workspaces, loci, responses, diagrams, identifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import of_kind
from dalembert.control.diagrams import diagram_of
from dalembert.control.frequency import bode_plot
from dalembert.control.root_locus import RootLocus
from dalembert.control.step_response import step_plot
from dalembert.draw.blocks.diagram import Diagram
from dalembert.draw.blocks.figure import draw_diagram
from dalembert.draw.pyplot import COLORS, QUIET, pyplot, styled
from dalembert.errors import InputError
from dalembert.identification.fit.identify import Identification
from dalembert.kinematics.tasks import Rows
from dalembert.kinematics.workspace import Workspace
from dalembert.robot import Robot, need_robot
from dalembert.simulation.run import Run
from dalembert.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 4000  # of one curve: more cannot be seen


def run(run: Run, *what: str, axes: Axes | Sequence[Axes] | None = None) -> Figure:
    """A run over time: positions with their reference, rates, inputs, energies, or groups and columns by name."""
    of_kind(run, Run, "a Run is drawn here, as dalembert.simulate gives it; got")
    return run.plot(*what, axes=axes)


def trajectory(motion: Trajectory, *, until: float | None = None, points: int = 1000) -> Figure:
    """A motion: position, velocity and acceleration over time."""
    of_kind(motion, Trajectory, "a Trajectory of dalembert.trajectories is drawn here, got")
    return motion.plot(until=until, points=points)


class WorkspaceOptions(TypedDict, total=False):
    """The arguments of `Robot.workspace`."""

    samples: int
    frame: str | None
    rows: Rows | None
    expressed_in: str
    measure: str
    seed: int


def workspace(of: Robot | Workspace, ax: Axes | None = None, **options: Unpack[WorkspaceOptions]) -> Figure:
    """Where the tip gets to, and how well it moves there: of a robot (options of `Robot.workspace`), or as sampled."""
    if not isinstance(of, Workspace):
        of = need_robot(of, "a drawing of a workspace").workspace(**options)
    elif options:
        raise InputError(f"this workspace is sampled already: {next(iter(options))}= comes too late")
    return of.plot(ax)


def root_locus(plant: object, K: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """How the poles of a closed loop move with its gain."""
    return (plant if isinstance(plant, RootLocus) else RootLocus(plant)).plot(K, ax)


def bode(system: object, omega: ArrayLike | None = None, label: str = "") -> Figure:
    """Magnitude and phase over frequency, margins marked. Needs the extra `control`."""
    return bode_plot(system, omega, label)


def diagram(law: object, ax: Axes | None = None) -> Figure:
    """The block diagram of a control law: a controller, a Law, or a `Diagram` itself."""
    return draw_diagram(law if isinstance(law, Diagram) else diagram_of(law), ax)


def step(system: object, t: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """The answer to a unit step. Needs the extra `control`."""
    return step_plot(system, t, ax)


@styled
def residuals(result: Identification) -> Figure:
    """A matplotlib figure, two panels for each joint: torques measured and predicted over time, and their difference,
    with ±2 rms as a band. What was held out stands right of the line."""
    of_kind(result, Identification, "residuals are those of an Identification, got")
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
