"""`prepare`: from a log to samples that a regressor can use. Positions and torques pass the same filter without phase.

What is taken from the torques must be taken from the model's side too (that is what the filtered positions do), or
the two no longer belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array, count, number, of_kind
from dalembert.caching import cached_property
from dalembert.errors import InputError, choose
from dalembert.identification.log import filters, times
from dalembert.identification.log.filters import (
    HIGHEST,
    LEAST,
    MOST,
    Spectra,
    Transform,
    density,
    find_spectra,
    floor_of,
)
from dalembert.identification.log.samples import Log, Samples, find_direction

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Samples kept per period of the cut-off: more of them only repeat each other.
DENSITY = 5.0
# A rate is one, and not noise, beyond so many deviations, and beyond this part of the joint's largest.
DEVIATIONS, SLOWEST = 4.0, 2e-3
SHORTEST = 20  # samples of a piece that are worth keeping
# Recorded rates are those of the positions to this part, and used if they have so many times less noise.
ALIKE, BETTER = 0.02, 1.4


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
    """A stretch of a log at even steps, and what is asked of it. `both` holds the directions of friction beside the
    torques: what is filtered alike belongs together after it as before. `rates`: those that are used as recorded."""

    q: Array
    both: Array
    rates: Array
    step: float
    cutoff: float
    order: int

    def smooth(self, x: Array) -> Array:
        return filters.smooth(x, self.step, self.cutoff, self.order)[0]


# q, qd, qdd, both; recorded rates and their derivatives; how many samples each end has lost by that
Made = tuple[list[Array], int]


def _central(piece: _Piece) -> Made:
    """Central differences, (x₊ − x₋)/2h, which lose sin(ωh)/(ωh) of a frequency."""
    both, q, h = piece.smooth(piece.both), piece.smooth(piece.q), piece.step
    qd, qdd = np.gradient(q, h, axis=0), (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    rates = piece.smooth(piece.rates) if piece.rates.size else piece.rates
    change = np.gradient(rates, h, axis=0)
    return [q[1:-1], qd[1:-1], qdd, both[1:-1], rates[1:-1], change[1:-1]], 1


def _savgol(piece: _Piece) -> Made:
    if not np.isfinite(piece.cutoff):
        raise InputError("missing", "cutoff", problem="method 'savgol' needs a cut-off: its window is made from it")
    half = filters.half_window(piece.cutoff, 1 / piece.step, piece.order)
    if 2 * half >= len(piece.q):
        raise InputError(
            "too-few",
            "cutoff",
            problem=f"method 'savgol' with a cut-off of {piece.cutoff:.3g} Hz needs windows of {2 * half + 1} "
            "samples; the "
            f"log has {len(piece.q)}",
        )
    window, n = (piece.step, half, piece.order), piece.q.shape[1]
    x, xd, xdd = filters.local_polynomial(np.concatenate([piece.q, piece.rates, piece.both], axis=1), *window)
    m = n + piece.rates.shape[1]
    return [x[:, :n], xd[:, :n], xdd[:, :n], x[:, m:], x[:, n:m], xd[:, n:m]], half


METHODS: dict[str, Callable[[_Piece], Made]] = {"central": _central, "savgol": _savgol}
DERIVATIVES = ("auto", "position", "velocity")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A log made ready to be filtered at any cut-off: what does not depend on it is done once. `spectra` with the
    cut-off that they suggest, `parts` between gaps, the joints whose rates are used as `recorded`, and their `lag` [s]
    behind the positions."""

    log: Log
    step: float
    parts: list[slice]
    spectra: Spectra
    recorded: NDArray[np.bool_]
    lag: float
    rates_floor: Array
    order: int
    notes: tuple[str, ...]

    @property
    def longest(self) -> slice:
        return max(self.parts, key=lambda p: p.stop - p.start)

    @cached_property
    def _transforms(self) -> list[tuple[Transform, Transform | None]]:
        """Of positions and recorded rates, of each piece that is worth it."""
        found = []
        for p in self.parts:
            if p.stop - p.start >= SHORTEST:
                rates = None
                if self.log.qd is not None and self.recorded.any():
                    rates = Transform(self.log.qd[p][:, self.recorded], self.step)
                found.append((Transform(self.log.q[p], self.step), rates))
        return found

    @property
    def _pieces(self) -> list[slice]:
        return [p for p in self.parts if p.stop - p.start >= SHORTEST]

    @cached_property
    def _both(self) -> list[Transform]:
        """Of torques and directions of friction."""
        both = np.concatenate([self.log.tau, self.directions], axis=1)
        return [Transform(both[p], self.step) for p in self._pieces]

    def _rates(self, k: int, cutoff: float, order: int, rows: slice, times: Sequence[int]) -> list[Array]:
        """Positions and their derivatives, of piece k; those of rates that are used as recorded in their place."""
        q, rates = self._transforms[k]
        found = q.smooth(cutoff, order, times, rows)
        if rates is not None:
            own = [n for n in times if n > 0]
            for n, x in zip(own, rates.smooth(cutoff, order, [n - 1 for n in own], rows, self.lag), strict=True):
                found[list(times).index(n)][:, self.recorded] = x
        return found

    def noise(self, cutoff: float, order: int) -> Array:
        """The deviation (n,) of what noise is left in the rates: white, of the spectra's floors, through filter and
        derivative."""
        band, second = _kept_power(self.step, cutoff, order)
        return np.sqrt(np.where(self.recorded, self.rates_floor * band, self.spectra.q_floor * second))

    @cached_property
    def directions(self) -> Array:
        """The direction of dry friction at the log's full rate (N, n). Rates are filtered where positions meet their
        noise, whatever the cut-off of the samples: a filter that is too slow would move the reversals."""
        cutoff = filters.within(self.spectra.q_meets, self.spectra.motion, LEAST, self.step)
        s = np.zeros_like(self.log.q)
        rest = DEVIATIONS * self.noise(cutoff, 4)
        for k, p in enumerate(self._pieces):
            s[p] = find_direction(self._rates(k, cutoff, 4, slice(None), (1,))[0], rest)
        filled = self.log.filled
        if filled is not None and filled.any():  # as the torques were
            at = np.asarray(np.round(self.log.t / self.step), float)
            s[filled] = times.interpolate(at[~filled], s[~filled], at[filled])
        return s

    def candidates(self) -> tuple[float, ...]:
        """Cut-offs [Hz] worth trying, from twice the bandwidth of the motion upwards, the suggested one among them."""
        long = (self.longest.stop - self.longest.start - SHORTEST) / 2
        low, high = 2 * self.spectra.motion, min(HIGHEST / self.step, 2 * MOST * self.spectra.motion)
        count = max(1, int(2 * np.log2(high / low)))
        tried = {float(f) for f in np.geomspace(low, high, count + 1)} if high > low else set()
        tried.add(self.spectra.cutoff)
        return tuple(sorted(f for f in tried if filters.settling(f, self.step, self.order) < long))

    def at(self, cutoff: float | None = None, decimate: int | str = "auto", method: str = "butterworth") -> Preparation:
        """The samples at a cut-off [Hz]; that which the spectra suggest if none is given."""
        found = self.spectra if cutoff is None else replace(self.spectra, cutoff=float(cutoff))
        log, step, order, rate = self.log, self.step, self.order, 1 / self.step
        name, long = log.source or "the log", step * len(log)
        if cutoff is not None and np.isfinite(cutoff) and cutoff >= 0.5 * rate:
            raise InputError(
                "out-of-range",
                "cutoff",
                problem=f"cutoff={cutoff:g} Hz is not below half the sampling rate, {0.5 * rate:g} Hz; cutoff=inf "
                "filters "
                "nothing",
            )
        if cutoff is not None and cutoff * long < 1:
            raise InputError(
                "out-of-range",
                "cutoff",
                problem=f"cutoff={cutoff:g} Hz: one period of it is longer than the log, {long:.3g} s, and nothing of "
                "the motion would be left; choose a higher cut-off",
            )
        trim, every = filters.settling(found.cutoff, step, order), _decimation(decimate, found.cutoff, rate)
        made, trimmed = [], 0
        for k, p in enumerate(self._pieces):
            N = p.stop - p.start
            if 2 * trim + SHORTEST > N:
                continue
            if method == "butterworth":
                rows = slice(trim, N - trim, every)
                q, qd, qdd = self._rates(k, found.cutoff, order, rows, (0, 1, 2))
                (both,) = self._both[k].smooth(found.cutoff, order, (0,), rows)
                trimmed = trim
            else:
                rates = log.qd[p][:, self.recorded] if log.qd is not None else np.zeros((N, 0))
                both = np.concatenate([log.tau[p], self.directions[p]], axis=1)
                signals, lost = METHODS[method](_Piece(log.q[p], both, rates, step, found.cutoff, order))
                trimmed = max(trim, lost)
                q, qd, qdd, both, r, rd = (x[trimmed - lost : len(x) - trimmed + lost : every] for x in signals)
                if self.recorded.any():
                    qd[:, self.recorded], qdd[:, self.recorded] = r, rd
                rows = slice(trimmed, N - trimmed, every)
            made.append([log.t[p][rows], q, qd, qdd, both, log.tau[p][rows]])
        longest = (self.longest.stop - self.longest.start) * step
        if not made:
            raise InputError(
                "too-few",
                "cutoff",
                problem=f"{name} lasts {longest:.3g} s without a gap; a cut-off of "
                f"{found.cutoff:.3g} Hz forgets its ends after {trim * step:.3g} s on either side: record longer, or "
                "choose a higher cut-off",
            )
        notes = [*log.notes, _describe(found, rate, given=cutoff is not None), *self.notes]
        if few := len(self.parts) - len(made):
            notes.append(f"{few} of {len(self.parts)} pieces between gaps are too short to be filtered, and left out")
        notes.append(
            f"{trimmed} samples ({trimmed * step:.3g} s) trimmed at each end, where the filter has not settled"
        )
        notes += [f"one sample in {every} kept: {rate / every:.4g} Hz"] if every > 1 else []
        t, q, qd, qdd, both, raw = (np.concatenate([piece[k] for piece in made]) for k in range(6))
        rest = np.maximum(DEVIATIONS * self.noise(found.cutoff, order), SLOWEST * np.abs(qd).max(axis=0))
        quiet = np.sqrt(found.tau_floor * _kept_power(step, found.cutoff, order)[0])
        tau, s = both[:, : log.n], both[:, log.n :]
        samples = Samples(t, q, qd, qdd, tau, log.joints, every * step, found.cutoff, rest, quiet, tuple(notes), s, raw)
        return Preparation(samples, found, method, None, every, trimmed)


