"""The same discrete problems by CasADi and IPOPT: the same least cost."""

from __future__ import annotations

import numpy as np
import pytest
from test_on_manifolds import pendulum, quadrotor
from tests.test_own_system import CartPole

import dalembert as dl
from dalembert import scalar
from dalembert.optimal import OptimalControl, effort, posture, speed, state

casadi = pytest.importorskip("casadi")
ARM = dl.load("planar-2r")


class Number:
    """A CasADi expression as a scalar of ours."""

    def __init__(self, x):
        self.x = x


def _expression(x):
    return x.x if isinstance(x, Number) else casadi.SX(x)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Number, f"__{_name}__", lambda a, b, f=f"__{_name}__": Number(getattr(_expression(a), f)(_expression(b))))
    setattr(Number, f"__r{_name}__", lambda a, b, f=f"__{_name}__": Number(getattr(_expression(b), f)(_expression(a))))
Number.__neg__ = lambda a: Number(-a.x)
for _name in ("lt", "gt", "le", "ge"):
    setattr(Number, f"__{_name}__", lambda a, b, f=f"__{_name}__": Number(getattr(a.x, f)(_expression(b))))
for _name in ("sin", "cos", "sqrt"):
    getattr(scalar, _name).register(Number)(lambda a, f=_name: Number(getattr(casadi, f)(a.x)))
scalar.where.register(Number)(lambda c, a, b: Number(casadi.if_else(c.x, _expression(a), _expression(b))))
scalar.arctan2.register(Number)(lambda a, b: Number(casadi.atan2(_expression(a), _expression(b))))


def ipopt(problem, x0, guess, **parameters):
    """(least cost, x) of a problem, by direct multiple shooting on the very same step, costs and limits."""
    n, m, N = len(problem.flow.states), problem.m, problem.N
    x, u = casadi.SX.sym("x", n), casadi.SX.sym("u", m)
    xs, us = [Number(x[i]) for i in range(n)], [Number(u[i]) for i in range(m)]
    p = problem.parameters_at(0.0, (), **parameters)[0].tolist()

    def function(values, *inputs):
        return casadi.Function("f", inputs, [casadi.vertcat(*(v.x if isinstance(v, Number) else v for v in values))])

    from dalembert.optimal.terms import evaluate, total

    step = function(problem.advance(xs, us, p), x, u)
    running = function([total(*evaluate("running", problem.terms["running"], problem._read(xs, us, p)))], x, u)
    terminal = function([total(*evaluate("terminal", problem.terms["terminal"], problem._read(xs, (), p)))], x)
    limited, last = function(problem._limited(xs, us, p), x, u), function(problem._limited(xs, None, p), x)
    of_input = np.array(problem.limits_of_inputs, bool)
    opti = casadi.Opti()
    X, U = opti.variable(n, N + 1), opti.variable(m, N)
    cost = terminal(X[:, N])
    opti.subject_to(X[:, 0] == x0)
    for k in range(N):
        opti.subject_to(X[:, k + 1] == step(X[:, k], U[:, k]))
        cost += problem.dt * running(X[:, k], U[:, k])
        for i in range(m):
            low, high = problem.bounds[:, i]
            if np.isfinite(low):
                opti.subject_to(opti.bounded(low, U[i, k], high))
        rows = np.flatnonzero(of_input if k == 0 else np.ones(len(of_input))).tolist()
        if rows:
            opti.subject_to(limited(X[:, k], U[:, k])[rows] <= 0)
    rows = np.flatnonzero(~of_input).tolist()
    if rows:
        opti.subject_to(last(X[:, N])[rows] <= 0)
    if problem.terms["end"]:
        opti.subject_to(function(problem._ended(xs, p), x)(X[:, N]) == 0)
    opti.minimize(cost)
    opti.set_initial(X, guess.x.T)
    opti.set_initial(U, guess.u.T)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "tol": 1e-10, "sb": "yes", "max_iter": 1000})
    found = opti.solve()
    return float(found.value(cost)), found.value(X).T


UP = [0.0, np.pi, 0.0, 0.0]
PROBLEMS = {
    "swing-up": (
        OptimalControl(
            CartPole(), 2.0, 0.04, running=[effort(0.01), state(UP, [0.1, 1, 0.01, 0.01])], terminal=state(UP, 100.0)
        ),
        [0.0, 0.01, 0.0, 0.0],
    ),
    "swing-up within a force": (
        OptimalControl(
            CartPole(),
            3.0,
            0.04,
            running=[effort(0.01), state(UP, [0.1, 1, 0.01, 0.01])],
            terminal=state(UP, 100.0),
            limits={"force": 12.0},
            method="rk4",
        ),
        [0.0, 0.01, 0.0, 0.0],
    ),
    "reach": (
        OptimalControl(ARM, 0.5, 0.02, running=[effort(1e-3), speed(0.1)], terminal=state([1.0, -0.5, 0, 0], 1e3)),
        [0.0, 0.0, 0.0, 0.0],
    ),
    "reach within torques": (
        OptimalControl(
            ARM, 0.6, 0.02, running=[effort(1e-3)], terminal=state([1.0, -0.5, 0, 0], 100.0), limits={"u": 26.0}
        ),
        [0.0, 0.0, 0.0, 0.0],
    ),
    "reach within speeds": (
        OptimalControl(
            ARM, 0.6, 0.02, running=[effort(1e-3)], terminal=state([1.0, -0.5, 0, 0], 100.0), limits={"v": 1.9}
        ),
        [0.0, 0.0, 0.0, 0.0],
    ),
    "fixed end": (
        OptimalControl(
            ARM,
            0.6,
            0.02,
            running=[effort(1e-3), posture([0.0, 0.0], 0.1)],
            end=lambda x: [a - b for a, b in zip(x, [0.8, -0.4, 0.0, 0.0], strict=True)],
        ),
        [0.0, 0.0, 0.0, 0.0],
    ),
}


PROBLEMS |= {"spherical pendulum": pendulum(), "quadrotor": quadrotor()}


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_cost_is_that_of_ipopt(name):
    problem, x0, *guess = PROBLEMS[name]
    found = problem.solve(x0, u=guess[0] if guess else None)
    assert found.converged, found
    best, _ = ipopt(problem, x0, found)
    print(f"{name}: ours {float(found.cost):.9g}, IPOPT {best:.9g}, {int(found.iterations)} iterations")
    np.testing.assert_allclose(found.cost, best, rtol=1e-4)
