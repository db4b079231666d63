"""What two descriptions of one robot write differently, number by number, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.describe.description import Loop
from dalembert.friction.laws import Friction
from dalembert.trust.verify.diagnose import listed
from dalembert.trust.verify.mechanism import Mechanism, Part

MOST_DIFFERENCES = 20  # shown one by one


def differences(other: Mechanism, mine: Mechanism) -> list[str]:
    """What the two write differently of links and joints of the same name, in words."""
    theirs = {p.link: p for p in other.parts}
    found = []
    if not np.allclose(other.gravity, mine.gravity, rtol=1e-12, atol=1e-12):
        found.append(f"gravity: {shown(mine.gravity)} here, {shown(other.gravity)} there")
    for part in mine.parts:
        if part.link in theirs:
            found += _part_differences(part, theirs[part.link])
    lacking = [p.link for p in mine.parts if p.link not in theirs]
    here = {p.link for p in mine.parts}
    extra = [p.link for p in other.parts if p.link not in here]
    found += [f"links only here: {listed(lacking)}"] if lacking else []
    found += [f"links only there: {listed(extra)}"] if extra else []
    return found


def shortened(found: Sequence[str]) -> list[str]:
    if len(found) <= MOST_DIFFERENCES:
        return list(found)
    return [*found[:MOST_DIFFERENCES], f"and {len(found) - MOST_DIFFERENCES} more"]


def loop_differences(other: Sequence[Loop], mine: Sequence[Loop]) -> list[str]:
    """What the two write differently of what closes a loop, in words."""
    theirs, here = {loop.name: loop for loop in other}, {loop.name: loop for loop in mine}
    found = [f"loop {name!r}: only here" for name in here if name not in theirs]
    found += [f"loop {name!r}: only there" for name in theirs if name not in here]
    for name in (name for name in here if name in theirs):
        a, b = _loop_fields(here[name]), _loop_fields(theirs[name])
        found += [
            f"loop {name!r}: {field} {shown(a[field])} here, {shown(b[field])} there"
            for field in a
            if not _same(a[field], b[field])
        ]
    return found


def _loop_fields(loop: Loop) -> dict[str, Any]:
    return {
        "kind": loop.kind,
        "links": f"{loop.first}, {loop.second}",
        "origin on the first": (loop.first_origin.xyz, loop.first_origin.rpy),
        "origin on the second": (loop.second_origin.xyz, loop.second_origin.rpy),
        "axis": loop.axis,
        "length": 0.0 if loop.length is None else loop.length,
    }


LINK_FIELDS = ("mass", "com", "inertia", "inertial_rpy")
JOINT_FIELDS = (
    "kind",
    "before",
    "axis",
    "multiplier",
    "offset",
    "rotor",
    "gear",
    "damping",
    "coulomb",
    "stiffness",
    "rest",
    "friction",
    "lower",
    "upper",
    "effort",
    "velocity",
)
LIMITS = ("lower", "upper", "effort", "velocity")


def written_limit(line: str) -> bool:
    """Whether a difference, in words, is one of limits."""
    return line.partition(": ")[2].partition(" ")[0] in LIMITS


def _part_differences(a: Part, b: Part) -> list[str]:
    found = []
    for field in (*LINK_FIELDS, *JOINT_FIELDS):
        x, y = getattr(a, field), getattr(b, field)
        if not _same(x, y):
            who = f"link {a.link!r}" if field in LINK_FIELDS else f"joint {a.joint!r}"
            name = "origin" if field == "before" else field.replace("_", " ")
            found.append(f"{who}: {name} {shown(x)} here, {shown(y)} there")
    return found


def _same(x: Any, y: Any) -> bool:
    """As numbers, or, of what is no number, as it is."""
    if isinstance(x, str) or _of_laws(x) or _of_laws(y):
        return bool(x == y)
    return np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-12, atol=1e-15)


def _of_laws(x: Any) -> bool:
    return isinstance(x, tuple) and any(isinstance(term, Friction) for term in x)


def shown(x: Any) -> str:
    if isinstance(x, str):
        return x
    if (isinstance(x, tuple) and not x) or _of_laws(x):
        return ", ".join(term.law for term in x) or "none"
    flat = [f"{v:.6g}" for v in np.ravel(np.asarray(x, dtype=float))]
    return flat[0] if len(flat) == 1 else f"({', '.join(flat)})"
