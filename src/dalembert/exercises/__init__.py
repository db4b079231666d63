"""Exercises that grade themselves: families of variants with hints, worked solutions and common wrong answers."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
