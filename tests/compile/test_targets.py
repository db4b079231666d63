"""Code for other machines, and kernels in other processes and on lazy arrays."""

from __future__ import annotations

import multiprocessing
import struct
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import llvm
from dalembert.compile.kinds import DOUBLE, SINGLE

FOREIGN = {
    "aarch64": (llvm.Target("aarch64-unknown-linux-gnu", "generic", "+neon", 2), 183),
    "apple": (llvm.Target("arm64-apple-macosx", "apple-m1", "", 2), None),
    "old x86": (llvm.Target("x86_64-unknown-linux-gnu", "x86-64", "", 2), 62),
    "AVX-512": (llvm.Target("x86_64-unknown-linux-gnu", "skylake-avx512", "", 8), 62),
    "no vectors": (llvm.Target("x86_64-unknown-linux-gnu", "x86-64", "", 1), 62),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("kind", [DOUBLE, SINGLE], ids=["double", "float"])
def test_code_for_other_machines(name, kind):
    target, machine = FOREIGN[name]
    kernel = dl.load("ur5e").kernel("inverse_dynamics")
    text = llvm.module(kernel.program, kernel.inputs, kernel.outputs, target.width, kind)
    code = llvm.object_code([text], target)
    assert len(code) > 5000
    if machine is not None:  # an ELF file says for which machine it is
        assert code[:4] == b"\x7fELF" and struct.unpack("<H", code[18:20])[0] == machine


def _work(pair):
    robot, q = pair
    kernel = robot.kernel("mass_matrix")
    return kernel(q), robot.mass_matrix(q)


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_in_other_processes(way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {way} on this system")
    robot = dl.load("scara")
    q = np.random.default_rng(0).uniform(-1, 1, (2, 50, 4))
    wanted = robot.mass_matrix(q)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
        for k, pair in enumerate(pool.map(_work, [(robot, q[0]), (robot, q[1])])):
            assert all(np.array_equal(x, wanted[k]) for x in pair)


def test_on_dask_arrays():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    robot = dl.load("planar-2r")
    q = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    lazy = robot.mass_matrix(da.from_array(q, chunks=(100, 2)))
    assert lazy.shape == (1000, 2, 2)
    assert np.array_equal(lazy.compute(), robot.mass_matrix(q))
    T, J = robot.fk_jacobian(da.from_array(q, chunks=(300, 1)))
    assert np.array_equal(T.compute(scheduler="processes"), robot.fk(q))
    assert np.array_equal(J.compute(), robot.jacobian(q))
