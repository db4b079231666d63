"""A robot under constraints, as a user holds it: τ = M q̈ + h + Aᵀλ with A q̇ = 0.  [Fakhari 3]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import constraints as terms, joints, kinematics
from dalembert.algorithms.mechanics import terms_at_rest
from dalembert.arguments import Array, array, number, plain_array, read_wrenches, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.constrained import kernels
from dalembert.constrained.constraint import Constraint, OwnLoop
from dalembert.constrained.mechanism import TOLERANCE, ConstrainedSystem, Impact
from dalembert.errors import DalembertError, InputError, SingularityError, choose
from dalembert.flow import Flow
from dalembert.flows.books import AppliedWrenches, need_frames
from dalembert.kernels import check_positions, singular_mass
from dalembert.kinematics.tasks import Rows, task
from dalembert.model.lean import lean
from dalembert.robot import Robot, need_robot
from dalembert.system import Kernels, Limits

if TYPE_CHECKING:
    from dalembert.constrained.contacts import Balance, GroundContact, Load
    from dalembert.constrained.equations import ConstrainedEquations
    from dalembert.symbolic.document import Derivation


# Singular values of matrices of order one below this count as zero: they are known to about 1e-15.
RANK = 1e-9
MASSLESS = 1e-13  # a pivot of M, as a part of its diagonal


class ConstrainedAcceleration(NamedTuple):
    """Accelerations q̈ (..., n) and the multipliers λ (..., k) of the constraints' rows."""

    qdd: Array
    multipliers: Array


