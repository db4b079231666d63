"""Singularities, statics, velocity, properties, constraints and task space, solved another way than the families do:
Jacobians by differences of positions, SymPy, least squares, general formulas in place of those for one posture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

Values = Mapping[str, Any]
ARM = sp.symbols("q1 q2 q3 l1 l2 l3 r h theta", real=True)
q1, q2, q3, l1, l2, l3, r, h, theta = ARM


def tip(q: list[float], lengths: list[float]) -> np.ndarray:
    angles = np.cumsum(q)
    return np.array([np.dot(lengths, np.cos(angles)), np.dot(lengths, np.sin(angles)), angles[-1]])


def jacobian(q: list[float], lengths: list[float]) -> np.ndarray:
    """Of the tip's position and angle, (3, n), by complex steps: exact to the last digits."""
    moved = (np.array(q, complex) + 1e-30j * row for row in np.eye(len(q)))
    return np.array([tip(list(x), lengths).imag / 1e-30 for x in moved]).T


@cache
def determinant_2r() -> sp.Expr:
    tip = sp.Matrix([l1 * sp.cos(q1) + l2 * sp.cos(q1 + q2), l1 * sp.sin(q1) + l2 * sp.sin(q1 + q2)])
    return tip.jacobian([q1, q2]).det()


def singular_2r(v: Values) -> dict[str, Any]:
    value = np.linalg.det(jacobian([0.3, np.radians(v["q2"])], [v["l1"], v["l2"]])[:2])
    return {"det": determinant_2r(), "value": value, "posture": "straight or folded"}


@cache
def cylindrical(beyond: str, beside: str) -> tuple[sp.Expr, sp.Expr, int]:
    """Determinant, where it is zero, and the rank there."""
    reach, side = r + sp.Rational(beyond), sp.Rational(beside)
    place = [reach * sp.cos(theta) - side * sp.sin(theta), reach * sp.sin(theta) + side * sp.cos(theta), h]
    J = sp.Matrix(place).jacobian([theta, h, r])
    det = sp.simplify(J.det())
    (zero,) = sp.solve(det, r)
    return det, zero, J.subs({r: zero, theta: sp.atan2(3, 4)}).rank()


def singular_rpp(v: Values) -> dict[str, Any]:
    det, zero, rank = cylindrical(str(v["a"]), str(v["e"]))
    return {"det": det, "value": float(det.subs(r, v["r"])), "r_singular": float(zero), "rank": rank}


def singular_3r(v: Values) -> dict[str, Any]:
    lengths = [v["l1"], v["l2"], v["l3"]]
    at = [jacobian([0.4, *np.radians(q)], lengths) for q in ((v["q2"], v["q3"]), (0, v["q3"]), (0, 180))]
    ranks = [np.linalg.matrix_rank(J, tol=1e-6) for J in (at[1], at[1][:2], at[2][:2])]
    return dict(zip(("det", "rank_all", "rank_place", "rank_line"), (np.linalg.det(at[0]), *ranks), strict=True))


def arm_jacobian(v: Values) -> np.ndarray:
    first, whole = np.arctan2(v["s1"], v["c1"]), np.radians(float(v["angle"].rstrip("°")))
    return jacobian([first, whole - first], [v["l1"], v["l2"]])[:2]


def static_torque(v: Values) -> dict[str, Any]:
    J = arm_jacobian(v)
    return {"J": J, "tau": [np.dot(v["F"], column) for column in J.T]}


def held_force(v: Values) -> dict[str, Any]:
    F = np.linalg.lstsq(v["J"].T, v["tau"])[0]
    return {"F": F, "work": 1000 * F @ v["J"] @ [0.01, 0.02]}


def singular_force(v: Values) -> dict[str, Any]:
    J = jacobian([np.arctan2(v["s"], v["c"]), 0.0], [v["l1"], v["l2"]])[:2]
    left, sizes, _ = np.linalg.svd(J)
    assert sizes[1] < 1e-6
    free = left[:, 1] * np.sign(left[:, 1] @ [v["c"], v["s"]])
    np.testing.assert_allclose(free, [v["c"], v["s"]], atol=1e-6)
    return {"free": "along the arm", "carried": free @ v["F"], "tau": J.T @ v["F"]}


