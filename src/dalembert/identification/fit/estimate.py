"""Base parameters from compressed data: least squares in its several kinds, with what they are worth.

    β = argmin Σ_k w_k² Σ (τ_k − Y_b,k β)²,        cov β = (AᵀA)⁻¹ Aᵀ S A (AᵀA)⁻¹

A is the stacked triangle of all joints with their weights, Aᵀ S A the covariance of Aᵀ times the noise, which samples
and joints have in common (`noise`). Where only triangles are at hand, S is each joint's residual variance.

Directions in which the log leaves β open by more than OPEN of what is large for it are not its to tell: there β stays
as it was given.

Robust: single bad samples do not spoil it. Huber's and Tukey's losses, by reweighting sample after sample:

    β = argmin Σ_k Σ_i ρ(e_ki / σ_k),    e = τ − Y_b β,    σ_k = median |e_k| / 0.6745

Each round is one pass over the log: a sample counts w(u) = ρ'(u)/u, u = e/σ of its joint. Huber's ρ grows linearly
beyond its constant and has one minimum; Tukey's is flat there, forgets gross errors wholly, and starts from Huber's
answer. The covariance is that of an M-estimator (Huber 1981, §7.6): per joint the variance is σ² mean ψ² / (mean ψ')².

Instrumental variables: without the bias of a regressor that is noisy itself. Measured positions, rates and
accelerations are noisy, and in a closed loop their noise comes back in the torque: least squares is then wrong however
long the log. Instruments Z are regressors of a motion that knows nothing of that noise: the reference that was
followed, or a simulation of the model found so far (Janot, Vandanjon & Gautier 2014):

    ZᵀW (τ − Y β) = 0,      β = (ZᵀW Y)⁻¹ ZᵀW τ,      cov β = (ZᵀWY)⁻¹ S (ZᵀWY)⁻ᵀ

S is the covariance of ZᵀW e, from the residuals themselves (`noise`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, number
from dalembert.errors import InputError, SingularityError, choose
from dalembert.identification.fit.regression import (
    Compressed,
    Regression,
    regression,
    score_covariance,
    triangle,
    unit_columns,
)
from dalembert.identification.fit.regressor import Base, Columns
from dalembert.identification.log.samples import Samples, find_direction
from dalembert.reference import Reference

Solution = tuple[Array, Array, float]  # β, (AᵀA)⁻¹, condition of the columns scaled to unit length
ROUNDS = 60  # of reweighting; five are usual, of robust fits ten to twenty
SINGULAR = 1e-12  # of the smallest singular value of scaled columns against the largest
SETTLED = 1e-3  # of its standard deviation: a step of a robust β that is none
NORMAL = 0.6744897501960817  # the median of |e| for σ = 1
OPEN = 20.0  # sizes: a deviation that says nothing
LAGS = 20  # at which residuals are compared with white noise


@dataclass(frozen=True, eq=False)
class Estimate:
    """β (p,), its covariance (p, p), the residual standard deviation of each joint [N m] (n,), weights of the
    joints (n,), and the condition number of the columns scaled to unit length; `repeated`: how many samples are worth
    one, residuals being alike from one to the next; `untold` (k, p): directions of β, in sizes, that the log leaves
    open."""

    beta: Array
    covariance: Array
    sigma: Array
    weights: Array
    condition: float
    rounds: int = 1
    repeated: float = 1.0
    untold: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def deviation(self) -> Array:
        """Standard deviations of β."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @property
    def relative(self) -> Array:
        """Standard deviations as parts of the values [1]; infinite for a value of zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.beta != 0, self.deviation / np.abs(self.beta), np.inf))


def solve(R: Array, what: str = "the log", *, prior: Array | None = None, size: Array | None = None) -> Solution:
    """(β, (AᵀA)⁻¹, condition) of a triangle [A b]. With `prior` and `size`, a singular one too: β stays at the prior
    where A is nothing, counted in sizes."""
    A, b = R[: R.shape[1] - 1, :-1], R[: R.shape[1] - 1, -1]
    scaled, length = unit_columns(A)
    if prior is not None and size is not None and (len(A) < len(size) or np.linalg.cond(scaled) > 1 / SINGULAR):
        back = np.linalg.pinv(A * size, rcond=SINGULAR) * size[:, None]
        return prior + back @ (b - A @ prior), back @ back.T, np.inf
    size = length
    if A.shape[0] < A.shape[1] or not A.any(axis=0).all():
        raise SingularityError("singular", problem=f"{what} has fewer independent equations than unknown parameters")
    U, s, Vt = np.linalg.svd(scaled)
    if s[-1] < SINGULAR * s[0]:
        raise SingularityError(
            "singular", problem=f"{what} does not distinguish all parameters, because its motions are too poor"
        )
    beta = (Vt.T @ ((U.T @ b)[: len(s)] / s)) / size
    inverse = (Vt.T / s**2) @ Vt / np.outer(size, size)
    return beta, inverse, float(s[0] / s[-1])


def least_squares(
    data: Compressed,
    weighted: bool = True,
    *,
    prior: Array | None = None,
    strength: ArrayLike = 0.0,
    size: Array | None = None,
    problem: Regression | None = None,
) -> Estimate:
    """β by ordinary least squares, or `weighted` by each joint's own residual, found by turns (a joint of 3 N m and
    one of 300 then count alike).

    `prior` β₀ and `strength`, its inverse standard deviation: pulled toward CAD values where the log says little.
    `size` (p,), what is large for β: what the log does not tell stays at β₀. `problem`, of which `data` was made: the
    deviations count what samples and joints have in common."""
    n = len(data.triangles)
    pull = np.broadcast_to(np.asarray(strength, float), (data.p,))
    target = np.zeros(data.p) if prior is None else np.asarray(prior, float)
    extra = np.column_stack([np.diag(pull), pull * target])[pull > 0]

    def solve_weighted(weights: Array) -> Solution:
        return solve(triangle(np.vstack([data.stacked(weights), extra])), prior=target, size=size)

    solution, sigma, used, after, done = _reweigh(data, np.ones(n), solve_weighted, weighted)
    beta, inverse, condition = solution
    weights = after if weighted else used
    white = spread = sandwich(data, weights, inverse, np.maximum(sigma, data.smallest))
    if problem is not None and (sigma > data.smallest).all():
        spread = spread_of(problem, problem.residuals(beta), weights, inverse)
    known = np.diag(white) > 0
    repeated = float(np.mean(np.diag(spread)[known] / np.diag(white)[known])) if known.any() else 1.0
    found = Estimate(beta, spread, sigma, weights, condition, done, max(repeated, 1.0))
    return found if size is None else _without_untold(found, data.stacked(weights), target, size)


def _without_untold(found: Estimate, R: Array, prior: Array, size: Array) -> Estimate:
    """The estimate with β as given before in the directions (of A in sizes) that the log leaves open, and a deviation
    of one size there."""
    _, s, Vt = np.linalg.svd(R[: len(size), :-1] * size)
    s = np.append(s, np.zeros(len(Vt) - len(s)))
    spread = found.covariance / np.outer(size, size)
    deviation = np.sqrt(np.maximum(np.einsum("ip,pq,iq->i", Vt, spread, Vt), 0.0))
    open_ = (deviation > OPEN) | (s <= SINGULAR * s[0])
    if not open_.any():
        return found
    if open_.all():
        raise SingularityError(
            "singular",
            problem="the log contains no information about any parameter",
            remedy="Check that the arm moves in it.",
        )
    told = Vt[~open_].T @ Vt[~open_]
    beta = prior + size * (told @ ((found.beta - prior) / size))
    spread = told @ spread @ told + np.eye(len(size)) - told
    unit, length = unit_columns(R[: len(size), :-1])
    condition = float(np.linalg.cond(unit @ np.linalg.qr((length * size)[:, None] * Vt[~open_].T)[0]))
    covariance = spread * np.outer(size, size)
    return replace(found, beta=beta, covariance=covariance, condition=condition, untold=Vt[open_])


def _reweigh(
    data: Compressed, weights: Array, solve_weighted: Callable[[Array], Solution], weighted: bool = True
) -> tuple[Solution, Array, Array, Array, int]:
    """Solutions (β, …) with one over each joint's residual as its weight, until β no longer moves: the last solution,
    its residuals σ, the weights it had, those that follow from it, and how many rounds it took."""
    n, p = len(data.triangles), data.p
    if data.rows * n <= p:
        raise InputError(
            "too-few", problem=f"{data.rows} samples of {n} joints are fewer equations than the {p} parameters"
        )
    before = np.zeros(n)
    share = data.rows - p / n  # degrees of freedom left to each joint
    done = 0
    while True:
        done += 1
        used, found = weights, solve_weighted(weights)
        sigma = np.sqrt(data.squares(found[0]) / share)
        weights = 1.0 / np.maximum(sigma, data.smallest)
        if not weighted or done == ROUNDS or (np.abs(weights - before) <= 1e-11 * weights).all():
            return found, sigma, used, weights, done
        before = weights


def spread_of(problem: Regression, errors: Array, weights: Array, inverse: Array, scale: Array | None = None) -> Array:
    """The covariance of β = (AᵀA)⁻¹ Aᵀ(τ + noise), noise like the errors (N, n) that it left; A the rows of the problem
    times the weights, and columns times `scale`, if given."""
    size = np.sqrt(np.diag(inverse))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(inverse / np.outer(size, size))
    root = size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    M = score_covariance(problem, errors, weights, root if scale is None else scale[:, None] * root)
    return np.asarray(root @ M @ root.T)


def sandwich(data: Compressed, weights: Array, inverse: Array, sigma: Array) -> Array:
    """(AᵀA)⁻¹ Σ_k w_k⁴ σ_k² A_kᵀA_k (AᵀA)⁻¹: right whatever the weights."""
    A = data.triangles[..., :-1]
    middle = np.einsum("k,kij,kil->jl", weights**4 * sigma**2, A, A)
    return np.asarray(inverse @ middle @ inverse)


# ------------------------------------------------------------------------------------------------ robust
@dataclass(frozen=True)
class Loss:
    """The constant at which 95 % of the efficiency is kept for normal errors, the weight ψ(u)/u and the slope ψ'(u)."""

    constant: float
    weight: Callable[[Array, float], Array]
    slope: Callable[[Array, float], Array]
    start: str | None = None  # the loss whose answer it starts from


