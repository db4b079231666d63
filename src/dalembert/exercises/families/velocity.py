"""Inverse velocity kinematics, manipulability and ellipsoids."""

from __future__ import annotations

import math

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw
from dalembert.exercises.families.statics import draw_arm

make = chapter(__file__, "inverse velocity and ellipsoids")


@make
def manipulability(random: Random) -> Drawn:
    l1, l2, q2 = draw(random, 0.3, 0.4, 0.5, 0.8), draw(random, 0.2, 0.3, 0.5, 0.6), draw(random, 30, 150, -30, -150)
    det = l1 * l2 * math.sin(math.radians(q2))
    given = {"l1": l1, "l2": l2, "q2": q2, "sin": abs(math.sin(math.radians(q2)))}
    return given | {
        "mu": (abs(det), det, l1 * l2, l1 * l2 * math.sqrt(0.75)),
        "best": (90.0, 0.0, 45.0),
        "most": (l1 * l2, l1 + l2, 2 * l1 * l2),
    }


@make
def ellipsoid(random: Random) -> Drawn:
    big, small, (c, s) = draw(random, 1.0, 2.0, 4.0), draw(random, 0.25, 0.5), draw(random, (0.6, 0.8), (0.8, 0.6))
    J = np.array([[c, -s], [s, c]]) @ np.diag([big, small])
    if draw(random, True, False):
        J = J[:, ::-1].copy()
    large, little = (float(x) for x in np.linalg.svd(J, compute_uv=False))
    given = {"J": J, "JtJ": J.T @ J, "squares": f"{large**2:g} and {little**2:g}"}
    return given | {
        "a_max": (large, large**2, float(np.abs(J).max())),
        "a_min": (little, little**2, 1 / little),
        "mu": (large * little, large + little, large / little),
        "kappa": (large / little, (large / little) ** 2, little / large),
        "f": (1 / large, large, 1 / little),
    }


@make
def inverse_velocity(random: Random) -> Drawn:
    given, J = draw_arm(random)
    rates = np.array([draw(random, 1.0, 2.0, -1.0, -2.0), draw(random, 0.5, 1.5, -0.5, 3.0)])
    v = J @ rates
    return given | {
        **{"v": v, "J": J, "inverse": np.linalg.inv(J)},
        "det": (float(np.linalg.det(J)), float(J[0, 0] * J[1, 1] + J[0, 1] * J[1, 0]), -float(np.linalg.det(J))),
        "qd": (rates, np.array([rates[0], rates.sum()]), J.T @ v, np.linalg.solve(J.T, v)),
    }


@make
def damped_velocity(random: Random) -> Drawn:
    big, small, damping = draw(random, 0.5, 1.0), draw(random, 0.01, 0.02, 0.05), draw(random, 0.1, 0.05)
    v = np.array([draw(random, 0.1, 0.2), draw(random, 0.05, 0.1)])
    sigma = np.array([big, small])
    factor = sigma / (sigma**2 + damping**2)
    given = {"sigma": sigma, "s1": big, "s2": small, "damping": damping, "v": v, "v2": v[1], "factor": factor[1]}
    return given | {
        "plain": (v[1] / small, v[1] * small, v[1] / big),
        "qd": (factor * v, v / (sigma + damping), v / (sigma**2 + damping**2), v / sigma),
        "lost": (100 * damping**2 / (small**2 + damping**2), 100 * small**2 / (small**2 + damping**2), 0.0),
    }


@make
def redundant_velocity(random: Random) -> Drawn:
    row = np.array(draw(random, (1.0, 2.0, 2.0), (2.0, 1.0, -2.0), (2.0, 3.0, 6.0), (6.0, -2.0, 3.0), (1.0, -2.0, 2.0)))
    square, times = float(row @ row), draw(random, 1.0, 2.0, -1.0)
    v, wish = times * square, np.array([draw(random, 1.0, 0.0, 2.0), draw(random, 1.0, 3.0), draw(random, 0.0, -1.0)])
    least, motion = times * row, float(row @ wish)
    null = wish - row * motion / square
    given = {"J": row[None, :], "v": v, "square": square, "wish": wish, "motion": motion, "row": row}
    return given | {
        "qd": (least, row * v, v / (3 * row), row / square),
        "null": (null, wish, row * motion / square, wish - row * motion),
        "whole": (least + null, least + wish, null - least),
    }
