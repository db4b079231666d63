"""What all pages share: a table of contents of the pages there are, and links from names and source files to the
reference."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.other import TocTree
from sphinx.transforms import SphinxTransform

from dalembert_site.formulas import link

NAME = re.compile(r"(?:dl|dalembert|Robot|LagrangianSystem|Constrained)(?:\.\w+)+")
SOURCE = re.compile(r"(?:\.\./)+src/(dalembert(?:/\w+)*)\.py$")


# J_vi, Γ_ijk, z_{i−1}: one letter, dotted or not, and what stands below it.
SUBSCRIPT = re.compile(
    r"(?<![A-Za-z0-9_])([^\W\d_][\u0300-\u036f]*)_(?:\{([^{}]+)\}|([A-Za-z0-9Α-ω]{1,6}))(?![A-Za-z0-9_])"
)
PROSE = (nodes.paragraph, nodes.entry, nodes.term, nodes.emphasis, nodes.strong, nodes.reference, nodes.list_item)


class Contents(TocTree):
    """A toctree of those of its pages that exist."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # a page may have come since
        there = [entry for entry in self.content if entry in self.env.found_docs]
        self.content = StringList(there, source=self.env.docname)
        return super().run()


class Links(SphinxTransform):
    """`Robot.fk` in prose leads to the reference, and so does a link to a source file."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            name = NAME.match(literal.astext())
            whole = name and re.fullmatch(r"(\(.*\))?", literal.astext()[name.end() :])
            if whole and not isinstance(literal.parent, (nodes.reference, addnodes.pending_xref, nodes.title)):
                self.linked(literal, name[0])
        for file in list(self.document.findall(addnodes.download_reference)):
            module = SOURCE.search(file["reftarget"])
            if module:
                dotted = module[1].replace("/", ".").removesuffix(".__init__")
                file.replace_self(link(dotted, self.env.docname, file.astext()))

    def linked(self, literal: nodes.literal, path: str) -> None:
        try:
            made = link(path, self.env.docname, literal.astext())
        except AttributeError:
            return  # dl.load's result, a file: not every dotted word is a name of ours
        made["refwarn"] = False
        literal.replace_self(made)


class Subscripts(SphinxTransform):
    """M_ij in prose, which is plain text in the sources, with its indices below."""

    default_priority = 410

    def apply(self, **kwargs: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, PROSE) and SUBSCRIPT.search(text.astext()):
                text.parent.replace(text, self.lowered(text.astext()))

    def lowered(self, text: str) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        done = 0
        for found in SUBSCRIPT.finditer(text):
            below = found[2] or found[3]
            made += [nodes.Text(text[done : found.end(1)]), nodes.subscript("", below)]
            done = found.end()
        return [*made, nodes.Text(text[done:])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("contents", Contents, override=True)
    app.add_transform(Links)
    app.add_transform(Subscripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
