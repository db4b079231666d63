"""Control laws of one mass on a spring: PD, partitioned, along a trajectory, with an integral.

PD            f = −k_p x − k_v ẋ
partitioned   f = α f′ + β,   α = m, β = b ẋ + k x,   so that ẍ = f′: the system appears as a unit mass
following     f′ = ẍ_d + k_v ė + k_p e [+ k_i ∫e],   e = x_d − x
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, number, of_kind
from dalembert.control.diagrams import tracking
from dalembert.control.gains import KeywordGains
from dalembert.control.linear import StateSpace
from dalembert.control.second_order import MassSpringDamper, TimeResponse, unit_mass
from dalembert.draw.blocks import Diagram, Signal, block, total
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law

MEASURES = ("x", "x_rate")
MASS = "m ẍ + b ẋ + k x = f"
WANTED = ("x_wanted", "x_wanted_rate", "x_wanted_acceleration")


@dataclass(frozen=True, kw_only=True)
class SpringServo(KeywordGains):
    """f = −k_p x − k_v ẋ: a spring and a damper by control, which hold the mass at x = 0."""

    k_p: float
    k_v: float

    def __post_init__(self) -> None:
        for name, unit in (("k_p", "N/m"), ("k_v", "N s/m")):
            object.__setattr__(self, name, number(f"the gain {name} of a PD law", getattr(self, name), unit))

    def law(self) -> Law:
        """Over scalars: measures (x, x_rate), output f; k_p and k_v are parameters."""

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return [-(p[0] * y[0]) - p[1] * y[1]]

        return Law("PD", MEASURES, (), ("f",), act, parameters={"k_p": self.k_p, "k_v": self.k_v})

    def diagram(self) -> Diagram:
        """f = −k_p x − k_v ẋ."""
        nodes = (
            total("sum", 0),
            block("system", MASS, 1, tone="plant"),
            block("k_p", "k_p", 1, 1, flip=True, tone="servo"),
            block("k_v", "k_v", 1, 2, flip=True, tone="servo"),
        )
        signals = (
            Signal("sum", "system", "f"),
            Signal("system", "k_p", "x", out=0.6),
            Signal("system", "k_v", "ẋ", out=-0.6),
            Signal("k_p", "sum", sign="−"),
            Signal("k_v", "sum", sign="−", enter="left"),
        )
        return Diagram("PD control", nodes, signals, "f = −k_p x − k_v ẋ")


@dataclass(frozen=True)
class PartitionedServo(KeywordGains):
    """f = α (ẍ_d + k_v ė + k_p e + k_i ∫e) + β with α = m, β = b ẋ + k x of the `model`.

    k_v = 2√k_p (critical damping) if not given. With `follow` False it holds the mass at x = 0. What the model does not
    know is a disturbance: a load m a_dist, that stands with the load, gives ë + k_v ė + k_p e = a_dist."""

    model: MassSpringDamper
    _: KW_ONLY
    k_p: float
    k_v: float | None = None
    k_i: float = 0.0
    follow: bool = True

    def __post_init__(self) -> None:
        of_kind(self.model, MassSpringDamper, "the model of a partitioned law is a MassSpringDamper, not")
        left = unit_mass(self.k_p, self.k_v)
        object.__setattr__(self, "k_p", left.stiffness)
        object.__setattr__(self, "k_v", left.damping)
        object.__setattr__(self, "k_i", number("the gain k_i of a partitioned law", self.k_i, "1/s³"))

    @property
    def rate_gain(self) -> float:
        assert self.k_v is not None  # filled above
        return self.k_v

    # ------------------------------------------------------------------------------------------------------ the law
    def partition(self, x: Scalar, v: Scalar) -> tuple[Scalar, Scalar]:
        """(α, β) of f = α f′ + β at a state: (m, b ẋ + k x)."""
        return self.model.mass, self.model.damping * v + self.model.stiffness * x

    def law(self) -> Law:
        """Over scalars: measures (x, x_rate), follows (x, ẋ, ẍ)_wanted, output f, state ∫e if k_i ≠ 0."""
        follow, integral = self.follow, self.k_i != 0.0

        def errors(y: Scalars, r: Scalars) -> tuple[Scalar, Scalar, Scalar]:
            return (r[0] - y[0], r[1] - y[1], r[2]) if follow else (-y[0], -y[1], 0.0)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            e, e_rate, wanted = errors(y, r)
            unit = wanted + p[1] * e_rate + p[0] * e
            if integral:
                unit = unit + p[2] * z[0]
            alpha, beta = self.partition(y[0], y[1])
            return [alpha * unit + beta]

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return [errors(y, r)[0]]

        gains = {"k_p": self.k_p, "k_v": self.rate_gain}
        return Law(
            "partitioned" + (" PID" if integral else " PD"),
            MEASURES,
            WANTED if follow else (),
            ("f",),
            act,
            states=("error_integral",) if integral else (),
            initial=(0.0,) if integral else (),
            rate=rate if integral else None,
            parameters=gains | ({"k_i": self.k_i} if integral else {}),
        )

    def diagram(self) -> Diagram:
        """The law with its signals, drawn."""
        alpha, beta = "m", "b ẋ + k x"
        if self.k_i:
            equation = f"f = m (ẍ_d + k_v ė + k_p e + k_i ∫e dt) + {beta}"
            return tracking("Trajectory following with integral", equation, alpha=alpha, beta=beta, integral=True)
        if self.follow:
            return tracking("Trajectory following", f"f = m (ẍ_d + k_v ė + k_p e) + {beta}", alpha=alpha, beta=beta)
        nodes = (
            total("servo", 0),
            block("alpha", alpha, 1, tone="model"),
            total("sum", 2),
            block("system", MASS, 3, tone="plant"),
            block("beta", beta, 3, 1, flip=True, tone="model"),
            block("k_p", "k_p", 1, 2, flip=True, tone="servo"),
            block("k_v", "k_v", 1, 3, flip=True, tone="servo"),
        )
        signals = (
            Signal("servo", "alpha", "f′"),
            Signal("alpha", "sum", sign="+"),
            Signal("sum", "system", "f"),
            Signal("system", "beta", "x", out=0.6, into=0.6),
            Signal("system", "beta", "ẋ", out=-0.6, into=-0.6),
            Signal("beta", "sum", sign="+"),
            Signal("system", "k_p", out=0.6),
            Signal("system", "k_v", out=-0.6),
            Signal("k_p", "servo", sign="−"),
            Signal("k_v", "servo", sign="−", enter="left"),
        )
        return Diagram("Partitioned PD control", nodes, signals, "f = m (−k_p x − k_v ẋ) + b ẋ + k x")

    # --------------------------------------------------------------------------------------------- what it leads to
    @property
    def stable(self) -> bool:
        """Routh: k_p > 0, k_v > 0; with an integral also 0 < k_i < k_p k_v."""
        if self.k_i == 0:
            return self.k_p > 0 and self.rate_gain > 0
        return self.rate_gain > 0 and self.k_p > 0 and 0 < self.k_i < self.largest_integral_gain

    @property
    def largest_integral_gain(self) -> float:
        """k_p k_v: with k_i beyond it e⃛ + k_v ë + k_p ė + k_i e = 0 grows (Routh)."""
        return self.k_p * self.rate_gain

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Of the error: the roots of s² + k_v s + k_p, or of s³ + k_v s² + k_p s + k_i."""
        if self.k_i == 0:
            return np.array(unit_mass(self.k_p, self.k_v).poles)
        return np.roots([1.0, self.rate_gain, self.k_p, self.k_i]).astype(complex)

    def error_dynamics(self) -> StateSpace:
        """ë + k_v ė + k_p e [+ k_i ∫e] = a_dist: states (e, e_rate [, e_integral]), input a_dist, output e."""
        A, B = [[0.0, 1.0], [-self.k_p, -self.rate_gain]], [[0.0], [1.0]]
        states: tuple[str, ...] = ("e", "e_rate")
        if self.k_i:
            A = [[*A[0], 0.0], [*A[1], -self.k_i], [1.0, 0.0, 0.0]]
            B, states = [*B, [0.0]], (*states, "e_integral")
        C = [[1.0] + [0.0] * (len(A) - 1)]
        return StateSpace(A, B, C, states=states, inputs=("a_dist",), outputs=("error",))

    def error(self, t: ArrayLike, e0: float, e0_rate: float = 0.0, a_dist: float = 0.0) -> TimeResponse:
        """e(t) and ė(t) from the start e0, e0_rate under a constant a_dist, ∫e = 0 at first, in closed form.

        Without an integral by `MassSpringDamper.response`; with one by the exponential of its matrix at each t."""
        if self.k_i == 0:
            return unit_mass(self.k_p, self.k_v).response(t, e0, e0_rate, a_dist)
        from scipy.linalg import expm

        times = array("t", t)
        system = self.error_dynamics()
        whole = np.zeros((4, 4))
        whole[:3, :3], whole[:3, 3:] = system.A, system.B
        start = [number(f"the {name} of the start", v, "") for name, v in (("e0", e0), ("e0_rate", e0_rate))]
        z = np.array([*start, 0.0, number("the acceleration of the disturbance", a_dist, "m/s²")])
        states = expm(whole * times[..., None, None]) @ z
        return TimeResponse(states[..., 0], states[..., 1])

    def steady_state_error(self, a_dist: float) -> float:
        """e = a_dist/k_p under a constant disturbance, f_dist/(m k_p); zero with an integral."""
        if not self.stable:
            raise InputError(
                "infeasible",
                problem=f"with k_p = {self.k_p:g}, k_v = {self.rate_gain:g}, k_i = {self.k_i:g} the error does "
                "not settle",
                remedy=f"k_p and k_v must be positive, and k_i between 0 and k_p k_v = {self.largest_integral_gain:g}.",
            )
        a = number("the acceleration of the disturbance", a_dist, "m/s²")
        return 0.0 if self.k_i else a / self.k_p


def critical_gains(natural_frequency: float) -> tuple[float, float]:
    """(k_p, k_v) = (ω², 2ω): the unit mass critically damped, both poles at −ω."""
    w = number("the natural frequency of the closed loop", natural_frequency, "rad/s", above=0.0)
    return w * w, 2 * w


def triple_pole_gains(pole: float) -> tuple[float, float, float]:
    """(k_p, k_v, k_i) = (3a², 3a, a³): all three poles of the unit mass under PID at −a, a = `pole` > 0 [1/s].

    k_i is a ninth of what Routh's criterion allows."""
    a = number("the pole of the closed loop", pole, "1/s", above=0.0)
    return 3 * a * a, 3 * a, a**3
