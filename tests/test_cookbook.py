"""The programs of docs/cookbook: whole, short, and printing what their pages show."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from cookbook import MAX_LINES, PAGES, PICTURES, Program, read_programs, run_program

from test_docs import printed

PROGRAMS = {program.slug: program for program in read_programs()}
LONG = {"run-a-batch-on-dask"}


def read_waiting() -> dict[str, str]:
    """Return the programs that wait for a name, and that name, from the table of the index."""
    text = (PAGES / "index.md").read_text(encoding="utf-8").partition("## Waiting")[2]
    return dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE))


WAITING = read_waiting()
CASES = [
    pytest.param(program, id=slug, marks=[pytest.mark.long] * (slug in LONG)) for slug, program in PROGRAMS.items()
]


@pytest.fixture(autouse=True)
def _folder_and_backend(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")


def runs(program: Program) -> bool:
    """Return whether a program ends without an error and prints what its page shows, if it shows anything."""
    try:
        output, _ = run_program(program)
    except Exception:
        return False
    return program.output is None or printed(output, program.output)


@pytest.mark.parametrize("program", CASES)
def test_a_program_prints_what_its_page_shows(program: Program):
    """A program in the table of those that wait fails; once it runs, it has to leave the table."""
    if program.slug in WAITING:
        assert not runs(program), f"remove {program.slug} from the table in docs/cookbook/index.md"
        return
    output, _ = run_program(program)
    assert program.output is not None, f"run tools/cookbook.py --write {program.slug}"
    assert printed(output, program.output), f"{program.page.name}: {program.title} prints\n{output}"
    for name in program.pictures:
        assert Path(name).exists() and (PICTURES / name).exists(), name


def test_there_are_programs_and_no_two_have_one_name():
    programs = read_programs()
    assert len(programs) == len(PROGRAMS) >= 40
    assert WAITING.keys() <= PROGRAMS.keys()


def test_every_block_is_a_program():
    blocks = sum(page.read_text(encoding="utf-8").count("```python\n") for page in PAGES.glob("*.md"))
    assert blocks == len(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_is_whole_and_short(program: Program):
    tree = ast.parse(program.source)
    assert program.lines <= MAX_LINES
    assert max(map(len, program.source.splitlines())) <= 120
    assert (
        any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
        or ".table()" in program.source
    )
    private = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")]
    assert not private


def test_the_table_of_other_libraries_is_current(monkeypatch):
    monkeypatch.syspath_prepend(PAGES.parents[1] / "benchmarks")
    import compare_libraries as library

    assert library.write_table() in (PAGES / "peers.md").read_text(encoding="utf-8"), "run it with --table"
    peers = library.read_peers()
    assert len(peers) >= 20 and all(peer.pairs and peer.tolerance and peer.library for peer in peers)
    assert {peer.slug for peer in peers} <= PROGRAMS.keys()
    source = "import numpy as np\nimport pinocchio as pin\npin.rnea(np.zeros(3)).round(2).fk(rows=[1])"
    assert library.library_identifiers(source) == {"pinocchio", "rnea", "fk", "rows"}
