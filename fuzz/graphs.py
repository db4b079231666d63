"""Random expression graphs: interpreted and compiled code agree bit for bit, at every width, cut or whole.

Run by `make fuzz`, or: python fuzz/graphs.py --graphs 100000 --seconds 3600
"""

from __future__ import annotations

import os
import random

import numpy as np
from loop import Failures, count, parser

from dalembert import scalar
from dalembert.compile import compile_function, llvm, loop
from dalembert.compile.body import Emission
from dalembert.compile.graph import Node

TOGETHER = 40  # graphs in one kernel: compiling is what takes the time
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e308, 1e308, 1.0, -1.0, 0.5, 1e9, 1e10, np.pi])


def expression(rng: random.Random, leaves: list, size: int) -> list:
    """`size` operations, each on earlier results."""
    known = [*leaves, 1.5, -2.0, 0.0, 3.0]
    for _ in range(size):
        a, b = (known[-1 - int(rng.expovariate(0.15)) % len(known)] for _ in range(2))
        c = rng.choice(known)
        way = rng.randrange(11)
        if way == 0 and isinstance(b, Node):
            value = a / b
        elif way == 1:
            value = a - b
        elif way in (2, 3, 4):
            value = a * b
        elif way == 5:
            value = -a
        elif way == 6 and isinstance(a, Node):
            value = scalar.where(a < b, b, c) if rng.random() < 0.5 else scalar.where(a <= b, c, a)
        elif way == 7 and isinstance(a, Node):
            value = rng.choice((scalar.sin, scalar.cos))(a)
        elif way == 8 and isinstance(a, Node):
            value = rng.choice((scalar.sqrt, scalar.absolute))(a)
        else:
            value = a * b + c
        known.append(value)
    return known


def main() -> None:
    options = parser(__doc__, 100_000, "graphs").parse_args()
    os.environ["DALEMBERT_CACHE"] = ""
    rng, numbers = random.Random(options.seed), np.random.default_rng(options.seed)
    operations = graphs = 0
    failures = Failures(options.seed)
    for number in count(options, TOGETHER):
        longest, piece = rng.choice(((3000, 400), (0, 7), (0, 40)))
        llvm.KERNEL = Emission(loop.SYMBOL, longest, piece)
        sizes = [rng.choice((1, 3, 10, 30, 100)) for _ in range(TOGETHER)]

        def function(v, sizes=sizes):
            return [rng.choice(expression(rng, v, size)[-5:]) for size in sizes]

        kernel = compile_function(function, [(4,)], [(TOGETHER,)])
        operations, graphs = operations + kernel.operations, graphs + TOGETHER
        states = numbers.normal(size=(7, 4)) * 10.0 ** numbers.integers(-3, 4)
        hits = numbers.random(states.shape) < 0.2
        states[hits] = numbers.choice(SPECIAL, hits.sum())
        with np.errstate(all="ignore"):
            batch = kernel.ufunc(states)
            alone = np.array([kernel.direct(s) for s in states])
        meant = np.array([kernel.interpret(s) for s in states])
        for other in (alone, meant):
            same = (batch == other) & (np.signbit(batch) == np.signbit(other)) | (np.isnan(batch) & np.isnan(other))
            with failures.record(number, repr(states.tolist()).encode()):
                assert same.all(), f"graphs {number} … differ at the states {states[~same.all(axis=1)]}"
    failed = failures.kinds.total()
    print(f"{graphs} graphs with {operations} operations, interpreted, alone and in a batch: {failed} differ in a bit")
    failures.finish()


if __name__ == "__main__":
    main()
