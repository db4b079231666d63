"""The change of basis to sums of angles, and shorter forms, are exact."""

from __future__ import annotations

import pytest
from flint import fmpq

from dalembert.errors import InputError
from dalembert.symbolic.fourier import Basis, fourier
from dalembert.symbolic.polynomial import Ring
from dalembert.symbolic.shorten import senses, shortener
from errors import raises
from symbolic.arms import GROUPS, random_polynomial, random_ring


@pytest.fixture
def planar() -> Ring:
    return Ring([("s1", "c1"), ("s2", "c2")], parameters=["l1", "l2"])


@pytest.mark.parametrize("seed", range(40))
def test_there_and_back(seed):
    ring = random_ring()
    basis = Basis(ring, GROUPS)
    p = random_polynomial(ring, seed)
    functions = basis.functions(p)
    assert basis.polynomial(functions) == p
    assert all(fourier(f) == f for f in functions.values())
    short = shortener(basis.groups, [key for f in functions.values() for key in f])
    for shorten in (
        short.shorten,
        short.shorten_more,
        lambda f: short.shorten(f, "c"),
        lambda f: short.shorten(f, "s"),
    ):
        written = {m: shorten(f) for m, f in functions.items()}
        assert basis.polynomial(written) == p
        assert {m: fourier(f) for m, f in written.items()} == functions


def test_the_cosine_of_a_sum_is_one_term(planar):
    basis = Basis(planar, [(0, 1)])
    c12 = planar["c1"] * planar["c2"] - planar["s1"] * planar["s2"]
    assert basis.functions(planar["l2"] * c12) == {(0, 1): {((("c", (1, 1)),), ()): fmpq(1)}}


def test_apart_the_angles_stay_apart(planar):
    p = planar["c1"] * planar["c2"] - planar["s1"] * planar["s2"]
    assert len(Basis(planar).functions(p)[0, 0]) == 2


def test_squares_and_products(planar):
    """c₁² and c₁ c₁₂ are four terms in Fourier form, and two in the shorter one."""
    basis = Basis(planar, [(0, 1)])
    c1, c12 = planar["c1"], planar["c1"] * planar["c2"] - planar["s1"] * planar["s2"]
    (function,) = basis.functions(c1**2 + 2 * c1 * c12).values()
    assert len(function) == 4
    short = shortener(basis.groups, function).shorten_more(function)
    assert set(short) == {((("c", (1, 0)), ("c", (1, 0))), ()), ((("c", (1, 0)), ("c", (1, 1))), ())}


def test_joints_of_opposite_sense_are_subtracted(planar):
    basis = Basis(planar, [(0, 1)])
    c1, difference = planar["c1"], planar["c1"] * planar["c2"] + planar["s1"] * planar["s2"]
    (function,) = basis.functions((c1 + difference) ** 2).values()
    assert senses((0, 1), 0, function) == (1, -1)
    assert len(shortener(basis.groups, function).shorten_more(function)) == 3


def test_a_sliding_coordinate_has_no_group():
    ring = Ring([("s1", "c1"), ("q2",)])
    with raises(InputError, "unsupported coordinates"):
        Basis(ring, [(0, 1)])
