"""Second-order systems: damping, poles, step response, gains of a servo, disturbances."""

from __future__ import annotations

import math

import numpy as np

from dalembert.control.second_order import MassSpringDamper
from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "second-order systems")


@make
def damping(random: Random) -> Drawn:
    m, w, z = draw(random, 1, 2, 4, 5), draw(random, 2, 3, 4, 5, 6), draw(random, 0.25, 0.5, 0.8, 1.0, 1.25, 2.0)
    k, b = m * w * w, 2 * z * w * m
    system = MassSpringDamper(m, b, k)
    kind = system.regime
    given = {"m": m, "b": b, "k": k, "root": m * w, "sign": ">" if z > 1 else "=" if z == 1 else "<"}
    return given | {
        "omega": (system.natural_frequency, k / m, w / (2 * math.pi), math.sqrt(k * m)),
        "zeta": (system.damping_ratio, b / math.sqrt(m * k), b / (2 * m), b / (2 * m * k)),
        "kind": (kind, "underdamped" if z > 1 else "overdamped"),
    }


@make
def state_space(random: Random) -> Drawn:
    m, fast, slow = draw(random, 1, 2, 4), draw(random, 4, 5, 6, 8), draw(random, 1, 2, 3)
    b, k = m * (fast + slow), m * fast * slow
    space, (s1, s2) = MassSpringDamper(m, b, k).state_space(), np.real(MassSpringDamper(m, b, k).poles)
    A, B = np.array(space.A).tolist(), np.ravel(space.B).tolist()
    given = {"m": m, "b": b, "k": k, "km": k / m, "bm": b / m, "over": 1 / m, "slow": slow, "fast": fast}
    return given | {
        "A": (A, [[0, 1], [k / m, b / m]], [[0, 1], [-k, -b]], [[0, 1], [-b / m, -k / m]]),
        "B": (B, [0.0, float(m)], [1 / m, 0.0]),
        "s1": (s1, -s1, s2),
    }


@make
def overshoot(random: Random) -> Drawn:
    z, w, m = draw(random, 0.6, 0.8), draw(random, 4, 5, 8, 10, 20), draw(random, 1, 2, 0.5, 4)
    root, k, b = math.sqrt(1 - z * z), m * w * w, 2 * z * w * m
    wd, M_p = MassSpringDamper(m, b, k).damped_frequency, MassSpringDamper(m, b, k).overshoot
    given = {"m": m, "b": b, "k": k, "zeta": z, "omega": w, "decay": z * w, "root": root}
    return given | {
        "w_d": (wd, w, z * w),
        "t_p": (math.pi / wd, math.pi / w, 2 * math.pi / wd),
        "M_p": (100 * M_p, 100 * math.exp(-math.pi * z), 100 * math.exp(-z / root), M_p),
        "t_s": (4 / (z * w), 4 / w, 3 / (z * w)),
    }


@make
def critical_gains(random: Random) -> Drawn:
    m, w, b = draw(random, 1, 2, 3, 5), draw(random, 4, 5, 6, 8, 10), draw(random, 1, 2, 4, 6)
    k, wanted = draw(random, 3, 5, 8), m * w * w
    k_p, k_v = MassSpringDamper(m, b, k).gains_for(wanted)
    given = {"m": m, "b": b, "k": k, "wanted": wanted, "omega": w, "whole": 2 * m * w}
    return given | {
        "k_p": (k_p, float(wanted), float(wanted + k)),
        "k_v": (k_v, float(2 * m * w), 2 * m * math.sqrt(k_p / m) - b, 2.0 * w - b),
    }


@make
def partition(random: Random) -> Drawn:
    m, b, k, w = draw(random, 2, 3, 4), draw(random, 1, 2, 5), draw(random, 4, 6, 10), draw(random, 3, 4, 5)
    x, v, xd, vd, ad = (
        draw(random, 0.1, 0.2, 0.3),
        draw(random, 0.5, 1.0),
        draw(random, 0.5, 0.6),
        draw(random, 1.5, 2.0),
        2,
    )
    e, ed, k_p, k_v = xd - x, vd - v, w * w, 2 * w
    servo, beta = ad + k_v * ed + k_p * e, b * v + k * x
    given = {"m": m, "b": b, "k": k, "k_p": k_p, "x": x, "v": v, "xd": xd, "vd": vd, "ad": ad, "e": e, "ed": ed}
    return given | {
        "k_v": (float(k_v), float(w), 2.0 * k_p),
        "servo": (servo, servo - ad, ad - k_v * v - k_p * x),
        "beta": (beta, k * v + b * x, b * vd + k * xd),
        "f": (m * servo + beta, servo + beta, m * (servo + beta), m * servo),
    }


@make
def disturbance(random: Random) -> Drawn:
    m, w, f = draw(random, 2, 4, 5), draw(random, 5, 10, 20), draw(random, 5, 10, 20, 40)
    k_p, k_v = w * w, 2 * w
    given = {"m": m, "f": f, "k_p": k_p, "k_v": k_v, "a": f / m, "product": k_p * k_v}
    return given | {
        "e": (1000 * f / m / k_p, 1000 * f / k_p, 1000 * f / m / k_v),
        "e_i": ("zero", "half as large", "the same"),
        "k_i": (float(k_p * k_v), float(k_p), k_p / k_v),
    }
