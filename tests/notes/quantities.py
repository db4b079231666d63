"""What the notes' formulas about one system are compared with: the library's own quantities, and for what it has no
name (positions, velocities, norms, tables of gains) quantities computed here, by rotations and complex steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.control.tuning import ZIEGLER_NICHOLS
from dalembert.lagrange import examples
from dalembert.symbolic.compare import Quantity

Values = Mapping[str, Any]
STEP = 1e-30  # of a derivative by an imaginary part: no cancellation
ARM = ("m1", "m2", "l1", "l2", "r1", "r2", "I1", "I2", "g", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2")
POINTS = ("m1", "m2", "l1", "l2", "g", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2", "Fv1", "Fs1", "Fv2", "Fs2")
BAR = (
    *(f"{x}{k}" for x in ("m", "I", "lc") for k in (1, 2, 3, 4)),
    "l1",
    "l2",
    "g",
    "q1",
    "q2",
    "qd1",
    "qd2",
    "qdd1",
    "qdd2",
)


SPATIAL = ("position", "velocity of", "J column", "Jc")  # planar ones have two rows, or three with a zero


def quantity(name: str, value: Callable[[Values], Any], symbols: Any) -> Quantity:
    """A quantity of arrays: (P,), or nested lists of them, by rows."""
    choices: tuple[tuple[int, ...], ...] = ()

    def stacked(v: Values) -> Any:
        x = value(v)
        size = np.shape(next(iter(v.values())))
        if not isinstance(x, list):
            return np.broadcast_to(np.asarray(x), size) + np.zeros(size)
        rows = [row if isinstance(row, list) else [row] for row in x]
        if name.startswith(SPATIAL) and len(rows) == 2:
            rows = [*rows, [0] * len(rows[0])]
        full = [[np.broadcast_to(np.asarray(e), size) for e in row] for row in rows]
        grid = np.moveaxis(np.array(full, dtype=float), 2, 0)
        return np.where(abs(grid) < 1e-12 * np.nanmax(abs(grid)), 0.0, grid)  # zero but for rounding

    if name.startswith(SPATIAL):
        choices = ((0, 1),)
    known = dict(symbols) if isinstance(symbols, Mapping) else dict.fromkeys(symbols)
    return Quantity(name, stacked, known, name, rows=choices)


# ---------------------------------------------------------------------------------------------- points that move
Point = Callable[[Values], list[Any]]


def chain(*lengths: str) -> Point:
    """The end of rods in a row, each turned against the one before."""

    def place(v: Values) -> list[Any]:
        x = y = angle = 0.0
        for k, length in enumerate(lengths, 1):
            angle = angle + v[f"q{k}"]
            x, y = x + v[length] * np.cos(angle), y + v[length] * np.sin(angle)
        return [x, y]

    return place


def moved(v: Values, by: Mapping[str, Any]) -> dict[str, Any]:
    return {**v, **{k: v[k] + 1j * STEP * x for k, x in by.items()}}


def velocity(p: Point) -> Point:
    return lambda v: [np.imag(x) / STEP for x in p(moved(v, {"q1": v["qd1"], "q2": v["qd2"]}))]


def turned(*lengths: str) -> Callable[[Values], list[list[Any]]]:
    """The Jacobian of a chain's end by z × (end − joint), of any numbers: it can be stepped once more."""

    def value(v: Values) -> list[list[Any]]:
        x, y = chain(*lengths)(v)
        x1, y1 = chain(lengths[0])(v) if len(lengths) > 1 else (x, y)
        return [[-y, -(y - y1)], [x, x - x1]]

    return value


def jacobian(p: Point) -> Callable[[Values], list[list[Any]]]:
    def value(v: Values) -> list[list[Any]]:
        columns = [[np.imag(x) / STEP for x in p(moved(v, {q: 1.0}))] for q in ("q1", "q2")]
        return [list(row) for row in zip(*columns, strict=True)]

    return value


def squared(p: Point) -> Callable[[Values], Any]:
    return lambda v: sum(x * x for x in p(v))


