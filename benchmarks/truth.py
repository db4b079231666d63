"""Whether identified parameters are as good as they say: an arm identified again and again with other noise.

    python benchmarks/truth.py [--runs 500] [--only colored]

A UR5e with white noise of another size on every joint; with noise that has a memory; from logs at 1 kHz with noisy
encoders, filtered, differentiated and decimated; from logs at 250 Hz, filtered and not decimated; with noise that
joints have in common. A Panda that follows a Fourier motion in closed loop, by a computed torque with a wrong idea of
the payload, encoders of 20 bits.

For each, how often the true base parameters (friction among them) lie within 1, 2 and 3 stated standard deviations,
over all runs and parameters (68.3, 95.4 and 99.7 % if the deviations are right); the part of the parameters for which
this is so, by the exact binomial interval of 99 %; and the Kolmogorov–Smirnov test of the Mahalanobis distances
(β − β̂)ᵀ cov⁻¹ (β − β̂) against χ².
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import dalembert as dl
from dalembert import control
from dalembert.identification.fit.estimate import least_squares
from dalembert.identification.fit.regression import Regression
from dalembert.identification.fit.regressor import Columns, base
from dalembert.identification.log.prepare import prepare
from dalembert.identification.log.samples import Log, Samples
from dalembert.trajectories import random_fourier

Array = np.ndarray
SIGMA = np.array([2.0, 3.0, 1.5, 0.4, 0.3, 0.2])  # N m
STEP = 2 * np.pi / 2**20  # rad of an encoder
SIGMA_PANDA = np.array([0.5, 0.8, 0.4, 0.6, 0.15, 0.15, 0.05])
WITHIN = (0.6826894921370859, 0.9544997361036416, 0.9973002039367398)
Motion = tuple[Array, Array, Array, Array]
Make = Callable[[np.random.Generator], Samples]


def planted() -> dl.Robot:
    """A UR5e with friction."""
    from dataclasses import replace

    d = dl.load("ur5e").description
    drives = [(9.0, 6.0), (9.0, 7.0), (6.0, 5.0), (1.5, 1.2), (1.2, 1.0), (1.0, 0.8)]
    moving = [joint for joint in d.joints if joint.kind != "fixed"]
    new = {
        joint.name: replace(joint, drive=replace(joint.drive, damping=b, coulomb=(c, c)))
        for joint, (b, c) in zip(moving, drives, strict=True)
    }
    return dl.Robot(replace(d, joints=tuple(new.get(joint.name, joint) for joint in d.joints)))


def move(robot: dl.Robot, seconds: float, rate: float) -> Motion:
    """(t, q, q̇, q̈) of a Fourier motion."""
    motion = random_fourier(robot, harmonics=5, frequency=0.1)
    t = np.arange(0, seconds, 1 / rate)
    return t, *(np.asarray(x) for x in motion(t))


def remembered(rng: np.random.Generator, shape: tuple[int, int], memory: Array) -> Array:
    """First-order noise, x ← memory x + e, of unit variance."""
    from scipy.signal import lfilter

    e = rng.normal(size=(shape[0] + 500, shape[1]))
    noise = np.stack([lfilter([np.sqrt(1 - a * a)], [1, -a], e[:, k]) for k, a in enumerate(memory)], axis=1)
    return noise[500:]


def sampled(motion: Motion, tau: Array, joints: tuple[str, ...]) -> Samples:
    t, q, qd, qdd = motion
    n = len(joints)
    return Samples(t, q, qd, qdd, tau, joints, t[1] - t[0], np.inf, np.zeros(n), np.ones(n))


def closed_loop(robot: dl.Robot, seconds: float = 10.0) -> Make:
    """Logs of a motion in closed loop, sampled at 1 kHz."""
    motion = random_fourier(robot, harmonics=5, frequency=1 / seconds)
    start, rate, _ = motion(0.0)
    run = dl.simulate(
        robot,
        control.ComputedTorque(robot.with_payload(0.5), omega=20.0),
        q0=start,
        qd0=rate,
        reference=motion,
        duration=seconds,
        dt=1e-3,
        sensors=dl.Sensors(sample_time=1e-3, quantization=STEP),
        solver=dl.Solver(every=2, progress=False),
    )
    assert run.ok, run.message

    def make(rng: np.random.Generator) -> Samples:
        q = np.round((run.q + rng.uniform(0, STEP, robot.n)) / STEP) * STEP
        tau = run.tau + SIGMA_PANDA * rng.normal(size=run.tau.shape)
        return prepare(Log(run.t, q, tau, robot.joint_names), cutoff=20.0)

    return make


def settings(robot: dl.Robot) -> dict[str, Make]:
    """By name, what makes the samples of one repetition."""
    slow, quick, middle = (move(robot, 20.0, rate) for rate in (100.0, 1000.0, 250.0))
    torques = {len(m[0]): robot.inverse_dynamics(*m[1:], friction=True) for m in (slow, quick, middle)}
    names = robot.joint_names
    memory = np.array([0.95, 0.9, 0.8, 0.5, 0.9, 0.97])
    mixed = np.linalg.cholesky(0.6 * np.ones((6, 6)) + 0.4 * np.eye(6)).T

    def exact(motion: Motion, noise: Array) -> Samples:
        return sampled(motion, torques[len(motion[0])] + SIGMA * noise, names)

    def recorded(motion: Motion, noise: Array, rng: np.random.Generator, encoder: float) -> Log:
        t, q, *_ = motion
        return Log(t, q + encoder * rng.normal(size=q.shape), torques[len(t)] + SIGMA * noise, names)

    def shape(motion: Motion) -> tuple[int, int]:
        return len(motion[0]), robot.n

    return {
        "white": lambda rng: exact(slow, rng.normal(size=shape(slow))),
        "colored": lambda rng: exact(slow, remembered(rng, shape(slow), memory)),
        "filtered": lambda rng: prepare(recorded(quick, 2 * rng.normal(size=shape(quick)), rng, 1e-5)),
        "oversampled": lambda rng: prepare(
            recorded(middle, remembered(rng, shape(middle), np.full(6, 0.5)), rng, 1e-6), cutoff=15.0, decimate=1
        ),
        "in common": lambda rng: exact(slow, remembered(rng, shape(slow), np.full(6, 0.8)) @ mixed),
    }


def study(robot: dl.Robot, make: Make, runs: int) -> tuple[Array, Array]:
    """(errors in deviations (runs, p), Mahalanobis distances (runs,)) of repetitions."""
    columns = Columns(robot, rotor=False)
    b = base(columns)
    truth = b.of(columns.model_values()[columns.free])
    away, far = [], []
    for seed in range(runs):
        problem = Regression(columns, b, (make(np.random.default_rng(seed)),))
        found = least_squares(problem.compress(), problem=problem)  # as `identify` does it
        error = found.beta - truth
        away.append(error / found.deviation)
        far.append(error @ np.linalg.solve(found.covariance, error))
    return np.array(away), np.array(far)


def judge(away: Array, far: Array) -> tuple[Array, float, float]:
    """(parts within 1, 2, 3 σ, part of the parameters for which all three are inside the exact 99 % binomial interval,
    p of the Kolmogorov–Smirnov test)."""
    from scipy.stats import binom, chi2, kstest

    runs, p = away.shape
    counts = np.array([np.sum(np.abs(away) < k, axis=0) for k in (1, 2, 3)])
    low, high = (np.array([binom.ppf(x, runs, part) for part in WITHIN])[:, None] for x in (0.005, 0.995))
    inside = ((counts >= low) & (counts <= high)).all(axis=0)
    return counts.mean(axis=1) / runs, float(inside.mean()), float(kstest(far, chi2(p).cdf).pvalue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--only")
    given = parser.parse_args()
    arm, panda = planted(), dl.load("panda")
    studies = {name: (arm, make) for name, make in settings(arm).items()} | {"closed loop": (panda, closed_loop(panda))}
    print(f"{'setting':12} {'1 σ':>7} {'2 σ':>7} {'3 σ':>7} {'inside':>8} {'distance':>9} {'p (KS)':>8}")
    for name, (robot, make) in studies.items():
        if given.only in (None, name):
            away, far = study(robot, make, given.runs)
            within, inside, p = judge(away, far)
            shares = " ".join(f"{100 * x:6.1f}%" for x in within)
            print(f"{name:12} {shares} {100 * inside:7.1f}% {far.mean() / away.shape[1]:9.3f} {p:8.2g}", flush=True)


if __name__ == "__main__":
    main()
