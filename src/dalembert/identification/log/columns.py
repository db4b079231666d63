"""What the columns of a log mean: by an explicit mapping, which always wins, by their names, or, where they have none,
by what is in them.

Columns without names: what they hold, by what is in them and by how many joints there are.

Times increase by even steps; rates are the derivatives of positions; what is neither is the torques, if only one block
of as many columns as there are joints is left. Anything less clear is left to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.errors import InputError, choose, listed, unknown
from dalembert.identification.log.families import TIMES, ColumnFamily, Joint, find_families, tokens
from dalembert.identification.log.samples import Table
from dalembert.identification.log.settings import UNITS
from dalembert.words import assign, mention

EVEN = 0.5  # steps of a clock lie within this part of their median, nearly all of them
ALIKE = 0.9  # correlation of recorded rates with the differences of positions
FACTORS = 1.5  # between the factors of the joints, by which rates are slopes
SAMPLES = 20_000  # rows that are looked at
# Words of columns that nobody expects to be used: the books of a simulation, counters and names of ROS.
QUIET = {"energy", "power", "work", "loss", "seq", "frame", "name"}
CALLED = {"t": "time", "q": "position", "qd": "rate", "tau": "torque"}


def guess_columns(table: Table, n: int) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Places of t, q, qd and tau, as far as they can be told, and a note; nothing if they cannot. Where several blocks
    might be torques (those of a controller beside the measured ones), there is no tau."""
    x = table.values[:SAMPLES]
    x = x[np.isfinite(x).all(axis=1)]
    if len(x) < 20:
        return {}, []
    width = x.shape[1]
    clocks = [k for k in range(width) if is_clock(x[:, k])]
    # A counter of the rows beside the times is no use; alone it may be milliseconds.
    clock = min(clocks, key=lambda k: bool((np.diff(x[:, k]) == 1).all()), default=None)
    rest = [k for k in range(width) if k not in clocks]
    if len(rest) % n or len(rest) // n < 2:
        return {}, []
    order = np.array(rest)
    blocks = len(rest) // n
    # q1 q2 … qd1 qd2 …, or q1 qd1 tau1 q2 …
    ways = [found for way in (order.reshape(blocks, n), order.reshape(n, blocks).T) if (found := _tell(x, way))]
    chosen = [found for found in ways if "qd" in found] or ways
    if len(chosen) != 1:
        return {}, []
    (found,) = chosen
    places: dict[str, tuple[int, ...]] = {} if clock is None else {"t": (clock,)}
    places |= {group: tuple(int(k) for k in columns) for group, columns in found.items()}
    shown = ", ".join(f"{g} = {_range(columns)}" for g, columns in places.items())
    return places, [f"columns without names, told by what is in them (from 0): {shown}"]


