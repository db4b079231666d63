"""Gains from rules: Ziegler–Nichols, the ultimate gain, Routh's array, the root locus."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dalembert.control.root_locus import RootLocus
from dalembert.control.transfer import TransferFunction
from dalembert.control.tuning import ZIEGLER_NICHOLS, ultimate, ziegler_nichols as tune
from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "PID and tuning")


@make
def ziegler_nichols(random: Random) -> Drawn:
    rule, K, T = draw(random, *ZIEGLER_NICHOLS), draw(random, 6, 12, 30, 60), draw(random, 0.4, 0.8, 1.2, 2.4)
    row = ZIEGLER_NICHOLS[rule]
    K_p, T_i, T_d = (float(part or 0) * of for part, of in zip(row, (K, T, T), strict=True))
    K_i, K_d = (K_p / T_i if T_i else 0.0), K_p * T_d
    given = {"rule": rule, "K": K, "T": T, "T_i": T_i or r"\text{none}", "T_d": T_d or r"\text{none}"}
    return given | {
        "K_p": (K_p, float(K), 0.6 * K, 0.5 * K),
        "K_i": (K_i, T_i * K_p, T_i, 1.2 * K / T),
        "K_d": (K_d, K_p / T_d if T_d else 0.0, T_d, 0.075 * K * T),
    }


@make
def ultimate_gain(random: Random) -> Drawn:
    a, b = draw(random, (1, 4), (2, 8), (1, 9), (4, 9), (3, 12), (1, 16), (5, 20))
    k = draw(random, 2, 4, 5, 8)
    found = ultimate(TransferFunction([float(k)], [1.0, a + b, a * b, 0.0]))
    law, K, T = tune(found, "classic PID"), found.gain, found.period
    given = {"k": k, "a": a, "b": b, "sum": a + b, "product": a * b, "omega": math.sqrt(a * b)}
    return given | {
        "K_u": (K, a * b / k, (a + b) * math.sqrt(a * b) / k, K * k),
        "T_u": (T, 1 / math.sqrt(a * b), 2 * math.pi / (a * b)),
        "K_p": (law.k_p, K, 0.5 * K),
        "K_i": (law.k_i, 0.6 * K * 0.5 * T, 0.5 * T),
        "K_d": (law.k_d, 0.125 * T, 0.6 * K / (0.125 * T)),
    }


@make
def routh(random: Random) -> Drawn:
    p, q, c, d = draw(random, 1, 2), draw(random, 2, 3, 4), draw(random, -1, -2, 1, 2), draw(random, 3, 5, 6, 8)
    _, a3, a2, a1, a0 = np.polymul(np.poly([-p, -q]), [1, c, d]).tolist()
    b1 = (a3 * a2 - a1) / a3
    c1 = (b1 * a1 - a3 * a0) / b1
    column = [1.0, a3, b1, c1, a0]
    changes = sum(x * y < 0 for x, y in pairwise(column))
    given = {"a3": a3, "a2": a2, "a1": a1, "a0": a0, "column": column, "words": "none" if changes == 0 else "two"}
    return given | {
        "b1": (b1, -b1, a3 * a2 - a1, a2),
        "c1": (c1, -c1, b1 * a1 - a3 * a0, a1),
        "unstable": (float(changes), 1.0, float(sum(x < 0 for x in column)) if changes else 4.0),
    }


@make
def root_locus(random: Random) -> Drawn:
    z, middle = draw(random, (0.6, 3), (0.6, 6), (0.6, 9), (0.8, 4), (0.8, 8), (0.5, 4), (0.5, 5), (0.5, 6))
    half = draw(random, *range(1, min(middle, 5)))
    p, q, w = middle - half, middle + half, middle / z
    locus = RootLocus(TransferFunction([1.0], [1.0, p + q, p * q]))
    (leave,), (point,) = locus.breakaways(), locus.for_damping(z)
    given = {"p": p, "q": q, "sum": p + q, "product": p * q, "zeta": z, "omega": w, "square": w * w, "half": half}
    return given | {
        "s_b": (leave.s.real, -leave.s.real, -(p + q) * 1.0, -float(q)),
        "K_b": (leave.gain, p * q + leave.gain, float(q - p)),
        "K": (point.gain, w * w, middle**2 - p * q + 0.0, w * w + p * q),
    }
