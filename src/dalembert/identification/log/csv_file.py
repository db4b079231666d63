"""Text files of numbers: whatever stands between the columns, with or without header, comments, units, marks of
order."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from dalembert.errors import InputError
from dalembert.files import LOG, contents
from dalembert.identification.log.table import Array, Integers, Table

COMMENTS = ("#", "%", "//")
SHOWN = 5  # of the rows that have a trouble, so many are named
# Broken rows up to this part of a file are left out and named; more of them, and the file is not what it seems.
BROKEN = 0.01
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
LINES = 20_000_000  # of one log: five hours at 1 kHz
EMPTY = ("", "-", "na", "n/a", "null", "none", "--")


def read_csv(path: Path) -> Table:
    """The table in a text file."""
    name, text = path.name, _text(path)
    rows = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    comments = [(k, line) for k, line in rows if line.startswith(COMMENTS)]
    rows = [(k, line) for k, line in rows if not line.startswith(COMMENTS)]
    if not rows:
        raise InputError(f"{path}: there is nothing in it but blank lines and comments")
    delimiter = _delimiter([line for _, line in rows[:50]])
    notes: list[str] = []
    head = _split(rows[0][1], delimiter)
    names: list[str] | None = None
    units: dict[str, str] = {}
    if not _numeric(head, delimiter):
        names, rows = [cell.strip().strip("\"'") for cell in head], rows[1:]
        if rows and (second := _split(rows[0][1], delimiter)) and not any(map(_is_number, second)) and any(second):
            units = {n: u.strip("[]() ") for n, u in zip(names, second, strict=False)}
            rows = rows[1:]
    elif comments and comments[-1][0] < rows[0][0]:  # a header behind a comment mark
        cells = _split(comments[-1][1].lstrip("#%/ \t"), delimiter)
        if len(cells) == len(head) and not any(map(_is_number, cells)):
            names = [cell.strip().strip("\"'") for cell in cells]
    if not rows:
        raise InputError(f"{path}: there is a header but no row of numbers under it")
    width = len(names) if names is not None else len(head)
    if width < 2:
        raise InputError(
            f"{path}: not a log: its first line reads {rows[0][1][:60]!r}, and no columns of numbers are found there"
        )
    decimal_comma = delimiter != "," and any(COMMA.fullmatch(c.strip()) for c in _split(rows[0][1], delimiter))
    if decimal_comma:
        notes.append(f"{name}: numbers are written with decimal commas, read as such")
        rows = [(k, line.replace(",", ".")) for k, line in rows]
    if names is not None and delimiter == "," and len(_split(rows[0][1], delimiter)) in (2 * width, 2 * width - 1):
        raise InputError(
            f"{path}: line {rows[0][0]} has twice as many fields as the header: decimal commas between commas "
            "cannot be "
            "told apart; export with decimal points, or with semicolons between the columns"
        )
    values, lines = _numbers(path, rows, delimiter, width, names, notes)
    if names is not None:
        names = _distinct(path, names)
    called = tuple(names or (str(k) for k in range(width)))
    return Table(called, values, name, named=names is not None, lines=lines, notes=tuple(notes), units=units)


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
    best, found = None, 0
    for mark in (";", "\t", "|", ","):  # a comma may be a decimal one: it comes last
        counts = [line.count(mark) for line in lines]
        common = max(set(counts), key=counts.count)
        if common and counts.count(common) >= 0.6 * len(counts) and (found == 0 or mark != ","):
            best, found = mark, common
    return best


def _split(line: str, delimiter: str | None) -> list[str]:
    cells = line.split(delimiter)
    if delimiter is not None and len(cells) > 2 and not cells[-1].strip():  # a delimiter ends every line
        cells = cells[:-1]
    return cells


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip().strip("\"'")) is not None


def _numeric(cells: list[str], delimiter: str | None) -> bool:
    """Whether a line is one of numbers: most of its cells are."""
    good = [_is_number(c) or (delimiter != "," and COMMA.fullmatch(c.strip())) for c in cells]
    return sum(map(bool, good)) > 0.5 * len(cells)


def _numbers(
    path: Path,
    rows: list[tuple[int, str]],
    delimiter: str | None,
    width: int,
    names: list[str] | None,
    notes: list[str],
) -> tuple[Array, Integers]:
    lines = np.array([k for k, _ in rows])
    try:  # all at once, if nothing is wrong
        values = np.loadtxt([line for _, line in rows], delimiter=delimiter, ndmin=2, comments=None)
        if values.shape[1] == width:
            return values, lines
    except ValueError:
        pass
    kept, places, broken = [], [], []
    for k, line in rows:
        cells = _split(line, delimiter)
        if len(cells) != width:
            broken.append((k, len(cells)))
            continue
        kept.append([_number(path, k, c, j, names) for j, c in enumerate(cells)])
        places.append(k)
    if broken:
        _tell_broken(path, broken, width, rows, notes)
    if not kept:
        raise InputError(f"{path}: not a log: there is no whole row of numbers in it")
    return np.array(kept, float), np.array(places)


def _number(path: Path, line: int, cell: str, column: int, names: list[str] | None) -> float:
    word = cell.strip().strip("\"'")
    try:
        return float(word)
    except ValueError:
        if word.lower() in EMPTY:
            return float("nan")
        if word.lower() in ("true", "false"):
            return float(word.lower() == "true")
        if NUMBER.fullmatch(word):
            return float(word.lower().replace("d", "e"))
    called = repr(names[column]) if names is not None else str(column)
    if names is not None and called.strip("'").lower() in (
        "name",
        "names",
        "mode",
        "state",
        "date",
        "comment",
        "label",
    ):
        return float("nan")
    raise InputError(
        f"{path}: line {line}, column {called}: {word[:30]!r} is not a number; mend the file, or take that column out"
    )


def _tell_broken(
    path: Path, broken: list[tuple[int, int]], width: int, rows: list[tuple[int, str]], notes: list[str]
) -> None:
    k, count = broken[0]
    last = len(broken) == 1 and k == rows[-1][0]
    if last and count < width:
        notes.append(f"{path.name}: the last line ({k}) is cut off after {count} of {width} fields, and left out")
        return
    shown = ", ".join(f"{k} ({count})" for k, count in broken[:SHOWN]) + (", …" if len(broken) > SHOWN else "")
    what = f"{len(broken)} of {len(rows)} rows do not have {width} fields: lines {shown}"
    if len(broken) > max(1.0, BROKEN * len(rows)):
        raise InputError(
            f"{path}: {what}; that is no table. Was another file pasted into it, or is its header another's?"
        )
    notes.append(f"{path.name}: {what}; left out")


def _distinct(path: Path, names: list[str]) -> list[str]:
    counts = Counter(names)
    double = sorted(n for n, count in counts.items() if n and count > 1)
    if double:
        raise InputError(f"{path}: the header has {double[0]!r} {counts[double[0]]} times: which one is meant?")
    return [n or f"({k})" for k, n in enumerate(names)]
