"""xacro → URDF text, by the reference program in a process of its own.

xacro hands expressions to Python, loads YAML files and reads environment variables: it is no sandbox. So it runs apart,
with our evaluator of expressions (`xacro_expressions.py`), without an environment, with limits on time and memory, and
with a guard that refuses to write, to start anything and to read outside the description's folder and packages.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dalembert.errors import DescriptionError, MissingExtraError
from dalembert.files import DESCRIPTION, opened

TIME = 30.0  # seconds; the largest robot of the packages takes 0.4
MEMORY = 2 << 30  # bytes of address space

# What Python and ROS need to find themselves.
_ENVIRONMENT = ("PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "SYSTEMROOT", "AMENT_PREFIX_PATH")
_WORKER = Path(__file__).with_name("xacro_worker.py")


def expand(
    path: str | os.PathLike[str],
    mappings: Mapping[str, object] | None = None,
    *,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    seconds: float = TIME,
) -> str:
    """The URDF text of a .xacro file, its arguments ($(arg name)) taken from `mappings`.

    `$(find pkg)` is the package with that <name> in its package.xml, or else the folder of that name, in one of
    `package_dirs`, or one of them, or on the way up from the file.
    Includes and YAML files lie in the folder of the file, in the package around it, or in such a folder.
    Needs the extra [xacro]. Anything that xacro objects to is a DescriptionError in its words.
    """
    file = Path(path)
    if not os.path.exists(file):
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem="the file does not exist")
    try:
        opened(file, DESCRIPTION).close()
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem=problem) from None
    if importlib.util.find_spec("xacro") is None:
        problem = f"{file.name} needs the package 'xacro'"
        remedy = "Install it with pip install 'dalembert[xacro]'."
        raise MissingExtraError("missing-extra", "xacro", problem=problem, remedy=remedy)
    request = {
        "path": str(file.resolve()),
        "mappings": {str(k): _argument(v) for k, v in (mappings or {}).items()},
        "package_dirs": [str(Path(d).expanduser().resolve()) for d in package_dirs],
        "seconds": seconds,
        "memory": MEMORY,
        "largest": DESCRIPTION,
    }
    answer = _run(request, file, seconds)
    if "urdf" not in answer:
        problem = f"xacro reports: {answer['error']}"
        raise DescriptionError("syntax", "path", str(file), place=str(file), problem=problem)
    return answer["urdf"]


def _argument(value: object) -> str:
    """xacro's arguments are text, and its booleans are lower-case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _run(request: dict[str, object], file: Path, seconds: float) -> dict[str, str]:
    # -P: the worker's folder is not searched for modules, or `import xacro` would find this file.
    command = [sys.executable, "-P", "-B", str(_WORKER)]
    environment = {k: os.environ[k] for k in _ENVIRONMENT if k in os.environ}
    try:
        done = subprocess.run(
            command, input=json.dumps(request).encode(), capture_output=True, timeout=seconds, env=environment
        )
    except subprocess.TimeoutExpired:
        problem = f"xacro did not finish in {seconds:g} s"
        remedy = "Look for a macro that calls itself, or an expression over very many values."
        raise DescriptionError("failed", "seconds", seconds, place=str(file), problem=problem, remedy=remedy) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else f"exit code {done.returncode}"
        problem = f"xacro stopped without an answer ({why})"
        raise DescriptionError("failed", "path", str(file), place=str(file), problem=problem) from None
    return dict(answer)
