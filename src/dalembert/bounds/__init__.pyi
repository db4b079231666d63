from dalembert.bounds.quantities import QUANTITIES as QUANTITIES
from dalembert.bounds.result import Bound as Bound, Bounds as Bounds
from dalembert.bounds.search import bounds as bounds
from dalembert.bounds.symbolic import symbolic_bounds as symbolic_bounds
