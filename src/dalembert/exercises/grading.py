"""Grading: is an answer right, and if not, what does it reveal?

A right answer earns all its points. One slip that a second look mends (a sign, a factor, an index, one entry of a
matrix) earns half of them, because the way was right and the result is of no use; two slips earn a quarter. A number
that is off by a factor of two or ten earns a quarter only, since chance gives such numbers. A common wrong answer that
the exercise lists earns what is listed there. Whatever is typed is read, never run, and is answered in a sentence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dalembert.arguments import of_kind
from dalembert.display import Displayed
from dalembert.errors import DalembertError, InputError, UnknownNameError
from dalembert.exercises.exercise import Answer, Exercise
from dalembert.exercises.numbers import LONGEST, Number, clean, read_number, read_unit, shorten

if TYPE_CHECKING:
    from dalembert.symbolic.compare import Comparison, Quantity
    from dalembert.symbolic.slips import Slip

ONE_SLIP, TWO_SLIPS = 0.5, 0.25
# What a number may be off by: the factor, in words, the share of the points.
FACTORS = (
    (-1.0, "The size is right, the sign is not.", ONE_SLIP),
    (180 / math.pi, "This looks like an angle in degrees where radians belong.", ONE_SLIP),
    (math.pi / 180, "This looks like an angle in radians where degrees belong.", ONE_SLIP),
    (2 * math.pi, "This is 2π times too large: are hertz and rad/s, or turns and radians, mixed up?", ONE_SLIP),
    (1 / (2 * math.pi), "This is 2π times too small: are hertz and rad/s, or turns and radians, mixed up?", ONE_SLIP),
    (1e3, "This is 1000 times too large: look at the units.", ONE_SLIP),
    (1e-3, "This is 1000 times too small: look at the units.", ONE_SLIP),
    (9.81, "This is 9.81 times too large: was g multiplied in where it does not belong?", TWO_SLIPS),
    (1 / 9.81, "This is 9.81 times too small: is g forgotten?", TWO_SLIPS),
    (2.0, "This is twice what it should be: look for a factor 2, or a forgotten ½.", TWO_SLIPS),
    (0.5, "This is half of what it should be: look for a forgotten factor 2.", TWO_SLIPS),
    (100.0, "This is 100 times too large: look at the units and the decimal point.", TWO_SLIPS),
    (0.01, "This is 100 times too small: look at the units and the decimal point.", TWO_SLIPS),
    (10.0, "This is 10 times too large: look at the decimal point.", TWO_SLIPS),
    (0.1, "This is 10 times too small: look at the decimal point.", TWO_SLIPS),
)
TURNS = {"rad": 2 * math.pi, "deg": 360.0}
_FENCE = re.compile(r"\\(?:begin|end)\s*\{[a-z]*matrix\*?\}|\\begin\s*\{array\}\s*\{[^{}]*\}|\\end\s*\{array\}")


@dataclass(frozen=True)
class Mark:
    """What one answer earned, and why."""

    name: str
    given: str
    earned: float
    points: int
    reason: str

    @property
    def verdict(self) -> str:
        return "right" if self.earned >= self.points else "partly" if self.earned > 0 else "wrong"


@dataclass(frozen=True)
class Grade(Displayed):
    """The marks of all answers of an exercise."""

    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()

    @property
    def earned(self) -> float:
        return sum(m.earned for m in self.marks)

    @property
    def points(self) -> int:
        return sum(m.points for m in self.marks)

    def __str__(self) -> str:
        lines = [f"{m.name}: {m.reason} ({m.earned:g} of {m.points})" for m in self.marks]
        return "\n".join([*lines, *self.notes, f"Together {self.earned:g} of {self.points} points."])


Judged = tuple[float, str]  # the share of the points, the reason


def grade(exercise: Exercise, answers: Mapping[str, object]) -> Grade:
    """The grade of what a student answered, by the answers' names. What is missing earns nothing."""
    of_kind(answers, Mapping, "answers map the name of each blank to what was answered; got")
    blanks = {a.name for a in exercise.answers}
    asked = f"this exercise asks for {', '.join(a.name for a in exercise.answers)}"
    extra = tuple(f"There is no blank named {shorten(k)}; {asked}." for k in answers if k not in blanks)[:1]
    return Grade(tuple(_mark(a, answers.get(a.name)) for a in exercise.answers), extra)


