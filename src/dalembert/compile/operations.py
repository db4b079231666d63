"""The operations of the graph, one row each: what it means, its derivative, how LLVM, C and Python write it.

`value` defines the operation; kernels agree with it bit for bit (those of OF_KIND take the kind of number too).
`partials(y, *operands)` are the derivatives of the result y with respect to each operand, as scalars of the same kind
(None: the operand is a truth value). In `llvm`, `c` and `python`, {0} {1} {2} are operands, {V} the vector type and {v}
its suffix in names of intrinsics, {f} that of C's functions of floats. sin, cos, exp and log are written out in
`functions`, because they are polynomials of our own, the same in every backend.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.compile.functions import exponential, fma, logarithm, sin_cos


def _divide(a: float, b: float) -> float:
    if b == 0:
        undefined = a == 0 or math.isnan(a)
        return math.nan if undefined else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


@dataclass(frozen=True)
class Operation:
    """A row. `python` is how NumPy writes it, if not as C does; `scalars` what it is on scalars of any kind, if not its
    value; `parity` marks functions of one scalar that `scalar` dispatches: odd, even or none."""

    value: Callable[..., Any]
    partials: Callable[..., tuple[Any, ...]] | None = None
    llvm: str = ""
    c: str = ""
    python: str = ""
    scalars: Callable[..., Any] | None = None
    truth: bool = False  # gives a truth value, not a number
    parity: str | None = None

    @property
    def on_scalars(self) -> Callable[..., Any]:
        return self.scalars or self.value

    @property
    def numpy(self) -> str:
        return self.python or self.c


OPERATIONS: dict[str, Operation] = {
    "add": Operation(lambda a, b: a + b, lambda y, a, b: (1.0, 1.0), "fadd {V} {0}, {1}", "{0} + {1}"),
    "subtract": Operation(lambda a, b: a - b, lambda y, a, b: (1.0, -1.0), "fsub {V} {0}, {1}", "{0} - {1}"),
    "multiply": Operation(lambda a, b: a * b, lambda y, a, b: (b, a), "fmul {V} {0}, {1}", "{0} * {1}"),
    "divide": Operation(
        _divide, lambda y, a, b: (1.0 / b, -(y / b)), "fdiv {V} {0}, {1}", "{0} / {1}", scalars=lambda a, b: a / b
    ),
    "negate": Operation(lambda a: -a, lambda y, a: (-1.0,), "fneg {V} {0}", "-{0}"),
    "fma": Operation(
        fma,
        lambda y, a, b, c: (b, a, 1.0),
        "call {V} @llvm.fma.{v}({V} {0}, {V} {1}, {V} {2})",
        "fma{f}({0}, {1}, {2})",
        "{0} * {1} + {2}",
        lambda a, b, c: a * b + c,
    ),
    "sqrt": Operation(
        lambda a: math.sqrt(a) if a >= 0 else math.nan,
        lambda y, a: (0.5 / y,),
        "call {V} @llvm.sqrt.{v}({V} {0})",
        "sqrt{f}({0})",
        "np.sqrt({0})",
        scalar.sqrt,
        parity="none",
    ),
    "absolute": Operation(
        abs,
        lambda y, a: (scalar.sign(a),),
        "call {V} @llvm.fabs.{v}({V} {0})",
        "fabs{f}({0})",
        "np.abs({0})",
        scalar.absolute,
        parity="even",
    ),
    "sin": Operation(
        lambda a, *kind: sin_cos(a, *kind)[0],
        lambda y, a: (scalar.cos(a),),
        python="np.sin({0})",
        scalars=scalar.sin,
        parity="odd",
    ),
    "cos": Operation(
        lambda a, *kind: sin_cos(a, *kind)[1],
        lambda y, a: (-scalar.sin(a),),
        python="np.cos({0})",
        scalars=scalar.cos,
        parity="even",
    ),
    "exp": Operation(exponential, lambda y, a: (y,), python="np.exp({0})", scalars=scalar.exp, parity="none"),
    "log": Operation(logarithm, lambda y, a: (1.0 / a,), python="np.log({0})", scalars=scalar.log, parity="none"),
    "less": Operation(lambda a, b: a < b, None, "fcmp olt {V} {0}, {1}", "{0} < {1}", truth=True),
    "less_equal": Operation(lambda a, b: a <= b, None, "fcmp ole {V} {0}, {1}", "{0} <= {1}", truth=True),
    "where": Operation(
        lambda c, a, b: a if c else b,
        lambda y, c, a, b: (None, scalar.where(c, 1.0, 0.0), scalar.where(c, 0.0, 1.0)),
        "select {B} {0}, {V} {1}, {V} {2}",
        "{0} ? {1} : {2}",
        "np.where({0}, {1}, {2})",
        scalar.where,
    ),
}
OF_KIND = ("fma", "sin", "cos", "exp", "log")  # what they give depends on whether steps are fused
