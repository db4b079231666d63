"""arctan2, composed of the graph's own operations: the same steps in Python, in every kernel and in the C source.

With hi and lo the larger and smaller of |x|, |y|: atan(lo/hi) is atan(t) for t = lo/hi up to tan π/8, and
π/4 + atan(t) with t = (lo − hi)/(lo + hi) above, so that |t| ≤ tan π/8 at the price of one division; then
atan t = t + t³ P(t²), and the octant is put back. P: Chebyshev fit on [0, tan² π/8], error 1.2e-18.
"""

from __future__ import annotations

import math

from dalembert.scalar import Scalar, absolute, where

TAN_PI_8 = 0.41421356237309503
# What π/4, π/2 and π lack as doubles.
LOW = 1.2246467991473532e-16
POLYNOMIAL = (
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
    P: Scalar = POLYNOMIAL[0]
    for coefficient in POLYNOMIAL[1:]:
        P = P * z + coefficient
    angle = (t * z) * P + where(outer, LOW / 4, 0.0) + t
    angle = where(outer, math.pi / 4 + angle, angle)
    angle = where(steep, math.pi / 2 - (angle - LOW / 2), angle)
    angle = where(x < 0.0, math.pi - (angle - LOW), angle)
    return where(y < 0.0, -angle, angle)