def scissor_lift(v: Values) -> dict[str, Any]:
    def ends(angle: float) -> np.ndarray:
        return np.array([v["l"] * np.cos(angle), v["n"] * v["l"] * np.sin(angle)])

    angle = np.arctan(v["tan"])
    dx, dy = ends(angle + 1e-6) - ends(angle - 1e-6)
    return {"rise": -dy / dx, "F": -v["W"] * dy / dx}


def manipulability(v: Values) -> dict[str, Any]:
    angles = np.radians(np.arange(0, 181, 15))
    sizes = [np.linalg.svd(jacobian([0.2, a], [v["l1"], v["l2"]])[:2], compute_uv=False).prod() for a in angles]
    mu = np.linalg.svd(jacobian([0.2, np.radians(v["q2"])], [v["l1"], v["l2"]])[:2], compute_uv=False).prod()
    return {"mu": mu, "best": 15 * np.argmax(sizes), "most": max(sizes)}


def ellipsoid(v: Values) -> dict[str, Any]:
    squares, axes = np.linalg.eigh(v["J"] @ v["J"].T)
    small, large = np.sqrt(squares)
    force = 1 / np.linalg.norm(v["J"].T @ axes[:, 1])
    return {
        "a_max": large,
        "a_min": small,
        "mu": abs(np.linalg.det(v["J"])),
        "kappa": np.linalg.cond(v["J"]),
        "f": force,
    }


def inverse_velocity(v: Values) -> dict[str, Any]:
    J = arm_jacobian(v)
    return {"det": np.linalg.det(J), "qd": np.linalg.lstsq(J, v["v"])[0]}


def damped_velocity(v: Values) -> dict[str, Any]:
    J = np.diag(v["sigma"])
    tall = np.vstack([J, v["damping"] * np.eye(2)])  # min |J q̇ − v|² + λ²|q̇|²
    qd = np.linalg.lstsq(tall, np.append(v["v"], [0.0, 0.0]))[0]
    missing = 1 - (J @ qd)[1] / v["v"][1]
    return {"plain": np.linalg.solve(J, v["v"])[1], "qd": qd, "lost": 100 * missing}


def redundant_velocity(v: Values) -> dict[str, Any]:
    J = np.asarray(v["J"])
    qd = np.linalg.lstsq(J, [v["v"]])[0]
    basis = np.array(sp.Matrix(J.astype(int)).nullspace(), dtype=float).reshape(2, 3).T
    null = basis @ np.linalg.lstsq(basis, v["wish"])[0]
    shift = np.linalg.lstsq(J, [v["v"] - J[0] @ v["wish"]])[0]
    return {"qd": qd, "null": null, "whole": v["wish"] + shift}


def skew_symmetry(v: Values) -> dict[str, Any]:
    """Christoffel's symbols by SymPy."""
    q, rates = sp.symbols("q1 q2", real=True), sp.symbols("qd1 qd2", real=True)
    M = sp.Matrix([[sp.sympify(entry.replace("^", "**"), {"q2": q[1]}) for entry in row] for row in v["M"]])
    C = sp.zeros(2)
    for i, j in np.ndindex(2, 2):
        terms = (sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i]) for k in range(2))
        C[i, j] = sum(t * w for t, w in zip(terms, rates, strict=True)) / 2
    rate = M.applyfunc(lambda x: sum(sp.diff(x, a) * b for a, b in zip(q, rates, strict=True)))
    assert (rate - 2 * C + (rate - 2 * C).T).is_zero_matrix
    return {"rate": rate, "C": C}


def energy_balance(v: Values) -> dict[str, Any]:
    """By forward dynamics and a small step of time."""
    friction = v["b"] * v["w"] + v["c"] * np.sign(v["w"])
    qdd = (v["tau"] - friction - v["load"]) / v["J"]
    step = 1e-6
    before, after = (v["J"] * (v["w"] + qdd * t) ** 2 / 2 + v["load"] * v["w"] * t for t in (-step, step))
    return {"power": v["tau"] * v["w"], "losses": friction * v["w"], "rate": (after - before) / (2 * step), "qdd": qdd}