def _kept_power(step: float, cutoff: float, order: int) -> tuple[float, float]:
    """What filter, and filter and derivative, leave of white noise of density one."""
    f = np.linspace(0, 0.5 / step, 2001)
    G2 = filters.butterworth_gain(f, cutoff, 1 / step, order) ** 2
    return float(np.trapezoid(G2, f)), float(np.trapezoid(G2 * (2 * np.pi * f) ** 2, f))


def make_ready(log: Log, *, order: int = 4, derivatives: str = "auto", least: float = LEAST) -> Prepared:
    """A log made ready to be filtered at several cut-offs; the options are those of `preparation`."""
    _check(log, None, "butterworth", order, "auto", derivatives, None)
    name = log.source or "the log"
    step = times.common_step(log.t, log.source)
    parts = times.pieces(log.t, step)
    longest = max(parts, key=lambda p: p.stop - p.start)
    found = find_spectra(log.q[longest], log.tau[longest], step, log.joints, None, least)
    if not found.motion > 0:
        raise InputError(
            "wrong-value",
            "log",
            problem=f"{name}: no joint moves in it, so that there is nothing to choose a cut-off by",
        )
    recorded, lag, floor, why = _choose_rates(log, longest, step, found, derivatives)
    return Prepared(log, step, parts, found, recorded, lag, floor, order, tuple(why))


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
    ready = make_ready(log, order=order, derivatives=derivatives, least=least)
    if method == "fourier":
        return _fourier(ready, cutoff, period, decimate)
    return ready.at(cutoff, decimate, method)


