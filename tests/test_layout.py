"""Imports point one way, down the layers of docs/layout.md; heavy libraries come late, and only where they belong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "dalembert"
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom up: a module imports from its own layer and from those before it. A part is a folder or a module.
LAYERS = (
    (
        "forking",
        "caching",
        "lazy",
        "renamed",
        "display",
        "errors",
        "findings",
        "names",
        "words",
        "files",
        "arguments",
        "quadratic",
    ),
    ("draw.svg", "draw.html", "draw.pyplot"),
    ("scalar", "spatial", "friction"),
    ("joints",),
    ("describe", "draw.blocks"),
    ("model",),
    ("algorithms",),
    ("compile",),
    ("symbolic",),
    ("flow", "law", "reference", "system", "kernels", "units"),
    ("kinematics", "bounds", "collision"),
    ("robot", "robots", "loading", "se3", "flows"),
    ("lagrange", "constrained", "actuation"),
    ("trajectories", "simulation", "control"),
    ("optimal", "planning"),
    ("identification", "firmware"),
    ("trust",),
    ("draw",),
    ("interchange",),
    ("exercises",),
    ("apps",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Neighbors that must not know each other at all, so that either can be replaced.
STRANGERS = {"compile": {"spatial", "joints", "describe", "model", "algorithms"}, "robots": set(RANK) - {"errors"}}
LATE = {
    "control": ("control",),
    "matplotlib": ("draw", "control"),
    "pyarrow": ("identification", "simulation"),
    "h5py": ("identification",),
    "rosbags": ("identification",),
    "scipy": (
        "algorithms",
        "bounds",
        "collision",
        "constrained",
        "control",
        "describe",
        "identification",
        "kinematics",
        "simulation",
        "trajectories",
    ),
    "llvmlite": ("compile",),
    "imageio": ("apps.studio",),
    "viser": ("apps.studio",),
    "websockets": ("apps.studio",),
    "sympy": ("constrained", "lagrange", "symbolic"),
}
# The front door: it imports from everywhere, when a name is first used.
FRONT = {"__init__", "__main__"}


def dotted(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def part_of(name: str) -> str | None:
    """The part a module or a name in it belongs to: "draw.svg" of draw.svg.charts, "robot" of robot.Robot."""
    words = name.split(".")
    return next((part for k in (2, 1) if (part := ".".join(words[:k])) in RANK), None)


def imports(node: ast.AST, inside: bool = False, typing: bool = False) -> Iterator[tuple[str, bool, bool]]:
    """(dotted name, whether inside a function, whether for type checkers alone) of every import."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, inside, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative imports hide where they point"
            yield from ((f"{child.module}.{alias.name}", inside, typing) for alias in child.names)
        only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from imports(child, inside or function, typing or only)


def every_import() -> Iterator[tuple[str, str, bool, bool]]:
    for file in FILES:
        for found in imports(ast.parse(file.read_text(encoding="utf-8"))):
            yield dotted(file), *found


def test_every_part_has_its_layer():
    assert len(FILES) > 50
    assert [dotted(f) for f in FILES if part_of(dotted(f)) is None and dotted(f).split(".")[0] not in FRONT] == []


def test_imports_point_down():
    """Those for type checkers too: what stands below a class does not name it."""
    wrong = []
    for module, name, _, _ in every_import():
        part, target = part_of(module), part_of(name.removeprefix("dalembert."))
        if not name.startswith("dalembert.") or name.startswith("dalembert.__") or part is None:
            continue
        if target is None or RANK[target] > RANK[part] or target in STRANGERS.get(part, set()) - {part}:
            wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_heavy_libraries_come_late_and_only_where_they_belong():
    wrong = []
    for module, name, inside, typing in every_import():
        places = LATE.get(name.split(".")[0])
        if places is None or typing:
            continue
        if not inside or not module.startswith(tuple(f"{place}." for place in places)):
            wrong.append(f"{module} imports {name}" + ("" if inside else " at once, not inside a function"))
    assert wrong == []


def test_the_test_sees_what_it_should():
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import llvmlite
def f():
    if True:
        from dalembert.robot import Robot
import scipy.linalg
"""
    assert set(imports(ast.parse(source))) == {
        ("typing.TYPE_CHECKING", False, False),
        ("llvmlite", False, True),
        ("dalembert.robot.Robot", True, False),
        ("scipy.linalg", False, False),
    }
    assert part_of("draw.svg.charts") == "draw.svg" and part_of("draw.arm") == "draw" and part_of("nowhere.x") is None


def lists_of_modules() -> Iterator[tuple[Path, set[str], set[str], set[str]]]:
    """(package, its modules, names in the list of its docstring, first words of all lines) of packages with a list."""
    for file in FILES:
        if file.name == "__init__.py":
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            own = {p.stem for p in file.parent.glob("*.py")} | {
                p.parent.name for p in file.parent.glob("*/__init__.py")
            }
            listed = set(re.findall(r"^(\w+) {2,}\S", text, re.MULTILINE))
            if 2 * len(listed & own) > max(len(listed), 2):
                yield file.parent, own - {"__init__"}, listed, set(re.findall(r"^(\w+) ", text, re.MULTILINE))


def test_lists_of_modules_are_complete():
    found = list(lists_of_modules())
    assert {"compile", "planning", "simulation"} <= {package.name for package, *_ in found}
    for package, own, listed, words in found:
        assert listed <= own, f"{package.name} lists {listed - own}, which it does not have"
        assert own <= words, f"{package.name} does not list {own - words}"
