"""Planning beside VAMP, on the problems of MotionBenchMaker.

    python benchmarks/planning.py RESOURCES [--robots panda …] [--rounds 3] [--limit 0] [--checks LIBRARY] [--first]

RESOURCES is the folder `resources` of VAMP's source distribution (`pip download --no-binary :all: vamp-planner`), which
holds the problems and the spherized robots; `vamp` must be importable. Both plan in float32 with VAMP's own spheres,
the same obstacles, step, resolution, trees, shortcuts and splines, one problem after another in turns; the best round
of each is kept. Our times are of the whole call from Python, VAMP's are those that it measures inside. Every path
of ours is checked densely in float64.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import vamp
import yaml

import dalembert as dl
from dalembert.collision import SphereModel
from dalembert.collision.enclose import enclose
from dalembert.planning import Planner, Settings

STEP = {"panda": 1.0, "ur5": 1.5, "fetch": 1.0, "baxter": 0.5}
DENSE = 8  # times as many states as the planner checks
LENGTH = 0.99  # of edges: at 1 rounding decides whether both check 32 states or one of them 40
WAYS = 20  # edges drawn from each free state, so that enough touch something


def problems(resources: Path, robot: str, joints: list[str]) -> list[dict]:
    """Scene and request of each, with obstacles as poses and sizes."""
    found: dict[tuple[str, int], dict] = {}
    with tarfile.open(resources / robot / "problems.tar.bz2") as tar:
        for member in tar.getmembers():
            if not member.isfile():
                continue
            _, family, name = member.name.split("/")
            index = int(re.findall(r"\d+", name)[0])
            data = yaml.load(tar.extractfile(member).read(), Loader=yaml.CSafeLoader)
            entry = found.setdefault((family.replace(f"_{robot}", ""), index), {})
            if "scene" in name:
                entry["objects"] = [read_object(o) for o in data["world"]["collision_objects"]]
            else:
                state = data["start_state"]["joint_state"]
                at = dict(zip(state["name"], state["position"], strict=False))
                to = {c["joint_name"]: c["position"] for c in data["goal_constraints"][0]["joint_constraints"]}
                entry |= {"start": np.array([at[j] for j in joints]), "goal": np.array([to[j] for j in joints])}
    return [{"family": family, "index": index, **entry} for (family, index), entry in sorted(found.items())]


def read_object(data: dict) -> tuple[str, str, list[float], np.ndarray]:
    def pose(p: dict) -> np.ndarray:
        return dl.pose(xyz=p["position"], quat=p["orientation"])

    shape = data["primitives"][0]
    T = (pose(data["pose"]) if "pose" in data else np.eye(4)) @ pose(data["primitive_poses"][0])
    return data["id"], shape["type"], shape["dimensions"], T


def euler(T: np.ndarray) -> tuple[float, float, float]:
    """rpy of a pose."""
    R = T[:3, :3]
    return (
        float(np.arctan2(R[2, 1], R[2, 2])),
        float(-np.arcsin(R[2, 0].clip(-1, 1))),
        float(np.arctan2(R[1, 0], R[0, 0])),
    )


def worlds(problem: dict) -> tuple[dl.World, object]:
    """The obstacles for both; cylinders as VAMP takes them: boxes in the family "box", capsules else."""
    ours, theirs = dl.World(), vamp.Environment()
    for name, kind, size, T in problem["objects"]:
        xyz, rpy = T[:3, 3].tolist(), euler(T)
        if kind == "sphere":
            ours = ours.sphere(name, size[0], xyz)
            theirs.add_sphere(vamp.Sphere(xyz, size[0]))
        elif kind == "box" or problem["family"] == "box":
            sides = size if kind == "box" else [2 * size[1], 2 * size[1], size[0]]
            ours = ours.box(name, sides, xyz, rpy)
            theirs.add_cuboid(vamp.Cuboid(xyz, rpy, [0.5 * s for s in sides]))
        else:
            half = 0.5 * size[0] * T[:3, 2]
            ours = ours.capsule(name, size[1], T[:3, 3] - half, T[:3, 3] + half)
            theirs.add_capsule(vamp.Cylinder(xyz, rpy, size[1], size[0]))
    return ours, theirs


def load(resources: Path, name: str) -> tuple[dl.Robot, SphereModel]:
    """The spherized robot and its spheres, without the pairs that its SRDF allows to touch."""
    folder = resources / name
    robot = dl.load(folder / f"{name}_spherized.urdf")
    spheres = enclose(robot.description, robot.model)
    links = set(spheres.coarse.link)
    allowed = [
        (e.get("link1"), e.get("link2")) for e in ET.parse(folder / f"{name}.srdf").getroot().iter("disable_collisions")
    ]
    return robot, spheres.without(*(pair for pair in allowed if set(pair) <= links))


def dense(robot: dl.Robot, spheres: SphereModel, world: dl.World, path: np.ndarray, resolution: float) -> float:
    """The least clearance [m] along a path, in float64."""
    points = [path[:1]]
    for a, b in itertools.pairwise(path):
        steps = int(np.ceil(np.linalg.norm(b - a) * resolution * DENSE)) + 1
        points.append(a + np.linspace(0, 1, steps + 1)[1:, None] * (b - a))
    return float(robot.collision(spheres=spheres).clearance(np.concatenate(points), world).min())


def length(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def compare(resources: Path, name: str, rounds: int, limit: int) -> None:
    module, plan, settings, simplification = vamp.configure_robot_and_planner_with_kwargs(name, "rrtc")
    began = time.perf_counter()
    robot, spheres = load(resources, name)
    read = time.perf_counter() - began
    joints = list(module.joint_names())
    order = [joints.index(name) for name in robot.joint_names]  # ours of theirs
    began = time.perf_counter()
    planner = Planner(
        robot.model, spheres, np.array(module.lower_bounds())[order], np.array(module.upper_bounds())[order]
    )
    compiled = time.perf_counter() - began
    print(f"\n{name}: {len(spheres.fine)} spheres; read in {read:.3f} s, compiled or loaded in {compiled:.3f} s")
    most = int(settings.max_iterations)  # as many for both
    own = Settings(step=STEP[name], resolution=module.resolution(), iterations=most, nodes=most)
    bare_settings = replace(own, rounds=0)
    rows, counts, closest = [], dict.fromkeys(("all", "valid", "VAMP", "Dalembert", "differ"), 0), []
    for problem in problems(resources, name, joints)[slice(limit or None)]:
        counts["all"] += 1
        world, environment = worlds(problem)
        scene = planner.scene(world)
        ends = np.stack((problem["start"], problem["goal"]))
        own_ends = ends[:, order]
        valid = all(module.validate(q, environment) for q in ends)
        counts["differ"] += valid != (not scene.hits(own_ends).any())
        if not valid:
            continue
        counts["valid"] += 1
        best = [np.inf] * 3
        for _ in range(rounds):
            sampler = module.halton()
            found = plan(ends[0], ends[1], environment, settings, sampler)
            short = module.simplify(found.path, environment, simplification, sampler)
            began = time.perf_counter()
            ours = scene.search(own_ends[0], own_ends[1:], own)
            mine = time.perf_counter() - began
            began = time.perf_counter()
            scene.search(own_ends[0], own_ends[1:], bare_settings)
            bare = time.perf_counter() - began
            times = (1e-3 * (found.nanoseconds + short.nanoseconds), 1e6 * mine, 1e-3 * found.nanoseconds, 1e6 * bare)
            best = list(times) if best[0] == np.inf else [min(a, b) for a, b in zip(best, times, strict=False)]
        counts["VAMP"] += found.solved
        counts["Dalembert"] += ours.status == 1
        if ours.status == 1 and found.solved:
            rows.append((*best, short.path.cost(), length(ours.path), found.iterations, ours.iterations))
            closest.append(dense(robot, spheres, world, ours.path, own.resolution))
    print("problems: " + ", ".join(f"{word} {count}" for word, count in counts.items()))
    table = np.array(rows)
    for title, a, b, unit in (
        ("planning and simplification", 0, 1, "us"),
        ("planning alone", 2, 3, "us"),
        ("path", 4, 5, "rad"),
        ("iterations", 6, 7, ""),
    ):
        for word, part in (
            ("median", lambda x: np.median(x)),
            ("95 %", lambda x: np.percentile(x, 95)),
            ("mean", np.mean),
        ):
            v, d = part(table[:, a]), part(table[:, b])
            print(f"  {title:28s} {word:7s} VAMP {v:9.2f}  Dalembert {d:9.2f} {unit}  ({d / v:.2f})")
    print(
        f"  least clearance, {DENSE} times as dense: {1e3 * min(closest):.2f} mm; "
        f"below 0 in {sum(c < 0 for c in closest)}"
    )


def checks(resources: Path, name: str, library: Path, states: int = 200, rounds: int = 25) -> None:
    """States and edges of length 0.99 from free states, in every fiftieth scene: VAMP's own loops (vamp_checks.cc) in
    turns with ours, the best of the rounds. Ours are called from Python, once for all: so many that it does not count.
    """
    module = getattr(vamp, name)
    robot, spheres = load(resources, name)
    joints = list(module.joint_names())
    order = [joints.index(name) for name in robot.joint_names]  # ours of theirs
    back = np.argsort(order)
    lower, upper = (np.array(x)[order] for x in (module.lower_bounds(), module.upper_bounds()))
    planner = Planner(robot.model, spheres, lower, upper)
    W, settings = planner.machine.width, np.array(Settings(resolution=module.resolution()).numbers(), np.float32)
    theirs = ctypes.CDLL(str(library.resolve())).check
    theirs.restype = ctypes.c_double
    rng = np.random.default_rng(1)
    rows: dict[str, list[tuple[float, float]]] = {}
    for problem in problems(resources, name, joints)[::50]:
        scene = planner.scene(worlds(problem)[0])
        tables = [np.array(t, np.float32).reshape(-1, c) for t, c in zip(flat(problem), (9, 8, 4), strict=True)]
        obstacles = [x for t in tables for x in (ctypes.c_void_p(t.ctypes.data), len(t))]
        q = rng.uniform(lower, upper, (10 * states, len(lower))).astype(np.float32)
        q = np.repeat(q[~scene.hits(q)][:states], WAYS, axis=0)
        way = rng.normal(size=q.shape)
        way *= LENGTH / np.linalg.norm(way, axis=1)[:, None]
        # In no order: else an edge is stopped by what stopped the one before only because it starts there too.
        edges = rng.permutation(np.stack((q, q + way), 1).astype(np.float32))
        hit = scene.edge_hits(*edges.transpose(1, 0, 2), module.resolution())
        for title, some, alone in (
            ("a free state", edges[:states].copy(), 1),
            ("a free edge", edges[~hit][:states].copy(), 0),
            ("an edge that touches", edges[hit][:states].copy(), 0),
        ):
            given = np.ascontiguousarray(some[:, :, back])
            wide = np.repeat(some[:, 0], W, axis=0)  # all lanes one state, as VAMP does it
            out, mine = np.zeros(len(some), np.int32), np.zeros(len(wide), np.int64)
            best = [np.inf, np.inf]
            for _ in range(rounds if len(some) else 0):
                pointers = (ctypes.c_void_p(given.ctypes.data), len(some), alone, ctypes.c_void_p(out.ctypes.data))
                best[0] = min(best[0], theirs(*obstacles, *pointers))
                began = time.perf_counter()
                if alone:
                    scene._call("judge", wide, len(wide), mine)
                else:
                    scene._call("judge_edges", settings, some, len(some), mine)
                best[1] = min(best[1], time.perf_counter() - began)
            assert len(some) == 0 or (out == 1 - mine[:: W if alone else 1][: len(some)]).all(), "the verdicts differ"
            if len(some):
                rows.setdefault(title, []).append((best[0] / len(some), best[1] / len(some)))
    for title, times in rows.items():
        v, d = 1e9 * np.mean(times, axis=0)
        print(f"  {title:22s} VAMP {v:6.0f}  Dalembert {d:6.0f} ns  ({d / v:.2f})")


FIRST = """
import pickle, sys, time, warnings
import numpy as np, dalembert as dl
import dalembert.planning, dalembert.robot, dalembert.describe.urdf_read, llvmlite.binding
world, start, goal = pickle.load(open(sys.argv[2], "rb"))
imported = time.process_time()
warnings.simplefilter("ignore")
plan = dl.load(sys.argv[1]).plan(start, goal, world, timed=False)
print(imported, time.process_time() - imported, plan.proved)
"""


def first(resources: Path, name: str) -> None:
    """From a spherized URDF to the first plan that is proved, of a problem of MotionBenchMaker, each time in a new
    process: with an empty cache, then with what it left there. Processor time; imports of NumPy, LLVM and dalembert are
    told apart."""
    file = resources / name / f"{name}_spherized.urdf"
    problem = problems(resources, name, list(dl.load(file).joint_names))[0]
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "problem")
        given.write_bytes(pickle.dumps((worlds(problem)[0], problem["start"], problem["goal"])))
        for title in ("nothing cached", "cached", "cached"):
            ran = subprocess.run(
                [sys.executable, "-c", FIRST, str(file), str(given)],
                env={**os.environ, "DALEMBERT_CACHE": folder, "OPENBLAS_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            imported, took, proved = ran.stdout.split()
            print(f"  {title}: {float(took):.2f} s after {float(imported):.2f} s of imports; proved: {proved}")


def flat(problem: dict) -> tuple[list, list, list]:
    """Boxes, capsules and spheres as the rows that vamp_checks.cc takes."""
    boxes, capsules, balls = [], [], []
    for _, kind, size, T in problem["objects"]:
        xyz, rpy = T[:3, 3].tolist(), euler(T)
        if kind == "sphere":
            balls.append([*xyz, size[0]])
        elif kind == "box" or problem["family"] == "box":
            sides = size if kind == "box" else [2 * size[1], 2 * size[1], size[0]]
            boxes.append([*xyz, *rpy, *(0.5 * s for s in sides)])
        else:
            capsules.append([*xyz, *rpy, size[1], size[0]])
    return boxes, capsules, balls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("resources", type=Path)
    parser.add_argument("--robots", nargs="+", default=list(vamp.robots))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--checks", type=Path, help="vamp_checks.cc built for the one robot: its states and edges too")
    parser.add_argument("--first", action="store_true", help="how long the first plan takes, in processes of their own")
    args = parser.parse_args()
    for name in args.robots:
        if args.first:
            print(f"{name}:")
            first(args.resources, name)
            continue
        if args.checks:
            print(f"{name}:")
            checks(args.resources, name, args.checks)
            continue
        compare(args.resources, name, args.rounds, args.limit)


if __name__ == "__main__":
    main()
