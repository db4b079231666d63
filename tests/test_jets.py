"""Jets: values, rates and accelerations along a motion, over floats, trace nodes and polynomials."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from dalembert import scalar
from dalembert.compile import compile_function
from dalembert.scalar.jet import Jet, jet

FUNCTIONS = {
    "product": (lambda x: x * x * x - 2.0 * x + 1.0, lambda x: x**3 - 2 * x + 1),
    "quotient": (lambda x: (x + 1.0) / (x * x + 2.0), lambda x: (x + 1) / (x**2 + 2)),
    "reciprocal": (lambda x: 3.0 / x, lambda x: 3 / x),
    "sine": (lambda x: scalar.sin(x * x), lambda x: sp.sin(x**2)),
    "cosine": (lambda x: scalar.cos(2.0 * x) - x, lambda x: sp.cos(2 * x) - x),
    "root": (lambda x: scalar.sqrt(x * x + 1.0), lambda x: sp.sqrt(x**2 + 1)),
    "power": (lambda x: (x - 2.0) ** 3, lambda x: (x - 2) ** 3),
    "size": (lambda x: scalar.absolute(x - 5.0) * x, lambda x: (5 - x) * x),
    "angle": (lambda x: scalar.arctan2(x * x, x + 1.0), lambda x: sp.atan2(x**2, x + 1)),
    "choice": (lambda x: scalar.where(x < 1.0, x * x, 2.0 * x), lambda x: x**2 if X0 < 1 else 2 * x),
    "constant": (lambda x: 1.0 - (0.0 - x) + (2.0 - x), lambda x: sp.Integer(3)),
}
X0, V0, A0 = 0.7, -1.3, 0.4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_chain_rule_against_sympy(name):
    ours, theirs = FUNCTIONS[name]
    t = sp.Symbol("t")
    f = theirs(X0 + V0 * t + A0 * t**2 / 2)
    expected = [float(sp.diff(f, t, k).subs(t, 0)) for k in range(3)]
    y = jet(ours(Jet(X0, V0, A0)))
    np.testing.assert_allclose([y.value, y.rate, y.acceleration], expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_jets_are_the_same(name):
    ours, _ = FUNCTIONS[name]

    def traced(x):
        y = jet(ours(Jet(*x)))
        return [y.value, y.rate, y.acceleration]

    kernel = compile_function(traced, [(3,)], [(3,)])
    np.testing.assert_allclose(kernel(np.array([X0, V0, A0])), traced([X0, V0, A0]), rtol=1e-14, atol=1e-15)


def test_what_stands_still_costs_nothing():
    """A jet without rate is a constant: no node is made for its derivatives."""
    y = scalar.sin(Jet(0.3)) * 2.0 + Jet(1.0)
    assert (y.rate, y.acceleration) == (0.0, 0.0)
    with pytest.raises(TypeError):
        _ = Jet(1.0) ** 0.5
