"""Determinants factored completely."""

from __future__ import annotations

import pytest

from dalembert.symbolic.expression import ZERO, Power, Product, evaluate
from dalembert.symbolic.factor import factored, factors_of
from dalembert.symbolic.polynomial import Ring
from dalembert.symbolic.text import text
from symbolic.arms import (
    ELBOW,
    GROUPS,
    PLANAR,
    PUMA,
    UR,
    determinant,
    jacobian,
    random_point,
    random_polynomial,
    random_ring,
    ring_of,
)

CASES = [
    ("planar 2R", PLANAR[:2], [(0, 1)], True, (0, 1), "l1*l2*s2"),
    ("articulated", ELBOW, [(1, 2)], True, (0, 1, 2), "-a2*a3*s3*(a2*c2 + a3*c23)"),
    ("Puma", PUMA, [(1, 2)], False, range(6), "a2*s5*(d4*c3 + a3*s3)*(a2*c2 + a3*c23 - d4*s23)"),
    ("UR", UR, [(1, 2, 3)], True, range(6), "a2*a3*s3*s5*(a2*c2 + a3*c23 + d5*s234)"),
]


@pytest.mark.parametrize(("name", "rows", "groups", "tip", "lines", "expected"), CASES, ids=[c[0] for c in CASES])
def test_jacobian_determinants(name, rows, groups, tip, lines, expected):
    ring = ring_of(rows)
    J = jacobian(ring, rows, tip)
    det = determinant([J[i] for i in lines])
    assert text(factored(det, groups)) == expected


@pytest.mark.parametrize("seed", range(30))
def test_products_come_apart(seed):
    """At least the factors that were multiplied, and their product is exact (factors_of checks that)."""
    ring = random_ring()
    p, q = (
        next(filter(bool, (random_polynomial(ring, k + 100 * again, 3) for again in range(9))))
        for k in (2 * seed, 2 * seed + 1)
    )
    together = sum(n for _, n in factors_of(ring.scalar(p * q))[1])
    assert together >= max(sum(n for _, n in factors_of(x)[1]) for x in (p, q))
    expression = factored(ring.scalar(p * q), GROUPS)
    values, angles = random_point(ring, seed)
    assert evaluate(expression, angles) == pytest.approx((p * q).substituted(values), rel=1e-9, abs=1e-9)


@pytest.fixture
def ring() -> Ring:
    return Ring([("s1", "c1"), ("s2", "c2"), ("s3", "c3")], angles=[("sa1", "ca1")], parameters=["b"], rates=["qd1"])


def test_powers_of_sines_are_not_taken_for_one_minus_cosine(ring):
    p = ring["s2"] ** 2 * ring["c3"] ** 3 * (1 - ring["c1"])
    assert text(factored(p)) == "s2^2*c3^3*(1 - c1)"


def test_sums_of_angles_and_fixed_angles(ring):
    s23 = ring["s2"] * ring["c3"] + ring["c2"] * ring["s3"]
    p = s23**2 * (ring["s1"] + 1) * ring["sa1"] ** 2 * (ring["b"] + ring["ca1"])
    assert text(factored(p, [(1, 2)])) == "sa1^2*(b + ca1)*s23^2*(1 + s1)"


def test_measured_numbers_are_decimals(ring):
    p = 0.4318 * ring["s1"] * (0.0203 * ring["s3"] + 0.4318 * ring["c3"])
    assert text(factored(p), digits=6) == "0.4318*s1*(0.4318*c3 + 0.0203*s3)"


def test_constants_and_zero(ring):
    assert factored(ring.zero) == ZERO
    assert text(factored(ring.constant(0.5))) == "1/2"
    half = factored(ring["s1"] * ring["c1"] * ring["qd1"] ** 2 / 2)
    assert isinstance(half, Product) and isinstance(half.factors[-1], Power)
    assert text(half) == "1/2*c1*s1*qd1^2"