def padded(f: Callable[[Values], list[Any]], rows: list[Any]) -> Callable[[Values], list[Any]]:
    return lambda v: [*f(v), *rows]


def planar(v: Values, k: int, length: str) -> list[list[Any]]:
    c, s = np.cos(v[f"q{k}"]), np.sin(v[f"q{k}"])
    return [[c, -s, 0, v[length] * c], [s, c, 0, v[length] * s], [0, 0, 1, 0], [0, 0, 0, 1]]


def of_points(tip: Point, elbow: Point, first: Point, second: Point) -> dict[str, Callable[[Values], Any]]:
    """Everything about positions and velocities of a planar arm of two links."""
    J = jacobian(tip)
    return {
        "position of joint 2": elbow,
        "position of the tip": tip,
        "position of link 1": first,
        "position of link 2": second,
        "velocity of link 1": velocity(first),
        "velocity of link 2": velocity(second),
        "squared velocity of link 1": squared(velocity(first)),
        "squared velocity of link 2": squared(velocity(second)),
        "xd": lambda v: velocity(tip)(v)[0],
        "yd": lambda v: velocity(tip)(v)[1],
        "J with φ": lambda v: [*J(v), [1, 1]],
        "J column 1": lambda v: [row[0] for row in J(v)],
        "J column 2": lambda v: [row[1] for row in J(v)],
        "Jc1 column 1": lambda v: [row[0] for row in jacobian(first)(v)],
        "Jc2 column 1": lambda v: [row[0] for row in jacobian(second)(v)],
        "Jc2 column 2": lambda v: [row[1] for row in jacobian(second)(v)],
        "manipulability": lambda v: abs(J(v)[0][0] * J(v)[1][1] - J(v)[0][1] * J(v)[1][0]),
        "cosine of q1": lambda v: np.cos(v["q1"]),
        "cosine of q1 + q2": lambda v: np.cos(v["q1"] + v["q2"]),
        "A1": lambda v: planar(v, 1, "l1"),
        "A2": lambda v: planar(v, 2, "l2"),
        "turning part of link 1": lambda v: [[v["I1"], 0], [0, 0]],
        "turning part of link 2": lambda v: [[v["I2"], v["I2"]], [v["I2"], v["I2"]]],
        "turning part": lambda v: [[v["I1"] + v["I2"], v["I2"]], [v["I2"], v["I2"]]],
        "Jc1": jacobian(first),
        "Jc2": jacobian(second),
        "Jw1": lambda v: [[0, 0], [0, 0], [1, 0]],
        "Jw2": lambda v: [[0, 0], [0, 0], [1, 1]],
    }


RIGID = of_points(chain("l1", "l2"), chain("l1"), chain("r1"), chain("l1", "r2"))


# --------------------------------------------------------------------------------------------- the arm of point masses
def mass_matrix(v: Values) -> list[list[Any]]:
    """Σ m JᵀJ of two points."""
    m = v["m1"], v["m2"]
    Js = turned("l1")(v), turned("l1", "l2")(v)
    return [[sum(m[k] * sum(row[i] * row[j] for row in Js[k]) for k in (0, 1)) for j in (0, 1)] for i in (0, 1)]


def slope(v: Values, k: int) -> list[list[Any]]:
    """∂M/∂q_k."""
    return [[np.imag(x) / STEP for x in row] for row in mass_matrix(moved(v, {f"q{k}": 1.0}))]


def gravity(v: Values) -> list[Any]:
    heights = [jacobian(chain("l1"))(v)[1], jacobian(chain("l1", "l2"))(v)[1]]
    return [sum(m * v["g"] * y[k] for m, y in zip((v["m1"], v["m2"]), heights, strict=True)) for k in (0, 1)]


def stretched(value: Callable[[Values], Any], **angles: float) -> Callable[[Values], Any]:
    return lambda v: value({**v, **{name: np.full_like(v["q1"], x) for name, x in angles.items()}})


def norm(rows: Callable[[Values], list[Any]]) -> Callable[[Values], Any]:
    return lambda v: sum(abs(x) for x in rows(v))


