"""Paths between joint positions that touch nothing, found in microseconds, and the fastest motions along them.

loops      collision checks, trees, shortcuts: plain functions that `compile.native` makes machine code of
planner    a robot's machine code; its spheres and a world as data
plan       what `Robot.plan` asks for: goals, the search, its proof, the motion
"""

from dalembert.planning.motion import Plan, plan
from dalembert.planning.planner import Found, Planner, Scene, Settings

__all__ = ["Found", "Plan", "Planner", "Scene", "Settings", "plan"]
