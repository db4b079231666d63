"""Mutation testing: change one operator, constant, condition or statement at a time, and run tests on each change.

    python tools/mutate.py src/dalembert/bounds --tests tests/bounds --count 100 --seed 7

The tests run in a copy of the repository, each mutant in a process of its own. First each test file runs unchanged, in
a process of its own, and the tool records which lines each test executes. A mutant runs against the tests that
execute its statement: tests that killed earlier mutants come first, then fast tests. All tests of a file run if its
import executes the statement, and all files run if no test executes it, because a test may start a process of its own.
A test that only uses a result that an earlier test has cached does not count: `--whole` runs whole files.

A mutant is killed if a test fails, if the run uses much more processor time than the unchanged code, or if it crashes.
The tool prints a table by module, then the diff of each survivor. A survivor is a missing test, or an equivalent
mutant: one whose behavior cannot be told from the original's. `--results FILE` appends each verdict to a file at once
and skips the mutants that the file already has. Run the tool again with `--only KEY` (printed with each survivor) after
adding a test.
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
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "docs", "tools", "fuzz", "benchmarks")
COPIED += ("README.md", "CITATION.cff", "CHANGELOG.md", "pyproject.toml", "NOTICE")
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
    statement: tuple[int, int] = field(compare=False)  # first and last line of the statement, or of its header

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
        self.within = (1, 1)
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
        self.found.append(Mutant(self.path, kind, node.lineno, start, stop, text, self.within))

    def visit(self, node: ast.AST) -> None:
        """This node's mutants, then those of its parts; no annotations, docstrings, messages or imports."""
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) else node.end_lineno
            self.within = (node.lineno, last)
        self.statement(node)
        if isinstance(node, SKIPPED) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return
        self.expression(node)
        within = self.within
        for name, value in ast.iter_fields(node):
            self.within = within
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


Executed = dict[str, dict[str, set[int]]]  # test → file → lines; the test "" is what a file's import executes


class Order:
    """A pytest plugin: runs first the tests with kills, then the fast ones.

    It keeps the first failure and the time of each test."""

    def __init__(self, kills: Counter[str], seconds: dict[str, float], only: set[str]) -> None:
        self.kills, self.seconds, self.only, self.failed = kills, seconds, only, ""

    def pytest_collection_modifyitems(self, items: list) -> None:
        """Keep the tests in `only`, if there are any; `only` may name whole files."""
        if self.only:
            items[:] = [x for x in items if not self.only.isdisjoint((x.nodeid, x.nodeid.partition("::")[0]))]
        items.sort(key=lambda item: (-self.kills[item.nodeid], self.seconds.get(item.nodeid, 0.0)))

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed = self.failed or report.nodeid


