"""Simulation under a chosen controller: gains to tune, live plots, and the robot to be pulled at with the mouse."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio import words
from dalembert.apps.studio.controllers import choices, sentence
from dalembert.apps.studio.live import PATIENCE, Live, Pull
from dalembert.apps.studio.panel import Panel, real
from dalembert.apps.studio.plots import Plot
from dalembert.control.registry import OMEGA, ZETA
from dalembert.trajectories import sines

if TYPE_CHECKING:
    from dalembert.apps.studio.studio import Studio

Array = NDArray[np.float64]
WINDOW = 10.0  # [s] that the plots show
EVERY = 0.4  # [s] between two looks at the plots: pages draw them anew each time
MOST_LINES = 7
MOTIONS = ("set point", "sines")


class RunPanel(Panel):
    """The robot in motion."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self.live: Live | None = None
        self.playing = False
        self.pull: Pull | None = None
        self._before = self._drawn = 0.0
        self.choices = choices(studio.robot)
        names = tuple(self.choices)
        with self.gui.add_folder("Simulation"):
            self.play = self.press(self.gui.add_button("Start", icon="player-play", color="green"), self.toggle)
            self.again = self.press(self.gui.add_button("Stop, back to posing", icon="player-stop"), self.stop)
            self.again.disabled = True
            self.told = self.gui.add_html("")
            self.controller = self.gui.add_dropdown("controller", names, initial_value=names[0])
            self.watch(self.controller, lambda _: self._changed())
            self.equation = self.gui.add_html(words.line(sentence(self.choices[names[0]])))
            self.motion = self.gui.add_dropdown(
                "follows",
                MOTIONS,
                initial_value=MOTIONS[0],
                hint="The set point is where the sliders and the tip's handle are; sines swing about it.",
            )
            self.watch(self.motion, lambda _: self._aim())
            self.speed = self.gui.add_slider("speed", 0.1, 1.0, 0.1, 1.0)
            self.watch(self.speed, lambda _: None)
        with self.gui.add_folder("Gains"):
            self.omega = self.gui.add_slider("ω [rad/s]", OMEGA.low, OMEGA.high, OMEGA.step, 6.0)
            self.zeta = self.gui.add_slider("ζ", ZETA.low, ZETA.high, ZETA.step, ZETA.default)
            self.watch(self.omega, self._tune)
            self.watch(self.zeta, self._tune)
            self.each = self.gui.add_folder("one by one", expand_by_default=False)
            self.gains: dict[str, Any] = {}
        with self.gui.add_folder("World", expand_by_default=False):
            self.known = self.gui.add_checkbox("the controller knows the payload", False)
            self.friction = self.gui.add_checkbox("friction of the model", False)
            self.limited = self.gui.add_checkbox("torque limits", False)
            for handle in (self.known, self.friction, self.limited):
                self.watch(handle, lambda _: self._changed())
            self.stiffness = self.gui.add_slider("pull [N/m]", 1.0, 1000.0, 1.0, self._softly())
            self.gui.add_html(words.line("While it runs, pull at a link with the mouse: a rubber band."))
        joints = studio.robot.joint_names[:MOST_LINES] or ("–",)
        self.window = self.gui.add_panel(visible=False)
        with self.window.add_tab("Plots"):
            aims = [f"{j} wanted" for j in joints]
            self.positions = Plot(self.gui, "position, dashed: wanted [rad, m]", joints, aims)
            self.torques = Plot(self.gui, "torque [N m, N]", joints)
            self.energy = Plot(self.gui, "energy [J]", ("kinetic", "potential"), height=125)
        self.window.dock_left()  # beside the scene: nothing of the robot lies under it
        self.window.set_width(310.0)
        scene = studio.server.scene
        self.band = scene.add_line_segments(
            "/pull", np.zeros((1, 2, 3)), (230, 81, 0), thickness=5.0, thickness_units="screen", visible=False
        )

    def _softly(self) -> float:
        """A rubber band that a tenth of the robot's size stretches to a third of its weight."""
        robot, size = self.studio.robot, self.studio.scene.size
        return float(np.clip(round(0.33 * 9.81 * robot.mass / (0.1 * size)), 1.0, 1000.0))

    # ---------------------------------------------------------------------------------------------------- its controls
    def toggle(self) -> None:
        """Starts, pauses, goes on."""
        if self.live is None or self.live.stopped:
            self._begin()
        elif self.playing:
            self._pause()
        else:
            self._go()

    def stop(self) -> None:
        """Back to posing, with the robot where it is."""
        live, self.live = self.live, None
        self._pause()
        self.play.label, self.again.disabled = "Start", True
        self._draggable(False)
        self.window.visible = False
        self.told.content = ""
        self.studio.watched(None)
        if live is not None:
            self.studio.leave(live.q)

    def _begin(self) -> None:
        studio = self.studio
        studio.watched("run")
        self.told.content = words.line("compiling the loop …")
        q = studio.posture.q
        try:
            self.live = Live(
                studio.robot,
                str(self.controller.value),
                q,
                studio.posture.frame,
                omega=real(self.omega.value),
                zeta=real(self.zeta.value),
                payload=studio.payload,
                known=bool(self.known.value),
                friction=bool(self.friction.value),
                limited=bool(self.limited.value),
            )
        except Exception:
            self.live = None
            self.stop()
            raise
        self._list_gains()
        self._aim()
        self._draggable(True)
        self.window.visible = True
        self._go()

    def _go(self) -> None:
        self.playing = True
        self.play.label, self.again.disabled = "Pause", False
        self._before = time.monotonic()
        self.studio.worker.start_beating()

    def _pause(self) -> None:
        self.playing = False
        self.play.label = "Go on"
        self._let_go()

    def _changed(self) -> None:
        """Another controller, or another world: the loop is made anew, from where the robot is."""
        self.equation.content = words.line(sentence(self.choices[str(self.controller.value)]))
        if self.live is not None:
            wanted = self.studio.posture.q
            self.studio.posture.q = self.live.q.copy()
            self._begin()
            self.studio.posture.q = wanted
            self.aim()

    def aim(self) -> None:
        """The set point is where the sliders are."""
        if self.live is not None and self.live.motion is None:
            self.live.aim(self.studio.posture.q)

    def _aim(self) -> None:
        live = self.live
        if live is None:
            return
        live.motion = None
        live.aim(self.studio.posture.q)
        if self.motion.value == "sines":
            m = len(live.wanted)
            size = 0.3 if live.follows == "joints" else 0.05 * self.studio.scene.size
            f = 0.25 + 0.07 * np.arange(m)  # [Hz]
            live.motion = sines(np.diag(np.full(m, size)), f, offset=live.wanted)

    # ----------------------------------------------------------------------------------------------------------- gains
    def _tune(self, _: Any = None) -> None:
        if self.live is not None:
            self.live.tune(real(self.omega.value), real(self.zeta.value))
            for name, handle in self.gains.items():
                handle.value = self.live.gains[name]

    def _list_gains(self) -> None:
        assert self.live is not None
        if set(self.gains) != set(self.live.gains):
            for handle in self.gains.values():
                handle.remove()
            self.gains = {}
            with self.each:
                for name, value in self.live.gains.items():
                    handle = self.gui.add_number(name, float(value), min=0.0)
                    self.gains[name] = self.watch(handle, partial(self._gain, name))
        for name, handle in self.gains.items():
            handle.value = float(self.live.gains[name])

    def _gain(self, name: str, value: Any) -> None:
        if self.live is not None and name in self.live.gains:
            self.live.gains[name] = max(real(value), 0.0)

    # ----------------------------------------------------------------------------------------------- pulled at by hand
    def _draggable(self, on: bool) -> None:
        """Links can be grabbed while it runs; otherwise the mouse turns the camera."""
        for node, part in zip(self.studio.scene.shapes, self.studio.scene.look.parts, strict=True):
            if part.body >= 0:
                node.remove_drag_callback("all")
                if on:
                    node.on_drag("left")(self._grab(part.body))

    def _grab(self, body: int) -> Any:
        frame = self.studio.robot.bodies[body]

        async def dragged(event: Any) -> None:
            begin, end = np.array(event.start_position, float), np.array(event.end_position, float)
            phase = event.phase
            self.studio.worker.post(("pull", phase), lambda: self._pulled(frame, begin, end, phase))

        return dragged

    def _pulled(self, frame: str, begin: Array, end: Array, phase: str) -> None:
        if phase == "end" or self.live is None:
            self._let_go()
            return
        if self.pull is None or self.pull.frame != frame:
            T = self.studio.robot.fk(self.live.q, frame)
            self.pull = Pull(frame, T[:3, :3].T @ (begin - T[:3, 3]), real(self.stiffness.value))
        if np.isfinite(end).all():
            self.pull.end = end

    def _let_go(self) -> None:
        self.pull = None
        self.band.visible = False

    # ------------------------------------------------------------------------------------------------------- in motion
    def beat(self) -> bool:
        """Goes on by the time that has passed; whether there is more to come."""
        live = self.live
        if live is None or not self.playing:
            return False
        now = time.monotonic()
        passed, self._before = min(now - self._before, PATIENCE), now
        live.advance(real(self.speed.value) * passed, self.pull)
        self.studio.show_motion(live.q)
        self._tell(live)
        if now - self._drawn > EVERY or live.stopped:
            self._drawn = now
            self._draw(live)
        if live.stopped:
            self._pause()
            self.play.label = "Start"
        return self.playing

    def _tell(self, live: Live) -> None:
        if live.stopped:
            self.told.content = words.line(live.stopped, "bad")
            return
        if self.pull is not None and self.pull.end is not None:
            self.band.points = np.array([[self.pull.at(self.studio.robot, live.q), self.pull.end]], np.float32)
            self.band.visible = True
            pulled = f", pulled with {words.short(float(np.linalg.norm(self.pull.force)))} N"
        else:
            pulled = ""
        self.told.content = words.line(f"t = {live.t:.1f} s{pulled}")

    def _draw(self, live: Live) -> None:
        seen = live.table(WINDOW)
        joints = live.robot.joint_names[:MOST_LINES]
        aims = [seen.get(f"{j}_wanted", seen[j]) for j in joints]
        self.positions.show(seen["t"], *(seen[j] for j in joints), *aims)
        self.torques.show(seen["t"], *(seen[f"{j}_torque"] for j in joints))
        self.energy.show(seen["t"], seen["kinetic_energy"], seen["potential_energy"])
