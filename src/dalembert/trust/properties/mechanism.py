"""What is examined: the terms of τ = M q̈ + C q̇ + g as functions, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.lagrange.system import LagrangianSystem
from dalembert.robot import Robot

Array = NDArray[np.float64]
Of1 = Callable[[Array], Any]
Of2 = Callable[[Array, Array], Any]
Of3 = Callable[[Array, Array, Array], Any]

STEP = 1e-5  # of a central difference: h² curvature and 1e-16/h rounding are both near 1e-10
EXACT, DIFFERENCED = 1e-9, 1e-6  # relative violations that are rounding, with exact derivatives and with differences


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Functions of a mechanism with n coordinates: M(q) (n, n), C(q, q̇) (n, n), g(q) (n,), and if known P(q), K(q, q̇)
    and τ(q, q̇, q̈).

    Give your own to examine a model from elsewhere: each is called with one state, arrays of n numbers, unless
    `batched`. What is not given is computed of the others: K = ½ q̇ᵀMq̇, τ = M q̈ + C q̇ + g. `partials(q)[j, k, i]` is
    ∂M_jk/∂q_i, by central differences if not given. States are drawn within `lower` and `upper`, ±π by default."""

    name: str
    n: int
    mass_matrix: Of1
    coriolis_matrix: Of2
    gravity_torque: Of1
    potential_energy: Of1 | None = None
    kinetic_energy: Of2 | None = None
    inverse_dynamics: Of3 | None = None
    partials: Of1 | None = None
    lower: Any = None
    upper: Any = None
    batched: bool = False
    tolerance: float | None = None
    robot: Robot | None = None
    still_energy: Of1 | None = field(default=None)  # K(q, 0), of systems whose K does not vanish at rest

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, (int, np.integer)) or self.n < 1:
            raise InputError(f"the number of coordinates n must be a whole number, at least 1; got {self.n!r}")
        for name in ("mass_matrix", "coriolis_matrix", "gravity_torque"):
            if not callable(getattr(self, name)):
                raise InputError(f"{name} of {self.name!r} must be a function of q, got {getattr(self, name)!r:.60}")

    @property
    def bound(self) -> float:
        """The relative violation that still counts as rounding."""
        return self.tolerance if self.tolerance is not None else EXACT if self.partials is not None else DIFFERENCED

    # ------------------------------------------------------------------------------------- on batches of states
    def of(self, function: Callable[..., Any], shape: tuple[int, ...], *states: Array) -> Array:
        """A function at (N, n) states, (N, *shape)."""
        with np.errstate(all="ignore"):
            found = function(*states) if self.batched else [function(*state) for state in zip(*states, strict=True)]
        try:
            values = np.asarray(found, float).reshape(len(states[0]), *shape)
        except (TypeError, ValueError):
            what = getattr(function, "__name__", "a function")
            got = np.shape(found if self.batched else found[0])
            raise InputError(
                f"{what} of {self.name!r} must give {shape or 'a number'} for one state, got shape {got}"
            ) from None
        if not np.isfinite(values).all():
            bad = int(np.argmax(~np.isfinite(values.reshape(len(values), -1)).all(1)))
            what = getattr(function, "__name__", "a function")
            raise InputError(f"{what} of {self.name!r} is not finite at q = {states[0][bad].tolist()}")
        return values

    def M(self, q: Array) -> Array:
        return self.of(self.mass_matrix, (self.n, self.n), q)

    def C(self, q: Array, qd: Array) -> Array:
        return self.of(self.coriolis_matrix, (self.n, self.n), q, qd)

    def g(self, q: Array) -> Array:
        return self.of(self.gravity_torque, (self.n,), q)

    def P(self, q: Array) -> Array:
        assert self.potential_energy is not None
        return self.of(self.potential_energy, (), q)

    def K(self, q: Array, qd: Array) -> Array:
        """½ q̇ᵀMq̇ in its own way, where there is one."""
        if self.kinetic_energy is not None:
            return self.of(self.kinetic_energy, (), q, qd)
        return np.asarray(0.5 * np.einsum("bi,bij,bj->b", qd, self.M(q), qd))

    def K0(self, q: Array) -> Array:
        return self.of(self.still_energy, (), q) if self.still_energy is not None else np.zeros(len(q))

    def H(self, q: Array, qd: Array) -> Array:
        """½ q̇ᵀMq̇ + P − K(q, 0), the storage function (P zero if nobody knows it)."""
        stored = 0.5 * np.einsum("bi,bij,bj->b", qd, self.M(q), qd) - self.K0(q)
        return np.asarray(stored + self.P(q) if self.potential_energy is not None else stored)

    def tau(self, q: Array, qd: Array, qdd: Array) -> Array:
        if self.inverse_dynamics is not None:
            return self.of(self.inverse_dynamics, (self.n,), q, qd, qdd)
        c = np.einsum("bij,bj->bi", self.C(q, qd), qd)
        return np.asarray(np.einsum("bij,bj->bi", self.M(q), qdd) + c + self.g(q))

    def c(self, q: Array, qd: Array) -> Array:
        """The velocity torque by τ(q, q̇, 0) − τ(q, 0, 0): not by C, where the mechanism knows τ otherwise."""
        zero = np.zeros_like(q)
        return self.tau(q, qd, zero) - self.tau(q, zero, zero)

    def dM(self, q: Array) -> Array:
        """∂M/∂q, (N, n, n, n): [..., i] = ∂M/∂q_i."""
        if self.partials is not None:
            return self.of(self.partials, (self.n, self.n, self.n), q)
        return self.slope(self.M, q)

    def dP(self, q: Array) -> Array:
        """∂P/∂q, (N, n), of what is stored at rest, P − K(q, 0): from the energy itself, never from g."""
        if self.robot is not None:
            return np.asarray(self.robot.kernel("potential_energy").derivative("q")(q)).reshape(len(q), self.n)
        return self.slope(lambda x: self.P(x) - self.K0(x), q)

    @property
    def slope_bound(self) -> float:
        """The relative violation that still counts as rounding where `dP` is compared."""
        return self.bound if self.robot is not None else max(self.bound, DIFFERENCED)

    def slope(self, function: Of1, q: Array) -> Array:
        """∂f/∂q by central differences, the coordinate last."""
        steps = STEP * np.eye(self.n)
        return np.stack([(function(q + h) - function(q - h)) / (2 * STEP) for h in steps], -1)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        if self.robot is not None:
            return self.robot.random_configuration(count, seed=rng)
        lower = -np.pi if self.lower is None else np.asarray(self.lower, float)
        upper = np.pi if self.upper is None else np.asarray(self.upper, float)
        return rng.uniform(lower, upper, (count, self.n))


