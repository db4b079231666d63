"""Dynamics in task space: the mass that is felt at the tip."""

from __future__ import annotations

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "task space")


@make
def task_mass(random: Random) -> Drawn:
    (c, s), scale = draw(random, (0.6, 0.8), (0.8, 0.6)), draw(random, 0.1, 0.2)
    m1, m2 = draw(random, 1.0, 2.0, 5.0), draw(random, 1.0, 2.0, 3.0)
    l1, l2 = 5 * scale * c, 5 * scale * s
    J = np.array([[0.0, -l2 * c], [5 * scale, l2 * s]])
    M = np.array([[m1 * l1**2 + m2 * (l1**2 + l2**2), m2 * l2**2], [m2 * l2**2, m2 * l2**2]])
    inverse = np.linalg.inv(J)
    felt = inverse.T @ M @ inverse
    given = {"l1": l1, "l2": l2, "c": c, "s": s, "m1": m1, "m2": m2, "J": J, "M": M, "reach": 5 * scale}
    given |= {"inverse": inverse}
    mirror = felt * np.array([[1, -1], [-1, 1]])
    effective = float(1 / np.linalg.inv(felt)[0, 0])
    return given | {
        "felt": (felt, M, J @ M @ J.T, inverse @ M @ inverse.T),
        "up": (mirror, felt, -felt),
        "m_x": (effective, float(felt[0, 0]), m1 + m2),
    }


@make
def effective_mass(random: Random) -> Drawn:
    c, s = draw(random, (0.6, 0.8), (0.8, 0.6), (0.8, -0.6))
    a, b = draw(random, 0.25, 0.5, 1.0), draw(random, 1.0, 2.0)
    k, F = draw(random, 0.0, 0.1, -0.1, 0.2), draw(random, 5.0, 10.0, 20.0)
    inverse, u = np.array([[a, k], [k, b]]), np.array([c, s])
    ease = float(u @ inverse @ u)
    given = {"inverse": inverse, "u": u, "F": F, "c": c, "s": s, "ease": ease, "product": inverse @ u}
    return given | {
        "m": (1 / ease, float(u @ np.linalg.inv(inverse) @ u), ease, 1 / (c * a + s * b)),
        "a": (F * inverse @ u, F * ease * u, F * np.linalg.inv(inverse) @ u),
    }
