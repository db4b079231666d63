"""Actuators, identification, second-order systems, tuning and tracking, solved another way than the families do:
roots of polynomials, integration over time, python-control, optimization."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import brentq, minimize_scalar

import control

Values = Mapping[str, Any]


def damping(v: Values) -> dict[str, Any]:
    s1, s2 = np.roots([v["m"], v["b"], v["k"]])
    omega, zeta = np.sqrt(s1 * s2).real, (-(s1 + s2) / 2 / np.sqrt(s1 * s2)).real
    kinds = {1: "overdamped", 0: "critically damped", -1: "underdamped"}
    return {"omega": omega, "zeta": zeta, "kind": kinds[int(np.sign(round(v["b"] ** 2 - 4 * v["m"] * v["k"], 9)))]}


def state_space(v: Values) -> dict[str, Any]:
    """A is the rate of each unit state, its poles those of the transfer function."""

    def rate(x: float, w: float, u: float) -> list[float]:
        return [w, (u - v["b"] * w - v["k"] * x) / v["m"]]

    A = np.array([rate(1, 0, 0), rate(0, 1, 0)]).T
    poles = control.tf([1], [v["m"], v["b"], v["k"]]).poles().real
    return {"A": A, "B": rate(0, 0, 1), "s1": max(poles)}


@cache
def step_shape(zeta: float) -> tuple[float, float]:
    """Overshoot and time of the first peak of 1/(s² + 2ζs + 1), by simulation."""
    t = np.linspace(0, 12, 24001)
    _, y = control.step_response(control.tf([1], [1, 2 * zeta, 1]), t)
    return float(y.max() - 1), float(t[y.argmax()])


def overshoot(v: Values) -> dict[str, Any]:
    pole = max(np.roots([v["m"], v["b"], v["k"]]), key=lambda s: s.imag)
    more, late = step_shape(round(-pole.real / abs(pole), 9))
    return {"w_d": pole.imag, "t_p": late / abs(pole), "M_p": 100 * more, "t_s": -4 / pole.real}


def critical_gains(v: Values) -> dict[str, Any]:
    """The closed loop must be m (s + ω)² with m ω² = k′."""
    _, b, k = v["m"] * np.poly([-np.sqrt(v["wanted"] / v["m"])] * 2)
    return {"k_p": k - v["k"], "k_v": b - v["b"]}


def partition(v: Values) -> dict[str, Any]:
    """The force that makes the error's acceleration −k_v ė − k_p e."""
    _, k_v, _ = np.poly([-np.sqrt(v["k_p"])] * 2)
    a = v["ad"] + k_v * v["ed"] + v["k_p"] * v["e"]
    f = v["m"] * a + v["b"] * v["v"] + v["k"] * v["x"]
    np.testing.assert_allclose((v["e"], v["ed"]), (v["xd"] - v["x"], v["vd"] - v["v"]))
    return {"k_v": k_v, "servo": a, "beta": f - v["m"] * a, "f": f}


def disturbance(v: Values) -> dict[str, Any]:
    e = control.dcgain(control.tf([1], [1, v["k_v"], v["k_p"]])) * v["f"] / v["m"]
    rest = control.dcgain(control.tf([1, 0], [1, v["k_v"], v["k_p"], 0.1 * v["k_p"]]))
    margin, *_ = control.margin(control.tf([1], [1, v["k_v"], v["k_p"], 0]))
    return {"e": 1000 * e, "e_i": "zero" if abs(rest) < 1e-12 else "the same", "k_i": margin}


def reflected_inertia(v: Values) -> dict[str, Any]:
    """From the kinetic energy at unit speed, and the power at unit speed."""
    rotor = v["J_m"] * 1e-4 * v["N"] ** 2 / 2
    energy = v["J_l"] / 2 + rotor
    return {"J": 2 * energy, "qdd": v["tau"] * v["N"] / (2 * energy), "part": 100 * rotor / energy}


def best_gear(v: Values) -> dict[str, Any]:
    def slow(N: float) -> float:
        return -N * v["tau"] / (v["J_l"] + N * N * v["J_m"] * 1e-4)

    found = minimize_scalar(slow, bounds=(1, 1000), method="bounded", options={"xatol": 1e-6})
    return {"N": found.x, "qdd": -found.fun, "ratio": 100 * slow(v["N_other"]) / found.fun}


def dc_motor(v: Values) -> dict[str, Any]:
    def torque(w: float) -> float:
        (current,) = np.linalg.solve([[v["R"]]], [v["V"] - v["K"] * w])
        return float(v["K"] * current)

    free = brentq(torque, 0, 1e5)
    return {"stall": torque(0), "free": free, "tau": torque(v["speed"]), "damping": torque(0) - torque(1)}


