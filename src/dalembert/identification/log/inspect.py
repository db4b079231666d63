"""A first look at a log, before anything is estimated from it: what is wrong with it, and how it should have been read.

What positions, rates and torques tell by themselves is looked at here: limits, flat tops, rates that are none, joints
at rest. Columns, signs, units, gravity, clock and lag are judged together, by regressions: see `hypotheses`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.findings import Finding, Findings, Severity, sort_findings
from dalembert.identification.log import checks, filters, times
from dalembert.identification.log.correction import Correction
from dalembert.identification.log.hypotheses import BLOCKS, Court, Verdict, angle
from dalembert.identification.log.prepare import preparation
from dalembert.identification.log.samples import Log, Samples
from dalembert.identification.log.settings import DEGREE, UNITS
from dalembert.robot import Robot
from dalembert.words import assign

WITHOUT = 1.3  # times the error, without which a lag is left to its user: friction that is slow to turn looks alike
LEAST_MOTION = 0.1  # rad, m: a joint that moves less tells little of what it carries
PAUSE = 0.2  # s of standing still that are worth a word
LONGEST_RATE_LAG = 0.25  # s
ENOUGH = 4097  # samples of a stretch (a power of two, and its end: see `filters.smooth`), and
STRETCHES = 4  # of them, that a look needs of a long log
LIGHT = 500.0  # Hz: what is quicker is averaged first
LIKE = 0.2  # correlation with the model's torque below which something else must have told


@dataclass(frozen=True)
class Look:
    """What was found, the worst first, and how the log should have been read."""

    report: Findings[Finding, None]
    correction: Correction


def inspect_log(robot: Robot, log: Log) -> Findings[Finding, None]:
    """What is suspicious about a log of this robot, the worst first, each with its evidence and a suggestion: the
    report of `first_look`."""
    return first_look(robot, log).report


def first_look(robot: Robot, log: Log) -> Look:
    """What is suspicious about a log of this robot, and how it should have been read.

    Columns in another order, signs, units, gravity, the clock and a lag are tried together: see `hypotheses`. A model
    without masses is enough; mechanisms with loops are looked at kinematically only."""
    if log.joints != robot.joint_names:
        raise InputError(
            "conflict",
            "robot",
            problem=f"the log has the joints {', '.join(log.joints)}; the robot has "
            f"{', '.join(robot.joint_names)}: read "
            "the log with this robot",
        )
    found, correction = _look(robot, log)
    return Look(Findings(log.source, sort_findings(found), None, "log"), correction)


def _look(robot: Robot, log: Log) -> tuple[list[Finding], Correction]:
    none = Correction.none(robot.n)
    if evidence := checks.find_degrees(robot, log.q):
        turning = [c.joint.turns for c in robot.model.coordinates]
        degrees = replace(none, q_factor=tuple(DEGREE if x else 1.0 for x in turning))
        said = f"the positions look like degrees: {evidence}"
        fix = assign("units", {"q": "deg"})
        first = _found("error", "degrees", said, np.abs(log.q).max(), fix)
        others, more = _look(robot, degrees.apply(robot, log)[1])
        return [first, *(f for f in others if f.severity == "error")], degrees.then(more)
    light = lighten(log)
    step = times.common_step(light.t)
    samples = preparation(light, derivatives="position").samples
    found = [
        *find_limits(robot, log, samples),
        *find_saturation(log),
        *find_still_joints(robot, log),
        *find_pauses(samples),
    ]
    rates = compare_rates(light, step, samples.cutoff)
    if not log.tau.any():
        said = "the torques are zero throughout"
        found.append(_found("error", "torque", said, 0.0, "was effort recorded at all?"))
    elif robot.loops:
        found.append(_found("note", "model", f"{robot.name!r} has loops: torques are not compared with it"))
    else:
        court = Court(
            robot,
            samples,
            np.array([r.size * np.sign(r.likeness) if r else np.nan for r in rates]),
            1 / times.common_step(log.t),
        )
        plain, best = court.search()
        best = replace(best, correction=replace(best.correction, rate=court.corrected_rate(best.correction)))
        found += _describe(court, log, plain, best)
        none = best.correction
    wrong, factor = find_wrong_rates(log, rates, none)
    return [*found, *wrong], replace(none, qd_factor=factor)


def lighten(log: Log) -> Log:
    """The log averaged down to LIGHT, and of a long one evenly spaced stretches."""
    step = times.common_step(log.t)
    every = max(1, min(int(1 / (step * LIGHT)), len(log) // ENOUGH))
    parts = [slice(p.start, p.stop - (p.stop - p.start) % every) for p in times.pieces(log.t, step)]

    def average(x: Array) -> Array:
        return np.concatenate([x[p].reshape(-1, every, *x.shape[1:]).mean(axis=1) for p in parts])

    t, q, tau = average(log.t), average(log.q), average(log.tau)
    qd = None if log.qd is None else average(log.qd)
    rows = np.arange(len(t))
    if len(t) > 1.5 * STRETCHES * ENOUGH:
        starts = np.linspace(0, len(t) - ENOUGH, STRETCHES).astype(int)
        rows = (starts[:, None] + np.arange(ENOUGH)).ravel()
    return replace(log, t=t[rows], q=q[rows], tau=tau[rows], qd=None if qd is None else qd[rows])


def _found(
    severity: Severity, rule: str, said: str, evidence: float | None = None, fix: str = "", joint: str = ""
) -> Finding:
    number = None if evidence is None else float(evidence)
    return Finding(rule, severity, said, fix, element=joint, evidence=number)


# ------------------------------------------------------------------------------------------------ without masses
def find_limits(robot: Robot, log: Log, samples: Samples) -> list[Finding]:
    """Positions, rates and torques beyond what the robot's description allows."""
    lim = robot.limits
    rows = (
        ("position", np.maximum(log.q - lim.upper, lim.lower - log.q).max(axis=0), np.full(log.n, 1e-3)),
        ("rate", np.abs(samples.qd).max(axis=0) - lim.velocity, 0.05 * lim.velocity),
        ("torque", np.abs(samples.tau).max(axis=0) - lim.effort, 0.05 * lim.effort),
    )
    hints = {
        "position": f"are zeros or signs other than the model's? see {assign('offset')} and {assign('sign')}",
        "rate": "are the units right?",
        "torque": "is it the motor's, or in mN m?",
    }
    found = []
    for word, excess, slack in rows:
        for j in np.flatnonzero(np.isfinite(excess) & (excess > slack)):
            name, joint = log.joints[j], robot.model.coordinates[j].joint
            unit = {"position": joint.unit, "rate": f"{joint.unit}/s", "torque": joint.effort_unit}[word]
            said = f"the {word} of {name!r} goes {excess[j]:.3g} {unit} beyond its limit"
            found.append(_found("warning", "limits", said, excess[j], hints[word], name))
    return found


