"""Distances of spheres against coal on the shapes themselves: never larger than the truth, overestimate as stated.

    python benchmarks/collision.py [states per robot] [robot …]
    python benchmarks/collision.py excite [states per robot] [robot …]      default excitations, looked at by coal
    python benchmarks/collision.py edges [edges] [robot …]                  certified against dense and sampled checks

For every robot random states and a random world of one box, sphere, capsule and cylinder. Printed: the largest excess
(must not be positive), the largest shortfall beyond what is stated, and the speed of both.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.algorithms.kinematics import world_poses
from dalembert.collision.enclose import shapes_of
from dalembert.describe import mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Sphere
from dalembert.spatial import Pose

DATA = "cmeel.prefix/share/example-robot-data/robots"
ROBOTS = ("ur5e", "panda", "iiwa7", "scara", "puma560", "stanford", "ur10e")
FOREIGN = (
    "ur_description/urdf/ur5_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "kinova_description/robots/kinova.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
)


def coal_shapes(robot, package_dirs=()):
    """(link, body, pose in the body (4, 4), coal geometry)."""
    import coal

    folder = Path(robot.description.place.file or ".").resolve().parent
    found = []
    for link, shape in shapes_of(robot.description):
        match shape.geometry:
            case Box(size):
                solid = coal.Box(*size)
            case Cylinder(r, length):
                solid = coal.Cylinder(r, length)
            case Capsule(r, length):
                solid = coal.Capsule(r, length)
            case Sphere(r):
                solid = coal.Sphere(r)
            case Mesh(filename, scale):
                x, faces = mesh.read(mesh.resolve(filename, folder, package_dirs))
                solid = bvh(x * np.array(scale), faces)
        frame = robot.model.frame(link)
        T = frame.pose @ Pose.from_origin(shape.origin.xyz, shape.origin.rpy)
        found.append((link, frame.body, np.array(T.matrix(), float), solid))
    return found


def bvh(x, faces):
    import coal

    solid = coal.BVHModelOBBRSS()
    solid.beginModel(len(faces), len(x))
    points = coal.StdVec_Vec3s()
    for p in x:
        points.append(p)
    triangles = coal.StdVec_Triangle()
    for f in faces:
        triangles.append(coal.Triangle(*(int(k) for k in f)))
    solid.addSubModel(points, triangles)
    solid.endModel()
    return solid


def transform(T):
    import coal

    return coal.Transform3s(np.ascontiguousarray(T[:3, :3]), np.ascontiguousarray(T[:3, 3]))


def distance(a, Ta, b, Tb):
    import coal

    result = coal.DistanceResult()
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-9
    return coal.distance(a, transform(Ta), b, transform(Tb), request, result)


def random_world(rng, size):
    """The same obstacles for both."""
    import coal

    world, solids = dl.World(), []
    for k in range(2):
        sides, r, length = rng.uniform(0.05, 0.3, 3) * size, *(rng.uniform(0.05, 0.15, 2) * size)
        spots, angles = rng.uniform(-0.8, 0.8, (4, 3)) * size, rng.uniform(-3, 3, (4, 3))
        T = [np.eye(4) for _ in range(4)]
        for t, spot, turn in zip(T, spots, angles, strict=True):
            t[:3, :3], t[:3, 3] = np.array(Pose.from_origin((0, 0, 0), turn).R), spot
        half = T[3][:3, 2] * length / 2
        world = world.box(f"box{k}", sides, spots[0], angles[0]).sphere(f"sphere{k}", r, spots[1])
        world = world.cylinder(f"cylinder{k}", r, length, spots[2], angles[2])
        world = world.capsule(f"capsule{k}", r, spots[3] - half, spots[3] + half)
        shapes = (coal.Box(*sides), coal.Sphere(r), coal.Cylinder(r, length), coal.Capsule(r, length))
        solids += zip(shapes, T, strict=True)
    return world, solids


def truth(robot, shapes, q, pairs, solids):
    """(least between links of the pairs, least to the obstacles) by coal."""
    T = {k: np.array(t.matrix(), float) for k, t in world_poses(robot.model, q.tolist()).items()} | {-1: np.eye(4)}
    placed = [(link, body, T[body] @ local, solid) for link, body, local, solid in shapes]
    own = met = np.inf
    for i, (a, _, Ta, sa) in enumerate(placed):
        for b, _, Tb, sb in placed[i + 1 :]:
            if frozenset((a, b)) in pairs:
                own = min(own, distance(sa, Ta, sb, Tb))
    for _, body, Ta, sa in placed:
        if body >= 0:
            met = min([met, *(distance(sa, Ta, sb, Tb) for sb, Tb in solids)])
    return own, met


def compare(robot, states, seed=0):
    """(largest excess, largest shortfall beyond the stated overestimate, seconds of ours, of coal's)."""
    c = robot.collision()
    link = c.spheres.coarse.link
    pairs = {frozenset((link[a], link[b])) for a, b in c.spheres.pairs}
    rng = np.random.default_rng(seed)
    size = float(np.abs(robot.fk(robot.random_configuration(50, seed=0), robot.frames[-1])[:, :3, 3]).max()) + 0.1
    world, solids = random_world(rng, size)
    q = robot.random_configuration(states, seed=seed)
    shapes = coal_shapes(robot)
    t0 = time.perf_counter()
    found = c.distances(q, world)
    t1 = time.perf_counter()
    exact = np.array([truth(robot, shapes, x, pairs, solids) for x in q])
    t2 = time.perf_counter()
    ours = np.stack((found.own, found.met), -1)
    assert (np.isfinite(ours) == np.isfinite(exact)).all()
    apart = (exact > 0) & np.isfinite(exact)
    stated = np.broadcast_to(np.array([2.0, 1.0]) * c.spheres.overestimate, exact.shape)
    excess = max((ours[apart] - exact[apart]).max(initial=-np.inf), ours[exact <= 0].max(initial=-np.inf))
    short = (exact[apart] - stated[apart] - ours[apart]).max(initial=-np.inf)
    return excess, short, t1 - t0, t2 - t1, c


def check_excitation(robot, states):
    """(least distance between links that are a pair, least height above the floor, excitation) by coal."""
    import coal

    from dalembert.identification import excite

    e = excite(robot, velocity=1.5, torque=1e3, acceleration=10.0, harmonics=3, starts=1, seconds=20)
    c = robot.collision()
    link = c.spheres.coarse.link
    pairs = {frozenset((link[a], link[b])) for a, b in c.spheres.pairs}
    said = " ".join(e.certificate.contacts)
    tight = said.partition("hardly ever keep")[2]
    pairs = {p for p in pairs if not all(name in tight for name in p)}
    low = said.partition("since nowhere they are: ")[2].partition("WARNING")[0].split(", ")
    q = e.motion(np.linspace(0, e.period, states))[0]
    T = np.eye(4)
    T[2, 3] = -5.0
    shapes = coal_shapes(robot)
    own = min(truth(robot, shapes, x, pairs, [])[0] for x in q)
    high = [s for s in shapes if s[0] not in {name.strip() for name in low}]
    met = min(truth(robot, high, x, set(), [(coal.Box(100, 100, 10.0), T)])[1] for x in q)
    return own, met, e


def check_edges(robot, edges):
    """Certified edges against a check a hundred times denser, and their cost against the sampled one."""
    from dalembert.collision.edges import certify_edge

    c, rng = robot.collision(), np.random.default_rng(0)
    world, _ = random_world_without_coal(rng)
    q0 = robot.random_configuration(edges, seed=1)
    q1 = q0 + rng.normal(size=q0.shape) * 0.2
    for single in (False, True):
        certify_edge(c, q0[:1], q1[:1], world, float32=single)
        t0 = time.process_time()
        found = certify_edge(c, q0, q1, world, float32=single)
        t1 = time.process_time()
        dtype = np.float32 if single else np.float64
        count = np.ceil(np.abs(q1 - q0).max() / 0.03).astype(int) + 1  # a state every 0.03 rad at the most
        t = np.linspace(0, 1, count)[:, None]
        sampled = (q0[:, None] + t * (q1 - q0)[:, None]).astype(dtype)
        c.distances(sampled[:10], world, 0.0)
        t2 = time.process_time()
        c.distances(sampled, world, 0.0)
        t3 = time.process_time()
        dense, wrong, near, missed = np.linspace(0, 1, 100 * count)[:, None], 0, 0, 0
        for k in range(min(edges, 1000)):
            least = c.distances(q0[k] + dense * (q1[k] - q0[k]), world, 0.01).least.min()
            wrong += bool(found.free[k] and least <= 0)
            near += bool(least >= 0.002)
            missed += bool(least >= 0.002 and not found.free[k])
        print(
            f"{robot.name} {dtype.__name__}: {found.free.mean():.1%} free, {found.looks.mean():.1f} looks an edge, "
            f"{1e6 * (t1 - t0) / edges:.0f} µs against {1e6 * (t3 - t2) / edges:.0f} µs for {count} samples; of "
            f"{min(edges, 1000)} looked at densely {wrong} wrong, {missed} of {near} with 2 mm not certified",
            flush=True,
        )


def random_world_without_coal(rng):
    world = dl.World().floor(-0.1)
    for k in range(3):
        x, turn = rng.uniform(-0.8, 0.8, (3, 3)), rng.uniform(-3, 3, (2, 3))
        world = world.box(f"box{k}", rng.uniform(0.05, 0.3, 3), x[0], turn[0]).sphere(f"ball{k}", 0.1, x[1])
        world = world.cylinder(f"can{k}", 0.07, 0.2, x[2], turn[1])
    return world, []


def main() -> None:
    warnings.simplefilter("ignore")
    site = Path(np.__file__).parents[1]
    mode = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in ("excite", "edges") else ""
    if mode == "edges":
        for name in sys.argv[2:] or ["panda"]:
            check_edges(dl.load(name), int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
        return
    if mode == "excite":
        states = int(sys.argv[1]) if len(sys.argv) > 1 else 50
        for name in sys.argv[2:] or [*ROBOTS, *(str(site / DATA / name) for name in FOREIGN)]:
            robot = dl.load(name)
            own, met, e = check_excitation(robot, states)
            print(f"{robot.name}: links {own:.4f} m apart, {met:.4f} m above the floor, by coal; {e}", flush=True)
        return
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    names = sys.argv[2:] or [*ROBOTS, *(str(site / DATA / name) for name in FOREIGN)]
    for name in names:
        robot = dl.load(name)
        t0 = time.perf_counter()
        robot.collision()
        made = time.perf_counter() - t0
        excess, short, ours, coals, c = compare(robot, states)
        speed = f"{1e6 * ours / states:.1f} µs against {1e6 * coals / states:.0f} µs a state"
        s = c.spheres
        print(
            f"{robot.name}: {len(s.fine)} spheres, {len(s.pairs)} pairs, made in {made:.1f} s; "
            f"stated {s.overestimate:.4f} m; "
            f"excess {excess:.2g} m, beyond stated {short:.2g} m; {speed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
