"""The disk cache: what it keeps, what it trusts, and what it does when it cannot."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main
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
    with pytest.warns(RuntimeWarning, match="is not used: it belongs to another user, or others may write to it; make"):
        kernel()([1.0, 2.0])
    assert len(compilations) == 3
    kernel()([1.0, 2.0])  # and is said once


def test_a_link_is_not_used_and_says_so(tmp_path, monkeypatch, compilations):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "link"))
    with pytest.warns(RuntimeWarning, match="link' is not used: it is a link; name the folder that it leads to"):
        kernel()([1.0, 2.0])
    assert list((tmp_path / "real").iterdir()) == []
    assert "is not used: it is a link" in CliRunner().invoke(main, ["cache"]).stdout
    assert "link" in json.loads(CliRunner().invoke(main, ["cache", "--json"]).stdout)["unused"]


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0.01")
    names = [cache.key(str(k)) for k in range(5)]
    for k, name in enumerate(names[:4]):
        cache.store(name, bytes(3000))
        if k < 3:
            os.utime(folder / name, (1000.0 + k, 1000.0 + k))
    assert set(cache.entries()) == set(names[1:4])  # four do not fit
    assert cache.load(names[1]) == bytes(3000)  # used now
    cache.store(names[4], bytes(3000))
    assert set(cache.entries()) == {names[1], names[3], names[4]}
    assert sum(cache.entries().values()) <= 10_000


def test_what_is_not_ours_stays_and_what_was_left_goes(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0")
    folder.mkdir(mode=0o700)
    for name in ("notes.txt", "a" * 64, cache.TEMPORARY + "now", cache.TEMPORARY + "left"):
        (folder / name).write_bytes(b"mine")
    os.utime(folder / (cache.TEMPORARY + "left"), (1000.0, 1000.0))
    cache.store(cache.key("x"), b"code")
    assert {file.name for file in folder.iterdir()} >= {"notes.txt", "a" * 64, cache.TEMPORARY + "now"}
    assert not (folder / (cache.TEMPORARY + "left")).exists()


def test_a_size_that_is_none(folder, monkeypatch):
    for text in ("many", "-1", "nan"):
        monkeypatch.setenv("DALEMBERT_CACHE_SIZE", text)
        with pytest.warns(RuntimeWarning, match=f"is a number of megabytes, not '{text}'; 512 are taken"):
            assert cache.largest() == 512e6


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
