"""Fixed steps: orders proved and measured, energy, oracles, what is kept, what is refused."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert import scalar
from dalembert.compile.interpret import replay
from dalembert.compile.rollout import run
from dalembert.errors import InputError, UnknownNameError
from dalembert.flow import Flow
from dalembert.simulation import METHODS, driver, fixed_step as module, integrate
from dalembert.simulation.steps import TABLEAUX, Rates
from oracles.test_mujoco import in_mujoco

# ---------------------------------------------------------------------------------------------- order conditions
Tree = tuple


@cache
def trees(n: int) -> list[Tree]:
    """Rooted trees of n vertices; a tree is the sorted tuple of what hangs at its root."""

    def parts(total: int, largest: int):
        if total == 0:
            yield ()
        for k in range(min(total, largest), 0, -1):
            yield from ((k, *rest) for rest in parts(total - k, k))

    found = {tuple(sorted(hung)) for sizes in parts(n - 1, n - 1) for hung in product(*map(trees, sizes))}
    return sorted(found)


def order(tree: Tree) -> int:
    return 1 + sum(map(order, tree))


def density(tree: Tree) -> int:
    return order(tree) * prod(map(density, tree))


def weights(tableau, tree: Tree) -> list:
    result = [Fraction(1)] * tableau.stages
    for hung in tree:
        inner = weights(tableau, hung)
        sums = [sum((a * w for a, w in zip(row, inner, strict=False)), Fraction(0)) for row in tableau.a]
        result = [r * s for r, s in zip(result, sums, strict=True)]
    return result


def defect(tableau, n: int) -> float:
    """The largest |Σ bᵢ Φᵢ − 1/γ| over the trees of n vertices."""
    sums = [sum(b * w for b, w in zip(tableau.b, weights(tableau, tree), strict=True)) for tree in trees(n)]
    return float(max(abs(s - Fraction(1, density(tree))) for s, tree in zip(sums, trees(n), strict=True)))


def test_pieces_between_rows_change_nothing(monkeypatch):
    """Rows far apart are reached in pieces short enough to be interrupted between."""
    flow = dl.load("planar-2r").flow()
    x0 = np.array([[0.1, 0.2, 0.0, 0.0], [0.5, -0.2, 0.3, 0.0]])
    u = np.random.default_rng(0).normal(size=(40, 2))
    whole = integrate(flow, x0, 1e-3, 40, u, every=15)
    for piece in (1, 4, 7, 16, 40):
        rollout = module.compile_loop(flow)
        monkeypatch.setattr(driver, "PIECE", piece * rollout.operations * 2)
        parts = integrate(flow, x0, 1e-3, 40, u, every=15)
        assert np.array_equal(parts.x, whole.x) and np.array_equal(parts.t, whole.t)


def test_there_are_as_many_trees_as_cayley_counted():
    assert [len(trees(n)) for n in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]


@pytest.mark.parametrize("name", TABLEAUX)
def test_order_conditions(name):
    tableau = TABLEAUX[name]
    exact = name != "rk8"  # √21 is rounded; 115 sums of eleven terms below one
    for n in range(1, tableau.order + 1):
        assert defect(tableau, n) <= (0 if exact else 1e-15), n
    assert defect(tableau, tableau.order + 1) > 1e-5  # and no more
    assert all(len(row) <= i for i, row in enumerate(tableau.a)) and len(tableau.a) == tableau.stages


# ------------------------------------------------------------------------------------------------- measured orders
def damped(t, x, u):
    """A driven pendulum: nonlinear, with time and velocity in it."""
    return [x[1], u[0] + scalar.cos(2.0 * t) - 3.0 * scalar.sin(x[0]) - 0.4 * x[1]]


def free(t, x, u):
    return [x[1], -3.0 * scalar.sin(x[0])]


DRIVEN = Flow("driven pendulum", ("q", "qd"), ("torque",), damped, positions=1)
FREE = Flow("pendulum", ("q", "qd"), (), free, positions=1)
START = np.array([1.0, 0.3])


def reference(flow: Flow, duration: float, u=()) -> np.ndarray:
    solved = solve_ivp(
        lambda t, x: flow.rate(t, x.tolist(), list(u)), (0, duration), START, "DOP853", rtol=1e-13, atol=1e-15
    )
    return solved.y[:, -1]


@pytest.mark.parametrize("name", METHODS)
def test_measured_order(name):
    flow = FREE if name == "verlet" else DRIVEN
    u = () if flow is FREE else (0.2,)
    wanted, least = reference(flow, 2.0, u), METHODS[name].order
    coarse = {6: 24, 8: 10}.get(least, 64)  # few steps where the error would else drown in rounding
    errors = []
    for steps in (coarse, 2 * coarse):
        made = integrate(flow, START, 2.0 / steps, steps, np.array(u), method=name, every=steps)
        errors.append(np.abs(made.x[-1] - wanted).max())
        assert made.t[-1] == 2.0
    assert errors[1] > 1e-13  # above what the reference knows
    assert abs(np.log2(errors[0] / errors[1]) - least) < 0.35, errors


def test_verlet_is_of_first_order_where_forces_depend_on_velocity():
    wanted = reference(DRIVEN, 2.0, (0.2,))
    error = [
        np.abs(integrate(DRIVEN, START, 2.0 / n, n, [0.2], method="verlet", every=n).x[-1] - wanted).max()
        for n in (200, 400)
    ]
    assert abs(np.log2(error[0] / error[1]) - 1) < 0.2


@pytest.mark.parametrize("name", ["rk6", "rk8"])
def test_agrees_with_an_adaptive_solver(name):
    made = integrate(DRIVEN, START, 0.004, 500, [0.2], method=name)
    assert np.abs(made.x[-1] - reference(DRIVEN, 2.0, (0.2,))).max() < 1e-12


@pytest.mark.parametrize("name", METHODS)
def test_the_compiled_loop_is_the_step_over_floats(name):
    """The calls of the step, run on plain floats: other sines, no fused products, so to rounding."""
    system = Rates(2, 1, lambda t, x, u, p: damped(t, x, u))
    calls = METHODS[name].make(system).calls
    x = [*START.tolist(), *([0.0] if METHODS[name].iterated else [])]
    for k in range(100):
        x = run(calls, {"t": 0.5 + k * 0.01, "dt": 0.01, "x": x, "u": [0.2], "p": []})["new"]
    made = integrate(DRIVEN, START, 0.01, 100, [0.2], method=name, t0=0.5)
    assert np.abs(made.x[-1] - x[:2]).max() < 1e-13


# ---------------------------------------------------------------------------------------------------------- energy
def double_pendulum(**options):
    return dl.load("planar-2r").flow(energies=True, **options)


def audit(flow, x0, dt, steps, method, energy=lambda made: made.y[..., -2:].sum(-1)):
    """The largest error of the energy in each fifth of a run."""
    made = integrate(flow, x0, dt, steps, method=method, every=50)
    E = energy(made)
    return [float(part.max()) for part in np.array_split(np.abs(E - E[0]), 5)], float(np.ptp(made.y[:, -2]))


def test_symplectic_euler_keeps_energy_where_euler_drifts():
    """Two coupled pendulums, whose M is constant, for 10⁵ steps: the error is of the order of the step, and stays."""

    def rate(t, x, u):
        pull = scalar.sin(x[0] - x[1])
        return [x[2], x[3], -3.0 * scalar.sin(x[0]) - 2.0 * pull, -5.0 * scalar.sin(x[1]) + 2.0 * pull]

    def energies(t, x, u):
        kinetic = 0.5 * (x[2] * x[2] + x[3] * x[3])
        return [kinetic, -3.0 * scalar.cos(x[0]) - 5.0 * scalar.cos(x[1]) - 2.0 * scalar.cos(x[0] - x[1])]

    names = ("kinetic", "potential")
    flow = Flow("coupled", ("a", "b", "ad", "bd"), (), rate, 2, outputs=names, observe=energies)
    x0 = [1.2, -0.8, 0.0, 0.0]
    for method, bound in (("semi-implicit-euler", 5e-3), ("verlet", 2e-6)):
        error, swing = audit(flow, x0, 1e-3, 100_000, method)
        assert max(error) < bound * swing, method
        assert error[-1] < 1.2 * error[0], error  # no drift
    error, swing = audit(flow, x0, 1e-3, 100_000, "euler")
    assert error[-1] > 2 * error[0] and error[-1] > 0.1 * swing


def test_a_double_pendulum_keeps_its_energy_in_momenta():
    """M depends on q: the semi-implicit rule drifts, far less than Euler's; implicit midpoint in (q, p) does not."""
    x0 = [-1.2, 0.3, 0.0, 0.0]
    kept, swing = audit(double_pendulum(momenta=True), x0, 5e-3, 100_000, "implicit-midpoint")
    assert max(kept) < 1e-4 * swing and kept[-1] < 1.1 * kept[0]
    slow, _ = audit(double_pendulum(), x0, 1e-3, 100_000, "semi-implicit-euler")
    fast, _ = audit(double_pendulum(), x0, 1e-3, 100_000, "euler")
    assert slow[-1] > 2 * slow[0] and fast[-1] > 50 * slow[-1]


