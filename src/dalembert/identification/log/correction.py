"""`Correction`: how a log should have been read, as one thing that can be applied and put into words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.identification.log import times
from dalembert.identification.log.samples import Log
from dalembert.identification.log.settings import UNITS
from dalembert.robot import Robot
from dalembert.words import assign

Numbers = tuple[float, ...]
Order = tuple[int, ...]


@dataclass(frozen=True)
class Correction:
    """How a log should have been read: column j of positions, rates and torques is `factor`_j times what column
    `order`_j was (signs are in the factors); times are `time` times as long, so that the rate is `rate` [Hz]; torques
    came `lag` [s, of the corrected clock] late; `gravity` [m/s²] is the base's. Without effect, it is false."""

    q_order: Order
    tau_order: Order
    q_factor: Numbers
    qd_factor: Numbers
    tau_factor: Numbers
    time: float = 1.0
    lag: float = 0.0
    gravity: Numbers | None = None
    rate: float | None = None

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

        def both(name: str, order: Order) -> Numbers:
            mine, more = getattr(self, name), getattr(other, name)
            return tuple(mine[k] * x for k, x in zip(order, more, strict=True))

        return Correction(
            tuple(self.q_order[k] for k in other.q_order),
            tuple(self.tau_order[k] for k in other.tau_order),
            both("q_factor", other.q_order),
            both("qd_factor", other.q_order),
            both("tau_factor", other.tau_order),
            self.time * other.time,
            self.lag * other.time + other.lag,
            self.gravity if other.gravity is None else other.gravity,
            self.rate if other.rate is None else other.rate,
        )

    def apply(self, robot: Robot, log: Log) -> tuple[Robot, Log]:
        """The robot under the right gravity, and the log as it should have been read."""
        if not self:
            return robot, log
        q, tau = log.q[:, self.q_order] * self.q_factor, log.tau[:, self.tau_order] * self.tau_factor
        qd = None if log.qd is None else log.qd[:, self.q_order] * self.qd_factor
        t = log.t if self.time == 1.0 else log.t[0] + self.time * (log.t - log.t[0])
        said = " ".join(assign(name, value) for name, value in self.settings().items())
        notes = (*log.notes, f"corrected by the first look: {said}")
        corrected = times.shift_torques(replace(log, t=t, q=q, tau=tau, qd=qd, notes=notes), self.lag)
        return robot if self.gravity is None else robot.with_gravity(self.gravity), corrected

    def settings(self) -> dict[str, Any]:
        """Return the settings with which `read_log` reads the log so."""
        said: dict[str, Any] = {}
        for group in ("q", "qd", "tau"):
            factor = np.array(getattr(self, f"{group}_factor"))
            size, sign = np.abs(factor), np.sign(factor)
            if (sign < 0).any():
                said.setdefault("sign", {})[group] = -1 if (sign < 0).all() else [int(x) for x in sign]
            if (other := size[size != 1]).size:
                unit = next((u for u, x in UNITS[group].items() if x != 1 and np.allclose(other, x, rtol=1e-6)), None)
                if unit is not None:
                    said.setdefault("units", {})[group] = unit
                else:
                    ratios = [float(f"{x:.5g}") for x in (size if group == "tau" else 1 / size)]
                    said.setdefault("ratio", {})[group] = ratios if len(set(ratios)) > 1 else ratios[0]
        for group, order in (("q", self.q_order), ("tau", self.tau_order)):
            if order != tuple(range(self.n)):
                said.setdefault("order", {})[group] = [k + 1 for k in order]
        if self.rate is not None:
            said |= {"columns": {"t": None}, "rate": float(f"{self.rate:.6g}")}
        if self.lag:
            said["lag"] = float(f"{self.lag:.4g}")
        if self.gravity is not None:
            said["gravity"] = [float(f"{x:.4g}") + 0.0 for x in self.gravity]
        return said
