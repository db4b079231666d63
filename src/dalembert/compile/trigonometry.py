"""sin and cos, our own: the same polynomials in Python and in every kernel.

x = k π/2 + r with |r| ≤ π/4. k comes from adding 1.5·2⁵², which rounds to an integer in the last bits of
the sum, so that no conversion to an integer is needed: that conversion is undefined for NaN, infinity
and huge numbers, while the sum is harmless there. π/2 is split into three parts of 33 bits, the first
product is exact, and r keeps a second part for what its rounding lost. Past LIMIT the reduction would
lose accuracy, and the result is NaN.
Coefficients: minimax polynomials on [−π/4, π/4] (Cephes).
"""

from __future__ import annotations

import math
import struct

from dalembert.compile.exact import fma

LIMIT = 2.0**30  # [rad] about 1e9
TWO_OVER_PI = 0.63661977236758134308
MAGIC = 6755399441055744.0  # 1.5 · 2⁵²
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
SIN = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COS = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)


def sin_cos(x: float) -> tuple[float, float]:
    """(sin x, cos x), step by step as a kernel computes them."""
    if not abs(x) <= LIMIT:
        return math.nan, math.nan
    shifted = x * TWO_OVER_PI + MAGIC
    k = struct.unpack("<q", struct.pack("<d", shifted))[0]
    turns = shifted - MAGIC
    r = fma(turns, -HALF_PI[0], x)
    r = fma(turns, -HALF_PI[1], r)
    r = fma(turns, -HALF_PI[2], r)
    z = r * r
    s = SIN[0]
    for a in SIN[1:]:
        s = fma(s, z, a)
    s = fma(s * z, r, r)
    c = COS[0]
    for a in COS[1:]:
        c = fma(c, z, a)
    c = fma(c * z, z, fma(z, -0.5, 1.0))
    if k & 1:
        s, c = c, s
    return (-s if k & 2 else s), (-c if (k + 1) & 2 else c)


def sin(x: float) -> float:
    return sin_cos(x)[0]


def cos(x: float) -> float:
    return sin_cos(x)[1]
