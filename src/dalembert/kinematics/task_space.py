"""Dynamics in task space: the arm as its tip feels it, F = M_C ẍ + c_C + g_C + F_tip.  [Fakhari 3].

F = J̄ᵀ τ is the force on the task's rows that joint torques amount to, F_tip what the tip applies to its surroundings.
The equations, what holds for redundant arms and what does not, are in `algorithms.task_space`; here the rows are read,
singular states refused, and the answer wrapped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert import kernels
from dalembert.algorithms.task_space import GEOMETRIC
from dalembert.arguments import Array, array, switch
from dalembert.compile.functions import LARGEST_ANGLE
from dalembert.errors import InputError, SingularityError, choose
from dalembert.kernels import need_tree
from dalembert.kinematics.jacobian import (
    doubles,
    freedom,
    joint_units,
    length_of,
    natural,
    need_joints,
    remembered,
    scale_of,
)
from dalembert.kinematics.singular import TOLERANCE
from dalembert.kinematics.tasks import ROTATION, Rows, Task, task
from dalembert.system import Jointed

ANGLE_NAMES = {"rpy": ("roll", "pitch", "yaw")}  # of the other sequences: alpha1, alpha2, alpha3
MARGIN = 10.0  # how much worse than the cheap bound on σ says a state may be, before it is looked at closely


@dataclass(frozen=True, eq=False, repr=False)
class TaskSpace:
    """The equation of motion in m rows x of a task, for n joints: F = M ẍ + c + g + F_tip for any q̇, F = J̄ᵀ τ.

    `M` (..., m, m), symmetric positive definite, (J M_q⁻¹ Jᵀ)⁻¹ with M_q the joints' mass matrix; `C` (..., m, m), with
    which Ṁ − 2C is skew-symmetric for any q̇; `c`, `g` (..., m); `J`, `J_dot` (..., m, n); `J_bar` (..., n, m), the
    dynamically consistent inverse M_q⁻¹ Jᵀ M: J J̄ = I, and of all q̇ with J q̇ = ẋ, J̄ ẋ has the least kinetic energy;
    `N` (..., n, n) = I − J̄ J; `mobility` (..., m, m), J M_q⁻¹ Jᵀ; `velocity` (..., m), ẋ = J q̇; `rows` names the rows.

    c = C ẋ where q̇ = J̄ ẋ: always if m = n. A redundant arm that also moves in its null space feels that in c, which
    counts it, and not in C ẋ.

    With `damping` λ, M is (J M_q⁻¹ Jᵀ + λ² I)⁻¹, bounded by 1/λ², and J̄ goes with it. Then F = M ẍ + c + g still holds
    for F = J̄ᵀ τ, and Ṁ − 2C is still skew-symmetric, but J J̄ = I − λ² M: torques Jᵀ F miss the acceleration that F was
    computed for by λ² F."""

    M: Array
    C: Array
    c: Array
    g: Array
    J: Array
    J_dot: Array
    J_bar: Array
    N: Array
    mobility: Array
    velocity: Array
    rows: tuple[str, ...]
    damping: Array | None = None

    @property
    def h(self) -> Array:
        """c + g, (..., m)."""
        return self.c + self.g

    @property
    def N_torque(self) -> Array:
        """Nᵀ = I − Jᵀ J̄ᵀ, (..., n, n): what it leaves of a torque does not accelerate the task."""
        return np.swapaxes(self.N, -1, -2)

    def __repr__(self) -> str:
        damped = "" if self.damping is None else ", damped"
        return f"<TaskSpace {', '.join(self.rows)}: {self.J.shape[-1]} joints{damped}>"

    def force(self, acceleration: ArrayLike, F_tip: ArrayLike | None = None) -> Array:
        """F = M ẍ + c + g + F_tip, (..., m): what gives this acceleration while the tip applies F_tip, in these
        rows."""
        F = self._times(self.M, "acceleration", acceleration) + self.h
        return F if F_tip is None else self._sum(F, "F_tip", F_tip)

    def torque(self, F: ArrayLike, null: ArrayLike | None = None) -> Array:
        """τ = Jᵀ F + Nᵀ τ₀, (..., n): the joint torques of a force on the task; τ₀ = `null` (..., n) acts in the null
        space alone, without accelerating the task."""
        tau = self._times(np.swapaxes(self.J, -1, -2), "F", F)
        return tau if null is None else tau + self._times(self.N_torque, "null", null)

    def acceleration(self, F: ArrayLike, F_tip: ArrayLike | None = None) -> Array:
        """ẍ, (..., m), that torques Jᵀ F cause while the tip applies F_tip: M⁻¹ (F − c − g − F_tip).

        With damping it is still what happens, J M_q⁻¹ Jᵀ (F − F_tip) − M⁻¹ (c + g)."""
        zero = np.zeros(len(self.rows))
        net = self._sum(zero, "F", F) - (zero if F_tip is None else self._sum(zero, "F_tip", F_tip))
        moved = self._times(self.mobility, "F", net - self.h)
        return moved if self.damping is None else moved - self.damping[..., None] ** 2 * self.h

    def force_of(self, tau: ArrayLike) -> Array:
        """F = J̄ᵀ τ, (..., m): what joint torques amount to in the task. So also a wrench at another frame, as the
        torque that it takes, and friction."""
        return self._times(np.swapaxes(self.J_bar, -1, -2), "tau", tau)

    def _times(self, A: Array, name: str, vector: ArrayLike) -> Array:
        x = _vector(name, vector, A.shape[-1], self.rows)
        try:
            return np.asarray((A @ x[..., None])[..., 0])
        except ValueError:
            raise InputError(
                f"the leading dimensions do not broadcast: {name} {x.shape[:-1]}, states {A.shape[:-2]}"
            ) from None

    def _sum(self, vector: Array, name: str, other: ArrayLike) -> Array:
        x = _vector(name, other, len(self.rows), self.rows)
        try:
            return np.asarray(vector + x)
        except ValueError:
            raise InputError(
                f"the leading dimensions do not broadcast: {name} {x.shape[:-1]}, states {vector.shape[:-1]}"
            ) from None


def _vector(name: str, value: ArrayLike, size: int, rows: tuple[str, ...]) -> Array:
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a rectangular array of real numbers") from None
    if x.ndim == 0 or x.shape[-1] != size:
        of = "one per joint" if name in ("tau", "null") else ", ".join(rows)
        raise InputError(f"{name} has shape {x.shape}; its last dimension must be {size} ({of})")
    return x


@dataclass(frozen=True)
class _Asked:
    """What was asked for, read: the task, the kernel's options, and its further arguments."""

    frame: str | None
    chosen: Task
    jacobian: str
    expressed_in: str
    damping: Array | None

    @property
    def rows(self) -> tuple[int, ...]:
        return self.chosen.picked or tuple(range(self.chosen.m))

    @property
    def given(self) -> tuple[str, ...]:
        own = () if self.chosen.picked else ("selection",)
        return own if self.damping is None else (*own, "damping")

    @property
    def extra(self) -> tuple[Array, ...]:
        own = () if self.chosen.picked else (self.chosen.weights[:, None] * self.chosen.matrix,)
        return own if self.damping is None else (*own, self.damping)

    @property
    def names(self) -> tuple[str, ...]:
        """The rows' names: rates of Euler angles, where ω stood."""
        if self.jacobian == GEOMETRIC or self.chosen.picked is None:
            return self.chosen.names
        turns = ANGLE_NAMES.get(self.jacobian, ("alpha1", "alpha2", "alpha3"))
        return tuple(turns[k - 3] if k in ROTATION else self.chosen.names[i] for i, k in enumerate(self.rows))


