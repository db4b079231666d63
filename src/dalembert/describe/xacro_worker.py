"""The process that `xacro.expand` starts: a request as JSON on stdin, the answer as JSON on stdout.

A script of its own that imports nothing of Dalembert but the evaluator of expressions and the finder of packages, so
that it starts fast and has little to break. Before it looks at the file it gives up what expanding does not need: the
environment, writing, starting processes, sockets, loading modules, and reading outside the description's folder and
packages.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import re
import stat
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

LONGEST = 1000  # characters of a complaint: xacro quotes whole expressions
ANCESTORS = 6  # how far up from the file $(find pkg) looks
_SCATTERED = ("*.xacro", "*/*.xacro")  # a package without its package.xml has some of these
_HOME = Path(os.path.expanduser("~"))
# The first words of the events that sys.addaudithook hears and expanding has no use for.
_UNNEEDED = {
    *("code", "ctypes", "exec", "fcntl", "ftplib", "function", "gc", "http", "import", "marshal", "mmap", "msvcrt"),
    *("os", "pickle", "pty", "shutil", "signal", "smtplib", "socket", "sqlite3", "subprocess", "syslog", "tempfile"),
    *("urllib", "webbrowser", "winreg", "_winapi"),
}
_LISTING = ("os.listdir", "os.scandir")  # includes may be patterns


def main() -> None:
    request = json.load(sys.stdin)
    answering = sys.stdout
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # what a file prints is not the answer
        sys.stdout = sys.stderr = nowhere
        try:
            urdf = _expand(request)
            if len(urdf) > request["largest"]:
                raise Refused(f"it expands to more than {request['largest'] >> 20} MiB, which no robot needs")
            answer = {"urdf": urdf}
        except (Exception, SystemExit) as error:
            answer = {"error": _words(error, request)}
    json.dump(answer, answering)
    answering.flush()


class Refused(Exception):
    """What the file asks for is not given."""


def _words(error: BaseException, request: dict[str, Any]) -> str:
    """One line. What is ours to say is found below xacro's own exception, which wraps everything."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Refused):
            return " ".join(str(cause).split())
        if isinstance(cause, MemoryError):
            return f"it needs more than {request['memory'] >> 20} MiB of memory"
        cause = cause.__context__
    if str(error).startswith("<class"):  # xacro puts the type before what it wraps
        error = getattr(error, "exc", None) or error
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__


def _expand(request: dict[str, Any]) -> str:
    path = Path(request["path"])
    installed = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    # The folder of the file, the package around it, and the folders that the caller named.
    around = next((p for p in list(path.parents)[:ANCESTORS] if (p / "package.xml").is_file()), path.parent)
    roots = [str(path.parent), str(around), *request["package_dirs"]]
    for late in ("xml.dom.expatbuilder", "unicodedata"):  # which would be loaded when it is too late
        importlib.import_module(late)
    xacro = importlib.import_module("xacro")
    arguments = importlib.import_module("xacro.substitution_args")
    if importlib.util.find_spec("ament_index_python") is None:
        _without_ros([Path(d) for d in request["package_dirs"]], path, roots)
    else:
        importlib.import_module("ament_index_python.packages")
    _evaluate_here(xacro, arguments)
    os.environ.clear()  # $(env …) sees nothing but where ROS is
    if installed:
        os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(installed)
    _limit(int(request["memory"]), int(request["seconds"]) + 1)
    sys.addaudithook(_guard(roots, installed, int(request["largest"])))
    document = xacro.process_file(str(path), mappings=request["mappings"])
    return str(document.toprettyxml(indent="  "))


