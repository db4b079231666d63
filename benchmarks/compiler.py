"""The compiler against other libraries and the machine's own limits, all in one run.

Run by `make bench`; writes tables and plots to benchmarks/results/. Ratios are measured side by side: candidates take
turns, and the best round of each counts, because machines are shared and noisy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
from core import REPEAT, RESULTS, repeated, table
from timing import best_of_each

import dalembert as dl
from dalembert.compile import compile_function, llvm
from dalembert.describe.description import Description, Inertial, Joint, Link, Origin

warnings.simplefilter("ignore", dl.ModelWarning)
BATCH, LOOP = 20_000, 1_000


def bare(robot: dl.Robot) -> str:
    """Its URDF without shapes."""
    d = robot.description
    links = tuple(replace(x, visuals=(), collisions=()) for x in d.links)
    return dl.Robot(replace(d, links=links), told=d.warnings).to_urdf()


def talos() -> dl.Robot:
    import site

    root = Path(site.getsitepackages()[0]) / "cmeel.prefix/share/example-robot-data/robots"
    robot = dl.load(next(root.rglob("talos_reduced.urdf")))
    return robot.with_tip("gripper_left_base_link")


def chain(n: int) -> dl.Robot:
    """n revolute joints with general geometry."""
    rng = np.random.default_rng(n)
    links, joints = [Link("link0")], []
    for k in range(1, n + 1):
        links.append(Link(f"link{k}", Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1), Origin((0.1, 0.0, 0.05)))))
        a = rng.normal(size=3)
        axis = tuple(float(x) for x in a / np.linalg.norm(a))
        origin = Origin((0.2, 0.1, 0.0), tuple(float(x) for x in rng.uniform(-3, 3, 3)))
        joints.append(Joint(f"joint{k}", "continuous", f"link{k - 1}", f"link{k}", origin, axis))
    return dl.Robot(Description(f"chain{n}", tuple(links), tuple(joints)))


class Pinocchio:
    def __init__(self, robot: dl.Robot) -> None:
        self.model = pin.buildModelFromXML(bare(robot))
        self.data = self.model.createData()
        self.pool = pin.ModelPool(self.model, 2)
        self.frame = self.model.getFrameId(robot.tip, pin.FrameType.BODY)
        rng = np.random.default_rng(0)
        self.q = np.array(
            [pin.integrate(self.model, pin.neutral(self.model), rng.uniform(-1, 1, self.model.nv)) for _ in range(LOOP)]
        )
        self.v, self.a = rng.uniform(-1, 1, (2, LOOP, self.model.nv))

    def loop(self, function):
        m, d, q, v, a = self.model, self.data, self.q, self.v, self.a

        def run():
            for k in range(LOOP):
                function(m, d, q[k], v[k], a[k])

        return run

    def parallel(self, function, threads: int):
        columns = [np.asfortranarray(np.tile(x.T, 10)) for x in (self.q, self.v, self.a)]
        result = np.asfortranarray(np.zeros((self.model.nv, 10 * LOOP)))
        return lambda: function(threads, self.pool, *columns, result)


def mujoco_model(robot: dl.Robot) -> mujoco.MjModel:
    extension = '<mujoco><compiler balanceinertia="true" boundmass="1e-6" boundinertia="1e-9"/></mujoco>'
    model = mujoco.MjModel.from_xml_string(bare(robot).replace("</robot>", extension + "</robot>"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # no limits: nobody else here heeds them
    return model


def mujoco_loop(robot: dl.Robot):
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, LOOP, model.nv))

    def run():
        for k in range(LOOP):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
            mujoco.mj_inverse(model, data)

    return run


def against_others(robot: dl.Robot) -> list[tuple]:
    """Time per state, and how many times longer the others take."""
    p = Pinocchio(robot)
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, BATCH, robot.n))
    out = np.empty((BATCH, robot.n))
    rows = []
    for name, ours, loop, parallel in (
        ("inverse dynamics", robot.inverse_dynamics, pin.rnea, pin.rneaInParallel),
        ("forward dynamics", robot.forward_dynamics, pin.aba, pin.abaInParallel),
    ):
        ours(q, v, a, out=out)
        candidates = {
            "ours": lambda ours=ours: ours(q, v, a, out=out),
            "loop": p.loop(loop),
            "one": p.parallel(parallel, 1),
            "two": p.parallel(parallel, 2),
        }
        if name.startswith("inverse"):
            candidates["mujoco"] = mujoco_loop(robot)
        t = best_of_each(9, candidates)
        per = {"ours": BATCH, "loop": LOOP, "one": 10 * LOOP, "two": 10 * LOOP, "mujoco": LOOP}
        ns = {k: x / per[k] * 1e9 for k, x in t.items()}
        ratios = [f"{ns[k] / ns['ours']:.1f}×" if k in ns else "–" for k in ("loop", "one", "two", "mujoco")]
        rows.append((robot.name, name, f"{ns['ours']:.1f} ns", *ratios))
    for name, ours, theirs in (
        ("∂ID", robot.kernel("inverse_dynamics_derivatives"), pin.computeRNEADerivatives),
        ("∂FD", robot.kernel("forward_dynamics_derivatives"), pin.computeABADerivatives),
    ):
        outs = tuple(np.empty((2000, robot.n, robot.n)) for _ in range(3))
        ours(q[:2000], v[:2000], a[:2000], out=outs)
        many = lambda o=ours, u=outs: o(q[:2000], v[:2000], a[:2000], out=u)  # noqa: E731
        fresh = lambda o=ours: o(q[:2000], v[:2000], a[:2000])  # noqa: E731 - memory that the system has to give first
        t = best_of_each(7, {"out=": many, "fresh memory": fresh, "loop": p.loop(theirs)}, time.process_time)
        y = t["loop"] / LOOP * 1e9
        for way in ("out=", "fresh memory"):
            x = t[way] / 2000 * 1e9
            rows.append((robot.name, f"{name}, {way}", f"{x:.1f} ns", f"{y / x:.1f}×", "–", "–", "–"))
    return rows


def single_calls(robot: dl.Robot) -> list[tuple]:
    p = Pinocchio(robot)
    m, d, Q, V, A = p.model, p.data, p.q[0], p.v[0], p.a[0]
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, robot.n))
    world = pin.LOCAL_WORLD_ALIGNED

    def fk():
        pin.forwardKinematics(m, d, Q)
        return pin.updateFramePlacement(m, d, p.frame).homogeneous

    pairs = {
        "ID": (lambda: robot.inverse_dynamics(q, v, a), lambda: pin.rnea(m, d, Q, V, A)),
        "FD": (lambda: robot.forward_dynamics(q, v, a), lambda: pin.aba(m, d, Q, V, A)),
        "M": (lambda: robot.mass_matrix(q), lambda: pin.crba(m, d, Q)),
        "C": (lambda: robot.coriolis_matrix(q, v), lambda: pin.computeCoriolisMatrix(m, d, Q, V)),
        "g": (lambda: robot.gravity_torque(q), lambda: pin.computeGeneralizedGravity(m, d, Q)),
        "FK": (lambda: robot.fk(q), fk),
        "J": (lambda: robot.jacobian(q), lambda: pin.computeFrameJacobian(m, d, Q, p.frame, world)),
        "regressor": (lambda: robot.regressor(q, v, a), lambda: pin.computeJointTorqueRegressor(m, d, Q, V, A)),
        "∂ID": (lambda: robot.inverse_dynamics_derivatives(q, v, a), lambda: pin.computeRNEADerivatives(m, d, Q, V, A)),
        "∂FD": (lambda: robot.forward_dynamics_derivatives(q, v, a), lambda: pin.computeABADerivatives(m, d, Q, V, A)),
    }
    row = [robot.name]
    for ours, theirs in pairs.values():
        ours()
        t = best_of_each(9, {"ours": repeated(ours), "theirs": repeated(theirs)})
        row.append(f"{t['ours'] / t['theirs']:.2f}")
    return [tuple(row)]


def toolbox(arm: dl.Robot) -> list[tuple]:
    """The Robotics Toolbox, if it is installed: its Panda by DH parameters, inverse dynamics in C."""
    try:
        import roboticstoolbox as rtb
    except ImportError:
        return [("Robotics Toolbox", "not installed", "–")]
    theirs = rtb.models.DH.Panda()
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, arm.n))
    pairs = {
        "inverse dynamics": (lambda: arm.inverse_dynamics(q, v, a), lambda: theirs.rne(q, v, a)),
        "mass matrix": (lambda: arm.mass_matrix(q), lambda: theirs.inertia(q)),
        "forward kinematics": (lambda: arm.fk(q), lambda: theirs.fkine(q).A),
        "Jacobian": (lambda: arm.jacobian(q), lambda: theirs.jacob0(q)),
    }
    rows = []
    for name, (ours, other) in pairs.items():
        ours()
        t = best_of_each(5, {"ours": repeated(ours), "theirs": other})
        mine = t["ours"] / REPEAT
        rows.append((name, f"{mine * 1e6:.2f} µs", f"{t['theirs'] / mine:.0f}×"))
    return rows


def limits(arm: dl.Robot) -> list[tuple]:
    """Batch kernels next to what the machine can do: fused operations per second, bytes written per second."""
    width, depth = 10, 100  # as many chains as registers hold, long enough to drown loads and stores

    def chains(v):
        for _ in range(depth):
            v = [x * 0.999 + 0.001 for x in v]
        return v

    flops = compile_function(chains, [(width,)], [(width,)])
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 4000, width))
    n = 4000
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n, arm.n))
    big = np.empty(STREAM)
    names = {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, a),
        "mass_matrix": (q,),
        "jacobian": (q,),
        "regressor": (q, v, a),
    }
    large = {k: [np.tile(z, (25, 1)) for z in arguments] for k, arguments in names.items()}
    outs = {k: np.empty((25 * n, *arm.kernel(k).outputs[0])) for k in names}
    run = {k: lambda k=k: arm.kernel(k)(*large[k], out=outs[k]) for k in names}
    for f in run.values():
        f()
    flops(x, out=y)
    t = best_of_each(9, {"fma": lambda: flops(x, out=y), "fill": lambda: big.fill(1.0), **run})
    rate = flops.operations * 4000 / t["fma"]
    stream = big.nbytes / t["fill"]
    rows = [("the machine", f"{rate / 1e9:.1f} G steps/s", "100 %", f"{stream / 1e9:.1f} GB/s", "100 %")]
    for k in names:
        per = t[k] / (25 * n)
        sines = sum(s.operation == "sin" for s in arm.kernel(k).program.steps)
        steps = (arm.kernel(k).operations + 40 * sines) / per
        written = 8 * np.prod(arm.kernel(k).outputs[0]) / per
        rows.append(
            (
                k,
                f"{steps / 1e9:.1f} G steps/s",
                f"{100 * steps / rate:.0f} %",
                f"{written / 1e9:.1f} GB/s",
                f"{100 * written / stream:.0f} %",
            )
        )
    return rows


STREAM = 6_000_000  # doubles: larger than the caches


def widths_and_threads(arm: dl.Robot) -> list[tuple]:
    n = 200_000
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n, arm.n))
    s = [x.astype(np.float32) for x in (q, v, a)]
    rows = []
    for name in ("inverse_dynamics", "forward_dynamics"):
        out, small = np.empty((n, arm.n)), np.empty((n, arm.n), np.float32)
        candidates = {
            "one": partial(getattr(arm, name), q, v, a, out=out),
            "single": partial(getattr(arm, name), *s, out=small),
        }
        for f in candidates.values():
            f()
        t = best_of_each(11, candidates)
        threads, processes = two_threads(name, n)
        ratios = (f"{x:.2f}×" for x in (t["one"] / t["single"], threads, processes, threads / processes))
        rows.append((name, f"{t['one'] / n * 1e9:.1f} ns", *ratios))
    return rows


PROCESS = """
import dalembert as dl, numpy as np, sys, time
arm = dl.load("panda").with_threads({threads}); n = {n}
q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n, 7)); out = np.empty((n, 7))
f = getattr(arm, "{name}"); f(q, v, a, out=out)
print("ready", flush=True); sys.stdin.readline()
calls, start = 0, time.perf_counter()
while time.perf_counter() - start < 2.0:
    f(q, v, a, out=out); calls += 1
