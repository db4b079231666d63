"""A robot under constraints, as a user holds it: τ = M q̈ + h + Aᵀλ with A q̇ = 0.  Seed 001."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import constraints as terms
from dalembert.algorithms import kinematics
from dalembert.algorithms.jacobians import EXPRESSIONS
from dalembert.arguments import explain, switch, wrenches_of
from dalembert.compile import Kernel, compile_function
from dalembert.constrained import kernels
from dalembert.constrained.constraint import Constraint, Loop
from dalembert.errors import DalembertError, InputError, SingularityError, unknown
from dalembert.flow import Flow
from dalembert.model.lean import lean
from dalembert.robot import Robot

if TYPE_CHECKING:
    from dalembert.constrained.closure import Closure
    from dalembert.constrained.equations import ConstrainedEquations
    from dalembert.constrained.reduced import Reduced

Array = NDArray[np.float64]

# How far a state may be off its constraints [m, rad; rates and accelerations as parts of the largest] before it is
# refused: far above what integration leaves, far below what anybody means.
TOLERANCE = 1e-6
# Singular values of A below this part of the largest count as zero: A is known to about 1e-15.
RANK = 1e-9


class Motion(NamedTuple):
    """Accelerations q̈ (..., n) and the multipliers λ (..., k) of the constraints' rows."""

    qdd: Array
    multipliers: Array


