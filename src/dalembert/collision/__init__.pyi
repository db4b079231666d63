from dalembert.collision.along import ContactSpan as ContactSpan
from dalembert.collision.clearance import Collision as Collision, Contact as Contact, Distances as Distances
from dalembert.collision.edges import EdgeCertificate as EdgeCertificate
from dalembert.collision.spheres import SphereModel as SphereModel, Spheres as Spheres
from dalembert.collision.world import World as World, WorldArrays as WorldArrays