def test_implicit_midpoint_in_momenta_is_symplectic():
    """Jᵀ Ω J = Ω for the map of a step in (q, p), by differences; not so for a step of rk4 of this length."""
    flow = double_pendulum(momenta=True)
    x0, h, dt = np.array([0.7, -0.4, 0.9, 0.3]), 1e-5, 0.05
    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    about = np.concatenate((x0 + h * np.eye(4), x0 - h * np.eye(4)))

    def defect(method, **options):
        ends = integrate(flow, about, dt, 20, method=method, every=20, **options).x[:, -1]
        J = (ends[:4] - ends[4:]).T / (2 * h)
        return np.abs(J.T @ omega @ J - omega).max()

    assert defect("implicit-midpoint", iterations=30) < 1e-6  # of a central difference
    assert defect("rk3") > 1e-5


def test_the_form_in_momenta_is_the_same_motion():
    flow, other = double_pendulum(), double_pendulum(momenta=True)
    robot = dl.load("planar-2r")
    q, qd = np.array([0.7, -0.4]), np.array([0.5, 1.0])
    tau = np.random.default_rng(0).normal(size=(200, 2))
    p = robot.mass_matrix(q) @ qd
    one = integrate(flow, np.r_[q, qd], 0.002, 200, tau, method="rk6")
    two = integrate(other, np.r_[q, p], 0.002, 200, tau, method="rk6")
    assert np.abs(one.x[:, :2] - two.x[:, :2]).max() < 1e-11
    assert np.abs(one.x[:, 2:] - two.y[:, :2]).max() < 1e-11
    assert np.abs(one.y - two.y[:, 2:]).max() < 1e-11


