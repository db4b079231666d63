"""A robot on a page in the browser: to pose, load, simulate, pull at, play back."""

from __future__ import annotations

from typing import Unpack

from dalembert.apps.studio.studio import Studio, StudioOptions
from dalembert.robot import Robot

__all__ = ["Studio", "open"]


def open(robot: Robot, *, browser: bool = True, **options: Unpack[StudioOptions]) -> Studio:
    """A studio of a robot, with its page opened in the browser; options are those of `Studio`. It is served until
    `stop()`, or the program's end."""
    studio = Studio(robot, **options)
    if browser:
        import webbrowser

        webbrowser.open(studio.url)
    return studio
