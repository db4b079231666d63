"""float32: chosen by dtype, its own vectors, as accurate as the type allows."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function, kinds, llvm, threads as threading


@pytest.fixture(scope="module")
def arm():
    return dl.load("panda")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).uniform(-1, 1, (3, 37, 7)).astype(np.float32)


def test_the_type_chooses(arm, states):
    q, qd, qdd = states
    assert arm.inverse_dynamics(q, qd, qdd).dtype == np.float32
    assert arm.inverse_dynamics(q.astype(float), qd, qdd).dtype == np.float64  # a mixture is computed in doubles
    assert arm.inverse_dynamics(q[0].tolist(), qd[0].tolist(), qdd[0].tolist()).dtype == np.float64
    assert arm.fk(q[0]).dtype == np.float32
    assert arm.fk(np.zeros(7, np.int8)).dtype == np.float64


def test_accuracy(arm, states):
    doubles = states.astype(float)
    for name, count in (("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1), ("jacobian", 1)):
        kernel = arm.kernel(name)
        single, double = kernel(*states[:count]), kernel(*doubles[:count])
        assert single.dtype == np.float32
        error = np.abs(single - double).max() / np.abs(double).max()
        assert error < (1e-3 if name == "forward_dynamics" else 2e-6), name  # M's condition is about 1e3


def test_the_same_bits_alone_and_in_a_batch(arm, states):
    q, qd, qdd = states
    batch = arm.inverse_dynamics(q, qd, qdd)
    for k in range(37):
        assert np.array_equal(arm.inverse_dynamics(q[k], qd[k], qdd[k]), batch[k])
    for size in range(18):
        assert np.array_equal(arm.inverse_dynamics(q[:size], qd[:size], qdd[:size]), batch[:size])
    wide = np.zeros((37, 14), np.float32)
    wide[:, ::2] = q
    assert np.array_equal(arm.inverse_dynamics(wide[:, ::2], qd, qdd), batch)


def test_out(arm, states):
    out = np.empty((37, 7, 7), np.float32)
    assert arm.mass_matrix(states[0], out=out) is out
    assert np.array_equal(out, arm.mass_matrix(states[0]))
    frame = np.full((12, 7, 7), 7, np.float32)
    arm.mass_matrix(states[0][:10], out=frame[1:-1])
    assert (frame[[0, -1]] == 7).all()


def test_sine_and_cosine():
    kernel = compile_function(lambda x: [scalar.sin(x), scalar.cos(x)], [()], [(2,)])
    limit = kinds.SINGLE.largest_angle
    x = np.random.default_rng(0).uniform(-limit, limit, 200_000).astype(np.float32)
    exact = np.stack([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=-1)
    # in units of the last place of a number of size one: what a rotation matrix feels
    assert np.abs(kernel(x) - exact).max() < 1.5 * np.finfo(np.float32).eps
    small = np.linspace(-1e-3, 1e-3, 1001).astype(np.float32)
    relative = np.abs(kernel(small)[small != 0, 0] / np.sin(small[small != 0].astype(float)) - 1)
    assert relative.max() < 2e-7
    with np.errstate(all="raise"):
        beyond = np.array([2 * limit, -np.inf, np.nan, 1e38], np.float32)
        assert np.isnan(kernel(beyond)).all()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_compile_that_fails_raises_in_the_call_itself(monkeypatch, error):
    """The results would be uninitialized memory; and the kernel works once the cause is gone."""
    kernel = compile_function(lambda x: [x[0] + 1.0, x[1] * x[0]], [(2,)], [(2,)], "failing")
    assert np.array_equal(kernel([2.0, 3.0]), [3.0, 6.0])
    x = np.array([[2.0, 3.0]], np.float32)
    large = np.tile(x, (threading.FEWEST * threading.piece(kernel.operations) + 1, 1))

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(llvm, "linked", fail)
        patch.setattr(threading, "available", lambda: 2)
        for call in (kernel, kernel.direct, lambda a: kernel(a, threads=2), lambda a: kernel(a, out=np.empty_like(a))):
            with pytest.raises(error):
                call(x)
        with pytest.raises(error):
            kernel(large, threads=2)
    for call in (kernel, kernel.direct, kernel.single):
        assert call(x).dtype == np.float32 and np.array_equal(call(x), [[3.0, 6.0]])


def test_which_arguments_are_float32():
    """Arrays of any byte order; lists and Python floats are doubles, and one double makes a double of all."""
    kernel = compile_function(lambda x, y: [x[0] + y], [(1,), ()], [(1,)], "mixed")
    x = np.array([0.5], np.float32)
    for arguments in ((x, x[0]), (x.astype(">f4"), np.array(1, np.float32)), (np.tile(x, (9, 1)), x)):
        assert kernel(*arguments).dtype == kernel.direct(*arguments).dtype == np.float32
        assert np.all(kernel(*arguments) == arguments[0].astype(float) + arguments[1])
    for arguments in ((x, 1.0), (x, np.float64(1.0)), (x, 1), ([np.float32(0.5)], x[0]), (x.astype(np.float16), x[0])):
        assert kernel(*arguments).dtype == kernel.direct(*arguments).dtype == np.float64
