"""The tab of posing: joint positions that obey limits and close loops, sliders, and the tip to be dragged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.apps.studio import messages
from dalembert.apps.studio.panel import Panel, real
from dalembert.apps.studio.scene import quaternion, rotation_of
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.constrained.closure import newton
from dalembert.constrained.system import Constrained
from dalembert.describe.description import Inertial, Joint, Link, Loop
from dalembert.draw.scene import read_posture
from dalembert.kinematics.jacobian import moving_part, natural
from dalembert.kinematics.tasks import ROTATION
from dalembert.robot import Robot
from dalembert.units import position_units

if TYPE_CHECKING:
    from viser import GuiSliderHandle, TransformControlsEvent, TransformControlsHandle

    from dalembert.apps.studio.studio import Studio

HALF = {"rad": np.pi, "m": 1.0}  # of a slider without limits
STRIDE = 0.1  # a closed chain is moved in steps of this length [rad, m], so that it stays on its branch
POINT = "studio point"
TOLD = 3  # contacts
JUMP = 1.0  # other joints that would move further than this in one step are on another branch


class Posture:
    """The joint positions q of a robot, and the frame that is dragged."""

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        self.robot = robot
        tips = robot.model.tips or robot.frames
        self.frame: str = robot.tip or tips[0]
        self._tied: dict[str, Constrained] = {}
        self.q = self.beginning() if q is None else read_posture(robot, q)
        if self.system is not None:
            self.q = self.system.close(self.q).q

    @cached_property
    def system(self) -> Constrained | None:
        """The constraints of a closed chain; None for a tree."""
        return Constrained(self.robot) if self.robot.loops else None

    @cached_property
    def span(self) -> tuple[Array, Array]:
        """Lower and upper end of each position's slider: its limits, or a turn (a meter) to either side of home."""
        limits, home = self.robot.limits, self.robot.home
        free = np.array([HALF.get(unit, 1.0) for unit in position_units(self.robot.model)])
        lower = np.where(np.isfinite(limits.lower), limits.lower, np.minimum(home, limits.upper) - free)
        upper = np.where(np.isfinite(limits.upper), limits.upper, np.maximum(home, lower) + free)
        return lower, upper

    def beginning(self) -> Array:
        """Where it starts: at home if the description has one, else bent, away from straight and singular states."""
        home = self.robot.home
        if self.robot.loops or self.robot.description.home or self.robot.model.curved:
            return home
        lower, upper = self.span
        bent = np.array([0.4 if c.joint.turns else 0.3 for c in self.robot.model.coordinates])
        bent *= np.where(np.arange(len(bent)) % 2 == 0, 1.0, -1.5)
        share = -lower / np.where(upper > lower, upper - lower, 1.0)  # where zero lies between the limits
        middle = np.where((share > 0.15) & (share < 0.85), 0.0, 0.5 * (lower + upper))
        return np.asarray(np.clip(middle + bent * np.minimum(1.0, 0.5 * (upper - lower)), lower, upper))

    def inside(self, q: Array) -> Array:
        """q brought inside the joint limits."""
        limits = self.robot.limits
        return np.asarray(np.clip(q, limits.lower, limits.upper))

    # ----------------------------------------------------------------------------------------------------- ways to move
    def turn(self, joint: int, value: float) -> str:
        """Puts one joint where it is asked for; of a closed chain the others follow. A sentence if it cannot be."""
        if self.system is None:
            q = self.q.copy()
            q[joint] = value
            self.q = self.inside(q)
            return ""
        begin = self.q[joint]
        for part in np.linspace(0, 1, 1 + max(int(abs(value - begin) / STRIDE) + 1, 1))[1:]:
            q = self.q.copy()
            q[joint] = begin + part * (value - begin)
            if said := self._closed(q, [self.robot.joint_names[joint]]):
                return said
        return ""

    def put(self, q: ArrayLike) -> str:
        """All joints at once; of a closed chain the nearest closed configuration."""
        wanted = read_posture(self.robot, q)
        if self.system is None:
            self.q = self.inside(wanted)
            return ""
        return self._closed(wanted, [])

    def reach(self, T: ArrayLike, orientation: bool = True) -> str:
        """Puts the frame at the pose T as nearly as it goes, from where the robot is; of a closed chain its position.
        A sentence if it falls short."""
        wanted = np.asarray(T, float)
        turned = 0.0
        if self.system is not None:
            if said := self._closed(self._dragged(wanted[:3, 3]), []):
                return said
        else:
            found = self.robot.ik(wanted, self.frame, self.q, rows=self.rows(orientation), restarts=0)
            self.q, turned = np.asarray(found.q), float(np.asarray(found.orientation_error))
        away = float(np.linalg.norm(self.robot.fk(self.q, self.frame)[:3, 3] - wanted[:3, 3]))
        if away > 1e-4:
            return f"out of reach: the tip stays {1e3 * away:.3g} mm away"
        return f"the tip gets there, turned by {np.degrees(turned):.3g}° from what is asked" if turned > 1e-3 else ""

    def _dragged(self, point: Array) -> Array:
        """Joint positions of a closed chain whose tip a ball joint ties to a point, as far as its loops let it."""
        if self.frame not in self._tied:
            self._tied[self.frame] = Constrained(tie_frame(self.robot, self.frame))
        system = self._tied[self.frame]
        n = self.robot.n
        q, _ = newton(system, np.concatenate([self.q, point]), list(range(n)), np.full(system.k, 1e-10))
        return np.asarray(q[:n])

    def rows(self, orientation: bool = True) -> tuple[float, ...]:
        """The six weights of what can be asked of the frame: the components that the arm has joints for."""
        tree = self.robot.tree()
        whole = orientation and self.system is None
        task = natural(tree, self.frame) if whole else moving_part(tree, "position", self.frame, "world")
        picked = task.picked or ()
        return tuple(1.0 if k in picked else 0.0 for k in range(6))

    def freedoms(self, R: Array) -> list[NDArray[np.bool_]]:
        """[along, about] which axes of a frame turned by R the tip can be dragged."""
        rows = np.array(self.rows() if self.movable else (0.0,) * 6) > 0
        return [np.linalg.norm(R[part], axis=0) > 0.99 for part in (rows[:3], rows[3:])]

    @property
    def movable(self) -> bool:
        """Whether the frame can be dragged: some joint carries it, and positions are a vector."""
        return self.robot.model.frame(self.frame).body >= 0 and self.robot.model.curved is None

    @property
    def turns(self) -> bool:
        """Whether the frame's orientation can be asked for."""
        return self.movable and any(self.rows()[k] for k in ROTATION)

    def _closed(self, q: Array, held: Sequence[str]) -> str:
        """The closed configuration next to q, if there is one near: a chain does not jump to another branch."""
        assert self.system is not None
        found = self.system.close(q, fixed=held, strict=False)
        if not found:
            return f"the chain does not close there: {found.messages[0]}"
        if not bool(found.within_limits):
            over = (found.q < self.robot.limits.lower - 1e-9) | (found.q > self.robot.limits.upper + 1e-9)
            names = [name for name, out in zip(self.robot.joint_names, over, strict=True) if out]
            return f"there {', '.join(names[:3])} would leave the joint limits"
        if np.max(np.abs(found.q - q), initial=0.0) > JUMP:
            return "the chain closes there only on another branch"
        self.q = found.q
        return ""