def find_saturation(log: Log) -> list[Finding]:
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
                said = (
                    f"the torque of {joint!r} has flat tops: {int(lengths[at].sum())} samples stay at {level:.4g} N m"
                )
                fix = "a drive at its limit, or a clipped signal: leave such stretches out"
                found.append(_found("warning", "saturation", said, level, fix, joint))
    return found


@dataclass(frozen=True)
class Rates:
    """Recorded rates of a joint beside the derivative of its positions: how large, how alike (signed), how late [s]."""

    size: float
    likeness: float
    lag: float


def compare_rates(log: Log, step: float, cutoff: float) -> list[Rates | None]:
    """Recorded rates against the derivative of the positions, both low-passed alike, joint by joint; None where either
    is none."""
    if log.qd is None:
        return [None] * log.n
    piece = max(times.pieces(log.t, step), key=lambda p: p.stop - p.start)
    band = min(cutoff, 0.4 / step)
    _, derived = filters.smooth(log.q[piece], step, band, 4, (0, 1))
    (recorded,) = filters.smooth(log.qd[piece], step, band, 4)
    trim = min(filters.settling(band, step, 4), len(derived) // 4)
    inner = slice(trim, len(derived) - trim)
    found: list[Rates | None] = []
    for j in range(log.n):
        a, b = (x[inner, j] - x[inner, j].mean() for x in (derived, recorded))
        if not a.any() or not b.any():
            found.append(None)
            continue
        lag, likeness = best_lag(a, b, round(LONGEST_RATE_LAG / step))
        late = lag * step if abs(lag) > 0.5 else 0.0
        found.append(Rates(float(np.linalg.norm(b) / np.linalg.norm(a)), likeness, late))
    return found


def find_wrong_rates(
    log: Log, rates: list[Rates | None], correction: Correction
) -> tuple[list[Finding], tuple[float, ...]]:
    """What is wrong with recorded rates once the rest is corrected, and the factors that mend it."""
    found, factor = [], [1.0] * log.n
    for j, joint in enumerate(log.joints):
        row = rates[correction.q_order[j]]
        if row is None:
            continue
        scale = correction.time / correction.q_factor[j]
        size, likeness = row.size * abs(scale), row.likeness * np.sign(scale)
        words = f"the recorded rates of {joint!r}"
        if abs(likeness) < 0.9:
            said = f"{words} are not the derivative of its positions (correlation {likeness:.2f})"
            found.append(_found("warning", "rates", said, likeness, "they are not used", joint))
            continue
        if likeness < 0:
            said = f"{words} have the opposite sign of its positions' derivative"
            found.append(_found("warning", "rates", said, likeness, assign("sign", {"qd": ...}), joint))
            factor[j] = -1.0
        if not 0.9 < size < 1.1:
            known = [x for x in UNITS["qd"].values() if abs(size * x - 1) < 0.05]
            fix = f"one of them is in other units? {assign('units', {'qd': ...})}"
            said = f"{words} are {size:.4g} times the derivative of its positions"
            found.append(_found("warning", "rates", said, size, fix, joint))
            factor[j] *= known[0] if known else 1.0
        if row.lag:
            ms = 1e3 * row.lag * correction.time
            said = f"{words} {'lag behind' if ms > 0 else 'run ahead of'} its positions by {abs(ms):.3g} ms"
            found.append(_found("warning", "rate lag", said, ms, "they are not used", joint))
    return found, tuple(factor)


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
    inside = 0 < k < len(c) - 1
    bend = c[k - 1] - 2 * c[k] + c[k + 1] if inside else 0.0
    top = shifts[k] + (0.5 * (c[k - 1] - c[k + 1]) / bend if bend else 0.0)
    return float(top), float(c[k])


def find_still_joints(robot: Robot, log: Log) -> list[Finding]:
    """Joints that hardly move."""
    found = []
    for j in np.flatnonzero(np.ptp(log.q, axis=0) < LEAST_MOTION):
        unit, moved = robot.model.coordinates[j].joint.unit, float(np.ptp(log.q[:, j]))
        said = f"{log.joints[j]!r} hardly moves: {moved:.3g} {unit} in the whole log"
        found.append(_found("warning", "excitation", said, moved, "record a motion that excites it", log.joints[j]))
    return found


def find_pauses(samples: Samples) -> list[Finding]:
    """Stretches in which every joint stands still."""
    still = (np.abs(samples.qd) < samples.rest).all(axis=1)
    starts, ends = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]]))).reshape(-1, 2).T
    long = (ends - starts) * samples.dt >= PAUSE
    if not long.any():
        return []
    starts, lengths = starts[long], (ends - starts)[long]
    k, share = int(np.argmax(lengths)), float(lengths.sum() / len(samples))
    said = (
        f"the arm stands still for {100 * share:.2g} % of the log, longest {lengths[k] * samples.dt:.3g} s from "
        f"t = {samples.t[starts[k]]:.4g} s"
    )
    return [_found("note", "rest", said, share, "friction has no direction there: such samples say little of it")]


