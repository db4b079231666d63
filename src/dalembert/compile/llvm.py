"""A whole kernel as LLVM IR, and IR as object code linked into this process.

Every operation works on a vector of W states. The code is

    body(in, out)      straight line: W states, inputs and outputs as arrays of vectors      (body)
    gather, scatter    copy W states of one array to and from those vectors, any strides     (copies)
    put                large results from such vectors to where they belong                  (tiles)
    loop               what NumPy calls: tiles of W states, or the scalar body for one       (loop)
    call               one state straight from Python                                        (call)

so that only `body` grows with the robot. No IR passes run (the graph is already clean) and no fast-math: bits are the
same at every width.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as once
from math import prod
from typing import Any

from dalembert.compile import cache, call, loop
from dalembert.compile.body import Emission, body, constants, sin_cos_function
from dalembert.compile.copies import copy_functions
from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.lower import Program
from dalembert.compile.tiles import body_by_blocks, by_blocks, put_functions
from dalembert.compile.writer import Writer
from dalembert.errors import InputError
from dalembert.forking import COMPILING, wait_for_compilers

NEAR = 1 << 30  # bytes between sections that LLVM's 32-bit references reach with ease
MOST_PLUGS = 20_000
SCALAR_UP_TO = 10_000  # operations
KERNEL = Emission(loop.SYMBOL)
# Doubles in one register; two registers per value would spill more than they hide (measured: 46 against
# 54 ns a state for Panda's inverse dynamics on AVX2).
WIDTHS = (("avx512f", 8), ("avx", 4))
# What LLVM takes, measured on kernels of 2,000 to 100,000 operations; a wait of several seconds is announced.
SECONDS_PER_CHARACTER = 2.5e-7
PATIENCE = 3.0
LEVEL = "DALEMBERT_LLVM_LEVEL"


@dataclass(frozen=True)
class Target:
    """The machine that code is made for, and how LLVM makes it. `masks`: LLVM would branch for a choice."""

    triple: str
    cpu: str
    features: str
    width: int = 1  # states per vector
    opt: int = 1
    reloc: str = "pic"
    jit: bool = True
    masks: bool = False
    abi: str = ""


# The process may not end while a daemon thread is inside LLVM, which takes itself apart then: that would crash.
atexit.register(wait_for_compilers)


@once
def _binding() -> Any:
    with COMPILING:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm


@once
def _every_target() -> None:
    """Code for other machines is asked for rarely: their part of LLVM is set up then."""
    _binding().initialize_all_targets()
    _binding().initialize_all_asmprinters()


@once
def host() -> Target:
    """This machine: vectors as wide as its registers allow."""
    llvm = _binding()
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    if features.get("avx512f"):
        flat += ",-prefer-256-bit"
    width = next((w for feature, w in WIDTHS if features.get(feature)), 2)
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), flat, width, _level())


def _level() -> int:
    """The level of LLVM's code generation. Level 0 compiles small kernels in a third of the time, to the same bits."""
    text = os.environ.get(LEVEL, "1")
    if text not in ("0", "1", "2", "3"):
        problem = f"{LEVEL} in the environment must be 0, 1, 2 or 3, got {text!r}"
        raise InputError("wrong-value", "environment", text, problem=problem, remedy="Unset it for the default, 1.")
    return int(text)


def _machine(target: Target) -> Any:
    llvm = _binding()
    if target.triple != llvm.get_process_triple():
        _every_target()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=target.opt,
        reloc=target.reloc,
        codemodel="small",
        jit=target.jit,
        abiname=target.abi,
    )


def width_for(target: Target, kind: Kind) -> int:
    """States per vector for this kind of number: a register's worth."""
    return target.width * DOUBLE.bits // kind.bits


def scalar_body(program: Program) -> bool:
    """Whether a lone state has code of its own. Long programs take the vector code for it: one body to compile
    instead of two, and hardly slower."""
    return program.operations <= SCALAR_UP_TO


def module(
    program: Program,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    width: int,
    kind: Kind = DOUBLE,
    how: Emission | None = None,
) -> str:
    """The whole IR of a kernel, for one kind of number."""
    how = how or KERNEL
    positions = [0]
    for shape in inputs:
        positions.append(positions[-1] + prod(shape))
    parts = []
    lone = 1 if how.lone and scalar_body(program) else width
    dimensions = loop.core_dimensions(inputs, outputs)
    placed: dict[int, int] = {}  # how many vectors wait for results that the body puts where they belong
    blocks = by_blocks([prod(shape) for shape in outputs], width, kind)
    for w in sorted({lone, width}):
        parts += Writer(w, kind).declarations()
        parts += [copy_functions(w, kind, dimensions), sin_cos_function(w, kind)]
        if blocks:
            text, placed[w] = body_by_blocks(program, positions, w, kind, f"body_{w}", how)
            parts += [text, put_functions(w, kind)]
        else:
            parts.append(body(program, positions, w, kind, f"body_{w}", how))
            parts.append(constants(program, w, kind, f"constants_{w}"))
    if blocks and lone != 1:
        parts.append(copy_functions(1, kind, dimensions))
    parts.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    parts.append("declare ptr @malloc(i64)\ndeclare void @free(ptr)\ndeclare ptr @llvm.ptrmask.p0.i64(ptr, i64)")
    parts += [loop.fetch_function(width, "fetch_to_read", 0), loop.fetch_function(width, "fetch_to_write", 1)]
    parts.append(loop.UfuncLoop(inputs, outputs, kind, how, placed).write(width, lone))
    if how.lone and kind is DOUBLE:
        parts.append(call.call_function(inputs, outputs, lone == 1, placed.get(1, 0)))
    return "\n".join(parts) + "\n"


