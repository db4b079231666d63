"""The robot in 3-D: bodies that move, frames, centers of mass, the ground, the camera."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms.energy import center_of_mass
from dalembert.arguments import Array
from dalembert.collision import Contact, World
from dalembert.describe.description import Box, Cylinder, Sphere
from dalembert.draw.scene import (
    TOUCHING_COLOR,
    DrawnPart,
    bodies_touching,
    body_poses,
    corners_of,
    look_of,
    obstacle_parts,
    place_along,
    place_part,
    up_of,
)
from dalembert.draw.skeleton import plane_of
from dalembert.robot import Robot

if TYPE_CHECKING:
    from viser import BoxHandle, CylinderHandle, FrameHandle, IcosphereHandle, LabelHandle, MeshHandle, ViserServer

    Drawn: TypeAlias = BoxHandle | CylinderHandle | IcosphereHandle | MeshHandle

MASS_COLOR, TOTAL_COLOR = (214, 69, 65), (142, 68, 173)
TOUCHING = tuple(bytes.fromhex(TOUCHING_COLOR[1:]))  # bodies that touch each other
PATH_COLOR = (29, 154, 116)
SKY = (204, 212, 222)  # white robots are seen before it
VIEW = 0.7  # [rad] that the camera sees from the lowest to the highest
ROOM = 1.25  # around the robot, of the least that shows all of it: plots may stand beside it


class _Place(TypedDict):
    wxyz: Array
    position: Array


class Scene:
    """What is seen of a robot; `show(q)` moves it."""

    def __init__(
        self,
        server: ViserServer,
        robot: Robot,
        q: Array,
        package_dirs: Sequence[str | PathLike[str]] = (),
        world: World | None = None,
    ) -> None:
        self.server, self.robot, self.world = server, robot, world
        self.size = size_of(robot, q)
        self.look = look_of(robot, package_dirs=package_dirs)
        self.up = up_of(robot)
        self.flat = plane_of(robot) == (0, 1) and abs(self.up[2]) < 1e-6  # it is looked at from in front
        self.bodies = [self._frame(f"/robot/{k}") for k in range(len(robot.model.bodies))]
        self._frame("/robot/base")
        for k, part in enumerate(() if world is None else obstacle_parts(world)):
            self._shape(k, part, "/obstacles")
        self.shapes = [self._shape(k, part) for k, part in enumerate(self.look.parts)]
        drawn = zip(self.shapes, self.look.parts, strict=True)
        self.rails = [(cast("CylinderHandle", shape), part) for shape, part in drawn if part.rail]
        self.touching: set[int] = set()  # bodies drawn as such
        self.package_dirs = package_dirs
        self.frames, self.names = self._frames()
        self.masses: list[IcosphereHandle] = []
        self.total: IcosphereHandle | None = None
        self.weigh(robot)
        self._ground()
        self._camera(q)
        self.lamp = server.scene.add_light_hemisphere("/lamp", intensity=1.0, visible=False)
        self.show(q)

    # ------------------------------------------------------------------------------------------------------- what moves
    def show(self, q: Array) -> None:
        """Moves the bodies to the joint positions q."""
        with self.server.atomic():
            poses = body_poses(self.robot, q)
            for node, T in zip(self.bodies, poses, strict=False):
                node.wxyz, node.position = quaternion(T[:3, :3]), T[:3, 3]
            for shape, part in self.rails:
                T = place_part(self.robot, poses, part) @ part.pose
                length = float(np.linalg.norm(T[:3, 2]))
                turned = np.column_stack((T[:3, :2], np.cross(T[:3, 0], T[:3, 1])))
                shape.wxyz, shape.position, shape.height = quaternion(turned), T[:3, 3], length
            if self.total is not None:
                self.total.position = np.array(center_of_mass(self.loaded.model, q.tolist()), float)

    def weigh(self, robot: Robot) -> None:
        """Draws the centers of mass of a robot that may carry a payload: balls whose volume is the mass."""
        self.loaded = robot
        visible = bool(self.masses and self.masses[0].visible) if self.masses else True
        for node in (*self.masses, *([] if self.total is None else [self.total])):
            node.remove()
        self.masses, self.total = [], None
        if not robot.mass > 0:
            return
        for k, body in enumerate(robot.model.bodies):
            if body.inertia.m > 1e-3 * robot.mass:
                radius = 0.03 * self.size * (body.inertia.m / robot.mass) ** (1 / 3)
                ball = self.server.scene.add_icosphere(
                    f"/robot/{k}/mass",
                    radius,
                    MASS_COLOR,
                    position=np.array(body.inertia.com(), float),
                    subdivisions=2,
                    visible=visible,
                )
                self.masses.append(ball)
        self.total = self.server.scene.add_icosphere(
            "/center_of_mass", 0.018 * self.size, TOTAL_COLOR, subdivisions=2, visible=visible
        )

    def touch(self, q: Array, on: bool) -> list[Contact]:
        """Colors the bodies whose links touch each other or the world at q, and says which do; none if not `on`. The
        first time, spheres are made around the shapes."""
        found = self.robot.collision(package_dirs=self.package_dirs).contacts(q, self.world) if on else []
        bodies = bodies_touching(self.robot, found)
        for node, part in zip(self.shapes, self.look.parts, strict=True):
            if part.body in bodies ^ self.touching:
                node.color = TOUCHING if part.body in bodies else tuple(bytes.fromhex(part.color[1:]))
        self.touching = bodies
        return found

    # ----------------------------------------------------------------------------------------------------- what is seen
    def see(self, shapes: bool, frames: bool, names: bool, masses: bool, opacity: float) -> None:
        """What is shown and what is not; shapes see through where opacity < 1."""
        for node, part in zip(self.shapes, self.look.parts, strict=True):
            node.visible = shapes
            wanted = opacity if part.opacity is None else opacity * part.opacity
            node.opacity = wanted if wanted < 1 else None
        for node in self.frames:
            node.visible = frames
        for node in self.names:
            node.visible = names
        for node in (*self.masses, *([] if self.total is None else [self.total])):
            node.visible = masses

    def light(self, soft: bool) -> None:
        """Soft light with shadows; or plain, which a page without a graphics card draws twenty times as fast."""
        self.server.scene.configure_default_lights(cast_shadow=soft)
        self.server.scene.configure_environment_map("warehouse" if soft else None, environment_intensity=0.6)
        self.lamp.visible = not soft

    def _frame(self, name: str) -> FrameHandle:
        return self.server.scene.add_frame(name, show_axes=False)

    def trace(self, q: Array, frame: str) -> None:
        """Draws the way of a frame along joint positions (N, n)."""
        x = np.asarray(self.robot.fk(q, frame))[:, :3, 3]
        self.server.scene.add_line_segments("/plan", np.stack((x[:-1], x[1:]), 1), np.array(PATH_COLOR, np.uint8))

    def _shape(self, k: int, part: DrawnPart, where: str | None = None) -> Drawn:
        add = self.server.scene
        name = f"{where or owner(-1 if part.rail else part.body)}/shape{k}"
        rgb = tuple(bytes.fromhex(part.color[1:]))
        place: _Place = {"wxyz": quaternion(part.pose[:3, :3]), "position": part.pose[:3, 3]}
        match part.geometry:
            case Box(size):
                return add.add_box(name, dimensions=size, color=rgb, opacity=part.opacity, **place)
            case Sphere(radius):
                return add.add_icosphere(name, radius=radius, color=rgb, opacity=part.opacity, **place)
            case Cylinder(radius, length):
                return add.add_cylinder(name, radius=radius, height=length, color=rgb, opacity=part.opacity, **place)
        # Of a mesh it is not known which side is out, and its edges are to be seen.
        own, rough = part.solid, part.mesh is not None
        side = "double" if rough else "front"
        return add.add_mesh_simple(
            name, own.vertices, own.faces, color=rgb, opacity=part.opacity, flat_shading=rough, side=side
        )

    def _frames(self) -> tuple[list[FrameHandle], list[LabelHandle]]:
        axes, names = [], []
        length = 0.09 * self.size
        for k, frame in enumerate(self.robot.model.frames):
            where = f"{owner(frame.body)}/frame{k}"
            place: _Place = {"wxyz": quaternion(frame.pose.R), "position": np.array(frame.pose.p, float)}
            axes.append(
                self.server.scene.add_frame(
                    where, axes_length=length, axes_radius=0.035 * length, origin_radius=0.07 * length, **place
                )
            )
            names.append(
                self.server.scene.add_label(
                    f"{owner(frame.body)}/name{k}",
                    frame.name,
                    position=place["position"],
                    visible=False,
                    anchor="bottom-left",
                    font_screen_scale=0.85,
                )
            )
        return axes, names

    # ------------------------------------------------------------------------------------------------ ground and camera
    def _ground(self) -> None:
        cell = step_of(self.size)
        behind = -0.08 * self.size if self.flat else -0.002 * self.size
        normal = np.array([0.0, 0.0, 1.0]) if self.flat else self.up
        self.server.scene.set_background_image(np.full((1, 1, 3), SKY, np.uint8))
        self.server.scene.add_grid(
            "/ground",
            width=40 * cell,
            height=40 * cell,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(192, 198, 206),
            section_color=(160, 167, 176),
            cell_thickness=0.8,
            fade_distance=9 * self.size,
            shadow_opacity=0.12,
            wxyz=quaternion(place_along(normal)[:3, :3]),
            position=behind * normal,
        )
        self.server.scene.add_frame(
            "/world", axes_length=0.16 * self.size, axes_radius=0.004 * self.size, origin_radius=0.008 * self.size
        )

    def _camera(self, q: Array) -> None:
        points = np.concatenate([origins(self.robot, q), corners_of(self.robot, self.look.parts, q)])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        far = ROOM * float(np.linalg.norm(points - middle, axis=1).max()) / np.sin(0.5 * VIEW)
        if self.flat:  # with room for the arm on every side of its base
            away, far, middle = np.array([0.0, -0.12, 1.0]), 3.4 * self.size, 0.3 * middle
        else:
            side = np.array([1.0, -1.1, 0.0]) if abs(self.up[2]) > 0.5 else np.array([1.0, 0.0, 1.2])
            side -= (side @ self.up) * self.up
            away = side / np.linalg.norm(side) + 0.45 * self.up
        self.server.scene.set_up_direction(tuple(self.up.tolist()))
        camera = self.server.initial_camera
        camera.up = tuple(self.up.tolist())
        camera.look_at = tuple(middle.tolist())
        camera.position = tuple((middle + far * away / np.linalg.norm(away)).tolist())
        camera.fov = VIEW
        camera.near = 0.005 * self.size


def owner(body: int) -> str:
    """The node that carries what is fixed to a body."""
    return f"/robot/{body}" if body >= 0 else "/robot/base"


def quaternion(R: ArrayLike) -> Array:
    """(w, x, y, z) as viser wants it."""
    from viser import transforms

    return np.asarray(transforms.SO3.from_matrix(np.array(R, float)).wxyz)


def rotation_of(wxyz: ArrayLike) -> Array:
    from viser import transforms

    return np.asarray(transforms.SO3(np.array(wxyz, float)).as_matrix())


def origins(robot: Robot, q: Array) -> Array:
    """Where the frames and joints are, (k, 3)."""
    poses = body_poses(robot, q)
    frames = [poses[f.body] @ np.append(np.array(f.pose.p, float), 1.0) for f in robot.model.frames]
    return np.concatenate([np.array(frames)[:, :3], poses[:, :3, 3]])


def size_of(robot: Robot, q: Array) -> float:
    """About how large it is [m]: the longest edge of the box about its frames, in both postures."""
    found = max(float(np.ptp(origins(robot, x), axis=0).max()) for x in (q, robot.home))
    return found if found > 1e-6 else 1.0


def step_of(size: float) -> float:
    """A round number near a tenth of the size."""
    power = 10.0 ** np.floor(np.log10(0.1 * size))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(k * power - 0.1 * size)))
