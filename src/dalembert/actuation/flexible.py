"""Flexible joints: a spring between each motor and its link, and twice the coordinates.

    M(q) q̈ + c(q, q̇) + g(q) + K (q − θ) + D (q̇ − θ̇) = 0
    B θ̈ − K (q − θ) − D (q̇ − θ̇) = τ

q are the links' positions, θ the motors' on the joints' side of the gears, B = N² J_m. M is that of the links alone:
the rotors turn with θ. Spong 1987; as there, the rotors' kinetic energy counts their own spin only (no coupling with
the motion of the links that carry them: see `rotors` for that, with stiff joints).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.actuation.motors import Scalars
from dalembert.actuation.rotors import has_rotors, without_rotors
from dalembert.actuation.values import RATIO, Equilibrium, balance, per_joint, plain_tree, refuse_friction
from dalembert.algorithms import composite, energy, friction, joints, linear, newton_euler
from dalembert.arguments import Array, array, read_wrenches, switch
from dalembert.compile import Kernel
from dalembert.errors import InputError
from dalembert.flow import Flow
from dalembert.flows.books import AppliedWrenches, friction_loss, joints_of, need_frames, own_friction, spring_energy
from dalembert.kernels import all_wrenches, need_mass, read_frames, singular_mass, wrench_names
from dalembert.model.lean import lean
from dalembert.robot import Robot
from dalembert.scalar.jet import Jet
from dalembert.spatial import Force
from dalembert.system import Arguments, Kernels, KernelTable, Linearization, Options, Row, Shape, read_state

Scalar = Any

ENERGIES = ("kinetic_energy", "rotor_energy", "potential_energy", "spring_energy")
OUTPUTS = ("input_power", "damping_loss", "friction_loss", *ENERGIES)
# Relative to the torques in play: where forces are taken to balance.
BALANCED = 1e-11


@dataclass(frozen=True, eq=False)
class Modes:
    """Small oscillations about a resting position. `locked_squares` (n,): ω² [rad²/s²] with the motors held, the
    antiresonances of a joint seen from its motor; `free_squares` (2n,): ω² with the motors free, n of them zero (the
    robot moves as a whole) without gravity. `shapes` (2n, 2n): columns (q, θ) of the free modes, scaled to unit modal
    mass."""

    locked_squares: Array
    free_squares: Array
    shapes: Array

    @property
    def locked(self) -> Array:
        """Antiresonances [rad/s], rising; NaN where the position is not stable."""
        return _roots(self.locked_squares)

    @property
    def free(self) -> Array:
        """Resonances [rad/s], rising, those of the rigid motion first; NaN where the position is not stable."""
        return _roots(self.free_squares)


def _roots(squares: Array) -> Array:
    # Rounding of an eigenvalue solver leaves a zero at ± this part of the largest.
    small = np.abs(squares) <= 1e-12 * np.abs(squares).max()
    return np.sqrt(np.where(small, 0.0, np.where(squares < 0, np.nan, squares)))


@dataclass(frozen=True, eq=False)
class FlexibleMotion:
    """What makes the links of a flexible robot follow a motion: motor positions `theta`, their rates `theta_d` and
    accelerations `theta_dd`, and the torques `tau`, all (..., n)."""

    theta: Array
    theta_d: Array
    theta_dd: Array
    tau: Array


class FlexibleRobot:
    """A robot with a spring in every joint.

    `stiffness` K [N m/rad; N/m at a slide] and `damping` D [N m s/rad; N s/m] of the joints, `rotor_inertia` J_m
    [kg m²] and `gear_ratio` N [–; rad/m] of the motors, below zero where they turn the other way: one number, or one
    per joint. Rotors and ratios not given are the description's.
    `reflected_inertia` is B = N² J_m. `friction`: the links' own friction and springs count. Inputs τ are on the
    joints' side, N times the motors' torques."""

    # What `flow` takes nothing for, and why.
    flow_refuses: ClassVar[dict[str, str]] = {
        "friction": "whether friction counts is said where a FlexibleRobot is made: FlexibleRobot(…, friction=True)"
    }

    def __init__(
        self,
        robot: Robot,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        rotor_inertia: ArrayLike | None = None,
        gear_ratio: ArrayLike | None = None,
        *,
        friction: bool = False,
    ) -> None:
        self.robot = plain_tree(robot, "FlexibleRobot")
        if has_rotors(robot):
            raise InputError(f"{robot.name!r} has rotors as bodies, which turn with the links: give it without them")
        self.stiffness = per_joint("stiffness", stiffness, robot, ("N m/rad", "N/m"), above=0.0)
        self.damping = per_joint("damping", damping, robot, ("N m s/rad", "N s/m"), least=0.0)
        self.reflected_inertia = _rotors(robot, rotor_inertia, gear_ratio)
        self.friction = own_friction(robot, friction)
        self.model = without_rotors(robot.model)
        need_mass(self.model)
        self._lean = lean(self.model)
        self._kernels = Kernels(TABLE, lambda: self, robot.name, robot.joint_names)

    # --------------------------------------------------------------------------------------------- what it is
    @property
    def name(self) -> str:
        return f"{self.robot.name}, flexible joints"

    @property
    def n(self) -> int:
        """Number of joints; there are 2n positions."""
        return self.model.n

    @property
    def states(self) -> tuple[str, ...]:
        """Names of x = (q, θ, q̇, θ̇)."""
        names = self.robot.joint_names
        return tuple(f"{name}{what}" for what in ("", "_motor", "_rate", "_motor_rate") for name in names)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the torques on the motors, on the joints' side."""
        return tuple(f"{name}_torque" for name in self.robot.joint_names)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each state and input by its name; a motor's are its link's."""
        own = self.robot.units
        pairs = [(joint, end) for joint in self.robot.joint_names for end in ("", "_rate")]
        return {**own, **{f"{joint}_motor{end}": own[f"{joint}{end}"] for joint, end in pairs}}

    def __repr__(self) -> str:
        return f"<FlexibleRobot {self.robot.name!r}: {self.n} joints, {4 * self.n} states>"

    # ------------------------------------------------------------------------------------------ over any scalar
    def joint_torque(self, q: Scalars, theta: Scalars, qd: Scalars, theta_d: Scalars) -> list[Scalar]:
        """K (θ − q) + D (θ̇ − q̇): what the springs bring to the links."""
        rows = zip(self.stiffness, self.damping, q, theta, qd, theta_d, strict=True)
        return [k * (m - x) + d * (w - v) for k, d, x, m, v, w in rows]

    def rate(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """ẋ = (q̇, θ̇, q̈, θ̈): the springs drive the links, inputs less springs the rotors."""
        return self._rate(x, u, {})

    def _rate(self, x: Scalars, u: Scalars, wrenches: Mapping[int, Force]) -> list[Scalar]:
        n = self.n
        q, theta, qd, theta_d = x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n :]
        spring = self.joint_torque(q, theta, qd, theta_d)
        try:
            M, load = composite.mass_matrix(self._lean, q), self._load(q, qd, wrenches)
            qdd = linear.solve_ldl(M, [s - h for s, h in zip(spring, load, strict=True)])
        except ZeroDivisionError:
            raise singular_mass(self.model) from None
        theta_dd = [(tau - s) / B for tau, s, B in zip(u, spring, self.reflected_inertia, strict=True)]
        return [*qd, *theta_d, *qdd, *theta_dd]

    def _load(self, q: Scalars, qd: Scalars, wrenches: Mapping[int, Force] | None = None) -> list[Scalar]:
        h = newton_euler.inverse_dynamics(self._lean, q, qd, [0.0] * self.n, wrenches)
        return self._with_friction(h, q, qd)

    def _with_friction(self, tau: list[Scalar], q: Scalars, qd: Scalars) -> list[Scalar]:
        if not self.friction:
            return tau
        return [a + b for a, b in zip(tau, friction.friction_torque(self.model, q, qd), strict=True)]

    def observe(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """Powers [W] and energies [J], named by `OUTPUTS`: input_power = losses + d/dt of the energies."""
        n = self.n
        q, theta, qd, theta_d = x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n :]
        springs: Scalar = 0.0
        loss: Scalar = 0.0
        for k, d, a, b, v, w in zip(self.stiffness, self.damping, q, theta, qd, theta_d, strict=True):
            springs = springs + 0.5 * k * ((a - b) * (a - b))
            loss = loss + d * ((v - w) * (v - w))
        rotor = 0.5 * linear.inner(self.reflected_inertia, [w * w for w in theta_d])
        rubbing: Scalar = 0.0
        if self.friction:
            springs = springs + spring_energy(self.model, q)
            rubbing = friction_loss(self.model, q, qd)
        return [
            linear.inner(u, theta_d),
            loss,
            rubbing,
            energy.kinetic_energy(self.model, q, qd),
            rotor,
            energy.potential_energy(self.model, q),
            springs,
        ]

    def flow(self, *, wrenches: Sequence[str] = ()) -> Flow:
        """Return the system as `simulate` takes it: positions (q, θ), their rates; inputs τ; outputs the energies.

        `wrenches` names the frames at which wrenches act on the links, τ = M q̈ + c + g − Σ JᵀF, (force, moment) in
        world axes: six more inputs each, after τ. The input_power includes their power."""
        n = self.n
        applied = AppliedWrenches(self._lean, need_frames(self._lean, wrenches), n)

        def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            return self._rate(x, u[:n], applied.wrenches(x[:n], u))

        def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
            power, *others = self.observe(t, x, u[:n])
            return [power + applied.power(x[:n], x[2 * n : 3 * n], u), *others]

        return Flow(
            self.name,
            self.states,
            (*self.inputs, *applied.inputs),
            rate if applied.frames else self.rate,
            positions=2 * n,
            outputs=OUTPUTS,
            observe=observe if applied.frames else self.observe,
            drives=n,
            start=self._begin,
            joints=joints_of(self.robot, self.states[2 * self.n : 3 * self.n]),
        )

    def _begin(self, q: Array, qd: Array) -> Array:
        """(q, θ) as given, or the motors where the springs carry gravity."""
        place = q if q.shape[-1] == 2 * self.n else np.concatenate((q, self.motor_positions(q)), -1)
        return np.concatenate((place, qd if qd.shape[-1] == 2 * self.n else np.concatenate((qd, qd), -1)), -1)

    # ------------------------------------------------------------------------------------------------ on arrays
    def kernel(self, name: str = "rate", given: Sequence[str] = (), **options: object) -> Kernel:
        """A compiled function, which takes batches: "rate" ẋ(x, u) and "rate_derivatives", "inverse_dynamics",
        "static_load" (what the springs carry at rest) and "static_load_derivatives", "rigid_acceleration"."""
        return self._kernels.get(name, given, options)

    def forward_dynamics(
        self, q: ArrayLike, theta: ArrayLike, qd: ArrayLike, theta_d: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array]:
        """(q̈, θ̈), each (..., n)."""
        arrays = np.broadcast_arrays(*self._vectors(q=q, theta=theta, qd=qd, theta_d=theta_d, tau=tau))
        out = np.asarray(self.kernel("rate")(np.concatenate(arrays[:4], axis=-1), arrays[4]))
        return out[..., 2 * self.n : 3 * self.n], out[..., 3 * self.n :]

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, qdddd: ArrayLike
    ) -> FlexibleMotion:
        """What moves the links along q(t), from its derivatives up to the fourth: θ = q + K⁻¹ (M q̈ + h) and
        τ = B θ̈ + K (θ − q), all in closed form.  De Luca 1988 (the links' positions are a flat output).

        With damping in the joints θ follows from a differential equation instead, and this is refused."""
        if any(self.damping):
            raise InputError(
                "with damping in the joints the motors' positions are not determined by the links' motion alone: "
                "inverse dynamics needs damping=0"
            )
        given = self._vectors(q=q, qd=qd, qdd=qdd, qddd=qddd, qdddd=qdddd)
        found = self.kernel("inverse_dynamics")(*given)
        return FlexibleMotion(*(np.asarray(x) for x in found))

    def linearize(self, x: ArrayLike, u: ArrayLike) -> tuple[Array, Array]:
        """(A, B) of ẋ ≈ f + A δx + B δu about a state.  (..., 4n, 4n) and (..., 4n, n)."""
        state = array("x", x, (..., 4 * self.n), meaning="(q, θ, q̇, θ̇)")
        A, B = self.kernel("rate_derivatives")(state, self._vector("u", u))
        return np.asarray(A), np.asarray(B)

    def linearize_at(
        self, x: ArrayLike | None = None, u: ArrayLike | None = None, *, friction: bool = False
    ) -> Linearization:
        """The same about one state x = (q, θ, q̇, θ̇), or q of the links alone at rest; u balances the springs if not
        given."""
        refuse_friction(friction, "FlexibleRobot")
        n = self.n
        state = read_state(x, {n: "q of the links, at rest", 4 * n: "(q, θ, q̇, θ̇)"})
        if len(state) == n:
            state = np.concatenate((state, self.motor_positions(state), np.zeros(2 * n)))
        balancing = np.array(self.stiffness) * (state[n : 2 * n] - state[:n])
        given = balancing if u is None else array("u", u, (n,))
        return Linearization(*self.linearize(state, given), state, given, self.states, self.inputs)

    # -------------------------------------------------------------------------------------------------- statics
    def _static_load(self, wrenches: Mapping[str, ArrayLike] | None) -> tuple[Kernel, Kernel, tuple[Array, ...]]:
        """Return the kernel of the torque that the springs carry at rest, its derivative, and the wrenches."""
        frames, given = read_wrenches(wrenches)
        values = tuple(
            array(f"wrenches[{frame!r}]", F, (..., 6), meaning="(force, moment)")
            for frame, F in zip(frames, given, strict=True)
        )
        for frame in frames:
            self.model.frame(frame)
        load, slope = (self.kernel(f"static_load{end}", wrenches=frames) for end in ("", "_derivatives"))
        return load, slope, values

    def motor_positions(self, q: ArrayLike, *, wrenches: Mapping[str, ArrayLike] | None = None) -> Array:
        """Return θ = q + K⁻¹ (g(q) − Σ JᵀF), where the motors must stand for the links to rest at q.  (..., n).

        `wrenches` {"frame": (force, moment)} act on the links, in world axes."""
        load, _, F = self._static_load(wrenches)
        x = self._vector("q", q)
        return np.asarray(x + np.asarray(load(x, *F)) / np.array(self.stiffness))

    def deflection(self, theta: ArrayLike, *, wrenches: Mapping[str, ArrayLike] | None = None) -> Equilibrium:
        """Return where the links rest when the motors stand at θ: K (q − θ) + g(q) − Σ JᵀF = 0, searched from q = θ.

        `wrenches` {"frame": (force, moment)} act on the links, in world axes. q − θ is the deflection."""
        start = self._vector("theta", theta)
        load, slope, F = self._static_load(wrenches)
        for name, x in (("theta", start), *(("wrenches", x) for x in F)):
            if x.ndim != 1:
                raise InputError("wrong-shape", name, x, expected="of one state, without leading dimensions")
        K = np.array(self.stiffness)
        size = max(float(np.abs(load(start, *F)).max()), float(K.max()) * 1e-3)
        return balance(
            lambda q: K * (q - start) + np.asarray(load(q, *F)),
            lambda q: np.diag(K) + np.asarray(slope(q, *F)),
            start,
            BALANCED * size,
        )

    # ------------------------------------------------------------------------------------------------ vibration
    def modes(self, q: ArrayLike, *, gravity: bool = False) -> Modes:
        """Small undamped oscillations about the links' resting position q: eigenvalues of the pencils (K [+ ∂g/∂q],
        M) with the motors held, and ([[K [+ ∂g/∂q], −K], [−K, K]], diag(M, B)) with the motors free.

        For one joint √(K/J_l) and √(K (1/J_l + 1/B))."""
        x = array("q", q, (self.n,), meaning="one per joint")
        n = self.n
        M = np.array(composite.mass_matrix(self.model, x.tolist()), float)
        K = np.diag(self.stiffness)
        stiff = K
        if switch("gravity", gravity):
            slope = np.asarray(self.kernel("static_load_derivatives")(x))
            stiff = K + (slope + slope.T) / 2
        inertia = np.zeros((2 * n, 2 * n))
        inertia[:n, :n], inertia[n:, n:] = M, np.diag(self.reflected_inertia)
        locked, _ = _pencil(stiff, M, self)
        free, shapes = _pencil(np.block([[stiff, -K], [-K, K]]), inertia, self)
        return Modes(locked, free, shapes)

    def slow_motor_positions(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """θ for which nothing vibrates at first: the springs carry what they would in the rigid robot of inertia M + B,
        K (θ − q) = τ − B q̈ with (M + B) q̈ = τ − h.  (..., n).  The slow manifold to first order in 1/K."""
        x, v, u = np.broadcast_arrays(*self._vectors(q=q, qd=qd, tau=tau))
        qdd = np.asarray(self.kernel("rigid_acceleration")(x, v, u))
        return np.asarray(x + (u - np.array(self.reflected_inertia) * qdd) / np.array(self.stiffness))

    def rigid_acceleration(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """q̈ of the robot with stiff joints, (M + B) q̈ + c + g = τ: what K → ∞ tends to, as 1/K.  (..., n)."""
        return np.asarray(self.kernel("rigid_acceleration")(*self._vectors(q=q, qd=qd, tau=tau)))

    def _vector(self, name: str, value: ArrayLike) -> Array:
        return array(name, value, (..., self.n), meaning="one per joint")

    def _vectors(self, **named: ArrayLike) -> list[Array]:
        return [self._vector(name, value) for name, value in named.items()]


# ------------------------------------------------------------------------------------------------------- its kernels
def _inverse(s: FlexibleRobot, a: Arguments, o: Options) -> tuple[list[Scalar], ...]:
    """θ, θ̇, θ̈, τ from the links' motion: the springs' torque M q̈ + h and its first two rates, run on jets."""
    q, qd, qdd, jerk, snap = a.values()
    position = [Jet(*row) for row in zip(q, qd, qdd, strict=True)]
    rate = [Jet(*row) for row in zip(qd, qdd, jerk, strict=True)]
    second = [Jet(*row) for row in zip(qdd, jerk, snap, strict=True)]
    torque = s._with_friction(newton_euler.inverse_dynamics(s._lean, position, rate, second), position, rate)
    theta = [x + t * (1.0 / k) for x, t, k in zip(position, torque, s.stiffness, strict=True)]
    tau = [B * m.acceleration + t.value for B, m, t in zip(s.reflected_inertia, theta, torque, strict=True)]
    return [m.value for m in theta], [m.rate for m in theta], [m.acceleration for m in theta], tau


def _static_load(s: FlexibleRobot, a: Arguments, o: Options) -> list[Scalar]:
    """Return what the springs carry at rest: g(q) − Σ JᵀF [+ the links' own springs]."""
    q, zero = a["q"], [0.0] * s.n
    load = newton_euler.inverse_dynamics(s.model, q, zero, zero, all_wrenches(s.model, a, o))
    return s._with_friction(load, q, zero)


def _rigid(s: FlexibleRobot, a: Arguments, o: Options) -> list[Scalar]:
    """q̈ of the limit K → ∞: (M + B) q̈ + h = τ."""
    M, B = composite.mass_matrix(s._lean, a["q"]), s.reflected_inertia
    M = [[m + (B[i] if i == j else 0.0) for j, m in enumerate(row)] for i, row in enumerate(M)]
    return linear.solve_ldl(M, [t - h for t, h in zip(a["tau"], s._load(a["q"], a["qd"]), strict=True)])


def _vectors(count: int) -> Callable[[FlexibleRobot, Options], tuple[Shape, ...]]:
    return lambda s, o: ((s.n,),) * count


_RATE: Row[FlexibleRobot] = Row(("x", "u"), lambda s, a, o: s.rate(0.0, a["x"], a["u"]), lambda s, o: ((4 * s.n,),))
_STATIC: Row[FlexibleRobot] = Row(("q",), _static_load, _vectors(1), {"wrenches": ()})
TABLE: KernelTable[FlexibleRobot] = KernelTable(
    {
        "rate": _RATE,
        "rate_derivatives": replace(_RATE, derivative=("x", "u")),
        "inverse_dynamics": Row(("q", "qd", "qdd", "qddd", "qdddd"), _inverse, _vectors(4)),
        "static_load": _STATIC,
        "static_load_derivatives": replace(_STATIC, derivative=("q",)),
        "rigid_acceleration": Row(("q", "qd", "tau"), _rigid, _vectors(1)),
    },
    lambda s, o: {
        "x": (4 * s.n,),
        **dict.fromkeys(wrench_names(o), (6,)),
        **dict.fromkeys(("u", "q", "qd", "qdd", "qddd", "qdddd", "tau"), (s.n,)),
    },
    lambda s, name: singular_mass(s.model),
    read=lambda row, option, value: read_frames(value),
    added=wrench_names,
)


def _pencil(K: Array, M: Array, owner: FlexibleRobot) -> tuple[Array, Array]:
    """(λ, X) with K X = M X diag(λ), Xᵀ M X = 1, λ rising."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise singular_mass(owner.model) from None
    inverse = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(inverse @ K @ inverse.T)
    return np.asarray(values), np.asarray(inverse.T @ vectors)


def _rotors(robot: Robot, inertia: ArrayLike | None, ratio: ArrayLike | None) -> tuple[float, ...]:
    """B = N² J_m per coordinate; a mimic joint's rotor, if the description gives it one, turns with its master's."""
    names = robot.joint_names
    if inertia is None:
        if ratio is not None:
            raise InputError("a gear_ratio comes with a rotor_inertia: give both, or neither for the description's")
        unit = [b.rotor_inertia * b.multiplier for b in robot.model.bodies]
        B = [float(x) for x in joints.gather(robot.model, unit)]
        for name, x in zip(names, B, strict=True):
            if not x > 0:
                raise InputError(
                    f"joint {name!r} of {robot.name!r} has no rotor inertia, and a motor behind a spring needs one: "
                    "give rotor_inertia="
                )
        return tuple(B)
    J = per_joint("rotor inertia", inertia, robot, ("kg m²", "kg m²"), above=0.0)
    drives = {joint.name: joint.drive.gear_ratio for joint in robot.description.joints}
    if ratio is None:
        N = tuple(drives[name] for name in names)
    else:
        N = per_joint("gear ratio", ratio, robot, RATIO, nonzero=True)
    return tuple(x * x * y for x, y in zip(N, J, strict=True))
