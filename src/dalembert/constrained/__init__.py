"""Mechanisms under constraints: what is held to what, and the dynamics that follow."""

from dalembert.constrained.constraint import channel, couple, hold, holonomic, pfaffian, plane
from dalembert.constrained.contacts import contact
from dalembert.constrained.system import Constrained

__all__ = ["Constrained", "channel", "contact", "couple", "hold", "holonomic", "pfaffian", "plane"]
