"""Rollouts as functions of JAX and of PyTorch, with the compiled adjoint as their derivative.

Both call the machine code of `simulation.gradient`: numbers go in as they are, float32 or float64, are computed with in
float64 and come back as they went in. `grad`, `jit` (`torch.compile`) and `vmap` work; a batch runs in SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.lazy import library
from dalembert.simulation.gradient import RolloutFunction

if TYPE_CHECKING:
    from jax import Array as JaxArray
    from torch import Tensor


def _check(function: object) -> RolloutFunction:
    if not isinstance(function, RolloutFunction):
        raise InputError(
            "wrong-type", "function", function, expected="a RolloutFunction of dalembert.simulation.rollout_function"
        )
    return function


def _cores(function: RolloutFunction) -> tuple[tuple[int, ...], ...]:
    """The shapes of x0, controls and parameters of one rollout."""
    return (len(function.start),), (function.plan.steps, len(function.controls)), (len(function.parameters),)


def _given(function: RolloutFunction, controls: Any, parameters: Any, like: Callable[[Any], Any]) -> list[Any]:
    """Controls and parameters, those that are not given as they are without: none, and the function's own."""
    if controls is None and function.controls:
        problem = f"controls must be passed, of shape (…, {function.plan.steps}, {len(function.controls)})"
        raise InputError("missing", "controls", problem=problem)
    controls = like(np.zeros((function.plan.steps, 0))) if controls is None else controls
    return [controls, like(function.values) if parameters is None else parameters]


def _check_shapes(function: RolloutFunction, given: list[Any]) -> None:
    for name, a, core in zip(("x0", "controls", "parameters"), given, _cores(function), strict=True):
        if tuple(a.shape[a.ndim - len(core) :]) != core:
            raise InputError("wrong-shape", name, a, expected=f"shape (..., {', '.join(map(str, core))})")


# ------------------------------------------------------------------------------------------------------------- JAX
def jax_rollout(function: RolloutFunction) -> Callable[..., JaxArray]:
    """A rollout as a function of JAX arrays, f(x0, controls, parameters) → states, shapes as those of
    `RolloutFunction`; its derivative is the compiled adjoint. Forward-mode derivatives (`jvp`) it has none, and second
    ones neither. Needs the extra `jax`."""
    jax = library("jax")
    jnp = library("jax.numpy")
    f = _check(function)
    kept = (f.plan.kept, len(f.states))

    def on_host(method: Callable[..., Any], dtype: Any, *arrays: Any) -> Any:
        made = method(*(np.asarray(a, np.float64) for a in arrays), nan=True)
        return tuple(a.astype(dtype) for a in made) if isinstance(made, tuple) else made.astype(dtype)

    def call(method: Callable[..., Any], shapes: Any, *arrays: Any) -> Any:
        return jax.pure_callback(
            partial(on_host, method, arrays[0].dtype), shapes, *arrays, vmap_method="broadcast_all"
        )

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def rollout(x0: JaxArray, u: JaxArray, p: JaxArray) -> JaxArray:
        return call(f, jax.ShapeDtypeStruct((*x0.shape[:-1], *kept), x0.dtype), x0, u, p)

    def forward(x0: JaxArray, u: JaxArray, p: JaxArray) -> tuple[JaxArray, tuple[JaxArray, ...]]:
        return rollout(x0, u, p), (x0, u, p)

    def backward(given: tuple[JaxArray, ...], weights: JaxArray) -> tuple[JaxArray, ...]:
        shapes = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in given)
        return call(f.pull_back, shapes, weights, *given)

    rollout.defvjp(forward, backward)

    def of_arrays(x0: JaxArray, controls: JaxArray | None = None, parameters: JaxArray | None = None) -> JaxArray:
        given = [jnp.asarray(a) for a in (x0, *_given(f, controls, parameters, jnp.asarray))]
        _check_shapes(f, given)
        dtype = jnp.result_type(float if parameters is None else given[2], given[0], given[1])
        batch = jnp.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(given, _cores(f), strict=True)))
        return rollout(
            *(jnp.broadcast_to(a.astype(dtype), (*batch, *c)) for a, c in zip(given, _cores(f), strict=True))
        )

    return of_arrays


# --------------------------------------------------------------------------------------------------------- PyTorch
_KNOWN: list[RolloutFunction] = []  # by the number under which PyTorch's operators know them


