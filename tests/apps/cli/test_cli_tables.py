"""Tables keep their numbers whole in a terminal of any width, and every symbol in a stream of any encoding."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from invoking import program

from dalembert.apps.cli import output
from dalembert.apps.cli.encoding import spell
from dalembert.apps.cli.table import lay_out
from dalembert.apps.studio import messages
from dalembert.draw import html
from dalembert.draw.svg.elements import label
from dalembert.trust.properties.property import write_number

HEAD = ("scenario", "controller", "final error [N m, N]", "largest error", "")
ROWS = (
    ("wrong start", "computed-torque", "9.9701e-12", "-0.00066031", "settled"),
    ("", "PD with gravity compensation", "∞", "16.425", "bounded, -0.04 at most"),
)
NUMERIC = (False, False, True, True, False)


def lines_of(width: int) -> list[str]:
    return [line for row in lay_out(HEAD, ROWS, NUMERIC, width) for line in row]


@pytest.mark.parametrize("width", range(24, 130))
def test_no_number_is_split(width):
    lines = lines_of(width)
    assert max(map(len, lines)) <= width
    for word in ("9.9701e-12", "-0.00066031", "16.425", "-0.04"):
        assert any(re.search(rf"(^|\s){re.escape(word)}(\s|$)", line) for line in lines), word


def test_a_wide_terminal_has_columns_and_a_narrow_one_has_names():
    head, first, _ = lay_out(HEAD, ROWS, NUMERIC, 120)
    assert len(head) == len(first) == 1 and head[0].split()[:2] == ["scenario", "controller"]
    folded = lay_out(HEAD, ROWS, NUMERIC, 58)
    assert folded[0] and folded[1][0].split()[:2] == ["wrong", "computed-"]
    head, first, second = lay_out(HEAD, ROWS, NUMERIC, 44)
    assert head == [] and first[:2] == ["scenario: wrong start", "  controller: computed-torque"]
    assert "  final error [N m, N]: ∞" in [line[: len("  final error [N m, N]: ∞")] for line in second]
    assert first[-1] == "  settled" and all(line.startswith("  ") for line in second)


def test_combining_marks_take_no_room():
    head, row = lay_out(("q̇", "x"), [("1", "2")], (True, True), 80)
    assert head[0].index("x") - 1 == row[0].index("2")


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("width", [50, 80])
def test_a_terminal(width):
    import fcntl
    import pty
    import struct
    import termios

    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {k: x for k, x in os.environ.items() if k not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "dalembert", "info", "panda"]
    shown = b""
    with subprocess.Popen(command, stdout=terminal, env={**environment, "PYTHONIOENCODING": "utf-8"}) as ran:
        os.close(terminal)
        while part := _read(main):
            shown += part
    os.close(main)
    text = re.sub("\x1b\\[[0-9;]*m", "", shown.decode())
    assert ran.returncode == 0 and max(map(len, text.splitlines())) <= width
    assert all(re.search(rf"(?<=\s){x}(?=\s)", text) for x in ("-2.8973", "-0.0698", "2.175", "0.64693"))
    assert ("joint: panda_joint1" in text) == (width == 50)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux reports the end of a pseudo-terminal as an error
        return b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437"])
def test_symbols_are_spelled_where_the_encoding_lacks_them(encoding):
    ran = program("dynamics", "planar-1r", "--q0", "2", env={"PYTHONIOENCODING": encoding}, encoding=encoding)
    out, told = ran.communicate(timeout=60)
    assert ran.returncode == 0 and "?" not in out and not told
    head = next(line for line in out.splitlines() if line.startswith("joint "))
    assert head.split()[:4] == ["joint", "q", "qd", "qdd"] and head.split()[-1] in ("tau", "τ")
    row = next(line for line in out.splitlines() if line.startswith("joint1"))
    assert float(row.split()[-1]) < 0 and head.index("g(q)") + 4 == row.index(row.split()[4]) + len(row.split()[4])


def test_json_is_the_same_in_every_encoding():
    found = []
    for encoding in ("ascii", "cp1252", "utf-8"):
        ran = program("tune", "planar-1r", "--json", env={"PYTHONIOENCODING": encoding}, encoding=encoding)
        found.append(json.loads(ran.communicate(timeout=60)[0]))
    assert found[0] == found[1] == found[2] and "−" in found[0]["claim"]


def test_controls_of_a_file_reach_no_terminal_in_ascii(tmp_path):
    arm = tmp_path / "arm.toml"
    arm.write_text('name = "arm"\nnotes = "red \\u0007"\n[[dh.rows]]\na = 1\n', encoding="utf-8")
    ran = program("info", str(arm), env={"PYTHONIOENCODING": "ascii"}, encoding="ascii")
    out, _ = ran.communicate(timeout=60)
    assert ran.returncode == 0 and "\x07" not in out and "red \\u0007" in out


def test_spelling():
    for text, spelled in (
        ("τ = M(q) q̈ + C(q, q̇) q̇", "tau = M(q) qdd + C(q, qd) qd"),
        ("Ṁ − 2C, ẍ, ë + K_d ė", "Md - 2C, xdd, edd + K_d ed"),
        ("M⁻¹ Jᵀ q₁₂ ½ m/s²", "M^-1 J^T q12 1/2 m/s^2"),
        ("|x| ≤ ∞, 90°, Λ λ, µs", "|x| <= inf, 90deg, Lambda lambda, us"),
        ("Gül Öz, Benoît, Santibáñez", "Gul Oz, Benoit, Santibanez"),
        ("M̂ θ̃ 中", "M_hat theta_tilde ?"),
    ):
        assert spell(text) == spelled
    assert "M⁻¹".encode("latin-1", "dalembert-ascii") == b"M^-1"


def test_every_character_is_spelled():
    """A name of Unicode with one word, ˇ (CARON), or none at all ended the command with a ValueError."""
    for k in range(0x110000):
        assert spell(chr(k)).isascii()
    assert spell("Łukasz Møller, ß æ") == "Lukasz Moller, ss ae" and spell("ˇ\ue000") == "??"
    assert spell("M ⪰ 0, x ↦ ⟨x⟩ ≃ 1") == "M >= 0, x -> <x> ~ 1" and spell("a\u200bb") == "ab"


@pytest.mark.parametrize("write", [output.number, html.number, label, messages.short, write_number])
def test_every_number_has_the_minus_that_can_be_pasted(write):
    assert write(-1.5) == "-1.5" and write(float("-inf")) == "-∞"
