"""matplotlib, when it is first wanted."""

from __future__ import annotations

from typing import Any

from dalembert.errors import MissingExtraError


def pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError:
        raise MissingExtraError("matplotlib is not installed: pip install 'dalembert[plot]'") from None
    return matplotlib.pyplot
