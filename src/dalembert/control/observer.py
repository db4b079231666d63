"""A momentum observer: what pushes on the arm, without a force sensor and without accelerations.

With p = M q̇ and M q̈ + C q̇ + g = τ + τ_ext, ṗ = τ + Cᵀ q̇ − g + τ_ext (Ṁ = C + Cᵀ). The residual

    r = K (p − ∫ (τ + Cᵀ q̇ − g + r) dt)      obeys      ṙ = K (τ_ext − r):

each joint's external torque through a lag of 1/K.  De Luca & Mattone 2003; Haddadin, De Luca & Albu-Schäffer 2017.

Sampled at steps h, with b = τ + Cᵀ q̇ − g, the mean push of a step is w = Δp/h − (b + b₋)/2, and
r ← r + (1 − e^{−Kh})(w − r): stable for any K h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.algorithms import composite, friction, linear, newton_euler
from dalembert.arguments import Array, array, number, switch
from dalembert.caching import cached_property
from dalembert.compile import Call, Kernel, compile_function, compile_rollout
from dalembert.compile.rollout import Rollout
from dalembert.control.conditions import Conditions, assumed, exact_model, make_conditions, positive, unclipped
from dalembert.control.controller import Controller, check_robot, measures, sub, torques, total
from dalembert.control.gains import Gain, GainRule, Gains, KeywordGains
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

# Where rates are made of positions: lags this much quicker than the observer take 0.5/K more, and nine tenths of the
# noise that plain differences would have; after so many of them an arm in motion is no push any more.
QUICKER, SETTLED = 4.0, 8.0


@dataclass(frozen=True, eq=False)
class MomentumObserver(KeywordGains):
    """The observer of a robot: `gain` K [1/s], one number or one per joint; `friction`: the model's counts as known.

    `with_controller` puts it beside any controller of joint torques; its states z, the integrals, start at p(0), the
    momentum of what is measured then: a law's `start`, which `simulate` asks. The torques it counts are those the law
    asks for: what limits outside the law cut off (`torque_limits` of `simulate`) it takes for a push."""

    robot: Robot
    _: KW_ONLY
    gain: Any
    friction: bool = False

    def __post_init__(self) -> None:
        names = check_robot(self.robot, "MomentumObserver").joint_names
        switch("friction", self.friction)
        rule = GainRule("1/s", no_matrix="the gain of an observer is one number or one per joint [1/s]")
        made = rule.read("gain", self.gain, names)
        object.__setattr__(self, "gain", Gain("observer", made.names, made.values))

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(f"{j}_momentum_integral" for j in self.robot.joint_names)

    # ------------------------------------------------------------------------------------------ over any scalar
    def momentum(self, q: Scalars, qd: Scalars) -> list[Scalar]:
        """p = M q̇."""
        return linear.apply(composite.mass_matrix(lean(self.robot.model), q), qd)

    def residual(self, q: Scalars, qd: Scalars, z: Scalars, gain: Scalars) -> list[Scalar]:
        """r = K (M q̇ − z)."""
        return [k * (a - b) for k, a, b in zip(gain, self.momentum(q, qd), z, strict=True)]

    def known(self, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
        """b = τ + Cᵀ q̇ − g [− friction]: the rate of p without a push."""
        model = lean(self.robot.model)
        C = composite.coriolis_matrix(model, q, qd)
        b = sub(total(tau, linear.apply(linear.transposed(C), qd)), newton_euler.gravity_torque(model, q))
        return sub(b, friction.friction_torque(self.robot.model, q, qd)) if self.friction else b

    def rate(self, q: Scalars, qd: Scalars, tau: Scalars, z: Scalars, gain: Scalars) -> list[Scalar]:
        """ż = b + r."""
        return total(self.known(q, qd, tau), self.residual(q, qd, z, gain))

    # ------------------------------------------------------------------------------------------------ on arrays
    @cached_property
    def _kernel(self) -> Kernel:
        n, gain = self.robot.n, self.gain.values

        def function(q: Scalars, qd: Scalars, z: Scalars) -> list[Scalar]:
            return self.residual(q, qd, z, gain)

        return compile_function(function, [(n,)] * 3, [(n,)], "residual", arguments=("q", "qd", "z"))

    def estimate(self, q: ArrayLike, qd: ArrayLike, z: ArrayLike) -> Array:
        """τ_ext at the joints as the observer sees it [N m], from its state z.  (..., n)."""
        return np.asarray(self._kernel(array("q", q), array("qd", qd), array("z", z)))

    def start(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """z that begins without an error: M q̇.  (..., n)."""
        M, v = self.robot.mass_matrix(q), array("qd", qd)
        return np.asarray(np.einsum("...ij,...j->...i", M, v))

    def wrench(self, q: ArrayLike, estimate: ArrayLike, frame: str | None = None) -> Array:
        """Return the wrench on the robot at a frame that explains an estimate: (Jᵀ)⁺ τ_ext, in world axes.  (...,
        6)."""
        J = self.robot.jacobian(q, frame)
        return np.asarray(np.einsum("...in,...n->...i", np.linalg.pinv(np.swapaxes(J, -1, -2)), array("r", estimate)))

    def with_controller(self, controller: Controller, compensate: bool = False) -> Observed:
        """The controller with this observer beside it; with `compensate` what is seen is taken off its torques."""
        return Observed(controller, self, compensate=compensate)

    def sampled(self, step: float, rates: bool = True) -> SampledObserver:
        """This observer at steps h [s], as a robot's computer runs it, with measured rates or without."""
        return SampledObserver(self, step, rates)