def _check(
    log: Log, cutoff: object, method: object, order: object, decimate: object, derivatives: object, period: object
) -> None:
    of_kind(log, Log, "prepare takes a Log, which read_log makes; got")
    choose("method", method, ("butterworth", *METHODS, "fourier"))
    choose("choice of derivatives", derivatives, DERIVATIVES)
    if derivatives == "velocity" and log.qd is None:
        raise InputError(
            "missing", "derivatives", problem="derivatives='velocity' needs recorded rates, and this log has none"
        )
    if count("order", order, 1) > 10:
        raise InputError("out-of-range", "order", problem=f"order must be a whole number from 1 to 10, got {order!r}")
    if method == "savgol" and order == 1:
        raise InputError(
            "out-of-range",
            "order",
            problem="method 'savgol' needs order ≥ 2: accelerations are second derivatives of its polynomials",
        )
    for name, value, unit in (("cutoff", cutoff, "Hz"), ("period", period, "s")):
        if value is not None:
            number(name, value, unit, finite=False, above=0)
    whole = isinstance(decimate, (int, float, np.number)) and not isinstance(decimate, bool)
    if decimate != "auto" and not (whole and decimate == int(decimate) and decimate >= 1):  # type: ignore[call-overload, operator]
        raise InputError(
            "wrong-value", "decimate", problem=f"decimate must be 'auto' or a whole number ≥ 1, got {decimate!r}"
        )
    if len(log) < SHORTEST:
        raise InputError(
            "too-few", "log", problem=f"{len(log)} samples are too few to be filtered; {SHORTEST} would be the least"
        )


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
        every = max(1, int(rate / (DENSITY * cutoff))) if np.isfinite(cutoff) else 1
        return every - every % 8 if every >= 32 else every  # transforms back are shorter then
    every = int(asked)
    if rate / every < 2 * cutoff and every > 1:
        most = int(rate / (2 * cutoff)) if np.isfinite(cutoff) else 1
        raise InputError(
            "out-of-range",
            "decimate",
            problem=f"decimate={asked} leaves {rate / every:.3g} Hz, less than twice the cut-off of {cutoff:.3g} Hz: "
            f"what lies between would be folded down; at most {max(most, 1)}",
        )
    return every


