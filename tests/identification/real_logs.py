"""The logs of real arms: two in `data`, packed; the third only where the folder of shared data lies beside this one."""

import atexit
import lzma
import tempfile
from functools import cache
from pathlib import Path
from shutil import copytree, rmtree

import pytest

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[3] / "shared" / "data"


@cache
def unpacked(folder: str) -> Path:
    """A copy of one folder of `data` in which the log is a plain CSV file."""
    room = tempfile.mkdtemp(prefix="real-logs-")
    atexit.register(rmtree, room, ignore_errors=True)
    place = copytree(DATA / folder, Path(room) / folder)
    for packed in place.glob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
    return place


def real(folder: str) -> Path:
    """The folder of one arm, with its log and its URDF."""
    if (DATA / folder).exists():
        return unpacked(folder)
    if not (SHARED / folder).exists():
        pytest.skip(f"the log {folder} is not part of this repository, and ../shared/data/{folder} does not exist")
    return SHARED / folder