def gear_friction(v: Values) -> dict[str, Any]:
    """By the power lost at the shaft."""

    def lost(speed: float, viscous: float, dry: float) -> float:
        shaft = v["N"] * speed
        return float((viscous * shaft + dry) * shaft)

    B, c, w = v["B"] * 1e-4, v["c"], v["speed"]
    return {"viscous": lost(1, B, 0), "dry": lost(1, 0, c), "tau": lost(w, B, c) / w, "power": lost(w, B, c)}


def breakaway(v: Values) -> dict[str, Any]:
    torques = np.round(np.arange(-20, 80, 0.125), 6)
    load = v["m"] * 10 * v["r"] * (1.0 if v["place"] == "horizontally" else np.cos(np.pi / 3))
    rests = torques[np.abs(torques - load) <= v["f"] + 1e-9]
    return {"up": rests.max(), "down": rests.min(), "qdd": (rests.max() - load - v["slide"]) / v["J"]}


def flexible_joint(v: Values) -> dict[str, Any]:
    K = v["k"] * np.array([[1, -1], [-1, 1]])
    squares = np.linalg.eigvals(np.diag([1 / v["J"], 1 / v["rotor"]]) @ K)
    twist = np.linalg.solve([[v["k"]]], [v["tau"]])[0]
    return {"locked": np.sqrt(K[0, 0] / v["J"]), "free": np.sqrt(max(squares)), "twist": 1000 * twist}


def least_squares(v: Values) -> dict[str, Any]:
    rows = list(zip(v["Y"], v["tau"], strict=True))
    N = sum(np.outer(y, y) for y, _ in rows)
    return {"N": N, "r": sum(y * t for y, t in rows), "pi": np.linalg.pinv(v["Y"]) @ v["tau"]}


def friction_runs(v: Values) -> dict[str, Any]:
    Y = np.array([[0, v["slow"], 1], [0, v["fast"], 1], [v["acc"], v["w"], 1]])
    J, F_v, F_c = np.linalg.solve(Y, [v["t1"], v["t2"], v["t3"]])
    return {"rank": np.linalg.matrix_rank(Y[:2]), "F_v": F_v, "F_c": F_c, "J": J}


def conditioning(v: Values) -> dict[str, Any]:
    pinv = np.linalg.pinv(v["Y"])
    scaled = brentq(lambda s: np.diff(np.diag((v["Y"] * [1, s]).T @ (v["Y"] * [1, s])))[0], 0.01, 1000)
    return {"kappa": np.linalg.cond(v["Y"]), "errors": v["noise"] * np.linalg.norm(pinv, axis=1), "times": scaled}


TABLE = {  # K_p/K_u, T_i/T_u, T_d/T_u; 0: the law has no such term
    "P": (0.5, 0, 0), "PI": (0.45, 5 / 6, 0), "PD": (0.8, 0, 0.125), "classic PID": (0.6, 0.5, 0.125),
    "Pessen integral rule": (0.7, 0.4, 0.15), "some overshoot": (1 / 3, 0.5, 1 / 3), "no overshoot": (0.2, 0.5, 1 / 3),
}  # fmt: skip


def ziegler_nichols(v: Values) -> dict[str, Any]:
    p, i, d = TABLE[v["rule"]]
    return {"K_p": p * v["K"], "K_i": p / i * v["K"] / v["T"] if i else 0.0, "K_d": p * d * v["K"] * v["T"]}


def ultimate_gain(v: Values) -> dict[str, Any]:
    plant = control.tf([v["k"]], np.poly([0, -v["a"], -v["b"]]))
    margin, _, crossing, _ = control.margin(plant)
    assert abs(max(control.feedback(margin * plant).poles().real)) < 1e-6
    T = 2 * np.pi / crossing
    return {"K_u": margin, "T_u": T, "K_p": 0.6 * margin, "K_i": 1.2 * margin / T, "K_d": 0.075 * margin * T}


def routh(v: Values) -> dict[str, Any]:
    """Routh's entries are quotients of Hurwitz determinants; unstable poles by counting roots."""
    a4, a3, a2, a1, a0 = (sp.nsimplify(x) for x in (1, v["a3"], v["a2"], v["a1"], v["a0"]))
    H = sp.Matrix([[a3, a1, 0, 0], [a4, a2, a0, 0], [0, a3, a1, 0], [0, a4, a2, a0]])
    D1, D2, D3 = (H[:k, :k].det() for k in (1, 2, 3))
    roots = np.roots([float(x) for x in (a4, a3, a2, a1, a0)])
    return {"b1": float(D2 / D1), "c1": float(D3 / D2), "unstable": int((roots.real > 0).sum())}


