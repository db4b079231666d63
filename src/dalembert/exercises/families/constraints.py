"""Constraints: velocity freedoms, Lagrange multipliers, an arm in a channel, projection."""

from __future__ import annotations

import math

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "constraints")
# What moves, its coordinates and constraints, how many velocity freedoms are left, whether it can be integrated.
MECHANISMS = (
    (r"a disk that rolls upright along a straight rail without slipping: $\dot x = R\dot\varphi$", 2, 1, True),
    (r"a skate, $(x, y, \theta)$, that cannot slip sideways: $\dot x\sin\theta - \dot y\cos\theta = 0$", 3, 1, False),
    (
        r"an upright disk that rolls on a plane without slipping, $(x, y, \theta, \varphi)$: "
        r"$\dot x = R\dot\varphi\cos\theta$, $\dot y = R\dot\varphi\sin\theta$",
        *(4, 2, False),
    ),
    (r"a planar 2R arm whose tip slides in a straight channel: $\dot x = 0$", 2, 1, True),
    (r"a planar 3R arm whose tip is pinned to the ground: $\dot x = 0$, $\dot y = 0$", 3, 2, True),
    (r"a bead in space on a bent wire: $\dot y = f'(x)\dot x$, $\dot z = g'(x)\dot x$", 3, 2, True),
    (r"a car, $(x, y, \theta, \psi)$, whose rear wheels and front wheels cannot slip sideways", 4, 2, False),
    (r"a nut on a screw: $\dot z = p\,\dot\varphi$", 2, 1, True),
)
KIND = {True: "holonomic", False: "nonholonomic"}


@make
def freedoms(random: Random) -> Drawn:
    first, second = (MECHANISMS[int(k)] for k in random.permutation(len(MECHANISMS))[:2])
    out: dict[str, object] = {}
    for letter, (words, n, k, whole) in (("a", first), ("b", second)):
        out |= {f"words_{letter}": words, f"n_{letter}": n, f"k_{letter}": k}
        out |= {
            f"freedoms_{letter}": (float(n - k), float(n), float(k)),
            f"kind_{letter}": (KIND[whole], KIND[not whole]),
            f"places_{letter}": (float(n - k if whole else n), float(n if whole else n - k)),
        }
    return out


@make
def bead(random: Random) -> Drawn:
    m, k, slope, v = draw(random, 0.5, 1, 2), draw(random, 0.5, 1, 2), draw(random, 0.75, 4 / 3), draw(random, 1, 2, 3)
    x, over = slope / k, 1 + slope**2
    force = m * (10 + k * v * v) / over
    given = {"m": m, "k": k, "x": x, "v": v, "slope": slope, "over": over, "need": k * v * v}
    return given | {
        "lam": (-force, force, -m * 10 / over, -m * (10 + k * v * v)),
        "xdd": (-slope * force / m, slope * force / m, -slope * 10 / over),
        "N": (force * math.sqrt(over), force, m * 10 / math.sqrt(over)),
    }


@make
def channel(random: Random) -> Drawn:
    (c, s), L = draw(random, (0.6, 0.8), (0.8, 0.6)), draw(random, 0.5, 1.0)
    m1, m2, w = draw(random, 1.0, 2.0), draw(random, 1.0, 2.0), draw(random, 1.0, 2.0)
    c2, s2 = c * c - s * s, 2 * s * c
    M = L * L * np.array([[m1 + 2 * m2 * (1 + c2), m2 * (1 + c2)], [m2 * (1 + c2), m2]])
    h, A, drift = np.array([0.0, m2 * L * L * s2 * w * w]), np.array([0.0, -L * s]), -2 * L * c * w * w
    tau = np.array([draw(random, 2.0, 4.0, 0.0), draw(random, 1.0, 3.0, -2.0)])
    inverse = np.linalg.inv(M)
    lam = float((A @ inverse @ (tau - h) + drift) / (A @ inverse @ A))
    qdd = inverse @ (tau - h - A * lam)
    P = np.eye(2) - np.outer(A, A @ inverse) / (A @ inverse @ A)
    given = {"c": c, "s": s, "L": L, "m1": m1, "m2": m2, "w": w, "M": M, "h": h, "A": A[None, :], "drift": drift}
    given |= {"tau": tau}
    shown = {"M11": M[0, 0], "M12": M[0, 1], "M22": M[1, 1], "t1": tau[0], "t2": tau[1], "h2": h[1], "a2": A[1]}
    return {**given, **shown} | {
        "qdd1": (float(qdd[0]), float((inverse @ (tau - h))[0]), tau[0] / M[0, 0]),
        "qdd2": (float(qdd[1]), -float(qdd[1]), 0.0),
        "lam": (lam, -lam, float(A @ inverse @ (tau - h) / (A @ inverse @ A))),
        "P": (P, P.T, np.eye(2) - P),
    }
