"""What the letters of the notes mean, for the formulas about any arm: worlds of arrays and functions of the state.

What a formula defines is computed here in another way than the formula does: by the library's kernels, from a
decomposition, from a linear system. "c#3" is c with three indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.identification.fit.regressor import from_matrix
from notes.algebra import State, derivative

N = 3
World = dict[str, Any]


def column(x: Any) -> np.ndarray:
    return np.reshape(np.asarray(x, dtype=float), (-1, 1))


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.4, 1.4, shape)


def positive(n: int, seed: int = 0) -> np.ndarray:
    A = some(n, n, seed=seed)
    return A @ A.T + np.eye(n)


def some_state(n: int = N, seed: int = 3) -> State:
    q, v, a = np.random.default_rng(seed).uniform(0.3, 1.2, (3, n, 1))
    return State(q, v, a)


@cache
def robot() -> dl.Robot:
    return dl.load("elbow-3r")


def at(f: Callable[..., Any], *what: str, standing: bool = True) -> Callable[[State], Any]:
    """A method of the robot as a function of the state; vectors are columns."""

    def value(s: State) -> Any:
        x = np.asarray(f(*(getattr(s, w)[:, 0] for w in what)))
        return column(x) if x.ndim == 1 and standing else x

    return value


def solved(s: State, force: np.ndarray) -> np.ndarray:
    """q̈ under generalized forces."""
    return np.linalg.solve(robot().mass_matrix(s.q[:, 0]), force - column(robot().bias_torque(s.q[:, 0], s.v[:, 0])))


def arm() -> World:
    """An arm without a load, in all the letters that the notes have for it."""
    r = robot()
    M, C = at(r.mass_matrix, "q"), at(r.coriolis_matrix, "q", "v")
    g, c, h = at(r.gravity_torque, "q"), at(r.coriolis_torque, "q", "v"), at(r.bias_torque, "q", "v")
    P, K, tau = at(r.potential_energy, "q"), at(r.kinetic_energy, "q", "v"), at(r.inverse_dynamics, "q", "v", "a")
    gamma, Mdot = at(r.christoffel, "q"), at(r.mass_matrix_dot, "q", "v")
    names: World = {"M": M, "D": M, "d": M, "m": M, "C": C, "g": g, "G": g, "phi": g, "c": c, "h": h, "P": P, "K": K}
    for x in ("q", "theta"):
        names |= {x: lambda s: s.q, x + "'": lambda s: s.v, x + "''": lambda s: s.a}
    names |= {"L": lambda s: K(s) - P(s), "H": lambda s: K(s) + P(s), "I_n": np.eye(N), "I": np.eye(N), "tau": tau}
    names |= {
        "Gamma": gamma,
        "c#3": gamma,
        "c#2": C,
        "n": lambda s: Mdot(s) - 2 * C(s),
        "N": lambda s: Mdot(s) - 2 * C(s),
    }
    names |= {
        "S": lambda s: Mdot(s) - 2 * C(s),
        "psi": lambda s: tau(s) - g(s),
        "J": lambda s: r.jacobian(s.q[:, 0])[:3],
    }
    names |= {"Y": at(r.regressor, "q", "v", "a"), "pi": column(r.parameters()), "y": lambda s: s.q, "x": lambda s: s.q}
    names["U"] = lambda s: np.vstack([s.v.T @ by(M, s, k) for k in range(N)])
    return names


def by(f: Callable[[State], Any], s: State, k: int) -> Any:
    """∂f/∂q_k."""
    unit = np.eye(N)[:, [k]]
    return derivative(lambda t: f(State(s.q + t * unit, s.v, s.a)))


def loaded() -> World:
    """The arm with a wrench at its tip, friction and a disturbance against the motors."""
    w = arm()
    F, Fv, Fs, off = column([3.0, -2.0, 4.0]), np.diag(some(N, seed=1)), np.diag(some(N, seed=2)), some(N, 1, seed=4)
    free = w["tau"]
    w |= {
        "F_tip": F,
        "F_v": Fv,
        "F_s": Fs,
        "f_v": lambda s: Fv @ s.v,
        "f_s": lambda s: Fs @ np.sign(s.v),
        "tau_dist": off,
    }
    w["tau"] = lambda s: free(s) + w["J"](s).T @ F
    w["b"] = lambda s: column(robot().bias_torque(s.q[:, 0], s.v[:, 0])) + w["J"](s).T @ F
    return w


def rubbing() -> World:
    w = loaded()
    held = w["tau"]
    return w | {"tau": lambda s: held(s) + w["F_v"] @ s.v + w["F_s"] @ np.sign(s.v)}


def disturbed() -> World:
    w = rubbing()
    held = w["tau"]
    return w | {"tau": lambda s: held(s) + w["tau_dist"]}


def rubbing_regressor() -> World:
    """Friction coefficients beside the inertial parameters."""
    w = arm()
    free, Y = w["tau"], w["Y"]
    Fv, Fs = some(N, seed=1), some(N, seed=2)
    w |= {"F_v": np.diag(Fv), "F_s": np.diag(Fs), "pi": np.vstack([w["pi"], column(Fv), column(Fs)])}
    w["tau"] = lambda s: free(s) + w["F_v"] @ s.v + w["F_s"] @ np.sign(s.v)
    w["Y"] = lambda s: np.hstack([Y(s), np.diagflat(s.v), np.diagflat(np.sign(s.v))])
    return w


def damped() -> World:
    """A force on the tip that works with the motors, and damping."""
    w = arm()
    B, F, free = positive(N, 5), column([3.0, -2.0, 4.0]), w["tau"]
    w |= {"B": B, "F_ext": F, "tau": lambda s: free(s) - w["J"](s).T @ F + B @ s.v}
    return w


def links() -> World:
    """Each link's mass, inertia and Jacobians."""
    w, r = arm(), robot()
    bodies = r.model.bodies
    J = [at(lambda q, b=b: r.com_jacobian(q, b), "q") for b in r.bodies]
    R = [at(lambda q, b=b: r.fk(q, b)[:3, :3], "q") for b in r.bodies]
    m = np.array([float(b.inertia.mass) for b in bodies])
    return w | {
        "m": m,
        "J_v": lambda s: np.array([x(s)[:3] for x in J]),
        "R": lambda s: np.array([x(s) for x in R]),
        "bodies": J,
    }


