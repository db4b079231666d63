"""One system, one law and what lies between them, over any scalar: the closed loop that `simulate` runs.

    y = quantized(measured x + noise)      sensors, once per sample
    u = act(t, y, r, z, p)                 the law
    w = clip(u held and delayed + τ(t), limits) + d(t)      what reaches the system
    ẋ = f(t, x, w)

The state of the loop is X = (x, z, held, waiting, books): the system's and the law's states; the command that is held
between samples; those that are on their way (a delay of d samples is a shift register of d commands); work done on the
system and lost in it [J], integrated with the rest, so that the energy audit is a quadrature of the method itself.
A law without sample time is continuous: it is evaluated wherever the method wants a rate, and `held` is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.caching import cached_property
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.law import Law
from dalembert.scalar import where
from dalembert.simulation.limits import Limits, clipped
from dalembert.simulation.systems import LOSS, SUPPLY

# x + ROUND − ROUND is x rounded to a whole number, for |x| < 2⁵¹: beyond the point no bits are left.
ROUND = 1.5 * 2.0**52


@dataclass(frozen=True)
class Signals:
    """What the loop is given of the world at one instant, as one block: (τ, wrench, disturbance, reference), each there
    or not."""

    tau: int = 0
    f_tip: int = 0
    disturbance: int = 0
    reference: int = 0

    @property
    def size(self) -> int:
        return self.tau + self.f_tip + self.disturbance + self.reference

    def split(self, s: Scalars) -> tuple[Scalars, Scalars, Scalars, Scalars]:
        a, b = self.tau, self.tau + self.f_tip
        c = b + self.disturbance
        return s[:a], s[a:b], s[b:c], s[c : c + self.reference]


@dataclass(frozen=True, eq=False)
class Loop:
    """See above. `follow(t)` is the reference over scalars, None where it is among the signals. `sample` is the law's
    sample time [s], None for a continuous law; `delay` counts samples. `limits` are (lower, upper) per drive;
    `quantization` per measured state, 0 for none; `noisy`: the sensors are given noise."""

    flow: Flow
    drives: int
    signals: Signals = Signals()
    law: Law | None = None
    follow: Callable[[Scalar], Sequence[Scalar]] | None = None
    sample: float | None = None
    delay: int = 0
    limits: Limits | None = None
    quantization: tuple[float, ...] | None = None
    noisy: bool = False

    # ------------------------------------------------------------------------------------------------ what X holds
    @cached_property
    def nx(self) -> int:
        return len(self.flow.states)

    @cached_property
    def nz(self) -> int:
        return len(self.law.states) if self.law else 0

    @cached_property
    def commands(self) -> int:
        return len(self.law.outputs) if self.law else 0

    @cached_property
    def held(self) -> int:
        return self.commands if self.sample is not None else 0

    @cached_property
    def supply(self) -> int | None:
        """Which output of the flow is the power that comes in."""
        return next((k for k, name in enumerate(self.flow.outputs) if name in SUPPLY), None)

    @cached_property
    def losses(self) -> tuple[int, ...]:
        return tuple(k for k, name in enumerate(self.flow.outputs) if name.endswith(LOSS))

    @cached_property
    def books(self) -> int:
        return 0 if self.supply is None else 2

    @cached_property
    def size(self) -> int:
        return self.nx + self.nz + self.held * (1 + self.delay) + self.books

    def split(self, X: Scalars) -> tuple[Scalars, Scalars, Scalars, Scalars, Scalars]:
        a, b = self.nx, self.nx + self.nz
        c = b + self.held
        d = c + self.held * self.delay
        return X[:a], X[a:b], X[b:c], X[c:d], X[d : self.size]

    def start(self, x0: Sequence[float], z: Sequence[float]) -> list[float]:
        """X at the beginning: nothing is held yet, and nothing on its way."""
        return [*x0, *z, *([0.0] * (self.held * (1 + self.delay) + self.books))]

    def begun(self, x0: Sequence[float], s: Scalars) -> list[float]:
        """The law's states at t = 0: as it says, of what its sensors see without noise, or as they always are."""
        if self.law is None or self.law.start is None:
            return list(self.law.initial) if self.law else []
        X, still = self.start(x0, self.law.initial), [0.0] * len(self.law.measures)
        z = self._called("states", self.law.start, (self.measure(0.0, X, s, still),), self.nz)
        for name, value in zip(self.law.states, z, strict=True):
            if not math.isfinite(value):
                raise InputError(f"{self.law.name!r} begins with {name!r} = {value}: it must be finite")
        return z

    # ------------------------------------------------------------------------------------------------------ the law
    @cached_property
    def _measured(self) -> list[tuple[bool, int]]:
        """Where each measured number is found: among the states, or the outputs, of the flow."""
        assert self.law is not None
        found = []
        for name in self.law.measures:
            if name in self.flow.states:
                found.append((True, self.flow.states.index(name)))
            elif name in self.flow.outputs:
                found.append((False, self.flow.outputs.index(name)))
            else:
                raise unknown(f"state of {self.flow.name!r} that {self.law.name!r} measures", name, self.flow.states)
        return found

    @property
    def measures_outputs(self) -> list[int]:
        return [k for of_state, k in self._measured if not of_state] if self.law else []

    def measure(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars) -> list[Scalar]:
        """y: states, and outputs under the command that is held, with noise, then rounded to what a sensor resolves."""
        x, _, held, _, _ = self.split(X)
        seen: Sequence[Scalar] = ()
        if self.measures_outputs:
            assert self.flow.observe is not None
            before = held if held else [0.0] * self.commands
            seen = self.flow.observe(t, x, self.inputs(before, s))
        y = [x[k] if of_state else seen[k] for of_state, k in self._measured]
        if self.noisy:
            y = [a + b for a, b in zip(y, noise, strict=True)]
        if self.quantization is not None:
            y = [_rounded(a, step) if step else a for a, step in zip(y, self.quantization, strict=True)]
        return y

    def reference(self, t: Scalar, s: Scalars) -> list[Scalar]:
        """r(t) as far as the law follows it, or all that is known of it where there is no law."""
        if self.follow is not None:
            return list(self.follow(t))
        r = list(self.signals.split(s)[3])
        return r[: len(self.law.follows)] if self.law else r

    def _arguments(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> tuple[Scalar, ...]:
        _, z, _, _, _ = self.split(X)
        r = self.reference(t, s) if self.law and self.law.follows else []
        return t, self.measure(t, X, s, noise), r, z, p

    def _called(
        self, what: str, function: Callable[..., list[Scalar]], arguments: tuple[Scalar, ...], count: int
    ) -> list[Scalar]:
        assert self.law is not None
        made = function(*arguments)
        try:
            listed = list(made)
        except TypeError:
            listed = [made]
        if len(listed) != count:
            raise InputError(f"{self.law.name!r} gives {len(listed)} numbers where its {what} are {count}")
        return listed

    def act(self, arguments: tuple[Scalar, ...]) -> list[Scalar]:
        assert self.law is not None
        return self._called(f"outputs ({', '.join(self.law.outputs[:4])})", self.law.act, arguments, self.commands)

    def take(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars, now: Scalar = None) -> list[Scalar]:
        """X after a sample (where `now` is 1): the law asked, its state advanced, its command on its way."""
        assert self.law is not None and self.sample is not None
        x, z, held, waiting, books = self.split(X)
        given = self._arguments(t, X, s, noise, p)
        u = self.act(given)
        queue = [*u, *waiting]
        m = self.held
        new = [*self._advance(given, z), *queue[len(queue) - m :], *queue[: len(queue) - m]]
        old = [*z, *held, *waiting]
        if now is not None:
            new = [where(now > 0.5, a, b) for a, b in zip(new, old, strict=True)]
        return [*x, *new, *books]

    def _advance(self, given: tuple[Scalar, ...], z: Scalars) -> list[Scalar]:
        law, h = self.law, self.sample
        assert law is not None and h is not None
        if law.update is not None:
            return self._called("states", law.update(h), given, self.nz)
        if law.rate is None:
            return list(z)
        rates = self._called("states", law.rate, given, self.nz)
        return [a + h * b for a, b in zip(z, rates, strict=True)]

    # --------------------------------------------------------------------------------------------------- the system
    def asked(self, u: Scalars, s: Scalars) -> list[Scalar]:
        """Commands and given torques, before they are limited."""
        tau = self.signals.split(s)[0]
        w: list[Scalar] = list(tau) if tau else [0.0] * self.drives
        if self.law is not None:
            for name, command in zip(self.law.outputs, u, strict=True):
                k = self.flow.inputs.index(name)
                w[k] = w[k] + command
        return w

    def inputs(self, u: Scalars, s: Scalars) -> list[Scalar]:
        """What reaches the flow: commands and given torques, limited, then disturbances; the wrench."""
        _, f_tip, disturbance, _ = self.signals.split(s)
        w = self.asked(u, s)
        if self.limits is not None:
            w = [clipped(a, *pair) for a, pair in zip(w, self.limits, strict=True)]
        if disturbance:
            w = [a + b for a, b in zip(w, disturbance, strict=True)]
        return [*w, *f_tip]

    def command(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> Scalars:
        """What the law says at X: the command held, or that of a continuous law."""
        if self.law is None:
            return ()
        return self.split(X)[2] if self.sample is not None else self.act(self._arguments(t, X, s, noise, p))

    def applied(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> list[Scalar]:
        """The flow's inputs at X."""
        return self.inputs(self.command(t, X, s, noise, p), s)

    def rate(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> list[Scalar]:
        """Ẋ; nothing moves in what is held."""
        x, z, held, waiting, books = self.split(X)
        w = self.applied(t, X, s, noise, p)
        xd = self.flow.rate(t, x, w)
        if len(xd) != self.nx:
            raise InputError(f"the rate of {self.flow.name!r} gives {len(xd)} numbers for {self.nx} states")
        zd: Sequence[Scalar] = [0.0] * len(z)
        if self.sample is None and self.law is not None and self.law.rate is not None:
            zd = self._called("states", self.law.rate, self._arguments(t, X, s, noise, p), self.nz)
        flows: list[Scalar] = []
        if books:
            assert self.flow.observe is not None and self.supply is not None
            seen = self.flow.observe(t, x, w)
            lost: Scalar = 0.0
            for k in self.losses:
                lost = lost + seen[k]
            flows = [seen[self.supply], lost]
        return [*xd, *zd, *([0.0] * (len(held) + len(waiting))), *flows]

    def settle(self, t: Scalar, before: Scalars, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> list[Scalar]:
        """What the flow does to its state after a step."""
        assert self.flow.settle is not None
        w = self.applied(t, X, s, noise, p)
        return [*self.flow.settle(t, before[: self.nx], X[: self.nx], w), *X[self.nx :]]

    @cached_property
    def shown(self) -> int:
        """How many numbers of the reference are observed."""
        if self.law is not None and self.law.follows:
            return len(self.law.follows)
        return self.signals.reference

    def observe(self, t: Scalar, X: Scalars, s: Scalars, noise: Scalars, p: Scalars) -> list[Scalar]:
        """(outputs of the flow, its inputs, the reference, and where it is told: 1 while limits clip) at X."""
        u = self.command(t, X, s, noise, p)
        w = self.inputs(u, s)
        seen = self.flow.observe(t, X[: self.nx], w) if self.flow.observe is not None else []
        r = self.reference(t, s) if self.shown else []
        if not self.tells_clipping:
            return [*seen, *w, *r]
        assert self.limits is not None
        cut: Scalar = 0.0
        for a, (lower, upper) in zip(self.asked(u, s), self.limits, strict=True):
            cut = where(a > upper, 1.0, where(a < lower, 1.0, cut))
        return [*seen, *w, *r, cut]

    @cached_property
    def observed(self) -> int:
        return len(self.flow.outputs) + len(self.flow.inputs) + self.shown + self.tells_clipping

    @property
    def tells_clipping(self) -> bool:
        """Whether limits stand between a law with states and the system: these are not told what was applied."""
        return self.limits is not None and self.nz > 0


def _rounded(x: Scalar, step: float) -> Scalar:
    """The nearest multiple of the step."""
    return ((x * (1.0 / step) + ROUND) - ROUND) * step