def _tukey_slope(u: Array, c: float) -> Array:
    x = (u / c) ** 2
    return np.where(x < 1, (1 - x) * (1 - 5 * x), 0.0)


LOSSES: dict[str, Loss] = {
    "huber": Loss(1.345, lambda u, c: c / np.maximum(np.abs(u), c), lambda u, c: np.where(np.abs(u) <= c, 1.0, 0.0)),
    "tukey": Loss(4.685, lambda u, c: np.maximum(1 - (u / c) ** 2, 0.0) ** 2, _tukey_slope, "huber"),
}


@dataclass(frozen=True, eq=False)
class Robust:
    """`estimate` of β; `doubted` (n,): the part of each joint's samples that counted for less than half; `data`: the
    log compressed with the last weights, for a physically consistent fit of it; the loss and its constant."""

    estimate: Estimate
    doubted: Array
    data: Compressed
    loss: str
    constant: float
    converged: bool


def robust_least_squares(
    columns: Columns,
    base: Base,
    samples: Samples | Sequence[Samples],
    loss: str = "huber",
    *,
    constant: float | None = None,
    parallel: int = 1,
) -> Robust:
    """β by least squares with bounded influence of single samples; `loss` "huber" or "tukey", `constant` in standard
    deviations (None: 95 % efficient for normal errors), `parallel` as in `Columns.blocks`."""
    choose("loss", loss, LOSSES)
    if constant is not None:
        number("constant", constant, "standard deviations", above=0)
    problem = regression(columns, base, samples, parallel)
    plain = problem.compress()
    beta = least_squares(plain).beta
    first = LOSSES[loss].start
    if first is not None:
        beta = _robust(problem, plain, beta, first, LOSSES[first].constant).estimate.beta
    return _robust(problem, plain, beta, loss, constant or LOSSES[loss].constant)