class Lines:
    """A pytest plugin: records the lines of some files that each test executes."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files, self.executed, self.test = files, {}, ""  # type: dict[str, str], Executed, str
        threading.settrace(self.call)
        sys.settrace(self.call)

    def call(self, frame: FrameType, event: str, _: Any) -> Any:
        name = self.files.get(frame.f_code.co_filename)
        if name is None:
            return None
        lines = self.executed.setdefault(self.test, {}).setdefault(name, set())
        add = lines.add

        def line(frame: FrameType, event: str, _: Any) -> Any:
            add(frame.f_lineno)
            return line

        return line(frame, event, _)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test = nodeid
        sys.settrace(self.call)  # a test may have set another one


class Runner:
    """Runs the tests in a copy of the repository, in a fork of this process that has imported what is slow to load."""

    def __init__(self, tests: list[str], limit: float, whole: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mutate-"))
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, self.folder / name)
        paths = [self.folder / test for test in tests]
        found = (p for x in paths for p in ([x] if x.is_file() else sorted(x.rglob("test_*.py"))))
        self.files = list(dict.fromkeys(str(p.relative_to(self.folder)) for p in found))
        self.limit, self.whole = limit, whole
        self.kills: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.cost: dict[str, float] = {}  # test file → processor time with tracing [s]
        self.executed: Executed = {}
        self.runs = 0
        os.environ.setdefault("DALEMBERT_CACHE", str(self.folder / "kernels"))
        os.environ.setdefault("DALEMBERT_LLVM_LEVEL", "0")

    def measure(self, paths: set[str]) -> None:
        """Run each test file unchanged and record which lines of `paths` its tests execute."""
        for name in list(self.files):
            outcome, said = self.run([name], 10 * self.limit, traced=paths)
            if outcome == "empty":
                self.files.remove(name)
            elif outcome != "passed":
                text = (self.folder / "output.txt").read_text(errors="replace")
                raise SystemExit(f"{text[-3000:]}\nthe unchanged code must pass first: {outcome} {name}")
            else:
                self.cost[name] = said["cost"]
                for test, lines in said["executed"].items():
                    self.executed[test or name] = {path: set(x) for path, x in lines.items()}

    def covering(self, mutant: Mutant) -> tuple[list[str], set[str]]:
        """(test files, tests) that execute a mutant's statement."""
        first, last = mutant.statement
        wanted = set(range(first, last + 1))
        tests = {test for test, lines in self.executed.items() if wanted & lines.get(mutant.path, set())}
        files = {test.partition("::")[0] for test in tests}
        return [name for name in self.files if name in files] or self.files, tests

    def run(
        self, files: list[str], limit: float, cpu: float = 0, only: Iterable[str] = (), traced: Iterable[str] = ()
    ) -> tuple[str, dict[str, Any]]:
        """(passed, failed, empty, timeout or crashed; what the tests reported)."""
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            self.test(answer, files, cpu, set(only), traced)
        status = ended(child, limit)
        if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
            return "timeout", {}
        if not answer.exists():
            return "crashed", {}
        said = json.loads(answer.read_text())
        self.seconds |= said["seconds"]
        return {0: "passed", 5: "empty"}.get(said["code"], "failed"), said

    def test(self, answer: Path, files: list[str], cpu: float, only: set[str], traced: Iterable[str]) -> None:
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
        plugins: list[Any] = [Order(self.kills, self.seconds, only)]
        if cpu:
            used = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(used + cpu) + 1, int(used + cpu) + 6))
        if traced:
            plugins.append(Lines({str(self.folder / path): path for path in traced}))
        arguments = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header"]
        arguments += ["-m", "not long and not nightly"]
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *files]
        used = time.process_time()
        try:
            code = int(pytest.main(arguments, plugins=plugins))
        except BaseException:
            traceback.print_exc()
            code = 1
        said = {"code": code, "failed": plugins[0].failed, "seconds": plugins[0].seconds}
        if traced:
            sys.settrace(None)
            said["cost"] = time.process_time() - used
            said["executed"] = {
                test: {path: sorted(x) for path, x in lines.items()} for test, lines in plugins[1].executed.items()
            }
        answer.write_text(json.dumps(said))
        os._exit(0)

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """(killed, survived or timeout; the test that failed); the copy is as before afterwards."""
        path = self.folder / mutant.path
        source, status = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(source))
        self.runs += 1
        os.utime(path, (self.runs, self.runs))  # bytecode is cached by whole seconds and size
        files, tests = self.covering(mutant)
        cpu = 10 + 1.5 * sum(self.cost[name] for name in files)
        outcome, said = self.run(files, max(self.limit, 5 * cpu), cpu, () if self.whole else tests)
        path.write_bytes(source)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        test = said.get("failed", "")
        self.kills[test] += bool(test)
        return {"passed": "survived", "failed": "killed", "crashed": "killed", "empty": "killed"}.get(
            outcome, outcome
        ), test


def ended(child: int, limit: float) -> int | None:
    """Wait for a process and return its status; end it and its children when the time limit is over."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


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
    parser.add_argument("--limit", type=float, default=120.0, help="least time limit of one mutant [s] (default: 120)")
    parser.add_argument("--whole", action="store_true", help="run whole test files, not single tests")
    parser.add_argument("--results", type=Path, help="file of verdicts, one JSON object per line, kept between runs")
    parser.add_argument("--only", nargs="+", help="keys of mutants to run again")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    options.rng = random.Random(options.seed)
    print(f"seed {options.seed}, tests {' '.join(options.tests)}", flush=True)
    runner = Runner(options.tests, options.limit, options.whole)
    try:
        run(runner, chosen_mutants(options), options.results, bool(options.only))
    finally:
        shutil.rmtree(runner.folder)


def run(runner: Runner, chosen: list[Mutant], results: Path | None, again: bool) -> None:
    lines = results.read_text(encoding="utf-8").splitlines() if results and results.exists() else []
    known = {said["key"]: said["status"] for said in map(json.loads, lines)}
    judged = {mutant: known[mutant.key] for mutant in chosen if mutant.key in known and not again}
    left = [mutant for mutant in chosen if mutant not in judged]
    start = time.monotonic()
    runner.measure({mutant.path for mutant in left})
    print(f"{len(runner.files)} test files pass unchanged, {time.monotonic() - start:.0f} s", flush=True)
    for k, mutant in enumerate(left, 1):
        start = time.monotonic()
        judged[mutant], test = runner.judge(mutant)
        seconds = time.monotonic() - start
        print(f"{k}/{len(left)} {judged[mutant]:8} {seconds:5.1f} s  {mutant.key}  {test}", flush=True)
        if results:
            said = {"key": mutant.key, "status": judged[mutant], "test": test, "seconds": round(seconds, 1)}
            with results.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(said) + "\n")
    print("", *table(judged), sep="\n")
    for mutant, status in judged.items():
        if status == "survived":
            print(f"\n{diff(mutant)}")


if __name__ == "__main__":
    import hypothesis  # noqa: F401  (what is slow to load is loaded once, before the forks)
    import numpy  # noqa: F401
    import pytest

    main()
