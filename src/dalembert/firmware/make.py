"""From a robot and a law to what a chip's project takes: object file, C source, header, example, build file, README."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from dalembert.arguments import array, count, switch
from dalembert.caching import cached_property
from dalembert.compile.c_source import Signature
from dalembert.compile.float32 import Float32Error
from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.object_file import ObjectFile, make_object
from dalembert.control.controller import Controller, follows, measures, torques
from dalembert.errors import InputError, choose
from dalembert.files import whole
from dalembert.firmware.cores import CORES, KIBI, Core
from dalembert.firmware.step import SAMPLES, LawStep, read_step
from dalembert.flow import Array, Flow
from dalembert.names import identifier
from dalembert.reference import Reference
from dalembert.robot import Robot

MAX_OPERATIONS = 60_000  # operations: more would take LLVM minutes, and no chip has the memory
LONGEST = 100  # letters of a file's name
TAKEN = ("main", "example", "all", "clean", "help", "install", "package", "test")  # by main.c, its program, and CMake
STATES = 1000  # at which errors of float32 are measured
PROOF = 100_000  # operations times boxes that the proof of a bound may take, a few seconds; one box at least
# What is taken for numbers that nothing limits: positions [rad, m], rates [rad/s, m/s], accelerations, anything else.
UNLIMITED = {"rad": np.pi, "m": 1.0}
ACCELERATION, ELSE = 10.0, 1.0
NEGLIGIBLE_TORQUE = 1e-9  # [N m, N]

Box = dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Firmware:
    """A law for a core: `step(state, in, out)` as machine code (`code`, None for C alone) and as C. `box` holds the
    ranges that it is made for, by the names of `in` and of the law's own states; `left_out` says in sentences what the
    code does not do."""

    name: str
    step: LawStep
    core: Core
    kind: Kind
    box: Box
    code: ObjectFile | None
    left_out: tuple[str, ...] = ()

    @property
    def signature(self) -> Signature:
        """How C calls it."""
        return self.step.kernel.c_signature(f"{self.name}_step", self.kind is SINGLE, self.step.results)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """What is written, by the name of the file."""
        from dalembert.firmware import texts

        made = texts.texts(self)
        return {name: text.encode() for name, text in made.items()} | self._object_file()

    def _object_file(self) -> dict[str, bytes]:
        return {} if self.code is None else {f"{self.name}.o": self.code.data}

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """The files, in a folder that is made if it is not there."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "not-writable", "folder", problem=f"{str(folder)!r} cannot be written: {error.strerror}"
            ) from None
        return [
            whole(place / name, lambda file, data=data: file.write(data))  # type: ignore[misc]
            for name, data in self.files.items()
        ]

    def sample(self, count: int = STATES, seed: int = 0) -> tuple[Array, Array]:
        """(state, in) at random in the box, (count, …) each: numbers that float32 holds. What follows from other
        numbers (filters, observers) is as samples of the same `in` leave it: two, or until an observer has settled."""
        step, rng = self.step, np.random.default_rng(seed)

        def draw(names: tuple[str, ...]) -> Array:
            low, high = np.array([self.box[name] for name in names]).reshape(-1, 2).T
            return rng.uniform(low, high, (count, len(names))).astype(np.float32).astype(float)

        given = draw(step.inputs)
        state = np.zeros((count, max(len(step.states), 1)))
        own = tuple(name for name in step.states if name in self.box)
        if step.states:
            seen = step.observer
            for _ in range(2 if seen is None else math.ceil(seen.settling / seen.h) + 2):
                state = step.kernel(state, given)[0]
            state[:, [step.states.index(name) for name in own]] = draw(own)
        return state.astype(np.float32).astype(float), given

    @cached_property
    def float32_errors(self) -> tuple[Array, Array, Array]:
        """|float32 − double| of each output over random states of the box: half of them below, the largest; and the
        largest |out|.  (outputs,) each."""
        kernel = self.step.kernel
        given = self.sample()
        exact, single = (
            _last(kernel(*(x.astype(dtype) for x in given))).astype(float) for dtype in (np.float64, np.float32)
        )
        errors = np.abs(single - exact)
        return np.median(errors, axis=0), errors.max(axis=0), np.abs(exact).max(axis=0)

    @cached_property
    def ranges(self) -> Box:
        """The box, and for states that follow from other numbers (filters, observers) what samples of it leave."""
        state = self.sample()[0]
        left = {name: (float(x.min()), float(x.max())) for name, x in zip(self.step.states, state.T, strict=False)}
        return left | self.box

    @cached_property
    def float32_bound(self) -> Float32Error:
        """|float32 − exact| of each output, proved for every state of `ranges`."""
        kernel, names = self.step.kernel, (self.step.states, self.step.inputs)
        sides = {}
        for argument, part in zip(kernel.arguments, names, strict=True):
            low, high = np.array([self.ranges[name] for name in part] or [(0.0, 0.0)]).T
            sides[argument] = (low, high)
        return kernel.float32_error(sides, boxes=max(PROOF // max(kernel.operations, 1), 1))

    @property
    def proved(self) -> float | None:
        """The largest of the bounds, where it says something: less than the outputs themselves."""
        bound = float(self.float32_bound.bounds[-1].max())
        return bound if bound < self.float32_errors[2].max() else None


def _last(results: object) -> Array:
    return np.asarray(results[-1] if isinstance(results, tuple) else results)


def make_firmware(
    system: object,
    controller: object,
    cpu: str = "c",
    *,
    sample_time: float | None = None,
    reference: Reference | object = None,
    torque_limits: object = None,
    rates: bool = True,
    lag: float = 0.0,
    observer: object = None,
    double: bool = False,
    box: Mapping[str, object] | None = None,
    flash: int | None = None,
    name: str | None = None,
) -> Firmware:
    """A controller's law as `step(state, in, out)` for a core of `CORES`, or as C for any.

    It is asked every `sample_time` [s], which laws without memory may do without. What it follows comes in `in`, unless
    a `reference` is given whose formula is compiled in: a motion of few pieces, or a set point. `torque_limits`: None,
    "robot" for its efforts, a number, one per torque, or (lower, upper). Without `rates` the robot measures positions
    alone; rates are differences of them. `lag` [s] is the time constant of a filter of rates, 0 for none. `observer`:
    the gain K [1/s] of a `MomentumObserver`, or one: torques from outside are put out after those of the law.

    Numbers are float32, or double where the core has them. `box` overrides ranges, name: (low, high), that the law is
    made for; `flash` [bytes] refuses code that is larger."""
    core: Core = CORES[choose("cpu", cpu, CORES)]
    kind = _kind(core, double)
    step = read_step(
        system,
        controller,
        sample_time=sample_time,
        reference=reference,
        torque_limits=torque_limits,
        rates=rates,
        lag=lag,
        observer=observer,
    )
    most = core.flash if flash is None else count("flash", flash, 1)
    kernel, title = step.kernel, f"{step.law.name!r} of {step.flow.name!r}"
    if kernel.operations > MAX_OPERATIONS:
        raise InputError(
            "too-large",
            "controller",
            kernel.operations,
            problem=f"{title} takes {kernel.operations} operations per sample, and firmware at most {MAX_OPERATIONS}",
            remedy="Use a simpler law, or fewer joints (Robot.lock).",
        )
    called = re.sub("_+", "_", identifier(name or f"{step.flow.name}_{step.law.name}").lower()).strip("_")[:LONGEST]
    if called in TAKEN:
        raise InputError(
            "conflict",
            "name",
            called,
            problem=f"the name {called!r} belongs to a file or a target of the build",
            remedy="Pass another.",
        )
    ranges = read_box(step, box)
    made = Firmware(called, step, core, kind, ranges, None, tuple(find_left_out(system, controller, step, ranges)))
    if core.target is None:
        return made
    code = make_object(kernel.program, made.signature, core.target)
    if most is not None and code.size > most:
        raise InputError(
            "too-large",
            "flash",
            code.size,
            problem=f"{title} takes {code.size / KIBI:.1f} KiB of flash on {core.title}, which has {most / KIBI:.0f}",
            remedy="Use a simpler law, or fewer joints (Robot.lock).",
        )
    return replace(made, code=code)


class FirmwareOptions(TypedDict, total=False):
    """The keyword arguments of `make_firmware`."""

    sample_time: float | None
    reference: object
    torque_limits: object
    rates: bool
    lag: float
    observer: object
    double: bool
    box: Mapping[str, object] | None
    flash: int | None
    name: str | None


def write_firmware(
    system: object,
    controller: object,
    cpu: str = "c",
    output: str | os.PathLike[str] = "firmware",
    **options: Unpack[FirmwareOptions],
) -> Firmware:
    """Write the code of a controller for a processor into a folder.

    Parameters
    ----------
    system : Robot, Flow or another system
        What the controller moves.
    controller : controller or Law
        The controller, with its gains.
    cpu : str
        A processor of `dalembert.firmware.CORES`, or "c" for C99.
    output : str or path
        The folder. It is created if it does not exist.
    **options
        Other arguments of `make_firmware`.

    Returns
    -------
    Firmware
        The code, its size and its interface.

    Raises
    ------
    InputError
        If the controller cannot be compiled for the processor, or the folder cannot be written.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("planar-2r")
    >>> controller = dl.control.PDGravity(robot, kp=100, kd=20)
    >>> firmware = dl.write_firmware(robot, controller, cpu="cortex-m7", output="firmware")
    """
    made = make_firmware(system, controller, cpu, **options)
    made.write(output)
    return made


def find_left_out(system: object, controller: object, step: LawStep, box: Box) -> Iterator[str]:
    """Yield what a robot's model or its limits have and the code does not do."""
    if isinstance(system, Robot) and not system.loops and not system.model.curved:
        ranges = joint_ranges(step.flow) | box
        q, qd = (_draw(ranges, names) for names in (step.flow.states[: system.n], step.flow.rates))
        compensated = getattr(controller, "friction", False) is True
        if not compensated:
            yield from _torques("friction and springs of the model", system, system.friction_torque(q, qd))
        if compensated and step.observer is not None and not step.observer.observer.friction:
            yield from _torques("friction of the model in the observer", system, system.friction_torque(q, qd))
        law = step.law
        if isinstance(controller, Controller) and law.follows[: system.n] == follows(system.joint_names, 1):
            at_rest = system.gravity_torque(q)
            if compensated:
                at_rest = at_rest + system.friction_torque(q, 0 * qd)
            if law.outputs == torques(system) and law.measures == measures(system):
                yield from _torques("gravity of the model", system, at_rest - controller(0.0, q, 0 * qd, q))
    if not step.limits:
        yield "torque limits: the torques that are put out are not clipped"
    yield "joint limits: positions and rates beyond them are not detected"
    yield "NaN: an input that is NaN gives torques that are NaN, also past torque limits"


def _draw(box: Box, names: Sequence[str]) -> Array:
    """States at random in the ranges of these names, (STATES, …)."""
    low, high = np.array([box[name] for name in names]).reshape(-1, 2).T
    return np.random.default_rng(0).uniform(low, high, (STATES, len(names)))


def _torques(what: str, robot: Robot, torque: Array) -> Iterator[str]:
    """A sentence with the largest torque of each joint that has one, over random states."""
    pairs = zip(robot.model.coordinates, np.abs(torque).max(axis=0), strict=True)
    each = [f"{c.name} {x:.3g} {c.joint.effort_unit}" for c, x in pairs if x > NEGLIGIBLE_TORQUE]
    if each:
        yield f"{what}, up to {', '.join(each)} at random states in the ranges"


def _kind(core: Core, double: bool) -> Kind:
    kind = DOUBLE if switch("double", double) else SINGLE
    if kind not in core.kinds:
        able = ", ".join(name for name, other in CORES.items() if kind in other.kinds)
        raise InputError(
            "unsupported",
            "double",
            problem=f"{core.title} has no hardware for double precision",
            remedy=f"Leave out `double`, or use one of {able}.",
        )
    return kind


def read_box(step: LawStep, given: Mapping[str, object] | None = None) -> Box:
    """The ranges that a law is made for: those of the joints. States of the law that begin at zero: ±1."""
    box = joint_ranges(step.flow)
    own_states = () if step.law.start is not None else step.law.states
    made = {name: box.get(name, (-ELSE, ELSE)) for name in (*step.inputs, *own_states)}
    if step.clock == SAMPLES:
        made[SAMPLES] = (1.0, float(step.last_sample))
    for name, value in (given or {}).items():
        choose("entry of the box", name, made)
        low, high = array(f"box[{name!r}]", value, (2,)).tolist()
        if low > high:
            raise InputError(
                "wrong-order", "box", problem=f"box[{name!r}] must be (low, high), got {low:g} above {high:g}"
            )
        made[name] = (low, high)
    return made


def joint_ranges(flow: Flow) -> Box:
    """Limits of the joints, of what is wanted of them too; what nothing limits is taken as UNLIMITED has it."""
    box: Box = {}
    if flow.joints is not None:
        own = flow.joints.limits
        for k, (joint, rate, unit) in enumerate(zip(flow.states, flow.joints.rates, flow.joints.units, strict=False)):
            free = UNLIMITED.get(unit, ELSE)
            low, high, fast = (float(x[k]) if np.isfinite(x[k]) else free for x in (own.lower, own.upper, own.velocity))
            low = low if np.isfinite(own.lower[k]) else -free
            box |= {joint: (low, high), rate: (-fast, fast), f"{joint}_wanted": (low, high)}
            box |= {
                f"{joint}_wanted_rate": (-fast, fast),
                f"{joint}_wanted_acceleration": (-ACCELERATION, ACCELERATION),
            }
    return box
