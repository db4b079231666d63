"""The kernels of a robot: which algorithm, of which arguments, gives which array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dalembert.algorithms import (
    articulated,
    centroidal,
    composite,
    derivatives,
    energy,
    friction,
    jacobians,
    joints,
    kinematics,
    linear,
    massless,
    matrix_form,
    newton_euler,
    regressor,
    task_space,
)
from dalembert.arguments import POSITIONS, is_lazy, plain_array, switch
from dalembert.describe.chain import counted
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.model import Frame, Model
from dalembert.model.lean import lean
from dalembert.scalar import Scalar
from dalembert.spatial import Force, Pose, rotation
from dalembert.spatial.vector import matvec_t
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

Shapes = tuple[Shape, ...]
Scalars = Sequence[Scalar]
T = TypeVar("T")


def sizes(model: Model, options: Options) -> dict[str, Shape]:
    """The shape of every argument that a kernel may take."""
    vectors = dict.fromkeys(("q", "q0", "q1"), (model.nq,)) | dict.fromkeys(("qd", "qdd", "tau", "d"), (model.nv,))
    wrenches = dict.fromkeys(("base_velocity", "base_acceleration", *wrench_names(options)), (6,))
    return {
        **vectors,
        **wrenches,
        **dict.fromkeys(("damping", "t", "height"), ()),
        "selection": (len(options.get("rows", ())), 6),
    }


def _square(m: Model, o: Options) -> Shapes:
    return ((m.nv, m.nv),)


def _vector(m: Model, o: Options) -> Shapes:
    return ((m.nv,),)


def _position(m: Model, o: Options) -> Shapes:
    return ((m.nq,),)


def _twists(m: Model, o: Options) -> Shapes:
    return ((6, m.nv),)


def _fixed(*shapes: Shape) -> Callable[[Model, dict[str, Any]], Shapes]:
    return lambda m, o: shapes


def wrench_on_body(model: Model, q: Scalars, wrench: Scalars, frame: Frame) -> dict[int, Force]:
    """Return a wrench in world axes at the origin of a frame as a wrench on the frame's body, in the body's axes."""
    if frame.body < 0:
        return {}
    R = kinematics.frame_pose(model, q, Frame("", frame.body, Pose())).R
    turned = Force(matvec_t(R, tuple(wrench[:3])), matvec_t(R, tuple(wrench[3:])))
    return {frame.body: turned.to_parent(Pose(p=frame.pose.p))}


def wrench_names(options: Options) -> dict[str, str]:
    """Return the arguments that hold the wrenches of the option `wrenches`, one per frame, with their names in
    messages."""
    return {f"wrench{k}": f"wrenches[{frame!r}]" for k, frame in enumerate(options.get("wrenches", ()))}


def sum_wrenches(model: Model, q: Scalars, wrenches: Iterable[tuple[str, Scalars]]) -> dict[int, Force]:
    """Return the sum of the wrenches that act on each body, of pairs (frame, wrench in world axes)."""
    total: dict[int, Force] = {}
    for frame, wrench in wrenches:
        for body, F in wrench_on_body(model, q, wrench, model.frame(frame)).items():
            total[body] = total[body] + F if body in total else F
    return total


def all_wrenches(model: Model, a: Arguments, o: Options) -> dict[int, Force]:
    """Return the wrenches among the arguments of a kernel, added up body by body."""
    return sum_wrenches(
        model, a["q"], ((frame, a[name]) for name, frame in zip(wrench_names(o), o["wrenches"], strict=True))
    )


def _base(a: Arguments) -> newton_euler.Acceleration | None:
    if "base_velocity" not in a and "base_acceleration" not in a:
        return None
    zero = (0.0,) * 6
    V, A = a.get("base_velocity", zero), a.get("base_acceleration", zero)
    return newton_euler.Acceleration(tuple(V[3:]), tuple(A[3:]), tuple(A[:3]))


def _friction(model: Model, a: Arguments, o: Options) -> list[Any]:
    """Friction at the load of the motion: that of q̈, or without acceleration where there is none."""
    if not o["friction"]:
        return [0.0] * model.nv
    loads = None
    if model.friction_by_load and "qdd" in a:
        loads = newton_euler.joint_loads(model, a["q"], a["qd"], a["qdd"], all_wrenches(model, a, o), _base(a))
    return friction.friction_torque(model, a["q"], a["qd"], loads)


def _inverse_dynamics(model: Model, a: Arguments, o: Options) -> list[Any]:
    tau = newton_euler.inverse_dynamics(model, a["q"], a["qd"], a["qdd"], all_wrenches(model, a, o), _base(a))
    return [t + f for t, f in zip(tau, _friction(model, a, o), strict=True)]


def _forward_dynamics(model: Model, a: Arguments, o: Options) -> list[Any]:
    try:  # a pivot that is zero whatever the state is met while tracing, already where the methods are weighed
        return _accelerations(model, a, o)
    except ZeroDivisionError:
        raise singular_mass(model) from None


def _accelerations(model: Model, a: Arguments, o: Options) -> list[Any]:
    base, wrenches = _base(a), all_wrenches(model, a, o)
    loaded = o["friction"] and model.friction_by_load
    method = o["method"] or ("factorized" if base or loaded else faster_method(model))
    if method == "articulated" and (loaded or model.mimics or base):
        why = f"{model.name!r} " + ("has mimic joints" if model.mimics else "stands on a moving base")
        why = f"the friction of {model.name!r} depends on the load" if loaded else why
        raise InputError(f"{why}, which articulated bodies cannot express: use method='factorized'")
    if loaded:
        return friction.loaded_acceleration(model, a["q"], a["qd"], a["tau"], wrenches, base)
    tau = [t - f for t, f in zip(a["tau"], _friction(model, a, o), strict=True)]
    if base:
        return articulated.factorized(model, a["q"], a["qd"], tau, wrenches, base)
    return articulated.METHODS[method](model, a["q"], a["qd"], tau, wrenches)


def need_tree(model: Model) -> None:
    """Refuse what would let the joints of a closed chain move as if nothing closed it."""
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops[:3]) + (", …" if len(model.loops) > 3 else "")
        raise InputError(
            f"{model.name!r} has {counted(len(model.loops))} ({names}), and this would let its joints move freely, "
            "which they cannot: use dalembert.Constrained(robot), or robot.tree() for the tree without its loops"
        )


def need_vector(model: Model) -> None:
    """Refuse a model of which q̇ is not v, in the one sentence that `Model.n` has for it."""
    _ = model.n


# How far the square of a quaternion's length may be from one: more than rounding, less than anyone would mean.
UNIT = {"float32": 1e-6, "float64": 1e-9}
SQUARES = (1e-200, 1e200)  # of what `normalize` can divide by


def check_positions(model: Model) -> Callable[[str, Sequence[str], Sequence[object]], None] | None:
    """What looks at the positions that a kernel is given, by the names of its arguments, if they have quaternions."""
    if not model.quaternions:
        return None

    places = model.quaternions
    first, *others = places
    shape, unit = (model.nq,), UNIT["float64"]

    def check(kernel: str, names: Sequence[str], arguments: Sequence[object]) -> None:
        for name, value in zip(names, arguments, strict=False):
            if name not in POSITIONS:
                break  # positions come first
            if type(value) is np.ndarray:
                q = value
            elif is_lazy((value,)):  # its values are not there yet
                continue
            else:
                q = plain_array(value, name)
            if q.shape == shape and not others and q.dtype.kind == "f":  # a lone state: faster than arrays
                x, y, z, w = q[first : first + 4].tolist()
                if abs(x * x + y * y + z * z + w * w - 1.0) <= unit:
                    continue
            if q.shape[-1:] == shape and q.dtype == float and q.size and _all_unit(q, places, unit):
                continue  # a batch as it should be: found with few calls, which a short one would feel
            if q.shape[-1:] == shape and q.dtype.kind in "fiu":  # what is not is refused where it is called
                check_quaternions(model, name, q, kernel == "normalize")

    return check


def _all_unit(q: np.ndarray[Any, Any], places: Sequence[int], unit: float) -> bool:
    """Whether the quaternions at these places of doubles (..., nq) all have length one. Not if one is NaN."""
    for first in places:
        own = q[..., first : first + 4]
        size = np.einsum("...i,...i->...", own, own)  # which, unlike vecdot, says nothing of numbers beyond doubles
        if not np.abs(size - 1.0).max() <= unit:
            return False
    return True


def check_quaternions(model: Model, name: str, q: Any, any_length: bool = False) -> None:
    """Refuse positions (..., nq or more) whose quaternions are not of length one, or have none that could be made one
    (`any_length`). NaN passes, and stays what it is."""
    given = np.asarray(q)
    unit = UNIT.get(given.dtype.name, UNIT["float64"])
    for c in model.coordinates:
        if c.joint.quaternion is None:
            continue
        own = given[..., c.position + c.joint.quaternion :][..., :4].astype(float)
        size = np.einsum("...i,...i->...", own, own)
        wrong = (size < SQUARES[0]) | (size > SQUARES[1]) if any_length else np.abs(size - 1.0) > unit
        bad = np.argwhere(wrong)
        if len(bad):
            where = f" in state {tuple(int(i) for i in bad[0])}" if given.ndim > 1 else ""
            length = float(np.sqrt(size[tuple(bad[0])]))
            what = f"the quaternion of joint {c.name!r} in {name} has length {length:.10g}{where}, and "
            if not SQUARES[0] <= length**2 <= SQUARES[1]:
                raise InputError(what + "has no direction that it could keep; robot.neutral has one, (0, 0, 0, 1)")
            raise InputError(
                what + "that of a rotation has 1 (x, y, z, w: the scalar last); robot.normalize(q) mends it"
            )


def need_mass(model: Model, added: linear.Rows | None = None) -> None:
    """Refuse a mass matrix [+ `added`] that is singular in every state, though rounding hides its zeros."""
    if massless.unresisted(model, added):
        raise singular_mass(model)


def singular_mass(model: Model) -> SingularityError:
    """The error for a mass matrix that is singular whatever the state."""
    empty = [model.names("coordinate")[k] for k in massless.massless(model)]
    what = f"joint {empty[0]!r} moves no mass" if empty else "some joints move no mass of their own"
    return SingularityError(
        f"the accelerations of {model.name!r} are undefined in every state, because its mass matrix is singular: "
        f"{what}; give the links behind it an inertia, or the joint a rotor inertia"
    )


# Factorizing M takes fewer operations than articulated bodies for short chains (Panda, 7 in a row: 857 against 969),
# more for long ones (Talos, free-flying, 16: 7987 against 6534); at 9 both take the same time.
FACTORIZE_UP_TO = 8  # velocities in a row


def faster_method(model: Model) -> str:
    """Which way of forward dynamics takes less time; mimic joints leave one."""
    rows = (sum(len(model.columns[j]) for j in model.path(i)) for i in range(len(model.bodies)))
    return "factorized" if model.mimics or max(rows, default=0) <= FACTORIZE_UP_TO else "articulated"


def _analytic(model: Model, a: Arguments, o: Options) -> tuple[Any, Any]:
    frame = model.frame(o["frame"])
    det = _determinant(model, a["q"], frame, o["angles"])
    return jacobians.analytic_jacobian(model, a["q"], frame, o["angles"]), det


def _determinant(model: Model, q: Scalars, frame: Frame, angles: str) -> Scalar:
    det = rotation.euler_determinant(kinematics.frame_pose(model, q, frame).R, angles)
    if isinstance(det, float) and det < SINGULAR_ANGLES:  # a planar arm's zyz angles, say
        raise singular_angles(angles, frame.name, " in every state")
    return det


# Below this |det B(α)| the Euler angles are taken as singular: their rates would exceed ω a million times.
SINGULAR_ANGLES = 1e-6


def singular_angles(angles: str, frame: str, where: str) -> SingularityError:
    """The error for Euler angles that cannot follow every rotation."""
    middle = "0 or ±π" if angles[0] == angles[-1] else "±π/2"
    return SingularityError(
        f"the {angles!r} angles of frame {frame!r} are singular{where}: their middle angle is {middle}, where "
        "the other two turn about the same axis; choose another sequence"
    )


def _columns(model: Model, o: Options) -> Shapes:
    extra = (1 if o["rotor"] else 0) + len(regressor.friction_columns(o["friction"]))
    return ((model.nv, regressor.PER_BODY * len(model.bodies) + extra * model.nv),)


def _body_index(model: Model, link: str) -> int:
    frame = model.frame(link)
    if frame.body < 0:
        raise InputError(f"link {link!r} is fixed to the base: it has no center of mass that moves")
    return frame.body


def _matrix_form(model: Model, a: Arguments, o: Options) -> tuple[Any, ...]:
    form = matrix_form.matrix_form(model, a["q"])
    return form.A, form.L, form.W, form.G, form.V_dot_base


def _matrix_shapes(model: Model, o: Options) -> Shapes:
    N = 6 * len(model.bodies)
    return ((N, model.nv), (N, N), (N, N), (N, N), (N,))


def _three_squares(model: Model, o: Options) -> Shapes:
    return ((model.nv, model.nv),) * 3


def _task_jacobian(model: Model, a: Arguments, o: Options) -> tuple[Any, Any, Any]:
    """J and J̇ in the rows of a task, and |det B(α)| of its Euler angles (1 if it has none)."""
    frame, kind = model.frame(o["frame"]), o["jacobian"]
    det = 1.0 if kind == task_space.GEOMETRIC else _determinant(model, a["q"], frame, kind)
    J = task_space.task_jacobian(model, a["q"], frame, kind, o["expressed_in"])
    J_dot = task_space.task_jacobian_dot(model, a["q"], a["qd"], frame, kind, o["expressed_in"])
    if "selection" in a:
        return linear.product(a["selection"], J), linear.product(a["selection"], J_dot), det
    return [J[k] for k in o["rows"]], [J_dot[k] for k in o["rows"]], det


def _regular(model: Model, q: Scalars, o: Options, compute: Callable[[], T]) -> T:
    """What `compute` gives; a pivot that is zero whatever the state is met while tracing, and told."""
    try:
        linear.factor_ldl(composite.mass_matrix(model, q))
    except ZeroDivisionError:
        raise singular_mass(model) from None
    try:
        return compute()
    except ZeroDivisionError:
        why = "some of its rows never move, or only together"
        raise singular_task(len(o["rows"]), " in every state", why) from None


def singular_task(rows: int, where: str, why: str) -> SingularityError:
    """The error for a task whose rows cannot all be had."""
    away = "" if "every" in where else ", keep away from the state"
    return SingularityError(
        f"the task of {'1 row' if rows == 1 else f'{rows} rows'} is singular{where}: {why}; its mass (J M⁻¹ Jᵀ)⁻¹ does "
        f"not exist there. Choose fewer or other rows (robot.singularities names what is lost){away}, or give damping=…"
    )


def _task_space(model: Model, a: Arguments, o: Options) -> tuple[Any, ...]:
    J, J_dot, det = _task_jacobian(model, a, o)
    t = _regular(model, a["q"], o, lambda: task_space.task_space(model, a["q"], a["qd"], J, J_dot, a.get("damping")))
    return t.M, t.C, t.c, t.g, t.J, t.J_dot, t.J_bar, t.N, t.mobility, t.velocity, det


def _task_shapes(model: Model, o: Options) -> Shapes:
    m, n = len(o["rows"]), model.nv
    return (m, m), (m, m), (m,), (m,), (m, n), (m, n), (n, m), (n, n), (m, m), (m,), ()


def _task_regressor(model: Model, a: Arguments, o: Options) -> tuple[Any, ...]:
    J, _, det = _task_jacobian(model, a, o)
    M = composite.mass_matrix(model, a["q"])
    J_bar = _regular(model, a["q"], o, lambda: task_space.consistent_inverse(M, J, a.get("damping"))).J_bar
    Y = regressor.regressor(model, a["q"], a["qd"], a["qdd"], o["friction"], o["rotor"])
    return linear.product(linear.transposed(J_bar), Y), J, J_bar, det


def _task_columns(model: Model, o: Options) -> Shapes:
    m, n = len(o["rows"]), model.nv
    return (m, _columns(model, o)[0][1]), (m, n), (n, m), ()


def _lean(model: Model, names: tuple[str, ...], o: Options) -> Model:
    """Where only joint torques and accelerations come out, the lean model will do, but on a moving base."""
    for frame in (o.get("frame"), *o.get("wrenches", ())):
        if frame is not None:
            model.frame(frame)  # raises an error for an unknown frame
    return model if any(a.startswith("base_") for a in names) else lean(model)


def _free(model: Model, names: tuple[str, ...], o: Options) -> Model:
    """Joints that move freely, and a mass matrix that is not singular in every state."""
    need_tree(model)
    need_mass(model)
    return model


def _movable(model: Model, names: tuple[str, ...], o: Options) -> Model:
    return _lean(_free(model, names, o), names, o)


def _massive(model: Model, names: tuple[str, ...], o: Options) -> Model:
    """A center of mass."""
    if o.get("about", "com") == "com" and not sum(body.inertia.m for body in model.bodies) > 0:
        problem = f"{model.name!r} has no mass that moves, and thus no center of mass"
        raise InputError("unsupported", "robot", model.name, problem=problem, remedy="Give a moving link a mass.")
    return model


def _weighty(model: Model, names: tuple[str, ...], o: Options) -> Model:
    """A center of mass that falls."""
    if not any(model.gravity):
        raise InputError(f"{model.name!r} is without gravity: nothing falls, and there is no capture point")
    return _massive(model, names, o)


_EXPRESSED = {"frame": None, "expressed_in": "world"}
# `rows` are those of the twist, by place; with the argument `selection` (m, 6) only their number counts.
_TASK = {**_EXPRESSED, "jacobian": task_space.GEOMETRIC, "rows": (0, 1, 2, 3, 4, 5)}
_TASK_ARGUMENTS = ("selection", "damping")


def _runs(
    arguments: str, trace: Callable[..., object], shapes: Callable[[Model, Options], Shapes], **more: Any
) -> Row[Model]:
    """A row whose algorithm takes the model and the kernel's arguments one by one, "q qd", and no options."""
    return Row(tuple(arguments.split()), lambda m, a, o: trace(m, *a.values()), shapes, **more)


