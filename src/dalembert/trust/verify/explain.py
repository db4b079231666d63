"""From numbers that differ to findings: one cause for as many members as it explains.

Members that fail without a cause are told apart by whether they have the same numbers: the fault lies in the model that
they share, or in one computation. Two members agree where both compute a quantity, and where what they compute obeys

    τ = M q̈ + c + g,    K = ½ q̇ᵀ M q̇;

what a member that is right computes stands in for what neither of the two does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.trust.properties.mechanism import form, times
from dalembert.trust.verify import diagnose
from dalembert.trust.verify.certificate import AGAIN, Difference, VerifyRun, difference_of, first_difference, values_of
from dalembert.trust.verify.diagnose import MARGIN, Explanation, take_first
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import Array, Linkage, reorder
from dalembert.trust.verify.members import MEMBERS, Values
from dalembert.trust.verify.oracles import ORACLES
from dalembert.trust.verify.quantities import QUANTITIES

NO_FAULT = "no fault of the table gives these numbers"
MOST_LOOSE = 3  # groups of members without a cause, from which on they are one finding
IN_SYMBOLS = "euler-lagrange"  # the member that sees right angles made so
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


def explain(c: VerifyRun) -> None:
    """A finding for every cause of what failed, put to the comparison."""
    if c.failing:
        c.tell("looking for the cause")
    _explain_file(c)
    broken = [key for key in c.failing if key in MEMBERS and key not in c.own]
    own = [key for key in c.failing if key in MEMBERS and key in c.own]
    _explain_own(c, own)
    for key in broken:
        words = f"it ended in {c.failing[key][0][1].entry}"
        c.found.append(Difference((MEMBERS[key].title,), "its own failure", "", words))
    siding = _siding(c)
    for key in ORACLES:  # why another library differs from what was read, unless it sides with the file
        if key in c.failing and key not in siding:
            found, _ = _explain_together(c, [key])
            _add(c, [key], found, f"{NO_FAULT}: it may be the library's own")
    for difference, m, limits in c.limited:
        planted = [e.plant(m).limits for e in c.causes if e.plant is not None]
        if not any(np.shape(x) == np.shape(limits) and np.allclose(x, limits, rtol=1e-12) for x in planted):
            c.add(difference)  # unless another cause gives these limits too, as that of a mimic does
    if "laws" in c.failing and not own and not broken:
        first = f"the law {c.failing['laws'][0][1].quantity}"
        c.found.append(Difference(("Dalembert",), first, "", "the law does not hold between its own members"))


def _add(c: VerifyRun, keys: Sequence[str], found: Sequence[Explanation], words: str) -> None:
    titles = tuple(MEMBERS[key].title if key in MEMBERS else ORACLES[key].title for key in keys)
    c.causes += found[:1]
    first = first_difference(r for key in keys for r in c.failing[key])
    c.found.append(difference_of(titles, first, found, words))


# Dalembert's own members


def _explain_own(c: VerifyRun, own: Sequence[str]) -> None:
    """One cause for as many members as it explains; of the others, those with the same numbers together."""
    if not own:
        return
    found = diagnose.explanations(_seen_by(c, own), c.states, _pool(c, own, everybody=True))
    explained = [key for key in own if found and _is_explained(c, key, found[0])]
    if explained:
        _add(c, explained, found, "")
    told = [(keys, *_explain_together(c, keys)) for keys in groups(_ballot(c), [k for k in own if k not in explained])]
    loose = [keys for keys, why, _ in told if not why]
    for keys, why, words in told:
        if why or len(loose) < MOST_LOOSE:
            _add(c, keys, why, words)
    if len(loose) >= MOST_LOOSE:
        words = "these members do not agree with each other: it is in several computations, or in what they share"
        _add(c, [key for keys in loose for key in keys], [], f"{NO_FAULT}; {words}")


def _seen_by(c: VerifyRun, keys: Sequence[str]) -> Linkage:
    """The linkage that these members see."""
    return c.exact if list(keys) == [IN_SYMBOLS] else c.linkage


def _pool(c: VerifyRun, keys: Sequence[str], everybody: bool = False) -> Values:
    """The values of these members, those that fail first; of `everybody` else where they say nothing."""
    if c.exact != c.linkage and len(keys) > 1:
        keys = [key for key in keys if key != IN_SYMBOLS]  # of another linkage
    others = [key for key in MEMBERS if everybody and key in c.own and key not in c.failing]
    pool: Values = {}
    for key in reversed((*keys, *others)):
        pool |= c.own[key]
    for key in reversed(keys):
        pool |= {name: c.own[key][name] for name, _ in c.failing[key]}
    return pool


def _is_explained(c: VerifyRun, key: str, found: Explanation) -> bool:
    """Whether the linkage with the fault gives this member's numbers too."""
    values = diagnose.telling(c.own[key])
    if all(name.startswith("acceleration_by") for name in values):
        return True
    return diagnose.gives(found, _seen_by(c, [key]), c.states, values)


