"""How a simulation is asked for, grouped by noun: what else acts on a system, its sensors, the solver, its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array, count, read_wrenches
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow
from dalembert.law import Law
from dalembert.simulation.adaptive import ADAPTIVE
from dalembert.simulation.draws import Noise
from dalembert.simulation.fixed_step import count_steps, read_seconds, whole_ratio
from dalembert.simulation.loop import NOISE
from dalembert.simulation.steps import METHODS
from dalembert.simulation.stream import Clock
from dalembert.system import Limits

SYMPLECTIC = "symplectic"  # implicit midpoint in (q, p)
MOST_ROWS = 10_000  # kept if nobody says otherwise
WHOLE = 1e-9  # of a step: times that differ by less are the same
AT_LIMITS = ("stop", "bounce", "report")

Scales = float | Sequence[float] | Mapping[str, float | Sequence[float]] | None
Wave = ArrayLike | Callable[[float], object] | None


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that acts on a system besides its controller: numbers, one row of them per step, or a function of t.

    `tau`: torques of the drives, added to the command of a controller. `wrenches`: those that act **on** the robot, by
    the name of the frame, {"tool": F}: (force [N], moment [N m]) in world axes, τ = M q̈ + c + g − Σ JᵀF. `disturbance`:
    what is added to the drives after their limits, one number per drive or by their names. `parameters`: other inputs
    and gains by name, payload.mass among them; `payload`: where it hangs at the tip [m]."""

    tau: Wave = None
    wrenches: Mapping[str, Wave] | None = None
    disturbance: Wave | Mapping[str, Wave] = None
    parameters: Mapping[str, Wave] | None = None
    payload: Sequence[float] | bool | None = None

    def __post_init__(self) -> None:
        read_wrenches(self.wrenches)


@dataclass(frozen=True, eq=False)
class Sensors:
    """How a controller sees. With `sample_time` [s] it is asked at samples, its command held, and reaches the system
    after `delay` [s]. `noise` (standard deviation, drawn from `seed`, 0) and `quantization` (the step of a sensor): a
    number for all that is measured, or by name: {"q": …, "qd": …} or states."""

    sample_time: float | None = None
    delay: float = 0.0
    noise: Scales = None
    quantization: Scales = None
    seed: int | None = None

    def sampling(self, law: Law | None, asked: bool, dt: float, adaptive: bool) -> Sampling:
        """`asked`: the law is a function in Python."""
        late = 0.0 if self.delay in (0, 0.0, None) else read_seconds("delay", self.delay)
        if law is None:
            if self.sample_time is not None or late:
                raise InputError("sample_time and delay are a controller's, and there is none")
            return Sampling()
        period = None if self.sample_time is None else read_seconds("sample_time", self.sample_time)
        always = asked and period is None and adaptive and not late
        if period is None and (asked or late):
            period = dt
        if period is None:
            if adaptive and (self.noise is not None or self.quantization is not None):
                raise InputError(
                    "noise and quantization come with samples: give sample_time=, or take a fixed-step method"
                )
            return Sampling()
        hold = 1 if adaptive else whole_ratio("sample_time", period, "dt", dt)
        return Sampling(period, hold, whole_ratio("delay", late, "sample_time", period) if late else 0, always)

    def deviations(self, law: Law | None, flow: Flow, period: float | None) -> dict[str, Noise]:
        """Noise by the name of the loop's input."""
        stds = self.per_measure("noise", self.noise, law, flow)
        names = law.measures if law is not None and stds else ()
        return {f"{NOISE}{name}": Noise(std, period) for name, std in zip(names, stds, strict=True)}

    def steps(self, law: Law | None, flow: Flow) -> tuple[float, ...] | None:
        """The quantization of each measured number."""
        return self.per_measure("quantization", self.quantization, law, flow) or None

    @staticmethod
    def per_measure(name: str, value: Scales, law: Law | None, flow: Flow) -> tuple[float, ...]:
        """A number for each measured state: one for all, or by name; nothing where nothing is given."""
        if value is None:
            return ()
        if law is None:
            raise InputError(f"{name} is a controller's sensors', and there is no controller")
        found = dict.fromkeys(law.measures, 0.0)
        groups = {"q": flow.states[: flow.n], "qd": flow.rates}
        for key, part in (value if isinstance(value, Mapping) else {"": value}).items():
            members = [m for m in groups.get(key, (key,) if key else law.measures) if m in found]
            if not members:
                raise unknown(f"measurement of {law.name!r}", key, (*groups, *law.measures))
            sizes = array(name, part, (), (len(members),), least=0.0)
            found.update(zip(members, np.broadcast_to(sizes, len(members)).tolist(), strict=True))
        return tuple(found.values())


