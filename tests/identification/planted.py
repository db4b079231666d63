"""Logs of known motions with known troubles: Fourier motions in closed form, torques by inverse dynamics and
friction."""

from __future__ import annotations

import numpy as np

import dalembert as dl
from dalembert.identification.log.samples import Log

PERIOD = 5.0


def motion(n: int, t, seed: int = 0, period: float = PERIOD, harmonics: int = 5, size: float = 1.0):
    """q, q̇, q̈ (N, n) of a Fourier motion."""
    rng = np.random.default_rng(seed)
    q0 = rng.uniform(-0.5, 0.5, n)
    q, qd, qdd = np.tile(q0, (len(t), 1)), np.zeros((len(t), n)), np.zeros((len(t), n))
    for k in range(1, harmonics + 1):
        w = 2 * np.pi * k / period
        a, b = size * rng.normal(0, 0.35 / k, (2, n))
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q += a * s + b * c
        qd += w * (a * c - b * s)
        qdd += -(w**2) * (a * s + b * c)
    return q, qd, qdd


def friction(qd, viscous=1.0, coulomb=1.5):
    return viscous * qd + coulomb * np.tanh(qd / 0.02)


def recorded(robot, rate=200.0, duration=10.0, seed=0, noise=0.0, tau_noise=0.0, with_rates=True, rub=1.0, size=1.0):
    """A Log, and the accelerations that nobody records."""
    t = np.arange(round(duration * rate)) / rate
    q, qd, qdd = motion(robot.n, t, seed, size=size)
    tau = robot.inverse_dynamics(q, qd, qdd) + friction(qd, rub, rub)
    rng = np.random.default_rng(seed + 1)
    tau = tau + tau_noise * rng.normal(size=tau.shape)
    q = q + noise * rng.normal(size=q.shape)
    return Log(t, q, tau, robot.joint_names, qd if with_rates else None, "planted"), qdd


def arm():
    return dl.load("puma560")


def write_csv(path, log, header=None, delimiter=",", fmt="%.9g"):
    n = log.n
    columns = [log.t[:, None], log.q, log.tau] if log.qd is None else [log.t[:, None], log.q, log.qd, log.tau]
    names = ["t", *(f"q{k + 1}" for k in range(n))]
    names += [f"qd{k + 1}" for k in range(n)] if log.qd is not None else []
    names += [f"tau{k + 1}" for k in range(n)]
    np.savetxt(
        path,
        np.concatenate(columns, axis=1),
        delimiter=delimiter,
        fmt=fmt,
        header=delimiter.join(header or names),
        comments="",
    )
    return path
