"""Wrong uses of every command: exit code 2 for the command line, 1 for a failed job, the culprit in the message."""

from __future__ import annotations

import re

import pytest
from invoking import leaves, run, words

from dalembert.apps.cli import COMMANDS
from dalembert.renamed import RENAMED

# Arguments after the command, the exit code, and a value, a name or an option that the message must contain.
WRONG: dict[str, list[tuple[tuple[str, ...], int, str]]] = {
    "robots": [(("panda",), 2, "panda"), (("--jso",), 2, "--jso"), (("--json=1",), 2, "--json")],
    "info": [
        (("pandas",), 2, "'panda'"),
        (("arm.urdf",), 1, "arm.urdf"),
        (("panda", "--tip", "panda_link9"), 2, "panda_link9"),
        ((), 2, "ROBOT"),
    ],
    "check": [
        ((), 2, "folder"),
        (("arm.urdf",), 1, "arm.urdf"),
        (("pandas",), 2, "'panda'"),
        (("panda", "--format", "xml"), 2, "'xml'"),
        (("panda", "--fix"), 2, "--output"),
        (("panda", "--base", "floating"), 2, "--base"),
    ],
    "verify": [
        (("r2d2",), 2, "'r2d2'"),
        (("panda", "--states", "1"), 2, "--states"),
        (("panda", "--seed", "x"), 2, "--seed"),
    ],
    "firmware": [
        (("planar-2r", "--cpu", "z80"), 2, "'z80'"),
        (("planar-2r", "--controller", "adaptive"), 1, "adaptive"),
        (("planar-2r", "--controller", "pdd"), 2, "'pd'"),
        (("planar-2r", "--cpu", "cortex-m4", "--double"), 1, "Cortex-M4F"),
        (("planar-2r", "--dt", "0"), 2, "--dt"),
        (("planar-2r", "--move", "1"), 2, "--move"),
        (("planar-2r", "--payload", "1"), 2, "--payload"),
        (("planar-2r", "--controller", "impedance", "--to", "0,1"), 2, "--to"),
        (("planar-2r", "--controller", "feedforward", "--omega", "3"), 2, "--omega"),
        (("panda", "--cpu", "cortex-m4", "--limits", "flash=2"), 1, "2"),
        (("planar-2r", "-o", "/dev/null/folder"), 1, "/dev/null/folder"),
        (("five-bar", "--controller", "pd-gravity"), 1, "five-bar"),
    ],
    "report": [
        (("r2d2",), 2, "'r2d2'"),
        (("panda", "--seconds", "0"), 2, "--seconds"),
        (("panda", "--only", "nothing"), 2, "'nothing'"),
        (("panda", "-o", "report.pdf"), 2, "report.pdf"),
    ],
    "studio": [
        ((), 2, "ROBOT"),
        (("panda", "--address", "127.0.0.1:70000"), 2, "--address"),
        (("panda", "--log", "nothing.csv"), 1, "nothing.csv"),
    ],
    "fk": [
        (("panda", "--q0", "1,2"), 2, "--q0"),
        (("panda", "--q0", "1,2,3,4,5,6,nan"), 2, "--q0"),
        (("panda", "--frame", "link3"), 2, "'panda_link3'"),
        (("panda", "--all", "--frame", "panda_link3"), 2, "--frame"),
        (("panda", "--q0", ""), 2, "--q0"),
        *((("planar-2r", "--q0", q), 2, "--q0") for q in ("1,,2", "1,2,", ",1,2", "1, ,2")),
    ],
    "ik": [
        (("panda",), 2, "--xyz"),
        (("panda", "--xyz", "1,2"), 2, "--xyz"),
        (("panda", "--xyz", "1,2,inf"), 2, "--xyz"),
        (("panda", "--xyz", "1,0,0", "--rows", "pose"), 2, "--rpy"),
        (("panda", "--xyz", "1,0,0", "--all", "--axis", "z"), 2, "--axis"),
        (("panda", "--xyz", "1,0,0", "--limits", "torque"), 2, "--limits"),
        (("panda", "--xyz", "1,0,0", "--rpy", "0,0,0", "--all"), 1, "panda"),
        (("panda", "--xyz", "1,0,0", "--tolerance", "nan"), 2, "--tolerance"),
        (("four-bar", "--xyz", "1,0,0"), 1, "four-bar"),
        (("panda", "--xyz", "9,0,0"), 1, ""),
    ],
    "dynamics": [
        (("panda", "--q0", "1,2"), 2, "--q0"),
        (("planar-1r", "--q0", "x"), 2, "--q0"),
        (("r2d2",), 2, "'r2d2'"),
    ],
    "equations": [
        (("planar-2r", "--only", "Q"), 2, "'Q'"),
        (("planar-2r", "--only", "M19"), 2, "M19"),
        (("planar-2r", "--symbolic", "m9"), 2, "'m9'"),
        (("planar-2r", "--check", "M12"), 2, "--check"),
        (("planar-2r", "--check", "M12 = I2 +"), 2, "--check"),
        (("planar-2r", "--check", "M12 = I2"), 1, ""),
        (("planar-2r", "--only", "M", "--check", "M11=I1"), 2, "--only"),
        (("planar-2r", "--json", "-o", "arm.tex"), 2, "-o"),
        (("planar-2r", "-o", "no/such/arm.tex"), 1, "no/such/arm.tex"),
    ],
    "derive": [
        (("r2d2",), 2, "'r2d2'"),
        (("planar-2r", "--method", "kane"), 2, "'kane'"),
        (("planar-2r", "--format", "html", "--all"), 2, "--all"),
        (("planar-2r", "--q0", "0,0"), 2, "--q0"),
        (("planar-2r", "--method", "newton-euler", "--q0", "0,0"), 2, "--qdd"),
        (("planar-2r", "--method", "newton-euler", "--q0", "0", "--qd0", "0,0", "--qdd", "0,0"), 2, "--q0"),
        (("planar-2r", "--json", "-o", "arm.html"), 2, "-o"),
        (("planar-2r", "--check", "homework.txt"), 1, "homework.txt"),
        (("planar-2r", "-o", "arm.pdf"), 2, ".pdf"),
        (("four-bar", "--method", "kinematics"), 2, "--method"),
        (("four-bar", "--letters", "spong"), 2, "--letters"),
        (("bead-on-a-hoop", "--method", "newton-euler"), 2, "--method"),
    ],
    "properties": [
        (("planar-2r", "--qd0", "1,1"), 2, "--q0"),
        (("planar-2r", "--only", "nothing"), 2, "nothing"),
        (("planar-2r", "--plot", "a.txt"), 2, "--plot"),
    ],
    "bounds": [
        (("planar-2r", "--limits", "lower=0,0"), 2, "--limits"),
        (("planar-2r", "--only", "mu9"), 2, "mu9"),
        (("planar-2r", "--gap", "nan"), 2, "--gap"),
    ],
    "convert": [
        (("panda",), 2, "--format"),
        (("panda", "--format", "mjcf"), 2, "'mjcf'"),
        (("panda", "--format", "dh", "-o", "x.txt"), 2, ".toml"),
        (("panda", "--format", "screws", "-o", "x.toml"), 2, "--json"),
        (("panda", "-o", "no/such/arm.urdf"), 1, "no/such/arm.urdf"),
        (("panda", "-o", "."), 1, "'.'"),
    ],
    "simulate": [
        (("planar-2r", "--controller", "pdd"), 2, "'pdd'"),
        (("planar-2r", "--controller", "pd+gravity"), 2, "pd+gravity"),
        (("planar-2r", "--solver", "rk9"), 2, "'rk9'"),
        (("planar-2r", "--duration", "0"), 2, "--duration"),
        (("planar-2r", "--duration", "nan"), 2, "--duration"),
        (("panda", "--to", "0,0,0,1,0,0,0"), 2, "panda_joint4"),
        (("planar-2r", "--controller", "none", "--to", "1,1"), 2, "--controller"),
        (("planar-2r", "--move", "1"), 2, "--to"),
        (("planar-2r", "--limits", "torque"), 2, "--limits"),
        (("planar-2r", "--limits", "position=stay"), 2, "--limits"),
        (("planar-2r", "-o", "run.xls"), 2, "run.xls"),
        (("planar-2r", "-o", "no/such/run.csv"), 1, "no/such/run.csv"),
        (("planar-2r", "--world", "none.toml"), 1, "none.toml"),
        (("four-bar", "--controller", "pd"), 1, "four-bar"),
    ],
    "compare": [
        (("planar-2r", "--controller", "pd,pdd"), 2, "'pdd'"),
        (("planar-2r", "--vary", "storm=1"), 2, "--vary"),
        (("planar-2r", "--vary", "friction"), 2, "--vary"),
        (("planar-2r", "--controller", ","), 2, "controller"),
        (("planar-2r", "--omega", "-1"), 2, "--omega"),
        (("planar-2r", "--move", "2", "--duration", "1"), 2, "--duration"),
        (("four-bar",), 1, "four-bar"),
    ],
    "plan": [
        (("panda",), 2, "--through"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--xyz", "1,0,0"), 2, "--through"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--world", "floor=0"), 1, "floor"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--world", "floor=nan"), 2, "--world"),
        (("ur5e", "--xyz", "3,0,0", "--rpy", "0,0,0"), 1, "tool0"),
        (("ur5e", "--xyz", "3,0", "--rpy", "0,0,0"), 2, "--xyz"),
        (("ur5e", "--xyz", "3,0,0"), 2, "--rpy"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--world", "no.toml"), 1, "no.toml"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--duration", "2"), 2, "--duration"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--frame", "tool0"), 2, "--frame"),
        (("ur5e", "--through", "0,1,0,0,0,0", "--clearance", "0.1"), 2, "--clearance"),
        (("panda", "--through", "1,2"), 2, "--through"),
        (("planar-2r", "--through", "1,1"), 1, "limits"),
    ],
    "phase": [
        (("planar-2r",), 2, "-o"),
        (("planar-2r", "--joint", "joint3", "-o", "x.png"), 2, "'joint3'"),
        (("planar-2r", "-o", "x.doc"), 2, "x.doc"),
    ],
    "tune": [
        ((), 2, "--den"),
        (("planar-2r", "--den", "1,1"), 2, "--den"),
        (("planar-2r", "--num", "1"), 2, "--num"),
        (("--den", "1,2"), 1, "180"),
        (("--den", "1,x"), 2, "--den"),
        (("--den", "1,2", "--omega", "3"), 2, "--omega"),
        (("planar-2r", "--controller", "feedforward"), 2, "'feedforward'"),
    ],
    "excite": [
        (("planar-2r", "--limits", "lower=0,0"), 2, "--limits"),
        (("planar-2r", "--limits", "velocity=1,2,3"), 2, "--limits"),
        (("planar-2r",), 1, "joint1"),  # without any limit of speed
        (("planar-2r", "-o", "motion.csv", "--dt", "0.03"), 2, "--dt"),
        (("planar-2r", "-o", "motion.txt"), 2, "motion.txt"),
        (("planar-2r", "--terms", "coulomb"), 2, "'coulomb'"),
        (("four-bar",), 1, "four-bar"),
    ],
    "log": [
        (("invent",), 2, "'invent'"),
        (("inspect", "nothing.csv"), 1, "nothing.csv"),
        (("inspect", "planar-2r"), 2, "LOG"),
        (("inspect", "plana-2r", "log.csv"), 2, "'planar-2r'"),
        (("inspect", "log.csv", "--set", "units"), 2, "--set"),
        (("inspect", "log.csv", "--set", "unit=deg"), 2, "'units'"),
        (("inspect", "log.csv", "--settings", "no.toml"), 1, "no.toml"),
        (("inspect", "log.csv", "-o", "log.txt"), 2, "log.txt"),
    ],
    "identify": [
        (("planar-2r", "nothing.csv"), 1, "nothing.csv"),
        (("planar-2r",), 2, "LOG"),
        (("planar-2r", "log.csv", "--set", "gaps=fill"), 2, "'fill'"),
        (("planar-2r", "log.csv", "--set", "units=deg"), 2, "--set units=q=deg"),
        (("planar-2r", "log.csv", "--settings", "no.toml"), 1, "no.toml"),
        (("planar-2r", "log.csv", "--output", "arm.obj"), 2, "arm.obj"),
        (("planar-2r", "log.csv", "--holdout", "2"), 2, "--holdout"),
        (("planar-2r", "log.csv", "--terms", "stiction"), 2, "'stiction'"),
    ],
    "page": [
        (("planar-2r", "--controller", "pdd"), 2, "'pdd'"),
        (("planar-2r", "--only", "plot"), 2, "'plot'"),
        (("planar-2r", "-o", "page.pdf"), 2, "page.pdf"),
    ],
    "observe": [
        (("planar-2r", "nothing.csv"), 1, "nothing.csv"),
        (("planar-2r", "log.csv", "--false-alarms", "5000"), 2, "--false-alarms"),
        (("planar-2r", "log.csv", "--calibrate", "quiet.csv"), 1, "quiet.csv"),
        (("planar-2r", "log.csv", "--gain", "1,2,3"), 2, "--gain"),
        (("planar-2r", "log.csv", "--components", "f_w"), 2, "'f_w'"),
        (("planar-2r", "log.csv", "--force"), 2, "--force"),
        (("planar-2r", "log.csv", "-o", "log.txt"), 2, "log.txt"),
    ],
    "export": [
        (("scara", "--kernel", "massmatrix"), 2, "'massmatrix'"),
        (("scara", "--format", "java"), 2, "'java'"),
        (("scara", "--format", "numpy", "--batch"), 2, "--batch"),
    ],
    "exercise": [
        (("invent",), 2, "'invent'"),
        (("make", "compose-rotation"), 2, "'compose-rotations'"),
        (("make",), 2, "--topic"),
        (("make", "compose-rotations", "--format", "pdf"), 2, "--format"),
        (("make", "compose-rotations", "-o", "sheet.doc"), 2, "sheet.doc"),
        (("make", "compose-rotations", "--class", "students.csv"), 1, "students.csv"),
        (("list", "--topic", "dancing"), 2, "'dancing'"),
        (("solve", "compose-rotations", "--seed", "-1"), 2, "--seed"),
        (("grade", "compose-rotations", "--answer", "R"), 2, "--answer"),
        (("grade", "compose-rotations"), 2, "--answer"),
        (("grade", "compose-rotations", "--answer", "R=1"), 1, ""),
        (("grade", "nobody.toml"), 1, "nobody.toml"),
    ],
    "bench": [
        (("r2d2",), 2, "'r2d2'"),
        (("panda", "--states", "0"), 2, "--states"),
        (("panda", "--threads", "many"), 2, "--threads"),
    ],
    "cache": [(("panda",), 2, "panda"), (("--clean",), 2, "--clean"), (("--clear=yes",), 2, "--clear")],
    "completion": [(("tcsh",), 2, "'tcsh'"), (("bash", "zsh"), 2, "zsh"), ((), 2, "'nu'")],
}
CASES = [(command, *row) for command, rows in WRONG.items() for row in rows]