def _mark(answer: Answer, given: object) -> Mark:
    text, wanted = "", _WANTED[answer.kind]
    try:
        text = _written(given)
        if not text.strip():
            return Mark(answer.name, "", 0.0, answer.points, "There is no answer.")
        if len(text) > LONGEST:
            problem = f"your answer has {len(text)} characters, and at most {LONGEST} are read"
            raise InputError("too-large", "answer", problem=problem)
        share, reason = KINDS[answer.kind](answer, text)
    except DalembertError as error:
        why = re.sub(r"\S{60,}", lambda word: word[0][:40] + "…", str(error)).rstrip(".")
        share, reason = 0.0, f"This cannot be read as {wanted}: {why}{'' if why.endswith('?') else '.'}"
    except (ArithmeticError, ValueError, RecursionError, MemoryError):
        share, reason = 0.0, f"This cannot be read as {wanted}."
    return Mark(answer.name, text[:LONGEST], round(share * answer.points, 4), answer.points, reason)


def _written(given: object) -> str:
    """What was given as text; numbers and arrays of a notebook become what a student would type."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(map(_written, given))}]"
    return "" if given is None else str(given)


# ------------------------------------------------------------------------------------------------------- numbers
def grade_number(answer: Answer, text: str) -> Judged:
    number = read_number(text)
    wanted = float(np.asarray(answer.value))
    value, note = _in_unit(number, answer)
    if value is None:
        if _near(answer, number.value, wanted):
            return ONE_SLIP, f"The number is right, but not its unit: the answer is in {answer.unit or 'no unit'}."
        return 0.0, note
    if _near(answer, value, wanted):
        return 1.0, f"Right. {note}".strip()
    for wrong in answer.wrong:
        if _near(answer, value, float(np.asarray(wrong.value))):
            return wrong.credit, wrong.reveals
    if wanted and number.rounding and _near(answer, value, wanted, number.rounding * abs(value / number.value)):
        return ONE_SLIP, f"This is rounded too far: the answer is wanted within {100 * answer.tolerance:g} %."
    for factor, words, share in FACTORS:
        of_angles = "degrees" in words
        if of_angles and (not answer.unit.startswith(("rad", "deg")) or number.unit is not None):
            continue
        if wanted and abs(value - factor * wanted) <= answer.tolerance * abs(factor * wanted):
            return share, words
    return 0.0, "This is not right." + _size(answer)


def _in_unit(number: Number, answer: Answer) -> tuple[float | None, str]:
    """The value in the answer's unit, None if it has the unit of another quantity; and a word to say on the unit."""
    wanted = read_unit(answer.unit)
    if number.unit is None:
        return number.value, f"Without a unit it was taken to be in {answer.unit}." if answer.unit else ""
    if wanted is None or number.unit.dimension != wanted.dimension:
        return None, f"This has the unit of another quantity: the answer is in {answer.unit or 'no unit'}."
    return number.value * number.unit.factor / wanted.factor, ""


def _near(answer: Answer, value: float, wanted: float, rounding: float = 0.0) -> bool:
    """Whether a number is the wanted one within the tolerance or this rounding; angles may differ by whole turns."""
    difference = value - wanted
    if answer.unit in TURNS:
        difference = math.remainder(difference, TURNS[answer.unit])
    return abs(difference) <= max(1.0001 * answer.tolerance * max(abs(wanted), 1e-9), rounding)


def _size(answer: Answer) -> str:
    return f" The answer is {answer.size}." if answer.size else ""


