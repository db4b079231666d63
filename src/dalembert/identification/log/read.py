"""`read_log`: a recorded motion, from a file or arrays, on the joints' side in SI units, with all that was noticed.

A log passes a chain of steps: a table, what its columns mean, units and drives, times, rows and numbers that cannot be
used, spikes, even steps. Each takes data and gives data, with notes of what it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError, unknown
from dalembert.identification.log import checks, times
from dalembert.identification.log.columns import find_columns
from dalembert.identification.log.formats import read_table
from dalembert.identification.log.samples import Log
from dalembert.identification.log.units import ByGroup, read_drives, time_unit
from dalembert.robot import Robot

FEWEST = 10  # rows below which nothing is a motion
CHOICES = {
    "bad_rows": ("refuse", "drop"),
    "outliers": ("keep", "remove"),
    "gaps": ("cut", "refuse"),
    "resample": ("auto", "refuse", "force"),
    "still": ("refuse", "keep"),
}


def read_log(
    source: str | Path | Mapping[str, ArrayLike] | NDArray[Any],
    robot: Robot,
    *,
    columns: Mapping[str, object] | None = None,
    units: Mapping[str, str | Sequence[str] | None] | None = None,
    sign: ArrayLike | ByGroup | None = None,
    offset: ArrayLike | ByGroup | None = None,
    ratio: ArrayLike | ByGroup | None = None,
    coupling: ArrayLike | None = None,
    torque_coupling: ArrayLike | None = None,
    torque_constant: ArrayLike | None = None,
    time: ArrayLike | None = None,
    rate: float | None = None,
    topic: str | None = None,
    bad_rows: str = "refuse",
    outliers: str = "keep",
    gaps: str = "cut",
    resample: str = "auto",
    still: str = "refuse",
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
    - `time` (N,) [s] or `rate` [Hz] where the log has no times; `topic` of a ROS bag with several.
    - `bad_rows` "refuse" or "drop" rows with NaN, infinite or absurd numbers; `outliers` "keep" or "remove" single
      spikes; `gaps` "cut" into pieces (times then jump) or "refuse"; `resample` "auto" to even steps where the clock
      jitters, "refuse", or "force" whatever the jitter; `still` "refuse" or "keep" columns that never change.

    Whatever is noticed is a sentence in `Log.notes`; what cannot be used raises InputError, which names file, line,
    column."""
    given = {"bad_rows": bad_rows, "outliers": outliers, "gaps": gaps, "resample": resample, "still": still}
    for name, choice in given.items():
        if choice not in CHOICES[name]:
            raise unknown(f"choice of {name}", choice, CHOICES[name])
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to identify")
    joints = robot.joint_names
    table = read_table(source, topic)
    try:
        known = find_columns(table, joints, columns, need_time=time is None and rate is None)
    except InputError as error:  # what was left aside may be what is missed
        raise InputError("; ".join((str(error), *table.notes))) from None
    places = {group: known.places[group] for group in ("q", "qd", "tau") if group in known.places}
    drives = read_drives(
        robot,
        known.units,
        units=units,
        sign=sign,
        offset=offset,
        ratio=ratio,
        coupling=coupling,
        torque_coupling=torque_coupling,
        torque_constant=torque_constant,
    )
    t, dated = times.read_times(table, known.places.get("t", ()), time, rate, time_unit(units, known.units))
    rows, undated = times.drop_undated(table, t, np.arange(len(t)), bad_rows)
    rows, unreadable = checks.drop_unreadable(table, [k for g in places.values() for k in g], rows, bad_rows)
    if len(rows) < FEWEST:
        raise InputError(f"{table.source}: {len(rows)} usable rows are no log of a motion; {FEWEST} would be the least")
    rows, repeated = times.drop_repeated(table, t, rows)
    with_rates, unmoved = checks.check_moving(table, places, rows, joints, still)
    signals = {
        group: drives.at_joints(group, table.values[np.ix_(rows, np.asarray(places[group]))])
        for group in ("q", "tau", "qd")[: 2 + with_rates]
    }
    if (units or {}).get("q") is None and (evidence := checks.find_degrees(robot, signals["q"])):
        raise InputError(
            f"{table.source}: the positions look like degrees: {evidence}; say units={{'q': 'deg'}}, or 'rad' if "
            "they are"
        )
    signals, spikes = checks.treat_spikes(table, signals, rows, joints, outliers)
    steady, made, uneven = times.make_even(table, t[rows], signals, gaps, resample)
    notes = (*table.notes, *known.notes, *drives.notes, *dated, *undated, *unreadable, *repeated, *unmoved, *spikes)
    return Log(steady, made["q"], made["tau"], joints, made.get("qd"), table.source, (*notes, *uneven))
