"""The tab of loads: a payload, the torques that hold it, velocity, force and inertia ellipsoids at the tip.

Velocities of all ‖q̇‖ ≤ 1, forces of all ‖τ‖ ≤ 1, and the forces that accelerate the tip by 1 m/s²: the half axes of the
last are the masses that one feels there. Each is drawn as large as the robot allows; the numbers stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.apps.studio import messages
from dalembert.apps.studio.panel import Panel, real
from dalembert.apps.studio.scene import quaternion
from dalembert.arguments import Array, number, three
from dalembert.constrained.system import Constrained
from dalembert.control.controller import driven_joints, supporting_joints
from dalembert.errors import DalembertError
from dalembert.kernels import need_tree
from dalembert.kinematics.jacobian import moving_part
from dalembert.kinematics.manipulability import Ellipsoid
from dalembert.kinematics.statics import holding_torque
from dalembert.robot import Robot

if TYPE_CHECKING:
    from viser import ViserServer

    from dalembert.apps.studio.studio import Studio

NAME = "studio payload"
THIN = 0.02  # of the longest half axis: what has no extent is drawn so thin
LONG = 3.0  # an infinite half axis is drawn so many times as long as the longest that is not
AXES = {"vx": 0, "vy": 1, "vz": 2}


@dataclass(frozen=True)
class Payload:
    """A point mass [kg] at `com` [m] in a frame."""

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", number("the mass of the payload", self.mass, "kg", least=0.0))
        object.__setattr__(self, "com", three("com", self.com))

    def on(self, robot: Robot, frame: str) -> Robot:
        """The robot that holds it."""
        if not self.mass or robot.model.frame(frame).body < 0:
            return robot
        return robot.with_payload(self.mass, self.com, frame=frame, name=NAME)


def holding(
    robot: Robot, q: Array, payload: Payload, frame: str, system: Constrained | None = None
) -> tuple[tuple[str, ...], Array]:
    """(joints, torques) with which the robot at rest carries itself and the payload [N m, N]."""
    names = supporting_joints(robot, system, q)
    if not names:
        return (), np.zeros(0)
    if system is None:  # what no drive holds is taken as held by something else
        tau = holding_torque(robot, q, payload.mass, payload.com, frame)
        return driven_joints(robot), tau[robot.driven]
    still = np.zeros(robot.n)
    f = payload.mass * robot.gravity
    arm = np.asarray(robot.fk(q, frame))[:3, :3] @ np.array(payload.com)
    wrench = np.concatenate([f, np.cross(arm, f)])
    tau = system.inverse_dynamics(q, still, still, wrenches={frame: wrench}, actuated=names, tolerance=None)
    return names, np.array([tau[robot.joint_names.index(name)] for name in names])


def _inertia(robot: Robot, q: Array, frame: str, rows: Sequence[str]) -> Ellipsoid:
    felt = robot.effective_mass(q, frame, rows)
    return Ellipsoid(felt.axes, felt.masses, np.zeros_like(felt.masses), felt.rows)


@dataclass(frozen=True)
class Kind:
    of: Callable[[Robot, Array, str, Sequence[str]], Ellipsoid]
    unit: str
    color: tuple[int, int, int]


KINDS = {
    "velocity": Kind(Robot.velocity_ellipsoid, "m/s", (42, 161, 152)),
    "force": Kind(Robot.force_ellipsoid, "N", (214, 69, 65)),
    "inertia": Kind(_inertia, "kg", (227, 178, 60)),
}


def find_ellipsoid(name: str, robot: Robot, q: Array, frame: str) -> Ellipsoid:
    """The ellipsoid of that name over the translations that the frame can make."""
    need_tree(robot.model)  # the joints of a closed chain do not move freely
    rows = moving_part(robot, "position", frame, "world").names
    return KINDS[name].of(robot, q, frame, rows)


def scale_axes(e: Ellipsoid, longest: float) -> tuple[Array, Array]:
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

    def __init__(self, server: ViserServer, size: float) -> None:
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
                e = find_ellipsoid(name, robot, q, frame)
            except DalembertError as error:
                node.visible = False
                told.append((name, str(error)))
                continue
            R, lengths = scale_axes(e, self.scale * self.size)
            node.wxyz, node.position = quaternion(R), robot.fk(q, frame)[:3, 3]
            node.scale = tuple(lengths.tolist())
            node.visible = True
            said = ", ".join(f"{x:.3g}" if np.isfinite(x) else "∞" for x in e.lengths)
            told.append((name, f"{said} {KINDS[name].unit}"))
        return told


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

    def _load(self, _: object = None) -> None:
        x, y, z = (real(v) for v in self.com.value)
        self.studio.carry(Payload(real(self.mass.value), (x, y, z)))

    def _choose(self, _: object = None) -> None:
        self.ellipsoids.scale = real(self.scale.value)
        self.ellipsoids.shown = {name: bool(box.value) for name, box in self.boxes.items()}
        self.studio.refresh()

    def show(self, q: Array) -> list[str]:
        """Torques and ellipsoids of a posture; sentences to warn of."""
        studio, frame = self.studio, self.studio.posture.frame
        warned = []
        try:
            names, tau = holding(studio.robot, q, studio.payload, frame, studio.posture.system)
            self.torques.content, weak = messages.torques(studio.robot, names, tau)
            if weak:
                warned.append("a drive is too weak to hold the robot here")
        except DalembertError as error:
            self.torques.content = messages.line(str(error), "near")
        told = self.ellipsoids.show(studio.loaded, q, frame)
        rows = messages.table(("half axes", ""), told) if told else ""
        self.told.content = rows
        return warned
