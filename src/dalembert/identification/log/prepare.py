"""`prepare`: from a log to samples that a regressor can use. Positions and torques pass the same filter without phase.

What is taken from the torques must be taken from the model's side too (that is what the filtered positions do), or
the two no longer belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, unknown
from dalembert.identification.log import filters, times
from dalembert.identification.log.samples import Log, Samples
from dalembert.identification.log.spectrum import LEAST, Spectra, density, floor_of, spectra

Array = NDArray[np.float64]

# Samples kept per period of the cut-off: more of them only repeat each other.
DENSITY = 5.0
# A rate is one, and not noise, beyond so many deviations, and beyond this part of the joint's largest.
SURE, SLOW = 4.0, 2e-3
SHORTEST = 20  # samples of a piece that are worth keeping


@dataclass(frozen=True, eq=False)
class Preparation:
    """How samples were made: the samples, the spectra with the cut-off, the method, the period of the motion [s] if
    one was used, how many samples became one, and how many were trimmed at each end of a piece."""

    samples: Samples
    spectra: Spectra
    method: str
    period: float | None
    decimation: int
    trimmed: int

    def plot(self) -> Any:
        """A matplotlib figure of the spectra, their noise floors and the cut-off."""
        return self.spectra.plot()


@dataclass(frozen=True)
class _Task:
    """A piece of a log at even steps, and what is asked."""

    q: Array
    tau: Array
    qd: Array | None  # recorded rates, if these are to be used
    step: float
    cutoff: float
    order: int


Made = tuple[Array, Array, Array, Array, int]  # q, qd, qdd, tau; how many samples each end has lost by that


def _butterworth(task: _Task) -> Made:
    low = (task.step, task.cutoff, task.order)
    (tau,) = filters.smoothed(task.tau, *low)
    if task.qd is None:
        q, qd, qdd = filters.smoothed(task.q, *low, (0, 1, 2))
    else:
        (q,), (qd, qdd) = filters.smoothed(task.q, *low), filters.smoothed(task.qd, *low, (0, 1))
    return q, qd, qdd, tau, 0


def _central(task: _Task) -> Made:
    low = (task.step, task.cutoff, task.order)
    (tau,), (q,) = filters.smoothed(task.tau, *low), filters.smoothed(task.q, *low)
    h = task.step
    if task.qd is None:
        qd, qdd = filters.central(q, h), np.zeros_like(q)
        qdd[1:-1] = (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    else:
        (qd,) = filters.smoothed(task.qd, *low)
        qdd = filters.central(qd, h)
    return q[1:-1], qd[1:-1], qdd[1:-1], tau[1:-1], 1


def _savgol(task: _Task) -> Made:
    if not np.isfinite(task.cutoff):
        raise InputError("method 'savgol' needs a cut-off: its window is made from it")
    half = filters.half_window(task.cutoff, 1 / task.step, task.order)
    if 2 * half >= len(task.q):
        raise InputError(
            f"method 'savgol' with a cut-off of {task.cutoff:.3g} Hz needs windows of {2 * half + 1} samples; the "
            f"log has {len(task.q)}"
        )
    tau, _, _ = filters.local_polynomial(task.tau, task.step, half, task.order)
    q, qd, qdd = filters.local_polynomial(task.q, task.step, half, task.order)
    if task.qd is not None:
        qd, qdd, _ = filters.local_polynomial(task.qd, task.step, half, task.order)
    return q, qd, qdd, tau, half


METHODS: dict[str, Callable[[_Task], Made]] = {"butterworth": _butterworth, "central": _central, "savgol": _savgol}
DERIVATIVES = ("auto", "position", "velocity")


def prepare(log: Log, **options: Any) -> Samples:
    """Samples of a log, filtered and differentiated: see `preparation`, which tells what was done as well."""
    return preparation(log, **options).samples


def preparation(
    log: Log,
    *,
    cutoff: float | None = None,
    method: str = "butterworth",
    order: int = 4,
    decimate: int | str = "auto",
    derivatives: str = "auto",
    period: float | None = None,
    least: float = LEAST,
) -> Preparation:
    """Samples of a log, and how they were made.

    - `cutoff` [Hz] of the low-pass that positions and torques both pass; None: chosen from their spectra
      (`Spectra`); inf: none.
    - `method`: "butterworth", forwards and backwards, with exact derivatives of the filtered signal; "central", the
      same with central differences; "savgol", local polynomials of degree `order`; "fourier", for periodic motions:
      harmonics of one period up to the cut-off, fitted to all periods, of which one is returned.
    - `decimate`: every so manyth sample is kept after filtering; "auto": five per period of the cut-off.
    - `derivatives`: of the "position", or of the recorded "velocity"; "auto": of the recorded rates where they are
      those of the positions and less noisy.
    - `period` [s] of a periodic motion, found if not given.
    - `least`: a cut-off that is chosen is at least so many times the bandwidth of the motion. A first look needs the
      corners that friction makes in the torques; a fit is better off with less noise.

    The ends, where a filter has not settled, are trimmed; pieces of a log between gaps are filtered each for itself."""
    _checked(log, cutoff, method, order, decimate, derivatives, period)
    step = times.common_step(log.t, log.source)
    rate = 1 / step
    if cutoff is not None and np.isfinite(cutoff) and cutoff >= 0.5 * rate:
        raise InputError(
            f"cutoff={cutoff:g} Hz is not below half the sampling rate, {0.5 * rate:g} Hz; cutoff=inf filters nothing"
        )
    if cutoff is not None and cutoff * step * len(log) < 1:
        raise InputError(
            f"cutoff={cutoff:g} Hz: one period of it is longer than the log, {step * len(log):.3g} s, and nothing of "
            "the motion would be left; choose a higher cut-off"
        )
    parts = times.pieces(log.t, step)
    longest = max(parts, key=lambda p: p.stop - p.start)
    found = spectra(log.q[longest], log.tau[longest], step, log.joints, cutoff, least)
    if not found.cutoff > 0:
        raise InputError(
            f"{log.source or 'the log'}: no joint moves in it, so that there is nothing to choose a cut-off by"
        )
    notes = [_chosen(found, rate, given=cutoff is not None)]
    with_rates, why = _use_rates(log, longest, step, found, derivatives)
    notes += [why] if why else []
    if method == "fourier":
        return _fourier(log, longest, step, found, period, decimate, notes)
    trim = filters.settling(found.cutoff, step, order)
    tasks = [
        _Task(log.q[p], log.tau[p], log.qd[p] if with_rates and log.qd is not None else None, step, found.cutoff, order)
        for p in parts
    ]
    made, kept = [], []
    for p, task in zip(parts, tasks, strict=True):
        if p.stop - p.start < 2 * trim + SHORTEST:
            continue
        q, qd, qdd, tau, lost = METHODS[method](task)
        cut = max(trim - lost, 0)
        inner = slice(cut, len(q) - cut)
        made.append([log.t[p][lost : len(log.t[p]) - lost][inner], *(x[inner] for x in (q, qd, qdd, tau))])
        kept.append(p)
        trim_here = lost + cut
    if not made:
        raise InputError(
            f"{log.source or 'the log'} lasts {(longest.stop - longest.start) * step:.3g} s without a gap; a "
            f"cut-off of {found.cutoff:.3g} Hz "
            f"forgets its ends after {trim * step:.3g} s on either side: record longer, or choose a higher cut-off"
        )
    if len(kept) < len(parts):
        notes.append(
            f"{len(parts) - len(kept)} of {len(parts)} pieces between gaps are too short to be filtered, and left out"
        )
    notes.append(
        f"{trim_here} samples ({trim_here * step:.3g} s) trimmed at each end, where the filter has not settled"
    )
    every = _decimation(decimate, found.cutoff, rate)
    t, q, qd, qdd, tau = (np.concatenate([piece[k][::every] for piece in made]) for k in range(5))
    if every > 1:
        notes.append(f"one sample in {every} kept: {rate / every:.4g} Hz")
    rest, quiet = _noise(log, longest, step, found, order, with_rates, np.abs(qd).max(axis=0))
    samples = Samples(t, q, qd, qdd, tau, log.joints, every * step, found.cutoff, rest, quiet, (*log.notes, *notes))
    return Preparation(samples, found, method, None, every, trim_here)


def _checked(log: Any, cutoff: Any, method: Any, order: Any, decimate: Any, derivatives: Any, period: Any) -> None:
    if not isinstance(log, Log):
        raise InputError(f"prepare takes a Log, which read_log makes; got {type(log).__name__}")
    if method not in (*METHODS, "fourier"):
        raise unknown("method", method, (*METHODS, "fourier"))
    if derivatives not in DERIVATIVES:
        raise unknown("choice of derivatives", derivatives, DERIVATIVES)
    if derivatives == "velocity" and log.qd is None:
        raise InputError("derivatives='velocity' needs recorded rates, and this log has none")
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or not 1 <= order <= 10:
        raise InputError(f"order must be a whole number from 1 to 10, got {order!r}")
    if method == "savgol" and order < 2:
        raise InputError("method 'savgol' needs order ≥ 2: accelerations are second derivatives of its polynomials")
    for name, value in (("cutoff", cutoff), ("period", period)):
        if value is not None and not (isinstance(value, (int, float, np.number)) and value > 0):
            raise InputError(f"{name} must be a positive number, got {value!r}")
    if decimate != "auto" and (isinstance(decimate, (str, bool)) or decimate != int(decimate) or decimate < 1):
        raise InputError(f"decimate must be 'auto' or a whole number ≥ 1, got {decimate!r}")
    if len(log) < SHORTEST:
        raise InputError(f"{len(log)} samples are too few to be filtered; {SHORTEST} would be the least")


def _chosen(found: Spectra, rate: float, given: bool) -> str:
    if not np.isfinite(found.cutoff):
        return (
            "no filter"
            if given
            else f"no filter: the signals meet their noise at {found.q_meets:.3g} Hz, beyond what {rate:.4g} Hz holds"
        )
    by = (
        "given"
        if given
        else (
            f"chosen: positions meet their noise at {found.q_meets:.3g} Hz, torques at {found.tau_meets:.3g} Hz, the "
            "motion "
            f"itself reaches {found.motion:.3g} Hz"
        )
    )
    return f"positions and torques low-passed at {found.cutoff:.3g} Hz ({by})"


def _decimation(asked: int | str, cutoff: float, rate: float) -> int:
    if asked == "auto":
        return max(1, int(rate / (DENSITY * cutoff))) if np.isfinite(cutoff) else 1
    if rate / int(asked) < 2 * cutoff and int(asked) > 1:
        most = int(rate / (2 * cutoff)) if np.isfinite(cutoff) else 1
        raise InputError(
            f"decimate={asked} leaves {rate / int(asked):.3g} Hz, less than twice the cut-off of {cutoff:.3g} Hz: "
            "what lies between "
            f"would be folded down; at most {max(most, 1)}"
        )
    return int(asked)


def _noise(
    log: Log, piece: slice, step: float, found: Spectra, order: int, with_rates: bool, fastest: Array
) -> tuple[Array, Array]:
    """`rest` and `quiet` of the samples: white noise of the spectra's floors, through filter and derivative."""
    f = np.linspace(0, 0.5 / step, 2001)
    G2 = filters.butterworth_gain(f, found.cutoff, 1 / step, order) ** 2
    band, second = np.trapezoid(G2, f), np.trapezoid(G2 * (2 * np.pi * f) ** 2, f)
    if with_rates and log.qd is not None:
        sigma = np.sqrt(floor_of(*density(log.qd[piece], step)) * band)
    else:
        sigma = np.sqrt(found.q_floor * second)
    return np.maximum(SURE * sigma, SLOW * fastest), np.sqrt(found.tau_floor * band)


