"""What a sheet is: exercises under a title, for one student or for everyone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.exercises.exercise import Answer, Exercise


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
