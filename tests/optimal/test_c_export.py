"""Predictive control in C: compiled strictly, run in closed loop beside the controller in Python, bit for bit."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from tests.optimal.test_on_manifolds import flight
from tests.optimal.test_problem import linear_flow
from tests.test_own_system import CartPole

import dalembert as dl
from dalembert.compile.ir_to_c import translate
from dalembert.errors import InputError
from dalembert.optimal import OptimalControl, PredictiveControl, effort, posture, speed, state
from errors import raises

GCC = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(GCC is None, reason="no C compiler")
ARM = dl.load("planar-2r")
COSTS = {
    "running": [effort(1e-3), posture("goal", 50.0), speed(1.0)],
    "terminal": [posture("goal", 50.0), speed(5.0)],
    "parameters": {"goal": [0.5, 0.5]},
}


class Compiled:
    """The C of a controller, as a shared library; the state is an array of doubles."""

    def __init__(self, control: PredictiveControl, x0, folder) -> None:
        files = control.c_files(x0, "mpc")
        for name, text in files.items():
            (folder / name).write_text(text)
        assert GCC is not None
        strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
        subprocess.run([GCC, *strict, "mpc.c", "-o", "mpc.so", "-lm"], cwd=folder, check=True)
        self.library, self.problem, self.header = ctypes.CDLL(str(folder / "mpc.so")), control.problem, files["mpc.h"]
        found = re.search(r"sizeof\(mpc_state\): (\d+) bytes", self.header)
        assert found is not None
        self.state = np.zeros(int(found[1]) // 8 + 1)
        self.state[-1] = 7.25  # beyond the end: must stay
        self.start()

    def start(self) -> None:
        self.library.mpc_start(_at(self.state))

    def first(self) -> np.ndarray:
        at = (self.problem.N + 1) * self.problem.n
        return self.state[at : at + self.problem.m].copy()

    def step(self, t: float, x: np.ndarray, given: np.ndarray | None = None) -> tuple[int, np.ndarray]:
        u = np.full(self.problem.m, np.nan)
        more = [None if given is None else _at(np.ascontiguousarray(given, float))] if self.problem.values else []
        status = self.library.mpc_step(_at(self.state), ctypes.c_double(t), _at(x), *more, _at(u))
        assert self.state[-1] == 7.25
        return status, u


def _at(x: np.ndarray) -> ctypes.c_void_p:
    return x.ctypes.data_as(ctypes.c_void_p)


def compare(control: PredictiveControl, x0, folder, samples: int = 120, push: float = 0.0) -> Compiled:
    """Both in closed loop with the problem's own step, pushed now and then; the same bits at every sample."""
    made, p = Compiled(control, x0, folder), control.problem
    x, rng = np.array(x0, float), np.random.default_rng(0)
    for k in range(samples):
        t = k * control.sample_time
        u = control(t, x)
        given = None
        if control.targets is not None:
            given = np.concatenate([np.ravel(v) for v in control.targets(t + p.dt * np.arange(p.N + 1)).values()])
        status, own = (0, made.first()) if k == 0 else made.step(t, x, given)
        assert status == 0
        np.testing.assert_array_equal(own, u, err_msg=f"sample {k}")
        x = p.mover(x, u, p.parameters_at(t)[0])
        x[p.flow.nq * p.curved :] += push * rng.normal(size=p.n)[p.flow.nv * p.curved :]
    return made


@needs_compiler
def test_an_arm_with_limits_of_its_inputs_is_the_same_to_the_bit(tmp_path):
    control = PredictiveControl(OptimalControl(ARM, 0.3, 0.02, limits={"u": (-30.0, [60.0, 25.0])}, **COSTS))
    made = compare(control, [0.0, 0.0, 0.0, 0.0], tmp_path, push=0.05)
    assert "4 states, 2 inputs, 15 nodes of 0.02 s" in made.header
    assert re.search(r"An iteration takes \d+ operations, at most \d+", made.header)


@needs_compiler
@pytest.mark.parametrize("exact", [False, True])
def test_final_conditions_and_second_derivatives(tmp_path, exact):
    problem = OptimalControl(ARM, 0.3, 0.02, limits={"u": 60.0}, end=lambda v: list(v), exact=exact, **COSTS)
    compare(PredictiveControl(problem, iterations=2), [0.0, 0.0, 0.0, 0.0], tmp_path)


@needs_compiler
def test_second_derivatives_that_are_indefinite(tmp_path):
    """A pendulum that swings up by its first joint alone: Q_uu is negative on the way, and the step is made again."""
    up = [np.pi / 2, 0.0]
    costs = {"running": [effort(1e-3), posture(up, 1.0)], "terminal": state([*up, 0.0, 0.0], 10.0)}
    problem = OptimalControl(ARM, 0.6, 0.02, inputs=["joint1_torque"], limits={"u": 25.0}, exact=True, **costs)
    control = PredictiveControl(problem)
    compare(control, [-1.5, 0.0, 0.0, 0.0], tmp_path)
    assert control._memory.engine.info[0, 3] == 1.0  # positive definite when the step was taken


@needs_compiler
def test_positions_on_a_manifold(tmp_path):
    problem, x0 = flight()
    control = PredictiveControl(problem)
    made = compare(control, x0, tmp_path, samples=60, push=1e-3)
    assert "13 states, 4 inputs" in made.header
    made.library.mpc_rest(_at(made.state), ctypes.c_double(0.0), _at(x0))
    late = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)
    made.state[-2:-1].view(np.int64)[0] = ctypes.cast(late, ctypes.c_void_p).value
    assert made.step(0.04, x0)[0] == 1


