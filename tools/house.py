"""Measure the house: what `src` costs to read and to change, row by row, beside what is wanted.

python tools/house.py            the table; exit code 1 if a row misses its limit
python tools/house.py FOLDER     lines of code and docstrings and modules of one folder
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "dalembert"
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
KINDS = {"revolute", "prismatic", "continuous", "helical"}
SYSTEMS = {"Robot", "Constrained", "LagrangianSystem", "DrivenRobot", "FlexibleRobot"}
READERS = ("joints", "describe", "interchange", "trust/verify/reread")  # where kinds of joints are words in a file
PUBLIC = {"apps", "constrained", "control", "draw", "identification", "interchange", "robots", "simulation"}
PUBLIC |= {"actuation", "bounds", "compile", "friction", "kinematics", "lagrange", "spatial", "trajectories"}
PUBLIC |= {"collision", "exercises", "firmware", "optimal", "planning", "scalar"}


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


def count_folder(folder: Path) -> tuple[int, int, int]:
    """(lines of code, lines of docstrings, modules) of a folder; the stubs of its doors are code too."""
    files = list(folder.rglob("*.py"))
    counts = [count_lines(file.read_text(encoding="utf-8")) for file in [*files, *folder.rglob("*.pyi")]]
    return sum(code for code, _ in counts), sum(text for _, text in counts), len(files)


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Every module of src by its path, parsed."""
    files = sorted(SRC.rglob("*.py"))
    return [(file.relative_to(SRC).as_posix(), ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def modules_where(holds: Callable[[ast.AST], bool], *, outside: tuple[str, ...] = ()) -> list[str]:
    """Modules in which some node of the syntax tree is such."""
    return [
        name for name, tree in modules() if not name.startswith(outside or ("\0",)) and any(map(holds, ast.walk(tree)))
    ]


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def words_in(node: ast.AST) -> set[object]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}


def compares_kinds(node: ast.AST) -> bool:
    """`x.kind == "revolute"`, `kind in ("revolute", …)`, or a table by kind that does the same."""
    if isinstance(node, ast.Compare):
        return bool(KINDS & {w for w in words_in(node) if isinstance(w, str)})
    return isinstance(node, ast.Dict) and bool(KINDS & {k.value for k in node.keys if isinstance(k, ast.Constant)})


def asks_for_systems(node: ast.AST) -> bool:
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    return call and bool(SYSTEMS & names_in(node.args[1]))


def checks_arrays(node: ast.AST) -> bool:
    """A function that makes an array of what it is given, looks whether it is finite, and refuses it."""
    if not isinstance(node, ast.FunctionDef):
        return False
    if not any(isinstance(n, ast.Raise) and n.exc and "InputError" in names_in(n.exc) for n in ast.walk(node)):
        return False
    finite = [n for n in ast.walk(node) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("isfinite")]
    arrays = {
        name.id
        for n in ast.walk(node)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and isinstance(n.value.func, ast.Attribute)
        if n.value.func.attr in ("asarray", "array", "astype")
        for name in n.targets
        if isinstance(name, ast.Name)
    }
    return any(arrays & names_in(n) for n in finite)


def swallows(node: ast.AST) -> bool:
    """`except Exception` (or a bare one) whose body does nothing."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    wide = node.type is None or bool({"Exception", "BaseException"} & names_in(node.type))
    return wide and all(isinstance(n, (ast.Pass, ast.Continue)) for n in node.body)


def classes(name: str) -> list[str]:
    return modules_where(lambda node: isinstance(node, ast.ClassDef) and node.name == name)


def places_that_list_controllers() -> list[str]:
    """Modules with eight and more controllers, by name or as words, in one literal."""
    trees = dict(modules())
    control = [tree for name, tree in trees.items() if name.startswith("control/")]
    found = [node for tree in control for node in tree.body if isinstance(node, ast.ClassDef)]
    known = {node.name for node in found if any("Controller" in names_in(base) for base in node.bases)}
    literals = (ast.Dict, ast.Tuple, ast.List)
    return [
        name
        for name, tree in trees.items()
        if any(isinstance(n, literals) and len(known & (names_in(n) | words_in(n))) >= 8 for n in ast.walk(tree))
    ]


def parameters_of(module: str, function: str) -> int:
    tree = ast.parse((SRC / module).read_text(encoding="utf-8"))
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function)
    return len([*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs])


def deep_imports() -> list[str]:
    """Imports in the code blocks of docs and README that go past the front door and the public packages."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = []
    for page in pages:
        if "_build" in page.parts or "decisions" in page.parts:
            continue
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"\s*(?:>>> )?(?:from|import) dalembert\.([\w.]+)", line)
            if match and (len(match[1].split(".")) > 1 or match[1] not in PUBLIC):
                found.append(f"{page.relative_to(ROOT)}: {line.strip()}")
    return found


def ruff(*arguments: str) -> int:
    """How many lines ruff prints, one for each place."""
    program = Path(sys.executable).parent / "ruff"
    printed = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return sum(1 for line in printed.splitlines() if line.startswith("Would reformat") or re.search(r":\d+:\d+:", line))


def measure() -> list[tuple[str, int, int, list[str]]]:
    """Rows of the table: what, how many, how many at most, where."""
    code, text, count = count_folder(SRC)
    kinds = modules_where(compares_kinds, outside=READERS)
    systems = modules_where(asks_for_systems)
    arrays = modules_where(checks_arrays, outside=("arguments.py",))
    tables = [name for name in classes("Row") if name.endswith("kernels.py")]
    findings = [*classes("Finding"), *classes("Mechanism")]
    controllers = places_that_list_controllers()
    swallowed = modules_where(swallows)
    docs = deep_imports()
    skips = [f.as_posix() for f in SRC.rglob("*.py") if re.search(r"# fmt: *(skip|off)", f.read_text(encoding="utf-8"))]
    return [
        ("lines of code in src", code, 48_000, []),
        ("modules in src", count, 400, []),
        ("lines of code for one line of docstring, in tenths", round(10 * code / text), 79, []),
        ("modules that compare a joint's kind", len(kinds), 0, kinds),
        ("parameters of simulate", parameters_of("simulation/simulate.py", "simulate"), 15, []),
        ("modules that check arrays besides arguments.py", len(arrays), 0, arrays),
        ("tables of kernels besides KernelTable", len(tables), 0, tables),
        ("modules that ask what kind of system they were given", len(systems), 5, systems),
        ("classes Finding and Mechanism (one of each, and the independent one)", len(findings), 3, findings),
        ("places that list controllers", len(controllers), 1, controllers),
        (
            "Any in annotations (ruff ANN401)",
            ruff("check", "--select=ANN401", "--output-format=concise", "src"),
            300,
            [],
        ),
        ("except Exception: pass", len(swallowed), 0, swallowed),
        ("deep imports in the docs", len(docs), 0, docs),
        (
            "files that fail ruff format",
            ruff("format", "--check", "src", "tests", "benchmarks", "fuzz", "docs", "tools"),
            0,
            [],
        ),
        ("files with fmt: skip", len(skips), 0, skips),
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("{} code, {} docstrings, {} modules".format(*count_folder(Path(sys.argv[1]))))
        sys.exit()
    missed = 0
    for what, found, limit, where in measure():
        missed += found > limit
        print(f"{what:72}{found:7} of at most {limit}" + ("" if found <= limit else "  missed"))
        if found > limit and where:
            print("    " + ", ".join(where[:12]) + (f", … {len(where)}" if len(where) > 12 else ""))
    sys.exit(missed > 0)
