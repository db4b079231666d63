"""Why two ways differ: plant one fault after the other in the reference, and see which gives the other side's numbers.

A cause is named only if the linkage with that fault planted gives every number of the other side, at all states, to
rounding. Where none does, what is known is said: in which terms the difference lies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dalembert.trust.properties.mechanism import times
from dalembert.trust.verify import faults
from dalembert.trust.verify.faults import FAULTS, Fault
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import Array, Linkage, States, Three, angles, heavier, three
from dalembert.trust.verify.members import Values
from dalembert.trust.verify.quantities import QUANTITIES, Value

MARGIN = 100.0  # an explanation may leave this many tolerances: it is a name for a difference, not a verdict
MOST_SINGLES = 40  # parts in which a fault of the geometry is tried one by one
# Quantities in which masses, rotors and gravity are linear, the most telling first.
LINEAR = (
    *("torque", "mass_matrix", "gravity_torque", "coriolis_torque", "acceleration"),
    *("kinetic_energy", "friction_torque", "potential_energy", "mass"),
)
# By which a fault is ruled out before the others are computed, the cheapest first.
SCREENS = (
    *("gravity_torque", "mass_matrix", "coriolis_torque", "torque"),
    *("kinetic_energy", "acceleration", "friction_torque", "potential_energy", "mass"),
)
KINEMATIC = ("pose", "jacobian")
# Factors that say what happened to a term: left out, turned round, counted twice, halved, in another unit.
TELLING = (0.0, -1.0, 2.0, 0.5, 1e3, 1e-3, 180.0 / np.pi, np.pi / 180.0)
POUND = 0.45359237  # kg
NAMED = 4  # parts that a sentence names before it counts the rest


@dataclass(frozen=True)
class Explanation:
    """A cause that gives all numbers: its name, what the other side behaves as if, and the parts concerned."""

    cause: str
    words: str
    parts: tuple[str, ...] = ()
    plant: Callable[[Linkage], Linkage] | None = field(default=None, compare=False, repr=False)
    row: str = field(default="", compare=False, repr=False)  # of the table


def take_first(values: Values, count: int) -> Values:
    """The values at the first states."""
    return {
        name: {frame: x[:count] for frame, x in value.items()} if isinstance(value, dict) else value[:count]
        for name, value in values.items()
    }


def agrees(reference: FourByFour, values: Values) -> bool:
    """Whether all numbers are the reference's, up to MARGIN tolerances; what is cheap is looked at first."""
    for name, quantity in QUANTITIES.items():
        if name in values:
            value = common(values[name], reference)
            if np.max(quantity.relative(reference, value), initial=0.0) > MARGIN * quantity.allowed:
                return False
    return True


def common(value: Value, reference: FourByFour) -> Value:
    """Of values by frame, those whose frame the reference has too."""
    return of_frames({"": value}, reference.frames)[""]


def of_frames(values: Values, frames: Collection[str]) -> Values:
    """The values, of those by frame only these frames."""
    return {
        name: {f: x for f, x in value.items() if f in frames} if isinstance(value, dict) else value
        for name, value in values.items()
    }


def telling(values: Values) -> Values:
    """The values by which a fault shows: ∂q̈ is taken at accelerations that it would change, and tells nothing beside
    the others."""
    return {k: v for k, v in values.items() if not k.startswith("acceleration_by")} or values


def explanations(linkage: Linkage, states: States, values: Values, geometry: bool = True) -> list[Explanation]:
    """The causes that turn this linkage's numbers into these values; the simplest first, empty if none does.
    `geometry`: whether things may be elsewhere, where the values themselves do not tell."""
    few = states.few
    wanted = take_first(telling(values), len(few))
    base = FourByFour(linkage, few)
    plain = {k: v for k, v in wanted.items() if not QUANTITIES[k].few}
    if agrees(base, plain) if plain else agrees(base, wanted):
        return []  # a fault of the linkage does not show in derivatives alone
    kinematic = {k: v for k, v in wanted.items() if k in KINEMATIC}
    moved = not agrees(base, kinematic)
    found = [] if moved else [*_gravity(base, wanted), *_weights(base, wanted)]
    if not found and (moved or (geometry and "pose" not in wanted)):
        found = _geometry(base, wanted)
    kept: dict[str, Explanation] = {}  # the first of every row of the table that gives all states too
    for e in found or _coriolis(base, wanted):
        if (e.row or e.words) not in kept and gives(e, linkage, states, telling(values)):
            kept[e.row or e.words] = e
    return list(kept.values())


