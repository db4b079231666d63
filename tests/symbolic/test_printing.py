"""Text, LaTeX, SymPy and values of expressions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dalembert.symbolic import latex as tex
from dalembert.symbolic.expression import (
    ONE,
    ZERO,
    Cosine,
    Name,
    Number,
    Power,
    Product,
    Sign,
    Sine,
    Sum,
    decimal,
    evaluate,
    is_rounded,
    names_in,
    negative,
    number,
    power,
    size,
    times,
    total,
)
from dalembert.symbolic.factor import factored
from dalembert.symbolic.lumps import legible
from dalembert.symbolic.text import equation, rounded, text
from symbolic.arms import GROUPS, PUMA, PUMA_LINKS, mass_matrix, random_point, random_polynomial, random_ring, ring_of

a, b, r1 = Name("a"), Name("b"), Name("r1")
c2, c12 = Cosine(((2, 1),)), Cosine(((1, 1), (2, 1)))
difference = Sine(((1, 1), (2, -1)))
M11 = total([a, times(number(2), b, c2)])


def to_sympy(expression):
    """The same in SymPy: names become plain symbols, joint angles the symbols q1, q2, …."""
    import sympy

    def value(node):
        match node:
            case Number(x):
                return sympy.Rational(x.numerator, x.denominator)
            case Name(name):
                return sympy.Symbol(name)
            case Sum(terms):
                return sympy.Add(*map(value, terms))
            case Product(factors):
                return sympy.Mul(*map(value, factors))
            case Power(base, exponent):
                return value(base) ** exponent
            case Sign(argument):
                return sympy.sign(value(argument))
            case Cosine(angle) | Sine(angle):
                head = sympy.cos if isinstance(node, Cosine) else sympy.sin
                return head(sympy.Add(*(k * sympy.Symbol(f"q{joint}") for joint, k in angle)))

    return value(expression)


def test_constructors_tidy_and_keep_order():
    assert times(a, number(2), times(b, a)) == times(number(2), a, b, a)
    assert times(a, a, power(a, 2)) == power(a, 4)
    assert times(a, ZERO) == ZERO == total([])
    assert times() == ONE == power(a, 0)
    assert total([total([a, b]), ZERO, r1]) == Sum((a, b, r1))
    assert text(total([negative(a), b])) == "b - a"
    assert negative(negative(a)) == a
    assert size(times(number(2), power(a, 2), b)) == 4
    assert names_in(times(M11, difference)) == {"a", "b", "q1", "q2"}


@pytest.mark.parametrize(
    ("expression", "short", "long", "pretty"),
    [
        (M11, "a + 2*b*c2", "a + 2*b*cos(q2)", "a + 2 b c₂"),
        (times(number(-1), M11, Name("qd1")), "-(a + 2*b*c2)*qd1", "-(a + 2*b*cos(q2))*qd1", "-(a + 2 b c₂) q̇₁"),
        (power(c12, 2), "c12^2", "cos(q1 + q2)**2", "c₁₂²"),
        (power(M11, 2), "(a + 2*b*c2)^2", "(a + 2*b*cos(q2))**2", "(a + 2 b c₂)²"),
        (difference, "sin(q1 - q2)", "sin(q1 - q2)", "sin(q₁ - q₂)"),
        (Cosine(((1, 2),)), "cos(2*q1)", "cos(2*q1)", "cos(2 q₁)"),
        (Cosine(((1, 1), (12, 1))), "cos(q1 + q12)", "cos(q1 + q12)", "cos(q₁ + q₁₂)"),
        (times(number(Fraction(-1, 2)), a), "-1/2*a", "-1/2*a", "-½ a"),
        (Sign(Name("qd1")), "sign(qd1)", "sign(qd1)", "sign(q̇₁)"),
        (total([Name("I1zz"), Name("alpha2")]), "I1zz + alpha2", "I1zz + alpha2", "I₁zz + α₂"),
        (ZERO, "0", "0", "0"),
    ],
)
def test_text(expression, short, long, pretty):
    assert text(expression) == short
    assert text(expression, long=True) == long
    assert text(expression, unicode=True) == pretty


def test_equations_and_decimals():
    third = times(number(Fraction(1, 3)), a)
    assert equation("M11", M11, unicode=True) == "M₁₁ = a + 2 b c₂"
    assert equation("M11", third, digits=4) == "M11 = 0.3333*a"
    assert rounded(third) and not rounded(M11)
    assert [decimal(Fraction(x)) for x in ("0.25", "3", "-1.2345678", "1e-9")] == ["0.25", "3", "-1.23457", "1e-09"]
    assert is_rounded(Fraction(1, 3)) and not is_rounded(Fraction(1, 4))


NAMES = {
    "r1": "r_{1}",
    "lc1": "l_{c1}",
    "I1zz": "I_{1,zz}",
    "qd1": r"\dot{q}_{1}",
    "qdd12": r"\ddot{q}_{12}",
    "sa1": r"s_{\alpha_{1}}",
    "ca12": r"c_{\alpha_{12}}",
    "alpha2": r"\alpha_{2}",
    "tau1": r"\tau_{1}",
    "Gamma112": r"\Gamma_{112}",
    "Gamma1,10,2": r"\Gamma_{1,10,2}",
    "Y1,10": "Y_{1,10}",
    "Fs1": "F_{s1}",
    "g": "g",
    "Jm": "J_{m}",
    "p12": "p_{12}",
    "m_load": r"m_{\mathrm{load}}",
    "l_1": "l_{1}",
    "gain": r"\mathrm{gain}",
    "m1x": "m_{1,x}",
    r"\det J": r"\det J",
    "α1": r"\mathrm{α1}",
}


@pytest.mark.parametrize(("word", "expected"), NAMES.items())
def test_names_in_latex(word, expected):
    assert tex.name(word) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (M11, "a + 2 b c_{2}"),
        (c12, "c_{12}"),
        (Cosine(((1, 1), (12, 1))), "c_{1,12}"),
        (power(difference, 2), r"\sin^{2}\left(q_{1} - q_{2}\right)"),
        (times(number(Fraction(1, 2)), power(Name("qd1"), 2)), r"\frac{1}{2} \dot{q}_{1}^{2}"),
        (times(number(-2), M11, a), r"-2 \left(a + 2 b c_{2}\right) a"),
        (Sign(Name("qd1")), r"\operatorname{sign}\left(\dot{q}_{1}\right)"),
    ],
)
def test_latex(expression, expected):
    assert tex.latex(expression) == expected


def test_latex_of_matrices_and_long_equations():
    assert tex.latex(c12, long=True) == r"\cos\left(q_{1} + q_{2}\right)"
    assert tex.latex(number(Fraction(1, 10**8)), digits=6) == r"1 \cdot 10^{-8}"
    assert tex.matrix([[a, ZERO], [ZERO, b]]) == r"\begin{bmatrix} a & 0 \\ 0 & b \end{bmatrix}"
    assert tex.matrix([[a]], "pmatrix") == r"\begin{pmatrix} a \end{pmatrix}"
    many = total(Name(f"m{k}") for k in range(1, 60))
    lines = tex.aligned({"M11": many, "M12": a}).split(r"\\")
    assert len(lines) == 4 and lines[0].startswith(r"\begin{aligned} M_{11} &= m_{1} + m_{2}")
    assert lines[1].startswith(r" &\quad + m_{")


def accepted(source: str) -> bool:
    math_core = pytest.importorskip("math_core")
    return "<math" in math_core.LatexToMathML().convert_with_local_state(source, displaystyle=True)


def test_a_strict_converter_takes_the_latex():
    """Names of all kinds, a page of Puma's, random expressions, matrices and broken lines."""
    assert all(accepted(tex.name(word)) for word in NAMES)
    ring = ring_of(PUMA, PUMA_LINKS)
    M = mass_matrix(ring, PUMA, PUMA_LINKS)
    page = legible(M, [(1, 2)])
    assert all(accepted(tex.latex(e)) for e in page.entries.values())
    assert accepted(tex.aligned(page.lumps)) and accepted(tex.aligned(page.entries))
    rows = [[page.entries[f"M{min(i, j)}{max(i, j)}"] for j in range(1, 7)] for i in range(1, 7)]
    assert accepted(tex.matrix(rows)) and accepted(tex.matrix(rows, "pmatrix", long=True))
    for seed in range(20):
        p = random_polynomial(random_ring(), seed)
        for e in (factored(p, GROUPS), *legible({"e": p}, GROUPS, lump=False).entries.values()):
            assert accepted(tex.latex(e)) and accepted(tex.latex(e, long=True, digits=6))
    assert accepted(tex.latex(power(difference, 3))) and accepted(tex.latex(times(a, Sign(b))))
    with pytest.raises(pytest.importorskip("math_core").LatexError):
        accepted(tex.latex(power(difference, 3)) + r" + \unknowncommand")


