"""What stands in textbooks is right for the systems it is about; with a slip it is not."""

from __future__ import annotations

import pytest

import dalembert as dl
from dalembert.lagrange import EXAMPLES
from tests.lagrange import textbook


@pytest.mark.parametrize(("make", "name", "formula"), textbook.RIGHT)
def test_right_formulas_are_right(make, name, formula):
    result = make().compare(name, formula)
    assert result, str(result)
