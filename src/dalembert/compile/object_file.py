"""A program as an object file of any machine that LLVM knows: one function without imports, allocation or branches that
depend on data, and how many instructions a call takes.

    function(arguments…, results…)     plain arrays of one kind of number

A chip loads a number from a table that a register points to in one instruction, and LLVM alone would keep numbers
several times; but of a table that it knows it may write out the whole address at each use, so that the table is better
passed on by the function that others call. All three are tried.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from itertools import pairwise

from dalembert.compile import llvm
from dalembert.compile.body import sin_cos_loop, write_step
from dalembert.compile.c_source import Signature
from dalembert.compile.llvm import Target
from dalembert.compile.lower import Program
from dalembert.compile.writer import Writer, function

KEPT = (".text", ".rodata", ".srodata", ".literal")  # sections that take place in a chip's memory
ARM, UNWINDING, ALLOCATED, EXCLUDED = 40, 0x70000001, 2, 1 << 31  # of ELF: a machine, a type and flags of sections
NUMBERS = ("table passed on", "table", "placed by LLVM")
# Instructions of an assembler's word that is several; before a loop, as many as may fill up to its alignment.
SEVERAL = {"call": 2, "tail": 2, ".p2align 2": 1, ".p2align 3": 3}


@dataclass(frozen=True)
class ObjectFile:
    """The file, the assembly it was made of, bytes of code and numbers in it, instructions of a call (exact, but for
    what a linker shortens and what aligns loops: at most), bytes of stack, and the symbols it wants from others."""

    data: bytes
    assembly: str
    size: int
    instructions: int
    stack: int
    undefined: tuple[str, ...]


def make_object(program: Program, signature: Signature, target: Target) -> ObjectFile:
    """The smallest of the ways to keep numbers."""
    modules = [_module(program, signature, target, numbers) for numbers in NUMBERS]
    made = [(_leave_out_unwinding(llvm.object_code([text], target)), text, angles) for text, angles in modules]
    found = [llvm.sections(data) for data, *_ in made]
    sizes = [sum(len(content) for name, content in each.items() if name.startswith(KEPT)) for each in found]
    best = min(range(len(sizes)), key=sizes.__getitem__)
    data, text, angles = made[best]
    assembly = llvm.assembly(text, target)
    functions = read_functions(assembly)
    return ObjectFile(
        data,
        assembly,
        sizes[best],
        count_instructions(functions, signature.name, angles),
        count_stack(functions, signature.name),
        _undefined(found[best], wide=data[4] == 2),
    )


def _module(program: Program, signature: Signature, target: Target, numbers: str) -> tuple[str, int]:
    """The IR, and how often the loop over angles runs."""
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
    return "\n".join(parts) + "\n", angles


def read_functions(assembly: str) -> dict[str, list[str]]:
    """Labels and instructions of each function, and what aligns its loops, without comments."""
    functions: dict[str, list[str]] = {}
    lines: list[str] = []
    texts = [" ".join(re.split("# |@ |//|#$", line)[0].split()) for line in assembly.splitlines()]
    for text, after in pairwise([*texts, ""]):
        if text.endswith(":") and not text.startswith("."):
            lines = functions.setdefault(text[:-1], [])
        elif text and (
            not text.startswith(".") or text.endswith(":") or (text in SEVERAL and after.startswith(".LBB"))
        ):
            lines.append(text)
    return functions


def count_instructions(functions: dict[str, list[str]], name: str, trips: int) -> int:
    """Instructions that a call executes, those of what it calls included. All is straight line but loops that run
    `trips` times: what lies between a label and a jump back to it."""

    def count(called: str) -> int:
        total, begin = 0, {}
        for line in functions[called]:
            if line.endswith(":"):
                begin[line[:-1]] = total
                continue
            word, *operands = line.replace(",", " ").split()
            total += SEVERAL.get(line, SEVERAL.get(word, 1))
            to = operands[-1] if operands else ""
            if to in functions:
                total += count(to)
            elif to in begin:
                total += (trips - 1) * (total - begin[to])
        return total

    return count(name)


# What moves the stack pointer: Arm's lists of registers, differences, and stores that move it by themselves.
LISTED = re.compile(r"(v?)(push|pop)(?:\.w)? \{(.*)\}")
MOVED = re.compile(r"(sub|add|addi)[wq]?(?:\.w)? (?:sp, )?(?:sp, )?[#$]?(-?\w+)(?:, (%rsp|lsl #12))?")
STORED = re.compile(r"(?:st|ld)\w+ .*\[sp(?:, #(-\d+)\]!|\], #(\d+))")
LOADED = re.compile(r"(lui|li|addi|mov\w*) (\w+), (?:\w+, )?#?(-?\d+)")


def count_stack(functions: dict[str, list[str]], name: str) -> int:
    """Bytes of stack that a call takes, those of what it calls included; on x86 with return addresses."""

    def depth(called: str) -> int:
        now = most = 0
        held: dict[str, int] = {}  # by registers, of frames too large for one instruction
        for line in functions[called]:
            word, *operands = line.replace(",", " ").split()
            if found := LISTED.fullmatch(line):
                listed = found[3].split(", ")
                now += (-1 if found[2] == "pop" else 1) * sum(8 if x[0] == "d" else 4 for x in listed)
            elif word in ("pushq", "popq"):
                now += 8 if word == "pushq" else -8
            elif (found := MOVED.fullmatch(line)) and ("sp," in line or found[3] == "%rsp"):
                size = held[found[2]] if found[2] in held else int(found[2], 0)
                now += (1 if found[1] == "sub" else -1) * (size << 12 if found[3] == "lsl #12" else size)
            elif found := STORED.fullmatch(line):
                now -= int(found[1] or found[2])
            elif found := LOADED.fullmatch(line):
                size = int(found[3]) << 12 if found[1] == "lui" else int(found[3])
                held[found[2]] = size + (held.get(found[2], 0) if found[1] == "addi" else 0)
            most = max(most, now)
            if operands and operands[-1] in functions:
                most = max(most, now + (8 if word == "callq" else 0) + depth(operands[-1]))
        return most

    return depth(name)


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
