"""Energies, Lagrange's equation, mass matrix, Christoffel symbols, gravity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.algorithms.composite import mass_matrix
from dalembert.algorithms.energy import kinetic_energy, potential_energy
from dalembert.exercises.chapter import Drawn, Random, add_up, chapter, draw, tex
from dalembert.exercises.families.kinematics import cos_sin, model_of
from dalembert.exercises.families.rotations import small
from dalembert.model import Model

make = chapter(__file__, "Lagrange's equations")
G = 10.0  # m/s²


def link(length: float, mass: float, center: float, inertia: float = 0.0) -> dict[str, Any]:
    """A row of a planar arm: the center of mass at a distance from the joint, the moment of inertia about it."""
    body = {"mass": mass, "com": [center - length, 0, 0], "inertia": [0.0, inertia, inertia]}
    return {"a": length, "inertial": body}


def planar(*links: dict[str, Any], gravity: float = 0.0) -> Model:
    return model_of(list(links), gravity=(0.0, -gravity, 0.0))


@make
def pendulum(random: Random) -> Drawn:
    m, M, l, b = draw(random, 3, 6, 12), draw(random, 1, 2, 3), draw(random, 1, 2), draw(random, 0.1, 0.2, 0.5)
    zero, sign, height, slope = draw(
        random,
        ("the downward vertical", -1, "cos", 1),
        ("the upward vertical", 1, "cos", -1),
        ("the horizontal, positive upward", 1, "sin", 1),
    )
    other = "sin" if height == "cos" else "cos"
    model = planar(link(l, m, l / 2, m * l * l / 12), link(0, M, 0))
    I, w = float(mass_matrix(model, (0.0, 0.0))[0][0]), m * l / 2 + M * l
    middle = I - m * l * l / 4  # with the rod about its own middle

    def lagrangian(inertia: float, weight: float) -> str:
        return add_up((inertia / 2, "qd**2"), (-sign * weight, f"g*{height}(q)"))

    def torque(inertia: float, weight: float, friction: float) -> str:
        return add_up((inertia, "qdd"), (friction, "qd"), (slope * weight, f"g*{other}(q)"))

    given = {"m": m, "M": M, "l": l, "b": b, "zero": zero, "height": tex(add_up((sign, f"{height}(q)")))}
    given |= {"I": I, "w": w, "slope": tex(add_up((-slope * w, f"g*{other}(q)")))}
    given |= {"L_shown": tex(lagrangian(I, w)), "tau_shown": tex(torque(I, w, b))}
    return given | {
        "L": (lagrangian(I, w), lagrangian(middle, w), lagrangian(I, -w)),
        "tau": (torque(I, w, b), torque(middle, w, b), torque(I, -w, b), torque(I, w, 0)),
    }


@make
def energy_2r(random: Random) -> Drawn:
    (m1, m2), (l1, l2) = random.permutation([1, 2, 3, 4])[:2].tolist(), random.permutation([1, 2, 3])[:2].tolist()
    q1, q2 = draw(random, 0, 30, 90), draw(random, 60, 90, 120, 180, -60)
    w1, w2 = (int(w) for w in small(random, 2, high=3))
    model = planar(link(l1, m1, l1), link(l2, m2, l2), gravity=G)
    q = (math.radians(q1), math.radians(q2))
    K, P = (round(float(e), 12) for e in (kinetic_energy(model, q, (w1, w2)), potential_energy(model, q)))
    v1, own, coupling = (l1 * w1) ** 2, (l2 * (w1 + w2)) ** 2, 2 * l1 * l2 * cos_sin(q2)[0] * w1 * (w1 + w2)
    y1, y12 = l1 * cos_sin(q1)[1], l2 * cos_sin(q1 + q2)[1]
    relative = v1 + (l2 * w2) ** 2 + 2 * l1 * l2 * cos_sin(q2)[0] * w1 * w2
    given = {"m1": m1, "m2": m2, "l1": l1, "l2": l2, "q1": q1, "q2": q2, "w1": w1, "w2": w2, "v1": v1, "own": own}
    given |= {"coupling": coupling, "v2": v1 + own + coupling, "y1": y1, "y2": y1 + y12}
    K_wrong = (K - m2 * coupling / 2, (m1 * v1 + m2 * relative) / 2, 2 * K)
    P_wrong = (G * (m1 * y1 + m2 * y12), G * ((m1 + m2) * y1 + m2 * l2 * cos_sin(q2)[1]))
    return given | {"K": (K, *K_wrong), "P": (P, *P_wrong)}


@make
def rp_lagrange(random: Random) -> Drawn:
    m, I = draw(random, *range(2, 12)), draw(random, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.2, 1.5, 2.5)
    inertia = [(I, "qdd1"), (m, "q2**2*qdd1")]
    weight = (m, "g*q2*cos(q1)")
    given = {"m": m, "I": I, "mm": 2 * m}
    return given | {
        "p1": (add_up((I, "qd1"), (m, "q2**2*qd1")), add_up((I, "qd1")), add_up((I, "qd1"), (m, "q2*qd1"))),
        "tau1": tuple(add_up(*inertia, (k * m, "q2*qd1*qd2"), weight) for k in (2, 0, 1)),
        "f2": tuple(add_up((m, "qdd2"), (k * m, "q2*qd1**2"), (m, "g*sin(q1)")) for k in (-1, 0, 1)),
    }


@make
def cart_pole(random: Random) -> Drawn:
    M, m, l = draw(random, 2, 3, 4, 5), draw(random, 1, 2, 3), draw(random, 0.5, 1, 2)
    zero, height, up, stable = draw(
        random,
        ("the downward vertical", r"-l \cos q_2", -1, "the pole hangs, and gravity pulls it back"),
        ("the upward vertical", r"l \cos q_2", 1, "the pole stands, and gravity tips it over"),
    )

    def force(mass: float, square: float) -> str:
        return add_up((mass, "qdd1"), (m * l, "cos(q2)*qdd2"), (square, "sin(q2)*qd2**2"))

    def balance(coupling: float, weight: float) -> str:
        return add_up((coupling, "cos(q2)*qdd1"), (m * l * l, "qdd2"), (weight, "g*sin(q2)"))

    given = {"M": M, "m": m, "l": l, "zero_of": zero, "mass": M + m, "ml": m * l, "mll": m * l * l, "height": height}
    given |= {"P": tex(add_up((up * m * l, "g*cos(q2)"))), "stable": stable, "up": up}
    given |= {"f_shown": tex(force(M + m, -m * l)), "zero_shown": tex(balance(m * l, -up * m * l))}
    return given | {
        "f": (force(M + m, -m * l), force(M + m, 0), force(M + m, m * l), force(M, -m * l)),
        "zero": (balance(m * l, -up * m * l), balance(m * l, up * m * l), balance(0, -up * m * l)),
    }


@make
def bead_on_a_hoop(random: Random) -> Drawn:
    gR, cosine = draw(random, 4, 5, 8, 10, 16, 20, 25, 40, 50), draw(random, 0.1, 0.2, 0.25, 0.4, 0.5, 0.8)
    R, WW = G / gR, gR / cosine
    W = math.sqrt(WW)

    def acceleration(turning: float, gravity: float) -> str:
        return add_up((turning, "sin(q)*cos(q)"), (gravity, "sin(q)"))

    q = math.degrees(math.acos(cosine))
    given = {"R": R, "W": f"$\\sqrt{{{WW:g}}}$" if W % 1 else f"{W:g}", "WW": WW, "gR": gR, "cosine": cosine}
    qdd = (acceleration(WW, -gR), acceleration(WW, gR), acceleration(0, -gR))
    return given | {"degrees": f"{q:.1f}", "qdd": qdd, "q_rest": (q, 90 - q)}


@make
def christoffel(random: Random) -> Drawn:
    a, b, d, e = (int(x) for x in random.permutation([2, 3, 4, 5, 6, 7, 8])[:4])
    (m11, d11), (m12, d12) = draw(
        random,
        (
            (add_up((4 * a, ""), (2 * b, "cos(q2)")), (-2 * b, "sin(q2)")),
            (add_up((d, ""), (b, "cos(q2)")), (-b, "sin(q2)")),
        ),
        ((add_up((a, ""), (2 * b, "q2**2")), (4 * b, "q2")), (add_up((e, "q2")), (e, ""))),
        ((add_up((4 * a, ""), (2 * b, "sin(q2)")), (2 * b, "cos(q2)")), (add_up((e, "cos(q2)")), (-e, "sin(q2)"))),
        ((add_up((a, ""), (b, "q2**2")), (2 * b, "q2")), (add_up((e, "sin(q2)")), (e, "cos(q2)"))),
    )

    def of(k: float, term: tuple[int, str]) -> str:
        return add_up((k * term[0], term[1]))

    M = [[m11, m12], [m12, f"{d + e}"]]
    given = {"M": [[tex(x) for x in row] for row in M], "entries": M, "d11": tex(of(1, d11)), "d12": tex(of(1, d12))}
    given |= {"s121": tex(of(0.5, d11)), "s221": tex(of(1, d12)), "s112": tex(of(-0.5, d11))}
    return given | {
        "c121": (of(0.5, d11), of(1, d11), of(-0.5, d11)),
        "c221": (of(1, d12), of(0.5, d12)),
        "c112": (of(-0.5, d11), of(0.5, d11)),
    }


@make
def mass_matrix_2r(random: Random) -> Drawn:
    m1, m2, l1 = draw(random, 2, 4, 6, 8), draw(random, 2, 4, 6), draw(random, 1, 2)
    r1, r2, q2 = l1 / 2, draw(random, 0.5, 1), draw(random, 0, 60, 120, 180)
    I1, I2 = draw(random, 0.1, 0.2, 0.5), draw(random, 0.1, 0.2, 0.25)
    model = planar(link(l1, m1, r1, I1), link(2 * r2, m2, r2, I2))
    M = np.round(np.array(mass_matrix(model, (0.0, math.radians(q2))), float), 12)
    c2 = cos_sin(q2)[0]
    x = m2 * l1 * r2 * c2
    given = {"m1": m1, "m2": m2, "l1": l1, "r1": r1, "r2": r2, "I1": I1, "I2": I2, "q2": q2, "c2": c2, "coupling": x}
    given |= {"one": I1 + m1 * r1 * r1, "carried": m2 * l1 * l1, "both": 2 * x}
    given |= {"M11": M[0, 0], "M12": M[0, 1], "M22": M[1, 1]}
    wrong = (x * np.array([[2, 1], [1, 0]]), I2 * np.array([[0, 1], [1, 0]]), m2 * l1 * l1 * np.diag([1, 0]))
    return given | {"M": (M, *(M - off for off in wrong))}


@make
def gravity_2r(random: Random) -> Drawn:
    m1, m2, l1 = draw(random, 2, 3, 4), draw(random, 1, 2, 5), draw(random, 1, 2)
    r1, r2 = draw(random, 0.5, 0.25) * l1, draw(random, 0.4, 0.5, 0.6)

    def torque(first: float, f: str = "cos", angle: str = "q1 + q2") -> str:
        return add_up((first, f"g*{f}(q1)"), (m2 * r2, f"g*{f}({angle})"))

    both = m1 * r1 + m2 * l1
    given: dict[str, Any] = {"m1": m1, "m2": m2, "l1": l1, "r1": r1, "r2": r2}
    given |= {"g1_shown": tex(torque(both)), "g2_shown": tex(torque(0))}
    g1 = (torque(both), torque(m1 * r1), torque(both, "sin"), torque(both, "cos", "q2"))
    return given | {"g1": g1, "g2": (torque(0), torque(0, "sin"), torque(0, "cos", "q2"))}
