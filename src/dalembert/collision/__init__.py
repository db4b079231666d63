"""What a robot may hit: shapes as spheres, worlds of obstacles, least distances, edges that are proved free.

spheres    the data: spheres on bodies, coarse and fine, and the pairs that may meet
world      obstacles, by name and as arrays
"""

from dalembert.collision.spheres import SphereModel, Spheres
from dalembert.collision.world import World

__all__ = ["SphereModel", "Spheres", "World"]
