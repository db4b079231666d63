"""Many descriptions in one run: files and folders, none of which can stop it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, InputError
from dalembert.findings import Place
from dalembert.trust.doctor.checkup import CheckUp, Paths, check
from dalembert.trust.doctor.rules import Found, finding_of, rule

_WHY = "A slip of Dalembert, not of the file: please report it with the file."


@rule("D000", "error", "the check itself failed", _WHY)
def _never(_case: object) -> Iterator[Found]:
    """Entered by hand, below."""
    return iter(())


def files_of(paths: Paths) -> list[Path]:
    """Every file named, and every .urdf below every folder named, in the order of their names."""
    found: list[Path] = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        below = sorted(_urdfs(path)) if path.is_dir() else [path]
        if not below:
            raise InputError(f"{path}: there is no .urdf below this folder")
        found += below
    return list(dict.fromkeys(found))


def _urdfs(folder: Path) -> Iterator[Path]:
    """Links to folders are not followed: they may lead in a circle."""
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names if name.lower().endswith(".urdf"))


def check_all(
    paths: Paths,
    *,
    package_dirs: Paths = (),
    meshes: bool = True,
    strict: bool = False,
    allow: Collection[str] = (),
    each: Callable[[int, int, CheckUp], None] | None = None,
) -> list[CheckUp]:
    """A check-up of every file, and of every .urdf below every folder; `each(k, n, check_up)` is called after each."""
    files = files_of(paths)
    ups = []
    for k, file in enumerate(files):
        ups.append(_safely(file, package_dirs=package_dirs, meshes=meshes, strict=strict, allow=allow))
        if each is not None:
            each(k + 1, len(files), ups[-1])
    return ups


def _safely(file: Path, **how: Any) -> CheckUp:
    """The check-up; what goes wrong in it is a finding, because the next files wait."""
    started = time.perf_counter()
    try:
        return check(file, **how)
    except DalembertError as error:
        identifier, message, fix = "D001", str(error), "see the message"
    except Exception as error:  # a slip of ours must not cost the rest of the run
        identifier, message, fix = "D000", f"{type(error).__name__}: {error}", "report it"
    finding = finding_of(identifier, Place(str(file)), "file", message, fix)
    return CheckUp(str(file), (finding,), False, message, time.perf_counter() - started)
