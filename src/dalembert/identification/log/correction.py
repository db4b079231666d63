"""`Correction`: how a log should have been read, as one thing that can be applied and put into words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.log import times
from dalembert.identification.log.samples import Log
from dalembert.identification.log.units import DEGREE
from dalembert.robot import Robot

Array = NDArray[np.float64]
Numbers = tuple[float, ...]
Order = tuple[int, ...]
# Units that a common factor of a group gives away: what the log is in, if it was taken for SI.
UNITS = {
    "q": {"deg": DEGREE, "turn": 2 * np.pi, "mm": 1e-3},
    "qd": {"deg/s": DEGREE, "rpm": np.pi / 30, "mm/s": 1e-3},
    "tau": {"mNm": 1e-3},
}


@dataclass(frozen=True)
class Correction:
    """How a log should have been read: column j of positions, rates and torques is `factor`_j times what column
    `order`_j was (signs are in the factors); times are `time` times as long; torques came `lag` [s, of the corrected clock] late;
    `gravity` [m/s²] is the base's. Without effect, it is false."""

    q_order: Order
    tau_order: Order
    q_factor: Numbers
    qd_factor: Numbers
    tau_factor: Numbers
    time: float = 1.0
    lag: float = 0.0
    gravity: tuple[float, float, float] | None = None

    @classmethod
    def none(cls, n: int) -> Correction:
        same, ones = tuple(range(n)), (1.0,) * n
        return cls(same, same, ones, ones, ones)

    @property
    def n(self) -> int:
        return len(self.q_order)

    def __bool__(self) -> bool:
        return self != Correction.none(self.n)

    def then(self, other: Correction) -> Correction:
        """This one first, the other after it."""
        return Correction(
            tuple(self.q_order[k] for k in other.q_order),
            tuple(self.tau_order[k] for k in other.tau_order),
            tuple(self.q_factor[k] * x for k, x in zip(other.q_order, other.q_factor, strict=True)),
            tuple(self.qd_factor[k] * x for k, x in zip(other.q_order, other.qd_factor, strict=True)),
            tuple(self.tau_factor[k] * x for k, x in zip(other.tau_order, other.tau_factor, strict=True)),
            self.time * other.time,
            self.lag * other.time + other.lag,
            self.gravity if other.gravity is None else other.gravity,
        )

    def apply(self, robot: Robot, log: Log) -> tuple[Robot, Log]:
        """The robot under the right gravity, and the log as it should have been read."""
        q = log.q[:, self.q_order] * self.q_factor
        qd = None if log.qd is None else log.qd[:, self.q_order] * self.qd_factor
        tau = log.tau[:, self.tau_order] * self.tau_factor
        t = log.t if self.time == 1.0 else log.t[0] + self.time * (log.t - log.t[0])
        if self.lag:
            step = times.common_step(t, log.source)
            parts = times.pieces(t, step)
            inside = np.concatenate(
                [(t[p] + self.lag >= t[p][0]) & (t[p] + self.lag <= t[p][-1] + 1e-9 * step) for p in parts]
            )
            tau = np.concatenate([times.interpolate(t[p], tau[p], t[p] + self.lag) for p in parts])
            t, q, tau, qd = t[inside], q[inside], tau[inside], None if qd is None else qd[inside]
        said = " ".join(f"{option} {value}" for option, value in self.words(log).items())
        notes = (*log.notes, f"corrected by the first look: {said}") if self else log.notes
        corrected = replace(log, t=t, q=q, tau=tau, qd=qd, notes=notes)
        return robot if self.gravity is None else robot.with_gravity(self.gravity), corrected

    def words(self, log: Log | None = None) -> dict[str, str]:
        """Options of the command line and their values that read the log so. What is about the rate needs the log."""
        words: dict[str, list[str]] = {}
        for group, factor in (("q", self.q_factor), ("qd", self.qd_factor), ("tau", self.tau_factor)):
            for option, value in _factor_words(group, np.array(factor)).items():
                words.setdefault(option, []).append(f"{group}={value}")
        for group, order in (("q", self.q_order), ("tau", self.tau_order)):
            if order != tuple(range(self.n)):
                words.setdefault("--order", []).append(f"{group}={','.join(str(k + 1) for k in order)}")
        found = {option: " ".join(values) for option, values in words.items()}
        if self.time != 1.0:
            found["--rate"] = (
                f"{1 / (self.time * times.common_step(log.t)):.6g}" if log is not None else f"×{1 / self.time:.6g}"
            )
        if self.lag:
            found["--lag"] = f"{self.lag:.4g}"
        if self.gravity is not None:
            found["--gravity"] = ",".join(f"{x + 0.0:.4g}" for x in self.gravity)
        return found


def _factor_words(group: str, factor: Array) -> dict[str, str]:
    """Sign, unit or ratio of a group, as options."""
    words = {}
    size, sign = np.abs(factor), np.sign(factor)
    if (sign < 0).any():
        words["--sign"] = "-1" if (sign < 0).all() else ",".join(f"{s:.0f}" for s in sign)
    other = size[size != 1.0]
    if len(other):
        unit = next((u for u, x in UNITS[group].items() if np.allclose(other, x, rtol=1e-6)), None)
        values = size if group == "tau" else 1 / size
        alike = np.allclose(values, values[0], rtol=1e-9)
        plain = f"{values[0]:.5g}" if alike else ",".join(f"{x:.5g}" for x in values)
        words.update({"--units": unit} if unit is not None else {"--ratio": plain})
    return words
