"""Properties of the dynamic model: skew symmetry, energy, bounds, linearity in the parameters."""

from __future__ import annotations

import math

from dalembert.exercises.chapter import Drawn, Random, chapter, draw, matrix

make = chapter(__file__, "properties of the dynamics")
SYMBOL = {"q2": "q_2", "qd1": r"\dot q_1", "qd2": r"\dot q_2", "*": "", "sin(q_2)": r"\sin q_2"}
SYMBOL |= {"cos(q_2)": r"\cos q_2"}
Rows = list[list[str]]
Model = tuple[str, Rows, Rows, Rows, Rows, str]  # words, M, its rate, C, a wrong C, what that one reveals
SPLIT = r"These give the right torques, but $\dot M - 2C$ is not skew: share $\dot q_1\dot q_2$ between the columns."
SIGN = r"The sign: $\cos q_2$ has the rate $-\sin q_2\,\dot q_2$."


def to_latex(rows: Rows) -> str:
    """A matrix of plain formulas in LaTeX."""
    text = matrix(rows)
    for plain, latex in SYMBOL.items():
        text = text.replace(plain, latex)
    return text


def elbow(a: int, b: int, d: int) -> Model:
    """A planar 2R arm."""
    M = [[f"{a} + {2 * b}*cos(q2)", f"{d} + {b}*cos(q2)"], [f"{d} + {b}*cos(q2)", f"{d}"]]
    rate = [[f"-{2 * b}*sin(q2)*qd2", f"-{b}*sin(q2)*qd2"], [f"-{b}*sin(q2)*qd2", "0"]]
    C = [[f"-{b}*sin(q2)*qd2", f"-{b}*sin(q2)*(qd1 + qd2)"], [f"{b}*sin(q2)*qd1", "0"]]
    return "A planar arm with two revolute joints", M, rate, C, [rate[0], C[1]], SPLIT


def polar(a: int, b: int, d: int) -> Model:
    """An arm that turns and slides."""
    M, rate = [[f"{a} + {b}*q2^2", "0"], ["0", f"{b}"]], [[f"{2 * b}*q2*qd2", "0"], ["0", "0"]]
    C = [[f"{b}*q2*qd2", f"{b}*q2*qd1"], [f"-{b}*q2*qd1", "0"]]
    return "An arm that turns by $q_1$ and slides out by $q_2$", M, rate, C, [rate[0], C[1]], SPLIT


def cart(a: int, b: int, d: int) -> Model:
    """A cart with a pendulum."""
    M = [[f"{a}", f"{b}*cos(q2)"], [f"{b}*cos(q2)", f"{d}"]]
    rate = [["0", f"-{b}*sin(q2)*qd2"], [f"-{b}*sin(q2)*qd2", "0"]]
    C, other = [["0", f"-{b}*sin(q2)*qd2"], ["0", "0"]], [["0", f"{b}*sin(q2)*qd2"], ["0", "0"]]
    return "A cart ($q_1$) with a pendulum ($q_2$)", M, rate, C, other, SIGN


@make
def skew_symmetry(random: Random) -> Drawn:
    a, b, d = draw(random, 12, 15, 20), draw(random, 2, 3, 4), draw(random, 4, 5, 6)
    words, M, rate, C, other, reveal = draw(random, elbow, polar, cart)(a, b, d)
    minus, half = ([[form.format(entry) for entry in row] for row in rate] for form in ("-({})", "({})/2"))
    shown = {"M_shown": to_latex(M), "rate_shown": to_latex(rate), "C_shown": to_latex(C)}
    return {"words": words, "M": M, "reveal": reveal} | shown | {"rate": (rate, minus), "C": (C, other, half)}


