"""What stands in textbooks is right for the systems it is about; with a slip it is not."""

from __future__ import annotations

import pytest
from tests.lagrange import textbook

import dalembert as dl
from dalembert.lagrange import EXAMPLES
from dalembert.symbolic.text import text
from errors import fields_of


@pytest.mark.parametrize(("make", "name", "formula"), textbook.RIGHT)
def test_right_formulas_are_right(make, name, formula):
    result = make().compare(name, formula)
    assert result, str(result)


@pytest.mark.parametrize(
    ("make", "name", "formula", "says"),
    [
        (textbook.double_pendulum, "M12", "m2*l1*l2*sin(theta1 - theta2)", "cos"),
        (textbook.double_pendulum, "P", "-(m1+m2) g l1 cos(theta1) + m2 g l2 cos(theta2)", "sign"),
        (textbook.crane, "tau1", "(M+m) xdd + m l thetadd cos(theta) - m l thetad sin(theta)", "squared"),
        (textbook.crane, "K", "1/2 (M+m) xd^2 + 1/2 m l cos(theta) xd thetad + 1/2 m l^2 thetad^2", "1/2"),
        (textbook.ball_and_beam, "tau2", "(m r^2 + J + J_b) alphadd + m r rd alphad + m g r cos(alpha)", "2"),
        (textbook.spherical_pendulum, "qdd1", "sin(theta) cos(theta) phid^2 + (g/l) sin(theta)", "sign"),
        (textbook.furuta, "M11", "J + m L^2 + m l^2 cos(theta)^2", "sin"),
        (lambda: EXAMPLES["five-bar"](), "M12", "(m2*l2*lc3 - m4*l1*lc4)*cos(q2 - q1)", "m3"),  # the notes' misprint
    ],
)
def test_slips_are_named(make, name, formula, says):
    result = make().compare(name, formula)
    assert not result and says in str(result).split("slip")[-1]


def test_equations_of_motion_are_compared_as_they_stand():
    link = EXAMPLES["geared-link"]()
    assert link.compare("tau1", r"(r^2J_m + J_l)\ddot{\theta} + Mgl\sin\theta = ru")
    wrong = link.compare("tau1", r"(r^2J_m + J_l)\ddot{\theta} - Mgl\sin\theta = ru")
    assert not wrong and "sign" in str(wrong)
    assert textbook.bead().compare("tau1", "thetadd = Omega^2 sin(theta) cos(theta) - (g/R) sin(theta)")


def test_what_is_not_there_is_refused_in_a_sentence():
    cart = EXAMPLES["cart-pole"]()
    for name, fields, says in (
        ("lambda1", "missing name", "no constraints"),
        ("M13", "out-of-range name", "2×2"),
        ("Gamma", "wrong-shape name", "2×2×2.*Gamma111"),
        ("zeta", "unknown-name", "zeta"),
    ):
        with pytest.raises(dl.DalembertError, match=says) as caught:
            cart.quantity(name)
        assert fields_of(caught.value) == fields


def test_energies_of_bodies_survive_new_numbers():
    cart = EXAMPLES["cart-pole"]().with_parameters(m=0.3)
    assert cart.compare("K2", "1/2 m (xd^2 + 2 l cos(theta) xd thetad + l^2 thetad^2)")
    assert cart.parameters[next(s for s in cart.parameters if str(s) == "m")] == 0.3


def test_expressions_are_written_as_a_textbook_does():
    arm, cart, knife = (EXAMPLES[name]() for name in ("planar-2r", "cart-pole", "knife-edge"))
    assert arm.quantity("P").derived == "(m1*r1 + m2*l1)*g*s1 + m2*g*r2*s12"
    assert cart.quantity("tau1").derived == "(M + m)*xdd + m*l*cos(theta)*thetadd - m*l*sin(theta)*thetad^2"
    assert knife.quantity("tau2").derived == "m*ydd - cos(theta)*lambda1"
    assert text(cart.writing(cart._energies.kinetic, energy=True)).startswith("1/2*(M + m)*xd^2")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_is_printed_is_what_is_meant(name):
    """Every quantity's own text, read back, is right."""
    system = EXAMPLES[name]()
    for what in ("K", "P", "L", "M", "C", "g", "tau", "psi"):
        quantity = system.quantity(what)
        assert system.compare(what, quantity.derived), what


@pytest.mark.parametrize("equation, slip", [
    ("l*thetadd + xdd*cos(theta) + g*sin(theta) = 0", "the sign of g*sin(theta)"),  # divided by m l
    ("l*thetadd + 2*xdd*cos(theta) = g*sin(theta)", "the factor 2 should not be there, at 2*xdd*cos(theta)"),
    ("thetadd + xdd*cos(theta)/l = g*cos(theta)/l", "cos(theta) should be sin(theta)"),  # by m l²
])  # fmt: skip
def test_slips_in_equations_that_were_divided(equation, slip):
    assert dl.lagrange.EXAMPLES["cart-pole"]().compare("tau2", equation).slip == slip
