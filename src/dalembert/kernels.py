"""The table of kernels: which algorithm, of which arguments, gives which array.

A row binds an algorithm to array shapes and options. `Robot` compiles a row for its model on first use.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.algorithms import (
    articulated,
    composite,
    derivatives,
    energy,
    friction,
    jacobians,
    kinematics,
    linear,
    matrix_form,
    newton_euler,
    regressor,
    resistance,
    task_space,
)
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.model import Frame, Model
from dalembert.model.lean import lean
from dalembert.spatial import Force, Pose, rotation
from dalembert.spatial.vector import matvec_t

if TYPE_CHECKING:
    from dalembert.compile import Kernel


def compile_function(*arguments: Any, **options: Any) -> Kernel:
    """That of `compile`, imported when the first kernel is made: a robot that is only looked at needs no compiler."""
    from dalembert import compile

    return compile.compile_function(*arguments, **options)


# The shape of every argument a kernel may take, for n coordinates, and what a message calls its last dimension.
ARGUMENTS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "q": lambda n: (n,),
    "qd": lambda n: (n,),
    "qdd": lambda n: (n,),
    "tau": lambda n: (n,),
    "f_tip": lambda n: (6,),
    "base_velocity": lambda n: (6,),
    "base_acceleration": lambda n: (6,),
    "damping": lambda n: (),
}
# The same for arguments whose shape depends on a kernel's options.
SIZED: dict[str, Callable[[dict[str, Any]], tuple[int, ...]]] = {"selection": lambda o: (len(o["rows"]), 6)}


@dataclass(frozen=True)
class Row:
    """How one kernel is made.

    `trace(model, arguments, options)` runs the algorithm; `shapes(model, options)` announces its outputs.
    `options` are the accepted ones with their defaults; `optional` arguments are taken when given.
    """

    arguments: tuple[str, ...]
    trace: Callable[[Model, dict[str, Any], dict[str, Any]], Any]
    shapes: Callable[[Model, dict[str, Any]], tuple[tuple[int, ...], ...]]
    options: dict[str, Any]
    optional: tuple[str, ...] = ()
    joint_space: bool = False  # only joint torques and accelerations come out: the lean model will do
    inverts_mass: bool = False  # refused where M is singular in every state


def _square(m: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    return ((m.n, m.n),)


def _vector(m: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    return ((m.n,),)


def _fixed(*shapes: tuple[int, ...]) -> Callable[[Model, dict[str, Any]], tuple[tuple[int, ...], ...]]:
    return lambda m, o: shapes


def wrench_on_body(model: Model, q: Any, wrench: Any, frame: Frame, expressed_in: str) -> dict[int, Force]:
    """A wrench given at a frame, as the wrench on the body that carries it, in that body's frame."""
    if frame.body < 0:
        return {}
    F = Force(tuple(wrench[:3]), tuple(wrench[3:]))
    if expressed_in == "local":
        return {frame.body: F.to_parent(frame.pose)}
    T = kinematics.frame_pose(model, q, Frame("", frame.body, Pose()))
    if expressed_in == "spatial":
        return {frame.body: F.to_child(T)}
    turned = Force(matvec_t(T.R, F.f), matvec_t(T.R, F.n))  # world axes at the frame's origin
    return {frame.body: turned.to_parent(Pose(p=frame.pose.p))}


def wrench_names(options: dict[str, Any]) -> tuple[str, ...]:
    """The arguments that hold the wrenches of the option `wrenches`, one for each (frame, expressed_in)."""
    return tuple(f"wrench{k}" for k in range(len(options.get("wrenches", ()))))


def all_wrenches(model: Model, a: dict[str, Any], o: dict[str, Any]) -> dict[int, Force]:
    """All wrenches, added up body by body."""
    places = [("f_tip", o["frame"], o["expressed_in"])] if "f_tip" in a else []
    places += [(name, *place) for name, place in zip(wrench_names(o), o["wrenches"], strict=True)]
    total: dict[int, Force] = {}
    for name, frame, expressed_in in places:
        for body, F in wrench_on_body(model, a["q"], a[name], model.frame(frame), expressed_in).items():
            total[body] = total[body] + F if body in total else F
    return total


