"""Distances of spheres against coal on the shapes themselves: never larger than the truth, overestimate as stated.

    python benchmarks/collision.py [states per robot] [robot …]
    python benchmarks/collision.py excite [states per robot] [robot …]      default excitations, looked at by coal
    python benchmarks/collision.py edges RESOURCES [edges]                  certified against dense and sampled checks
    python benchmarks/collision.py rates [states] [robot …]                 self-collision beside coal, the same pairs
    python benchmarks/collision.py ik [poses] [robot …]                     inverse kinematics among ten obstacles

RESOURCES is the folder that `planning.py` names. For every robot random states, and for every 2,000 of them a random
world of boxes, spheres, capsules and cylinders. Printed: the largest excess (must not be positive), the largest
shortfall beyond what is stated, the largest error of gradients, and the speed of both.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.collision.enclose import shapes_of
from dalembert.collision.pairs import pair_distances
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


class Truth:
    """Least distances of a robot's shapes by coal: pairs of links, and links and obstacles. Of each state the pairs are
    looked at in the order of the distances of balls around them, until no other can be nearer. coal has meshes as
    surfaces: what lies inside one, by its winding number, touches it."""

    def __init__(self, robot, pairs):
        self.frames, self.shapes = robot.collision().frames, coal_shapes(robot)
        self.mine = [(i, j) for i, j in combinations(range(len(self.shapes)), 2) if self._names(i, j) in pairs]
        self.moving = [i for i, (_, body, _, _) in enumerate(self.shapes) if body >= 0]

    def _names(self, i, j):
        return frozenset((self.shapes[i][0], self.shapes[j][0]))

    def __call__(self, q, solids):
        """(B, 2): least between links, least to the obstacles."""
        T = np.asarray(self.frames(q))
        placed = []
        for _, body, local, solid in self.shapes:
            R, p = T[:, body, :9].reshape(-1, 3, 3), T[:, body, 9:]
            placed.append((solid, R @ local[:3, :3], R @ local[:3, 3] + p))
        count = len(placed)
        still = [(solid, np.tile(t[:3, :3], (len(q), 1, 1)), np.tile(t[:3, 3], (len(q), 1))) for solid, t in solids]
        met = [(i, count + k) for i in self.moving for k in range(len(still))]
        every = placed + still
        return np.stack([self._least(len(q), every, some) for some in (self.mine, met)], -1)

    def _least(self, states, placed, pairs):
        import coal

        found = np.full(states, np.inf)
        if not pairs:
            return found
        balls = [_ball(solid) for solid, _, _ in placed]
        center = np.stack([p + R @ ball[0] for (_, R, p), ball in zip(placed, balls, strict=True)], 1)
        radius, (a, b) = np.array([ball[1] for ball in balls]), np.array(pairs).T
        least = np.linalg.norm(center[:, a] - center[:, b], axis=-1) - radius[a] - radius[b]
        order = least.argsort(axis=1)
        request = coal.DistanceRequest()
        request.gjk_tolerance = 1e-9
        tools = [coal.ComputeDistance(placed[i][0], placed[j][0]) for i, j in pairs]
        for k in range(states):
            best, spots = np.inf, {}
            for n in order[k]:
                if least[k, n] >= best or best <= 0:
                    break
                i, j = pairs[n]
                for one in (i, j):
                    if one not in spots:
                        spots[one] = coal.Transform3s(placed[one][1][k], placed[one][2][k])
                result = coal.DistanceResult()
                result.min_distance = min(best, 1e300)  # of meshes, what is farther is not looked at
                best = min(best, tools[n](spots[i], spots[j], request, result))
                if best > 0 and (_within(placed[i], placed[j], k) or _within(placed[j], placed[i], k)):
                    best = 0.0
            found[k] = best
        return found


@cache
def _ball(solid):
    solid.computeLocalAABB()
    return np.array(solid.aabb_center), float(solid.aabb_radius)


@cache
def _triangles(solid):
    """Corners (k, 3, 3) of a mesh; None of other solids. And a point of the solid."""
    import coal

    if not isinstance(solid, coal.BVHModelBase):
        return None, np.zeros(3)
    x = np.array(solid.vertices())
    faces = [solid.tri_indices(k) for k in range(solid.num_tris)]
    corners = x[np.array([[f[0], f[1], f[2]] for f in faces])]
    return corners, corners[0, 0]


def _within(outer, inner, k):
    """Whether a point of the inner solid lies inside the outer one, a mesh: by solid angles (Van Oosterom 1983)."""
    corners, _ = _triangles(outer[0])
    if corners is None:
        return False
    x = outer[1][k].T @ (inner[1][k] @ _triangles(inner[0])[1] + inner[2][k] - outer[2][k])
    box = outer[0].aabb_local
    if not ((x > box.min_).all() and (x < box.max_).all()):
        return False
    a, b, c = np.moveaxis(corners - x, 1, 0)
    la, lb, lc = (np.linalg.norm(y, axis=1) for y in (a, b, c))
    up = (a * np.cross(b, c)).sum(axis=1)
    down = la * lb * lc + (a * b).sum(axis=1) * lc + (b * c).sum(axis=1) * la + (c * a).sum(axis=1) * lb
    return abs(np.arctan2(up, down).sum()) > np.pi  # half of 2π: solid angles are twice these


def compare(robot, states, seed=0, most=2000):
    """(largest excess, largest shortfall beyond the stated overestimate, seconds of ours, of coal's, spheres, largest
    error of gradients where no other pair is as near); another world for every `most` states."""
    c = robot.collision()
    link = c.spheres.coarse.link
    truth = Truth(robot, {frozenset((link[a], link[b])) for a, b in c.spheres.pairs})
    size = float(np.abs(np.asarray(c.frames(robot.random_configuration(50, seed=0)))[..., 9:]).max()) + 0.1
    excess = short = off = -np.inf
    ours_time = coals_time = 0.0
    for k, first in enumerate(range(0, states, most)):
        world, solids = random_world(np.random.default_rng([seed, k]), size)
        q = robot.random_configuration(min(most, states - first), seed=[seed, k])
        t0 = time.process_time()
        found = c.distances(q, world)
        t1 = time.process_time()
        exact = truth(q, solids)
        coals_time += time.process_time() - t1
        ours_time += t1 - t0
        ours = np.stack((found.own, found.met), -1)
        assert (np.isfinite(ours) == np.isfinite(exact)).all()
        apart = (exact > 0) & np.isfinite(exact)
        stated = np.broadcast_to(np.array([2.0, 1.0]) * c.spheres.overestimate, exact.shape)
        away = (ours[apart] - exact[apart]).max(initial=-np.inf)
        excess = max(excess, away, ours[exact <= 0].max(initial=-np.inf))
        short = max(short, (exact[apart] - stated[apart] - ours[apart]).max(initial=-np.inf))
        off = max(off, slope_error(c, q[:: max(1, len(q) // 100)], world))
    return excess, short, ours_time, coals_time, c, off


def slope_error(c, q, world, h=1e-6):
    """How far gradients are from differences, at most, where these agree on both sides of a state: elsewhere another
    pair becomes the nearest."""
    d, g = c.gradient(q, world)
    steps = h * np.eye(q.shape[1])
    ahead, back = (np.stack([c.clearance(q + s * e, world) for e in steps], -1) for s in (1, -1))
    left, right = (d[:, None] - back) / h, (ahead - d[:, None]) / h
    smooth = np.isfinite(d)[:, None] & (np.abs(left - right) < 1e-4)
    return float(np.abs(0.5 * (left + right) - g)[smooth].max(initial=0.0))


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
    truth = Truth(robot, pairs)
    truth.moving = [i for i in truth.moving if truth.shapes[i][0] not in {name.strip() for name in low}]
    own, met = truth(q, [(coal.Box(100, 100, 10.0), T)]).min(axis=0)
    return own, met, e


RESOLUTION = 32  # states per radian of the sampled check, as planners have it
STEP = 1.0  # [rad] the longest edge that a planner's tree draws


def drawn_edges(robot, world, count, rng):
    """Edges as a planner's trees have them: from states that are clear toward random ones, no longer than STEP, the
    sampled check finding nothing on them; None if no state is clear."""
    c = robot.collision()
    q = robot.random_configuration(max(400, 20 * count), seed=rng)
    q = q[c.distances(q.astype(np.float32), world, 0.0).least > 0][: 3 * count]
    if not len(q):
        return None
    way = robot.random_configuration(len(q), seed=rng) - q
    way *= np.minimum(1.0, STEP / np.linalg.norm(way, axis=1, keepdims=True))
    free = sampled_check(c, q, q + way, world)
    return q[free][:count], (q + way)[free][:count]


def sampled_check(c, a, b, world, times=1, dtype=np.float32):
    """Whether no state along each edge touches anything: RESOLUTION · times states per radian."""
    count = int(np.ceil(np.linalg.norm(b - a, axis=1).max() * RESOLUTION * times)) + 1
    t, free = np.linspace(0, 1, count)[:, None], []
    few = max(1, 200_000 // count)
    for k in range(0, len(a), few):
        x = a[k : k + few, None] + t * (b - a)[k : k + few, None]
        free.append((c.distances(x.astype(dtype), world, 0.0).least > 0).all(axis=1))
    return np.concatenate(free)


def check_edges(robot, resources, edges, closest=500):
    """Certified edges on the Panda problems of MotionBenchMaker: against the planner's check a hundred times denser
    (what that finds is looked at again in doubles), of the closest calls against coal on the shapes, and their cost
    against the sampled check."""
    import types

    sys.modules.setdefault("vamp", types.ModuleType("vamp"))  # what reads the problems needs none
    from dalembert.collision.edges import certify_edge
    from dalembert.planning import Planner
    from planning import euler, problems

    c, rng = robot.collision(), np.random.default_rng(0)
    planner = Planner(robot.model, c.spheres, robot.limits.lower, robot.limits.upper)
    every = problems(Path(resources), "panda", list(robot.joint_names))
    each = -(-edges // len(every))
    total = free = wrong = wide = missed = 0
    cost = {"certified": 0.0, "certified in float32": 0.0, "sampled": 0.0, "sampled in float32": 0.0}
    calls = []
    for problem in every:
        world = dl.World()
        for name, kind, size, T in problem["objects"]:
            if kind == "sphere":
                world = world.sphere(name, size[0], T[:3, 3])
            elif kind == "box":
                world = world.box(name, size, T[:3, 3], euler(T))
            else:
                world = world.cylinder(name, size[1], size[0], T[:3, 3], euler(T))
        drawn = drawn_edges(robot, world, each, rng)
        if drawn is None:
            continue
        a, b = drawn
        tables, found = world.arrays(), {}
        for single in (False, True):
            word = " in float32" if single else ""
            t0 = time.process_time()
            found[single] = certify_edge(c, a, b, tables, float32=single)
            t1 = time.process_time()
            sampled_check(c, a, b, tables, dtype=np.float32 if single else np.float64)
            cost["certified" + word] += t1 - t0
            cost["sampled" + word] += time.process_time() - t1
        proved = found[False].free | found[True].free
        total, free = total + len(a), free + int(found[False].free.sum())
        hit = proved.copy()
        hit[proved] = planner.scene(world).edge_hits(a[proved], b[proved], 100.0 * RESOLUTION)  # in float32
        wrong += int((~sampled_check(c, a[hit], b[hit], tables, 100, np.float64)).sum()) if hit.any() else 0
        t = np.linspace(0, 1, RESOLUTION * 4)[:, None]
        x = (a[:, None] + t * (b - a)[:, None]).astype(np.float32)
        least = c.distances(x, tables, 0.01).least.min(axis=1)
        wide += int((least >= 0.002).sum())
        missed += int(((least >= 0.002) & ~found[False].free).sum())
        near = np.flatnonzero(found[False].free & (least < 0.01))
        calls += [(float(least[k]), a[k], b[k], problem, world) for k in near]
    calls = sorted(calls, key=lambda call: call[0])[:closest]
    link = c.spheres.coarse.link
    truth = Truth(robot, {frozenset((link[i], link[j])) for i, j in c.spheres.pairs})
    touching = sum(
        truth(a + np.linspace(0, 1, 200)[:, None] * (b - a), solids_of(p)).min() <= 0 for _, a, b, p, _ in calls
    )
    print(
        f"{robot.name}: {total} edges of {len(every)} problems, {free} proved free, of which a check a hundred times "
        f"denser contradicts {wrong}"
    )
    print(f"  of {wide} with 2 mm and more, {missed} not proved ({1 - missed / max(wide, 1):.2%} are)")
    print(
        f"  the {len(calls)} closest calls, {calls[0][0]:.2g} to {calls[-1][0]:.2g} m as spheres: {touching} touch "
        "by coal"
    )
    for word, spent in cost.items():
        print(f"  {word}: {1e6 * spent / total:.1f} µs an edge")


def solids_of(problem):
    """The obstacles of a problem for coal."""
    import coal

    makers = {"sphere": lambda s: coal.Sphere(s[0]), "box": lambda s: coal.Box(*s)}
    return [(makers.get(kind, lambda s: coal.Cylinder(s[1], s[0]))(size), T) for _, kind, size, T in problem["objects"]]


def check_inverse(robot, poses):
    """How many clear solutions a second among ten obstacles, and of how many targets that have one."""
    world, _ = random_world_without_coal(np.random.default_rng(1))
    q = robot.random_configuration(4 * poses, seed=1)
    T = robot.fk(q[robot.clearance(q, world) > 0][:poses])
    robot.ik(T[:100], avoid=world)
    spent = []
    for _ in range(5):
        t0 = time.process_time()
        found = robot.ik(T, avoid=world)
        spent.append(time.process_time() - t0)
    print(
        f"{robot.name}: {len(T) / min(spent):,.0f} clear solutions a second, {found.converged.mean():.2%} of {len(T)} "
        f"feasible targets found, least clearance {found.clearance[found.converged].min():.2g} m"
    )


def check_rates(robot, states):
    """How often random states touch themselves: coal on the shapes, the planner and `clearance`. Pairs that are proved
    never to meet are looked at by coal, too. No state that coal calls touching may be free."""
    import coal

    from dalembert.planning.motion import planner_of

    began = time.process_time()
    c = robot.collision()
    built = time.process_time() - began
    q = np.asarray(robot.random_configuration(states, seed=7))
    scene = planner_of(robot, c).scene(dl.World())
    began = time.process_time()
    planner = scene.hits(q)
    speed = (time.process_time() - began) / states
    here, s = c.clearance(q) <= 0, c.spheres
    link = s.coarse.link
    compared = {frozenset((link[a], link[b])) for a, b in (*s.pairs.tolist(), *s.apart.tolist())}
    shapes, T = coal_shapes(robot), np.asarray(c.frames(q))
    placed = []
    for _, body, local, solid in shapes:
        R, p = T[:, body, :9].reshape(-1, 3, 3), T[:, body, 9:]
        placed.append((solid, R @ local[:3, :3], R @ local[:3, 3] + p))
    touching = np.zeros(states, bool)
    for i, j in combinations(range(len(shapes)), 2):
        if frozenset((shapes[i][0], shapes[j][0])) not in compared:
            continue
        (a, Ra, pa), (b, Rb, pb) = placed[i], placed[j]
        (ca, ra), (cb, rb) = _ball(a), _ball(b)
        apart = np.linalg.norm(Ra @ ca + pa - Rb @ cb - pb, axis=1) - ra - rb
        for k in np.flatnonzero(~touching & (apart <= 0)):
            request, result = coal.CollisionRequest(), coal.CollisionResult()
            poses = coal.Transform3s(Ra[k], pa[k]), coal.Transform3s(Rb[k], pb[k])
            touching[k] = coal.collide(a, poses[0], b, poses[1], request, result) > 0
    free = (touching & ~here).sum(), (touching & ~planner).sum()
    rates = [f"{100 * part.mean():.2f} %" for part in (touching, planner, here)]
    print(
        f"{robot.name:28.28} {len(s.pairs):4} pairs, {len(s.apart):3} proved apart, {len(s.pieces):3} pieces: coal "
        f"{rates[0]}, planner {rates[1]}, clearance {rates[2]}; called free wrongly {free[1]} and {free[0]}; "
        f"{1e6 * speed:.2f} us a state; built in {built:.1f} s",
        flush=True,
    )
    always = [
        (link[a], link[b]) for (a, b), d in zip(s.pairs, pair_distances(c, q), strict=True) if (d <= 0).mean() > 0.5
    ]
    if always:
        print("    touch in more than half of the states:", ", ".join(" and ".join(pair) for pair in always))


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
    mode = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in ("excite", "edges", "ik", "rates") else ""
    if mode == "edges":
        check_edges(dl.load("panda"), sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
        return
    if mode == "ik":
        for name in sys.argv[2:] or ["panda"]:
            check_inverse(dl.load(name), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
        return
    if mode == "rates":
        states = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
        for name in sys.argv[2:] or [*ROBOTS, *(str(site / DATA / name) for name in FOREIGN)]:
            check_rates(dl.load(name), states)
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
        excess, short, ours, coals, c, off = compare(robot, states)
        speed = f"{1e6 * ours / states:.1f} µs against {1e6 * coals / states:.0f} µs a state"
        s = c.spheres
        print(
            f"{robot.name}: {len(s.fine)} spheres, {len(s.pairs)} pairs, made in {made:.1f} s; "
            f"stated {s.overestimate:.4f} m; "
            f"{states} states: excess {excess:.2g} m, beyond stated {short:.2g} m, gradients off by {off:.1g}; {speed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
