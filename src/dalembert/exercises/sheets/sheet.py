"""What a sheet is: exercises under a title, for one student or for everyone."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.exercises.exercise import Exercise


@dataclass(frozen=True)
class Sheet:
    """Exercises under a title; `student` is who it is for, if it is for one."""

    title: str
    exercises: tuple[Exercise, ...]
    student: str = ""

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)
