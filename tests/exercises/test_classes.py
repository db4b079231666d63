"""A class: names read from what spreadsheets save, a variant for everyone, files of answers good and bad, marks."""

from __future__ import annotations

import csv
import os

import pytest

from dalembert.errors import DalembertError
from dalembert.exercises import classes
from dalembert.exercises.classes import (
    Marked,
    give_variants,
    grade_file,
    grade_folder,
    read_answers,
    read_class,
    read_variants,
    write_answers,
    write_marks,
    write_variants,
)
from dalembert.exercises.exercise import Answer, Exercise, Family, Wrong, find
from dalembert.exercises.sheets import Sheet
from dalembert.exercises.sheets.sheet import answer_text
from errors import raises

EXERCISE = find("compose-rotations").variant(7)
RIGHT = {a.name: answer_text(a, a.value) for a in EXERCISE.answers}


@pytest.mark.parametrize(
    ("text", "students"),
    [
        ("name\nAda Lovelace\nAlan Turing\n", ["Ada Lovelace", "Alan Turing"]),
        ("Ada Lovelace\nAlan Turing", ["Ada Lovelace", "Alan Turing"]),
        ("\ufeffGroup;Name\n1;Müller, Jürgen\n\n2;Łukasz\n", ["Müller, Jürgen", "Łukasz"]),
        ('"First name","Surname","ID number"\r\nAda,Lovelace,1\r\nAlan,Turing,2\r\n', ["Ada Lovelace", "Alan Turing"]),
        ("id\tmark\n17\t1\n18\t2\n", ["17", "18"]),
        ('name\n"a ""b"" c"\n李\n', ['a "b" c', "李"]),
    ],
)
def test_class_lists(tmp_path, text, students):
    (tmp_path / "class.csv").write_text(text, encoding="utf-8")
    assert read_class(tmp_path / "class.csv") == students


def test_a_list_from_an_old_spreadsheet(tmp_path):
    (tmp_path / "class.csv").write_bytes("name\nMüller\n".encode("cp1252"))
    assert read_class(tmp_path / "class.csv") == ["Müller"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "missing students"),
        (b"name\n\n", "missing students"),
        (b"name\nAda\nAda\n", "duplicate students"),
        (b"\x81\x8d\xff", "not-readable path"),
        (b"name\n" + b"x" * (2 << 20), "not-readable path"),
    ],
)
def test_lists_that_are_none(tmp_path, data, says):
    (tmp_path / "class.csv").write_bytes(data)
    with raises(DalembertError, says):
        read_class(tmp_path / "class.csv")


def test_everyone_gets_another_variant_and_the_same_again():
    families = [find("compose-rotations"), find("damping")]
    students = [f"student {k}" for k in range(40)]
    given = dict(give_variants(families, students))
    for k in range(len(families)):
        assert len({exercises[k].text for exercises in given.values()}) == len(students)
    assert {s: e[0].seed for s, e in give_variants(families, students)} == {s: e[0].seed for s, e in given.items()}
    alone = dict(give_variants(families, students[7:8]))["student 7"]
    assert alone[0].seed == given["student 7"][0].seed, "the seed is the name's, not that of a place in the list"


def test_a_family_with_few_variants_is_told():
    few = Family("few", "", 1, "", lambda random: Exercise(
        text=f"Is it {random.integers(3)}?", hints=(), solution=(), title="",
        answers=(Answer("a", "number", 1.0, wrong=(Wrong(2.0, "Two."), Wrong(3.0, "Three."))),)))  # fmt: skip
    told: list[str] = []
    made = list(give_variants([few], "abcde", told.append))
    assert len(made) == 5 and told == ["the family 'few' has fewer variants than there are students: some share one"]