def task() -> World:
    """The arm's equation of motion as its tip feels it."""
    w, r = loaded(), robot()
    J, M = w["J"], w["M"]
    still = lambda s: State(s.q, s.v, -np.linalg.solve(J(s), (r.jacobian_dot(s.q[:, 0], s.v[:, 0])[:3] @ s.v)))  # noqa: E731
    w["V"] = w["v"] = w["x'"] = lambda s: J(s) @ s.v
    w["J_a"] = J
    w["M_C"] = w["M_c"] = lambda s: np.linalg.inv(J(s) @ np.linalg.solve(M(s), J(s).T))
    w["g_C"] = lambda s: np.linalg.solve(J(s).T, w["g"](s))
    w["c_C"] = w["c_c"] = lambda s: np.linalg.solve(J(s).T, arm()["tau"](still(s)) - w["g"](s))
    w["h_C"] = lambda s: w["c_C"](s) + w["g_C"](s)
    w["C_C"] = lambda s: (
        np.linalg.solve(J(s).T, w["C"](s) - M(s) @ np.linalg.solve(J(s), rate(J, s))) @ np.linalg.inv(J(s))
    )
    w["F"] = lambda s: np.linalg.solve(J(s).T, w["tau"](s))
    return w


def rate(f: Callable[[State], Any], s: State) -> Any:
    return derivative(lambda t: f(s.later(t)))


def unloaded_task() -> World:
    w = task()
    return w | {"F": lambda s: np.linalg.solve(w["J"](s).T, arm()["tau"](s))}


