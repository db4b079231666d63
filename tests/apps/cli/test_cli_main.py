"""The command line as a whole: help, what stops a command, exit codes; in this process and as a program."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from invoking import leaves, program, run, words

import dalembert as dl
from dalembert.apps.cli import COMMANDS, MODULES, main, terminal

FOLDER = Path(dl.__file__).parent / "apps" / "cli"
SHARED = {"encoding", "table", "option_table", "__init__", "options", "output", "terminal"}


def test_help_names_every_command_without_importing_any():
    out = run("--help").output
    assert all(name in out for name in COMMANDS)
    assert {file.stem for file in FOLDER.glob("*.py")} - SHARED == set(MODULES.values())
    ran = program("--help", env={"PYTHONPROFILEIMPORTTIME": "1"})
    _, told = ran.communicate(timeout=60)
    imported = {line.split("|")[-1].strip() for line in told.splitlines() if line.startswith("import time")}
    assert "dalembert.apps.cli.terminal" in imported and ran.returncode == 0
    assert not {"numpy", "rich", "json", *(f"dalembert.apps.cli.{name}" for name in MODULES.values())} & imported


@pytest.mark.parametrize("name", leaves(), ids=" ".join)
def test_every_command_has_an_example_and_json(name):
    out = run(*name, "--help").output
    assert f"dalembert {' '.join(name)}" in out.partition("Example")[2], "its help has an example of itself"
    assert "None" not in out, "a default or a range that is none is not shown"
    assert "--json" in out and "JSON output for programs" in out


def test_version():
    assert dl.__version__ in run("--version").output
    assert run("-h").output == run("--help").output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("inf", "panda"), "there is no command 'inf'; did you mean 'info'?"),
        (("xyzzy",), "there is no command 'xyzzy'; choose from robots, info,"),
        (("--verbose",), "No such option"),
    ],
)
def test_wrong_use(arguments, says):
    assert says in words(run(*arguments, code=2).output)


# ------------------------------------------------------------------------------------------- what stops a command
class Fails(click.Command):
    """A command that comes to the end that it is given."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("fails")
        self.error = error

    def invoke(self, ctx: click.Context) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (dl.InputError("q is wrong"), 1, "Error: q is wrong\n"),
        (dl.UnknownNameError("robot", "x", ("y",)), 1, "Error: unknown robot 'x'; choose from 'y'\n"),
        (dl.MissingExtraError("daqp is missing: pip install 'dalembert[opt]'"), 1, "pip install 'dalembert[opt]'\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (PermissionError(13, "Permission denied", "a.csv"), 1, "Error: a.csv: Permission denied\n"),
        (OSError(28, "No space left on device"), 1, "Error: the output cannot be written: No space left on device\n"),
        (MemoryError(), 1, "Error: there is not enough memory for this\n"),
        (MemoryError("Unable to allocate 8 TiB"), 1, "not enough memory for this: Unable to allocate 8 TiB\n"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
)
def test_what_stops_a_command_is_one_line(monkeypatch, error, code, says):
    monkeypatch.setattr(terminal, "_silence", lambda: None)
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: Fails(error))
    result = CliRunner().invoke(main, ["info"])
    assert result.exit_code == code and not result.stdout
    assert result.stderr.endswith(says) and result.stderr.count("\n") <= 1


def test_a_mistake_of_ours_is_not_hidden(monkeypatch):
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: Fails(ZeroDivisionError("ours")))
    assert isinstance(CliRunner().invoke(main, ["info"]).exception, ZeroDivisionError)


def test_warnings_are_lines_for_people(monkeypatch, capsys):
    terminal.show_warning(UserWarning("look out"), UserWarning, "file.py", 3)
    assert capsys.readouterr().err == "warning: look out\n"


def test_warnings_of_a_description_go_to_standard_error(tmp_path: Path):
    file = tmp_path / "loose.urdf"
    file.write_text(
        '<robot name="x"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 2"/></joint></robot>'
    )
    result = run("info", file, "--json")
    assert "warning: " in result.stderr and "axis" in result.stderr
    assert json.loads(result.stdout)["name"] == "x"


