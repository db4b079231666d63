"""`read_log`: a recorded motion, from a file or arrays, on the joints' side in SI units, with all that was noticed.

A log passes a chain of steps: a table, what its columns mean, units and drives, times, rows and numbers that cannot be
used, spikes, even steps. Each takes data and gives data, with notes of what it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError
from dalembert.identification.log import checks, times
from dalembert.identification.log.columns import find_columns, guess_columns
from dalembert.identification.log.families import ColumnFamily, find_families, tokens
from dalembert.identification.log.formats import gather, read_table
from dalembert.identification.log.samples import Log, Table
from dalembert.identification.log.settings import LogSettings, LogWords, read_drives, time_unit
from dalembert.identification.log.stale import find_stale
from dalembert.robot import Robot
from dalembert.words import assign, mention

FEWEST = 10  # rows below which nothing is a motion
HAND = {"finger", "fingers", "gripper", "hand", "jaw", "knuckle", "thumb"}  # words of joints that logs of arms lack
FINGERS = 3  # joints at a robot's end that a log without names may lack
Source = str | Path | Sequence[str | Path] | Mapping[str, ArrayLike] | NDArray[Any]


def read_log(
    source: Source,
    robot: Robot,
    *,
    settings: LogSettings | None = None,
    time: ArrayLike | None = None,
    **words: Unpack[LogWords],
) -> Log:
    """A log of a robot: CSV and its relatives, npz, npy, Parquet, a ROS bag, or arrays.

        q = ± G⁻¹ θ + offset,   τ = ± H k_t i + offset,   H = Gᵀ

    - `columns`: which columns hold what, {"t": …, "q": …, "qd": …, "tau": …}, where natural names do not tell: a
      list of names or numbers (from 0) in the order of the joints, {joint: column}, a pattern such as "pos_{i}" or
      "{joint}/effort", or an array. "t": None leaves a column of times aside.
    - `units`: {"t": "s"|"ms"|"us"|"ns", "q": "rad"|"deg"|"turn"|"m"|"mm", "qd": …, "tau": "Nm"|"mNm"|"N"|"A"|"mA"},
      per group or per joint. What names tell ("q1 [deg]") counts where nothing is said.
    - `sign` ±1 per joint, of everything, or {"tau": …}; `offset` [rad, m] of the positions, or {"q": …, "tau": …}.
    - `ratio` N per joint, θ_m = N q and τ = N τ_m (or {"tau": N} if only torques are the motors'); `coupling` G (n,
      n), θ_m = G q; `torque_coupling` H; `torque_constant` k_t [N m/A].
    - `time` (N,) [s] or `rate` [Hz] where the log has no times, or uneven ones though its samples are even; `window`
      (from, to) [s] from the first sample; `topic` of a ROS bag with several.
    - `order` {"q": …, "tau": …} of exchanged columns, from 1; `lag` [s] by which the torques came late.
    - `gravity` [m/s²] and `locked` {joint: position}: the robot as it was recorded is `settings.at(robot)`.
    - `bad_rows` "refuse" or "drop" rows with NaN, infinite or absurd numbers; `outliers` "remove" or "keep" single
      spikes; `gaps` "cut" into pieces (times then jump) or "refuse"; `resample` "auto" to even steps where the clock
      jitters, "refuse", or "force" whatever the jitter; `still` "refuse" or "keep" columns that never change.

    `settings` hold all of these but `time`, as a command or a TOML file says them; words beside them win.
    Whatever is noticed is a sentence in `Log.notes`; what cannot be used raises InputError, which names file, line,
    column."""
    said = (settings or LogSettings()).updated(LogSettings(**words))  # type: ignore[arg-type]
    robot = said.at(robot)
    if robot.n == 0:
        raise InputError(
            "wrong-structure", "robot", problem=f"{robot.name!r} has no joints: there is nothing to identify"
        )
    return _read(read_table(source, said.topic), robot, said, time)


def read_positions(source: Source, robot: Robot) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (N,) [s] and positions (N, n) [rad, m] of a log that is only played back: it may lack torques, and joints
    may rest. Rows that cannot be used are left out."""
    table, said = read_table(source), LogSettings()
    known = find_columns(table, robot.joint_names, needed=("q",))
    drives, q = read_drives(robot, known.units, said), known.places["q"]
    t, _ = times.read_times(table, known.places["t"], None, None, time_unit(None, known.units))
    rows, _ = times.drop_undated(table, t, np.arange(len(t)), "drop")
    rows, _ = checks.drop_unreadable(table, q, rows, "drop")
    if len(rows) < 2:
        raise InputError(
            "too-few", "source", problem=f"{table.source}: {len(rows)} usable rows are no motion to play back"
        )
    t, rows, _ = times.order_rows(table, t, rows, q)
    positions = drives.at_joints("q", table.values[np.ix_(rows, np.asarray(q))])
    if known.units.get("q") is None and (evidence := checks.find_degrees(robot, positions)):
        raise InputError(
            "wrong-unit",
            "q",
            problem=f"{table.source}: the positions look like degrees: {evidence}; if they are, name their "
            "columns so, as in "
            f"'{table.names[q[0]]} [deg]'",
        )
    return t, positions


