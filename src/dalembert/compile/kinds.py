"""The two kinds of number that kernels compute in."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from dalembert.compile import exponential, trigonometry


@dataclass(frozen=True)
class Kind:
    """A floating-point type: LLVM's name, its size, NumPy's number for it, and its functions' constants."""

    name: str
    bits: int
    code: str  # of struct: d or f
    trigonometry: trigonometry.Constants
    exponential: exponential.Constants

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return np.dtype(f"f{self.bytes}")

    def constant(self, x: float) -> str:
        """LLVM writes a constant of either kind as the bits of a double; it must be exact in the kind."""
        with np.errstate(over="ignore"):  # a constant beyond the kind is infinite
            rounded = float(self.dtype.type(x))
        return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"

    def as_integer(self, x: float) -> int:
        """The bits of x as a signed integer."""
        integer = {"d": "q", "f": "i"}[self.code]
        (bits,) = struct.unpack(f"<{integer}", struct.pack(f"<{self.code}", x))
        return int(bits)


DOUBLE = Kind("double", 64, "d", trigonometry.DOUBLE, exponential.DOUBLE)
SINGLE = Kind("float", 32, "f", trigonometry.SINGLE, exponential.SINGLE)