def object_code(texts: Sequence[str], target: Target, optimize: bool = False) -> bytes:
    """Machine code of modules, put together. `optimize`: by LLVM's passes first, for code with branches and
    variables in memory."""
    size = sum(map(len, texts))
    if (seconds := SECONDS_PER_CHARACTER * size) >= PATIENCE:
        import logging

        logging.getLogger("dalembert").warning(
            "compiling a kernel of %.0f MB of LLVM code: about %.0f s, the first time; then the cache has it",
            1e-6 * size,
            seconds,
        )
    with COMPILING:
        machine = _machine(target)
        first, *others = (_parse(text, target) for text in texts)
        for other in others:
            first.link_in(other)
        if optimize:
            llvm = _binding()
            options = llvm.create_pipeline_tuning_options(1)
            # The lanes are vectors already, and loops over links or joints are short: longer code is no faster.
            options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = False
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(first, builder)
        code: bytes = machine.emit_object(first)
        return code


def _parse(text: str, target: Target) -> Any:
    """Verified: a wrong signature would crash inside LLVM."""
    parsed = _binding().parse_assembly(text)
    parsed.triple = target.triple
    parsed.verify()
    return parsed


def sections(code: bytes) -> dict[str, bytes]:
    """The named sections of an object file."""
    found = _binding().ObjectFileRef.from_data(code).sections()
    return {section.name().decode(): section.data() for section in found if section.name()}


def cached(make: Callable[[], bytes], target: Target, *key: str) -> bytes:
    """The code that `make` compiles, or the cache has; `key` determines it, with the emitter and the machine."""
    import llvmlite

    name = cache.key(cache.emitter(), *key, repr(target), f"llvmlite {llvmlite.__version__}")
    code = cache.load(name)
    if code is None:
        code = make()
        cache.store(name, code)
    return code


def linked(make: Callable[[], str], symbols: Sequence[str], *key: str) -> Code:
    """The code of the IR that `make` writes, for this machine, linked into this process."""
    target = host()
    return Code(cached(lambda: object_code([make()], target), target, *key), target, symbols)


def add_symbol(name: str, address: int) -> None:
    """Let code that is linked from now on call the function at an address by name."""
    _binding().add_symbol(name, address)


@contextmanager
def close_together(size: int) -> Iterator[None]:
    """While code of about this size [bytes] is linked, holes between what is mapped are plugged.

    Sections refer to each other by 32 bits, and LLVM aborts the process where one of them was mapped into a small hole
    more than 2 GB from the others, as happens in large processes."""
    import mmap
    import sys

    if sys.platform != "linux":
        yield
        return
    import ctypes

    whole = 1 << max(20, (2 * size).bit_length())
    plugs = [mmap.mmap(-1, whole)]
    where = ctypes.addressof(ctypes.c_char.from_buffer(plugs[0]))
    piece = whole // 2
    while piece >= mmap.PAGESIZE and len(plugs) < MOST_PLUGS:
        plugs.append(mmap.mmap(-1, piece))
        if abs(ctypes.addressof(ctypes.c_char.from_buffer(plugs[-1])) - where) < NEAR:
            plugs.pop()
            piece //= 2
    del plugs[0]  # where fresh memory is
    yield


class Code:
    """Object code linked into this process; it stays as long as this object does.

    By MCJIT, an engine for each: it gives everything back when it goes (ORC keeps 9 kB a library)."""

    def __init__(self, data: bytes, target: Target, symbols: Sequence[str] = (loop.SYMBOL,)) -> None:
        llvm = _binding()
        with COMPILING, close_together(len(data)):
            empty = llvm.parse_assembly("")
            empty.triple = target.triple
            self._engine = llvm.create_mcjit_compiler(empty, _machine(target))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            self._engine.finalize_object()
            self.addresses: dict[str, int] = {s: self._engine.get_function_address(s) for s in symbols}
        if not all(self.addresses.values()):
            raise RuntimeError(f"the linked code lacks {[s for s, a in self.addresses.items() if not a]}")
