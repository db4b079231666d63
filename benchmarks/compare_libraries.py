"""Run the programs of the cookbook beside the same tasks in other libraries, and compare their results.

python benchmarks/compare_libraries.py --peers PYTHON        compare every pair; PYTHON has the other libraries
python benchmarks/compare_libraries.py --peers PYTHON SLUG   one pair
python benchmarks/compare_libraries.py --table               write the table of docs/cookbook/peers.md

Each file of benchmarks/cookbook_peers has the name of a program. Its comments `# compare: A = B` say that A in our
program must equal B in the file, within `# tolerance:`. Both run in the same folder, which contains the robot files.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from cookbook import PAGES, Program, read_programs, run_program  # noqa: E402

FOLDER = ROOT / "benchmarks" / "cookbook_peers"
TITLES = {
    "control": "python-control",
    "mujoco": "MuJoCo",
    "pinocchio": "Pinocchio",
    "pydrake": "Drake",
    "roboticstoolbox": "Robotics Toolbox",
}
SHARED = {"numpy", "pathlib", "dataclasses", "__future__"}  # both sides use them alike
SHARED_TYPES = (np.ndarray, np.poly1d, str, list, dict, tuple, float, Path)
SHARED_ATTRIBUTES = {name for kind in SHARED_TYPES for name in dir(kind)}
START, END = "<!-- table -->", "<!-- end -->"
RUN_PEER = """
import json, sys
import numpy as np
source, names = open(sys.argv[1], encoding="utf-8").read(), json.loads(sys.argv[2])
namespace = {"__name__": "__main__"}
exec(compile(source, sys.argv[1], "exec"), namespace)
values = [np.asarray(eval(name, namespace), dtype=float).tolist() for name in names]
print("\\n" + json.dumps(values))
"""


@dataclass(frozen=True)
class Peer:
    """A program of another library: its source, the expressions to compare, and the tolerance."""

    slug: str
    source: str

    @property
    def pairs(self) -> list[tuple[str, str]]:
        found = re.findall(r"^# compare: (.+) = (.+)$", self.source, re.MULTILINE)
        return [(ours.strip(), theirs.strip()) for ours, theirs in found]

    @property
    def tolerance(self) -> float:
        return float(re.findall(r"^# tolerance: (.+)$", self.source, re.MULTILINE)[0])

    @property
    def library(self) -> str:
        return " and ".join(
            title for name, title in TITLES.items() if re.search(rf"^(import|from) {name}", self.source, re.M)
        )

    @property
    def lines(self) -> int:
        return sum(bool(line.strip()) and not line.startswith("#") for line in self.source.splitlines())


def read_peers() -> list[Peer]:
    return [Peer(file.stem, file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.py"))]


def root_of(node: ast.expr, through: tuple[type, ...] = (ast.Attribute, ast.Call, ast.Subscript)) -> str | None:
    """Return the name at the beginning of `a.b.c` or `a.b(…).c`, or None if there is none."""
    while isinstance(node, through):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def library_identifiers(source: str) -> set[str]:
    """Return the distinct names of libraries that a program uses: imported names, attributes and keyword arguments.

    Names of NumPy, of Python and of their types do not count. Names that the program itself defines do not count.
    """
    tree = ast.parse(source)
    found, shared = set(), set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                (shared if top in SHARED else found).add((alias.asname or alias.name) if top in SHARED else top)
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if str(node.module).split(".")[0] in SHARED:
                shared |= names
            else:
                found |= names | {str(node.module).split(".")[0]}
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    aliases = {a.asname for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names if a.asname} - shared
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and root_of(node) not in shared:
            of_module = root_of(node, (ast.Attribute,)) in aliases
            found |= {node.attr} if of_module or node.attr not in SHARED_ATTRIBUTES else set()
        if isinstance(node, ast.Call) and root_of(node.func) not in shared | own:
            found |= {keyword.arg for keyword in node.keywords if keyword.arg}
    return found


def write_robots(*sources: str) -> None:
    """Write the bundled robots that the programs read, as URDF files."""
    import dalembert as dl

    for name in set(re.findall(r"([\w-]+)\.urdf", " ".join(sources))) & set(dl.robots.names()):
        dl.load(name).save(f"{name}.urdf")


def compare(program: Program, peer: Peer, python: str) -> float:
    """Return the largest difference between the results of a program and those of its peer."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            write_robots(program.source, peer.source)
            namespace = run_program(program)[1]
            ours = [np.asarray(eval(name, namespace), dtype=float) for name, _ in peer.pairs]
            command = [python, "-c", RUN_PEER, str(FOLDER / f"{peer.slug}.py"), json.dumps([b for _, b in peer.pairs])]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": ""}
            )
        finally:
            os.chdir(home)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    theirs = [np.asarray(value) for value in json.loads(done.stdout.splitlines()[-1])]
    shapes = [(a.shape, b.shape) for a, b in zip(ours, theirs, strict=True) if a.shape != b.shape]
    if shapes:
        raise ValueError(f"shapes differ: {shapes}")
    return max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))


def write_table() -> str:
    """Return the table of docs/cookbook/peers.md: identifiers and lines of both programs, from their syntax trees."""
    programs = {program.slug: program for program in read_programs()}
    lines = [
        "| program | other library | names: Dalembert | names: other | lines: Dalembert | lines: other |",
        "|---|---|---|---|---|---|",
    ]
    sums = np.zeros(4, int)
    for peer in read_peers():
        program = programs[peer.slug]
        names = [len(library_identifiers(source)) for source in (program.source, peer.source)]
        figures = [*names, program.lines, peer.lines]
        sums += figures
        link = f"[{program.title}]({program.page.name}#{program.slug})"
        lines.append(f"| {link} | {peer.library} | " + " | ".join(map(str, figures)) + " |")
    lines.append("| all | | " + " | ".join(map(str, sums)) + " |")
    return "\n".join(lines)


def main() -> int:
    if "--table" in sys.argv:
        page = PAGES / "peers.md"
        before, _, rest = page.read_text(encoding="utf-8").partition(START)
        page.write_text(f"{before}{START}\n\n{write_table()}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        return 0
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    python = str(Path(sys.argv[sys.argv.index("--peers") + 1]).absolute())
    chosen = sys.argv[sys.argv.index("--peers") + 2 :]
    programs = {program.slug: program for program in read_programs()}
    failed = 0
    for peer in read_peers():
        if chosen and peer.slug not in chosen:
            continue
        try:
            difference = compare(programs[peer.slug], peer, python)
            result = f"{difference:9.1e}  tolerance {peer.tolerance:.0e}"
            bad = not difference <= peer.tolerance
        except Exception as error:
            result, bad = f"{type(error).__name__}: {error}", True
        failed += bad
        print(f"{peer.slug:48} {peer.library:32} {result}{'  FAILED' if bad else ''}", flush=True)
    print(f"{len(read_peers())} programs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
