"""Mutation testing: change one operator, constant, condition or statement at a time, and run tests on each change.

    python tools/mutate.py src/dalembert/bounds --tests tests/bounds --count 100 --seed 7

The tests run in a copy of the repository, each mutant in a process of its own. A mutant is killed if a test fails, if
the time limit ends the run, or if the run crashes. The tool prints a table by module, then the diff of each survivor.
A survivor is a missing test, or an equivalent mutant: one whose behavior cannot be told from the original's.
Run it again with `--only KEY` (printed with each survivor) after adding a test.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "docs", "tools", "README.md", "CITATION.cff", "CHANGELOG.md", "pyproject.toml", "NOTICE")
MEMORY = 12 << 30  # bytes of address space of one run
OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<", ">"), ast.Gt: (">=", "<"), ast.GtE: (">", "<"),
    ast.Eq: ("!=",), ast.NotEq: ("==",), ast.In: ("not in",), ast.NotIn: ("in",),
    ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("/",), ast.Div: ("*",), ast.Pow: ("*",),
    ast.FloorDiv: ("*",), ast.Mod: ("*",), ast.BitAnd: ("|",), ast.BitOr: ("&",), ast.And: ("or",), ast.Or: ("and",),
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
SWAPPED |= {"sin": "cos", "cos": "sin", "floor": "ceil", "ceil": "floor", "lower": "upper", "upper": "lower"}
SKIPPED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)  # wording, and what only an ImportError can tell
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """One replacement in one file: bytes `start` to `stop` become `text`."""

    path: str
    kind: str
    line: int
    start: int
    stop: int
    text: str

    @property
    def key(self) -> str:
        return f"{self.path}:{self.line}:{self.start}:{self.kind}:{self.text}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.stop :]


class Sites:
    """All mutants of one module."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.found: list[Mutant] = []
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.visit(ast.parse(source))

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset)

    def text(self, node: ast.AST) -> str:
        start, stop = self.span(node)
        return self.source[start:stop].decode()

    def add(self, kind: str, node: ast.AST, text: str, span: tuple[int, int] | None = None) -> None:
        start, stop = span or self.span(node)
        self.found.append(Mutant(self.path, kind, node.lineno, start, stop, text))

    def visit(self, node: ast.AST) -> None:
        """This node's mutants, then those of its parts; no annotations, docstrings, messages or imports."""
        self.statement(node)
        if isinstance(node, SKIPPED) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return
        self.expression(node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "type_params"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child)

    def statement(self, node: ast.AST) -> None:
        call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute))
        if call or stored or isinstance(node, REMOVED):
            self.add("removed statement", node, "pass")

    def expression(self, node: ast.AST) -> None:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for a, op, b in zip([left, *comparators], ops, comparators, strict=False):
                    self.between("comparison", a, op, b)
            case ast.BinOp(left=a, op=op, right=b):
                self.between("operator", a, op, b)
                if isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)):
                    self.add("dropped term", node, f"({self.text(a)})")
                if isinstance(op, (ast.Add, ast.Mult)):
                    self.add("dropped term", node, f"({self.text(b)})")
            case ast.BoolOp(values=values, op=op):
                for a, b in pairwise(values):
                    self.between("operator", a, op, b)
                for value in values:
                    self.add("dropped term", node, f"({self.text(value)})")
            case ast.UnaryOp(op=ast.USub(), operand=x) | ast.UnaryOp(op=ast.Not(), operand=x):
                self.add("dropped sign", node, f"({self.text(x)})")
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                self.add("negated condition", test, f"(not ({self.text(test)}))")
            case ast.comprehension(ifs=ifs):
                for test in ifs:
                    self.add("negated condition", test, f"(not ({self.text(test)}))")
            case ast.Constant(value=value):
                self.constant(node, value)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SWAPPED:
                stop = self.span(node.func)[1]
                self.add("function", node, SWAPPED[name], (stop - len(name), stop))

    def between(self, kind: str, a: ast.AST, op: ast.AST, b: ast.AST) -> None:
        """The operator's place is what lies between its operands, but for brackets."""
        start, stop = self.span(a)[1], self.span(b)[0]
        gap = self.source[start:stop].decode()
        sign = gap.replace("(", " ").replace(")", " ").strip()
        for text in OPERATORS.get(type(op), ()):
            if sign and "\n" not in sign:
                self.add(kind, a, gap.replace(sign, text), (start, stop))

    def constant(self, node: ast.Constant, value: object) -> None:
        if isinstance(value, bool):
            self.add("constant", node, repr(not value))
        elif isinstance(value, (int, float)):
            others = [0, 1] if abs(value) not in (0, 1) else [1 - value]
            for other in (*others, 2 * value + (value == 0), 0.5 * value if isinstance(value, float) else value + 1):
                if other != value:
                    self.add("constant", node, repr(other))


def mutants(paths: list[Path], count: int, rng: random.Random) -> list[Mutant]:
    """`count` of all mutants of some files, in order of file and line; those that do not parse are left out."""
    found = {m.key: m for path in paths for m in Sites(str(path.relative_to(ROOT)), path.read_bytes()).found}
    valid = [m for m in found.values() if parses(m.apply((ROOT / m.path).read_bytes()))]
    chosen = rng.sample(valid, min(count, len(valid)))
    return sorted(chosen, key=lambda m: (m.path, m.start))