def constrained() -> tuple[World, State]:
    """The arm with its tip held in the plane z = const, under some torques: λ and q̈ from one linear system."""
    w, s = arm(), some_state()
    A = lambda s: w["J"](s)[[2]]  # noqa: E731
    tau = column([5.0, 40.0, 12.0])
    null = np.linalg.svd(A(s))[2][1:].T
    s = State(s.q, null @ (null.T @ s.v), s.a)
    M, h = w["M"](s), w["h"](s)
    full = np.block([[M, A(s).T], [A(s), np.zeros((1, 1))]])
    found = np.linalg.solve(full, np.vstack([tau - h, -rate(A, s) @ s.v]))
    s = State(s.q, s.v, found[:N])
    split = np.linalg.inv(np.hstack([M @ null, A(s).T]))
    P = np.hstack([M @ null, np.zeros((N, 1))]) @ split  # keeps M·null, loses Aᵀ
    there = np.hstack([null, np.zeros((N, 1))]) @ np.linalg.inv(np.hstack([null, np.linalg.solve(M, A(s).T)]))
    load = np.linalg.solve(w["J"](s).T, A(s).T @ found[N:])
    w |= {
        "A": A,
        "tau": tau,
        "lambda": found[N:],
        "P": P,
        "P_theta''": there,
        "tau_con": A(s).T @ found[N:],
        "F_tip": load,
    }
    return w | {"P_ddottheta": there, "0": 0.0}, s


def redundant() -> World:
    """The wide Jacobian of a planar arm, a velocity of its tip, its singular values (J = U Σ V)."""
    arm, xi = dl.load("planar-3r"), some(2, 1, seed=8)
    q = some(3, seed=7)
    J = arm.jacobian(q)[:2]
    U, sigma, _ = np.linalg.svd(J)
    rates = arm.inverse_velocity(q, xi[:, 0], rows=["vx", "vy"]).qd
    return {
        "J": J,
        "xi": xi,
        "U": U,
        "w": U.T @ xi,
        "sigma": sigma,
        "Sigma_m": np.diag(sigma),
        "q'": column(rates),
        "b": some(3, 1),
        "#m": 2,
        "I": np.eye(3),
    }


def work() -> World:
    """Virtual displacements of an arm in balance with a force at its tip."""
    w = arm()
    F, dq = column([3.0, -2.0, 4.0]), some(N, 1, seed=11)
    return w | {
        "F": F,
        "δq": dq,
        "δX": lambda s: w["J"](s) @ dq,
        "tau": some(N, 1, seed=12),
        "δw": lambda s: F.T @ w["J"](s) @ dq - some(N, 1, seed=12).T @ dq,
    }


def balanced() -> World:
    w = work()
    return w | {"tau": lambda s: column(robot().static_torque(s.q[:, 0], {robot().tip: -np.r_[w["F"][:, 0], 0, 0, 0]}))}


def particles() -> World:
    """k = 4 particles whose positions are functions of n = 3 coordinates, for d'Alembert's principle."""
    m = some(4, seed=13)
    A, B = some(4, 3, N, seed=14), some(4, 3, N, seed=15)

    def r(s: State) -> np.ndarray:
        return np.array([A[i] @ np.sin(s.q) + B[i] @ (s.q * s.q[::-1]) for i in range(4)])

    dq, f = some(N, 1, seed=16), some(4, 3, 1, seed=17)
    v = lambda s: rate(r, s)  # noqa: E731
    by_q = lambda s: np.array([by(r, s, j) for j in range(N)])  # noqa: E731
    K = lambda s: sum(m[i] * float((v(s)[i] ** 2).sum()) for i in range(4)) / 2  # noqa: E731
    w = arm() | {
        "m": m,
        "r": r,
        "v": v,
        "δq": dq,
        "δr": lambda s: np.einsum("jixo,jo->ix", by_q(s), dq)[:, :, None],
        "f": f,
        "K": K,
    }
    w["psi"] = lambda s: np.array([[sum((f[i].T @ by_q(s)[j, i]).item() for i in range(4))] for j in range(N)])
    return w | {"#k": 4, "r#1": r}


