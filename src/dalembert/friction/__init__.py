"""Friction of a joint: a table of laws, and what follows from each."""

from dalembert.friction.equivalent import equivalent_damping, slope, structural_damping
from dalembert.friction.laws import LAWS, SIGNS, Friction, FrictionLaw, breakaway, checked, friction, torque

__all__ = [
    "LAWS",
    "SIGNS",
    "Friction",
    "FrictionLaw",
    "breakaway",
    "checked",
    "equivalent_damping",
    "friction",
    "slope",
    "structural_damping",
    "torque",
]
