"""Where kernels once broke, each as a test: deep shapes, large results, threads, signals, the cache's manners."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import cache, compile_function, threads
from dalembert.errors import InputError
from errors import fields_of, raises


def test_results_of_many_dimensions():
    kernel = dl.load("planar-3r").kernel("mass_matrix").derivative("q").derivative("q")
    q = np.random.default_rng(0).uniform(-1, 1, (11, 3))
    wanted = np.array([kernel.interpret(x) for x in q])
    assert wanted.shape == (11, 3, 3, 3, 3)
    assert np.array_equal(kernel(q), wanted)
    assert np.array_equal(kernel.direct(q[0]), wanted[0])
    out = np.empty((3, 3, 3, 3, 11)).transpose(4, 3, 2, 1, 0)
    kernel(q, out=out)
    assert np.array_equal(out, wanted)


def test_arguments_of_many_dimensions():
    shape = (2, 1, 3, 2)

    def function(t):
        return [t[i][0][j][k] * (1.0 + i + j) for i in range(2) for j in range(3) for k in range(2)]

    kernel = compile_function(function, [shape], [(12,)])
    x = np.random.default_rng(0).normal(size=(7, *shape))
    factor = np.array([1.0 + i + j for i in range(2) for j in range(3) for _ in range(2)])
    wanted = x.reshape(7, 12) * factor
    assert np.array_equal(kernel(x), wanted)
    assert np.array_equal(kernel(np.asfortranarray(x)), wanted)
    assert np.array_equal(kernel(x[:, ::-1, :, ::-1])[0], (x[0, ::-1, :, ::-1].reshape(12) * factor))


def test_large_results_do_not_need_a_large_stack():
    kernel = compile_function(lambda v: [[v[0]] * 90] * 90, [(1,)], [(90, 90)])
    results: list = []
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=lambda: results.extend((kernel(np.ones((5, 1))), kernel(np.ones(1)))))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert results[0].shape == (5, 90, 90) and (results[0] == 1).all() and (results[1] == 1).all()


def test_a_kernel_needs_an_argument_and_a_result():
    for inputs, outputs in (([], [(2,)]), ([(2,)], [])):
        with pytest.raises(dl.InputError, match="at least one argument and one result"):
            compile_function(lambda *a: [1.0, 2.0], inputs, outputs)


def test_a_deep_expression_under_a_sine():
    def function(v):
        x = v[0]
        for _ in range(1200):
            x = x * x + 0.1
        return [scalar.sin(x)]

    kernel = compile_function(function, [(1,)], [(1,)])
    assert np.array_equal(kernel([0.3]), kernel.interpret([0.3]))


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 2)
    threads._jobs.cache_clear()
    yield dl.load("panda").with_threads(2)
    threads._jobs.cache_clear()


def test_threads_do_what_one_thread_does(two):
    one = dl.load("panda")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 5000, 7))
    for place in (lambda A: (A[::-1], A), lambda A: (A[:-1], A[1:]), lambda A: (A[0], A), lambda A: (A, A)):
        for _ in range(5):
            A, B = qdd.copy(), qdd.copy()
            (x, out), (y, wanted) = place(A), place(B)
            n = len(out)
            one.inverse_dynamics(q[:n], qd[:n], y, out=wanted)
            two.inverse_dynamics(q[:n], qd[:n], x, out=out)
            assert np.array_equal(A, B)
    for wrong in (
        lambda r: r.inverse_dynamics(q[:, :1], qd, qdd),
        lambda r: r.inverse_dynamics(0.5, qd, qdd),
        lambda r: r.inverse_dynamics(q, qd, qdd, out=np.empty((5005, 7))),
    ):
        for robot in (one, two):
            with pytest.raises(dl.InputError):
                wrong(robot)


def test_threads_keep_the_callers_error_state(two):
    q = np.zeros((5000, 7))
    qd = np.full_like(q, np.inf)
    with np.errstate(all="ignore"):
        two.inverse_dynamics(q, qd, q)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        two.inverse_dynamics(q, qd, q)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_an_interruption_while_floats_compile_is_not_lost():
    code = """
import signal, numpy as np, dalembert as dl, os
os.environ["DALEMBERT_CACHE"] = ""
arm = dl.load("panda"); q = np.zeros((3, 7)); arm.inverse_dynamics(q, q, q)
signal.setitimer(signal.ITIMER_REAL, 0.03)
signal.signal(signal.SIGALRM, signal.default_int_handler)
x = q.astype(np.float32)
try:
    arm.inverse_dynamics(x, x, x)
    import time; time.sleep(3)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
