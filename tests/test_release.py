"""A release: one wheel for every system, with all that it needs and nothing else; one version everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import pytest

import dalembert as dl

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Built with what is installed: nothing is fetched."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install 'dalembert[test]'")
    out = tmp_path_factory.mktemp("wheel")
    script = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_one_wheel_for_every_system(wheel):
    assert Path(wheel.filename).name == f"dalembert-{dl.__version__}-py3-none-any.whl"
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/WHEEL"))
    text = wheel.read(name).decode()
    assert "Root-Is-Purelib: true" in text and re.findall(r"Tag: (.*)", text) == ["py3-none-any"]
    assert not [n for n in wheel.namelist() if n.endswith((".so", ".pyd", ".dylib", ".dll", ".pyc"))]


def test_everything_that_is_read_at_run_time_is_in_it(wheel):
    """Every file of the package, whatever its kind: modules, robots, pages' templates and styles, the mark of types."""
    package = ROOT / "src" / "dalembert"
    wanted = {
        f"dalembert/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(package).parts)
    }
    assert {"dalembert/py.typed", "dalembert/robots/panda.toml"} <= wanted
    assert wanted - set(wheel.namelist()) == set()


def test_nothing_else_is_in_it(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"dalembert", f"dalembert-{dl.__version__}.dist-info"}
    assert not [name for name in wheel.namelist() if "test_" in Path(name).name or Path(name).name == "conftest.py"]
    for file in ("LICENSE", "NOTICE"):
        assert [name for name in wheel.namelist() if name.endswith(f"licenses/{file}")]


def test_every_dependency_has_its_license_in_the_notice():
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for requirement in PROJECT["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^  {name} +\w", notice, re.MULTILINE), name
    assert re.search(r"python-flint .*LGPL-3.0-or-later", notice)


def test_what_is_relied_on_inside_has_both_bounds():
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["xacro"]]
    bounds = {re.match(r"[\w-]+", r)[0]: r for r in needed}
    for name in ("numpy", "llvmlite", "xacro"):
        assert re.fullmatch(rf"{name}>=[\d.]+,<[\d.]+", bounds[name])


def test_what_it_says_of_itself(wheel):
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(wheel.read(name).decode())
    assert said["Name"] == "dalembert" and said["Version"] == dl.__version__
    assert said["Requires-Python"] == ">=3.11" and said["License-Expression"] == "Apache-2.0"
    assert set(PROJECT["optional-dependencies"]) == set(said.get_all("Provides-Extra"))
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "dalembert = dalembert.__main__:run" in wheel.read(name).decode()


def test_it_runs_from_the_wheel_alone(wheel, tmp_path):
    """Unpacked elsewhere, with nothing of the source tree in reach."""
    wheel.extractall(tmp_path)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import dalembert as dl;"
        "assert dl.__file__.startswith(sys.argv[1]);"
        "print(dl.load('planar-2r').mass_matrix([0.1, 0.2])[1, 1], len(dl.robots.names()))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr[-2000:]
    M22, robots = run.stdout.split()
    assert float(M22) == dl.load("planar-2r").mass_matrix([0.1, 0.2])[1, 1] and int(robots) == len(dl.robots.names())


def test_versions_are_semantic_and_the_same_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", dl.__version__)
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == dl.__version__ and cited["license"] == PROJECT["license"]
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software" and cited["authors"] and cited["message"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[?(\d+\.\d+\.\d+)", changes, re.MULTILINE)
    assert "## Unreleased" in changes or released
    assert not released or released[0] == dl.__version__


def test_the_policy_says_what_is_public():
    """Packages whose own names are promised, as the reference has them."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        from dalembert_site.names import DOORS
    finally:
        sys.path.remove(str(ROOT / "docs" / "_ext"))
    policy = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    for door in DOORS:
        assert f"`{door}`" in policy, door
    assert PROJECT["requires-python"].removeprefix(">=") in policy


def is_documented(thing: object) -> bool:
    """Whether an object has a docstring of its own, not that of a base class or the signature of a dataclass."""
    said = (vars(thing)["__doc__"] if isinstance(thing, type) else thing.__doc__) or ""
    return bool(said.strip()) and not (isinstance(thing, type) and said.startswith(f"{thing.__name__}("))


def test_what_is_public_is_documented():
    """Every public name, and every class and function that a public package lists."""
    things = {f"dalembert.{name}": getattr(dl, name) for name in dl.__all__}
    for package in [x for x in things.values() if isinstance(x, ModuleType)]:
        things |= {f"{package.__name__}.{name}": getattr(package, name) for name in getattr(package, "__all__", ())}
    things |= {f"Robot.{name}": getattr(dl.Robot, name) for name in vars(dl.Robot) if not name.startswith("_")}
    described = {name: x for name, x in things.items() if callable(x) or isinstance(x, (ModuleType, property))}
    assert len(described) > 200
    assert [name for name, x in described.items() if not is_documented(x)] == []


def test_a_signature_is_no_docstring():
    @dataclass
    class Plain:
        x: int = 0

    class Inherits(dl.Robot):
        pass

    assert Plain.__doc__ and not is_documented(Plain) and not is_documented(Inherits) and is_documented(dl.Robot)
