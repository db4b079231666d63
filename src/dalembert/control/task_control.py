"""Control where the tool is: computed torque and impedance in task coordinates.  Seeds 001 and 003.

    computed torque   ẍ = ẍ_d + K_d ė + K_p e                                        e = x_d − x
    impedance         M_d (ẍ_d − ẍ) + D ė + K e = −F_ext, with the force measured
                      M_C (ẍ_d − ẍ) + C_C ė + D ė + K e = −F_ext, without: the arm keeps its own inertia

Accelerations become torques by q̈ = J̄ (ẍ − J̇ q̇) + N q̈₀, τ = M q̈ + c + g, with J̄ = M⁻¹JᵀM_C and N = I − J̄J: where there
are more joints than coordinates, q̈₀ damps the motion that the task does not feel, and pulls it to a posture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import composite, jacobians, linear, newton_euler
from dalembert.algorithms import task_space as terms
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.computed_torque import acceleration_gains
from dalembert.control.conditions import HOLDS, UNKNOWN, Condition, Conditions, above, assumed, exact_model, positive
from dalembert.control.controller import Controller, believed, follows, measures, set_gain, split, sub, torques, total
from dalembert.control.coordinates import TaskCoordinates, task_coordinates
from dalembert.control.gains import Gain, Gains, number_gain
from dalembert.control.sensors import SENSED
from dalembert.errors import InputError, SingularityError
from dalembert.flow import Scalar, Scalars
from dalembert.kinematics.tasks import finite
from dalembert.law import Law
from dalembert.robot import Robot

Array = NDArray[np.float64]
SINGULAR = 1e-12  # of the largest singular value of J: the smallest is zero but for rounding
# What the tip applies to the environment, as `robot_flow(f_tip=True)` names it.
WRENCH = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


class TaskController(Controller):
    """What controllers of a task share: its coordinates, and what is done with the joints that it leaves free."""

    rows: Any
    frame: str | None
    angles: str
    posture: Any
    posture_stiffness: Any
    null_damping: Any

    @cached_property
    def task(self) -> TaskCoordinates:
        return task_coordinates(self.robot.model, self.frame, self.rows, self.angles)

    @property
    def null_gains(self) -> tuple[Gain, ...]:
        """Of what the task leaves free; none if it leaves nothing."""
        if len(self.task.rows) == self.robot.n:
            return ()
        return (self.null_damping, self.posture_stiffness)

    def check_null(self, who: str) -> None:
        """Looks at what was given of the free joints; sets `posture` to n numbers."""
        believed(self.robot, who)
        posture = np.zeros(self.robot.n) if self.posture is None else finite("posture", self.posture)
        if posture.shape != (self.robot.n,):
            raise InputError(f"posture has shape {posture.shape}; it must be {(self.robot.n,)}, one per joint")
        object.__setattr__(self, "posture", tuple(posture.tolist()))
        for symbol in ("null_damping", "posture_stiffness"):
            object.__setattr__(self, symbol, number_gain(symbol, getattr(self, symbol), zero=True))

    def accelerations(
        self, q: Scalars, qd: Scalars, wanted: Scalars, found: _Task, null: Sequence[Any]
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

    def at(self, q: Scalars, qd: Scalars) -> _Task:
        model = self.robot.model
        J, J_dot = self.task.jacobian(model, q), self.task.jacobian_dot(model, q, qd)
        found = terms.consistent_inverse(composite.mass_matrix(model, q), J)
        return _Task(self.task.position(model, q), linear.apply(J, qd), J, J_dot, found.J_bar)

    def __call__(self, *given: Any, **named: Any) -> Array:
        """As of every controller; refused where the task is singular, and no torque does what is asked."""
        with np.errstate(divide="ignore", invalid="ignore"):
            u = super().__call__(*given, **named)
            J = np.asarray(self._jacobian(finite("q", given[1] if len(given) > 1 else named["q"])))
        known = np.isfinite(J).all(axis=(-2, -1))
        sizes = np.linalg.svd(np.where(known[..., None, None], J, 0.0), compute_uv=False)
        lost = ~known | (sizes[..., -1] <= SINGULAR * sizes[..., 0])
        if lost.any():
            k = np.argwhere(lost)[0].tolist()
            raise SingularityError(
                f"the task {', '.join(self.task.names)} of {self.robot.name!r} is singular"
                + (f" in state {k} of the batch" if k else " in this state")
                + ": J has not full rank there, and no torque gives the tool every acceleration"
            )
        return u

    def null_conditions(self) -> tuple[Condition, ...]:
        rank = assumed("J keeps full rank along the motion", "robot.singularities tells where it does not")
        if not self.null_gains:
            return (rank,)
        return (rank, above("the free joints are damped", self.null_gains[0].values[0], 0.0, ("damping", "needed")))

    def law_of(self, name: str, gains: Gains, act: Any, force: bool = False) -> Law:
        sensors = tuple(f"{SENSED}{w}" for w in WRENCH) if force else ()
        return Law(
            name,
            (*measures(self.robot), *sensors),
            follows(self.task.names),
            torques(self.robot),
            act,
            parameters=gains.parameters,
        )


@dataclass(frozen=True)
class _Task:
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
    omega: Any = None
    zeta: Any = 1.0
    kp: Any = None
    kd: Any = None
    rows: Any = "position"
    frame: str | None = None
    angles: str = "zyx"
    null_damping: Any = 2.0
    posture: Any = None
    posture_stiffness: Any = 0.0

    equation: ClassVar[str] = "τ = M q̈ + c + g, q̈ = J̄ (ẍ_d + K_d ė + K_p e − J̇ q̇) + (I − J̄ J) q̈₀"
    source: ClassVar[str] = "the error obeys ë + K_d ė + K_p e = 0; Khatib 1987; seed 001"

    def __post_init__(self) -> None:
        self.check_null("TaskComputedTorque")
        acceleration_gains(self, self.task.names)

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

        return self.law_of("task-space computed torque", gains, act)

    def conditions(self) -> Conditions:
        return Conditions(
            "x → x_d exponentially along every motion, away from singular configurations",
            self.source,
            (*positive(self.kp, self.kd), *self.null_conditions(), exact_model()),
        )


@dataclass(frozen=True, eq=False)
class Impedance(TaskController):
    """The tool as a mass on a spring and a damper: pushed with F it gives way by K⁻¹ F.

    `stiffness` [N/m, N m/rad], `damping` [N s/m, N m s/rad]: one number, one per row, or a symmetric matrix. `inertia`
    [kg, kg m²]: the wanted mass, which needs the force on the tip to be measured: the law then measures `sensed_f_x` …
    `sensed_n_z`, what the tip applies to the environment (`control.sensed(robot_flow(robot, f_tip=True), WRENCH, T)`).
    Without it the arm keeps the inertia it has, and no force is measured. `rows`, `frame`, `angles` and what concerns
    free joints as in `TaskComputedTorque`."""

    robot: Robot
    stiffness: Any
    damping: Any
    inertia: Any = None
    rows: Any = "position"
    frame: str | None = None
    angles: str = "zyx"
    null_damping: Any = 2.0
    posture: Any = None
    posture_stiffness: Any = 0.0

    equation: ClassVar[str] = "M_d (ẍ_d − ẍ) + [C_C ė +] D ė + K e = −F_ext"
    source: ClassVar[str] = "Hogan 1985; V = ½ ėᵀMė + ½ eᵀKe, V̇ = −ėᵀDė − ėᵀF_ext; Siciliano et al. 2009, §9.2"

    def __post_init__(self) -> None:
        self.check_null("Impedance")
        for symbol in ("stiffness", "damping"):
            set_gain(self, symbol, getattr(self, symbol), self.task.names, of="row")
        if self.inertia is not None:
            set_gain(self, "inertia", self.inertia, self.task.names, of="row")

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

        return self.law_of("impedance", gains, act)

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
            force = sub(force, task.generalized(model, q, wrench))  # F_ext = − what the tip applies
            a = [f / k for f, k in zip(force, inertia.p, strict=True)] if not mass.full else _solved(inertia, force)
            qdd = self.accelerations(q, qd, total(xdd_d, a), now, null)
            J = jacobians.jacobian(model, q, task.frame)
            carried = linear.apply(linear.transposed(J), wrench)
            return total(newton_euler.inverse_dynamics(model, q, qd, qdd), carried)

        return self.law_of("impedance with measured force", gains, act, force=True)

    def conditions(self) -> Conditions:
        measured = self.inertia is not None
        claim = "x → x_d without contact, and passive toward any environment"
        sensor = Condition(
            "no force is measured" if not measured else "the force sensor is fast and right",
            HOLDS if not measured else UNKNOWN,
        )
        own = (self.stiffness, self.damping, *((self.inertia,) if measured else ()))
        return Conditions(claim, self.source, (*positive(*own), *self.null_conditions(), sensor, exact_model()))


def _solved(inertia: Any, force: list[Scalar]) -> list[Scalar]:
    """M_d⁻¹ f of a matrix among the parameters."""
    n = inertia.gain.n
    columns = [inertia([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return linear.solve_ldl(linear.transposed(columns), force)