class Constrained(ConstrainedSystem):
    """A robot whose motion is constrained: by its description's loops, and by what is given here.

    `rows` names the k rows; their multipliers λ are the forces that the mechanism applies against the constraint, τ = M
    q̈ + h + Aᵀλ − Σ JᵀF, while wrenches F act on the robot. Rows that depend on those before them carry λ = 0, and
    `redundant` names them."""

    _friction_by_default = False
    _max_step = 0.5  # rad or m: beyond it the linear model means little

    def __init__(self, robot: Robot, constraints: Constraint | Sequence[Constraint] = ()) -> None:
        need_robot(robot, "Constrained")
        given = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
        for c in given:
            if not isinstance(c, Constraint):
                raise InputError(
                    "wrong-type",
                    "constraints",
                    c,
                    expected="made by dalembert.constrained (hold, plane, couple, holonomic, …)",
                    remedy="Pass one constraint, or a list of them.",
                )
        loops = tuple(OwnLoop(loop.name, loop.kind, k) for k, loop in enumerate(robot.model.loops))
        self.constraints: tuple[Constraint, ...] = _named((*loops, *given))
        if not self.constraints:
            raise InputError(
                "missing",
                "constraints",
                (),
                problem=f"{robot.name!r} has no loops and no constraint was given: there is nothing to constrain",
                expected="at least one constraint",
                remedy="Pass constraints, or use the robot itself.",
            )
        self.robot = robot
        inspect = check_positions(robot.model)
        self._kernels = Kernels(
            kernels.TABLE, lambda: self.bound, robot.name, robot.joint_names, robot.threads, inspect
        )
        self._extra: dict[Any, Kernel] = {}  # other kernels that methods made once
        functions = [c.bind(robot.model) for c in self.constraints]
        counts = [_counted(c, f, robot) for c, f in zip(self.constraints, functions, strict=True)]
        self.rows: tuple[str, ...] = tuple(
            f"{c.name}: {row}" for c, size in zip(self.constraints, counts, strict=True) for row in c.rows(size)
        )
        self.size = _size(robot, functions)
        self._sizes = tuple(x for f, count in zip(functions, counts, strict=True) for x in _sizes(f, count, self.size))
        ends = np.cumsum(counts).tolist()
        self._places = {
            c.name: slice(end - count, end) for c, count, end in zip(self.constraints, counts, ends, strict=True)
        }

    def __repr__(self) -> str:
        rows = "1 row" if self.k == 1 else f"{self.k} rows"
        names = ", ".join(c.name for c in self.constraints)
        return f"<Constrained {self.robot.name!r}: {len(self.robot.joint_names)} joints, {rows}: {names}>"

    @property
    def name(self) -> str:
        return self.robot.name

    @property
    def n(self) -> int:
        """Number of joints of the tree; of robots in which q̇ = v, as `Robot.n`."""
        return self.robot.n

    @property
    def nq(self) -> int:
        """The length of q."""
        return self.robot.nq

    @property
    def nv(self) -> int:
        """The length of velocities, accelerations and torques: n, where q̇ = v."""
        return self.robot.nv

    def moved(self, q: Array, d: Array) -> Array:
        """q ⊕ d, a plain sum where q̇ = v."""
        if self.robot.model.curved:
            return self.robot.integrate(q, d)
        return np.asarray(plain_array(q, "q") + plain_array(d, "d"))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return self.robot.joint_names

    @property
    def limits(self) -> Limits:
        """Limits of the joints."""
        return self.robot.limits

    @property
    def home(self) -> Array:
        """The robot's home configuration."""
        return self.robot.home

    @property
    def _unconstrained(self) -> Robot:
        """The robot, whose loops its own dynamics leave open."""
        return self.robot

    def _velocity_units(self) -> list[tuple[str, str]]:
        """Return the joint, and the unit of the velocity times time, of each entry of the velocities."""
        return [(c.name, unit) for c in self.robot.model.coordinates for unit in c.joint.units]

    def _scales(self, q: Array) -> Array:
        """Return the length that each row's residual is compared with; one for angles.  (k,)."""
        return np.array(self._sizes)

    def _find_reversed(self, q: Array) -> str | None:
        """Return the name of the first constraint that is held half a turn off at q."""
        for c, function in zip(self.constraints, self.bound.functions, strict=True):
            if isinstance(function, terms.FrameConstraint):
                signs = terms.upright(function, self.bound.model, [float(x) for x in q])
                if any(x <= kernels.MIN_UPRIGHT for x in signs):
                    return c.name
        return None

    @property
    def states(self) -> tuple[str, ...]:
        """Names of x = (q, q̇), those of the tree."""
        return self.robot.states

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the torques, those of the tree."""
        return self.robot.inputs

    @property
    def units(self) -> dict[str, str]:
        """The unit of each state and input by its name."""
        return self.robot.units

    @property
    def holonomic(self) -> bool:
        """Whether every constraint restricts positions."""
        return all(c.holonomic for c in self.constraints)

    @property
    def contacts(self) -> tuple[GroundContact, ...]:
        """The constraints that are contacts with the ground."""
        from dalembert.constrained.contacts import GroundContact

        return tuple(c for c in self.constraints if isinstance(c, GroundContact))

    @cached_property
    def independent_rows(self) -> bool:
        """Whether no row depends on others at ordinary states, so that the multipliers are determined."""
        q = joints.normalize(self.bound.model, [float(x) + 0.1 for x in self.robot.home])
        A = np.array(terms_at_rest(self.bound, q).A, float)
        return bool(np.linalg.matrix_rank(A, RANK * np.abs(A).max()) == self.k)

    @cached_property
    def bound(self) -> kernels.ConstrainedModel:
        model = lean(self.robot.model)
        bound = kernels.ConstrainedModel(model, tuple(c.bind(model) for c in self.constraints), self._sizes)
        return replace(bound, augmentation=_augmentation(bound, self.robot.home))

    def kernel(self, name: str, given: Sequence[str] = (), **options: object) -> Kernel:
        """The compiled object behind a method, as `Robot.kernel`."""
        return self._kernels.get(name, given, options)

    def _run(self, name: str, *arguments: object, **options: object) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN compared with anything: it shows in the result
            return self._kernels.run((name, (), *options.values()), None, *arguments)

    def jacobian_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ(q, q̇), by the compiler's own derivative of A.  (..., k, n)."""
        if "A'" not in self._extra:
            self._extra["A'"] = self.kernel("jacobian").derivative("q")
        self.drift(q, qd)  # looks at the input
        rates = np.asarray(plain_array(qd, "qd"), float)
        rates = self.robot.position_rates(q, rates) if self.robot.model.curved else rates
        return np.asarray(np.einsum("...ijl,...l->...ij", self._extra["A'"](q), rates))

    # ----------------------------------------------------------------------------------------------------- dynamics
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        friction: bool = False,
        alpha: float = 0.0,
        beta: float = 0.0,
        tolerance: float | None = TOLERANCE,
    ) -> ConstrainedAcceleration:
        """(q̈, λ): λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇), q̈ = M⁻¹ (τ − h − Aᵀλ).  [Fakhari 3], (3) and (4).

        `alpha`, `beta`: Baumgarte's terms, A q̈ = −Ȧ q̇ − 2α A q̇ − β² φ. A state further than `tolerance` off the
        constraints, or constraints that contradict one another there, are refused by name; None asks no questions.
        `wrenches` {"frame": (force, moment)} act on the robot, in world axes, and are part of h: h = c + g − Σ JᵀF."""
        extra, options = self._loaded(friction, wrenches)
        stable = {"alpha": number("alpha", alpha, "1/s", least=0.0), "beta": number("beta", beta, "1/s", least=0.0)}
        qdd, force, check = self._run("forward_dynamics", q, qd, tau, *extra, **options, **stable)
        if (allowed := _tolerance(tolerance)) is not None:
            self._judge(q, qd, check, allowed, np.isfinite(qdd).all(-1))
        return ConstrainedAcceleration(qdd, force)

    def _loaded(
        self, friction: bool, wrenches: Mapping[str, ArrayLike] | None
    ) -> tuple[tuple[object, ...], dict[str, Any]]:
        """Return the wrenches' values, and the options of the kernels of the dynamics."""
        frames, values = read_wrenches(wrenches)
        for frame in frames:
            self.robot.model.frame(frame)
        self._refuse_load(switch("friction", friction))
        return values, {"friction": friction, "wrenches": frames}

    def _refuse_load(self, friction: bool) -> None:
        if friction and self.robot.model.friction_by_load:
            raise InputError(
                "unsupported",
                "friction",
                friction,
                problem=f"the friction of {self.robot.name!r} depends on the load, and the load on λ, which is not "
                "solved under constraints",
                expected="False for friction laws that depend on the load",
                remedy="Pass friction=False, or use laws without load.",
            )

    def _judge(self, q: ArrayLike, qd: ArrayLike, check: Array, tolerance: float, real: NDArray[np.bool_]) -> None:
        """Refuse states off the constraints, singular ones, and contradictions among the constraints. A state that
        is no number, not `real`, says so in its results."""
        off, against, kept = (check[..., k] for k in range(3))
        if (off > tolerance).any():
            self._refuse(q, qd, off > tolerance, tolerance)
        lost = (kept < self.generic_rank) & real
        if lost.any():
            one, _, state = self._state(q, qd, lost)
            gone = ", ".join(repr(name) for name in self.redundant(one))
            raise SingularityError(
                "singular",
                "q",
                one,
                problem=f"the constraints are singular{state}: of {self.generic_rank} independent rows "
                f"{int(kept[lost].flat[0])} are left ({gone} depend on others here), so forces and motion are not "
                "determined",
                expected="a state at which the rows are independent",
                remedy="Keep away from this state.",
            )
        if (against > tolerance).any():
            one, _, state = self._state(q, qd, against > tolerance)
            dependent = ", ".join(repr(name) for name in self.redundant(one))
            raise SingularityError(
                "singular",
                "q",
                one,
                problem=f"the constraints contradict one another{state}: {dependent or 'rows'} depend on the rows "
                f"before them but require another acceleration ({np.max(against):.2g} of the largest)",
                expected="a state at which the constraints agree",
                remedy="The state is singular, or project(q, qd) returns rates that obey the constraints.",
            )

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        multipliers: ArrayLike | None = None,
        *,
        actuated: Sequence[str] | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
        friction: bool = False,
        tolerance: float | None = TOLERANCE,
    ) -> Array:
        """τ = M q̈ + h + Aᵀλ for a motion that obeys the constraints and wanted multipliers (zero if not given).
        (..., n).

        `wrenches` {"frame": (force, moment)} act on the robot, in world axes: h = c + g − Σ JᵀF. `actuated` names the
        joints that have drives; then λ is not chosen but follows: the torques of the others are zero, and those of more
        drives than needed the smallest."""
        lam = np.zeros(self.k) if multipliers is None else multipliers
        extra, options = self._loaded(friction, wrenches)
        tau, check = self._run("inverse_dynamics", q, qd, qdd, lam, *extra, **options)
        allowed = _tolerance(tolerance)
        if allowed is not None and (check > allowed).any():
            off, wrong = check[..., 0] > allowed, check[..., 1] > allowed
            if off.any():
                self._refuse(q, qd, off, allowed)
            _, _, state = self._state(q, qd, wrong)
            raise InputError(
                "wrong-value",
                "qdd",
                np.asarray(qdd),
                problem=f"qdd does not obey the constraints{state}: A qdd + Ȧ qd is "
                f"{check[..., 1][wrong].flat[0]:.3g} of the largest acceleration",
                expected="on the constraints",
                remedy="acceleration_projection(q) projects onto those that are.",
            )
        if actuated is None:
            return np.asarray(tau)
        if multipliers is not None:
            raise InputError(
                "conflict",
                "multipliers",
                multipliers,
                expected="left out with actuated=, from which they follow",
                remedy="Pass one of the two.",
            )
        return self._driven(q, np.asarray(tau), actuated)

    def _driven(self, q: ArrayLike, tau: Array, actuated: Sequence[str]) -> Array:
        """The torques at the actuated joints that do the same: Nᵀ Sᵀ τ_a = Nᵀ τ, with N the motions allowed,
        orthonormal."""
        names = self.robot.joint_names
        for joint in actuated:
            choose("joint", joint, names)
        if len(set(actuated)) != len(actuated):
            raise InputError("duplicate", "actuated", tuple(actuated), expected="different joints")
        columns = [names.index(joint) for joint in actuated]
        A = np.broadcast_to(self.jacobian(q), (*tau.shape[:-1], self.k, self.nv))
        ranks = np.broadcast_to(self.rank(q), tau.shape[:-1])
        result = np.zeros_like(tau)
        for index in np.ndindex(tau.shape[:-1]):
            if not np.isfinite(A[index]).all() or not np.isfinite(tau[index]).all():
                result[index] = np.nan
                continue
            N = np.linalg.svd(A[index])[2][int(ranks[index]) :]
            wanted = N @ tau[index]
            U, s, Vt = np.linalg.svd(N[:, columns], full_matrices=False)
            gain = np.where(s > RANK, 1.0 / np.where(s > RANK, s, 1.0), 0.0)
            found = Vt.T @ (gain * (U.T @ wanted))
            short = float(np.max(np.abs(N[:, columns] @ found - wanted), initial=0.0))
            if short > 1e-9 * float(np.max(np.abs(tau[index]), initial=0.0)):
                which = f"the joints {', '.join(map(repr, actuated))}" if actuated else "no joints"
                raise SingularityError(
                    "infeasible",
                    "actuated",
                    tuple(actuated),
                    problem=f"{which} cannot make this motion"
                    + (f" in state {index}" if index else "")
                    + f": {short:.3g} is left over",
                    expected=f"drives for each of {N.shape[0]} freedoms",
                    remedy="Name joints that can move them.",
                )
            result[(*index, columns)] = found
        return result

    # ------------------------------------------------------------------------------------------------ forces
    def constraint_wrench(self, q: ArrayLike, multipliers: ArrayLike, name: str | None = None) -> Array:
        """Return the wrench (force, moment) that acts on the second frame of a relation or loop, from the first.

        It is in world axes at the second frame's origin, (..., 6). Of a relation to the world it acts on the robot.
        `name`: which constraint, if there are several."""
        place, function = self._frame_constraint(name)
        key = ("wrench", place.start)
        if key not in self._extra:
            rows = place.stop - place.start
            model = self.bound.model
            self._extra[key] = compile_function(
                lambda q: terms.wrench_rows(function, model, q), [(self.nq,)], [(rows, 6)], "wrench", arguments=("q",)
            )
        lam = self._multipliers(multipliers)
        self.residual(q)  # looks at the input
        B = self._extra[key](np.asarray(q, float))
        return np.asarray(np.einsum("...ki,...k->...i", B, -lam[..., place]))

    def _multipliers(self, multipliers: ArrayLike) -> Array:
        return array("multipliers", multipliers, (..., self.k), meaning="one per row", nan=True)

    def _frame_constraint(self, name: str | None) -> tuple[slice, terms.FrameConstraint]:
        between = [
            c
            for c, f in zip(self.constraints, self.bound.functions, strict=True)
            if isinstance(f, terms.FrameConstraint)
        ]
        names = [c.name for c in between]
        if name is None:
            if len(names) != 1:
                choices = ", ".join(map(repr, names)) or "none has one"
                raise InputError(
                    "missing",
                    "name",
                    None,
                    expected=f"the name of one constraint between frames: {choices}",
                    remedy="Pass name=.",
                )
            name = names[0]
        choose("constraint between frames", name, names)
        function = self.bound.functions[[c.name for c in self.constraints].index(name)]
        assert isinstance(function, terms.FrameConstraint)
        return self._places[name], function

    def tip_wrench(
        self, q: ArrayLike, multipliers: ArrayLike, frame: str | None = None, rows: Rows | None = None
    ) -> Array:
        """Return F with Jᵀ F = −Aᵀ λ: the wrench on the robot at a frame that does the same as the constraints.

        F is (force, moment) in world axes, (..., 6), or (..., m) for m `rows`, chosen as in `kinematics.tasks.task`.
        The robot applies −F to its surroundings. Constraints on the frame's twist, A_x V = 0, amount to −A_xᵀ λ; where
        the joints feel several wrenches alike, F is the one nearest to it, and for constraints that are not on this
        frame (couplings, Pfaffian rows, other links) the smallest. Where J is square and invertible F = −J⁻ᵀAᵀλ.
        Refused where no wrench in these rows does the same."""
        chosen = task("pose" if rows is None else rows)
        J = chosen.jacobian(self.robot.jacobian(q, frame))
        lam = -self._multipliers(multipliers)
        b = np.einsum("...kn,...k->...n", self.jacobian(q), lam)
        A_x = self._tip_rows(self.robot.model.frame(frame).name)(np.asarray(q, float))
        F = np.einsum("...ki,...k->...i", A_x, lam) @ np.linalg.pinv(chosen.weights[:, None] * chosen.matrix)
        inverse = np.swapaxes(np.linalg.pinv(J, rcond=RANK), -1, -2)
        F = F + np.einsum("...in,...n->...i", inverse, b - np.einsum("...in,...i->...n", J, F))
        left = np.abs(np.einsum("...in,...i->...n", J, F) - b)
        if (left > 1e-8 * np.abs(b).max(axis=-1, initial=0.0, keepdims=True)).any():
            raise SingularityError(
                "infeasible",
                "frame",
                self.robot.model.frame(frame).name,
                problem=f"no wrench at frame {self.robot.model.frame(frame).name!r} in the rows "
                f"{', '.join(chosen.names)} does what the constraints do: {left.max():.3g} N m is left",
                expected="a frame and rows at which the constraints act",
                remedy="The constraint acts elsewhere or in other rows, or J is singular here.",
            )
        return np.asarray(F)

    def _tip_rows(self, frame: str) -> Kernel:
        """Return the kernel of A_x(q), (k, 6), of a frame."""
        key = ("tip_rows", frame)
        if key not in self._extra:
            model, tip = self.bound.model, self.bound.model.frame(frame)
            self._extra[key] = compile_function(
                lambda q: [r for f in self.bound.functions for r in terms.tip_rows(f, model, q, tip)],
                [(self.nq,)],
                [(self.k, 6)],
                "tip_rows",
                arguments=("q",),
            )
        return self._extra[key]

    def place(self, name: str) -> slice:
        """Where the rows of a constraint stand among all of them."""
        return self._places[choose("constraint", name, self._places)]

    def balance(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        qdd: ArrayLike | None = None,
        *,
        cones: bool = True,
        limits: bool = True,
        effort: float = 0.1,
        press: float = 0.0,
    ) -> Balance:
        """Torques at the driven joints, and forces of the ground, that give a motion (rest, if not given) of a robot
        that stands on `contact`s: zero torque at the joints without drives, and of all that is left the least squares
        of the corners' forces [weights] and `effort` times the torques [weights × m].

        With `cones` each corner's force stays inside its cone of friction and presses with `press` [N] at least, by a
        quadratic program; without, the least squares alone, and the certificate says whether the ground bears it.
        `limits`: torques stay within the joints' efforts. One state or a batch."""
        from dalembert.constrained.contacts import balance

        return balance(self, q, qd, qdd, cones=cones, limits=limits, effort=effort, press=press)

    def loads(self, multipliers: ArrayLike) -> dict[str, Load]:
        """What each `contact` bears at these multipliers (..., k): force, friction used, center of pressure, and
        whether the ground can bear it."""
        from dalembert.constrained.contacts import loads

        return loads(self, multipliers)

    def equations(
        self,
        symbolic: str | Sequence[str] = "all",
        *,
        zeros: bool = True,
        friction: bool = False,
        angles: str = "symbols",
    ) -> ConstrainedEquations:
        """The constrained equations in symbols; options as in `Robot.equations`."""
        from dalembert.constrained.equations import ConstrainedEquations
        from dalembert.symbolic.equations import Equations

        return ConstrainedEquations(self, Equations(self.robot.description, symbolic, zeros, friction, angles))

    def derivation(
        self, q: ArrayLike | None = None, qd: ArrayLike | None = None, symbolic: str | Sequence[str] = "all"
    ) -> Derivation:
        """The constrained equations as they are derived on a blackboard; with a state q, q̇ also in its numbers."""
        return self.equations(symbolic).derivation(q, qd)

    # ---------------------------------------------------------------------------------------------------- simulation
    def flow(
        self,
        *,
        stabilize: str | None = "projection",
        friction: bool = False,
        alpha: float = 10.0,
        beta: float = 10.0,
        wrenches: Sequence[str] = (),
        books: bool = False,
    ) -> Flow:
        """How it moves: x = (q, q̇), u = τ; the multipliers, the largest closure error |φ| and the energy are observed.

        `stabilize`: "projection" brings each step back onto the constraints, "baumgarte" lets errors decay with
        `alpha`, `beta`, None lets them drift. `wrenches` names the frames at which wrenches act on the robot, in
        world axes: six more inputs each, after τ. `books`: what is supplied and lost is observed too [W]."""
        from dalembert.constrained.motion import flow

        self._refuse_load(switch("friction", friction))
        model = self.robot.model
        applied = AppliedWrenches(model, need_frames(model, wrenches), model.nv)
        decay = number("alpha", alpha, "1/s", least=0.0), number("beta", beta, "1/s", least=0.0)
        return flow(self, stabilize, friction, *decay, applied, switch("books", books))


