"""The documentation holds: what it names exists, what it shows runs."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import re
import shutil
import subprocess
import tokenize
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dalembert.caching import cached_property

ROOT = Path(__file__).parent.parent
COVERAGE = ROOT / "docs" / "theory" / "coverage.md"
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
IDENTIFIER = re.compile(r"\d{3}(\.\d+[a-z]?)*")


def cells(line: str) -> list[str]:
    """The cells of a table's row; a bar inside |s₂| is not one that has spaces on both sides."""
    return [cell.strip() for cell in re.split(r"(?<=\s)\|(?=\s)", f" {line.strip().strip('|')} ")]


@cache
def rows() -> list[list[str]]:
    """(id, item, part, function, test, page) of every row of the coverage table."""
    lines = COVERAGE.read_text(encoding="utf-8").splitlines()
    found = [cells(line) for line in lines if line.startswith("|")]
    return [row for row in found if IDENTIFIER.fullmatch(row[0])]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def is_open(row: list[str]) -> bool:
    return "open" in row[3]


# ------------------------------------------------------------------------------------------- coverage table
def test_the_table_is_whole():
    identifiers = [row[0] for row in rows()]
    assert len(identifiers) > 70
    assert len(set(identifiers)) == len(identifiers), "an identifier appears twice"
    for row in rows():
        assert len(row) == 6, row
        assert row[1] and row[2], row
        assert named(row[3]) or row[3] == "open", f"{row[0]} names no function and is not open"


def test_the_rows_of_the_core_are_closed():
    core = [row for row in rows() if "core" in row[2].split(", ")]
    assert len(core) >= 20
    for row in core:
        assert named(row[3]) and named(row[4]) and row[5], f"{row[0]} lacks a function, a test or a page"
        waiting = set(re.findall(r"open: (\w+)", row[3]))
        assert waiting <= set(row[2].split(", ")) - {"core"}, f"{row[0]} waits for a part that is not its own"