def mechanism_of(system: Any) -> Mechanism:
    """The mechanism of a Robot, a LagrangianSystem, or itself."""
    if isinstance(system, Mechanism):
        return system
    if isinstance(system, Robot):
        return _robot(system)
    if isinstance(system, LagrangianSystem):
        return _lagrangian(system)
    raise InputError(
        "properties are examined of a Robot, a LagrangianSystem, or a properties.Mechanism of your own functions; got "
        f"{type(system).__name__}"
    )


def _robot(robot: Robot) -> Mechanism:
    need_tree(robot.model)
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to examine")
    return Mechanism(
        robot.name,
        robot.n,
        robot.mass_matrix,
        robot.coriolis_matrix,
        robot.gravity_torque,
        robot.potential_energy,
        robot.kinetic_energy,
        robot.inverse_dynamics,
        # By differentiating M's own graph: mass_matrix_dot is C + Cᵀ, and would prove itself.
        robot.kernel("mass_matrix").derivative("q"),
        batched=True,
        robot=robot,
    )


def _lagrangian(system: LagrangianSystem) -> Mechanism:
    def torque(q: Array, qd: Array, qdd: Array) -> Array:
        return system.inverse_dynamics(q, qd, qdd, friction=False) + system.applied_force(q, qd)

    def at_rest(q: Array) -> Array:
        return system.kinetic_energy(q, np.zeros_like(q))

    return Mechanism(
        system.name,
        system.n,
        system.mass_matrix,
        system.coriolis_matrix,
        system.gravity_torque,
        system.potential_energy,
        None,  # K as given may have terms without or linear in q̇, which store nothing
        torque,
        system.kernel("mass_matrix").derivative("q"),
        batched=True,
        still_energy=at_rest,
    )
