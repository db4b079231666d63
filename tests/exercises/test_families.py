"""Every family, a hundred seeds: its own answers are graded right, its wrong ones as listed, and another way of
solving it gives the same."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
import sympy as sp

from dalembert.exercises import families
from dalembert.exercises.exercise import Answer, Exercise, all_families, find
from dalembert.exercises.grading import grade

sys.path.insert(0, str(Path(__file__).parent / "families"))
import solve_arms
import solve_control
import solve_mechanics

# A hundred seeds in all: the first of them with every change, the others nightly.
SEEDS = pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 100), marks=pytest.mark.nightly)], ids=["first", "others"]
)
SOLVE = solve_arms.SOLVE | solve_control.SOLVE | solve_mechanics.SOLVE
NAMES = [f.name for f in all_families()]


def test_every_chapter_is_in_the_course() -> None:
    assert set(families.CHAPTERS) == {module.name for module in iter_modules(families.__path__)}


def typed(value: Any) -> str:
    """As a student types it, to six digits."""
    if isinstance(value, str):
        return value
    if np.ndim(value):
        return "[" + ", ".join(typed(entry) for entry in value) + "]"
    return f"{float(value):.6g}"


def marks(exercise: Exercise, name: str, text: str) -> tuple[float, str]:
    (mark,) = (m for m in grade(exercise, {name: text}).marks if m.name == name)
    return mark.earned / mark.points, mark.reason


@SEEDS
@pytest.mark.parametrize("name", NAMES)
def test_own_answers_are_right_and_listed_wrong_ones_earn_what_is_listed(name: str, seeds: range) -> None:
    for seed in seeds:
        exercise = find(name).variant(seed)
        for answer in exercise.answers:
            assert marks(exercise, answer.name, typed(answer.value))[0] == 1.0, (seed, answer.name)
            for wrong in answer.wrong:
                expected = (pytest.approx(wrong.credit), wrong.reveals)
                assert marks(exercise, answer.name, typed(wrong.value)) == expected, (seed, answer.name, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_complete(name: str) -> None:
    family = find(name)
    assert family.level in (1, 2, 3) and family.topic and family.title
    for seed in range(10):
        exercise = family.variant(seed)
        assert len(exercise.hints) >= 2 and len(exercise.solution) >= 2
        assert sum(len(a.wrong) for a in exercise.answers) >= 2
        assert all(f"`{a.name}`" in exercise.text for a in exercise.answers)
        assert all(a.size or a.kind == "choice" or not np.any(a.value) for a in exercise.answers if a.kind != "choice")
        words = [
            exercise.text,
            *exercise.hints,
            *exercise.solution,
            *(w.reveals for a in exercise.answers for w in a.wrong),
        ]
        for text in words:
            assert text.count("$") % 2 == 0 and "{{" not in text and "}}" not in re.sub(r"[^{}]|\{[^{}]*\}", "", text)
            assert not re.search(r"\b(nan|inf|None)\b|array\(|np\.", text), text
        assert exercise.text[0].isupper()


def test_every_family_is_solved_another_way() -> None:
    assert set(SOLVE) == set(NAMES) and len(NAMES) >= 40


@pytest.mark.parametrize("name", NAMES)
def test_variants_differ_and_come_again(name: str) -> None:
    family = find(name)
    drawn = [family.variant(seed) for seed in range(30)]
    assert len({exercise.text for exercise in drawn}) >= 10
    assert [e.text for e in drawn[:5]] == [family.variant(seed).text for seed in range(5)]
    assert [str(e.answers) for e in drawn[:5]] == [str(family.variant(seed).answers) for seed in range(5)]


@SEEDS
@pytest.mark.parametrize("name", sorted(SOLVE))
def test_another_way_gives_the_same(name: str, seeds: range) -> None:
    for seed in seeds:
        exercise = find(name).variant(seed)
        solved = SOLVE[name](exercise.values)
        assert set(solved) == {a.name for a in exercise.answers}
        for answer in exercise.answers:
            check_same(answer, solved[answer.name], f"{name} {seed} {answer.name}")


def check_same(answer: Answer, solved: Any, where: str) -> None:
    if answer.kind == "choice":
        assert solved == answer.value and solved in answer.choices, where
    elif answer.symbols:
        symbols = {s: sp.Symbol(s, real=True) for s in answer.symbols}
        given = sp.Matrix([[solved]]) if answer.kind == "formula" else sp.Matrix(solved)
        rows = [[answer.value]] if answer.kind == "formula" else answer.value
        rows = [[row] if isinstance(row, str) else row for row in rows]
        wanted = sp.Matrix([[sp.sympify(e.replace("^", "**"), symbols) for e in row] for row in rows])  # type: ignore[union-attr]
        for k in range(3):  # at random places: equal there, equal everywhere
            place = dict(zip(symbols.values(), np.random.default_rng(k).uniform(0.3, 2.0, len(symbols)), strict=True))
            assert (given - wanted).subs(place).evalf().norm() < 1e-9, where
    else:
        scale = max(float(np.abs(np.asarray(answer.value)).max()), 1e-12)
        np.testing.assert_allclose(np.array(solved, float), answer.value, atol=1e-5 * scale, err_msg=where)


def test_a_turn_of_an_inertia_changes_it():
    for seed in range(60):
        inertia = np.array(find("rotate-inertia").variant(seed).answers[0].value, float)
        assert np.count_nonzero(abs(inertia) > 1e-9) == 5, "a symmetric 3×3 matrix with four zeros, as its blank says"
