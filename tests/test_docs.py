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
import textwrap
import tokenize
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from dalembert.caching import cached_property

ROOT = Path(__file__).parent.parent
COVERAGE = ROOT / "docs" / "theory" / "coverage.md"
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
COUNT = 79  # rows of the coverage table
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


# ------------------------------------------------------------------------------------------- coverage table
def test_the_table_is_whole():
    """Each row names a function, a test and a page; none is left for later, none has been dropped."""
    identifiers = [row[0] for row in rows()]
    assert len(identifiers) >= COUNT
    assert len(set(identifiers)) == len(identifiers), "an identifier appears twice"
    for row in rows():
        assert len(row) == 6, row
        assert row[1] and row[2], row
        assert named(row[3]) and named(row[4]) and row[5], f"{row[0]} lacks a function, a test or a page"


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


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
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


def test_a_name_that_is_not_there_is_noticed():
    with pytest.raises(AttributeError):
        resolve("dalembert.robot.Robot.jacobain")
    with pytest.raises(ModuleNotFoundError):
        resolve("nothing.of.ours")


# --------------------------------------------------------------------------------------------- pages
NODE = shutil.which("node")  # runs the blocks in JavaScript, where there is one
FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)  # indented in lists


def blocks(page: Path) -> list[tuple[int, str, str | None]]:
    """(line, source, what it prints) of the Python blocks of a page that run; `python no-run` marks one that does not.
    What a block prints is compared where the page shows it, in a block `text output` after it."""
    text = page.read_text(encoding="utf-8")
    found: list[tuple[int, str, str | None]] = []
    prints = -1  # the end of a block that prints
    for match in FENCE.finditer(text):
        follows = prints >= 0 and not text[prints : match.start()].strip()
        assert not (follows and match[1].strip() == "text"), f"an output that no test compares in {page}: {match[2]}"
        prints = match.end() if match[1].strip() == "python" and "print(" in match[2] else -1
        if match[1].strip() == "python":
            found.append((text.count("\n", 0, match.start()) + 1, textwrap.dedent(match[2]), None))
        elif match[1].strip() == "text output":
            assert found[-1][2] is None, f"two outputs of one block in {page}"
            found[-1] = (*found[-1][:2], match[2])
        else:
            # {formula}, {toctree} and their like are the site's (tests/test_site.py)
            known = ("", "sh", "toml", "text", "python no-run", "console", "xml", "js", "c")
            assert match[1].strip() in known or match[1].startswith("{"), match[1]
    return found


def checks(page: Path) -> bool:
    """Whether a result of the examples is compared: by `assert`, with a block of output, or as `print(…)  # result`."""
    return any(
        shown is not None or re.search(r"^\s*assert |print\(.*\)  # ", source, re.MULTILINE)
        for _, source, shown in blocks(page)
    )


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p) and p.parent.name != "cookbook"], ids=name_of)
def test_every_example_runs(page, tmp_path, monkeypatch):
    """One namespace for a page's blocks, in order, in a folder of its own. The programs of docs/cookbook run alone, in
    test_cookbook.py."""
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
    """Whether this is what a page shows; `…` stands for anything, blank space for any blank space. ẋ is one letter or
    two."""
    said, shown = (unicodedata.normalize("NFC", x) for x in (said, shown))
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


def test_every_page_with_examples_compares_a_result():
    """The examples of coming_from.md are its tables: tests/test_coming_from.py."""
    assert [name_of(page) for page in PAGES if blocks(page) and not checks(page)] == ["docs/coming_from.md"]


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


@cache
def text_of(page: Path) -> str:
    """A page without its blocks."""
    return re.sub(FENCE, "", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """The targets of a page that are files or headings here."""
    return [x for x in re.findall(r"\]\(([^)\s]+)\)", text_of(page)) if not re.match(r"[a-z]+:", x)]


@cache
def anchors(page: Path) -> set[str]:
    """Return the fragments of a page: its headings, as GitHub and as docutils spell them, and its labels."""
    text = text_of(page)
    found = set(re.findall(r"^\((.+)\)=$", text, re.MULTILINE))
    for heading in re.findall(r"^#{1,4} +(.*)", text, re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "]", heading).lower()
        plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
        found |= {re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-"), re.sub("[^a-z0-9]+", "-", plain).strip("-")}
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if links(page)], ids=name_of)
def test_links_lead_somewhere(page):
    for target in links(page):
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{name_of(page)} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{name_of(page)} links to {target}"


@cache
def identifiers() -> set[str]:
    """Every word of the library's own source."""
    return {word for file in (ROOT / "src").rglob("*.py") for word in WORD.findall(file.read_text(encoding="utf-8"))}


WORD = re.compile(r"\w+")
NAME = re.compile(r"(?<![\w/.-])([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)(?=\(|$)")
FILES = (".py", ".md", ".cff", ".specs", ".toml")
# The names in these pages' tables are those of tests, of other libraries and of other versions: test_coming_from.py,
# test_cookbook.py, test_vocabulary.py, notes/test_page.py and `test_what_a_row_names_exists` check them.
ELSEWHERE = {"docs/coming_from.md", "docs/migration.md", "docs/theory/coverage.md", "docs/cookbook/index.md"}
ELSEWHERE |= {name_of(page) for page in PAGES if page.parent.name == "notes"}
# Names of columns, coordinates, files and other libraries that are neither in the source nor in a block of the page.
FOREIGN = {
    "docs/check.md": {"alex_psyonic_hands", "romeo_laas_small"},
    "docs/comparison.md": {"ik_LM"},
    "docs/floating.md": {"root_qx"},
    "docs/howto/predictive-control-in-c.md": {"reach_rest"},
    "docs/identification.md": {"actual_current_0", "position_joint3", "target_moment_0", "tau_ext_hat_filtered"},
    "docs/interchange.md": {"f.generate"},
    "docs/notation.md": {"xfrc_applied"},
    "docs/robot_files.md": {"joint_first", "joint_qx", "joint_second", "joint_slide", "joint_turn", "joint_x"},
}


@cache
def names_in_prose(page: Path) -> list[str]:
    """What a page writes as `name(…)`, `dotted.name` or `snake_case`."""
    codes = re.findall(r"`([^`\n]+)`", text_of(page))
    found = [name for code in codes for name in NAME.findall(code) if "(" in code or re.search(r"[._]", name)]
    return [] if name_of(page) in ELSEWHERE else [name for name in found if not name.endswith(FILES)]


@pytest.mark.parametrize("page", [page for page in PAGES if names_in_prose(page)], ids=name_of)
def test_names_in_prose_exist(page):
    own = {word for match in FENCE.finditer(page.read_text(encoding="utf-8")) for word in WORD.findall(match[2])}
    own |= FOREIGN.get(name_of(page), set())
    for name in names_in_prose(page):
        if re.match(r"(dalembert|dl|Robot)\.", name):
            resolve(re.sub(r"^dl\.", "dalembert.", re.sub(r"^Robot\.", "dalembert.Robot.", name)))
        elif name not in own:
            assert set(name.split(".")) <= identifiers() | own, f"{name_of(page)} names {name}"


def test_a_name_that_does_not_exist_is_noticed():
    assert "read_log" in identifiers() and "read_logg" not in identifiers()
    assert NAME.findall("read_log(path)") == NAME.findall("read_log") == ["read_log"]
    assert "twists-and-wrenches-linear-first" in anchors(ROOT / "docs" / "notation.md")
