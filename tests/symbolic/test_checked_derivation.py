"""Whole derivations: right ones pass in any spelling, the first mistake is named, its consequences are not mistakes."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import dalembert as dl
from dalembert.lagrange import EXAMPLES
from dalembert.symbolic.check import check
from dalembert.symbolic.nodes import build
from dalembert.symbolic.steps import derivative, robot_steps
from errors import raises

# The derivation of a planar arm as a course has it, in LaTeX and on a blackboard, with constants of the reader's own.
ARM = r"""
K1 = ½ (m1 r1² + I1) q̇₁²
K_2 = 1/2 m2 (l1^2 qd1^2 + r2^2 (qd1 + qd2)^2 + 2 l1 r2 c2 qd1 (qd1 + qd2)) + 1/2 I2 (qd1 + qd2)^2
Let us write
a = I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2)
b = m2 l1 r2
d = I2 + m2 r2^2
T = \frac{1}{2}(a + 2b\cos q_2)\dot{q}_1^2 + (d + b\cos q_2)\dot{q}_1\dot{q}_2 + \frac{1}{2} d\dot{q}_2^2
V = (m1 r1 + m2 l1) g sin(q1) + m2 r2 g sin(q1 + q2)
\frac{\partial L}{\partial \dot{q}_1} &= (a + 2b \cos q_2) \dot{q}_1 + (d + b \cos q_2) \dot{q}_2 \\
\frac{d}{dt} \left( \frac{\partial L}{\partial \dot{q}_1} \right)
&= a\ddot{q}_1 + d \ddot{q}_2 + b \cos q_2 (2 \ddot{q}_1 + \ddot{q}_2) - b\sin q_2\dot{q}_2 (2 \dot{q}_1 + \dot{q}_2)
\frac{\partial L}{\partial q_1} = -\frac{\partial V}{\partial q_1} = -(m1 r1 + m2 l1) g c1 - m2 r2 g c12
D = [[a + 2 b c2, d + b c2], [d + b c2, d]]
h = -m2 l1 r2 s2
c_{121} = h
C = [[h qd2, h (qd1 + qd2)], [-h qd1, 0]]
G1 = (m1 r1 + m2 l1) g c1 + m2 r2 g c12
(d + b c2) qdd1 + d qdd2 + b s2 qd1^2 + m2 r2 g c12 = tau2
"""


def verdicts(result):
    return {x.step: x.verdict for x in result.lines}


def test_a_right_derivation_is_right_in_any_spelling():
    result = check(robot_steps(dl.load("planar-2r").equations()), ARM)
    assert result and result.first is None, str(result)
    assert sum(x.verdict == "right" for x in result.lines) == 12 and sum(x.verdict == "own" for x in result.lines) == 4


def test_the_first_mistake_is_named_and_what_follows_from_it_is_not_another():
    result = check(
        robot_steps(dl.load("planar-2r").equations()),
        """
        K2 = 1/2*m2*(l1^2*qd1^2 + r2^2*(qd1+qd2)^2 + l1*r2*c2*qd1*(qd1+qd2)) + 1/2*I2*(qd1+qd2)^2
        M12 = I2 + m2*(r2^2 + l1*r2*c2/2)
        Gamma211 = -m2*l1*r2*s2/2
        C11 = -m2*l1*r2*s2*qd2/2
        g2 = m2*g*r2*s12
        tau2 = (I2 + m2*(r2^2 + l1*r2*c2/2))*qdd1 + (I2+m2*r2^2)*qdd2 + m2*l1*r2*s2*qd1^2/2 + m2*g*r2*s12
        M22 = I2 + m2*r2^2
        """,
    )
    assert not result and result.first is not None and result.first.step == "K2" and "factor 2" in result.first.reason
    assert verdicts(result) == {
        "K2": "wrong",
        "M12": "follows",
        "Gamma211": "follows",
        "C11": "follows",
        "g2": "wrong",
        "tau2": "follows",
        "M22": "right",
    }
    assert result.lines[1].reason == "right for your K2" and result.lines[5].reason == "right for your K2 and g2"
    assert "first mistake is in line 2, K2" in str(result)
    assert result.record()["first"] == 2 and result.record()["lines"][4]["verdict"] == "wrong"


def test_a_line_that_forgets_a_term_of_its_own_is_wrong_by_what_it_was_made_of():
    """K has cos for sin; in the rate of the momentum a chain-rule term is missing besides."""
    cart = EXAMPLES["cart-pole"]().derivation()
    result = cart.check(
        [
            "K = 1/2*(M+m)*xd^2 + m*l*sin(theta)*xd*thetad + 1/2*m*l^2*thetad^2",
            "d/dt dL/dxd = (M+m)*xdd + m*l*sin(theta)*thetadd",
        ]
    )
    assert [x.verdict for x in result.lines] == ["wrong", "wrong"]
    assert "taking your K as it is" in result.lines[1].reason and "missing" in result.lines[1].reason


def test_a_line_that_no_slip_explains_is_not_put_down_to_an_earlier_one():
    cart = EXAMPLES["cart-pole"]().derivation()
    wrong = "K = 1/2*(M+m)*xd^2 + m*l*sin(theta)*xd*thetad + 1/2*m*l^2*thetad^2"
    first, second = cart.check([wrong, "d/dt dL/dxd = 7*m^3*l^2*sin(theta)^5 + M^4*x^3"]).lines
    assert (first.verdict, second.verdict) == ("wrong", "wrong")
    assert second.reason.startswith("derived: ") and "taking your" not in second.reason


@pytest.mark.parametrize("scale", ["1", "-1", "1/(m*l)", "l"])
def test_equations_of_motion_may_be_divided_by_what_does_not_move(scale):
    cart = EXAMPLES["cart-pole"]().derivation()
    line = f"({scale})*(m*l*cos(theta)*xdd + m*l^2*thetadd - m*g*l*sin(theta)) = 0"
    assert cart.check(line), str(cart.check(line))
    wrong = cart.check(line.replace("- m*g", "+ m*g"))
    assert verdicts(wrong) == {"equation of theta": "wrong"} and "sign" in str(wrong)


def test_equations_where_nothing_acts():
    bead = EXAMPLES["bead-on-a-hoop"]().derivation()
    assert bead.check(r"\ddot\theta + \frac{g}{R}\sin\theta - \Omega^2 \sin\theta\cos\theta = 0")
    assert bead.check(r"\ddot\theta = \Omega^2 \sin\theta\cos\theta - \frac{g}{R}\sin\theta")


def test_lines_that_cannot_be_read_are_told_apart_from_wrong_ones():
    cart = EXAMPLES["cart-pole"]().derivation()
    result = cart.check(["K1 = 1/2 M xd^2", "sin(theta) = cos(theta)", "K2 = __import__('os')", "P1 = "])
    assert [x.verdict for x in result.lines] == ["right", "unread", "unread", "unread"] and not result
    assert result.first is None and all(x.reason for x in result.lines[1:])
    with raises(dl.InputError, "too-large lines"):
        cart.check(["K = 1"] * 10_000)


def test_three_joints_with_a_wrong_energy_are_worked_out_at_once():
    e = dl.load("planar-3r").equations()
    right = e.quantity("K").derived
    wrong = right.replace("I3", "2*I3", 1)
    steps = robot_steps(e)
    M33, tau3 = (e.quantity(name).derived for name in ("M33", "tau3"))
    result = check(steps, [f"K = {wrong}", f"M33 = {M33}", f"tau3 = {tau3}"])
    assert [x.verdict for x in result.lines] == ["wrong", "right", "right"]


@pytest.mark.parametrize(
    "formula", ["x**3*sin(2*x*y)/(1 + x**2)", "sqrt(x)*exp(-x*y) + log(x)", "atan(x*y) - tan(x)/y", "x**y"]
)
def test_slopes_of_formulas(formula):
    tree = ast.parse(formula, mode="eval").body
    x, y, h = np.linspace(0.3, 1.2, 7), np.linspace(1.1, 0.4, 7), 1e-6
    ahead, behind = (build(tree, {"x": x + d, "y": y}).x for d in (h, -h))
    found = build(derivative(tree, "x"), {"x": x, "y": y}).x
    assert np.allclose(found, (ahead - behind) / (2 * h), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "formula", ["9**9**9**9", "2^(9^999)", "m1^(1/0)", "m1^(-9^9^9)", "0^0^0^9^9^9", "(1/0)^(0/0)"]
)
def test_powers_without_end_are_answered(formula):
    e = dl.load("planar-2r").equations()
    assert not e.derivation().check(f"M12 = {formula}")


def test_a_sum_without_end_is_answered_and_the_next_line_judged():
    lines = [f"K = {'+'.join(['m1'] * 20_000)}", "M22 = I2 + m2 r2^2"]
    checked = dl.load("planar-2r").equations().derivation().check(lines)
    assert [x.verdict for x in checked.lines] == ["unread", "right"] and "too long" in checked.lines[0].reason


def test_a_file_without_steps_says_so():
    checked = dl.load("planar-2r").equations().derivation().check("\n\n")
    assert not checked and "There is no step in it" in str(checked)


@pytest.mark.parametrize("lines", [3, [1, 2]])
def test_a_derivation_is_text(lines):
    with raises(dl.InputError, "wrong-type lines"):
        dl.load("planar-2r").equations().derivation().check(lines)


WRONG_MOTION = """
v_c2 = [l1 s1 qd1 - r2 s12 (qd1+qd2), l1 c1 qd1 + r2 c12 (qd1+qd2), 0]
omega_2 = qd1 - qd2
P1 = m1 g r1 s1
P2 = m2 g (l1 s1 + r2 s12)
"""


def test_velocities_are_steps():
    derivation = dl.load("planar-2r").equations().derivation()
    result = derivation.check(WRONG_MOTION)
    assert [x.verdict for x in result.lines] == ["wrong", "wrong", "right", "right"] and not result
    assert all("sign" in x.reason for x in result.lines[:2])
    right = WRONG_MOTION.replace("[l1 s1", "[-l1 s1").replace("qd1 - qd2", "qd1 + qd2")
    assert derivation.check(right)
    assert derivation.check(r"p_{c2} = [l1 c1 + r2 c12, l1 s1 + r2 s12]") and derivation.check("omega_1 = [0, 0, qd1]")
    spatial = dl.load("rp").equations()
    omega = spatial.quantity("omega2").derived
    assert spatial.derivation().check(f"omega_2 = {omega}") and not spatial.derivation().check("omega_2 = [qd1, 7, 0]")


@pytest.mark.parametrize("line", ["foo = qd1 + 7", "r_2 = [l1 c1, l1 s1, 9]", "a = 3 m1", "a = 3 m1\nb = a"])
def test_a_line_that_was_not_judged_does_not_count(line):
    derivation = dl.load("planar-2r").equations().derivation()
    alone = derivation.check(line)
    assert not alone and {x.verdict for x in alone.lines} == {"unjudged"}
    result = derivation.check(f"{line}\nP1 = m1 g r1 s1")
    assert not result and result.record()["right"] is False and "1 of" in str(result) and "not judged" in str(result)
    assert [x.verdict for x in result.lines[-1:]] == ["right"]


def test_a_name_of_ones_own_counts_once_a_right_line_depends_on_it():
    derivation = dl.load("planar-2r").equations().derivation()
    assert derivation.check("k = m2*r2\nh = k*l1\nM12 = I2 + m2*r2^2 + h*c2")
    assert not derivation.check("h = m2*l1*r2\nM12 = I2 + m2*r2^2 + m2*l1*r2*c2 + 0*h")
    assert not derivation.check("h = 2*m2*l1*r2\nM12 = I2 + m2*r2^2 + h*c2")


def test_a_step_is_a_name_in_later_lines():
    derivation = dl.load("planar-2r").equations().derivation()
    lines = [
        "d22 = I2 + m2*r2^2",
        "d12 = d22 + m2*l1*r2*c2",
        "d12 qdd1 + d22 qdd2 + m2*l1*r2*s2*qd1^2 + m2*r2*g*c12 = tau2",
    ]
    assert derivation.check(lines), derivation.check(lines)
    wrong = derivation.check([lines[0].replace("+", "-"), *lines[1:]])
    assert not wrong and wrong.first.number == 1


def test_every_name_of_a_chain_is_judged():
    derivation = dl.load("planar-2r").equations().derivation()
    assert derivation.check("M12 = M21 = I2 + m2*(r2^2 + l1*r2*c2)")
    assert not derivation.check("M12 = M11 = I2 + m2*(r2^2 + l1*r2*c2)")


def test_matrices_in_latex():
    derivation = dl.load("planar-2r").equations().derivation()
    M12 = "I_2 + m_2 (r_2^2 + l_1 r_2 c_2)"
    rows = rf"I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2 + 2 l1 r2 c2) & {M12} \\ {M12} & I2 + m2 r2^2"
    D = rf"M &= \begin{{bmatrix}} {rows} \end{{bmatrix}}"
    assert derivation.check(D) and not derivation.check(D.replace("l_1", "l_2"))


M22 = "M22 = I2 + m2*r2^2"


@pytest.mark.parametrize(
    "lines",
    [
        "I2 = I2 + m2*r2^2 + m2*l1*r2*c2\nM12 = I2",
        "m2 = 5*m2\nM22 = I2 + m2*r2^2/5",
        "pi = 3\nM22 = I2 + m2*r2^2*3/pi",
        "q2 = 3\nM22 = I2 + m2*r2^2*q2/3",
        "s12 = 3\nM22 = I2 + m2*r2^2*s12/3",
        "theta2 = q1 + q2\nM12 = I2 + m2*r2^2 + m2*l1*r2*cos(theta2 - q1)",
        "g = 10\nP1 = m1*r1*s1*g",
    ],
)
def test_symbols_of_the_system_keep_their_meaning(lines):
    """A line that redefines a symbol would make any formula right."""
    result = dl.load("planar-2r").equations().derivation().check(lines)
    assert not result and result.lines[0].verdict == "unread" and "choose another name" in result.lines[0].reason


def test_what_a_symbol_is_in_this_system_may_be_written():
    derivation = dl.load("planar-2r").equations().derivation()
    lines = ["g = 9.81", "l1 = 1", "r1 = l1/2", "theta1 = q1", "c1 = cos(q1)", "s12 = sin(q1 + q2)", "P1 = m1*g*r1*s1"]
    result = derivation.check(lines)
    assert result and [x.verdict for x in result.lines] == [*["own"] * 6, "right"]
    assert not derivation.check("g = 9.81\nl1 = 1") and "no step" in str(derivation.check("g = 9.81"))
    position = derivation.check(f"r_2 = [l1 c1 + r2 c12, l1 s1 + r2 s12]\n{M22}")
    assert [x.verdict for x in position.lines] == ["unjudged", "right"]


@pytest.mark.parametrize(
    "line", ["M12 ≈ 7", "M12: 7 + I2", "M12 -> 7", "M12 ≠ 7", "M12 < 7", r"M_{12} \approx 7", "T_01 = 7"]
)
def test_a_formula_without_an_equals_sign_is_not_judged(line):
    result = dl.load("planar-2r").equations().derivation().check(f"{line}\n{M22}")
    assert not result and [x.verdict for x in result.lines] == ["un" + ("judged" if "=" in line else "read"), "right"]


def test_prose_is_left_out():
    text = (
        f"Q1\na)\n(3)\nPart 2: the mass matrix\nKinetic energy of m2 + m1:\n- one entry:\n{M22}\nwhich was to be shown"
    )
    result = dl.load("planar-2r").equations().derivation().check(text)
    assert result and len(result.lines) == 1


@pytest.mark.parametrize(
    "lines, count",
    [
        ("M22 = I2\n    + m2*r2^2", 1),
        ("M22 =\nI2 + m2*r2^2", 1),
        ("M_{22}\n= I2\n+ m2 r2^2", 1),
        ("\\begin{align}\nM_{22} &= I_2 \\\\\n & + m_2 r_2^2\n\\end{align}", 1),
        ("M =\n[[a, b],\n [b, I2 + m2 r2^2]]", 1),
        ("M = \\begin{bmatrix}\na & b \\\\\nb & I2 + m2*r2^2\n\\end{bmatrix}\nM22 = I2 + m2*r2^2", 2),
    ],
)
def test_a_formula_may_go_on_in_the_next_line(lines, count):
    a, b = "(I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2 + 2 l1 r2 c2))", "(I2 + m2 r2^2 + m2 l1 r2 c2)"
    lines = lines.replace("a,", f"{a},").replace("a &", f"{a} &")
    lines = lines.replace(" b]", f" {b}]").replace("[b", f"[{b}").replace("& b", f"& {b}").replace("\nb &", f"\n{b} &")
    derivation = dl.load("planar-2r").equations().derivation()
    result = derivation.check(lines)
    assert result and len(result.lines) == count, str(result)
    assert not derivation.check(lines.replace("m2", "2 m2", 1).replace("m_2", "2 m_2"))


ENTRY_22, ENTRY_12 = "I2 + m2*r2^2", "I2 + m2*(r2^2 + l1*r2*c2)"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (f"M22 = {ENTRY_22}\n= m2*r2^2 + I2", f"M22 = {ENTRY_22}\n= m2*r2^2 - I2"),  # goes on on the next line
        (f"M22\n= {ENTRY_22}", "M22\n= I2 - m2*r2^2"),  # begins there
        (f"{ENTRY_22} = M22", "I2 - m2*r2^2 = M22"),  # the other way round
        (f"M21 = {ENTRY_12}\nM12 = M21", f"M21 = {ENTRY_12}\nM11 = M21"),  # names alone
    ],
)
def test_every_side_of_a_line_is_judged(right, wrong):
    derivation = dl.load("planar-2r").equations().derivation()
    assert derivation.check(right), str(derivation.check(right))
    result = derivation.check(wrong)
    assert not result and result.lines[-1].verdict == "wrong", str(result)


def test_a_force_that_is_given_is_an_equation_of_motion_and_no_name_of_ones_own():
    cart = EXAMPLES["cart-pole"]().derivation()
    line = "F = (M+m)*xdd + m*l*cos(theta)*thetadd - m*l*sin(theta)*thetad^2"
    assert [x.verdict for x in cart.check(line).lines] == ["right"]
    assert [x.verdict for x in cart.check(line.replace("+ m*l", "- m*l")).lines] == ["wrong"]


def test_the_entries_of_a_matrix_that_are_wrong_are_named():
    derivation = dl.load("planar-2r").equations().derivation()
    M11 = "I1 + I2 + m1*r1^2 + m2*(l1^2 + r2^2 + 2*l1*r2*c2)"
    (line,) = derivation.check(f"M = [[{M11}, {ENTRY_12.replace('+', '-', 1)}], [{ENTRY_12}, {ENTRY_22}]]").lines
    assert (line.step, line.verdict) == ("M", "wrong") and line.reason.startswith("M12 wrong: the sign of")
    assert not any(name in line.reason for name in ("M11", "M21", "M22"))