def test_the_residual_of_an_implicit_method_is_told():
    flow = double_pendulum()
    x0 = [1.0, 0.5, 0.0, 0.0]
    poor, good = (integrate(flow, x0, 0.005, 50, method="implicit-midpoint", iterations=k).residual for k in (2, 20))
    assert 1e-5 < poor < 1 and good < 1e-14
    assert integrate(flow, x0, 0.02, 50).residual == 0
    stiff = Flow("stiff", ("x",), (), lambda t, x, u: [-1000.0 * x[0]])
    assert integrate(stiff, [1.0], 0.01, 5, method="implicit-midpoint").residual > 1  # it did not converge


# --------------------------------------------------------------------------------------------------------- oracles
@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_panda_against_mujoco(method):
    import mujoco

    robot = dl.load("panda").with_payload(1.0, com=(0.0, 0.0, 0.05))
    model, data = in_mujoco(robot)
    model.opt.timestep = 1e-3
    model.opt.integrator = getattr(mujoco.mjtIntegrator, {"rk4": "mjINT_RK4"}.get(method, "mjINT_EULER"))
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, 7))
    tau = rng.normal(size=(100, 7)).cumsum(0)
    made = integrate(robot.flow(), np.r_[q, qd], 1e-3, 100, tau, method=method)
    data.qpos[:], data.qvel[:] = q, qd
    for k in range(100):
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_step(model, data)
        # two algorithms for q̈, a few hundred operations each; a tenth of a second lets that grow little
        assert np.abs(made.x[k + 1] - np.r_[data.qpos, data.qvel]).max() < 1e-12