# ------------------------------------------------------------------------------------------------ tried together
def _describe(court: Court, log: Log, plain: Verdict, best: Verdict) -> list[Finding]:
    """What the best explanation says, kind by kind, each with the words that read the log so."""
    c, settings, found = best.correction, best.correction.settings(), []
    left = [100 * float(np.mean(np.clip(v.free, 0, 1))) for v in (plain, best)]
    clear = f"held out, {left[1]:.2g} % of the torques' variance is left instead of {left[0]:.2g} %"
    if not court.masses:
        said = (
            f"{court.robot.name!r} has no masses: torques are not compared with it, but with what any bodies could do"
        )
        found.append(_found("note", "model", said))
    if "order" in settings:
        what = {("q", "tau"): "positions and torques", ("q",): "the positions"}.get(
            tuple(settings["order"]), "the torques"
        )
        order = c.q_order if what == "the positions" else c.tau_order
        moved = ", ".join(f"{log.joints[j]!r} has that of {log.joints[k]!r}" for j, k in enumerate(order) if k != j)
        told = [100 * float(1 - np.mean(np.clip(v.free if v.known is None else v.known, 0, 1))) for v in (plain, best)]
        said = (
            f"the order of the joints does not fit: with {what} in another order the model explains {told[1]:.0f} % "
            f"instead of {told[0]:.0f} %: by the look of it {moved}"
        )
        found.append(_found("error", "order", said, told[1] / 100, assign("order", settings["order"])))
    found += _describe_signs(court, log, c, settings)
    found += _describe_units(court, log, best, settings, clear)
    if c.rate is not None:
        how = f"{max(c.time, 1 / c.time):.4g} times too {'fast' if c.time > 1 else 'slow'}"
        rates = f"{c.rate:.5g} Hz, not {c.rate * c.time:.5g} Hz"
        said = f"the clock is {how}: by its torques the log was taken at {rates} ({clear})"
        found.append(
            _found(
                "error",
                "rate",
                said,
                c.time,
                f"{assign('rate', settings['rate'])} and {assign('columns', {'t': None})}",
            )
        )
    if c.lag:
        how = "lag behind" if c.lag > 0 else "run ahead of"
        said = f"the torques {how} the motion by {1e3 * abs(c.lag):.3g} ms ({clear})"
        fix = f"{assign('lag', settings['lag'])}, or record both with one clock"
        matters = left[0] > WITHOUT**2 * left[1]
        found.append(_found("error" if matters else "warning", "torque lag", said, 1e3 * c.lag, fix))
    return found + _describe_gravity(court, c, clear)


