"""Control: from a mass on a spring to an arm that learns its own parameters."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
