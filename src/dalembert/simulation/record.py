"""What a run leaves behind while it runs, what may end it early, and how far it has got."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError
from dalembert.flow import Array, Flow

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from dalembert.simulation.loop import ClosedLoop


PATIENCE = 1.0  # [s] before a bar appears
STABLE = 2.0  # |λ| dt up to which every method here keeps a decaying pole decaying
RESTITUTION = 0.5  # of the speed against a limit comes back
FINISHED, EVENT, DIVERGED, INTERRUPTED = "finished", "event", "diverged", "interrupted"
CONTACT_LOST = "contact lost"


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


# ---------------------------------------------------------------------------------------- how a run ended, in words
def rates_in(flow: Flow, X: Array, Y: Array) -> Array:
    """q̇ of rows (X, Y) of a loop around this flow, (..., n)."""
    n, names = len(flow.states), (*flow.states, *flow.outputs)
    places = [names.index(name) for name in flow.rates]
    found = [X[..., k] if k < n else Y[..., k - n] for k in places]
    return np.stack(found, -1) if found else np.empty((*X.shape[:-1], 0))


def tell_divergence(flow: Flow, t: float, X: Array, Y: Array, remedy: str) -> str:
    """The sentence of a run that diverged: the joint whose rate is largest there."""
    if flow.rates:
        rates = np.abs(rates_in(flow, X, Y))
        rates = np.where(np.isfinite(rates), rates, math.inf)
        k = int(np.argmax(rates))
        what = f"its rate is {rates[k]:.3g}"
        return f"diverged at t = {t:.6g} s in joint {flow.states[k]!r}: {what} there; {remedy}"
    k = int(np.argmax(np.abs(X[: len(flow.states)])))
    return f"diverged at t = {t:.6g} s in {flow.states[k]!r}, which is {X[k]:.3g} there; {remedy}"


def tell_remedy(dt: float, fastest: float) -> str:
    """What may be done about steps that are too long for the fastest decaying pole [1/s]; nothing if they are not."""
    if dt * fastest <= STABLE:
        return ""
    parts = next(n for n in (m * 10**k for k in range(300) for m in (1, 2, 5)) if n * STABLE >= dt * fastest)
    return (
        f"the fastest pole of the loop at the start is {-fastest:.3g} 1/s, and steps of {dt:g} s are too long for it: "
        f"take dt={dt / parts:.12g}"
    )


def tell_bad_input(loop: ClosedLoop, t: float, w: Array) -> str | None:
    """The sentence of an input of the plant, of those w, that is not a finite number."""
    bad = np.flatnonzero(~np.isfinite(w))
    if not len(bad):
        return None
    name = loop.plant.inputs[int(bad[0])]
    said = f"{name!r} is {w[bad[0]]} at t = {t:.6g} s"
    if loop.law is not None and name in loop.commands:
        said += f": so says {loop.law.name!r}, or what it was given; is the position there singular?"
    return said


def tell_bad_command(loop: ClosedLoop, t: float, X: Array) -> str:
    """The sentence of a law whose command in X is not a finite number."""
    assert loop.law is not None
    held = X[loop.ends[1] : loop.ends[3]]
    bad = np.flatnonzero(~np.isfinite(held))
    if not len(bad):
        return f"a state of {loop.law.name!r} is not finite at t = {t:.6g} s"
    name = loop.commands[int(bad[0]) % len(loop.commands)]
    return f"{name!r} is {held[bad[0]]} at t = {t:.6g} s: so says {loop.law.name!r}"


class Progress:
    """Called with the part of a run that is done. `show`: None draws a bar on a terminal once a run takes longer than a
    second, True at once, False never, a function is called with the part done."""

    def __init__(self, show: bool | Callable[[float], object] | None, title: str) -> None:
        if not (show is None or isinstance(show, bool) or callable(show)):
            raise InputError(f"progress is None, True, False or a function of the part done; got {type(show).__name__}")
        self.title, self.began = title, time.monotonic()
        self.hook = show if callable(show) else None
        self.wanted = show is not False and self.hook is None and sys.stderr.isatty()
        self.patience = 0.0 if show is True else PATIENCE
        self.bar: Bar | None = None

    def __call__(self, part: float) -> None:
        if self.hook is not None:
            self.hook(part)
        elif self.wanted and self.bar is None and time.monotonic() - self.began > self.patience and part < 1:
            self._open()
        if self.bar is not None:
            self.bar.update(self.task, completed=part)

    def _open(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            self.wanted = False
            return
        words = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self.bar = Progress(*words, TimeRemainingColumn(), console=Console(file=sys.stderr), transient=True)
        self.task = self.bar.add_task(self.title, total=1.0)
        self.bar.start()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