def _tell(x: Array, blocks: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Which of the blocks of columns are q, qd and tau."""
    count = len(blocks)
    slopes = {(a, b): _is_rate(x[:, blocks[a]], x[:, blocks[b]]) for a in range(count) for b in range(count) if a != b}
    pairs = [pair for pair, alike in slopes.items() if alike]
    if pairs:
        rates = {b for _, b in pairs}
        positions = sorted({a for a, _ in pairs} - rates)
        left = [k for k in range(count) if k not in rates and k not in positions]
        if len(positions) != 1:
            return {}
        first = next(b for a, b in pairs if a == positions[0])
        found = {"q": blocks[positions[0]], "qd": blocks[first]}
        return found | {"tau": blocks[left[0]]} if len(left) == 1 else found
    rough = [_roughness(x[:, block]) for block in blocks]
    for a, b in ((0, 1), (1, 0)) if count == 2 else ():  # torques hold what positions' second derivatives do
        if rough[a].max() < rough[b].min():
            return {"q": blocks[a], "tau": blocks[b]}
    return {}


def is_clock(t: Array) -> bool:
    """Whether numbers increase by even steps, nearly all of them."""
    steps = np.diff(t)
    step = float(np.median(steps))
    return bool(step > 0 and (steps >= 0).all() and (np.abs(steps - step) <= EVEN * step).mean() > 0.9)


def _is_rate(q: Array, qd: Array) -> bool:
    """Whether the second block is the slopes of the first, all columns that move by the same factor."""
    reach = max(1, len(q) // 2000)
    slope, rate = q[2 * reach :] - q[: -2 * reach], qd[reach:-reach]
    slope, rate = slope - slope.mean(axis=0), rate - rate.mean(axis=0)
    both, one, two = (slope * rate).sum(axis=0), (slope**2).sum(axis=0), (rate**2).sum(axis=0)
    moving = (one > 0) & (two > 0)
    if not moving.any() or (both[moving] <= ALIKE * np.sqrt(one * two)[moving]).any():
        return False
    factors = both[moving] / two[moving]
    return bool(factors.max() < FACTORS * factors.min())


def _roughness(x: Array) -> Array:
    """Second differences beside the range, of each column that moves."""
    spread, bend = np.ptp(x, axis=0), np.abs(np.diff(x, 2, axis=0)).mean(axis=0)
    return bend[spread > 0] / spread[spread > 0] if spread.any() else np.zeros(1)


def _range(columns: tuple[int, ...]) -> str:
    whole = len(columns) > 1 and columns == tuple(range(columns[0], columns[-1] + 1))
    return f"{columns[0]}-{columns[-1]}" if whole else ",".join(map(str, columns))


@dataclass(frozen=True)
class Meaning:
    """Which columns of a table hold what: their places, per group (time: one column, or seconds and nanoseconds), units
    that names told, and notes."""

    places: Mapping[str, tuple[int, ...]]
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_columns(
    table: Table,
    joints: Sequence[str],
    columns: object = None,
    need_time: bool = True,
    currents: bool = False,
    needed: Sequence[str] = ("q", "tau"),
) -> Meaning:
    """The places of t, q, qd and tau in the table, one per joint in the order of `joints`; currents instead of torques
    if they are wanted. What is `needed` and not found is refused."""
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            "wrong-type", "columns", problem="columns must be a dictionary, {'t': 'time', 'q': [...], 'tau': [...]}"
        )
    given: dict[str, object] = dict(columns or {})
    for group in given:
        choose("group of columns", group, CALLED)
    places = {group: _choose(table, group, x, joints) for group, x in given.items() if x is not None}
    notes: list[str] = []
    hints: dict[int, str] = {}
    if not table.named and not {"q", "tau"} <= given.keys():
        guessed, notes = guess_columns(table, len(joints))
        places = {g: guessed[g] for g in guessed if g not in given} | places
    elif table.named:
        families, hints, aside = find_families(table, joints)
        chosen = _choose_families(table, families, joints, [g for g in CALLED if g not in given], currents)
        for group, family in chosen.items():
            places[group] = _in_order(table, group, family, joints)
            left = [table.names[k] for k in family.places.values() if k not in places[group]]
            notes += [f"not joints of this robot, left out: {', '.join(map(repr, left[:6]))}"] if left else []
            notes += _remarks(family, table, any(f.group == "current" and f.whole(joints) for f in families))
        if "t" not in given and (dated := _times(table, families)):
            places["t"] = dated
        hints |= dict.fromkeys((k for f in families if f.group == "nsec" for k in f.places.values()), "ns")
        used = {k for columns_of in places.values() for k in columns_of}
        other = {k for f in families for k in f.places.values() if f.group not in given} | set(aside)
        unused = _abridge([table.names[k] for k in sorted(other - used) if not QUIET & {*tokens(table.names[k])}])
        notes += [f"not used: {', '.join(unused[:8])}{', …' if len(unused) > 8 else ''}"] if unused else []
    units = _units(table, places, hints)
    missing = [g for g in needed if g not in places]
    if missing:
        raise InputError("missing", "columns", problem=_lacking(table, missing, joints, places))
    if need_time and "t" not in places:
        raise InputError(
            "missing",
            "columns",
            problem=f"{table.source}: no column of times is found; say {assign('columns', {'t': ...})}, or "
            f"{assign('rate')} [Hz] if "
            f"the samples are even; the columns are {listed(table.names)}",
        )
    return Meaning(places, units, tuple(notes))


def _choose_families(
    table: Table, families: Sequence[ColumnFamily], joints: Sequence[str], groups: Sequence[str], currents: bool
) -> dict[str, ColumnFamily]:
    """One family per group: torques that were measured, else currents, else those that were commanded; positions, else
    columns that are named by their joints alone."""
    torques = ("current", "tau", "commanded tau") if currents else ("tau", "commanded tau", "current")
    kinds = {"q": ("q", "bare"), "qd": ("qd", "letter v"), "tau": (*torques, "letter t")}
    chosen: dict[str, ColumnFamily] = {}
    for group in (g for g in groups if g in kinds):
        of_kind = [[f for f in families if f.group == kind] for kind in kinds[group]]
        whole = next((fs for fs in of_kind if any(f.whole(joints) for f in fs)), next((fs for fs in of_kind if fs), []))
        best = sorted(whole, key=lambda f: f.rank(joints), reverse=True)
        if len(best) > 1 and best[0].whole(joints) and best[0].rank(joints) == best[1].rank(joints):
            if group == "qd":  # rates can be done without
                continue
            one, two = (table.names[min(f.places.values())] for f in best[:2])
            raise InputError(
                "conflict",
                "columns",
                problem=f"{table.source}: both {one!r} and {two!r}, and their fellows, look like "
                f"{CALLED[group]}s: say which "
                f"with {assign('columns', {group: _pattern(table, best[0], joints)})}",
            )
        if best and (group != "qd" or best[0].whole(joints)):
            chosen[group] = best[0]
    return chosen


def _abridge(names: Sequence[str]) -> list[str]:
    """Names in quotes, of those that differ by numbers alone the first, and how many there are of more than two."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    few = [own if len(own) < 3 else own[:1] for own in alike.values()]
    more = [f" (and {len(own) - 1} more)" if len(own) > 2 else "" for own in alike.values()]
    return [repr(name) + rest for own, rest in zip(few, more, strict=True) for name in own]


def _pattern(table: Table, family: ColumnFamily, joints: Sequence[str]) -> str:
    """The columns of a family as a pattern, if their names hold the joints' or count them; else the first."""
    joint, place = min(family.places.items(), key=lambda one: one[1])
    name = table.names[place]
    if isinstance(joint, str):
        return name.replace(joint, "{joint}")
    head, mark, tail = name.rpartition(str(joint))
    return f"{head}{{i}}{tail}" if mark else name


def _remarks(family: ColumnFamily, table: Table, currents: bool) -> list[str]:
    first = table.names[min(family.places.values())]
    meant = {"bare": "positions", "letter t": "torques", "letter v": "rates"}.get(family.group)
    if meant is not None and family.numbers():
        return [f"columns {first!r} … taken as {meant}"]
    if family.group == "commanded tau":
        other = f"; its currents are taken with {assign('torque_constant')} [N m/A]" if currents else ""
        return [f"no measured torques: those that the controller asked for ({first!r}, …) are taken{other}"]
    return []


def _times(table: Table, families: Sequence[ColumnFamily]) -> tuple[int, ...]:
    """The column of times, or two of seconds and nanoseconds: of several the one that increases, of these the header's
    own, then the first."""
    ways: list[tuple[tuple[bool, bool, int], tuple[int, ...]]] = []
    every = [f for f in families if f.group in TIMES]
    for family in every:
        at = family.places[family.group]
        pair = [f for f in every if f.group == "nsec"] if family.group == "sec" else []
        shared = max(pair, key=lambda f: len({*f.words} & {*family.words}), default=None)
        places = (at,) if shared is None else (at, shared.places["nsec"])
        x = table.values[:, at]
        x = x[np.isfinite(x)]
        moving = bool(len(x) > 1 and (x[1:] >= x[:-1]).mean() > 0.9 and (x[1:] > x[:-1]).any())
        if family.group != "nsec" or len(every) == 1 or moving:
            ways.append(((moving, "header" in family.words, -at), places))
    return max(ways)[1] if ways else ()


def _lacking(table: Table, missing: Sequence[str], joints: Sequence[str], places: Mapping[str, tuple[int, ...]]) -> str:
    n = len(joints)
    if not table.named and "q" in places:
        known = {g: list(own) if g != "t" else own[0] for g, own in places.items()}
        left = [k for k in range(len(table.names)) if not any(k in own for own in places.values())]
        return (
            f"{table.source}: its columns have no names; positions are told by what is in them, but several blocks of "
            f"{n} might be the torques: say which, as in {assign('columns', {**known, 'tau': left[:n]})}"
        )
    if not table.named:
        groups = ("q", "qd", "tau") if len(table.names) == 3 * n + 1 else ("q", "tau")
        example = {g: range(k * n + 1, k * n + n + 1) for k, g in enumerate(groups)}
        return (
            f"{table.source}: its {len(table.names)} columns have no names, and what is in them does not tell what "
            f"they are; say so by number, from 0, as in {assign('columns', {'t': 0, **example})}"
        )
    wanted = " and ".join(f"{CALLED[g]}s" for g in missing)
    return (
        f"{table.source}: no {wanted} of {n} joints are found among the columns {listed(table.names)}; "
        f"name them, one per joint or as a pattern: {assign('columns', dict.fromkeys(missing, '…_{i}'))}"
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
            raise InputError(
                "missing", "columns", problem=f"{mention('columns', group)} names no column for joint {lacking[0]!r}"
            )
        wanted = [wanted[j] for j in joints]
    if isinstance(wanted, str) and "{" in wanted:
        try:
            at_zero = wanted.format(i=0, joint=joints[0]) in table.names
            wanted = [wanted.format(i=k + (not at_zero), joint=j) for k, j in enumerate(joints)]
        except (KeyError, IndexError, ValueError):
            raise InputError(
                "wrong-value",
                "columns",
                problem=f"{mention('columns', group)} = {wanted!r}: a pattern has {{i}} or {{joint}} in it",
            ) from None
    if isinstance(wanted, str) and wanted not in table.names:  # an array of several columns
        wanted = [x for x in table.names if re.fullmatch(re.escape(wanted) + r"\[\d+\]", x)] or wanted
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    found = tuple(_place(table, group, one) for one in (wanted if several else [wanted]))  # type: ignore[attr-defined]
    if group != "t" and len(found) != n:
        raise InputError(
            "wrong-shape",
            "columns",
            problem=f"{table.source}: {mention('columns', group)} are {len(found)}, but the robot has {n} joints: "
            f"{', '.join(joints)}{_hint(n, len(found))}",
        )
    if group == "t" and len(found) > 2:
        raise InputError(
            "wrong-shape", "columns", problem="the columns of `t` must be one, or two: seconds and nanoseconds"
        )
    if len(set(found)) != len(found):
        raise InputError("duplicate", "columns", problem=f"{mention('columns', group)} names a column twice")
    return found


def _place(table: Table, group: str, one: object) -> int:
    if isinstance(one, str):
        choose(f"column of {table.source}", one, table.names)
        return table.names.index(one)
    try:
        k = int(one)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InputError(
            "wrong-type",
            "columns",
            problem=f"{mention('columns', group)} holds {one!r}: a column is a name, or a number from 0",
        ) from None
    if k != one or not -len(table.names) <= k < len(table.names):
        raise InputError(
            "out-of-range",
            "columns",
            problem=f"{mention('columns', group)} names column {one}; {table.source} has {len(table.names)}, from 0",
        )
    return int(k % len(table.names))


def _hint(robot: int, log: int) -> str:
    return f"; joints that the log lacks can be held still: {say_lock('joint')}" if log < robot else ""


def say_lock(joint: str) -> str:
    """How a joint is held."""
    return assign("locked", {joint: ...})


# ------------------------------------------------------------------------------------------------ by names
def _in_order(table: Table, group: str, family: ColumnFamily, joints: Sequence[str]) -> tuple[int, ...]:
    by_joint: Mapping[Joint, int] = family.places
    n, word = len(joints), CALLED[group]
    named = [j for j in joints if j in by_joint]
    if named:
        lacking = [j for j in joints if j not in by_joint]
        if lacking:
            raise InputError(
                "missing",
                "columns",
                problem=f"{table.source}: there is no {word} of joint {lacking[0]!r} among the columns, though "
                "there is one "
                f"of {named[0]!r}{_hint(1, 0)}",
            )
        return tuple(by_joint[j] for j in joints)
    numbers = family.numbers()
    if len(numbers) != n:
        gap = next((a + 1 for a, b in pairwise(numbers) if b > a + 1), None)
        what = f"; the one numbered {gap} is missing" if gap is not None else _hint(n, len(numbers))
        raise InputError(
            "wrong-shape",
            "columns",
            problem=f"{table.source}: there are {word}s of {len(numbers)} joints, but the robot has {n}: "
            f"{', '.join(joints)}{what}",
        )
    if numbers not in (list(range(n)), list(range(1, n + 1))):
        raise InputError(
            "wrong-value",
            "columns",
            problem=f"{table.source}: the {word}s are numbered {', '.join(map(str, numbers))}, neither 0 … "
            f"{n - 1} nor 1 … "
            f"{n}; name the columns with {assign('columns', {group: ...})}",
        )
    return tuple(by_joint[k] for k in numbers)


def _units(table: Table, places: Mapping[str, tuple[int, ...]], hints: Mapping[int, str]) -> dict[str, str]:
    units = {}
    for group, columns in places.items():
        told = {hints[k] for k in columns if hints.get(k) in UNITS[group]}
        if len(told) > 1 and not told <= {"rad", "m"} and not told <= {"rad/s", "m/s"}:
            raise InputError(
                "conflict",
                "units",
                problem=f"{table.source}: the {CALLED[group]}s have different units ({', '.join(sorted(told))}): say "
                f"{assign('units', {group: sorted(told)})}, one per joint",
            )
        if len(told) == 1 and not (group == "t" and len(columns) == 2):  # seconds and nanoseconds
            units[group] = told.pop()
    return units
