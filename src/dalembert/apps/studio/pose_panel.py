"""Joint sliders, the draggable tip with live inverse kinematics, and what is shown of the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio.panel import Panel, real
from dalembert.apps.studio.scene import quaternion, rotation_of

if TYPE_CHECKING:
    from dalembert.apps.studio.studio import Studio

Array = NDArray[np.float64]


class PosePanel(Panel):
    """Where the robot should be."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        robot = studio.robot
        self.units = np.array([180 / np.pi if c.joint.turns else 1.0 for c in robot.model.coordinates])
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
            self.sliders = [self._slider(k) for k in range(robot.n)]
            self.press(self.gui.add_button("Back to the start"), studio.home)
        with self.gui.add_folder("Shown"):
            self.shapes = self.gui.add_checkbox("shapes", True)
            self.opacity = self.gui.add_slider("opacity", 0.1, 1.0, 0.05, 0.8)
            self.axes = self.gui.add_checkbox("frames", True)
            self.names = self.gui.add_checkbox("names of frames", False)
            self.masses = self.gui.add_checkbox("centers of mass", True)
            self.soft = self.gui.add_checkbox(
                "soft light, shadows", not studio.plain, hint="Plain light is drawn faster without a graphics card."
            )
            self.watch(self.soft, lambda on: studio.scene.light(bool(on)))
            for handle in (self.shapes, self.opacity, self.axes, self.names, self.masses):
                self.watch(handle, self._see)
        self.gizmo = self._handle("/tip", disable_rotations=True)
        self.rings = self._handle("/turn", disable_axes=True, disable_sliders=True)
        self.held: Any = None
        studio.scene.light(not studio.plain)
        self._see()

    # -------------------------------------------------------------------------------------------------------- the tip
    def _handle(self, name: str, **without: bool) -> Any:
        """Arrows or rings at the tip."""
        handle = self.studio.server.scene.add_transform_controls(
            name, scale=0.2 * self.studio.scene.size, line_width=3.0, depth_test=False, **without
        )

        async def dragged(event: Any) -> None:  # on the server's loop, so that phases come in order
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

    def _dragged(self, handle: Any, T: Array, phase: str) -> None:
        self.held = None if phase == "end" else handle
        if np.isfinite(T).all():
            self.studio.reach(T, bool(self.orientation.value))

    def _choose_frame(self, name: Any) -> None:
        self.studio.robot.model.frame(name)  # refused in words if there is none
        self.studio.posture.frame = str(name)
        turns = self.studio.posture.turns
        self.orientation.visible, self.orientation.value = turns, turns
        self.studio.refresh()

    # ------------------------------------------------------------------------------------------------------ the joints
    def _slider(self, k: int) -> Any:
        c = self.studio.robot.model.coordinates[k]
        unit, digits = ("°", 1) if c.joint.turns else ("m", 3)
        step = 10.0**-digits
        # Round numbers within the limits, which are kept to the last bit by whoever moves the robot.
        lower, upper = (float(x[k] * self.units[k]) for x in self.studio.posture.span)
        lower = round(float(np.ceil(lower / step - 1e-9)) * step, digits)
        upper = round(float(np.floor(upper / step + 1e-9)) * step, digits)
        if not upper > lower:
            upper = lower + step
        value = round(float(np.clip(self.studio.posture.q[k] * self.units[k], lower, upper)), digits)
        handle = self.gui.add_slider(f"{c.name} [{unit}]", lower, upper, step, value)
        return self.watch(handle, lambda x: self.studio.turn(k, real(x) / self.units[k]))

    # ---------------------------------------------------------------------------------------------------- what is seen
    def _see(self, _: Any = None) -> None:
        opacity = real(self.opacity.value)
        self.studio.scene.see(
            bool(self.shapes.value), bool(self.axes.value), bool(self.names.value), bool(self.masses.value), opacity
        )

    def show(self, q: Array, wanted: Array) -> None:
        """Sliders and gizmo at what is wanted, the tip's coordinates where the robot is."""
        for k, handle in enumerate(self.sliders):
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
        self.where.content = self.studio.tip_words(robot.fk(q, frame))
