"""A log beside the model: where the robot was, what its drives gave, and what the model says they should have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio.loads import drives
from dalembert.constrained.system import Constrained
from dalembert.errors import InputError
from dalembert.identification.log.prepare import prepare
from dalembert.identification.log.read import read_log
from dalembert.robot import Robot

Array = NDArray[np.float64]
LARGEST = 64 << 20  # bytes of a log that a page may send


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


def recording(source: Any, robot: Robot, name: str = "", **options: Any) -> Recording:
    """A log read, filtered and differentiated, and the torques of inverse dynamics for its motion, with friction."""
    log = read_log(source, robot, **options)
    samples = prepare(log)
    system = Constrained(robot) if robot.loops else None
    if system is None:
        joints, k = robot.joint_names, slice(None)
        model = robot.inverse_dynamics(samples.q, samples.qd, samples.qdd, friction=True)
    else:
        joints = drives(robot, system, samples.q[0])
        k = [robot.joint_names.index(joint) for joint in joints]  # type: ignore[assignment]
        # A measured motion closes the loops only as well as it was measured.
        model = system.inverse_dynamics(samples.q, samples.qd, samples.qdd, actuated=joints, tolerance=None)
    notes = (*log.notes, *samples.notes)
    t = samples.t - samples.t[0]
    return Recording(t, samples.q, samples.tau[:, k], np.asarray(model)[:, k], joints, name or log.source, notes)


def uploaded(name: str, content: bytes, robot: Robot) -> Recording:
    """The same of a file that a page sent: only its ending counts of its name."""
    if len(content) > LARGEST:
        raise InputError(f"{name} has {len(content) >> 20} MiB; a log of up to {LARGEST >> 20} MiB is read here")
    with TemporaryDirectory(prefix="dalembert-") as folder:
        file = Path(folder) / f"log{Path(name).suffix.lower() or '.csv'}"
        file.write_bytes(content)
        try:
            return recording(file, robot, name)
        except InputError as error:
            raise InputError(str(error).replace(str(file), name)) from None
