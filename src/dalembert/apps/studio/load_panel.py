"""Payload, torques under gravity, ellipsoids at the tip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio import words
from dalembert.apps.studio.ellipsoids import KINDS, Ellipsoids
from dalembert.apps.studio.loads import Payload, holding
from dalembert.apps.studio.panel import Panel, real
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.apps.studio.studio import Studio

Array = NDArray[np.float64]


class LoadPanel(Panel):
    """What the robot carries, and what it can do at the tip."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        heaviest = float(np.clip(round(0.5 * studio.robot.mass, 1), 0.5, 100.0))
        with self.gui.add_folder("Payload"):
            self.mass = self.gui.add_slider("mass [kg]", 0.0, heaviest, heaviest / 100, 0.0)
            self.com = self.gui.add_vector3("center [m]", (0.0, 0.0, 0.0), step=0.01, hint="In the tip's frame.")
            self.watch(self.mass, self._load)
            self.watch(self.com, self._load)
        with self.gui.add_folder("Torques that hold it"):
            self.torques = self.gui.add_html("")
        self.ellipsoids = Ellipsoids(studio.server, studio.scene.size)
        with self.gui.add_folder("Ellipsoids at the tip"):
            self.boxes = {name: self.gui.add_checkbox(name, False) for name in KINDS}
            self.scale = self.gui.add_slider("size", 0.05, 1.0, 0.05, self.ellipsoids.scale)
            self.told = self.gui.add_html("")
            for handle in (*self.boxes.values(), self.scale):
                self.watch(handle, self._choose)

    def _load(self, _: Any = None) -> None:
        x, y, z = (real(v) for v in self.com.value)
        self.studio.carry(Payload(real(self.mass.value), (x, y, z)))

    def _choose(self, _: Any = None) -> None:
        self.ellipsoids.scale = real(self.scale.value)
        self.ellipsoids.shown = {name: bool(box.value) for name, box in self.boxes.items()}
        self.studio.refresh()

    def show(self, q: Array) -> list[str]:
        """Torques and ellipsoids of a posture; sentences to warn of."""
        studio, frame = self.studio, self.studio.posture.frame
        warned = []
        try:
            names, tau = holding(studio.robot, q, studio.payload, frame, studio.posture.system)
            self.torques.content, weak = words.torques(studio.robot, names, tau)
            if weak:
                warned.append("a drive is too weak to hold the robot here")
        except DalembertError as error:
            self.torques.content = words.line(str(error), "near")
        told = self.ellipsoids.show(studio.loaded, q, frame)
        rows = words.table(("half axes", ""), told) if told else ""
        self.told.content = rows
        return warned