# ------------------------------------------------------------------------------------------------------- progress
class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def until(screen: Terminal, what: str) -> None:
    """A thread writes it: it comes when it comes."""
    end = time.monotonic() + 30
    while what not in screen.getvalue():
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.01)


def test_progress_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.waiting("quick"):
        pass
    assert screen.getvalue() == ""  # what is done within a second shows nothing
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.waiting("reading [the log]") as say:
        until(screen, "reading [the log] …")
        say("fitting")
        until(screen, "fitting …")


def test_no_progress_in_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.waiting("reading") as say:
        say("fitting")
    assert sys.stderr.getvalue() == ""


def test_a_model_of_very_many_joints_is_told_at_once(tmp_path):
    links = "".join(f'<link name="l{k}"/>' for k in range(terminal.MANY_JOINTS + 2))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(terminal.MANY_JOINTS + 1)
    )
    (tmp_path / "chain.urdf").write_text(f'<robot name="chain">{links}{joints}</robot>')
    told = f"report: {terminal.MANY_JOINTS + 1} joints may take many minutes, and much memory (Ctrl-C ends it)\n"
    where = ("report", tmp_path / "chain.urdf", "-o", tmp_path / "chain.html", "--only", "findings")
    assert told in run(*where).stderr
    assert told not in run("report", "planar-2r", *where[2:]).stderr


# --------------------------------------------------------------------------------------------- broken descriptions
GARBAGE = bytes(range(256)) * 8
BROKEN = {
    "missing.urdf": (None, "there is no such file"),
    "folder.urdf": ("folder", "cannot be read: Is a directory"),
    "garbage.urdf": (GARBAGE, "the XML is malformed"),
    "garbage.toml": (GARBAGE, "not UTF-8 text"),
    "garbage.xml": (GARBAGE, "the XML is malformed"),
    "empty.toml": (b"", "the key 'name' is missing"),
    "nan.toml": (b'name = "a"\n[[dh.rows]]\nd = nan\n', "nan is not a finite number"),
    "arm.sdf": (b"<sdf/>", "SDF is not supported"),
    "sdf.xml": (b"<sdf/>", "SDF is not supported"),
    "arm.world": (b"<sdf/>", "SDF is not supported"),
    "arm.txt": (b"", "a robot is a file ending in .urdf, .xacro, .toml, .xml, or a bundled name"),
    "open.urdf": (b'<robot name="x"><link name="a"></robot>', "open.urdf:1:"),
}
TAKE_ROBOTS = {
    "info": (),
    "fk": (),
    "ik": ("--xyz", "0,0,0"),
    "dynamics": (),
    "equations": (),
    "properties": (),
    "bounds": (),
    "convert": ("--format", "urdf"),
    "simulate": (),
    "compare": (),
    "tune": (),
    "excite": (),
    "export": (),
    "bench": (),
    "identify": ("log.csv",),
}


