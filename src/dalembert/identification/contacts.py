"""What touched an arm, and when: a momentum observer over a log, with thresholds that keep to a rate of false alarms.

The residual r of a log without contact is colored and not Gaussian: it is the model's error, moved about by the motion.
So thresholds come from its highest peaks. With Q_j the 95 % quantile of |r_j|, the score s = max_j |r_j|/Q_j has peaks
(the highest within `HOLD` on either side); the excesses of the highest of them over a level v follow a generalized
Pareto distribution (Pickands 1975), and peaks come as a Poisson process:

    rate(c) = ν (1 + ξ (c − v)/σ)^(−1/ξ),      u_j = c Q_j

ν, ξ, σ are known as well as the peaks tell: the threshold is the one at which the rate, averaged over what they may be,
is the one asked for, and the same average gives the interval that is stated with it (Coles 2001, ch. 4 and 9).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypedDict, Unpack

import numpy as np

from dalembert.arguments import Array, need, number
from dalembert.caching import cached_property
from dalembert.control.observer import MomentumObserver, SampledObserver
from dalembert.draw.pyplot import COLORS, pyplot, styled
from dalembert.errors import InputError, choose
from dalembert.files import whole_table
from dalembert.findings import SEVERITIES, Finding, Findings, Severity
from dalembert.flow import WRENCH
from dalembert.identification.log import times
from dalembert.identification.log.filters import find_period
from dalembert.identification.log.samples import Log
from dalembert.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOUR = 3600.0
HOLD = 0.5  # [s] of quiet that ends an alarm; what follows sooner belongs to it
MOST_ALARMS = 1200.0  # [1/h]: of more, one is hardly over when the next begins
USUAL = 0.95  # the quantile of |r| by which joints are compared
# Peaks that tell of the tail: this part of them, at least and at most so many. More of them tell more of the middle.
SHARE, LEAST, MOST = 0.15, 10, 60
FEWEST = 3  # peaks below which there is no tail to speak of
SHAPES = np.linspace(-0.5, 0.5, 40)[:, None]  # ξ: from a bounded tail to one without a variance; zero is not among them
SHAPE_DEVIATION = 0.2  # of ξ about zero, before any peak is seen
PARTS = 8  # of the quiet log, between which the count of peaks is compared
SETTLED = 3.0  # lags 1/K after which the start of a record is forgotten
LONGEST = 2.0  # [s] a push is waited for
TOLD = 1e-6  # of the best-told direction of a wrench: below it nothing is told
AT_REST = 0.01  # of a joint's largest rate
WORTH = 1.1  # how much lower thresholds must be for the lags that rates from positions take
ALIKE = "calibrate on motions like those observed"
# What makes a detector doubtful on a log: rule, severity, the number beyond which it is so, sentence, remedy.
DOUBTS: tuple[tuple[str, Severity, float, str, str], ...] = (
    (
        *("other residual", "error", 1.0),
        "half of the time the residual of {joint!r} is at least {x:.2g} times what that of the quiet log passes 5 % of "
        "the time: the thresholds do not belong to this log",
        "another payload, tool, temperature or mounting needs its own quiet log, unless the arm is pushed all along",
    ),
    ("other motion", "warning", 0.01, "{joint!r} is faster than ever in the quiet log for {x:.0%} of the time", ALIKE),
    (
        *("other motion", "warning", 0.1),
        "{joint!r} stands still for {x:.0%} of the time and never in the quiet log: what friction holds is not known",
        ALIKE,
    ),
    (
        *("touched", "warning", 20.0),
        "in the quiet log the residual of {joint!r} reaches {x:.3g} times what is usual: was the arm touched in it?",
        "thresholds from a log with a contact are too high",
    ),
    (
        *("poor model", "warning", 0.25),
        "without contact the residual of {joint!r} is {x:.0%} of its torque: only strong pushes can be told",
        "identify the arm first",
    ),
)


# ------------------------------------------------------------------------------------------------ the tail of a score
@dataclass(frozen=True, eq=False)
class Tail:
    """What the peaks of a score tell of how often it exceeds a level: `peaks` from the highest, over `seconds`, of
    which `count` lie above `level` v; `weights` of (ξ, σ) on a grid; `spread` ≥ 1: how many of them tell as much as one
    of a Poisson process, since parts of the log differ, or repeat each other."""

    peaks: Array
    seconds: float
    count: int
    weights: Array
    scales: Array
    spread: float

    @property
    def level(self) -> float:
        return float(self.peaks[self.count])

    def survival(self, c: float) -> Array:
        """The part of the peaks above v that exceeds c, for each (ξ, σ)."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.maximum(1 + SHAPES * (c - self.level) / self.scales, 0.0) ** (-1 / SHAPES))

    def rates(self, c: float) -> tuple[Array, Array]:
        """Rates [1/h] of peaks above c that are as likely as the weights beside them."""
        from scipy.special import gammaincinv

        inside = c <= self.level
        count = int(np.sum(self.peaks > c)) if inside else self.count
        part, weights = (np.ones(1), np.ones(1)) if inside else (self.survival(c).ravel(), self.weights.ravel())
        chances = (np.arange(60) + 0.5) / 60
        per_hour = gammaincinv((count + 0.5) / self.spread, chances) * self.spread * HOUR / self.seconds
        return np.outer(part, per_hour).ravel(), np.repeat(weights / len(chances), len(chances))

    def threshold(self, rate: float) -> float:
        """The level whose rate [1/h], averaged over what it may be, is this."""
        above = (self.count + 0.5) * HOUR / self.seconds
        if rate >= above:
            return float(self.peaks[min(int(rate * self.seconds / HOUR - 0.5), len(self.peaks) - 1)])
        from scipy.optimize import brentq

        def excess(c: float) -> float:
            return float(np.log(above * np.sum(self.weights * self.survival(c)) / rate + 1e-300))

        top = 2 * self.peaks[0]
        while excess(top) > 0:
            top *= 2
        return float(brentq(excess, self.level, top))


