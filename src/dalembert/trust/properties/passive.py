"""Energy: its balance, passivity and what follows from it.  Seeds 000 §5.2.1, 002.

H = ½ q̇ᵀMq̇ + P is what is stored, q̇ᵀτ what is supplied, and Ḣ = q̇ᵀτ because q̇ᵀ(Ṁ − 2C) q̇ = 0. As H is never below
min P, the arm can give back no more than β = H(0) − min P: ∫ q̇ᵀτ dt ≥ −β, it is passive. With damping D ≥ d 1,
Ḣ ≤ q̇ᵀτ − d |q̇|² (output strict passivity), and 2 q̇ᵀτ ≤ d |q̇|² + |τ|²/d gives the L₂ gain 1/d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError
from dalembert.robot import Robot
from dalembert.trust.properties.case import case_of, found, silent
from dalembert.trust.properties.gravity import least_potential, lowest_potential
from dalembert.trust.properties.mechanism import Mechanism, mechanism_of
from dalembert.trust.properties.motion import INTEGRATED, Motion, checked_run, cumulative, swing
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Property

Array = NDArray[np.float64]
CLOSES = INTEGRATED
STEPPED = 1e-2  # the same of a run: dry friction turns round between its steps
MOTIONS = 6
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

    def plot(self, axes: Any = None) -> Any:
        """A matplotlib figure: energies over time above −β, and what the books disagree by."""
        from dalembert.trust.properties.figures import draw_books

        return draw_books(self, axes)

    def __str__(self) -> str:
        rows = (("supplied", self.supplied[-1]), ("lost", self.lost[-1]), ("stored", self.stored[-1]))
        lines = [f"{name:>9} {x: .6e} J" for name, x in rows]
        least = f"{self.supplied.min(): .6e} J, never below −β = {-self.beta:.6e} J"
        return "\n".join([*lines, f"    least {least}", f"      gap {self.gap: .1e} of the energy in play"])


def energy_books(
    system: Any, run: Any = None, *, friction: bool = False, seed: int = 0, duration: float = 4.0
) -> Books:
    """The books of a Robot (or another mechanism) along a run of `simulate`, or along a motion drawn from `seed`, whose
    torques are those of inverse dynamics; with `friction` those of a Robot's friction and springs too."""
    m = mechanism_of(system)
    if run is not None:
        checked_run(run)
        if run.q.shape[1] != m.n:
            raise InputError(f"the run of {run.name!r} has {run.q.shape[1]} coordinates, {m.name!r} has {m.n}")
        H = run.energy
        lost = run["loss"] if "loss" in run.columns else np.zeros(len(run.t))
        return replace(_closed(m, run.t, run["work"], lost, H), tolerance=STEPPED)
    if not (math.isfinite(duration) and duration > 0):
        raise InputError(f"duration must be positive and finite [s], got {duration!r}")
    motion = swing(m, seed, duration)
    return _along(m, motion, friction)


def _along(m: Mechanism, motion: Motion, friction: bool) -> Books:
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    power = np.einsum("bi,bi->b", qd, m.tau(q, qd, qdd))
    H, lost = m.H(q, qd), np.zeros(len(q))
    if friction:
        robot = _robot_of(m)
        rubbing, springs = _friction(robot, motion)
        tense = _spring_energy(robot, q[:1])
        work = tense + cumulative(motion.t, np.einsum("bi,bi->b", qd, springs))
        power = power + np.einsum("bi,bi->b", qd, rubbing + springs)
        lost, H = cumulative(motion.t, np.einsum("bi,bi->b", qd, rubbing)), H + work
    return _closed(m, motion.t, cumulative(motion.t, power), lost, H)


def _robot_of(m: Mechanism) -> Robot:
    if m.robot is None:
        raise InputError(f"friction is part of a Robot's model; {m.name!r} is none")
    return m.robot


def _friction(robot: Robot, motion: Motion) -> tuple[Array, Array]:
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
def power_balance(system: Any, **options: Any) -> Property:
    """Ḣ by the slopes of M and P, and by what q̇ᵀτ supplies."""
    case = case_of(system, **options)
    m = case.mechanism
    M, qd, qdd = case.M, case.qd, case.qdd
    rate = np.einsum("bi,bij,bj->b", qd, M, qdd) + 0.5 * np.einsum("bi,bij,bj->b", qd, case.M_dot, qd)
    rate = rate + np.einsum("bi,bi->b", case.dP, qd)
    supplied = np.einsum("bi,bi->b", qd, case.tau)
    size = np.einsum("bi,bi->b", np.abs(qd), np.abs(case.tau) + np.abs(case.dP))
    return case.finding(
        "power balance",
        case.relative(rate - supplied, size),
        lambda p: p.power() and p.gradient(),
        {"largest |Ḣ| met [W]": float(np.abs(rate).max())},
        None,
        _rate_of_potential(m),
        bound=m.slope_bound,
    )


