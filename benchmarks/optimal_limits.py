"""Random problems with hard limits of states: how many converge, with limits kept to 1e-6, and why the others do not.

    python benchmarks/optimal_limits.py                       # the corpus: 9 systems, 6 problems each
    python benchmarks/optimal_limits.py --seeds 7 --ipopt all # another draw, and each problem by CasADi and IPOPT too

Of each problem the free motion is found first; then limits are set that it breaks: a joint's position, the speeds of
all joints, a wall that the tip may not cross, or two of these, some with limits of torque, some with a fixed end.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import dalembert as dl
from dalembert import optimal as oc
from dalembert.algorithms.kinematics import frame_pose

FAR = 1e3  # a limit that nothing reaches
KEPT = 1e-6
KINDS = ("position", "speed", "wall", "position and speed", "speed and wall", "speed and torque")


@dataclass
class Family:
    """A system with random motions: `draw` gives (start, goal); `inputs` that are chosen."""

    name: str
    system: Any
    horizon: float
    dt: float
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    inputs: list[str] | None = None
    tip: Callable[[Any], Any] | None = None
    effort: float = 1e-3
    fixed: bool = False


def given(name: str) -> Path:
    """A robot file of the package example-robot-data."""
    return next(Path(str(f.locate())) for f in files("example-robot-data") or () if str(f).endswith("/" + name))


def cart_pole() -> Any:
    x, theta = dl.lagrange.coordinates("x theta")
    F = sp.Symbol("F")
    xd, td = dl.lagrange.rate(x), dl.lagrange.rate(theta)
    kinetic = 0.6 * xd**2 + 0.1 * xd * td * sp.cos(theta) + 0.025 * td**2
    return dl.LagrangianSystem(
        [x, theta], kinetic=kinetic, potential=-0.981 * sp.cos(theta), forces=[F, 0], inputs=[F], name="cart-pole"
    )


def arm(name: str, source: Any, horizon: float, far: float, tip: str | None = None, **more: Any) -> Family:
    robot = dl.load(source, tip=tip)
    home = robot.home

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return home + 0.3 * rng.normal(size=robot.n), home + far * rng.normal(size=robot.n)

    def position(q: Any) -> Any:
        return frame_pose(robot.model, q, robot.model.frame(None)).p

    return Family(name, robot, horizon, horizon / 30, draw, tip=position, **more)


def families() -> list[Family]:
    up = np.array([0.0, np.pi])
    swing = Family(
        "cart-pole swing-up",
        cart_pole(),
        3.0,
        0.03,
        lambda rng: (np.array([0.0, 0.3]) * rng.normal(size=2), up),
        effort=0.01,
    )
    cart = Family(
        "cart-pole move",
        swing.system,
        1.5,
        0.03,
        lambda rng: (0.2 * rng.normal(size=2), np.array([rng.uniform(0.5, 1.5), 0.0])),
        effort=0.01,
    )
    pendubot = arm("double pendulum, first joint driven", "planar-2r", 2.0, 0.5, inputs=["joint1_torque"])
    pendubot.draw = lambda rng: (np.array([-np.pi / 2, 0.0]) + 0.2 * rng.normal(size=2), np.array([np.pi / 2, 0.0]))
    return [
        swing,
        cart,
        pendubot,
        arm("planar-2r", "planar-2r", 0.8, 1.0),
        arm("planar-3r", "planar-3r", 0.8, 0.8),
        arm("planar-2r, fixed end", "planar-2r", 0.8, 1.0, fixed=True),
        arm("Panda", "panda", 0.6, 0.5),
        arm("UR5 of example-robot-data", given("ur5_robot.urdf"), 0.6, 0.6, "tool0"),
        arm("Z1 of example-robot-data, fixed end", given("z1.urdf"), 0.6, 0.5, fixed=True),
    ]


def make(f: Family) -> tuple[dl.OptimalControl, dl.OptimalControl]:
    """The free problem, and the one whose limits are parameters: compiled once for all of its draws."""
    flow = f.system.flow()
    n, has_tip = flow.nq, f.tip is not None
    end = (lambda q, v, goal: [*(a - b for a, b in zip(q, goal, strict=True)), *v]) if f.fixed else None
    running = [oc.effort(f.effort), oc.speed(0.01)]
    terminal = None if f.fixed else [oc.posture("goal", 100.0), oc.speed(10.0)]

    def limited(q: Any, v: Any, low: Any, high: Any, fast: Any, wall: Any) -> list[Any]:
        rows = [a - b for a, b in zip(q, high, strict=True)] + [b - a for a, b in zip(q, low, strict=True)]
        rows += [s * a - b for a, b in zip(v, fast, strict=True) for s in (1.0, -1.0)]
        if f.tip is not None:
            rows.append(sum(a * b for a, b in zip(f.tip(q), wall[:3], strict=True)) - wall[3])
        return rows

    def limited_without_tip(q: Any, v: Any, low: Any, high: Any, fast: Any) -> list[Any]:
        return limited(q, v, low, high, fast, None)

    none = {"low": np.full(n, -FAR), "high": np.full(n, FAR), "fast": np.full(n, FAR)}
    if has_tip:
        none["wall"] = np.array([1.0, 0.0, 0.0, FAR])
    common = {"running": running, "terminal": terminal, "end": end, "inputs": f.inputs}
    goal = {"goal": np.zeros(n)}
    free = dl.OptimalControl(f.system, f.horizon, f.dt, parameters=goal, **common)
    fenced = limited if has_tip else limited_without_tip
    held = dl.OptimalControl(f.system, f.horizon, f.dt, inequalities=fenced, parameters={**goal, **none}, **common)
    return free, held


def draw_limits(
    f: Family, kind: str, rng: np.random.Generator, found: dl.optimal.Optimum, goal: np.ndarray
) -> dict[str, np.ndarray] | None:
    """Limits that the free motion breaks and the start keeps; with a fixed end, the goal too."""
    q, v, n = found.q, found.v, found.q.shape[1]
    limits = {"low": np.full(n, -FAR), "high": np.full(n, FAR), "fast": np.full(n, FAR)}
    share = rng.uniform(0.5, 0.9)
    if "position" in kind:
        reached = np.maximum(q.max(0) - (np.maximum(q[0], goal) if f.fixed else q[0]), 0.0)
        sunk = np.maximum((np.minimum(q[0], goal) if f.fixed else q[0]) - q.min(0), 0.0)
        j = int(np.argmax(np.maximum(reached, sunk)))
        if max(reached[j], sunk[j]) < 1e-3:
            return None
        if reached[j] > sunk[j]:
            limits["high"][j] = q[:, j].max() - (1 - share) * reached[j]
        else:
            limits["low"][j] = q[:, j].min() + (1 - share) * sunk[j]
    if "speed" in kind:
        needed = 1.2 * np.abs(goal - q[0]) / f.horizon if f.fixed else 0.0
        limits["fast"] = np.maximum(share * np.abs(v).max(0), needed) + 1e-3
        if (limits["fast"] > np.abs(v).max(0)).all():
            return None
    if f.tip is not None:
        limits["wall"] = np.array([1.0, 0.0, 0.0, FAR])
    if "wall" in kind:
        if f.tip is None:
            return None
        p = np.array([[float(a) for a in f.tip(row.tolist())] for row in q])
        last = np.array([float(a) for a in f.tip(goal.tolist())]) if f.fixed else p[0]
        spread = [(s * p[:, k]).max() - max(s * p[0, k], s * last[k]) for k in range(3) for s in (1.0, -1.0)]
        best = int(np.argmax(spread))
        if spread[best] < 1e-3:
            return None
        normal = np.zeros(3)
        normal[best // 2] = 1.0 if best % 2 == 0 else -1.0
        limits["wall"] = np.array([*normal, (p @ normal).max() - (1 - share) * spread[best]])
    return limits


def corpus(seed: int, count: int, only: str = "") -> Any:
    """(name, problem, start, parameters, free motion), one after the other."""
    for k, f in enumerate(families()):
        if only not in f.name:
            continue
        rng = np.random.default_rng((seed, k))
        free, held = make(f)
        torque = None
        made = 0
        for trial in range(20 * count):
            kind = KINDS[(made if made < len(KINDS) else trial) % len(KINDS)]
            if trial >= 3 * (made + 1):  # a kind that this system cannot have
                kind = KINDS[trial % len(KINDS)]
            start, goal = f.draw(rng)
            x0 = np.concatenate((start, np.zeros(len(start))))
            found = free.solve(x0, goal=goal)
            limits = draw_limits(f, kind, rng, found, goal) if found.converged else None
            if limits is None:
                continue
            problem = held
            if "torque" in kind:
                torque = 0.9 * np.abs(found.u).max(0)
                words = {name: getattr(held, name) for name in ("running", "terminal", "end", "inputs")}
                words |= {"inequalities": held.inequalities, "parameters": held.parameters}
                problem = dl.OptimalControl(f.system, f.horizon, f.dt, limits={"u": torque}, **words)
            made += 1
            yield f"{f.name}: {kind}", problem, x0, {"goal": goal, **limits}, found
            if made == count:
                break


def by_ipopt(problem: dl.OptimalControl, x0: np.ndarray, guess: Any, words: dict[str, Any]) -> str:
    """The same discrete problem by IPOPT, from a guess: its cost, or what it says."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.optimal.test_casadi import ipopt

    try:
        return f"{ipopt(problem, x0, guess, **words)[0]:.9g}"
    except RuntimeError as error:
        return str(error).rsplit("return_status is", 1)[-1].strip(" '.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--only", default="", help="of systems whose name contains this")
    parser.add_argument("--ipopt", choices=("none", "failed", "all"), default="none")
    options = parser.parse_args()
    good, why, steps, seconds = [], collections.Counter(), [], 0.0
    for name, problem, x0, words, free in (p for s in options.seeds for p in corpus(s, options.count, options.only)):
        problem.sweep.ufunc, problem.rollout.ufunc  # noqa: B018 - compiled before it is timed
        begun = time.process_time()
        found = problem.solve(x0, **words)
        seconds += time.process_time() - begun
        fine = bool(found.converged and found.violation <= KEPT)
        good.append(fine)
        steps.append(int(found.iterations))
        why[str(found.reason)] += not fine
        asked = options.ipopt == "all" or (options.ipopt == "failed" and not fine)
        print(
            f"{'ok ' if fine else 'NOT'} {name:55s} {steps[-1]:5d} iterations, cost {float(free.cost):.4g} → "
            f"{float(found.cost):.9g}, violation {float(found.violation):.1e}, gradient {float(found.gradient):.1e}, "
            f"{found.reason}{'; IPOPT: ' + by_ipopt(problem, x0, found, words) if asked else ''}",
            flush=True,
        )
    print(
        f"{sum(good)} of {len(good)} converge with limits kept to {KEPT:g}, half of all within {np.median(steps):.0f} "
        f"iterations; the others: {dict(+why)}; {seconds:.1f} s of processor time"
    )
