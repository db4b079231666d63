"""From numbers that differ to findings: one cause for as many members as it explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.trust.verify import consensus, diagnose, states
from dalembert.trust.verify.certificate import Difference
from dalembert.trust.verify.comparison import AGAIN, Comparison, difference_of, first_difference, values_of
from dalembert.trust.verify.diagnose import Explanation
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Mechanism
from dalembert.trust.verify.members import MEMBERS, Values
from dalembert.trust.verify.oracles import ORACLES
from dalembert.trust.verify.quantities import QUANTITIES

NO_FAULT = "no fault of the table gives these numbers"
MOST_LOOSE = 3  # groups of members without a cause, from which on they are one finding


def explain(c: Comparison) -> None:
    """A finding for every cause of what failed, put to the comparison."""
    if c.failing:
        c.tell("looking for the cause")
    _file(c)
    broken = [key for key in c.failing if key in MEMBERS and key not in c.own]
    own = [key for key in c.failing if key in MEMBERS and key in c.own]
    _own(c, own)
    for key in broken:
        words = f"it ended in {c.failing[key][0][1].entry}"
        c.found.append(Difference((MEMBERS[key].title,), "its own failure", "", words))
    for key in ORACLES:
        if key in c.failing:
            _library(c, key)
    for finding, m, limits in c.limited:
        planted = [e.plant(m).limits for e in c.causes if e.plant is not None]
        if not any(np.shape(x) == np.shape(limits) and np.allclose(x, limits, rtol=1e-12) for x in planted):
            c.add(finding)  # unless another cause gives these limits too, as that of a mimic does
    if "laws" in c.failing and not own and not broken:
        first = f"the law {c.failing['laws'][0][1].quantity}"
        c.found.append(Difference(("Dalembert",), first, "", "the law does not hold between its own members"))


def _own(c: Comparison, own: Sequence[str]) -> None:
    """One cause for as many members as it explains; of the others, those with the same numbers together."""
    if not own:
        return
    found = diagnose.explanations(_judged(c, own), c.states, _pooled(c, own, everybody=True))
    explained = [key for key in own if found and _explained(c, key, found[0])]
    if explained:
        _find(c, explained, found, "")
    groups = consensus.groups(_consensus(c), [key for key in own if key not in explained])
    told = [(keys, *_together(c, keys)) for keys in groups]
    loose = [keys for keys, why, _ in told if not why]
    for keys, why, words in told:
        if why or len(loose) < MOST_LOOSE:
            _find(c, keys, why, words)
    if len(loose) >= MOST_LOOSE:
        words = "these members do not agree with each other: it is in several computations, or in what they share"
        _find(c, [key for keys in loose for key in keys], [], f"{NO_FAULT}; {words}")


def _consensus(c: Comparison) -> consensus.Case:
    failing = {key: {name for name, _ in c.failing.get(key, ())} for key in c.own}
    own = {key: values for key, values in c.own.items() if key in MEMBERS}
    snapped = Reference(c.exact, c.states.few) if c.exact != c.mechanism else None
    return consensus.Case(c.reference, own, failing, {"euler-lagrange"}, snapped)


def _judged(c: Comparison, keys: Sequence[str]) -> Mechanism:
    """The mechanism that these members see."""
    return c.exact if list(keys) == ["euler-lagrange"] else c.mechanism


def _pooled(c: Comparison, keys: Sequence[str], everybody: bool = False) -> Values:
    """The values of these members, those that fail first; of `everybody` else where they say nothing."""
    if c.exact != c.mechanism and len(keys) > 1:
        keys = [key for key in keys if key != "euler-lagrange"]  # of another mechanism
    pool: Values = {}
    for key in keys:
        pool |= {name: c.own[key][name] for name, _ in c.failing[key] if name not in pool}
    others = [key for key in MEMBERS if everybody and key in c.own and key not in c.failing]
    for key in (*keys, *others):
        pool |= {name: value for name, value in c.own[key].items() if name not in pool}
    return pool


def _explained(c: Comparison, key: str, found: Explanation) -> bool:
    """Whether the mechanism with the fault gives this member's numbers too."""
    values = diagnose.telling(c.own[key])
    if all(name.startswith("acceleration_by") for name in values):
        return True
    return diagnose.gives(found, _judged(c, [key]), c.states, values)


