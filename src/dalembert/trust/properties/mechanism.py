"""What is examined, and how: the terms of τ = M q̈ + C q̇ + g as functions, whoever wrote them, at many states.

A `Trial` is one mechanism at many states, with what is computed once for all its properties and how a verdict is
reached; `judge` makes a property out of a function of a trial.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, count
from dalembert.caching import cached_property
from dalembert.compile import Kernel
from dalembert.errors import DalembertError, InputError
from dalembert.kernels import need_tree
from dalembert.robot import Robot
from dalembert.system import SYSTEM, System
from dalembert.trust.properties.identities import Identities
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, STATEMENTS, Property, Verdict

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

Of1 = Callable[[Array], Any]
Of2 = Callable[[Array, Array], Any]
Of3 = Callable[[Array, Array, Array], Any]

STEP = 1e-5  # of a central difference: h² curvature and 1e-16/h rounding are both near 1e-10
EXACT, DIFFERENCED = 1e-9, 1e-6  # relative violations that are rounding, with exact derivatives and with differences
STATES = 200
RATES = 2.0  # [rad/s, m/s] drawn up to this, accelerations too
SMALL = 1e-4  # of the torques met: what is smaller still has digits enough
MOST_JOINTS = 8  # in symbols without being asked: M of a 7R arm has 14,000 terms and takes 20 ms, of 12R minutes
ROWS = 2001
DURATION = 4.0  # [s]
FASTEST = 4.0  # [rad/s] of a swing
INTEGRATED = 1e-6  # relative gap of an integral over a motion that is the quadrature's
EVEN = 1e-9  # of a step: times that differ by less are evenly spaced
# ∫ over one step of the cubic through four neighbors, in steps: inside, and at the two ends.
INSIDE, END = np.array([-1.0, 13.0, 13.0, -1.0]) / 24, np.array([9.0, 19.0, -5.0, 1.0]) / 24
BY_IDENTITY = "proved as an identity of polynomials"


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Functions of a mechanism with n coordinates: M(q) (n, n), C(q, q̇) (n, n), g(q) (n,), and if known P(q), K(q, q̇)
    and τ(q, q̇, q̈).

    Give your own to examine a model from elsewhere: each is called with one state, arrays of n numbers, unless
    `batched`. What is not given is computed of the others: K = ½ q̇ᵀMq̇, τ = M q̈ + C q̇ + g. `partials(q)[j, k, i]` is
    ∂M_jk/∂q_i, by central differences if not given. States are drawn within `lower` and `upper`, ±π by default."""

    name: str
    n: int
    mass_matrix: Of1
    coriolis_matrix: Of2
    gravity_torque: Of1
    potential_energy: Of1 | None = None
    kinetic_energy: Of2 | None = None
    inverse_dynamics: Of3 | None = None
    partials: Of1 | None = None
    lower: Any = None
    upper: Any = None
    batched: bool = False
    tolerance: float | None = None
    robot: Robot | None = None
    still_energy: Of1 | None = field(default=None)  # K(q, 0), of systems whose K does not vanish at rest

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, (int, np.integer)) or self.n < 1:
            raise InputError(f"the number of coordinates n must be a whole number, at least 1; got {self.n!r}")
        for name in ("mass_matrix", "coriolis_matrix", "gravity_torque"):
            if not callable(getattr(self, name)):
                raise InputError(f"{name} of {self.name!r} must be a function of q, got {getattr(self, name)!r:.60}")

    @property
    def bound(self) -> float:
        """The relative violation that still counts as rounding."""
        return self.tolerance if self.tolerance is not None else EXACT if self.partials is not None else DIFFERENCED

    # ------------------------------------------------------------------------------------- on batches of states
    def of(self, function: Callable[..., Any], shape: tuple[int, ...], *states: Array) -> Array:
        """A function at (N, n) states, (N, *shape)."""
        with np.errstate(all="ignore"):
            found = function(*states) if self.batched else [function(*state) for state in zip(*states, strict=True)]
        try:
            values = np.asarray(found, float).reshape(len(states[0]), *shape)
        except (TypeError, ValueError):
            what = getattr(function, "__name__", "a function")
            got = np.shape(found if self.batched else found[0])
            raise InputError(
                f"{what} of {self.name!r} must give {shape or 'a number'} for one state, got shape {got}"
            ) from None
        if not np.isfinite(values).all():
            bad = int(np.argmax(~np.isfinite(values.reshape(len(values), -1)).all(1)))
            what = getattr(function, "__name__", "a function")
            raise InputError(f"{what} of {self.name!r} is not finite at q = {states[0][bad].tolist()}")
        return values

    def M(self, q: Array) -> Array:
        return self.of(self.mass_matrix, (self.n, self.n), q)

    def C(self, q: Array, qd: Array) -> Array:
        return self.of(self.coriolis_matrix, (self.n, self.n), q, qd)

    def g(self, q: Array) -> Array:
        return self.of(self.gravity_torque, (self.n,), q)

    def P(self, q: Array) -> Array:
        assert self.potential_energy is not None
        return self.of(self.potential_energy, (), q)

    def K(self, q: Array, qd: Array) -> Array:
        """½ q̇ᵀMq̇ in its own way, where there is one."""
        if self.kinetic_energy is not None:
            return self.of(self.kinetic_energy, (), q, qd)
        return 0.5 * form(qd, self.M(q), qd)

    def K0(self, q: Array) -> Array:
        return self.of(self.still_energy, (), q) if self.still_energy is not None else np.zeros(len(q))

    def H(self, q: Array, qd: Array) -> Array:
        """½ q̇ᵀMq̇ + P − K(q, 0), the storage function (P zero if nobody knows it)."""
        stored = 0.5 * form(qd, self.M(q), qd) - self.K0(q)
        return np.asarray(stored + self.P(q) if self.potential_energy is not None else stored)

    def tau(self, q: Array, qd: Array, qdd: Array) -> Array:
        if self.inverse_dynamics is not None:
            return self.of(self.inverse_dynamics, (self.n,), q, qd, qdd)
        c = times(self.C(q, qd), qd)
        return np.asarray(times(self.M(q), qdd) + c + self.g(q))

    def c(self, q: Array, qd: Array) -> Array:
        """The velocity torque by τ(q, q̇, 0) − τ(q, 0, 0): not by C, where the mechanism knows τ otherwise."""
        zero = np.zeros_like(q)
        return self.tau(q, qd, zero) - self.tau(q, zero, zero)

    def dM(self, q: Array) -> Array:
        """∂M/∂q, (N, n, n, n): [..., i] = ∂M/∂q_i."""
        if self.partials is not None:
            return self.of(self.partials, (self.n, self.n, self.n), q)
        return self.slope(self.M, q)

    def dP(self, q: Array) -> Array:
        """∂P/∂q, (N, n), of what is stored at rest, P − K(q, 0): from the energy itself, never from g."""
        if self.robot is not None:
            return np.asarray(self.robot.kernel("potential_energy").derivative("q")(q)).reshape(len(q), self.n)
        return self.slope(lambda x: self.P(x) - self.K0(x), q)

    @property
    def slope_bound(self) -> float:
        """The relative violation that still counts as rounding where `dP` is compared."""
        return self.bound if self.robot is not None else max(self.bound, DIFFERENCED)

    def slope(self, function: Of1, q: Array) -> Array:
        """∂f/∂q by central differences, the coordinate last."""
        steps = STEP * np.eye(self.n)
        return np.stack([(function(q + h) - function(q - h)) / (2 * STEP) for h in steps], -1)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        if self.robot is not None:
            return self.robot.random_configuration(count, seed=rng)
        lower = -np.pi if self.lower is None else np.asarray(self.lower, float)
        upper = np.pi if self.upper is None else np.asarray(self.upper, float)
        return rng.uniform(lower, upper, (count, self.n))