@make
def energy_balance(random: Random) -> Drawn:
    J, b, c, w = draw(random, 0.5, 1, 2), draw(random, 0.5, 1), draw(random, 1, 2), draw(random, 1, 2, -2)
    load, tau = draw(random, 4, 6, 10), draw(random, 15, 18, 21, 24)
    power, losses = tau * w, b * w * w + c * abs(w)
    rate = power - losses
    given = {"J": J, "b": b, "c": c, "w": w, "load": load, "tau": tau, "lift": load * w, "left": rate - load * w}
    return given | {
        "power": (float(power), float(abs(power)), float(tau)),
        "losses": (losses, b * w * w, -losses, b * abs(w) + c),
        "rate": (rate, float(power), power + losses),
        "qdd": ((rate - load * w) / (J * w), rate / (J * w), (tau - load) / J),
    }


@make
def mass_bounds(random: Random) -> Drawn:
    m1, m2, l1, l2 = draw(random, 1, 2, 3), draw(random, 1, 2), draw(random, 1, 0.5, 2), draw(random, 1, 0.5)
    fixed, swing, d = m1 * l1**2 + m2 * (l1**2 + l2**2), 2 * m2 * l1 * l2, m2 * l2**2
    least = m1 * m2 * l1**2 * l2**2
    given = {"m1": m1, "m2": m2, "l1": l1, "l2": l2, "fixed": fixed, "swing": swing, "d": d, "half": swing / 2}
    return given | {
        "most": (fixed + swing, fixed, fixed + swing / 2),
        "least": (fixed - swing, fixed, 0.0),
        "det_least": (least, (m1 + m2) * m2 * (l1 * l2) ** 2, 0.0),
        "q2": (90.0, 0.0, 180.0),
    }


@make
def regressor(random: Random) -> Drawn:
    cos, angle = draw(random, (1.0, 0), (0.5, 60), (-0.5, 120))
    w, a = draw(random, 2.0, -2.0, 0.5, -0.5), draw(random, 2.0, 3.0, -4.0)
    J, mr, v, c = draw(random, 0.4, 0.6), draw(random, 0.2, 0.6, 1.0), draw(random, 0.5, 1.0), draw(random, 1.0, 2.0)
    Y, sign = [a, 10 * cos, w, math.copysign(1.0, w)], math.copysign(1.0, w)
    given = {"angle": angle, "w": w, "a": a, "pi": [J, mr, v, c], "cos": cos}
    tau = J * a + mr * 10 * cos + v * w + c * sign
    wrong = [a, 10 * math.sqrt(1 - cos * cos), w, sign], [a, cos, w, sign], [a, 10 * cos, w, 1.0], [a, 10 * cos, w, w]
    return given | {"Y": (Y, *wrong), "tau": (tau, tau - c * sign, tau - 2 * c * sign, tau - mr * 9 * cos)}


@make
def base_parameters(random: Random) -> Drawn:
    m, r, I = draw(random, 2, 4, 5), draw(random, 0.2, 0.3, 0.5), draw(random, 0.1, 0.2, 0.4)
    N, rotor = draw(random, 50, 100), draw(random, 1, 2, 4)
    vertical, dry = draw(random, True, False), draw(random, True, False)
    J, reflected = I + m * r * r, N * N * rotor * 1e-4
    given = {"m": m, "r": r, "I": I, "N": N, "rotor": rotor, "link": J, "reflected": reflected, "vertical": vertical}
    given |= {"dry": dry}
    words = {
        "plane": "vertical" if vertical else "horizontal",
        "friction": "viscous and dry" if dry else "viscous",
        "columns": r"$\ddot q$" + (r", $g\cos q$" * vertical) + r", $\dot q$" + (r", $\operatorname{sgn}\dot q$" * dry),
    }
    return {**given, **words} | {
        "J": (J + reflected, J, I + reflected, J + N * rotor * 1e-4),
        "count": (2.0 + vertical + dry, 5.0 + vertical + dry, 1.0),
        "moment": ("yes", "no") if vertical else ("no", "yes"),
        "mass": ("no", "yes"),
    }
