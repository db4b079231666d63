"""The disk cache: what it keeps, what it trusts, and what it does when it cannot."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dalembert.compile import cache, compile_function, llvm


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """How often LLVM was asked."""
    count = []
    honest = llvm.object_code
    monkeypatch.setattr(llvm, "object_code", lambda *a: (count.append(1), honest(*a))[1])
    return count


def kernel(factor: float = 3.0):
    return compile_function(lambda x: [factor * v for v in x], [(2,)], [(2,)])


def test_the_second_time_llvm_is_not_asked(folder, compilations):
    for _ in range(3):
        assert np.array_equal(kernel()([1.0, 2.0]), [3.0, 6.0])
    assert len(compilations) == 1
    assert np.array_equal(kernel(4.0)([1.0, 2.0]), [4.0, 8.0])
    assert len(compilations) == 2


def test_only_this_user_may_enter(folder):
    kernel()([1.0, 2.0])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [f.name for f in folder.iterdir() if f.name.startswith(".")] == []  # nothing half-written


def files(folder):
    return [f for f in folder.iterdir()]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"not an object" + data,
    ],
    ids=["truncated", "empty", "one bit", "foreign"],
)
def test_a_damaged_file_is_made_again(folder, compilations, damage):
    kernel()([1.0, 2.0])
    (file,) = files(folder)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert np.array_equal(kernel()([1.0, 2.0]), [3.0, 6.0])
    assert len(compilations) == 2
    assert file.read_bytes() == whole


def test_a_swapped_file_is_not_taken(folder, compilations):
    kernel(3.0)([1.0, 2.0])
    kernel(4.0)([1.0, 2.0])
    a, b = files(folder)
    a.write_bytes(b.read_bytes())
    assert np.array_equal(kernel(3.0)([1.0, 2.0]), [3.0, 6.0])
    assert np.array_equal(kernel(4.0)([1.0, 2.0]), [4.0, 8.0])
    assert len(compilations) == 3


def test_what_others_may_write_is_not_loaded(folder, compilations):
    kernel()([1.0, 2.0])
    (file,) = files(folder)
    file.chmod(0o666)
    kernel()([1.0, 2.0])
    assert len(compilations) == 2
    folder.chmod(0o777)
    kernel()([1.0, 2.0])
    assert len(compilations) == 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_what_another_user_owns_is_not_loaded(folder, compilations):
    kernel()([1.0, 2.0])
    (file,) = files(folder)
    os.chown(file, 12345, 12345)
    assert np.array_equal(kernel()([1.0, 2.0]), [3.0, 6.0])
    assert len(compilations) == 2


def test_off_and_unwritable_are_no_errors(tmp_path, monkeypatch, compilations):
    monkeypatch.setenv("DALEMBERT_CACHE", "")
    assert cache.folder() is None
    assert np.array_equal(kernel()([1.0, 2.0]), [3.0, 6.0])
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("DALEMBERT_CACHE", str(blocked / "cache"))
    assert np.array_equal(kernel()([1.0, 2.0]), [3.0, 6.0])
    assert len(compilations) == 2


def test_another_process_finds_it(folder):
    code = """
import dalembert as dl, numpy as np
from dalembert.compile import llvm
llvm.object_code = lambda *a: (_ for _ in ()).throw(AssertionError("compiled again"))
print(dl.load("planar-2r").mass_matrix([0.1, 0.2]).tolist())
"""
    import dalembert as dl

    wanted = dl.load("planar-2r").mass_matrix([0.1, 0.2]).tolist()
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(wanted)


def test_code_of_another_emitter_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a file in the cache depends on the text of what made it."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    make = lambda: compile_function(lambda x: [x[0] * 3.0], [(1,)], [(1,)], "thrice")  # noqa: E731
    assert make()(np.array([2.0])) == 6.0
    before = {f.name for f in tmp_path.iterdir()}
    monkeypatch.setattr(cache, "emitter", lambda: "another")
    assert make()(np.array([2.0])) == 6.0
    assert len({f.name for f in tmp_path.iterdir()} - before) == len(before)
