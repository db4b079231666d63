"""What a program means: each step evaluated in Python floats. Kernels agree with this bit for bit.

`replay` runs the same steps on any scalars, to trace a program once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalembert import scalar
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


def replay(program: Program, arguments: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The outputs, flat, as scalars of the arguments' kind; a fused step is a product and a sum again."""
    values: list[Any] = []
    for step in program.steps:
        if step.operation == "constant":
            values.append(step.value)
        elif step.operation == "input":
            argument, position = step.value
            values.append(arguments[argument][position])
        else:
            operands = [values[k] for k in step.operands]
            if step.flip:
                operands = [-x if f else x for x, f in zip(operands, step.flip, strict=True)]
            values.append(_GENERIC[step.operation](*operands))
    return [[values[k] for k in group] for group in program.outputs]


# The operations on scalars of any kind: operators, and the functions that `scalar` dispatches.
_GENERIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negate": lambda a: -a,
    "fma": lambda a, b, c: a * b + c,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    **{name: getattr(scalar, name) for name in ("sqrt", "absolute", "sin", "cos", "exp", "log", "where")},
}
