"""`prepare`: from a log to samples that a regressor can use. Positions and torques pass the same filter without phase.

What is taken from the torques must be taken from the model's side too (that is what the filtered positions do), or
the two no longer belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import count, number
from dalembert.errors import InputError, unknown
from dalembert.identification.log import filters, times
from dalembert.identification.log.filters import LEAST, Spectra, density, find_spectra, floor_of
from dalembert.identification.log.samples import Log, Samples, find_direction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# Samples kept per period of the cut-off: more of them only repeat each other.
DENSITY = 5.0
# A rate is one, and not noise, beyond so many deviations, and beyond this part of the joint's largest.
DEVIATIONS, SLOWEST = 4.0, 2e-3
SHORTEST = 20  # samples of a piece that are worth keeping


class Choices(TypedDict, total=False):
    """The options of `preparation` but for its method."""

    cutoff: float | None
    order: int
    decimate: int | str
    derivatives: str
    period: float | None
    least: float


class Options(Choices, total=False):
    """The options of `preparation`."""

    method: str


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

    def plot(self) -> Figure:
        """A matplotlib figure of the spectra, their noise floors and the cut-off."""
        return self.spectra.plot()


@dataclass(frozen=True)
class _Piece:
    """A stretch of a log at even steps, and what is asked of it. `tau` holds the directions of friction beside the
    torques: what is filtered alike belongs together after it as before."""

    q: Array
    tau: Array
    qd: Array | None  # recorded rates, if these are to be used
    step: float
    cutoff: float
    order: int

    def smooth(self, x: Array, *derivatives: int) -> list[Array]:
        return filters.smooth(x, self.step, self.cutoff, self.order, derivatives or (0,))


Made = tuple[Array, Array, Array, Array, int]  # q, qd, qdd, tau; how many samples each end has lost by that


def _butterworth(piece: _Piece) -> Made:
    (tau,) = piece.smooth(piece.tau)
    if piece.qd is None:
        q, qd, qdd = piece.smooth(piece.q, 0, 1, 2)
    else:
        (q,), (qd, qdd) = piece.smooth(piece.q), piece.smooth(piece.qd, 0, 1)
    return q, qd, qdd, tau, 0


def _central(piece: _Piece) -> Made:
    """Central differences, (x₊ − x₋)/2h, which lose sin(ωh)/(ωh) of a frequency."""
    (tau,), (q,) = piece.smooth(piece.tau), piece.smooth(piece.q)
    h = piece.step
    if piece.qd is None:
        qd, qdd = np.gradient(q, h, axis=0)[1:-1], (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    else:
        (rates,) = piece.smooth(piece.qd)
        qd, qdd = rates[1:-1], np.gradient(rates, h, axis=0)[1:-1]
    return q[1:-1], qd, qdd, tau[1:-1], 1


def _savgol(piece: _Piece) -> Made:
    if not np.isfinite(piece.cutoff):
        raise InputError("method 'savgol' needs a cut-off: its window is made from it")
    half = filters.half_window(piece.cutoff, 1 / piece.step, piece.order)
    if 2 * half >= len(piece.q):
        raise InputError(
            f"method 'savgol' with a cut-off of {piece.cutoff:.3g} Hz needs windows of {2 * half + 1} samples; the "
            f"log has {len(piece.q)}"
        )
    window = (piece.step, half, piece.order)
    tau, _, _ = filters.local_polynomial(piece.tau, *window)
    q, qd, qdd = filters.local_polynomial(piece.q, *window)
    if piece.qd is not None:
        qd, qdd, _ = filters.local_polynomial(piece.qd, *window)
    return q, qd, qdd, tau, half


METHODS: dict[str, Callable[[_Piece], Made]] = {"butterworth": _butterworth, "central": _central, "savgol": _savgol}
DERIVATIVES = ("auto", "position", "velocity")


def prepare(log: Log, **options: Unpack[Options]) -> Samples:
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
    - `decimate`: one sample in so many is kept after filtering; "auto": five per period of the cut-off.
    - `derivatives`: of the "position", or of the recorded "velocity"; "auto": of the recorded rates where they are
      those of the positions and less noisy.
    - `period` [s] of a periodic motion, found if not given.
    - `least`: a cut-off that is chosen is at least so many times the bandwidth of the motion. A first look needs the
      corners that friction makes in the torques; a fit is better off with less noise.

    The ends, where a filter has not settled, are trimmed; pieces of a log between gaps are filtered each for itself."""
    _check(log, cutoff, method, order, decimate, derivatives, period)
    name = log.source or "the log"
    step = times.common_step(log.t, log.source)
    rate, long = 1 / step, step * len(log)
    if cutoff is not None and np.isfinite(cutoff) and cutoff >= 0.5 * rate:
        raise InputError(
            f"cutoff={cutoff:g} Hz is not below half the sampling rate, {0.5 * rate:g} Hz; cutoff=inf filters nothing"
        )
    if cutoff is not None and cutoff * long < 1:
        raise InputError(
            f"cutoff={cutoff:g} Hz: one period of it is longer than the log, {long:.3g} s, and nothing of "
            "the motion would be left; choose a higher cut-off"
        )
    parts = times.pieces(log.t, step)
    longest = max(parts, key=lambda p: p.stop - p.start)
    found = find_spectra(log.q[longest], log.tau[longest], step, log.joints, cutoff, least)
    if not found.cutoff > 0:
        raise InputError(f"{name}: no joint moves in it, so that there is nothing to choose a cut-off by")
    rates, why = _choose_rates(log, longest, step, found, derivatives)
    notes = [_describe(found, rate, given=cutoff is not None), *why]
    if method == "fourier":
        return _fourier(log, longest, step, found, period, decimate, notes)
    trim = filters.settling(found.cutoff, step, order)
    made = []
    both = np.concatenate([log.tau, _directions(log, parts, step, found, rates)], axis=1)
    for p in parts:
        if p.stop - p.start >= 2 * trim + SHORTEST:
            qd_here = None if rates is None else rates[p]
            *signals, lost = METHODS[method](_Piece(log.q[p], both[p], qd_here, step, found.cutoff, order))
            cut = max(trim - lost, 0)
            kept = slice(cut, len(signals[0]) - cut)
            made.append([log.t[p][lost : p.stop - p.start - lost][kept], *(x[kept] for x in signals)])
            trimmed = lost + cut
    if not made:
        raise InputError(
            f"{name} lasts {(longest.stop - longest.start) * step:.3g} s without a gap; a cut-off of "
            f"{found.cutoff:.3g} Hz forgets its ends after {trim * step:.3g} s on either side: record longer, or "
            "choose a higher cut-off"
        )
    if len(made) < len(parts):
        few = len(parts) - len(made)
        notes.append(f"{few} of {len(parts)} pieces between gaps are too short to be filtered, and left out")
    notes.append(f"{trimmed} samples ({trimmed * step:.3g} s) trimmed at each end, where the filter has not settled")
    every = _decimation(decimate, found.cutoff, rate)
    t, q, qd, qdd, tau = (np.concatenate([piece[k][::every] for piece in made]) for k in range(5))
    notes += [f"one sample in {every} kept: {rate / every:.4g} Hz"] if every > 1 else []
    rates_floor = None if rates is None else floor_of(*density(rates[longest], step))
    rest = _rest(found, rates_floor, step, found.cutoff, order, qd)
    quiet = np.sqrt(found.tau_floor * _kept_power(step, found.cutoff, order)[0])
    tau, s = tau[:, : log.n], tau[:, log.n :]
    told = (*log.notes, *notes)
    samples = Samples(t, q, qd, qdd, tau, log.joints, every * step, found.cutoff, rest, quiet, told, s)
    return Preparation(samples, found, method, None, every, trimmed)


