"""Kernels on Dask arrays: nothing is computed until it is asked for, chunk by chunk, here or on a cluster.

What travels is the kernel, which pickles by what it is made from, not its ufunc, which belongs to one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.arguments import is_lazy, plain_array


def run(
    kernel: Callable[..., Any],
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    arguments: Sequence[Any],
) -> Any:
    """The kernel over the leading dimensions of Dask arrays. Dask wants its core dimensions named: by their size."""
    import dask.array as da

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(f"n{d}" for d in shape) + ")" for shape in shapes)

    arguments = [a if is_lazy((a,)) else plain_array(a) for a in arguments]
    single = all(a.dtype == np.float32 for a in arguments)
    sizes = {f"n{d}": d for shape in outputs for d in shape}
    known = {f"n{d}" for shape in inputs for d in shape}
    return da.apply_gufunc(  # type: ignore[no-untyped-call]
        kernel,
        f"{side(inputs)}->{side(outputs)}",
        *arguments,
        output_dtypes=[np.float32 if single else np.float64] * len(outputs),
        output_sizes={name: size for name, size in sizes.items() if name not in known},
        allow_rechunk=True,
    )
