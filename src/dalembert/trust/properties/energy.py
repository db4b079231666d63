"""Energy: its balance, passivity and what follows from it.  [Poonawala] §5.2.1, [Lagrange notes].

H = ½ q̇ᵀMq̇ + P is what is stored, q̇ᵀτ what is supplied, and Ḣ = q̇ᵀτ because q̇ᵀ(Ṁ − 2C) q̇ = 0. As H is never below
min P, the arm can give back no more than β = H(0) − min P: ∫ q̇ᵀτ dt ≥ −β, it is passive. With damping D ≥ d 1,
Ḣ ≤ q̇ᵀτ − d |q̇|² (output strict passivity), and 2 q̇ᵀτ ≤ d |q̇|² + |τ|²/d gives the L₂ gain 1/d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, of_kind
from dalembert.draw.pyplot import QUIET, pyplot, styled
from dalembert.errors import InputError
from dalembert.flows.books import spring_energy
from dalembert.robot import Robot
from dalembert.simulation.run import Run
from dalembert.trust.properties.gravity import least_potential, lowest_potential
from dalembert.trust.properties.identities import Identities
from dalembert.trust.properties.mechanism import (
    INTEGRATED,
    Mechanism,
    Swing,
    Trial,
    accumulate,
    dot,
    form,
    judge,
    mechanism_of,
    swing,
)
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Verdict, silent, write_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLOSES = INTEGRATED
STEPPED = 1e-2  # the same of a run: dry friction turns round between its steps
MOTIONS = 6
NO_POTENTIAL = "without a potential energy: q̇ᵀg is taken as its rate"
SINGULAR = "its mass matrix is singular: some joint has no inertia"


@dataclass(frozen=True, eq=False)
class Books:
    """Energy along a motion [J], (T,): supplied ∫ q̇ᵀτ dt, lost ∫ q̇ᵀf dt, stored H − H(0).

    `beta` = H(0) − min P, what could be given back at most (∞ where P has no bottom); `gap` the largest of |supplied −
    lost − stored| as part of the energy in play."""

    system: str
    t: Array
    supplied: Array
    lost: Array
    stored: Array
    beta: float
    gap: float
    tolerance: float = CLOSES

    @property
    def balanced(self) -> bool:
        return self.gap <= self.tolerance

    @property
    def scale(self) -> float:
        return max(float(np.ptp(x)) for x in (self.supplied, self.lost, self.stored))

    @property
    def passive(self) -> bool:
        """At no time was more taken out than β."""
        return bool(self.supplied.min() >= -self.beta - self.tolerance * max(self.scale, 1e-300))

    @styled
    def plot(self, axes: Sequence[Axes] | None = None) -> Figure:
        """A matplotlib figure: supplied, stored and lost energy over −β; below, what the books disagree by."""
        title = f"{self.system}: ∫ q̇ᵀτ dt = H(t) − H(0) + losses ≥ −β"
        figure, upper = _panels(axes, title, self.t, self.supplied - self.lost - self.stored)
        upper.plot(self.t, self.supplied, label="supplied ∫ q̇ᵀτ dt")
        upper.plot(self.t, self.stored, ls="--", label="stored H − H(0)")
        if np.any(self.lost):
            upper.plot(self.t, self.lost, label="lost")
        if math.isfinite(self.beta):
            upper.axhline(-self.beta, color=QUIET, ls=":", label=f"−β = {write_number(-self.beta)} J")
        upper.legend()
        return figure

    def __str__(self) -> str:
        rows = (("supplied", self.supplied[-1]), ("lost", self.lost[-1]), ("stored", self.stored[-1]))
        lines = [f"{name:>9} {x: .6e} J" for name, x in rows]
        least = f"{self.supplied.min(): .6e} J, never below −β = {-self.beta:.6e} J"
        return "\n".join([*lines, f"    least {least}", f"      gap {self.gap: .1e} of the energy in play"])


def _panels(axes: Sequence[Axes] | None, title: str, t: Array, gap: Array) -> tuple[Figure, Axes]:
    """Room for energies over time, and the gap of their books below."""
    if axes is None:
        figure, axes = pyplot().subplots(
            2, 1, sharex=True, figsize=(8.0, 5.0), height_ratios=(3, 1), layout="constrained"
        )
        figure.suptitle(title)
    upper, lower = axes
    upper.set_ylabel("energy [J]")
    lower.plot(t, gap)
    lower.set_ylabel("gap [J]")
    lower.set_xlabel("time [s]")
    upper.margins(x=0)
    return cast("Figure", upper.figure), upper


def energy_books(
    system: object, run: Run | None = None, *, friction: bool = False, seed: int = 0, duration: float = 4.0
) -> Books:
    """The books of a Robot (or another mechanism) along a run of `simulate`, or along a motion drawn from `seed`, whose
    torques are those of inverse dynamics; with `friction` those of a Robot's friction and springs too."""
    m = mechanism_of(system)
    if run is not None:
        of_kind(run, Run, "run must be what dalembert.simulate gives, got")
        if "work" not in run.columns or not run.groups["energies"]:
            raise InputError(f"the run of {run.name!r} keeps no energy books: simulate the Robot itself")
        if run.q.shape[1] != m.n:
            raise InputError(f"the run of {run.name!r} has {run.q.shape[1]} coordinates, {m.name!r} has {m.n}")
        H = run.energy
        lost = run["loss"] if "loss" in run.columns else np.zeros(len(run.t))
        return replace(_closed(m, run.t, run["work"], lost, H), tolerance=STEPPED)
    return _along(m, swing(m, seed, number("duration", duration, "s", above=0)), friction)


