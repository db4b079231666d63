"""Processors in software: an object file or a program is loaded, its functions called on arrays, its instructions
counted. Needs unicorn and pyelftools."""

from __future__ import annotations

import io
import struct
from itertools import pairwise

import numpy as np
import pytest

unicorn = pytest.importorskip("unicorn", reason="no emulator on this machine: pip install unicorn")
elffile = pytest.importorskip("elftools.elf.elffile", reason="no reader of ELF files: pip install pyelftools")

from unicorn import arm64_const as arm64, arm_const as arm, riscv_const as riscv  # noqa: E402

CODE, STACK, DATA, SIZE = 0x100000, 0x1000000, 0x2000000, 0x100000
RETURN = CODE + SIZE - 0x1000


def _cortex(model):
    def prepare(uc):
        uc.reg_write(arm.UC_ARM_REG_C1_C0_2, uc.reg_read(arm.UC_ARM_REG_C1_C0_2) | 0xF << 20)
        uc.reg_write(arm.UC_ARM_REG_FPEXC, 1 << 30)

    registers = [getattr(arm, f"UC_ARM_REG_{name}") for name in ("R0", "R1", "R2", "SP", "LR")]
    mode = unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS
    return unicorn.UC_ARCH_ARM, mode, model, registers, prepare, 1


def _riscv(mode):
    def prepare(uc):
        uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, 0x6000)  # the floating-point unit is on

    registers = [getattr(riscv, f"UC_RISCV_REG_{name}") for name in ("A0", "A1", "A2", "SP", "RA")]
    return unicorn.UC_ARCH_RISCV, mode, None, registers, prepare, 0


def _arm64():
    def prepare(uc):
        uc.reg_write(arm64.UC_ARM64_REG_CPACR_EL1, 3 << 20)

    registers = [getattr(arm64, f"UC_ARM64_REG_{name}") for name in ("X0", "X1", "X2", "SP", "X30")]
    return unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM, None, registers, prepare, 0


CORES = {
    "cortex-m4": _cortex(arm.UC_CPU_ARM_CORTEX_M4),
    "cortex-m7": _cortex(arm.UC_CPU_ARM_CORTEX_M7),
    "cortex-m33": _cortex(arm.UC_CPU_ARM_CORTEX_M33),
    "riscv32": _riscv(unicorn.UC_MODE_RISCV32),
    "riscv64": _riscv(unicorn.UC_MODE_RISCV64),
    "aarch64": _arm64(),
}


