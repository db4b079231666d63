"""Statics: joint torques and tip forces, virtual work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "statics")
DIRECTIONS = ((1.0, 0.0, "0°"), (0.0, 1.0, "90°"), (-1.0, 0.0, "180°"))


def draw_arm(random: Random) -> tuple[dict[str, float | str], NDArray[np.float64]]:
    """A planar 2R arm in a posture of easy sines: what the text says of it, and the Jacobian of its tip."""
    l1, l2 = draw(random, 0.5, 1.0), draw(random, 0.2, 0.4, 0.5)
    (c1, s1), (c12, s12, angle) = draw(random, (0.6, 0.8), (0.8, 0.6)), draw(random, *DIRECTIONS)
    J = np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]]) + 0.0  # no -0
    return {"l1": l1, "l2": l2, "c1": c1, "s1": s1, "c12": c12, "s12": s12, "angle": angle}, J


@make
def static_torque(random: Random) -> Drawn:
    given, J = draw_arm(random)
    F = np.array([draw(random, 10.0, -10.0, 20.0), draw(random, 5.0, -20.0, 30.0)])
    elbow = np.stack([J[:, 0] - J[:, 1], J[:, 1]], axis=1)
    wrong = (J @ F, -J.T @ F, elbow.T @ F)
    return given | {"F": F, "Jt": J.T, "J": (J, J.T, elbow), "tau": (J.T @ F, *wrong)}


@make
def held_force(random: Random) -> Drawn:
    J = np.array(
        draw(random, [[1, 1], [0, 1]], [[1, -1], [1, 1]], [[-1, -2], [1, 0]], [[-2, -1], [1, 1]], [[2, 1], [1, 1]])
    )
    J, tau = J * draw(random, 0.5, 1.0), np.array([draw(random, 4.0, 6.0, -2.0, 10.0), draw(random, 2.0, 8.0, -4.0)])
    given = {"J": J, "tau": tau, "Jt": J.T, "det": float(np.linalg.det(J)), "inverse": np.linalg.inv(J.T)}
    return given | {
        "F": (np.linalg.solve(J.T, tau), np.linalg.solve(J, tau), J.T @ tau, -np.linalg.solve(J.T, tau)),
        "work": (float(tau @ [0.01, 0.02]) * 1000, float(np.sum(tau)) * 10, 0.0),
    }


@make
def singular_force(random: Random) -> Drawn:
    l1, l2, (c, s) = draw(random, 0.4, 0.5, 0.6), draw(random, 0.2, 0.3, 0.4), draw(random, (0.6, 0.8), (0.8, 0.6))
    along, across = draw(random, 10.0, 20.0, -10.0), draw(random, 5.0, 10.0, -5.0)
    F = along * np.array([c, s]) + across * np.array([-s, c])
    tau = np.array([l1 + l2, l2]) * across
    given = {"l1": l1, "l2": l2, "c": c, "s": s, "F": F, "whole": l1 + l2, "across": across}
    return given | {
        "free": ("along the arm", "across the arm", "vertical", "none"),
        "carried": (along, across, float(np.hypot(*F))),
        "tau": (tau, np.array([l1, l2]) * across, np.array([l1 + l2, l2]) * along, tau[::-1]),
    }


@make
def scissor_lift(random: Random) -> Drawn:
    (c, s), n = draw(random, (0.6, 0.8), (0.8, 0.6), (5 / 13, 12 / 13), (12 / 13, 5 / 13)), draw(random, 2, 3, 4)
    W, l = draw(random, 100, 200, 300, 600), draw(random, 0.5, 1, 1.3)
    rise = n * c / s
    given = {"W": W, "l": l, "n": n, "cot": c / s, "tan": s / c}
    return given | {"rise": (rise, n * s / c, c / s, float(n)), "F": (W * rise, W / rise, W * c / s, n * W * c)}
