"""The table: which terms of a constrained system, of which arguments and options, give which arrays.

`SHARED` holds the rows of every system that is a `Mechanics`, `ROWS` those of constrained robots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalembert import scalar
from dalembert.algorithms import composite, friction, joints, linear, mechanics, newton_euler
from dalembert.algorithms.constraints import FrameConstraint, Function, Terms, stacked, upright
from dalembert.kernels import all_wrenches, singular_mass, sizes, wrench_names
from dalembert.model import Model
from dalembert.spatial.vector import Scalar
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

MIN_UPRIGHT = 1e-9  # frames held the right way round exceed this by far, and frames half a turn off do not


class TracedMechanics(mechanics.Mechanics, Protocol):
    """A `Mechanics` with what its kernels need besides."""

    @property
    def nq(self) -> int: ...

    @property
    def k(self) -> int: ...

    @property
    def sizes(self) -> tuple[float, ...]:
        """Return the size that the residual of each row is compared with."""

    def upright(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return values that are positive where frames are held the right way round."""


@dataclass(frozen=True)
class ConstrainedModel:
    """A model with its constraints, ready to be traced."""

    model: Model
    functions: tuple[Function, ...]
    sizes: tuple[float, ...]  # of each row: what its residual is compared with, a length of the mechanism or one
    augmentation: float = 0.0

    @property
    def nq(self) -> int:
        return self.model.nq

    @property
    def nv(self) -> int:
        return self.model.nv

    @property
    def k(self) -> int:
        return len(self.sizes)

    def terms(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Terms:
        return stacked([function(self.model, q, qd) for function in self.functions])

    def mass(self, q: Sequence[Scalar]) -> list[list[Scalar]]:
        return composite.mass_matrix(self.model, q)

    def bias(self, a: Arguments, o: Options) -> list[Scalar]:
        """Return h(q, q̇) [− Σ J_iᵀ F_i of wrenches that act on the robot] [+ friction]."""
        zero = [0.0] * self.model.nv
        h = newton_euler.inverse_dynamics(self.model, a["q"], a["qd"], zero, all_wrenches(self.model, a, o))
        if o.get("friction"):
            h = [x + f for x, f in zip(h, friction.friction_torque(self.model, a["q"], a["qd"]), strict=True)]
        return h

    def moved(self, q: Sequence[Scalar], d: Sequence[Scalar]) -> list[Scalar]:
        return list(joints.integrate(self.model, q, d))

    def upright(self, q: Sequence[Scalar]) -> list[Scalar]:
        found = [
            upright(function, self.model, q) for function in self.functions if isinstance(function, FrameConstraint)
        ]
        return [x for part in found for x in part]


def distance(s: TracedMechanics, q: Sequence[Scalar], qd: Sequence[Scalar], terms: Terms) -> Scalar:
    """Return how far a state is from its constraints, in sizes; infinite where frames are held half a turn off."""
    rates = linear.apply(terms.A, qd)
    fast = 1.0 + largest(qd)
    errors = [x / size for x, size in zip(terms.phi, s.sizes, strict=True)]
    errors += [x / (size * fast) for x, size in zip(rates, s.sizes, strict=True)]
    worst = largest(errors)
    for sign in s.upright(q):
        worst = scalar.where(sign > MIN_UPRIGHT, worst, math.inf)
    return worst


def largest(values: Sequence[Scalar]) -> Scalar:
    """Return max |x| over the values that are numbers: a state with NaN shows in the results themselves."""
    worst: Scalar = 0.0
    for x in values:
        size = scalar.absolute(x)
        worst = scalar.where(size > worst, size, worst)
    return worst


def _forward(s: ConstrainedModel, a: Arguments, o: Options) -> tuple[Any, ...]:
    """q̈, λ; how far the state is off the constraints, how far they contradict one another, and how many rows count."""
    result, factors, terms = mechanics.accelerations(s, a, o)
    rest = [x / size for x, size in zip(result.rest, s.sizes, strict=True)]
    against = largest(rest) / (1.0 + largest(result.qdd))
    off = distance(s, a["q"], a["qd"], terms)
    return result.qdd, result.force, [off, against, linear.total(factors.gram.kept)]


def _inverse(s: ConstrainedModel, a: Arguments, o: Options) -> tuple[Any, Any]:
    """τ = M q̈ + h + Aᵀλ, and how far q̈ is from what the constraints allow."""
    terms = s.terms(a["q"], a["qd"])
    h = s.bias(a, o)
    M = s.mass(a["q"])
    tau = [x + y for x, y in zip(linear.apply(M, a["qdd"]), h, strict=True)]
    for force, row in zip(a["multipliers"], terms.A, strict=True):
        tau = [t + x * force for t, x in zip(tau, row, strict=True)]
    asked = [(x + d) / size for x, d, size in zip(linear.apply(terms.A, a["qdd"]), terms.drift, s.sizes, strict=True)]
    return tau, [distance(s, a["q"], a["qd"], terms), largest(asked) / (1.0 + largest(a["qdd"]))]


def _at_rest(s: TracedMechanics, a: Arguments) -> Terms:
    return mechanics.terms_at_rest(s, a["q"])


def _factors(s: TracedMechanics, a: Arguments) -> mechanics.ConstrainedFactors:
    return mechanics.factor_at(s, a["q"], _at_rest(s, a))


def _impulse(s: TracedMechanics, a: Arguments, o: Options) -> tuple[Any, Any]:
    found = mechanics.impulse(_factors(s, a), a["qd"])
    return found.qdd, found.force


SHARED: dict[str, Row[Any]] = {
    "residual": Row(("q",), lambda s, a, o: _at_rest(s, a).phi, lambda s, o: ((s.k,),)),
    "jacobian": Row(("q",), lambda s, a, o: _at_rest(s, a).A, lambda s, o: ((s.k, s.nv),)),
    "drift": Row(("q", "qd"), lambda s, a, o: s.terms(a["q"], a["qd"]).drift, lambda s, o: ((s.k,),)),
    "projection": Row(("q",), lambda s, a, o: mechanics.projection(_factors(s, a)), lambda s, o: ((s.nv, s.nv),)),
    "kept": Row(("q",), lambda s, a, o: _factors(s, a).gram.kept, lambda s, o: ((s.k,),)),
    "off": Row(("q", "qd"), lambda s, a, o: distance(s, a["q"], a["qd"], s.terms(a["q"], a["qd"])), lambda s, o: ((),)),
    "projected": Row(
        ("q", "qd"), lambda s, a, o: mechanics.project_state(s, a["q"], a["qd"]), lambda s, o: ((s.nq,), (s.nv,))
    ),
    "impulse": Row(("q", "qd"), _impulse, lambda s, o: ((s.nv,), (s.k,))),
}

_LOADED: Options = {"friction": False, "wrenches": ()}

ROWS: dict[str, Row[ConstrainedModel]] = {
    **SHARED,
    "forward_dynamics": Row(
        ("q", "qd", "tau"), _forward, lambda s, o: ((s.nv,), (s.k,), (3,)), {**_LOADED, "alpha": 0.0, "beta": 0.0}
    ),
    "inverse_dynamics": Row(("q", "qd", "qdd", "multipliers"), _inverse, lambda s, o: ((s.nv,), (2,)), _LOADED),
}


def _sizes(s: ConstrainedModel, options: Options) -> dict[str, Shape]:
    return {**sizes(s.model, options), "multipliers": (s.k,)}


TABLE: KernelTable[ConstrainedModel] = KernelTable(
    ROWS, _sizes, lambda s, name: singular_mass(s.model), added=wrench_names
)
