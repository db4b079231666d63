"""The site: every page has its place, every formula its function, and the whole builds without a warning."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("site")  # built once, by one worker of the tests
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path
    for pattern in ("*.md", "*.rst")
    for path in DOCS.rglob(pattern)
    if not path.relative_to(DOCS).parts[0].startswith("_")
}
FENCED = re.compile(r"^```\{(toctree|contents)\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^\.\. toctree::\n((?:[ ]+.*\n|\n)+)", re.MULTILINE)
FORMULA = re.compile(r"^```\{formula\} ([^\n]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Pages of the theory that are tables.
WITHOUT_FORMULAS = {"theory/index", "theory/coverage"}
# The ground of the lecture notes, a page each.
THEORY = {
    *("rotations", "kinematics", "velocity", "inverse_kinematics", "inertia", "lagrange", "dynamics", "properties"),
    *("task_space", "constraints", "actuation", "servo", "control", "identification", "descriptions"),
}


@pytest.fixture(scope="module", autouse=True)
def extensions():
    """The site's own extension, importable as Sphinx imports it."""
    sys.path.insert(0, str(DOCS / "_ext"))
    yield
    sys.path.remove(str(DOCS / "_ext"))


def entries(page: str) -> list[str]:
    """What the tables of contents of a page list, as names of pages; patterns are spelt out."""
    text = PAGES[page].read_text(encoding="utf-8")
    bodies = [body for _, body in FENCED.findall(text)] + INDENTED.findall(text)
    lines = [line.strip() for body in bodies for line in body.splitlines()]
    folder = Path(page).parent
    found = []
    for line in lines:
        if line and not line.startswith(":"):
            name = (folder / line).as_posix()
            found += [other for other in PAGES if fnmatch(other, name) and other != page] if "*" in line else [name]
    return found


def reached() -> set[str]:
    """Every page to which tables of contents lead from the first."""
    seen: set[str] = set()
    waiting = ["index"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page in PAGES:
            seen.add(page)
            waiting += entries(page)
    return seen


def test_every_page_is_in_a_table_of_contents():
    assert set(PAGES) - reached() == set(), "list these in docs/guide.md or where they belong"


def test_no_page_has_two_places():
    listed = [entry for page in PAGES for entry in entries(page)]
    assert sorted(set(listed)) == sorted(listed)


def test_what_a_plain_table_lists_exists():
    """`contents` may name pages that are not there; `toctree` may not."""
    for page, path in PAGES.items():
        for kind, body in FENCED.findall(path.read_text(encoding="utf-8")):
            for line in body.split():
                if kind == "toctree" and not line.startswith(":") and "*" not in line and not line.isdigit():
                    assert (Path(page).parent / line).as_posix() in PAGES, f"{page} lists {line}"


def test_the_numbered_examples_are_seven():
    names = sorted(path.name for path in (DOCS / "examples").glob("0*.md"))
    assert [name[:2] for name in names] == ["01", "02", "03", "04", "05", "06", "07"]


def test_the_ground_of_the_notes_is_walked():
    assert {f"theory/{name}" for name in THEORY} <= set(PAGES)


FORMULAS = [
    (page, names, latex)
    for page, path in sorted(PAGES.items())
    for names, latex in FORMULA.findall(path.read_text(encoding="utf-8"))
]


def test_pages_of_the_theory_have_formulas():
    with_formulas = {page for page, _, _ in FORMULAS}
    theory = {page for page in PAGES if page.startswith("theory/")}
    assert theory - with_formulas == WITHOUT_FORMULAS
    assert len(FORMULAS) > 80


def test_every_formula_is_computed_by_something_and_can_be_drawn():
    from dalembert_site.mathml import converter
    from dalembert_site.names import documented

    for page, names, latex in FORMULAS:
        for name in names.split(","):
            assert documented(name.strip()).startswith("dalembert."), f"{page}: {name}"
        drawn = converter().convert_with_local_state(latex.strip(), displaystyle=True)
        assert drawn.startswith("<math") and "merror" not in drawn, f"{page}: {latex}"


def test_a_wrong_name_and_a_wrong_formula_are_noticed():
    from dalembert_site.mathml import converter
    from dalembert_site.names import documented
    from math_core import LatexError

    with pytest.raises(AttributeError):
        documented("Robot.mass_matirx")
    with pytest.raises(LatexError):
        converter().convert_with_local_state(r"\frac{1}", displaystyle=True)


def test_names_are_found_where_the_reference_has_them():
    from dalembert_site.names import documented

    assert documented("Robot.fk") == documented("dalembert.robot.Robot.fk") == "dalembert.Robot.fk"
    assert documented("dl.control.PD") == documented("control.joint_space.PD") == "dalembert.control.PD"
    assert documented("algorithms.composite.mass_matrix") == "dalembert.algorithms.composite.mass_matrix"


def test_docstrings_become_restructured_text():
    from dalembert_site.api import restructured

    made = "\n".join(restructured(["M `x_*` of q_.", "", "    K = |v|", "", "- one", "- *two*"]))
    assert "\\ ``x_*``\\ " in made and r"of q\_" in made and "::\n\n        K = |v|" in made and r"- \*two\*" in made


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The whole site, as `make docs` builds it: about a minute."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'dalembert[docs]'")
    pytest.importorskip("gymnasium", reason="the reference documents environments, which need the extra gym")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", str(DOCS), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    assert run.returncode == 0, run.stderr[-4000:]
    return out


@pytest.mark.long
def test_the_site_builds_without_a_warning(site):
    assert (site / "index.html").is_file() and (site / "search.html").is_file()
    assert {page for page in PAGES if not (site / f"{page}.html").is_file()} == set()


@pytest.mark.long
def test_nothing_is_fetched_by_a_reader(site):
    """No script, style, font or picture from elsewhere; links that a reader may follow are another matter."""
    sources = r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//"
    styles = r"<link[^>]+rel=\"(?:stylesheet|preload)\"[^>]+href=\"(?:https?:)?//"
    fetched = re.compile(f"{sources}|{styles}")
    for page in site.rglob("*.html"):
        found = fetched.search(page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found and found[0]}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


@pytest.mark.long
def test_formulas_are_mathml_that_leads_to_the_reference(site):
    text = (site / "theory" / "dynamics.html").read_text(encoding="utf-8")
    assert text.count("<math") == sum(page == "theory/dynamics" for page, _, _ in FORMULAS) >= 8
    assert 'href="../api/robot.html#dalembert.Robot.mass_matrix"' in text
    assert 'id="dalembert.Robot.mass_matrix"' in (site / "api" / "robot.html").read_text(encoding="utf-8")
