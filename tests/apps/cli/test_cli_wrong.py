"""Wrong uses of every command, with their exit codes and messages."""

from __future__ import annotations

import pytest
from invoking import run, words

from dalembert.apps.cli import COMMANDS

NO_SUCH = "unknown robot 'r2d2'; choose from"
# Arguments after the command, the exit code, words of the message.
WRONG: dict[str, list[tuple[tuple[str, ...], int, str]]] = {
    "robots": [
        (("panda",), 2, "unexpected extra argument (panda)"),
        (("--jso",), 2, "No such option"),
        (("--json=1",), 2, "does not take a value"),
    ],
    "info": [
        (("pandas",), 1, "unknown robot 'pandas'; did you mean 'panda'?"),
        (("arm.urdf",), 1, "arm.urdf: there is no such file"),
        (("panda", "--tip", "panda_link9"), 1, "unknown frame 'panda_link9'"),
        ((), 2, "Missing argument 'ROBOT'"),
    ],
    "check": [
        ((), 2, "name a file, a bundled robot or a folder"),
        (("arm.urdf",), 2, "arm.urdf: there is no such file or folder"),
        (("panda", "--format", "xml"), 2, "'xml' is not one of"),
    ],
    "verify": [
        (("r2d2",), 1, NO_SUCH),
        (("panda", "--states", "1"), 2, "1 is not in the range 4<=x<=100000"),
        (("panda", "--seed", "x"), 2, "'x' is not a valid integer"),
    ],
    "firmware": [
        (("planar-2r", "--cpu", "z80"), 1, "unknown cpu 'z80'; choose from 'cortex-m4', 'cortex-m7'"),
        (("planar-2r", "--law", "adaptive"), 1, "adaptive control needs gains of its adaptation"),
        (("planar-2r", "--law", "pdd"), 1, "unknown law 'pdd'; did you mean 'pd'"),
        (("planar-2r", "--cpu", "cortex-m4", "--double"), 1, "Arm Cortex-M4F has no hardware for double"),
        (("planar-2r", "--sample-time", "0"), 2, "0.0 is not in the range x>0"),
        (("planar-2r", "--move", "1"), 2, "--move has no effect here: it belongs to a motion, and there is no --to"),
        (("planar-2r", "--law", "impedance", "--to", "0,1"), 2, "--to gives joint positions, and impedance follows"),
        (("planar-2r", "--law", "feedforward", "--omega", "3"), 2, "--omega has no effect here: feedforward has no"),
        (("panda", "--cpu", "cortex-m4", "--flash", "2"), 1, "KiB of flash on Arm Cortex-M4F, which has 2"),
        (("planar-2r", "-o", "/dev/null/folder"), 1, "'/dev/null/folder' cannot be written: Not a directory"),
        (("five-bar", "--law", "pd-gravity"), 1, "'five-bar' has 1 loop"),
    ],
    "report": [
        (("r2d2",), 1, NO_SUCH),
        (("panda", "--seconds", "0"), 2, "0.0 is not in the range x>0"),
        (("panda", "--sections", "nothing"), 1, "nothing"),
    ],
    "studio": [
        ((), 2, "Missing argument 'ROBOT'"),
        (("panda", "--port", "70000"), 2, "70000 is not in the range 0<=x<=65535"),
        (("panda", "--log", "nothing.csv"), 2, "'nothing.csv' does not exist"),
    ],
    "fk": [
        (("panda", "--q", "1,2"), 2, "7 numbers are needed, one per joint; got 2"),
        (("panda", "--q", "1,2,3,4,5,6,nan"), 2, "'nan' is not a finite number"),
        (("panda", "--frame", "link3"), 1, "unknown frame 'link3'; did you mean 'panda_link3'"),
        (("panda", "--all", "--frame", "panda_link3"), 2, "--all means every frame: leave out --frame"),
        (("panda", "--q", ""), 2, "there are no numbers in it"),
        *((("planar-2r", "--q", q), 2, "a number is missing") for q in ("1,,2", "1,2,", ",1,2", "1, ,2")),
    ],
    "ik": [
        (("panda",), 2, "say where the frame is to be: --xyz x,y,z"),
        (("panda", "--xyz", "1,2"), 2, "3 numbers are needed, x, y, z; got 2"),
        (("panda", "--xyz", "1,2,inf"), 2, "'inf' is not a finite number"),
        (("panda", "--xyz", "1,0,0", "--rows", "pose"), 2, "--rows pose needs --rpy"),
        (("panda", "--xyz", "1,0,0", "--all", "--axis", "z"), 2, "--all solves for the whole pose"),
        (("panda", "--xyz", "1,0,0", "--rpy", "0,0,0", "--all"), 1, "no closed form for 'panda'"),
        (("panda", "--xyz", "1,0,0", "--tolerance", "nan"), 2, "nan is not a finite number"),
        (("four-bar", "--xyz", "1,0,0"), 1, "'four-bar' has 1 loop"),
    ],
    "dynamics": [
        (("panda", "--q", "1,2"), 2, "7 numbers are needed, one per joint; got 2"),
        (("planar-1r", "--q", "x"), 2, "'x' is not a number"),
        (("r2d2",), 1, NO_SUCH),
    ],
    "equations": [
        (("planar-2r", "--of", "Q"), 1, "unknown quantity 'Q'"),
        (("planar-2r", "--of", "M19"), 1, "there is no M19"),
        (("planar-2r", "--symbolic", "m9"), 1, "unknown parameter 'm9'"),
        (("planar-2r", "--check", "M12", "I2 +"), 1, "is no formula"),
        (("planar-2r", "--of", "M", "--check", "M11", "I1"), 2, "exclude each other"),
        (("planar-2r", "--json", "-o", "arm.tex"), 2, "-o is for formulas"),
        (("planar-2r", "-o", "no/such/arm.tex"), 1, "cannot be written: No such file or directory"),
    ],
    "derive": [
        (("r2d2",), 1, NO_SUCH),
        (("planar-2r", "--method", "kane"), 2, "'kane' is not one of"),
        (("planar-2r", "--format", "html", "--all"), 2, "--all is for text"),
        (("planar-2r", "--at", "0,0;0,0;0,0"), 2, "--at puts numbers into --method newton-euler"),
        (("planar-2r", "--method", "newton-euler", "--at", "0,0;0,0"), 2, "three lists are needed"),
        (("planar-2r", "--method", "newton-euler", "--at", "0;0,0;0,0"), 2, "2 numbers are needed"),
        (("planar-2r", "--json", "-o", "arm.html"), 2, "--json go to the screen"),
        (("planar-2r", "--check", "homework.txt"), 2, "'homework.txt' does not exist"),
        (("planar-2r", "-o", "arm.pdf"), 1, "must end with one of .txt, .md, .tex, .html"),
        (("four-bar", "--method", "kinematics"), 2, "is a closed chain"),
        (("four-bar", "--letters", "spong"), 2, "--letters has no effect here"),
        (("bead-on-a-hoop", "--method", "newton-euler"), 2, "is derived from its energies"),
    ],
    "properties": [
        (("planar-2r", "--qd", "1,1"), 2, "--qd is given without --q"),
        (("planar-2r", "--only", "nothing"), 1, "nothing"),
        (("planar-2r", "--plot", "a.txt"), 2, "its name must end in .png, .svg or .pdf"),
    ],
    "bounds": [
        (("planar-2r", "--lower", "0,0"), 2, "--lower and --upper go together"),
        (("planar-2r", "--only", "mu9"), 1, "mu9"),
        (("planar-2r", "--gap", "nan"), 2, "nan is not a finite number"),
    ],
    "convert": [
        (("panda",), 2, "say which format with --to"),
        (("panda", "--to", "mjcf"), 2, "'mjcf' is not one of"),
        (("panda", "--to", "dh", "-o", "x.txt"), 2, "x.txt: dh is written to a file ending in .toml"),
        (("panda", "--to", "screws", "-o", "x.toml"), 2, "screw axes go to the screen"),
        (("panda", "-o", "no/such/arm.urdf"), 1, "cannot be written: No such file"),
        (("panda", "-o", "."), 1, "'.' cannot be written: Is a directory"),
    ],
    "simulate": [
        (("planar-2r", "--controller", "pdd"), 2, "'pdd' is not one of"),
        (("planar-2r", "--method", "rk9"), 1, "unknown method 'rk9'"),
        (("planar-2r", "--duration", "0"), 2, "0.0 is not in the range x>0"),
        (("planar-2r", "--duration", "nan"), 2, "nan is not a finite number"),
        (("planar-2r", "--duration", "1", "--dt", "0.3"), 1, "is not a whole number of steps"),
        (("panda", "--to", "0,0,0,1,0,0,0"), 2, "1 for 'panda_joint4' is outside its limits, -3.0718 to -0.0698"),
        (("planar-2r", "--controller", "none", "--to", "1,1"), 2, "leave out --controller none"),
        (("planar-2r", "--move", "1"), 2, "there is no goal"),
        (("planar-2r", "-o", "run.xls"), 2, "run.xls: its name must end in .csv or .parquet"),
        (("planar-2r", "-o", "no/such/run.csv"), 1, "'no/such/run.csv' cannot be written"),
        (("four-bar", "--controller", "pd"), 1, "'four-bar' has 1 loop"),
    ],
    "compare": [
        (("planar-2r", "--controllers", "pd,pdd"), 2, "unknown controller 'pdd'; did you mean 'pd'"),
        (("planar-2r", "--scenarios", "storm"), 2, "unknown scenario 'storm'"),
        (("planar-2r", "--controllers", ","), 2, "name at least one controller: pd, pd-gravity"),
        (("planar-2r", "--omega", "-1"), 2, "-1.0 is not in the range"),
        (("four-bar",), 1, "'four-bar' has 1 loop"),
    ],
    "plan": [
        (("panda",), 2, "say where to go: --through"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--pose", "1,0,0,0,0,0"), 2, "say where to go: --through"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--floor", "0"), 1, "the goal touches something: wrist_2_link and floor"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--floor", "nan"), 2, "nan is not a finite number"),
        (("ur5e", "--pose", "3,0,0,0,0,0"), 1, "no joint positions within the limits put 'tool0' at the goal"),
        (("ur5e", "--pose", "3,0,0"), 2, "6 numbers are needed, x, y, z, roll, pitch, yaw; got 3"),
        (("ur5e", "--to", "0,0.5,0,0,0,0", "--world", "no.toml"), 1, "no.toml: cannot be read"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--duration", "2"), 2, "--duration has no effect here"),
        (("ur5e", "--to", "0,1,0,0,0,0", "--frame", "tool0"), 2, "--frame has no effect here: it says what --pose"),
        (
            ("ur5e", "--through", "0,1,0,0,0,0", "--clear", "0.1"),
            2,
            "--clear has no effect here: obstacles are avoided",
        ),
        (("panda", "--through", "1,2"), 2, "7 numbers are needed, one per joint; got 2"),
        (("planar-2r", "--through", "1,1"), 1, "without limits of torque or acceleration no motion is fastest"),
    ],
    "phase": [
        (("planar-2r",), 2, "Missing option '-o'"),
        (("planar-2r", "--joint", "joint3", "-o", "x.png"), 2, "unknown joint 'joint3'"),
        (("planar-2r", "-o", "x.doc"), 2, "its name must end in"),
    ],
    "tune": [
        ((), 2, "name a ROBOT, or a plant with --den (and --num): one of the two"),
        (("planar-2r", "--den", "1,1"), 2, "one of the two"),
        (("planar-2r", "--num", "1"), 2, "--num and --delay are a plant's"),
        (("--den", "1,2"), 1, "never reaches −180°"),
        (("--den", "1,x"), 2, "'x' is not a number"),
        (("planar-2r", "--controller", "feedforward"), 2, "'feedforward' is not one of"),
    ],
    "excite": [
        (("planar-2r", "--lower", "0,0"), 2, "--lower and --upper go together"),
        (("planar-2r", "--velocity", "1,2,3"), 2, "one number is needed, or 2, one per joint; got 3"),
        (("planar-2r",), 1, "joint1"),  # without any limit of speed
        (("planar-2r", "-o", "motion.csv", "--rate", "33.33"), 2, "the motion has 333.3: choose a --rate"),
        (("planar-2r", "-o", "motion.txt"), 2, "motion.txt: its name must end in .csv"),
        (("four-bar",), 1, "'four-bar' has 1 loop"),
    ],
    "identify": [
        (("planar-2r", "nothing.csv"), 1, "nothing.csv"),
        (("planar-2r",), 2, "Missing argument 'LOG...'"),
        (("planar-2r", "log.csv", "--gaps", "fill"), 1, "unknown choice of --gaps 'fill'; choose from 'cut', 'refuse'"),
        (("planar-2r", "log.csv", "--units", "deg"), 1, "a name before each value: --units q=deg"),
        (("planar-2r", "log.csv", "--log-settings", "no.toml"), 1, "no.toml: cannot be read"),
        (("planar-2r", "log.csv", "--out", "arm.obj"), 2, "arm.obj: its name must end in .urdf, .toml"),
        (("planar-2r", "log.csv", "--holdout", "2"), 2, "2.0 is not in the range 0<=x<0.9"),
    ],
    "page": [
        (("planar-2r", "--controllers", "pdd"), 1, "unknown controller 'pdd'"),
        (("planar-2r", "--panels", "plot"), 1, "unknown panel 'plot'"),
        (("planar-2r", "-o", "page.pdf"), 2, "page.pdf: its name must end in .html"),
    ],
    "observe": [
        (("planar-2r", "nothing.csv"), 1, "nothing.csv: cannot be read"),
        (("planar-2r", "log.csv", "--false-alarms", "5000"), 2, "5000.0 is not in the range 0<x<=1200"),
        (("planar-2r", "log.csv", "--calibrate", "quiet.csv", "--first", "0.3"), 2, "--first has no effect here"),
        (("planar-2r", "log.csv", "--gain", "1,2,3"), 2, "one number is needed, or 2, one per joint; got 3"),
        (("planar-2r", "log.csv", "--components", "f_w"), 2, "unknown component of a wrench 'f_w'"),
        (("planar-2r", "log.csv", "-o", "log.txt"), 2, "log.txt: its name must end in .csv"),
    ],
    "export": [
        (("scara", "--kernel", "massmatrix"), 1, "unknown kernel 'massmatrix'"),
        (("scara", "--lang", "java"), 2, "'java' is not one of"),
        (("scara", "--lang", "numpy", "--batch"), 2, "is for C; numpy takes many states as it is"),
    ],
    "exercise": [
        (("invent",), 2, "No such command 'invent'"),
        (("make", "compose-rotation"), 1, "unknown family of exercises 'compose-rotation'; did you mean"),
        (("make",), 2, "name families, or a --topic"),
        (("make", "compose-rotations", "--format", "pdf"), 2, "--format pdf goes into a file"),
        (("make", "compose-rotations", "-o", "sheet.doc"), 2, "the ending of sheet.doc does not say the form"),
        (("make", "compose-rotations", "--class", "students.csv"), 2, "'students.csv' does not exist"),
        (("list", "--topic", "dancing"), 1, "unknown topic 'dancing'"),
        (("solve", "compose-rotations", "--seed", "-1"), 2, "-1 is not in the range"),
        (("grade", "compose-rotations", "--answer", "R"), 2, "an answer is given as --answer NAME="),
        (("grade", "compose-rotations"), 2, "an answer is given as --answer NAME="),
        (("grade", "nobody.toml"), 1, "there is no file or folder 'nobody.toml'"),
    ],
    "bench": [
        (("r2d2",), 1, NO_SUCH),
        (("panda", "--states", "0"), 2, "0 is not in the range 8<=x<=1000000"),
        (("panda", "--threads", "many"), 2, "'many' is not a valid integer"),
    ],
    "cache": [
        (("panda",), 2, "unexpected extra argument (panda)"),
        (("--clean",), 2, "No such option"),
        (("--clear=yes",), 2, "does not take a value"),
    ],
    "completion": [
        (("tcsh",), 2, "'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        (("bash", "zsh"), 2, "unexpected extra argument (zsh)"),
        ((), 2, "there is no script for the shell 'nu': name one of bash, zsh, fish"),
    ],
}
CASES = [(command, *row) for command, rows in WRONG.items() for row in rows]


def test_every_command_has_three_wrong_uses():
    assert set(WRONG) == set(COMMANDS)
    assert all(len(rows) >= 3 for rows in WRONG.values())


@pytest.mark.parametrize(
    ("command", "arguments", "code", "says"), CASES, ids=[f"{c} {' '.join(a)}"[:60] for c, a, _, _ in CASES]
)
def test_wrong_use(command, arguments, code, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHELL", "/usr/bin/nu")
    result = run(command, *arguments, code=code)
    assert says in words(result.stderr), result.stderr
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir()), "nothing is written by a command that is refused"
