"""Simulate systems: one run, thousands of runs, and their derivatives.

experiment  `Experiment`: a system with its controller, sensors, limits and measures, and the methods that run it
simulate    `simulate`: one run
run         `Run`: the result of a run, as columns over time, pictures and files; `Audit`: its energy balance
saved       `read_run`, `read_batch`: runs and batches as files
batch       `Batch`: the results of many runs
side_by_side `compare`: several experiments on the same task
gradient    `Gradient`, `Loss`, and `RunFunction`: derivatives of runs
tune        `TunedGains`: gains by gradient
options     `Inputs`, `Sensors`, `Solver`, `JointLimits`: the options of an experiment
limits      actuator limits
measures    performance measures, one number per run
draws       random numbers that belong to a run
request     the one reader of arguments: names, values, starts, and the loop that they make
plant       a system's flow and a controller's law, with their initial states
loop        `close_loop`: a flow with its controller, sensors, sampling, limits and measures as one flow
steps       one step of each fixed-step method, for any scalar type
stream      inputs by name, and their layout in memory
driver      pieces of compiled steps, of many runs or of one that is watched
fixed_step  compiled loops, and `integrate`
single      one run: its rows, events and energies
adaptive    one run by SciPy's adaptive methods
record      rows of a run while it runs, events that end it, and its progress bar
plan        the part of a batch that all of its chunks share
workers     threads and Dask processes that compute the chunks of a batch
results     memory and files for the results of many runs
"""

from dalembert.simulation.batch import Batch
from dalembert.simulation.draws import Noise, choice, log_uniform, normal, uniform
from dalembert.simulation.experiment import Experiment
from dalembert.simulation.fixed_step import Integration, integrate
from dalembert.simulation.gradient import Gradient, Loss, RunFunction
from dalembert.simulation.loop import add_law_states, close_loop
from dalembert.simulation.measures import MEASURES, Measure, Measures
from dalembert.simulation.options import Inputs, JointLimits, Sensors, Solver
from dalembert.simulation.request import Grid, grid
from dalembert.simulation.run import Audit, Run
from dalembert.simulation.saved import read_batch, read_run
from dalembert.simulation.simulate import simulate
from dalembert.simulation.steps import METHODS
from dalembert.simulation.tune import TunedGains

__all__ = [
    "MEASURES",
    "METHODS",
    "Audit",
    "Batch",
    "Experiment",
    "Gradient",
    "Grid",
    "Inputs",
    "Integration",
    "JointLimits",
    "Loss",
    "Measure",
    "Measures",
    "Noise",
    "Run",
    "RunFunction",
    "Sensors",
    "Solver",
    "TunedGains",
    "add_law_states",
    "choice",
    "close_loop",
    "grid",
    "integrate",
    "log_uniform",
    "normal",
    "read_batch",
    "read_run",
    "simulate",
    "uniform",
]


def __getattr__(name: str) -> object:
    from dalembert.renamed import find_new_name

    new = find_new_name(__name__, name)
    hint = f"; use {new} instead" if new else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
