"""Filters without phase, and derivatives, of whole arrays (N, k) at even steps.

A Butterworth filter run forwards and backwards multiplies the spectrum by |H|² and leaves every phase alone. That is
done here at once: the signal less the line through its ends, continued oddly, is periodic and smooth, so that its
Fourier coefficients are exact; gain and derivatives are factors of them (iω, −ω²), with no distortion up to the
cut-off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def butterworth_gain(f: Array, cutoff: float, rate: float, order: int) -> Array:
    """|H(f)|² of a digital Butterworth low-pass of that order, the bilinear transform included: one half at the
    cut-off, zero at half the sampling rate."""
    if not np.isfinite(cutoff):
        return np.ones_like(f)
    with np.errstate(over="ignore"):  # tan of a right angle
        warped = np.tan(np.minimum(np.pi * f / rate, np.pi / 2)) / np.tan(np.pi * cutoff / rate)
        return np.asarray(1.0 / (1.0 + warped ** (2 * order)))


def smoothed(x: Array, step: float, cutoff: float, order: int, derivatives: Sequence[int] = (0,)) -> list[Array]:
    """The filtered signal and its derivatives, as many times as asked, each (N, k)."""
    N = len(x)
    if N < 3:
        raise ValueError("three samples at least")
    slope = (x[-1] - x[0]) / ((N - 1) * step)
    line = x[0] + slope * (np.arange(N) * step)[:, None]
    y = np.ascontiguousarray((x - line).T)
    y = np.concatenate([y, -y[:, -2:0:-1]], axis=1)
    Y = np.fft.rfft(y, axis=1)
    f = np.asarray(np.fft.rfftfreq(y.shape[1], step), float)
    Y *= butterworth_gain(f, cutoff, 1 / step, order)
    found = []
    for times in derivatives:
        factor = (2j * np.pi * f) ** times
        if times % 2 and y.shape[1] % 2 == 0:
            factor[-1] = 0.0  # at half the sampling rate an odd derivative has no sign
        part = np.ascontiguousarray(np.fft.irfft(Y * factor, n=y.shape[1], axis=1)[:, :N].T)
        found.append(part + (line if times == 0 else slope if times == 1 else 0.0))
    return found


def settling(cutoff: float, step: float, order: int) -> int:
    """Samples after which the ends of a signal are forgotten to a hundredth: the slowest pole decays as
    exp(−2π f t sin(π/2n))."""
    return round(4.6 / (2 * np.pi * np.sin(np.pi / (2 * order)) * cutoff * step)) if np.isfinite(cutoff) else 2


def central(x: Array, step: float) -> Array:
    """Central differences, (x₊ − x₋)/2h; they lose sin(ωh)/(ωh) of a frequency."""
    return np.asarray(np.gradient(x, step, axis=0))


def half_window(cutoff: float, rate: float, degree: int) -> int:
    """Samples on each side of a local polynomial whose −3 dB point lies at the cut-off (Schafer 2011, eq. 12). In the
    middle of its window a polynomial of odd degree is worth one less."""
    even = 2 * (degree // 2)
    return max(degree // 2 + 1, round(((even + 1) * rate / (2 * cutoff) + 4.6) / 3.2))


def local_polynomial(x: Array, step: float, half: int, degree: int) -> list[Array]:
    """Value, first and second derivative of the polynomial fitted to 2·half + 1 samples about each (Savitzky and
    Golay 1964). (N − 2·half, k): the ends have no window."""
    k = np.arange(-half, half + 1) / half
    fit = np.linalg.pinv(np.vander(k, degree + 1, increasing=True))
    kernels = [fit[0], fit[1] / (half * step), 2 * fit[2] / (half * step) ** 2]
    size = 1 << (len(x) + 2 * half).bit_length()
    X = np.fft.rfft(np.ascontiguousarray(x.T), size, axis=1)
    found = []
    for kernel in kernels:
        y = np.fft.irfft(X * np.fft.rfft(kernel[::-1], size), size, axis=1)
        found.append(np.ascontiguousarray(y[:, 2 * half : len(x)].T))
    return found


def harmonics(t: Array, period: float, count: int, times: int = 0) -> Array:
    """1, cos kωt, sin kωt, k = 1 … count, or a derivative of them by t: (N, 2·count + 1)."""
    w = 2 * np.pi / period * np.arange(1, count + 1)
    phase = w * t[:, None] + times * np.pi / 2
    scale = w**times
    return np.concatenate(
        [np.full((len(t), 1), float(times == 0)), scale * np.cos(phase), scale * np.sin(phase)], axis=1
    )


def harmonic_fit(t: Array, x: Array, period: float, count: int) -> Array:
    """The coefficients (2·count + 1, k) of harmonics that come nearest to x (N, k). Over whole periods harmonics are
    nearly orthogonal, so that the normal equations are as good as any; rows are taken in blocks."""
    A, b = np.zeros((2 * count + 1, 2 * count + 1)), np.zeros((2 * count + 1, x.shape[1]))
    for first in range(0, len(t), 4096):
        basis = harmonics(t[first : first + 4096], period, count)
        A += basis.T @ basis
        b += basis.T @ x[first : first + 4096]
    return np.asarray(np.linalg.solve(A, b))


def find_period(q: Array, step: float, tolerance: float = 0.02) -> float | None:
    """The shortest time after which a motion repeats itself; None if there is none within half the log.

    D(L) = mean |q(k + L) − q(k)|² over all joints, each by its variance, falls to nearly zero at a period; its
    lowest point is found to a fraction of a step by a parabola."""
    N = len(q)
    y = (q - q.mean(axis=0)) / np.maximum(q.std(axis=0), 1e-12)
    size = 1 << (2 * N).bit_length()
    Y = np.fft.rfft(y, size, axis=0)
    both = np.fft.irfft(np.abs(Y) ** 2, size, axis=0)[:N].sum(axis=1)
    squares = np.concatenate([[0.0], np.cumsum((y**2).sum(axis=1))])
    L = np.arange(N // 2 + 1)
    D = (squares[N - L] + squares[N] - squares[L] - 2 * both[L]) / ((N - L) * 2 * y.shape[1])
    away = np.flatnonzero(D > 0.2)  # near zero everything resembles itself
    if not len(away):
        return None
    low = D.copy()
    low[: away[0]] = np.inf
    dips = np.flatnonzero((low[1:-1] <= low[:-2]) & (low[1:-1] <= low[2:]) & (low[1:-1] < tolerance)) + 1
    if not len(dips):
        return None
    k = int(dips[0])
    bend = D[k - 1] - 2 * D[k] + D[k + 1]
    shift = 0.5 * (D[k - 1] - D[k + 1]) / bend if bend > 0 else 0.0
    return float((k + shift) * step)
