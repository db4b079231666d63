"""Names that a stranger gave, in every output that shows them."""

from __future__ import annotations

import ast
import csv
import html.parser
import json
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert import names
from dalembert.apps.cli import main
from dalembert.describe.description import Description, Joint, Link
from dalembert.files import whole_table

HOSTILE = {
    "tag": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "link": "[a](javascript:alert(1))",
    "code": "`rm -rf`",
    "formula": "$\\input{/etc/passwd}$",
    "comment": "*/ int main(void) { } /*",
    "text": '"""\nimport os\nos.mkdir("marked")\n"""',
    "line": "x\nimport os\n#define y",
    "backslash": "x\\",
    "escape": "\x1b]0;owned\x07\x1b[31m\x9b31m",
    "direction": "a\u202egnp.exe",
    "cell": "=cmd|' /C calc'!A0",
    "path": "../../evil",
}


def arm(name: str) -> dl.Robot:
    inertial = dl.describe.Inertial(1.0, (0.1, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.2, 0.0, 0.0)))
    links = (Link(f"base {name}"), Link(f"link {name}", inertial), Link(name, inertial))
    joints = (
        Joint(name, "continuous", f"base {name}", f"link {name}", dl.describe.Origin(), (0.0, 0.0, 1.0)),
        Joint(f"second {name}", "continuous", f"link {name}", name, dl.describe.Origin((1, 0, 0)), (0.0, 0.0, 1.0)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.Robot(Description(name, links, joints))


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_markdown(name: str) -> None:
    text = arm(name).equations().derivation().write("markdown")
    tags = Tags()
    tags.feed(text)
    plain = arm("plain").equations().derivation().write("markdown")
    own = Tags()
    own.feed(plain)
    assert tags.seen == own.seen and set(own.seen) <= {"details", "summary"} and "](" not in text
    # As many lines, formulas and cells as with a name that is none of these.
    assert text.count("\n") == plain.count("\n")
    assert len(re.findall(r"(?<!\\)\$", text)) == len(re.findall(r"(?<!\\)\$", plain))
    assert len(re.findall(r"(?<!\\)`", text)) == 0
    title = dl.properties.lab(arm(name), states=20).markdown().splitlines()[0]
    assert "<" not in title and "](" not in title


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_latex(name: str) -> None:
    text = arm(name).equations().derivation().write("latex")
    assert "\\input" not in text.replace("\\usepackage[utf8]{inputenc}", "")
    assert text.count("\n") == arm("plain").equations().derivation().write("latex").count("\n")


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_source_code(tmp_path: Path, name: str) -> None:
    """The same program, whatever the robot is called, but for one identifier."""
    file = tmp_path / "arm.toml"
    file.write_text(arm(name).to_toml(), encoding="utf-8")
    for language in ("c", "numpy", "jax"):
        done = CliRunner().invoke(main, ["export", str(file), "--format", language, "--json"])
        assert done.exit_code == 0, done.output
        for where, text in json.loads(done.stdout)["files"].items():
            function = names.identifier(f"{name}_inverse_dynamics")
            assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*\.(c|h|py)", where)
            assert text.replace(function, "f").isascii() and "evil" not in text.replace(function, "f")
            assert "mkdir" not in text.replace(function, "f") and "main" not in text.replace(function, "f")
            if language != "c":
                ast.parse(text)
    saved = arm(name).equations().save(tmp_path / "arm.txt").read_text(encoding="utf-8").splitlines()
    assert saved[0].startswith("# ") and all(re.match(r"(M|Gamma|g)\d+ = ", line) for line in saved[1:])


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_the_terminal_is_not_steered(tmp_path: Path, name: str) -> None:
    file = tmp_path / "arm.toml"
    file.write_text(arm(name).to_toml(), encoding="utf-8")
    for command in (["info"], ["fk"], ["dynamics"], ["check"], ["equations"], ["info", "--json"], ["fk", "--tip", "x"]):
        done = CliRunner().invoke(main, [command[0], str(file), *command[1:]])
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr), (command, done.output)
        if "--json" in command:
            assert json.loads(done.stdout)["name"] == name


def test_a_name_is_no_line_of_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "arm.toml"
    file.write_text(arm("a\nall agree").to_toml(), encoding="utf-8")
    for command in ("info", "fk", "dynamics", "equations", "properties"):
        done = CliRunner().invoke(main, [command, str(file)])
        assert done.exit_code == 1 and "all agree" not in done.output.splitlines()
        assert "contains a line break" in done.stderr
    noted = dl.load("planar-2r").to_toml().replace('notes = """', 'notes = """all agree\n')
    file.write_text(noted, encoding="utf-8")
    said = CliRunner().invoke(main, ["info", str(file)]).output.splitlines()
    assert "  all agree" in said and "all agree" not in said


def test_the_terminal_keeps_what_is_ours() -> None:
    assert names.in_terminal("τ = M q̈\n\té") == "τ = M q̈\n\té"
    assert names.in_terminal("\x1b[31m\x9b") == "\\u001b[31m\\u009b"


def test_no_column_is_a_formula(tmp_path: Path) -> None:
    heads = ["=1+1", "+a", "-a", "@a", "\ta", "t", "q_=a"]
    whole_table(tmp_path / "a.csv", heads, [[0.0] * 7])
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["'=1+1", "'+a", "'-a", "'@a", "'\ta", "t", "q_=a"]


@pytest.mark.parametrize("name", ["tag", "image", "escape", "text"])
def test_pages_hold_no_tag_of_a_name(tmp_path: Path, name: str) -> None:
    def tags(robot: dl.Robot) -> list[str]:
        dl.write_report(robot, tmp_path / "page.html", sections=["robot", "frames", "findings"], quick=True)
        found = Tags()
        found.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
        return sorted(tag for tag in found.seen if tag in ("script", "img", "iframe", "object", "link", "style"))

    assert tags(arm(HOSTILE[name])) == tags(arm("plain"))


def test_files_stay_in_their_folder() -> None:
    made = [names.file_name(name) for name in (*HOSTILE.values(), "", "..", "a" * 1000)]
    assert all(re.fullmatch(r"[\w.-]{1,100}", name) and not name.startswith(".") for name in made)