def test_a_controller_in_the_step_is_the_controller_beside_it():
    """PD + gravity of the arm without its payload, traced into the rate, against kernels called one after another."""
    arm = dl.load("panda")
    plant = arm.with_payload(1.0, com=(0.0, 0.0, 0.05))
    free, gravity = plant.flow(), arm.kernel("gravity_torque").program

    def torque(x, u):
        (g,) = replay(gravity, [x[:7]])
        return [a + 20.0 * (w - q) - 0.5 * v for a, w, q, v in zip(g, u, x[:7], x[7:], strict=True)]

    wanted = tuple(f"q{k}" for k in range(7))
    flow = Flow("closed", free.states, wanted, lambda t, x, u: free.rate(t, x, torque(x, u)), 7)
    rng = np.random.default_rng(4)
    x0, target = rng.uniform(-1, 1, (20, 14)), rng.uniform(-1, 1, (20, 7))
    made = integrate(flow, x0, 1e-3, 200, target[:, None], method="semi-implicit-euler", every=200)
    q, qd = x0[:, :7], x0[:, 7:]
    for _ in range(200):
        tau = arm.gravity_torque(q) + 20.0 * (target - q) - 0.5 * qd
        qd = qd + 1e-3 * plant.forward_dynamics(q, qd, tau)
        q = q + 1e-3 * qd
    assert np.abs(made.x[:, -1] - np.concatenate((q, qd), 1)).max() < 1e-11


def test_robots_with_friction_and_a_wrench_at_the_tip():
    robot = dl.load("puma560")
    rng = np.random.default_rng(2)
    q, qd, tau = rng.uniform(-1, 1, (3, 6))
    f = rng.normal(size=6)
    flow = robot.flow(friction=True, wrenches=[robot.tip])
    rate = flow.rate(0.0, [*q, *qd], [*tau, *f])
    wanted = robot.forward_dynamics(q, qd, tau, wrenches={robot.tip: f}, friction=True)
    assert np.abs(np.array(rate) - np.r_[qd, wanted]).max() < 1e-9 * np.abs(wanted).max()
    one = integrate(flow, np.r_[q, qd], 1e-6, 1, np.r_[tau, f], method="euler").x[-1]
    assert np.abs((one - np.r_[q, qd]) / 1e-6 - np.r_[qd, wanted]).max() < 1e-6 * np.abs(wanted).max()
    assert flow.inputs[-1] == f"{robot.tip}.n_z" and flow.states[6] == robot.joint_names[0] + "_rate"


def cart_pole() -> dl.LagrangianSystem:
    import sympy as sp

    x, a = dl.lagrange.coordinates("x a")
    M, m, l, F = sp.symbols("M m l F")
    v, w = dl.lagrange.rate(x), dl.lagrange.rate(a)
    kinetic = M * v**2 / 2 + m * (v**2 + l**2 * w**2 + 2 * l * v * w * sp.cos(a)) / 2
    numbers = {M: 2.0, m: 0.5, l: 0.7}
    return dl.LagrangianSystem(
        [x, a],
        kinetic,
        m * 9.81 * l * sp.cos(a),
        forces=[F, 0],
        inputs=[F],
        dissipation=0.1 * v**2,
        parameters=numbers,
        name="cart-pole",
    )


def test_a_lagrangian_system_with_inputs_and_parameters():
    system = cart_pole()
    parameter = next(s for s in system.parameters if s.name == "l")
    flow = system.flow(energies=True, parameters=[parameter])
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-1, 1, (2, system.n))
    m = len(system.inputs)
    u = rng.normal(size=m)
    for factor in (1.0, 1.7):
        value = factor * system.parameters[parameter]
        other = system.with_parameters({parameter: value})
        tau = other.input_matrix(q) @ u if system.input_symbols else u
        rate = np.array(flow.rate(0.0, [*q, *qd], [*u, value]))
        assert np.abs(rate - np.r_[qd, other.forward_dynamics(q, qd, tau)]).max() < 1e-12
        made = integrate(flow, np.r_[q, qd], 1e-3, 50, u, parameters={str(parameter): value})
        energy = other.kinetic_energy(q, qd), other.potential_energy(q)
        assert np.abs(made.y[0] - energy).max() < 1e-12
        plain = integrate(other.flow(), np.r_[q, qd], 1e-3, 50, u)
        assert np.abs(plain.x - made.x).max() < 1e-12


