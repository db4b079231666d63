"""The texts of all errors and warnings, in one file."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from write_texts import FILE, texts


def test_the_texts_of_messages_are_those_of_the_snapshot():
    """A reworded message needs one command: python tools/write_texts.py."""
    assert texts() == FILE.read_text(encoding="utf-8"), "python tools/write_texts.py"