@needs_compiler
def test_a_cart_pole_sampled_faster_than_its_nodes(tmp_path):
    costs = {"running": [state([0, 0, 0, 0], [1, 10, 1, 1]), effort(0.01)], "terminal": state([0, 0, 0, 0], 30.0)}
    problem = OptimalControl(CartPole(), 1.0, 0.05, method="rk4", **costs)
    compare(PredictiveControl(problem, rate=200.0), [0.1, 0.3, 0.0, 0.0], tmp_path, push=1e-3)


@needs_compiler
def test_targets_are_given_at_each_sample(tmp_path):
    problem = OptimalControl(
        ARM,
        0.3,
        0.02,
        running=[effort(1e-5), posture("goal", 100.0), lambda v, damping: damping * v[0]],
        parameters={"goal": np.zeros((16, 2)), "damping": 0.1},
        moving=["goal"],
    )

    def targets(t):
        return {"goal": np.stack((0.3 * np.sin(2 * t), 0.2 * np.cos(2 * t)), -1), "damping": 0.2 + 0.1 * t[0]}

    compare(PredictiveControl(problem, targets=targets), [0.0, 0.2, 0.0, 0.0], tmp_path)


@needs_compiler
def test_a_motion_is_followed_at_the_nodes(tmp_path):
    """(q, q̇, q̈) of every node, and ω and ζ, as the struct has them."""
    control, motion = PredictiveControl.for_bandwidth(ARM, 10.0), dl.trajectories.minimum_jerk([0, 0], [0.6, 0.4], 0.5)
    p = control.problem
    ahead = p.dt * np.arange(p.N + 1)[:, None]
    control(0.0, np.zeros(4), motion)
    made, x = Compiled(control, np.zeros(4), tmp_path), np.zeros(4)  # at rest at first, as the motion is
    for k in range(1, 60):
        t = k * p.dt
        q, v, a = (np.asarray(part) for part in motion(t))
        rows = np.concatenate((q + ahead * v + 0.5 * ahead * ahead * a, v + ahead * a, a + 0.0 * ahead), 1)
        u = control(t, x, motion)
        status, own = made.step(t, x, np.concatenate((rows.ravel(), [10.0, 1.0])))
        assert status == 0
        np.testing.assert_array_equal(own, u, err_msg=f"sample {k}")
        x = p.stepper(x, u, p.parameters_at(t)[0])
    np.testing.assert_allclose(x[:2], [0.6, 0.4], atol=0.01)


@needs_compiler
def test_a_system_without_positions(tmp_path):
    A, B = np.array([[0.0, 1.0], [2.0, -0.3]]), np.array([[0.0], [1.0]])
    problem = OptimalControl(linear_flow(A, B), 1.0, 0.05, running=[state([0, 0], 1.0), effort(0.1)])
    compare(PredictiveControl(problem), [1.0, -0.4], tmp_path)


@needs_compiler
def test_bad_states_lateness_and_a_start_elsewhere(tmp_path):
    control = PredictiveControl(OptimalControl(ARM, 0.3, 0.02, limits={"u": 60.0}, **COSTS))
    made = Compiled(control, np.zeros(4), tmp_path)
    status, u = made.step(0.02, np.array([0.0, np.nan, 0.0, 0.0]))
    assert status == 3 and np.isfinite(u).all()
    status, u = made.step(0.04, np.zeros(4))
    assert status == 0 and np.isfinite(u).all()  # nothing of it stays
    status, u = made.step(0.06, np.full(4, 1e200))
    assert status == 2 and np.isfinite(u).all() and np.abs(u).max() <= 60.0
    made.library.mpc_rest(_at(made.state), ctypes.c_double(0.1), _at(np.array([0.3, -0.2, 0.0, 0.0])))
    held = ARM.inverse_dynamics([0.3, -0.2], [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(made.first(), held, rtol=1e-9)
    x = np.array([0.3, -0.2, 0.0, 0.0])
    for k in range(6, 80):
        status, u = made.step(k * 0.02, x)
        assert status == 0
        x = control.problem.stepper(x, u, control.problem.parameters_at()[0])
    np.testing.assert_allclose(x[:2], 0.5, atol=0.01)
    late = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)
    made.state[-2:-1].view(np.int64)[0] = ctypes.cast(late, ctypes.c_void_p).value
    status, fed = made.step(1.6, x)
    assert status == 1
    np.testing.assert_allclose(fed, u, atol=0.5)


def test_what_cannot_be_exported_is_told():
    control = PredictiveControl(OptimalControl(ARM, 0.3, 0.02, **COSTS))
    with raises(InputError, "wrong-shape x0"):
        control.c_files(np.zeros(3))
    with raises(InputError, "not-finite x0"):
        control.c_files([np.nan, 0.0, 0.0, 0.0])
    with raises(InputError, "unsupported limits"):
        PredictiveControl(OptimalControl(ARM, 0.3, 0.02, limits={"v": 1.0}, **COSTS)).c_files(np.zeros(4))
    with raises(InputError, "conflict reference"):
        control.c_files(np.zeros(4), reference=[0.5, 0.5])
    with pytest.raises(InputError, match="generated code needs the name 'for'"):
        control.c_files(np.zeros(4), "for")
    costs = {"running": lambda u, double: [u[0], double * u[1]], "parameters": {"double": 1.0}}
    with pytest.raises(InputError, match="generated code needs the name 'double'"):  # a member of its struct
        PredictiveControl(OptimalControl(ARM, 0.3, 0.02, **costs)).c_files(np.zeros(4))
    with pytest.raises(ValueError, match="no C for the IR"):
        translate("define internal void @f(ptr %a) {\n  %t1 = load i8, ptr %a\n  store double %t1, ptr %a\n}")
