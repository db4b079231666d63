"""Object code on disk, so that a kernel compiled once starts in milliseconds ever after.

A file holds a header, the checksum of the rest, and the code. It is code that will run, so it is
trusted only if it is ours: the folder belongs to this user and nobody else may write to it. Files are
written under another name and renamed; whatever is damaged or foreign is ignored and made again.
DALEMBERT_CACHE names another folder; an empty value turns the cache off. DALEMBERT_CACHE_SIZE says how many megabytes
it may have, 512 else: what was not used for longest goes first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
import warnings
from functools import lru_cache
from pathlib import Path

MAGIC = b"dalembert object 1\n"
TEMPORARY = ".dalembert-"
MEGABYTES = 512.0
DIGITS = 64  # of the name of a kernel
STALE = 3600.0  # [s] a write takes less than one
_BINARY = getattr(os, "O_BINARY", 0)


def folder() -> Path | None:
    """Where the cache is, or None if it is turned off."""
    chosen = os.environ.get("DALEMBERT_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return Path(base) / "dalembert"


def largest() -> float:
    """How many bytes the cache may have."""
    text = os.environ.get("DALEMBERT_CACHE_SIZE", "").strip()
    try:
        megabytes = float(text or MEGABYTES)
    except ValueError:
        megabytes = -1.0
    if not megabytes >= 0:
        _say(f"DALEMBERT_CACHE_SIZE is a number of megabytes, not {text!r:.40}; {MEGABYTES:g} are taken")
        megabytes = MEGABYTES
    return megabytes * 1e6


@lru_cache(maxsize=16)
def _say(text: str) -> None:
    """A warning, once."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def key(*parts: str) -> str:
    """A name for what these texts determine."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _ours(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def unused(where: Path) -> str | None:
    """Why this folder is not used, though it is there; else None."""
    try:
        status = where.lstat()
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return "it is a link; name the folder that it leads to"
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder"
    if not _ours(status):
        return "it belongs to another user, or others may write to it; make it yours alone with chmod 700"
    return None


def _used(where: Path) -> bool:
    why = unused(where)
    if why is not None:
        _say(f"the cache {str(where)!r} is not used: {why}")
    return why is None


def load(name: str) -> bytes | None:
    """The code stored under this name, if it is there, whole and ours."""
    where = folder()
    if where is None or not _used(where):
        return None
    try:
        # Not waiting for a writer, should the name be a pipe's.
        with open(os.open(where / name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY), "rb") as file:
            status = os.fstat(file.fileno())
            if not _ours(status) or not stat.S_ISREG(status.st_mode):
                return None
            data = file.read()
    except OSError:
        return None
    head = len(MAGIC) + 32
    code = data[head:]
    whole = data.startswith(MAGIC) and data[len(MAGIC) : head] == _checksum(name, code)
    if not whole:
        return None
    with contextlib.suppress(OSError):
        os.utime(where / name)  # used now
    return code


def _checksum(name: str, code: bytes) -> bytes:
    """Of the name too: a file that was swapped for another is not taken."""
    return hashlib.sha256(name.encode() + code).digest()


def store(name: str, code: bytes) -> None:
    """Keep the code under this name. A cache that cannot be written is not an error."""
    import tempfile  # not needed to read what is there

    where = folder()
    if where is None or not _used(where):
        return
    with contextlib.suppress(OSError):
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(where.lstat()):
            return
        _make_room(where, largest() - len(code))
        handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=where)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _checksum(name, code) + code)
            os.replace(temporary, where / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def _make_room(where: Path, size: float) -> None:
    """Remove what was not used for longest until the rest has this size, and what interrupted writes left behind."""
    found = [(file.lstat(), file) for file in where.iterdir()]
    kernels = sorted((s.st_mtime, s.st_size, file) for s, file in found if len(file.name) == DIGITS)
    total = sum(bytes_ for _, bytes_, _ in kernels)
    leaving = [f for s, f in found if f.name.startswith(TEMPORARY) and s.st_mtime < time.time() - STALE]
    for _, bytes_, file in kernels:
        if total <= size:
            break
        if _is_kernel(file):
            leaving.append(file)
            total -= bytes_
    for file in leaving:
        with contextlib.suppress(OSError):
            file.unlink()


def _is_kernel(file: Path) -> bool:
    """Named by 64 hexadecimal digits, and beginning as our files begin."""
    if len(file.name) != DIGITS or set(file.name) - set("0123456789abcdef") or file.is_symlink() or not file.is_file():
        return False
    with open(file, "rb") as data:
        return data.read(len(MAGIC)) == MAGIC


def entries() -> dict[str, int]:
    """The names of what is stored, and their sizes in bytes."""
    where = folder()
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        if where is not None and unused(where) is None:
            found = {file.name: file.stat().st_size for file in where.iterdir() if _is_kernel(file)}
    return found


def clear() -> int:
    """Remove what is stored, and what an interrupted write left behind, and nothing else; how many kernels there
    were."""
    where = folder()
    names = list(entries())
    if where is not None and where.is_dir() and not where.is_symlink():
        for name in (*names, *(file.name for file in where.glob(TEMPORARY + "*"))):
            with contextlib.suppress(OSError):
                (where / name).unlink()
    return len(names)


@lru_cache(maxsize=1)
def emitter() -> str:
    """What turns programs into code, as a digest of this folder's own text: part of every key, so that code of another
    version of it is never taken for this one's."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