@pytest.mark.parametrize("seed", range(10))
def test_sympy_reads_the_long_text(seed):
    sympy = pytest.importorskip("sympy")
    ring = random_ring()
    e = legible({"e": random_polynomial(ring, seed)}, GROUPS, lump=False).entries["e"]
    words = {name: sympy.Symbol(name) for name in names_in(e)}
    assert sympy.expand(sympy.sympify(text(e, long=True), locals=words) - to_sympy(e)) == 0
    _, angles = random_point(ring, seed)
    value = to_sympy(e).subs({words[name]: angles[name] for name in words})
    assert float(value) == pytest.approx(evaluate(e, angles), rel=1e-9, abs=1e-9)
    assert eval(text(e, long=True), {"cos": math.cos, "sin": math.sin}, angles) == pytest.approx(evaluate(e, angles))


def test_evaluate_takes_arrays_and_fractions():
    q = np.linspace(0, 1, 5)
    assert np.allclose(evaluate(M11, {"a": 1.0, "b": 2.0, "q2": q}), 1 + 4 * np.cos(q))
    assert evaluate(times(number(Fraction(1, 3)), a), {"a": Fraction(3, 2)}, Fraction) == Fraction(1, 2)
    assert evaluate(Sign(a), {"a": -2.0}) == -1
    sympy = pytest.importorskip("sympy")
    assert to_sympy(times(Sign(a), difference)) == sympy.sign(sympy.Symbol("a")) * sympy.sin(
        sympy.Symbol("q1") - sympy.Symbol("q2")
    )


def test_entries_of_large_matrices_have_their_indices_below():
    assert [tex.name(n) for n in ("M12", "M1,12", "c_3")] == ["M_{12}", "M_{1,12}", "c_{3}"]


def test_a_long_sum_in_brackets_is_cut_between_its_terms():
    names = [Name(f"x{k}") for k in range(1, 41)]
    inner = total([times(n, b) for n in names[:20]])
    long = total([times(number(-2), a, inner, total(names[20:]), b), r1])
    lines = tex.Style(False, None).lines("M11", long, 40)
    assert len(lines) > 4 and all(tex.printed_length(line) < 50 for line in lines)
    joined = " ".join(lines)
    assert joined.count("\\bigl(") == joined.count("\\bigr)") == 2
    assert all(f"x_{{{k}}}" in joined for k in range(1, 41))
    assert accepted(tex.aligned({"M11": long}, width=40))
    assert tex.Style(False, None).pieces(times(a, inner), True, 1000) == [tex.latex(times(a, inner))]
