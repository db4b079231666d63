"""Optimal control: problems as data, a solver for one or thousands of them, and predictive control.

terms    costs as functions over scalars, and ready-made ones
problem  `OptimalControl`: a system, a horizon, costs and limits, with its compiled parts
solver   iLQR with multiple shooting
result   `Optimum`: the motion with its certificate
predictive  `PredictiveControl`: a step of it at each sample
"""

from dalembert.optimal.predictive import PredictiveControl
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.result import Optimum
from dalembert.optimal.terms import effort, posture, speed, state, tip

__all__ = ["OptimalControl", "Optimum", "PredictiveControl", "effort", "posture", "speed", "state", "tip"]
