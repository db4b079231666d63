"""Pictures, by matplotlib (extra `plot`): one look, units on every axis, colors that differ in gray print.

robot             a stick figure with shapes, frames and centers of mass
ellipsoids        what the tip can do: velocities, forces, effective mass
workspace, trajectory, run
phase_portrait    where the states of a system go
root_locus, bode, step
residuals         of an identification
diagram           the block diagram of a control law
save              a picture as a file, the same bytes in every run
"""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