def tie_frame(robot: Robot, frame: str) -> Robot:
    """The robot beside a point that three slides move, with a frame tied to that point by a ball joint: closing it with
    the slides held is the inverse kinematics of a closed chain. Its first n joints are the robot's."""
    d = robot.description
    light = Inertial(1e-6, (1e-12, 0.0, 0.0, 1e-12, 0.0, 1e-12))
    names = [f"{POINT} {axis}" for axis in "xyz"]
    parents = [robot.frames[0], *names]
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    slides = tuple(
        Joint(name, "prismatic", parent, name, axis=axis)
        for name, parent, axis in zip(names, parents, axes, strict=False)
    )
    loop = Loop(POINT, "ball", names[-1], frame)
    links = tuple(Link(name, light) for name in names)
    made = replace(
        d, links=(*d.links, *links), joints=(*d.joints, *slides), loops=(*d.loops, loop), tip=robot.tip or frame
    )
    return Robot(made, told=robot.warnings)


class PosePanel(Panel):
    """Where the robot should be."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        robot = studio.robot
        units = position_units(robot.model)
        self.units = np.array([180 / np.pi if unit == "rad" else 1.0 for unit in units])
        with self.gui.add_folder("Tip"):
            frames = list(dict.fromkeys((studio.posture.frame, *robot.frames)))
            self.frame = self.gui.add_dropdown("frame", frames, initial_value=studio.posture.frame)
            self.watch(self.frame, self._choose_frame)
            self.orientation = self.gui.add_checkbox(
                "orientation", studio.posture.turns, hint="Dragging the tip asks for its orientation too."
            )
            self.orientation.visible = studio.posture.turns
            self.where = self.gui.add_html("")
        with self.gui.add_folder("Joints", expand_by_default=True):
            # A quaternion's numbers mean nothing alone.
            self.sliders = {k: self._slider(k) for k, unit in enumerate(units) if unit}
            self.press(self.gui.add_button("Back to the start"), studio.home)
        with self.gui.add_folder("Shown"):
            self.shapes = self.gui.add_checkbox("shapes", True)
            self.opacity = self.gui.add_slider("opacity", 0.1, 1.0, 0.05, 0.8)
            self.axes = self.gui.add_checkbox("frames", True)
            self.names = self.gui.add_checkbox("names of frames", False)
            self.masses = self.gui.add_checkbox("centers of mass", True)
            self.contacts = self.gui.add_checkbox(
                "contacts in red", False, hint="Links that touch each other. The first time, this takes some seconds."
            )
            self.watch(self.contacts, lambda _: studio.refresh())
            self.soft = self.gui.add_checkbox(
                "soft light, shadows", not studio.plain, hint="Plain light is drawn faster without a graphics card."
            )
            self.watch(self.soft, lambda on: studio.scene.light(bool(on)))
            for handle in (self.shapes, self.opacity, self.axes, self.names, self.masses):
                self.watch(handle, self._see)
        self.gizmo = self._handle("/tip", disable_rotations=True)
        self.rings = self._handle("/turn", disable_axes=True, disable_sliders=True)
        self.held: TransformControlsHandle | None = None
        studio.scene.light(not studio.plain)
        self._see()

    # -------------------------------------------------------------------------------------------------------- the tip
    def _handle(self, name: str, **without: bool) -> TransformControlsHandle:
        """Arrows or rings at the tip."""
        handle = self.studio.server.scene.add_transform_controls(
            name, scale=0.2 * self.studio.scene.size, line_width=3.0, depth_test=False, **without
        )

        async def dragged(event: TransformControlsEvent) -> None:  # on the server's loop, so that phases come in order
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = rotation_of(event.target.wxyz), np.array(event.target.position, float)
            phase = event.phase
            self.studio.worker.post(("tip", phase == "end"), lambda: self._dragged(handle, T, phase))

        handle.on_update(dragged)
        return handle

    def _offer(self, R: Array) -> None:
        """Arrows along and rings about those axes of the tip that the arm has joints for, where that is one or all."""
        along, about = self.studio.posture.freedoms(R)
        if not along.any():  # none of the tip's axes alone; all, if it moves at all
            along = np.full(3, self.studio.posture.movable)
        if about.sum() == 1:
            about = ~about  # a ring is drawn where the axes across it are active
        for handle, axes in ((self.gizmo, along), (self.rings, about)):
            if handle.active_axes != (active := tuple(axes.tolist())):
                handle.active_axes = active
            handle.visible = any(active)

    def _dragged(self, handle: TransformControlsHandle, T: Array, phase: str) -> None:
        self.held = None if phase == "end" else handle
        if np.isfinite(T).all():
            self.studio.reach(T, bool(self.orientation.value))

    def _choose_frame(self, name: str) -> None:
        self.studio.robot.model.frame(name)  # refused in words if there is none
        self.studio.posture.frame = str(name)
        turns = self.studio.posture.turns
        self.orientation.visible, self.orientation.value = turns, turns
        self.studio.refresh()

    # ------------------------------------------------------------------------------------------------------ the joints
    def _slider(self, k: int) -> GuiSliderHandle[float]:
        name = self.studio.robot.model.names("position")[k]
        unit, digits = ("°", 1) if self.units[k] != 1.0 else ("m", 3)
        step = 10.0**-digits
        # Round numbers within the limits, which are kept to the last bit by whoever moves the robot.
        lower, upper = (float(x[k] * self.units[k]) for x in self.studio.posture.span)
        lower = round(float(np.ceil(lower / step - 1e-9)) * step, digits)
        upper = round(float(np.floor(upper / step + 1e-9)) * step, digits)
        if not upper > lower:
            upper = lower + step
        value = round(float(np.clip(self.studio.posture.q[k] * self.units[k], lower, upper)), digits)
        handle = self.gui.add_slider(f"{name} [{unit}]", lower, upper, step, value)
        return self.watch(handle, lambda x: self.studio.turn(k, real(x) / self.units[k]))

    # ---------------------------------------------------------------------------------------------------- what is seen
    def _see(self, _: object = None) -> None:
        opacity = real(self.opacity.value)
        self.studio.scene.see(
            bool(self.shapes.value), bool(self.axes.value), bool(self.names.value), bool(self.masses.value), opacity
        )

    def show(self, q: Array, wanted: Array) -> None:
        """Sliders and gizmo at what is wanted, the tip's coordinates where the robot is."""
        for k, handle in self.sliders.items():
            value = float(wanted[k] * self.units[k])
            if abs(handle.value - value) > 0.51 * handle.step:
                handle.value = float(np.clip(round(value, 1 if handle.step > 0.05 else 3), handle.min, handle.max))
        robot, frame = self.studio.robot, self.studio.posture.frame
        aim = robot.fk(wanted, frame)
        for handle in (self.gizmo, self.rings):
            if handle is not self.held:
                handle.wxyz, handle.position = quaternion(aim[:3, :3]), aim[:3, 3]
        if self.held is None:
            self._offer(aim[:3, :3])
        touching = self.studio.scene.touch(q, bool(self.contacts.value))
        said = "".join(messages.line(f"touching: {contact}", "near") for contact in touching[:TOLD])
        self.where.content = self.studio.tip_words(robot.fk(q, frame)) + said