def _use_rates(log: Log, piece: slice, step: float, found: Spectra, derivatives: str) -> tuple[bool, str | None]:
    """Whether recorded rates serve better than derivatives of the positions."""
    if log.qd is None or derivatives == "position":
        return False, None
    if derivatives == "velocity":
        return True, "rates as recorded, accelerations from them"
    band = min(found.cutoff, 3 * found.motion, 0.4 / step)  # where the motion is, and little noise
    _, rates = filters.smoothed(log.q[piece], step, band, 4, (0, 1))
    (recorded,) = filters.smoothed(log.qd[piece], step, band, 4)
    off = np.linalg.norm(recorded - rates, axis=0) / np.maximum(np.linalg.norm(rates, axis=0), 1e-12)
    if off.max() > 0.02:
        return False, f"recorded rates differ from the positions' by {100 * off.max():.2g} %, and are not used"
    own = floor_of(*density(log.qd[piece], step))
    derived = found.q_floor * (2 * np.pi * min(found.cutoff, 0.5 / step)) ** 2 / 3
    if (own < 0.5 * derived).all():
        return True, "rates as recorded, which are less noisy than those of the positions; accelerations from them"
    return False, None


def _fourier(
    log: Log, piece: slice, step: float, found: Spectra, period: float | None, decimate: int | str, notes: list[str]
) -> Preparation:
    """Harmonics of the period up to the cut-off, fitted to positions and torques over all whole periods."""
    t, q, tau = log.t[piece], log.q[piece], log.tau[piece]
    given = period is not None
    period = period if period is not None else _period(log, q, step)
    turns = (len(t) * step) / period
    if turns < 0.999:
        raise InputError(f"a period of {period:g} s is longer than the log, {len(t) * step:.4g} s")
    count = max(1, int(min(found.cutoff, 0.4 / step) * period))
    if 2 * count + 1 > len(t) // 2:
        raise InputError(
            f"{count} harmonics of {1 / period:.3g} Hz are too many for {len(t)} samples: give a lower cutoff"
        )
    whole = min(len(t), round(int(turns + 1e-3) * period / step))
    both = np.concatenate([q[:whole], tau[:whole]], axis=1)
    fitted = filters.harmonic_fit(t[:whole] - t[0], both, period, count)
    shown = slice(None, None, max(1, whole // 5000))  # enough to see how large what is left is
    left = tau[:whole][shown] - filters.harmonics(t[:whole][shown] - t[0], period, count) @ fitted[:, log.n :]
    every = _decimation(decimate, found.cutoff, 1 / step)
    at = np.asarray(np.arange(0, max(round(period / step), 1), every) * step, float)
    q1, qd1, qdd1 = (filters.harmonics(at, period, count, k) @ fitted[:, : log.n] for k in range(3))
    tau1 = filters.harmonics(at, period, count) @ fitted[:, log.n :]
    cycles = max(1, int(turns + 1e-3))
    notes.append(
        f"period {'given' if given else 'found'}: {period:.6g} s; {count} harmonics fitted over {cycles} periods, "
        "of which one is kept"
    )
    # What the fit leaves is noise; a fitted curve has its share of it in as many parts as it has coefficients.
    quiet = left.std(axis=0) * np.sqrt((2 * count + 1) / whole)
    w2 = np.sum((2 * np.pi / period * np.arange(1, count + 1)) ** 2)
    sigma = np.sqrt(found.q_floor / (2 * step)) * np.sqrt(2 * w2 / whole)
    rest = np.maximum(SURE * sigma, SLOW * np.abs(qd1).max(axis=0))
    samples = Samples(
        t[0] + at, q1, qd1, qdd1, tau1, log.joints, every * step, count / period, rest, quiet, (*log.notes, *notes)
    )
    return Preparation(samples, found, "fourier", period, every, 0)


def _period(log: Log, q: Array, step: float) -> float:
    rough = filters.find_period(q, step)
    if rough is None:
        raise InputError(
            f"{log.source or 'the log'} does not repeat itself within half its length, so that it has no Fourier "
            "series: "
            "use another method, or give period=… [s] if you know it"
        )
    return _refined(q, step, rough)


def _refined(q: Array, step: float, rough: float) -> float:
    """The period for which few harmonics leave least, by golden section about the rough one."""
    t = np.asarray(np.arange(len(q)) * step, float)
    count = max(1, min(10, int(0.2 * rough / step)))

    def left(period: float) -> float:
        fitted = filters.harmonic_fit(t, q, period, count)
        return float(np.sum((q - filters.harmonics(t, period, count) @ fitted) ** 2))

    a, b = rough - step, rough + step
    ratio = 0.5 * (5**0.5 - 1)
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    at_c, at_d = left(c), left(d)
    for _ in range(25):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - ratio * (b - a)
            at_c = left(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + ratio * (b - a)
            at_d = left(d)
    return 0.5 * (a + b)