def first_column(v: Values) -> list[Any]:
    return [row[0] for row in mass_matrix(v)]


def acceleration(v: Values, which: str) -> list[Any]:
    """Of the second point at q = (0, π/2), q̈ = 0: the rate of J q̇, with one rate or both."""
    there = {**v, "q1": 0 * v["q1"], "q2": 0 * v["q2"] + np.pi / 2}

    def felt(a: float, b: float) -> Any:
        rates = a * v["qd1"], b * v["qd2"]
        J = turned("l1", "l2")(moved(there, {"q1": rates[0], "q2": rates[1]}))
        return np.array([sum(np.imag(x) / STEP * rate for x, rate in zip(row, rates, strict=True)) for row in J])

    one, two = felt(1, 0), felt(0, 1)
    parts = {"1": one, "2": two, "centripetal": one + two, "Coriolis": felt(1, 1) - one - two}
    return list(parts[which])


KMAX = lambda v: v["m2"] * v["l1"] * v["l2"]  # noqa: E731  the largest |Γ|, found by `test_fakhari_2_l472_largest_symbols`
MASSES = of_points(chain("l1", "l2"), chain("l1"), chain("l1"), chain("l1", "l2")) | {
    "centripetal acceleration of link 2 at (0, π/2)": lambda v: acceleration(v, "centripetal"),
    "Coriolis acceleration of link 2 at (0, π/2)": lambda v: acceleration(v, "Coriolis"),
    "centripetal acceleration of link 2 at (0, π/2), joint 1 alone": lambda v: acceleration(v, "1"),
    "centripetal acceleration of link 2 at (0, π/2), joint 2 alone": lambda v: acceleration(v, "2"),
    "1-norm of M": norm(first_column),
    "largest 1-norm of M": stretched(norm(first_column), q2=0.0),
    "least 1-norm of M within ±π/2": stretched(norm(first_column), q2=np.pi / 2),
    "1-norm of g": norm(gravity),
    "largest 1-norm of g": stretched(norm(gravity), q1=0.0, q2=0.0),
    "1-norm of c": lambda v: sum(abs(x) for x in velocity_terms(v)),
    "c_b in the 1-norm": KMAX,
    "c_b in the 2-norm": lambda v: 4 * KMAX(v),
    "largest |Γ₁₁₂|": KMAX,
    "largest |Γ₂₁₁|": KMAX,
    "Γ₁": lambda v: [[christoffel(v, i, j, 1) for j in (1, 2)] for i in (1, 2)],
    "U": lambda v: [[sum(slope(v, k)[i][j] * v[f"qd{i + 1}"] for i in (0, 1)) for j in (0, 1)] for k in (1, 2)],
    "C as Ṁ − U/2": lambda v: mixed(v, lambda M, U: M - U / 2),
    "C as Uᵀ − U/2": lambda v: mixed(v, lambda M, U: np.swapaxes(U, 0, 1) - U / 2),
}


PARAMETERS = ("m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2")


def torque(v: Values, k: int) -> Any:
    """τ_k with friction."""
    M = mass_matrix(v)[k - 1]
    rubbing = v[f"Fv{k}"] * v[f"qd{k}"] + v[f"Fs{k}"] * np.sign(v[f"qd{k}"])
    return M[0] * v["qdd1"] + M[1] * v["qdd2"] + velocity_terms(v)[k - 1] + gravity(v)[k - 1] + rubbing


def multiplier(k: int, name: str) -> Callable[[Values], Any]:
    """What multiplies a parameter in τ_k, which is linear in all of them."""
    none = dict.fromkeys(PARAMETERS, 0.0)
    return lambda v: torque({**v, **none, name: 1.0}, k)


MASSES |= {f"Y{k}{j}": multiplier(k, name) for k in (1, 2) for j, name in enumerate(PARAMETERS, 1)}


def christoffel(v: Values, i: int, j: int, k: int) -> Any:
    d = {n: slope(v, n) for n in (1, 2)}
    return (d[i][k - 1][j - 1] + d[j][k - 1][i - 1] - d[k][i - 1][j - 1]) / 2


