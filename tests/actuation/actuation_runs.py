"""Flows integrated to high accuracy, with their powers as further states."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.actuation.motors import DCMotor
from dalembert.compile import compile_function
from dalembert.flow import Flow

MOTOR = DCMotor(resistance=1.2, torque_constant=0.05, inductance=2e-3, damping=1e-5, inertia=2e-5)
PLAIN = dl.load("planar-2r")


def compiled(flow: Flow):
    """The flow's rate as a kernel of (t, x, u)."""
    N, m = len(flow.states), len(flow.inputs)
    return compile_function(flow.rate, [(), (N,), (m,)], [(N,)], "rate")


def observed(flow: Flow):
    N, m = len(flow.states), len(flow.inputs)
    return compile_function(flow.observe, [(), (N,), (m,)], [(len(flow.outputs),)], "observe")


def run(flow: Flow, x0, u, duration: float, t_eval=None, tolerance: float = 1e-12):
    """x at t_eval (or at the end): u is a function of t."""
    rate = compiled(flow)
    found = solve_ivp(
        lambda t, x: rate(t, x, u(t)), (0, duration), x0, "DOP853", t_eval, rtol=tolerance, atol=tolerance * 1e-1
    )
    assert found.success
    return found.y[:, -1] if t_eval is None else found.y.T


def books(flow: Flow, x0, u, duration: float, powers, energies, tolerance: float = 1e-12):
    """(∫ first power, ∫ each other power, change of the energies): the first equals the sum of the rest."""
    rate, look = compiled(flow), observed(flow)
    of = [flow.outputs.index(name) for name in powers]
    kept = [flow.outputs.index(name) for name in energies]
    N = len(x0)

    def f(t, x):
        return np.r_[rate(t, x[:N], u(t)), look(t, x[:N], u(t))[of]]

    start = np.r_[x0, np.zeros(len(of))]
    end = solve_ivp(f, (0, duration), start, "DOP853", rtol=tolerance, atol=tolerance).y[:, -1]
    change = look(duration, end[:N], u(duration))[kept] - look(0.0, np.asarray(x0, float), u(0.0))[kept]
    return end[N], end[N + 1 :], change


def central(f, x, h=1e-6):
    """∂f/∂x by central differences, columns last."""
    x = np.asarray(x, float)
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], axis=-1)
