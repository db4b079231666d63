"""The `live` directive: a robot that a reader moves, in a frame; `gallery`: the live pages of all bundled robots.

```{live} planar-2r
:controllers: pd, pd-gravity
:panels: controller, plots
:q: 0.8, -1.2
:height: 420

What to try, in a sentence.
```

Its options are those of `dalembert page`. Pages are written into the folder `live` of the site when it has been built,
and kept as long as neither their options nor the library change.
"""

from __future__ import annotations

import hashlib
import html
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.display import status_iterator
from sphinx.util.docutils import SphinxDirective

import dalembert as dl

HEIGHT = 460  # px, until a frame says how high it is
FOLDER = "live"


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


# Options of a frame: how each is read.
OPTIONS = {
    "controllers": words,
    "panels": words,
    "q": numbers,
    "motion": lambda text: [numbers(row) for row in text.split(";")],
    "run": directives.flag,
}


def read_options(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `write_page` that the options of a directive mean; without `run` it waits for its reader."""
    return {**{name: value for name, value in given.items() if name in OPTIONS}, "run": "run" in given, "embed": True}


def file_of(robot: str, options: dict[str, Any]) -> str:
    digest = hashlib.sha256(repr((robot, sorted(options.items()))).encode()).hexdigest()[:8]
    return f"{robot}-{digest}.html" if options else f"{robot}.html"


def write(robot: str, options: dict[str, Any], place: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)  # published tables are as they are
        dl.write_page(dl.load(robot), place, **options)


def request(directive: SphinxDirective, robot: str, options: dict[str, Any]) -> str:
    """Note that a page is wanted; where it will be, seen from the page that the directive stands on."""
    if robot not in dl.robots.names():
        raise directive.error(f"no bundled robot is called {robot!r}")
    name, env = file_of(robot, options), directive.env
    wanted: dict[str, dict[str, Any]] = env.__dict__.setdefault("live_pages", {})
    wanted.setdefault(env.docname, {})[name] = (robot, options)
    return "../" * env.docname.count("/") + f"{FOLDER}/{name}"


class Live(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec = {**OPTIONS, "height": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        robot = self.arguments[0]
        source = request(self, robot, read_options(self.options))
        height, title = self.options.get("height", HEIGHT), html.escape(f"{robot}, to be moved")
        frame = (
            f'<iframe class="live" src="{source}" loading="lazy" title="{title}" style="height: {height}px"></iframe>'
        )
        caption = nodes.container(classes=["live-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        whole = f'<a class="live-whole" href="{source}" target="_blank">Open on a page of its own</a>'
        parts = [nodes.raw("", frame, format="html"), caption, nodes.raw("", whole, format="html")]
        return [nodes.container("", *parts, classes=["live"])]


class Gallery(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        listed = nodes.bullet_list(classes=["gallery"])
        for name in dl.robots.names():
            link = f'<a href="{request(self, name, {})}">{html.escape(name)}</a>'
            listed += nodes.list_item("", nodes.raw("", link, format="html"))
        return [listed]


def forget(app: Sphinx, env: Any, docname: str) -> None:
    env.__dict__.get("live_pages", {}).pop(docname, None)


def merge(app: Sphinx, env: Any, docnames: set[str], other: Any) -> None:
    found = other.__dict__.get("live_pages", {})
    env.__dict__.setdefault("live_pages", {}).update({name: found[name] for name in docnames if name in found})


def write_all(app: Sphinx, error: Exception | None) -> None:
    """Write the pages that are not there as they should be, and remove those that nobody wants."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = {file: what for page in app.env.__dict__.get("live_pages", {}).values() for file, what in page.items()}
    source, stamp = Path(dl.__file__).parent, folder / ".made-of"
    files = sorted(path for kind in ("py", "js", "css", "toml", "urdf") for path in source.rglob(f"*.{kind}"))
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    known = stamp.read_text() == made_of if stamp.exists() else False
    for path in folder.glob("*.html"):
        if not known or path.name not in wanted:
            path.unlink()
    missing = [file for file in wanted if not (folder / file).exists()]
    for file in status_iterator(missing, "writing live pages... ", "brown", len(missing), app.verbosity):
        write(*wanted[file], folder / file)
    stamp.write_text(made_of)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("live", Live)
    app.add_directive("gallery", Gallery)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