def _pose(m: Model, a: Arguments, o: Options) -> object:
    return kinematics.forward_kinematics(m, a["q"], m.frame(o["frame"])).matrix()


def _jacobian(m: Model, a: Arguments, o: Options) -> object:
    return jacobians.jacobian(m, a["q"], m.frame(o["frame"]), o["expressed_in"])


_BASE = ("base_velocity", "base_acceleration")
_COLUMNS = {"friction": (), "rotor": False}

ROWS: dict[str, Row[Model]] = {
    "fk": Row(("q",), _pose, _fixed((4, 4)), {"frame": None}),
    "transform": Row(
        ("q",),
        lambda m, a, o: kinematics.transform(m, a["q"], m.frame(o["to"]), m.frame(o["of"])).matrix(),
        _fixed((4, 4)),
        {"to": None, "of": None},
    ),
    "jacobian": Row(("q",), _jacobian, _twists, _EXPRESSED),
    "jacobian_dot": Row(
        ("q", "qd"),
        lambda m, a, o: jacobians.jacobian_dot(m, a["q"], a["qd"], m.frame(o["frame"]), o["expressed_in"]),
        _twists,
        _EXPRESSED,
    ),
    "analytic_jacobian": Row(("q",), _analytic, lambda m, o: ((6, m.nv), ()), {"frame": None, "angles": "zyz"}),
    "fk_jacobian": Row(
        ("q",), lambda m, a, o: (_pose(m, a, o), _jacobian(m, a, o)), lambda m, o: ((4, 4), (6, m.nv)), _EXPRESSED
    ),
    "com_jacobian": Row(
        ("q",), lambda m, a, o: jacobians.com_jacobian(m, a["q"], _body_index(m, o["link"])), _twists, {"link": None}
    ),
    "center_of_mass_jacobian": _runs(
        "q", lambda m, q: jacobians.center_of_mass_jacobian(m, q), lambda m, o: ((3, m.nv),), prepare=_massive
    ),
    "inverse_dynamics": Row(
        ("q", "qd", "qdd"), _inverse_dynamics, _vector, {"friction": False, "wrenches": ()}, _BASE, _lean
    ),
    "forward_dynamics": Row(
        ("q", "qd", "tau"),
        _forward_dynamics,
        _vector,
        {"friction": False, "method": None, "wrenches": ()},
        _BASE,
        _movable,
    ),
    "mass_matrix": _runs("q", lambda m, q: composite.mass_matrix(m, q), _square, prepare=_lean),
    "mass_matrix_dot": _runs("q qd", lambda m, q, qd: composite.mass_matrix_dot(m, q, qd), _square, prepare=_lean),
    "coriolis_matrix": Row(
        ("q", "qd"),
        lambda m, a, o: composite.CHOICES[o["choice"]](m, a["q"], a["qd"]),
        _square,
        {"choice": "christoffel"},
        prepare=_lean,
    ),
    "christoffel": _runs("q", lambda m, q: composite.christoffel(m, q), lambda m, o: ((m.n,) * 3,), prepare=_lean),
    "gravity_torque": _runs("q", lambda m, q: newton_euler.gravity_torque(m, q), _vector, prepare=_lean),
    "coriolis_torque": _runs("q qd", lambda m, q, qd: newton_euler.coriolis_torque(m, q, qd), _vector, prepare=_lean),
    "bias_torque": _runs("q qd", lambda m, q, qd: newton_euler.bias_torque(m, q, qd), _vector, prepare=_lean),
    "friction_torque": Row(
        ("q", "qd"), lambda m, a, o: _friction(m, a, {"friction": True, "wrenches": ()}), _vector, optional=("qdd",)
    ),
    "kinetic_energy": _runs("q qd", lambda m, q, qd: energy.kinetic_energy(m, q, qd), _fixed(())),
    "potential_energy": _runs("q", lambda m, q: energy.potential_energy(m, q), _fixed(())),
    "center_of_mass": _runs("q", lambda m, q: energy.center_of_mass(m, q), _fixed((3,)), prepare=_massive),
    "momentum": Row(
        ("q", "qd"),
        lambda m, a, o: energy.momentum(m, a["q"], a["qd"], o["about"]).flat(),
        _fixed((6,)),
        {"about": "origin"},
        prepare=_massive,
    ),
    "regressor": Row(
        ("q", "qd", "qdd"),
        lambda m, a, o: regressor.regressor(m, a["q"], a["qd"], a["qdd"], o["friction"], o["rotor"]),
        _columns,
        _COLUMNS,
    ),
    "centroidal_momentum_matrix": _runs("q", lambda m, q: centroidal.momentum_matrix(m, q), _twists, prepare=_massive),
    "centroidal_momentum_matrix_dot": _runs(
        "q qd", lambda m, q, qd: centroidal.momentum_matrix_dot(m, q, qd), _twists, prepare=_massive
    ),
    "centroidal_inertia": _runs("q", lambda m, q: centroidal.inertia(m, q), _fixed((6, 6)), prepare=_massive),
    "capture_point": _runs(
        "q qd height", lambda m, *a: centroidal.capture_point(m, *a), _fixed((3,)), prepare=_weighty
    ),
    "integrate": _runs("q d", lambda m, q, d: joints.integrate(m, q, d), _position),
    "difference": _runs("q0 q1", lambda m, a, b: joints.difference(m, a, b), _vector),
    "interpolate": _runs("q0 q1 t", lambda m, a, b, t: joints.interpolate(m, a, b, t), _position),
    "normalize": _runs("q", lambda m, q: joints.normalize(m, q), _position),
    "drift": _runs("qd", lambda m, v: joints.drift(m, v), _square),
    "position_rates": _runs("q qd", lambda m, q, v: joints.position_rates(m, q, v), _position),
    "task_space": Row(("q", "qd"), _task_space, _task_shapes, _TASK, _TASK_ARGUMENTS, _movable),
    "task_regressor": Row(
        ("q", "qd", "qdd"), _task_regressor, _task_columns, {**_TASK, **_COLUMNS}, _TASK_ARGUMENTS, _free
    ),
    "matrix_form": Row(("q",), _matrix_form, _matrix_shapes),
    "inverse_dynamics_derivatives": Row(
        ("q", "qd", "qdd"),
        lambda m, a, o: derivatives.inverse_dynamics_derivatives(m, a["q"], a["qd"], a["qdd"], o["friction"]),
        _three_squares,
        {"friction": False},
        prepare=_lean,
    ),
    "forward_dynamics_derivatives": Row(
        ("q", "qd", "tau"),
        lambda m, a, o: derivatives.forward_dynamics_derivatives(m, a["q"], a["qd"], a["tau"], o["friction"]),
        _three_squares,
        {"friction": False},
        prepare=_movable,
    ),
}