def servo(law: str) -> tuple[World, State]:
    """A robot under a controller: q̈ is what the law makes of it. The motion that is wanted is q_d(t)."""
    w, s = arm(), some_state()
    Kp, Kd = np.diag(some(N, seed=21)), np.diag(some(N, seed=22))
    wanted = State(*np.random.default_rng(5).uniform(0.2, 1.0, (3, N, 1)))
    r = robot()
    if law == "regulation":
        wanted = State(wanted.q, 0 * wanted.q, 0 * wanted.q)
    e, ed = wanted.q - s.q, wanted.v - s.v
    feed = column(r.inverse_dynamics(wanted.q[:, 0], wanted.v[:, 0], wanted.a[:, 0]))
    aim = wanted.a + Kp @ e + Kd @ ed
    u = {
        "pd": w["g"](s) + Kp @ e + Kd @ ed,
        "regulation": w["g"](s) + Kp @ e + Kd @ ed,
        "computed torque": w["tau"](State(s.q, s.v, aim)),
        "feedforward": feed + Kp @ e + Kd @ ed,
    }[law]
    s = State(s.q, s.v, solved(s, u))
    there = {"D@d": w["M"](wanted), "C@d": w["C"](wanted), "G@d": w["g"](wanted)}
    w |= {
        "u": u,
        "tau": u,
        "K_p": Kp,
        "K_d": Kd,
        "K_P": Kp,
        "K_D": Kd,
        "e": e,
        "e'": ed,
        "e''": wanted.a - s.a,
        "w": aim,
        "tau_ff": feed,
    }
    return w | there | {"q_d": wanted.q, "q_d'": wanted.v, "q_d''": wanted.a, "0": 0.0}, s


def geared() -> tuple[World, State]:
    """Motors behind gears: rotor inertia, damping, and what the voltages make."""
    w, s = arm(), some_state()
    ratio, Jm, Bm, um = (
        np.diag(20 * some(N, seed=31)),
        np.diag(some(N, seed=32)),
        np.diag(some(N, seed=33)),
        30 * some(N, 1, seed=34),
    )
    # the rotors' balance at the joint: N um = (D + N² J) q̈ + (C + N² B) q̇ + G
    heavy = w["M"](s) + ratio @ ratio @ Jm
    s = State(s.q, s.v, np.linalg.solve(heavy, ratio @ um - (w["h"](s) + ratio @ ratio @ Bm @ s.v)))
    return w | {"N": ratio, "J_m": Jm, "B_m": Bm, "u_m": um, "u": w["tau"]}, s


def samples() -> World:
    """The columns of the base parameters in the regressors of some states, these parameters, and the torques."""
    r = robot()
    motion = np.random.default_rng(41).uniform(-1, 1, (3, 20, N))
    Y = np.concatenate(r.regressor(*motion))
    base = from_matrix(Y, tuple(r.parameter_names()), 1e-9)
    tau = np.concatenate(r.inverse_dynamics(*motion))
    return {"Y~": Y[:, base.kept], "pi": column(base.of(r.parameters())), "tau~": column(tau)}


WORLDS: dict[str, Callable[[], World | tuple[World, State]]] = {
    "arm": arm,
    "arm with a load": loaded,
    "arm with friction": rubbing,
    "arm with friction and a disturbance": disturbed,
    "regressor with friction": rubbing_regressor,
    "arm with damping": damped,
    "links": links,
    "task space": task,
    "task space without a load": unloaded_task,
    "constrained": constrained,
    "redundant": redundant,
    "virtual work": work,
    "balance": balanced,
    "particles": particles,
    "PD with gravity": lambda: servo("pd"),
    "regulation": lambda: servo("regulation"),
    "computed torque": lambda: servo("computed torque"),
    "feedforward": lambda: servo("feedforward"),
    "geared": geared,
    "samples": samples,
}


@cache
def world(name: str) -> tuple[World, State]:
    made = WORLDS[name]()
    return made if isinstance(made, tuple) else (made, some_state())