class Machine:
    """A core with a file in its memory."""

    def __init__(self, core, file):
        architecture, mode, model, self.registers, prepare, self.thumb = CORES[core]
        self.uc = unicorn.Uc(architecture, mode)
        if model is not None:
            self.uc.ctl_set_cpu_model(model)
        for place in (CODE, STACK, DATA):
            self.uc.mem_map(place, SIZE)
        prepare(self.uc)
        elf = elffile.ELFFile(io.BytesIO(file))
        self.symbols = self._load_segments(elf) if elf["e_type"] == "ET_EXEC" else self._load_sections(elf)
        if "__global_pointer$" in self.symbols:  # which a linker of RISC-V counts on
            self.uc.reg_write(riscv.UC_RISCV_REG_GP, self.symbols["__global_pointer$"])

    def _load_segments(self, elf):
        for segment in elf.iter_segments("PT_LOAD"):
            first = segment["p_vaddr"] & ~0xFFF
            size = (segment["p_vaddr"] + segment["p_memsz"] - first + 0xFFF) & ~0xFFF
            self._map(first, size)
            self.uc.mem_write(segment["p_vaddr"], segment.data())
        return {s.name: s["st_value"] & ~self.thumb for s in elf.get_section_by_name(".symtab").iter_symbols()}

    def _map(self, first, size):
        for page in range(first, first + size, 0x1000):
            if not any(a <= page <= b for a, b, _ in self.uc.mem_regions()):
                self.uc.mem_map(page, 0x1000)

    def _load_sections(self, elf):
        """What a linker does: sections one after another, addresses put in."""
        at, place, self.ahead = {}, CODE, {}
        for k, section in enumerate(elf.iter_sections()):
            if section["sh_flags"] & 2 and section["sh_type"] == "SHT_PROGBITS":
                at[k], place = place, (place + section["sh_size"] + 63) & ~63
                self.uc.mem_write(at[k], section.data())
        table = elf.get_section_by_name(".symtab")
        symbols = [(s.name, at.get(s["st_shndx"], 0) + (s["st_value"] & ~self.thumb)) for s in table.iter_symbols()]
        for section in elf.iter_sections():
            if section["sh_type"] in ("SHT_REL", "SHT_RELA") and section["sh_info"] in at:
                for r in section.iter_relocations():
                    addend = r["r_addend"] if r.is_RELA() else 0
                    value = symbols[r["r_info_sym"]][1] + addend
                    self._relocate(elf["e_machine"], r["r_info_type"], at[section["sh_info"]] + r["r_offset"], value)
        return dict(symbols)

    def _ahead(self, place, value):
        self.ahead[place] = value - place
        return value - place

    def _relocate(self, machine, kind, place, value):
        if (machine, kind) == ("EM_ARM", 42):  # what unwinds the stack, which nobody does
            return
        change = {
            ("EM_ARM", 47): lambda w: _thumb_move(w, value),
            ("EM_ARM", 48): lambda w: _thumb_move(w, value >> 16),
            ("EM_RISCV", 26): lambda w: w | (value + 0x800) & 0xFFFFF000,
            ("EM_RISCV", 27): lambda w: w | (value & 0xFFF) << 20,
            ("EM_RISCV", 23): lambda w: w | (self._ahead(place, value) + 0x800) & 0xFFFFF000,
            ("EM_RISCV", 24): lambda w: w | (self.ahead[value] & 0xFFF) << 20,  # of the instruction at `value`
            ("EM_AARCH64", 275): lambda w: w | _pages(value, place),
            ("EM_AARCH64", 277): lambda w: w | (value & 0xFFF) << 10,
            ("EM_AARCH64", 285): lambda w: w | (value & 0xFFF) >> 2 << 10,
            ("EM_AARCH64", 286): lambda w: w | (value & 0xFFF) >> 3 << 10,
        }[machine, kind]
        (word,) = struct.unpack("<I", self.uc.mem_read(place, 4))
        self.uc.mem_write(place, struct.pack("<I", change(word)))

    def start(self, function, arguments=()):
        """Run a function until it returns; what it gives."""
        *given, stack, link = self.registers
        for register, value in zip(given, arguments, strict=False):
            self.uc.reg_write(register, value)
        self.uc.reg_write(stack, STACK + SIZE - 64)
        self.uc.reg_write(link, RETURN | self.thumb)
        self.uc.emu_start(self.symbols[function] | self.thumb, RETURN)
        return self.uc.reg_read(given[0])

    def step(self, function, state, given, outputs):
        """step(state, in, out) on one state: (state, out) of the arrays' own kind."""
        places = [DATA, DATA + 0x10000, DATA + 0x20000]
        kind = given.dtype
        for place, values in zip(places, (state, given), strict=False):
            self.uc.mem_write(place, values.tobytes())
        self.start(function, places)
        return tuple(
            np.frombuffer(self.uc.mem_read(place, size * kind.itemsize), kind)
            for place, size in ((places[0], len(state)), (places[2], outputs))
        )

    def count(self, run):
        """Instructions that are executed while this runs; what a condition leaves out, a chip steps over and is
        counted, though the emulator does not show it."""
        seen = []
        self.uc.ctl_flush_tb()  # what is translated already would not be seen
        hook = self.uc.hook_add(unicorn.UC_HOOK_CODE, lambda _, place, size, __: seen.append((place, size)))
        run()
        self.uc.hook_del(hook)
        return len(seen) + sum(self._left_out(a, size, b) for (a, size), (b, _) in pairwise(seen) if self.thumb)

    def stack(self, run):
        """Bytes of stack that are taken while this runs."""
        lowest = [STACK + SIZE - 64]
        self.uc.ctl_flush_tb()
        hook = self.uc.hook_add(unicorn.UC_HOOK_CODE, lambda uc, *_: lowest.append(uc.reg_read(self.registers[-2])))
        run()
        self.uc.hook_del(hook)
        return lowest[0] - min(lowest)

    def _left_out(self, before, size, after):
        """Thumb instructions between two that were executed: at most four, those of a condition, not of a jump."""
        place, found = before + size, 0
        if not 0 < after - place <= 16 or self._half(before) >> 11 == 0b11100:
            return 0
        while place < after:
            place, found = place + (4 if self._half(place) >> 11 in (0b11101, 0b11110, 0b11111) else 2), found + 1
        return found

    def _half(self, place):
        return struct.unpack("<H", self.uc.mem_read(place, 2))[0]


def _thumb_move(word, value):
    """movw, movt: 16 bits in four places; the halves of the word are swapped in memory."""
    high, low = word & 0xFFFF, word >> 16
    high |= value >> 12 & 0xF | (value >> 11 & 1) << 10
    low |= (value >> 8 & 7) << 12 | value & 0xFF
    return high | low << 16


def _pages(value, place):
    pages = (value >> 12) - (place >> 12)
    return (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