def _explain_together(c: VerifyRun, keys: Sequence[str]) -> tuple[list[Explanation], str]:
    """(causes, what is known where there is none) of members that agree with each other."""
    linkage, pool = _seen_by(c, keys), _pool(c, keys)
    failed = {name: pool[name] for key in keys for name, _ in c.failing[key] if name in pool}
    found: list[Explanation] = []
    if not all(QUANTITIES[name].few for name in pool):
        in_place = keys[0] in MEMBERS and "kinematics" in c.own and "kinematics" not in c.failing
        found = diagnose.explanations(linkage, c.states, pool, geometry=not in_place)
    found = found or diagnose.combination(linkage, c.states, failed, len(failed) < len(pool))
    name = next(name for name in QUANTITIES if name in failed)
    reference = c.reference if linkage == c.linkage else FourByFour(linkage, c.states)
    relative = QUANTITIES[name].relative(reference, diagnose.common(pool[name], reference))
    where = diagnose.where(c.states, relative, QUANTITIES[name].allowed)
    return found, f"{NO_FAULT}; {_whose(c, keys, set(failed))}; {where}"


def _whose(c: VerifyRun, keys: Sequence[str], failed: set[str]) -> str:
    """Whether a difference without a cause is in one computation or in what several share."""
    others = [key for key in c.own if key in MEMBERS and key not in keys]
    against = [key for key in others if comparable(failed, c.own[key])]
    if len(keys) > 1 and not against:
        return (
            "all members that compute them agree with each other: it is in the model that they share, or in how it "
            "is built, not in one algorithm"
        )
    if len(keys) > 1:
        titles = diagnose.list_names([MEMBERS[key].title for key in against])
        return f"these members agree with each other and not with {titles}: it is in what they share"
    if not others:
        return "no other member took part, by which to tell the model from the computation"
    if not against:
        return "no other member computes them: it is this computation, or what of the model it alone uses"
    if all(key in c.failing for key in against):
        return "the other members differ too, with other numbers: it may be in what they share"
    return "no other member has them: it is this computation itself"


# which members have the same numbers


@dataclass(frozen=True)
class Ballot:
    """The members' values by their keys, the names of those of their quantities that fail, and which of them see the
    linkage of `snapped` instead of the reference's, if there is one."""

    reference: FourByFour
    values: Mapping[str, Values]
    failing: Mapping[str, Collection[str]]
    turned: Collection[str] = ()
    snapped: FourByFour | None = None

    def pool(self, keys: Iterable[str], wrong: bool) -> Values:
        """What these members compute, of the quantities that fail or of those that agree."""
        pool: Values = {}
        for key in keys:
            names = [n for n in self.values[key] if (n in self.failing[key]) == wrong and n not in pool]
            pool |= {name: self.values[key][name] for name in names}
        return pool

    def slack(self, keys: Iterable[str]) -> float:
        """By how much members may differ relatively that do not see the same linkage."""
        if self.snapped is None or not any(key in self.turned for key in keys):
            return 0.0
        names = ("mass_matrix", "torque", "kinetic_energy", "potential_energy")
        r, s = self.reference, self.snapped
        return 100.0 * max(float(QUANTITIES[name].relative(r, getattr(s, name)).max(initial=0.0)) for name in names)


def _ballot(c: VerifyRun) -> Ballot:
    failing = {key: {name for name, _ in c.failing.get(key, ())} for key in c.own}
    own = {key: values for key, values in c.own.items() if key in MEMBERS}
    snapped = FourByFour(c.exact, c.states.few) if c.exact != c.linkage else None
    return Ballot(c.reference, own, failing, {IN_SYMBOLS}, snapped)


def linked(one: Iterable[str], two: Collection[str]) -> bool:
    """Whether a fault of the model that shows in these quantities would show in one of those."""
    return any(b in LINKS[a] or a in LINKS[b] for a in one for b in two)