def velocity_terms(v: Values) -> list[Any]:
    pairs = [(i, j) for i in (1, 2) for j in (1, 2)]
    return [sum(christoffel(v, i, j, k) * v[f"qd{i}"] * v[f"qd{j}"] for i, j in pairs) for k in (1, 2)]


def mixed(v: Values, f: Callable[[Any, Any], Any]) -> list[list[Any]]:
    size = np.shape(v["q1"])
    full = lambda A: np.array([[np.broadcast_to(x, size) for x in row] for row in A])  # noqa: E731
    rate = sum(full(slope(v, k)) * v[f"qd{k}"] for k in (1, 2))
    return [list(row) for row in f(rate, full(MASSES["U"](v)))]


# ------------------------------------------------------------------------------------------------ the five-bar linkage
def bars(v: Values, k: int) -> list[Any]:
    """The centers of mass of the parallelogram's links."""
    e = [np.array([np.cos(v[q]), np.sin(v[q])]) for q in ("q1", "q2")]
    return list(
        {
            1: v["lc1"] * e[0],
            2: v["lc2"] * e[1],
            3: v["l2"] * e[1] + v["lc3"] * e[0],
            4: v["l1"] * e[0] - v["lc4"] * e[1],
        }[k]
    )


FIVE = {f"position of link {k}": lambda v, k=k: bars(v, k) for k in (1, 2, 3, 4)}
FIVE |= {f"Jc{k}": jacobian(lambda v, k=k: bars(v, k)) for k in (1, 2, 3, 4)}
FIVE["turning part"] = lambda v: [[v["I1"] + v["I3"], 0], [0, v["I2"] + v["I4"]]]

# ------------------------------------------------------------------------------------------------- mass, spring, damper
SERVO = (
    "m",
    "b",
    "k",
    "x",
    "xd",
    "xdd",
    "s",
    "k_p",
    "k_v",
    "kprime",
    "a_dist",
    "u",
    "e",
    "ed",
    "edd",
    "eddd",
    "x_d",
    "x_ddd",
    "k_i",
)


def roots(v: Values, sign: int) -> Any:
    half = np.sqrt(v["b"] ** 2 - 4 * v["m"] * v["k"])  # not a number where it oscillates: there nothing is compared
    return (-v["b"] + sign * half) / (2 * v["m"])


CONTROL: dict[str, Callable[[Values], Any]] = {
    "pole 1": lambda v: roots(v, 1),
    "pole 2": lambda v: roots(v, -1),
    "real part of the poles": lambda v: -v["b"] / v["m"] / 2,
    "imaginary part of pole 1": lambda v: np.sqrt(v["k"] / v["m"] - (v["b"] / v["m"] / 2) ** 2),
    "damped frequency": lambda v: np.sqrt(v["k"] / v["m"] - (v["b"] / v["m"] / 2) ** 2),
    "gain k_p for a stiffness k'": lambda v: v["kprime"] - v["k"],
    "gain k_v for critical damping at k'": lambda v: 2 * v["m"] * np.sqrt(v["kprime"] / v["m"]) - v["b"],
    "gain k_v for critical damping of a unit mass": lambda v: np.sqrt(4 * v["k_p"]),
    "PD law by the model": lambda v: (
        v["b"] * v["xd"] + v["k"] * v["x"] - v["m"] * (v["k_v"] * v["xd"] + v["k_p"] * v["x"])
    ),
    "steady-state error": lambda v: v["a_dist"] / v["k_p"],
    "state matrix": lambda v: [[0, 1], [-v["k"] / v["m"], -v["b"] / v["m"]]],
    "input matrix": lambda v: [0, 1 / v["m"]],
}
MOMENTS: dict[str, tuple[Callable[[Values], Any], tuple[str, ...]]] = {
    "moment of a point": (lambda v: v["m"] * v["r"] ** 2, ("m", "r")),
    "moment of three points": (
        lambda v: sum(v[f"m{k}"] * v[f"r{k}"] ** 2 for k in (1, 2, 3)),
        ("m1", "m2", "m3", "r1", "r2", "r3"),
    ),
    "moment of the rod and the ball": (
        lambda v: (
            v["Mrod"] * v["L"] ** 2 / 3 + v["Msphere"] * (v["L"] + v["R"]) ** 2 + 0.4 * v["Msphere"] * v["R"] ** 2
        ),
        ("Mrod", "Msphere", "L", "R"),
    ),
}
MOTOR = ("Rmi", "vai", "Kmi", "KTi", "Bi", "thetadmi", "iai")


