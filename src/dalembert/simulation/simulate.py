"""`simulate`: one run of one system, under given inputs or a controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from dalembert.simulation.experiment import Experiment
from dalembert.simulation.measures import Measure, Measures
from dalembert.simulation.options import Inputs, JointLimits, Sensors, Solver
from dalembert.simulation.run import Run

if TYPE_CHECKING:
    from dalembert.collision import World, WorldArrays
    from dalembert.system import Limits


def simulate(
    system: object,
    controller: object = None,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    duration: float,
    dt: float = 1e-3,
    reference: object = None,
    inputs: Inputs | None = None,
    sensors: Sensors | None = None,
    limits: JointLimits | Limits | str | None = None,
    friction: bool | str | None = None,
    world: World | WorldArrays | None = None,
    solver: Solver | str | None = None,
    measures: Measures | Sequence[str] | str | Mapping[str, Measure] = (),
) -> Run:
    """Simulate one run of a system: ``Experiment(system, controller, …).run(q0=…, duration=…)``.

    Parameters
    ----------
    system : Robot, Constrained, DrivenRobot, FlexibleRobot, LagrangianSystem, Flow or object with flow()
        What moves.
    controller : object with law(), Law or function, optional
        The controller; a function takes (t, q, qd) or (t, x) and returns the inputs.
    q0, qd0 : array_like, shape (n,), optional
        Positions [rad, m] and velocities [rad/s, m/s] at the start; qd0 is zero if not given.
    x0 : array_like, optional
        The whole state instead.
    duration : float
        Length of the motion [s].
    dt : float
        Length of a step [s]; for adaptive solvers the distance of kept rows.
    reference, inputs, sensors, limits, friction, world, solver, measures
        As in `Experiment`.

    Returns
    -------
    Run
        Rows over time, measures, and how the run ended.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm = dl.load("planar-2r")
    >>> run = dl.simulate(arm, lambda t, q, qd: -2.0 * qd, q0=[0.5, 0], duration=0.5)
    >>> run.ok
    True
    """
    options = {"reference": reference, "inputs": inputs, "sensors": sensors, "limits": limits, "friction": friction}
    e = Experiment(system, controller, **options, world=world, solver=solver, dt=dt, measures=measures)  # type: ignore[arg-type]
    return e.run(q0=q0, qd0=qd0, x0=x0, duration=duration)
