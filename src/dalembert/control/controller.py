"""What every robot controller is: a law over scalars, callable on arrays, with the conditions under which it is proved.

A controller holds the robot that it *believes* in. The law drives any flow that has the same states and inputs by name:
the same robot with a payload, with friction, with other masses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, in_joint_order, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.conditions import FAILS, Condition, Conditions, make_conditions, seen_inertia
from dalembert.control.diagrams import loop_diagram
from dalembert.control.gains import WHOLE, Gain, GainRule, Gains, KeywordGains
from dalembert.control.transfer import TransferFunction
from dalembert.draw.blocks import Diagram
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.kernels import need_tree
from dalembert.law import Act, Law
from dalembert.reference import Reference
from dalembert.robot import Robot, need_robot

if TYPE_CHECKING:
    from dalembert.constrained.system import Constrained

# A motion, (x, ẋ, ẍ) or less of it, or the numbers of a set point.
Wanted = Reference | tuple[ArrayLike, ...] | ArrayLike | None
ORDERS = ("wanted", "wanted_rate", "wanted_acceleration")


class Controller(KeywordGains, ABC):
    """A control law with its gains. `equation` and `source` say what it does and where its proof is; `drawn` is how it
    is drawn as one block in its loop: title, what it follows, what it puts out, what it drives, what it measures.

    A field whose metadata hold a rule of `gains.must` becomes the `Gain` that was meant; a `bool` is a switch."""

    equation: ClassVar[str] = ""
    source: ClassVar[str] = ""
    drawn: ClassVar[tuple[str, str, str, str, str] | None] = None
    free: ClassVar[bool] = False  # whether the robot may have joints that no drive moves, as a base that flies
    robot: Robot

    def __post_init__(self) -> None:
        self.check_system()
        for field in fields(self):  # type: ignore[arg-type]
            value, rule = getattr(self, field.name), field.metadata.get("gain")
            if field.type == "bool":
                switch(field.name, value)
            elif rule is not None and value is not None:
                self.set_gain(field.name, rule)
        self.finish()

    def check_system(self) -> None:
        """Refuse what cannot be controlled; before anything else is looked at."""
        check_robot(self.robot, type(self).__name__, self.free)

    def finish(self) -> None:
        """What is checked and set beyond gains and switches."""

    def names_for(self, of: str) -> Sequence[str]:
        """What a gain "of" something has one number for each of: the driven joints."""
        return driven_joints(self.robot)

    def set_gain(self, symbol: str, rule: GainRule) -> Gain:
        """A field, replaced by the gain that it means."""
        made = rule.read(symbol, getattr(self, symbol), self.names_for(rule.of) if rule.of else WHOLE)
        object.__setattr__(self, symbol, made)
        return made

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> Controller:
        """Made for a bandwidth ω [rad/s] and a damping ζ, where those will do."""
        raise InputError(
            "missing",
            problem=f"{cls.__name__} is not defined by a bandwidth and a damping ratio alone",
            remedy="Pass its gains.",
        )

    def with_friction(self) -> Controller:
        """Return the same controller with compensation of the friction and springs of its robot's model.

        Raises InputError if the controller has no such term, or the model no friction."""
        robot = self.robot
        if not any(body.friction or body.stiffness for body in robot.model.bodies):
            raise InputError(
                "missing",
                problem=f"the model of {robot.name!r} has no friction to compensate",
                remedy="Identify it from a log: 'dalembert identify'.",
            )
        if "friction" not in {field.name for field in fields(self)}:  # type: ignore[arg-type]
            raise InputError(
                "unsupported",
                problem=f"{type(self).__name__} does not compensate friction",
                remedy="Use ComputedTorque, Feedforward or FeedforwardPD.",
            )
        return replace(self, friction=True)  # type: ignore[type-var]

    @abstractmethod
    def make(self) -> Law:
        """The law, made anew."""

    @abstractmethod
    def conditions(self) -> Conditions:
        """The conditions under which it is proved stable, each with a verdict and its numbers."""

    @property
    def gains(self) -> Gains:
        """Its gains, in the order of the law's parameters; a number for the whole robot that is zero is none."""
        found = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        return Gains(tuple(g for g in found if isinstance(g, Gain) and (g.names != WHOLE or g.values[0])))

    def loop_inertia(self) -> Array:
        """Return the inertia that each driven joint moves in its own loop, (n,): the largest M_ii [kg m²] within its
        limits. It is 1 where the gains are those of accelerations."""
        return np.asarray(seen_inertia(self.robot).max(axis=0))

    def joint_loops(self) -> tuple[TransferFunction, ...]:
        """Return the closed loop of each driven joint, from its set point to its position.

        Without gravity and without the other joints, J q̈ = k_p e − k_d q̇ + k_i ∫ e dt with J of `loop_inertia`, so
        q/q_d = (k_p s + k_i) / (J s³ + k_d s² + k_p s + k_i), or k_p / (J s² + k_d s + k_p) without integral."""
        gains = {g.symbol: np.diag(g.matrix) for g in self.gains.each}
        each = [gains[symbol] for symbol in ("kd", "kp", "ki") if symbol in gains]
        if len(each) < 2:
            raise InputError(
                "unsupported", problem=f"{type(self).__name__} has no joint gains k_p and k_d, so it has no joint loops"
            )
        rows = np.stack((self.loop_inertia(), *each), axis=-1).tolist()
        return tuple(TransferFunction(row[2:], row) for row in rows)

    @cached_property
    def _law(self) -> Law:
        return self.make()

    def law(self) -> Law:
        """The law that `simulate`, `close_loop` and batches take; the same object each time."""
        return self._law

    def vary(self, **gains: ArrayLike) -> dict[str, Array]:
        """Parameters for a batch from gains by symbol: `vary(kp=K)` with K (..., n), or one number for all joints."""
        return self.gains.vary(gains)

    def explain(self) -> str:
        """The equation, the gains, what is proved and whether it applies."""
        lines = [f"{type(self).__name__} for {self.robot.name}", self.equation]
        lines += [f"  {gain}" for gain in self.gains.each]
        return "\n".join([*lines, str(self.conditions())])

    def diagram(self) -> Diagram:
        """Its block diagram: one block in its loop, unless its class draws more."""
        return loop_diagram(self.law(), type(self).__name__, self.equation, self.drawn)

    # --------------------------------------------------------------------------------------- what subclasses share
    def claim(self, claim: str, *items: Condition) -> Conditions:
        """What is claimed under these conditions, proved at the controller's source."""
        return make_conditions(claim, self.source, items)

    def unproved(self) -> Conditions:
        """What is said of a robot with joints that no drive moves."""
        loose = next(c.name for c in self.robot.model.coordinates if not c.joint.driven)
        why = f"{loose!r} has no drive"
        return self.claim("q → q_d and q̇ → 0", Condition("a drive acts on every joint", FAILS, {}, why))

    def joint_law(self, name: str, torque: Callable[..., list[Scalar]], orders: int = 3) -> Law:
        """A law without states: τ = torque(q, q̇, *wanted, *gains) of the driven joints, the gains as functions
        x ↦ K x."""
        n, gains = len(self.robot.model.drives), self.gains

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return torque(*split(y, n), *split(r, n), *gains.read(p))

        return self.torque_law(name, act, orders=orders)

    def torque_law(
        self,
        name: str,
        act: Act,
        *,
        senses: tuple[str, ...] = (),
        wanted: Sequence[str] | None = None,
        orders: int = 3,
        states: tuple[str, ...] = (),
        initial: tuple[float, ...] | None = None,
        rate: Act | None = None,
    ) -> Law:
        """A law of the joint torques from (q, q̇) and what else it `senses`. It follows `wanted`, the joints if not
        given, up to so many derivatives; its `states` start at zero, if nothing else is said."""
        return Law(
            name,
            (*measures(self.robot), *senses),
            follows(driven_joints(self.robot) if wanted is None else wanted, orders),
            torques(self.robot),
            act,
            states=states,
            initial=(0.0,) * len(states) if initial is None else initial,
            rate=rate if states else None,
            parameters=self.gains.parameters,
        )

    def integral_law(
        self, name: str, act: Act, rate: Act | None = None, orders: int = 3, senses: tuple[str, ...] = ()
    ) -> Law:
        """A law whose states are the integrals of the joints' errors; or with another `rate` of them."""
        n = len(self.robot.model.drives)

        def error(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return sub(r[:n], y[:n])

        states = tuple(f"{joint}_integral" for joint in driven_joints(self.robot))
        return self.torque_law(name, act, senses=senses, orders=orders, states=states, rate=rate or error)

    # ------------------------------------------------------------------------------------------------ on arrays
    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.law())

    def __call__(
        self,
        t: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        reference: Wanted = None,
        *,
        z: ArrayLike | None = None,
        measured: ArrayLike | None = None,
        **parameters: ArrayLike,
    ) -> Array:
        """u at time t in the state (q, q̇), both as the law measures them.  (..., outputs).

        `reference`: a `Reference`, or (x, ẋ, ẍ) or less of it, or the numbers of a set point. `z`: the law's own state
        (its start, if not given). `measured`: what the law measures beyond (q, q̇). Parameters by their names.
        Batches broadcast."""
        q, qd = self._in_order(q, qd)
        self.check_state(q)
        return self.evaluator(t, _join(self.law(), q, qd, measured), reference, z, parameters)[0]

    def _in_order(self, q: ArrayLike, qd: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
        """Tables whose columns are named as the joints, in the order of the joints."""
        joints = driven_joints(self.robot)
        return cast("ArrayLike", in_joint_order("q", q, joints)), cast("ArrayLike", in_joint_order("qd", qd, joints))

    def check_state(self, q: ArrayLike) -> None:
        """Refuse joint positions in which no torque does what the law asks for."""

    def rates(
        self,
        t: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        reference: Wanted = None,
        *,
        z: ArrayLike | None = None,
        measured: ArrayLike | None = None,
        **parameters: ArrayLike,
    ) -> Array:
        """ż, how the law's own state changes there.  (..., states)."""
        q, qd = self._in_order(q, qd)
        return self.evaluator(t, _join(self.law(), q, qd, measured), reference, z, parameters)[1]


def _join(law: Law, q: ArrayLike, qd: ArrayLike, more: ArrayLike | None) -> Array:
    parts = [array("q", q), array("qd", qd)]
    if more is not None:
        parts.append(array("measured", more))
    wanted = len(law.measures)
    given = sum(x.shape[-1] if x.ndim else 0 for x in parts)
    if given != wanted or parts[0].shape[-1:] != parts[1].shape[-1:]:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(("q", "qd", "measured"), parts, strict=False))
        shown = ", ".join(law.measures[:4]) + (", …" if wanted > 4 else "")
        raise InputError(
            "wrong-shape", "q", problem=f"{law.name} measures {wanted} numbers ({shown}), got {given}: {shapes}"
        )
    try:
        np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    except ValueError:
        raise InputError(
            "wrong-shape",
            "qd",
            parts[1].shape,
            problem=f"`q` {parts[0].shape} and `qd` {parts[1].shape} do not broadcast",
        ) from None
    return side_by_side(parts)