@dataclass(frozen=True, eq=False)
class RecordedLogs:
    """Logs of one robot that were recorded alike; the robot as it was recorded, and what was said about the logs, with
    what was found besides: joints that were held, units that were taken."""

    robot: Robot
    logs: tuple[Log, ...]
    settings: LogSettings


def read_logs(
    sources: Sequence[Source], robot: Robot, settings: LogSettings | None = None, *, look: bool = False
) -> RecordedLogs:
    """Several logs of one robot. Files with a quantity each, run1_q.csv and run1_tau.csv, are one log. Joints at the
    robot's ends that the logs lack, such as a gripper's, are held, and rows that cannot be used left out unless
    `bad_rows` is said: notes tell. With `look` a first look follows, which judges units: positions that must be
    degrees are left to it."""
    said, logs, notes = settings or LogSettings(), [], []
    as_they_come = LogSettings(bad_rows="drop").updated(said)
    paths = [source for source in sources if isinstance(source, (str, Path))]
    tables = [read_table(one, said.topic) for one in (gather(paths) if len(paths) == len(sources) else sources)]
    if tables and (held := find_held(tables[0], said.at(robot), said)):
        said = said.updated(LogSettings(locked=held))
        places = ", ".join(f"{joint!r} at {x:g}" for joint, x in held.items())
        notes = [f"the log has nothing of these joints, which are held: {places}; {assign('locked', held)} says so"]
    arm = said.at(robot)
    for table in tables:
        log = _read(table, arm, as_they_come.updated(said), look=look)
        logs.append(replace(log, notes=(*notes, *log.notes)))
        notes = []
    return RecordedLogs(arm, tuple(logs), said)


def find_held(table: Table, robot: Robot, said: LogSettings) -> dict[str, float]:
    """Joints at the ends of a robot, a gripper's fingers, of which the log lacks positions or torques, or neither ever
    changes; and where to hold them: where they are, or at the position nearest to zero that their limits allow."""
    joints = robot.joint_names
    q, tau = ((said.columns or {}).get(group) for group in ("q", "tau"))
    at: dict[str, float] = {}
    named = False
    if isinstance(q, list) and isinstance(tau, list):
        there = set(joints[: max(len(q), len(tau))])
    elif not table.named and q is None:
        counts = range(len(joints), max(len(joints) - FINGERS, 1) - 1, -1)
        there = set(joints[: next((m for m in counts if guess_columns(table, m)[0]), len(joints))])
    else:
        families = find_families(table, joints)[0]
        places = [_locate(families, groups, joints) for groups in (("q", "bare"), ("tau", "current"))]
        known = [set(own) for own in places if own and q is None and tau is None]
        there = set.intersection(*known) if known else set(joints)
        named = any(joint in f.places for f in families for joint in joints)
        for joint in there:
            x = table.values[:, [own[joint] for own in places if joint in own]]
            if np.ptp(x[np.isfinite(x).all(axis=1)], axis=0).max(initial=0.0) <= checks.NOTHING < x.size:
                at[joint] = float(x[0, 0])
    lacking = {joint for joint in joints if joint not in there or joint in at} if len(at) < len(there) else set()
    if not named and not all(HAND & {*tokens(joint)} for joint in lacking - at.keys()):
        return {}  # counted columns without those of a rail would be taken for other joints'
    bodies = robot.model.bodies
    for body in reversed(bodies):  # a joint that carries one which moves is no end
        if joints[body.coordinate] not in lacking and body.parent >= 0:
            lacking -= {joints[bodies[body.parent].coordinate]}
    limits = dict(zip(joints, zip(robot.limits.lower, robot.limits.upper, strict=True), strict=True))
    return {j: float(np.clip(at.get(j, 0.0), *limits[j])) for j in joints if j in lacking}


