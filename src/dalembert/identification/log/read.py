"""`read_log`: a recorded motion, from a file or arrays, on the joints' side in SI units, with all that was noticed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError, unknown
from dalembert.identification.log import checks, times
from dalembert.identification.log.columns import Meaning, meaning
from dalembert.identification.log.formats import read_table
from dalembert.identification.log.samples import Log
from dalembert.identification.log.table import Table
from dalembert.identification.log.units import UNITS, sides, time_unit
from dalembert.robot import Robot

Array = NDArray[np.float64]
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
    columns: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
    sign: Any = None,
    offset: Any = None,
    ratio: Any = None,
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
    table = read_table(source, topic)
    own_time = time is not None or rate is not None
    try:
        known = meaning(table, robot.joint_names, columns, need_time=not own_time)
    except InputError as error:  # what was left aside may be what is missed
        raise InputError("; ".join((str(error), *table.notes))) from None
    drives = sides(robot, units, known.units, sign, offset, ratio, coupling, torque_coupling, torque_constant)
    notes = [*table.notes, *known.notes, *drives.notes]
    t = _times(table, known, time, rate, time_unit(units, known.units), notes)
    groups = {g: known.places[g] for g in ("q", "qd", "tau") if g in known.places}
    rows = np.arange(len(table.values))
    rows = rows[_finite_times(table, t, bad_rows, notes)]
    rows = checks.readable(table, [k for g in groups.values() for k in g], rows, bad_rows, notes)
    if len(rows) < FEWEST:
        raise InputError(f"{table.source}: {len(rows)} usable rows are no log of a motion; {FEWEST} would be the least")
    rows = times.ordered(table, t, rows, notes)
    with_rates = checks.alive(table, groups, rows, robot.joint_names, still, notes)
    raw = {g: table.values[np.ix_(rows, np.asarray(columns_of))] for g, columns_of in groups.items()}
    q, tau = drives.q(raw["q"]), drives.tau(raw["tau"])
    if (units or {}).get("q") is None and (evidence := checks.in_degrees(robot, q)):
        raise InputError(
            f"{table.source}: the positions look like degrees: {evidence}; say units={{'q': 'deg'}}, or 'rad' if "
            "they are"
        )
    signals = {"q": q, "tau": tau, **({"qd": drives.qd(raw["qd"])} if with_rates else {})}
    for group, x in signals.items():
        signals[group] = checks.outliers(table, group, x, rows, robot.joint_names, outliers, notes)
    steady, values = times.even(table, t[rows], list(signals.values()), gaps, resample, notes)
    made = dict(zip(signals, values, strict=True))
    return Log(steady, made["q"], made["tau"], robot.joint_names, made.get("qd"), table.source, tuple(notes))


def _times(
    table: Table, known: Meaning, time: ArrayLike | None, rate: float | None, unit: str | None, notes: list[str]
) -> Array:
    """Times in seconds, of the user, of the log, or by counting."""
    rows = len(table.values)
    if time is not None:
        t = np.asarray(time, float)
        if t.shape != (rows,):
            raise InputError(f"time has shape {t.shape}; {table.source} has {rows} rows")
        return t
    if rate is not None and not (isinstance(rate, (int, float, np.number)) and np.isfinite(rate) and rate > 0):
        raise InputError(f"rate must be a number of samples per second, got {rate!r}")
    if "t" not in known.places:
        assert rate is not None
        return np.asarray(np.arange(rows) / float(rate))
    places = known.places["t"]
    if len(places) == 2:
        t = (table.values[:, places[0]] - table.values[0, places[0]]) + 1e-9 * table.values[:, places[1]]
        return np.asarray(t)
    t = table.values[:, places[0]]
    if unit is None:
        finite = t[np.isfinite(t)]
        unit, note = times.guessed_unit(finite) if len(finite) else ("s", None)
        notes += [note] if note else []
    if np.isfinite(t[0]) and abs(t[0]) * UNITS["t"][unit] > 1e6:
        notes.append(f"times counted from the first, {t[0]:.0f} {unit}")
        t = t - t[0]
    t = t * UNITS["t"][unit]
    if rate is not None:
        step = float(np.nanmedian(np.diff(t))) if rows > 1 else 0.0
        if abs(step * rate - 1) > 0.01:
            raise InputError(
                f"{table.source}: rate={rate:g} Hz, but the times of its column {table.names[places[0]]!r} have "
                f"steps of {step:.4g} s "
                f"({1 / step if step else float('inf'):.4g} Hz); columns={{'t': None}} leaves them aside"
            )
    return t


def _finite_times(table: Table, t: Array, bad_rows: str, notes: list[str]) -> NDArray[np.bool_]:
    good = np.isfinite(t)
    if good.all():
        return good
    k = int(np.flatnonzero(~good)[0])
    if bad_rows == "refuse" or not good.any():
        raise InputError(
            f"{table.place(k)}: the time is {t[k]}; mend the log, or leave such rows out with bad_rows='drop'"
        )
    notes.append(f"{int((~good).sum())} rows without a time left out, the first: {table.place(k)}")
    return good
