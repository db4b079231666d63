"""Frames, DH, kinematics, Jacobians, inertia, Lagrange and dynamics, solved another way than the families do: SciPy's
rotations, products of matrices, complex and small steps, sums over points, SymPy's Lagrangians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.describe.description import Description, Inertial, Joint, Link

Values = Mapping[str, Any]
Array = np.ndarray
q1, q2, q3, q, g, m, M, l, I, b, W, R = sp.symbols("q1 q2 q3 q g m M l I b W R", real=True)
qd, qdd, qd1, qd2, qdd1, qdd2 = sp.symbols("qd qdd qd1 qd2 qdd1 qdd2", real=True)
STEP = 1e-30


def turned(axis: str, angle: float) -> Array:
    return Rotation.from_euler(axis, angle, degrees=True).as_matrix()


def pose(rotation: Array, place: Any) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, place
    return T


# ---------------------------------------------------------------------------------------------------- rotations
def compose_rotations(v: Values) -> dict[str, Any]:
    axes = f"{v['first']}{v['second']}"
    sequence = axes if v["kind"] == "fixed" else axes.upper()  # SciPy: small letters are fixed axes
    return {"R": Rotation.from_euler(sequence, [v["a"], v["b"]], degrees=True).as_matrix()}


def change_frame(v: Values) -> dict[str, Any]:
    turn = Rotation.from_euler(v["axis"], np.arctan2(v["s"], v["c"]))
    return {"v": turn.apply(v["x"], inverse=v["given"] == "0")}


def rpy_to_matrix(v: Values) -> dict[str, Any]:
    return {"R": Rotation.from_euler("xyz", [v["roll"], v["pitch"], v["yaw"]], degrees=True).as_matrix()}


def matrix_to_rpy(v: Values) -> dict[str, Any]:
    angles = Rotation.from_matrix(v["R"]).as_euler("xyz", degrees=True)
    return dict(zip(("roll", "pitch", "yaw"), angles, strict=True))


def axis_and_angle(v: Values) -> dict[str, Any]:
    w = Rotation.from_matrix(np.array(v["scaled"]) / 45).as_rotvec(degrees=True)
    return {"theta": np.linalg.norm(w), "k": w / np.linalg.norm(w)}


def rodrigues(v: Values) -> dict[str, Any]:
    return {"turned": Rotation.from_rotvec(v["k3"] / 3 * v["angle"], degrees=True).apply(v["v"])}


def skew_matrix(v: Values) -> dict[str, Any]:
    return {"S": np.cross(v["omega"], np.eye(3)).T, "v": np.cross(v["omega"], v["r"])}


def invert_transform(v: Values) -> dict[str, Any]:
    return {"T": np.linalg.inv(v["pose"])}


def chain_of_frames(v: Values) -> dict[str, Any]:
    T = pose(turned(v["a"], v["alpha"]), v["pc"]) @ pose(turned(v["b"], v["beta"]), v["po"])
    return {"p": T[:3, 3], "R": T[:3, :3]}


# --------------------------------------------------------------------------------------------------- kinematics
def dh_row(v: Values) -> dict[str, Any]:
    lift, shift = pose(np.eye(3), [0, 0, v["d"]]), pose(np.eye(3), [v["a"], 0, 0])
    return {"A": pose(turned("z", v["theta"]), [0] * 3) @ lift @ shift @ pose(turned("x", v["alpha"]), [0] * 3)}


def direction(words: str) -> Array:
    return float(f"{words[0]}1") * np.eye(3)["xyz".index(words[1])]


def angle(start: Array, end: Array, axis: Array) -> float:
    found = round(np.degrees(np.arctan2(np.cross(start, end) @ axis, start @ end)))
    return 180 if found == -180 else found


def dh_table(v: Values) -> dict[str, Any]:
    x = [np.eye(3)[0], direction(v["x1"]), direction(v["x2"])]
    z = [np.eye(3)[2], direction(v["z1"]), direction(v["z2"])]
    o = [np.zeros(3), v["o1"], v["o2"]]
    rows = []
    for k in (1, 2):
        along = (o[k] - o[k - 1]) @ z[k - 1], (o[k] - o[k - 1]) @ x[k]
        rows.append([angle(x[k - 1], x[k], z[k - 1]), *along, angle(z[k - 1], z[k], x[k])])
    return {"table": rows}


def dh_conditions(v: Values) -> dict[str, Any]:
    """Two lines meet if the volume of their directions and of what leads from one to the other is zero."""
    volume = np.linalg.det(np.array([v["x1"], [0, 0, 1], v["o1"]]))
    return {"DH1": "yes" if abs(volume) < 1e-9 else "no", "DH2": "no" if v["dot"] else "yes"}


def fk_planar(v: Values) -> dict[str, Any]:
    angles = np.cumsum([v["q1"], v["q2"], v["q3"]])
    tip = np.exp(1j * np.radians(angles)) @ [v["l1"], v["l2"], v["l3"]]
    return {"x": tip.real, "y": tip.imag, "phi": angles[-1]}


@cache
def tip_of(rows: tuple[tuple[int, ...], ...]) -> list[sp.Expr]:
    T = sp.eye(4)
    for k, (turns, d, a, alpha) in enumerate(rows):
        joint = (q1, q2, q3)[k]
        theta, d = (joint, sp.Integer(d)) if turns else (sp.Integer(0), joint)
        c, s, ca, sa = sp.cos(theta), sp.sin(theta), sp.cos(sp.rad(alpha)), sp.sin(sp.rad(alpha))
        T = T * sp.Matrix([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])
    return list(T[:3, 3])


def fk_spatial(v: Values) -> dict[str, Any]:
    return {"p": tip_of(tuple(tuple(int(x) for x in row) for row in v["dh"]))}


def ik_planar(v: Values) -> dict[str, Any]:
    """The elbow is where two circles meet; in the complex plane."""
    target = v["x"] + 1j * v["y"]
    r = abs(target)
    along = (r * r + v["l1"] ** 2 - v["l2"] ** 2) / (2 * r)
    beside = np.sqrt(max(v["l1"] ** 2 - along**2, 0))
    right, left = ((along + side * 1j * beside) * target / r for side in (-1, 1))  # elbows
    outer = np.degrees(np.angle((target - right) / right))
    return {"q2": outer, "q1": np.degrees(np.angle(right)), "q1_other": unwind(np.degrees(np.angle(left)))}


def unwind(degrees: float) -> float:
    return 180.0 if abs(degrees + 180) < 1e-6 else degrees


# ---------------------------------------------------------------------------------------------------- Jacobians
def jacobian_planar(v: Values) -> dict[str, Any]:
    def tip(x: Array) -> Array:
        return v["l1"] * np.array([np.cos(x[0]), np.sin(x[0])]) + v["l2"] * np.array([np.cos(sum(x)), np.sin(sum(x))])

    at = np.radians([v["q1"], v["q2"]]) + 0j
    J = np.array([tip(at + 1j * STEP * e).imag / STEP for e in np.eye(2)]).T
    return {"J": J, "v": J @ [v["w1"], v["w2"]]}


def jacobian_columns(v: Values) -> dict[str, Any]:
    """By turning the tip a little about each axis."""
    h, columns = 1e-5, []
    for z, o in ((v["z0"], v["o0"]), (v["z1"], v["o1"])):
        ends = [Rotation.from_rotvec(side * h * z).apply(v["o3"] - o) for side in (1, -1)]
        columns.append([*(ends[0] - ends[1]) / (2 * h), *z])
    return {"J": np.array([*columns, [*v["z2"], 0, 0, 0]]).T}


def com_jacobian(v: Values) -> dict[str, Any]:
    l1, r2 = sp.nsimplify(v["l1"]), sp.nsimplify(v["r2"])
    place = [l1 * sp.cos(q1) + r2 * sp.cos(q1 + q2), l1 * sp.sin(q1) + r2 * sp.sin(q1 + q2)]
    return {"J": sp.Matrix(place).jacobian([q1, q2])}


def euler_rates_of_a_tool(v: Values) -> dict[str, Any]:
    """By turning the tool a little with each angle: ω from R(α + h) R(α − h)ᵀ."""
    angles, h = np.radians([v["a1"], v["a2"], v["a3"]]), 1e-5
    turns = [[Rotation.from_euler("ZYZ", angles + side * h * e) for side in (1, -1)] for e in np.eye(3)]
    B = np.array([(ahead * behind.inv()).as_rotvec() / (2 * h) for ahead, behind in turns]).T
    return {"B": B, "omega": B @ v["rates"]}


# ------------------------------------------------------------------------------------------------------ inertia
def tensor_of(masses: Any, places: Any) -> Array:
    return sum(m * (np.dot(p, p) * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, places, strict=True))


def point_masses(v: Values) -> dict[str, Any]:
    masses = [v["m1"], v["m2"], v["m3"]]
    tensor = tensor_of(masses, [v["p1"], v["p2"], v["p3"]])
    return {"I": tensor, "k": np.sqrt(tensor[2, 2] / sum(masses))}


def rod_and_ball(v: Values) -> dict[str, Any]:
    """The rod as two points that have its mass, center and moment (Gauss)."""
    at = v["l"] * np.array([0.5 - 0.5 / np.sqrt(3), 0.5 + 0.5 / np.sqrt(3), 1.0])
    masses = np.array([v["m"] / 2, v["m"] / 2, v["M"]])
    c = masses @ at / masses.sum()
    return {"c": c, "I_O": masses @ at**2, "I_c": masses @ (at - c) ** 2}


def rotate_inertia(v: Values) -> dict[str, Any]:
    axes = turned(v["axis"], np.degrees(np.arctan2(v["s"], v["c"])))
    moments = np.array([v["i1"], v["i2"], v["i3"]])
    return {"I": np.einsum("k,ik,jk->ij", moments, axes, axes), "K": moments @ (axes.T @ v["omega"]) ** 2 / 2}


def urdf_inertia(v: Values) -> dict[str, Any]:
    """As six points on the turned axes that have the link's mass and moments."""
    p, rpy = (np.array([float(x) for x in v[k].split()]) for k in ("xyz", "rpy"))
    axes = Rotation.from_euler("xyz", np.where(rpy == 0, 0, np.pi / 2)).as_matrix()
    moments = np.array([v["ixx"], v["iyy"], v["izz"]])
    spread = 3 * (moments.sum() / 2 - moments) / v["m"]  # squares of the points' distances
    places = [p + side * np.sqrt(spread[k] + 0j) * axes[:, k] for k in range(3) for side in (-1, 1)]
    return {"I": tensor_of([v["m"] / 6] * 6, places).real}


