"""sin and cos, our own: the same polynomials in Python and in every kernel.

x = k π/2 + r with |r| ≤ π/4. k comes from adding 1.5·2⁵² (in doubles), which rounds to an integer in the last bits of
the sum, so that no conversion to an integer is needed: that conversion is undefined for NaN, infinity
and huge numbers, while the sum is harmless there. π/2 is split into three parts of few bits, so that
the first difference is exact. Past the limit the reduction would lose accuracy, and the result is NaN.
Coefficients: minimax polynomials on [−π/4, π/4] (Cephes).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from dalembert.compile.exact import fma

TWO_OVER_PI = 0.63661977236758134308


@dataclass(frozen=True)
class Constants:
    """What one precision needs: the largest angle [rad], the number that rounds to an integer, π/2 in three parts
    with few bits each, and the polynomials' coefficients, highest power first."""

    limit: float
    magic: float
    half_pi: tuple[float, float, float]
    sin: tuple[float, ...]
    cos: tuple[float, ...]


DOUBLE = Constants(
    limit=2.0**30,  # about 1e9
    magic=6755399441055744.0,  # 1.5 · 2⁵²
    half_pi=(1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    sin=(
        1.58962301576546568060e-10,
        -2.50507477628578072866e-8,
        2.75573136213857245213e-6,
        -1.98412698295895385996e-4,
        8.33333333332211858878e-3,
        -1.66666666666666307295e-1,
    ),
    cos=(
        -1.13585365213876817300e-11,
        2.08757008419747316778e-9,
        -2.75573141792967388112e-7,
        2.48015872888517045348e-5,
        -1.38888888888730564116e-3,
        4.16666666666665929218e-2,
    ),
)
SINGLE = Constants(
    limit=2.0**13,
    magic=12582912.0,  # 1.5 · 2²³
    half_pi=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    sin=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cos=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
)
LIMIT = DOUBLE.limit


def sin_cos(x: float) -> tuple[float, float]:
    """(sin x, cos x), step by step as a kernel computes them."""
    t = DOUBLE
    if not abs(x) <= t.limit:
        return math.nan, math.nan
    shifted = x * TWO_OVER_PI + t.magic
    k = struct.unpack("<q", struct.pack("<d", shifted))[0]
    turns = shifted - t.magic
    r = x
    for part in t.half_pi:
        r = fma(turns, -part, r)
    z = r * r
    s = t.sin[0]
    for a in t.sin[1:]:
        s = fma(s, z, a)
    s = fma(s * z, r, r)
    c = t.cos[0]
    for a in t.cos[1:]:
        c = fma(c, z, a)
    c = fma(c * z, z, fma(z, -0.5, 1.0))
    if k & 1:
        s, c = c, s
    return (-s if k & 2 else s), (-c if (k + 1) & 2 else c)


def sin(x: float) -> float:
    return sin_cos(x)[0]


def cos(x: float) -> float:
    return sin_cos(x)[1]