def _robust(problem: Regression, plain: Compressed, beta: Array, loss: str, c: float) -> Robust:
    row = LOSSES[loss]
    share = np.sqrt(plain.rows / max(plain.rows - plain.p / problem.n, 1.0))
    e = problem.residuals(beta)
    converged = False
    for done in range(1, ROUNDS + 1):
        sigma = np.maximum(share * np.median(np.abs(e), axis=0) / NORMAL, plain.smallest)
        seen: list[Array] = []

        def weigh(Y: Array, tau: Array, beta: Array = beta, sigma: Array = sigma, seen: list[Array] = seen) -> Array:
            seen.append(tau - Y @ beta)
            return np.sqrt(row.weight(seen[-1] / sigma, c))

        data = problem.compress(weigh)
        e = np.concatenate(seen)
        before = beta
        beta, inverse, condition = solve(data.stacked(1.0 / sigma), "the log, without the samples that do not fit,")
        small = SETTLED * np.sqrt(np.diag(inverse)) + 1e-12 * np.abs(beta).max()
        converged = done > 1 and bool((np.abs(beta - before) <= small).all())
        if converged:
            break
    u = e / sigma
    weight = row.weight(u, c)
    psi = weight * u
    # The covariance of an M-estimator, each joint with its own means.
    steep = np.maximum(row.slope(u, c).mean(0), 1e-3)
    _, inverse, _ = solve(plain.stacked(np.sqrt(steep) / sigma))
    spread = spread_of(problem, sigma * psi / steep, np.sqrt(steep) / sigma, inverse)
    estimate = Estimate(beta, spread, sigma, 1.0 / sigma, condition, done)
    return Robust(estimate, np.mean(weight < 0.5, axis=0), data, loss, c, converged)