def _rate_of_potential(m: Mechanism) -> str:
    return "" if m.potential_energy is not None else "without a potential energy: q̇ᵀg is taken as its rate"


def passivity(system: Any, run: Any = None, **options: Any) -> Property:
    """∫ q̇ᵀτ dt against H(T) − H(0) and −β, along motions drawn or along a run."""
    case = case_of(system, **options)
    m = case.mechanism
    if m.potential_energy is None:
        return silent("passivity", f"{m.name!r} knows no potential energy, and so no storage: give potential_energy=")
    books = [energy_books(m, run)] if run is not None else [energy_books(m, seed=case.seed + k) for k in range(MOTIONS)]
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
    p = case.identities
    if m.robot is not None:
        start = first.beta + lowest_potential(m.robot) if math.isfinite(first.beta) else math.inf
        numbers["β at most, by lengths [J]"] = start - least_potential(m.robot)
    proved = good and p is not None and p.power() and p.gradient() and math.isfinite(first.beta)
    where = f"the run of {run.t[-1]:.3g} s" if run is not None else f"{len(books)} motions of {first.t[-1]:.3g} s"
    shown = f"{'proved by Ḣ = q̇ᵀτ as an identity; ' if proved else ''}booked along {where}, gap {gap:.1e}"
    note = ""
    if not math.isfinite(first.beta):
        note = "gravity pulls along a joint that slides without end: β is finite only within limits"
    elif run is not None and gap > CLOSES:
        note = f"the run's own steps gained or lost {gap:.1e} of the energy in play: a shorter dt closes the books"
    elif m.robot is None:
        note = "the bottom of P is not known: β is that of the motions alone"
    return found("passivity", PROVED if proved else HOLDS if good else FAILS, shown, numbers, note)


def dissipation(system: Any, **options: Any) -> Property:
    """The books of a robot with its own friction and springs."""
    case = case_of(system, **options)
    robot = case.mechanism.robot
    if robot is None or not any(body.friction or body.stiffness for body in robot.model.bodies):
        return silent("dissipation", "the model has no friction and no springs")
    books = [energy_books(case.mechanism, friction=True, seed=case.seed + k) for k in range(MOTIONS)]
    motion = swing(case.mechanism, case.seed)
    rubbing, springs = _friction(robot, motion)
    heat = np.einsum("bi,bi->b", motion.qd, rubbing)
    stored = _spring_energy(robot, motion.q)
    work = cumulative(motion.t, np.einsum("bi,bi->b", motion.qd, springs))
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
    return found("dissipation", HOLDS if good else FAILS, shown, numbers, note)


def _spring_energy(robot: Robot, q: Array) -> Array:
    total = np.zeros(len(q))
    for body in robot.model.bodies:
        if body.stiffness:
            angle = body.multiplier * q[:, body.coordinate] + body.offset
            total += 0.5 * body.stiffness * (angle - body.rest) ** 2
    return total