def mechanism_of(system: object) -> Mechanism:
    """The mechanism of a Robot, a LagrangianSystem, of another System with the kernels for it, or itself."""
    if isinstance(system, Mechanism):
        return system
    if isinstance(system, Robot):
        return _of_robot(system)
    if hasattr(system, "applied_force"):
        return _of_lagrangian(cast("LagrangianSystem", system))
    if isinstance(system, System):
        return _of_kernels(system)
    raise InputError(
        "properties are examined of a Robot, a LagrangianSystem, a properties.Mechanism of your own functions, or a "
        f"system that has {', '.join(SYSTEM)}; got {type(system).__name__}"
    )


def _of_robot(robot: Robot) -> Mechanism:
    need_tree(robot.model)
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to examine")
    return Mechanism(
        robot.name,
        robot.n,
        robot.mass_matrix,
        robot.coriolis_matrix,
        robot.gravity_torque,
        robot.potential_energy,
        robot.kinetic_energy,
        robot.inverse_dynamics,
        # By differentiating M's own graph: mass_matrix_dot is C + Cᵀ, and would prove itself.
        robot.kernel("mass_matrix").derivative("q"),
        batched=True,
        robot=robot,
    )


def _of_lagrangian(system: LagrangianSystem) -> Mechanism:
    def torque(q: Array, qd: Array, qdd: Array) -> Array:
        return system.inverse_dynamics(q, qd, qdd, friction=False) + system.applied_force(q, qd)

    def at_rest(q: Array) -> Array:
        return system.kinetic_energy(q, np.zeros_like(q))

    return Mechanism(
        system.name,
        system.n,
        system.mass_matrix,
        system.coriolis_matrix,
        system.gravity_torque,
        system.potential_energy,
        None,  # K as given may have terms without or linear in q̇, which store nothing
        torque,
        system.kernel("mass_matrix").derivative("q"),
        batched=True,
        still_energy=at_rest,
    )