def _along(m: Mechanism, motion: Swing, friction: bool) -> Books:
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    power = dot(qd, m.tau(q, qd, qdd))
    H, lost = m.H(q, qd), np.zeros(len(q))
    if friction:
        robot = _robot_of(m)
        rubbing, springs = _friction(robot, motion)
        tense = spring_energy(robot.model, q[0])
        work = tense + accumulate(motion.t, dot(qd, springs))
        power = power + dot(qd, rubbing + springs)
        lost, H = accumulate(motion.t, dot(qd, rubbing)), H + work
    return _closed(m, motion.t, accumulate(motion.t, power), lost, H)


def _robot_of(m: Mechanism) -> Robot:
    if m.robot is None:
        raise InputError(f"friction is part of a Robot's model; {m.name!r} is none")
    return m.robot


def _friction(robot: Robot, motion: Swing) -> tuple[Array, Array]:
    """(what resists the motion, what springs hold), each as a torque that a drive must supply."""
    q, qd, qdd, zero = motion.q, motion.qd, motion.qdd, np.zeros_like(motion.q)

    def both(v: Array, a: Array) -> Array:
        return robot.inverse_dynamics(q, v, a, friction=True) - robot.inverse_dynamics(q, v, a)

    springs = both(zero, zero)
    return both(qd, qdd) - springs, springs


def _closed(m: Mechanism, t: Array, supplied: Array, lost: Array, H: Array) -> Books:
    stored = H - H[0]
    scale = max(float(np.ptp(x)) for x in (supplied, lost, stored))
    gap = float(np.abs(supplied - lost - stored).max())
    return Books(m.name, t, supplied, lost, stored, _beta(m, float(H[0]), H), gap / scale if scale > 0 else gap)


def _beta(m: Mechanism, start: float, H: Array) -> float:
    """H(0) − min P; of a mechanism of which only a motion is known, H(0) − min H along it."""
    if m.robot is None:
        return start - float(H.min())
    return start - lowest_potential(m.robot)


# -------------------------------------------------------------------------------------------------------- properties
@judge("power balance")
def power_balance(trial: Trial) -> Verdict:
    """Ḣ by the slopes of M and P, and by what q̇ᵀτ supplies."""
    m = trial.mechanism
    rate, violation = power_violation(trial)
    numbers = {"largest |Ḣ| met [W]": float(np.abs(rate).max())}
    note = "" if m.potential_energy is not None else NO_POTENTIAL
    return trial.judge(violation, _is_conservative, numbers, note=note, bound=m.slope_bound)


