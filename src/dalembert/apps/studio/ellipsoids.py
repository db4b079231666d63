"""Velocity, force and inertia ellipsoids at the tip.

Velocities of all ‖q̇‖ ≤ 1, forces of all ‖τ‖ ≤ 1, and the forces that accelerate the tip by 1 m/s²: the half axes of the
last are the masses that one feels there. Each is drawn as large as the robot allows; the numbers stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio.scene import quaternion
from dalembert.errors import DalembertError
from dalembert.kernels import need_tree
from dalembert.kinematics.jacobian import moving_part
from dalembert.kinematics.manipulability import Ellipsoid
from dalembert.robot import Robot

Array = NDArray[np.float64]
THIN = 0.02  # of the longest half axis: what has no extent is drawn so thin
LONG = 3.0  # an infinite half axis is drawn so many times as long as the longest that is not


def _velocity(robot: Robot, q: Array, frame: str, rows: Any) -> Ellipsoid:
    return robot.velocity_ellipsoid(q, frame, rows)


def _force(robot: Robot, q: Array, frame: str, rows: Any) -> Ellipsoid:
    return robot.force_ellipsoid(q, frame, rows)


def _inertia(robot: Robot, q: Array, frame: str, rows: Any) -> Ellipsoid:
    felt = robot.effective_mass(q, frame, rows)
    return Ellipsoid(felt.axes, felt.masses, np.zeros_like(felt.masses), felt.rows)


@dataclass(frozen=True)
class Kind:
    of: Callable[[Robot, Array, str, Any], Ellipsoid]
    unit: str
    color: tuple[int, int, int]


KINDS = {
    "velocity": Kind(_velocity, "m/s", (42, 161, 152)),
    "force": Kind(_force, "N", (214, 69, 65)),
    "inertia": Kind(_inertia, "kg", (227, 178, 60)),
}
AXES = {"vx": 0, "vy": 1, "vz": 2}


def found(name: str, robot: Robot, q: Array, frame: str) -> Ellipsoid:
    """The ellipsoid of that name over the translations that the frame can make."""
    need_tree(robot.model)  # the joints of a closed chain do not move freely
    rows = moving_part(robot, "position", frame, "world").names
    return KINDS[name].of(robot, q, frame, rows)


def drawn(e: Ellipsoid, longest: float) -> tuple[Array, Array]:
    """(R, half axes): a rotation whose columns are its axes, and three lengths, the longest as given."""
    places = [AXES[row] for row in e.rows]
    m = len(places)
    axes, lengths = np.zeros((3, 3)), np.zeros(3)
    axes[np.ix_(places, range(m))] = e.axes
    lengths[:m] = e.lengths
    others = [k for k in range(3) if k not in places]
    for j, k in enumerate(others, start=m):
        axes[k, j] = 1.0
    finite = np.isfinite(lengths)
    top = float(lengths[finite].max(initial=0.0)) or 1.0
    sizes = np.where(finite, lengths / top, LONG)
    sizes = np.maximum(sizes / sizes.max(), THIN) * longest
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return axes, sizes


class Ellipsoids:
    """The three of them in a scene; each is shown where it is asked for."""

    def __init__(self, server: Any, size: float) -> None:
        self.size = size
        self.nodes = {
            name: server.scene.add_icosphere(
                f"/ellipsoid/{name}",
                1.0,
                kind.color,
                opacity=0.35,
                subdivisions=4,
                cast_shadow=False,
                receive_shadow=False,
                visible=False,
            )
            for name, kind in KINDS.items()
        }
        self.shown = dict.fromkeys(KINDS, False)
        self.scale = 0.3

    def show(self, robot: Robot, q: Array, frame: str) -> list[tuple[str, str]]:
        """Draws those that are asked for; (name, half axes) of each."""
        told = []
        for name, node in self.nodes.items():
            if not self.shown[name]:
                node.visible = False
                continue
            try:
                e = found(name, robot, q, frame)
            except DalembertError as error:
                node.visible = False
                told.append((name, str(error)))
                continue
            R, lengths = drawn(e, self.scale * self.size)
            node.wxyz, node.position = quaternion(R), robot.fk(q, frame)[:3, 3]
            node.scale = tuple(lengths.tolist())
            node.visible = True
            said = ", ".join(f"{x:.3g}" if np.isfinite(x) else "∞" for x in e.lengths)
            told.append((name, f"{said} {KINDS[name].unit}"))
        return told
