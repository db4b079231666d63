"""A class: who gets which variant, the files of answers that come back, and the marks.

A file of answers is TOML: the student, then for each exercise its family, its seed and the answers by name.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import DalembertError, InputError
from dalembert.exercises.exercise import Exercise, Family, find
from dalembert.exercises.grading import Grade, grade
from dalembert.exercises.sheets.markup import PLAIN, write_line
from dalembert.exercises.sheets.sheet import Sheet
from dalembert.files import contents, parse_toml, whole
from dalembert.names import file_name, from_table, in_line, in_table, in_terminal

SEEDS = 1_000_000  # a seed drawn from a name is below
TRIES = 50  # seeds after it that are looked at for a variant that nobody has
MAX_EXERCISES = 200  # in a file of answers
MAX_SEED = 2**63 - 1
MAX_FAMILY = 60  # characters of the name of a family that a row repeats
MAX_CELL = 30_000  # characters; a cell of a spreadsheet holds some more
LARGEST = 1 << 20  # [bytes] of a class list or a file of answers
HEADS = ("name", "student", "full name", "student name", "id", "email", "email address", "username")
SPLIT = (("first name", "given name"), ("surname", "last name", "family name"))  # together they are the name


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, which may have been saved by a spreadsheet."""
    try:
        data = contents(path, LARGEST)
    except OSError as error:
        problem = f"{os.fspath(path)} cannot be read: {error.strerror or error}"
        raise InputError("not-readable", "path", os.fspath(path), problem=problem) from None
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError("not-readable", "path", os.fspath(path), problem=f"{os.fspath(path)} is not a text file")


def read_class(path: str | os.PathLike[str]) -> list[str]:
    """The students of a class list: CSV with a column of names (or of first names and of last names), or a name on
    each line."""
    lines = [line for line in read_text(path).splitlines() if line.strip(" ,;\t")]
    marks = {mark: lines[0].count(mark) for mark in ",;\t"} if lines else {}
    rows = (
        [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=max(marks, key=marks.__getitem__))]
        if lines
        else []
    )
    head = [cell.lower() for cell in rows[0]] if rows else []
    columns = [next((head.index(name) for name in names if name in head), -1) for names in SPLIT]
    if -1 in columns:
        columns = [next((head.index(name) for name in HEADS if name in head), -1)]
    found = columns != [-1]
    students = [_name(" ".join(row[k] for k in (columns if found else [0]) if k < len(row))) for row in rows[found:]]
    students = [name for name in students if name]
    if not students:
        remedy = "Add a column 'name', or write a name on each line."
        raise InputError("missing", "students", problem=f"{os.fspath(path)} names no students", remedy=remedy)
    twice = sorted({name for name in students if students.count(name) > 1})
    if twice:
        problem = f"{os.fspath(path)} names {twice[0]!r} twice"
        raise InputError("duplicate", "students", twice[0], problem=problem, remedy="Add what tells the two apart.")
    return students


def _name(text: object) -> str:
    """The name of a student, on one line and without what would steer a terminal."""
    return in_terminal(in_line(str(text)))[:MAX_CELL].strip()


def give_variants(
    families: Sequence[Family], students: Iterable[str], tell: Callable[[str], None] = print
) -> Iterator[tuple[str, tuple[Exercise, ...]]]:
    """(student, exercises) of everyone. A seed is drawn from the name; where a variant is taken, the next one is
    given, and `tell` hears of a family that has fewer variants than there are students."""
    taken: dict[str, set[str]] = {family.name: set() for family in families}
    short: set[str] = set()
    for student in students:
        first = int(hashlib.sha256(student.encode()).hexdigest(), 16) % SEEDS
        given = []
        for family in families:
            tried = (family.variant(seed) for seed in range(first, first + TRIES))
            exercise = next((e for e in tried if e.text not in taken[family.name]), None)
            if exercise is None:
                short.add(family.name)
                exercise = family.variant(first)
            taken[family.name].add(exercise.text)
            given.append(exercise)
        yield student, tuple(given)
    for name in sorted(short):
        tell(f"the family {name!r} has fewer variants than there are students: some share one")