def _base(a: dict[str, Any]) -> newton_euler.Acceleration | None:
    if "base_velocity" not in a and "base_acceleration" not in a:
        return None
    zero = (0.0,) * 6
    V, A = a.get("base_velocity", zero), a.get("base_acceleration", zero)
    return newton_euler.Acceleration(tuple(V[3:]), tuple(A[3:]), tuple(A[:3]))


def _friction(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    """Friction at the load of the motion: that of q̈, or without acceleration where there is none."""
    if not o["friction"]:
        return [0.0] * model.n
    loads = None
    if model.friction_by_load and "qdd" in a:
        loads = newton_euler.joint_loads(model, a["q"], a["qd"], a["qdd"], all_wrenches(model, a, o), _base(a))
    return friction.friction_torque(model, a["q"], a["qd"], loads)


def _inverse_dynamics(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    tau = newton_euler.inverse_dynamics(model, a["q"], a["qd"], a["qdd"], all_wrenches(model, a, o), _base(a))
    return [t + f for t, f in zip(tau, _friction(model, a, o), strict=True)]


def _forward_dynamics(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    if o["friction"] and model.friction_by_load:
        return _loaded(model, a, o)
    tau = [t - f for t, f in zip(a["tau"], _friction(model, a, o), strict=True)]
    base = _base(a)
    try:  # a pivot that is zero whatever the state is met while tracing, already where the methods are weighed
        method = o["method"] or ("factorized" if base else _cheaper_method(model))
        if method == "articulated" and (model.mimics or base):
            why = "has mimic joints" if model.mimics else "stands on a moving base"
            raise InputError(f"{model.name!r} {why}, which articulated bodies cannot express: use method='factorized'")
        if base:
            return articulated.factorized(model, a["q"], a["qd"], tau, all_wrenches(model, a, o), base)
        return articulated.METHODS[method](model, a["q"], a["qd"], tau, all_wrenches(model, a, o))
    except ZeroDivisionError:
        raise singular_mass(model) from None


def _loaded(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    if o["method"] == "articulated":
        raise InputError(
            f"the friction of {model.name!r} depends on the load, which articulated bodies cannot express: "
            "use method='factorized'"
        )
    try:
        return friction.loaded_acceleration(model, a["q"], a["qd"], a["tau"], all_wrenches(model, a, o), _base(a))
    except ZeroDivisionError:
        raise singular_mass(model) from None


def need_mass(model: Model, added: linear.Rows | None = None) -> None:
    """Refuse a mass matrix [+ `added`] that is singular in every state, though rounding hides its zeros."""
    if resistance.unresisted(model, added):
        raise singular_mass(model)


def singular_mass(model: Model) -> SingularityError:
    """The error for a mass matrix that is singular whatever the state."""
    empty = [model.coordinates[k].name for k in resistance.massless(model)]
    what = f"joint {empty[0]!r} moves no mass" if empty else "some joints move no mass of their own"
    return SingularityError(
        f"the accelerations of {model.name!r} are undefined in every state, because its mass matrix is singular: "
        f"{what}; give the links behind it an inertia, or the joint a rotor inertia"
    )


# Factorizing M takes fewer operations than articulated bodies for short chains (Panda: 857 against 1234), more for
# long ones; between these lengths the operations are counted (Talos, 32 joints, 10 in a row: 4776 against 6365).
FACTORizE_UP_TO = 8
ARTICULATE_FROM = 24


def _cheaper_method(model: Model) -> str:
    """Which way of forward dynamics takes fewer operations; mimic joints leave one."""
    longest = max((len(model.path(i)) for i in range(len(model.bodies))), default=0)
    if model.mimics or longest <= FACTORizE_UP_TO:
        return "factorized"
    if longest >= ARTICULATE_FROM:
        return "articulated"
    return min(articulated.METHODS, key=lambda method: _operations(model, articulated.METHODS[method]))


def _operations(model: Model, algorithm: Callable[..., Any]) -> int:
    shape = (model.n,)
    return compile_function(lambda *a: algorithm(model, *a), [shape] * 3, [shape]).operations


def _analytic(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, Any]:
    frame = model.frame(o["frame"])
    det = _determinant(model, a["q"], frame, o["angles"])
    return jacobians.analytic_jacobian(model, a["q"], frame, o["angles"]), det


def _determinant(model: Model, q: Any, frame: Frame, angles: str) -> Any:
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


def _columns(model: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    extra = (1 if o["rotor"] else 0) + len(regressor.friction_columns(o["friction"]))
    return ((model.n, regressor.PER_BODY * len(model.bodies) + extra * model.n),)


def _body_index(model: Model, link: str) -> int:
    frame = model.frame(link)
    if frame.body < 0:
        raise InputError(f"link {link!r} is fixed to the base: it has no center of mass that moves")
    return frame.body


def _matrix_form(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, ...]:
    form = matrix_form.matrix_form(model, a["q"])
    return form.A, form.L, form.W, form.G, form.V_dot_base


def _matrix_shapes(model: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    N = 6 * len(model.bodies)
    return ((N, model.n), (N, N), (N, N), (N, N), (N,))


def _three_squares(model: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    return ((model.n, model.n),) * 3


def _inverse_derivatives(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, ...]:
    return derivatives.inverse_dynamics_derivatives(model, a["q"], a["qd"], a["qdd"], o["friction"])


def _forward_derivatives(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, ...]:
    try:
        return derivatives.forward_dynamics_derivatives(model, a["q"], a["qd"], a["tau"], o["friction"])
    except ZeroDivisionError:
        raise singular_mass(model) from None


def _task_jacobian(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, Any, Any]:
    """J and J̇ in the rows of a task, and |det B(α)| of its Euler angles (1 if it has none)."""
    frame, kind = model.frame(o["frame"]), o["jacobian"]
    det = 1.0 if kind == task_space.GEOMETRIC else _determinant(model, a["q"], frame, kind)
    J = task_space.task_jacobian(model, a["q"], frame, kind, o["expressed_in"])
    J_dot = task_space.task_jacobian_dot(model, a["q"], a["qd"], frame, kind, o["expressed_in"])
    if "selection" in a:
        return linear.product(a["selection"], J), linear.product(a["selection"], J_dot), det
    return [J[k] for k in o["rows"]], [J_dot[k] for k in o["rows"]], det


def _regular(model: Model, q: Any, o: dict[str, Any], compute: Callable[[], Any]) -> Any:
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


def _task_space(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, ...]:
    J, J_dot, det = _task_jacobian(model, a, o)
    t = _regular(model, a["q"], o, lambda: task_space.task_space(model, a["q"], a["qd"], J, J_dot, a.get("damping")))
    return t.M, t.C, t.c, t.g, t.J, t.J_dot, t.J_bar, t.N, t.mobility, t.velocity, det


def _task_shapes(model: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    m, n = len(o["rows"]), model.n
    return (m, m), (m, m), (m,), (m,), (m, n), (m, n), (n, m), (n, n), (m, m), (m,), ()


def _task_regressor(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, ...]:
    J, _, det = _task_jacobian(model, a, o)
    M = composite.mass_matrix(model, a["q"])
    J_bar = _regular(model, a["q"], o, lambda: task_space.consistent_inverse(M, J, a.get("damping"))).J_bar
    Y = regressor.regressor(model, a["q"], a["qd"], a["qdd"], o["friction"], o["rotor"])
    return linear.product(linear.transposed(J_bar), Y), J, J_bar, det


def _task_columns(model: Model, o: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    m, n = len(o["rows"]), model.n
    return (m, _columns(model, o)[0][1]), (m, n), (n, m), ()


_FRAME = {"frame": None}
_EXPRESSED = {"frame": None, "expressed_in": "world"}
# `rows` are those of the twist, by place; with the argument `selection` (m, 6) only their number counts.
_TASK = {**_EXPRESSED, "jacobian": task_space.GEOMETRIC, "rows": (0, 1, 2, 3, 4, 5)}

ROWS: dict[str, Row] = {
    "fk": Row(
        ("q",),
        lambda m, a, o: kinematics.forward_kinematics(m, a["q"], m.frame(o["frame"])).matrix(),
        _fixed((4, 4)),
        _FRAME,
    ),
    "transform": Row(
        ("q",),
        lambda m, a, o: kinematics.transform(m, a["q"], m.frame(o["to"]), m.frame(o["of"])).matrix(),
        _fixed((4, 4)),
        {"to": None, "of": None},
    ),
    "jacobian": Row(
        ("q",),
        lambda m, a, o: jacobians.jacobian(m, a["q"], m.frame(o["frame"]), o["expressed_in"]),
        lambda m, o: ((6, m.n),),
        _EXPRESSED,
    ),
    "jacobian_dot": Row(
        ("q", "qd"),
        lambda m, a, o: jacobians.jacobian_dot(m, a["q"], a["qd"], m.frame(o["frame"]), o["expressed_in"]),
        lambda m, o: ((6, m.n),),
        _EXPRESSED,
    ),
    "analytic_jacobian": Row(("q",), _analytic, lambda m, o: ((6, m.n), ()), {"frame": None, "angles": "zyz"}),
    "fk_jacobian": Row(
        ("q",),
        lambda m, a, o: (
            kinematics.forward_kinematics(m, a["q"], m.frame(o["frame"])).matrix(),
            jacobians.jacobian(m, a["q"], m.frame(o["frame"]), o["expressed_in"]),
        ),
        lambda m, o: ((4, 4), (6, m.n)),
        _EXPRESSED,
    ),
    "com_jacobian": Row(
        ("q",),
        lambda m, a, o: jacobians.com_jacobian(m, a["q"], _body_index(m, o["link"])),
        lambda m, o: ((6, m.n),),
        {"link": None},
    ),
    "center_of_mass_jacobian": Row(
        ("q",), lambda m, a, o: jacobians.center_of_mass_jacobian(m, a["q"]), lambda m, o: ((3, m.n),), {}
    ),
    "inverse_dynamics": Row(
        ("q", "qd", "qdd"),
        _inverse_dynamics,
        _vector,
        {**_EXPRESSED, "friction": False, "wrenches": ()},
        ("f_tip", "base_velocity", "base_acceleration"),
        joint_space=True,
    ),
    "forward_dynamics": Row(
        ("q", "qd", "tau"),
        _forward_dynamics,
        _vector,
        {**_EXPRESSED, "friction": False, "method": None, "wrenches": ()},
        ("f_tip", "base_velocity", "base_acceleration"),
        joint_space=True,
        inverts_mass=True,
    ),
    "mass_matrix": Row(("q",), lambda m, a, o: composite.mass_matrix(m, a["q"]), _square, {}, joint_space=True),
    "mass_matrix_dot": Row(
        ("q", "qd"), lambda m, a, o: composite.mass_matrix_dot(m, a["q"], a["qd"]), _square, {}, joint_space=True
    ),
    "coriolis_matrix": Row(
        ("q", "qd"),
        lambda m, a, o: composite.CHOICES[o["choice"]](m, a["q"], a["qd"]),
        _square,
        {"choice": "christoffel"},
        joint_space=True,
    ),
    "christoffel": Row(
        ("q",), lambda m, a, o: composite.christoffel(m, a["q"]), lambda m, o: ((m.n, m.n, m.n),), {}, joint_space=True
    ),
    "gravity_torque": Row(
        ("q",), lambda m, a, o: newton_euler.gravity_torque(m, a["q"]), _vector, {}, joint_space=True
    ),
    "coriolis_torque": Row(
        ("q", "qd"), lambda m, a, o: newton_euler.coriolis_torque(m, a["q"], a["qd"]), _vector, {}, joint_space=True
    ),
    "bias_torque": Row(
        ("q", "qd"), lambda m, a, o: newton_euler.bias_torque(m, a["q"], a["qd"]), _vector, {}, joint_space=True
    ),
    "friction_torque": Row(
        ("q", "qd"), lambda m, a, o: _friction(m, a, {"friction": True, "wrenches": ()}), _vector, {}, ("qdd",)
    ),
    "kinetic_energy": Row(("q", "qd"), lambda m, a, o: energy.kinetic_energy(m, a["q"], a["qd"]), _fixed(()), {}),
    "potential_energy": Row(("q",), lambda m, a, o: energy.potential_energy(m, a["q"]), _fixed(()), {}),
    "center_of_mass": Row(("q",), lambda m, a, o: energy.center_of_mass(m, a["q"]), _fixed((3,)), {}),
    "momentum": Row(
        ("q", "qd"),
        lambda m, a, o: energy.momentum(m, a["q"], a["qd"], o["about"]).flat(),
        _fixed((6,)),
        {"about": "origin"},
    ),
    "regressor": Row(
        ("q", "qd", "qdd"),
        lambda m, a, o: regressor.regressor(m, a["q"], a["qd"], a["qdd"], o["friction"], o["rotor"]),
        _columns,
        {"friction": (), "rotor": False},
    ),
    "task_space": Row(
        ("q", "qd"), _task_space, _task_shapes, _TASK, ("selection", "damping"), joint_space=True, inverts_mass=True
    ),
    "task_regressor": Row(
        ("q", "qd", "qdd"),
        _task_regressor,
        _task_columns,
        {**_TASK, "friction": (), "rotor": False},
        ("selection", "damping"),
        inverts_mass=True,
    ),
    "matrix_form": Row(("q",), _matrix_form, _matrix_shapes, {}),
    "inverse_dynamics_derivatives": Row(
        ("q", "qd", "qdd"), _inverse_derivatives, _three_squares, {"friction": False}, joint_space=True
    ),
    "forward_dynamics_derivatives": Row(
        ("q", "qd", "tau"),
        _forward_derivatives,
        _three_squares,
        {"friction": False},
        joint_space=True,
        inverts_mass=True,
    ),
}

# Options whose values are words, and the words.
WORDS: dict[str, tuple[str, ...]] = {
    "expressed_in": jacobians.EXPRESSIONS,
    "choice": tuple(composite.CHOICES),
    "angles": ("rpy", *rotation.EULER_SEQUENCES),
    "about": ("origin", "com"),
    "jacobian": (task_space.GEOMETRIC, "rpy", *rotation.EULER_SEQUENCES),
}


def check_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a kernel, completed by their defaults; unknown ones are refused."""
    row = ROWS[name]
    for option, value in options.items():
        if option not in row.options:
            raise unknown(f"option of {name}", option, row.options)
        if option in WORDS and value not in WORDS[option]:
            raise unknown(option, value, WORDS[option])
    if options.get("method") is not None and options["method"] not in articulated.METHODS:
        raise unknown("method", options["method"], articulated.METHODS)
    several = {
        option: read(options[option])
        for option, read in LISTS.items()
        if option in options and isinstance(row.options[option], tuple)
    }
    return {**row.options, **options, **several}


def _read_wrenches(value: Any) -> tuple[tuple[str, str], ...]:
    try:
        places = tuple((frame, expressed_in) for frame, expressed_in in value)
    except (TypeError, ValueError):
        raise InputError(f"the wrenches of a kernel are pairs (frame, expressed_in), got {value!r}") from None
    for _, expressed_in in places:
        if expressed_in not in jacobians.EXPRESSIONS:
            raise unknown("expressed_in", expressed_in, jacobians.EXPRESSIONS)
    return places


def _read_rows(value: Any) -> tuple[int, ...]:
    try:
        rows = tuple(operator.index(k) for k in value)
    except TypeError:
        rows = ()
    if not rows or not all(0 <= k < 6 for k in rows):
        raise InputError(f"the rows of a kernel are places in (vx, vy, vz, wx, wy, wz), 0 to 5; got {value!r}")
    return rows


# Options that are several things, and how they are read.
LISTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "wrenches": _read_wrenches,
    "rows": _read_rows,
    "friction": regressor.friction_columns,  # of a regressor; elsewhere a switch
}


def make(model: Model, name: str, given: tuple[str, ...], options: dict[str, Any]) -> Kernel:
    """The kernel of a row for a model; `given` are the optional arguments that will be passed."""
    if name not in ROWS:
        raise unknown("kernel", name, ROWS)
    row = ROWS[name]
    options = check_options(name, options)
    if options.get("frame") is not None:
        model.frame(options["frame"])  # refused here, whether this call needs it or not
    for frame, _ in options.get("wrenches", ()):
        model.frame(frame)
    names = row.arguments + tuple(a for a in row.optional if a in given) + wrench_names(options)
    moving_base = any(a.startswith("base_") for a in given)
    if row.inverts_mass:
        need_mass(model)
    if row.joint_space and not moving_base:
        model = lean(model)

    def function(*arguments: Any) -> Any:
        return row.trace(model, dict(zip(names, arguments, strict=True)), options)

    sized = {a: shape(options) for a, shape in SIZED.items() if a in names}
    inputs = [sized[a] if a in sized else (6,) if a in wrench_names(options) else ARGUMENTS[a](model.n) for a in names]
    return compile_function(function, inputs, row.shapes(model, options), name, arguments=names)
