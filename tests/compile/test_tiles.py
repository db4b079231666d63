"""Large results, written by blocks: every width, layout and number of states gives the interpreter's bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function, llvm, loop, tiles
from dalembert.compile.body import Emission
from dalembert.compile.kinds import DOUBLE, SINGLE

N = 9  # blocks of 8 do not divide 81


def matrices(q, v):
    """A symmetric matrix with zeros, ones and numbers of its own; and rows of inputs, sines and products."""
    A = [[0.0] * N for _ in range(N)]
    for i in range(N):
        A[i][i] = 2.5 if i % 3 else q[i] * q[i] + 1.0
        for j in range(i % 4, i):
            A[i][j] = A[j][i] = q[i] * v[j] - v[i]
    return A, [v, [scalar.sin(x) for x in q], [-0.0] * N]


@pytest.fixture
def make(monkeypatch):
    """A new kernel for a machine of this width, cut into pieces of this size, with code for lone states or without."""
    monkeypatch.setenv("DALEMBERT_CACHE", "")
    native = llvm.host()

    def kernel(width, piece, alone):
        monkeypatch.setattr(llvm, "host", lambda: replace(native, width=width))
        monkeypatch.setattr(llvm, "KERNEL", Emission(loop.SYMBOL, longest=0 if piece else 10**9, piece=piece or 1))
        monkeypatch.setattr(llvm, "SCALAR_UP_TO", 10_000 if alone else 0)
        return compile_function(matrices, [(N,), (N,)], [(N, N), (3, N)])

    return kernel


@pytest.mark.parametrize(("width", "piece"), [(1, 0), (2, 7), (4, 0), (4, 7), (8, 0), (8, 7), (16, 40)])
@pytest.mark.parametrize("alone", [True, False], ids=["code of its own", "first lane"])
def test_every_width_piece_layout_and_number(make, width, piece, alone):
    kernel = make(width, piece, alone)
    assert tiles.by_blocks([81, 27], width, DOUBLE) == (width >= 4)
    assert ("@put_" in kernel.llvm_ir()) == (width >= 4)
    q, v = np.random.default_rng(0).normal(size=(2, 35, N))
    wanted = [np.array(x) for x in zip(*(kernel.interpret(*state) for state in zip(q, v, strict=True)), strict=True)]

    def same(results, states):
        return all(a.tobytes() == w[states].tobytes() for a, w in zip(results, wanted, strict=True))

    for n in (1, 2, width - 1, width, width + 1, 2 * width, 35):
        assert same(kernel(q[:n], v[:n]), slice(n)), n
        turned = [np.empty((n, *w.shape[:0:-1])).transpose(0, 2, 1) for w in wanted]  # no element beside the next
        mixed = [np.empty((n, *wanted[0].shape[1:])), turned[1]]
        spaced = [np.full((2 * n, *w.shape[1:]), 7.0)[::2] for w in wanted]  # every second state
        for out in (turned, mixed, spaced):
            kernel(q[:n], v[:n], out=tuple(out))
            assert same([np.ascontiguousarray(a) for a in out], slice(n)), n
        assert all((a.base[1::2] == 7.0).all() for a in spaced)
    assert same(kernel(q[3], v[3]), 3) and same(kernel(q[3].tolist(), v[3]), 3)
    assert same([a[0] for a in kernel(q[4:5], v[4:5])], 4)


@pytest.mark.parametrize("n", [1, 16, 21])
def test_floats(make, n):
    kernel = make(8, 7, True)
    assert tiles.by_blocks([81, 27], 16, SINGLE) and not tiles.by_blocks([81, 15], 16, SINGLE)
    q, v = np.random.default_rng(0).normal(size=(2, n, N)).astype(np.float32)
    out = kernel(q, v)
    lone = [kernel(a, b) for a, b in zip(q, v, strict=True)]
    for k, exact in enumerate(kernel(q.astype(float), v.astype(float))):
        assert out[k].dtype == np.float32
        assert np.array_equal(out[k], [x[k] for x in lone])
        assert np.allclose(out[k], exact, rtol=1e-5, atol=1e-5)


def test_nothing_but_constants(make):
    make(8, 0, True)
    kernel = compile_function(lambda q: [[float(i * j) for j in range(8)] for i in range(8)], [(2,)], [(8, 8)])
    wanted = np.outer(np.arange(8.0), np.arange(8.0))
    for n in (1, 7, 8, 11):
        assert np.array_equal(kernel(np.ones((n, 2))), [wanted] * n)
    assert np.array_equal(kernel(np.ones(2)), wanted)


def test_derivatives_into_memory_of_ones_own():
    arm = dl.load("panda")
    q, qd, x = np.random.default_rng(0).normal(size=(3, 20, 7))
    for method in (arm.inverse_dynamics_derivatives, arm.forward_dynamics_derivatives):
        out = tuple(np.empty((20, 7, 7)) for _ in range(3))
        given = method(q, qd, x, out=out)
        assert all(a is b for a, b in zip(given, out, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(out, method(q, qd, x), strict=True))
        with pytest.raises(dl.InputError, match="out"):
            method(q, qd, x, out=out[:2])
        with pytest.raises(dl.InputError, match="out"):
            method(q, qd, x, out=out[0])
