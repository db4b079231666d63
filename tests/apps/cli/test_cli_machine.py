"""dalembert bench, cache and completion: what concerns the installation."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from click.shell_completion import ShellComplete
from invoking import data, program, run

import dalembert as dl
from dalembert.apps.cli import COMMANDS, main
from dalembert.apps.cli.installation import SHELLS


def test_bench():
    got = data("bench", "planar-1r", "--states", "64")
    assert [row["what"] for row in got["rows"]][:2] == ["inverse dynamics", "forward dynamics"]
    for row in got["rows"]:
        assert min(row["call"], row["state"], row["numpy"]) > 0
        assert row["difference"] < 1e-14  # the same algorithm, so the same numbers to rounding
    out = run("bench", "scara", "--states", "64").output
    assert "a quick look" in out and "one call [µs]" in out and "Jacobian" in out
    assert "four-bar, 3 joints" in run("bench", "four-bar", "--states", "8").output  # its tree


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "kernels"))
    assert data("cache") == {"schema": 1, "folder": str(tmp_path / "kernels"), "kernels": 0, "bytes": 0, "removed": 0}
    dl.load("planar-1r").mass_matrix([0.0])
    assert "1 kernels" in run("cache").output
    (tmp_path / "kernels" / "mine.txt").write_text("not a kernel")
    assert "removed 1 kernels" in run("cache", "--clear").output
    assert [f.name for f in (tmp_path / "kernels").iterdir()] == ["mine.txt"]  # only what is its own
    monkeypatch.setenv("DALEMBERT_CACHE", "")
    assert "turned off" in run("cache").output


# -------------------------------------------------------------------------------------------------- completion
@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(shell, monkeypatch):
    script = run("completion", shell).stdout
    assert f"_DALEMBERT_COMPLETE={shell}_complete" in script
    assert data("completion", shell)["script"].strip() == script.strip()
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert run("completion").stdout == script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_understands_its_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(run("completion", shell).stdout)
    assert subprocess.run([shell, "-n", str(file)], check=False).returncode == 0


def offered(*arguments: str, incomplete: str = "") -> dict[str, str]:
    """What is offered, and of which kind, through click's own machinery."""
    found = ShellComplete(main, {}, "dalembert", "_DALEMBERT_COMPLETE").get_completions(list(arguments), incomplete)
    return {str(item.value): item.type for item in found}


def test_what_is_offered(tmp_path, monkeypatch):
    assert set(offered()) == set(COMMANDS) and set(offered(incomplete="co")) == {"convert", "compare", "completion"}
    names = offered("info", incomplete="pa")
    assert {"panda", "parallelogram-arm"} < set(names) and "file" in names.values() and "ur5e" not in names
    assert {"--q0", "--frame", "--all"} <= set(offered("fk", "panda", incomplete="--"))
    assert set(offered("fk", "panda", "--frame", incomplete="panda_link1")) == {"panda_link1"}
    assert offered("fk", "--frame") == {} and offered("fk", "nosuch", "--frame") == {}
    assert offered("convert", "panda", "-o", incomplete="arm") == {"arm": "file"}
    assert "pd-gravity" in offered("simulate", "panda", "--controller", incomplete="pd")
    assert set(offered("completion")) == set(SHELLS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_as_bash_asks():
    words = {"_DALEMBERT_COMPLETE": "bash_complete", "COMP_WORDS": "dalembert info ur", "COMP_CWORD": "2"}
    out, told = program(env={**os.environ, **words}).communicate(timeout=60)
    assert {"plain,ur5e", "plain,ur10e"} <= set(out.split()) and not told
