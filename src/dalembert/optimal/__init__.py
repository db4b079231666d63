"""Optimal control: problems as data, a solver for one or thousands of them, and predictive control.

terms    costs as functions over scalars, and ready-made ones
problem  `OptimalControl`: a system, a horizon, costs and limits, with its compiled parts
solver   iLQR with multiple shooting
barrier  an interior point method for limits of states and inequalities
result   `Optimum`: the motion with its certificate
memory   the plans of some runs, moved on from sample to sample
predictive  `PredictiveControl`: a step of it at each sample; `track`: the problem of following a motion
c_export  the same as C
"""

from dalembert.optimal.predictive import PredictiveControl, track
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.result import Optimum
from dalembert.optimal.terms import effort, posture, speed, state, tip

__all__ = ["OptimalControl", "Optimum", "PredictiveControl", "effort", "posture", "speed", "state", "tip", "track"]
