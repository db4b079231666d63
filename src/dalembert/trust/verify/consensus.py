"""Which members that fail have the same numbers: where a fault without a name lies, in the model or in one computation.

Two members agree where both compute a quantity, and where what they compute obeys

    τ = M q̈ + c + g,    K = ½ q̇ᵀ M q̇;

what a member that is right computes stands in for what neither of the two does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.trust.verify.diagnose import MARGIN, sliced
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Array
from dalembert.trust.verify.members import Values
from dalembert.trust.verify.quantities import QUANTITIES

_DYNAMIC = frozenset({"mass_matrix", "gravity_torque", "coriolis_torque", "torque", "acceleration", "kinetic_energy"})
_SLOPES = frozenset(name for name, quantity in QUANTITIES.items() if quantity.few)
# What fails together, where it is the model that is at fault: a quantity, and those that it then takes along.
LINKS: dict[str, frozenset[str]] = {
    **{name: _DYNAMIC | {"pose"} for name in _DYNAMIC},
    **{name: _DYNAMIC | _SLOPES | {"pose"} for name in _SLOPES},
    "pose": _DYNAMIC | _SLOPES | {"pose", "mass", "potential_energy", "friction_torque"},
    "mass": _DYNAMIC | {"mass"},
    "potential_energy": frozenset({"gravity_torque", "torque", "acceleration", "potential_energy"}),
    "friction_torque": frozenset({"torque", "friction_torque"}),
    "jacobian": frozenset({"jacobian", "pose"}),
}


@dataclass(frozen=True)
class Case:
    """The members' values by their keys, the names of those of their quantities that fail, and which of them see the
    mechanism of `snapped` instead of the reference's, if there is one."""

    reference: Reference
    values: Mapping[str, Values]
    failing: Mapping[str, Collection[str]]
    turned: Collection[str] = ()
    snapped: Reference | None = None

    @property
    def right(self) -> Values:
        """What the members compute that agree with the reference."""
        pool: Values = {}
        for key, values in self.values.items():
            if not self.failing[key]:
                pool |= {name: x for name, x in values.items() if name not in pool}
        return pool

    def slack(self, keys: Iterable[str]) -> float:
        """By how much members may differ relatively that do not see the same mechanism."""
        if self.snapped is None or not any(key in self.turned for key in keys):
            return 0.0
        r, s = self.reference, self.snapped
        names = ("mass_matrix", "torque", "kinetic_energy", "potential_energy")
        shifts = [QUANTITIES[name].relative(r, getattr(s, name)).max(initial=0.0) for name in names]
        return 100.0 * float(max(shifts))


def linked(one: Iterable[str], two: Collection[str]) -> bool:
    """Whether a fault of the model that shows in these quantities would show in one of those."""
    return any(b in LINKS[a] or a in LINKS[b] for a in one for b in two)


def comparable(one: Collection[str], two: Collection[str]) -> bool:
    """Whether these quantities say something against those: the same, or terms of the same equations."""
    return bool(set(one) & set(two) or ((_DYNAMIC | _SLOPES) & set(one) and _DYNAMIC & set(two)))


def groups(case: Case, keys: Sequence[str]) -> list[list[str]]:
    """The members, each with those that have the same numbers."""
    found: list[list[str]] = []
    for key in keys:
        for group in found:
            if _joins(case, group, key):
                group.append(key)
                break
        else:
            found.append([key])
    return found


def _joins(case: Case, group: Sequence[str], key: str) -> bool:
    failing = {name for k in group for name in case.failing[k]}
    if not linked(case.failing[key], failing):
        return False
    r, slack = case.reference, case.slack((*group, key))
    count = len(r.states.few)
    mine, pool = sliced(case.values[key], count), sliced(_pool(case, group), count)
    shared = [name for name in mine if name in pool and not isinstance(mine[name], dict)]
    for name in shared:
        quantity = QUANTITIES[name]
        apart = quantity.difference(r, mine[name]) - quantity.difference(r, pool[name])
        if not _small(apart, quantity.scale(r, mine[name]), MARGIN * quantity.allowed + slack):
            return False
    if any(name in failing and name in case.failing[key] for name in shared):
        return True  # the same wrong numbers
    if not (_DYNAMIC & failing and _DYNAMIC & set(case.failing[key])):
        return True  # nothing that a law could tell
    return _consistent(r, mine | pool, sliced(case.right, count), slack)


def _pool(case: Case, keys: Sequence[str]) -> Values:
    """The values of a group, those that fail before those that agree."""
    pool: Values = {}
    for wrong in (True, False):
        for key in keys:
            names = [n for n in case.values[key] if (n in case.failing[key]) == wrong and n not in pool]
            pool |= {name: case.values[key][name] for name in names}
    return pool


def _consistent(r: Reference, v: Values, right: Values, slack: float) -> bool:
    """Whether the laws between the quantities hold, as far as there are the quantities for them. What is `right` stands
    in for M, c and g only: the sides of a law that are tested are the members' own."""
    s = r.states.few
    M, c, g = (v.get(name, right.get(name)) for name in ("mass_matrix", "coriolis_torque", "gravity_torque"))
    if M is None:
        return True
    tolerance = MARGIN * QUANTITIES["acceleration"].allowed + slack
    if "kinetic_energy" in v:
        K = 0.5 * np.einsum("si,sij,sj->s", s.qd, M, s.qd)
        if not _small(v["kinetic_energy"] - K, float(np.abs(K).max(initial=0.0)) or 1.0, tolerance):
            return False
    if c is None or g is None:
        return True
    bias = c + g
    scale = QUANTITIES["torque"].scale(r, bias)
    for qdd, tau in ((s.qdd, v.get("torque")), (v.get("acceleration"), s.tau)):
        if qdd is not None and tau is not None:
            load = np.einsum("sij,sj->si", M, qdd)
            size = np.maximum(scale, (np.abs(load) + np.abs(bias)).max(axis=0, initial=0.0))
            if not _small(load + bias - tau, size, tolerance):
                return False
    return True


def _small(difference: Array, scale: Array | float, tolerance: float) -> bool:
    relative = np.abs(difference) / scale
    return bool(np.all(np.isfinite(relative)) and np.max(relative, initial=0.0) <= tolerance)
