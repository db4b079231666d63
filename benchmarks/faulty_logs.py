"""Logs as strangers have them, with what is wrong with them, through `dalembert identify` alone.

    python benchmarks/faulty_logs.py [--only sign] [--seed 0] [--processes 2] [--results FILE] [--keep FOLDER]

Six simulated arms (6R, 7R, a SCARA, a planar, a heavy and a tiny one), three recordings each (Fourier motion, points
with rests between them, splines; 100 to 1000 Hz, 15 to 40 s), each clean and with every fault of `FAULTS`, alone and
two at a time: 200 files. The description that the command is given has masses that are 20 to 50 % off, no friction
and no rotors; the arm has all of these, and a little that no model has (Stribeck's bump, ripple of its gears).

Every file goes through the command twice, with `--apply` and without. What it writes is loaded and compared with the
true torques of a motion that it has not seen: error = the RMS over joints of |τ − τ̂| / |τ|. It must be

    good     exit code 0 and an error within 1.3 times that of the clean recording, of the arm hung and loaded alike
    named    where there is a cause: a line of the output says it that the clean recording's output does not have
    refused  exit code ≠ 0 and no file, which is the right answer without `--apply`
    WRONG    exit code 0 and a larger error

What no log can tell (a torque constant) is told in a second run, by the options in `told`, if the first has named it.
Results are kept in a file of JSON lines, and runs that stand there are not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import dalembert as dl
from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Origin

Array = np.ndarray
WITHIN = 1.3  # times the clean recording's error
SLIP = 0.003  # of the fastest speed: below it friction has not got its direction


# ------------------------------------------------------------------------------------------------ arms
@dataclass(frozen=True)
class Arm:
    """A true arm: the robot without friction, what its joints reach [rad, m], how fast they go, reflected rotor
    inertias, friction and the size of its torques, per joint; the ratios of its gears."""

    robot: dl.Robot
    center: Array
    reach: Array
    speed: float
    rotor: Array
    coulomb: Array
    viscous: Array
    size: Array
    gears: Array

    def torque(self, robot: dl.Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """What the drives apply, in the order of time: rows that stand still are held by a part of the friction."""
        slip = SLIP * self.speed * self.reach / self.reach.max()
        s = np.tanh(qd / slip)
        last = np.maximum.accumulate(np.where(np.abs(qd) > slip, np.arange(len(q))[:, None], 0), axis=0)
        held = 0.3 * np.sign(np.take_along_axis(qd, last, axis=0)) * (1 - s**2)
        bump = 1 + 0.15 * np.exp(-((qd / (10 * slip)) ** 2))
        ripple = 0.015 * self.size * np.sin(7 * q / self.reach + np.arange(robot.n))
        rigid = robot.inverse_dynamics(q, qd, qdd) + self.rotor * qdd
        return np.asarray(rigid + self.viscous * qd + self.coulomb * bump * (s + held) + ripple)


# name: bundled robot, times its lengths, times its masses, fastest speed [rad/s]
ARMS = {
    "six": ("ur5e", 1.0, 1.0, 1.8),
    "seven": ("iiwa7", 1.0, 1.0, 1.4),
    "scara": ("scara", 1.0, 1.0, 2.5),
    "planar": ("planar-3r", 0.3, 0.5, 2.0),
    "heavy": ("ur10e", 2.0, 9.0, 0.9),
    "tiny": ("elbow-3r", 0.2, 0.01, 4.0),
}


@cache
def arm(name: str) -> Arm:
    bundled, length, mass, speed = ARMS[name]
    d = dl.load(bundled).description
    rng = np.random.default_rng([7, len(bundled)])
    links = tuple(replace(link, inertial=link.inertial and scaled(link.inertial, length, mass)) for link in d.links)
    joints = tuple(
        replace(j, origin=Origin(times(j.origin.xyz, length), j.origin.rpy), drive=Drive(), limit=None)
        for j in d.joints
    )
    if bundled.startswith("planar"):  # gravity is along −z in what strangers write: the plane is turned upright
        joints = (replace(joints[0], origin=Origin(joints[0].origin.xyz, (math.pi / 2, 0, 0))), *joints[1:])
    bare = tuple(replace(link, visuals=(), collisions=()) for link in links)
    robot = dl.Robot(replace(d, links=bare, joints=joints, gravity=(0, 0, -9.81), name=name, notes="", dh=None))
    n = robot.n
    turns = np.array([c.joint.turns for c in robot.model.coordinates])
    limits = dl.load(bundled).limits
    low, high = (np.where(np.isfinite(x), x, y) for x, y in ((limits.lower, -1.6), (limits.upper, 1.6)))
    reach = np.minimum(0.45 * (high - low), np.where(turns, 1.5, 0.1)) * np.where(turns, 1.0, length)
    middle = np.where(turns, (low + high) / 2, length * (low + high) / 2)
    center = np.where(np.abs(high - low) > 4, middle + rng.uniform(-0.5, 0.5, n), middle)
    still = Arm(robot, center, reach, speed, *(np.zeros(n) for _ in range(5)))  # type: ignore[arg-type]
    q, qd, qdd = MOTIONS["spline"](still, rng, 30.0)(np.arange(0, 30, 0.02))

    def drives(x: Array) -> Array:  # a last joint that carries nothing has a drive all the same
        return np.where(turns, np.maximum(x, 0.03 * x[turns].max()), x)

    moved = drives(np.mean([np.diag(robot.mass_matrix(x)) for x in q[::50]], axis=0))
    rotor = 0.4 * moved * rng.uniform(0.5, 1.5, n)
    size = drives(np.sqrt(np.mean((robot.inverse_dynamics(q, qd, qdd) + rotor * qdd) ** 2, axis=0)))
    coulomb = size * rng.uniform(0.15, 0.4, n)
    viscous = size / np.abs(qd).max(axis=0) * rng.uniform(0.1, 0.4, n)
    gears = rng.choice([50.0, 80, 100, 101, 120, 160], n)
    return Arm(robot, center, reach, speed, rotor, coulomb, viscous, size, gears)


def times(x: tuple[float, ...], factor: float) -> Any:
    return tuple(factor * v for v in x)


def scaled(inertial: Inertial, length: float, mass: float) -> Inertial:
    origin = Origin(times(inertial.origin.xyz, length), inertial.origin.rpy)
    return Inertial(mass * inertial.mass, times(inertial.inertia, mass * length**2), origin)


def urdf(a: Arm, rng: np.random.Generator, digits: int | None) -> str:
    """What a stranger has of the arm: masses and centers that are off, no friction, no rotors, numbers with so many
    decimals, and nothing that only Dalembert writes."""

    def off(link: Link) -> Link:
        if link.inertial is None or not link.inertial.mass:
            return link
        factor = (1 + rng.uniform(0.2, 0.5) * rng.choice([-1, 1])) * rng.uniform(0.9, 1.1)
        x = scaled(link.inertial, 1.0, max(factor, 0.5))
        return replace(
            link, inertial=replace(x, origin=Origin(times(x.origin.xyz, rng.uniform(0.9, 1.1)), x.origin.rpy))
        )

    def limited(j: Joint) -> Joint:
        if j.name not in a.robot.joint_names:
            return j
        k = a.robot.joint_names.index(j.name)
        span = max(1.3 * a.reach[k], math.pi if j.turns else 0.0)
        limit = Limit(a.center[k] - span, a.center[k] + span, 8 * a.size[k], 3 * a.speed)
        return replace(j, limit=limit)

    d: Description = a.robot.description
    text = dl.Robot(replace(d, links=tuple(map(off, d.links)), joints=tuple(map(limited, d.joints)))).to_urdf()
    text = re.sub(r"\s*<dalembert:[^>]*/>|\s*<dalembert:robot.*?</dalembert:robot>| xmlns:dalembert=\S+(?=>)", "", text)
    if digits is not None:
        number = r'(?<=[" ])-?\d+\.\d+(?=[" ])'
        turned = re.compile(r"<origin[^>]*>")
        text = turned.sub(lambda m: re.sub(number, lambda x: f"{float(x[0]):.{digits}f}", m[0]), text)
    return text


# ------------------------------------------------------------------------------------------------ motions
Motion = Callable[[Array], tuple[Array, Array, Array]]  # t (N,) → q, q̇, q̈ (N, n)


def fourier(a: Arm, rng: np.random.Generator, seconds: float, period: float = 10.0) -> Motion:
    k = np.arange(1, 6)
    sines, cosines = rng.normal(0, 1, (2, 5, a.robot.n)) / k[:, None]

    def series(t: Array, w: Array, order: int) -> Array:
        phase = np.outer(t, w) + order * math.pi / 2  # each derivative turns by a quarter
        return np.asarray((w**order * np.sin(phase)) @ sines + (w**order * np.cos(phase)) @ cosines)

    def within(t: Array) -> tuple[Array, Array, Array]:
        x, v, acc = (scale * series(t, w, order) for order in range(3))
        return a.center + x, v, acc

    w = 2 * math.pi * k / period
    t = np.linspace(0, period, 1000)
    scale = a.reach / np.abs(series(t, w, 0)).max(axis=0)
    w = w * min(1.0, a.speed / (np.abs(series(t, w, 1)) * scale / (a.reach / a.reach.max())).max())
    return within


def points(a: Arm, rng: np.random.Generator, seconds: float) -> Motion:
    """From point to point, all joints at once, accelerations as trapezoids, with rests."""
    from scipy.interpolate import PPoly

    at = np.array([0, 0.06, 0.24, 0.3, 0.7, 0.76, 0.94, 1])  # parts of the time, and the acceleration there
    shape = np.array([0, 1, 1, 0, 0, -1, -1, 0])
    way = 0.24 * 0.7  # that such a second is long: its speed times the time between the middles of the two ramps
    t, x = [0.0], [a.center + a.reach * rng.uniform(-1, 1, a.robot.n)]
    knots, values = [0.0], [np.zeros(a.robot.n)]
    while t[-1] < seconds + 1:
        goal = a.center + a.reach * rng.uniform(-1, 1, a.robot.n)
        step = goal - x[-1]
        length = max((np.abs(step) * a.reach.max() / a.reach).max() / (0.7 * a.speed), 0.5)
        knots += (t[-1] + length * at[1:]).tolist()
        values += [s * step / (way * length**2) for s in shape[1:]]
        rest = rng.uniform(0.2, 0.8)
        knots.append(t[-1] + length + rest)
        values.append(np.zeros(a.robot.n))
        t.append(t[-1] + length + rest)
        x.append(goal)
    y, h = np.array(values), np.diff(knots)[:, None]
    acc = PPoly(np.array([np.diff(y, axis=0) / h, y[:-1]]), np.array(knots))
    v = acc.antiderivative()
    q = v.antiderivative()
    return lambda s: (x[0] + q(s), v(s), acc(s))


def spline(a: Arm, rng: np.random.Generator, seconds: float) -> Motion:
    from scipy.interpolate import make_interp_spline

    gap = 1.2 * a.reach.max() / a.speed
    knots = np.arange(-3, seconds / gap + 4) * gap
    q = make_interp_spline(knots, a.center + a.reach * rng.uniform(-0.75, 0.75, (len(knots), a.robot.n)), k=5)
    return lambda t: (q(t), q(t, 1), q(t, 2))


MOTIONS: dict[str, Callable[[Arm, np.random.Generator, float], Motion]] = {
    "fourier": fourier,
    "points": points,
    "spline": spline,
}
RATES = (100.0, 125.0, 200.0, 250.0, 500.0, 1000.0)


# ------------------------------------------------------------------------------------------------ a log and its faults
@dataclass
class Draft:
    """All that makes a file; faults change it before it is recorded."""

    arm: Arm
    robot: dl.Robot  # the true one: with a payload, hung elsewhere
    motion: Motion
    times: Array  # when rows are sampled
    stamps: Array  # when they say that they are
    style: int
    rates: bool
    told: list[str] = field(default_factory=list)
    noise: float = 1.0  # times the usual
    tick: float = 2 * math.pi / 2**19  # of the encoders
    lag: float = 0.0  # of the torques
    rate_lag: float = 0.0  # of the recorded rates
    source: Array | None = None  # of each row: the row whose numbers it shows
    kept: Array | None = None
    factor: dict[str, Any] = field(default_factory=dict)  # of t, q, qd, tau
    order: dict[str, Array] = field(default_factory=dict)
    digits: int | None = None  # of the URDF's origins
    current: bool = False  # the header says so

    @property
    def step(self) -> float:
        return float(self.times[1] - self.times[0])

    def multiply(self, **factors: Any) -> None:
        for group, x in factors.items():
            self.factor[group] = self.factor.get(group, 1.0) * x


@dataclass(frozen=True)
class Fault:
    """What is wrong: how it changes a draft, and the words of which one names it ('' where there is nothing to say)."""

    change: Callable[[Draft, np.random.Generator], None]
    words: str
    kind: str  # two of one kind are never combined


def add_noise(d: Draft, rng: np.random.Generator) -> None:
    d.noise = 3.0


def quantize(d: Draft, rng: np.random.Generator) -> None:
    d.tick = 2 * math.pi / 2**14


def repeat_rows(d: Draft, rng: np.random.Generator) -> None:
    share = 10 ** rng.uniform(-3, -1)
    rows = np.arange(len(d.times))
    stale = rng.random(len(rows)) < share
    stale[0] = False
    d.source = np.maximum.accumulate(np.where(stale, 0, rows))


def jitter(d: Draft, rng: np.random.Generator) -> None:
    d.times = d.stamps = np.sort(d.times + rng.uniform(-0.2, 0.2, len(d.times)) * d.step)


def jitter_stamps(d: Draft, rng: np.random.Generator) -> None:
    d.stamps = np.sort(d.stamps + rng.uniform(-0.3, 0.3, len(d.times)) * d.step)


def drop_rows(d: Draft, rng: np.random.Generator) -> None:
    d.kept = rng.random(len(d.times)) > 10 ** rng.uniform(-2.5, -1.2)


def shorten_step(d: Draft, rng: np.random.Generator) -> None:
    d.stamps = np.concatenate([d.stamps[:1], d.stamps[1:] - 0.8 * d.step])
    d.times = d.stamps


def leave_gap(d: Draft, rng: np.random.Generator) -> None:
    at = int(len(d.times) * rng.uniform(0.3, 0.5))
    d.kept = np.ones(len(d.times), bool)
    d.kept[at : at + round(0.8 / d.step)] = False


def restart(d: Draft, rng: np.random.Generator) -> None:
    at = int(len(d.times) * rng.uniform(0.4, 0.6))
    d.stamps = np.concatenate([d.stamps[:at], d.stamps[at:] - d.stamps[at]])


def delay(d: Draft, rng: np.random.Generator) -> None:
    d.lag = rng.uniform(0.01, 0.03)


def delay_rates(d: Draft, rng: np.random.Generator) -> None:
    d.rates, d.rate_lag = True, rng.uniform(0.03, 0.06)


def flip_all(d: Draft, rng: np.random.Generator) -> None:
    d.multiply(tau=-1.0)


def flip_some(d: Draft, rng: np.random.Generator) -> None:
    signs = rng.choice([-1.0, 1.0], d.arm.robot.n)
    signs[rng.integers(len(signs))] = -1.0
    d.multiply(tau=signs)


def to_degrees(d: Draft, rng: np.random.Generator) -> None:
    turns = np.array([c.joint.turns for c in d.robot.model.coordinates])
    x = np.where(turns, 180 / math.pi, 1.0)
    d.multiply(q=x, qd=x)


def hang(d: Draft, rng: np.random.Generator) -> None:
    """On a ceiling, on a wall, on a slope; the planar arm in its own plane."""
    g = [(0, 0, 9.81), (9.81, 0, 0), (9.81 * math.sin(0.6), 0, -9.81 * math.cos(0.6)), (0, -9.81, 0)]
    which = rng.integers(3 if d.robot.name == "planar" else 4)
    d.robot = d.robot.with_gravity(g[which])


def to_millinewton(d: Draft, rng: np.random.Generator) -> None:
    d.multiply(tau=1e3)


def to_motor_torque(d: Draft, rng: np.random.Generator) -> None:
    d.multiply(tau=1 / d.arm.gears)
    d.told += ["--set", f"ratio=tau={listed(d.arm.gears)}"]


def to_motor(d: Draft, rng: np.random.Generator) -> None:
    d.multiply(q=d.arm.gears, qd=d.arm.gears, tau=1 / d.arm.gears)
    d.told += ["--set", f"ratio={listed(d.arm.gears)}"]


def to_current(d: Draft, rng: np.random.Generator) -> None:
    constant = np.round(d.arm.size * rng.uniform(0.2, 0.6, d.arm.robot.n), 4)
    d.multiply(tau=1 / constant)
    d.current = bool(rng.random() < 0.5)
    d.told += ["--set", f"torque_constant={listed(constant)}"]


def to_milliseconds(d: Draft, rng: np.random.Generator) -> None:
    d.multiply(t=1e3)


def misstate_rate(d: Draft, rng: np.random.Generator) -> None:
    d.rates = True
    d.multiply(t=float(rng.choice([0.5, 0.8, 2.0])))


def load(d: Draft, rng: np.random.Generator) -> None:
    size = d.arm.reach.max() * 0.03
    d.robot = d.robot.with_payload(0.08 * d.robot.mass, (size, -size, 2 * size))


def round_file(d: Draft, rng: np.random.Generator) -> None:
    d.digits = int(rng.choice([3, 4, 5]))


def swap_torques(d: Draft, rng: np.random.Generator) -> None:
    n = d.arm.robot.n
    a, b = rng.choice(n, 2, replace=False)
    d.order["tau"] = np.arange(n)
    d.order["tau"][[a, b]] = b, a


def sort_joints(d: Draft, rng: np.random.Generator) -> None:
    """As programs do that keep joints by name: every group in another order, and only numbers for headers."""
    order = np.arange(d.arm.robot.n)
    order[[0, 2]] = 2, 0
    d.order |= {group: order for group in ("q", "qd", "tau")}


FAULTS = {
    "noise": Fault(add_noise, "", "noise"),
    "quantization": Fault(quantize, "", "noise"),
    "stale rows": Fault(repeat_rows, "stale|repeat", "rows"),
    "jitter": Fault(jitter, "jitter|uneven|even steps|resampl", "clock"),
    "jittered stamps": Fault(jitter_stamps, "jitter|uneven|even steps|resampl", "clock"),
    "dropped rows": Fault(drop_rows, "missing|lost|dropp|gap", "rows"),
    "odd step": Fault(shorten_step, "step|interval", "clock"),
    "gap": Fault(leave_gap, "gap|piece", "rows"),
    "restart": Fault(restart, "restart|backward|starts? again|piece", "clock"),
    "lag": Fault(delay, "lag|late|behind", "lag"),
    "late rates": Fault(delay_rates, "lag|late|behind|rates", "rates"),
    "all signs": Fault(flip_all, "sign", "sign"),
    "some signs": Fault(flip_some, "sign", "sign"),
    "degrees": Fault(to_degrees, "deg", "angle"),
    "gravity": Fault(hang, "gravity|upright", "gravity"),
    "mN m": Fault(to_millinewton, "mN", "torque"),
    "motor torque": Fault(to_motor_torque, "motor|gear|ratio|current", "torque"),
    "motor": Fault(to_motor, "motor|gear|ratio|turn", "torque"),
    "current": Fault(to_current, "current", "torque"),
    "ms": Fault(to_milliseconds, r"\bms\b|millisecond", "clock"),
    "rate": Fault(misstate_rate, r"\brate\b|clock|faster|slower", "clock"),
    "payload": Fault(load, "", "body"),
    "rounded URDF": Fault(round_file, "", "body"),
    "swapped torques": Fault(swap_torques, "order|swap|exchang", "order"),
    "sorted joints": Fault(sort_joints, "order|swap|exchang", "order"),
}
CLEAN = Fault(lambda d, rng: None, "", "")
OF_THE_ARM = ("gravity", "payload")
BOTH = {"motor", "degrees"}, {"ms", "rate"}  # cannot be one with the other


def listed(x: Iterable[float]) -> str:
    return ",".join(f"{v:.6g}" for v in x)


# ------------------------------------------------------------------------------------------------ files
# t, q, q̇, τ with a joint's number (from 1: i, from 0: k) or name, delimiter
STYLES = (
    ("t", "q{i}", "qd{i}", "tau{i}", ","),
    ("time", "pos_{k}", "vel_{k}", "torque_{k}", ";"),
    ("timestamp", "actual_q_{k}", "actual_qd_{k}", "actual_torque_{k}", " "),
    ("time", "joint_{i}_position", "joint_{i}_velocity", "joint_{i}_effort", "\t"),
    ("Time", "position[{k}]", "velocity[{k}]", "effort[{k}]", ","),
    ("t", "q", "dq", "tau", "npz"),
    ("time", "{joint}/position", "{joint}/velocity", "{joint}/effort", ","),
)
NUMBERED = 6  # of the styles know joints by number alone


def draft(name: str, motion: str, seed: int) -> Draft:
    a = arm(name)
    rng = np.random.default_rng([seed, *name.encode(), *motion.encode()])
    rate, seconds = float(rng.choice(RATES)), float(rng.integers(15, 41))
    t = np.arange(round(seconds * rate)) / rate
    return Draft(
        a, a.robot, MOTIONS[motion](a, rng, seconds), t, t, int(rng.integers(len(STYLES))), bool(rng.random() < 0.6)
    )


def record(d: Draft, rng: np.random.Generator) -> dict[str, Array]:
    """t, q, qd (if they are recorded) and tau, as they stand in the file."""
    a, (q, _, _) = d.arm, d.motion(d.times)
    tau = a.torque(d.robot, *d.motion(np.clip(d.times - d.lag, 0, None)))
    white, slow = rng.normal(size=(2, *q.shape))
    for k in range(1, len(slow)):  # colored noise beside white
        slow[k] = 0.95 * slow[k - 1] + 0.3 * slow[k]
    tau = tau + d.noise * a.size * (0.02 * white + 0.01 * slow)
    tick = d.tick * a.reach / a.reach.max()
    q = q + d.noise * 0.5 * tick * rng.normal(size=q.shape)
    late = d.motion(np.clip(d.times - d.rate_lag, 0, None))[1]
    rates = late + d.noise * 0.003 * a.speed * a.reach / a.reach.max() * rng.normal(size=q.shape)
    table = {"t": d.stamps, "q": tick * np.round(q / tick), "qd": rates, "tau": tau}
    for group, x in table.items():
        if d.source is not None and group != "t":
            x = x[d.source]
        x = x * d.factor.get(group, 1.0)
        x = x[:, d.order[group]] if group in d.order else x
        table[group] = x if d.kept is None else x[d.kept]
    return table if d.rates else {group: table[group] for group in ("t", "q", "tau")}


def write_log(d: Draft, table: dict[str, Array], folder: Path) -> Path:
    style = STYLES[d.style % NUMBERED if d.order else d.style]
    *patterns, delimiter = style
    called = dict(zip(("t", "q", "qd", "tau"), patterns, strict=True))
    if d.current:
        called["tau"] = "actual_current" + ("" if delimiter == "npz" else "_{i}" if "{i}" in called["q"] else "_{k}")
    if delimiter == "npz":
        np.savez(folder / "log.npz", **{called[group]: x for group, x in table.items()})
        return folder / "log.npz"
    names = [called["t"]]
    for group in list(table)[1:]:
        names += [called[group].format(i=k + 1, k=k, joint=j) for k, j in enumerate(d.arm.robot.joint_names)]
    path = folder / "log.csv"
    np.savetxt(
        path,
        np.column_stack(list(table.values())),
        delimiter=delimiter,
        header=delimiter.join(names),
        comments="",
        fmt=["%.6f"] + ["%.7g"] * (len(names) - 1),
    )
    return path


# ------------------------------------------------------------------------------------------------ cases and verdicts
@dataclass(frozen=True)
class Case:
    """A file: an arm, a motion, and what is wrong."""

    arm: str
    motion: str
    faults: tuple[str, ...]
    seed: int
    known: bool = False  # what is done to the arm itself is told to the command

    @property
    def name(self) -> str:
        what = " + ".join(self.faults)
        return f"{self.arm}, {self.motion}: {f'clean ({what})' if self.known and what else what or 'clean'}"

    @property
    def clean(self) -> Case:
        """The same recording without what is wrong with it: the same arm, hung and loaded as it is."""
        return replace(self, faults=tuple(f for f in self.faults if f in OF_THE_ARM), known=True)

    def make(self, folder: Path) -> tuple[Draft, Path, Path]:
        """The draft and the files: URDF and log."""
        d = draft(self.arm, self.motion, self.seed)
        rng = np.random.default_rng([self.seed, *self.arm.encode(), *self.motion.encode()])
        for fault in self.faults:  # each with numbers of its own, so that the clean recording has the same noise
            FAULTS[fault].change(d, np.random.default_rng([self.seed, *self.arm.encode(), *fault.encode()]))
        (folder / "robot.urdf").write_text(
            urdf(d.arm, np.random.default_rng([self.seed, *self.arm.encode()]), d.digits)
        )
        return d, folder / "robot.urdf", write_log(d, record(d, rng), folder)


def cases(count: int, seed: int) -> list[Case]:
    """Every fault on every arm, the motions in turn; then pairs, drawn at random."""
    motions = list(MOTIONS)
    every = [
        Case(name, motions[(i + k) % 3], (fault,), seed)
        for i, fault in enumerate(FAULTS)
        for k, name in enumerate(ARMS)
    ]
    rng = np.random.default_rng(seed)
    pairs = [
        pair
        for pair in combinations(FAULTS, 2)
        if FAULTS[pair[0]].kind != FAULTS[pair[1]].kind and not any(set(pair) == both for both in BOTH)
    ]
    for k in rng.permutation(len(pairs)).tolist():
        every.append(Case(list(ARMS)[len(every) % 6], motions[int(rng.integers(3))], pairs[k], seed))
    if count < len(FAULTS) * len(ARMS):  # a sample of all
        every = [every[k] for k in rng.permutation(len(every))]
    return every[:count]


@dataclass(frozen=True)
class Result:
    """What the command made of a file: its exit code, what it said, and the error of what it wrote."""

    case: Case
    apply: bool
    code: int
    error: float | None
    output: str
    told: bool = False  # by options that nobody could have found in the log


def judge(d: Draft, path: Path, seed: int) -> float:
    """The RMS over joints of |τ − τ̂| / |τ| on a motion that was not given, and is no faster than the recorded one."""
    a, rng = d.arm, np.random.default_rng([seed, 99])
    q, qd, qdd = MOTIONS["spline"](a, rng, 20.0)(np.arange(0, 20, 0.01))
    slower = min(1.0, (np.abs(d.motion(d.times)[1]).max(axis=0) / np.abs(qd).max(axis=0)).min())
    qd, qdd = slower * qd, slower**2 * qdd
    true = a.torque(d.robot, q, qd, qdd)
    said = dl.load(path).inverse_dynamics(q, qd, qdd, friction=True)
    left = np.linalg.norm(true - said, axis=0) / np.linalg.norm(true, axis=0)
    return float(np.sqrt(np.mean(left**2)))


def run(case: Case, apply: bool, keep: Path | None = None) -> Result:
    from click.testing import CliRunner

    from dalembert.apps.cli import main

    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) if keep is None else keep / re.sub(r"\W+", "-", case.name)
        folder.mkdir(parents=True, exist_ok=True)
        d, robot, log = case.make(folder)
        out = folder / ("applied.urdf" if apply else "plain.urdf")

        def command(*words: str) -> tuple[int, float | None, str]:
            out.unlink(missing_ok=True)
            done = CliRunner().invoke(main, ["identify", str(robot), str(log), "--output", str(out), *words])
            crash = done.exception is not None and not isinstance(done.exception, SystemExit)
            said = done.output + (f"\nCRASH {done.exception!r}" if crash else "")
            return done.exit_code, judge(d, out, case.seed) if out.exists() else None, said

        words = ["--apply"] if apply else []
        if case.known and "gravity" in case.faults:
            words += ["--gravity", listed(d.robot.gravity)]
        code, error, said = command(*words)
        told = bool(apply and code and d.told)
        if told:
            code, error, again = command(*words, *d.told)
            said += "\n---- told " + " ".join(d.told) + "\n" + again
    return Result(case, apply, code, error, said, told)


def new_lines(output: str, other: str) -> Iterator[str]:
    """The lines that the other output does not have, whatever their numbers."""
    known = {re.sub(r"[\d.]+", "", line) for line in other.splitlines()}
    first = output.split("\n---- told ")[0]
    return (line for line in first.splitlines() if re.sub(r"[\d.]+", "", line) not in known)


def verdict(result: Result, clean: Result) -> tuple[str, bool | None]:
    """("good", "refused", "WRONG" or "CRASH", whether every cause is named or None)."""
    if "\nCRASH " in result.output:
        how = "CRASH"
    elif result.code:
        how = "refused" if result.error is None else "WRONG"
    else:
        bound = WITHIN * clean.error if clean.error is not None else 0.0
        how = "good" if result.error is not None and result.error <= bound else "WRONG"
    wanted = [FAULTS[f].words for f in result.case.faults if FAULTS[f].words and not result.case.known]
    lines = list(new_lines(result.output, clean.output))
    named = all(any(re.search(words, line) for line in lines) for words in wanted) if wanted else None
    return how, named


# ------------------------------------------------------------------------------------------------ tables
class Results:
    """Results by case and way, kept as JSON lines."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.known = path, dict[tuple[Case, bool], Result]()
        for line in path.read_text().splitlines() if path and path.exists() else ():
            entry = json.loads(line)
            case = Case(**entry.pop("case") | {})
            case = replace(case, faults=tuple(case.faults))
            self.known[case, entry["apply"]] = Result(case, **entry)

    def add(self, result: Result) -> None:
        self.known[result.case, result.apply] = result
        if self.path:
            entry = vars(result) | {"case": vars(result.case)}
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")


