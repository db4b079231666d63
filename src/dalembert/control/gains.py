"""Gains: numbers that users give, looked at once; parameters of a law, by name; and what multiplies an error.

A gain of n joints is one number for all, n numbers, or an n×n matrix that is symmetric and positive definite. Each
entry is a parameter of the law, `kp_joint1` (or `kp_joint1_joint2` in a matrix), so that a batch may vary it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import linear
from dalembert.arguments import Array, array
from dalembert.caching import cached_property
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars

# How far a matrix of gains may be from symmetric, relative to its largest entry: digits that were printed and read.
SYMMETRIC = 1e-9
MAX_SHOWN_KEYWORDS = 6  # in the message about a positional gain
WHOLE = ("",)  # the names of a gain that is one number for the whole robot


class KeywordGains:
    """Base class of dataclasses whose gains are keyword-only. Raise an InputError that names the keywords otherwise."""

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        declared = [field for field in fields(cls) if field.init]  # type: ignore[arg-type]
        systems = [field.name for field in declared if not field.kw_only]
        if len(args) > len(systems):
            own = sorted((f.name for f in declared if f.kw_only), key=lambda name: name not in cls.__annotations__)
            keywords = [f"{name}=…" for name in own]
            shown = ", ".join([*systems, *keywords[:MAX_SHOWN_KEYWORDS], *["…"] * (len(keywords) > MAX_SHOWN_KEYWORDS)])
            raise InputError(
                "wrong-value",
                problem=f"{cls.__name__} takes {len(systems)} positional argument{'s' * (len(systems) != 1)}, got "
                f"{len(args)}",
                remedy=f"Pass gains by keyword: {cls.__name__}({shown}).",
            )
        return super().__new__(cls)


@dataclass(frozen=True)
class Gain:
    """One gain: `values` are its n diagonal entries, or (`full`) the rows of its lower triangle."""

    symbol: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    full: bool = False

    @property
    def n(self) -> int:
        return len(self.names)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Row and column of each value."""
        n = self.n
        return tuple((i, j) for i in range(n) for j in range(i + 1)) if self.full else tuple((i, i) for i in range(n))

    @cached_property
    def matrix(self) -> Array:
        K = np.zeros((self.n, self.n))
        for (i, j), x in zip(self.places, self.values, strict=True):
            K[i, j] = K[j, i] = x
        return K

    @cached_property
    def lowest(self) -> float:
        """The smallest eigenvalue."""
        return float(np.linalg.eigvalsh(self.matrix)[0])

    @cached_property
    def highest(self) -> float:
        return float(np.linalg.eigvalsh(self.matrix)[-1])

    def parameter_names(self) -> tuple[str, ...]:
        """kp_joint, and kp_joint_other off the diagonal of a matrix; the symbol alone where it is of nothing in
        particular."""
        if self.names == WHOLE:
            return (self.symbol,)
        x = self.names
        return tuple(f"{self.symbol}_{x[i]}" if i == j else f"{self.symbol}_{x[i]}_{x[j]}" for i, j in self.places)

    def apply(self, p: Scalars, x: Scalars) -> list[Scalar]:
        """K x, with the entries as they stand among the parameters."""
        if not self.full:
            return [k * v for k, v in zip(p, x, strict=True)]
        K: list[list[Scalar]] = [[0.0] * self.n for _ in range(self.n)]
        for (i, j), k in zip(self.places, p, strict=True):
            K[i][j] = K[j][i] = k
        return linear.apply(K, x)

    def __str__(self) -> str:
        digits = [f"{x:.4g}" for x in (self.matrix.ravel() if self.full else self.values)]
        return f"{self.symbol} = [{', '.join(digits)}]"


@dataclass(frozen=True)
class GainRule:
    """What a gain must be: its unit, whether it may be zero, what there is one of it for ("joint", "row", "parameter";
    nothing: it is one number for the whole robot), and the sentence that refuses a matrix, if one is refused."""

    unit: str = ""
    zero: bool = False
    of: str = "joint"
    no_matrix: str = ""

    def read(self, symbol: str, value: ArrayLike | Gain, names: Sequence[str] = WHOLE) -> Gain:
        """The gain that a user gave: positive (or not negative), one for all, one each, or a matrix."""
        if isinstance(value, Gain):
            if self.of and value.names != tuple(names):
                raise InputError(
                    "wrong-value",
                    symbol,
                    value.names,
                    problem=f"{symbol} is a gain of {', '.join(value.names)}, not of {', '.join(names)}",
                )
            made = value
        else:
            made = self._read_numbers(symbol, array(symbol, value), names if self.of else WHOLE)
        if made.full and self.no_matrix:
            raise InputError("unsupported", symbol, problem=self.no_matrix)
        return made

    def _read_numbers(self, symbol: str, K: Array, names: Sequence[str]) -> Gain:
        n, unit = len(names), f" [{self.unit}]" if self.unit else ""
        if not self.of:
            if K.ndim:
                raise InputError(
                    "wrong-shape", symbol, K.shape, problem=f"{symbol} must be one number{unit}, got shape {K.shape}"
                )
        elif K.shape not in ((), (n,), (n, n)):
            raise InputError(
                "wrong-shape",
                symbol,
                K.shape,
                problem=f"{symbol} has shape {K.shape}",
                remedy=f"Pass one number{unit}, one per {self.of} ({n}), or a symmetric {n}×{n} matrix.",
            )
        if K.ndim == 2:
            return _read_matrix(symbol, K, names, self.zero)
        each = np.broadcast_to(K, (n,)).tolist()
        for name, x in zip(names, each, strict=True):
            if x < 0 or (x == 0 and not self.zero):
                whose, least = f" of {name!r}" if self.of else "", "at least" if self.zero else "greater than"
                raise InputError("out-of-range", symbol, x, problem=f"{symbol}{whose} is {x:g}; it must be {least} 0")
        return Gain(symbol, tuple(names), tuple(each))


