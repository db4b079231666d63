"""The way from a log to the chip: the commands of the page, in one folder and in order."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "from-log-to-chip.md"


@pytest.mark.long
def test_the_commands_lead_to_a_program_that_passes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^\$ dalembert (.*)$", text, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["excite", "identify", "simulate", "firmware"]
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line), prog_name="dalembert")
        assert result.exit_code == 0, result.output
    for tool in ("cmake", "arm-none-eabi-gcc"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} on this machine: it is not built")
    (build,) = re.findall(r"^cmake .*$", text, re.MULTILINE)
    subprocess.run(build, shell=True, check=True, capture_output=True)
    emulator = pytest.importorskip("emulator")
    assert emulator.Machine("cortex-m4", Path("chip/build/example").read_bytes()).start("main") == 0
