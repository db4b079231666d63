"""Transfer functions N(s)/D(s) of one input and one output, with or without a dead time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, count, number
from dalembert.errors import InputError
from dalembert.lazy import library

if TYPE_CHECKING:
    from dalembert.control.linear import StateSpace
    from dalembert.symbolic.compare import Quantity


def python_control() -> ModuleType:
    """Return the library python-control (extra `control`), imported at the first call."""
    return library("control")


def read_coefficients(name: str, value: ArrayLike) -> Array:
    """Return the coefficients of a polynomial, the highest power first, without leading zeros; zero is [0]."""
    p = np.atleast_1d(array(name, value, (), (None,), meaning="coefficients, the highest power first"))
    if not p.size:
        raise InputError("too-few", name, expected="have at least one coefficient")
    kept = np.flatnonzero(p)
    p = p[kept[0] :] if kept.size else np.zeros(1)
    p.setflags(write=False)
    return p


def _polynomial_text(p: Array) -> str:
    powers = zip(map(float, p), range(len(p) - 1, -1, -1), strict=True)
    terms = [f"{c:.12g}" + ("" if k == 0 else "*s" if k == 1 else f"*s^{k}") for c, k in powers if c]
    return " + ".join(terms) or "0"


@dataclass(frozen=True, eq=False)
class TransferFunction:
    """A transfer function G(s) = N(s)/D(s) e^(−Ls).

    Parameters
    ----------
    num, den : array_like
        Coefficients of N and D, the highest power of s first.
    delay : float
        Dead time L [s].
    """

    num: Array
    den: Array
    delay: float = 0.0

    def __init__(self, num: ArrayLike, den: ArrayLike = (1.0,), delay: float = 0.0) -> None:
        object.__setattr__(self, "num", read_coefficients("num", num))
        object.__setattr__(self, "den", read_coefficients("den", den))
        if not self.den[0]:
            raise InputError("out-of-range", "den", expected="not be zero")
        object.__setattr__(self, "delay", number("delay", delay, "s", least=0.0))

    def __repr__(self) -> str:
        late = f", delay={self.delay:g}" if self.delay else ""
        return f"TransferFunction({self.num.tolist()}, {self.den.tolist()}{late})"

    def __call__(self, s: Any) -> Any:
        """Return G at a complex s or an array of them. The frequency response is G(jω)."""
        value = np.polyval(self.num, s) / np.polyval(self.den, s)
        return value * np.exp(-self.delay * np.asarray(s)) if self.delay else value

    def quantity(self, name: str = "G(s)") -> Quantity:
        """Return G(s) as the quantity with which a formula in s is compared."""
        from dalembert.symbolic.compare import Quantity

        above, below = (_polynomial_text(p) for p in (self.num, self.den))
        late = f"*exp(-{self.delay!r}*s)" if self.delay else ""
        return Quantity(name, lambda values: np.asarray(self(values["s"])), {"s": None}, f"({above})/({below}){late}")

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Roots of D."""
        return np.roots(self.den).astype(complex)

    @property
    def zeros(self) -> NDArray[np.complex128]:
        """Roots of N."""
        return np.roots(self.num).astype(complex)

    @property
    def excess(self) -> int:
        """Number of poles minus number of zeros."""
        return len(self.den) - len(self.num)

    @property
    def gain_at_rest(self) -> float:
        """G(0), infinite if there is a pole at zero."""
        return float(self.num[-1] / self.den[-1]) if self.den[-1] else math.inf

    @property
    def stable(self) -> bool:
        """Whether all poles lie in the left half plane."""
        return bool((self.poles.real < 0).all())

    # ------------------------------------------------------------------------------------------------ composition
    def __mul__(self, other: TransferFunction | float) -> TransferFunction:
        """Return the series connection. For a parallel one see `to_control`."""
        H = _as_transfer(other)
        return TransferFunction(np.polymul(self.num, H.num), np.polymul(self.den, H.den), self.delay + H.delay)

    __rmul__ = __mul__

    def feedback(self, back: TransferFunction | float = 1.0) -> TransferFunction:
        """Return G/(1 + G H), the loop closed with negative feedback through H = `back`."""
        H = _as_transfer(back)
        _refuse_delay(self.delay or H.delay)
        num = np.polymul(self.num, H.den)
        return TransferFunction(num, np.polyadd(np.polymul(self.den, H.den), np.polymul(self.num, H.num)))

    def pade(self, order: int = 3) -> TransferFunction:
        """Return G with its dead time L replaced by a Padé approximation, an all-pass that is accurate for
        |s| L well below 2 · `order`. Needs the extra `control`."""
        count("order", order, 1)
        if not self.delay:
            return self
        num, den = python_control().pade(self.delay, order)
        return TransferFunction(np.polymul(self.num, num), np.polymul(self.den, den))

    def state_space(self) -> StateSpace:
        """Return the controllable canonical form with states x₁ … xₙ, input u and output y."""
        from dalembert.control.linear import StateSpace

        _refuse_delay(self.delay)
        if self.excess < 0:
            raise InputError(
                "wrong-value", problem="the transfer function has more zeros than poles, so it has no states"
            )
        n = len(self.den) - 1
        a = self.den / self.den[0]
        b = np.concatenate((np.zeros(self.excess), self.num)) / self.den[0]
        A = np.eye(n, k=1)
        A[n - 1 :] = -a[:0:-1]
        C = (b[1:] - b[0] * a[1:])[::-1][None]
        return StateSpace(
            A, np.eye(n)[:, n - 1 :] if n else np.zeros((0, 1)), C, [[b[0]]], inputs=("u",), outputs=("y",)
        )

    def to_control(self) -> Any:
        """Return the same system in python-control (extra `control`), which has no dead time."""
        _refuse_delay(self.delay)
        return python_control().tf(self.num, self.den)


def _as_transfer(value: TransferFunction | float) -> TransferFunction:
    return value if isinstance(value, TransferFunction) else TransferFunction([number("gain", value)])


def _refuse_delay(delay: float) -> None:
    if delay:
        raise InputError(
            "unsupported",
            problem=f"the dead time of {delay:g} s is not a ratio of polynomials",
            remedy="Approximate it with pade().",
        )
