"""The trace: equal things are one node, zeros and signs fold, and strangers are refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dalembert import scalar
from dalembert.compile import compile_function
from dalembert.compile.functions import fma
from dalembert.compile.graph import Graph, Node
from dalembert.compile.lower import lower


@pytest.fixture
def xy():
    g = Graph()
    return g.input(0, 0), g.input(0, 1)


def same(a: Node, b: Node) -> bool:
    return a.index == b.index


def test_common_subexpressions_are_one_node(xy):
    x, y = xy
    assert same(x * y + 1.0, 1.0 + y * x)
    assert same(scalar.sin(x), scalar.sin(x))
    assert not same(x - y, y - x)


def test_folding(xy):
    x, y = xy
    assert same(x + 0.0, x) and same(0.0 + x, x) and same(x - 0.0, x)
    assert same(1.0 * x, x) and same(-(-x), x) and same(-1.0 * x, -x)
    assert x * 0.0 == 0.0 and 0 * x == 0.0 and x - x == 0.0
    assert same(x + (-y), x - y) and same(x - (-y), x + y) and same((-x) * (-y), x * y)
    assert same((-x) * y, -(x * y)) and same(-x - y, -(x + y)) and same(-x + y, y - x)
    assert same(2.0 * (3.0 * x), 6.0 * x)
    assert same(scalar.sin(-x), -scalar.sin(x)) and same(scalar.cos(-x), scalar.cos(x))
    assert same(x / 4.0, 0.25 * x) and same(scalar.where(x < y, x, x), x)
    assert same(x**3, x * x * x)


def test_constants_are_keyed_by_their_bits():
    g = Graph()
    assert g.constant(0.0) != g.constant(-0.0)
    assert g.constant(math.nan) == g.constant(math.nan)
    assert g.constant(1.0) != g.constant(2.0)


def test_strangers_are_refused(xy):
    x, _ = xy
    for stranger in ("1", None, [1.0], Fraction(1, 2), 1j, object()):
        for act in (lambda a: x + a, lambda a: a - x, lambda a: x * a, lambda a: x / a, lambda a: x < a):
            with pytest.raises(TypeError):
                act(stranger)
    with pytest.raises(TypeError, match="another trace"):
        x + Graph().input(0, 0)
    with pytest.raises(TypeError, match="branch on structure"):
        bool(x < 1.0)


class Dual:
    """A scalar around another scalar: value and derivative. It must carry nodes as well as floats."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        o = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.a + o.a, self.b + o.b)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.a, -self.b)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        o = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.a * o.a, self.a * o.b + self.b * o.a)

    __rmul__ = __mul__


scalar.sin.register(Dual)(lambda x: Dual(scalar.sin(x.a), scalar.cos(x.a) * x.b))
scalar.cos.register(Dual)(lambda x: Dual(scalar.cos(x.a), -scalar.sin(x.a) * x.b))


def test_a_scalar_within_a_scalar():
    """The derivative of g by dual numbers over trace nodes, compiled, is that of dual numbers over floats."""
    import dalembert as dl
    from dalembert.algorithms import newton_euler

    arm = dl.load("puma560")

    def rate(q, qd):
        duals = [Dual(a, b) for a, b in zip(q, qd, strict=True)]
        out = newton_euler.gravity_torque(arm.model, duals)
        return [t.b if isinstance(t, Dual) else 0.0 for t in out]

    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 6))
    kernel = compile_function(rate, [(6,), (6,)], [(6,)])
    assert np.allclose(kernel(q, qd), rate(q.tolist(), qd.tolist()), rtol=0, atol=1e-13)
    h = 1e-6
    difference = (arm.gravity_torque(q + h * qd) - arm.gravity_torque(q - h * qd)) / (2 * h)
    assert np.allclose(kernel(q, qd), difference, rtol=0, atol=1e-6)


def test_products_are_fused_when_every_use_is_a_sum(xy):
    x, y = xy
    program = lower(x.graph, [[x * y + 1.0, x * y - x]])
    assert [s.operation for s in program.steps if s.operation not in ("input", "constant")] == ["fma", "fma"]
    program = lower(x.graph, [[x * y + 1.0, x * y]])  # the product itself is wanted too
    assert sorted(s.operation for s in program.steps if s.operands) == ["add", "multiply"]


def test_fma_of_what_is_not_finite():
    big, inf, nan = 1e300, math.inf, math.nan
    assert fma(big, big, -inf) == -inf and fma(big, big, inf) == inf
    for a, b, c in ((inf, 0.0, 1.0), (inf, 1.0, -inf), (nan, 1.0, 1.0), (1.0, 1.0, nan)):
        assert math.isnan(fma(a, b, c))
    assert math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite, finite)
@settings(max_examples=300, deadline=None)
def test_fma_rounds_once(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        wanted = float(exact)
    except OverflowError:
        wanted = math.inf if exact > 0 else -math.inf
    assert fma(a, b, c) == wanted


any_double = st.floats(width=64) | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e308])


def _expression(draw, x, y, z, depth):
    if depth == 0:
        return draw(st.sampled_from([x, y, z, 1.5, -2.0]))
    left = _expression(draw, x, y, z, depth - 1)
    right = _expression(draw, x, y, z, depth - 1)
    act = draw(st.sampled_from(["+", "-", "*", "/", "neg", "abs", "sqrt", "sin", "cos", "where"]))
    if act == "where" and isinstance(left, Node):
        return scalar.where(left < right, left, right)
    if act in ("abs", "sqrt", "sin", "cos"):
        return getattr(scalar, {"abs": "absolute"}.get(act, act))(left)
    if act == "neg":
        return -left
    if act == "/" and not isinstance(right, Node):
        return left
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }.get(act, lambda: left + right)()


@given(st.data(), st.lists(st.tuples(any_double, any_double, any_double), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_compiled_code_is_the_interpreted_graph_bit_for_bit(data, states):
    kernel = compile_function(
        lambda v: [_expression(data.draw, *v, depth=data.draw(st.integers(1, 4))) for _ in range(2)], [(3,)], [(2,)]
    )
    batch = np.array(states)
    with np.errstate(all="ignore"):
        compiled = kernel(batch)
        single = np.array([kernel(s) for s in batch])
    interpreted = np.array([kernel.interpret(s) for s in batch])
    for other in (single, interpreted):
        equal = (compiled == other) & (np.signbit(compiled) == np.signbit(other))
        assert (equal | (np.isnan(compiled) & np.isnan(other))).all()
