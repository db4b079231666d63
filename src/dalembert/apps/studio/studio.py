"""`Studio`: a robot on a page in the browser, and everything that is done to it there.

The state lives here, in one thread (`worker`); pages only show it. So a page that is loaded again, or opened twice,
shows the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from os import PathLike
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dalembert.apps.studio import messages, server
from dalembert.apps.studio.export import ExportPanel
from dalembert.apps.studio.load import LoadPanel, Payload, holding
from dalembert.apps.studio.log import LogPanel
from dalembert.apps.studio.pose import PosePanel, Posture
from dalembert.apps.studio.run import RunPanel
from dalembert.apps.studio.scene import Scene
from dalembert.apps.studio.worker import Worker
from dalembert.arguments import Array, switch
from dalembert.draw.scene import read_posture
from dalembert.errors import DalembertError
from dalembert.robot import Robot, need_robot
from dalembert.spatial.rotation import to_rpy

TELL = 0.25  # [s] between two looks at numbers and words while the robot moves
BRAND = (47, 111, 176)
WIDTH = 320.0  # of the panel [px]


class StudioOptions(TypedDict, total=False):
    """What a `Studio` may be given."""

    host: str
    port: int
    q: ArrayLike | None
    log: str | PathLike[str] | None
    origins: Sequence[str]
    package_dirs: Sequence[str | PathLike[str]]
    plain: bool


class Studio:
    """A robot's page, served at `url` until `stop()`; a context manager.

    host, port: where it listens; port 0 takes one that is free, a port that is taken is an error. Pages of other
    origins than its own are refused, but for `origins` ("https://name:port"). `q`: where the robot begins. `log`: a
    file to play back. `package_dirs`: folders in which meshes of package://… are looked for. `plain`: no shadows and no
    soft light, for machines without a graphics card."""

    def __init__(
        self,
        robot: Robot,
        *,
        host: str = server.LOOPBACK,
        port: int = server.PORT,
        q: ArrayLike | None = None,
        log: str | PathLike[str] | None = None,
        origins: Sequence[str] = (),
        package_dirs: Sequence[str | PathLike[str]] = (),
        plain: bool = False,
    ) -> None:
        need_robot(robot, "a studio")
        server.viser()  # refused in words before anything else is done
        self.robot = self.loaded = robot
        self.plain = switch("plain", plain)
        self.payload = Payload()
        self.posture = Posture(robot, q)
        self.start = self.posture.q.copy()
        self.shown = self.posture.q.copy()
        self.mode: str | None = None  # None: posing; "run": simulation; "log": playback
        self._told = 0.0
        self._said: list[str] = []
        self.server = server.serve(host, port, f"Dalembert · {robot.name}", origins)
        self.host, self.port = host, int(self.server.get_port())
        try:
            self._build(package_dirs)
            self.worker = Worker(self._beat, self._failed)
            self.worker.call(self.refresh)
            if log is not None:
                self.worker.call(lambda: self.log.load(log))
        except BaseException:
            self.stop()
            raise

    def _build(self, package_dirs: Sequence[str | PathLike[str]]) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDTH)
        self.scene = Scene(self.server, self.robot, self.posture.q, package_dirs)
        # The worker is made after the page, and panels post to it only when somebody does something there.
        self.top = gui.add_html("")
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self.pose = PosePanel(self)
        with tabs.add_tab("Load"):
            self.load = LoadPanel(self)
        with tabs.add_tab("Simulate"):
            self.run = RunPanel(self)
        with tabs.add_tab("Log"):
            self.log = LogPanel(self)
        with tabs.add_tab("Export"):
            self.export = ExportPanel(self)

    # ------------------------------------------------------------------------------------------------------ for Python
    @property
    def url(self) -> str:
        return server.url_of(self.host, self.port)

    @property
    def q(self) -> Array:
        """Where the robot is shown, (nq,)."""
        return self.worker.call(lambda: self.shown.copy())

    def move(self, q: ArrayLike) -> None:
        """Puts the robot there, or while it is simulated its set point; of a closed chain the nearest that closes."""
        wanted = read_posture(self.robot, q)
        self.worker.call(lambda: self._posed(self.posture.put(wanted)))

    def state(self) -> dict[str, object]:
        """What is seen, as plain data: names, joint positions, the tip's pose, payload, torques that hold it."""
        q, frame = self.shown, self.posture.frame
        try:
            names, tau = holding(self.robot, q, self.payload, frame, self.posture.system)
            held = dict(zip(names, tau.tolist(), strict=True))
        except DalembertError:
            held = {}
        return {
            "robot": self.robot.name,
            "mode": self.mode or "pose",
            "q": dict(zip(self.robot.model.names("position"), q.tolist(), strict=True)),
            "tip": {"frame": frame, "pose": np.asarray(self.robot.fk(q, frame)).tolist()},
            "payload": {"mass": self.payload.mass, "com": list(self.payload.com)},
            "holding_torques": held,
            "warnings": [*self.scene.look.notes, *self._warnings(q)],
        }

    def stop(self) -> None:
        """Closes the page; nothing listens any more."""
        if hasattr(self, "worker"):
            self.worker.stop()
        with server.quiet():
            self.server.stop()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Studio of {self.robot.name!r} at {self.url}>"

    # ------------------------------------------------------------------------------------ what panels ask for (worker)
    def turn(self, joint: int, value: float) -> None:
        """One position where its slider is; that of a robot in motion which no drive moves is put there."""
        live = self.run.live
        if live is not None and joint not in [c.position for c in self.robot.model.drives]:
            live.x[joint] = value
        self._posed(self.posture.turn(joint, value))

    def reach(self, T: Array, orientation: bool) -> None:
        """The tip where it is dragged."""
        self._posed(self.posture.reach(T, orientation))

    def home(self) -> None:
        self._posed(self.posture.put(self.start))

    def leave(self, q: Array) -> None:
        """The robot stays where a simulation left it."""
        self._posed(self.posture.put(q))

    def carry(self, payload: Payload) -> None:
        self.payload = payload
        self.loaded = payload.on(self.robot, self.posture.frame)
        self.scene.weigh(self.loaded)
        if self.run.live is not None and not self.robot.loops:
            self.run.live.payload = payload
        self.refresh()

    def watched(self, mode: str | None) -> None:
        """Posing, simulation and playback take turns."""
        if mode != "log":
            self.log.pause()
        if mode == "log" and self.run.live is not None:
            self.run.stop()
        self.mode = mode

    def say(self, text: str) -> None:
        """A sentence on every page, for a while."""
        for client in self.server.get_clients().values():
            client.add_notification("Dalembert", text, auto_close_seconds=8.0, color="orange")

    def _posed(self, said: str) -> None:
        self._said = [said] if said else []
        if self.mode == "log":
            self.watched(None)
        if self.mode == "run" and self.run.live is not None:
            self.run.aim()
            self.pose.show(self.shown, self.posture.q)
        else:
            self.refresh()

    # ---------------------------------------------------------------------------------------------------- what is seen
    def refresh(self) -> None:
        """Everything as it is now."""
        self._told = 0.0
        if self.mode is None:
            self.shown = self.posture.q.copy()
        self._show()

    def show_motion(self, q: Array) -> None:
        """The robot in the middle of a motion; numbers follow less often."""
        self.shown = np.array(q, float)
        if self.mode == "log":
            self.posture.q = self.shown.copy()
        self._show()

    def _show(self) -> None:
        q = self.shown
        self.scene.show(q)
        now = time.monotonic()
        if now - self._told < TELL:
            return
        self._told = now
        self.pose.show(q, self.posture.q)
        weak = self.load.show(q)
        self.export.show(q)
        self._tell([*self._said, *weak])

    def _warnings(self, q: Array) -> list[str]:
        kind, sentence = messages.singularity(self.robot, q, self.posture.frame, self.posture.system)
        return [*([sentence] if kind in ("bad", "near") else []), *messages.at_limits(self.robot, q)]

    def _tell(self, more: list[str]) -> None:
        kind, text = messages.singularity(self.robot, self.shown, self.posture.frame, self.posture.system)
        said = [messages.line(text, kind)]
        said += [messages.line(text, "near") for text in (*more, *messages.at_limits(self.robot, self.shown))]
        said += [messages.line(note, "near") for note in self.scene.look.notes[:3]]
        if more_notes := self.scene.look.notes[3:]:
            said.append(messages.line(f"… and {len(more_notes)} more shapes that could not be drawn", "near"))
        self.top.content = "".join(said)

    def tip_words(self, T: Array) -> str:
        """Where the tip is, in a line."""
        xyz = ", ".join(messages.short(float(x), 4) for x in T[:3, 3])
        rpy = ", ".join(messages.short(float(np.degrees(a)), 4) for a in to_rpy(T[:3, :3].tolist()))
        return messages.line(f"at ({xyz}) m, rpy ({rpy})°")

    # ------------------------------------------------------------------------------------------------------ the worker
    def _beat(self) -> bool:
        running, playing = self.run.beat(), self.log.beat()
        return running or playing

    def _failed(self, error: Exception) -> None:
        if not isinstance(error, DalembertError):
            logging.getLogger("dalembert.apps.studio").exception("the studio failed", exc_info=error)
        self.say(str(error) if isinstance(error, DalembertError) else f"the studio failed: {error}")
