"""The block diagram of every control law here, as data.  Seed 003.

Shades: what a servo adds is blue, what rests on a model is yellow, the system itself is gray.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dalembert.draw.blocks import Diagram, Node, Signal, block, terminal, total
from dalembert.errors import InputError
from dalembert.law import Law

LONGEST = 24  # letters of a list of names
MASS = "m ẍ + b ẋ + k x = f"


# ------------------------------------------------------------------------------------------------- one mass, at rest
def pd() -> Diagram:
    """f = −k_p x − k_v ẋ."""
    nodes = (
        total("sum", 0),
        block("system", MASS, 1, tone="plant"),
        block("k_p", "k_p", 1, 1, flip=True, tone="servo"),
        block("k_v", "k_v", 1, 2, flip=True, tone="servo"),
    )
    signals = (
        Signal("sum", "system", "f"),
        Signal("system", "k_p", "x", out=0.6),
        Signal("system", "k_v", "ẋ", out=-0.6),
        Signal("k_p", "sum", sign="−"),
        Signal("k_v", "sum", sign="−", enter="left"),
    )
    return Diagram("PD control", nodes, signals, "f = −k_p x − k_v ẋ")


def partitioned() -> Diagram:
    """f = α f′ + β, f′ = −k_v ẋ − k_p x."""
    nodes = (
        total("servo", 0),
        block("alpha", "m", 1, tone="model"),
        total("sum", 2),
        block("system", MASS, 3, tone="plant"),
        block("beta", "b ẋ + k x", 3, 1, flip=True, tone="model"),
        block("k_p", "k_p", 1, 2, flip=True, tone="servo"),
        block("k_v", "k_v", 1, 3, flip=True, tone="servo"),
    )
    signals = (
        Signal("servo", "alpha", "f′"),
        Signal("alpha", "sum", sign="+"),
        Signal("sum", "system", "f"),
        Signal("system", "beta", "x", out=0.6, into=0.6),
        Signal("system", "beta", "ẋ", out=-0.6, into=-0.6),
        Signal("beta", "sum", sign="+"),
        Signal("system", "k_p", out=0.6),
        Signal("system", "k_v", out=-0.6),
        Signal("k_p", "servo", sign="−"),
        Signal("k_v", "servo", sign="−", enter="left"),
    )
    return Diagram("Partitioned PD control", nodes, signals, "f = m (−k_p x − k_v ẋ) + b ẋ + k x")


# --------------------------------------------------------------------------------------------- along a trajectory
def tracking(
    title: str,
    equation: str,
    *,
    x: str = "x",
    rate: str = "ẋ",
    acceleration: str = "ẍ",
    gains: tuple[str, str, str] = ("k_p", "k_v", "k_i"),
    force: str = "f",
    system: str = MASS,
    integral: bool = False,
    accelerated: bool = True,
    alpha: str = "",
    alpha_of_position: bool = False,
    beta: str = "",
    beta_of_rate: bool = True,
    ahead: str = "",
    ahead_of: str = "",
) -> Diagram:
    """u = α (ẍ_d + k_v ė + k_p e [+ k_i ∫e]) + β: rows of errors into one sum, then what the model adds; `ahead` is
    what it adds for the motion that is wanted (`ahead_of`), and takes the place of ẍ_d."""
    k_p, k_v, k_i = gains
    nodes: list[Node] = [
        terminal("rate_wanted", f"{rate}_d", 0, 1),
        terminal("wanted", f"{x}_d", 0, 2),
        total("error_rate", 1, 1),
        total("error", 2, 2),
        block("k_v", k_v, 3, 1, tone="servo"),
        block("k_p", k_p, 3, 2, tone="servo"),
        total("servo", 4, 2),
    ]
    signals = [
        Signal("rate_wanted", "error_rate", sign="+"),
        Signal("wanted", "error", sign="+"),
        Signal("error_rate", "k_v", "ė"),
        Signal("error", "k_p", "e"),
        Signal("k_v", "servo", sign="+"),
        Signal("k_p", "servo", sign="+"),
    ]
    last, column = "servo", 5
    if integral:
        nodes.append(block("k_i", f"{k_i} ∫", 3, 3, tone="servo"))
        signals += [Signal("error", "k_i"), Signal("k_i", "servo", sign="+")]
    if accelerated:
        nodes += [terminal("acceleration_wanted", f"{acceleration}_d", 0, 0), total("unit", column, 2)]
        signals += [Signal(last, "unit", sign="+"), Signal("acceleration_wanted", "unit", sign="+")]
        last, column = "unit", column + 1
    elif ahead:
        nodes += [terminal("ahead_of", ahead_of, 0, 0), block("ahead", ahead, 3, 0, tone="model")]
        nodes.append(total("unit", column, 2))
        signals += [Signal("ahead_of", "ahead"), Signal(last, "unit", sign="+"), Signal("ahead", "unit", sign="+")]
        last, column = "unit", column + 1
    if alpha:
        nodes.append(block("alpha", alpha, column, 2, tone="model"))
        signals.append(Signal(last, "alpha", f"{force}′"))
        last, column = "alpha", column + 1
    if beta:
        nodes.append(total("sum", column, 2))
        signals.append(Signal(last, "sum", sign="+"))
        last, column = "sum", column + 1
    nodes.append(block("system", system, column, 2, tone="plant"))
    signals.append(Signal(last, "system", force))
    feedback = [("error", x, 0.6), ("error_rate", rate, -0.6)]
    if beta:
        nodes.append(block("beta", beta, column, 3, flip=True, tone="model"))
        if beta_of_rate:
            signals += [Signal("system", "beta", out=0.6, into=-0.6), Signal("system", "beta", out=-0.6, into=0.6)]
        else:
            signals.append(Signal("system", "beta", out=0.6))
        signals.append(Signal("beta", "sum", sign="+"))
    if alpha and alpha_of_position:
        signals.append(Signal("system", "alpha", out=0.6, lane=2, enter="bottom"))
    bottom = max(node.row for node in nodes)
    for target, label, slot in feedback:
        signals.append(Signal("system", target, label, sign="−", out=slot, lane=bottom, enter="bottom"))
    return Diagram(title, tuple(nodes), tuple(signals), equation)


def following() -> Diagram:
    """f = m (ẍ_d + k_v ė + k_p e) + b ẋ + k x."""
    return tracking("Trajectory following", "f = m (ẍ_d + k_v ė + k_p e) + b ẋ + k x", alpha="m", beta="b ẋ + k x")


def pid_following() -> Diagram:
    """f = m (ẍ_d + k_p e + k_i ∫e + k_v ė) + b ẋ + k x."""
    equation = "f = m (ẍ_d + k_v ė + k_p e + k_i ∫e dt) + b ẋ + k x"
    return tracking("Trajectory following with integral", equation, alpha="m", beta="b ẋ + k x", integral=True)


# --------------------------------------------------------------------------------------------------------------- PID
def pid(tracks: bool = True) -> Diagram:
    """A PID law as it is built; with `tracks`, what its limit cuts off is taken from the integral."""
    nodes = [
        terminal("r", "r", 0, 0),
        block("P", "k_p (b r − y)", 1, 0, tone="servo"),
        block("I", "k_i (r − y)", 1, 1, tone="servo"),
        block("D", "k_d s/(1 + T_f s) (c r − y)", 1, 2, tone="servo"),
        total("in", 2, 1),
        block("integral", "1/s", 3, 1, tone="servo"),
        total("sum", 4, 1),
        block("limit", "limit", 5, 1, tone="servo"),
        block("system", "system", 6, 1, tone="plant"),
    ]
    signals = [
        *(Signal("r", name, into=-0.6) for name in "PID"),
        Signal("I", "in", sign="+"),
        Signal("in", "integral"),
        Signal("integral", "sum", sign="+"),
        Signal("P", "sum", sign="+"),
        Signal("D", "sum", sign="+"),
        Signal("sum", "limit", "u_{raw}"),
        Signal("limit", "system", "u"),
    ]
    if tracks:
        nodes += [total("cut", 5, 3), block("tracking", "1/T_t", 3, 3, flip=True, tone="servo")]
        signals += [
            Signal("limit", "cut", sign="+", enter="right"),
            Signal("sum", "cut", sign="−", lane=2, enter="top"),
            Signal("cut", "tracking", leave="left"),
            Signal("tracking", "in", sign="+"),
        ]
    bottom = max(node.row for node in nodes)
    for k, name in enumerate("PID"):
        signals.append(Signal("system", name, "y" if k == 0 else "", lane=bottom, rise=0, into=0.6))
    equation = "u_{raw} = k_p (b r − y) + ∫k_i (r − y) dt + k_d s/(1 + T_f s) (c r − y)"
    return Diagram("PID control", tuple(nodes), tuple(signals), equation)


# ------------------------------------------------------------------------------------------------------------ robots
def _joints(title: str, equation: str, **more: Any) -> Diagram:
    """What follows a trajectory of the joints."""
    gains = ("K_p", "K_d", "K_i")
    return tracking(title, equation, x="q", rate="q̇", acceleration="q̈", gains=gains, force="τ", system="robot", **more)


def joint_pd() -> Diagram:
    return _joints("PD control of a robot", "τ = K_p (q_d − q) + K_d (q̇_d − q̇)", accelerated=False)


def joint_pid(gravity: bool = False) -> Diagram:
    equation = f"τ = K_p e + K_d ė + K_i ∫e dt{' + g(q)' if gravity else ''}, e = q_d − q"
    held = {"beta": "g(q)", "beta_of_rate": False} if gravity else {}
    return _joints("PID control of a robot", equation, accelerated=False, integral=True, **held)


def pd_gravity(wanted: bool = False) -> Diagram:
    """With g of where the arm is, or of where it is wanted."""
    g = "g(q_d)" if wanted else "g(q)"
    held = {"ahead": g, "ahead_of": "q_d"} if wanted else {"beta": g, "beta_of_rate": False}
    equation = f"τ = K_p (q_d − q) + K_d (q̇_d − q̇) + {g}"
    return _joints("PD control with gravity compensation", equation, accelerated=False, **held)


def independent_joint(integral: bool = False) -> Diagram:
    equation = f"τ_i = J_i q̈_d + k_d ė + k_p e{' + k_i ∫e dt' if integral else ''}, for each joint alone"
    ahead = {"accelerated": False, "ahead": "J_i", "ahead_of": "q̈_d"}
    return _joints("Independent joint control", equation, integral=integral, **ahead)


def computed_torque(friction: bool = False, integral: bool = False) -> Diagram:
    beta = "c(q, q̇) + g(q)" + (" + f(q̇)" if friction else "")
    equation = f"τ = M(q) (q̈_d + K_d ė + K_p e{' + K_i ∫e dt' if integral else ''}) + {beta}"
    model = {"alpha": "M(q)", "alpha_of_position": True, "beta": beta}
    return _joints("Computed torque control", equation, integral=integral, **model)


def feedforward() -> Diagram:
    """τ of the wanted motion, and nothing fed back."""
    nodes = (
        terminal("wanted", "q_d, q̇_d, q̈_d", 0),
        block("model", "M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d)", 1, tone="model"),
        block("system", "robot", 2, tone="plant"),
        terminal("q", "q", 3),
    )
    signals = (Signal("wanted", "model"), Signal("model", "system", "τ"), Signal("system", "q"))
    return Diagram("Feedforward control", nodes, signals, "τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d)")


def feedforward_pd() -> Diagram:
    """The same with a PD law on the errors."""
    equation = "τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d) + K_p e + K_d ė"
    model = "M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d)"
    return _joints("Feedforward control with PD", equation, accelerated=False, ahead=model, ahead_of="q_d, q̇_d, q̈_d")


def inverse_kinematics() -> Diagram:
    """q̇ = J⁺ (ẋ_d + K e), integrated: e decays at the rate of K."""
    nodes = (
        terminal("rate_wanted", "ẋ_d", 0, 0),
        terminal("wanted", "x_d", 0, 1),
        total("error", 1, 1),
        block("K", "K", 2, 1, tone="servo"),
        total("sum", 3, 1),
        block("J", "J^+(q)", 4, 1, tone="model"),
        block("integral", "1/s", 5, 1),
        terminal("q", "q", 6, 1),
        block("fk", "forward\nkinematics", 4, 2, flip=True, tone="model"),
    )
    signals = (
        Signal("wanted", "error", sign="+"),
        Signal("error", "K", "e"),
        Signal("K", "sum", sign="+"),
        Signal("rate_wanted", "sum", sign="+"),
        Signal("sum", "J"),
        Signal("J", "integral", "q̇"),
        Signal("integral", "q"),
        Signal("integral", "J", lane=1, enter="bottom"),
        Signal("integral", "fk"),
        Signal("fk", "error", "x", sign="−"),
    )
    return Diagram("Inverse kinematics as a loop", nodes, signals, "q̇ = J^+(q) (ẋ_d + K e), e = x_d − x(q)")


def adaptive() -> Diagram:
    """Slotine and Li: the regressor's parameters are learned while moving."""
    nodes = (
        terminal("wanted", "q_d, q̇_d, q̈_d", 0, 0),
        block("slide", "s = ė + Λ e\nq̇_r = q̇_d + Λ e", 1, 0, tone="servo"),
        block("K_D", "K_D", 2, 0, tone="servo"),
        total("sum", 5, 0),
        block("system", "robot", 6, 0, tone="plant"),
        block("learn", "Γ Y_r^T s", 2, 1, tone="model"),
        block("integral", "1/s", 3, 1, tone="model"),
        block("regressor", "Y_r π̂", 4, 1, tone="model"),
    )
    signals = (
        Signal("wanted", "slide", into=0.0),
        Signal("slide", "K_D", "s"),
        Signal("slide", "learn"),
        Signal("K_D", "sum", sign="+"),
        Signal("learn", "integral"),
        Signal("integral", "regressor", "π̂"),
        Signal("regressor", "sum", sign="+"),
        Signal("sum", "system", "τ"),
        Signal("system", "slide", "q, q̇", lane=1, rise=0, into=0.9),
    )
    equation = "τ = Y_r π̂ + K_D s, dπ̂/dt = Γ Y_r^T s"
    return Diagram("Adaptive control", nodes, signals, equation)


