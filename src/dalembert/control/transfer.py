"""Transfer functions of one input and one output: N(s)/D(s), with a dead time if there is one."""

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
    """The library python-control, when it is first needed."""
    return library("control")


def read_coefficients(name: str, value: ArrayLike) -> Array:
    """A polynomial's coefficients, the highest power first, leading zeros dropped; zero is [0]."""
    p = np.atleast_1d(array(name, value, (), (None,), meaning="coefficients, the highest power first"))
    if not p.size:
        raise InputError(f"{name} has no coefficients")
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
    """G(s) = N(s)/D(s) e^(−Ls): `num` and `den` by falling powers of s, `delay` L [s]."""

    num: Array
    den: Array
    delay: float = 0.0

    def __init__(self, num: ArrayLike, den: ArrayLike = (1.0,), delay: float = 0.0) -> None:
        object.__setattr__(self, "num", read_coefficients("the numerator", num))
        object.__setattr__(self, "den", read_coefficients("the denominator", den))
        if not self.den[0]:
            raise InputError("the denominator of a transfer function is zero")
        object.__setattr__(self, "delay", number("the dead time", delay, "s", least=0.0))

    def __repr__(self) -> str:
        late = f", delay={self.delay:g}" if self.delay else ""
        return f"TransferFunction({self.num.tolist()}, {self.den.tolist()}{late})"

    def __call__(self, s: Any) -> Any:
        """G at any complex s, or an array of them; s = jω is the frequency response."""
        value = np.polyval(self.num, s) / np.polyval(self.den, s)
        return value * np.exp(-self.delay * np.asarray(s)) if self.delay else value

    def quantity(self, name: str = "G(s)") -> Quantity:
        """What a formula in s can be compared with: G(s) with its numbers."""
        from dalembert.symbolic.compare import Quantity

        above, below = (_polynomial_text(p) for p in (self.num, self.den))
        late = f"*exp(-{self.delay!r}*s)" if self.delay else ""
        return Quantity(name, lambda values: np.asarray(self(values["s"])), {"s": None}, f"({above})/({below}){late}")

    @property
    def poles(self) -> NDArray[np.complex128]:
        return np.roots(self.den).astype(complex)

    @property
    def zeros(self) -> NDArray[np.complex128]:
        return np.roots(self.num).astype(complex)

    @property
    def excess(self) -> int:
        """How many more poles than zeros."""
        return len(self.den) - len(self.num)

    @property
    def gain_at_rest(self) -> float:
        """G(0), infinite where there is a pole at zero."""
        return float(self.num[-1] / self.den[-1]) if self.den[-1] else math.inf

    @property
    def stable(self) -> bool:
        """Whether all poles lie in the left half plane."""
        return bool((self.poles.real < 0).all())

    # ------------------------------------------------------------------------------------------------ composition
    def __mul__(self, other: TransferFunction | float) -> TransferFunction:
        """In series."""
        if isinstance(other, TransferFunction):
            num, den = np.polymul(self.num, other.num), np.polymul(self.den, other.den)
            return TransferFunction(num, den, self.delay + other.delay)
        return TransferFunction(self.num * _scale(other), self.den, self.delay)

    __rmul__ = __mul__

    def __add__(self, other: TransferFunction | float) -> TransferFunction:
        """In parallel; not for different dead times, whose sum is no transfer function of this kind."""
        if not isinstance(other, TransferFunction):
            other = TransferFunction([_scale(other)], [1.0], self.delay if not _scale(other) else 0.0)
        if other.delay != self.delay:
            raise InputError(f"what has dead times {self.delay:g} s and {other.delay:g} s cannot be added")
        num = np.polyadd(np.polymul(self.num, other.den), np.polymul(other.num, self.den))
        return TransferFunction(num, np.polymul(self.den, other.den), self.delay)

    __radd__ = __add__

    def feedback(self, back: TransferFunction | float = 1.0) -> TransferFunction:
        """G/(1 + G H), the loop closed with negative feedback through H."""
        H = back if isinstance(back, TransferFunction) else TransferFunction([_scale(back)])
        if self.delay or H.delay:
            raise InputError("a loop with a dead time inside has no rational transfer function; approximate by pade()")
        num = np.polymul(self.num, H.den)
        return TransferFunction(num, np.polyadd(np.polymul(self.den, H.den), np.polymul(self.num, H.num)))

    def pade(self, order: int = 3) -> TransferFunction:
        """The dead time replaced by a rational all-pass of this order (Padé): good for |s| L well below 2 · order."""
        count("the order of a Padé approximation", order, 1)
        if not self.delay:
            return self
        c = [1.0]
        for k in range(1, order + 1):
            c.append(c[-1] * (order - k + 1) / ((2 * order - k + 1) * k) * self.delay)
        rising = np.array(c)
        signs = (-1.0) ** np.arange(order + 1)
        num, den = (rising * signs)[::-1], rising[::-1]
        return TransferFunction(np.polymul(self.num, num), np.polymul(self.den, den))

    def state_space(self) -> StateSpace:
        """In controllable canonical form; x₁ … xₙ, input u, output y."""
        from dalembert.control.linear import StateSpace

        if self.delay:
            raise InputError("a dead time has no finite state; approximate it by pade()")
        if self.excess < 0:
            raise InputError("more zeros than poles: such a transfer function differentiates and has no state space")
        n = len(self.den) - 1
        a = self.den / self.den[0]
        b = np.concatenate((np.zeros(self.excess), self.num)) / self.den[0]
        A = np.zeros((n, n))
        if n:
            A[:-1, 1:] = np.eye(n - 1)
            A[-1] = -a[:0:-1]
        B = np.zeros((n, 1))
        B[-1:] = 1.0
        C = (b[1:] - b[0] * a[1:])[::-1][None]
        return StateSpace(A, B, C, [[b[0]]], inputs=("u",), outputs=("y",))

    def to_control(self) -> Any:
        """The same in python-control (extra `control`); a dead time must be approximated first."""
        if self.delay:
            raise InputError("python-control has no dead time; approximate it by pade()")
        return python_control().tf(self.num, self.den)


def _scale(value: object) -> float:
    try:
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(
            f"a transfer function goes with another or with a number, not with {type(value).__name__}"
        ) from None
    if not math.isfinite(x):
        raise InputError(f"a gain must be a finite number, got {x}")
    return x


def read_plant(plant: object) -> TransferFunction:
    """What a user gives as a plant of one input and one output: a transfer function, or what has one."""
    from dalembert.control.linear import StateSpace

    if isinstance(plant, TransferFunction):
        return plant
    if isinstance(plant, StateSpace):
        return plant.transfer()
    made = getattr(plant, "transfer", None)
    if callable(made):
        G = made()
        if isinstance(G, TransferFunction):
            return G
    raise InputError(f"a plant is a TransferFunction, a StateSpace or what has .transfer(); got {type(plant).__name__}")