def _kept_power(step: float, cutoff: float, order: int) -> tuple[float, float]:
    """What filter, and filter and derivative, leave of white noise of density one."""
    f = np.linspace(0, 0.5 / step, 2001)
    G2 = filters.butterworth_gain(f, cutoff, 1 / step, order) ** 2
    return float(np.trapezoid(G2, f)), float(np.trapezoid(G2 * (2 * np.pi * f) ** 2, f))


def _rest(
    found: Spectra,
    rates_floor: Array | None,
    step: float,
    cutoff: float,
    order: int,
    qd: Array,
    slowest: float = SLOWEST,
) -> Array:
    """Rates below which a joint cannot be told from one that stands still (n,)."""
    band, second = _kept_power(step, cutoff, order)
    noise = found.q_floor * second if rates_floor is None else rates_floor * band
    return np.asarray(np.maximum(DEVIATIONS * np.sqrt(noise), slowest * np.abs(qd).max(axis=0)))


def _directions(log: Log, parts: list[slice], step: float, found: Spectra, rates: Array | None) -> Array:
    """The direction of dry friction at the log's full rate (N, n). The rates are filtered where positions meet their
    noise, whatever the cut-off of the samples: a filter that is too slow would move the reversals."""
    cutoff = filters.within(found.q_meets, found.motion, LEAST, step)
    longest = max(parts, key=lambda p: p.stop - p.start)
    rates_floor = None if rates is None else floor_of(*density(rates[longest], step))
    s = np.zeros_like(log.q)
    for p in parts:
        if p.stop - p.start < SHORTEST:
            continue
        x, order = (log.q, 1) if rates is None else (rates, 0)
        (v,) = filters.smooth(x[p], step, cutoff, 4, (order,))
        s[p] = find_direction(v, _rest(found, rates_floor, step, cutoff, 4, v, 0.0))
    if log.filled is not None and log.filled.any():  # as the torques were
        k = np.asarray(np.round(log.t / step), float)
        s[log.filled] = times.interpolate(k[~log.filled], s[~log.filled], k[log.filled])
    return s


