"""Libraries that are asked for when they are needed, and how to get them if they are not there."""

from __future__ import annotations

from typing import Any

from dalembert.errors import MissingExtraError


def python_control() -> Any:
    """The library python-control."""
    try:
        import control
    except ImportError:
        raise MissingExtraError("python-control is not installed: pip install 'dalembert[control]'") from None
    return control


def scipy_linalg() -> Any:
    import scipy.linalg

    return scipy.linalg
