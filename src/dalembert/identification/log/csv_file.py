"""Text files of numbers: whatever stands between the columns, with or without header, comments, units, marks of
order."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.files import LOG, contents
from dalembert.identification.log.families import group_of, tokens
from dalembert.identification.log.samples import Integers, Table

COMMENTS = ("#", "%", "//")
SHOWN = 5  # of the rows that have a trouble, so many are named
# Broken rows up to this part of a file are left out and named; more of them, and the file is not what it seems.
BROKEN = 0.01
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
LINES = 20_000_000  # of one log: five hours at 1 kHz
EMPTY = ("", "-", "na", "n/a", "null", "none", "--")

ODD = 40  # lines before the table that are no part of it: who recorded it, when, on what
TIME_OF_DAY = re.compile(r"(\d+):(\d+):(\d+(?:[.,]\d+)?)")

_LIST = msgspec.json.Decoder(list[float])

Lines = list[tuple[int, str]]  # (number of the line from 1, its text)
Rows = list[tuple[int, list[str]]]  # the same, cut into cells


def read_csv(path: Path, narrow: bool = False) -> Table:
    """The table in a text file; one of a single column without a name only if it may be `narrow`."""
    written = [(k, line.strip(" \r\n")) for k, line in enumerate(_text(path).splitlines(), 1) if line.strip()]
    comments = [row for row in written if row[1].startswith(COMMENTS)]
    rows = [row for row in written if not row[1].startswith(COMMENTS)]
    if not rows:
        raise InputError("too-few", "path", problem=f"{path}: there is nothing in it but blank lines and comments")
    mark = _delimiter([line for _, line in rows[-200:]])
    rows, notes = _without_preamble(path, rows, mark)
    head, names, units = _split(rows[0][1], mark), None, {}
    head = head[:-1] if len(head) > 2 and not head[-1].strip() else head  # a delimiter ends every line
    if not _is_numeric(head):
        header, names, rows = rows[0][1], _unquoted(head), rows[1:]
        second = _split(rows[0][1], mark) if rows else []
        again = [k for k, line in rows if line == header]  # logs that were pasted together
        if again:
            rows = [row for row in rows if row[1] != header]
            notes.append(
                f"{path.name}: the header stands again in line {again[0]}, {len(again)} times in all; left out"
            )
        if any(second) and not any(_is_number(c) or c[:1] in "[(" for c in second):
            units, rows = {n: u.strip("[]() ") for n, u in zip(names, second, strict=False)}, rows[1:]
    elif comments and comments[-1][0] < rows[0][0]:  # a header behind a comment mark
        line = comments[-1][1].lstrip("#%/ \t")
        ways = [_split(line, way) for way in dict.fromkeys((mark, ",", ";", "\t", None))]
        names = next((_unquoted(c) for c in ways if len(c) == len(head) and not any(map(_is_number, c))), None)
    if not rows:
        raise InputError("too-few", "path", problem=f"{path}: there is a header but no row of numbers under it")
    first, width = rows[0][1], len(head)
    if mark != "," and any(COMMA.fullmatch(c.strip()) for c in _split(first, mark)):
        notes.append(f"{path.name}: numbers are written with decimal commas, read as such")
        rows = [(k, line.replace(",", ".")) for k, line in rows]
    if names is not None and mark == "," and len(_split(first, mark)) in (2 * width, 2 * width - 1):
        raise InputError(
            "syntax",
            "path",
            problem=f"{path}: line {rows[0][0]} has twice as many fields as the header: decimal commas between "
            "commas cannot "
            "be told apart; export with decimal points, or with semicolons between the columns",
        )
    values, lines, said, names, texts = _numbers(path, rows, mark, width, names)
    if values.shape[1] < 2 and not narrow:
        raise InputError(
            "syntax",
            "path",
            problem=f"{path}: not a log: its first line reads {first[:60]!r}, and no columns of numbers are found "
            "there",
        )
    called = tuple(_distinct(path, names)) if names is not None else tuple(str(k) for k in range(values.shape[1]))
    return Table(called, values, path.name, names is not None, lines, (*notes, *said), units, texts)


def _without_preamble(path: Path, rows: Lines, mark: str | None) -> tuple[Lines, list[str]]:
    """The rows from the first that has as many cells as most of the last ones."""
    widths = [len(_split(line, mark)) for _, line in rows[: ODD + 1]]
    common = Counter(len(_split(line, mark)) for _, line in rows[-200:]).most_common(1)[0][0]
    start = next((k for k, width in enumerate(widths) if width == common), 0)
    # A header with other cells than the rows under it is told as such later.
    if not start or common < 2 or not _is_numeric(_split(rows[min(start + 1, len(rows) - 1)][1], mark)):
        return rows, []
    if _is_numeric(_split(rows[start][1], mark)) and widths[start - 1] > 2:
        return rows, []
    return rows[start:], [f"{path.name}: its first {start} lines are no part of the table, and left out"]


def _text(path: Path) -> str:
    try:
        raw = contents(path, LOG)
    except OSError as error:
        raise InputError("not-readable", "path", problem=f"{path}: cannot be read: {error.strerror}") from None
    if raw.count(b"\n") > LINES:
        raise InputError(
            "too-large",
            "path",
            problem=f"{path}: more than {LINES} lines; cut the log into shorter ones, or save it as npz",
        )
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    if b"\0" in raw[:4096]:
        raise InputError(
            "not-readable",
            "path",
            problem=f"{path}: not a log: binary data that is neither npz, npy, Parquet nor a ROS bag",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _delimiter(lines: list[str]) -> str | None:
    """What stands between the columns in most lines; None: blanks."""
    best = None
    for mark in (";", "\t", "|", ","):  # a comma may be a decimal one: it comes last
        common, times = Counter(line.count(mark) for line in lines).most_common(1)[0]
        if common and times >= 0.6 * len(lines) and (best is None or mark != ","):
            best = mark
    return best


def _split(line: str, mark: str | None) -> list[str]:
    if '"' in line:  # what is quoted may hold the delimiter
        return next(csv.reader([line], delimiter=mark or " ", skipinitialspace=True))
    return line.split(mark)


def _unquoted(cells: list[str]) -> list[str]:
    return [cell.strip().strip("\"'") for cell in cells]


def _is_number(cell: str) -> bool:
    word = cell.strip().strip("\"'")
    return NUMBER.fullmatch(word) is not None or COMMA.fullmatch(word) is not None


def _is_numeric(cells: list[str]) -> bool:
    """Whether a line is one of numbers: most of its cells are."""
    return sum(map(_is_number, cells)) > 0.5 * len(cells)


def _numbers(
    path: Path, rows: Lines, mark: str | None, width: int, names: list[str] | None
) -> tuple[Array, Integers, list[str], list[str] | None, dict[str, str]]:
    """The values, the line of each row, notes of rows that were left out, the names of the columns, and the first text
    of columns that hold text."""
    values = _plain_numbers([line for _, line in rows], mark, width)  # all at once, if nothing is wrong
    if values is not None:
        return values, np.array([k for k, _ in rows]), [], names, {}
    cells: Rows = [(k, _split(line, mark)) for k, line in rows]
    cells = [(k, row[:-1] if len(row) == width + 1 and not row[-1].strip() else row) for k, row in cells]
    broken = [(k, len(row)) for k, row in cells if len(row) != width]
    whole: Rows = [(k, row) for k, row in cells if len(row) == width]
    notes = _broken_rows(path, broken, width, rows) if broken else []
    if not whole:
        raise InputError("too-few", "path", problem=f"{path}: not a log: there is no whole row of numbers in it")
    columns: list[tuple[str, list[float]]] = []
    texts: dict[str, str] = {}
    for j in range(width):
        name, column = (str(j) if names is None else names[j]), [row[j].strip().strip("\"'") for _, row in whole]
        if column[0][:1] in ("[", "(") and "name" not in name:  # a list of numbers in a cell
            lists = [re.findall(NUMBER, cell) and cell.strip("[]() ").replace(",", " ").split() for cell in column]
            if min(map(len, lists)) == max(map(len, lists)):
                columns += [(f"{name}[{i}]", [float(x[i]) for x in lists]) for i in range(len(lists[0]))]
                continue
        sample = [cell for cell in column[:50] if cell.lower() not in EMPTY]
        if sample and not any(_is_number(cell) or cell.lower() in ("true", "false") for cell in sample):
            texts[name] = sample[0]
            dated = _dates(column)
            columns.append((name, dated if dated is not None else [math.nan] * len(column)))
            if dated is None and names is None:  # a word among columns without names is no column of text
                texts.pop(name)
                _number(path, whole[0][0], sample[0], j, names)
            continue
        try:
            columns.append((name, np.array(column).astype(float).tolist()))
        except ValueError:
            cells_of = zip(whole, column, strict=True)
            columns.append((name, [_number(path, k, cell, j, names) for (k, _), cell in cells_of]))
    called = None if names is None else [name for name, _ in columns]
    return np.array([x for _, x in columns]).T, np.array([k for k, _ in whole]), notes, called, texts


def _plain_numbers(lines: list[str], mark: str | None, width: int) -> Array | None:
    """The numbers of a table in which nothing else stands; None if that is not so."""
    rows = [",".join(line.split()) for line in lines] if mark is None else lines
    if mark is not None and all(row.endswith(mark) and row.count(mark) == width for row in rows):
        rows = [row[: -len(mark)] for row in rows]
    if all(row.count(mark or ",") == width - 1 for row in rows):
        try:  # a list of JSON is read in a quarter of the time
            text = ",".join(rows)
            found = _LIST.decode(f"[{text if mark is None else text.replace(mark, ',')}]")
            return np.array(found).reshape(len(rows), width)
        except (msgspec.DecodeError, ValueError, UnicodeError):
            pass
    try:
        values = np.loadtxt(lines, delimiter=mark, ndmin=2, comments=None)
    except ValueError:
        return None
    return values if values.shape[1] == width else None


def _dates(column: list[str]) -> list[float] | None:
    """Dates or times of day in seconds from the first; None if they are neither."""
    try:
        stamps = [datetime.fromisoformat(cell) for cell in column]
        return [(stamp - stamps[0]).total_seconds() for stamp in stamps]
    except (ValueError, TypeError):
        found = [TIME_OF_DAY.fullmatch(cell) for cell in column]
        seconds = [3600 * int(m[1]) + 60 * int(m[2]) + float(m[3].replace(",", ".")) for m in found if m]
        return [x - seconds[0] for x in seconds] if seconds and len(seconds) == len(column) else None


def _number(path: Path, line: int, word: str, column: int, names: list[str] | None) -> float:
    try:
        return float(word)
    except ValueError:
        if word.lower() in ("true", "false"):
            return float(word.lower() == "true")
        if NUMBER.fullmatch(word):
            return float(word.lower().replace("d", "e"))
        if COMMA.fullmatch(word):  # in quotes, between commas
            return float(word.replace(",", "."))
    if word.lower() in EMPTY:
        return float("nan")
    called = repr(names[column]) if names is not None else str(column)
    raise InputError(
        "syntax",
        "path",
        problem=f"{path}: line {line}, column {called}: {word[:30]!r} is not a number; mend the file, or take "
        "that column out",
    )


def _broken_rows(path: Path, broken: list[tuple[int, int]], width: int, rows: Lines) -> list[str]:
    k, count = broken[0]
    if len(broken) == 1 and k == rows[-1][0] and count < width:
        return [f"{path.name}: the last line ({k}) is cut off after {count} of {width} fields, and left out"]
    shown = ", ".join(f"{k} ({count})" for k, count in broken[:SHOWN]) + (", …" if len(broken) > SHOWN else "")
    what = f"{len(broken)} of {len(rows)} rows do not have {width} fields: lines {shown}"
    if len(broken) > max(1.0, BROKEN * len(rows)):
        raise InputError(
            "wrong-shape",
            "path",
            problem=f"{path}: {what}; that is no table. Was another file pasted into it, or is its header another's?",
        )
    return [f"{path.name}: {what}; left out"]


def _distinct(path: Path, names: list[str]) -> list[str]:
    """The names, each once: what is there twice is refused if it means something, and numbered if not."""
    counts = Counter(names)
    called = []
    for k, name in enumerate(names):
        if counts[name] > 1 and name and group_of([w for w in tokens(name) if not w.isdigit()]) is not None:
            raise InputError(
                "duplicate",
                "path",
                problem=f"{path}: the header has {name!r} {counts[name]} times: which one is meant?",
            )
        called.append(name if counts[name] == 1 and name else f"({k})" if not name else f"({k}) {name}")
    return called