def gives(e: Explanation, linkage: Linkage, states: States, values: Values) -> bool:
    """Whether the linkage with the fault planted gives these numbers, at all states."""
    return e.plant is not None and agrees(FourByFour(e.plant(linkage), states), values)


def list_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def _told(h: Fault, m: Linkage, places: tuple[int, ...]) -> Explanation:
    joints = h.cause in OF_JOINTS or any(word in h.words for word in ("joint", "axis", "rotor"))
    names = tuple(m.parts[i].joint if joints and m.parts[i].joint else m.parts[i].link for i in places)
    return Explanation(h.cause, h.words.format(list_names(names)), names, lambda m: h.plant(m, places), h.words)


OF_JOINTS = ("friction semantics", "joint springs", "mimic", "base transform", "joint kind")


# what is linear


def _vector(base: FourByFour, r: FourByFour, values: Values) -> Array:
    """All linear differences as one vector, in units of the base's scales."""
    pieces = []
    for name in LINEAR:
        if name in values:
            q = QUANTITIES[name]
            pieces.append((q.difference(r, values[name]) / q.scale(base)).reshape(-1))
    return np.concatenate(pieces) if pieces else np.zeros(0)


def _gravity(base: FourByFour, values: Values) -> list[Explanation]:
    """Gravity as the three numbers that fit best."""

    def under(g: Array) -> FourByFour:
        return base.with_inertias_of(replace(base.linkage, gravity=three(g)))

    none = _vector(base, under(np.zeros(3)), values)
    if not none.size or not np.isfinite(none).all():
        return []
    columns = np.stack([_vector(base, under(e), values) - none for e in np.eye(3)], axis=-1)
    fitted = np.linalg.lstsq(columns, -none, rcond=None)[0]
    seen = np.abs(columns).max(axis=0) > 1e-9 * np.abs(columns).max(initial=0.0)
    g = np.where(seen, fitted, base.linkage.gravity)  # a component that nothing feels is taken as written
    g = np.where(np.abs(g) < 1e-9 * (1.0 + np.linalg.norm(base.linkage.gravity)), 0.0, g)
    if np.abs(g - base.linkage.gravity).max() < 1e-9 or not agrees(under(g), values):
        return []
    told = faults.gravity_words(base.linkage.gravity, g)
    return [Explanation(*told, plant=lambda m: replace(m, gravity=three(g)))]


def _weights(base: FourByFour, values: Values) -> list[Explanation]:
    m, found = base.linkage, []
    start = _vector(base, base, values)
    if not start.size or not np.isfinite(start).all():
        return []
    for h in FAULTS:
        if h.moves:
            continue
        places = h.candidates(m)
        for chosen in _subsets(base, values, h, places, start):
            if agrees(base.with_inertias_of(h.plant(m, chosen)), values):
                found.append(_told(h, m, chosen))
    return found or _factor(base, values, start)


def _subsets(
    base: FourByFour, values: Values, h: Fault, places: tuple[int, ...], start: Array
) -> Iterator[tuple[int, ...]]:
    """The sets of parts that may have the fault: those of a least-squares fit of 0 or 1 for each, then all."""
    if not places:
        return
    planted = [base.with_inertias_of(h.plant(base.linkage, (i,))) for i in places]
    for some in (_screen(base, values), values):
        begin = start if some is values else _vector(base, base, some)
        columns = np.stack([_vector(base, r, some) - begin for r in planted], axis=-1)
        fitted = np.linalg.lstsq(columns, -begin, rcond=1e-10)[0]
        if np.abs(columns @ fitted + begin).max(initial=0.0) > 1e-6:
            return  # no share of the fault in any part gives the numbers
    for k, i in enumerate(places):  # one part alone, where others do the same
        along = columns[:, k]
        square = float(along @ along)
        if square and abs(-(along @ start) / square - 1.0) < 1e-4 and np.abs(start + along).max() < 1e-6:
            yield (i,)
    seen = np.abs(columns).max(axis=0, initial=0.0) > 0.0  # by these few states
    chosen = tuple(i for i, x in zip(places, fitted, strict=True) if abs(x - 1.0) < 1e-3)
    more = tuple(i for i, x, s in zip(places, fitted, seen, strict=True) if not s or abs(x - 1.0) < 1e-3)
    yield from dict.fromkeys(x for x in (chosen, more, places) if x)


def _screen(base: FourByFour, values: Values) -> Values:
    """One quantity that differs, or all if none does."""
    for name in SCREENS:
        if name in values and np.max(QUANTITIES[name].relative(base, values[name]), initial=0.0) > 1e-6:
            return {name: values[name]}
    return values


