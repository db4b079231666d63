"""Generated C and NumPy source: compiled without warnings, the same bits (C) or numbers (NumPy)."""

from __future__ import annotations

import ast
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function
from dalembert.errors import InputError
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


def same_bits(a, b) -> bool:
    return bool(np.all((a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))))


@needs_compiler
def test_c_in_floats_gives_the_bits_of_a_float32_kernel(tmp_path):
    """Sines past a turn, exp and log of small and large numbers, what is no number; and a robot's dynamics."""

    def function(v):
        x, y = v
        trig = [scalar.sin(x), scalar.cos(y)]
        return [*trig, scalar.exp(x), scalar.log(scalar.absolute(y)), scalar.sqrt(x), scalar.where(x < y, x, 0.1), 1e39]

    kernels = compile_function(function, [(2,)], [(7,)], "functions"), dl.load("ur5e").kernel("inverse_dynamics")
    rng = np.random.default_rng(0)
    odd = [0.0, -0.0, 1e-40, np.inf, -np.inf, np.nan, 9000.0, -88.0, 104.0, -104.0]
    inputs = [np.concatenate([rng.normal(size=(200, 2)) * 30, np.reshape(odd, (5, 2))])], rng.uniform(-3, 3, (3, 50, 6))
    for name, kernel, arrays in zip("fg", kernels, inputs, strict=True):
        source = kernel.c_source(name, float32=True)
        assert "double" not in source and f"void {name}(const float *" in kernel.c_header(name, float32=True)
        (tmp_path / f"{name}.c").write_text(source)
        command = [GCC, *STRICT, "-Wdouble-promotion", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so", "-lm"]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
        run = getattr(ctypes.CDLL(str(tmp_path / f"{name}.so")), name)
        given = [np.ascontiguousarray(a, np.float32) for a in arrays]
        with np.errstate(all="ignore"):
            wanted = kernel(*given)
        out = np.empty(kernel.outputs[0], np.float32)
        for k in range(len(wanted)):
            run(*(ctypes.c_void_p(a.ctypes.data) for a in (*(a[k] for a in given), out)))
            assert same_bits(out, wanted[k]), (name, [a[k] for a in given])


@needs_compiler
def test_a_result_may_take_the_place_of_an_argument(tmp_path):
    """A rotation of three numbers: each is read before it is written over."""
    kernel = compile_function(lambda x, y: ([x[2], x[0], x[1] + y[0]], [x[0]]), [(3,), (1,)], [(3,), (1,)])
    assert "void k(double *x0, const double *x1, double *out)" in kernel.c_header("k", results=("x0", "out"))
    (tmp_path / "k.c").write_text(kernel.c_source("k", results=("x0", "out")))
    subprocess.run([GCC, *STRICT, "-shared", "-fPIC", "k.c", "-o", "k.so"], check=True, cwd=tmp_path)
    x, y, out = np.array([1.0, 2.0, 3.0]), np.array([10.0]), np.zeros(1)
    ctypes.CDLL(str(tmp_path / "k.so")).k(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y, out)))
    assert x.tolist() == [3.0, 1.0, 12.0] and out[0] == 1.0


def named(*arguments: str):
    return compile_function(lambda *x: [2.0 * x[0] + x[-1], x[0]], [()] * len(arguments), [(2,)], "f", "", arguments)


@pytest.mark.parametrize("source", ["c_source", "numpy_source", "jax_source"])
def test_names_that_generated_code_uses_are_refused(source):
    """An argument v2 would be overwritten by the result of step 2; two arguments of one name would be one."""
    for clash in (("v2",), ("a b", "a_b"), ("for",), *((("np",),) if source != "c_source" else (("fma",),))):
        with pytest.raises(InputError, match="generated code"):
            getattr(named(*clash), source)()
    assert "a_b" in getattr(named("a b"), source)()


@pytest.mark.parametrize("source", ["c_source", "c_header", "numpy_source", "jax_source"])
def test_functions_and_results_have_no_names_that_generated_code_uses(source):
    """A function called sin would be called by the code it is made of; a result v0 would be a variable of it."""
    for name in ("for", "sin" if source in ("c_source", "c_header") else "np"):
        with pytest.raises(InputError, match=f"generated code needs the name '{name}'"):
            getattr(named("a"), source)(name=name)
    if source in ("c_source", "c_header"):
        kernel = compile_function(lambda a: ([2.0 * a], [3.0 * a]), [()], [(1,), (1,)], "f", "", ("a",))
        for results in (("v0", "b"), ("b", "b")):
            with pytest.raises(InputError, match="generated code"):
                getattr(kernel, source)(results=results)
        assert "*b" in getattr(kernel, source)(results=("b", "c"))


def test_a_result_takes_the_place_of_an_argument_only_if_it_has_its_size():
    for arguments, results in ((("out",), ()), (("x",), ("x",))):
        with pytest.raises(InputError, match="take the place"):
            named(*arguments).c_source(results=results)


def test_the_text_about_a_kernel_is_no_code():
    about = 'x\\"""\nraise SystemExit\n"""'
    kernel = compile_function(lambda x: [x[0]], [(1,)], [(1,)], "f", about, ("x",))
    for text in (kernel.numpy_source(), kernel.jax_source()):
        assert not any(isinstance(node, ast.Raise) and node.col_offset == 0 for node in ast.walk(ast.parse(text)))
    space: dict[str, object] = {}
    exec(kernel.numpy_source(), space)
    assert space["f"]([1.5]) == [1.5]