def root_locus(v: Values) -> dict[str, Any]:
    def poles(K: float) -> np.ndarray:
        return np.roots(np.polyadd(np.poly([-v["p"], -v["q"]]), [K]))

    leave, late = 0.0, 1e4  # the poles are real before, complex after
    for _ in range(60):
        middle = (leave + late) / 2
        leave, late = (middle, late) if np.isreal(poles(middle)).all() else (leave, middle)
    K = brentq(lambda K: max(-s.real / abs(s) for s in poles(K)) - v["zeta"], leave + 1e-3, 1e4)
    return {"s_b": poles(leave).real.mean(), "K_b": leave, "K": K}


def polynomial(order: int, conditions: list[tuple[float, int, float]]) -> np.ndarray:
    """Coefficients, rising, of the polynomial with these (time, derivative, value)."""
    t = sp.symbols("t")
    rows = [
        [sp.diff(t**k, t, d).subs(t, sp.nsimplify(at)) if d else sp.nsimplify(at) ** k for k in range(order + 1)]
        for at, d, _ in conditions
    ]
    return np.linalg.solve(np.array(rows, float), [value for *_, value in conditions])


def cubic(v: Values) -> dict[str, Any]:
    p = np.polynomial.Polynomial(polynomial(3, [(0, 0, v["start"]), (0, 1, 0), (v["T"], 0, v["end"]), (v["T"], 1, 0)]))
    return {"a2": p.coef[2], "a3": p.coef[3], "v": p.deriv()(v["T"] / 2), "a": p.deriv(2)(0)}


def quintic(v: Values) -> dict[str, Any]:
    ends = [(at, d, v["way"] if at and not d else 0) for at in (0, v["T"]) for d in range(3)]
    p = np.polynomial.Polynomial(polynomial(5, ends))
    return {"a": p.coef[3:], "v": p.deriv()(v["T"] / 2), "q": p(v["T"] / 4)}


def trapezoid(v: Values) -> dict[str, Any]:
    def distance(T: float) -> float:
        """As far as one comes in T: the area under min(v, a t, a (T − t))."""
        return float(v["a"] * T**2 / 4 if v["a"] * T / 2 <= v["v"] else v["v"] * (T - v["v"] / v["a"]))

    T, short = (brentq(lambda T, d=d: distance(T) - d, 1e-9, 1e3, xtol=1e-12) for d in (v["way"], v["short"]))
    return {"t_a": brentq(lambda t: v["a"] * t - v["v"], 0, 100), "T": T, "peak": v["a"] * short / 2, "T_short": short}


def computed_torque(v: Values) -> dict[str, Any]:
    """The torque after which the error obeys its equation, checked by forward dynamics."""
    _, k_v, k_p = np.poly([-v["omega"]] * 2)
    a = v["ad"] + k_v * v["ed"] + k_p * v["e"]
    tau = [sum(m * x for m, x in zip(row, a, strict=True)) + h for row, h in zip(v["M"], v["h"], strict=True)]
    error = v["ad"] - np.linalg.solve(v["M"], tau - v["h"])
    np.testing.assert_allclose(error + k_v * v["ed"] + k_p * v["e"], 0, atol=1e-9)
    return {"k_p": k_p, "k_v": k_v, "a": a, "tau": tau}


def gravity_error(v: Values) -> dict[str, Any]:
    def rest(k: float, part: float) -> float:
        return float(
            brentq(lambda e: k * e + part * v["m"] * 10 * v["r"] - v["m"] * 10 * v["r"], -1e3, 1e3, xtol=1e-15)
        )

    left = 1 - v["percent"] / 100
    gain = brentq(lambda k: rest(k, left) - v["goal"], 1e-2, 1e5)
    return {"e": rest(v["k"], 0), "e_g": rest(v["k"], left), "k_p": gain}


def feedforward(v: Values) -> dict[str, Any]:
    def torque(J: float, a: float) -> float:
        return float(J * a + v["b"] * v["v"] + v["mr"] * 10 * v["cos"])

    tau = torque(v["J"], v["a"])
    true = brentq(lambda a: torque(v["J"] + v["part"], a) - tau, -100, 100)
    return {"tau": tau, "a_true": true, "e_dd": v["a"] - true}


SOLVE = {
    f.__name__.replace("_", "-"): f
    for f in (
        damping, state_space, overshoot, critical_gains, partition, disturbance, reflected_inertia, best_gear, dc_motor,
        gear_friction, breakaway, flexible_joint, least_squares, friction_runs, conditioning, ziegler_nichols,
        ultimate_gain, routh, root_locus, cubic, quintic, trapezoid, computed_torque, gravity_error, feedforward,
    )
}  # fmt: skip
