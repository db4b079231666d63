"""The operations of the graph, one row each: how many operands, what it means, how LLVM writes it.

`value` defines the operation; kernels agree with it bit for bit. In `llvm`, {0} {1} {2} are operands,
{V} the vector type and {v} its suffix in names of intrinsics. sin and cos are written in `trigonometry`,
because they are polynomials of our own, the same in every backend.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.compile import trigonometry
from dalembert.compile.exact import fma


def _divide(a: float, b: float) -> float:
    if b == 0:
        undefined = a == 0 or math.isnan(a)
        return math.nan if undefined else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _multiply(a: float, b: float) -> float:
    return a * b


@dataclass(frozen=True)
class Operation:
    """A row. `parity` marks functions of one scalar that `scalar` dispatches: odd, even or none."""

    value: Callable[..., Any]
    llvm: str | None = None
    truth: bool = False  # gives a truth value, not a number
    parity: str | None = None


OPERATIONS: dict[str, Operation] = {
    "add": Operation(lambda a, b: a + b, "fadd {V} {0}, {1}"),
    "subtract": Operation(lambda a, b: a - b, "fsub {V} {0}, {1}"),
    "multiply": Operation(_multiply, "fmul {V} {0}, {1}"),
    "divide": Operation(_divide, "fdiv {V} {0}, {1}"),
    "negate": Operation(lambda a: -a, "fneg {V} {0}"),
    "fma": Operation(fma, "call {V} @llvm.fma.{v}({V} {0}, {V} {1}, {V} {2})"),
    "sqrt": Operation(
        lambda a: math.sqrt(a) if a >= 0 else math.nan,
        "call {V} @llvm.sqrt.{v}({V} {0})",
        parity="none",
    ),
    "absolute": Operation(abs, "call {V} @llvm.fabs.{v}({V} {0})", parity="even"),
    "sin": Operation(trigonometry.sin, parity="odd"),
    "cos": Operation(trigonometry.cos, parity="even"),
    "less": Operation(lambda a, b: a < b, "fcmp olt {V} {0}, {1}", truth=True),
    "less_equal": Operation(lambda a, b: a <= b, "fcmp ole {V} {0}, {1}", truth=True),
    "where": Operation(lambda c, a, b: a if c else b, "select {B} {0}, {V} {1}, {V} {2}"),
}
