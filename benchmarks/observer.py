"""Whether `observe` keeps its promise: false alarms measured on other records, beside the 95 % interval that was told.

simulated   three arms that move from place to place, with friction, noise with heavy tails and masses that the model
            does not have; quiet logs of one and five minutes, an hour of other moves to count in; contacts of known
            time and size
real        the shared logs: identified on the first part, calibrated on the next, observed on the last, all untouched

    python benchmarks/observer.py [simulated] [real] [--runs 20]
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.identification import Log, calibrate_detector, identify, locked, observe, read_log

SHARED = Path(__file__).parents[2] / "shared" / "data"
ASKED = (6.0, 60.0, 300.0)


def record(arm: dl.Robot, seconds: float, seed: int, push=(), rate: float = 100.0, scale: float = 1.03) -> Log:
    """A log of moves of degree five in 1 to 3 s each; `push`: (time, duration, wrench on the tip)."""
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    ends = np.cumsum(np.r_[0.0, rng.uniform(1, 3, int(seconds) + 2)])
    at, k = rng.uniform(-1, 1, (len(ends), arm.n)), np.searchsorted(ends, t, side="right") - 1
    T, go = (ends[k + 1] - ends[k])[:, None], at[k + 1] - at[k]
    s = (t - ends[k])[:, None] / T
    q, qd = at[k] + go * (10 * s**3 - 15 * s**4 + 6 * s**5), go * (30 * s**2 - 60 * s**3 + 30 * s**4) / T
    tau = scale * arm.inverse_dynamics(q, qd, go * (60 * s - 180 * s**2 + 120 * s**3) / T**2)
    tau += 0.5 * np.tanh(qd / 0.05) * (1 + 0.3 * np.sin(3 * q)) + 0.3 * qd + 0.2 * rng.standard_t(4, size=q.shape)
    for start, length, F in push:
        inside = (t >= start) & (t < start + length)
        tau[inside] -= np.einsum("tij,i->tj", arm.jacobian(q[inside]), F)
    return Log(t, q + 1e-5 * rng.normal(size=q.shape), tau, arm.joint_names, qd + 1e-3 * rng.normal(size=q.shape))


def count(detector, log: Log, residuals) -> int:
    return len(detector.contacts(log.t, log.q, residuals))


def simulated(runs: int) -> None:
    print(f"{'arm':10} {'quiet':>7} {'asked/h':>8} {'measured/h':>11} {'interval told/h':>18} {'within':>7}")
    for name in ("ur5e", "panda", "scara"):
        arm = dl.load(name)
        hour = record(arm, 3600, 10_000)
        made = calibrate_detector(arm, record(arm, 60, 0), rates=True)
        residuals = made.residuals(hour)
        for seconds in (60, 300):
            quiet = [record(arm, seconds, seed) for seed in range(runs)]
            for asked in ASKED:
                found = [calibrate_detector(arm, log, false_alarms=asked, rates=True) for log in quiet]
                counts = [count(d, hour, residuals) for d in found]
                told = [d.expected(3600) for d in found]
                right = np.mean([low <= n <= high for n, (low, high) in zip(counts, told, strict=True)])
                low, high = np.median([d.interval for d in found], axis=0)
                line = f"{np.mean(counts):11.1f} {f'{low:.2g} to {high:.3g}':>18} {right:7.0%}"
                print(f"{name:10} {seconds:5.0f} s {asked:8g} {line}", flush=True)
    contacts(runs)


def contacts(runs: int) -> None:
    """Pushes at random times with forces of 10, 20, 40 N in random directions on an UR5e's tool."""
    arm, rng = dl.load("ur5e"), np.random.default_rng(0)
    made = calibrate_detector(arm, record(arm, 600, 1), false_alarms=1.0)
    print("\nur5e, thresholds for 1/h:", made.thresholds.round(2), "N m; delays of 10 N m", made.delays[:, 1, 0], "s")
    for size in (10.0, 20.0, 40.0):
        delays, errors, seen = [], [], 0
        for seed in range(runs):
            f = rng.normal(size=3)
            start, f = rng.uniform(5, 20), np.r_[size * f / np.linalg.norm(f), np.zeros(3)]
            log = record(arm, 30, 20_000 + seed, [(start, 1.0, f)])
            hits = [c for c in made.observe(log, components=("f_x", "f_y", "f_z")).contacts if abs(c.alarm - start) < 1]
            seen += bool(hits)
            delays += [c.alarm - start for c in hits[:1]]
            errors += [np.linalg.norm(c.wrench - f) for c in hits[:1]]
        if seen:
            late, off = 1e3 * np.median(delays), np.median(errors)
            print(f"{size:g} N: {seen} of {runs} seen, after {late:.0f} ms, off by {off:.1f} N")


def part(log: Log, first: float, last: float) -> Log:
    rows = slice(round(first * len(log)), round(last * len(log)))
    return replace(log, **{k: getattr(log, k)[rows] for k in ("t", "q", "tau", "qd") if getattr(log, k) is not None})


def real(_runs: int) -> None:
    if not SHARED.exists():
        print(f"{SHARED} does not exist: no real logs")
        return
    ur10, panda, tx40 = (dl.load(next(SHARED.glob(f"{name}*/*.urdf"))) for name in ("ur10", "panda", "staubli_tx40"))
    panda = locked(panda, {"panda_finger_joint1": 0.0})
    G = np.diag([32.0, 32, 45, -48, 45, 32])
    G[5, 4] = 32
    logs = {
        "UR10": (ur10, read_log(SHARED / "ur10_unisa/exciting.csv", ur10), 0.5),
        "Panda": (panda, read_log(SHARED / "panda_unisa/exciting.csv", panda), 0.5),
        "TX40": (
            tx40,
            read_log(
                SHARED / "staubli_tx40_figaroh/tx40_motor.npz",
                tx40,
                columns={"q": "q_motor", "tau": "i_motor"},
                coupling=G,
                offset=[0, -np.pi / 2, np.pi / 2, 0, 0, 0],
                rate=5000.0,
            ),
            0.34,
        ),
    }
    print(f"\n{'log':6} {'quiet':>7} {'observed':>9} {'asked/h':>8} {'told':>8} {'counted':>8}  thresholds [N m]")
    for name, (arm, log, cut) in logs.items():
        fitted = identify(arm, part(log, 0, cut), holdout=0.0).robot
        for asked in (1.0, 60.0, 600.0, 1200.0):
            found = observe(fitted, part(log, cut, 1), false_alarms=asked)
            low, high = found.detector.expected(found.seconds)
            right = "" if low <= len(found.contacts) <= high else "  OUTSIDE"
            line = f"{asked:8g} {f'{low} to {high}':>8} {len(found.contacts):8}"
            told = found.detector.thresholds.round(1).tolist()
            print(f"{name:6} {found.detector.tail.seconds:5.1f} s {found.seconds:7.1f} s {line}  {told}{right}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    words = [word for word in sys.argv[1:] if word in ("simulated", "real")] or ["simulated", "real"]
    runs = int(sys.argv[sys.argv.index("--runs") + 1]) if "--runs" in sys.argv else 20
    for word in words:
        {"simulated": simulated, "real": real}[word](runs)
