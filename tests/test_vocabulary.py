"""The vocabulary of the public interface: docs/glossary.md, docs/migration.md and the names themselves agree."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import dalembert as dl
from dalembert.renamed import RENAMED, find_new_name
from vocabulary import VOCABULARY

ROOT = Path(__file__).parent.parent


def test_the_glossary_contains_the_vocabulary():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = text.split("## Arguments, options and fields")[1].split("\n## ")[0]
    rows = [line.strip("| ") for line in section.splitlines() if line.startswith("| ")]
    assert rows == [" | ".join(row).strip("| ") for row in (("noun", "word", "note"), *VOCABULARY)]


def test_the_migration_page_is_current(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from write_migration import PAGE, migration_page

    assert PAGE.read_text(encoding="utf-8") == migration_page(), "run tools/write_migration.py"


@pytest.mark.parametrize(("place", "old", "new"), RENAMED)
def test_an_old_name_is_gone_and_its_error_contains_the_new_one(place, old, new):
    assert find_new_name(place, old) == new
    if old.isidentifier() and place in sys.modules and hasattr(sys.modules[place], "__all__"):
        with pytest.raises(AttributeError, match=re.escape(new)) as raised:
            getattr(sys.modules[place], old)
        assert raised.value.name == old


def test_no_name_has_two_rows():
    """A merge that takes a row from both sides is caught here."""
    assert [row for row, count in Counter((place, old) for place, old, _ in RENAMED).items() if count > 1] == []


def test_new_names_exist():
    """`dl.name` and `dl.module.name` in the third column."""
    for _, _, new in RENAMED:
        for path in re.findall(r"\bdl((?:\.[A-Za-z_]\w*)+)", new):
            found = dl
            for name in path[1:].split("."):
                found = getattr(found, name)
            assert found is not dl, new
