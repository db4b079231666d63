"""Properties of the velocity torque c and of the matrices C with C q̇ = c.  Seeds 000 §5.2.1, 002, 004."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, unknown
from dalembert.robot import Robot
from dalembert.trust.properties import choices
from dalembert.trust.properties.case import Case, case_of, found, largest
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Property

Array = NDArray[np.float64]
GIVEN = "as given"  # the mechanism's own C, where it is not one of the robot's choices


def velocity_torque_quadratic(system: Any, **options: Any) -> Property:
    """c(q, λq̇) = λ² c(q, q̇), C(q, 0) = 0, and c = q̇ᵀ Γ q̇ with Γ from the slopes of M."""
    case = case_of(system, **options)
    m, zero = case.mechanism, np.zeros_like(case.qd)
    scale = np.where(np.arange(len(case.q)) % 2, -1.5, 2.0)[:, None]
    scaled = case.relative(m.c(case.q, scale * case.qd) - scale**2 * case.c, 4 * case.c, floor=case.torque)
    at_rest = case.relative(m.C(case.q, zero), case.C, floor=case.rate)
    by_symbols = np.einsum("bijk,bi,bj->bk", case.Gamma, case.qd, case.qd)
    christoffel = case.relative(by_symbols - case.c, case.c, by_symbols, floor=case.torque)
    gyroscopic = float(at_rest.max()) > m.bound
    note = "C does not vanish at rest: K has terms linear in q̇, and c is not quadratic" if gyroscopic else ""
    return case.finding(
        "quadratic velocity torque",
        np.maximum(np.maximum(scaled, at_rest), christoffel),
        lambda p: p.quadratic(),
        {"largest |c| met": largest(case.c)},
        None,
        note,
    )


def velocity_torque_bounded(system: Any, **options: Any) -> Property:
    """‖c‖₂ ≤ n² max|Γ| ‖q̇‖₂² at every state, and how far from sharp that is; the same ratios in the other norms.

    |c_k| ≤ max|Γ| (Σ|q̇ᵢ|)² ≤ n max|Γ| ‖q̇‖₂² and ‖c‖₂ ≤ √n max|c_k|: n^1.5 instead of n² is enough."""
    case = case_of(system, **options)
    G = np.abs(case.Gamma).reshape(len(case.q), -1).max(1)
    most = float(G.max())
    numbers = {"n² max |Γ| met": case.n**2 * most, "n^1.5 max |Γ|, which is enough": case.n**1.5 * most}
    ratio = _ratio(case, 2)
    for order, name in ((1, "₁"), (2, "₂"), (np.inf, "∞")):
        numbers[f"‖c‖{name} / ‖q̇‖{name}² up to"] = float(_ratio(case, order).max())
    inside = bool((ratio <= case.n**1.5 * G * (1 + 1e-9) + 1e-12 * G.max()).all())
    shown = f"measured at {len(ratio)} states, the largest share of the bound {_share(ratio, case.n**2 * G):.2g}"
    robot, p = case.mechanism.robot, case.identities
    proved = inside and p is not None and p.quadratic() and _proved(p, "christoffel", p.bilinear)
    if proved:
        shown = f"follows from c = q̇ᵀΓq̇, proved as an identity; {shown}"
    note = "the constant over all states, certified: robot.bounds()" if robot is not None else ""
    if robot is not None and any(c.joint.travel for c in robot.model.coordinates):
        note += "; with sliding joints c_b may depend on q"
    return found("bounded velocity torque", PROVED if proved else HOLDS if inside else FAILS, shown, numbers, note)


def _ratio(case: Case, p: float) -> Array:
    return np.asarray(np.linalg.norm(case.c, p, axis=1) / np.linalg.norm(_moving(case.qd), p, axis=1) ** 2)


def _moving(qd: Array) -> Array:
    """Rates, with ones where nothing moves: there c is zero whatever it is divided by."""
    return np.where(np.abs(qd).max(1, keepdims=True) > 0, qd, 1.0)


def _share(ratio: Array, bound: Array) -> float:
    return float((ratio / np.where(bound > 0, bound, 1.0)).max())


# ------------------------------------------------------------------------------------- of the mechanism's own C
def skew_symmetry(system: Any, choice: str = "christoffel", **options: Any) -> Property:
    """Ṁ − 2C = −(Ṁ − 2C)ᵀ, Ṁ by the slopes of M and C by one of the choices (of a Robot), or as it is given."""
    case = case_of(system, **options)
    C = _chosen(case, choice)
    S = case.M_dot - 2 * C
    numbers = {"largest entry of Ṁ − 2C": largest(S), "largest entry of S + Sᵀ": largest(S + np.swapaxes(S, 1, 2))}
    return case.finding(
        "skew symmetry",
        _skewness(case, C),
        lambda p: _proved(p, choice, p.skew),
        numbers,
        None,
        f"C: {choices.FORMULAS[choice]}" if case.mechanism.robot is not None else "",
    )


def workless(system: Any, **options: Any) -> Property:
    """q̇ᵀ(Ṁ − 2C) q̇ = 0 for all choices: the velocity torque only moves energy about."""
    case = case_of(system, **options)
    worst = np.zeros(len(case.q))
    for C in matrices(case).values():
        worst = np.maximum(worst, _power(case, C))
    return case.finding("workless velocity torque", worst, lambda p: _proved(p, "christoffel", p.workless))


def mass_matrix_rate(system: Any, **options: Any) -> Property:
    """Ṁ = C + Cᵀ for the standard choice."""
    case = case_of(system, **options)
    residual = case.M_dot - case.C - np.swapaxes(case.C, 1, 2)
    return case.finding(
        "rate of the mass matrix",
        case.relative(residual, case.M_dot, case.C, floor=case.rate),
        lambda p: _proved(p, "christoffel", p.skew),
        {"largest |Ṁ| met": largest(case.M_dot)},
    )


def bilinear(system: Any, **options: Any) -> Property:
    """C(q, x) y = C(q, y) x: what adaptive and passivity-based laws need of C."""
    case = case_of(system, **options)
    m = case.mechanism
    a = np.einsum("bij,bj->bi", m.C(case.q, case.x), case.y)
    b = np.einsum("bij,bj->bi", m.C(case.q, case.y), case.x)
    return case.finding(
        "symmetry of C in its velocities",
        case.relative(a - b, a, b, floor=case.torque),
        lambda p: _proved(p, "christoffel", p.bilinear),
    )


def _skewness(case: Case, C: Array) -> Array:
    S = case.M_dot - 2 * C
    return case.relative(S + np.swapaxes(S, 1, 2), case.M_dot, C, floor=case.rate)


def _power(case: Case, C: Array) -> Array:
    """q̇ᵀ(Ṁ − 2C) q̇ as part of the terms it is made of."""
    v = np.abs(case.qd)
    size = np.einsum("bi,bij,bj->b", v, np.abs(case.M_dot) + 2 * np.abs(C), v)
    power = np.einsum("bi,bij,bj->b", case.qd, case.M_dot - 2 * C, case.qd)
    return case.relative(power, size, floor=case.rate * largest(v) ** 2)


def _proved(p: Any, choice: str, law: Any) -> bool:
    C = p.choice(choice)
    return bool(C is not None and law(C) and p.same_torque(C))


# ------------------------------------------------------------------------------------------------------- the choices
@dataclass(frozen=True)
class Choice:
    """One choice of C: whether C q̇ = c, q̇ᵀ(Ṁ − 2C)q̇ = 0, Ṁ − 2C is skew (which is Ṁ = C + Cᵀ) and C(q, x) y =
    C(q, y) x; `standard`: it is Christoffel's matrix. `proved`: as polynomials, for every state and all parameters.
    `violations` are the relative ones measured, by the names of the columns."""

    name: str
    formula: str
    same_torque: bool
    workless: bool
    skew: bool
    standard: bool
    proved: bool
    violations: dict[str, float]


@dataclass(frozen=True)
class Choices:
    """The choices of C of one mechanism, in a table; `free` and `free_skew`: how many functions of q are free among all
    that are linear in q̇, and among those of them that keep Ṁ − 2C skew."""

    system: str
    rows: tuple[Choice, ...]
    free: int
    free_skew: int

    def __getitem__(self, name: str) -> Choice:
        for row in self.rows:
            if row.name == name:
                return row
        raise unknown("choice of C", name, [row.name for row in self.rows])

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def keep_skew(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if row.skew)

    @property
    def lose_skew(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if not row.skew)

    def table(self) -> str:
        head = ("choice", "C q̇ = c", "q̇ᵀ(Ṁ−2C)q̇ = 0", "Ṁ−2C skew", "standard", "shown", "formula")
        words = {True: "yes", False: "no"}
        lines = [head] + [
            (
                r.name,
                words[r.same_torque],
                words[r.workless],
                words[r.skew],
                words[r.standard],
                "proved" if r.proved else "measured",
                r.formula,
            )
            for r in self.rows
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        return "\n".join("  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    def __str__(self) -> str:
        return self.table()


def coriolis_choices(system: Any, **options: Any) -> Choices:
    """Every choice of C that the lab knows, and what it keeps."""
    case = case_of(system, **options)
    standard = np.einsum("bijk,bi->bkj", case.Gamma, case.qd)
    rows = [_judged(case, name, C, standard) for name, C in matrices(case).items()]
    return Choices(case.mechanism.name, tuple(rows), *choices.freedoms(case.n))


def _judged(case: Case, name: str, C: Array, standard: Array) -> Choice:
    qd, bound = case.qd, case.mechanism.bound
    violations = {
        "same torque": float(case.relative(np.einsum("bij,bj->bi", C, qd) - case.c, case.c, floor=case.torque).max()),
        "workless": float(_power(case, C).max()),
        "skew": float(_skewness(case, C).max()),
        "standard": float(case.relative(C - standard, standard, C, floor=case.rate).max()),
    }
    good = {key: x <= bound for key, x in violations.items()}
    proved = False
    p = case.identities
    polynomials = p.choice(name) if p is not None and name != GIVEN else None
    if p is not None and polynomials is not None:
        proved = True
        exact = {
            "same torque": p.same_torque(polynomials),
            "workless": p.workless(polynomials),
            "skew": p.skew(polynomials),
        }
        good |= exact
    formula = choices.FORMULAS.get(name, "the mechanism's own")
    return Choice(
        name, formula, good["same torque"], good["workless"], good["skew"], good["standard"], proved, violations
    )


def matrices(case: Case) -> dict[str, Array]:
    """Every choice at the states of a case, (N, n, n) each."""
    robot = case.mechanism.robot
    names = [name for name in choices.FORMULAS if robot is not None or name not in ("christoffel", "bodywise")]
    found = {} if robot is not None else {GIVEN: case.C}
    return found | {name: _chosen(case, name) for name in names}


def _chosen(case: Case, name: str) -> Array:
    """A choice of C at the states of a case, (N, n, n)."""
    if name not in choices.FORMULAS:
        raise unknown("choice of C", name, list(choices.FORMULAS))
    robot, v = case.mechanism.robot, list(case.qd.T)
    if name == "christoffel":
        return case.C  # the mechanism's own
    if name in choices.FROM_PARTIALS:
        return _stacked(choices.FROM_PARTIALS[name](np.moveaxis(case.dM, (3, 1, 2, 0), (0, 1, 2, 3)), v))
    if name == "half-slope":  # of a quadratic: a central difference is exact, whatever its step
        m = case.mechanism
        return np.stack([(m.c(case.q, case.qd + e) - m.c(case.q, case.qd - e)) / 4 for e in np.eye(case.n)], -1)
    if name in choices.FROM_SYMBOLS:
        return _stacked(choices.FROM_SYMBOLS[name](np.moveaxis(case.Gamma, 0, -1), v))
    if name == "rank-one":
        return _stacked(choices.rank_one(list(case.c.T), list(_moving(case.qd).T)))
    if robot is None:
        raise InputError(f"the choice {name!r} needs the bodies of a Robot; {case.mechanism.name!r} has none")
    return np.asarray(_bodywise(robot)(case.q, case.qd))


def _stacked(C: list[list[Any]]) -> Array:
    """(N,) entries → (N, n, n)."""
    return np.moveaxis(np.array([[np.asarray(x, float) for x in np.broadcast_arrays(*row)] for row in C]), -1, 0)


def _bodywise(robot: Robot) -> Kernel:
    """The kernel of C body by body, made once."""
    key = "C body by body"
    if key not in robot.made:
        shape = (robot.n,)
        function = partial(choices.bodywise, robot.model)
        robot.made[key] = compile_function(function, [shape] * 2, [shape * 2], "bodywise", arguments=("q", "qd"))
    kernel: Kernel = robot.made[key]
    return kernel


def coriolis_matrix(system: Any, q: ArrayLike, qd: ArrayLike, choice: str = "christoffel") -> Array:
    """C(q, q̇) by any choice of the lab, at one state (n,) or at several (k, n)."""
    case = case_of(system, states=1, q=q, qd=qd, symbols=False)
    C = _chosen(case, choice)[: case.given]
    return C[0] if np.ndim(q) == 1 and np.ndim(qd) == 1 else C


def coriolis_family(system: Any, q: ArrayLike, qd: ArrayLike, W: ArrayLike) -> Array:
    """C + N, N_kj = Σ_i W_kji q̇_i: the general choice linear in q̇. W (n, n, n) must be antisymmetric in its last two
    indices, or C q̇ would change; Ṁ − 2C stays skew exactly where it is so in its first two as well."""
    case = case_of(system, states=1, q=q, qd=qd, symbols=False)
    n = case.n
    try:
        w = np.asarray(W, float)
    except (TypeError, ValueError):
        raise InputError("W must be real numbers") from None
    if w.shape != (n, n, n) or not np.isfinite(w).all():
        raise InputError(f"W must be {n}×{n}×{n} finite numbers, got shape {w.shape}")
    if np.abs(w + np.swapaxes(w, 1, 2)).max(initial=0.0) > 1e-12 * max(1.0, largest(w)):
        raise InputError("W must be antisymmetric in its last two indices, W_kji = −W_kij: else C q̇ would not be c")
    C = (case.C + np.einsum("kji,bi->bkj", w, case.qd))[: case.given]
    return C[0] if np.ndim(q) == 1 and np.ndim(qd) == 1 else C


def family_in_symbols(robot: Any) -> dict[str, str]:
    """Every choice of C linear in q̇, entry by entry in text: the standard one, and free functions w of q; w_k_ij
    multiplies q̇_j in column i and −q̇_i in column j. Ṁ − 2C stays skew where w_k_ij changes its sign with every swap of
    two of its three indices: for two joints only where all are zero."""
    case = case_of(robot, states=1, symbols=True)
    p = case.identities
    assert p is not None
    from dalembert.symbolic.lumps import legible
    from dalembert.symbolic.text import text

    n = case.n
    C = {f"C{k + 1}{j + 1}": p.C[k][j] for k in range(n) for j in range(n)}
    form = legible(C, p.equations.groups, True)
    lines = {name: text(x) for name, x in form.lumps.items()}
    for k in range(n):
        for j in range(n):
            name = f"C{k + 1}{j + 1}"
            own = [] if not C[name] else [text(form.entries[name])]
            lines[name] = " ".join([*own, *_free_terms(k, j, n)]).removeprefix("+ ") or "0"
    return lines


def _free_terms(k: int, j: int, n: int) -> list[str]:
    """Σ_i W_kji q̇_i: W_kji = ±w_k(ji), written once for each pair j < i."""
    terms = []
    for i in range(n):
        if i == j:
            continue
        low, high = min(i, j), max(i, j)
        terms.append(f"{'+' if j < i else '-'} w{k + 1}_{low + 1}{high + 1}*qd{i + 1}")
    return terms


def choices_of_c(system: Any, **options: Any) -> Property:
    """The table of choices as one property: all give c, and which of them keep Ṁ − 2C skew."""
    case = case_of(system, **options)
    table = coriolis_choices(case)
    bad = [row.name for row in table if not (row.same_torque and row.workless)]
    given = [row for row in table if row.name == GIVEN]
    wrong = bool(bad) if not given else not given[0].same_torque
    numbers = {f"{row.name}: violation of skewness": row.violations["skew"] for row in table}
    numbers |= {"free functions": float(table.free), "free functions that keep it skew": float(table.free_skew)}
    formulas = {row.name: f"{row.formula}{' (skew)' if row.skew else ' (not skew)'}" for row in table}
    proved = any(row.proved for row in table)
    shown = f"skew: {', '.join(table.keep_skew) or 'none'}; not skew: {', '.join(table.lose_skew) or 'none'}"
    shown += "; decided on polynomials where C has them, measured else" if proved else "; measured"
    note = f"C q̇ is not c for {', '.join(bad)}" if bad else ""
    verdict = FAILS if wrong else PROVED if proved else HOLDS
    return found("choices of C", verdict, shown, numbers, note, formulas=formulas)