# ------------------------------------------------------------------------------------------------ instruments
def reference_instruments(reference: Reference, samples: Samples) -> Samples:
    """The motion that was asked for, at the times of the samples: what instruments are made of."""
    if reference.m != samples.n:
        raise InputError(
            "conflict",
            "reference",
            problem=f"the reference moves {reference.m} joints, and the samples have {samples.n}",
        )
    q, qd, qdd = (np.asarray(x, float) for x in reference(samples.t))
    note = "positions, rates and accelerations are the reference's"
    direction = find_direction(qd, samples.rest)
    return replace(samples, q=q, qd=qd, qdd=qdd, direction=direction, notes=(*samples.notes, note))


def instrumental_variables(
    columns: Columns,
    base: Base,
    samples: Samples | Sequence[Samples],
    instruments: Samples | Sequence[Samples],
    *,
    parallel: int = 1,
) -> Estimate:
    """β with the regressors of `instruments` as instruments, run by run at the same times as `samples`; joints weighted
    by their residuals. `parallel` as in `Columns.blocks`."""
    problem = regression(columns, base, samples, parallel)
    tools = regression(columns, base, instruments, parallel, "instruments")
    if [len(run) for run in problem.runs] != [len(tool) for tool in tools.runs]:
        raise InputError(
            "conflict",
            "instruments",
            problem="`samples` and `instruments` must have the same times, and their lengths differ",
        )
    n, p = problem.n, base.rank
    measured = problem.compress()
    weights = least_squares(measured).weights
    still = replace(tools, runs=tuple(tool.without_torques() for tool in tools.runs)).compress()
    # T with Z T orthonormal: any combinations of instruments are as good, these keep all digits.
    R = still.stacked(weights)[:p, :-1]
    if len(R) < p or not R.any(axis=0).all() or np.linalg.cond(unit_columns(R)[0]) > 1 / SINGULAR:
        raise SingularityError(
            "singular",
            "instruments",
            problem="the instruments do not distinguish all parameters, because their motion is too poor",
        )
    combined = np.asarray(np.linalg.inv(R))
    cross = np.zeros((n, p, p + 1))  # per joint (Z T)ᵀ [Y τ]: weights can still be chosen
    for (Z, _), (Y, tau) in zip(tools.blocks(), problem.blocks(), strict=True):
        for k in range(n):
            cross[k] += (Z[:, k] @ combined).T @ np.column_stack([Y[:, k], tau[:, k]])

    def solve_weighted(weights: Array) -> Solution:
        system = np.einsum("k,kij->ij", weights**2, cross)
        A, size = unit_columns(system[:, :-1])
        condition = float(np.linalg.cond(A))
        if not A.any(axis=0).all() or condition > 1 / SINGULAR:
            raise SingularityError(
                "singular",
                "instruments",
                problem="the instruments are not correlated with the motion",
                remedy="Check that they belong to the same log.",
            )
        return np.linalg.solve(A, system[:, -1]) / size, np.linalg.inv(system[:, :-1]), condition

    found, sigma, used, _, done = _reweigh(measured, weights, solve_weighted)
    beta, back, condition = found
    S = score_covariance(tools, problem.residuals(beta), used, combined, fitted=False)
    spread = np.asarray(back @ S @ back.T) * measured.rows / (measured.rows - p / n)
    return Estimate(beta, spread, sigma, used, condition, done)


