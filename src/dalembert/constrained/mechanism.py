"""The methods that all constrained systems share: constraints, projections, impacts, closing, independent coordinates.

A system supplies its kernels, made of a `Mechanics`, and the names of its coordinates and rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, count, number, plain_array
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.system import Kernels, Limits

if TYPE_CHECKING:
    from dalembert.constrained.closure import Closure
    from dalembert.constrained.reduced import Reduced

# How far a state may be off its constraints [in lengths of the mechanism, rad; rates and accelerations as parts of the
# largest]: far above what integration leaves, far below what anybody means.
TOLERANCE = 1e-6


class Impact(NamedTuple):
    """Rates after an impact (..., n), and the impulses (..., k) against the constraints' rows [N s, N m s]."""

    qd: Array
    impulses: Array


class Unconstrained(Protocol):
    """The same system without its constraints."""

    def mass_matrix(self, q: ArrayLike) -> Array: ...

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, friction: bool) -> Array: ...


class ConstrainedSystem(ABC):
    """A system with τ = M q̈ + h + Aᵀλ and A q̇ = 0."""

    rows: tuple[str, ...]  # names of the rows of A
    _friction_by_default: bool = False
    _max_step: float  # of one coordinate in one of Newton's steps
    _kernels: Kernels[Any]
    _sizes: tuple[float, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the system."""

    @property
    @abstractmethod
    def nq(self) -> int:
        """The length of q."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """The length of velocities, accelerations and torques: nq, where q̇ = v."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of coordinates, of systems in which q̇ = v."""

    @property
    @abstractmethod
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of q."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """Limits of the coordinates."""

    @property
    @abstractmethod
    def home(self) -> Array:
        """The configuration at which searches begin."""

    @property
    @abstractmethod
    def holonomic(self) -> bool:
        """Whether every constraint restricts positions."""

    @property
    @abstractmethod
    def _unconstrained(self) -> Unconstrained:
        """The system without its constraints."""

    @abstractmethod
    def moved(self, q: Array, d: Array) -> Array:
        """Return q ⊕ d, a plain sum where q̇ = v."""

    @abstractmethod
    def _velocity_units(self) -> list[tuple[str, str]]:
        """Return the joint, and the unit of the velocity times time, of each entry of the velocities."""

    @abstractmethod
    def _find_reversed(self, q: Array) -> str | None:
        """Return the name of the first constraint that is held half a turn off at q."""

    @abstractmethod
    def _scales(self, q: Array) -> Array:
        """Return what the residual of each row is compared with at q.  (k,)."""

    @property
    def k(self) -> int:
        """Number of rows, those that depend on others included."""
        return len(self.rows)

    def _evaluate(self, name: str, *arguments: object) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN compared with anything: it shows in the result
            return self._kernels.run((name, ()), None, *arguments)

    # ------------------------------------------------------------------------------------------------ the constraints
    def residual(self, q: ArrayLike) -> Array:
        """φ(q) [m, rad], zero where the constraints hold; zero in Pfaffian rows.  (..., k)."""
        return self._evaluate("residual", q)

    def jacobian(self, q: ArrayLike) -> Array:
        """A(q) = ∂φ/∂q, A q̇ = 0.  (..., k, n)."""
        return self._evaluate("jacobian", q)

    def drift(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ q̇ [m/s², rad/s²]: A q̈ + Ȧ q̇ = 0.  (..., k)."""
        return self._evaluate("drift", q, qd)

    def rank(self, q: ArrayLike) -> int | NDArray[np.int64]:
        """How many rows of A are independent at q, those that count in the dynamics: the freedoms of force."""
        count = np.sum(self._evaluate("kept", q), axis=-1).astype(int)
        return int(count) if count.ndim == 0 else count

    @cached_property
    def generic_rank(self) -> int:
        """The rank of A at ordinary states: the largest at some closed ones. Fewer at a state means that it is
        singular."""
        rng = np.random.default_rng(0)
        found = 0
        for spread in (0.0, 0.05, 0.3, 1.0):
            start = self.moved(self.home, spread * rng.uniform(-1, 1, self.nv))
            closure = self.close(start, strict=False) if self.holonomic or spread == 0 else None
            q = start if closure is None else closure.q
            if closure is None or closure:
                found = max(found, int(self.rank(q)))
        return found

    def freedoms(self, q: ArrayLike) -> int | NDArray[np.int64]:
        """n − rank A(q): the freedoms of velocity."""
        return self.nv - self.rank(q)

    def redundant(self, q: ArrayLike) -> tuple[str, ...]:
        """Names of the rows that depend on the rows before them at one state q: the same motion without them."""
        kept = self._evaluate("kept", q)
        if kept.ndim != 1:
            raise InputError(
                "wrong-shape", "q", np.asarray(q), expected=f"shape ({self.nq},), one state", remedy="Pass one state."
            )
        return tuple(name for name, counts in zip(self.rows, kept, strict=True) if not counts)

    def require(self, q: ArrayLike, qd: ArrayLike | None = None, tolerance: float = TOLERANCE) -> None:
        """Raise InputError for a state that does not obey the constraints, with the name of the row; NaN passes."""
        rates = np.zeros(self.nv) if qd is None else qd
        off = np.asarray(self._evaluate("off", q, rates))
        if (off > tolerance).any():
            self._refuse(q, rates, off > tolerance, tolerance)

    def _state(self, q: ArrayLike, qd: ArrayLike, bad: NDArray[np.bool_]) -> tuple[Array, Array, str]:
        """The first bad state of a batch, and how a message calls it."""
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        given = ((q, self.nq), (qd, self.nv))
        one_q, one_qd = (np.broadcast_to(np.asarray(x, float), (*bad.shape, size))[index] for x, size in given)
        return one_q, one_qd, f" in state {index}" if index else ""

    def _refuse(self, q: ArrayLike, qd: ArrayLike, bad: NDArray[np.bool_], tolerance: float) -> None:
        one, rates, state = self._state(q, qd, bad)
        sizes = np.array(self._sizes)
        phi = self.residual(one)
        worst = int(np.argmax(np.abs(phi) / sizes))
        if abs(phi[worst]) > tolerance * sizes[worst]:
            raise InputError(
                "wrong-value",
                "q",
                one,
                problem=f"q does not obey the constraints{state}: {self.rows[worst]!r} is off by {phi[worst]:.3g}",
                expected="on the constraints",
                remedy="close(q) returns a q that is.",
            )
        slips = self.jacobian(one) @ rates
        worst = int(np.argmax(np.abs(slips) / sizes))
        if abs(slips[worst]) > tolerance * sizes[worst] * (1 + np.abs(rates).max(initial=0.0)):
            raise InputError(
                "wrong-value",
                "qd",
                rates,
                problem=f"qd does not obey the constraints{state}: A qd of {self.rows[worst]!r} is {slips[worst]:.3g}",
                expected="on the constraints",
                remedy="project(q, qd) returns rates that are.",
            )
        raise InputError(
            "wrong-value",
            "q",
            one,
            problem=f"q does not obey the constraints{state}: frames are held half a turn off, the wrong way round",
            expected="on the constraints",
            remedy="close(q) from another start returns a q that is.",
        )

    # ----------------------------------------------------------------------------------------------------- projections
    def projection(self, q: ArrayLike) -> Array:
        """P = I − AᵀΛ⁻¹AM⁻¹: of torques the part that moves the mechanism; I − P is what presses against the
        constraints. P τ = P (M q̈ + h), rank P = n − k.  (..., n, n).  [Fakhari 3], (5)."""
        return np.swapaxes(self._evaluate("projection", q), -1, -2)

    def acceleration_projection(self, q: ArrayLike) -> Array:
        """P_q̈ = M⁻¹PM = I − M⁻¹AᵀΛ⁻¹A: P_q̈ q̈ = P_q̈ M⁻¹(τ − h).  (..., n, n).  [Fakhari 3]."""
        return self._evaluate("projection", q)

    def project(self, q: ArrayLike, qd: ArrayLike, steps: int = 1) -> tuple[Array, Array]:
        """The state brought nearer to the constraints: Newton steps q − M⁻¹AᵀΛ⁻¹φ, then q̇ − M⁻¹AᵀΛ⁻¹A q̇, both the
        shortest in the metric of M.  (..., n) each."""
        for _ in range(count("steps", steps, 1)):
            q, _ = self._evaluate("projected", q, qd)
        return np.asarray(q), np.asarray(self._evaluate("projected", q, qd)[1])

    def impact(
        self, q: ArrayLike, qd: ArrayLike, restitution: float = 0.0, *, tolerance: float | None = TOLERANCE
    ) -> Impact:
        """Return the rates after an impact, in which the constraints act by impulses: A q̇⁺ = −e A q̇.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, on the constraints. It does not change.
        qd : array_like, shape (..., nv)
            Rates before the impact, which need not obey the constraints.
        restitution : float, default 0
            e from 0 (plastic: A q̇⁺ = 0) to 1 (elastic: no kinetic energy is lost).
        tolerance : float or None
            How far q may be off the constraints. None turns the check off.

        Returns
        -------
        Impact
            `qd` (..., nv) after the impact, and `impulses` p (..., k), one per row, with the sign of the multipliers:
            M (q̇⁺ − q̇) = −Aᵀp. Rows that depend on the rows before them have p = 0.

        Notes
        -----
        q̇⁺ = q̇ − (1 + e) M⁻¹AᵀΛ⁻¹A q̇ and p = (1 + e) Λ⁻¹A q̇, Λ = A M⁻¹Aᵀ. The loss of kinetic energy is
        ½ (1 − e²) (A q̇)ᵀΛ⁻¹A q̇. With e = 0 the rates are those of `project`.

        Examples
        --------
        >>> import dalembert as dl
        >>> from dalembert.constrained import Constrained, contact
        >>> arm = dl.load("planar-2r")
        >>> touching = Constrained(arm, contact("tool0", arm.fk([0.3, 0.8])[:3, 3]))
        >>> after = touching.impact([0.3, 0.8], [1.0, -2.0])
        >>> bool(abs(touching.jacobian([0.3, 0.8]) @ after.qd).max() < 1e-12)
        True
        """
        e = number("restitution", restitution, least=0.0, most=1.0)
        if tolerance is not None:
            self.require(q, tolerance=number("tolerance", tolerance, least=0.0))
        change, impulses = self._evaluate("impulse", q, qd)
        return Impact(np.asarray(plain_array(qd, "qd"), float) + (1.0 + e) * change, (1.0 + e) * impulses)

    # ------------------------------------------------------------------------------------------------ closed chains
    def close(
        self, q: ArrayLike | None = None, *, fixed: Sequence[str] = (), tolerance: float = 1e-12, strict: bool = True
    ) -> Closure:
        """The nearest closed configuration that Newton's method finds from q (`home`), with the joints `fixed` held
        where they are. One that cannot be closed is refused by name; with strict=False its certificate is returned."""
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
