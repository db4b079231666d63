"""Tables, series, matrices and tensors as plain arrays: to them NumPy would hand a call over, or dress its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import InputError

SEEN = (np.ndarray, list, tuple)  # whose objects callers look at, and name


def plain_array(value: Any, name: str = "an argument") -> Any:
    """The value as a plain NumPy array. Refused: masked numbers, units, and what its own library will not convert."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(
            f"{name} is a masked array, which has no numbers where it is masked: fill the gaps, or leave those rows out"
        )
    if hasattr(type(value), "to_value") or hasattr(type(value), "magnitude"):  # quantities of astropy, unyt, pint
        raise InputError(f"{name} carries a unit ({type(value).__name__}); give plain numbers, in SI units and radians")
    try:
        array = np.asarray(value)
        nullable = array.dtype == object and array.ndim and type(value) not in SEEN
        return array.astype(float) if nullable else array
    except Exception as error:  # of any kind: every library has its own
        why = "" if type(value) in SEEN else f": {type(value).__name__} says {error}"
        raise InputError(f"{name} is not a rectangular array of numbers{why}") from None


def is_lazy(arguments: Sequence[Any]) -> bool:
    """Whether one of them is a Dask collection. (An array of xarray has a graph, which is None if it holds numbers.)"""
    return any(hasattr(a, "__dask_graph__") and a.__dask_graph__() is not None for a in arguments)
