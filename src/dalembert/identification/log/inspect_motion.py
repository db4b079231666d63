"""What a log tells without any masses: units and limits of positions, rates that are none, flat tops, joints at
rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.log import checks, filters, times
from dalembert.identification.log.findings import Finding
from dalembert.identification.log.samples import Log, Samples
from dalembert.identification.log.units import DEGREE
from dalembert.robot import Robot

Array = NDArray[np.float64]

HARDLY = 0.1  # rad, m: a joint that moves less tells little of what it carries
PAUSE = 0.2  # s of standing still that are worth a word
LONGEST_LAG = 0.25  # s


def degrees(robot: Robot, log: Log) -> list[Finding]:
    evidence = checks.in_degrees(robot, log.q)
    if evidence is None:
        return []
    factor = float(np.abs(log.q).max())
    said = f"the positions look like degrees: {evidence}"
    return [Finding("error", "degrees", None, said, factor, "read the log with units={'q': 'deg'}")]


def limits(robot: Robot, log: Log, samples: Samples) -> list[Finding]:
    """Positions, rates and torques beyond what the robot's description allows."""
    found = []
    lim = robot.limits
    over = np.maximum(log.q - lim.upper, lim.lower - log.q).max(axis=0)
    rows = (
        (
            "position",
            over,
            1e-3 * np.ones(log.n),
            "",
            "are zeros or signs other than the model's? see offset= and sign=",
        ),
        ("rate", np.abs(samples.qd).max(axis=0) - lim.velocity, 0.05 * lim.velocity, "/s", "are the units right?"),
        (
            "torque",
            np.abs(samples.tau).max(axis=0) - lim.effort,
            0.05 * lim.effort,
            "",
            "is it the motor's, or in mN m?",
        ),
    )
    for word, excess, slack, per, hint in rows:
        for j in np.flatnonzero(np.isfinite(excess) & (excess > slack)):
            joint = robot.model.coordinates[j].joint
            unit = joint.effort_unit if word == "torque" else joint.unit + per
            found.append(
                Finding(
                    "warning",
                    "limits",
                    log.joints[j],
                    f"the {word} of {log.joints[j]!r} goes {excess[j]:.3g} {unit} beyond its limit",
                    float(excess[j]),
                    hint,
                )
            )
    return found


def saturation(robot: Robot, log: Log) -> list[Finding]:
    """Torques that stay at their highest or lowest value, to the bit, much longer than at any other."""
    found = []
    for j, joint in enumerate(log.joints):
        x = log.tau[:, j]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(x) != 0]))
        lengths = np.diff(np.concatenate([starts, [len(x)]]))
        usual = float(np.quantile(lengths, 0.95)) if len(lengths) > 20 else np.inf
        for level in (x.max(), x.min()):
            at = x[starts] == level
            if at.any() and lengths[at].max() >= max(5.0, 3 * usual) and abs(level) > 0.5 * np.abs(x).max():
                count = int(lengths[at].sum())
                found.append(
                    Finding(
                        "warning",
                        "saturation",
                        joint,
                        f"the torque of {joint!r} has flat tops: {count} samples stay at {level:.4g} N m",
                        float(level),
                        "a drive at its limit, or a clipped signal: leave such stretches out",
                    )
                )
    return found


