"""docs/notes and these tests name each other: no command without a test, no test that the pages leave out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from notes.test_formulas import FORMULAS, identity, slug
from notes.test_identities import FORMULAS as ABOUT_ANY_ARM

HERE = Path(__file__).parent
PAGES = HERE.parent.parent / "docs" / "notes"
NOTES = ("poonawala", "fakhari_2", "fakhari_3", "lagrange", "lee")


@cache
def names() -> list[str]:
    trees = [ast.parse((HERE / f"test_{note}.py").read_text(encoding="utf-8")) for note in NOTES]
    return [node.name for tree in trees for node in tree.body if getattr(node, "name", "").startswith("test_")]


@cache
def selected() -> list[str]:
    """What -k selects from: the names above, and the ids of the formulas that are compared as printed."""
    rows = [identity(row) for row in FORMULAS] + [slug(note, row["at"]) for note, _, row in ABOUT_ANY_ARM]
    return names() + rows


@cache
def text() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md")))


@cache
def keys() -> list[str]:
    """What follows -k in the pages' commands."""
    return re.findall(r"pytest tests/notes -k (\w+)", text())


@pytest.mark.parametrize("note", NOTES)
def test_every_test_is_on_a_page(note):
    mine = [name for name in names() if name.startswith(f"test_{note}_")]
    assert len(mine) > 20
    lost = [name for name in mine if f"`{name}`" not in text() and not any(key in name for key in keys())]
    assert lost == []


def test_every_command_selects_a_test():
    assert len(keys()) > 50
    assert [key for key in keys() if not any(key in name for name in selected())] == []


def test_every_name_on_the_pages_is_a_test():
    named = re.findall(rf"`(test_(?:{'|'.join(NOTES)})_\w+)`", text())
    assert len(named) > 100 and set(named) <= set(names())
