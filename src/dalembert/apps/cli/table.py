"""Lay out tables for a terminal of a given width. Numbers are never split over two lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

GAP = "  "
_WORD = re.compile(r"\S+\s*")
_HEAD_WORD = re.compile(r"(?:\[[^\]]*\]|\S)+\s*")  # a unit such as [N m] is one word
_SYLLABLE = re.compile(r"\S+?(?:(?<=[A-Za-z]-)(?=[A-Za-z])|(?=\s)|$)\s*")  # computed-torque breaks after its hyphen

Lines = list[str]


def lay_out(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> list[Lines]:
    """Return the lines of the head, then the lines of each row, each as a list.

    If the table is wider than `width`, text columns are folded between words, then also after hyphens. If it still does
    not fit, the head is empty and each row is a block of lines "name: value".
    """
    columns = list(zip(head, *rows, strict=True))
    available = width - len(GAP) * (len(columns) - 1)
    natural = [min(max(map(cell_width, column)), available) for column in columns]
    for word in (_WORD, _SYLLABLE):
        least = [
            max(cell_width(name, _HEAD_WORD), *(cell_width(x, None if is_number else word) for x in cells), 0)
            for (name, *cells), is_number in zip(columns, numeric, strict=True)
        ]
        if sum(least) <= available:
            widths = _shrink(natural, least, available)
            shown = [_row(row, widths, numeric, word) for row in rows]
            return [_row(head, widths, numeric, _HEAD_WORD, bottom=True) if any(head) else [], *shown]
    names = head if any(head) else [str(k + 1) for k in range(len(head))]
    return [[], *(_block(names, row, numeric, width) for row in rows)]


def fold(text: str, width: int, word: re.Pattern[str] = _WORD) -> Lines:
    """Return the text in lines of at most `width` cells, broken between words only; its own line breaks stay."""
    lines: Lines = []
    for line in text.split("\n"):
        current = ""
        for match in word.finditer(line) if cell_len(line) > width else ():
            if current and cell_len((current + match[0]).rstrip()) > width:
                lines.append(current.rstrip())
                current = ""
            current += match[0]
        lines.append(current.rstrip() or line)
    return lines


def cell_width(cell: str, word: re.Pattern[str] | None = None) -> int:
    """Return the width of the longest line, or of the longest word."""
    parts = cell.split("\n") if word is None else (match[0].rstrip() for match in word.finditer(cell))
    return max(map(cell_len, parts), default=0)


def _shrink(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return the column widths: the widest ones give way until all fit."""
    widths = list(natural)
    while sum(widths) > available:
        widths[max((k for k in range(len(widths)) if widths[k] > least[k]), key=widths.__getitem__)] -= 1
    return widths


def _row(
    row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], word: re.Pattern[str], *, bottom: bool = False
) -> Lines:
    folded = [fold(cell, w, word) for cell, w in zip(row, widths, strict=True)]
    height = max(map(len, folded))
    columns = [[""] * (height - len(f)) + f if bottom else f + [""] * (height - len(f)) for f in folded]
    cells = [[_pad(x, w, right) for x in column] for column, w, right in zip(columns, widths, numeric, strict=True)]
    return [GAP.join(line).rstrip() for line in zip(*cells, strict=True)]


def _pad(text: str, width: int, right: bool) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def _block(names: Sequence[str], row: Sequence[str], numeric: Sequence[bool], width: int) -> Lines:
    """Return a row as lines "name: value"; numbers that follow each other share a line."""
    lines: Lines = []
    after_number = False
    for k, (name, cell, is_number) in enumerate(zip(names, row, numeric, strict=True)):
        if not cell:
            continue
        item = f"{name}: {cell}" if name else cell
        if is_number and after_number and cell_len(longer := f"{lines[-1]}{GAP}{item}") <= width:
            lines[-1] = longer
        else:
            first, *more = fold(item, width - 2 * len(GAP))
            lines += [GAP + first if k else first, *(2 * GAP + line for line in more)]
        after_number = is_number and k > 0
    return lines
