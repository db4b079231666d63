"""The tools of these tests can say no: equal and unequal formulas are told apart, and rounding is judged."""

from __future__ import annotations

import pytest
import sympy as sp

from notes.derive import V, confirm, differ, misprint, points, q1, q2, rigid, rounds, same

c, s = sp.cos(q1), sp.sin(q1)


def test_equal_in_another_form():
    assert same(c**2 + s**2, 1) and same(sp.sin(q1 + q2), s * sp.cos(q2) + c * sp.sin(q2))
    assert same(sp.Matrix([[s**3, 1 / (1 + c)]]), sp.Matrix([[s - s * c**2, 1 / (c + 1)]]))
    assert not differ((s**2 - 1) / 2, -(c**2) / 2)


def test_unequal():
    assert not same(c**2, s**2) and differ(c**2, s**2)
    assert not same(sp.Matrix([1, 2]), sp.Matrix([[1, 2]])) and differ(sp.Matrix([1, 2]), sp.Matrix([[1, 2]]))
    with pytest.raises(AssertionError, match="derived"):
        confirm(rigid().M[0, 1] + 1, rigid().M[0, 1])


def test_a_misprint_must_be_one():
    with pytest.raises(AssertionError, match="as printed it is right"):
        misprint(s, s, s)
    with pytest.raises(AssertionError, match="derived"):
        misprint(c, 2 * s, s)


def test_rounding_is_judged():
    assert rounds(0.577, 3**-0.5) and not rounds(0.578, 3**-0.5) and rounds(0.54, 0.45 / 0.83, 2)


def test_mechanics_of_a_known_case():
    """The second link at rest on the first: a compound pendulum of both."""
    inertia = points().M[0, 0].subs(q2, 0)
    m1, m2, l1, l2 = sp.symbols("m1 m2 l1 l2", positive=True)
    assert same(inertia, m1 * l1**2 + m2 * (l1 + l2) ** 2)
    assert points().c.subs(dict.fromkeys(V, 0)) == sp.zeros(2, 1)