# ----------------------------------------------------------------------------------------------------- Lagrange
def lagrange(L: sp.Expr, coordinates: list[sp.Symbol], rates: list[sp.Symbol], accelerations: list[sp.Symbol]) -> Any:
    """d/dt ∂L/∂q̇ − ∂L/∂q of every coordinate."""

    def rate(x: sp.Expr) -> sp.Expr:
        first = sum(x.diff(a) * w for a, w in zip(coordinates, rates, strict=True))
        return first + sum(x.diff(w) * a for w, a in zip(rates, accelerations, strict=True))

    return [rate(L.diff(w)) - L.diff(a) for a, w in zip(coordinates, rates, strict=True)]


HEIGHTS = {"downward": -sp.cos(q), "upward": sp.cos(q), "horizontal,": sp.sin(q)}


@cache
def pendulum_of(zero: str) -> tuple[sp.Expr, sp.Expr]:
    s = sp.Symbol("s", positive=True)
    height = HEIGHTS[zero.split()[1]]
    energies = [(s * qd) ** 2 / 2, g * s * height]  # of a unit mass at the distance s
    K, P = (sp.integrate(e, (s, 0, l)) * m / l + M * e.subs(s, l) for e in energies)
    return K - P, lagrange(K - P, [q], [qd], [qdd])[0] + b * qd


