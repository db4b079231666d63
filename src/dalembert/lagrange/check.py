"""Whether a system can move, tried in numbers: inertia of every coordinate, independent and consistent constraints.

Symbolic rank is undecidable in general; the rank at points drawn by chance is that of almost every point. Parameters
without a number are drawn too, from (0.5, 1.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.lagrange.derive import Derived, Energies
from dalembert.lagrange.symbols import Alphabet, sp

POINTS = 6
RANK = 1e-9  # relative to rows of length one
ON_CONSTRAINT = 1e-9  # relative to φ where the search began, if that is larger than one
STARTS = 30
FADED = 1e-9


def check(alphabet: Alphabet, e: Energies, d: Derived, numbers: Mapping[Any, float | None]) -> list[int]:
    """Refuse what cannot move. `numbers` are the parameters' values, None where not given. Returns k independent
    columns of A, the coordinates that constraints can be solved for."""
    rng = np.random.default_rng(0)
    known = all(x is not None for x in numbers.values())
    drawn = {s: rng.uniform(0.5, 1.5) if x is None else x for s, x in numbers.items()}
    points = rng.uniform(-1.5, 1.5, (POINTS, len(alphabet.q)))
    _check_inertia(alphabet, d, drawn, points, known)
    if not d.A:
        return []
    labels = _labels(e)
    _check_rows(alphabet, e, d, drawn, points, labels)
    inside = {s for f in e.holonomic for s in f.free_symbols}
    if e.holonomic and all(x is not None for s, x in numbers.items() if s in inside):
        points = _on_constraints(alphabet, e, d, drawn, points, rng)
    matrices = _sample(d.A, alphabet.q, drawn)(points)
    return _independent_columns(max(matrices, key=_conditioned, default=np.eye(len(d.A), len(alphabet.q))))


def _sample(
    rows: Sequence[Sequence[Any]], q: Sequence[Any], numbers: Mapping[Any, float]
) -> Callable[[Array], list[Array]]:
    """The matrix as a function of points, leaving out those where it is not finite."""
    fixed = {s: sp.Float(x) for s, x in numbers.items()}
    function = sp.lambdify([q], [[x.xreplace(fixed) for x in row] for row in rows], modules="math")

    def values(points: Array) -> list[Array]:
        found = []
        for point in points:
            try:
                matrix = np.array(function(point.tolist()), float)
            except (ValueError, TypeError, NameError, ArithmeticError):  # outside a domain, or a function not known
                continue
            if np.isfinite(matrix).all():
                found.append(matrix)
        return found

    return values


# ---------------------------------------------------------------------------------------------------------- inertia
def _check_inertia(alphabet: Alphabet, d: Derived, numbers: Mapping[Any, float], points: Array, known: bool) -> None:
    for name, v, row in zip(alphabet.names, alphabet.qd, d.M, strict=True):
        if all(entry == 0 for entry in row):
            raise InputError(
                "not-physical",
                "kinetic",
                name,
                problem=f"coordinate {name!r} has no inertia: the kinetic energy does not contain {v}, so that M is "
                f"singular and the acceleration of {name!r} undefined",
                remedy="Give what it moves a mass, or leave the coordinate out.",
            )
    matrices = _sample(d.M, alphabet.q, numbers)(points)
    scaled = [_scaled(M) for M in matrices]
    values = [np.linalg.eigvalsh(M) for M in scaled]
    if known and values and min(w[0] for w in values) < -RANK:
        raise InputError(
            "not-physical",
            "kinetic",
            problem="the kinetic energy is negative for some velocities, with these parameters: M is not positive "
            "definite",
            remedy="Look for a wrong sign or a negative mass.",
        )
    if values and all(np.abs(w).min() < RANK for w in values):
        best = scaled[0]
        moving = np.abs(np.linalg.svd(best)[2][-1]) > 1e-6
        names = [name for name, moves in zip(alphabet.names, moving, strict=True) if moves]
        problem = (
            f"M is singular in every state: the kinetic energy does not tell {' from '.join(names)}, which can move "
            "together without it"
            if len(names) > 1
            else f"coordinate {names[0]!r} has no inertia: M is singular in every state"
        )
        remedy = "Give each an inertia of its own, or leave one out."
        raise InputError("not-physical", "kinetic", names, problem=problem, remedy=remedy)


def _scaled(M: Array) -> Array:
    """D M D with ones on the diagonal, so that units do not matter."""
    scale = np.sqrt(np.abs(np.diag(M)))
    scale[scale == 0] = 1.0
    return M / np.outer(scale, scale)


# ------------------------------------------------------------------------------------------------------ constraints
def _labels(e: Energies) -> list[str]:
    holonomic = [f"constraint {k} ({f} = 0)" for k, f in enumerate(e.holonomic, 1)]
    return holonomic + [f"pfaffian constraint {k}" for k in range(1, len(e.pfaffian) + 1)]


def _check_rows(
    alphabet: Alphabet, e: Energies, d: Derived, numbers: Mapping[Any, float], points: Array, labels: Sequence[str]
) -> None:
    for label, row in zip(labels, d.A, strict=True):
        if all(entry == 0 for entry in row):
            raise InputError(
                "no-effect",
                "constraints",
                label,
                problem=f"{label} restricts no coordinate: it must contain one of {', '.join(alphabet.names)}",
            )
    if len(d.A) > len(alphabet.q):
        raise InputError(
            "too-large",
            "constraints",
            len(d.A),
            problem=f"{len(d.A)} constraints on {len(alphabet.q)} coordinates leave nothing that moves",
        )
    matrices = _sample(d.A, alphabet.q, numbers)(points)
    for k in range(2, len(labels) + 1):
        if matrices and all(_rank(A[:k]) < k for A in matrices):
            verdict = _verdict(alphabet, e, d, numbers, k - 1) if k <= len(e.holonomic) else "follows from"
            advice = "leave it out" if verdict == "follows from" else "they cannot hold at once"
            raise InputError(
                "singular",
                "constraints",
                k,
                problem=f"{labels[k - 1]} {verdict} those before it: the rows of A are dependent in every state, and "
                f"multipliers undefined; {advice}",
            )


def _verdict(alphabet: Alphabet, e: Energies, d: Derived, numbers: Mapping[Any, float], k: int) -> str:
    """Whether a holonomic constraint dependent on those before it repeats or contradicts them, where they hold."""
    rng = np.random.default_rng(1)
    value = _sample([e.holonomic[k : k + 1]], alphabet.q, numbers)
    search = _solver(alphabet, e.holonomic[:k], d.A[:k], numbers)
    for _ in range(STARTS):
        q, _, converged = search(rng.uniform(-2, 2, len(alphabet.q)))
        if converged:
            found = value(np.array([q]))
            return "follows from" if found and abs(found[0].item()) < 1e-6 else "contradicts"
    return "repeats or contradicts"


def _on_constraints(
    alphabet: Alphabet, e: Energies, d: Derived, numbers: Mapping[Any, float], points: Array, rng: np.random.Generator
) -> Array:
    """Configurations that satisfy the holonomic constraints; refused if none is found, or none with A of full rank."""
    k = len(e.holonomic)
    found, nearest = [], np.inf
    search = _solver(alphabet, e.holonomic, d.A[:k], numbers)
    for start in range(STARTS):
        scale = (1.0, 3.0, 10.0)[start % 3]
        q, residual, converged = search(rng.uniform(-scale, scale, len(alphabet.q)))
        nearest = min(nearest, residual)
        if converged:
            found.append(q)
        if len(found) == POINTS:
            break
    if not found:
        raise InputError(
            "infeasible",
            "constraints",
            problem=f"the constraints are inconsistent: no configuration satisfies {_listed(e)}; of {STARTS} "
            f"searches the nearest misses by {nearest:.3g}",
        )
    sample = _sample(d.A, alphabet.q, numbers)
    matrices, elsewhere = sample(np.array(found)), sample(points)
    if elsewhere:  # a gradient that fades toward the constraint, as of (x − y)², is zero on it
        usual = np.median([np.linalg.norm(A, axis=1) for A in elsewhere], axis=0)
        matrices = [A * (np.linalg.norm(A, axis=1) > FADED * usual)[:, None] for A in matrices]
    if matrices and all(_rank(A) < len(A) for A in matrices):
        raise InputError(
            "singular",
            "constraints",
            problem=f"wherever the constraints {_listed(e)} hold, the rows of A are dependent, and multipliers "
            "undefined",
            remedy="Write each as an independent condition with a gradient that is not zero there.",
        )
    return np.array(found)


def _listed(e: Energies) -> str:
    return " and ".join(f"{f} = 0" for f in e.holonomic)


def _solver(
    alphabet: Alphabet, holonomic: Sequence[Any], A: Sequence[Any], numbers: Mapping[Any, float]
) -> Callable[[Array], tuple[Array, float, bool]]:
    """The function that finds a configuration near a start with φ(q) = 0, and says what is left of φ and whether that
    is nothing: damped Gauss–Newton steps (Levenberg, Marquardt)."""
    value = _sample([[f] for f in holonomic], alphabet.q, numbers)
    slope = _sample(A, alphabet.q, numbers)

    def search(start: Array) -> tuple[Array, float, bool]:
        q, damping, phi = start, 1e-3, value(start[None])
        enough = ON_CONSTRAINT * np.maximum(1.0, np.abs(phi[0])) if phi else np.inf
        for _ in range(100):
            J = slope(q[None])
            if not phi or not J or not phi[0].any() or damping > 1e12:
                break
            rows = np.vstack([J[0], np.sqrt(damping) * np.eye(len(q))])
            step = np.linalg.lstsq(rows, np.append(phi[0].ravel(), np.zeros(len(q))), rcond=None)[0]
            trial = value((q - step)[None])
            if trial and np.linalg.norm(trial[0]) < np.linalg.norm(phi[0]):
                q, phi, damping = q - step, trial, damping / 10
            elif (np.abs(phi[0]) < enough).all():
                break  # at the limit of rounding: only there is a gradient that fades told from a small one
            else:
                damping *= 10
        if not phi:
            return q, np.inf, False
        return q, float(np.abs(phi[0]).max()), bool((np.abs(phi[0]) < enough).all())

    return search


def _unit_rows(A: Array) -> Array:
    lengths = np.linalg.norm(A, axis=1, keepdims=True)
    return A / np.where(lengths > 0, lengths, 1.0)


def _rank(A: Array) -> int:
    values = np.linalg.svd(_unit_rows(A), compute_uv=False)
    return int((values > RANK * 10).sum())


def _conditioned(A: Array) -> float:
    return float(np.linalg.svd(_unit_rows(A), compute_uv=False)[-1])


def _independent_columns(A: Array) -> list[int]:
    """k columns that are independent, each the longest of what the others before it leave (pivoted elimination)."""
    rest, chosen = _unit_rows(A), []
    for _ in range(len(A)):
        lengths = np.linalg.norm(rest, axis=0)
        j = int(np.argmax(lengths > lengths.max() * 0.5))  # the first good one: coordinates keep their order
        chosen.append(j)
        direction = rest[:, j : j + 1] / lengths[j]
        rest = rest - direction @ (direction.T @ rest)
    return sorted(chosen)
