"""Derivations of Lagrangian and constrained systems: golden files, read beside the notes, and what holds of every
example."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.lagrange import textbook

import dalembert as dl
from dalembert.constrained import Constrained, plane
from dalembert.lagrange import EXAMPLES

GOLDEN = Path(__file__).parent / "golden"
STATE = ([-np.pi / 3, 2 * np.pi / 3], [1, 0])


def channel() -> Constrained:
    """The arm of the notes whose tip moves in a channel at x = 1: lengths and point masses of one, no gravity."""
    point = dl.describe.Inertial(1.0, (0,) * 6)
    arm = dl.Robot.from_dh([{"a": 1.0, "inertial": point}] * 2, gravity=(0, 0, 0), name="2R in a channel")
    return Constrained(arm, plane(point=(1, 0, 0), normal=(1, 0, 0), name="channel"))


MADE = {
    "five-bar": lambda: EXAMPLES["five-bar"]().derivation(),
    "cart-pole": lambda: EXAMPLES["cart-pole"]().derivation(),
    "knife-edge": lambda: EXAMPLES["knife-edge"]().derivation(),
    "channel": lambda: channel().derivation(*STATE, symbolic="none"),
}


@pytest.mark.parametrize("name", MADE)
def test_golden(name):
    """DALEMBERT_GOLDEN=1 writes them anew: read what changed."""
    written, file = MADE[name]().text(fold=False), GOLDEN / f"{name}.txt"
    if os.environ.get("DALEMBERT_GOLDEN"):
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_example_is_derived_in_every_format(name):
    derivation = EXAMPLES[name]().derivation()
    for form in ("text", "markdown", "latex", "html"):
        written = derivation.write(form)
        assert "Lagrange's equations" in written.replace("’", "'").replace("&#39;", "'")
        assert "{0}" not in written and "nan" not in written


@pytest.mark.parametrize(
    "make", [textbook.double_pendulum, textbook.crane, textbook.furuta, textbook.spherical_pendulum]
)
def test_a_derivation_that_copies_the_printed_lines_is_right(make):
    """What is printed as text is read back and judged: Unicode, dots, short sines."""
    system = make()
    lines = [line.split("   ")[0] for line in system.derivation().text(fold=False).splitlines() if " = " in line]
    steps = [line for line in lines if line.lstrip().startswith(("K", "P", "∂L", "d/dt", "Γ", "g"))]
    result = system.derivation().check([line for line in steps if not line.startswith("Γᵢ")])
    assert all(x.verdict == "right" for x in result.lines), str(result)
    assert len(result.lines) >= 8


def test_the_inertia_of_the_five_bar_decouples_as_the_notes_say_and_where_m3_stands_for_their_m2():
    text = MADE["five-bar"]().text()
    assert "M₁₂ is zero in every position if m₃ l₂ lc₃ = m₄ l₁ lc₄" in text and "chosen so" in text


def test_the_channel_of_the_notes_in_numbers():
    e = channel().equations(symbolic="none")
    for name, formula in (
        ("A", "[-s1 - s12, -s12]"),
        ("Adot", "[[-qd1 c1 - (qd1 + qd2) c12, -(qd1 + qd2) c12]]"),
        ("M", "[[3 + 2 c2, 1 + c2], [1 + c2, 1]]"),
        ("h", "[-s2 (2 qd1 qd2 + qd2^2), s2 qd1^2]"),
        ("tau2", "(1 + c2) qdd1 + qdd2 + s2 qd1^2 - s12 lambda1"),
        ("P11", "1 + c12 s2 (s1 + s12)/(s2^2 + s12^2)"),
    ):
        assert e.compare(name, formula), name
    assert not e.compare("A", "[-s1 - s12, s12]")
    shown = MADE["channel"]().text()
    for printed in ("λ₁ = 0.2887 τ₁ - 1.155 τ₂ - 0.1667", "q̈₁ = 0.5 τ₁ + 0.2887", "q̈₂ = -1.155"):
        assert printed in shown


@pytest.mark.parametrize("name", ["five-bar", "four-bar"])
def test_closed_chains_are_derived_with_multipliers(name):
    robot = dl.load(name)
    text = Constrained(robot).derivation(robot.home).text(fold=False)
    assert "2 constraints" in text and "hold by themselves" in text and "In numbers" in text
