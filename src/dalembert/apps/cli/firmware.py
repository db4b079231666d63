"""dalembert firmware: a robot's control law as code for a chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.control import OMEGA, ZETA
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, Number, command, option, vector
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.control import Controller
    from dalembert.firmware import Firmware
    from dalembert.robot import Robot


@command
def firmware(
    robot: str = ROBOT,
    law: str = option("The controller, as 'dalembert simulate' knows it.", default="computed-torque", metavar="NAME"),
    cpu: str = option("The core, as cortex-m4; c: C alone.", default="c", metavar="NAME"),
    omega: float = OMEGA,
    zeta: float = ZETA,
    sample_time: float = option("From one call to the next [s].", type=POSITIVE, default=1e-3),
    q0: str | None = vector("Where a motion begins [rad, m], 30deg for degrees; home if not given."),
    to: str | None = vector("Where it goes: it is compiled in. Without it, what is wanted is given at each call."),
    move: float = option("Seconds for the way there, of least jerk.", type=POSITIVE, default=2.0),
    compensate_friction: bool = option("Compensation of the model's friction, as 'dalembert identify' finds it."),
    torque_limits: bool = option("Torques end at the robot's efforts."),
    positions_only: bool = option("The robot measures no rates: they are made of positions."),
    lag: float = option("Time constant of a filter of rates [s]; 0: none.", type=Number(0), default=0.0),
    observer: float | None = option("Gain of an observer of contacts [1/s].", type=POSITIVE),
    double: bool = option("Doubles, where the core has them."),
    flash: int | None = option("Refuse code that takes more [KiB].", type=click.IntRange(1)),
    name: str | None = option("What the function is called; after robot and law if not given."),
    out: str | None = option("The folder; called as the function if not given.", "-o", "--out", type=click.Path()),
    tip: str | None = TIP,
) -> None:
    """Write a control law as code for a chip: one function step(state, in, out).

    Object file, C99, header, an example with a self-test, CMakeLists.txt and a README with sizes, operations, ranges
    and errors. float32, no allocation, no library, no branch that depends on data. Cores: cortex-m4, cortex-m7,
    cortex-m33, riscv32, riscv64, aarch64, x86-64; and c, for any other.

    \b
    Examples: dalembert firmware panda --law computed-torque --cpu cortex-m4 -o panda
              dalembert firmware ur5e --law pid --cpu riscv32 --torque-limits --positions-only --lag 0.002
              dalembert firmware scara --law pd-gravity --cpu cortex-m7 --to 0.5,0.5,0.05,0 --move 1.5
    """
    from dalembert.firmware import make_firmware
    from dalembert.firmware.cores import KIBI

    if to is None:
        output.refuse_idle("it belongs to a motion, and there is no --to", "q0", "move")
    arm = output.load(robot, tip, several=True)
    start = output.positions("q0", q0, arm, within=True) or arm.home.tolist()
    goal = output.goal("to", to, arm)
    with waiting("compiling"):
        controller = _controller(arm, law, omega, zeta, goal is not None, compensate_friction)
        made = make_firmware(
            arm,
            controller,
            cpu,
            sample_time=sample_time,
            reference=None if goal is None else _motion(arm, start, goal, move),
            torque_limits="robot" if torque_limits else None,
            rates=not positions_only,
            lag=lag,
            observer=observer,
            double=double,
            flash=None if flash is None else flash * KIBI,
            name=name,
        )
        files = [str(path) for path in made.write(out or made.name)]
    output.answer(lambda: _data(made, files), lambda: _show(made, files))


def _controller(arm: Robot, law: str, omega: float, zeta: float, moves: bool, friction: bool) -> Controller:
    from dalembert.control.registry import CONTROLLERS
    from dalembert.errors import choose

    entry = CONTROLLERS[choose("law", law, CONTROLLERS)]
    if not entry.settings and not entry.needs:
        output.refuse_idle(f"{law} has no gains", "omega", "zeta")
    if moves and entry.follows == "tip":
        raise click.UsageError(f"--to gives joint positions, and {law} follows the tip: give its motion at each call")
    return entry.make(arm, omega, zeta, q=arm.home, friction=friction)


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
