"""docs/errata.md and these tests name each other: no command without a test, no test that the page leaves out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "errata.md"
SEEDS = ("000", "001", "002", "003", "004")


@cache
def names() -> list[str]:
    files = [HERE / f"test_seed_{seed}.py" for seed in SEEDS]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return [node.name for tree in trees for node in tree.body if getattr(node, "name", "").startswith("test_")]


@cache
def keys() -> list[str]:
    """What follows -k in the page's commands."""
    return re.findall(r"pytest tests/errata -k (\w+)", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_test_is_on_the_page(seed):
    text = PAGE.read_text(encoding="utf-8")
    mine = [name for name in names() if name.startswith(f"test_{seed}_")]
    assert len(mine) > 30
    lost = [name for name in mine if f"`{name}`" not in text and not any(key in name for key in keys())]
    assert lost == []


def test_every_command_selects_a_test():
    assert len(keys()) > 50
    assert [key for key in keys() if not any(key in name for name in names())] == []


def test_every_name_on_the_page_is_a_test():
    named = re.findall(r"`(test_\d{3}_\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 100 and set(named) <= set(names())