def _choose_rates(
    log: Log, piece: slice, step: float, found: Spectra, derivatives: str
) -> tuple[NDArray[np.bool_], float, Array, list[str]]:
    """The joints whose recorded rates serve better than derivatives of the positions; by how much they lag [s]; the
    floors of their noise; and why or why not."""
    none = np.zeros(log.n, bool), 0.0, np.zeros(log.n)
    if log.qd is None or derivatives == "position":
        return *none, []
    own = floor_of(*density(log.qd[piece], step))
    if derivatives == "velocity":
        return np.ones(log.n, bool), 0.0, own, ["rates as recorded, accelerations from them"]
    band = min(filters.within(found.q_meets, found.motion, LEAST, step), 3 * found.motion, 0.4 / step)
    rates, change = filters.smooth(log.q[piece], step, band, 4, (1, 2))
    (rate,) = filters.smooth(log.qd[piece], step, band, 4)
    # rate(t) = rates(t − lag): what follows the accelerations is a lag, of the drive's own filter.
    lag = float(np.sum((rates - rate) * change) / max(np.sum(change**2), 1e-300))
    lag = lag if abs(lag) > 0.2 * step else 0.0
    size = np.maximum(np.linalg.norm(rates, axis=0), 1e-12)
    off = np.linalg.norm(rate - rates + lag * change, axis=0) / size
    late = f", {1e3 * lag:.2g} ms late" if lag > 0 else f", {-1e3 * lag:.2g} ms early" if lag else ""
    cutoff = filters.within(found.q_meets, found.motion, LEAST, step)
    kept, second = _kept_power(step, cutoff, 4)
    better = np.sqrt(found.q_floor * second / np.maximum(own * kept, 1e-300))  # so many times less noise
    used = (off < ALIKE) & (better > BETTER)
    if lag * found.motion > ALIKE:
        return *none, [f"recorded rates differ from the positions': they are {1e3 * lag:.2g} ms late, and not used"]
    if used.all():
        times_less = f"{better.min():.2g} times or more" if better.min() < 1e6 else "far"
        why = f"rates as recorded{late}, which are less noisy than those of the positions, {times_less}"
        return used, lag, own, [f"{why}; accelerations from them"]
    if used.any():
        names = ", ".join(joint for joint, x in zip(log.joints, used, strict=True) if x)
        return used, lag, own, [f"rates of {names} as recorded{late}, less noisy than those of the positions"]
    if (off >= ALIKE).any():
        return *none, [f"recorded rates differ from the positions' by {100 * off.max():.2g} %, and are not used"]
    return *none, ["recorded rates are noisier than those of the positions, and are not used"]


def _fourier(ready: Prepared, cutoff: float | None, period: float | None, decimate: int | str) -> Preparation:
    """Harmonics of the period up to the cut-off, fitted to positions and torques over all whole periods."""
    found = ready.spectra if cutoff is None else replace(ready.spectra, cutoff=float(cutoff))
    log, step, piece = ready.log, ready.step, ready.longest
    notes = [_describe(found, 1 / step, given=cutoff is not None)]
    t, q, tau, s = log.t[piece], log.q[piece], log.tau[piece], ready.directions[piece]
    how = "found" if period is None else "given"
    if period is None:
        rough = filters.find_period(q, step)
        if rough is None:
            raise InputError(
                "infeasible",
                "period",
                problem=f"{log.source or 'the log'} does not repeat itself within half its length, so that it has "
                "no Fourier "
                "series: use another method, or give period=… [s] if you know it",
            )
        period = filters.refine_period(q, step, rough)
    turns = (len(t) * step) / period
    if turns < 0.999:
        raise InputError(
            "out-of-range", "period", problem=f"a period of {period:g} s is longer than the log, {len(t) * step:.4g} s"
        )
    harmonics = max(1, int(min(found.cutoff, 0.4 / step) * period))
    if 2 * harmonics + 1 > len(t) // 2:
        raise InputError(
            "too-large",
            "cutoff",
            problem=f"{harmonics} harmonics of {1 / period:.3g} Hz are too many for {len(t)} samples: give a "
            "lower cutoff",
        )
    cycles = int(turns + 1e-3)
    whole = min(len(t), round(cycles * period / step))
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
