"""An address of a loop as a NumPy generalized ufunc, through NumPy's C interface."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

import numpy as np

_FROM_FUNC_AND_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's table, fixed by its ABI
_NONE_IDENTITY = -1
_SIZE_INFERRED = 2  # UFUNC_CORE_DIM_SIZE_INFERRED
ZERO = "zero"
DOUBLE = np.dtype(np.float64).num
FLOAT = np.dtype(np.float32).num


class _UFuncHead(ctypes.Structure):
    """The first fields of PyUFuncObject, public in NumPy's headers."""

    _fields_ = [
        ("head", ctypes.c_ssize_t * (object.__basicsize__ // ctypes.sizeof(ctypes.c_ssize_t))),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("userloops", ctypes.c_void_p),
        ("core_enabled", ctypes.c_int),
        ("core_num_dim_ix", ctypes.c_int),
        ("core_num_dims", ctypes.c_void_p),
        ("core_dim_ixs", ctypes.c_void_p),
        ("core_offsets", ctypes.c_void_p),
        ("core_signature", ctypes.c_char_p),
        ("type_resolver", ctypes.c_void_p),
        ("dict", ctypes.c_void_p),
        ("vectorcall", ctypes.c_void_p),
        ("reserved3", ctypes.c_void_p),
        ("op_flags", ctypes.c_void_p),
        ("iter_flags", ctypes.c_uint32),
        ("core_dim_sizes", ctypes.POINTER(ctypes.c_ssize_t)),
        ("core_dim_flags", ctypes.POINTER(ctypes.c_uint32)),
    ]


def table_of(name: str) -> Sequence[int | None]:
    """One of NumPy's two tables of C functions, _ARRAY_API or _UFUNC_API: their addresses."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = getattr(import_module("numpy._core._multiarray_umath"), name)
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[return-value]


@cache
def _maker() -> Callable[..., np.ufunc]:
    text, integer, address = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
    return ctypes.PYFUNCTYPE(
        ctypes.py_object, address, address, address, integer, integer, integer, integer, address, address, integer, text
    )(table_of("_UFUNC_API")[_FROM_FUNC_AND_SIGNATURE] or 0)


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """NumPy's signature with every core dimension fixed: "(7),(7)->(7,7)". NumPy does not read a zero there: such a
    dimension is named instead, and `assemble` fixes it."""

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(str(d or ZERO) for d in shape) + ")" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


def _fix_zero(head: _UFuncHead, shape: str) -> None:
    """Fix the dimension called zero at that size. Left open, it would take any size, and give memory that nobody
    wrote."""
    names = list(dict.fromkeys(re.findall(r"\w+", shape)))  # numbered by NumPy as they first appear
    place = names.index(ZERO)
    if head.core_num_dim_ix != len(names) or head.core_dim_sizes[place] != -1:
        raise _unknown_layout()
    head.core_dim_sizes[place] = 0
    head.core_dim_flags[place] &= ~_SIZE_INFERRED


def make(address: int, shape: str, name: str, keep: object, kind: int = DOUBLE, doc: str = "") -> np.ufunc:
    """Return the ufunc of one loop over arrays of one type. It owns `keep` (the code)."""
    return assemble([address], [None], [[kind] * shape.count("(")], shape, name, doc, keep)


def is_single(arguments: Sequence[object]) -> bool:
    """Return whether all arguments are float32 arrays. Lists and Python floats are doubles."""
    return all(isinstance(a, np.ndarray) and a.dtype.type is np.float32 for a in arguments)


def assemble(
    functions: Sequence[int] | ctypes.Array[ctypes.c_void_p],
    data: Sequence[int | None],
    kinds: list[list[int]],
    shape: str,
    name: str,
    doc: str,
    keep: object,
) -> np.ufunc:
    """The ufunc of these loops, each with its data and its types. It owns `keep` (the code), and what it points at."""
    count = len(kinds)
    left, right = (side.count("(") for side in shape.split("->"))
    tables = (
        functions if isinstance(functions, ctypes.Array) else (ctypes.c_void_p * count)(*functions),
        (ctypes.c_void_p * count)(*data),
        ctypes.create_string_buffer(bytes(kind for row in kinds for kind in row)),
        ctypes.create_string_buffer(name.encode()),
        ctypes.create_string_buffer(doc.encode()),
    )
    at = [ctypes.addressof(table) for table in tables]
    result: np.ufunc = _maker()(
        at[0], at[1], at[2], count, left, right, _NONE_IDENTITY, at[3], at[4], 0, shape.encode()
    )
    head = _UFuncHead.from_address(id(result))
    if (head.nin, head.nout, head.functions, head.name) != (left, right, at[0], at[3]) or head.obj:
        raise _unknown_layout()
    if ZERO in shape:
        _fix_zero(head, shape)
    # NumPy drops `obj` when it frees the ufunc: the tables and the code live exactly as long.
    owner = (tables, keep)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    head.obj = id(owner)
    return result


def _unknown_layout() -> RuntimeError:
    return RuntimeError("this NumPy lays out its ufuncs in a way that Dalembert does not know")


def loops(function: np.ufunc) -> int:
    """Where the addresses of its loops stand, for a ufunc that `assemble` made."""
    address: int = _UFuncHead.from_address(id(function)).functions
    return address