@pytest.mark.parametrize("name", TAKE_ROBOTS)
def test_broken_files_are_told_in_one_line_by_every_command(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, (content, says) in BROKEN.items():
        if content == "folder":
            Path(file).mkdir()
        elif content is not None:
            Path(file).write_bytes(content)
        result = run(name, file, *TAKE_ROBOTS[name], code=1)
        assert result.stderr.startswith("Error: ") and says in result.stderr and file in result.stderr
        assert result.stderr.count("\n") == 1 and not result.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is unreadable here")
def test_an_unreadable_file(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text("<robot/>")
    file.chmod(0)
    assert "cannot be read: Permission denied" in run("info", file, code=1).output


# -------------------------------------------------------------------------------------------------- as a program
def test_exit_codes_of_the_program():
    ran = program("info", "nosuch")
    out, told = ran.communicate(timeout=60)
    assert ran.returncode == 2 and "'nosuch'" in told and not out


@pytest.mark.skipif(os.name != "posix", reason="pipes end otherwise elsewhere")
@pytest.mark.parametrize("arguments", [("info", "planar-1r"), ("fk", "planar-1r", "--json"), ("--help",)])
def test_a_reader_that_leaves_is_no_error(arguments):
    """dalembert … | head -0: the pipe is closed before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = program(*arguments, stdout=writing)
    os.close(writing)
    _, told = ran.communicate(timeout=60)
    assert told == "" and ran.returncode == 141


@pytest.mark.skipif(os.name != "posix", reason="there is no shell to close it")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_outputs(closed):
    """dalembert info planar-1r >&-: there is no standard output at all."""
    command = f"{shlex.quote(sys.executable)} -m dalembert info planar-1r {closed}"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0 and ran.stderr == "" and (">&-" in closed[:3]) == (ran.stdout == "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk():
    with open("/dev/full", "w") as full:
        ran = program("info", "planar-1r", stdout=full)
        _, told = ran.communicate(timeout=60)
    assert ran.returncode == 1 and told == "Error: the output cannot be written: No space left on device\n"


INTERRUPT = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
from dalembert.apps.cli import main
from dalembert import loading
def load(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(30)
loading.load = load
main(["info", "panda"])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals differ elsewhere")
def test_ctrl_c():
    ran = subprocess.run([sys.executable, "-c", INTERRUPT], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (128 + signal.SIGINT, "", "interrupted\n")


INTERRUPT_IMPORT = """
import os, signal, sys, threading
module, handler = sys.argv[1:]
class Finder:
    def find_spec(name, path, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.5)
sys.meta_path.insert(0, Finder)
signal.signal(signal.SIGINT, getattr(signal, handler))
import dalembert.__main__
sys.argv = ["dalembert", "fk", "planar-1r", "--q0", "1", "--json"]
dalembert.__main__.run()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals differ elsewhere")
@pytest.mark.parametrize("module", ["click", "dalembert.apps.cli.kinematics", "numpy", "dalembert.compile.llvm"])
def test_ctrl_c_while_modules_are_imported(module):
    """At the start, before the command, and in its body: the process ends at once, without a traceback."""

    def started(handler: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", INTERRUPT_IMPORT, module, handler]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    ran = started("default_int_handler")
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, "", "")
    if module == "click":
        ran = started("SIG_IGN")  # as whoever started it wants
        assert ran.returncode == 0 and ran.stdout


NEGATIVE = """<robot name="arm"><link name="base"/>
<joint name="j" type="revolute"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><sphere radius="-1"/></geometry></visual></link></robot>"""
TENDON = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body></worldbody>
<tendon><fixed name="t" stiffness="5"><joint joint="a" coef="1"/></fixed></tendon></mujoco>"""


def test_strict_and_ignore_reach_commands_that_load_for_themselves(tmp_path: Path):
    urdf, mjcf = tmp_path / "arm.urdf", tmp_path / "arm.xml"
    urdf.write_text(NEGATIVE)
    mjcf.write_text(TENDON)
    assert "it loads" in run("check", str(urdf), code=1).output
    assert "it does not load" in run("check", str(urdf), "--strict", code=1).output
    run("verify", str(urdf), "--states", "4")
    for against in ((), ("--against", str(urdf))):
        first = "planar-2r" if against else str(urdf)
        assert "the radius of a visual" in run("verify", first, *against, "--strict", "--states", "4", code=1).output
    for command in (("check",), ("verify", "--states", "4")):
        assert "--ignore tendons" in words(run(*command, str(mjcf), code=1).output)
        run(*command, str(mjcf), "--ignore", "tendons,actuators")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("robots", "--strict"), "No such option '--strict'"),
        (("--strict", "info", "panda"), "Write it after the command"),
        (("check", "--rules", "--strict"), "--strict has no effect here"),
        (("tune", "--den", "1,3,3,1", "--strict"), "--strict has no effect here"),
        (("info", "panda", "--ignore", "tendon"), "'tendons'"),
    ],
)
def test_strict_and_ignore_where_nothing_is_read(arguments, says):
    assert says in words(run(*arguments, code=2).output)
