"""A system written outside the library in forty lines: simulated, controlled, examined and reported as our own."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import compile_function
from dalembert.scalar import cos, sin
from dalembert.system import System


class CartPole:
    """A pendulum on a cart, a system written outside the library: q = (x, θ), pushed by a force."""

    name = "cart-pole"
    states, inputs = ("x", "theta", "x_rate", "theta_rate"), ("force",)
    units = {"x": "m", "theta": "rad", "x_rate": "m/s", "theta_rate": "rad/s", "force": "N"}
    cart, bob, length, gravity = 1.0, 0.2, 0.5, 9.81

    def M(self, q):
        side = self.bob * self.length * cos(q[1])
        return [[self.cart + self.bob, side], [side, self.bob * self.length**2]]

    def C(self, q, qd):
        return [[0.0, -self.bob * self.length * sin(q[1]) * qd[1]], [0.0, 0.0]]

    def g(self, q):
        return [0.0, self.bob * self.gravity * self.length * sin(q[1])]

    def P(self, q):
        return -self.bob * self.gravity * self.length * cos(q[1])

    def rate(self, t, x, u):
        q, qd = x[:2], x[2:]
        (a, b), (_, d) = self.M(q)
        first = u[0] - self.C(q, qd)[0][1] * qd[1]
        second = -self.g(q)[1]
        det = a * d - b * b
        return [*qd, (d * first - b * second) / det, (a * second - b * first) / det]

    def flow(self):
        return dl.Flow(self.name, self.states, self.inputs, self.rate, positions=2)

    def kernel(self, name, given=(), **options):
        table = {"mass_matrix": (self.M, 1, (2, 2)), "coriolis_matrix": (self.C, 2, (2, 2))}
        table |= {"gravity_torque": (self.g, 1, (2,)), "potential_energy": (self.P, 1, ())}
        function, count, shape = table[name]
        return compile_function(function, [(2,)] * count, [shape], name, arguments=("q", "qd")[:count])


SYSTEM = CartPole()
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])


def test_it_is_a_system():
    assert isinstance(SYSTEM, System)


def test_it_swings_and_keeps_its_energy():
    run = dl.simulate(SYSTEM, q0=[0, 0.3], duration=2.0)
    q, qd = run.q, run.qd
    M, P = SYSTEM.kernel("mass_matrix")(q), SYSTEM.kernel("potential_energy")(q)
    E = 0.5 * np.einsum("ki,kij,kj->k", qd, M, qd) + P
    assert run.ok and np.ptp(E) < 1e-9
    center = (SYSTEM.cart + SYSTEM.bob) * q[:, 0] + SYSTEM.bob * SYSTEM.length * np.sin(q[:, 1])
    assert np.ptp(center) < 1e-9  # nothing pushes it


def test_it_is_held_upright():
    regulator = dl.control.lqr(dl.control.linearize(SYSTEM, UPRIGHT), np.diag([1, 1, 0.1, 0.1]), [[0.1]])
    start = [0.2, np.pi - 0.2]
    run = dl.simulate(SYSTEM, lambda t, x: -regulator.K @ (x - UPRIGHT), q0=start, duration=8.0)
    assert np.abs(run.q[-1] - UPRIGHT[:2]).max() < 1e-3


def test_it_has_the_properties_of_a_mechanism():
    found = dl.properties.lab(SYSTEM, states=50)
    assert found.ok and sum(p.verdict == "holds" for p in found) > 10


def test_it_is_reported(tmp_path):
    report = dl.write_report(SYSTEM, tmp_path / "cart.html", quick=True)
    assert [s.state for s in report.sections] == ["ok"] * 4
    page = report.path.read_text(encoding="utf-8")
    assert "theta_rate" in page and "rad/s" in page and "<svg" in page and "cart-pole" in page
    with pytest.raises(dl.UnknownNameError, match="unknown section 'workspace'"):
        dl.write_report(SYSTEM, tmp_path / "cart.html", sections=["workspace"])


class Half:
    """A system that forgot its units and kernels."""

    name, states, inputs = "half", ("a",), ()

    def flow(self):
        return dl.Flow("half", ("a",), (), lambda t, x, u: [-x[0]])


def test_what_it_cannot_do_is_told(tmp_path):
    with pytest.raises(dl.InputError, match="Half lacks units, kernel"):
        dl.write_report(Half(), tmp_path / "half.html")
    with pytest.raises(dl.InputError, match="or a system that has name, states, inputs, units, flow, kernel; got Half"):
        dl.properties.lab(Half())
    with pytest.raises(dl.InputError, match=r"say about which state: x, a number \(the states a\)"):
        dl.control.linearize(Half())
    with pytest.raises(dl.InputError, match="register takes an? Entry .*got int"):
        dl.control.register(3)
    with pytest.raises(dl.InputError, match="friction"):
        dl.simulate(SYSTEM, q0=[0, 0.3], duration=0.1, friction=True)
