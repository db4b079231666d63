"""What the parts of the page share: the studio as they see it, and numbers that come from a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.apps.studio.studio import Studio


class Panel:
    """A part of the page. Events of its inputs become jobs of the studio's one worker."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.gui = studio.server.gui

    def watch(self, handle: Any, job: Callable[[Any], None]) -> Any:
        """Calls job(value) in the worker when somebody changes the input; not when the studio itself does."""

        def changed(event: Any) -> None:
            if event.client_id is not None:
                value = event.target.value
                self.studio.worker.post(id(handle), lambda: job(value))

        handle.on_update(changed)
        return handle

    def press(self, handle: Any, job: Callable[[], None]) -> Any:
        """Calls job() in the worker when the button is pressed."""
        handle.on_click(lambda event: self.studio.worker.post(id(handle), job))
        return handle


def real(value: Any) -> float:
    """A number that a page sent: finite, or refused."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise InputError(f"a number is needed, got {value!r:.40}") from None
    if not math.isfinite(x):
        raise InputError(f"a finite number is needed, got {x}")
    return x
