"""Control where the tool is: computed torque and impedance in task coordinates.

    computed torque   ẍ = ẍ_d + K_d ė + K_p e                                        e = x_d − x
    impedance         M_d (ẍ_d − ẍ) + D ė + K e = −F_ext, with the force measured
                      M_C (ẍ_d − ẍ) + C_C ė + D ė + K e = −F_ext, without: the arm keeps its own inertia

Accelerations become torques by q̈ = J̄ (ẍ − J̇ q̇) + N q̈₀, τ = M q̈ + c + g, with J̄ = M⁻¹JᵀM_C and N = I − J̄J: where there
are more joints than coordinates, q̈₀ damps the motion that the task does not feel, and pulls it to a posture.

The coordinates are where a frame is, and its Euler angles, as many of them as are wanted:
x = (p_x, p_y, p_z, α₁, α₂, α₃), ẋ = J_a q̇, ẍ = J_a q̈ + J̇_a q̇.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.algorithms import composite, jacobians, kinematics, linear, newton_euler, task_space as terms
from dalembert.arguments import array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.computed_torque import set_acceleration_gains
from dalembert.control.conditions import HOLDS, UNKNOWN, Condition, Conditions, above, assumed, exact_model, positive
from dalembert.control.controller import Controller, split, sub, total
from dalembert.control.diagrams import TASK
from dalembert.control.gains import Applied, Gain, Gains, must
from dalembert.control.sensors import SENSED
from dalembert.errors import InputError, SingularityError, choose
from dalembert.flow import Scalar, Scalars, wrench_inputs as wrench_inputs
from dalembert.kinematics.jacobian import moving_part
from dalembert.law import Law
from dalembert.model import Frame, Model
from dalembert.robot import Robot
from dalembert.spatial import rotation

ROW = must(of="row")
ONE = must(zero=True, of="")
SINGULAR = 1e-12  # of the largest singular value of J: the smallest is zero but for rounding
NAMES = ("x", "y", "z", "a1", "a2", "a3")
# The words of motion functions as far as they mean coordinates: ω is the rate of none, so that wx, wy and wz are not.
WORDS: dict[str, tuple[int, ...]] = {
    "position": (0, 1, 2),
    "orientation": (3, 4, 5),
    "planar": (0, 1, 3),
    "pose": (0, 1, 2, 3, 4, 5),
    **{name: (k,) for k, name in enumerate(NAMES)},
    **{f"v{name}": (k,) for k, name in enumerate(NAMES[:3])},
}


@dataclass(frozen=True)
class TaskCoordinates:
    """Which coordinates (`rows` of NAMES) of which frame, and the Euler sequence of its angles."""

    frame: Frame
    rows: tuple[int, ...]
    angles: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(NAMES[k] for k in self.rows)

    @property
    def turning(self) -> bool:
        return any(k >= 3 for k in self.rows)

    def position(self, model: Model, q: Scalars) -> list[Scalar]:
        T = kinematics.frame_pose(model, q, self.frame)
        x = list(T.p)
        if self.turning:
            x += [scalar.arctan2(s, c) for c, s in rotation.euler_cos_sin(T.R, self.angles)]
        return [x[k] for k in self.rows]

    def jacobian(self, model: Model, q: Scalars) -> list[list[Scalar]]:
        turned = jacobians.analytic_jacobian
        J = turned(model, q, self.frame, self.angles) if self.turning else jacobians.jacobian(model, q, self.frame)
        return [J[k] for k in self.rows]

    def jacobian_dot(self, model: Model, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
        J = (
            jacobians.analytic_jacobian_dot(model, q, qd, self.frame, self.angles)
            if self.turning
            else jacobians.jacobian_dot(model, q, qd, self.frame)
        )
        return [J[k] for k in self.rows]

    def error(self, wanted: Scalars, x: Scalars) -> list[Scalar]:
        """x_d − x, angles the short way round."""
        return [
            scalar.arctan2(scalar.sin(a - b), scalar.cos(a - b)) if k >= 3 else a - b
            for k, a, b in zip(self.rows, wanted, x, strict=True)
        ]

    def generalized(self, model: Model, q: Scalars, wrench: Scalars) -> list[Scalar]:
        """A wrench (f, n) at the frame, world axes, as a force on these coordinates: (f, Bᵀn), for n·ω = n·B α̇."""
        force = list(wrench[:3])
        if self.turning:
            T = kinematics.frame_pose(model, q, self.frame)
            B = rotation.euler_rates(rotation.euler_cos_sin(T.R, self.angles), self.angles)
            force += linear.apply(linear.transposed(B), wrench[3:])
        return [force[k] for k in self.rows]


def read_coordinates(model: Model, frame: str | None, rows: object, angles: str) -> TaskCoordinates:
    """The coordinates that a user means: a word or several of WORDS, or six truth values."""
    given = [rows] if isinstance(rows, str) else list(rows) if isinstance(rows, Iterable) else []
    if len(given) == len(NAMES) and all(str(x) in ("True", "False") for x in given):
        given = [name for name, wanted in zip(NAMES, given, strict=True) if wanted]
    if not given:
        raise InputError(
            "wrong-type", "rows", rows, expected=f"one or more of the words {', '.join(WORDS)}, or six truth values"
        )
    for word in given:
        choose("rows", word, WORDS)
    picked = tuple(dict.fromkeys(k for word in given for k in WORDS[word]))
    choose("Euler sequence", angles, ("rpy", *rotation.EULER_SEQUENCES))
    if len(picked) > model.n:
        raise InputError(
            "conflict",
            "rows",
            len(picked),
            problem=f"{model.name!r} has {model.n} joints and cannot follow {len(picked)} rows",
            remedy="Name fewer rows.",
        )
    return TaskCoordinates(model.frame(frame), picked, angles)


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskController(Controller):
    """What controllers of a task share: its coordinates, and what is done with the joints that it leaves free."""

    rows: Any = "position"
    frame: str | None = None
    angles: str = "zyx"
    null_damping: Any = field(default=2.0, metadata=ONE)
    posture: Any = None
    posture_stiffness: Any = field(default=0.0, metadata=ONE)

    @cached_property
    def task(self) -> TaskCoordinates:
        return read_coordinates(self.robot.model, self.frame, self.rows, self.angles)

    @property
    def null_gains(self) -> tuple[Gain, ...]:
        """Of what the task leaves free; none if it leaves nothing."""
        if len(self.task.rows) == self.robot.n:
            return ()
        return (self.null_damping, self.posture_stiffness)

    def check_system(self) -> None:
        """Looks at what was given of the free joints; sets `posture` to n numbers."""
        super().check_system()
        given = np.zeros(self.robot.n) if self.posture is None else self.posture
        posture = array("posture", given, (self.robot.n,), meaning="one per joint")
        object.__setattr__(self, "posture", tuple(posture.tolist()))

    def names_for(self, of: str) -> Sequence[str]:
        return self.task.names

    def accelerations(
        self, q: Scalars, qd: Scalars, wanted: Scalars, found: _TaskState, null: Sequence[Applied]
    ) -> list[Scalar]:
        """q̈ = J̄ (ẍ − J̇ q̇) + N q̈₀."""
        qdd = linear.apply(found.J_bar, sub(wanted, linear.apply(found.J_dot, qd)))
        if not null:
            return qdd
        (damping,), (stiffness,) = (g.p for g in null)
        free = [stiffness * (p - x) - damping * v for p, x, v in zip(self.posture, q, qd, strict=True)]
        return total(qdd, sub(free, linear.apply(found.J_bar, linear.apply(found.J, free))))

    @cached_property
    def _jacobian(self) -> Kernel:
        shape = (len(self.task.rows), self.robot.n)
        model, task = self.robot.model, self.task
        return compile_function(
            lambda q: task.jacobian(model, q), [(self.robot.n,)], [shape], "task Jacobian", arguments=("q",)
        )

    def at(self, q: Scalars, qd: Scalars) -> _TaskState:
        model = self.robot.model
        J, J_dot = self.task.jacobian(model, q), self.task.jacobian_dot(model, q, qd)
        found = terms.consistent_inverse(composite.mass_matrix(model, q), J)
        return _TaskState(self.task.position(model, q), linear.apply(J, qd), J, J_dot, found.J_bar)

    def check_state(self, q: ArrayLike) -> None:
        """Refused where the task is singular, and no torque does what is asked."""
        with np.errstate(divide="ignore", invalid="ignore"):
            J = np.asarray(self._jacobian(array("q", q, (..., self.robot.n), meaning="one per joint")))
        known = np.isfinite(J).all(axis=(-2, -1))
        sizes = np.linalg.svd(np.where(known[..., None, None], J, 0.0), compute_uv=False)
        lost = ~known | (sizes[..., -1] <= SINGULAR * sizes[..., 0])
        if lost.any():
            k = np.argwhere(lost)[0].tolist()
            raise SingularityError(
                "singular",
                problem=f"the task {', '.join(self.task.names)} of {self.robot.name!r} is singular"
                + (f" in state {k} of the batch" if k else " in this state")
                + ": J does not have full rank, so no torque gives the tool every acceleration",
            )

    def null_conditions(self) -> tuple[Condition, ...]:
        rank = assumed("J keeps full rank along the motion", "robot.singularities tells where it does not")
        if not self.null_gains:
            return (rank,)
        return (rank, above("the free joints are damped", self.null_gains[0].values[0], 0.0, ("damping", "needed")))


@dataclass(frozen=True)
class _TaskState:
    x: list[Scalar]
    xd: list[Scalar]
    J: list[list[Scalar]]
    J_dot: list[list[Scalar]]
    J_bar: list[list[Scalar]]


@dataclass(frozen=True, eq=False)
class TaskComputedTorque(TaskController):
    """ë + K_d ė + K_p e = 0 in task coordinates: `rows` of a frame's position and Euler angles.

    `rows`: "position", "orientation", "planar" (x, y and the first angle), "pose", one or several of x, y, z (or vx,
    vy, vz, as of motion functions), a1, a2, a3, or six truth values; `angles` is the Euler sequence. Gains as in
    `ComputedTorque`, one per row. `null_damping` [1/s], `posture` and `posture_stiffness` [1/s²] act on what the task
    leaves free. The reference is in the task's coordinates."""

    robot: Robot
    _: KW_ONLY
    kp: Any = None
    kd: Any = None
    omega: Any = None
    zeta: Any = 1.0

    equation: ClassVar[str] = "τ = M q̈ + c + g, q̈ = J̄ (ẍ_d + K_d ė + K_p e − J̇ q̇) + (I − J̄ J) q̈₀"
    source: ClassVar[str] = "the error obeys ë + K_d ė + K_p e = 0; Khatib 1987"
    drawn = ("Computed torque control in task space", TASK, "τ", "robot", "q, q̇")

    def finish(self) -> None:
        set_acceleration_gains(self, self.task.names)

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd, *self.null_gains))

    def make(self) -> Law:
        model, n, task, gains = self.robot.model, self.robot.n, self.task, self.gains
        m = len(task.rows)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (q, qd), (x_d, xd_d, xdd_d) = split(y, n), split(r, m)
            kp, kd, *null = gains.read(p)
            now = self.at(q, qd)
            wanted = total(xdd_d, kd(sub(xd_d, now.xd)), kp(task.error(x_d, now.x)))
            return newton_euler.inverse_dynamics(model, q, qd, self.accelerations(q, qd, wanted, now, null))

        return self.torque_law("task-space computed torque", act, wanted=task.names)

    def conditions(self) -> Conditions:
        claim = "x → x_d exponentially along every motion, away from singular configurations"
        return self.claim(claim, *positive(self.kp, self.kd), *self.null_conditions(), exact_model())


