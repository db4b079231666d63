"""Paths between joint positions that touch nothing, found in microseconds, and motions along them."""

from dalembert.planning.planner import Found, Planner, Scene, Settings

__all__ = ["Found", "Planner", "Scene", "Settings"]