def impact(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    restitution: float = 0.0,
    *,
    constraints: Constraint | Sequence[Constraint] = (),
    tolerance: float | None = TOLERANCE,
) -> Impact:
    """Return the rates of a robot after an impact with constraints, and with its description's loops.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, on the constraints.
    qd : array_like, shape (..., nv)
        Rates before the impact.
    restitution : float, default 0
        From 0 (plastic) to 1 (elastic).
    constraints : Constraint or sequence of Constraint, optional
        The frames that hit something, for example `dalembert.constrained.contact(frame, point)`.
    tolerance : float or None
        How far q may be off the constraints.

    Returns
    -------
    Impact
        As from `Constrained.impact`. Without loops and constraints the rates do not change.
    """
    given = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
    if not (given or robot.model.loops):
        number("restitution", restitution, least=0.0, most=1.0)
        array("q", q, (..., robot.nq), meaning="one per position", nan=True)
        rates = array("qd", qd, (..., robot.nv), meaning="one per velocity", nan=True)
        return Impact(rates, np.zeros((*rates.shape[:-1], 0)))
    system = robot.once(("impact", given), lambda: Constrained(robot, given))
    return system.impact(q, qd, restitution, tolerance=tolerance)


def _tolerance(value: float | None) -> float | None:
    return None if value is None else number("tolerance", value, least=0.0)


