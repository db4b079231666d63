"""Laws on a chip: the same bits as Python's float32 law, and sizes and instructions beside what GCC makes of the same
law's C, and of CasADi's.

equal   every bundled arm × five laws × Cortex-M4F, M7 and RISC-V, at 1,000 states each, in an emulator
sizes   bytes of code and constants, and instructions executed by a call, of the object file and of C by gcc -O2

    python benchmarks/firmware.py [equal] [sizes] [--arms panda,ur5e] [--states 1000]

Needs unicorn and pyelftools; for `sizes` arm-none-eabi-gcc, riscv64-unknown-elf-gcc and casadi.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.control.registry import CONTROLLERS
from dalembert.firmware import make_firmware
from dalembert.firmware.texts import OPTIONS
from dalembert.interchange.functions import casadi_function

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from emulator import Machine, unicorn

LAWS = ("pd-gravity", "pid", "feedforward-pd", "computed-torque", "impedance")
CHIPS = ("cortex-m4", "cortex-m7", "riscv32")
ULPS = 2.0
# What finds math.h and libm where the compiler has none of its own.
LIBRARY = {"riscv32": ["--specs=picolibc.specs"]}
# CasADi's functions are those of doubles, unless they are called otherwise.
FLOATS = "#include <math.h>\n" + "".join(f"#define {f} {f}f\n" for f in ("sin", "cos", "sqrt", "fabs", "atan2"))
CASADI = """
void step(float *state, const float *in, float *out)
{
    const casadi_real *arg[] = {state, in};
    casadi_real *res[] = RESULTS;
    f(arg, res, 0, 0, 0);
}
"""


def arms() -> list[str]:
    return [name for name in dl.robots.names() if not dl.load(name).loops]


def controller(arm: dl.Robot, law: str):
    return CONTROLLERS[law].make(arm, 10.0, 1.0, q=arm.home)


def firmware(arm: dl.Robot, law: str, cpu: str):
    return make_firmware(arm, controller(arm, law), cpu, sample_time=1e-3, torque_limits="robot", name=law)


def compare(made, states: int) -> tuple[int, float]:
    """How many numbers differ in a bit, and by how many ulps of the largest in its row at most."""
    machine, step = Machine(made.core.name, made.code.data), made.step
    state, given = (x.astype(np.float32) for x in made.sample(states))
    wanted = step.kernel(state, given)
    wanted = wanted if step.states else (state, wanted)
    bits, worst = 0, 0.0
    for k in range(states):
        found = machine.step(f"{made.name}_step", state[k], given[k], len(step.outputs))
        for a, b in zip(found, (row[k] for row in wanted), strict=True):
            bits += int(np.sum((a != b) & ~(np.isnan(a) & np.isnan(b))))
            worst = max(worst, float(np.max(np.abs(a - b), initial=0.0) / np.spacing(np.abs(b).max())))
    return bits, worst


def equal(names: list[str], states: int) -> None:
    count = wrong = 0
    print(f"{'arm':18} {'law':16} {'core':10} {'bytes':>6} {'other bits':>10} {'ulps':>6}")
    for name in names:
        arm = dl.load(name)
        for law in LAWS:
            for cpu in CHIPS:
                try:
                    made = firmware(arm, law, cpu)
                except dl.DalembertError as error:
                    print(f"{name:18} {law:16} {cpu:10} {error}"[:120])
                    break
                bits, ulps = compare(made, states)
                count, wrong = count + 1, wrong + (ulps > ULPS)
                print(f"{name:18} {law:16} {cpu:10} {made.code.size:6} {bits:10} {ulps:6.2g}", flush=True)
    print(f"{count} laws on cores at {states} states each: {wrong} beyond {ULPS:g} ulps")


def run(*command: object) -> str:
    done = subprocess.run([str(x) for x in command], check=True, capture_output=True, text=True)
    return done.stdout


def text_size(core, file: Path) -> int:
    size = core.compiler.replace("gcc", "size")
    return int(run(size, file).splitlines()[1].split()[0])


def executed(cpu: str, file: Path, function: str, made) -> int:
    """Instructions of a call, the most of five; none where the emulator lacks one: doubles of a Cortex-M7."""
    machine = Machine(cpu, file.read_bytes())
    state, given = (x.astype(np.float32) for x in made.sample(5))

    def call(k: int) -> int:
        return machine.count(lambda: machine.step(function, state[k], given[k], len(made.step.outputs)))

    try:
        return max(map(call, range(5)))
    except unicorn.UcError:
        return 0


def by_gcc(made, folder: Path) -> tuple[int, int]:
    """Bytes and instructions of the C source, by gcc -O2."""
    core, name = made.core, made.name
    compile_ = [core.compiler, *core.flags, *OPTIONS, *LIBRARY.get(core.name, ())]
    run(*compile_, "-c", folder / f"{name}.c", "-o", folder / "gcc.o")
    link = [core.compiler, *core.flags, "-nostdlib", f"-Wl,-e,{name}_step"]
    run(*link, folder / "gcc.o", "-o", folder / "gcc.elf")
    return text_size(core, folder / "gcc.o"), executed(core.name, folder / "gcc.elf", f"{name}_step", made)


def by_casadi(made, folder: Path) -> tuple[int, int, int]:
    """Bytes of CasADi's own code, with the sine of a library, and instructions."""
    core = made.core
    here = Path.cwd()
    os.chdir(folder)  # CasADi writes where it stands
    casadi_function(made.step.kernel, title="f").generate("f.c", {"casadi_real": "float"})
    os.chdir(here)
    results = "{state, out}" if made.step.states else "{out}"
    text = f'{FLOATS}#include "f.c"\n' + CASADI.replace("RESULTS", results)
    (folder / "casadi.c").write_text(text)
    options = ["-O2", "-fno-math-errno", "-ffunction-sections", "-fdata-sections", *LIBRARY.get(core.name, ())]
    compile_ = [core.compiler, *core.flags, *options, folder / "casadi.c", "-nostartfiles", "-Wl,--gc-sections"]
    run(*compile_, "-Wl,-e,f", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all", "-o", folder / "own.elf")
    run(*compile_, "-Wl,-e,f", "-lm", "-o", folder / "whole.elf")
    run(*compile_, "-Wl,-e,step", "-lm", "-o", folder / "step.elf")
    own, whole = (text_size(core, folder / file) for file in ("own.elf", "whole.elf"))
    return own, whole, executed(core.name, folder / "step.elf", "step", made)


def sizes(names: list[str]) -> None:
    heads = f"{'ours':>16} {'gcc -O2':>15} {'CasADi, gcc -O2':>17} {'with sinf':>10}"
    print(f"{'arm':10} {'law':16} {'core':10} {heads}")
    for name in names:
        arm = dl.load(name)
        for law in LAWS:
            for cpu in CHIPS:
                made = firmware(arm, law, cpu)
                with tempfile.TemporaryDirectory() as temporary:
                    folder = Path(temporary)
                    made.write(folder)
                    (folder / "ours.o").write_bytes(made.code.data)
                    ours = made.code.size, executed(cpu, folder / "ours.o", f"{made.name}_step", made)
                    gcc, casadi = by_gcc(made, folder), by_casadi(made, folder)
                print(
                    f"{name:10} {law:16} {cpu:10} {ours[0]:7} {ours[1]:6}   {gcc[0]:7} {gcc[1]:6}   "
                    f"{casadi[0]:7} {casadi[2]:6} {casadi[1]:10}",
                    flush=True,
                )


def main(words: list[str]) -> None:
    warnings.simplefilter("ignore", dl.ModelWarning)
    options = {word: words[k + 1] for k, word in enumerate(words) if word.startswith("--")}
    names = options["--arms"].split(",") if "--arms" in options else None
    if "sizes" in words or "equal" not in words:
        sizes(names or ["planar-2r", "scara", "ur5e", "panda"])
    if "equal" in words or "sizes" not in words:
        equal(names or arms(), int(options.get("--states", 1000)))


if __name__ == "__main__":
    main(sys.argv[1:])
