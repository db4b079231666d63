"""Kernels as functions of JAX arrays, for `jit`, `grad`, `vmap` and whatever runs JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalembert.errors import InputError
from dalembert.interchange.extras import library
from dalembert.interchange.kernels import kernel_of, title_of


def jax_function(system: Any, name: str | None = None, given: Sequence[str] = (), **options: Any) -> Callable[..., Any]:
    """A kernel as a function of JAX arrays, (..., n) each, leading dimensions broadcast.

    `system`, `name`, `given` and `options` are those of `robot.kernel(name, given, **options)`; or `system` is a
    kernel. It is one `lax.scan` over the traced steps (see `compile.jax_source`), so that `jit` and `grad` compile in a
    moment however long the program. JAX computes in single precision unless told otherwise, once and at the beginning:
    `jax.config.update("jax_enable_x64", True)`. Needs the extra `jax`."""
    library("jax")
    kernel = kernel_of(system, name, given, options)
    if not any(step.operation in ("input", "constant") for step in kernel.program.steps):
        raise InputError(f"{kernel.name} of a mechanism without joints computes nothing: JAX has no function of it")
    title = title_of(system, kernel)
    space: dict[str, Any] = {"__name__": f"dalembert.generated.{title}"}
    exec(compile(kernel.jax_source(title), f"<JAX source of {title}>", "exec"), space)
    function: Callable[..., Any] = space[title]
    return function