@dataclass(frozen=True, eq=False)
class Impedance(TaskController):
    """The tool as a mass on a spring and a damper: pushed with F it gives way by K⁻¹ F.

    `stiffness` [N/m, N m/rad], `damping` [N s/m, N m s/rad]: one number, one per row, or a symmetric matrix. `inertia`
    [kg, kg m²]: the wanted mass, which needs the force on the tip to be measured: the law then measures
    `sensed_tool.f_x` … `sensed_tool.n_z`, the wrench that acts on the robot at the frame "tool", in world axes
    (`control.add_sensors(robot.flow(wrenches=["tool"]), wrench_inputs("tool"), T)`).
    Without it the arm keeps the inertia it has, and no force is measured. `rows`, `frame`, `angles` and what concerns
    free joints as in `TaskComputedTorque`."""

    robot: Robot
    _: KW_ONLY
    stiffness: Any = field(metadata=ROW)
    damping: Any = field(metadata=ROW)
    inertia: Any = field(default=None, metadata=ROW)

    equation: ClassVar[str] = "M_d (ẍ_d − ẍ) + [C_C ė +] D ė + K e = −F_ext"
    source: ClassVar[str] = "Hogan 1985; V = ½ ėᵀMė + ½ eᵀKe, V̇ = −ėᵀDė − ėᵀF_ext; Siciliano et al. 2009, §9.2"
    drawn = ("Impedance control", TASK, "τ", "robot", "q, q̇")

    @classmethod
    def for_bandwidth(
        cls, robot: Robot, omega: float, zeta: float = 1.0, q: ArrayLike | None = None, frame: str | None = None
    ) -> Impedance:
        """The stiffness and damping of a frame's position that give a bandwidth ω [rad/s] and damping ζ with the mass
        that is felt at q, where free joints are held; at home, if it is not given."""
        x = robot.home if q is None else array("q", q)
        rows = moving_part(robot, "position", frame, "world").names
        masses = np.asarray(robot.effective_mass(x, frame, rows).masses)
        felt = float(np.median(masses[np.isfinite(masses)])) if np.isfinite(masses).any() else robot.mass
        return cls(
            robot,
            stiffness=felt * omega**2,
            damping=2 * zeta * omega * felt,
            rows=rows,
            frame=frame,
            posture=x,
            posture_stiffness=omega**2 / 4,
            null_damping=zeta * omega,
        )

    @property
    def gains(self) -> Gains:
        own = () if self.inertia is None else (self.inertia,)
        return Gains((self.stiffness, self.damping, *own, *self.null_gains))

    def make(self) -> Law:
        return self._natural() if self.inertia is None else self._shaped()

    def _natural(self) -> Law:
        model, n, task, gains = self.robot.model, self.robot.n, self.task, self.gains
        m = len(task.rows)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (q, qd), (x_d, xd_d, xdd_d) = split(y, n), split(r, m)
            stiffness, damping, *null = gains.read(p)
            now = self.at(q, qd)
            C = terms.task_space(model, q, qd, now.J, now.J_dot).C
            ed = sub(xd_d, now.xd)
            force = total(stiffness(task.error(x_d, now.x)), damping(ed), linear.apply(C, ed))
            qdd = self.accelerations(q, qd, xdd_d, now, null)
            tau = newton_euler.inverse_dynamics(model, q, qd, qdd)
            return total(tau, linear.apply(linear.transposed(now.J), force))

        return self.torque_law("impedance", act, wanted=task.names)

    def _shaped(self) -> Law:
        model, n, task, gains = self.robot.model, self.robot.n, self.task, self.gains
        m = len(task.rows)
        mass: Gain = self.inertia

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            q, qd, wrench = y[:n], y[n : 2 * n], y[2 * n :]
            x_d, xd_d, xdd_d = split(r, m)
            stiffness, damping, inertia, *null = gains.read(p)
            now = self.at(q, qd)
            force = total(stiffness(task.error(x_d, now.x)), damping(sub(xd_d, now.xd)))
            force = total(force, task.generalized(model, q, wrench))
            a = [f / k for f, k in zip(force, inertia.p, strict=True)] if not mass.full else _solve(inertia, force)
            qdd = self.accelerations(q, qd, total(xdd_d, a), now, null)
            J = jacobians.jacobian(model, q, task.frame)
            carried = linear.apply(linear.transposed(J), wrench)
            return sub(newton_euler.inverse_dynamics(model, q, qd, qdd), carried)

        sensors = tuple(f"{SENSED}{name}" for name in wrench_inputs(task.frame.name))
        return self.torque_law("impedance with measured force", act, wanted=task.names, senses=sensors)

    def conditions(self) -> Conditions:
        measured = self.inertia is not None
        claim = "x → x_d without contact, and passive toward any environment"
        sensor = Condition(
            "no force is measured" if not measured else "the force sensor is fast and right",
            HOLDS if not measured else UNKNOWN,
        )
        own = (self.stiffness, self.damping, *((self.inertia,) if measured else ()))
        return self.claim(claim, *positive(*own), *self.null_conditions(), sensor, exact_model())


def _solve(inertia: Applied, force: list[Scalar]) -> list[Scalar]:
    """M_d⁻¹ f of a matrix among the parameters."""
    n = inertia.gain.n
    columns = [inertia([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return linear.solve_ldl(linear.transposed(columns), force)
