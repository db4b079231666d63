"""Where a loop's phase is −180°, along any ray from the origin: on the imaginary axis that is where it begins to
oscillate, on a ray of damping ratio ζ where a closed-loop pole with that damping lies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.control.transfer import TransferFunction

REAL = 1e-9  # of a root's size: an imaginary part below this is rounding; double roots have half the digits
SCAN = 4000  # points of the scan that brackets crossings of a loop with dead time


class Crossing(NamedTuple):
    """1 + K G(s) = 0 at `s`, with `gain` K > 0; `residual` = |1 + K G(s)|, recomputed."""

    s: complex
    gain: float
    residual: float


def crossings(G: TransferFunction, zeta: float = 0.0) -> list[Crossing]:
    """All s = ω (−ζ + j√(1 − ζ²)), ω > 0, with G(s) real and negative, by rising gain K = −1/G(s).

    N(s)/D(s) is real there: Im(N conj(D)) is a real polynomial in ω, whose roots are found at once. With a dead time
    (on the imaginary axis) they are bracketed by a scan and bisected."""
    direction = complex(-zeta, math.sqrt(1.0 - zeta * zeta))
    candidates = _scanned(G) if G.delay else _roots(G, direction)
    found = []
    for w in candidates:
        s = w * direction
        value = complex(G(s))
        if value.real < 0 and abs(value.imag) <= 1e-6 * abs(value):
            K = -1.0 / value.real
            found.append(Crossing(s, K, abs(1 + K * value)))
    return sorted(found, key=lambda c: c.gain)


def _roots(G: TransferFunction, direction: complex) -> list[float]:
    turned = [np.array([c * direction**k for k, c in enumerate(p[::-1])])[::-1] for p in (G.num, G.den)]
    p = np.polymul(turned[0], np.conj(turned[1])).imag
    size = np.polymul(np.abs(G.num), np.abs(G.den))
    p = np.where(np.abs(p) > 1e-13 * size, p, 0.0)  # zero but for the rounding of sums of powers of the direction
    if not p.any():
        return []
    roots = np.roots(p)
    scale = np.abs(roots).max() if roots.size else 0.0
    kept = [float(r.real) for r in roots if r.real > 1e-12 * scale and abs(r.imag) <= REAL * abs(r)]
    return [_polished(p, x) for x in kept]


def _polished(p: NDArray[np.float64], x: float) -> float:
    """Two steps of Newton's method: the roots come from eigenvalues, and lose a few digits there."""
    slope = np.polyder(p)
    for _ in range(2):
        d = float(np.polyval(slope, x))
        x = x - float(np.polyval(p, x)) / d if d else x
    return x


def _scanned(G: TransferFunction) -> list[float]:
    """ω of phase −180° (mod 360°) of a loop with dead time: up to where its gain has fallen for good."""
    corners = [abs(r) for r in (*G.poles, *G.zeros) if abs(r) > 0] + [1.0 / G.delay]
    top = max(max(corners) * 10, 20 * math.pi / G.delay)
    w = np.geomspace(min(corners) * 1e-3, top, SCAN)
    w = np.union1d(w, np.linspace(w[0], top, SCAN))
    value = G(1j * w)
    signs = np.sign(value.imag)
    out = []
    for k in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        if value[k].real < 0 or value[k + 1].real < 0:
            out.append(_bisected(G, float(w[k]), float(w[k + 1])))
    return out


def _bisected(G: TransferFunction, a: float, b: float) -> float:
    below = complex(G(1j * a)).imag
    for _ in range(200):
        middle = 0.5 * (a + b)
        if not a < middle < b:
            break
        if (complex(G(1j * middle)).imag > 0) == (below > 0):
            a = middle
        else:
            b = middle
    return 0.5 * (a + b)