def fit_tail(scores: Sequence[Array], step: float, repeated: float = 1.0) -> Tail:
    """The tail of a score at even steps [s], in pieces between gaps, of a motion that is `repeated` so often: the peaks
    of ten periods tell little more than those of one."""
    from scipy.ndimage import maximum_filter1d

    around = max(1, round(HOLD / step))
    found = [np.flatnonzero(s == maximum_filter1d(s, 2 * around + 1)) for s in scores]
    found = [k[np.diff(k, prepend=-2) > 1] for k in found]  # the first of equal ones
    starts = np.cumsum([0, *map(len, scores)])
    at = np.concatenate([k + start for k, start in zip(found, starts, strict=False)])
    heights = np.concatenate([s[k] for s, k in zip(scores, found, strict=True)])
    seconds = float(starts[-1] * step)
    if len(heights) < FEWEST and all(np.ptp(s) == 0 for s in scores):
        raise InputError(
            "wrong-value",
            "quiet",
            problem="the residual of the log without contact never changes, so the log is not one of a real arm",
        )
    if len(heights) < FEWEST:
        raise InputError(
            "too-few",
            "quiet",
            problem=f"{seconds:.3g} s without contact are too few for the rate of peaks; at least "
            f"{FEWEST * 2 * HOLD:g} s are required",
            remedy="Record an hour to learn what happens once in an hour.",
        )
    order = np.argsort(-heights, kind="stable")
    peaks = heights[order]
    count = int(np.clip(SHARE * len(peaks), min(LEAST, len(peaks) - 1), MOST))
    parts = np.histogram(at[order[:count]], bins=PARTS, range=(0, starts[-1]))[0]
    spread = max(1.0, repeated, float(parts.var(ddof=1) / parts.mean()))
    excess = np.maximum(peaks[:count] - peaks[count], 0.0)
    usual = max(float(excess.mean()), 1e-9 * float(peaks[0]), 1e-300)
    scales = usual * np.geomspace(np.exp(-2), np.exp(2), 61)
    with np.errstate(divide="ignore"):  # beyond the end of a bounded tail there is nothing
        each = np.log(np.maximum(1 + SHAPES[..., None] * excess / scales[:, None], 0.0)).sum(axis=-1)
    likelihood = -count * np.log(scales) - (1 + 1 / SHAPES) * np.where(np.isfinite(each), each, np.inf * SHAPES)
    logs = likelihood / spread - 0.5 * (SHAPES / SHAPE_DEVIATION) ** 2
    weights = np.exp(logs - logs.max())
    return Tail(peaks, seconds, count, weights / weights.sum(), scales, spread)


