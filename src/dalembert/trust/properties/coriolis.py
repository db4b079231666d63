"""Properties of the velocity torque c and of the matrices C with C q̇ = c.

[Poonawala] §5.2.1, [Lagrange notes], [Fakhari 2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.compile import Kernel, compile_function
from dalembert.display import align
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError, choose
from dalembert.robot import Robot
from dalembert.trust.properties import identities
from dalembert.trust.properties.identities import Identities, Square
from dalembert.trust.properties.mechanism import (
    Trial,
    TrialOptions,
    form,
    judge,
    largest,
    mechanism_of,
    swing,
    times,
    transpose,
    trial_of,
)
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GIVEN = "as given"  # the mechanism's own C, where it is not one of the robot's choices


@judge("quadratic velocity torque")
def velocity_torque_quadratic(trial: Trial) -> Verdict:
    """c(q, λq̇) = λ² c(q, q̇), C(q, 0) = 0, and c = q̇ᵀ Γ q̇ with Γ from the slopes of M."""
    m, zero = trial.mechanism, np.zeros_like(trial.qd)
    scale = np.where(np.arange(len(trial.q)) % 2, -1.5, 2.0)[:, None]
    scaled = trial.relative(m.c(trial.q, scale * trial.qd) - scale**2 * trial.c, 4 * trial.c, floor=trial.torque)
    at_rest = trial.relative(m.C(trial.q, zero), trial.C, floor=trial.rate)
    by_symbols = np.einsum("bijk,bi,bj->bk", trial.Gamma, trial.qd, trial.qd)
    christoffel = trial.relative(by_symbols - trial.c, trial.c, by_symbols, floor=trial.torque)
    gyroscopic = float(at_rest.max()) > m.bound
    note = "C does not vanish at rest: K has terms linear in q̇, and c is not quadratic" if gyroscopic else ""
    worst = np.maximum(np.maximum(scaled, at_rest), christoffel)
    return trial.judge(worst, lambda p: p.quadratic(), {"largest |c| met": largest(trial.c)}, note=note)


@judge("bounded velocity torque")
def velocity_torque_bounded(trial: Trial) -> Verdict:
    """‖c‖₂ ≤ n² max|Γ| ‖q̇‖₂² at every state, and how far from sharp that is; the same ratios in the other norms.

    |c_k| ≤ max|Γ| (Σ|q̇ᵢ|)² ≤ n max|Γ| ‖q̇‖₂² and ‖c‖₂ ≤ √n max|c_k|: n^1.5 instead of n² is enough."""
    G = np.abs(trial.Gamma).reshape(len(trial.q), -1).max(1)
    most = float(G.max())
    numbers = {"n² max |Γ| met": trial.n**2 * most, "n^1.5 max |Γ|, which is enough": trial.n**1.5 * most}
    moving = np.where(np.abs(trial.qd).max(1, keepdims=True) > 0, trial.qd, 1.0)  # at rest c is 0 over whatever
    orders = {"₁": 1, "₂": 2, "∞": np.inf}
    ratios = {k: np.linalg.norm(trial.c, p, axis=1) / np.linalg.norm(moving, p, axis=1) ** 2 for k, p in orders.items()}
    numbers |= {f"‖c‖{name} / ‖q̇‖{name}² up to": float(x.max()) for name, x in ratios.items()}
    ratio, bound = ratios["₂"], trial.n**2 * G
    share = float((ratio / np.where(bound > 0, bound, 1.0)).max())
    inside = bool((ratio <= trial.n**1.5 * G * (1 + 1e-9) + 1e-12 * G.max()).all())
    shown = f"measured at {len(ratio)} states, the largest share of the bound {share:.2g}"
    robot, p = trial.mechanism.robot, trial.identities
    proved = inside and p is not None and p.quadratic() and _proves(p, "christoffel", p.bilinear)
    if proved:
        shown = f"follows from c = q̇ᵀΓq̇, proved as an identity; {shown}"
    note = "the constant over all states, certified: robot.bounds()" if robot is not None else ""
    if robot is not None and any(c.joint.travel for c in robot.model.coordinates):
        note += "; with sliding joints c_b may depend on q"
    return Verdict(PROVED if proved else HOLDS if inside else FAILS, shown, numbers, note)


# ------------------------------------------------------------------------------------- of the mechanism's own C
@judge("skew symmetry")
def skew_symmetry(trial: Trial, choice: str = "christoffel") -> Verdict:
    """Ṁ − 2C = −(Ṁ − 2C)ᵀ, Ṁ by the slopes of M and C by one of the choices (of a Robot), or as it is given."""
    C = _choose(trial, choice)
    S = trial.M_dot - 2 * C
    numbers = {"largest entry of Ṁ − 2C": largest(S), "largest entry of S + Sᵀ": largest(S + transpose(S))}
    note = f"C: {identities.FORMULAS[choice]}" if trial.mechanism.robot is not None else ""
    return trial.judge(skew_violation(trial, C), lambda p: _proves(p, choice, p.skew), numbers, note=note)


@judge("workless velocity torque")
def workless(trial: Trial) -> Verdict:
    """q̇ᵀ(Ṁ − 2C) q̇ = 0 for all choices: the velocity torque only moves energy about."""
    worst = np.max([_power_violation(trial, C) for C in matrices(trial).values()], axis=0)
    return trial.judge(worst, lambda p: _proves(p, "christoffel", p.workless))


@judge("rate of the mass matrix")
def mass_matrix_rate(trial: Trial) -> Verdict:
    """Ṁ = C + Cᵀ for the standard choice."""
    violation = trial.relative(trial.M_dot - trial.C - transpose(trial.C), trial.M_dot, trial.C, floor=trial.rate)
    numbers = {"largest |Ṁ| met": largest(trial.M_dot)}
    return trial.judge(violation, lambda p: _proves(p, "christoffel", p.skew), numbers)


@judge("symmetry of C in its velocities")
def bilinear(trial: Trial) -> Verdict:
    """C(q, x) y = C(q, y) x: what adaptive and passivity-based laws need of C."""
    m = trial.mechanism
    a, b = times(m.C(trial.q, trial.x), trial.y), times(m.C(trial.q, trial.y), trial.x)
    violation = trial.relative(a - b, a, b, floor=trial.torque)
    return trial.judge(violation, lambda p: _proves(p, "christoffel", p.bilinear))


def skew_violation(trial: Trial, C: Array) -> Array:
    """Ṁ − 2C + (Ṁ − 2C)ᵀ as part of the terms it is made of, (N,)."""
    S = trial.M_dot - 2 * C
    return trial.relative(S + transpose(S), trial.M_dot, C, floor=trial.rate)


def _power_violation(trial: Trial, C: Array) -> Array:
    """q̇ᵀ(Ṁ − 2C) q̇ as part of the terms it is made of, (N,)."""
    v = np.abs(trial.qd)
    size = form(v, np.abs(trial.M_dot) + 2 * np.abs(C), v)
    return trial.relative(form(trial.qd, trial.M_dot - 2 * C, trial.qd), size, floor=trial.rate * largest(v) ** 2)


def _proves(p: Identities, choice: str, law: Callable[[Square], bool]) -> bool:
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
        named = {row.name: row for row in self.rows}
        return named[choose("choice of C", name, named)]

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
        lines: list[tuple[str, ...]] = [
            ("choice", "C q̇ = c", "q̇ᵀ(Ṁ−2C)q̇ = 0", "Ṁ−2C skew", "standard", "shown", "formula")
        ]
        for r in self.rows:
            kept = ("yes" if x else "no" for x in (r.same_torque, r.workless, r.skew, r.standard))
            lines.append((r.name, *kept, "proved" if r.proved else "measured", r.formula))
        return "\n".join(align(lines))

    def __str__(self) -> str:
        return self.table()


def coriolis_choices(system: object, **options: Unpack[TrialOptions]) -> Choices:
    """Every choice of C that the lab knows, and what it keeps."""
    trial = trial_of(system, **options)
    standard = np.einsum("bijk,bi->bkj", trial.Gamma, trial.qd)
    rows = [_judge_choice(trial, name, C, standard) for name, C in matrices(trial).items()]
    return Choices(trial.mechanism.name, tuple(rows), *identities.freedoms(trial.n))


def _judge_choice(trial: Trial, name: str, C: Array, standard: Array) -> Choice:
    measured = {
        "same torque": trial.relative(times(C, trial.qd) - trial.c, trial.c, floor=trial.torque),
        "workless": _power_violation(trial, C),
        "skew": skew_violation(trial, C),
        "standard": trial.relative(C - standard, standard, C, floor=trial.rate),
    }
    violations = {key: float(x.max()) for key, x in measured.items()}
    same, idle, skew, plain = (x <= trial.mechanism.bound for x in violations.values())
    p = trial.identities
    exact = p.choice(name) if p is not None and name != GIVEN else None
    if p is not None and exact is not None:
        same, idle, skew = p.same_torque(exact), p.workless(exact), p.skew(exact)
    formula = identities.FORMULAS.get(name, "the mechanism's own")
    return Choice(name, formula, same, idle, skew, plain, exact is not None, violations)


def matrices(trial: Trial) -> dict[str, Array]:
    """Every choice at the states of a trial, (N, n, n) each."""
    robot = trial.mechanism.robot
    names = [name for name in identities.FORMULAS if robot is not None or name not in ("christoffel", "bodywise")]
    found = {} if robot is not None else {GIVEN: trial.C}
    return found | {name: _choose(trial, name) for name in names}


def _choose(trial: Trial, name: str) -> Array:
    """A choice of C at the states of a trial, (N, n, n)."""
    choose("choice of C", name, identities.FORMULAS)
    robot, v = trial.mechanism.robot, list(trial.qd.T)
    if name == "christoffel":
        return trial.C  # the mechanism's own
    if name in identities.FROM_PARTIALS:
        return _stack(identities.FROM_PARTIALS[name](np.moveaxis(trial.dM, (3, 1, 2, 0), (0, 1, 2, 3)), v))
    if name == "half-slope":  # of a quadratic: a central difference is exact, whatever its step
        m = trial.mechanism
        return np.stack([(m.c(trial.q, trial.qd + e) - m.c(trial.q, trial.qd - e)) / 4 for e in np.eye(trial.n)], -1)
    if name in identities.FROM_SYMBOLS:
        return _stack(identities.FROM_SYMBOLS[name](np.moveaxis(trial.Gamma, 0, -1), v))
    if name == "rank-one":
        moving = np.where(np.abs(trial.qd).max(1, keepdims=True) > 0, trial.qd, 1.0)
        return _stack(identities.rank_one(list(trial.c.T), list(moving.T)))
    if robot is None:
        raise InputError(f"the choice {name!r} needs the bodies of a Robot; {trial.mechanism.name!r} has none")
    return np.asarray(_bodywise(robot)(trial.q, trial.qd))


def _stack(C: identities.Rows) -> Array:
    """(N,) entries → (N, n, n)."""
    return np.moveaxis(np.array([[np.asarray(x, float) for x in np.broadcast_arrays(*row)] for row in C]), -1, 0)


def _bodywise(robot: Robot) -> Kernel:
    """The kernel of C body by body, made once."""
    shape, function = (robot.n,), partial(identities.bodywise, robot.model)
    return robot.once(
        "C body by body",
        lambda: compile_function(function, [shape] * 2, [shape * 2], "bodywise", arguments=("q", "qd")),
    )


def coriolis_matrix(system: object, q: ArrayLike, qd: ArrayLike, choice: str = "christoffel") -> Array:
    """C(q, q̇) by any choice of the lab, at one state (n,) or at several (k, n)."""
    trial = trial_of(system, states=1, q=q, qd=qd, symbols=False)
    return _at_given(trial, _choose(trial, choice), q, qd)


def _at_given(trial: Trial, C: Array, q: ArrayLike, qd: ArrayLike) -> Array:
    return C[0] if np.ndim(q) == 1 and np.ndim(qd) == 1 else C[: trial.given]


def coriolis_family(system: object, q: ArrayLike, qd: ArrayLike, W: ArrayLike) -> Array:
    """C + N, N_kj = Σ_i W_kji q̇_i: the general choice linear in q̇. W (n, n, n) must be antisymmetric in its last two
    indices, or C q̇ would change; Ṁ − 2C stays skew exactly where it is so in its first two as well."""
    trial = trial_of(system, states=1, q=q, qd=qd, symbols=False)
    n = trial.n
    w = array("W", W, (n, n, n))
    if np.abs(w + transpose(w)).max(initial=0.0) > 1e-12 * max(1.0, largest(w)):
        raise InputError("W must be antisymmetric in its last two indices, W_kji = −W_kij: else C q̇ would not be c")
    return _at_given(trial, trial.C + np.einsum("kji,bi->bkj", w, trial.qd), q, qd)


def family_in_symbols(robot: Robot) -> dict[str, str]:
    """Every choice of C linear in q̇, entry by entry in text: the standard one, and free functions w of q; w_k_ij
    multiplies q̇_j in column i and −q̇_i in column j. Ṁ − 2C stays skew where w_k_ij changes its sign with every swap of
    two of its three indices: for two joints only where all are zero."""
    trial = trial_of(robot, states=1, symbols=True)
    p = trial.identities
    assert p is not None
    from dalembert.symbolic.lumps import legible
    from dalembert.symbolic.text import text

    n = trial.n
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
    pairs = ((i, min(i, j) + 1, max(i, j) + 1) for i in range(n) if i != j)
    return [f"{'+' if j < i else '-'} w{k + 1}_{low}{high}*qd{i + 1}" for i, low, high in pairs]


@judge("choices of C")
def choices_of_c(trial: Trial) -> Verdict:
    """The table of choices as one property: all give c, and which of them keep Ṁ − 2C skew."""
    table = coriolis_choices(trial)
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
    return Verdict(verdict, shown, numbers, note, formulas=formulas)


# --------------------------------------------------------------------------------------------- what a choice is worth
@dataclass(frozen=True, eq=False)
class Skewness:
    """t (T,) [s]; `power` of each choice, (T,): xᵀ(Ṁ − 2C) x."""

    system: str
    t: Array
    x: Array
    power: Mapping[str, Array]

    @styled
    def plot(self, axes: Axes | None = None) -> Figure:
        """A matplotlib figure: a line for each choice of C; those that keep Ṁ − 2C skew lie on zero."""
        if axes is None:
            figure, axes = pyplot().subplots(figsize=(8.0, 3.6), layout="constrained")
            figure.suptitle(f"{self.system}: what each choice of C adds to a Lyapunov function's rate")
        for name, power in self.power.items():
            axes.plot(self.t, power, label=name)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("xᵀ(Ṁ − 2C) x [W]")
        axes.margins(x=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return cast("Figure", axes.figure)


def skewness(system: object, x: ArrayLike | None = None, *, seed: int = 0, duration: float = 4.0) -> Skewness:
    """xᵀ(Ṁ − 2C) x of every choice of C along a motion drawn from `seed`; x is (n,), ones if not given."""
    m = mechanism_of(system)
    direction = np.ones(m.n) if x is None else array("x", x, (m.n,))
    motion = swing(m, seed, duration, rows=401)
    trial = trial_of(m, states=1, q=motion.q, qd=motion.qd, symbols=False)
    kept = slice(0, trial.given)
    power = {
        name: np.einsum("i,bij,j->b", direction, (trial.M_dot - 2 * C)[kept], direction)
        for name, C in matrices(trial).items()
    }
    return Skewness(m.name, motion.t, direction, power)
