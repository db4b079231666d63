"""Certified bounds on M, c and g over all joint positions."""

from dalembert.bounds.bounds import bounds
from dalembert.bounds.quantities import QUANTITIES
from dalembert.bounds.result import Bound, Bounds
from dalembert.bounds.symbolic import symbolic_bounds

__all__ = ["QUANTITIES", "Bound", "Bounds", "bounds", "symbolic_bounds"]