def _locate(families: Sequence[ColumnFamily], groups: Sequence[str], joints: Sequence[str]) -> dict[str, int]:
    """Joint → place of the largest family of these groups, by names or counted from the first joint."""
    family = max((f for f in families if f.group in groups), key=lambda f: len(f.places), default=None)
    numbers = [] if family is None else family.numbers()
    if family is None or set(joints) & family.places.keys():
        return {} if family is None else {joint: family.places[joint] for joint in joints if joint in family.places}
    counted = numbers and numbers[0] < 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return {joint: family.places[k] for joint, k in zip(joints, numbers, strict=False)} if counted else {}


def _read(table: Table, robot: Robot, said: LogSettings, time: ArrayLike | None = None, look: bool = False) -> Log:
    joints, bad_rows = robot.joint_names, said.choice("bad_rows")
    try:
        need_time, currents = time is None and said.rate is None, said.torque_constant is not None
        known = find_columns(table, joints, said.columns, need_time, currents)
    except InputError as error:  # what was left aside may be what is missed
        found = "; ".join((str(error), *table.notes))
        raise InputError(error.code, error.argument, problem=found) from None
    places = {group: known.places[group] for group in ("q", "qd", "tau") if group in known.places}
    for group, order in (said.order or {}).items():
        for signal in ("q", "qd") if group == "q" else ("tau",):
            if signal in places:
                places[signal] = _exchange(places[signal], order, group)
    table = checks.align_clocks(checks.fill_sparse(table, known.places), known.places)
    drives = read_drives(robot, known.units, said)
    unit = time_unit(said.units, known.units)
    t, dated = times.read_times(table, known.places.get("t", ()), time, said.rate, unit)
    rows, outside = times.cut_window(t, said.window)
    rows, undated = times.drop_undated(table, t, rows, bad_rows)
    rows, unreadable = checks.drop_unreadable(table, [k for g in places.values() for k in g], rows, bad_rows)
    if len(rows) < FEWEST:
        raise InputError(
            "too-few",
            "source",
            problem=f"{table.source}: {len(rows)} usable rows are no log of a motion; {FEWEST} would be the least",
        )
    t, rows, repeated = times.order_rows(table, t, rows, places["q"])
    with_rates, unmoved = checks.check_moving(table, places, rows, joints, said.choice("still"))
    signals = {
        group: drives.at_joints(group, table.values[np.ix_(rows, np.asarray(places[group]))])
        for group in ("q", "tau", "qd")[: 2 + with_rates]
    }
    judged = look or (said.units or {}).get("q") is not None
    if not judged and (evidence := checks.find_degrees(robot, signals["q"])):
        raise InputError(
            "wrong-unit",
            "units",
            problem=f"{table.source}: the positions look like degrees: {evidence}; say "
            f"{assign('units', {'q': 'deg'})}, or "
            f"{assign('units', {'q': 'rad'})} if they are radians",
        )
    signals, spikes = checks.treat_spikes(table, signals, rows, joints, said.choice("outliers"))
    if np.abs(signals["tau"]).max() <= checks.NOTHING:
        raise InputError(
            "wrong-value",
            "tau",
            problem=f"{table.source}: the torques are zero but for single spikes: was effort recorded at all?",
        )
    old = find_stale({group: table.values[np.ix_(rows, np.asarray(places[group]))] for group in signals})
    even = times.make_even(table, t, rows, signals, said.choice("gaps"), said.choice("resample"), old)
    notes = (*table.notes, *known.notes, *drives.notes, *dated, *outside, *undated, *unreadable, *repeated, *unmoved)
    notes = (*notes, *spikes, *old.describe(table, rows), *even.notes)
    x = even.signals
    log = Log(even.t, x["q"], x["tau"], joints, x.get("qd"), table.source, notes, even.filled)
    return times.shift_torques(log, said.lag or 0.0)


def _exchange(places: tuple[int, ...], order: Any, group: str) -> tuple[int, ...]:
    """The places in another order, of numbers from 1: joint j has the column that stood at order[j]."""
    if not isinstance(order, (list, tuple)) or sorted(order) != list(range(1, len(places) + 1)):
        raise InputError(
            "wrong-value",
            "order",
            problem=f"{mention('order', group)} must be the numbers 1 … {len(places)} in another order, got {order!r}",
        )
    return tuple(places[k - 1] for k in order)
