"""The processors that firmware is made for, one row each: what LLVM and a C compiler are told, and what people are."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.llvm import Target

KIBI = 1024
BARE = ("-nostdlib", "-Wl,-e,main", "-Wl,-z,noexecstack")  # of an example that runs without an operating system


@dataclass(frozen=True)
class Core:
    """One processor: its `name` in commands, its `title`, the `kinds` of number it computes with by itself, `compiler`
    and `flags` of GCC, those for linking the example, and the `flash` [bytes] of the largest chips that have it.
    Without a `target` there is no object file: the C source is all."""

    name: str
    title: str
    kinds: tuple[Kind, ...] = (SINGLE, DOUBLE)
    target: Target | None = None
    compiler: str = "cc"
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    flash: int | None = None


def _target(
    triple: str, cpu: str, features: str = "", masks: bool = False, reloc: str = "static", abi: str = ""
) -> Target:
    return Target(triple, cpu, features, opt=2, reloc=reloc, jit=False, masks=masks, abi=abi)


def _cortex(cpu: str, title: str, triple: str, fpu: str, kinds: tuple[Kind, ...], flash: int) -> Core:
    flags = (f"-mcpu={cpu}", "-mthumb", f"-mfpu={fpu}", "-mfloat-abi=hard")
    return Core(cpu, title, kinds, _target(triple, cpu), "arm-none-eabi-gcc", flags, BARE, flash * KIBI)


def _riscv(bits: int, title: str, kinds: tuple[Kind, ...], extensions: str, abi: str, flash: int) -> Core:
    features = ",".join(f"+{x}" for x in extensions)
    # Of 64 bits memory often begins where whole addresses do not reach: they are counted from the code.
    reloc, model = ("static", "medlow") if bits == 32 else ("pic", "medany")
    target = _target(f"riscv{bits}-unknown-elf", f"generic-rv{bits}", features, masks=True, reloc=reloc, abi=abi)
    flags = (f"-march=rv{bits}i{extensions}", f"-mabi={abi}", f"-mcmodel={model}")
    return Core(f"riscv{bits}", title, kinds, target, "riscv64-unknown-elf-gcc", flags, BARE, flash * KIBI)


_ROWS = (
    _cortex("cortex-m4", "Arm Cortex-M4F", "thumbv7em-unknown-none-eabihf", "fpv4-sp-d16", (SINGLE,), 2048),
    _cortex("cortex-m7", "Arm Cortex-M7", "thumbv7em-unknown-none-eabihf", "fpv5-d16", (SINGLE, DOUBLE), 2048),
    _cortex("cortex-m33", "Arm Cortex-M33", "thumbv8m.main-unknown-none-eabihf", "fpv5-sp-d16", (SINGLE,), 4096),
    _riscv(32, "RISC-V, 32 bits, RV32IMFC", (SINGLE,), "mfc", "ilp32f", 16384),
    _riscv(64, "RISC-V, 64 bits, RV64IMAFDC", (SINGLE, DOUBLE), "mafdc", "lp64d", 65536),
    Core(
        "aarch64",
        "Arm, 64 bits, Armv8-A",
        target=_target("aarch64-unknown-linux-gnu", "generic", reloc="pic"),
        compiler="aarch64-linux-gnu-gcc",
    ),
    Core(
        "x86-64",
        "x86, 64 bits, with AVX2 and FMA (x86-64-v3)",
        target=_target("x86_64-unknown-linux-gnu", "x86-64-v3", masks=True, reloc="pic"),
        compiler="gcc",
        flags=("-march=x86-64-v3",),
    ),
    Core("c", "any processor with a C99 compiler"),
)
CORES: dict[str, Core] = {core.name: core for core in _ROWS}
