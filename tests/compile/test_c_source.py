"""Generated C and NumPy source: compiled without warnings, the same bits (C) or numbers (NumPy)."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function
from trees import random_tree

GCC = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(GCC is None, reason="no C compiler on this machine")
STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def build(kernel, folder, batch=False):
    """The function of the generated file, called through ctypes on flat arrays."""
    (folder / "k.c").write_text('#include "k.h"\n' + kernel.c_source("k", batch))
    (folder / "k.h").write_text(kernel.c_header("k"))
    library = folder / "k.so"
    command = [GCC, *STRICT, "-shared", "-fPIC", "k.c", "-o", str(library), "-lm"]
    subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(function, arrays, shapes, *before):
    outs = [np.full(s, np.nan) for s in shapes]
    pointers = [np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in (*arrays, *outs)]
    function(*before, *pointers)
    return outs


@needs_compiler
@pytest.mark.parametrize(
    ("name", "count"),
    [("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1), ("fk_jacobian", 1), ("christoffel", 1)],
)
def test_c_gives_the_same_bits(tmp_path, name, count):
    arm = dl.load("ur5e")
    kernel = arm.kernel(name)
    library = build(kernel, tmp_path)
    for x in np.random.default_rng(0).uniform(-3, 3, (20, 3, 6)):
        wanted = kernel(*x[:count])
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(call(library.k, x[:count], kernel.outputs), wanted, strict=True):
            assert np.array_equal(a, b)


@needs_compiler
def test_c_batch_friction_and_odd_values(tmp_path):
    robot = dl.Robot(random_tree(seed=6, joints=5, friction=True))
    kernel = robot.kernel("inverse_dynamics", friction=True)
    library = build(kernel, tmp_path, batch=True)
    x = np.random.default_rng(0).uniform(-3, 3, (3, 50, robot.n))
    x[0, 3, 0], x[1, 7, 1], x[0, 9, 0] = np.nan, 0.0, 1e12
    (out,) = call(library.k_batch, x, [(50, robot.n)], ctypes.c_long(50))
    assert np.array_equal(out, kernel(*x), equal_nan=True)


@needs_compiler
def test_c_of_every_operation(tmp_path):
    def function(v):
        x, y = v
        chosen = scalar.where(x <= y, scalar.sqrt(scalar.absolute(x)), x / y)
        return [chosen, scalar.sin(x) * scalar.cos(-y) - 2.5, -x, 0.0, float("inf"), float("nan"), -1.5]

    kernel = compile_function(function, [(2,)], [(7,)], "every op!")
    library = build(kernel, tmp_path)
    for x in np.random.default_rng(0).normal(size=(50, 2)):
        (out,) = call(library.k, [x], [(7,)])
        assert np.array_equal(out, kernel(x), equal_nan=True)
    assert "void every_op_(" in kernel.c_source()


def test_numpy_source_runs_on_batches():
    arm = dl.load("panda")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 4, 5, 7))
    for name, arguments in {
        "inverse_dynamics": (q, qd, qdd[0, 0]),
        "mass_matrix": (q,),
        "fk_jacobian": (q,),
        "kinetic_energy": (q, qd),
    }.items():
        kernel = arm.kernel(name)
        space: dict = {}
        exec(kernel.numpy_source("generated"), space)
        got, wanted = space["generated"](*arguments), kernel(*arguments)
        pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
        for a, b in pairs:
            assert a.shape == b.shape
            assert np.abs(a - b).max() < 1e-12