def state_feedback() -> Diagram:
    """u = u₀ − K (x − x₀)."""
    nodes = (
        terminal("u0", "u_0", 0, 0),
        total("sum", 1, 0),
        block("system", "ẋ = A x + B u", 2, 0, tone="plant"),
        block("K", "K", 2, 1, flip=True, tone="servo"),
        total("off", 3, 1),
        terminal("x0", "x_0", 4, 1),
    )
    signals = (
        Signal("u0", "sum", sign="+"),
        Signal("sum", "system", "u"),
        Signal("system", "off", "x", sign="+"),
        Signal("x0", "off", sign="−", leave="left", enter="right"),
        Signal("off", "K", leave="left"),
        Signal("K", "sum", sign="−"),
    )
    return Diagram("State feedback", nodes, signals, "u = u_0 − K (x − x_0)")


def loop(title: str, equation: str, law: str, inputs: str, output: str, system: str, measured: str) -> Diagram:
    """Any law as one block in its loop."""
    nodes = [block("law", law, 1, 0, tone="servo"), block("system", system, 2, 0, tone="plant")]
    signals = [
        Signal("law", "system", output),
        Signal("system", "law", measured, lane=0, rise=0, into=0.6 if inputs else 0.0),
    ]
    if inputs:
        nodes.append(terminal("wanted", inputs, 0, 0))
        signals.append(Signal("wanted", "law", into=0.0))
    return Diagram(title, tuple(nodes), tuple(signals), equation)


