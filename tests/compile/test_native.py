"""The subset of Python that becomes machine code computes what Python does."""

# ruff: noqa: F821 - intrinsics are the compiler's
from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from dalembert.compile import llvm
from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.native import Int, Ints, Module, Real, Reals, Truth, Vector
from dalembert.compile.writer import Writer

W = 4


def compiled(*functions: Callable, kind: Kind = DOUBLE, **constants: float) -> tuple[Callable[..., None], object]:
    name = functions[-1].__name__
    module = Module(W, kind, {"W": W, **constants}, {})
    text = "\n".join([*Writer(W, kind).declarations(), module.text(functions, [name])])
    target = llvm.host()
    code = llvm.Code(llvm.object_code([text], target, optimize=True), target, [name])
    call = ctypes.CFUNCTYPE(None)(code.addresses[name])
    return lambda *a: call(
        *(ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in a)
    ), code


def collatz(n: Int) -> Int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def inside(x: Real, low: Real, high: Real) -> Truth:
    return low <= x and not x > high


def counts(n: Int, x: Reals, out: Ints) -> None:
    """Loops, branches, calls, whole numbers."""
    for k in range(n):
        if k < 2:
            continue
        out[k] = collatz(k)
        if inside(x[k], 0.25, 0.5) or x[k] < -HALF:
            out[k] += 1000
        elif k == n - 1:
            break
    out[0] = lowest(40) + count(255) + ((7 << 2) ^ 3) + (n & 1)
    out[1] = whole(ceil(x[1] * 10.0)) + maximum(n, 3) - minimum(n, 3)


def test_loops_branches_and_whole_numbers() -> None:
    call, _keep = compiled(collatz, inside, counts, HALF=0.5)
    x = np.random.default_rng(0).uniform(-1, 1, 30)
    out = np.zeros(30, np.int64)
    call(30, x, out)

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    for k in range(2, 30):
        assert out[k] == steps(k) + 1000 * (0.25 <= x[k] <= 0.5 or x[k] < -0.5)
    assert out[0] == 3 + 8 + (28 ^ 3) and out[1] == np.ceil(x[1] * 10) + 27


def norm(x: Reals, k: Int) -> Vector:
    v = load(x, k)
    return sqrt(fma(v, v, absolute(v - 1.0)))


def vectors(x: Reals, out: Reals, found: Ints) -> None:
    v = norm(x, 0)
    store(out, 0, where(v < 0.9, v * 2.0, ramp(10.0, 0.5)))
    out[W] = largest(v)
    out[W + 1] = smallest(v)
    store(out[W + 2 :], 0, maximum(minimum(v, 1.0), x[0]))
    found[0] = bits(v < 0.9)
    out[2 * W + 2] = real(found[0]) / 4.0 - (-x[1])


@pytest.mark.parametrize("kind", [DOUBLE, SINGLE])
def test_vectors(kind: Kind) -> None:
    call, _keep = compiled(norm, vectors, kind=kind)
    dtype = np.dtype(f"f{kind.bytes}")
    x = np.array([0.1, 0.7, -0.4, 1.3], dtype)
    out, found = np.zeros(16, dtype), np.zeros(1, np.int64)
    call(x, out, found)
    v = np.sqrt(x * x + np.abs(x - 1))
    low = v < 0.9
    expected = [*np.where(low, 2 * v, 10 + 0.5 * np.arange(4)), v.max(), v.min(), *np.maximum(np.minimum(v, 1), x[0])]
    np.testing.assert_allclose(out[:10], expected, rtol=4 * np.finfo(dtype).eps)
    assert found[0] == sum(1 << k for k in range(4) if low[k])
    assert out[10] == pytest.approx(found[0] / 4 + x[1], rel=1e-6)


def mixed(x: Reals) -> None:
    k = 1
    x[0] = k


def unknown(x: Reals) -> None:
    x[0] = nothing


def comprehends(x: Reals) -> None:
    x[0] = sum([1.0])


@pytest.mark.parametrize(
    ("function", "words"),
    [(mixed, "Int where Real is wanted"), (unknown, "unknown name"), (comprehends, "unknown function")],
)
def test_what_the_subset_has_not_is_refused(function: Callable, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        compiled(function)
