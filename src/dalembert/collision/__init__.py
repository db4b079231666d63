"""Collisions: shapes as spheres and convex pieces, worlds of obstacles, least distances, certified edges.

spheres    the data: spheres on bodies, coarse and fine, and the pairs that may meet
world      obstacles, by name and as arrays
solids     signed distance of a point from each kind of obstacle, over any scalar
pieces     convex pieces that enclose shapes
enclose    a robot's shapes → the spheres and pieces around them
motion     how far points move per unit of joint motion
clearance  least distances, gradients, contacts, compiled
pairs      pairs of links that never meet, by proof
of_robot   a robot's spheres and pieces, made and kept
edges      edges and paths certified between samples
along      motions in time: when what touches, and whether nothing ever does
"""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
