"""Closing the loops: joint positions at which φ(q) = 0, by Newton's method, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number
from dalembert.errors import InputError, choose

if TYPE_CHECKING:
    from dalembert.constrained.mechanism import ConstrainedSystem

STEPS = 100  # of one start; Newton's method from near needs five
STARTS = 20  # where the first fails, others drawn about it


@dataclass(frozen=True)
class Closure:
    """Closed configurations q (..., n) with their certificate: `closed`, the largest |φ| recomputed at q, steps taken,
    whether they lie within the joint limits, and in words why the search stopped."""

    q: Array
    closed: NDArray[np.bool_]
    residual: Array
    steps: NDArray[np.int64]
    within_limits: NDArray[np.bool_]
    messages: tuple[str, ...]

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether the loops are closed: `closed`."""
        return self.closed

    def __bool__(self) -> bool:
        return bool(self.closed.all())


def close(
    system: ConstrainedSystem, q: ArrayLike | None, fixed: Sequence[str], tolerance: float, strict: bool
) -> Closure:
    """See `Constrained.close`."""
    names = system.joint_names
    for joint in fixed:
        choose("joint", joint, names)
    tolerance = number("tolerance", tolerance, above=0.0)
    start = array("q", system.home if q is None else q, (..., system.nq), meaning="one per position")
    free = [k for k, (name, _) in enumerate(system._velocity_units()) if name not in fixed]
    batch = start.shape[:-1]
    found = np.empty_like(start)
    residual, steps = np.empty(batch), np.zeros(batch, np.int64)
    messages = []
    for index in np.ndindex(batch):
        limit = tolerance * system._scales(start[index])
        found[index], steps[index] = _closed(system, start[index], free, limit)
        phi = system.residual(found[index])
        residual[index] = np.max(np.abs(phi), initial=0.0)
        messages.append(_message(system, found[index], phi, limit))
    closed = np.array([not m for m in messages], bool).reshape(batch)
    if strict and not closed.all():
        where = tuple(int(i) for i in np.argwhere(~closed)[0])
        state = f"state {where} " if where else ""
        text = next(m for m in messages if m)
        raise InputError(
            "infeasible",
            "q",
            start[where] if where else start,
            problem=f"{state}cannot be closed from here{_fixed_text(fixed)}: {text}",
            expected="near a closed configuration",
        )
    limits = system.limits
    within = ((found >= limits.lower - 1e-9) & (found <= limits.upper + 1e-9)).all(-1)
    said = tuple(m or "closed" for m in messages)
    return Closure(found, closed, residual, steps, np.asarray(within), said)


def _fixed_text(fixed: Sequence[str]) -> str:
    return f" with {', '.join(map(repr, fixed))} held" if fixed else ""


def _message(system: ConstrainedSystem, q: Array, phi: Array, limit: Array) -> str:
    """Empty if q is closed, else what is wrong with it."""
    worst = int(np.argmax(np.abs(phi) / limit))
    if not abs(phi[worst]) <= limit[worst]:
        return (
            f"the nearest configuration found leaves {system.rows[worst]!r} off by {abs(phi[worst]):.3g}, which is "
            f"more than {limit[worst]:.3g}; set tolerance= if rounded numbers in the file explain that. Otherwise the "
            "parts do not reach, or another start is needed"
        )
    wrong = system._find_reversed(q)
    return f"{wrong!r} closes only the wrong way round, half a turn off; another start is needed" if wrong else ""


def _closed(system: ConstrainedSystem, start: Array, free: list[int], limit: Array) -> tuple[Array, int]:
    """From the start; if that fails, from others about it, ever further. The best found."""
    rng = np.random.default_rng(0)
    spread = np.where([unit == "rad" for _, unit in system._velocity_units()], np.pi, 0.5)
    best, best_error, taken = start, np.inf, 0
    for trial in range(STARTS):
        q = start.copy()
        if trial:
            step = np.zeros(system.nv)
            step[free] = (rng.uniform(-1, 1, system.nv) * spread * trial / STARTS)[free]
            q = system.moved(q, step)
        q, count = newton(system, q, free, limit)
        taken += count
        error = float(np.max(np.abs(system.residual(q)) / limit, initial=0.0))
        if error <= 1 and system._find_reversed(q) is None:
            return q, taken
        if error < best_error:
            best, best_error = q, error
    return best, taken


def newton(system: ConstrainedSystem, q: Array, free: list[int], limit: Array) -> tuple[Array, int]:
    """Gauss–Newton steps of least norm, shortened until the error falls."""
    phi = system.residual(q)
    error = float(phi @ phi)
    for count in range(STEPS):
        if (np.abs(phi) <= limit).all() or not free:
            return q, count
        step = np.zeros(system.nv)
        step[free] = -np.linalg.lstsq(system.jacobian(q)[:, free], phi, rcond=1e-9)[0]
        step *= min(1.0, system._max_step / max(float(np.max(np.abs(step))), 1e-300))
        while True:
            tried = system.residual(system.moved(q, step))
            if float(tried @ tried) < error:
                break
            step *= 0.5
            if np.max(np.abs(step)) < 1e-15:
                return q, count + 1
        q = system.moved(q, step)
        phi, error = tried, float(tried @ tried)
    return q, STEPS