print(calls * n / (time.perf_counter() - start))
"""


def sustained(name: str, count: int, threads: int, n: int) -> float:
    """States per second of `count` processes at once, over two seconds: a best round would catch a moment in which
    a shared machine gave one core its all, which says nothing of two."""
    code = PROCESS.format(n=n, name=name, threads=threads)
    running = [subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) for _ in range(count)]
    for p in running:
        p.stdout.readline()
    for p in running:
        p.stdin.write("\n")
        p.stdin.flush()
    return sum(float(p.communicate()[0]) for p in running)


def two_threads(name: str, n: int) -> tuple[float, float]:
    """How much faster than one thread are two threads, and two processes: medians of rounds in which all take turns."""
    ways = {"one": (1, 1, n), "threads": (1, 2, n), "processes": (2, 1, n // 2)}
    rates = {way: [] for way in ways}
    for _ in range(5):
        for way, (count, threads, size) in ways.items():
            rates[way].append(sustained(name, count, threads, size))
    one, threads, processes = (float(np.median(r)) for r in rates.values())
    return threads / one, processes / one


def compile_times() -> tuple[list[tuple], list[tuple[int, int, float, float]]]:
    """Cold compilation of chains; time against operations."""
    os.environ["DALEMBERT_CACHE"] = ""
    rows, figures = [], []
    for n in (2, 4, 7, 12, 20, 38, 60, 100):
        robot = chain(n)
        for name in ("inverse_dynamics", "forward_dynamics"):
            start = time.perf_counter()
            kernel = robot.kernel(name)
            traced = time.perf_counter() - start
            start = time.perf_counter()
            kernel.ufunc  # noqa: B018
            compiled = time.perf_counter() - start
            x = np.random.default_rng(0).uniform(-1, 1, (3, 2000, n))
            out = np.empty((2000, n))
            t = best_of_each(5, {"run": lambda k=kernel, x=x, o=out: k(*x, out=o)})["run"] / 2000
            rows.append(
                (
                    str(n),
                    name,
                    str(kernel.operations),
                    f"{traced:.2f} s",
                    f"{compiled:.2f} s",
                    f"{t / kernel.operations * 1e9:.3f} ns",
                )
            )
            figures.append((n, kernel.operations, traced + compiled, t))
    del os.environ["DALEMBERT_CACHE"]
    big = [(o, c) for n, o, c, _ in figures if o > 1000]
    slope = np.polyfit(np.log([o for o, _ in big]), np.log([c for _, c in big]), 1)[0]
    rows.append(("all", "time ~ operations^", f"{slope:.2f}", "", "", ""))
    return rows, figures


def growth_with_batch(arm: dl.Robot) -> list[tuple[int, float]]:
    figures = []
    for n in (1, 2, 3, 4, 8, 16, 64, 256, 1000, 10_000, 100_000, 1_000_000):
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n, arm.n))
        out = np.empty((n, arm.n))
        arm.inverse_dynamics(q, v, a, out=out)
        rounds = max(1, 20_000 // n)

        def run(n=n, q=q, v=v, a=a, out=out, rounds=rounds):
            for _ in range(rounds):
                arm.inverse_dynamics(q, v, a, out=out)

        figures.append((n, best_of_each(5, {"run": run})["run"] / rounds / n * 1e9))
    return figures


def plots(joints: list[tuple[int, int, float, float]], batch: list[tuple[int, float]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plots: pip install matplotlib")
        return
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.2), constrained_layout=True)
    for k, name in enumerate(("inverse dynamics", "forward dynamics")):
        part = joints[k::2]
        left.loglog([n for n, *_ in part], [t * 1e9 for *_, t in part], "o-", label=name)
        middle.loglog([o for _, o, *_ in part], [c for _, _, c, _ in part], "o-", label=name)
    left.set(xlabel="joints of a chain", ylabel="time per state [ns]", title="Growth with the robot")
    middle.set(xlabel="operations", ylabel="trace and compile [s]", title="Compilation, cold")
    right.loglog(*zip(*batch, strict=True), "o-", color="tab:green")
    right.set(xlabel="states in a call", ylabel="time per state [ns]", title="Panda, inverse dynamics")
    for axes in (left, middle, right):
        axes.grid(True, which="both", alpha=0.3)
    left.legend()
    figure.savefig(RESULTS / "compiler.png", dpi=110)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    arm = dl.load("panda")
    robots = [dl.load("planar-2r"), dl.load("ur5e"), arm, talos()]
    others = ("robot", "what", "per state", "Pinocchio loop", "its parallel call, 1 thread", "2 threads", "MuJoCo loop")
    calls = ("robot", "ID", "FD", "M", "C", "g", "FK", "J", "regressor", "∂ID", "∂FD")
    compiled, joints = compile_times()
    parts = [
        f"Vectors of {llvm.host().width} doubles on {llvm.host().cpu}.\n",
        table(
            f"Batches of {BATCH:,} states, one thread: how many times longer others take",
            others,
            [row for robot in robots for row in against_others(robot)],
        ),
        table("One call: time as a fraction of Pinocchio's", calls, [row for r in robots for row in single_calls(r)]),
        table("Panda, one call: the Robotics Toolbox takes longer by", ("what", "Dalembert", "ratio"), toolbox(arm)),
        table(
            "Panda next to the machine's limits",
            ("kernel", "arithmetic", "of the limit", "written", "of a plain fill"),
            limits(arm),
        ),
        table(
            "Panda: float32, two threads, two processes",
            ("kernel", "per state", "float32", "two threads", "two processes", "threads / processes"),
            widths_and_threads(arm),
        ),
        table("Chains, cold", ("joints", "kernel", "operations", "trace", "LLVM", "run, per operation"), compiled),
    ]
    text = "\n".join(parts)
    print(text)
    (RESULTS / "compiler.md").write_text(text, encoding="utf-8")
    plots(joints, growth_with_batch(arm))


if __name__ == "__main__":
    main()
