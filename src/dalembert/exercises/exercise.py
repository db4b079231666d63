"""What an exercise is: a text with numbers drawn by a seed, blanks to fill in, hints, a worked solution.

A family is a function of a random generator; the same family and seed give the same exercise on every machine. Texts
are Markdown with formulas between dollar signs; numbers are drawn so that a hand can work with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import count
from dalembert.display import Displayed
from dalembert.errors import InputError, choose

MOST_DRAWS = 100
KINDS = ("number", "formula", "matrix", "choice")
LEVELS = {1: "one step", 2: "a few steps", 3: "a page"}


@dataclass(frozen=True)
class Wrong:
    """A common wrong answer: what it looks like, what it reveals, and the share of the points it still earns."""

    value: str | ArrayLike
    reveals: str
    credit: float = 0.0


@dataclass(frozen=True)
class Answer:
    """A blank of an exercise, and what belongs there.

    kind "number": value is a number in `unit`; "matrix": an array of numbers, or rows of formulas; "formula": text in
    `symbols`; "choice": one of `choices`. Numbers are right within `tolerance`, relative to themselves, but
    entries of a matrix at least to a tenth of the largest.
    """

    name: str
    kind: str
    value: str | ArrayLike
    unit: str = ""
    symbols: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    tolerance: float = 0.01
    points: int = 1
    size: str = ""  # "a number of three digits", "two terms": so that who has a page knows to look for a slip
    wrong: tuple[Wrong, ...] = ()


@dataclass(frozen=True)
class Exercise(Displayed):
    """One variant of a family. `values` are the numbers drawn, by name, for whoever solves it another way."""

    title: str
    text: str
    answers: tuple[Answer, ...]
    hints: tuple[str, ...]
    solution: tuple[str, ...]  # steps, the last one ends with the answers
    values: Mapping[str, ArrayLike] = field(default_factory=dict)
    family: str = ""
    seed: int = 0

    @property
    def points(self) -> int:
        return sum(a.points for a in self.answers)


@dataclass(frozen=True)
class Family:
    """Exercises of one kind: `make` draws a variant."""

    name: str
    topic: str
    level: int
    title: str
    make: Callable[[np.random.Generator], Exercise]

    def variant(self, seed: int) -> Exercise:
        """The exercise of this seed: the first draw with two wrong answers or more that can be told from the right, and
        without a zero to find, of which no slip can be told."""
        random = np.random.default_rng([count("seed", seed), *self.name.encode()])
        for _ in range(MOST_DRAWS):
            drawn = self.make(random)
            zero = any(a.kind == "number" and abs(float(np.asarray(a.value))) < 1e-9 for a in drawn.answers)
            if not zero and sum(len(a.wrong) for a in drawn.answers) > 1:
                return replace(drawn, family=self.name, seed=seed)
        problem = f"{MOST_DRAWS} draws of {self.name!r} had fewer than two wrong answers that differ from the right one"
        raise InputError("failed", "family", self.name, problem=problem)


FAMILIES: dict[str, Family] = {}


def family(name: str, topic: str, level: int) -> Callable[[Callable[[np.random.Generator], Exercise]], Family]:
    """Register a function as a family of exercises; the first line of its docstring is the family's title."""

    def register(make: Callable[[np.random.Generator], Exercise]) -> Family:
        title = (make.__doc__ or name).strip().splitlines()[0].rstrip(".")
        FAMILIES[name] = Family(name, topic, level, title, make)
        return FAMILIES[name]

    return register


def all_families() -> list[Family]:
    """Every family that comes with Dalembert, and those registered since."""
    from dalembert.exercises import families  # noqa: F401 (registers them)

    return list(FAMILIES.values())


def find(name: str) -> Family:
    """The family of this name."""
    all_families()
    return FAMILIES[choose("family of exercises", name, FAMILIES)]
