"""Machine code and C of laws, run in an emulator: the bits of Python's float32 law, in constant time."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import compile_function
from dalembert.compile.kinds import DOUBLE
from dalembert.compile.object_file import make_object
from dalembert.control.registry import CONTROLLERS
from dalembert.firmware import CORES, make_firmware
from dalembert.firmware.step import read_step
from errors import raises

EMULATED = ("cortex-m4", "cortex-m7", "cortex-m33", "riscv32", "riscv64", "aarch64")
LAWS = ("pd-gravity", "pid", "feedforward-pd", "computed-torque", "impedance")
ARMS = [name for name in dl.robots.names() if not dl.load(name).loops]
# A filter, limits, a motion compiled in and an observer.
MAX_STACK_BYTES = 8192  # of one call: a task's default stack on small systems
ALL = {"rates": False, "lag": 0.005, "torque_limits": 40.0, "observer": 30.0}


def made(robot: str, law: str, cpu: str, **more: object):
    arm = dl.load(robot)
    return make_firmware(arm, CONTROLLERS[law].make(arm, 10.0, 1.0, q=arm.home), cpu, sample_time=1e-3, **more)


def expected(firmware, state, given):
    found = firmware.step.kernel(state, given)
    return found if firmware.step.states else (state, found)


def same(a, b) -> bool:
    """Every bit, whatever NaN it is."""
    return bool(np.all((a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")) | (np.isnan(a) & np.isnan(b))))


def check(firmware, states: int, double: bool = False) -> None:
    emulator = pytest.importorskip("emulator")
    machine = emulator.Machine(firmware.core.name, firmware.code.data)
    state, given = (x.astype("f8" if double else "f4") for x in firmware.sample(states))
    wanted = expected(firmware, state, given)

    def run(k: int):
        return machine.step(f"{firmware.name}_step", state[k], given[k], len(firmware.step.outputs))

    for k in range(states):
        for a, b in zip(run(k), wanted, strict=True):
            assert same(a, b[k]), (firmware.name, firmware.core.name, k)
    assert len({machine.count(lambda k=k: run(k)) for k in range(3)}) == 1, "instructions depend on the state"
    assert machine.stack(lambda: run(0)) <= MAX_STACK_BYTES


@pytest.mark.parametrize("cpu", EMULATED)
@pytest.mark.parametrize("law", ["pid", "computed-torque"])
def test_bits_and_constant_time(cpu, law):
    check(made("planar-2r", law, cpu, **ALL), 30)


@pytest.mark.parametrize("cpu", ["riscv64", "aarch64"])
def test_doubles(cpu):
    check(made("scara", "computed-torque", cpu, double=True), 30, double=True)


@pytest.mark.parametrize("cpu", ["cortex-m4", "riscv32"])
def test_odd_numbers(cpu):
    """Infinite, NaN, too large an angle, signed zeros; what is subnormal is kept as on a desk."""
    emulator = pytest.importorskip("emulator")
    firmware = made("planar-2r", "pid", cpu, torque_limits=40.0)
    machine = emulator.Machine(cpu, firmware.code.data)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, 3e38, 1e-40, -1e-45]
    for k, x in enumerate(odd):
        state, given = np.full(2, odd[k - 1], np.float32), np.resize(odd[k:] + odd[:k], 8).astype(np.float32)
        given[0] = x
        with np.errstate(all="ignore"):
            wanted = expected(firmware, state, given)
        for a, b in zip(machine.step(f"{firmware.name}_step", state, given, 2), wanted, strict=True):
            assert same(a, b), x


@pytest.mark.parametrize("cpu", EMULATED)
def test_a_state_is_read_before_it_is_written_over(cpu):
    """A rotation of three numbers in place."""
    emulator = pytest.importorskip("emulator")
    rotation = compile_function(
        lambda z, x: ([z[2], z[0], z[1] + x[0]], [z[0]]), [(3,), (1,)], [(3,), (1,)], arguments=("state", "in")
    )
    signature = rotation.c_signature("step", float32=True, results=("state", "out"))
    made = make_object(rotation.program, signature, CORES[cpu].target)
    state, given = np.array([1, 2, 3], np.float32), np.array([10], np.float32)
    after, out = emulator.Machine(cpu, made.data).step("step", state, given, 1)
    assert after.tolist() == [3, 1, 12] and out.tolist() == [1]


@pytest.mark.long
@pytest.mark.parametrize("name", ARMS)
def test_every_arm_every_law(name):
    """1,000 states each are compared by benchmarks/firmware.py."""
    for law in LAWS:
        for cpu in ("cortex-m4", "cortex-m7", "riscv32"):
            try:
                firmware = made(name, law, cpu, torque_limits="robot")
            except dl.DalembertError as error:
                assert law == "impedance", error  # which needs as many joints as it has rows
                continue
            check(firmware, 100)


@pytest.mark.parametrize("cpu", [name for name in CORES if name != "c"])
def test_nothing_else_is_needed(cpu):
    """No libm, no memcpy, no help of a compiler; and nothing but the function is to be seen."""
    firmware = made("scara", "impedance", cpu, **ALL)
    assert firmware.code.undefined == ()
    assert firmware.code.size < 12_000


def test_what_is_needed_would_be_noticed():
    """The sum of doubles on a core without them."""
    kernel = read_step(
        dl.load("planar-1r"), dl.control.PD(dl.load("planar-1r"), kp=1.0, kd=1.0), sample_time=None
    ).kernel
    found = make_object(kernel.program, kernel.c_signature("step"), CORES["cortex-m4"].target)
    assert kernel.c_signature("step").kind is DOUBLE and "__aeabi_dadd" in found.undefined


# ------------------------------------------------------------------------------------------------------------ as built
@pytest.mark.skipif(not shutil.which("gcc") or sys.platform != "linux", reason="no gcc for Linux on this machine")
@pytest.mark.parametrize("cpu", ["c", "x86-64"])
def test_c_and_objects_on_this_machine(cpu, tmp_path):
    if cpu == "x86-64" and not {"fma", "avx2"} <= set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip("this machine has no FMA")
    firmware = made("ur5e", "pid", cpu, **ALL)
    firmware.write(tmp_path)
    source = f"{firmware.name}.{'c' if cpu == 'c' else 'o'}"
    strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
    build = ["gcc", *strict, "-shared", "-fPIC", source, "main.c", "-o", "law.so", "-lm"]
    subprocess.run(build, check=True, cwd=tmp_path, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "law.so"))
    assert library.main() == 0
    state, given = (x.astype(np.float32) for x in firmware.sample(50))
    wanted = expected(firmware, state, given)
    out = np.empty(len(firmware.step.outputs), np.float32)
    for k in range(50):
        getattr(library, f"{firmware.name}_step")(*(ctypes.c_void_p(x.ctypes.data) for x in (state[k], given[k], out)))
        assert same(state[k], wanted[0][k]) and same(out, wanted[1][k])


@pytest.mark.long
@pytest.mark.parametrize("source", ["object", "C"])
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m7", "cortex-m33", "riscv32", "riscv64"])
def test_the_example_builds_and_passes_on_the_chip(cpu, source, tmp_path):
    emulator = pytest.importorskip("emulator")
    core = CORES[cpu]
    for tool in ("cmake", core.compiler):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} on this machine")
    if source == "C" and cpu.startswith("riscv"):
        pytest.skip("Debian's compiler for RISC-V comes without math.h")
    made("panda", "pid", cpu, **ALL).write(tmp_path)
    for command in (["-B", "build", f"-DFROM_SOURCE={'ON' if source == 'C' else 'OFF'}", "."], ["--build", "build"]):
        done = subprocess.run(["cmake", *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    assert emulator.Machine(cpu, (tmp_path / "build" / "example").read_bytes()).start("main") == 0


def test_the_self_test_notices_a_wrong_number(tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    firmware = made("planar-2r", "pid", "c")
    firmware.write(tmp_path)
    text = (tmp_path / f"{firmware.name}.c").read_text()
    changed = text.replace("out[1] = ", "out[1] = 1.0f + ")
    assert changed != text
    (tmp_path / f"{firmware.name}.c").write_text(changed)
    subprocess.run(["gcc", f"{firmware.name}.c", "main.c", "-o", "example", "-lm"], check=True, cwd=tmp_path)
    assert subprocess.run([tmp_path / "example"]).returncode == 3  # of three states


# -------------------------------------------------------------------------------------------------------------- files
def test_a_frame_too_large_for_one_instruction():
    firmware = made("panda", "impedance", "riscv64", double=True)
    emulator = pytest.importorskip("emulator")
    state, given = firmware.sample(1)
    machine = emulator.Machine(firmware.core.name, firmware.code.data)
    name, outputs = f"{firmware.name}_step", len(firmware.step.outputs)
    assert machine.stack(lambda: machine.step(name, state[0], given[0], outputs)) > 2048
    check(firmware, 3, double=True)


def test_files_and_what_they_say(tmp_path):
    firmware = made("planar-2r", "pid", "cortex-m4", torque_limits=(-5.0, 4.0), name="My arm: π!")
    paths = firmware.write(tmp_path / "deep" / "folder")
    assert {p.name for p in paths} == {"my_arm.h", "my_arm.c", "my_arm.o", "main.c", "CMakeLists.txt", "README.md"}
    text = {p.suffix: p.read_bytes() for p in paths if p.suffix in (".h", ".md")}
    header, readme = (text[suffix].decode() for suffix in (".h", ".md"))
    assert "void my_arm_step(float *state, const float *in, float *out);" in header
    assert "MY_ARM_IN_JOINT2_WANTED_RATE = 7," in header and "#define MY_ARM_STATES 2" in header
    code = firmware.code
    for words in (f"{code.size} bytes of flash", f"{firmware.step.kernel.operations} operations"):
        assert words in header and words in readme
    assert "| 0 | joint1 | -3.14159 … 3.14159 |" in readme and "| 1 | joint2_torque | 5 |" in readme


def test_names_that_c_takes_for_the_same():
    from dalembert.firmware.texts import _numbered

    assert _numbered("X", ("a-b", "a_b", "a b")) == "enum {\n    X_A_B = 0,\n    X_A_B_1 = 1,\n    X_A_B_2 = 2,\n};\n"
    assert _numbered("X", ("a_2", "a", "A")) == "enum {\n    X_A_2 = 0,\n    X_A = 1,\n    X_A_2_2 = 2,\n};\n"


def test_errors_of_float32_are_measured_within_the_box():
    firmware = made("ur5e", "pd-gravity", "c", box={"elbow_joint": (0.1, 0.2)})
    _, given = firmware.sample(100)
    elbow = given[:, firmware.step.inputs.index("elbow_joint")]
    assert elbow.min() > 0.0999 and elbow.max() < 0.2001
    median, largest, size = firmware.float32_errors
    assert ((median > 0) & (median < largest) & (largest < 1e-5 * size.max())).all()
    bound = firmware.float32_bound.bounds[-1]
    assert ((bound >= largest) & (bound < 300 * largest)).all()
    assert f"| {bound[0]:.2g} |" in firmware.files["README.md"].decode()
    assert f"at most {bound.max():.2g}, proved" in firmware.files[f"{firmware.name}.h"].decode()


def test_a_bound_covers_states_of_filters_and_says_where_there_is_none():
    firmware = made("planar-2r", "pid", "c", rates=False, lag=0.01)
    assert set(firmware.ranges) >= set(firmware.step.states)
    assert np.isfinite(firmware.float32_bound.bounds[-1]).all()
    none = made("planar-2r", "impedance", "c")
    assert "no bound is proved" in none.files[f"{none.name}.h"].decode()
    assert "which may be zero" in none.files["README.md"].decode()


# ------------------------------------------------------------------------------------------------------------ refused
def test_wrong_words(tmp_path):
    with raises(dl.UnknownNameError, "unknown-name"):
        made("planar-2r", "pid", "z80")
    with raises(dl.InputError, "unsupported double"):
        made("planar-2r", "pid", "cortex-m4", double=True)
    with raises(dl.InputError, "too-large flash"):
        made("panda", "computed-torque", "cortex-m4", flash=2048)
    with raises(dl.UnknownNameError, "unknown-name"):
        made("planar-2r", "pid", "c", box={"elbow": (0, 1)})
    with raises(dl.InputError, "wrong-order box"):
        made("planar-2r", "pid", "c", box={"joint1": (2, 1)})
    (tmp_path / "file").touch()
    with raises(dl.InputError, "not-writable folder"):
        made("planar-2r", "pid", "c").write(tmp_path / "file")


def test_a_law_too_large_for_any_chip(monkeypatch):
    from dalembert.firmware import make

    monkeypatch.setattr(make, "MAX_OPERATIONS", 100)
    with pytest.raises(dl.InputError, match="takes .* operations per sample, .* at most 100"):
        made("ur5e", "computed-torque", "c")


def test_an_observer_is_measured_when_it_has_settled():
    """Without rates it shows zeros for a while, whose error says nothing."""
    firmware = made("planar-2r", "pid", "c", rates=False, observer=30.0)
    median, _, size = firmware.float32_errors
    assert firmware.step.outputs[2].endswith("_external")
    assert np.all(size[2:] > 0) and np.all(median[2:] > 0) and np.all(firmware.float32_bound.bounds[-1][2:] > 0)


def test_torques_within_limits_have_a_bound_far_below_them():
    firmware = made("panda", "pid", "c", torque_limits="robot")
    assert firmware.float32_bound.bounds[-1].max() < 1e-3


def test_how_long_samples_are_counted_is_said():
    arm = dl.load("planar-2r")
    endless = dl.trajectories.spline([[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]], [0.0, 0.5, 1.0], ends="periodic")
    law = dl.control.PDGravity(arm, kp=30.0, kd=5.0)
    beats = dl.trajectories.sines([[0.1, 0.1], [0.2, 0.1]], [1.0, np.sqrt(2)])  # which have no period
    slow = dl.trajectories.sines([0.1, 0.2], 1 / (2 * np.pi))
    for motion, says in (
        (endless, "Samples are counted up to 1000 (1 s), where the motion is where it was, and from 1 on again."),
        (slow, "up to 169646 (169.646 s), where the motion is where it was, and from 1 on again; the motion is off by"),
        (beats, "Samples are counted up to 921811 (0.256 h); then time stands still"),  # at 8192 rad
    ):
        firmware = make_firmware(arm, law, sample_time=1e-3, reference=motion)
        for name in (f"{firmware.name}.h", "README.md"):
            assert says in " ".join(firmware.files[name].decode().replace(" * ", " ").split())
    ends = dl.trajectories.minimum_jerk(arm.home, arm.home + 1.0, 1.0)
    assert "are counted" not in make_firmware(arm, law, sample_time=1e-3, reference=ends).files["README.md"].decode()


def test_names_of_files(tmp_path):
    arm = dl.load("planar-2r")
    law = dl.control.PDGravity(arm, kp=30.0, kd=5.0)
    for name in ("main", "Example", "clean"):
        with raises(dl.InputError, "conflict name"):
            make_firmware(arm, law, name=name)
    assert make_firmware(arm, law, name=300 * "x").write(tmp_path)
