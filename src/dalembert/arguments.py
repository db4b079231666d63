"""What users pass, looked at once: numbers, arrays, switches. Each refusal is a sentence that names the value, and says
what is wrong with it and what would be right."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError

Array = NDArray[np.float64]
Shape = tuple[int | EllipsisType | None, ...]
T = TypeVar("T")

_WORDS: dict[Shape, str] = {(): "a finite number", (3,): "three finite numbers", (3, 3): "a 3×3 matrix"}
_KINDS = {"O": "Python objects", "U": "text", "S": "bytes", "c": "complex numbers", "M": "dates"}
_SEEN = (np.ndarray, list, tuple)  # whose objects callers look at, and name


def plain_array(value: object, name: str = "an argument") -> NDArray[Any]:
    """The value as a plain NumPy array: to tables, series and tensors NumPy would hand a call over, or dress its result
    like them. Refused: masked numbers, units, and what its own library will not convert."""
    masked = sys.modules.get("numpy.ma")  # where nothing has imported it, nothing is masked
    if masked is not None and isinstance(value, masked.MaskedArray) and masked.is_masked(value):
        raise InputError(
            "missing",
            name,
            problem=f"{name} is a masked array, which has no numbers where it is masked: fill the gaps, or leave those "
            "rows out",
        )
    if _has_missing(value):
        raise InputError(
            "missing",
            name,
            problem=f"{name} has missing values (NA), which are not numbers: fill the gaps, or leave those rows out",
        )
    if hasattr(type(value), "to_value") or hasattr(type(value), "magnitude"):  # quantities of astropy, unyt, pint
        raise InputError(
            "wrong-type",
            name,
            value,
            problem=f"{name} carries a unit ({type(value).__name__}); give plain numbers, in SI units and radians",
        )
    try:
        array = np.asarray(value)
        nullable = array.dtype == object and array.ndim and type(value) not in _SEEN
        return array.astype(float) if nullable else array
    except Exception as error:  # of any kind: every library has its own
        why = "" if type(value) in _SEEN else f": {type(value).__name__} says {error}"
        raise InputError(
            "wrong-type", name, value, problem=f"{name} is not a rectangular array of numbers{why}"
        ) from None


def _has_missing(value: object) -> bool:
    """Whether a table or a series of pandas, polars or pyarrow has missing values; NaN of floats is a number."""
    kind, pandas = type(value).__module__.partition(".")[0], sys.modules.get("pandas")
    if kind == "polars" and hasattr(value, "null_count"):
        missing = value.null_count()
        return bool(np.asarray(missing).any())
    if kind == "pyarrow":
        return any(getattr(column, "null_count", 0) for column in getattr(value, "columns", [value]))
    if kind != "pandas" or pandas is None or not hasattr(value, "isna"):
        return False
    dtypes: Any = getattr(value, "dtypes", None)
    of_columns = dtypes if hasattr(dtypes, "__iter__") else [getattr(value, "dtype", None)]
    nullable = any(getattr(dtype, "na_value", None) is pandas.NA for dtype in of_columns)
    return nullable and bool(np.asarray(value.isna()).any())


OF_JOINTS = ("q", "q0", "q1", "qd", "qd0", "qdd", "tau", "theta", "theta_d")  # arguments with one number per joint


def labels_of(value: object) -> list[str] | None:
    """The names of a table's columns, or of a series' entries; None where they are only numbered."""
    kind = type(value).__module__.partition(".")[0]
    if kind not in ("pandas", "polars", "pyarrow"):
        return None
    labels = getattr(value, "column_names" if kind == "pyarrow" else "columns", None)
    if labels is None and kind == "pandas":
        labels = getattr(value, "index", None)
    listed = [] if labels is None else list(labels)
    if not listed or not all(isinstance(x, str) for x in listed):
        return None
    return None if listed == [f"column_{k}" for k in range(len(listed))] else listed  # polars numbers them so


def in_joint_order(name: str, value: object, joints: Sequence[str]) -> object:
    """The value; of a table whose columns are named as the joints, an array in the order of the joints.

    Raises InputError if the columns have other names."""
    labels = labels_of(value)
    if labels is None:
        return value
    if sorted(labels) != sorted(joints):
        shown = [", ".join(names[:6]) + ", …" * (len(names) > 6) for names in (labels, joints)]
        raise InputError(
            "wrong-value",
            name,
            labels,
            problem=f"the columns of {name} are {shown[0]}, and the joints {shown[1]}: name the columns as the "
            f"joints, or give {name}.to_numpy(), one number per joint in this order",
        )
    return plain_array(value, name)[..., [labels.index(joint) for joint in joints]]


def is_lazy(arguments: Sequence[object]) -> bool:
    """Whether one of them is a Dask collection. (An array of xarray has a graph, which is None if it holds numbers.)"""
    return any(hasattr(a, "__dask_graph__") and a.__dask_graph__() is not None for a in arguments)


# -------------------------------------------------------------------------------------------------- numbers, arrays
def array(
    name: str,
    value: object,
    *shapes: Shape,
    meaning: str = "",
    unit: str = "",
    finite: bool = True,
    nan: bool = False,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Array:
    """The value as a new array of finite doubles, if it has one of these shapes (any, if none is given).

    In a shape a number is exact, None is any size, and `...` in front stands for any batch dimensions: (..., 3) are
    vectors, (None, 6) is a list of twists, () a number. `meaning` says in messages what the last dimension holds, "one
    per joint". Every entry is greater than `above`, at least `least`, and at most `most`, in `unit`. With finite=False
    entries may be infinite, with nan=True no numbers at all."""
    if name in OF_JOINTS and labels_of(value) is not None:
        raise InputError(
            "wrong-value",
            name,
            problem=f"{name} has named columns, which are not put in joint order here: give {name}.to_numpy()",
        )
    given = plain_array(value, name)
    try:
        if given.dtype.kind not in "fiubO":  # text, complex numbers, dates
            raise TypeError
        x: Array = given.astype(np.float64)
    except (TypeError, ValueError):
        wanted = _wanted(shapes, unit) + (meaning and f" ({meaning})")
        raise InputError("wrong-type", name, value, problem=f"{name} must be {wanted}, got {value!r:.60}") from None
    if shapes and not any(_fits(x.shape, shape) for shape in shapes):
        if meaning or any(... in shape for shape in shapes):
            raise InputError(
                "wrong-shape",
                name,
                value,
                problem=f"{name} has shape {x.shape}; {_shaped(shapes)}{meaning and f': {meaning}'}",
            )
        raise InputError(
            "wrong-shape",
            name,
            value,
            problem=f"{name} must be {_wanted(shapes, unit)}, got {f'shape {x.shape}' if x.ndim else repr(value)}",
        )
    if not nan:
        real, words = (np.isfinite(x), "be a finite number") if finite else (~np.isnan(x), "be a number")
        _need("not-finite", name, x, real, words, unit)
    if above is not None:
        _need("out-of-range", name, x, x > above, f"be greater than {above:g}", unit)
    if least is not None:
        _need("out-of-range", name, x, x >= least, f"not be less than {least:g}", unit)
    if most is not None:
        _need("out-of-range", name, x, x <= most, f"not be greater than {most:g}", unit)
    return x


def number(
    name: str,
    value: object,
    unit: str = "",
    *,
    finite: bool = True,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    nonzero: bool = False,
) -> float:
    """A finite number within these bounds, as `array` has them."""
    x = array(name, value, (), unit=unit, finite=finite, above=above, least=least, most=most)
    if nonzero:
        _need("out-of-range", name, x, x != 0, "not be zero", unit)
    return float(x)


def count(name: str, value: object, least: int = 0, most: int | None = None) -> int:
    """A whole number from `least` to `most`."""
    try:
        k = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        k = least - 1
    if k < least or (most is not None and k > most) or isinstance(value, (bool, np.bool_)):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(
            "out-of-range", name, value, problem=f"{name} must be a whole number, {bounds}; got {value!r:.60}"
        )
    return k


def settle_numbers(
    owner: object,
    who: str,
    *,
    above: Mapping[str, str] = {},
    least: Mapping[str, str] = {},
    most: Mapping[str, str] = {},
) -> None:
    """Check fields of a frozen dataclass and make them floats: those of `above` are greater than zero, those of `least`
    not less, and those of `most` are magnitudes, infinite where None, which means no limit; each with its unit. `who`
    they belong to is said in messages: "the time constant of a FluidDrive"."""
    for field, unit in {**above, **least, **most}.items():
        given = getattr(owner, field)
        value = np.inf if given is None and field in most else given
        name = f"the {field.replace('max_', 'largest ').replace('_', ' ')} of {who}"
        below = None if field in least else 0.0
        object.__setattr__(owner, field, number(name, value, unit, finite=field not in most, above=below, least=0.0))


def three(name: str, value: object) -> tuple[float, float, float]:
    x, y, z = array(name, value, (3,)).tolist()
    return (x, y, z)


def six_of_inertia(inertia: ArrayLike | None) -> tuple[float, float, float, float, float, float]:
    """(ixx, ixy, ixz, iyy, iyz, izz) of a 3×3 matrix, of six numbers, or of three principal moments; zeros of None."""
    x = array("inertia", np.zeros(6) if inertia is None else inertia, (3, 3), (6,), (3,))
    if x.shape == (3,):
        x = np.diag(x)
    if x.ndim == 2:
        if not np.allclose(x, x.T, rtol=1e-9, atol=0):
            raise InputError("wrong-value", "inertia", x, problem="an inertia matrix is symmetric; this one is not")
        x = x[np.triu_indices(3)]
    a, b, c, d, e, f = x.tolist()
    return (a, b, c, d, e, f)


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    if wanted[:1] == (...,):
        wanted = wanted[1:]
        shape = shape[len(shape) - len(wanted) :] if len(shape) >= len(wanted) else (-1,)
    return len(shape) == len(wanted) and all(w is None or w == k for k, w in zip(shape, wanted, strict=True))


def _shaped(shapes: Sequence[Shape]) -> str:
    """'its last dimension must be 3 or 6', 'it must end in (4, 4)', 'it must be a number or (2,)'."""
    cores = [["any" if k is None else str(k) for k in shape if k is not ...] for shape in shapes]
    batch = all(... in shape for shape in shapes)
    if batch and all(len(core) == 1 for core in cores):
        return f"its last dimension must be {' or '.join(core[0] for core in cores)}"
    shown = [f"({core[0]},)" if len(core) == 1 else f"({', '.join(core)})" if core else "a number" for core in cores]
    return f"it must {'end in' if batch else 'be'} {' or '.join(shown)}"


def _wanted(shapes: Sequence[Shape], unit: str) -> str:
    """'a finite number [s] or 2 finite numbers'."""
    found = []
    for shape in shapes:
        sizes = ["any" if k is None else str(k) for k in shape]
        flat = f"{sizes[0]} finite numbers" if len(sizes) == 1 else f"finite numbers of shape ({', '.join(sizes)})"
        found.append(_WORDS.get(shape, flat))
    if not found or any(... in shape for shape in shapes):
        found = ["a rectangular array of real numbers"]
    return " or ".join(found) + (unit and f" [{unit}]")


def _need(code: str, name: str, x: Array, right: NDArray[np.bool_], words: str, unit: str) -> None:
    """Refuse the first entry that is not `right`."""
    if not right.all():
        where = tuple(int(i) for i in np.argwhere(~right)[0])
        place = f"[{', '.join(map(str, where))}]" if where else ""
        first, then = (place, "") if name.isidentifier() else ("", place and f" at {place}")
        said = f"{name}{first} is {float(x[where])!r}{then}; it must {words}{unit and f' [{unit}]'}"
        raise InputError(code, name, float(x[where]), problem=said)


# ------------------------------------------------------------------------------------------ objects, words, switches
def of_kind(value: object, kind: Callable[..., T], sentence: str) -> T:
    """The object, if it is of this kind; else the sentence, which the name of its class ends: "a Run is drawn, not"."""
    if not isinstance(value, cast("type", kind)):  # as a type, mypy takes no abstract class
        raise InputError("wrong-type", value=value, problem=f"{sentence} {type(value).__name__}")
    return cast("T", value)


def need(value: object, kind: type[T], what: str, hint: str = "") -> T:
    """The object of this kind that a function or a class takes, or a sentence that says so."""
    return of_kind(value, kind, f"{what} takes a {kind.__name__}{hint and f' ({hint})'}, got")


def switch(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(
            "wrong-type", name, value, problem=f"{name} is a switch, True or False; got {type(value).__name__}"
        )
    return bool(value)


def read_wrenches(wrenches: Mapping[str, object] | None) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return the frames of `wrenches`, sorted, and the wrenches that act there, in the same order."""
    if wrenches is None:
        return (), ()
    strange = [k for k in wrenches if not isinstance(k, str)] if isinstance(wrenches, Mapping) else [wrenches]
    if strange:
        raise InputError(
            "wrong-type",
            "wrenches",
            strange[0],
            expected="a dictionary of frame names and wrenches (force, moment)",
            remedy='Write wrenches={"tool": [f_x, f_y, f_z, n_x, n_y, n_z]}, in world axes.',
        )
    frames = tuple(sorted(wrenches))
    return frames, tuple(wrenches[frame] for frame in frames)


