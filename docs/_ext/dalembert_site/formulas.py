"""The `formula` directive: a displayed formula, and under it the functions that compute it.

```{formula} Robot.mass_matrix, algorithms.composite.mass_matrix
M = \\sum_i J_i^T G_i J_i
```
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dalembert_site.names import documented


def link(path: str, docname: str, shown: str | None = None) -> addnodes.pending_xref:
    """A link into the reference; one that leads nowhere is a warning."""
    target = documented(path)
    literal = nodes.literal("", shown or path, classes=["xref", "py"])
    return addnodes.pending_xref(
        "", literal, refdomain="py", reftype="obj", reftarget=target, refdoc=docname, refexplicit=True, refwarn=True
    )


class Formula(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        latex = "\n".join(self.content)
        block = nodes.math_block(latex, latex, number=None, label=None, nowrap=False, docname=self.env.docname)
        self.set_source_info(block)
        line = nodes.paragraph(classes=["computed-by"])
        for k, path in enumerate(self.arguments[0].replace("\n", " ").split(",")):
            line += nodes.Text(" · " if k else "")
            try:
                line += link(path.strip(), self.env.docname)
            except AttributeError:
                raise self.error(f"nothing of Dalembert is called {path.strip()!r}") from None
        self.set_source_info(line)
        return [nodes.container("", block, line, classes=["formula"])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("formula", Formula)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
