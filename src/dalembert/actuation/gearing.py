"""One gear: its ratio, what it loses, and what a rotor looks like from the other side of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.arguments import number
from dalembert.errors import InputError

Scalar = Any


@dataclass(frozen=True)
class Gear:
    """θ_m = N q.  `ratio` N: turns of the motor per turn of the joint (rad/m at a slide: 2π over a screw's lead), below
    zero where the motor turns the other way.

    `efficiency` η is the part of the power that arrives at the joint when the motor drives, τ = η N τ_m; when the
    joint drives the motor, τ = N τ_m / η_b, with η_b = `backward` (η if not given)."""

    ratio: float
    efficiency: float = 1.0
    backward: float | None = None

    def __post_init__(self) -> None:
        ratio = number(
            "the ratio of a Gear", self.ratio, "motor turns per joint turn, 1 for a direct drive", nonzero=True
        )
        object.__setattr__(self, "ratio", ratio)
        object.__setattr__(self, "efficiency", share(self.efficiency, "efficiency"))
        backward = self.efficiency if self.backward is None else self.backward
        object.__setattr__(self, "backward", share(backward, "backward efficiency"))


def share(value: Any, name: str) -> float:
    """0 < η ≤ 1."""
    x = number(f"the {name} of a gear", value, "–", above=0.0)
    if x > 1:
        raise InputError(f"the {name} of a gear is {x!r}; no gear gives more power than it takes: 0 < η ≤ 1")
    return x


def transfer(power: Scalar, efficiency: float, backward: float) -> Scalar:
    """What multiplies the motor's torque on its way to the joint: η where power flows forward (> 0), 1/η_b where it
    flows back, 1 where none flows: a gear at rest holds nothing (self-locking and stiction are no part of this)."""
    if efficiency == backward == 1.0:
        return 1.0
    return scalar.where(power > 0.0, efficiency, scalar.where(power < 0.0, 1.0 / backward, 1.0))


def reflected_inertia(inertia: Scalar, ratio: Scalar) -> Scalar:
    """N² J_m [kg m²]: the rotor as the joint feels it."""
    return ratio * ratio * inertia
