"""Formulas as MathML, made while the site is built: browsers draw it by themselves, no script, no fonts."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


@cache
def converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False)


def mathml(latex: str, *, display: bool, location: Any = None) -> str:
    """MathML of LaTeX; what is not LaTeX is a warning, and so fails a strict build."""
    try:
        return converter().convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logger.warning("not a formula: %s (%s)", latex, error, location=location)
        return f"<code>{escape(latex)}</code>"


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext(), display=False, location=node))
    raise nodes.SkipNode


def displayed(writer: Any, node: nodes.math_block) -> None:
    made = mathml(node.astext(), display=True, location=node)
    writer.body.append(f'<div class="displayed">{made}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