def _factor(base: FourByFour, values: Values, start: Array) -> list[Explanation]:
    """All masses and inertias times one number, of those that say why."""

    def scaled(m: Linkage, f: float) -> Linkage:
        return m.with_parts({i: heavier(p, f, f) for i, p in enumerate(m.parts)})

    column = _vector(base, base.with_inertias_of(scaled(base.linkage, 2.0)), values) - start
    square = float(column @ column)
    if not square:
        return []
    known = [f for f in (*TELLING, POUND, 1.0 / POUND) if f > 0.0]
    f = telling_factor(1.0 - float(column @ start) / square, known)
    if f is None or not agrees(base.with_inertias_of(scaled(base.linkage, f)), values):
        return []
    words = f"all masses and inertias were {f:.6g} times as large"
    return [Explanation("units", words, plant=lambda m: scaled(m, f))]


# geometry


def _geometry(base: FourByFour, values: Values) -> list[Explanation]:
    m = base.linkage
    for cause, words, other in faults.other_tables(m):
        if agrees(FourByFour(other, base.states), values):
            return [Explanation(cause, words, plant=partial(_swap, other))]
    suspect, found = _first_moved(base, values), []
    for h in FAULTS:
        if not h.moves:
            continue
        for chosen in _tried(base, values, h, suspect):
            if agrees(FourByFour(h.plant(m, chosen), base.states), values):
                found.append(_told(h, m, chosen))
                break
    return found or _shifted(base, values) or _in_two_steps(base, values, suspect)


def _swap(other: Linkage, _m: Linkage) -> Linkage:
    return other


def _in_two_steps(base: FourByFour, values: Values, suspect: int | None) -> list[Explanation]:
    """A fault of the geometry that puts every link where it is, and one of the masses or of gravity on top of it."""
    kinematic = {k: v for k, v in values.items() if k in KINEMATIC}
    if suspect is None:
        return []
    m = base.linkage
    for h in FAULTS:
        for chosen in _tried(base, values, h, suspect) if h.moves else ():
            planted = FourByFour(h.plant(m, chosen), base.states)
            if not agrees(planted, kinematic):
                continue
            first = _told(h, m, chosen)
            for second in (*_gravity(planted, values), *_weights(planted, values)):
                words = f"{first.words}, and {second.words}"
                cause = f"{first.cause} and {second.cause}"
                return [Explanation(cause, words, (*first.parts, *second.parts), _both(first, second))]
    return []


def _both(first: Explanation, second: Explanation) -> Callable[[Linkage], Linkage] | None:
    one, two = first.plant, second.plant
    return None if one is None or two is None else lambda m: two(one(m))


def _tried(base: FourByFour, values: Values, h: Fault, suspect: int | None) -> Iterator[tuple[int, ...]]:
    """The sets of parts in which a fault of the geometry is tried: where the first frame is elsewhere, all, and, down
    the tree, every part that is elsewhere though those before it have been put right."""
    places = h.candidates(base.linkage)
    if not places:
        return
    if h.whole:
        yield places
        return
    if suspect in places:
        yield (suspect,)
    yield places
    chosen: tuple[int, ...] = ()
    last = suspect
    while last is not None and last in places and last not in chosen and len(chosen) < MOST_SINGLES:
        chosen = (*chosen, last)
        last = _first_moved(FourByFour(h.plant(base.linkage, chosen), base.states), values)
        if last is None and 1 < len(chosen) < len(places):
            yield chosen
    if suspect is None:
        yield from ((i,) for i in places[:MOST_SINGLES] if len(places) > 1)


def _first_moved(base: FourByFour, values: Values) -> int | None:
    """The first part, in the order of the tree, that is elsewhere."""
    if "pose" not in values:
        return None
    quantity = QUANTITIES["pose"]
    for i, part in enumerate(base.linkage.parts):
        if part.link in values["pose"]:
            one = {part.link: values["pose"][part.link]}
            if np.max(quantity.relative(base, one), initial=0.0) > MARGIN * quantity.allowed:
                return i
    return None