def test_a_file_of_answers_there_and_back(tmp_path):
    sheet = Sheet('Week\n"1"', (EXERCISE, find("damping").variant(3)), 'A "quoted"\\ name \x7f')
    file = tmp_path / "a.toml"
    file.write_text(write_answers(sheet, [{"R": "[[1\n"}]), encoding="utf-8")
    student, read = read_answers(file)
    assert student == sheet.student
    assert [(family, seed) for family, seed, _ in read] == [("compose-rotations", 7), ("damping", 3)]
    assert read[0][2] == {"R": "[[1\n"} and set(read[1][2].values()) == {""}


HEAD = '[[exercise]]\nfamily = "compose-rotations"\nseed = 7\n'
BROKEN = {
    "binary.toml": (b"\x00\x01\xff\x81", "no text|not TOML"),
    "empty.toml": (b"", r"has no \[\[exercise\]\]"),
    "syntax.toml": (b"student = ", "is not TOML"),
    "deep.toml": (b"a = " + b"[" * 20000, "is not TOML"),
    "no-family.toml": (b"[[exercise]]\nseed = 1", "needs family"),
    "strange-seed.toml": (b'[[exercise]]\nfamily = "damping"\nseed = true', "seed = a whole number"),
    "negative.toml": (b'[[exercise]]\nfamily = "damping"\nseed = -1', "seed"),
    "unknown.toml": (
        b'[[exercise]]\nfamily = "dampin"\nseed = 1',
        "unknown family of exercises 'dampin'; did you mean",
    ),
    "number.toml": (b"exercise = 3", r"has no \[\[exercise\]\]"),
    "large.toml": (b"#" * (2 << 20), "larger than 1 MiB"),
    "essay.docx": (b"PK", "is no file of answers, which end in .toml"),
}


