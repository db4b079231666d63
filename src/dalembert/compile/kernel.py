"""A function over scalars as a kernel: traced, lowered, compiled, cached, callable on arrays."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import is_lazy, plain_array
from dalembert.caching import cached_property
from dalembert.compile import cache, call, gradient, llvm, loop, threads as threading, ufunc
from dalembert.compile.graph import Graph
from dalembert.compile.interpret import interpret, replay
from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.lower import Program, lower
from dalembert.errors import InputError, unknown
from dalembert.files import whole
from dalembert.scalar import Scalar

if TYPE_CHECKING:
    from dalembert.compile.c_source import Signature
    from dalembert.compile.float32 import Float32Error
    from dalembert.compile.wasm import WasmModule

Shape = tuple[int, ...]


def _nested(flat: list[Scalar], shape: Shape) -> Scalar:
    """A flat list as nested lists of the given shape."""
    if not shape:
        return flat[0]
    step = prod(shape[1:])
    return [_nested(flat[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


def _flat(nested: Scalar, shape: Shape) -> list[Scalar]:
    if not shape:
        return [nested]
    if len(nested) != shape[0]:
        raise ValueError(f"a traced function returned {len(nested)} rows where {shape[0]} were announced")
    return [x for row in nested for x in _flat(row, shape[1:])]


@dataclass(frozen=True, repr=False)
class Kernel:
    """A compiled function of arrays. Calls broadcast over leading dimensions, take out=, release the GIL."""

    name: str
    program: Program
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    doc: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        return ufunc.signature(self.inputs, self.outputs)

    @cached_property
    def operations(self) -> int:
        """Arithmetic steps per state."""
        return self.program.operations

    @property
    def ufunc(self) -> np.ufunc:
        """The NumPy generalized ufunc over doubles, compiled (or taken from the cache) on first use."""
        return self._compiled[0]

    @property
    def single(self) -> np.ufunc:
        """The same over float32, compiled (or taken from the cache) on first use."""
        return self._make_single()

    @cached_property
    def _make_single(self) -> Callable[[], np.ufunc]:
        # Not a method: `direct` must not hold the kernel that holds it, or neither would ever go.
        return functools.cache(partial(single_ufunc, self.program, self.inputs, self.outputs, self.text, self.name))

    @property
    def direct(self) -> Callable[..., Any]:
        """The same function with a short way for one state in plain arrays; what is no plain array becomes one. `out`
        may follow the arguments: without a name, which would cost every call 4 %."""
        return self._compiled[1]

    @cached_property
    def turns(self) -> np.ufunc:
        """The ufunc that several threads call at once, with their counter as last argument."""
        return self._share(self.ufunc)

    @cached_property
    def single_turns(self) -> np.ufunc:
        """The same over float32."""
        return self._share(self.single)

    def _share(self, function: np.ufunc) -> np.ufunc:
        core = sum(len(shape) for shape in (*self.inputs, *self.outputs))
        return threading.share(function, self.signature, core, threading.piece(self.operations))

    @cached_property
    def _compiled(self) -> tuple[np.ufunc, Callable[..., Any]]:
        text = self.text
        symbols = (call.SYMBOL, call.TABLE) if call.layout_is_known() else ()
        linked = _code(self.program, self.inputs, self.outputs, text, DOUBLE, symbols)
        function = ufunc.make(linked.addresses[loop.SYMBOL], self.signature, self.name, linked, doc=self.doc)
        plainly = partial(call.plainly, function, self._make_single)
        if not symbols:
            return function, plainly
        entry, table = linked.addresses[call.SYMBOL], linked.addresses[call.TABLE]
        return function, call.make(entry, table, function, plainly, self.name)

    def __reduce__(self) -> tuple[type[Kernel], tuple[object, ...]]:
        """By what it is made from: code and addresses belong to a process, and are made again on arrival."""
        return (Kernel, (self.name, self.program, self.inputs, self.outputs, self.doc, self.arguments))

    @property
    def __name__(self) -> str:  # Dask names its tasks by it
        return self.name

    def __dask_tokenize__(self) -> tuple[type[Kernel], str]:
        return (Kernel, cache.key(self.name, self.text))

    def __repr__(self) -> str:
        return f"<Kernel {self.name} {self.signature}: {self.operations} operations>"

    @property
    def text(self) -> str:
        """What determines its code."""
        return repr((self.inputs, self.outputs, self.program.text))

    def __call__(self, *arguments: object, out: object = None, threads: int | str = 1) -> Any:
        """The results for arrays of states; large batches by several threads, if asked."""
        if out is None and len(arguments) == len(self.inputs) + 1:  # as with any ufunc
            arguments, out = arguments[:-1], arguments[-1]
        if is_lazy(arguments):
            return self._lazily(arguments)
        count = threading.checked(threads)
        try:
            return threading.run(self, arguments, out, count)
        except (TypeError, ValueError) as caught:
            error = caught
        self._explain(arguments)
        raise error

    def _lazily(self, arguments: Sequence[object]) -> object:
        """The kernel over the leading dimensions of Dask arrays: nothing is computed until it is asked for, chunk by
        chunk, here or on a cluster. What travels is the kernel, which pickles by what it is made from. Dask wants its
        core dimensions named: by their size."""
        import dask.array as da

        def side(shapes: Sequence[tuple[int, ...]]) -> str:
            return ",".join("(" + ",".join(f"n{d}" for d in shape) + ")" for shape in shapes)

        arrays: list[Any] = [a if is_lazy((a,)) else plain_array(a) for a in arguments]
        single = all(a.dtype == np.float32 for a in arrays)
        sizes = {f"n{d}": d for shape in self.outputs for d in shape}
        known = {f"n{d}" for shape in self.inputs for d in shape}
        return da.apply_gufunc(  # type: ignore[no-untyped-call]
            self,
            f"{side(self.inputs)}->{side(self.outputs)}",
            *arrays,
            output_dtypes=[np.float32 if single else np.float64] * len(self.outputs),
            output_sizes={name: size for name, size in sizes.items() if name not in known},
            allow_rechunk=True,
        )

    def _explain(self, arguments: tuple[object, ...]) -> None:
        """Raise an InputError if number or shapes of the arguments are wrong; NumPy would speak of operands."""
        if len(arguments) != len(self.inputs):
            problem = f"{self.name} takes {', '.join(self.arguments)}, got {len(arguments)} arguments"
            raise InputError("wrong-shape", "arguments", len(arguments), problem=problem)
        for name, core, a in zip(self.arguments, self.inputs, arguments, strict=True):
            shape = plain_array(a, name).shape
            if len(shape) < len(core) or shape[len(shape) - len(core) :] != core:
                problem = f"{name} of {self.name} must have a shape that ends in {core}, got {shape}"
                raise InputError("wrong-shape", name, a, problem=problem)

    def interpret(self, *arguments: ArrayLike) -> Any:
        """One state, evaluated step by step in Python: the same bits as the compiled code."""
        arrays = [np.asarray(a, float) for a in arguments]
        if [a.shape for a in arrays] != list(self.inputs):
            got = ", ".join(str(a.shape) for a in arrays)
            problem = f"{self.name} is interpreted for one state, {self.signature}, got shapes {got}"
            raise InputError("wrong-shape", "arguments", problem=problem)
        flat = [a.reshape(-1).tolist() for a in arrays]
        results = interpret(self.program, flat)
        shaped = [np.array(r).reshape(s) for r, s in zip(results, self.outputs, strict=True)]
        return shaped[0] if len(shaped) == 1 else tuple(shaped)

    def derivative(self, *wrt: int | str, of: int = 0) -> Kernel:
        """The kernel of the derivative of one output with respect to arguments (by name or place), one output for
        each, of shape (*output, *argument). Called on a derivative it gives the second order."""
        places = [self._place(w) for w in wrt]
        if not places:
            problem = f"wrt must name arguments of {self.name}: {', '.join(self.arguments)}"
            raise InputError("missing", "wrt", problem=problem)
        if len(set(places)) != len(places):
            raise InputError("duplicate", "wrt", problem=f"wrt names an argument of {self.name} twice")
        if not 0 <= of < len(self.outputs):
            problem = f"{self.name} has {len(self.outputs)} outputs, so that output {of} does not exist"
            raise InputError("out-of-range", "of", of, problem=problem)

        def function(*arguments: Scalar) -> Scalar:
            flat = [_flat(a, shape) for a, shape in zip(arguments, self.inputs, strict=True)]
            nodes = [x for group in flat for x in group]
            graph = nodes[0].graph if nodes else Graph()
            outputs = replay(self.program, flat)[of]
            wanted = [x for place in places for x in flat[place]]
            rows = gradient.jacobian(graph, outputs, wanted)
            parts, first = [], 0
            for place in places:
                size = prod(self.inputs[place])
                columns = [x for row in rows for x in row[first : first + size]]
                parts.append(_nested(columns, (*self.outputs[of], *self.inputs[place])))
                first += size
            return tuple(parts) if len(parts) > 1 else parts[0]

        shapes = [(*self.outputs[of], *self.inputs[place]) for place in places]
        by = ",".join(self.arguments[place] for place in places)
        return compile_function(function, self.inputs, shapes, f"d({self.name})/d({by})", self.doc, self.arguments)

    def _place(self, argument: int | str) -> int:
        if isinstance(argument, str):
            if argument not in self.arguments:
                raise unknown(f"argument of {self.name}", argument, self.arguments)
            return self.arguments.index(argument)
        if not 0 <= argument < len(self.inputs):
            problem = f"{self.name} has {len(self.inputs)} arguments, so that argument {argument} does not exist"
            raise InputError("out-of-range", "wrt", argument, problem=problem)
        return argument

    def c_source(
        self, name: str | None = None, batch: bool = False, float32: bool = False, results: Sequence[str] = ()
    ) -> str:
        """C99 that computes the same bits for one state (and, with `batch`, for many), in doubles or as float32 arrays
        do; `c_header` declares it. `results` names the outputs; one with the name of an argument takes its place."""
        from dalembert.compile import c_source  # what writes sources is not needed to call

        return c_source.c_source(self.program, self.c_signature(name, float32, results), self.doc, batch)

    def c_header(
        self, name: str | None = None, batch: bool = False, float32: bool = False, results: Sequence[str] = ()
    ) -> str:
        """The header of `c_source`."""
        from dalembert.compile import c_source

        return c_source.c_header(self.c_signature(name, float32, results), batch)

    def c_signature(self, name: str | None, float32: bool = False, results: Sequence[str] = ()) -> Signature:
        """How C calls it."""
        from dalembert.compile import c_source

        kind = SINGLE if float32 else DOUBLE
        return c_source.signature(name or self.name, self.arguments, self.inputs, self.outputs, kind, results)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the kernel to a file that other programs compile or import: C99 (.c) or Python with NumPy (.py)."""
        sources = {".c": self.c_source, ".py": self.numpy_source}
        ending = Path(path).suffix.lower()
        if ending not in sources:
            raise InputError("unsupported", "path", str(path), expected="a .c or .py file")
        return whole(path, lambda file: file.write(sources[ending]().encode()))

    def numpy_source(self, name: str | None = None) -> str:
        """A Python function of NumPy arrays that computes the same, to rounding."""
        name = name or self.name
        from dalembert.compile import numpy_source

        return numpy_source.numpy_source(self.program, name, self.arguments, self.inputs, self.outputs, self.doc)

    def jax_source(self, name: str | None = None) -> str:
        """A Python module with a function of JAX arrays that computes the same, to rounding."""
        name = name or self.name
        from dalembert.compile import jax_source

        return jax_source.jax_source(self.program, name, self.arguments, self.inputs, self.outputs, self.doc)

    def wasm(self) -> WasmModule:
        """A WebAssembly module that exports this kernel under its name, and what calls it from JavaScript."""
        from dalembert.compile import wasm

        return wasm.assemble_wasm({self.name: self})

    def float32_error(
        self, box: Mapping[str, tuple[ArrayLike, ArrayLike]], boxes: int = 1000, fused: bool = True
    ) -> Float32Error:
        """A proved bound on |float32 − exact| of every output over all states of float32 numbers within a box, given by
        the (lower, upper) ends of each argument: {"q": (-3, 3), "qd": (-1, 1)}. The box is cut where that helps, up to
        so many `boxes`; `fused=False` is for machines that round the product of a multiply–add too."""
        from dalembert.compile import float32

        return float32.bound_error(self, box, boxes, fused)

    def llvm_ir(self) -> str:
        """The LLVM IR of this kernel for this machine."""
        return llvm.module(self.program, self.inputs, self.outputs, llvm.host().width)