def _read(
    robot: Jointed, frame: str | None, rows: Rows | None, jacobian: str, expressed_in: str, damping: ArrayLike | None
) -> _Asked:
    need_joints(robot)
    need_tree(robot.model)
    choose("jacobian", jacobian, kernels.WORDS["jacobian"])
    choose("expressed_in", expressed_in, kernels.WORDS["expressed_in"])
    if jacobian != GEOMETRIC and expressed_in != "world":
        raise InputError(
            f"the {jacobian!r} Jacobian is that of a position and angles in the base frame: it is not {expressed_in!r}"
        )
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    strength = None if damping is None else array("damping", damping)
    if strength is not None and not (strength > 0).all():
        raise InputError(f"damping must be a number λ > 0 (λ² is added to J M⁻¹ Jᵀ, [kg⁻¹]), got {damping!r}")
    if strength is None and chosen.m > min(robot.nv, 6):
        most = "a twist has six" if robot.nv >= 6 else f"{robot.name!r} has {robot.nv} joint{'s' * (robot.nv > 1)}"
        raise kernels.singular_task(chosen.m, " in every state", f"{most}, and more rows than that move only together")
    turned = chosen.picked is None or any(k in ROTATION for k in chosen.picked)
    kind = jacobian if turned else GEOMETRIC  # positions alone: both Jacobians are the same
    return _Asked(frame, chosen, kind, expressed_in, strength)


