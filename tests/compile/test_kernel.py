"""Kernels as NumPy functions: shapes, several outputs, memory, long programs, threads."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import compile_function, llvm, loop
from dalembert.compile.body import Emission
from trees import random_tree


def test_shapes_of_every_dimension():
    kernel = compile_function(
        lambda s, v, m: (s * v[0], [[m[i][j] + v[j] for j in range(3)] for i in range(2)], v),
        [(), (3,), (2, 3)],
        [(), (2, 3), (3,)],
    )
    assert kernel.signature == "(),(3),(2,3)->(),(2,3),(3)"
    rng = np.random.default_rng(0)
    s, v, m = rng.normal(size=5), rng.normal(size=(5, 3)), rng.normal(size=(5, 2, 3))
    a, b, c = kernel(s, v, m)
    assert np.array_equal(a, s * v[:, 0]) and np.array_equal(b, m + v[:, None]) and np.array_equal(c, v)


def test_constant_outputs_and_passed_on_inputs():
    kernel = compile_function(lambda v: [0.0, v[1], 2.5, v[0] + v[1]], [(2,)], [(4,)])
    for size in (None, 1, 2, 3, 4, 5, 9):
        x = np.arange(2.0) if size is None else np.arange(2.0 * size).reshape(size, 2)
        y = kernel(x)
        assert (y[..., 0] == 0).all() and (y[..., 2] == 2.5).all()
        assert np.array_equal(y[..., 1], x[..., 1]) and np.array_equal(y[..., 3], x.sum(-1))


def test_the_announced_shape_must_come():
    with pytest.raises(ValueError, match="2 rows where 3 were announced"):
        compile_function(lambda v: v, [(2,)], [(3,)])


@pytest.mark.parametrize("piece", [3, 50, 400])
def test_long_programs_are_cut_and_give_the_same_bits(monkeypatch, piece):
    robot = dl.Robot(random_tree(seed=3, joints=9))
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 13, robot.n))
    for name, arguments in (("inverse_dynamics", (q, qd, qdd)), ("mass_matrix", (q,))):
        monkeypatch.setenv("DALEMBERT_CACHE", "")
        monkeypatch.setattr(llvm, "KERNEL", Emission(loop.SYMBOL, longest=10**9))
        whole = dl.Robot(robot.description).kernel(name)(*arguments)
        monkeypatch.setattr(llvm, "KERNEL", Emission(loop.SYMBOL, longest=10, piece=piece))
        cut = dl.Robot(robot.description).kernel(name)(*arguments)
        assert np.array_equal(whole, cut)


def test_every_width_and_level_gives_the_same_bits(monkeypatch):
    from dataclasses import replace

    arm = dl.load("ur5e")
    kernel = arm.kernel("inverse_dynamics")
    states = np.random.default_rng(0).uniform(-1, 1, (3, 21, 6))
    wanted = kernel(*states)
    native = llvm.host()
    monkeypatch.setenv("DALEMBERT_CACHE", "")
    for width, level in ((1, 1), (2, 1), (4, 0), (4, 2), (8, 0), (8, 3), (16, 1)):
        monkeypatch.setattr(llvm, "host", lambda w=width, o=level: replace(native, width=w, opt=o))
        again = compile_function(lambda *a: kernels_trace(arm, *a), [(6,)] * 3, [(6,)])
        assert np.array_equal(again(*states), wanted), (width, level)


def test_the_level_of_code_generation_is_read_from_the_environment(monkeypatch):
    monkeypatch.delenv("DALEMBERT_LLVM_LEVEL", raising=False)
    assert llvm.host.__wrapped__().opt == 1
    monkeypatch.setenv("DALEMBERT_LLVM_LEVEL", "0")
    assert llvm.host.__wrapped__().opt == 0
    for text in ("4", "-1", "fast", ""):
        monkeypatch.setenv("DALEMBERT_LLVM_LEVEL", text)
        with pytest.raises(dl.InputError, match=f"DALEMBERT_LLVM_LEVEL.*{text!r}"):
            llvm.host.__wrapped__()


def kernels_trace(arm, q, qd, qdd):
    from dalembert.algorithms import newton_euler
    from dalembert.model.lean import lean

    return newton_euler.inverse_dynamics(lean(arm.model), q, qd, qdd)


def test_threads_may_call_and_compile_at_once():
    arm = dl.load("scara")
    q = np.random.default_rng(0).uniform(-1, 1, (1000, arm.n))
    wanted = dl.load("scara").mass_matrix(q)
    results: list = [None] * 8

    def work(k: int) -> None:
        results[k] = arm.mass_matrix(q)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(r, wanted) for r in results)


def test_a_ufunc_outlives_its_kernel():
    double = compile_function(lambda v: [2.0 * x for x in v], [(2,)], [(2,)]).ufunc
    gc.collect()
    trash = [np.zeros(100) for _ in range(100)]
    assert np.array_equal(double([1.0, 2.0]), [2.0, 4.0])
    assert double.__name__ == "kernel" and len(trash) == 100


def test_kernel_of_a_robot():
    arm = dl.load("planar-2r")
    kernel = arm.kernel("mass_matrix")
    assert kernel is arm.kernel("mass_matrix")
    assert kernel.signature == "(2)->(2,2)"
    assert kernel.operations == 4  # cos, and three fused sums: the textbook's a + 2 b c₂, d + b c₂, d
    assert "define void @dalembert_loop" in kernel.llvm_ir()
    assert repr(kernel) == f"<Kernel mass_matrix (2)->(2,2): {kernel.operations} operations>"
    q = [0.3, 0.4]
    assert np.array_equal(kernel(q), arm.mass_matrix(q))
    tip = arm.kernel("inverse_dynamics", wrenches=["tool"])
    assert tip.signature == "(2),(2),(2),(6)->(2)"


def test_a_choice_across_a_cut(monkeypatch):
    """A truth value does not wait in an array of numbers: it is decided again where it is needed."""
    from dalembert import scalar

    monkeypatch.setattr(llvm, "KERNEL", Emission(loop.SYMBOL, longest=0, piece=2))
    monkeypatch.setenv("DALEMBERT_CACHE", "")

    def function(v):
        x, y = v
        less = x * x < y * y + 1.0
        long = x
        for _ in range(9):
            long = long * 0.5 + y
        return [scalar.where(less, long, x), scalar.where(less, y, long * long)]

    kernel = compile_function(function, [(2,)], [(2,)])
    states = np.random.default_rng(0).normal(size=(50, 2)) * 2
    assert np.array_equal(kernel(states), [kernel.interpret(s) for s in states])


def test_several_results_of_one_state_come_as_a_tuple():
    arm = dl.load("panda")
    kernel = arm.kernel("inverse_dynamics_derivatives")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 5, 7))
    batch = kernel.ufunc(q, qd, qdd)
    for k in range(5):
        alone = kernel.direct(q[k], qd[k], qdd[k])
        assert isinstance(alone, tuple) and len(alone) == 3
        for a, b in zip(alone, batch, strict=True):
            assert a.flags.owndata and np.array_equal(a, b[k])


def test_the_short_way_and_its_exits():
    """Plain arrays go the short way; everything else goes through the ufunc, with the same bits or the same error."""
    import sys

    arm = dl.load("planar-2r")
    direct, ufunc = arm.kernel("mass_matrix").direct, arm.kernel("mass_matrix").ufunc
    q = np.array([0.3, 0.4])
    wanted = ufunc(q)
    for other in (q, [0.3, 0.4], q.astype(">f8"), np.array([0.3, 9.0, 0.4])[::2], q[None][0]):
        assert np.array_equal(direct(other), wanted)
    assert direct(np.tile(q, (3, 1))).shape == (3, 2, 2)
    for wrong in ((), (q, q), (np.zeros(3),), ("x",), (None,)):
        with pytest.raises((TypeError, ValueError)):
            direct(*wrong)
    before = sys.getrefcount(q)
    for _ in range(100):
        direct(q)
    assert sys.getrefcount(q) == before