def torch_rollout(function: RolloutFunction) -> Callable[..., Tensor]:
    """A rollout as a function of PyTorch tensors, f(x0, controls, parameters) → states, shapes as those of
    `RolloutFunction`; its derivative is the compiled adjoint. `torch.func.grad`, `vmap` and `torch.compile` take it as
    one operator. Second derivatives it has none. Needs the extra `torch`."""
    torch = library("torch")
    f = _check(function)
    differentiable = _operators()
    if f not in _KNOWN:
        _KNOWN.append(f)
    number = _KNOWN.index(f)

    def of_tensors(x0: Tensor, controls: Tensor | None = None, parameters: Tensor | None = None) -> Tensor:
        def like(a: Any) -> Tensor:
            return torch.as_tensor(a, dtype=x0.dtype, device=x0.device)

        given = [x0, *_given(f, controls, parameters, like)]
        _check_shapes(f, given)
        dtype = torch.promote_types(torch.promote_types(x0.dtype, given[1].dtype), given[2].dtype)
        cores = _cores(f)
        batch = torch.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(given, cores, strict=True)))
        spread = (a.to(dtype).expand(*batch, *c) for a, c in zip(given, cores, strict=True))
        return differentiable(*spread, number)

    return of_tensors


@cache
def _operators() -> Any:
    """dalembert::rollout and its derivative, made known to PyTorch once; the first of them, differentiable."""
    torch = library("torch")
    operator = torch.library.custom_op

    def arrays(*tensors: Tensor) -> list[Any]:
        return [a.detach().to("cpu", torch.float64).numpy() for a in tensors]

    def back(like: Tensor, made: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(made)).to(like)

    def rollout(x0: Tensor, u: Tensor, p: Tensor, number: int) -> Tensor:
        return back(x0, _KNOWN[number](*arrays(x0, u, p), nan=True))

    def pull_back(weights: Tensor, x0: Tensor, u: Tensor, p: Tensor, number: int) -> tuple[Tensor, ...]:
        made = _KNOWN[number].pull_back(*arrays(weights, x0, u, p), nan=True)
        return tuple(back(x0, a) for a in made)

    def empty(x0: Tensor, u: Tensor, p: Tensor, number: int) -> Tensor:
        f = _KNOWN[number]
        return x0.new_empty((*x0.shape[:-1], f.plan.kept, len(f.states)))

    def empty_back(weights: Tensor, x0: Tensor, u: Tensor, p: Tensor, number: int) -> tuple[Tensor, ...]:
        return tuple(a.new_empty(a.shape) for a in (x0, u, p))

    def over_batch(operator: Any, info: Any, places: tuple[int | None, ...], *given: Any) -> tuple[Any, Any]:
        """A batch of vmap's as one more leading dimension."""
        *tensors, number = given
        moved = [
            a.unsqueeze(0).expand(info.batch_size, *a.shape) if place is None else a.movedim(place, 0)
            for a, place in zip(tensors, places, strict=False)
        ]
        made = operator(*moved, number)
        return made, (0,) * len(made) if isinstance(made, (tuple, list)) else 0

    one = operator(
        "dalembert::rollout", rollout, mutates_args=(), schema="(Tensor x0, Tensor u, Tensor p, int number) -> Tensor"
    )
    two = operator(
        "dalembert::rollout_back",
        pull_back,
        mutates_args=(),
        schema="(Tensor weights, Tensor x0, Tensor u, Tensor p, int number) -> (Tensor, Tensor, Tensor)",
    )
    one.register_fake(empty)
    two.register_fake(empty_back)
    forward, backward = torch.ops.dalembert.rollout.default, torch.ops.dalembert.rollout_back.default
    one.register_vmap(partial(over_batch, forward))
    two.register_vmap(partial(over_batch, backward))

    class Back(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(weights: Tensor, x0: Tensor, u: Tensor, p: Tensor, number: int) -> tuple[Tensor, ...]:
            return backward(weights, x0, u, p, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *weights: Tensor) -> tuple[Tensor | None, ...]:
            problem = "rollouts have no second derivatives"
            raise InputError("unsupported", "rollouts", problem=problem, remedy="Differentiate them once.")

    class Rollout(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x0: Tensor, u: Tensor, p: Tensor, number: int) -> Tensor:
            return forward(x0, u, p, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            ctx.save_for_backward(*inputs[:3])
            ctx.number = inputs[3]

        @staticmethod
        def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
            return (*Back.apply(weights, *ctx.saved_tensors, ctx.number), None)

    def derivative(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        return (*backward(weights, *ctx.saved_tensors, ctx.number), None)

    # torch.compile takes an operator with a derivative, torch.func a Function: neither the other.
    one.register_autograd(derivative, setup_context=Rollout.setup_context)

    def rolled(x0: Tensor, u: Tensor, p: Tensor, number: int) -> Tensor:
        return (forward if torch.compiler.is_compiling() else Rollout.apply)(x0, u, p, number)

    return rolled
