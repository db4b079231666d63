"""The reference, from docstrings: directives that list what there is, and docstrings as reStructuredText.

.. door:: dalembert.control        every public name of a package
.. modules:: dalembert.control     what its modules have besides
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dalembert_site.names import DOORS, modules, names_of, own, public

SPECIAL = re.compile(r"([\\*_|])")
COLUMNS = re.compile(r"\S+(, \S+)* {2,}\S")


def escaped(line: str) -> str:
    """A line of prose: `code` as code, everything else as it is written."""
    parts = line.split("`")
    if len(parts) % 2 == 0:  # a backtick without its fellow
        return SPECIAL.sub(r"\\\1", line).replace("`", r"\`")
    code = [f"\\ ``{part.strip()}``\\ " if part.strip() else "" for part in parts[1::2]]
    prose = [SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(a + b for a, b in zip(prose, [*code, ""], strict=True))


def paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


def restructured(lines: list[str]) -> list[str]:
    """A docstring of ours, prose with `code`, lists, indented formulas and >>> examples, as reStructuredText."""
    made: list[str] = []
    for paragraph in paragraphs(lines):
        first = paragraph[0]
        if first.startswith(">>>") or first[0].isspace() or all(COLUMNS.match(line) for line in paragraph):
            made += ["::", "", *(f"    {line}" for line in paragraph)]
        elif first.startswith("- "):
            made += [line if line.startswith("- ") else f"  {line.strip()}" for line in map(item, paragraph)]
        else:
            # Code may run over the end of a line; what a paragraph's later lines are indented by is only layout.
            made += [escaped(" ".join(line.strip() for line in paragraph))]
        made.append("")
    return made


def item(line: str) -> str:
    return f"- {escaped(line[2:])}" if line.startswith("- ") else escaped(line)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


class Generated(SphinxDirective):
    """reStructuredText that `text` makes, read as if it stood in the page."""

    required_arguments = 1

    def text(self, package: str) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        self.state_machine.insert_input(self.text(self.arguments[0]), f"{self.name} {self.arguments[0]}")
        return []


def member(home: str, name: str) -> list[str]:
    value = getattr(importlib.import_module(home), name)
    if isinstance(value, type):
        return [f".. autoclass:: {home}.{name}", "   :members:", "   :inherited-members: Exception, tuple, Struct", ""]
    if callable(value):
        return [f".. autofunction:: {home}.{name}", ""]
    return [f".. autodata:: {home}.{name}", "   :no-value:", ""]


class Door(Generated):
    """Every public name of a package; one that another door shows is left to it."""

    option_spec = {"without": str}

    def text(self, package: str) -> list[str]:
        home = importlib.import_module(package)
        without = (self.options.get("without") or "").split()
        lines = [f".. automodule:: {package}", ""]
        for name in names_of(home):
            value = getattr(home, name)
            shown = public().get(id(value), f"{package}.{name}")
            if name not in without and shown == f"{package}.{name}":
                lines += member(package, name)
        return lines


class Modules(Generated):
    """Every module of a package: what it says of itself, and what it has that no door shows."""

    def text(self, package: str) -> list[str]:
        lines = []
        for module in modules(package):
            names = own(module)
            package_itself = hasattr(importlib.import_module(module), "__path__")
            if module in DOORS or not (names or package_itself):
                continue  # a door says itself what it is
            title = module.removeprefix("dalembert.")
            lines += [title, "-" * len(title), "", f".. automodule:: {module}"]
            lines += [f"   :members: {', '.join(names)}"] if names else []
            # A function of a module's own name, such as control.compare, is the one that is linked to.
            lines += ["   :no-index:"] if module in set(public().values()) else []
            lines += [""]
        return lines


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    app.add_directive("door", Door)
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
