"""Imports point one way, down the list of docs/layout.md; what is heavy is imported by nobody, or late."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "dalembert"
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom up: a folder or module imports only from itself and from what stands before it.
ORDER = (
    "forking",
    "caching",
    "errors",
    "names",
    "files",
    "svg",
    "pyplot",
    "scalar",
    "friction",
    "spatial",
    "describe",
    "model",
    "mjcf",
    "algorithms",
    "compile",
    "symbolic",
    "kernels",
    "arguments",
    "flow",
    "law",
    "reference",
    "motion",
    "ik",
    "bounds",
    "robot",
    "lagrange",
    "robots",
    "loading",
    "poses",
    "trajectories",
    "constrained",
    "actuation",
    "simulation",
    "identification",
    "control",
    "doctor",
    "verification",
    "properties",
    "show",
    "interchange",
    "report",
    "studio",
    "cli",
)
RANK = {name: rank for rank, name in enumerate(ORDER)}
# Neighbours in the order that must not know each other at all, so that either can be replaced.
STRANGERS = {"compile": {"spatial", "describe", "model", "algorithms"}, "robots": set(ORDER) - {"errors"}}
NEVER: set[str] = set()
LATE = {
    "control": {"control/extras.py"},
    "matplotlib": {"pyplot.py"},
    "pyarrow": {"identification/formats.py", "simulation/write.py"},
    "rosbags": {"identification/bag.py"},
    "scipy": {
        "identification/consistent.py",
        "control/extras.py",
        "identification/augmented.py",
        "model/closed_mesh.py",
        "motion/statics.py",
        "simulation/adaptive.py",
    },
    "llvmlite": {"compile/llvm.py", "compile/kernel.py"},
    "imageio": {"studio/export_panel.py"},
    "viser": {"studio/scene.py", "studio/server.py"},
    "websockets": {"studio/server.py"},
    "sympy": {"constrained/equations.py", "lagrange/symbols.py", "symbolic/expression.py", "symbolic/to_sympy.py"},
}
# The front door: it imports from everywhere, when a name is first used.
FRONT = {"__init__", "__main__"}


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def part_of(file: Path) -> str:
    """The folder below the package, or the module itself: "describe", "robot"."""
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def is_typing_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(node: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """(dotted name, whether inside a function) of every import that runs, in full."""
    for child in ast.iter_child_nodes(node):
        if is_typing_only(child):
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative imports hide where they point"
            yield from ((f"{child.module}.{alias.name}", inside) for alias in child.names)
        yield from imports(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


def imports_of(file: Path) -> list[tuple[str, bool]]:
    return list(imports(ast.parse(file.read_text(encoding="utf-8"))))


def test_every_part_has_its_place():
    assert len(FILES) > 50
    assert {part_of(f) for f in FILES} - FRONT <= set(ORDER)


@pytest.mark.parametrize("file", [f for f in FILES if part_of(f) not in FRONT], ids=name_of)
def test_imports_point_down(file):
    part = part_of(file)
    for name, _ in imports_of(file):
        package, _, rest = name.partition(".")
        if package != "dalembert":
            continue
        target = rest.split(".")[0]
        if target.startswith("__"):  # __version__
            continue
        assert target in RANK, f"{name_of(file)} imports {name}: import it from the module it lives in"
        assert RANK[target] <= RANK[part], f"{name_of(file)} imports {name}, which stands above it"
        assert target not in STRANGERS.get(part, set()) - {part}, f"{name_of(file)} should not know {name}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_heavy_libraries_come_late_or_never(file):
    for name, inside in imports_of(file):
        library = name.split(".")[0]
        assert library not in NEVER, f"{name_of(file)} imports {name}"
        if library in LATE:
            assert name_of(file) in LATE[library], f"{name_of(file)} imports {name}"
            assert inside, f"{name_of(file)} imports {name} at once, not inside a function"


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
    found = dict(imports(ast.parse(source)))
    assert found == {"typing.TYPE_CHECKING": False, "dalembert.robot.Robot": True, "scipy.linalg": False}


def test_the_layout_page_names_every_module():
    page = (ROOT.parent.parent / "docs" / "layout.md").read_text(encoding="utf-8")
    written = re.findall(r"`([\w/.]+)`", page)
    named = {word.split("/")[-1] for word in written}
    for file in FILES:
        if f"{part_of(file)}/" in written:  # a folder named as a whole
            continue
        assert file.name in {*named, "__init__.py", "__main__.py"}, f"docs/layout.md lacks {name_of(file)}"
