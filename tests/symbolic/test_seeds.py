"""The arms of the lecture notes: the derived equations are identical, as polynomials, to what the mathematics says.

What stands here was derived by hand, from the positions and velocities of the masses."""

from __future__ import annotations

import warnings

import pytest

import dalembert as dl
from dalembert.symbolic.entries import scalars
from dalembert.symbolic.factor import determinant
from dalembert.symbolic.formula import evaluate, read_formula

PLANAR = {
    "T14": "l1*c1 + l2*c12",
    "T24": "l1*s1 + l2*s12",
    "J11": "-l1*s1 - l2*s12",
    "J12": "-l2*s12",
    "J21": "l1*c1 + l2*c12",
    "J22": "l2*c12",
    "det": "l1*l2*s2",
    "M11": "I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2 + 2*l1*r2*c2)",
    "M12": "I2 + m2*(r2^2 + l1*r2*c2)",
    "M21": "I2 + m2*(r2^2 + l1*r2*c2)",
    "M22": "I2 + m2*r2^2",
    "Gamma111": "0",
    "Gamma121": "-m2*l1*r2*s2",
    "Gamma211": "-m2*l1*r2*s2",
    "Gamma221": "-m2*l1*r2*s2",
    "Gamma112": "m2*l1*r2*s2",
    "Gamma122": "0",
    "Gamma222": "0",
    "C11": "-m2*l1*r2*s2*qd2",
    "C12": "-m2*l1*r2*s2*(qd1 + qd2)",
    "C21": "m2*l1*r2*s2*qd1",
    "C22": "0",
    "P": "m1*g*r1*s1 + m2*g*(l1*s1 + r2*s12)",
    "g1": "(m1*r1 + m2*l1)*g*c1 + m2*r2*g*c12",
    "g2": "m2*r2*g*c12",
    "K": "(I1 + m1*r1^2)*qd1^2/2 + I2*(qd1 + qd2)^2/2"
    "+ m2*(l1^2*qd1^2 + r2^2*(qd1 + qd2)^2 + 2*l1*r2*c2*qd1*(qd1 + qd2))/2",
    "tau1": "(I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2 + 2*l1*r2*c2))*qdd1 + (I2 + m2*(r2^2 + l1*r2*c2))*qdd2"
    "- m2*l1*r2*s2*(2*qd1*qd2 + qd2^2) + (m1*r1 + m2*l1)*g*c1 + m2*r2*g*c12",
    "tau2": "(I2 + m2*(r2^2 + l1*r2*c2))*qdd1 + (I2 + m2*r2^2)*qdd2 + m2*l1*r2*s2*qd1^2 + m2*r2*g*c12",
    "centripetal1": "-m2*l1*r2*s2*qd2^2",
    "centripetal2": "m2*l1*r2*s2*qd1^2",
    "coriolis1": "-2*m2*l1*r2*s2*qd1*qd2",
    "coriolis2": "0",
    "Mdot11": "-2*m2*l1*r2*s2*qd2",
}

# A Cartesian arm: the first axis lifts both bodies.
CARTESIAN = {"M11": "m1 + m2", "M12": "0", "M22": "m2", "C11": "0", "C12": "0", "g1": "(m1 + m2)*g", "g2": "0"}

# A rod with a ball that slides on it, the ball a point.
ROD = {
    "M11": "I1zz + I2zz + m1*r1^2 + m2*q2^2",
    "M12": "0",
    "M22": "m2",
    "C11": "m2*q2*qd2",
    "C12": "m2*q2*qd1",
    "C21": "-m2*q2*qd1",
    "C22": "0",
    "g1": "(m1*r1 + m2*q2)*g*c1",
    "g2": "m2*g*s1",
}

SEEDS = {"planar-2r": PLANAR, "cartesian-pp": CARTESIAN, "rp": ROD}


@pytest.mark.parametrize("name, entry", [(name, entry) for name, table in SEEDS.items() for entry in table])
def test_arms_of_the_seeds(name, entry):
    assert dl.load(name).equations().compare(entry, SEEDS[name][entry])


def test_planar_arm_with_point_masses():
    """[Lee] and [Fakhari 2]: masses at the links' ends, r = l."""
    e = dl.load("planar-2r-points").equations()
    for entry, formula in PLANAR.items():
        without = formula.replace("I1 + I2 + ", "").replace("I1 + ", "").replace("I2 + ", "")
        without = without.replace("I2*(qd1 + qd2)^2/2+", "0+").replace("I2*(qd1 + qd2)^2/2", "0")
        assert e.compare(entry, without), entry