def l2_gain(system: Any, damping: float = 1.0, **options: Any) -> Property:
    """Both inequalities of a mechanism with viscous damping d on every joint, along motions drawn: the torques are
    those that the damped mechanism needs."""
    case = case_of(system, **options)
    m = case.mechanism
    try:
        d = float(damping)
    except (TypeError, ValueError):
        raise InputError(f"damping must be a number [N m s/rad], got {damping!r:.60}") from None
    if not (math.isfinite(d) and d > 0):
        raise InputError(f"damping must be positive and finite [N m s/rad], got {damping!r}")
    if m.potential_energy is None:
        return silent("L₂ gain", f"{m.name!r} knows no potential energy, and so no storage: give potential_energy=")
    spare, strict, ratio, beta = math.inf, math.inf, 0.0, 0.0
    for k in range(MOTIONS):
        motion = swing(m, case.seed + k)
        tau = m.tau(motion.q, motion.qd, motion.qdd) + d * motion.qd
        in_, out, power = (
            cumulative(motion.t, np.einsum("bi,bi->b", a, b))
            for a, b in ((tau, tau), (motion.qd, motion.qd), (motion.qd, tau))
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
    p = case.identities
    proved = good and p is not None and p.power() and p.gradient() and math.isfinite(beta)
    if proved:
        shown = f"follows from Ḣ = q̇ᵀτ − d |q̇|² by completing a square, Ḣ proved as an identity; {shown}"
    note = "" if math.isfinite(beta) else "gravity pulls along a joint that slides without end: β is infinite"
    return found("L₂ gain", PROVED if proved else HOLDS if good else FAILS, shown, numbers, note)


def feedback(system: Any, kp: ArrayLike = 50.0, kd: ArrayLike = 5.0, **options: Any) -> Property:
    """V̇ of the loop of two passive systems, the mechanism and a PD law: by the slopes of M and P, with q̈ from the
    dynamics, against −q̇ᵀK_d q̇."""
    case = case_of(system, **options)
    m = case.mechanism
    Kp, Kd = (_gain(name, K, m.n) for name, K in (("kp", kp), ("kd", kd)))
    values = np.linalg.eigvalsh(case.M)
    if values.min() <= 1e-12 * values.max():
        return silent("feedback of passive systems", SINGULAR)
    error = case.x - case.q  # to set points drawn anywhere
    tau = error @ Kp - case.qd @ Kd
    bias = case.c + case.g
    qdd = np.linalg.solve(case.M, (tau - bias)[..., None])[..., 0]
    v = case.qd
    rate = np.einsum("bi,bij,bj->b", v, case.M, qdd) + 0.5 * np.einsum("bi,bij,bj->b", v, case.M_dot, v)
    rate = rate + np.einsum("bi,bi->b", case.dP - error @ Kp, v)
    wanted = -np.einsum("bi,ij,bj->b", case.qd, Kd, case.qd)
    size = np.einsum("bi,bi->b", np.abs(case.qd), np.abs(tau) + np.abs(bias) + np.abs(case.dP))
    damped = bool((np.linalg.eigvalsh(Kd) >= 0).all() and (np.linalg.eigvalsh(Kp) >= 0).all())
    note = _rate_of_potential(m) if damped else "K_p or K_d is not positive: the law itself is not passive, V may grow"
    numbers = {"largest V̇ met [W]": float(rate.max()), "least V̇ met [W]": float(rate.min())}
    return case.finding(
        "feedback of passive systems",
        case.relative(rate - wanted, size),
        lambda p: p.power() and p.gradient(),
        numbers,
        None,
        note,
        holds=damped,
        how="proved by Ḣ = q̇ᵀτ as an identity",
        bound=m.slope_bound,
    )


def _gain(name: str, value: Any, n: int) -> Array:
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be real numbers, got {value!r:.60}") from None
    if not np.isfinite(x).all():
        raise InputError(f"{name} must be finite")
    if x.shape == ():
        return np.asarray(x * np.eye(n))
    if x.shape == (n,):
        return np.diag(x)
    if x.shape == (n, n) and np.allclose(x, x.T):
        return x
    raise InputError(f"{name} must be a number, {n} numbers or a symmetric {n}×{n} matrix, got shape {x.shape}")


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
    run: Any

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

    def plot(self, axes: Any = None) -> Any:
        from dalembert.trust.properties.figures import draw_interconnection

        return draw_interconnection(self, axes)


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
    from dalembert.simulation.simulate import simulate

    m = mechanism_of(robot)
    Kp, Kd = (_gain(name, K, m.n) for name, K in (("kp", kp), ("kd", kd)))
    start = robot.home if q0 is None else q0
    run = simulate(
        robot,
        PD(robot, Kp, Kd),
        q0=start,
        qd0=np.zeros(m.n) if qd0 is None else qd0,
        reference=q_d,
        duration=duration,
        dt=dt,
        progress=False,
    )
    if not run.ok:
        raise InputError(f"this loop cannot be judged: its simulation {run.message}")
    error = np.asarray(q_d, float) - run.q
    heat = cumulative(run.t, np.einsum("bi,ij,bj->b", run.qd, Kd, run.qd))
    law = 0.5 * np.einsum("bi,ij,bj->b", error, Kp, error)
    lowest = lowest_potential(robot)
    arm = m.H(run.q, run.qd) - (lowest if math.isfinite(lowest) else 0.0)
    return Interconnection(m.name, run.t, arm, law, heat, run)