def comparable(one: Collection[str], two: Collection[str]) -> bool:
    """Whether these quantities say something against those: the same, or terms of the same equations."""
    return bool(set(one) & set(two) or ((_DYNAMIC | _SLOPES) & set(one) and _DYNAMIC & set(two)))


def groups(ballot: Ballot, keys: Sequence[str]) -> list[list[str]]:
    """The members, each with those that have the same numbers."""
    found: list[list[str]] = []
    for key in keys:
        group = next((group for group in found if _joins(ballot, group, key)), None)
        if group is None:
            found.append([key])
        else:
            group.append(key)
    return found


def _joins(ballot: Ballot, group: Sequence[str], key: str) -> bool:
    failing = {name for k in group for name in ballot.failing[k]}
    if not linked(ballot.failing[key], failing):
        return False
    r, slack = ballot.reference, ballot.slack((*group, key))
    count = len(r.states.few)
    mine = take_first(ballot.values[key], count)
    pool = take_first(ballot.pool(group, False) | ballot.pool(group, True), count)  # what fails before what agrees
    shared = [name for name in mine if name in pool and not isinstance(mine[name], dict)]
    for name in shared:
        quantity = QUANTITIES[name]
        apart = quantity.difference(r, mine[name]) - quantity.difference(r, pool[name])
        if not _is_small(apart, quantity.scale(r), MARGIN * quantity.allowed + slack):
            return False
    if any(name in failing and name in ballot.failing[key] for name in shared):
        return True  # the same wrong numbers
    if not (_DYNAMIC & failing and _DYNAMIC & set(ballot.failing[key])):
        return True  # nothing that a law could tell
    right = ballot.pool((k for k in ballot.values if not ballot.failing[k]), False)
    return _is_consistent(r, mine | pool, take_first(right, count), slack)


def _is_consistent(r: FourByFour, v: Values, right: Values, slack: float) -> bool:
    """Whether the laws between the quantities hold, as far as there are the quantities for them. What is `right` stands
    in for M, c and g only: the sides of a law that are tested are the members' own."""
    s = r.states.few
    M, c, g = (v.get(name, right.get(name)) for name in ("mass_matrix", "coriolis_torque", "gravity_torque"))
    if M is None:
        return True
    tolerance = MARGIN * QUANTITIES["acceleration"].allowed + slack
    if "kinetic_energy" in v:
        K = 0.5 * form(s.qd, M, s.qd)
        if not _is_small(v["kinetic_energy"] - K, float(np.abs(K).max(initial=0.0)) or 1.0, tolerance):
            return False
    if c is None or g is None:
        return True
    bias = c + g
    scale = QUANTITIES["torque"].scale(r)
    for qdd, tau in ((s.qdd, v.get("torque")), (v.get("acceleration"), s.tau)):
        if qdd is not None and tau is not None:
            load = times(M, qdd)
            size = np.maximum(scale, (np.abs(load) + np.abs(bias)).max(axis=0, initial=0.0))
            if not _is_small(load + bias - tau, size, tolerance):
                return False
    return True


def _is_small(difference: Array, scale: Array | float, tolerance: float) -> bool:
    relative = np.abs(difference) / scale
    return bool(np.all(np.isfinite(relative)) and np.max(relative, initial=0.0) <= tolerance)


# the file, and the libraries that side with it


def _siding(c: VerifyRun) -> list[str]:
    """The libraries that have the numbers of the file read again, where these are not those of what was read."""
    again, few = c.source.again, c.states.few
    if again is None or "file" not in c.failing or again.coordinates != c.linkage.coordinates:
        return []
    there, failing = FourByFour(again, few), [key for key in ORACLES if key in c.failing]
    return [key for key in failing if diagnose.agrees(there, take_first(c.own[key], len(few)))]


def _explain_file(c: VerifyRun) -> None:
    again = c.source.again
    if again is None or "file" not in c.failing:
        return
    order = again.coordinates
    turned = reorder(c.states, c.linkage.coordinates, order)
    wanted = values_of(c.reference, order, c.shown_frames())
    found = diagnose.explanations(again, turned, diagnose.of_frames(wanted, FourByFour(again, turned).frames))
    c.causes += found[:1]
    words = "no single fault of the table turns the file into what was read"
    first = first_difference(c.failing["file"])
    difference = difference_of(("the description as it was read",), first, found, words)
    siding = ", ".join(ORACLES[key].title for key in _siding(c))
    if siding:
        words = f"the {AGAIN} and {siding} agree with each other: it is what was read"
        difference = replace(difference, words=f"{difference.words}; {words}")
    c.found.append(difference)
