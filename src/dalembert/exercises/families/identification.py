"""Identification: least squares by hand, what samples can tell, conditioning."""

from __future__ import annotations

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "identification")
# Accelerations and cosines of three samples.
SAMPLES = [
    *(((1, 2, 2), (1, 0, 1)), ((2, 0, 1), (0, 1, 1)), ((1, -1, 2), (1, 1, 0)), ((2, 1, 0), (1, 0, -1))),
    *(((3, 0, -1), (1, 1, 0)), ((1, 2, 0), (0, 1, -1)), ((2, -2, 1), (1, 1, 0)), ((0, 2, 2), (1, 1, 0))),
]


@make
def least_squares(random: Random) -> Drawn:
    a, b = (np.array(column, float) for column in draw(random, *SAMPLES))
    Y, pi = np.stack([a, b], axis=1), np.array([draw(random, 1.0, 2.0, 3.0), draw(random, 2.0, 4.0, 5.0)])
    tau = Y @ pi + draw(random, 0.1, -0.1, 0.2) * np.cross(a, b)  # what is off is perpendicular to both columns
    normal, right = Y.T @ Y, Y.T @ tau
    fit = np.linalg.solve(normal, right)
    given = {"Y": Y, "tau": tau, "det": float(np.linalg.det(normal)), "a": a, "b": b}
    return given | {
        "N": (normal, Y[:2].T @ Y[:2], np.diag(np.diag(normal))),
        "r": (right, Y[:2].T @ tau[:2], right[::-1]),
        "pi": (fit, right / np.diag(normal), np.linalg.solve(Y[:2], tau[:2]), np.linalg.solve(Y[1:], tau[1:])),
    }


@make
def friction_runs(random: Random) -> Drawn:
    slow, fast, v, c = (
        draw(random, 0.5, 1.0),
        draw(random, 2.0, 3.0, 4.0),
        draw(random, 0.5, 1.0, 2.0),
        draw(random, 1.0, 2.0, 3.0),
    )
    J, a, w = draw(random, 0.2, 0.4, 0.5), draw(random, 5.0, 10.0), draw(random, 1.0, 1.5)
    t1, t2, t3 = v * slow + c, v * fast + c, J * a + v * w + c
    given = {"slow": slow, "fast": fast, "t1": t1, "t2": t2, "t3": t3, "acc": a, "w": w, "drag": v * w + c}
    return given | {
        "rank": (2.0, 3.0, 1.0),
        "F_v": (v, t2 / fast, t1 / slow, (t2 + t1) / (fast + slow)),
        "F_c": (c, t1, t1 + v * slow),
        "J": (J, t3 / a, (t3 - c) / a, (t3 - v * w) / a),
    }


@make
def conditioning(random: Random) -> Drawn:
    small, big = draw(random, (0.1, 1.0), (0.2, 2.0), (0.5, 4.0), (0.1, 5.0), (0.2, 10.0), (0.5, 2.0), (0.2, 5.0))
    Y = np.array([[big, small], [big, -small], [-big, small], [-big, -small]])
    noise = draw(random, 0.1, 0.2, 0.4)
    s1, s2 = (float(x) for x in np.linalg.svd(Y, compute_uv=False))
    given = {"Y": Y, "noise": noise, "normal": Y.T @ Y, "big": big, "small": small}
    return given | {
        "kappa": (s1 / s2, (s1 / s2) ** 2, s2 / s1),
        "errors": (
            [noise / s1, noise / s2],
            [noise / s2, noise / s1],
            [noise / s1**2, noise / s2**2],
            [noise * s1, noise * s2],
        ),
        "times": (s1 / s2, (s1 / s2) ** 2, 1.0),
    }
