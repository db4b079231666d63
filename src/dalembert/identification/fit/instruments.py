"""Instrumental variables: parameters without the bias of a regressor that is noisy itself.

Measured positions, rates and accelerations are noisy, and in a closed loop their noise comes back in the torque: least
squares is then wrong however long the log. Instruments Z are regressors of a motion that knows nothing of that noise:
the reference that was followed, or a simulation of the model found so far (Janot, Vandanjon & Gautier 2014):

    ZᵀW (τ − Y β) = 0,      β = (ZᵀW Y)⁻¹ ZᵀW τ,      cov β = (ZᵀWY)⁻¹ S (ZᵀWY)⁻ᵀ

S is the covariance of ZᵀW e, from the residuals themselves: joints alike in time, and over as many samples as residuals
remember (Newey & West 1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, SingularityError
from dalembert.identification.fit.base import Base
from dalembert.identification.fit.compress import compress, joined
from dalembert.identification.fit.estimate import ROUNDS, SINGULAR, Estimate, inflation, least_squares
from dalembert.identification.fit.regressor import Columns
from dalembert.identification.log.samples import Samples, list_runs
from dalembert.reference import Reference

Array = NDArray[np.float64]


def reference_instruments(reference: Reference, samples: Samples) -> Samples:
    """The motion that was asked for, at the times of the samples: what instruments are made of."""
    if reference.m != samples.n:
        raise InputError(f"the reference moves {reference.m} joints, the samples have {samples.n}")
    q, qd, qdd = (np.asarray(x, float) for x in reference(samples.t))
    note = "positions, rates and accelerations are the reference's"
    return replace(samples, q=q, qd=qd, qdd=qdd, notes=(*samples.notes, note))


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
    n, p = columns.robot.n, base.rank
    runs, tools = list_runs(samples, n), list_runs(instruments, n, "instruments")
    if [len(run) for run in runs] != [len(tool) for tool in tools]:
        raise InputError("samples and instruments must have the same times: their lengths differ")
    measured = joined(compress(columns, base, run, parallel) for run in runs)
    if measured.rows * n <= p:
        raise InputError(f"{measured.rows} samples of {n} joints are fewer equations than the {p} parameters")
    weights = least_squares(measured).weights
    still = joined(compress(columns, base, replace(tool, tau=0 * tool.tau), parallel) for tool in tools)
    combined = _inverse(still.stacked(weights)[:p, :-1])
    cross = np.zeros((n, p, p + 1))  # per joint (Z T)ᵀ [Y τ]: weights can still be chosen
    for Z, Y, tau in _pieces(columns, base, runs, tools, parallel):
        for k in range(n):
            cross[k] += (Z[:, k] @ combined).T @ np.column_stack([Y[:, k], tau[:, k]])
    beta = np.zeros(p)
    share = measured.rows - p / n
    floor = 1e-9 * np.sqrt(np.maximum(measured.power, 1e-300) / measured.rows)
    for done in range(1, ROUNDS + 1):
        before = beta
        system = np.einsum("k,kij->ij", weights**2, cross)
        beta, condition = _solution(system)
        sigma = np.sqrt(measured.squares(beta) / share)
        if done > 1 and np.abs(beta - before).max() <= 1e-10 * np.abs(beta).max():
            break
        weights = 1.0 / np.maximum(sigma, floor)
    back = np.linalg.inv(system[:, :-1])
    S = _score_spread(columns, base, runs, tools, parallel, combined, weights, beta)
    spread = np.asarray(back @ S @ back.T) * measured.rows / share
    return Estimate(beta, spread, sigma, weights, condition, done)


def _pieces(
    columns: Columns, base: Base, runs: Sequence[Samples], tools: Sequence[Samples], parallel: int
) -> Iterator[tuple[Array, Array, Array]]:
    """(Z, Y, τ) piece by piece."""
    for run, tool in zip(runs, tools, strict=True):
        for (Z, _), (Y, tau) in zip(columns.blocks(tool, parallel), columns.blocks(run, parallel), strict=True):
            yield Z[..., base.kept], Y[..., base.kept], tau


def _inverse(R: Array) -> Array:
    """T with Z T orthonormal: any combinations of instruments are as good, these keep all digits."""
    size = np.linalg.norm(R, axis=0)
    if R.shape[0] < R.shape[1] or (size == 0).any() or np.linalg.cond(R / size) > 1 / SINGULAR:
        raise SingularityError("the instruments do not tell all parameters apart: their motion is too poor")
    return np.asarray(np.linalg.inv(R))


def _solution(system: Array) -> tuple[Array, float]:
    """(β, condition of the columns scaled to unit length) of ZᵀW [Y τ]."""
    A, b = system[:, :-1], system[:, -1]
    size = np.linalg.norm(A, axis=0)
    condition = float(np.linalg.cond(A / np.where(size > 0, size, 1.0)))
    if (size == 0).any() or condition > 1 / SINGULAR:
        raise SingularityError("the instruments have nothing to do with the motion: are they of the same log?")
    return np.linalg.solve(A / size, b) / size, condition


def _score_spread(
    columns: Columns,
    base: Base,
    runs: Sequence[Samples],
    tools: Sequence[Samples],
    parallel: int,
    combined: Array,
    weights: Array,
    beta: Array,
) -> Array:
    """The covariance of Σ_t s_t, s_t = Σ_k w_k² z_tk e_tk, with s_t alike up to `memory` samples apart."""
    errors = np.concatenate(
        [tau - Y[..., base.kept] @ beta for run in runs for Y, tau in columns.blocks(run, parallel)]
    )
    N, p = len(errors), len(beta)
    usual = int(4 * (N / 100) ** (2 / 9))  # Newey & West 1994
    memory = min(max(usual, int(2 * inflation(errors).max())), max(N // 10, 1))
    S = np.zeros((p, p))
    tail = np.zeros((memory, p))
    at = 0
    for Z, _, _ in _pieces(columns, base, runs, tools, parallel):
        e = errors[at : at + len(Z)]
        at += len(Z)
        rows = np.vstack([tail, np.einsum("tkp,tk->tp", Z, weights**2 * e) @ combined])
        new = rows[memory:]
        S += new.T @ new
        for lag in range(1, memory + 1):
            G = new.T @ rows[memory - lag : len(rows) - lag]
            S += (1 - lag / (memory + 1)) * (G + G.T)
        tail = rows[len(rows) - memory :]
    return S