# ------------------------------------------------------------------------------------------------- calls of kernels
LAST = {"base_velocity": "(v, ω)", "base_acceleration": "(a, ω̇)", "multipliers": "one per row of the constraints"}


POSITIONS = ("q", "q0", "q1")  # arguments that hold positions; others hold velocities, accelerations, torques


def check_call(
    owner: str,
    joints: Sequence[str],
    names: Sequence[str],
    arguments: Sequence[object],
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    out: object,
) -> None:
    """Refuse the arguments of a kernel, arrays of shapes (..., *inputs) and `out`, in a sentence; or return if nothing
    is wrong with them. `owner` has these joints."""
    batches = []
    for name, value, core in zip(names, arguments, inputs, strict=True):
        shape = _shape_of(name, value, core, owner, joints)
        batches.append((name, shape[: len(shape) - len(core)]))
    try:
        batch = np.broadcast_shapes(*(b for _, b in batches))
    except ValueError:
        listed = ", ".join(f"{name} {b}" for name, b in batches)
        raise InputError("wrong-shape", problem=f"the leading dimensions do not broadcast: {listed}") from None
    if out is not None:
        _check_out(out, [(*batch, *core) for core in outputs])


def _shape_of(name: str, value: object, core: tuple[int, ...], owner: str, joints: Sequence[str]) -> tuple[int, ...]:
    if name in LAST or name.startswith("wrench"):
        wanted = f"its last dimension must be {core[-1]}, {LAST.get(name, '(force, moment)')}"
    elif not core:
        wanted = "it must be a number, or one for each state"
    else:
        shown = ", ".join(joints[:3])
        shown += f", … {joints[-1]}" if len(joints) > 4 else "".join(f", {j}" for j in joints[3:])
        several = "positions" if name in POSITIONS else "velocities"
        each = "one per joint" if core[-1] == len(joints) else f"the {several} of the joints"
        what = f"{each} of {owner!r}: {shown}" if joints else f"{owner!r} has no joints"
        wanted = f"its last dimension must be {core[-1]} ({what})"
    if value is None:
        raise InputError("wrong-type", name, None, problem=f"{name} is None; {wanted}")
    try:
        given: Any = value if is_lazy((value,)) else plain_array(value, name)
    except InputError as error:
        raise InputError(error.code, name, value, problem=f"{error}; {wanted}") from None
    shape, dtype = tuple(given.shape), np.dtype(given.dtype)
    if not np.can_cast(dtype, np.float64, "safe"):
        hint = "; convert it with .astype(float)" if dtype.kind in "fiu" else ""
        hint = "; the imaginary part has no meaning here" if dtype.kind == "c" else hint
        raise InputError(
            "wrong-type",
            name,
            value,
            problem=f"{name} must be real numbers, got {_KINDS.get(dtype.kind, f'dtype {dtype}')}{hint}",
        )
    if not _fits(shape, (..., *core)):
        raise InputError("wrong-shape", name, value, problem=f"{name} has shape {shape}; {wanted}")
    return shape


def _check_out(out: object, shapes: Sequence[tuple[int, ...]]) -> None:
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(shapes):
        raise InputError("wrong-shape", "out", problem=f"out must hold {len(shapes)} arrays, got {len(outs)}")
    for given, shape in zip(outs, shapes, strict=True):
        if not isinstance(given, np.ndarray):
            raise InputError(
                "wrong-type", "out", given, problem=f"out must be a NumPy array, got {type(given).__name__}"
            )
        if given.shape != shape:
            raise InputError(
                "wrong-shape", "out", given, problem=f"out has shape {given.shape}; the result has shape {shape}"
            )
        if not given.flags.writeable:
            raise InputError("wrong-value", "out", problem="out is read-only")
        if given.dtype not in (np.float64, np.float32):
            raise InputError(
                "wrong-type", "out", problem=f"out must have dtype float64 (or float32), got {given.dtype}"
            )