@dataclass(frozen=True, eq=False)
class SampledObserver:
    """A momentum observer at steps h [s]: `step` (q, q̇, τ, z) → z over any scalar, z zero at the start, r its last n.

    Without `rates`, positions and torques pass two equal lags, the same on both sides, and rates are differences of
    what comes out; q̇ is not looked at. `settling` [s] is the time after a start in which nothing is seen."""

    observer: MomentumObserver
    h: float
    rates: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", number("step", self.h, "s", above=0.0))
        switch("rates", self.rates)

    @property
    def n(self) -> int:
        return self.observer.robot.n

    @property
    def lag(self) -> float:
        """Of each of the two lags [s]."""
        return 1.0 / (QUICKER * max(self.observer.gain.values))

    @property
    def delay(self) -> float:
        """By which r comes behind what changes slowly [s]."""
        return float(np.mean(1.0 / np.array(self.observer.gain.values))) + (0.0 if self.rates else 2 * self.lag)

    @property
    def settling(self) -> float:
        return 0.5 * self.h if self.rates else SETTLED * self.lag

    @property
    def size(self) -> int:
        """How many numbers z holds: the time since the start, what the lags hold, p, b, r."""
        return 1 + (3 if self.rates else 7) * self.n

    def step(self, q: Scalars, qd: Scalars, tau: Scalars, z: Scalars) -> list[Scalar]:
        """z after a sample."""
        n, h, age = self.n, self.h, z[0]
        held: list[Scalar] = []
        if not self.rates:
            part, x = 1.0 - math.exp(-h / self.lag), [*q, *tau]
            old = [scalar.where(age > 0.0, a, b) for a, b in zip(z[1 : 4 * n + 1], [*x, *x], strict=True)]
            first = [a + part * (b - a) for a, b in zip(old[: 2 * n], x, strict=True)]
            now = [a + part * (b - a) for a, b in zip(old[2 * n :], first, strict=True)]
            middle = [0.5 * (a + b) for a, b in zip(now, old[2 * n :], strict=True)]
            qd = [(a - b) / h for a, b in zip(now[:n], old[2 * n : 3 * n], strict=True)]
            q, tau, held = middle[:n], middle[n:], [*first, *now]
        p, b = self.observer.momentum(q, qd), self.observer.known(q, qd, tau)
        p0, b0, r0 = z[-3 * n : -2 * n], z[-2 * n : -n], z[-n:]
        seen = [
            r + (1.0 - math.exp(-k * h)) * ((p[j] - p0[j]) / h - 0.5 * (b[j] + b0[j]) - r)
            for j, (k, r) in enumerate(zip(self.observer.gain.values, r0, strict=True))
        ]
        return [age + h, *held, *p, *b, *(scalar.where(age > self.settling, r, 0.0) for r in seen)]

    def rise(self, count: int) -> Array:
        """r after each of so many samples of a unit push that begins with the first, (count, n)."""
        part = 1.0 if self.rates else 1.0 - math.exp(-self.h / self.lag)
        parts = 1.0 - np.exp(-np.array(self.observer.gain.values) * self.h)
        first = now = before = 0.0
        r = np.zeros((count + 1, self.n))
        for k in range(count):
            first, last = first + part * (1.0 - first), now
            now += part * (first - now)
            push = now if self.rates else 0.5 * (now + last)
            r[k + 1] = r[k] + parts * (0.5 * (push + before) - r[k])
            before = push
        return r[1:]

    def kernel(self, thresholds: Sequence[float] | None = None) -> Kernel:
        """(q, [q̇,] τ, z) → (z, r), or (z, r, alarms of 0 and 1 per joint) with thresholds: what `c_source` exports."""
        n = self.n
        names = ("q", "qd", "tau", "z") if self.rates else ("q", "tau", "z")

        def function(*given: Scalars) -> tuple[list[Scalar], ...]:
            q, *qd, tau, z = given
            new = self.step(q, qd[0] if qd else (), tau, z)
            found = (new, new[-n:])
            if thresholds is None:
                return found
            alarms = [scalar.where(scalar.absolute(r) > u, 1.0, 0.0) for r, u in zip(new[-n:], thresholds, strict=True)]
            return (*found, alarms)

        shapes = [*((n,) for _ in names[:-1]), (self.size,)]
        outputs = [(self.size,), (n,), *(() if thresholds is None else ((n,),))]
        return compile_function(function, shapes, outputs, "observer", arguments=names)

    def residuals(self, q: ArrayLike, qd: ArrayLike | None, tau: ArrayLike) -> Array:
        """r after each sample of a record without gaps, (N, n) each."""
        n = self.n
        parts = [array("q", q), *((array("qd", qd),) if self.rates else ()), array("tau", tau)]
        u = np.concatenate(parts, axis=-1)
        kept, _, last, *_ = self._loop(np.zeros(self.size), u, np.zeros(0), len(u), self.h)
        return np.concatenate([kept[1:, -n:], last[None, -n:]])

    @cached_property
    def _loop(self) -> Rollout:
        n = self.n

        def step(z: Scalars, u: Scalars) -> list[Scalar]:
            return self.step(u[:n], u[n:-n], u[-n:], z)

        sizes = {"x": self.size, "u": (3 if self.rates else 2) * n}
        return compile_rollout([Call(step, ("x", "u"), "new")], sizes, "observer")


