"""Robot descriptions: read from files and tables, written in Python, and written back."""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
