"""A case: one mechanism at many states, what is computed once for all its properties, and how a verdict is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.caching import cached_property
from dalembert.errors import DalembertError, InputError
from dalembert.trust.properties.identities import Identities
from dalembert.trust.properties.mechanism import Mechanism, mechanism_of
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, SILENT, Property
from dalembert.trust.properties.statements import STATEMENTS

Array = NDArray[np.float64]
STATES = 200
RATES = 2.0  # [rad/s, m/s] drawn up to this, accelerations too
SMALL = 1e-4  # of the torques met: what is smaller still has digits enough
MOST_JOINTS = 8  # in symbols without being asked: M of a 7R arm has 14,000 terms and takes 20 ms, of 12R minutes
BY_IDENTITY = "proved as an identity of polynomials"


@dataclass(frozen=True, eq=False)
class Case:
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
        if robot is None:
            return None, ""
        if self.symbols is False:
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
        size = max((largest(t) for t in terms), default=0.0)
        size = max(size, floor)
        worst = np.abs(residual).reshape(len(residual), -1).max(1)
        return np.asarray(worst / size if size > 0 else worst)

    def finding(
        self,
        name: str,
        violation: Array,
        proof: Callable[[Identities], bool] | None = None,
        numbers: Mapping[str, float] | None = None,
        formulas: Mapping[str, str] | None = None,
        note: str = "",
        holds: bool = True,
        how: str = BY_IDENTITY,
        where: str = "states",
        bound: float | None = None,
    ) -> Property:
        """A verdict from relative violations (N,), from a proof in symbols if there is one, and from whatever else must
        hold; `bound` where a violation above the mechanism's own is still rounding."""
        worst = float(violation.max(initial=0.0))
        measured = worst <= (self.mechanism.bound if bound is None else bound) and holds
        proved = proof(self.identities) if proof is not None and self.identities is not None else None
        verdict = FAILS if not measured or proved is False else PROVED if proved else HOLDS
        shown = f"measured at {len(violation)} {where}, worst violation {worst:.1e}"
        if proved:
            shown = f"{how}; {shown}"
        elif proved is False:
            shown = f"as polynomials it is false; {shown}"
        listed = {"worst violation": worst, **(numbers or {})}
        if self.given and where == "states":
            listed["violation at the states given"] = float(violation[: self.given].max())
        notes = [note] if note else []
        if proof is not None and self.why_no_symbols:
            notes.append(self.why_no_symbols)
        return Property(name, *_of(name), verdict, shown, listed, dict(formulas or {}), "; ".join(notes))


def _of(name: str) -> tuple[str, str, str]:
    s = STATEMENTS[name]
    return s.text, s.latex, s.source


def silent(name: str, why: str) -> Property:
    """A property that this mechanism does not have the means for."""
    return Property(name, *_of(name), SILENT, why)


def found(name: str, verdict: str, shown: str, numbers: Mapping[str, float], note: str = "", **more: Any) -> Property:
    """A finding that is not one of relative violations."""
    return Property(name, *_of(name), verdict, shown, numbers, note=note, **more)


def case_of(
    system: Any,
    *,
    states: int = STATES,
    seed: int = 0,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    symbols: bool | None = None,
) -> Case:
    """The case of a system at random states, and at the user's own (n,) or (k, n); a `Case` is one already."""
    if isinstance(system, Case):
        return system
    mechanism = mechanism_of(system)
    for name, value, least in (("states", states, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}")
    if symbols is not None and not isinstance(symbols, bool):
        raise InputError(f"symbols is True, False, or None for where it is cheap; got {symbols!r}")
    if symbols and mechanism.robot is None:
        raise InputError(f"symbols=True needs a Robot: {mechanism.name!r} has no polynomials")
    rng = np.random.default_rng(int(seed))
    own = _given(mechanism, q, qd, qdd)
    q_, qd_, qdd_, x, y = (mechanism.draw(states, rng), *rng.uniform(-RATES, RATES, (4, states, mechanism.n)))
    if not own:
        return Case(mechanism, q_, qd_, qdd_, x, y, 0, symbols, int(seed))
    q_, qd_, qdd_ = (np.concatenate((a, b)) for a, b in zip(own, (q_, qd_, qdd_), strict=True))
    x, y = (np.concatenate((rng.uniform(-RATES, RATES, own[0].shape), z)) for z in (x, y))
    return Case(mechanism, q_, qd_, qdd_, x, y, len(own[0]), symbols, int(seed))


def _given(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Array]:
    """The user's states as (k, n) each, zeros where nothing is said."""
    if q is None:
        for name, value in (("qd", qd), ("qdd", qdd)):
            if value is not None:
                raise InputError(f"{name} is given without q: a state begins with its position")
        return []
    arrays = []
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd)):
        try:
            x = np.asarray(0.0 if value is None else value, float)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be real numbers, got {value!r:.60}") from None
        if value is not None and (x.ndim not in (1, 2) or x.shape[-1] != mechanism.n):
            raise InputError(
                f"{name} has shape {x.shape}; it must be ({mechanism.n},) or (states, {mechanism.n}), one number per "
                f"coordinate of {mechanism.name!r}"
            )
        if not np.isfinite(x).all():
            raise InputError(f"{name} must be finite")
        arrays.append(np.atleast_2d(x) if value is not None else x)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise InputError("q, qd and qdd must be as many states") from None
    if 0 in shape:
        raise InputError("q holds no states")
    return [np.broadcast_to(x, shape).copy() for x in arrays]


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
