"""What a program means: each step evaluated in Python floats. Kernels agree with this bit for bit."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.compile.lower import Program
from dalembert.compile.operations import OPERATIONS


def interpret(program: Program, arguments: Sequence[Sequence[float]]) -> list[list[float]]:
    """The outputs, flat, for flat arguments of one state."""
    values: list[float] = []
    for step in program.steps:
        if step.operation == "constant":
            values.append(step.value)
        elif step.operation == "input":
            argument, position = step.value
            values.append(float(arguments[argument][position]))
        else:
            operands = [values[k] for k in step.operands]
            if step.flip:
                operands = [-x if f else x for x, f in zip(operands, step.flip, strict=True)]
            values.append(OPERATIONS[step.operation].value(*operands))
    return [[values[k] for k in group] for group in program.outputs]
