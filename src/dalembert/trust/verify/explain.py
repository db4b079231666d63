"""Findings for numbers that differ: one cause for all the methods that it explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.trust.verify import diagnose
from dalembert.trust.verify.certificate import AGAIN, Difference, VerifyRun, difference_of, first_difference, values_of
from dalembert.trust.verify.diagnose import Explanation, take_first
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import Linkage, reorder
from dalembert.trust.verify.oracles import ORACLES
from dalembert.trust.verify.own_methods import OWN_METHODS, Values
from dalembert.trust.verify.quantities import QUANTITIES

NO_FAULT = "no fault of the table gives these numbers"
IN_SYMBOLS = "euler-lagrange"  # the method that uses exact right angles


def explain(c: VerifyRun) -> None:
    """Add a difference, with its cause if one is found, for everything that failed."""
    if c.failing:
        c.tell("looking for the cause")
    _explain_file(c)
    own = [key for key in c.failing if key in OWN_METHODS and key in c.own]
    broken = [key for key in c.failing if key in OWN_METHODS and key not in c.own]
    _explain_own(c, own)
    for key in broken:
        words = f"it ended in {c.failing[key][0][1].entry}"
        c.found.append(Difference((OWN_METHODS[key].title,), "its own failure", "", words))
    siding = _siding(c)
    for key in ORACLES:
        if key in c.failing and key not in siding:
            _add(c, [key], diagnose.explanations(c.linkage, c.states, c.own[key]))
    for difference, m, limits in c.limited:
        planted = [e.plant(m).limits for e in c.causes if e.plant is not None]
        if not any(np.shape(x) == np.shape(limits) and np.allclose(x, limits, rtol=1e-12) for x in planted):
            c.add(difference)  # unless another cause, such as that of a mimic joint, gives these limits too
    if "laws" in c.failing and not own and not broken:
        first = f"the law {c.failing['laws'][0][1].quantity}"
        c.found.append(Difference(("Dalembert",), first, "", "the law does not hold between its own methods"))


def _explain_own(c: VerifyRun, own: Sequence[str]) -> None:
    """Explain Dalembert's own methods that failed by one cause; the methods without that cause are one difference."""
    if not own:
        return
    found = diagnose.explanations(_seen_by(c, own), c.states, _pool(c, own))
    explained = [
        key for key in own if found and diagnose.is_given_by(found[0], _seen_by(c, [key]), c.states, c.own[key])
    ]
    for keys, causes in ((explained, found), ([key for key in own if key not in explained], [])):
        if keys:
            _add(c, keys, causes)


def _add(c: VerifyRun, keys: Sequence[str], found: Sequence[Explanation]) -> None:
    c.causes += found[:1]
    titles = tuple(OWN_METHODS[key].title if key in OWN_METHODS else ORACLES[key].title for key in keys)
    first = first_difference(r for key in keys for r in c.failing[key])
    c.found.append(difference_of(titles, first, found, f"{NO_FAULT}; {_where(c, keys)}"))


def _where(c: VerifyRun, keys: Sequence[str]) -> str:
    """Return in which states the first quantity that fails differs."""
    order = list(QUANTITIES)
    name, key = min(((name, key) for key in keys for name, _ in c.failing[key]), key=lambda x: order.index(x[0]))
    linkage = _seen_by(c, [key])
    reference = c.reference if linkage == c.linkage else FourByFour(linkage, c.states)
    relative = QUANTITIES[name].relative(reference, diagnose.common(c.own[key][name], reference))
    return diagnose.where(c.states, relative, QUANTITIES[name].allowed)


def _seen_by(c: VerifyRun, keys: Sequence[str]) -> Linkage:
    """Return the linkage that these methods use."""
    return c.exact if list(keys) == [IN_SYMBOLS] else c.linkage


def _pool(c: VerifyRun, keys: Sequence[str]) -> Values:
    """Return the values of these methods, those that fail first, and the poses."""
    if c.exact != c.linkage and len(keys) > 1:
        keys = [key for key in keys if key != IN_SYMBOLS]
    pool: Values = {"pose": c.own["kinematics"]["pose"]} if "kinematics" in c.own else {}
    for key in reversed(keys):
        pool |= c.own[key]
    for key in reversed(keys):
        pool |= {name: c.own[key][name] for name, _ in c.failing[key]}
    return pool


# the file, and the libraries that agree with it


def _siding(c: VerifyRun) -> list[str]:
    """Return the libraries that agree with the file read again where the description differs from it."""
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
    words = "no single fault of the table turns the file into the description that was read"
    first = first_difference(c.failing["file"])
    difference = difference_of(("the description as it was read",), first, found, words)
    siding = ", ".join(ORACLES[key].title for key in _siding(c))
    if siding:
        words = f"the {AGAIN} and {siding} agree with each other: the fault is in the description that was read"
        difference = replace(difference, words=f"{difference.words}; {words}")
    c.found.append(difference)
