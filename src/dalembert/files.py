"""Files that users name: read if they are regular and not too large; written whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dalembert.errors import DalembertError, InputError
from dalembert.names import in_table

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# The most that is read of a file, or unpacked from it [bytes].
DESCRIPTION = 64 << 20  # the largest of the packages is under one million
MESH = 256 << 20
LOG = 1 << 30
BAG = 1 << 40  # cameras fill it, and only the messages of the joints are read


def opened(path: Any, most: int) -> IO[bytes]:
    """The file, open for reading, if it is regular and has at most so many bytes; else an OSError whose `strerror` says
    why. A pipe is not waited for, and a device, which may never end, not read."""
    unhurried = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | unhurried))  # noqa: SIM115 - it is given
    status = os.fstat(file.fileno())
    why = None
    if not stat.S_ISREG(status.st_mode):
        why = errno.EINVAL, "it is no regular file, but a pipe, a device or the like"
    elif status.st_size > most:
        why = errno.EFBIG, f"it is larger than {most >> 20} MiB, the most that is read of such a file"
    if why is not None:
        file.close()
        raise OSError(*why, str(path))
    return file


def contents(path: Any, most: int) -> bytes:
    """The bytes of such a file."""
    with opened(path, most) as file:
        data = file.read(most + 1)  # it may have grown, or be one of /proc, which have no size
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most >> 20} MiB", str(path))
    return data


MAX_KEY_PARTS = 32  # of a TOML key a.b.c: the time that tomllib takes is quadratic in them
_PART = r"""(?>[\w-]++|"(?:[^"\\]|\\.)*+"?+|'[^']*+'?+)"""  # an open string ends with its line: no second look
_NEXT = rf"[ \t]*+\.[ \t]*+{_PART}"
_DOTTED = re.compile(rf"{_PART}(?:{_NEXT}){{0,{MAX_KEY_PARTS - 1}}}+({_NEXT})?+")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raise ValueError, with the line where it is known, for text that is not TOML, for keys of more than
    MAX_KEY_PARTS parts, and for tables or lists that are nested too deep."""
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= MAX_KEY_PARTS and any(found[1] for found in _DOTTED.finditer(line)):
            raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("tables or lists are nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("an integer has too many digits") from None


def place_of(path: Any) -> Path:
    """The file that is meant: links followed, so that what they point to is written and they stay."""
    try:
        return Path(os.path.realpath(Path(path)))
    except (TypeError, ValueError):  # no path at all, or a null character in it
        raise InputError("wrong-type", "path", path, expected="the path of a file") from None


@contextmanager
def replaced(place: Path) -> Iterator[Path]:
    """A new empty file beside `place`, which takes its place, and its permissions, when the block ends well; else
    nothing is left of it."""
    import hashlib  # milliseconds, which only who writes pays

    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else None
    begin = f".dalembert-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}-"
    _sweep(place.parent, begin)
    # Nobody may read what replaces a private file, not even before it is there.
    part, held = _part(place.parent, begin, 0o666 if mode is None else 0o600)
    try:
        yield part
        if mode is not None:
            os.chmod(part, mode)
        if fcntl is None:  # Windows renames no file that is open
            os.close(held)
            held = -1
        os.replace(part, place)
    finally:
        if held >= 0:
            os.close(held)
        part.unlink(missing_ok=True)


def _part(folder: Path, begin: str, mode: int) -> tuple[Path, int]:
    """A new file and its handle, which holds a lock for as long as this process writes it."""
    while True:
        part = folder / f"{begin}{os.urandom(8).hex()}.part"
        held = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with suppress(OSError):  # a file system without locks
            if fcntl is not None:
                fcntl.flock(held, fcntl.LOCK_EX)
        if part.exists():  # it was not swept before it was locked
            return part, held
        os.close(held)


def _sweep(folder: Path, begin: str) -> None:
    """Remove what writes of the same file left behind when they were killed: nobody holds it any more."""
    with suppress(OSError):
        for part in folder.glob(f"{begin}*.part"):
            with suppress(OSError):
                if fcntl is not None:
                    with opened(part, sys.maxsize) as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        if os.fstat(file.fileno()).st_uid == os.getuid():
                            part.unlink()
                else:
                    part.unlink()  # which Windows refuses while it is open


def whole(path: Any, write: Callable[[Any], None], refused: type[DalembertError] = InputError) -> Path:
    """The file that `write(file)` fills with bytes. What is there and is no regular file, a pipe or a device, is
    written to as it is: it must not be replaced."""
    place, left = place_of(path), "; nothing of it was left"
    try:
        if place.exists() and not place.is_file():
            left = ""
            with open(place, "wb") as file:
                write(file)
        else:
            with replaced(place) as part, open(part, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        problem = f"{str(path)!r} cannot be written: {error.strerror or error}{left}"
        raise refused("not-writable", "path", str(path), problem=problem) from error
    return Path(path)


def whole_table(path: Any, head: Iterable[str], rows: Iterable[Sequence[float]]) -> Path:
    """Columns of numbers as CSV: a line of names, then a line per row, every digit kept."""
    import csv

    def write(file: Any) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\n")
        table.writerow(map(in_table, head))
        table.writerows(rows)  # repr of a float keeps every digit
        text.detach()

    return whole(path, write)