# By the class of a controller, so that it need not be imported here.
OF: dict[str, Callable[[Any], Diagram]] = {
    "PD": lambda c: joint_pd(),
    "JointPID": lambda c: joint_pid(bool(c.gravity)),
    "PDGravity": lambda c: pd_gravity(c.gravity != "actual"),
    "IndependentJoint": lambda c: independent_joint(c.integral > 0),
    "ComputedTorque": lambda c: computed_torque(bool(c.friction), c.ki is not None),
    "Feedforward": lambda c: feedforward(),
    "FeedforwardPD": lambda c: feedforward_pd(),
    "Adaptive": lambda c: adaptive(),
}


_MOTION, _TASK = "q_d, q̇_d, q̈_d", "x_d, ẋ_d, ẍ_d"
# Drawn as one block in its loop: title, what it follows, what it puts out, what it drives, what it measures.
LOOPS: dict[str, tuple[str, str, str, str, str]] = {
    "RobustControl": ("Robust control", _MOTION, "τ", "robot", "q, q̇"),
    "TaskComputedTorque": ("Computed torque control in task space", _TASK, "τ", "robot", "q, q̇"),
    "Impedance": ("Impedance control", _TASK, "τ", "robot", "q, q̇"),
    "HybridForce": ("Hybrid force and motion control", f"{_MOTION}, λ_d", "τ", "constrained robot", "q, q̇, λ"),
    "FlexiblePD": ("PD control of flexible joints", "q_d", "τ", "flexible robot", "θ, θ̇"),
    "FlexibleLinearizing": ("Feedback linearization of flexible joints", "q_d", "τ", "flexible robot", "q, q̇, θ, θ̇"),
    "VoltageControl": ("Voltage control", _MOTION, "v", "driven robot", "q, q̇"),
}


