"""Find test cases that assert wording, and test cases that cannot fail, from the source of the tests.

python tools/weak_cases.py             print how many cases of each kind there are, by folder
python tools/weak_cases.py --list [X]  print the places too, of the paths that contain X

A case is one run of a test function: `parametrize` counts with the length of its table, where the table can be read
from the source (literals, module constants, `pytest.param`, concatenations, `range`); otherwise it counts as one.

**Wording.** A case asserts wording if an assertion compares prose with text that Dalembert writes.
- Prose is a run of three or more English words with blanks between them, all but the first in lower case. Quoted
  parts, markup, numbers, formulas, identifiers and statements of programming languages are data, not prose.
- Code and argument of an error, "missing mass", are data.
- For a message of an error or a warning (`match=`, `str(error.value)`, `.message`, `.problem`, `.remedy`), two words
  are prose already. Messages change most often, and their fields can be compared instead.
- The prose is a literal, or a name whose literals can be read: a constant, a row of `parametrize`, the values of a
  loop or a comprehension, or an argument of a helper of the tests that compares it.
- It is compared by `==`, `!=`, `in`, `not in`, by `match=`, by the functions of `re`, by methods of strings in an
  assertion (`startswith`, `count`, …) or by the browser's `to_have_text` and `to_contain_text`.

**Vacuous.** A case cannot fail if
- its function contains no `assert`, no `raises`, `warns` or `fail`, no `raise`, no call with `check=True`, and calls no
  function of the tests, of NumPy's testing or of the browser's `expect` that does, directly or through others; or
- an assertion is true whatever Dalembert does: `assert True`, `… or True`, a literal, a non-empty tuple, `x == x`
  without a call, `len(x) >= 0`, or an assertion behind the call that should raise, inside `with raises(…)`; or
- it reaches nothing of Dalembert: no name imported from it or from its benchmarks, tools and documentation, no
  subprocess, no file of the repository.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Bindings = dict[str, list[ast.expr]]
MESSAGE_WORDS, TEXT_WORDS = 2, 3  # from so many words on, a text is prose
WORD = r"[A-Za-z]{2,}(?:['’\-][a-z]+)*"
RUN = re.compile(rf"(?<![\w'])(?:[Aa] )?{WORD}(?:[,:;]? (?:a )?{WORD.replace('A-Z', '', 1)}(?![\w(=\[]))+")
QUOTED = re.compile(r"'[^']*'|`[^`]*`|\"[^\"]*\"|<[^>]*>|\$[^$]*\$")
CODE_WORDS = {"import", "def", "static", "inline", "double", "void", "const", "define", "lambda", "elif", "typedef"}
MESSAGE = re.compile(
    r"\bstr\(|\.(value|message|messages|problem|remedy|refusal|args|sentence|text|said)\b|stderr|\berror\b"
)
STRING_METHODS = {"startswith", "endswith", "count", "find", "index", "removeprefix", "removesuffix", "partition"}
RE_METHODS = {"search", "match", "fullmatch", "findall", "finditer", "split", "sub"}
BROWSER_METHODS = {"to_have_text", "to_contain_text", "to_have_title"}
UNWRAPPED = {"escape", "dedent", "lower", "format", "join", "strip", "compile", "frozenset", "set", "tuple", "list"}
CHECKS = {"raises", "warns", "fail", "deprecated_call", "expect", "check_stubs", "testmod", "importorskip_or_fail"}
FILES = {"read_text", "read_bytes", "rglob", "glob", "subprocess", "run_path", "runpy", "import_module", "open"}


@dataclass
class Module:
    """A file of the tests: its functions, the values of its names, and where its imports come from."""

    path: Path
    tree: ast.Module
    functions: dict[str, Function] = field(default_factory=dict)
    bodies: dict[str, list[ast.AST]] = field(default_factory=dict)
    values: Bindings = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


def find_cases(root: Path) -> dict[str, list[str]]:
    """Return the cases that assert wording ("wording") and those that cannot fail ("vacuous"), one entry for each.

    Parameters
    ----------
    root : Path
        Folder with the tests.
    """
    found: dict[str, list[str]] = {"wording": [], "vacuous": []}
    for file in sorted(root.rglob("*.py")):
        if file.name.startswith("test_") or file.name == "conftest.py":
            module = read_module(file)
            for name, test in tests_in(module.tree):
                place = f"{file.relative_to(root.parent).as_posix()}:{test.lineno} {name}"
                tables = parameters(module, test)
                rows = list(product(*(table for _, table in tables)))
                worded = [prose_in(module, test, bind_row(tables, row)) for row in rows]
                found["wording"] += [f"{place} ({prose!r})" for prose in worded if prose]
                why = why_vacuous(root, module, test)
                found["vacuous"] += [f"{place} ({why})"] * (len(rows) if why else 0)
    return found


@cache
def read_module(path: Path) -> Module:
    module = Module(path, ast.parse(path.read_text(encoding="utf-8")))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module.imports[alias.asname or alias.name] = (node.module or "", alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                module.imports[alias.asname or alias.name.partition(".")[0]] = (alias.name, "")
    for node in module.tree.body:
        if isinstance(node, Function):
            module.functions[node.name] = node
        if isinstance(node, DEFINITIONS):
            module.bodies.setdefault(node.name, []).append(node)
        else:
            for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}:
                module.bodies.setdefault(name, []).append(node)
    bind_all(module.tree.body, module.values, module.values)
    return module


def tests_in(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for method in node.body:
                if isinstance(method, Function) and method.name.startswith("test"):
                    yield f"{node.name}::{method.name}", method


# ------------------------------------------------------------------------------------------- names and values
def bind_all(body: list[ast.stmt], known: Bindings, into: Bindings) -> None:
    """Bind the names that statements assign and loops run over to the expressions that they may stand for."""
    for node in (n for statement in body for n in walk_here(statement)):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind(target, node.value, into)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            bind(node.target, node.value, into)
        elif isinstance(node, (ast.For, ast.comprehension)):
            for element in elements(node.iter, {**known, **into}) or []:
                bind(node.target, element, into)


def walk_here(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement; of a function or class at the top level, none."""
    return iter(()) if isinstance(statement, DEFINITIONS) else ast.walk(statement)


