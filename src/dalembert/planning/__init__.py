"""Plan collision-free paths between joint positions, and the fastest motions along them.

loops    collision checks, search trees and shortcuts: plain functions that `compile.native` compiles to machine code
planner  a robot's compiled planner, with the spheres of the robot and the world as data
motion   `plan`, which `Robot.plan` calls: goals, the search, its proof and the motion
"""

from dalembert.planning.motion import Plan, plan
from dalembert.planning.planner import Found, Planner, Scene, Settings

__all__ = ["Found", "Plan", "Planner", "Scene", "Settings", "plan"]
