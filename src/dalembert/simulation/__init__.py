"""From a `Flow` and a state to what happens next.

tableaux   Runge–Kutta methods as data
steps      one step of any fixed-step method, over any scalar
fixed      `integrate`: a batch of runs in one compiled loop
flows      robots and Lagrangian systems as flows
closed     a flow under a law as one flow
"""

from dalembert.simulation.closed import closed
from dalembert.simulation.fixed import Trajectory, integrate
from dalembert.simulation.flows import lagrangian_flow, robot_flow
from dalembert.simulation.steps import METHODS

__all__ = ["METHODS", "Trajectory", "closed", "integrate", "lagrangian_flow", "robot_flow"]