def pendulum(v: Values) -> dict[str, Any]:
    numbers = {m: v["m"], M: v["M"], l: v["l"], b: v["b"]}
    L, tau = pendulum_of(v["zero"])
    return {"L": L.subs(numbers), "tau": tau.subs(numbers)}


def energy_2r(v: Values) -> dict[str, Any]:
    """Velocities of the two masses by a complex step in time."""
    q, w = np.radians([v["q1"], v["q2"]]), np.array([v["w1"], v["w2"]])
    angles = np.cumsum(q + 1j * STEP * w)
    places = np.cumsum(
        [[l * np.cos(a), l * np.sin(a)] for l, a in zip((v["l1"], v["l2"]), angles, strict=True)], axis=0
    )
    masses = np.array([v["m1"], v["m2"]])
    return {"K": masses @ (places.imag**2).sum(1) / STEP**2 / 2, "P": 10 * masses @ places.real[:, 1]}


@cache
def rp_equations() -> tuple[sp.Expr, ...]:
    place = sp.Matrix([q2 * sp.cos(q1), q2 * sp.sin(q1)])
    velocity = place.jacobian([q1, q2]) * sp.Matrix([qd1, qd2])
    L = sp.simplify(velocity.dot(velocity)) * m / 2 + I * qd1**2 / 2 - m * g * place[1]
    return (L.diff(qd1), *lagrange(L, [q1, q2], [qd1, qd2], [qdd1, qdd2]))