# ------------------------------------------------------------------------------------------------ the detector
@dataclass(frozen=True, eq=False)
class Contact:
    """A push that was seen: from `since` (the last time before that the residual was as small as usual) and `alarm` to
    `end` [s]; the `joints` whose thresholds were passed; `link`: it happened there or farther out; `torques` (n,) and
    `wrench` (6,) at the time `at` when the residual stood out most. The wrench acts on the robot, at the origin of the
    frame, (force, moment) in world axes; `deviation` (6,), infinite where a component cannot be told (NaN)."""

    since: float
    alarm: float
    end: float
    at: float
    joints: tuple[str, ...]
    link: str
    torques: Array
    wrench: Array
    deviation: Array


@dataclass(frozen=True, eq=False)
class ContactDetector:
    """A sampled momentum observer with thresholds (n,) [N m, N] for |r|, calibrated on a log without contact.

    `asked`: false alarms per hour; `tail` and `at`: what is known of how often the score exceeds the level `at` of the
    thresholds; `quiet`: residuals of that log, in pieces; of its joints (n,) the RMS of the `torques`, the `fastest`
    rates and the part of the time they are `resting`; its `period` [s], infinite if it does not repeat itself."""

    STEPS: ClassVar[tuple[float, ...]] = (5.0, 10.0, 20.0)  # [N m, N] pushes whose delay is told

    observer: SampledObserver
    thresholds: Array
    asked: float
    tail: Tail
    at: float
    quiet: tuple[Array, ...]
    torques: Array
    fastest: Array
    resting: Array
    period: float

    @property
    def robot(self) -> Robot:
        return self.observer.observer.robot

    @property
    def units(self) -> tuple[str, ...]:
        return tuple("N m" if c.joint.turns else "N" for c in self.robot.model.coordinates)

    def frame(self, name: str | None) -> str:
        """The frame at which a wrench is told: the tip, the first of several, if not given."""
        model = self.robot.model
        return model.frame(name or self.robot.tip or next(iter(model.tips), None)).name

    @cached_property
    def _likely(self) -> Array:
        """400 rates [1/h], each as likely as the other."""
        rates, weights = self.tail.rates(self.at)
        order = np.argsort(rates)
        places = np.searchsorted(np.cumsum(weights[order]), (np.arange(400) + 0.5) / 400)
        return np.asarray(rates[order][np.minimum(places, len(order) - 1)])

    @property
    def interval(self) -> tuple[float, float]:
        """The rate of false alarms [1/h] lies between these with a chance of 95 %."""
        low, high = np.quantile(self._likely, (0.025, 0.975))
        return float(low), float(high)

    def expected(self, seconds: float) -> tuple[int, int]:
        """With a chance of 95 % a log of this length without contact has a count of alarms between these."""
        from scipy.special import pdtr

        mean = self._likely * number("seconds", seconds, "s", least=0.0) / HOUR
        counts = np.arange(int(2 * mean[-1]) + 50)
        below = pdtr(counts[:, None], mean).mean(axis=1)
        low, high = np.searchsorted(below, (0.025, 0.975))
        return int(counts[low]), int(counts[min(high, len(counts) - 1)])

    @cached_property
    def delays(self) -> Array:
        """Delays [s] of steps of 5, 10, 20 N m on each joint, (n, steps, 2): the median, and what 95 % stay within;
        infinite if nothing was seen within 2 s, NaN if the quiet log has no 2 s without a gap.

        r is linear in the push: a step A adds A (1 − e^{−Kt}), here to the quiet log's residual, at 200 times and with
        either sign, as if the arm moved on."""
        h = self.observer.h
        every = max(1, round(1e-3 / h))
        ahead = np.arange(0, round(LONGEST / h), every)
        whole = [r for r in self.quiet if len(r) > len(ahead) * every]
        made = np.full((len(self.thresholds), len(self.STEPS), 2), np.nan)
        if not whole:
            return made
        starts = np.linspace(0, sum(len(r) - len(ahead) * every for r in whole) - 1, 200).astype(int)
        windows = []
        for r in whole:
            own = starts[(starts >= 0) & (starts < len(r) - len(ahead) * every)]
            windows.append(r[own[:, None] + ahead])
            starts = starts - (len(r) - len(ahead) * every)
        quiet = np.concatenate(windows)  # (starts, ahead, n)
        rises = self.observer.rise(len(ahead) * every)[ahead]
        for j, u in enumerate(self.thresholds):
            for i, size in enumerate(self.STEPS):
                push = np.concatenate([sign * size * rises[:, j] + quiet[..., j] for sign in (-1, 1)])
                over = np.abs(push) > u
                first = np.where(over.any(axis=1), (ahead[over.argmax(axis=1)] + 1) * h, np.inf)
                made[j, i] = np.quantile(first, (0.5, 0.95), method="higher")
        return made

    def c_files(self, name: str = "observer") -> dict[str, str]:
        """The observer and its thresholds as C99, files by name: a function that takes each sample (q, [q̇,] τ) and its
        own memory z, zeros at the start, and gives z, r and alarms (0 or 1 per joint)."""
        kernel = self.observer.kernel(self.thresholds.tolist())
        return {f"{name}.c": kernel.c_source(name), f"{name}.h": kernel.c_header(name)}

    # -------------------------------------------------------------------------------------------------- on records
    def residuals(self, log: Log) -> Array:
        """r of a log, (N, n); the observer starts anew after a gap."""
        return np.concatenate([r for _, r in _replay(self.observer, log)])

    def contacts(
        self, t: Array, q: Array, residuals: Array, frame: str | None = None, components: Sequence[str] = WRENCH
    ) -> tuple[Contact, ...]:
        """What stands out of residuals (N, n) at times t (N,) and positions q (N, n): of a log, or of a simulation with
        `observer.with_controller`. `frame`: where the wrench is told, the tip if not given; `components` of it that a
        contact may have, the others being zero."""
        ratio = np.abs(residuals) / self.thresholds
        over = np.flatnonzero(ratio.max(axis=1) > 1)
        if not len(over):
            return ()
        groups = np.split(over, np.flatnonzero(np.diff(t[over]) > HOLD) + 1)
        usual = np.sqrt(np.diag(self.covariance))
        names, links = self.robot.joint_names, {j.name: j.child for j in self.robot.description.joints}
        found, last = [], 0
        for group in groups:
            before, first, last = last, int(group[0]), int(group[-1])
            inside = ratio[first : last + 1]
            peak = first + int(inside.max(axis=1).argmax())
            passed = np.flatnonzero((inside > 1).any(axis=0))
            joint = int(ratio[first].argmax())
            small = np.flatnonzero(np.abs(residuals[before:first, joint]) <= usual[joint])
            then = int(np.searchsorted(t, t[peak] - self.observer.delay))  # r is what pushed the arm where it was then
            wrench, deviation = self.wrenches(q[then], residuals[peak], frame, components)
            found.append(
                Contact(
                    float(t[before + small[-1] if len(small) else first]),
                    float(t[first]),
                    float(t[last]),
                    float(t[peak]),
                    tuple(names[k] for k in passed),
                    links[names[passed[-1]]],
                    residuals[peak],
                    wrench,
                    deviation,
                )
            )
        return tuple(found)

    @cached_property
    def covariance(self) -> Array:
        """⟨r rᵀ⟩ of the quiet log, (n, n), positive definite."""
        r = np.concatenate(self.quiet)
        S = r.T @ r / len(r)
        return np.asarray(S + np.diag(1e-6 * np.diag(S) + 1e-24))

    def wrenches(
        self, q: Array, residuals: Array, frame: str | None = None, components: Sequence[str] = WRENCH
    ) -> tuple[Array, Array]:
        """The wrench that explains residuals best, and its deviations, (..., 6) each: τ_ext = Jᵀ F, weighted by the
        covariance of the quiet residual. What τ_ext does not depend on is NaN with an infinite deviation."""
        rows = [WRENCH.index(choose("component of a wrench", name, WRENCH)) for name in components]
        half = np.linalg.inv(np.linalg.cholesky(self.covariance))  # whitens: half S halfᵀ = 1
        J = np.asarray(self.robot.jacobian(q, self.frame(frame)))[..., rows, :]
        A = half @ np.swapaxes(J, -1, -2)
        U, s, Vt = np.linalg.svd(A, full_matrices=True)
        m, k = len(rows), s.shape[-1]
        told = np.zeros((*s.shape[:-1], m), bool)
        told[..., :k] = s > TOLD * s[..., :1]
        inverse = np.zeros(told.shape)
        inverse[..., :k] = np.divide(1.0, s, out=np.zeros_like(s), where=told[..., :k])
        seen = np.einsum("...ji,...j->...i", U[..., :k], (half @ residuals[..., None])[..., 0])
        value = np.einsum("...ij,...i->...j", Vt[..., :k, :], inverse[..., :k] * seen)
        spread = np.sqrt(np.einsum("...ij,...i->...j", Vt**2, inverse**2))
        open_part = np.einsum("...ij,...i->...j", Vt**2, ~told) > TOLD
        wrench, deviation = np.zeros((*value.shape[:-1], 6)), np.zeros((*value.shape[:-1], 6))
        wrench[..., rows] = np.where(open_part, np.nan, value)
        deviation[..., rows] = np.where(open_part, np.inf, spread)
        return wrench, deviation

    def observe(self, log: Log, frame: str | None = None, components: Sequence[str] = WRENCH) -> Observation:
        """A log through the observer: residuals, contacts, and whether the thresholds belong to it."""
        step = times.common_step(log.t, log.source)
        if abs(step / self.observer.h - 1) > 0.01:
            raise InputError(
                "conflict",
                "log",
                problem=f"{log.source or 'the log'} has {1 / step:.4g} samples per second, and the log without "
                f"contact had {1 / self.observer.h:.4g}",
            )
        if self.observer.rates and log.qd is None:
            raise InputError(
                "missing",
                "log",
                problem=f"{log.source or 'the log'} has no rates, and the thresholds are for recorded rates",
            )
        r = self.residuals(log)
        seen = self.contacts(log.t, log.q, r, frame, components)
        return Observation(self, log, r, seen, self.frame(frame), tuple(components))


