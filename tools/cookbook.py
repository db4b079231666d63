"""The programs of docs/cookbook: run them, and write their output into the pages.

python tools/cookbook.py                     run every program and report which fail
python tools/cookbook.py --write [SLUG …]    run programs, and write their output and pictures into the pages
python tools/cookbook.py --types PYRIGHT     check the types of all programs with `PYRIGHT`, strictly
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "cookbook"
PICTURES = ROOT / "docs" / "pictures" / "cookbook"
MAX_LINES = 20
UNTYPED = "# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false\n"
PROGRAM = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<text>.*?)^```python\n(?P<source>.*?)^```\n(?:\n```text output\n(?P<output>.*?)^```\n)?"
    r"(?P<after>.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Program:
    """One program of the cookbook: its title, the page it is on, its source, and the output that the page shows."""

    title: str
    page: Path
    source: str
    output: str | None
    pictures: tuple[str, ...]

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    @property
    def lines(self) -> int:
        """Lines of code, without blank lines."""
        return sum(bool(line.strip()) for line in self.source.splitlines())


def read_programs() -> list[Program]:
    """Return the programs of all pages, in the order of the pages."""
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    names = re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.MULTILINE | re.DOTALL)[0].split()
    pages = [PAGES / f"{name}.md" for name in names if not name.startswith(":")]
    return [
        Program(
            m["title"], page, m["source"], m["output"], tuple(re.findall(r"pictures/cookbook/([\w.-]+)", m["after"]))
        )
        for page in pages
        for m in PROGRAM.finditer(page.read_text(encoding="utf-8"))
    ]


def run_program(program: Program) -> tuple[str, dict[str, object]]:
    """Return what a program prints, and its variables. It runs in the current folder, in a namespace of its own."""
    variables: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program.source, program.slug, "exec"), variables)
    return printed.getvalue(), variables


def run_in_folder(program: Program, write: bool) -> None:
    """Run a program in an empty folder and print its time. If `write`, its output and pictures go into the page."""
    home = Path.cwd()
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            printed = run_program(program)[0]
            said = "ok"
        except Exception as error:
            printed, said = None, f"{type(error).__name__}: {error}"
            if os.environ.get("TRACEBACK"):
                traceback.print_exc()
        finally:
            os.chdir(home)
        print(f"{program.slug:48} {time.process_time() - start:6.1f} s  {said}", flush=True)
        if write and printed is not None:
            write_output(program, printed)
            for name in program.pictures:
                keep_picture(Path(folder) / name)


def write_output(program: Program, printed: str) -> None:
    text = program.page.read_text(encoding="utf-8")
    block = f"```python\n{program.source}```\n"
    old = block if program.output is None else f"{block}\n```text output\n{program.output}```\n"
    shown = "\n".join(line.rstrip() for line in printed.splitlines())
    program.page.write_text(text.replace(old, f"{block}\n```text output\n{shown}\n```\n"), encoding="utf-8")


def keep_picture(file: Path) -> None:
    """Copy a picture to the folder of the pages, with at most 64 colors."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".png":
        from PIL import Image

        with Image.open(file) as image:
            image.convert("RGB").quantize(64, kmeans=1).save(PICTURES / file.name, optimize=True)
    else:
        (PICTURES / file.name).write_bytes(file.read_bytes())


def check_types(pyright: str) -> int:
    """Run pyright with strict rules over all programs, and return its exit code.

    python-control, SymPy and matplotlib leave types of their own out. What pyright cannot know about their members is
    therefore no error in the programs that use them.
    """
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")], "reportMissingTypeStubs": False}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyrightconfig.json").write_text(json.dumps(config))
        for program in read_programs():
            foreign = re.search(r"^import (control|sympy)|savefig", program.source, re.MULTILINE)
            comment = UNTYPED if foreign else ""
            (Path(folder) / f"{program.slug.replace('-', '_')}.py").write_text(comment + program.source)
        command = [pyright, "--pythonpath", sys.executable, "--project", folder]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    if "--types" in sys.argv:
        sys.exit(check_types(sys.argv[-1]))
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    os.environ.setdefault("DALEMBERT_LLVM_LEVEL", "0")
    slugs = [word for word in sys.argv[1:] if not word.startswith("--")]
    for program in read_programs():
        if not slugs or program.slug in slugs:
            run_in_folder(program, "--write" in sys.argv)