def _code(
    program: Program,
    inputs: tuple[Shape, ...],
    outputs: tuple[Shape, ...],
    text: str,
    kind: Kind,
    symbols: tuple[str, ...] = (),
) -> llvm.Code:
    """Machine code of a program for one kind of number, from the cache or from LLVM. `text` identifies it."""
    width = llvm.width_for(llvm.host(), kind)
    make = partial(llvm.module, program, inputs, outputs, width, kind)
    return llvm.linked(make, (loop.SYMBOL, *symbols), repr(kind), text)


def single_ufunc(
    program: Program, inputs: tuple[Shape, ...], outputs: tuple[Shape, ...], text: str, name: str, kind: Kind = SINGLE
) -> np.ufunc:
    """Compile the loop over float32 and return it as a ufunc."""
    linked = _code(program, inputs, outputs, text, kind)
    return ufunc.make(linked.addresses[loop.SYMBOL], ufunc.signature(inputs, outputs), name, linked, ufunc.FLOAT)


def compile_function(
    function: Callable[..., Any],
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    name: str = "kernel",
    doc: str = "",
    arguments: Sequence[str] = (),
) -> Kernel:
    """Trace `function(*arguments)` and make a kernel of it.

    It is called once, with nested lists of trace nodes of the shapes `inputs`, and returns one result, or
    a tuple if there are several `outputs`, as nested sequences of those shapes."""
    if not inputs or not outputs:
        raise InputError("missing", "arguments", problem=f"{name} needs at least one argument and one result")
    graph = Graph(name)
    traced = [_nested([graph.input(k, j) for j in range(prod(shape))], shape) for k, shape in enumerate(inputs)]
    result = function(*traced)
    results = result if len(outputs) > 1 else (result,)
    flat = [_flat(r, shape) for r, shape in zip(results, outputs, strict=True)]
    names = tuple(arguments) or tuple(f"x{k}" for k in range(len(inputs)))
    return Kernel(name, lower(graph, flat), tuple(inputs), tuple(outputs), doc, names)
