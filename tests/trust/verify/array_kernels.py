"""Kernels that run their algorithm on arrays, without compiling it: the same numbers, at once.

A planted fault changes every kernel, and compiling them anew would take most of a test's time. That machine code gives
the numbers of the algorithm is tested in tests/compile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as dl


class ArrayKernel:
    operations = 0

    def __init__(self, function, inputs, outputs, name="", doc="", arguments=()) -> None:
        self.function, self.inputs, self.outputs = function, inputs, outputs

    def __call__(self, *arrays: Any, out: Any = None, threads: Any = 1) -> Any:
        arrays = [np.asarray(a, float) for a in arrays]
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, self.inputs, strict=True)))
        results = self.function(*(_taken_apart(a, len(s)) for a, s in zip(arrays, self.inputs, strict=True)))
        many = results if len(self.outputs) > 1 else (results,)
        put = [_put_together(x, s, batch) for x, s in zip(many, self.outputs, strict=True)]
        return put[0] if len(put) == 1 else tuple(put)

    direct = ufunc = __call__

    def derivative(self, *wrt: Any, of: int = 0) -> Any:
        raise dl.InputError("kernels on arrays are not differentiated")


def _taken_apart(a: Any, depth: int) -> Any:
    if not depth:
        return a
    axis = a.ndim - depth
    return [_taken_apart(np.take(a, k, axis), depth - 1) for k in range(a.shape[axis])]


def _put_together(x: Any, shape: tuple[int, ...], batch: tuple[int, ...]) -> Any:
    if not shape:
        return np.broadcast_to(np.asarray(x, float), batch).copy()
    parts = [_put_together(v, shape[1:], batch) for v in x]
    return np.stack(parts, axis=len(batch)) if parts else np.zeros((*batch, *shape))


def on_arrays(patch: pytest.MonkeyPatch) -> None:
    """From here on kernels are not compiled."""
    patch.setattr("dalembert.compile.compile_function", ArrayKernel)
