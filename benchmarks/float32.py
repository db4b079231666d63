"""The errors of kernels in float32: proved, and met on random states.

`python benchmarks/float32.py` bounds gravity and inverse dynamics of arms over their ranges, at rates and accelerations
up to 1, and sets the largest error of ten million random states beside it. `--states 1e6` for fewer, `--boxes 10000`
for closer bounds, `--unfused` for machines without fused multiply–adds.

`python benchmarks/float32.py functions` tries sin, cos, exp and log at every float32 number, some ten minutes: the
constants of `compile.rounding.ACCURACY`. References are NumPy's functions of doubles, within 1e-15.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function
from dalembert.compile.float32 import compile_single
from dalembert.compile.kinds import SINGLE

ROBOTS = ("panda", "iiwa7", "ur5e", "puma560", "stanford", "scara")
CHUNK = 1 << 22
NORMAL = 2.0**-126


def table(robots: tuple[str, ...], states: int, boxes: int, fused: bool) -> None:
    print("| robot | kernel | output | bound | met | ratio |\n|---|---|---|---|---|---|")
    for name in robots:
        arm = dl.load(name)
        sides = np.array([(c.lower, c.upper) for c in arm.model.coordinates]).T
        sides = np.where(np.isfinite(sides), sides, np.array([[-np.pi], [np.pi]]))
        for kernel in (arm.kernel("gravity_torque"), arm.kernel("inverse_dynamics")):
            start = time.perf_counter()
            box = {a: tuple(sides) if a == "q" else (-1, 1) for a in kernel.arguments}
            found = kernel.float32_error(box, boxes, fused)
            took = time.perf_counter() - start
            met = found.attained(states, seed=1)
            for k, (bound, most) in enumerate(zip(found.bound, met, strict=True)):
                ratio = "exact" if bound == 0 else "–" if most == 0 else f"{bound / most:.1f}"
                words = ratio if most <= bound else "CONTRADICTED"
                print(f"| {name} | {kernel.name} | {k + 1} | {bound:.2e} | {most:.2e} | {words} |", flush=True)
            print(f"<!-- {found.boxes:,} boxes, {took:.1f} s; {states:,} states -->", flush=True)


def numbers(last: float) -> Iterator[np.ndarray]:
    """Every float32 number from 0 to the last."""
    end = int(np.float32(last).view(np.int32)) + 1
    for first in range(0, end, CHUNK):
        yield np.arange(first, min(first + CHUNK, end), dtype=np.int32).view(np.float32)


class Worst:
    """The largest of many numbers, and the argument that has it."""

    def __init__(self) -> None:
        self.error, self.at = 0.0, 0.0

    def see(self, x: np.ndarray, error: np.ndarray) -> None:
        k = int(np.argmax(error))
        if error[k] > self.error:
            self.error, self.at = float(error[k]), float(x[k])


def functions(fused: bool) -> None:
    names = ("sin", "cos", "sin x / x", "exp", "exp, subnormal", "log")
    worst = {name: Worst() for name in names}
    circle = compile_function(lambda x: [scalar.sin(x), scalar.cos(x)], [()], [(2,)], "circle")
    single = compile_single(circle, fused)
    for positive in numbers(SINGLE.largest_angle):
        for x in (positive, -positive):
            found, exact = single(x).astype(float), x.astype(float)
            sine = np.abs(found[:, 0] - np.sin(exact))
            worst["sin"].see(x, sine)
            worst["cos"].see(x, np.abs(found[:, 1] - np.cos(exact)))
            worst["sin x / x"].see(x, np.divide(sine, np.abs(exact), out=np.zeros_like(sine), where=exact != 0))
    exp, log = (compile_single(compile_function(f, [()], [()], f.__name__), fused) for f in (scalar.exp, scalar.log))
    for positive in numbers(SINGLE.largest_exponent):
        for x in (positive, -positive):
            found, exact = exp(x).astype(float), np.exp(x.astype(float))
            error = np.abs(found - exact) * (exact < np.finfo(np.float32).max)
            worst["exp"].see(x, np.where(exact >= NORMAL, error / exact, 0.0))
            worst["exp, subnormal"].see(x, np.where(exact < NORMAL, error / 2.0**-125, 0.0))  # in units of 2⁻¹⁴⁹
    for x in numbers(np.finfo(np.float32).max):
        x = x[(x > 0) & (x != 1)]
        exact = np.log(x.astype(float))
        worst["log"].see(x, np.abs(log(x) - exact) / np.abs(exact))
    print("fused" if fused else "unfused")
    for name, most in worst.items():
        print(f"  {name:15} {most.error * 2.0**24:.5f} units of 2⁻²⁴ at {most.at!r}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=float, default=1e7, help="random states for each kernel")
    parser.add_argument("--boxes", type=int, default=1000, help="boxes for each proof")
    parser.add_argument("--unfused", action="store_true", help="multiply–adds round twice")
    parser.add_argument("what", nargs="*", help="robots, or `functions`")
    given = parser.parse_args()
    warnings.simplefilter("ignore", dl.ModelWarning)
    if given.what == ["functions"]:
        with np.errstate(all="ignore"):
            functions(not given.unfused)
        return
    table(tuple(given.what) or ROBOTS, int(given.states), given.boxes, not given.unfused)


if __name__ == "__main__":
    main()
