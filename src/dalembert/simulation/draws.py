"""Random numbers that belong to a rollout: the same whoever draws them, in whatever order and on whatever machine.

The numbers of rollout i for the quantity named s are words of Philox4x64-10 (Salmon et al. 2011) at the counter
(block, i, hash of s, 0) under the key `seed`: no state goes from one to the next. So chunks, threads and clusters of
any kind give the same bits, and one more random quantity changes none of the others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import scalar
from dalembert.arguments import array, number
from dalembert.compile.kernel import Kernel, compile_function
from dalembert.errors import InputError
from dalembert.flow import Array, Scalar

Words = NDArray[np.uint64]

ROUNDS = 10
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
MASK = (1 << 64) - 1
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


# ---------------------------------------------------------------------------------------------------------- Philox
def _product(a: int, b: Words) -> tuple[Words, Words]:
    """(high, low) 64 bits of a · b, by halves."""
    a_low, a_high = np.uint64(a & 0xFFFFFFFF), np.uint64(a >> 32)
    b_low, b_high = b & _LOW, b >> _HALF
    low, cross = a_low * b_low, a_high * b_low
    middle = a_low * b_high + (low >> _HALF)
    rest = (middle & _LOW) + cross  # at most (2³² − 1)² + 2³² − 1, as `middle`: nothing is carried
    return a_high * b_high + (middle >> _HALF) + (rest >> _HALF), np.uint64(a) * b


def philox(counter: tuple[Words, Words, Words, Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """Four random words for every counter."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        high0, low0 = _product(MULTIPLIERS[0], a)
        high1, low1 = _product(MULTIPLIERS[1], c)
        a, b, c, d = high1 ^ b ^ np.uint64(k0), low1, high0 ^ d ^ np.uint64(k1), low0
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return a, b, c, d


def read_seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 1 << 128:
        raise InputError(f"seed must be a whole number from 0 to 2¹²⁸ − 1, got {seed!r}")
    return int(seed)


