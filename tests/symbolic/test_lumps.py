"""Lumped constants and physical form: exact on anything, and what a person would write on what persons write."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dalembert.symbolic import lumps
from dalembert.symbolic.expression import Name, evaluate
from dalembert.symbolic.lumps import InexactError, TooLargeError, legible
from dalembert.symbolic.polynomial import Ring
from dalembert.symbolic.text import text
from errors import raises
from symbolic.arms import (
    ELBOW,
    GROUPS,
    PLANAR,
    PUMA,
    PUMA_LINKS,
    mass_matrix,
    planar_links,
    random_point,
    random_polynomial,
    random_ring,
    ring_of,
)


def planar_2r():
    ring = Ring(
        [("s1", "c1"), ("s2", "c2")],
        parameters=["l1", "r1", "r2", "m1", "m2", "I1", "I2", "g"],
        rates=["qd1", "qd2"],
        accelerations=["qdd1", "qdd2"],
    )
    l1, r1, r2, m1, m2, I1, I2, g = (ring[x] for x in ring.parameters)
    s1, c1, s2, c2, v1, v2 = (ring[x] for x in ("s1", "c1", "s2", "c2", "qd1", "qd2"))
    b, c12 = m2 * l1 * r2, c1 * c2 - s1 * s2
    entries = {
        "M11": I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2),
        "M12": I2 + m2 * (r2**2 + l1 * r2 * c2),
        "M22": I2 + m2 * r2**2,
        "C11": -b * s2 * v2,
        "C12": -b * s2 * (v1 + v2),
        "C21": b * s2 * v1,
        "C22": 0.0,
        "g1": m1 * g * r1 * c1 + m2 * g * (l1 * c1 + r2 * c12),
        "g2": m2 * g * r2 * c12,
    }
    return ring, entries


def written(result, **how):
    return {name: text(e, **how) for name, e in (result.lumps | result.entries).items()}


def test_planar_2r_lumped_is_the_textbook():
    _, entries = planar_2r()
    result = legible(entries, [(0, 1)])
    assert not result.decimals
    assert written(result) == {
        "a": "I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2)",
        "b": "m2*l1*r2",
        "d": "I2 + m2*r2^2",
        "e": "(m1*r1 + m2*l1)*g",
        "f": "m2*g*r2",
        "M11": "a + 2*b*c2",
        "M12": "d + b*c2",
        "M22": "d",
        "C11": "-b*s2*qd2",
        "C12": "-b*s2*(qd1 + qd2)",
        "C21": "b*s2*qd1",
        "C22": "0",
        "g1": "e*c1 + f*c12",
        "g2": "f*c12",
    }


def test_planar_2r_in_physical_parameters():
    _, entries = planar_2r()
    assert written(legible(entries, [(0, 1)], lump=False)) == {
        "M11": "I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2 + 2*l1*r2*c2)",
        "M12": "I2 + m2*r2*(r2 + l1*c2)",
        "M22": "I2 + m2*r2^2",
        "C11": "-m2*l1*r2*s2*qd2",
        "C12": "-m2*l1*r2*s2*(qd1 + qd2)",
        "C21": "m2*l1*r2*s2*qd1",
        "C22": "0",
        "g1": "(m1*r1 + m2*l1)*g*c1 + m2*g*r2*c12",
        "g2": "m2*g*r2*c12",
    }


def test_energy_and_torque_are_collected_by_motion():
    ring, entries = planar_2r()
    v1, v2, w1, w2 = (ring[x] for x in ("qd1", "qd2", "qdd1", "qdd2"))
    M11, M12, M22, C11, C12 = (entries[x] for x in ("M11", "M12", "M22", "C11", "C12"))
    entries["K"] = (M11 * v1**2 + 2 * M12 * v1 * v2 + M22 * v2**2) / 2
    entries["tau1"] = M11 * w1 + M12 * w2 + C11 * v1 + C12 * v2 + entries["g1"]
    result = written(legible(entries, [(0, 1)]))
    assert result["K"] == "1/2*(a + 2*b*c2)*qd1^2 + (d + b*c2)*qd1*qd2 + 1/2*d*qd2^2"
    assert result["tau1"] == "(a + 2*b*c2)*qdd1 + (d + b*c2)*qdd2 - b*s2*(2*qd1*qd2 + qd2^2) + e*c1 + f*c12"


def test_planar_3r():
    links = planar_links(3)
    ring = ring_of(PLANAR, links)
    result = written(legible(mass_matrix(ring, PLANAR, links), [(0, 1, 2)]))
    assert result["b"] == "(m2*r2 + m3*l2)*l1"
    assert result["M11"] == "a + 2*b*c2 + 2*d*c23 + 2*e*c3"
    assert result["M23"] == "h + e*c3"


def test_elbow_squares_and_names_that_are_taken():
    """The ring has a2 and d1, so that no lump is called a or d."""
    links = [
        ("m1", (0, 0, "z1"), (0, 0, "I1")),
        ("m2", ("r2", 0, 0), ("I2xx", "I2yy", "I2zz")),
        ("m3", ("r3", 0, 0), ("I3xx", "I3yy", "I3zz")),
    ]
    ring = ring_of(ELBOW, links)
    M = mass_matrix(ring, ELBOW, links)
    assert written(legible(M, [(1, 2)]))["M11"] == "b + e*c2^2 + 2*f*c2*c23 + h*c23^2"
    assert written(legible(M, [(1, 2)], lump=False))["M11"] == (
        "I1 + I2xx*s2^2 + I2yy*c2^2 + I3xx*s23^2 + I3yy*c23^2 + m2*r2^2*c2^2 + m3*(a2*c2 + r3*c23)^2"
    )


def test_sliding_joint_and_a_lump_that_is_a_parameter():
    ring = Ring([("s1", "c1"), ("q2",)], parameters=["r1", "m1", "m2", "I1", "I2", "g"], rates=["qd1", "qd2"])
    r1, m1, m2, I1, I2, g = (ring[x] for x in ring.parameters)
    q2 = ring["q2"]
    entries = {
        "M11": I1 + I2 + m1 * r1**2 + m2 * q2**2,
        "M22": m2,
        "C11": m2 * q2 * ring["qd2"],
        "g1": (m1 * r1 + m2 * q2) * g * ring["c1"],
    }
    result = written(legible(entries))
    assert result["M11"] == "a + m2*q2^2"
    assert (result["M22"], result["C11"], result["g1"]) == ("m2", "m2*q2*qd2", "(b + d*q2)*c1")
    assert written(legible(entries, lump=False))["g1"] == "(m1*r1 + m2*q2)*g*c1"


def test_puma_fits_on_one_page():
    """The mass matrix of six joints in less than 4000 characters, with the values that it had."""
    ring = ring_of(PUMA, PUMA_LINKS)
    M = mass_matrix(ring, PUMA, PUMA_LINKS)
    result = legible(M, [(1, 2)])
    assert sum(len(name) + len(line) + 4 for name, line in written(result).items()) < 4000
    values, angles = random_point(ring, 0)
    angles = angles | {name: evaluate(e, angles) for name, e in result.lumps.items()}
    for name, entry in M.items():
        assert evaluate(result.entries[name], angles) == pytest.approx(entry.substituted(values), rel=1e-9), name


@pytest.mark.parametrize("lump", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_what_is_printed_is_what_was_given(seed, lump):
    """`legible` checks itself in the ring; here numbers check it once more."""
    ring = random_ring()
    entries = {f"e{k}": random_polynomial(ring, 100 * seed + k) for k in range(3)}
    result = legible(entries, GROUPS, lump=lump)
    values, angles = random_point(ring, seed)
    angles = angles | {name: evaluate(e, angles) for name, e in result.lumps.items()}
    for name, p in entries.items():
        assert evaluate(result.entries[name], angles) == pytest.approx(p.substituted(values), rel=1e-9, abs=1e-9)


def test_a_wrong_form_is_not_printed():
    ring, entries = planar_2r()
    given = {name: ring.scalar(p) for name, p in entries.items()}
    result = legible(entries, [(0, 1)])
    wrong = replace(result, entries=result.entries | {"M22": Name("m2")})
    with raises(InexactError, "not-proved M22"):
        lumps.check(ring, given, wrong)


def test_numbers_need_no_lumps_and_are_decimals():
    ring = Ring([("s1", "c1"), ("s2", "c2")], rates=["qd1", "qd2"])
    c2, s2 = ring["c2"], ring["s2"]
    entries = {
        "M11": 1.25 + 0.61 * c2,
        "C12": -0.305 * s2 * (ring["qd1"] + ring["qd2"]),
        "C11": 0.25 * s2 * ring["qd1"] + 0.1 * c2 * ring["qd1"],
    }
    result = legible(entries, [(0, 1)])
    assert (result.lumps, result.decimals, result.rounded) == ({}, True, False)
    assert written(result, digits=6) == {
        "M11": "1.25 + 0.61*c2",
        "C12": "-0.305*s2*(qd1 + qd2)",
        "C11": "(0.1*c2 + 0.25*s2)*qd1",
    }
    assert legible({"x": c2 / 3}).rounded


def test_numbers_among_parameters_stay_decimals():
    ring = Ring([("s1", "c1"), ("s2", "c2")], parameters=["m1", "m2", "I1"])
    m1, m2, I1 = (ring[x] for x in ring.parameters)
    result = legible({"M11": I1 + 0.04 * m1 + m2 * (0.1825 + 0.12 * ring["c2"])}, [(0, 1)])
    assert written(result, digits=6) == {"a": "I1 + 0.04*m1 + 0.1825*m2", "M11": "a + 0.12*m2*c2"}
    assert result.decimals


def test_constants_only():
    result = legible({"zero": 0.0, "half": 0.5})
    assert written(result, digits=6) == {"zero": "0", "half": "0.5"}


def test_many_lumps_are_numbered(monkeypatch):
    ring = Ring([("s1", "c1")], parameters=[f"x{k}" for k in range(25)])
    assert lumps.lump_names(ring, 3) == ["a", "b", "d"]
    assert lumps.lump_names(ring, 18) == [f"p{k}" for k in range(1, 19)]  # x is taken: seventeen letters


def test_too_much_to_lump_and_to_read(monkeypatch):
    _, entries = planar_2r()
    monkeypatch.setattr(lumps, "LUMPED_AT_MOST", 10)
    assert legible(entries, [(0, 1)]).lumps == {}
    monkeypatch.setattr(lumps, "WRITTEN_AT_MOST", 10)
    with raises(TooLargeError, "too-large entries"):
        legible(entries, [(0, 1)])


def test_lumping_is_exact_in_fractions():
    ring, entries = planar_2r()
    result = legible(entries, [(0, 1)])
    a = evaluate(result.lumps["a"], {x: Fraction(1, 3) for x in ring.names}, Fraction)
    assert a == Fraction(2, 3) + Fraction(3, 27)