def _check(
    log: object, cutoff: object, method: object, order: object, decimate: object, derivatives: object, period: object
) -> None:
    if not isinstance(log, Log):
        raise InputError(f"prepare takes a Log, which read_log makes; got {type(log).__name__}")
    if method not in (*METHODS, "fourier"):
        raise unknown("method", method, (*METHODS, "fourier"))
    if derivatives not in DERIVATIVES:
        raise unknown("choice of derivatives", derivatives, DERIVATIVES)
    if derivatives == "velocity" and log.qd is None:
        raise InputError("derivatives='velocity' needs recorded rates, and this log has none")
    if count("order", order, 1) > 10:
        raise InputError(f"order must be a whole number from 1 to 10, got {order!r}")
    if method == "savgol" and order == 1:
        raise InputError("method 'savgol' needs order ≥ 2: accelerations are second derivatives of its polynomials")
    for name, value, unit in (("cutoff", cutoff, "Hz"), ("period", period, "s")):
        if value is not None:
            number(name, value, unit, finite=False, above=0)
    whole = isinstance(decimate, (int, float, np.number)) and not isinstance(decimate, bool)
    if decimate != "auto" and not (whole and decimate == int(decimate) and decimate >= 1):  # type: ignore[call-overload, operator]
        raise InputError(f"decimate must be 'auto' or a whole number ≥ 1, got {decimate!r}")
    if len(log) < SHORTEST:
        raise InputError(f"{len(log)} samples are too few to be filtered; {SHORTEST} would be the least")


def _describe(found: Spectra, rate: float, given: bool) -> str:
    """How positions and torques are filtered."""
    if not np.isfinite(found.cutoff):
        why = f": the signals meet their noise at {found.q_meets:.3g} Hz, beyond what {rate:.4g} Hz holds"
        return "no filter" + ("" if given else why)
    chosen = (
        f"chosen: positions meet their noise at {found.q_meets:.3g} Hz, torques at {found.tau_meets:.3g} Hz, the "
        f"motion itself reaches {found.motion:.3g} Hz"
    )
    return f"positions and torques low-passed at {found.cutoff:.3g} Hz ({'given' if given else chosen})"


def _decimation(asked: int | str, cutoff: float, rate: float) -> int:
    if asked == "auto":
        return max(1, int(rate / (DENSITY * cutoff))) if np.isfinite(cutoff) else 1
    every = int(asked)
    if rate / every < 2 * cutoff and every > 1:
        most = int(rate / (2 * cutoff)) if np.isfinite(cutoff) else 1
        raise InputError(
            f"decimate={asked} leaves {rate / every:.3g} Hz, less than twice the cut-off of {cutoff:.3g} Hz: "
            f"what lies between would be folded down; at most {max(most, 1)}"
        )
    return every


