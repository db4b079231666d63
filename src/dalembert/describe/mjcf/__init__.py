"""MJCF, MuJoCo's format, read into a Description.

document   includes followed, default classes laid under what is written, copies made
placement  <compiler> and <option>, positions and the five ways to write an orientation
geoms      a geom's shape and its inertia; meshes of <asset>, by MuJoCo's rules
joints     hinges and slides
couplings  joints coupled as mimic joints, <connect> and <weld> as loops; actuators and tendons that resist
write      a Description as MJCF text
read       bodies as links, and what could not be carried in sentences
"""

from dalembert.describe.mjcf.read import read_mjcf
from dalembert.describe.mjcf.write import write_mjcf

__all__ = ["read_mjcf", "write_mjcf"]
