from dalembert.bounds.quantities import QUANTITIES as QUANTITIES
from dalembert.bounds.result import Bound as Bound
from dalembert.bounds.search import bounds as bounds
from dalembert.bounds.symbolic import symbolic_bounds as symbolic_bounds