def _size(robot: Robot, functions: Sequence[terms.Function]) -> float:
    """A length of the mechanism [m]: the longest step from one joint to the next, or to what is held; one if all
    are zero."""
    places = [body.placement.p for body in robot.model.bodies]
    for f in functions:
        if isinstance(f, terms.FrameConstraint):
            places += [f.first.pose.p, f.second.pose.p]
    longest = max((float(np.linalg.norm(np.array(p, float))) for p in places), default=0.0)
    return longest or 1.0


def _sizes(function: terms.Function, count: int, size: float) -> tuple[float, ...]:
    """What the residuals of a constraint's rows are compared with."""
    if isinstance(function, terms.FrameConstraint):
        return tuple(size if length else 1.0 for length in function.relation.lengths)
    return (1.0,) * count


def _augmentation(bound: kernels.ConstrainedModel, home: Array) -> float:
    """ρ of M + ρ AᵀA: zero where M is positive definite by itself, else of M's own size."""
    q = joints.normalize(bound.model, [float(x) + 0.1 for x in home])
    M = np.array(bound.mass(q), float)
    if not M.size or (np.linalg.eigvalsh(M / _outer(M))[0] > MASSLESS and (np.diag(M) > 0).all()):
        return 0.0
    A = np.array(terms_at_rest(bound, q).A, float)
    rho = float(np.max(np.diag(M), initial=0.0) / max(np.max(np.sum(A * A, axis=1), initial=0.0), 1e-300))
    augmented = M + rho * A.T @ A
    if not (np.diag(augmented) > 0).all() or np.linalg.eigvalsh(augmented / _outer(augmented))[0] <= MASSLESS:
        raise singular_mass(bound.model)
    return rho