class Calibration(TypedDict, total=False):
    """The options of `calibrate_detector`."""

    false_alarms: float
    gain: float | Sequence[float]
    friction: bool
    rates: bool | None


def calibrate_detector(
    robot: Robot,
    quiet: Log | Sequence[Log],
    *,
    false_alarms: float = 1.0,
    gain: float | Sequence[float] = 25.0,
    friction: bool = True,
    rates: bool | None = None,
) -> ContactDetector:
    """A detector whose thresholds are passed `false_alarms` times per hour where nothing touches the arm.

    `quiet`: a log (or several) without contact, which the robot was not identified from: the residual of a fit on its
    own log is too small. `gain` K [1/s], one number or one per joint: the lag is 1/K. `friction`: the robot's model of
    it counts. `rates`: recorded ones (True), those of the positions (False), or whichever leave less noise (None)."""
    logs = [need(log, Log, "a log") for log in ([quiet] if isinstance(quiet, Log) else quiet)]
    asked = number("false_alarms", false_alarms, "1/h", above=0.0, most=MOST_ALARMS)
    if not logs or any(log.n != robot.n for log in logs):
        raise InputError("conflict", "quiet", problem=f"logs of the {robot.n} joints of {robot.name!r} are required")
    steps = [times.common_step(log.t, log.source) for log in logs]
    if max(steps) > 1.01 * min(steps):
        raise InputError("conflict", "quiet", problem="the logs have different sampling rates, and an observer has one")
    recorded = all(log.qd is not None for log in logs)
    if rates and not recorded:
        raise InputError("missing", "quiet", problem="rates=True needs recorded rates, and the log has none")
    observer = MomentumObserver(robot, gain=gain, friction=friction)
    ways = (rates,) if rates is not None else (True, False) if recorded else (False,)
    tried = [_calibrate(observer.sampled(steps[0], way), logs, asked) for way in ways]
    # The lags of rates made from positions take time: they must be worth it.
    return min(tried, key=lambda made: np.log(made.thresholds * (1.0 if made.observer.rates else WORTH)).mean())


