"""Documents of formulas: every kind of part in every format, lines that fit, names of strangers."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import math_core
import pytest

import dalembert as dl
from dalembert.symbolic.document import (
    Derivation,
    Fold,
    Formulas,
    Heading,
    Line,
    MatrixFormula,
    Table,
    Words,
    columns,
    math,
)
from dalembert.symbolic.expression import Cosine, Name, number, times, total
from dalembert.symbolic.typeset import as_markdown, as_text, broken, split_sum
from errors import raises

CONVERTER = math_core.LatexToMathML()
X = total([Name("a"), times(number(2), Name("b"), Cosine(((2, 1),)))])
ALL = Derivation(
    "All kinds of parts",
    (
        Heading("First"),
        Words("Because {0}, and {1}.", ("q̇ᵢ² ≥ 0".replace("≥", "="), X)),
        Table(("i", math("θᵢ")), (("1", math("q₁")), ("a|b", X))),
        Formulas((Line("M11", X, "a reason & more"), Line("", ("2 b", r"2 b"), Words("by {0}", ("ω̇",))))),
        MatrixFormula("M", ((X, X), (X, "0"))),
        Heading("Below", 3),
        Fold("Long things", (Words("hidden"), Formulas((Line("d/dt ∂L/∂q̇₁", X),)))),
    ),
)


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("q̇ᵢ", r"\dot{q}_{i}"),
        ("θ̈₁₂", r"\ddot{\theta}_{12}"),
        ("Ṁ − 2C", r"\dot{M} - 2C"),
        ("d/dt ∂L/∂q̇₁", r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}_{1}}"),
        ("∂²K/∂q̇ₖ∂q̇ⱼ", r"\frac{\partial ^{2}K}{\partial \dot{q}_{k}\partial \dot{q}_{j}}"),
        ("p̈_c₂", r"\ddot{p}_{c2}"),
        ("J_ωᵢᵀ", r"J_{\omega i}^{T}"),
        ("½ (a + b)", r"\tfrac{1}{2} (a + b)"),
        ("cos αᵢ", r"\cos \alpha _{i}"),
        ("q₂ = 0 or π", r"q_{2} = 0 \text{ or } \pi"),
        ("Rot_z(θᵢ)", r"\mathrm{Rot}_{z}(\theta _{i})"),
    ],
)
def test_unicode_has_its_latex(plain, tex):
    assert math(plain) == (plain, tex)
    CONVERTER.convert_with_local_state(tex, displaystyle=False)


def test_text():
    assert (
        ALL.text()
        == """\
All kinds of parts
==================

First
-----

Because q̇ᵢ² = 0, and a + 2 b c₂.

i    θᵢ
1    q₁
a|b  a + 2 b c₂

M₁₁ = a + 2 b c₂   (a reason & more)
    = 2 b          (by ω̇)

M = ⎡ a + 2 b c₂   a + 2 b c₂ ⎤
    ⎣ a + 2 b c₂   0          ⎦

Below
~~~~~

▸ Long things: 2 lines, by --all or text(fold=False)
"""
    )
    assert "hidden" in ALL.text(fold=False) and "▸" not in ALL.text(fold=False)


class Elements(HTMLParser):
    """Whether what is opened is closed, and in order."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_one_page_that_fetches_nothing():
    page = ALL.html()
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    assert {"math", "details", "summary", "table", "small", "h1", "h3", "h4"} <= set(elements.seen)
    assert "http" not in page.replace('http-equiv="', "").replace("http://www.w3.org/1998/Math/MathML", "")
    assert "prefers-color-scheme: dark" in page and "a reason &amp; more" in page
    shown = ALL._repr_html_()
    assert shown.startswith("<div") and "<details>" in shown and "<html" not in shown


def test_latex_and_markdown():
    latex, markdown = ALL.latex(), ALL.markdown()
    assert latex.startswith("\\documentclass") and latex.endswith("\\end{document}\n")
    assert "hidden" in latex and r"\text{(a reason \& more)}" in latex  # paper does not fold
    assert "<details><summary>Long things</summary>" in markdown and "a\\|b" in markdown
    for block in re.findall(r"\$\$\n(.*?)\n\$\$", markdown, re.S):
        CONVERTER.convert_with_local_state(block, displaystyle=True)


def test_files_say_their_format(tmp_path):
    for suffix, start in ((".txt", "All kinds"), (".md", "# All"), (".tex", "\\documentclass"), (".html", "<!doctype")):
        assert ALL.save(tmp_path / f"a{suffix}").read_text().startswith(start)
    assert "hidden" in (tmp_path / "a.txt").read_text()
    with raises(dl.InputError, "wrong-value file"):
        ALL.save(tmp_path / "a.pdf")
    with raises(dl.UnknownNameError, "unknown-name"):
        ALL.write("pdf")


def test_lines_are_broken_outside_of_brackets():
    words = "(a + b) x + " + " + ".join(f"k{i} (c + d)" for i in range(9))
    lines = broken(words, 40)
    assert all(columns(line) <= 40 for line in lines) and len(lines) > 2
    assert all(line.count("(") == line.count(")") for line in lines)
    assert " ".join(line.strip() for line in lines) == words
    vector = broken("(" + "a + b " * 5 + "+ c, d, (e + f) g)", 25)
    assert vector[-2:] == [" d,", " (e + f) g)"]
    assert broken("x" * 60, 40) == ["x" * 60]  # there is no place
    assert split_sum(r"a + \left(b + c\right) - \frac{d - e}{f}") == [
        "a ",
        r"+ \left(b + c\right) ",
        r"- \frac{d - e}{f}",
    ]


def test_matrices_too_wide_for_a_line_become_entries():
    long = total([Name(f"x{k}") for k in range(30)])
    part = MatrixFormula(math("T₀₂ = T₀₁ A₂"), ((long, "0"), (long, "1")))
    text = as_text(part)
    assert text.startswith("Entries that are not zero:") and "T₀₂ = T₀₁ A₂" in text and "(T₀₂)₂₂ = 1" in text
    assert "(T₀₂)₁₂" not in text and r"\left(T_{02}\right)_{11}" in as_markdown(part)
