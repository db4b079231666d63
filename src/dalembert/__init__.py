"""Dalembert: from a description of a robot to everything that follows from it.

>>> import dalembert as dl
>>> arm = dl.load("panda")
>>> arm.n
7
"""

from importlib import import_module

from dalembert.lazy import open_door

__version__ = "0.2.0"

import_module("dalembert.forking")  # before anything is imported late

__getattr__, __dir__, __all__ = open_door(__name__)
