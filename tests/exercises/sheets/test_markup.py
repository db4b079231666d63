"""The Markdown of exercises as LaTeX, HTML and lines for a terminal."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from made import MADE, TEXT

from dalembert.exercises.sheets.markup import HTML, LATEX, MOODLE, PLAIN, plain_math, write, write_line


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\dot{q}_1^2", "q̇₁²"),
        (r"\frac{a}{b + c}", "a/(b + c)"),
        (r"\tfrac{1}{2} m \ddot\theta_{12}", "1/2 m θ̈₁₂"),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", "[1, 2; 3, 4]"),
        (r"\sqrt{\frac{k}{m}}\,\mathrm{rad/s}", "√(k/m) rad/s"),
        (r"90^\circ", "90°"),
        (r"\omega_n = \left( k/m \right)", "ωₙ = ( k/m )"),
        (r"l_{c2}^{-1} J^T", "l_c2⁻¹ Jᵀ"),
        (r"\frac{\partial L}{\partial \dot{q}_k}", "(∂L)/(∂q̇_k)"),
        (r"R^\mathsf{T} A^T(\dots)", "Rᵀ Aᵀ(…)"),
        (r"\sqrt{ab} + \frac{\sqrt{3}}{ab} + \frac{ 5 }{\sqrt{ 100 }}", "√(ab) + √3/(ab) + 5/√100"),
        (r"mgr\cos q - \sin\alpha_1\operatorname{sgn}\dot q", "mgr cos q − sin α₁ sgn q̇"),
        (r"\zeta\dot q + \sin^2 q + 2\cos(q)", "ζ q̇ + sin² q + 2 cos(q)"),
        (r"-(10 + 2)/\frac{25}{9} + x_{i-1} + J^+", "-(10 + 2)/(25/9) + x_(i-1) + J⁺"),
        (r"e^{-at} + a^{bc}", "e^(-at) + a^bc"),
        ("x_{", "x_"),
        ("{{{}}}", ""),
    ],
)
def test_formulas_as_text(tex, shown):
    assert plain_math(tex) == shown.replace("ωₙ", "ω_n")


def test_latex_has_every_piece():
    made = write(TEXT, LATEX)
    assert r"50 \% of it \& more costs \$5. Read \texttt{a\_b}" in made
    assert r"$|l_i|$ [m]" in made and r"\begin{tabular}{lll}" in made and made.count(r"\hline") == 1
    assert "\\[\nx = l_1 \\cos q_1" in made
    assert r"\emph{mind} the \textbf{sign of $q_2$}" in made
    assert r"${\dot \theta }$" in made and "$_1$" in made
    assert "\\item one goes on\n\\item two" in made
    assert made.isascii()


def test_html_has_every_piece():
    made = write(TEXT, HTML)
    tree = ElementTree.fromstring("<main>" + re.sub(r"&(?!amp|lt|gt)\w+;", "", made) + "</main>")
    assert [node.tag for node in tree] == ["p", "div", "p", "div", "p", "ul"]
    assert len(tree.findall(".//td")) == 6 and len(tree.findall(".//li")) == 2
    assert tree.findall(".//math") and not tree.findall(".//pre")
    assert tree.find(".//strong//math") is not None
    assert r"\(l_1 = 2\)" in write(TEXT, MOODLE) and "<math" not in write(TEXT, MOODLE)


def test_text_has_every_piece():
    made = write(TEXT, PLAIN)
    assert "link  |l_i| [m]  angle\n1     2          0°" in made
    assert "\n    x = l₁ cos q₁ + l₂ cos(q₁ + q₂)\n" in made
    assert "mind the sign of q₂; θ̇₁ < 0:" in made and "- one goes on\n- two" in made


@pytest.mark.parametrize(
    "words", ["<script>alert(1)</script>", "$", "$$", "| a", "**", "`", "\\", "\\end{document}", "#"]
)
@pytest.mark.parametrize("form", [HTML, LATEX, PLAIN, MOODLE], ids=["html", "latex", "plain", "moodle"])
def test_whatever_is_written_stands_for_itself(words, form):
    made = write_line(words, form)
    assert "<script" not in made or form is PLAIN
    if form is LATEX:
        assert r"\end{" not in made


def test_letters_of_other_scripts_do_not_stop_latex():
    assert write_line("Łukasz Müller 李", LATEX) == "Łukasz Müller ?"
    assert re.fullmatch(r"\$\^\\circ \$", write_line("°", LATEX))


def test_the_made_exercise_has_balanced_latex():
    for text in (MADE.text, *MADE.solution, *MADE.hints):
        made = write(text, LATEX)
        assert made.count("{") - made.count("\\{") == made.count("}") - made.count("\\}")
        assert made.count("\\begin") == made.count("\\end")