# ------------------------------------------------------------------------------------------------ what it is worth
@dataclass(frozen=True, eq=False)
class Fit:
    """How well torques are predicted. `rms` [N m] and `relative` ‖τ − τ̂‖/‖τ‖ per joint (n,); `r2` per joint;
    `total` ‖τ − τ̂‖/‖τ‖ over all joints; `whiteness` (n,): the largest |autocorrelation| of the residuals at lags 1…20,
    which for white noise stays below `white`."""

    rms: Array
    relative: Array
    r2: Array
    total: float
    whiteness: Array
    white: float
    samples: int


def judge_fit(measured: Array, predicted: Array) -> Fit:
    """The residuals of a prediction, (N, n) both."""
    e = measured - predicted
    N = len(e)
    size = np.sqrt(np.sum(measured**2, axis=0))
    spread = np.sum((measured - measured.mean(0)) ** 2, axis=0)
    squares = np.sum(e**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(size > 0, np.sqrt(squares) / size, np.inf)
        r2 = np.where(spread > 0, 1.0 - squares / spread, -np.inf)
    total = float(np.sqrt(squares.sum()) / max(np.sqrt(np.sum(size**2)), 1e-300))
    return Fit(np.sqrt(squares / N), relative, r2, total, _whiteness(e), float(2.6 / np.sqrt(N)), N)


def judge_runs(runs: Sequence[Samples], predict: Callable[[Samples], Array]) -> Fit:
    """The residuals of a prediction of several runs together."""
    return judge_fit(np.concatenate([run.tau for run in runs]), np.concatenate([predict(run) for run in runs]))


def _whiteness(e: Array) -> Array:
    """The largest |ρ| at lags 1 to 20 (n,)."""
    c = e - e.mean(0)
    power = np.maximum(np.sum(c * c, axis=0), 1e-300)
    lags = [np.abs(np.sum(c[k:] * c[:-k], axis=0)) / power for k in range(1, min(LAGS, len(c) - 1) + 1)]
    return np.max(lags, axis=0) if lags else np.zeros(e.shape[1])


def find_essential(data: Compressed, estimate: Estimate, worse: float = 0.02) -> tuple[NDArray[np.int64], list[float]]:
    """The base parameters that are needed: stepwise, the one with the largest relative deviation is left out, as
    long as the weighted residual grows by no more than `worse` of itself (Pham & Gautier).

    Returns their places, and the residual (‖·‖ relative to the full fit) after each removal."""
    kept = np.arange(data.p)
    R = data.stacked(estimate.weights)
    floor = float(np.sum(data.squares(estimate.beta) * estimate.weights**2))
    grown: list[float] = []
    while len(kept) > 1:
        try:
            beta, inverse, _ = solve(triangle(R[:, np.append(kept, data.p)]))
            deviation = np.sqrt(np.diag(inverse)) / np.maximum(np.abs(beta), 1e-300)
        except SingularityError:  # the log does not tell these apart: the one that has most of what is open
            deviation = np.abs(np.linalg.svd(unit_columns(R[:, kept])[0])[2][-1])
        tried = np.delete(kept, int(np.argmax(deviation)))
        shorter = R[:, np.append(tried, data.p)]
        length = unit_columns(shorter[:, :-1])[1]
        found = solve(triangle(shorter), prior=np.zeros(len(tried)), size=1 / length)[0]
        residual = shorter @ np.append(found, -1.0)
        ratio = float(np.sqrt(residual @ residual / max(floor, 1e-300)))
        if ratio > 1.0 + worse:
            break
        kept = tried
        grown.append(ratio)
    return kept, grown