def power_violation(trial: Trial) -> tuple[Array, Array]:
    """(Ḣ [W] by the slopes of M and P, Ḣ − q̇ᵀτ as part of the terms it is made of), (N,) each."""
    qd = trial.qd
    rate = form(qd, trial.M, trial.qdd) + 0.5 * form(qd, trial.M_dot, qd)
    rate = rate + dot(trial.dP, qd)
    size = dot(np.abs(qd), np.abs(trial.tau) + np.abs(trial.dP))
    return rate, trial.relative(rate - dot(qd, trial.tau), size)


def _is_conservative(p: Identities) -> bool:
    return p.power() and p.gradient()


@judge("passivity")
def passivity(trial: Trial, run: Run | None = None) -> Verdict:
    """∫ q̇ᵀτ dt against H(T) − H(0) and −β, along motions drawn or along a run."""
    m = trial.mechanism
    if m.potential_energy is None:
        return silent(f"{m.name!r} knows no potential energy, and so no storage: give potential_energy=")
    seeds = range(trial.seed, trial.seed + MOTIONS)
    books = [energy_books(m, run)] if run is not None else [energy_books(m, seed=seed) for seed in seeds]
    first = books[0]
    gap = max(b.gap for b in books)
    numbers = {
        "supplied [J]": float(first.supplied[-1]),
        "stored [J]": float(first.stored[-1]),
        "lost [J]": float(first.lost[-1]),
        "least supplied at any time [J]": float(min(b.supplied.min() for b in books)),
        "β [J]": max(b.beta for b in books),
        "relative gap": gap,
    }
    good = all(b.balanced and b.passive for b in books)
    p = trial.identities
    if m.robot is not None:
        start = first.beta + lowest_potential(m.robot) if math.isfinite(first.beta) else math.inf
        numbers["β at most, by lengths [J]"] = start - least_potential(m.robot)
    proved = good and p is not None and _is_conservative(p) and math.isfinite(first.beta)
    where = f"the run of {run.t[-1]:.3g} s" if run is not None else f"{len(books)} motions of {first.t[-1]:.3g} s"
    shown = f"{'proved by Ḣ = q̇ᵀτ as an identity; ' if proved else ''}booked along {where}, gap {gap:.1e}"
    note = ""
    if not math.isfinite(first.beta):
        note = "gravity pulls along a joint that slides without end: β is finite only within limits"
    elif run is not None and gap > CLOSES:
        note = f"the run's own steps gained or lost {gap:.1e} of the energy in play: a shorter dt closes the books"
    elif m.robot is None:
        note = "the bottom of P is not known: β is that of the motions alone"
    return Verdict(PROVED if proved else HOLDS if good else FAILS, shown, numbers, note)


@judge("dissipation")
def dissipation(trial: Trial) -> Verdict:
    """The books of a robot with its own friction and springs."""
    robot = trial.mechanism.robot
    if robot is None or not any(body.friction or body.stiffness for body in robot.model.bodies):
        return silent("the model has no friction and no springs")
    books = [energy_books(trial.mechanism, friction=True, seed=trial.seed + k) for k in range(MOTIONS)]
    motion = swing(trial.mechanism, trial.seed)
    rubbing, springs = _friction(robot, motion)
    heat = dot(motion.qd, rubbing)
    stored = np.asarray(spring_energy(robot.model, list(motion.q.T)) + np.zeros(len(motion.q)))
    work = accumulate(motion.t, dot(motion.qd, springs))
    numbers = {
        "supplied [J]": float(books[0].supplied[-1]),
        "lost [J]": float(books[0].lost[-1]),
        "stored [J]": float(books[0].stored[-1]),
        "least loss [W]": float(heat.min()),
        "relative gap": max(b.gap for b in books),
    }
    scale = max(float(np.abs(heat).max()), 1e-300)
    own = float(np.abs(work - (stored - stored[0])).max()) <= CLOSES * max(float(np.ptp(stored)), 1e-9)
    good = all(b.balanced and b.passive for b in books) and float(heat.min()) >= -1e-12 * scale and own
    note = "" if own else "the springs' work is not a difference of ½ k (q − q_rest)²: something else holds the joints"
    shown = f"booked along {len(books)} motions{', losses never negative' if good else ''}"
    return Verdict(HOLDS if good else FAILS, shown, numbers, note)


