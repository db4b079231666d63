"""What notebooks and terminals show of a result."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines, columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]


class Displayed:
    """A result that Jupyter, Colab, VS Code and marimo show as `dalembert.notebook` draws it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import dalembert  # the front door: what draws a result stands above it

        return dalembert.notebook.html_of(self)
