"""Lagrangian systems: equations of motion of any mechanism from its energies, over SymPy, compiled as robots are."""

from dalembert.lagrange.bodies import Particle, RigidBody
from dalembert.lagrange.examples import EXAMPLES
from dalembert.lagrange.symbols import coordinates, rate
from dalembert.lagrange.system import FirstOrderForm, LagrangianSystem

__all__ = ["EXAMPLES", "FirstOrderForm", "LagrangianSystem", "Particle", "RigidBody", "coordinates", "rate"]