def test_the_identifiers_are_those_of_the_list_shared_by_all_parts():
    shared = ROOT.parent / "shared" / "coverage.md"
    if not shared.exists():
        pytest.skip("the list shared by all parts is not beside this repository; identifiers are not compared")
    listed = [cells(line) for line in shared.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    wanted = {row[0]: row[2] for row in listed if IDENTIFIER.fullmatch(row[0]) and row[2]}
    assert len(wanted) > 70
    ours = {row[0]: row[2] for row in rows()}
    assert set(wanted) - set(ours) == set(), "rows are never dropped"
    assert {i: ours[i] for i in wanted} == wanted


def resolve(path: str) -> object:
    """The object of a dotted path: the longest module, then attributes."""
    parts = path.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for name in parts[k:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@cache
def defined_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", [row for row in rows() if row[3] != "open"], ids=lambda row: row[0])
def test_what_a_row_names_exists(row):
    for function in named(row[3]):
        found = resolve(function)
        assert callable(found) or isinstance(found, (property, cached_property)), function
    for test in named(row[4]):
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), test
        assert name.startswith("test_") and name in defined_in(ROOT / file), test
    for page in re.findall(r"\]\(([^)]+)\)", row[5]):
        assert (COVERAGE.parent / page.split("#")[0]).is_file(), page


def test_count_of_open_rows(record_property):
    waiting = [row[0] for row in rows() if is_open(row)]
    record_property("open_rows", len(waiting))
    print(f"\n{len(waiting)} of {len(rows())} rows are open: {', '.join(waiting)}")
    assert set(waiting) <= {row[0] for row in rows() if row[2] != "core"}, "a row of the core is open"


def test_a_name_that_is_not_there_is_noticed():
    with pytest.raises(AttributeError):
        resolve("dalembert.robot.Robot.jacobain")
    with pytest.raises(ModuleNotFoundError):
        resolve("nothing.of.ours")


# --------------------------------------------------------------------------------------------- pages
NODE = shutil.which("node")  # runs the blocks in JavaScript, where there is one
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str, str | None]]:
    """(line, source, what it prints) of the Python blocks of a page that run; `python no-run` marks one that does not.
    What a block prints is compared where the page shows it, in a block `text output` after it."""
    text = page.read_text(encoding="utf-8")
    found: list[tuple[int, str, str | None]] = []
    for match in FENCE.finditer(text):
        if match[1].strip() == "python":
            found.append((text.count("\n", 0, match.start()) + 1, match[2], None))
        elif match[1].strip() == "text output":
            assert found[-1][2] is None, f"two outputs of one block in {page}"
            found[-1] = (*found[-1][:2], match[2])
        else:
            # {formula}, {toctree} and their like are the site's (tests/test_site.py)
            known = ("", "sh", "toml", "text", "python no-run", "console", "xml", "js")
            assert match[1].strip() in known or match[1].startswith("{"), match[1]
    return found


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_every_example_runs(page, tmp_path, monkeypatch):
    """One namespace for a page's blocks, in order, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, source, shown in blocks(page):
        said = execute("\n" * line + source, page, namespace)  # a traceback shows the page's line
        if shown is not None:
            assert printed(said, shown), f"{name_of(page)}:{line} prints\n{said}"
    for k, match in enumerate(FENCE.finditer(page.read_text(encoding="utf-8"))):
        if match[1].strip() == "js" and NODE:
            (tmp_path / f"block{k}.mjs").write_text(match[2], encoding="utf-8")
            done = subprocess.run([NODE, f"block{k}.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, f"{name_of(page)}: {done.stderr}"


def execute(source: str, page: Path, namespace: dict[str, object]) -> str:
    """Run a block and return what it prints. A comment behind `print(…)` is the output of that statement."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    whole = ""
    for statement in ast.parse(source, str(page)).body:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        ends = {call.end_lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"}
        for line in sorted(ends & comments.keys()):
            shown = f"{name_of(page)}:{line} prints\n{said.getvalue()}"
            assert printed(said.getvalue(), comments[line]), shown
        whole += said.getvalue()
    return whole


def printed(said: str, shown: str) -> bool:
    """Whether this is what a page shows; `…` stands for anything, blank space for any blank space."""
    pattern = r"\s+".join(re.escape(word).replace("…", ".*?") for word in shown.split())
    return re.fullmatch(pattern, " ".join(said.split()), re.DOTALL) is not None


def test_another_output_is_noticed():
    assert printed("a = 1\n\nb  = 2.34e-16\n", "a = 1\nb = …\n") and not printed("a = 1, b = 2", "a = 1")
    assert not printed("M11 = a", "M12 = a")
    page, block = ROOT / "README.md", "for k in range(2):\n    print(k)  # {}\nprint(3)"
    assert execute(block.format("0 …"), page, {}) == "0\n1\n3\n"
    for wrong in ("0", "0 2", "the first two numbers"):
        with pytest.raises(AssertionError, match="README.md:2 prints"):
            execute(block.format(wrong), page, {})


def test_the_example_of_the_package_prints_what_it_says():
    import dalembert

    assert doctest.testmod(dalembert) == (0, 3)


def test_pages_with_examples_are_found():
    with_examples = {name_of(page) for page in PAGES if blocks(page)}
    theory = ("kinematics", "inertia", "dynamics", "descriptions")
    assert {"docs/notation.md", *(f"docs/theory/{name}.md" for name in theory)} <= with_examples


def test_every_key_of_a_robot_file_is_on_its_page():
    from dalembert.describe import toml_schema

    text = re.sub(FENCE, "", (ROOT / "docs" / "robot_files.md").read_text(encoding="utf-8"))
    shown = {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
    tables = [t for t in vars(toml_schema).values() if isinstance(t, type) and issubclass(t, toml_schema.Strict)]
    keys = {key.removesuffix("_deg") for table in tables for key in table.__struct_encode_fields__}
    assert len(keys) > 50 and keys - shown == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_functions_named_in_prose_exist(page):
    """`Robot.fk` and its like, in backticks."""
    import dalembert as dl

    text = re.sub(FENCE, "", page.read_text(encoding="utf-8"))
    for name in re.findall(r"`Robot\.(\w+)", text):
        assert hasattr(dl.Robot, name), f"{name_of(page)} names Robot.{name}"


# ------------------------------------------------------------------------------- names of other libraries and ours
COMING = ROOT / "docs" / "coming_from.md"


def equivalents() -> list[list[str]]:
    lines = COMING.read_text(encoding="utf-8").splitlines()
    return [row for row in map(cells, (x for x in lines if x.startswith("| `"))) if len(row) >= 2]


@cache
def newcomer() -> dict[str, object]:
    """What the page's own first block defines."""
    block = re.search(r"```python\n(.*?)```", COMING.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    names: dict[str, object] = {}
    exec(block[1], names)
    return names


@pytest.mark.parametrize("row", equivalents(), ids=lambda row: row[0].split("`")[1])
def test_what_stands_for_a_name_of_another_library_runs(row):
    """Every expression of the middle column gives something that is finite."""
    (expression,) = named(row[1])
    assert flat_finite(eval(expression, dict(newcomer()))), expression


def flat_finite(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(flat_finite(x) for x in value)
    return bool(np.isfinite(value).all()) if isinstance(value, np.ndarray) else value is not None


def test_names_of_pinocchio_exist():
    pinocchio = pytest.importorskip("pinocchio")
    text = COMING.read_text(encoding="utf-8").split("## Pinocchio")[1]
    rows = [cells(line) for line in text.splitlines() if line.startswith("| `")]
    theirs = [re.sub(r"\(.*", "", name) for row in rows for name in named(row[0])]
    assert len(theirs) > 30
    for name in theirs:
        owner, _, attribute = name.partition(".")
        assert hasattr(getattr(pinocchio, owner), attribute) if attribute else hasattr(pinocchio, owner), name