def point_mass_matrix(v: Values, angles: list[float]) -> np.ndarray:
    """Sum of m JᵀJ of the masses at the ends of both links."""
    near, far = (jacobian(angles, lengths)[:2] for lengths in ([v["l1"], 0.0], [v["l1"], v["l2"]]))
    return v["m1"] * near.T @ near + v["m2"] * far.T @ far


def mass_bounds(v: Values) -> dict[str, Any]:
    every = [point_mass_matrix(v, [0.3, a]) for a in np.radians(np.arange(0, 181, 15))]
    tops, dets = [M[0, 0] for M in every], [np.linalg.det(M) for M in every]
    return {"most": max(tops), "least": min(tops), "det_least": min(dets), "q2": 15 * np.argmax(dets)}


def regressor(v: Values) -> dict[str, Any]:
    """The columns of a linear function are its values at unit parameters."""

    def torque(J: float, mr: float, viscous: float, dry: float) -> float:
        w = v["w"]
        return J * v["a"] + mr * 10 * np.cos(np.radians(v["angle"])) + viscous * w + dry * (1 if w > 0 else -1)

    return {"Y": [torque(*row) for row in np.eye(4)], "tau": torque(*v["pi"])}


def base_parameters(v: Values) -> dict[str, Any]:
    """The rank of the regressor of all single parameters (I, m r², N² J_m, m r, F_v, F_c) over random motions."""
    random = np.random.default_rng(1)
    q, w, a = random.normal(size=(3, 40))
    gravity = np.cos(q) * (v["plane"] == "vertical")
    Y = np.stack([a, a, a, gravity, w, np.sign(w) * ("dry" in v["friction"])], axis=1)
    inertia = v["I"] + v["m"] * v["r"] ** 2 + v["N"] ** 2 * v["rotor"] * 1e-4
    found = "yes" if gravity.any() else "no"
    return {"J": inertia, "count": np.linalg.matrix_rank(Y), "moment": found, "mass": "no"}


def freedoms(v: Values) -> dict[str, Any]:
    """Rank of the constraints at a random place; integrable if their null space is closed under Lie brackets."""
    out: dict[str, Any] = {}
    for letter in "ab":
        n, k, whole = examine(next(key for key in CONSTRAINTS if v[f"words_{letter}"].startswith(key)))
        assert (n, k) == (v[f"n_{letter}"], v[f"k_{letter}"])
        out |= {f"freedoms_{letter}": n - k, f"kind_{letter}": "holonomic" if whole else "nonholonomic"}
        out[f"places_{letter}"] = n - k if whole else n
    return out


def integrable(rows: list[list[sp.Expr]], coordinates: tuple[sp.Symbol, ...]) -> tuple[int, int, bool]:
    """(n, k, whether all Lie brackets of the allowed velocities are allowed): Frobenius."""
    A, q = sp.Matrix(rows), sp.Matrix(coordinates)
    place = {x: sp.Rational(2 * k + 3, 7) for k, x in enumerate(coordinates)}
    fields = A.nullspace()
    brackets = (b.jacobian(q) * a - a.jacobian(q) * b for a in fields for b in fields)
    forbidden = [(A * b).subs(place).evalf() for b in brackets]
    return len(q), int(A.subs(place).evalf().rank()), all(abs(x) < 1e-9 for b in forbidden for x in b)


x, y, z, a, b, c = sp.symbols("x y z a b c", real=True)
CONSTRAINTS: dict[str, Callable[[], tuple[int, int, bool]]] = {
    "a disk that rolls upright": lambda: integrable([[1, -2]], (x, a)),
    "a skate": lambda: integrable([[sp.sin(a), -sp.cos(a), 0]], (x, y, a)),
    "an upright disk": lambda: integrable([[1, 0, 0, -2 * sp.cos(a)], [0, 1, 0, -2 * sp.sin(a)]], (x, y, a, b)),
    "a planar 2R": lambda: integrable([[sp.sin(a) + sp.sin(a + b), sp.sin(a + b)]], (a, b)),
    "a planar 3R": lambda: integrable(
        [
            [sp.diff(f(a) + f(a + b) + f(a + b + c), s) for s in (a, b, c)]
            for f in (sp.cos, sp.sin)
        ],
        (a, b, c),
    ),
    "a bead": lambda: integrable([[-2 * x, 1, 0], [-3 * x**2, 0, 1]], (x, y, z)),
    "a car": lambda: integrable(
        [
            [sp.sin(a), -sp.cos(a), 0, 0],
            [sp.sin(a + b), -sp.cos(a + b), -3 * sp.cos(b), 0],
        ],
        (x, y, a, b),
    ),
    "a nut": lambda: integrable([[1, -2]], (x, a)),
}  # fmt: skip


