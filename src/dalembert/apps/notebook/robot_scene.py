"""A robot in a posture as a scene: in a notebook, as a page, or as a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from dalembert.apps.page.page import write_page
from dalembert.apps.page.scene import Scene, scene_of
from dalembert.apps.page.still import still_picture
from dalembert.arguments import Array
from dalembert.draw.scene import read_posture
from dalembert.errors import InputError, MissingExtraError
from dalembert.files import whole
from dalembert.robot import Robot


@dataclass(frozen=True, eq=False)
class RobotScene:
    """A robot in the posture `q`. A notebook shows it; `save` writes it as a page (.html) or a picture (.svg)."""

    robot: Robot
    q: Array
    scene: Scene

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an interactive page (.html) or a picture (.svg), by the file's ending."""
        place = Path(path)
        suffix = place.suffix.lower()
        if suffix == ".html":
            write_page(self.robot, place, q=self.q, run=False)
        elif suffix == ".svg":
            whole(place, lambda file: file.write(still_picture(self.scene).encode()), InputError)
        else:
            raise InputError("unsupported", "path", str(path), expected="a file name that ends in .html or .svg")
        return place

    def __repr__(self) -> str:
        return f'<RobotScene of {self.robot.name!r}: shown in a notebook; save("robot.html") writes a page>'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        """The interactive view where the extra `notebook` is installed, otherwise the picture."""
        from dalembert.apps.notebook.widget import view

        try:
            return view(self.robot, self.q)._repr_mimebundle_()
        except MissingExtraError:
            return {"text/html": still_picture(self.scene), "text/plain": repr(self)}


def show(robot: Robot, q: ArrayLike | None = None) -> RobotScene:
    """Return the scene of the robot in a posture.

    Parameters
    ----------
    robot : Robot
    q : array_like, shape (nq,), optional
        Joint positions; a posture that shows the robot well if not given.

    Returns
    -------
    RobotScene
        A notebook shows it. `save("robot.html")` writes a page, `save("robot.svg")` a picture.

    Examples
    --------
    >>> import dalembert as dl
    >>> dl.load("planar-2r").show([0.3, 0.5]).save("arm.svg")  # doctest: +SKIP
    """
    scene = scene_of(robot)
    posture = scene.start if q is None else read_posture(robot, q)
    return RobotScene(robot, posture, replace(scene, q=posture))
