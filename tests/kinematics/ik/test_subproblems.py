"""The subproblems: what they return solves them, both solutions are there, and what has no solution says so."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.kinematics.ik import subproblems as sp
from dalembert.kinematics.ik.subproblems import Angle
from dalembert.spatial import rotation

rng = np.random.default_rng(0)
COUNT = 50


def axis() -> tuple[float, ...]:
    k = rng.normal(size=3)
    return tuple((k / np.linalg.norm(k)).tolist())


def vector() -> tuple[float, ...]:
    return tuple(rng.normal(size=3).tolist())


def angle() -> Angle:
    x = rng.uniform(-np.pi, np.pi)
    return Angle(np.cos(x), np.sin(x))


def near(a: Angle, b: Angle) -> float:
    return float(np.hypot(a.c - b.c, a.s - b.s))


def test_rotated_is_the_rotation_about_an_axis():
    for _ in range(COUNT):
        k, q, p = axis(), angle(), vector()
        assert np.allclose(sp.rotated(k, q, p), np.array(rotation.about(k, q.c, q.s)) @ p, atol=1e-14)


def test_angles_add():
    a, b = angle(), angle()
    x, y = np.arctan2(a.s, a.c), np.arctan2(b.s, b.c)
    assert np.isclose(np.exp(1j * a.plus(b).radians()), np.exp(1j * (x + y)))
    assert np.isclose(np.exp(1j * a.minus(b).radians()), np.exp(1j * (x - y)))
    assert Angle(-1.0, -0.0).radians() == pytest.approx(-np.pi)  # floats follow math.atan2; kernels give +π


def test_turn():
    for _ in range(COUNT):
        k, q, p = axis(), angle(), vector()
        found = sp.turn(k, p, sp.rotated(k, q, p))
        assert near(found.solutions[0][0], q) < 1e-12
        assert abs(found.excess) < 1e-12 and found.free == 0


def test_turn_of_what_lies_nearly_on_the_axis_keeps_its_digits():
    for size in (1e-3, 1e-6, 1e-9):
        k, q = (0.0, 0.0, 1.0), angle()
        p = (size, 0.0, 1.0)
        assert near(sp.turn(k, p, sp.rotated(k, q, p)).solutions[0][0], q) < 1e-14


def test_turn_of_what_lies_on_the_axis_is_free():
    k, given = axis(), angle()
    found = sp.turn(k, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), given)
    assert found.free == 1 and found.solutions[0][0] == given


def test_turn_says_how_far_the_circles_are_apart():
    assert sp.turn((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.5)).excess == pytest.approx(1.0)


def test_height():
    for _ in range(COUNT):
        h, k, p, q = vector(), axis(), vector(), angle()
        d = float(np.dot(h, sp.rotated(k, q, p)))
        found = sp.height(h, k, p, d)
        assert found.excess <= 1e-12
        assert min(near(a, q) for (a,) in found.solutions) < 1e-6
        for (a,) in found.solutions:
            assert np.dot(h, sp.rotated(k, a, p)) == pytest.approx(d, abs=1e-12)
            assert a.c**2 + a.s**2 == pytest.approx(1.0, abs=1e-14)


def test_height_out_of_reach_gives_the_highest_point():
    found = sp.height((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 3.0)
    assert found.excess == pytest.approx(2.0)
    for (a,) in found.solutions:
        assert sp.rotated((0.0, 0.0, 1.0), a, (0.0, 1.0, 0.0)) == pytest.approx((1.0, 0.0, 0.0))


def test_height_along_the_axis_is_free():
    k, given = (0.0, 0.0, 1.0), angle()
    found = sp.height(k, k, vector(), 0.3, given)
    assert found.free == 1 and all(a == given for (a,) in found.solutions)


def test_distance():
    for _ in range(COUNT):
        k, p, v, q = axis(), vector(), vector(), angle()
        d2 = float(np.sum((np.array(v) + sp.rotated(k, q, p)) ** 2))
        found = sp.distance(k, p, v, d2)
        assert min(near(a, q) for (a,) in found.solutions) < 1e-6
        for (a,) in found.solutions:
            assert np.sum((np.array(v) + sp.rotated(k, a, p)) ** 2) == pytest.approx(d2, abs=1e-11)


@pytest.mark.parametrize("perpendicular", [False, True])
def test_two_turns(perpendicular):
    for _ in range(COUNT):
        k1, k2, p, a, b = axis(), axis(), vector(), angle(), angle()
        if perpendicular:
            k1, k2 = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
        v = sp.rotated(k1, a, sp.rotated(k2, b, p))
        found = sp.two_turns(k1, k2, p, v)
        assert found.excess <= 1e-12
        assert min(near(x, a) + near(y, b) for x, y in found.solutions) < 1e-6
        for x, y in found.solutions:
            assert sp.rotated(k1, x, sp.rotated(k2, y, p)) == pytest.approx(v, abs=1e-11)


def test_two_turns_out_of_reach():
    found = sp.two_turns((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    assert found.excess == pytest.approx(1.0)


def hand(k1, k2, k3, a, b, c, p):
    return sp.rotated(k1, a, sp.rotated(k2, b, sp.rotated(k3, c, p)))


def test_three_turns():
    z, y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    for k1, k2, k3 in [(z, y, z), (z, y, (1.0, 0.0, 0.0))]:
        for _ in range(COUNT):
            a, b, c = angle(), angle(), angle()
            v, x = (hand(k1, k2, k3, a, b, c, p) for p in (k3, sp.across(k3)))
            found = sp.three_turns(k1, k2, k3, v, x)
            assert min(near(f, a) + near(g, b) + near(h, c) for f, g, h in found.solutions) < 1e-9
            for turns in found.solutions:
                assert hand(k1, k2, k3, *turns, k3) == pytest.approx(v, abs=1e-13)
                assert hand(k1, k2, k3, *turns, sp.across(k3)) == pytest.approx(x, abs=1e-13)


@pytest.mark.parametrize("second", [Angle(1.0, 0.0), Angle(-1.0, 0.0)])
def test_three_turns_in_line_take_the_free_angle(second):
    z, y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    a, c, given = angle(), angle(), angle()
    v, x = (hand(z, y, z, a, second, c, p) for p in (z, sp.across(z)))
    found = sp.three_turns(z, y, z, v, x, given)
    assert found.free == 1
    for turns in found.solutions:
        assert near(turns[2], given) < 1e-14
        assert hand(z, y, z, *turns, sp.across(z)) == pytest.approx(x, abs=1e-14)
