"""The table: which terms of a constrained system, of which arguments and options, give which arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.algorithms import composite, constrained_dynamics, friction, joints, linear, newton_euler
from dalembert.algorithms.constraints import Function, Held, Terms, stacked, upright
from dalembert.kernels import all_wrenches, singular_mass, sizes, wrench_names
from dalembert.model import Model
from dalembert.spatial.vector import Scalar
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

UPRIGHT = 1e-9  # what frames held the right way round exceed by far, and half a turn off do not


@dataclass(frozen=True)
class ConstrainedModel:
    """A model with its constraints, ready to be traced."""

    model: Model
    functions: tuple[Function, ...]
    sizes: tuple[float, ...]  # of each row: what its residual is compared with, a length of the mechanism or one
    heavy: float = 0.0  # ρ of `constrained_dynamics.factor`: not zero where M alone is singular

    @property
    def k(self) -> int:
        return len(self.sizes)

    def terms(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Terms:
        return stacked([function(self.model, q, qd) for function in self.functions])

    def still(self, q: Sequence[Scalar]) -> Terms:
        return self.terms(q, [0.0] * self.model.nv)

    def mass(self, q: Sequence[Scalar]) -> list[list[Scalar]]:
        return composite.mass_matrix(self.model, q)

    def bias(self, a: Arguments, o: Options) -> list[Scalar]:
        """Return h(q, q̇) [− Σ J_iᵀ F_i of wrenches that act on the robot] [+ friction]."""
        zero = [0.0] * self.model.nv
        h = newton_euler.inverse_dynamics(self.model, a["q"], a["qd"], zero, all_wrenches(self.model, a, o))
        if o.get("friction"):
            h = [x + f for x, f in zip(h, friction.friction_torque(self.model, a["q"], a["qd"]), strict=True)]
        return h

    def accelerations(
        self, a: Arguments, o: Options
    ) -> tuple[constrained_dynamics.Constrained, constrained_dynamics.Multipliers, Terms]:
        """q̈ and λ for torques τ. A row that is zero whatever the state is left out here already."""
        terms = self.terms(a["q"], a["qd"])
        wanted = constrained_dynamics.wanted_acceleration(terms, a["qd"], o.get("alpha", 0.0), o.get("beta", 0.0))
        factors = self.factor(a["q"], terms)
        free = [t - h for t, h in zip(a["tau"], self.bias(a, o), strict=True)]
        return factors.acceleration(free, wanted), factors, terms

    def factor(self, q: Sequence[Scalar], terms: Terms) -> constrained_dynamics.Multipliers:
        return constrained_dynamics.factor(self.mass(q), terms.A, heavy=self.heavy)

    def off(self, q: Sequence[Scalar], qd: Sequence[Scalar], terms: Terms) -> Scalar:
        """How far a state is from its constraints, in sizes; infinite where frames are held half a turn off."""
        rates = linear.apply(terms.A, qd)
        fast = 1.0 + _largest(qd)
        errors = [x / size for x, size in zip(terms.phi, self.sizes, strict=True)]
        errors += [x / (size * fast) for x, size in zip(rates, self.sizes, strict=True)]
        worst = _largest(errors)
        for function in self.functions:
            for sign in upright(function, self.model, q) if isinstance(function, Held) else ():
                worst = scalar.where(sign > UPRIGHT, worst, math.inf)
        return worst


def _largest(values: Sequence[Scalar]) -> Scalar:
    """max |x|, over those that are numbers: a state that is none shows in the results themselves."""
    worst: Scalar = 0.0
    for x in values:
        size = scalar.absolute(x)
        worst = scalar.where(size > worst, size, worst)
    return worst


def _forward(s: ConstrainedModel, a: Arguments, o: Options) -> tuple[Any, ...]:
    """q̈, λ; how far the state is off the constraints, how far they contradict one another, and how many rows count."""
    result, factors, terms = s.accelerations(a, o)
    rest = [x / size for x, size in zip(result.rest, s.sizes, strict=True)]
    against = _largest(rest) / (1.0 + _largest(result.qdd))
    return result.qdd, result.force, [s.off(a["q"], a["qd"], terms), against, linear.total(factors.gram.kept)]


def _inverse(s: ConstrainedModel, a: Arguments, o: Options) -> tuple[Any, Any]:
    """τ = M q̈ + h + Aᵀλ, and how far q̈ is from what the constraints allow."""
    terms = s.terms(a["q"], a["qd"])
    h = s.bias(a, o)
    M = s.mass(a["q"])
    tau = [x + y for x, y in zip(linear.apply(M, a["qdd"]), h, strict=True)]
    for force, row in zip(a["multipliers"], terms.A, strict=True):
        tau = [t + x * force for t, x in zip(tau, row, strict=True)]
    asked = [(x + d) / size for x, d, size in zip(linear.apply(terms.A, a["qdd"]), terms.drift, s.sizes, strict=True)]
    return tau, [s.off(a["q"], a["qd"], terms), _largest(asked) / (1.0 + _largest(a["qdd"]))]


def _projected(s: ConstrainedModel, a: Arguments, o: Options) -> tuple[Any, Any]:
    terms = s.still(a["q"])
    step, rates = constrained_dynamics.onto(s.factor(a["q"], terms), terms, a["qd"])
    return joints.integrate(s.model, a["q"], step), rates


_LOADED: Options = {"friction": False, "wrenches": ()}

ROWS: dict[str, Row[ConstrainedModel]] = {
    "residual": Row(("q",), lambda s, a, o: s.still(a["q"]).phi, lambda s, o: ((s.k,),)),
    "jacobian": Row(("q",), lambda s, a, o: s.still(a["q"]).A, lambda s, o: ((s.k, s.model.nv),)),
    "drift": Row(("q", "qd"), lambda s, a, o: s.terms(a["q"], a["qd"]).drift, lambda s, o: ((s.k,),)),
    "forward_dynamics": Row(
        ("q", "qd", "tau"), _forward, lambda s, o: ((s.model.nv,), (s.k,), (3,)), {**_LOADED, "alpha": 0.0, "beta": 0.0}
    ),
    "inverse_dynamics": Row(("q", "qd", "qdd", "multipliers"), _inverse, lambda s, o: ((s.model.nv,), (2,)), _LOADED),
    "projection": Row(
        ("q",),
        lambda s, a, o: constrained_dynamics.projection(s.factor(a["q"], s.still(a["q"]))),
        lambda s, o: ((s.model.nv, s.model.nv),),
    ),
    "kept": Row(("q",), lambda s, a, o: s.factor(a["q"], s.still(a["q"])).gram.kept, lambda s, o: ((s.k,),)),
    "off": Row(("q", "qd"), lambda s, a, o: s.off(a["q"], a["qd"], s.terms(a["q"], a["qd"])), lambda s, o: ((),)),
    "projected": Row(("q", "qd"), _projected, lambda s, o: ((s.model.nq,), (s.model.nv,))),
}


def _sizes(s: ConstrainedModel, options: Options) -> dict[str, Shape]:
    return {**sizes(s.model, options), "multipliers": (s.k,)}


TABLE: KernelTable[ConstrainedModel] = KernelTable(
    ROWS, _sizes, lambda s, name: singular_mass(s.model), added=wrench_names
)
