"""Why a kernel refused its input, in a sentence: which argument, what it is, what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compile import Kernel
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.robot import Robot

_LAST = {
    "f_tip": "(f, n)",
    "base_velocity": "(v, ω)",
    "base_acceleration": "(a, ω̇)",
}


def explain(
    robot: Robot, kernel: Kernel, names: Sequence[str], arguments: Sequence[Any], out: Any
) -> None:
    """Raise an InputError if something is wrong with the arguments; return if nothing is."""
    batches = []
    for name, value, core in zip(names, arguments, kernel.inputs, strict=True):
        shape = _shape(robot, name, value, core)
        batches.append((name, shape[: len(shape) - len(core)]))
    try:
        batch = np.broadcast_shapes(*(b for _, b in batches))
    except ValueError:
        listed = ", ".join(f"{name} {b}" for name, b in batches)
        raise InputError(f"the leading dimensions do not broadcast: {listed}") from None
    if out is not None:
        _check_out(out, kernel, batch)


def _shape(robot: Robot, name: str, value: Any, core: tuple[int, ...]) -> tuple[int, ...]:
    if value is None:
        raise InputError(f"{name} is None; {_wanted(robot, name, core)}")
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # arrays of other libraries too, uncopied
        shape, dtype = tuple(value.shape), np.dtype(value.dtype)
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            raise InputError(
                f"{name} is not a rectangular array of numbers; {_wanted(robot, name, core)}"
            ) from None
        shape, dtype = array.shape, array.dtype
    if not np.can_cast(dtype, np.float64, "safe"):
        hint = "; convert it with .astype(float)" if dtype.kind in "fiu" else ""
        hint = "; the imaginary part has no meaning here" if dtype.kind == "c" else hint
        raise InputError(f"{name} must be real numbers, got {_kind(dtype)}{hint}")
    if shape[len(shape) - len(core) :] != core or len(shape) < len(core):
        raise InputError(f"{name} has shape {shape}; {_wanted(robot, name, core)}")
    return shape


def _kind(dtype: np.dtype[Any]) -> str:
    words = {"O": "Python objects", "U": "text", "S": "bytes", "c": "complex numbers", "M": "dates"}
    return words.get(dtype.kind, f"dtype {dtype}")


def _wanted(robot: Robot, name: str, core: tuple[int, ...]) -> str:
    if name in _LAST:
        return f"its last dimension must be 6, {_LAST[name]}"
    joints = robot.joint_names
    shown = ", ".join(joints[:3]) + (f", … {joints[-1]}" if len(joints) > 4 else "".join(f", {j}" for j in joints[3:]))
    count = core[-1]
    what = f"one per joint of {robot.name!r}: {shown}" if joints else f"{robot.name!r} has no joints"
    return f"its last dimension must be {count} ({what})"


def _check_out(out: Any, kernel: Kernel, batch: tuple[int, ...]) -> None:
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(kernel.outputs):
        raise InputError(f"out must hold {len(kernel.outputs)} arrays, got {len(outs)}")
    for array, core in zip(outs, kernel.outputs, strict=True):
        if not isinstance(array, np.ndarray):
            raise InputError(f"out must be a NumPy array, got {type(array).__name__}")
        if array.shape != (*batch, *core):
            raise InputError(f"out has shape {array.shape}; the result has shape {(*batch, *core)}")
        if not array.flags.writeable:
            raise InputError("out is read-only")
        if array.dtype not in (np.float64, np.float32):
            raise InputError(f"out must have dtype float64 (or float32), got {array.dtype}")