def task_space(
    robot: Jointed,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    jacobian: str = GEOMETRIC,
    damping: ArrayLike | None = None,
) -> TaskSpace:
    """The terms of F = M_C ẍ + c_C + g_C + F_tip for a frame, at (q, q̇) (at rest, without `qd`).  [Fakhari 3].

    `rows` as in `tasks.task`; without, the natural ones. `jacobian`: "geometric" (ẋ is the twist), or a sequence of
    Euler angles ("zyz", "rpy", …): ẋ are the rates of position and angles, the last three rows being the angles' in
    their order, and forces on them belong to those angles. Singular states are refused; `damping` λ [kg^-½] gives a
    bounded M there, see `TaskSpace`. NaN in a state gives NaN for that state."""
    asked = _read(robot, frame, rows, jacobian, expressed_in, damping)
    rates = np.zeros(robot.nv) if qd is None else doubles(qd)
    key = ("task_space", asked.given, frame, expressed_in, asked.jacobian, asked.rows)
    with np.errstate(all="ignore"):  # singular states are told below, in words
        *terms, det = robot.run(key, doubles(q), rates, *asked.extra)
    M, C, c, g, J, J_dot, J_bar, N, mobility, velocity = (np.asarray(x) for x in terms)
    _refuse_angles(robot, asked, det)
    if asked.damping is None:
        _refuse_singular(robot, q, asked, J, J_bar, M)
    return TaskSpace(M, C, c, g, J, J_dot, J_bar, N, mobility, velocity, asked.names, asked.damping)


def task_regressor(
    robot: Jointed,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    jacobian: str = GEOMETRIC,
    damping: ArrayLike | None = None,
    friction: bool = False,
    rotor: bool = False,
) -> Array:
    """Y_C = J̄ᵀ Y with Y_C π = M_C ẍ + c_C + g_C, (..., m, p); π is `robot.parameters(...)`, with rotor=True in both
    where joints have rotors, which are in M_C.  [Fakhari 3].

    For square J it is J⁻ᵀ Y, free of the inertial parameters. For redundant arms J̄ is made with this robot's mass
    matrix: Y_C π is J̄ᵀ τ for the torques of any π, but M_C itself is not linear in π there."""
    asked = _read(robot, frame, rows, jacobian, expressed_in, damping)
    switches = switch("friction", friction), switch("rotor", rotor)
    key = ("task_regressor", asked.given, frame, expressed_in, asked.jacobian, asked.rows, *switches)
    with np.errstate(all="ignore"):
        Y, J, J_bar, det = robot.run(key, doubles(q), doubles(qd), doubles(qdd), *asked.extra)
    _refuse_angles(robot, asked, det)
    if asked.damping is None:
        _refuse_singular(robot, q, asked, J, J_bar, J_bar)
    return np.asarray(Y)


