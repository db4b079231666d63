"""What users pass, looked at: numbers and switches checked, and why a kernel refused its input, in a sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.describe.loops import counted
from dalembert.errors import InputError, UnitWarning
from dalembert.scalar.plain import is_lazy, plain_array
from dalembert.spatial.angles import TURN, look_like_degrees, sentence

if TYPE_CHECKING:
    from dalembert.compile import Kernel
    from dalembert.robot import Robot

_LAST = {
    "f_tip": "(f, n)",
    "base_velocity": "(v, ω)",
    "base_acceleration": "(a, ω̇)",
    "multipliers": "one per row of the constraints",
}


def explain(robot: Robot, kernel: Kernel, names: Sequence[str], arguments: Sequence[Any], out: Any) -> None:
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
    try:
        array = value if is_lazy((value,)) else plain_array(value, name)
    except InputError as error:
        raise InputError(f"{error}; {_wanted(robot, name, core)}") from None
    shape, dtype = tuple(array.shape), np.dtype(array.dtype)
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
    if name in _LAST or name.startswith("wrench"):
        return f"its last dimension must be {core[-1]}, {_LAST.get(name, _LAST['f_tip'])}"
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


def angles_of(robot: Robot, values: Sequence[float]) -> list[float]:
    """Of joint positions, those of joints that turn and look like degrees: far beyond their limits, or altogether."""
    rows = [(x, c) for x, c in zip(values, robot.model.coordinates, strict=False) if c.joint.turns]
    beyond = [x for x, c in rows if abs(x) > TURN and not c.lower - TURN <= x <= c.upper + TURN]
    return beyond or ([x for x, _ in rows] if look_like_degrees(x for x, _ in rows) else [])


def warn_of_angles(robot: Robot, name: str, values: Sequence[float], stacklevel: int = 4) -> None:
    """A UnitWarning, if joint positions look like degrees."""
    odd = angles_of(robot, values)
    if odd:
        warnings.warn(sentence(name, odd, f"give np.radians({name})"), UnitWarning, stacklevel)


def warn_of_motion(robot: Robot | None, law: Any, motion: Any, duration: float) -> None:
    """The same of a motion that a law of the joints follows, where it begins and where it ends: motions themselves do
    not know what their numbers are."""
    followed = [name.rpartition("_")[0] for name in law.follows] if law else []
    if robot is not None and robot.n and followed[: robot.n] == list(robot.joint_names):
        x = max((np.asarray(motion(t)[0], float) for t in (0.0, duration)), key=lambda x: np.abs(x).max())
        warn_of_angles(robot, "reference", x.tolist(), 5)


def need_tree(robot: Robot) -> None:
    """Refuse what would let the joints of a closed chain move as if nothing closed it."""
    if robot.loops:
        names = ", ".join(repr(name) for name in robot.loops[:3]) + (", …" if len(robot.loops) > 3 else "")
        raise InputError(
            f"{robot.name!r} has {counted(len(robot.loops))} ({names}), and this would let its joints move freely, "
            "which they cannot: use dalembert.Constrained(robot), or robot.tree() for the tree without its loops"
        )


def given_of(*values: ArrayLike | None) -> tuple[tuple[str, ...], tuple[ArrayLike, ...]]:
    """Of the optional arguments of the dynamics, the names of those that were given, and their values."""
    names = ("f_tip", "base_velocity", "base_acceleration")
    pairs = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
    return tuple(name for name, _ in pairs), tuple(value for _, value in pairs)


def wrenches_of(wrenches: Any, expressed_in: str) -> tuple[tuple[tuple[str, str], ...], tuple[Any, ...]]:
    """((frame, expressed_in), …) of wrenches at frames, by name, and the wrenches themselves in that order."""
    strange = [k for k in wrenches if not isinstance(k, str)] if isinstance(wrenches, Mapping) else [wrenches]
    if strange:
        where = " as a frame" if isinstance(wrenches, Mapping) else ""
        raise InputError(
            "wrenches must be a dictionary of frames and what is applied there, {'link': (f, n)} or "
            f"{{'link': ((f, n), 'local')}}; got {type(strange[0]).__name__}{where}"
        )
    places, values = [], []
    for frame in sorted(wrenches):
        value, terms = wrenches[frame], expressed_in
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            value, terms = value
        places.append((frame, terms))
        values.append(value)
    return tuple(places), tuple(values)


def number(
    owner: str,
    name: str,
    value: Any,
    unit: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    nonzero: bool = False,
) -> float:
    """A finite number, not below `least` and greater than `above`; or a sentence that names whose it is."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise InputError(f"the {name} of {owner} must be a number [{unit}], got {value!r}") from None
    if not math.isfinite(x):
        raise InputError(f"the {name} of {owner} is {x!r}; it must be a finite number [{unit}]")
    if x <= above:
        raise InputError(f"the {name} of {owner} is {x!r}; it must be greater than {above:g} [{unit}]")
    if x < least:
        raise InputError(f"the {name} of {owner} is {x!r}; it must not be less than {least:g} [{unit}]")
    if nonzero and x == 0:
        raise InputError(f"the {name} of {owner} is {x!r}; it must not be zero [{unit}]")
    return x


def switch(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is a switch, True or False; got {type(value).__name__}")
    return bool(value)


def names_or_switches(options: Mapping[str, Any]) -> None:
    """Options are names and switches; a list or an array among them is a slip of the order."""
    for option, value in options.items():
        if not isinstance(value, (str, bool, type(None))):
            raise InputError(f"{option} must be a name, got {type(value).__name__}")


def numbers(name: str, value: Any, *shapes: tuple[int, ...]) -> list[float]:
    """The value as a flat list of finite floats, if it has one of these shapes."""
    words = {(): "a finite number", (3,): "three finite numbers", (3, 3): "a 3×3 matrix", (6,): "six numbers"}
    given: NDArray[Any] = plain_array(value, name)
    with suppress(TypeError, ValueError):
        x = given.astype(float, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
        if x.shape in shapes and np.isfinite(x).all():
            return x.reshape(-1).tolist()
    wanted = " or ".join(words[s] if s in words else f"{s[0]} finite numbers" for s in shapes)
    raise InputError(f"{name} must be {wanted}, got {value!r}")


def three(name: str, value: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = numbers(name, value, (3,))
    return (x, y, z)


def six_of_inertia(inertia: ArrayLike | None) -> tuple[float, float, float, float, float, float]:
    """(ixx, ixy, ixz, iyy, iyz, izz) of a 3×3 matrix or of six numbers."""
    x = [0.0] * 6 if inertia is None else numbers("inertia", inertia, (3, 3), (6,))
    if len(x) == 9:
        I = np.reshape(x, (3, 3))
        if not np.allclose(I, I.T, rtol=1e-9, atol=0):
            raise InputError("an inertia matrix is symmetric; this one is not")
        x = I[np.triu_indices(3)].tolist()
    a, b, c, d, e, f = x
    return (a, b, c, d, e, f)