def side_by_side(parts: Sequence[Array]) -> Array:
    """(..., a), (..., b), … as (..., a + b + …)."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)


class Evaluator:
    """A law as one compiled kernel: (t, y, r, z, p) → (u, ż), on batches."""

    def __init__(self, law: Law) -> None:
        self.law = law
        sizes = {"t": 1, "y": len(law.measures), "r": len(law.follows), "z": len(law.states), "p": len(law.parameters)}
        self.sizes = {name: size for name, size in sizes.items() if size}

    @cached_property
    def kernel(self) -> Kernel:
        law, names = self.law, tuple(self.sizes)

        def function(*given: Scalars) -> object:
            a = {"t": [0.0], "y": [], "r": [], "z": [], "p": [], **dict(zip(names, given, strict=True))}
            arguments = (a["t"][0], a["y"], a["r"], a["z"], a["p"])
            u = law.act(*arguments)
            return u if law.rate is None else (u, law.rate(*arguments))

        outputs = [(len(law.outputs),)] + ([(len(law.states),)] if law.rate is not None else [])
        return compile_function(function, [(k,) for k in self.sizes.values()], outputs, law.name, arguments=names)

    def start(self, y: Array) -> Array:
        """z where the law starts it, (..., states)."""
        law = self.law
        if law.start is None:
            return array("z", law.initial)
        kernel = compile_function(law.start, [(len(law.measures),)], [(len(law.states),)], law.name, arguments=("y",))
        return np.asarray(kernel(y))

    def __call__(
        self, t: ArrayLike, y: Array, reference: Wanted, z: ArrayLike | None, parameters: dict[str, ArrayLike]
    ) -> tuple[Array, Array]:
        law = self.law
        time = array("t", t)
        groups = {"t": time[..., None], "y": y}
        if law.follows:
            groups["r"] = read_wanted(law, reference, time)
        elif reference is not None:
            raise InputError(
                "no-effect", "reference", problem=f"{law.name} follows no reference", remedy="Leave out `reference`."
            )
        if law.states:
            groups["z"] = self.start(y) if z is None else array("z", z)
            if groups["z"].shape[-1:] != (len(law.states),):
                raise InputError(
                    "wrong-shape",
                    "z",
                    groups["z"].shape,
                    problem=f"`z` has shape {groups['z'].shape}; its last dimension must be {len(law.states)}: "
                    f"{', '.join(law.states[:4])}{', …' if len(law.states) > 4 else ''}",
                )
        elif z is not None:
            raise InputError("no-effect", "z", problem=f"{law.name} has no states", remedy="Leave out `z`.")
        if law.parameters or parameters:
            groups["p"] = _stack_parameters(law, parameters)
        try:
            np.broadcast_shapes(*(x.shape[:-1] for x in groups.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {x.shape[:-1]}" for name, x in groups.items())
            raise InputError("wrong-shape", problem=f"the leading dimensions do not broadcast: {shapes}") from None
        out = self.kernel(*(groups[name] for name in self.sizes))
        if law.rate is None:
            return np.asarray(out), np.zeros((*np.shape(out)[:-1], 0))
        return np.asarray(out[0]), np.asarray(out[1])


def _stack_parameters(law: Law, given: dict[str, ArrayLike]) -> Array:
    for name in given:
        choose(f"parameter of {law.name}", name, law.parameters)
    each = [array(name, given.get(name, value)) for name, value in law.parameters.items()]
    try:
        return np.stack(np.broadcast_arrays(*each), axis=-1)
    except ValueError:
        raise InputError(
            "wrong-shape", "parameters", problem=f"the parameters of {law.name} do not broadcast"
        ) from None


def read_wanted(law: Law, reference: Wanted, t: Array) -> Array:
    """r as the law takes it, (..., follows): from a `Reference`, from (x, ẋ, ẍ), or from a set point at rest."""
    wanted = len(law.follows)
    if reference is None:
        raise InputError(
            "missing",
            "reference",
            problem=f"{law.name} needs a reference",
            remedy="Pass a Reference, (x, ẋ, ẍ), or a set point.",
        )
    if isinstance(reference, Reference):
        parts = [np.asarray(x, float) for x in reference(t)]
    elif isinstance(reference, tuple):
        parts = [array(f"reference[{k}]", x) for k, x in enumerate(reference)]
    else:
        parts = [array("reference", reference)]
    m = parts[0].shape[-1] if parts[0].ndim else 0
    if m == 0 or wanted % m or not 1 <= wanted // m <= 3 or any(x.shape[-1:] != (m,) for x in parts):
        shapes = ", ".join(str(x.shape) for x in parts)
        raise InputError(
            "wrong-shape",
            "reference",
            problem=f"{law.name} follows {wanted} numbers ({', '.join(law.follows[:3])}, …), and `reference` has "
            f"shape {shapes}",
        )
    return side_by_side([*parts, *[np.zeros(m)] * 3][: wanted // m])


# ------------------------------------------------------------------------------------------- what laws are made of
def check_robot(robot: object, who: str, free: bool = False) -> Robot:
    """The robot that a controller believes in: one that moves by its joints alone, all of them driven unless `free`
    says that some need not be."""
    robot = need_robot(robot, who)
    if not (robot.model.drives if free else robot.n):
        raise InputError(
            "wrong-structure",
            "robot",
            problem=f"no joint of {robot.name!r} has a drive, so there is nothing to control",
        )
    need_tree(robot.model)
    return robot


def measures(robot: Robot) -> tuple[str, ...]:
    """Names of (q, q̇) of the driven joints, as `Robot.flow` calls them."""
    joints = driven_joints(robot)
    return (*joints, *(f"{j}_rate" for j in joints))


def torques(robot: Robot) -> tuple[str, ...]:
    return tuple(f"{j}_torque" for j in driven_joints(robot))


def driven_joints(robot: Robot) -> tuple[str, ...]:
    return tuple(c.name for c in robot.model.drives)


def zero_law(robot: Robot) -> Law:
    """Return the law of no controller: zero torques."""
    outputs = torques(robot)

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        return [0.0] * len(outputs)

    return Law("no controller", (), (), outputs, act)


def supporting_joints(robot: Robot, system: Constrained | None, q: Array) -> tuple[str, ...]:
    """Return the joints that hold the robot at q.

    All joints of a tree. Of a closed chain (`system`) those with an effort limit if they are enough, otherwise an
    independent set."""
    if system is None:
        return robot.joint_names
    limited = [n for n, e in zip(robot.joint_names, robot.limits.effort, strict=True) if np.isfinite(e)]
    return tuple(limited) if len(limited) >= int(system.freedoms(q)) else system.independent(q)


def follows(names: Sequence[str], orders: int = 3) -> tuple[str, ...]:
    """Names of (x, ẋ, ẍ) of what is wanted."""
    return tuple(f"{name}_{what}" for what in ORDERS[:orders] for name in names)


def split(x: Scalars, n: int) -> list[Scalars]:
    """A flat sequence in pieces of n."""
    return [x[k : k + n] for k in range(0, len(x), n)]


def sub(a: Scalars, b: Scalars) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]


def total(*vectors: Scalars) -> list[Scalar]:
    first, *rest = vectors
    out = list(first)
    for v in rest:
        out = [x + y for x, y in zip(out, v, strict=True)]
    return out