def _run(job: tuple[Case, bool, Path | None]) -> Result:
    return run(*job)


def run_all(wanted: list[Case], ways: tuple[bool, ...], results: Results, processes: int, keep: Path | None) -> None:
    """The clean recordings first, then each case both ways, what is known left out; a line for each."""
    clean = list(dict.fromkeys(case.clean for case in wanted))
    jobs = [(case, apply, keep) for case in (*clean, *wanted) for apply in ways]
    jobs = [job for job in dict.fromkeys(jobs) if job[:2] not in results.known]
    if processes > 1:
        from multiprocessing import get_context

        with get_context("spawn").Pool(processes) as pool:
            for k, result in enumerate(pool.imap(_run, jobs)):
                results.add(result)
                print(line(result, results), f"{k + 1}/{len(jobs)}", flush=True)
        return
    for k, job in enumerate(jobs):
        results.add(_run(job))
        print(line(results.known[job[:2]], results), f"{k + 1}/{len(jobs)}", flush=True)


def line(result: Result, results: Results) -> str:
    clean = results.known.get((result.case.clean, result.apply), result)
    how, named = verdict(result, clean)
    error, its = (f"{x.error:6.1%}" if x.error is not None else "     –" for x in (result, clean))
    way = "--apply" if result.apply else "       "
    said = {True: "named", False: "NOT NAMED", None: ""}[named]
    return f"{result.case.name:50} {way} {how:8} {error} (clean {its}) {said:10}{' told' if result.told else ''}"