def _outer(M: Array) -> Array:
    d = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    return np.asarray(np.outer(d, d))


def _named(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """The constraints, those that share a name told apart by a number."""
    names = [c.name for c in constraints]
    seen: dict[str, int] = {}
    result: list[Constraint] = []
    for c in constraints:
        if names.count(c.name) > 1:
            seen[c.name] = seen.get(c.name, 0) + 1
            c = replace(c, name=f"{c.name}{seen[c.name]}")  # type: ignore[type-var]
        result.append(c)
    return tuple(result)


def _counted(c: Constraint, function: terms.Function, robot: Robot) -> int:
    """How many rows a constraint has, found by asking it once; what is wrong with a user's function shows here."""
    q = joints.normalize(robot.model, [0.1 * (k + 1) for k in range(robot.nq)])
    qd = [0.1 * (k + 1) for k in range(robot.nv)]
    try:
        if isinstance(function, terms.PfaffianFunction):
            rows = function.function(q, *(kinematics.frame_pose(robot.model, q, f) for f in function.frames))
            _sized(c, [len(row) for row in rows], robot)
        found = function(robot.model, q, qd)
    except DalembertError:
        raise
    except Exception as error:
        problem = f"the function of constraint {c.name!r} failed on q = {q}: {error}"
        raise InputError("failed", "function", q, problem=problem) from error
    if not found.phi:
        raise InputError("wrong-shape", "function", (), problem=f"constraint {c.name!r} has no rows")
    return len(found.phi)


def _sized(c: Constraint, lengths: Sequence[int], robot: Robot) -> None:
    for length in lengths:
        if length != robot.nv:
            what = "velocities" if robot.model.curved else "joints"
            raise InputError(
                "wrong-shape",
                "function",
                length,
                problem=f"constraint {c.name!r} gives rows of {length} numbers; {robot.name!r} has {robot.nv} {what}",
                expected=f"rows of {robot.nv} numbers",
            )
