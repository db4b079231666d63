"""exp, log and tanh, ours: accuracy against exact arithmetic, the ends of the range, the same bits in every backend."""

from __future__ import annotations

import math
import shutil
import subprocess

import numpy as np
import pytest
from mpmath import mp, mpf

from dalembert import scalar
from dalembert.compile import compile_function, functions

FUNCTIONS = ("exp", "log", "tanh")
# Largest error in units of the last place. exp and log are evaluated to half a unit and a bit; tanh divides and
# subtracts after that.
ULPS = {"exp": 1.0, "log": 1.0, "tanh": 3.0}


@pytest.fixture(scope="module")
def kernels():
    return {name: compile_function(getattr(scalar, name), [()], [()], f"our_{name}") for name in FUNCTIONS}


def ulps(name: str, x: np.ndarray, values: np.ndarray) -> float:
    worst = 0.0
    with mp.workdps(60):
        for argument, value in zip(x.tolist(), values.tolist(), strict=True):
            true = getattr(mp, name)(mpf(argument))
            unit = math.ulp(float(true)) or 5e-324
            worst = max(worst, float(abs(true - mpf(value)) / mpf(unit)))
    return worst


def arguments(name: str) -> np.ndarray:
    """Where results are ordinary, small, large, subnormal, and where the reduction changes its piece."""
    rng = np.random.default_rng(0)
    if name == "log":
        near = 1 + rng.normal(size=500) * 1e-6
        wide, low = 10 ** rng.uniform(-300, 300, 500), rng.uniform(5e-324, 2e-308, 200)
        return np.r_[near, rng.uniform(0.5, 2, 1000), wide, low, math.sqrt(0.5) * (1 + np.arange(-50, 50) * 2.0**-53)]
    parts = [rng.uniform(-s, s, 300) for s in (1e-300, 1e-8, 1e-3, 0.17, 0.35, 1, 10, 30)]
    if name == "exp":
        halves = (np.arange(-20, 20) + 0.5) * math.log(2)
        parts += [rng.uniform(-700, 700, 500), rng.uniform(-745.1, -708, 300), halves, np.nextafter(halves, 99)]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(kernels, name):
    x = arguments(name)
    assert ulps(name, x, kernels[name](x)) < ULPS[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_bits_in_python_alone_and_in_a_batch(kernels, name):
    x = arguments(name)[::7]
    kernel = kernels[name]
    assert np.array_equal(kernel(x), [kernel.interpret(v) for v in x])
    assert np.array_equal(kernel(x), [kernel(v) for v in x])


def test_the_ends_of_the_range(kernels):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.78, 709.79, -745.13, -745.14, 1e300, -1e300])
    with np.errstate(over="ignore", invalid="ignore"):
        e, t = kernels["exp"](x), kernels["tanh"](x)
    wanted = [1, 1, np.inf, 0, np.nan, math.exp(709.78), np.inf, 5e-324, 0, np.inf, 0]
    assert np.allclose(e, wanted, rtol=1e-15, atol=0, equal_nan=True)
    assert np.array_equal(t, np.tanh(x), equal_nan=True)
    x = np.array([0.0, -0.0, -1.0, -1e-320, -1.7e308, np.inf, -np.inf, np.nan, 1.7e308])
    with np.errstate(all="raise"):
        values = kernels["log"](x)
    assert np.array_equal(values[:-1], [-np.inf, -np.inf, *[np.nan] * 3, np.inf, np.nan, np.nan], equal_nan=True)
    assert values[-1] == math.log(1.7e308)
    for name in ("exp", "log"):  # the meaning, beside the kernels
        own = {"exp": functions.exponential, "log": functions.logarithm}[name]
        with np.errstate(over="ignore", invalid="ignore"):
            assert np.array_equal([own(v) for v in x.tolist()], kernels[name](x), equal_nan=True)


def test_plain_numbers_give_what_kernels_give(kernels):
    """Overflow is infinite and the logarithm of nothing −∞ for a float too: nothing is raised."""
    for x in (0.0, 1.0, 800.0, -800.0, 1e-310, 5.5):
        for name in FUNCTIONS:
            with np.errstate(over="ignore"):
                wanted = float(kernels[name](x))
            assert getattr(scalar, name)(x) == pytest.approx(wanted, rel=1e-15, abs=0, nan_ok=True)
    assert math.isnan(scalar.log(-1.0)) and math.isnan(scalar.exp(math.nan)) and math.isnan(scalar.tanh(math.nan))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision(kernels, name):
    rng = np.random.default_rng(3)
    x = 10 ** rng.uniform(-44, 38, 3000) if name == "log" else rng.uniform(-100, 88, 3000)
    x = x.astype(np.float32)
    values = kernels[name](x)
    assert values.dtype == np.float32
    true = getattr(np, name)(x.astype(float))
    assert (np.abs(values - true) / np.spacing(np.abs(true).astype(np.float32))).max() < ULPS[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    kernel = compile_function(getattr(scalar, name), [()], [()], name, arguments=("x",))
    slope, curve = kernel.derivative("x"), kernel.derivative("x").derivative("x")
    x = np.array([0.01, 0.16, 0.5, 2.0, 7.0])
    t = np.tanh(x)
    first = {"exp": np.exp(x), "log": 1 / x, "tanh": 1 - t * t}[name]
    second = {"exp": np.exp(x), "log": -1 / x**2, "tanh": -2 * t * (1 - t * t)}[name]
    # A fitted polynomial's derivatives are worth fewer digits than it; far out the quotient of tanh cancels.
    assert np.allclose(slope(x), first, rtol=1e-13, atol=1e-15)
    assert np.allclose(curve(x), second, rtol=1e-10, atol=1e-14)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_c_and_numpy_source(tmp_path, kernels):
    import ctypes

    for name in FUNCTIONS:
        x = np.r_[arguments(name)[::5], 0.0, -3.0, np.inf, -np.inf, np.nan, 1e300, 5e-324]
        (tmp_path / f"{name}.c").write_text(kernels[name].c_source(batch=True))
        library = str(tmp_path / f"{name}.so")
        flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-mfma", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(tmp_path / f"{name}.c"), "-o", library, "-lm"], check=True)
        function = getattr(ctypes.CDLL(library), f"our_{name}_batch")
        out = np.empty_like(x)
        pointer = [ctypes.c_void_p(a.ctypes.data) for a in (x, out)]
        function(ctypes.c_long(len(x)), *pointer)
        with np.errstate(all="ignore"):
            assert np.array_equal(out, kernels[name](x), equal_nan=True)
            space: dict = {}
            exec(kernels[name].numpy_source(), space)
            assert np.allclose(space[f"our_{name}"](x), out, rtol=1e-14, atol=0, equal_nan=True)


@pytest.mark.parametrize("exponent", [0.5, 1, 1.5, 2, 3, 7.5, 0.3, 1.7, 9.25])
def test_powers(exponent):
    kernel = compile_function(lambda x: scalar.power(x, exponent), [()], [()], "power")
    x = np.r_[0.0, 1e-30, np.logspace(-6, 3, 50)]
    # exp(a ln x) loses as many digits as a ln x has before the point.
    assert np.allclose(kernel(x), x**exponent, rtol=2e-16 * (4 + 70 * exponent), atol=0)
    with np.errstate(invalid="ignore"):
        assert math.isnan(kernel(np.nan))
    assert all(scalar.power(float(v), exponent) == pytest.approx(v**exponent, rel=1e-13) for v in x)