def rp_lagrange(v: Values) -> dict[str, Any]:
    found = [x.subs({m: v["m"], I: v["I"]}) for x in rp_equations()]
    return dict(zip(("p1", "tau1", "f2"), found, strict=True))


@cache
def cart_equations(up: int) -> list[sp.Expr]:
    place = sp.Matrix([q1 + l * sp.sin(q2), up * l * sp.cos(q2)])
    velocity = place.jacobian([q1, q2]) * sp.Matrix([qd1, qd2])
    L = M * qd1**2 / 2 + m * velocity.dot(velocity) / 2 - m * g * place[1]
    return [sp.simplify(x) for x in lagrange(L, [q1, q2], [qd1, qd2], [qdd1, qdd2])]


def cart_pole(v: Values) -> dict[str, Any]:
    up = 1 if "upward" in v["zero_of"] else -1
    f, zero = (x.subs({M: v["M"], m: v["m"], l: v["l"]}) for x in cart_equations(up))
    return {"f": f, "zero": zero}


@cache
def bead_acceleration() -> sp.Expr:
    phi, t = W * sp.Symbol("t"), sp.Symbol("t")
    place = R * sp.Matrix([sp.sin(q) * sp.cos(phi), sp.sin(q) * sp.sin(phi), -sp.cos(q)])
    velocity = place.diff(q) * qd + place.diff(t)
    L = sp.simplify(velocity.dot(velocity) / 2) - g * place[2]
    return sp.solve(lagrange(L, [q], [qd], [qdd])[0], qdd)[0]


def bead_on_a_hoop(v: Values) -> dict[str, Any]:
    a = bead_acceleration().subs({R: v["R"], W: sp.sqrt(sp.nsimplify(v["WW"])), g: 10})
    rest = sp.nsolve(a / sp.sin(q), q, 1.3)
    return {"qdd": a, "q_rest": float(sp.deg(rest))}


def christoffel(v: Values) -> dict[str, Any]:
    entries = sp.Matrix(v["entries"])
    own = (q1, q2)

    def symbol(i: int, j: int, k: int) -> sp.Expr:
        i, j, k = i - 1, j - 1, k - 1
        return (entries[k, j].diff(own[i]) + entries[k, i].diff(own[j]) - entries[i, j].diff(own[k])) / 2

    entries = entries.subs({sp.Symbol("q2"): q2})
    return {"c121": symbol(1, 2, 1), "c221": symbol(2, 2, 1), "c112": symbol(1, 1, 2)}


LINKS = sp.symbols("m1 m2 l1 r1 r2 I1 I2 g", positive=True)