def _of_kernels(system: System) -> Mechanism:
    """Of any system whose state is positions and their rates, and that has kernels for M, C and g."""
    n = len(system.states) // 2
    try:
        M, C, g = (system.kernel(name) for name in ("mass_matrix", "coriolis_matrix", "gravity_torque"))
    except (DalembertError, LookupError) as error:  # a stranger's table may raise a KeyError
        raise InputError(f"the properties of {system.name!r} are not known: {error}") from None
    P, tau = _optional_kernel(system, "potential_energy"), _optional_kernel(system, "inverse_dynamics")
    return Mechanism(system.name, n, M, C, g, P, None, tau, M.derivative("q"), batched=True)


def _optional_kernel(system: System, name: str) -> Kernel | None:
    try:
        return system.kernel(name)
    except (DalembertError, LookupError):
        return None


# ------------------------------------------------------------------------------------------------------- at many states
@dataclass(frozen=True, eq=False)
class Trial:
    """q, qd, qdd, x, y (N, n), the first `given` of them the user's own; `symbols`: None for where it is cheap."""

    mechanism: Mechanism
    q: Array
    qd: Array
    qdd: Array
    x: Array
    y: Array
    given: int
    symbols: bool | None
    seed: int

    @property
    def n(self) -> int:
        return self.mechanism.n

    @cached_property
    def M(self) -> Array:
        return self.mechanism.M(self.q)

    @cached_property
    def dM(self) -> Array:
        return self.mechanism.dM(self.q)

    @cached_property
    def M_dot(self) -> Array:
        """Ṁ by the chain rule from ∂M/∂q, never from C."""
        return np.asarray(np.einsum("bjki,bi->bjk", self.dM, self.qd))

    @cached_property
    def C(self) -> Array:
        return self.mechanism.C(self.q, self.qd)

    @cached_property
    def Gamma(self) -> Array:
        """Γ_ijk = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij) from ∂M/∂q."""
        D = self.dM
        return np.asarray(0.5 * (np.einsum("bkji->bijk", D) + np.einsum("bkij->bijk", D) - np.einsum("bijk->bijk", D)))

    @cached_property
    def c(self) -> Array:
        return self.mechanism.c(self.q, self.qd)

    @cached_property
    def g(self) -> Array:
        return self.mechanism.g(self.q)

    @cached_property
    def dP(self) -> Array:
        """∂P/∂q from the potential energy, never from g; g where nobody knows the energy."""
        return self.mechanism.dP(self.q) if self.mechanism.potential_energy is not None else self.g

    @cached_property
    def tau(self) -> Array:
        return self.mechanism.tau(self.q, self.qd, self.qdd)

    # ---------------------------------------------------------------------------------------------- in symbols
    @cached_property
    def _symbolic(self) -> tuple[Identities | None, str]:
        robot = self.mechanism.robot
        if robot is None or self.symbols is False:
            return None, ""
        if self.symbols is None and robot.n > MOST_JOINTS:
            return None, f"not tried in symbols: {robot.n} joints; symbols=True tries"
        try:
            return Identities(robot.equations()), ""
        except DalembertError as refused:
            if self.symbols:
                raise
            return None, f"not in symbols: {refused}"

    @property
    def identities(self) -> Identities | None:
        return self._symbolic[0]

    @property
    def why_no_symbols(self) -> str:
        return self._symbolic[1]

    # ------------------------------------------------------------------------------------------------ verdicts
    @cached_property
    def torque(self) -> float:
        """A torque below which differences of torques are rounding: what is compared with less is compared with it."""
        return SMALL * largest(self.tau)

    @cached_property
    def rate(self) -> float:
        """The same for entries of C and Ṁ."""
        return SMALL * largest(self.M) * largest(self.qd)

    def relative(self, residual: Array, *terms: Array, floor: float = 0.0) -> Array:
        """The largest entry of a residual at each state, as part of the largest entry of its terms at any, (N,)."""
        size = max(floor, *map(largest, terms))
        worst = np.abs(residual).reshape(len(residual), -1).max(1)
        return np.asarray(worst / size if size > 0 else worst)

    def judge(
        self,
        violation: Array,
        proof: Callable[[Identities], bool] | None = None,
        numbers: Mapping[str, float] | None = None,
        formulas: Mapping[str, str] | None = None,
        note: str = "",
        holds: bool = True,
        how: str = BY_IDENTITY,
        where: str = "states",
        bound: float | None = None,
    ) -> Verdict:
        """A verdict from relative violations (N,), from a proof in symbols if there is one, and from whatever else must
        hold; `bound` where a violation above the mechanism's own is still rounding."""
        worst = float(violation.max(initial=0.0))
        measured = worst <= (self.mechanism.bound if bound is None else bound) and holds
        proved = proof(self.identities) if proof is not None and self.identities is not None else None
        verdict = FAILS if not measured or proved is False else PROVED if proved else HOLDS
        shown = f"measured at {len(violation)} {where}, worst violation {worst:.1e}"
        if proved is not None:
            shown = f"{how if proved else 'as polynomials it is false'}; {shown}"
        listed = {"worst violation": worst, **(numbers or {})}
        if self.given and where == "states":
            listed["violation at the states given"] = float(violation[: self.given].max())
        notes = [note, self.why_no_symbols if proof is not None else ""]
        return Verdict(verdict, shown, listed, "; ".join(filter(None, notes)), formulas or {})


