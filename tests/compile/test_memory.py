"""Memory: nothing outside the arrays is read or written, and dropped kernels give back what they took."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import compile_function, llvm

linux = pytest.mark.skipif(sys.platform != "linux", reason="guard pages are made with Linux' mprotect")
PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory between two pages that may not be touched."""

    def __init__(self, pages: int) -> None:
        self.map = mmap.mmap(-1, (pages + 2) * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.size = pages * PAGE
        for guard in (self.start, self.start + PAGE + self.size):
            assert _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), 0) == 0

    def array(self, shape, dtype, at_end: bool) -> np.ndarray:
        """An array that ends right before the second guard, or begins right after the first."""
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        offset = self.size - count if at_end else 0
        raw = (ctypes.c_char * count).from_address(self.start + PAGE + offset)
        return np.frombuffer(raw, dtype).reshape(shape)

    def open(self) -> None:
        _libc.mprotect(ctypes.c_void_p(self.start), ctypes.c_size_t(self.size + 2 * PAGE), 3)


@pytest.fixture
def memory():
    regions = [Guarded(16) for _ in range(4)]
    yield regions
    for region in regions:
        region.open()


@linux
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix"])
def test_guard_pages_around_every_array(memory, name, dtype):
    """Every batch size up to three vectors, arrays against the guard on either side, forwards and backwards."""
    arm = dl.load("planar-3r")
    kernel = arm.kernel(name)
    rng = np.random.default_rng(0)
    width = llvm.host().width * (2 if dtype == np.float32 else 1)
    for states in range(3 * width + 1):
        for at_end in (True, False):
            for turn in (slice(None), slice(None, None, -1)):
                shapes = [(states, *s) for s in (*kernel.inputs, *kernel.outputs)]
                arrays = [m.array(s, dtype, at_end)[turn] for m, s in zip(memory, shapes, strict=False)]
                *arguments, out = arrays
                for a in arguments:
                    a[...] = rng.uniform(-1, 1, a.shape)
                (kernel.single if dtype is np.float32 else kernel.ufunc)(*arguments, out=out)
                wanted = kernel(*(np.array(a, dtype) for a in arguments))
                assert np.array_equal(out, wanted)


@linux
def test_guard_pages_with_strides(memory):
    """Elements spread out: the last one of the last state is the last of the page."""
    kernel = dl.load("planar-2r").kernel("mass_matrix")
    for states in (1, 2, 3, 5, 8, 9):
        wide = memory[0].array((states * 4 - 1 + (states == 0),), np.float64, True)
        q = np.lib.stride_tricks.as_strided(wide, (states, 2), (32, 16))
        q[...] = np.random.default_rng(0).uniform(-1, 1, (states, 2))
        spread = memory[1].array((8 * states - 1,), np.float64, True)
        out = np.lib.stride_tricks.as_strided(spread, (states, 2, 2), (64, 32, 16))
        kernel.ufunc(q, out=out)
        assert np.array_equal(out, kernel(q.copy()))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@linux
def test_dropped_kernels_do_not_grow_the_process(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))

    def make(k: int) -> None:
        kernel = compile_function(lambda v: [x * (1.0 + k % 3) for x in v], [(3,)], [(3,)])
        assert np.array_equal(kernel.direct(np.ones(3)), np.full(3, 1.0 + k % 3))
        kernel.single(np.ones((4, 3), np.float32))

    def grow(many: int) -> float:
        before = resident()
        for k in range(many):
            make(k)
        gc.collect()
        return (resident() - before) / many

    grow(60)
    grown = min(grow(300) for _ in range(3))  # what leaks leaks every time; other tests' threads come and go once
    assert grown < 3000, f"{grown:.0f} bytes a kernel"
