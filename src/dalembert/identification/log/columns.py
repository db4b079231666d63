"""What the columns of a log mean: times, positions, rates, torques, of which joint, in which unit, by their names.

Natural names are understood ("q1", "dq_2", "panda_joint3 position", "effort[0]", "actual_current_4", "time [ms]");
an explicit mapping always wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dalembert.errors import InputError, listed, unknown
from dalembert.identification.log.samples import Table
from dalembert.identification.log.units import UNITS, find_unit
from dalembert.words import call, say

CALLED = {"t": "time", "q": "position", "qd": "rate", "tau": "torque"}
# Words that say what a column holds, in the order in which they are looked for: "joint position error" is no position,
# "joint velocity" no joint. "qdd" and commanded values are known so that they are not mistaken for another group.
WORDS: dict[str, set[str]] = {
    group: set(words.split())
    for group, words in {
        "commanded": "target desired des cmd command commanded ref reference setpoint goal "
        "error err filtered predicted",
        "qdd": "qdd ddq qddot acc accel acceleration accelerations",
        "qd": "qd dq qdot vel velocity velocities speed speeds rate rates qp omega",
        "current": "current currents amps",
        "tau": "tau effort efforts torque torques trq force forces moment",
        "nsec": "nsec nsecs nanosec nanosecs nanoseconds",
        "sec": "sec secs seconds",
        "t": "t time timestamp timestamps stamp clock",
        "q": "q pos position positions angle angles theta encoder",
    }.items()
}
TIMES = ("t", "sec", "nsec")
DIGITS = 9  # a longer number counts no joints (a date, a serial number)
BRACKETED = re.compile(r"^(.*?)\s*[\[(]\s*([^\])\d][^\])]*)\s*[\])]\s*$")

Joint = int | str  # a number, or a name of the robot's


@dataclass(frozen=True)
class Meaning:
    """Which columns of a table hold what: their places, per group (time: one column, or seconds and nanoseconds), units
    that names told, and notes."""

    places: Mapping[str, tuple[int, ...]]
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_columns(table: Table, joints: Sequence[str], columns: object = None, need_time: bool = True) -> Meaning:
    """The places of t, q, qd and tau in the table, one per joint in the order of `joints`."""
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError("columns must be a dictionary, {'t': 'time', 'q': [...], 'tau': [...]}")
    given: dict[str, object] = dict(columns or {})
    for group in given:
        if group not in CALLED:
            raise unknown("group of columns", group, CALLED)
    places = {group: _choose(table, group, x, joints) for group, x in given.items() if x is not None}
    found, hints, aside = _by_name(table, joints, tuple(given))
    notes: list[str] = []
    for group in CALLED:
        if group not in given and group in found:
            places[group] = _in_order(table, group, found[group], joints)
            left = [table.names[k] for k in found[group].values() if k not in places[group]]
            what = "other times" if group == "t" else "not joints of this robot"
            notes += [f"{what}, left out: {', '.join(repr(x) for x in left[:6])}"] if left else []
    units = _units(table, places, hints)
    used = {k for columns_of in places.values() for k in columns_of}
    unused = [repr(table.names[k]) for k in aside if k not in used]
    notes += [f"not used: {', '.join(unused[:8])}{', …' if len(unused) > 8 else ''}"] if unused else []
    missing = [g for g in ("q", "tau") if g not in places]
    if missing:
        raise InputError(_lacking(table, missing, joints))
    if need_time and "t" not in places:
        raise InputError(
            f"{table.source}: no column of times is found; say {say('columns', {'t': ...})}, or {say('rate')} [Hz] if "
            f"the samples are even; the columns are {listed(table.names)}"
        )
    return Meaning(places, units, tuple(notes))


def _lacking(table: Table, missing: Sequence[str], joints: Sequence[str]) -> str:
    n = len(joints)
    if not table.named:
        return (
            f"{table.source}: its {len(table.names)} columns have no names, so that nobody can know what they are; say "
            f"so by number, from 0: {say('columns', {'t': 0, 'q': range(1, n + 1), 'tau': range(n + 1, 2 * n + 1)})}"
        )
    wanted = " and ".join(f"{CALLED[g]}s" for g in missing)
    return (
        f"{table.source}: no {wanted} of {n} joints are found among the columns {listed(table.names)}; "
        f"name them, one per joint or as a pattern: {say('columns', dict.fromkeys(missing, '…_{i}'))}"
    )


# ------------------------------------------------------------------------------------------------ explicit mapping
def _choose(table: Table, group: str, wanted: object, joints: Sequence[str]) -> tuple[int, ...]:
    """The places that a user names: a column, an array of several columns, a pattern with {i} or {joint}, a list of
    names or numbers in the order of the joints, or a dictionary by joint."""
    n = len(joints)
    if isinstance(wanted, Mapping):
        strange = [j for j in wanted if j not in joints]
        if strange:
            raise unknown("joint", strange[0], joints)
        lacking = [j for j in joints if j not in wanted]
        if lacking:
            raise InputError(f"{call('columns', group)} names no column for joint {lacking[0]!r}")
        wanted = [wanted[j] for j in joints]
    if isinstance(wanted, str) and "{" in wanted:
        try:
            at_zero = wanted.format(i=0, joint=joints[0]) in table.names
            wanted = [wanted.format(i=k + (not at_zero), joint=j) for k, j in enumerate(joints)]
        except (KeyError, IndexError, ValueError):
            raise InputError(f"{call('columns', group)} = {wanted!r}: a pattern has {{i}} or {{joint}} in it") from None
    if isinstance(wanted, str) and wanted not in table.names:  # an array of several columns
        wanted = [x for x in table.names if re.fullmatch(re.escape(wanted) + r"\[\d+\]", x)] or wanted
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    found = tuple(_place(table, group, one) for one in (wanted if several else [wanted]))  # type: ignore[attr-defined]
    if group != "t" and len(found) != n:
        raise InputError(
            f"{table.source}: {call('columns', group)} are {len(found)}, but the robot has {n} joints: "
            f"{', '.join(joints)}{_hint(n, len(found))}"
        )
    if group == "t" and len(found) > 2:
        raise InputError(f"{call('columns', 't')} is one column, or two: seconds and nanoseconds")
    if len(set(found)) != len(found):
        raise InputError(f"{call('columns', group)} names a column twice")
    return found


def _place(table: Table, group: str, one: object) -> int:
    if isinstance(one, str):
        if one not in table.names:
            raise unknown(f"column of {table.source}", one, table.names)
        return table.names.index(one)
    try:
        k = int(one)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InputError(f"{call('columns', group)} holds {one!r}: a column is a name, or a number from 0") from None
    if k != one or not -len(table.names) <= k < len(table.names):
        raise InputError(f"{call('columns', group)} names column {one}; {table.source} has {len(table.names)}, from 0")
    return int(k % len(table.names))


def _hint(robot: int, log: int) -> str:
    return f"; joints that the log lacks can be held still: {say_lock('joint')}" if log < robot else ""


def say_lock(joint: str) -> str:
    """How a joint is held."""
    return say("lock", {joint: ...}, python=f"dalembert.identification.locked(robot, {{{joint!r}: position}})")


# ------------------------------------------------------------------------------------------------ natural names
def tokens(name: str) -> list[str]:
    """Words and numbers of a name in lower case: "Joint2_actualPos[rad]" → joint 2 actual pos rad."""
    split = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name)
    return re.findall(r"[a-zµ°]+|\d+", split.lower())


def without_unit(name: str) -> tuple[str, str | None]:
    """A name and the unit that stands in brackets, or after an underscore, behind it."""
    match = BRACKETED.match(name)
    if match and (unit := find_unit(match[2])):
        return match[1], unit
    stem, _, last = name.rpartition("_")
    if stem and len(last) > 1 and (unit := find_unit(last)):
        return stem, unit
    return name, None


def _by_name(
    table: Table, joints: Sequence[str], given: Sequence[str]
) -> tuple[dict[str, dict[Joint, int]], dict[int, str], list[int]]:
    """Per group that is not given: joint → place; units by place; columns that mean nothing."""
    found: dict[str, dict[Joint, int]] = {}
    hints: dict[int, str] = {}
    aside: list[int] = []
    known = {joint: tokens(joint) for joint in sorted(joints, key=lambda joint: -len(tokens(joint)))}
    for k, column in enumerate(table.names if table.named else ()):
        stem, unit = without_unit(column)
        unit = unit or find_unit(table.units.get(column, ""))
        words = tokens(stem)
        group, key = _meaning(words, known)
        if group is None or group in ("commanded", "qdd") or (group not in TIMES and key is None):
            aside.append(k)
            continue
        if group == "t" and key is not None and "t" in words:  # T1 is no time
            aside.append(k)
            continue
        if group in TIMES:
            group, key = "t", group
        unit = unit or ("A" if group == "current" else None)
        if unit is not None:
            hints[k] = unit
        means = "tau" if group == "current" else group
        if means in given:
            continue
        assert key is not None
        if key in found.get(group, {}):
            first = table.names[found[group][key]]
            raise InputError(
                f"{table.source}: both {first!r} and {column!r} look like the {CALLED[means]} of "
                f"{'the log' if group == 't' else f'joint {key!r}'}: say which with {say('columns', {means: ...})}"
            )
        found.setdefault(group, {})[key] = k
    if set(found.get("t", {})) == {"nsec"}:
        hints.setdefault(found["t"]["nsec"], "ns")
    currents = found.pop("current", {})
    if currents and "tau" not in found:
        found["tau"] = currents
    elif currents:
        aside += list(currents.values())
    return found, hints, sorted(aside)


def _meaning(words: list[str], known: Mapping[str, list[str]]) -> tuple[str | None, Joint | None]:
    """What a column holds, and of which joint: its name if the column has it, else the last number."""
    for joint, name in known.items():
        spots = range(len(words) - len(name) + 1)
        at = next((k for k in spots if name and words[k : k + len(name)] == name), None)
        if at is not None and (group := _group(words[:at] + words[at + len(name) :])) is not None:
            return group, joint
    numbers = [int(w) for w in words if w.isdigit() and len(w) <= DIGITS]
    return _group([w for w in words if not w.isdigit()]), numbers[-1] if numbers else None


def _group(words: Sequence[str]) -> str | None:
    if "q" in words and "dot" in words:
        return "qd"
    return next((group for group, telling in WORDS.items() if telling & set(words)), None)


def _in_order(table: Table, group: str, by_joint: dict[Joint, int], joints: Sequence[str]) -> tuple[int, ...]:
    if group == "t":
        if "sec" in by_joint and "nsec" in by_joint:
            return by_joint["sec"], by_joint["nsec"]
        return (by_joint["t"] if "t" in by_joint else next(iter(by_joint.values())),)
    n, word = len(joints), CALLED[group]
    named = [j for j in joints if j in by_joint]
    if named:
        lacking = [j for j in joints if j not in by_joint]
        if lacking:
            raise InputError(
                f"{table.source}: there is no {word} of joint {lacking[0]!r} among the columns, though there is one "
                f"of {named[0]!r}{_hint(1, 0)}"
            )
        return tuple(by_joint[j] for j in joints)
    numbers = sorted(k for k in by_joint if isinstance(k, int))
    if len(numbers) != n:
        gap = next((a + 1 for a, b in pairwise(numbers) if b > a + 1), None)
        what = f"; the one numbered {gap} is missing" if gap is not None else _hint(n, len(numbers))
        raise InputError(
            f"{table.source}: there are {word}s of {len(numbers)} joints, but the robot has {n}: "
            f"{', '.join(joints)}{what}"
        )
    if numbers not in (list(range(n)), list(range(1, n + 1))):
        raise InputError(
            f"{table.source}: the {word}s are numbered {', '.join(map(str, numbers))}, neither 0 … {n - 1} nor 1 … "
            f"{n}; name the columns with {say('columns', {group: ...})}"
        )
    return tuple(by_joint[k] for k in numbers)


def _units(table: Table, places: Mapping[str, tuple[int, ...]], hints: Mapping[int, str]) -> dict[str, str]:
    units = {}
    for group, columns in places.items():
        told = {hints[k] for k in columns if hints.get(k) in UNITS[group]}
        if len(told) > 1 and not told <= {"rad", "m"} and not told <= {"rad/s", "m/s"}:
            raise InputError(
                f"{table.source}: the {CALLED[group]}s have different units ({', '.join(sorted(told))}): say "
                f"{say('units', {group: sorted(told)})}, one per joint"
            )
        if len(told) == 1:
            units[group] = told.pop()
    return units
