"""Which kernel is meant: one that is given, or the one of a system by its name and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.compile import Kernel
from dalembert.errors import InputError
from dalembert.names import identifier


def kernel_of(system: Any, name: str | None, given: Sequence[str], options: dict[str, Any]) -> Kernel:
    """`system.kernel(name, given, **options)` of a System; if no name is given, ẋ(x, u) of one that has a `rate`; or a
    Kernel itself."""
    found = system if isinstance(system, Kernel) else getattr(system, "kernel", None)
    if found is None:
        raise InputError(
            "a function is made of a Robot, LagrangianSystem, Constrained, DrivenRobot, FlexibleRobot or a Kernel; "
            f"got {type(system).__name__}"
        )
    if isinstance(found, Kernel):
        if name is not None or given or options:
            raise InputError(f"the kernel {found.name!r} is meant already: give no name, no arguments and no options")
        return found
    if name is None and hasattr(system, "rate"):
        name = "rate"
    if not isinstance(name, str):
        raise InputError("say which function: 'inverse_dynamics', 'fk', … as in robot.kernel(…)")
    kernel: Kernel = found(name, given, **options)
    return kernel


def title_of(system: Any, kernel: Kernel) -> str:
    """A name for the function that other languages take: panda_inverse_dynamics."""
    owner = getattr(system, "name", None)
    return identifier(kernel.name if owner is None or owner == kernel.name else f"{owner}_{kernel.name}")