def trial_of(
    system: object,
    *,
    states: int = STATES,
    seed: int = 0,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    symbols: bool | None = None,
) -> Trial:
    """The trial of a system at random states, and at the user's own (n,) or (k, n); a `Trial` is one already."""
    if isinstance(system, Trial):
        return system
    mechanism = mechanism_of(system)
    states, seed = count("states", states, 1), count("seed", seed)
    if symbols is not None and not isinstance(symbols, bool):
        raise InputError(f"symbols is True, False, or None for where it is cheap; got {symbols!r}")
    if symbols and mechanism.robot is None:
        raise InputError(f"symbols=True needs a Robot: {mechanism.name!r} has no polynomials")
    rng = np.random.default_rng(seed)
    own = _given(mechanism, q, qd, qdd)
    drawn = [mechanism.draw(states, rng), *rng.uniform(-RATES, RATES, (4, states, mechanism.n))]
    if own:
        more = [*own, *(rng.uniform(-RATES, RATES, own[0].shape) for _ in range(2))]
        drawn = [np.concatenate((a, b)) for a, b in zip(more, drawn, strict=True)]
    q_, qd_, qdd_, x, y = drawn
    return Trial(mechanism, q_, qd_, qdd_, x, y, len(own[0]) if own else 0, symbols, seed)


def _given(mechanism: Mechanism, q: object, qd: object, qdd: object) -> list[Array]:
    """The user's states as (k, n) each, zeros where nothing is said."""
    if q is None:
        for name, value in (("qd", qd), ("qdd", qdd)):
            if value is not None:
                raise InputError(f"{name} is given without q: a state begins with its position")
        return []
    shapes = ((mechanism.n,), (None, mechanism.n))
    meaning = f"one number per coordinate of {mechanism.name!r}"
    given = {"q": q, "qd": qd, "qdd": qdd}
    arrays = [
        np.zeros((1, mechanism.n)) if value is None else np.atleast_2d(array(name, value, *shapes, meaning=meaning))
        for name, value in given.items()
    ]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise InputError("q, qd and qdd must be as many states") from None
    if 0 in shape:
        raise InputError("q holds no states")
    return [np.broadcast_to(x, shape).copy() for x in arrays]


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def dot(x: Array, y: Array) -> Array:
    """xᵀy at every state, (N,)."""
    return np.asarray(np.einsum("bi,bi->b", x, y))


