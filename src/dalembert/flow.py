"""A system that moves by itself or under inputs: ẋ = f(t, x, u), written once over any scalar.

Robots, constrained and motor-driven ones, flexible joints, Lagrangian systems: whatever can be simulated says so with a
`Flow`, and `simulate` knows nothing else of it. The same functions run on floats, and traced into one compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.system import Limits

Scalar = Any
Scalars = Sequence[Scalar]
Array = NDArray[np.float64]

WRENCH = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")  # the components of a wrench: force [N], moment [N m]


def wrench_inputs(frame: str) -> tuple[str, ...]:
    """Return the names of the inputs of a flow that are the wrench at a frame: "tool.f_x", …, "tool.n_z"."""
    return tuple(f"{frame}.{component}" for component in WRENCH)


def wrench_frames(names: Sequence[str]) -> tuple[str, ...]:
    """Return the frames at which wrenches act, by the names of a flow's inputs."""
    ends = (name.rpartition(".") for name in names)
    return tuple(dict.fromkeys(frame for frame, _, component in ends if frame and component in WRENCH))


# The energy books by the names of outputs, which `Run.audit` adds up: what is stored [J], brought in [W], lost [W].
ENERGY, SUPPLY, LOSS = "_energy", ("supply_power", "input_power"), "_loss"
MULTIPLIER = "multiplier of "


@dataclass(frozen=True, eq=False)
class Joints:
    """What is known of a flow's joints beyond their names: `rates` names their rates, states or outputs; `units` of
    their positions ("rad", "m"), `limits`, and M(q) as `inertia`, which a joint that bounces off a limit needs. There
    may be fewer joints than positions: of a robot with flexible joints they are the links' alone. `rate_units` are
    those of velocities times time, where they are not the positions' ("rad" of a quaternion's). `driven` says along
    which velocities a drive acts: not along those of a floating base. None: along all of them."""

    rates: tuple[str, ...]
    units: tuple[str, ...]
    limits: Limits
    inertia: Callable[[Array], Array] | None = None
    rate_units: tuple[str, ...] | None = None
    driven: tuple[bool, ...] | None = None

    @property
    def moving_units(self) -> tuple[str, ...]:
        """Of what velocities are rates of."""
        return self.units if self.rate_units is None else self.rate_units


class LossFinder(Protocol):
    """Finds the contacts that cannot be sustained in rows of times, states and outputs, added piece by piece."""

    def add(self, t: Array, x: Array, y: Array) -> None: ...
    @property
    def losses(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts of a flow with the ground, which it models as constraints and so holds whatever they bear.

    `finder()` makes a `LossFinder`. `excess(t, x, u)`, over scalars, is (least, most): `least` is zero unless a contact
    has to pull, slips, or tilts, `most` is zero only if none does. `exact`: whether the two are the same."""

    finder: Callable[[], LossFinder]
    excess: Callable[[Scalar, Scalars, Scalars], tuple[Scalar, Scalar]]
    exact: bool

    def find_losses(self, t: Array, x: Array, y: Array) -> tuple[Any, ...]:
        """Return the contacts that cannot be sustained in rows of times, states and outputs, the earliest first."""
        finder = self.finder()
        finder.add(t, x, y)
        return finder.losses


@dataclass(frozen=True, eq=False)
class Flow:
    """ẋ = rate(t, x, u).

    `states` and `inputs` name the entries of x and u. x begins with `positions` positions and their rates, as many
    unless `velocities` says otherwise, (q, v, …), in that order; what follows (currents, modes) is of first order.
    `settle(t, before, x, u)` is what is done to a state after each step that led from `before` to x at time t: back
    onto a constraint, to rest where friction holds; it may not depend on the step's length. `observe(t, x, u)` gives
    what else is worth keeping, named by `outputs`. All of them take and give sequences of scalars, and choose by value
    only through `scalar.where`.

    `advance(q, d)`: where positions lie on a manifold, the positions reached from q along the tangent vector d, which
    has `velocities` entries; `rate` then begins with v. Without it q + d. `difference(q0, q1)`: the d from q0 to q1.
    `correct(d, v, order)`: the rate of d while q ⊕ d moves with velocity v, as far as a method of that order needs it;
    v itself if not given, which only methods of order one can do with where tangent vectors do not commute.
    `position_rates(q, v)`: q̇ of the positions as numbers beside the manifold, along it, which adaptive methods need;
    q ⊕ 0 brings them back onto it.
    `transport(d, p)`: of a flow in momenta on a group, whose states are (q, p): (ad_dᵀ p, Ad_exp(d)ᵀ p, the average of
    Ad_exp(s d)ᵀ p, s from 0 to 1); `rate` is then (v, ṗ), and implicit midpoint symplectic.
    `sample(t, x, u)`: what is done to a state at the beginning of each step at which a sample is due, every `period` s.
    `drives`: so many inputs, the first, are what a controller or given torques may drive (all of them if not given).
    `start(q0, qd0)`: the state that a user's positions and rates mean, arrays (..., n); without it (q0, qd0, zeros).
    `check(x0)` looks at initial states, arrays (..., n), and refuses those that cannot be.
    `contacts`: of a flow that stands on the ground, what its contacts bear.
    `needs_steps` says why an adaptive method cannot run it, or nothing."""

    name: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    rate: Callable[[Scalar, Scalars, Scalars], list[Scalar]]
    positions: int = 0
    settle: Callable[[Scalar, Scalars, Scalars, Scalars], list[Scalar]] | None = None
    outputs: tuple[str, ...] = ()
    observe: Callable[[Scalar, Scalars, Scalars], list[Scalar]] | None = None
    check: Callable[[Array], None] | None = None
    velocities: int | None = None
    advance: Callable[[Scalars, Scalars], Sequence[Scalar]] | None = None
    correct: Callable[[Scalars, Scalars, int], Sequence[Scalar]] | None = None
    position_rates: Callable[[Scalars, Scalars], Sequence[Scalar]] | None = None
    difference: Callable[[Scalars, Scalars], Sequence[Scalar]] | None = None
    transport: Callable[[Scalars, Scalars], tuple[Scalars, Scalars, Scalars]] | None = None
    drives: int | None = None
    start: Callable[[Array, Array], Array] | None = None
    joints: Joints | None = None
    sample: Callable[[Scalar, Scalars, Scalars], list[Scalar]] | None = None
    period: float | None = None
    needs_steps: str = ""
    contacts: Contacts | None = None

    @property
    def plain_rate(self) -> Callable[[Scalar, Scalars, Scalars], list[Scalar]]:
        """`rate`, of a flow whose states are a vector; positions on a manifold are refused in words."""
        if self.advance is not None:
            raise InputError(
                f"the positions of {self.name!r} are no vector with the velocities for rates, and this takes the rate "
                "of the whole state: simulate and rollouts run it"
            )
        return self.rate

    @property
    def nq(self) -> int:
        """How many positions."""
        return self.positions

    @property
    def nv(self) -> int:
        """How many rates of positions."""
        return self.positions if self.velocities is None else self.velocities

    @property
    def driven(self) -> tuple[str, ...]:
        """The inputs that a controller may drive."""
        return self.inputs if self.drives is None else self.inputs[: self.drives]

    @property
    def rates(self) -> tuple[str, ...]:
        """The rates of what a user calls q."""
        return self.states[self.nq : self.nq + self.nv] if self.joints is None else self.joints.rates

    @property
    def n(self) -> int:
        """How many numbers a user calls q."""
        return self.nq if self.joints is None else len(self.joints.units)
