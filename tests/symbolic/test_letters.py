"""One arm in everybody's letters: what is printed in them is read in them, and one letter has one meaning."""

from __future__ import annotations

import re

import pytest

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.symbolic.letters import PROFILES, Letters, table
from errors import raises


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r")


@pytest.fixture(scope="module")
def plain(arm):
    return arm.equations()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("form", ["text", "long", "latex"])
def test_what_is_printed_in_a_profile_is_read_in_it(arm, profile, form):
    e = arm.equations(letters=profile)
    for what in ("M", "C", "g", "tau", "K", "P"):
        what = e.letters.quantity(what)
        if form == "latex":
            printed = re.sub(r"\\(begin|end)\{aligned\}", "", e.latex(what, lump=False)).replace("&=", "=")
            lines = printed.replace(r"\\ &\quad", "").split(r"\\")
        else:
            lines = e.text(what, lump=False, long=form == "long").splitlines()
        for line in lines:
            left, right = line.split("=", 1)
            assert e.compare(left.replace("\\", "").replace(" ", ""), right), line
            assert e.compare(left.replace("\\", "").replace(" ", ""), line), line


@pytest.mark.parametrize(
    "profile, name, formula",
    [
        ("spong", "D12", r"m_2(\ell_{c2}^2 + \ell_1\ell_{c2}\cos q_2) + I_2"),
        ("siciliano", "B12", r"I_{\ell_2} + m_{\ell_2}(\ell_2^2 + a_1\ell_2 c_2)"),
        ("craig", "G1", "m2 r2 g c12 + (m1 r1 + m2 l1) g c1"),
        ("craig", "V1", r"-m_2 l_1 r_2 s_2(\dot\theta_2^2 + 2\dot\theta_1\dot\theta_2)"),
        ("lynch-park", "M12", r"\mathcal{I}_2 + \mathfrak{m}_2(r_2^2 + L_1 r_2\cos\theta_2)"),
        ("lee", "D12", "I2 + m2*(r2**2 + l1*r2*cos(q2))"),
        ("lagrange-notes", "phi1", r"(m_1 l_{c_1} + m_2 l_1) g c_1 + m_2 l_{c_2} g c_{12}"),
        ("dalembert", "M12", r"(I_{33})_2 + m_2(l_{c_2}^2 + L_1 l_{c2} \cos\theta_2)"),
        ("dalembert", "M12", r"I_{zz,2} + m_2(a_{c2}^2 + a_1 a_{c2} C_2)"),
        ("dalembert", "H12", "Ic2 + M2*(lc2^2 + L1*lc2*cos(theta2))"),
        ("dalembert", "tau1", "(a + 2b c2)θ̈₁ + (d + b c2) θ̈₂ - b s₂(2θ̇₁θ̇₂ + θ̇₂²) + e c₁ + f c₁₂"),
        ("dalembert", "Gamma112", "b s2"),
        ("dalembert", "det", r"\det J = L_1 L_2 \sin\theta_2"),
    ],
)
def test_as_textbooks_print_it(arm, profile, name, formula):
    result = arm.equations(letters=profile).compare(name, formula)
    assert result and str(result) == f"{arm.equations(letters=profile).letters.quantity(result.name)} is right."
    assert not arm.equations(letters=profile).compare(name, f"2({formula.split('=')[-1]})")


def test_names_and_parameters_that_are_one(arm):
    e = arm.equations(names={"r1": "lc1", "r": "rho", "q": "theta"})
    assert {"lc1", "rho2"} < set(e.parameters) and e.values["lc1"] == arm.equations().values["r1"]
    assert "m1*lc1^2" in e.text() and "thetad2" in e.text("C") and r"\dot{\theta}_{2}" in e.latex("C")
    assert "θ" not in e.text() and e.text("g2", lump=False, long=True) == "g2 = m2*g*rho2*cos(theta1 + theta2)\n"
    points = dl.load("planar-2r-points").equations(same={"r1": "l1", "r2": "l2"})
    assert set(points.parameters) == {"m1", "m2", "l1", "l2", "g"}
    assert points.compare("M11", "m1 L1^2 + m2(L1^2 + 2 L1 L2 cos θ2 + L2^2)")
    assert points.compare("tau2", "m2 l2^2 (θ̈1 + θ̈2) + m2 l1 l2 (c2 θ̈1 + s2 θ̇1^2) + m2 g l2 c12")


def test_a_name_for_a_quantity_among_the_names(arm):
    e = arm.equations(names={"M": "D", "r": "lc"})
    assert "D12 = " in e.text("M") and e.compare("D12", "I2 + m2 (lc2^2 + l1 lc2 c2)")


