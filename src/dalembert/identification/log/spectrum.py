"""Where signal meets noise: spectra, noise floors, and the cut-off that they suggest."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.pyplot import pyplot, styled

Array = NDArray[np.float64]

# Blackman–Harris, four terms: side lobes 92 dB down, so that a slow large motion does not cover the noise.
WINDOW = (0.35875, -0.48829, 0.14128, -0.01168)
NOISE_BAND = (0.6, 0.95)  # of half the sampling rate: nothing that an arm does lies there
HIGHEST = 0.4  # of the sampling rate: a cut-off above it filters nothing
# Of the motion's own bandwidth: below so many times, the corners that friction makes in the torques are lost; above so
# many, what moves is no longer a rigid arm.
LEAST, MOST = 7.0, 30.0


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
    top = (f >= NOISE_BAND[0] * f[-1]) & (f <= NOISE_BAND[1] * f[-1])
    return np.asarray(np.median(P[top], axis=0) / np.log(2.0))


def meeting(f: Array, P: Array, floor: Array) -> float:
    """The frequency [Hz] above which there is more noise than signal: the one that minimizes the signal lost above
    it and the noise kept below it, ∫ (2 − P/floor) df, the signals each by their own floor, averaged."""
    R = np.mean(P / np.maximum(floor, np.finfo(float).tiny), axis=1)
    cost = np.cumsum(2.0 - np.minimum(R, 1e6))
    return float(f[int(np.argmin(cost))])


def bandwidth(f: Array, P: Array, floor: Array) -> float:
    """The frequency [Hz] below which 99 % of the power of the rates lies, of the quickest joint: that of the motion
    itself."""
    signal = np.maximum(P - floor, 0.0) * (f**2 * (f <= meeting(f, P, floor)))[:, None]
    total = np.cumsum(signal, axis=0)
    return float(f[np.argmax(total >= 0.99 * total[-1], axis=0)].max())


def spectra(
    q: Array, tau: Array, step: float, joints: tuple[str, ...], cutoff: float | None, least: float = LEAST
) -> Spectra:
    """Spectra of a stretch of a log, with the cut-off given, or chosen: where torques and positions both still carry
    more signal than noise, within `least` (7) to 30 times the bandwidth of the motion; none if that is beyond what the
    samples hold."""
    f, P = density(q, step)
    _, T = density(tau, step)
    p, t = floor_of(f, P), floor_of(f, T)
    q_meets, tau_meets, motion = meeting(f, P, p), meeting(f, T, t), bandwidth(f, P, p)
    if cutoff is None:
        cutoff = float(np.clip(min(q_meets, tau_meets), least * motion, MOST * motion))
        cutoff = cutoff if cutoff < HIGHEST / step else np.inf
    return Spectra(f, P, T, p, t, q_meets, tau_meets, motion, cutoff, joints)


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
    def plot(self) -> object:
        """A matplotlib figure: spectra of positions and torques, their noise floors, and the cut-off."""
        figure, panels = pyplot().subplots(2, 1, sharex=True, figsize=(8, 7), layout="constrained")
        rows = (
            (self.q, self.q_floor, self.q_meets, "positions"),
            (self.tau, self.tau_floor, self.tau_meets, "torques"),
        )
        centers, edges = _bands(self.f)
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


def _bands(f: Array) -> tuple[Array, NDArray[np.int64]]:
    """Bands of equal width in log f, so that the eye sees averages: their centers, and the places where they begin."""
    edges = np.unique(np.round(np.geomspace(1, len(f), 160)).astype(np.int64))
    return np.array([f[a:b].mean() for a, b in itertools.pairwise(edges)]), edges