def parses(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class Order:
    """A pytest plugin: tests that killed before run first, then the fast ones. It keeps the first failure."""

    def __init__(self, kills: Counter[str], seconds: dict[str, float]) -> None:
        self.kills, self.seconds, self.failed = kills, seconds, ""

    def pytest_collection_modifyitems(self, items: list) -> None:
        items.sort(key=lambda item: (-self.kills[item.nodeid], self.seconds.get(item.nodeid, 0.0)))

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed = self.failed or report.nodeid


class Runner:
    """Runs the tests in a copy of the repository, in a fork of this process that has imported what is slow to load."""

    def __init__(self, tests: list[str], limit: float) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mutate-"))
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, self.folder / name)
        self.tests, self.limit = tests, limit
        self.kills: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        os.environ.setdefault("DALEMBERT_CACHE", str(self.folder / "kernels"))

    def run(self, limit: float) -> tuple[str, str]:
        """(passed, failed, timeout or crashed; the first test that failed)."""
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            self.test(answer)
        if not ended(child, limit):
            return "timeout", ""
        if not answer.exists():
            return "crashed", ""
        said = json.loads(answer.read_text())
        self.seconds |= said["seconds"]
        return ("failed" if said["code"] else "passed"), said["failed"]

    def test(self, answer: Path) -> None:
        """In the child: run the tests, write the answer, end."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        silence = os.open(self.folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(self.folder)
        sys.path[:] = [str(self.folder / "src"), *(p for p in sys.path if not p.startswith(str(ROOT / "src")))]
        os.environ["PYTHONPATH"] = str(self.folder / "src")
        order = Order(self.kills, self.seconds)
        arguments = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header"]
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *self.tests]
        try:
            code = int(pytest.main(arguments, plugins=[order]))
        except BaseException:
            traceback.print_exc()
            code = 1
        answer.write_text(json.dumps({"code": code, "failed": order.failed, "seconds": order.seconds}))
        os._exit(0)

    def judge(self, mutant: Mutant) -> str:
        """killed, survived or timeout; the copy is as before afterwards."""
        path = self.folder / mutant.path
        source, status = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(source))
        outcome, test = self.run(self.limit)
        path.write_bytes(source)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.kills[test] += bool(test)
        return {"passed": "survived", "failed": "killed", "crashed": "killed"}.get(outcome, outcome)


def ended(child: int, limit: float) -> bool:
    """Wait for a process; end it and its children when the time limit is over."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def diff(mutant: Mutant) -> str:
    source = (ROOT / mutant.path).read_bytes()
    before, after = (x.decode().splitlines() for x in (source, mutant.apply(source)))
    lines = list(difflib.unified_diff(before, after, mutant.path, mutant.key, "", "", 1, ""))
    return "\n".join(lines[:2] + lines[3:])


def table(judged: dict[Mutant, str]) -> Iterator[str]:
    modules: dict[str, Counter[str]] = {}
    for mutant, status in judged.items():
        modules.setdefault(mutant.path, Counter())[status] += 1
    yield f"{'module':52} {'mutants':>8} {'killed':>8} {'timeout':>8} {'survived':>8}"
    for name, row in (*modules.items(), ("total", Counter(judged.values()))):
        yield f"{name:52} {row.total():8} {row['killed']:8} {row['timeout']:8} {row['survived']:8}"


def chosen_mutants(options: argparse.Namespace) -> list[Mutant]:
    paths = sorted(p for x in options.paths for p in ([x] if x.is_file() else x.rglob("*.py")))
    known = mutants([p.resolve() for p in paths], sys.maxsize if options.only else options.count, options.rng)
    return [m for m in known if not options.only or m.key in options.only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="modules or folders to change")
    parser.add_argument("--tests", nargs="+", required=True, help="tests to run, files or folders")
    parser.add_argument("--count", type=int, default=50, help="number of mutants (default: 50)")
    parser.add_argument("--seed", type=int, help="random seed (default: a new one, printed)")
    parser.add_argument("--limit", type=float, default=120.0, help="time limit of one mutant [s] (default: 120)")
    parser.add_argument("--only", nargs="+", help="keys of mutants to run again")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    options.rng = random.Random(options.seed)
    print(f"seed {options.seed}, tests {' '.join(options.tests)}", flush=True)
    runner = Runner(options.tests, options.limit)
    try:
        run(runner, chosen_mutants(options))
    finally:
        shutil.rmtree(runner.folder)


def run(runner: Runner, chosen: list[Mutant]) -> None:
    outcome, test = runner.run(10 * runner.limit)
    if outcome != "passed":
        said = (runner.folder / "output.txt").read_text(errors="replace")
        raise SystemExit(f"{said[-3000:]}\nthe unchanged code must pass first: {outcome} {test}")
    judged: dict[Mutant, str] = {}
    for k, mutant in enumerate(chosen, 1):
        start = time.monotonic()
        judged[mutant] = runner.judge(mutant)
        seconds = time.monotonic() - start
        print(f"{k}/{len(chosen)} {judged[mutant]:8} {seconds:5.1f} s  {mutant.key}", flush=True)
    print("", *table(judged), sep="\n")
    for mutant, status in judged.items():
        if status == "survived":
            print(f"\n{diff(mutant)}")


if __name__ == "__main__":
    import hypothesis  # noqa: F401  (what is slow to load is loaded once, before the forks)
    import numpy  # noqa: F401
    import pytest

    main()
