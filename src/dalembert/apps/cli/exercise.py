"""dalembert exercise list, make, solve, grade: exercises with fresh numbers, their solutions, and marks."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import JSON, argument, command, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dalembert.exercises.classes import Marked
    from dalembert.exercises.exercise import Exercise, Family
    from dalembert.exercises.grading import Grade

FORMATS = ("markdown", "pdf", "html", "notebook", "moodle")


def complete_families(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(f.name, help=f.title) for f in _families() if f.name.startswith(incomplete)]


def _families(topic: str | None = None, level: int | None = None) -> list[Family]:
    """Those of a topic, by a part of its name, and of a level, the easy ones first."""
    from dalembert.errors import unknown
    from dalembert.exercises.exercise import all_families

    every = all_families()
    chosen = [f for f in every if (topic or "").lower() in f.topic.lower() and level in (None, f.level)]
    topics = list(dict.fromkeys(f.topic for f in every))
    if not any((topic or "").lower() in name.lower() for name in topics):
        raise unknown("topic", topic, topics)
    return chosen


FAMILY = argument(metavar="FAMILY", shell_complete=complete_families)


@command
def list_(topic: str | None = pick("topic"), level: int | None = pick("level"), as_json: bool = JSON) -> None:
    """List the families of exercises, by topic and difficulty.

    \b
    Example: dalembert exercise list --topic rotations
    """
    from dalembert.exercises.exercise import LEVELS

    chosen = _families(topic, level)
    rows = [(f.name, f.topic, LEVELS[f.level], f.title) for f in chosen]
    data = [{"family": f.name, "topic": f.topic, "level": f.level, "title": f.title} for f in chosen]
    title = f"{len(rows)} famil{'y' if len(rows) == 1 else 'ies'} of exercises"
    output.answer({"families": data}, lambda: output.print_table(title, ("family", "topic", "length", "what"), rows))


@command
def make(
    families: tuple[str, ...] = argument(metavar="[FAMILY]…", nargs=-1, shell_complete=complete_families),
    seed: int = pick("seed", 0),
    topic: str | None = pick("topic"),
    count: int | None = pick("count", shown="one per family"),
    form: str | None = pick("format", type=FORMATS, shown="by the ending of the file"),
    solutions: str = pick("solutions", "apart"),
    title: str = pick("title", "Exercises"),
    class_list: str | None = pick("class"),
    out: str | None = pick("output", shown="the screen"),
    as_json: bool = JSON,
) -> None:
    """Make a sheet of exercises, with its solutions apart; or one for each student of a class.

    The same family and seed give the same exercise everywhere. Without -o the sheet is printed.

    \b
    Examples:
      dalembert exercise make compose-rotations --seed 7
      dalembert exercise make --topic rotations --count 6 -o week1.html
      dalembert exercise make compose-rotations --class students.csv --format pdf -o sheets
    """
    from dalembert.exercises.exercise import find
    from dalembert.exercises.sheets import Sheet, paper, write_sheet

    chosen = [find(name) for name in families] + (_families(topic) if topic or not families else [])
    if not (families or topic):
        raise click.UsageError("name families, or a --topic; 'dalembert exercise list' has them all")
    if class_list:
        output.refuse_idle("with --class seeds are drawn from the names", "seed", "count")
        _make_class(chosen, class_list, out, form, solutions, title)
        return
    turns = range(count or len(chosen))
    with waiting("drawing the exercises"):
        drawn = tuple(chosen[k % len(chosen)].variant(seed + k // len(chosen)) for k in turns)
    sheet = Sheet(title, drawn)
    if out is None:
        if form not in (None, "markdown"):
            raise click.UsageError(f"--format {form} goes into a file: say which with -o")
        text = paper.markdown(sheet, "inside" if solutions == "inside" else "none")
        output.answer(
            {"exercises": [_data(e, solutions == "inside") for e in drawn]}, lambda: click.echo(text, nl=False)
        )
        return
    with waiting("writing the sheet"):
        files = [str(f) for f in write_sheet(sheet, out, form or _format_of(out), solutions)]
    output.answer({"files": files, "points": sheet.points}, lambda: output.print_files(*files))


def _format_of(path: str) -> str:
    from dalembert.exercises.sheets import FORMATS as KNOWN

    found = [name for name, form in KNOWN.items() if form.suffix == Path(path).suffix.lower()]
    if len(found) != 1:
        several = f"{' or '.join(found)}?" if found else f"choose from {', '.join(KNOWN)}"
        raise click.UsageError(f"the ending of {path} does not say the form: give --format, {several}")
    return found[0]


def _make_class(
    families: list[Family], class_list: str, out: str | None, form: str | None, solutions: str, title: str
) -> None:
    from dalembert.exercises import classes
    from dalembert.exercises.sheets import FORMATS as KNOWN, Sheet, save, write_sheet
    from dalembert.names import file_name

    if out is None:
        raise click.UsageError("--class makes many files: name a folder with -o")
    if os.path.exists(out) and not os.path.isdir(out):
        raise click.ClickException(f"{out!r} is a file, and --class needs a folder")
    form = form or "markdown"
    students = classes.read_class(class_list)
    sheets, names = [], set[str]()
    for part in ("students", *(["solutions"] if solutions == "apart" and KNOWN[form].apart else [])):
        (Path(out) / part).mkdir(parents=True, exist_ok=True)
    with waiting("drawing the exercises") as say:
        told: list[str] = []
        for k, (student, drawn) in enumerate(classes.give_variants(families, students, told.append), 1):
            say(f"sheet {k} of {len(students)}, {student}")
            sheet, name = Sheet(title, drawn, student), file_name(student)
            while name.casefold() in names:
                name += f"-{k}"
            names.add(name.casefold())
            file = f"{name}{KNOWN[form].suffix}"
            write_sheet(sheet, Path(out, "students", file), form, "inside" if solutions == "inside" else "none")
            if solutions == "apart" and KNOWN[form].apart:
                write_sheet(sheet, Path(out, "solutions", file), form, "only")
            save(Path(out, "students", f"{name}.toml"), classes.write_answers(sheet))
            sheets.append(sheet)
    for words in told:
        click.echo(f"warning: {words}", err=True)
    listed = str(classes.write_variants(Path(out) / "variants.csv", sheets))
    output.answer(
        {"folder": out, "students": len(sheets), "variants": listed},
        lambda: click.echo(f"{len(sheets)} sheets in {out}; {listed} says who has what"),
    )


def _data(exercise: Exercise, solved: bool) -> dict[str, object]:
    """All of an exercise, or what is asked alone."""
    secret = () if solved else ("hints", "solution", "values", "value", "wrong")
    return asdict(exercise, dict_factory=lambda items: {k: v for k, v in items if k not in secret})


@command
def solve(
    family: str = FAMILY, seed: int = pick("seed", 0), only: str | None = pick("only"), as_json: bool = JSON
) -> None:
    """Print an exercise with its worked solution, or with --only hints.

    \b
    Example: dalembert exercise solve compose-rotations --seed 7 --only hints
    """
    from dalembert.exercises.exercise import find
    from dalembert.exercises.sheets import markup, paper

    hints = only is not None and bool(output.names_of("part", only, ("hints",)))
    exercise = find(family).variant(seed)
    told = (
        [f"*Hint {k}.* {hint}" for k, hint in enumerate(exercise.hints, 1)]
        if hints
        else [paper.solution_text(exercise)]
    )
    head = f"# {exercise.title} ({exercise.family}, variant {exercise.seed})"
    text = "\n\n".join([head, exercise.text, *told])
    output.answer(lambda: _data(exercise, True), lambda: click.echo(markup.write(text, markup.PLAIN)))


@command
def grade(
    what: str = argument(metavar="FAMILY|FILE|FOLDER"),
    seed: int = pick("seed", 0),
    answer: tuple[str, ...] = pick("answer"),
    variants: str | None = pick("variants"),
    out: str | None = pick("output", type=OutputFile(".csv")),
    as_json: bool = JSON,
) -> None:
    """Grade an answer, a file of answers, or a folder of such files.

    Exit code 1: not all is right. For a folder it is 0, and what is wrong with a file is told in its row.

    \b
    Examples:
      dalembert exercise grade compose-rotations --seed 7 --answer R="[[0, -1, 0], [1, 0, 0], [0, 0, 1]]"
      dalembert exercise grade ada-answers.toml
      dalembert exercise grade handed-in --variants variants.csv -o marks.csv
    """
    from dalembert.exercises import classes
    from dalembert.exercises.exercise import find
    from dalembert.exercises.grading import grade as grade_answers

    if not os.path.exists(what):
        output.refuse_idle("one exercise is graded", "variants", "output")
        if what.endswith(".toml") or os.sep in what:
            raise click.ClickException(f"there is no file or folder {what!r}")
        with waiting("grading"):
            result = grade_answers(find(what).variant(seed), _answers(answer))
        output.answer(lambda: _grade_data(result), lambda: click.echo(_plain(result)))
        output.exit_unless(result.earned >= result.points)
        return
    output.refuse_idle("the file says which exercises it answers", "seed", "answer")
    own = classes.read_variants(variants) if variants else None
    with waiting("grading") as say:
        folder = os.path.isdir(what)
        marked = classes.grade_folder(what, own, say) if folder else [classes.grade_file(what, own)]
    if out is not None:
        classes.write_marks(out, marked)
    output.answer(lambda: {"marks": [_marked_data(m) for m in marked]}, lambda: _show_marks(marked, out))
    output.exit_unless(folder or all(not m.trouble and m.earned >= m.points for m in marked))


def _answers(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = next((name for name, mark, _ in pairs if not mark or not name.strip()), None)
    if wrong is not None or not pairs:
        raise click.UsageError(f'an answer is given as --answer NAME="…"{f", not {wrong!r}" if wrong else ""}')
    return {name.strip(): value for name, _, value in pairs}


def _plain(result: Grade) -> str:
    from dalembert.exercises.sheets.markup import PLAIN, write_line

    return "\n".join(write_line(line, PLAIN) for line in str(result).splitlines())


def _grade_data(result: Grade) -> dict[str, object]:
    marks = [{**asdict(m), "verdict": m.verdict} for m in result.marks]
    return {"earned": result.earned, "points": result.points, "marks": marks, "notes": result.notes}


def _marked_data(marked: Marked) -> dict[str, object]:
    grades = [{"family": family, "seed": seed, **_grade_data(result)} for family, seed, result in marked.grades]
    return {"file": marked.file, "student": marked.student, "trouble": marked.trouble, "exercises": grades}


def _show_marks(marked: list[Marked], out: str | None) -> None:
    if len(marked) == 1 and out is None:
        for family, seed, result in marked[0].grades:
            click.echo(f"{family}, variant {seed}\n{_plain(result)}\n")
        if marked[0].trouble:
            click.echo(marked[0].trouble)
        return
    rows = [(m.student, m.file, m.earned, m.points, m.trouble) for m in marked]
    files = sum(bool(m.file) for m in marked)
    output.print_table(
        f"{files} file{'s' * (files != 1)} of answers", ("student", "file", "points", "of", "trouble"), rows
    )
    output.print_files(out)


@click.group()
def exercise() -> None:
    """Exercises with fresh numbers: list them, make sheets, solve them, grade answers.

    \b
    Examples:
      dalembert exercise list
      dalembert exercise make compose-rotations --seed 7
      dalembert exercise grade compose-rotations --seed 7 --answer R="[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
    """


for _name, _one in {"list": list_, "make": make, "solve": solve, "grade": grade}.items():
    exercise.add_command(_one, _name)