def _together(c: Comparison, keys: Sequence[str]) -> tuple[list[Explanation], str]:
    """(causes, what is known where there is none) of members that agree with each other."""
    mechanism, pool = _judged(c, keys), _pooled(c, keys)
    failed = {name: pool[name] for key in keys for name, _ in c.failing[key] if name in pool}
    found: list[Explanation] = []
    if not all(QUANTITIES[name].few for name in pool):
        in_place = keys[0] in MEMBERS and "kinematics" in c.own and "kinematics" not in c.failing
        found = diagnose.explanations(mechanism, c.states, pool, geometry=not in_place)
    found = found or diagnose.combination(mechanism, c.states, failed, len(failed) < len(pool))
    name = next(name for name in QUANTITIES if name in failed)
    reference = c.reference if mechanism == c.mechanism else Reference(mechanism, c.states)
    relative = QUANTITIES[name].relative(reference, diagnose.common(pool[name], reference))
    where = diagnose.where(c.states, relative, QUANTITIES[name].allowed)
    return found, f"{NO_FAULT}; {_whose(c, keys, set(failed))}; {where}"


def _whose(c: Comparison, keys: Sequence[str], failed: set[str]) -> str:
    """Whether a difference without a cause is in one computation or in what several share."""
    others = [key for key in c.own if key in MEMBERS and key not in keys]
    if not others and len(keys) == 1:
        return "no other member took part, by which to tell the model from the computation"
    against = [key for key in others if consensus.comparable(failed, c.own[key])]
    if len(keys) == 1 and not against:
        return "no other member computes them: it is this computation, or what of the model it alone uses"
    if len(keys) == 1 and all(key in c.failing for key in against):
        return "the other members differ too, with other numbers: it may be in what they share"
    if len(keys) == 1:
        return "no other member has them: it is this computation itself"
    if not against:
        return (
            "all members that compute them agree with each other: it is in the model that they share, or in how it "
            "is built, not in one algorithm"
        )
    titles = diagnose.listed([MEMBERS[key].title for key in against])
    return f"these members agree with each other and not with {titles}: it is in what they share"


def _find(c: Comparison, keys: Sequence[str], found: Sequence[Explanation], words: str) -> None:
    titles = tuple(MEMBERS[key].title if key in MEMBERS else ORACLES[key].title for key in keys)
    c.causes += found[:1]
    c.found.append(difference_of(titles, first_difference([r for key in keys for r in c.failing[key]]), found, words))


def _library(c: Comparison, key: str) -> None:
    """Why another library differs from what was read, unless it sides with the file."""
    if key in _siding(c):
        return
    found, _ = _together(c, [key])
    _find(c, [key], found, f"{NO_FAULT}: it may be the library's own")


def _siding(c: Comparison) -> list[str]:
    """The libraries that have the numbers of the file read again, where these are not those of what was read."""
    again, few = c.source.again, c.states.few
    if again is None or "file" not in c.failing or again.coordinates != c.mechanism.coordinates:
        return []
    there, failing = Reference(again, few), [key for key in ORACLES if key in c.failing]
    return [key for key in failing if diagnose.agrees(there, diagnose.sliced(c.own[key], len(few)))]


def _file(c: Comparison) -> None:
    again = c.source.again
    if again is None or "file" not in c.failing:
        return
    mine = values_of(c.reference, c.mechanism.coordinates, c.shown_frames())
    order = again.coordinates
    wanted = values_of(c.reference, order, c.shown_frames()) if order != c.mechanism.coordinates else mine
    turned = states.reordered(c.states, c.mechanism.coordinates, order)
    frames = Reference(again, turned).frames
    wanted = {k: {f: x for f, x in v.items() if f in frames} if isinstance(v, dict) else v for k, v in wanted.items()}
    found = diagnose.explanations(again, turned, wanted)
    c.causes += found[:1]
    first = first_difference(c.failing["file"])
    words = "no single fault of the table turns the file into what was read"
    finding = difference_of(("the description as it was read",), first, found, words)
    siding = ", ".join(ORACLES[key].title for key in _siding(c))
    if siding:
        words = f"the {AGAIN} and {siding} agree with each other: it is what was read"
        finding = replace(finding, words=f"{finding.words}; {words}")
    c.found.append(finding)