@dataclass(frozen=True)
class Sampling:
    """`period` [s] between samples, None for a continuous law; `hold` steps each; `delay` samples; `always`: a law in
    Python is asked for every rate."""

    period: float | None = None
    hold: int = 1
    delay: int = 0
    always: bool = False


@dataclass(frozen=True, eq=False)
class Solver:
    """How a run is computed. `method`: of fixed step, the names of `METHODS`, or "symplectic"; or adaptive, "DOP853"
    ("adaptive"), "RK45", "RK23", "Radau", "BDF", "LSODA" with `rtol` (1e-8) and `atol` (1e-10) (SciPy). `iterations` of
    an implicit fixed step. `every`: that many steps from one kept row to the next; some 10,000 rows in all if not
    given. `progress`: None draws a bar on a terminal if it takes long; a function is called with the part done."""

    method: str = "rk4"
    rtol: float | None = None
    atol: ArrayLike | None = None
    iterations: int | None = None
    every: int | None = None
    progress: bool | Callable[[float], object] | None = None

    def __post_init__(self) -> None:
        choices = (*METHODS, SYMPLECTIC, *ADAPTIVE)
        if self.method not in choices:
            raise unknown("method", self.method, choices)
        if self.adaptive and self.iterations is not None:
            raise InputError(f"{self.method} chooses its own iterations: iterations= is for implicit-midpoint")
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if value is None:
                continue
            array(name, value, above=0.0)
            if not self.adaptive:
                raise InputError(
                    f"{name}= is for adaptive methods, and {self.method} takes steps of dt whatever the error: give a "
                    "shorter dt, or an adaptive method such as solver='DOP853'"
                )
        if self.every is not None:
            count("every", self.every, 1)

    @property
    def adaptive(self) -> bool:
        return self.method in ADAPTIVE

    @property
    def row(self) -> str:
        """The row of METHODS that takes the steps."""
        return "implicit-midpoint" if self.method == SYMPLECTIC else self.method

    def clock(self, duration: object, dt: object) -> Clock:
        """Return the steps of a run; the last one is shorter if `duration` is not a multiple of `dt`."""
        T, h = read_seconds("duration", duration), read_seconds("dt", dt)
        steps, rest = count_steps(T, h)
        return Clock(T, h, steps, max(-(-steps // MOST_ROWS), 1) if self.every is None else self.every, rest)


@dataclass(frozen=True, eq=False)
class JointLimits:
    """What a robot's limits do to a run. `torque`: what clips commands and given torques: "robot" for its efforts, a
    number, one per drive, or (lower, upper). `position`: where a joint reaches its limit the run is to "stop", the
    joint to "bounce" (half its speed comes back), or the step is "report"ed in `run.events`."""

    torque: object = None
    position: str | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.position not in AT_LIMITS:
            raise unknown("way with joint limits", self.position, AT_LIMITS)


Noun = TypeVar("Noun", Inputs, Sensors, Solver, JointLimits)


def read_noun(name: str, value: object, kind: type[Noun], word: str = "") -> Noun:
    """An option that is one of these nouns: nothing means its default, a string its `word`."""
    if value is None:
        return kind()
    if word and isinstance(value, str):
        return kind(**{word: value})  # type: ignore[arg-type]
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {kind.__name__}(…), got {type(value).__name__}")
    return value


def read_limits(value: object) -> JointLimits:
    """Return limits as `JointLimits`: a string says what happens at those of position, a robot's `Limits` clip torques
    at its efforts."""
    if isinstance(value, Limits):
        return JointLimits(torque=value)
    return read_noun("limits", value, JointLimits, "position")