def must(unit: str = "", *, zero: bool = False, of: str = "joint", no_matrix: str = "") -> Mapping[str, GainRule]:
    """The rule of a controller's gain, as the metadata of its field."""
    return MappingProxyType({"gain": GainRule(unit, zero, of, no_matrix)})


def _read_matrix(symbol: str, K: Array, names: Sequence[str], zero: bool) -> Gain:
    if np.abs(K - K.T).max() > SYMMETRIC * np.abs(K).max():
        i, j = (int(k) for k in np.unravel_index(int(np.abs(K - K.T).argmax()), K.shape))
        raise InputError(
            "wrong-value",
            symbol,
            problem=f"{symbol} is not symmetric: [{i}, {j}] is {K[i, j]:g} and [{j}, {i}] is {K[j, i]:g}",
        )
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < 0 or (lowest == 0 and not zero):
        wanted = "negative eigenvalues are not allowed" if zero else "all must be greater than 0"
        raise InputError(
            "wrong-value",
            symbol,
            lowest,
            problem=f"{symbol} is not positive definite: its smallest eigenvalue is {lowest:.4g}, and {wanted}",
        )
    full = bool(np.any(K - np.diag(np.diag(K))))
    rows = np.tril_indices(len(K)) if full else np.diag_indices(len(K))
    return Gain(symbol, tuple(names), tuple(K[rows].tolist()), full)


@dataclass(frozen=True)
class Gains:
    """Several gains as the parameters of one law, in this order."""

    each: tuple[Gain, ...]

    @cached_property
    def parameters(self) -> dict[str, float]:
        return {name: x for gain in self.each for name, x in zip(gain.parameter_names(), gain.values, strict=True)}

    def read(self, p: Scalars) -> list[Applied]:
        """Each gain as a function of a vector: x ↦ K x."""
        out, first = [], 0
        for g in self.each:
            out.append(Applied(g, p[first : first + len(g.values)]))
            first += len(g.values)
        return out

    def vary(self, given: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """Parameters of a batch from gains by symbol, (..., n) each (or (..., n, n) for a matrix, or a number for
        all)."""
        known = {g.symbol: g for g in self.each}
        out: dict[str, Array] = {}
        for symbol, value in given.items():
            g, K = known[choose("gain", symbol, known)], array(symbol, value)
            core = (g.n, g.n) if g.full else (g.n,)
            if K.ndim == 0:
                K = np.broadcast_to(K, core) if not g.full else K * np.eye(g.n)
            if K.shape[-len(core) :] != core:
                raise InputError(
                    "wrong-shape",
                    symbol,
                    K.shape,
                    problem=f"{symbol} has shape {K.shape}; it must end in {core}, or be one number",
                )
            for name, (i, j) in zip(g.parameter_names(), g.places, strict=True):
                out[name] = K[..., i, j] if g.full else K[..., i]
        return out


@dataclass(frozen=True)
class Applied:
    """A gain with its entries as they stand among the parameters: x ↦ K x."""

    gain: Gain
    p: Scalars

    def __call__(self, x: Scalars) -> list[Scalar]:
        return self.gain.apply(self.p, x)


_POLES = GainRule(no_matrix="omega and zeta are numbers, one per joint or one for all; matrices are given as kp and kd")


def bandwidth_gains(names: Sequence[str], omega: ArrayLike, zeta: ArrayLike) -> tuple[Gain, Gain]:
    """K_p = diag ω², K_d = diag 2ζω: a unit mass on a spring and a damper per joint."""
    w, z = (_POLES.read(symbol, x, names) for symbol, x in (("omega", omega), ("zeta", zeta)))
    kp = tuple(a * a for a in w.values)
    kd = tuple(2.0 * b * a for a, b in zip(w.values, z.values, strict=True))
    return Gain("kp", tuple(names), kp), Gain("kd", tuple(names), kd)