def _where(index: tuple[int, ...]) -> str:
    return f" in state {index}" if index else ""


def _first(bad: ArrayLike) -> tuple[int, ...] | None:
    """The index of the first state of which it is true, if there is one."""
    return tuple(int(i) for i in np.argwhere(bad)[0]) if np.any(bad) else None


def _refuse_angles(robot: Jointed, asked: _Asked, det: ArrayLike) -> None:
    index = _first(np.asarray(det) < kernels.SINGULAR_ANGLES)
    if index is not None:
        raise kernels.singular_angles(asked.jacobian, robot.model.frame(asked.frame).name, _where(index))


def _refuse_singular(robot: Jointed, q: ArrayLike, asked: _Asked, J: Array, J_bar: Array, result: Array) -> None:
    """Refuse states in which the smallest singular value, free of units, is rounding.

    J̄ is a right inverse of J, so σ_min ≥ 1/‖J̄‖: most states need no singular values at all."""
    chosen = asked.chosen
    units, columns = remembered(robot, ("units", asked.frame), lambda: _units(robot, asked.frame))
    scale = scale_of(robot, asked.frame, chosen, asked.expressed_in, free_of_units=True)
    doubtful = known = np.isfinite(J).all(axis=(-2, -1)) & (np.abs(np.asarray(q, float)) <= LARGEST_ANGLE).all(axis=-1)
    if chosen.picked is not None:  # else rows may mix meters and radians, and J̄ cannot be freed of units
        inverse = J_bar / (columns[:, None] * units[list(chosen.picked)])
        with np.errstate(over="ignore", invalid="ignore"):
            doubtful = known & ~(np.square(inverse * (MARGIN * TOLERANCE * scale)).sum(axis=(-2, -1)) < 1.0)
    if not doubtful.any():
        return
    part = np.ones(np.shape(doubtful))
    part[doubtful] = np.linalg.svd(_unit_free(robot, q, asked, J, units)[doubtful] * columns, compute_uv=False)[..., -1]
    index = _first(doubtful & (part <= TOLERANCE * scale))
    if index is not None:
        raise _singular(robot, asked, index, float(part[index]) / scale)
    if _first(known & ~np.isfinite(result).all(axis=(-2, -1))) is not None:
        raise kernels.singular_mass(robot.model)


def _units(robot: Jointed, frame: str | None) -> tuple[Array, Array]:
    """What frees a twist's rows (1/L or 1) and the joints' columns (1 or L) of units."""
    return np.array([1 / length_of(robot, frame)] * 3 + [1.0] * 3), joint_units(robot, frame)


def _unit_free(robot: Jointed, q: ArrayLike, asked: _Asked, J: Array, units: Array) -> Array:
    """The task's Jacobian of rows of the twist free of units."""
    if asked.chosen.picked is not None:
        return np.asarray(J * units[list(asked.chosen.picked), None])
    if asked.jacobian == GEOMETRIC:
        six = robot.jacobian(doubles(q), asked.frame, asked.expressed_in)
    else:
        six = robot.analytic_jacobian(doubles(q), asked.frame, asked.jacobian)
    return np.broadcast_to(asked.chosen.jacobian(six * units[:, None]), J.shape)


def _singular(robot: Jointed, asked: _Asked, index: tuple[int, ...], part: float) -> SingularityError:
    chosen = asked.chosen
    if asked.jacobian == GEOMETRIC and freedom(robot, asked.frame, chosen, asked.expressed_in) < chosen.m:
        where, why = " in every state", f"its rows ({', '.join(chosen.names)}) never move all at once"
    else:
        where = _where(index)
        why = f"the smallest singular value of its Jacobian, free of units, is {part:.2g} of the arm's largest"
    return kernels.singular_task(chosen.m, where, why)
