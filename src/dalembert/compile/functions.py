"""sin, cos, exp and log, our own: the same steps in Python and in every kernel; arctan2 and tanh, composed of the
graph's own operations.

sin, cos: x = k π/2 + r with |r| ≤ π/4. k comes from adding 1.5·2⁵² (in doubles), which rounds to an integer in the last
bits of the sum, so that no conversion to an integer is needed: that conversion is undefined for NaN, infinity and huge
numbers, while the sum is harmless there. π/2 is split into three parts of few bits, so that the first difference is
exact. Past the limit the reduction would lose accuracy, and the result is NaN.

exp: x = k ln 2 + r with |r| ≤ ½ ln 2, exp x = 2ᵏ (1 + r + r² Q(r)); 2ᵏ is multiplied in two halves, so that results
down to the smallest subnormal number come out. log: x = 2ᵉ m with m between √½ and √2, taken from the bits of x; with
f = m − 1 and s = f/(2 + f), log(1 + f) = 2 artanh s.

arctan2: with hi and lo the larger and smaller of |x|, |y|: atan(lo/hi) is atan(t) for t = lo/hi up to tan π/8, and
π/4 + atan(t) with t = (lo − hi)/(lo + hi) above, so that |t| ≤ tan π/8 at the price of one division; then
atan t = t + t³ P(t²), and the octant is put back. P: Chebyshev fit on [0, tan² π/8], error 1.2e-18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.scalar import Scalar, absolute, exp, where

TWO_OVER_PI = 0.63661977236758134308
LOG2_E = 1.4426950408889634
LARGEST_ANGLE = DOUBLE.largest_angle  # [rad]
TAN_PI_8 = 0.41421356237309503
# What π/4, π/2 and π lack as doubles.
LOW = 1.2246467991473532e-16
ARCTANGENT = (
    0.016285756855221028,
    -0.034570561981427744,
    0.04551593220626549,
    -0.05230454270650244,
    0.05878928997834775,
    -0.06666424885738255,
    0.07692296375032143,
    -0.09090908753500877,
    0.11111111105155447,
    -0.14285714285659828,
    0.19999999999999804,
    -0.3333333333333333,
)


def fma(a: float, b: float, c: float, t: Kind = DOUBLE) -> float:
    """a · b + c rounded once, which Python 3.11 does not have; twice where the kind of number is not fused."""
    if not t.fused or not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # whatever the product, which a·b + c would round to infinity if it is large
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # a fraction has no signed zero
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _horner(coefficients: Sequence[float], x: float, t: Kind) -> float:
    y = coefficients[0]
    for a in coefficients[1:]:
        y = fma(y, x, a, t)
    return y


def sin_cos(x: float, t: Kind = DOUBLE) -> tuple[float, float]:
    """(sin x, cos x), step by step as a kernel computes them."""
    if not abs(x) <= t.largest_angle:
        return math.nan, math.nan
    shifted = x * TWO_OVER_PI + t.magic
    k = t.as_integer(shifted)
    turns = shifted - t.magic
    r = x
    for part in t.half_pi:
        r = fma(turns, -part, r, t)
    z = r * r
    s = fma(_horner(t.sin, z, t) * z, r, r, t)
    c = fma(_horner(t.cos, z, t) * z, z, fma(z, -0.5, 1.0, t), t)
    if k & 1:
        s, c = c, s
    return (-s if k & 2 else s), (-c if (k + 1) & 2 else c)


def exponential(x: float, t: Kind = DOUBLE) -> float:
    """eˣ, step by step as a kernel computes it: within 1 ulp; 0 below −745.13, infinite above 709.78."""
    if math.isnan(x):
        return x
    y = x if abs(x) <= t.largest_exponent else math.copysign(t.largest_exponent, x)
    shifted = fma(y, LOG2_E, t.magic, t)
    k = t.as_integer(shifted) - t.as_integer(t.magic)
    turns = shifted - t.magic
    r = fma(turns, -t.ln2[1], fma(turns, -t.ln2[0], y, t), t)
    p = fma(r * r, _horner(t.exp, r, t), r, t) + 1.0
    half = k >> 1
    return p * math.ldexp(1.0, half) * math.ldexp(1.0, k - half)


def logarithm(x: float, t: Kind = DOUBLE) -> float:
    """ln x, step by step as a kernel computes it: within 1 ulp; −∞ at zero, NaN below."""
    if math.isnan(x) or x < 0.0:
        return math.nan
    if x == 0.0 or math.isinf(x):
        return x if x else -math.inf
    low = x < t.smallest
    bits = t.as_integer(x * 2.0**t.lift if low else x)
    e = (bits - t.as_integer(t.half_root)) >> t.mantissa
    f = t.as_number(bits - (e << t.mantissa)) - 1.0
    exponent = float(e) - (t.lift if low else 0.0)
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    rest = fma(s, fma(_horner(t.log, z, t), z, h, t), exponent * t.ln2[1], t)
    return fma(exponent, t.ln2[0], f - (h - rest), t)


def tanh(x: Scalar) -> Scalar:
    """tanh x = t/(t + 2) with t = e²ˣ − 1, composed of the graph's own operations; small arguments take t from the
    polynomial, where the difference would cancel. Within 3 ulp; NaN stays NaN."""
    y = absolute(x + x)
    Q: Scalar = DOUBLE.exp[0]
    for a in DOUBLE.exp[1:]:
        Q = Q * y + a
    t = where(y < 0.34, y * y * Q + y, exp(where(y > 44.0, 44.0, y)) - 1.0)  # e⁴⁴ + 1 is e⁴⁴
    size = where(y > 44.0, 1.0, t / (t + 2.0))
    return where(x < 0.0, -size, size)


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in (−π, π]: zero at the origin, π for y = ±0 and x < 0 (the sign of a zero is
    not looked at). Within 2 ulp for finite x and y of which |x| + |y| is finite; NaN if either is NaN."""
    a, b = absolute(y), absolute(x)
    steep = b < a
    hi, lo = where(steep, a, b), where(steep, b, a)
    outer = lo > TAN_PI_8 * hi
    over, under = where(outer, lo - hi, lo), where(outer, lo + hi, hi)
    # 2, not 1, for a divisor of zero: by 1 LLVM divides first and chooses afterwards, and NumPy warns of 0/0.
    t = over / where(under <= 0.0, 2.0, under)
    z = t * t
    P: Scalar = ARCTANGENT[0]
    for coefficient in ARCTANGENT[1:]:
        P = P * z + coefficient
    angle = (t * z) * P + where(outer, LOW / 4, 0.0) + t
    angle = where(outer, math.pi / 4 + angle, angle)
    angle = where(steep, math.pi / 2 - (angle - LOW / 2), angle)
    angle = where(x < 0.0, math.pi - (angle - LOW), angle)
    return where(y < 0.0, -angle, angle)
