"""Write the tables of docs/migration.md from `RENAMED` in src/dalembert/renamed.py: run it after each new row."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

from dalembert.renamed import write_migration_table  # noqa: E402  of this checkout, installed or not

PAGE = ROOT / "docs" / "migration.md"
MARK = "<!-- The tables below are written by tools/write_migration.py. -->\n"


def migration_page() -> str:
    """Return the page: its text as it is, up to the mark, and the tables of today."""
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE.name} has no line {MARK!r}"
    return f"{text}{mark}\n{write_migration_table()}"


if __name__ == "__main__":
    PAGE.write_text(migration_page(), encoding="utf-8")