def _calibrate(observer: SampledObserver, logs: Sequence[Log], asked: float) -> ContactDetector:
    begun = round((observer.settling + SETTLED / min(observer.observer.gain.values)) / observer.h)
    pieces = [r[begun:] for log in logs for _, r in _replay(observer, log) if len(r) > begun]
    if not pieces:
        raise InputError(
            "too-few",
            "quiet",
            problem=f"no part of the log without contact is longer than the {begun * observer.h:.3g} s in which "
            "the observer settles",
            remedy="Record longer, or use a higher gain.",
        )
    size = np.abs(np.concatenate(pieces))
    torques = np.sqrt(np.mean(np.concatenate([log.tau for log in logs]) ** 2, axis=0))
    usual = np.maximum(np.quantile(size, USUAL, axis=0), 1e-9 * torques + 1e-12)
    period = _period(logs)
    seconds = sum(map(len, pieces)) * observer.h
    tail = fit_tail([(np.abs(r) / usual).max(axis=1) for r in pieces], observer.h, seconds / period)
    level = tail.threshold(asked)
    fastest = np.max([np.abs(_speeds(log)).max(axis=0) for log in logs], axis=0)
    resting = np.mean(np.concatenate([np.abs(_speeds(log)) for log in logs]) < AT_REST * fastest, axis=0)
    return ContactDetector(
        observer, level * usual, asked, tail, level, tuple(pieces), torques, fastest, resting, period
    )


