"""Kernels as CasADi functions: the traced steps over CasADi's own scalars, for its optimizers and code generator."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from dalembert import scalar
from dalembert.compile import Kernel
from dalembert.compile.interpret import replay
from dalembert.errors import unknown
from dalembert.interchange.extras import library
from dalembert.interchange.kernels import kernel_of, title_of

KINDS = ("SX", "MX")


@cache
def casadi() -> Any:
    """The library CasADi, its SX, MX and DM taught to `dalembert.scalar`: from here on, every algorithm takes them."""
    ca = library("casadi")
    for kind in (ca.SX, ca.MX, ca.DM):
        for ours, theirs in (
            ("sin", ca.sin),
            ("cos", ca.cos),
            ("sqrt", ca.sqrt),
            ("absolute", ca.fabs),
            ("exp", ca.exp),
            ("log", ca.log),
            ("tanh", ca.tanh),
            ("arctan2", ca.atan2),
            ("where", ca.if_else),
        ):
            getattr(scalar, ours).register(kind)(theirs)
    return ca


def casadi_function(
    system: Any,
    name: str | None = None,
    given: Sequence[str] = (),
    *,
    kind: str = "SX",
    title: str | None = None,
    **options: Any,
) -> Any:
    """A kernel as `casadi.Function`, with the kernel's arguments by name: f(q, qd, qdd), f(q=…, qd=…)["tau"].

    `system`, `name`, `given` and `options` are those of `robot.kernel(name, given, **options)`; or `system` is a
    kernel. Vectors are columns; an array of three dimensions (i, j, k) is a matrix with row i and column j·K + k, for
    CasADi has no more than two. `kind`: "SX" expands into scalars, "MX" calls that as one node. Needs the extra
    `casadi`."""
    ca = casadi()
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    kernel = kernel_of(system, name, given, options)
    named = zip(kernel.arguments, kernel.inputs, strict=True)
    inputs = [ca.SX.sym(argument, *_flat(shape)) for argument, shape in named]
    # CasADi stores columns first, and our arrays rows first.
    scalars = [ca.vertsplit(ca.vec(x.T)) if prod(s) else [] for x, s in zip(inputs, kernel.inputs, strict=True)]
    outputs = [
        _shaped(ca, values, shape)
        for values, shape in zip(replay(kernel.program, scalars), kernel.outputs, strict=True)
    ]
    called = _output_names(kernel.name, len(outputs), kernel.arguments)
    function = ca.Function(title or title_of(system, kernel), inputs, outputs, list(kernel.arguments), called)
    return function if kind == "SX" else function.wrap()


def casadi_file(kernel: Kernel, title: str) -> str:
    """The text of a file that `casadi.Function.load` reads; nothing of Dalembert is needed there."""
    function = casadi_function(kernel, title=title)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "function.casadi"
        function.save(str(file))
        return file.read_text(encoding="ascii")


def _flat(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0] if shape else 1, prod(shape[1:]))


def _shaped(ca: Any, values: list[Any], shape: tuple[int, ...]) -> Any:
    rows, columns = _flat(shape)
    if not values:
        return ca.SX(rows, columns)
    return ca.reshape(ca.vertcat(*values), columns, rows).T


# What is computed, under the name that the equation of motion gives it.
_NAMES = {"inverse_dynamics": "tau", "forward_dynamics": "qdd", "fk": "T", "jacobian": "J", "mass_matrix": "M"}


def _output_names(name: str, count: int, taken: Sequence[str]) -> list[str]:
    own = _NAMES.get(name)
    if count == 1 and own is not None and own not in taken:
        return [own]
    return [f"out{k}" for k in range(count)]
