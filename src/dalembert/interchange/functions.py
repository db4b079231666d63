"""Kernels as functions of CasADi and of JAX, and linear systems for python-control."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.compile import Kernel
from dalembert.compile.interpret import replay
from dalembert.control.linear import linearize
from dalembert.control.transfer import TransferFunction
from dalembert.errors import InputError, choose
from dalembert.lazy import library
from dalembert.names import identifier

if TYPE_CHECKING:
    from casadi import SX, Function
    from control.lti import LTI

KINDS = ("SX", "MX")
# What is computed, under the name that the equation of motion gives it.
_NAMES = {"inverse_dynamics": "tau", "forward_dynamics": "qdd", "fk": "T", "jacobian": "J", "mass_matrix": "M"}


def kernel_of(system: object, name: str | None, given: Sequence[str], options: Mapping[str, object]) -> Kernel:
    """`system.kernel(name, given, **options)` of a System; if no name is given, ẋ(x, u) of one that has a `rate`; or a
    Kernel itself."""
    found = system if isinstance(system, Kernel) else getattr(system, "kernel", None)
    if found is None:
        raise InputError(
            "wrong-type",
            "system",
            system,
            expected="a Robot, LagrangianSystem, Constrained, DrivenRobot, FlexibleRobot or Kernel",
        )
    if isinstance(found, Kernel):
        if name is not None or given or options:
            problem = f"the kernel {found.name!r} is chosen already"
            raise InputError("no-effect", "name", problem=problem, remedy="Pass no name, arguments or options with it.")
        return found
    if name is None and hasattr(system, "rate"):
        name = "rate"
    if not isinstance(name, str):
        raise InputError(
            "missing",
            "name",
            name,
            expected="the name of a function: 'inverse_dynamics', 'fk', … as in robot.kernel(…)",
        )
    kernel: Kernel = found(name, given, **options)
    return kernel


def title_of(system: object, kernel: Kernel) -> str:
    """A name for the function that other languages take: panda_inverse_dynamics."""
    owner = getattr(system, "name", None)
    name = identifier(kernel.name if owner is None or owner == kernel.name else f"{owner}_{kernel.name}")
    return re.sub("__+", "_", name)  # CasADi takes no two underscores in a row


def casadi() -> ModuleType:
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
    system: object,
    name: str | None = None,
    given: Sequence[str] = (),
    *,
    kind: str = "SX",
    title: str | None = None,
    **options: object,
) -> Function:
    """A kernel as `casadi.Function`, with the kernel's arguments by name: f(q, qd, qdd), f(q=…, qd=…)["tau"].

    `system`, `name`, `given` and `options` are those of `robot.kernel(name, given, **options)`; or `system` is a
    kernel. Vectors are columns; an array of three dimensions (i, j, k) is a matrix with row i and column j·K + k, for
    CasADi has no more than two. `kind`: "SX" expands into scalars, "MX" calls that as one node. Needs the extra
    `casadi`."""
    ca = casadi()
    choose("kind", kind, KINDS)
    kernel = kernel_of(system, name, given, options)
    named = zip(kernel.arguments, kernel.inputs, strict=True)
    inputs = [ca.SX.sym(argument, *_flat(shape)) for argument, shape in named]
    # CasADi stores columns first, and our arrays rows first.
    scalars = [ca.vertsplit(ca.vec(x.T)) if prod(s) else [] for x, s in zip(inputs, kernel.inputs, strict=True)]
    outputs = [
        _reshape(ca, values, shape)
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


def _reshape(ca: ModuleType, values: list[SX], shape: tuple[int, ...]) -> SX:
    rows, columns = _flat(shape)
    if not values:
        return ca.SX(rows, columns)
    return ca.reshape(ca.vertcat(*values), columns, rows).T


def _output_names(name: str, count: int, taken: Sequence[str]) -> list[str]:
    own = _NAMES.get(name)
    if count == 1 and own is not None and own not in taken:
        return [own]
    return [f"out{k}" for k in range(count)]


def jax_function(
    system: object, name: str | None = None, given: Sequence[str] = (), **options: object
) -> Callable[..., Any]:
    """A kernel as a function of JAX arrays, (..., n) each, leading dimensions broadcast.

    `system`, `name`, `given` and `options` are those of `robot.kernel(name, given, **options)`; or `system` is a
    kernel. It is one `lax.scan` over the traced steps (see `compile.jax_source`), so that `jit` and `grad` compile in a
    moment however long the program. JAX computes in single precision unless told otherwise, once and at the beginning:
    `jax.config.update("jax_enable_x64", True)`. Needs the extra `jax`."""
    library("jax")
    kernel = kernel_of(system, name, given, options)
    if not any(step.operation in ("input", "constant") for step in kernel.program.steps):
        problem = f"{kernel.name} of a mechanism without joints computes nothing, so that JAX has no function of it"
        raise InputError("unsupported", "system", problem=problem)
    title = title_of(system, kernel)
    space: dict[str, Any] = {"__name__": f"dalembert.generated.{title}"}
    exec(compile(kernel.jax_source(title), f"<JAX source of {title}>", "exec"), space)
    function: Callable[..., Any] = space[title]
    return function


def to_control(
    system: object,
    x: ArrayLike | None = None,
    u: ArrayLike | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    dt: float | None = None,
    friction: bool = False,
) -> LTI:
    """A system as a python-control object: a TransferFunction as `control.TransferFunction`, anything else linearized
    about (x, u), as by `dalembert.control.linearize`, as `control.StateSpace` with states, inputs and outputs by name.

    `dt` [s]: sampled with the input held between. Needs the extra `control`."""
    if isinstance(system, TransferFunction):
        if any(value is not None for value in (x, u, outputs, dt)):
            problem = "a transfer function is linear already"
            raise InputError("no-effect", "x", problem=problem, remedy="Pass no state, input, outputs or dt with it.")
        return system.to_control()
    found = linearize(system, x, u, outputs, friction)
    return (found if dt is None else found.discretize(dt)).to_control()
