"""Following a motion: polynomials and trapezoids, computed torque, feedforward, PD with gravity."""

from __future__ import annotations

import math

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "computed torque and trajectories")


@make
def cubic(random: Random) -> Drawn:
    start, way, T = draw(random, 0, 10, 20, -15), draw(random, 30, 45, 60, 90, -60), draw(random, 1, 2, 3)
    given = {"start": start, "end": start + way, "T": T, "way": way, "middle": T / 2}
    return given | {
        "a2": (3 * way / T**2, 3 * (start + way) / T**2, 6 * way / T**2),
        "a3": (-2 * way / T**3, 2 * way / T**3, -2 * way / T**2),
        "v": (1.5 * way / T, way / T, 2 * way / T),
        "a": (6 * way / T**2, 3 * way / T**2, 4 * way / T**2),
    }


@make
def quintic(random: Random) -> Drawn:
    way, T = draw(random, 8, 16, 24, 32, 40, 48, 64, 80), draw(random, 1, 2)
    given = {"way": way, "T": T, "middle": T / 2}
    a3, a4, a5 = 10 * way / T**3, 15 * way / T**4, 6 * way / T**5
    return given | {
        "a": ([a3, -a4, a5], [10 * way, -15 * way, 6 * way], [a3, a4, a5]),
        "v": (15 * way / (8 * T), 1.5 * way / T, way / T),
        "q": (way * (10 / 64 - 15 / 256 + 6 / 1024), way * (3 / 16 - 2 / 64), way / 4),
    }


@make
def trapezoid(random: Random) -> Drawn:
    v, rise, plateau = draw(random, 0.5, 1, 2), draw(random, 0.5, 1, 2), draw(random, 0.5, 1, 2, 3)
    a, way = v / rise, v * (rise + plateau)
    short = draw(random, 0.25, 0.64, 0.36) * v * rise
    peak = math.sqrt(a * short)
    given = {"v": v, "a": a, "way": way, "short": short, "ramps": v * rise, "plateau": plateau}
    return given | {
        "t_a": (rise, a / v, v / (2 * a)),
        "T": (rise * 2 + plateau, way / v, way / v + 2 * rise),
        "peak": (peak, float(v), math.sqrt(2 * a * short), math.sqrt(a * short / 2)),
        "T_short": (2 * peak / a, short / v + v / a, peak / a),
    }


@make
def computed_torque(random: Random) -> Drawn:
    M = np.array(draw(random, [[4.0, 1.0], [1.0, 2.0]], [[3.0, 1.0], [1.0, 1.0]], [[5.0, 2.0], [2.0, 2.0]]))
    h, w = np.array([draw(random, 2.0, 5.0, -3.0), draw(random, 1.0, 4.0, -2.0)]), draw(random, 5, 10)
    e, ed = np.array([draw(random, 0.1, -0.1), draw(random, 0.2, 0.3)]), np.array([draw(random, 0.0, 0.2), -0.1])
    ad = np.array([draw(random, 1.0, 2.0), draw(random, -1.0, 0.5)])
    k_p, k_v = w * w, 2 * w
    servo = k_v * ed + k_p * e
    a = ad + servo
    given = {"M": M, "h": h, "omega": w, "e": e, "ed": ed, "ad": ad, "Ma": M @ a}
    return given | {
        "k_p": (float(k_p), float(w), 2.0 * k_p),
        "k_v": (float(k_v), float(w), 2.0 * k_p),
        "a": (a, servo, ad - servo),
        "tau": (M @ a + h, M @ a, a + h, M @ ad + h + servo),
    }


@make
def gravity_error(random: Random) -> Drawn:
    m, r, part = draw(random, 2, 4, 5), draw(random, 0.2, 0.4, 0.5), draw(random, 0.1, 0.2, 0.25)
    load, k, goal = m * 10.0 * r, draw(random, 100, 200, 400), draw(random, 0.005, 0.01)
    given = {"m": m, "r": r, "percent": 100 * part, "k": k, "goal": goal, "load": load, "missing": part * load}
    return given | {
        "e": (load / k, m * r / k, k / load),
        "e_g": (part * load / k, (1 - part) * load / k, 0.0),
        "k_p": (part * load / goal, load / goal, part * load * goal),
    }


@make
def feedforward(random: Random) -> Drawn:
    J, b, mr, cos = draw(random, 2, 4), draw(random, 1, 3), draw(random, 1.5, 2, 3), draw(random, 0.5, 0.6, 0.8)
    v, a, extra = draw(random, 1, 2), draw(random, 2, 3, 4), draw(random, 0.25, 0.5, 1.0)
    load = mr * 10 * cos
    tau, part = J * a + b * v + load, extra * J
    given = {"J": J, "b": b, "mr": mr, "cos": cos, "v": v, "a": a, "part": part, "load": load, "whole": J + part}
    return given | {
        "tau": (tau, J * a + load, J * a + b * v + mr * cos, J * a + b * v),
        "a_true": (J * a / (J + part), float(a), tau / (J + part)),
        "e_dd": (a - J * a / (J + part), J * a / (J + part) - a, part * a),
    }