@cache
def two_links() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Mass matrix, Christoffel's C and torques of a planar 2R arm, from its Lagrangian."""
    m1, m2, l1, r1, r2, I1, I2, G = LINKS
    first = sp.Matrix([r1 * sp.cos(q1), r1 * sp.sin(q1)])
    second = sp.Matrix([l1 * sp.cos(q1) + r2 * sp.cos(q1 + q2), l1 * sp.sin(q1) + r2 * sp.sin(q1 + q2)])
    K = I1 * qd1**2 / 2 + I2 * (qd1 + qd2) ** 2 / 2
    for mass, place in ((m1, first), (m2, second)):
        velocity = place.jacobian([q1, q2]) * sp.Matrix([qd1, qd2])
        K += mass * velocity.dot(velocity) / 2
    P = G * (m1 * first[1] + m2 * second[1])
    own, rates = (q1, q2), (qd1, qd2)
    mass_matrix = sp.hessian(K, rates)

    def c(k: int, j: int) -> sp.Expr:
        D = mass_matrix
        three = [D[k, j].diff(own[i]) + D[k, i].diff(own[j]) - D[i, j].diff(own[k]) for i in (0, 1)]
        return sum(x * w for x, w in zip(three, rates, strict=True)) / 2

    tau = lagrange(K - P, list(own), list(rates), [qdd1, qdd2])
    at = (*LINKS, q1, q2, qd1, qd2, qdd1, qdd2)
    return tuple(sp.lambdify(at, x) for x in (mass_matrix, sp.Matrix(2, 2, c), sp.Matrix(tau)))  # type: ignore[return-value]


def mass_matrix_2r(v: Values) -> dict[str, Any]:
    links = [v[k] for k in ("m1", "m2", "l1", "r1", "r2", "I1", "I2")]
    return {"M": two_links()[0](*links, 0, 0.3, np.radians(v["q2"]), 0, 0, 0, 0)}


def gravity_2r(v: Values) -> dict[str, Any]:
    P = v["m1"] * g * v["r1"] * sp.sin(q1) + v["m2"] * g * (v["l1"] * sp.sin(q1) + v["r2"] * sp.sin(q1 + q2))
    return {"g1": P.diff(q1), "g2": P.diff(q2)}


# ----------------------------------------------------------------------------------------------------- dynamics
def newton_euler_2r(v: Values) -> dict[str, Any]:
    """Torques from the Lagrangian, the acceleration by second differences of the place."""
    masses, (l1, l2) = (v["m1"], v["m2"]), (v["l1"], v["l2"])
    inertias = [m * l * l / 12 for m, l in zip(masses, (l1, l2), strict=True)]
    state = [0, np.radians(v["q2"]), v["w1"], v["w2"], v["a1"], v["a2"]]
    tau = two_links()[2](*masses, l1, l1 / 2, l2 / 2, *inertias, 0, *state).ravel()

    def place(t: float) -> Array:
        a = [state[k] + state[k + 2] * t + state[k + 4] * t * t / 2 for k in (0, 1)]
        return np.array([l1 * np.cos(a[0]) + l2 / 2 * np.cos(sum(a)), l1 * np.sin(a[0]) + l2 / 2 * np.sin(sum(a))])

    h = 1e-3
    near, far = ((place(k * h) - 2 * place(0) + place(-k * h)) / (k * h) ** 2 for k in (1, 2))
    acceleration = (4 * near - far) / 3
    return {"a_c2": acceleration, "f2": masses[1] * acceleration, "tau1": tau[0], "tau2": tau[1]}


def coriolis_matrix_2r(v: Values) -> dict[str, Any]:
    """From the mass matrix of the text, by differences."""

    def mass(x: float) -> Array:
        c = v["b"] * np.cos(x)
        return np.array([[v["a"] + 2 * c, v["d"] + c], [v["d"] + c, v["d"] + 0 * c]])

    D = np.zeros((2, 2, 2))
    D[1] = mass(np.radians(v["q2"]) + 1j * STEP).imag / STEP  # D[i] is the derivative by q_i
    gamma = (np.einsum("ikj->ijk", D) + np.einsum("jki->ijk", D) - np.einsum("kij->ijk", D)) / 2
    C = np.einsum("ijk,i->kj", gamma, v["rates"])
    return {"C": C, "c": C @ v["rates"]}