def test_articulated_arm_of_seed_000():
    """Equation 15, up to the sign that the orientation of the frames gives."""
    e = dl.load("elbow-3r").equations()
    assert e.compare("det", "-a2*a3*sin(q3)*(a2*cos(q2) + a3*cos(q2 + q3))")


def test_arm_and_spherical_wrist_decoupled():
    """Equation 14 of [Poonawala]: det J = det J11 det J22 with the tip at the wrist's center, as polynomials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        e = dl.load("puma560").equations()
    J = e.jacobian("link6")  # its origin is where the wrist's axes meet
    assert not any(J[i][j] for i in range(3) for j in range(3, 6))
    arm = determinant(e.ring, [row[:3] for row in J[:3]])
    wrist = determinant(e.ring, [row[3:] for row in J[3:]])
    assert wrist == -e.ring["s5"] or wrist == e.ring["s5"]
    assert arm * wrist == e.det_jacobian("link6") == e.det_jacobian()


def test_the_picture_of_centripetal_and_coriolis_accelerations():
    """[Fakhari 2]: at q = (0, π/2), q̈ = 0, the second point mass."""
    e = dl.load("planar-2r-points").equations()
    r = e.ring
    at = {"s1": 0, "c1": 1, "s2": 1, "c2": 0}
    values = {name: at.get(name, r[name]) for name in r.names}
    centripetal, coriolis = e.velocity_accelerations()
    l1, l2, v1, v2 = (r[x] for x in ("l1", "l2", "qd1", "qd2"))
    assert r.scalar(centripetal[0].substituted(values)) == -l1 * v1 * v1
    assert r.scalar(centripetal[1].substituted(values)) == -l2 * v1 * v1 - l2 * v2 * v2
    assert r.scalar(coriolis[0].substituted(values)) == 0
    assert r.scalar(coriolis[1].substituted(values)) == -2 * l2 * v1 * v2


def polynomial_reader(e):
    """Of a formula's text, the polynomial of these equations' ring; S1 is sgn(q̇₁)."""
    names = {**scalars(e), **{f"S{k}": e.ring.symbols.get(f"sgn{k}") for k in (1, 2)}}
    return lambda formula: e.ring.scalar(evaluate(read_formula(formula, names), names))


def test_regressor_of_seed_004():
    """τ = Y π with π = (m1, m2, F_s1, F_v1, F_s2, F_v2), every entry."""
    e = dl.load("planar-2r-points").equations(friction=True)
    Y, rest = e.regressor_in(["m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"])
    assert not any(rest)
    read = polynomial_reader(e)
    wanted = [
        [
            "r1^2*qdd1 + g*r1*c1",
            "(l1^2 + 2*l1*r2*c2 + r2^2)*qdd1 + (r2^2 + l1*r2*c2)*qdd2 - l1*r2*s2*(2*qd1*qd2 + qd2^2)"
            " + g*(l1*c1 + r2*c12)",
            "S1",
            "qd1",
            "0",
            "0",
        ],
        ["0", "(r2^2 + l1*r2*c2)*qdd1 + r2^2*qdd2 + l1*r2*s2*qd1^2 + g*r2*c12", "0", "0", "S2", "qd2"],
    ]
    for row, formulas in zip(Y, wanted, strict=True):
        for entry, formula in zip(row, formulas, strict=True):
            assert entry == read(formula)


def test_three_choices_of_c_of_seed_004():
    """For the planar arm with point masses: all give c, the last two are not skew."""
    e = dl.load("planar-2r-points").equations()
    read = polynomial_reader(e)
    b = "m2*l1*r2*s2"
    wanted = {
        "mdot-u/2": [["-2*B*qd2", "-B*qd2"], ["B*(2*qd1 + qd2)/2 - B*qd2", "B*qd1/2"]],
        "ut-u/2": [["0", "-B*(2*qd1 + qd2)"], ["B*(2*qd1 + qd2)/2", "-B*qd1/2"]],
    }
    for choice, rows in wanted.items():
        C = e.coriolis_matrix(choice)
        for i in range(2):
            for j in range(2):
                assert C[i][j] == read(rows[i][j].replace("B", b)), (choice, i, j, C[i][j])
