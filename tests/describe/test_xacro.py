"""xacro: expanded apart, with limits, and its complaints as sentences."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalembert.apps.cli import main
from dalembert.describe import xacro
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.xacro import expand
from dalembert.errors import DescriptionError, MissingExtraError
from errors import fields_of, raises

installed = pytest.mark.skipif(importlib.util.find_spec("xacro") is None, reason="the package xacro is not installed")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
ARM = f"""{HEAD}
  <xacro:arg name="prefix" default=""/>
  <xacro:arg name="tool" default="false"/>
  <xacro:property name="d" value="0.25"/>
  <xacro:macro name="body" params="name"><link name="$(arg prefix)${{name}}"/></xacro:macro>
  <xacro:body name="a"/>
  <xacro:body name="b"/>
  <joint name="j" type="fixed"><origin xyz="0 0 ${{2*d}}"/>
    <parent link="$(arg prefix)a"/><child link="$(arg prefix)b"/></joint>
  <xacro:if value="$(arg tool)"><link name="tool"/>
    <joint name="k" type="fixed"><parent link="$(arg prefix)b"/><child link="tool"/></joint></xacro:if>
</robot>"""


def written(folder: Path, text: str, name: str = "r.urdf.xacro") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@installed
def test_macros_properties_and_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, ARM)
    plain = read_urdf(expand(path))
    assert [k.name for k in plain.links] == ["a", "b"]
    assert plain.joints[0].origin.xyz == (0.0, 0.0, 0.5)
    changed = read_urdf(expand(path, {"prefix": "left_", "tool": True}))
    assert [k.name for k in changed.links] == ["left_a", "left_b", "tool"]


@installed
def test_packages_are_found_on_the_way_up_and_by_name(tmp_path: Path) -> None:
    include = '<xacro:include filename="$(find parts)/link.xacro"/>'
    link = f'{HEAD}<link name="here"/></robot>'
    path = written(tmp_path, f"{HEAD}{include}</robot>", "ws/arm/urdf/arm.xacro")
    with pytest.raises(DescriptionError) as error:
        expand(path)
    assert fields_of(error.value) == "syntax path"
    written(tmp_path, link, "elsewhere/parts/link.xacro")
    assert 'name="here"' in expand(path, package_dirs=[tmp_path / "elsewhere"])
    assert 'name="here"' in expand(path, package_dirs=[tmp_path / "elsewhere" / "parts"])  # the package itself
    for command in ("info", "check", "verify"):
        given = [command, str(path), "--package-dir", str(tmp_path / "elsewhere")]
        assert CliRunner().invoke(main, given).exit_code == 0
        assert CliRunner().invoke(main, given[:2]).exit_code == 1
    written(tmp_path, link.replace("here", "beside"), "ws/parts/link.xacro")
    assert 'name="beside"' in expand(path)


@installed
def test_packages_are_found_by_the_name_in_their_manifest(tmp_path: Path) -> None:
    """Beside the package of the file, and in a folder that is named or is the package; a comment is no name."""
    path = written(
        tmp_path, f'{HEAD}<xacro:include filename="$(find parts)/link.xacro"/></robot>', "ws/arm/urdf/a.xacro"
    )
    text = "<package><!-- <name>old</name> --><name> parts </name></package>"
    for where in ("ws/parts-main", "else/where"):
        written(tmp_path, f'{HEAD}<link name="{where[:2]}"/></robot>', f"{where}/link.xacro")
    with raises(DescriptionError, "syntax path"):
        expand(path)
    for where, folders in (("else/where", ["else"]), ("else/where", ["else/where"]), ("ws/parts-main", [])):
        written(tmp_path, text, f"{where}/package.xml")
        found = expand(path, package_dirs=[tmp_path / folder for folder in folders])
        assert f'name="{where[:2]}"' in found
    with raises(DescriptionError, "syntax path"):
        expand(written(tmp_path, path.read_text().replace("parts", "old"), "ws/arm/urdf/b.xacro"))


@installed
@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ("<xacro:nothing/>", "xacro:nothing"),
        ('<link name="${x}"/>', "'x'"),
        ('<link name="$(arg y)"/>', " y"),
        ("<link>", "line 1, column"),
        ('<xacro:include filename="none.xacro"/>', "none.xacro"),
    ],
)
def test_complaints_name_the_culprit(tmp_path: Path, body: str, culprit: str) -> None:
    path = written(tmp_path, f"{HEAD}{body}</robot>")
    with pytest.raises(DescriptionError) as error:
        expand(path)
    assert (fields_of(error.value), error.value.place) == ("syntax path", str(path))
    assert culprit in error.value.problem and "\n" not in str(error.value)


@installed
def test_the_environment_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_TEST_SECRET", "hunter2")
    path = written(tmp_path, f'{HEAD}<link name="$(optenv DALEMBERT_TEST_SECRET none)"/></robot>')
    assert read_urdf(expand(path)).links[0].name == "none"


@installed
def test_time_is_limited(tmp_path: Path) -> None:
    path = written(tmp_path, f'{HEAD}<link name="${{max(range(10**12))}}"/></robot>')
    with raises(DescriptionError, "failed seconds"):
        expand(path, seconds=1.0)


@installed
@pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="no module resource on this system")
def test_memory_is_limited(tmp_path: Path) -> None:
    path = written(tmp_path, f'{HEAD}<link name="${{len([0] * 10**10)}}"/></robot>')
    with raises(DescriptionError, "syntax path"):
        expand(path)


@installed
def test_endless_recursion_ends(tmp_path: Path) -> None:
    macro = '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>'
    with raises(DescriptionError, "syntax path"):
        expand(written(tmp_path, f"{HEAD}{macro}</robot>"))


def test_no_file(tmp_path: Path) -> None:
    with raises(DescriptionError, "not-readable path"):
        expand(tmp_path / "none.xacro")


def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xacro.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as error:
        expand(written(tmp_path, ARM))
    assert fields_of(error.value) == "missing-extra xacro"


REAL = Path(sysconfig.get_path("purelib")) / "rtbdata/xacro/trossen_descriptions/urdf/vx300s.urdf.xacro"


@installed
@pytest.mark.skipif(not REAL.is_file(), reason="the package rtb-data is not installed")
def test_real_file() -> None:
    d = read_urdf(expand(REAL), file=REAL.name)
    assert [j.name for j in d.joints if j.kind != "fixed"][:3] == ["waist", "shoulder", "elbow"]
    assert sum(k.inertial.mass for k in d.links if k.inertial) > 1.0
