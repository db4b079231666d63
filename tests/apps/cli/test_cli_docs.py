"""The examples of the command line hold: those of its page run, and all of them, those in help too, can be parsed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from invoking import leaves, run

from dalembert.apps.cli import COMMANDS, SECTIONS, main

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = ROOT / "docs" / "command_line.md"
TEXT = PAGE.read_text(encoding="utf-8")
# Up to a comment, a redirection or the end of a substitution; what is quoted may hold anything.
SHOWN = re.compile(rf"""dalembert (?:{"|".join(COMMANDS)})(?![^\s)])(?:"[^"\n]*"|[^\n#)>|`"])*""")


def parsed(line: str) -> str:
    """The command of an example, if its options and values would be accepted."""
    name, *arguments = shlex.split(line)[1:]
    with click.Context(main, info_name="dalembert") as parent:
        command = main.get_command(parent, name)
        if isinstance(command, click.Group):
            word, command, arguments = command.resolve_command(click.Context(command, parent), arguments)
            name = f"{name} {word}"
        assert command is not None
        command.make_context(name, arguments, parent=parent)
    return name


@pytest.mark.parametrize("name", leaves(), ids=" ".join)
def test_examples_in_help_can_be_parsed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in (
        "students.csv",
        "variants.csv",
        "homework.txt",
        "quiet.csv",
    ):  # examples take them, and they must exist
        (tmp_path / file).touch()
    help_ = run(*name, "--help").output
    examples = SHOWN.findall(help_[help_.index("Example") :].partition("Options:")[0])
    assert examples and {parsed(line) for line in examples} == {" ".join(name)}


def test_the_page_has_every_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "students.csv").touch()
    blocks = "\n".join(re.findall(r"^```(?:sh|console)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
    assert {parsed(line) for line in SHOWN.findall(blocks)} == {" ".join(name) for name in leaves()}


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_commands_of_the_first_pages_can_be_parsed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL))
    examples = SHOWN.findall(blocks)
    assert len(examples) > 5
    for line in examples:
        parsed(line)


def test_the_readme_has_the_groups_of_the_help():
    rows = re.findall(r"^\| ([\w ,]+) \| (`.*`) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    shown = {title: re.findall(r"`(\w+)`", commands) for title, commands in rows}
    assert {title: list(commands) for title, commands in SECTIONS.items()} == shown
    assert [title for title in re.findall(r"^## (.*)$", TEXT, re.MULTILINE) if title in SECTIONS] == list(SECTIONS)


def test_the_page_runs(tmp_path, monkeypatch):
    """In one folder and in order: later examples take the files of earlier ones."""
    monkeypatch.chdir(tmp_path)
    given = dict(re.findall(r"^```toml\n# (\S+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))  # files of the user's
    for name, text in given.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    lines = re.findall(r"^\$ dalembert (.*)$", TEXT, re.MULTILINE)
    assert len(lines) > 30 and "world.toml" in given
    for line in lines:
        run(*shlex.split(line))
    written = {"puma.urdf", "again.urdf", "standard.toml", "modified.toml", "run.csv", "run.svg", "motion.csv"}
    written |= {"path.csv", *given}
    written |= {"phase.png", "played.csv", "log.toml", "week1.md", "week1-solutions.md"}
    written |= {"identified.urdf", "identified.html", "generated", "chip", "planar-2r-wasm"}
    assert written == {p.name for p in tmp_path.iterdir()}
