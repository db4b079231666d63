"""Other people's libraries when they are first wanted, and in one sentence how to get those that are not there."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dalembert.errors import MissingExtraError

# Which extra of ours brings which library; what is not Python's to install says how.
EXTRAS = {
    "casadi": "dalembert[casadi]",
    "jax": "dalembert[jax]",
    "torch": "dalembert[torch]",
    "gymnasium": "dalembert[gym]",
    "pandas": "dalembert[pandas]",
    "polars": "dalembert[polars]",
    "pyarrow": "dalembert[parquet]",
    "pinocchio": "pin",
}


def library(name: str) -> ModuleType:
    """The library of that name, or a MissingExtraError that says which command adds it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(f"{name} is not installed: pip install '{EXTRAS[name]}'") from None