def test_one_letter_one_meaning(plain):
    """In every quantity, printed alone or with others, a lumped constant is what it is in M."""
    lumps = {name: line for name, line in (line.split(" = ") for line in plain.text("M", "C", "g").splitlines()[:5])}
    assert list(lumps) == ["a", "b", "d", "e", "f"]
    for what in (("M",), ("C",), ("g",), ("Gamma",), ("tau",), ("K",), ("c", "J"), ("g", "M"), ("dL/dqd",)):
        for line in plain.text(*what).splitlines():
            left, right = line.split(" = ")
            assert lumps.get(left, right) == right
    assert not set(lumps) & {line.split(" = ")[0] for line in plain.text("J", "T", "P").splitlines()}


@pytest.mark.parametrize("robot", ["rp", "planar-3r", "elbow-3r"])
def test_lumps_can_be_used_in_every_formula(robot):
    e = dl.load(robot).equations()
    for what in ("M", "C", "g", "tau", "c"):
        for line in e.text(what).splitlines():
            name, right = line.split(" = ")
            if name not in e.lumps:
                assert e.compare(name, right), line


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"letters": "spon"}, "unknown-name"),
        ({"letters": 3}, "wrong-type letters"),
        ({"names": {"r9": "lc9"}}, "unknown-name"),
        ({"names": {"zz": "y"}}, "unknown-name"),
        ({"names": {"r1": "l c"}}, "wrong-value names"),
        ({"names": {"r1": "sin"}}, "wrong-value names"),
        ({"names": {"r1": "q1"}}, "wrong-value names"),
        ({"names": {"q": "q1"}}, "wrong-value names"),
        ({"names": ["r1"]}, "wrong-type names"),
        ({"names": {"r1": "l1"}}, "duplicate parameters"),
        ({"names": {"r": "s"}}, "wrong-value names"),
        ({"same": {"r1": "l1"}}, "conflict same"),
        ({"same": {"r1": "x"}}, "unknown-name"),
    ],
)
def test_refusals(arm, arguments, words):
    with raises(DalembertError, words):
        arm.equations(**arguments)


def test_spellings_that_could_be_two_things_are_not_guessed(arm, plain):
    with raises(DalembertError, "conflict formula"):
        plain.compare("M12", "M11 = d")
    with raises(DalembertError, "unknown-name"):
        plain.compare("M12", "x7 + d")
    spellings = Letters().spellings(["l1", "a1", "r1", "m1", "m2"])
    assert spellings["l1"] == "l1" and spellings["a1"] == "a1" and "L1" not in spellings and "m" not in spellings
    assert spellings["r"] == "r1" and spellings["lc1"] == "r1"


def test_the_table_of_letters_is_that_of_the_page():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "equations.md").read_text(encoding="utf-8")
    assert table() in page


def test_entries_are_symbols_in_the_letters_of_the_notes():
    """In the Lagrange notes phi is gravity, also inside a formula, where it was read as the joint angle."""
    e = dl.load("planar-2r").equations(letters="lagrange-notes")
    tau2 = r"d_{21}\ddot q_1 + d_{22}\ddot q_2 + c_{112}\dot q_1^2 + \phi_2"
    assert e.compare("tau2", tau2)
    assert not e.compare("tau2", tau2.replace(r"\phi_2", r"\phi_1"))
    assert not e.compare("tau2", tau2.replace("c_{112}", "c_{111}"))
    assert e.compare("tau2", "D21 qdd1 + D22 qdd2 + c112 qd1^2 + phi2")
    with raises(dl.DalembertError, "unknown-name"):
        e.compare("phi1", "phi1")
    assert dl.load("planar-2r").equations().compare("g2", r"m_2 r_2 g \cos(\phi_1 + \phi_2)"), "an angle elsewhere"


@pytest.mark.parametrize("letters", ["lee", "murray", "siciliano"])
def test_the_pose_is_reached_where_t_is_the_kinetic_energy(letters):
    e = dl.load("planar-2r").equations(letters=letters)
    assert e.entry("T14") == dl.load("planar-2r").equations(letters=letters).fk()[0][3]
    assert e.text("T14").startswith("T14 =") and e.compare("T14", e.text("T14").partition("=")[2])
    assert e.quantity("T").name == "K"


def test_a_number_for_gravity():
    e = dl.load("planar-2r").equations()
    assert e.compare("g2", "m2*r2*9.81*c12").where == "for this system, where g = 9.81"
    wrong = e.compare("g2", "m2*r2*9.81*s12")
    assert not wrong and [s.kind for s in wrong.slips] == ["sin/cos"]