# Options whose values are words, and the words.
WORDS: dict[str, tuple[str, ...]] = {
    "expressed_in": jacobians.EXPRESSIONS,
    "choice": tuple(composite.CHOICES),
    "angles": ("rpy", *rotation.EULER_SEQUENCES),
    "about": ("origin", "com"),
    "jacobian": (task_space.GEOMETRIC, "rpy", *rotation.EULER_SEQUENCES),
    "method": tuple(articulated.METHODS),
}


def read_frames(value: object) -> tuple[str, ...]:
    """Return the names of the frames at which wrenches act, checked."""
    listed = tuple(value) if isinstance(value, (Sequence, Mapping)) and not isinstance(value, str) else (None,)
    if not all(isinstance(frame, str) for frame in listed) or len(set(listed)) < len(listed):
        raise InputError(
            "wrong-type",
            "wrenches",
            value,
            expected="a sequence of the names of different frames",
            remedy='Write wrenches=["tool"], for example.',
        )
    return listed


def _read_rows(value: object) -> tuple[int, ...]:
    try:
        rows = tuple(operator.index(k) for k in value)  # type: ignore[attr-defined]
    except TypeError:
        rows = ()
    if not rows or not all(0 <= k < 6 for k in rows):
        raise InputError(f"the rows of a kernel are places in (vx, vy, vz, wx, wy, wz), 0 to 5; got {value!r}")
    return rows


# Options that are several things, and how they are read.
LISTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "wrenches": read_frames,
    "rows": _read_rows,
    "friction": regressor.friction_columns,  # of a regressor; elsewhere a switch
}


def _read(row: Row[Model], option: str, value: object) -> object:
    """An option's value, checked: several things, a switch, a word, or a name."""
    usual = row.options[option]
    if isinstance(usual, tuple):
        return LISTS[option](value)
    if isinstance(usual, bool):
        return switch(option, value)
    if not isinstance(value, (str, bool, type(None))):  # a list or an array is a slip of the order
        raise InputError(f"{option} must be a name, got {type(value).__name__}")
    if option in WORDS and value not in WORDS[option] and not (value is usual is None):
        raise unknown(option, value, WORDS[option])
    return value


TABLE: KernelTable[Model] = KernelTable(ROWS, sizes, lambda model, name: singular_mass(model), _read, wrench_names)