def rates(log: Log, step: float, cutoff: float) -> list[Finding]:
    """Recorded rates against the derivative of the positions, both low-passed alike: scale, lag, likeness."""
    if log.qd is None:
        return []
    piece = max(times.pieces(log.t, step), key=lambda p: p.stop - p.start)
    band = min(cutoff, 0.4 / step)
    _, derived = filters.smoothed(log.q[piece], step, band, 4, (0, 1))
    (recorded,) = filters.smoothed(log.qd[piece], step, band, 4)
    trim = min(filters.settling(band, step, 4), len(derived) // 4)
    inner = slice(trim, len(derived) - trim)
    found = []
    for j, joint in enumerate(log.joints):
        a, b = derived[inner, j] - derived[inner, j].mean(), recorded[inner, j] - recorded[inner, j].mean()
        if not a.any() or not b.any():
            continue
        lag, likeness = best_lag(a, b, round(LONGEST_LAG / step))
        size = float(np.linalg.norm(b) / np.linalg.norm(a))
        if abs(likeness) < 0.9:
            said = (
                f"the recorded rates of {joint!r} are not the derivative of its positions (correlation {likeness:.2f})"
            )
            found.append(Finding("warning", "rates", joint, said, likeness, "use derivatives='position'"))
            continue
        if likeness < 0:
            said = f"the recorded rates of {joint!r} have the opposite sign of its positions' derivative"
            found.append(Finding("error", "rates", joint, said, likeness, f"sign={{'qd': …}} with −1 for {joint!r}"))
        if not 0.9 < size < 1.1:
            near = abs(size * DEGREE - 1) < 0.1 or abs(size / DEGREE - 1) < 0.1
            hint = "one of them is in degrees: see units=" if near else "see units= and ratio="
            said = f"the recorded rates of {joint!r} are {size:.4g} times the derivative of its positions"
            found.append(Finding("warning", "rates", joint, said, size, hint))
        if abs(lag) > 0.5:
            ms = 1e3 * lag * step
            how = "lag behind" if lag > 0 else "run ahead of"
            said = f"the recorded rates of {joint!r} {how} its positions by {abs(ms):.3g} ms"
            found.append(Finding("warning", "rate lag", joint, said, ms, "use derivatives='position'"))
    return found


def best_lag(a: Array, b: Array, most: int) -> tuple[float, float]:
    """The lag of b behind a in samples, to a fraction, at which they correlate best (by absolute value), and that
    correlation. The ends of a, which some shifts would leave without a partner, are not looked at."""
    N = len(a)
    most = max(2, min(most, N // 4))
    inner = np.zeros_like(a)
    inner[most : N - most] = a[most : N - most]
    size = 1 << (2 * N).bit_length()
    shifts = np.arange(-most, most + 1)
    cross = np.fft.irfft(np.conj(np.fft.rfft(inner, size)) * np.fft.rfft(b, size), size)[shifts]
    squares = np.concatenate([[0.0], np.cumsum(b**2)])
    c = cross / np.sqrt(np.sum(inner**2) * (squares[N - most + shifts] - squares[most + shifts]) + 1e-300)
    k = int(np.argmax(np.abs(c)))
    if 0 < k < len(c) - 1:
        bend = c[k - 1] - 2 * c[k] + c[k + 1]
        return float(shifts[k] + (0.5 * (c[k - 1] - c[k + 1]) / bend if bend else 0.0)), float(c[k])
    return float(shifts[k]), float(c[k])


def excitation(robot: Robot, log: Log) -> list[Finding]:
    """Joints that hardly move."""
    found = []
    for j in np.flatnonzero(np.ptp(log.q, axis=0) < HARDLY):
        unit = robot.model.coordinates[j].joint.unit
        moved = float(np.ptp(log.q[:, j]))
        said = f"{log.joints[j]!r} hardly moves: {moved:.3g} {unit} in the whole log"
        found.append(Finding("warning", "excitation", log.joints[j], said, moved, "record a motion that excites it"))
    return found


def pauses(samples: Samples) -> list[Finding]:
    """Stretches in which every joint stands still."""
    still = (np.abs(samples.qd) < samples.rest).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
    starts, ends = edges[::2], edges[1::2]
    long = (ends - starts) * samples.dt >= PAUSE
    if not long.any():
        return []
    starts, ends = starts[long], ends[long]
    k = int(np.argmax(ends - starts))
    share = float((ends - starts).sum() / len(samples))
    said = (
        f"the arm stands still for {100 * share:.2g} % of the log, longest {(ends - starts)[k] * samples.dt:.3g} "
        "s from "
        f"t = {samples.t[starts[k]]:.4g} s"
    )
    return [
        Finding("info", "rest", None, said, share, "friction has no direction there: such samples say little of it")
    ]
