"""Text files of numbers: whatever stands between the columns, with or without header, comments, units, marks of
order."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from dalembert.errors import InputError
from dalembert.files import LOG, contents
from dalembert.identification.log.samples import Array, Integers, Table

COMMENTS = ("#", "%", "//")
SHOWN = 5  # of the rows that have a trouble, so many are named
# Broken rows up to this part of a file are left out and named; more of them, and the file is not what it seems.
BROKEN = 0.01
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
LINES = 20_000_000  # of one log: five hours at 1 kHz
EMPTY = ("", "-", "na", "n/a", "null", "none", "--")
WORDY = ("name", "names", "mode", "state", "date", "comment", "label")  # columns whose words are no numbers

Lines = list[tuple[int, str]]  # (number of the line from 1, its text)


def read_csv(path: Path) -> Table:
    """The table in a text file."""
    written = [(k, line.strip()) for k, line in enumerate(_text(path).splitlines(), 1) if line.strip()]
    comments = [row for row in written if row[1].startswith(COMMENTS)]
    rows = [row for row in written if not row[1].startswith(COMMENTS)]
    if not rows:
        raise InputError(f"{path}: there is nothing in it but blank lines and comments")
    mark = _delimiter([line for _, line in rows[:50]])
    head, names, units, notes = _split(rows[0][1], mark), None, {}, []
    if not _is_numeric(head, mark):
        names, rows = _unquoted(head), rows[1:]
        second = _split(rows[0][1], mark) if rows else []
        if any(second) and not any(map(_is_number, second)):
            units, rows = {n: u.strip("[]() ") for n, u in zip(names, second, strict=False)}, rows[1:]
    elif comments and comments[-1][0] < rows[0][0]:  # a header behind a comment mark
        cells = _split(comments[-1][1].lstrip("#%/ \t"), mark)
        if len(cells) == len(head) and not any(map(_is_number, cells)):
            names = _unquoted(cells)
    if not rows:
        raise InputError(f"{path}: there is a header but no row of numbers under it")
    first, width = rows[0][1], len(head)
    if width < 2:
        raise InputError(
            f"{path}: not a log: its first line reads {first[:60]!r}, and no columns of numbers are found there"
        )
    if mark != "," and any(COMMA.fullmatch(c.strip()) for c in _split(first, mark)):
        notes.append(f"{path.name}: numbers are written with decimal commas, read as such")
        rows = [(k, line.replace(",", ".")) for k, line in rows]
    if names is not None and mark == "," and len(_split(first, mark)) in (2 * width, 2 * width - 1):
        raise InputError(
            f"{path}: line {rows[0][0]} has twice as many fields as the header: decimal commas between commas cannot "
            "be told apart; export with decimal points, or with semicolons between the columns"
        )
    values, lines, said = _numbers(path, rows, mark, width, names)
    called = tuple(_distinct(path, names)) if names is not None else tuple(str(k) for k in range(width))
    return Table(called, values, path.name, names is not None, lines, (*notes, *said), units)


def _text(path: Path) -> str:
    try:
        raw = contents(path, LOG)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if raw.count(b"\n") > LINES:
        raise InputError(f"{path}: more than {LINES} lines; cut the log into shorter ones, or save it as npz")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    if b"\0" in raw[:4096]:
        raise InputError(f"{path}: not a log: binary data that is neither npz, npy, Parquet nor a ROS bag")
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
    cells = line.split(mark)
    ended = mark is not None and len(cells) > 2 and not cells[-1].strip()  # a delimiter ends every line
    return cells[:-1] if ended else cells


def _unquoted(cells: list[str]) -> list[str]:
    return [cell.strip().strip("\"'") for cell in cells]


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip().strip("\"'")) is not None


def _is_numeric(cells: list[str], mark: str | None) -> bool:
    """Whether a line is one of numbers: most of its cells are."""
    good = [_is_number(c) or (mark != "," and COMMA.fullmatch(c.strip())) for c in cells]
    return sum(map(bool, good)) > 0.5 * len(cells)


def _numbers(
    path: Path, rows: Lines, mark: str | None, width: int, names: list[str] | None
) -> tuple[Array, Integers, list[str]]:
    """The values, the line of each row, and notes of rows that were left out."""
    try:  # all at once, if nothing is wrong
        values = np.loadtxt([line for _, line in rows], delimiter=mark, ndmin=2, comments=None)
        if values.shape[1] == width:
            return values, np.array([k for k, _ in rows]), []
    except ValueError:
        pass
    cells = [(k, _split(line, mark)) for k, line in rows]
    broken = [(k, len(row)) for k, row in cells if len(row) != width]
    whole = [(k, row) for k, row in cells if len(row) == width]
    kept = [[_number(path, k, cell, j, names) for j, cell in enumerate(row)] for k, row in whole]
    notes = _broken_rows(path, broken, width, rows) if broken else []
    if not kept:
        raise InputError(f"{path}: not a log: there is no whole row of numbers in it")
    return np.array(kept, float), np.array([k for k, _ in whole]), notes


def _number(path: Path, line: int, cell: str, column: int, names: list[str] | None) -> float:
    word = cell.strip().strip("\"'")
    try:
        return float(word)
    except ValueError:
        if word.lower() in ("true", "false"):
            return float(word.lower() == "true")
        if NUMBER.fullmatch(word):
            return float(word.lower().replace("d", "e"))
    if word.lower() in EMPTY or (names is not None and names[column].strip("'").lower() in WORDY):
        return float("nan")
    called = repr(names[column]) if names is not None else str(column)
    raise InputError(
        f"{path}: line {line}, column {called}: {word[:30]!r} is not a number; mend the file, or take that column out"
    )


def _broken_rows(path: Path, broken: list[tuple[int, int]], width: int, rows: Lines) -> list[str]:
    k, count = broken[0]
    if len(broken) == 1 and k == rows[-1][0] and count < width:
        return [f"{path.name}: the last line ({k}) is cut off after {count} of {width} fields, and left out"]
    shown = ", ".join(f"{k} ({count})" for k, count in broken[:SHOWN]) + (", …" if len(broken) > SHOWN else "")
    what = f"{len(broken)} of {len(rows)} rows do not have {width} fields: lines {shown}"
    if len(broken) > max(1.0, BROKEN * len(rows)):
        raise InputError(
            f"{path}: {what}; that is no table. Was another file pasted into it, or is its header another's?"
        )
    return [f"{path.name}: {what}; left out"]


def _distinct(path: Path, names: list[str]) -> list[str]:
    counts = Counter(names)
    double = sorted(n for n, count in counts.items() if n and count > 1)
    if double:
        raise InputError(f"{path}: the header has {double[0]!r} {counts[double[0]]} times: which one is meant?")
    return [n or f"({k})" for k, n in enumerate(names)]
