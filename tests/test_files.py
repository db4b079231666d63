"""Files that are written whole or not at all, and what killed writes left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.files import parse_toml, replaced, whole

WRITE = """
import os, sys
from dalembert.files import whole
def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
whole(sys.argv[1], write)
"""


def writer(file: Path) -> subprocess.Popen[str]:
    """A process in the midst of writing that file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def parts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def test_what_a_killed_write_left_goes_with_the_next(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for _ in range(3):
        end(writer(file))
    assert len(parts(tmp_path)) == 1  # each found what the one before had left
    end(writer(tmp_path / "b.csv"))
    (tmp_path / ".mine.part").write_text("not of this program")
    whole(file, lambda f: f.write(b"whole"))
    assert file.read_bytes() == b"whole"
    left = parts(tmp_path)
    assert ".mine.part" in left and len(left) == 2  # b's is b's
    whole(tmp_path / "b.csv", lambda f: f.write(b"whole"))
    assert parts(tmp_path) == [".mine.part"]


def test_what_is_still_being_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    process = writer(file)
    try:
        whole(file, lambda f: f.write(b"mine"))
        assert file.read_bytes() == b"mine" and len(parts(tmp_path)) == 1
        process.communicate("", timeout=60)  # it may go on, and comes last
        assert process.returncode == 0 and file.read_bytes() == b"half" and parts(tmp_path) == []
    finally:
        if process.poll() is None:
            end(process)


def test_names_as_long_as_there_may_be(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 255)
    whole(file, lambda f: f.write(b"x"))
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_links_pipes_and_folders_of_such_a_name_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with replaced(file) as part:
        begin = part.name[: -len("0123456789abcdef.part")]
    (tmp_path / "target").write_text("stays")
    (tmp_path / f"{begin}1.part").symlink_to(tmp_path / "none")
    (tmp_path / f"{begin}2.part").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / f"{begin}3.part")
    whole(file, lambda f: f.write(b"x"))
    assert (tmp_path / f"{begin}2.part").is_dir() and (tmp_path / "target").read_text() == "stays"


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def fail(file: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        whole(tmp_path / "a.csv", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    """As editors on Windows write it: in robots, worlds, spheres, homework, answers, settings, class lists, logs."""
    import dalembert as dl
    from dalembert import robots
    from dalembert.apps.cli import main
    from dalembert.collision.spheres import SphereModel
    from dalembert.collision.world import World
    from dalembert.describe import mesh
    from dalembert.describe.toml_read import read_toml
    from dalembert.exercises.classes import read_answers, read_class
    from dalembert.identification import read_log
    from dalembert.identification.log.settings import LogSettings
    from dalembert.trust.doctor import check

    def marked(name: str, text: str) -> Path:
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        return tmp_path / name

    arm = dl.load("planar-2r")
    toml, urdf = marked("arm.toml", robots.text("planar-2r")), marked("arm.urdf", arm.to_urdf())
    marked("part.xml", '<mujocoinclude><body><joint/><geom size=".1" pos=".1 0 0"/></body></mujocoinclude>')
    mjcf = marked("arm.xml", '<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>')
    assert [dl.load(file).n for file in (toml, urdf, mjcf)] == [2, 2, 1]
    assert read_toml("\ufeff" + robots.text("planar-2r")).name == "planar-2r"
    assert check(toml).facts.loads and check(urdf).facts.loads
    assert World.load(marked("world.toml", "[[sphere]]\nname = 's'\nxyz = [3, 0, 0]\nradius = 1\n")).names == ("s",)
    spheres = marked("spheres.toml", "[spheres]\nlink2 = [[0, 0, 0, 0.1]]\n")
    SphereModel.load(spheres, arm.model)
    obj = marked("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    assert len(mesh.read(obj)[0]) == 4
    homework = marked("homework.txt", f"M22 = {arm.equations().M[1][1]}\n")
    assert CliRunner().invoke(main, ["derive", str(toml), "--check", str(homework)]).exit_code == 0
    answers = marked("ada.toml", '[[exercise]]\nfamily = "compose-rotations"\nseed = 7\n')
    assert read_answers(answers)[1][0][:2] == ("compose-rotations", 7)
    (tmp_path / "plain.csv").write_text("name\nAda\n")
    assert read_class(marked("class.csv", "name\nAda\n")) == read_class(tmp_path / "plain.csv")
    assert LogSettings.from_toml(marked("settings.toml", "gaps = 'cut'\n")).gaps == "cut"
    lines = [f"{k / 100},{k * k / 1e4},{k / 50},{k % 7},{k % 5}" for k in range(200)]
    assert read_log(marked("log.csv", "\n".join(["t,q1,q2,tau1,tau2", *lines])), arm).q.shape[1] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" + "a." * 100_000 + "a]", "32 parts"),
        ("[" + '"\\"".' * 30_000 + "a]", "32 parts"),
        ('"\\' * 50_000 + "." * 40, "in a string"),
        ("x = 1\n" + '"a" . ' * 100 + "b = 1", "at line 2"),
        ("x = {" + "a." * 100 + "a = 1}", "32 parts"),
        ("x = " + "9" * 5000, "too many digits"),
        ("x = " + "[" * 20_000, "nested too deep"),
    ],
)
def test_toml_that_is_no_file_of_a_person(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_toml(text)


def test_toml_with_many_dots() -> None:
    numbers = ", ".join(["1.25"] * 200)
    assert len(parse_toml(f"x = [{numbers}]\ny = '{'a.' * 99}'\n[a.b.c]\n")["x"]) == 200


FILES_WITH_NAMES = {
    "shape.urdf": '<robot name="r"><link name="a"><collision><geometry><mesh filename="{}.stl"/></geometry></collision>'
    "</link></robot>",
    "package.urdf": '<robot name="r"><link name="a"><collision><geometry><mesh filename="package://{}/m.stl"/></geometry>'
    "</collision></link></robot>",
    "include.xml": '<mujoco><include file="{}"/><worldbody/></mujoco>',
    "mesh.xml": '<mujoco><asset><mesh name="m" file="{}.obj"/></asset><worldbody><body><joint/><geom type="mesh" '
    'mesh="m"/></body></worldbody></mujoco>',
    "folder.xml": '<mujoco><compiler meshdir="{}"/><asset><mesh file="m.obj"/></asset><worldbody><body><joint/><geom '
    'type="mesh" mesh="m"/></body></worldbody></mujoco>',
}


@pytest.mark.parametrize("name", ["9" * 5000, "a/" * 3000 + "b"])
def test_names_that_are_too_long_for_the_system(name: str, tmp_path: Path) -> None:
    """No file has such a name: a sentence, not the system's OSError (found by fuzz/mjcf.py)."""
    for file, text in FILES_WITH_NAMES.items():
        (tmp_path / file).write_text(text.format(name))
        with pytest.raises(dl.DalembertError):
            dl.load(tmp_path / file).collision()
    for ending in ("", ".urdf", ".xacro"):
        with pytest.raises(dl.DalembertError):
            dl.load(name + ending)
        with pytest.raises(dl.DalembertError):
            dl.check(name + ending)