def inverse_dynamics_2r(v: Values) -> dict[str, Any]:
    links = (v["m1"], v["m2"], v["l1"], v["l1"], v["l2"], 0, 0, 10)
    state = [np.radians(v["q1"]), np.radians(v["q2"]), v["w1"], v["w2"], v["a1"], v["a2"]]
    tau = two_links()[2](*links, *state).ravel()
    return {"tau1": tau[0], "tau2": tau[1]}


def forward_dynamics_2r(v: Values) -> dict[str, Any]:
    """Cramer's rule."""
    (a, b), (c, d) = v["M"]
    x, y = v["tau"] - v["c"] - v["g"]
    return {"qdd": np.array([x * d - b * y, a * y - x * c]) / (a * d - b * c)}


def quaternion_rate(v: Values) -> dict[str, Any]:
    """By a small turn of SciPy's, from the right."""
    q, w, h = np.array(v["q"], float), np.array(v["w"], float), 1e-6
    turned = [(Rotation.from_quat(q) * Rotation.from_rotvec(s * h * w)).as_quat() for s in (1, -1)]
    after, before = (x * np.sign(x @ q) for x in turned)
    return {"rate": (after - before) / (2 * h), "omega": Rotation.from_quat(q).apply(w)}


def free_body(v: Values) -> dict[str, Any]:
    """The torque is the rate of the momentum in world axes: solved for ω̇ in world axes, then seen from the body."""
    I, w, n = np.diag([v["i1"], v["i2"], v["i3"]]), np.array(v["w"], float), np.array(v["n"], float)
    h, names = 1e-6, ["x", "y", "z"]
    turns = [Rotation.from_rotvec(s * h * w).as_matrix() for s in (1, -1)]
    I_dot = (turns[0] @ I @ turns[0].T - turns[1] @ I @ turns[1].T) / (2 * h)
    growth = [(I[j, j] - I[i, i]) * (I[i, i] - I[k, k]) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
    wdot = np.linalg.solve(I, n - I_dot @ w)
    return {"wdot": wdot, "K": 0.5 * w @ I @ w, "axis": names[int(np.argmax(growth))]}


def reaction_wheel(v: Values) -> dict[str, Any]:
    """By the library, as a wheel on a planar base."""
    links = [
        Link("world"),
        *(Link(x, Inertial(1.0, (1.0, 0, 0, 1.0, 0, I))) for x, I in (("body", v["I"]), ("wheel", v["J"]))),
    ]
    joints = (
        Joint("base", "planar", "world", "body", axis=(0, 0, 1)),
        Joint("motor", "continuous", "body", "wheel", axis=(0, 0, 1)),
    )
    craft = dl.Robot(Description("craft", tuple(links), joints, gravity=(0, 0, 0)))
    a = v["speed"] / v["t"]
    M = craft.mass_matrix(craft.neutral)
    base = -M[2, 3] * a / M[2, 2]
    tau = craft.inverse_dynamics(craft.neutral, np.zeros(4), [0, 0, base, a])
    assert np.abs(tau[:3]).max() < 1e-12
    return {"omega": base * v["t"], "tau": tau[3], "angle": np.degrees(0.5 * base * v["t"] ** 2)}


SOLVE: dict[str, Callable[[Values], dict[str, Any]]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        compose_rotations,
        change_frame,
        rpy_to_matrix,
        matrix_to_rpy,
        axis_and_angle,
        rodrigues,
        skew_matrix,
        invert_transform,
        chain_of_frames,
        dh_row,
        dh_table,
        dh_conditions,
        fk_planar,
        fk_spatial,
        ik_planar,
        jacobian_planar,
        jacobian_columns,
        com_jacobian,
        euler_rates_of_a_tool,
        point_masses,
        rod_and_ball,
        rotate_inertia,
        urdf_inertia,
        quaternion_rate,
        free_body,
        reaction_wheel,
        pendulum,
        energy_2r,
        rp_lagrange,
        cart_pole,
        bead_on_a_hoop,
        christoffel,
        mass_matrix_2r,
        gravity_2r,
        newton_euler_2r,
        coriolis_matrix_2r,
        inverse_dynamics_2r,
        forward_dynamics_2r,
    )
}
