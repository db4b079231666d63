"""From a `Flow` and a state to what happens next.

tableaux   Runge–Kutta methods as data
steps      one step of any fixed-step method, over any scalar
fixed      `integrate`: a batch of runs in one compiled loop
flows      robots and Lagrangian systems as flows
closed     a flow under a law as one flow
simulate   `simulate`: one run of one system, fixed-step or adaptive; `Run`, what it gives
batch      `rollouts`: thousands of runs at once; `monte_carlo`, `sweep`
draws      random numbers that belong to a rollout
measures   how well a controller did, as one number a run
"""

from dalembert.simulation.batch import Batch, rollouts
from dalembert.simulation.closed import closed
from dalembert.simulation.draws import Noise, choice, log_uniform, normal, uniform
from dalembert.simulation.fixed import Trajectory, integrate
from dalembert.simulation.flows import lagrangian_flow, robot_flow
from dalembert.simulation.measures import MEASURES
from dalembert.simulation.monte_carlo import MonteCarlo, monte_carlo
from dalembert.simulation.run import Audit, Run
from dalembert.simulation.simulate import simulate
from dalembert.simulation.steps import METHODS
from dalembert.simulation.sweep import Sweep, sweep

__all__ = [
    "MEASURES",
    "METHODS",
    "Audit",
    "Batch",
    "MonteCarlo",
    "Noise",
    "Run",
    "Sweep",
    "Trajectory",
    "choice",
    "closed",
    "integrate",
    "lagrangian_flow",
    "log_uniform",
    "monte_carlo",
    "normal",
    "robot_flow",
    "rollouts",
    "simulate",
    "sweep",
    "uniform",
]