@dataclass(frozen=True, eq=False)
class Observed(Controller):
    """A controller of joint torques with a momentum observer: τ = τ_controller [− r]."""

    controller: Controller
    observer: MomentumObserver
    _: KW_ONLY
    compensate: bool = False

    equation: ClassVar[str] = "τ = τ_controller [− r],  r = K (M q̇ − ∫ (τ + Cᵀ q̇ − g + r) dt)"
    source: ClassVar[str] = "ṙ = K (τ_ext − r); De Luca & Mattone 2003"

    def check_system(self) -> None:
        law, wanted = self.controller.law(), torques(self.observer.robot)
        n = self.observer.robot.n
        if law.outputs != wanted or law.measures[: 2 * n] != measures(self.observer.robot):
            raise InputError(
                "conflict",
                problem=f"the observer of {self.observer.robot.name!r} needs a controller of its joint torques, "
                f"and {law.name!r} drives {', '.join(law.outputs[:3])}",
            )

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.controller.robot

    @property
    def gains(self) -> Gains:
        return Gains((*self.controller.gains.each, self.observer.gain))

    def make(self) -> Law:
        inner, observer, n = self.controller.law(), self.observer, self.observer.robot.n
        own = len(inner.states)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau = inner.act(t, y, r, z[:own], p[:-n])
            if not self.compensate:
                return tau
            return sub(tau, observer.residual(y[:n], y[n : 2 * n], z[own:], p[-n:]))

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau = act(t, y, r, z, p)
            moved = [] if inner.rate is None else inner.rate(t, y, r, z[:own], p[:-n])
            return [*moved, *observer.rate(y[:n], y[n : 2 * n], tau, z[own:], p[-n:])]

        def start(y: Scalars) -> list[Scalar]:
            begun = inner.initial if inner.start is None else inner.start(y)
            return [*begun, *observer.momentum(y[:n], y[n : 2 * n])]

        return Law(
            f"{inner.name} with observer",
            inner.measures,
            inner.follows,
            inner.outputs,
            act,
            states=(*inner.states, *observer.states),
            initial=(*inner.initial, *(0.0,) * n),
            rate=rate,
            parameters=self.gains.parameters,
            start=start,
        )

    def conditions(self) -> Conditions:
        found = self.controller.conditions()
        others = (c for c in found if c not in (exact_model(), unclipped()))
        loop = (
            (assumed("the disturbance is slow against the observer", "else its lag takes phase from the loop"),)
            if self.compensate
            else ()
        )
        return make_conditions(
            f"{found.facts.claim}; r follows τ_ext with the lag 1/K",
            f"{found.facts.source}; {self.source}",
            (*others, *positive(self.observer.gain), exact_model(), unclipped(), *loop),
        )
