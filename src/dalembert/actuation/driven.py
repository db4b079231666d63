"""A robot and its motors as one system: voltages in, motion out, and every joule accounted for.

    θ̇_m = G q̇,     B θ̇_m + J_m θ̈_m + τ_load = K_T i,     M(q) q̈ + c + g [+ friction] = Gᵀ E τ_load,

so (M + Gᵀ E J_m G) q̈ = Gᵀ E (K_T i − B θ̇_m) − c − g. E holds what the gears pass on: 1 without losses, else η or
1/η_b by the sign of the power τ_load θ̇_m, which depends on the motion sought. Exactly one motion agrees with its own
E: with l = τ_load and φ(l) = E l, which rises with l, J_m⁻¹ l + (G M⁻¹ Gᵀ) φ(l) is strictly monotone. It is found in
rounds, each with the signs of the last motion, from those without losses: at once for a single joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.actuation.motors import DCMotor, Motor, Scalars
from dalembert.actuation.rotors import Rotor, has_rotors, with_rotors, without_rotors
from dalembert.actuation.transmission import Transmission
from dalembert.actuation.values import Equilibrium, balance, plain_tree, refuse_friction
from dalembert.algorithms import composite, energy, friction, joints, linear, newton_euler
from dalembert.arguments import Array, array, of_kind, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel
from dalembert.errors import InputError, choose
from dalembert.flow import Flow
from dalembert.flows.books import AppliedWrenches, friction_loss, joints_of, need_frames, own_friction, spring_energy
from dalembert.kernels import need_mass, singular_mass
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.robot import Robot
from dalembert.scalar import absolute, minimum, where
from dalembert.spatial import Force
from dalembert.system import Arguments, Kernels, KernelTable, Linearization, Options, Row, read_state

Scalar = Any
T = TypeVar("T")
Wrenches = Mapping[int, Force]  # that act on the bodies, in their frames in the lean model

# How a driven robot's power flows [W], and where its energy is [J]: supply = losses + d(energies)/dt.
LOSSES = ("copper_loss", "conversion_loss", "bearing_loss", "gear_loss", "friction_loss")
ENERGIES = ("kinetic_energy", "rotor_energy", "potential_energy", "spring_energy", "magnetic_energy")
OUTPUTS = ("supply_power", "mechanical_power", *LOSSES, *ENERGIES)

ROTORS = ("reflected", "exact")
# What motors remember and are told; a force is one at a slide, a torque at a hinge.
UNITS = {"current": "A", "force": "N m", "voltage": "V", "command": "", "torque": "N m"}
# Of a torque: a motor that reaches it up to rounding reaches it.
WITHIN = 1e-9
# Rounds in which the directions of power through the gears settle: four were the most that a million states of arms
# with up to seven joints needed, η down to 0.2. Where they do not settle, the gears are taken without losses.
ROUNDS = 6
# Of the torques in play: a loss that is not less than zero by more than this is not negative but rounded.
ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Holding:
    """What holds a robot still: `input` of each motor, its `torque` [N m] and `state`; `reachable`, whether the
    limits of the motors allow it; `residual`, the largest joint acceleration left [rad/s²], recomputed from the whole
    system."""

    input: Array
    torque: Array
    state: Array
    reachable: bool
    residual: float


class DrivenRobot:
    """A robot behind motors and a transmission.

    `motors`: one, for all joints alike, or a sequence, one per row of the transmission. `transmission`: a
    `Transmission`, or ratios, one per joint; the description's gear ratios if not given. `friction`: the robot's own
    friction and springs count (the motors' bearings always do). `reduced`: inductances are left out.

    Rotor inertia is counted once. Where any motor has an `inertia`, those of the motors replace what the description
    says; where none has, the description's N² J_m stays, on the joints' side. rotors="exact" makes the motors' rotors
    bodies on the links before their joints (`with_rotors`), with gyroscopic effects; it needs one motor per joint and
    gears without losses."""

    # What `flow` takes nothing for, and why.
    flow_refuses: ClassVar[dict[str, str]] = {
        "friction": "whether friction counts is said where a DrivenRobot is made: DrivenRobot(…, friction=True)"
    }

    def __init__(
        self,
        robot: Robot,
        motors: Motor | Sequence[Motor],
        transmission: Transmission | Sequence[float] | None = None,
        *,
        friction: bool = False,
        reduced: bool = False,
        rotors: str = "reflected",
    ) -> None:
        self.robot = plain_tree(robot, "DrivenRobot")
        self.transmission = _transmission(robot, transmission)
        self.motors = _motors(motors, self.transmission, switch("reduced", reduced))
        self.friction = own_friction(robot, friction)
        choose("way of rotors", rotors, ROTORS)
        self.rotors = rotors
        inertias = tuple(m.inertia for m in self.motors)
        if has_rotors(robot) and any(inertias):
            raise InputError(f"{robot.name!r} has rotors as bodies: the motors' inertias would count twice")
        self.model: Model = robot.model
        if any(inertias):
            self.model = without_rotors(robot.model)
        if rotors == "exact":
            self.model = self._exact(inertias)
            inertias = (0.0,) * len(inertias)
        self.inertias = inertias
        need_mass(self.model, self.transmission.reflected(inertias))
        self._lean = lean(self.model)
        self._kernels = Kernels(TABLE, lambda: self, robot.name, robot.joint_names)

    def _exact(self, inertias: tuple[float, ...]) -> Model:
        G = self.transmission
        if not G.diagonal or not G.lossless:
            raise InputError("rotors='exact' needs one motor per joint, and gears without losses")
        names = self.robot.joint_names
        given = {
            name: Rotor(J, row[k])
            for k, (name, J, row) in enumerate(zip(names, inertias, G.matrix, strict=True))
            if J > 0
        }
        return with_rotors(self.robot, given or None, only=True).model

    # --------------------------------------------------------------------------------------------- what it is
    @property
    def name(self) -> str:
        return f"{self.robot.name}, driven"

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @cached_property
    def motor_names(self) -> tuple[str, ...]:
        """The joints' names where each joint has its motor; else motor1, motor2, …"""
        if self.transmission.diagonal:
            return self.robot.joint_names
        return tuple(f"motor{k + 1}" for k in range(len(self.motors)))

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of x: positions, rates, then what the motors remember."""
        joint = self.robot.joint_names
        own = [f"{name}_{s}" for name, motor in self._named_motors for s in motor.states]
        return (*joint, *(f"{name}_rate" for name in joint), *own)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of u: …_voltage, …_command or …_torque."""
        return tuple(f"{name}_{motor.input}" for name, motor in self._named_motors)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each state and input by its name."""
        own = {f"{name}_{s}": UNITS[s] for name, m in self._named_motors for s in (*m.states, m.input)}
        return {**own, **{name: unit for name, unit in self.robot.units.items() if name in self.states}}

    @property
    def _named_motors(self) -> Iterable[tuple[str, Motor]]:
        return zip(self.motor_names, self.motors, strict=True)

    def __repr__(self) -> str:
        return f"<DrivenRobot {self.robot.name!r}: {self.n} joints, {len(self.motors)} motors>"

    # ------------------------------------------------------------------------------------------ over any scalar
    def _split(self, x: Scalars) -> tuple[Scalars, Scalars, list[Scalars]]:
        n = self.n
        own, first = [], 2 * n
        for motor in self.motors:
            own.append(x[first : first + len(motor.states)])
            first += len(motor.states)
        return x[:n], x[n : 2 * n], own

    def _accelerations(self, x: Scalars, u: Scalars, wrenches: Wrenches) -> tuple[list[Scalar], list[Scalar]]:
        """(q̈, p): joint accelerations, and the power that each gear turns into heat [W]."""
        q, qd, own = self._split(x)
        w = self.transmission.to_motors(qd)
        net = [
            motor.torque(state, speed, command) - motor.damping * speed
            for motor, state, speed, command in zip(self.motors, own, w, u, strict=True)
        ]
        still = [0.0] * self.n
        h = self._with_friction(newton_euler.inverse_dynamics(self._lean, q, qd, still, wrenches), q, qd)
        M = composite.mass_matrix(self._lean, q)
        qdd = self._solve(M, h, net, [1.0] * len(net))
        if self.transmission.lossless:
            return qdd, [0.0] * len(net)
        return self._with_losses(M, h, net, w, qdd)

    def _with_losses(
        self, M: Sequence[Scalars], h: Scalars, net: Scalars, w: Scalars, free: list[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """The same with losses, from the accelerations without them: the last round whose gears lose no less than
        nothing, which is the one that agrees with itself."""
        G = self.transmission
        lossy = sum(eta * back < 1.0 for eta, back in zip(G.efficiency, G.backward, strict=True))
        rounds = 1 if lossy == 1 or not any(self.inertias) else min(lossy + 1, ROUNDS)
        guess, qdd = free, free
        loss: list[Scalar] = [0.0] * len(net)
        for _ in range(rounds):
            E = G.transfers([l * s for l, s in zip(self._loads(net, guess), w, strict=True)])
            guess = self._solve(M, h, net, E)
            load = self._loads(net, guess)
            lost = [(1.0 - e) * (l * s) for e, l, s in zip(E, load, w, strict=True)]
            size = linear.total(absolute(t) + absolute(t - l) for t, l in zip(net, load, strict=True))
            least: Scalar = 0.0
            for p, s in zip(lost, w, strict=True):
                least = minimum(p + ROUNDED * (size * absolute(s)), least)
            agrees = least >= 0.0
            qdd = [where(agrees, a, b) for a, b in zip(guess, qdd, strict=True)]
            loss = [where(agrees, a, b) for a, b in zip(lost, loss, strict=True)]
        return qdd, loss

    def _loads(self, net: Scalars, qdd: Scalars) -> list[Scalar]:
        """What the gears take from the motors, τ_load = net − J_m θ̈_m."""
        return [t - I * a for t, I, a in zip(net, self.inertias, self.transmission.to_motors(qdd), strict=True)]

    def _solve(self, M: Sequence[Scalars], h: Scalars, net: Scalars, E: Scalars) -> list[Scalar]:
        """q̈ of (M + Gᵀ E J_m G) q̈ = Gᵀ E net − h."""
        G = self.transmission
        added = G.reflected([e * J for e, J in zip(E, self.inertias, strict=True)])
        total = [[a + b for a, b in zip(row, more, strict=True)] for row, more in zip(M, added, strict=True)]
        force = G.to_joints([e * t for e, t in zip(E, net, strict=True)])
        try:
            return linear.solve_ldl(total, [f - b for f, b in zip(force, h, strict=True)])
        except ZeroDivisionError:
            raise singular_mass(self.model) from None

    def rate(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """ẋ = (q̇, q̈, d/dt of what the motors remember)."""
        return self._rate(x, u, {})

    def _rate(self, x: Scalars, u: Scalars, wrenches: Wrenches) -> list[Scalar]:
        _, qd, own = self._split(x)
        qdd, _ = self._accelerations(x, u, wrenches)
        w = self.transmission.to_motors(qd)
        rows = zip(self.motors, own, w, u, strict=True)
        return [*qd, *qdd, *(r for motor, state, speed, v in rows for r in motor.rates(state, speed, v))]

    def settle(self, t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        """Currents and forces back within their limits."""
        q, qd, own = self._split(x)
        rows = zip(self.motors, self._split(before)[2], own, self.transmission.to_motors(qd), strict=True)
        return [*q, *qd, *(s for motor, was, state, speed in rows for s in motor.settled(was, state, speed))]

    def observe(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """The books, named by `OUTPUTS`: supply_power = losses + d/dt of the energies."""
        return self._observe(x, u, {})

    def _observe(self, x: Scalars, u: Scalars, wrenches: Wrenches) -> list[Scalar]:
        q, qd, own = self._split(x)
        w = self.transmission.to_motors(qd)
        rows = list(zip(self.motors, own, w, u, strict=True))
        powers = [motor.powers(state, speed, v) for motor, state, speed, v in rows]
        bearing = linear.total(motor.damping * (speed * speed) for motor, _, speed, _ in rows)
        bodies = without_rotors(self.model)
        links = energy.kinetic_energy(bodies, q, qd)
        own_rotors = energy.kinetic_energy(self.model, q, qd) - links
        rotor = own_rotors + 0.5 * linear.total(J * (s * s) for J, s in zip(self.inertias, w, strict=True))
        springs = spring_energy(self.model, q) if self.friction else 0.0
        rubbing = friction_loss(self.model, q, qd) if self.friction else 0.0
        supplied = linear.total(p.supply for p in powers)
        return [
            supplied + self._wrench_power(q, qd, wrenches) if wrenches else supplied,
            linear.total(p.mechanical for p in powers),
            linear.total(p.heat for p in powers),
            linear.total(p.conversion for p in powers),
            bearing,
            0.0 if self.transmission.lossless else linear.total(self._accelerations(x, u, wrenches)[1]),
            rubbing,
            links,
            rotor,
            energy.potential_energy(self.model, q),
            springs,
            linear.total(p.stored for p in powers),
        ]

    def _wrench_power(self, q: Scalars, qd: Scalars, wrenches: Wrenches) -> Scalar:
        """Return the power that wrenches supply to the bodies [W]."""
        V = joints.twists(self._lean, joints.poses(self._lean, q), qd)
        return linear.total(V[body].dot(F) for body, F in wrenches.items())

    def flow(self, *, wrenches: Sequence[str] = ()) -> Flow:
        """Return the system as `simulate` takes it: states q, q̇, currents; inputs voltages; outputs the books.

        `wrenches` names the frames at which wrenches act on the robot, τ = M q̈ + c + g − Σ JᵀF, (force, moment) in
        world axes: six more inputs each, after the motors' own. The supply_power of the books includes their power."""
        m = len(self.motors)
        applied = AppliedWrenches(self._lean, need_frames(self._lean, wrenches), m)

        def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return self._rate(x, u[:m], applied.wrenches(x[: self.n], u))

        def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return self._observe(x, u[:m], applied.wrenches(x[: self.n], u))

        limited = any(motor.states for motor in self.motors)
        return Flow(
            self.name,
            self.states,
            (*self.inputs, *applied.inputs),
            rate,
            positions=self.n,
            settle=self.settle if limited else None,
            outputs=OUTPUTS,
            observe=observe,
            drives=m,
            joints=joints_of(self.robot, self.states[self.n : 2 * self.n]),
        )

    # ------------------------------------------------------------------------------------------------ on arrays
    def kernel(self, name: str = "rate", given: Sequence[str] = (), **options: object) -> Kernel:
        """A compiled function, which takes batches: "rate" ẋ(x, u), "mass_matrix", "load" (what the robot at rest asks
        of its drives), and the derivatives "rate_derivatives", "load_derivatives"."""
        return self._kernels.get(name, given, options)

    def linearize(self, x: ArrayLike, u: ArrayLike) -> tuple[Array, Array]:
        """(A, B) of ẋ ≈ f + A δx + B δu about a state.  (..., N, N) and (..., N, m)."""
        state = array("x", x, (..., len(self.states)), meaning=", ".join(self.states))
        A, B = self.kernel("rate_derivatives")(
            state, array("u", u, (..., len(self.inputs)), meaning=", ".join(self.inputs))
        )
        return np.asarray(A), np.asarray(B)

    def linearize_at(
        self, x: ArrayLike | None = None, u: ArrayLike | None = None, *, friction: bool = False
    ) -> Linearization:
        """The same about one whole state x, or q alone, held at rest; u is what holds q if not given."""
        refuse_friction(friction, "DrivenRobot")
        n, N = self.n, len(self.states)
        state = read_state(x, {n: "q, held at rest", N: "the whole state"})
        held = self.holding(state[:n]) if u is None or len(state) == n else None
        if held is not None and len(state) == n:
            state = np.concatenate((state, np.zeros(n), held.state))
        given = held.input if held is not None and u is None else array("u", u, (len(self.inputs),))
        return Linearization(*self.linearize(state, given), state, given, self.states, self.inputs)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q) + Gᵀ J_m G: links and rotors, on the joints' side.  (..., n, n)."""
        return np.asarray(self.kernel("mass_matrix")(array("q", q, (..., self.n), meaning="one per joint")))

    def holding(self, q: ArrayLike) -> Holding:
        """The inputs that hold the robot still at q against gravity and springs, gears taken without losses (at rest no
        power flows). Refused where the motors do not drive every joint."""
        x = array("q", q, (self.n,), meaning="one per joint")
        torque = self.transmission.motor_torque(self._load(x.tolist()))
        pairs = [motor.input_for(float(t), 0.0) for motor, t in zip(self.motors, torque, strict=True)]
        u = [v for v, _ in pairs]
        own = [s for _, state in pairs for s in state]
        state = [*x.tolist(), *[0.0] * self.n, *own]
        made = [motor.resting_torque(v) for motor, v in zip(self.motors, u, strict=True)]
        allowed = bool((np.abs(np.array(made) - torque) <= WITHIN * np.abs(torque)).all())
        left = np.abs(np.array(self.rate(0.0, state, u), float)[self.n :]).max()
        return Holding(np.array(u), torque, np.array(own), allowed, float(left))

    def _load(self, q: Scalars) -> list[Scalar]:
        """g(q), and the springs if friction counts: what a robot at rest asks of its drives."""
        return self._with_friction(newton_euler.gravity_torque(self._lean, q), q, [0.0] * self.n)

    def _with_friction(self, tau: list[Scalar], q: Scalars, qd: Scalars) -> list[Scalar]:
        if not self.friction:
            return tau
        return [a + b for a, b in zip(tau, friction.friction_torque(self.model, q, qd), strict=True)]

    def equilibrium(self, u: ArrayLike, q0: ArrayLike) -> Equilibrium:
        """Where the robot rests under constant inputs: g(q) + springs = Gᵀ τ_m(u), searched from q0."""
        command = array("u", u, (len(self.inputs),), meaning=", ".join(self.inputs))  # one state at a time
        start = array("q0", q0, (self.n,), meaning="one per joint")
        torque = [motor.resting_torque(v) for motor, v in zip(self.motors, command.tolist(), strict=True)]
        wanted = np.array(self.transmission.to_joints(torque), float)
        load, stiffness = self.kernel("load"), self.kernel("load_derivatives")
        size = max(float(np.abs(wanted).max()), float(np.abs(load(start)).max()), 1e-9)
        return balance(lambda q: np.asarray(load(q)) - wanted, lambda q: np.asarray(stiffness(q)), start, 1e-11 * size)


