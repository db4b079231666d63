"""dalembert firmware: a robot's control law as code for a chip."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.control import read_controller
from dalembert.apps.cli.option_table import POSITIVE
from dalembert.apps.cli.options import ROBOT, command, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.control import Controller
    from dalembert.firmware import Firmware
    from dalembert.robot import Robot


@command
def firmware(
    robot: str = ROBOT,
    controller: str = pick("controller", "computed-torque"),
    cpu: str = pick("cpu", "c"),
    omega: float = pick("omega", 10.0),
    zeta: float = pick("zeta", 1.0),
    dt: float = pick("dt", 1e-3),
    q0: str | None = pick("q0", shown="home"),
    to: str | None = pick("to"),
    move: float = pick("move", 2.0, type=POSITIVE),
    limits: tuple[str, ...] = pick("limits"),
    positions_only: bool = pick("positions-only"),
    cutoff: float | None = pick("cutoff", shown="no filter"),
    gain: float | None = pick("gain", type=POSITIVE, shown="no observer"),
    double: bool = pick("double"),
    name: str | None = pick("name", shown="robot and controller"),
    out: str | None = pick("output", shown="a folder with the name of the function"),
) -> None:
    """Write a controller as code for a microcontroller: one function step(state, in, out).

    The folder has an object file, C99, a header, an example with a self-test, CMakeLists.txt and a README with sizes,
    operations, ranges and errors. The code is in float32, without allocation, libraries or branches that depend on
    data. The time between two calls is --dt. With --to the motion is compiled in, without it the reference is an input.
    --gain adds an observer of contacts, --cutoff a filter of the velocities. --limits torque clips torques, and
    --limits flash=32 raises an error if the code takes more than 32 KiB.

    \b
    Examples: dalembert firmware panda --controller computed-torque --cpu cortex-m4 -o panda
              dalembert firmware ur5e --controller pid --cpu riscv32 --limits torque --positions-only --cutoff 80
              dalembert firmware scara --controller pd-gravity --cpu cortex-m7 --to 0.5,0.5,0.05,0 --move 1.5
    """
    from dalembert.firmware import make_firmware
    from dalembert.firmware.cores import KIBI

    if to is None:
        output.refuse_idle("it belongs to a motion, and there is no --to", "q0", "move")
    output.refuse_idle("the code is for the robot without a payload, as controllers know it", "payload")
    bounded = output.limits(limits, ("torque", "flash"))
    flash = output.some_numbers("limits", bounded["flash"]) if "flash" in bounded else None
    arm = output.load(robot, several=True)
    start = output.positions("q0", q0, arm, within=True) or arm.home.tolist()
    goal = output.goal("to", to, arm)
    with waiting("compiling"):
        law = _make_controller(arm, controller, omega, zeta, goal is not None)
        made = make_firmware(
            arm,
            law,
            cpu,
            sample_time=dt,
            reference=None if goal is None else _motion(arm, start, goal, move),
            torque_limits="robot" if "torque" in bounded else None,
            rates=not positions_only,
            lag=0.0 if cutoff is None else 1 / (2 * math.pi * cutoff),
            observer=gain,
            double=double,
            flash=None if flash is None else int(flash[0] * KIBI),
            name=name,
        )
        files = [str(path) for path in made.write(out or made.name)]
    output.answer(lambda: _data(made, files), lambda: _show(made, files))


def _make_controller(arm: Robot, controller: str, omega: float, zeta: float, moves: bool) -> Controller:
    from dalembert.control.registry import CONTROLLERS

    name, compensates = read_controller(controller, CONTROLLERS)
    entry = CONTROLLERS[name]
    if not entry.settings and not entry.needs:
        output.refuse_idle(f"{name} has no gains", "omega", "zeta")
    if moves and entry.follows == "tip":
        raise click.UsageError(f"--to gives joint positions, and {name} follows the tip: leave out --to")
    return entry.make(arm, omega, zeta, q=arm.home, friction=compensates)


def _motion(arm: Robot, start: list[float], goal: list[float], move: float) -> object:
    from dalembert.trajectories import minimum_jerk

    return minimum_jerk([start[c.position] for c in arm.model.drives], goal, move)


def _data(made: Firmware, files: list[str]) -> dict[str, object]:
    step, code = made.step, made.code
    data: dict[str, object] = {"function": made.signature.declaration, "cpu": made.core.name, "files": files}
    data |= {"states": step.states, "inputs": step.inputs, "outputs": step.outputs, "sample_time": step.h}
    if code is not None:
        data |= {"flash": code.size, "operations": step.kernel.operations, "undefined": code.undefined}
    found = {"float32_errors": made.float32_errors[1], "float32_bound": made.float32_bound.bounds[-1]}
    return data | {"box": made.box, **found, "left_out": made.left_out}


def _show(made: Firmware, files: list[str]) -> None:
    step, code = made.step, made.code
    click.echo(f"{made.signature.declaration};")
    click.echo(f"{made.core.title}: {len(step.states)} states, {len(step.inputs)} inputs, {len(step.outputs)} outputs")
    if code is not None:
        click.echo(f"{code.size} bytes of flash, {step.kernel.operations} operations per call")
    worst = output.number(float(made.float32_errors[1].max()), 2)
    proved = "no bound is proved" if made.proved is None else f"never above {output.number(made.proved, 2)}"
    click.echo(f"error of float32 in its ranges: {worst} at random states, {proved} (README.md has each)")
    for sentence in made.left_out:
        click.echo(f"left out: {sentence}")
    output.print_files(*files)
