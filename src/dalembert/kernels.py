"""The table of kernels: which algorithm, of which arguments, gives which array.

A row binds an algorithm to array shapes and options. `Robot` compiles a row for its model on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.algorithms import (
    articulated,
    composite,
    derivatives,
    energy,
    friction,
    jacobians,
    kinematics,
    matrix_form,
    newton_euler,
    regressor,
)
from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.model import Frame, Model
from dalembert.model.lean import lean
from dalembert.spatial import Force, Pose, rotation
from dalembert.spatial.vector import matvec_t

# The shape of every argument a kernel may take, for n coordinates, and what a message calls its last dimension.
ARGUMENTS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "q": lambda n: (n,),
    "qd": lambda n: (n,),
    "qdd": lambda n: (n,),
    "tau": lambda n: (n,),
    "f_tip": lambda n: (6,),
    "base_velocity": lambda n: (6,),
    "base_acceleration": lambda n: (6,),
}


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


def _wrenches(model: Model, a: dict[str, Any], o: dict[str, Any]) -> dict[int, Force]:
    if "f_tip" not in a:
        return {}
    return wrench_on_body(model, a["q"], a["f_tip"], model.frame(o["frame"]), o["expressed_in"])


def _base(a: dict[str, Any]) -> newton_euler.Acceleration | None:
    if "base_velocity" not in a and "base_acceleration" not in a:
        return None
    zero = (0.0,) * 6
    V, A = a.get("base_velocity", zero), a.get("base_acceleration", zero)
    return newton_euler.Acceleration(tuple(V[3:]), tuple(A[3:]), tuple(A[:3]))


def _friction(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    return friction.friction_torque(model, a["q"], a["qd"]) if o["friction"] else [0.0] * model.n


def _inverse_dynamics(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    tau = newton_euler.inverse_dynamics(
        model, a["q"], a["qd"], a["qdd"], _wrenches(model, a, o), _base(a)
    )
    return [t + f for t, f in zip(tau, _friction(model, a, o), strict=True)]


def _forward_dynamics(model: Model, a: dict[str, Any], o: dict[str, Any]) -> list[Any]:
    tau = [t - f for t, f in zip(a["tau"], _friction(model, a, o), strict=True)]
    base = _base(a)
    try:  # a pivot that is zero whatever the state is met while tracing, already where the methods are weighed
        method = o["method"] or ("factorised" if base else _cheaper_method(model))
        if method == "articulated" and (model.mimics or base):
            why = "has mimic joints" if model.mimics else "stands on a moving base"
            raise InputError(f"{model.name!r} {why}, which articulated bodies cannot express: use method='factorised'")
        if base:
            return articulated.factorised(model, a["q"], a["qd"], tau, _wrenches(model, a, o), base)
        return articulated.METHODS[method](model, a["q"], a["qd"], tau, _wrenches(model, a, o))
    except ZeroDivisionError:
        raise singular_mass(model) from None


def singular_mass(model: Model) -> SingularityError:
    """The error for a mass matrix that is singular whatever the state."""
    M = composite.mass_matrix(model, [0.1 * (k + 1) for k in range(model.n)])
    empty = [c.name for k, c in enumerate(model.coordinates) if M[k][k] == 0.0]
    what = f"joint {empty[0]!r} moves no mass" if empty else "some joints move no mass of their own"
    return SingularityError(
        f"the accelerations of {model.name!r} are undefined in every state, because its mass matrix is singular: "
        f"{what}; give the links behind it an inertia, or the joint a rotor inertia"
    )


# Factorising M takes fewer operations than articulated bodies for short chains (Panda: 857 against 1234), more for
# long ones; between these lengths the operations are counted (Talos, 32 joints, 10 in a row: 4776 against 6365).
FACTORISE_UP_TO = 8
ARTICULATE_FROM = 24


def _cheaper_method(model: Model) -> str:
    """Which way of forward dynamics takes fewer operations; mimic joints leave one."""
    longest = max((len(model.path(i)) for i in range(len(model.bodies))), default=0)
    if model.mimics or longest <= FACTORISE_UP_TO:
        return "factorised"
    if longest >= ARTICULATE_FROM:
        return "articulated"
    return min(articulated.METHODS, key=lambda method: _operations(model, articulated.METHODS[method]))


def _operations(model: Model, algorithm: Callable[..., Any]) -> int:
    shape = (model.n,)
    return compile_function(lambda *a: algorithm(model, *a), [shape] * 3, [shape]).operations


def _analytic(model: Model, a: dict[str, Any], o: dict[str, Any]) -> tuple[Any, Any]:
    frame = model.frame(o["frame"])
    det = rotation.euler_determinant(kinematics.frame_pose(model, a["q"], frame).R, o["angles"])
    if isinstance(det, float) and det < SINGULAR_ANGLES:  # a planar arm's zyz angles, say
        raise singular_angles(o["angles"], frame.name, " in every state")
    return jacobians.analytic_jacobian(model, a["q"], frame, o["angles"]), det


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
    extra = (1 if o["rotor"] else 0) + (len(regressor.FRICTION) if o["friction"] else 0)
    return ((model.n, regressor.PER_BODY * len(model.bodies) + extra * model.n),)


def _body_index(model: Model, link: str) -> int:
    frame = model.frame(link)
    if frame.body < 0:
        raise InputError(f"link {link!r} is fixed to the base: it has no centre of mass that moves")
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


_FRAME = {"frame": None}
_EXPRESSED = {"frame": None, "expressed_in": "world"}

ROWS: dict[str, Row] = {
    "fk": Row(
        ("q",),
        lambda m, a, o: kinematics.forward_kinematics(m, a["q"], m.frame(o["frame"])).matrix(),
        _fixed((4, 4)),
        _FRAME,
    ),
    "transform": Row(
        ("q",),
        lambda m, a, o: kinematics.transform(
            m, a["q"], m.frame(o["to"]), m.frame(o["of"])
        ).matrix(),
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
        lambda m, a, o: jacobians.jacobian_dot(
            m, a["q"], a["qd"], m.frame(o["frame"]), o["expressed_in"]
        ),
        lambda m, o: ((6, m.n),),
        _EXPRESSED,
    ),
    "analytic_jacobian": Row(
        ("q",), _analytic, lambda m, o: ((6, m.n), ()), {"frame": None, "angles": "zyz"}
    ),
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
        ("q",),
        lambda m, a, o: jacobians.center_of_mass_jacobian(m, a["q"]),
        lambda m, o: ((3, m.n),),
        {},
    ),
    "inverse_dynamics": Row(
        ("q", "qd", "qdd"),
        _inverse_dynamics,
        _vector,
        {**_EXPRESSED, "friction": False},
        ("f_tip", "base_velocity", "base_acceleration"),
        joint_space=True,
    ),
    "forward_dynamics": Row(
        ("q", "qd", "tau"),
        _forward_dynamics,
        _vector,
        {**_EXPRESSED, "friction": False, "method": None},
        ("f_tip", "base_velocity", "base_acceleration"),
        joint_space=True,
    ),
    "mass_matrix": Row(
        ("q",), lambda m, a, o: composite.mass_matrix(m, a["q"]), _square, {}, joint_space=True
    ),
    "mass_matrix_dot": Row(
        ("q", "qd"),
        lambda m, a, o: composite.mass_matrix_dot(m, a["q"], a["qd"]),
        _square,
        {},
        joint_space=True,
    ),
    "coriolis_matrix": Row(
        ("q", "qd"),
        lambda m, a, o: composite.CHOICES[o["choice"]](m, a["q"], a["qd"]),
        _square,
        {"choice": "christoffel"},
        joint_space=True,
    ),
    "christoffel": Row(
        ("q",),
        lambda m, a, o: composite.christoffel(m, a["q"]),
        lambda m, o: ((m.n, m.n, m.n),),
        {},
        joint_space=True,
    ),
    "gravity_torque": Row(
        ("q",), lambda m, a, o: newton_euler.gravity_torque(m, a["q"]), _vector, {}, joint_space=True
    ),
    "coriolis_torque": Row(
        ("q", "qd"),
        lambda m, a, o: newton_euler.coriolis_torque(m, a["q"], a["qd"]),
        _vector,
        {},
        joint_space=True,
    ),
    "bias_torque": Row(
        ("q", "qd"),
        lambda m, a, o: newton_euler.bias_torque(m, a["q"], a["qd"]),
        _vector,
        {},
        joint_space=True,
    ),
    "friction_torque": Row(
        ("q", "qd"), lambda m, a, o: friction.friction_torque(m, a["q"], a["qd"]), _vector, {}
    ),
    "kinetic_energy": Row(
        ("q", "qd"), lambda m, a, o: energy.kinetic_energy(m, a["q"], a["qd"]), _fixed(()), {}
    ),
    "potential_energy": Row(
        ("q",), lambda m, a, o: energy.potential_energy(m, a["q"]), _fixed(()), {}
    ),
    "center_of_mass": Row(
        ("q",), lambda m, a, o: energy.center_of_mass(m, a["q"]), _fixed((3,)), {}
    ),
    "momentum": Row(
        ("q", "qd"),
        lambda m, a, o: energy.momentum(m, a["q"], a["qd"], o["about"]).flat(),
        _fixed((6,)),
        {"about": "origin"},
    ),
    "regressor": Row(
        ("q", "qd", "qdd"),
        lambda m, a, o: regressor.regressor(
            m, a["q"], a["qd"], a["qdd"], o["friction"], o["rotor"]
        ),
        _columns,
        {"friction": False, "rotor": False},
    ),
    "matrix_form": Row(("q",), _matrix_form, _matrix_shapes, {}),
    "inverse_dynamics_derivatives": Row(
        ("q", "qd", "qdd"), _inverse_derivatives, _three_squares, {"friction": False}, joint_space=True
    ),
    "forward_dynamics_derivatives": Row(
        ("q", "qd", "tau"), _forward_derivatives, _three_squares, {"friction": False}, joint_space=True
    ),
}

# Options whose values are words, and the words.
WORDS: dict[str, tuple[str, ...]] = {
    "expressed_in": jacobians.EXPRESSIONS,
    "choice": tuple(composite.CHOICES),
    "angles": ("rpy", *rotation.EULER_SEQUENCES),
    "about": ("origin", "com"),
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
    return {**row.options, **options}


def make(model: Model, name: str, given: tuple[str, ...], options: dict[str, Any]) -> Kernel:
    """The kernel of a row for a model; `given` are the optional arguments that will be passed."""
    if name not in ROWS:
        raise unknown("kernel", name, ROWS)
    row = ROWS[name]
    options = check_options(name, options)
    if options.get("frame") is not None:
        model.frame(options["frame"])  # refused here, whether this call needs it or not
    names = row.arguments + tuple(a for a in row.optional if a in given)
    moving_base = any(a.startswith("base_") for a in given)
    if row.joint_space and not moving_base:
        model = lean(model)

    def function(*arguments: Any) -> Any:
        return row.trace(model, dict(zip(names, arguments, strict=True)), options)

    inputs = [ARGUMENTS[a](model.n) for a in names]
    return compile_function(function, inputs, row.shapes(model, options), name, arguments=names)
