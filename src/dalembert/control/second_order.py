"""Mass, spring and damper: m ẍ + b ẋ + k x = f.

Responses to f₀ + f₁ t are in closed form, over any scalar, for every damping alike. The textbook's three solutions
divide by the distance of the two poles and lose all digits where they meet. Here every response is one of five
functions of time that stay smooth there: divided differences of eˢᵗ in the poles and zero,

    S = e[s₁, s₂],   P = e[0, s₁, s₂] = ∫S,   R = e[0, 0, s₁, s₂] = ∫P,   E = 1 − ω² P,   Ṡ,

with σ = b/2m, ω² = k/m, s₁,₂ = −σ ± √(σ² − ω²). Each is computed in a form without cancellation.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number
from dalembert.control.linear import StateSpace
from dalembert.control.transfer import TransferFunction
from dalembert.errors import InputError, choose
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.scalar import absolute, cos, exp, maximum, sin, sqrt, tanh, where
from dalembert.symbolic.compare import Quantity, formula_quantity

# b² − 4mk below so many ulps of b² is zero: a gain computed for critical damping is rounded, and the poles would move
# by the square root of that.
ROUNDED = 16 * np.finfo(float).eps
TERMS = 18  # of the power series, for (2|σ| + |ω|) t below 1: the next term is below 1e-17
APART = 0.125  # of |σ|: poles farther apart than twice this are told from each other by their difference

REGIMES = {
    "overdamped": "b² > 4mk: two real poles, no oscillation, a slow return",
    "critically damped": "b² = 4mk: a double real pole, the fastest return without oscillation",
    "underdamped": "b² < 4mk: a pair of complex poles, an oscillation that dies out",
    "undamped": "b = 0, k > 0: poles on the imaginary axis, an oscillation that stays",
    "drifting": "k = 0, b ≥ 0: a pole at zero, nothing brings it back",
    "unstable": "b < 0 or k < 0: a pole in the right half plane",
}


# What students are asked for, in m, b, k, s, j; k_p and k_v are gains on position and rate for ω and ζ asked for.
FORMULAS = {
    "G(s)": "1/(m*s^2 + b*s + k)",
    "closed loop": "k_p/(m*s^2 + (b + k_v)*s + k + k_p)",
    "omega": "sqrt(k/m)",
    "zeta": "b/(2*sqrt(m*k))",
    "omega_d": "sqrt(k/m - (b/(2*m))^2)",
    "s1": "-b/(2*m) + j*sqrt(k/m - (b/(2*m))^2)",
    "s2": "-b/(2*m) - j*sqrt(k/m - (b/(2*m))^2)",
    "k_p": "m*omega^2 - k",
    "k_v": "2*zeta*omega*m - b",
}
FREE = ("s", "k_p", "k_v", "omega", "zeta")


class TimeResponse(NamedTuple):
    """x [m or rad] and ẋ at the times asked for."""

    x: Array
    v: Array


class PDGains(NamedTuple):
    """k_p on the position and k_v on the rate."""

    k_p: float
    k_v: float


@dataclass(frozen=True)
class MassSpringDamper:
    """m ẍ + b ẋ + k x = f: `mass` m > 0 [kg, or kg m² for what turns], `damping` b [N s/m, N m s/rad], `stiffness` k
    [N/m, N m/rad]. b and k may be negative, as linearized systems have them."""

    mass: float
    damping: float
    stiffness: float

    def __post_init__(self) -> None:
        who = "a mass-spring-damper"
        object.__setattr__(self, "mass", number(f"the mass of {who}", self.mass, "kg", above=0.0))
        object.__setattr__(self, "damping", number(f"the damping of {who}", self.damping, "N s/m"))
        object.__setattr__(self, "stiffness", number(f"the stiffness of {who}", self.stiffness, "N/m"))

    # ------------------------------------------------------------------------------------------------- what it is
    def quantity(self, name: str) -> Quantity:
        """One of `FORMULAS` as what a formula can be compared with: a transfer function, a pole, a gain."""
        symbols = {"m": self.mass, "b": self.damping, "k": self.stiffness, **dict.fromkeys(FREE)}
        return formula_quantity(name, FORMULAS[choose("quantity", name, FORMULAS)], symbols)

    @property
    def regime(self) -> str:
        """One of `REGIMES`."""
        if self.damping < 0 or self.stiffness < 0:
            return "unstable"
        if self.stiffness == 0:
            return "drifting"
        if self.damping == 0:
            return "undamped"
        D = self._discriminant
        return "critically damped" if D == 0 else "overdamped" if D > 0 else "underdamped"

    @property
    def _discriminant(self) -> float:
        """σ² − ω², zero where it is no more than rounding."""
        sigma = self.damping / (2 * self.mass)
        D = sigma * sigma - self.stiffness / self.mass
        return 0.0 if abs(D) <= ROUNDED * sigma * sigma else D

    @property
    def poles(self) -> tuple[complex, complex]:
        """s₁,₂ = (−b ± √(b² − 4mk))/2m, the one with the larger real (or imaginary) part first.

        Real ones without cancellation: the larger in size by the formula, the other by s₁ s₂ = k/m."""
        sigma, D = self.damping / (2 * self.mass), self._discriminant
        if D < 0:
            root = cmath.sqrt(D)
            return -sigma + root, -sigma - root
        rho = math.sqrt(D)
        far = -sigma - math.copysign(rho, sigma)
        near = self.stiffness / self.mass / far if far and D else far
        return complex(max(far, near)), complex(min(far, near))

    @property
    def natural_frequency(self) -> float:
        """ω = √(k/m) [rad/s]."""
        if self.stiffness < 0:
            raise InputError(
                "out-of-range",
                "stiffness",
                self.stiffness,
                problem=f"the natural frequency needs a stiffness of at least 0, got {self.stiffness:g}",
            )
        return math.sqrt(self.stiffness / self.mass)

    @property
    def damping_ratio(self) -> float:
        """ζ = b/(2√(mk))."""
        if self.stiffness <= 0:
            raise InputError(
                "out-of-range",
                "stiffness",
                self.stiffness,
                problem=f"the damping ratio needs a positive stiffness, got {self.stiffness:g}",
            )
        return self.damping / (2 * math.sqrt(self.mass * self.stiffness))

    @property
    def damped_frequency(self) -> float:
        """ω_d = √(k/m − (b/2m)²) [rad/s], zero where it does not oscillate."""
        return math.sqrt(max(-self._discriminant, 0.0))

    @property
    def overshoot(self) -> float:
        """How far a step of the force carries it beyond its new rest, e^(−πζ/√(1−ζ²)) of the way, or zero."""
        if self.regime in ("unstable", "drifting"):
            raise InputError("infeasible", problem=f"a system that is {self.regime} has no rest position to overshoot")
        if self.damped_frequency == 0:
            return 0.0
        return math.exp(-math.pi * self.damping / (2 * self.mass) / self.damped_frequency)

    # --------------------------------------------------------------------------------------------- what it does
    def response(
        self, t: ArrayLike, x0: ArrayLike = 0.0, v0: ArrayLike = 0.0, force: ArrayLike = 0.0, ramp: ArrayLike = 0.0
    ) -> TimeResponse:
        """x(t) and ẋ(t) from x0 and v0 under f = force + ramp · t, in closed form; arrays broadcast.

        A unit step is force=1, an impulse p is v0 = p/m. Accurate to rounding for every damping."""
        named = {"t": t, "x0": x0, "v0": v0, "force": force, "ramp": ramp}
        arrays = [array(name, value, least=0.0 if name == "t" else None) for name, value in named.items()]
        try:
            shaped = np.broadcast_arrays(*arrays)
        except ValueError:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(named, arrays, strict=True))
            raise InputError("wrong-shape", problem=f"the arrays do not broadcast: {shapes}") from None
        flat = [np.atleast_1d(a) for a in shaped]
        with np.errstate(over="ignore", invalid="ignore"):  # what grows beyond numbers is infinite
            x, v = find_response(flat[0], self.mass, self.damping, self.stiffness, *flat[1:])
        return TimeResponse(np.asarray(x).reshape(shaped[0].shape), np.asarray(v).reshape(shaped[0].shape))

    def steady_state(self, force: float) -> float:
        """Where a constant force ends: f/k."""
        if self.regime in ("unstable", "drifting", "undamped"):
            raise InputError(
                "infeasible", problem=f"a system that is {self.regime} does not come to rest under a constant force"
            )
        return number("the force of the system", force, "N") / self.stiffness

    # -------------------------------------------------------------------------------------------- control of it
    def closed_loop(self, k_p: float, k_v: float) -> MassSpringDamper:
        """Under f = −k_p x − k_v ẋ: m ẍ + (b + k_v) ẋ + (k + k_p) x = 0."""
        stiffness = self.stiffness + number("the gain k_p of the control law", k_p, "N/m")
        return MassSpringDamper(
            self.mass, self.damping + number("the gain k_v of the control law", k_v, "N s/m"), stiffness
        )

    def gains_for(self, stiffness: float, damping_ratio: float = 1.0) -> PDGains:
        """The gains that make the closed loop as stiff as wanted: k_p = k′ − k, k_v = 2ζ√(m k′) − b (ζ = 1: critically
        damped). A negative one takes away what the system has of itself."""
        wanted = number("the stiffness of the closed loop", stiffness, "N/m", above=0.0)
        zeta = number("the damping ratio of the closed loop", damping_ratio, "1", least=0.0)
        return PDGains(wanted - self.stiffness, 2 * zeta * math.sqrt(self.mass * wanted) - self.damping)

    # ------------------------------------------------------------------------------------------- other views of it
    def flow(self, load: bool = False) -> Flow:
        """As `simulate` takes it: x = (x, x_rate), input f; with `load` a force that stands with the load is an input
        too, m ẍ + b ẋ + k x + load = f. The energies are observed."""
        m, b, k = self.mass, self.damping, self.stiffness

        def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            f = u[0] - u[1] if load else u[0]
            return [x[1], (f - b * x[1] - k * x[0]) / m]

        def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return [0.5 * m * (x[1] * x[1]), 0.5 * k * (x[0] * x[0])]

        return Flow(
            "mass-spring-damper",
            ("x", "x_rate"),
            ("f", "load") if load else ("f",),
            rate,
            positions=1,
            outputs=("kinetic_energy", "potential_energy"),
            observe=observe,
        )

    def state_space(self, output: str = "position") -> StateSpace:
        """ẋ = [0 1; −k/m −b/m] x + [0; 1/m] u, with y the "position", the "velocity" or "both"."""
        rows = {"position": [[1.0, 0.0]], "velocity": [[0.0, 1.0]], "both": [[1.0, 0.0], [0.0, 1.0]]}
        C = rows[choose("output", output, rows)]
        names = ("x", "x_rate") if output == "both" else ("x",) if output == "position" else ("x_rate",)
        A = [[0.0, 1.0], [-self.stiffness / self.mass, -self.damping / self.mass]]
        return StateSpace(A, [[0.0], [1 / self.mass]], C, states=("x", "x_rate"), inputs=("f",), outputs=names)

    def transfer(self) -> TransferFunction:
        """x/f = 1/(m s² + b s + k)."""
        return TransferFunction([1.0], [self.mass, self.damping, self.stiffness])


def unit_mass(k_p: float, k_v: float | None = None) -> MassSpringDamper:
    """ẍ + k_v ẋ + k_p x = 0, what a partitioned law leaves; k_v = 2√k_p, critical damping, if not given."""
    k_p = number("the gain k_p of a unit mass", k_p, "1/s²")
    if k_v is None:
        if k_p < 0:
            raise InputError(
                "out-of-range",
                "k_p",
                k_p,
                problem=f"critical damping needs k_p of at least 0, got {k_p:g}",
                remedy="Pass `k_v`.",
            )
        k_v = 2 * math.sqrt(k_p)
    return MassSpringDamper(1.0, k_v, k_p)


# --------------------------------------------------------------------------------------------- responses in closed form
class Basis(NamedTuple):
    """Responses at time t of ẍ + 2σ ẋ + ω² x = f: to x = 1 (E), to ẋ = 1 (S) and its rate (S_rate), to f = 1 (P), to
    f = t (R)."""

    E: Scalar
    S: Scalar
    S_rate: Scalar
    P: Scalar
    R: Scalar


def _nonzero(x: Scalar) -> Scalar:
    """x, or 1 where it is zero: a divisor whose quotient is not used there."""
    return where(x * x > 0.0, x, 1.0)


def expm1(y: Scalar) -> Scalar:
    """eʸ − 1, to the last digits near zero too: 2T/(1 − T) with T = tanh(y/2)."""
    T = tanh(0.5 * where(y < 1.0, y, 1.0))
    return where(y < 1.0, 2.0 * T / (1.0 - T), exp(y) - 1.0)


def _first(y: Scalar) -> Scalar:
    """(eʸ − 1)/y, 1 at zero."""
    return where(y * y > 0.0, expm1(y) / _nonzero(y), 1.0)


def _second(y: Scalar) -> Scalar:
    """(eʸ − 1 − y)/y², ½ at zero."""
    small = absolute(y) < 1.0
    (total,) = _series(where(small, y, 0.0), 0.0, (2,))
    return where(small, total, (expm1(y) - y) / _nonzero(y * y))


def _series(a: Scalar, c: Scalar, orders: tuple[int, ...]) -> list[Scalar]:
    """Σ hₙ/(n + k)! for each k, hₙ = a hₙ₋₁ − c hₙ₋₂: the divided differences of eʸ in k zeros and the two roots of
    y² − a y + c, less a power of t."""
    before: Scalar = 0.0
    h: Scalar = 1.0
    factorials = [1.0] * len(orders)
    for i, k in enumerate(orders):
        for j in range(2, k + 1):
            factorials[i] *= j
    totals: list[Scalar] = [h / f for f in factorials]
    for n in range(1, TERMS + 1):
        h, before = a * h - c * before, h
        for i, k in enumerate(orders):
            factorials[i] *= n + k
            totals[i] = totals[i] + h * (1.0 / factorials[i])
    return totals


def find_basis(t: Scalar, sigma: Scalar, omega2: Scalar) -> Basis:
    """The five functions at t ≥ 0."""
    D = sigma * sigma - omega2
    real = D >= 0.0
    rho, w = sqrt(maximum(D, 0.0)), sqrt(maximum(-D, 0.0))
    # The pole far from zero is a sum of two numbers of one sign; the near one follows from their product ω².
    far = where(sigma < 0.0, rho - sigma, -rho - sigma)
    near = where(real, where(far * far > 0.0, omega2 / _nonzero(far), 0.0), 0.0)
    growth = exp(where(real, where(sigma < 0.0, far, near), -sigma) * t)  # of the slower pole
    T, z, y = tanh(rho * t), rho * t, w * t
    S_real = growth * t * where(z > 0.0, T / _nonzero(z), 1.0) / (1.0 + T)
    S_wave = growth * t * where(y > 0.0, sin(y) / _nonzero(y), 1.0)
    S = where(real, S_real, S_wave)
    wave = growth * cos(y)
    E = where(real, exp(near * t) - near * S, wave + sigma * S)
    S_rate = where(real, exp(where(real, far, 0.0) * t) + near * S, wave - sigma * S)

    small = (2.0 * absolute(sigma) + sqrt(absolute(omega2))) * t < 1.0
    P_series, R_series = _series(where(small, -2.0 * sigma * t, 0.0), where(small, omega2 * (t * t), 0.0), (2, 3))
    apart = where(real, rho - APART * absolute(sigma), -1.0) > 0.0
    near_, far_ = where(apart, near, 0.0), where(apart, far, 1.0)
    gap = 1.0 / (near_ - far_)
    P_poles = t * (_first(near_ * t) - _first(far_ * t)) * gap
    R_poles = t * t * (_second(near_ * t) - _second(far_ * t)) * gap
    P_rest = (1.0 - E) / _nonzero(omega2)
    R_rest = (t - S - 2.0 * sigma * P_rest) / _nonzero(omega2)
    P = where(small, t * t * P_series, where(apart, P_poles, P_rest))
    R = where(small, t * t * t * R_series, where(apart, R_poles, R_rest))
    return Basis(E, S, S_rate, P, R)


def find_response(
    t: Scalar,
    m: Scalar,
    b: Scalar,
    k: Scalar,
    x0: Scalar = 0.0,
    v0: Scalar = 0.0,
    force: Scalar = 0.0,
    ramp: Scalar = 0.0,
) -> tuple[Scalar, Scalar]:
    """(x, ẋ) at t ≥ 0 of m ẍ + b ẋ + k x = force + ramp · t, from x0 and v0.

    x = E x₀ + S v₀ + (P f₀ + R f₁)/m,   ẋ = −ω² S x₀ + Ṡ v₀ + (S f₀ + P f₁)/m"""
    omega2 = k / m
    f = find_basis(t, b / (2.0 * m), omega2)
    x = f.E * x0 + f.S * v0 + (f.P * force + f.R * ramp) / m
    v = f.S_rate * v0 - omega2 * (f.S * x0) + (f.S * force + f.P * ramp) / m
    return x, v
