"""Runs as functions of JAX and of PyTorch, with the compiled adjoint as their derivative.

Both call the machine code of `RunFunction`: numbers go in as they are, float32 or float64, are computed with in float64
and come back as they went in. `grad`, `jit` (`torch.compile`) and `vmap` work; a batch runs in SIMD lanes. Inside, all
arguments of a run are one flat array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.flow import Array
from dalembert.lazy import library
from dalembert.simulation.gradient import RunFunction

if TYPE_CHECKING:
    from jax import Array as JaxArray
    from torch import Tensor


def _check(function: object) -> RunFunction:
    if not isinstance(function, RunFunction):
        raise InputError("wrong-type", "function", function, expected="a RunFunction, made by Experiment.function")
    return function


def _check_shapes(function: RunFunction, arrays: Sequence[Any]) -> None:
    if len(arrays) != len(function.of):
        raise InputError(
            "wrong-shape",
            None,
            len(arrays),
            problem=f"the function takes {len(function.of)} arrays, {', '.join(function.of)}, got {len(arrays)}",
        )
    for name, a, core in zip(function.of, arrays, function.cores, strict=True):
        if tuple(a.shape[a.ndim - len(core) :]) != core:
            raise InputError("wrong-shape", name, a, expected=f"a shape that ends in {core}")


def _split(function: RunFunction, flat: Array) -> list[Array]:
    """The arguments of a run from one flat array."""
    ends = np.cumsum([prod(core) for core in function.cores])[:-1]
    parts = np.split(flat, ends, -1)
    return [p.reshape((*flat.shape[:-1], *core)) for p, core in zip(parts, function.cores, strict=True)]


def _states(function: RunFunction, flat: Array) -> Array:
    return function(*_split(function, flat), nan=True)


def _slopes(function: RunFunction, weights: Array, flat: Array) -> Array:
    found = function.pull_back(weights, *_split(function, flat), nan=True)
    return np.concatenate([a.reshape((*flat.shape[:-1], -1)) for a in found], -1)


# ------------------------------------------------------------------------------------------------------------- JAX
def jax_run(function: RunFunction) -> Callable[..., JaxArray]:
    """Return a run as a function of JAX arrays, f(*arrays) → states, with the shapes of `RunFunction`.

    Its derivative is the compiled adjoint. It has no forward-mode derivatives (`jvp`) and no second ones. Needs the
    extra `jax`.

    Parameters
    ----------
    function : RunFunction
        Made by `Experiment.function`.

    Returns
    -------
    callable
        Works under `jax.grad`, `jax.jit` and `jax.vmap`.
    """
    jax, jnp = library("jax"), library("jax.numpy")
    f = _check(function)

    def on_host(method: Callable[..., Array], dtype: Any, *arrays: Any) -> Any:
        return method(f, *(np.asarray(a, np.float64) for a in arrays)).astype(dtype)

    def call(method: Callable[..., Array], shape: tuple[int, ...], *arrays: Any) -> Any:
        wanted = jax.ShapeDtypeStruct(shape, arrays[-1].dtype)
        host = partial(on_host, method, arrays[-1].dtype)
        return jax.pure_callback(host, wanted, *arrays, vmap_method="broadcast_all")

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def run(flat: JaxArray) -> JaxArray:
        return call(_states, (*flat.shape[:-1], *f.rows), flat)

    run.defvjp(lambda flat: (run(flat), flat), lambda flat, weights: (call(_slopes, flat.shape, weights, flat),))

    def of_arrays(*arrays: JaxArray) -> JaxArray:
        given = [jnp.asarray(a) for a in arrays]
        _check_shapes(f, given)
        batch = jnp.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(given, f.cores, strict=True)))
        flat = [jnp.broadcast_to(a, (*batch, *c)).reshape(*batch, prod(c)) for a, c in zip(given, f.cores, strict=True)]
        return run(jnp.concatenate([a.astype(jnp.result_type(*given)) for a in flat], -1))

    return of_arrays


# --------------------------------------------------------------------------------------------------------- PyTorch
_KNOWN: list[RunFunction] = []  # by the number under which PyTorch's operators know them


def torch_run(function: RunFunction) -> Callable[..., Tensor]:
    """Return a run as a function of PyTorch tensors, f(*tensors) → states, with the shapes of `RunFunction`.

    Its derivative is the compiled adjoint. It has no second derivatives. Needs the extra `torch`.

    Parameters
    ----------
    function : RunFunction
        Made by `Experiment.function`.

    Returns
    -------
    callable
        One operator for `backward`, `torch.func.grad`, `vmap` and `torch.compile`.
    """
    torch = library("torch")
    f = _check(function)
    differentiable = _operators()
    if f not in _KNOWN:
        _KNOWN.append(f)
    number = _KNOWN.index(f)

    def of_tensors(*tensors: Tensor) -> Tensor:
        first = tensors[0]
        given = [torch.as_tensor(a, dtype=None if hasattr(a, "dtype") else first.dtype) for a in tensors]
        _check_shapes(f, given)
        dtype = given[0].dtype
        for a in given[1:]:
            dtype = torch.promote_types(dtype, a.dtype)
        batch = torch.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(given, f.cores, strict=True)))
        flat = [a.to(dtype).expand(*batch, *c).reshape(*batch, prod(c)) for a, c in zip(given, f.cores, strict=True)]
        return differentiable(torch.cat(flat, -1), number)

    return of_tensors


@cache
def _operators() -> Any:
    """dalembert::run and its derivative, made known to PyTorch once; the first of them, differentiable."""
    torch = library("torch")
    operator = torch.library.custom_op

    def numbers(a: Tensor) -> Array:
        return a.detach().to("cpu", torch.float64).numpy()

    def back(like: Tensor, made: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(made)).to(like)

    def run(x: Tensor, number: int) -> Tensor:
        return back(x, _states(_KNOWN[number], numbers(x)))

    def pull_back(weights: Tensor, x: Tensor, number: int) -> Tensor:
        return back(x, _slopes(_KNOWN[number], numbers(weights), numbers(x)))

    def empty(x: Tensor, number: int) -> Tensor:
        return x.new_empty((*x.shape[:-1], *_KNOWN[number].rows))

    def over_batch(operator: Any, info: Any, places: tuple[int | None, ...], *given: Any) -> tuple[Any, int]:
        """A batch of vmap's as one more leading dimension."""
        *tensors, number = given
        moved = [
            a.unsqueeze(0).expand(info.batch_size, *a.shape) if place is None else a.movedim(place, 0)
            for a, place in zip(tensors, places, strict=False)
        ]
        return operator(*moved, number), 0

    one = operator("dalembert::run", run, mutates_args=(), schema="(Tensor x, int number) -> Tensor")
    two = operator(
        "dalembert::run_back", pull_back, mutates_args=(), schema="(Tensor weights, Tensor x, int number) -> Tensor"
    )
    one.register_fake(empty)
    two.register_fake(lambda weights, x, number: x.new_empty(x.shape))
    forward, backward = torch.ops.dalembert.run.default, torch.ops.dalembert.run_back.default
    one.register_vmap(partial(over_batch, forward))
    two.register_vmap(partial(over_batch, backward))

    class Back(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(weights: Tensor, x: Tensor, number: int) -> Tensor:
            return backward(weights, x, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
            raise InputError("runs have no second derivatives: differentiate them once")

    class Run(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Tensor, number: int) -> Tensor:
            return forward(x, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.number = inputs[1]

        @staticmethod
        def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
            return Back.apply(weights, *ctx.saved_tensors, ctx.number), None

    def derivative(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        return backward(weights, *ctx.saved_tensors, ctx.number), None

    # torch.compile takes an operator with a derivative, torch.func a Function: neither the other.
    one.register_autograd(derivative, setup_context=Run.setup_context)

    def compute(x: Tensor, number: int) -> Tensor:
        return (forward if torch.compiler.is_compiling() else Run.apply)(x, number)

    return compute