def diagram_of(controller: Any) -> Diagram:
    """The block diagram of a controller: its own (`.diagram()`), that of its class, or its law as one block in a loop.

    A `Law` is drawn as one block too."""
    own = getattr(controller, "diagram", None)
    if callable(own):
        found = own()
        if isinstance(found, Diagram):
            return found
    name = type(controller).__name__
    if name in OF:
        return OF[name](controller)
    equation = str(getattr(controller, "equation", "") or "")
    if name in LOOPS:
        title, follows, force, system, state = LOOPS[name]
        return loop(title, _formula(equation), title, follows, force, system, state)
    law = controller if isinstance(controller, Law) else _law(controller)
    wanted, measured = _listed(law.follows), _listed(law.measures)
    title = law.name if isinstance(controller, Law) else _words(name)
    return loop(title, _formula(equation), _literal(title), wanted, _listed(law.outputs), "system", measured)


def _law(controller: Any) -> Law:
    made = getattr(controller, "law", None)
    found = made() if callable(made) else None
    if not isinstance(found, Law):
        raise InputError(f"a block diagram is made of a controller or a Law, not of {type(controller).__name__}")
    return found


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:2]) + (", …" if len(names) > 2 else "")
    return _literal(shown if len(shown) <= LONGEST or len(names) < 2 else f"{names[0]}, …")


def _literal(text: str) -> str:
    """A name whose underscores are underscores."""
    return text.replace("_", "\\_")


def _formula(text: str) -> str:
    """A formula whose subscripts may be words: F_ext → F_{ext}."""
    return re.sub(r"_([A-Za-z0-9]{2,})", r"_{\1}", text)


def _words(name: str) -> str:
    """ "HybridForce" → "Hybrid force"."""
    return "".join(f" {c.lower()}" if c.isupper() and k else c for k, c in enumerate(name))