@judge("L₂ gain")
def l2_gain(trial: Trial, damping: float = 1.0) -> Verdict:
    """Both inequalities of a mechanism with viscous damping d on every joint, along motions drawn: the torques are
    those that the damped mechanism needs."""
    m = trial.mechanism
    d = number("damping", damping, "N m s/rad", above=0)
    if m.potential_energy is None:
        return silent(f"{m.name!r} knows no potential energy, and so no storage: give potential_energy=")
    spare, strict, ratio, beta = math.inf, math.inf, 0.0, 0.0
    for k in range(MOTIONS):
        motion = swing(m, trial.seed + k)
        tau = m.tau(motion.q, motion.qd, motion.qdd) + d * motion.qd
        in_, out, power = (
            accumulate(motion.t, dot(a, b)) for a, b in ((tau, tau), (motion.qd, motion.qd), (motion.qd, tau))
        )
        H = m.H(motion.q, motion.qd)
        beta = _beta(m, float(H[0]), H)
        allowed = in_ / d**2 + 2 * (H[0] - H) / d  # sharper than with β: what is stored now is not given out
        scale = max(float(np.abs(allowed).max()), 1e-300)
        spare = min(spare, float((allowed - out).min()) / scale)
        strict = min(strict, float((power - d * out - (H - H[0])).min()) / scale)
        ratio = max(ratio, math.sqrt(out[-1] / in_[-1]) if in_[-1] > 0 else 0.0)
    numbers = {
        "d [N m s/rad]": d,
        "gain bound 1/d": 1 / d,
        "largest ‖q̇‖ / ‖τ‖ met": ratio,
        "β [J]": beta,
        "least room of the gain inequality": spare,
    }
    good = spare >= -CLOSES and strict >= -CLOSES
    shown = f"measured at every time of {MOTIONS} motions of the arm with damping {d:g} on each joint"
    p = trial.identities
    proved = good and p is not None and _is_conservative(p) and math.isfinite(beta)
    if proved:
        shown = f"follows from Ḣ = q̇ᵀτ − d |q̇|² by completing a square, Ḣ proved as an identity; {shown}"
    note = "" if math.isfinite(beta) else "gravity pulls along a joint that slides without end: β is infinite"
    return Verdict(PROVED if proved else HOLDS if good else FAILS, shown, numbers, note)


@judge("feedback of passive systems")
def feedback(trial: Trial, kp: ArrayLike = 50.0, kd: ArrayLike = 5.0) -> Verdict:
    """V̇ of the loop of two passive systems, the mechanism and a PD law: by the slopes of M and P, with q̈ from the
    dynamics, against −q̇ᵀK_d q̇."""
    m = trial.mechanism
    Kp, Kd = (_gain(name, K, m.n) for name, K in (("kp", kp), ("kd", kd)))
    values = np.linalg.eigvalsh(trial.M)
    if values.min() <= 1e-12 * values.max():
        return silent(SINGULAR)
    error = trial.x - trial.q  # to set points drawn anywhere
    tau = error @ Kp - trial.qd @ Kd
    bias = trial.c + trial.g
    qdd = np.asarray(np.linalg.solve(trial.M, (tau - bias)[..., None])[..., 0], float)
    v = trial.qd
    rate = form(v, trial.M, qdd) + 0.5 * form(v, trial.M_dot, v)
    rate = rate + dot(trial.dP - error @ Kp, v)
    wanted = -np.einsum("bi,ij,bj->b", trial.qd, Kd, trial.qd)
    size = dot(np.abs(trial.qd), np.abs(tau) + np.abs(bias) + np.abs(trial.dP))
    damped = bool((np.linalg.eigvalsh(Kd) >= 0).all() and (np.linalg.eigvalsh(Kp) >= 0).all())
    conservative = "" if m.potential_energy is not None else NO_POTENTIAL
    note = conservative if damped else "K_p or K_d is not positive: the law itself is not passive, V may grow"
    numbers = {"largest V̇ met [W]": float(rate.max()), "least V̇ met [W]": float(rate.min())}
    how = "proved by Ḣ = q̇ᵀτ as an identity"
    violation = trial.relative(rate - wanted, size)
    return trial.judge(violation, _is_conservative, numbers, note=note, holds=damped, how=how, bound=m.slope_bound)


