"""The kinds of number that kernels compute in, and the constants of their own sin, cos, exp and log.

Polynomials are written highest power first. sin and cos: minimax on [−π/4, π/4] (Cephes); exp: Chebyshev fit, error
1.7e-19; log: minimax (FDLIBM).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Kind:
    """A floating-point type: LLVM's name, its size, how many bits its mantissa has, and what its functions need: the
    number that rounds to an integer when it is added, the largest angle [rad] and π/2 in three parts of few bits, the
    |x| past which exp is 0 or infinite, ln 2 in two parts, √½, and the polynomials. `fused`: whether the machine rounds
    a · b + c once; elsewhere it is a product and a sum."""

    name: str
    bits: int
    code: str  # of struct: d or f
    mantissa: int
    magic: float
    largest_angle: float
    half_pi: tuple[float, float, float]
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    largest_exponent: float
    ln2: tuple[float, float]
    half_root: float
    exp: tuple[float, ...]
    log: tuple[float, ...]
    fused: bool = True

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def bias(self) -> int:
        """Of the exponent."""
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def smallest(self) -> float:
        """The smallest number of full precision."""
        return 2.0 ** (1 - self.bias)

    @property
    def lift(self) -> int:
        """The power of two that lifts a subnormal number to full precision."""
        return self.mantissa + 2

    @property
    def c_suffix(self) -> str:
        """Of C's numbers of this kind, and of its functions of them."""
        return "f" if self.name == "float" else ""

    def rounded(self, x: float) -> float:
        """The nearest number of the kind; infinite beyond it. What rounds to a whole number is each kind's own."""
        # Looked up: x == … would raise the "invalid" flag for NaN, and NumPy warn.
        x = {DOUBLE.magic: self.magic, -DOUBLE.magic: -self.magic}.get(x, x)
        with np.errstate(over="ignore"):
            return float(np.dtype(f"f{self.bytes}").type(x))

    def constant(self, x: float) -> str:
        """LLVM writes a constant of either kind as the bits of a double; it must be exact in the kind."""
        return f"0x{struct.unpack('<Q', struct.pack('<d', self.rounded(x)))[0]:016X}"

    def as_integer(self, x: float) -> int:
        """The bits of x as a signed integer."""
        (bits,) = struct.unpack("<q" if self.code == "d" else "<i", struct.pack(f"<{self.code}", x))
        return int(bits)

    def as_number(self, bits: int) -> float:
        """The number with these bits."""
        (x,) = struct.unpack(f"<{self.code}", struct.pack("<q" if self.code == "d" else "<i", bits))
        return float(x)


DOUBLE = Kind(
    name="double",
    bits=64,
    code="d",
    mantissa=52,
    magic=6755399441055744.0,  # 1.5 · 2⁵²
    largest_angle=2.0**30,  # about 1e9
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
    largest_exponent=746.0,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    half_root=0.7071067811865476,
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
SINGLE = Kind(
    name="float",
    bits=32,
    code="f",
    mantissa=23,
    magic=12582912.0,  # 1.5 · 2²³
    largest_angle=2.0**13,
    half_pi=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    sin=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cos=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    largest_exponent=105.0,
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
# A machine without fused steps, as WebAssembly is. π/2's first two parts have 33 bits: their products with up to 2²⁰
# quarter turns are exact, and the reduction as good as a fused one; past that many the result is NaN.
UNFUSED = replace(DOUBLE, fused=False, largest_angle=1.6e6)
SINGLE_UNFUSED = replace(SINGLE, fused=False)  # here the first two parts have 11 bits, for 2¹³ quarter turns
