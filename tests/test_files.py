"""Files that are written whole or not at all, and what killed writes left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.files import replaced, whole

WRITE = """
import os, sys
from dalembert.files import whole
def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
whole(sys.argv[1], write)
"""


def writer(file: Path) -> subprocess.Popen[str]:
    """A process in the midst of writing that file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def parts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def test_what_a_killed_write_left_goes_with_the_next(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for _ in range(3):
        end(writer(file))
    assert len(parts(tmp_path)) == 1  # each found what the one before had left
    end(writer(tmp_path / "b.csv"))
    (tmp_path / ".mine.part").write_text("not of this program")
    whole(file, lambda f: f.write(b"whole"))
    assert file.read_bytes() == b"whole"
    left = parts(tmp_path)
    assert ".mine.part" in left and len(left) == 2  # b's is b's
    whole(tmp_path / "b.csv", lambda f: f.write(b"whole"))
    assert parts(tmp_path) == [".mine.part"]


def test_what_is_still_being_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    process = writer(file)
    try:
        whole(file, lambda f: f.write(b"mine"))
        assert file.read_bytes() == b"mine" and len(parts(tmp_path)) == 1
        process.communicate("", timeout=60)  # it may go on, and comes last
        assert process.returncode == 0 and file.read_bytes() == b"half" and parts(tmp_path) == []
    finally:
        if process.poll() is None:
            end(process)


def test_names_as_long_as_there_may_be(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 255)
    whole(file, lambda f: f.write(b"x"))
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_links_pipes_and_folders_of_such_a_name_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with replaced(file) as part:
        begin = part.name[: -len("0123456789abcdef.part")]
    (tmp_path / "target").write_text("stays")
    (tmp_path / f"{begin}1.part").symlink_to(tmp_path / "none")
    (tmp_path / f"{begin}2.part").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / f"{begin}3.part")
    whole(file, lambda f: f.write(b"x"))
    assert (tmp_path / f"{begin}2.part").is_dir() and (tmp_path / "target").read_text() == "stays"


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def fail(file: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        whole(tmp_path / "a.csv", fail)
    assert list(tmp_path.iterdir()) == []