def dh_row(v: Values) -> list[list[Any]]:
    """Rot_z Trans_z Trans_x Rot_x, multiplied out."""
    size = np.shape(v["thetai"])
    full = lambda A: np.moveaxis(np.array([[np.broadcast_to(x, size) for x in row] for row in A], dtype=float), 2, 0)  # noqa: E731
    ct, st, ca, sa = np.cos(v["thetai"]), np.sin(v["thetai"]), np.cos(v["alphai"]), np.sin(v["alphai"])
    about_z = full([[ct, -st, 0, 0], [st, ct, 0, 0], [0, 0, 1, v["di"]], [0, 0, 0, 1]])
    about_x = full([[1, 0, 0, v["ai"]], [0, ca, -sa, 0], [0, sa, ca, 0], [0, 0, 0, 1]])
    return [list(row) for row in np.moveaxis(about_z @ about_x, 0, 2)]


# ------------------------------------------------------------------------- equations, by the difference of their sides
def follow(v: Values) -> Any:
    """f for ẍ = ẍ_d + k_v ė + k_p e."""
    return v["m"] * (v["x_ddd"] + v["k_v"] * v["ed"] + v["k_p"] * v["e"]) + v["b"] * v["xd"] + v["k"] * v["x"]


CONTROL["law that follows a motion"] = follow
RESIDUALS: dict[str, tuple[Callable[[Values], Any], tuple[str, ...]]] = {
    "particle-on-a-line": (lambda v: v["m"] * (v["ydd"] + v["g"]) - v["f"], ("m", "g", "f", "y", "yd", "ydd")),
    "geared-link": (
        lambda v: (
            v["J_l"] * v["thetadd"]
            + v["r"] * v["J_m"] * v["r"] * v["thetadd"]
            + v["M"] * v["g"] * v["l"] * np.sin(v["theta"])
            - v["r"] * v["u"]
        ),
        ("r", "J_m", "J_l", "M", "g", "l", "u", "theta", "thetad", "thetadd"),
    ),
    "cartesian-pp": (
        lambda v: (v["m1"] + v["m2"]) * (v["qdd1"] + v["g"]) - v["tau1"],
        ("m1", "m2", "g", "q1", "qd1", "qdd1", "tau1"),
    ),
    "mass-spring": (lambda v: v["m"] * v["xdd"] + v["k"] * v["x"] - v["f"], ("m", "k", "f", "x", "xd", "xdd")),
    "equation without input": (lambda v: v["m"] * v["xdd"] + v["b"] * v["xd"] + v["k"] * v["x"], SERVO),
    "characteristic equation": (lambda v: v["m"] * v["s"] ** 2 + v["b"] * v["s"] + v["k"], SERVO),
    "closed loop": (
        lambda v: v["m"] * v["xdd"] + v["b"] * v["xd"] + v["k"] * v["x"] + v["k_v"] * v["xd"] + v["k_p"] * v["x"],
        SERVO,
    ),
    "servo of a unit mass": (lambda v: v["xdd"] + v["k_v"] * v["xd"] + v["k_p"] * v["x"], SERVO),
    "error equation": (lambda v: v["edd"] + v["k_v"] * v["ed"] + v["k_p"] * v["e"], SERVO),
    "error equation with a disturbance": (
        lambda v: v["edd"] + v["k_v"] * v["ed"] + v["k_p"] * v["e"] - v["a_dist"],
        SERVO,
    ),
    "PID error equation, differentiated": (
        lambda v: v["eddd"] + v["k_v"] * v["edd"] + v["k_p"] * v["ed"] + v["k_i"] * v["e"],
        SERVO,
    ),
    "coupling": (
        lambda v: v["m3"] * v["l2"] * v["lc3"] - v["m4"] * v["l1"] * v["lc4"],
        ("m2", "m3", "m4", "l1", "l2", "lc3", "lc4"),
    ),
    "constraint": (lambda v: np.cos(v["q1"]) + np.cos(v["q1"] + v["q2"]) - 1, ("q1", "q2", "qd1", "qd2")),
    "equation of the rotor": (
        lambda v: (
            v["Jmi"] * v["thetaddmi"]
            + torque_lost(v) * v["thetadmi"]
            + v["ui"] / v["Ni"]
            - v["KTi"] * v["vai"] / v["Rmi"]
        ),
        ("Jmi", "thetaddmi", "ui", "Ni", *MOTOR),
    ),
    "equation of the joint": (
        lambda v: (
            v["Ni"] * (v["Jmi"] * v["thetaddi"] + torque_lost(v) * v["thetadi"])
            + v["ui"] / v["Ni"]
            - v["KTi"] * v["vai"] / v["Rmi"]
        ),
        ("Jmi", "thetaddi", "thetadi", "ui", "Ni", *MOTOR),
    ),
}


