"""Drives as data: what they are told (volts, a command), what state they keep, what torque they make.

One row of `KINDS` per drive. A drive's functions take any scalar, and NumPy arrays: w is the speed of its shaft
[rad/s], u its input, `state` what it remembers (the armature current, a pressure force; often nothing).
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from dalembert import scalar
from dalembert.arguments import number, settle_numbers
from dalembert.errors import InputError, ModelWarning, choose, unknown

Scalar = Any
Scalars = Sequence[Scalar]

# Data sheets give K_T and K_m with two or three digits; SI units make them the same number.
CONSTANTS_AGREE = 0.02
# Of a current limit: a current that exceeds it by less is kept where it is, one that exceeds it by more is led back
# with L/R. Without this slack an integrator would meet the full voltage again with every rounding below the limit.
SLACK = 1e-3


SHAFT = {"damping": "N m s/rad", "inertia": "kg m²"}  # what every drive has, not below zero


def clip(x: Scalar, bound: float | None) -> Scalar:
    """x within ±bound; NaN stays NaN."""
    if bound is None or bound == math.inf:
        return x
    return scalar.clip(x, -bound, bound)


@dataclass(frozen=True)
class Powers:
    """Where a drive's power goes [W], at its shaft's speed: supply = heat + conversion + mechanical + d(stored)/dt."""

    supply: Scalar
    heat: Scalar
    conversion: Scalar
    mechanical: Scalar
    stored: Scalar  # [J]


class Motor(ABC):
    """A drive: inertia J_m [kg m²] and viscous damping B [N m s/rad] of its shaft, and the torque on it."""

    inertia: float
    damping: float

    @property
    @abstractmethod
    def input(self) -> str:
        """What it is told: a "voltage" [V], a "torque" [N m] or a "command"."""

    @property
    @abstractmethod
    def states(self) -> tuple[str, ...]:
        """What it remembers: its "current" [A], its "force" [N or N m], or nothing."""

    @abstractmethod
    def torque(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        """The torque on the shaft [N m], before bearing friction."""

    @abstractmethod
    def rates(self, state: Scalars, w: Scalar, u: Scalar) -> list[Scalar]:
        """d(state)/dt."""

    def powers(self, state: Scalars, w: Scalar, u: Scalar) -> Powers:
        """Where its power goes: all of it to the shaft, unless a kind says otherwise."""
        power = self.torque(state, w, u) * w
        return Powers(power, 0.0, 0.0, power, 0.0)

    @abstractmethod
    def settled(self, before: Scalars, state: Scalars, w: Scalar) -> list[Scalar]:
        """The state brought back within its limits, after a step from `before` that overshot them."""

    @abstractmethod
    def input_for(self, torque: float, w: float) -> tuple[float, list[float]]:
        """(input, state) that keep up this torque at this speed, limits left aside."""

    @abstractmethod
    def resting_torque(self, u: float) -> float:
        """The torque that it ends up with at rest, at a constant input, limits counted."""

    @property
    def total_damping(self) -> float:
        """B_m: all that opposes the shaft's speed at a constant input [N m s/rad]; its bearings alone, unless a kind
        says otherwise."""
        return self.damping


@dataclass(frozen=True)
class DCMotor(Motor):
    """L di/dt = v − R i − K_m θ̇_m,   torque K_T i.  [Lee].

    `resistance` R [Ω], `torque_constant` K_T [N m/A], `back_emf` K_m [V s/rad] (K_T if not given), `inductance` L [H],
    `damping` B of the bearings [N m s/rad], `inertia` J_m of the rotor [kg m²], `max_voltage` [V], `max_current` [A].
    With L = 0 the current follows at once, i = (v − K_m θ̇_m)/R, and is no state (`reduced`). At the current limit the
    supply lowers its voltage so that the current stays there, as far as its own ±`max_voltage` go: a motor driven
    faster than that has a current beyond the limit, as a generator."""

    resistance: float
    torque_constant: float
    back_emf: float | None = None
    inductance: float = 0.0
    damping: float = 0.0
    inertia: float = 0.0
    max_voltage: float | None = None
    max_current: float | None = None

    def __post_init__(self) -> None:
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)
        settle_numbers(
            self,
            "a DCMotor",
            above={"torque_constant": "N m/A", "back_emf": "V s/rad", "resistance": "Ω"},
            least={"inductance": "H", **SHAFT},
            most={"max_voltage": "V", "max_current": "A"},
        )
        K_T, K_m = self.torque_constant, self.K_m
        if K_T / K_m > 1 + CONSTANTS_AGREE:
            warnings.warn(
                f"a DCMotor with torque constant {K_T:g} N m/A and back-EMF constant {K_m:g} V s/rad makes more "
                "mechanical power than it takes from its supply; in SI units the two are equal",
                ModelWarning,
                stacklevel=3,
            )

    @property
    def K_m(self) -> float:
        assert self.back_emf is not None  # filled above
        return self.back_emf

    @property
    def voltage_limit(self) -> float:
        return math.inf if self.max_voltage is None else self.max_voltage

    @property
    def current_limit(self) -> float:
        return math.inf if self.max_current is None else self.max_current

    @property
    def input(self) -> str:
        return "voltage"

    @property
    def states(self) -> tuple[str, ...]:
        return ("current",) if self.inductance else ()

    def reduced(self) -> DCMotor:
        """The same motor without inductance: the electrical time constant is neglected."""
        return replace(self, inductance=0.0)

    def current(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        """The armature current [A]."""
        return state[0] if self.inductance else (self.voltage(state, w, u) - self.K_m * w) / self.resistance

    def torque(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        return self.torque_constant * self.current(state, w, u)

    def rates(self, state: Scalars, w: Scalar, u: Scalar) -> list[Scalar]:
        if not self.inductance:
            return []
        return [(self.voltage(state, w, u) - self.resistance * state[0] - self.K_m * w) / self.inductance]

    def voltage(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        """What is applied to the armature [V]: u, where the current is at its limit no more than keeps it there or
        leads it back, and in the end within what the supply has."""
        v, bound = u, self.current_limit
        if bound < math.inf and self.inductance:
            i = state[0]
            keeping = self.K_m * w + self.resistance * clip(i, (1.0 + SLACK) * bound)
            lowered, raised = scalar.where(u > keeping, keeping, u), scalar.where(u < keeping, keeping, u)
            v = scalar.where(i >= bound, lowered, scalar.where(i <= -bound, raised, u))
        elif bound < math.inf:
            most, least = self._keeping(w)
            v = scalar.where(u > most, most, scalar.where(u < least, least, u))
        return clip(v, self.voltage_limit)

    def _keeping(self, w: Scalar) -> tuple[Scalar, Scalar]:
        """K_m θ̇_m ± R i_max: the voltages that keep the current at its limits [V]."""
        drop = self.resistance * self.current_limit
        return self.K_m * w + drop, self.K_m * w - drop

    def powers(self, state: Scalars, w: Scalar, u: Scalar) -> Powers:
        i = self.current(state, w, u)
        return Powers(
            supply=self.voltage(state, w, u) * i,
            heat=self.resistance * (i * i),
            conversion=(self.K_m - self.torque_constant) * (i * w),
            mechanical=self.torque_constant * (i * w),
            stored=0.5 * self.inductance * (i * i),
        )

    def settled(self, before: Scalars, state: Scalars, w: Scalar) -> list[Scalar]:
        """Where the supply could have kept the current at its limit, it has; beyond it already, it falls by itself."""
        if not self.inductance or self.current_limit == math.inf:
            return list(state)
        most, least = self._keeping(w)
        i, was, bound = state[0], before[0], self.current_limit
        top = scalar.where(was > bound, i, scalar.where(most < -self.voltage_limit, i, bound))
        bottom = scalar.where(was < -bound, i, scalar.where(least > self.voltage_limit, i, -bound))
        return [scalar.where(i > top, top, scalar.where(i < bottom, bottom, i))]

    def input_for(self, torque: float, w: float) -> tuple[float, list[float]]:
        i = torque / self.torque_constant
        return self.resistance * i + self.K_m * w, [i] if self.inductance else []

    def resting_torque(self, u: float) -> float:
        return float(self.steady_torque(u, 0.0))

    @property
    def total_damping(self) -> float:
        """B_m = B + K_T K_m / R: mechanical and electrical damping.  [Lee]."""
        return self.damping + self.torque_constant * self.K_m / self.resistance

    # ------------------------------------------------------------------------------------------- steady state
    def steady_torque(self, voltage: Scalar, speed: Scalar) -> Scalar:
        """The torque–speed curve: what the shaft gives at constant speed, K_T i − B θ̇_m [N m]."""
        motor = self.reduced() if self.inductance else self
        return motor.torque((), speed, voltage) - self.damping * speed

    def stall_torque(self, voltage: float | None = None) -> Scalar:
        """K_T v / R at rest [N m], as far as the limits allow; at the largest voltage if none is given."""
        return self.steady_torque(self._voltage(voltage), 0.0)

    def no_load_speed(self, voltage: float | None = None) -> Scalar:
        """K_T v / (R B + K_T K_m) [rad/s]: where the torque–speed curve crosses zero. A current limit changes nothing
        here unless the bearings alone reach it, which limits the speed to K_T i_max / B."""
        v = clip(self._voltage(voltage), self.voltage_limit)
        w = self.torque_constant * v / (self.resistance * self.total_damping)
        return clip(w, self.torque_constant * self.current_limit / self.damping) if self.damping else w

    def efficiency(self, voltage: Scalar, speed: Scalar) -> Scalar:
        """Shaft power over electrical power at constant speed; 0 where the motor does not drive."""
        motor = self.reduced() if self.inductance else self
        shaft = self.steady_torque(voltage, speed) * speed
        supply = motor.powers((), speed, voltage).supply
        driving = scalar.where(shaft > 0.0, shaft, 0.0)
        return scalar.where(supply > 0.0, driving / scalar.where(supply > 0.0, supply, 1.0), 0.0)

    def _voltage(self, voltage: float | None) -> Scalar:
        if voltage is not None:
            return voltage
        if self.voltage_limit == math.inf:
            raise InputError("this DCMotor has no largest voltage; say at which voltage")
        return self.voltage_limit

    @property
    def electrical_time_constant(self) -> float:
        """L / R [s]."""
        return self.inductance / self.resistance

    def mechanical_time_constant(self, load: float = 0.0) -> float:
        """(J_m + J) R / (R B + K_T K_m) [s], with a load inertia J on the shaft."""
        return (self.inertia + number("the load inertia of the shaft", load, "kg m²", least=0.0)) / self.total_damping

    def poles(self, load: float = 0.0) -> tuple[complex, ...]:
        """The poles of speed over voltage [1/s]: roots of L J s² + (R J + L B) s + R B + K_T K_m; one without L."""
        J = self.inertia + number("the load inertia of the shaft", load, "kg m²", least=0.0)
        if J == 0:
            raise InputError("poles need an inertia: give the motor one, or a load")
        R, L, B = self.resistance, self.inductance, self.damping
        c = R * self.total_damping
        if not L:
            return (complex(-c / (R * J)),)
        a, b = L * J, R * J + L * B
        root = complex(b * b - 4 * a * c) ** 0.5
        far = -(b + root) / (2 * a)
        return (c / (a * far), far)  # the slow one from the product: nothing cancels


@dataclass(frozen=True)
class FluidDrive(Motor):
    """τ_f ḟ + f = gain · u,  |f| ≤ f_max,  |ḟ| ≤ rate limit: pressure that follows a valve.

    `medium` is "hydraulic" or "pneumatic", which only sets the time constant if none is given (`MEDIA`, an order of
    magnitude). f is a force [N] at a slide, a torque [N m] at a hinge. The command saturates before the lag, so the
    force never winds up beyond what the drive can give."""

    gain: float
    max_force: float
    medium: str = "hydraulic"
    time_constant: float | None = None
    max_rate: float | None = None
    damping: float = 0.0
    inertia: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.medium, str) or self.medium not in MEDIA:
            raise unknown("medium", self.medium, MEDIA)
        if self.time_constant is None:
            object.__setattr__(self, "time_constant", MEDIA[self.medium])
        settle_numbers(
            self,
            f"a {self.medium} FluidDrive",
            above={"gain": "N m per unit of input", "time_constant": "s"},
            least=SHAFT,
            most={"max_force": "N m", "max_rate": "N m/s"},
        )

    @property
    def input(self) -> str:
        return "command"

    @property
    def states(self) -> tuple[str, ...]:
        return ("force",)

    def torque(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        return state[0]

    def rates(self, state: Scalars, w: Scalar, u: Scalar) -> list[Scalar]:
        f = state[0]
        rate = (clip(self.gain * u, self.max_force) - f) / self.time_constant
        return [clip(rate, self.max_rate)]

    def settled(self, before: Scalars, state: Scalars, w: Scalar) -> list[Scalar]:
        return [clip(f, self.max_force) for f in state]

    def input_for(self, torque: float, w: float) -> tuple[float, list[float]]:
        return torque / self.gain, [torque]

    def resting_torque(self, u: float) -> float:
        return float(clip(self.gain * u, self.max_force))


@dataclass(frozen=True)
class TorqueSource(Motor):
    """An ideal drive: the torque is the input, within ±`max_torque` [N m]."""

    max_torque: float | None = None
    damping: float = 0.0
    inertia: float = 0.0

    def __post_init__(self) -> None:
        settle_numbers(self, "a TorqueSource", least=SHAFT, most={"max_torque": "N m"})

    @property
    def input(self) -> str:
        return "torque"

    @property
    def states(self) -> tuple[str, ...]:
        return ()

    def torque(self, state: Scalars, w: Scalar, u: Scalar) -> Scalar:
        return clip(u, self.max_torque)

    def rates(self, state: Scalars, w: Scalar, u: Scalar) -> list[Scalar]:
        return []

    def settled(self, before: Scalars, state: Scalars, w: Scalar) -> list[Scalar]:
        return []

    def input_for(self, torque: float, w: float) -> tuple[float, list[float]]:
        return torque, []

    def resting_torque(self, u: float) -> float:
        return float(self.torque((), 0.0, u))


# Time constants [s] of pressure behind a valve, as orders of magnitude: oil is stiff, air is not.
MEDIA = {"hydraulic": 0.01, "pneumatic": 0.1}

KINDS: dict[str, type[Motor]] = {"dc": DCMotor, "fluid": FluidDrive, "torque": TorqueSource}


def motor(kind: str, **values: float | str | None) -> Motor:
    """A drive from a row of data: its kind ("dc", "fluid", "torque") and the values by name."""
    choose("kind of drive", kind, KINDS)
    known = [field.name for field in fields(KINDS[kind])]  # type: ignore[arg-type]
    for name in values:
        choose(f"value of a {kind} drive", name, known)
    try:
        return KINDS[kind](**values)
    except TypeError:
        needed = ", ".join(f.name for f in fields(KINDS[kind]) if f.default is MISSING)  # type: ignore[arg-type]
        raise InputError(f"a {kind} drive needs {needed}") from None
