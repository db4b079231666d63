"""Robots as packages for JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError, InputError
from dalembert.interchange import javascript_package
from errors import raises
from free_arm import free_arm

NODE = shutil.which("node")


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def run(folder: Path, script: str) -> object:
    (folder / "run.mjs").write_text(script, encoding="utf-8")
    found = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_files() -> None:
    files = javascript_package(dl.load("planar-2r"), ("fk", "forward_dynamics_derivatives", "ik"))
    package = json.loads(files["package.json"])
    assert set(package["files"]) | {"package.json", "README.md"} == set(files)
    assert package["name"] == "planar-2r-dynamics" and package["type"] == "module"
    types, readme = files["index.d.ts"].decode(), files["README.md"].decode()
    assert "fk: Kernel<[q: Numbers], Float64Array>;" in types
    assert "Kernel<[q: Numbers, qd: Numbers, tau: Numbers], [Float64Array, Float64Array, Float64Array]>" in types
    assert "ik(T: Numbers" in types and "simulate" not in types
    assert "console.log(robot.fk(about.home));" in readme and "reaches the position alone" in readme


def test_what_cannot_be_exported() -> None:
    robot = dl.load("planar-2r")
    with raises(DalembertError, "unknown-name"):
        javascript_package(robot, ("forward_dynamic",))
    with raises(InputError, "missing names"):
        javascript_package(robot, ())
    with pytest.raises(InputError, match="use dalembert.Constrained"):
        javascript_package(dl.load("five-bar"))


@pytest.mark.skipif(NODE is None, reason="there is no Node.js on this machine")
@pytest.mark.parametrize("name", ["scara", "ur5e"])
def test_in_node(tmp_path: Path, name: str) -> None:
    robot = dl.load(name)
    write(tmp_path, javascript_package(robot))
    q, qd = robot.random_configuration(seed=0), np.random.default_rng(0).uniform(-0.5, 0.5, robot.n)
    got = run(
        tmp_path,
        f"""import {{ load, about }} from "./index.js";
const robot = await load(), q = {q.tolist()}, qd = {qd.tolist()}, list = (a) => Array.from(a);
const T = robot.fk(q), out = T.map((x, k) => (k === 3 ? 9 : x));
const found = robot.ik(T, about.home, {{ tolerance: 1e-9 }});
console.log(JSON.stringify({{
  about, ik: {{ ...found, q: list(found.q) }}, far: robot.ik(out).converged,
  motion: list(robot.simulate.run({{ x: [...q, ...qd], dt: 0.001, steps: 200 }}).x),
  M: list(robot.mass_matrix(q)),
}}));""",
    )
    assert got["about"]["joints"] == list(robot.joint_names)
    assert np.allclose(got["M"], robot.mass_matrix(q).ravel(), rtol=1e-13, atol=1e-14)
    assert got["ik"]["converged"] and not got["far"]
    assert np.linalg.norm(robot.fk(got["ik"]["q"])[:3, 3] - robot.fk(q)[:3, 3]) < 1e-8
    wanted = dl.simulate(robot, q0=q, qd0=qd, duration=0.2, dt=0.001, solver="rk4")
    assert np.allclose(got["motion"], [*wanted.q[-1], *wanted.qd[-1]], rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(NODE is None, reason="there is no Node.js on this machine")
@pytest.mark.parametrize("base", ["floating", "planar"])
def test_a_robot_on_a_free_base_in_node(tmp_path: Path, base: str) -> None:
    """Its motion stays on the manifold, and is Python's; `ik` is not there unless it is asked for, and refused then."""
    robot = free_arm(base)
    write(tmp_path, javascript_package(robot))
    q, qd = robot.random_configuration(seed=0), np.random.default_rng(0).uniform(-0.5, 0.5, robot.nv)
    got = run(
        tmp_path,
        f"""import {{ load, about }} from "./index.js";
const robot = await load(), list = (a) => [...a], q = {q.tolist()}, qd = {qd.tolist()};
console.log(JSON.stringify({{
  about, functions: Object.keys(robot), step: list(robot.integrate(q, qd)),
  motion: list(robot.simulate.run({{ x: [...q, ...qd], dt: 0.001, steps: 200 }}).x),
}}));""",
    )
    assert got["about"]["joints"] == list(robot.model.names("position")) and len(got["about"]["home"]) == robot.nq
    assert "ik" not in got["functions"] and np.abs(got["step"] - robot.integrate(q, qd)).max() < 1e-14
    wanted = dl.simulate(robot, q0=q, qd0=qd, duration=0.2, dt=0.001)
    assert np.abs(np.array(got["motion"]) - [*wanted.q[-1], *wanted.qd[-1]]).max() < 1e-10
    with raises(InputError, "unsupported robot"):
        javascript_package(robot, ("ik",))


def test_a_name_too_long_for_a_file() -> None:
    robot = dl.load("planar-2r")
    files = javascript_package(dl.Robot(replace(robot.description, name=300 * "x")), ("fk",))
    assert max(map(len, files)) < 120 and len(json.loads(files["package.json"])["name"]) <= 214


@pytest.mark.skipif(NODE is None, reason="there is no Node.js on this machine")
def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    write(tmp_path, javascript_package(dl.load("planar-2r"), ("fk", "ik", "simulate")))
    calls = {
        "robot.fk.batch(-1, [0, 0])": "count of fk must be a whole number, 0 or more; got -1",
        "robot.fk.batch(1.5, [0, 0])": "count of fk must be a whole number, 0 or more; got 1.5",
        "robot.fk.batch([0, 0])": "count of fk must be a whole number, 0 or more; got 0,0",
        "robot.ik([1, 2])": "T of ik must have 16 numbers, got 2",
        "robot.ik(robot.fk([0, 0]), [1])": "q0 of ik must have 2 numbers, got 1",
        "robot.ik(robot.fk([0, 0]), [0, 0], { tolerance: 0 })": "tolerance of ik must be above 0, got 0",
        "simulate({ x, dt: 1e-3, steps: 1.5 })": "steps of simulate must be a whole number, 0 or more; got 1.5",
        "simulate({ x, dt: 1, steps: 3, every: 0 })": "every of simulate must be a whole number, 1 or more; got 0",
        "simulate({ x, dt: 0, steps: 1 })": "dt of simulate must be above 0 s, got 0",
        "robot.ik(robot.fk([0, 0]), [0, 0], { tolerence: 1e-9 })": "ik knows no option tolerence; it has tolerance",
        "simulate({ x, dt: 1e-3, step: 3 })": "simulate knows no option step; it has "
        "x, u, p, t0, dt, steps, every, first, count",
        "simulate({ x, dt: 1e-3, steps: 0 }).xs.length": 0,
    }
    attempts = ", ".join(f"() => {call}" for call in calls)
    script = f"""import {{ load }} from "./index.js";
const robot = await load(), simulate = robot.simulate.run, x = [0, 0, 0, 0];
const said = (f) => {{ try {{ return f(); }} catch (error) {{ return error.message; }} }};
console.log(JSON.stringify([{attempts}].map(said)));"""
    assert run(tmp_path, script) == list(calls.values())


def test_types_need_no_browser() -> None:
    assert "BufferSource" not in javascript_package(dl.load("planar-2r"), ("fk",))["index.d.ts"].decode()