def _period(logs: Sequence[Log]) -> float:
    """After which logs that are all alike repeat themselves [s]: if one does, its period; infinite if none does."""
    found = []
    for log in logs:
        every = max(1, len(log) // 5000)
        step = float(np.median(np.diff(log.t)))
        moving = np.ptp(log.q, axis=0) > 0
        found.append(find_period(log.q[::every][:, moving], every * step) if moving.any() else None)
    return sum(x for x in found if x is not None) if all(found) else np.inf


def _replay(observer: SampledObserver, log: Log) -> list[tuple[slice, Array]]:
    """Residuals of the pieces of a log."""
    parts = times.pieces(log.t, times.common_step(log.t, log.source))
    return [(p, observer.residuals(log.q[p], None if log.qd is None else log.qd[p], log.tau[p])) for p in parts]


def _speeds(log: Log) -> Array:
    """Rates of a log, roughly: over 20 ms at least, so that noise is none."""
    apart = max(1, round(0.02 / float(np.median(np.diff(log.t)))))
    return np.asarray((log.q[apart:] - log.q[:-apart]) / (log.t[apart:] - log.t[:-apart])[:, None])


def observe(
    robot: Robot,
    log: Log,
    *,
    quiet: Log | Sequence[Log] | None = None,
    first: float = 0.5,
    frame: str | None = None,
    components: Sequence[str] = WRENCH,
    **calibration: Unpack[Calibration],
) -> Observation:
    """Contacts in a log, by thresholds from a `quiet` log, or from the `first` part of the same one, which then must be
    without contact; `calibration` are the options of `calibrate_detector`, `frame` and `components` those of
    `ContactDetector.contacts`."""
    need(log, Log, "a log")
    if quiet is None:
        cut = round(len(log) * number("first", first, least=0.01, most=0.99))
        quiet, log = _part(log, slice(0, cut)), _part(log, slice(cut, None))
    if log.qd is None and calibration.get("rates") is None:
        calibration["rates"] = False
    return calibrate_detector(robot, quiet, **calibration).observe(log, frame, components)


def _part(log: Log, rows: slice) -> Log:
    return replace(log, t=log.t[rows], q=log.q[rows], tau=log.tau[rows], qd=None if log.qd is None else log.qd[rows])


# ------------------------------------------------------------------------------------------------ what was seen
@dataclass(frozen=True, eq=False)
class Observation:
    """A log as a detector saw it: residuals (N, n) [N m, N], the external torques through the observer's lag, and the
    contacts, with `components` of wrenches at `frame`; `report`: whether its thresholds belong to this log."""

    detector: ContactDetector
    log: Log
    residuals: Array
    contacts: tuple[Contact, ...]
    frame: str
    components: tuple[str, ...] = WRENCH

    @property
    def seconds(self) -> float:
        """How long the log is, without its gaps."""
        return len(self.log) * self.detector.observer.h

    @cached_property
    def report(self) -> Findings[Finding, None]:
        """What makes the rate of false alarms, or the contacts, doubtful; the worst first."""
        made, joints = self.detector, self.log.joints
        quiet, speeds = np.abs(np.concatenate(made.quiet)), np.abs(_speeds(self.log))
        still = (speeds < AT_REST * made.fastest).mean(axis=0) * (made.resting < 0.01)
        low, usual = np.quantile(quiet, (0.5, USUAL), axis=0) + 1e-12
        # Of joints that bear much: of a wrist's own torque noise is a large part, and no harm.
        much = (made.torques >= 0.1 * made.torques.max()) & (made.torques > 0)
        poor = np.divide(np.sqrt(np.diag(made.covariance)), made.torques, out=np.zeros(len(joints)), where=much)
        values = (
            np.median(np.abs(self.residuals) / made.thresholds, axis=0) * made.at,
            (speeds > 1.1 * made.fastest).mean(axis=0),
            still,
            np.maximum(quiet.max(axis=0) / usual, usual / low),
            poor,
        )
        found = [
            Finding(rule, severity, said.format(joint=joint, x=x), fix, element=joint, evidence=float(x))
            for (rule, severity, most, said, fix), each in zip(DOUBTS, values, strict=True)
            for joint, x in zip(joints, each, strict=True)
            if x > most
        ]
        if np.isfinite(made.period):
            said = f"the log without contact repeats a motion of {made.period:.3g} s: what others do is not known"
            found.append(Finding("periodic", "note", said, ALIKE, evidence=made.period))
        high = made.interval[1]
        if high > 4 * made.asked:
            said = (
                f"{made.tail.seconds:.3g} s without contact tell of {made.asked:g} false alarms per hour only by "
                f"extrapolation: it may be {high:.2g}"
            )
            fix = f"{3 * HOUR / made.asked:.3g} s would show it"
            found.append(Finding("short", "note", said, fix, evidence=made.tail.seconds))
        ordered = sorted(found, key=lambda f: SEVERITIES.index(f.severity))
        return Findings(self.log.source, tuple(ordered), None, "contacts")

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """A table: t, r_… per joint [N m, N], `contact`, its number (from 1) or 0, and in contact the wrench."""
        t, made = self.log.t, self.detector
        number_of, wrench = np.zeros(len(t)), np.full((len(t), 6), np.nan)
        for k, c in enumerate(self.contacts):
            inside = slice(*np.searchsorted(t, (c.alarm, c.end + 0.5 * made.observer.h)))
            number_of[inside] = k + 1
            then = np.searchsorted(t, t[inside] - made.observer.delay)
            wrench[inside], _ = made.wrenches(self.log.q[then], self.residuals[inside], self.frame, self.components)
        head = ["t", *(f"r_{joint}" for joint in self.log.joints), "contact", *WRENCH]
        return whole_table(path, head, np.column_stack([t, self.residuals, number_of, wrench]).tolist())

    @styled
    def plot(self) -> Figure:
        """A matplotlib figure: each joint's residual with its thresholds, contacts shaded."""
        n = len(self.log.joints)
        figure, panels = pyplot().subplots(
            n, 1, figsize=(8, 1 + 1.3 * n), sharex=True, squeeze=False, layout="constrained"
        )
        t, every = self.log.t.copy(), max(1, len(self.log) // 20_000)
        r = self.residuals.copy()
        r[np.flatnonzero(np.diff(t) > times.GAP * self.detector.observer.h)] = np.nan  # no line across a gap
        for j, (panel, joint, unit) in enumerate(zip(panels[:, 0], self.log.joints, self.detector.units, strict=True)):
            for c in self.contacts:
                panel.axvspan(c.alarm, c.end, color=COLORS[3], alpha=0.6 if joint in c.joints else 0.2, lw=0)
            panel.plot(t[::every], r[::every, j], lw=0.8)
            for sign in (-1, 1):
                panel.axhline(sign * self.detector.thresholds[j], color=COLORS[1], lw=1.0, ls="--")
            panel.set_ylabel(f"{joint}\n[{unit}]", fontsize=8)
        low, high = self.detector.interval
        panels[0, 0].set_title(
            f"external torques as the observer sees them; contacts: {len(self.contacts)}; thresholds (dashed) for "
            f"{self.detector.asked:g}/h false alarms ({low:.2g} … {high:.2g})"
        )
        panels[-1, 0].set_xlabel("t [s]")
        return figure