def _describe_signs(court: Court, log: Log, c: Correction, settings: dict[str, Any]) -> list[Finding]:
    found = []
    like = np.nan_to_num(court.likeness(c)[0]) if court.masses else np.zeros(c.n)
    for group, factor in (("q", c.q_factor), ("tau", c.tau_factor)):
        for j in np.flatnonzero(np.sign(factor) < 0):
            joint, value = log.joints[j], -float(like[j])
            said = f"the torque of {joint!r} has the wrong sign: its correlation with the model's is {value:+.2f}"
            if group == "q":
                value, said = -1.0, f"the positions of {joint!r} have the wrong sign: turned, they fit the torques"
            elif value > -LIKE:
                value = -1.0
                said = f"the torque of {joint!r} has the wrong sign: with it, friction would drive the joint"
            found.append(_found("error", "sign", said, value, assign("sign", settings["sign"]), joint))
    return found


def _describe_units(court: Court, log: Log, best: Verdict, settings: dict[str, Any], clear: str) -> list[Finding]:
    c, found = best.correction, []
    units = settings.get("units", {})
    fix = " and ".join(assign(name, settings[name]) for name in ("units", "ratio") if name in settings)
    q, tau = np.abs(c.q_factor), np.abs(c.tau_factor)
    if (q != 1).any():
        said = f"the positions look like {units.get('q', 'those of the motors')} ({clear})"
        found.append(_found("error", "degrees" if units.get("q") == "deg" else "units", said, float(q[q != 1][0]), fix))
    if "tau" in units:
        common = float(np.nanmedian(best.size) / tau[0]) if np.isfinite(best.size).any() else 1 / tau[0]
        said = f"the torques are about {common:.3g} times the model's: they look like mN m"
        return [*found, _found("error", "units", said, common, fix)]
    for j in np.flatnonzero(tau != 1).tolist():
        joint, N = log.joints[j], court.gears[j]
        said = f"the torque of {joint!r} is {1 / tau[j]:.3g} times what it should be"
        if tau[j] > 1 and N > 1 and 0.4 < N / tau[j] < 2.5:
            said += f": it looks like the motor's, before the gear of {N:g}"
        elif tau[j] > 1:
            said += f": it looks like the motor's, before a gear of about {tau[j]:.2g}, or like a current"
        found.append(_found("error", "units", said, 1 / tau[j], fix, joint))
    return found


def _describe_gravity(court: Court, c: Correction, clear: str) -> list[Finding]:
    given = court.gravity
    a, fitted = court.model_gravity(c) if court.masses and given.any() else (0.0, given)
    spread = 0.0
    if a > 0:  # a jackknife over stretches of time
        turns = np.array([angle(court.model_gravity(c, k)[1], fitted) for k in range(BLOCKS)])
        spread = float(np.sqrt((BLOCKS - 1) / BLOCKS * np.sum(turns**2)))
    if c.gravity is not None:
        g = np.array(c.gravity) + 0.0
        along = ", ".join(f"{x:.2f}" for x in g / np.linalg.norm(g))
        said = (
            f"the base does not stand as the model says: gravity lies {angle(g, given):.1f} ± {max(spread, 0.1):.1f}° "
            f"from the model's, along ({along}) in its base frame ({clear})"
        )
        fix = assign("gravity", c.settings()["gravity"])
        return [_found("error", "tilt", said, angle(g, given), fix)]
    if a <= 0:
        return []
    said = (
        f"gravity, as the torques feel it, lies {angle(fitted, given):.1f} ± {max(spread, 0.1):.1f}° from the model's, "
        f"and is {np.linalg.norm(fitted):.3g} m/s² with its masses"
    )
    return [_found("note", "gravity", said, angle(fitted, given))]
