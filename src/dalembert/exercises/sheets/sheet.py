"""What a sheet is: exercises under a title, for one student or for everyone.

Answers as numbers: the values of formulas at points, for pages and question banks that cannot compare formulas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.arguments import Array
from dalembert.exercises.exercise import Answer, Exercise
from dalembert.symbolic.compare import formula_quantity

TRIES = 100


def evaluate_entries(answer: Answer, value: object, points: Mapping[str, Array]) -> Array:
    """The entries of a number, a formula or a matrix at P points, (P, entries), row by row."""
    count = len(next(iter(points.values()))) if points else 1
    columns = []
    for x in np.array(value, dtype=object).reshape(-1):
        if isinstance(x, str):
            found = formula_quantity(answer.name, x, answer.symbols).value(points or {"": np.zeros(1)})
            columns.append(np.broadcast_to(found, (count,)))
        else:
            columns.append(np.full(count, float(x)))
    return np.stack(columns, axis=-1)


def draw_points(answer: Answer, count: int, decimals: int | None = None) -> dict[str, Array]:
    """Values of the answer's symbols at which the right answer is finite and the listed wrong ones differ from it,
    rounded if they are to be read; always the same for the same answer."""
    if not answer.symbols:
        return {}
    seed = hashlib.sha256(f"{answer.name} {answer.value!r}".encode()).digest()
    random = np.random.default_rng(list(seed))
    for _ in range(TRIES):
        drawn = {name: random.uniform(0.3, 1.9, count) for name in answer.symbols}
        points = drawn if decimals is None else {name: x.round(decimals) for name, x in drawn.items()}
        with np.errstate(all="ignore"):
            right, *wrong = (
                evaluate_entries(answer, v, points) for v in (answer.value, *(w.value for w in answer.wrong))
            )
        scale = np.abs(right).max()
        if np.isfinite(right).all() and all(
            w.shape != right.shape or not np.abs(w - right).max() < 0.03 * scale for w in wrong
        ):
            return points
    return points


@dataclass(frozen=True)
class Sheet:
    """Exercises under a title; `student` is who it is for, if it is for one."""

    title: str
    exercises: tuple[Exercise, ...]
    student: str = ""

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)


def answer_text(answer: Answer, value: object) -> str:
    """An answer of this value as a student would type it: 0.35 N m, [[1, 2], [3, 4]], a formula, a choice."""
    array = np.array(value, dtype=object)
    if array.ndim == 0:
        return str(value) if isinstance(value, str) else f"{float(array):.10g} {answer.unit}".strip()
    rows = [", ".join(x if isinstance(x, str) else f"{x:.10g}" for x in np.atleast_1d(row)) for row in array]
    return f"[{', '.join(rows if array.ndim == 1 else (f'[{row}]' for row in rows))}]"
