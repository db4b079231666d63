"""Motions along which energy is booked: prescribed ones, whose torques are known exactly, and simulated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.trust.properties.mechanism import Mechanism

Array = NDArray[np.float64]
ROWS = 2001
DURATION = 4.0  # [s]
FASTEST = 4.0  # [rad/s] of a swing
INTEGRATED = 1e-6  # relative gap of an integral over a motion that is the quadrature's
EVEN = 1e-9  # of a step: times that differ by less are evenly spaced
# ∫ over one step of the cubic through four neighbors, in steps: inside, and at the two ends.
INSIDE, END = np.array([-1.0, 13.0, 13.0, -1.0]) / 24, np.array([9.0, 19.0, -5.0, 1.0]) / 24


@dataclass(frozen=True, eq=False)
class Motion:
    """t (T,), q, qd, qdd (T, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


def swing(mechanism: Mechanism, seed: int = 0, duration: float = DURATION, rows: int = ROWS) -> Motion:
    """Two sines for each coordinate, within its limits: q(t) = q_m + Σ a sin(ω t + φ)."""
    rng = np.random.default_rng(seed)
    n, t = mechanism.n, np.linspace(0.0, duration, rows)
    ends = mechanism.draw(256, rng)
    low, high = ends.min(0), ends.max(0)
    middle, room = (low + high) / 2, (high - low) / 2
    a = np.minimum(0.45 * room, 1.5) * rng.uniform(0.5, 1.0, (2, n))
    w, phase = rng.uniform(1.0, FASTEST, (2, n)), rng.uniform(0, 2 * np.pi, (2, n))
    angle = w * t[:, None, None] + phase
    q = middle + (a * np.sin(angle)).sum(1)
    return Motion(t, q, (a * w * np.cos(angle)).sum(1), (-a * w * w * np.sin(angle)).sum(1))


def cumulative(t: Array, f: Array) -> Array:
    """∫₀ᵗ f dt at every time, (T, ...): fourth order where times are evenly spaced, trapezoids where not."""
    h = np.diff(t)
    out = np.zeros_like(f)
    shape = (-1,) + (1,) * (f.ndim - 1)
    if len(t) < 4 or np.ptp(h) > EVEN * h.max():
        pieces = 0.5 * h.reshape(shape) * (f[1:] + f[:-1])
    else:
        step = float(h[0])
        windows = np.stack([f[k : len(f) - 3 + k] for k in range(4)], -1)
        pieces = step * np.concatenate(
            [np.tensordot(END, f[:4], 1)[None], windows @ INSIDE, np.tensordot(END, f[-4:][::-1], 1)[None]]
        )
    out[1:] = np.cumsum(pieces, 0)
    return out


def checked_run(run: Any) -> Any:
    """A Run of `simulate` that keeps energy books."""
    from dalembert.simulation.run import Run

    if not isinstance(run, Run):
        raise InputError(f"run must be what dalembert.simulate gives, got {type(run).__name__}")
    if "work" not in run.columns or not run.groups["energies"]:
        raise InputError(f"the run of {run.name!r} keeps no energy books: simulate the Robot itself")
    return run
