"""The tools of these tests can say no: equal and unequal formulas are told apart, and rounding is judged."""

from __future__ import annotations

import pytest
import sympy as sp

from notes.derive import (
    A,
    Q,
    V,
    along,
    confirm,
    differ,
    g,
    l1,
    m1,
    m2,
    misprint,
    points,
    q1,
    q2,
    qd,
    qdd,
    rigid,
    rounds,
    same,
)

c, s = sp.cos(q1), sp.sin(q1)


def test_equal_in_another_form():
    assert same(c**2 + s**2, 1) and same(sp.sin(q1 + q2), s * sp.cos(q2) + c * sp.sin(q2))
    assert same(sp.Matrix([[s**3, 1 / (1 + c)]]), sp.Matrix([[s - s * c**2, 1 / (c + 1)]]))
    assert not differ((s**2 - 1) / 2, -(c**2) / 2)
    M = rigid().M
    assert same(sp.expand(M[0, 1]), M[0, 1]) and not same(M[0, 0], M[1, 1])


def test_unequal():
    assert not same(c**2, s**2) and differ(c**2, s**2)
    assert not same(sp.Matrix([1, 2]), sp.Matrix([[1, 2]])) and differ(sp.Matrix([1, 2]), sp.Matrix([[1, 2]]))
    with pytest.raises(AssertionError, match="derived"):
        confirm(rigid().M[0, 1] + 1, rigid().M[0, 1])


def test_a_misprint_must_be_one():
    right = rigid().M[0, 1]
    for printed, corrected in ((right, right), (right + c, 2 * right)):
        with pytest.raises(AssertionError):
            misprint(printed, corrected, right)


def test_rounding_is_judged():
    M22 = rigid().M[1, 1]
    exact = float(M22.subs(dict.fromkeys(M22.free_symbols, sp.Rational(1, 3))))
    assert rounds(round(exact, 3), exact) and not rounds(round(exact, 3) + 0.001, exact)
    assert rounds(0.577, 3**-0.5) and not rounds(0.578, 3**-0.5) and rounds(0.54, 0.45 / 0.83, 2)


@pytest.mark.parametrize("arm", [rigid, points])
def test_the_equations_of_the_library_are_those_of_lagrange(arm):
    """d/dt ∂L/∂q̇ − ∂L/∂q with SymPy alone, from the centers of mass, against the library's terms."""
    x = arm()
    u = [p.jacobian(Q) * qd for p in (along(x.letters["r1"], q1), along(l1, q1) + along(x.letters["r2"], q1 + q2))]
    J1, J2 = x.letters["I1"], x.letters["I2"]
    K = m1 * u[0].dot(u[0]) / 2 + m2 * u[1].dot(u[1]) / 2 + J1 * V[0] ** 2 / 2 + J2 * (V[0] + V[1]) ** 2 / 2
    P = g * (m1 * x.letters["r1"] * sp.sin(q1) + m2 * (l1 * sp.sin(q1) + x.letters["r2"] * sp.sin(q1 + q2)))
    confirm([x.K, x.P], [K, P])
    L = sp.expand(K - P)
    momenta = [L.diff(v) for v in V]
    rates = [sum(p.diff(q) * v + p.diff(v) * a for q, v, a in zip(Q, V, A, strict=True)) for p in momenta]
    confirm(x.tau, sp.Matrix([r - L.diff(q) for r, q in zip(rates, Q, strict=True)]))
    confirm(x.M * qdd + x.C * qd + x.g, x.tau)
    confirm(x.C * qd, x.c)
    confirm(sum((x.gamma[i][j][0] * V[i] * V[j] for i in range(2) for j in range(2)), 0), x.c[0])