# ---------------------------------------------------------------------------------------------------- files of answers
def write_answers(sheet: Sheet, answers: Sequence[Mapping[str, str]] = ()) -> str:
    """A file of answers to fill in, or filled in with these."""
    lines = [f"# Answers to {in_line(sheet.title)}: fill in between the quotes, and hand in this file."]
    lines += [f"student = {_quoted(sheet.student)}"]
    for k, exercise in enumerate(sheet.exercises):
        given = answers[k] if k < len(answers) else {}
        lines += ["", "[[exercise]]", f'family = "{exercise.family}"', f"seed = {exercise.seed}", "[exercise.answers]"]
        for a in exercise.answers:
            unit = f"  # in {a.unit}" if a.unit else ""
            lines.append(f"{_quoted(a.name)} = {_quoted(given.get(a.name, ''))}{unit}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A string of TOML: JSON's, which leaves one control as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_answers(path: str | os.PathLike[str]) -> tuple[str, list[tuple[str, int, Mapping[str, object]]]]:
    """(student, [(family, seed, answers), …]) of a file of answers."""
    name = Path(path).name
    try:
        data = parse_toml(read_text(path))
    except ValueError as error:
        raise InputError("syntax", "path", str(path), problem=f"{name} is not TOML: {str(error)[:200]}") from None
    tables = data.get("exercise")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError("missing", "exercise", problem=f"{name} has no [[exercise]] with family, seed and answers")
    if len(tables) > MAX_EXERCISES:
        problem = f"{name} has {len(tables)} exercises, and at most {MAX_EXERCISES} are graded"
        raise InputError("too-large", "exercise", problem=problem)
    read: list[tuple[str, int, Mapping[str, object]]] = []
    for k, table in enumerate(tables, 1):
        family, seed, answers = table.get("family"), table.get("seed"), table.get("answers", {})
        if not isinstance(family, str) or type(seed) is not int or not isinstance(answers, dict):
            problem = f'exercise {k} of {name} needs family = "…", seed = a whole number, and its answers'
            raise InputError("missing", "exercise", k, problem=problem)
        read.append((family, seed, answers))
    return str(data.get("student") or Path(path).stem), read


# ---------------------------------------------------------------------------------------------------------- marks
@dataclass(frozen=True)
class Marked:
    """What a file of answers earned: the grades by family, or why there are none."""

    file: str
    student: str
    grades: tuple[tuple[str, int, Grade], ...] = ()
    trouble: str = ""

    @property
    def earned(self) -> float:
        return sum(g.earned for *_, g in self.grades)

    @property
    def points(self) -> float:
        return sum(g.points for *_, g in self.grades)

    @property
    def reasons(self) -> str:
        answered = any(m.given for *_, g in self.grades for m in g.marks)
        told = [
            f"{family} {seed}: {' '.join(f'{m.name}: {write_line(m.reason, PLAIN)}' for m in g.marks)}"
            for family, seed, g in self.grades
            if answered or not self.trouble
        ]
        return in_line(" | ".join([*told, *filter(None, [self.trouble])]))


def grade_file(
    path: str | os.PathLike[str], variants: Mapping[str, set[tuple[str, int]]] | None = None, shown: str = ""
) -> Marked:
    """The marks of a file of answers; never an error, whatever the file holds. An exercise counts once. With `variants`
    (student → family and seed), only one's own variant counts, and what is left out counts as unanswered. `shown`: the
    file as the marks name it."""
    name, student = Path(path).name, _name(Path(path).stem)
    try:
        if Path(path).suffix.lower() != ".toml":
            problem = f"{name} is not a file of answers, whose name ends in .toml"
            raise InputError("unsupported", "path", str(path), problem=problem)
        student, read = read_answers(path)
        student = student if student in (variants or ()) else _name(student)
        if variants is not None and student == _name(Path(path).stem):  # no line student = …
            student = _owner(path, variants) or student
        own = None if variants is None else variants.get(student)
        if variants is not None and own is None:
            raise InputError("unknown-name", "student", student, problem=f"{student!r} is not in the list of variants")
        grades, trouble, seen = [], [], set[tuple[str, int]]()
        left_out = sorted((own or set()) - {(family, seed) for family, seed, _ in read})
        for family, seed, answers in [*read, *((*one, dict[str, object]()) for one in left_out)]:
            if not 0 <= seed <= MAX_SEED:
                trouble.append(f"{family[:MAX_FAMILY]}: the seed must be a whole number from 0 to 2^63 - 1")
                continue
            if (family, seed) in seen:
                trouble.append(f"{family[:MAX_FAMILY]} {seed} is there twice, and the first one counts")
                continue
            seen.add((family, seed))
            if own is not None and (family, seed) not in own:
                trouble.append(f"{family[:MAX_FAMILY]} {seed} is not the variant of {student}, and does not count")
                continue
            try:
                grades.append((family, seed, grade(find(family).variant(seed), answers)))
            except Exception as error:  # the other exercises of the file count
                trouble.append(f"{family[:MAX_FAMILY]} {seed}: {_reason(error)}")
        return Marked(shown or name, student, tuple(grades), "; ".join(trouble))
    except Exception as error:  # the other files of the class count
        owner = _owner(path, variants or {})
        return Marked(shown or name, owner or student, _unanswered((variants or {}).get(owner, ())), _reason(error))


def _reason(error: Exception) -> str:
    """The words of an error, after its kind if it is none of Dalembert's."""
    kind = "" if isinstance(error, DalembertError) else f"cannot be graded, {type(error).__name__}: "
    return f"{kind}{str(error)[:300]}"


def _owner(path: str | os.PathLike[str], variants: Mapping[str, object]) -> str:
    """The student whose file this is though it cannot be read, "" if nobody's: by its line `student = …`, or by its
    name, as `make --class` named it."""
    try:
        line = re.search(r"""^\s*student\s*=\s*["'](.*?)["']\s*(?:#.*)?$""", read_text(path), re.MULTILINE)
    except DalembertError:
        line = None
    if line and _name(line[1]) in variants:
        return _name(line[1])
    found = [student for student in variants if file_name(student).casefold() == Path(path).stem.casefold()]
    return found[0] if len(found) == 1 else ""


def _unanswered(variants: Iterable[tuple[str, int]]) -> tuple[tuple[str, int, Grade], ...]:
    """The grades of who answered nothing."""
    return tuple((family, seed, grade(find(family).variant(seed), {})) for family, seed in sorted(variants))


def grade_folder(
    folder: str | os.PathLike[str],
    variants: Mapping[str, set[tuple[str, int]]] | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> list[Marked]:
    """The marks of every file in a folder and its folders, hidden ones left out; with `variants`, also of those who
    handed in nothing."""
    files = sorted(
        p
        for p in Path(folder).rglob("*")
        if p.is_file() and not any(part.startswith(".") for part in p.relative_to(folder).parts)
    )
    if not files:
        problem = f"{os.fspath(folder)!r} contains no files of answers"
        raise InputError("missing", "folder", os.fspath(folder), problem=problem)
    marked = []
    for k, file in enumerate(files, 1):
        say(f"grading {file.name}, {k} of {len(files)}")
        marked.append(grade_file(file, variants, file.relative_to(folder).as_posix()))
    variants = variants or {}
    missing = sorted(set(variants) - {m.student for m in marked})
    return [*marked, *(Marked("", name, _unanswered(variants[name]), "handed in nothing") for name in missing)]


def write_table(path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Rows of words and numbers as CSV that no spreadsheet takes for formulas."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerows([_cell(x) if isinstance(x, str) else x for x in row] for row in (head, *rows))
    return whole(path, lambda file: file.write(out.getvalue().encode()))


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, no terminal for orders, and that fits into a cell."""
    safe = in_table(in_terminal(text))
    return safe if len(safe) <= MAX_CELL else f"{safe[: MAX_CELL - 1]}…"


def write_marks(path: str | os.PathLike[str], marked: Sequence[Marked]) -> Path:
    """A row per file: the student, points, how many there were, points of each family, and the reasons."""
    families = list(dict.fromkeys(family for m in marked for family, *_ in m.grades))
    rows = [
        (
            m.file,
            m.student,
            round(m.earned, 4),
            m.points,
            *(
                sum(g.earned for f, _, g in m.grades if f == family) if any(f == family for f, *_ in m.grades) else ""
                for family in families
            ),
            m.reasons,
        )
        for m in marked
    ]
    return write_table(path, ["file", "student", "points", "of", *families, "reasons"], rows)


def write_variants(path: str | os.PathLike[str], sheets: Iterable[Sheet]) -> Path:
    """Who has what: student, family, seed."""
    return write_table(
        path, ["student", "family", "seed"], [(s.student, e.family, e.seed) for s in sheets for e in s.exercises]
    )


def read_variants(path: str | os.PathLike[str]) -> dict[str, set[tuple[str, int]]]:
    """Student → family and seed, as `write_variants` wrote it."""
    found: dict[str, set[tuple[str, int]]] = {}
    for row in csv.DictReader(read_text(path).splitlines()):
        try:
            found.setdefault(from_table(row["student"]), set()).add((row["family"], int(row["seed"])))
        except (KeyError, TypeError, ValueError, AttributeError):
            problem = f"{os.fspath(path)} is not a list of variants, whose columns are student, family, seed"
            raise InputError("wrong-structure", "path", os.fspath(path), problem=problem) from None
    return found