def _mass(s: DrivenRobot, a: Arguments, o: Options) -> list[list[Scalar]]:
    rotors = s.transmission.reflected(s.inertias)
    links = composite.mass_matrix(s._lean, a["q"])
    return [[x + y for x, y in zip(row, more, strict=True)] for row, more in zip(links, rotors, strict=True)]


_RATE: Row[DrivenRobot] = Row(("x", "u"), lambda s, a, o: s.rate(0.0, a["x"], a["u"]), lambda s, o: ((len(s.states),),))
_LOAD: Row[DrivenRobot] = Row(("q",), lambda s, a, o: s._load(a["q"]), lambda s, o: ((s.n,),))
TABLE: KernelTable[DrivenRobot] = KernelTable(
    {
        "rate": _RATE,
        "rate_derivatives": replace(_RATE, derivative=("x", "u")),
        "mass_matrix": Row(("q",), _mass, lambda s, o: ((s.n, s.n),)),
        "load": _LOAD,
        "load_derivatives": replace(_LOAD, derivative=("q",)),
    },
    lambda s, o: {"x": (len(s.states),), "u": (len(s.inputs),), "q": (s.n,)},
    lambda s, name: singular_mass(s.model),
)


def _transmission(robot: Robot, given: Transmission | Sequence[float] | None) -> Transmission:
    if given is None:
        ratio = {joint.name: joint.drive.gear_ratio for joint in robot.description.joints}
        return Transmission(np.diag([ratio[name] for name in robot.joint_names]))
    found = given if isinstance(given, Transmission) else Transmission.gears(_listed(given))
    if found.joints != robot.n:
        raise InputError(
            f"the transmission has {found.joints} joints and {robot.name!r} has {robot.n}: give a column per joint"
        )
    return found


def _listed(given: Iterable[T]) -> list[T]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"give one per joint, in a sequence; got {given!r}") from None


def _motors(given: Motor | Sequence[Motor], transmission: Transmission, reduced: bool) -> tuple[Motor, ...]:
    each = [given] * transmission.motors if isinstance(given, Motor) else _listed(given)
    for motor in each:
        of_kind(motor, Motor, "a motor must be a DCMotor, a FluidDrive or a TorqueSource, got")
    if len(each) != transmission.motors:
        raise InputError(f"{len(each)} motors were given, and the transmission has {transmission.motors}")
    return tuple(m.reduced() if reduced and isinstance(m, DCMotor) else m for m in each)
