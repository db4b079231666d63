"""Certified bounds on M, c and g over all joint positions."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
