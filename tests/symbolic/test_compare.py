"""Check my derivation: right formulas pass in any form, slips are found, nonsense is refused in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.symbolic.compare import compare, formula_quantity
from errors import raises

M12 = "I2 + m2*(r2**2 + l1*r2*cos(q2))"


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r").equations()


@pytest.mark.parametrize(
    "name, formula",
    [
        ("M12", M12),
        ("M_12", "m2*l1*r2*c2 + m2*r2^2 + I2"),
        ("M[1,2]", "d + b*c2"),
        ("D12", M12),
        ("M11", "I1 + I2 + m1*r1**2 + m2*(l1**2 + r2**2 + 2*l1*r2*(1 - 2*sin(q2)**2 + 2*sin(q2)**2 - 1 + cos(q2)))"),
        ("g1", "(m1*r1 + m2*l1)*g*cos(q1) + m2*r2*g*cos(q1 + q2)"),
        ("g2", "m2*g*r2*(c1*c2 - s1*s2)"),
        ("C12", "-m2*l1*r2*sin(q2)*(qd1 + qd2)"),
        ("Gamma112", "m2*l1*r2*s2"),
        ("Γ121", "-m2*l1*r2*s2"),
        ("P", "m1*g*r1*s1 + m2*g*(l1*s1 + r2*s12)"),
        (
            "K",
            "m1*r1^2*qd1^2/2 + I1*qd1^2/2 + I2*(qd1+qd2)^2/2 + m2*(l1^2*qd1^2 + r2^2*(qd1+qd2)^2 "
            "+ 2*l1*r2*c2*qd1*(qd1+qd2))/2",
        ),
        ("det", "l1*l2*sin(q2)"),
        ("J11", "-l1*s1 - l2*sin(q1 + q2)"),
        ("T14", "l1*cos(q1) + l2*sin(q1 + q2 + pi/2)"),
        ("C22", "0"),
        ("M12", "I2 + m2*(r2**2 + l1*r2*sin(q2 + pi/2))"),
        ("M12", "I2 + m2*(r2**2 - l1*r2*sin(-pi/2 + q2) + 0*cos(q2*2))"),
    ],
)
def test_right_in_any_form(arm, name, formula):
    result = arm.compare(name, formula)
    assert result and str(result).endswith("is right.") and not result.off


@pytest.mark.parametrize(
    "name, formula, slip",
    [
        ("M12", M12.replace("cos", "sin"), "sin(q2) should be cos(q2)"),
        ("M12", "I2 + m2*(r2**2 + 2*l1*r2*cos(q2))", "the factor 2 should not be there"),
        ("M11", "I1 + I2 + m1*r1**2 + m2*(l1**2 + r2**2 + l1*r2*c2)", "a factor 2 is missing at"),
        ("M12", "I2 - m2*(r2**2 + l1*r2*cos(q2))", "the sign of m2"),
        ("M12", "m2*(r2**2 + l1*r2*cos(q2))", "the term I2 is missing"),
        ("M12", "I2 + m2*(r2**2 + l2*r2*cos(q2))", "l2 should be l1"),
        ("M12", "I2 + m2*(r2 + l1*r2*cos(q2))", "r2 should be squared"),
        ("g2", "m2*g*r2*cos(q2)", "cos(q2) should be cos(q1 + q2)"),
        ("g2", "-m2*g*r2*c12", "the sign of the whole formula"),
        ("g2", "2*m2*g*r2*c12", "2 times too large"),
        ("g2", "m2*g*r2*c2", "c2 should be c12"),
        ("M22", "I2 + m2*r2**2 + m2", "m2 should not be there"),
        ("C12", "-m2*l1*r2*sin(q2)*qd2", "qd2 should be qd2 + qd1"),
        ("g2", "m2*g*r2*c12/2", "2 times too small"),
    ],
)
def test_slips(arm, name, formula, slip):
    result = arm.compare(name, formula)
    assert not result and slip in result.slip
    assert slip in str(result) and "yours minus the derived one is" in str(result)


def test_no_slip_is_invented(arm):
    result = arm.compare("M12", "I1 + m1*l2")
    assert not result.slip and "Derived: M12 = I2 + m2*r2*(r2 + l1*c2)." in str(result)


@pytest.mark.parametrize(
    "name, formula, words",
    [
        ("M12", "I2 +* m2", "syntax formula"),
        ("M12", "I2 + w", "unknown-name"),
        ("M12", "__import__('os').system('true')", "syntax formula"),
        ("M12", "1/(m2 - m2)", "out-of-range formula"),
        ("M12", "cos(q1, q2)", "syntax formula"),
        ("M12", "1e400*m2", "too-large formula"),
        ("M12", "coss(q2)", "unknown-name"),
        ("M12", None, "wrong-type formula"),
        (12, "m2", "wrong-type name"),
        ("M12", "True", "syntax formula"),
        ("M12", "(" * 300 + "m2" + ")" * 300, "too-large formula"),
        ("M12", "-" * 3000 + "m2", "too-large formula"),
        ("M13", "m2", "out-of-range name"),
        ("M", "m2", "wrong-shape formula"),
        ("g", "[m1, m2, 0]", "wrong-shape formula"),
        ("Gamma", "m2", "wrong-shape name"),
        ("Q1", "m2", "unknown-name"),
        ("12", "m2", "unknown-name name"),
        ("K3", "m2", "out-of-range k"),
    ],
)
def test_nonsense_is_refused_in_words(arm, name, formula, words):
    with raises(dl.DalembertError, words):
        arm.compare(name, formula)


@pytest.mark.parametrize(
    "formula",
    [
        "q1*m2",
        "m2**0.5",
        "m2**1000000",
        "1/m2",
        "cos(m2)",
        "sgn(qd1)",
        "I2 + m2*(r2**2 + l1*r2*cos(q2 + pi/4))",
        "cos(100000000*q1)",
        "(m1+m2+r1+r2+l1+I1+I2)**40",
        "exp(1000*m2)",
    ],
)
def test_formulas_of_any_kind_are_judged(arm, formula):
    result = arm.compare("M12", formula)
    assert not result and "M12 differs" in str(result)


def test_whole_matrices(arm):
    C = "[[-b*s2*qd2, -b*s2*(qd1 + qd2)], [b*s2*qd1, 0]]".replace("b", "m2*l1*r2")
    assert arm.compare("C", C)
    swapped = "[[-b*s2*qd2, b*s2*qd1], [-b*s2*(qd1 + qd2), 0]]".replace("b", "m2*l1*r2")
    assert [s.kind for s in arm.compare("C", swapped).slips] == ["transposed"]
    assert [s.kind for s in arm.compare("C12", "m2*l1*r2*s2*qd1").slips] == ["transposed"]
    assert arm.compare("J", "[[-l1*s1 - l2*s12, -l2*s12], [l1*c1 + l2*c12, l2*c12]]")
    local = arm.compare("J", "[[l1*s2, 0], [l1*c2 + l2, l2]]")
    assert [s.kind for s in local.slips] == ["wrong frame"]
    one = arm.compare("J", "[[-l1*s1 - l2*s12, -l2*s12], [l1*c1 + l2*s12, l2*c12]]")
    assert "in row 2, column 1: s12 should be c12" in str(one)


@pytest.mark.parametrize("name, formula, where", [
    ("g2", "m2*9.81*r2*c12", "where g = 9.81"),
    ("g2", "9.81*0.5*c12", "where g = 9.81, m2 = 1, r2 = 0.5"),
    ("P", "m1*g*r1*(s1 + 3) + m2*g*(l1*s1 + r2*s12)", "up to a constant"),
])  # fmt: skip
def test_right_for_this_system(arm, name, formula, where):
    result = arm.compare(name, formula)
    assert result and where in result.where and where in str(result)


def test_point_masses_at_the_ends():
    """Notes that write l for all lengths are right for arms whose masses sit at the ends; who writes r too tells them
    apart."""
    arm = dl.load("planar-2r-points").equations()
    assert "where r2 = l2" in arm.compare("M12", "m2*(l2^2 + l1*l2*c2)").where
    mixed = arm.compare("M12", "m2*(r2^2 + l1*l2*c2)")
    assert not mixed and mixed.slips[0].kind == "l ↔ r"


def test_an_index_that_does_not_exist(arm):
    assert arm.compare("M12", "I2 + m2*(r2^2 + l4*r2*c2)").slip == "l4 should be l1"


@pytest.mark.parametrize("formula, kinds", [
    ("kp/(J*s^2 + (kv - b)*s + kp)", ["sign"]),
    ("kp/(J*s + (kv + b)*s + kp)", ["lost square"]),
    ("kv/(J*s^2 + (kv + b)*s + kp)", ["symbol"]),
    ("-kp/(J*s^2 + s + kp + kv*s)", ["sign", "missing factor"]),
    ("2*kp/(J*s^2 + (kv - b)*s + kp)", ["factor", "sign"]),
])  # fmt: skip
def test_slips_in_transfer_functions(formula, kinds):
    loop = formula_quantity("G(s)", "kp/(J*s^2 + (kv + b)*s + kp)", ("kp", "kv", "J", "b", "s"))
    result = compare(loop, formula)
    assert not result and sorted(s.kind for s in result.slips) == sorted(kinds), str(result)


@pytest.mark.parametrize("formula, kinds", [
    ("I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2 - 2*l1*r2*s2)", ["sign", "sin/cos"]),
    ("I1 - I2 + m1*r1 + m2*(l1^2 + r2^2 + 2*l1*r2*c2)", ["sign", "lost square"]),
    ("I1 + I2 + m1*r1^2 + m1*(l1^2 + r2^2 + l1*r2*c2)", ["index", "factor"]),
    ("I2 + m1*r1^2 + m2*(l1^2 + r1^2 + 2*l1*r2*c2)", ["missing term", "index"]),
])  # fmt: skip
def test_two_slips(arm, formula, kinds):
    result = arm.compare("M11", formula)
    assert sorted(s.kind for s in result.slips) == sorted(kinds), str(result)


@pytest.mark.parametrize(
    "name, formula, verdict",
    [
        ("s1", "(-b + sqrt(b^2 - 4 m k))/(2 m)", ""),
        ("s1", "-b/(2 m) + j sqrt(4 m k - b^2)/(2 m)", ""),
        ("s1", "-b/(2 m) + j sqrt(4 m k + b^2)/(2 m)", "the sign of b^2"),
        ("k_v", "2 zeta omega m + b", "the sign of b"),
        ("closed loop", "k_p/(m s^2 + (b + k_v) s + k_p)", "the term k is missing"),
        ("omega_d", "sqrt(k/m - b/(2 m))", "should be squared"),
    ],
)
def test_poles_gains_and_loops(name, formula, verdict):
    result = compare(dl.control.MassSpringDamper(1.0, 0.4, 4.0).quantity(name), formula)
    assert bool(result) is not bool(verdict) and verdict in result.slip


def test_transfer_functions_with_numbers():
    G = dl.control.TransferFunction([2, 3], [1, 4, 5], delay=0.5).quantity()
    assert compare(G, "(2s + 3) exp(-s/2)/(s^2 + 4s + 5)")
    assert compare(G, "(2s + 3) exp(-s/2)/(s^2 - 4s + 5)").slip == "the sign of 4s"


def test_places_are_quoted_as_they_were_typed(arm):
    slip = arm.compare("M12", r"I_2 + m_2 (r_2^2 + l_1 r_2 \sin q_2)").slips[0]
    assert slip.place == r"\sin q_2" and slip.should == "cos(q2)" and slip.kind == "sin/cos"


def test_friction_and_sliding_joints():
    e = dl.load("rp").equations(friction=True)
    shown = e.text("tau", lump=False)
    assert e.compare("tau1", shown.splitlines()[0].split(" = ")[1])
    assert e.compare("tau2", shown.splitlines()[1].split(" = ")[1])


def test_long_formulas(arm):
    assert "differs" in str(arm.compare("M12", "+".join(["m1"] * 300)))
    assert "differs" in str(arm.compare("M12", "+".join(["m1"] * 3000)))
    puma = dl.load("puma560").equations()
    text = repr(puma.M[0][0]).replace("^", "**")
    assert puma.compare("M11", text)
    assert "7*m6 should not be there" in puma.compare("M11", text + " + 7*m6").slip
    panda = dl.load("panda").equations()
    assert panda.compare("M11", repr(panda.M[0][0]))


def test_an_index_that_the_arm_does_not_have_is_a_slip(arm):
    """[Lagrange notes] prints l4 for l1 once: what can be mended is named, what cannot is an unknown symbol."""
    assert arm.compare("M12", "I2 + m2*(r2**2 + l4*r2*cos(q2))").slip == "l4 should be l1"
    assert not arm.compare("M11", "I1 + I2 + m1*r1**2 + m3*(l1**2 + r2**2 + 2*l1*r2*cos(q2))")
    with raises(dl.DalembertError, "unknown-name"):
        arm.compare("M12", "l4*l4*l4")


@pytest.mark.parametrize("last", ["", ", [1, 1]", ", [0, 0]"])
def test_rows_of_a_planar_jacobian(arm, last):
    formula = f"[[-l1*s1 - l2*s12, -l2*s12], [l1*c1 + l2*c12, l2*c12]{last}]"
    assert arm.compare("J", formula)
    assert not arm.compare("J", formula.replace("c12", "s12"))


def test_a_mass_is_no_length():
    points = dl.load("planar-2r-points").equations()  # all masses and lengths are 1
    right = points.compare("g1", "(m1 + m2)*l1*g*cos(q1) + m2*g*l2*cos(q1 + q2)")
    assert right and right.where == "for this system, where r1 = l1, r2 = l2"


def test_a_length_and_a_number_may_stand_for_two_symbols():
    d = dl.load("planar-2r-points").description
    heavier = [replace(x, inertial=replace(x.inertial, mass=1.5)) if x.inertial else x for x in d.links]
    points = dl.Robot(replace(d, links=tuple(heavier))).equations()
    right = points.compare("M12", "1.5*(l2^2 + l1*l2*c2)")
    assert right and right.where == "for this system, where r2 = l2, m2 = 1.5"
    assert not points.compare("M12", "1.4*(l2^2 + l1*l2*c2)") and not points.compare("M12", "1.5*(l2^2 + l2*c1)")


@pytest.mark.parametrize(
    "robot, name, formula",
    [
        ("planar-2r", "dL/dqd2", r"\frac{\partial L}{\partial \dot q_2} = (I_2 + m_2 l_{c2}^2)(\dot q_1 + \dot q_2)"
         r" + m_2 l_1 l_{c2} \dot q_1 \cos q_2"),
        ("planar-2r", "Γ121",
         r"\Gamma_{121} = \frac12 \frac{\partial d_{11}}{\partial q_2} = -m_2 \ell_1 \ell_{c2} \sin q_2"),
        ("planar-2r", "g2", "m2 g r2 c12 = ∂P/∂q₂"),
        ("planar-2r", "C11", r"h \dot q_2, \text{ where } h = -m_2 \ell_1 \ell_{c2} \sin q_2"),
        ("planar-2r", "M12", "I2 + k c2 + u with k = m2 l1 r2 and u = m2 r2²"),
        ("rp", "tau2", r"m_2 \ddot d_2 - m_2 d_2 \dot\theta_1^2 + m_2 g \sin\theta_1"),
        ("rp", "K", "½ (I1zz + I2zz + m1 r1² + m2 d2²) θ̇1² + ½ m2 ḋ2²"),
    ],
)  # fmt: skip
def test_right_as_textbooks_write_it(robot, name, formula):
    assert dl.load(robot).equations().compare(name, formula)


def test_what_stands_before_the_result_does_not_move_the_place(arm):
    slip = arm.compare("g2", r"\frac{\partial P}{\partial q_2} = m_2 g r_2 \sin(q_1 + q_2)").slips[0]
    assert (slip.kind, slip.place) == ("sin/cos", r"\sin(q_1 + q_2)")


def test_a_coordinate_d_of_a_sliding_joint_in_slips():
    slip = dl.load("rp").equations().compare("g1", "(m1 r1 + m2 d2) g sin(q1)").slips[0]
    assert (slip.kind, slip.should) == ("sin/cos", "cos(q1)")


def test_gains_in_capital_letters():
    loop = formula_quantity("G(s)", "kp/(J s^2 + (kv + b) s + kp)", ("kp", "kv", "J", "b", "s"))
    assert compare(loop, r"\frac{K_p}{J s^2 + (b + K_v) s + K_p}") and compare(loop, "K_p/(J s^2 + (b + K_d) s + K_p)")
    both = formula_quantity("x", "kp + Kp^2", ("kp", "Kp"))  # each is itself
    assert compare(both, "kp + Kp^2") and not compare(both, "Kp + kp^2")


@pytest.mark.parametrize(
    "clause", ["m2 = 0, I2 = 0", "I_2 = 0 and theta2 = 0", "2 x = 3", "h = [1, 2]", "h = zz9", "h", "= 3"]
)
def test_clauses_change_no_symbol_of_the_system(arm, clause):
    with pytest.raises(dl.DalembertError):
        arm.compare("M22", f"0*h, where {clause}")


@pytest.mark.parametrize("robot, name, formula, slip", [
    ("planar-2r", "M12", r"I_2 + m_2 (l_{c2}^2 + l_1 l_{c2} \sin\theta_2)", r"\sin\theta_2 should be cos(theta2)"),
    ("planar-2r", "M11", "I1 + I2 + m1 l1² + m2 (l1² + lc2² + 2 l1 lc2 cos θ2)", "l1 should be lc1"),
    ("planar-2r", "C12", "-m2 L1 lc2 s2 θ̇1", "θ̇1 should be θ̇1 + thetad2"),
    ("planar-2r", "g2", "m2 g L2 c12", "L2 should be r2"),
    ("rp", "c1", "2 m2 θ̇1 ḋ2", "the factor d2 is missing at 2 m2 θ̇1 ḋ2"),
])  # fmt: skip
def test_slips_in_the_letters_of_the_formula(robot, name, formula, slip):
    result = dl.load(robot).equations().compare(name, formula)
    assert result.slip == slip and "q2" not in str(result.others)


@pytest.mark.parametrize("formula, verdict", [
    ("0.866*l*cos(x) + 0.333*m", True),
    ("0.8660 l cos(x) + m/3", True),
    (r"0.866 l \cos x + \frac{m}{3}", True),
    ("l*cos(x - 0.0000)*0.866 + 0.3333*m", True),
    ("0.867*l*cos(x) + 0.333*m", False),  # not the nearest
    ("0.865*l*cos(x) + 0.333*m", False),
    ("0.87*l*cos(x) + m/3", False),  # the nearest, but too few digits to tell
    ("0.9*l*cos(x) + m/3", False),
    ("0.866*l*sin(x) + 0.333*m", False),
    ("0.866*l*cos(x) - 0.333*m", False),
    ("0.866*l*cos(x)", False),
])  # fmt: skip
def test_decimals_are_right_to_the_digits_given(formula, verdict):
    result = compare(formula_quantity("y", "sqrt(3)/2*l*cos(x) + m/3", ("l", "m", "x")), formula)
    assert bool(result) is verdict and result.where == ("to the digits given" if verdict else "")


def test_the_constant_of_a_potential_energy_is_told():
    result = dl.load("elbow-3r").equations().compare("P", "m1*g*r1 + m2*g*(r2*s2 - d1) + m3*g*(d1 + a2*s2 + r3*s23)")
    assert result and str(result) == "P is right, up to a constant: yours minus the derived one is -2*m2*g*d1."


def test_rows_of_a_jacobian_transposed(arm):
    result = arm.compare("J", "[[-l1*s1 - l2*s12, l1*c1 + l2*c12], [-l2*s12, l2*c12]]")
    assert [slip.kind for slip in result.slips] == ["transposed"]


@pytest.mark.parametrize("formula, slip", [
    ("(-b + sqrt(b^2 - 4*m*k))/m", "the whole formula is 2 times too large"),
    ("(-b + sqrt(b - 4*m*k))/(2*m)", "b should be squared"),
    ("(b + sqrt(b^2 - 4*m*k))/(2*m)", "the sign of b"),
    ("(-b + sqrt(b^2 - 4*m*k))/(2*k)", "k should be m"),
])  # fmt: skip
def test_slips_in_a_complex_pole(formula, slip):
    assert compare(dl.control.MassSpringDamper(1.0, 0.4, 4.0).quantity("s1"), formula).slip == slip


def test_a_row_may_be_written_as_a_column_and_a_column_as_a_row():
    m_and_l = replace(formula_quantity("x", "m", ("m", "l")), exact=None)
    for axis in (1, 2):
        q = replace(m_and_l, value=lambda v, axis=axis: np.expand_dims(np.stack([v["m"], v["l"]], -1), axis))
        for formula, right in (("[m, l]", True), ("[[m], [l]]", True), ("[[m, l]]", True), ("[l, m]", False)):
            assert bool(compare(q, formula, slips=False)) is right, (axis, formula)
        with raises(dl.InputError, "wrong-shape formula"):
            compare(q, "[[m, l], [m, l]]")


SYMBOLS = ("a", "b", "c", "d", "e", "q1", "qd1")


@pytest.mark.parametrize("right, formula, slip", [
    ("a*b + a*c + a*d + e", "b + c + a*d + e", "the factor a is missing at b + c"),
    ("a*b*d + a*c*d + e", "b + c + e", "the factor a*d is missing at b + c"),
    ("2*a*b + 2*a*c + e", "b + c + e", "the factor 2*a is missing at b + c"),
    ("a*b + a*c + a*d + e", "-a*b - a*c + a*d + e", "the sign of -a*b - a*c"),
    ("a*b*c*sin(q1)", "c*sin(q1)/a", "the factor a^2*b is missing at c*sin(q1)/a"),
    ("a*qd1^2 + b", "a + b", "the factor qd1^2 is missing at a"),
    ("a*b*c + d", "b*c/e + d", "the factor e*a is missing at b*c/e"),
    ("a*b + a*c + a*d + e*b", "a*b + e*b", "the term a*c + a*d is missing"),
    ("a*b + c*d*e", "-2.5*a*b + c*d*e", "the term 7/2*a*b is missing"),
    ("a*b + c*d + e", "a*b + c", "the factor d is missing at c; and the term e is missing"),
    ("1/2*a*b^2 + c", "a*b + c", "a factor ½ is missing at a*b; and b should be squared"),
])  # fmt: skip
def test_the_likeliest_slip_is_named(right, formula, slip):
    result = compare(formula_quantity("x", right, SYMBOLS), formula)
    assert not result and result.slip == slip
