"""Measure what `src` costs to read and to change, one row per figure, beside its limit.

python tools/house.py                  print the table; exit code 1 if a row misses its limit
python tools/house.py --root FOLDER    the same for another checkout, for example of an older version
python tools/house.py FOLDER           print code lines, docstring lines and modules of one folder

The unit of size is one formatted code line: a line of Python after `ruff format`, or of JavaScript with one statement
per line, in both cases at most 120 characters long, without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(sys.argv[2]).resolve() if sys.argv[1:2] == ["--root"] else Path(__file__).parent.parent
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


JAVASCRIPT_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                              # comments
    |`(?:\\.|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}|[^`\\])*`  # template literals, one level of nesting
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'        # strings
    |(?<=[(,=:\[!&|?{};])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*  # regular expressions
    |.""",
    re.DOTALL | re.VERBOSE,
)
LINE_WIDTH = 120


def count_javascript(source: str) -> int:
    """Return the code lines of a JavaScript file: one statement per line, lines of at most 120 characters."""
    open_brackets: list[str] = []
    lines = [""]
    for token in JAVASCRIPT_TOKEN.findall(source):
        if token in ("(", "{", "["):
            open_brackets.append(token)
        elif token in (")", "}", "]") and open_brackets:
            open_brackets.pop()
        if token == "\n" or (token == ";" and open_brackets[-1:] != ["("]):
            lines.append("")
        elif not token.startswith(("//", "/*")):
            lines[-1] += token
    return sum(-(-len(line.strip()) // LINE_WIDTH) for line in lines)


def count_folder(folder: Path) -> tuple[int, int, int]:
    """(code lines, docstring lines, Python modules) of a folder; stubs and JavaScript are code."""
    files = list(folder.rglob("*.py"))
    counts = [count_lines(file.read_text(encoding="utf-8")) for file in [*files, *folder.rglob("*.pyi")]]
    scripts = sum(count_javascript(file.read_text(encoding="utf-8")) for file in folder.rglob("*.js"))
    return sum(code for code, _ in counts) + scripts, sum(text for _, text in counts), len(files)


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


# ------------------------------------------------------------------------------------------------ names
def repeated_classes() -> list[str]:
    """Names of classes that more than one module defines; private classes and classes inside classes count too."""
    places = defaultdict(set)
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(module)
    return sorted(name for name, where in places.items() if len(where) > 1)


def repeated_constants() -> list[str]:
    """Names in capitals that modules bind, at their top level, to more than one value.

    Every binding counts: also of a private name, of several names in one statement, and with an annotation. Two
    values differ if their source text differs.
    """
    values = defaultdict(set)
    for _, tree in modules():
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                for k, name in enumerate(names):
                    if name.id.isupper():
                        values[name.id].add((k if len(names) > 1 else 0, ast.unparse(node.value)))
    return sorted(name for name, found in values.items() if len(found) > 1)


# ------------------------------------------------------------------------------------------- duplicates
SOLVERS = {"solve", "solve_ldl", "inv", "pinv", "lstsq", "factor_ldl", "factor_gram", "adjugate"}
LOOP_FOLDERS = ("compile/", "ir/", "passes/", "render/", "runtime/", "link/")


def multiplier_definitions() -> list[str]:
    """Functions that solve for λ = (A M⁻¹ Aᵀ)⁻¹ (…): they name A and M and call two solvers, the inner and the outer.

    A function that inverts the matrix (M Aᵀ; A 0) as a whole counts as well: it names A, M and the adjugate.
    """
    found = []
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                named = [
                    n.id if isinstance(n, ast.Name) else n.attr
                    for n in ast.walk(node)
                    if isinstance(n, (ast.Name, ast.Attribute))
                ]
                inner = sum(name in SOLVERS for name in named) >= 2 or "adjugate" in named
                if {"A", "M"} <= set(named) and inner:
                    found.append(f"{module}:{node.name}")
    return found


def loop_builders() -> list[str]:
    """Modules of the compiler that write branches of LLVM text, `br label %…`; modules that read them do not count."""
    return [
        name
        for name, tree in modules()
        if name.startswith(LOOP_FOLDERS)
        and any(isinstance(w, str) and re.search(r"br (label|i1) %?(\w|$)", w) for w in words_in(tree))
    ]


def closed_loop_entrances() -> list[str]:
    """Public functions and methods below `apps/` that run a loop: they take a controller or a plant, and a duration.

    `Experiment` counts once, as its constructor, and `simulate`, which only calls it, does not.
    """
    found = []
    for module, tree in modules():
        holders = [(None, tree), *((node.name, node) for node in tree.body if isinstance(node, ast.ClassDef))]
        for holder, body in holders:
            for node in body.body:
                if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or module.startswith("apps/"):
                    continue
                taken = {a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
                loops = "duration" in taken and taken & {"controller", "controllers", "plant"}
                if loops and ({"x0", "q0"} & taken or "rollout" in node.name):
                    found.append(f"{module}:{holder + '.' if holder else ''}{node.name}")
    if any(classes("Experiment")):
        found = [*(place for place in found if not place.endswith((":simulate", ":Experiment"))), "Experiment"]
    return found


# ------------------------------------------------------------------------------------- measured by running
def run_here(program: str, *arguments: str) -> str:
    """Return what a Python program prints that imports `dalembert` from this checkout, in an empty folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "DALEMBERT_LLVM_LEVEL": "0"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout.splitlines()[-1]


LIST_OPTIONS = """
import json
from importlib import import_module
import click
import dalembert.apps.cli as cli

def commands(command, path):
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), f"{path} {name}".strip())

print(json.dumps([
    (path, parameter.opts + parameter.secondary_opts, parameter.help, parameter.hidden)
    for path, command in commands(cli.main, "")
    for parameter in command.params if isinstance(parameter, click.Option)
]))
"""

PUBLIC_FUNCTIONS = """
import importlib, inspect, json, sys
found = {}
for package in ["dalembert", *(f"dalembert.{name}" for name in sys.argv[1:])]:
    try:
        home = importlib.import_module(package)
    except ModuleNotFoundError:
        continue
    for name in getattr(home, "__all__", ()):
        value = getattr(home, name)
        if not getattr(value, "__module__", "").startswith("dalembert"):
            continue
        members = {f".{m}": getattr(value, m) for m in dir(value) if m[0] != "_"} if inspect.isclass(value) else {}
        for suffix, function in {"": value, **members}.items():
            if callable(function) and getattr(function, "__module__", "").startswith("dalembert"):
                try:
                    signature = inspect.signature(function)
                except (TypeError, ValueError):
                    continue
                annotations = {p.name: str(p.annotation) for p in signature.parameters.values()}
                annotations["return"] = str(signature.return_annotation)
                found[id(function)] = (f"{package}.{name}{suffix}", annotations)
print(json.dumps(list(found.values())))
"""

COUNT_FILES = """
import os, sys, threading
called = set()
def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        called.add(frame.f_code.co_filename)
threading.setprofile(watch)
sys.setprofile(watch)
import dalembert
from dalembert.apps.cli import main
try:
    main(sys.argv[1:], standalone_mode=False)
except SystemExit as end:
    assert not end.code, end
sys.setprofile(None)
home = os.path.dirname(dalembert.__file__)
print(sum(file.startswith(home) for file in called))
"""

WRITE_LOG = """
import numpy as np, dalembert as dl, sys
robot, t, w = dl.load("planar-2r"), np.arange(0, 12, 0.01), 2 * np.pi * 0.25 * np.arange(1, 4)
rng = np.random.default_rng(0)
a = rng.normal(0, 0.4, (3, robot.n))
sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
q, qd, qdd = sine @ a, cosine @ (w[:, None] * a), -sine @ (w[:, None] ** 2 * a)
tau = robot.inverse_dynamics(q, qd, qdd) + 0.5 * qd + rng.normal(0, 0.05, q.shape)
np.savetxt(sys.argv[1], np.column_stack([t, q, tau]), delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
print()
"""

TIME_RUNS = """
import time, numpy as np, dalembert as dl
robot = dl.load("panda")
start = dict(q0=robot.home, duration=0.1)
controller = dl.control.PDGravity(robot, kp=100, kd=20)
if hasattr(dl, "Experiment"):
    experiment = dl.Experiment(robot, controller, reference=robot.home, dt=1e-3)
    batch = lambda: experiment.batch(count=1, **start)
else:
    from dalembert.simulation import rollouts
    batch = lambda: rollouts(robot, controller, reference=robot.home, q0=robot.home[None], duration=0.1, dt=1e-3)
run = lambda: dl.simulate(robot, controller, reference=robot.home, dt=1e-3, **start)
least = {}
for _ in range(20):
    for name, call in (("run", run), ("batch", batch)):
        begin = time.perf_counter()
        call()
        least[name] = min(least.get(name, 1e9), time.perf_counter() - begin)
print(least["run"], least["batch"])
"""


@cache
def options() -> list[tuple[str, list[str], str, bool]]:
    """(command, spellings, help, hidden) of every option of the command line."""
    return [tuple(row) for row in json.loads(run_here(LIST_OPTIONS))]


def spellings() -> list[str]:
    """Long and short option strings of all commands, each counted once; `--no-x` beside `--x` is one of its own."""
    return sorted({word for _, words, _, _ in options() for word in words})


def spellings_with_two_helps() -> list[str]:
    """Option strings whose help differs between two commands."""
    helps = defaultdict(set)
    for _, words, text, hidden in options():
        for word in words if not hidden else ():
            helps[word].add(text)
    return sorted(word for word, texts in helps.items() if len(texts) > 1)


def crowded_commands() -> list[tuple[int, str]]:
    """(visible options besides --help and --json, command), most first."""
    visible = defaultdict(int)
    for command, words, _, hidden in options():
        visible[command] += not hidden and not {"--json", "--help"} & set(words)
    return sorted(((count, command) for command, count in visible.items()), reverse=True)


def public_any() -> list[str]:
    """Parameters and returns of public functions whose annotation is `Any`, alone or as a member of a union."""
    functions = json.loads(run_here(PUBLIC_FUNCTIONS, *sorted(PUBLIC)))
    return [
        f"{name}({argument})"
        for name, annotations in functions
        for argument, annotation in annotations.items()
        if re.search(r"(^|\| |typing\.)Any($| \|)", re.sub(r"\[.*\]", "", annotation))
    ]


def files_touched(*command: str, log: bool = False) -> int:
    """Modules of src in which a command of the command line calls a function; module bodies alone do not count."""
    with tempfile.TemporaryDirectory() as folder:
        if log:
            run_here(WRITE_LOG, f"{folder}/log.csv")
        return int(run_here(COUNT_FILES, *(word.replace("FOLDER", folder) for word in command)))


def run_beside_batch() -> int:
    """Warm `simulate` of a Panda over 100 steps, in hundredths of the time of a batch of one run."""
    run, batch = map(float, run_here(TIME_RUNS).split())
    return round(100 * run / batch)


def weak_cases() -> dict[str, list[str]]:
    """Test cases by their fault, `wording` or `vacuous`, as `tools/weak_cases.py` finds them, if that file exists."""
    if not (Path(__file__).parent / "weak_cases.py").exists():
        return {}
    sys.path.insert(0, str(Path(__file__).parent))
    found: dict[str, list[str]] = import_module("weak_cases").find_cases(ROOT / "tests")
    return found


# Rows of the table that other commands measure, because they take minutes.
ELSEWHERE = (
    ("`make test` cold, two cores", "rm -rf ~/.cache/dalembert && time make test", "as before"),
    ("speed of every row of docs/benchmarks.md", "make bench-compare", "within 3 % beyond the spread"),
    ("results, 832 calls", "python tools/golden.py", "bit for bit"),
    ("first solve of a humanoid's optimal control", "python benchmarks/optimal.py", "≤ 10 s cold"),
)


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
    crowded = crowded_commands()
    weak = weak_cases()
    compiled = ("optimal/c_export.py", "optimal/memory.py", "kernels.py")
    compiler = sum(count_folder(SRC / folder)[0] for folder in LOOP_FOLDERS) + sum(
        count_lines((SRC / name).read_text(encoding="utf-8"))[0] for name in compiled if (SRC / name).exists()
    )
    lists: list[tuple[str, list[str], int]] = [
        ("modules of the compiler that build loops as LLVM text", loop_builders(), 2),
        ("functions that define λ = (A M⁻¹ Aᵀ)⁻¹ (…)", multiplier_definitions(), 1),
        ("public ways into the closed loop", closed_loop_entrances(), 1),
        ("class names that two modules define", repeated_classes(), 0),
        ("constants of one name and several values", repeated_constants(), 30),
        ("spellings of options", spellings(), 110),
        ("spellings of options with two helps", spellings_with_two_helps(), 0),
        ("public parameters and returns that are Any", public_any(), 0),
    ]
    if weak:
        lists += [
            ("test cases that assert wording", weak["wording"], 50),
            ("test cases that cannot fail", weak["vacuous"], 0),
        ]
    skips = [f.as_posix() for f in SRC.rglob("*.py") if re.search(r"# fmt: *(skip|off)", f.read_text(encoding="utf-8"))]
    return [
        ("code lines in src, with JavaScript", code, 79_000, []),
        ("modules in src", count, 450, []),
        ("code lines of the compiler, C of solvers and kernel tables", compiler, 5_800, []),
        *((what, len(where), limit, where) for what, where, limit in lists),
        ("visible options of one command", crowded[0][0], 15, [f"{c} {n}" for n, c in crowded if n > 15]),
        (
            "modules that `report panda` calls",
            files_touched("report", "panda", "--seconds", "5", "-o", "FOLDER/r.html"),
            200,
            [],
        ),
        (
            "modules that `identify planar-2r` calls",
            files_touched("identify", "planar-2r", "FOLDER/log.csv", log=True),
            100,
            [],
        ),
        ("warm simulate of 100 steps, in hundredths of a batch of one", run_beside_batch(), 150, []),
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
    if len(sys.argv) == 2:
        print("{} code, {} docstrings, {} modules".format(*count_folder(Path(sys.argv[1]))))
        sys.exit()
    missed = 0
    for what, found, limit, where in measure():
        missed += found > limit
        print(f"{what:72}{found:7} of at most {limit}" + ("" if found <= limit else "  missed"))
        if found > limit and where:
            print("    " + ", ".join(where[:12]) + (f", … {len(where)}" if len(where) > 12 else ""))
    for what, command, wanted in ELSEWHERE:
        print(f"{what:72}{wanted}: {command}")
    sys.exit(missed > 0)
