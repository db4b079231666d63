"""One state at a time from Python, without NumPy's iterator: a builtin function around the scalar body.

A generalized ufunc costs about a microsecond per call before it computes anything. Most single calls pass plain
arrays: float64, of exactly the core shape, contiguous. The function here checks for that with a few loads and
compares, makes the results with PyArray_New, and runs the scalar body; for other arrays, lists and tuples it calls the
ufunc, which gives the same bits. Whatever else comes is made a plain array first: to a table of pandas or a tensor,
NumPy would hand the call over. It relies on the public layout of PyArrayObject, checked against a live array before
use; where that check fails, `plainly` is all there is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, reduce
from math import prod
from typing import Any

import numpy as np

from dalembert.arguments import is_lazy, labels_of, plain_array
from dalembert.compile.ufunc import is_single, table_of
from dalembert.compile.writer import Lines
from dalembert.errors import InputError

SYMBOL = "dalembert_call"
TABLE = "dalembert_table"
PLAIN = (np.ndarray, list, tuple, float)  # what goes to NumPy as it is
# What the code needs from Python and NumPy, in the order of its table.
_ENTRIES = (
    "PyArray_Type",
    "float64 descriptor",
    "PyArray_New",
    "PyObject_Vectorcall",
    "ufunc",
    "PyTuple_New",
    "PyTuple_SetItem",
    "plainly",
    *(kind.__name__ for kind in PLAIN),
)
_DOUBLE = np.dtype(np.float64).num

_HEAD = object.__basicsize__  # reference count and type
_TYPE_AT = _HEAD - ctypes.sizeof(ctypes.c_void_p)
_DATA_AT, _ND_AT, _DIMENSIONS_AT, _DESCRIPTOR_AT, _FLAGS_AT = (_HEAD + k for k in (0, 8, 16, 40, 48))
_CONTIGUOUS_ALIGNED = 0x0001 | 0x0100
_PYARRAY_NEW = 93  # in NumPy's table of functions, fixed by its ABI
_METH_FASTCALL = 0x0080
LARGEST = 4096  # numbers: they lie on the stack


def call_function(
    inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], lone: bool, waiting: int
) -> str:
    """The IR of the builtin. The short way is only for kernels with code for a `lone` state, whose results are arrays,
    with no empty core dimension. `waiting`: the body puts its results where they belong, and takes room for so many
    numbers to wait."""
    w = _Lines(["entry:"])
    on_stack = sum(map(prod, inputs)) + (waiting or sum(map(prod, outputs)))
    short = lone and on_stack <= LARGEST and callable_directly(inputs, outputs)
    if short:
        w.do(f"%in = alloca [{sum(prod(s) for s in inputs)} x double], align 64")
        if waiting:
            w.do(f"%wait = alloca [{waiting} x double], align 64")
        else:
            w.do(f"%out = alloca [{sum(prod(s) for s in outputs)} x double], align 64")
        w.do(f"%shape = alloca [{max(len(s) for s in outputs)} x i64]")
    w.do(f"%right = icmp eq i64 %count, {len(inputs)}")
    w.do(f"br i1 %right, label %{'arguments' if short else 'kinds'}, label %more")
    w.label("more")  # out, as one array
    w.must(w.let(f"icmp eq i64 %count, {len(inputs) + 1 if len(outputs) == 1 else -1}"), "strange")
    w.must(w.one_of(len(inputs), [w.entry(0)]), "strange")
    w.do("br label %kinds")
    if short:
        w.label("arguments")
        _short_way(w, inputs, outputs, waiting > 0)
    w.label("kinds")
    plain = [w.entry(k) for k in range(len(_ENTRIES) - len(PLAIN), len(_ENTRIES))]
    for k in range(len(inputs)):
        w.must(w.one_of(k, plain), "strange")
        w.must(w.double_if_array(k), "strange")  # float32 has a ufunc of its own
    w.do("br label %ufunc")
    for label, k in (("ufunc", 4), ("strange", 7)):
        w.label(label)
        result = w.let(f"call ptr {w.entry(3)}(ptr {w.entry(k)}, ptr %args, i64 %count, ptr null)")
        w.do(f"ret ptr {result}")
    head = f"@{TABLE} = global [{len(_ENTRIES)} x ptr] zeroinitializer\n"
    return head + "\n".join([f"define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %count) {{", *w.lines, "}"])


def _short_way(w: _Lines, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], placed: bool) -> None:
    """One state in plain arrays, by the scalar body."""
    array_type, descriptor = w.entry(0), w.entry(1)
    data = [w.checked(k, core, array_type, descriptor) for k, core in enumerate(inputs)]
    place = 0
    for pointer, core in zip(data, inputs, strict=True):
        to = w.let(f"getelementptr double, ptr %in, i64 {place}")
        w.do(f"call void @gather_flat_1(ptr {pointer}, i64 0, i64 {prod(core)}, i64 1, ptr {to})")
        place += prod(core)
    if placed:
        arrays = [w.array(shape, array_type) for shape in outputs]
        given = ", ".join(f"ptr {w.load('ptr', array, _DATA_AT)}, i64 0" for array in arrays)
        w.do(f"call void @body_1(ptr %in, ptr %wait, {given})")
        result = arrays[0] if len(arrays) == 1 else w.tuple_of(arrays)
    elif len(outputs) == 1:  # straight into the result's own memory
        result = w.array(outputs[0], array_type)
        out = w.load("ptr", result, _DATA_AT)
        w.do(f"call void @constants_1(ptr {out})")
        w.do(f"call void @body_1(ptr %in, ptr {out})")
    else:
        w.do("call void @constants_1(ptr %out)")
        w.do("call void @body_1(ptr %in, ptr %out)")
        arrays, place = [w.array(shape, array_type) for shape in outputs], 0
        for array, shape in zip(arrays, outputs, strict=True):
            to = w.load("ptr", array, _DATA_AT)
            source = w.let(f"getelementptr double, ptr %out, i64 {place}")
            w.do(f"call void @scatter_flat_1(ptr {to}, i64 0, i64 {prod(shape)}, i64 1, ptr {source})")
            place += prod(shape)
        result = w.tuple_of(arrays)
    w.do(f"ret ptr {result}")
    w.label("failed")  # out of memory: Python has been told, and what was made stays to be collected
    w.do("ret ptr null")


def plainly(ufunc: np.ufunc, single: Callable[[], np.ufunc], *arguments: object) -> Any:
    """The ufunc of plain arrays, whatever the arguments are. One more than it takes is `out`.

    `single` makes the ufunc over float32. It is made here: inside a loop of NumPy nothing can be raised."""
    out = arguments[ufunc.nin] if len(arguments) == ufunc.nin + 1 else None
    arguments = arguments if out is None else arguments[:-1]
    if is_lazy(arguments):
        problem = "a ufunc cannot take Dask arrays"
        raise InputError("wrong-type", "arguments", problem=problem, remedy="Pass them to the kernel.")
    if out is not None and not isinstance(out, (np.ndarray, tuple)):
        raise InputError("wrong-type", "out", out, expected="a NumPy array")
    if any(type(a) not in PLAIN and labels_of(a) is not None for a in arguments):
        problem = "a kernel cannot take named columns"
        raise InputError("wrong-type", "arguments", problem=problem, remedy="Pass .to_numpy().")
    arrays = [a if type(a) in PLAIN else plain_array(a) for a in arguments]
    function = single() if is_single(arrays) else ufunc
    return function(*arrays) if out is None else function(*arrays, out=out)


def callable_directly(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> bool:
    shapes = (*inputs, *outputs)
    return all(shapes) and all(prod(shape) > 0 for shape in shapes)


class _Lines(Lines):
    """Collects the lines of the function."""

    def load(self, kind: str, base: str, offset: int) -> str:
        at = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.let(f"load {kind}, ptr {at}")

    def entry(self, k: int) -> str:
        return self.load("ptr", f"@{TABLE}", 8 * k)

    def made(self, object_: str) -> str:
        """The object, once it is known that there is one."""
        there = self.let(f"icmp ne ptr {object_}, null")
        self.count += 1
        self.do(f"br i1 {there}, label %made{self.count}, label %failed")
        self.label(f"made{self.count}")
        return object_

    def array(self, shape: tuple[int, ...], array_type: str) -> str:
        """A new array of doubles of this shape."""
        for k, size in enumerate(shape):
            at = self.let(f"getelementptr i64, ptr %shape, i64 {k}")
            self.do(f"store i64 {size}, ptr {at}")
        arguments = f"ptr {array_type}, i32 {len(shape)}, ptr %shape, i32 {_DOUBLE}, ptr null, ptr null"
        return self.made(self.let(f"call ptr {self.entry(2)}({arguments}, i32 0, i32 0, ptr null)"))

    def tuple_of(self, arrays: Sequence[str]) -> str:
        """A new tuple of them."""
        result = self.made(self.let(f"call ptr {self.entry(5)}(i64 {len(arrays)})"))
        for k, array in enumerate(arrays):
            self.let(f"call i32 {self.entry(6)}(ptr {result}, i64 {k}, ptr {array})")
        return result

    def must(self, condition: str, otherwise: str = "kinds") -> None:
        """Go on if it holds; else leave it to the ufunc, or to what comes before."""
        self.count += 1
        self.do(f"br i1 {condition}, label %ok{self.count}, label %{otherwise}")
        self.label(f"ok{self.count}")

    def one_of(self, k: int, kinds: Sequence[str]) -> str:
        """Whether argument k is exactly of one of these types."""
        own = self.load("ptr", self.load("ptr", "%args", 8 * k), _TYPE_AT)
        same = [self.let(f"icmp eq ptr {own}, {kind}") for kind in kinds]
        return reduce(lambda a, b: self.let(f"or i1 {a}, {b}"), same)

    def double_if_array(self, k: int) -> str:
        """Whether argument k holds doubles, if it is an array."""
        argument = self.load("ptr", "%args", 8 * k)
        array = self.let(f"icmp eq ptr {self.load('ptr', argument, _TYPE_AT)}, {self.entry(0)}")
        own = self.let(f"getelementptr i8, ptr {argument}, i64 {_DESCRIPTOR_AT}")
        wanted = self.let(f"getelementptr i8, ptr @{TABLE}, i64 8")
        at = self.let(f"select i1 {array}, ptr {own}, ptr {wanted}")
        return self.let(f"icmp eq ptr {self.let(f'load ptr, ptr {at}')}, {self.entry(1)}")

    def checked(self, k: int, core: tuple[int, ...], array_type: str, descriptor: str) -> str:
        """The data of argument k, once it is known to be a plain array of the core shape."""
        argument = self.load("ptr", "%args", 8 * k)
        kind = self.load("ptr", argument, _TYPE_AT)
        self.must(self.let(f"icmp eq ptr {kind}, {array_type}"))
        own = self.load("ptr", argument, _DESCRIPTOR_AT)
        self.must(self.let(f"icmp eq ptr {own}, {descriptor}"))
        dimensions = self.load("i32", argument, _ND_AT)
        self.must(self.let(f"icmp eq i32 {dimensions}, {len(core)}"))
        flags = self.load("i32", argument, _FLAGS_AT)
        both = self.let(f"and i32 {flags}, {_CONTIGUOUS_ALIGNED}")
        self.must(self.let(f"icmp eq i32 {both}, {_CONTIGUOUS_ALIGNED}"))
        sizes = self.load("ptr", argument, _DIMENSIONS_AT)
        for d, size in enumerate(core):
            self.must(self.let(f"icmp eq i64 {self.load('i64', sizes, 8 * d)}, {size}"))
        return self.load("ptr", argument, _DATA_AT)


@cache
def layout_is_known() -> bool:
    """Whether a live array looks as the code expects: data, dimensions, descriptor and flags in their places."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or _HEAD != 16:
        return False
    probe = np.zeros((3, 5))

    def at(offset: int, kind: type[ctypes.c_void_p | ctypes.c_int]) -> int:
        return int(kind.from_address(id(probe) + offset).value or 0)

    dimensions = at(_DIMENSIONS_AT, ctypes.c_void_p)
    same = (
        at(_TYPE_AT, ctypes.c_void_p) == id(np.ndarray)
        and at(_DATA_AT, ctypes.c_void_p) == probe.ctypes.data
        and at(_ND_AT, ctypes.c_int) == 2
        and at(_DESCRIPTOR_AT, ctypes.c_void_p) == id(np.dtype(np.float64))
        and at(_FLAGS_AT, ctypes.c_int) == probe.flags.num
    )
    return same and [ctypes.c_ssize_t.from_address(dimensions + 8 * k).value for k in range(2)] == [3, 5]


@cache
def _functions() -> tuple[int, int, int, int]:
    """Addresses of PyArray_New, PyObject_Vectorcall, PyTuple_New and PyTuple_SetItem."""
    names = ("PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem")
    vectorcall, new, put = (ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0 for n in names)
    return int(table_of("_ARRAY_API")[_PYARRAY_NEW] or 0), vectorcall, new, put


class _MethodDefinition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def make(address: int, table: int, ufunc: np.ufunc, other: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The builtin function: fill the code's table and wrap its address. `other` is `plainly` of these ufuncs."""
    new, vectorcall, new_tuple, put = _functions()
    kinds = (id(kind) for kind in PLAIN)
    first = (id(np.ndarray), id(np.dtype(np.float64)), new, vectorcall, id(ufunc), new_tuple, put, id(other))
    entries = (*first, *kinds)
    (ctypes.c_void_p * len(entries)).from_address(table)[:] = list(entries)
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
    wrap = ctypes.pythonapi.PyCFunction_NewEx
    wrap.restype = ctypes.py_object
    wrap.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    # The function owns its `self`: the ufunc (which owns the code), the other way and the definition live as long.
    function: Callable[..., Any] = wrap(ctypes.addressof(definition), (ufunc, other, definition), None)
    return function