def _shifted(base: FourByFour, values: Values) -> list[Explanation]:
    """Every frame displaced by one and the same pose B, which the robot stands on; gravity stays, or turns with it."""
    m, poses = base.linkage, values.get("pose", {})
    moving = [f for f in poses if base.motion.paths[base.part(f)]]
    if not moving:
        return []
    shifts = np.concatenate([poses[f] @ np.linalg.inv(base.pose(f)[: len(poses[f])]) for f in moving])
    B = shifts[0]
    if np.abs(shifts - B).max() > 1e-8 or np.abs(B - np.eye(4)).max() < 1e-8:
        return []
    stand = three(B[:3, 3]), angles(B[:3, :3])
    for gravity in (m.gravity, three(B[:3, :3] @ np.array(m.gravity))):
        if agrees(FourByFour(_standing(m, stand, gravity), base.states), values):
            shown = (", ".join(f"{v:.6g}" for v in three) for three in stand)
            words = "the robot stood on another base: displaced by xyz ({}), rpy ({})".format(*shown)
            return [Explanation("base transform", words, plant=partial(_standing, stand=stand, gravity=gravity))]
    return []


def _standing(m: Linkage, stand: tuple[Three, Three], gravity: Three) -> Linkage:
    first = {i: replace(p, before=(stand, *p.before)) for i, p in enumerate(m.parts) if p.parent == 0}
    return replace(m.with_parts(first), gravity=gravity)


def _coriolis(base: FourByFour, values: Values) -> list[Explanation]:
    """Coriolis' acceleration 2 ω × v without its factor 2, or without all of it."""
    for factor, words in ((1.0, "Coriolis' acceleration 2 ω × v had the factor 1"), (0.0, "it had none at all")):
        if agrees(FourByFour(replace(base.linkage, coriolis=factor), base.states), values):
            return [Explanation("Coriolis terms", words, plant=partial(replace, coriolis=factor))]
    return []


# terms: what a member leaves out, counts twice or turns round, without a fault in the linkage


def combination(linkage: Linkage, states: States, values: Values, more: bool = False) -> list[Explanation]:
    """For the quantities that differ: which of their terms enter with another factor than one, the same in all of them.
    `more`: there are others, that agree."""
    few = states.few
    base = FourByFour(linkage, few)
    factors: dict[str, float] = {}
    told: list[Explanation] = []
    for name, value in take_first({k: values[k] for k in QUANTITIES if k in values}, len(few)).items():
        if name == "jacobian":
            told.append(_jacobian(base, value) or UNEXPLAINED)
            continue
        scale = QUANTITIES[name].scale(base)
        if name == "torque_by_q" and np.abs((np.swapaxes(value, -1, -2) - base.torque_by_q) / scale).max() < 1e-7:
            told.append(Explanation("derivative terms", "∂τ/∂q were transposed"))
            continue
        fitted = _factors(*_terms(base, name, value), scale)
        if fitted is None or any(abs(factors.get(k, x) - x) > 1e-6 for k, x in fitted.items()):
            return []
        factors |= fitted
    told += _odd(factors)
    if not told or UNEXPLAINED in told:
        return []
    only = f" (in {', '.join(QUANTITIES[k].title for k in values)} alone)" if more else ""
    return [Explanation(told[0].cause, " and ".join(e.words for e in told) + only)]


UNEXPLAINED = Explanation("", "")


def _jacobian(base: FourByFour, value: dict[str, Array]) -> Explanation | None:
    """A Jacobian that is expressed otherwise, the same way for all frames."""
    ways = [faults.other_jacobians(base.pose(f), base.jacobian(f)) for f in value]
    size = max([1.0, *(float(np.abs(J).max(initial=0.0)) for J in value.values())])
    for words in ways[0] if ways else ():
        apart = [way[words] - J for way, J in zip(ways, value.values(), strict=True)]
        if max(float(np.abs(x).max(initial=0.0)) for x in apart) < 1e-8 * size:
            return Explanation("Jacobian's frame" if "sign" not in words else "Jacobian's sign", words)
    return None


def telling_factor(x: float, known: Sequence[float] = TELLING) -> float | None:
    """The factor that says why, if this is one to rounding."""
    return next((f for f in known if abs(x - f) < 1e-6 * (abs(f) or 1.0)), None)