def _evaluate_here(xacro: types.ModuleType, arguments: types.ModuleType) -> None:
    """Give xacro our evaluator in place of its two calls of `eval`."""
    expressions = _load("xacro_expressions")
    names = xacro._global_symbols
    dict.pop(names["python"], "vars")  # what objects are made of
    dict.__setitem__(names["python"], "type", _kind)
    spaces = [names, *(value for value in names.values() if isinstance(value, xacro.NameSpace))]
    functions = [value for space in spaces for value in dict.values(space) if callable(value)]
    records = (xacro.YamlDictWrapper, xacro.YamlListWrapper)
    evaluator = expressions.Evaluator(functions, (xacro.Table,), records)
    vars(xacro)["safe_eval"] = lambda text, names, _=None: evaluator.evaluate(text, names)

    def evaluate(text: str, context: dict[str, Any]) -> str:
        given = context.setdefault("arg", {})
        known = {name: value for name, value in arguments._eval_dict.items() if not name.startswith("_")}
        known |= arguments._eval_dict["__builtins__"]
        known["arg"] = lambda name: arguments.convert_value(arguments._eval_arg(name, args=given), "auto")
        known["dirname"] = lambda: arguments._eval_dirname(context["filename"])
        alone = expressions.Evaluator([value for value in known.values() if callable(value)])
        return str(alone.evaluate(text, arguments._DictWrapper(given, known)))

    vars(arguments)["_eval"] = evaluate


def _load(name: str) -> types.ModuleType:
    """A module beside this one, without the package it is in."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _kind(value: object) -> type:
    """`type` of one value: with three it would make a class."""
    return type(value)


def _guard(roots: list[str], installed: list[str], largest: int) -> Callable[[str, tuple[Any, ...]], None]:
    """What hears of everything that touches the system, and refuses it."""

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            _look_at(given[0], given[1], given[2], roots, installed, largest)
        elif event.partition(".")[0] in _UNNEEDED and event not in _LISTING:
            raise Refused(f"a description has no business with {event}")

    return hear


def _look_at(path: str, mode: str | None, flags: int, roots: list[str], installed: list[str], largest: int) -> None:
    if set(mode or "") & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
        raise Refused(f"a description may not write {str(path)!r:.200}")
    place = os.path.realpath(path)
    # What ROS has installed may be links into a workspace.
    if not (_below(place, map(os.path.realpath, roots)) or _below(os.path.abspath(path), installed)):
        raise Refused(
            f"{str(path)!r:.200} is outside the folder of the description and its packages; if that is right, name "
            "its folder with `package_dirs=[…]`"
        )
    try:
        status = os.stat(place)
    except OSError:  # opening it will say why
        return
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{str(path)!r:.200} is no regular file")
    if status.st_size > largest:
        raise Refused(f"{str(path)!r:.200} is larger than {largest >> 20} MiB, which no robot needs")


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the time limit of the parent remains
        return
    wanted = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,  # no file can be written; pipes are not files
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,  # no process can be started
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # A system may not enforce one of them (macOS: address space); the others still count.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))


def _without_ros(package_dirs: list[Path], file: Path, roots: list[str]) -> None:
    """Give xacro the one function of ROS that it imports for $(find pkg)."""
    # Now, because later nothing outside the roots can be read.
    known = _load("packages").packages([*package_dirs, *list(file.parents)[: ANCESTORS + 1]])

    def get_package_share_directory(package: str) -> str:
        for folder in (known.get(package), *_candidates(package, package_dirs, file)):
            if folder is not None and folder.is_dir():
                roots.append(str(folder))
                return str(folder)
        raise Refused(f"package {package!r} not found; name the folder it is in with `package_dirs=[…]`")

    packages = types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = get_package_share_directory  # type: ignore[attr-defined]
    sys.modules["ament_index_python"] = types.ModuleType("ament_index_python")
    sys.modules["ament_index_python.packages"] = packages


def _candidates(package: str, package_dirs: list[Path], file: Path) -> list[Path]:
    """Folders of the name of a package."""
    if not re.fullmatch(r"[A-Za-z][\w-]*", package):
        return []
    named = [folder if folder.name == package else folder / package for folder in package_dirs]
    above = [folder / package for folder in list(file.parents)[: ANCESTORS + 1]]
    return named + [folder for folder in above if _is_package(folder)]


def _is_package(folder: Path) -> bool:
    """/etc, /tmp and the user's own folder are none, whatever lies in them."""
    if (folder / "package.xml").is_file():
        return True
    private = len(folder.parts) <= 2 or _HOME.is_relative_to(folder)
    return not private and any(any(folder.glob(pattern)) for pattern in _SCATTERED)


if __name__ == "__main__":
    main()