# ------------------------------------------------------------------------------------------------------ formulas
def grade_formula(answer: Answer, text: str) -> Judged:
    where = compare_formula(answer, str(answer.value), text)
    if where is not None:
        return 1.0, f"Right{', ' * bool(where)}{where}."
    for wrong in answer.wrong:
        if is_equal(answer, str(wrong.value), text):
            return wrong.credit, wrong.reveals
    slips = find_slips(answer, str(answer.value), text)
    if not slips:
        return 0.0, "This is not right." + _size(answer)
    return (ONE_SLIP if len(slips) == 1 else TWO_SLIPS), f"Not quite: {'; '.join(slips)}."


def _added(slip: Slip) -> int:
    """How many names and numbers must be brought in to mend a slip: where that is most of the answer, it is no slip."""
    return (_count(slip.should) - _count(slip.place)).total()


def _count(formula: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d]\w*|\d[\d./]*", formula))


def is_equal(answer: Answer, wanted: str, given: str) -> bool:
    """Return whether two formulas in the answer's symbols are equal."""
    return compare_formula(answer, wanted, given) is not None


def compare_formula(answer: Answer, wanted: str, given: str) -> str | None:
    """Return what must hold for two formulas of an answer to be equal, "" if nothing must; None if they differ."""
    result = _compare(answer, wanted, given, slips=False)
    return result.where if result else None


def find_slips(answer: Answer, wanted: str, given: str) -> list[str]:
    """The one or two slips that make a formula wrong, in words; none if they do not explain it."""
    slips = _compare(answer, wanted, given, slips=True).slips
    few = len(slips) <= 2 and 2 * sum(map(_added, slips)) <= _count(wanted).total()
    return [str(slip) for slip in slips] if few else []


def _compare(answer: Answer, wanted: str, given: str, slips: bool) -> Comparison:
    """Compare two formulas in the answer's symbols; capital letters are read as small ones where only these exist."""
    from dalembert.symbolic.compare import compare
    from dalembert.symbolic.nodes import FUNCTIONS

    quantity = _quantity(answer.name, wanted, answer.symbols)
    try:
        return compare(quantity, given, slips=slips)
    except UnknownNameError:
        small = {name.lower(): name for name in (*FUNCTIONS, *answer.symbols)}
        again = re.sub(r"(?<!\\)\b[A-Za-z]\w*", lambda word: small.get(word[0].lower(), word[0]), given)
        if again == given:
            raise
        return compare(quantity, again, slips=slips)


@lru_cache(1000)
def _quantity(name: str, formula: str, symbols: tuple[str, ...]) -> Quantity:
    from dalembert.symbolic.compare import formula_quantity

    return formula_quantity(name, formula, symbols)


# ------------------------------------------------------------------------------------------------------ matrices
def grade_matrix(answer: Answer, text: str) -> Judged:
    wanted = np.array(answer.value, dtype=object)
    text, unit = _unit_behind(text)
    cells = read_cells(text, wanted.shape)
    entries = _equal_formulas(answer, cells) if answer.symbols else _equal_numbers(answer, cells, unit)
    right = np.array(list(entries(wanted))).reshape(wanted.shape)
    if right.all():
        return 1.0, "Right."
    for wrong in answer.wrong:
        if np.shape(wrong.value) == wanted.shape and all(entries(np.array(wrong.value, dtype=object))):
            return wrong.credit, wrong.reveals
    if wanted.ndim == 2 and wanted.shape[0] == wanted.shape[1] and all(entries(wanted.T)):
        return ONE_SLIP, "This is the transpose of the right matrix: rows and columns are exchanged."
    if not answer.symbols and all(entries(-wanted)):
        return ONE_SLIP, "Every entry has the wrong sign."
    off = [tuple(map(int, k)) for k in np.argwhere(~right)]
    places = [f"({', '.join(str(i + 1) for i in k)})" for k in off]
    counted = sum(str(x) not in ("0", "0.0", "-0.0") for x in wanted[right])  # zeros are easily right
    if counted >= len(off) == 1:
        slips = find_slips(answer, str(wanted[off[0]]), str(cells[off[0]])) if answer.symbols else []
        return (
            ONE_SLIP,
            f"Not quite: entry {places[0]} is not right, the others are{': ' * bool(slips)}{'; '.join(slips)}.",
        )
    if counted >= len(off) == 2:
        return TWO_SLIPS, f"Not quite: entries {places[0]} and {places[1]} are not right, the others are."
    return 0.0, f"This is not right: {len(off)} of {wanted.size} entries are off, {places[0]} first."