def test_every_command_has_three_wrong_uses():
    assert set(WRONG) == set(COMMANDS)
    assert all(len(rows) >= 3 for rows in WRONG.values())


@pytest.mark.parametrize(
    ("command", "arguments", "code", "culprit"), CASES, ids=[f"{c} {' '.join(a)}"[:60] for c, a, _, _ in CASES]
)
def test_wrong_use(command, arguments, code, culprit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHELL", "/usr/bin/nu")
    result = run(command, *arguments, code=code)
    assert culprit in words(result.stderr), result.stderr
    assert "Traceback" not in result.output and "`" not in result.stderr
    assert not list(tmp_path.iterdir()), "nothing is written by a command that is refused"


COMMAND_LINE = [(old, new.replace("`", "")) for place, old, new in RENAMED if place == "command line"]


@pytest.mark.parametrize(("old", "new"), [row for row in COMMAND_LINE if re.fullmatch(r"(\w+ )?--[\w-]+", row[0])])
def test_an_old_option_names_the_new_one(old, new):
    """In every command that does not have the option still."""
    command, _, option = old.rpartition(" ")
    special = {known for known, _ in COMMAND_LINE}
    refused = 0
    for name in [(command,)] if command else leaves():
        if not command and f"{name[-1]} {option}" in special:
            continue
        result = run(*name, option, "x", "x", "x", code=2)
        if f"No such option '{option}'" in result.stderr:
            refused += 1
            assert new.split(",")[0] in words(result.stderr)
    assert refused