def form(x: Array, A: Array, y: Array) -> Array:
    """xᵀAy at every state, (N,)."""
    return np.asarray(np.einsum("bi,bij,bj->b", x, A, y))


def times(A: Array, x: Array) -> Array:
    """Ax at every state, (N, n)."""
    return np.asarray(np.einsum("bij,bj->bi", A, x))


def transpose(A: Array) -> Array:
    """Aᵀ at every state."""
    return np.swapaxes(A, 1, 2)


class TrialOptions(TypedDict, total=False):
    """How a trial is made, as `trial_of` takes it."""

    states: int
    seed: int
    q: ArrayLike | None
    qd: ArrayLike | None
    qdd: ArrayLike | None
    symbols: bool | None


class Judge(Protocol):
    """A property as a function: of a Robot, a LagrangianSystem, a Mechanism or another System, with what the property
    itself takes, and with the options of a trial."""

    def __call__(self, system: object, *own: object, **options: object) -> Property: ...


JUDGES: dict[str, Judge] = {}  # by the names of the properties


def judge(name: str) -> Callable[[Callable[..., Verdict]], Judge]:
    """Make a function that reaches a verdict on a trial a judge of the property of that name."""

    def enter(reach: Callable[..., Verdict]) -> Judge:
        trial, *own = inspect.signature(reach).parameters.values()

        @wraps(reach)
        def judged(system: object, *given: object, **options: object) -> Property:
            settings = {key: options.pop(key) for key in _OPTIONS if key in options}
            v = reach(trial_of(system, **settings), *given, **options)  # type: ignore[arg-type]
            return Property(name, *STATEMENTS[name], v.verdict, v.shown, dict(v.numbers), dict(v.formulas), v.note)

        shown = [trial.replace(name="system", annotation="object"), *own, *_OPTIONS.values()]
        judged.__signature__ = inspect.Signature(shown, return_annotation="Property")  # type: ignore[attr-defined]
        del judged.__wrapped__  # who reads the source for defaults would find another signature there
        JUDGES[name] = judged
        return judged

    return enter


_OPTIONS = {name: p for name, p in inspect.signature(trial_of).parameters.items() if name != "system"}


# ------------------------------------------------------------------------------------------------------ along motions
@dataclass(frozen=True, eq=False)
class Swing:
    """t (T,), q, qd, qdd (T, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


def swing(mechanism: Mechanism, seed: int = 0, duration: float = DURATION, rows: int = ROWS) -> Swing:
    """Two sines for each coordinate, within its limits: q(t) = q_m + Σ a sin(ω t + φ)."""
    rng = np.random.default_rng(seed)
    n, t = mechanism.n, np.linspace(0.0, duration, rows)
    ends = mechanism.draw(256, rng)
    low, high = ends.min(0), ends.max(0)
    middle, room = (low + high) / 2, (high - low) / 2
    a = np.minimum(0.45 * room, 1.5) * rng.uniform(0.5, 1.0, (2, n))
    w, phase = rng.uniform(1.0, FASTEST, (2, n)), rng.uniform(0, 2 * np.pi, (2, n))
    angle = w * t[:, None, None] + phase
    q = middle + (a * np.sin(angle)).sum(1)
    return Swing(t, q, (a * w * np.cos(angle)).sum(1), (-a * w * w * np.sin(angle)).sum(1))


def accumulate(t: Array, f: Array) -> Array:
    """∫₀ᵗ f dt at every time, (T, ...): fourth order where times are evenly spaced, trapezoids where not."""
    h = np.diff(t)
    out = np.zeros_like(f)
    shape = (-1,) + (1,) * (f.ndim - 1)
    if len(t) < 4 or np.ptp(h) > EVEN * h.max():
        pieces = 0.5 * h.reshape(shape) * (f[1:] + f[:-1])
    else:
        step = float(h[0])
        windows = np.stack([f[k : len(f) - 3 + k] for k in range(4)], -1)
        pieces = step * np.concatenate(
            [np.tensordot(END, f[:4], 1)[None], windows @ INSIDE, np.tensordot(END, f[-4:][::-1], 1)[None]]
        )
    out[1:] = np.cumsum(pieces, 0)
    return out
