"""Linearity in the parameters: of the torques, and of the energy.  [Poonawala] §5.3, [Fakhari 2]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.algorithms import energy, newton_euler
from dalembert.arguments import Array
from dalembert.identification.fit.regressor import Columns, base
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.spatial import Inertia
from dalembert.trust.properties.mechanism import INTEGRATED, Trial, accumulate, judge, swing
from dalembert.trust.properties.property import Verdict, silent

FEW = 3  # states at which other parameters are tried, by the algorithm on plain floats
ROWS = 401  # of a motion along which ∫ q̇ᵀY is taken, for every column
ONLY_ROBOTS = "a regressor is known of a Robot"


@judge("linear in the parameters")
def linear_in_parameters(trial: Trial) -> Verdict:
    """Y π against inverse dynamics; and τ of 2 π₁ − 3 π₂ against 2 τ₁ − 3 τ₂, by Newton and Euler, for random π₂."""
    robot = trial.mechanism.robot
    if robot is None:
        return silent(ONLY_ROBOTS)
    rotor = _rotors(robot)
    Y = robot.regressor(trial.q, trial.qd, trial.qdd, rotor=rotor)
    tau = Y @ robot.parameters(rotor=rotor)
    violation = trial.relative(tau - trial.tau, trial.tau)
    mixed = _superposition(robot, trial.q, trial.qd, trial.qdd, trial.seed)
    violation = np.concatenate((violation, mixed))
    rank = base(Columns(robot, friction=(), rotor=rotor)).rank
    numbers = {
        "parameters": float(Y.shape[-1]),
        "base parameters (rank of Y)": float(rank),
        "violation of superposition": float(mixed.max()),
    }
    return trial.judge(violation, lambda p: p.linear(), numbers)


def _rotors(robot: Robot) -> bool:
    return any(body.rotor_inertia for body in robot.model.bodies)


def _with(model: Model, pi: Array, rotors: Array) -> Model:
    """The same mechanism with other bodies."""
    bodies = []
    for body, p, J in zip(model.bodies, pi, rotors, strict=True):
        m, x, y, z, xx, xy, xz, yy, yz, zz = (float(v) for v in p)
        I = Inertia(m, (x, y, z), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        bodies.append(replace(body, inertia=I, rotor_inertia=float(J)))
    return replace(model, bodies=tuple(bodies))


def _parts(model: Model) -> tuple[Array, Array]:
    pi = np.array([body.inertia.parameters() for body in model.bodies], float)
    return pi, np.array([body.rotor_inertia for body in model.bodies], float)


def _superposition(robot: Robot, q: Array, qd: Array, qdd: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    pi, rotors = _parts(robot.model)
    other, turning = rng.normal(size=pi.shape), rng.uniform(size=rotors.shape)
    second = _with(robot.model, other, turning)
    models = [robot.model, second, _with(robot.model, 2 * pi - 3 * other, 2 * rotors - 3 * turning)]
    out = []
    for state in zip(q[:FEW].tolist(), qd[:FEW].tolist(), qdd[:FEW].tolist(), strict=True):
        a, b, both = (np.array(newton_euler.inverse_dynamics(model, *state), float) for model in models)
        size = max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-300)
        out.append(float(np.abs(2 * a - 3 * b - both).max()) / size)
    return np.array(out)


def energy_regressor(robot: Robot, q: Array, qd: Array) -> Array:
    """h(q, q̇) with H = h π, (columns,), the columns of `robot.regressor` (rotors, if there are any, after the ten of
    each body): the energy of each parameter set to one."""
    model, rotor = robot.model, _rotors(robot)
    pi, rotors = (np.zeros_like(x) for x in _parts(model))
    position, rates = np.asarray(q, float).tolist(), np.asarray(qd, float).tolist()
    row = []
    for i in range(len(pi)):
        for j in range(pi.shape[1]):
            unit = pi.copy()
            unit[i, j] = 1.0
            alone = _with(model, unit, rotors)
            row.append(energy.kinetic_energy(alone, position, rates) + energy.potential_energy(alone, position))
    return np.array([*row, *(0.5 * v * v for v in rates if rotor)], float)


@judge("energy linear in the parameters")
def energy_linear(trial: Trial) -> Verdict:
    """H = h π, and ∫ q̇ᵀY dt = h(T) − h(0) for every column: each parameter keeps its own books."""
    m = trial.mechanism
    robot = m.robot
    if robot is None:
        return silent(ONLY_ROBOTS)
    rotor = _rotors(robot)
    motion = swing(m, trial.seed, duration=1.0, rows=ROWS)
    Y = robot.regressor(motion.q, motion.qd, motion.qdd, rotor=rotor)
    work = accumulate(motion.t, np.einsum("bi,bij->bj", motion.qd, Y))[-1]
    h = [energy_regressor(robot, motion.q[k], motion.qd[k]) for k in (0, -1)]
    columns = np.abs(work - (h[1] - h[0])) / max(float(np.abs(work).max()), 1e-300)
    H = m.H(motion.q[[0, -1]], motion.qd[[0, -1]])
    whole = np.abs(np.array([x @ robot.parameters(rotor=rotor) for x in h]) - H) / max(float(np.abs(H).max()), 1e-300)
    numbers = {"columns": float(Y.shape[-1]), "H against h π": float(whole.max())}
    return trial.judge(
        columns, None, numbers, holds=float(whole.max()) <= m.bound, where="columns along a motion", bound=INTEGRATED
    )
