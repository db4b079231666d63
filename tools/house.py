"""Measure the house: lines of code, docstrings and modules under a folder (src/dalembert if none is given)."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_lines(source: str) -> tuple[int, int]:
    """(lines of code, lines of docstrings) of a module; blanks and comments are neither."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in LAYOUT]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    first = [node.body[0] for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED) and node.body]
    docstrings = {
        line
        for node in first
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return len(lines - docstrings), len(docstrings)


if __name__ == "__main__":
    files = sorted(Path(sys.argv[1] if len(sys.argv) > 1 else "src/dalembert").rglob("*.py"))
    counts = [count_lines(file.read_text(encoding="utf-8")) for file in files]
    print(f"{sum(c for c, _ in counts)} code, {sum(d for _, d in counts)} docstrings, {len(files)} modules")