def _terms(base: FourByFour, name: str, value: Array) -> tuple[Array, dict[str, Array]]:
    """What should be equal to the sum of which terms."""
    s = base.states
    links = base.mass_matrix - np.diag(base.rotors)
    if name in ("torque", "acceleration"):
        a = s.qdd if name == "torque" else value
        return (value if name == "torque" else s.tau), {
            "the inertia of the links": times(links, a),
            "rotor inertia": base.rotors * a,
            **_velocity_terms(base),
            "gravity": base.gravity_torque,
        }
    if name == "mass_matrix":
        return value, {"the inertia of the links": links, "rotor inertia": np.zeros_like(links) + np.diag(base.rotors)}
    if name == "coriolis_torque":
        return value, _velocity_terms(base)
    if name == "friction_torque":
        return value, base.frictions
    if name in ("torque_by_q", "acceleration_by_q"):
        rest, still = np.zeros_like(s.qd), np.zeros_like(s.qdd)
        g = FourByFour(base.linkage, replace(s, qd=rest, qdd=still)).torque_by_q
        cg = FourByFour(base.linkage, replace(s, qdd=still)).torque_by_q
        target = value if name == "torque_by_q" else -(base.mass_matrix[: len(value)] @ value)
        return target, {
            "the derivative of M q̈": base.torque_by_q - cg,
            "the derivative of c": cg - g,
            "the derivative of gravity": g,
        }
    if name in ("torque_by_qd", "acceleration_by_qd"):
        target = value if name == "torque_by_qd" else -(base.mass_matrix[: len(value)] @ value)
        return target, {"the derivative of c by q̇": base.torque_by_qd}
    if name in ("mass", "gravity_torque", "kinetic_energy", "potential_energy"):
        return value, {"gravity" if name == "gravity_torque" else name.replace("_", " "): getattr(base, name)}
    return np.zeros(0), {}


def _velocity_terms(base: FourByFour) -> dict[str, Array]:
    """c as the terms in q̇ᵢ² and those in q̇ᵢ q̇ⱼ."""
    s = base.states
    squares = np.zeros_like(base.coriolis_torque)
    for k in range(base.n):
        only = np.zeros_like(s.qd)
        only[:, k] = s.qd[:, k]
        squares = squares + FourByFour(base.linkage, replace(s, qd=only)).coriolis_torque
    return {"centripetal terms": squares, "Coriolis terms": base.coriolis_torque - squares}


CAUSE_OF_TERM = {
    "gravity": "gravity",
    "rotor inertia": "rotor inertia",
    "centripetal terms": "Coriolis terms",
    "Coriolis terms": "Coriolis terms",
    "the inertia of the links": "inertia",
    "damping": "friction semantics",
    "Coulomb friction": "friction semantics",
    "springs": "joint springs",
    "further friction": "friction semantics",
}


def _factors(target: Array, terms: dict[str, Array], scale: Array | float) -> dict[str, float] | None:
    """With which factors the terms make up the target, if each is one or tells why."""
    used = {k: v for k, v in terms.items() if np.abs(v / scale).max(initial=0.0) > 1e-12}
    if not used or not np.isfinite(target).all():
        return None
    columns = np.stack([(v / scale).reshape(-1) for v in used.values()], axis=-1)
    goal = (target / scale).reshape(-1)
    fitted, _, rank, _ = np.linalg.lstsq(columns, goal, rcond=1e-12)
    if rank < len(used) or np.abs(columns @ fitted - goal).max(initial=0.0) > 1e-7:
        return None
    factors = {k: telling_factor(float(x), (1.0, *TELLING)) for k, x in zip(used, fitted, strict=True)}
    known = {k: x for k, x in factors.items() if x is not None}
    if len(known) < len(factors):
        return None
    exact = sum(x * columns[:, k] for k, x in enumerate(known.values()))
    return known if np.abs(exact - goal).max(initial=0.0) < 1e-7 else None


def _odd(factors: dict[str, float]) -> list[Explanation]:
    """The terms whose factor is not one, each as an explanation."""
    told = []
    for term, factor in factors.items():
        if factor != 1.0:
            cause = CAUSE_OF_TERM.get(term, "derivative terms" if "derivative" in term else term)
            turned = cause == "gravity" and factor == -1.0
            told.append(Explanation("gravity sign" if turned else cause, _factor_words(term, factor)))
    return told


def _factor_words(term: str, factor: float) -> str:
    if factor == 0.0:
        return f"{term} were missing"
    if factor == -1.0:
        return f"{term} had the opposite sign"
    return f"{term} entered with the factor {factor:.6g}"


def where(states: States, relative: Array, allowed: float) -> str:
    """In which states a difference is there at all, as what that says of its terms."""
    k = len(relative)
    size = relative.reshape(k, -1).max(axis=-1, initial=0.0) > allowed
    moving, accelerated = states.moving[:k], states.accelerated[:k]
    if size[~moving & ~accelerated].any():
        return "it is there at rest"
    if size[~moving].any():
        return "it needs an acceleration: it is in the inertia"
    return "it needs a velocity: it is in the terms with q̇" if size.any() else ""
