"""Formulas about any arm, as printed in the notes: what is right holds; a misprint does not, its correction does."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from notes.algebra import hold
from notes.test_formulas import slug
from notes.worlds import world

HERE = Path(__file__).parent
CLOSE = 1e-6  # second rates and mixed derivatives are central differences
FORMULAS = [
    (file.stem, setting["name"], formula)
    for file in sorted(HERE.glob("*.toml"))
    for setting in tomllib.loads(file.read_text(encoding="utf-8")).get("world", [])
    for formula in setting["formulas"]
]


@pytest.mark.parametrize(("note", "name", "formula"), FORMULAS, ids=[slug(n, f["at"]) for n, _, f in FORMULAS])
def test_formula_about_any_arm(note, name, formula):
    letters, state = world(name)
    assert hold(formula.get("right", formula["printed"]), letters, state) < CLOSE
    if "right" in formula:
        try:
            off = hold(formula["printed"], letters, state)
        except (ArithmeticError, ValueError):  # a vector among numbers, an index that nothing binds
            return
        assert off > 1e-3


NOTHING = {  # a term whose sign does not matter, because it is zero
    ("lagrange", "l. 523, line 3"): "q̇ᵀ(Ḋ − 2C)q̇",
    ("poonawala", "eq. (55), line 3"): "q̇ᵀ(Ḋ − 2C)q̇",
    ("poonawala", "§2.5"): "J(I − J⁺J)b",
}


def test_another_sign_is_noticed():
    """The reader and the worlds can say no: every formula with its first sign turned fails."""
    told, kept = 0, set()
    for note, name, formula in FORMULAS:
        right = formula.get("right", formula["printed"])
        turned = right.replace(" + ", " - ", 1) if " + " in right else right.replace(" - ", " + ", 1)
        if turned == right:
            continue
        letters, state = world(name)
        if hold(turned, letters, state) > 1e-3:
            told += 1
        else:
            kept.add((note, formula["at"]))
    assert told > 110 and kept == set(NOTHING)