class Constrained:
    """A robot whose motion is constrained: by its description's loops, and by what is given here.

    `rows` names the k rows; their multipliers λ are what the mechanism applies against the constraint, as f_tip is
    (τ = M q̈ + h + Aᵀλ). Rows that depend on those before them carry λ = 0, and `redundant` names them."""

    def __init__(self, robot: Robot, constraints: Constraint | Sequence[Constraint] = ()) -> None:
        given = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
        for c in given:
            if not isinstance(c, Constraint):
                raise InputError(
                    f"a constraint is made by dalembert.constrained.constraint (hold, plane, couple, holonomic, …); "
                    f"got {type(c).__name__}"
                )
        loops = tuple(Loop(loop.name, loop.kind, k) for k, loop in enumerate(robot.model.loops))
        self.constraints: tuple[Constraint, ...] = _named((*loops, *given))
        if not self.constraints:
            raise InputError(f"{robot.name!r} has no loops and no constraint was given: there is nothing to constrain")
        self.robot = robot
        self._kernels: dict[Any, Kernel] = {}
        counts = [_counted(c, c.bind(robot.model), robot) for c in self.constraints]
        self.rows: tuple[str, ...] = tuple(
            f"{c.name}: {row}" for c, count in zip(self.constraints, counts, strict=True) for row in c.rows(count)
        )
        ends = np.cumsum(counts).tolist()
        self._places = {
            c.name: slice(end - count, end) for c, count, end in zip(self.constraints, counts, ends, strict=True)
        }

    def __repr__(self) -> str:
        rows = "1 row" if self.k == 1 else f"{self.k} rows"
        names = ", ".join(c.name for c in self.constraints)
        return f"<Constrained {self.robot.name!r}: {self.n} joints, {rows}: {names}>"

    @property
    def n(self) -> int:
        """Number of joints of the tree."""
        return self.robot.n

    @property
    def k(self) -> int:
        """Number of rows, those that depend on others included."""
        return len(self.rows)

    @property
    def holonomic(self) -> bool:
        """Whether every constraint restricts positions."""
        return all(c.holonomic for c in self.constraints)

    @cached_property
    def bound(self) -> kernels.Bound:
        model = lean(self.robot.model)
        return kernels.Bound(model, tuple(c.bind(model) for c in self.constraints), self.k)

    def kernel(self, name: str, given: Sequence[str] = (), **options: Any) -> Kernel:
        """The compiled object behind a method, as `Robot.kernel`."""
        if name not in kernels.ROWS:
            raise unknown("kernel", name, kernels.ROWS)
        row = kernels.ROWS[name]
        for option in options:
            if option not in row.options:
                raise unknown(f"option of {name}", option, row.options)
        complete = {**row.options, **options}
        key = (name, tuple(given), *complete.values())
        if key not in self._kernels:
            self._kernels[key] = kernels.make(self.bound, name, tuple(given), complete)
        return self._kernels[key]

    def _run(self, name: str, *arguments: Any, given: Sequence[str] = (), **options: Any) -> Any:
        kernel = self.kernel(name, given, **options)
        names = kernel.arguments
        try:
            with np.errstate(divide="ignore", invalid="ignore"):  # NaN compared with anything: it shows in the result
                return kernel(*arguments, threads=self.robot.threads)
        except Exception as caught:
            error = caught
        explain(self.robot, kernel, names, arguments, None)
        raise error

    # ------------------------------------------------------------------------------------------------ the constraints
    def residual(self, q: ArrayLike) -> Array:
        """φ(q) [m, rad], zero where the constraints hold; zero in Pfaffian rows.  (..., k)."""
        return self._run("residual", q)

    def jacobian(self, q: ArrayLike) -> Array:
        """A(q) = ∂φ/∂q, A q̇ = 0.  (..., k, n)."""
        return self._run("jacobian", q)

    def jacobian_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ(q, q̇), by the compiler's own derivative of A.  (..., k, n)."""
        if "A'" not in self._kernels:
            self._kernels["A'"] = self.kernel("jacobian").derivative("q")
        self.drift(q, qd)  # looks at the input
        rates = np.asarray(qd, float)
        return np.asarray(np.einsum("...ijl,...l->...ij", self._kernels["A'"](np.asarray(q, float)), rates))

    def drift(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ q̇ [m/s², rad/s²]: A q̈ + Ȧ q̇ = 0.  (..., k)."""
        return self._run("drift", q, qd)

    def rank(self, q: ArrayLike) -> Any:
        """How many rows of A are independent at q: the freedoms of force."""
        A = self.jacobian(q)
        s = np.linalg.svd(A, compute_uv=False)
        largest = np.max(s, axis=-1, keepdims=True, initial=0.0)
        count = np.sum(s > RANK * np.where(largest > 0, largest, 1.0), axis=-1)
        return int(count) if count.ndim == 0 else count

    def freedoms(self, q: ArrayLike) -> Any:
        """n − rank A(q): the freedoms of velocity."""
        return self.n - self.rank(q)

    def redundant(self, q: ArrayLike) -> tuple[str, ...]:
        """Names of the rows that depend on the rows before them at one state q: the same motion without them."""
        A = self.jacobian(q)
        if A.ndim != 2:
            raise InputError(f"redundant takes one state, q (n,); got shape {np.shape(q)}")
        left = []
        found: list[Array] = []
        noise = 1e-12 * float(np.max(np.linalg.norm(A, axis=-1), initial=0.0))
        for name, row in zip(self.rows, A, strict=True):
            rest, size = row.copy(), float(np.linalg.norm(row))
            for _ in range(2):  # twice is enough: what rounding left of the first pass goes in the second
                for unit in found:
                    rest -= (unit @ rest) * unit
            if np.linalg.norm(rest) > max(1e-7 * size, noise):
                found.append(rest / np.linalg.norm(rest))
            else:
                left.append(name)
        return tuple(left)

    # ----------------------------------------------------------------------------------------------------- dynamics
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        f_tip: ArrayLike | None = None,
        *,
        frame: str | None = None,
        expressed_in: str = "world",
        friction: bool = False,
        wrenches: Mapping[str, Any] | None = None,
        alpha: float = 0.0,
        beta: float = 0.0,
        tolerance: float | None = TOLERANCE,
    ) -> Motion:
        """(q̈, λ): λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇), q̈ = M⁻¹ (τ − h − Aᵀλ).  Seed 001, (3) and (4).

        `alpha`, `beta`: Baumgarte's terms, A q̈ = −Ȧ q̇ − 2α A q̇ − β² φ. A state further than `tolerance` off the
        constraints, or constraints that contradict one another there, are refused by name; None asks no questions.
        The other arguments are those of `Robot.forward_dynamics`."""
        given, extra, options = self._loaded(f_tip, frame, expressed_in, friction, wrenches)
        stable = {"alpha": _not_negative("alpha", alpha), "beta": _not_negative("beta", beta)}
        qdd, force, check = self._run("forward_dynamics", q, qd, tau, *extra, given=given, **options, **stable)
        if tolerance is not None:
            self._judge(q, qd, check, tolerance)
        return Motion(qdd, force)

    def _loaded(
        self, f_tip: Any, frame: str | None, expressed_in: str, friction: bool, wrenches: Mapping[str, Any] | None
    ) -> tuple[tuple[str, ...], tuple[ArrayLike, ...], dict[str, Any]]:
        """The optional arguments of the dynamics: their names, their values, and the options that go with them."""
        if frame is not None:
            self.robot.model.frame(frame)
        if expressed_in not in EXPRESSIONS:
            raise unknown("expressed_in", expressed_in, EXPRESSIONS)
        places, values = wrenches_of(wrenches or {}, expressed_in)
        for place, terms in places:
            self.robot.model.frame(place)
            if terms not in EXPRESSIONS:
                raise unknown("expressed_in", terms, EXPRESSIONS)
        self._refuse_load(switch("friction", friction))
        options = {"frame": frame, "expressed_in": expressed_in, "friction": friction, "wrenches": places}
        return (("f_tip",), (f_tip, *values), options) if f_tip is not None else ((), values, options)

    def _refuse_load(self, friction: bool) -> None:
        if friction and self.robot.model.friction_by_load:
            raise InputError(
                f"the friction of {self.robot.name!r} depends on the load, and the load on λ: under constraints that is "
                "not solved; take friction=False, or laws without load"
            )

    def _judge(self, q: ArrayLike, qd: ArrayLike, check: Array, tolerance: float) -> None:
        if (check > tolerance).any():
            where = np.argwhere((check > tolerance).any(-1))[0]
            index = tuple(int(i) for i in where)
            state = f" in state {index}" if index else ""
            off, against = check[index]
            batch = check.shape[:-1]
            one_q, one_qd = (np.broadcast_to(x, (*batch, self.n))[index] for x in (q, qd))
            if off > tolerance:
                raise self._off(one_q, one_qd, tolerance, state)
            dependent = ", ".join(repr(name) for name in self.redundant(one_q))
            raise SingularityError(
                f"the constraints contradict one another{state}: {dependent or 'rows'} depend on the rows before them "
                f"but ask for another acceleration ({against:.2g} of the largest): the state is singular, or the rates "
                "do not obey the constraints"
            )

    def _off(self, q: Array, qd: Array, tolerance: float, state: str) -> InputError:
        phi = self.residual(q)
        worst = int(np.argmax(np.abs(phi)))
        if abs(phi[worst]) > tolerance:
            return InputError(
                f"q does not obey the constraints{state}: {self.rows[worst]!r} is off by {phi[worst]:.3g} (more than "
                f"{tolerance:g}); close(q) finds the nearest q that does"
            )
        rates = self.jacobian(q) @ qd
        worst = int(np.argmax(np.abs(rates)))
        return InputError(
            f"qd does not obey the constraints{state}: A qd of {self.rows[worst]!r} is {rates[worst]:.3g}; "
            "project(q, qd) takes out what is wrong"
        )

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        multipliers: ArrayLike | None = None,
        f_tip: ArrayLike | None = None,
        *,
        actuated: Sequence[str] | None = None,
        frame: str | None = None,
        expressed_in: str = "world",
        friction: bool = False,
        wrenches: Mapping[str, Any] | None = None,
        tolerance: float | None = TOLERANCE,
    ) -> Array:
        """τ = M q̈ + h + Aᵀλ for a motion that obeys the constraints and wanted multipliers (zero if not given).
        (..., n).

        `actuated` names the joints that have drives; then λ is not chosen but follows: the torques of the others are
        zero, and those of more drives than needed the smallest."""
        lam = np.zeros(self.k) if multipliers is None else multipliers
        given, extra, options = self._loaded(f_tip, frame, expressed_in, friction, wrenches)
        tau, off = self._run("inverse_dynamics", q, qd, qdd, lam, *extra, given=given, **options)
        if tolerance is not None and (np.asarray(off) > tolerance).any():
            index = tuple(int(i) for i in np.argwhere(np.asarray(off) > tolerance)[0])
            state = f" in state {index}" if index else ""
            raise InputError(
                f"qdd does not obey the constraints{state}: A qdd + Ȧ qd is {np.asarray(off)[index]:.3g} of the "
                "largest acceleration; acceleration_projection(q) projects onto those that do"
            )
        if actuated is None:
            return np.asarray(tau)
        if multipliers is not None:
            raise InputError("give multipliers, or actuated joints from which they follow, not both")
        return self._driven(q, np.asarray(tau), actuated)

    def _driven(self, q: ArrayLike, tau: Array, actuated: Sequence[str]) -> Array:
        """The torques at the actuated joints that do the same: Nᵀ Sᵀ τ_a = Nᵀ τ, with N the motions allowed."""
        names = self.robot.joint_names
        for joint in actuated:
            if joint not in names:
                raise unknown("joint", joint, names)
        columns = [names.index(joint) for joint in actuated]
        A = np.broadcast_to(self.jacobian(q), (*tau.shape[:-1], self.k, self.n))
        _, s, Vt = np.linalg.svd(A)
        largest = np.max(s, axis=-1, keepdims=True, initial=0.0)
        ranks = np.sum(s > RANK * np.where(largest > 0, largest, 1.0), axis=-1)
        result = np.zeros_like(tau)
        for index in np.ndindex(tau.shape[:-1]):
            N = Vt[index][int(ranks[index]) :]
            wanted = N @ tau[index]
            found, *_ = np.linalg.lstsq(N[:, columns], wanted, rcond=1e-12)
            short = float(np.max(np.abs(N[:, columns] @ found - wanted), initial=0.0))
            if short > 1e-9 * (1.0 + float(np.max(np.abs(wanted), initial=0.0))):
                raise SingularityError(
                    f"the joints {', '.join(map(repr, actuated))} cannot make this motion"
                    + (f" in state {index}" if index else "")
                    + f": {short:.3g} is left over; {N.shape[0]} freedoms need as many drives, in independent places"
                )
            result[(*index, columns)] = found
        return result

    def projection(self, q: ArrayLike) -> Array:
        """P = I − AᵀΛ⁻¹AM⁻¹: of torques the part that moves the mechanism; I − P is what presses against the
        constraints. P τ = P (M q̈ + h), rank P = n − k.  (..., n, n).  Seed 001, (5)."""
        return np.swapaxes(self._run("projection", q), -1, -2)

    def acceleration_projection(self, q: ArrayLike) -> Array:
        """P_q̈ = M⁻¹PM = I − M⁻¹AᵀΛ⁻¹A: P_q̈ q̈ = P_q̈ M⁻¹(τ − h).  (..., n, n).  Seed 001."""
        return self._run("projection", q)

    def project(self, q: ArrayLike, qd: ArrayLike, steps: int = 1) -> tuple[Array, Array]:
        """The state brought nearer to the constraints: Newton steps q − M⁻¹AᵀΛ⁻¹φ, then q̇ − M⁻¹AᵀΛ⁻¹A q̇, both the
        shortest in the metric of M.  (..., n) each."""
        if steps < 1:
            raise InputError(f"steps must be at least 1, got {steps!r}")
        for _ in range(steps):
            q, _ = self._run("projected", q, qd)
        return np.asarray(q), np.asarray(self._run("projected", q, qd)[1])

    # ------------------------------------------------------------------------------------------------ forces
    def constraint_wrench(self, q: ArrayLike, multipliers: ArrayLike, name: str | None = None) -> Array:
        """The wrench (f, n) that the second frame of a relation or loop applies to the first, at the second frame's
        origin in world axes.  (..., 6).  `name`: which constraint, if there are several."""
        place, function = self._held(name)
        key = ("wrench", place.start)
        if key not in self._kernels:
            rows = place.stop - place.start
            model = self.bound.model
            self._kernels[key] = compile_function(
                lambda q: terms.wrench_rows(function, model, q), [(self.n,)], [(rows, 6)], "wrench", arguments=("q",)
            )
        self.residual(q)  # looks at the input
        lam = np.asarray(multipliers, float)
        if lam.shape[-1:] != (self.k,):
            raise InputError(f"multipliers has shape {lam.shape}; its last dimension must be {self.k}, one per row")
        B = self._kernels[key](np.asarray(q, float))
        return np.asarray(np.einsum("...ki,...k->...i", B, lam[..., place]))

    def _held(self, name: str | None) -> tuple[slice, terms.Held]:
        held = [c for c, f in zip(self.constraints, self.bound.functions, strict=True) if isinstance(f, terms.Held)]
        names = [c.name for c in held]
        if name is None:
            if len(names) != 1:
                choices = ", ".join(map(repr, names)) or "none has one"
                raise InputError(f"say which constraint's wrench with name=: {choices}")
            name = names[0]
        if name not in names:
            raise unknown("constraint between frames", name, names)
        function = self.bound.functions[[c.name for c in self.constraints].index(name)]
        assert isinstance(function, terms.Held)
        return self._places[name], function

    def tip_wrench(
        self, q: ArrayLike, multipliers: ArrayLike, frame: str | None = None, rows: Sequence[int] = (0, 1, 2, 3, 4, 5)
    ) -> Array:
        """F with Jᵀ F = Aᵀ λ: what the constraints amount to as a wrench that a frame applies, in the given rows of
        (f, n), world axes at its origin.  (..., len(rows)).  Where J is square and invertible, J⁻ᵀAᵀλ; where J has
        fewer columns, the smallest. Refused where no wrench there does the same."""
        J = self.robot.jacobian(q, frame)[..., list(rows), :]
        b = np.einsum("...kn,...k->...n", self.jacobian(q), np.asarray(multipliers, float))
        F = np.einsum("...in,...n->...i", np.swapaxes(np.linalg.pinv(J, rcond=RANK), -1, -2), b)
        left = np.abs(np.einsum("...in,...i->...n", J, F) - b)
        if (left > 1e-8 * (1.0 + np.abs(b).max(initial=0.0))).any():
            raise SingularityError(
                f"no wrench at frame {self.robot.model.frame(frame).name!r} in these rows does what the constraints "
                f"do: {left.max():.3g} N m is left; the constraint acts elsewhere, or J is singular here"
            )
        return np.asarray(F)

    # ------------------------------------------------------------------------------------------------ closed chains
    def close(
        self,
        q: ArrayLike | None = None,
        *,
        fixed: Sequence[str] = (),
        tolerance: float = 1e-12,
        strict: bool = True,
    ) -> Closure:
        """The nearest closed configuration that Newton's method finds from q (the robot's home), with the joints
        `fixed` held where they are. One that cannot be closed is refused by name; with strict=False its certificate
        is returned."""
        from dalembert.constrained.closure import close

        return close(self, q, fixed, tolerance, strict)

    def independent(self, q: ArrayLike) -> tuple[str, ...]:
        """n − rank A joints whose rates may be chosen at q, the others following: the best conditioned choice that
        pivoting finds."""
        from dalembert.constrained.reduced import independent

        return independent(self, q)

    def reduced(self, q: ArrayLike, independent: Sequence[str] | None = None) -> Reduced:
        """The dynamics in independent joints, without multipliers; which ones, if not named, is chosen at q."""
        from dalembert.constrained.reduced import Reduced

        return Reduced(self, q, independent)

    def equations(self, **options: Any) -> ConstrainedEquations:
        """The constrained equations in symbols; options as in `Robot.equations`."""
        from dalembert.constrained.equations import ConstrainedEquations

        return ConstrainedEquations(self, **options)

    # ---------------------------------------------------------------------------------------------------- simulation
    def flow(
        self, *, stabilise: str | None = "projection", friction: bool = False, alpha: float = 10.0, beta: float = 10.0
    ) -> Flow:
        """How it moves: x = (q, q̇), u = τ; the multipliers, the largest closure error |φ| and the energy are observed.

        `stabilise`: "projection" brings each step back onto the constraints, "baumgarte" lets errors decay with
        `alpha`, `beta`, None lets them drift."""
        from dalembert.constrained.motion import flow

        self._refuse_load(switch("friction", friction))
        return flow(self, stabilise, friction, _not_negative("alpha", alpha), _not_negative("beta", beta))


def _not_negative(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < np.inf:
        raise InputError(f"{name} must be a number ≥ 0, got {value!r}")
    return float(value)


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
    q = [0.1 * (k + 1) for k in range(robot.n)]
    try:
        if isinstance(function, terms.Pfaffian):
            rows = function.function(q, *(kinematics.frame_pose(robot.model, q, f) for f in function.frames))
            _sized(c, [len(row) for row in rows], robot)
        found = function(robot.model, q, q)
    except DalembertError:
        raise
    except Exception as error:
        raise InputError(f"the function of constraint {c.name!r} failed on q = {q}: {error}") from error
    if not found.phi:
        raise InputError(f"constraint {c.name!r} has no rows")
    return len(found.phi)


def _sized(c: Constraint, lengths: Sequence[int], robot: Robot) -> None:
    for length in lengths:
        if length != robot.n:
            what = f"constraint {c.name!r} gives rows of {length} numbers"
            raise InputError(f"{what}; {robot.name!r} has {robot.n} joints")