Entries = Callable[[np.ndarray], Iterable[bool]]  # of a matrix, which entries of what was given are equal to it


def _equal_numbers(answer: Answer, cells: np.ndarray, unit: str) -> Entries:
    read = [_in_unit(read_number(f"{cell} {unit}"), answer) for cell in cells.flat]
    odd = next((note for value, note in read if value is None), "")
    if odd:
        raise InputError("syntax", "answer", problem=odd)
    given = np.array([value for value, _ in read], float)

    def entries(value: np.ndarray) -> Iterable[bool]:
        x = value.astype(float).ravel()
        scale = np.maximum(np.abs(x), max(0.1 * np.abs(x).max(), 1e-9))
        return (np.abs(given - x) <= 1.0001 * answer.tolerance * scale).tolist()

    return entries


def _equal_formulas(answer: Answer, cells: np.ndarray) -> Entries:
    return lambda value: (is_equal(answer, str(x), str(c)) for x, c in zip(value.flat, cells.flat, strict=True))


def read_cells(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The entries, as text, of [[1, 2], [3, 4]], of LaTeX's matrices, or of rows by lines; a vector may lie."""
    text = _unwrap(re.split(r"[=≈]", text)[-1].strip(), len(shape))
    marked = _FENCE.sub(" ", text).replace("\\left", "").replace("\\right", "").strip()
    parts = re.split(r"\\\\|;|\n|\]\s*,?\s*\[", marked)
    parts = [clean(row) for row in parts if row.strip(" []()")]
    commas = len(parts) == shape[0] and all(
        re.fullmatch(r"\[?[-+]?\d+(,\d+)?\]?", row) for row in parts
    )  # decimal ones
    standing = len(parts) > 1 and len(shape) == 1 and (commas or not any(set(",&") & set(row) for row in parts))
    rows = [[row.strip("[] ")] if standing else _split_row(row) for row in parts]
    wanted = 1 if len(shape) == 1 else shape[0]
    if len(shape) == 1 and all(len(row) == 1 for row in rows):
        rows = [[cell for row in rows for cell in row]]
    if len(rows) != wanted or any(len(row) != shape[-1] for row in rows):
        size = f"{shape[0]} entries" if len(shape) == 1 else f"{shape[0]} rows of {shape[1]} entries"
        given = " and ".join(str(len(row)) for row in rows[:4]) or "no"
        commas = [len(row) for row in rows] == [2 * shape[-1]] * wanted and re.search(r"\d,\d", text) is not None
        hint = "write decimals with a point, as in 0.5" if commas else "write [[1, 2], [3, 4]]"
        problem = f"the answer must have {size}, and yours has {len(rows)} of {given}; {hint}"
        raise InputError("wrong-shape", "answer", problem=problem)
    return np.array(rows, dtype=object).reshape(shape)


def _unwrap(text: str, dimensions: int) -> str:
    """The matrix in np.array(…) or Matrix(…), with square brackets for ((1, 2), (3, 4)) and {{1, 2}, {3, 4}}; that a
    vector is transposed says only how it stands."""
    if dimensions == 1:
        text = re.sub(r"(\.T|'|\^\s*\{?(T|\\top)\}?)$", "", text)
    wrapped = re.fullmatch(r"(?:\w+\.)?(?:array|[Mm]atrix|transpose)\s*\((.*)\)", text, re.DOTALL)
    text = wrapped[1].strip() if wrapped else text
    if dimensions == 1 or not re.match(r"\(\s*\(|\{\s*\{", text):
        return text
    depth, out = 0, ""
    for c in text:
        depth += c in "({"
        out += "[" if c in "({" and depth < 3 else "]" if c in ")}" and depth < 3 else c
        depth -= c in ")}"
    return out


def _unit_behind(text: str) -> tuple[str, str]:
    """The matrix and the unit that stands behind it, "" if there is none."""
    found = re.fullmatch(r"(.*(?:\]|\)|matrix\}))([^\])}]*)", text.strip(), re.DOTALL)
    unit = clean(found[2]) if found else ""
    return (found[1], unit) if found and unit and read_unit(unit) else (text, "")


def _split_row(row: str) -> list[str]:
    """The cells of a row, cut at & or at commas outside brackets, else at blanks."""
    row = row.strip().lstrip("[").rstrip("]").strip()
    if row.startswith("(") and row.endswith(")") and "," in row and row.find(")") == len(row) - 1:
        row = row[1:-1]
    depth, cells, mark = 0, [""], "&" if "&" in row else "," if "," in row else " "
    for c in re.sub(r"\s+", " ", row):
        depth += (c in "({") - (c in ")}")
        if c == mark and depth == 0:
            cells.append("")
        else:
            cells[-1] += c
    return [cell.strip() for cell in cells]


# ------------------------------------------------------------------------------------------------------- choices
def grade_choice(answer: Answer, text: str) -> Judged:
    chosen = read_choice(text, answer.choices)
    if chosen == answer.value:
        return 1.0, "Right."
    for wrong in answer.wrong:
        if chosen == wrong.value:
            return wrong.credit, wrong.reveals
    return 0.0, "This is not right."


def read_choice(text: str, choices: tuple[str, ...]) -> str:
    """The choice that is named by its words, their beginning, a sentence with them, or by its letter: a, (b), C."""
    plain, words = _plain(text), {c: _plain(c) for c in choices}
    letter = re.fullmatch(r"(?:(?:option|answer|choice) )?([a-z])", plain)
    place = ord(letter[1]) - ord("a") if letter else len(choices)
    bare = plain.replace(" ", "")
    lettered = {f"{chr(ord('a') + k)}{w}".replace(" ", ""): c for k, (c, w) in enumerate(words.items())}
    tight = [c for c, w in words.items() if w.replace(" ", "") == bare or lettered.get(bare) == c]
    begun = [c for c, w in words.items() if w.startswith(plain)]
    within = [c for c, w in words.items() if re.search(rf"\b{re.escape(w)}\b", plain)]
    if not (within and plain.startswith(words[within[0]])) and _NEGATED.search(plain):
        within = []
    found = next((way for way in (tight, list(choices[place : place + 1]), begun, within) if way), [])
    if not plain or len(found) != 1:
        letters = ", ".join(chr(ord("a") + k) for k in range(len(choices)))
        problem = f"{shorten(text)} names none of the choices, or several"
        raise InputError("unknown-name", "answer", problem=problem, remedy=f"Answer with a letter, {letters}.")
    return found[0]


_NEGATED = re.compile(r"\b(not|no|never|neither|nor|isn t)\b")


def _plain(text: str) -> str:
    """Words in small letters, one blank between them, without marks; what a hyphen joins is one word."""
    return re.sub(r"[^\w]+|_", " ", re.sub(r"(?<=\w)-(?=\w)", "", clean(text))).strip().lower()


KINDS: dict[str, Callable[[Answer, str], Judged]] = {
    "number": grade_number,
    "formula": grade_formula,
    "matrix": grade_matrix,
    "choice": grade_choice,
}
_WANTED = {"number": "a number", "formula": "a formula", "matrix": "a matrix", "choice": "one of the choices"}