def pairs(seed: int, name: str, first: int, count: int, numbers: int, block: int = 0) -> tuple[Array, Array]:
    """Two uniform numbers inside (0, 1) for each of so many `numbers` of rollouts first, first + 1, …: (count, numbers)
    each, from the 2 `block`-th number on."""
    stream = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    shape = (count, (numbers + 1) // 2)
    blocks = np.broadcast_to(np.arange(block, block + shape[1], dtype=np.uint64), shape)
    index = np.broadcast_to(np.arange(first, first + count, dtype=np.uint64)[:, None], shape)
    words = philox(
        (blocks, index, np.full(shape, stream, np.uint64), np.zeros(shape, np.uint64)), (seed & MASK, seed >> 64)
    )
    u = [((w >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53 for w in words]
    a, b = (np.stack(two, -1).reshape(count, 2 * shape[1])[:, :numbers] for two in ((u[0], u[2]), (u[1], u[3])))
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


# --------------------------------------------------------------------------------------------------- distributions
@cache
def _kernel(name: str, function: Callable[..., Scalar], arguments: int) -> Kernel:
    """Compiled, because NumPy's own exp and log give other bits on other processors."""
    return compile_function(function, [()] * arguments, [()], name)


def _standard_normal(u: Scalar, v: Scalar) -> Scalar:
    """√(−2 ln u) cos 2πv (Box and Muller 1958)."""
    return scalar.sqrt(-2.0 * scalar.log(u)) * scalar.cos((2.0 * math.pi) * v)


def _normal(u: Array, v: Array, a: Array, b: Array) -> Array:
    return a + b * np.asarray(_kernel("normal", _standard_normal, 2)(u, v))


def _uniform(u: Array, v: Array, a: Array, b: Array) -> Array:
    return a + (b - a) * u


def _between_logs(w: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return scalar.exp((1.0 - w) * scalar.log(low) + w * scalar.log(high))


def _log_uniform(u: Array, v: Array, a: Array, b: Array) -> Array:
    return np.asarray(_kernel("log_uniform", _between_logs, 3)(u, a, b))


def _choice(u: Array, v: Array, a: Array, b: Array) -> Array:
    return a[np.minimum((u * len(a)).astype(int), len(a) - 1)]


KINDS: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    "uniform": _uniform,
    "log-uniform": _log_uniform,
    "normal": _normal,
    "choice": _choice,
}


@dataclass(frozen=True, eq=False)
class Distribution:
    """A row of KINDS with its two numbers, or arrays of them: a quantity of `shape` () or (m,)."""

    kind: str
    a: Array
    b: Array
    shape: tuple[int, ...]

    def draw(self, seed: int, name: str, first: int, count: int) -> Array:
        """(count, *shape): what rollouts first, first + 1, … have of the quantity `name`."""
        size = self.shape[0] if self.shape else 1
        u, v = pairs(seed, name, first, count, size)
        drawn = KINDS[self.kind](u, v, self.a, self.b)
        return drawn.reshape(count, *self.shape)

    def __repr__(self) -> str:
        numbers = f"{len(self.a)} values" if self.kind == "choice" else f"{self.a.tolist()}, {self.b.tolist()}"
        return f"{self.kind}({numbers})"


def _two(kind: str, names: tuple[str, str], a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    found = [array(f"{name} of {kind}", value, (), (None,)) for name, value in zip(names, (a, b), strict=True)]
    try:
        first, second = np.broadcast_arrays(*found)
    except ValueError:
        sizes = f"{found[0].size} and {found[1].size}"
        raise InputError(f"{names[0]} and {names[1]} of {kind} have {sizes} numbers") from None
    if not first.size:
        raise InputError(f"{names[0]} of {kind} must be a finite number or a list of them, got none")
    return np.array(first), np.array(second)


def uniform(low: ArrayLike, high: ArrayLike) -> Distribution:
    """Any number between low and high, all alike. Lists of m numbers give a quantity of m."""
    a, b = _two("uniform", ("low", "high"), low, high)
    if (a > b).any():
        raise InputError(f"low of uniform must not be above high, got {low!r} and {high!r}")
    return Distribution("uniform", a, b, a.shape)


def log_uniform(low: ArrayLike, high: ArrayLike) -> Distribution:
    """Between two positive numbers, with all orders of magnitude alike: for gains."""
    a, b = _two("log_uniform", ("low", "high"), low, high)
    if (a <= 0).any() or (a > b).any():
        raise InputError(f"log_uniform needs 0 < low ≤ high, got {low!r} and {high!r}")
    return Distribution("log-uniform", a, b, a.shape)


def normal(mean: ArrayLike, std: ArrayLike) -> Distribution:
    """The normal distribution, with mean and standard deviation."""
    a, b = _two("normal", ("mean", "std"), mean, std)
    if (b < 0).any():
        raise InputError(f"std of normal must not be negative, got {std!r}")
    return Distribution("normal", a, b, a.shape)


def choice(values: ArrayLike) -> Distribution:
    """One of these values, all alike."""
    a, _ = _two("choice", ("values", "values"), values, values)
    return Distribution("choice", np.atleast_1d(a), np.zeros(()), ())


@dataclass(frozen=True)
class Noise:
    """A random input of zero mean and standard deviation `std`, a new number every `hold` seconds (every step if not
    given)."""

    std: float
    hold: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("std", self.std), ("hold", 0.0 if self.hold is None else self.hold)):
            number(f"{name} of Noise", value, least=0.0)

    def draw(self, seed: int, name: str, first: int, count: int, samples: NDArray[np.int64]) -> Array:
        """Return the noise of runs first, … at these samples, whose numbers do not decrease, (count, samples)."""
        begin = int(samples[0]) // 2 * 2
        u, v = pairs(seed, name, first, count, int(samples[-1]) - begin + 1, begin // 2)
        return _normal(u, v, np.zeros(()), np.asarray(self.std))[:, samples - begin]
