"""Simulate systems: one run, thousands of runs, and their derivatives.

simulate    `simulate`: one run of one system, with given inputs or a controller
run         `Run`: the result of a simulation, as columns over time, pictures and files; `Audit`: its energy balance
saved       `read_run`: runs as files
options     `Inputs`, `Sensors`, `Solver`, `JointLimits`: the options of a simulation
limits      actuator limits
measures    performance measures, one number per run
batch       `rollouts`: thousands of runs at once
studies     `monte_carlo` and `sweep`: statistics of many runs
gradient    `rollout_gradient`, `rollout_function`: derivatives of a loss over rollouts
draws       random numbers that belong to a rollout
plant       a system's flow and a controller's law, with their initial states
loop        `close_loop`: a flow with its controller, sensors, sampling, limits and measures as one flow
steps       one step of each fixed-step method, for any scalar type
feed        inputs by name, and their layout in memory
fixed_step  `integrate`: a batch of runs in one compiled loop
stepping    one run in compiled pieces of equal step length
adaptive    one run by SciPy's adaptive methods
record      samples of a run while it runs, events that end it, and its progress bar
plan        the part of a batch that all of its chunks share
workers     threads and Dask processes that compute the chunks of a batch
results     memory and files for the results of many runs
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
