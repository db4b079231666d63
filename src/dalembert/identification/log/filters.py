"""Filters without phase, and derivatives, of whole arrays (N, k) at even steps; spectra, noise floors, and the cut-off
that they suggest.

A Butterworth filter run forwards and backwards multiplies the spectrum by |H|² and leaves every phase alone. That is
done here at once: gain and derivatives are factors of the Fourier coefficients (iω, −ω²), with no distortion up to
the cut-off. (SciPy's filtfilt has no derivatives, and scipy.signal takes a second to import, as do its spectra.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.draw.pyplot import pyplot, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Blackman–Harris, four terms: side lobes 92 dB down, so that a slow large motion does not cover the noise.
WINDOW = (0.35875, -0.48829, 0.14128, -0.01168)
# Of half the sampling rate: little that an arm does lies there. In the bands below the first, noise may be larger:
# samples that were interpolated have lost some of it at the top. What is larger by far there is motion.
NOISE_BANDS = ((0.6, 0.95), (0.4, 0.6), (0.25, 0.4))
LARGER = 10.0
BAND = 16  # frequencies in an eighth of an octave, at least, that have a median
HIGHEST = 0.4  # of the sampling rate: a cut-off above it filters nothing
# Of the motion's own bandwidth: below so many times, the corners that friction makes in the torques are lost; above so
# many, what moves is no longer a rigid arm.
LEAST, MOST = 7.0, 30.0


def butterworth_gain(f: Array, cutoff: float, rate: float, order: int) -> Array:
    """|H(f)|² of a digital Butterworth low-pass of that order, the bilinear transform included: one half at the
    cut-off, zero at half the sampling rate."""
    if not np.isfinite(cutoff):
        return np.ones_like(f)
    with np.errstate(over="ignore"):  # tan of a right angle
        warped = np.tan(np.minimum(np.pi * f / rate, np.pi / 2)) / np.tan(np.pi * cutoff / rate)
        return np.asarray(1.0 / (1.0 + warped ** (2 * order)))


class Transform:
    """The Fourier transform of signals (N, k) at even steps, to be filtered at any cut-off and differentiated.

    The signal less the line through its ends is continued oddly beyond them, and fades there, so that it is periodic
    and smooth, in a length that is quickly transformed."""

    def __init__(self, x: Array, step: float) -> None:
        if len(x) < 3:
            raise ValueError("three samples at least")
        self.count, self.step = len(x), step
        self.slope, self.first = (x[-1] - x[0]) / ((self.count - 1) * step), x[0]
        y = np.ascontiguousarray((x - self._line(np.arange(self.count))).T)
        self.size = _fast_length(self.count + max(self.count // 4, 8))
        self.before = min((self.size - self.count) // 2, self.count - 2)
        after = min(self.size - self.count - self.before, self.count - 2)
        padded = np.zeros((len(y), self.size))
        padded[:, : self.before] = -y[:, self.before : 0 : -1] * _fade(self.before)[::-1]
        padded[:, self.before : self.before + self.count] = y
        padded[:, self.before + self.count :][:, :after] = -y[:, -2 : -2 - after : -1] * _fade(after)
        self.Y = np.fft.rfft(padded, axis=1)

    def _line(self, rows: NDArray[np.int64]) -> Array:
        return np.asarray(self.first + self.slope * (rows * self.step)[:, None])

    def smooth(
        self,
        cutoff: float,
        order: int,
        derivatives: Sequence[int] = (0,),
        rows: slice = slice(None),
        advance: float = 0.0,
    ) -> list[Array]:
        """The filtered signal and its derivatives, as many times as asked, each (N, k), of some rows; `advance` [s]
        moves the signal forward in time.

        What lies far above the cut-off is nothing, so that transforms back need no more than what lies below."""
        wanted = np.arange(self.count)[rows]
        if not len(wanted):
            return [np.zeros((0, len(self.Y)))] * len(derivatives)
        every = rows.step or 1
        thin, reach = 1, 10 ** (4.5 / order) * cutoff  # beyond it less than 1e-9 passes
        while every % (2 * thin) == 0 and self.size % (4 * thin) == 0 and 0.25 / (thin * self.step) > reach:
            thin *= 2
        size = self.size // thin
        f = np.asarray(np.fft.rfftfreq(self.size, self.step), float)[: size // 2 + 1]
        gain = butterworth_gain(f, cutoff, 1 / self.step, order) / thin
        shift = (self.before + int(wanted[0])) * self.step + advance
        Y = self.Y[:, : len(f)] * (gain * np.exp(2j * np.pi * f * shift))
        found = []
        for times in derivatives:
            factor = (2j * np.pi * f) ** times
            if times % 2 and thin == 1:
                factor[-1] = 0.0  # at half the sampling rate an odd derivative has no sign
            part = np.fft.irfft(Y * factor, n=size, axis=1)[:, : 1 + (len(wanted) - 1) * every // thin : every // thin]
            part = np.ascontiguousarray(part.T)
            found.append(part + (self._line(wanted) if times == 0 else self.slope if times == 1 else 0.0))
        return found


def _fast_length(least: int) -> int:
    """A length 2ᵃ · (1, 3, 5, 9 or 15), with a as large as can be, at least so long."""
    tried = [odd << max((least - 1) // odd, 1).bit_length() for odd in (1, 3, 5, 9, 15)]
    return min(tried)


def _fade(count: int) -> Array:
    """One, and then down to zero in the second half."""
    x = np.clip(2 * (np.arange(count) + 0.5) / max(count, 1) - 1, 0, 1)
    return np.asarray(np.cos(0.5 * np.pi * x) ** 2)


def smooth(x: Array, step: float, cutoff: float, order: int, derivatives: Sequence[int] = (0,)) -> list[Array]:
    """The filtered signal and its derivatives, as many times as asked, each (N, k)."""
    return Transform(x, step).smooth(cutoff, order, derivatives)


def settling(cutoff: float, step: float, order: int) -> int:
    """Samples after which the ends of a signal are forgotten to a hundredth: the slowest pole decays as
    exp(−2π f t sin(π/2n))."""
    return round(4.6 / (2 * np.pi * np.sin(np.pi / (2 * order)) * cutoff * step)) if np.isfinite(cutoff) else 2


def half_window(cutoff: float, rate: float, degree: int) -> int:
    """Samples on each side of a local polynomial whose −3 dB point lies at the cut-off (Schafer 2011, eq. 12). In the
    middle of its window a polynomial of odd degree is worth one less."""
    even = 2 * (degree // 2)
    return max(degree // 2 + 1, round(((even + 1) * rate / (2 * cutoff) + 4.6) / 3.2))


def local_polynomial(x: Array, step: float, half: int, degree: int) -> list[Array]:
    """Value, first and second derivative of the polynomial fitted to 2·half + 1 samples about each (Savitzky and
    Golay 1964). (N − 2·half, k): the ends have no window."""
    from scipy.signal import savgol_filter

    inner = slice(half, len(x) - half)
    return [savgol_filter(x, 2 * half + 1, degree, deriv=k, delta=step, axis=0)[inner] for k in range(3)]


def harmonics(t: Array, period: float, count: int, times: int = 0) -> Array:
    """1, cos kωt, sin kωt, k = 1 … count, or a derivative of them by t: (N, 2·count + 1)."""
    w = 2 * np.pi / period * np.arange(1, count + 1)
    phase = w * t[:, None] + times * np.pi / 2
    scale = w**times
    return np.concatenate(
        [np.full((len(t), 1), float(times == 0)), scale * np.cos(phase), scale * np.sin(phase)], axis=1
    )


def fit_harmonics(t: Array, x: Array, period: float, count: int) -> Array:
    """The coefficients (2·count + 1, k) of harmonics that come nearest to x (N, k). Over whole periods harmonics are
    nearly orthogonal, so that the normal equations are as good as any; rows are taken in blocks."""
    A, b = np.zeros((2 * count + 1, 2 * count + 1)), np.zeros((2 * count + 1, x.shape[1]))
    for first in range(0, len(t), 4096):
        basis = harmonics(t[first : first + 4096], period, count)
        A += basis.T @ basis
        b += basis.T @ x[first : first + 4096]
    return np.asarray(np.linalg.solve(A, b))


def find_period(q: Array, step: float, tolerance: float = 0.02, longest: float = 0.5) -> float | None:
    """The shortest time after which a motion repeats itself; None if there is none within a part of the log, `longest`.

    D(L) = mean |q(k + L) − q(k)|² over all joints, each by its variance, falls at a period to nearly zero (what noise
    and drift leave is less than the tolerance), while both stretches that are compared do move; its lowest point is
    found to a fraction of a step by a parabola."""
    N = len(q)
    y = (q - q.mean(axis=0)) / np.maximum(q.std(axis=0), 1e-12)
    size = _fast_length(2 * N)
    both = np.fft.irfft((np.abs(np.fft.rfft(y, size, axis=0)) ** 2).sum(axis=1), size)[:N]
    squares = np.concatenate([[0.0], np.cumsum((y**2).sum(axis=1))])
    sums = np.concatenate([np.zeros((1, y.shape[1])), np.cumsum(y, axis=0)])
    L = np.arange(min(int(longest * N) + 1, N - 1))
    M = N - L
    D = (squares[M] + squares[N] - squares[L] - 2 * both[L]) / (M * 2 * y.shape[1])
    moved = squares[M] / M - ((sums[M] / M[:, None]) ** 2).sum(axis=1)  # the variance of the first stretch
    away = np.flatnonzero(D > 0.2)  # near zero everything resembles itself
    if not len(away):
        return None
    low = np.where((moved > 0.2 * y.shape[1]) & (away[0] <= L), D, np.inf)
    # A dip is as deep as the tolerance: of what follows each other within it, the lowest.
    dips = np.flatnonzero(low < tolerance)
    if not len(dips):
        return None
    end = np.flatnonzero(np.diff(dips) > 1)
    first = dips[: end[0] + 1] if len(end) else dips
    k = int(first[np.argmin(low[first])])
    if not 0 < k < len(D) - 1 or D[k] > min(D[k - 1], D[k + 1]):
        return None
    bend = D[k - 1] - 2 * D[k] + D[k + 1]
    shift = 0.5 * (D[k - 1] - D[k + 1]) / bend if bend > 0 else 0.0
    return float((k + shift) * step)


def refine_period(q: Array, step: float, rough: float) -> float:
    """The period for which few harmonics leave least, within a step of the rough one."""
    from scipy.optimize import minimize_scalar

    t = np.asarray(np.arange(len(q)) * step, float)
    count = max(1, min(10, int(0.2 * rough / step)))

    def left(shift: float) -> float:
        fitted = fit_harmonics(t, q, rough + shift, count)
        return float(np.sum((q - harmonics(t, rough + shift, count) @ fitted) ** 2))

    # Of the shift rather than of the period: the method's tolerance is relative.
    found = minimize_scalar(left, bounds=(-step, step), method="bounded", options={"xatol": 1e-6 * step})
    return rough + float(found.x)


# ------------------------------------------------------------------------------------------------ spectra
def density(x: Array, step: float) -> tuple[Array, Array]:
    """Frequencies (F,) [Hz] and the one-sided power density (F, k) [unit²/Hz] of signals (N, k), less their trend."""
    N = len(x)
    k = np.arange(N)
    w = sum((c * np.cos(2 * np.pi * i * k / N) for i, c in enumerate(WINDOW)), np.zeros(N))
    y = x - (x[0] + (x[-1] - x[0]) * k[:, None] / max(N - 1, 1))
    y = (y - np.average(y, axis=0, weights=w)) * w[:, None]
    P = 2 * step * np.abs(np.fft.rfft(np.ascontiguousarray(y.T), axis=1).T) ** 2 / np.sum(w**2)
    return np.asarray(np.fft.rfftfreq(N, step), float), P


def floor_of(f: Array, P: Array) -> Array:
    """The density of white noise, (k,), from the top of the spectrum; the median of χ² with two degrees is ln 2 of
    its mean."""
    levels = [np.median(P[(f >= a * f[-1]) & (f <= b * f[-1])], axis=0) for a, b in NOISE_BANDS]
    floor = levels[0]
    for level in levels[1:]:
        floor = np.where((level > floor) & (level > 2 * levels[0]) & (level < LARGER * levels[0]), level, floor)
    return np.asarray(floor / np.log(2.0))


def meeting(f: Array, P: Array, floor: Array, motion: float | None = None) -> float:
    """The frequency [Hz] above which there is more noise than signal: the one that minimizes the signal lost above
    it and the noise kept below it, ∫ (2 − P/floor) df, the signals each by their own floor, averaged.

    Well above the `motion`, what counts is the median of a band: lines, such as the mains', are none of the arm's."""
    R = np.minimum(np.mean(P / np.maximum(floor, np.finfo(float).tiny), axis=1), 1e6)
    if motion is not None:
        edges = np.unique(np.searchsorted(f, 3 * motion * 2.0 ** np.arange(0, 24, 0.125)))
        for a, b in pairwise(edges.tolist()):
            if b - a >= BAND:
                R[a:b] = np.median(R[a:b])
    return float(f[int(np.argmin(np.cumsum(2.0 - R)))])


def bandwidth(f: Array, P: Array, floor: Array) -> float:
    """The frequency [Hz] below which 99 % of the power of the rates lies, of the quickest joint: that of the motion
    itself."""
    signal = np.maximum(P - floor, 0.0) * (f**2 * (f <= meeting(f, P, floor)))[:, None]
    total = np.cumsum(signal, axis=0)
    return float(f[np.argmax(total >= 0.99 * total[-1], axis=0)].max())


def find_spectra(
    q: Array, tau: Array, step: float, joints: tuple[str, ...], cutoff: float | None, least: float = LEAST
) -> Spectra:
    """Spectra of a stretch of a log, with the cut-off given, or chosen: where torques and positions both still carry
    more signal than noise, within `least` (7) to 30 times the bandwidth of the motion; none if that is beyond what the
    samples hold."""
    f, P = density(q, step)
    _, T = density(tau, step)
    p, t = floor_of(f, P), floor_of(f, T)
    motion = bandwidth(f, P, p)
    q_meets, tau_meets = meeting(f, P, p, motion), meeting(f, T, t, motion)
    if cutoff is None:
        cutoff = within(min(q_meets, tau_meets), motion, least, step)
    return Spectra(f, P, T, p, t, q_meets, tau_meets, motion, cutoff, joints)


def within(meets: float, motion: float, least: float, step: float) -> float:
    """A cut-off of `least` (7) to 30 times the bandwidth of the motion; inf beyond what the samples hold."""
    cutoff = float(np.clip(meets, least * motion, MOST * motion))
    return cutoff if cutoff < HIGHEST / step else np.inf


@dataclass(frozen=True, eq=False)
class Spectra:
    """Power densities of q and tau (F, n) over frequencies f (F,) [Hz], their noise floors (n,), and the frequencies at
    which each meets its floor; `motion` [Hz], the motion's own bandwidth; `cutoff` [Hz], what was chosen (inf:
    none)."""

    f: Array
    q: Array
    tau: Array
    q_floor: Array
    tau_floor: Array
    q_meets: float
    tau_meets: float
    motion: float
    cutoff: float
    joints: tuple[str, ...]

    @styled
    def plot(self) -> Figure:
        """A matplotlib figure: spectra of positions and torques, their noise floors, and the cut-off."""
        figure, panels = pyplot().subplots(2, 1, sharex=True, figsize=(8, 7), layout="constrained")
        rows = (
            (self.q, self.q_floor, self.q_meets, "positions"),
            (self.tau, self.tau_floor, self.tau_meets, "torques"),
        )
        # Bands of equal width in log f, so that the eye sees averages.
        edges = np.unique(np.round(np.geomspace(1, len(self.f), 160)).astype(np.int64))
        centers = np.array([self.f[a:b].mean() for a, b in pairwise(edges)])
        for panel, (P, floor, meets, word) in zip(panels, rows, strict=True):
            for j, joint in enumerate(self.joints):
                level = np.add.reduceat(P[:, j], edges[:-1]) / np.diff(edges)
                (line,) = panel.loglog(centers, level, lw=1.2, label=joint)
                panel.axhline(floor[j], color=line.get_color(), lw=0.7, ls=":")
            panel.axvline(meets, color="0.5", lw=1, ls="--", label=f"meets its noise: {meets:.3g} Hz")
            if np.isfinite(self.cutoff):
                panel.axvline(self.cutoff, color="k", lw=1.5, label=f"cut-off: {self.cutoff:.3g} Hz")
            unit = "rad²/Hz" if word == "positions" else "(N m)²/Hz"
            panel.set_ylabel(f"{word} [{unit}]")
        panels[1].legend(fontsize=7, ncols=2, loc="lower left")
        panels[0].legend(handles=panels[0].get_lines()[2 * len(self.joints) :], fontsize=7, loc="lower left")
        panels[1].set_xlabel("frequency [Hz]")
        panels[0].set_title(
            "where signal meets noise (dotted: noise floors)" if np.isfinite(self.cutoff) else "no filter"
        )
        return figure
