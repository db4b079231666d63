"""A robot as an array of pixels: what videos and environments are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.arm import robot as draw
from dalembert.draw.pyplot import pyplot
from dalembert.robot import Robot


def rgb_array(robot: Robot, q: Any, dpi: float = 100.0, goal: Any = None) -> NDArray[np.uint8]:
    """The picture of a robot at q, and of a point that is its goal, (height, width, 3), 640 × 480 at 100 dots per
    inch."""
    figure = draw(robot, q, centers=False, goal=goal)
    figure.set_dpi(dpi)
    # A canvas that only computes, whatever window system matplotlib would use.
    canvas = _canvas()(figure)
    canvas.draw()
    pixels = np.array(canvas.buffer_rgba())[..., :3]
    pyplot().close(figure)
    return pixels


def _canvas() -> Any:
    from importlib import import_module

    return import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
