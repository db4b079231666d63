"""exp and log, our own: the same steps in Python and in every kernel; tanh, composed of exp.

exp: x = k ln 2 + r with |r| ≤ ½ ln 2, exp x = 2ᵏ (1 + r + r² Q(r)). k comes from adding 1.5·2⁵², as in `trigonometry`;
2ᵏ is multiplied in two halves, so that results down to the smallest subnormal number come out. log: x = 2ᵉ m with m
between √½ and √2, taken from the bits of x; with f = m − 1 and s = f/(2 + f), log(1 + f) = 2 artanh s.
Q: Chebyshev fit, error 1.7e-19; the polynomial of log: minimax (FDLIBM).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from dalembert.compile.exact import fma
from dalembert.scalar import Scalar, absolute, exp, where

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Constants:
    """What one precision needs: how many bits its mantissa has, the bias of its exponent, the |x| past which exp is 0
    or infinite, the number that rounds to an integer, ln 2 in two parts, √½, and the polynomials, highest power
    first."""

    mantissa: int
    bias: int
    limit: float
    magic: float
    ln2: tuple[float, float]
    half_root: float
    exp: tuple[float, ...]
    log: tuple[float, ...]

    @property
    def smallest(self) -> float:
        """The smallest number of full precision."""
        return 2.0 ** (1 - self.bias)

    @property
    def lift(self) -> int:
        """The power of two that lifts a subnormal number to full precision."""
        return self.mantissa + 2


DOUBLE = Constants(
    mantissa=52,
    bias=1023,
    limit=746.0,
    magic=6755399441055744.0,  # 1.5 · 2⁵²
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    half_root=math.sqrt(0.5),
    exp=(
        2.0914686968086876e-09,
        2.5105217004720745e-08,
        2.75572736431103e-07,
        2.7557255400206422e-06,
        2.4801587325547743e-05,
        0.00019841269874820627,
        0.0013888888888883748,
        0.008333333333326136,
        0.04166666666666667,
        0.1666666666666667,
        0.5,
    ),
    log=(
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ),
)
SINGLE = Constants(
    mantissa=23,
    bias=127,
    limit=105.0,
    magic=12582912.0,  # 1.5 · 2²³
    ln2=(6.9313812256e-01, 9.0580006145e-06),
    half_root=0.70710676908493042,
    exp=(
        1.9890991097781807e-4,
        1.3933649752289057e-3,
        8.33331048488617e-3,
        4.166646674275398e-2,
        0.1666666716337204,
        0.5,
    ),
    log=(2.4279078841e-01, 2.8498786688e-01, 4.0000972152e-01, 6.6666662693e-01),
)


def _bits(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def exponential(x: float) -> float:
    """eˣ, step by step as a kernel computes it: within 1 ulp; 0 below −745.13, infinite above 709.78."""
    t = DOUBLE
    if math.isnan(x):
        return x
    y = x if abs(x) <= t.limit else math.copysign(t.limit, x)
    shifted = fma(y, LOG2_E, t.magic)
    k = _bits(shifted) - _bits(t.magic)
    turns = shifted - t.magic
    r = fma(turns, -t.ln2[1], fma(turns, -t.ln2[0], y))
    Q = t.exp[0]
    for a in t.exp[1:]:
        Q = fma(Q, r, a)
    p = fma(r * r, Q, r) + 1.0
    half = k >> 1
    return p * math.ldexp(1.0, half) * math.ldexp(1.0, k - half)


def logarithm(x: float) -> float:
    """ln x, step by step as a kernel computes it: within 1 ulp; −∞ at zero, NaN below."""
    t = DOUBLE
    if math.isnan(x) or x < 0.0:
        return math.nan
    if x == 0.0 or math.isinf(x):
        return x if x else -math.inf
    low = x < t.smallest
    bits = _bits(x * 2.0**t.lift if low else x)
    e = (bits - _bits(t.half_root)) >> t.mantissa
    f = _number(bits - (e << t.mantissa)) - 1.0
    exponent = float(e) - (t.lift if low else 0.0)
    s = f / (2.0 + f)
    z = s * s
    R = t.log[0]
    for a in t.log[1:]:
        R = fma(R, z, a)
    h = 0.5 * f * f
    rest = fma(s, fma(R, z, h), exponent * t.ln2[1])
    return fma(exponent, t.ln2[0], f - (h - rest))


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
