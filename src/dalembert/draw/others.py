"""Pictures that results draw of themselves, under one roof: runs, motions, workspaces, loci, responses."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from dalembert.control.diagrams import diagram_of
from dalembert.control.frequency import bode_plot
from dalembert.control.root_locus import RootLocus
from dalembert.control.step_response import step_plot
from dalembert.draw.blocks.diagram import Diagram
from dalembert.draw.blocks.figure import draw_diagram
from dalembert.errors import InputError
from dalembert.kinematics.workspace import Workspace
from dalembert.robot import Robot, need_robot
from dalembert.simulation.run import Run
from dalembert.trajectories.trajectory import Trajectory


def run(run: Run, *what: str, axes: Any = None) -> Any:
    """A run over time: positions with their reference, rates, inputs, energies, or groups and columns by name."""
    if not isinstance(run, Run):
        raise InputError(f"a Run is drawn here, as dalembert.simulate gives it; got {type(run).__name__}")
    return run.plot(*what, axes=axes)


def trajectory(motion: Trajectory, *, until: float | None = None, points: int = 1000) -> Any:
    """A motion: position, velocity and acceleration over time."""
    if not isinstance(motion, Trajectory):
        raise InputError(f"a Trajectory of dalembert.trajectories is drawn here, got {type(motion).__name__}")
    return motion.plot(until=until, points=points)


def workspace(of: Robot | Workspace, ax: Any = None, **options: Any) -> Any:
    """Where the tip gets to, and how well it moves there: of a robot (options of `Robot.workspace`), or as sampled."""
    if not isinstance(of, Workspace):
        of = need_robot(of, "a drawing of a workspace").workspace(**options)
    elif options:
        raise InputError(f"this workspace is sampled already: {next(iter(options))}= comes too late")
    return of.plot(ax)


def root_locus(plant: Any, K: ArrayLike | None = None, ax: Any = None) -> Any:
    """How the poles of a closed loop move with its gain."""
    return (plant if isinstance(plant, RootLocus) else RootLocus(plant)).plot(K, ax)


def bode(system: Any, omega: ArrayLike | None = None, label: str = "") -> Any:
    """Magnitude and phase over frequency, margins marked. Needs the extra `control`."""
    return bode_plot(system, omega, label)


def diagram(law: Any, ax: Any = None) -> Any:
    """The block diagram of a control law: a controller, a Law, or a `Diagram` itself."""
    return draw_diagram(law if isinstance(law, Diagram) else diagram_of(law), ax)


def step(system: Any, t: ArrayLike | None = None, ax: Any = None) -> Any:
    """The answer to a unit step. Needs the extra `control`."""
    return step_plot(system, t, ax)