# ------------------------------------------------------------------------------------------- batches, what is kept
def test_batches_parameters_and_inputs_broadcast():
    g = Flow(
        "g",
        ("q", "qd"),
        ("g", "torque"),
        lambda t, x, u: [x[1], u[1] - u[0] * scalar.sin(x[0])],
        1,
        outputs=("g", "torque"),
        observe=lambda t, x, u: [u[0], u[1]],
    )
    rng = np.random.default_rng(0)
    x0, u, values = rng.normal(size=(5, 1, 2)), rng.normal(size=(3, 40, 1)), rng.uniform(1, 9, 3)
    made = integrate(g, x0, 0.01, 40, u, every=3, parameters={"g": values})
    assert made.x.shape == (5, 3, 15, 2) and made.y.shape == (5, 3, 15, 2) and made.t.shape == (15,)
    assert np.array_equal(made.t, [*(0.01 * np.arange(0, 40, 3)), 0.4])
    assert made.diverged_at.shape == made.residual.shape == (5, 3)
    assert np.array_equal(made.y[..., 0], np.broadcast_to(values[:, None], (5, 3, 15)))
    for i, j in ((0, 0), (4, 2), (2, 1)):
        one = integrate(g, x0[i, 0], 0.01, 40, np.c_[np.full(40, values[j]), u[j]])
        assert np.array_equal(one.x[:-1:3], made.x[i, j, :-1]) and np.array_equal(one.x[-1], made.x[i, j, -1])
        assert np.array_equal(one.y[:-1:3, 1], u[j, ::3, 0]) and one.y[-1, 1] == u[j, -1, 0]


def test_pieces_do_not_change_the_bits(monkeypatch):
    x0 = np.random.default_rng(0).normal(size=(9, 2))
    u = np.random.default_rng(1).normal(size=(9, 100, 1))
    whole = integrate(DRIVEN, x0, 0.01, 100, u, every=7)
    monkeypatch.setattr(driver, "PIECE", 40_000)
    pieces = integrate(DRIVEN, x0, 0.01, 100, u, every=7)
    assert all(np.array_equal(getattr(whole, a), getattr(pieces, a)) for a in ("t", "x", "y", "diverged_at"))


def test_divergence_is_marked_with_its_step(monkeypatch):
    burst = Flow("burst", ("x",), (), lambda t, x, u: [x[0] * x[0]])  # x = 1 / (1/x₀ − t)
    x0 = np.array([[1.0], [0.01], [2.0], [-1.0]])
    made = integrate(burst, x0, 0.01, 300, method="rk4")
    assert made.diverged_at[1] == made.diverged_at[3] == -1
    assert 100 <= made.diverged_at[0] <= 110 and 50 <= made.diverged_at[2] <= 60
    for x, d in zip(made.x[..., 0], made.diverged_at, strict=True):
        assert np.isfinite(x[: d + 1 if d >= 0 else None]).all() and (d < 0 or np.isnan(x[d + 1 :]).all())
    assert np.array_equal(made.x[1], integrate(burst, x0[1], 0.01, 300).x)
    monkeypatch.setattr(driver, "PIECE", 1_000)
    assert np.array_equal(integrate(burst, x0, 0.01, 300).diverged_at, made.diverged_at)


def test_settle_is_applied_after_each_step():
    """A ball that is put back onto the floor; the rule sees the time after the step, and the state before it."""

    def settle(t, before, x, u):
        under = x[0] < 0.0
        return [scalar.where(under, 0.0, x[0]), scalar.where(under, 0.0, x[1]), t, before[0]]

    ball = Flow("ball", ("h", "v", "time", "before"), (), lambda t, x, u: [x[1], -9.81, 0.0, 0.0], 1, settle)
    for name in METHODS:
        if not METHODS[name].mechanical:
            made = integrate(ball, [1.0, 0.0, 0.0, 0.0], 0.01, 100, method=name)
            assert made.x[:, 0].min() == 0.0 and np.array_equal(made.x[-1, :2], [0.0, 0.0]), name
            assert np.abs(made.x[1:, 2] - made.t[1:]).max() < 1e-15
            assert np.array_equal(made.x[1:, 3], made.x[:-1, 0])


def test_no_steps_and_no_rollouts():
    made = integrate(DRIVEN, START, 0.1, 0, [0.2])
    assert made.x.tolist() == [START.tolist()] and made.t.tolist() == [0.0] and made.diverged_at == -1
    assert integrate(DRIVEN, np.zeros((0, 2)), 0.1, 5).x.shape == (0, 6, 2)
    assert integrate(DRIVEN, START, 0.1, 3, every=10).t.tolist() == [0.0, 0.1 * 3]
    assert integrate(DRIVEN, [1, 0], 0.1, 3).x.dtype == float