def _gain(name: str, K: ArrayLike, n: int) -> Array:
    """A gain as a symmetric matrix: a number, one for each coordinate, or the matrix itself."""
    x = array(name, K, (), (n,), (n, n))
    if x.ndim == 2 and not np.allclose(x, x.T):
        raise InputError(f"{name} must be a number, {n} numbers or a symmetric {n}×{n} matrix; it is not symmetric")
    return x if x.ndim == 2 else np.diag(np.broadcast_to(x, (n,)))


# ------------------------------------------------------------------------------ a loop of two passive systems
@dataclass(frozen=True, eq=False)
class Interconnection:
    """A mechanism under PD control over time, (T,) [J]: what the arm stores, what the law stores (½ eᵀK_p e), and what
    its damping has turned into heat. `V` is the sum of the stores, counted from the lowest place of the arm."""

    system: str
    t: Array
    arm: Array
    law: Array
    heat: Array
    run: Run

    @property
    def V(self) -> Array:
        return self.arm + self.law

    @property
    def gap(self) -> float:
        """How far V(0) − V(t) is from the heat, as part of V(0)."""
        return float(np.abs(self.V[0] - self.V - self.heat).max() / max(float(np.ptp(self.V)), 1e-300))

    @property
    def falls(self) -> bool:
        """Whether V never rises."""
        return bool((np.diff(self.V) <= CLOSES * max(float(np.ptp(self.V)), 1e-300)).all())

    @styled
    def plot(self, axes: Sequence[Axes] | None = None) -> Figure:
        """A matplotlib figure: what the arm and the law store, and their sum, which falls."""
        title = f"{self.system} under PD control: two passive systems in a loop"
        figure, upper = _panels(axes, title, self.t, self.V[0] - self.V - self.heat)
        upper.plot(self.t, self.V, label="V, both")
        upper.plot(self.t, self.arm, label="arm H − min P")
        upper.plot(self.t, self.law, label="law ½ eᵀK_p e")
        upper.plot(self.t, self.V[0] - self.heat, color=QUIET, ls=":", label="V(0) − heat of K_d")
        upper.legend()
        return figure


def interconnection(
    robot: Robot,
    q_d: ArrayLike,
    *,
    kp: ArrayLike = 50.0,
    kd: ArrayLike = 5.0,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float = 3.0,
    dt: float = 1e-3,
) -> Interconnection:
    """The arm and a PD law as two passive systems in a loop, simulated from (q0, qd0), the home if not given: neither
    makes energy, so that the sum of what they store can only fall."""
    from dalembert.control.joint_space import PD
    from dalembert.simulation import Solver, simulate

    m = mechanism_of(robot)
    Kp, Kd = (_gain(name, K, m.n) for name, K in (("kp", kp), ("kd", kd)))
    q0, qd0 = robot.home if q0 is None else q0, np.zeros(m.n) if qd0 is None else qd0
    law, quiet = PD(robot, kp=Kp, kd=Kd), Solver(progress=False)
    run = simulate(robot, law, q0=q0, qd0=qd0, reference=q_d, duration=duration, dt=dt, solver=quiet)
    if not run.ok:
        raise InputError(f"this loop cannot be judged: its simulation {run.message}")
    error = np.asarray(q_d, float) - run.q
    heat = accumulate(run.t, np.einsum("bi,ij,bj->b", run.qd, Kd, run.qd))
    stored = 0.5 * np.einsum("bi,ij,bj->b", error, Kp, error)
    lowest = lowest_potential(robot)
    arm = m.H(run.q, run.qd) - (lowest if math.isfinite(lowest) else 0.0)
    return Interconnection(m.name, run.t, arm, stored, heat, run)
