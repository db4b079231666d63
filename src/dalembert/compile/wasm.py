"""Kernels, rollouts and searches as one WebAssembly module: LLVM's object file, linked here.

The object file that LLVM writes is a module already, whose addresses are final, since there is no other to link it
with. It lacks what a linker adds: a memory, a stack, and exports. The module imports nothing. Its functions take the
arrays of NumPy's loops, (args, dims, steps, data) as tables of 64-bit words in the module's memory; `assets/wasm.js`
fills them in. Vectors hold two states (SIMD128); a product and a sum stand where other machines have a fused step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dalembert.compile import llvm, rollout, search
from dalembert.compile.body import Emission
from dalembert.compile.kernel import Kernel
from dalembert.compile.kinds import UNFUSED
from dalembert.errors import InputError

TARGET = llvm.Target(
    triple="wasm32-unknown-unknown",
    cpu="generic",
    features="+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext",
    width=2,
    opt=2,
    reloc="static",
    jit=False,
)
PAGE = 1 << 16  # bytes
MOST_LOCALS = 50_000  # of a function, in every browser
# Browsers allot registers best in short functions: forward dynamics of an arm of 7 joints in 265 ns, in one piece 370.
# There is no heap: the stack is as large as need be.
PIECES = Emission("", longest=300, piece=150, stack=1 << 62, lone=False)
OWN_EXPORTS = ("memory", "base")  # the memory, and where in it what is free begins

# Sections that are read or written here, by their numbers, and their order in a module.
CUSTOM, TYPE, IMPORT, FUNCTION, _, MEMORY, GLOBAL, EXPORT, _, _, CODE, DATA, DATA_COUNT = range(13)
ORDER = (TYPE, FUNCTION, MEMORY, GLOBAL, EXPORT, DATA_COUNT, CODE, DATA)
SYMBOLS = 8  # the table of symbols, among the parts of the section called linking
UNDEFINED, NAMED = 0x10, 0x40  # flags of a symbol
# Functions that are the same in every kernel: one of each is kept.
SHARED = re.compile(r"define internal (void @(?:sin_cos|fetch|(?:gather|scatter)_(?:flat|strided_\d+))_\d+\()")
ALLOCATED = re.compile(r"= alloca (?:\[(\d+) x )?(?:<(\d+) x )?(\w+)")

Entry = Kernel | rollout.Rollout | search.Search


@dataclass(frozen=True)
class WasmModule:
    """A module, and for each of its functions the arrays it takes and gives, which `assets/wasm.js` needs to know."""

    data: bytes
    signatures: dict[str, dict[str, Any]]

    @property
    def runtime(self) -> str:
        """The JavaScript that calls such modules: `load(bytes, signatures)`."""
        return (Path(__file__).parent / "assets" / "wasm.js").read_text(encoding="utf-8")


def assemble_wasm(entries: Mapping[str, Entry]) -> WasmModule:
    """One module that exports each kernel, rollout or search under its name."""
    if not entries:
        raise InputError("missing", "kernels", problem="a WebAssembly module needs at least one kernel")
    for name in OWN_EXPORTS:
        if name in entries:
            problem = f"the module itself exports {name!r}"
            raise InputError("duplicate", "name", name, problem=problem, remedy="Give that kernel another name.")
    signatures = {name: _signature(entry) for name, entry in entries.items()}
    symbols = {name: f"entry_{k}" for k, name in enumerate(entries)}

    def make() -> bytes:
        texts = [_text(entry, symbols[name]) for name, entry in entries.items()]
        return _link(llvm.object_code(texts, TARGET), symbols, sum(map(_stack, texts)))

    programs = [entry.program.text if isinstance(entry, Kernel) else entry.text for entry in entries.values()]
    return WasmModule(llvm.cached(make, TARGET, "wasm", repr(signatures), *programs), signatures)


def _text(entry: Entry, symbol: str) -> str:
    """The IR of an entry, whose loop is called so."""
    width, kind, how = TARGET.width, UNFUSED, replace(PIECES, symbol=symbol)
    if isinstance(entry, Kernel):
        text = llvm.module(entry.program, entry.inputs, entry.outputs, width, kind, how)
    elif isinstance(entry, rollout.Rollout):
        text = rollout.module(entry, width, kind, how)
    else:
        text = search.module(entry.program, entry.n, entry.m, width, kind, how)
    return SHARED.sub(r"define linkonce_odr \1", text)


def _signature(entry: Entry) -> dict[str, Any]:
    """What the runtime calls it with; shapes are of one state."""
    if isinstance(entry, Kernel):
        return {"kind": "kernel", "arguments": entry.arguments, "inputs": entry.inputs, "outputs": entry.outputs}
    if isinstance(entry, rollout.Rollout):
        return {"kind": "rollout", **{name: entry.size[name] for name in ("x", "u", "p", "y")}}
    return {"kind": "search", "state": entry.n, "data": entry.m}


def _stack(text: str) -> int:
    """Bytes of stack that the functions of a module take together: no fewer than any chain of calls does."""
    bits = {"double": 64, "i64": 64, "ptr": 32}
    found = ALLOCATED.findall(text)
    return sum(int(count or 1) * int(width or 1) * bits[kind] // 8 + 128 for count, width, kind in found)


# --------------------------------------------------------------------------------------------------------- the linker
def _link(code: bytes, symbols: Mapping[str, str], stack: int) -> bytes:
    """An object file as a module with a memory, a stack above its data, and these functions exported by name."""
    sections: dict[int, bytes] = {}
    places: dict[str, int] = {}
    at = _Reader(code, 8)  # past the magic number and the version
    while at.more:
        number, body = at.byte(), at.block()
        if number != CUSTOM:
            sections[number] = body
        elif _Reader(body).block() == b"linking":
            places = _function_places(body)
    _check_imports(sections.get(IMPORT, b"\0"))
    _check_locals(sections[CODE])
    base = -(-(_data_end(sections.get(DATA, b"\0")) + stack) // PAGE) * PAGE
    at_base = b"\x41" + _leb(base, signed=True) + b"\x0b"  # i32.const base, end
    sections[MEMORY] = b"\x01\x00" + _leb(base // PAGE + 1)
    sections[GLOBAL] = b"\x02" + b"\x7f\x01" + at_base + b"\x7f\x00" + at_base  # the stack pointer; a constant
    exports = [_name(name) + b"\x00" + _leb(places[symbol]) for name, symbol in symbols.items()]
    exports += [_name(OWN_EXPORTS[0]) + b"\x02\x00", _name(OWN_EXPORTS[1]) + b"\x03\x01"]
    sections[EXPORT] = _leb(len(exports)) + b"".join(exports)
    known = ((number, sections[number]) for number in ORDER if number in sections)
    return code[:8] + b"".join(bytes([number]) + _leb(len(body)) + body for number, body in known)


class _Reader:
    """Reads what a module is written in."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    @property
    def more(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """A whole number, seven bits a byte, the lowest first."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return result

    def block(self) -> bytes:
        """So many bytes, and their number before them."""
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]


def _leb(x: int, signed: bool = False) -> bytes:
    """A whole number as modules write it; of a signed one the last byte's upper bit is its sign."""
    low, x = x & 0x7F, x >> 7
    last = x == 0 and not (signed and low & 0x40)
    return bytes([low]) if last else bytes([low | 0x80]) + _leb(x, signed)


def _name(text: str) -> bytes:
    return _leb(len(text.encode())) + text.encode()


def _function_places(linking: bytes) -> dict[str, int]:
    """Which function each symbol of the object file is."""
    at = _Reader(linking)
    at.block()
    at.number()  # the version
    places = {}
    while at.more:
        if at.byte() != SYMBOLS:
            at.block()
            continue
        table = _Reader(at.block())
        for _ in range(table.number()):
            kind, flags = table.byte(), table.number()
            if kind == 1:  # data: its name and, unless it is another file's, where it lies
                table.block()
                for _ in range(0 if flags & UNDEFINED else 3):
                    table.number()
                continue
            index = table.number()
            name = table.block() if kind != 3 and (not flags & UNDEFINED or flags & NAMED) else b""
            if kind == 0:
                places[name.decode()] = index
    return places


def _check_imports(section: bytes) -> None:
    """The object imports its memory and its stack pointer, which the module has itself, and nothing else."""
    at = _Reader(section)
    for _ in range(at.number()):
        _, name, kind = at.block(), at.block(), at.byte()
        if (kind, name) not in ((2, b"__linear_memory"), (3, b"__stack_pointer")):
            raise RuntimeError(f"the code for WebAssembly wants {name.decode()!r}, which nothing defines")
        if kind == 3:
            at.at += 2  # its type, and that it changes
        else:
            for _ in range(1 + (at.byte() & 1)):  # its least size, and its largest where there is one
                at.number()


def _check_locals(section: bytes) -> None:
    at = _Reader(section)
    for _ in range(at.number()):
        function = _Reader(at.block())
        found = 0
        for _ in range(function.number()):
            found += function.number()
            function.byte()
        if found > MOST_LOCALS:
            problem = (
                f"a function of this WebAssembly module has {found:,} local values, and browsers allow {MOST_LOCALS:,}"
            )
            raise InputError("too-large", "kernels", found, problem=problem, remedy="Export fewer joints, or C.")


def _data_end(section: bytes) -> int:
    """Where the data of the module ends in its memory."""
    at, end = _Reader(section), 0
    for _ in range(at.number()):
        at.at += 2  # in the one memory, at i32.const
        end = at.number()
        at.byte()
        end += len(at.block())
    return end
