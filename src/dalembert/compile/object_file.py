"""A program as an object file of any machine that LLVM supports: one function without imports, allocation or branches
that depend on data.

    function(arguments…, results…)     plain arrays of one kind of number

A chip loads a number from a table that a register points to in one instruction, and LLVM alone would keep numbers
several times; but of a table that it knows it may write out the whole address at each use, so that the table is better
passed on by the function that others call. All three are tried.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dalembert.compile import llvm
from dalembert.compile.body import sin_cos_loop, write_step
from dalembert.compile.c_source import Signature
from dalembert.compile.llvm import Target
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer, function

KEPT = (".text", ".rodata", ".srodata", ".literal")  # sections that take place in a chip's memory
ARM, UNWINDING, ALLOCATED, EXCLUDED = 40, 0x70000001, 2, 1 << 31  # of ELF: a machine, a type and flags of sections
NUMBERS = ("table passed on", "table", "placed by LLVM")


@dataclass(frozen=True)
class ObjectFile:
    """The file (`data`), the `size` of its code and constants [bytes], and the symbols that it needs from other files
    (`undefined`)."""

    data: bytes
    size: int
    undefined: tuple[str, ...]


def make_object(program: Program, signature: Signature, target: Target) -> ObjectFile:
    """The smallest of the ways to keep numbers."""
    codes = [llvm.object_code([_module(program, signature, target, numbers)], target) for numbers in NUMBERS]
    made = [_leave_out_unwinding(code) for code in codes]
    found = [llvm.sections(data) for data in made]
    sizes = [sum(len(content) for name, content in each.items() if name.startswith(KEPT)) for each in found]
    best = min(range(len(sizes)), key=sizes.__getitem__)
    data = made[best]
    return ObjectFile(data, sizes[best], _undefined(found[best], wide=data[4] == 2))


def _module(program: Program, signature: Signature, target: Target, numbers: str) -> str:
    """Return the IR."""
    kind, name = signature.kind, signature.name
    index = "i64" if "64" in target.triple.split("-")[0] else "i32"  # as wide as the machine's own registers
    table: dict[str, int] | None = None if numbers == "placed by LLVM" else {}
    own = f"@{name}_table"
    w = Writer(1, kind, index, target.masks, table, "%table" if numbers == "table passed on" else own)
    angles = write_step(w, program, signature.arguments, signature.results)
    parts = w.declarations()
    arrays = [f"ptr noalias %{x}" for x in dict.fromkeys((*signature.arguments, *signature.results))]
    if numbers == "table passed on":
        call = f"tail call void @{name}_body({', '.join(arrays).replace(' noalias', '')}, ptr {own})"
        parts.append(function(name, ", ".join(arrays), [f"  {call}", "  ret void"], linkage="dso_local"))
        parts.append(function(f"{name}_body", ", ".join([*arrays, "ptr noalias %table"]), w.lines))
    else:
        parts.append(function(name, ", ".join(arrays), w.lines, linkage="dso_local"))
    if angles:
        parts.append(sin_cos_loop(Writer(1, kind, index, target.masks, table)))
    if table is not None:
        values = ", ".join(f"{kind.name} {x}" for x in table)
        parts += [f"{own} = internal constant [{len(table)} x {kind.name}] [{values}]", "!0 = !{}"]
    return "\n".join(parts) + "\n"


def _leave_out_unwinding(data: bytes) -> bytes:
    """Of Arm's 32 bits: 8 bytes a function tell what unwinds the stack that it cannot. Linkers leave them out then."""
    if struct.unpack_from("<H", data, 18)[0] != ARM:
        return data
    patched = bytearray(data)
    (first,), (size, count) = struct.unpack_from("<I", data, 32), struct.unpack_from("<HH", data, 46)
    for header in range(first, first + size * count, size):
        kind, flags = struct.unpack_from("<II", data, header + 4)
        if kind == UNWINDING:
            struct.pack_into("<I", patched, header + 8, flags & ~ALLOCATED | EXCLUDED)
    return bytes(patched)


def _undefined(found: dict[str, bytes], wide: bool) -> tuple[str, ...]:
    """Names of an ELF file that are used and not defined in it."""
    entry = struct.Struct("<IBBHQQ" if wide else "<IIIBBH")
    places = ((x[0], x[3] if wide else x[5]) for x in entry.iter_unpack(found[".symtab"]))
    return tuple(found[".strtab"][at:].split(b"\0")[0].decode() for at, section in places if at and not section)
