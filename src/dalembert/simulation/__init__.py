"""From a `Flow` and a state to what happens next.

plant       what is simulated: a system's flow, a controller's law, how they begin
loop        `ClosedLoop`: a flow under a law, its sensors, samples, limits and measures, as one flow
tableaux    Runge–Kutta methods as data
steps       one step of any fixed-step method, over any scalar
feed        what a loop is fed, and how it lies in blocks
fixed_step  `integrate`: a batch of runs in one compiled loop
simulate    `simulate`: one run with conveniences, fixed-step or adaptive; `Run`, what it gives
options     `Sensors`, `Solver`, `Inputs`, `JointLimits`: how a simulation is asked for
batch       `rollouts`: thousands of runs at once; `monte_carlo`, `sweep`
gradient    `rollout_gradient`, `rollout_function`: derivatives of rollouts in all they are given
draws       random numbers that belong to a rollout
measures    how well a controller did, as one number a run
"""

from dalembert.simulation.batch import Batch, rollouts
from dalembert.simulation.draws import Noise, choice, log_uniform, normal, uniform
from dalembert.simulation.fixed_step import Integration, integrate
from dalembert.simulation.gradient import Gradient, Loss, RolloutFunction, rollout_function, rollout_gradient
from dalembert.simulation.loop import add_law_states, close_loop
from dalembert.simulation.measures import MEASURES, Measure, Measures
from dalembert.simulation.options import Inputs, JointLimits, Sensors, Solver
from dalembert.simulation.run import Audit, Run
from dalembert.simulation.simulate import simulate
from dalembert.simulation.steps import METHODS
from dalembert.simulation.studies import MonteCarlo, Sweep, monte_carlo, sweep

__all__ = [
    "MEASURES",
    "METHODS",
    "Audit",
    "Batch",
    "Gradient",
    "Inputs",
    "Integration",
    "JointLimits",
    "Loss",
    "Measure",
    "Measures",
    "MonteCarlo",
    "Noise",
    "RolloutFunction",
    "Run",
    "Sensors",
    "Solver",
    "Sweep",
    "add_law_states",
    "choice",
    "close_loop",
    "integrate",
    "log_uniform",
    "monte_carlo",
    "normal",
    "rollout_function",
    "rollout_gradient",
    "rollouts",
    "simulate",
    "sweep",
    "uniform",
]
