"""Responses of m ẍ + b ẋ + k x = f₀ + f₁ t in closed form, over any scalar, for every damping alike.

The textbook's three solutions divide by the distance of the two poles and lose all digits where they meet. Here every
response is one of five functions of time that stay smooth there: divided differences of eˢᵗ in the poles and zero,

    S = e[s₁, s₂],   P = e[0, s₁, s₂] = ∫S,   R = e[0, 0, s₁, s₂] = ∫P,   E = 1 − ω² P,   Ṡ,

with σ = b/2m, ω² = k/m, s₁,₂ = −σ ± √(σ² − ω²). Each is computed in a form without cancellation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.scalar import absolute, cos, exp, maximum, sin, sqrt, tanh, where
from dalembert.scalar import arrays as _arrays  # noqa: F401 - registers arrays as scalars

Scalar = Any
TERMS = 18  # of the power series, for (2|σ| + |ω|) t below 1: the next term is below 1e-17
APART = 0.125  # of |σ|: poles farther apart than twice this are told from each other by their difference


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


def basis(t: Scalar, sigma: Scalar, omega2: Scalar) -> Basis:
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


def response(
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
    f = basis(t, b / (2.0 * m), omega2)
    x = f.E * x0 + f.S * v0 + (f.P * force + f.R * ramp) / m
    v = f.S_rate * v0 - omega2 * (f.S * x0) + (f.S * force + f.P * ramp) / m
    return x, v
