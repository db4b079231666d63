"""MJCF, MuJoCo's format, read into a Description.

document    includes followed, default classes laid under what is written
settings    <compiler> and <option>
placement   positions and the five ways to write an orientation
geoms       a geom's shape and its inertia
joints      hinges and slides
read        bodies as links, and what could not be carried in sentences
"""

from dalembert.mjcf.read import read_mjcf

__all__ = ["read_mjcf"]
