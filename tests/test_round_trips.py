"""Every file that a `save` writes is read back with equal content."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from errors import raises

# Classes whose files people or other programs read. Dalembert has no reader for them.
DOCUMENTS = {
    "Derivation": "HTML, LaTeX, Markdown or text",
    "Diagram": "SVG",
    "Equations": "LaTeX, Markdown or text",
    "Kernel": "C or Python",
}


def same_robot(robot: dl.Robot, path: Path) -> None:
    assert dl.load(path).description == robot.description


def make_run() -> dl.Run:
    robot = dl.load("planar-2r")
    controller = dl.control.JointPID.for_bandwidth(robot, 8.0)
    options = {"q0": [0.1, 0.2], "reference": [0.5, 0.3], "duration": 0.1, "measures": ["rms_error"]}
    return replace(dl.simulate(robot, controller, **options), contacts=())


def make_stopped_run() -> dl.Run:
    robot = dl.load("panda")
    return dl.simulate(robot, q0=robot.limits.upper - 0.01, qd0=np.ones(7), duration=1.0, limits="stop")


def same_run(run: dl.Run, path: Path) -> None:
    read = dl.read_run(path)
    assert list(read.columns) == list(run.columns)
    for name, values in run.columns.items():
        assert np.array_equal(read[name] if name not in read.groups else read.columns[name], values, equal_nan=True)
    if path.suffix == ".npz":
        for field in fields(run):
            if field.name != "columns":
                assert getattr(read, field.name) == getattr(run, field.name), field.name
    else:
        for group in ("q", "qd", "tau", "x", "reference", "energies"):
            assert read.groups[group] == run.groups[group]


def make_batch() -> object:
    robot = dl.load("planar-2r")
    controller = dl.control.ComputedTorque(robot, omega=8.0)
    experiment = dl.Experiment(robot, controller, reference=[0.5, 0.3], measures=["rms_error"])
    vary = {"payload.mass": np.array([0.1, 0.2, 1 / 3])}
    return experiment.batch(vary=vary, q0=[0.1, 0.2], duration=0.1, keep="all")


def same_batch(batch: object, path: Path) -> None:
    read = dl.simulation.read_batch(path)
    for name, values in batch.to_dict().items():
        assert np.array_equal(read[name], values), name
    if path.suffix == ".npz":
        assert np.array_equal(read["last"], batch.last) and np.array_equal(read["rows"], batch.rows)
        assert tuple(read["columns"]) == batch.columns and tuple(read["names"]) == batch.names
        assert np.array_equal(read["diverged_at"], batch.diverged_at)


def make_excitation() -> object:
    options = {"duration": 8.0, "harmonics": 3, "velocity": 2.0, "acceleration": 8.0, "starts": 1, "seconds": 5.0}
    return dl.identification.excite(dl.load("planar-2r"), **options)


def same_motion(excitation: object, path: Path) -> None:
    log, rows = dl.read_log(path, excitation.robot), excitation.table(100.0)
    assert np.array_equal(log.q, rows["q"]) and np.array_equal(log.tau, rows["tau"])
    assert np.allclose(log.t, rows["t"], rtol=0, atol=1e-12)


def same_spheres(spheres: object, path: Path) -> None:
    assert dl.load("ur5e").collision(spheres=path).spheres.to_json() == spheres.to_json()


def make_repair() -> object:
    Path("arm.urdf").write_text(dl.load("planar-2r").to_urdf().replace('axis xyz="0 0 1"', 'axis xyz="0 0 2"', 1))
    return dl.doctor.repair(dl.check("arm.urdf"))


def same_repair(repair: object, path: Path) -> None:
    assert path.read_bytes() == repair.text
    assert dl.load(path).fk([0.1, 0.2]).tolist() == dl.load("planar-2r").fk([0.1, 0.2]).tolist()


def make_findings() -> object:
    make_repair()
    return dl.check("arm.urdf")


def same_findings(findings: object, path: Path) -> None:
    read = dl.read_findings(path)
    assert read.ok == findings.ok and list(read)
    for a, b in zip(read, findings, strict=True):
        assert (a.rule, a.severity, a.message, a.line) == (b.rule, b.severity, b.message, b.line)


# Class, how to make an object, endings of its files, and what compares the object with the file.
CASES = [
    *(
        ("Robot", lambda name=name: dl.load(name), (".urdf", ".toml"), same_robot)
        for name in ("panda", "planar-2r", "five-bar", "puma560", "scara")
    ),
    ("Robot", lambda: dl.load("panda", base="floating").with_payload(1.0), (".urdf", ".toml"), same_robot),
    ("Run", make_run, (".npz", ".csv", ".parquet"), same_run),
    ("Run", make_stopped_run, (".npz", ".csv", ".parquet"), same_run),
    ("Batch", make_batch, (".npz", ".csv"), same_batch),
    ("Excitation", make_excitation, (".csv",), same_motion),
    ("SphereModel", lambda: dl.load("ur5e").collision().spheres, (".json",), same_spheres),
    ("Findings", make_findings, (".json",), same_findings),  # other endings are for people and other programs
    ("Repair", make_repair, (".urdf",), same_repair),
]


def classes_with_save() -> set[str]:
    """Return the names of all classes of the library with a `save` method."""
    found = set()
    for module in pkgutil.walk_packages(dl.__path__, "dalembert."):
        if ".apps" in module.name or module.name.endswith("__main__"):
            continue
        for name, kind in vars(importlib.import_module(module.name)).items():
            own = inspect.isclass(kind) and kind.__module__ == module.name
            if own and callable(getattr(kind, "save", None)):
                found.add(name)
    return found


def test_every_class_with_save_is_in_a_table():
    assert classes_with_save() == {name for name, *_ in CASES} | DOCUMENTS.keys()


@pytest.mark.parametrize(("make", "endings", "same"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_a_file_contains_what_was_saved(make, endings, same, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = make()
    for ending in endings:
        path = tmp_path / f"file{ending}"
        saved.save(path)
        same(saved, path)


@pytest.mark.parametrize("content", [b"", b"no archive", b"t,q\n0,x\n", b"a,b\n0,1\n"])
@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_a_file_without_a_run_is_refused(content, ending, tmp_path):
    path = tmp_path / f"file{ending}"
    path.write_bytes(content)
    with raises(dl.InputError, "not-readable path"):
        dl.read_run(path)


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_a_file_that_is_not_there_is_not_called_empty(ending, tmp_path):
    with raises(dl.InputError, "not-readable path") as error:
        dl.read_run(tmp_path / f"nothing{ending}")
    assert isinstance(error.value.__cause__, FileNotFoundError)


def test_unknown_endings_are_refused(tmp_path):
    for save in (dl.load("planar-2r").save, make_run().save, dl.load("planar-2r").kernel("gravity_torque").save):
        with raises(dl.InputError, "unsupported path"):
            save(tmp_path / "file.xyz")
    with raises(dl.InputError, "unsupported path"):
        dl.read_run(tmp_path / "file.xyz")