def bind(target: ast.expr, value: ast.expr, into: Bindings) -> None:
    if isinstance(target, ast.Name):
        into.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for k, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                into.setdefault(ast.unparse(part.value), []).append(value)
                break
            if k < len(value.elts):
                bind(part, value.elts[k], into)


def elements(node: ast.expr, names: Bindings, depth: int = 0) -> list[ast.expr] | None:
    """The entries of a literal table, or None if they cannot be read from the source."""
    if depth > 8:
        return None
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = [elements(e.value, names, depth + 1) if isinstance(e, ast.Starred) else [as_row(e)] for e in node.elts]
        return [e for part in parts for e in (part if part is not None else [ast.Constant(None)])]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    if isinstance(node, ast.Name) and node.id in names:
        found = [elements(value, names, depth + 1) for value in names[node.id]]
        return next((f for f in found if f is not None), None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        left, right = (elements(side, names, depth + 1) for side in (node.left, node.right))
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in ("items", "values") and isinstance(node.func, ast.Attribute):
            tables = [node.func.value] if isinstance(node.func.value, ast.Dict) else []
            if isinstance(node.func.value, ast.Name):
                tables = [v for v in names.get(node.func.value.id, []) if isinstance(v, ast.Dict)]
            pairs = [(k, v) for table in tables for k, v in zip(table.keys, table.values, strict=True) if k]
            return [v if called == "values" else ast.Tuple([k, v]) for k, v in pairs] if tables else None
        if called in ("sorted", "list", "tuple", "set", "reversed", "iter") and node.args:
            return elements(node.args[0], names, depth + 1)
        if called == "range" and all(isinstance(a, ast.Constant) for a in node.args):
            return [ast.Constant(k) for k in range(*(a.value for a in node.args))]  # type: ignore[attr-defined]
        if called in ("zip", "enumerate"):
            columns = [elements(a, names, depth + 1) for a in node.args]
            if any(c is None for c in columns):
                return None
            if called == "enumerate":
                return [ast.Tuple([ast.Constant(k), e]) for k, e in enumerate(columns[0] or [])]
            return [ast.Tuple(list(row)) for row in zip(*(c or [] for c in columns), strict=False)]
    return None


def as_row(node: ast.expr) -> ast.expr:
    """pytest.param(a, b, id=…) as (a, b)."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("param"):
        return node.args[0] if len(node.args) == 1 else ast.Tuple(node.args)
    return node


def parameters(module: Module, test: Function) -> list[tuple[list[str], list[ast.expr]]]:
    """(names, rows) of each `parametrize` of a test."""
    tables: list[tuple[list[str], list[ast.expr]]] = []
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("mark.parametrize") and len(mark.args) > 1:
            names = mark.args[0]
            if isinstance(names, ast.Constant):
                listed = [name.strip() for name in str(names.value).split(",")]
            else:
                listed = [str(e.value) for e in getattr(names, "elts", []) if isinstance(e, ast.Constant)]
            rows = elements(mark.args[1], module.values)
            tables.append((listed, [ast.Constant(None)] if rows is None else rows))
    return tables


def bind_row(tables: list[tuple[list[str], list[ast.expr]]], row: tuple[ast.expr, ...]) -> Bindings:
    bound: Bindings = {}
    for (names, _), value in zip(tables, row, strict=True):
        values = value.elts if len(names) > 1 and isinstance(value, (ast.Tuple, ast.List)) else [value]
        for name, one in zip(names, values, strict=False):
            bound[name] = [one]
    return bound


def texts(node: ast.expr | None, names: Bindings, depth: int = 0) -> list[str]:
    """The literal texts that an expression may stand for, or hold."""
    if node is None or depth > 8:
        return []
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(v.value if isinstance(v, ast.Constant) else "0" for v in node.values)]  # type: ignore[misc]
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.BinOp):
        sides = [texts(side, names, depth + 1) for side in (node.left, node.right)]
        if isinstance(node.op, ast.Add) and all(len(side) == 1 for side in sides):
            return [sides[0][0] + sides[1][0]]
        return sides[0] + sides[1]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = list(node.elts)
    elif isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.Starred, ast.Subscript, ast.NamedExpr)):
        parts = [node.value]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt]
    elif isinstance(node, ast.Name):
        parts = list(names.get(node.id, []))
        names = {key: value for key, value in names.items() if key != node.id}  # x = x + "…" ends
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in UNWRAPPED:
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    return [text for part in parts for text in texts(part, names, depth + 1)]


# ------------------------------------------------------------------------------------------------- wording
@cache
def error_codes() -> set[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").partition("## Codes")[2]
    return set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE))


def is_prose(text: str, least: int) -> bool:
    """Whether a text, or a pattern of one, has a run of at least so many English words."""
    if text.partition(" ")[0] in error_codes() and re.fullmatch(r"\S+( \S+)?", text):
        return False
    plain = re.sub(r"\\n|\s+|\\ ", " ", re.sub(r"\\([^\w\s])", r"\1", text)).replace(".*", " ")
    plain = QUOTED.sub(" 0 ", plain)
    return any(
        len(words := re.findall(WORD, run[0])) >= least and not CODE_WORDS & set(words) for run in RUN.finditer(plain)
    )


def prose_in(module: Module, test: Function, bound: Bindings) -> str:
    """The first prose that a case compares with text, or nothing."""
    places = compared(module, test)
    names = names_in_function(module, test, bound) if places else {}
    found = (text for node, least in places for text in texts(node, names) if is_prose(text, least))
    return next(found, "")


def names_in_function(module: Module, function: Function, bound: Bindings) -> Bindings:
    local: Bindings = dict(bound)
    bind_all(function.body, {**module.values, **bound}, local)
    for lambda_or_generator in ast.walk(function):
        if isinstance(lambda_or_generator, ast.comprehension):
            for element in elements(lambda_or_generator.iter, {**module.values, **local}) or []:
                bind(lambda_or_generator.target, element, local)
    return {**module.values, **local}


_compared: dict[int, list[tuple[ast.expr, int]]] = {}


def compared(module: Module, function: Function) -> list[tuple[ast.expr, int]]:
    """(expression, words from which it is prose) of what a function compares with text."""
    if id(function) not in _compared:
        _compared[id(function)] = find_compared(module, function)
    return _compared[id(function)]


def find_compared(module: Module, function: Function) -> list[tuple[ast.expr, int]]:
    found: list[tuple[ast.expr, int]] = []
    asserted = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
    for node in (n for a in asserted for n in ast.walk(a.test)):
        if isinstance(node, ast.Compare):
            found += compared_by(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            own = ast.unparse(node.func.value)
            if node.func.attr in STRING_METHODS:
                found.append((node.args[0], least_words(own)))
            elif node.func.attr in RE_METHODS and own == "re":
                found.append((node.args[0], least_words(" ".join(map(ast.unparse, node.args[1:])))))
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            found += [(word.value, MESSAGE_WORDS) for word in node.keywords if word.arg == "match"]
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in BROWSER_METHODS and node.args:
                found.append((node.args[0], TEXT_WORDS))
            if called == "match" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
                found.append((node.args[0], MESSAGE_WORDS))
            found += arguments_compared(module, node)
    return found


def compared_by(node: ast.Compare) -> list[tuple[ast.expr, int]]:
    sides = [node.left, *node.comparators]
    found = []
    for k, operation in enumerate(node.ops):
        left, right = sides[k : k + 2]
        if isinstance(operation, (ast.In, ast.NotIn)):
            found.append((left, least_words(ast.unparse(right))))
            if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and not isinstance(left, ast.Name):  # a case's name
                found.append((right, least_words(ast.unparse(left))))
        elif isinstance(operation, (ast.Eq, ast.NotEq)):
            found += [(left, least_words(ast.unparse(right))), (right, least_words(ast.unparse(left)))]
    return found


def least_words(other: str) -> int:
    return MESSAGE_WORDS if MESSAGE.search(other) else TEXT_WORDS


def arguments_compared(module: Module, call: ast.Call) -> list[tuple[ast.expr, int]]:
    """The arguments of a call that the function of the tests that it calls compares with text."""
    home, function = helper(module, call)
    if function is None or home is None:
        return []
    compares = parameters_compared(home, function.name)
    names = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
    found = [(value, compares[name]) for name, value in zip(names, call.args, strict=False) if name in compares]
    if function.args.vararg and function.args.vararg.arg in compares:
        found += [(value, compares[function.args.vararg.arg]) for value in call.args[len(names) :]]
    return found + [(word.value, compares[word.arg]) for word in call.keywords if word.arg in compares]


@cache
def _parameters_compared(path: Path, name: str) -> dict[str, int]:
    module = read_module(path)
    function = module.functions[name]
    arguments = function.args
    own = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    own |= {arguments.vararg.arg} if arguments.vararg else set()
    loops = [n for n in ast.walk(function) if isinstance(n, (ast.For, ast.comprehension))]
    aliases = {n.id: ast.unparse(loop.iter) for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    found: dict[str, int] = {}
    for node, least in compared(module, function):
        for word in [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]:
            word = aliases.get(word, word)
            if word in own:
                found[word] = least
    return found


_busy: set[tuple[Path, str]] = set()


def parameters_compared(module: Module, name: str) -> dict[str, int]:
    """The parameters of a helper that it compares with text, and from how many words on they are prose."""
    key = (module.path, name)
    if key in _busy:  # it calls itself
        return {}
    _busy.add(key)
    try:
        return _parameters_compared(*key)
    finally:
        _busy.discard(key)


def helper(module: Module, call: ast.Call) -> tuple[Module | None, Function | None]:
    """The function of the tests that is called, and its module."""
    if not isinstance(call.func, ast.Name):
        return None, None
    name = call.func.id
    if name in module.functions:
        return module, module.functions[name]
    home = imported(module, name)
    original = module.imports.get(name, ("", ""))[1]
    return (home, home.functions[original]) if home and original in home.functions else (None, None)


def imported(module: Module, name: str) -> Module | None:
    """The module of the tests that a name is imported from, if it is one."""
    source, original = module.imports.get(name, ("", ""))
    path = source.removeprefix("tests.").replace(".", "/")
    for folder in module.path.parents:
        if not source or "tests" not in folder.parts:
            return None
        for file in (f"{path}/{original}.py", f"{path}.py", f"{path}/__init__.py"):
            if (folder / file).is_file():
                return read_module(folder / file)
    return None


# ------------------------------------------------------------------------------------------------- vacuous
def why_vacuous(root: Path, module: Module, test: Function) -> str:
    """Why a test cannot fail, or nothing."""
    if any(ast.unparse(mark).startswith(("pytest.mark.skip(", "pytest.mark.xfail(")) for mark in test.decorator_list):
        return ""
    nodes = [node for _, node in reached(root, module, test)]
    if not any(map(checks, nodes)):
        return "no assertion"
    for node in ast.walk(test):
        if isinstance(node, ast.Assert) and is_always_true(node.test):
            return f"`{ast.unparse(node)}` is always true"
        if (
            isinstance(node, ast.With)
            and len(node.body) > 1
            and isinstance(node.body[-1], ast.Assert)
            and expects(node)
        ):
            return "an assertion behind the call that raises"
    own = any(touches_dalembert(home, node) for home, node in reached(root, module, test))
    return "" if own else "reaches nothing of Dalembert"


def expects(node: ast.With) -> bool:
    return any(ast.unparse(item).startswith(("pytest.raises", "raises")) for item in node.items)


def checks(node: ast.AST) -> bool:
    if isinstance(node, (ast.Assert, ast.Raise)):
        return True
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func).rpartition(".")[2]
    checked = any(w.arg == "check" and isinstance(w.value, ast.Constant) and w.value.value for w in node.keywords)
    return called in CHECKS or called.startswith("assert_") or checked


def is_always_true(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.BoolOp):
        return (any if isinstance(node.op, ast.Or) else all)(map(is_always_true, node.values))
    if isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)):
        return bool(getattr(node, "elts", [1]))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        same = left == right and "(" not in left
        no_length = left.startswith("len(") and right == "0"
        return (same and isinstance(node.ops[0], (ast.Eq, ast.Is, ast.LtE, ast.GtE))) or (
            no_length and isinstance(node.ops[0], ast.GtE)
        )
    return False


def reached(root: Path, module: Module, test: ast.AST) -> list[tuple[Module, ast.AST]]:
    """The nodes of a test and of the functions, fixtures and constants of the tests that it reaches, with modules."""
    found: list[tuple[Module, ast.AST]] = []
    seen: set[tuple[Path, str]] = set()
    waiting: list[tuple[Module, ast.AST]] = [(module, test)]
    common = [read_module(f) for f in (root / "conftest.py", module.path.parent / "conftest.py") if f.is_file()]
    while waiting:
        home, body = waiting.pop()
        for node in ast.walk(body):
            found.append((home, node))
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else None
            if name is None or (home.path, name) in seen:
                continue
            seen.add((home.path, name))
            waiting += [(home, n) for n in home.bodies.get(name, [])]
            source = imported(home, name)
            if source is not None:
                original = home.imports[name][1]
                bodies = source.bodies.get(original, [source.tree])
                again = source.imports.get(original)
                waiting += (
                    [(source, n) for n in bodies] if again is None else [(source, ast.Name(original, ast.Load()))]
                )
            if isinstance(node, ast.arg):
                waiting += [(c, n) for c in common for n in c.bodies.get(name, [])]
    return found


def touches_dalembert(module: Module, node: ast.AST) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        return any(name.partition(".")[0] == "dalembert" for name in names)
    if isinstance(node, ast.Attribute) and node.attr in FILES:
        return True
    if not isinstance(node, ast.Name):
        return False
    source = module.imports.get(node.id, ("", ""))[0].replace(".", "/")
    own = ("src", "tools", "benchmarks", "docs/_ext", "fuzz")
    return node.id in FILES or any(
        (ROOT / place / f"{source}{end}").exists() for place in own for end in ("", ".py") if source
    )


if __name__ == "__main__":
    for kind, cases in find_cases(ROOT / "tests").items():
        folders = Counter("/".join(case.split(":")[0].split("/")[:2]) for case in cases)
        print(f"{kind}: {len(cases)}  " + ", ".join(f"{name} {count}" for name, count in sorted(folders.items())))
        for place, count in Counter(cases).items() if "--list" in sys.argv else ():
            if sys.argv[-1] == "--list" or sys.argv[-1] in place:
                print(f"  {count} × {place}")