@cache
def examine(key: str) -> tuple[int, int, bool]:
    return CONSTRAINTS[key]()


def bead(v: Values) -> dict[str, Any]:
    """The saddle-point system of the acceleration and the multiplier, solved at once."""
    slope, m = v["k"] * v["x"], v["m"]
    A = np.array([[-slope, 1.0]])
    system = np.block([[m * np.eye(2), A.T], [A, np.zeros((1, 1))]])
    ax, _, lam = np.linalg.solve(system, [0.0, -10 * m, v["k"] * v["v"] ** 2])
    return {"lam": lam, "xdd": ax, "N": np.linalg.norm(A.T * lam)}


def channel(v: Values) -> dict[str, Any]:
    """The same, with M, h, A and its rate from the kinematics by differences."""
    first = -np.arctan2(v["s"], v["c"])
    q, w = np.array([first, -2 * first]), np.array([v["w"], 0.0])
    both = {"l1": v["L"], "l2": v["L"], "m1": v["m1"], "m2": v["m2"]}
    step = 1e-5
    M = point_mass_matrix(both, list(q))
    slopes = [
        (point_mass_matrix(both, list(q + d)) - point_mass_matrix(both, list(q - d))) / (2 * step)
        for d in step * np.eye(2)
    ]
    rate = sum(s * x for s, x in zip(slopes, w, strict=True))
    h = rate @ w - np.array([w @ s @ w for s in slopes]) / 2
    rows = [jacobian(list(q + t * w), [v["L"]] * 2)[:1] for t in (-step, 0.0, step)]
    drift = (rows[2] - rows[0]) @ w / (2 * step)
    system = np.block([[M, rows[1].T], [rows[1], np.zeros((1, 1))]])
    *qdd, lam = np.linalg.solve(system, [*(v["tau"] - h), -drift[0]])
    left = [np.linalg.solve(system, [*tau, 0.0])[2] for tau in np.eye(2)]  # λ for each torque alone
    return {"qdd1": qdd[0], "qdd2": qdd[1], "lam": lam, "P": np.eye(2) - np.outer(rows[1][0], left)}


def task_mass(v: Values) -> dict[str, Any]:
    first, out = np.arctan2(v["s"], v["c"]), []
    for side in (-1, 1):
        q = [side * first, -side * np.pi / 2]
        J, M = jacobian(q, [v["l1"], v["l2"]])[:2], point_mass_matrix(v, q)
        np.testing.assert_allclose(tip(q, [v["l1"], v["l2"]])[:2], [v["reach"], 0], atol=1e-9)
        out.append(np.linalg.inv(J @ np.linalg.inv(M) @ J.T))
    pushed = np.linalg.solve(out[0], [1.0, 0.0])
    return {"felt": out[0], "up": out[1], "m_x": 1 / pushed[0]}


def effective_mass(v: Values) -> dict[str, Any]:
    a = np.linalg.solve(np.linalg.inv(v["inverse"]), v["F"] * v["u"])
    return {"a": a, "m": v["F"] / (a @ v["u"])}


SOLVE = {
    f.__name__.replace("_", "-"): f
    for f in (
        singular_2r, singular_rpp, singular_3r, static_torque, held_force, singular_force, scissor_lift, manipulability,
        ellipsoid, inverse_velocity, damped_velocity, redundant_velocity, skew_symmetry, energy_balance, mass_bounds,
        regressor, base_parameters, freedoms, bead, channel, task_mass, effective_mass,
    )
}  # fmt: skip
