"""Playback of a log: the robot where it was, measured torques against the model's."""

from __future__ import annotations

import time
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.apps.studio import words
from dalembert.apps.studio.logs import Recording, recording, uploaded
from dalembert.apps.studio.panel import Panel, real
from dalembert.apps.studio.plots import Plot

if TYPE_CHECKING:
    from dalembert.apps.studio.studio import Studio

FEW_NOTES = 4


class LogPanel(Panel):
    """A recorded motion."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self.log: Recording | None = None
        self.playing = False
        self._before = 0.0
        self.upload = self.gui.add_upload_button(
            "Open a log", icon="upload", hint="CSV, npz or Parquet: times, positions and torques of the joints."
        )

        def arrived(event: Any) -> None:
            file = event.target.value
            studio.worker.post("log", lambda: self.open(uploaded(file.name, file.content, studio.loaded)))

        self.upload.on_upload(arrived)
        self.told = self.gui.add_html(words.line("No log is open."))
        self.play = self.press(self.gui.add_button("Play", icon="player-play", color="green"), self.toggle)
        self.time = self.gui.add_slider("t [s]", 0.0, 1.0, 0.01, 0.0)
        self.speed = self.gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self.watch(self.time, lambda x: self.seek(real(x)))
        joints = studio.robot.joint_names or ("–",)
        self.joint = self.gui.add_dropdown("joint", joints, initial_value=joints[0])
        self.watch(self.joint, lambda _: self._draw())
        self.plot = Plot(self.gui, "torque, dashed: the model's [N m, N]", ("measured",), ("model",), height=220)
        self.table = self.gui.add_html("")
        self._ready(False)

    def _ready(self, on: bool) -> None:
        for handle in (self.play, self.time, self.speed, self.joint):
            handle.disabled = not on

    # ---------------------------------------------------------------------------------------------------------- its log
    def load(self, source: str | PathLike[str]) -> None:
        """A log of a file on this machine."""
        self.open(recording(source, self.studio.loaded))

    def open(self, log: Recording) -> None:
        self.log = log
        self.time.max, self.time.value = round(max(log.duration, 0.01), 2), 0.0
        if str(self.joint.value) not in log.joints:
            self.joint.value = log.joints[0]
        said = [words.line(f"{log.source}: {len(log.t)} samples over {log.duration:.2f} s")]
        said += [words.line(note) for note in log.notes[:FEW_NOTES]]
        self.told.content = "".join(said)
        rows = [
            (name, words.short(rms), words.short(left), f"{100 * part:.1f} %")
            for name, rms, left, part in log.residuals()
        ]
        self.table.content = words.table(("joint", "measured rms", "rms of what is left", "explained"), rows)
        self._ready(True)
        self._draw()
        self.seek(0.0)

    def toggle(self) -> None:
        if self.log is None:
            return
        self.playing = not self.playing
        self.play.label = "Pause" if self.playing else "Play"
        if self.playing:
            self.studio.watched("log")
            if real(self.time.value) >= self.log.duration - 1e-9:
                self.time.value = 0.0
            self._before = time.monotonic()
            self.studio.worker.start_beating()

    def pause(self) -> None:
        self.playing = False
        self.play.label = "Play"

    def seek(self, t: float) -> None:
        """The robot where it was at that time."""
        if self.log is not None:
            self.studio.watched("log")
            self.studio.show_motion(self.log.at(t))

    def beat(self) -> bool:
        if self.log is None or not self.playing:
            return False
        now = time.monotonic()
        passed, self._before = now - self._before, now
        t = min(real(self.time.value) + real(self.speed.value) * passed, self.log.duration)
        self._clock(t)
        if t >= self.log.duration:
            self.pause()
        return self.playing

    def _clock(self, t: float) -> None:
        assert self.log is not None
        self.time.value = t
        self.studio.show_motion(self.log.at(t))

    def _draw(self) -> None:
        log, name = self.log, str(self.joint.value)
        if log is None or name not in log.joints:
            return
        k = log.joints.index(name)
        self.plot.show(log.t, log.measured[:, k], log.model[:, k])
        self.plot.handle.title = f"{name}: torque, dashed: the model's"
        assert np.isfinite(log.model).all()