def torque_lost(v: Values) -> Any:
    return v["Bi"] + v["KTi"] * v["Kmi"] / v["Rmi"]


def current(v: Values) -> Any:
    return (v["vai"] - v["Kmi"] * v["thetadmi"]) / v["Rmi"]


# ------------------------------------------------------------------------------------------------ the tip in a channel
UNIT = {"l1": 1.0, "l2": 1.0, "m1": 1.0, "m2": 1.0, "g": 0.0}
STATE = {"q1": -np.pi / 3, "q2": 2 * np.pi / 3, "qd1": 1.0, "qd2": 0.0}
OF_STATE = ("tau1", "tau2", "qdd1", "qdd2", "f")


def turning(v: Values) -> list[list[Any]]:
    """J̇ of the tip."""
    J = turned("l1", "l2")(moved(v, {"q1": v["qd1"], "q2": v["qd2"]}))
    return [[np.imag(x) / STEP for x in row] for row in J]


def channel(v: Values) -> dict[str, Any]:
    """Everything at one state, by linear algebra."""
    w = {**{k: np.array(x) for k, x in (UNIT | STATE).items()}, **v}
    J = np.array(jacobian(chain("l1", "l2"))(w), dtype=float)
    Jdot = np.array(turning(w), dtype=float)
    M, h, rates = np.array(mass_matrix(w), dtype=float), np.array(velocity_terms(w), dtype=float), np.array([1.0, 0.0])
    A, Adot, tau = J[:1], Jdot[:1], np.array([w["tau1"], w["tau2"]], dtype=float)
    full = np.block([[M, A.T], [A, np.zeros((1, 1))]])
    found = np.linalg.solve(full, np.r_[tau - h, -Adot @ rates])
    # given θ̈₁ and a force f: θ̈₂ from the constraint, τ from the equation of motion
    second = -(Adot @ rates + A[0, 0] * w["qdd1"]) / A[0, 1]
    wanted = M @ np.array([float(w["qdd1"]), second.item()]) + h + A[0] * w["f"]
    N = np.array([[A[0, 1]], [-A[0, 0]]])
    P = np.hstack([M @ N, np.zeros((2, 1))]) @ np.linalg.inv(np.hstack([M @ N, A.T]))
    return {
        "A": A,
        "Adot": Adot,
        "M": M,
        "h": h[:, None],
        "J": J,
        "lambda1": found[2],
        "qdd1": found[0],
        "qdd2": found[1],
        "inverse transpose of J": np.linalg.inv(J).T,
        "force at the tip": np.array([[found[2]], [0.0]]),
        "force at the tip without torque": np.array([[found[2]], [0.0]]),
        "tau1 for a force f": wanted[0],
        "tau2 for a force f": wanted[1],
        "projection": P,
        "I − projection": np.eye(2) - P,
    }


