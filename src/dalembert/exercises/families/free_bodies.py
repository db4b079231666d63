"""Bodies that nothing holds: quaternions and their rates, Euler's equations, a wheel that turns its satellite."""

from __future__ import annotations

import math

import numpy as np

from dalembert.exercises.chapter import Drawn, Random, chapter, draw
from dalembert.exercises.families.rotations import small
from dalembert.spatial import quaternion

make = chapter(__file__, "free bodies")
# Quaternions of length one that a hand can work with, but for signs and order.
UNIT = ((0.1, 0.3, 0.3, 0.9), (0.1, 0.5, 0.5, 0.7), (0.1, 0.1, 0.7, 0.7), (0.2, 0.4, 0.4, 0.8))


@make
def quaternion_rate(random: Random) -> Drawn:
    q = random.permutation(draw(random, *UNIT)) * np.append(random.choice([-1.0, 1.0], 3), 1.0)
    w = small(random)
    R = np.array(quaternion.rotation_matrix(q.tolist()), float)
    rate = np.array(quaternion.rate(q.tolist(), w.tolist()), float)
    other = 0.5 * np.array(quaternion.product((*w, 0.0), q.tolist()), float)
    omega = R @ w
    given = {"q": q, "w": w, "R": R, "u": q[:3], "s": q[3], "dot": float(q[:3] @ w), "cross": np.cross(q[:3], w)}
    return given | {"rate": (rate, other, 2 * rate), "omega": (omega, R.T @ w)}


@make
def free_body(random: Random) -> Drawn:
    I = random.permutation(draw(random, (2, 3, 4), (3, 4, 5), (2, 4, 5), (4, 5, 7), (3, 5, 6))).astype(float)
    w, n = small(random, high=4), small(random, high=6)
    turning = np.cross(w, I * w)
    middle, largest, smallest = (("x", "y", "z")[int(np.argsort(I)[k])] for k in (1, 2, 0))
    K = 0.5 * float(w @ (I * w))
    given = {"i1": I[0], "i2": I[1], "i3": I[2], "w": w, "n": n, "h": I * w, "turning": turning}
    answers = {"wdot": ((n - turning) / I, (n + turning) / I, n / I), "K": (K, 2 * K)}
    return given | answers | {"axis": (middle, largest, smallest)}


@make
def reaction_wheel(random: Random) -> Drawn:
    I, J = draw(random, 10, 12, 15, 20, 24), draw(random, 0.1, 0.2, 0.25, 0.5)
    speed, t = draw(random, -400, -300, -200, 200, 300, 400), draw(random, 5, 8, 10, 20)
    omega = -J * speed / (I + J)
    tau, angle = I * J / (I + J) * speed / t, math.degrees(0.5 * omega * t)
    given = {"I": I, "J": J, "speed": speed, "t": t, "sum": I + J, "moment": J * speed, "rate": speed / t}
    given |= {"wdot": omega / t}
    return given | {
        "omega": (omega, -omega, -J * speed / I),
        "tau": (tau, -tau, J * speed / t),
        "angle": (angle, -angle, 2 * angle),
    }
