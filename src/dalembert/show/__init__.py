"""Pictures, by matplotlib (extra `plot`): one look, units on every axis, colours that differ in grey print.

robot             a stick figure with shapes, frames and centres of mass
ellipsoids        what the tip can do: velocities, forces, effective mass
workspace, trajectory, run
phase_portrait    where the states of a system go
root_locus, bode, step
residuals         of an identification
diagram           the block diagram of a control law
save              a picture as a file, the same bytes in every run
"""

from dalembert.pyplot import save
from dalembert.show.arm import ellipsoids, robot
from dalembert.show.blocks import diagram
from dalembert.show.others import bode, root_locus, run, step, trajectory, workspace
from dalembert.show.portrait import phase_portrait
from dalembert.show.residual import residuals

__all__ = [
    "bode",
    "diagram",
    "ellipsoids",
    "phase_portrait",
    "residuals",
    "robot",
    "root_locus",
    "run",
    "save",
    "step",
    "trajectory",
    "workspace",
]
