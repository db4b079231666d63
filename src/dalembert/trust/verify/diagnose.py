"""The cause of a difference: plant each fault of the table in the reference and compare with the other numbers.

A cause is named only if the linkage with that fault planted, in one part or in all parts that can have it, gives every
number of the other side at all states, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dalembert.trust.verify import faults
from dalembert.trust.verify.faults import FAULTS, Fault
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import Array, Linkage, States, three
from dalembert.trust.verify.own_methods import Values
from dalembert.trust.verify.quantities import QUANTITIES, Value

MARGIN = 100.0  # factor by which an explanation may exceed the tolerance of a quantity
MAX_NAMED_PARTS = 4  # parts that a sentence names before it counts the rest
KINEMATIC = ("pose", "jacobian")
# Quantities that are linear in gravity.
LINEAR_IN_GRAVITY = ("torque", "gravity_torque", "acceleration", "potential_energy")
OF_JOINTS = ("friction semantics", "joint springs", "mimic", "base transform", "joint kind")


@dataclass(frozen=True)
class Explanation:
    """A cause that gives all numbers: its name, its description ("as if …"), and the parts that have it."""

    cause: str
    words: str
    parts: tuple[str, ...] = ()
    plant: Callable[[Linkage], Linkage] | None = field(default=None, compare=False, repr=False)


def take_first(values: Values, count: int) -> Values:
    """Return the values at the first `count` states."""
    return {
        name: {frame: x[:count] for frame, x in value.items()} if isinstance(value, dict) else value[:count]
        for name, value in values.items()
    }


def agrees(reference: FourByFour, values: Values) -> bool:
    """Return whether all numbers are those of the reference, up to MARGIN tolerances."""
    for name, quantity in QUANTITIES.items():
        if name in values:
            value = common(values[name], reference)
            if np.max(quantity.relative(reference, value), initial=0.0) > MARGIN * quantity.allowed:
                return False
    return True


def common(value: Value, reference: FourByFour) -> Value:
    """Return a value by frame without the frames that the reference does not have."""
    return of_frames({"": value}, reference.frames)[""]


def of_frames(values: Values, frames: Collection[str]) -> Values:
    """Return the values; of values by frame only those of `frames`."""
    return {
        name: {f: x for f, x in value.items() if f in frames} if isinstance(value, dict) else value
        for name, value in values.items()
    }


def without_solved_slopes(values: Values) -> Values:
    """Return the values without ∂q̈, which is evaluated at accelerations that a fault itself would change."""
    return {k: v for k, v in values.items() if not k.startswith("acceleration_by")}


def explanations(linkage: Linkage, states: States, values: Values) -> list[Explanation]:
    """Return the faults of the table that turn this linkage's numbers into these values, the simplest first.

    A fault is tried in each part by itself and in all parts that can have it. The list is empty if no fault fits.
    """
    few = states.few
    wanted = take_first(without_solved_slopes(values), len(few))
    base = FourByFour(linkage, few)
    if agrees(base, {k: v for k, v in wanted.items() if not QUANTITIES[k].few} or wanted):
        return []  # a fault of the linkage does not show in derivatives alone
    loads = {k: v for k, v in wanted.items() if k not in KINEMATIC}
    if agrees(base, {k: v for k, v in wanted.items() if k in KINEMATIC}):
        found = [*_gravity(base, loads), *_load_faults(base, loads)]
        found = found or ([] if "pose" in wanted else list(_geometry_faults(base, wanted)))
    else:
        found = list(_geometry_faults(base, wanted))
    return [e for e in found if is_given_by(e, linkage, states, values)]


def is_given_by(e: Explanation, linkage: Linkage, states: States, values: Values) -> bool:
    """Return whether the linkage with the fault planted gives these numbers, at all states."""
    return e.plant is not None and agrees(FourByFour(e.plant(linkage), states), without_solved_slopes(values))


def list_names(names: Sequence[str]) -> str:
    """Return the quoted names, separated by commas; only the first MAX_NAMED_PARTS of many."""
    shown = ", ".join(repr(n) for n in names[:MAX_NAMED_PARTS])
    return shown if len(names) <= MAX_NAMED_PARTS else f"{shown} and {len(names) - MAX_NAMED_PARTS} more"


def _explain(fault: Fault, m: Linkage, places: tuple[int, ...]) -> Explanation:
    joints = fault.cause in OF_JOINTS or any(word in fault.words for word in ("joint", "axis", "rotor"))
    names = tuple(m.parts[i].joint if joints and m.parts[i].joint else m.parts[i].link for i in places)
    words = fault.words.format(list_names(names))
    return Explanation(fault.cause, words, names, lambda m: fault.plant(m, places))


def _gravity(base: FourByFour, values: Values) -> list[Explanation]:
    """Fit the vector of gravity to the values."""

    def residual(g: Array) -> Array:
        r = under(g)
        pieces = [
            (QUANTITIES[name].difference(r, values[name]) / QUANTITIES[name].scale(base)).reshape(-1)
            for name in LINEAR_IN_GRAVITY
            if name in values
        ]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    def under(g: Array) -> FourByFour:
        return base.with_inertias_of(replace(base.linkage, gravity=three(g)))

    start = residual(np.zeros(3))
    if not start.size or not np.isfinite(start).all():
        return []
    columns = np.stack([residual(e) - start for e in np.eye(3)], axis=-1)
    fitted = np.linalg.lstsq(columns, -start, rcond=None)[0]
    seen = np.abs(columns).max(axis=0) > 1e-9 * np.abs(columns).max(initial=0.0)
    g = np.where(seen, fitted, base.linkage.gravity)  # a component without effect is taken as written
    g = np.where(np.abs(g) < 1e-9 * (1.0 + np.linalg.norm(base.linkage.gravity)), 0.0, g)
    if np.abs(g - base.linkage.gravity).max() < 1e-9 or not agrees(under(g), values):
        return []
    cause, words = faults.gravity_words(base.linkage.gravity, g)
    return [Explanation(cause, words, plant=lambda m: replace(m, gravity=three(g)))]


def _load_faults(base: FourByFour, values: Values) -> Iterator[Explanation]:
    """Yield the faults of masses, inertias, rotors and friction that give the values, in one part or in all."""
    for fault in FAULTS:
        places = () if fault.moves else fault.candidates(base.linkage)
        for chosen in dict.fromkeys((*((i,) for i in places), places) if places else ()):
            if agrees(base.with_inertias_of(fault.plant(base.linkage, chosen)), values):
                yield _explain(fault, base.linkage, chosen)
                break


def _geometry_faults(base: FourByFour, values: Values) -> Iterator[Explanation]:
    """Yield the faults of the geometry that give the values: in the first displaced part, or in all parts."""
    m = base.linkage
    for cause, words, other in faults.other_tables(m):
        if agrees(FourByFour(other, base.states), values):
            yield Explanation(cause, words, plant=partial(_replace_table, other))
    displaced = _first_displaced(base, values)
    for fault in FAULTS:
        places = fault.candidates(m) if fault.moves else ()
        singles = () if fault.whole else tuple((i,) for i in places if displaced in (None, i))
        for chosen in dict.fromkeys((*singles, places) if places else ()):
            if agrees(FourByFour(fault.plant(m, chosen), base.states), values):
                yield _explain(fault, m, chosen)
                break


def _replace_table(other: Linkage, _: Linkage) -> Linkage:
    return other


def _first_displaced(base: FourByFour, values: Values) -> int | None:
    """Return the first part, in the order of the tree, whose pose differs."""
    quantity, poses = QUANTITIES["pose"], values.get("pose", {})
    for i, part in enumerate(base.linkage.parts):
        if part.link in poses:
            relative = quantity.relative(base, {part.link: poses[part.link]})
            if np.max(relative, initial=0.0) > MARGIN * quantity.allowed:
                return i
    return None


def where(states: States, relative: Array, allowed: float) -> str:
    """Return in which states a difference occurs, in words, and which terms that points to."""
    k = len(relative)
    size = relative.reshape(k, -1).max(axis=-1, initial=0.0) > allowed
    moving, accelerated = states.moving[:k], states.accelerated[:k]
    if size[~moving & ~accelerated].any():
        return "it occurs at rest"
    if size[~moving].any():
        return "it requires an acceleration: it is in the inertia"
    return "it requires a velocity: it is in the terms with q̇" if size.any() else ""