def _choose_rates(
    log: Log, piece: slice, step: float, found: Spectra, derivatives: str
) -> tuple[Array | None, list[str]]:
    """The recorded rates if they serve better than derivatives of the positions, and why or why not."""
    if log.qd is None or derivatives == "position":
        return None, []
    if derivatives == "velocity":
        return log.qd, ["rates as recorded, accelerations from them"]
    band = min(found.cutoff, 3 * found.motion, 0.4 / step)  # where the motion is, and little noise
    _, rates = filters.smooth(log.q[piece], step, band, 4, (0, 1))
    (recorded,) = filters.smooth(log.qd[piece], step, band, 4)
    off = np.linalg.norm(recorded - rates, axis=0) / np.maximum(np.linalg.norm(rates, axis=0), 1e-12)
    if off.max() > 0.02:
        return None, [f"recorded rates differ from the positions' by {100 * off.max():.2g} %, and are not used"]
    own = floor_of(*density(log.qd[piece], step))
    derived = found.q_floor * (2 * np.pi * min(found.cutoff, 0.5 / step)) ** 2 / 3
    if (own < 0.5 * derived).all():
        why = "rates as recorded, which are less noisy than those of the positions; accelerations from them"
        return log.qd, [why]
    return None, []


def _fourier(
    log: Log, piece: slice, step: float, found: Spectra, period: float | None, decimate: int | str, notes: list[str]
) -> Preparation:
    """Harmonics of the period up to the cut-off, fitted to positions and torques over all whole periods."""
    t, q, tau = log.t[piece], log.q[piece], log.tau[piece]
    how = "found" if period is None else "given"
    if period is None:
        rough = filters.find_period(q, step)
        if rough is None:
            raise InputError(
                f"{log.source or 'the log'} does not repeat itself within half its length, so that it has no Fourier "
                "series: use another method, or give period=… [s] if you know it"
            )
        period = filters.refine_period(q, step, rough)
    turns = (len(t) * step) / period
    if turns < 0.999:
        raise InputError(f"a period of {period:g} s is longer than the log, {len(t) * step:.4g} s")
    harmonics = max(1, int(min(found.cutoff, 0.4 / step) * period))
    if 2 * harmonics + 1 > len(t) // 2:
        raise InputError(
            f"{harmonics} harmonics of {1 / period:.3g} Hz are too many for {len(t)} samples: give a lower cutoff"
        )
    cycles = int(turns + 1e-3)
    whole = min(len(t), round(cycles * period / step))
    s = _directions(log, [piece], step, found, None)[piece]
    both = np.concatenate([q[:whole], tau[:whole], s[:whole]], axis=1)
    fitted = filters.fit_harmonics(t[:whole] - t[0], both, period, harmonics)
    shown = slice(None, None, max(1, whole // 5000))  # enough to see how large what is left is
    left = tau[:whole][shown] - (
        filters.harmonics(t[:whole][shown] - t[0], period, harmonics) @ fitted[:, log.n : 2 * log.n]
    )
    every = _decimation(decimate, found.cutoff, 1 / step)
    at = np.asarray(np.arange(0, max(round(period / step), 1), every) * step, float)
    q1, qd1, qdd1 = (filters.harmonics(at, period, harmonics, k) @ fitted[:, : log.n] for k in range(3))
    tau1, s1 = np.split(filters.harmonics(at, period, harmonics) @ fitted[:, log.n :], 2, axis=1)
    notes.append(
        f"period {how}: {period:.6g} s; {harmonics} harmonics fitted over {max(1, cycles)} periods, of which one is "
        "kept"
    )
    # What the fit leaves is noise; a fitted curve has its share of it in as many parts as it has coefficients.
    quiet = left.std(axis=0) * np.sqrt((2 * harmonics + 1) / whole)
    w2 = np.sum((2 * np.pi / period * np.arange(1, harmonics + 1)) ** 2)
    sigma = np.sqrt(found.q_floor / (2 * step)) * np.sqrt(2 * w2 / whole)
    rest = np.maximum(DEVIATIONS * sigma, SLOWEST * np.abs(qd1).max(axis=0))
    told = (*log.notes, *notes)
    top = harmonics / period
    samples = Samples(t[0] + at, q1, qd1, qdd1, tau1, log.joints, every * step, top, rest, quiet, told, s1)
    return Preparation(samples, found, "fourier", period, every, 0)
