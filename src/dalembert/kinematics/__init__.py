"""What a Jacobian tells: inverse velocity, singularities, manipulability, statics, workspace."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
