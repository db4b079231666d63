"""The tab of logs: a recorded motion played back, and what its drives gave beside what the model says."""

from __future__ import annotations

import time
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from dalembert.apps.studio import messages
from dalembert.apps.studio.panel import Panel, Plot, real
from dalembert.arguments import Array
from dalembert.constrained.system import Constrained
from dalembert.control.controller import supporting_joints
from dalembert.errors import InputError
from dalembert.identification.fit.robot import predict_torques
from dalembert.identification.log.prepare import prepare
from dalembert.identification.log.read import read_log
from dalembert.robot import Robot

if TYPE_CHECKING:
    from viser import GuiEvent, GuiUploadButtonHandle

    from dalembert.apps.studio.studio import Studio

LARGEST = 64 << 20  # bytes of a log that a page may send
FEW_NOTES = 4


@dataclass(frozen=True, eq=False)
class Recording:
    """Times t (N,) [s] from zero, positions q, measured torques and those of the model, (N, n) each; `joints` names
    those whose torques are compared, `notes` what was done to the log."""

    t: Array
    q: Array
    measured: Array
    model: Array
    joints: tuple[str, ...]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    def at(self, time: float) -> Array:
        """Joint positions at a time, between samples as the line between them.  (n,)."""
        return np.array([np.interp(time, self.t, column) for column in self.q.T])

    def residuals(self) -> list[tuple[str, float, float, float]]:
        """(joint, rms of the measured torque, rms of measured − model, share of the variance that the model
        explains)."""
        rows = []
        for name, a, b in zip(self.joints, self.measured.T, self.model.T, strict=True):
            rms, left, spread = (float(np.sqrt(np.mean(x**2))) for x in (a, a - b, a - a.mean()))
            rows.append((name, rms, left, 1 - (left / spread) ** 2 if spread > 0 else float("nan")))
        return rows


def read_recording(source: str | Path, robot: Robot, name: str = "") -> Recording:
    """A log read, filtered and differentiated, and the torques of inverse dynamics for its motion, with friction."""
    log = read_log(source, robot)
    samples = prepare(log)
    system = Constrained(robot) if robot.loops else None
    if system is None:
        joints, k = robot.joint_names, slice(None)
        model = predict_torques(robot, samples)
    else:
        joints = supporting_joints(robot, system, samples.q[0])
        k = [robot.joint_names.index(joint) for joint in joints]  # type: ignore[assignment]
        # A measured motion closes the loops only as well as it was measured.
        model = system.inverse_dynamics(samples.q, samples.qd, samples.qdd, actuated=joints, tolerance=None)
    notes = (*log.notes, *samples.notes)
    t = samples.t - samples.t[0]
    return Recording(t, samples.q, samples.tau[:, k], np.asarray(model)[:, k], joints, name or log.source, notes)


def read_upload(name: str, content: bytes, robot: Robot) -> Recording:
    """The same of a file that a page sent: only its ending counts of its name."""
    if len(content) > LARGEST:
        raise InputError(f"{name} has {len(content) >> 20} MiB; a log of up to {LARGEST >> 20} MiB is read here")
    with TemporaryDirectory(prefix="dalembert-") as folder:
        file = Path(folder) / f"log{Path(name).suffix.lower() or '.csv'}"
        file.write_bytes(content)
        try:
            return read_recording(file, robot, name)
        except InputError as error:
            raise InputError(str(error).replace(str(file), name)) from None


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

        def arrived(event: GuiEvent[GuiUploadButtonHandle]) -> None:
            file = event.target.value
            studio.worker.post("log", lambda: self.open(read_upload(file.name, file.content, studio.loaded)))

        self.upload.on_upload(arrived)
        self.told = self.gui.add_html(messages.line("No log is open."))
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
        self.open(read_recording(Path(source), self.studio.loaded))

    def open(self, log: Recording) -> None:
        self.log = log
        self.time.max, self.time.value = round(max(log.duration, 0.01), 2), 0.0
        if str(self.joint.value) not in log.joints:
            self.joint.value = log.joints[0]
        said = [messages.line(f"{log.source}: {len(log.t)} samples over {log.duration:.2f} s")]
        said += [messages.line(note) for note in log.notes[:FEW_NOTES]]
        self.told.content = "".join(said)
        rows = [
            (name, messages.short(rms), messages.short(left), f"{100 * part:.1f} %")
            for name, rms, left, part in log.residuals()
        ]
        self.table.content = messages.table(("joint", "measured rms", "rms of what is left", "explained"), rows)
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
