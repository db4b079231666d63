"""MJCF, MuJoCo's format, read into a Description.

document    includes followed, default classes laid under what is written, copies made
settings    <compiler> and <option>
placement   positions and the five ways to write an orientation
meshes      of <asset>: inertia by MuJoCo's rules, simple shapes fitted to them
geoms       a geom's shape and its inertia
joints      hinges and slides
equalities  couplings of joints as mimic joints, <connect> and <weld> as loops
forces      armature and damping of actuators; tendons that resist
read        bodies as links, and what could not be carried in sentences
"""

from dalembert.describe.mjcf.read import read_mjcf

__all__ = ["read_mjcf"]