def test_a_folder_of_answers(tmp_path):
    folder = tmp_path / "handed in"
    (folder / "Ada_123_file").mkdir(parents=True)
    (folder / ".hidden").write_text("", encoding="utf-8")
    sheet = Sheet("", (EXERCISE,), "=Ada")
    (folder / "Ada_123_file" / "answers.toml").write_text(write_answers(sheet, [RIGHT]), encoding="utf-8")
    (folder / "none.toml").write_text(write_answers(Sheet("", (EXERCISE,), "Bob")), encoding="utf-8")
    (folder / "odd.toml").write_text(
        f"{HEAD}[exercise.answers]\nR = [[1, 2], [3]]\nextra = 1979-05-27\n", encoding="utf-8"
    )
    for name, (data, _) in BROKEN.items():
        (folder / name).write_bytes(data)
    said: list[str] = []
    marked = {m.file: m for m in grade_folder(folder, say=said.append)}
    assert len(marked) == len(BROKEN) + 3 == len(said)
    for name, (_, says) in BROKEN.items():
        assert marked[name].points == 0 and not marked[name].grades
        with pytest.raises(AssertionError, match=says):
            raise AssertionError(marked[name].reasons)
    assert (
        marked["Ada_123_file/answers.toml"].earned == EXERCISE.points
        and marked["Ada_123_file/answers.toml"].student == "=Ada"
    )
    assert marked["none.toml"].earned == 0 and "R: There is no answer." in marked["none.toml"].reasons
    assert marked["odd.toml"].earned == 0 and marked["odd.toml"].student == "odd"
    with open(write_marks(tmp_path / "marks.csv", list(marked.values())), encoding="utf-8", newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert len(rows) == len(marked) and rows["Ada_123_file/answers.toml"]["points"] == f"{float(EXERCISE.points)}"
    assert rows["Ada_123_file/answers.toml"]["student"] == "'=Ada", "no spreadsheet takes a name for a formula"
    assert all(row["reasons"] for row in rows.values())
    assert rows["syntax.toml"]["compose-rotations"] == "" and rows["none.toml"]["compose-rotations"] == "0.0"


def test_only_ones_own_variant_counts(tmp_path):
    own = Sheet("", (EXERCISE,), "=Ada")
    variants = read_variants(write_variants(tmp_path / "variants.csv", [own, Sheet("", (EXERCISE,), "Bob")]))
    assert variants == {"=Ada": {("compose-rotations", 7)}, "Bob": {("compose-rotations", 7)}}
    handed = tmp_path / "handed"
    handed.mkdir()
    other = find("compose-rotations").variant(8)
    solved = {a.name: answer_text(a, a.value) for a in other.answers}
    (handed / "ada.toml").write_text(write_answers(Sheet("", (other,), "=Ada"), [solved]), encoding="utf-8")
    (handed / "eve.toml").write_text(write_answers(Sheet("", (EXERCISE,), "Eve"), [RIGHT]), encoding="utf-8")
    ada, eve, bob = grade_folder(handed, variants)
    assert ada.earned == 0 and "compose-rotations 8 is not the variant of =Ada, and does not count" in ada.reasons
    assert eve.earned == 0 and "'Eve' is not in the list of variants" in eve.reasons
    assert (bob.student, bob.reasons) == ("Bob", "handed in nothing")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with raises(DalembertError, "wrong-structure path"):
        read_variants(tmp_path / "other.csv")


def test_a_file_that_is_not_there(tmp_path):
    assert "cannot be read: No such file" in grade_file(tmp_path / "nobody.toml").reasons


def test_leaving_out_or_repeating_an_exercise_gains_nothing(tmp_path):
    other = find("damping").variant(3)
    own = {"'t Hooft": {("compose-rotations", 7), ("damping", 3)}}
    file = tmp_path / "a.toml"
    file.write_text(write_answers(Sheet("", (EXERCISE, EXERCISE), "'t Hooft"), [RIGHT, RIGHT]), encoding="utf-8")
    marked = grade_file(file, own)
    assert (marked.earned, marked.points) == (EXERCISE.points, EXERCISE.points + other.points)
    assert "compose-rotations 7 is there twice, and the first one counts" in marked.reasons
    assert "damping 3: omega: There is no answer." in marked.reasons
    assert grade_file(file, {}).student == "'t Hooft", "whom the list does not know keeps the name"


def test_names_in_the_list_of_variants_there_and_back(tmp_path):
    names = ["'t Hooft", "=Ada", "@x"]
    path = write_variants(tmp_path / "variants.csv", [Sheet("", (EXERCISE,), name) for name in names])
    assert list(read_variants(path)) == names


HOSTILE = {  # files that a student may hand in, and what the marks say of them
    "eve.toml": (b"x = " + b"9" * 5000, "too many digits"),
    "hex.toml": (b'[[exercise]]\nfamily = "damping"\nseed = 0x' + b"f" * 5000, "seed must be a whole number"),
    "deep.toml": (b"[" + b"a." * 100_000 + b"a]", "parts"),
    "many.toml": (b"".join(b'[[exercise]]\nfamily = "damping"\nseed = %d\n' % k for k in range(5000)), "at most 200"),
    "long.toml": (b'[[exercise]]\nfamily = "' + b"a" * 100_000 + b'"\nseed = 1', "unknown family"),
    "huge.toml": (b'[[exercise]]\nfamily = "damping"\nseed = 1\n[exercise.answers]\nomega = 0x' + b"f" * 9000, ""),
}


def test_one_file_does_not_stop_the_marks_of_a_class(tmp_path):
    handed = tmp_path / "handed"
    handed.mkdir()
    (handed / "ada.toml").write_text(write_answers(Sheet("", (EXERCISE,), "Ada"), [RIGHT]), encoding="utf-8")
    for name, (data, _) in HOSTILE.items():
        (handed / name).write_bytes(data)
    marked = {m.file: m for m in grade_folder(handed)}
    assert marked["ada.toml"].earned == EXERCISE.points
    for name, (_, says) in HOSTILE.items():
        assert says in marked[name].reasons and marked[name].earned == 0
    path = write_marks(tmp_path / "marks.csv", list(marked.values()))
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))  # which refuses a field of more than 131,072 characters
    assert len(rows) == len(HOSTILE) + 1


