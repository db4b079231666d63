"""How long closed-form equations take: Dalembert's, and beside them SymPy's LagrangesMethod and the Robotics Toolbox on
what they finish within a limit of time.

    python benchmarks/equations.py [--limit 300]

Ours is M, all Christoffel symbols and g with every parameter a symbol, best of five. SymPy gets the kinetic and
potential energy of a planar arm and is asked for the equations, M and the forcing, each simplified (without that the
result is no form for people; its time without is given too). The toolbox is asked for the symbolic joint torques of
the same planar arm. Each runs in a process of its own, cold, and is stopped at the limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings

from timing import best

import dalembert as dl

SYMPY = """
import time, sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
n = {n}
start = time.perf_counter()
q = dynamicsymbols(" ".join(f"q{{i}}" for i in range(n)) + " ")
t = dynamicsymbols._t
m, l, r, I = (sp.symbols(" ".join(f"{{x}}{{i}}" for i in range(n))) for x in "mlrI")
g = sp.Symbol("g")
if n == 1: q, m, l, r, I = [q] if not isinstance(q, (list, tuple)) else q, [m], [l], [r], [I]
x = y = 0; angle = 0; K = P = 0
for i in range(n):
    angle += q[i]
    cx, cy = x + r[i] * sp.cos(angle), y + r[i] * sp.sin(angle)
    K += m[i] * (cx.diff(t)**2 + cy.diff(t)**2) / 2 + I[i] * angle.diff(t)**2 / 2
    P += m[i] * g * cy
    x, y = x + l[i] * sp.cos(angle), y + l[i] * sp.sin(angle)
method = LagrangesMethod(K - P, list(q))
method.form_lagranges_equations()
M, f = method.mass_matrix, method.forcing
raw = time.perf_counter() - start
if {simplify}:
    M, f = sp.simplify(M), sp.simplify(f)
print(time.perf_counter() - start)
"""

TOOLBOX = """
import time, warnings; warnings.simplefilter("ignore")
start = time.perf_counter()
import sympy as sp, numpy as np, roboticstoolbox as rtb, spatialmath.base.symbolic as sym
n = {n}
loaded = time.perf_counter()
links = [rtb.RevoluteDH(a=sp.Symbol(f"l{{i}}"), m=sp.Symbol(f"m{{i}}"), r=[sp.Symbol(f"r{{i}}"), 0, 0],
         I=[0, 0, sp.Symbol(f"I{{i}}"), 0, 0, 0], Jm=0, G=1, B=0) for i in range(n)]
robot = rtb.DHRobot(links, symbolic=True, gravity=[0, sp.Symbol("g"), 0])
q, qd, qdd = (sp.symbols(" ".join(f"{{x}}{{i}}" for i in range(n)) + ",") for x in ("q", "qd", "qdd"))
tau = robot.rne(list(q), list(qd), list(qdd))
if {simplify}: tau = [sp.simplify(x) for x in np.ravel(tau)]
print(time.perf_counter() - loaded)
"""


def dynamics(robot: dl.Robot, zeros: bool) -> None:
    e = robot.equations(zeros=zeros)
    _ = e.M, e.christoffel, e.g


def elsewhere(code: str, limit: float) -> str:
    try:
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"> {limit:.0f} s"
    if run.returncode:
        return "fails: " + run.stderr.strip().splitlines()[-1][:60]
    return f"{float(run.stdout):.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=float, default=300, help="seconds for each of the others")
    limit = parser.parse_args().limit
    warnings.simplefilter("ignore", dl.ModelWarning)
    print("M, Christoffel symbols and g, best of five                 zeros kept      all ten parameters")
    for name in ("planar-2r", "planar-3r", "puma560", "ur5e", "panda", "iiwa7"):
        robot = dl.load(name)
        times = [best(5, lambda r=robot, z=z: dynamics(r, z)) for z in (True, False)]
        print(f"  {name:55} {times[0] * 1e3:8.1f} ms     {times[1] * 1e3:8.1f} ms")
    planar, puma = dl.load("planar-2r"), dl.load("puma560")
    print(f"planar 2R to printed LaTeX: {best(5, lambda: planar.equations().latex()) * 1e3:.1f} ms")
    print(f"Puma 560, M in lumped constants: {best(3, lambda: puma.equations().text('M')) * 1e3:.0f} ms")
    for name in ("puma560", "ur5e", "elbow-3r"):
        robot = dl.load(name)
        print(f"det J of {name}, factored: {best(5, lambda r=robot: r.equations().factored('det')) * 1e3:.1f} ms")
    print(f"\nplanar arms, one process each, cold, at most {limit:.0f} s")
    for n in (2, 3, 4):
        for words, code in (("SymPy LagrangesMethod", SYMPY), ("Robotics Toolbox rne", TOOLBOX)):
            for simplify in (False, True):
                shown = elsewhere(code.format(n=n, simplify=simplify), limit)
                print(f"  {n}R  {words:24} {'simplified' if simplify else 'as it comes':12} {shown}", flush=True)


if __name__ == "__main__":
    main()
