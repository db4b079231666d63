"""What a program means: each step evaluated in Python floats. Kernels agree with this bit for bit.

`replay` runs the same steps on any scalars, to trace a program once more."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from dalembert.compile.kinds import DOUBLE, Kind
from dalembert.compile.lower import Program, Step, walk
from dalembert.compile.operations import OF_KIND, OPERATIONS
from dalembert.scalar import Scalar


def interpret(program: Program, arguments: Sequence[Sequence[float]], kind: Kind = DOUBLE) -> list[list[float]]:
    """The outputs, flat, for flat arguments of one state; on a machine with fused steps, or on one without (`kind`)."""

    def compute(k: int, step: Step, operands: Sequence[float]) -> float:
        more = (kind,) if step.operation in OF_KIND else ()
        return OPERATIONS[step.operation].value(*operands, *more)

    return walk(program, float, lambda k, j: float(arguments[k][j]), operator.neg, compute)


def replay(program: Program, arguments: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """The outputs, flat, as scalars of the arguments' kind; a fused step is a product and a sum again."""

    def compute(k: int, step: Step, operands: Sequence[Scalar]) -> Scalar:
        return OPERATIONS[step.operation].on_scalars(*operands)

    return walk(program, float, lambda k, j: arguments[k][j], operator.neg, compute)