def test_a_name_that_is_not_utf_8(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"Jos\xe9.toml")).write_text(write_answers(Sheet("", (EXERCISE,)), [RIGHT]), "utf-8")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such names")
    path = write_marks(tmp_path / "marks.csv", grade_folder(tmp_path))
    assert r"Jos\udce9.toml" in path.read_text(encoding="utf-8")


def test_whatever_a_file_raises_is_its_row(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyError("x")

    monkeypatch.setattr(classes, "grade", fail)
    (tmp_path / "ada.toml").write_text(write_answers(Sheet("", (EXERCISE,), "Ada"), [RIGHT]), encoding="utf-8")
    (marked,) = grade_folder(tmp_path)
    assert "KeyError" in marked.trouble and marked.student == "Ada"
    monkeypatch.setattr(classes, "read_answers", fail)
    assert "KeyError" in grade_folder(tmp_path)[0].trouble


@pytest.mark.parametrize("text", ["student = 'Gül Öz'\nx =", "x ="])
def test_an_unreadable_file_is_its_students(tmp_path, text):
    (tmp_path / "Gül-Öz.toml").write_text(text, encoding="utf-8")
    variants = {"Gül Öz": {("compose-rotations", 7)}, "Ada": {("compose-rotations", 7)}}
    marked = grade_folder(tmp_path, variants)
    assert [(m.student, m.earned, m.points) for m in marked] == [
        ("Gül Öz", 0, EXERCISE.points),
        ("Ada", 0, EXERCISE.points),
    ]
    assert "is not TOML" in marked[0].reasons and marked[1].reasons == "handed in nothing"


def test_a_file_without_a_name_is_whose_name_it_has(tmp_path):
    sheets = [Sheet("Week 1", (EXERCISE,), student="Gül Öz")]
    write_variants(tmp_path / "variants.csv", sheets)
    text = write_answers(sheets[0], [RIGHT]).replace('student = "Gül Öz"', "")
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "Gül-Öz.toml").write_text(text, encoding="utf-8")
    (folder / "other.toml").write_text(text, encoding="utf-8")
    marked = grade_folder(folder, read_variants(tmp_path / "variants.csv"))
    assert [(m.student, m.earned > 0, bool(m.trouble)) for m in marked] == [
        ("Gül Öz", True, False),
        ("other", False, True),
    ]


def test_a_long_word_of_one_file_does_not_fill_the_marks(tmp_path):
    (tmp_path / "eve.toml").write_text(f'[[exercise]]\nfamily = "{"x" * 100_000}"\nseed = 3\n', encoding="utf-8")
    reasons = grade_folder(tmp_path)[0].reasons
    assert "unknown family" in reasons and max(map(len, reasons.split())) < 80


def test_an_empty_folder_is_refused(tmp_path):
    with raises(DalembertError, "missing folder"):
        grade_folder(tmp_path)


@pytest.mark.parametrize(
    "name", ["=1+1", "＝1+1", " =1+1", "\u200b=1+1", "\ufeff@x", "\t+1", "  -2", "＋1", "−1", "\u2060\u200d =x"]
)
def test_no_cell_is_a_formula(tmp_path, name):
    path = write_marks(tmp_path / "marks.csv", [Marked("f.toml", name, trouble=name)])
    with open(path, encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["student"] == f"'{name}" and row["reasons"].startswith("'")


def test_marks_do_not_steer_a_terminal(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('student = "\\u001b[2JAda\\u202e"\n[[exercise]]\nfamily = "damping"\nseed = 1', encoding="utf-8")
    text = write_marks(tmp_path / "marks.csv", [grade_file(file)]).read_text(encoding="utf-8")
    assert "Ada" in text and not {"\u001b", "\u202e"} & set(text)
