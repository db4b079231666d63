"""One flexible link on a driven hub, by assumed modes.

A uniform Euler–Bernoulli beam (length L, mass per length ρ, bending stiffness EI) is clamped to a hub of inertia J_h
that a torque turns in a horizontal plane. Its points stand at w(x, t) = Σ φ_i(x) η_i(t) from the hub's x axis, small
against L, with φ_i the modes of the clamped–free beam,

    φ(x) = cosh βx − cos βx − σ (sinh βx − sin βx),    cos βL cosh βL = −1   (βL = 1.8751, 4.6941, 7.8548, …),

for which every integral is known: ∫φ_i φ_j = L δ_ij, ∫x φ_i = 2/β_i², ∫φ_i″ φ_j″ = β_i⁴ L δ_ij. So

    M = | J_h + ρL³/3 + m L²       2ρ/β_j² + m L φ_j(L)       |     K = | 0       0      |
        | 2ρ/β_i² + m L φ_i(L)     ρL δ_ij + m φ_i(L) φ_j(L)  |         | 0   EI β_i⁴ L  |

in (θ, η), constant as long as w is small and the hub turns slowly against the beam's frequencies (terms in θ̇² w, and
the shortening of the bent beam, are left out). m is a mass at the tip.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.actuation.motors import Scalars
from dalembert.algorithms import linear
from dalembert.arguments import Array, array, count, settle_numbers
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Flow

Scalar = Any
MOST_MODES = 50


def clamped_free_roots(count: int) -> tuple[float, ...]:
    """The first roots βL of cos x cosh x = −1, by Newton from (k − ½)π, where cosh makes the rest small."""
    roots = []
    for k in range(1, count + 1):
        x = (k - 0.5) * math.pi
        for _ in range(30):  # cos x + 1/cosh x = 0, which does not overflow
            sech = 1.0 / math.cosh(x)
            x -= (math.cos(x) + sech) / (-math.sin(x) - sech * math.tanh(x))
        roots.append(x)
    return tuple(roots)


def _sigma_complement(x: float) -> float:
    """1 − σ = 1 − (cosh x + cos x)/(sinh x + sin x), without cancellation for large x."""
    e = math.exp(-x)
    return 2 * e * (math.sin(x) - math.cos(x) - e) / (1 + 2 * math.sin(x) * e - e * e)


def clamped_free_mode(root: float, s: ArrayLike) -> Array:
    """φ at s = x/L in [0, 1]; φ(1) = ±2.  (...)."""
    z = root * np.asarray(s, float)
    d = _sigma_complement(root)
    return np.asarray(0.5 * d * np.exp(z) + (1 - 0.5 * d) * np.exp(-z) - np.cos(z) + (1 - d) * np.sin(z))


class FlexibleLink:
    """`length` L [m], `density` ρ [kg/m], `bending_stiffness` EI [N m²], `hub_inertia` J_h [kg m²], `tip_mass` m [kg],
    `modes` how many are kept, `damping_ratio` ζ of each mode with the hub held."""

    def __init__(
        self,
        length: float,
        density: float,
        bending_stiffness: float,
        hub_inertia: float,
        tip_mass: float = 0.0,
        *,
        modes: int = 3,
        damping_ratio: float = 0.0,
    ) -> None:
        self.length, self.density, self.bending_stiffness = length, density, bending_stiffness
        self.hub_inertia, self.tip_mass, self.damping_ratio = hub_inertia, tip_mass, damping_ratio
        settle_numbers(
            self,
            "a FlexibleLink",
            above={"length": "m", "density": "kg/m", "bending_stiffness": "N m²"},
            least={"hub_inertia": "kg m²", "tip_mass": "kg", "damping_ratio": "–"},
        )
        self.modes = count("modes", modes, 1, MOST_MODES)
        self.roots = clamped_free_roots(modes)

    # ---------------------------------------------------------------------------------------------- its matrices
    @property
    def tip_values(self) -> Array:
        """φ_i(L) = 2, −2, 2, …"""
        return np.array([2.0 * (-1) ** k for k in range(self.modes)])

    @cached_property
    def mass_matrix(self) -> Array:
        """M of (θ, η), (1 + modes, 1 + modes), by exact integrals."""
        L, rho, m = self.length, self.density, self.tip_mass
        beta = np.array(self.roots) / L
        phi = self.tip_values
        M = np.zeros((1 + self.modes, 1 + self.modes))
        M[0, 0] = self.hub_inertia + rho * L**3 / 3 + m * L**2
        M[0, 1:] = M[1:, 0] = 2 * rho / beta**2 + m * L * phi
        M[1:, 1:] = rho * L * np.eye(self.modes) + m * np.outer(phi, phi)
        return M

    @cached_property
    def stiffness_matrix(self) -> Array:
        """K of (θ, η): diagonal, zero for θ."""
        beta = np.array(self.roots) / self.length
        return np.diag([0.0, *(self.bending_stiffness * beta**4 * self.length)])

    @cached_property
    def damping_matrix(self) -> Array:
        """2 ζ √(k_i m_i) for each mode, that of the beam without its tip mass."""
        own = self.density * self.length
        return np.diag(2 * self.damping_ratio * np.sqrt(np.diag(self.stiffness_matrix) * own))

    def frequencies(self, hub: str = "free") -> Array:
        """Angular frequencies [rad/s], rising: hub "clamped" (modes,), or "free" (1 + modes,), the first of them 0."""
        if hub not in ("free", "clamped"):
            raise InputError(f"hub is 'free' or 'clamped', got {hub!r}")
        first = 0 if hub == "free" else 1
        M, K = self.mass_matrix[first:, first:], self.stiffness_matrix[first:, first:]
        inverse = np.linalg.inv(np.linalg.cholesky(M))
        squares = np.linalg.eigvalsh(inverse @ K @ inverse.T)
        if hub == "free":
            squares[0] = 0.0
        return np.asarray(np.sqrt(squares))

    def shape(self, s: ArrayLike) -> Array:
        """φ_i at s = x/L in [0, 1].  (..., modes)."""
        x = array("s", s, least=0.0, most=1.0, unit="x/L, from 0 at the hub to 1 at the tip")
        return np.stack([clamped_free_mode(root, x) for root in self.roots], axis=-1)

    # --------------------------------------------------------------------------------------------- as a system
    @property
    def states(self) -> tuple[str, ...]:
        """x = (θ, η₁ …, θ̇, η̇₁ …)."""
        names = ("theta", *(f"eta{k + 1}" for k in range(self.modes)))
        return (*names, *(f"{name}_rate" for name in names))

    @cached_property
    def _inverse(self) -> list[list[float]]:
        return np.linalg.inv(self.mass_matrix).tolist()

    def rate(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """ẋ of M z̈ + D ż + K z = (τ, 0 …), z = (θ, η)."""
        n = 1 + self.modes
        z, zd = x[:n], x[n:]
        k, d = np.diag(self.stiffness_matrix).tolist(), np.diag(self.damping_matrix).tolist()
        force = [(u[0] if i == 0 else 0.0) - k[i] * z[i] - d[i] * zd[i] for i in range(n)]
        return [*zd, *linear.apply(self._inverse, force)]

    def observe(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """(deflection of the tip [m], its arc Lθ + w [m], kinetic energy [J], bending energy [J])."""
        n = 1 + self.modes
        z, zd = x[:n], x[n:]
        w = linear.inner(self.tip_values.tolist(), z[1:])
        kinetic = 0.5 * linear.inner(linear.apply(self.mass_matrix.tolist(), zd), zd)
        bending = 0.5 * linear.inner(np.diag(self.stiffness_matrix).tolist(), [y * y for y in z])
        return [w, self.length * z[0] + w, kinetic, bending]

    def flow(self) -> Flow:
        """The system as `simulate` takes it; the input is the torque on the hub."""
        return Flow(
            "flexible link",
            self.states,
            ("hub_torque",),
            self.rate,
            positions=1 + self.modes,
            outputs=("tip_deflection", "tip_arc", "kinetic_energy", "bending_energy"),
            observe=self.observe,
        )