def at_the_state(name: str) -> Quantity:
    def value(v: Values) -> Any:
        still = "without torque" in name
        points = [{k: 0.0 if still else float(x[p]) for k, x in v.items()} for p in range(len(v["f"]))]
        return np.array([channel(point)[name] for point in points])

    return Quantity(name, value, dict.fromkeys(OF_STATE), name)


def of_ones(f: Callable[[Values], Any]) -> Callable[[Values], Any]:
    return lambda v: f({**UNIT, **v})


IN_CHANNEL = {
    "position of the tip": of_ones(chain("l1", "l2")),
    "J": of_ones(jacobian(chain("l1", "l2"))),
    "Jdot": of_ones(turning),
    "A": lambda v: IN_CHANNEL["J"](v)[:1],
    "Adot": lambda v: IN_CHANNEL["Jdot"](v)[:1],
}
SLIDES = {"Jc1": lambda v: [[0, 0], [0, 0], [1, 0]], "Jc2": lambda v: [[0, 0], [0, 1], [1, 0]]}


def gain(name: str) -> Quantity:
    """An entry of the table of Ziegler and Nichols; K_i = K_p/T_i, K_d = K_p T_d."""
    rule, _, letter = name.rpartition(" ")
    row = ZIEGLER_NICHOLS[rule]

    def value(v: Values) -> Any:
        K, T = float(row.K_p) * v["K_u"], v["T_u"]
        Ti, Td = (None if x is None else float(x) * T for x in (row.T_i, row.T_d))
        return {
            "Kp": K,
            "Ti": Ti,
            "Td": Td,
            "Ki": K / Ti if Ti is not None else None,
            "Kd": K * Td if Td is not None else None,
        }[letter]

    return quantity(name, value, ("K_u", "T_u"))


# ----------------------------------------------------------------------------------------------- the library's own
@cache
def equations(name: str) -> Any:
    if name == "articulated arm":
        rows = [{"d": 0.4, "alpha_deg": -90}, {"a": 0.5}, {"a": 0.4}]
        return dl.Robot.from_dh(rows).equations()
    return dl.load(name).equations(friction=name == "planar-2r-points")


@cache
def lagrangian(name: str) -> Any:
    return examples.EXAMPLES[name]()


def find(system: str, of: str) -> Quantity:
    """The quantity that a formula of the corpus is of."""
    if system == "planar-2r-points in a channel, at the state":
        return at_the_state(of)
    if system in RESIDUALS and of == "equation":
        return quantity(of, *RESIDUALS[system])
    if of in RESIDUALS:
        return quantity(of, *RESIDUALS[of])
    if system == "Ziegler–Nichols":
        return gain(of)
    if of in MOMENTS:
        return quantity(of, *MOMENTS[of])
    tables: dict[str, tuple[Mapping[str, Any], Any]] = {
        "planar-2r": (RIGID, ARM),
        "planar-2r-points": (MASSES, POINTS),
        "planar-2r-points in a channel": (IN_CHANNEL, ("q1", "q2", "qd1", "qd2")),
        "five-bar": (FIVE, BAR),
        "cartesian-pp": (SLIDES, ("q1", "q2")),
        "mass-spring-damper": (CONTROL, SERVO),
        "one row of a DH table": ({"A": dh_row}, ("thetai", "alphai", "ai", "di")),
        "motor with a gear": (
            {"armature current": current, "motor torque": lambda v: v["KTi"] * current(v) - v["Bi"] * v["thetadmi"]},
            MOTOR,
        ),
    }
    table, symbols = tables.get(system, ({}, ()))
    if of in table:
        return quantity(of, table[of], symbols)
    if system in examples.EXAMPLES and system not in ("planar-2r", "planar-2r-points", "cartesian-pp"):
        return lagrangian(system).quantity(of)
    return equations(system).quantity(of)