print(np.isfinite(arm.inverse_dynamics(x, x, x)).all())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["interrupted", "True"], out


def test_constants_beyond_float32_are_infinite():
    kernel = compile_function(lambda x: [x[0] * 1e39 + x[1]], [(2,)], [(1,)])
    with np.errstate(all="ignore"):
        assert np.isinf(kernel(np.array([[1.0, 2.0]], np.float32))).all()


FORKS = """
import os, signal, threading, time
from llvmlite.binding import ffi
from dalembert.caching import cached_property
from dalembert.compile import compile_function

def compiled(k):
    return compile_function(lambda x: [x[0] * (k + i) + x[1] for i in range(300)], [(2,)], [(300,)])([1.0, 2.0])

class Holder:
    @cached_property  # as controllers and simulations hold their kernels
    def result(self):
        return compiled(time.time())

def compile_forever():
    while True:
        Holder().result

inside = threading.Event()  # a thread is inside LLVM
ffi.register_lock_callback(inside.set, inside.clear)
threading.Thread(target=compile_forever, daemon=True).start()
children = []
for k in range(12):
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        ffi.unregister_lock_callback(inside.set, inside.clear)  # its lock may be another thread's, too
        os._exit(0 if compiled(1e6 + k)[0] == 1e6 + k + 2 and len(Holder().result) == 300 else 1)
    children.append(child)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_children_forked_while_another_thread_compiles(tmp_path):
    """Each compiles too. In a process of its own: a fork there hears of no other library's threads."""
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        env={**os.environ, "DALEMBERT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.split() == ["0"] * 12, out


IMPORTS = """
import os, signal, sys, threading
import dalembert
sys.path.insert(0, sys.argv[1])
sys.begun = threading.Event()
threading.Thread(target=lambda: __import__("slow"), daemon=True).start()
sys.begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    import slow
    os._exit(0 if slow.done else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_children_forked_while_another_thread_imports(tmp_path):
    """Libraries come late here, and the child would wait for the lock of a module whose thread it does not have."""
    (tmp_path / "slow.py").write_text("import sys, time\nsys.begun.set()\ntime.sleep(0.5)\ndone = True\n")
    command = [sys.executable, "-W", "ignore", "-c", IMPORTS, str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["0"], out


def test_clear_removes_only_its_own(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    compile_function(lambda v: [v[0] * 2.5], [(1,)], [(1,)])([1.0])
    for name in (".bashrc", ".netrc", "a" * 64, "notes.txt"):
        (folder / name).write_text("mine")
    (folder / ".dalembert-left").write_text("of a killed writer")
    assert len(cache.entries()) == 1 and cache.clear() == 1
    assert sorted(f.name for f in folder.iterdir()) == sorted((".bashrc", ".netrc", "a" * 64, "notes.txt"))
    link = tmp_path / "link"
    link.symlink_to(folder)
    monkeypatch.setenv("DALEMBERT_CACHE", str(link))
    assert cache.clear() == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_in_the_cache_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    name = cache.key("x")
    os.mkfifo(tmp_path / name)
    assert cache.load(name) is None


def test_a_user_without_a_home(monkeypatch):
    from pathlib import Path

    monkeypatch.delenv("DALEMBERT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache.folder() is None or sys.platform == "win32"


def test_the_branch_not_taken_does_not_touch_a_derivative():
    kernel = compile_function(lambda v: [scalar.where(v[0] > 0.0, scalar.sqrt(v[0]), 0.0)], [(1,)], [(1,)])
    with np.errstate(all="ignore"):
        assert np.array_equal(kernel.derivative(0)(np.array([[-1.0], [4.0]]))[..., 0], [[0.0], [0.25]])


def test_an_argument_named_twice():
    with raises(dl.InputError, "duplicate wrt"):
        dl.load("planar-2r").kernel("fk").derivative("q", "q")


def test_numpy_source_of_friction_and_derivatives():
    puma = dl.load("puma560")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 4, 6))
    kernel = puma.kernel("inverse_dynamics", friction=True)
    slope = puma.kernel("potential_energy").derivative("q")
    for k, arguments in ((kernel, (q, qd, qdd)), (slope, (q,))):
        space: dict = {}
        exec(k.numpy_source(), space)
        (function,) = (f for name, f in space.items() if callable(f) and name not in ("__builtins__", "np"))
        assert np.abs(function(*arguments) - k(*arguments)).max() < 1e-12


def test_the_header_declares_the_batch():
    kernel = dl.load("planar-2r").kernel("fk")
    assert "void fk_batch(long states, const double *q, double *out);" in kernel.c_header(batch=True)
    assert "_batch" not in kernel.c_header()


def test_what_is_not_chosen_sets_no_flag():
    """Rotations by nothing, in a batch: NumPy would warn of 0/0 in the branch that is thrown away."""
    from dalembert.spatial.rotation import log3

    kernel = compile_function(lambda R: list(log3((R[:3], R[3:6], R[6:]))), [(9,)], [(3,)], "log3")
    with np.errstate(all="raise"):
        assert (kernel(np.tile(np.eye(3).ravel(), (8, 1))) == 0).all()


def test_a_dimension_of_size_zero_takes_no_other_size():
    kernel = compile_function(lambda q: [list(q)] * 6, [(0,)], [(6, 0)])
    for function in (kernel, kernel.ufunc, kernel.direct):
        for kind in (np.float64, np.float32):
            assert function(np.ones((3, 0), kind)).shape == (3, 6, 0)
            for wrong in ((5,), (3, 5), (1,)):
                with pytest.raises(ValueError) as caught:
                    function(np.ones(wrong, kind))
                numpy = "is different from 0" in str(caught.value)
                assert numpy or fields_of(caught.value) == "wrong-shape x0", str(caught.value)
    assert compile_function(lambda x: [list(x[:0])] * 3, [(2,)], [(3, 0)])([1.0, 2.0]).shape == (3, 0)


def test_a_kernel_says_which_argument_is_wrong():
    kernel = dl.load("planar-2r").kernel("inverse_dynamics")
    q = np.ones(2)
    for wrong, fields, value in (
        ((q, q, np.ones(5)), "wrong-shape qdd", np.ones(5)),
        ((q, np.float64(1.0), q), "wrong-shape qd", 1.0),
        ((q, q), "wrong-shape arguments", 2),
        ((q,) * 5, "wrong-shape arguments", 5),
        ((q, q, q, [1.0, 2.0]), "wrong-type out", [1.0, 2.0]),
    ):
        with raises(InputError, fields) as caught:
            kernel(*wrong)
        assert np.array_equal(caught.value.value, value) and str(caught.value)


def test_a_result_may_follow_the_arguments():
    """As with any ufunc: one array, a tuple of them, of one thread and of two."""
    robot = dl.load("planar-2r")
    q = np.linspace(0, 1, 6).reshape(3, 2)
    for count in (1, 2):
        out = np.empty((3, 4, 4))
        assert robot.kernel("fk")(q, out, threads=count) is out and np.array_equal(out, robot.fk(q))
        many = robot.kernel("matrix_form")
        outs = tuple(np.empty((3, *core)) for core in many.outputs)
        many(q, outs, threads=count)
        assert all(map(np.array_equal, outs, robot.matrix_form(q)))


def test_a_kernel_too_large_to_compile_is_refused_with_the_limit_that_refused_it(monkeypatch):
    def sums(x):
        return [x[0] * (k + 0.5) + x[1] for k in range(200)]

    monkeypatch.setenv("DALEMBERT_OPERATIONS", "100")
    with pytest.raises(InputError, match=r"^sums takes more than 100 operations .*DALEMBERT_OPERATIONS=1000 in the"):
        compile_function(sums, [(2,)], [(200,)], "sums")
    monkeypatch.setenv("DALEMBERT_OPERATIONS", "many")
    with pytest.raises(InputError, match="must be a whole number of operations"):
        compile_function(sums, [(2,)], [(200,)], "sums")
    monkeypatch.setenv("DALEMBERT_OPERATIONS", "1000")
    assert compile_function(sums, [(2,)], [(200,)], "sums")([1.0, 2.0])[1] == 3.5


def test_a_long_compilation_is_announced(monkeypatch, caplog, tmp_path):
    from dalembert.compile import llvm

    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    compile_function(lambda v: [v[0] * 3.25], [(1,)], [(1,)])([1.0])
    assert not caplog.records
    monkeypatch.setattr(llvm, "PATIENCE", 0.0)
    kernel = compile_function(lambda v: [v[0] * 4.25], [(1,)], [(1,)])
    kernel([1.0])
    assert [r.name for r in caplog.records] == ["dalembert"] and "the first time" in caplog.text
    compile_function(lambda v: [v[0] * 4.25], [(1,)], [(1,)])([1.0])  # from the cache
    assert len(caplog.records) == 1


def test_a_guarded_division_raises_no_flag():
    kernel = compile_function(lambda v: [v[1] / scalar.where(v[0] <= 0.0, 1.0, v[0])], [(2,)], [(1,)])
    for states in (1, 9):
        for kind in (np.float64, np.float32):
            assert np.array_equal(kernel(np.zeros((states, 2), kind)), [[0.0]] * states)
