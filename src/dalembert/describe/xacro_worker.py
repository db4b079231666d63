"""The process that `xacro.expand` starts: a request as JSON on stdin, the answer as JSON on stdout.

A script of its own that imports nothing of Dalembert, so that it starts fast and has little to break.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

ANCESTORS = 6  # how far up from the file $(find pkg) looks


def main() -> None:
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # what a file prints is not the answer
        try:
            answer = {"urdf": _expand(request)}
        except (Exception, SystemExit) as error:
            answer = {"error": _words(error, request)}
    json.dump(answer, sys.stdout)


class PackageNotFound(LookupError):
    """$(find pkg) found nothing."""


def _words(error: BaseException, request: dict[str, Any]) -> str:
    """One line. What is ours to say is found below xacro's own exception, which wraps everything."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PackageNotFound):
            return str(cause)
        if isinstance(cause, MemoryError):
            return f"it needs more than {request['memory'] >> 20} MiB of memory"
        cause = cause.__context__
    return " ".join(str(error).split()) or type(error).__name__


def _expand(request: dict[str, Any]) -> str:
    xacro = importlib.import_module("xacro")
    path = Path(request["path"])
    if importlib.util.find_spec("ament_index_python") is None:
        _without_ros([Path(d) for d in request["package_dirs"]], path)
    _limit(int(request["memory"]), int(request["seconds"]) + 1)
    document = xacro.process_file(str(path), mappings=request["mappings"])
    return str(document.toprettyxml(indent="  "))


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
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # A system may not enforce one of them (macOS: address space); the others still count.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))


def _without_ros(package_dirs: list[Path], file: Path) -> None:
    """Give xacro the one function of ROS that it imports for $(find pkg)."""

    def get_package_share_directory(package: str) -> str:
        for folder in _candidates(package, package_dirs, file):
            if folder.is_dir():
                return str(folder)
        raise PackageNotFound(f"package {package!r} not found; name the folder that holds it in package_dirs")

    packages = types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = get_package_share_directory  # type: ignore[attr-defined]
    sys.modules["ament_index_python"] = types.ModuleType("ament_index_python")
    sys.modules["ament_index_python.packages"] = packages


def _candidates(package: str, package_dirs: list[Path], file: Path) -> list[Path]:
    if not package or package in (".", "..") or "/" in package or "\\" in package:
        return []
    above = list(file.parents)[:ANCESTORS]
    itself = [folder for folder in above if folder.name == package]
    return [folder / package for folder in package_dirs] + itself + [folder / package for folder in above]


if __name__ == "__main__":
    main()
