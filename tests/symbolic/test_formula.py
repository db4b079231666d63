"""Formulas as people write them: every spelling is read as it is meant, two meanings are told, nonsense is refused."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dalembert.errors import DalembertError, InputError
from dalembert.symbolic.formula import FORMS, evaluate, read_equation, read_formula, write_formula
from errors import raises

NAMES = ["m", "m1", "m2", "l", "l1", "l2", "r1", "r2", "lc1", "lc2", "I1", "I2", "I2zz", "g", "a", "b", "d"]
NAMES += ["q1", "qd1", "qdd2", "theta2", "thetad1", "thetadd2", "c12", "s1", "alpha", "Kp", "Fv1"]


@pytest.mark.parametrize(
    "meant, spellings",
    [
        (
            "m2*l1*r2*c2",
            ["m2 l1 r2 c2", "m₂l₁r₂c₂", "m_2 l_1 r_2 c_2", "m_{2}l_{1}r_{2}c_{2}", "m2l1r2c2", "m2·l1×r2*c2"],
        ),
        ("2*b*c12", ["2b c12", "2bc12", "2bc₁₂", "2 b c_{12}", "2b c_{1+2}", "2\\,b\\;c_{1,2}", "2b\\cos\\theta_{12}"]),
        ("m*g*l*sin(q1)", ["mgl sin q1", "mglsin(q1)", "m g l \\sin{q_1}", "mgl\\sin q_1", "m*g*l*Sin(q_1)"]),
        ("1/2*m2*qd1^2", ["½ m₂ q̇₁²", "\\frac12 m_2 \\dot{q}_1^2", "\\tfrac{1}{2}m_2\\dot q_1^{2}", "1/2 m2 qd1^2"]),
        ("sin(q1)^2", ["sin^2 q_1", "\\sin^2(q_1)", "sin²(q1)", "(sin q1)²", "{\\sin q_1}^2", "\\sin^{2}{q_1}"]),
        (
            "thetadd2",
            ["θ̈₂", "\\ddot\\theta_2", "\\ddot{\\theta}_{2}", "\\ddot{\\theta_2}", "theta2_ddot", "θ_2''", "ddtheta2"],
        ),
        ("qd1", ["q̇₁", "{\\dot q}_1", "\\dot{\\mathbf{q}}_1", "q1dot", "qdot1", "q_1'", "dq1", "\\dot{q}_1(t)", "ｑ̇₁"]),
        ("lc2", ["l_{c2}", "l_{c_2}", "l_{c,2}", "l_c2", "\\ell_{c2}", "ℓ_{c2}", "l_{\\mathrm{c}2}", "lc_2"]),
        ("l1^2*thetad1^2", ["l^2_1\\dot{\\theta}^2_1", "l₁²θ̇₁²", "l_1^2 \\dot\\theta_1^2", "l1**2*thetadot1**2"]),
        ("I2zz", ["I_{2,zz}", "I₂zz", "I_{2zz}", "I2zz"]),
        ("I332", ["(I_{33})_2", "I_{332}", "{I_{33}}_2"]),
        (
            "cos(theta1)*sin(theta2)",
            ["c_{\\theta_1} s_{\\theta_2}", "cθ1 sθ2", "c\\theta_1 s\\theta_2", "cos θ₁ sin θ₂"],
        ),
        (
            "cos(theta1 + theta2)",
            ["c(θ1+θ2)", "\\cos(\\theta_1+\\theta_2)", "\\cos\\left[\\theta_1 + \\theta_2\\right]"],
        ),
        ("sqrt(x^2 + y^2)", ["\\sqrt{x^2+y^2}", "√(x²+y²)", "np.sqrt(x**2 + y**2)"]),
        ("x^(1/3)", ["\\sqrt[3]{x}"]),
        ("sqrt(3)/2*l", ["√3/2 l", "\\frac{\\sqrt3}{2}l", "\\sqrt3/2 \\, l"]),
        ("xdd_d", ["\\ddot{x}_d", "\\ddot x_{d}"]),
        ("Kp*M*g*l*(1 - cos(theta_l))", ["\\bar{K}_p Mgl(1 - \\cos \\theta_l)"]),
        ("atan2(y, x)", ["\\operatorname{atan2}(y,x)", "Atan2(y, x)", "\\mathrm{atan2}(y, x)", "math.atan2(y,x)"]),
        ("atan(y/x)", ["tan^{-1}(y/x)", "\\tan^{-1}\\frac{y}{x}", "arctan(y/x)", "\\arctan(\\frac yx)"]),
        ("sgn(qd1)", ["sgn1", "\\operatorname{sgn}(\\dot q_1)", "sign(qd1)", "\\mathrm{sgn}\\,\\dot{q}_1"]),
        ("sin(q1)*qd1", ["\\sin q_1 \\dot{q}_1", "sin q₁ q̇₁"]),
        ("sin(2*q1)*g", ["sin 2q1 g", "\\sin 2q_1\\, g", "sin(2q1)g"]),
        ("A*sin(omega*t)", ["A sin ωt", "A\\sin\\omega t", "A sin(ω t)"]),
        ("30*pi/180", ["30°", "30^\\circ", "30^{\\circ}"]),
        ("cos(30*pi/180)", ["cos 30°", "\\cos 30^\\circ"]),
        ("1.5*10^(-3)", ["1.5×10^{-3}", "1.5\\cdot 10^{-3}", "1.5·10⁻³"]),
        ("1.5e-3", ["1.5E-3", "0.0015"]),
        ("abs(a - b)*l", ["|a - b| l", "\\left|a-b\\right| l", "\\lvert a-b\\rvert l"]),
        ("exp(-2*t)", ["e^{-2t}", "exp(-2t)"]),
        ("[a, b]", ["(a, b)", "[a, b]^T", "\\left(a, b\\right)"]),
        (
            "[[a, b], [b, d]]",
            [
                "[a, b; b, d]",
                "\\begin{bmatrix} a & b \\\\ b & d \\end{bmatrix}",
                "\\left[\\begin{array}{cc} a & b\\\\ b & d \\\\ \\end{array}\\right]",
                "([[a, b], [b, d]])",
            ],
        ),
        (
            "[[a], [b]]",
            ["\\begin{pmatrix} a \\\\ b \\end{pmatrix}", "[a; b]", "\\begin{bmatrix} a & b \\end{bmatrix}^T"],
        ),
        ("[[a*l + b*m], [b*l + d*m]]", ["[[a, b],[b, d]]\\begin{bmatrix} l \\\\ m \\end{bmatrix}"]),
        ("[[-a + 2*b]]", ["-[[a]] + 2[[b]]"]),
        ("g*L1", ["gL_1", "gL₁", "g L1"]),
        ("Jm + Jl", ["J_m + J_l", "J_{m} + J_{l}"]),
        ("Ku*Tu", ["K_uT_u", "K_{u}T_{u}"]),
        ("m*kprime", ["mk'", "m k'"]),
        ("1/2*d*qd2^2 + kv*xd", ["½dq̇₂² + k_vẋ"]),
        ("[[l1*c1], [l1*s1]]", ["[l₁ c₁; l₁ s₁]"]),
        (
            "a*b - c12",
            ["a b\n - c_{12}", "$a b - c_{12}$", "\\[ ab - c_{12} \\]", "a b − c₁₂.", "\\left( ab \\right) - c_{12}"],
        ),
    ],
)
def test_spellings(meant, spellings):
    wanted = ast.dump(read_formula(meant, NAMES))
    for spelling in spellings:
        assert ast.dump(read_formula(spelling, NAMES)) == wanted, spelling


@pytest.mark.parametrize(
    "text, left, right",
    [
        ("M_{12}(q) = d + b c_2", "M12", "d + b*c2"),
        ("M_12 = M_21 = d", "M12 = M21", "d"),
        ("a\\ddot{q}_1 + b = \\tau_1", "tau1", "a*qdd1 + b"),
        ("D_{12}(\\theta) = \\begin{aligned} a &+ b \\\\ &+ d \\end{aligned}", "D12", "a + b + d"),
        ("\\det J = l_1 l_2 s_2", "det", "l1*l2*s2"),
        ("|J| = l1 l2 s2", "det", "l1*l2*s2"),
        ("m \\ddot{x} = f - k x", "0", "m*xdd - (f - k*x)"),
    ],
)
def test_a_left_side_is_given_back(text, left, right):
    name, tree = read_equation(text, NAMES)
    assert name == left and ast.dump(tree) == ast.dump(read_formula(right, NAMES))


@pytest.mark.parametrize(
    "text",
    [
        "a/2b",
        "a/b m",
        "sin q1 / 2",
        "sin q1^2",
        "sin2q1",
        "2½",
        "m2 2",
        "r1 2",
        "0,5 m",
        "0{,}5 m",
        "\\begin{bmatrix} a, b \\\\ c \\end{bmatrix}",
        "\\cos q_2, \\dot{q}_1",
    ],
)
def test_two_meanings_are_told(text):
    with raises(InputError, "syntax formula"):
        read_formula(text, NAMES)
    # and what is usual is not asked about
    for usual in ("1/2 m l^2", "l/2 cos(q1)", "1/2\\dot{q}_1 m_2", "(a + b)/(2 m) (a - b)", "cos q1/m"):
        read_formula(usual, NAMES)


@pytest.mark.parametrize(
    "text, words",
    [
        ("x" * 10**6, "too long"),
        ("(" * 40000, "nested too deeply"),
        ("-" * 40000, "nested too deeply"),
        ("2^" * 40000 + "2", "nested too deeply"),
        ("\\dot" * 20000 + "q", "nested too deeply"),
        ("{" * 40000, "brace"),
        ("ab" * 40000, "is a name of"),
        ("\\begin{bmatrix} a & b \\\\ b & d \\end{bmatrix}" * 50, "products of matrices"),
        ("__import__('os').system('true')", "has no meaning"),
        ("(lambda: 1)()", "has no meaning"),
        ("сos(q1)", "cyrillic small letter es"),
        ("Ι1", "greek capital letter iota"),
        ("a\x00b", "cannot be printed"),
        ("nan", "is no number"),
        ("1e400*m2", "too large"),
        ("9" * 50, "more than 40 digits"),
        ("∂L/∂q", "a derivative is to be carried out"),
        ("\\frac{d}{dt}x", "a derivative is to be carried out"),
        ("\\sum_i m_i", "a sum is to be carried out"),
        ("\\foo a", "foo has no meaning"),
        ("I2 +* m2", "is no formula, near"),
        ("(a", "a bracket is not closed"),
        ("coss(q2)", "unknown function 'coss'; did you mean 'cos'"),
        ("atan2(a)", "two arguments"),
        ("", "is empty"),
        ("a = ", "one side of the equation is empty"),
        (12, "a formula is text"),
    ],
)
def test_nonsense_is_refused_in_words(text, words):
    with pytest.raises(DalembertError, match=words):
        read_formula(text)


def test_values():
    values = {"a": np.array([1.0, 2.0]), "b": 3.0, "q1": 0.3, "q2": 0.4}
    assert evaluate(read_formula("a^2 + 2b/4"), values).tolist() == [2.5, 5.5]
    assert evaluate(read_formula("c12"), values) == math.cos(0.3 + 0.4)
    assert evaluate(read_formula("[a b; 1]".replace(" b", "*b")), values)[1] == [1]
    assert evaluate(read_formula("asin(b/6) + acos(1/2) + atan(1) + atan2(0, -1)"), values) == pytest.approx(
        math.pi * (1 / 6 + 1 / 3 + 1 / 4 + 1)
    )
    assert evaluate(read_formula("b^{-1} + b^{0.5} + 4^{1/2}"), values) == pytest.approx(1 / 3 + math.sqrt(3) + 2)
    for text, words in (
        ("1/(b - b)", "out-of-range formula"),
        ("x", "unknown-name"),
        ("((9^64)^64)^64", "too-large formula"),
    ):
        with raises(DalembertError, words):
            evaluate(read_formula(text), values)


def test_every_part_knows_its_place_in_the_text():
    text = "½ m₂ l₁² q̇₁² + \\frac{a}{b} \\cos(\\theta_1+\\theta_2)"
    places = {
        ast.unparse(node): text[node.col_offset : node.end_col_offset]
        for node in ast.walk(read_formula(text))
        if isinstance(node, ast.BinOp | ast.Call)
    }
    assert places["l1 ** 2"] == "l₁²" and places["qd1 ** 2"] == "q̇₁²" and places["1 / 2"] == "½"
    assert places["a / b"] == "\\frac{a}{b}" and places["theta1 + theta2"] == "\\theta_1+\\theta_2"
    assert places["cos(theta1 + theta2)"] == "\\cos(\\theta_1+\\theta_2)"


def _extended(inner):
    operations = st.sampled_from([ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.Pow()])
    functions = st.sampled_from(["sin", "cos", "tan", "asin", "atan", "sqrt", "exp", "log", "abs", "sgn"])
    load = ast.Load()
    return st.one_of(
        st.tuples(inner, operations, inner).map(lambda t: ast.BinOp(*t)),
        inner.map(lambda x: ast.UnaryOp(ast.USub(), x)),
        st.tuples(functions, inner).map(lambda t: ast.Call(ast.Name(t[0], load), [t[1]], [])),
        st.tuples(inner, inner).map(lambda t: ast.Call(ast.Name("atan2", load), list(t), [])),
    )


_NUMBERS = st.one_of(st.integers(0, 1000), st.sampled_from([0.5, 1.25, 1e-5, 2.5e10])).map(ast.Constant)
_LEAVES = st.one_of(_NUMBERS, st.sampled_from([*NAMES, "e", "pi", "tau1"]).map(lambda n: ast.Name(n, ast.Load())))
_FORMULAS = st.recursive(_LEAVES, _extended, max_leaves=10)
_VECTORS = st.lists(_FORMULAS, min_size=2, max_size=3).map(lambda x: ast.List(x, ast.Load()))
_MATRICES = st.integers(1, 3).flatmap(
    lambda n: st.lists(
        st.lists(_FORMULAS, min_size=n, max_size=n).map(lambda x: ast.List(x, ast.Load())), min_size=1, max_size=3
    ).map(lambda x: ast.List(x, ast.Load()))
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(_FORMULAS, _VECTORS, _MATRICES))
def test_what_is_written_is_read_the_same(tree):
    for form in FORMS:
        written = write_formula(tree, form)
        for names in ((), NAMES):
            assert ast.dump(read_formula(written, names)) == ast.dump(tree), (form, written)


def test_no_other_form():
    with raises(DalembertError, "unknown-name"):
        write_formula(read_formula("a"), "word")