# ------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dt": 0.0}, r"dt is 0.0; it must be greater than 0 \[s\]"),
        ({"dt": -1e-3}, "dt is -0.001; it must be greater than 0"),
        ({"dt": float("nan")}, "dt is nan; it must be a finite number"),
        ({"dt": "fast"}, r"dt must be a finite number \[s\], got 'fast'"),
        ({"t0": float("inf")}, "t0 is inf; it must be a finite number"),
        ({"steps": -1}, "steps must be a whole number, at least 0; got -1"),
        ({"steps": 2.5}, "steps must be a whole number, at least 0; got 2.5"),
        ({"every": 0}, "every must be a whole number, at least 1; got 0"),
        ({"every": True}, "every must be a whole number, at least 1; got True"),
        ({"x0": [1.0, np.nan]}, r"x0\[1\] is nan; it must be a finite number"),
        ({"x0": [1.0]}, r"x0 has shape \(1,\); its last dimension must be 2: the states of 'driven pendulum', q, qd"),
        ({"x0": "upright"}, "x0 must be a rectangular array of real numbers .*, got 'upright'"),
        ({"u": [[0.0], [np.inf]]}, r"u\[1, 0\] is inf; it must be a finite number"),
        ({"u": np.zeros((4, 1))}, r"u has 4 rows for 5 steps; it must be \(…, steps, 1\)"),
        (
            {"u": [0.0, 1.0]},
            r"u has shape \(2,\); its last dimension must be 1: the inputs of 'driven pendulum', torque",
        ),
        ({"x0": np.zeros((3, 2)), "u": np.zeros((2, 5, 1))}, r"do not broadcast: x0 \(3,\), u \(2,\)"),
        ({"iterations": 4}, "rk4 does not iterate"),
        ({"method": "implicit-midpoint", "iterations": 0}, "iterations must be a whole number, at least 1; got 0"),
        ({"parameters": {"torque": np.nan}}, "parameter 'torque' is nan"),
    ],
)
def test_bad_input_is_refused_in_words(changed, message):
    given = {"x0": START, "dt": 0.1, "steps": 5, **changed}
    with pytest.raises(InputError, match=message):
        integrate(DRIVEN, **given)


def test_unknown_names_and_flows_that_do_not_fit():
    with pytest.raises(UnknownNameError, match="unknown method 'rk5'; did you mean"):
        integrate(DRIVEN, START, 0.1, 5, method="rk5")
    with pytest.raises(UnknownNameError, match="unknown input of 'driven pendulum' 'torqe'; did you mean 'torque'"):
        integrate(DRIVEN, START, 0.1, 5, parameters={"torqe": 1.0})
    heat = Flow("heat", ("T",), (), lambda t, x, u: [-x[0]])
    with pytest.raises(InputError, match="verlet needs positions and their rates, and 'heat' names none"):
        integrate(heat, [1.0], 0.1, 5, method="verlet")
    with pytest.raises(InputError, match="of 'listed' must be tuples of names"):
        integrate(Flow("listed", ["T"], (), heat.rate), [1.0], 0.1, 5)
    with pytest.raises(InputError, match="'blind' must have outputs and what observes them, or neither"):
        integrate(Flow("blind", ("T",), (), heat.rate, outputs=("T",)), [1.0], 0.1, 5)
    short = Flow("short", ("a", "b"), (), lambda t, x, u: [x[1]])
    with pytest.raises(InputError, match="the rate of 'short' gives 1 numbers for 2 states"):
        integrate(short, [1.0, 0.0], 0.1, 5)
    with pytest.raises(InputError, match=r"a Flow is integrated, not a Robot; flow\(\) makes one"):
        integrate(dl.load("rp"), [1.0, 0.0], 0.1, 5)
    with pytest.raises(InputError, match="would let its joints move freely"):
        dl.load("four-bar").flow()
    with pytest.raises(InputError, match="does not support friction, wrenches or a payload"):
        dl.load("rp").flow(momenta=True, friction=True)
    with pytest.raises(UnknownNameError, match="unknown frame 'tol'"):
        dl.load("rp").flow(wrenches=["tol"])
