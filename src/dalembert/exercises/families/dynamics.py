"""Dynamics in numbers: Newton–Euler link by link, the Coriolis matrix, inverse and forward dynamics."""

from __future__ import annotations

import math

import numpy as np

from dalembert.algorithms.composite import coriolis_matrix, mass_matrix
from dalembert.algorithms.newton_euler import coriolis_torque, gravity_torque, inverse_dynamics
from dalembert.arguments import Array
from dalembert.exercises.chapter import Drawn, Random, chapter, draw
from dalembert.exercises.families.kinematics import cos_sin
from dalembert.exercises.families.lagrange import G, link, planar
from dalembert.exercises.families.rotations import small

make = chapter(__file__, "Newton–Euler and dynamics")


def turn(r: Array, w: float, wd: float) -> tuple[Array, Array]:
    """The two parts of the acceleration of a point at r from a joint at rest: across, inward."""
    return wd * np.array([-r[1], r[0]]), -w * w * r


def moment(r: Array, f: Array) -> float:
    return float(r[0] * f[1] - r[1] * f[0])


@make
def newton_euler_2r(random: Random) -> Drawn:
    m1, m2, l1, l2 = draw(random, 3, 6, 12), draw(random, 3, 6, 12), draw(random, 1, 2), draw(random, 1, 2)
    q2, (w1, w2), (a1, a2) = draw(random, 90, -90, 0, 180), small(random, 2, high=3), small(random, 2, high=3)
    I1, I2, w12, a12 = m1 * l1 * l1 / 12, m2 * l2 * l2 / 12, w1 + w2, a1 + a2
    p2, rc2 = np.array([l1, 0.0]), l2 / 2 * np.array(cos_sin(q2))
    joint, (across, inward) = np.sum(turn(p2, w1, a1), axis=0), turn(rc2, w12, a12)
    a_c2, ac1 = joint + across + inward, joint / 2
    f2 = m2 * a_c2
    model = planar(link(l1, m1, l1 / 2, I1), link(l2, m2, l2 / 2, I2))
    tau1, tau2 = np.round(inverse_dynamics(model, (0.0, math.radians(q2)), (w1, w2), (a1, a2)), 12).tolist()
    moments = {"moment2": moment(rc2, f2), "moment1": moment(p2 / 2, m1 * ac1), "carried": moment(p2, f2)}
    given = {"m1": m1, "m2": m2, "l1": l1, "l2": l2, "q2": q2, "w1": w1, "w2": w2, "a1": a1, "a2": a2, "I1": I1}
    given |= {"I2": I2}
    given |= {"w12": w12, "a12": a12, "p2": p2, "rc2": rc2, "joint": joint, "ac1": ac1, "across": across}
    given |= {"inward": inward}
    given |= {"spin2": I2 * a12, "spin1": I1 * a1} | moments
    own = joint + np.sum(turn(rc2, w2, a2), axis=0)
    return given | {
        "a_c2": (a_c2, turn(p2, w1, a1)[0] + across, own),
        "f2": (f2, m2 * joint),
        "tau2": (tau2, moments["moment2"], I2 * a12),
        "tau1": (tau1, tau1 - moments["carried"], tau1 - tau2),
    }


@make
def coriolis_matrix_2r(random: Random) -> Drawn:
    m2, l1, r2 = draw(random, 2, 4, 6), draw(random, 1, 2), draw(random, 0.5, 1)
    q2, (w1, w2) = draw(random, 30, 90, 150, -30, -90), small(random, 2, high=4)
    model = planar(link(l1, 4, l1 / 2), link(2 * r2, m2, r2, 1.0))
    q, qd = (0.0, math.radians(q2)), (w1, w2)
    C, c = (np.round(np.array(x, float), 12) for x in (coriolis_matrix(model, q, qd), coriolis_torque(model, q, qd)))
    b, d = m2 * l1 * r2, m2 * r2 * r2 + 1
    h = -b * cos_sin(q2)[1]
    other = np.array([[0.0, h * (2 * w1 + w2)], [-h * w1, 0.0]])
    given = {"a": l1 * l1 + m2 * l1 * l1 + d, "b": b, "bb": 2 * b, "d": d, "q2": q2, "w1": w1, "w2": w2, "h": h}
    single = np.array([h * (w1 * w2 + w2 * w2), c[1]])
    return given | {"rates": np.array([w1, w2]), "C": (C, -C, other), "c": (c, single, -c)}


@make
def inverse_dynamics_2r(random: Random) -> Drawn:
    m1, m2, l1, l2 = draw(random, 1, 2, 3), draw(random, 1, 2, 4), draw(random, 1, 2), draw(random, 0.5, 1, 2)
    q1, q2 = draw(random, (0, 90), (0, -90), (90, -90), (60, 30), (-30, 90), (30, -90), (60, -90))
    w, a = small(random, 2, high=3), small(random, 2, high=3)
    model = planar(link(l1, m1, l1), link(l2, m2, l2), gravity=G)
    q = (math.radians(q1), math.radians(q2))
    M, c, g, tau = (
        np.round(np.array(x, float), 12)
        for x in (
            mass_matrix(model, q),
            coriolis_torque(model, q, tuple(w)),
            gravity_torque(model, q),
            inverse_dynamics(model, q, tuple(w), tuple(a)),
        )
    )
    given = {"m1": m1, "m2": m2, "l1": l1, "l2": l2, "q1": q1, "q2": q2, "w1": w[0], "w2": w[1], "a1": a[0], "a2": a[1]}
    given |= {"M": M, "M11": M[0, 0], "M12": M[0, 1], "M22": M[1, 1], "accelerations": a}
    given |= {"inertial": M @ a, "inertial1": (M @ a)[0], "inertial2": (M @ a)[1]}
    given |= {"h": -m2 * l1 * l2 * cos_sin(q2)[1], "c1": c[0], "c2": c[1], "g1": g[0], "g2": g[1]}
    return given | {f"tau{k + 1}": (tau[k], (tau - g)[k], (tau - c)[k], (tau - 2 * c)[k]) for k in (0, 1)}


@make
def forward_dynamics_2r(random: Random) -> Drawn:
    m12, m22 = draw(random, 1, 2, -1), draw(random, 2, 3)
    M = np.array([[draw(random, 4, 5, 6), m12], [m12, m22]], float)
    qdd, c, g = small(random, 2, high=4), small(random, 2), 5 * small(random, 2, high=4)
    left = M @ qdd
    tau = left + c + g
    adjugate = np.array([[m22, -m12], [-m12, M[0, 0]]])
    given = {"M": M, "c": c, "g": g, "tau": tau, "left": left, "m11": M[0, 0], "m12": m12, "m22": m22}
    given |= {"det": float(M[0, 0] * m22 - m12 * m12), "adjugate": adjugate}
    found = np.linalg.solve(M, tau - c - g)
    wrong = (np.linalg.solve(M, tau + c + g), np.linalg.solve(M, tau), left / np.diag(M))
    return given | {"qdd": (found, *wrong)}