def show(wanted: list[Case], ways: tuple[bool, ...], results: Results) -> bool:
    """A table by fault, and the three figures that count; whether all hold."""
    print(f"\n{'fault':34} {'files':>5}  " + "".join(f"{'with --apply' if way else 'without':>34}" for way in ways))
    rows: dict[str, list[Case]] = defaultdict(list)
    for case in wanted:
        rows[case.faults[0] if len(case.faults) == 1 else "two: " + " + ".join(case.faults)].append(case)
    sums: dict[bool, list[tuple[str, bool | None]]] = {way: [] for way in ways}
    for name, group in rows.items():
        told = []
        for way in ways:
            found = [verdict(results.known[c, way], results.known[c.clean, way]) for c in group]
            sums[way] += found
            counts = {how: sum(x == how for x, _ in found) for how in ("good", "refused", "WRONG", "CRASH")}
            names = [x for _, x in found if x is not None]
            text = " ".join(f"{k} {v}" for k, v in counts.items() if v)
            told.append(f"{text}{f', named {sum(names)}/{len(names)}' if names else ''}")
        print(f"{name:34} {len(group):5}  " + "".join(f"{x:>34}" for x in told))
    fine = True
    for way, found in sums.items():
        names = [x for _, x in found if x is not None]
        good = sum(how == "good" for how, _ in found) / len(found)
        wrong = sum(how in ("WRONG", "CRASH") for how, _ in found)
        named = sum(names) / len(names) if names else 1.0
        word = "with --apply" if way else "without"
        print(f"{word}: within {WITHIN} of the clean error {good:.1%}, cause named {named:.1%}, silently wrong {wrong}")
        fine &= (good >= 0.95 and named >= 0.9) if way else wrong == 0
    return fine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases whose name has this in it (a regular expression)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, help="a file to keep results in, and to resume from")
    parser.add_argument("--keep", type=Path, help="a folder to keep the logs and robots in")
    parser.add_argument("--ways", choices=("apply", "plain", "both"), default="both")
    given = parser.parse_args()
    ways = {"apply": (True,), "plain": (False,), "both": (True, False)}[given.ways]
    wanted = [case for case in cases(given.count, given.seed) if re.search(given.only or "", case.name)]
    results = Results(given.results)
    run_all(wanted, ways, results, given.processes, given.keep)
    raise SystemExit(0 if show(wanted, ways, results) else 1)


if __name__ == "__main__":
    main()
