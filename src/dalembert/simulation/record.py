"""What a run leaves behind while it runs, and what may end it early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.simulation.loop import Loop
from dalembert.simulation.systems import Plant

Array = NDArray[np.float64]

RESTITUTION = 0.5  # of the speed against a limit comes back
FINISHED, EVENT, DIVERGED, INTERRUPTED = "finished", "event", "diverged", "interrupted"


@dataclass(frozen=True)
class Event:
    """Something that happened at time t [s]; `joint` is the one it happened to."""

    t: float
    joint: str
    message: str


@dataclass(eq=False)
class Record:
    """Rows kept so far: times, states X of the loop, what was observed; why it ended."""

    t: list[Array] = field(default_factory=list)
    X: list[Array] = field(default_factory=list)
    Y: list[Array] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    status: str = FINISHED
    message: str = ""
    evaluations: int = 0
    residual: float = 0.0

    def keep(self, t: Array, X: Array, Y: Array) -> None:
        """Rows at times t; one at the time of the last row takes its place."""
        if len(t):
            self.t.append(np.array(t, float))
            self.X.append(np.array(X, float))
            self.Y.append(np.array(Y, float))

    def end(self, status: str, message: str) -> None:
        self.status, self.message = status, message

    def rows(self) -> tuple[Array, Array, Array]:
        return np.concatenate(self.t), np.concatenate(self.X), np.concatenate(self.Y)


@dataclass(frozen=True, eq=False)
class Fences:
    """Joint limits, looked at while a run goes on: q of `plant` within lower … upper; `stop` there, or go on; with
    `inertia`, M(q), after a bounce."""

    lower: Array
    upper: Array
    names: tuple[str, ...]
    stop: bool
    inertia: Callable[[Array], Array] | None = None

    def margin(self, q: Array) -> Array:
        """(..., n): how far inside, negative beyond a limit, infinite where there is none."""
        return np.minimum(q - self.lower, self.upper - q)

    def bounced(self, q: Array, qd: Array, gained: Array) -> tuple[Array, Array, float]:
        """(q, q̇, the energy lost [J]) after joints at their limits have hit them: q̇⁺ = q̇ − (1 + e) M⁻¹ eₖ q̇ₖ/(M⁻¹)ₖₖ,
        one after the other until none moves on outwards. A joint whose speed was `gained` in the last step lies there:
        e = 0."""
        assert self.inertia is not None
        q, before = np.clip(q, self.lower, self.upper), qd
        M = self.inertia(q)
        inverse = np.linalg.inv(M)
        for _ in range(10 * len(q)):
            outward = np.where(q <= self.lower, -qd, 0.0) + np.where(q >= self.upper, qd, 0.0)
            k = int(np.argmax(outward))
            if outward[k] <= 0:
                break
            e = RESTITUTION if outward[k] > 2.0 * gained[k] else 0.0
            qd = qd - (1.0 + e) * inverse[:, k] * qd[k] / inverse[k, k]
            if e == 0.0:
                qd[k] = 0.0
        return q, qd, float(before @ M @ before - qd @ M @ qd) / 2

    def event(self, t: float, q: Array, joint: int) -> Event:
        name = self.names[joint]
        low = q[joint] - self.lower[joint] < self.upper[joint] - q[joint]
        side, value = ("lower", self.lower[joint]) if low else ("upper", self.upper[joint])
        return Event(t, name, f"joint {name!r} reached its {side} limit {value:.6g} at t = {t:.6g} s")


def positions(plant: Plant, X: Array) -> Array:
    return X[..., : plant.n]


def rates_of(plant: Plant) -> Callable[[Array, Array], Array]:
    """A function of rows (X, Y) that gives q̇."""
    flow = plant.flow
    names = (*flow.states, *flow.outputs)
    columns = [names.index(name) for name in plant.rates]
    n = len(flow.states)

    def rates(X: Array, Y: Array) -> Array:
        found = [X[..., k] if k < n else Y[..., k - n] for k in columns]
        return np.stack(found, -1) if found else np.empty((*X.shape[:-1], 0))

    return rates


def blown(plant: Plant, loop: Loop, t: float, X: Array, Y: Array, remedy: str) -> str:
    """The sentence of a run that diverged: the joint whose rate is largest there."""
    flow = plant.flow
    if plant.rates:
        rates = np.abs(rates_of(plant)(X, Y))
        rates = np.where(np.isfinite(rates), rates, math.inf)
        k = int(np.argmax(rates))
        name, what = flow.states[k], f"its rate is {rates[k]:.3g}"
        return f"diverged at t = {t:.6g} s in joint {name!r}: {what} there; {remedy}"
    k = int(np.argmax(np.abs(X[: loop.nx])))
    return f"diverged at t = {t:.6g} s in {flow.states[k]!r}, which is {X[k]:.3g} there; {remedy}"


def bad_input(loop: Loop, t: float, Y: Array) -> str | None:
    """The sentence of an input of the flow that is not a finite number."""
    first = len(loop.flow.outputs)
    w = Y[first : first + len(loop.flow.inputs)]
    bad = np.flatnonzero(~np.isfinite(w))
    if not len(bad):
        return None
    k = int(bad[0])
    said = f"{loop.flow.inputs[k]!r} is {w[k]} at t = {t:.6g} s"
    if loop.law is not None and loop.flow.inputs[k] in loop.law.outputs:
        said += f": so says {loop.law.name!r}, or what it was given; is the position there singular?"
    return said


def said_by(loop: Loop, t: float, X: Array) -> str:
    """The sentence of a law whose command in X is not a finite number."""
    assert loop.law is not None
    held = X[loop.nx + loop.nz :]
    bad = np.flatnonzero(~np.isfinite(held[: loop.held * (1 + loop.delay)]))
    if not len(bad):
        return f"a state of {loop.law.name!r} is not finite at t = {t:.6g} s"
    name = loop.law.outputs[int(bad[0]) % loop.commands]
    return f"{name!r} is {held[bad[0]]} at t = {t:.6g} s: so says {loop.law.name!r}"
